"""Paired tests over the cells of a table or curve: whether our figures are higher or lower than the printed ones."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

import numpy as np
from scipy.stats import ttest_1samp

from reproduce.protocol import NOT_COMPARABLE, Record

FEWEST: Final = 4  # least number of cells of a test


@dataclass(frozen=True)
class PairedTest:
    """A paired t-test of our figures against the printed ones.

    Attributes
    ----------
    group : str
        Name of the group of tested cells; empty if the test covers all cells of the item.
    n : int
        Number of cells.
    mean : float
        Mean difference, ours minus printed, in the unit of the item.
    t, p : float
        Statistic and two-sided p-value. A p-value below 0.05 is expected once in twenty tests.
    """

    group: str
    n: int
    mean: float
    t: float
    p: float

    @property
    def words(self) -> str:
        """The result of the test in one sentence.

        >>> PairedTest("ε = 1, 100 trees", 7, -4.71, -2.93, 0.026).words
        'ε = 1, 100 trees: ours minus printed is −4.7 points on average over 7 cells (t = −2.9, p = 0.026).'
        """
        group = f"{self.group}: ours" if self.group else "Ours"
        mean, t = (f"{value:+.1f}".replace("-", "−") for value in (self.mean, self.t))
        p = f"p = {self.p:.3f}" if self.p >= 0.001 else "p < 0.001"
        return f"{group} minus printed is {mean} points on average over {self.n} cells (t = {t.lstrip('+')}, {p})."


def paired_tests(records: Iterable[Record]) -> list[PairedTest]:
    """Test each group of an item's cells that has printed figures and at least `FEWEST` cells.

    Groups of figures that follow from formulas are left out: without random error, there is nothing to test.

    >>> cells = [Record("a", "b", "c", 1.0, ours, None, 0.5, "equal", "") for ours in (2.0, 3.0, 4.0, 3.0)]
    >>> [round(value, 3) for value in (paired_tests(cells)[0].mean, paired_tests(cells)[0].t)]
    [2.0, 4.899]
    """
    groups: dict[str, list[Record]] = {}
    for record in records:
        if record.published is not None and record.ours is not None and record.verdict != NOT_COMPARABLE:
            groups.setdefault(record.group, []).append(record)
    tests = []
    for group, cells in groups.items():
        values = np.array([cell.ours for cell in cells]) - np.array([cell.published for cell in cells])
        if len(cells) >= FEWEST and np.ptp(values) > 0 and any(cell.sd for cell in cells):
            result = ttest_1samp(values, 0.0)
            mean, t, p = float(values.mean()), float(result.statistic), float(result.pvalue)
            tests.append(PairedTest(group, len(cells), mean, t, p))
    return tests
