"""A forest at an ε has one figure in the app, and depth and trees of what a release would have."""

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
from ui.jobs.sweep_job import Line, sweep_job
from ui.shared import tables

KINDS = ["random-tree booster", "majority labels", "boosted"]
EPSILON = 1.0


@pytest.fixture(autouse=True)
def few_releases(monkeypatch):
    """Nothing is simulated yet; the pages aim at different numbers of releases."""
    st.cache_resource.clear()
    monkeypatch.setattr(first_release, "LAST", 3)
    monkeypatch.setattr(choose_controls, "kinds", lambda: KINDS)
    monkeypatch.setattr(choose_controls, "RELEASES", {0.8: 4, 0.9: 4, 0.95: 4})
    monkeypatch.setattr(choose_controls, "SECONDS", np.inf)


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
        frame = job.frame()
        assert f": {percent(frame.loc[frame.epsilon == epsilon, 'accuracy'].mean())} on average" in text
    assert len(answers) == len(KINDS)
    again = {kind: on_explore(kind) for kind in KINDS}
    assert on_compare() == again  # of four releases by now, on both


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_simulated_has_the_shape_of_a_release(kind):
    """On congressional_voting the rule says more for all rows than for seven tenths of them."""
    data = load_dataset("congressional_voting")
    table = tables.bundled_table(tables.bundled("congressional_voting"), data.label)
    settings = settings_of(table, kind, "certified", "replace-one")  # where the number of rows is exact
    job = sweep_job(table, Line(settings, (EPSILON,)))
    for _ in job.work():
        pass
    frame = job.frame()
    simulated = frame[frame.epsilon == EPSILON].iloc[0]
    whole = SimpleNamespace(n=len(data.y))
    spec = settings.estimator(data.domain).set_params(epsilon=EPSILON).spec(data.domain, whole.n)
    assert (simulated.depth, simulated.trees) == (spec.depth, getattr(spec, "n_trees", 1))
