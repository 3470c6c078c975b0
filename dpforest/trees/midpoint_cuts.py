"""Kernels of the published multinomial random forest: the cuts of a node, their scores, and the draw of a cut.

Scores are computed from sorted columns. Each element of a column is a word that holds a row's code, class and number.
"""

from typing import NamedTuple

import numpy as np
from numba import njit

TIE = 1e-10  # impurity decreases that differ by at most this amount count as equal

# A word has 16 bits for a code, 8 bits for a class, and 32 bits for the number of a row.
CODE_BIT, CLASS_BIT, CLASS, ROW = 40, 32, 0xFF, 0xFFFFFFFF


class Settings(NamedTuple):
    """Parameters of the draws of tests, and of the rules that end a branch."""

    table: np.ndarray  # c log2 c of every count c, in multiples of `unit`, for entropy; empty for Gini
    unit: float  # value of 1 in the table
    feature_temperature: float  # the paper's B1
    value_temperature: float  # the paper's B2
    least_per_side: int  # a cut may be drawn only if each side has at least this many estimation rows
    least_per_child: int  # a node is split only if each child gets at least this many estimation rows
    least_to_split: int  # a child with fewer estimation rows is a leaf
    least_in_root: int  # a root with fewer estimation rows is a leaf
    purity_stop: bool  # whether a node is a leaf if all its structure rows have the same class
    max_depth: int


class Parts(NamedTuple):
    """The rows that choose tests (structure) and the rows that leaves count (estimation), sorted by node."""

    structure: np.ndarray  # sorted words of structure rows, (m, n)
    estimation: np.ndarray  # numbers of estimation rows
    sorted_estimation: np.ndarray  # sorted words of estimation rows; no rows if cuts do not depend on them


class Scratch(NamedTuple):
    """Arrays that are overwritten at each node."""

    total: np.ndarray  # number of structure rows of each class
    left: np.ndarray  # number of structure rows of each class on the left side
    best: np.ndarray  # best score of each feature that has a cut
    features: np.ndarray  # features that have a cut
    scores: np.ndarray  # scores of the cuts of one feature
    cuts: np.ndarray  # thresholds or categories of these cuts
    goes_right: np.ndarray  # whether each row goes right
    spare: np.ndarray  # copy of the rows that go right, for `_partition`


@njit(nogil=True, cache=True)
def sum_of_squares(total, table):
    """Return the sum of c² (Gini) or of c log c (entropy, if there is a table) over the class counts c in `total`."""
    squares = np.int64(0)
    for rows in total:
        squares += table[rows] if len(table) else rows * rows
    return squares


@njit(nogil=True, cache=True)
def score_cuts(span, j, squares, is_categorical, settings, parts, scratch):
    """Write the scores of the cuts of feature j at a node to the scratch arrays. Return the number of cuts.

    `span` holds the start and end of the node's structure rows, then the start and end of its estimation rows.
    `squares` is the result of `sum_of_squares` for the class counts of the node.
    """
    a, b, c, d = span[0], span[1], span[2], span[3]
    order, est_order = parts.structure, parts.sorted_estimation
    if order[j, a] >> CODE_BIT == order[j, b - 1] >> CODE_BIT:
        return 0
    if is_categorical[j]:
        return _score_categories(order[j, a:b], est_order[j, c:d], settings, scratch)
    # A threshold between the k-th lowest and the k-th highest estimation row leaves at least k estimation rows on each
    # side.
    least, low, high = settings.least_per_side, np.int64(-1), np.int64(1 << 16)
    if least:
        low, high = est_order[j, c + least - 1] >> CODE_BIT, est_order[j, d - least] >> CODE_BIT
    return _score_thresholds(order[j, a:b], low, high, squares, settings, scratch)


@njit(nogil=True, cache=True)
def _score_thresholds(column, low, high, squares, settings, scratch):
    """Score the midpoints between codes of a sorted column, from `low` to `high` - 1. Return their number."""
    total, left, scores, cuts = scratch.total, scratch.left, scratch.scores, scratch.cuts
    table, unit, n = settings.table, settings.unit, len(column)
    left[:] = 0
    left_squares, right_squares = np.int64(0), squares
    n_cuts = 0
    x = column[0] >> CODE_BIT
    for i in range(n - 1):
        label = column[i] >> CLASS_BIT & CLASS
        before = left[label]
        after = total[label] - before
        left[label] = before + 1
        if len(table):
            left_squares += table[before + 1] - table[before]
            right_squares -= table[after] - table[after - 1]
        else:
            left_squares += 2 * before + 1
            right_squares -= 2 * after - 1
        following = column[i + 1] >> CODE_BIT
        if following != x:
            cut = (x + following) >> 1
            x = following
            if cut >= high:
                break
            if cut >= low:
                scores[n_cuts] = _score(left_squares, i + 1, right_squares, n - i - 1, table, unit)
                cuts[n_cuts] = cut
                n_cuts += 1
    return n_cuts


@njit(nogil=True, cache=True)
def _score_categories(column, est, settings, scratch):
    """Score the test of each category of a sorted column against all others. Return the number of tests."""
    total, left, scores, cuts = scratch.total, scratch.left, scratch.scores, scratch.cuts
    table, unit, least = settings.table, settings.unit, settings.least_per_side
    n_cuts, i, e = 0, 0, 0
    while i < len(column):
        x, first, first_est = column[i] >> CODE_BIT, i, e
        left[:] = 0
        while i < len(column) and column[i] >> CODE_BIT == x:
            left[column[i] >> CLASS_BIT & CLASS] += 1
            i += 1
        while e < len(est) and est[e] >> CODE_BIT <= x:
            first_est += est[e] >> CODE_BIT < x
            e += 1
        if e - first_est < least or len(est) - (e - first_est) < least:
            continue
        inside, outside = np.int64(0), np.int64(0)
        for c in range(len(total)):
            n_outside = total[c] - left[c]
            inside += table[left[c]] if len(table) else left[c] * left[c]
            outside += table[n_outside] if len(table) else n_outside * n_outside
        scores[n_cuts] = _score(inside, i - first, outside, len(column) - (i - first), table, unit)
        cuts[n_cuts] = x
        n_cuts += 1
    return n_cuts


@njit(nogil=True, cache=True)
def _score(squares, n, other_squares, n_other, table, unit):
    """Return the impurity decrease times the number of rows, plus a constant that is the same for all tests of a node.

    The score is a sum over both sides of the test. Let n be the number of rows on a side, and let c be the number of
    these rows in one class. For Gini, the side adds (Σ c²) / n. For entropy, the side adds Σ c log c - n log n. The
    sums run over the classes.
    """
    if len(table):
        return np.float64(squares - table[n] + other_squares - table[n_other]) * unit
    size, other_size = np.float64(n), np.float64(n_other)
    return (np.float64(squares) * other_size + np.float64(other_squares) * size) / (size * other_size)


@njit(nogil=True, cache=True)
def to_weights(scores, temperature, tie):
    """Replace scores by weights: exp(B (s - 1) / 2) at temperature B, where s is the score rescaled to 0..1.

    At infinite temperature, the best scores have weight 1, and all others have weight 0. Scores that differ by at most
    `tie` count as equal.
    """
    low, high = scores.min(), scores.max()
    for i in range(len(scores)):
        if high - low <= tie:
            scores[i] = 1.0
        elif np.isinf(temperature):
            scores[i] = np.float64(scores[i] >= high - tie)
        else:
            scores[i] = np.exp(temperature / 2 * ((scores[i] - high) / (high - low)))


@njit(nogil=True, cache=True)
def draw(scores, temperature, tie, u):
    """Draw an index with a probability proportional to its weight, from a uniform number u in [0, 1).

    The function overwrites the scores with weights (`to_weights`).
    """
    to_weights(scores, temperature, tie)
    target = u * scores.sum()
    drawn = -1
    for i in range(len(scores)):
        if scores[i] > 0.0:
            drawn = i
            target -= scores[i]
            if target < 0.0:
                break
    return drawn
