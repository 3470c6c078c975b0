"""Each mistake of `mutants` is in force inside its block, with a certificate that says all is well, and gone after it.

Draws come from fixed words, so that each probe says the same number whenever the same code runs.
"""

import math
import sys
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction

import numba
import numpy as np
import pandas as pd
import pytest
from conftest import public_domain
from mutants import EVERY, MUTANTS, Mutant, mutated

import dpforest
from dpforest.models.greedy.boost_spec import BoostSpec
from dpforest.models.greedy.boosting import boost
from dpforest.models.greedy.count_trees import share_out
from dpforest.models.random.fit import count_kept_rows
from dpforest.privacy import SecretSource, samplers, selection
from dpforest.privacy.ledger import Ledger, QueryBudget
from dpforest.privacy.release import assign_rows, release_labels
from dpforest.tables.domain import Domain
from dpforest.trees.candidates import public_candidates
from dpforest.trees.greedy_trees import grow_tree
from dpforest.trees.random_trees import grow_random_trees
from dpforest.trees.split_scores import UNIT, score_splits, sensitivity

JIT = not numba.config.DISABLE_JIT
ONE = Fraction(1)
DRAWS = 4_000
by_name = {mutant.name: mutant for mutant in MUTANTS}
each = pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)


class FixedWords(SecretSource):
    """The same words at every run, for what asks for secret ones."""

    __slots__ = ("_rng",)

    def __init__(self) -> None:
        self._rng = np.random.default_rng(0)

    def words(self, n: int) -> np.ndarray:
        return self._rng.integers(0, 2**64, n, np.uint64)


# ---------------------------------------------------------------- what tells right from wrong


def labels_at_the_rate_of_the_entry() -> float:
    """How often a label that is two rows behind is drawn at ε = 1 under replace-one, where κ = 1/2."""
    counts, ledger = np.tile([2, 0], (DRAWS, 1)), Ledger(1, "replace-one")
    how = {"epsilon": ONE, "n_trees": 1, "partition": "independent", "neighbours": "replace-one", "ledger": ledger}
    return release_labels(counts, mechanism="exponential", source=FixedWords(), **how).mean()


def negative_zero_is_a_zero() -> float:
    """How often noise of scale 1 is 0."""
    return (samplers.draw_noisy_counts(np.zeros((DRAWS, 1), int), ONE, FixedWords()) == 0).mean()


def long_shots_never_hit() -> float:
    """Whether lanes that are as lucky as can be let e^-12 happen: 0 < 1/2, but not < 1/3, is a hit of e^-1."""
    tape = np.tile(np.array([0, 65_535], np.uint16), 20)
    return samplers.bernoulli_exp(tape, 0, 12, 1)[0]


def fine_scores_at_the_coarse_rate() -> float:
    """How often the worse of two splits is drawn, one row apart, at ε = 1."""
    scores = np.tile([0, UNIT**2], (DRAWS, 1))
    return (selection.choose(scores, scores >= 0, UNIT**2, QueryBudget(ONE, 1), FixedWords()) == 0).mean()


def entropy_is_at_most_log_n() -> float:
    """What one more row costs in a draw that was paid 1 for: 31 alike, then one of the other class.

    Of a thousand tests one does not tell it from them, which is as bad as can be.
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
    """By how much the bound on weights of the second tree falls when the one row on the right is taken out."""

    class Told:
        alphas: list[float] = []

        def start_tree(self, number, weight_bound):
            pass

        def split(self, level, histogram, allowed, candidates, trace):
            return np.zeros(len(histogram), np.int64)

        def leaves(self, table):
            return np.array([0.5, 3.0]), 1.0

    spec = BoostSpec(
        2, 1, 2, 0.0, 1.0, 10.0, "counts", "post", False, Fraction(1, 2), Fraction(1, 20), 9, 1, "add-remove"
    )
    candidates, bins = public_candidates(public_domain(None), 2), np.array([[0], [0], [1]], np.uint8)
    bounds = [boost(spec, candidates, bins[:n], np.ones(n, np.int32), Told(), trace=False).bounds[1] for n in (3, 2)]
    return bounds[0] - bounds[1]


def rows_are_dealt_out() -> float:
    """How often two rows meet in the same one of two trees."""
    source = FixedWords()
    return np.mean([np.ptp(assign_rows(2, 2, source)) == 0 for _ in range(400)])


def empty_bins_are_not_asked() -> float:
    """Tests that a root may ask, of three, when all rows are in the first bin."""
    asked = []

    def choose(level, histogram, allowed):
        asked.append(allowed.sum())
        return np.zeros(1, np.int64)

    ones = np.ones(5, np.int64)
    candidates, bins = public_candidates(public_domain(None), 4), np.zeros((5, 1), np.uint8)
    grow_tree(candidates, bins, ones.astype(np.int32), ones, n_classes=2, depth=1, choose=choose)
    return asked[0]


def bytes_come_round() -> float:
    """Whether words 32 to 63 are words 0 to 31 again."""
    first, second = SecretSource().words(64).reshape(2, 32)
    return np.array_equal(first, second)


def every_row_decides_leaves() -> float:
    """Share of the rows that grow a tree and decide its leaves."""
    shares = share_out(np.arange(DRAWS), 2, Fraction(1, 2), "independent", FixedWords())
    return sum(len(np.intersect1d(*own)) for own in zip(shares.structure, shares.estimation)) / DRAWS


def every_row_in_every_tree() -> float:
    """How often a row is counted that is in one of three trees."""
    domain = public_domain(None)
    trees, rows = grow_random_trees(domain, n_trees=3, depth=2, seed=0), np.zeros((6, 1))
    own = np.arange(6, dtype=np.int32) % 3
    return count_kept_rows(trees, domain, rows, np.zeros(6, np.int32), own, n_jobs=1).sum() / 6


def missing_is_the_median() -> float:
    """How far the code of a missing cell moves with the other row, in a range of 1."""
    feature = replace(public_domain(None).features[0], missing="value", missing_value=0.25)
    domain = Domain((feature,), (0, 1), "y", "documented", "made up")
    codes = [int(domain.encode(pd.DataFrame({"f0": [np.nan, other]}))[0, 0]) for other in (0.125, 0.875)]
    return (codes[1] - codes[0]) / 65_536


# What each probe says without the mistake, and with it.
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
}


# ---------------------------------------------------------------- the certificate that does not notice


def certified(name: str) -> bool:
    """Fit with the system's entropy: does its certificate say that it is certified, and does its ledger add up?"""
    domain = public_domain(None, 3, None)
    few = {} if name == "FriedmanSchusterClassifier" else {"n_estimators": 2}
    few |= {"n_bound": 50} if name == "BoostedForestClassifier" else {}
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"f0": rng.random(20), "f1": rng.choice(["c0", "c1"], 20), "f2": rng.random(20)})
    forest = getattr(dpforest, name)(domain=domain, max_depth=2, **few).fit(X, rng.integers(0, 2, 20))
    promise, ledger = forest.released_.certificate, forest.released_.ledger
    return promise.certified and ledger.closed and ledger.spent <= promise.epsilon == 1


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
            assert certified(forest), forest
    assert state() == everything
    assert float(probe()) == before or mutant.name == "bytes_come_round"


def state() -> dict[tuple[str, ...], object]:
    """Every name of the package and of this module, what it stands for, and its code."""
    ours = [name for name in sys.modules if name.split(".")[0] in ("dpforest", __name__)]
    return {
        (module, name, inner): (id(value), getattr(value, "__code__", None))
        for module in ours
        for name, outer in list(vars(sys.modules[module]).items())
        for inner, value in [("", outer), *(list(vars(outer).items()) if isinstance(outer, type) else [])]
    }


# ---------------------------------------------------------------- the list, and how it is put in force


def test_there_are_twelve_of_forests_that_exist():
    assert len(MUTANTS) == len(by_name) == len(SAYS) == 12
    assert all(set(mutant.forests) <= set(EVERY) <= set(dpforest.__all__) for mutant in MUTANTS)


@pytest.mark.skipif(not JIT, reason="nothing is compiled")
def test_compiled_callers_are_exchanged_everywhere_and_leave_nothing_on_disk():
    names = [(samplers, name) for name in ("bernoulli_exp", "discrete_laplace", "_discrete_laplace_kernel")]
    names += [(samplers, "_exponential_kernel"), (selection, "bernoulli_exp"), (selection, "_choose_kernel")]
    before = [getattr(*name) for name in names]
    with pytest.raises(KeyError), mutated(by_name["long_shots_never_hit"]):
        for name, right in zip(names, before):
            assert getattr(*name) is not right and getattr(*name).stats.cache_path is None
            assert right.stats.cache_path is not None
        assert selection.bernoulli_exp is samplers.bernoulli_exp
        assert samplers.uniform.stats.cache_path is not None, "what does not call it stays"
        raise KeyError("an error in the block")
    assert [getattr(*name) for name in names] == before


def test_code_that_has_changed_is_refused():
    for old in ("not there", "n"):
        with pytest.raises(ValueError, match="has changed; mend the mutant"), mutated(replace(MUTANTS[0], old=old)):
            pass
