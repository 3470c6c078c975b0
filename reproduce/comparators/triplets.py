"""Trees of triplet comparisons: each row goes to the nearer of two pivots, which are rows themselves.

S. Haghiri, D. Garreau, U. von Luxburg, *Comparison-based random forests* (2018). The distance is Euclidean. Numbers are
not scaled, and each category has a column of 0 and 1, so two different categories add 2 to the squared distance. The
compiled functions of this module do not check that indices are within arrays.
"""

from typing import NamedTuple

import numpy as np
from numba import njit

from dpforest.trees.midpoint_kernels import ROOT, coin, draw_structure, hashed, tree_key

ATTEMPTS = 10  # number of pairs of pivots that a node draws; if no pair separates its rows, the node is a leaf
LEAF = -1
FIRST, SECOND, LEFT, RIGHT = 0, 1, 2, 3


class Points(NamedTuple):
    """Rows as points."""

    numbers: np.ndarray  # float64 (n, p)
    categories: np.ndarray  # uint16 (n, q)


class ComparisonTree(NamedTuple):
    """Nodes in the order in which they were grown."""

    pivots: np.ndarray  # (n_nodes, 2): indices of training rows; LEAF for a leaf
    first_child: np.ndarray
    label: np.ndarray


@njit(nogil=True, cache=True)
def goes_second(points, row, pivots, first, second):
    """Return whether a row is nearer to the second of two pivots. At equal distances, it goes to the first pivot."""
    to_first, to_second = 0.0, 0.0  # squared distances
    for j in range(points.numbers.shape[1]):
        x, a, b = points.numbers[row, j], pivots.numbers[first, j], pivots.numbers[second, j]
        to_first += (x - a) * (x - a)
        to_second += (x - b) * (x - b)
    for j in range(points.categories.shape[1]):
        x, a, b = points.categories[row, j], pivots.categories[first, j], pivots.categories[second, j]
        to_first += 2.0 * (x != a)
        to_second += 2.0 * (x != b)
    return to_second < to_first * (1 - 1e-9)  # with a tolerance, because rounding may make equal distances differ


@njit(nogil=True, cache=True)
def grow_comparison_tree(seed, tree, points, y, n_classes, supervised, k):
    """Grow one tree.

    If supervised, all rows may be pivots, and all rows label leaves. Otherwise, a random half (structure rows) may be
    pivots, and the second half (estimation rows) labels leaves.
    """
    n = len(y)
    key = tree_key(seed, tree)
    if supervised:
        structure, est = np.arange(n), np.arange(n)
    else:
        taken = draw_structure(seed, tree, n, n // 2)
        structure, est = np.flatnonzero(taken), np.flatnonzero(~taken)
    max_nodes = 2 * max(len(est), 1) - 1  # every leaf has an estimation row
    nodes = ComparisonTree(np.full((max_nodes, 2), LEAF, np.int64), np.arange(max_nodes), np.zeros(max_nodes, np.int32))
    span = np.zeros((max_nodes, 4), np.int64)
    span[0, 1], span[0, 3] = len(structure), len(est)
    keys = np.zeros(max_nodes, np.uint64)
    keys[0] = hashed(key, ROOT)
    counts, spare = np.zeros(n_classes, np.int64), np.empty(n, np.int64)
    n_nodes = 1
    for node in range(max_nodes):
        if node == n_nodes:
            break
        a, b, c, d = span[node]
        count_labels(est[c:d], y, counts)
        nodes.label[node] = counts.argmax()
        if d - c <= k or b - a < 2 or (supervised and counts.max() == d - c):
            continue
        for attempt in range(ATTEMPTS):
            attempt_key = hashed(keys[node], np.int64(RIGHT + 1 + attempt))
            first, second = draw_pivots(structure[a:b], y, supervised, attempt_key)
            middle_est = part(est, c, d, points, first, second, spare)
            if c < middle_est < d:
                middle = middle_est if supervised else part(structure, a, b, points, first, second, spare)
                if supervised:
                    structure[a:b] = est[c:d]
                nodes.pivots[node, 0], nodes.pivots[node, 1] = first, second
                nodes.first_child[node] = n_nodes
                for right in range(2):
                    child = n_nodes + right
                    span[child, 0], span[child, 1] = (middle, b) if right else (a, middle)
                    span[child, 2], span[child, 3] = (middle_est, d) if right else (c, middle_est)
                    keys[child] = hashed(keys[node], RIGHT if right else LEFT)
                n_nodes += 2
                break
    return nodes.pivots[:n_nodes].copy(), nodes.first_child[:n_nodes].copy(), nodes.label[:n_nodes].copy()


@njit(nogil=True, cache=True)
def draw_pivots(rows, y, supervised, key):
    """Draw two different rows of a node.

    If supervised, the node has at least two classes, and the two drawn rows have different classes.
    """
    n = len(rows)
    at = np.int64(coin(key, FIRST) * n)
    first = rows[at]
    if not supervised:
        other = np.int64(coin(key, SECOND) * (n - 1))
        return first, rows[other + (other >= at)]
    n_others = 0
    for row in rows:
        n_others += y[row] != y[first]
    wanted = np.int64(coin(key, SECOND) * n_others)
    for row in rows:
        if y[row] != y[first]:
            if wanted == 0:
                return first, row
            wanted -= 1
    return first, first


@njit(nogil=True, cache=True)
def part(rows, a, b, points, first, second, spare):
    """Reorder the rows a..b, so that rows nearer to the first pivot come first. Return the index at which they end."""
    middle, n_right = a, 0
    for i in range(a, b):
        row = rows[i]
        if goes_second(points, row, points, first, second):
            spare[n_right] = row
            n_right += 1
        else:
            rows[middle] = row
            middle += 1
    for i in range(n_right):
        rows[middle + i] = spare[i]
    return middle


@njit(nogil=True, cache=True)
def count_labels(rows, y, counts):
    counts[:] = 0
    for row in rows:
        counts[y[row]] += 1


@njit(nogil=True, cache=True)
def add_votes(points, learned, pivots, first_child, label, votes):
    """Add the vote of one tree for every row."""
    for row in range(len(votes)):
        node = 0
        while pivots[node, 0] != LEAF:
            node = first_child[node] + goes_second(points, row, learned, pivots[node, 0], pivots[node, 1])
        votes[row, label[node]] += 1
