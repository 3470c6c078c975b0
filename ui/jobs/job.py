"""A background job: numbered pieces of work that sessions share. Each piece is computed once and kept.

The thread of a page computes a piece in short steps, or a worker process computes the whole piece. Between two steps,
the thread ends its work if the user has moved a control or pressed the stop button, or if the time budget of the page
is used up. The next session that needs the piece continues at the step where the work ended.
"""

from __future__ import annotations

import itertools
import threading
import time
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import closing
from inspect import GEN_CLOSED, getgeneratorstate
from typing import Any, Final, Generic, TypeVar

from ui.jobs.priority import LOOK, SCHEDULER, look_up
from ui.jobs.time_budget import TimeBudget
from ui.jobs.workers import BACKGROUND, INTERACTIVE, load

Piece = TypeVar("Piece")
BAR_AFTER: Final = 0.5  # seconds; shorter work has no progress bar
BAR_EVERY: Final = 0.2  # seconds between two changes of a progress bar
TOO_LONG: Final = 1.0  # seconds to wait for another session or a worker before this thread computes the same piece
MANY: Final = 20  # if more pieces are missing, a worker process saves more time than it needs to start


class Job(Generic[Piece]):
    """Pieces of work that several sessions compute together.

    A thread claims a piece before it computes the piece, so that no two threads do the same work. A subclass defines
    `task`, and also `steps` if a piece takes long.

    Attributes
    ----------
    name : str
        Name in the text of the progress bar.
    pieces : dict of int to Piece
        Finished pieces by number. They may finish in any order.
    seconds : float
        Computing time of all pieces so far, summed over threads and processes. Waiting does not count.
    """

    name = ""

    def __init__(self) -> None:
        self.pieces: dict[int, Piece] = {}
        self.seconds = 0.0
        self._claimed, self._lock = set[int](), threading.Lock()
        self._unfinished: dict[int, Generator[float]] = {}  # unfinished pieces that this process has begun
        self._share = 0.0  # finished share of the piece that is under way, from 0 to 1

    def task(self, n: int) -> tuple[Callable[..., Piece], tuple]:
        """Return a module-level function that computes piece n, and its arguments. A worker process can call it.

        The arguments hold codes of rows, never raw rows.
        """
        raise NotImplementedError

    def steps(self, n: int) -> Generator[float, None, Piece]:
        """Compute piece n in short steps.

        Yields the finished share of the piece after each step, and returns the piece.
        """
        function, arguments = self.task(n)
        yield from ()
        return function(*arguments)

    @property
    def n_done(self) -> int:
        """Number of finished pieces before the first unfinished one."""
        return next(n for n in itertools.count() if n not in self.pieces)

    @property
    def progress(self) -> float:
        """`n_done` plus the finished share of the piece under way."""
        return self.n_done + self._share

    def claim(self, n: int) -> bool:
        """Claim piece n, and return True. If the piece is finished or already claimed, return False.

        A caller that has claimed the piece must later call `add` or `drop`.
        """
        with self._lock:
            if n in self.pieces or n in self._claimed:
                return False
            self._claimed.add(n)
            return True

    def add(self, n: int, piece: Piece) -> None:
        """Keep a finished piece, and end the claim on it."""
        with self._lock:
            self.pieces[n], self._share = piece, 0.0
            self._claimed.discard(n)
            self._unfinished.pop(n, None)

    def count(self, seconds: float) -> None:
        """Add the computing time of a piece or a step to `seconds`."""
        with self._lock:
            self.seconds += seconds

    def drop(self, n: int) -> None:
        """Give up the claim on a piece, so that others can claim it."""
        with self._lock:
            self._claimed.discard(n)

    def make_here(self, n: int, *, interactive: bool) -> Generator[float]:
        """Compute a claimed piece in this thread. Yields the finished share after each step.

        The thread first waits for its turn (`SCHEDULER`). If the caller closes this generator early, the unfinished
        piece is kept, and the claim is dropped.

        Parameters
        ----------
        interactive : bool
            Whether a user waits for a first figure.
        """
        steps = None
        try:
            with SCHEDULER.turn(interactive=interactive) as pause:
                with self._lock:
                    steps = self._unfinished.pop(n, None)
                steps = steps or self._steps_then_add(n)
                for share in self._with_time_counted(steps):
                    self._share = share
                    yield share
                    pause()
        finally:
            if steps is not None and getgeneratorstate(steps) != GEN_CLOSED and n not in self.pieces:
                self._unfinished[n] = steps
            self.drop(n)

    def _steps_then_add(self, n: int) -> Generator[float]:
        self.add(n, (yield from self.steps(n)))

    def _with_time_counted(self, steps: Generator[float]) -> Generator[float]:
        """Run the steps, and add the computing time of each step to `seconds`.

        The computing time is the processor time of the process, because only one thread of the process computes at a
        time.
        """
        while True:
            start = time.process_time()
            share = next(steps, None)
            self.count(time.process_time() - start)
            if share is None:
                return
            yield share

    def make(self, n: int, *, interactive: bool) -> Generator[float]:
        """Compute a claimed piece in a worker process if workers are ready, or else in this thread (`make_here`).

        If several users wait, this method also starts the workers.
        """
        if SCHEDULER.is_crowded:
            INTERACTIVE.start(load)
            BACKGROUND.start(load)
        if INTERACTIVE.is_ready and n not in self._unfinished:  # the server continues a piece that it has begun
            try:
                result = (INTERACTIVE if interactive else BACKGROUND).work(_timed, *self.task(n))
                if result is not None:
                    self._keep(n, *result)
                    return
            except BaseException:
                self.drop(n)
                raise
        yield from self.make_here(n, interactive=interactive)

    def hand_over(self, n: int) -> None:
        """Let the background worker compute a claimed piece, and return at once.

        The finished piece is kept even if the session has ended by then.
        """

        def then(result: tuple[Piece, float] | None) -> None:
            if result is None:
                self.drop(n)
            else:
                self._keep(n, *result)

        is_taken = False
        try:
            is_taken = BACKGROUND.hand_over(_timed, self.task(n), then)
        finally:
            if not is_taken:
                self.drop(n)

    def _keep(self, n: int, piece: Piece, seconds: float) -> None:
        self.count(seconds)
        self.add(n, piece)

    def work(self, n_pieces: int = 1, *, interactive: bool = False) -> Generator[float]:
        """Compute until the job has this many pieces.

        Yields the job's progress after each step, and again and again while other threads compute the piece.

        Parameters
        ----------
        n_pieces : int
            Number of pieces to reach.
        interactive : bool
            Whether a user waits for a first figure.
        """
        while (n := self.n_done) < n_pieces:
            if self.claim(n):
                with closing(self.make(n, interactive=interactive)) as steps:
                    for share in steps:
                        yield n + share
            else:
                time.sleep(LOOK / 5)
                look_up()
            yield self.progress

    def step(self, n_pieces: int = 1) -> bool:
        """Do one step of `work`. Return False if all pieces are finished."""
        with closing(self.work(n_pieces)) as steps:
            return next(steps, None) is not None


def _timed(function: Callable[..., Piece], arguments: tuple) -> tuple[Piece, float]:
    """Call a function in a worker. Return its result and the computing time of the call."""
    start = time.process_time()
    return function(*arguments), time.process_time() - start


def n_of_all(jobs: Sequence[Job]) -> int:
    """Return the number of pieces that every job has finished."""
    return min(job.n_done for job in jobs)


def run(
    jobs: Sequence[Job],
    n_pieces: int,
    place: Any,
    text: str = "Simulated release {n:,} of {total:,}: {name}",
    budget: TimeBudget | None = None,
    drawn: int = 0,
) -> Iterator[int]:
    """Compute until every job has `n_pieces` pieces, with a progress bar after `BAR_AFTER` seconds.

    The first pieces of all jobs come before any second piece. From time to time, the generator yields the number of
    pieces that every job has, so that the page can draw them. It yields only if the page does not show them yet.

    Parameters
    ----------
    jobs : sequence of Job
        Jobs that compute the pieces.
    n_pieces : int
        Number of pieces of each job to reach.
    place : container of Streamlit
        Where the progress bar is drawn.
    text : str
        Text of the bar. `{n}` is the number of the piece under way among all `{total}` pieces, and `{name}` is the name
        of its job.
    budget : TimeBudget, optional
        When this budget is used up, the work pauses.
    drawn : int
        Number of pieces of each job that the page shows already.
    """
    bar, start, seconds = None, time.monotonic(), _seconds(jobs)
    last, changed = start, start + BAR_AFTER - BAR_EVERY
    with closing(_steps(jobs, n_pieces)) as steps:
        for name, has_turn in steps:
            now, n = time.monotonic(), n_of_all(jobs)
            if now - changed > BAR_EVERY:
                total = n_pieces * len(jobs)
                done = sum(min(job.n_done, n_pieces) for job in jobs)
                share = min(sum(min(job.progress, n_pieces) for job in jobs) / total, 1.0)
                words = text.format(n=min(done + 1, total), total=total, name=name)
                if bar is None:
                    bar = place.progress(share, words)
                else:  # the returned bar is dropped, because each returned bar would keep the previous one in memory
                    bar.progress(share, words)
                changed = now
            if budget and n < n_pieces:
                before, seconds = seconds, _seconds(jobs)
                budget.pause_if_over(seconds - before)
            # Never yield within a piece. There, this thread holds the turn to compute, so the caller's code that draws
            # could wait for the turn forever.
            if not has_turn and drawn < n < n_pieces and now - last > max(1.5, (now - start) / 4):
                yield n
                last, drawn = time.monotonic(), n
    if bar is not None:
        bar.empty()
    if drawn < n_pieces:
        yield n_pieces


def _seconds(jobs: Sequence[Job]) -> float:
    return sum(job.seconds for job in jobs)


def _steps(jobs: Sequence[Job], n_pieces: int) -> Generator[tuple[str, bool]]:
    """Compute pieces, in this thread and in the background worker, until every job has `n_pieces` pieces.

    After each step, yields the name of the job, and whether this thread is within a piece and so holds the turn to
    compute.
    """
    if sum(n_pieces - min(job.n_done, n_pieces) for job in jobs) > MANY:
        BACKGROUND.start_if_useful()
    since = time.monotonic()
    while n_of_all(jobs) < n_pieces:
        is_busy = SCHEDULER.is_busy
        while BACKGROUND.has_room and (claimed := _claimed(jobs, n_pieces, is_busy=is_busy)):
            job, n = claimed
            job.hand_over(n)
        claimed = _claimed(jobs, n_pieces)
        # If other threads or workers compute all missing pieces, wait for them for a while.
        if claimed is None and time.monotonic() - since < TOO_LONG:
            time.sleep(LOOK / 5)
            look_up()
            yield jobs[0].name, False
            continue
        job, n = claimed or _missing(jobs)  # after the wait, compute a piece although another thread computes it too
        with closing(job.make_here(n, interactive=n == 0)) as steps:
            for _ in steps:
                yield job.name, True
        since = time.monotonic()
        look_up()
        yield job.name, False


def _missing(jobs: Sequence[Job]) -> tuple[Job, int]:
    """Return the job with the fewest pieces and the number of its first unfinished piece.

    If another thread also computes this piece, both threads get the same result.
    """
    job = min(jobs, key=lambda job: job.n_done)
    return job, job.n_done


def _claimed(jobs: Sequence[Job], n_pieces: int, *, is_busy: bool = False) -> tuple[Job, int] | None:
    """Claim the next free piece, and return its job and number, or None if all pieces are finished or claimed.

    Parameters
    ----------
    is_busy : bool
        Whether other threads compute now. Then piece 0 of each job is left out: a user waits for this piece, so the
        thread of the user's page computes it instead of the background worker.
    """
    for n in range(max(n_of_all(jobs), int(is_busy)), n_pieces):
        for job in jobs:
            if job.claim(n):
                return job, n
    return None
