"""The flat arrays that hold trees: derived arrays, and the invalid trees that `check` refuses."""

import dataclasses

import numpy as np
import pytest

from dpforest.limits import N_CODES
from dpforest.trees.layout import LEAF, Trees
from dpforest.trees.random_trees import grow_random_trees

MIXED_CODES = np.array([N_CODES, 3, N_CODES, 7, 2])


@pytest.fixture
def trees(mixed) -> Trees:
    return grow_random_trees(mixed, n_trees=4, depth=4, seed=3)


def test_children_of_a_node_lie_side_by_side_and_have_it_as_parent(trees):
    for node in np.flatnonzero(trees.kind != LEAF):
        children = np.arange(trees.first_child[node], trees.first_child[node] + trees.n_children[node])
        assert (trees.parent[children] == node).all()
        assert (trees.level[children] == trees.level[node] + 1).all()
    roots = trees.tree_start[:-1]
    assert (trees.parent[roots] == roots).all()
    assert trees.n_children.sum() == trees.n_nodes - trees.n_trees


def test_leaves_are_numbered_over_the_forest_in_node_order(trees):
    assert trees.n_leaves == (trees.kind == LEAF).sum() == trees.leaf_start[-1]
    assert (trees.leaf_of_node[trees.leaf_nodes] == np.arange(trees.n_leaves)).all()
    for t in range(trees.n_trees):
        inside = (trees.leaf_nodes >= trees.tree_start[t]) & (trees.leaf_nodes < trees.tree_start[t + 1])
        assert inside.sum() == trees.leaf_start[t + 1] - trees.leaf_start[t]


def test_select_cuts_one_tree_out(trees):
    one = trees.select(2)
    one.check(MIXED_CODES)
    assert one.n_trees == 1
    assert one.n_nodes == trees.tree_start[3] - trees.tree_start[2]
    assert (one.kind == trees.kind[trees.tree_start[2] : trees.tree_start[3]]).all()


def test_only_full_binary_trees_are_complete(trees, numeric):
    assert grow_random_trees(numeric, n_trees=3, depth=5, seed=0).is_complete
    assert not trees.is_complete


@pytest.mark.parametrize(
    ("field", "where", "value"),
    [
        ("first_child", "inner", 10**6),
        ("first_child", "inner", 0),
        ("first_child", "leaf", 0),
        ("feature", "inner", 5),
        ("feature", "inner", -1),
        ("threshold", "inner", 65_536),
        ("threshold", "inner", 70_000),
        ("threshold", "leaf", 65_536),
        ("kind", "leaf", 0),
        ("kind", "inner", 3),
        ("kind", "inner", 9),
        ("tree_start", "last", 3),
    ],
)
def test_check_refuses_arrays_that_would_lead_a_kernel_astray(numeric, field, where, value):
    trees = grow_random_trees(numeric, n_trees=2, depth=3, seed=0)
    trees.check(np.full(5, N_CODES))
    broken = getattr(trees, field).copy()
    inner, leaf = np.flatnonzero(trees.kind != LEAF)[3], trees.leaf_nodes[-1]
    broken[{"inner": inner, "leaf": leaf, "last": -1}[where]] = value
    with pytest.raises(ValueError):
        dataclasses.replace(trees, **{field: broken}).check(np.full(5, N_CODES))


def test_check_refuses_numbers_that_wrap_around(numeric):
    trees = grow_random_trees(numeric, n_trees=3, depth=3, seed=0)
    start = np.array([0, 2**62 + 0xFFFFFF0, -(2**62 + 0xFFFFFF0), trees.n_nodes])
    with pytest.raises(ValueError, match="do not fit together"):
        dataclasses.replace(trees, tree_start=start).check(np.full(5, N_CODES))


def test_check_refuses_a_threshold_that_is_no_code_of_its_feature(mixed):
    trees = grow_random_trees(mixed, n_trees=9, depth=4, seed=3, categorical="ordered")
    trees.check(MIXED_CODES)
    for feature, highest in ((1, 2), (3, 6), (4, 1)):
        node = np.flatnonzero(trees.feature == feature)[0]
        for threshold, ok in ((highest, True), (highest + 1, False)):
            cuts = trees.threshold.copy()
            cuts[node] = threshold
            other = dataclasses.replace(trees, threshold=cuts)
            if ok:
                other.check(MIXED_CODES)
                continue
            with pytest.raises(ValueError, match="outside the codes of its attribute"):
                other.check(MIXED_CODES)


def test_check_refuses_unreachable_nodes():
    """`check` refuses a tree of one test and four leaves, whose root points to the last two leaves."""
    kind = np.array([0, LEAF, LEAF, LEAF, LEAF], np.uint8)
    nobody = np.array([-1] * 4, np.int32)
    first_child = np.array([3, 1, 2, 3, 4], np.int32)
    arrays = kind, np.append(np.int32(0), nobody), np.append(np.int32(7), nobody), first_child
    with pytest.raises(ValueError, match="no parent"):
        Trees(*arrays, np.array([0, 5]), 1).check(np.array([N_CODES]))


def test_levels_are_the_numbers_of_tests_above(trees):
    for node in range(trees.n_nodes):
        above, n = node, 0
        while trees.parent[above] != above:
            above, n = int(trees.parent[above]), n + 1
        assert trees.level[node] == n


def test_check_refuses_a_depth_that_is_too_small(trees):
    with pytest.raises(ValueError, match="longer than the stated depth"):
        dataclasses.replace(trees, depth=1).check(MIXED_CODES)
