"""Grow trees that depend on the data: level by level, from histograms of class weights over public candidate splits.

This module counts class weights. The caller passes a function that scores and chooses tests, because the kinds of
greedy forests differ in this step.

Trees are complete while they grow: node p of level k has the children 2p and 2p + 1 on level k + 1. If a node is not
split, -1 stands in place of its test, and its rows go to the left child on all further levels.
"""

from collections.abc import Callable

import numpy as np
from numba import njit

from dpforest.trees.candidates import Candidates, undecided
from dpforest.trees.layout import LEAF, NUMERIC, Trees

# A function that chooses the tests of a level. Its arguments are the number of the level, the class weights in the bins
# of each node (n_nodes, n_slots, n_classes), and which tests are allowed at each node (n_nodes, n_candidates). Here
# n_slots is the number of bins of all features. The function returns the index of the chosen test of each node, or -1
# if the node is not split.
ChooseSplits = Callable[[int, np.ndarray, np.ndarray], np.ndarray]

_P = np.uintp  # for an unsigned index, numba omits the code that handles negative indices
_BLOCK = 512  # number of rows that `fill_children` handles at a time


def grow_tree(
    candidates: Candidates,
    bins: np.ndarray,
    y: np.ndarray,
    weight: np.ndarray,
    *,
    n_classes: int,
    depth: int,
    choose: ChooseSplits,
    root: np.ndarray | None = None,
) -> tuple[list[np.ndarray], np.ndarray]:
    """Grow one tree. Unless `choose` is a private mechanism, only the curator (the data holder) may see the tree.

    Parameters
    ----------
    candidates : Candidates
        The tests to choose from.
    bins : uint8 or uint16 array of shape (n, n_features)
        Result of `bin_codes`.
    y : int32 array of shape (n,)
        Class index of each row.
    weight : int64 array of shape (n,)
        Amount that each row adds to a count.
    n_classes : int
        Number of classes.
    depth : int
        Number of levels of tests.
    choose : callable
        Function that chooses the tests of a level (`ChooseSplits`).
    root : int64 array of shape (1, n_slots, n_classes), optional
        `root_histogram` of these rows, if it is already known.

    Returns
    -------
    chosen : list of int64 arrays
        One array for each level: the candidate chosen at each node, or -1 if the node was not split. The array of
        level k has shape (2**k,).
    node : int32 array of shape (n,)
        Node of each row on the last level of the complete tree, from 0 to 2**depth - 1.
    """
    node = np.zeros(len(bins), np.int32)
    chosen: list[np.ndarray] = []
    histogram = root_histogram(candidates, bins, y, weight, n_classes) if root is None else root
    for level in range(depth):
        if level:
            parents, histogram = histogram, np.zeros((2**level, *histogram.shape[1:]), np.int64)
            fill_children(bins, y, weight, node, candidates.slot, parents, histogram)
        picks = choose(level, histogram, undecided(candidates, chosen))
        if level:  # a node below an unsplit node is not split either
            picks = np.where(np.repeat(chosen[-1], 2) < 0, -1, picks)
        chosen.append(picks)
        descend(bins, candidates.kind, candidates.feature, candidates.cut, picks, node)
    return chosen, node


def root_histogram(
    candidates: Candidates, bins: np.ndarray, y: np.ndarray, weight: np.ndarray, n_classes: int
) -> np.ndarray:
    """Return the class weights of every bin over all rows, int64 (1, n_slots, n_classes)."""
    histogram = np.zeros((1, int(candidates.slot[-1]), n_classes), np.int64)
    fill_histogram(bins, y, weight, np.zeros(len(bins), np.int32), candidates.slot, histogram)
    return histogram


def places_of_rows(candidates: Candidates, bins: np.ndarray, chosen: list[np.ndarray]) -> np.ndarray:
    """Return the node of each row on the last level of a grown tree, int32 (n,)."""
    node = np.zeros(len(bins), np.int32)
    for picks in chosen:
        descend(bins, candidates.kind, candidates.feature, candidates.cut, picks, node)
    return node


@njit(nogil=True, cache=True)
def fill_histogram(bins, y, weight, node, slot, histogram):
    """Add the weight of each row to its bin of every feature, in the row's node."""
    n_classes = histogram.shape[2]
    start, flat = slot * n_classes, histogram.reshape(histogram.size)
    for i in range(len(bins)):
        _add_row(bins, y, weight, node, start, n_classes, i, flat)


@njit(nogil=True, cache=True)
def fill_children(bins, y, weight, node, slot, parents, histogram):
    """Fill a histogram of zeros for the nodes of a level, given the histogram `parents` of the level above.

    Only the rows of one of two siblings are counted, if possible of the sibling with fewer rows. The counts of the
    other sibling are the counts of the parent minus these counts.
    """
    n_nodes = len(histogram)
    sampled, is_counted = np.zeros(n_nodes, np.int64), np.empty(n_nodes, np.int64)
    for i in range(0, len(node), 8):  # every eighth row is enough to estimate which child has fewer rows
        sampled[node[i]] += 1
    for p in range(0, n_nodes, 2):
        is_counted[p] = sampled[p] < sampled[p + 1]
        is_counted[p + 1] = 1 - is_counted[p]
    n_classes = histogram.shape[2]
    start, flat = slot * n_classes, histogram.reshape(histogram.size)
    rows = np.empty(_BLOCK, np.int64)
    for first in range(0, len(bins), _BLOCK):
        size = 0  # select rows first, because the processor would often mispredict a branch for each row
        for i in range(first, min(first + _BLOCK, len(bins))):
            rows[_P(size)] = i
            size += is_counted[_P(node[i])]
        for k in range(size):
            _add_row(bins, y, weight, node, start, n_classes, _P(rows[k]), flat)
    for p in range(n_nodes):
        if not is_counted[p]:
            histogram[p] = parents[p // 2] - histogram[p ^ 1]


@njit(nogil=True, cache=True)
def _add_row(bins, y, weight, node, start, n_classes, i, flat):
    """Add the weight of row i to its bin of every feature, in the row's node.

    `start` holds the offset of each feature in a node's counts. Its last element is the number of counts.
    """
    base = np.int64(node[i]) * start[-1] + y[i]
    w = weight[i]
    for j in range(bins.shape[1]):
        flat[_P(base + start[j] + np.int64(bins[i, j]) * n_classes)] += w


@njit(nogil=True, cache=True)
def descend(bins, kind, feature, cut, chosen, node):
    """Move each row from its node to one of the two children. The row's answer to the node's test selects the child."""
    n_nodes = len(chosen)
    tested_feature, low, high = np.zeros(n_nodes, np.int32), np.ones(n_nodes, np.int32), np.zeros(n_nodes, np.int32)
    for p in range(n_nodes):  # rows whose bin is from low to high go right
        c = chosen[p]
        if c >= 0:
            tested_feature[p] = feature[c]
            low[p] = cut[c] + (kind[c] == NUMERIC)
            high[p] = 65_535 if kind[c] == NUMERIC else cut[c]
    for i in range(len(node)):
        parent = _P(node[i])
        x = np.int32(bins[i, _P(tested_feature[parent])])
        node[i] = 2 * node[i] + np.int32((low[parent] <= x) & (x <= high[parent]))


@njit(nogil=True, cache=True)
def leaf_table(node, y, weight, table):
    """Add the weight of each row to its class at its node: table is int64 (n_nodes, n_classes)."""
    for i in range(len(node)):
        table[node[i], y[i]] += weight[i]


def as_trees(candidates: Candidates, grown: list[list[np.ndarray]], depth: int) -> tuple[Trees, np.ndarray]:
    """Return grown trees as `Trees`, without the nodes below unsplit nodes.

    Parameters
    ----------
    candidates : Candidates
        The tests from which the trees chose.
    grown : list of lists of int64 arrays
        Result `chosen` of `grow_tree` for each tree.
    depth : int
        Depth of the complete trees.

    Returns
    -------
    trees : Trees
        The trees, in the order of `grown`.
    place : int64 array of shape (n_leaves,)
        Place of the rows of each leaf on the last level of the complete trees: 2**depth times the number of the tree,
        plus the number of the node.
    """
    parts = [_compact(candidates, chosen, depth) for chosen in grown]
    sizes = np.array([len(part[0]) for part in parts])
    start = np.concatenate(([0], np.cumsum(sizes)))
    kind, feature, threshold, child, place = (np.concatenate(column) for column in zip(*parts, strict=True))
    offset = np.repeat(start[:-1], sizes)
    trees = Trees(
        kind.astype(np.uint8),
        feature.astype(np.int32),
        threshold.astype(np.int32),
        (child + offset).astype(np.int32),
        start.astype(np.int64),
        depth,
    )
    tree = np.repeat(np.arange(len(grown)), sizes)
    return trees, (tree * 2**depth + place)[trees.leaf_nodes]


def _compact(candidates: Candidates, chosen: list[np.ndarray], depth: int) -> tuple[np.ndarray, ...]:
    """Return kind, feature, threshold, first child and last-level place of each node of one tree, in level order."""
    n_inner = 2**depth - 1
    picks = np.concatenate([*chosen, np.full(n_inner + 1, -1)])  # node i has the children 2i + 1, 2i + 2
    exists = np.ones(len(picks), bool)
    for level in range(depth):
        here = slice(2**level - 1, 2 ** (level + 1) - 1)
        exists[2 * here.start + 1 : 2 * here.stop + 1] = np.repeat(exists[here] & (picks[here] >= 0), 2)
    number = np.cumsum(exists) - 1
    first = np.concatenate([number[1::2], number[n_inner:]])
    place = np.concatenate([np.arange(2**level) << (depth - level) for level in range(depth + 1)])
    picks = picks[exists]
    inner = picks >= 0
    return (
        np.where(inner, candidates.kind[picks], LEAF),
        np.where(inner, candidates.feature[picks], -1),
        np.where(inner, candidates.threshold[picks], -1),
        np.where(inner, first[exists], number[exists]),
        place[exists],
    )
