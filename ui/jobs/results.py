"""Results of sweeps, also of unfinished ones: figures of each forest, and how far they are above guessing."""

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
    """Figures of all finished pieces of some jobs, and their summary. A piece is one repeat on one split.

    Attributes
    ----------
    pieces : DataFrame
        One row for each piece, forest, ε and cell, in the format of `sweep.surface`.
    cells : DataFrame
        Means and quantiles over pieces, in the format of `sweep.summary`.
    n : int
        Number of pieces that every job has.
    folds : int
        Number of splits.
    most : int
        Number of pieces of the job that has most.
    """

    pieces: pd.DataFrame
    cells: pd.DataFrame
    n: int
    folds: int
    most: int = 0

    @property
    def rests_on(self) -> str:
        """A phrase that states how many simulated releases and splits each point rests on."""
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
        """The finite ε, in rising order."""
        return np.sort(self.pieces.loc[np.isfinite(self.pieces["epsilon"]), "epsilon"].unique())

    @property
    def forests(self) -> list[str]:
        """Names of the forests."""
        return [str(name) for name in self.pieces["forest"].unique()]

    def _by_repeat(self, measure: str, forest: str | None) -> pd.DataFrame:
        pieces = self.pieces if forest is None else self.pieces[self.pieces["forest"] == forest]
        return pieces.pivot_table(index="repeat", columns="epsilon", values=measure, dropna=False)

    def private(self, measure: str, forest: str | None = None) -> np.ndarray:
        """A measure of one forest with noise, mean over splits, float array of shape (n_repeats, n_epsilons).

        `forest` is its name. It may be None if there is one forest only.
        """
        by_repeat = self._by_repeat(measure, forest)
        return by_repeat.loc[:, np.isfinite(by_repeat.columns)].to_numpy(float)

    def without_noise(self, measure: str, forest: str | None = None) -> np.ndarray:
        """The same measure without noise, float array of shape (n_repeats,)."""
        return self._by_repeat(measure, forest)[np.inf].to_numpy(float)


def gathered(jobs: Sequence[SweepJob]) -> SweepResult:
    """The result of some jobs, from all of their finished pieces."""
    frames = [job.frame() for job in jobs]
    pieces = pd.concat(frames, ignore_index=True)
    sizes = [len(frame[["repeat", "fold"]].drop_duplicates()) for frame in frames]
    return SweepResult(pieces, summary(pieces, QUANTILES), min(sizes), jobs[0].releases.folds, max(sizes))


class Ceiling(NamedTuple):
    """The best model without privacy."""

    name: str
    value: float
    is_forest: bool  # whether it is one of the forests of the sweep, without noise

    @property
    def words(self) -> str:
        return f"{self.name} without noise" if self.is_forest else f"{self.name}, no privacy"


def ceiling_of(result: SweepResult, levels: list[Baselines], measure: str) -> Ceiling | None:
    """The best model without privacy, or the best forest without noise if that is better. None until all are fitted.

    Parameters
    ----------
    levels : list of Baselines
        Baselines on each split.
    measure : str
        Name of the measure in the engine, such as "balanced_accuracy".
    """
    others = baselines.best(levels, measure)
    if others is None:
        return None
    exact = result.cells[measure]["mean"].reset_index()
    exact = exact[np.isinf(exact["epsilon"])].dropna(subset=["mean"])
    forests = [Ceiling(str(name), float(m), True) for name, m in zip(exact["forest"], exact["mean"], strict=True)]
    return max(Ceiling(*others, False), *forests, key=lambda ceiling: ceiling.value)


def headroom_of(result: SweepResult, levels: list[Baselines], measure: str) -> dict[str, Headroom]:
    """How far each forest is above guessing, by name. For F1, where guessing has no figure, by balanced accuracy."""
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
