"""Sweeps for the pages: lines of simulated releases over ε, piece by piece, kept, and shared where rows are public."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from types import SimpleNamespace

import pandas as pd
import streamlit as st

from dpforest.simulation import sweep
from dpforest.simulation.cells import cells_of, promises_of
from dpforest.simulation.splits import Split
from dpforest.simulation.sweep import Task, run_task
from ui.jobs.job import Job, run
from ui.jobs.simulate import SOME_ROWS
from ui.shared import cache, tables
from ui.shared.forests import EPSILONS, Settings
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

    @property
    def key(self) -> tuple:
        """What its pieces depend on; not the ε that is looked at."""
        return self.settings.without_epsilon(), self.epsilons, self.depths, self.trees, self.title


class Cells(Job[pd.DataFrame]):
    """One line: a piece is one repeat on one split."""

    def __init__(self, line: Line, domain, splits: list[Split]) -> None:
        super().__init__()
        self.line, self.name, self._domain, self._splits = line, line.name, domain, splits
        self._forest = line.settings.estimator(domain)
        self._grid = cells_of(self._forest, line.depths or None, line.trees or None)
        self._epsilons = [float(e) for e in line.epsilons]
        self._losses = dict[float, float]()

    def task(self, n: int) -> tuple:
        """Repeat by repeat, each on every split."""
        folds = len(self._splits)
        task = Task(self.name, n // folds, n % folds)
        split = self._splits[task.fold]
        return run_task, (self._forest, self._domain, split, task, self._epsilons, self._grid, task.repeat, {})

    def add(self, n: int, piece: pd.DataFrame) -> None:
        """Without what nobody has asked for: `loss`."""
        super().add(n, piece.drop(columns=["certified", "true_epsilon"]))

    def loss(self, epsilon: float) -> float:
        """What a release at this ε would lose at most, of all cells; infinite where no bound is known."""
        if epsilon not in self._losses:
            rows = len(self._splits[0].y_train)
            promised = promises_of(self._forest, self._domain, [epsilon], self._grid, rows)
            self._losses[epsilon] = max(loss for _, loss in promised.values())
        return self._losses[epsilon]

    def frame(self, n: int) -> pd.DataFrame:
        """The first n pieces, whatever others may have added."""
        return pd.concat([self.pieces[i] for i in range(n)], ignore_index=True)


@cache.by_table(everybody=96, session=48)
def _make(key: tuple, _table: Table, _line: Line) -> Cells:
    return Cells(_line, _table.domain, splits_of(_table, key[-1]))


def cells(table: Table, line: Line, folds: int) -> Cells:
    """Pieces of a line on a table, by its content and schema; those of an upload for this session only."""
    table = tables.read_by(table, line.settings)
    return _make((table.schema_key, fingerprint(table.domain), line.key, folds), table, line)


@cache.by_table(everybody=4, session=2)
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
    for _ in run(first, 1, st.container()):
        pass
    return first
