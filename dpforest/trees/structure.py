"""The structure of trees as a stream without redundancy: level by level, one small number per node.

The stream omits everything that can be derived: the positions of children, the number of nodes, and the nodes at the
greatest depth, which are leaves. The stream keeps the test of each node, and the threshold of each test that has a
threshold.
"""

from dataclasses import dataclass

import numpy as np

from dpforest.limits import MAX_FOREST_LEAVES, MAX_FOREST_NODES
from dpforest.trees.layout import LEAF, MULTIWAY, Trees


@dataclass(frozen=True, eq=False)
class Structure:
    """Trees without the arrays that can be derived.

    Parameters
    ----------
    n_trees, depth : int
        Number of trees, and largest number of tests on a path.
    test_feature, test_kind : int arrays of shape (n_tests,)
        The tests that occur, without their thresholds, sorted by feature and kind; kinds as in `Trees`.
    nodes : int array
        0 for a leaf, otherwise the number of the node's test, from 1. The roots of all trees come first. Then come the
        nodes of level 1, tree after tree and from left to right, and so on. Level `depth` is omitted, because all its
        nodes are leaves.
    thresholds : int array
        Threshold of each node whose test has a threshold, in the order of `nodes`.
    """

    n_trees: int
    depth: int
    test_feature: np.ndarray
    test_kind: np.ndarray
    nodes: np.ndarray
    thresholds: np.ndarray


def structure_of(trees: Trees) -> Structure:
    """Return the structure of trees: the arrays that a file stores."""
    # A stable sort keeps the nodes of a level tree after tree and from left to right, as in `Trees`.
    order = np.argsort(trees.level, kind="stable")
    order = order[: np.count_nonzero(trees.level < trees.depth)]
    kind, feature = trees.kind[order], trees.feature[order]
    inner = kind != LEAF
    tests, index_of_test = np.unique(feature[inner].astype(np.int64) * LEAF + kind[inner], return_inverse=True)
    nodes = np.zeros(len(order), np.int64)
    nodes[inner] = index_of_test + 1
    has_threshold = inner & (kind != MULTIWAY)
    return Structure(
        trees.n_trees, trees.depth, tests // LEAF, tests % LEAF, nodes, trees.threshold[order][has_threshold]
    )


def trees_of(structure: Structure, n_codes: np.ndarray) -> Trees:
    """Return the trees of a structure, given the number of codes of each feature (int64; 65,536 for numeric features).

    Raises
    ------
    ValueError
        If no trees have this structure, or if the structure has too many nodes. No memory is allocated for nodes beyond
        the limit.
    """
    s = structure
    if np.any(s.test_feature >= len(n_codes)) or np.any(s.test_kind >= LEAF):
        raise ValueError("a test names a feature that the domain does not have")
    if np.any(s.nodes > len(s.test_kind)):
        raise ValueError("a node names a test that is not listed")
    width = np.concatenate([[0], np.where(s.test_kind == MULTIWAY, n_codes[s.test_feature], 2)])
    levels, n_nodes, n_read = [s.n_trees], s.n_trees, 0
    while len(levels) <= s.depth and levels[-1]:
        level = s.nodes[n_read : n_read + levels[-1]]
        if len(level) < levels[-1]:
            raise ValueError("the nodes of a level are missing")
        n_read += len(level)
        levels.append(int(width[level].sum()))
        n_nodes += levels[-1]
        if n_nodes > MAX_FOREST_NODES:
            raise ValueError(f"there are more than {MAX_FOREST_NODES:,} nodes")
    if n_read != len(s.nodes):
        raise ValueError("there are nodes that no test leads to")
    return _linked(s, n_nodes, width)


def _linked(s: Structure, n_nodes: int, width: np.ndarray) -> Trees:
    """Return the arrays of `Trees`: link nodes to their children, and sort them by tree."""
    test = np.zeros(n_nodes, s.nodes.dtype)
    test[: len(s.nodes)] = s.nodes  # all remaining nodes are leaves of the last level
    children = width[test]
    first = s.n_trees + np.cumsum(children) - children
    inner = test > 0
    if n_nodes - np.count_nonzero(inner) > MAX_FOREST_LEAVES:
        raise ValueError(f"there are more than {MAX_FOREST_LEAVES:,} leaves")
    tree = np.zeros(n_nodes, np.int32)
    tree[: s.n_trees] = np.arange(s.n_trees)
    end = s.n_trees
    for a, b in _level_borders(s.n_trees, children):
        child_trees = np.repeat(tree[a:b], children[a:b])
        tree[end : end + len(child_trees)] = child_trees
        end += len(child_trees)
    order = np.argsort(tree, kind="stable")
    place = np.empty(n_nodes, np.int32)
    place[order] = np.arange(n_nodes, dtype=np.int32)

    kinds = np.concatenate([[LEAF], s.test_kind]).astype(np.uint8)
    features = np.concatenate([[-1], s.test_feature]).astype(np.int32)
    kind = kinds[test]
    threshold = np.full(n_nodes, -1, np.int32)
    has_threshold = inner & (kind != MULTIWAY)
    if np.count_nonzero(has_threshold) != len(s.thresholds):
        raise ValueError("the number of thresholds is not the number of nodes that need one")
    threshold[has_threshold] = s.thresholds
    first_child = np.where(inner, place[np.minimum(first, n_nodes - 1)], place)
    start = np.searchsorted(tree[order], np.arange(s.n_trees + 1))
    return Trees(kind[order], features[test][order], threshold[order], first_child[order], start, s.depth)


def _level_borders(n_trees: int, children: np.ndarray):
    """Yield, for each level, the index of its first node and the index after its last node."""
    a, b = 0, n_trees
    while a < b:
        yield a, b
        a, b = b, b + int(children[a:b].sum())
