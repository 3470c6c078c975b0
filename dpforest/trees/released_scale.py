"""Released distribution functions of the numeric attributes, on the public scale.

A code is the position of a value on the public scale of its attribute; codes of missing values are lower than all
others. Three nested histograms count the rows in 4, 16 and 64 equal cells of the codes of known values. Then
`dpforest.models.preparation` adds noise to the counts. The distribution function is computed from the noisy counts in
integers, so that all machines get the same bits. If no noisy count is above 0, the distribution is uniform on the
public scale.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Final

import numpy as np
from numba import njit

from dpforest.limits import BLOCK_ROWS, N_CODES
from dpforest.tables.domain import Domain

LEVELS: Final = 3  # number of nested histograms
CELLS: Final = 4**LEVELS  # number of cells of the finest histogram
TOP: Final = 2**32  # integer that stands for a share of 1
# Values of the uniform distribution function at the borders of the cells.
_PUBLIC: Final = np.arange(CELLS + 1, dtype=np.int64) * (TOP // CELLS)


@dataclass(frozen=True, eq=False)
class ReleasedScale:
    """Distribution functions of the numeric attributes of a domain.

    Parameters
    ----------
    cumulative : int64 array of shape (n_numeric, 65)
        Values of the distribution functions, times 2**32, at the borders of 64 equal cells of the codes of known
        values. The functions are linear inside a cell.
    """

    cumulative: np.ndarray

    @classmethod
    def of_shares(cls, shares: np.ndarray) -> "ReleasedScale":
        """Build a scale from the share of rows in each cell, times 2**32: int64 (n_numeric, 64)."""
        return cls(np.concatenate([np.zeros((len(shares), 1), np.int64), np.cumsum(shares, axis=1)], axis=1))

    @property
    def shares(self) -> np.ndarray:
        """Share of rows in each cell, times 2**32: int64 (n_numeric, 64)."""
        return np.diff(self.cumulative, axis=1)

    def of_features(self, domain: Domain) -> np.ndarray:
        """Return `cumulative` with a row for every attribute, int64 (n_features, 65); zeros if categorical."""
        out = np.zeros((domain.n_features, CELLS + 1), np.int64)
        out[[f.kind == "numeric" for f in domain.features]] = self.cumulative
        return out

    def mixed(self, weight: Fraction) -> "ReleasedScale":
        """Return a mixture of this distribution and the uniform distribution, which has the weight `weight`."""
        a, b = weight.numerator, weight.denominator
        return ReleasedScale((self.cumulative * (b - a) + _PUBLIC * a) // b)


def scale_histograms(domain: Domain, codes: Any, weight: np.ndarray | None = None) -> np.ndarray:
    """Count the rows in each of 64 cells of each numeric attribute. Only the data holder may see these exact counts.

    Parameters
    ----------
    domain : Domain
        Public schema, which determines the cells.
    codes : uint16 array of shape (n, n_features)
        Codes of `Domain.encode`.
    weight : int64 array of shape (n,), optional
        Amount that each row adds to a count; by default 1.

    Returns
    -------
    int64 array of shape (n_numeric, 64)
        Number of the rows in each cell, or the sum of their weights. A row with a missing value is in no cell.
    """
    numeric = np.flatnonzero([f.kind == "numeric" for f in domain.features])
    first = np.array([f.first_code for f in domain.features], np.int64)[numeric]
    counts = np.zeros((len(numeric), CELLS), np.int64)
    if len(numeric):
        for start in range(0, max(len(codes), 1), BLOCK_ROWS):  # at least one block, even without rows
            block = slice(start, start + BLOCK_ROWS)
            weights = None if weight is None else weight[block]
            _count(np.ascontiguousarray(codes[block]), weights, numeric, first, counts)
    return counts


@njit(nogil=True, cache=True)
def _count(codes, weight, numeric, first, counts):
    for i in range(codes.shape[0]):
        for k in range(len(numeric)):
            above = np.int64(codes[i, numeric[k]]) - first[k]
            if above >= 0:
                counts[k, above * CELLS // (N_CODES - first[k])] += 1 if weight is None else weight[i]


def nested_counts(cells: np.ndarray) -> np.ndarray:
    """Return three histograms of each attribute from counts of 64 cells: int64 (n_numeric * 21, 4).

    The 21 rows of an attribute are adjacent, with the coarsest histogram first. Each row has the counts of four
    adjacent cells. These are the four parts of one cell of the next coarser histogram or, in the coarsest histogram, of
    the whole range.

    >>> nested_counts(np.ones((1, 64), np.int64))[:6].tolist()
    [[16, 16, 16, 16], [4, 4, 4, 4], [4, 4, 4, 4], [4, 4, 4, 4], [4, 4, 4, 4], [1, 1, 1, 1]]
    """
    n = len(cells)
    levels = [cells.reshape(n, 4**level, -1).sum(axis=2).reshape(n, -1, 4) for level in range(1, LEVELS + 1)]
    return np.ascontiguousarray(np.concatenate(levels, axis=1).reshape(-1, 4))


def scale_from(noisy: np.ndarray, noise_scale: Fraction) -> ReleasedScale:
    """Compute the distribution functions from noisy counts alone. The function reads nothing private.

    Parameters
    ----------
    noisy : int64 array of shape (n_numeric * 21, 4)
        Counts in the order of `nested_counts`, with noise.
    noise_scale : Fraction
        Scale of the discrete Laplace noise on each count, in the unit of the counts. If the noise is Gaussian, give the
        scale of the Laplace noise that has the same variance.

    Returns
    -------
    ReleasedScale
        A distribution function for each numeric attribute.
    """
    n_parents = sum(4**level for level in range(LEVELS))
    attributes = noisy.reshape(-1, n_parents, 4).tolist()
    return ReleasedScale(
        np.array([released_cdf(counts, noise_scale) for counts in attributes], np.int64).reshape(-1, CELLS + 1)
    )


def released_cdf(counts: Sequence[Sequence[int]], noise_scale: Fraction) -> list[int]:
    """Return the distribution function at the borders of 64 cells: 65 whole numbers from 0 to 2**32.

    The share of a cell is divided among its four parts by weight. The weight of a part is its noisy count, at least 0,
    plus a prior. The prior is 7/10 of `noise_scale`, rounded up: about half of the standard deviation of the noise.

    Parameters
    ----------
    counts : sequence of sequences of int
        Noisy counts of the four parts of each cell, for one attribute, in the order of `nested_counts`.
    noise_scale : Fraction
        As in `scale_from`.

    Returns
    -------
    list of int
        Cumulative share at each border, in rising order, times 2**32.

    Examples
    --------
    >>> released_cdf([[0, 0, 0, 0]] * 21, Fraction(20))[:3]
    [0, 67108864, 134217728]
    >>> released_cdf([[9, 1, 0, 0]] + [[0] * 4] * 20, Fraction(1))[16]
    3067833782
    """
    prior = -(-7 * noise_scale.numerator // (10 * noise_scale.denominator))
    borders, first = [0, TOP], 0
    for level in range(LEVELS):
        finer = [0]
        for parent in range(4**level):
            low, width, below = borders[parent], borders[parent + 1] - borders[parent], 0
            weights = [max(count, 0) + prior for count in counts[first + parent]]
            for weight in weights:
                below += weight
                finer.append(low + width * below // sum(weights))
        borders, first = finer, first + 4**level
    return borders


@njit(nogil=True, cache=True, inline="always")
def known_below(cumulative, first, code):
    """Return the share of the rows with known values that lie below a code, times 2**32.

    The code is at least `first`, the lowest code of a known value, and at most 65,536.
    """
    n = N_CODES - first
    product = (code - first) * CELLS
    cell, remainder = product // n, product % n
    below = cumulative[cell]
    if remainder:
        below += (cumulative[cell + 1] - below) * remainder // n
    return below


@njit(nogil=True, cache=True, inline="always")
def mass_below(cumulative, first, code):
    """Return the share of all rows that lie below a code, times 2**32.

    The share of rows with missing values is not released. The function uses the share that the codes of missing values
    have among all codes.
    """
    if code <= first:
        return code << 16
    below = known_below(cumulative, first, code)
    return (first << 16) + below - (first * below >> 16)


@njit(nogil=True, cache=True)
def code_at(cumulative, first, mass, low, high):
    """Return the largest code from `low` to `high` with at most `mass` below it, or `low` if there is no such code.

    The function bisects. It first looks at the neighbors of a guess, which often leave only a few codes.
    """
    guess = _code_near(cumulative, first, mass)
    if low < guess - 1 <= high and mass_below(cumulative, first, guess - 1) <= mass:
        low = guess - 1
    if low <= guess + 1 < high and mass_below(cumulative, first, guess + 2) > mass:
        high = guess + 1
    while low < high:
        middle = (low + high + 1) // 2
        if mass_below(cumulative, first, middle) <= mass:
            low = middle
        else:
            high = middle - 1
    return low


@njit(nogil=True, cache=True)
def _code_near(cumulative, first, mass):
    """Return a code near the largest code with at most `mass` below it. Rounding of floats may shift it by a code."""
    if mass <= first << 16:
        return mass >> 16
    below = (mass - (first << 16)) / (1 - first / N_CODES)
    cell, last = 0, CELLS - 1
    while cell < last:
        middle = (cell + last + 1) // 2
        if cumulative[middle] <= below:
            cell = middle
        else:
            last = middle - 1
    width = max(cumulative[cell + 1] - cumulative[cell], 1)
    part = min((below - cumulative[cell]) / width, 1.0)
    return first + np.int64((cell + part) * ((N_CODES - first) / CELLS))


@njit(nogil=True, cache=True)
def quantile_code(cumulative, first, part, parts):
    """Return the lowest code with at least the share part / parts of the rows with known values below it."""
    low, high = first, N_CODES
    while low < high:
        middle = (low + high) // 2
        if known_below(cumulative, first, middle) * parts >= part * TOP:
            high = middle
        else:
            low = middle + 1
    return low
