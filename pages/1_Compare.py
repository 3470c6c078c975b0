"""Compare: every forest on one chart against ε, with the price of privacy for each forest."""

from functools import partial
from itertools import count

import streamlit as st

from dpforest.tables.domain import DomainError
from ui import state
from ui.compare import chart_and_table, comparison_controls
from ui.compare.below import RULES_TAB, Below
from ui.compare.code import grid_as_code
from ui.compare.comparison_controls import MEASURES, measured
from ui.compare.insight import insight
from ui.jobs import baselines, time_budget
from ui.jobs.job import n_of_all, run
from ui.jobs.results import SweepResult, headroom_of
from ui.jobs.sweep_job import sweep_job
from ui.jobs.warm_up import warm_up
from ui.shared import figures, sidebar
from ui.shared.controls import LINKED
from ui.shared.downloads import offer_csv
from ui.shared.epsilon import choose_epsilon
from ui.shared.link import copy_link
from ui.shared.page import open_page, sorry, table_header, titled
from ui.shared.wording import plain

open_page("Compare forests")

top = st.container()
epsilon = choose_epsilon()
table = sidebar.choose_table()
view = comparison_controls.choose(epsilon, table)
if table is None:
    st.stop()

with top:
    table_header(table, view.neighbors)
if not view.kinds:
    sorry("No forest is chosen. Choose at least one in the sidebar (behind » on a phone).")
    st.stop()

for line in (asked := comparison_controls.lines(view, table)):
    warm_up(line.settings)
try:
    lines = [sweep_job(table, line, view.folds) for line in asked]
    levels = [baselines.level(table, view.folds, fold) for fold in range(view.folds)]
except (DomainError, ValueError) as problem:
    sorry(problem)
    st.stop()

measure = partial(measured, view, table)
with top:
    headline = st.empty()
if view.published:
    chart_and_table.about_claims()
if any(line.line.settings.delta for line in lines):
    chart_and_table.about_delta(table)
chart_and_table.about_leaks(table)
groups = f", groups by {plain(view.column, 30)}" if view.column else ""
titled(
    f"{view.measure[0].upper()}{view.measure[1:]} against ε{groups}",
    "Curator only",
    help="Measured on rows held out. The bands hold eight in ten of the simulated releases.",
)
picture = st.empty()
latest: dict[str, SweepResult] = {}
counter = count()
with st.container(horizontal=True, vertical_alignment="center", horizontal_alignment="distribute", key="below_curve"):
    behind = st.empty()
    progress = st.container(width=420)
    name = "CURATOR_ONLY_compare.csv"
    offer_csv("All simulated releases as CSV", lambda: latest["done"].pieces, name, type="tertiary")

names = ["Table", "Depth", "Trees", "ε × depth", RULES_TAB]
if st.query_params.get(state.COMPARE_TAB) == "α":  # the name of the tab in older links
    state.COMPARE_TAB.value = st.query_params[state.COMPARE_TAB] = RULES_TAB
tabs = dict(zip(names, st.tabs(names, key=state.COMPARE_TAB, bind=LINKED), strict=True))
opened = next((name for name, tab in tabs.items() if tab.open), "Table")
with tabs[opened]:
    below = Below(opened, view, table)


def draw(n: int) -> None:
    """Draw everything that depends on the first `n` pieces of the main sweep."""
    done = latest["done"] = measure(lines)
    scale = chart_and_table.scale_of(view.measure, levels, done)
    if why := chart_and_table.cannot_be_measured(view, done):
        headline.markdown(why)
    else:
        chart_and_table.lines_chart(view, lines, done, scale, picture, f"lines_{next(counter)}")
        claims = {line.line.name for line in lines if not line.line.settings.certified}
        headline.markdown(insight(view, done, scale, headroom_of(done, levels, MEASURES[view.measure]), claims))
    behind.caption(f"Each point is the mean of {done.rests_on}.", width="content")
    below.table(lines, done, levels)


with st.sidebar, st.container(horizontal=True, gap="small"):
    copy_link(of_upload=table.uploaded)
    with st.popover("As code"):
        st.caption("The same grid in Python: the same seeds, so the same numbers. Simulated; it costs no ε.")
        st.code(grid_as_code([line.line for line in lines], table, view.releases, view.folds), language="python")
    offered = st.container(width="content")

pieces = view.releases * view.folds
if ready := min(pieces, n_of_all(lines)):
    draw(ready)
    with offered:
        figures.offer()
work = (table.schema_key, tuple(line.line.key for line in lines), pieces, opened)
with time_budget.stoppable(work, progress) as place:
    if place is not None:
        worked = time_budget.TimeBudget(work, comparison_controls.SECONDS)
        for n in run(lines, min(pieces, 2), place, budget=worked, drawn=ready):
            draw(n)
        if not ready:
            with offered:
                figures.offer()
        for _ in run(levels, 1, place, baselines.FITTING, worked, n_of_all(levels)):
            draw(min(pieces, n_of_all(lines)))
        below.work(place, worked)
        for n in run(lines, pieces, place, budget=worked, drawn=latest["done"].n):
            draw(n)
