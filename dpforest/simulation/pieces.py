"""One simulated release of a forest at each ε, piece by piece: what forests of all kinds share.

Everything here is simulated from seeds and computed from raw rows. It is for looking at, never for publishing.
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

# Seeds of repeat r: structure r, assignment and noise this much further.
NOISE_SEED: Final = 1_000_003
ONE_CELL: Final = ((None, None),)
_LOOK: Final = 0.05  # seconds between two looks whether to go on

Cell = tuple[int | None, int | None]  # depth and number of trees; None for the forest's own
Row = dict[str, Any]  # ε, cell, depth, trees, all metrics, flips, empty
Place = TypeVar("Place")
Result = TypeVar("Result")


class Simulation:
    """Simulated releases of one forest on one split. Not for use by itself.

    Parameters
    ----------
    forest : ForestClassifier
        Its epsilon and seeds are not used.
    domain : Domain
    split : Split
    n_rows : int, optional
        Rows that the release would be fitted on: rules plan depth, number of trees and shares of ε for so many. By
        default all rows of the split, also those held out, which a release would not hold out.
    n_jobs : int
        Threads.

    Raises
    ------
    ValueError
        If rows are encoded on another scale than the forest reads.
    """

    def __init__(
        self, forest: ForestClassifier, domain: Domain, split: Split, *, n_rows: int | None = None, n_jobs: int = 1
    ):
        forest.check_reading_domain(domain)
        self.forest = clone(forest).set_params(domain=None)
        self.domain, self.split, self.n_jobs = domain, split, n_jobs
        self.n_rows = len(split.y_train) + len(split.y_test) if n_rows is None else n_rows
        self.positive = int(np.bincount(split.y_train, minlength=domain.n_classes).argmin())  # that F1 is about

    def check(self, epsilons: Sequence[float]) -> None:
        """Raise ValueError for what cannot be planned, before anything is simulated."""
        raise NotImplementedError

    def pieces(self, epsilons: Sequence[float], cells: Sequence[Cell] = ONE_CELL, seed: int = 0) -> Iterator[list[Row]]:
        """Simulate one release at each ε and cell, step by step; the generator may be dropped between two steps.

        Parameters
        ----------
        epsilons : sequence of float
            Infinity for no noise. Those that are wanted first come first.
        cells : sequence of (int or None, int or None)
            As of `cells_of`.
        seed : int
            Of the structure; that of assignment and noise is `NOISE_SEED` more.

        Yields
        ------
        list of dict
            Figures of what a step has finished, empty where it has finished nothing: a dict for each ε and cell with
            ``epsilon``, ``cell`` (its place in `cells`), ``depth``, ``trees``, the `METRICS` on the rows held out,
            ``flips`` (share of rows whose leaf says something else than it would without noise), and ``empty`` (share
            of leaves without rows).
        """
        raise NotImplementedError

    def view(self, epsilon: float, seed: int = 0) -> ForestView:
        """One simulated release, leaf by leaf."""
        raise NotImplementedError

    @property
    def n_bytes(self) -> int:
        """Of what is kept for the next `view`."""
        return 0

    def forget(self) -> None:
        """Drop what is kept for the next `view`; it is made again when it is asked for."""


def in_threads(work: Callable[[Place], Result], places: Sequence[Place], n_jobs: int) -> Iterator[Result | None]:
    """What the work gives at each place, some at a time, and None now and then while it runs.

    In the order of the places where there is one thread. If the generator is dropped, what runs comes to its end
    behind the scenes.
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
