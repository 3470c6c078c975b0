"""Candidate splits: tests on codes and on bins agree, and decided tests are recognized.

A test is decided at a node if all rows that can reach the node have the same answer.
"""

import dataclasses

import numba
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpforest.limits import MAX_CANDIDATES, MISSING_STRIP, N_CODES
from dpforest.tables.domain import Domain
from dpforest.trees.candidates import bin_codes, public_candidates, undecided
from dpforest.trees.layout import NUMERIC, ONE_VS_REST
from tests.conftest import public_domain, random_codes

JIT = not numba.config.DISABLE_JIT
ALL_CODES = np.arange(N_CODES)


def with_missing(domain: Domain, *which: int) -> Domain:
    """Return the domain, in which cells of these features may be missing."""
    features = [dataclasses.replace(f, missing="category") if i in which else f for i, f in enumerate(domain.features)]
    return dataclasses.replace(domain, features=tuple(features))


def answers(candidates, values: np.ndarray, test: int, limit: np.ndarray) -> np.ndarray:
    """Return the answers to a test on codes or on bins. `limit` holds thresholds for codes, and cuts for bins."""
    return values > limit[test] if candidates.kind[test] == NUMERIC else values == limit[test]


def assert_bins_and_codes_agree(domain: Domain, n_bins: int, codes: np.ndarray) -> None:
    candidates = public_candidates(domain, n_bins)
    bins = bin_codes(domain, codes.astype(np.uint16), n_bins)
    assert bins.shape == codes.shape
    for test, j in enumerate(candidates.feature):
        by_code = answers(candidates, codes[:, j].astype(int), test, candidates.threshold)
        by_bin = answers(candidates, bins[:, j].astype(int), test, candidates.cut)
        assert np.array_equal(by_code, by_bin), (n_bins, test)
        assert by_code.any() and not by_code.all()  # all codes occur, so each test separates some rows
    for j in range(domain.n_features):
        width = candidates.slot[j + 1] - candidates.slot[j]
        assert bins[:, j].max() < width and len(np.unique(bins[:, j])) == min(width, len(np.unique(codes[:, j])))


@pytest.mark.parametrize("n_bins", [2, 3, 7, 10, 16, 97, 255, 256, 999, 1_000])
def test_a_test_gives_the_same_answer_for_a_code_and_for_its_bin(n_bins):
    """A test has the same answer for a code and for its bin, for every code, with and without missing values."""
    codes = (
        ALL_CODES
        if JIT
        else np.unique(np.concatenate([np.random.default_rng(0).integers(0, N_CODES, 500), _edges(n_bins)]))
    )
    assert_bins_and_codes_agree(with_missing(public_domain(None, None), 1), n_bins, np.stack([codes] * 2, axis=1))


def _edges(n_bins: int) -> np.ndarray:
    """Return the codes next to every threshold, and the lowest and highest code."""
    threshold = public_candidates(with_missing(public_domain(None, None), 1), n_bins).threshold
    return np.concatenate([threshold, threshold + 1, [0, N_CODES - 1]])


@pytest.mark.parametrize("n_categories", [2, 3, 50, 256, 257, 1_000])
@pytest.mark.parametrize("missing", [(), (0,)])
def test_a_test_gives_the_same_answer_for_a_category(n_categories, missing):
    domain = with_missing(public_domain(n_categories), *missing)
    assert_bins_and_codes_agree(domain, 10, np.arange(domain.features[0].n_codes)[:, None])


def test_bins_are_equal_parts_of_the_range():
    for missing in ((), (0,)):
        domain = with_missing(public_domain(None), *missing)
        feature = domain.features[0]
        for n_bins in (2, 3, 10, 1_000):
            candidates = public_candidates(domain, n_bins)
            asked = [feature.threshold_value(int(t)) for t in candidates.threshold]
            if missing:
                assert asked.pop(0) == -np.inf  # the first test is whether the value is missing
                assert candidates.threshold[0] == MISSING_STRIP - 1
            step = 1 / (N_CODES - feature.first_code)
            exact = np.arange(1, n_bins) / n_bins
            assert len(asked) == n_bins - 1 and np.all((asked >= exact - 1e-12) & (asked < exact + step))
            bins = bin_codes(domain, ALL_CODES.astype(np.uint16)[:, None], n_bins)[feature.first_code :, 0]
            sizes = np.bincount(bins)[-n_bins:]
            assert sizes.max() - sizes.min() <= 1 and sizes.sum() == N_CODES - feature.first_code
        X = np.linspace(0, 1, 4_001)[:, None]  # a value and its code have the same answer to a cut
        codes = domain.encode(X)[:, 0].astype(int)
        for threshold in public_candidates(domain, 7).threshold[len(missing) :]:
            np.testing.assert_array_equal(codes > threshold, X[:, 0] >= feature.threshold_value(int(threshold)))


def test_numbers_of_tests_and_bins_match_values_by_hand():
    domain = with_missing(public_domain(None, None, 1, 2, 3, 1, 2, 1_000), 1, 5, 6)
    candidates = public_candidates(domain, 10)
    assert np.diff(candidates.first).tolist() == [9, 10, 0, 1, 3, 1, 3, 1_000]
    assert np.diff(candidates.slot).tolist() == [10, 11, 1, 2, 3, 2, 3, 1_000]
    assert (len(candidates.first) - 1) == 8 and candidates.n_candidates == len(candidates.kind) == candidates.first[-1]
    for f in range(8):
        mine = slice(candidates.first[f], candidates.first[f + 1])
        assert (candidates.feature[mine] == f).all()
        assert (candidates.kind[mine] == (NUMERIC if f < 2 else ONE_VS_REST)).all()
        assert (np.diff(candidates.cut[mine]) > 0).all() and (np.diff(candidates.threshold[mine]) > 0).all()
    codes = np.zeros((3, 8), np.uint16)
    assert bin_codes(domain, codes, 10).dtype == np.uint16  # for the feature of a thousand categories
    narrow = public_domain(None, 2)
    assert bin_codes(narrow, codes[:, :2], 255).dtype == np.uint8
    assert bin_codes(narrow, codes[:, :2], 256).dtype == np.uint16  # one more bin for missing values
    assert bin_codes(public_domain(256), codes[:, :1], 10).dtype == np.uint8
    assert bin_codes(public_domain(257), codes[:, :1], 10).dtype == np.uint16


@settings(max_examples=30, deadline=None, derandomize=True)
@given(
    kinds=st.lists(st.one_of(st.none(), st.integers(1, 5)), min_size=1, max_size=5),
    missing=st.integers(0, 31),
    n_bins=st.integers(2, 300),
    n=st.integers(0, 30),
)
def test_tests_on_codes_and_on_bins_agree_on_whole_tables(kinds, missing, n_bins, n):
    domain = with_missing(public_domain(*kinds), *[i for i in range(5) if missing >> i & 1])
    if all(f.n_codes == 1 for f in domain.features):
        return
    candidates = public_candidates(domain, n_bins)
    codes = random_codes(domain, n, seed=n)
    bins = bin_codes(domain, codes, n_bins)
    for test, j in enumerate(candidates.feature):
        by_code = answers(candidates, codes[:, j].astype(int), test, candidates.threshold)
        assert np.array_equal(by_code, answers(candidates, bins[:, j].astype(int), test, candidates.cut))


def test_no_test_and_too_many_tests_are_refused():
    with pytest.raises(ValueError, match="no split is possible"):
        public_candidates(public_domain(1, 1), 10)
    assert public_candidates(public_domain(*[1_000] * 16), 10).n_candidates == 16_000
    with pytest.raises(ValueError, match="17,000 candidate splits, more than 16,384; use fewer bins"):
        public_candidates(public_domain(*[1_000] * 17), 10)
    assert MAX_CANDIDATES == 16_384


# ---------------------------------------------------------------- decided tests


def possible_bins(candidates, chosen: list[np.ndarray]) -> list[list[set[int]]]:
    """Return for each node of the next level the bins of each feature that its rows can have, by trying all bins."""
    nodes = [
        [set(range(a, b)) for a, b in zip([0] * (len(candidates.first) - 1), np.diff(candidates.slot), strict=True)]
    ]
    for picks in chosen:
        children = []
        for bins, c in zip(nodes, picks, strict=True):
            for side in (False, True):
                child = [set(b) for b in bins]
                if c >= 0:
                    f = candidates.feature[c]
                    child[f] = {b for b in child[f] if answers(candidates, b, c, candidates.cut) == side}
                children.append(child)
        nodes = children
    return nodes


def assert_decided_is_constant(candidates, chosen: list[np.ndarray]) -> np.ndarray:
    allowed = undecided(candidates, chosen)
    assert allowed.shape == (2 ** len(chosen), candidates.n_candidates)
    for node, bins in enumerate(possible_bins(candidates, chosen)):
        open_ = np.array(
            [
                len({bool(answers(candidates, b, c, candidates.cut)) for b in bins[f]}) == 2
                for c, f in enumerate(candidates.feature)
            ]
        )
        assert np.array_equal(allowed[node], open_ if open_.any() else np.ones_like(open_)), (node, bins)
    return allowed


@settings(max_examples=80, deadline=None, derandomize=True)
@given(
    kinds=st.lists(st.one_of(st.none(), st.integers(1, 5)), min_size=1, max_size=4),
    missing=st.integers(0, 15),
    n_bins=st.integers(2, 5),
    depth=st.integers(0, 5),
    stubborn=st.booleans(),
    seed=st.integers(0, 1_000),
)
def test_a_test_is_decided_exactly_if_all_possible_rows_answer_alike(kinds, missing, n_bins, depth, stubborn, seed):
    """A test is decided exactly if all possible rows of the node have the same answer.

    Some paths have only allowed tests, other paths have any tests, and some nodes are not split. If every test of a
    node is decided, all its tests are allowed.
    """
    domain = with_missing(public_domain(*kinds), *[i for i in range(4) if missing >> i & 1])
    if all(f.n_codes == 1 for f in domain.features):
        return
    candidates, rng = public_candidates(domain, n_bins), np.random.default_rng(seed)
    chosen = []
    for level in range(depth):
        allowed = assert_decided_is_constant(candidates, chosen)
        picks = np.array([rng.choice(np.flatnonzero(a | stubborn)) for a in allowed])
        picks[rng.random(len(picks)) < 0.1] = -1
        assert picks.shape == (2**level,)
        chosen.append(picks)
    assert_decided_is_constant(candidates, chosen)


def test_decided_tests_on_paths_match_values_by_hand():
    domain = with_missing(public_domain(None, 3, 2), 0)
    # The tests are: x is known, x >= 1/3, x >= 2/3 | the category is a, b, c | it is the second of two categories.
    candidates = public_candidates(domain, 3)
    full = np.ones(7, bool)
    assert np.array_equal(undecided(candidates, []), full[None])
    after = lambda *levels: undecided(candidates, [np.array(level) for level in levels]).astype(int).tolist()
    assert after([0]) == [[0, 0, 0, 1, 1, 1, 1], [0, 1, 1, 1, 1, 1, 1]]  # a missing value has no size
    assert after([1]) == [[1, 0, 0, 1, 1, 1, 1], [0, 0, 1, 1, 1, 1, 1]]
    assert after([4]) == [[1, 1, 1, 1, 0, 1, 1], [1, 1, 1, 0, 0, 0, 1]]
    assert after([6]) == [[1, 1, 1, 1, 1, 1, 0], [1, 1, 1, 1, 1, 1, 0]]
    assert after([-1]) == [[1] * 7, [1] * 7]
    neither = after([4], [3, 0])[0]
    assert neither == [1, 1, 1, 0, 0, 0, 1]  # the category is neither a nor b, so it must be c


def test_if_every_test_is_decided_every_test_is_allowed():
    candidates = public_candidates(public_domain(2), 10)
    for depth in (1, 2, 3):
        assert undecided(candidates, [np.zeros(2**level, int) for level in range(depth)]).all()
