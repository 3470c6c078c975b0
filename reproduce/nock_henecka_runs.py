"""Nock and Henecka, figure 2: for each error, the share of runs on Banknote with at most this error.

There are curves with privacy and without privacy. A run is a fit at one depth, number of trees, fold and ε of the grid
of `reproduce.nock_henecka`. The paper draws the curves, and its text prints one number.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Final

import numpy as np
import pandas as pd

from reproduce.cells import Cell, Row
from reproduce.nock_henecka import BEST, PAPER, claimed, measured
from reproduce.protocol import Record, at_hand, point

ITEM: Final = "figure 2, runs over test error, banknote"
TABLE: Final = "banknote"
RUNS: Final = "runs that err at most so much"
CLAIM: Final = ("calibrated, with privacy, at most 20 % (“more than 2/3”)", 66.67)
_WHY: Final = "not explained; the paper has more depths, numbers of trees and shares of ε for splits"
ERRORS: Final = (5, 10, 15, 20, 25, 30, 35, 40, 45, 50)


def cells(*, quick: bool = False, folder: Path | None = None) -> Iterator[Cell]:
    """Yield one cell. It has the published mode only, because the bounds of Banknote are not public."""
    work = partial(measured, TABLE, "as_published", quick, folder)
    yield Cell(f"{TABLE}, as published", work if at_hand(TABLE, folder) else None)


def records(rows: list[Row]) -> Iterator[Record]:
    """Yield a point for each rule and error, with privacy and without."""
    cells = pd.DataFrame(rows)
    runs = cells[(cells.forest == "calibrated") & np.isfinite(cells.epsilon)].accuracy
    share = 100 * float((runs >= 80).mean())
    yield claimed(f"{ITEM}, a claim of the text", *CLAIM, share, None, len(runs), _WHY)
    for private in (True, False):
        for rule in BEST:
            accuracy = cells[(cells.forest == rule) & (np.isfinite(cells.epsilon) == private)].accuracy
            for error in ERRORS:
                share = np.array([100 * float((accuracy >= 100 - error).mean())])
                line = rule if private else f"{rule}, without privacy"
                yield point(PAPER, ITEM, line, "test error, %", error, share, None, what=RUNS)
