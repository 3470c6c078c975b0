"""Choose ε: find the smallest ε for a needed accuracy, and see what this ε means for a row or person."""

from dataclasses import replace

import streamlit as st

from dpforest.evaluation.smallest_epsilon import N_FIRST
from dpforest.tables.domain import DomainError
from ui import state
from ui.choose import (
    answer_charts,
    answer_words,
    membership,
    more_data,
    next_steps,
    report,
    risk_parts,
    wish_controls,
)
from ui.choose.answers import Answers
from ui.compare.chart_and_table import about_delta, about_leaks
from ui.forest import recommended
from ui.jobs.baselines import FITTING, baselines_of
from ui.jobs.first_release import first_releases
from ui.jobs.job import n_of_all, run
from ui.jobs.measures import scale_of
from ui.jobs.results import SweepResult, gathered, headroom_of, is_no_better_than_guessing
from ui.jobs.sweep_job import Line, sweep_job
from ui.jobs.warm_up import warm_up
from ui.shared import figures, sidebar
from ui.shared.controls import LINKED
from ui.shared.link import copy_link
from ui.shared.page import open_page, sorry, table_header, titled
from ui.shared.sidebar import Choice

open_page("Choose ε")

table = sidebar.choose_table()
wish = wish_controls.choose()
if table is None:
    st.stop()

table_header(table, wish.neighbors)
st.caption(
    "Choose the accuracy that you need. The page shows the smallest ε that reaches it, and what this ε means."
    + ("" if table.is_public else " ε does not cover what this choice reveals.")
)
if wish.delta:
    about_delta(table, "Forests with δ in their name")
about_leaks(table)

settings_of = {forest.name: forest for forest in wish_controls.forests(table, wish)}
for settings in settings_of.values():
    warm_up(settings)
try:
    lines = {name: sweep_job(table, Line(forest)) for name, forest in settings_of.items()}
    jobs = list(lines.values())
    first_result = first_releases(table, jobs, wish_controls.FEW, st.container())
    baselines = baselines_of(table)
except (DomainError, ValueError) as problem:
    sorry(problem)
    st.stop()

n_ready = min(N_FIRST, n_of_all(jobs))
best = first_result.cells[wish.column, "mean"].groupby("forest").max().max()
scale = scale_of(wish.measure, [baselines], first_result)
if best != best or scale.floor is None:  # NaN is the only value that differs from itself
    sorry(f"The measure “{wish.measure}” has no value here, because all held-out rows have one class. Choose another.")
    st.stop()
floor = scale.floor
with st.container(key="asked"):
    # These columns come before the charts, so that a keyboard user reaches the control of ε early.
    need_place, epsilon_place, forest_place = st.columns([3, 6, 3], gap="medium")
with need_place:
    needed = wish_controls.needed_value(wish.measure, floor, best)
with st.container(key="answer_words"):
    headline = st.empty()
with st.container(key="answer_chart"):
    curve_column, dots_column = st.columns([7, 5], gap="medium")
    curve, dots = curve_column.empty(), dots_column.empty()
answers = Answers(lines, first_result, needed, wish, baselines.labels)
sorted_answers = answers.sorted()

# If guessing reaches the value, no ε is needed, so the smallest ε of the grid is not an answer.
smallest = {a.forest: None if needed <= floor else a.epsilon for a in sorted_answers}
name, epsilon = wish_controls.look_at(
    list(settings_of), sorted_answers[0].forest, smallest, epsilon_place, forest_place
)
chosen_settings = replace(settings_of[name], epsilon=epsilon)
certificate, ledger = report.promise(table, chosen_settings)
with st.container(horizontal=True, vertical_alignment="center", horizontal_alignment="distribute", key="below_answers"):
    chart_caption = st.empty()
    # The caption is filled before `draw`: an empty caption has no width, so the progress bar would move at `draw`.
    chart_caption.caption(answer_words.below_charts(answers, name, scale), width="content")
    progress = st.container(width=420)
n_drawn = 0


def draw(result: SweepResult) -> None:
    """Draw the answer, both charts and their caption from simulated releases."""
    global answers, scale, n_drawn
    n_drawn += 1
    answers, scale = Answers(lines, result, needed, wish, baselines.labels), scale_of(wish.measure, [baselines], result)
    if no_need := answer_words.no_need(needed, scale, headroom_of(result, [baselines], wish.column)):
        headline.info(no_need, icon=":material/info:")
        dots.empty()
    else:
        headline.markdown(answer_words.headline(answers, scale))
        answer_charts.dots(answers, name, epsilon, scale, dots, f"dots_{n_drawn}")
    answer_charts.curve(answers, name, epsilon, scale, curve, f"curve_{n_drawn}")
    chart_caption.caption(answer_words.below_charts(answers, name, scale), width="content")


choice, answer = Choice(table, chosen_settings), sorted_answers[0].forest
is_useless = is_no_better_than_guessing(first_result, baselines, name, epsilon)
is_dialog_open = next_steps.offer(choice, certificate, ledger, answer, smallest[answer], is_useless)
if chosen_settings.certified:
    recommended.line(table, chosen_settings, next_steps.show_recommended, "Look at it")
draw(first_result)
if not wish.certified:
    report.about_claims(certificate)
report_button: report.ReportButton | None = None
tab_names = ["What it means", "More data", "Attack it", "Report"]
tabs = dict(zip(tab_names, st.tabs(tab_names, key=state.CHOOSE_TAB, bind=LINKED), strict=True))
open_tab = next((title for title, tab in tabs.items() if tab.open), tab_names[0])
with tabs[open_tab]:
    if open_tab == "What it means":
        promised = report.guarantee(certificate, ledger, bool(table.domain.leaks()))
        risk_parts.show(promised, wish.prior, rows=wish.rows_per_person)
    elif open_tab == "More data":
        if wish.measure != "accuracy":
            st.markdown("This tab works with accuracy only. Choose accuracy in the sidebar to use it.")
        elif needed <= floor:
            st.markdown(
                f"{answer_words.guessing(scale)} with no rows at all, so no number of rows is needed for "
                f"{scale.text(needed)}. Ask for more above."
            )
        else:
            more_data.show(table, chosen_settings, needed, floor)
    elif open_tab == "Attack it":
        membership.show(table, chosen_settings, certificate, ledger)
    else:
        titled("For a privacy board", "Do not share")
        report_button = report.ReportButton(
            table,
            lambda reported_table, column: report.report(
                reported_table, chosen_settings, certificate, answers, scale, baselines, column
            ),
        )
        report_button.draw(is_early=not answers.sorted()[0].is_sure)

with st.sidebar, st.container(horizontal=True, gap="small"):
    copy_link(of_upload=table.uploaded)
    figures.offer()


def follow_answer() -> None:
    """Rerun the page if further releases have changed the forest or the ε of the answer that the page shows."""
    latest_answers = answers.sorted()
    latest_epsilons = {a.forest: None if needed <= floor else a.epsilon for a in latest_answers}
    other_forest = name == answer != latest_answers[0].forest
    other_epsilon = epsilon == (smallest[name] or 1.0) and latest_epsilons[name] != smallest[name]
    if other_forest or other_epsilon:
        st.rerun()


# Nothing is simulated while the release dialog is open: the buttons of the dialog would wait for the end of this run.
if not is_dialog_open:
    for _n in run(jobs, N_FIRST, progress, drawn=n_ready):
        draw(gathered(jobs))
        follow_answer()
    for _n in run([baselines], 1, progress, FITTING, drawn=n_of_all([baselines])):
        draw(gathered(jobs))
    if needed > floor:
        for _ in answers.check([name], progress):
            draw(gathered(jobs))
            follow_answer()
    if report_button is not None:
        report_button.draw(is_early=not answers.sorted()[0].is_sure)
