"""Sweeps of several forests as far as they are done: what stands behind a point, and what is at stake."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from dpforest.evaluation.stakes import Stakes, stakes
from dpforest.simulation.sweep import summary
from dpforest.tables.features import plural
from ui.jobs import baselines
from ui.jobs.baselines import Baselines
from ui.jobs.sweep import Cells

QUANTILES = (0.1, 0.9)


@dataclass(frozen=True, eq=False)
class Done:
    """A sweep as far as it is: all pieces, and what is said of them for each cell."""

    pieces: pd.DataFrame
    cells: pd.DataFrame  # of `sweep.summary`
    n: int
    folds: int

    @property
    def behind(self) -> str:
        """How many repeats and splits stand behind each point."""
        releases = plural(-(-self.n // self.folds), "simulated release")
        if self.folds == 1:
            return f"{releases} on one split"
        if self.n < self.folds:
            return f"one simulated release on each of {plural(self.n, 'split')}"
        rest = f", the last on {self.n % self.folds} only" if self.n % self.folds else ""
        return f"{releases} on each of {self.folds} splits{rest}"


def gathered(lines: Sequence[Cells], n: int, folds: int) -> Done:
    """The first n pieces of every line."""
    pieces = pd.concat([line.frame(n) for line in lines], ignore_index=True)
    return Done(pieces, summary(pieces, QUANTILES), n, folds)


def ceiling_of_sweep(done: Done, levels: list[Baselines], measure: str) -> tuple[str, float] | None:
    """Name and figure of the best model without privacy, the forests' own among them; None while some are fitted.

    Parameters
    ----------
    measure : str
        As the engine names it.
    """
    others = baselines.best(levels, measure)
    if others is None:
        return None
    nonprivate = done.cells[measure]["mean"].reset_index()
    nonprivate = nonprivate[np.isinf(nonprivate["epsilon"])].dropna(subset=["mean"])
    own = [
        (f"{name} without noise", float(m)) for name, m in zip(nonprivate["forest"], nonprivate["mean"], strict=True)
    ]
    return max((f"{others[0]}, no privacy", others[1]), *own, key=lambda item: item[1])


def stakes_of_sweep(done: Done, levels: list[Baselines], measure: str) -> dict[str, Stakes]:
    """What each forest has to lose by a measure; where guessing has no figure (F1), by balanced accuracy."""
    floor = baselines.floor(levels, measure)
    if floor is None:
        return stakes_of_sweep(done, levels, "balanced_accuracy")
    n, best = baselines.rows(levels, measure), baselines.best(levels, measure)
    found = {}
    for name, own in done.pieces.groupby("forest"):
        by_repeat = own.pivot_table(index="repeat", columns="epsilon", values=measure, dropna=False)
        private = by_repeat.loc[:, np.isfinite(by_repeat.columns)].to_numpy(float)
        found[str(name)] = stakes(private, by_repeat[np.inf].to_numpy(float), floor, n, best=best and best[1])
    return found
