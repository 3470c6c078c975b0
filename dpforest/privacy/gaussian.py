"""Exact sampler of round(sigma Z) for a standard normal Z. It computes with integers, so no float is rounded.

The sampler is algorithm N of Karney 2016 (ACM Trans. Math. Softw. 42(1):3; arXiv 1303.6257). Write |Z| = k + x, where k
is a whole number and x is in [0, 1). The sampler proposes k with a probability proportional to exp(-k/2), and a uniform
x. It keeps the pair with probability exp(-k(k-1)/2) exp(-x(2k+x)/2). So the density of a kept pair is proportional to
exp(-(k+x)**2/2). Only the digits of x on which this decision depends are drawn. After the decision, further digits are
drawn until round(sigma |Z|) is certain.

For a whole number q, the rounding of q + sigma Z is q + round(sigma Z). So a table with this noise is a function of the
table with Gaussian noise of standard deviation sigma, and post-processing loses no privacy. Dong, Roth & Su 2022 (J. R.
Stat. Soc. B 84) state the loss of a table with Gaussian noise.

The docstring of `samplers` describes the tape, the conventions and the replay of rows. A digit has 16 bits and is one
lane of the tape. Arrays of digits are as long as the tape, so there is no cap on digits, and no number is truncated.

Nothing overflows int64:

- A tape has fewer than 2**25 lanes and every step of k takes a lane, so k < 2**25, k(k-1) < 2**50 and 2k + 2 < 2**32.
- In sigma = num/den, both numbers are below 2**32, so 2 num k + den < 2**59.
- `_round` shifts the width by 16 bits only while it is below 2 num < 2**33, so the width ends below 2**49. As `rest` is
  below the width, `rest` shifted by 16 bits, plus 2 num times a digit, is below 2**50. A `gap` below 2 num, shifted by
  16 bits, is below 2**49.
- The noise is at most sigma (k+1) + 1 < 2**58, values are below 2**62, and their sum is below 2**63.
"""

from fractions import Fraction
from typing import Final

import numpy as np
from numba import njit

from dpforest.privacy.randomness import SecretSource
from dpforest.privacy.samplers import _bernoulli_exp_unit, bernoulli_exp, run_tape, uniform

MAX_VALUE: Final = 2**62
_BITS: Final = 16  # bits of a digit
_L = np.int64


@njit(nogil=True, cache=True)
def _below(tape, at, fresh, known, n):
    """Compare a new uniform number with a number of n known digits; draw digits of both until the order is certain.

    Return whether the new number is lower, the number of drawn digits of the new number, the number of known digits of
    the other number, and the tape position.
    """
    i = 0
    while at < tape.size:
        fresh[i] = tape[at]
        at += 1
        if i == n:
            if at == tape.size:
                break
            known[i] = tape[at]
            at, n = at + 1, n + 1
        i += 1
        if fresh[i - 1] != known[i - 1]:
            return fresh[i - 1] < known[i - 1], i, n, at
    return False, i, n, tape.size


@njit(nogil=True, cache=True)
def _bernoulli_exp_digits(tape, at, k, digits, n):
    """Return True with probability exp(-x p), where p = (2k + x)/(2k + 2). `digits[0]` has n known digits of x.

    The method is von Neumann's series. Draw a run x > y1 > y2 > ... of uniform numbers, each of which must also pass a
    coin of probability p. The run reaches length j with probability (x p)**j / j!. The result is True if the length of
    the run is even. The coin draws one of the numbers 0 to 2k + 1. A 0 ends the run. A 1 ends the run unless a further
    uniform number is below x. All other numbers let the run go on.

    Also return the number of known digits of x, and the tape position.
    """
    x, y, spare = digits[0], digits[1], digits[2]
    even = True
    more, n_y, n, at = _below(tape, at, y, x, n)
    while more and at < tape.size:
        face, at = uniform(tape, at, 2 * k + 2)
        if face == 0:
            break
        if face == 1:
            more, _, n, at = _below(tape, at, spare, x, n)
            if not more:
                break
        even = not even
        more, n_spare, n_y, at = _below(tape, at, spare, y, n_y)
        y, spare, n_y = spare, y, n_spare
    return even, n, at


@njit(nogil=True, cache=True)
def _round(tape, at, k, num, den, x, n):
    """Return floor(num/den (k + x) + 1/2) for a uniform x with n known digits; draw more digits until it is certain.

    Let x' in [0, 1) be the number that has the digits of x that were not read yet. At each step, num/den (k + x) + 1/2
    equals z + (rest + 2 num x') / width. Once 2 num <= width, the result depends only on whether x' reaches gap / (2
    num).
    """
    slope, width = 2 * num, 2 * den
    z = (slope * k + den) // width
    rest = slope * k + den - z * width
    i = 0
    while slope > width and at < tape.size:
        if i < n:
            digit = _L(x[i])
        else:
            digit = _L(tape[at])
            at += 1
        width = width << _BITS
        rest = (rest << _BITS) + slope * digit
        z += rest // width
        rest = rest % width
        i += 1
    gap = width - rest
    while 0 < gap < slope and at < tape.size:
        if i < n:
            digit = _L(x[i])
        else:
            digit = _L(tape[at])
            at += 1
        gap = gap << _BITS
        edge = gap // slope
        if digit != edge:
            return (z + 1 if digit > edge else z), at
        gap -= edge * slope
        i += 1
    return (z + 1 if gap == 0 else z), at


@njit(nogil=True, cache=True)
def rounded_gaussian(tape, at, num, den, digits):
    """Draw round(num/den Z) for a standard normal Z; `digits` is scratch space of shape (3, lanes of the tape).

    The sign is drawn separately. A separate sign is exact, because Z = 0 and ties of the rounding have probability 0.
    """
    while at < tape.size:
        k = 0
        while at < tape.size:
            more, at = _bernoulli_exp_unit(tape, at, 1, 2)
            if not more:
                break
            k += 1
        kept, at = bernoulli_exp(tape, at, k * (k - 1), 2)
        n, trial = 0, 0
        while kept and trial <= k and at < tape.size:  # k + 1 trials succeed with probability exp(-x(2k+x)/2)
            kept, n, at = _bernoulli_exp_digits(tape, at, k, digits, n)
            trial += 1
        if not kept:
            continue
        z, at = _round(tape, at, k, num, den, digits[0], n)
        sign, at = uniform(tape, at, 2)
        return (z if sign == 0 else -z), at
    return 0, at


@njit(nogil=True, cache=True)
def _rounded_gaussian_kernel(tape, row, values, num, den, out):
    """Write values + noise to `out`. What `samplers` calls a row is here one cell of `values`."""
    at = 0
    digits = np.empty((3, tape.size), np.uint16)
    while row < values.size:
        z, end = rounded_gaussian(tape, at, num, den, digits)
        if end >= tape.size:
            break
        out[row] = values[row] + z
        row, at = row + 1, end
    return row, at


def draw_rounded_gaussian(values: np.ndarray, sigma: Fraction, source: SecretSource) -> np.ndarray:
    """Return round(values + sigma Z), where Z holds independent standard normal numbers.

    Parameters
    ----------
    values : int array, any shape
        Whole numbers above -2**62 and below 2**62.
    sigma : Fraction or int
        Standard deviation before the rounding, positive; numerator and denominator below 2**32.
    source : SecretSource
        Fresh entropy of the operating system.

    Returns
    -------
    int64 array of the same shape
        Noisy values, each with a separate draw.

    Raises
    ------
    ValueError
        If a value is not a whole number or is too large, or if sigma is not an exact fraction or is out of bounds.
    """
    values = np.asarray(values)
    if values.dtype.kind not in "iu":
        raise ValueError("values must be whole numbers.")
    if values.size and (values.min() <= -MAX_VALUE or values.max() >= MAX_VALUE):
        raise ValueError("values must lie above -2**62 and below 2**62.")
    if isinstance(sigma, bool) or not isinstance(sigma, int | Fraction):
        raise ValueError(f"sigma must be an exact fraction, not {sigma!r}.")
    if not (0 < sigma.numerator < 2**32 and sigma.denominator < 2**32):
        raise ValueError(f"{sigma} is not a positive rational of 32-bit numbers.")
    flat = np.ascontiguousarray(values, np.int64).reshape(values.size)
    out = np.empty(values.size, np.int64)
    run_tape(_rounded_gaussian_kernel, values.size, source, flat, sigma.numerator, sigma.denominator, out)
    return out.reshape(values.shape)
