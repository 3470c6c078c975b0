"""The Leaves tab states the engine's flip rates of labels: the mean over rows (or persons) and the mean over leaves."""

import numpy as np
import pytest

from dpforest.plotting.style import flip_percent
from dpforest.simulation.label_flips import relabeled_share
from tests.ui.app_words import words
from ui.forest.forests import MODES, as_it_comes
from ui.jobs.sweep_job import Line, sweep_job
from ui.shared import tables

LABELS = [("majority labels", "certified"), ("majority labels", "as published"), ("RF-E", "certified")]
LABELS += [("multinomial", "certified"), ("multinomial", "as published")]


@pytest.mark.parametrize(("kind", "mode"), LABELS)
def test_a_forest_of_labels_has_both_rates(app, kind, mode):
    app.query_params.clear()
    app.query_params.update({"data": "car", "forest": kind, "mode": mode, "tab": "Leaves"})
    app.run()
    assert not app.exception
    data = tables.bundled("car")
    table = tables.bundled_table(data, data.label)
    view = sweep_job(table, Line(as_it_comes(kind, MODES[mode], 1.0, "add-remove"))).releases.view(1.0)
    per_leaf, full = relabeled_share(view.noise), view.n_rows > 0
    per_row = float(np.average(view.flip[full], weights=view.n_rows[full]))
    text = words(app)
    assert f"Per row: **{flip_percent(per_row)}**. A leaf counts once for each row in it" in text.replace("\\", "")
    assert f"Per leaf: **{flip_percent(per_leaf)}**. Each of the {full.sum():,} leaves with rows counts once" in text
    assert per_leaf > per_row
    assert text.count(f"**{flip_percent(per_row)}**") == 1
    empty = int((~full).sum())
    assert (f"{empty:,} of the {len(full):,} leaves are empty" in text) == (empty > 1)
    assert "are empty" in text or empty < 2


def test_where_no_leaf_is_empty_there_is_no_sentence_about_empty_leaves(app):
    app.query_params.update({"data": "nursery", "forest": "RF-E", "tab": "Leaves", "depth": "1", "trees": "1"})
    app.run()
    assert not app.exception and "How often labels flip" in words(app)
    assert "at random, because" not in words(app)


@pytest.mark.parametrize("kind", ["noisy counts", "one greedy tree", "JPW", "RF-L", "boosted", "random-tree booster"])
def test_a_forest_of_numbers_has_one_rate(app, kind):
    app.query_params.update({"forest": kind, "tab": "Leaves", "depth": "2"})
    app.run()
    assert not app.exception and "How often labels flip" in words(app)
    assert "Per leaf: **" not in words(app)
