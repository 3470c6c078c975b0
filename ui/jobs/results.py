"""Sweeps as far as they are done: figures of each forest, what they rest on, and how far they are above guessing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

import numpy as np
import pandas as pd

from dpforest.evaluation.headroom import Headroom, headroom
from dpforest.simulation.sweep import summary
from dpforest.tables.features import plural
from ui.jobs import baselines
from ui.jobs.baselines import Baselines
from ui.jobs.sweep_job import SweepJob

QUANTILES: Final = (0.1, 0.9)


@dataclass(frozen=True, eq=False)
class SweepResult:
    """All pieces that there are of some jobs, and their summary.

    Attributes
    ----------
    pieces : DataFrame
        As of `sweep.surface`.
    cells : DataFrame
        As of `sweep.summary`.
    n : int
        Pieces that every job has.
    folds : int
    most : int
        Pieces that one of the jobs has, where some have more.
    """

    pieces: pd.DataFrame
    cells: pd.DataFrame
    n: int
    folds: int
    most: int = 0

    @property
    def rests_on(self) -> str:
        """How many repeats and splits each point rests on."""
        repeats, most = -(-self.n // self.folds), -(-max(self.most, self.n) // self.folds)
        releases = plural(repeats, "simulated release")
        if most > repeats:
            releases = f"{repeats} to {plural(most, 'simulated release')}"
        if self.folds == 1:
            return f"{releases} on one split"
        if self.n < self.folds:
            return f"one simulated release on each of {plural(self.n, 'split')}"
        rest = f", the last on {self.n % self.folds} only" if self.n % self.folds else ""
        return f"{releases} on each of {self.folds} splits{rest}"

    @property
    def epsilons(self) -> np.ndarray:
        """With privacy, rising."""
        return np.sort(self.pieces.loc[np.isfinite(self.pieces["epsilon"]), "epsilon"].unique())

    @property
    def forests(self) -> list[str]:
        """Their names."""
        return [str(name) for name in self.pieces["forest"].unique()]

    def _by_repeat(self, measure: str, forest: str | None) -> pd.DataFrame:
        pieces = self.pieces if forest is None else self.pieces[self.pieces["forest"] == forest]
        return pieces.pivot_table(index="repeat", columns="epsilon", values=measure, dropna=False)

    def private(self, measure: str, forest: str | None = None) -> np.ndarray:
        """A measure of one forest, mean over splits, float (repeats, ε); the forest's name where there are several."""
        by_repeat = self._by_repeat(measure, forest)
        return by_repeat.loc[:, np.isfinite(by_repeat.columns)].to_numpy(float)

    def without_noise(self, measure: str, forest: str | None = None) -> np.ndarray:
        """The same without noise, float (repeats,)."""
        return self._by_repeat(measure, forest)[np.inf].to_numpy(float)


def gathered(jobs: Sequence[SweepJob]) -> SweepResult:
    """All pieces that every job has."""
    frames = [job.frame() for job in jobs]
    pieces = pd.concat(frames, ignore_index=True)
    sizes = [len(frame[["repeat", "fold"]].drop_duplicates()) for frame in frames]
    return SweepResult(pieces, summary(pieces, QUANTILES), min(sizes), jobs[0].releases.folds, max(sizes))


class Ceiling(NamedTuple):
    """The best model without privacy."""

    name: str
    value: float
    is_forest: bool  # one of the forests without noise

    @property
    def words(self) -> str:
        return f"{self.name} without noise" if self.is_forest else f"{self.name}, no privacy"


def ceiling_of(result: SweepResult, levels: list[Baselines], measure: str) -> Ceiling | None:
    """The best model without privacy, the forests without noise among them; None while some are fitted.

    Parameters
    ----------
    measure : str
        As the engine names it.
    """
    others = baselines.best(levels, measure)
    if others is None:
        return None
    exact = result.cells[measure]["mean"].reset_index()
    exact = exact[np.isinf(exact["epsilon"])].dropna(subset=["mean"])
    forests = [Ceiling(str(name), float(m), True) for name, m in zip(exact["forest"], exact["mean"], strict=True)]
    return max(Ceiling(*others, False), *forests, key=lambda ceiling: ceiling.value)


def headroom_of(result: SweepResult, levels: list[Baselines], measure: str) -> dict[str, Headroom]:
    """How far each forest is above guessing by a measure; where guessing has no figure (F1), by balanced accuracy."""
    floor = baselines.floor(levels, measure)
    if floor is None:
        return headroom_of(result, levels, "balanced_accuracy")
    n, best = baselines.rows(levels, measure), baselines.best(levels, measure)
    return {
        name: headroom(
            result.private(measure, name), result.without_noise(measure, name), floor, n, best=best and best[1]
        )
        for name in result.forests
    }
