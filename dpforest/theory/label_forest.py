"""Majority labels of random trees: rows or ε divided among trees, and the number of rows that fills the rarest leaf.

S. Fletcher, M. Z. Islam, *Differentially private random decision forests using smooth sensitivity* (arXiv 1606.03572).
Untested attributes (Theorem 2) are in `models.depth_rules`, empty leaves in `votes.empty_share`.
"""

import math
from typing import NamedTuple

from dpforest.checks import check_choice
from dpforest.theory.ranges import check_between

RULES = ("published", "corrected")
LAWS = ("smooth-sensitivity", "counts")


class Exponents(NamedTuple):
    """Exponents of e in the odds of a leaf's top label if trees divide the rows (disjoint) or ε (shared)."""

    disjoint: float
    shared: float


def exponents(lead: float, epsilon: float, n_trees: int, law: str = "smooth-sensitivity") -> Exponents:
    """Return the exponents of equation 14 for a leaf whose top label leads by this many of all rows.

    A tree with one row in τ has a lead of j / τ and all of ε. A tree with all rows has a lead of j and ε / τ. With the
    published law the first exponent is τ times the second, which is the paper's argument for disjoint rows. With a law
    of counts that keeps ε (permute-and-flip, exponential) both are ε j / τ, and the argument fails. The formula assumes
    that a lead shrinks in proportion to the rows, which holds only on average.

    Parameters
    ----------
    lead : float
        j, in rows, at least 0.
    epsilon : float
        Budget of all trees, at least 0.
    n_trees : int
        τ, at least 1.
    law : {"smooth-sensitivity", "counts"}
        Published law, or a law of counts that keeps ε.

    Examples
    --------
    >>> published = exponents(100, 1.0, 10)
    >>> round(published.disjoint / published.shared, 9), exponents(100, 1.0, 10, "counts")
    (10.0, Exponents(disjoint=10.0, shared=10.0))
    """
    check_choice("law", law, LAWS)
    check_between("lead", lead, 0, math.inf)
    check_between("epsilon", epsilon, 0, math.inf)
    check_between("n_trees", n_trees, 1, math.inf)
    product = lead * epsilon / n_trees
    if law == "counts":
        return Exponents(product, product)
    grown = math.exp(min(product, 700.0))
    return Exponents(epsilon / 2 * grown, epsilon / n_trees / 2 * grown)


def rows_for_rarest_leaf(rarest: float, depth: int) -> float:
    """Return p^-d: on average, one of this many rows is in the leaf with the rarest value of each test (Example 1).

    Parameters
    ----------
    rarest : float
        p, probability of the rarest value of an attribute, in (0, 1].
    depth : int
        d, at least 0; in the example m / 2 = 5 attributes, each with values of probability 0.68, 0.27 and 0.05.

    Examples
    --------
    >>> round(rows_for_rarest_leaf(0.05, 5))
    3200000
    """
    check_between("rarest", rarest, 1e-300, 1)
    check_between("depth", depth, 0, math.inf)
    return rarest**-depth


def leaves_without_rarest(depth: int, rule: str = "corrected") -> int:
    """Return the number of leaves of Example 1 without the rarest value in any test, except the fullest leaf.

    A test has two other values, so the number is 2^d - 1. The paper prints C(d, 2) - 1.

    >>> leaves_without_rarest(5), leaves_without_rarest(5, "published")
    (31, 9)
    """
    check_choice("rule", rule, RULES)
    check_between("depth", depth, 0, math.inf)
    return 2**depth - 1 if rule == "corrected" else math.comb(depth, 2) - 1
