"""Pairs of neighboring tables for canaries, by algorithm, each for a known weak point of the mechanism."""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain
from typing import Any, Final

import numpy as np

from dpforest.audit.black_box import TRIALS
from dpforest.audit.fits import Data
from dpforest.privacy.ledger import ADD_REMOVE

OURS: Final = ("random-tree booster", "random-tree booster, δ")  # no paper has them, so they have no published mode
MANY: Final = 20  # number of trees if each tree may leak a little
CLASSES: Final = 50  # the largest allowed number: with more losing labels, the release draws one of them more often


@dataclass(frozen=True)
class CanaryPair:
    """Rows of both tables, one added row, and the row that it replaces under replace-one; a row is (values, class)."""

    name: str
    target: str
    rows: list[tuple[Any, int]]
    more: tuple[Any, int]
    instead_of: tuple[Any, int]
    parameters: dict[str, Any]
    n_classes: int = 2
    trials: int = TRIALS

    def tables(self, neighbors: str) -> tuple[Data, Data]:
        before = self.rows if neighbors == ADD_REMOVE else [*self.rows, self.instead_of]
        return self._table(before), self._table([*self.rows, self.more])

    def _table(self, rows: list[tuple[Any, int]]) -> Data:
        X = np.array([np.atleast_1d(values) for values, _ in rows], float).reshape(len(rows), self.n_features)
        return X, np.array([label for _, label in rows], int)

    @property
    def n_features(self) -> int:
        return len(np.atleast_1d(self.more[0]))


SCALE: Final = CanaryPair(
    "the first row of a cell", "Where rows lie is asked before trees grow; one row is where no other is.",
    [(0.0, 0), (0.0, 1)] * 3, (1.0, 0), (0.0, 0), {"scale_share": 0.9, "size": 20},
)  # fmt: skip
BOUNDS: Final = CanaryPair(
    "bounds read from the data", "Without a public domain, the range of an attribute is that of its rows.",
    [(0.0, 0), (0.0, 1), (0.5, 0), (0.5, 1)], (1.0, 0), (0.5, 0), {},
)  # fmt: skip


def _majority_label(neighbors: str, epsilon: float) -> Iterator[CanaryPair]:
    yield CanaryPair(
        "a leaf that is nearly tied", "One row more decides who is on top.",
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
            "With equal blocks, n = kτ - 1 rows give trees k - 1 each, n = kτ k.",
            [(0.0, 0)] * (lead * MANY - 1),
            (0.0, 0),
            (0.0, 1),
            {"n_estimators": MANY, "max_depth": 0},
            CLASSES,
        )


def _lead(epsilon: float, n_classes: int, *, wrong: float) -> int:
    """Return the first lead at which smooth sensitivity draws a wrong label with at most this probability.

    Its exponent at lead j is (ε/2) exp(jε).
    """
    exponent = math.log((1 / wrong - 1) * (n_classes - 1))
    return max(1, math.ceil(math.log(2 * exponent / epsilon) / epsilon))


def _voting_leaf(neighbors: str, epsilon: float) -> Iterator[CanaryPair]:
    for trees in (1, 3):
        yield CanaryPair(
            f"a clear leaf, {_trees(trees)}",
            "The exponential mechanism loses the more, the clearer the majority.",
            [(0.0, 0)] * _clear(epsilon / trees),
            (0.0, 0),
            (0.0, 1),
            {"n_estimators": trees},
        )


def _counts(name: str, epsilon: float) -> Iterator[CanaryPair]:
    """Yield pairs for forests whose leaves hold noisy counts."""
    for trees in (1, 3) if name != "Friedman-Schuster" else (1,):
        yield CanaryPair(
            f"the first row of a leaf, {_trees(trees)}",
            "Noise in floating point has finer digits around 0 than 1.",
            [],
            (0.0, 0),
            (0.0, 1),
            {"n_estimators": trees} if name != "Friedman-Schuster" else {},
            trials=3 * TRIALS
            if name == "Friedman-Schuster" or epsilon < 0.5
            else TRIALS,  # leaves of Friedman-Schuster get ε/4
        )
    if name == "random decision":
        yield CanaryPair(
            "rows shared out among trees",
            "A row is in one tree, drawn for it alone.",
            [(0.0, 0)] * 4,
            (0.0, 0),
            (0.0, 1),
            {"n_estimators": 3, "partition": "independent"},
        )
    if name == "Friedman-Schuster":
        yield CanaryPair(
            "the row that decides a split", "Of two attributes, one more row makes the better one clear.",
            [((0, 0), 0), ((1, 1), 1), ((0, 1), 0)], ((1, 0), 1), ((1, 0), 0), {},
        )  # fmt: skip


def _multinomial(mode: str, epsilon: float) -> Iterator[CanaryPair]:
    alike = {"min_leaf": 1, "purity_stop": False}
    yield CanaryPair(
        "a value that nobody else has", "A split between values of the data is impossible without the row.",
        [(0.0, 0), (0.0, 1)] * 3 + [(1.0, 0), (1.0, 1)] * 3, (0.4, 0), (1.0, 0), {"n_estimators": 3, **alike},
    )  # fmt: skip
    yield CanaryPair(
        "the last row that a split needs", "Where 2 min_leaf rows are needed to decide leaves, one row is missing.",
        [(0.0, 0), (0.0, 1), (1.0, 0)], (1.0, 1), (0.0, 1), {"stopping": "min_leaf", "n_estimators": 3, **alike},
    )  # fmt: skip
    if mode == "as_published":
        yield CanaryPair(
            "the only row of its class", "Where a branch ends at agreement, one row that disagrees makes it go on.",
            [(0.0, 0), (1.0, 0)] * 4, (0.0, 1), (0.0, 0), {"min_leaf": 1, "n_estimators": 3},
        )  # fmt: skip
        return
    yield CanaryPair(
        "a row of a leaf's label", "Nearly all rows decide leaves.",
        [(1.0, 1)] + [(0.0, 0)] * _clear(epsilon), (0.0, 0), (0.0, 1), {"partition_rate": 1 / 64},
    )  # fmt: skip
    yield CanaryPair(
        "the row that decides a split", "Nearly all rows grow the tree, and two attributes are as good.",
        [((0, 0), 0), ((1, 1), 1), ((0, 1), 0)], ((1, 0), 1), ((1, 0), 0), {"partition_rate": 64.0},
    )  # fmt: skip


def _boosted(mode: str) -> Iterator[CanaryPair]:
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
    for rounds in (1, 4):
        yield CanaryPair(
            f"the first row, {rounds} round{'s' * (rounds > 1)}",
            "A row at score 0 has the largest gradient there is.",
            [],
            (0.0, 0),
            (0.0, 1),
            {"n_estimators": rounds, "total_step": 4.0 * rounds},
        )
    yield CanaryPair(
        "a row told wrong in every round", "Its gradient does not shrink, and scores follow from all rounds before.",
        [(0.0, 0)] * 40, (0.0, 1), (0.0, 0), {"n_estimators": 6, "total_step": 30.0, "size": 40},
    )  # fmt: skip
    yield CanaryPair(
        "one of three classes",
        "Gradients are vectors, clipped by their length, or by the sum of their sizes.",
        [(0.0, 0)] * 4,
        (0.0, 2),
        (0.0, 1),
        {"n_estimators": 2},
        3,
    )
    yield CanaryPair(
        "the number of rows", "Steps are divided by a number of rows that is asked for, and depth follows from it.",
        [(0.0, 0), (0.0, 1)] * 60, (0.0, 0), (0.0, 1), {"n_estimators": 3, "max_depth": "auto", "size": None},
    )  # fmt: skip


def _clear(epsilon: float) -> int:
    """Return a lead at which the exponential mechanism loses most of ε but still draws the other label sometimes."""
    return max(1, round(1.5 / epsilon))


def _trees(n: int) -> str:
    return f"{n} trees" if n > 1 else "one tree"


def pairs_of(name: str, mode: str, neighbors: str, epsilon: float) -> Iterator[CanaryPair]:
    """Yield the pairs of tables for one algorithm. Arguments are as for `canaries.canaries`."""
    pairs: Iterator[CanaryPair]
    if mode == "data-derived":
        pairs = iter([BOUNDS])
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
