"""Simulated releases agree with separate fits, closed forms and sums.

Seeds are fixed. If seeds were random, each statistical test would fail a correct program with probability at most
`FALSE_ALARM`. For asymptotic tests, which have at least 200 draws, this probability is approximate.
"""

import numba
import numpy as np
import pandas as pd
import pytest
from scipy import stats
from sklearn.base import clone

from dpforest import (
    MajorityLabelForestClassifier,
    RandomDecisionForestClassifier,
    RandomForestExponentialClassifier,
    load_dataset,
)
from dpforest.evaluation.nonprivate import guessing
from dpforest.simulation.random import RandomSimulation, ReleasePlanner
from dpforest.simulation.splits import Split, split_table
from dpforest.simulation.views import ForestView
from dpforest.tables.domain import DomainError
from dpforest.tables.out_of_domain import OutOfDomainCells, OutOfDomainWarning
from dpforest.tables.rows import read_rows
from dpforest.trees import naive, routing
from dpforest.trees.layout import LEAF
from tests.conftest import public_domain
from tests.simulation.curves import Figures, figures

FALSE_ALARM = 1e-6
Z = stats.norm.isf(FALSE_ALARM / 2)
N_TRAIN = 250
SLOW = pytest.mark.slow
too_slow_without_jit = pytest.mark.skipif(numba.config.DISABLE_JIT, reason="hundreds of fits in pure Python")


@pytest.fixture(scope="module")
def nursery():
    """Return domain, table, labels and split of 400 rows of nursery. The first `N_TRAIN` rows are training rows."""
    data = load_dataset("nursery")
    rows = np.random.default_rng(0).choice(len(data.X), 400, replace=False)
    X, y = data.X.iloc[rows].reset_index(drop=True), data.y.iloc[rows].to_numpy()
    codes, labels = data.domain.encode(X), data.domain.encode_labels(y)
    split = Split(codes[:N_TRAIN], labels[:N_TRAIN], codes[N_TRAIN:], labels[N_TRAIN:])
    return data.domain, X, y, split


def simulated(estimator, nursery, epsilons, **settings) -> Figures:
    domain, _, _, split = nursery
    return figures(estimator, domain, split, epsilons, **settings)


def viewed(estimator, nursery, epsilon, *, seed=0) -> ForestView:
    domain, _, _, split = nursery
    return RandomSimulation(estimator, domain, split, n_rows=N_TRAIN).view(epsilon, seed)


# ---------------------------------------------------------------- repeats as releases

SPREADS = {
    "labels": (MajorityLabelForestClassifier(n_estimators=10), 3.0),
    "counts": (RandomDecisionForestClassifier(n_estimators=5, max_depth=4), 1.0),
    "coins": (
        RandomDecisionForestClassifier(
            n_estimators=5, max_depth=3, voting="probabilistic", negative_rule="paper", partition="independent"
        ),
        3.0,
    ),
    "published": (MajorityLabelForestClassifier(n_estimators=10, mode="as_published"), 1.0),
}


def differs(a: np.ndarray, b: np.ndarray) -> bool:
    """Return whether two samples differ in mean (Welch), spread (Brown, Forsythe) or law (Kolmogorov, Smirnov)."""
    tests = (stats.ttest_ind(a, b, equal_var=False), stats.levene(a, b, center="median"), stats.ks_2samp(a, b))
    return min(test.pvalue for test in tests) < FALSE_ALARM / len(tests)


def score(estimator, X, y, **seeds) -> float:
    estimator.set_params(**seeds).fit(X[:N_TRAIN], y[:N_TRAIN])
    return float((estimator.predict(X[N_TRAIN:]) == y[N_TRAIN:]).mean())


@too_slow_without_jit
@pytest.mark.parametrize("name", ["labels", "coins", *(pytest.param(n, marks=SLOW) for n in ("counts", "published"))])
def test_mean_and_spread_of_the_repeats_are_those_of_200_separate_fits(nursery, name):
    estimator, epsilon = SPREADS[name]
    domain, X, y, _ = nursery
    repeats = simulated(estimator, nursery, [epsilon], repeats=200).accuracy[:, 0]
    estimator = clone(estimator).set_params(domain=domain, epsilon=epsilon)
    fits = np.array([score(estimator, X, y, structure_seed=5_000 + i, random_state=9_000_000 + i) for i in range(200)])
    assert repeats.std() > 0.01
    assert not differs(repeats, fits)


@too_slow_without_jit
def test_the_comparison_would_notice_a_structure_that_is_not_redrawn(nursery):
    estimator, epsilon = SPREADS["counts"]
    domain, X, y, _ = nursery
    repeats = simulated(estimator, nursery, [epsilon], repeats=200).accuracy[:, 0]
    estimator = clone(estimator).set_params(domain=domain, epsilon=epsilon)
    fits = np.array([score(estimator, X, y, structure_seed=5_000, random_state=9_000_000 + i) for i in range(200)])
    assert differs(repeats, fits)


@pytest.fixture(scope="module")
def one_structure():
    """Return domain and split of one categorical feature, for which every multiway tree is the same."""
    domain = public_domain(8)
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 8, (80, 1)).astype(np.uint16)
    labels = (rng.random(80) < 0.2 + 0.09 * codes[:, 0]).astype(np.int32)
    return domain, Split(codes[:40], labels[:40], codes[40:], labels[40:])


def test_noise_is_redrawn_in_each_repeat(one_structure):
    """Repeats differ by their noise. Nothing else is random: only one tree is possible, and it counts every row."""
    domain, split = one_structure
    estimator = MajorityLabelForestClassifier(n_estimators=1, max_depth=1, partition="shared", categorical="multiway")
    curve = figures(estimator, domain, split, [0.5], repeats=30)
    assert len(set(curve.ceiling)) == 1
    assert len(set(curve.accuracy[:, 0])) > 5
    assert len(set(curve.flips[:, 0])) > 5


def test_assignment_is_redrawn_in_each_repeat(one_structure):
    """Repeats differ by the assignment of rows to trees. Only one tree is possible, and noise is negligible."""
    domain, split = one_structure
    estimator = RandomDecisionForestClassifier(
        n_estimators=5, max_depth=1, partition="independent", categorical="multiway", voting="threshold"
    )
    curve = figures(estimator, domain, split, [10_000], repeats=30)
    assert (curve.flips == 0).all()
    assert len(set(curve.accuracy[:, 0])) > 3
    simulation = RandomSimulation(estimator, domain, split)
    one, two = (simulation.view(1.0, seed).counts for seed in (0, 1))
    assert not np.array_equal(one, two)
    assert one.sum() == two.sum() == 40


def test_structure_is_redrawn_in_each_repeat(nursery):
    """Repeats differ by their structure, because even metrics without noise and without assignment differ."""
    curve = simulated(SPREADS["counts"][0], nursery, [1.0], repeats=8)
    assert len(set(curve.ceiling)) > 4


def test_repeats_are_numbered_by_their_seeds(nursery):
    """Repeat 3 of seed 0 is repeat 0 of seed 3; threads and further budgets change nothing."""
    estimator = SPREADS["labels"][0]
    four = simulated(estimator, nursery, [0.3, 3.0], repeats=4)
    one = simulated(estimator, nursery, [3.0], repeats=1, seed=3, n_jobs=2)
    assert four.accuracy.shape == four.balanced.shape == four.flips.shape == (4, 2)
    assert four.ceiling.shape == (4,)
    for figure in ("accuracy", "balanced", "flips"):
        assert getattr(four, figure)[3, 1] == getattr(one, figure)[0, 0]
    assert four.ceiling[3] == one.ceiling[0]


# ---------------------------------------------------------------- from floor to ceiling


@pytest.mark.parametrize(
    "estimator",
    [
        MajorityLabelForestClassifier(n_estimators=7, max_depth=1),
        RandomDecisionForestClassifier(n_estimators=7, max_depth=2),
        RandomDecisionForestClassifier(n_estimators=7, max_depth=2, voting="majority"),
    ],
)
def test_the_ceiling_is_the_score_of_the_nonprivate_model(nursery, estimator):
    domain, X, y, _ = nursery
    curve = simulated(estimator, nursery, [1.0], repeats=3, seed=20)
    for repeat in range(3):
        nonprivate = clone(estimator).set_params(epsilon=None, domain=domain, structure_seed=20 + repeat)
        nonprivate.fit(X[:N_TRAIN], y[:N_TRAIN])
        assert curve.ceiling[repeat] == pytest.approx(nonprivate.score(X[N_TRAIN:], y[N_TRAIN:]), abs=1e-12)
        right = nonprivate.predict(X[N_TRAIN:]) == y[N_TRAIN:]
        by_class = [right[y[N_TRAIN:] == label].mean() for label in np.unique(y[N_TRAIN:])]
        assert curve.ceiling_balanced[repeat] == pytest.approx(np.mean(by_class), abs=1e-12)


def test_a_huge_epsilon_reaches_the_ceiling_and_flips_nothing(nursery):
    """At a huge ε, the noise has no effect, so no leaf flips.

    The test skips voting by log-odds, because with this rule a forest at a huge ε differs from one without noise.
    """
    for estimator in (
        clone(SPREADS["counts"][0]).set_params(voting="threshold"),
        RandomDecisionForestClassifier(n_estimators=3, max_depth=8, voting="majority"),
    ):
        curve = simulated(estimator, nursery, [10_000], repeats=3)
        assert np.array_equal(curve.accuracy[:, 0], curve.ceiling)
        assert np.array_equal(curve.balanced[:, 0], curve.ceiling_balanced)
        assert (curve.flips == 0).all()


@pytest.mark.parametrize(
    "estimator",
    [
        MajorityLabelForestClassifier(n_estimators=10),
        MajorityLabelForestClassifier(n_estimators=10, leaf_mechanism="exponential", partition="shared"),
        RandomDecisionForestClassifier(n_estimators=5, max_depth=4),
        RandomForestExponentialClassifier(n_estimators=9, max_depth=3),
    ],
)
def test_curves_rise_with_epsilon_and_flips_fall(nursery, estimator):
    curve = simulated(estimator, nursery, [0.01, 1, 10], repeats=20)
    assert (np.diff(curve.accuracy.mean(axis=0)) > 0).all()
    assert (np.diff(curve.flips.mean(axis=0)) < 0).all()
    _, _, _, split = nursery
    floor = guessing(split.y_train, split.y_test, 5)["accuracy"]
    assert curve.accuracy[:, -1].mean() > floor
    assert curve.accuracy[:, 0].mean() < floor


@too_slow_without_jit
def test_the_published_mechanism_is_worse_than_the_certified_one_at_a_small_epsilon():
    """At ε = 0.1, Fletcher and Islam's mechanism is worse than permute-and-flip, in each of five releases."""
    data = load_dataset("nursery")
    split = split_table(data.domain, data.X, data.y)
    by_mode = {}
    for mode in ("certified", "as_published"):
        estimator = MajorityLabelForestClassifier(n_estimators=30, max_depth=3, mode=mode, categorical="multiway")
        by_mode[mode] = figures(estimator, data.domain, split, [0.1, 3], repeats=5)
    certified, published = by_mode["certified"], by_mode["as_published"]
    assert certified.accuracy[:, 0].min() > published.accuracy[:, 0].max() + 0.1
    assert certified.flips[:, 0].max() < published.flips[:, 0].min()
    assert abs(certified.accuracy[:, 1].mean() - published.accuracy[:, 1].mean()) < 0.05  # equal accuracy at ε = 3


# ---------------------------------------------------------------- one release, leaf by leaf

VIEWED = {
    "permute-and-flip": (MajorityLabelForestClassifier(n_estimators=3), 2.0),
    "exponential": (MajorityLabelForestClassifier(n_estimators=3, leaf_mechanism="exponential"), 2.0),
    "global-01": (MajorityLabelForestClassifier(n_estimators=3, leaf_mechanism="global-01"), 5.0),
    "replace-one": (MajorityLabelForestClassifier(n_estimators=3, neighbors="replace-one", partition="shared"), 2.0),
    "smooth sensitivity": (MajorityLabelForestClassifier(n_estimators=3, mode="as_published"), 0.5),
    "clamped counts": (RandomDecisionForestClassifier(n_estimators=3, max_depth=4), 3.0),
    "paper's counts": (
        RandomDecisionForestClassifier(n_estimators=3, max_depth=4, voting="threshold", negative_rule="paper"),
        3.0,
    ),
}


@pytest.mark.parametrize("name", VIEWED)
def test_flips_match_their_closed_form_in_expectation(nursery, name):
    """The share of rows in flipped leaves agrees with the closed-form flip rates, by a z-test over many releases."""
    estimator, epsilon = VIEWED[name]
    observed, expected, variance = 0.0, 0.0, 0.0
    for seed in range(10 if numba.config.DISABLE_JIT else 60):
        view = viewed(estimator, nursery, epsilon, seed=seed)
        weight = view.n_rows / view.n_rows.sum()
        p = np.nan_to_num(view.flip)
        observed += simulated(estimator, nursery, [epsilon], seed=seed).flips[0, 0]
        expected += weight @ p
        variance += weight**2 @ (p * (1 - p))
    assert variance > 0
    assert abs(observed - expected) < Z * np.sqrt(variance)


@pytest.mark.parametrize("name", VIEWED)
def test_simulated_flips_of_each_leaf_match_their_closed_form(nursery, name):
    """Simulated flips of each leaf agree with their closed form, by binomial tests that share one false-alarm rate."""
    estimator, epsilon = VIEWED[name]
    view = viewed(estimator, nursery, epsilon)
    leaves = np.flatnonzero(view.n_rows)[:60]
    n = 400
    flips = np.rint(view.simulated_flip(leaves, n_draws=n) * n).astype(int)
    assert flips.any()
    for flip, p in zip(flips, view.flip[leaves], strict=True):
        # The closed form of noisy counts is a sum, which rounding may push beyond 0 or 1.
        assert stats.binomtest(int(flip), n, float(np.clip(p, 0, 1))).pvalue > FALSE_ALARM / len(leaves)


def test_flips_of_continuous_noise_match_their_closed_form():
    domain = public_domain(8)
    codes = np.repeat(np.arange(8, dtype=np.uint16), 21)[:, None]
    labels = np.tile(np.r_[np.zeros(11, np.int32), np.ones(10, np.int32)], 8)  # class 0 leads by one row in every leaf
    estimator = RandomDecisionForestClassifier(
        n_estimators=1, max_depth=1, categorical="multiway", negative_rule="clamp", mode="as_published"
    )
    view = RandomSimulation(estimator, domain, Split(codes, labels, codes, labels)).view(1.0)
    observed, expected, n = view.simulated_flip(np.arange(8), n_draws=1000), view.flip, 8000
    assert abs(observed.mean() - expected.mean()) < Z * np.sqrt(expected.mean() * (1 - expected.mean()) / n)


def test_an_empty_leaf_has_no_flip_rate_and_a_tie_flips_to_third_classes_only(nursery):
    view = viewed(VIEWED["permute-and-flip"][0], nursery, 1.0)
    assert np.isnan(view.flip[view.n_rows == 0]).all()
    assert (view.n_rows == 0).any()
    assert ((view.flip[view.n_rows > 0] >= 0) & (view.flip[view.n_rows > 0] < 1)).all()
    assert (view.true_labels == -1).sum() == (view.n_rows == 0).sum()
    ordered = np.sort(view.counts, axis=1)
    assert np.array_equal(view.gap, ordered[:, -1] - ordered[:, -2])
    assert view.labels.shape == (view.trees.n_leaves,)
    assert set(view.labels) <= set(range(5))


def test_redrawn_noise_flips_as_many_leaves_as_their_rates_predict(nursery):
    """Redrawn noise flips as many leaves as their rates predict. The limit `Z` makes one false alarm in 10^6 runs."""
    view = viewed(VIEWED["permute-and-flip"][0], nursery, 1.0)
    full, n_draws = view.nodes(0).flip[view.nodes(0).trees.leaf_nodes], 400
    rates = full[np.isfinite(full)]
    turned = [view.nodes(0, view.redraw(0, seed)).is_flipped for seed in range(1, n_draws + 1)]
    counted = np.array([one.sum() for one in turned])
    assert len(set(counted)) > 1
    assert abs(counted.mean() - rates.sum()) < Z * np.sqrt((rates * (1 - rates)).sum() / n_draws)
    assert not np.any([one[view.nodes(0).trees.kind != LEAF] for one in turned])


@pytest.mark.parametrize("name", ["permute-and-flip", "clamped counts", "smooth sensitivity"])
def test_nodes_sum_their_leaves(nursery, name):
    estimator, epsilon = VIEWED[name]
    _, _, _, split = nursery
    view = viewed(estimator, nursery, epsilon)
    in_trees = 0
    for tree in range(view.trees.n_trees):
        table = view.nodes(tree)
        trees = table.trees
        leaf = trees.kind == LEAF
        leaves_of_tree = slice(view.trees.leaf_start[tree], view.trees.leaf_start[tree + 1])
        assert np.array_equal(table.counts[leaf], view.counts[leaves_of_tree])
        assert np.array_equal(table.label[leaf], view.labels[leaves_of_tree])
        assert np.allclose(table.flip[leaf], view.flip[leaves_of_tree], rtol=1e-12, equal_nan=True)
        assert np.allclose(table.worst_flip[leaf], view.flip[leaves_of_tree], rtol=1e-12, equal_nan=True)
        assert (table.label[~leaf] == -1).all()
        n_rows = table.counts.sum(axis=1)
        for node in np.flatnonzero(~leaf):
            children = slice(trees.first_child[node], trees.first_child[node] + trees.n_children[node])
            assert np.array_equal(table.counts[node], table.counts[children].sum(axis=0))
            if n_rows[node] == 0:
                assert np.isnan(table.flip[node]) and np.isnan(table.worst_flip[node])
                continue
            filled = n_rows[children] > 0
            mean = np.average(table.flip[children][filled], weights=n_rows[children][filled])
            assert table.flip[node] == pytest.approx(mean, rel=1e-9, abs=1e-15)
            assert table.worst_flip[node] == table.worst_flip[children][filled].max()
        in_trees += table.counts[0].sum()
        for row in split.X_test[:20]:
            path = view.path(tree, row)
            assert path[0] == 0
            assert leaf[path[-1]]
            assert [p + view.trees.tree_start[tree] for p in path] == naive.path_of_row(view.trees, tree, row)
    rows_in_trees = {"permute-and-flip": N_TRAIN, "clamped counts": 3 * N_TRAIN, "smooth sensitivity": N_TRAIN - 1}
    assert in_trees == view.n_rows.sum() == rows_in_trees[name]  # three blocks of 83 omit one row


def test_the_views_counts_are_those_of_the_routed_rows(nursery):
    domain, _, _, split = nursery
    view = viewed(VIEWED["clamped counts"][0], nursery, 1.0)
    counts = routing.count_rows(view.trees, domain, split.X_train, split.y_train, n_classes=5)
    assert np.array_equal(view.counts, counts)


# ---------------------------------------------------------------- splits


def test_a_split_assigns_every_row_once_and_keeps_the_shares_of_the_classes(nursery):
    domain, X, y, _ = nursery
    split = split_table(domain, X, y, test_share=0.25, seed=3)
    assert (len(split.y_train), len(split.y_test)) == (300, 100)
    X_both, y_both = np.concatenate([split.X_train, split.X_test]), np.concatenate([split.y_train, split.y_test])
    rows = np.column_stack([X_both, y_both])
    whole = np.column_stack([domain.encode(X), domain.encode_labels(y)])
    assert np.array_equal(rows[np.lexsort(rows.T)], whole[np.lexsort(whole.T)])
    shares = [np.bincount(labels, minlength=5) / len(labels) for labels in (split.y_train, split.y_test)]
    assert np.abs(shares[0] - shares[1]).max() < 0.02
    again = split_table(domain, X, y, test_share=0.25, seed=3)
    assert np.array_equal(again.X_test, split.X_test)
    assert not np.array_equal(split_table(domain, X, y, test_share=0.25, seed=4).X_test, split.X_test)


@pytest.mark.parametrize("labels", [[0, 0, 0, 0, 0, 1], [0, 1], [0, 0, 1, 1]])
def test_a_table_too_small_to_stratify_is_still_split(labels):
    domain = public_domain(None)
    X = pd.DataFrame({"f0": np.linspace(0, 1, len(labels))})
    split = split_table(domain, X, labels)
    assert len(split.y_train) + len(split.y_test) == len(labels)
    assert min(len(split.y_train), len(split.y_test)) >= 1
    curve = figures(MajorityLabelForestClassifier(n_estimators=2), domain, split, [1.0])
    for figure in (curve.accuracy, curve.balanced, curve.flips, curve.ceiling):
        assert ((figure >= 0) & (figure <= 1)).all()


def test_a_split_reads_rows_as_a_fit_does():
    """A split omits the same rows as a fit, and codes the other rows equally. So its metrics describe the release."""
    domain = public_domain(None, 3)
    X = pd.DataFrame({"f0": [0.1, np.nan, np.inf, 0.4, 7.0, 0.6], "f1": ["c1", "c9", None, "c0", "c2", "c1"]})
    y = [0, 1, None, 1, 5, 0]
    read = read_rows(domain, X, y, out_of_domain=OutOfDomainCells())
    assert len(read.y) == 4 and read.n_given == 6
    with pytest.warns(OutOfDomainWarning, match="2 rows have no label that is listed"):
        loud = split_table(domain, X, y)
    quiet = split_table(domain, X, y, out_of_domain=(noted := OutOfDomainCells()))
    assert any("2 rows have no label" in sentence for sentence in noted.sentences())
    for split in (loud, quiet):
        rows = np.column_stack([np.vstack([split.X_train, split.X_test]), np.append(split.y_train, split.y_test)])
        whole = np.column_stack([read.codes, read.y])
        assert np.array_equal(rows[np.lexsort(rows.T)], whole[np.lexsort(whole.T)])


def test_a_table_without_known_labels_cannot_be_split():
    X = pd.DataFrame({"f0": [0.1, 0.2, 0.3]})
    with pytest.raises(DomainError, match="Of 3 rows 1 has a label that is listed"):
        split_table(public_domain(None), X, [None, 0, 7], out_of_domain=OutOfDomainCells())


def test_planning_another_budget_does_not_change_a_plan():
    """Planning for one budget does not change the plan for another budget, which another thread may read meanwhile."""
    data = load_dataset("adult")
    split = split_table(data.domain, data.X, data.y)

    class Meanwhile(ReleasePlanner):
        @property
        def _cells(self):
            if not self.asked:
                self.asked = True
                self.prepare(10.0, 3)
            return super()._cells

    given = MajorityLabelForestClassifier(), data.domain, split, len(data.y)
    interrupted = Meanwhile(*given)
    interrupted.asked = False
    (spec, scale), (expected, other) = (planner.prepare(1.0, 3) for planner in (interrupted, ReleasePlanner(*given)))
    assert interrupted.asked and spec == expected
    assert np.array_equal(scale.cumulative, other.cumulative)
