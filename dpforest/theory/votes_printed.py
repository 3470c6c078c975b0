"""Bojarski et al.'s Theorems 5.1 to 5.9 on random trees as printed, and the results of their proofs if these differ.

Theorems that hold as printed are in `votes.py`. `e` is the mean training error of a random tree, `d` the slack of the
votes, and `h` the depth. The proofs ignore leaves with less than a K-th of the mean number of rows. If a probability is
0 or less, the theorem proves nothing.
"""

import math
from dataclasses import dataclass
from typing import Final

import numpy as np

from dpforest.checks import check_choice
from dpforest.theory.ranges import check_between, check_inside
from dpforest.theory.votes import HALF, check_private

RULES: Final = ("majority", "average")
_STEPS = 9600  # 24 K / d for K = 40 and d = 1/10: the denominator of γ in `direct_bound`


def mean_weight_bound(tree_error: float) -> float:
    """Return 1 - 2e + 2e² (Theorem 5.2), a lower bound on the mean share of a row's label in its leaf.

    The mean is over rows and trees.

    >>> round(mean_weight_bound(0.2769), 4)
    0.5995
    """
    check_between("tree_error", tree_error, 0, HALF)
    return 1 - 2 * tree_error + 2 * tree_error**2


def sure_rows(tree_error: float, slack: float, rule: str = "majority", leaf_share: float = math.inf) -> float:
    """Return the least share of rows that the mean over all random trees gets right by more than d (Theorems 5.3, 5.6).

    Parameters
    ----------
    tree_error : float
        e, from 0 to 1/2.
    slack : float
        d, in (0, 1/2 - 1 / leaf_share).
    rule : {"majority", "average"}
        Majority vote of trees, or average of their shares.
    leaf_share : float
        K of Theorem 5.6; infinite without privacy. For held-out rows the paper has K / 2.

    Returns
    -------
    float
        1 - e / (1/2 - d - 1/K), or for averaged shares 1 - (2e - 2e²) / (1/2 - d - 1/K); 0 or less proves nothing.

    Examples
    --------
    >>> [round(sure_rows(0.1, 0.1, rule, K), 6) for rule in ("majority", "average") for K in (40, 20)]
    [0.733333, 0.714286, 0.52, 0.485714]
    """
    check_choice("rule", rule, RULES)
    check_between("tree_error", tree_error, 0, HALF)
    check_inside("leaf_share", leaf_share, 0, math.inf)
    check_inside("slack", slack, 0, HALF - 1 / leaf_share)
    room = HALF - slack - 1 / leaf_share
    error = tree_error if rule == "majority" else 2 * tree_error * (1 - tree_error)
    return 1 - error / room


def trees_asked(n_rows: int, slack: float, exponent: float = 1.0, *, held_out: bool = False) -> float:
    """Return k = (1 + C) ln n / (2 d²) of Theorem 5.3: trees whose votes deviate by at most d on all rows.

    The bound fails with a probability of n^(-C), where C is `exponent`.

    Parameters
    ----------
    held_out : bool
        True: bound the error on n held-out rows, with half the slack, which takes four times as many trees.

    Examples
    --------
    >>> round(trees_asked(1000, 0.1), 2), round(trees_asked(1000, 0.1, held_out=True), 1)
    (690.78, 2763.1)
    """
    check_between("n_rows", n_rows, 1, math.inf)
    check_inside("slack", slack, 0, math.inf)
    check_between("exponent", exponent, 0, math.inf)
    return (1 + exponent) * math.log(n_rows) / (2 * (slack / 2 if held_out else slack) ** 2)


def held_out_loss(n_rows: float, k: int, depth: int, slack: float, leaf_share: float) -> float:
    """Return the additional failure probability of Theorems 5.3 to 5.8 for the error on n held-out rows.

    It is 2^(h+3) k e^(-2nφ²) with φ = d / (2 (4 + d) 2^h K). No error bound follows if it is 1 or more.

    >>> f"{held_out_loss(1e8, 520, 3, 0.3, 10):.1e}"
    '1.0e-12'
    """
    check_private(n_rows, k, depth, slack, leaf_share)
    phi = slack / (2 * (4 + slack) * 2.0**depth * leaf_share)
    return 2.0 ** (depth + 3) * k * math.exp(-2 * n_rows * phi**2)


def coin_bound(tree_error: float, slack: float, luck: float, leaf_share: float = math.inf) -> float:
    """Return the bound of Theorems 5.5 and 5.8 on the error of a random vote with the mean share as its probability.

    It is 2e' - 2e'² + d + c with e' = e + 1/K. Without privacy, it holds for any number of trees: more trees only
    steady the vote, so they do not help this rule.

    >>> round(coin_bound(0.1, 0.05, 0.02), 6), round(coin_bound(0.1, 0.05, 0.02, 40), 6)
    (0.25, 0.28875)
    """
    check_between("tree_error", tree_error, 0, HALF)
    check_between("slack", slack, 0, 1)
    check_between("luck", luck, 0, 1)
    check_inside("leaf_share", leaf_share, 0, math.inf)
    moved = tree_error + 1 / leaf_share
    return 2 * moved - 2 * moved**2 + slack + luck


def printed_probability(n: float, k: int, depth: int, slack: float, leaf_share: float, epsilon: float) -> float:
    """Return Theorem 5.6 as printed: 1 - n (e^(-k d² / 2) + e^(-k/2) + k e^(-λ n ε / k)), λ = d / (24 K 2^h).

    Its proof has 2k in the last term. `votes.proof_probability` is the best form that the proof gives.

    >>> round(printed_probability(1e8, 520, 3, 0.3, 10, 1.0), 6)
    0.988484
    """
    check_private(n, k, depth, slack, leaf_share)
    check_between("epsilon", epsilon, 0, math.inf)
    rate = slack / (24 * leaf_share * 2.0**depth)
    lost = math.exp(-k * slack**2 / 2) + math.exp(-k / 2) + k * math.exp(-rate * n * epsilon / k)
    return 1 - n * lost


@dataclass(frozen=True)
class DirectBound:
    """Bound of Theorem 5.7 or 5.9 at K = 40 and d = 1/10.

    Attributes
    ----------
    trees : int
        k_opt, the number of trees with the largest probability; 1 if no number of trees helps.
    probability : float
        Least probability that the bound holds; mostly far below 0.
    printed, derived : float
        Bound on the error as printed, and by the algebra of the proof.
    """

    trees: int
    probability: float
    printed: float
    derived: float


def direct_bound(tree_error: float, n: float, depth: int, epsilon: float, rule: str = "average") -> DirectBound:
    """Return the bound of Theorem 5.7 (averaged shares) or 5.9 (random vote with the mean share) at the best k.

    f(k) = e^(-k/200) + 2k e^(-γ √n ε / k), γ = 1 / (9600 · 2^h), is least at k_opt.

    Parameters
    ----------
    tree_error : float
        e, from 0 to 1/2.
    n : float
        Number of rows, at least 1; below about 10²⁰ the bound proves nothing.
    depth : int
        h, at least 0.
    epsilon : float
        Budget, above 0.
    rule : {"average", "coin"}
        "average": Theorem 5.7. "coin": Theorem 5.9.

    Returns
    -------
    DirectBound
        5.7 prints 1/8 + (9/2) e - 5e², and its proof gives 39/320 + (19/4) e - 5e². 5.9 prints 1/5 + (19/10) e - 2e²,
        and its proof gives .19875 in place of 1/5. The printed probability of 5.9 lacks a pair of brackets, which are
        added here.

    Examples
    --------
    >>> found = direct_bound(0.1, 1e6, 3, 1.0)
    >>> found.trees, found.probability < -1e6, round(found.printed, 3), round(found.derived, 6)
    (1, True, 0.525, 0.546875)
    >>> 30_000 < direct_bound(0.1, 1e22, 1, 1.0).trees < 32_000
    True
    """
    check_between("tree_error", tree_error, 0, HALF)
    check_between("n", n, 1, math.inf)
    check_between("depth", depth, 0, math.inf)
    check_inside("epsilon", epsilon, 0, math.inf)
    check_choice("rule", rule, ("average", "coin"))
    rate = math.sqrt(n) * epsilon / (_STEPS * 2.0**depth)
    trees, least = _least_lost(rate)
    probability = 1 - n * (least + math.exp(-n / 2))
    e = tree_error
    if rule == "coin":
        printed, derived = 0.2 + 1.9 * e - 2 * e**2, 0.19875 + 1.9 * e - 2 * e**2
        return DirectBound(trees, probability * (1 - math.exp(-n / 200)), printed, derived)
    return DirectBound(trees, probability, 1 / 8 + 4.5 * e - 5 * e**2, 39 / 320 + 4.75 * e - 5 * e**2)


def _least_lost(rate: float) -> tuple[int, float]:
    """Return the integer k >= 1 at which f(k) = e^(-k/200) + 2k e^(-rate/k) is least, and f(k).

    A grid finds the neighborhood, then every integer in it is tried.
    """

    def lost(k: np.ndarray) -> np.ndarray:
        return np.exp(-k / 200) + 2 * k * np.exp(-rate / k)

    grid = np.unique(np.round(np.geomspace(1, max(2.0, 40 * math.sqrt(200 * rate)), 20_000)))
    best = int(lost(grid).argmin())
    near = np.arange(grid[max(best - 1, 0)], grid[min(best + 1, len(grid) - 1)] + 1)
    least = int(lost(near).argmin())
    return int(near[least]), float(lost(near)[least])
