"""The papers' bounds as functions of public numbers."""

import itertools
import math
from collections.abc import Sequence
from typing import Final

import numpy as np
from scipy.special import lambertw

from dpforest.checks import check_choice

RULES: Final = ("published", "derived")  # of the boosting bounds


# R. Nock, W. Henecka, "Boosted and differentially private ensembles of decision trees" (2020). The edge is their γ: a
# test sends shares of a leaf's two classes one way that differ by at least that much (Definition 9). Rule "published"
# is the paper's condition; rule "derived" is ours, which asks for less.


def tree_error_bound(edge: float, alphas: Sequence[float], rule: str = "published") -> float:
    """Bound on the training error of a tree all of whose leaves are split, level by level, with the Mα-loss.

    Parameters
    ----------
    edge : float
        In (0, 1].
    alphas : sequence of float
        The alpha of each level, from 0 to 1 and never rising.
    rule : {"published", "derived"}
        "published": exp(-γ²/16 Σ alpha), Theorem 10 with leaf weights that sum to 1 on a level. Its proof takes every
        split to lower the tree's potential in proportion to the leaf's weight, which a leaf that is nearly pure cannot.
        "derived": 1/2 Π (1 - alpha (1 - √(1 - γ²))). Of a leaf's Matsushita potential a test that sends shares a and b
        of the classes one way leaves √(ab) + √((1-a)(1-b)) ≤ √(1 - (a-b)²), whatever the leaf, and the rest of the
        Mα-potential never rises.

    Examples
    --------
    >>> [round(tree_error_bound(0.5, [1.0] * 20, rule), 3) for rule in ("published", "derived")]
    [0.732, 0.028]
    """
    _check_above("edge", edge, 0, 1)
    check_choice("rule", rule, RULES)
    if not all(0 <= alpha <= 1 for alpha in alphas) or any(b > a for a, b in itertools.pairwise(alphas)):
        raise ValueError("alphas must be from 0 to 1 and must not rise from one level to the next")
    if rule == "published":
        return math.exp(-(edge**2) / 16 * sum(alphas))
    return 0.5 * math.prod(_potential_left(edge, alpha) for alpha in alphas)


def levels_for_error(edge: float, alpha: float, error: float, rule: str = "published") -> int:
    """Levels after which `tree_error_bound` with one alpha is at most the error, which is in (0, 1/2].

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
    """Splits of the heaviest leaf until the error is reached, equation 13: error^(-16 / (alpha γ²)); inf beyond floats.

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
    """Boosted trees after which the training error of their combination is reached.

    Parameters
    ----------
    edge : float
        In (0, 1]; here of each tree, as a share of its largest leaf value M.
    alpha : float
        In (0, 1], of the link and the weights.
    error : float
        In (0, 1/2].
    rule : {"published", "derived"}
        "published": Theorem 12. "derived": the same proof with the surrogate's largest curvature, 1 / (4 alpha)
        (equation 152 has 1 / (2 alpha)), and with the 1/2 of Taylor's theorem.
    mean_weight : float
        What the rows' mean weight does not fall below; 1/2 at the start.
    spread : float
        In [0, 1), the paper's π: steps are between 1 - π and 1 + π times alpha / M².

    Examples
    --------
    >>> trees_for_error(0.5, 1.0, 0.1), trees_for_error(0.5, 1.0, 0.1, "derived")
    (29, 17)
    """
    _check_boosting(edge, alpha, error)
    _check_above("mean_weight", mean_weight, 0, 1)
    check_choice("rule", rule, RULES)
    if not 0 <= spread < 1:
        raise ValueError(f"spread={spread!r} is not a number from 0 to below 1")
    if rule == "published":
        gain = (1 - spread**2) / 2
    else:
        gain = (1 - spread) * (7 + spread) / 8  # c - c²/8 for the smallest step c = 1 - π
    return math.ceil((1 - error) / (gain * alpha * (mean_weight * edge) ** 2))


def tree_efficiency(share: float, error: float, depth: int) -> float:
    """J of equation 20 for a node that holds a share of the weight of a tree with this error: from 0 to 2.

    >>> tree_efficiency(1.0, 0.5, 0)
    2.0
    """
    return 8 * share * error**2 / 2**depth


def calibration_constant(
    edge: float = 0.5,
    gap: float = 0.5,
    split_share: float = 0.5,
    mean_weight: float = 0.5,
    n_splits: int = 1,
    failure: float = 0.1,
) -> float:
    """ln(|L| / ξ) / Q' of Theorem 13: what makes private splits as good as the edge promises, but for the rows and ε.

    Parameters
    ----------
    edge, gap : float
        γ in (0, 1] and δ in [0, 1): tests without the edge lower the potential at most δ² times as much as the theorem
        takes those with it to do.
    split_share : float
        Share of ε for the splits.
    mean_weight : float
        Mean weight of a row.
    n_splits : int
        How many splits are all to have the edge,
    failure : float
        but with this probability, up to 1/2.
    """
    for name, value in {"edge": edge, "split_share": split_share, "mean_weight": mean_weight}.items():
        _check_above(name, value, 0, 1)
    _check_above("failure", failure, 0, 0.5)
    if not 0 <= gap < 1:
        raise ValueError(f"gap={gap!r} is not a number from 0 to below 1")
    return 256 * math.log(n_splits / failure) / (split_share * mean_weight * (1 - gap**2) * edge**2)


def efficiency_needed(n: float, epsilon: float, constant: float) -> float:
    """The `tree_efficiency` that Theorem 13 asks of every node that is split, equation 207.

    It needs trees × levels ≤ ln n as well, and at this efficiency a share failure / (failure + n_splits) of candidates
    with the edge. Like Theorem 10 it takes the potential to fall in proportion to the leaf's weight.

    Parameters
    ----------
    n : float
        Rows, at least 3.
    epsilon : float
    constant : float
        `calibration_constant`.

    >>> round(efficiency_needed(1372, 1.0, calibration_constant()))
    2453
    """
    if not n >= 3:
        raise ValueError(f"n={n!r} is not a number of rows from 3")
    _check_above("epsilon", epsilon, 0, math.inf)
    return constant * math.log(n) / (epsilon * math.sqrt(n))


def rows_for_efficiency(epsilon: float, constant: float, efficiency: float = 2.0) -> float:
    """Rows from which `efficiency_needed` is at most the efficiency; no node has more than 2.

    >>> f"{rows_for_efficiency(1.0, calibration_constant()):.1e}"
    '2.2e+10'
    """
    _check_above("epsilon", epsilon, 0, math.inf)
    _check_above("efficiency", efficiency, 0, 2)
    half = efficiency * epsilon / constant / 2
    if half >= 1 / math.e:  # ln n / √n is at most 2 / e
        return 3.0
    return (float(lambertw(-half, -1).real) / half) ** 2


def _potential_left(edge: float, alpha: float) -> float:
    return 1 - alpha * (1 - math.sqrt(1 - edge**2))


def _check_boosting(edge: float, alpha: float, error: float) -> None:
    _check_above("edge", edge, 0, 1)
    _check_above("alpha", alpha, 0, 1)
    _check_above("error", error, 0, 0.5)


def _check_above(name: str, value: float, low: float, high: float) -> None:
    if not low < value <= high:
        raise ValueError(f"{name}={value!r} is not a number above {low:g} and up to {high:g}")
