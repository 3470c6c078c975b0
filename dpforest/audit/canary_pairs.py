"""Pairs of neighboring tables for the canaries, each of which exposes one known weak point of an algorithm."""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain
from typing import Any, Final

import numpy as np
import pandas as pd

from dpforest.audit.black_box import TRIALS
from dpforest.audit.fits import Data
from dpforest.privacy.ledger import ADD_REMOVE

OURS: Final = ("random-tree booster", "random-tree booster, δ")  # no paper has published these algorithms
MANY: Final = 20  # number of trees of a canary that exposes the sum of many small losses
UNIT: Final = "person"  # name of the column that identifies persons
# Largest number of classes of a domain. With many classes, a leaf often releases another label than its top label.
CLASSES: Final = 50


@dataclass(frozen=True)
class CanaryPair:
    """The rows of both tables, and the row in which the two tables differ. A row is a pair (values, class).

    `rows` are in both tables. Only the second table has the row `added`. Under replace-one, the first table has the row
    `replaced` in place of `added`.

    If `rows_of_person` is above 0, the unit of privacy is a person, and the tables have a column `UNIT` of identifiers.
    Then `added` stands for a person with `rows_of_person` equal rows, and so does `replaced`. Each row of `rows`
    belongs to a separate person.
    """

    name: str
    target: str
    rows: list[tuple[Any, int]]
    added: tuple[Any, int]
    replaced: tuple[Any, int]
    parameters: dict[str, Any]
    n_classes: int = 2
    trials: int = TRIALS
    rows_of_person: int = 0

    def tables(self, neighbors: str) -> tuple[Data, Data]:
        """Return the first and the second table under a neighbor relation."""
        before = self._table([]) if neighbors == ADD_REMOVE else self._table([self.replaced], "other")
        return before, self._table([self.added])

    def _table(self, differing_rows: list[tuple[Any, int]], person: str = "last") -> Data:
        differing_rows *= max(self.rows_of_person, 1)
        rows = [*self.rows, *differing_rows]
        X = np.array([np.atleast_1d(values) for values, _ in rows], float).reshape(len(rows), self.n_features)
        y = np.array([label for _, label in rows], int)
        if not self.rows_of_person:
            return X, y
        persons = [*map(str, range(len(self.rows))), *[person] * len(differing_rows)]
        return pd.DataFrame(X, columns=[f"x{i}" for i in range(self.n_features)]).assign(**{UNIT: persons}), y

    @property
    def n_features(self) -> int:
        return len(np.atleast_1d(self.added[0]))


SCALE: Final = CanaryPair(
    "the first row of a cell", "A noisy histogram precedes the trees; one row lies apart from all others.",
    [(0.0, 0), (0.0, 1)] * 3, (1.0, 0), (0.0, 0), {"scale_share": 0.9, "size": 20},
)  # fmt: skip
PERSON: Final = CanaryPair(
    "a person with seven rows", "A person counts once, however many rows they have.",
    [(0.0, 0), (1.0, 1)], (0.0, 0), (0.0, 1), {}, rows_of_person=7,
)  # fmt: skip
BOUNDS: Final = CanaryPair(
    "bounds read from the data", "Without a public domain, the range of an attribute is that of its rows.",
    [(0.0, 0), (0.0, 1), (0.5, 0), (0.5, 1)], (1.0, 0), (0.5, 0), {},
)  # fmt: skip


def _majority_label(neighbors: str, epsilon: float) -> Iterator[CanaryPair]:
    """Yield pairs for forests whose leaves release their most frequent label."""
    yield CanaryPair(
        "a leaf that is nearly tied", "One more row decides which class leads.",
        [(0.0, 0), (0.0, 1)] if neighbors == ADD_REMOVE else [(0.0, 0)], (0.0, 0), (0.0, 1), {},
    )  # fmt: skip
    lead = _lead(epsilon, CLASSES, wrong=0.1)
    yield CanaryPair(
        "a leaf at the violating gap",
        "With smooth sensitivity, the loss grows with the lead of the top label.",
        [(0.0, 0)] * (lead - 1),
        (0.0, 0),
        (0.0, 1),
        {},
        CLASSES,
    )
    if neighbors == ADD_REMOVE:
        yield CanaryPair(
            "the row that enlarges every block",
            "With equal blocks, n = kτ - 1 rows give k - 1 rows to each tree, and n = kτ rows give k.",
            [(0.0, 0)] * (lead * MANY - 1),
            (0.0, 0),
            (0.0, 1),
            {"n_estimators": MANY, "max_depth": 0},
            CLASSES,
        )


def _lead(epsilon: float, n_classes: int, *, wrong: float) -> int:
    """Return the least lead at which smooth sensitivity draws a label below the top with probability at most `wrong`.

    The lead j is the number of rows by which the top label is ahead of each other label. At lead j, the probability of
    each other label is exp(-(ε/2) exp(jε)) times the probability of the top label.
    """
    exponent = math.log((1 / wrong - 1) * (n_classes - 1))
    return max(1, math.ceil(math.log(2 * exponent / epsilon) / epsilon))


def _voting_leaf(neighbors: str, epsilon: float) -> Iterator[CanaryPair]:
    """Yield pairs for RF-E, whose leaves release a label by the exponential mechanism."""
    for trees in (1, 3):
        yield CanaryPair(
            f"a clear leaf, {_tree_text(trees)}",
            "The loss of the exponential mechanism grows with the majority.",
            [(0.0, 0)] * _clear_lead(epsilon / trees),
            (0.0, 0),
            (0.0, 1),
            {"n_estimators": trees},
        )


def _counts(name: str, epsilon: float) -> Iterator[CanaryPair]:
    """Yield pairs for forests whose leaves hold noisy counts."""
    for trees in (1, 3) if name != "Friedman-Schuster" else (1,):
        yield CanaryPair(
            f"the first row of a leaf, {_tree_text(trees)}",
            "Floating-point noise has more digits near 0 than near 1.",
            [],
            (0.0, 0),
            (0.0, 1),
            {"n_estimators": trees} if name != "Friedman-Schuster" else {},
            # Leaves of Friedman-Schuster get only ε/4.
            trials=3 * TRIALS if name == "Friedman-Schuster" or epsilon < 0.5 else TRIALS,
        )
    if name == "random decision":
        yield CanaryPair(
            "rows shared out among trees",
            "Each row is in one tree, which is drawn independently of the other rows.",
            [(0.0, 0)] * 4,
            (0.0, 0),
            (0.0, 1),
            {"n_estimators": 3, "partition": "independent"},
        )
    if name == "Friedman-Schuster":
        yield CanaryPair(
            "the row that decides a split", "One more row makes one of two attributes better.",
            [((0, 0), 0), ((1, 1), 1), ((0, 1), 0)], ((1, 0), 1), ((1, 0), 0), {},
        )  # fmt: skip


def _multinomial(mode: str, epsilon: float) -> Iterator[CanaryPair]:
    """Yield pairs for the multinomial forest: one row decides a split, the end of a branch, or the label of a leaf."""
    shared = {"min_leaf": 1, "purity_stop": False}
    yield CanaryPair(
        "a value that nobody else has", "A split between values of the data is impossible without the row.",
        [(0.0, 0), (0.0, 1)] * 3 + [(1.0, 0), (1.0, 1)] * 3, (0.4, 0), (1.0, 0), {"n_estimators": 3, **shared},
    )  # fmt: skip
    yield CanaryPair(
        "the last row that a split needs", "Where 2 min_leaf rows are needed to decide leaves, one row is missing.",
        [(0.0, 0), (0.0, 1), (1.0, 0)], (1.0, 1), (0.0, 1), {"stopping": "min_leaf", "n_estimators": 3, **shared},
    )  # fmt: skip
    if mode == "as_published":
        yield CanaryPair(
            "the only row of its class", "A branch ends where all rows agree; one row of another class makes it go on.",
            [(0.0, 0), (1.0, 0)] * 4, (0.0, 1), (0.0, 0), {"min_leaf": 1, "n_estimators": 3},
        )  # fmt: skip
        return
    yield CanaryPair(
        "a row of a leaf's label", "Nearly all rows decide leaves.",
        [(1.0, 1)] + [(0.0, 0)] * _clear_lead(epsilon), (0.0, 0), (0.0, 1), {"partition_rate": 1 / 64},
    )  # fmt: skip
    yield CanaryPair(
        "the row that decides a split", "Nearly all rows grow the tree, and two attributes are equally good.",
        [((0, 0), 0), ((1, 1), 1), ((0, 1), 0)], ((1, 0), 1), ((1, 0), 0), {"partition_rate": 64.0},
    )  # fmt: skip


def _boosted(mode: str) -> Iterator[CanaryPair]:
    """Yield pairs for the boosted forest: one row shows in α_t, β_t, or the row weights of the next tree."""
    published = mode == "as_published"
    yield CanaryPair(
        "the coefficient of a tree",
        "An exact β_t shows in every leaf that noise has driven to its bound.",
        [(0.0, 0), (1.0, 1)],
        (0.0, 1),
        (0.0, 0),
        {},
    )
    yield CanaryPair(
        "objective calibration", "An exact α_t is 0 where the root is pure, and decides how splits are drawn.",
        [((0, 0), 0)] * 8 + [((0, 1), 0)] * 8, ((0, 1), 1), ((0, 1), 0),
        {"max_depth": 2, "alpha": "published" if published else "noisy", "beta": "laplace" if published else None},
    )  # fmt: skip
    yield CanaryPair(
        "a leaf of one class",
        "One row of the other class changes the weights of the next tree.",
        [(0.0, 0)] * 3,
        (0.0, 1),
        (1.0, 0),
        {"n_estimators": 2, "alpha": "published" if published else "carried"},
    )


def _booster() -> Iterator[CanaryPair]:
    """Yield pairs for the random-tree booster, whose leaves hold noisy gradient sums."""
    for rounds in (1, 4):
        yield CanaryPair(
            f"the first row, {rounds} round{'s' * (rounds > 1)}",
            "A row at score 0 has the largest possible gradient.",
            [],
            (0.0, 0),
            (0.0, 1),
            {"n_estimators": rounds, "total_step": 4.0 * rounds},
        )
    yield CanaryPair(
        "a row that is misclassified in every round",
        "Its gradient does not shrink, and its score depends on all earlier rounds.",
        [(0.0, 0)] * 40, (0.0, 1), (0.0, 0), {"n_estimators": 6, "total_step": 30.0, "size": 40},
    )  # fmt: skip
    yield CanaryPair(
        "one of three classes",
        "Gradients are vectors, clipped in the L1 or the L2 norm.",
        [(0.0, 0)] * 4,
        (0.0, 2),
        (0.0, 1),
        {"n_estimators": 2},
        3,
    )
    yield CanaryPair(
        "the number of rows", "Step and depth follow from a noisy number of rows.",
        [(0.0, 0), (0.0, 1)] * 60, (0.0, 0), (0.0, 1), {"n_estimators": 3, "max_depth": "auto", "size": None},
    )  # fmt: skip


def _clear_lead(epsilon: float) -> int:
    """Return a lead at which the loss is close to ε, and the exponential mechanism still draws other labels."""
    return max(1, round(1.5 / epsilon))


def _tree_text(n: int) -> str:
    return f"{n} trees" if n > 1 else "one tree"


def pairs_of(name: str, mode: str, neighbors: str, epsilon: float) -> Iterator[CanaryPair]:
    """Yield the pairs of tables for one algorithm. Arguments are as for `canaries.canaries`."""
    pairs: Iterator[CanaryPair]
    if mode == "data-derived":
        pairs = iter([BOUNDS])
    elif mode == "persons":
        pairs = iter([PERSON])
    elif name in OURS:
        pairs = _booster()
    elif name == "majority label":
        pairs = _majority_label(neighbors, epsilon)
    elif name == "RF-E":
        pairs = _voting_leaf(neighbors, epsilon)
    elif name in ("random decision", "JPW", "RF-L", "Friedman-Schuster"):
        pairs = _counts(name, epsilon)
    else:
        pairs = _multinomial(mode, epsilon) if name == "multinomial" else _boosted(mode)
    return pairs if mode != "certified" else chain(pairs, [SCALE])
