"""How long a page goes on working by itself: until somebody stops it, or until its time budget is used up."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import streamlit as st

from ui import state


class TimeBudget:
    """So many seconds of a page's own work; then it pauses until somebody goes on.

    Seconds of its thread (`time.thread_time`): neither waiting for other people counts, nor that a machine is busy,
    nor what a process beside the server does meanwhile.
    """

    def __init__(self, key: object, seconds: float) -> None:
        self._key, self._seconds = key, seconds

    def pause_if_over(self, seconds: float) -> None:
        """Between two pieces, after so many seconds more: the page is drawn again with what there is."""
        before = state.WORKED.value  # a page that is drawn anew in between goes on counting
        worked = seconds + (before[1] if before and before[0] == self._key else 0.0)
        state.WORKED.value = (self._key, worked)
        if worked > self._seconds and state.PATIENT.value != self._key:
            state.STOPPED.value, state.PAUSED.value = self._key, True
            state.WORKED.pop()
            st.rerun()


@contextmanager
def stoppable(key: object, place) -> Iterator[Any]:
    """Place for progress bars next to a stop button; None once somebody, or the time budget, stopped the work."""
    frame = place.empty()
    if state.STOPPED.value == key:
        with frame.container(horizontal=True, vertical_alignment="center", horizontal_alignment="right"):
            paused = state.PAUSED.value
            st.caption(
                "Paused, to spare this machine: not all releases are simulated yet." if paused else "Stopped.",
                width="content",
            )
            st.button("Go on", key="go_on", on_click=_go_on, args=(key,))
        yield None
        return
    with frame.container(horizontal=True, vertical_alignment="center", horizontal_alignment="right"):
        bar = st.container(width=340)
        st.button("Stop", key="stop", on_click=_stop, args=(key,))
    yield bar
    frame.empty()


def _stop(key: object) -> None:
    state.STOPPED.value, state.PAUSED.value = key, False


def _go_on(key: object) -> None:
    """To the end, however long it takes."""
    state.STOPPED.pop()
    state.PATIENT.value = key
