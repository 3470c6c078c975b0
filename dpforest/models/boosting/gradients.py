"""Gradients of the clipped logistic loss as whole numbers, summed in leaves, and scores that move: integers throughout.

A row's gradient is the class it has less the share of each class that its score says, clipped at the size that it has
at score 0 (`ClipBound`). So it is at most a half for two classes, and a misclassified row pulls no harder than a row at
score 0. Gradients are in 1/1024, scores in 1/2**20: sums are exact in any order, so that what a fit computes is the
same on one thread and on many, and the same that anybody computes from the released forest.

Of a score only 1/256 matter for a gradient, so exponentials come from a table. Additions of floats there are none;
divisions and roots are rounded as IEEE 754 says, which is the same everywhere.
"""

from typing import Final

import numpy as np
from numba import njit

from dpforest.models.boosting.clip_bound import UNIT, ClipBound

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


def next_sums(
    scores: np.ndarray, before: np.ndarray, moves: np.ndarray, leaf: np.ndarray, y: np.ndarray, clip: ClipBound
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
    clip : ClipBound
        Bound on the gradient of each row.

    Returns
    -------
    int64 array of the shape of `moves`
        In 1/1024.
    """
    sums = np.zeros_like(moves)
    if scores.shape[1] == 1:
        _next_of_two(scores[:, 0], before, moves[:, 0], leaf, y, _OF_TWO, sums[:, 0])
    else:
        _next_of_many(scores, before, moves, leaf, y, _EXP, clip.is_l2, clip.times_classes, sums)
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


# Requires  |scores| < 2**49 after the move, y of 0 or 1, and a table that starts at UNIT/2, never rises, and ends in 0.
# Ensures   each row adds a whole number between -UNIT/2 and UNIT/2 to one sum, by its label and score alone: the index
#   is cut to 0..last, so the row adds plus or minus an entry of the table, and all entries are in 0..UNIT/2. A score
#   on the wrong side gets entry 0: the gradient is clipped there to its value at score 0.
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
def _next_of_many(scores, before, moves, leaf, y, exp, is_l2, bound, sums):
    n, k = scores.shape
    gradient = np.empty(k, np.int64)
    raw = np.empty(k)
    for i in range(n):
        for c in range(k):
            scores[i, c] += moves[before[i], c]
        gradient_of(y[i], scores[i], exp, is_l2, bound, raw, gradient)
        for c in range(k):
            sums[leaf[i], c] += gradient[c]


# Why no gradient of k classes exceeds its clip: proof for `gradient_of`. u = 2**-53 is the rounding error of a double.
#
# Requires  2 <= k <= 50 (it serves k >= 3; two classes have one score and a table), 0 <= label < k,
#   |scores| < 2**49, as each of at most 1,000 rounds moves a score by LARGEST = 2**39 at most,
#   exp[0] = 2**30 >= exp[j] >= 0, and
#   bound = UNIT**2 * (k-1) if is_l2, else 2 * UNIT * (k-1): `ClipBound.times_classes` for k >= 3.
# Ensures   k * sum(out**2) <= bound if is_l2, else k * sum(|out|) <= bound, exactly;
#   0 <= out[label] <= UNIT, and -UNIT <= out[c] <= 0 for the others; `out` is a function of label and scores alone,
#   as every entry of `raw` and `out` is written before it is read.
#
# 1. Every operation is defined. top - score + _HALF lies in [0, 2**51], so int64 holds it and at >= 0. The class with
#    the top score adds exp[0], so 2**30 <= total < 2**36: nothing is divided by 0, and doubles hold e = out[c] and
#    total exactly. As 0 <= e <= total, the rounded e/total lies in [0, 1], raw[label] in [0, 1], and the other raw in
#    [-1, 0]. Where size > most > 0, most/size < 1, and neither rounding nor the root lifts it above 1. So
#    0 < shrink <= 1 and |raw * shrink| <= 1. The product with UNIT, a power of 2, is exact. So `trunc` gives
#    |out| <= UNIT with the sign of raw, or 0.
# 2. The bound is exact. When it is compared, `whole` is sum(out**2), or sum(|out|), in whole numbers. If k * whole
#    exceeds the bound, `out` becomes 0, which satisfies it. The bound needs this comparison only, and not step 3.
# 3. That never happens. Let M = (k-1)/k, or 2(k-1)/k, and let S be the exact sum of raw**2, or of |raw|. `most` is M
#    rounded once: bound and its divisor are whole numbers below 2**53, and their quotient is M. Nothing underflows:
#    where raw is not 0, |raw| >= 2**-36, as e and total - e are whole and total < 2**36. Each term of `size` is
#    rounded k times at most. So S <= size / (1-u)**k and most <= M * (1+u).
#    Without shrinking, |out| <= UNIT * |raw| and size <= most. So sum(out**2) <= UNIT**2 * M * (1+u) / (1-u)**k.
#    Else shrink**2 <= most/size * (1+u)**3, and rounding raw * shrink adds a factor 1+u, squared (1+u)**2. So
#    sum(out**2) <= UNIT**2 * S * most/size * (1+u)**5 <= UNIT**2 * M * (1+u)**6 / (1-u)**k. Truncation adds nothing.
#    For sizes the same holds with fewer factors. Both are below UNIT**2 * M * (1 + 60u), or UNIT * M * (1 + 60u). So
#    k * whole < bound * (1 + 60u) < bound + 1, since bound < 2**26. Both are whole numbers: k * whole <= bound.
#
# Accuracy: raw[label] errs by 2u at most, the others by u in sum. So `size`, where it matters, errs by less than
#    (k+12)u of itself, and UNIT * raw * shrink by less than UNIT * (k+18)u < 2**-36. So `out` is the exact gradient,
#    clipped and truncated, unless that lies within 2**-36 of a whole number; then it may be off by 1.
@njit(nogil=True, cache=True)
def gradient_of(label, scores, exp, is_l2, bound, raw, out):
    """Gradient of one row of several classes, in 1/1024, rounded toward 0. It never exceeds its clip.

    `bound` is k times the clip (`ClipBound.times_classes`). Writes to `out`, int64 (k,). `raw`, float64 (k,), is work
    space. Proof above.
    """
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
        size += raw[c] * raw[c] if is_l2 else abs(raw[c])
    most = bound / (k * UNIT * UNIT if is_l2 else k * UNIT)
    shrink = 1.0
    if size > most:
        shrink = np.sqrt(most / size) if is_l2 else most / size
    whole = 0
    for c in range(k):
        out[c] = np.int64(np.trunc(UNIT * (raw[c] * shrink)))
        whole += int(out[c] * out[c] if is_l2 else abs(out[c]))
    if k * whole > bound:  # this never happens: step 3 of the proof
        out[:] = 0
