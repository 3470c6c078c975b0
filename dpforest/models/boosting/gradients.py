"""Gradients of the clipped logistic loss, their sums in leaves, and the scores that follow, all as integers.

The gradient of a row has a number for each class: 1 if the row has this class and 0 otherwise, minus the share of the
class at the row's score. The gradient's norm is clipped to the norm at score 0 (`ClipBound`). So for two classes the
norm is at most one half, and no misclassified row has a larger gradient than a row at score 0. Gradients are in units
of 1/1024, scores in units of 1/2**20. Sums of integers are exact in any order. So scores do not depend on the number of
threads, and everybody who computes scores from the released forest gets the same scores.

A gradient uses the row's score rounded to 1/256, so exponentials come from a table. No sum over rows is in floats.
Float operations within a row run in a fixed order, and IEEE 754 defines their rounding, so all machines agree.
"""

from typing import Final

import numpy as np
from numba import njit

from dpforest.models.boosting.clip_bound import UNIT, ClipBound

POINT: Final = 20  # binary digits of a score after the point
_GRID: Final = 8  # number of these digits that a gradient uses
_SHIFT: Final = POINT - _GRID
_HALF: Final = 1 << (_SHIFT - 1)
_REACH: Final = 40 << _GRID  # length of the tables: if scores differ by 40 or more, a share is 0
_SHARE: Final = 1 << 30
LARGEST: Final = 2**39  # largest move of a score, in 1/2**20: about half a million

# Tables over k: the size of a gradient with two classes if the score favors the row's class by k/256; and exp(-k/256).
_OF_TWO: Final = np.rint(UNIT / (1 + np.exp(np.arange(_REACH) / 2**_GRID))).astype(np.int64)  # the last entry is 0
_EXP: Final = np.rint(_SHARE * np.exp(-np.arange(_REACH) / 2**_GRID)).astype(np.int64)


def next_sums(
    scores: np.ndarray,
    before: np.ndarray,
    moves: np.ndarray,
    leaf: np.ndarray,
    y: np.ndarray,
    clip: ClipBound,
    weight: np.ndarray | None = None,
) -> np.ndarray:
    """Add the moves of the last round to the rows' scores, then sum the gradients in the next leaves. Curator only.

    One pass over the rows does both. This pass takes most of the time of a round.

    Parameters
    ----------
    scores : int64 array of shape (n, 1) or (n, n_classes)
        Score of each row, in 1/2**20. The scores are changed in place.
    before, leaf : integer array of shape (n,)
        Leaf of each row in the last tree, and in the next tree.
    moves : int64 array of shape (n_leaves, 1) or (n_leaves, n_classes)
        Values that the leaves of the last tree add to scores, in 1/2**20.
    y : int32 array of shape (n,)
        Class index of each row.
    clip : ClipBound
        Bound on the gradient of each row.
    weight : int64 array of shape (n,), optional
        Weight of each row in 1/1024, if the unit of privacy is a person (``clip.grid`` is 16).

    Returns
    -------
    int64 array of the shape of `moves`
        Gradient sums in the leaves of the next tree, in 1/1024 or, with weights, in 1/2**14.
    """
    sums = np.zeros_like(moves)
    if scores.shape[1] == 1:
        _next_of_two(scores[:, 0], before, moves[:, 0], leaf, y, weight, _OF_TWO, sums[:, 0])
    else:
        _next_of_many(scores, before, moves, leaf, y, weight, _EXP, clip.is_l2, clip.times_classes, sums)
    return sums


def moves_of(sums: np.ndarray, step: float) -> np.ndarray:
    """Return the values that the leaves of a round add to scores. They are public if the sums are noisy.

    Parameters
    ----------
    sums : int64 array of shape (n_leaves, n_scores)
        Noisy gradient sums, in the grid steps of `ClipBound`.
    step : float
        Change of a score, in 1/2**20, for each grid step of a sum.

    Returns
    -------
    int64 array of the same shape
        Moves, in 1/2**20. With more than two classes, each leaf's mean over classes is subtracted. This changes no
        class share.
    """
    n_scores = sums.shape[1]
    if n_scores > 1:
        sums, step = n_scores * sums - sums.sum(axis=1, keepdims=True), step / n_scores
    return np.clip(np.rint(sums * step), -LARGEST, LARGEST).astype(np.int64)


# Requires  |scores| < 2**49 after the move, y of 0 or 1, and a table that starts at UNIT/2, never rises, and ends in 0.
# Ensures   each row adds a whole number between -UNIT/2 and UNIT/2 to one sum. The number depends only on the row's
#   label and score. The index is cut to 0..last, so the row adds plus or minus an entry of the table, and all entries
#   are in 0..UNIT/2. A score on the wrong side gets entry 0: its gradient is clipped to the value at score 0.
# With weights, the row adds plus or minus floor(entry * weight / 64) <= 16 * entry * weight / 1024. The weights of a
#   person's rows sum to at most 1024, so all rows of a person add at most 16 * UNIT/2 together.
@njit(nogil=True, cache=True)
def _next_of_two(scores, before, moves, leaf, y, weight, of_two, sums):
    last = of_two.size - 1
    for i in range(leaf.size):
        score = scores[i] + moves[before[i]]
        scores[i] = score
        sign = 2 * y[i] - 1
        at = (sign * score + _HALF) >> _SHIFT
        size = of_two[min(max(at, 0), last)]
        sums[leaf[i]] += sign * (size if weight is None else size * weight[i] >> 6)


@njit(nogil=True, cache=True)
def _next_of_many(scores, before, moves, leaf, y, weight, exp, is_l2, bound, sums):
    n, k = scores.shape
    gradient = np.empty(k, np.int64)
    raw = np.empty(k)
    for i in range(n):
        for c in range(k):
            scores[i, c] += moves[before[i], c]
        gradient_of(y[i], scores[i], exp, is_l2, bound, raw, gradient)
        for c in range(k):
            q = gradient[c]
            if weight is not None:  # rounded toward 0, so no component and no norm grows
                q = q * weight[i] >> 6 if q >= 0 else -(-q * weight[i] >> 6)
            sums[leaf[i], c] += q


# Proof that no gradient of k classes exceeds its clip in `gradient_of`. u = 2**-53 is the rounding error of a double.
#
# Requires  2 <= k <= 50 (only k >= 3 uses this function; two classes have one score and a table), 0 <= label < k,
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
# 2. The bound holds exactly. At the comparison, `whole` is sum(out**2), or sum(|out|), in whole numbers. If k * whole
#    exceeds the bound, `out` becomes 0, which satisfies the bound. So the bound does not depend on step 3.
# 3. The bound is never exceeded. Let M = (k-1)/k, or 2(k-1)/k. Let S be the exact sum of raw**2, or |raw|. `most` is M
#    rounded once: bound and its divisor are whole numbers below 2**53, and their quotient is M. Nothing underflows:
#    where raw is not 0, |raw| >= 2**-36, as e and total - e are whole and total < 2**36. Each term of `size` is
#    rounded k times at most. So S <= size / (1-u)**k and most <= M * (1+u).
#    Without shrinking, |out| <= UNIT * |raw| and size <= most. So sum(out**2) <= UNIT**2 * M * (1+u) / (1-u)**k.
#    Else shrink**2 <= most/size * (1+u)**3, and rounding raw * shrink adds a factor 1+u, squared (1+u)**2. So
#    sum(out**2) <= UNIT**2 * S * most/size * (1+u)**5 <= UNIT**2 * M * (1+u)**6 / (1-u)**k. Truncation adds nothing.
#    For sum(|out|), the same holds with fewer factors. The sums are below UNIT**2 * M * (1 + 60u) and
#    UNIT * M * (1 + 60u). So k * whole < bound * (1 + 60u) < bound + 1, since bound < 2**26. As k * whole and bound
#    are whole numbers, k * whole <= bound.
#
# Accuracy: raw[label] errs by 2u at most, the others by u in sum. So `size`, where it matters, errs by less than
#    (k+12)u of itself, and UNIT * raw * shrink by less than UNIT * (k+18)u < 2**-36. So `out` is the exact gradient,
#    clipped and truncated, unless that lies within 2**-36 of a whole number; then it may be off by 1.
@njit(nogil=True, cache=True)
def gradient_of(label, scores, exp, is_l2, bound, raw, out):
    """Write the gradient of one row to `out`, int64 (k,), for k > 2 classes: in 1/1024, rounded toward 0.

    The gradient never exceeds its clip; the proof is above. `bound` is k times the clip (`ClipBound.times_classes`).
    `raw`, float64 (k,), is scratch space.
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
