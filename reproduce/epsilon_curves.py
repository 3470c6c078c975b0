"""Accuracy of Nock and Henecka's forests over ε from 10⁻⁴ to 25. The paper has no such figure.

The paper's ε starts at 0.01. In the published mode, the weights of boosted trees are computed from the rows without
noise, so boosted trees learn even at ε = 10⁻⁴. In the certified mode, they learn nothing at this ε.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any, Final

import numpy as np
import pandas as pd

from dpforest.simulation.sweep import surface
from reproduce import nock_henecka
from reproduce.cells import Cell
from reproduce.protocol import NOT_THERE, Record, at_hand, load, point

DOWN: Final = (1e-4, 1e-3, 1e-2, 0.1, 1.0, 10.0, 25.0)
TABLES: Final = ("breast_wisconsin", "mushroom", "banknote", "magic")
FOLDS, DEPTH, TREES = 5, 4, 20
REPEATS: Final = 5  # the folds of a repeat share its noise
Cells = dict[str, pd.DataFrame]


def cells(*, quick: bool = False, folder: Path | None = None) -> Iterator[Cell]:
    """Yield a cell for each table."""
    for name in TABLES[:1] if quick else TABLES:
        work = partial(down_to_nothing, name, 1 if quick else REPEATS, folder)
        yield Cell(f"down to 10⁻⁴, {name}", work if at_hand(name, folder) else None)


def down_to_nothing(name: str, repeats: int, folder: Path | None) -> Iterator[Record]:
    """Yield the points of twenty boosted trees and of two random forests. All trees have depth four."""
    data = load(name, folder)
    table = nock_henecka.two_classes(data)
    by_mode: Cells = {}
    for mode in ("as_published",) if data.domain.leaks() else ("as_published", "certified"):
        named = nock_henecka.forests(mode)
        boosted = {key: named.pop(key) for key in nock_henecka.BEST}
        common: dict[str, Any] = {
            "epsilons": DOWN,
            "depths": (DEPTH,),
            "repeats": repeats,
            "folds": FOLDS,
            "plan_for": "split",
        }
        by_mode[mode] = pd.concat(
            [surface(boosted, table, trees=(TREES,), **common), surface(named, table, **common)], ignore_index=True
        )
    item = f"accuracy over ε down to 10⁻⁴, {name} (not in the paper)"
    for line in (*nock_henecka.BEST, "RF-L", "RF-E"):
        for epsilon in DOWN:
            ours, certified = (_at(by_mode.get(mode), line, epsilon) for mode in ("as_published", "certified"))
            assert ours is not None
            yield point(nock_henecka.PAPER, item, line, "ε", epsilon, ours, certified, NOT_THERE)


def _at(cells: pd.DataFrame | None, line: str, epsilon: float) -> np.ndarray | None:
    if cells is None:
        return None
    return 100 * cells[(cells.forest == line) & (cells.epsilon == epsilon)].accuracy.to_numpy(float)
