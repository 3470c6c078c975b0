"""Trees that look at the data: level by level, histograms of class weights over public candidate splits.

The builder counts and scores; whoever chooses is handed in. It serves the multinomial forest, the boosted trees and the
private greedy tree, which differ in score, in who chooses, in the budget and in what their leaves say.

Trees are complete while they grow: node p of level k has the children 2p and 2p + 1 of level k + 1. A node that is not
split (-1) sends its rows to its left child all the way down.
"""

from collections.abc import Callable

import numpy as np
from numba import njit

from dpforest.trees.candidates import Candidates, undecided
from dpforest.trees.layout import LEAF, NUMERIC, Trees

# (level, class weights of every bin of every node (n_nodes, n_slots, n_classes), allowed tests) -> candidates, -1: none
Chooser = Callable[[int, np.ndarray, np.ndarray], np.ndarray]

_P = np.uintp


def grow_tree(
    candidates: Candidates,
    bins: np.ndarray,
    y: np.ndarray,
    weight: np.ndarray,
    *,
    n_classes: int,
    depth: int,
    choose: Chooser,
) -> tuple[list[np.ndarray], np.ndarray]:
    """Grow one tree. Curator only: what is private about it is `choose`.

    Parameters
    ----------
    bins : uint8 or uint16 array of shape (n, n_features)
        Of `bin_codes`.
    y : int32 array of shape (n,)
        Class indices.
    weight : int64 array of shape (n,)
        Weights of rows, whole numbers.
    depth : int
    choose : callable
        Gets each level and the histograms of its nodes.

    Returns
    -------
    chosen : list of int64 arrays
        Candidate of every node, level k of shape (2**k,); -1 where a node was not split.
    node : int32 array of shape (n,)
        Place of each row among the 2**depth places of the last level.
    """
    node = np.zeros(len(bins), np.int32)
    chosen: list[np.ndarray] = []
    for level in range(depth):
        histogram = np.zeros((2**level, int(candidates.slot[-1]), n_classes), np.int64)
        fill_histogram(bins, y, weight, node, candidates.slot, histogram)
        picks = choose(level, histogram, undecided(candidates, chosen))
        if level:  # nothing is split below a node that was not
            picks = np.where(np.repeat(chosen[-1], 2) < 0, -1, picks)
        chosen.append(picks)
        descend(bins, candidates.kind, candidates.feature, candidates.cut, picks, node)
    return chosen, node


def places_of_rows(candidates: Candidates, bins: np.ndarray, chosen: list[np.ndarray]) -> np.ndarray:
    """Where rows end up in a grown tree: place on the last level, int32 (n,)."""
    node = np.zeros(len(bins), np.int32)
    for picks in chosen:
        descend(bins, candidates.kind, candidates.feature, candidates.cut, picks, node)
    return node


@njit(nogil=True, cache=True)
def fill_histogram(bins, y, weight, node, slot, histogram):
    """Add the weight of each row to its bin of every feature, in the node where it is."""
    n, m = bins.shape
    n_slots, n_classes = histogram.shape[1], histogram.shape[2]
    flat = histogram.reshape(histogram.size)
    start = (slot[:m] * n_classes).astype(np.int64)
    for i in range(n):
        base = np.int64(node[i]) * n_slots * n_classes + y[i]
        w = weight[i]
        for j in range(m):
            flat[_P(base + start[j] + np.int64(bins[i, j]) * n_classes)] += w


@njit(nogil=True, cache=True)
def descend(bins, kind, feature, cut, chosen, node):
    """Move each row to the child that its answer leads to."""
    for i in range(len(node)):
        p = node[i]
        c = chosen[p]
        right = np.int32(0)
        if c >= 0:
            x = np.int32(bins[i, feature[c]])
            right = np.int32(x > cut[c]) if kind[c] == NUMERIC else np.int32(x == cut[c])
        node[i] = 2 * p + right


@njit(nogil=True, cache=True)
def leaf_table(node, y, weight, table):
    """Add the weight of each row to the class of its place: table (n_places, n_classes) int64."""
    for i in range(len(node)):
        table[node[i], y[i]] += weight[i]


def as_trees(candidates: Candidates, grown: list[list[np.ndarray]], depth: int) -> tuple[Trees, np.ndarray]:
    """Grown trees in the layout of the house, without what lies below nodes that were not split.

    Parameters
    ----------
    grown : list of `chosen`, one a tree
    depth : int

    Returns
    -------
    trees : Trees
    place : int64 array of shape (n_leaves,)
        Of each leaf: its tree times 2**depth, plus the place on the last level where its rows are.
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
    """Kind, feature, threshold, first child and last-level place of the nodes of one tree in level order."""
    places = [np.zeros(1, np.int64)]  # nodes of each level that are there
    for picks in chosen:
        split = places[-1][picks[places[-1]] >= 0]
        places.append((2 * split[:, None] + np.arange(2)).ravel())
    counts = [len(level) for level in places]
    start = np.concatenate(([0], np.cumsum(counts)))
    out = []
    for level, here in enumerate(places):
        picks = chosen[level][here] if level < depth else np.full(len(here), -1)
        inner, nodes = picks >= 0, start[level] + np.arange(len(here))
        child = np.where(inner, start[level + 1] + 2 * (np.cumsum(inner) - 1), nodes) if level < depth else nodes
        out.append(
            (
                np.where(inner, candidates.kind[picks], LEAF),
                np.where(inner, candidates.feature[picks], -1),
                np.where(inner, candidates.threshold[picks], -1),
                child,
                here << (depth - level),
            )
        )
    return tuple(np.concatenate(column) for column in zip(*out, strict=True))
