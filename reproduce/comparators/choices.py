"""How Denil's forest and Bernoulli's choose the test of a node: kernels over the cuts of the multinomial engine.

Denil et al. 2014: min(1 + Poisson(λ), D) features; the best cut within the range of a few structure points.
Wang et al. 2018 (BRF): one feature with probability p1, else √D; a random cut with probability p2, else the best.
"""

from typing import NamedTuple

import numpy as np
from numba import njit

from dpforest.trees.midpoint_cuts import ROW, score_cuts, sum_of_squares
from dpforest.trees.midpoint_kernels import coin, hashed

DENIL, BERNOULLI = 0, 1
NOTHING = -1

# What is drawn from the key of a node; the keys of its children are words 2 and 3.
HOW_MANY, WHICH_FEATURES, POINTS, ONE_FEATURE, RANDOM_CUT, WHICH_CUT = 10, 11, 12, 13, 14, 15


class Rule(NamedTuple):
    """Which forest, and its numbers."""

    kind: int
    rate: float  # Denil: λ of the number of features
    n_points: int  # Denil: structure points that are preselected
    n_features: int  # Bernoulli: candidates where there is not one alone
    p_feature: float  # Bernoulli: p1
    p_cut: float  # Bernoulli: p2


class Room(NamedTuple):
    """What is written at each node anew."""

    order: np.ndarray  # the features, those that are drawn first
    points: np.ndarray  # rows that are preselected


@njit(nogil=True, cache=True)
def choose(rule, span, column, key, rows, settings, parts, scratch, room):
    """A feature and a cut of it for the node; (-1, -1) if what was drawn has no cut that leaves enough rows.

    `column` is one in which the node's structure rows lie side by side.
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
    """A number of the Poisson distribution from a number in [0, 1)."""
    k, term = 0, np.exp(-rate)
    total = term
    while u >= total and term > 0.0:
        k += 1
        term *= rate / k
        total += term
    return k


@njit(nogil=True, cache=True)
def draw_features(key, n_features, order):
    """Put features without replacement at the front: every choice is equally likely."""
    m = len(order)
    for j in range(m):
        order[j] = j
    for i in range(n_features):
        other = i + np.int64(coin(key, i) * (m - i))
        order[i], order[other] = order[other], order[i]


@njit(nogil=True, cache=True)
def draw_points(column, key, wanted, room):
    """Some of the rows of a sorted column without replacement; how many, as there may be fewer than wanted."""
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
    """Any cut of the first candidate that has one, each equally likely."""
    squares = sum_of_squares(scratch.total, settings.table)
    for i in range(n_features):
        j = room.order[i]
        n_cuts = score_cuts(span, j, squares, rows.is_categorical, settings, parts, scratch)
        if n_cuts:
            return j, scratch.cuts[np.int64(u * n_cuts)]
    return NOTHING, np.int64(NOTHING)


@njit(nogil=True, cache=True)
def best_cut(n_features, n_points, span, rows, settings, parts, scratch, room):
    """The cut of the largest decrease, of those within the range of the points where there are points."""
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
    """Whether a cut parts the points: some of them go to either side."""
    n_right = 0
    for i in range(n_points):
        x = np.int64(codes[room.points[i]])
        n_right += x == cut if categorical else x > cut
    return 0 < n_right < n_points
