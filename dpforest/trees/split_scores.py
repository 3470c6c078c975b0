"""Scores of candidate splits as whole numbers, from histograms of whole weights; higher is better.

The score of a split is minus the sum over its two children of a potential g. When a row is added to a child, every
potential here rises by at most a known amount and never falls, so a row moves all scores of its node the same way.
Scores are on a grid of 1/1024 (weights already are), and rounded once so that both facts stay exactly true (within two
steps for entropy). `sensitivity` states by how much scores can change, in grid steps (docs/PRIVACY.md).

============ =================================================== ==========================================
criterion    potential of a child with class weights w, W = Σ w  most that a row of weight u adds, n rows
============ =================================================== ==========================================
"m-alpha"    α √(w₀ w₁) + (1 - α) min(w₀, w₁)                    u (α √(n - 1) + 1 - α)
"gini"       W - Σ w²/W                                          2 u
"max"        W - max w                                           u
"entropy"    W log₂ W - Σ w log₂ w                               u (log₂ n + 1/ln 2)
============ =================================================== ==========================================

The m-alpha potential is half of Nock and Henecka's f; a factor changes nothing, because the exponent is divided by the
sensitivity. The other three are those of Friedman and Schuster (2010), section 4, and of the multinomial forest.
"""

import math
from typing import Final

import numpy as np
from numba import njit

from dpforest.trees.candidates import Candidates

CRITERIA: Final = ("m-alpha", "gini", "max", "entropy")
COUNTED: Final = CRITERIA[1:]  # criteria on numbers of rows, for any number of classes
UNIT: Final = 1024  # grid steps of one row of weight 1, and of alpha


def score_splits(histogram: np.ndarray, candidates: Candidates, criterion: str, alpha: int = UNIT) -> np.ndarray:
    """Return the score of every candidate in every node.

    Parameters
    ----------
    histogram : int64 array of shape (n_nodes, n_slots, n_classes)
        Class weights in each bin: in 1/1024 for "m-alpha" (two classes), numbers of rows for the other criteria.
    alpha : int
        α of the Mα-loss in 1/1024, 0 to 1024.

    Returns
    -------
    int64 array of shape (n_nodes, n_candidates)
    """
    out = np.empty((len(histogram), candidates.n_candidates), np.int64)
    kernel = _score_two if histogram.shape[2] == 2 else _score_many
    which = CRITERIA.index(criterion)
    kernel(histogram, candidates.kind, candidates.cut, candidates.first, candidates.slot, which, alpha, out)
    return out


def sensitivity(criterion: str, n_bound: int, *, alpha: int = UNIT, weight: int = UNIT) -> int:
    """Return the width of the interval in which one row moves the scores of its node, in grid steps.

    Parameters
    ----------
    n_bound : int
        Public: the largest number of rows of a table, including this row.
    alpha, weight : int
        For "m-alpha": α, and the largest weight of a row, both in 1/1024.
    """
    n_bound, alpha, weight = int(n_bound), int(alpha), int(weight)  # numpy integers would overflow
    if criterion == "m-alpha":  # one more step for the rounding of the root
        return alpha * (math.isqrt((n_bound - 1) * weight**2) + 1) + (UNIT - alpha) * weight
    if criterion == "gini":
        return 2 * UNIT + 1
    if criterion == "max":
        return UNIT
    if criterion != "entropy":
        raise ValueError(f"criterion={criterion!r} is not known; choose one of {', '.join(map(repr, CRITERIA))}")
    return math.ceil(UNIT * (math.log2(n_bound) + 1 / math.log(2))) + 5  # two rounded terms in each direction


def depends_on_rows(criterion: str) -> bool:
    """Return whether the sensitivity grows with the number of rows, so that add-remove needs a public bound."""
    return sensitivity(criterion, 2) != sensitivity(criterion, 4)


def node_tables(histogram: np.ndarray, candidates: Candidates) -> np.ndarray:
    """Return the class weights of each node, (n_nodes, n_classes): the sum over the bins of any one feature."""
    return histogram[:, : int(candidates.slot[1])].sum(axis=1)


def node_potentials(tables: np.ndarray, criterion: str, alpha: int = UNIT) -> np.ndarray:
    """Return the potential g of each node before its split, in the units of scores, int64 (n_nodes,)."""
    out = np.empty(len(tables), np.int64)
    _potentials(tables, CRITERIA.index(criterion), alpha, out)
    return out


@njit(nogil=True, cache=True)
def _potentials(tables, which, alpha, out):
    for node in range(len(tables)):
        w = tables[node]
        out[node] = _potential_two(w[0], w[1], which, alpha) if len(w) == 2 else _potential(w, which)


@njit(nogil=True, cache=True)
def whole_root(x):
    """Return the largest r with r² <= x, for 0 <= x < 2**62. It is exact, whatever the first guess was."""
    r = np.int64(np.sqrt(np.float64(x)))
    while r * r > x:
        r -= 1
    while (r + 1) * (r + 1) <= x:
        r += 1
    return r


@njit(nogil=True, cache=True)
def _n_log_n(n):
    """Return n log₂ n in grid steps, rounded."""
    return np.int64(np.rint(1024.0 * n * np.log2(n))) if n > 0 else np.int64(0)


@njit(nogil=True, cache=True)
def _gini(total, squares):
    """Return W - Σ w²/W in grid steps, rounded up; it has two parts, because 1024 Σ w² may be too large."""
    if total == 0:
        return np.int64(0)
    whole = squares // total
    return 1024 * (total - whole) - (squares - whole * total) * 1024 // total


@njit(nogil=True, cache=True)
def _potential_two(w0, w1, which, alpha):
    if which == 0:
        return (alpha * whole_root(w0 * w1) if alpha else 0) + (1024 - alpha) * min(w0, w1)
    if which == 1:
        return _gini(w0 + w1, w0 * w0 + w1 * w1)
    if which == 2:
        return 1024 * min(w0, w1)
    return _n_log_n(w0 + w1) - _n_log_n(w0) - _n_log_n(w1)


@njit(nogil=True, cache=True)
def _score_two(histogram, kind, cut, first, slot, which, alpha, out):
    for node in range(histogram.shape[0]):
        h = histogram[node]
        t0, t1 = np.int64(0), np.int64(0)
        for s in range(slot[1]):
            t0 += h[s, 0]
            t1 += h[s, 1]
        unsplit = -_potential_two(t0, t1, which, alpha)
        for f in range(len(first) - 1):
            a0, a1, s, score = np.int64(0), np.int64(0), slot[f], unsplit
            for c in range(first[f], first[f + 1]):
                b0, b1 = a0, a1
                if kind[c] == 0:  # bins up to the cut
                    while s <= slot[f] + cut[c]:
                        a0 += h[s, 0]
                        a1 += h[s, 1]
                        s += 1
                else:
                    a0, a1 = h[slot[f] + cut[c], 0], h[slot[f] + cut[c], 1]
                if a0 != b0 or a1 != b1:  # otherwise the left side is unchanged
                    left = _potential_two(a0, a1, which, alpha)
                    score = -left - _potential_two(t0 - a0, t1 - a1, which, alpha)
                out[node, c] = score


@njit(nogil=True, cache=True)
def _potential(w, which):
    total, squares, most, logs = np.int64(0), np.int64(0), np.int64(0), np.int64(0)
    for k in range(len(w)):
        total += w[k]
        squares += w[k] * w[k]
        most = max(most, w[k])
        if which == 3:
            logs += _n_log_n(w[k])
    if which == 1:
        return _gini(total, squares)
    if which == 2:
        return 1024 * (total - most)
    return _n_log_n(total) - logs


@njit(nogil=True, cache=True)
def _score_many(histogram, kind, cut, first, slot, which, alpha, out):
    n_classes = histogram.shape[2]
    total, left = np.zeros(n_classes, np.int64), np.zeros(n_classes, np.int64)
    for node in range(histogram.shape[0]):
        h = histogram[node]
        total[:] = 0
        for s in range(slot[1]):
            total += h[s]
        for f in range(len(first) - 1):
            left[:] = 0
            s = slot[f]
            for c in range(first[f], first[f + 1]):
                if kind[c] == 0:
                    while s <= slot[f] + cut[c]:
                        left += h[s]
                        s += 1
                else:
                    left[:] = h[slot[f] + cut[c]]
                out[node, c] = -_potential(left, which) - _potential(total - left, which)
