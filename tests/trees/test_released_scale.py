"""The released scale, which places thresholds where noisy histograms count many rows.

The tests cover stored values, the three nested histograms, and the thresholds and cuts that follow from the scale.
"""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpforest.limits import N_CODES
from dpforest.tables.domain import Domain, Feature
from dpforest.trees.candidates import bin_codes, numeric_cuts, public_candidates
from dpforest.trees.layout import NUMERIC
from dpforest.trees.random_trees import grow_random_trees
from dpforest.trees.released_scale import (
    CELLS,
    TOP,
    ReleasedScale,
    code_at,
    known_below,
    mass_below,
    nested_counts,
    quantile_code,
    released_cdf,
    scale_from,
    scale_histograms,
)
from tests.conftest import public_domain, random_codes

EXACTLY = settings(derandomize=True, deadline=None, max_examples=60)
PUBLIC = np.arange(CELLS + 1, dtype=np.int64) * (TOP // CELLS)
GOLDEN = [
    0, 1587614763, 2274563459, 2488280831, 2701998204, 2766787982, 2845461284, 2910251063, 2984296524, 3432678187,
    3575345080, 3728202465, 3932012313, 4024289003, 4110413914, 4208842384, 4294967296,
]  # fmt: skip


def with_missing() -> Domain:
    feature = Feature("a", "numeric", 0.0, 1.0, missing="category", source="documented", source_note="made up")
    return Domain((feature, *public_domain(None, 3).features), (0, 1), "y", "documented", "made up")


def a_scale(seed: int, n_numeric: int) -> ReleasedScale:
    """Return a scale from noisy counts of rows that are concentrated in some cells."""
    rng = np.random.default_rng(seed)
    cells = rng.integers(0, 50, (n_numeric, CELLS)) ** rng.integers(1, 4, (n_numeric, 1))
    return scale_from(nested_counts(cells) + rng.integers(-9, 10, (n_numeric * 21, 4)), Fraction(7, 2))


def test_the_scale_matches_golden_values():
    """The scale matches stored values for two levels of histograms. The third level, without counts, splits evenly."""
    rows = [[120, -7, 33, 4], [90, 31, 0, -5], [0, 3, -9, 2], [30, -2, 1, 6], [1, 0, 2, -1]]
    borders = released_cdf(rows + [[0] * 4] * 16, Fraction(20))
    assert borders[::4] == GOLDEN
    assert len(borders) == 65
    assert all(
        b - a == (borders[4 * (i // 4) + 4] - borders[4 * (i // 4)]) // 4 or i % 4
        for i, (a, b) in enumerate(zip(borders, borders[1:], strict=False))
    )


@EXACTLY
@given(
    st.lists(st.lists(st.integers(-(10**6), 10**9), min_size=4, max_size=4), min_size=21, max_size=21),
    st.fractions(Fraction(1, 100), 10**6, max_denominator=1_000),
)
def test_the_cumulative_scale_rises_from_zero_to_one(rows, noise_scale):
    borders = released_cdf(rows, noise_scale)
    assert (borders[0], borders[-1]) == (0, TOP)
    assert all(a <= b for a, b in zip(borders, borders[1:], strict=False))


def test_without_signal_the_scale_is_the_public_one():
    """The released scale equals the public scale if all counts are 0, and almost equals it if noise is much larger."""
    assert released_cdf([[0] * 4] * 21, Fraction(1, 3)) == PUBLIC.tolist()
    far = released_cdf([[3, 0, 5, 1]] * 21, Fraction(10**9))
    assert np.abs(np.array(far) - PUBLIC).max() < TOP * 1e-7


def test_histograms_count_known_cells_once_a_level():
    domain = with_missing()
    codes = random_codes(domain, 3_000, 4)
    codes[:300, 0] = np.arange(300) % domain.features[0].first_code
    cells = scale_histograms(domain, codes)
    assert cells.shape == (2, 64)
    for k, (j, first) in enumerate([(0, domain.features[0].first_code), (1, 0)]):
        known = codes[:, j].astype(int) - first
        places = [64 * x // (N_CODES - first) for x in known if x >= 0]
        assert cells[k].tolist() == np.bincount(places, minlength=64).tolist()
    assert cells.sum(axis=1).tolist() == [(codes[:, 0] >= domain.features[0].first_code).sum(), 3_000]
    tables = nested_counts(cells).reshape(2, 21, 4)
    for level, rows in ((1, slice(0, 1)), (2, slice(1, 5)), (3, slice(5, 21))):
        assert np.array_equal(tables[:, rows].reshape(2, -1), cells.reshape(2, 4**level, -1).sum(axis=2))


@pytest.mark.parametrize("row", range(4))
def test_one_more_row_changes_one_cell_in_each_of_three_histograms(row):
    """One more row changes one cell in each of three histograms of a feature.

    If the row has no missing cell, the change equals the sensitivity that the ledger charges for.
    """
    domain = with_missing()
    codes = random_codes(domain, 40, 1)
    codes[0, 0] = 0  # missing
    more, less = (nested_counts(scale_histograms(domain, c)) for c in (codes, np.delete(codes, row, axis=0)))
    assert np.abs(more - less).max() == 1
    assert np.abs(more - less).sum() == (3 if codes[row, 0] < domain.features[0].first_code else 6)


@EXACTLY
@given(st.integers(0, 10**6), st.sampled_from([0, 656]))
def test_masses_and_codes_are_inverse(seed, first):
    cumulative = a_scale(seed, 1).cumulative[0]
    codes = np.unique(np.random.default_rng(seed).integers(first, N_CODES, 200))
    masses = [mass_below(cumulative, first, code) for code in [*codes, N_CODES]]
    assert masses == sorted(masses) and masses[-1] == TOP
    for code, mass in zip(codes, masses, strict=False):
        at = code_at(cumulative, first, mass, 0, N_CODES - 1)
        assert at >= code and mass_below(cumulative, first, at) == mass
    assert [mass_below(cumulative, 656, code) for code in (0, 1, 656)] == [0, 65_536, 656 * 65_536]
    for part in range(1, 10):
        code = quantile_code(cumulative, first, part, 10)
        assert known_below(cumulative, first, code) * 10 >= part * TOP
        assert code == first or known_below(cumulative, first, code - 1) * 10 < part * TOP


@EXACTLY
@given(st.integers(0, 10**6), st.sampled_from([0, 1, 656, 30_000]))
def test_code_at_finds_the_largest_code_in_any_range(seed, first):
    """Some cells of the scales have no mass, so that many codes have the same mass below them."""
    rng = np.random.default_rng(seed)
    weights = rng.exponential(size=CELLS) ** rng.integers(0, 9) * (rng.random(CELLS) < rng.choice([0.1, 1.0]))
    weights[rng.integers(CELLS)] += 1
    cumulative = np.concatenate([[0], np.floor(np.cumsum(weights) / weights.sum() * TOP)]).astype(np.int64)
    cumulative[-1] = TOP
    below = np.array([mass_below(cumulative, first, code) for code in range(N_CODES)])
    for _ in range(50):
        low, high = np.sort(rng.integers(0, N_CODES, 2))
        mass = int(rng.choice([rng.integers(0, TOP), below[rng.integers(low, high + 1)] + rng.integers(-1, 2)]))
        fits = np.flatnonzero(below[low : high + 1] <= mass)
        assert code_at(cumulative, first, mass, low, high) == (low + fits[-1] if len(fits) else low)


@pytest.mark.parametrize("thresholds", ["node", "domain", "quantized"])
def test_on_the_public_scale_trees_are_the_same(thresholds):
    """On a scale where rows are spread evenly, trees are the same as on the public scale."""
    domain = public_domain(None, 3, None)
    settings = {"n_trees": 5, "depth": 6, "seed": 3, "categorical": "ordered", "thresholds": thresholds}
    plain, even = (
        grow_random_trees(domain, **settings, scale=s) for s in (None, ReleasedScale(np.stack([PUBLIC] * 2)))
    )
    assert np.array_equal(plain.feature, even.feature)
    # A quantile between two codes is rounded up on this scale, and rounded down on the public scale.
    assert np.abs(plain.threshold - even.threshold).max() <= (thresholds == "quantized")


@pytest.mark.parametrize("thresholds", ["node", "domain", "quantized"])
def test_thresholds_lie_where_rows_are(thresholds):
    """Thresholds lie where rows are, and trees of another depth have the same roots.

    All rows lie in one cell of the histogram, and more than 99 % of the roots have a threshold in this cell.
    """
    domain = public_domain(None)
    cells = np.zeros((1, CELLS), np.int64)
    cells[0, 10] = 10**6
    scale = scale_from(nested_counts(cells), Fraction(1))
    settings = {"n_trees": 300, "seed": 1, "thresholds": thresholds, "scale": scale}
    trees = grow_random_trees(domain, depth=2, **settings)
    roots = trees.threshold[trees.tree_start[:-1]]
    assert np.mean((roots >= 10 * 1_024 - 1) & (roots < 11 * 1_024)) > 0.99
    deeper = grow_random_trees(domain, depth=4, **settings)
    assert np.array_equal(deeper.threshold[deeper.tree_start[:-1]], roots)
    for grown in (trees, deeper):
        grown.check(np.array([N_CODES]))


@EXACTLY
@given(st.integers(0, 10**6), st.integers(2, 40))
def test_cuts_hold_equal_shares_and_bins_follow_them(seed, n_bins):
    domain = with_missing()
    scale = a_scale(seed, 2)
    candidates, codes = public_candidates(domain, n_bins, scale), random_codes(domain, 300, seed)
    bins = bin_codes(domain, codes, n_bins, scale)
    cuts = numeric_cuts(domain, n_bins, scale)
    assert cuts[0][0] == domain.features[0].first_code  # the test for a missing value is kept
    for j, cuts_of_feature in cuts.items():
        assert (
            len(cuts_of_feature) <= n_bins
            and (np.diff(cuts_of_feature) > 0).all()
            and cuts_of_feature.max(initial=1) < N_CODES
        )
        mine = (candidates.feature == j) & (candidates.kind == NUMERIC)
        for threshold, cut in zip(candidates.threshold[mine], candidates.cut[mine], strict=True):
            assert np.array_equal(codes[:, j] > threshold, bins[:, j] > cut)


def test_a_mixture_lies_between_its_two_scales():
    scale = a_scale(5, 2)
    assert np.array_equal(scale.mixed(Fraction(0)).cumulative, scale.cumulative)
    assert np.array_equal(scale.mixed(Fraction(1)).cumulative, np.stack([PUBLIC] * 2))
    mixed = scale.mixed(Fraction(3, 10)).cumulative
    assert np.array_equal(mixed, (7 * scale.cumulative + 3 * PUBLIC) // 10)


@EXACTLY
@given(
    st.integers(0, CELLS - 1),
    st.sampled_from(["node", "domain", "quantized"]),
    st.integers(0, 10**6),
    st.sampled_from([None, "category"]),
)
def test_thresholds_of_deep_trees_are_codes(cell, thresholds, seed, missing):
    """Thresholds of deep trees are codes, even if all rows are in one cell, which a few tests divide completely."""
    feature = Feature("a", "numeric", 0.0, 1.0, missing=missing or "refuse", source="documented", source_note="made up")
    domain = Domain((feature,), (0, 1), "y", "documented", "made up")
    counts = np.zeros((1, CELLS), np.int64)
    counts[0, cell] = 10**9
    scale = scale_from(nested_counts(counts), Fraction(1, 10**6))
    trees = grow_random_trees(domain, n_trees=4, depth=12, seed=seed, thresholds=thresholds, scale=scale)
    trees.check(np.array([N_CODES]))
