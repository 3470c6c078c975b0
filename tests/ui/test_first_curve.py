"""A first look at a few ε: worked out once for all who ask, told of while it is worked out, and never replayed."""

import pytest
from streamlit.testing.v1 import AppTest

from ui.jobs import simulate

TWICE = """
import streamlit as st
from dpforest.tables.datasets import load_dataset
from ui.jobs import simulate
from ui.shared import tables
from ui.shared.forests import as_it_comes

data = tables.bundled("zoo")
table = tables.bundled_table(data, data.label)
settings = as_it_comes("one greedy tree", "certified", 1.0, "add-remove")
shared = simulate.simulation(table, settings)
for _ in range(2):
    curve = simulate.first_curve(shared, table, settings, st.container())
    st.write(f"{len(curve.epsilons)} values, {curve.accuracy.shape[0]} release")
"""


@pytest.mark.parametrize("large", [True, False])
def test_elements_next_to_the_curve_are_drawn_in_each_run(monkeypatch, large):
    monkeypatch.setattr(simulate, "MANY_CELLS", 0 if large else 10**9)
    worked = []
    once = simulate._released_once
    monkeypatch.setattr(simulate, "_released_once", lambda *given: worked.append(1) or once(*given))
    page = AppTest.from_string(TWICE, default_timeout=120)
    for _ in range(2):
        page.run()
        assert not page.exception
        lines = [line.value for line in page.markdown]
        assert lines[0] == lines[1]
    assert len(worked) == large
    assert lines[0].startswith("4 values, 1 release" if large else "18 values, ")
