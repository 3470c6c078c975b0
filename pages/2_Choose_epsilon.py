"""Choose ε: find the smallest ε for a needed accuracy, and see what this ε means for a row or person."""

import streamlit as st

from dpforest.plotting.style import percent
from dpforest.tables.domain import DomainError
from ui import state
from ui.choose import answer, membership, more_data, risk_parts, to_explore, wish_controls
from ui.compare.chart_and_table import about_delta, about_leaks
from ui.jobs import baselines, time_budget
from ui.jobs.first_release import first_releases
from ui.jobs.job import n_of_all, run
from ui.jobs.results import SweepResult, gathered, headroom_of
from ui.jobs.sweep_job import Line, sweep_job
from ui.jobs.warm_up import warm_up
from ui.shared import figures, sidebar
from ui.shared.controls import LINKED
from ui.shared.link import copy_link
from ui.shared.page import open_page, sorry, table_header, titled

open_page("Choose ε")

table = sidebar.choose_table()
wish = wish_controls.choose()
if table is None:
    st.stop()

table_header(table, wish.neighbors)
st.caption(
    "Say how much accuracy you need, read off the smallest ε that gives it, and decide whether what it means is fine."
)
if wish.delta:
    about_delta(table, "Forests with δ in their name")
about_leaks(table)

settings_of = {forest.name: forest for forest in wish_controls.forests(table, wish)}
for settings in settings_of.values():
    warm_up(settings)
try:
    lines = [sweep_job(table, Line(forest)) for forest in settings_of.values()]
    result = first_releases(table, lines, wish_controls.FEW, st.container())
    level = baselines.level(table)
except (DomainError, ValueError) as problem:
    sorry(problem)
    st.stop()

n_ready = min(wish.releases, n_of_all(lines))
best = result.cells["accuracy", "mean"].groupby("forest").max().max()
guessing_accuracy = level.floor["accuracy"]
with st.container(key="asked"):
    # The control of ε comes early in the tab order, for keyboard users.
    need, at, which = st.columns([3, 6, 3], gap="medium")
with need:
    needed = wish_controls.needed_accuracy(guessing_accuracy, best)
with st.container(key="answer_words"):
    headline = st.empty()
with st.container(key="answer_chart"):
    chart = st.empty()
answers = answer.answered(result, needed, wish)
with st.container(horizontal=True, vertical_alignment="center", horizontal_alignment="distribute", key="below_answers"):
    chart_caption = st.empty()
    # Filled at once: an empty place would let the progress bar jump to the left until `draw` fills it.
    chart_caption.caption(answer.how_read(answers, result, wish), width="content")
    progress = st.container(width=420)

# If guessing reaches the accuracy, no ε is needed, so the smallest ε of the grid is not an answer.
smallest = {a.forest: None if needed <= guessing_accuracy else a.epsilon for a in answers}
name, epsilon = wish_controls.look_at(list(settings_of), answers[0].forest, smallest, at, which)
chosen_settings = answer.at(settings_of[name], epsilon)
certificate, ledger = answer.promise(table, chosen_settings)


def draw(new_result: SweepResult) -> None:
    """Draw the answer from these simulated releases."""
    global result, answers, n_drawn
    result, n, n_drawn = new_result, new_result.n, n_drawn + 1
    answers = answer.answered(result, needed, wish)
    at_stake = headroom_of(result, [level], "accuracy")
    if no_need := answer.no_need(needed, guessing_accuracy, at_stake):
        headline.info(no_need, icon=":material/info:")
        chart.empty()
        chart_caption.caption(f"{result.rests_on[0].upper()}{result.rests_on[1:]} of every forest.", width="content")
        return
    headline.markdown(answer.headline(answers, needed, wish, n))
    answer.answers_chart(answers, name, epsilon, wish, chart, f"answers_{n_drawn}")
    chart_caption.caption(answer.how_read(answers, result, wish), width="content")


n_drawn = 0
draw(result)
if not wish.certified:
    answer.about_claims(certificate)
to_explore.offer(chosen_settings, answers[0].forest, smallest[answers[0].forest])
tab_names = ["What it means", "More data", "Attack it", "Report"]
tabs = dict(zip(tab_names, st.tabs(tab_names, key=state.CHOOSE_TAB, bind=LINKED), strict=True))
open_tab = next((title for title, tab in tabs.items() if tab.open), tab_names[0])
with tabs[open_tab]:
    if open_tab == "What it means":
        promised = answer.guarantee(certificate, ledger, bool(table.domain.leaks()))
        risk_parts.show(promised, wish.prior, rows=wish.rows_per_person)
    elif open_tab == "More data":
        if needed <= guessing_accuracy:
            st.markdown(
                f"Always naming the most frequent class gets {percent(guessing_accuracy)} with no rows at all, so no "
                f"number of rows is needed for {percent(needed)}. Ask for more above."
            )
        else:
            more_data.show(table, chosen_settings, needed, guessing_accuracy)
    elif open_tab == "Attack it":
        membership.show(table, chosen_settings, certificate, ledger)
    else:
        titled("For a privacy board", "Curator only")
        answer.offer_report(
            table,
            lambda shown, column: answer.report(
                shown, chosen_settings, certificate, answers, needed, wish, result, level, column
            ),
            result.n < wish.releases or not level.done,
        )

with st.sidebar, st.container(horizontal=True, gap="small"):
    copy_link(of_upload=table.uploaded)
    figures.offer()


def follow_answer() -> None:
    """Rerun the page if the forest or the ε of the answer has changed since the page was drawn."""
    new_smallest = {a.forest: None if needed <= guessing_accuracy else a.epsilon for a in answers}
    best, least = was
    other_forest = name == best != answers[0].forest
    other_epsilon = epsilon == (least or 1.0) and new_smallest[name] != least
    if other_forest or other_epsilon:
        st.rerun()


was = (answers[0].forest, smallest[name])
work_key = (table.schema_key, wish)
with time_budget.stoppable(work_key, progress) as place:
    if place is not None:
        budget = time_budget.TimeBudget(work_key, wish_controls.SECONDS)
        list(run([level], 1, place, baselines.FITTING, budget))
        for _ in run(lines, wish.releases, place, budget=budget, drawn=n_ready):
            draw(gathered(lines))
            follow_answer()
