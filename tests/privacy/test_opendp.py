"""Our exact samplers against the samplers of OpenDP, an independent and reviewed library: the laws must be equal.

Both libraries draw from the entropy of the system, so a correct sampler fails sometimes. There are 15 comparisons. Each
is a chi-square test of two samples, in cells where at least 200 draws are expected, and fails at p < 1e-9. So the whole
file fails by chance once in 60 million runs. The law of the statistic is only approximately a chi-square law. Even with
a wide margin for this error, the file fails by chance less than once in a million runs. Each comparison must also
detect a wrong parameter: noise with a scale that is 10 % too small, or labels at a rate that is 20 % too high. The
probability that a comparison misses a wrong parameter is below 10^-14.

In OpenDP, `scale` is 1/rate, and Laplace noise on integers is discrete. OpenDP's noisy maximum takes scores in the L∞
metric. With exponential noise (`max_divergence`), it is permute-and-flip. With Gumbel noise
(`zero_concentrated_divergence`), it is the exponential mechanism. Its ε is 2 / scale if one row may raise some scores
and lower others, and 1 / scale if scores are monotonic. In dpforest, one more row only raises counts, so ε is the rate.
"""

from collections.abc import Callable
from fractions import Fraction

import numpy as np
import opendp.prelude as dp
import pytest
from scipy.stats import chi2

from dpforest.privacy import SecretSource
from dpforest.privacy.ledger import Ledger
from dpforest.privacy.samplers import draw_exponential, draw_noisy_counts, draw_permute_and_flip
from dpforest.privacy.selection import draw_choices
from tests.conftest import every, some

dp.enable_features("contrib")

LEAST, FULL = 1e-9, 200
# Numbers of draws. OpenDP has fewer draws of labels, because it draws them one at a time.
OURS, NOISE, LABELS = 300_000, 100_000, 20_000
SCORES = dp.vector_domain(dp.atom_domain(T="i64")), dp.linf_distance(T="i64")
COUNTS = dp.vector_domain(dp.atom_domain(T="i64")), dp.l1_distance(T="i64")


def p_value(ours: np.ndarray, theirs: np.ndarray) -> float:
    """Return the p-value of a chi-square test of two samples of integers.

    A cell of the test joins neighboring values until `FULL` draws of each sample are expected in it.
    """
    low, high = min(ours.min(), theirs.min()), max(ours.max(), theirs.max())
    table = np.stack([np.bincount(sample - low, minlength=high - low + 1) for sample in (ours, theirs)])
    share = table.sum(axis=1, keepdims=True) / table.sum()
    starts, due = [0], 0.0
    for value, total in enumerate(table.sum(axis=0)):
        if due >= FULL:
            starts, due = [*starts, value], 0.0
        due += total * share.min()
    if due < FULL and len(starts) > 1:
        starts.pop()  # the remaining values join the previous cell
    cells = np.add.reduceat(table, starts, axis=1)
    assert cells.shape[1] > 1, "one cell compares nothing"
    expected = cells.sum(axis=0) * share
    return float(chi2.sf(((cells - expected) ** 2 / expected).sum(), cells.shape[1] - 1))


def assert_same_law(draw: Callable[[Fraction], np.ndarray], exact: Fraction, theirs: np.ndarray, wrong: Fraction):
    """Check that our draws have the law of OpenDP's draws, and that the test detects draws at a wrong parameter."""
    assert p_value(draw(exact), theirs) > LEAST
    assert p_value(draw(exact * wrong), theirs) < LEAST, "this comparison would not notice a wrong rate"


@pytest.mark.parametrize("scale", every(2, map(Fraction, ("2/3", "1", "10/3", "20", "99999/101"))))
def test_discrete_laplace_noise_has_the_law_of_opendp(scale):
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


@pytest.mark.parametrize("leaf_and_rate, mechanism", some(LEAVES, MECHANISMS, every=2))
def test_labels_have_the_law_of_opendps_noisy_maximum(leaf_and_rate, mechanism):
    (leaf, rate), (draw, measure) = leaf_and_rate, MECHANISMS[mechanism]
    counts = np.tile(leaf, (OURS, 1))
    theirs = dp.m.make_noisy_max(*SCORES, measure, scale=float(1 / rate))
    drawn = np.array([theirs(list(leaf)) for _ in range(LABELS)])
    labels = lambda r: draw(counts, r, SecretSource()).astype(np.int64)
    assert_same_law(labels, rate, drawn, Fraction(6, 5))
    if (leaf, rate) == LEAVES[0]:  # the comparison must distinguish the two mechanisms
        (other,) = (draw for name, (draw, _) in MECHANISMS.items() if name != mechanism)
        assert p_value(other(counts, rate, SecretSource()).astype(np.int64), drawn) < LEAST


@pytest.mark.parametrize("rate", [Fraction(1, 8), pytest.param(Fraction(1, 500), marks=pytest.mark.slow)], ids=str)
def test_choices_of_splits_have_the_law_of_opendp(rate):
    """Choices of splits have the same law, for negative scores that are far apart.

    OpenDP cannot exclude candidates, so it gets only the allowed candidates.
    """
    scores = np.rint(np.array([-10, 7, -3, -6, 0, -18]) / float(8 * rate)).astype(np.int64)
    allowed = np.array([True, False, True, True, True, True])
    theirs = dp.m.make_noisy_max(*SCORES, dp.zero_concentrated_divergence(), scale=float(1 / rate))
    asked, candidates = scores[allowed].tolist(), np.flatnonzero(allowed)
    splits = lambda r: draw_choices(np.tile(scores, (OURS, 1)), np.tile(allowed, (OURS, 1)), r, SecretSource())
    assert_same_law(splits, rate, candidates[[theirs(asked) for _ in range(LABELS)]], Fraction(6, 5))


def test_opendp_states_the_same_cost_of_a_row():
    """OpenDP reports the same cost of one row at the same noise."""
    assert dp.m.make_laplace(*COUNTS, scale=4.0).map(1) == pytest.approx(1 / 4)
    monotonic = SCORES[0], dp.linf_distance(T="i64", monotonic=True)
    assert dp.m.make_noisy_max(*monotonic, dp.max_divergence(), scale=4.0).map(1) == pytest.approx(1 / 4)


ROUNDING = 1 + Fraction(1, 10**9)  # OpenDP's costs are floats, rounded up


@pytest.mark.parametrize("scale", [Fraction(1), Fraction(10), Fraction(100), Fraction(3), Fraction(1600, 83)], ids=str)
def test_the_map_of_each_entry_is_its_cost_in_the_ledger(scale):
    ledger = Ledger(1 / scale)
    ledger.charge("counts", "discrete-laplace", 1, 1 / scale, 1, "sequential")
    (entry,), monotonic = ledger.entries, (SCORES[0], dp.linf_distance(T="i64", monotonic=True))
    for theirs in (
        dp.m.make_laplace(*COUNTS, scale=float(scale)),
        dp.m.make_noisy_max(*monotonic, dp.max_divergence(), scale=float(scale)),
    ):
        assert entry.epsilon <= Fraction(theirs.map(1)) * ROUNDING < entry.epsilon * ROUNDING**2


def test_the_map_of_a_composition_is_the_total_of_the_ledger():
    ledger = Ledger(1)
    ledger.charge("counts of trees", "discrete-laplace", 1, "1/10", 10, "sequential")
    laplace = dp.m.make_laplace(*COUNTS, scale=10.0)
    assert ledger.spent <= Fraction(dp.c.make_composition([laplace] * 10).map(1)) < ledger.spent * ROUNDING
