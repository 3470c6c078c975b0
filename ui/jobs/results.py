"""Results of the simulated releases that are finished so far: metrics, ceiling and headroom of the forests."""

from __future__ import annotations

import math
import weakref
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final, NamedTuple

import numpy as np
import pandas as pd

from dpforest.evaluation.group_rates import worst_accuracy
from dpforest.evaluation.groups import Groups
from dpforest.evaluation.headroom import Headroom, headroom
from dpforest.simulation import sweep
from dpforest.simulation.pieces import Row
from dpforest.tables.features import plural
from ui.jobs.baselines import Baselines, best_model, effective_rows, floor_of
from ui.jobs.sweep_job import SweepJob

QUANTILES: Final = (0.1, 0.9)
_LATEST: Final = weakref.WeakKeyDictionary[SweepJob, "SweepResult"]()  # latest result of each job


@dataclass(frozen=True, eq=False)
class SweepResult:
    """Metrics of all finished pieces of some jobs, and their summary.

    A piece is one repeat on one split, and a cell is a pair of a depth and a number of trees. The data frames `pieces`
    and `cells` are built only when they are first read, because a page on which only ε moves does not need them.

    Attributes
    ----------
    rows : list of dict
        One row for each piece, forest, ε and cell, with the columns of `sweep.surface`.
    n : int
        Smallest number of finished pieces of a job.
    folds : int
        Number of splits.
    most : int
        Largest number of finished pieces of a job.
    """

    rows: list[Row]
    n: int
    folds: int
    most: int = 0

    @property
    def rests_on(self) -> str:
        """A phrase that states over how many simulated releases and splits the mean at each point is taken."""
        repeats, most = -(-self.n // self.folds), -(-max(self.most, self.n) // self.folds)
        releases = plural(repeats, "simulated release")
        if most > repeats:
            releases = f"{repeats} to {plural(most, 'simulated release')}"
        if self.folds == 1:
            return f"{releases} on one held-out set"
        if self.n < self.folds:
            return f"one simulated release on each of {plural(self.n, 'split')}"
        last_repeat = f", the last on {self.n % self.folds} only" if self.n % self.folds else ""
        return f"{releases} on each of {self.folds} splits{last_repeat}"

    @cached_property
    def pieces(self) -> pd.DataFrame:
        """The rows as a data frame with the columns of `sweep.surface`."""
        frame = pd.DataFrame(self.rows)
        keys = [key for key in sweep.KEYS if key in frame]
        return frame[[*keys, *(column for column in frame if column not in (*keys, "cell", "right"))]]

    @cached_property
    def cells(self) -> pd.DataFrame:
        """Means and quantiles over pieces, in the format of `sweep.summary`."""
        return sweep.summary(self.pieces, QUANTILES)

    @cached_property
    def epsilons(self) -> np.ndarray:
        """The finite ε, in rising order."""
        return np.array(sorted({row["epsilon"] for row in self.rows} - {np.inf}))

    @cached_property
    def forests(self) -> list[str]:
        """Names of the forests."""
        return list(dict.fromkeys(str(row["forest"]) for row in self.rows))

    def private(self, measure: str, forest: str | None = None) -> np.ndarray:
        """Return a measure of one forest with noise, as the mean over splits and cells.

        The result is a float array of shape (n_repeats, n_epsilons). `forest` is the name of the forest; it may be None
        if there is only one forest.
        """
        return self._by_repeat(measure, forest)[:, :-1]

    def without_noise(self, measure: str, forest: str | None = None) -> np.ndarray:
        """Return a measure of one forest without noise, as the mean over splits and cells, float (n_repeats,)."""
        return self._by_repeat(measure, forest)[:, -1]

    def right(self, epsilon: float, forest: str | None = None) -> list[bytes]:
        """Return, for each release at this ε, which held-out rows it classifies correctly, as from `pieces.packed`.

        Releases are in the order of repeats, and within a repeat in the order of folds.
        """
        return [row["right"] for row in self.rows if row["epsilon"] == epsilon and forest in (None, row["forest"])]

    def means_without_noise(self, measure: str) -> list[tuple[str, float]]:
        """Return the name of each forest and the mean of its measure without noise, one pair for each cell."""
        values = defaultdict[tuple, list[float]](list)
        for row in self.rows:
            if math.isinf(row["epsilon"]):
                values[row["forest"], row.get("cell", 0)].append(row[measure])
        return [(str(forest), float(np.nanmean(measured))) for (forest, _), measured in values.items() if measured]

    def _by_repeat(self, measure: str, forest: str | None) -> np.ndarray:
        """Return the mean of a measure over splits and cells, float array of shape (n_repeats, n_epsilons + 1).

        The last column is ε = ∞. A mean is NaN if no row has the measure.
        """
        if (measure, forest) not in self._means:
            epsilons = {epsilon: i for i, epsilon in enumerate([*self.epsilons.tolist(), np.inf])}
            rows = [row for row in self.rows if forest is None or row["forest"] == forest]
            repeats = {repeat: i for i, repeat in enumerate(sorted({row["repeat"] for row in rows}))}
            flat_index = [repeats[row["repeat"]] * len(epsilons) + epsilons[row["epsilon"]] for row in rows]
            values = np.array([row[measure] for row in rows], float)
            known, size = np.isfinite(values), len(repeats) * len(epsilons)
            sums = np.bincount(flat_index, np.where(known, values, 0.0), size)
            counts = np.bincount(flat_index, known, size)
            means = np.divide(sums, counts, out=np.full(size, np.nan), where=counts > 0)
            self._means[measure, forest] = means.reshape(len(repeats), len(epsilons))
        return self._means[measure, forest]

    @cached_property
    def _means(self) -> dict[tuple[str, str | None], np.ndarray]:
        return {}


def with_worst_group(result: SweepResult, groups: Mapping[str, Sequence[Groups]]) -> SweepResult:
    """Return the result with a further measure "worst_group": each release's accuracy in the group where it is lowest.

    Only groups with enough persons are considered (`Groups.are_large`). The rows of the result also get "n_worst", the
    number of persons in the smallest of these groups.

    Parameters
    ----------
    groups : dict of str to sequence of Groups
        For each forest, by name, the groups of the rows that are held out in each split.
    """
    by_split = defaultdict[tuple, list[Row]](list)
    for row in result.rows:
        by_split[row["forest"], row["fold"]].append({**row})
    for (forest, fold), rows in by_split.items():
        of_fold = groups[forest][fold]
        smallest = int(of_fold.n_persons[of_fold.are_large].min(initial=len(of_fold.index)))
        for row, worst in zip(rows, worst_accuracy([row["right"] for row in rows], of_fold).tolist(), strict=True):
            row.update(worst_group=worst, n_worst=smallest)
    return SweepResult([row for rows in by_split.values() for row in rows], result.n, result.folds, result.most)


def gathered(jobs: Sequence[SweepJob]) -> SweepResult:
    """Collect all finished pieces of some jobs in one result."""
    sizes = [job.n_done for job in jobs]
    latest = _LATEST.get(jobs[0]) if len(jobs) == 1 else None
    if latest is not None and latest.n == sizes[0]:
        return latest
    rows = [row for job, n in zip(jobs, sizes, strict=True) for row in job.rows(n)]
    result = SweepResult(rows, min(sizes), jobs[0].releases.folds, max(sizes))
    if len(jobs) == 1:
        _LATEST[jobs[0]] = result
    return result


class Ceiling(NamedTuple):
    """Name of the best model without privacy, and its value of a measure."""

    name: str
    value: float
    is_forest: bool  # whether the model is one of the compared forests, without noise

    @property
    def words(self) -> str:
        return f"{self.name} without noise" if self.is_forest else f"{self.name}, no privacy"


def ceiling_of(result: SweepResult, baselines: list[Baselines], measure: str) -> Ceiling | None:
    """Return the best model among the models without privacy and the forests without noise.

    The result is None until all models are fitted.

    Parameters
    ----------
    baselines : list of Baselines
        Baselines on each split.
    measure : str
        Column of the measure in the result, such as "balanced_accuracy".
    """
    model = best_model(baselines, measure)
    if model is None:
        return None
    exact = result.means_without_noise(measure)
    forests = [Ceiling(name, mean, True) for name, mean in exact if np.isfinite(mean)]
    return max(Ceiling(*model, False), *forests, key=lambda ceiling: ceiling.value)


def headroom_of(result: SweepResult, baselines: list[Baselines], measure: str) -> dict[str, Headroom]:
    """Return the headroom of each forest, by name. Balanced accuracy replaces a measure that has no floor."""
    floor = floor_of(baselines, measure)
    if floor is None:
        return headroom_of(result, baselines, "balanced_accuracy")
    n, best = effective_rows(baselines, measure), best_model(baselines, measure)
    return {
        name: headroom(
            result.private(measure, name), result.without_noise(measure, name), floor, n, best=best and best[1]
        )
        for name in result.forests
    }


def is_no_better_than_guessing(result: SweepResult, baselines: Baselines, forest: str, epsilon: float) -> bool:
    """Return whether a forest is not clearly better than guessing at an ε.

    Its mean accuracy at the nearest simulated ε then exceeds that of guessing by no more than chance can explain.
    """
    nearest = int(np.abs(np.log(np.asarray(result.epsilons) / epsilon)).argmin())
    headroom = headroom_of(result, [baselines], "accuracy")[forest]
    return float(result.private("accuracy", forest)[:, nearest].mean()) <= headroom.floor + headroom.noise
