"""Formulas of the papers against stored values and simulations.

The formulas are about edges of splits, good splits, least probabilities, divided rows and rarest leaves. Statistical
tests have fixed seeds. With random seeds, each test would fail by chance with probability 1e-6.
"""

import math

import numpy as np
import pytest
from scipy import stats

from dpforest.losses import m_alpha
from dpforest.privacy.laws import pmf
from dpforest.theory.boosting_bounds import split_edge
from dpforest.theory.label_forest import exponents, leaves_without_rarest, rows_for_rarest_leaf
from dpforest.theory.multinomial import (
    feature_probability,
    middle_probability,
    published_epsilon,
    published_temperatures,
)
from dpforest.theory.private_splits import odds_of_a_good_split

SURE = 1e-6


def drawn_shares(scores: np.ndarray, b: float) -> np.ndarray:
    """Return the law of a choice in the paper: scores are scaled to s in 0..1, and have the weight exp(B s / 2)."""
    low, high = scores.min(), scores.max()
    stretched = (scores - low) / (high - low) if high > low else np.zeros_like(scores)
    shares = np.exp(b * stretched / 2)
    return shares / shares.sum()


@pytest.mark.parametrize(
    ("d", "low", "high"), [(2, 0.0067, 0.9933), (4, 0.00224, 0.9802), (18, 0.000396, 0.897), (30, 0.000232, 0.8365)]
)
def test_bounds_of_lemma_3_hold_and_are_attained(d, low, high):
    """Bounds on probabilities match stored values at B1 = 10, hold for random scores, and are attained.

    The bounds are attained if one feature differs from all others.
    """
    probability = feature_probability(d, 10)
    assert probability == (pytest.approx(low, rel=3e-3), pytest.approx(high, rel=1e-3))
    generator = np.random.default_rng(d)
    for _ in range(300):
        shares = drawn_shares(generator.random(d) ** generator.integers(1, 9), 10)
        assert probability[0] <= shares.min() * (1 + 1e-12) and shares.max() <= probability[1] * (1 + 1e-12)
    best = np.eye(d)[0]
    assert drawn_shares(1 - best, 10)[0] == pytest.approx(probability[0])
    assert drawn_shares(best, 10)[0] == pytest.approx(probability[1])


@pytest.mark.parametrize("b2", [0.0, 1.0, 10.0])
def test_lemma_4_is_the_least_that_any_scores_leave_the_middle(b2):
    generator, middle = np.random.default_rng(7), np.arange(12) // 3 == 1
    least = middle_probability(middle.mean(), b2)
    drawn = [drawn_shares(generator.random(12), b2)[middle].sum() for _ in range(300)]
    assert min(drawn) >= least * (1 - 1e-12)
    assert drawn_shares(np.where(middle, 0.0, 1.0), b2)[middle].sum() == pytest.approx(least)


@pytest.mark.parametrize(("budget", "b"), [(1, 0.05), (5, 0.25), (10, 0.5), (20, 1.0)])
def test_temperatures_are_those_of_the_papers_table_and_add_up_to_its_epsilon(budget, b):
    """Temperatures match table 3 (depth 10; ε = 1, 5, 10, 20 for each tree), and add up to the ε of the table."""
    b1, b2, b3 = published_temperatures(budget * 100, 100, 10)
    assert (b1, b2, b3) == pytest.approx((b, b, budget))
    assert published_epsilon(100, 10, b1, b2, b3) == pytest.approx(budget * 100)
    assert published_epsilon(100, 10, b1, b2, math.inf) == math.inf


def test_the_edge_of_a_split_matches_its_definition_row_by_row():
    """The edge of a split equals definition 9: |Σ w y g(x)| over the rows, if each class has weight 1/2."""
    generator = np.random.default_rng(11)
    for _ in range(100):
        children = generator.integers(1, 30, (2, 2))
        y = np.repeat([0, 1, 0, 1], children.ravel())
        left = np.repeat([1, 1, -1, -1], children.ravel())
        weight = np.where(y == 1, 0.5 / (y == 1).sum(), 0.5 / (y == 0).sum())
        assert split_edge(children) == pytest.approx(abs(float((weight * (2 * y - 1) * left).sum())))
    assert np.isnan(split_edge([[3, 0], [4, 0]]))


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 5.0])
def test_a_good_split_is_at_least_as_likely_as_the_theorem_states(epsilon):
    """The odds of a good split are at least the bound, and equal to it in the worst case that the theorem allows.

    The test computes the exact probabilities of the exponential mechanism over all tests.
    """
    generator = np.random.default_rng(17)
    edge, alpha, weight, gap, n = 0.6, 1.0, 0.5, 0.5, 1_000
    loss = m_alpha(alpha)
    potential, sensitivity = float(loss.potential(n / 2, n / 2)), float(loss.sensitivity(n))
    step = edge**2 * alpha * weight * potential / 16
    for slack in (0.0, 1.0):
        good = step * (1 + slack * generator.random(5))
        other = gap**2 * step * (1 - slack * generator.random(20))
        shares = np.exp(epsilon * np.r_[good, other] / (2 * sensitivity))
        odds = shares[:5].sum() / shares[5:].sum()
        bound = odds_of_a_good_split(5 / 20, edge, alpha, epsilon, weight, potential, sensitivity, gap)
        assert odds == pytest.approx(bound) if slack == 0 else odds > bound


@pytest.mark.parametrize("lead", [6, 12, 60])
def test_exponents_of_equation_14_are_log_odds_of_the_laws(lead):
    """The exponents of equation 14 are the log-odds of the more frequent of two labels.

    With the published law, disjoint rows have τ times the exponent of shared rows, where τ is the number of trees. With
    a law that depends on counts, both exponents are equal.
    """
    n_trees, epsilon = 6, 1.2
    of_exponential = exponents(lead, epsilon, n_trees)
    assert of_exponential.disjoint == pytest.approx(n_trees * of_exponential.shared)
    for law, name in (("smooth-sensitivity", "smooth-sensitivity"), ("exponential", "counts")):
        of_mechanism = exponents(lead, epsilon, n_trees, name)
        for exponent, rows, budget in (
            (of_mechanism.disjoint, lead // n_trees, epsilon),
            (of_mechanism.shared, lead, epsilon / n_trees),
        ):
            if 0 < exponent < 30:
                p = pmf(law, np.array([[rows, 0]]), budget)[0]
                assert math.log(p[0] / p[1]) == pytest.approx(exponent)


def test_the_rarest_leaf_of_example_1():
    """Example 1 of the paper needs 3,200,000 rows for m = 10 features.

    At depth 2, simulated rows fall into the rarest leaf as often as expected.
    """
    assert rows_for_rarest_leaf(0.05, 5) == pytest.approx(3_200_000)
    assert (leaves_without_rarest(5), leaves_without_rarest(5, "published")) == (31, 9)
    n = round(rows_for_rarest_leaf(0.05, 2))
    rows = np.random.default_rng(19).choice(3, (2_000, n, 2), p=[0.68, 0.27, 0.05])
    held = (rows == 2).all(axis=2).sum()
    assert stats.binomtest(int(held), 2_000 * n, 0.05**2).pvalue > SURE


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: feature_probability(0, 1),
        lambda: middle_probability(1.5, 1),
        lambda: published_epsilon(0, 1, 1, 1, 1),
        lambda: published_temperatures(-1, 1, 1),
        lambda: split_edge([1, 2]),
        lambda: split_edge([[1, -1], [1, 1]]),
        lambda: odds_of_a_good_split(1, 2, 1, 1, 1, 1, 1),
        lambda: odds_of_a_good_split(1, 1, 1, 1, 1, 1, 0),
        lambda: exponents(-1, 1, 1),
        lambda: exponents(1, 1, 1, "laplace"),
        lambda: rows_for_rarest_leaf(0, 3),
        lambda: leaves_without_rarest(5, "derived"),
    ],
)
def test_values_out_of_range_get_a_message(wrong):
    with pytest.raises(ValueError, match=r"is not|give|known|one of"):
        wrong()
