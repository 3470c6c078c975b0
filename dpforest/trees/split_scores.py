"""Scores of candidate splits as integers, computed from histograms of integer weights. A higher score is better.

The score of a split is minus the sum of the potentials of its two children; the table below defines the potential g. If
a row is added to a child, the child's potential never falls, and it rises by at most a known amount. So an added row
raises no score of its node. Weights and scores are integers that count grid steps of 1/1024 (for m-alpha, scores count
steps of 1/1024²). Potentials are rounded in such a way that these statements remain exact after rounding (for entropy:
within two grid steps). `sensitivity` bounds the change of scores in grid steps (docs/PRIVACY.md). If a person has
several rows, these rows may be in several nodes of a level. `unit_sensitivity` bounds the sum of the changes over these
nodes.

============ =================================================== ==========================================
criterion    potential of a child with class weights w, W = Σ w  most that a row of weight u can add
============ =================================================== ==========================================
"m-alpha"    α √(w₀ w₁) + (1 - α) min(w₀, w₁)                    u (α √(n - 1) + 1 - α)
"gini"       W - Σ w²/W                                          2 u
"max"        W - max w                                           u
"entropy"    W log₂ W - Σ w log₂ w                               u (log₂ n + 1/ln 2)
============ =================================================== ==========================================

In the last column, n is the number of rows including the added row. The m-alpha potential is half of Nock and Henecka's
f. The factor 1/2 changes no probability, because the exponential mechanism divides scores by their sensitivity, which
has the same factor. Friedman and Schuster (2010), section 4, and the multinomial forest use the other three potentials.
"""

import math
from typing import Final

import numpy as np
from numba import njit

from dpforest.tables.units import MOST_ROWS
from dpforest.trees.candidates import Candidates

CRITERIA: Final = ("m-alpha", "gini", "max", "entropy")
COUNTED: Final = CRITERIA[1:]  # these criteria need no boosting weights, and allow any number of classes
UNIT: Final = 1024  # grid steps of a row of weight 1; α = 1 is stored as this number


def score_splits(
    histogram: np.ndarray, candidates: Candidates, criterion: str, alpha: int = UNIT, *, grid: int = UNIT
) -> np.ndarray:
    """Return the score of every candidate in every node.

    Parameters
    ----------
    histogram : int64 array of shape (n_nodes, n_slots, n_classes)
        Class weights in each bin of each feature. For "m-alpha", which requires two classes, weights are in 1/1024. For
        other criteria, `grid` states their unit.
    candidates : Candidates
        The tests to score.
    criterion : {"m-alpha", "gini", "max", "entropy"}
        Potential of a child, from the table of the module.
    alpha : int
        α of the Mα-loss in 1/1024, 0 to 1024.
    grid : {1024, 1}
        Number of grid steps that 1 in the histogram stands for, for all criteria except "m-alpha". Give 1024 if the
        histogram counts rows, and 1 if it adds up weights in 1/1024.

    Returns
    -------
    int64 array of shape (n_nodes, n_candidates)
        Scores in grid steps; higher is better.
    """
    out = np.empty((len(histogram), candidates.n_candidates), np.int64)
    kernel = _score_two if histogram.shape[2] == 2 else _score_many
    criterion_number = CRITERIA.index(criterion)
    kernel(
        histogram,
        candidates.kind,
        candidates.cut,
        candidates.first,
        candidates.slot,
        criterion_number,
        alpha,
        grid,
        out,
    )
    return out


def sensitivity(criterion: str, n_bound: int, *, alpha: int = UNIT, weight: int = UNIT) -> int:
    """Return the length, in grid steps, of an interval that contains the change of every score of a node by one row.

    Parameters
    ----------
    criterion : {"m-alpha", "gini", "max", "entropy"}
        Potential of a child, from the table of the module.
    n_bound : int
        Public bound on the number of rows, including the added row.
    alpha, weight : int
        For "m-alpha": α, and the largest weight of a row, both in 1/1024.
    """
    n_bound, alpha, weight = int(n_bound), int(alpha), int(weight)  # numpy integers would overflow
    if criterion == "m-alpha":  # add one step for the rounding of the root
        return alpha * (math.isqrt((n_bound - 1) * weight**2) + 1) + (UNIT - alpha) * weight
    if criterion == "gini":
        return 2 * UNIT + 1
    if criterion == "max":
        return UNIT
    if criterion != "entropy":
        raise ValueError(f"criterion={criterion!r} is not known; choose one of {', '.join(map(repr, CRITERIA))}")
    return math.ceil(UNIT * (math.log2(n_bound) + 1 / math.log(2))) + 5  # 4 for four rounded terms, and 1 spare


def unit_sensitivity(
    criterion: str, n_bound: int, level: int, n_classes: int = 2, *, alpha: int = UNIT, weight: int = UNIT
) -> int:
    """Return the sum of the interval lengths of `sensitivity` over all nodes of a level, for all rows of one person.

    Parameters
    ----------
    criterion : {"m-alpha", "gini", "max", "entropy"}
        Potential of a child, from the table of the module.
    n_bound : int
        Public bound on the number of persons, including the added person.
    level : int
        Level of the nodes; the root has level 0. One person has rows in at most `MOST_ROWS` of the ``2**level`` nodes.
    n_classes : int
        Number of classes, which matters only for "entropy".
    alpha, weight : int
        As in `sensitivity`; `weight` is the largest weight of a person.
    """
    n_bound, alpha, weight = int(n_bound), int(alpha), int(weight)
    n_children = min(MOST_ROWS, 2 ** (level + 1))  # largest number of children with rows of one person
    if criterion == "m-alpha":
        root = math.isqrt(max(4 * (n_bound - 1), 1) * weight**2 // 4)
        return alpha * (root + n_children) + (UNIT - alpha) * weight
    if criterion == "gini":  # the bound 2 u is a whole number, so rounding potentials up adds nothing
        return 2 * UNIT
    if criterion == "max":
        return UNIT
    if criterion != "entropy":
        raise ValueError(f"criterion={criterion!r} is not known; choose one of {', '.join(map(repr, CRITERIA))}")
    n_terms = min(2 * MOST_ROWS, (n_classes + 1) * 2 ** (level + 1))  # rounded terms that a person may change
    return math.ceil(UNIT * (math.log2(2 * n_bound) + 1 / math.log(2))) + 2 * n_terms + 1


def nodes_of_unit(level: int) -> int:
    """Return the largest number of nodes of a level in which one person may have rows."""
    return min(MOST_ROWS, 2**level)


def depends_on_rows(criterion: str) -> bool:
    """Return whether the sensitivity grows with the number of rows. If so, add-remove needs a public row bound."""
    return sensitivity(criterion, 2) != sensitivity(criterion, 4)


def node_tables(histogram: np.ndarray, candidates: Candidates) -> np.ndarray:
    """Return the class weights of each node, (n_nodes, n_classes): the sum over the bins of any one feature."""
    return histogram[:, : int(candidates.slot[1])].sum(axis=1)


def node_potentials(tables: np.ndarray, criterion: str, alpha: int = UNIT, *, grid: int = UNIT) -> np.ndarray:
    """Return the potential g of each node before its split, in grid steps: int64 (n_nodes,)."""
    out = np.empty(len(tables), np.int64)
    _potentials(tables, CRITERIA.index(criterion), alpha, grid, out)
    return out


@njit(nogil=True, cache=True)
def _potentials(tables, criterion, alpha, grid, out):
    for node in range(len(tables)):
        w = tables[node]
        out[node] = (
            _potential_two(w[0], w[1], criterion, alpha, grid) if len(w) == 2 else _potential(w, criterion, grid)
        )


@njit(nogil=True, cache=True)
def whole_root(x):
    """Return the largest r with r² <= x, for 0 <= x < 2**62. The loops correct any rounding error of the float root."""
    r = np.int64(np.sqrt(np.float64(x)))
    while r * r > x:
        r -= 1
    while (r + 1) * (r + 1) <= x:
        r += 1
    return r


@njit(nogil=True, cache=True)
def _n_log_n(n, grid):
    """Return n log₂ n in grid steps, rounded."""
    return np.int64(np.rint(np.float64(grid) * n * np.log2(n))) if n > 0 else np.int64(0)


@njit(nogil=True, cache=True)
def _gini(total, squares, grid):
    """Return W - Σ w²/W in grid steps, rounded up, for W = `total` and Σ w² = `squares`.

    The division has two steps, because 1024 Σ w² may overflow.
    """
    if total == 0:
        return np.int64(0)
    whole = squares // total
    return grid * (total - whole) - (squares - whole * total) * grid // total


@njit(nogil=True, cache=True)
def _potential_two(w0, w1, criterion, alpha, grid):
    """Return the potential of a child with two class weights. `criterion` is an index into `CRITERIA`."""
    if criterion == 0:
        return (alpha * whole_root(w0 * w1) if alpha else 0) + (1024 - alpha) * min(w0, w1)
    if criterion == 1:
        return _gini(w0 + w1, w0 * w0 + w1 * w1, grid)
    if criterion == 2:
        return grid * min(w0, w1)
    return _n_log_n(w0 + w1, grid) - _n_log_n(w0, grid) - _n_log_n(w1, grid)


@njit(nogil=True, cache=True)
def _score_two(histogram, kind, cut, first, slot, criterion, alpha, grid, out):
    """Write the score of every candidate in every node, for two classes."""
    for node in range(histogram.shape[0]):
        h = histogram[node]
        t0, t1 = np.int64(0), np.int64(0)
        for s in range(slot[1]):
            t0 += h[s, 0]
            t1 += h[s, 1]
        unsplit = -_potential_two(t0, t1, criterion, alpha, grid)
        for f in range(len(first) - 1):
            a0, a1, s, score = np.int64(0), np.int64(0), slot[f], unsplit
            for c in range(first[f], first[f + 1]):
                b0, b1 = a0, a1
                if kind[c] == 0:  # a numeric test, whose left side has the bins up to the cut
                    while s <= slot[f] + cut[c]:
                        a0 += h[s, 0]
                        a1 += h[s, 1]
                        s += 1
                else:
                    a0, a1 = h[slot[f] + cut[c], 0], h[slot[f] + cut[c], 1]
                if a0 != b0 or a1 != b1:  # otherwise this cut has the same left side as the previous cut
                    left = _potential_two(a0, a1, criterion, alpha, grid)
                    score = -left - _potential_two(t0 - a0, t1 - a1, criterion, alpha, grid)
                out[node, c] = score


@njit(nogil=True, cache=True)
def _potential(w, criterion, grid):
    """Return the potential of a child with the class weights w. `criterion` is an index into `CRITERIA`."""
    total, squares, most, logs = np.int64(0), np.int64(0), np.int64(0), np.int64(0)
    for k in range(len(w)):
        total += w[k]
        squares += w[k] * w[k]
        most = max(most, w[k])
        if criterion == 3:
            logs += _n_log_n(w[k], grid)
    if criterion == 1:
        return _gini(total, squares, grid)
    if criterion == 2:
        return grid * (total - most)
    return _n_log_n(total, grid) - logs


@njit(nogil=True, cache=True)
def _score_many(histogram, kind, cut, first, slot, criterion, alpha, grid, out):
    """Write the score of every candidate in every node, for any number of classes."""
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
                out[node, c] = -_potential(left, criterion, grid) - _potential(total - left, criterion, grid)
