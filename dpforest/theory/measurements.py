"""Measure on a table what theory predicts: votes of trees, empty leaves, and errors of boosted trees.

Only the curator (the data holder) may see the measurements, because they are computed from the exact rows. This module
states all settings of the forests, so that a changed default does not change the measurements.
"""

from fractions import Fraction
from typing import Any, Final

import numpy as np
import pandas as pd

from dpforest.models.greedy.boosted import BoostedForestClassifier
from dpforest.models.random.fit import count_kept_rows, rows_to_trees, simulate_values
from dpforest.models.random.majority_label import MajorityLabelForestClassifier
from dpforest.models.random.random_decision import RandomDecisionForestClassifier
from dpforest.models.random.spec import ForestSpec, true_labels
from dpforest.privacy.randomness import DemoSource
from dpforest.simulation.splits import Split
from dpforest.tables.domain import Domain
from dpforest.theory.boosting_bounds import split_edge
from dpforest.theory.votes import empty_share, even_vote_right
from dpforest.trees import routing

N_SAMPLED_TREES: Final = 400  # size of the sample of trees that represents all random trees
VOTES: Final = (1, 3, 11, 31, 101, 301)  # numbers of trees that vote
SHARED_BY: Final = (10, 30, 100, 300)  # numbers of trees that divide the rows among them
DEPTHS: Final = (1, 2, 3, 4, 5, 6)
BOOSTED: Final = (1, 2, 5, 10, 20)  # numbers of boosted trees
RELEASES: Final = 20  # simulated releases over which accuracies are averaged
NOISE: Final = Fraction(1)  # ε of the noisy votes
LARGE, DEEP, SHALLOW = 3_000, 8, 5  # with LARGE or more training rows, random trees have depth DEEP, otherwise SHALLOW
_FIXED_PARAMETERS: Final[dict[str, Any]] = {
    "max_leaves": 4096,
    "neighbors": "add-remove",
    "mode": "certified",
    "scale_share": "public",
}


def depth_for(n_rows: int) -> int:
    """Return the depth of random trees for this number of training rows."""
    return DEEP if n_rows >= LARGE else SHALLOW


def right_tree_counts(domain: Domain, codes: np.ndarray, y: np.ndarray) -> dict[str, Any]:
    """Count the training rows that exactly k of 400 random trees classify correctly, for k = 0, ..., 400. Not private.

    Parameters
    ----------
    domain : Domain
        Domain of the table.
    codes : uint16 array of shape (n, n_features)
        Training rows, encoded by the domain.
    y : int array of shape (n,)
        Class indices.

    Returns
    -------
    dict
        - "depth" and "rows": depth of the trees, and number of rows.
        - "guessing": error of predicting the most frequent class.
        - "rows_by_trees_right": list of the 401 counts.
        - "vote_error": error of the majority vote, by number of trees.
        - "label_share": share of a row's label in the row's leaf, as a mean over rows and trees.
    """
    depth = depth_for(len(y))
    right, label_share = _right_of_trees(domain, codes, y, depth)
    return {
        "depth": depth,
        "rows": int(right.shape[1]),
        "guessing": float(1 - np.bincount(y).max() / len(y)),
        "rows_by_trees_right": np.bincount(right.sum(axis=0), minlength=N_SAMPLED_TREES + 1).tolist(),
        "vote_error": {k: _vote_error(right, k) for k in VOTES},
        "label_share": label_share,
    }


def noisy_votes(domain: Domain, split: Split) -> dict[int, dict[str, float]]:
    """Return held-out accuracies at ε = 1 by number of trees: of a tree, of the vote, and by `even_vote_right`."""
    return {k: _noisy_votes(domain, split, k) for k in VOTES}


def empty_leaves(domain: Domain, split: Split) -> dict[int, dict[int, dict[str, float]]]:
    """Return the result of `empty_leaves_at` by depth and by number of trees."""
    return {depth: {k: empty_leaves_at(domain, split, depth, k) for k in SHARED_BY} for depth in DEPTHS}


def empty_leaves_at(domain: Domain, split: Split, depth: int, n_trees: int) -> dict[str, float]:
    """Return the share of empty leaves, by `empty_share` and as counted, and the number of leaves.

    Each row is in one tree.
    """
    n = len(split.y_train)
    spec = _labels_forest(n_trees, depth)._plan(domain, n)
    trees = spec.grow(domain, 0)
    all_rows = count_kept_rows(trees, domain, split.X_train, split.y_train, None, n_jobs=1).sum(axis=1)
    tree_of_row = rows_to_trees(spec, np.arange(n), DemoSource(1))
    counts = count_kept_rows(trees, domain, split.X_train, split.y_train, tree_of_row, n_jobs=1)
    return {
        "expected": empty_share(all_rows / n / n_trees, n),
        "counted": float((counts.sum(axis=1) == 0).mean()),
        "leaves": int(len(all_rows)),
    }


def boosted_errors(domain: Domain, X: pd.DataFrame, y: pd.Series) -> dict[str, Any]:
    """Return training errors of a tree by depth, of boosted trees, and of guessing, without privacy and with α = 1."""
    labels = np.asarray(y)

    def error(depth: int, n_trees: int) -> float:
        forest = BoostedForestClassifier(
            epsilon=None,
            n_estimators=n_trees,
            alpha=1.0,
            max_depth=depth,
            n_bins=10,
            beta="one",
            max_leaf=2.0,
            domain=domain,
            random_state=0,
        )
        return float((forest.fit(X, y).predict(X) != labels).mean())

    return {
        "tree": {d: error(d, 1) for d in DEPTHS},
        "boosted": {k: error(3, k) for k in BOOSTED},
        "guessing": float(1 - np.unique(labels, return_counts=True)[1].max() / len(labels)),
    }


def root_edge(domain: Domain, codes: np.ndarray, y: np.ndarray) -> dict[str, float]:
    """Return the largest edge of a test at the root: a cut of a numeric feature, or one category against all others.

    Parameters
    ----------
    domain : Domain
        Domain of the table, with two classes.
    codes : uint16 array of shape (n, n_features)
        Training rows, encoded by the domain.
    y : int array of shape (n,)
        Class indices.

    Returns
    -------
    dict
        "edge": `split_edge` of the best test, from 0 to 1; 0 if a class has no rows.
    """
    largest, class_rows = 0.0, np.bincount(y, minlength=2)
    if class_rows.min() == 0:
        return {"edge": largest}
    for feature, column in zip(domain.features, codes.T, strict=True):
        value = np.unique(column, return_inverse=True)[1]
        rows = np.stack([np.bincount(value[y == c], minlength=value.max() + 1) for c in (0, 1)], axis=1)
        left = np.cumsum(rows, axis=0) if feature.kind == "numeric" else rows
        largest = max(largest, float(split_edge(np.stack([left, class_rows - left], axis=1)).max()))
    return {"edge": largest}


def _right_of_trees(domain: Domain, codes: np.ndarray, y: np.ndarray, depth: int) -> tuple[np.ndarray, float]:
    """Return whether each random tree classifies each row correctly, and the label share.

    The first result is a bool array of shape (`N_SAMPLED_TREES`, n).
    """
    forest = RandomDecisionForestClassifier(
        epsilon=None,
        n_estimators=N_SAMPLED_TREES,
        max_depth=depth,
        voting="majority",
        partition="shared",
        categorical="ordered",
        **_FIXED_PARAMETERS,
    )
    trees = forest._plan(domain, len(y)).grow(domain, 0)
    counts = count_kept_rows(trees, domain, codes, y, None, n_jobs=1)
    leaves, sizes = _leaves(trees, domain, codes, N_SAMPLED_TREES), counts.sum(axis=1)
    label_share = np.mean([np.mean(counts[leaf, y] / sizes[leaf]) for leaf in leaves])
    return true_labels(counts, 0)[leaves] == y[None, :], float(label_share)


def _vote_error(right: np.ndarray, n_trees: int, repeats: int = 20) -> float:
    """Return the mean error of a majority vote over random sets of trees; a fair coin decides ties."""
    rng, errors = np.random.default_rng(0), []
    for _ in range(repeats):
        votes = right[rng.choice(len(right), n_trees, replace=False)].mean(axis=0)
        errors.append((votes < 0.5).mean() + (votes == 0.5).mean() / 2)
    return float(np.mean(errors))


def _noisy_votes(domain: Domain, split: Split, n_trees: int) -> dict[str, float]:
    """Return the accuracies of `noisy_votes` for one number of trees."""
    n = len(split.y_train)
    spec: ForestSpec = _labels_forest(n_trees, depth_for(n))._plan(domain, n)
    right_by_row, votes = np.zeros(len(split.y_test)), []
    for seed in range(RELEASES):
        trees = spec.grow(domain, seed)
        tree_of_row = rows_to_trees(spec, np.arange(n), DemoSource(seed + 1))
        counts = count_kept_rows(trees, domain, split.X_train, split.y_train, tree_of_row, n_jobs=1)
        labels = simulate_values(spec, counts, NOISE, 1000 + seed)
        right = labels[_leaves(trees, domain, split.X_test, n_trees)] == split.y_test[None, :]
        right_by_row += right.sum(axis=0)
        share = right.mean(axis=0)
        votes.append((share > 0.5).mean() + (share == 0.5).mean() / 2)
    right_by_row /= RELEASES * n_trees
    return {
        "tree": float(right_by_row.mean()),
        "vote": float(np.mean(votes)),
        "row_by_row": float(even_vote_right(right_by_row, n_trees).mean()),
    }


def _labels_forest(n_trees: int, depth: int) -> MajorityLabelForestClassifier:
    """Return random trees that release labels, with each row in one tree."""
    return MajorityLabelForestClassifier(
        n_estimators=n_trees,
        max_depth=depth,
        leaf_mechanism="permute-and-flip",
        partition="independent",
        categorical="multiway",
        **_FIXED_PARAMETERS,
    )


def _leaves(trees: Any, domain: Domain, codes: np.ndarray, n_trees: int) -> np.ndarray:
    """Return the leaf of each row in each tree, (n_trees, n)."""
    leaves = np.asarray(routing.leaves_of_rows(trees, domain, codes))
    return leaves if leaves.shape[0] == n_trees else leaves.T
