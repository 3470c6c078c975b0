"""Exact checks of the sampler of round(sigma Z) for a standard normal Z, without random draws.

The sampler draws a whole number k and a fraction x from 0 to 1, so that |Z| = k + x. The checks run the source of the
sampler as Python. Stand-ins replace the functions that the source calls, and return every possible answer (`branches`).
The checks show five facts:

- To compare two uniform numbers, the sampler reads digits of both in turn, and stops when the result is certain.
- For fixed k and x, the function `_bernoulli_exp_digits` (below: the series) returns True with probability exp(-x p),
  where p = (2k + x)/(2k + 2).
- The sampler proposes and keeps a pair (k, x) with a density proportional to exp(-(k+x)**2/2). The check proves an
  identity in powers of 1/e.
- The sampler rounds a pair exactly, from as few digits as possible.
- The whole sampler is correct (`gaussian_bits`).
"""

import itertools
import math
from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import partial
from typing import Any, Final

import numpy as np

from dpforest.audit.samplers.branches import OPEN, Draws, Sum, law_of, power, rebound
from dpforest.audit.samplers.bridge import as_python
from dpforest.audit.samplers.gaussian_bits import together
from dpforest.audit.samplers.oracles import Case, Law, Oracles, Unread, messages
from dpforest.privacy import gaussian

_BASE: Final = 65_536
_SIGMAS: Final = ((1, 3), (3, 2), (7, 4), (40, 1), (5_000, 1), (2**32 - 1, 1), (1, 2**32 - 1), (2**32 - 5, 2**32 - 17))
_XS: Final = (0, Fraction(1, 3), Fraction(1, 2), Fraction(7, 8), Fraction(_BASE - 1, _BASE), 1)


def check_gaussian(*, whole: bool = True) -> Iterator[str]:
    """Yield a message for each mistake in the sampler's source.

    Parameters
    ----------
    whole : bool
        True: all inputs, in half a minute. False: a few inputs of each kind, in two seconds.
    """
    yield from messages((_comparisons, _series, _proposals, _roundings, together), whole)


# ---------------------------------------------------------------- digits


def _comparisons(whole: bool) -> Iterator[Case]:
    """Yield checks of the comparison of two uniform numbers: a new number, and a number with 0 to 3 known digits.

    As known digits and as tapes, the checks use all short sequences of the digits 0, 1 and 65,535.
    """
    digits, most = (0, 1, _BASE - 1), 6 if whole else 5
    for n in range(4):
        for known in itertools.product(digits, repeat=n):
            yield f"a comparison with a number of the digits {known}", partial(_compared, known, digits, most), {}


def _compared(known: tuple[int, ...], digits: tuple[int, ...], most: int) -> Law:
    below = as_python(gaussian._below)
    for lanes in itertools.product(digits, repeat=most):
        unread = iter(lanes)
        new: list[int] = []
        old, is_certain = list(known), True
        while is_certain and new == old[: len(new)]:
            try:
                new.append(next(unread))
                if len(old) < len(new):
                    old.append(next(unread))
            except StopIteration:
                is_certain = False
        tape = np.array([9, *lanes, 5], np.uint16)[:-1]
        new_digits, old_digits = np.zeros(9, np.uint16), np.zeros(9, np.uint16)
        old_digits[: len(known)] = known
        answer, n_fresh, n_known, at = below(tape, 1, new_digits, old_digits, len(known))
        if not is_certain:
            if at != tape.size:
                raise ValueError(f"with the lanes {lanes} the comparison ends before it is certain")
        elif (answer, at) != (new < old, 1 + len(new) + len(old) - len(known)):
            raise ValueError(f"with the lanes {lanes} the answer is {answer} after {at - 1} of them")
        elif new_digits[:n_fresh].tolist() != new or old_digits[:n_known].tolist() != old:
            raise ValueError(f"with the lanes {lanes} the digits that are kept differ from those that were read")
    return {}


# ---------------------------------------------------------------- series


def _series(whole: bool) -> Iterator[Case]:
    """Yield checks that the series returns True with probability exp(-x (2k + x)/(2k + 2)), for some k and x.

    The series draws a run x > y1 > y2 > ... of uniform numbers. In each step, it also draws one of the numbers 0 to
    2k + 1, which are called faces, like those of a die.
    """
    for k, steps in ((0, 16), (1, 9), (2, 9), (9, 9)) if whole else ((0, 10), (1, 5), (5, 6)):
        for x in _XS:
            yield f"the series of k = {k} and x = {x}", partial(_by_runs, k, Fraction(x), steps), {}


def _by_runs(k: int, x: Fraction, steps: int) -> Law:
    """Raise ValueError unless, after `steps` steps, the bounds on P(True) are narrow and enclose the right value."""
    pmf = law_of(partial(_run, k, x, steps), most=10_000)
    completed = {result: Fraction(weight.terms.get(0, 0)) for result, weight in pmf.items()}
    low, high = completed.get(True, Fraction(0)), 1 - completed.get(False, Fraction(0))
    product = x * (2 * k + x) / (2 * k + 2)
    above = sum(((-product) ** j / math.factorial(j) for j in range(41)), Fraction(0))
    below = above - product**41 / math.factorial(41)
    if low > above or high < below or high - low > x * product ** (steps - 1) / math.factorial(steps):
        raise ValueError(f"it has a probability from {float(low):.9g} to {float(high):.9g}, not {float(above):.9g}")
    return {}


def _run(k: int, x: Fraction, steps: int, draws: Draws) -> Any:
    place: dict[str, int | None] = {"x": 0}  # place of each number in the run x > y1 > y2 > ...
    length = {"x": 3}  # number of known digits of each number
    turns = 0

    def below(tape: Any, at: int, fresh: str, known: str, n: int) -> tuple[bool, int, int, int]:
        j = place.get(known)
        if j is None or fresh in ("x", known) or n != length[known]:
            raise ValueError(f"a number is compared with {known}, of {n} digits, where that is not the last of the run")
        # The new number is below x with probability x. If it is below x, then it is the smallest of j + 1 uniform
        # numbers below x with probability 1/(j + 1).
        chance = Sum({0: x / (j + 1)})
        hit = draws.pick(("below", known, len(place)), lambda: [(True, chance), (False, 1 - chance)])
        length[fresh], length[known] = 1 + turns % 2, n + 1
        if known != "x":
            place[known] = None  # `known` is no longer the last of the run, so it must not be compared again
        place[fresh] = j + 1 if hit else None
        return hit, length[fresh], length[known], at + 1

    def uniform(tape: Any, at: int, n: int) -> tuple[int, int]:
        nonlocal turns
        if n != 2 * k + 2:
            raise ValueError(f"a face of {n} is drawn where k = {k}")
        turns += 1
        faces = [(face, Sum({0: Fraction(1, n)})) for face in range(min(2, n))]
        if n == 4:
            faces += [(face, Sum({0: Fraction(1, n)})) for face in (2, 3)]
        elif n > 4:  # one face represents all remaining faces; it changes from turn to turn
            faces += [(2 + 7 * turns % (n - 2), Sum({0: Fraction(n - 2, n)}))]
        if turns >= steps:
            return draws.pick("too long", lambda: [(0, Sum({0: 1}))]), Unread.size
        return draws.pick(("face", turns), lambda: faces), at + 1

    source = rebound(gaussian._bernoulli_exp_digits, _below=below, uniform=uniform)
    answer, n, at = source(Unread(), 0, k, ("x", "y", "z"), 3)
    if at >= Unread.size:
        return OPEN
    if n != length["x"]:
        raise ValueError(f"x is said to have {n} digits, but it has {length['x']}")
    return bool(answer)


# ---------------------------------------------------------------- pairs


def _proposals(whole: bool) -> Iterator[Case]:
    """Yield checks that for a fixed x, a round keeps (k, sign) with a probability proportional to exp(-(k+x)**2/2)."""
    for x in [Fraction(x) for x in (_XS if whole else _XS[:3])]:
        for most, rounds in ((7, 1), (2, 2)):
            start = 1 - power(1, 2)
            once = {
                sign * (k + 1): start * _exp((k + x) ** 2 / 2) * Fraction(1, 2)
                for k in range(most + 1)
                for sign in (1, -1)
            }
            void = sum((start * (_exp(Fraction(k, 2)) - _exp((k + x) ** 2 / 2)) for k in range(most + 1)), Sum())
            times = Sum({0: 1}) if rounds == 1 else 1 + void
            pmf: Law = {result: weight * times for result, weight in once.items()}
            yield f"pairs with x = {x}, {rounds} rounds", partial(_law_of_pairs, x, most, rounds), pmf


def _exp(x: Fraction) -> Sum:
    return power(x.numerator, x.denominator)


def _law_of_pairs(x: Fraction, most: int, rounds: int) -> Law:
    def run(draws: Draws) -> Any:
        oracles, hits, length = Oracles(draws), 0, 0

        def trial(tape: Any, at: int, k: int, digits: Any, n: int) -> tuple[bool, int, int]:
            nonlocal length
            if n != length:
                raise ValueError(f"x is said to have {n} digits, but it has {length}")
            length += 1
            chance = _exp(x * (2 * k + x) / (2 * k + 2))
            return draws.pick(("trial", n), lambda: [(True, chance), (False, 1 - chance)]), length, at + 1

        def unit(tape: Any, at: int, a: int, b: int) -> tuple[bool, int]:
            nonlocal hits, length
            chance = power(a, b)
            success = draws.pick(("more", hits), lambda: [(True, chance), (False, 1 - chance)])
            hits, length = hits + 1 if success else 0, 0
            # A path with too many hits voids the draw.
            return (success, at + 1) if hits <= most else (success, Unread.size)

        def rounding(tape: Any, at: int, k: int, num: int, den: int, digits: Any, n: int) -> tuple[int, int]:
            if (num, den, digits, n) != (7, 4, "x", length):
                raise ValueError("another number is rounded than the one that was kept")
            return k + 1, at + 1

        names = {"uniform": oracles.uniform, "bernoulli_exp": oracles.bernoulli_exp, "_bernoulli_exp_unit": unit}
        source = rebound(gaussian.rounded_gaussian, **names, _bernoulli_exp_digits=trial, _round=rounding)
        z, at = source(Unread(), 0, 7, 4, ("x", "y", "z"))
        return int(z) if at < Unread.size else OPEN

    return {z: weight for z, weight in law_of(run, rounds=rounds).items() if z != OPEN}


# ---------------------------------------------------------------- rounding


def _roundings(whole: bool) -> Iterator[Case]:
    """Yield checks of rounding, for random x, for x at or next to a border, and for several numbers of known digits."""
    for num, den in _SIGMAS:
        yield f"rounding at sigma = {num}/{den}", partial(_rounded_rightly, num, den, 60 if whole else 12), {}


def _rounded_rightly(num: int, den: int, n_borders: int) -> Law:
    rng, sigma, source = np.random.default_rng(num), Fraction(num, den), as_python(gaussian._round)
    for k in (0, 1, 3, 30, 2**24):
        least = math.floor(sigma * k + Fraction(1, 2))
        spread = math.floor(sigma) + 1
        for border in {least + int(spread * u) for u in rng.random(n_borders)} | {least, least + 1, least + spread}:
            x = (border - Fraction(1, 2)) / sigma - k  # |z| changes from border - 1 to border at this x
            near = math.floor(x * _BASE**5) if 0 <= x < 1 else int.from_bytes(rng.bytes(10), "little")
            for number in (near - 1, near, near + 1, near // _BASE**4 * _BASE**4, near | (_BASE**4 - 1)):
                if 0 <= number < _BASE**5:
                    digits = [number // _BASE**j % _BASE for j in (4, 3, 2, 1, 0)]
                    for n in (0, 1, 2, 5):
                        _one_rounding(source, k, num, den, digits, n)
    return {}


def _one_rounding(source: Callable, k: int, num: int, den: int, digits: list[int], n: int) -> None:
    """Check that after n known digits, the rounding reads further digits only until a single integer is possible."""
    sigma, half = Fraction(num, den), Fraction(1, 2)
    for used in range(n, 6):
        low = Fraction(sum(d * _BASE ** (used - 1 - i) for i, d in enumerate(digits[:used])), _BASE**used)
        first = math.floor(sigma * (k + low) + half)
        last = math.ceil(sigma * (k + low + Fraction(1, _BASE**used)) + half) - 1  # the interval excludes its upper end
        if first == last:
            break
    else:
        return
    x, tape = np.array([*digits[:n], *[77] * 5], np.uint16), np.array([*digits[n:], 1, 1], np.uint16)
    with np.errstate(over="raise"):
        z, at = source(tape, 0, k, num, den, x, n)
    if (z, at) != (first, used - n):
        raise ValueError(f"{k} + {low} gives {z} after {at} digits more, not {first} after {used - n}")
