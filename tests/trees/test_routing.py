"""Routing kernels against naive versions, on every kind of tree, and with one row more or less than a full block."""

import dataclasses

import numba
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpforest import MajorityLabelForestClassifier, RandomDecisionForestClassifier
from dpforest.trees import naive, routing
from dpforest.trees.layout import LEAF, MULTIWAY, NUMERIC, ONE_VS_REST
from dpforest.trees.random_trees import grow_random_trees
from tests.conftest import public_domain, random_codes

JIT = not numba.config.DISABLE_JIT
KINDS = st.lists(st.one_of(st.none(), st.integers(1, 9)), min_size=1, max_size=6)


@settings(max_examples=40, deadline=None, derandomize=True)
@given(
    kinds=KINDS,
    depth=st.integers(0, 7),
    n=st.sampled_from([0, 1, 3, 40]),
    categorical=st.sampled_from(["multiway", "one-vs-rest", "ordered"]),
    n_classes=st.sampled_from([2, 3]),
)
def test_kernels_agree_with_their_naive_versions(kinds, depth, n, categorical, n_classes):
    domain = public_domain(*kinds, n_classes=n_classes)
    trees = grow_random_trees(domain, n_trees=3, depth=depth, seed=depth, categorical=categorical, max_leaves=60)
    codes = random_codes(domain, n, seed=n)
    rng = np.random.default_rng(1)
    y = rng.integers(0, n_classes, n).astype(np.int32)
    tree_of_row = rng.integers(0, 3, n).astype(np.int32)
    labels = rng.integers(0, n_classes, trees.n_leaves).astype(np.uint8)
    shares = rng.random((trees.n_leaves, n_classes))

    leaves = routing.leaves_of_rows(trees, domain, codes)
    assert np.array_equal(leaves, naive.leaves_of_rows(trees, codes))
    for assigned in (None, tree_of_row):
        fast = routing.count_rows(trees, domain, codes, y, n_classes=n_classes, tree_of_row=assigned)
        slow = naive.count_rows(trees, codes, y, n_classes=n_classes, tree_of_row=assigned)
        assert np.array_equal(fast, slow)
    votes = routing.scorer(trees, domain, labels)(codes)
    assert np.array_equal(votes, naive.votes_of_rows(trees, codes, labels, n_classes=n_classes))
    total = routing.scorer(trees, domain, shares)(codes)
    np.testing.assert_allclose(total, naive.shares_of_rows(trees, codes, shares), rtol=1e-12)


def test_two_way_multiway_trees_are_not_taken_for_binary_ones():
    """Kernels do not treat a tree as a complete binary tree if its tests are multiway tests with two children.

    The children have the same places as in a binary tree, but the node marks its test as multiway.
    """
    domain = public_domain(*[2] * 12)
    trees = grow_random_trees(domain, n_trees=5, depth=6, seed=0, max_leaves=64)
    assert (np.diff(trees.leaf_start) == 64).all() and not trees.is_complete
    codes = random_codes(domain, 300, seed=1)
    assert np.array_equal(routing.leaves_of_rows(trees, domain, codes), naive.leaves_of_rows(trees, codes))


@pytest.mark.parametrize("n", [255, 256, 257, 700])
def test_rows_at_the_edges_of_a_block(numeric, n):
    trees = grow_random_trees(numeric, n_trees=2, depth=6, seed=0)
    codes = random_codes(numeric, n, seed=n)
    assert np.array_equal(routing.leaves_of_rows(trees, numeric, codes), naive.leaves_of_rows(trees, codes))


def test_extreme_codes_meet_extreme_thresholds(numeric):
    trees = grow_random_trees(numeric, n_trees=20, depth=3, seed=0)
    trees.threshold[trees.kind == 0] = np.random.default_rng(0).choice([0, 1, 65_533, 65_534], (trees.kind == 0).sum())
    codes = np.random.default_rng(1).choice(np.array([0, 1, 2, 65_534, 65_535], np.uint16), (64, 5))
    assert np.array_equal(routing.leaves_of_rows(trees, numeric, codes), naive.leaves_of_rows(trees, codes))


def test_threads_count_the_same(mixed):
    trees = grow_random_trees(mixed, n_trees=5, depth=5, seed=0)
    codes = random_codes(mixed, 5_000, seed=0)
    y = np.random.default_rng(0).integers(0, 3, 5_000).astype(np.int32)
    one, two = (routing.count_rows(trees, mixed, codes, y, n_classes=3, n_jobs=j) for j in (1, 2))
    assert np.array_equal(one, two)
    assert one.sum() == 5 * 5_000


def test_raw_values_and_their_codes_reach_the_same_leaves(numeric):
    trees = grow_random_trees(numeric, n_trees=4, depth=6, seed=0)
    X = np.random.default_rng(0).random((300, 5))
    raw, codes = (routing.leaves_of_rows(trees, numeric, table) for table in (X, numeric.encode(X)))
    assert np.array_equal(raw, codes)


def test_too_many_categories_for_a_packed_node_are_refused():
    domain = public_domain(*[1000] * 40)
    trees = grow_random_trees(domain, n_trees=40, depth=12, seed=0, categorical="one-vs-rest")
    with pytest.raises(ValueError, match="different categories"):
        routing.pack(trees, 40)


@pytest.mark.parametrize(("field", "value"), [("threshold", 65_536), ("threshold", 2**31 - 1), ("feature", 5)])
def test_a_test_that_does_not_fit_a_packed_node_is_refused(numeric, field, value):
    """A test that does not fit into a packed node is refused.

    A packed node stores feature and threshold in one integer. A threshold of more than 16 bits would change the feature
    to a column that does not exist.
    """
    trees = grow_random_trees(numeric, n_trees=2, depth=3, seed=0)
    broken = getattr(trees, field).copy()
    broken[3] = value
    with pytest.raises(ValueError, match="outside the codes|does not have"):
        routing.pack(dataclasses.replace(trees, **{field: broken}), 5)


@settings(max_examples=60, deadline=None, derandomize=True, database=None)
@given(
    kinds=KINDS,
    depth=st.integers(0, 15 if JIT else 5),
    seed=st.integers(0, 2**63 - 1),
    categorical=st.sampled_from(["multiway", "one-vs-rest", "ordered"]),
)
def test_a_packed_node_answers_like_its_test(kinds, depth, seed, categorical):
    domain = public_domain(*kinds)
    trees = grow_random_trees(domain, n_trees=1, depth=depth, seed=seed, categorical=categorical, max_leaves=500)
    word, _, _, _, _, source, value, *_ = routing.pack(trees, len(kinds))
    inner, column = trees.kind != LEAF, word >> 16 & 0x7FFF
    binary = trees.kind == NUMERIC
    assert np.array_equal(word[binary] & 0xFFFF, trees.threshold[binary])
    assert np.array_equal(
        column[inner & (trees.kind != ONE_VS_REST)], trees.feature[inner & (trees.kind != ONE_VS_REST)]
    )
    rest = np.flatnonzero(trees.kind == ONE_VS_REST)
    extra = column[rest].astype(int) - len(kinds)
    assert np.array_equal(source[extra], trees.feature[rest]) and np.array_equal(value[extra], trees.threshold[rest])
    assert np.array_equal(word >> 31, trees.kind == MULTIWAY)


CODED = {
    name: model.set_params(domain=public_domain(None, 3, 7), random_state=0).fit(
        [[0.5, "c1", "c6"], [0.1, "c0", "c2"]] * 9, [0, 1] * 9
    )
    for name, model in {
        "labels": MajorityLabelForestClassifier(n_estimators=3, max_depth=3),
        "counts": RandomDecisionForestClassifier(n_estimators=3, max_depth=3, voting="threshold"),
    }.items()
}
NO_CODES = [
    np.zeros((5, 0), np.uint16),
    np.zeros((5, 1), np.uint16),
    np.zeros((5, 2), np.uint16),
    np.zeros((5, 4), np.uint16),
    np.zeros(3, np.uint16),
    np.zeros((1, 5, 3), np.uint16),
    np.zeros((5, 3), np.int64),
    np.zeros((5, 3)),
    np.full((5, 3), 65_535, np.uint16),
    np.array([[0, 3, 0]], np.uint16),
    np.array([[0, 0, 7]], np.uint16),
    [[0, 0, 0]],
    None,
]


@pytest.mark.parametrize("name", CODED)
@pytest.mark.parametrize("codes", NO_CODES, ids=range(len(NO_CODES)))
def test_invalid_codes_are_refused(name, codes):
    """Invalid codes are refused, because kernels do not check array bounds and could crash the process."""
    for ask in (CODED[name].forest_.predict_codes, CODED[name].forest_.shares_and_index):
        with pytest.raises(ValueError, match="codes"):
            ask(codes)


@settings(max_examples=150, deadline=None, derandomize=True, database=None)
@given(
    name=st.sampled_from(sorted(CODED)),
    shape=st.tuples(st.integers(0, 40), st.integers(0, 5)),
    highest=st.tuples(*[st.sampled_from([0, 1, 2, 3, 6, 7, 8, 255, 65_535])] * 5),
    seed=st.integers(0, 99),
)
def test_codes_are_refused_or_predicted(name, shape, highest, seed):
    forest = CODED[name].forest_
    codes = np.random.default_rng(seed).integers(0, np.array(highest[: shape[1]]) + 1, shape).astype(np.uint16)
    n_codes = [f.n_codes for f in forest.domain.features]
    if shape[1] == 3 and (codes < n_codes).all():
        shares, index = forest.shares_and_index(codes)
        assert np.array_equal(index, forest.predict_codes(codes)) and shares.shape == (shape[0], 2)
        return
    for ask in (forest.predict_codes, forest.shares_and_index):
        with pytest.raises(ValueError, match="codes"):
            ask(codes)
