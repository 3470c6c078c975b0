"""Exact sampler of round(sigma Z) for a standard normal Z, in integers and without rounding errors.

The sampler is algorithm N of Karney 2016 (ACM Trans. Math. Softw. 42(1):3; arXiv 1303.6257). Write |Z| = k + x, where k
is a whole number and x is in [0, 1). The sampler proposes a k with probability proportional to exp(-k/2), and a uniform
x. It keeps the pair (k, x) with probability exp(-k(k-1)/2) exp(-x(2k+x)/2). So the density of a kept pair is
proportional to exp(-(k+x)**2/2). To decide whether it keeps the pair, the sampler draws only as many digits of x as it
needs. Then it draws further digits until round(sigma |Z|) is certain.

A cell of a table is a whole number q, and q + round(sigma Z) equals round(q + sigma Z). So a table with this noise is
the rounded copy of a table with Gaussian noise of standard deviation sigma. Dong, Roth & Su 2022 (J. R. Stat. Soc. B
84) state the privacy loss of Gaussian noise, and rounding a noisy table loses no further privacy.

Random bits come from a tape: an array of random 16-bit numbers, called lanes. A draw that reaches the end of the tape
is not valid, and is repeated on a longer tape that starts with the same lanes (see `samplers`). A digit of x is one
lane. Arrays of digits are as long as the tape, so they can hold all digits that are drawn.

Nothing overflows int64:

- A tape has fewer than 2**25 lanes, and raising k by 1 takes at least one lane. So k < 2**25, k(k-1) < 2**50 and 2k + 2
  < 2**32.
- In sigma = num/den, num and den are below 2**32, so 2 num k + den < 2**59.
- `_round` shifts `width` by 16 bits only while it is below 2 num < 2**33, so `width` ends below 2**49. Before a shift,
  `remainder` is below `width`, so also below 2**33. So `remainder` shifted by 16 bits, plus 2 num times a digit, is
  below 2**50. A `gap` below 2 num, shifted by 16 bits, is below 2**49.
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
    """Return whether a new uniform number is below a number with n known digits; draw digits until this is certain.

    The digits of the new number are written to `fresh`, and further digits of the other number to `known`. Return also
    the number of digits in `fresh`, the number of digits in `known`, and the tape position.
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

    The method is von Neumann's series. Draw uniform numbers y1, y2, ... as long as x > y1 > y2 > ... and as long as a
    coin shows heads for each number, with probability p. The probability that at least j numbers pass is (x p)**j / j!.
    The result is True if an even number of them passes, which has the probability exp(-x p).

    The coin is a uniform draw from 0 to 2k + 1. A 0 is tails. A 1 is heads if a further uniform number is below x. All
    other draws are heads.

    Return also the number of known digits of x, and the tape position.
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

    Let x' in [0, 1) be the number with those digits of x that the function has not read yet. At each step, num/den (k +
    x) + 1/2 equals z + (remainder + 2 num x') / width. Let gap = width - remainder. Once 2 num <= width, the result is
    z + 1 if x' is at least gap / (2 num), and otherwise z.
    """
    slope, width = 2 * num, 2 * den
    z = (slope * k + den) // width
    remainder = slope * k + den - z * width
    i = 0
    while slope > width and at < tape.size:
        if i < n:
            digit = _L(x[i])
        else:
            digit = _L(tape[at])
            at += 1
        width = width << _BITS
        remainder = (remainder << _BITS) + slope * digit
        z += remainder // width
        remainder = remainder % width
        i += 1
    gap = width - remainder
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

    The function rounds |Z| and draws the sign separately. The result is exact, because Z = 0 and a tie in the rounding
    have probability 0.
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
    """Write values + noise to `out`, from the cell `row` on, until the tape ends.

    Return the index of the first cell that is not finished, and the tape position after the last finished cell.
    """
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
