"""Kernels (compiled functions) that route many rows down many trees. The kernels check no bounds.

The argument `packed` is the result of `routing.pack`.

The kernels transpose a block of `ROWS` rows into columns and route it down one tree after another, so that the tree and
the block stay in the fastest cache. A packed node is one 32-bit word: bit 31 marks a multiway test, the next 15 bits
are the feature, and the last 16 bits are the threshold.

In the upper levels of complete binary trees, the kernels evaluate every node of a level for every row. The compiler
turns these loops into vector instructions, so the loops are faster than a look-up of each row's node. In the lower
levels, the kernels look up the node of each row. A step moves one row down one level. One core takes 1,000 million
steps a second if all levels look up nodes, and 1,750 million if the five upper levels evaluate every node.
"""

import numpy as np
from numba import njit

ROWS = 256  # number of rows of a block
DENSE = 5  # number of upper levels in which every node is evaluated for every row

_U = np.uint32
_H = np.uint16
_P = np.uintp  # for an unsigned index, numba omits the code that handles negative indices


@njit(nogil=True, cache=True)
def _scratch(codes, packed):
    """Return the arrays for a block: columns, their flat view, and the place, the answer and the leaf of each row."""
    columns = np.zeros((codes.shape[1] + len(packed[5]), ROWS), np.uint16)
    place, right, leaf = np.empty(ROWS, np.uint16), np.empty(ROWS, np.uint16), np.empty(ROWS, np.uint32)
    return columns, columns.reshape(columns.size), place, right, leaf


@njit(nogil=True, cache=True)
def _load(codes, start, packed, columns):
    """Transpose a block of rows into columns, and return the number of rows.

    Also fill one extra column for each one-vs-rest test: 1 if the row has the category of the test, otherwise 0.
    """
    extra_source, extra_value = packed[5], packed[6]
    n, m = codes.shape
    rows = min(ROWS, n - start)
    for r in range(rows):
        for j in range(m):
            columns[j, r] = codes[start + r, j]
    for e in range(len(extra_source)):
        source, value = extra_source[e], extra_value[e]
        for r in range(rows):
            columns[m + e, r] = _H(columns[source, r] == value)
    return rows


@njit(nogil=True, cache=True)
def _descend_top(columns, node, root, levels, place, right):
    """Set `place`: the index, within its level, of the node that each row reaches after `levels` tests (at least 2)."""
    w0, w1, w2 = node[root], node[root + 1], node[root + 2]
    c0, t0 = columns[w0 >> 16], _H(w0 & 0xFFFF)
    c1, t1 = columns[w1 >> 16], _H(w1 & 0xFFFF)
    c2, t2 = columns[w2 >> 16], _H(w2 & 0xFFFF)
    for r in range(ROWS):
        a, b, c = _H(c0[r] > t0), _H(c1[r] > t1), _H(c2[r] > t2)
        place[r] = _H(2) * a + ((a & c) | ((_H(1) ^ a) & b))
    first, width = root + 3, 4
    for _ in range(2, levels):
        right[:] = _H(0)
        for q in range(0, width, 4):
            w0, w1, w2, w3 = node[first + q], node[first + q + 1], node[first + q + 2], node[first + q + 3]
            c0, t0, q0 = columns[w0 >> 16], _H(w0 & 0xFFFF), _H(q)
            c1, t1, q1 = columns[w1 >> 16], _H(w1 & 0xFFFF), _H(q + 1)
            c2, t2, q2 = columns[w2 >> 16], _H(w2 & 0xFFFF), _H(q + 2)
            c3, t3, q3 = columns[w3 >> 16], _H(w3 & 0xFFFF), _H(q + 3)
            for r in range(ROWS):
                z = place[r]
                right[r] |= _H(
                    ((c0[r] > t0) & (z == q0))
                    | ((c1[r] > t1) & (z == q1))
                    | ((c2[r] > t2) & (z == q2))
                    | ((c3[r] > t3) & (z == q3))
                )
        for r in range(ROWS):
            place[r] = _H(_H(2) * place[r] + right[r])
        first += width
        width *= 2


@njit(nogil=True, cache=True)
def _descend_complete(columns, flat, node, root, depth, place, right, leaf):
    """Set the leaf of each row in a complete binary tree of depth >= 2."""
    levels = min(depth, DENSE)
    _descend_top(columns, node, root, levels, place, right)
    base = _U(root)
    first = _U((1 << levels) - 1)
    for r in range(ROWS):
        leaf[r] = _U(place[r]) + first
    for _ in range(levels, depth):
        for r in range(ROWS):
            i = leaf[r]
            w = node[_P(base + i)]
            x = flat[_P((w >> _U(16)) * _U(ROWS) + _U(r))]
            leaf[r] = _U(_U(2) * i + _U(1) + _U(x > _H(w & _U(0xFFFF))))
    last = _U((1 << depth) - 1)
    for r in range(ROWS):
        leaf[r] -= last


@njit(nogil=True, cache=True)
def _descend_any(flat, node, first_child, leaf_of_node, root, depth, leaf_start, leaf):
    """Set the leaf of each row in a tree of any shape. A row that is in a leaf stays there on all further levels."""
    for r in range(ROWS):
        leaf[r] = _U(root)
    for _ in range(depth):
        for r in range(ROWS):
            w = node[_P(leaf[r])]
            x = flat[_P(((w >> _U(16)) & _U(0x7FFF)) * _U(ROWS) + _U(r))]
            step = _U(x) if w >> _U(31) else _U(x > _H(w & _U(0xFFFF)))
            leaf[r] = _U(first_child[_P(leaf[r])]) + step
    for r in range(ROWS):
        leaf[r] = _U(leaf_of_node[_P(leaf[r])]) - _U(leaf_start)


@njit(nogil=True, cache=True)
def _descend(packed, scratch, t):
    """Set the leaf of each row of the block in tree t."""
    node, first_child, leaf_of_node, tree_start, leaf_start, _, _, depth, complete = packed
    columns, flat, place, right, leaf = scratch
    if complete:
        _descend_complete(columns, flat, node, tree_start[t], depth, place, right, leaf)
    else:
        _descend_any(flat, node, first_child, leaf_of_node, tree_start[t], depth, leaf_start[t], leaf)


@njit(nogil=True, cache=True)
def count_all(codes, y, weight, packed, counts):
    """Count every row in the leaf that it reaches, in every tree: counts is int64 (n_leaves, n_classes).

    Each row adds its weight, int64 (n,), to a count, or 1 if `weight` is None.
    """
    scratch = _scratch(codes, packed)
    leaf, leaf_start = scratch[4], packed[4]
    n, n_trees = len(codes), len(leaf_start) - 1
    for start in range(0, n, ROWS):
        rows = _load(codes, start, packed, scratch[0])
        for t in range(n_trees):
            _descend(packed, scratch, t)
            tree_counts = counts[leaf_start[t] : leaf_start[t + 1]]
            for r in range(rows):
                tree_counts[_P(leaf[r]), _P(y[start + r])] += 1 if weight is None else weight[start + r]


@njit(nogil=True, cache=True)
def count_assigned(codes, y, weight, tree_of_row, packed, counts):
    """Count every row in the leaf that it reaches in its assigned tree. Arguments are as in `count_all`."""
    node, first_child, leaf_of_node, tree_start, _, extra_source, extra_value, depth, _ = packed
    n, m = codes.shape
    # The rows of a block are in different trees, so they test different features at the same time. Therefore columns
    # would not help, and the block is not transposed.
    place = np.empty(ROWS, np.uint32)
    flat = codes.reshape(codes.size)
    for start in range(0, n, ROWS):
        rows = min(ROWS, n - start)
        for r in range(rows):
            place[r] = _U(tree_start[tree_of_row[start + r]])
        for _ in range(depth):
            for r in range(rows):
                w = node[_P(place[r])]
                f = (w >> _U(16)) & _U(0x7FFF)
                if f < m:
                    x = flat[_P((start + r) * m + f)]
                else:
                    x = _H(flat[_P((start + r) * m + extra_source[f - m])] == extra_value[f - m])
                step = _U(x) if w >> _U(31) else _U(x > _H(w & _U(0xFFFF)))
                place[r] = _U(first_child[_P(place[r])]) + step
        for r in range(rows):
            row = start + r
            counts[_P(leaf_of_node[_P(place[r])]), _P(y[row])] += 1 if weight is None else weight[row]


@njit(nogil=True, cache=True)
def find_leaves(codes, packed, first, leaves):
    """Set the leaf of every row in every tree: leaves is an integer array (n_trees, n).

    `first` is the number of each tree's first leaf: with ``packed[4]``, leaves are numbered over the whole forest, and
    with an array of zeros, within each tree.
    """
    scratch = _scratch(codes, packed)
    leaf = scratch[4]
    n, n_trees = len(codes), len(packed[4]) - 1
    for start in range(0, n, ROWS):
        rows = _load(codes, start, packed, scratch[0])
        for t in range(n_trees):
            _descend(packed, scratch, t)
            for r in range(rows):
                leaves[t, start + r] = np.int32(first[t] + leaf[r])


@njit(nogil=True, cache=True)
def count_votes(codes, packed, labels, votes):
    """Count the trees that vote for each class: labels is uint8 (n_leaves,), votes is int32 (n, n_classes)."""
    scratch = _scratch(codes, packed)
    leaf, leaf_start = scratch[4], packed[4]
    n, n_trees = len(codes), len(leaf_start) - 1
    ones = np.empty(ROWS, np.int32)
    binary = votes.shape[1] == 2
    for start in range(0, n, ROWS):
        rows = _load(codes, start, packed, scratch[0])
        ones[:] = 0
        for t in range(n_trees):
            _descend(packed, scratch, t)
            tree_labels = labels[leaf_start[t] : leaf_start[t + 1]]
            if binary:
                for r in range(ROWS):
                    ones[r] += tree_labels[_P(leaf[r])]
            else:
                for r in range(rows):
                    votes[start + r, _P(tree_labels[_P(leaf[r])])] += 1
        if binary:
            for r in range(rows):
                votes[start + r, 1] += ones[r]
                votes[start + r, 0] += n_trees - ones[r]


@njit(nogil=True, cache=True)
def add_shares(codes, packed, shares, total):
    """Add up class shares of the leaves that each row reaches: shares (n_leaves, n_classes), total (n, n_classes)."""
    scratch = _scratch(codes, packed)
    leaf, leaf_start = scratch[4], packed[4]
    n, n_trees = len(codes), len(leaf_start) - 1
    for start in range(0, n, ROWS):
        rows = _load(codes, start, packed, scratch[0])
        for t in range(n_trees):
            _descend(packed, scratch, t)
            tree_shares = shares[leaf_start[t] : leaf_start[t + 1]]
            if total.shape[1] == 2:  # for two classes, the compiler turns both additions into one instruction
                for r in range(rows):
                    total[start + r, 0] += tree_shares[_P(leaf[r]), 0]
                    total[start + r, 1] += tree_shares[_P(leaf[r]), 1]
            else:
                for r in range(rows):
                    for c in range(total.shape[1]):
                        total[start + r, c] += tree_shares[_P(leaf[r]), c]


@njit(nogil=True, cache=True)
def count_votes_at(leaves, labels, votes):
    """Count votes like `count_votes`, for rows whose leaves (n_trees, n) are known."""
    for t in range(leaves.shape[0]):
        for i in range(leaves.shape[1]):
            votes[i, labels[_P(leaves[t, i])]] += 1


@njit(nogil=True, cache=True)
def add_shares_at(leaves, shares, total):
    """Add up shares like `add_shares`, for rows whose leaves (n_trees, n) are known."""
    for t in range(leaves.shape[0]):
        for i in range(leaves.shape[1]):
            for c in range(total.shape[1]):
                total[i, c] += shares[_P(leaves[t, i]), c]
