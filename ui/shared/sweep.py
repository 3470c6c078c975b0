"""Sweeps for the pages: lines of simulated releases over ε, piece by piece, kept, and shared where rows are public.

A piece is one repeat on one split. Between two of them a moved control, or the stop button, ends the work; what is done
by then stays.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from types import SimpleNamespace
from typing import Any

import pandas as pd
import streamlit as st

from dpforest.evaluation import sweep
from dpforest.evaluation.cells import cells_of, promises_of
from dpforest.evaluation.splits import Split
from dpforest.evaluation.sweep import Task, run_task
from ui.shared import cache, tables
from ui.shared.forests import EPSILONS, Settings
from ui.shared.scheduler import held
from ui.shared.simulate import N_JOBS, SCHEDULER
from ui.shared.tables import Table, fingerprint


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


class Cells:
    """The pieces of one line that are done; several sessions may add to them, one at a time."""

    def __init__(self, line: Line, domain, splits: list[Split]) -> None:
        self.line, self._domain, self._splits = line, domain, splits
        self._forest = line.settings.estimator(domain)
        self._grid = cells_of(self._forest, line.depths or None, line.trees or None)
        self._epsilons = [float(e) for e in line.epsilons]
        self._frames: list[pd.DataFrame] = []
        self.lock = threading.Lock()

    @property
    def n_done(self) -> int:
        return len(self._frames)

    def piece(self) -> pd.DataFrame:
        """The next one, not added yet: repeat by repeat, each on every split."""
        folds = len(self._splits)
        task = Task(self.line.name, self.n_done // folds, self.n_done % folds)
        done = run_task(
            self._forest, self._domain, self._splits[task.fold], task, self._epsilons, self._grid, task.repeat, {}
        )
        return done.drop(columns=["certified", "true_epsilon"])  # which nobody has asked for: `loss`

    def add(self, piece: pd.DataFrame) -> None:
        """What `piece` gave."""
        self._frames.append(piece)

    def loss(self, epsilon: float) -> float:
        """What a release at this ε would lose at most, of all cells; infinite where no bound is known."""
        rows = len(self._splits[0].y_train)
        promised = promises_of(self._forest, self._domain, [epsilon], self._grid, rows)
        return max(loss for _, loss in promised.values())

    def frame(self, n: int) -> pd.DataFrame:
        """The first n pieces, whatever others may have added."""
        return pd.concat(self._frames[:n], ignore_index=True)


@cache.by_table(everybody=96, own=48)
def _make(key: tuple, _table: Table, _line: Line) -> Cells:
    return Cells(_line, _table.domain, splits_of(_table, key[-1]))


def cells(table: Table, line: Line, folds: int) -> Cells:
    """Pieces of a line on a table, by its content and schema; those of an upload for this session only."""
    table = tables.read_by(table, line.settings)
    key = (
        table.schema_key, fingerprint(table.domain), line.settings.without_epsilon(), line.epsilons, line.depths,
        line.trees, line.title, folds,
    )  # fmt: skip
    return _make(key, table, line)


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
    """Lines to look at: as far as they are where all have a piece; else one piece of each, at a few ε only, is made."""
    if all(line.n_done for line in lines):
        return list(lines)
    few = [cells(table, replace(line.line, epsilons=epsilons), 1) for line in lines]
    for _ in work(few, 1, st.container()):
        pass
    return few


class Patience:
    """So many seconds of a page's own work, waiting for others not counted; then it pauses until somebody goes on."""

    def __init__(self, key: object, seconds: float) -> None:
        self._key, self._seconds = key, seconds

    def pause_if_over(self, seconds: float) -> None:
        """Between two pieces, after so many seconds more: the page is drawn again with what there is."""
        before = st.session_state.get("worked")  # a page that is drawn anew in between goes on counting
        worked = seconds + (before[1] if before and before[0] == self._key else 0.0)
        st.session_state["worked"] = (self._key, worked)
        if worked > self._seconds and st.session_state.get("patient") != self._key:
            st.session_state.update(stopped=self._key, paused=True)
            st.session_state.pop("worked")
            st.rerun()


def work(
    lines: Sequence[Cells], pieces: int, place, what: str = "Simulated release", patience: Patience | None = None
) -> Iterator[int]:
    """Bring every line to so many pieces, all lines side by side, with a counted bar once it takes long.

    Gives the number of pieces that all lines have, now and then, when there is something new to draw.
    """
    bar, start = None, time.monotonic()
    drawn, total, is_new = start, pieces * len(lines), False
    for n in range(1, pieces + 1):
        worked = 0.0
        todo = [line for line in lines if line.n_done < n]
        for i in range(0, len(todo), N_JOBS):
            few = todo[i : i + N_JOBS]
            done = n * len(lines) - len(todo) + i
            if bar is not None or time.monotonic() - start > 0.5:
                text = f"{what} {done + 1:,} of {total:,}: {', '.join(line.line.name for line in few)}"
                bar = (bar or place).progress(done / total, text)
            worked += _bring(few, n)
            is_new = True
        if patience and todo and n < pieces:
            patience.pause_if_over(worked)
        if is_new and (n == pieces or time.monotonic() - drawn > 1.5):
            yield n
            drawn, is_new = time.monotonic(), False
    if bar is not None:
        bar.empty()


def _bring(lines: Sequence[Cells], n: int) -> float:
    """The nth piece of a few lines at the same time. Gives the seconds that it took, without waiting for others."""
    with ExitStack() as locks:
        for line in lines:
            locks.enter_context(held(line.lock))
        todo = [line for line in lines if line.n_done < n]
        if not todo:  # another session has done it meanwhile
            return 0.0
        with SCHEDULER.turn(awaited=any(line.n_done == 0 for line in todo)):
            start = time.monotonic()
            with ThreadPoolExecutor(len(todo)) as pool:
                for line, piece in zip(todo, pool.map(Cells.piece, todo), strict=True):
                    line.add(piece)
            return time.monotonic() - start


@contextmanager
def stoppable(key: object, place) -> Iterator[Any]:
    """A place for progress bars, beside a button that ends the work; None where somebody, or patience, has ended it."""
    frame = place.empty()
    if st.session_state.get("stopped") == key:
        with frame.container(horizontal=True, vertical_alignment="center", horizontal_alignment="right"):
            paused = st.session_state.get("paused", False)
            st.caption(
                "Paused, to spare this machine: not all releases are simulated yet." if paused else "Stopped.",
                width="content",
            )
            st.button("Go on", key="go_on", on_click=_go_on, args=(key,))
        yield None
        return
    with frame.container(horizontal=True, vertical_alignment="center", horizontal_alignment="right"):
        bar = st.container(width=340)
        st.button("Stop", key="stop", on_click=lambda: st.session_state.update(stopped=key, paused=False))
    yield bar
    frame.empty()


def _go_on(key: object) -> None:
    """To the end, however long it takes."""
    st.session_state.pop("stopped", None)
    st.session_state["patient"] = key
