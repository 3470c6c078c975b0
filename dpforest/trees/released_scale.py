"""Released distribution functions of the numeric attributes, on the public scale.

Rows are counted in three nested histograms of 4, 16 and 64 equal cells of an attribute's known codes. Noise is added
elsewhere (`dpforest.models.preparation`). All that follows from the noisy counts is computed in integers, so that all
machines get the same bits. If the counts are only noise, the function is the public scale itself.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Final

import numpy as np
from numba import njit

from dpforest.limits import BLOCK_ROWS, N_CODES
from dpforest.tables.domain import Domain

LEVELS: Final = 3
CELLS: Final = 4**LEVELS
TOP: Final = 2**32
_PUBLIC: Final = np.arange(CELLS + 1, dtype=np.int64) * (TOP // CELLS)


@dataclass(frozen=True, eq=False)
class ReleasedScale:
    """Distribution functions of the numeric attributes of a domain.

    Parameters
    ----------
    cumulative : int64 array of shape (n_numeric, 65)
        Distribution functions out of 2**32, at the borders of 64 equal cells of known codes; linear inside a cell.
    """

    cumulative: np.ndarray

    @classmethod
    def of_shares(cls, shares: np.ndarray) -> "ReleasedScale":
        """Build from the share of each cell, out of 2**32: int64 (n_numeric, 64)."""
        return cls(np.concatenate([np.zeros((len(shares), 1), np.int64), np.cumsum(shares, axis=1)], axis=1))

    @property
    def shares(self) -> np.ndarray:
        """Share of each cell, out of 2**32: int64 (n_numeric, 64)."""
        return np.diff(self.cumulative, axis=1)

    def of_features(self, domain: Domain) -> np.ndarray:
        """Return `cumulative` for every attribute of the domain, int64 (n_features, 65); 0 for categorical ones."""
        out = np.zeros((domain.n_features, CELLS + 1), np.int64)
        out[[f.kind == "numeric" for f in domain.features]] = self.cumulative
        return out

    def mixed(self, weight: Fraction) -> "ReleasedScale":
        """Return the mixture with the public scale, which has this weight."""
        a, b = weight.numerator, weight.denominator
        return ReleasedScale((self.cumulative * (b - a) + _PUBLIC * a) // b)


def scale_histograms(domain: Domain, codes: Any) -> np.ndarray:
    """Count rows in each of 64 cells of each numeric attribute, exactly: curator only, until noise is added.

    Parameters
    ----------
    domain : Domain
    codes : uint16 array of shape (n, n_features)
        Codes of `Domain.encode`.

    Returns
    -------
    int64 array of shape (n_numeric, 64)
        Number of rows in each cell; a row with a missing value is in no cell.
    """
    numeric = np.flatnonzero([f.kind == "numeric" for f in domain.features])
    first = np.array([f.first_code for f in domain.features], np.int64)[numeric]
    counts = np.zeros((len(numeric), CELLS), np.int64)
    if len(numeric):
        for start in range(0, max(len(codes), 1), BLOCK_ROWS):  # also for a table without rows
            _count(np.ascontiguousarray(codes[start : start + BLOCK_ROWS]), numeric, first, counts)
    return counts


@njit(nogil=True, cache=True)
def _count(codes, numeric, first, counts):
    for i in range(codes.shape[0]):
        for k in range(len(numeric)):
            above = np.int64(codes[i, numeric[k]]) - first[k]
            if above >= 0:
                counts[k, above * CELLS // (N_CODES - first[k])] += 1


def nested(cells: np.ndarray) -> np.ndarray:
    """Return counts of 64 cells as three histograms in rows of 4: int64 (n_numeric * 21, 4), coarse levels first.

    >>> nested(np.ones((1, 64), np.int64))[:6].tolist()
    [[16, 16, 16, 16], [4, 4, 4, 4], [4, 4, 4, 4], [4, 4, 4, 4], [4, 4, 4, 4], [1, 1, 1, 1]]
    """
    n = len(cells)
    levels = [cells.reshape(n, 4**level, -1).sum(axis=2).reshape(n, -1, 4) for level in range(1, LEVELS + 1)]
    return np.ascontiguousarray(np.concatenate(levels, axis=1).reshape(-1, 4))


def scale_from(noisy: np.ndarray, noise_scale: Fraction) -> ReleasedScale:
    """Return the distribution functions that follow from noisy counts; nothing private is read.

    Parameters
    ----------
    noisy : int64 array of shape (n_numeric * 21, 4)
        Counts in the order of `nested`, with noise.
    noise_scale : Fraction
        Scale t of the discrete Laplace noise on each count.

    Returns
    -------
    ReleasedScale
    """
    rows = sum(4**level for level in range(LEVELS))
    attributes = noisy.reshape(-1, rows, 4).tolist()
    return ReleasedScale(
        np.array([released_cdf(rows, noise_scale) for rows in attributes], np.int64).reshape(-1, CELLS + 1)
    )


def released_cdf(counts: Sequence[Sequence[int]], noise_scale: Fraction) -> list[int]:
    """Return the distribution function at the borders of 64 cells: 65 whole numbers from 0 to 2**32.

    Each cell is divided among its four parts by weight: the noisy count, but at least 0, plus a prior of half of two
    standard deviations of the noise.

    Parameters
    ----------
    counts : sequence of sequences of int
        Noisy counts of the four parts of each cell, for one attribute of `nested`.
    noise_scale : Fraction
        Scale of the discrete Laplace noise in the counts, in rows.

    Returns
    -------
    list of int
        Cumulative share at each border, rising, as numerators over 2**32.

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


@njit(nogil=True, cache=True)
def known_below(cumulative, first, code):
    """Return the share of the known rows below a code, from `first` to 65,536, out of 2**32."""
    n = N_CODES - first
    at = (code - first) * CELLS
    cell, rest = at // n, at % n
    below = cumulative[cell]
    if rest:
        below += (cumulative[cell + 1] - below) * rest // n
    return below


@njit(nogil=True, cache=True)
def mass_below(cumulative, first, code):
    """Return `known_below` including the strip of missing values, which has its mass on the public scale."""
    if code <= first:
        return code << 16
    below = known_below(cumulative, first, code)
    return (first << 16) + below - (first * below >> 16)


@njit(nogil=True, cache=True)
def code_at(cumulative, first, mass, low, high):
    """Return the largest code from `low` to `high` with at most this mass below it; `low` if there is none."""
    while low < high:
        middle = (low + high + 1) // 2
        if mass_below(cumulative, first, middle) <= mass:
            low = middle
        else:
            high = middle - 1
    return low


@njit(nogil=True, cache=True)
def quantile_code(cumulative, first, part, parts):
    """Return the least code with at least the share part / parts of the known rows below it."""
    low, high = first, N_CODES
    while low < high:
        middle = (low + high) // 2
        if known_below(cumulative, first, middle) * parts >= part * TOP:
            high = middle
        else:
            low = middle + 1
    return low
