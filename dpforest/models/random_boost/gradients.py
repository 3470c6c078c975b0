"""Gradients of the clipped logistic loss as whole numbers, summed in leaves, and scores that move: integers throughout.

A row's gradient is the class it has less the share of each class that its score says, clipped at the length that it has
at score 0. So it is half at most for two classes, and a row that is told wrong pulls no harder than one that is not
told at all. Gradients are in 1/1024, scores in 1/2**20: sums are exact in any order, so that what a fit computes is the
same on one thread and on many, and the same that anybody computes from the released forest.

Of a score only 1/256 matter for a gradient, so exponentials come from a table. Additions of floats there are none;
divisions and roots are rounded as IEEE 754 says, which is the same everywhere.
"""

from fractions import Fraction
from typing import Final

import numpy as np
from numba import njit

from dpforest.privacy.loss import GAUSSIAN

UNIT: Final = 1_024  # of a gradient
POINT: Final = 20  # binary digits of a score behind the point
_GRID: Final = 8  # of these, those that a gradient looks at
_SHIFT: Final = POINT - _GRID
_HALF: Final = 1 << (_SHIFT - 1)
_REACH: Final = 40 << _GRID  # beyond that a share is 0
_SHARE: Final = 1 << 30
LARGEST: Final = 2**39  # of a score's move, in 1/2**20: half a million

# Gradient of a row whose score is k/256 on the right side, two classes; and exp(-k/256).
_OF_TWO: Final = np.rint(UNIT / (1 + np.exp(np.arange(_REACH) / 2**_GRID))).astype(np.int64)  # ends in 0
_EXP: Final = np.rint(_SHARE * np.exp(-np.arange(_REACH) / 2**_GRID)).astype(np.int64)


def sensitivity_of(n_classes: int, kind: str) -> tuple[Fraction, bool]:
    """Most that one row changes the sums of a round, in 1/1024, or its square.

    Returns
    -------
    bound : Fraction
        Of the length squared where noise is Gaussian, else of the sum of sizes.
    is_square : bool
    """
    if kind == GAUSSIAN:
        return Fraction(UNIT**2, 4) if n_classes == 2 else Fraction(UNIT**2 * (n_classes - 1), n_classes), True
    return Fraction(UNIT // 2 if n_classes == 2 else 2 * UNIT * (n_classes - 1) // n_classes), False


def next_sums(
    scores: np.ndarray, before: np.ndarray, moves: np.ndarray, leaf: np.ndarray, y: np.ndarray, *, by_length: bool
) -> np.ndarray:
    """Move the rows' scores by the last round, then sum their gradients in the leaves of the next. Curator only.

    Both in one walk over the rows, which is what a round costs.

    Parameters
    ----------
    scores : int64 array of shape (n, 1) or (n, n_classes)
        In 1/2**20; written to.
    before, leaf : integer array of shape (n,)
        Leaf of each row in the last tree, and in the next.
    moves : int64 array of shape (n_leaves, 1) or (n_leaves, n_classes)
        What the leaves of the last round add, in 1/2**20.
    y : int32 array of shape (n,)
    by_length : bool
        Clip the length (L2) of a gradient, else the sum of its sizes (L1). For two classes the same.

    Returns
    -------
    int64 array of the shape of `moves`
        In 1/1024.
    """
    sums = np.zeros_like(moves)
    if scores.shape[1] == 1:
        _next_of_two(scores[:, 0], before, moves[:, 0], leaf, y, _OF_TWO, sums[:, 0])
    else:
        _next_of_many(scores, before, moves, leaf, y, _EXP, by_length, sums)
    return sums


def moves_of(sums: np.ndarray, step: float) -> np.ndarray:
    """What the leaves of a round add to scores, from noisy sums: public.

    Parameters
    ----------
    sums : int64 array of shape (n_leaves, n_scores)
    step : float
        Score, in 1/2**20, for a sum of one 1/1024.

    Returns
    -------
    int64 array of the same shape
        In 1/2**20. Of several classes their mean is taken away, as it changes no share.
    """
    n_scores = sums.shape[1]
    if n_scores > 1:
        sums, step = n_scores * sums - sums.sum(axis=1, keepdims=True), step / n_scores
    return np.clip(np.rint(sums * step), -LARGEST, LARGEST).astype(np.int64)


@njit(nogil=True, cache=True)
def _next_of_two(scores, before, moves, leaf, y, of_two, sums):
    last = of_two.size - 1
    for i in range(leaf.size):
        score = scores[i] + moves[before[i]]
        scores[i] = score
        sign = 2 * y[i] - 1
        at = (sign * score + _HALF) >> _SHIFT
        sums[leaf[i]] += sign * of_two[min(max(at, 0), last)]


@njit(nogil=True, cache=True)
def _next_of_many(scores, before, moves, leaf, y, exp, by_length, sums):
    n, k = scores.shape
    own = np.empty(k, np.int64)
    raw = np.empty(k)
    for i in range(n):
        for c in range(k):
            scores[i, c] += moves[before[i], c]
        gradient_of(y[i], scores[i], exp, by_length, raw, own)
        for c in range(k):
            sums[leaf[i], c] += own[c]


@njit(nogil=True, cache=True)
def gradient_of(label, scores, exp, by_length, raw, out):
    """Gradient of one row of more than two classes, in 1/1024; rounded towards 0, so never longer than its clip."""
    k = scores.size
    top = scores.max()
    total = 0
    for c in range(k):
        at = (top - scores[c] + _HALF) >> _SHIFT
        out[c] = exp[at] if at < exp.size else 0
        total += out[c]
    size = 0.0
    for c in range(k):
        raw[c] = (1.0 if c == label else 0.0) - out[c] / total
        size += raw[c] * raw[c] if by_length else abs(raw[c])
    most = (k - 1) / k if by_length else 2 * (k - 1) / k
    shrink = 1.0
    if size > most:
        shrink = np.sqrt(most / size) if by_length else most / size
    whole = 0
    for c in range(k):
        out[c] = np.int64(np.trunc(UNIT * (raw[c] * shrink)))
        whole += int(out[c] * out[c] if by_length else abs(out[c]))
    bound = (UNIT * UNIT if by_length else 2 * UNIT) * (k - 1)
    while k * whole > bound:  # by a rounding: then the largest gives way
        top_class = int(np.argmax(np.abs(out)))
        whole -= int(2 * abs(out[top_class]) - 1 if by_length else 1)
        out[top_class] -= 1 if out[top_class] > 0 else -1
