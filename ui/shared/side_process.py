"""Processes beside the server: simulated releases of Explore, and models without privacy, while many are at work.

One process runs one thread of Python at a time. With many sessions every step of a simulation waits for scripts that
draw, and these for it. Here work is handed over whole: schema, codes of rows and settings go there, figures come back,
nothing stays there. They start once several people wait for a curve of Explore (`simulate.one_release`) and stay until
the server ends; until they are ready all is done as before. Sweeps (`sweep.py`) stay in the server.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from multiprocessing import get_context, parent_process
from types import ModuleType
from typing import Final, TypeVar

from dpforest.trees.routing import pack
from ui.shared.scheduler import LOOK, look_up

Result = TypeVar("Result")


class SideProcesses:
    """Processes that are started once, and again when one has died.

    Parameters
    ----------
    n : int
        How many: so many long pieces of work it takes to keep short ones waiting.
    niceness : int
        How far it stands back behind the server, which answers first.
    """

    def __init__(self, n: int, niceness: int) -> None:
        self._n, self._niceness, self._lock = n, niceness, threading.Lock()
        self._pool: ProcessPoolExecutor | None = None
        self._started: list[Future] = []

    def start(self) -> None:
        """Ready some seconds later."""
        with self._lock:
            failed = any(one.done() and one.exception() for one in self._started)
            if self._pool is None or failed:
                with _no_script():
                    self._pool = ProcessPoolExecutor(self._n, get_context("spawn"), _begin, (self._niceness,))
                    self._started = [self._pool.submit(os.getpid) for _ in range(self._n)]

    @property
    def is_ready(self) -> bool:
        """Whether a call would be worked on at once, or after those before it."""
        started = self._started
        return bool(started) and all(one.done() and not one.exception() for one in started)

    def work(self, function: Callable[..., Result], *given) -> Result | None:
        """What a function of a module gives; None where no process is ready, or it has died: then do it here.

        So the function must not give None. It and what it is given are pickled: codes only, never raw rows
        (docs/PRIVACY.md). A moved control ends the wait for it.
        """
        pool = self._pool
        if pool is None or not self.is_ready:
            return None
        try:
            return _awaited(pool.submit(_worked, function, given))
        except BrokenProcessPool:
            with self._lock:
                if self._pool is pool:
                    self._pool, self._started = None, []
            return None


def _awaited(future: Future[Result]) -> Result:
    try:
        while True:
            try:
                return future.result(LOOK)
            except TimeoutError:
                look_up()
    finally:
        future.cancel()  # if it has not begun


def _worked(function: Callable[..., Result], given: tuple) -> Result:
    """In another process: the answer, and nothing is kept of it."""
    try:
        return function(*given)
    finally:
        pack.cache_clear()  # which keeps the last trees


@contextmanager
def _no_script() -> Iterator[None]:
    """Processes that start in here do not run the page that runs now, which Streamlit puts where `__main__` is."""
    script = sys.modules["__main__"]
    sys.modules["__main__"] = ModuleType("__main__")
    try:
        yield
    finally:
        sys.modules["__main__"] = script


def _begin(niceness: int) -> None:
    """In a new process: nothing is left when the server is gone."""
    if hasattr(os, "nice"):
        os.nice(niceness)
    server = parent_process()
    assert server is not None

    def follow() -> None:
        server.join()
        os._exit(0)

    threading.Thread(target=follow, daemon=True).start()


AWAITED: Final = SideProcesses(2, 1)  # what somebody waits for
REFINED: Final = SideProcesses(1, 19)  # what nobody waits for: more repeats, models without privacy
