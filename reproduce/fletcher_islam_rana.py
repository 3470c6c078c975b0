"""Fletcher and Islam, figure 14: the forest of Rana, Gupta and Venkatesh (RGV), at ε = 1 for each of its trees.

The figure also shows Fletcher and Islam's forest, whose accuracy is in figures 7 and 11. RGV claims less than
differential privacy, so its records have no certified value. Each forest has 110 trees. This is the smallest number in
the paper, which does not state how many trees it used for which set. Synthetic sets are drawn three times. Real sets
have five folds, each with separate noise.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Final

import numpy as np

from dpforest.tables.datasets import SYNTHETIC, make_synthetic
from reproduce.cells import Cell
from reproduce.comparators import RanaForest
from reproduce.comparators.rana import LEAST_TREES
from reproduce.fletcher_islam import PAPER, THEIR_FITS
from reproduce.protocol import Record, accuracies, compared, load

ITEM: Final = "figure 14, RGV, weaker than differential privacy"
PRINTED: Final = {
    **dict(zip(SYNTHETIC, (84.3, 88.0, 87.3, 86.6, 74.8, 84.3, 77.7), strict=True)),
    "magic": 81.2, "mushroom": 95.5, "adult": 82.3,
}  # fmt: skip
TITLES: Final = {"magic": "GammaTele", "mushroom": "Mushroom", "adult": "Adult"}
QUICK: Final = ("SynthA", "mushroom")
FOLDS: Final = 5
DRAWS: Final = 3  # number of draws of each set
TRAINED_ON: Final = 0.7
_WHY: Final = (
    "not explained: the paper says only that these trees are like those of Friedman and Schuster with some "
    "modifications, and 110 to 1385 of them (docs/PAPERS.md)"
)


def measured(name: str, draws: int) -> np.ndarray:
    """Return the accuracy in percent of each draw of a set, or of each fold of a table."""
    if name not in SYNTHETIC:
        data = load(name, None, incomplete="drop")
        return accuracies(lambda seed: RanaForest(data.domain, seed=seed), data, 1, FOLDS)
    accuracy = []
    for draw in range(draws):
        data = make_synthetic(name, seed=draw)
        rows = np.random.default_rng(draw).permutation(len(data.y))
        train, test = np.split(rows, [int(TRAINED_ON * len(rows))])
        forest = RanaForest(data.domain, seed=draw).fit(data.X.iloc[train], data.y.iloc[train])
        accuracy.append(100 * float((forest.predict(data.X.iloc[test]) == data.y.iloc[test].to_numpy()).mean()))
    return np.array(accuracy)


def cells(*, quick: bool = False, folder: Path | None = None) -> Iterator[Cell]:
    """Yield a cell for each set. All sets come with the project."""
    for name in QUICK if quick else PRINTED:
        yield Cell(name, partial(_record, name, 2 if quick else DRAWS))


def _record(name: str, draws: int) -> list[Record]:
    setting = f"{TITLES.get(name, name)}, RGV, {LEAST_TREES} trees"
    n_theirs = 1 if name in SYNTHETIC else THEIR_FITS
    return [compared(PAPER, ITEM, setting, PRINTED[name], measured(name, draws), None, _WHY, n_theirs=n_theirs)]
