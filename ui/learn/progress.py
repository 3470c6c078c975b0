"""The state of the lesson. The link holds the step, the control, and whether the answer is shown.

A prediction is the answer that the user chooses before the right answer is shown. Predictions are not in the link, and
they are lost when the tab is closed.
"""

from __future__ import annotations

from typing import Any, Final

import streamlit as st

from ui import state
from ui.learn.step import Step
from ui.learn.steps import STEPS

NUMBERS: Final = [str(i) for i in range(len(STEPS))]
END: Final = "end"  # the ending, as a value of STEP
PLACES: Final = [*NUMBERS, END]
TITLE: Final = "Lesson"
STEP, AT = state.STEP, state.AT  # parameters of the link: the step, and the value of its control
SHOWN: Final = "shown"  # parameter of the link, besides STEP and AT


def take_the_link() -> None:
    """Apply the link when the user opens the page. Call this function before any control is drawn."""
    if state.PAGE_DRAWN.value == TITLE:
        return
    sentences, linked_step = [], st.query_params.get(STEP, NUMBERS[0])
    step = STEPS[int(linked_step) if linked_step in NUMBERS else 0]
    if linked_step == END:
        _memory()["messages"] = ("", [])
        return
    if linked_step not in NUMBERS:
        sentences.append(f"The link asks for step {linked_step}. There are steps 0 to {NUMBERS[-1]}; this is step 0.")
    elif (setting := st.query_params.get(AT, step.control.start)) not in step.control.options:
        sentences.append(
            f"The link asks for “{setting}”, which this control does not have. It stands at {step.control.start}."
        )
    if st.query_params.get(SHOWN) == "1" and linked_step in NUMBERS:
        revealed().add(step.key)
    _memory()["messages"] = (step.key, sentences)


def notes(step: Step) -> list[str]:
    """Return messages about the link while the page shows the step that the link names."""
    key, sentences = _memory().get("messages", ("", []))
    return sentences if key == step.key else []


def revealed() -> set[str]:
    """Return the keys of the steps whose answer is shown."""
    return _memory().setdefault("revealed", set())


def predicted() -> dict[str, str]:
    """Return the user's predictions, by key of the step."""
    return _memory().setdefault("predicted", {})


def hands() -> dict[str, list[int]]:
    """Return the number of raised hands for each answer, by key of the step."""
    return _memory().setdefault("hands", {})


def go_to(number: int) -> None:
    """Open another step, or the ending after the last step."""
    STEP.value = PLACES[number]
    start_control()


def start_control() -> None:
    """Move the control to the start value of the present step."""
    if (number := STEP.value) in NUMBERS:
        AT.value = STEPS[int(number)].control.start


def reveal(step: Step, answer: str | None) -> None:
    """Show the right answer, and store the user's prediction (`answer`) if there is one."""
    revealed().add(step.key)
    if answer is not None:
        predicted()[step.key] = answer


def into_link(step: Step) -> None:
    """Write into the link whether the answer is shown. Controls write all other parts of the link."""
    if step.key in revealed():
        if st.query_params.get(SHOWN) != "1":
            st.query_params[SHOWN] = "1"
    else:
        st.query_params.pop(SHOWN, None)


def _memory() -> dict[str, Any]:
    return state.LESSON.value
