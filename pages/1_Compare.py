"""Compare: every forest on one chart against ε, with the price of privacy for each forest."""

from functools import partial
from itertools import count

import streamlit as st

from dpforest.tables.domain import DomainError
from ui import state
from ui.compare import chart_and_table, comparison_controls
from ui.compare.below import RULES_TAB, Below
from ui.compare.code import grid_as_code
from ui.compare.comparison_controls import result_of
from ui.compare.insight import insight
from ui.forest import recommended
from ui.forest.forests import as_it_comes
from ui.jobs import time_budget
from ui.jobs.baselines import FITTING, baselines_of
from ui.jobs.job import n_of_all, run
from ui.jobs.measures import MEASURES, scale_of
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

for line in (chosen_lines := comparison_controls.lines(view, table)):
    warm_up(line.settings)
try:
    lines = [sweep_job(table, line, view.folds) for line in chosen_lines]
    baselines = [baselines_of(table, view.folds, fold) for fold in range(view.folds)]
except (DomainError, ValueError) as problem:
    sorry(problem)
    st.stop()

most_delta = max(line.line.settings.delta for line in lines)
recommended.line(table, as_it_comes("random-tree booster", "certified", epsilon, view.neighbors, delta=most_delta))
measure = partial(result_of, view, table)
with top, st.container(key="compared_words"):
    headline = st.empty()
if view.published:
    chart_and_table.about_claims()
if any(line.line.settings.delta for line in lines):
    chart_and_table.about_delta(table)
chart_and_table.about_leaks(table)
groups = f", groups by {plain(view.column, 30)}" if view.column else ""
titled(
    f"{view.measure[0].upper()}{view.measure[1:]} against ε{groups}",
    "Do not share",
    help="Measured on rows held out. The bands hold eight in ten of the simulated releases.",
)
with st.container(key="compared_chart"):
    chart = st.empty()
latest: dict[str, SweepResult] = {}
counter = count()
with st.container(horizontal=True, vertical_alignment="center", horizontal_alignment="distribute", key="below_curve"):
    n_releases_caption = st.empty()
    n_releases_caption.caption("The first releases are being simulated.", width="content")
    progress = st.container(width=420)
    name = "DO_NOT_SHARE_compare.csv"
    offer_csv("All simulated releases as CSV", lambda: latest["result"].pieces, name, type="tertiary")

names = ["Table", "Depth", "Trees", "ε × depth", RULES_TAB]
if st.query_params.get(state.COMPARE_TAB) == "α":  # the name of the tab in older links
    state.COMPARE_TAB.value = st.query_params[state.COMPARE_TAB] = RULES_TAB
tabs = dict(zip(names, st.tabs(names, key=state.COMPARE_TAB, bind=LINKED), strict=True))
open_tab = next((name for name, tab in tabs.items() if tab.open), "Table")
with tabs[open_tab]:
    below = Below(open_tab, view, table)


def draw(n: int) -> None:
    """Draw the headline, the chart and the table again, from all finished releases.

    `n`, the number of finished releases of the sweep, is not used.
    """
    result = latest["result"] = measure(lines)
    scale = scale_of(view.measure, baselines, result)
    if why := chart_and_table.cannot_be_measured(view, result):
        headline.markdown(why)
    else:
        chart_and_table.lines_chart(view, lines, result, scale, chart, f"lines_{next(counter)}")
        claims = {line.line.name for line in lines if not line.line.settings.certified}
        headline.markdown(insight(view, result, scale, headroom_of(result, baselines, MEASURES[view.measure]), claims))
    n_releases_caption.caption(f"Each point is the mean of {result.rests_on}.", width="content")
    below.table(lines, result, baselines)


with st.sidebar, st.container(horizontal=True, gap="small"):
    copy_link(of_upload=table.uploaded)
    with st.popover("As code"):
        st.caption("The same grid in Python: the same seeds, so the same numbers. Simulated; it costs no ε.")
        st.code(grid_as_code([line.line for line in lines], table, view.releases, view.folds), language="python")
    figures_button = st.container(width="content")

pieces = view.releases * view.folds
if n_ready := min(pieces, n_of_all(lines)):
    draw(n_ready)
    with figures_button:
        figures.offer()
work_key = (table.schema_key, tuple(line.line.key for line in lines), pieces, open_tab)
with time_budget.stoppable(work_key, progress) as place:
    if place is not None:
        budget = time_budget.TimeBudget(work_key, comparison_controls.SECONDS)
        for n in run(lines, min(pieces, 2), place, budget=budget, drawn=n_ready):
            draw(n)
        if not n_ready:
            with figures_button:
                figures.offer()
        for _ in run(baselines, 1, place, FITTING, budget, n_of_all(baselines)):
            draw(min(pieces, n_of_all(lines)))
        below.work(place, budget)
        for n in run(lines, pieces, place, budget=budget, drawn=latest["result"].n):
            draw(n)
