"""Boosted private trees: the edge of a split, sequences of α that the theorem allows, and how likely a good split is.

R. Nock, W. Henecka, *Boosted and differentially private ensembles of decision trees* (arXiv 2001.09384). Other bounds
of the paper are in `boosting_bounds.py`.
"""

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from dpforest.checks import check_choice
from dpforest.theory.boosting_bounds import RULES
from dpforest.theory.votes import check_between


def split_edge(children: ArrayLike) -> np.ndarray:
    """Edge of a split (Definition 9): |P(left | y = 1) - P(left | y = 0)| among the rows of a leaf.

    The weak learning assumption asks that it be at least γ. The γ of the appendix (Definition 17) is half of it.

    Parameters
    ----------
    children : array of shape (..., 2, 2)
        Weights by child and class, from 0.

    Returns
    -------
    array of shape (...)
        From 0 to 1; NaN where a class is missing, as the assumption then says nothing.

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
    """Where a sequence of α stops being K-monotonic, as Theorem 10 asks; None where it never does.

    α_l may be at most α_(l-1) exp(K w_l (1 - α_(l-1))) with K = γ²/16. A sequence that never rises always is, so
    objective calibration is.

    Parameters
    ----------
    alphas : sequence of float
        α of each split in the order in which they are made, in [0, 1].
    weights : sequence of float
        Share of the tree's weight in the leaf that is split, in [0, 1]; as many.
    edge : float
        γ, in (0, 1].

    Returns
    -------
    int or None
        Index of the first α that is too large.

    Raises
    ------
    ValueError
        If a number is out of range, or there are not as many.

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


def odds_of_a_good_split(
    share: float,
    edge: float,
    alpha: float,
    epsilon: float,
    weight: float,
    potential: float,
    sensitivity: float,
    gap: float = 0.5,
) -> float:
    """Least P(a test with the edge) / P(another) of one private split: ρ exp((1 - δ²) γ² α ε w L / (32 Δ)).

    With odds r a good one comes with probability r / (1 + r) at least. The paper's appendix has δ², its text δ; this is
    the appendix. It takes tests with the edge to lower the potential by γ² α w L / 16 at least, others by δ² times that
    at most.

    Parameters
    ----------
    share : float
        ρ, tests with the edge for each one without, from 0.
    edge, alpha : float
        γ and α, in [0, 1].
    epsilon : float
        Of this one choice, from 0.
    weight : float
        Share of the tree's weight in the leaf, in [0, 1].
    potential : float
        L, the potential of the whole tree, in rows.
    sensitivity : float
        Δ, what one row changes it by, above 0.
    gap : float
        δ, in [0, 1].

    Examples
    --------
    >>> round(odds_of_a_good_split(0.1, 0.5, 1.0, 1.0, 1.0, 30_162, 350), 3)
    0.166
    """
    for name, value in {"edge": edge, "alpha": alpha, "weight": weight, "gap": gap}.items():
        check_between(name, value, 0, 1)
    for name, value in {"share": share, "epsilon": epsilon, "potential": potential}.items():
        check_between(name, value, 0, math.inf)
    if not sensitivity > 0:
        raise ValueError(f"sensitivity={sensitivity!r} is not a number above 0")
    gain = (1 - gap**2) * edge**2 * alpha * weight * potential
    return share * math.exp(min(gain * epsilon / (32 * sensitivity), 700.0))


def error_after_trees(edge: float, alpha: float, n_trees: int, rule: str = "published", weight: float = 0.5) -> float:
    """Theorem 12 the other way round: the least training error, from 0 to 1, that this many trees are enough for.

    Parameters
    ----------
    edge, alpha, rule, weight
        As `dpforest.theory.trees_for_error` has them, `weight` being its `mean_weight`, and no spread of steps.

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
