"""Worker processes next to the server. They simulate releases and fit models without privacy.

A Python process runs one thread at a time. So two simulations in two threads take as long as one after the other, and
they slow down the drawing of pages. A worker process gets the schema, the codes of the rows and the settings of a
forest, and computes a whole piece of a job. It returns the results, and keeps no data.

`BACKGROUND` starts after the first curve on Explore, or when a page needs many pieces. `INTERACTIVE` starts when
several users wait for a first figure. The processes run until the server ends. Before they are ready, the server
computes everything itself.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from multiprocessing import get_context, parent_process
from multiprocessing.synchronize import Barrier
from typing import Any, Final, TypeVar

from dpforest.trees.routing import pack
from ui.jobs.priority import LOOK, look_up
from ui.server.streamlit_patches.process import keep_pages_out_of_workers

keep_pages_out_of_workers()
Result = TypeVar("Result")
N_CORES: Final = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


class Workers:
    """A pool of processes. If a process dies, `start` makes a new pool.

    Parameters
    ----------
    n : int
        Number of processes.
    niceness : int
        Number that is added to the niceness of each process (`os.nice`). Above 0, the server gets the processor first.
    """

    def __init__(self, n: int, niceness: int) -> None:
        self._n, self._niceness, self._lock = n, niceness, threading.Lock()
        self._pool: ProcessPoolExecutor | None = None
        self._started: list[Future] = []
        self._in_flight = set[Future]()

    def start(self, first: Callable[[], object] = os.getpid) -> None:
        """Start the processes unless they run. They are ready some seconds later, when each has called `first`."""
        with self._lock:
            failed = any(call.done() and call.exception() for call in self._started)
            if self._pool is None or failed:
                if self._pool is not None:
                    self._pool.shutdown(wait=False)
                context = get_context("spawn")
                # At this barrier, each process waits for all others before it takes a call. Without it, a process that
                # starts early could take the calls of `first` that are meant for the others.
                all_ready = context.Barrier(self._n)
                worker_arguments = (self._niceness, all_ready)
                self._pool = ProcessPoolExecutor(self._n, context, _set_up_worker, worker_arguments)
                self._started = [self._pool.submit(first) for _ in range(self._n)]

    def start_if_useful(self) -> None:
        """Start the processes if the machine has a second core. Call this method after the kernels are compiled."""
        if N_CORES > 1:
            self.start(load)

    @property
    def is_ready(self) -> bool:
        """Whether all processes have started and can take calls."""
        started = self._started
        return bool(started) and all(call.done() and not call.exception() for call in started)

    @property
    def has_room(self) -> bool:
        """Whether a new call would start at once, or would be the first one to wait for a process."""
        return self.is_ready and len(self._in_flight) <= self._n

    def work(self, function: Callable[..., Result], *arguments: Any) -> Result | None:
        """Call a function in a process, and wait for the result.

        The result is None if no process is ready, or if the process has died. Then the caller must call the function
        itself. If the user moves a control, the wait ends together with this run of the page.

        Parameters
        ----------
        function : callable
            A module-level function that never returns None.
        *arguments
            Arguments of the function. They are pickled, so they hold codes of rows, never raw rows (docs/PRIVACY.md).
        """
        future = self._submit(function, arguments)
        try:
            return None if future is None else _result_of(future)
        except BrokenProcessPool:
            return None

    def hand_over(
        self, function: Callable[..., Result], arguments: tuple, then: Callable[[Result | None], None]
    ) -> bool:
        """Call a function in a process without waiting for the result. Return False if no process is ready.

        Parameters
        ----------
        then : callable
            Called with the result, in another thread, even if the session has ended. The result is None if the function
            failed or its process died.
        """
        future = self._submit(function, arguments)
        if future is not None:
            future.add_done_callback(lambda done: then(None if done.exception() else done.result()))
        return future is not None

    def _submit(self, function: Callable[..., Result], arguments: tuple) -> Future[Result] | None:
        pool = self._pool
        if pool is None or not self.is_ready:
            return None
        try:
            future = pool.submit(_call_then_clear, function, arguments)
        except BrokenProcessPool:
            self._discard(pool)
            return None

        def remove_finished(done: Future) -> None:
            self._in_flight.discard(done)
            if not done.cancelled() and isinstance(done.exception(), BrokenProcessPool):
                self._discard(pool)

        self._in_flight.add(future)
        future.add_done_callback(remove_finished)
        return future

    def _discard(self, pool: ProcessPoolExecutor) -> None:
        """Forget a pool whose processes have died, so that `start` makes a new pool."""
        with self._lock:
            if self._pool is pool:
                self._pool, self._started = None, []


def _result_of(future: Future[Result]) -> Result:
    """Wait for a result. If the user moves a control, end the wait with this run of the page, and cancel the call."""
    try:
        while True:
            try:
                return future.result(LOOK)
            except TimeoutError:
                look_up()
    finally:
        future.cancel()  # has no effect on a call that has begun


def _call_then_clear(function: Callable[..., Result], arguments: tuple) -> Result:
    """Call a function in a worker process, and delete all data of the call in this process."""
    try:
        return function(*arguments)
    finally:
        pack.cache_clear()  # this cache keeps the last trees


def load() -> None:
    """Load all compiled code from disk in a new worker process, before its first real call."""
    from ui.jobs.warm_up import steps

    for step in steps().values():
        step()


def _set_up_worker(niceness: int, all_ready: Barrier) -> None:
    """Set up a new worker process: lower its priority, and end it when the server ends."""
    if hasattr(os, "nice"):
        os.nice(niceness)
    server = parent_process()
    assert server is not None

    def end_with_server() -> None:
        server.join()
        os._exit(0)

    threading.Thread(target=end_with_server, daemon=True).start()
    all_ready.wait()


INTERACTIVE: Final = Workers(2, 1)  # first figures, for which users wait
BACKGROUND: Final = Workers(1, 10)  # all other pieces; only one process, because each process takes 300 MB of memory
