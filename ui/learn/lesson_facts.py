"""The numbers of the lesson: measured ones from `data/lesson.json`, others from the engine as it is. No streamlit."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Final

import numpy as np

from dpforest.audit.events import lower_bound
from dpforest.audit.leaf_attack import CONFIDENCE, LeafPair, first_pair
from dpforest.privacy.mechanisms import pmf
from dpforest.privacy.simulators import simulate_labels
from dpforest.risk.guarantee import VALUE, Guarantee
from dpforest.risk.tradeoff import DistinguishingGame

PATH: Final = Path(__file__).parents[2] / "data" / "lesson.json"
PAPER, CERTIFIED = "smooth-sensitivity", "permute-and-flip"
MOST_IN_LEAF: Final = 10


@cache
def measured() -> dict[str, Any]:
    """What `scripts/lesson_numbers.py` wrote."""
    return json.loads(PATH.read_text(encoding="utf-8"))


def lies(epsilon: float = 1.0) -> np.ndarray:
    """How often a leaf of 0 to 10 rows of one class publishes the other of two.

    >>> lies().round(4).tolist()[:4]
    [0.5, 0.1839, 0.0677, 0.0249]
    """
    rows = np.arange(MOST_IN_LEAF + 1)
    return pmf(CERTIFIED, np.column_stack([rows, 0 * rows]), epsilon)[:, 1]


@dataclass(frozen=True)
class Beliefs:
    """How sure one is that Ann is in the table, who was 50 % sure.

    Parameters
    ----------
    least, most : float
        After any release with this ε.
    failed, passed : float
        After either label of a leaf that only Ann could be in.
    """

    least: float
    most: float
    failed: float
    passed: float


def beliefs(epsilon: float) -> Beliefs:
    """Of permute-and-flip at this ε.

    >>> round(beliefs(1.0).most, 4), round(beliefs(1.0).failed, 3)
    (0.7311, 0.62)
    """
    least, most = DistinguishingGame(Guarantee(epsilon)).posterior(0.5)
    without, with_ann = pmf(CERTIFIED, np.array([[0, 0], [1, 0]]), epsilon)
    failed, passed = with_ann / (with_ann + without)
    return Beliefs(float(least), float(most), float(failed), float(passed))


def most_right(epsilon: float, question: str = VALUE) -> float:
    """Share of guesses that no attacker exceeds."""
    return float(DistinguishingGame(Guarantee(epsilon), question).success())


def most_rebuilt(epsilon: float, students: int = 30) -> float:
    """Of so many secrets, what no attacker can rebuild more of on average.

    >>> round(most_rebuilt(1.0), 1), round(most_rebuilt(0.3), 1)
    (24.5, 18.9)
    """
    return students * most_right(epsilon)


@cache
def broken_pair() -> LeafPair:
    """The two tables that show that the rule of 2017 does not keep ε = 1."""
    return first_pair(PAPER, 1.0, 2, "add-remove")


@dataclass(frozen=True)
class Counted:
    """Releases of the two tables that said "class 2".

    Parameters
    ----------
    paper, certified : (int, int)
        With table A and with table B, by the rule of 2017 and by permute-and-flip.
    proved : float
        The loss of the rule of 2017 is at least that, with 99.9 % confidence.
    """

    paper: tuple[int, int]
    certified: tuple[int, int]
    proved: float


def count(releases: int, seed: int) -> Counted:
    """Release both tables so often."""
    pair = broken_pair()
    tables = (pair.change.before[0], pair.change.after[0])
    drawn = {
        rule: tuple(
            int((simulate_labels(np.tile(table, (releases, 1)), rule, 1.0, 4 * seed + 2 * i + j) == 1).sum())
            for j, table in enumerate(tables)
        )
        for i, rule in enumerate((PAPER, CERTIFIED))
    }
    a, b = drawn[PAPER]
    proved = float(lower_bound(a, b, releases, alpha=1 - CONFIDENCE))
    return Counted((a, b), (drawn[CERTIFIED][0], drawn[CERTIFIED][1]), max(proved, 0.0))


def chances(rule: str) -> tuple[float, float]:
    """How often a rule says "class 2" with table A, with table B.

    >>> [round(100 * p, 2) for p in chances("smooth-sensitivity")]
    [20.44, 2.43]
    """
    change = broken_pair().change
    a, b = pmf(rule, np.vstack([change.before, change.after]), 1.0)[:, 1]
    return float(a), float(b)


def loss_down(loss: float) -> str:
    """A lower bound as people read it, never above what it is.

    >>> loss_down(1.329), loss_down(0.0)
    ('1.32', '0.00')
    """
    return f"{math.floor(100 * loss) / 100:.2f}"
