"""Tests that simulated releases of data-dependent forests equal separate fits."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

from dpforest import (
    BoostedForestClassifier,
    FriedmanSchusterClassifier,
    MajorityLabelForestClassifier,
    MultinomialForestClassifier,
    load_dataset,
)
from dpforest.evaluation.nonprivate import REFERENCES, NonprivateModels
from dpforest.models.greedy.greedy import bin_rows
from dpforest.models.trace import Trace
from dpforest.simulation.fitted import FittedSimulation
from dpforest.simulation.pieces import NOISE_SEED
from dpforest.simulation.random import RandomSimulation
from dpforest.simulation.splits import split_table
from dpforest.simulation.sweep import simulation_for
from dpforest.tables.domain import Domain, Feature
from tests.simulation.curves import figures

FORESTS = [
    BoostedForestClassifier(n_bound=20_000, n_estimators=3, max_depth=3),
    BoostedForestClassifier(mode="as_published", n_estimators=2, max_depth=2),
    MultinomialForestClassifier(n_estimators=5, max_depth=3),
    MultinomialForestClassifier(mode="as_published", n_estimators=3),
    FriedmanSchusterClassifier(max_depth=3),
    FriedmanSchusterClassifier(mode="as_published", max_depth=3),
]


@pytest.fixture(scope="module")
def votes():
    data = load_dataset("congressional_voting")
    return data.domain, split_table(data.domain, data.X, data.y)


@pytest.mark.parametrize("forest", FORESTS, ids=lambda f: f"{type(f).__name__} {f.mode}")
def test_a_repeat_is_a_fit_with_its_seeds(votes, forest):
    """At each budget, a repeat has the accuracy of an estimator that is fitted directly on the training rows."""
    domain, split = votes
    curve = figures(forest, domain, split, [0.5, 5.0], repeats=2, n_jobs=2)
    labels = np.asarray(domain.classes)
    raw = load_dataset("congressional_voting")
    codes = domain.encode(raw.X)
    where = {tuple(row): i for i, row in enumerate(codes)}
    train = raw.X.iloc[[where[tuple(row)] for row in split.X_train]].reset_index(drop=True)
    test = raw.X.iloc[[where[tuple(row)] for row in split.X_test]]
    for e, epsilon in enumerate((0.5, 5.0)):
        seeds = {"random_state": 1 + NOISE_SEED, "structure_seed": 1}
        seeds = {name: seed for name, seed in seeds.items() if name in forest.get_params()}
        ordinary = type(forest)(**{**forest.get_params(), "epsilon": epsilon, "domain": domain, **seeds})
        ordinary.fit(train, labels[split.y_train])
        accuracy = (ordinary.predict(test) == labels[split.y_test]).mean()
        assert curve.accuracy[1, e] == pytest.approx(accuracy, abs=1e-12)


@pytest.mark.parametrize(
    "forest",
    [BoostedForestClassifier(n_bound=20_000), MultinomialForestClassifier(), FriedmanSchusterClassifier()],
    ids=lambda f: type(f).__name__,
)
def test_on_a_released_scale_budgets_share_no_bins(forest):
    """Fits of a sweep share computations on the rows, but each budget has separate bins of its released scale."""
    data = load_dataset("adult")
    split = split_table(data.domain, data.X[:4_000], data.y[:4_000])
    curve = figures(forest, data.domain, split, [0.5, 3.0, 30.0])
    rows = bin_rows(data.domain, split.X_train, split.y_train, np.arange(len(split.y_train)), forest.n_bins)
    for e, epsilon in enumerate((0.5, 3.0, 30.0)):
        model = clone(forest).set_params(epsilon=epsilon, random_state=NOISE_SEED)
        alone = model.fit_encoded(data.domain, rows)
        accuracy = (alone.predict_codes(split.X_test) == split.y_test).mean()
        assert alone.scale is not None and curve.accuracy[0, e] == pytest.approx(accuracy, abs=1e-12)


@pytest.mark.parametrize("forest", FORESTS, ids=lambda f: f"{type(f).__name__} {f.mode}")
def test_repeats_differ_and_more_budget_does_not_hurt_much(votes, forest):
    curve = figures(forest, *votes, [0.01, 1.0, 100.0], repeats=6)
    assert curve.accuracy.shape == (6, 3)
    assert np.ptp(curve.accuracy[:, 0]) > 0
    if forest.mode == "certified":  # as published, coefficients have no noise, so the forest learns at any budget
        assert curve.accuracy[:, 2].mean() > curve.accuracy[:, 0].mean() + 0.1
        assert curve.accuracy[:, 2].mean() > curve.ceiling.mean() - 0.1
    assert np.all((curve.flips >= 0) & (curve.flips <= 1))


@pytest.mark.parametrize("forest", FORESTS, ids=lambda f: f"{type(f).__name__} {f.mode}")
def test_the_view_is_one_forest_leaf_by_leaf(votes, forest):
    domain, split = votes
    view = FittedSimulation(forest, domain, split).view(1.0)
    view.trees.check(np.array([f.n_codes for f in domain.features]))
    per_tree = np.add.reduceat(view.n_rows, view.trees.leaf_start[:-1])
    if isinstance(forest, MultinomialForestClassifier):  # estimation rows of one tree, or of each tree
        assert 0 < per_tree.sum() <= len(split.y_train) * view.trees.n_trees
    else:
        assert np.array_equal(per_tree, np.full(view.trees.n_trees, len(split.y_train)))
    full = view.n_rows > 0
    assert np.all(np.isfinite(view.flip[full])) and np.all(np.isnan(view.flip[~full]))
    assert np.all((view.flip[full] >= 0) & (view.flip[full] <= 1))
    table = view.nodes(0)
    assert table.counts[0].sum() == per_tree[0]
    if view.traces:
        inner = table.trees.feature >= 0
        assert np.all((table.probability[inner] > 0) & (table.probability[inner] <= 1 + 1e-9))
        assert np.all((table.gain[inner] >= 0) & (table.gain[inner] <= 1))
        assert np.isnan(table.probability[~inner]).all()


def test_closed_form_flips_agree_with_redraws(votes):
    """Closed forms of flip rates agree with 200 redraws of the noise of each leaf.

    The tolerance is 6 binomial standard deviations plus 3/200, so a leaf fails by chance with probability 1e-8.
    """
    for forest in FORESTS:
        view = FittedSimulation(forest, *votes).view(1.0)
        leaves = np.flatnonzero(view.n_rows)[:16]
        p, simulated = view.flip[leaves], view.simulated_flip(leaves, 200)
        assert np.all(np.abs(simulated - p) <= 6 * np.sqrt(p * (1 - p) / 200) + 0.015)


def test_a_tree_of_one_class_against_the_rest_knows_two_classes():
    data = load_dataset("zoo")
    split = split_table(data.domain, data.X, data.y)
    forest = BoostedForestClassifier(n_bound=1_000, n_estimators=2, max_depth=2)
    view = FittedSimulation(forest, data.domain, split).view(1.0)
    assert view.trees.n_trees == 2 * data.domain.n_classes
    assert view.domain_of(3).classes == (f"not {data.domain.classes[1]}", str(data.domain.classes[1]))
    assert set(view.labels) <= {0, 1}
    leaf_values, class_of_tree = view.boosters
    assert leaf_values.shape == (view.trees.n_leaves,)
    assert sorted(class_of_tree) == sorted(2 * list(range(data.domain.n_classes)))
    assert all(trace.weight_spread == np.ptp(trace.weights) for trace in view.traces)


def test_trees_that_vote_have_no_boosters(votes):
    view = FittedSimulation(FriedmanSchusterClassifier(max_depth=2), *votes).view(1.0)
    with pytest.raises(ValueError, match="these trees vote"):
        _ = view.boosters
    assert all(trace.weight_spread == 0 for trace in view.traces)


def test_each_estimator_gets_the_simulation_that_suits_it(votes):
    assert isinstance(simulation_for(FriedmanSchusterClassifier(), *votes), FittedSimulation)
    assert isinstance(simulation_for(MajorityLabelForestClassifier(n_estimators=2), *votes), RandomSimulation)


def test_references_equal_those_of_scikit_learn(votes):
    domain, split = votes
    both = NonprivateModels(domain, split)
    shares = [both.share]
    while not both.done:
        both.step()
        shares.append(both.share)
    assert shares == sorted(shares) and shares[0] == 0 and shares[-1] == 1 and len(shares) > 10
    assert list(both.metrics) == list(REFERENCES) == ["CART", "random forest"]
    assert all(
        0.9 < measures["accuracy"] <= 1 for measures in both.metrics.values()
    )  # the paper reports about 0.95 on this table


def test_a_forest_grown_step_by_step_is_the_one_grown_at_once(votes):
    domain, split = votes
    steps = NonprivateModels(domain, split)
    X_train, X_test = steps._columns()
    whole = clone(REFERENCES["random forest"]).fit(X_train, split.y_train)
    while not steps.done:
        steps.step()
    right = float((whole.predict(X_test) == split.y_test).mean())
    assert steps.metrics["random forest"]["accuracy"] == right


def test_parameters_are_checked_before_anything_is_grown(votes):
    with pytest.raises(ValueError, match="n_bound=10"):
        FittedSimulation(BoostedForestClassifier(n_bound=10), *votes).check([1.0])
    data = load_dataset("adult")
    adult = data.domain, split_table(data.domain, data.X[:400], data.y[:400])
    with pytest.raises(ValueError, match="more than a gigabyte"):
        FittedSimulation(FriedmanSchusterClassifier(max_depth=15, n_bins=1_000), *adult).check([1.0])


@pytest.mark.parametrize("forest", FORESTS, ids=lambda f: f"{type(f).__name__} {f.mode}")
def test_keeping_no_draws_changes_nothing_but_the_drawings(votes, forest):
    domain, split = votes
    rows = bin_rows(domain, split.X_train, split.y_train, np.arange(len(split.y_train)), forest.n_bins)
    model, full, short = clone(forest).set_params(random_state=5), Trace(), Trace(draws=False)
    one, two = (model.fit_encoded(domain, rows, trace=trace) for trace in (full, short))
    assert short.trees == [] and (full.trees or forest.mode == "as_published")
    assert np.array_equal(one.leaf_shares(), two.leaf_shares())
    assert np.array_equal(full.counts, short.counts) and np.array_equal(full.labels, short.labels)
    assert np.array_equal(full.noise.flip(), short.noise.flip(), equal_nan=True)


def parts(forest, trace):
    """Return all results of a fit as arrays."""
    trees, noise = forest.trees, trace.noise
    return [
        trees.kind,
        trees.feature,
        trees.threshold,
        trees.first_child,
        trees.tree_start,
        *forest.leaves.arrays.values(),
        trace.counts,
        trace.labels,
        None if noise is None else noise.flip(),
    ]


@pytest.mark.parametrize("forest", FORESTS, ids=lambda f: f"{type(f).__name__} {f.mode}")
@pytest.mark.parametrize("order", [1, -1, 0], ids=["upwards", "downwards", "shuffled"])
def test_shared_computations_change_no_fit(votes, forest, order):
    """A fit that shares computations equals a separate fit bit for bit, in any order, and keeps no shared data."""
    domain, split = votes
    rows = bin_rows(domain, split.X_train, split.y_train, np.arange(len(split.y_train)), forest.n_bins)
    sweep = replace(rows, memo={})
    sizes = [1] if isinstance(forest, FriedmanSchusterClassifier) else [1, 2, 5]
    cells = [
        (e, d, t, s) for e in (0.1, 2.0, None) for d in (1, 2, 4) for t in sizes for s in (0, 6)
    ]  # for repeat 0, both seeds are equal
    cells = [cells[i] for i in np.random.default_rng(0).permutation(len(cells))] if order == 0 else cells[::order]
    for epsilon, depth, size, seed in cells:
        model = clone(forest).set_params(epsilon=epsilon, max_depth=depth, random_state=seed)
        if "n_estimators" in model.get_params():
            model.set_params(n_estimators=size)
        traces = Trace(draws=False), Trace(draws=False)
        alone, shared = (
            model.fit_encoded(domain, encoded, trace=t) for encoded, t in zip((rows, sweep), traces, strict=True)
        )
        for a, b in zip(parts(alone, traces[0]), parts(shared, traces[1]), strict=True):
            assert (a is None) == (b is None)
            assert a is None or (a.dtype == b.dtype and np.array_equal(a, b, equal_nan=a.dtype.kind == "f"))
        kept = [part for part in parts(shared, traces[1]) if part is not None]
        assert not any(np.shares_memory(part, array) for part in kept for array in arrays_in(sweep.memo))
    shares_nothing = isinstance(forest, BoostedForestClassifier) or (sizes == [1] and forest.mode == "as_published")
    assert bool(sweep.memo) == (not shares_nothing)
    assert rows.memo is None


def arrays_in(memo):
    for value in memo.values():
        yield from [value] if isinstance(value, np.ndarray) else [*value.structure, *value.estimation]


def test_a_release_shares_its_rows_with_nobody(votes):
    """Without a seed, each fit draws the rows of its trees anew, even within a sweep, and stores none of these rows."""
    domain, split = votes
    rows = bin_rows(domain, split.X_train, split.y_train, np.arange(len(split.y_train)), 16)
    sweep, traces = replace(rows, memo={}), [Trace(draws=False) for _ in range(2)]
    for trace in traces:
        MultinomialForestClassifier(n_estimators=10, max_depth=1).fit_encoded(domain, sweep, trace=trace)
    assert sweep.memo == {}
    one, two = (np.bincount(np.arange(len(t.counts)) // 2, t.counts.sum(axis=1)) for t in traces)
    assert not np.array_equal(one, two)  # estimation rows of ten trees: equal with probability < 1e-6


def test_the_ceiling_is_fitted_again_only_if_more_than_noise_is_random(votes):
    curves = {}
    for forest in (FriedmanSchusterClassifier(max_depth=3), MultinomialForestClassifier(n_estimators=3, max_depth=3)):
        curves[type(forest)] = figures(forest, *votes, [1.0], repeats=8).ceiling
    assert np.ptp(curves[FriedmanSchusterClassifier]) == 0
    assert np.ptp(curves[MultinomialForestClassifier]) > 0


def test_the_spread_of_leaf_values_is_that_of_releases_of_the_same_tree():
    """With one attribute of two values there is one tree. Samples of 300 releases differ by less than a quarter."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"a": np.repeat([0, 1], 100)})
    y = np.where(rng.random(200) < np.repeat([0.25, 0.6], 100), 1, 0)
    domain = Domain((Feature("a", "categorical", categories=(0, 1)),), (0, 1), "y")
    split = split_table(domain, X, y)
    simulation = simulation_for(BoostedForestClassifier(n_estimators=1, max_depth=1), domain, split)
    views = [simulation.view(1.0, seed) for seed in range(300)]
    values = np.array([view.leaf_values for view in views])
    spread = views[0].value_spread
    assert spread is not None
    assert np.allclose(values.std(axis=0), spread, rtol=0.25)
    published = BoostedForestClassifier(mode="as_published", n_estimators=1, max_depth=1)
    assert simulation_for(published, domain, split).view(1.0).value_spread is None  # β multiplies its values
