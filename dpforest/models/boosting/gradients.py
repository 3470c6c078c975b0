"""Gradients of the clipped logistic loss, their sums in leaves, and the scores computed from sums, all as integers.

The gradient of a row has a number for each class: 1 if the row has this class and 0 otherwise, minus the class's share
(the probability that follows from the row's scores). The gradient's norm is clipped to the norm at score 0
(`ClipBound`). So for two classes the norm is at most one half, and no misclassified row has a larger gradient than a
row at score 0. Gradients are integers in units of 1/1024, and scores are integers in units of 1/2**20. Sums of integers
are exact in any order. So scores do not depend on the number of threads, and everybody who computes scores from the
released forest gets the same scores.

A gradient is computed from scores that are rounded to 1/256, so that its exponentials can be looked up in a table. No
sum over rows uses floats. The float operations for one row run in a fixed order, and IEEE 754 defines their rounding,
so all machines get the same gradients.
"""

from typing import Final, NamedTuple

import numpy as np
from numba import njit

from dpforest.models.boosting.clip_bound import UNIT, ClipBound

POINT: Final = 20  # binary digits of a score after the point
_GRID: Final = 8  # number of these digits to which a score is rounded for a gradient
_SHIFT: Final = POINT - _GRID
_HALF: Final = 1 << (_SHIFT - 1)
_REACH: Final = 40 << _GRID  # length of the tables; if scores differ by 40 or more, a share is 0
_SHARE: Final = 1 << 30
LARGEST: Final = 2**39  # largest move of a score, in 1/2**20: about half a million


class GradientTables(NamedTuple):
    """Exponentials for scores that are multiples of 1/256.

    One machine computes them for a whole fit, because ``np.exp`` may differ in the last digit between machines.

    Parameters
    ----------
    two_class_sizes : int64 array
        Entry k is the size of a row's gradient with two classes, in 1/1024, if the row's score is k/256 in favor of its
        class. The entries never rise, and the last one is 0.
    exp : int64 array
        Entry k is exp(-k/256), in units of 1/2**30.
    """

    two_class_sizes: np.ndarray
    exp: np.ndarray


TABLES: Final = GradientTables(
    np.rint(UNIT / (1 + np.exp(np.arange(_REACH) / 2**_GRID))).astype(np.int64),
    np.rint(_SHARE * np.exp(-np.arange(_REACH) / 2**_GRID)).astype(np.int64),
)


def next_sums(
    scores: np.ndarray,
    last_leaf: np.ndarray,
    moves: np.ndarray,
    leaf: np.ndarray,
    y: np.ndarray,
    clip: ClipBound,
    weight: np.ndarray | None = None,
    tables: GradientTables = TABLES,
) -> np.ndarray:
    """Add the moves of the last round to the rows' scores, and sum gradients in the next tree's leaves.

    Only the curator (the data holder) may see the result. A single pass over the rows does both steps, because a pass
    takes most of the time of a round.

    Parameters
    ----------
    scores : int64 array of shape (n, 1) or (n, n_classes)
        Score of each row, in 1/2**20. The scores are changed in place.
    last_leaf, leaf : integer array of shape (n,)
        Leaf of each row in the last tree, and in the next tree.
    moves : int64 array of shape (n_leaves, 1) or (n_leaves, n_classes)
        Values that the leaves of the last tree add to scores, in 1/2**20.
    y : integer array of shape (n,)
        Class index of each row.
    clip : ClipBound
        Bound on the gradient of each row.
    weight : int64 array of shape (n,), optional
        Weight of each row in 1/1024, if the unit of privacy is a person (``clip.grid`` is 16).
    tables : GradientTables
        Exponentials, which must be the same in all parts of a table.

    Returns
    -------
    int64 array of the shape of `moves`
        Gradient sums in the leaves of the next tree, in 1/1024 or, with weights, in 1/2**14.
    """
    sums = np.zeros_like(moves)
    if scores.shape[1] == 1:
        _next_of_two(scores[:, 0], last_leaf, moves[:, 0], leaf, y, weight, tables.two_class_sizes, sums[:, 0])
    else:
        _next_of_many(scores, last_leaf, moves, leaf, y, weight, tables.exp, clip.is_l2, clip.times_classes, sums)
    return sums


def moves_of(sums: np.ndarray, step: float) -> np.ndarray:
    """Return the moves: the values that the leaves of a round add to scores. Moves are public if the sums are noisy.

    Parameters
    ----------
    sums : int64 array of shape (n_leaves, n_scores)
        Noisy gradient sums, in the grid steps of `ClipBound`.
    step : float
        Change of a score, in 1/2**20, for each grid step of a sum.

    Returns
    -------
    int64 array of the same shape
        Moves, in 1/2**20. With more than two classes, each leaf's mean over classes is subtracted, which changes no
        class share.
    """
    n_scores = sums.shape[1]
    if n_scores > 1:
        sums, step = n_scores * sums - sums.sum(axis=1, keepdims=True), step / n_scores
    return np.clip(np.rint(sums * step), -LARGEST, LARGEST).astype(np.int64)


# Claim: each row adds a whole number from -UNIT/2 to UNIT/2 to one sum, and this number depends only on the row's label
# and score.
# Conditions: |scores| < 2**49 after the moves are added, and y is 0 or 1. The table `two_class_sizes` starts with
# UNIT/2, never rises, and ends with 0.
# Proof: the index into the table is clamped to 0..last. So the row adds plus or minus an entry of the table, and all
# entries are in 0..UNIT/2. If the score favors the wrong class, the index is 0, so the gradient is clipped to its value
# at score 0.
# With weights, the row adds plus or minus floor(entry * weight / 64), which is at most 16 * entry * weight / 1024. The
# weights of a person's rows sum to at most 1024. So all rows of a person together add at most 16 * UNIT/2.
@njit(nogil=True, cache=True)
def _next_of_two(scores, last_leaf, moves, leaf, y, weight, two_class_sizes, sums):
    """Do the work of `next_sums` for two classes, with one score for each row."""
    last = two_class_sizes.size - 1
    for i in range(leaf.size):
        score = scores[i] + moves[last_leaf[i]]
        scores[i] = score
        sign = 2 * y[i] - 1
        index = (sign * score + _HALF) >> _SHIFT
        size = two_class_sizes[min(max(index, 0), last)]
        sums[leaf[i]] += sign * (size if weight is None else size * weight[i] >> 6)


@njit(nogil=True, cache=True)
def _next_of_many(scores, last_leaf, moves, leaf, y, weight, exp, is_l2, bound, sums):
    """Do the work of `next_sums` for more than two classes. `bound` is `ClipBound.times_classes`."""
    n, k = scores.shape
    gradient = np.empty(k, np.int64)
    raw = np.empty(k)
    for i in range(n):
        for c in range(k):
            scores[i, c] += moves[last_leaf[i], c]
        gradient_of(y[i], scores[i], exp, is_l2, bound, raw, gradient)
        for c in range(k):
            q = gradient[c]
            if weight is not None:  # rounded toward 0, so no component and no norm grows
                q = q * weight[i] >> 6 if q >= 0 else -(-q * weight[i] >> 6)
            sums[leaf[i], c] += q


# Proof that `gradient_of` writes no gradient above its clip. There are k classes, `sum` is over the classes, and
# u = 2**-53 is the largest relative rounding error of an operation with doubles.
#
# Conditions:
# - 2 <= k <= 50 and 0 <= label < k. (The function is used only for k >= 3; `_next_of_two` serves two classes.)
# - |scores| < 2**49. This holds because each of at most 1,000 rounds moves a score by at most LARGEST = 2**39.
# - exp[0] = 2**30, and 0 <= exp[j] <= 2**30 for every j.
# - bound = UNIT**2 * (k-1) if is_l2, else 2 * UNIT * (k-1). This is `ClipBound.times_classes` for k >= 3.
#
# Claims:
# - k * sum(out**2) <= bound if is_l2, else k * sum(|out|) <= bound. This holds exactly, in spite of rounding.
# - 0 <= out[label] <= UNIT, and -UNIT <= out[c] <= 0 for every other class c.
# - `out` depends only on label and scores, because every entry of `raw` and `out` is written before it is read.
#
# 1. Every operation is defined, and the second claim holds. The number top - score + _HALF is in [0, 2**51], so it fits
#    into int64, and index >= 0. Each class adds at most 2**30 to `total`, and the class with the top score adds exactly
#    exp[0] = 2**30. So 2**30 <= total < 2**36. Therefore nothing is divided by 0, and doubles represent total and
#    e = out[c] exactly. Because 0 <= e <= total, the rounded quotient e/total is in [0, 1]. So raw[label] is in [0, 1],
#    and raw[c] is in [-1, 0] for every other class c. If size > most > 0, then most/size < 1, and neither rounding nor
#    the square root makes it larger than 1. So 0 < shrink <= 1 and |raw * shrink| <= 1. The product with UNIT is exact,
#    because UNIT is a power of 2. So `trunc` returns a number that is at most UNIT in absolute value, and that is 0 or
#    has the sign of raw.
# 2. The first claim holds. When `whole` is compared with the bound, it is sum(out**2) or sum(|out|), computed in
#    integers. If k * whole exceeds the bound, the function sets `out` to 0, which satisfies the bound. So the claim
#    does not depend on step 3.
# 3. In fact, k * whole never exceeds the bound. Let M = (k-1)/k if is_l2, else M = 2(k-1)/k. Let S be the sum of raw**2
#    if is_l2, else of |raw|, without rounding. The variable `most` is M, rounded once, because it is the quotient of
#    two integers below 2**53 that are represented exactly. Nothing underflows: e and total - e are integers and
#    total < 2**36, so |raw| >= 2**-36 if raw is not 0. Each term of `size` is rounded at most k times. So
#    S <= size / (1-u)**k and most <= M * (1+u).
#    Case without shrinking: |out| <= UNIT * |raw| and size <= most. So sum(out**2) <= UNIT**2 * M * (1+u) / (1-u)**k.
#    Case with shrinking: shrink**2 <= most/size * (1+u)**3. Rounding changes raw * shrink by a factor of at most 1+u,
#    and so its square by at most (1+u)**2. Truncation does not increase |out|. So
#    sum(out**2) <= UNIT**2 * S * most/size * (1+u)**5 <= UNIT**2 * M * (1+u)**6 / (1-u)**k.
#    For sum(|out|), the same steps give a bound with fewer factors. So for k <= 50, sum(out**2) is less than
#    UNIT**2 * M * (1 + 60u), and sum(|out|) is less than UNIT * M * (1 + 60u). So k * whole < bound * (1 + 60u), which
#    is less than bound + 1, because bound < 2**26. Because k * whole and bound are integers, k * whole <= bound.
#
# Accuracy: the error of raw[label] is at most 2u, and the errors of all other entries of raw sum to at most u. If
#    size > most, the relative error of `size` is therefore less than (k+12)u, and the error of UNIT * raw * shrink is
#    less than UNIT * (k+18)u < 2**-36. So `out` is the exact gradient, clipped and truncated, with one exception: if an
#    entry of the exact clipped gradient is within 2**-36 of a whole number, the entry of `out` may be wrong by 1.
@njit(nogil=True, cache=True)
def gradient_of(label, scores, exp, is_l2, bound, raw, out):
    """Write the gradient of one row to `out`, int64 (k,), for k > 2 classes: in 1/1024, clipped and rounded toward 0.

    The proof above shows that the norm of the gradient never exceeds its bound. `bound` is `ClipBound.times_classes`.
    `raw`, float64 (k,), is scratch space.
    """
    k = scores.size
    top = scores.max()
    total = 0
    for c in range(k):
        index = (top - scores[c] + _HALF) >> _SHIFT
        out[c] = exp[index] if index < exp.size else 0
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
