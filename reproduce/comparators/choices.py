"""Compiled functions that choose the test of a node in Denil's forest and in the Bernoulli forest (BRF).

All cuts of numbers are at midpoints between the values of structure rows, the rows that choose tests. D is the number
of features. A node of Denil et al. 2014 has min(1 + Poisson(λ), D) candidate features. It draws a few structure rows
(the points), and takes the best cut within their range. A node of Wang et al. 2018 (BRF) has one candidate feature with
probability p1, and √D candidates otherwise. It takes a random cut with probability p2, and the best cut otherwise.
"""

from typing import NamedTuple

import numpy as np
from numba import njit

from dpforest.trees.midpoint_cuts import ROW, score_cuts, sum_of_squares
from dpforest.trees.midpoint_kernels import coin, hashed

DENIL, BERNOULLI = 0, 1
NOTHING = -1

# A node's key and an index determine a random number. These are the indices of this module; the keys of the children
# have the indices 2 and 3.
HOW_MANY, WHICH_FEATURES, POINTS, ONE_FEATURE, RANDOM_CUT, WHICH_CUT = 10, 11, 12, 13, 14, 15


class Rule(NamedTuple):
    """The kind of the forest, and the settings of this kind."""

    kind: int
    rate: float  # Denil: λ of the number of candidate features
    n_points: int  # Denil: number of structure points that a node draws
    n_features: int  # Bernoulli: number of candidate features of a node that has more than one
    p_feature: float  # Bernoulli: p1
    p_cut: float  # Bernoulli: p2


class Room(NamedTuple):
    """Arrays for the features and rows that a node draws. Each node overwrites them."""

    order: np.ndarray  # all features; the drawn features come first
    points: np.ndarray  # drawn rows


@njit(nogil=True, cache=True)
def choose(rule, span, column, key, rows, settings, parts, scratch, room):
    """Return the feature and the cut of the node; (-1, -1) if no candidate has a cut with enough rows on both sides.

    `column` is the index of a column in whose sort order the structure rows of the node are adjacent.
    """
    if rule.kind == DENIL:
        n_features = 1 + poisson(rule.rate, coin(key, HOW_MANY))
        n_points = draw_points(parts.structure[column, span[0] : span[1]], hashed(key, POINTS), rule.n_points, room)
    else:
        n_features = 1 if coin(key, ONE_FEATURE) < rule.p_feature else rule.n_features
        n_points = 0
    n_features = min(n_features, len(room.order))
    draw_features(hashed(key, WHICH_FEATURES), n_features, room.order)
    if rule.kind == BERNOULLI and coin(key, RANDOM_CUT) < rule.p_cut:
        return random_cut(n_features, coin(key, WHICH_CUT), span, rows, settings, parts, scratch, room)
    return best_cut(n_features, n_points, span, rows, settings, parts, scratch, room)


@njit(nogil=True, cache=True)
def poisson(rate, u):
    """Return a Poisson-distributed number, computed from a uniform number u in [0, 1)."""
    k, term = 0, np.exp(-rate)
    total = term
    while u >= total and term > 0.0:
        k += 1
        term *= rate / k
        total += term
    return k


@njit(nogil=True, cache=True)
def draw_features(key, n_features, order):
    """Draw features without replacement, uniformly, and put them at the front of `order`."""
    m = len(order)
    for j in range(m):
        order[j] = j
    for i in range(n_features):
        other = i + np.int64(coin(key, i) * (m - i))
        order[i], order[other] = order[other], order[i]


@njit(nogil=True, cache=True)
def draw_points(column, key, wanted, room):
    """Draw `wanted` rows of a sorted column without replacement, or all rows if there are fewer.

    Return the number of drawn rows.
    """
    n = len(column)
    taken = 0
    for i in range(n):
        if taken == wanted:
            break
        if coin(key, i) * (n - i) < wanted - taken:
            room.points[taken] = column[i] & ROW
            taken += 1
    return taken


@njit(nogil=True, cache=True)
def random_cut(n_features, u, span, rows, settings, parts, scratch, room):
    """Return a uniformly drawn cut of the first candidate feature that has cuts."""
    squares = sum_of_squares(scratch.total, settings.table)
    for i in range(n_features):
        j = room.order[i]
        n_cuts = score_cuts(span, j, squares, rows.is_categorical, settings, parts, scratch)
        if n_cuts:
            return j, scratch.cuts[np.int64(u * n_cuts)]
    return NOTHING, np.int64(NOTHING)


@njit(nogil=True, cache=True)
def best_cut(n_features, n_points, span, rows, settings, parts, scratch, room):
    """Return the cut with the largest decrease in impurity. If there are points, only cuts within their range count."""
    squares = sum_of_squares(scratch.total, settings.table)
    feature, cut, best = NOTHING, np.int64(NOTHING), -np.inf
    for i in range(n_features):
        j = room.order[i]
        n_cuts = score_cuts(span, j, squares, rows.is_categorical, settings, parts, scratch)
        for c in range(n_cuts):
            if scratch.scores[c] > best and (
                n_points == 0 or within(scratch.cuts[c], rows.columns[j], rows.is_categorical[j], n_points, room)
            ):
                feature, cut, best = j, scratch.cuts[c], scratch.scores[c]
    return feature, cut


@njit(nogil=True, cache=True)
def within(cut, codes, categorical, n_points, room):
    """Return whether a cut leaves some points on each side."""
    n_right = 0
    for i in range(n_points):
        x = np.int64(codes[room.points[i]])
        n_right += x == cut if categorical else x > cut
    return 0 < n_right < n_points
