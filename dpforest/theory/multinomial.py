"""Multinomial random forest: least probabilities, consistency, and the sum that the paper publishes as its ε.

The paper is J. Bai, Y. Li, J. Li, X. Yang, Y. Jiang, S. Xia, *Multinomial random forest: toward consistency and
privacy-preservation* (arXiv 1903.04003). A forest on n rows with at least k rows in each leaf is consistent if labels
have no noise (B3 = ∞), k → ∞ and k / n → 0. But privacy requires small temperatures B1, B2 and B3. So the conditions
for consistency and for privacy contradict each other.
"""

import math

from dpforest.theory.ranges import check_between


def feature_probability(n_features: int, b1: float) -> tuple[float, float]:
    """Return the least and greatest probability of a feature at a node, over all possible rows (Lemma 3).

    Let s be a feature's impurity decrease, scaled to 0..1. Then the feature has the weight exp(B1 s / 2). So the least
    probability is 1 / (1 + (D - 1) e^(B1/2)), and the greatest is e^(B1/2) / (e^(B1/2) + D - 1). The paper states only
    the least probability. Both are for features that the branch can still test.

    Parameters
    ----------
    n_features : int
        D, at least 1.
    b1 : float
        Temperature of features, from 0 to 1000.

    Returns
    -------
    (float, float)
        Least and greatest probability.

    Raises
    ------
    ValueError
        If a number is out of range.

    Examples
    --------
    >>> [round(p, 5) for p in feature_probability(4, 10)]
    [0.00224, 0.98019]
    """
    check_between("n_features", n_features, 1, math.inf)
    check_between("b1", b1, 0, 1000)
    factor = math.exp(-b1 / 2)
    return factor / (factor + n_features - 1), 1 / (1 + (n_features - 1) * factor)


def middle_probability(middle: float, b2: float) -> float:
    """Return the least probability that a drawn cut is in the middle, if a share f of all candidate cuts is there.

    The probability is f / (f + (1 - f) e^(B2/2)). Lemma 4 states only that it has a lower bound above 0. The candidate
    cuts of a node depend on the node's rows.

    Parameters
    ----------
    middle : float
        f, share of the candidate cuts that lie in the middle, in (0, 1].
    b2 : float
        Temperature of values, from 0 to 1000.

    Examples
    --------
    >>> round(middle_probability(1 / 3, 0), 4), round(middle_probability(1 / 3, 10), 5)
    (0.3333, 0.00336)
    """
    check_between("middle", middle, 0, 1)
    check_between("b2", b2, 0, 1000)
    factor = math.exp(-b2 / 2)
    return middle * factor / (middle * factor + 1 - middle) if middle < 1 else 1.0


def side_left(levels: int, n_features: int, b1: float, b2: float, n_parts: int = 3, middle: float = 1 / 3) -> float:
    """Return a bound on the mean side length of a node's cell after some levels, as a share of its length before.

    A cell is the box of attribute values that reach a node. Divide a side of the cell into N parts. Let P1 be the least
    probability of a feature (`feature_probability`), and let P2 be the least probability of a cut that is not in the
    first or the last part (`middle_probability`). Then the bound is (1 - P1 P2 / N)^levels. The proof of consistency
    (Theorem 1) needs the bound to go to 0. The bound assumes that in every node, a share f > 0 of the candidate cuts is
    outside of the first and the last part. The paper does not prove this assumption.

    Parameters
    ----------
    levels, n_features : int
        Number of levels, at least 0, and number of features D, at least 1.
    b1, b2 : float
        Temperatures of features and values, at least 0.
    n_parts : int
        N, at least 3.
    middle : float
        f, in (0, 1].

    Examples
    --------
    >>> [round(side_left(15, 10, b, b), 3) for b in (0, 1)]
    [0.846, 0.929]
    """
    check_between("levels", levels, 0, math.inf)
    return math.exp(levels * _log_shrinkage(n_features, b1, b2, n_parts, middle))


def levels_to_halve(n_features: int, b1: float, b2: float) -> int:
    """Return the number of levels after which `side_left` is at most one half.

    >>> levels_to_halve(10, 0, 0), levels_to_halve(10, 10, 10)
    (63, 827846)
    """
    return math.ceil(math.log(0.5) / _log_shrinkage(n_features, b1, b2, 3, 1 / 3))


def _log_shrinkage(n_features: int, b1: float, b2: float, n_parts: int, middle: float) -> float:
    check_between("n_parts", n_parts, 3, math.inf)
    return math.log1p(-feature_probability(n_features, b1)[0] * middle_probability(middle, b2) / n_parts)


def published_epsilon(n_trees: int, depth: int, b1: float, b2: float, b3: float) -> float:
    """Return the ε of Theorem 2, t max(d (B1 + B2), B3), although the forest is not private for any finite ε.

    Cuts lie between values of the rows, and exact counts end branches. So one more row makes forests possible that were
    impossible before (docs/PAPERS.md).

    Parameters
    ----------
    n_trees, depth : int
        t and d, at least 1. The paper assumes a depth of d, but its algorithm does not enforce this depth.
    b1, b2, b3 : float
        Temperatures of features, values and labels, at least 0; infinity is allowed.

    Examples
    --------
    >>> published_epsilon(1, 10, 0.5, 0.5, 10), published_epsilon(100, 10, 10, 10, math.inf)
    (10.0, inf)
    """
    check_between("n_trees", n_trees, 1, math.inf)
    check_between("depth", depth, 1, math.inf)
    for name, value in {"b1": b1, "b2": b2, "b3": b3}.items():
        check_between(name, value, 0, math.inf)
    return n_trees * max(depth * (b1 + b2), b3)


def published_temperatures(epsilon: float, n_trees: int, depth: int) -> tuple[float, float, float]:
    """Return the temperatures of Appendix C for an ε: B1 = B2 = ε / (2 d t) and B3 = ε / t.

    >>> published_temperatures(20, 1, 10)
    (1.0, 1.0, 20.0)
    """
    check_between("epsilon", epsilon, 0, math.inf)
    check_between("n_trees", n_trees, 1, math.inf)
    check_between("depth", depth, 1, math.inf)
    return epsilon / (2 * depth * n_trees), epsilon / (2 * depth * n_trees), epsilon / n_trees
