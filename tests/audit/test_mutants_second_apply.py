"""Each mistake of `mutants_second` is in force inside its block, unnoticed by the certificate, and gone after it.

Draws come from fixed words, so that each probe says the same number whenever the same code runs.
"""

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pytest
from conftest import public_domain
from mutants import EVERY, MUTANTS, Mutant, mutated
from mutants_second import SECOND
from test_mutants_apply import DRAWS, ONE, FixedWords, state

import dpforest
from dpforest.models.greedy.boost_mechanisms import CertifiedBoostMechanism
from dpforest.models.greedy.boost_spec import BoostSpec
from dpforest.privacy import rationals, release, samplers, selection
from dpforest.privacy.ledger import Ledger, QueryBudget
from dpforest.trees.random_trees import grow_random_trees
from dpforest.trees.routing import count_rows

DOMAIN = public_domain(None, None)
ROWS = np.random.default_rng(0).random((12, 2))
HALVES = np.arange(12) % 2
each = pytest.mark.parametrize("mutant", SECOND, ids=lambda mutant: mutant.name)


# ---------------------------------------------------------------- what tells right from wrong


def empty_leaves_stay_empty() -> float:
    """How often the noisy count of an empty leaf is 0 at scale 1."""
    return (release.release_counts(np.zeros((DRAWS, 1), int), **paid(), source=FixedWords()) == 0).mean()


def whole_scales() -> float:
    """The scale of noise that ε = 0.7 pays for."""
    return float(rationals.round_up(Fraction(10, 7)))


def noise_until_not_negative() -> float:
    """How often an empty cell is 0 after noise of scale 1."""
    return (samplers.draw_noisy_counts(np.zeros((DRAWS, 1), int), ONE, FixedWords()) == 0).mean()


def better_of_two_splits() -> float:
    """How often the worse of two splits is drawn that differ by what one row may change, at ε = 1."""
    scores = np.tile([0, 1000], (DRAWS, 1))
    return (selection.choose(scores, scores >= 0, 1000, QueryBudget(ONE, 1), FixedWords()) == 0).mean()


def equal_leaves_draw_once() -> float:
    """Share of empty leaves that say another of two labels than the first one does."""
    counts = np.zeros((DRAWS, 2), int)
    labels = release.release_labels(counts, mechanism="permute-and-flip", **paid(), source=FixedWords())
    return (labels != labels[0]).mean()


def structure_that_suits_the_rows() -> float:
    """Whether a fit has another structure than its public seed says."""
    forest = dpforest.MajorityLabelForestClassifier(domain=DOMAIN, n_estimators=3, max_depth=2).fit(ROWS, HALVES)
    public = grow_random_trees(DOMAIN, n_trees=3, depth=2, seed=0)
    return not np.array_equal(forest.forest_.trees.threshold, public.threshold)


def as_many_of_each_class() -> float:
    """Rows that are counted of one row of the first class and eleven of the second."""
    forest = dpforest.RandomDecisionForestClassifier(domain=DOMAIN, epsilon=None, n_estimators=1, max_depth=1)
    return forest.fit(ROWS, (np.arange(12) > 0).astype(int)).forest_.noisy_counts.sum()


def carried_from_true_leaves() -> float:
    """How many different α the second level of a second tree gets from one table of leaves."""
    mechanism, table = mechanism_of(alpha="carried"), np.array([[9, 3], [1, 9]]) * 1024
    found = set()
    for _ in range(9):
        mechanism.start_tree(0, 1024)
        mechanism.leaves(np.repeat(table, 2, axis=0))
        found.add(tuple(mechanism._errors))
    return len(found)


def blocks_overlap() -> float:
    """Rows that are counted of eight, in two threads."""
    trees = grow_random_trees(DOMAIN, n_trees=1, depth=1, seed=0)
    return count_rows(trees, DOMAIN, ROWS[:8], np.zeros(8, np.int32), n_classes=2, n_jobs=2).sum()


def values_are_clamped_below() -> float:
    """How often a leaf of the second class says the bound itself after noise of twice the bound."""
    values, _ = mechanism_of(leaf="range", beta="one").leaves(np.tile([0, 512], (DRAWS, 1)))
    return (values == 10).mean()


def paid() -> dict[str, Any]:
    """Arguments of a release at ε = 1, rows shared out."""
    how = {"epsilon": ONE, "n_trees": 1, "partition": "independent", "neighbours": "add-remove"}
    return how | {"ledger": Ledger(1)}


def mechanism_of(*, alpha: Any = 0.0, leaf: str = "counts", beta: str = "post") -> CertifiedBoostMechanism:
    """What answers a booster of trees of two levels whose bound M is 10, with ε = 1 for everything it asks."""
    share = Fraction(1, 2), Fraction(1, 20)
    spec = BoostSpec(2, 2, 2, alpha, 1.0, 10.0, leaf, beta, False, *share, 99, 1, "add-remove")
    mechanism = CertifiedBoostMechanism(spec, {"leaves": QueryBudget(ONE, 9)}, FixedWords(), 0)
    mechanism.start_tree(0, 512)
    return mechanism


# What each probe says without the mistake, and with it.
SAYS: dict[Callable[[], float], tuple[float, float]] = {
    empty_leaves_stay_empty: (math.tanh(0.5), 1),
    whole_scales: (10 / 7, 1),
    noise_until_not_negative: (math.tanh(0.5), 1 - 1 / math.e),
    better_of_two_splits: (1 / (1 + math.e), 1 / (1 + math.e) ** 2),
    equal_leaves_draw_once: (0.5, 0),
    structure_that_suits_the_rows: (0, 1),
    as_many_of_each_class: (12, 2),
    carried_from_true_leaves: (9, 1),
    blocks_overlap: (8, 11),
    values_are_clamped_below: (0.5, 1 - math.exp(-4.5) / 2),
}

# Settings at which a mistake is in force, where it is not at others.
SETTINGS: dict[str, dict[str, Any]] = {
    "whole_scales": {"epsilon": 0.7},
    "carried_from_true_leaves": {"alpha": "carried"},
    "blocks_overlap": {"n_jobs": 2},
    "values_are_clamped_below": {"leaf": "range"},
}


# ---------------------------------------------------------------- the certificate that does not notice


def certified(name: str, **settings: Any) -> bool:
    """Fit with the system's entropy: does its certificate say that it is certified, and does its ledger add up?"""
    settings |= {} if name == "FriedmanSchusterClassifier" else {"n_estimators": 2}
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"f0": rng.random(20), "f1": rng.choice(["c0", "c1"], 20), "f2": rng.random(20)})
    domain, y = public_domain(None, 3, None), rng.integers(0, 2, 20)
    for neighbours in ("add-remove", "replace-one"):
        forest = getattr(dpforest, name)(domain=domain, max_depth=2, neighbours=neighbours, **settings).fit(X, y)
        promise, ledger = forest.released_.certificate, forest.released_.ledger
        if not (promise.certified and ledger.closed and ledger.spent <= promise.epsilon):
            return False
    return True


@each
def test_mistake_is_in_force_unnoticed_and_gone_afterwards(mutant: Mutant):
    probe = {probe.__name__: probe for probe in SAYS}[mutant.name]
    right, wrong = SAYS[probe]
    everything, before = state(), float(probe())
    assert before == pytest.approx(right, abs=0.03)
    with mutated(mutant):
        assert state() != everything
        assert float(probe()) == pytest.approx(wrong, abs=0.03)
        for forest in mutant.forests:
            assert certified(forest, **SETTINGS.get(mutant.name, {})), forest
    assert state() == everything
    assert float(probe()) == before


def test_there_are_ten_of_forests_that_exist_and_none_of_the_first_twelve():
    names = {mutant.name for mutant in SECOND}
    assert len(SECOND) == len(names) == len(SAYS) == 10 and set(SETTINGS) <= names
    assert all(mutant.forests and set(mutant.forests) <= set(EVERY) for mutant in SECOND)
    assert {mutant.new for mutant in SECOND}.isdisjoint(mutant.new for mutant in MUTANTS)
