"""The frame of the lesson: text, chart and control on the left, the question and what came of it on the right."""

from __future__ import annotations

import streamlit as st

from ui.learn import charts, state
from ui.learn.parts_of_steps import Step
from ui.learn.steps import FOOTER, STEPS
from ui.shared import figures
from ui.shared.controls import LINKED
from ui.shared.link import copy_link
from ui.shared.page import badge, chart, sorry

_STYLE = """<style>
.st-key-lesson_text p {font-size: 1.15rem; line-height: 1.45}
.st-key-lesson_question p {font-size: 1.1rem; line-height: 1.4}
.st-key-lesson_question [data-testid=stRadio] label p {font-size: 1.1rem}
.st-key-lesson_page > [data-testid=stVerticalBlock], .st-key-lesson_page {gap: 0.5rem}
</style>"""


def show() -> None:
    """Draw the step that the link says."""
    st.html(_STYLE)
    state.take_the_link()
    with st.container(key="lesson_page"):
        number = _progress()
        step = STEPS[number]
        for sentence in state.told(step):
            sorry(sentence)
        _heading(step)
        left, right = st.columns([11, 9], gap="large")
        shown = step.key in state.revealed()
        with left:
            _picture(step, shown)
        with right, st.container(key="lesson_question"):
            if shown:
                _answered(step)
            else:
                _asked(step)
            _back_and_next(number)
        st.caption(FOOTER)
    state.into_link(step)
    with st.sidebar, st.container(horizontal=True, gap="small"):
        copy_link()
        figures.offer()


def _progress() -> int:
    """The row of steps; each can be pressed."""
    with st.container(horizontal=True, vertical_alignment="center", horizontal_alignment="distribute", gap="small"):
        chosen = st.segmented_control(
            "Step", state.NUMBERS, default="0", required=True, key=state.STEP, bind=LINKED,
            on_change=state.forget_control, label_visibility="collapsed",
        )  # fmt: skip
        number = int(chosen) if chosen in state.NUMBERS else 0
        st.markdown(f"Step {number} of {len(STEPS) - 1} · {STEPS[number].minutes} min", width="content")
    return number


def _heading(step: Step) -> None:
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        st.markdown(f"#### {step.title}", anchors=False, width="content")
        for kind in step.badges:
            badge(kind)
    with st.container(key="lesson_text"):
        st.markdown(step.text)


def _picture(step: Step, shown: bool) -> None:
    place = st.container()
    at = _control(step, shown)
    fig, alt, below = charts.draw(step.key, at, shown, st.session_state.get("lesson_again", 0))
    chart(fig, alt, place, title=step.title, public="Curator only" not in step.badges, key=f"lesson_{step.key}")
    if below:
        st.markdown(below)


def _control(step: Step, shown: bool) -> str:
    """What can be moved once the answer is shown; a value that this step does not have counts as its start."""
    own = step.control
    if st.session_state.get(state.AT, own.start) not in own.options:
        del st.session_state[state.AT]
    settings = {"key": state.AT, "bind": LINKED, "disabled": not shown}
    if own.few:
        value = st.segmented_control(own.label, list(own.options), default=own.start, required=True, **settings)
    else:
        value = st.select_slider(own.label, list(own.options), own.start, **settings)
    if step.key == "proof" and shown:
        st.button("Draw again", on_click=_draw_again)
    return value if value in own.options else own.start


def _draw_again() -> None:
    st.session_state["lesson_again"] = st.session_state.get("lesson_again", 0) + 1


def _asked(step: Step) -> None:
    st.markdown(f"**Predict first.** {step.question}")
    answer = st.radio(step.question, list(step.lettered), None, key=f"predict_{step.key}", label_visibility="collapsed")
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        st.button("Reveal", type="primary", disabled=answer is None, on_click=state.reveal, args=(step, answer))
        st.button("Show without guessing", type="tertiary", on_click=state.reveal, args=(step, None))


def _answered(step: Step) -> None:
    chosen = state.predicted().get(step.key)
    st.markdown(step.question)
    marks = [
        f"**✓ {name}**" if own.right else f":gray[{'✗' if name == chosen else '◦'} {name}]"
        for name, own in step.lettered.items()
    ]
    st.markdown(
        "  \n".join(f"{mark}{' (your prediction)' * (name == chosen)}" for mark, name in zip(marks, step.lettered))
    )
    if chosen in step.lettered:
        st.markdown(step.lettered[chosen].feedback)
    st.markdown(step.reveal)
    st.markdown(f"**{step.take_away}**")
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        for link in step.links:
            st.page_link(link.page, label=link.label, query_params=dict(link.settings), width="content")
        if step.aside:
            with st.popover(step.aside_title):
                st.markdown(step.aside)
    for link in step.links:
        if link.note:
            st.caption(link.note)


def _back_and_next(number: int) -> None:
    with st.container(horizontal=True, gap="small"):
        if number > 0:
            st.button("← Back", on_click=state.go_to, args=(number - 1,))
        if number < len(STEPS) - 1:
            st.button("Next →", on_click=state.go_to, args=(number + 1,))
