"""The one kind of background job: numbered pieces of work, each made once, for all sessions that ask for them.

A piece is made in short steps in the thread of a page, or whole in a worker process. Between two steps a moved control,
the stop button, or the time budget of the page ends the work. Finished pieces stay. Whoever asks next goes on from
there, also within a piece.
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
TOO_LONG: Final = 1.0  # seconds to wait for a piece that another session or a worker makes
MANY: Final = 20  # pieces; it takes some seconds until a worker has started


class Job(Generic[Piece]):
    """Pieces of one job. Several sessions may add pieces, and none makes a piece that another one makes.

    A kind of job defines `task`, and `steps` where a piece takes long.

    Attributes
    ----------
    name : str
        Shown next to the progress bar.
    pieces : dict of int to Piece
        The pieces that are done, in any order.
    """

    name = ""

    def __init__(self) -> None:
        self.pieces: dict[int, Piece] = {}
        self._claimed, self._lock = set[int](), threading.Lock()
        self._left: dict[int, Generator[float]] = {}  # pieces that somebody began here and left
        self._share = 0.0  # of the piece under way that is done

    def task(self, n: int) -> tuple[Callable[..., Piece], tuple]:
        """Function of a module, and its arguments, which give piece n in any process. Codes only, never raw rows."""
        raise NotImplementedError

    def steps(self, n: int) -> Generator[float, None, Piece]:
        """Make piece n in short steps. Yields the share of it that is done, between two steps."""
        function, arguments = self.task(n)
        yield from ()
        return function(*arguments)

    @property
    def n_done(self) -> int:
        """Number of pieces that are done without a gap, from the first on."""
        return next(n for n in itertools.count() if n not in self.pieces)

    @property
    def progress(self) -> float:
        """Number of pieces that are done, with the share of the one under way."""
        return self.n_done + self._share

    def claim(self, n: int) -> bool:
        """Whether piece n is free: neither done nor under way. Whoever claims it adds it or drops it."""
        with self._lock:
            if n in self.pieces or n in self._claimed:
                return False
            self._claimed.add(n)
            return True

    def add(self, n: int, piece: Piece) -> None:
        with self._lock:
            self.pieces[n], self._share = piece, 0.0
            self._claimed.discard(n)
            self._left.pop(n, None)

    def drop(self, n: int) -> None:
        """Leave a claimed piece to others."""
        with self._lock:
            self._claimed.discard(n)

    def make_here(self, n: int, *, interactive: bool) -> Generator[float]:
        """Make a claimed piece in this thread, once it is its turn. Yields the share that is done after each step."""
        making = None
        try:
            with SCHEDULER.turn(interactive=interactive) as pause:
                with self._lock:
                    making = self._left.pop(n, None)
                making = making or self._making(n)
                for self._share in making:
                    yield self._share
                    pause()
        finally:
            if making is not None and getgeneratorstate(making) != GEN_CLOSED and n not in self.pieces:
                self._left[n] = making
            self.drop(n)

    def _making(self, n: int) -> Generator[float]:
        self.add(n, (yield from self.steps(n)))

    def make(self, n: int, *, interactive: bool) -> Generator[float]:
        """As `make_here`; in a worker where several people wait for something."""
        if SCHEDULER.is_crowded:
            INTERACTIVE.start(load)
            BACKGROUND.start(load)
        if INTERACTIVE.is_ready and n not in self._left:  # for one person this thread is as fast
            try:
                function, arguments = self.task(n)
                if (piece := (INTERACTIVE if interactive else BACKGROUND).work(function, *arguments)) is not None:
                    self.add(n, piece)
                    return
            except BaseException:
                self.drop(n)
                raise
        yield from self.make_here(n, interactive=interactive)

    def hand_over(self, n: int) -> None:
        """Let the worker in the background make a claimed piece. It is kept, even if everybody has left by then."""

        def then(piece: Piece | None) -> None:
            if piece is None:
                self.drop(n)
            else:
                self.add(n, piece)

        is_taken = False
        try:
            is_taken = BACKGROUND.hand_over(*self.task(n), then)
        finally:
            if not is_taken:
                self.drop(n)

    def work(self, n_pieces: int = 1, *, interactive: bool = False) -> Generator[float]:
        """Bring the job to so many pieces. Yields its progress after each step, or while another session is at it.

        Parameters
        ----------
        interactive : bool
            Whether somebody has nothing to look at before that.
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
        """One step of `work`. False where there is none left."""
        with closing(self.work(n_pieces)) as steps:
            return next(steps, None) is not None


def n_of_all(jobs: Sequence[Job]) -> int:
    """Number of pieces that every job has."""
    return min(job.n_done for job in jobs)


def run(
    jobs: Sequence[Job],
    n_pieces: int,
    place: Any,
    text: str = "Simulated release {n:,} of {total:,}: {name}",
    budget: TimeBudget | None = None,
    drawn: int = 0,
) -> Iterator[int]:
    """Bring every job to so many pieces, all jobs side by side, with a progress bar once it takes long.

    Yields the number of pieces that all jobs have, now and then, when there are more than the page shows.

    Parameters
    ----------
    place : container
        Of Streamlit, for the progress bar.
    text : str
        Of the bar. `{n}` of `{total}` is the piece under way, `{name}` is its job.
    budget : TimeBudget, optional
        Pauses the work.
    drawn : int
        Number of pieces that the page shows already.
    """
    bar, start = None, time.monotonic()
    last, changed = start, start + BAR_AFTER - BAR_EVERY
    with closing(_steps(jobs, n_pieces)) as steps:
        for name, worked, has_turn in steps:
            now, n = time.monotonic(), n_of_all(jobs)
            if now - changed > BAR_EVERY:
                total = n_pieces * len(jobs)
                done = sum(min(job.n_done, n_pieces) for job in jobs)
                share = min(sum(min(job.progress, n_pieces) for job in jobs) / total, 1.0)
                words = text.format(n=min(done + 1, total), total=total, name=name)
                if bar is None:
                    bar = place.progress(share, words)
                else:  # always the same: each bar that a bar gives keeps the one before
                    bar.progress(share, words)
                changed = now
            if budget and n < n_pieces:
                budget.pause_if_over(worked)
            # Never within a piece: a page that draws may wait for the turn that this piece holds.
            if not has_turn and drawn < n < n_pieces and now - last > max(1.5, (now - start) / 4):
                yield n
                last, drawn = time.monotonic(), n
    if bar is not None:
        bar.empty()
    if drawn < n_pieces:
        yield n_pieces


def _steps(jobs: Sequence[Job], n_pieces: int) -> Generator[tuple[str, float, bool]]:
    """Make pieces, here and in the worker in the background, until all jobs have so many.

    Yields after each step the name of the job, the seconds that this thread has worked on it, and whether a piece is
    under way here, which holds the turn to compute.
    """
    if sum(n_pieces - min(job.n_done, n_pieces) for job in jobs) > MANY:
        BACKGROUND.start_if_useful()
    since = time.monotonic()
    while n_of_all(jobs) < n_pieces:
        start, is_busy = time.thread_time(), SCHEDULER.is_busy
        while BACKGROUND.has_room and (claimed := _claimed(jobs, n_pieces, others_wait=is_busy)):
            job, n = claimed
            job.hand_over(n)
        claimed = _claimed(jobs, n_pieces)
        if claimed is None and time.monotonic() - since < TOO_LONG:  # a worker or another session makes what is missing
            time.sleep(LOOK / 5)
            look_up()
            yield jobs[0].name, time.thread_time() - start, False
            continue
        job, n = claimed or _missing(jobs)  # a worker may take long on a busy machine
        with closing(job.make_here(n, interactive=n == 0)) as steps:
            for _ in steps:
                yield job.name, time.thread_time() - start, True
                start = time.thread_time()
        since = time.monotonic()
        look_up()
        yield job.name, time.thread_time() - start, False


def _missing(jobs: Sequence[Job]) -> tuple[Job, int]:
    """The first piece that is not done, whoever is at it: the same comes out."""
    job = min(jobs, key=lambda job: job.n_done)
    return job, job.n_done


def _claimed(jobs: Sequence[Job], n_pieces: int, *, others_wait: bool = False) -> tuple[Job, int] | None:
    """The next free piece, claimed. None where all are done or under way.

    Parameters
    ----------
    others_wait : bool
        Whether to leave out the first pieces, for which somebody waits.
    """
    for n in range(max(n_of_all(jobs), int(others_wait)), n_pieces):
        for job in jobs:
            if job.claim(n):
                return job, n
    return None
