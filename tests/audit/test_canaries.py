"""Canaries: pairs of neighboring tables on which an attack may prove a large privacy loss.

Certified forests keep their promise, and attacks detect the loss of some published forests. Draws are fresh in every
run. An assertion blames a certified forest with a probability of at most 1e-6 (`SURE`), whatever the search does. If a
test expects an attack to succeed, the attack has so many trials that it fails with a probability below 1e-6.
"""

import re

import numpy as np
import pytest

from dpforest.audit.black_box import Bound, attack_fits
from dpforest.audit.canaries import ALGORITHMS, OURS, Canary, canaries, modes_of
from tests.conftest import every, some

SURE = 1 - 1e-6
RELATIONS = ("add-remove", "replace-one")
BUDGETS = (0.1, 1.0, 4.0)


def audit(canary: Canary, trials: int, confidence: float = SURE, *, votes: bool = True) -> Bound:
    probes = canary.probes if votes else None
    return attack_fits(
        canary.estimator, canary.before, canary.after, trials=trials, confidence=confidence, probes=probes
    )


def pick(name: str, mode: str, neighbors: str, epsilon: float, called: str) -> Canary:
    return next(c for c in canaries(name, mode, neighbors, epsilon) if c.name.startswith(called))


@pytest.mark.parametrize("neighbors", RELATIONS)
@pytest.mark.parametrize("name", ALGORITHMS)
def test_canaries_are_neighbors_and_certified_as_they_state(name, neighbors):
    for mode in set(modes_of(name)) - {"data-derived"}:
        for canary in canaries(name, mode, neighbors, 1.0):
            (X, y), (Z, z) = canary.before, canary.after
            rows, others = np.c_[X, y], np.c_[Z, z]
            if canary.estimator.domain.unit is not None:  # the neighbors differ in all rows of one person
                assert len(others) == 9 and rows[:2].tolist() == others[:2].tolist()
                assert len(rows) == (2 if neighbors == "add-remove" else 9)
                assert set(others[2:, -2]) == {"last"} and set(rows[2:, -2]) <= {"other"}
            elif neighbors == "add-remove":
                assert np.array_equal(rows, others[:-1]), canary.name
            else:
                assert np.array_equal(rows[:-1], others[:-1]) and not np.array_equal(rows[-1], others[-1]), canary.name
            certificate = canary.estimator.fit(Z, z).certificate_
            assert certificate.certified == (mode in ("certified", "persons"))
            assert certificate.neighbors == neighbors


# By default, every fourth forest is attacked once, at ε = 1. The two neighbor relations alternate.
PROMISES = [
    pytest.param(name, relation, epsilon, marks=() if i % 4 == k == (i // 4 + j) % 2 == 0 else pytest.mark.slow)
    for i, name in enumerate(ALGORITHMS)
    for j, relation in enumerate(RELATIONS)
    for k, epsilon in enumerate((1.0, 0.1))
]


@pytest.mark.parametrize("name, neighbors, epsilon", PROMISES)
def test_certified_forests_keep_their_promise(name, neighbors, epsilon):
    """No attack proves a loss above ε. The few trials of this test can prove a loss of at most 1.4."""
    for canary in canaries(name, "certified", neighbors, epsilon)[: 9 if epsilon == 1.0 else 1] + canaries(
        name, "persons", neighbors, epsilon
    ):
        bound = audit(canary, 120, votes=epsilon == 1.0)
        assert bound.epsilon <= epsilon, (canary.name, bound)


@pytest.mark.parametrize(
    "name, called",
    [("majority label", "a leaf that is nearly tied"), ("random decision", "the first row of a leaf, one")],
)
@pytest.mark.slow
def test_the_attack_is_not_blind(name, called):
    """The attack proves at least half of ε for permute-and-flip and discrete Laplace noise, whose loss is ε."""
    bound = audit(pick(name, "certified", "add-remove", 1.0, called), 6000, votes=False)
    assert 0.5 <= bound.epsilon <= 1.0


# A canary of each forest, and the number of fits of each of its two tables at ε = 0.1, 1 and 4. Rare events and bounds
# above 4 need many fits.
CAUGHT = {
    ("majority label", "add-remove"): ("the row that enlarges every block", 3000, 300, 1100),
    ("majority label", "replace-one"): ("a leaf at the violating gap", 4000, 300, 1100),
    ("multinomial", None): ("the last row that a split needs", 200, 300, 1300),
    ("boosted", None): ("the coefficient of a tree", 200, 300, 1200),
    ("random decision", None): ("the first row of a leaf, one", 2500, 600, 1800),
    ("JPW", None): ("the first row of a leaf, one", 2500, 600, 1800),
    ("RF-L", None): ("the first row of a leaf, one", 2500, 600, 1800),
    ("Friedman-Schuster", None): ("the first row of a leaf", 9000, 4000, 8000),
}


# One forest of each mechanism, at a small and a large ε. JPW and RF-L are left out, because their noise is that of
# random decision trees.
PUBLISHED = [name for name in ALGORITHMS if name not in ("RF-E", *OURS)]
AT_ALL = [(name, "add-remove", epsilon) for name in PUBLISHED if name not in ("JPW", "RF-L") for epsilon in (0.1, 4.0)]


@pytest.mark.parametrize(
    "name, neighbors, epsilon",
    [
        *(pytest.param(*cell.values, 1.0, marks=cell.marks) for cell in some(PUBLISHED[1:], RELATIONS, every=2)),
        *((PUBLISHED[0], relation, 1.0) for relation in RELATIONS),  # each relation has a separate canary
        *(pytest.param(*case, marks=pytest.mark.slow) for case in AT_ALL),
    ],
)
def test_forests_as_published_are_caught(name, neighbors, epsilon):
    called, *trials = CAUGHT.get((name, None)) or CAUGHT[name, neighbors]
    canary = pick(name, "as_published", neighbors, epsilon, called)
    bound = audit(canary, trials[BUDGETS.index(epsilon)], 0.99, votes=False)
    assert bound.epsilon > epsilon, bound


@pytest.mark.parametrize("epsilon", BUDGETS)
@pytest.mark.parametrize("neighbors", RELATIONS)
def test_rf_e_as_published_is_not_seen_to_lose_more_than_in_ideal_numbers(neighbors, epsilon):
    """No attack proves more than the loss that holds in ideal real numbers. Better attacks may exist."""
    for canary in canaries("RF-E", "as_published", neighbors, epsilon):
        reasons = canary.estimator.fit(*canary.after).certificate_.reasons
        ideal = float(re.match(r"In ideal real numbers the loss would be at most ([0-9.]+);", reasons[0])[1])
        assert audit(canary, 150).epsilon <= ideal <= epsilon


@pytest.mark.parametrize("called", ["a value that nobody else has", "the only row of its class"])
def test_attacks_detect_values_of_the_data_and_counts_that_stop_branches(called):
    assert audit(pick("multinomial", "as_published", "add-remove", 1.0, called), 400, 0.999).epsilon > 1.0


@pytest.mark.parametrize("name", every(3, ALGORITHMS))
def test_attacks_detect_bounds_read_from_the_data(name):
    (canary,) = canaries(name, "data-derived", "add-remove", 1.0)
    bound = audit(canary, 120)
    assert bound.epsilon > 1.0 and bound.trials[0] in bound.hits


def test_unknown_names_are_refused():
    with pytest.raises(ValueError, match="choose from majority label"):
        canaries("forest", "certified", "add-remove", 1.0)
    with pytest.raises(ValueError, match="is in no paper"):
        canaries("random-tree booster", "as_published", "add-remove", 1.0)
