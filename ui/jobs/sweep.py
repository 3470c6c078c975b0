"""Sweeps for the pages: lines of simulated releases over ε, piece by piece, kept, and shared where rows are public.

A piece is one repeat on one split. Between two of them a moved control, or the stop button, ends the work; what is done
by then stays.
"""

from __future__ import annotations

import itertools
import threading
import time
from collections.abc import Generator, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from types import SimpleNamespace
from typing import Final

import pandas as pd
import streamlit as st

from dpforest.simulation import sweep
from dpforest.simulation.cells import cells_of, promises_of
from dpforest.simulation.splits import Split
from dpforest.simulation.sweep import Task, run_task
from ui.jobs.priority import LOOK, look_up
from ui.jobs.simulate import SCHEDULER, SOME_ROWS
from ui.jobs.time_budget import TimeBudget
from ui.jobs.workers import BACKGROUND
from ui.shared import cache, tables
from ui.shared.forests import EPSILONS, Settings
from ui.shared.tables import Table, fingerprint

TOLD: Final = 0.2  # seconds between two words about how far it is
TOO_LONG: Final = 1.0  # seconds to wait for others at a piece
MANY: Final = 20  # pieces; it takes some seconds until another process is of help


@dataclass(frozen=True)
class Line:
    """A forest over ε, maybe at several depths or with several numbers of trees.

    Parameters
    ----------
    depths, trees : tuple of int
        Empty: those of the settings.
    title : str
        By default the name of the settings.
    """

    settings: Settings
    epsilons: tuple[float, ...] = EPSILONS
    depths: tuple[int, ...] = ()
    trees: tuple[int, ...] = ()
    title: str = ""

    @property
    def name(self) -> str:
        return self.title or self.settings.name

    @property
    def key(self) -> tuple:
        """What its pieces depend on; not the ε that is looked at."""
        return self.settings.without_epsilon(), self.epsilons, self.depths, self.trees, self.title


class Cells:
    """The pieces of one line that are done; several sessions may add to them, and none makes what another one makes."""

    def __init__(self, line: Line, domain, splits: list[Split]) -> None:
        self.line, self._domain, self._splits = line, domain, splits
        self._forest = line.settings.estimator(domain)
        self._grid = cells_of(self._forest, line.depths or None, line.trees or None)
        self._epsilons = [float(e) for e in line.epsilons]
        self._frames, self._losses = dict[int, pd.DataFrame](), dict[float, float]()
        self._begun, self._lock = set[int](), threading.Lock()

    @property
    def n_done(self) -> int:
        """So many from the first on."""
        return next(n for n in itertools.count() if n not in self._frames)

    def claim(self, n: int) -> bool:
        """Whether piece n is there to be made: not done, and nobody is at it. Who claims it adds it or drops it."""
        with self._lock:
            if n in self._frames or n in self._begun:
                return False
            self._begun.add(n)
            return True

    def task(self, n: int) -> tuple:
        """What `run_task` is given for piece n: repeat by repeat, each on every split."""
        folds = len(self._splits)
        task = Task(self.line.name, n // folds, n % folds)
        return (
            self._forest,
            self._domain,
            self._splits[task.fold],
            task,
            self._epsilons,
            self._grid,
            task.repeat,
            {},
        )

    def add(self, n: int, piece: pd.DataFrame) -> None:
        """What `run_task` gave, without what nobody has asked for: `loss`."""
        with self._lock:
            self._frames[n] = piece.drop(columns=["certified", "true_epsilon"])
            self._begun.discard(n)

    def drop(self, n: int) -> None:
        """Leave a piece to others."""
        with self._lock:
            self._begun.discard(n)

    def loss(self, epsilon: float) -> float:
        """What a release at this ε would lose at most, of all cells; infinite where no bound is known."""
        if epsilon not in self._losses:
            rows = len(self._splits[0].y_train)
            promised = promises_of(self._forest, self._domain, [epsilon], self._grid, rows)
            self._losses[epsilon] = max(loss for _, loss in promised.values())
        return self._losses[epsilon]

    def frame(self, n: int) -> pd.DataFrame:
        """The first n pieces, whatever others may have added."""
        return pd.concat([self._frames[i] for i in range(n)], ignore_index=True)


@cache.by_table(everybody=96, own=48)
def _make(key: tuple, _table: Table, _line: Line) -> Cells:
    return Cells(_line, _table.domain, splits_of(_table, key[-1]))


def cells(table: Table, line: Line, folds: int) -> Cells:
    """Pieces of a line on a table, by its content and schema; those of an upload for this session only."""
    table = tables.read_by(table, line.settings)
    return _make((table.schema_key, fingerprint(table.domain), line.key, folds), table, line)


@cache.by_table(everybody=4, own=2)
def _split_folds(key: tuple, _table: Table) -> list[Split]:
    rows = SimpleNamespace(domain=_table.domain, X=_table.columns(), y=_table.frame[_table.label])
    return sweep.splits(rows, key[-1], 0)


def splits_of(table: Table, folds: int) -> list[Split]:
    """The split of all pages, or cross-validation."""
    if folds == 1:
        return [tables.split(table)]
    return _split_folds((table.schema_key, fingerprint(table.domain), folds), table)


def at_first(table: Table, lines: Sequence[Cells], epsilons: tuple[float, ...]) -> list[Cells]:
    """Lines to look at, as far as they are where all have a piece; else one piece of each is made first.

    Of a large table it is made at a few ε only.
    """
    if all(line.n_done for line in lines):
        return list(lines)
    is_large = len(table.frame) > SOME_ROWS
    first = [cells(table, replace(line.line, epsilons=epsilons), 1) for line in lines] if is_large else list(lines)
    for _ in work(first, 1, st.container()):
        pass
    return first


def work(
    lines: Sequence[Cells],
    pieces: int,
    place,
    what: str = "Simulated release",
    budget: TimeBudget | None = None,
    drawn: int = 0,
) -> Iterator[int]:
    """Bring every line to so many pieces, all lines side by side, with a counted bar once it takes long.

    Gives the number of pieces that all lines have, now and then, when there are more than were drawn, by whomever.

    Parameters
    ----------
    drawn : int
        Pieces behind what the page shows already.
    """
    bar, start = None, time.monotonic()
    last, told = start, start + 0.5 - TOLD  # at once it is done mostly
    with closing(_steps(lines, pieces)) as steps:
        for doing, worked in steps:
            now, n = time.monotonic(), n_of_all(lines)
            if now - told > TOLD:
                done, total = sum(min(line.n_done, pieces) for line in lines), pieces * len(lines)
                text = f"{what} {min(done + 1, total):,} of {total:,}: {doing}"
                if bar is None:
                    bar = place.progress(done / total, text)
                else:  # always the same: each bar that a bar gives keeps the one before
                    bar.progress(done / total, text)
                told = now
            if budget and n < pieces:
                budget.pause_if_over(worked)
            if drawn < n < pieces and now - last > max(1.5, (now - start) / 4):
                yield n
                last, drawn = time.monotonic(), n
    if bar is not None:
        bar.empty()
    if drawn < pieces:
        yield pieces


def n_of_all(lines: Sequence[Cells]) -> int:
    """How many pieces every line has."""
    return min(line.n_done for line in lines)


def _steps(lines: Sequence[Cells], pieces: int) -> Generator[tuple[str, float]]:
    """Make pieces, here and in a process beside the server, until all lines have so many.

    Gives after each step the line that it was at, and how long this thread has worked for it.
    """
    if sum(pieces - min(line.n_done, pieces) for line in lines) > MANY:
        BACKGROUND.start_if_of_use()
    since = time.monotonic()
    while n_of_all(lines) < pieces:
        start, is_busy = time.thread_time(), SCHEDULER.is_busy
        while BACKGROUND.has_room and (own := _claimed(lines, pieces, others_wait=is_busy)):
            _hand_over(*own)
        if own := _claimed(lines, pieces):
            doing, since = _make_here(*own), time.monotonic()
        elif time.monotonic() - since < TOO_LONG:  # what is missing is made beside, or by another session
            doing = lines[0].line.name
            time.sleep(LOOK / 5)
        else:  # which stands back behind others, on a busy machine
            doing, since = _make_here(*_missing(lines)), time.monotonic()
        look_up()
        yield doing, time.thread_time() - start


def _missing(lines: Sequence[Cells]) -> tuple[Cells, int]:
    """The first piece that is not there, whoever is at it: the same comes out."""
    line = min(lines, key=lambda own: own.n_done)
    return line, line.n_done


def _claimed(lines: Sequence[Cells], pieces: int, *, others_wait: bool = False) -> tuple[Cells, int] | None:
    """The next piece to make, ours from now on; None where all are made or being made.

    Parameters
    ----------
    others_wait : bool
        The first ones, which somebody waits for, are not for a process that stands back behind all others then.
    """
    for n in range(max(n_of_all(lines), int(others_wait)), pieces):
        for line in lines:
            if line.claim(n):
                return line, n
    return None


def _make_here(line: Cells, n: int) -> str:
    """A claimed piece. Gives the name of its line."""
    try:
        with SCHEDULER.turn(awaited=n == 0):
            line.add(n, run_task(*line.task(n)))
    finally:
        line.drop(n)
    return line.line.name


def _hand_over(line: Cells, n: int) -> None:
    """Let the process beside the server make a claimed piece, which is kept even if nobody is there any more."""

    def then(piece: pd.DataFrame | None) -> None:
        if piece is None:
            line.drop(n)
        else:
            line.add(n, piece)

    is_taken = False
    try:
        is_taken = BACKGROUND.hand_over(run_task, line.task(n), then)
    finally:
        if not is_taken:
            line.drop(n)
