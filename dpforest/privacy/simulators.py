"""Fast simulations of releases, in floats and from a seed, for demonstrations.

A simulation is never a release. The random number of a leaf (or of a cell) depends only on the seed, on the number of
the leaf and, for a table, on the key of the table. So if the counts of one leaf change, the draws of all other leaves
stay the same.
"""

from typing import Final

import numpy as np
from numba import njit

from dpforest.privacy.hashing import word_at
from dpforest.privacy.laws import MOST_EXPONENT
from dpforest.privacy.randomness import COUNTS, LABELS, stream_state

_MODES: Final = {
    "permute-and-flip": 0,
    "exponential": 1,
    "global-01": 2,
    "smooth-sensitivity": 3,
    "smooth-sensitivity-clamped": 4,
}
_S11, _S32 = np.uint64(11), np.uint64(32)
_U = np.uint64
_LOW: Final = np.uint64(0xFFFFFFFF)
_UNIT: Final = 2.0**-53


def simulate_labels(
    counts: np.ndarray, mechanism: str, rate: float, seed: int, *, leaves: np.ndarray | None = None
) -> np.ndarray:
    """Draw one label for each leaf by the law of a mechanism.

    Parameters
    ----------
    counts : int array of shape (n_leaves, n_classes)
        Number of rows of each class in each leaf.
    mechanism : str
        A certified or a published mechanism.
    rate : float
        κ for a certified mechanism; the ε of each tree for a published mechanism.
    seed : int
        Seed of all draws, at least 0 and below 2**64.
    leaves : int array of shape (n_leaves,), optional
        Numbers of the leaves, by default 0, 1, 2, ... The draw of a leaf depends only on its counts, the seed and this
        number.

    Returns
    -------
    uint8 array of shape (n_leaves,)
        Class that each leaf draws.
    """
    counts = np.ascontiguousarray(counts, np.int64)
    out = np.empty(len(counts), np.uint8)
    with np.errstate(over="ignore"):
        kernel = _two_classes if counts.shape[1] == 2 else _many_classes
        kernel(counts, _MODES[mechanism], float(rate), stream_state(seed, LABELS), _keys(len(counts), leaves), out)
    return out


def _keys(n: int, numbers: np.ndarray | None, each: int = 1) -> np.ndarray:
    """Return uint64 keys of n draws: by default 0..n-1, otherwise `each` keys for each of `numbers`."""
    if numbers is None:
        return np.arange(n, dtype=np.uint64)
    return (np.asarray(numbers, np.uint64)[:, None] * _U(each) + np.arange(each, dtype=np.uint64)).reshape(n)


def simulate_noisy_counts(
    counts: np.ndarray, scale: float, seed: int, *, key: int = 0, leaves: np.ndarray | None = None
) -> np.ndarray:
    """Add discrete Laplace noise of this scale to counts (int64). Tables with different keys have different draws."""
    counts = np.ascontiguousarray(counts, np.int64)
    out = np.empty(counts.size, np.int64)
    with np.errstate(over="ignore"):
        keys = _keys(counts.size, leaves, counts.shape[1])
        _discrete(counts.reshape(counts.size), float(scale), stream_state(seed, COUNTS + (key << 8)), keys, out)
    return out.reshape(counts.shape)


def simulate_rounded_gaussian(values: np.ndarray, sigma: float, seed: int, *, key: int = 0) -> np.ndarray:
    """Return int64 values + round(sigma Z), Z standard normal. Tables with different keys have different draws."""
    values = np.ascontiguousarray(values, np.int64)
    out = np.empty(values.size, np.int64)
    with np.errstate(over="ignore"):
        _gaussian(values.reshape(values.size), float(sigma), stream_state(seed, COUNTS + (key << 8)), out)
    return out.reshape(values.shape)


def simulate_laplace(counts: np.ndarray, scale: float, seed: int, *, leaves: np.ndarray | None = None) -> np.ndarray:
    """Return float64 counts with continuous Laplace noise of this scale (Bojarski et al., algorithm 2)."""
    counts = np.ascontiguousarray(counts, np.int64)
    out = np.empty(counts.size, np.float64)
    with np.errstate(over="ignore"):
        keys = _keys(counts.size, leaves, counts.shape[1])
        _continuous(counts.reshape(counts.size), float(scale), stream_state(seed, COUNTS), keys, out)
    return out.reshape(counts.shape)


@njit(nogil=True, cache=True)
def _unit(word):
    """Return a uniform number in (0, 1)."""
    return (np.float64(word >> _S11) + 0.5) * _UNIT


@njit(nogil=True, cache=True)
def exponent(mode, rate, gap):
    """Return ln(weight of a top label / weight of any other label) for a top label that leads by `gap`.

    Only mechanisms that give the same weight to all labels below the top have this exponent.
    """
    if mode == 2:
        return rate
    a = 0.5 * rate * np.exp(min(rate * gap, 700.0))
    return min(a, MOST_EXPONENT) if mode == 4 else a


@njit(nogil=True, cache=True)
def _two_classes(counts, mode, rate, state, keys, out):
    """Write a label of each leaf with two classes to `out`. `mode` is a value of `_MODES`."""
    for leaf in range(counts.shape[0]):
        lead = counts[leaf, 1] - counts[leaf, 0]
        top, gap = (1, lead) if lead > 0 else (0, -lead)
        if gap == 0:
            flip = 0.5
        elif mode == 0:
            flip = 0.5 * np.exp(-rate * gap)
        elif mode == 1:
            flip = 1.0 / (1.0 + np.exp(min(rate * gap, 700.0)))
        else:
            flip = 1.0 / (1.0 + np.exp(min(exponent(mode, rate, gap), 700.0)))
        out[leaf] = top ^ (_unit(word_at(state, keys[leaf])) < flip)


@njit(nogil=True, cache=True)
def _many_classes(counts, mode, rate, state, keys, out):
    """Write a label of each leaf to `out`, for any number of classes. `mode` is a value of `_MODES`."""
    n, k = counts.shape
    for leaf in range(n):
        word = word_at(state, keys[leaf])
        top_count = counts[leaf].max()
        if top_count == 0:  # every mechanism is uniform on an empty leaf
            out[leaf] = ((word & _LOW) * _U(k)) >> _S32
        elif mode <= 1:
            # The label has the largest count with noise. With exponential noise, this is permute-and-flip. With Gumbel
            # noise, it is the exponential mechanism.
            best, label = -np.inf, 0
            for c in range(k):
                noise = -np.log(_unit(word_at(word, _U(c))))
                if mode == 1:
                    noise = -np.log(noise)
                if rate * (counts[leaf, c] - top_count) + noise > best:
                    best, label = rate * (counts[leaf, c] - top_count) + noise, c
            out[leaf] = label
        else:
            tied, second_count = 0, -1
            for c in range(k):
                if counts[leaf, c] == top_count:
                    tied += 1
                elif counts[leaf, c] > second_count:
                    second_count = counts[leaf, c]
            gap = top_count - second_count if tied == 1 else 0
            other_weight = (k - tied) * np.exp(-exponent(mode, rate, gap))
            among_top = _unit(word) * (tied + other_weight) < tied
            pick = ((word_at(word, _U(0)) & _LOW) * _U(tied if among_top else k - tied)) >> _S32
            label, index = 0, -1
            for c in range(k):
                if (counts[leaf, c] == top_count) == among_top:
                    index += 1
                    if index == np.int64(pick):
                        label = c
            out[leaf] = label


@njit(nogil=True, cache=True)
def _discrete(counts, scale, state, keys, out):
    """Add noise to each count: 0 with its probability, and otherwise a random sign times 1 + a geometric number."""
    q = np.exp(-1.0 / scale)
    zero = -np.expm1(-1.0 / scale) / (1.0 + q)
    for i in range(counts.size):
        word = word_at(state, keys[i])
        u = _unit(word)
        if u < zero:
            out[i] = counts[i]
        else:
            size = 1 + np.int64(-scale * np.log((1.0 - u) / (1.0 - zero)))
            out[i] = counts[i] + (size if word & _U(1) else -size)


@njit(nogil=True, cache=True)
def _continuous(counts, scale, state, keys, out):
    for i in range(counts.size):
        word = word_at(state, keys[i])
        size = -scale * np.log(_unit(word))
        out[i] = counts[i] + (size if word & _U(1) else -size)


@njit(nogil=True, cache=True)
def _gaussian(values, sigma, state, out):
    """Compute each normal number from two uniform numbers (Box and Muller)."""
    for i in range(values.size):
        word = word_at(state, _U(i))
        size, turn = np.sqrt(-2.0 * np.log(_unit(word))), _unit(word_at(word, _U(0)))
        out[i] = values[i] + np.int64(np.rint(sigma * size * np.cos(2.0 * np.pi * turn)))
