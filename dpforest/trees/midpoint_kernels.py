"""Kernels that grow a tree of the published multinomial random forest from sorted columns. They check no bounds.

Structure rows choose the tests of a tree, and estimation rows are counted in its leaves (`midpoint_trees`).

Every column is sorted once. In a sorted column, the rows of a node are adjacent. A test divides the rows of a node
between its children and keeps their order within each child. So no child is sorted again, and a level of the tree costs
one pass over the columns. The kernel skips a column that is constant at the node, because this column has no cuts below
the node. The kernel skips all columns if no child may be split.
"""

from typing import NamedTuple

import numpy as np
from numba import njit

from dpforest.privacy.hashing import word_at
from dpforest.trees.layout import LEAF, NUMERIC, ONE_VS_REST
from dpforest.trees.midpoint_cuts import (
    CLASS,
    CLASS_BIT,
    CODE_BIT,
    ROW,
    TIE,
    Parts,
    Scratch,
    draw,
    score_cuts,
    sum_of_squares,
)

# `hashed(key, number)` is a pseudorandom word. These are the numbers of the words that are drawn from the key of a tree
# (first line) and from the key of a node (second line).
ROWS, ROOT = 0, 1
FEATURE, CUT, LEFT, RIGHT = 0, 1, 2, 3


class Rows(NamedTuple):
    """The rows of a table."""

    words: np.ndarray  # int64 (m, n): sorted columns, whose elements pack a row's code, class and number
    columns: np.ndarray  # uint16 (m, n): codes of `Domain.encode`, column by column
    y: np.ndarray  # int32 (n,): class indices
    is_categorical: np.ndarray  # bool (m,): whether each column is categorical
    n_classes: int


class Nodes(NamedTuple):
    """The nodes of a tree in level order. The arrays have space for the largest possible tree."""

    kind: np.ndarray
    feature: np.ndarray
    threshold: np.ndarray
    first_child: np.ndarray
    span: np.ndarray  # start and end of the node's structure rows, start and end of its estimation rows
    column: np.ndarray  # index of a column in which the rows of the node are adjacent
    is_open: np.ndarray  # whether the node may be split
    keys: np.ndarray  # uint64: the key that determines the draws of each node


@njit(nogil=True, cache=True)
def hashed(key, number):
    """Return the pseudorandom word with this number in the sequence that a key determines, uint64."""
    return word_at(key, np.uint64(number))


@njit(nogil=True, cache=True)
def coin(key, number):
    """Return the result of `hashed` as a number in [0, 1)."""
    return np.float64(hashed(key, number) >> np.uint64(11)) * 2.0**-53


@njit(nogil=True, cache=True)
def tree_key(seed, tree):
    """Return the key that determines all draws of a tree; the seed is a uint64."""
    return hashed(hashed(seed, 0), tree)


@njit(nogil=True, cache=True)
def draw_structure(seed, tree, n, n_structure):
    """Return which rows are structure rows, bool (n,): every set of `n_structure` rows is equally likely."""
    is_structure = np.zeros(n, np.bool_)
    rows_key = hashed(tree_key(seed, tree), ROWS)
    n_needed = n_structure
    for row in range(n):
        is_structure[row] = coin(rows_key, row) * (n - row) < n_needed
        n_needed -= is_structure[row]
    return is_structure


@njit(nogil=True, cache=True)
def grow_midpoint_tree(seed, tree, n_structure, rows, settings):
    """Grow a tree in level order; return kind, feature, threshold, first child, counts of leaves, deepest level."""
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
    nodes = _new_tree(hashed(tree_key(seed, tree), ROOT), settings, parts, scratch)

    n_nodes, level, level_end = 1, 0, 1
    for node in range(len(nodes.kind)):
        if node == n_nodes:
            break
        if node == level_end:
            level, level_end = level + 1, n_nodes
        goes_on = level + 1 < settings.max_depth
        child = np.int64(n_nodes)  # a literal 1 has another type, and `_split` would be compiled again for this type
        if nodes.is_open[node] and _split(node, child, goes_on, rows, settings, parts, nodes, scratch):
            n_nodes += 2

    used = slice(0, n_nodes)
    counts = _count_leaves(nodes.kind[used], nodes.span, parts.estimation, rows.y, rows.n_classes)
    kind, feature, threshold = nodes.kind[used].copy(), nodes.feature[used].copy(), nodes.threshold[used].copy()
    return kind, feature, threshold, nodes.first_child[used].copy(), counts, level


@njit(nogil=True, cache=True)
def _parts(words, is_structure, n_structure, least_per_side):
    """Return the rows as `Parts`. `is_structure` marks the structure rows, bool (n,).

    Estimation rows are sorted only if cuts depend on them, which is the case if `least_per_side` is above 0.
    """
    est = np.flatnonzero(~is_structure)
    n_sorted = len(est) if least_per_side else 0
    return Parts(
        _sorted_rows(words, is_structure, True, n_structure), est, _sorted_rows(words, is_structure, False, n_sorted)
    )


@njit(nogil=True, cache=True)
def _sorted_rows(words, is_structure, wanted, size):
    """Return the sorted columns of the rows whose `is_structure` equals `wanted`; empty columns if `size` is 0.

    If `size` is above 0, it is the number of these rows.
    """
    kept = np.empty((len(words), size), np.int64)
    for j in range(len(words) if size else 0):
        k = 0
        for word in words[j]:
            if k == size:
                break
            kept[j, k] = word  # if this row is not kept, the next word overwrites it; a branch would be slower
            k += is_structure[word & ROW] == wanted
    return kept


@njit(nogil=True, cache=True)
def _new_tree(key, settings, parts, scratch):
    """Return a tree that has only a root, which may still be split."""
    n_structure, n_est = parts.structure.shape[1], len(parts.estimation)
    n_places = 2 * n_structure - 1  # every leaf has a structure row, so this is the largest number of nodes
    nodes = Nodes(
        np.full(n_places, LEAF, np.uint8),
        np.full(n_places, -1, np.int32),
        np.full(n_places, -1, np.int32),
        np.arange(n_places).astype(np.int32),
        np.zeros((n_places, 4), np.int64),
        np.zeros(n_places, np.int32),
        np.zeros(n_places, np.bool_),
        np.zeros(n_places, np.uint64),
    )
    nodes.span[0, 1], nodes.span[0, 3], nodes.keys[0] = n_structure, n_est, key
    _count_classes(parts.structure[0], scratch.total)
    is_large_enough = settings.max_depth > 0 and n_est >= settings.least_in_root
    nodes.is_open[0] = is_large_enough and not (settings.purity_stop and _is_pure(scratch.total))
    return nodes


@njit(nogil=True, cache=True)
def _split(node, child, goes_on, rows, settings, parts, nodes, scratch):
    """Draw a test for a node, and divide the node's rows between `child` and `child` + 1. Return whether it was split.

    A node is not split if it has no cut, or if a child would get too few estimation rows.
    """
    span = nodes.span[node]
    _count_classes(parts.structure[nodes.column[node], span[0] : span[1]], scratch.total)
    f, cut = _draw_test(span, nodes.keys[node], rows.is_categorical, settings, parts, scratch)
    if f < 0:
        return False
    categorical = rows.is_categorical[f]
    middle_est = _partition_estimation(span, rows.columns[f], cut, categorical, parts.estimation, scratch)
    if middle_est - span[2] < settings.least_per_child or span[3] - middle_est < settings.least_per_child:
        return False
    nodes.kind[node], nodes.feature[node], nodes.threshold[node] = ONE_VS_REST if categorical else NUMERIC, f, cut
    nodes.first_child[node] = child
    middle = span[0] + _mark(parts.structure[f, span[0] : span[1]], cut, categorical, scratch)
    for right in range(2):
        _add_child(node, child, right, middle, middle_est, nodes)
        is_large_enough = (
            goes_on and nodes.span[child + right, 3] - nodes.span[child + right, 2] >= settings.least_to_split
        )
        pure = settings.purity_stop and _is_pure(scratch.total if right else scratch.left)
        nodes.is_open[child + right] = is_large_enough and not pure
    if nodes.is_open[child] or nodes.is_open[child + 1]:
        _partition_columns(span, parts, scratch)
    return True


@njit(nogil=True, cache=True)
def _draw_test(span, key, is_categorical, settings, parts, scratch):
    """Draw a feature and one of its cuts; return (-1, -1) if no cut may be drawn."""
    best, features, scores = scratch.best, scratch.features, scratch.scores
    tie = TIE * (span[1] - span[0])  # a score is a constant plus the impurity decrease times the number of rows
    squares = sum_of_squares(scratch.total, settings.table)
    n_features = 0
    for j in range(len(parts.structure)):
        n_cuts = score_cuts(span, j, squares, is_categorical, settings, parts, scratch)
        if n_cuts:
            best[n_features], features[n_features] = scores[:n_cuts].max(), j
            n_features += 1
    if n_features == 0:
        return -1, np.int64(-1)
    f = features[draw(best[:n_features], settings.feature_temperature, tie, coin(key, FEATURE))]
    n_cuts = score_cuts(span, f, squares, is_categorical, settings, parts, scratch)
    return f, scratch.cuts[draw(scores[:n_cuts], settings.value_temperature, tie, coin(key, CUT))]


@njit(nogil=True, cache=True)
def _add_child(node, child, right, middle, middle_est, nodes):
    """Set the rows of a child, the column in which its rows are adjacent, and its key."""
    span, child_span = nodes.span[node], nodes.span[child + right]
    child_span[0], child_span[1] = (middle, span[1]) if right else (span[0], middle)
    child_span[2], child_span[3] = (middle_est, span[3]) if right else (span[2], middle_est)
    nodes.column[child + right] = nodes.feature[node]
    nodes.keys[child + right] = hashed(nodes.keys[node], RIGHT if right else LEFT)


@njit(nogil=True, cache=True)
def _partition_estimation(span, codes, cut, categorical, est, scratch):
    """Put the estimation rows that go left first. Return the index of the first estimation row that goes right."""
    goes_right = scratch.goes_right
    for i in range(span[2], span[3]):
        x = np.int64(codes[est[i]])
        goes_right[est[i]] = x == cut if categorical else x > cut
    return _partition(est, span[2], span[3], goes_right, scratch.spare)


@njit(nogil=True, cache=True)
def _mark(column, cut, categorical, scratch):
    """Mark the rows that go right, and return the number of rows that go left.

    Also set `left` and `total` in the scratch arrays to the class counts of the left and the right child.
    """
    total, left, goes_right = scratch.total, scratch.left, scratch.goes_right
    left[:] = 0
    n_left = 0
    for word in column:
        x = word >> CODE_BIT
        right = x == cut if categorical else x > cut
        goes_right[word & ROW] = right
        if not right:
            left[word >> CLASS_BIT & CLASS] += 1
            n_left += 1
    total -= left
    return n_left


@njit(nogil=True, cache=True)
def _partition_columns(span, parts, scratch):
    """Partition the sorted columns by `goes_right`, except for columns that are constant at the node."""
    a, b, c, d = span[0], span[1], span[2], span[3]
    for j in range(len(parts.structure)):
        if parts.structure[j, a] >> CODE_BIT != parts.structure[j, b - 1] >> CODE_BIT:
            _partition(parts.structure[j], a, b, scratch.goes_right, scratch.spare)
            if parts.sorted_estimation.shape[1]:
                _partition(parts.sorted_estimation[j], c, d, scratch.goes_right, scratch.spare)


@njit(nogil=True, cache=True)
def _partition(rows, a, b, goes_right, spare):
    """Put the rows in a..b - 1 that go left before those that go right, and keep their order.

    Return the index of the first row that goes right.
    """
    middle, n_right = a, 0
    for i in range(a, b):
        row = rows[i]
        right = goes_right[row & ROW]
        rows[middle] = row
        spare[n_right] = row
        middle += not right
        n_right += right
    right_rows = rows[middle:b]
    for i in range(n_right):  # a loop, because numba needs two seconds to compile an assignment of slices
        right_rows[i] = spare[i]
    return middle


@njit(nogil=True, cache=True)
def _count_classes(column, counts):
    counts[:] = 0
    for word in column:
        counts[word >> CLASS_BIT & CLASS] += 1


@njit(nogil=True, cache=True)
def _is_pure(counts):
    return (counts > 0).sum() <= 1


@njit(nogil=True, cache=True)
def _count_leaves(kind, span, est, y, n_classes):
    """Count the estimation rows of each class in each leaf."""
    counts = np.zeros(((len(kind) + 1) // 2, n_classes), np.int64)
    leaf = 0
    for node in range(len(kind)):
        if kind[node] == LEAF:
            for i in range(span[node, 2], span[node, 3]):
                counts[leaf, y[est[i]]] += 1
            leaf += 1
    return counts
