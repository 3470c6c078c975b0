"""Sweeps over ε, depth and trees: every cell equals a separate fit; a caller can watch, stop and resume a sweep."""

import math
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from sklearn.base import clone

from dpforest import (
    BoostedForestClassifier,
    FriedmanSchusterClassifier,
    JagannathanForestClassifier,
    MajorityLabelForestClassifier,
    MultinomialForestClassifier,
    RandomDecisionForestClassifier,
    RandomForestExponentialClassifier,
    RandomForestLaplaceClassifier,
    load_dataset,
)
from dpforest.models.data_dependent import DataDependentClassifier
from dpforest.models.random.random_structure import RandomStructureClassifier
from dpforest.privacy.randomness import DemoSource
from dpforest.simulation.cells import cells_of
from dpforest.simulation.metrics import METRICS, from_shares
from dpforest.simulation.pieces import NOISE_SEED
from dpforest.simulation.splits import Split, split_table
from dpforest.simulation.sweep import KEYS, curve, one_repeat, splits, summary, surface
from dpforest.simulation.without_noise import exact_scale
from dpforest.tables.out_of_domain import OutOfDomainWarning
from dpforest.tables.rows import EncodedTable
from dpforest.trees.released_scale import scale_histograms
from tests.conftest import some
from tests.simulation.curves import figures

FORESTS = {
    "labels": MajorityLabelForestClassifier(),
    "labels, shared": MajorityLabelForestClassifier(partition="shared", leaf_mechanism="exponential"),
    "labels, multiway": MajorityLabelForestClassifier(categorical="multiway", neighbors="replace-one"),
    "labels, published": MajorityLabelForestClassifier(mode="as_published"),
    "counts": RandomDecisionForestClassifier(),
    "counts, independent": RandomDecisionForestClassifier(partition="independent", voting="majority"),
    "counts, by chance": RandomDecisionForestClassifier(voting="probabilistic", mode="as_published"),
    "JPW": JagannathanForestClassifier(),
    "RF-L": RandomForestLaplaceClassifier(budget="paper"),
    "RF-E": RandomForestExponentialClassifier(),
    "multinomial": MultinomialForestClassifier(),
    "multinomial, published": MultinomialForestClassifier(mode="as_published"),
    "boosted": BoostedForestClassifier(n_bound=2_000),
    "one tree": FriedmanSchusterClassifier(),
}


def rows_of(split: Split) -> EncodedTable:
    """Return the encoded training rows."""
    n = len(split.y_train)
    return EncodedTable(split.X_train, split.y_train, np.arange(n), n)


TWO, MANY = load_dataset("mushroom"), load_dataset("zoo")


def small(data, n: int = 400):
    """Return `n` random rows of a bundled table."""
    rows = np.random.default_rng(0).choice(len(data.X), min(n, len(data.X)), replace=False)
    return SimpleNamespace(
        X=data.X.iloc[rows].reset_index(drop=True), y=data.y.iloc[rows].reset_index(drop=True), domain=data.domain
    )


def test_folds_leave_out_the_rows_that_a_fit_leaves_out():
    data = SimpleNamespace(X=TWO.X.iloc[:60], y=TWO.y.iloc[:60].where(np.arange(60) % 4 > 0, "?"), domain=TWO.domain)
    for folds in (1, 3):
        with pytest.warns(OutOfDomainWarning, match="15 rows have no label that is listed"):
            made_splits = splits(data, folds, 0)
        assert len(made_splits) == folds and {len(split.y_train) + len(split.y_test) for split in made_splits} == {45}
        assert all((split.y_train >= 0).all() and (split.y_test >= 0).all() for split in made_splits)


@pytest.mark.parametrize("name, dataset", some(FORESTS, ["two classes", "seven classes"], every=3))
def test_every_cell_equals_a_separate_fit(name, dataset):
    data = small(TWO if dataset == "two classes" else MANY)
    table = surface({name: FORESTS[name]}, data, epsilons=[0.3, 5], depths=[1, 4], trees=[1, 5], repeats=2, seed=3)
    split = split_table(data.domain, data.X, data.y, seed=3)
    assert not table.duplicated(list(KEYS)).any() and not table[["accuracy", "log_loss"]].isna().any(axis=None)
    for cell in table.itertuples():
        model = clone(FORESTS[name]).set_params(domain=data.domain, random_state=3 + cell.repeat + NOISE_SEED)
        model.set_params(epsilon=None if np.isinf(cell.epsilon) else cell.epsilon, max_depth=cell.depth)
        if "n_estimators" in model.get_params():
            model.set_params(n_estimators=cell.trees)
        if "structure_seed" in model.get_params():
            model.set_params(structure_seed=3 + cell.repeat)
        forest = model.refitter(data.domain, rows_of(split))()
        predicted = forest.predict_codes(split.X_test)
        shares, at_once = forest.shares_and_index(data.domain.encode(data.X))
        assert np.array_equal(at_once, forest.predict_index(data.X))
        assert np.array_equal(shares, forest.class_shares(data.X))
        assert cell.accuracy == pytest.approx(np.mean(predicted == split.y_test), abs=1e-12)
        if np.isinf(cell.epsilon):
            assert not cell.certified and cell.flips == 0
        else:
            assert cell.certified == (model.mode == "certified")
            assert (
                cell.true_epsilon
                == model.set_params(random_state=None).preview(data.domain, len(split.y_train))[0].true_epsilon
            )


@pytest.mark.parametrize("name", [n for n, f in FORESTS.items() if isinstance(f, RandomStructureClassifier)])
def test_a_forest_with_default_settings_has_the_shape_and_the_scale_of_each_budget(name):
    """With default settings, a sweep has the same metrics at every ε as a separate fit with the same seeds.

    A simulation has the same metrics, too. Sweep and simulation choose the shape and the scale for each ε, as a fit
    does.
    """
    data, epsilons, estimator = small(load_dataset("adult"), 1_500), [0.05, 0.5, 5.0], FORESTS[name]
    certified = estimator.mode == "certified"
    repeats = 2 if certified else 1
    table = surface({name: estimator}, data, epsilons=epsilons, repeats=repeats, seed=3, plan_for="split")
    split = split_table(data.domain, data.X, data.y, seed=3)
    domain = estimator.reading_domain(data.domain)
    split_of_domain = split if domain is data.domain else split_table(domain, data.X, data.y, seed=3)
    curve, shapes, scaled = figures(estimator, domain, split_of_domain, epsilons, repeats=repeats, seed=3), set(), set()
    assert len(table) == 4 * repeats
    for cell in table.itertuples():
        private = np.isfinite(cell.epsilon)
        model = clone(estimator).set_params(
            epsilon=cell.epsilon if private else None,
            structure_seed=3 + cell.repeat,
            random_state=3 + cell.repeat + NOISE_SEED,
        )
        if private:
            forest = model.refitter(domain, rows_of(split_of_domain))()
        else:  # without privacy, a fit by default uses the public scale
            scale = exact_scale(model, scale_histograms(domain, split_of_domain.X_train))
            spec, ledger = model.spec(domain, len(split_of_domain.y_train)), model._ledger(domain)
            forest = model._fit_spec(
                spec, domain, rows_of(split_of_domain), 1, ledger, DemoSource(model.random_state), scale
            )
            assert (scale is not None) == certified
        assert (cell.depth, cell.trees) == (forest.trees.depth, forest.trees.n_trees)
        shares, predicted = forest.shares_and_index(split_of_domain.X_test)
        if model.get_params().get("voting") != "probabilistic":
            majority = forest.voting == "majority"
            step, positive = (
                0.5 / forest.trees.n_trees if majority else 1e-6,
                int(np.bincount(split_of_domain.y_train).argmin()),
            )
            expected = from_shares(shares, split_of_domain.y_test, predicted, positive=positive, step=step)
            assert {m: getattr(cell, m) for m in METRICS} == pytest.approx({m: expected[m] for m in METRICS}, abs=1e-12)
        right = predicted == split_of_domain.y_test
        by_class = np.mean([right[split_of_domain.y_test == c].mean() for c in (0, 1)])
        accuracies = (curve.ceiling[cell.repeat], curve.ceiling_balanced[cell.repeat])
        if private:
            at = (cell.repeat, epsilons.index(cell.epsilon))
            accuracies = (curve.accuracy[at], curve.balanced[at])
            assert curve.flips[at] == cell.flips
            shapes.add((cell.depth, cell.trees))
            scaled.add(forest.scale is not None)
        assert accuracies == pytest.approx((right.mean(), by_class), abs=1e-12)
        assert cell.accuracy == pytest.approx(right.mean(), abs=1e-12)
    assert (len(shapes) > 1) == certified and scaled == ({False, True} if certified else {False})


@pytest.mark.parametrize("name", [n for n, f in FORESTS.items() if isinstance(f, DataDependentClassifier)])
def test_cells_are_the_same_alone_and_in_another_order(name):
    """Every metric of a cell is bitwise equal, whatever was computed before this cell."""
    data, epsilons, depths, trees = small(TWO), [0.3, 5.0], [1, 3, 4], [1, 2, 5]
    table = surface({name: FORESTS[name]}, data, epsilons=epsilons, depths=depths, trees=trees, repeats=1, seed=3)
    split, forest = split_table(data.domain, data.X, data.y, seed=3), FORESTS[name]
    cells = cells_of(forest, depths, trees)
    backwards = one_repeat(forest, data.domain, split, [math.inf, *epsilons[::-1]], cells[::-1], 3)
    rest = [c for c in table if c in backwards[0]]
    swept = table.sort_values(["epsilon", "depth", "trees"])[rest].reset_index(drop=True)
    back = pd.DataFrame(backwards).sort_values(["epsilon", "depth", "trees"])[rest].reset_index(drop=True)
    pd.testing.assert_frame_equal(swept, back, check_exact=True)
    for depth, size in cells:
        shape = {"depths": [depth], "trees": None if size is None else [size]}
        alone = surface({name: forest}, data, epsilons=epsilons, repeats=1, seed=3, **shape)
        same = table[(table.depth == depth) & ((table.trees == size) | (size is None))]
        pd.testing.assert_frame_equal(alone, same.reset_index(drop=True), check_exact=True)


def test_repeats_are_like_releases():
    """Mean, spread and correlation between cells agree with 200 releases with secret noise.

    Releases at two budgets share their structure, as the cells of a repeat do. All comparisons together fail by chance
    with probability below 1e-6.
    """
    data, forest = small(TWO), MajorityLabelForestClassifier(n_estimators=5, max_depth=3)
    table = surface([forest], data, epsilons=[0.2, 1.0], repeats=200, seed=1)
    wide = table.pivot(index="repeat", columns="epsilon", values="accuracy")
    split = split_table(data.domain, data.X, data.y, seed=1)

    def release(epsilon: float, seed: int) -> float:
        model = clone(forest).set_params(domain=data.domain, epsilon=epsilon, structure_seed=1_000 + seed)
        fitted = model.refitter(data.domain, rows_of(split))()
        return float(np.mean(fitted.predict_codes(split.X_test) == split.y_test))

    released = pd.DataFrame({e: [release(e, s) for s in range(200)] for e in (0.2, 1.0)})
    for epsilon in (0.2, 1.0):
        assert stats.ttest_ind(wide[epsilon], released[epsilon], equal_var=False).pvalue > 2e-7
        assert stats.levene(wide[epsilon], released[epsilon]).pvalue > 2e-7
    assert wide[0.2].mean() < wide[1.0].mean() < wide[np.inf].mean()


def test_a_sweep_reports_progress_and_can_be_stopped_and_resumed():
    data = small(MANY)
    forests = {"a": MajorityLabelForestClassifier(n_estimators=3), "b": FriedmanSchusterClassifier(max_depth=2)}
    whole = surface(forests, data, epsilons=[1.0], repeats=3, folds=2)
    seen: list[tuple[int, int]] = []
    part = surface(
        forests, data, epsilons=[1.0], repeats=3, folds=2, on_progress=lambda n, of: (seen.append((n, of)), n == 5)[1]
    )
    assert seen == [(n, 12) for n in range(1, 6)]
    assert len(part) == 5 * 2 and part.groupby(["forest", "repeat", "fold"]).size().eq(2).all()
    rest: list[int] = []
    resumed = surface(
        forests, data, epsilons=[1.0], repeats=3, folds=2, done=part, on_progress=lambda n, of: rest.append(n)
    )
    pd.testing.assert_frame_equal(resumed, whole)
    assert rest == list(range(6, 13))


def test_processes_and_threads_give_the_same_table():
    data, forest = small(MANY), MajorityLabelForestClassifier(n_estimators=3)
    alone = curve([forest], data, epsilons=[0.5, 2], repeats=4)
    pd.testing.assert_frame_equal(curve([forest], data, epsilons=[0.5, 2], repeats=4, n_jobs=2), alone)


def test_the_summary_separates_noise_from_splits():
    data = small(MANY)
    table = surface([MajorityLabelForestClassifier(n_estimators=3)], data, epsilons=[0.5], repeats=4, folds=3)
    wide = summary(table)
    noisy = table[table.epsilon == 0.5]
    cell = wide.loc[("MajorityLabelForestClassifier", 0.5)].iloc[0]
    assert cell["accuracy", "mean"] == pytest.approx(noisy.accuracy.mean())
    assert cell["accuracy", "noise"] == pytest.approx(noisy.groupby("repeat").accuracy.mean().std())
    assert cell["accuracy", "splits"] == pytest.approx(noisy.groupby("fold").accuracy.mean().std())
    assert (cell["repeats", ""], cell["folds", ""]) == (4, 3) and {m for m, _ in wide.columns} >= set(METRICS)


def test_names_and_grids_are_checked():
    data = small(MANY)
    with pytest.raises(ValueError, match="same name"):
        surface([MajorityLabelForestClassifier()] * 2, data, epsilons=[1])
    with pytest.raises(ValueError, match="max_depth"):
        surface([MajorityLabelForestClassifier()], data, epsilons=[1], depths=[-1], repeats=1)


def test_data_without_a_domain_are_refused_with_what_to_do():
    with pytest.raises(TypeError, match="data is a DataFrame, and has no X, y and domain; hand over load_dataset"):
        surface([MajorityLabelForestClassifier()], load_dataset("zoo").table, epsilons=[1])


def test_a_published_forest_whose_leaves_hold_no_row_is_scored_like_any_other():
    """A sweep scores a published forest whose leaves hold no row, as happens by the paper's rule on a small table."""
    forest = MajorityLabelForestClassifier(mode="as_published")
    swept = surface({"labels": forest}, load_dataset("zoo"), epsilons=[1.0], repeats=2)
    assert np.isfinite(swept["accuracy"]).all() and swept["flips"].between(0, 1).all()
