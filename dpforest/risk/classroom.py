"""A reconstruction attack: an attacker computes the secrets of thirty students from the counts of random trees.

The data are synthetic: attributes and secrets are drawn from seeds. The attributes are public. A student's secret is
whether the student failed.
"""

from fractions import Fraction
from functools import lru_cache
from typing import Final

import numpy as np
from scipy.optimize import lsq_linear

from dpforest.models.random.fit import simulate_values
from dpforest.models.random.random_decision import RandomDecisionForestClassifier
from dpforest.models.random.spec import ForestSpec
from dpforest.privacy.tradeoff_curve import TradeoffCurve
from dpforest.tables.domain import Domain, Feature
from dpforest.trees import routing

N_STUDENTS: Final = 30
SEAT_ROWS, SEAT_COLUMNS = 5, 6
DEPTH: Final = 3
CLASS_SEED: Final = 4
TREE_SEED: Final = 48  # chosen among 60 seeds, because its first tree has six leaves with students
CLASSES: Final = 200  # number of synthetic school classes over which results are averaged
_UNDECIDED: Final = 1e-6  # an estimate closer than this to 0.5 is undecided, and counts as half right


def _number(name: str, low: float, high: float) -> Feature:
    return Feature(
        name, "numeric", low=low, high=high, source="asserted", source_note="printed in the class list", scale="linear"
    )


DOMAIN: Final = Domain(
    (
        _number("seat row", 0, 5),
        _number("seat column", 0, 6),
        _number("height in cm", 140, 200),
        _number("minutes to school", 0, 60),
        _number("day of birth in the year", 0, 366),
    ),
    ("passed", "failed"),
    "result",
    "asserted",
    "a yes/no question",
)


def attributes() -> np.ndarray:
    """Return the public attributes of the students, in the order of `DOMAIN`, as a float array of shape (30, 5)."""
    rng = np.random.default_rng(CLASS_SEED)
    seats = np.array([(r + 0.5, c + 0.5) for r in range(SEAT_ROWS) for c in range(SEAT_COLUMNS)])
    other_columns = [
        rng.normal(170, 9, N_STUDENTS).clip(141, 199).round(),
        rng.gamma(3, 7, N_STUDENTS).clip(1, 59).round(),
        rng.integers(1, 366, N_STUDENTS),
    ]
    return np.column_stack([seats, *other_columns])


def secrets(seed: int) -> np.ndarray:
    """Draw by a fair coin whether each student failed (0 or 1).

    Without the release, an attacker guesses about 15 of the 30 secrets correctly.
    """
    return np.random.default_rng(10_000 + seed).integers(0, 2, N_STUDENTS)


def spec_of(n_trees: int) -> ForestSpec:
    """Return the `ForestSpec` of a random decision forest in which every student is in every tree."""
    forest = RandomDecisionForestClassifier(
        n_estimators=n_trees,
        max_depth=DEPTH,
        partition="shared",
        categorical="multiway",
        scale_share="public",
        voting="threshold",
        negative_rule="clamp",
        neighbors="add-remove",
        size=N_STUDENTS,
    )
    return forest.spec(DOMAIN, N_STUDENTS)


def success_limit(n_trees: int, epsilon: float) -> float:
    """Return an upper bound on the mean share of secrets that an attacker guesses correctly, for every attack.

    A secret is one of two values. Two tables that differ in one secret are two changes apart: a student with one value
    leaves the table, and a student with the other value enters it.

    >>> round(success_limit(10, 1.0), 3), round(success_limit(1, 1.0), 3)
    (0.62, 0.816)
    """
    rate = spec_of(n_trees).exact_rate(Fraction(str(epsilon)))
    return TradeoffCurve(((rate, n_trees),), changes=2).success()


@lru_cache(maxsize=32)
def members(n_trees: int, seed: int = TREE_SEED) -> np.ndarray:
    """Return which students are in each leaf of all trees: bool of shape (n_leaves, 30), known to the attacker.

    Examples
    --------
    >>> sorted(members(1).sum(axis=1).tolist(), reverse=True)
    [12, 8, 4, 4, 1, 1, 0, 0]
    """
    trees = spec_of(n_trees).grow(DOMAIN, seed)
    leaf = routing.leaves_of_rows(trees, DOMAIN, DOMAIN.encode(attributes()))  # (n_trees, 30)
    table = np.zeros((trees.n_leaves, N_STUDENTS), bool)
    for tree in range(n_trees):
        table[leaf[tree], np.arange(N_STUDENTS)] = True
    table.flags.writeable = False
    return table


def published_counts(failed: np.ndarray, n_trees: int, epsilon: float | None, seed: int, tree_seed: int = TREE_SEED):
    """Return the published counts of passed and failed students, as int of shape (n_leaves, 2).

    Parameters
    ----------
    failed : int array of shape (30,)
        1 for a student who failed, else 0.
    n_trees : int
        Number of trees whose leaf counts are published.
    epsilon : float or None
        Budget of all trees together; None publishes the exact counts.
    seed : int
        Seed of the noise.
    tree_seed : int
        Seed of the structure of the trees.
    """
    table = members(n_trees, tree_seed)
    counts = np.column_stack([table @ (1 - failed), table @ failed]).astype(np.int64)
    if epsilon is None:
        return counts
    return simulate_values(spec_of(n_trees), counts, Fraction(str(epsilon)), seed)


def reconstruct(table: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """Estimate all secrets from 0 to 1 by least squares on the counts; an estimate above one half means "failed".

    `table` is the result of `members`. Each leaf yields two equations for its number of failed students: from the count
    of failed students, and from the count of passed students and the known number of students. The fit uses the mean of
    the two equations. The solver (`bvls`) is exact. An iterative solver would miss the solution by about a millionth,
    so that an estimate of one half would count as decided.
    """
    has_students = table.any(axis=1)
    rows = table[has_students].astype(float)
    failed = (counts[has_students, 1] + rows.sum(axis=1) - counts[has_students, 0]) / 2
    return lsq_linear(rows, failed, bounds=(0, 1), method="bvls").x


def marks_of(guess: np.ndarray, failed: np.ndarray) -> np.ndarray:
    """Return a mark per student: 1 if the estimate rounds to the secret, 0 if not, 0.5 if the estimate is one half."""
    return np.where(np.abs(guess - 0.5) < _UNDECIDED, 0.5, (guess > 0.5) == failed)


def marks(n_trees: int, epsilon: float | None, class_seed: int) -> np.ndarray:
    """Return the marks of all students of the synthetic class with this seed (`marks_of`)."""
    failed = secrets(class_seed)
    return marks_of(
        reconstruct(members(n_trees), published_counts(failed, n_trees, epsilon, 77 * class_seed + 1)), failed
    )


def n_right_by_class(n_trees: int, epsilon: float | None, classes: int = CLASSES) -> np.ndarray:
    """Return how many of thirty guesses are right in each synthetic class; an undecided guess counts as half right."""
    return np.array([marks(n_trees, epsilon, seed).sum() for seed in range(classes)])
