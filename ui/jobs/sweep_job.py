"""Simulated releases of forests for all pages: made once, kept, and shared where rows are public.

A forest at an ε has one figure in the app: pages ask for different ε and numbers of releases, but all share the same
releases, and each page shows all that there are.
"""

from __future__ import annotations

import math
import threading
import weakref
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any, Final

import pandas as pd

from dpforest.privacy.certificate import Certificate
from dpforest.privacy.ledger import Ledger
from dpforest.simulation import sweep
from dpforest.simulation.cells import cells_of, promises_of
from dpforest.simulation.pieces import Row, Simulation
from dpforest.simulation.splits import Split
from dpforest.simulation.sweep import one_repeat, simulation_for
from dpforest.simulation.views import ForestView
from dpforest.tables.domain import Domain
from ui.jobs.job import Job
from ui.jobs.priority import Scheduler, held
from ui.jobs.workers import N_CORES
from ui.shared import cache, tables
from ui.shared.forests import EPSILONS, ForestSettings
from ui.shared.tables import Table, fingerprint

N_JOBS: Final = min(N_CORES, 4)
VIEWS: Final = Scheduler(1)  # short looks at one forest, which do not wait for a simulation


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

    settings: ForestSettings
    epsilons: tuple[float, ...] = EPSILONS
    depths: tuple[int, ...] = ()
    trees: tuple[int, ...] = ()
    title: str = ""

    @property
    def name(self) -> str:
        return self.title or self.settings.name

    @property
    def key(self) -> tuple:
        """What is simulated for it; not the ε that is looked at."""
        return *self.forest, self.epsilons, self.title

    @property
    def forest(self) -> tuple:
        """What its figures depend on, besides the table and ε."""
        parameters = {**self.settings.estimator().get_params(), "epsilon": None}
        if parameters.get("alpha", 0.0) is None:  # Explore says what Compare leaves to the estimator
            parameters["alpha"] = 0.0 if self.settings.certified else "published"
        return self.settings.kind, tuple(sorted(parameters.items())), self.depths, self.trees


class Releases:
    """Simulated releases of one forest on one table: figures by piece and ε. A piece is one repeat on one split.

    Parameters
    ----------
    splits : callable
        Gives the splits; they are read when the first piece is made.
    n_rows : int
        Rows from which a release plans depth and number of trees.
    """

    def __init__(self, line: Line, domain: Domain, splits: Callable[[], list[Split]], folds: int, n_rows: int) -> None:
        self.forest, self.domain, self.folds, self._splits = line.settings.estimator(domain), domain, folds, splits
        self.n_rows = n_rows
        self.cells = cells_of(self.forest, line.depths or None, line.trees or None)
        self.rows = dict[int, dict[float, list[Row]]]()
        self._jobs, self._checked = dict[tuple, SweepJob](), set[float]()
        self._simulation: Simulation | None = None
        self._sizes = dict[int, dict[str, int]]()  # by split: a worker's rows are added in another thread
        self._views = dict[float, ForestView]()
        self._lock, self._viewing = threading.Lock(), threading.Lock()

    def job(self, line: Line) -> SweepJob:
        """The job of a line: these releases at its ε, under its name."""
        with self._lock:
            return self._jobs.setdefault((line.epsilons, line.name), SweepJob(line, self))

    def check(self, epsilons: Sequence[float]) -> None:
        """Raise ValueError for what cannot be simulated, before anything is."""
        if unchecked := [epsilon for epsilon in epsilons if epsilon not in self._checked]:
            self.simulation(0).check(unchecked)
            self._checked.update(unchecked)

    def add(self, n: int, rows: Sequence[Row]) -> None:
        """Keep the figures of a step of piece n; a step may have some cells of an ε only."""
        if not rows:
            return
        sizes = {} if "n_test" in rows[0] else self._sizes[n % self.folds]
        with self._lock:
            kept = dict(self.rows.get(n, {}))
            for row in rows:
                others = [other for other in kept.get(row["epsilon"], []) if other["cell"] != row["cell"]]
                kept[row["epsilon"]] = sorted([*others, {**row, **sizes}], key=lambda row: row["cell"])
            self.rows[n] = kept

    def complete(self, n: int) -> set[float]:
        """The ε at which piece n has the figures of all cells."""
        return {epsilon for epsilon, rows in self.rows.get(n, {}).items() if len(rows) == len(self.cells)}

    def split(self, n: int) -> Split:
        """The split that piece n is simulated on. Only a thread that draws a page may read it."""
        split = self._splits()[n % self.folds]
        self._sizes[n % self.folds] = {"n_train": len(split.y_train), "n_test": len(split.y_test)}
        return split

    def simulation(self, n: int) -> Simulation:
        """What simulates piece n; kept where there is one split."""
        if self.folds > 1 or self._simulation is None:
            simulation = simulation_for(self.forest, self.domain, self.split(n), n_rows=self.n_rows, n_jobs=N_JOBS)
            if self.folds > 1:
                return simulation
            self._simulation = simulation
        return self._simulation

    def view(self, epsilon: float) -> ForestView:
        """One simulated release in full; the last two are kept, with what was computed on them."""
        with held(self._viewing):
            view = self._views.get(epsilon)
            if view is None:
                with VIEWS.turn(interactive=True):
                    view = self.simulation(0).view(epsilon)
                self._views = {**dict(list(self._views.items())[-1:]), epsilon: view}
        RECENT.add(self)
        return view

    @property
    def n_bytes(self) -> int:
        """Of the forests kept, about."""
        in_simulation = self._simulation.n_bytes if self._simulation else 0
        return in_simulation + sum(40 * len(view.counts) for view in self._views.values())

    def forget(self) -> None:
        """Keep the figures only."""
        self._views = {}
        if self._simulation is not None:
            self._simulation.forget()


class _PiecesAt:
    """The pieces of `Releases` that are there at all of some ε."""

    def __init__(self, releases: Releases, epsilons: frozenset[float]) -> None:
        self._releases, self._epsilons = releases, epsilons

    def __contains__(self, n: int) -> bool:
        return self._epsilons <= self._releases.complete(n)

    def __getitem__(self, n: int) -> list[Row]:
        rows = self._releases.rows[n]
        return [row for epsilon in sorted(self._epsilons) for row in rows[epsilon]]

    def __setitem__(self, n: int, rows: list[Row]) -> None:
        self._releases.add(n, rows)


class SweepJob(Job[list[Row]]):
    """Releases of one forest at the ε of a line, and without noise."""

    def __init__(self, line: Line, releases: Releases) -> None:
        super().__init__()
        self.line, self.name, self.releases = line, line.name, releases
        self.epsilons = (*line.epsilons, math.inf)
        self.pieces: Any = _PiecesAt(releases, frozenset(self.epsilons))
        self._losses = dict[float, float]()

    def _missing(self, n: int) -> list[float]:
        """ε of piece n that are still to be simulated, first the one that is looked at and those near to it."""
        at = self.line.settings.epsilon
        missing = set(self.epsilons) - self.releases.complete(n)
        return sorted(missing, key=lambda epsilon: abs(math.log(epsilon / at)))

    def task(self, n: int) -> tuple:
        """Repeat by repeat, each on every split."""
        of = self.releases
        return one_repeat, (of.forest, of.domain, of.split(n), self._missing(n), of.cells, n // of.folds, of.n_rows)

    def steps(self, n: int) -> Generator[float, None, list[Row]]:
        """Each step is kept at once, so that whoever comes back goes on from there."""
        of, missing = self.releases, self._missing(n)
        n_cells, n_rows = len(of.cells) * len(missing), 0
        for rows in of.simulation(n).pieces(missing, of.cells, n // of.folds) if missing else ():
            of.add(n, rows)
            n_rows += len(rows)
            yield n_rows / n_cells
        if n == 0:
            RECENT.add(of)
        return []

    def so_far(self) -> dict[float, float]:
        """Accuracy by ε, of the first piece as far as it is done."""
        return {epsilon: self.releases.rows[0][epsilon][0]["accuracy"] for epsilon in self.releases.complete(0)}

    def loss(self, epsilon: float) -> float:
        """What a release at this ε would lose at most, of all cells; infinite where no bound is known."""
        if epsilon not in self._losses:
            of = self.releases
            promises = promises_of(of.forest, of.domain, [epsilon], of.cells, of.n_rows)
            self._losses[epsilon] = max(loss for _, loss in promises.values())
        return self._losses[epsilon]

    def frame(self) -> pd.DataFrame:
        """All pieces that there are, a row for each ε and cell, as of `sweep.surface`."""
        of = self.releases
        rows = []
        for n in range(self.n_done):
            where = {"forest": self.name, "repeat": n // of.folds, "fold": n % of.folds}
            rows += [{**where, **row} for row in self.pieces[n]]
        frame = pd.DataFrame(rows).drop(columns="cell")
        return frame[[*sweep.KEYS, *(column for column in frame if column not in sweep.KEYS)]]


class Recent:
    """The releases that hold forests, the last at the end: forests are large, figures are not.

    Parameters
    ----------
    most_bytes : int
        That they may hold together; the last one stays however large it is.
    """

    def __init__(self, most_bytes: int) -> None:
        self._most, self._lock = most_bytes, threading.Lock()
        self._kept: list[weakref.ref[Releases]] = []  # weak, so that a session's end or "Clear my data" frees them

    def add(self, releases: Releases) -> None:
        """One more; others drop their forests for it."""
        with self._lock:
            others = [old for ref in self._kept if (old := ref()) is not None and old is not releases]
            left = self._most - releases.n_bytes
            kept = []
            for old in reversed(others):
                left -= old.n_bytes
                if left < 0:
                    old.forget()
                else:
                    kept.append(old)
            self._kept = [weakref.ref(old) for old in (*reversed(kept), releases)]


RECENT: Final = Recent(400_000_000)


@cache.by_table(everybody=256, session=96)
def _releases(key: tuple, _table: Table, _line: Line) -> Releases:
    n_rows = tables.planned_rows(_table, _line.settings)
    return Releases(_line, _table.domain, lambda: splits_of(_table, key[-1]), key[-1], n_rows)


def sweep_job(table: Table, line: Line, folds: int = 1, *, check: bool = True) -> SweepJob:
    """The job of a line on a table, by its content and schema; of an upload for this session only.

    Parameters
    ----------
    folds : int
        1: the split of all pages. More: cross-validation.
    check : bool
        Raise ValueError for settings that cannot be simulated.
    """
    table = tables.read_by(table, line.settings)
    releases = _releases((table.schema_key, fingerprint(table.domain), *line.forest, folds), table, line)
    if check:
        releases.check(line.epsilons)
    return releases.job(line)


@cache.by_table(everybody=4, session=2)
def _split_folds(key: tuple, _table: Table) -> list[Split]:
    rows = SimpleNamespace(domain=_table.domain, X=_table.columns(), y=_table.frame[_table.label])
    return sweep.splits(rows, key[-1], 0)


def splits_of(table: Table, folds: int) -> list[Split]:
    """The split of all pages, or cross-validation."""
    if folds == 1:
        return [tables.split(table)]
    return _split_folds((table.schema_key, fingerprint(table.domain), folds), table)


@cache.for_session(max_entries=64)
def promise(fingerprint: str, settings: ForestSettings, n_rows: int, _domain: Domain) -> tuple[Certificate, Ledger]:
    """Certificate and ledger that a release would carry, from public knowledge."""
    return settings.estimator(_domain).preview(_domain, n_rows)
