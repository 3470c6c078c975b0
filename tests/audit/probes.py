"""Probes: functions that return one number and have the name of a mutant, a deliberate mistake in certified code.

If the mutant is in the code, its probe returns another number. Draws come from fixed random words, so a probe returns
the same number whenever it runs the same code.
"""

import math
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd

import dpforest
from dpforest.models.greedy.alpha_boost import boost
from dpforest.models.greedy.boost_mechanisms import CertifiedBoostMechanism
from dpforest.models.greedy.boost_spec import BoostSpec
from dpforest.models.greedy.count_trees import share_out
from dpforest.models.random.fit import count_kept_rows
from dpforest.privacy import SecretSource, rationals, release, samplers, selection
from dpforest.privacy.ledger import Ledger, QueryBudget
from dpforest.privacy.release import assign_rows, release_labels
from dpforest.tables.domain import Domain
from dpforest.trees.candidates import public_candidates
from dpforest.trees.greedy_trees import grow_tree
from dpforest.trees.random_trees import grow_random_trees
from dpforest.trees.routing import count_rows
from dpforest.trees.split_scores import UNIT, score_splits, sensitivity
from tests.conftest import public_domain

ONE = Fraction(1)
DRAWS = 4_000
DOMAIN = public_domain(None, None)
ROWS = np.random.default_rng(0).random((12, 2))
HALVES = np.arange(12) % 2


class FixedWords(SecretSource):
    """Source of random words that are the same in every run. It takes the place of the secret source."""

    __slots__ = ("_rng",)

    def __init__(self) -> None:
        self._rng = np.random.default_rng(0)

    def words(self, n: int) -> np.ndarray:
        return self._rng.integers(0, 2**64, n, np.uint64)


def labels_at_the_rate_of_the_entry() -> float:
    """Share of draws that release the label without rows instead of that with two, at ε = 1 under replace-one."""
    counts, ledger = np.tile([2, 0], (DRAWS, 1)), Ledger(1, "replace-one")
    settings = {"epsilon": ONE, "n_trees": 1, "partition": "independent", "neighbors": "replace-one", "ledger": ledger}
    return release_labels(counts, mechanism="exponential", source=FixedWords(), **settings).mean()


def negative_zero_is_a_zero() -> float:
    """Share of draws of noise of scale 1 that are 0."""
    return (samplers.draw_noisy_counts(np.zeros((DRAWS, 1), int), ONE, FixedWords()) == 0).mean()


def long_shots_never_hit() -> float:
    """Whether an event of probability e^-12 occurs on a tape that makes each of its coins succeed."""
    tape = np.tile(np.array([0, 65_535], np.uint16), 20)
    return samplers.bernoulli_exp(tape, 0, 12, 1)[0]


def fine_scores_at_the_coarse_rate() -> float:
    """Share of draws at ε = 1 that choose the worse of two splits, whose scores differ by one row."""
    scores = np.tile([0, UNIT**2], (DRAWS, 1))
    return (selection.choose(scores, scores >= 0, UNIT**2, QueryBudget(ONE, 1), FixedWords()) == 0).mean()


def entropy_is_at_most_log_n() -> float:
    """Privacy loss of row 32 in a choice of a test that costs ε = 1.

    The other 31 rows are equal, and row 32 has another class. This is the worst case: of about a thousand tests, all
    but one separate row 32 from the other rows.
    """
    candidates = public_candidates(public_domain(2, *[None] * 5), 200)
    rows = np.zeros((32, 6), np.uint8)
    rows[-1, 1:] = 199
    histogram = np.zeros((2, int(candidates.slot[-1]), 2), np.int64)
    for table, n in enumerate((31, 32)):
        for i, j in np.ndindex(n, 6):
            histogram[table, candidates.slot[j] + rows[i, j], int(i == 31)] += 1
    scores = score_splits(histogram, candidates, "entropy")
    p = selection.chosen_probability(scores, scores <= 0, sensitivity("entropy", 32), ONE, np.zeros(2, int))
    return math.log(p[0] / p[1])


def reach_of_the_rows() -> float:
    """Decrease of the bound on weights in the second tree, if the only row of a leaf of the first tree is removed."""

    class FixedMechanism:
        alphas: list[float] = []

        def start_tree(self, number, weight_bound):
            pass

        def split(self, level, histogram, allowed, candidates, trace):
            return np.zeros(len(histogram), np.int64)

        def leaves(self, table):
            return np.array([0.5, 3.0]), 1.0

    spec = BoostSpec(
        2,
        1,
        2,
        0.0,
        1.0,
        10.0,
        "counts",
        "post",
        False,
        Fraction(1, 2),
        Fraction(1, 20),
        9,
        1,
        "add-remove",
        has_unit=False,
    )
    candidates, bins = public_candidates(public_domain(None), 2), np.array([[0], [0], [1]], np.uint8)
    bounds = [
        boost(spec, candidates, bins[:n], np.ones(n, np.int32), FixedMechanism(), trace=False).bounds[1] for n in (3, 2)
    ]
    return bounds[0] - bounds[1]


def rows_are_dealt_out() -> float:
    """Share of assignments of two rows to two trees that put both rows into the same tree."""
    source = FixedWords()
    return np.mean([np.ptp(assign_rows(2, 2, source)) == 0 for _ in range(400)])


def empty_bins_are_not_asked() -> float:
    """Number of tests, out of three, that the root may use if all rows are in the first bin."""
    asked = []

    def choose(level, histogram, allowed):
        asked.append(allowed.sum())
        return np.zeros(1, np.int64)

    ones = np.ones(5, np.int64)
    candidates, bins = public_candidates(public_domain(None), 4), np.zeros((5, 1), np.uint8)
    grow_tree(candidates, bins, ones.astype(np.int32), ones, n_classes=2, depth=1, choose=choose)
    return asked[0]


def bytes_come_round() -> float:
    """Whether words 32 to 63 of the secret source repeat words 0 to 31."""
    first, second = SecretSource().words(64).reshape(2, 32)
    return np.array_equal(first, second)


def every_row_decides_leaves() -> float:
    """Share of the rows that both grow a tree and decide its leaves."""
    shares = share_out(np.arange(DRAWS), 2, Fraction(1, 2), "independent", FixedWords())
    return sum(len(np.intersect1d(*rows_of_tree)) for rows_of_tree in zip(shares.structure, shares.estimation)) / DRAWS


def every_row_in_every_tree() -> float:
    """Number of times that each row is counted, if it belongs to one of three trees."""
    domain = public_domain(None)
    trees, rows = grow_random_trees(domain, n_trees=3, depth=2, seed=0), np.zeros((6, 1))
    tree_of_row = np.arange(6, dtype=np.int32) % 3
    return count_kept_rows(trees, domain, rows, np.zeros(6, np.int32), tree_of_row, n_jobs=1).sum() / 6


def missing_is_the_median() -> float:
    """Change of the code of a missing cell when the value of another row changes, as a share of the range."""
    feature = replace(public_domain(None).features[0], missing="value", missing_value=0.25)
    domain = Domain((feature,), (0, 1), "y", "documented", "made up")
    codes = [int(domain.encode(pd.DataFrame({"f0": [np.nan, other]}))[0, 0]) for other in (0.125, 0.875)]
    return (codes[1] - codes[0]) / 65_536


def empty_leaves_stay_empty() -> float:
    """Share of noisy counts of empty leaves that are 0 at scale 1."""
    return (release.release_counts(np.zeros((DRAWS, 1), int), **paid(), source=FixedWords()) == 0).mean()


def whole_scales() -> float:
    """Scale of the noise that ε = 0.7 pays for."""
    return float(rationals.round_up(Fraction(10, 7)))


def noise_until_not_negative() -> float:
    """Share of empty cells that are 0 after noise of scale 1."""
    return (samplers.draw_noisy_counts(np.zeros((DRAWS, 1), int), ONE, FixedWords()) == 0).mean()


def better_of_two_splits() -> float:
    """Share of draws at ε = 1 that choose the worse of two splits, whose scores differ by the sensitivity."""
    scores = np.tile([0, 1000], (DRAWS, 1))
    return (selection.choose(scores, scores >= 0, 1000, QueryBudget(ONE, 1), FixedWords()) == 0).mean()


def equal_leaves_draw_once() -> float:
    """Share of empty leaves whose label differs from that of the first leaf, with two classes."""
    counts = np.zeros((DRAWS, 2), int)
    labels = release.release_labels(counts, mechanism="permute-and-flip", **paid(), source=FixedWords())
    return (labels != labels[0]).mean()


def structure_that_suits_the_rows() -> float:
    """Whether the structure of a fit differs from the structure that its public seed determines."""
    # The fit uses a public scale, because the noise of a released scale would move the thresholds.
    public_scale = {"domain": DOMAIN, "scale_share": "public"}
    forest = dpforest.MajorityLabelForestClassifier(n_estimators=3, max_depth=2, **public_scale).fit(ROWS, HALVES)
    public = grow_random_trees(DOMAIN, n_trees=3, depth=2, seed=0)
    return not np.array_equal(forest.forest_.trees.threshold, public.threshold)


def as_many_of_each_class() -> float:
    """Number of counted rows, if the table has one row of the first class and eleven rows of the second."""
    forest = dpforest.RandomDecisionForestClassifier(domain=DOMAIN, epsilon=None, n_estimators=1, max_depth=1)
    return forest.fit(ROWS, (np.arange(12) > 0).astype(int)).forest_.leaves.noisy_counts.sum()


def carried_from_true_leaves() -> float:
    """Number of different errors from which α is computed, in nine trees whose leaves have the same weights."""
    mechanism, table = mechanism_of(alpha="carried"), np.array([[9, 3], [1, 9]]) * 1024
    errors = set()
    for _ in range(9):
        mechanism.start_tree(0, 1024)
        mechanism.leaves(np.repeat(table, 2, axis=0))
        errors.add(tuple(mechanism._errors))
    return len(errors)


def blocks_overlap() -> float:
    """Number of rows that two threads count, if the table has eight rows."""
    trees = grow_random_trees(DOMAIN, n_trees=1, depth=1, seed=0)
    return count_rows(trees, DOMAIN, ROWS[:8], np.zeros(8, np.int32), n_classes=2, n_jobs=2).sum()


def values_are_clamped_below() -> float:
    """Share of leaves whose value equals the bound of 10, if all rows have the second class and noise is large."""
    values, _ = mechanism_of(leaf="range", beta="one").leaves(np.tile([0, 512], (DRAWS, 1)))
    return (values == 10).mean()


def paid() -> dict[str, Any]:
    """Return the arguments of a release at ε = 1 that counts each row in one tree."""
    settings = {"epsilon": ONE, "n_trees": 1, "partition": "independent", "neighbors": "add-remove"}
    return settings | {"ledger": Ledger(1)}


def mechanism_of(*, alpha: Any = 0.0, leaf: str = "counts", beta: str = "post") -> CertifiedBoostMechanism:
    """Return the mechanism of a booster: trees of two levels, bound M of 10, ε = 1 for each query."""
    share = Fraction(1, 2), Fraction(1, 20)
    spec = BoostSpec(2, 2, 2, alpha, 1.0, 10.0, leaf, beta, False, *share, 99, 1, "add-remove", has_unit=False)
    mechanism = CertifiedBoostMechanism(spec, {"leaves": QueryBudget(ONE, 9)}, FixedWords(), 0)
    mechanism.start_tree(0, 512)
    return mechanism


# For each probe, the number that it returns without its mutant, and the number that it returns with the mutant.
SAYS: dict[Callable[[], float], tuple[float, float]] = {
    labels_at_the_rate_of_the_entry: (1 / (1 + math.e), 1 / (1 + math.e**2)),
    negative_zero_is_a_zero: (math.tanh(0.5), 1 - 1 / math.e),
    long_shots_never_hit: (1, 0),
    fine_scores_at_the_coarse_rate: (1 / (1 + math.e), 0),
    entropy_is_at_most_log_n: (1, (5 + 1 / math.log(2)) / 5),
    reach_of_the_rows: (0, 0.3),
    rows_are_dealt_out: (0.5, 0),
    empty_bins_are_not_asked: (3, 1),
    bytes_come_round: (0, 1),
    every_row_decides_leaves: (0, 0.5),
    every_row_in_every_tree: (1, 3),
    missing_is_the_median: (0, 0.75),
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


# Settings of a forest without which a mutant has no effect.
SETTINGS: dict[str, dict[str, Any]] = {
    "whole_scales": {"epsilon": 0.7},
    "carried_from_true_leaves": {"alpha": "carried"},
    "blocks_overlap": {"n_jobs": 2},
    "values_are_clamped_below": {"leaf": "range"},
}
