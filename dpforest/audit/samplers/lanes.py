"""Check the compiled `bernoulli` and `uniform` on every value of a lane, and on a sample if a draw takes two lanes.

A tape is an array of random 16-bit numbers, its lanes. `bernoulli` compares a uniform number with p/q. Each lane is one
digit of the number in base 65,536. A lane below the digit of p/q means yes, and a lane above this digit means no. If
the two digits are equal, the function compares the next lane with the next digit of p/q. So the function is exact if it
is exact for each lane in turn. `uniform` assigns the same number of lane values to each number below n, and skips the
remaining values.

A lane decides a draw if the function reads no further lane. (If a draw reaches the end of a tape, the draw is void.)
"""

from collections.abc import Iterator
from fractions import Fraction
from typing import Final

import numpy as np
from numba import njit

from dpforest.privacy.samplers import bernoulli, uniform

LANES: Final = 65_536
_DEPTH: Final = 4  # number of consecutive lanes that the check of `bernoulli` tries
_NEXT_LANE: Final = 7  # value of all later lanes
_PAIRS: Final = (
    *((p, q) for q in range(1, 9) for p in range(q + 1)),
    *((p, q) for q in (65_535, 65_536, 65_537, 2**32 - 5, 2**47 - 1) for p in (0, 1, 2, q // 3, q - 2, q - 1, q)),
)  # fmt: skip
_LARGE: Final = (65_537, 100_003, 2**24, 2**31 - 1, 2**31, 2**31 + 1, 3 * 2**30, 2**32 - 5, 2**32 - 2, 2**32 - 1)


def check_lanes(*, whole: bool = True) -> Iterator[str]:
    """Yield a message for each mistake in `bernoulli` and `uniform`.

    Parameters
    ----------
    whole : bool
        True: uniform numbers below every n up to 65,536, in twenty seconds. False: n below 300 and some larger n. If n
        is above 65,536, a number takes two lanes. The check covers 100,000 of these n (5,000 if False), and for each n
        it tries numbers around the last number that `uniform` accepts.
    """
    for p, q in _PAIRS:
        for start in (0, 3):
            yield from _bernoulli(p, q, start)
    larger = (511, 1_000, 5_120, 32_767, 32_769, 51_200, 65_535, 65_536)
    for n in range(1, LANES + 1) if whole else (*range(1, 300), *larger):
        if not _is_uniform(n, np.empty(n, np.int64), np.empty(4, np.uint16)):
            yield f"uniform numbers below {n:,}: not every one has as many lanes as the others"
    for n in _LARGE:
        yield from _large(n)
    for n in np.unique(np.geomspace(LANES + 1, 2**32 - 1, 100_000 if whole else 5_000).astype(np.int64)).tolist():
        if not _ends_rightly(n, np.full(5, _NEXT_LANE, np.uint16)):
            yield f"uniform numbers below {n:,}: numbers around the last fair one count or do not count as they should"


def _bernoulli(p: int, q: int, start: int) -> Iterator[str]:
    """Check how often `bernoulli` says yes and no for p/q after 1 to 4 lanes, which begin at tape position `start`."""
    tape = np.full(start + _DEPTH + 1, _NEXT_LANE, np.uint16)
    yes = no = Fraction(0)
    for depth in range(1, _DEPTH + 1):
        last_place = start + depth - 1
        says_yes, says_no, undecided = _lanes_of_bernoulli(tape, start, last_place, p, q)
        yes, no = yes + Fraction(says_yes, LANES**depth), no + Fraction(says_no, LANES**depth)
        digits = p * LANES**depth // q
        n_undecided = int(p < q)  # if p = q, the first lane decides
        if yes != Fraction(digits, LANES**depth) or no != 1 - Fraction(digits + n_undecided, LANES**depth):
            yield f"a coin of {p}/{q}: after {depth} lanes it is yes with {yes} and no with {no}"
            return
        if not n_undecided:
            return
        tape[last_place] = undecided


@njit(nogil=True, cache=True)
def _lanes_of_bernoulli(tape, start, place, p, q):
    """Return how many values of the lane at `place` mean yes, how many mean no, and the last value of neither kind."""
    yes, no, undecided = 0, 0, 0
    for lane in range(LANES):
        tape[place] = lane
        hit, at = bernoulli(tape, start, p, q)
        if at != place + 1:
            undecided = lane
        elif hit:
            yes += 1
        else:
            no += 1
    return yes, no, undecided


@njit(nogil=True, cache=True)
def _is_uniform(n, hits, tape):
    """Return whether each number has 65,536 // n lane values, and a skipped lane has no effect on the next lane."""
    hits[:] = 0
    skipped = -1
    for lane in range(LANES):
        tape[0], tape[1] = lane, _NEXT_LANE
        x, at = uniform(tape, 0, n)
        if at == 1:
            if x < 0 or x >= n:
                return False
            hits[x] += 1
        else:
            skipped = lane
    for x in range(n):
        if hits[x] != LANES // n:
            return False
    if skipped < 0:
        return True
    for lane in range(0, LANES, 1 if n <= 300 else 199):
        tape[0], tape[1] = lane, _NEXT_LANE
        x, at = uniform(tape, 0, n)
        tape[0], tape[1], tape[2] = skipped, lane, _NEXT_LANE
        x_after_skip, at_after_skip = uniform(tape, 0, n)
        if (at == 1) != (at_after_skip == 2) or (at == 1 and x_after_skip != x):
            return False
    return True


@njit(nogil=True, cache=True)
def _ends_rightly(n, tape):
    """Return whether `uniform` accepts exactly the two-lane numbers below the largest multiple of n up to 2**32.

    The check tries numbers around that multiple and at both ends of the range.
    """
    fair = (1 << 32) - (1 << 32) % n
    for number in (0, n - 1, n, fair - n, fair - 1, fair, fair + 1, (1 << 32) - 1):
        if number >= 1 << 32:
            continue
        tape[0], tape[1] = number >> 16, number & 0xFFFF
        x, at = uniform(tape, 0, n)
        if (at == 2) != (number < fair) or (at == 2 and x != number % n):
            return False
    return True


def _large(n: int) -> Iterator[str]:
    """Check `uniform` for a large n, on random numbers and on numbers around the largest multiple of n up to 2**32.

    The function must accept exactly the numbers below this multiple, and return an accepted number modulo n.
    """
    fair = 2**32 // n * n
    random_numbers = np.random.default_rng(n).integers(0, 2**32, 2_000, np.uint64).tolist()
    tape = np.full(5, _NEXT_LANE, np.uint16)
    for number in (0, 1, n - 1, n, fair - 1, fair, fair + 1, 2**32 - 1, *random_numbers):
        if number < 2**32:
            tape[:2] = number >> 16, number & 0xFFFF
            x, at = uniform(tape, 0, n)
            if (at == 2) != (number < fair) or (at == 2 and x != number % n):
                yield f"uniform numbers below {n:,}: {number:,} should {'count' if number < fair else 'not count'}"
                return
