"""Depth and number of trees chosen on rows held out of the training rows, and the accuracy of the choice on test rows.

Such a choice looks at private rows, and no ε pays for it: a certificate covers only given settings. So no result of
this module counts as certified.
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
    """Return the accuracy in percent on the test rows of each fold, with the settings that did best on the inner folds.

    Parameters
    ----------
    forest : estimator of the project
    data : object with X, y and domain
    epsilons, depths, trees : sequence
        The grid; ε = ∞ is always in it.
    n_folds, n_inner : int
    n_looked : int, optional
        Number of inner folds that are used; all by default.
    of_each : sequence of str
        Columns for each of whose values the other settings are chosen: "epsilon", or "depth" as well.

    Returns
    -------
    DataFrame
        A row for each fold and value: the columns `of_each`, "fold", "depth", "trees", "inner" and "accuracy".
        Of equally accurate settings it takes the smallest depth, and then the fewest trees.
    """
    domain, cells = forest.reading_domain(data.domain), cells_of(forest, depths, trees)
    codes, y = domain.encode(data.X), domain.encode_labels(data.y)
    grid, key = sorted(float(e) for e in epsilons), ["epsilon", "depth", "trees"]

    def right(fit: np.ndarray, look: np.ndarray, seed: int) -> pd.Series:
        split = Split(codes[fit], y[fit], codes[look], y[look])
        return (
            run_task(forest, domain, split, Task("", 0, 0), grid, cells, seed, {}, n_rows=len(split.y_train))
            .set_index(key)
            .accuracy
        )

    rows = []
    for seed, train, test, inner in nested_folds(data, 1, n_folds, n_inner):
        looked = [right(*inner_split, 1_000 * (seed + 1) + i) for i, inner_split in enumerate(inner[:n_looked])]
        table = pd.concat(
            [(sum(looked) / len(looked)).round(12), right(train, test, seed)], axis=1, keys=["inner", "accuracy"]
        )
        table = table.reset_index().sort_values(["inner", "depth", "trees"], ascending=[False, True, True])
        rows.append(table.groupby(list(of_each), as_index=False).first().assign(fold=seed))
    whole = pd.concat(rows, ignore_index=True)
    return whole.assign(accuracy=100 * whole.accuracy, inner=100 * whole.inner)
