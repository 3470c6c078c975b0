"""Processes beside the server: simulated releases and models without privacy, where there is much to do.

One process runs one thread of Python at a time: two sweeps in two threads take as long as one after the other, and with
many sessions every step of a simulation waits for scripts that draw, and these for it. Here work is handed over whole:
schema, codes of rows and settings go there, figures come back, nothing stays there. `BACKGROUND` starts when Explore is
done with its first curve, or with a long sweep (`sweep.work`), `INTERACTIVE` once several people wait for a curve
(`simulate.one_release`); they stay until the server ends. Until they are ready all is done in the server.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from multiprocessing import get_context, parent_process
from multiprocessing.synchronize import Barrier
from typing import Final, TypeVar

from dpforest.trees.routing import pack
from ui.jobs.priority import LOOK, look_up
from ui.server.streamlit_patches.process import keep_pages_out_of_workers

keep_pages_out_of_workers()
Result = TypeVar("Result")
N_CORES: Final = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


class Workers:
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
        self._in_flight = set[Future]()

    def start(self, first: Callable[[], object] = os.getpid) -> None:
        """Ready some seconds later, when each has done what is first."""
        with self._lock:
            failed = any(one.done() and one.exception() for one in self._started)
            if self._pool is None or failed:
                if self._pool is not None:
                    self._pool.shutdown(wait=False)
                context = get_context("spawn")
                together = context.Barrier(self._n)  # as one might be there early, and do it for all
                begin = (self._niceness, together)
                self._pool = ProcessPoolExecutor(self._n, context, _begin, begin)
                self._started = [self._pool.submit(first) for _ in range(self._n)]

    def start_if_useful(self) -> None:
        """For one person, once what pages need is compiled: where there is a second core."""
        if N_CORES > 1:
            self.start(load)

    @property
    def is_ready(self) -> bool:
        """Whether a call would be worked on at once, or after those before it."""
        started = self._started
        return bool(started) and all(one.done() and not one.exception() for one in started)

    @property
    def has_room(self) -> bool:
        """Whether a call would be the next one at least."""
        return self.is_ready and len(self._in_flight) <= self._n

    def work(self, function: Callable[..., Result], *given) -> Result | None:
        """What a function of a module gives; None where no process is ready, or it has died: then do it here.

        So the function must not give None. It and what it is given are pickled: codes only, never raw rows
        (docs/PRIVACY.md). A moved control ends the wait for it.
        """
        future = self._submit(function, given)
        try:
            return None if future is None else _result_of(future)
        except BrokenProcessPool:
            return None

    def hand_over(self, function: Callable[..., Result], given: tuple, then: Callable[[Result | None], None]) -> bool:
        """As `work`, without waiting: `then` is called with what it gives, whoever has left meanwhile.

        With None if it fails or its process dies. False where no process is ready: then nothing is called.
        """
        future = self._submit(function, given)
        if future is not None:
            future.add_done_callback(lambda done: then(None if done.exception() else done.result()))
        return future is not None

    def _submit(self, function: Callable[..., Result], given: tuple) -> Future[Result] | None:
        pool = self._pool
        if pool is None or not self.is_ready:
            return None
        try:
            future = pool.submit(_worked, function, given)
        except BrokenProcessPool:
            self._bury(pool)
            return None

        def landed(done: Future) -> None:
            self._in_flight.discard(done)
            if not done.cancelled() and isinstance(done.exception(), BrokenProcessPool):
                self._bury(pool)

        self._in_flight.add(future)
        future.add_done_callback(landed)
        return future

    def _bury(self, pool: ProcessPoolExecutor) -> None:
        """Processes that have died: `start` makes others."""
        with self._lock:
            if self._pool is pool:
                self._pool, self._started = None, []


def _result_of(future: Future[Result]) -> Result:
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


def load() -> None:
    """In a new process: compiled code from disk, before anybody waits for it."""
    from ui.jobs.warm_up import steps

    for step in steps().values():
        step()


def _begin(niceness: int, together: Barrier) -> None:
    """In a new process: nothing is left when the server is gone."""
    if hasattr(os, "nice"):
        os.nice(niceness)
    server = parent_process()
    assert server is not None

    def follow() -> None:
        server.join()
        os._exit(0)

    threading.Thread(target=follow, daemon=True).start()
    together.wait()


INTERACTIVE: Final = Workers(2, 1)  # what somebody waits for
BACKGROUND: Final = Workers(1, 10)  # more repeats, sweeps, models without privacy: one, as each takes 300 MB
