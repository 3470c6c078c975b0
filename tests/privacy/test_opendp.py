"""Our exact samplers against those of OpenDP, which other people wrote and reviewed: the same laws, two samples.

Draws come from the system's entropy on both sides, so a right sampler fails sometimes. There are 15 comparisons, each
failing at p < 1e-9 in a chi-square test of two samples, in cells where at least 200 draws are due; so the whole file
raises a false alarm once in 60 million runs, and less than once in a million with much room for chi-square being an
approximation. Each comparison must also see a wrong parameter: noise of a scale 10 % too small, labels at a rate 20 %
too high. By the law of the statistic a right test misses that less than once in 10^14 runs.

OpenDP's parameters: `scale` is 1/rate, and its Laplace noise on whole numbers is discrete. Its noisy maximum takes
scores in the L∞ metric: exponential noise for pure privacy (`max_divergence`), which is permute-and-flip, and Gumbel
noise for `zero_concentrated_divergence`, which is the exponential mechanism. Its ε for that metric is 2 · scale⁻¹ for
scores that may move both ways and scale⁻¹ for monotonic ones; a row more raises counts only, so ours is the rate.
"""

from collections.abc import Callable
from fractions import Fraction

import numpy as np
import opendp.prelude as dp
import pytest
from scipy.stats import chi2

from dpforest.privacy import SecretSource
from dpforest.privacy.samplers import draw_exponential, draw_noisy_counts, draw_permute_and_flip
from dpforest.privacy.selection import draw_choices
from tests.conftest import some

dp.enable_features("contrib")

LEAST, FULL = 1e-9, 200
OURS, NOISE, LABELS = 300_000, 100_000, 20_000  # ours are fast; OpenDP's labels come one by one
SCORES = dp.vector_domain(dp.atom_domain(T="i64")), dp.linf_distance(T="i64")
COUNTS = dp.vector_domain(dp.atom_domain(T="i64")), dp.l1_distance(T="i64")


def p_value(ours: np.ndarray, theirs: np.ndarray) -> float:
    """Chi-square of two samples of whole numbers; neighboring values share a cell until enough of each are due."""
    low, high = min(ours.min(), theirs.min()), max(ours.max(), theirs.max())
    table = np.stack([np.bincount(sample - low, minlength=high - low + 1) for sample in (ours, theirs)])
    share = table.sum(axis=1, keepdims=True) / table.sum()
    starts, due = [0], 0.0
    for value, total in enumerate(table.sum(axis=0)):
        if due >= FULL:
            starts, due = [*starts, value], 0.0
        due += total * share.min()
    if due < FULL and len(starts) > 1:
        starts.pop()  # what is left over joins the cell before
    cells = np.add.reduceat(table, starts, axis=1)
    assert cells.shape[1] > 1, "one cell compares nothing"
    expected = cells.sum(axis=0) * share
    return float(chi2.sf(((cells - expected) ** 2 / expected).sum(), cells.shape[1] - 1))


def assert_same_law(draw: Callable[[Fraction], np.ndarray], exact: Fraction, theirs: np.ndarray, wrong: Fraction):
    """Ours at the right parameter follow the law of theirs; at a wrong one the same test sees it."""
    assert p_value(draw(exact), theirs) > LEAST
    assert p_value(draw(exact * wrong), theirs) < LEAST, "this comparison would not notice a wrong rate"


@pytest.mark.parametrize("scale", [Fraction(2, 3), Fraction(1), Fraction(10, 3), Fraction(20), Fraction(99_999, 101)])
def test_discrete_laplace(scale):
    counts = np.full((OURS // 2, 2), 17)
    noise = lambda s: draw_noisy_counts(counts, s, SecretSource()).ravel()
    theirs = np.array(dp.m.make_laplace(*COUNTS, scale=float(scale))([17] * NOISE))
    assert_same_law(noise, scale, theirs, Fraction(9, 10))


LEAVES = [((30, 20, 10, 0), Fraction(1, 10)), ((5, 3, 0), Fraction(3, 7)), ((9, 9, 2, 9, 6, 0), Fraction(1, 3))]
LEAVES += [((12, 0), Fraction(1, 9))]
MECHANISMS = {
    "permute-and-flip": (draw_permute_and_flip, dp.max_divergence()),
    "exponential": (draw_exponential, dp.zero_concentrated_divergence()),
}


@pytest.mark.parametrize("leaf_and_rate, mechanism", some(LEAVES, MECHANISMS))
def test_noisy_maximum(leaf_and_rate, mechanism):
    (leaf, rate), (draw, measure) = leaf_and_rate, MECHANISMS[mechanism]
    counts = np.tile(leaf, (OURS, 1))
    theirs = dp.m.make_noisy_max(*SCORES, measure, scale=float(1 / rate))
    drawn = np.array([theirs(list(leaf)) for _ in range(LABELS)])
    labels = lambda r: draw(counts, r, SecretSource()).astype(np.int64)
    assert_same_law(labels, rate, drawn, Fraction(6, 5))
    if (leaf, rate) == LEAVES[0]:  # a measure mixed up would be seen: the comparison tells the two mechanisms apart
        (other,) = (draw for name, (draw, _) in MECHANISMS.items() if name != mechanism)
        assert p_value(other(counts, rate, SecretSource()).astype(np.int64), drawn) < LEAST


@pytest.mark.parametrize("rate", [Fraction(1, 8), pytest.param(Fraction(1, 500), marks=pytest.mark.slow)], ids=str)
def test_choice_of_a_split(rate):
    """Scores below zero and far apart; candidates that may not be asked are not there at all for OpenDP."""
    scores = np.rint(np.array([-10, 7, -3, -6, 0, -18]) / float(8 * rate)).astype(np.int64)
    allowed = np.array([True, False, True, True, True, True])
    theirs = dp.m.make_noisy_max(*SCORES, dp.zero_concentrated_divergence(), scale=float(1 / rate))
    asked, candidates = scores[allowed].tolist(), np.flatnonzero(allowed)
    splits = lambda r: draw_choices(np.tile(scores, (OURS, 1)), np.tile(allowed, (OURS, 1)), r, SecretSource())
    assert_same_law(splits, rate, candidates[[theirs(asked) for _ in range(LABELS)]], Fraction(6, 5))


def test_the_same_cost():
    """What each library says that one row costs, at the same noise."""
    assert dp.m.make_laplace(*COUNTS, scale=4.0).map(1) == pytest.approx(1 / 4)
    monotonic = SCORES[0], dp.linf_distance(T="i64", monotonic=True)
    assert dp.m.make_noisy_max(*monotonic, dp.max_divergence(), scale=4.0).map(1) == pytest.approx(1 / 4)
