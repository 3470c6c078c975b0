"""Laws against golden values and brute force; the worst privacy loss by enumeration; partitions by enumeration."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

from dpforest.privacy import flip_by_gap, flip_floor, flip_probability, law, mechanisms, privacy_loss, rate_for
from dpforest.privacy.laws import CERTIFIED, log_law
from dpforest.privacy.noisy_counts import (
    NEGATIVE_RULES,
    continuous_argmax_law,
    discrete_laplace_pmf,
    noisy_argmax_law,
    thrown_away,
)

EPSILONS = (0.01, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10)
SIZES = ((2, 40), (3, 14), (4, 8), (5, 6), (10, 3))  # classes, largest count
RELATIONS = ("add-remove", "replace-one")


# ---------------------------------------------------------------- laws of a label (papers/02 section 2.7)

GOLDEN = [
    ((5, 3, 0), 0.5, ".496606 .251697 .251697", ".689672 .253716 .056612", ".528252 .320401 .151347",
     ".785084 .178907 .036010", ".611407 .274303 .114290"),
    ((5, 3, 0), 1, ".952636 .023682 .023682", ".875601 .118500 .005900", ".689672 .253716 .056612",
     ".929267 .067516 .003217", ".785084 .178907 .036010"),
    ((2, 2, 1), 1, ".383652 .383652 .232697", ".422319 .422319 .155362", ".383652 .383652 .232697",
     ".438687 .438687 .122626", ".398912 .398912 .202177"),
    ((10, 9), 0.1, ".513811 .486189", ".524979 .475021", ".512497 .487503", ".547581 .452419", ".524385 .475615"),
    ((7, 5, 5, 1), 0.4, ".342200 .219267 .219267 .219267", ".502670 .225864 .225864 .045601",
     ".378525 .253733 .253733 .114010", ".595207 .185748 .185748 .033298", ".429623 .237900 .237900 .094576"),
]  # fmt: skip


@pytest.mark.parametrize("counts, epsilon, published, em, em_half, pf, pf_half", GOLDEN)
def test_golden_laws(counts, epsilon, published, em, em_half, pf, pf_half):
    for mechanism, rate, expected in (
        ("smooth-sensitivity", epsilon, published),
        ("smooth-sensitivity-clamped", epsilon, published),
        ("exponential", epsilon, em),
        ("exponential", epsilon / 2, em_half),
        ("permute-and-flip", epsilon, pf),
        ("permute-and-flip", epsilon / 2, pf_half),
    ):
        np.testing.assert_allclose(law(mechanism, [counts], rate)[0], [float(x) for x in expected.split()], atol=6e-7)


@pytest.mark.parametrize("mechanism", [m for m in mechanisms.MECHANISMS if m != "discrete-laplace"])
def test_laws_sum_to_one_are_symmetric_and_uniform_on_empty_leaves(mechanism):
    rng = np.random.default_rng(0)
    for k in (2, 3, 10, 50):
        counts = rng.integers(0, 40, (30, k))
        counts[0] = 0
        p = law(mechanism, counts, 0.3)
        np.testing.assert_allclose(p.sum(axis=1), 1, rtol=1e-12)
        np.testing.assert_allclose(p[0], 1 / k)
        relabelled = rng.permutation(k)
        np.testing.assert_allclose(law(mechanism, counts[:, relabelled], 0.3), p[:, relabelled], rtol=1e-12)


def test_permute_and_flip_with_many_classes_against_its_definition():
    """The integral against walking through all orders of the classes (exact, 7 classes)."""
    counts = np.array([9, 7, 7, 4, 2, 0, 0])
    accept = np.exp(-0.2 * (9 - counts))
    expected = np.zeros(7)
    for order in itertools.permutations(range(7)):
        reached = 1.0
        for c in order:
            expected[c] += reached * accept[c] / math.factorial(7)
            reached *= 1 - accept[c]
    np.testing.assert_allclose(law("permute-and-flip", [counts], 0.2)[0], expected, rtol=1e-12)


def test_addendum_table_6():
    counts = [(5, 10), (105, 110), (0, 1), (0, 10), (10, 50), (10, 60)]
    table = {
        ("smooth-sensitivity", 0.1): (52.1, 52.1, 51.4, 53.4, 93.8, 99.9),
        ("exponential", 0.1): (62.2, 62.2, 52.5, 73.1, 98.2, 99.3),
        ("permute-and-flip", 0.1): (69.7, 69.7, 54.8, 81.6, 99.1, 99.7),
        ("exponential", 0.05): (56.2, 56.2, 51.2, 62.2, 88.1, 92.4),
    }
    for (mechanism, rate), expected in table.items():
        np.testing.assert_allclose(100 * law(mechanism, counts, rate)[:, 1], expected, atol=0.051)


# ---------------------------------------------------------------- labels from noisy counts

# At q = exp(-κ) = 1/2 the law is rational. For counts (u, v), with m = u - v + 1 and
# T(m) = 2^-m (m/2 + 4/3) 4/9:  clamp P(1) = P(W >= m) + 2^-(u+v) 2/27,
# paper P(1) = P(W >= m) - 2^-(u+1) 2/3 + 2^-(u+v+2) 8/27 + thrown/2,
# thrown = 1 - (1 - 2^-(u+1) 2/3)(1 - 2^-(v+1) 2/3) + 2^-(u+v)/9.
HALVES = {
    ((0, 0), "clamp"): Fraction(13, 27),  # ties above 0 go to class 0
    ((0, 0), "paper"): Fraction(53, 108),
    ((1, 1), "clamp"): Fraction(23, 54),
    ((3, 5), "clamp"): Fraction(689, 864),
    ((3, 5), "paper"): Fraction(10_775, 13_824) - Fraction(1, 512) + Fraction(1, 512),
    ((5, 3), "clamp"): Fraction(67, 864) * 2,
    ((5, 3), "paper"): None,
}


def exact_two_classes(counts, negative):
    """The law at q = 1/2 in fractions, by the formulas above."""
    u, v = counts
    half = Fraction(1, 2)

    def at_least(m):
        if m < 1:
            return 1 - at_least(1 - m)
        return half**m * (half * m + Fraction(4, 3)) * Fraction(4, 9)

    p = at_least(u - v + 1)
    if negative == "clamp":
        return p + half ** (u + v) * Fraction(2, 27)
    low = [1 - half ** (n + 1) * Fraction(2, 3) for n in counts]
    thrown = 1 - low[0] * low[1] + half ** (u + v) / 9
    return p - half ** (u + 1) * Fraction(2, 3) + half ** (u + v + 2) * Fraction(8, 27) + thrown / 2
