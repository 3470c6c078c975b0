"""Boosted trees of Nock and Henecka: bounds on the training error, and the edge of a split."""

import itertools
import math
from collections.abc import Sequence
from typing import Final

import numpy as np
from numpy.typing import ArrayLike

from dpforest.checks import check_choice
from dpforest.theory.ranges import check_above, check_between

RULES: Final = ("published", "derived")  # variants of the boosting bounds


# R. Nock, W. Henecka, "Boosted and differentially private ensembles of decision trees" (2020). A test sends a share of
# each of the two classes of a leaf to the left. The edge, γ in the paper, is a lower bound on the difference of these
# two shares (Definition 9). The rule "published" uses the formulas of the paper. The rule "derived" uses our formulas,
# which need fewer levels or trees for the same error.


def tree_error_bound(edge: float, alphas: Sequence[float], rule: str = "published") -> float:
    """Return a bound on the training error of a tree that splits all leaves, level by level, with the Mα-loss.

    Parameters
    ----------
    edge : float
        γ, in (0, 1].
    alphas : sequence of float
        α of the Mα-loss on each level, from 0 to 1 and never rising.
    rule : {"published", "derived"}
        "published": the bound is exp(-γ²/16 Σ alpha), Theorem 10 with leaf weights that sum to 1 on a level. The proof
        assumes that every split lowers the tree's potential in proportion to the leaf's weight. This assumption is
        false for a nearly pure leaf. "derived": the bound is 1/2 Π (1 - alpha (1 - √(1 - γ²))). The Mα-potential is
        alpha times the Matsushita potential plus 1 - alpha times the potential of the 0/1 loss, which never rises. If a
        test sends shares a and b of the two classes to the left, it multiplies the Matsushita potential of a leaf by
        √(ab) + √((1-a)(1-b)) ≤ √(1 - (a-b)²).

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
    return 0.5 * math.prod(_potential_factor(edge, alpha) for alpha in alphas)


def levels_for_error(edge: float, alpha: float, error: float, rule: str = "published") -> int:
    """Return the number of levels, all with the same alpha, after which `tree_error_bound` is at most `error`.

    The parameter `error` is above 0 and at most 1/2.

    >>> levels_for_error(0.2, 1.0, 0.1), levels_for_error(0.2, 1.0, 0.1, "derived")
    (922, 79)
    """
    _check_boosting(edge, alpha, error)
    check_choice("rule", rule, RULES)
    if rule == "published":
        return math.ceil(-16 * math.log(error) / (alpha * edge**2))
    factor = _potential_factor(edge, alpha)
    return math.ceil(math.log(2 * error) / math.log(factor)) if factor else 1


def splits_for_error(edge: float, alpha: float, error: float) -> float:
    """Return the number of splits with which a tree reaches the training error, if each split is at the heaviest leaf.

    The number is error^(-16 / (alpha γ²)) (equation 13). If it is too large for a float, the result is infinite.

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
        "published": Theorem 12. "derived": the proof of Theorem 12 with two corrections. The largest curvature of the
        surrogate loss is 1 / (4 alpha), not 1 / (2 alpha) as in equation 152. And the second-order term of Taylor's
        theorem has its factor 1/2.
    mean_weight : float
        Lower bound on the mean weight of the rows, in (0, 1]. The mean weight is 1/2 before the first tree.
    spread : float
        π of the paper, in [0, 1). The step of each tree is between (1 - π) alpha / M² and (1 + π) alpha / M².

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

    The paper's weak learning assumption is that this edge is at least γ. In its appendix (Definition 17), γ is half as
    large.

    Parameters
    ----------
    children : array of shape (..., 2, 2)
        Weights by child and class, at least 0.

    Returns
    -------
    array of shape (...)
        Edges from 0 to 1. If a class is missing, the edge is NaN, because the assumption does not cover this case.

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
        left_share = table[..., 0, :] / table.sum(axis=-2)
    return np.abs(left_share[..., 1] - left_share[..., 0])


def error_after_trees(edge: float, alpha: float, n_trees: int, rule: str = "published", weight: float = 0.5) -> float:
    """Return the least training error, from 0 to 1, that Theorem 12 guarantees after this many trees.

    Parameters
    ----------
    edge, alpha, rule, weight
        As for `trees_for_error`; `weight` is its `mean_weight`, and its `spread` is 0.

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


def best_error_after_trees(
    edge: float, alpha: float, n_trees: int, rule: str = "published", weight: float = 0.5
) -> float:
    """Return a bound on the least training error among the sums of the first 1, 2, ..., `n_trees` trees.

    Theorem 12 assumes that the mean weight of the rows is at least `weight` at every tree. At a tree with a smaller
    mean weight, the share of misclassified rows is less than 2 `weight`, because each misclassified row has a weight of
    at least 1/2.

    Parameters
    ----------
    edge, alpha, n_trees, rule, weight
        As for `error_after_trees`; the bound holds for every `weight`.

    Examples
    --------
    >>> [round(best_error_after_trees(0.5, 1.0, n, "derived", 0.1), 3) for n in (100, 300, 500)]
    [0.781, 0.344, 0.2]
    """
    return min(1.0, max(2 * weight, error_after_trees(edge, alpha, n_trees, rule, weight)))


def _potential_factor(edge: float, alpha: float) -> float:
    """Return a bound on the factor by which a level of splits multiplies the potential ("derived")."""
    return 1 - alpha * (1 - math.sqrt(1 - edge**2))


def _check_boosting(edge: float, alpha: float, error: float) -> None:
    check_above("edge", edge, 0, 1)
    check_above("alpha", alpha, 0, 1)
    check_above("error", error, 0, 0.5)
