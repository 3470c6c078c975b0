"""Random trees, whose structure follows from the seed and the domain alone: shape, limits, and law of the draws."""

import dataclasses
import hashlib

import numba
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from dpforest.tables.domain import Domain, Feature
from dpforest.trees.layout import LEAF, MULTIWAY, NUMERIC, ONE_VS_REST
from dpforest.trees.random_trees import grow_random_trees
from tests.conftest import public_domain

JIT = not numba.config.DISABLE_JIT
FALSE_ALARM = 1e-6
GOLDEN_FEATURES = [0, 1, 0, -1, -1, -1]
GOLDEN_THRESHOLDS = [50724, -1, 55812, -1, -1, -1]
# SHA-256 of forests by (attributes, categorical, thresholds). The attributes are one numeric attribute, or a numeric
# attribute and two categorical attributes with 3 and 1 categories. All versions have the same forests, except that
# thresholds that exceeded the highest code now equal it.
GOLDEN = {
    (1, "multiway", "node"): "0a91f81832a0f05f",
    (1, "multiway", "domain"): "da59c2048eecf137",
    (1, "multiway", "quantized"): "b3ecc88abac16e68",
    (3, "multiway", "node"): "c6ca1abebfddbce3",
    (3, "multiway", "domain"): "ca831a59e30ec43a",
    (3, "multiway", "quantized"): "6f22686fd542c3e6",
    (3, "one-vs-rest", "node"): "0ead9f154bc1b7b9",
    (3, "one-vs-rest", "domain"): "c707e67f66352b02",
    (3, "one-vs-rest", "quantized"): "c909be7ba9e32c0d",
    (3, "ordered", "node"): "49154c933de24d69",
    (3, "ordered", "domain"): "3393e972a5def79b",
    (3, "ordered", "quantized"): "2f738ca34db83e75",
}


def paths(trees, tree):
    """Yield every path from the root to a leaf of one tree, as a list of (node, child) pairs."""
    one = trees.select(tree)
    for leaf in one.leaf_nodes:
        path, child = [], int(leaf)
        while one.parent[child] != child:
            path.append((int(one.parent[child]), child))
            child = int(one.parent[child])
        yield one, path[::-1]


@pytest.mark.parametrize("categorical", ["multiway", "one-vs-rest", "ordered"])
def test_first_trees_and_first_levels_do_not_depend_on_the_rest(mixed, categorical):
    small = grow_random_trees(mixed, n_trees=2, depth=2, seed=5, categorical=categorical, max_leaves=20)
    large = grow_random_trees(mixed, n_trees=5, depth=6, seed=5, categorical=categorical, max_leaves=20)
    for t in range(2):
        a, b = small.select(t), large.select(t)
        top = np.flatnonzero(a.level < 2)
        for name in ("kind", "feature", "threshold", "first_child"):
            assert np.array_equal(getattr(a, name)[top], getattr(b, name)[top]), name


def test_another_seed_gives_another_structure(mixed):
    a, b = (grow_random_trees(mixed, n_trees=3, depth=4, seed=s) for s in (1, 2))
    assert not np.array_equal(a.feature[:10], b.feature[:10]) or not np.array_equal(a.threshold[:10], b.threshold[:10])


def test_structure_is_the_same_on_every_machine(mixed):
    """Structure is equal on all machines and in all versions, because a released forest names its seed."""
    trees = grow_random_trees(mixed, n_trees=2, depth=2, seed=7)
    assert trees.feature[:6].tolist() == GOLDEN_FEATURES
    assert trees.threshold[:6].tolist() == GOLDEN_THRESHOLDS


def test_a_multiway_feature_is_used_once_on_a_path(mixed):
    trees = grow_random_trees(mixed, n_trees=6, depth=5, seed=0)
    for t in range(6):
        for one, path in paths(trees, t):
            used = [one.feature[node] for node, _ in path if one.kind[node] == MULTIWAY]
            assert len(used) == len(set(used))


def test_thresholds_stay_in_the_range_left_on_the_path():
    trees = grow_random_trees(public_domain(None), n_trees=20, depth=6, seed=0)
    for t in range(20):
        for one, path in paths(trees, t):
            low, high = 0, 65_535
            for node, child in path:
                assert low <= one.threshold[node] <= max(low, high - 1)  # even a range of one code is split
                if child == one.first_child[node]:
                    high = one.threshold[node]
                else:
                    low = one.threshold[node] + 1


def with_missing_categories(domain: Domain) -> Domain:
    return dataclasses.replace(
        domain, features=tuple(dataclasses.replace(f, missing="category") for f in domain.features)
    )


@pytest.mark.parametrize(("n_features", "categorical", "thresholds"), GOLDEN)
def test_forests_of_old_seeds_are_unchanged(n_features, categorical, thresholds):
    domain = with_missing_categories(public_domain(*(None, 3, 1)[:n_features]))
    trees = grow_random_trees(domain, n_trees=3, depth=10, seed=23, categorical=categorical, thresholds=thresholds)
    arrays = (trees.kind, trees.feature, trees.threshold, trees.first_child, trees.tree_start)
    digest = hashlib.sha256(b"".join(array.astype("<i8").tobytes() for array in arrays)).hexdigest()[:16]
    assert digest == GOLDEN[n_features, categorical, thresholds]


@pytest.mark.parametrize("seed", range(12))
def test_a_threshold_is_a_code_of_its_feature_even_if_the_range_is_empty(seed):
    """Thresholds are codes, even if deep tests exhaust the range of an attribute, which happens for most seeds."""
    trees = grow_random_trees(public_domain(None), n_trees=20, depth=8, seed=seed)
    trees.check(np.array([65_536]))
    assert trees.threshold.max() <= 65_535


@settings(max_examples=150, deadline=None, derandomize=True, database=None)
@given(
    kinds=st.lists(st.one_of(st.none(), st.integers(1, 6)), min_size=1, max_size=4),
    missing_is_category=st.booleans(),
    depth=st.integers(0, 12 if JIT else 5),
    categorical=st.sampled_from(["multiway", "one-vs-rest", "ordered"]),
    thresholds=st.sampled_from(["node", "domain", "quantized"]),
    n_quantiles=st.sampled_from([2, 10, 1000]),
    seed=st.integers(0, 2**63 - 1),
)
def test_all_grown_trees_are_valid(kinds, missing_is_category, depth, categorical, thresholds, n_quantiles, seed):
    domain = public_domain(*kinds)
    domain = with_missing_categories(domain) if missing_is_category else domain
    trees = grow_random_trees(
        domain,
        n_trees=2,
        depth=depth,
        seed=seed,
        categorical=categorical,
        thresholds=thresholds,
        n_quantiles=n_quantiles,
        max_leaves=300,
    )
    trees.check(np.array([f.n_codes for f in domain.features]))


def test_growth_ends_as_soon_as_there_are_too_many_leaves():
    wide, numeric = public_domain(*[9] * 9), public_domain(None)
    assert grow_random_trees(numeric, n_trees=3, depth=4, seed=0, most_leaves=48).n_leaves == 48
    with pytest.raises(ValueError, match="3 trees of depth 4 would have 48 leaves, more than the 47 .*take fewer"):
        grow_random_trees(numeric, n_trees=3, depth=4, seed=0, most_leaves=47)
    with pytest.raises(ValueError, match="1,000,000,000 trees of depth 9 have more leaves than the 1,000 "):
        grow_random_trees(wide, n_trees=10**9, depth=9, seed=0, most_leaves=1_000)  # without the limit, it never ends


def test_trees_on_categorical_attributes_end_when_all_are_tested():
    trees = grow_random_trees(public_domain(2, 3), n_trees=5, depth=9, seed=0)
    assert trees.n_leaves == 5 * 6
    assert trees.level.max() == 2


def test_no_tree_has_more_leaves_than_the_cap(mixed):
    for cap in (1, 2, 5, 64):
        trees = grow_random_trees(mixed, n_trees=8, depth=9, seed=1, max_leaves=cap)
        assert np.diff(trees.leaf_start).max() <= cap


def test_one_vs_rest_and_ordered_trees_are_complete(mixed):
    for categorical in ("one-vs-rest", "ordered"):
        trees = grow_random_trees(mixed, n_trees=3, depth=4, seed=0, categorical=categorical)
        assert trees.is_complete
        assert (np.diff(trees.leaf_start) == 16).all()


def test_quantized_thresholds_are_equally_spaced_cuts():
    trees = grow_random_trees(public_domain(None), n_trees=50, depth=3, seed=0, thresholds="quantized", n_quantiles=4)
    assert set(trees.threshold[trees.kind != LEAF]) == {16_383, 32_767, 49_151}


def test_a_feature_of_one_category_splits_no_rows_off(mixed):
    lonely = Feature("only", "categorical", categories=("x",), source="documented", source_note="made up")
    domain = Domain((lonely, *mixed.features), mixed.classes, "y", "documented", "made up")
    grow_random_trees(domain, n_trees=5, depth=4, seed=0).check(np.array([1, 65_536, 3, 65_536, 7, 2]))


def test_depth_zero_is_a_single_leaf(mixed):
    trees = grow_random_trees(mixed, n_trees=3, depth=0, seed=0)
    assert trees.n_leaves == trees.n_nodes == 3


def test_features_and_thresholds_are_uniform():
    """Features and thresholds are uniform, by chi-square and Kolmogorov-Smirnov tests.

    With random seeds, each test would fail by chance with probability below 1e-6.
    """
    trees = grow_random_trees(public_domain(*[None] * 7), n_trees=4000, depth=1, seed=11, thresholds="domain")
    roots = trees.tree_start[:-1]
    assert stats.chisquare(np.bincount(trees.feature[roots], minlength=7)).pvalue > FALSE_ALARM
    assert stats.kstest(trees.threshold[roots] / 65_535, "uniform").pvalue > FALSE_ALARM


def test_kinds_of_tests_follow_the_parameter(mixed):
    kinds = {
        c: set(grow_random_trees(mixed, n_trees=9, depth=4, seed=0, categorical=c).kind)
        for c in ("multiway", "one-vs-rest", "ordered")
    }
    assert kinds == {
        "multiway": {NUMERIC, MULTIWAY, LEAF},
        "one-vs-rest": {NUMERIC, ONE_VS_REST, LEAF},
        "ordered": {NUMERIC, LEAF},
    }
