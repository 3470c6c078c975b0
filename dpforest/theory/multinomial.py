"""Multinomial random forest: least probabilities, consistency, and the sum that the paper publishes as its ε.

J. Bai, Y. Li, J. Li, X. Yang, Y. Jiang, S. Xia, *Multinomial random forest: toward consistency and
privacy-preservation* (arXiv 1903.04003). Consistency takes labels without noise (B3 = ∞), leaves that grow (k → ∞) and
k / n → 0; privacy takes small temperatures: the two hold for different settings.
"""

import math

from dpforest.theory.ranges import check_between


def feature_probability(n_features: int, b1: float) -> tuple[float, float]:
    """Least and greatest probability of a feature at a node, whatever the rows (Lemma 3).

    Decreases are stretched to 0..1 and drawn from with exp(B1 s / 2): 1 / (1 + (D - 1) e^(B1/2)) and
    e^(B1/2) / (e^(B1/2) + D - 1). The paper has the first; it holds for features that a branch still has.

    Parameters
    ----------
    n_features : int
        D, from 1.
    b1 : float
        From 0 to 1000.

    Returns
    -------
    (float, float)

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
    """Least probability of a cut among those of the middle, of which there is a share f: f / (f + (1 - f) e^(B2/2)).

    Lemma 4 says that there is one above 0; this is it. Which cuts there are depends on the rows of the node.

    Parameters
    ----------
    middle : float
        f, in (0, 1].
    b2 : float
        From 0 to 1000.

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
    """Bound on the mean side of a cell after some levels, as a share: (1 - P1 P2 / N)^levels.

    P1 is the least probability of a feature (`feature_probability`), P2 that of a cut outside the first and last of N
    parts (`middle_probability`). The proof of consistency (Theorem 1) needs it to go to 0. It takes a share f above 0
    of the candidates to lie there in every node, which the paper does not prove.

    Parameters
    ----------
    levels, n_features : int
        From 0, and D from 1.
    b1, b2 : float
        Temperatures of features and values, from 0.
    n_parts : int
        From 3.
    middle : float
        f, in (0, 1].

    Examples
    --------
    >>> [round(side_left(15, 10, b, b), 3) for b in (0, 1)]
    [0.846, 0.929]
    """
    check_between("levels", levels, 0, math.inf)
    return math.exp(levels * _log_left(n_features, b1, b2, n_parts, middle))


def levels_to_halve(n_features: int, b1: float, b2: float) -> int:
    """Levels until `side_left` is at most one half.

    >>> levels_to_halve(10, 0, 0), levels_to_halve(10, 10, 10)
    (63, 827846)
    """
    return math.ceil(math.log(0.5) / _log_left(n_features, b1, b2, 3, 1 / 3))


def _log_left(n_features: int, b1: float, b2: float, n_parts: int, middle: float) -> float:
    check_between("n_parts", n_parts, 3, math.inf)
    return math.log1p(-feature_probability(n_features, b1)[0] * middle_probability(middle, b2) / n_parts)


def published_epsilon(n_trees: int, depth: int, b1: float, b2: float, b3: float) -> float:
    """The ε that Theorem 2 publishes: t max(d (B1 + B2), B3). An accounting figure, and not a bound for any ε.

    Cuts lie between the rows' own values and branches end by exact counts, so one row more makes outputs possible that
    were impossible (docs/PAPERS.md).

    Parameters
    ----------
    n_trees, depth : int
        t and d, from 1; the paper assumes d and does not enforce it.
    b1, b2, b3 : float
        From 0; infinity is allowed.

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
    """B1, B2 and B3 that Appendix C takes for an ε: half of ε / (d t) each, and ε / t.

    >>> published_temperatures(20, 1, 10)
    (1.0, 1.0, 20.0)
    """
    check_between("epsilon", epsilon, 0, math.inf)
    check_between("n_trees", n_trees, 1, math.inf)
    check_between("depth", depth, 1, math.inf)
    return epsilon / (2 * depth * n_trees), epsilon / (2 * depth * n_trees), epsilon / n_trees
