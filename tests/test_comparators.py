"""Tests of the comparators, the forests that papers compare with a new forest: they draw by their laws, and learn.

Chi-square tests have fixed seeds. With random seeds, each test would fail by chance with probability 1e-6.
"""

from collections import Counter
from fractions import Fraction
from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from sklearn.ensemble import RandomForestClassifier

from dpforest import Domain, Feature
from dpforest.trees.midpoint_kernels import draw_structure
from reproduce.comparators import (
    COMPARATORS,
    BernoulliForest,
    BreimanForest,
    ComparisonForest,
    DenilForest,
    RanaForest,
)
from reproduce.comparators.choices import Room, draw_features, draw_points, poisson, within
from reproduce.comparators.greedy import PLACES, Grid, Grower, labels
from reproduce.comparators.triplets import LEAF, Points, draw_pivots, goes_second
from tests.conftest import every

KEYS = np.arange(6_000, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
DOMAIN = Domain(
    (
        Feature("x", "numeric", low=0, high=1),
        Feature("z", "numeric", low=0, high=1),
        Feature("a", "categorical", categories=("p", "q", "r")),
    ),
    classes=("no", "yes"),
    label="y",
)


@pytest.fixture(scope="module")
def table():
    generator = np.random.default_rng(3)
    X = pd.DataFrame({"x": generator.random(400), "z": generator.random(400), "a": generator.choice(list("pqr"), 400)})
    return X, np.where((X.x > 0.5) ^ (X.a == "q"), "yes", "no")


@pytest.mark.parametrize("name", every(5, COMPARATORS))
def test_each_comparator_learns_and_is_determined_by_its_seed(table, name):
    X, y = table
    forest = COMPARATORS[name](DOMAIN, seed=1).fit(X.iloc[:300], y[:300])
    right = float((forest.predict(X.iloc[300:]) == y[300:]).mean())
    assert right > (0.7 if name == "CompRF-C" else 0.85), right
    again, other = (COMPARATORS[name](DOMAIN, seed=seed).fit(X.iloc[:300], y[:300]).votes(X) for seed in (1, 2))
    assert np.array_equal(again, forest.votes(X)) and not np.array_equal(other, again)


@pytest.mark.parametrize("rate", [0.3, 1.7, 5.0])
def test_the_number_of_features_is_a_quantile_of_poisson(rate):
    u = (np.arange(2_000) + 0.5) / 2_000
    assert [poisson(rate, value) for value in u] == stats.poisson.ppf(u, rate).astype(int).tolist()


def test_every_choice_of_features_is_equally_likely():
    order, seen = np.arange(6), Counter()
    for key in KEYS:
        draw_features(key, 2, order)
        assert sorted(order) == list(range(6))
        seen[tuple(sorted(order[:2]))] += 1
    assert stats.chisquare([seen[pair] for pair in combinations(range(6), 2)]).pvalue > 1e-6


def test_every_choice_of_points_is_equally_likely_and_few_points_are_all_taken():
    room, seen = Room(np.arange(1), np.empty(10, np.int64)), Counter()
    for key in KEYS:
        assert draw_points(np.arange(5), key, 2, room) == 2
        seen[tuple(sorted(room.points[:2]))] += 1
    assert stats.chisquare([seen[pair] for pair in combinations(range(5), 2)]).pvalue > 1e-6
    assert draw_points(np.arange(5), KEYS[1], 10, room) == 5


def test_pivots_are_any_two_rows_or_any_two_of_different_classes():
    rows, y = np.arange(5), np.array([0, 0, 0, 1, 1])
    seen = Counter(draw_pivots(rows, y, False, key) for key in KEYS)
    assert stats.chisquare([seen[i, j] for i in rows for j in rows if i != j]).pvalue > 1e-6
    seen = Counter(draw_pivots(rows, y, True, key) for key in KEYS)
    pairs = [(i, j) for i in rows for j in rows if y[i] != y[j]]
    # The first pivot may be any row, and the second pivot any row of another class.
    law = np.array([1 / 5 / (2 if y[i] == 0 else 3) for i, _ in pairs])
    assert set(seen) == set(pairs)
    assert stats.chisquare([seen[pair] for pair in pairs], len(KEYS) * law).pvalue > 1e-6


def test_a_row_goes_to_the_nearer_pivot():
    generator = np.random.default_rng(5)
    points = Points(generator.random((40, 3)), generator.integers(0, 3, (40, 2)).astype(np.uint16))
    hot = np.hstack([points.numbers, *(np.eye(3)[points.categories[:, j]] for j in range(2))])
    for row in range(2, 40):
        distance = np.linalg.norm(hot[row] - hot[:2], axis=1)
        assert goes_second(points, row, points, 0, 1) == (distance[1] < distance[0])


@pytest.mark.slow
def test_branches_end_by_the_least_number_of_rows(table):
    """Partitioned trees keep k estimation rows in each leaf. Comparison trees split each node with more than k rows."""
    X, y = table
    for forest in (DenilForest(DOMAIN, n_trees=5), BernoulliForest(DOMAIN, n_trees=5)):
        counts = forest.fit(X, y).counts.sum(axis=1)
        assert counts.min() >= 5 and counts.sum() == 5 * 200
    for supervised in (True, False):
        comparing = ComparisonForest(DOMAIN, n_trees=5, supervised=supervised).fit(X, y)
        for tree in comparing.trees:
            n_leaves = (tree.pivots[:, 0] == LEAF).sum()
            assert len(tree.pivots) == 2 * n_leaves - 1 and n_leaves >= (400 if supervised else 200) / 5 / 4
            if supervised:
                first, second = tree.pivots[tree.pivots[:, 0] != LEAF].T
                assert (y[first] != y[second]).all()
        assert (comparing.votes(X).sum(axis=1) == 5).all()


def test_a_cut_of_denils_forest_lies_in_the_range_of_its_points():
    codes, room = np.array([7, 3, 9, 9, 1], np.uint16), Room(np.arange(1), np.array([0, 1, 2]))
    assert [cut for cut in range(12) if within(cut, codes, False, 3, room)] == [3, 4, 5, 6, 7, 8]
    # A cut of categories separates one category from all others.
    assert [cut for cut in range(12) if within(cut, codes, True, 3, room)] == [3, 7, 9]
    room.points[:] = 2, 3, 2
    assert not any(within(cut, codes, kind, 3, room) for cut in range(12) for kind in (False, True))


@pytest.mark.parametrize("make", [DenilForest, BernoulliForest, ComparisonForest])
def test_structure_rows_choose_tests_and_estimation_rows_label_leaves(table, make):
    X, y = table
    structure = draw_structure(np.uint64(4), 0, len(y), len(y) // 2)
    whole, quiet, blind = (
        make(DOMAIN, seed=4, n_trees=1).fit(X, labels)
        for labels in (y, np.where(structure, y, "no"), np.where(structure, "no", y))
    )
    assert (quiet.predict(X) == "no").all() and (whole.predict(X) == "yes").any()
    if make is ComparisonForest:  # labels do not influence pivots
        assert np.array_equal(blind.votes(X), whole.votes(X))
        assert np.array_equal(quiet.trees[0].pivots, whole.trees[0].pivots)
    else:
        assert len(blind.trees.feature) == 1 and (blind.counts == whole.counts.sum(axis=0)).all()
        assert np.array_equal(quiet.trees.feature, whole.trees.feature)
        assert np.array_equal(quiet.trees.threshold, whole.trees.threshold)


def test_distances_use_unscaled_values():
    """Distances use unscaled values: a feature of a wide range dominates, and two categories have a distance of √2."""
    wide = Feature("w", "numeric", low=0, high=1000)
    domain = Domain((wide, *DOMAIN.features), classes=("no", "yes"), label="y")
    X = pd.DataFrame({"w": [0.0, 1000, 400], "x": [0.0, 0, 0.5], "z": [0.0, 1, 1], "a": ["p", "q", "q"]})
    forest = ComparisonForest(domain, n_trees=1, min_leaf=1, supervised=True).fit(X[:2], ["no", "yes"])
    assert forest.predict(X).tolist() == ["no", "yes", "no"]
    assert np.ptp(forest.learned.numbers, axis=0) == pytest.approx([1000, 0, 1], rel=1e-4)


def test_breimans_forest_equals_that_of_scikit_learn_on_numbers(table):
    X, y = table
    numbers = Domain(DOMAIN.features[:2], classes=("no", "yes"), label="y")
    ours = BreimanForest(numbers, seed=7, n_trees=10).fit(X[["x", "z"]], y)
    theirs = RandomForestClassifier(10, max_features="sqrt", min_samples_leaf=5, random_state=7)
    codes = numbers.encode(X[["x", "z"]])
    assert np.array_equal(ours.votes(X[["x", "z"]]), theirs.fit(codes, y).predict_proba(codes))
    assert min(tree.tree_.n_node_samples.min() for tree in theirs.estimators_) >= 5  # counts distinct rows


@pytest.mark.parametrize(("p_feature", "p_cut"), [(0.2, 0.3), (0.05, 0.05)])
def test_the_root_of_bernoullis_forest_takes_the_best_feature_by_its_law(p_feature, p_cut):
    """One of nine features is informative. Without a random choice, the root takes the best of three drawn features."""
    domain = Domain(tuple(Feature(name, "numeric", low=0, high=1) for name in "abcdefghi"), ("no", "yes"), label="y")
    X = pd.DataFrame(np.random.default_rng(8).random((80, 9)), columns=list("abcdefghi"))
    X["a"] = np.repeat([0.2, 0.8], 40)
    forest = BernoulliForest(domain, seed=5, n_trees=3_000, p_feature=p_feature, p_cut=p_cut)
    roots = forest.fit(X, np.repeat(["no", "yes"], 40)).trees
    taken = int((roots.feature[roots.tree_start[:-1]] == 0).sum())
    best = (1 - p_feature) * (1 - p_cut)
    assert stats.binomtest(taken, 3_000, best / 3 + (1 - best) / 9).pvalue > 1e-6


def test_the_certificate_of_rgv_states_its_weaker_guarantee(table):
    X, y = table
    certificate = RanaForest(DOMAIN, n_trees=7, epsilon=0.5).fit(X, y).certificate_
    assert not certificate.certified and certificate.epsilon == Fraction(1, 2) and certificate.true_epsilon == np.inf
    assert certificate.neighbors == "replace-one" and str(certificate).startswith("NOT CERTIFIED.")
    weaker, spent, unchecked = certificate.reasons[:3]
    assert "weaker than differential privacy" in weaker and "whether somebody is in the table" in weaker
    assert "7 trees" in spent and "lose 7 times" in spent and "ε = 0.5" in spent
    assert "not checked" in unchecked and DOMAIN.leaks()[0] in certificate.reasons


def test_rgv_learns_although_one_of_its_trees_does_not():
    """The forest of Rana et al. (RGV) learns although a single tree does not, because averaging trees removes noise.

    A single tree does not learn, because the cuts of two numeric attributes cost most of ε.
    """
    generator = np.random.default_rng(11)
    X = pd.DataFrame({"x": generator.random(4_000), "z": generator.random(4_000), "a": "p"})
    y = np.where(X.x > 0.5, "yes", "no")
    one, many = (RanaForest(DOMAIN, n_trees=n, seed=2).fit(X, y).predict(X) == y for n in (1, 30))
    assert many.mean() > 0.93 and many.mean() >= one.mean()
    again, other = (RanaForest(DOMAIN, n_trees=3, seed=seed).fit(X, y).votes(X) for seed in (2, 3))
    assert np.array_equal(again, RanaForest(DOMAIN, n_trees=3, seed=2).fit(X, y).votes(X))
    assert not np.array_equal(again, other)


def chances(grower, scores, weights=None):
    """Return the probabilities with which the exponential mechanism chooses, from the scores and weights."""
    odds = np.exp(grower.rate * np.array(scores)) * (1 if weights is None else weights)
    return odds / odds.sum()


def test_a_node_of_rgv_draws_its_attribute_by_the_exponential_mechanism():
    """The root draws its attribute by the exponential mechanism.

    One of three attributes is the label, two are noise.
    """
    grid = Grid(np.array([2, 2, 2]), np.zeros(3, bool), 2)
    y = np.repeat([0, 1], 8)
    places = np.stack([y, np.arange(16) % 2, np.arange(16) // 2 % 2], axis=1)
    grower = Grower(grid, places, y, epsilon=16.0, depth=1)
    assert grower.share == 4.0 and grower.rate == pytest.approx(4 / (2 * (np.log2(17) + 1 / np.log(2))))
    drawn = [grower.grow(np.random.default_rng([1, i])).feature for i in range(3_000)]
    counts = np.bincount(np.array(drawn)[np.array(drawn) >= 0], minlength=3)
    expected = counts.sum() * chances(grower, [0.0, -16.0, -16.0])
    assert counts.sum() > 2_900 and stats.chisquare(counts, expected).pvalue > 1e-6


def test_a_cut_of_rgv_is_drawn_within_its_range_and_by_its_gain():
    grid = Grid(np.array([PLACES]), np.ones(1, bool), 2)
    y = np.repeat([0, 1], 10)
    places = np.where(y == 0, 200, 800)[:, None]
    grower = Grower(grid, places, y, epsilon=40.0, depth=1)
    table = np.zeros((1, PLACES, 2), np.int64)
    np.add.at(table, (0, places[:, 0], y), 1)
    ranges, generator = np.array([[100, 899]]), np.random.default_rng(5)
    drawn = np.array([grower._cuts(table, ranges, generator)[0][0] for _ in range(2_000)])
    assert drawn.min() >= 100 and drawn.max() < 899
    counts = [int((drawn < 200).sum()), int(((drawn >= 200) & (drawn < 800)).sum()), int((drawn >= 800).sum())]
    expected = 2_000 * chances(grower, [-20.0, 0.0, -20.0], np.array([100, 600, 99]))
    assert stats.chisquare(counts, expected).pvalue > 1e-6
    tree = Grower(grid, places, y, epsilon=4_000.0, depth=2).grow(generator)
    assert 200 <= tree.cut < 800 and (labels(tree, places) == y).all()


def test_a_node_of_rgv_with_too_few_rows_is_a_leaf():
    grid = Grid(np.array([2]), np.zeros(1, bool), 2)
    y = np.array([0, 1] * 20)
    grower = Grower(grid, y[:, None], y, epsilon=1.0, depth=1)
    # The number of rows is close to the noise threshold, so both outcomes occur.
    assert len(y) / 4 < np.sqrt(2) / grower.share * 2
    kinds = {bool(grower.grow(np.random.default_rng(i)).children) for i in range(200)}
    few = Grower(grid, y[:4, None], y[:4], epsilon=1.0, depth=1)
    assert kinds == {True, False} and not any(few.grow(np.random.default_rng(i)).children for i in range(50))
