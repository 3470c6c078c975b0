"""Boosted trees of Nock and Henecka: bounds on the training error, the edge of a split, and sequences of α."""

import itertools
import math
from collections.abc import Sequence
from typing import Final

import numpy as np
from numpy.typing import ArrayLike

from dpforest.checks import check_choice
from dpforest.theory.ranges import check_above, check_between

RULES: Final = ("published", "derived")  # variants of the boosting bounds


# R. Nock, W. Henecka, "Boosted and differentially private ensembles of decision trees" (2020). The edge is their γ: the
# shares of a leaf's two classes that a test sends to one side differ by at least γ (Definition 9). Rule "published" is
# the paper's condition; rule "derived" is our condition, which is weaker.


def tree_error_bound(edge: float, alphas: Sequence[float], rule: str = "published") -> float:
    """Return a bound on the training error of a tree that splits all leaves, level by level, with the Mα-loss.

    Parameters
    ----------
    edge : float
        γ, in (0, 1].
    alphas : sequence of float
        The alpha of each level, from 0 to 1 and never rising.
    rule : {"published", "derived"}
        "published": exp(-γ²/16 Σ alpha), Theorem 10 with leaf weights that sum to 1 on a level. Its proof assumes that
        every split lowers the tree's potential in proportion to the leaf's weight, which is false for a nearly pure
        leaf. "derived": 1/2 Π (1 - alpha (1 - √(1 - γ²))). A test that sends shares a and b of the classes to one side
        multiplies a leaf's Matsushita potential by √(ab) + √((1-a)(1-b)) ≤ √(1 - (a-b)²), for every leaf, and the rest
        of the Mα-potential never rises.

    Examples
    --------
    >>> [round(tree_error_bound(0.5, [1.0] * 20, rule), 3) for rule in ("published", "derived")]
    [0.732, 0.028]
    """
    check_above("edge", edge, 0, 1)
    check_choice("rule", rule, RULES)
    if not all(0 <= alpha <= 1 for alpha in alphas) or any(b > a for a, b in itertools.pairwise(alphas)):
        raise ValueError("alphas must be from 0 to 1 and must not rise from one level to the next")
    if rule == "published":
        return math.exp(-(edge**2) / 16 * sum(alphas))
    return 0.5 * math.prod(_potential_left(edge, alpha) for alpha in alphas)


def levels_for_error(edge: float, alpha: float, error: float, rule: str = "published") -> int:
    """Return the number of levels after which `tree_error_bound` with one alpha is at most the error, in (0, 1/2].

    >>> levels_for_error(0.2, 1.0, 0.1), levels_for_error(0.2, 1.0, 0.1, "derived")
    (922, 79)
    """
    _check_boosting(edge, alpha, error)
    check_choice("rule", rule, RULES)
    if rule == "published":
        return math.ceil(-16 * math.log(error) / (alpha * edge**2))
    left = _potential_left(edge, alpha)
    return math.ceil(math.log(2 * error) / math.log(left)) if left else 1


def splits_for_error(edge: float, alpha: float, error: float) -> float:
    """Return the number of splits of the heaviest leaf that reach the error: error^(-16 / (alpha γ²)), equation 13.

    The result is infinite if it is too large for a float.

    >>> splits_for_error(1.0, 1.0, 0.5)
    65536.0
    """
    _check_boosting(edge, alpha, error)
    with np.errstate(over="ignore"):
        return float(np.power(1 / error, 16 / (alpha * edge**2)))


def trees_for_error(
    edge: float,
    alpha: float,
    error: float,
    rule: str = "published",
    *,
    mean_weight: float = 0.5,
    spread: float = 0.0,
) -> int:
    """Return the number of boosted trees whose combination reaches the training error.

    Parameters
    ----------
    edge : float
        Edge of each tree, in (0, 1], as a share of its largest leaf value M.
    alpha : float
        α of the link and the weights, in (0, 1].
    error : float
        Training error to reach, in (0, 1/2].
    rule : {"published", "derived"}
        "published": Theorem 12. "derived": the same proof with the surrogate's largest curvature, 1 / (4 alpha)
        (equation 152 has 1 / (2 alpha)), and with the 1/2 of Taylor's theorem.
    mean_weight : float
        Lower bound on the mean weight of the rows, in (0, 1]; the mean weight is 1/2 at the start.
    spread : float
        π of the paper, in [0, 1): steps are between 1 - π and 1 + π times alpha / M².

    Examples
    --------
    >>> trees_for_error(0.5, 1.0, 0.1), trees_for_error(0.5, 1.0, 0.1, "derived")
    (29, 17)
    """
    _check_boosting(edge, alpha, error)
    check_above("mean_weight", mean_weight, 0, 1)
    check_choice("rule", rule, RULES)
    if not 0 <= spread < 1:
        raise ValueError(f"spread={spread!r} is not a number from 0 to below 1")
    if rule == "published":
        gain = (1 - spread**2) / 2
    else:
        gain = (1 - spread) * (7 + spread) / 8  # c - c²/8 for the smallest step c = 1 - π
    return math.ceil((1 - error) / (gain * alpha * (mean_weight * edge) ** 2))


def split_edge(children: ArrayLike) -> np.ndarray:
    """Return the edge of a split (Definition 9): |P(left | y = 1) - P(left | y = 0)| among the rows of a leaf.

    The weak learning assumption is that the edge is at least γ. The γ of the appendix (Definition 17) is half of it.

    Parameters
    ----------
    children : array of shape (..., 2, 2)
        Weights by child and class, at least 0.

    Returns
    -------
    array of shape (...)
        Edges from 0 to 1; NaN if a class is missing, because the assumption does not cover this case.

    Raises
    ------
    ValueError
        If the array has another shape, or a weight is negative.

    Examples
    --------
    >>> split_edge([[[30, 10], [10, 30]], [[5, 5], [5, 5]]]).tolist()
    [0.5, 0.0]
    """
    table = np.asarray(children, float)
    if table.shape[-2:] != (2, 2):
        raise ValueError(f"children has the shape {table.shape}; give (..., 2, 2), weights by child and class")
    if (table < 0).any():
        raise ValueError("children holds a negative weight; give weights from 0 on")
    with np.errstate(invalid="ignore", divide="ignore"):
        left = table[..., 0, :] / table.sum(axis=-2)
    return np.abs(left[..., 1] - left[..., 0])


def first_step_too_large(alphas: Sequence[float], weights: Sequence[float], edge: float) -> int | None:
    """Return where a sequence of α stops being K-monotonic, which Theorem 10 requires; None if it never stops.

    α_l may be at most α_(l-1) exp(K w_l (1 - α_(l-1))) with K = γ²/16. A sequence that never rises is K-monotonic, so
    that of objective calibration is.

    Parameters
    ----------
    alphas : sequence of float
        α of each split in the order of the splits, in [0, 1].
    weights : sequence of float
        Share of the tree's weight in the leaf of each split, in [0, 1].
    edge : float
        γ, in [0, 1].

    Returns
    -------
    int or None
        Index of the first α that is too large.

    Raises
    ------
    ValueError
        If a number is out of range, or the sequences differ in length.

    Examples
    --------
    >>> first_step_too_large([1, 0.7, 0.49], [1, 0.5, 0.5], 0.2) is None
    True
    >>> first_step_too_large([0.5, 0.5, 0.6], [1, 1, 1], 0.2)
    2
    """
    check_between("edge", edge, 0, 1)
    for alpha, weight in zip(alphas, weights, strict=True):
        check_between("alpha", alpha, 0, 1)
        check_between("weight", weight, 0, 1)
    for i in range(1, len(alphas)):
        before = alphas[i - 1]
        most = before * math.exp(edge**2 / 16 * weights[i] * (1 - before))
        if alphas[i] > most * (1 + 1e-12):
            return i
    return None


def error_after_trees(edge: float, alpha: float, n_trees: int, rule: str = "published", weight: float = 0.5) -> float:
    """Return the least training error, from 0 to 1, that this many trees reach by Theorem 12.

    Parameters
    ----------
    edge, alpha, rule, weight
        As for `trees_for_error`, with `weight` as its `mean_weight`, and without a spread of steps.

    Examples
    --------
    >>> round(error_after_trees(0.5, 1.0, 29), 3), error_after_trees(1.0, 1.0, 1000)
    (0.094, 0.0)
    """
    check_choice("rule", rule, RULES)
    for name, value in (("edge", edge), ("alpha", alpha), ("weight", weight)):
        check_between(name, value, 0, 1)
    check_between("n_trees", n_trees, 0, math.inf)
    gain = (1 / 2 if rule == "published" else 7 / 8) * alpha * (weight * edge) ** 2
    return max(0.0, 1 - n_trees * gain)


def _potential_left(edge: float, alpha: float) -> float:
    return 1 - alpha * (1 - math.sqrt(1 - edge**2))


def _check_boosting(edge: float, alpha: float, error: float) -> None:
    check_above("edge", edge, 0, 1)
    check_above("alpha", alpha, 0, 1)
    check_above("error", error, 0, 0.5)
