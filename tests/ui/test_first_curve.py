"""The first simulated releases: each run of a page shows a progress bar, and the same figures."""

import pytest
import streamlit as st
from streamlit.testing.v1 import AppTest

from ui.jobs import first_release

TWICE = """
import streamlit as st
from ui.jobs.first_release import first_releases
from ui.jobs.sweep_job import Line, sweep_job
from ui.shared import tables
from ui.forest.forests import as_it_comes

data = tables.bundled("zoo")
table = tables.bundled_table(data, data.label)
line = Line(as_it_comes("one greedy tree", "certified", 1.0, "add-remove"))
job = sweep_job(table, line)
for _ in range(2):
    result = first_releases(table, [job], (0.01, 0.5, 1.0, 10.0), st.container())
    st.write(f"{len(result.epsilons)} values, {result.n} release")
st.session_state["job"] = job
"""


@pytest.mark.parametrize("large", [True, False])
def test_a_progress_bar_is_drawn_each_time(monkeypatch, large):
    st.cache_resource.clear()
    monkeypatch.setattr(first_release, "MANY_CELLS", 0 if large else 10**9)
    page = AppTest.from_string(TWICE, default_timeout=120)
    for _ in range(2):
        page.run()
        assert not page.exception
        lines = [line.value for line in page.markdown]
        assert lines[0] == lines[1]
        assert lines[0].startswith("4 values, 1 release" if large else "18 values, ")
        rows = page.session_state["job"].releases.rows
        assert len(rows[0]) == (5 if large else 19)  # one row for each ε, and one for the fit without noise
