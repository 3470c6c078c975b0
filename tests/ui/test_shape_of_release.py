"""Every page shows and simulates the depth and the number of trees of a release, which learns from all rows.

On breast_wisconsin at ε = 10, for example, the rule gives a boosted forest 10 trees for all 699 rows. For seven tenths
of the rows, from which simulated forests learn, it would give only 3 trees.
"""

import re
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
import streamlit as st
from streamlit.testing.v1 import AppTest

from dpforest import load_dataset
from dpforest.plotting.board_report import render
from dpforest.simulation.splits import split_table
from dpforest.simulation.sweep import surface
from dpforest.theory.measurements import empty_leaves_at
from tests.ui.app_words import visit, words
from ui.choose import more_data, report
from ui.choose import wish_controls as choose_controls
from ui.forest.forests import ForestSettings
from ui.jobs import first_release
from ui.jobs.lines import settings_of
from ui.jobs.results import gathered
from ui.jobs.sweep_job import Line, SweepJob, sweep_job
from ui.shared import tables
from ui.shared.tables import Table

KIND, EPSILON, N_TREES, DEPTH = "boosted", 10.0, 10, 3
ADDRESS = {
    "data": "breast_wisconsin",
    "neighbors": "a row exchanged",
}  # the number of rows is public, so it has no noise


@pytest.fixture(autouse=True)
def few_releases(monkeypatch):
    st.cache_resource.clear()
    monkeypatch.setattr(first_release, "LAST", 2)
    monkeypatch.setattr(choose_controls, "kinds", lambda: [KIND])


def breast_wisconsin() -> Table:
    data = tables.bundled("breast_wisconsin")
    return tables.bundled_table(data, data.label)


def at_ten(table: Table, neighbors: str = "replace-one") -> ForestSettings:
    return replace(settings_of(table, KIND, "certified", neighbors), epsilon=EPSILON)


def finished_sweep(table: Table, settings: ForestSettings) -> SweepJob:
    job = sweep_job(table, Line(settings, (EPSILON,)))
    for _ in job.work():
        pass
    return job


def simulated(job: SweepJob) -> tuple[int, int]:
    pieces = gathered([job]).pieces.query("epsilon == @EPSILON")
    (shape,) = pieces[["depth", "trees"]].drop_duplicates().to_numpy().tolist()
    return tuple(shape)


def test_the_rule_differs_between_all_rows_and_seven_tenths():
    table = breast_wisconsin()
    assert at_ten(table).shape(table.domain, 699) == (DEPTH, N_TREES)
    assert at_ten(table).shape(table.domain, len(tables.split(table).y_train)) == (DEPTH, 3)


def test_explore_shows_and_simulates_the_shape_of_a_release():
    page = visit(**ADDRESS, forest=KIND, eps="10")
    assert f"{N_TREES} trees of depth {DEPTH}" in words(page)
    assert page.select_slider(key="trees").value == N_TREES and page.slider(key="depth").value == DEPTH
    assert f"Tree 1 of {N_TREES}" in words(page)
    table = breast_wisconsin()
    job = finished_sweep(table, at_ten(table))
    assert simulated(job) == (DEPTH, N_TREES)
    assert job.releases.view(EPSILON).trees.n_trees == N_TREES


def test_compare_shows_the_shape_of_a_release_and_its_code_uses_it():
    page = visit("pages/1_Compare.py", **ADDRESS, forests=[KIND], releases_each="2", eps="10")
    row = page.dataframe[0].value.set_index("forest").loc[KIND]
    assert (row["depth"], row["trees"]) == (DEPTH, N_TREES)
    (code,) = [c.value for c in page.sidebar.code if "surface(" in c.value]
    one_epsilon = re.sub(r"epsilons=\[.*?\]", "epsilons=[10]", code).replace("n_jobs=-1", "n_jobs=1")
    namespace: dict = {}
    exec(one_epsilon, namespace)
    grid = namespace["grid"].query("epsilon == 10")
    assert set(zip(grid["depth"], grid["trees"], strict=True)) == {(DEPTH, N_TREES)}
    assert grid["accuracy"].mean() == pytest.approx(row["accuracy"])


def test_cross_validation_has_the_shape_of_a_release():
    """Cross-validation uses the depth and the number of trees that the rule gives for all rows.

    At ε = 8, the rule gives other numbers for four fifths of the rows.
    """
    table = breast_wisconsin()
    settings = replace(at_ten(table), epsilon=8.0)
    assert [settings.shape(table.domain, n) for n in (699, 559)] == [(DEPTH, N_TREES), (DEPTH, 3)]
    job = sweep_job(table, Line(settings, (8.0,)), folds=5)
    for _ in job.work():
        pass
    row = gathered([job]).pieces.query("epsilon == 8").iloc[0]
    assert (row["depth"], row["trees"]) == (DEPTH, N_TREES)


@pytest.mark.parametrize("n_rows", [699, 50])
def test_theory_measures_trees_of_the_sizes_that_it_names(n_rows):
    """Whatever the number of rows, the page Theory measures complete trees of the depth and number that it names."""
    data = load_dataset("breast_wisconsin")
    domain = data.domain.on_scale("linear")
    split = split_table(domain, data.X[:n_rows], data.y[:n_rows])
    assert empty_leaves_at(domain, split, depth=4, n_trees=10)["leaves"] == 10 * 2**4


def test_the_board_report_names_the_shape_whose_accuracy_it_shows(monkeypatch):
    made = []
    monkeypatch.setattr(
        report.ReportButton, "draw", lambda self, is_early: made.append(self._make(self._table, self._column))
    )
    shown = []
    monkeypatch.setattr(report, "render", lambda page: shown.append(page) or render(page))
    page = visit(
        "pages/2_Choose_epsilon.py",
        **ADDRESS,
        choose_tab="Report",
        look_eps="10",
        looked_at=KIND,
        sure="8 in 10 releases",
    )
    page.run()  # shows all releases that the first run has simulated
    assert f"{N_TREES} boosted trees of depth {DEPTH}" in made[-1]
    table = breast_wisconsin()
    frame = gathered([sweep_job(table, Line(at_ten(table)))]).pieces.query("epsilon == @EPSILON")
    assert set(zip(frame["depth"], frame["trees"], strict=True)) == {(DEPTH, N_TREES)}
    means = {epsilon: mean for epsilon, mean, _, _ in shown[-1].curve}
    assert means[EPSILON] == pytest.approx(frame["accuracy"].mean())


def test_the_tab_more_data_starts_from_the_releases_of_the_other_pages():
    table = breast_wisconsin()
    settings = at_ten(table)
    learning = more_data._make(("all rows", EPSILON, (EPSILON,)), table, settings)
    (accuracy,) = [learning.task(0)[0](*learning.task(0)[1])[-1][0]]
    assert accuracy == gathered([finished_sweep(table, settings)]).pieces.query("epsilon == @EPSILON").accuracy.item()


@pytest.mark.slow
def test_explore_opens_the_shape_that_choose_shows():
    """Explore takes over depth and number of trees from Choose ε, even if other numbers were set on Explore before."""
    page = visit(**ADDRESS, forest=KIND, eps="1", depth="2", trees="5", by_rule="false")
    page.query_params.clear()
    page.switch_page("pages/2_Choose_epsilon.py")
    page.query_params.update({**ADDRESS, "look_eps": "10", "looked_at": KIND, "sure": "8 in 10 releases"})
    page.run()
    assert not page.exception
    page.query_params.clear()
    page.query_params["from"] = "choose"
    page.switch_page("app.py").run()
    assert not page.exception
    assert page.selectbox(key="forest").value == KIND and page.select_slider(key="eps").value == EPSILON
    assert f"{N_TREES} trees of depth {DEPTH}" in words(page) and f"Tree 1 of {N_TREES}" in words(page)


@pytest.mark.slow  # a test in every run compares Explore with Choose ε
def test_explore_opens_the_shape_that_compare_shows():
    """Explore and Compare show the same depth of 3 at ε = 1. For seven tenths of the rows, the rule would give 2."""
    page = AppTest.from_file("../../app.py", default_timeout=600).switch_page("pages/1_Compare.py")
    page.query_params.update({"forests": [KIND], "releases_each": "2"})
    page.run()
    row = page.dataframe[0].value.set_index("forest").loc[KIND]
    page.query_params.clear()
    page.switch_page("app.py").run()
    page.selectbox(key="forest").set_value(KIND).run()
    assert not page.exception and f"3 trees of depth {DEPTH}" in words(page) and "Tree 1 of 3" in words(page)
    assert (row["depth"], row["trees"]) == (DEPTH, 3)


@pytest.mark.filterwarnings("ignore:300 rows have no label")
@pytest.mark.parametrize(("neighbors", "n_trees"), [("add-remove", 3), ("replace-one", N_TREES)])
def test_rows_without_a_label_count_where_the_number_of_rows_is_public(neighbors, n_trees):
    """Unlabeled rows count under replace-one only. Under add-remove, a release queries the number of labeled rows."""
    data = load_dataset("breast_wisconsin")
    frame = data.table.copy()
    frame[data.label] = frame[data.label].astype(object)
    frame.loc[np.arange(len(frame)) % 7 < 3, data.label] = None
    table = Table(f"breast_wisconsin, some unlabeled, {neighbors}", "some unlabeled", frame, data.label, data.domain)
    settings = at_ten(table, neighbors)
    _, shown = settings.shape(table.domain, tables.planned_rows(table, settings))
    _, of_simulation = simulated(finished_sweep(table, settings))
    certificate, _ = settings.estimator(table.domain).preview(table.domain, tables.planned_rows(table, settings))
    released = settings.estimator(table.domain).set_params(random_state=0).fit(table.columns(), frame[data.label])
    rows = SimpleNamespace(X=table.columns(), y=frame[data.label], domain=table.domain)
    grid = surface([settings.estimator()], rows, epsilons=[EPSILON], repeats=1).query("epsilon == 10")
    assert shown == of_simulation == grid["trees"].item() == released.forest_.trees.n_trees == n_trees
    assert certificate.mechanism.startswith(f"{n_trees} boosted trees")
