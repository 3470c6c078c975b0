"""Exact samplers for a release, in integers without rounding.

Every function draws with exactly the probability that its docstring states, a fraction or an exponential (Canonne,
Kamath & Steinke 2020, arXiv 2004.00010, algorithms 1 and 2). Rates and scales are fractions of numbers below 2**32
(`rationals.py`).

Randomness comes as a *tape* of 16-bit lanes. A kernel draws one result for each row of its table, and each draw uses
the next lanes of the tape. If the tape ends before a row is finished, the kernel does not store this row. The next call
draws the row again on a longer tape that starts with the same lanes, so the results are the same as with one endless
tape. Fresh lanes would bias the row, because only rows whose draws take many lanes would be drawn again.

A function for a single draw takes the tape and the position ``at`` on the tape, and returns the draw and the new
position. If the new position is the end of the tape, the draw is not valid, and the kernel discards it. Every loop
stops at the end of the tape.

Nothing overflows int64:

- In `_bernoulli_exp_unit`, the number k of a trial is below 2**15. If all these trials succeed, with probability below
  1/32767!, the draw is not valid, and `run_tape` ends in an error. So den * k < 2**32 * 2**15 = 2**47. In `bernoulli`,
  the numerator is then below 2**47 too, and stays below 2**63 if it is shifted by 16 bits.
- Labels are drawn from counts below 2**31 at rates num/den with num < 2**32. If the counts are weights in units of
  1/1024, they are below 2**41, and num < 2**22. In either case, the difference of two counts, times num, is below
  2**63.
- A tape has fewer than 2**25 lanes, and each round of a loop takes a lane. So the number v in `discrete_laplace` is
  below 2**25, and num * v is below 2**57. Counts that get noise are between -2**62 and 2**62.
"""

from collections.abc import Callable
from fractions import Fraction
from typing import Final

import numpy as np
from numba import njit

from dpforest.limits import MAX_CLASSES
from dpforest.privacy.randomness import SecretSource

LANES: Final = 2**15  # largest number of fresh lanes per call; such a tape fits into the processor's cache
MAX_LANES: Final = 2**24  # if one row needs a longer tape than this, the source of randomness must be broken
MAX_COUNT: Final = 2**31  # counts of rows are below this number
MAX_WEIGHT: Final = 2**41  # sums of weights in 1/1024 are below this number
MOST_OF_WEIGHT: Final = 2**22 - 1  # largest numerator of a rate for sums of weights
_MAX_NOISY: Final = 2**62  # absolute values of counts that get noise are below this number
MAX_RUN: Final = 2**15  # a draw is not valid if its number of trials reaches this number

_L = np.int64


@njit(nogil=True, cache=True)
def bernoulli(tape, at, p, q):
    """Draw True with probability p/q, 0 <= p <= q < 2**47: compare p/q with a uniform number, 16 bits at a time."""
    while at < tape.size:
        p = p << 16
        digit = p // q
        lane = _L(tape[at])
        at += 1
        if lane != digit:
            return lane < digit, at
        p -= digit * q
    return False, at


@njit(nogil=True, cache=True)
def uniform(tape, at, n):
    """Draw uniformly from 0..n-1, 1 <= n < 2**32: one lane by Lemire's method (2019), or two lanes by rejection."""
    if n <= 65_536:
        while at < tape.size:
            x = _L(tape[at]) * n
            at += 1
            low = x & 0xFFFF
            # Reject 65,536 % n values of `low`. The comparison with n is fast, and mostly avoids the slow remainder.
            if low >= n or low >= 65_536 % n:
                return x >> 16, at
        return 0, at
    limit = (1 << 32) - (1 << 32) % n
    while at + 1 < tape.size:
        x = (_L(tape[at]) << 16) | _L(tape[at + 1])
        at += 2
        if x < limit:
            return x % n, at
    return 0, tape.size


@njit(nogil=True, cache=True)
def _bernoulli_exp_unit(tape, at, a, b):
    """Draw True with probability exp(-a/b), 0 <= a <= b < 2**32, by von Neumann's series.

    Trial k = 1, 2, 3, ... succeeds with probability a / (b k). The result is True if the first trial that fails has an
    odd number.
    """
    k = 1 if a < b else 2  # if a = b, the first trial cannot fail
    while at < tape.size and k < MAX_RUN:
        more, at = bernoulli(tape, at, a, b * k)
        if not more:
            return (k & 1) == 1, at
        k += 1
    return False, tape.size


@njit(nogil=True, cache=True)
def bernoulli_exp(tape, at, a, b):
    """Draw True with probability exp(-a/b), 0 <= a < 2**63, 1 <= b < 2**32.

    The draw is True if a // b draws of probability exp(-1), and one draw for the remainder of a/b, are all True.
    """
    if a == 0:
        return True, at
    whole = a // b
    for _ in range(whole):
        hit, at = _bernoulli_exp_unit(tape, at, 1, 1)
        if not hit:
            return False, at
    return _bernoulli_exp_unit(tape, at, a - whole * b, b)


@njit(nogil=True, cache=True)
def discrete_laplace(tape, at, num, den):
    """Draw an integer z with probability proportional to exp(-|z| den/num). The scale is num/den, both below 2**32.

    The absolute value is (u + num * v) // den. Here v is the number of draws of probability exp(-1) that are True
    before the first False, and u is uniform below num and is kept with probability exp(-u/num). If the draw is 0 with a
    negative sign, the function draws again, because otherwise 0 would have twice its probability.
    """
    while at < tape.size:
        u, at = uniform(tape, at, num)
        kept, at = bernoulli_exp(tape, at, u, num)
        if not kept:
            continue
        v = 0
        while at < tape.size:
            more, at = _bernoulli_exp_unit(tape, at, 1, 1)
            if not more:
                break
            v += 1
        z = (u + num * v) // den
        sign, at = uniform(tape, at, 2)
        if sign == 0:
            return z, at
        if z > 0:
            return -z, at
    return 0, at


@njit(nogil=True, cache=True)
def _assign_kernel(tape, row, n_trees, out):
    """Fill out[row:] with uniform draws. Return the number of finished rows, and the number of lanes that they used."""
    at = 0
    while row < out.size:
        tree, end = uniform(tape, at, n_trees)
        if end == tape.size:
            break
        out[row] = tree
        row, at = row + 1, end
    return row, at


@njit(nogil=True, cache=True)
def _permute_and_flip_kernel(tape, row, counts, num, den, order, out):
    """Visit the classes of each row in random order; accept class c with probability exp(-rate (top - n_c))."""
    at = 0
    n, k = counts.shape
    while row < n:
        top = counts[row].max()
        for c in range(k):
            order[c] = c
        n_unvisited, end, label = k, at, 0
        while n_unvisited > 0 and end < tape.size:
            i, end = uniform(tape, end, n_unvisited)
            label = order[i]
            n_unvisited -= 1
            order[i] = order[n_unvisited]
            accepted, end = bernoulli_exp(tape, end, (top - counts[row, label]) * num, den)
            if accepted:
                break
        if end >= tape.size:
            break
        out[row] = label
        row, at = row + 1, end
    return row, at


@njit(nogil=True, cache=True)
def _exponential_kernel(tape, row, counts, num, den, cap, out):
    """Draw a class c uniformly, accept c with probability exp(-rate min(top - n_c, cap)), and else draw again.

    If the cap is above all differences of counts, this is the exponential mechanism on counts. If the cap is 1, it is
    the exponential mechanism on a score that is 1 for a top label and 0 for any other label.
    """
    at = 0
    n, k = counts.shape
    while row < n:
        top = counts[row].max()
        end, label = at, 0
        while end < tape.size:
            label, end = uniform(tape, end, k)
            accepted, end = bernoulli_exp(tape, end, min(top - counts[row, label], cap) * num, den)
            if accepted:
                break
        if end >= tape.size:
            break
        out[row] = label
        row, at = row + 1, end
    return row, at


@njit(nogil=True, cache=True)
def _discrete_laplace_kernel(tape, row, counts, num, den, out):
    """Write counts + noise to `out`. A row, in the sense of the module, is here one cell of `counts`."""
    at = 0
    while row < counts.size:
        z, end = discrete_laplace(tape, at, num, den)
        if end >= tape.size:
            break
        out[row] = counts[row] + z
        row, at = row + 1, end
    return row, at


def draw_uniform(n: int, n_trees: int, source: SecretSource) -> np.ndarray:
    """Return n independent uniform draws from 0..n_trees-1, as an int32 array."""
    if not 1 <= n_trees < 2**16:
        raise ValueError(f"n_trees must lie between 1 and 65,535, not {n_trees}.")
    out = np.empty(n, np.int32)
    run_tape(_assign_kernel, n, source, n_trees, out)
    return out


def draw_permute_and_flip(counts: np.ndarray, rate: Fraction, source: SecretSource) -> np.ndarray:
    """Draw one uint8 label for each leaf (row of `counts`) by permute-and-flip on the counts."""
    counts, num, den = _kernel_arguments(counts, rate)
    out, order = np.empty(len(counts), np.uint8), np.empty(counts.shape[1], np.int64)
    run_tape(_permute_and_flip_kernel, len(counts), source, counts, num, den, order, out)
    return out


def draw_exponential(counts: np.ndarray, rate: Fraction, source: SecretSource, *, top_only: bool = False) -> np.ndarray:
    """Draw one uint8 label for each leaf (row of `counts`) by the exponential mechanism.

    The score of a label is its count or, with `top_only`, 1 for a top label and 0 for any other label.
    """
    counts, num, den = _kernel_arguments(counts, rate)
    out = np.empty(len(counts), np.uint8)
    run_tape(_exponential_kernel, len(counts), source, counts, num, den, 1 if top_only else MAX_WEIGHT, out)
    return out


def draw_noisy_counts(counts: np.ndarray, scale: Fraction, source: SecretSource) -> np.ndarray:
    """Return int64 counts with independent discrete Laplace noise of this scale. Given counts may be negative."""
    counts, num, den = _kernel_arguments(counts, scale, least=1 - _MAX_NOISY, most=_MAX_NOISY)
    out = np.empty(counts.size, np.int64)
    run_tape(_discrete_laplace_kernel, counts.size, source, counts.reshape(counts.size), num, den, out)
    return out.reshape(counts.shape)


def _kernel_arguments(
    counts: np.ndarray, ratio: Fraction, *, least: int = 0, most: int | None = None
) -> tuple[np.ndarray, int, int]:
    """Check that a kernel cannot overflow, and return counts, numerator and denominator for the kernel.

    By default, the limits on counts are those of a draw of labels, which depend on the numerator of `ratio`.
    """
    counts = np.asarray(counts)
    if most is None:
        most = MAX_WEIGHT if ratio.numerator <= MOST_OF_WEIGHT else MAX_COUNT
    if counts.dtype.kind not in "iu" or counts.ndim != 2 or not 1 <= counts.shape[1] <= MAX_CLASSES:
        raise ValueError(f"counts must be whole numbers of shape (leaves, classes), at most {MAX_CLASSES} classes.")
    if counts.size and (counts.min() < least or counts.max() >= most):
        raise ValueError(f"counts must lie between {least:,} and {most - 1:,}.")
    if not (0 <= ratio.numerator < 2**32 and ratio.denominator < 2**32):
        raise ValueError(f"{ratio} is not a rational of 32-bit numbers.")
    return np.ascontiguousarray(counts, np.int64), ratio.numerator, ratio.denominator


def run_tape(kernel: Callable, n: int, source: SecretSource, *arguments: object) -> None:
    """Run a kernel on fresh lanes, and on the lanes that it did not use, until all n rows are finished."""
    row, tape, lanes = 0, np.empty(0, np.uint16), min(LANES, 32 * n)  # a short tape is enough for a few rows
    while row < n:
        # Even with the largest number of candidates, a row takes 16 million lanes with a probability below e**-280.
        if tape.size > MAX_LANES:
            raise RuntimeError("The operating system's source of randomness is broken.")
        tape = np.concatenate((tape, source.words(lanes // 4).view(np.uint16)))
        row, at = kernel(tape, row, *arguments)
        tape, lanes = tape[at:], min(LANES, 2 * lanes)
