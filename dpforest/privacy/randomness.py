"""The sources of noise: the operating system for a release, a seed for a demonstration.

The seed of the trees' structure does not affect the noise. A release takes fresh bytes at every call and keeps none of
them, so nobody can recompute the noise from a fitted object, a pickle or a forked process. In a demonstration, every
draw has a key, such as the id of a row. The draw depends only on the seed, on this key, and on the stream (a number
for the purpose of the draws), not on the order of the draws.
"""

import os
from typing import Final, NoReturn

import numpy as np
from numba import njit

from dpforest.privacy.hashing import GOLDEN, MIX_1, mix, word_at

# Numbers of streams. Each purpose has a separate stream, so that two purposes never have the same draws.
ASSIGNMENT: Final = 1
LABELS: Final = 2
COUNTS: Final = 3
SPLITS: Final = 4


class SecretSource:
    """Fresh entropy of the operating system, for releases.

    The source has no state: every call asks the system, so two processes after a fork never share a draw. Pickling or
    copying the source raises TypeError, so a fitted object that holds a source cannot be stored by mistake.
    """

    __slots__ = ()

    def words(self, n: int) -> np.ndarray:
        """Return n fresh words of 64 bits, as a uint64 array of shape (n,)."""
        return np.frombuffer(bytearray(os.urandom(8 * n)), np.uint64)

    def reasons(self) -> tuple[str, ...]:
        """Return an empty tuple, because a forest with noise from this source may be certified."""
        return ()

    def __reduce_ex__(self, protocol: object) -> NoReturn:
        raise TypeError("The secret source of a release cannot be copied or stored.")

    def __copy__(self) -> NoReturn:
        self.__reduce_ex__(None)

    def __deepcopy__(self, memo: object) -> NoReturn:
        self.__reduce_ex__(None)


class DemoSource:
    """A source whose draws depend only on a seed, a stream and a key, for demonstrations.

    The draws can be repeated. Whoever knows the seed can compute the noise, so the noise protects nobody.

    Parameters
    ----------
    seed : int
        Seed of all draws, at least 0 and below 2**64.
    """

    __slots__ = ("seed",)

    def __init__(self, seed: int) -> None:
        if not 0 <= int(seed) < 2**64:
            raise ValueError(f"A seed must lie between 0 and 2**64 - 1, not {seed!r}.")
        self.seed = int(seed)

    def words(self, keys: np.ndarray, stream: int) -> np.ndarray:
        """Return one word of 64 bits for each key (integers, any shape), as a uint64 array of the same shape."""
        keys = np.asarray(keys).astype(np.uint64)
        with np.errstate(over="ignore"):  # the hash overflows by design; without the JIT, numpy warns of overflow
            return _keyed(stream_state(self.seed, stream), keys.reshape(keys.size)).reshape(keys.shape)

    def reasons(self) -> tuple[str, ...]:
        """Return the reason why a forest with noise from this source is not certified."""
        return (
            "The noise comes from a seed (random_state), so that a demonstration can be repeated: whoever knows or "
            "guesses the seed can take the noise away.",
        )


def source_for(random_state: int | None) -> SecretSource | DemoSource:
    """Return the operating system's source if `random_state` is None, and the source of a demonstration otherwise."""
    return SecretSource() if random_state is None else DemoSource(random_state)


def stream_state(seed: int, stream: int) -> np.uint64:
    """Return the state at which a stream begins: a hash of seed and stream, so that streams differ."""
    with np.errstate(over="ignore"):
        # Compiled code returns a word as a Python int. Without `np.uint64`, the next call would take this int as int64.
        a, b = np.uint64(mix(np.uint64(seed) + GOLDEN)), np.uint64(mix(np.uint64(stream) * MIX_1 + GOLDEN))
        return np.uint64(mix(a ^ b))


@njit(nogil=True, cache=True)
def _keyed(state, keys):
    out = np.empty(keys.size, np.uint64)
    for i in range(keys.size):
        out[i] = word_at(state, keys[i])
    return out
