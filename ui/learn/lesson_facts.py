"""Numbers of the lesson: measurements from `data/lesson.json`, and numbers computed here.

This module does not use Streamlit. "The rule of 2017" is the published rule of smooth sensitivity (`PAPER`), and
permute-and-flip is the certified rule. Both publish the label of a leaf.
"""

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
from dpforest.risk import classroom
from dpforest.risk.guarantee import VALUE, Guarantee
from dpforest.risk.tradeoff import DistinguishingGame

PATH: Final = Path(__file__).parents[2] / "data" / "lesson.json"
PAPER, CERTIFIED = "smooth-sensitivity", "permute-and-flip"
MOST_IN_LEAF: Final = 10  # rows of the largest leaf whose label the lesson explains


@cache
def measurements() -> dict[str, Any]:
    """Return the measurements that `scripts/lesson_numbers.py` wrote."""
    return json.loads(PATH.read_text(encoding="utf-8"))


def lie_probabilities(epsilon: float = 1.0) -> np.ndarray:
    """Return the probability that permute-and-flip publishes a wrong label for leaves of 0 to 10 rows.

    There are two classes, and all rows of a leaf have the same class.

    >>> lie_probabilities().round(4).tolist()[:4]
    [0.5, 0.1839, 0.0677, 0.0249]
    """
    rows = np.arange(MOST_IN_LEAF + 1)
    return pmf(CERTIFIED, np.column_stack([rows, 0 * rows]), epsilon)[:, 1]


@dataclass(frozen=True)
class Beliefs:
    """An attacker's belief that Ann is in the table, as a probability. It was 50 % before the release.

    Parameters
    ----------
    least, most : float
        Bounds on the belief after any release with this ε.
    failed, passed : float
        Belief after the label "failed" or "passed" of a leaf that nobody but Ann could be in.
    """

    least: float
    most: float
    failed: float
    passed: float


def beliefs(epsilon: float) -> Beliefs:
    """Return the beliefs after releases by permute-and-flip at this ε.

    >>> round(beliefs(1.0).most, 4), round(beliefs(1.0).failed, 3)
    (0.7311, 0.62)
    """
    least, most = DistinguishingGame(Guarantee(epsilon)).posterior(0.5)
    without, with_ann = pmf(CERTIFIED, np.array([[0, 0], [1, 0]]), epsilon)
    failed, passed = with_ann / (with_ann + without)
    return Beliefs(float(least), float(most), float(failed), float(passed))


def most_right(epsilon: float, question: str = VALUE) -> float:
    """Return an upper bound on the share of right guesses of any attacker.

    `question` is what the attacker guesses: `guarantee.VALUE` or `guarantee.MEMBERSHIP`.
    """
    return float(DistinguishingGame(Guarantee(epsilon), question).success())


def guessed_right(epsilon: float) -> float:
    """Return the share of right guesses of an attacker who sees the label of Ann's leaf, and guesses about her row.

    A coin puts the row into the table or leaves it out. The attacker guesses "in the table" after the label "failed".

    >>> round(guessed_right(1.0), 3)
    0.658
    """
    without, with_ann = pmf(CERTIFIED, np.array([[0, 0], [1, 0]]), epsilon)
    return float((with_ann[0] + without[1]) / 2)


def most_rebuilt(epsilon: float) -> float:
    """Return an upper bound on the mean number of 30 secrets that any attacker can rebuild from ten trees.

    The bound is rounded up to one decimal.

    >>> most_rebuilt(1.0), most_rebuilt(0.3)
    (18.7, 16.2)
    """
    return math.ceil(10 * classroom.N_STUDENTS * classroom.success_limit(10, epsilon)) / 10


@cache
def broken_pair() -> LeafPair:
    """Return two tables for which the privacy loss of the rule of 2017 exceeds the claimed ε = 1."""
    return first_pair(PAPER, 1.0, 2, "add-remove")


@dataclass(frozen=True)
class ReleaseCounts:
    """Number of simulated releases that published "class 2", for two tables by two rules.

    Parameters
    ----------
    paper, certified : (int, int)
        Counts for tables A and B: by the rule of 2017, and by permute-and-flip.
    loss_bound : float
        Lower bound on the privacy loss of the rule of 2017, with 99.9 % confidence.
    """

    paper: tuple[int, int]
    certified: tuple[int, int]
    loss_bound: float


def count(releases: int, seed: int) -> ReleaseCounts:
    """Simulate `releases` releases of each table by each rule, and count those that publish "class 2"."""
    pair = broken_pair()
    tables = (pair.change.before[0], pair.change.after[0])
    counts = {
        rule: tuple(
            int((simulate_labels(np.tile(table, (releases, 1)), rule, 1.0, 4 * seed + 2 * i + j) == 1).sum())
            for j, table in enumerate(tables)
        )
        for i, rule in enumerate((PAPER, CERTIFIED))
    }
    a, b = counts[PAPER]
    loss_bound = float(lower_bound(a, b, releases, alpha=1 - CONFIDENCE))
    return ReleaseCounts((a, b), (counts[CERTIFIED][0], counts[CERTIFIED][1]), max(loss_bound, 0.0))


def first_releases(releases: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Return which of the first hundred releases that `count` draws by the rule of 2017 publish "class 2".

    There is one bool array of shape (100,) for table A and one for table B.
    """
    change = broken_pair().change
    a, b = (
        simulate_labels(np.tile(table[0], (releases, 1)), PAPER, 1.0, 4 * seed + index)[:100] == 1
        for index, table in enumerate((change.before, change.after))
    )
    return a, b


def chances(rule: str) -> tuple[float, float]:
    """Return the probabilities with which a rule publishes "class 2" for table A and for table B.

    >>> [round(100 * p, 2) for p in chances("smooth-sensitivity")]
    [20.44, 2.43]
    """
    change = broken_pair().change
    a, b = pmf(rule, np.vstack([change.before, change.after]), 1.0)[:, 1]
    return float(a), float(b)


def loss_down(loss: float) -> str:
    """Return a lower bound on a privacy loss as text, rounded down.

    >>> loss_down(1.329), loss_down(0.0)
    ('1.32', '0.00')
    """
    return f"{math.floor(100 * loss) / 100:.2f}"
