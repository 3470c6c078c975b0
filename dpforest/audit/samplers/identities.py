"""Check that the samplers' source has exactly the intended laws, without random draws and without tolerance.

Stand-ins replace the functions that a sampler calls, and return every possible answer with its intended probability.
These answers determine the probability of every result of the sampler, as a sum of powers of 1/e (`branches`). This
probability must equal the probability under the law. The same method shows that the called functions have the intended
probabilities, down to the two functions that read random numbers, which `lanes` checks. `bridge` checks that the
compiled kernels equal this source.

The inputs are small tables, some of which have large counts or large gaps. The source has no branch that depends on the
size of an input, so the identities hold for all inputs that `samplers` admits. If somebody added such a branch, the
check would detect a mistake in it only for inputs that the check tries.

A coin of p, in this module, is a draw that succeeds with probability p.
"""

from collections.abc import Iterator
from fractions import Fraction
from functools import partial
from math import factorial
from typing import Any, Final

import numpy as np

from dpforest.audit.samplers.branches import OPEN, Draws, Sum, law_of, power, rebound
from dpforest.audit.samplers.choice_identities import labels, splits
from dpforest.audit.samplers.oracles import Case, Law, Oracles, Unread, filled, messages
from dpforest.privacy import samplers

_SCALES: Final = ((1, 1), (2, 1), (1, 2), (3, 2), (5, 3), (2, 3), (7, 4))
_COUNTS: Final = (0, 1, 2, 50, 65_535, 65_536, 2**31 - 1)
_NOISE: Final = (0, 1, -1, 2, -2, -50, 13, -13, 1_000, -65_536, 2**40, -(2**40))


def check_identities(*, whole: bool = True) -> Iterator[str]:
    """Yield a message for each mistake in the samplers' source.

    Parameters
    ----------
    whole : bool
        True: all inputs, in half a minute. False: a few inputs of each kind, in two seconds.
    """
    yield from messages((_series, _coins, _noise, _cells, labels, splits), whole)


# ---------------------------------------------------------------- coins


def _series(whole: bool) -> Iterator[Case]:
    """Yield checks of coins of exp(-a/b) for a <= b. The first 40 trials of a coin bound exp(-a/b) to within 1/38!."""
    for a, b in ((0, 1), (1, 1), (1, 2), (2, 3), (999, 1_000), (12_345, 65_536), (2**32 - 18, 2**32 - 17), (1, 2**31)):
        yield f"a coin of exp(-{a}/{b})", partial(_by_series, a, b), {}


def _by_series(a: int, b: int) -> Law:
    """Raise ValueError unless the bounds after 40 trials are narrow and enclose exp(-a/b)."""

    def run(draws: Draws) -> bool:
        oracles = Oracles(draws)
        return bool(rebound(samplers._bernoulli_exp_unit, bernoulli=oracles.bernoulli)(Unread(), 0, a, b)[0])

    pmf = law_of(run, rounds=40, most=40)
    completed = {result: Fraction(weight.terms.get(0, 0)) for result, weight in pmf.items()}
    low, high = completed.get(True, Fraction(0)), 1 - completed.get(False, Fraction(0))
    x = Fraction(a, b)
    below = sum(((-x) ** j / factorial(j) for j in range(60)), Fraction(0))  # the last term is negative
    above = below + x**60 / factorial(60)
    if low > above or high < below or high - low > Fraction(1, factorial(38)):
        raise ValueError(f"it has a probability from {float(low):.9g} to {float(high):.9g}, not {float(below):.9g}")
    return {}


def _coins(whole: bool) -> Iterator[Case]:
    """Yield identities of coins of exp(-a/b), composed of coins for the whole part and for the fraction of a/b."""
    small = ((0, 7), (3, 7), (7, 7), (8, 7), (13, 1), (90, 7), (300, 1))
    for a, b in (*small, (2**32 - 17, 2**32 - 5), (2**38 + 1, 2**31)):
        yield f"a coin of exp(-{a}/{b})", partial(_coin_by_parts, a, b), {True: power(a, b), False: 1 - power(a, b)}


def _coin_by_parts(a: int, b: int) -> Law:
    def run(draws: Draws) -> bool:
        oracles = Oracles(draws)
        return bool(rebound(samplers.bernoulli_exp, _bernoulli_exp_unit=oracles.unit)(Unread(), 0, a, b)[0])

    return law_of(run, rounds=10_000, most=10_000)


# ---------------------------------------------------------------- noise


def _noise(whole: bool) -> Iterator[Case]:
    """Yield identities of noise: values up to 50 scales in one round of the loop, and values near 0 in two rounds."""
    for num, den in (*_SCALES, (12, 1), (19, 13)) if whole else _SCALES[:4]:
        for most, rounds in ((50, 1), (3, 2)) if whole else ((20, 1), (2, 2)):
            what = f"noise of scale {num}/{den}, {rounds} rounds"
            yield what, partial(_law_of_noise, num, den, most, rounds), _noise_law(num, den, most, rounds)


def _law_of_noise(num: int, den: int, most: int, rounds: int) -> Law:
    """Return the law of noise values that the sampler reaches with at most `most` successive coins of exp(-1)."""

    def run(draws: Draws) -> Any:
        oracles, hits = Oracles(draws), 0

        def unit(tape: Any, at: int, a: int, b: int) -> tuple[bool, int]:
            nonlocal hits
            hits += 1
            success, at = oracles.unit(tape, at, a, b)
            hits = hits if success else 0
            return (success, at) if hits <= most else (success, Unread.size)  # a longer geometric part voids the draw

        names = {"uniform": oracles.uniform, "bernoulli_exp": oracles.bernoulli_exp, "_bernoulli_exp_unit": unit}
        z, at = rebound(samplers.discrete_laplace, **names)(Unread(), 0, num, den)
        return int(z) if at < Unread.size else OPEN

    pmf = law_of(run, rounds=rounds)
    reach = num * most // den - 1
    return {z: weight for z, weight in pmf.items() if z != OPEN and abs(z) <= reach}


def _noise_law(num: int, den: int, most: int, rounds: int) -> Law:
    """Return the law of noise after some rounds, for all z up to a bound that depends on `most`.

    A round yields z with probability (1 - 1/e)/(2 num) Σ exp(-(|z| den + j)/num), summed over j = 0, ..., den - 1.
    """
    factor = (1 - power(1, 1)) * Fraction(1, 2 * num)

    def of_round(z: int) -> Sum:
        return sum((power(abs(z) * den + j, num) for j in range(den)), Sum()) * factor

    # A round is void if the sampler rejects its uniform number u, or if it yields a negative zero.
    void = sum((1 - power(u, num) for u in range(num)), Sum()) * Fraction(1, num) + of_round(0)
    expected_rounds, reach_probability = Sum(), Sum({0: 1})
    for _ in range(rounds):
        expected_rounds, reach_probability = expected_rounds + reach_probability, reach_probability * void
    reach = num * most // den - 1
    return {z: of_round(z) * expected_rounds for z in range(-reach, reach + 1)}


def _cells(whole: bool) -> Iterator[Case]:
    """Yield checks that noise has the same law for every count, and that a row gets into each tree equally often."""
    counts, chance = np.array(_COUNTS), Sum({0: Fraction(1, len(_NOISE))})
    for count in _COUNTS:
        cells = np.array([count], np.int64)
        pmf = {(count + z,): chance for z in _NOISE}
        yield f"a count of {count:,} with noise", partial(_law_of_cells, cells), pmf
    pairs = {(int(counts[2]) + z, int(counts[5]) + w): chance * chance for z in _NOISE for w in _NOISE}
    yield "two counts with noise", partial(_law_of_cells, counts[[2, 5]]), pairs
    for n in (1, 2, 3, 10, 65_535) if whole else (1, 3, 1_000):
        pmf = {(i,): Sum({0: Fraction(1, n)}) for i in range(n)}
        yield f"a row among {n:,} trees", partial(_law_of_trees, n, 1), pmf
    pairs = {(i, j): Sum({0: Fraction(1, 9)}) for i in range(3) for j in range(3)}
    yield "two rows among 3 trees", partial(_law_of_trees, 3, 2), pairs


def _law_of_cells(counts: np.ndarray) -> Law:
    def run(draws: Draws) -> tuple[int, ...]:
        def noise(tape: Any, at: int, num: int, den: int) -> tuple[int, int]:
            if (num, den) != (7, 4):
                raise ValueError(f"noise of scale {num}/{den} is drawn, not of scale 7/4")
            return draws.pick("noise", lambda: [(z, Sum({0: Fraction(1, len(_NOISE))})) for z in _NOISE]), at + 1

        kernel = rebound(samplers._discrete_laplace_kernel, discrete_laplace=noise)
        return filled(kernel, len(counts), counts, 7, 4)

    return law_of(run, rounds=len(counts))


def _law_of_trees(n_trees: int, n_rows: int) -> Law:
    def run(draws: Draws) -> tuple[int, ...]:
        kernel = rebound(samplers._assign_kernel, uniform=Oracles(draws).uniform)
        return filled(kernel, n_rows, n_trees)

    return law_of(run, rounds=n_rows)
