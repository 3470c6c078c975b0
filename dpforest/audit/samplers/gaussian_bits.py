"""Check the whole sampler of round(sigma Z) with digits of one bit; `gaussian` checks the functions of the sampler.

The check follows each path of the sampler until its probability is very small; then the path stays open. The
probability of a result is at least the sum of the probabilities of all completed paths to this result. It is at most
this sum plus the total probability of all open paths. Stand-ins (`branches`) answer only the coins of exp(-a/b), which
succeed with this probability, and the draws of `uniform`. All other random digits are the bits of a tape, and the
sampler must read each bit only once.
"""

import math
from collections.abc import Iterator
from functools import partial
from typing import Any, Final

import numpy as np

from dpforest.audit.samplers.branches import OPEN, Draws, Sum, Unfinished, law_of, rebound
from dpforest.audit.samplers.bridge import as_python
from dpforest.audit.samplers.oracles import Case, Law
from dpforest.privacy import gaussian

_REACH: Final = range(-20, 21)  # results that are checked: at least ten sigmas on each side
_ERROR: Final = 1e-10  # allowed rounding error of floats


def together(whole: bool) -> Iterator[Case]:
    """Yield checks of one round of the sampler with digits of one bit; stand-ins answer coins and `uniform`."""
    for num, den in ((1, 3), (3, 2), (2, 1)) if whole else ((3, 2),):
        yield f"all of sigma = {num}/{den}", partial(_bracketed, num, den, 5e-6 if whole else 2e-5), {}


def _bracketed(num: int, den: int, least: float) -> Law:
    """Raise ValueError unless the probability of each result lies between the two bounds from the paths.

    A round keeps (k, x) with the weight (1 - exp(-1/2)) exp(-(k+x)**2/2); each sign has half of this weight. So a round
    yields each result with the probability of the law times sqrt(pi/2) (1 - exp(-1/2)). With the remaining probability,
    the round keeps nothing (None).
    """
    least_chances = {result: _number(weight) for result, weight in law_of(partial(_with_bits, num, den, least)).items()}
    kept, step = math.sqrt(math.pi / 2) * (1 - math.exp(-0.5)), den / num
    law: dict[int | None, float] = {z: kept * (_normal((z + 0.5) * step) - _normal((z - 0.5) * step)) for z in _REACH}
    law[None] = 1 - kept
    totals = sum(law.values()), sum(least_chances.values())
    if any(abs(total - 1) > _ERROR for total in totals) or set(least_chances) - {OPEN, *law}:
        raise ValueError("the probabilities do not sum to 1, or a result is not a whole number")
    unknown = least_chances.pop(OPEN)
    for z, right in law.items():
        low = least_chances.get(z, 0.0)
        if not low - _ERROR <= right <= low + unknown + _ERROR:
            raise ValueError(f"{z} has a probability from {low:.6f} to {low + unknown:.6f}, not {right:.6f}")
    return {}


def _normal(x: float) -> float:
    return math.erf(x / math.sqrt(2)) / 2


def _chance(p: float) -> Sum:
    """Return p as a `Sum` with a float coefficient, for speed.

    The rounding error is far below the probability of open paths.
    """
    return Sum({0: p})  # type: ignore[dict-item]


def _number(weight: Sum) -> float:
    return float(weight.terms.get(0, 0))


class _Bits:
    """Tape (array of random numbers, its lanes) in which each lane has one bit."""

    size = 2**62

    def __init__(self, draws: Draws, least: float) -> None:
        self._draws, self._least, self._next = draws, least, 0

    def __getitem__(self, at: int) -> int:
        if at < self._next:
            raise ValueError("a lane is read twice")
        if _number(self._draws.weight) < self._least:
            raise Unfinished
        self._next = at + 1
        return self._draws.pick("bit", lambda: [(0, _chance(0.5)), (1, _chance(0.5))])


def _with_bits(num: int, den: int, least: float, draws: Draws) -> Any:
    """Return the result of one round, or None if it keeps nothing. Paths of a probability below `least` stay open."""
    hits, first = 0, True

    def coin(tape: Any, at: int, a: int, b: int) -> tuple[bool, int]:
        p = math.exp(-a / b)
        return draws.pick(("coin", a, b, hits), lambda: [(True, _chance(p)), (False, _chance(1 - p))]), at + 1

    def unit(tape: Any, at: int, a: int, b: int) -> tuple[bool, int]:
        nonlocal hits, first
        if hits == 0 and not first:
            raise _Again
        success, at = coin(tape, at, a, b)
        hits, first = hits + 1 if success else 0, False
        return success, at

    def uniform(tape: Any, at: int, n: int) -> tuple[int, int]:
        faces = [(0, _chance(1 / n)), (1, _chance(1 / n)), (n - 1, _chance(1 - 2 / n))]
        return draws.pick(("face", n), lambda: faces), at + 1

    names = {"uniform": uniform}
    series = rebound(gaussian._bernoulli_exp_digits, _below=as_python(gaussian._below), **names)
    pieces = {"_bernoulli_exp_digits": series, "_round": rebound(gaussian._round, _BITS=1)}
    source = rebound(gaussian.rounded_gaussian, _bernoulli_exp_unit=unit, bernoulli_exp=coin, **names, **pieces)
    try:
        return int(source(_Bits(draws, least), 0, num, den, np.empty((3, 64), np.uint16))[0])
    except _Again:
        return None


class _Again(Exception):
    """Raised when a second round begins."""
