"""All pages show the same accuracy for a forest at an ε, with the depth and the trees of a release."""

import json
from types import SimpleNamespace

import numpy as np
import pytest
import streamlit as st

from dpforest import load_dataset
from dpforest.plotting.style import percent
from tests.ui.app_words import visit
from ui.choose import wish_controls as choose_controls
from ui.jobs import first_release
from ui.jobs.lines import settings_of
from ui.jobs.results import gathered
from ui.jobs.sweep_job import Line, sweep_job
from ui.shared import tables
from ui.shared.epsilon import grid_with

KINDS = ["random-tree booster", "majority labels", "boosted"]
EPSILON = 1.0


@pytest.fixture(autouse=True)
def few_releases(monkeypatch):
    """Clear all simulations, and make the pages simulate different numbers of releases."""
    st.cache_resource.clear()
    monkeypatch.setattr(first_release, "LAST", 3)
    monkeypatch.setattr(choose_controls, "kinds", lambda: KINDS)


def on_explore(kind: str) -> str:
    page = visit(data="zoo", forest=kind)
    return next(m.value for m in page.main.markdown if m.value.startswith("### "))[4:].replace("\u00a0", " ")


def on_compare() -> dict[str, str]:
    page = visit("pages/1_Compare.py", data="zoo", forests=KINDS, releases_each="2", eps="1")
    table = page.dataframe[0].value.set_index("forest")
    return {kind: percent(table.loc[kind, "accuracy"]) for kind in KINDS}


def on_choose() -> dict[str, float]:
    page = visit("pages/2_Choose_epsilon.py", data="zoo", need="43.0", sure="8 in 10 releases", margin="false")
    texts = [
        text
        for chart in page.get("plotly_chart")
        for trace in json.loads(chart.proto.spec)["data"]
        for text in np.atleast_1d(trace.get("hovertext", []))
        if "on average" in str(text)
    ]
    return {str(text).split(" at ε")[0]: str(text) for text in texts}


def test_all_pages_show_the_same_accuracy_in_whatever_order_they_are_visited():
    first = {kind: on_explore(kind) for kind in KINDS}
    assert on_compare() == first
    answers = on_choose()
    data = tables.bundled("zoo")
    table = tables.bundled_table(data, data.label)
    for kind, text in answers.items():
        epsilon = float(text.split("ε = ")[1].split(":")[0])
        job = sweep_job(table, Line(settings_of(table, kind, "certified", "add-remove")))
        frame = gathered([job]).pieces
        assert f": {percent(frame.loc[frame.epsilon == epsilon, 'accuracy'].mean())} on average" in text
    assert {"random-tree booster", "majority labels"} <= set(answers)
    again = {kind: on_explore(kind) for kind in KINDS}
    assert on_compare() == again  # both pages now use four releases


def test_explore_reads_arrays_and_all_sessions_share_them():
    """Explore reads results as arrays that all sessions share, not as data frames.

    If each move of ε made a data frame, each of thirty sessions would wait for 5 s (bench/load.py).
    """
    data = tables.bundled("zoo")
    table = tables.bundled_table(data, data.label)
    on_explore(KINDS[1])
    job = sweep_job(table, Line(settings_of(table, KINDS[1], "certified", "add-remove"), grid_with(EPSILON)))
    result = gathered([job])
    assert job.n_done >= 3 and result is gathered([job])
    assert not {"pieces", "cells"} & set(vars(result)) and result._means


@pytest.mark.parametrize("measure", ["accuracy", "auc", "flips"])
def test_arrays_of_a_result_are_the_means_of_its_frame(measure):
    data = tables.bundled("zoo")
    table = tables.bundled_table(data, data.label)
    lines = [Line(settings_of(table, kind, "certified", "add-remove"), (0.1, 1.0)) for kind in KINDS]
    jobs = [sweep_job(table, line, 2) for line in lines]
    for job in jobs:
        list(job.work(3))  # computes one split of the second repeat
    result = gathered(jobs)
    for name in result.forests:
        frame = result.pieces[result.pieces["forest"] == name]
        means = frame.pivot_table(index="repeat", columns="epsilon", values=measure, dropna=False)
        private, exact = result.private(measure, name), result.without_noise(measure, name)
        np.testing.assert_allclose(np.c_[private, exact], means.to_numpy(float), rtol=1e-13)
        (of_cells,) = [mean for forest, mean in result.means_without_noise(measure) if forest == name]
        assert of_cells == pytest.approx(result.cells.loc[name][measure]["mean"].xs(np.inf, level="epsilon").item())


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_simulated_has_the_shape_of_a_release(kind):
    """A simulated forest has the shape of a release, although it learns from seven tenths of the rows."""
    data = load_dataset("congressional_voting")
    table = tables.bundled_table(tables.bundled("congressional_voting"), data.label)
    settings = settings_of(table, kind, "certified", "replace-one")  # under replace-one, the number of rows is exact
    job = sweep_job(table, Line(settings, (EPSILON,)))
    for _ in job.work():
        pass
    frame = gathered([job]).pieces
    simulated = frame[frame.epsilon == EPSILON].iloc[0]
    whole = SimpleNamespace(n=len(data.y))
    spec = settings.estimator(data.domain).set_params(epsilon=EPSILON).spec(data.domain, whole.n)
    assert (simulated.depth, simulated.trees) == (spec.depth, getattr(spec, "n_trees", 1))
