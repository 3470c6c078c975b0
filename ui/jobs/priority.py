"""The order in which threads of the server compute. A page without a figure comes before pages that refine theirs.

Every open page has a thread. Python runs one thread at a time, so threads take turns (`Scheduler`). A waiting thread
checks every `LOOK` seconds whether the user of its page has moved a control (`look_up`). If so, the thread ends, and
Streamlit runs the page again.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

import streamlit as st

from ui import state

LOOK = 0.1  # seconds between two checks whether the user has moved a control
TURN = 0.3  # seconds that interactive work computes before it lets other interactive work compute


def look_up() -> None:
    """End this run of the page if the user has moved a control. Streamlit checks this at each access to its state."""
    _ = state.STOPPED in st.session_state


@contextmanager
def held(lock: threading.Lock) -> Iterator[None]:
    """Hold a lock. If the user moves a control during the wait for the lock, this run of the page ends."""
    while not lock.acquire(timeout=LOOK):
        look_up()
    try:
        yield
    finally:
        lock.release()


class Scheduler:
    """Lets a limited number of threads compute at a time, because more threads would mostly wait for Python's lock.

    Other threads wait in three queues, first in, first out. The first queue holds interactive work, for which a user
    waits to see a first figure. The second holds work that gave its place to interactive work, and the third all other
    work. A free place goes to the first queue that is not empty.

    Parameters
    ----------
    places : int
        Number of threads that may compute at a time.
    """

    def __init__(self, places: int) -> None:
        self._lock = threading.Lock()
        self._free = places  # above 0 only while all queues are empty
        self._interactive: deque[threading.Event] = deque()
        self._begun: deque[threading.Event] = deque()
        self._others: deque[threading.Event] = deque()

    @property
    def is_busy(self) -> bool:
        """Whether every place is taken, so that a further thread must wait."""
        return not self._free

    @property
    def is_crowded(self) -> bool:
        """Whether several threads wait in the first two queues. This happens only if several users wait."""
        return len(self._interactive) + len(self._begun) > 1

    @contextmanager
    def turn(self, *, interactive: bool) -> Iterator[Callable[[], None]]:
        """Hold one of the places. Yields a function `pause`, which the caller must call between two steps of its work.

        `pause` ends the work if the user has moved a control. If interactive work waits, `pause` gives the place away
        and waits until a place is free again. Interactive work keeps its place for at least `TURN` seconds.

        Parameters
        ----------
        interactive : bool
            Whether a user waits for a first figure.
        """
        self._take(self._interactive if interactive else self._others)
        has_place, until = True, time.monotonic() + TURN * interactive

        def pause() -> None:
            nonlocal has_place
            look_up()
            if self._interactive and time.monotonic() >= until:
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
        """Take a free place, or wait in a queue for one."""
        place_is_free = threading.Event()
        with self._lock:
            if self._free:
                self._free -= 1
                return
            waiting.append(place_is_free)
        try:
            while not place_is_free.wait(LOOK):
                look_up()
        except BaseException:
            with self._lock:
                # Another thread may have given its place to this thread meanwhile.
                has_place = place_is_free not in waiting
                if not has_place:
                    waiting.remove(place_is_free)
            if has_place:
                self._give()
            raise

    def _give(self) -> None:
        """Give a place to the thread that waits first, or mark the place as free."""
        with self._lock:
            if waiting := self._interactive or self._begun or self._others:
                waiting.popleft().set()
            else:
                self._free += 1


# There is only one place: compiled kernels use all processors anyway, and all other code needs Python's lock.
SCHEDULER: Final = Scheduler(1)
