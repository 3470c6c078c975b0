"""Keys that move through the steps of the lesson: arrow keys, and in presentation mode the page keys of a clicker."""

from __future__ import annotations

from functools import cache
from typing import Any

import streamlit as st

from ui import state
from ui.learn import progress
from ui.learn.stage import FRONT_END


@cache
def _component() -> Any:
    return st.components.v2.component(
        "lesson_keys", html="<div></div>", js=(FRONT_END / "turn_keys.js").read_text(encoding="utf-8")
    )


def listen(step: int) -> None:
    """Listen for these keys, and open the next or the previous step. `step` is the number of the step on the page."""
    data = {"step": step, "last": len(progress.PLACES) - 1, "presents": bool(state.PRESENT.value)}
    _component()(key=state.LESSON_KEYS, data=data, on_turned_change=_turn)


def _turn() -> None:
    """Open the step whose number the browser has sent, unless there is no such step."""
    number = getattr(st.session_state.get(state.LESSON_KEYS), "turned", None)
    if type(number) is int and 0 <= number < len(progress.PLACES):
        progress.go_to(number)
