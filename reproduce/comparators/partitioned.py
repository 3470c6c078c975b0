"""Trees that split their rows into halves: structure rows choose the tests, and estimation rows label the leaves.

The trees grow like the trees of the multinomial forest (`dpforest.trees.midpoint_kernels`), but choose tests by another
rule. A cut is allowed only if each side gets at least k estimation rows, so every leaf has at least k estimation rows.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, field

import numpy as np
from numba import njit

from dpforest.trees import midpoint_kernels as kernels
from dpforest.trees.layout import NUMERIC, ONE_VS_REST, Trees
from dpforest.trees.midpoint_cuts import Scratch, Settings
from dpforest.trees.midpoint_kernels import ROOT, Rows, draw_structure, hashed, tree_key
from dpforest.trees.midpoint_trees import sorted_words, structure_size
from dpforest.trees.routing import scorer
from reproduce.comparators.base import Comparator
from reproduce.comparators.choices import NOTHING, Room, Rule, choose

MOST_DEPTH = 60

# These functions are private in `dpforest.trees.midpoint_kernels`. This module uses them under the same names.
_parts, _new_tree, _is_pure = kernels._parts, kernels._new_tree, kernels._is_pure
_count_classes, _mark, _partition_estimation = kernels._count_classes, kernels._mark, kernels._partition_estimation
_add_child, _partition_columns, _count_leaves = kernels._add_child, kernels._partition_columns, kernels._count_leaves


@dataclass
class PartitionedForest(Comparator):
    """A forest whose trees each split the rows into random halves.

    Attributes
    ----------
    trees : Trees
    counts : int64 array of shape (n_leaves, n_classes)
        Number of estimation rows of each class in each leaf.
    """

    trees: Trees = field(init=False, repr=False)
    counts: np.ndarray = field(init=False, repr=False)

    @property
    @abstractmethod
    def rule(self) -> Rule:
        """The rule by which nodes choose tests."""

    @property
    def labels(self) -> np.ndarray:
        """Most frequent class of each leaf. A tie goes to the first class of the domain."""
        return self.counts.argmax(axis=1).astype(np.int32)

    def _grow(self, codes: np.ndarray, y: np.ndarray) -> None:
        columns = np.ascontiguousarray(codes.T)
        rows = Rows(sorted_words(codes, y), columns, y, self.is_categorical, self.domain.n_classes)
        k = self.min_leaf
        settings = Settings(np.empty(0, np.int64), 0.0, 0.0, 0.0, k, k, 2 * k, 2 * k, True, MOST_DEPTH)
        n_structure, rule = structure_size(len(codes), 1.0), self.rule
        # Hashing overflows on purpose. If numba is switched off, numpy would warn about it.
        with np.errstate(over="ignore"):
            grown = [
                grow_tree(np.uint64(self.seed), tree, n_structure, rule, rows, settings) for tree in range(self.n_trees)
            ]
        kinds, features, thresholds, children, counts, depths = zip(*grown, strict=True)
        start = np.cumsum([0, *map(len, kinds)], dtype=np.int64)
        first = np.concatenate(
            [first_of_tree + np.int32(begin) for first_of_tree, begin in zip(children, start[:-1], strict=True)]
        )
        arrays = np.concatenate(kinds), np.concatenate(features), np.concatenate(thresholds), first
        self.trees, self.counts = Trees(*arrays, start, max(1, *depths)), np.concatenate(counts)

    def _votes(self, codes: np.ndarray) -> np.ndarray:
        return scorer(self.trees, self.domain, self.labels)(codes)


@njit(nogil=True, cache=True)
def grow_tree(seed, tree, n_structure, rule, rows, settings):
    """Grow one tree in level order. Return kind, feature, threshold, first child, leaf counts, and deepest level."""
    m, n = rows.words.shape
    parts = _parts(rows.words, draw_structure(seed, tree, n, n_structure), n_structure, settings.least_per_side)
    scratch = Scratch(
        np.zeros(rows.n_classes, np.int64),
        np.zeros(rows.n_classes, np.int64),
        np.empty(m),
        np.empty(m, np.int64),
        np.empty(n_structure),
        np.empty(n_structure, np.int64),
        np.zeros(n, np.bool_),
        np.empty(n, np.int64),
    )
    room = Room(np.arange(m), np.empty(max(rule.n_points, 1), np.int64))
    nodes = _new_tree(hashed(tree_key(seed, tree), ROOT), settings, parts, scratch)
    n_nodes, level, level_end = 1, 0, 1
    for node in range(len(nodes.kind)):
        if node == n_nodes:
            break
        if node == level_end:
            level, level_end = level + 1, n_nodes
        goes_on = level + 1 < settings.max_depth
        child = np.int64(n_nodes)
        if nodes.is_open[node] and _split(node, child, goes_on, rule, rows, settings, parts, nodes, scratch, room):
            n_nodes += 2
    grown = slice(0, n_nodes)
    counts = _count_leaves(nodes.kind[grown], nodes.span, parts.estimation, rows.y, rows.n_classes)
    kind, feature, threshold = nodes.kind[grown].copy(), nodes.feature[grown].copy(), nodes.threshold[grown].copy()
    return kind, feature, threshold, nodes.first_child[grown].copy(), counts, level


@njit(nogil=True, cache=True)
def _split(node, child, goes_on, rule, rows, settings, parts, nodes, scratch, room):
    """Choose a test for a node, and split its rows between `child` and the next node.

    Return whether there is a test.
    """
    span, column = nodes.span[node], nodes.column[node]
    _count_classes(parts.structure[column, span[0] : span[1]], scratch.total)
    f, cut = choose(rule, span, column, nodes.keys[node], rows, settings, parts, scratch, room)
    if f == NOTHING:
        return False
    categorical = rows.is_categorical[f]
    nodes.kind[node], nodes.feature[node], nodes.threshold[node] = ONE_VS_REST if categorical else NUMERIC, f, cut
    nodes.first_child[node] = child
    middle_est = _partition_estimation(span, rows.columns[f], cut, categorical, parts.estimation, scratch)
    middle = span[0] + _mark(parts.structure[f, span[0] : span[1]], cut, categorical, scratch)
    for right in range(2):
        _add_child(node, child, right, middle, middle_est, nodes)
        enough = goes_on and nodes.span[child + right, 3] - nodes.span[child + right, 2] >= settings.least_to_split
        nodes.is_open[child + right] = enough and not _is_pure(scratch.total if right else scratch.left)
    if nodes.is_open[child] or nodes.is_open[child + 1]:
        _partition_columns(span, parts, scratch)
    return True
