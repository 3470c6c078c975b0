"""What simulations of releases share: repeats over a grid of budgets, and the figures of a curve."""

from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from typing import Any

import numpy as np

from dpforest.simulation.splits import Split
from dpforest.simulation.views import ForestView
from dpforest.tables.domain import Domain

# Seeds of repeat r: structure r, assignment and noise this much further.
NOISE_SEED = 1_000_003
_LOOK = 0.05  # seconds between two looks whether to go on


@dataclass(frozen=True)
class Curve:
    """Held-out figures for R simulated releases at E budgets.

    Attributes
    ----------
    epsilons : float array of shape (E,)
    accuracy, balanced : float array of shape (R, E)
        Share of held-out rows predicted rightly; mean of that share over classes.
    flips : float array of shape (R, E)
        Share of the rows fitted on that sit in a leaf whose released label is not one of its most frequent classes.
    ceiling, ceiling_balanced : float array of shape (R,)
        The forest without noise: true majority labels (or true shares), all rows in all trees, the exact scale of the
        rows, and where a rule says depth and trees, the most that it knows.
    floor, floor_balanced : float
        Always predicting the class that is most frequent among the rows fitted on, `floor_class` (an index).
    """

    epsilons: np.ndarray
    accuracy: np.ndarray
    balanced: np.ndarray
    flips: np.ndarray
    ceiling: np.ndarray
    ceiling_balanced: np.ndarray
    floor: float
    floor_balanced: float
    floor_class: int
    n_train: int
    n_test: int


class Repeats:
    """What simulations share: a split, a grid of budgets, and the figures of each repeat. Not for use by itself."""

    def __init__(self, domain: Domain, split: Split, epsilons, seed: int, n_jobs: int) -> None:
        self.domain, self.split, self.seed, self.n_jobs = domain, split, seed, n_jobs
        self.epsilons = np.asarray(epsilons, float)
        self._figures: list[tuple] = []

    @property
    def n_repeats(self) -> int:
        return len(self._figures)

    def add_repeat(self, pause: Callable[[], None] = lambda: None, *, first: float | None = None) -> None:
        """Simulate once more at every budget.

        Parameters
        ----------
        pause : callable
            Called between two steps. If it raises, figures stay as they were.
        first : float, optional
            Budget that is wanted first, where one comes after another.
        """
        raise NotImplementedError

    def take_repeat(self, curve: Curve) -> None:
        """The next repeat: the first of a curve that was simulated elsewhere, from the seed `seed + n_repeats`."""
        self._figures.append(
            (curve.accuracy[0], curve.balanced[0], curve.flips[0], curve.ceiling[0], curve.ceiling_balanced[0])
        )

    @property
    def so_far(self) -> dict[float, float]:
        """Accuracy at the budgets that are done of a repeat that is not; empty where all come at once."""
        return {}

    def _at_each(self, places: Sequence[Any], work: Callable[[Any], Any], pause: Callable[[], None]) -> list[Any]:
        """What the work gives at every place, some at a time.

        `pause` is called often while they run. If it raises, what runs comes to its end behind the scenes.
        """
        pool, futures = ThreadPoolExecutor(self.n_jobs), list[Future[Any]]()
        running = set[Future[Any]]()
        try:
            for place in places:
                pause()
                futures.append(pool.submit(work, place))
                running.add(futures[-1])
                while len(running) >= self.n_jobs:
                    _, running = wait(running, _LOOK, FIRST_COMPLETED)
                    pause()
            return [future.result() for future in futures]
        finally:
            pool.shutdown(wait=False, cancel_futures=True)

    def view(self, epsilon: float) -> ForestView:
        """The first repeat's forest at one budget, leaf by leaf."""
        raise NotImplementedError

    @property
    def n_bytes(self) -> int:
        """Of what is kept for `view` alone."""
        return 0

    def forget(self) -> None:
        """Drop what only `view` needs; it is made again when it is asked for."""

    def curve(self) -> Curve:
        """Figures of all repeats so far."""
        split = self.split
        accuracy, balanced, flips, ceiling, ceiling_balanced = (np.array(a) for a in zip(*self._figures, strict=True))
        floor_class = int(np.bincount(split.y_train, minlength=self.domain.n_classes).argmax())
        return Curve(
            self.epsilons,
            accuracy,
            balanced,
            flips,
            ceiling,
            ceiling_balanced,
            floor=float((split.y_test == floor_class).mean()),
            floor_balanced=1 / len(np.unique(split.y_test)),
            floor_class=floor_class,
            n_train=len(split.y_train),
            n_test=len(split.y_test),
        )
