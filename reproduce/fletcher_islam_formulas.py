"""Fletcher and Islam, figures that follow from formulas: table 2, the depths of table 4, and table 6 of the addendum.

S. Fletcher, *Differentially private random decision forests using smooth sensitivity: addendum* (2021), withdraws the
mechanism by which leaves publish labels in the paper of 2017. These figures are not random, so the verdict is "equal"
only if our figure rounds to the printed figure.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Final

import numpy as np

from dpforest.models.depth_rules import fletcher_islam_depth
from dpforest.privacy.laws import pmf, published_exponent
from reproduce.cells import Cell
from reproduce.fletcher_islam import PAPER
from reproduce.protocol import CONTRADICTS, EQUAL, Record

# Smooth sensitivity, in percent, of a leaf whose first class leads by j rows, at ε = 0.01, 0.1 and 1.
TABLE_2: Final = {
    0: (100.0, 100.0, 100.0), 1: (99.004, 90.483, 36.788), 5: (95.122, 60.653, 0.674), 10: (90.483, 36.788, 0.005),
    50: (60.653, 0.674, 0.0), 100: (36.788, 0.005, 0.0), 500: (0.674, 0.0, 0.0),
}  # fmt: skip
BUDGETS: Final = (0.01, 0.1, 1.0)
# For each table: its numbers of numeric and of categorical attributes, and the printed depth.
TABLE_4: Final = {
    "SynthA": (5, 0, 5), "SynthB": (10, 0, 8), "SynthC": (15, 0, 12), "SynthD": (15, 0, 12), "SynthE": (15, 0, 12),
    "SynthF": (10, 0, 8), "SynthG": (20, 0, 15), "WallSensor": (4, 0, 4), "PenWritten": (16, 0, 12),
    "GammaTele": (10, 0, 8), "Adult": (6, 8, 9), "Mushroom": (0, 22, 11), "Claves": (0, 16, 8), "Nursery": (0, 8, 4),
}  # fmt: skip
# Row counts of the two classes in a leaf, and the probability in percent that the leaf publishes the larger class at
# ε = 0.1. The first probability is printed in the paper of 2017, and the second probability in the addendum.
TABLE_6: Final = {
    (5, 10): (52.1, 62.2), (105, 110): (52.1, 62.2), (0, 1): (51.4, 52.5), (0, 10): (53.4, 73.1),
    (10, 50): (93.8, 98.2), (10, 60): (99.9, 99.3),
}  # fmt: skip
_TRUNCATED: Final = 0.0011  # tolerance, because tables 2 and 6 cut off further digits instead of rounding
_CUT_OFF: Final = 0.0999
_WHY: Final = "the formula gives another figure"


def cells(*, quick: bool = False, folder: Path | None = None) -> Iterator[Cell]:
    """Yield one cell with all three tables. The tables take no time, so a quick run has them, too."""
    yield Cell("tables 2, 4 and 6", _records)


def _records() -> Iterator[Record]:
    for lead, row in TABLE_2.items():
        for epsilon, printed in zip(BUDGETS, row, strict=True):
            ours = 100 * smooth_sensitivity(lead, epsilon)
            yield _record(
                "table 2, smooth sensitivity of a leaf",
                f"lead {lead}, ε = {epsilon:g}",
                printed,
                ours,
                None,
                within=_TRUNCATED,
            )
    for name, (numeric, categorical, printed) in TABLE_4.items():
        ours, theorem = (fletcher_islam_depth(numeric, categorical, rule) for rule in ("published", "theorem"))
        yield _record("table 4, depth (certified: by Theorem 2)", name, printed, ours, theorem, within=0, unit="levels")
    for counts, row in TABLE_6.items():
        leaf = np.array([counts])
        flips = 100 * float(pmf("permute-and-flip", leaf, 0.1)[0, 1])
        for law, printed in zip(("smooth-sensitivity", "exponential"), row, strict=True):
            setting = f"{counts[0]} and {counts[1]} rows, {'2017' if law == 'smooth-sensitivity' else 'addendum'}"
            ours = 100 * float(pmf(law, leaf, 0.1)[0, 1])
            yield _record(
                "addendum, table 6: the larger class is named", setting, printed, ours, flips, within=_CUT_OFF
            )


def smooth_sensitivity(lead: int, epsilon: float) -> float:
    """Return the smooth sensitivity S* = e^{-jε} of a leaf whose first class leads by j rows (equation 10).

    S* is computed from the exponent ε/(2 S*) of the published mechanism.

    >>> round(smooth_sensitivity(5, 0.1), 5)
    0.60653
    """
    return float(epsilon / 2 / published_exponent(np.array(lead), epsilon, clamped=False))


def _record(
    item: str, setting: str, printed: float, ours: float, certified: float | None, *, within: float, unit: str = "%"
) -> Record:
    near = abs(printed - ours) <= within
    return Record(
        PAPER,
        item,
        setting,
        printed,
        round(ours, 3),
        None if certified is None else round(certified, 3),
        0.0,
        EQUAL if near else CONTRADICTS,
        "" if near else _WHY,
        unit=unit,
    )
