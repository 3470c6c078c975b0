"""SplitMix64 (Steele, Lea and Flood 2014): the hash that turns a seed and a key into a draw.

Nothing secret depends on this hash: the noise of a release comes from the operating system
(`dpforest.privacy.randomness`).
"""

from typing import Any, Final

import numpy as np
from numba import njit

# 2**64 / (golden ratio). Each state of the stream is the previous state plus this number.
GOLDEN: Final = np.uint64(0x9E3779B97F4A7C15)
MIX_1: Final = np.uint64(0xBF58476D1CE4E5B9)
MIX_2: Final = np.uint64(0x94D049BB133111EB)
_S30, _S27, _S31 = np.uint64(30), np.uint64(27), np.uint64(31)
_ONE: Final = np.uint64(1)


def mixed(z: Any) -> Any:
    """Apply SplitMix64's output function, a permutation of the 64-bit words, to a word or to each word of an array.

    Reference: G. L. Steele, D. Lea, C. H. Flood, "Fast splittable pseudorandom number generators", OOPSLA 2014.

    >>> hex(mixed(np.array([0x9E3779B97F4A7C15], np.uint64))[0])
    '0xe220a8397b1dcdaf'
    """
    z = (z ^ (z >> _S30)) * MIX_1
    z = (z ^ (z >> _S27)) * MIX_2
    return z ^ (z >> _S31)


mix = njit(nogil=True, cache=True)(mixed)  # compiled version for kernels, which mix one word at a time


@njit(nogil=True, cache=True)
def word_at(state, key):
    """Return output number `key` (uint64) of the SplitMix64 stream from `state`, without computing other outputs."""
    return mix(state + (key + _ONE) * GOLDEN)
