"""Check that compiled samplers equal their Python source, and that a cut tape yields the results of an endless tape.

A tape is an array of random 16-bit numbers (lanes), from which a sampler makes its draws. A kernel is a compiled loop
that draws the results of many rows from a tape. `identities` checks the Python source of the kernels. This module runs
the compiled kernels and the source on the same random tapes, some of which are short. Both must stop at the same row
and tape position with the same results.

A tape may end within a draw. Then the kernel is called again with a tape that begins with the lanes of the unfinished
draw. The results must equal those of an endless tape. This shows that no fresh draw replaces an unfinished draw.
"""

import functools
from collections.abc import Callable, Iterator
from typing import Any, Final

import numpy as np
from numba.core.dispatcher import Dispatcher

from dpforest.audit.samplers.branches import rebound
from dpforest.privacy import gaussian, samplers, selection
from dpforest.privacy.randomness import SecretSource

Case = tuple[Any, int, tuple]  # kernel, number of rows, arguments between the row and `out`
_ROWS: Final = 4
_RATIOS: Final = ((1, 1), (1, 8), (3, 7), (40, 1), (2**32 - 5, 2**32 - 17), (1, 2**32 - 1), (2**32 - 1, 3), (0, 1))


def check_bridge(*, n_tapes: int = 2_000, cuts: int = 64) -> Iterator[str]:
    """Yield a message for each difference between compiled kernels and source, or between cut and endless tapes.

    Parameters
    ----------
    n_tapes : int
        Number of random tapes for each kernel.
    cuts : int
        Largest length of a piece of tape, in lanes. The check cuts an endless tape at each length from 1 to `cuts`.
    """
    rng = np.random.default_rng(20_004)
    for number in range(n_tapes):
        tape = random_tape(rng)
        for case in _cases(rng):
            compiled, source = _results_on_tape(case[0], case, tape), _results_on_tape(as_python(case[0]), case, tape)
            if compiled != source:
                yield f"{_name(case)}: compiled it gives {compiled} on tape {number}, its source {source}"
    tape = rng.integers(0, 2**16, 4_096).astype(np.uint16)
    for case in _cases(rng):
        endless = _results_on_tape(case[0], case, tape)[2]
        for cut in range(1, cuts + 1):
            if _results_in_pieces(case, tape, cut) != endless:
                yield f"{_name(case)}: cut after {cut} lanes a tape gives something else"
    yield from _supply(rng, cuts)
    yield from _words()


def random_tape(rng: np.random.Generator) -> np.ndarray:
    """Draw up to 300 lanes. Some lanes are as low or as high as possible, so that rare paths run."""
    tape = rng.integers(0, 2**16, rng.integers(0, 300))
    extreme = rng.choice([0, 1, 2**15, 2**16 - 2, 2**16 - 1], tape.size)
    return np.where(rng.random(tape.size) < rng.choice([0.0, 0.3, 0.9]), extreme, tape).astype(np.uint16)


def _cases(rng: np.random.Generator) -> Iterator[Case]:
    """Yield a random input for each kernel."""
    k = int(rng.integers(1, 6))
    counts = rng.integers(0, rng.choice([2, 30, 2**31]), (_ROWS, k))
    num, den = _RATIOS[rng.integers(len(_RATIOS))]
    small_counts = np.minimum(counts, 40)  # splits refuse large gaps, whose products would overflow
    scale = max(num, 1)
    allowed = rng.random(counts.shape) < 0.6
    allowed[:, 0] |= ~allowed.any(axis=1)
    yield samplers._assign_kernel, _ROWS, (int(rng.choice([1, 2, 3, 77, 65_535])),)
    yield samplers._permute_and_flip_kernel, _ROWS, (counts, num, den, np.zeros(k, np.int64))
    yield samplers._exponential_kernel, _ROWS, (counts, num, den, int(rng.choice([1, 2**31])))
    yield samplers._discrete_laplace_kernel, counts.size, (counts.reshape(counts.size), scale, den)
    yield gaussian._rounded_gaussian_kernel, counts.size, (counts.reshape(counts.size) - 2**30, scale, den)
    yield selection._choose_kernel, _ROWS, (20 - small_counts, allowed, num, den, np.zeros(k, np.int64))


def _name(case: Case) -> str:
    return case[0].__name__


def _results_on_tape(kernel: Callable, case: Case, tape: np.ndarray) -> tuple[int, int, list[int]]:
    """Return the row and the tape position at which the kernel stops, and the results of the finished rows."""
    out = np.full(case[1], -1, np.int64)
    row, at = kernel(tape, 0, *case[2], out)
    return int(row), int(at), out[:row].tolist()


def _results_in_pieces(case: Case, tape: np.ndarray, cut: int) -> list[int]:
    """Return the results of a kernel that gets a tape in pieces of `cut` lanes."""
    out, row, begin, end = np.full(case[1], -1, np.int64), 0, 0, cut
    while row < case[1] and end <= tape.size:
        row, at = case[0](tape[begin:end], row, *case[2], out)
        begin, end = begin + at, end + cut
    return out[:row].tolist()


def as_python(kernel: Any) -> Callable:
    """Return a kernel as plain Python, which calls the plain Python source of all other kernels."""
    return _python(kernel) if isinstance(kernel, Dispatcher) else kernel


@functools.lru_cache(maxsize=64)
def _python(kernel: Dispatcher) -> Callable:
    calls = {name: kernel.py_func.__globals__.get(name) for name in kernel.py_func.__code__.co_names}
    return rebound(kernel, **{name: _python(value) for name, value in calls.items() if isinstance(value, Dispatcher)})


# ---------------------------------------------------------------- supply of tapes


class _OneStream(SecretSource):
    """Source that yields one prepared sequence of words, whatever the sizes of the requests."""

    __slots__ = ("_place", "_words")

    def __init__(self, words: np.ndarray) -> None:
        self._words, self._place = words, 0

    def words(self, n: int) -> np.ndarray:
        self._place += n
        return self._words[self._place - n : self._place].copy()


def _supply(rng: np.random.Generator, cuts: int) -> Iterator[str]:
    """Check that `run_tape` yields the results of one endless tape, for any number of lanes in each piece of tape."""
    words = rng.integers(0, 2**64, 8_192, np.uint64)
    for case in _cases(rng):
        endless = _results_on_tape(case[0], case, words.view(np.uint16))[2]
        for lanes in (*range(4, cuts + 1, 4), samplers.LANES):
            out = np.full(case[1], -1, np.int64)
            rebound(samplers.run_tape, LANES=lanes)(case[0], case[1], _OneStream(words), *case[2], out)
            if out.tolist() != endless:
                yield f"{_name(case)}: fed with {lanes} lanes at a time it gives something else"
    words = rng.integers(0, 2**64, 40_000, np.uint64)
    many_rows: Case = samplers._assign_kernel, 150_000, (1_000,)
    out = np.full(many_rows[1], -1, np.int64)
    samplers.run_tape(many_rows[0], many_rows[1], _OneStream(words), *many_rows[2], out)
    if out.tolist() != _results_on_tape(many_rows[0], many_rows, words.view(np.uint16))[2]:
        yield f"{_name(many_rows)}: {many_rows[1]:,} rows do not take their lanes one after another"


def _words() -> Iterator[str]:
    """Check that each byte of a word comes from the system exactly once, and that each call gets new bytes."""
    system_bytes = np.random.default_rng(1).bytes(2**17)
    n_read = 0

    class System:
        @staticmethod
        def urandom(n: int) -> bytes:
            nonlocal n_read
            n_read += n
            return system_bytes[n_read - n : n_read]

    words = rebound(SecretSource.words, os=System)
    words_as_bytes = b"".join(words(SecretSource(), n).tobytes() for n in (1, 0, 3, 32, 33, 8_192))
    if words_as_bytes != system_bytes[: 8 * (1 + 3 + 32 + 33 + 8_192)] or n_read != len(words_as_bytes):
        yield "the words of a release are not the system's bytes, one after another"
