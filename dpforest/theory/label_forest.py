"""Majority labels of random trees: whether to divide rows or ε among trees, and how many rows fill the rarest leaf.

The paper is S. Fletcher, M. Z. Islam, *Differentially private random decision forests using smooth sensitivity* (arXiv
1606.03572). `models.depth_rules` computes the number of untested attributes (Theorem 2), and `votes.empty_share`
computes the share of empty leaves.
"""

import math
from typing import NamedTuple

from dpforest.checks import check_choice
from dpforest.theory.ranges import check_between

RULES = ("published", "corrected")
LAWS = ("smooth-sensitivity", "counts")


class Exponents(NamedTuple):
    """Exponents x of the odds e^x of a leaf's top label. Trees divide the rows (`disjoint`) or divide ε (`shared`)."""

    disjoint: float
    shared: float


def exponents(lead: float, epsilon: float, n_trees: int, law: str = "smooth-sensitivity") -> Exponents:
    """Return the exponents of equation 14 for a leaf whose top label leads by j = `lead` if all rows are counted.

    If τ trees divide the rows, a tree has a lead of j / τ and all of ε. If they divide ε, a tree has a lead of j and a
    budget of ε / τ. With the published law, `disjoint` is τ times `shared`, and so the paper argues for dividing the
    rows. With permute-and-flip or the exponential mechanism on counts, whose loss is ε, both exponents are ε j / τ, and
    this argument fails. The formula assumes that a lead shrinks in proportion to the number of rows, which holds only
    on average.

    Parameters
    ----------
    lead : float
        j, in rows, at least 0.
    epsilon : float
        Budget of all trees, at least 0.
    n_trees : int
        τ, at least 1.
    law : {"smooth-sensitivity", "counts"}
        Published law, or the law of a mechanism on counts whose loss is ε.

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
    """Return p^-d: of this many rows, one row on average has the rarest value in all d tests of a branch.

    Parameters
    ----------
    rarest : float
        p, probability of the rarest value of an attribute, in (0, 1].
    depth : int
        d, at least 0. In the paper's Example 1, d = 5, and the values of an attribute have the probabilities 0.68, 0.27
        and 0.05.

    Examples
    --------
    >>> round(rows_for_rarest_leaf(0.05, 5))
    3200000
    """
    check_between("rarest", rarest, 1e-300, 1)
    check_between("depth", depth, 0, math.inf)
    return rarest**-depth


def leaves_without_rarest(depth: int, rule: str = "corrected") -> int:
    """Return the number of leaves of Example 1 whose rows have the rarest value in no test, without the fullest leaf.

    Each test has two other values, so the number is 2^d - 1. The paper prints C(d, 2) - 1.

    >>> leaves_without_rarest(5), leaves_without_rarest(5, "published")
    (31, 9)
    """
    check_choice("rule", rule, RULES)
    check_between("depth", depth, 0, math.inf)
    return 2**depth - 1 if rule == "corrected" else math.comb(depth, 2) - 1
