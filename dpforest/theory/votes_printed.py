"""Theorems 5.1 to 5.9 of Bojarski et al. on random trees: as printed, and as the proofs show if the two differ.

Theorems that hold as printed are in `votes.py`. In the formulas, `e` is the mean training error of a random tree, `d`
is the slack of the votes, and `h` is the depth. The proofs ignore each leaf whose number of rows is below 1/K of the
mean over all leaves. If a probability is 0 or less, the theorem proves nothing.
"""

import math
from dataclasses import dataclass
from typing import Final

import numpy as np

from dpforest.checks import check_choice
from dpforest.theory.ranges import check_between, check_inside
from dpforest.theory.votes import HALF, check_private, first_rows

RULES: Final = ("majority", "average")
_STEPS = 9600  # 24 K / d for K = 40 and d = 1/10: the factor 9600 in γ of `direct_bound`


def mean_weight_bound(tree_error: float) -> float:
    """Return 1 - 2e + 2e² (Theorem 5.2), a lower bound on the mean share of a row's label in the row's leaf.

    The mean is over all rows and trees.

    >>> round(mean_weight_bound(0.2769), 4)
    0.5995
    """
    check_between("tree_error", tree_error, 0, HALF)
    return 1 - 2 * tree_error + 2 * tree_error**2


def share_of_sure_rows(tree_error: float, slack: float, rule: str = "majority", leaf_share: float = math.inf) -> float:
    """Return a lower bound on the share of rows for which the mean vote for the correct label is above 1/2 + d.

    The mean vote is over all random trees. Theorems 5.3 and 5.6 state such a bound.

    Parameters
    ----------
    tree_error : float
        e, from 0 to 1/2.
    slack : float
        d, in (0, 1/2).
    rule : {"majority", "average"}
        Majority vote of the trees, or average of the class shares in their leaves.
    leaf_share : float
        K of Theorem 5.6; infinite without privacy. For held-out rows, the paper uses K / 2.

    Returns
    -------
    float
        The bound is 1 - (e + 1/K) / (1/2 - d) for a majority vote, and 1 - (2e - 2e² + 1/K) / (1/2 - d) for averaged
        shares. If the result is 0 or less, the theorem proves nothing.

    Notes
    -----
    The paper has 1 - e / (1/2 - d - 1/K), as if the mean vote on each row fell by at most 1/K. But the leaves that the
    proof ignores hold up to 1/K of all rows, and all votes on these rows may be wrong. Example: a table has one binary
    attribute. Its rare value has a probability of 1/n, and coins decide the labels of rows with this value. All other
    rows have the same label. With a probability of about 1/3, e is 0, but the held-out error exceeds 0.

    Examples
    --------
    >>> [round(share_of_sure_rows(0.1, 0.1, rule, K), 6) for rule in ("majority", "average") for K in (40, 20)]
    [0.6875, 0.625, 0.4875, 0.425]
    """
    check_choice("rule", rule, RULES)
    check_between("tree_error", tree_error, 0, HALF)
    check_inside("leaf_share", leaf_share, 0, math.inf)
    check_inside("slack", slack, 0, HALF)
    error = tree_error if rule == "majority" else 2 * tree_error * (1 - tree_error)
    return 1 - (error + 1 / leaf_share) / (HALF - slack)


def trees_required(n_rows: float, slack: float, exponent: float = 1.0, *, held_out: bool = False) -> float:
    """Return the number of trees k = (1 + C) ln n / (2 d²) of Theorem 5.3, where C is `exponent`.

    With k trees, the mean vote on each of the n rows deviates by at most d from its mean over all random trees, except
    with a probability of n^(-C) for all rows together.

    Parameters
    ----------
    held_out : bool
        Whether to bound the error on n held-out rows. The formula then has d / 2 instead of d, so it gives four times
        as many trees.

    Examples
    --------
    >>> round(trees_required(1000, 0.1), 2), round(trees_required(1000, 0.1, held_out=True), 1)
    (690.78, 2763.1)
    """
    check_between("n_rows", n_rows, 1, math.inf)
    check_inside("slack", slack, 0, math.inf)
    check_between("exponent", exponent, 0, math.inf)
    return (1 + exponent) * math.log(n_rows) / (2 * (slack / 2 if held_out else slack) ** 2)


def held_out_failure(n_rows: float, k: int, depth: int, slack: float, leaf_share: float) -> float:
    """Return the failure probability that Theorems 5.3 to 5.8 add for the error on n held-out rows.

    The result is 2^(h+3) k e^(-2nφ²), where φ = d / (2 (4 + d) 2^h K). If it is 1 or more, no error bound follows.

    >>> f"{held_out_failure(1e8, 520, 3, 0.3, 10):.1e}"
    '1.0e-12'
    """
    check_private(n_rows, k, depth, slack, leaf_share)
    phi = slack / (2 * (4 + slack) * 2.0**depth * leaf_share)
    return 2.0 ** (depth + 3) * k * math.exp(-2 * n_rows * phi**2)


def held_out_probability(n_rows: float, depth: int, slack: float, leaf_share: float) -> float:
    """Return the least probability that `share_of_sure_rows` holds for n held-out rows: 1 - 1/n - `held_out_failure`.

    The number of trees is `trees_required` for held-out rows with C = 1. If the result is 0 or less, the theorem proves
    nothing.

    >>> round(held_out_probability(1e9, 3, 0.3, 10), 6), held_out_probability(1000, 3, 0.3, 10) < -1e4
    (1.0, True)
    """
    k = math.ceil(trees_required(n_rows, slack, held_out=True))
    return 1 - 1 / n_rows - held_out_failure(n_rows, k, depth, slack, leaf_share)


def rows_to_hold_out(depth: int, slack: float, leaf_share: float) -> float | None:
    """Return the least number of rows with `held_out_probability` above 0, or None if 10²⁰ rows do not suffice.

    >>> f"{rows_to_hold_out(3, 0.3, 10):.1e}"
    '2.8e+07'
    """
    return first_rows(lambda n: held_out_probability(n, depth, slack, leaf_share) > 0, 20)


def coin_bound(tree_error: float, slack: float, draw_slack: float, leaf_share: float = math.inf) -> float:
    """Return the bound of Theorems 5.5 and 5.8 on the error of a random vote.

    The random vote draws a class; the probability of a class is its mean share over the trees. The bound is 2e' - 2e'²
    + d + c, where e' = e + 1/K, d is `slack`, and c is `draw_slack`, the slack for the random draws of the classes.
    Without privacy, the bound holds for any number of trees: more trees make the mean share less random, but do not
    lower the bound.

    >>> round(coin_bound(0.1, 0.05, 0.02), 6), round(coin_bound(0.1, 0.05, 0.02, 40), 6)
    (0.25, 0.28875)
    """
    check_between("tree_error", tree_error, 0, HALF)
    check_between("slack", slack, 0, 1)
    check_between("draw_slack", draw_slack, 0, 1)
    check_inside("leaf_share", leaf_share, 0, math.inf)
    error = min(tree_error + 1 / leaf_share, HALF)  # above 1/2 the formula would fall again
    return 2 * error - 2 * error**2 + slack + draw_slack


def printed_probability(n: float, k: int, depth: int, slack: float, leaf_share: float, epsilon: float) -> float:
    """Return the probability of Theorem 5.6 as printed: 1 - n (e^(-k d² / 2) + e^(-k/2) + k e^(-λ n ε / k)).

    Here λ = d / (24 K 2^h). The proof has 2k in place of k in the last term. `votes.proof_probability` returns the
    largest probability that follows from the proof.

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
        k_opt, the number of trees with the largest `probability`; 1 if more trees do not raise it.
    probability : float
        Least probability that the bound holds. For most tables it is far below 0, so the bound proves nothing.
    printed, derived : float
        Bound on the error as printed, and as it follows from the algebra of the proof.
    """

    trees: int
    probability: float
    printed: float
    derived: float


def direct_bound(tree_error: float, n: float, depth: int, epsilon: float, rule: str = "average") -> DirectBound:
    """Return the bound of Theorem 5.7 (averaged shares) or 5.9 (random vote with the mean share) at the best k.

    The best k, k_opt, minimizes f(k) = e^(-k/200) + 2k e^(-γ √n ε / k), where γ = 1 / (9600 · 2^h).

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
        The printed bound is 1/8 + (9/2) e - 5e² in Theorem 5.7, and 1/5 + (19/10) e - 2e² in Theorem 5.9. The proof of
        Theorem 5.7 gives 39/320 + (19/4) e - 5e². The proof of Theorem 5.9 gives `coin_bound`, which has 0.19875 in
        place of 1/5. The printed probability of Theorem 5.9 lacks a pair of brackets; this function adds the brackets.

    Examples
    --------
    >>> bound = direct_bound(0.1, 1e6, 3, 1.0)
    >>> bound.trees, bound.probability < -1e6, round(bound.printed, 3), round(bound.derived, 6)
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
        printed, derived = 0.2 + 1.9 * e - 2 * e**2, coin_bound(e, slack=0.1, draw_slack=0.05, leaf_share=40)
        return DirectBound(trees, probability * (1 - math.exp(-n / 200)), printed, derived)
    return DirectBound(trees, probability, 1 / 8 + 4.5 * e - 5 * e**2, 39 / 320 + 4.75 * e - 5 * e**2)


def rows_for_direct_bound(depth: int, epsilon: float, rule: str = "average") -> float | None:
    """Return the least number of rows with a `direct_bound` of probability above 0, or None if 10⁴⁰ do not suffice.

    >>> f"{rows_for_direct_bound(1, 1.0):.1e}"
    '1.0e+20'
    """
    return first_rows(lambda n: direct_bound(0.0, n, depth, epsilon, rule).probability > 0, 40)


def _least_lost(rate: float) -> tuple[int, float]:
    """Return the integer k >= 1 with the least f(k) = e^(-k/200) + 2k e^(-rate/k), and f(k).

    A grid search finds an interval around the minimum, and a second search tries every integer in this interval. The
    searches compare logarithms, because floats cannot hold some of the values.
    """

    def log_lost(k: np.ndarray) -> np.ndarray:
        return np.logaddexp(-k / 200, np.log(2 * k) - rate / k)

    grid = np.unique(np.round(np.geomspace(1, max(2.0, 40 * math.sqrt(200 * rate)), 20_000)))
    best = int(log_lost(grid).argmin())
    candidates = np.arange(grid[max(best - 1, 0)], grid[min(best + 1, len(grid) - 1)] + 1)
    least = int(log_lost(candidates).argmin())
    return int(candidates[least]), float(np.exp(log_lost(candidates)[least]))
