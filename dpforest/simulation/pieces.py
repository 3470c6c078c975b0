"""The base class of simulations, which yield one release of a forest at each ε, step by step.

Everything here is simulated from seeds and computed from raw rows: for the curator to look at, never to publish.
"""

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from typing import Any, Final, TypeVar

import numpy as np
from sklearn.base import clone

from dpforest.models.base import ForestClassifier
from dpforest.simulation.splits import Split
from dpforest.simulation.views import ForestView
from dpforest.tables.domain import Domain

# Repeat r has seed r for structure, and r + NOISE_SEED for assignment and noise.
NOISE_SEED: Final = 1_000_003
ONE_CELL: Final = ((None, None),)
_LOOK: Final = 0.05  # seconds after which a wait for threads yields to the caller

Cell = tuple[int | None, int | None]  # depth and number of trees; None for the forest's parameter
Row = dict[str, Any]  # ε, cell, depth, trees, all metrics, flips, empty
Place = TypeVar("Place")
Result = TypeVar("Result")


class Simulation:
    """Base class of the simulated releases of one forest on one split. Not for use by itself.

    Parameters
    ----------
    forest : ForestClassifier
        Estimator whose releases are simulated; its epsilon and seeds are not used.
    domain : Domain
    split : Split
    n_rows : int, optional
        Number of rows that the release would be fitted on, from which rules plan depth, number of trees and shares of
        ε. By default all rows of the split, because a release holds none out.
    n_jobs : int
        Number of threads.

    Raises
    ------
    ValueError
        If the rows are encoded on a scale that the forest does not read.
    """

    def __init__(
        self, forest: ForestClassifier, domain: Domain, split: Split, *, n_rows: int | None = None, n_jobs: int = 1
    ):
        forest.check_reading_domain(domain)
        self.forest = clone(forest).set_params(domain=None)
        self.domain, self.split, self.n_jobs = domain, split, n_jobs
        self.n_rows = len(split.y_train) + len(split.y_test) if n_rows is None else n_rows
        self.positive = int(np.bincount(split.y_train, minlength=domain.n_classes).argmin())  # class for F1

    def check(self, epsilons: Sequence[float]) -> None:
        """Raise ValueError if a release cannot be planned, before any is simulated."""
        raise NotImplementedError

    def pieces(self, epsilons: Sequence[float], cells: Sequence[Cell] = ONE_CELL, seed: int = 0) -> Iterator[list[Row]]:
        """Simulate one release at each ε and cell, step by step. The caller may drop the generator between two steps.

        Parameters
        ----------
        epsilons : sequence of float
            Budgets, infinity for no noise. Those at the front are simulated first.
        cells : sequence of (int or None, int or None)
            Result of `cells_of`.
        seed : int
            Seed of the structure; the seed of assignment and noise is larger by `NOISE_SEED`.

        Yields
        ------
        list of dict
            Figures of the releases that a step has finished, possibly none. Each ε and cell has a dict with
            ``epsilon``, ``cell`` (its index in `cells`), ``depth``, ``trees``, the `METRICS` on held-out rows,
            ``flips`` (share of fitted rows in leaves whose class noise has changed, as in `metrics.flipped_share`), and
            ``empty`` (share of leaves without rows).
        """
        raise NotImplementedError

    def view(self, epsilon: float, seed: int = 0) -> ForestView:
        """Simulate one release, and return it leaf by leaf."""
        raise NotImplementedError

    @property
    def n_bytes(self) -> int:
        """Number of bytes that are kept for the next `view`."""
        return 0

    def forget(self) -> None:
        """Drop the data that are kept for the next `view`, which computes them again."""


def in_threads(work: Callable[[Place], Result], places: Sequence[Place], n_jobs: int) -> Iterator[Result | None]:
    """Yield the result of `work` at each place, with several places at a time, and None now and then while they run.

    With one thread, results are in the order of the places. If the caller drops the generator, work that has started
    still runs to its end.
    """
    if n_jobs == 1:
        yield from map(work, places)
        return
    pool, running, todo = ThreadPoolExecutor(n_jobs), set[Future[Result]](), list(places)[::-1]
    try:
        while todo or running:
            while todo and len(running) < n_jobs:
                running.add(pool.submit(work, todo.pop()))
            done, running = wait(running, _LOOK, FIRST_COMPLETED)
            if not done:
                yield None
            for future in done:
                yield future.result()
    finally:
        pool.shutdown(wait=False, cancel_futures=True)
