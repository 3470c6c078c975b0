"""The papers' theorems about the leaves of random trees and about votes of these trees, as functions.

Other modules have the theorems on consistency (`multinomial.py`), on boosting (`boosting_bounds.py` and
`private_splits.py`), on the least flip rate of a leaf (`dpforest/privacy/mechanisms.py`), and on the change of a
potential when a row is added (`dpforest/losses.py`).
"""

import math
from collections.abc import Callable, Sequence
from typing import Final

import numpy as np
from numpy.typing import ArrayLike
from scipy.stats import binom

from dpforest.theory.ranges import check_between, check_inside

HALF: Final = 0.5


# M. Bojarski, A. Choromanska, K. Choromanski, Y. LeCun, "Differentially- and non-differentially-private random decision
# trees". Below, e is the mean training error over all random trees of a depth. The error of a tree is measured on the
# rows that also determine the labels of its leaves.


def majority_bound(tree_error: float, slack: float) -> float:
    """Return the bound of Theorem 5.4 on the training error of a majority vote: e / (1/2 - d).

    Parameters
    ----------
    tree_error : float
        e, mean training error of a tree, from 0 to 1/2.
    slack : float
        d ≥ 0, from `vote_slack`. If d ≥ 1/2, the theorem does not apply, and the bound is infinite.

    Examples
    --------
    >>> round(majority_bound(0.1, 0.1), 3), majority_bound(0.1, 0.5)
    (0.25, inf)
    """
    check_between("tree_error", tree_error, 0, HALF)
    check_between("slack", slack, 0, math.inf)
    return tree_error / (HALF - slack) if slack < HALF else math.inf


def average_bound(tree_error: float, slack: float) -> float:
    """Return the bound of Theorem 5.4 on the training error of averaged shares: (2e - 2e²) / (1/2 - d).

    >>> round(average_bound(0.1, 0.1), 3)
    0.45
    """
    return 2 * (1 - tree_error) * majority_bound(tree_error, slack)


def vote_slack(n_trees: int, n_rows: int, confidence: float = 0.95) -> float:
    """Return d of Theorem 5.3: how far a mean vote over k trees may deviate from the mean over all trees.

    The formula is d = √(ln(n / (1 - confidence)) / 2k).

    Parameters
    ----------
    n_trees, n_rows : int
        Number of random trees k and number of rows n, at least 1.
    confidence : float
        Least probability, over the random trees, that no mean vote on the n rows deviates by more; in (0, 1).

    Examples
    --------
    >>> round(vote_slack(200, 1372, 1 - 1 / 1372), 3)
    0.19
    """
    check_between("n_trees", n_trees, 1, math.inf)
    check_between("n_rows", n_rows, 1, math.inf)
    check_inside("confidence", confidence, 0, 1)
    return math.sqrt(math.log(n_rows / (1 - confidence)) / (2 * n_trees))


def trees_to_beat(error: float, tree_error: float, n_rows: int, confidence: float = 0.95) -> int | None:
    """Return the least number of trees whose `majority_bound` is below `error`, or None if there is no such number.

    If `error` is at most twice `tree_error`, the bound is not below `error` for any number of trees.

    >>> trees_to_beat(0.482, 0.1425, 6500), trees_to_beat(0.24, 0.23, 26000)
    (141, None)
    """
    check_inside("error", error, 0, math.inf)
    check_between("error", error, 0, 1)
    check_between("tree_error", tree_error, 0, HALF)
    check_between("n_rows", n_rows, 1, math.inf)
    check_inside("confidence", confidence, 0, 1)
    largest_slack = HALF - tree_error / error
    if largest_slack <= 0:
        return None
    return math.floor(math.log(n_rows / (1 - confidence)) / (2 * largest_slack**2)) + 1


def proof_probability(n: float, k: int, depth: int, slack: float, leaf_share: float, epsilon: float) -> float:
    """Return the least probability that `private_error_bound` holds: Theorem 5.6 in the form that its proof gives.

    The probability is 1 - n (e^(-k d² / 2) + 2 k e^(-λ n ε / k)), where λ = d / (2 (1 + d) K 2^h). The printed theorem
    lacks the factor 2 of the last term, and has a term e^(-k/2) that its proof does not need. The result holds if the
    forest averages shares and sets negative counts to 0.

    Parameters
    ----------
    n : float
        Number of rows, at least 1.
    k, depth : int
        Number of trees, and their depth h.
    slack : float
        d in (0, 1/2).
    leaf_share : float
        K > 0: the proof ignores each leaf whose number of rows is below 1/K of the mean over all leaves.
    epsilon : float
        Budget of all trees together, at least 0.

    Returns
    -------
    float
        At most 1. If the result is 0 or less, the theorem proves nothing.

    Examples
    --------
    >>> round(proof_probability(1e7, 521, 3, 0.3, 10, 1.0), 3)
    0.989
    """
    check_private(n, k, depth, slack, leaf_share)
    check_between("epsilon", epsilon, 0, math.inf)
    rate = slack / (2 * (1 + slack) * leaf_share * 2.0**depth)
    return 1 - n * (math.exp(-k * slack**2 / 2) + 2 * k * math.exp(-rate * n * epsilon / k))


def private_error_bound(tree_error: float, slack: float, leaf_share: float) -> float:
    """Return the bound of Theorem 5.6 on the training error: (2e - 2e² + 1/K) / (1/2 - d).

    `proof_probability` returns the least probability that the bound holds.

    >>> round(private_error_bound(0.0, 0.3, 10), 3), round(private_error_bound(0.05, 0.2, 40), 3)
    (0.5, 0.4)
    """
    check_inside("leaf_share", leaf_share, 0, math.inf)
    return average_bound(tree_error, slack) + (1 / leaf_share) / (HALF - slack)


def rows_to_prove(
    trees: Sequence[int], depth: int, slack: float, leaf_share: float, epsilon: float, above: float = 0.0
) -> float | None:
    """Return the least number of rows for which `proof_probability` exceeds `above` with at least one number of trees.

    Parameters
    ----------
    trees : sequence of int
        Numbers of trees to try.
    depth, slack, leaf_share, epsilon
        As for `proof_probability`.
    above : float
        Probability to exceed, in [0, 1).

    Returns
    -------
    float or None
        None if no number of rows up to 10¹⁵ suffices. With a fixed number of trees, the probability falls again for
        very many rows.

    Examples
    --------
    >>> [f"{rows_to_prove(range(50, 3000, 3), 3, 0.3, 10, 1.0, above):.2e}" for above in (0, 0.9)]
    ['5.71e+06', '7.39e+06']
    """

    return first_rows(lambda n: any(proof_probability(n, k, depth, slack, leaf_share, epsilon) > above for k in trees))


def first_rows(holds: Callable[[float], bool], max_power: float = 15.0) -> float | None:
    """Return the least number of rows from 100 to about 10^most for which a condition holds, or None if there is none.

    >>> round(first_rows(lambda n: n > 12_345)), first_rows(lambda n: False)
    (12345, None)
    """
    powers = np.arange(2, max_power + 0.05, 0.1)
    enough = next((power for power in powers if holds(10.0**power)), None)
    if enough is None:
        return None
    low, high = enough - 0.1, enough
    for _ in range(30):
        middle = (low + high) / 2
        low, high = (low, middle) if holds(10.0**middle) else (middle, high)
    return float(10.0**high)


# S. Fletcher, M. Z. Islam, "Differentially private random decision forests using smooth sensitivity".


def empty_share(leaf_probability: ArrayLike, n_rows: float) -> float:
    """Return the expected share of empty leaves: the mean of (1 - q)^n over all leaves, after the paper's Example 1.

    Parameters
    ----------
    leaf_probability : array
        For each leaf of a tree, the probability q that a row belongs to this leaf, from 0 to 1.
    n_rows : float
        Number of rows in the tree.

    Examples
    --------
    >>> empty_share([0.5, 0.5, 0.0, 0.0], 1)
    0.75
    """
    q = np.asarray(leaf_probability, float)
    if not np.all((q >= 0) & (q <= 1)):
        raise ValueError("leaf_probability must hold probabilities, from 0 to 1")
    check_between("n_rows", n_rows, 0, math.inf)
    return float(np.mean((1 - q) ** n_rows))


def vote_right(p_correct: ArrayLike) -> float:
    """Return the probability that a majority of independent trees is right about a row (Poisson binomial distribution).

    A fair coin decides ties.

    Parameters
    ----------
    p_correct : array
        For each tree, the probability that it classifies this row correctly. There are two classes.

    Examples
    --------
    >>> round(vote_right([0.6] * 101), 4), vote_right([0.9, 0.5])
    (0.9791, 0.7)
    """
    chances = np.atleast_1d(np.asarray(p_correct, float))
    if not np.all((chances >= 0) & (chances <= 1)):
        raise ValueError("p_correct must hold probabilities, from 0 to 1")
    p, n = np.ones(1), len(chances)
    for q in chances:
        p = np.convolve(p, [1 - q, q])
    return float(p[n // 2 + 1 :].sum() + (p[n // 2] / 2 if n % 2 == 0 else 0))


def even_vote_right(chance: ArrayLike, n_trees: int) -> np.ndarray:
    """Return `vote_right` for `n_trees` trees that classify a row correctly with the same probability.

    The result has one value for each probability in `chance`.

    >>> even_vote_right([0.52, 0.6], 101).round(4)
    array([0.6566, 0.9791])
    """
    check_between("n_trees", n_trees, 1, math.inf)
    p = np.asarray(chance, float)
    if not ((p >= 0) & (p <= 1)).all():
        raise ValueError("chance must be a probability, from 0 to 1")
    tie = binom.pmf(n_trees // 2, n_trees, p) / 2 if n_trees % 2 == 0 else 0.0
    return binom.sf(n_trees // 2, n_trees, p) + tie


def check_private(n: float, k: int, depth: int, slack: float, leaf_share: float) -> None:
    """Raise ValueError unless Theorem 5.6 applies to n rows, k trees, this depth, d = `slack` and K = `leaf_share`."""
    check_between("n", n, 1, math.inf)
    check_between("k", k, 1, math.inf)
    check_between("depth", depth, 0, math.inf)
    check_inside("slack", slack, 0, HALF)
    check_inside("leaf_share", leaf_share, 0, math.inf)
