"""The stored curve, with which the app opens on a machine that has no compiled kernels."""

import json

import pandas as pd
import streamlit as st
from streamlit.testing.v1 import AppTest

from dpforest.models.boosting import gradients
from dpforest.privacy import noisy_counts
from dpforest.simulation.sweep import one_repeat
from dpforest.trees import split_scores
from ui.explore import first_look
from ui.forest.forests import OPENING, as_it_comes
from ui.jobs import warm_up
from ui.jobs.sweep_job import Line, sweep_job
from ui.shared import tables
from ui.shared.epsilon import grid_with


def opening():
    data = tables.bundled(tables.DEFAULT)
    return tables.bundled_table(data, data.label), as_it_comes(OPENING, "certified", 1.0, "add-remove")


def test_what_is_stored_is_what_would_be_drawn_and_promised():
    st.cache_resource.clear()
    table, settings = opening()
    look = first_look.stored(table, settings)
    promise = settings.estimator(table.domain).preview(table.domain, len(table.frame))
    assert (look.certificate, look.ledger) == promise
    assert len(look.pieces) == 20
    job = sweep_job(table, Line(settings, grid_with(settings.epsilon)))
    function, arguments = job.task(1)
    live = pd.DataFrame(one_repeat(*arguments)).sort_values("epsilon", ignore_index=True)
    assert function is one_repeat
    stored = pd.DataFrame(look.pieces[1])
    pd.testing.assert_frame_equal(stored[list(live)], live, rtol=1e-12)
    split = tables.split(table)
    assert set(stored.n_train) == {len(split.y_train)} and set(stored.n_test) == {len(split.y_test)}


def test_no_other_settings_are_answered_from_the_file():
    table, settings = opening()
    other = as_it_comes(settings.kind, settings.mode, settings.epsilon, "replace-one")
    assert first_look.stored(table, other) is None
    data = tables.bundled("wdbc")
    assert first_look.stored(tables.bundled_table(data, data.label), settings) is None


def test_a_page_with_nothing_compiled_opens_with_the_stored_curve_and_ends_with_the_same():
    """On a machine without compiled kernels, the page shows the stored figures, also after the kernels are compiled.

    The test does not remove compiled code; it empties the app's list of compiled kernels.
    """
    warm_up._done().clear()
    of_many_classes = (noisy_counts._sum_over_winner, split_scores._score_many, gradients._next_of_many)
    app = AppTest.from_file("../../app.py", default_timeout=300).run()
    assert not app.exception and warm_up._done() == set(warm_up.steps())
    assert all(kernel.signatures for kernel in of_many_classes), "a later move would compile them"
    (accuracy,) = (c.value for c in app.caption if c.value.startswith("± "))
    assert "20 simulated releases" in accuracy
    again = app.run()
    assert accuracy in [c.value for c in again.caption]
    assert json.loads(first_look.PATH.read_text())["of"] == first_look.key(*opening())
