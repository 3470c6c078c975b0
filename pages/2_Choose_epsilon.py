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

settings = {forest.name: forest for forest in wish_controls.forests(table, wish)}
for forest in settings.values():
    warm_up(forest)
try:
    lines = [sweep_job(table, Line(forest)) for forest in settings.values()]
    done = first_releases(table, lines, wish_controls.FEW, st.container())
    level = baselines.level(table)
except (DomainError, ValueError) as problem:
    sorry(problem)
    st.stop()

ready = min(wish.releases, n_of_all(lines))
best = done.cells["accuracy", "mean"].groupby("forest").max().max()
guessing = level.floor["accuracy"]
with st.container(key="asked"):
    # The control of ε comes early in the tab order, for keyboard users.
    need, at, which = st.columns([3, 6, 3], gap="medium")
with need:
    needed = wish_controls.needed_accuracy(guessing, best)
headline, picture = st.empty(), st.empty()
with st.container(horizontal=True, vertical_alignment="center", horizontal_alignment="distribute", key="below_curve"):
    behind = st.empty()
    progress = st.container(width=420)

answers = answer.answered(done, needed, wish)
# If guessing reaches the accuracy, no ε is needed, so the smallest ε of the grid is not an answer.
smallest = {a.forest: None if needed <= guessing else a.epsilon for a in answers}
name, epsilon = wish_controls.look_at(list(settings), answers[0].forest, smallest, at, which)
chosen = answer.at(settings[name], epsilon)
certificate, ledger = answer.promise(table, chosen)


def draw(now: SweepResult) -> None:
    """Draw the answer from these simulated releases."""
    global done, answers, drawn
    done, n, drawn = now, now.n, drawn + 1
    answers = answer.answered(done, needed, wish)
    at_stake = headroom_of(done, [level], "accuracy")
    if nothing := answer.no_need(needed, guessing, at_stake):
        headline.info(nothing, icon=":material/info:")
        picture.empty()
        behind.caption(f"{done.rests_on[0].upper()}{done.rests_on[1:]} of every forest.", width="content")
        return
    headline.markdown(answer.headline(answers, needed, wish, n))
    answer.answers_chart(answers, name, epsilon, wish, picture, f"answers_{drawn}")
    behind.caption(answer.how_read(answers, done, wish), width="content")


drawn = 0
draw(done)
if not wish.certified:
    answer.about_claims(certificate)
to_explore.offer(chosen, answers[0].forest, smallest[answers[0].forest])
rooms = ["What it means", "More data", "Attack it", "Report"]
tabs = dict(zip(rooms, st.tabs(rooms, key=state.CHOOSE_TAB, bind=LINKED), strict=True))
opened = next((room for room, tab in tabs.items() if tab.open), rooms[0])
with tabs[opened]:
    if opened == "What it means":
        promised = answer.guarantee(certificate, ledger, bool(table.domain.leaks()))
        risk_parts.show(promised, wish.prior, rows=wish.rows_per_person)
    elif opened == "More data":
        if needed <= guessing:
            st.markdown(
                f"Always naming the most frequent class gets {percent(guessing)} with no rows at all, so no number of "
                f"rows is needed for {percent(needed)}. Ask for more above."
            )
        else:
            more_data.show(table, chosen, needed, guessing)
    elif opened == "Attack it":
        membership.show(table, chosen, certificate, ledger)
    else:
        titled("For a privacy board", "Curator only")
        answer.offer_report(
            table,
            lambda shown, column: answer.report(shown, chosen, certificate, answers, needed, wish, done, level, column),
            done.n < wish.releases or not level.done,
        )

with st.sidebar, st.container(horizontal=True, gap="small"):
    copy_link(of_upload=table.uploaded)
    figures.offer()


def follow_answer() -> None:
    """Rerun the page if the forest or the ε of the answer has changed since the page was drawn."""
    now = {a.forest: None if needed <= guessing else a.epsilon for a in answers}
    best, least = was
    other_forest = name == best != answers[0].forest
    other_epsilon = epsilon == (least or 1.0) and now[name] != least
    if other_forest or other_epsilon:
        st.rerun()


was = (answers[0].forest, smallest[name])
work = (table.schema_key, wish)
with time_budget.stoppable(work, progress) as place:
    if place is not None:
        worked = time_budget.TimeBudget(work, wish_controls.SECONDS)
        list(run([level], 1, place, baselines.FITTING, worked))
        for _ in run(lines, wish.releases, place, budget=worked, drawn=ready):
            draw(gathered(lines))
            follow_answer()
