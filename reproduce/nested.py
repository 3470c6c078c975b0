"""Choice of depth and number of trees on held-out training rows, and accuracy of the chosen forest on test rows.

The choice depends on private rows. A certificate covers only settings that do not depend on the rows, and no ε pays for
this choice. So no result of this module counts as certified.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from dpforest.simulation.cells import cells_of
from dpforest.simulation.splits import Split
from dpforest.simulation.sweep import Task, run_task
from reproduce.protocol import nested_folds


def chosen(
    forest: Any,
    data: Any,
    *,
    epsilons: Sequence[float],
    depths: Sequence[int],
    trees: Sequence[int],
    n_folds: int,
    n_inner: int,
    n_looked: int | None = None,
    of_each: Sequence[str] = ("epsilon",),
) -> pd.DataFrame:
    """Choose the best settings on the inner folds of each fold, and return their accuracy on the test rows, in percent.

    Parameters
    ----------
    forest : estimator of the project
    data : object with X, y and domain
    epsilons, depths, trees : sequence
        Values of the settings from which the best combination is chosen. ε = ∞ is added to `epsilons`.
    n_folds, n_inner : int
    n_looked : int, optional
        Number of inner folds that are used; all by default.
    of_each : sequence of str
        Settings that are not chosen: either "epsilon", or "epsilon" and "depth". For each value of these settings, the
        best values of all other settings are chosen.

    Returns
    -------
    DataFrame
        A row for each fold and value: the columns `of_each`, "fold", "depth", "trees", "inner" and "accuracy".
        In a tie, the settings with the smallest depth are chosen, and then those with the fewest trees.
    """
    domain, cells = forest.reading_domain(data.domain), cells_of(forest, depths, trees)
    codes, y = domain.encode(data.X), domain.encode_labels(data.y)
    grid, key = sorted(float(e) for e in epsilons), ["epsilon", "depth", "trees"]

    def accuracies(fit: np.ndarray, score: np.ndarray, seed: int) -> pd.Series:
        split = Split(codes[fit], y[fit], codes[score], y[score])
        return (
            run_task(forest, domain, split, Task("", 0, 0), grid, cells, seed, {}, n_rows=len(split.y_train))
            .set_index(key)
            .accuracy
        )

    rows = []
    for seed, train, test, inner in nested_folds(data, 1, n_folds, n_inner):
        on_inner = [accuracies(*inner_split, 1_000 * (seed + 1) + i) for i, inner_split in enumerate(inner[:n_looked])]
        table = pd.concat(
            [(sum(on_inner) / len(on_inner)).round(12), accuracies(train, test, seed)],
            axis=1,
            keys=["inner", "accuracy"],
        )
        table = table.reset_index().sort_values(["inner", "depth", "trees"], ascending=[False, True, True])
        rows.append(table.groupby(list(of_each), as_index=False).first().assign(fold=seed))
    whole = pd.concat(rows, ignore_index=True)
    return whole.assign(accuracy=100 * whole.accuracy, inner=100 * whole.inner)
