"""The page of the lesson. Chart and control are on the left, and the question and its answer are on the right."""

from __future__ import annotations

from collections.abc import Callable

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from ui import state
from ui.learn import class_mode, ending, lesson_charts, picture, progress, show_of_hands, story, turn_keys
from ui.learn.step import Step
from ui.learn.steps import FOOTER, STEPS
from ui.server.streamlit_patches import styles
from ui.shared import figures
from ui.shared.controls import LINKED, drop_unknown
from ui.shared.link import copy_link
from ui.shared.page import badge, chart, sorry, titled
from ui.shared.wording import unbroken


def show() -> None:
    """Draw the step that the address of the page names, or the ending."""
    st.html(styles.LESSON)
    if state.PRESENT.value:
        st.html(styles.LESSON_PRESENTED)
    class_mode.resume()
    progress.take_the_link()
    with st.container(key="lesson_page"):
        step = _top()
        if step is None:
            ending.show()
        else:
            _draw_step(step)
    turn_keys.listen(len(STEPS) if step is None else STEPS.index(step))
    with st.sidebar, st.container(horizontal=True, gap="small"):
        copy_link()
        figures.offer()


def _draw_step(step: Step) -> None:
    """Draw a step: its story, its picture, and its question or the answer."""
    for sentence in progress.notes(step):
        sorry(sentence)
    is_shown = step.key in progress.revealed()
    _tell(step, is_shown)
    class_mode.lead(step, is_shown)
    left, right = st.columns([11, 9], gap="medium")
    with left:
        picture.draw(step, is_shown)
    with right, st.container(key="lesson_question"):
        if is_shown:
            _draw_answer(step)
        else:
            _draw_question(step)
    st.caption(_unbroken(story.FORESTS[step.key]))
    if not state.PRESENT.value:
        st.caption(_unbroken(FOOTER))
    progress.into_link(step)


def _top() -> Step | None:
    """Draw the title, its badges and the buttons of all steps. Return the chosen step, or None at the ending."""
    with st.container(horizontal=True, vertical_alignment="center", gap="small", horizontal_alignment="distribute"):
        title = _row()
        with _row():
            place = st.container(width="content")
            drop_unknown(progress.STEP, progress.PLACES)
            chosen = st.segmented_control(
                "Step",
                progress.PLACES,
                default=progress.NUMBERS[0],
                required=True,
                key=progress.STEP,
                bind=LINKED,
                on_change=progress.start_control,
                label_visibility="collapsed",
                width="content",
            )
    if chosen == progress.END:
        with title:
            st.markdown(f"#### {story.ENDING}", anchors=False, width="content")
        return None
    number = int(chosen) if chosen in progress.NUMBERS else 0
    step = STEPS[number]
    if not state.PRESENT.value:
        place.markdown(f"Step {number} of {len(STEPS) - 1} · {step.minutes} min", width="content")
    with title:
        st.markdown(f"#### {step.title}", anchors=False, width="content")
        for kind in step.badges:
            badge(kind)
    return step


def _row() -> DeltaGenerator:
    """Return a container that puts its elements side by side, each as wide as its content."""
    return st.container(horizontal=True, vertical_alignment="center", gap="small", width="content")


def _tell(step: Step, is_shown: bool) -> None:
    """Draw the line of the story and the text of a step.

    In presentation mode, the text is left out once the answer is shown.
    """
    with st.container(key="lesson_text"):
        st.markdown(_unbroken(f":gray[**{story.TITLE}.** {story.LINES[step.key]}]"))
        if not (is_shown and state.PRESENT.value):
            st.markdown(_unbroken(step.text))


def _draw_question(step: Step) -> None:
    st.markdown(_unbroken(f"**Predict first.** {step.question}"))
    drop_unknown(key := state.PREDICTION(step.key), [None, *step.lettered])
    answer = st.radio(step.question, list(step.lettered), None, key=key, label_visibility="collapsed")
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        st.button("Reveal", type="primary", disabled=answer is None, on_click=progress.reveal, args=(step, answer))
        st.button("Show without guessing", type="tertiary", on_click=progress.reveal, args=(step, None))
    _back_and_next(step, class_mode.offer)


def _draw_answer(step: Step) -> None:
    st.markdown(_unbroken(step.question))
    chosen = progress.predicted().get(step.key)
    right = next(name for name, answer in step.lettered.items() if answer.right)
    if chosen is None:
        st.markdown(_unbroken(f"**✓ {right}**"))
    elif chosen == right:
        st.markdown(_unbroken(f"**✓ {right}** (your prediction). {step.lettered[right].feedback}"))
    else:
        st.markdown(_unbroken(f":gray[✗ {chosen} (your prediction).] {step.lettered[chosen].feedback}"))
        st.markdown(_unbroken(f"**✓ {right}**"))
    show_of_hands.show(step)
    class_mode.draw_votes(step)
    st.markdown(_unbroken(step.reveal))
    st.markdown(_unbroken(f"**{step.take_away}**"))
    if not state.PRESENT.value:
        _draw_links(step)
    _back_and_next(step, _draw_notes)


def _draw_links(step: Step) -> None:
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        for link in step.links:
            st.page_link(
                link.page,
                label=link.label,
                query_params=dict(link.settings),
                width="content",
                icon=":material/arrow_forward:",
            )
    for link in step.links:
        if link.note:
            st.caption(_unbroken(link.note))


def _draw_notes(step: Step) -> None:
    """Draw a button that opens the notes of the step and the feedback on each answer.

    In presentation mode, the notes begin with the text of the step and its links, for which the page has no room.
    """
    with st.popover("More"):
        if state.PRESENT.value:
            st.markdown(_unbroken(step.text))
            _draw_links(step)
            st.caption(_unbroken(FOOTER))
        if step.aside:
            st.markdown(f"**{step.aside_title}**\n\n{step.aside}")
        if step is STEPS[-1]:
            _who_pays()
        st.markdown("**Feedback on each answer**")
        for name, answer in step.lettered.items():
            st.markdown(f"{'✓' if answer.right else '✗'} {name}: {answer.feedback}")


def _who_pays() -> None:
    title = "Who pays for the noise?"
    titled(title, "Simulated", "Do not share")
    fig, alt, words = lesson_charts.who_pays()
    st.markdown(_unbroken(words))
    chart(fig, alt, title=title, key="lesson_who_pays")


def _back_and_next(step: Step, after: Callable[[Step], None]) -> None:
    number = STEPS.index(step)
    with st.container(horizontal=True, gap="small"):
        if number > 0:
            st.button("← Back", on_click=progress.go_to, args=(number - 1,))
        st.button(
            "Next →",
            type="primary" if step.key in progress.revealed() else "secondary",
            on_click=progress.go_to,
            args=(number + 1,),
        )
        after(step)


def _unbroken(text: str) -> str:
    """Return text in which a number stays on one line with its percent sign, and δ and ε with their values."""
    return unbroken(text).replace("ε = ", "ε\u00a0=\u00a0")
