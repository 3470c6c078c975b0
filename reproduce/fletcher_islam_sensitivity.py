"""Fletcher and Islam, figure 5b: the smooth sensitivity of a leaf, with and without disjoint rows.

If the most frequent class of a leaf leads by j rows, the smooth sensitivity of the leaf is e^{-jε}. The figure shows
the mean sensitivity over leaves with rows, in forests of 100 trees. With disjoint rows, each tree reads a hundredth of
the rows and gets ε = 1. Otherwise, each tree reads all rows and gets ε = 1/100. Only three things are random: the set,
the trees, and which rows each tree gets.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Final

import numpy as np

from dpforest.tables.datasets import SYNTHETIC, make_synthetic
from reproduce.cells import Cell
from reproduce.fletcher_islam import PAPER
from reproduce.fletcher_islam_leaves import counts_of, in_its_ranges, routed
from reproduce.fletcher_islam_synthetic import DEPTHS, DRAWS
from reproduce.protocol import Record, compared

ITEM: Final = "figure 5b, smooth sensitivity of a leaf with rows"
# Printed figures of the sets A to G, in percent.
PRINTED: Final = {
    "disjoint": (13.0, 22.0, 28.0, 29.0, 30.0, 22.0, 33.0), "not disjoint": (56.0, 73.0, 84.0, 87.0, 89.0, 80.0, 92.0),
}  # fmt: skip
TREES: Final = 100
QUICK: Final = ("SynthA",)
_WHY: Final = "not explained; sets drawn with other seeds differ, and the seed of the paper's sets is not known"


def mean_sensitivity(leaves: np.ndarray, y: np.ndarray, trees: np.ndarray | None, epsilon: float) -> float:
    """Return the mean e^{-jε} over leaves with rows.

    `leaves` has shape (n, n_trees) and holds the leaf of each row in each tree. If `trees` is given, each row is in one
    tree only, and `trees` holds the index of this tree.

    >>> mean_sensitivity(np.array([[0], [0], [1]]), np.array([0, 0, 1]), None, 0.0)
    1.0
    """
    sensitivities = []
    for tree, leaf_of_row in enumerate(leaves.T):
        is_in_tree = np.ones(len(y), bool) if trees is None else trees == tree
        if not is_in_tree.any():
            continue
        ordered = np.sort(counts_of(leaf_of_row[is_in_tree], y[is_in_tree], int(y.max()) + 1), axis=1)
        sensitivities.append(np.exp(-epsilon * (ordered[:, -1] - ordered[:, -2])))
    return float(np.concatenate(sensitivities).mean())


def measured(name: str, draw: int) -> dict[str, float]:
    """Return the mean sensitivities of one draw of a set, in percent."""
    data = make_synthetic(name, seed=draw)
    leaves, y = routed(data, in_its_ranges(data), DEPTHS[name], TREES, draw)
    tree_of_row = np.arange(len(y)) % TREES  # this assignment is random, because the rows are in random order
    return {
        "disjoint": 100 * mean_sensitivity(leaves, y, tree_of_row, 1.0),
        "not disjoint": 100 * mean_sensitivity(leaves, y, None, 1 / TREES),
    }


def cells(*, quick: bool = False, folder: Path | None = None) -> Iterator[Cell]:
    """Yield a cell for each set. No table is read."""
    for column, name in enumerate(SYNTHETIC):
        if not quick or name in QUICK:
            yield Cell(name, partial(_records, column, name, 2 if quick else DRAWS))


def _records(column: int, name: str, draws: int) -> Iterator[Record]:
    measurements = [measured(name, draw) for draw in range(draws)]
    for which, row in PRINTED.items():
        ours = np.array([measurement[which] for measurement in measurements])
        yield compared(PAPER, ITEM, f"{name}, {which}", row[column], ours, None, _WHY, group=which)
