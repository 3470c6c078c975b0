"""Whose turn it is to compute: a few at a time in this process, first what somebody waits for, then what is refined."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

import streamlit as st

from ui import state

LOOK = 0.1  # seconds after which a script that waits looks whether a control was moved meanwhile
TURN = 0.3  # seconds that awaited work may take before it lets other awaited work go first


def look_up() -> None:
    """End this run of the page if a control was moved: Streamlit looks whenever its state is asked for something."""
    _ = state.STOPPED in st.session_state


@contextmanager
def held(lock: threading.Lock) -> Iterator[None]:
    """Hold a lock; waiting for it ends when a control is moved."""
    while not lock.acquire(timeout=LOOK):
        look_up()
    try:
        yield
    finally:
        lock.release()


class Scheduler:
    """Places to compute at. Who waits longest is next: first of those that somebody waits for, then of those that are
    half done, then of all others.

    With more threads at work than there are processors, each mostly waits for Python's lock, and so does the server.
    """

    def __init__(self, places: int) -> None:
        self._lock = threading.Lock()
        self._free = places  # while there is one, nobody waits
        self._awaited: deque[threading.Event] = deque()
        self._begun: deque[threading.Event] = deque()
        self._others: deque[threading.Event] = deque()

    @property
    def is_busy(self) -> bool:
        return not self._free

    @property
    def is_crowded(self) -> bool:
        """Whether several wait for something to look at, which is never so for one person."""
        return len(self._awaited) + len(self._begun) > 1

    @contextmanager
    def turn(self, *, awaited: bool) -> Iterator[Callable[[], None]]:
        """Hold a place. Gives a function to call between two steps: it ends the work if a control was moved, and lets
        what is awaited elsewhere go first."""
        self._take(self._awaited if awaited else self._others)
        has_place, until = True, time.monotonic() + TURN * awaited

        def pause() -> None:
            nonlocal has_place
            look_up()
            if self._awaited and time.monotonic() >= until:
                self._give()
                has_place = False
                self._take(self._begun)
                has_place = True

        try:
            yield pause
        finally:
            if has_place:
                self._give()

    def _take(self, waiting: deque[threading.Event]) -> None:
        mine = threading.Event()
        with self._lock:
            if self._free:
                self._free -= 1
                return
            waiting.append(mine)
        try:
            while not mine.wait(LOOK):
                look_up()
        except BaseException:
            with self._lock:
                came_anyway = mine not in waiting
                if not came_anyway:
                    waiting.remove(mine)
            if came_anyway:
                self._give()
            raise

    def _give(self) -> None:
        with self._lock:
            if waiting := self._awaited or self._begun or self._others:
                waiting.popleft().set()
            else:
                self._free += 1


SCHEDULER: Final = Scheduler(1)  # one turn keeps all processors busy; with more turns all wait for Python's lock
