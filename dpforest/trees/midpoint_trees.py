"""Trees of the published multinomial random forest: some rows determine the cuts, and other rows fill the leaves.

Bai, Li, Li, Yang, Jiang and Xia, *Multinomial random forest* (arXiv 1903.04003, section 3). Every tree partitions the
rows at random: structure rows choose the tests, estimation rows fill the leaves. A node draws a feature, and then a cut
of this feature. The impurity decreases of the candidates are rescaled to 0..1. Then a candidate with decrease s has a
probability proportional to exp(B s / 2), for a temperature B.

The trees are not private, because cuts are midpoints between values of rows, and exact counts decide where a branch
ends. So the trees must stay with the curator (the data holder).
"""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from dpforest.trees.layout import Trees
from dpforest.trees.midpoint_cuts import CLASS_BIT, CODE_BIT, TIE, Settings, to_weights
from dpforest.trees.midpoint_kernels import Rows, grow_midpoint_tree

STOPPING = ("code", "min_leaf", "reject")
IMPURITY = ("gini", "entropy")


def grow_midpoint_forest(
    codes: np.ndarray,
    y: np.ndarray,
    *,
    n_classes: int,
    is_categorical: np.ndarray,
    n_trees: int,
    partition_rate: float = 1.0,
    min_leaf: int = 5,
    feature_temperature: float = 10.0,
    value_temperature: float = 10.0,
    impurity: str = "gini",
    stopping: str = "code",
    purity_stop: bool = True,
    max_depth: int = 60,
    seed: int,
    n_jobs: int = 1,
    words: np.ndarray | None = None,
) -> tuple[Trees, np.ndarray]:
    """Grow the trees and count the estimation rows in their leaves.

    Parameters
    ----------
    codes : uint16 array of shape (n, m)
        Codes of `Domain.encode`.
    y : int32 array of shape (n,)
        Class index of each row.
    n_classes : int
        Number of classes, at most 256.
    is_categorical : bool array of shape (m,)
        Whether each feature is categorical. A categorical feature has a test for each category that occurs at a node. A
        numeric feature has a threshold midway between each two consecutive codes that occur at a node.
    n_trees : int
        Number of trees.
    partition_rate : float
        Number of structure rows divided by number of estimation rows. There is at least one row of each kind.
    min_leaf : int
        The paper's k, at least 1; `stopping` states its meaning.
    feature_temperature, value_temperature : float
        The paper's B1 and B2, from 0 (a uniform draw) to infinity (the best candidate, with random ties).
    impurity : {"gini", "entropy"}
        Measure of impurity. The score of a cut is the decrease of this measure.
    stopping : {"code", "min_leaf", "reject"}
        Meaning of k = `min_leaf`. "code" follows the authors' program: a child with at most k estimation rows is a
        leaf, and a node is a leaf if one of its children would get no estimation row. "min_leaf": a cut may be drawn
        only if each child gets at least k estimation rows. "reject": a node is a leaf if a child of the drawn cut would
        get fewer than k estimation rows.
    purity_stop : bool
        Whether a node is a leaf if all its structure rows have the same class.
    max_depth : int
        Largest number of tests on a path, at most 60. A deeper tree has the same first levels.
    seed : int
        Seed of all draws, from 0 to 2^64 - 1. The structure rows of a tree depend on (seed, tree), and the draws of a
        node on (seed, tree, path).
    n_jobs : int
        Number of threads; the result does not depend on it.
    words : int64 array of shape (m, n), optional
        `sorted_words` of these rows, if they are already known.

    Returns
    -------
    trees : Trees
        The grown trees.
    counts : int64 array of shape (n_leaves, n_classes)
        Number of estimation rows of each class in each leaf, in the order of `Trees.leaf_nodes`.

    Raises
    ------
    ValueError
        If there are fewer than 2 rows.
    """
    n_structure = structure_size(len(codes), partition_rate)
    words = sorted_words(codes, y) if words is None else words
    rows = Rows(words, np.ascontiguousarray(codes.T), y, is_categorical, n_classes)
    table, unit = _log_table(len(codes)) if impurity == "entropy" else (np.empty(0, np.int64), 0.0)
    settings = Settings(
        table,
        unit,
        float(feature_temperature),
        float(value_temperature),
        *_stopping_bounds(stopping, min_leaf),
        purity_stop,
        max_depth,
    )

    def grow(tree: int) -> tuple:
        with np.errstate(over="ignore"):  # hashes overflow on purpose; numpy warns about this if numba is off
            return grow_midpoint_tree(np.uint64(seed), tree, n_structure, rows, settings)

    if n_jobs == 1:
        grown = [grow(tree) for tree in range(n_trees)]
    else:
        with ThreadPoolExecutor(n_jobs) as pool:
            grown = list(pool.map(grow, range(n_trees)))
    kinds, features, thresholds, children, counts, depths = zip(*grown, strict=True)
    start = np.cumsum([0, *map(len, kinds)], dtype=np.int64)
    first_child = np.concatenate([child + np.int32(first) for child, first in zip(children, start[:-1], strict=True)])
    arrays = (np.concatenate(kinds), np.concatenate(features), np.concatenate(thresholds), first_child)
    return Trees(*arrays, start, max(1, *depths)), np.concatenate(counts)


def _stopping_bounds(stopping: str, k: int) -> tuple[int, int, int, int]:
    """Return the fields `least_per_side`, `least_per_child`, `least_to_split` and `least_in_root` of `Settings`."""
    if stopping == "code":
        return 0, 1, k + 1, 0
    return k if stopping == "min_leaf" else 0, k, 2 * k, 2 * k


def sorted_words(codes: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Return the sorted columns for the kernels, int64 (m, n). Each element packs a row's code, class and number."""
    words = np.ascontiguousarray(codes.T).astype(np.int64) << CODE_BIT
    words |= y.astype(np.int64) << CLASS_BIT | np.arange(len(codes))
    words.sort(axis=1)
    return words


def structure_size(n: int, partition_rate: float) -> int:
    """Return the number of structure rows among n rows.

    Examples
    --------
    >>> structure_size(512, 1), structure_size(100, 4), structure_size(3, 1000)
    (256, 80, 2)
    """
    if n < 2:
        raise ValueError(
            f"some rows choose the tests and the others are counted, so at least 2 rows are needed, not {n}"
        )
    return min(max(round(n * partition_rate / (1 + partition_rate)), 1), n - 1)


def impurity_decrease(left: Sequence[int], right: Sequence[int], impurity: str = "gini") -> float:
    """Return the impurity decrease of a test (equation 4), given the class counts on its left and right side.

    Examples
    --------
    >>> round(impurity_decrease([5, 1], [1, 3]), 6), round(impurity_decrease([5, 1], [1, 3], "entropy"), 6)
    (0.163333, 0.256426)
    """
    a, b = np.asarray(left), np.asarray(right)
    n_left, n_right = int(a.sum()), int(b.sum())
    inside = n_left * _impurity(a, impurity) + n_right * _impurity(b, impurity)
    return _impurity(a + b, impurity) - inside / (n_left + n_right)


def _impurity(rows: np.ndarray, impurity: str) -> float:
    shares = rows[rows > 0] / max(int(rows.sum()), 1)
    return float(1 - np.sum(shares**2) if impurity == "gini" else -np.sum(shares * np.log2(shares)))


def selection_probabilities(decreases: Sequence[float], temperature: float) -> np.ndarray:
    """Return the probability of each candidate, proportional to exp(B s / 2).

    Here B is `temperature`, and s is the candidate's impurity decrease, rescaled so that s goes from 0 to 1. If all
    decreases are equal, the probabilities are uniform.

    Examples
    --------
    >>> selection_probabilities([0.02, 0.10, 0.06], 10).round(6).tolist()
    [0.006188, 0.918423, 0.075389]
    """
    weights = np.array(decreases, np.float64)
    to_weights(weights, float(temperature), TIE)
    return weights / weights.sum()


def _log_table(n: int) -> tuple[np.ndarray, float]:
    """Return c log2 c for c = 0..n as integer multiples of a tiny unit, for exact sums. Also return this unit."""
    c = np.arange(1, n + 1)
    values = c * np.log2(c)
    unit = 2.0 ** (np.ceil(np.log2(values[-1])) - 61)
    return np.concatenate([[0], np.rint(values / unit)]).astype(np.int64), float(unit)
