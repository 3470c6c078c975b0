"""Nock and Henecka, figure 2: share of runs on Banknote up to each error, with privacy and without; no printed figures.

A run is one depth, number of trees, fold and ε of the grid of `reproduce.nock_henecka`.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Final

import numpy as np
import pandas as pd

from reproduce.cells import Cell, Row
from reproduce.nock_henecka import BEST, PAPER, measured
from reproduce.protocol import Record, at_hand, point

ITEM: Final = "figure 2, runs over test error, banknote"
TABLE: Final = "banknote"
RUNS: Final = "runs that err at most so much"
ERRORS: Final = (5, 10, 15, 20, 25, 30, 35, 40, 45, 50)


def cells(*, quick: bool = False, folder: Path | None = None) -> Iterator[Cell]:
    """Yield one cell, as published only, because the bounds of Banknote are not public."""
    work = partial(measured, TABLE, "as_published", quick, folder)
    yield Cell(f"{TABLE}, as published", work if at_hand(TABLE, folder) else None)


def records(rows: list[Row]) -> Iterator[Record]:
    """Yield a point for each rule and error, with privacy and without."""
    cells = pd.DataFrame(rows)
    for private in (True, False):
        for rule in BEST:
            accuracy = cells[(cells.forest == rule) & (np.isfinite(cells.epsilon) == private)].accuracy
            for error in ERRORS:
                share = np.array([100 * float((accuracy >= 100 - error).mean())])
                line = rule if private else f"{rule}, without privacy"
                yield point(PAPER, ITEM, line, "test error, %", error, share, None, what=RUNS)
