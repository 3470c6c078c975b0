"""The base class of simulations. A simulation computes one release of a forest at each ε, in small steps.

The simulation reads raw rows and draws its noise from known seeds. So its results are not private: they are for the
curator, who may see the rows, and never for publication.
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

# Repeat r draws trees with seed r. It draws noise, and the tree of each row, with seed r + NOISE_SEED.
NOISE_SEED: Final = 1_000_003
ONE_CELL: Final = ((None, None),)
_LOOK: Final = 0.05  # `in_threads` waits at most this many seconds before it yields to its caller

Cell = tuple[int | None, int | None]  # depth and number of trees; None means that the forest keeps its parameter
Row = dict[str, Any]  # figures of one release, with the keys that `Simulation.pieces` lists
Place = TypeVar("Place")
Result = TypeVar("Result")


class Simulation:
    """Base class of the simulated releases of one forest on one split.

    Parameters
    ----------
    forest : ForestClassifier
        Estimator whose releases are simulated; its epsilon and seeds are not used.
    domain : Domain
        Public schema with which the rows of `split` are encoded.
    split : Split
        Rows to fit on and held-out rows.
    n_rows : int, optional
        Number of rows that a release would be fitted on. The fit plans the depth, the number of trees and the shares of
        ε from this number. By default it is the number of all rows of the split, because a release holds no rows out.
    n_jobs : int
        Number of threads.

    Raises
    ------
    ValueError
        If the forest cannot use rows that are encoded with this domain.
    """

    def __init__(
        self, forest: ForestClassifier, domain: Domain, split: Split, *, n_rows: int | None = None, n_jobs: int = 1
    ):
        forest.check_reading_domain(domain)
        self.forest = clone(forest).set_params(domain=None)
        self.domain, self.split, self.n_jobs = domain, split, n_jobs
        self.n_rows = split.n_train + len(split.y_test) if n_rows is None else n_rows
        self.positive = int(
            np.bincount(split.y_train, minlength=domain.n_classes).argmin()
        )  # F1 measures the rarest class

    def check(self, epsilons: Sequence[float]) -> None:
        """Raise ValueError if a release cannot be planned. Call this before any release is simulated."""
        raise NotImplementedError

    def pieces(self, epsilons: Sequence[float], cells: Sequence[Cell] = ONE_CELL, seed: int = 0) -> Iterator[list[Row]]:
        """Simulate one release at each ε and cell, in small steps. The caller may stop after any step.

        Parameters
        ----------
        epsilons : sequence of float
            Budgets, in the order in which they are simulated; infinity means no noise.
        cells : sequence of (int or None, int or None)
            Result of `cells_of`.
        seed : int
            Seed of the structure; the seed of assignment and noise is larger by `NOISE_SEED`.

        Yields
        ------
        list of dict
            Figures of the releases that a step has finished; the list may be empty. Each release has one dict with
            ``epsilon``, ``cell`` (index of the cell in `cells`), ``depth``, ``trees``, the `METRICS` on held-out rows,
            ``right`` (a bit for each held-out row: whether it is classified correctly, from `packed`), ``flips`` (share
            of fitted rows in leaves whose class was changed by noise, from `metrics.flipped_share`), and ``empty``
            (share of leaves without rows).
        """
        raise NotImplementedError

    def view(self, epsilon: float, seed: int = 0) -> ForestView:
        """Simulate one release, and return it leaf by leaf."""
        raise NotImplementedError

    def flips_at(self, view: ForestView, tree: int, present: float, epsilon: float) -> np.ndarray | None:
        """Return the probability that noise at another ε would flip each leaf of one tree of a view.

        The leaves keep the rows of the view; only the noise follows the new ε. Noise flips a leaf if it selects a class
        with less evidence than another class has.

        Parameters
        ----------
        view : ForestView
            Result of `view` at the ε `present`.
        tree : int
            Index of the tree.
        present, epsilon : float
            The ε of the view, and the ε of the noise.

        Returns
        -------
        float array of shape (n_leaves of the tree,), or None
            NaN in empty leaves, as in `ForestView.flip`. None if another ε would also change the trees.
        """
        return None

    @property
    def n_bytes(self) -> int:
        """Number of bytes of the data that are kept for the next `view`."""
        return 0

    def forget(self) -> None:
        """Drop the data that are kept for the next `view`. The next `view` then computes these data again."""


def packed(right: np.ndarray) -> bytes:
    """Store in one bit for each held-out row whether it is classified correctly."""
    return np.packbits(right).tobytes()


def unpacked(bits: Sequence[bytes], n_test: int) -> np.ndarray:
    """Undo `packed` for several releases: return whether each classifies each row correctly, (n_releases, n_test).

    >>> unpacked([packed(np.array([True, False, True]))], 3).tolist()
    [[True, False, True]]
    """
    stored = np.frombuffer(b"".join(bits), np.uint8).reshape(len(bits), -(-n_test // 8))
    return np.unpackbits(stored, axis=1, count=n_test).view(bool)


def in_threads(work: Callable[[Place], Result], places: Sequence[Place], n_jobs: int) -> Iterator[Result | None]:
    """Call `work` for each of `places` in several threads, and yield each result as soon as it is computed.

    While no result is ready, yield None every `_LOOK` seconds, so that the caller can stop or do other work. With one
    thread, results come in the order of `places`, without None between them. If the caller drops the generator, calls
    that have started still run to their end.
    """
    if n_jobs == 1:
        yield from map(work, places)
        return
    pool, running, todo = ThreadPoolExecutor(n_jobs), set[Future[Result]](), list(places)[::-1]
    try:
        while todo or running:
            while todo and len(running) < n_jobs:
                running.add(pool.submit(work, todo.pop()))
            finished, running = wait(running, _LOOK, FIRST_COMPLETED)
            if not finished:
                yield None
            for future in finished:
                yield future.result()
    finally:
        pool.shutdown(wait=False, cancel_futures=True)
