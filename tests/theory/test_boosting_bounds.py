"""Depth rules of the papers against their tables and enumeration. Bounds on boosting against actual boosting steps."""

import itertools
import math

import numpy as np
import pytest

from dpforest.limits import MAX_DEPTH
from dpforest.losses import MATSUSHITA, m_alpha
from dpforest.models.depth_rules import fletcher_islam_depth, jagannathan_depth, untested_features
from dpforest.theory.boosting_bounds import (
    best_error_after_trees,
    levels_for_error,
    splits_for_error,
    tree_error_bound,
    trees_for_error,
)
from dpforest.theory.private_splits import calibration_constant, efficiency_needed, rows_for_efficiency, tree_efficiency

# Fletcher and Islam 2017, Theorem 2 and Table 4: number of numeric and of categorical attributes, depth by the theorem,
# printed depth, and E[X].
TABLE = {
    "SynthA": (5, 0, 4, 5, 2.048),
    "SynthB": (10, 0, 7, 8, 4.783),
    "SynthF": (10, 0, 7, 8, 4.783),
    "GammaTele": (10, 0, 7, 8, 4.783),
    "SynthC": (15, 0, 11, 12, 7.023),
    "SynthD": (15, 0, 11, 12, 7.023),
    "SynthE": (15, 0, 11, 12, 7.023),
    "PenWritten": (16, 0, 11, 12, 7.867),
    "SynthG": (20, 0, 14, 15, 9.753),
    "WallSensor": (4, 0, 3, 4, 1.688),
    "Adult": (6, 8, 8, 9, 2.894),
    "Mushroom": (0, 22, 11, 11, None),
    "Claves": (0, 16, 8, 8, None),
    "Nursery": (0, 8, 4, 4, None),
}


@pytest.mark.parametrize("name", TABLE)
def test_depths_of_the_papers_table(name):
    numeric, categorical, theorem, published, untested = TABLE[name]
    assert fletcher_islam_depth(numeric, categorical, "theorem") == theorem
    assert fletcher_islam_depth(numeric, categorical, "published") == published
    if untested is not None:
        assert round(untested_features(numeric, theorem - categorical // 2), 3) == untested


@pytest.mark.parametrize(("s", "depth"), [(1, 3), (2, 5), (3, 5), (4, 4), (5, 4)])
def test_untested_features_is_the_mean_over_all_paths(s, depth):
    paths = list(itertools.product(range(s), repeat=depth))
    mean = sum(s - len(set(path)) for path in paths) / len(paths)
    assert untested_features(s, depth) == pytest.approx(mean, rel=1e-12)


@pytest.mark.parametrize("s", range(3, 19))
def test_theorem_is_the_least_depth_that_tests_more_than_half(s):
    d = fletcher_islam_depth(s, 0, "theorem")
    assert untested_features(s, d) < s / 2 <= untested_features(s, d - 1)
    assert d == math.ceil(math.log(1 / 2) / math.log((s - 1) / s))


@pytest.mark.parametrize(
    ("s", "r", "rule", "depth"),
    [
        (1, 0, "theorem", 1),
        (1, 0, "published", 2),
        (2, 0, "theorem", 2),
        (2, 0, "published", 2),
        (6, 8, "half", 7),
        (3, 4, "half", 3),
        (6, 8, "full", 14),
        (0, 1, "published", 1),  # a path without any test
        (0, 1, "half", 1),
        (50, 0, "published", MAX_DEPTH),
        (0, 60, "theorem", MAX_DEPTH),
        (20, 20, "full", MAX_DEPTH),
    ],
)
def test_small_large_and_other_rules(s, r, rule, depth):
    assert fletcher_islam_depth(s, r, rule) == depth


def test_an_unknown_rule_is_refused_with_the_known_ones():
    with pytest.raises(ValueError, match=r"max_depth='deepest' is not a depth rule; use a number, 'published'"):
        fletcher_islam_depth(3, 3, "deepest")


@pytest.mark.parametrize(
    ("m", "b", "n", "depth"),
    [
        (22, 5.7, 10_000, 4),  # log_5.7 of 10,000 is 5.29
        (14, 2.0, 30_162, 7),  # half of the number of features is the smaller limit
        (14, 2.0, None, 7),
        (30, 2.0, 1024, 9),
        (30, 2.0, 1023, 8),
        (1, 2.0, None, 1),
        (20, 2.0, 1, 1),
        (200, 2.0, None, MAX_DEPTH),
        (200, 2.0, 10**9, MAX_DEPTH),
    ],
)
def test_depth_of_jagannathan_and_others(m, b, n, depth):
    assert jagannathan_depth(m, b, n) == depth


# ---------------------------------------------------------------- boosting (Nock and Henecka 2020)


def grown(leaves: np.ndarray, edge: float, rng) -> np.ndarray:
    """Split every leaf by a random test with at least this edge.

    `leaves` holds the weights of the two classes in each leaf. A test sends a share of each class to one side. The edge
    of the test is the difference between the two shares.
    """
    gap = np.maximum(edge, rng.random(len(leaves)) ** 3)
    low = rng.uniform(0, 1 - gap)
    left = np.where(rng.random(len(leaves))[:, None] < 0.5, np.c_[low, low + gap], np.c_[low + gap, low])
    return np.concatenate([leaves * left, leaves * (1 - left)])


@pytest.mark.parametrize("edge", [0.1, 0.4, 0.8])
@pytest.mark.parametrize("alphas", [[1.0] * 7, [0.3] * 7, [1.0, 1.0, 0.6, 0.3, 0.1, 0.1, 0.0]])
def test_no_tree_is_worse_than_the_derived_bound_nor_this_than_the_published_one(edge, alphas):
    rng = np.random.default_rng(8)
    for share in (0.5, 0.2, 0.01):
        for _ in range(20):
            leaves = np.array([[share, 1 - share]])
            for level in range(len(alphas) + 1):
                bound = tree_error_bound(edge, alphas[:level], "derived")
                assert leaves.min(axis=1).sum() <= bound + 1e-12
                assert bound <= tree_error_bound(edge, alphas[:level])
                leaves = grown(leaves, edge, rng)


@pytest.mark.parametrize("alpha", [0.1, 0.5, 1.0])
@pytest.mark.parametrize("edge", [0.05, 0.5, 0.95])
def test_what_a_split_leaves_of_a_leafs_potential(edge, alpha):
    a, q = np.meshgrid(np.linspace(0, 1 - edge, 401), np.linspace(0.001, 0.999, 399))
    loss = m_alpha(alpha)

    def left(b):
        children = loss.potential(q * a, (1 - q) * b) + loss.potential(q * (1 - a), (1 - q) * (1 - b))
        return children / loss.bayes_risk(q)

    most = 2 * tree_error_bound(edge, [alpha], "derived")
    for b in (a + edge, np.minimum(a + 1.5 * edge, 1)):
        assert left(b).max() <= most + 1e-12
    if alpha == 1:  # a test with the shares (1 - γ) / 2 and (1 + γ) / 2 attains the bound in any leaf
        assert left(a + edge)[:, 200] == pytest.approx(most, rel=1e-9)
    assert 1 - most >= alpha * edge**2 / 2


def test_the_published_step_fails_if_a_heavy_leaf_is_nearly_pure():
    """Equation 167, a step of the published proof, promises more than the split of a nearly pure leaf can gain.

    According to the equation, the split of the first leaf lowers the potential of the tree by the share γ² w̃ / 16.
    """
    edge, nearly_pure, even = 0.2, 0.9 * MATSUSHITA.bayes_risk(1e-9), 0.1 * MATSUSHITA.bayes_risk(0.5)
    promised = edge**2 * 0.9 / 16
    most = nearly_pure / (nearly_pure + even)
    assert promised == pytest.approx(0.00225) and most == pytest.approx(0.00057, abs=5e-6)
    assert most < promised


@pytest.mark.parametrize(
    ("edge", "alpha", "error", "published", "derived"),
    [
        (0.2, 1.0, 0.1, 922, 79),  # rounded up from 400 ln 10 and ln 5 / -ln √0.96
        (0.2, 0.1, 0.1, 9211, 796),
        (0.5, 1.0, 0.05, 192, 17),
        (1.0, 1.0, 0.25, 23, 1),
        (1.0, 0.5, 0.5, 23, 0),
    ],
)
def test_levels_are_the_least_with_the_bound(edge, alpha, error, published, derived):
    for rule, levels in {"published": published, "derived": derived}.items():
        assert levels_for_error(edge, alpha, error, rule) == levels
        assert tree_error_bound(edge, [alpha] * levels, rule) <= error + 1e-12
        assert levels == 0 or tree_error_bound(edge, [alpha] * (levels - 1), rule) > error


def test_splits_of_the_heaviest_leaf():
    assert splits_for_error(0.8, 1.0, 0.1) == pytest.approx(1e25, rel=1e-9)
    assert splits_for_error(0.8, 0.5, 0.1) == pytest.approx(1e50, rel=1e-9)
    assert splits_for_error(0.1, 0.1, 0.1) == math.inf
    # The sum of 1/l over this number of splits is the bound of Theorem 10.
    assert math.log(splits_for_error(0.7, 0.4, 0.2)) * 0.4 == pytest.approx(16 / 0.7**2 * math.log(5), rel=1e-9)


@pytest.mark.parametrize(
    ("edge", "alpha", "error", "options", "published", "derived"),
    [
        (0.5, 1.0, 0.1, {}, 29, 17),  # rounded up from 28.8 and 16.46
        (0.5, 0.1, 0.07, {}, 298, 171),
        (0.5, 1.0, 0.1, {"spread": 0.5}, 39, 31),  # rounded up from 38.4 and 30.72
        (0.5, 1.0, 0.1, {"mean_weight": 0.25}, 116, 66),
        (1.0, 1.0, 0.5, {}, 4, 3),
    ],
)
def test_number_of_boosted_trees(edge, alpha, error, options, published, derived):
    assert trees_for_error(edge, alpha, error, **options) == published
    assert trees_for_error(edge, alpha, error, "derived", **options) == derived


@pytest.mark.parametrize("alpha", [0.1, 0.5, 1.0])
@pytest.mark.parametrize("spread", [0.0, 0.6])
def test_a_boosting_step_lowers_the_surrogate_by_at_least_the_derived_amount(alpha, spread):
    """Each boosting step lowers the surrogate loss by at least the amount that this project derived.

    With M = 1, the bound on the number of trees is (1 - error) divided by this amount, for steps of a given mean weight
    and edge.
    """
    rng = np.random.default_rng(5)
    loss = m_alpha(alpha)
    for step in alpha * np.array([1 - spread, 1.0, 1 + spread]):
        for _ in range(300):
            margins = rng.normal(rng.normal(), 3 * rng.random(), 40)
            right = np.clip(rng.normal(rng.normal(), 1, 40), -1, 1)  # y h(x)
            weighted_edge = (loss.inverse_link(-margins) * right).mean()
            drop = (loss.surrogate(margins) - loss.surrogate(margins + step * weighted_edge * right)).mean()
            derived, published = (1 - spread) * (7 + spread) / 8, (1 - spread**2) / 2
            assert drop >= derived * alpha * weighted_edge**2 - 1e-12
            assert derived >= published


def test_some_boosting_steps_lower_the_surrogate_by_no_more():
    """Some steps lower the surrogate loss by no more than the derived amount, so the bound cannot be improved.

    In this test, rows lie at both ends of the flat part of the surrogate, the new tree h moves them outwards, and the
    edge is small.
    """
    alpha = 0.5
    right = np.where(np.arange(2_000) < 1_005, 1.0, -1.0)
    margins = 2 * (1 - alpha) * right
    loss = m_alpha(alpha)
    weighted_edge = (loss.inverse_link(-margins) * right).mean()
    drop = (loss.surrogate(margins) - loss.surrogate(margins + alpha * weighted_edge * right)).mean()
    assert drop == pytest.approx(7 / 8 * alpha * weighted_edge**2, rel=1e-3)


@pytest.mark.parametrize(("epsilon", "rows"), [(1, 2.25e10), (10, 1.39e8), (25, 1.76e7)])
def test_rows_that_private_splits_would_want(epsilon, rows):
    constant = calibration_constant()
    assert constant == pytest.approx(256 / (0.5 * 0.5 * 0.75 * 0.25) * math.log(10), rel=1e-12)
    needed = rows_for_efficiency(epsilon, constant)
    assert needed == pytest.approx(rows, rel=0.005)
    assert efficiency_needed(needed, epsilon, constant) == pytest.approx(2, rel=1e-9)
    assert efficiency_needed(needed / 2, epsilon, constant) > 2


def test_rows_needed_when_any_number_will_do():
    constant = calibration_constant(1.0, 0.0, 1.0, 1.0, failure=0.5)
    least = constant / math.e  # ln n / √n is at most 2/e, at n = e²
    assert rows_for_efficiency(least * 1.001, constant) == rows_for_efficiency(1e4, constant) == 3
    assert rows_for_efficiency(least * 0.999, constant) == pytest.approx(math.e**2, rel=0.2)
    assert all(efficiency_needed(n, least * 1.001, constant) < 2 for n in range(3, 100))


def test_more_splits_or_certainty_want_more():
    plain = calibration_constant()
    assert calibration_constant(n_splits=7) == pytest.approx(plain * math.log(70) / math.log(10), rel=1e-12)
    assert calibration_constant(failure=0.01) == pytest.approx(2 * plain, rel=1e-12)
    assert calibration_constant(edge=0.25) == pytest.approx(4 * plain, rel=1e-12)


def test_efficiency_falls_on_the_way_down_the_tree():
    assert tree_efficiency(1.0, 0.5, 0) == 2
    assert tree_efficiency(0.25, 0.2, 3) == pytest.approx(0.01)


@pytest.mark.parametrize("alpha", [0.1, 0.5, 1.0])
def test_trees_that_gain_nothing_more_misclassify_few_rows(alpha):
    """The bound holds for any number of trees: the misclassified share is at most twice the mean weight of all rows."""
    rng, loss = np.random.default_rng(6), m_alpha(alpha)
    for _ in range(300):
        margins = rng.normal(rng.normal(), 3 * rng.random(), 40)
        weight = float(loss.inverse_link(-margins).mean())
        assert (margins <= 0).mean() <= 2 * weight + 1e-12
        assert best_error_after_trees(1.0, alpha, 10**9, "derived", min(weight, 0.5)) == min(1.0, 2 * weight)


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda: tree_error_bound(0.0, [1.0]), "edge=0.0 is not a number above 0 and up to 1"),
        (lambda: tree_error_bound(0.5, [0.5, 0.6]), "must not rise from one level to the next"),
        (lambda: tree_error_bound(0.5, [1.5]), "must be from 0 to 1"),
        (
            lambda: tree_error_bound(0.5, [1.0], "best"),
            "rule='best' is not known; choose one of 'published', 'derived'",
        ),
        (lambda: levels_for_error(0.5, 0.0, 0.1), "alpha=0.0 is not a number above 0 and up to 1"),
        (lambda: splits_for_error(0.5, 1.0, 0.7), "error=0.7 is not a number above 0 and up to 0.5"),
        (lambda: trees_for_error(0.5, 1.0, 0.1, spread=1.0), "spread=1.0 is not a number from 0 to below 1"),
        (lambda: trees_for_error(0.5, 1.0, 0.1, mean_weight=0), "mean_weight=0 is not a number above 0 and up to 1"),
        (lambda: calibration_constant(bad_split_factor=1.0), "bad_split_factor=1.0 is not a number from 0 to below 1"),
        (lambda: calibration_constant(failure=0.9), "failure=0.9 is not a number above 0 and up to 0.5"),
        (lambda: efficiency_needed(2, 1.0, 1.0), "n=2 is not a number of rows from 3"),
        (lambda: rows_for_efficiency(0.0, 1.0), "epsilon=0.0 is not a number above 0 and up to inf"),
        (lambda: rows_for_efficiency(1.0, 1.0, 3.0), "efficiency=3.0 is not a number above 0 and up to 2"),
    ],
)
def test_numbers_outside_a_theorem_are_refused(call, sentence):
    with pytest.raises(ValueError, match=sentence):
        call()
