"""Canaries: what certified forests keep, and which forests as published are caught.

Draws are fresh in every run. A certified forest is blamed with a probability of at most 1e-6 an assertion (`SURE`),
whatever the search does. Where something is to be caught, trials are so many that it is missed more rarely than that.
"""

import re

import numpy as np
import pytest

from dpforest.audit.black_box import Bound, attack_fits
from dpforest.audit.canaries import ALGORITHMS, OURS, Canary, canaries, modes_of
from tests.conftest import some

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
def test_canaries_are_neighbors_and_certified_as_they_say(name, neighbors):
    for mode in set(modes_of(name)) - {"data-derived"}:
        for canary in canaries(name, mode, neighbors, 1.0):
            (X, y), (Z, z) = canary.before, canary.after
            rows, others = np.c_[X, y], np.c_[Z, z]
            if neighbors == "add-remove":
                assert np.array_equal(rows, others[:-1]), canary.name
            else:
                assert np.array_equal(rows[:-1], others[:-1]) and not np.array_equal(rows[-1], others[-1]), canary.name
            certificate = canary.estimator.fit(Z, z).certificate_
            assert certificate.certified == (mode == "certified")
            assert certificate.neighbors == neighbors


# By default every second forest is attacked once, at ε = 1 under one of the relations in turn.
PROMISES = [
    pytest.param(name, relation, epsilon, marks=() if i % 2 == k == (i // 2 + j) % 2 == 0 else pytest.mark.slow)
    for i, name in enumerate(ALGORITHMS)
    for j, relation in enumerate(RELATIONS)
    for k, epsilon in enumerate((1.0, 0.1))
]


@pytest.mark.parametrize("name, neighbors, epsilon", PROMISES)
def test_certified_forests_keep_their_promise(name, neighbors, epsilon):
    """With few trials, as these are many, which could prove no more than 1.4; the kept audit has thousands."""
    for canary in canaries(name, "certified", neighbors, epsilon)[: 9 if epsilon == 1.0 else 1]:
        bound = audit(canary, 120, votes=epsilon == 1.0)
        assert bound.epsilon <= epsilon, (canary.name, bound)


@pytest.mark.parametrize(
    "name, called",
    [("majority label", "a leaf that is nearly tied"), ("random decision", "the first row of a leaf, one")],
)
@pytest.mark.slow
def test_the_attack_is_not_blind(name, called):
    """Permute-and-flip and discrete Laplace noise lose all of ε; the attack proves most of it."""
    bound = audit(pick(name, "certified", "add-remove", 1.0, called), 6000, votes=False)
    assert 0.5 <= bound.epsilon <= 1.0


# Canary, and fits of either table at ε = 0.1, 1 and 4: rare events take many, and so does a bound above 4.
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


# At a small and a large ε one forest of each mechanism; JPW and RF-L draw their noise as random decision trees do.
PUBLISHED = [name for name in ALGORITHMS if name not in ("RF-E", *OURS)]
AT_ALL = [(name, "add-remove", epsilon) for name in PUBLISHED if name not in ("JPW", "RF-L") for epsilon in (0.1, 4.0)]


@pytest.mark.parametrize(
    "name, neighbors, epsilon",
    [
        *(pytest.param(*cell.values, 1.0, marks=cell.marks) for cell in some(PUBLISHED[1:], RELATIONS)),
        *((PUBLISHED[0], relation, 1.0) for relation in RELATIONS),  # two canaries
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
    """Labels by the exponential mechanism at ε/2 a row: no value with low digits leaves. That is no promise."""
    for canary in canaries("RF-E", "as_published", neighbors, epsilon):
        reasons = canary.estimator.fit(*canary.after).certificate_.reasons
        ideal = float(re.match(r"In ideal real numbers the loss would be at most ([0-9.]+);", reasons[0])[1])
        assert audit(canary, 150).epsilon <= ideal <= epsilon


@pytest.mark.parametrize("called", ["a value that nobody else has", "the only row of its class"])
def test_values_of_the_data_and_counts_that_stop_branches_show(called):
    assert audit(pick("multinomial", "as_published", "add-remove", 1.0, called), 400, 0.999).epsilon > 1.0


@pytest.mark.parametrize("name", ALGORITHMS)
def test_bounds_read_from_the_data_show(name):
    (canary,) = canaries(name, "data-derived", "add-remove", 1.0)
    bound = audit(canary, 120)
    assert bound.epsilon > 1.0 and bound.trials[0] in bound.hits


def test_unknown_names_are_refused():
    with pytest.raises(ValueError, match="choose from majority label"):
        canaries("forest", "certified", "add-remove", 1.0)
    with pytest.raises(ValueError, match="is in no paper"):
        canaries("random-tree booster", "as_published", "add-remove", 1.0)
