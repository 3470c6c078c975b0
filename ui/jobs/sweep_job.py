"""Simulated releases of forests. All pages share them, and all sessions share the releases of public tables.

Pages request different ε and numbers of releases, but each page shows the mean over all finished releases. So all pages
show the same accuracy of a forest at an ε.
"""

from __future__ import annotations

import math
import threading
import time
import weakref
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any, Final

from dpforest.privacy.certificate import Certificate
from dpforest.privacy.ledger import Ledger
from dpforest.simulation import sweep
from dpforest.simulation.cells import cells_of, promises_of
from dpforest.simulation.pieces import Row, Simulation
from dpforest.simulation.splits import Split
from dpforest.simulation.sweep import one_repeat, simulation_for
from dpforest.simulation.views import ForestView
from dpforest.tables.domain import Domain
from ui.forest.forests import EPSILONS, ForestSettings
from ui.jobs.job import Job
from ui.jobs.made_once import MadeOnce
from ui.jobs.priority import Scheduler, held
from ui.jobs.workers import N_CORES
from ui.shared import cache, tables
from ui.shared.tables import Table, fingerprint

N_JOBS: Final = min(N_CORES, 4)
VIEWS: Final = Scheduler(1)  # a view simulates only one release, which is quick, so it does not wait for other jobs


@dataclass(frozen=True)
class Line:
    """A line of a chart: one forest at several ε, and optionally at several depths or numbers of trees.

    Parameters
    ----------
    settings : ForestSettings
        Kind and parameters of the forest.
    epsilons : tuple of float
        Values of ε in rising order.
    depths, trees : tuple of int
        Depths and numbers of trees to simulate. If empty, the settings determine the value.
    title : str
        Name of the line. If empty, the line has the name of the settings.
    without_noise : bool
        Whether to simulate also the forest without noise.
    """

    settings: ForestSettings
    epsilons: tuple[float, ...] = EPSILONS
    depths: tuple[int, ...] = ()
    trees: tuple[int, ...] = ()
    title: str = ""
    without_noise: bool = True

    @property
    def name(self) -> str:
        return self.title or self.settings.name

    @property
    def key(self) -> tuple:
        """Key of the simulations of the line. It does not contain the chosen ε of the settings."""
        return *self.forest, self.epsilons, self.title

    @property
    def forest(self) -> tuple:
        """Key of all settings that the releases of the line depend on, except the table and ε."""
        parameters = {**self.settings.estimator().get_params(), "epsilon": None}
        # Compare leaves α to the estimator, and Explore sets the same α itself. Both pages must get the same key.
        if parameters.get("alpha", 0.0) is None:
            parameters["alpha"] = 0.0 if self.settings.certified else "published"
        return self.settings.kind, tuple(sorted(parameters.items())), self.depths, self.trees


class Releases:
    """Simulated releases of one forest on one table. A piece is one repeat on one split, at all requested ε.

    Parameters
    ----------
    line : Line
        Line whose forest is simulated. The ε and the title of the line have no effect.
    domain : Domain
        Public schema of the table.
    splits : callable
        Returns the splits. It is called once, when the first piece is simulated.
    folds : int
        Number of splits.
    n_rows : int
        Number of rows that determines the depth and the number of trees of a release.
    of_upload : bool
        Whether the table is an upload. Then the results may be dropped after a while (`RESULTS`).

    Attributes
    ----------
    cells : list of (int or None, int or None)
        Depth and number of trees of each cell. None stands for the value in the settings.
    rows : dict
        Results by piece, then by ε. Each ε has a list with one row for each cell.
    n_result_bytes : int
        Number of bytes of the results that grow with the table: one bit for each held-out row and release.
    last_used : float
        Time of the last use by a page, as `time.monotonic` gives it.
    """

    def __init__(
        self,
        line: Line,
        domain: Domain,
        splits: Callable[[], list[Split]],
        folds: int,
        n_rows: int,
        *,
        of_upload: bool = False,
    ) -> None:
        self.forest, self.domain, self.folds = line.settings.estimator(domain), domain, folds
        self._splits = MadeOnce(splits)
        self.n_rows = n_rows
        self.cells = cells_of(self.forest, line.depths or None, line.trees or None)
        self.rows = dict[int, dict[float, list[Row]]]()
        self._jobs, self._checked = dict[tuple, SweepJob](), set[float]()
        self._simulation: Simulation | None = None
        # Numbers of rows by split. `add` needs them, but it may run in a thread that cannot read the table.
        self._sizes = dict[int, dict[str, int]]()
        self._views = dict[float, ForestView]()
        self._lock, self._viewing = threading.Lock(), threading.Lock()
        self._of_upload, self.n_result_bytes, self.last_used = of_upload, 0, time.monotonic()

    def job(self, line: Line) -> SweepJob:
        """Return the job that computes these releases at the ε of a line. The job has the name of the line."""
        with self._lock:
            return self._jobs.setdefault((line.epsilons, line.name, line.without_noise), SweepJob(line, self))

    def check(self, epsilons: Sequence[float]) -> None:
        """Raise ValueError if the forest cannot be simulated at these ε."""
        if unchecked := [epsilon for epsilon in epsilons if epsilon not in self._checked]:
            self.simulation(0).check(unchecked)
            self._checked.update(unchecked)

    def add(self, n: int, rows: Sequence[Row]) -> None:
        """Keep the results of one step of piece n. A step may cover only some cells of an ε."""
        if not rows:
            return
        sizes = {} if "n_test" in rows[0] else self._sizes[n % self.folds]
        with self._lock:
            kept = dict(self.rows.get(n, {}))
            for row in rows:
                others = [other for other in kept.get(row["epsilon"], []) if other["cell"] != row["cell"]]
                kept[row["epsilon"]] = sorted([*others, {**row, **sizes}], key=lambda row: row["cell"])
            self.rows[n] = kept
            self.n_result_bytes += sum(len(row["right"]) for row in rows)
        self.use()

    def use(self) -> None:
        """Record that a page uses these releases."""
        self.last_used = time.monotonic()
        if self._of_upload:
            RESULTS.use(self)

    def finished_epsilons(self, n: int) -> set[float]:
        """Return the ε at which piece n has the results of all cells."""
        return {epsilon for epsilon, rows in self.rows.get(n, {}).items() if len(rows) == len(self.cells)}

    def split(self, n: int) -> Split:
        """Return the split of piece n.

        Only the thread of a page may call this method, because other threads cannot use Streamlit's caches.
        """
        split = self._splits()[n % self.folds]
        self._sizes[n % self.folds] = {"n_train": len(split.y_train), "n_test": len(split.y_test)}
        return split

    def simulation(self, n: int) -> Simulation:
        """Return the simulation of piece n. If there is only one split, all pieces share one simulation."""
        if self.folds > 1 or self._simulation is None:
            simulation = simulation_for(self.forest, self.domain, self.split(n), n_rows=self.n_rows, n_jobs=N_JOBS)
            if self.folds > 1:
                return simulation
            self._simulation = simulation
        return self._simulation

    def view(self, epsilon: float) -> ForestView:
        """Return the first simulated release at an ε, with its trees and leaves. The last two views are kept."""
        with held(self._viewing):
            view = self._views.get(epsilon)
            if view is None:
                with VIEWS.turn(interactive=True):
                    view = self.simulation(0).view(epsilon)
                self._views = {**dict(list(self._views.items())[-1:]), epsilon: view}
        TREES.use(self)
        return view

    @property
    def n_bytes(self) -> int:
        """Approximate number of bytes of the trees and leaves in memory."""
        in_simulation = self._simulation.n_bytes if self._simulation else 0
        return in_simulation + sum(40 * len(view.counts) for view in self._views.values())

    def forget(self) -> None:
        """Drop trees and leaves, but keep the results."""
        self._views = {}
        if self._simulation is not None:
            self._simulation.forget()

    def forget_results(self) -> None:
        """Drop the results. A page that needs them simulates the same releases again."""
        with self._lock:
            self.rows, self.n_result_bytes = {}, 0


class _PiecesAt:
    """Pieces of `Releases` by number, for a job at the given ε. It contains a piece if all these ε are simulated."""

    def __init__(self, releases: Releases, epsilons: frozenset[float]) -> None:
        self._releases, self._epsilons = releases, epsilons

    def __contains__(self, n: int) -> bool:
        return self._epsilons <= self._releases.finished_epsilons(n)

    def __getitem__(self, n: int) -> list[Row]:
        rows = self._releases.rows[n]
        return [row for epsilon in sorted(self._epsilons) for row in rows[epsilon]]

    def __setitem__(self, n: int, rows: list[Row]) -> None:
        self._releases.add(n, rows)


class SweepJob(Job[list[Row]]):
    """Job that simulates releases of one forest at the ε of a line; with `line.without_noise`, also at ε = ∞."""

    def __init__(self, line: Line, releases: Releases) -> None:
        super().__init__()
        self.line, self.name, self.releases = line, line.name, releases
        self.epsilons = (*line.epsilons, math.inf) if line.without_noise else line.epsilons
        self.pieces: Any = _PiecesAt(releases, frozenset(self.epsilons))
        self._losses = dict[float, float]()

    def _missing(self, n: int) -> list[float]:
        """Return the ε at which piece n is not simulated yet, sorted by their distance from the chosen ε."""
        chosen = self.line.settings.epsilon
        missing = set(self.epsilons) - self.releases.finished_epsilons(n)
        return sorted(missing, key=lambda epsilon: abs(math.log(epsilon / chosen)))

    def task(self, n: int) -> tuple:
        """Return the function and arguments that simulate piece n: repeat n // folds on split n % folds."""
        releases = self.releases
        return one_repeat, (
            releases.forest,
            releases.domain,
            releases.split(n),
            self._missing(n),
            releases.cells,
            n // releases.folds,
            releases.n_rows,
        )

    def steps(self, n: int) -> Generator[float, None, list[Row]]:
        """Simulate piece n. The results of each step are kept, so a later call continues after the last step."""
        releases, missing = self.releases, self._missing(n)
        n_cells, n_rows = len(releases.cells) * len(missing), 0
        for rows in releases.simulation(n).pieces(missing, releases.cells, n // releases.folds) if missing else ():
            releases.add(n, rows)
            n_rows += len(rows)
            yield n_rows / n_cells
        if n == 0:
            TREES.use(releases)
        return []

    def so_far(self) -> dict[float, float]:
        """Return the accuracy of piece 0 at each finished ε, as a dict by ε."""
        rows = self.releases.rows
        return {epsilon: rows[0][epsilon][0]["accuracy"] for epsilon in self.releases.finished_epsilons(0)}

    def loss(self, epsilon: float) -> float:
        """Return an upper bound on the privacy loss of a release at this ε in any cell. It may be infinite."""
        if epsilon not in self._losses:
            releases = self.releases
            promises = promises_of(releases.forest, releases.domain, [epsilon], releases.cells, releases.n_rows)
            self._losses[epsilon] = max(loss for _, loss in promises.values())
        return self._losses[epsilon]

    def rows(self, n_pieces: int) -> list[Row]:
        """Return one row for each ε and cell of the first `n_pieces` pieces, with the columns of `sweep.surface`."""
        releases, rows = self.releases, []
        releases.last_used = time.monotonic()
        for n in range(n_pieces):
            piece_columns = {"forest": self.name, "repeat": n // releases.folds, "fold": n % releases.folds}
            rows += [{**piece_columns, **row} for row in self.pieces[n]]
        return rows


class MemoryLimit:
    """Limits one kind of memory of all `Releases` together. The least recently used ones drop it first.

    Parameters
    ----------
    most_bytes : int
        Limit for all releases together. The releases in use keep their memory, whatever its size.
    n_bytes, forget : callable
        Functions of `Releases`: the number of bytes of this memory, and a function that drops it.
    idle_seconds : float
        Releases that a page has used within this time also keep their memory.
    """

    def __init__(
        self,
        most_bytes: int,
        n_bytes: Callable[[Releases], int],
        forget: Callable[[Releases], None],
        idle_seconds: float = 0,
    ) -> None:
        self._most, self._n_bytes, self._forget, self._idle = most_bytes, n_bytes, forget, idle_seconds
        self._known, self._lock = weakref.WeakSet[Releases](), threading.Lock()  # weak: a session frees its releases

    def use(self, releases: Releases) -> None:
        """Record that these releases are in use. If the limit is exceeded, other releases drop their memory."""
        releases.last_used = now = time.monotonic()
        with self._lock:
            self._known.add(releases)
            bytes_over = sum(map(self._n_bytes, self._known)) - self._most
            if bytes_over <= 0:
                return
            for old in sorted(self._known, key=lambda known: known.last_used):
                if bytes_over <= 0 or old is releases or now - old.last_used < self._idle:
                    break
                bytes_over -= self._n_bytes(old)
                self._forget(old)


# Trees and leaves are made again quickly, so releases drop them as soon as the limit is exceeded.
TREES: Final = MemoryLimit(400_000_000, lambda releases: releases.n_bytes, Releases.forget)
# A release has one bit for each held-out row. So an upload of many rows would fill the memory as its user tries
# settings. Sessions share the results on bundled tables, which are small, so these results have no limit.
RESULTS: Final = MemoryLimit(
    200_000_000, lambda releases: releases.n_result_bytes, Releases.forget_results, idle_seconds=120
)


@cache.by_table(everybody=256, session=96)
def _releases(key: tuple, _table: Table, _line: Line) -> Releases:
    n_rows = tables.planned_rows(_table, _line.settings)
    return Releases(
        _line, _table.domain, lambda: splits_of(_table, key[-1]), key[-1], n_rows, of_upload=_table.uploaded
    )


def sweep_job(table: Table, line: Line, folds: int = 1, *, check: bool = True) -> SweepJob:
    """Return the job of a line on a table.

    Sessions share the jobs of public tables; a job of an upload belongs to one session.

    Parameters
    ----------
    table : Table
        Table whose rows the releases are simulated from.
    line : Line
        Forest and ε of the releases.
    folds : int
        1 for the split that all pages use, or the number of folds of a cross-validation.
    check : bool
        Whether to raise ValueError for settings that cannot be simulated.
    """
    table = tables.read_by(table, line.settings)
    releases = _releases((table.schema_key, fingerprint(table.domain), *line.forest, folds), table, line)
    releases.use()
    if check:
        releases.check(line.epsilons)
    return releases.job(line)


@cache.by_table(everybody=4, session=2)
def _split_folds(key: tuple, _table: Table) -> list[Split]:
    rows = SimpleNamespace(domain=_table.domain, X=_table.columns(), y=_table.frame[_table.label])
    return sweep.splits(rows, key[-1], 0, groups=_table.identifiers)


def splits_of(table: Table, folds: int) -> list[Split]:
    """Return the split that all pages use (`folds` = 1), or the splits of a cross-validation."""
    if folds == 1:
        return [tables.split(table)]
    return _split_folds((table.schema_key, fingerprint(table.domain), table.unit, folds), table)


@cache.for_session(max_entries=64)
def promise(fingerprint: str, settings: ForestSettings, n_rows: int, _domain: Domain) -> tuple[Certificate, Ledger]:
    """Return the certificate and the ledger that a release would have. They depend only on public knowledge."""
    return settings.estimator(_domain).preview(_domain, n_rows)
