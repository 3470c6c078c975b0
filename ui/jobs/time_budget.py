"""The stop button of a page, and the limit of computing time after which a page pauses."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import streamlit as st

from ui import state


class TimeBudget:
    """Limit of the computing time of a page's jobs. At the limit, the page pauses until the user presses "Go on".

    The budget counts the computing time of all pieces (`Job.seconds`), in any thread or process. It does not count the
    time that a page waits for other users or for a busy machine.

    Parameters
    ----------
    key : object
        Identifies the work that this budget is for. Other work has a separate budget.
    seconds : float
        Computing time until the pause, summed over all processors.
    """

    def __init__(self, key: object, seconds: float) -> None:
        self._key, self._seconds = key, seconds

    def pause_if_over(self, seconds: float) -> None:
        """Add `seconds` to the computing time. If the budget is used up, pause the work and run the page again.

        The page then shows the finished pieces. Call this method between two pieces.
        """
        before = state.WORKED.value  # the session keeps the time, because several runs of the page share one budget
        worked = seconds + (before[1] if before and before[0] == self._key else 0.0)
        state.WORKED.value = (self._key, worked)
        if worked > self._seconds and state.UNLIMITED_WORK.value != self._key:
            state.STOPPED.value, state.PAUSED.value = self._key, True
            state.WORKED.pop()
            st.rerun()


@contextmanager
def stoppable(key: object, place: Any) -> Iterator[Any]:
    """Draw a stop button, and yield a container next to it for progress bars; None if the work is stopped or paused.

    Parameters
    ----------
    key : object
        Identifies the work that the button stops.
    place : container of Streamlit
        Where the button is drawn.
    """
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
    """Start the work again without a time budget, so that it continues to its end."""
    state.STOPPED.pop()
    state.UNLIMITED_WORK.value = key
