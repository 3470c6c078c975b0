"""Tests of draws of rounded Gaussian noise: by the paper's algorithm in fractions, by chi-square tests, and at limits.

`tests/audit/test_exact_gaussian.py` shows, without a draw, that the parts of the sampler have the right probabilities.

Here, draws come from fixed random words, so a test passes always or never. On new random words, the nine chi-square
tests (p < 1e-8 each) together would fail by chance less than once in ten million runs.
"""

import math
import re
from fractions import Fraction

import numba
import numpy as np
import pytest
from numba.core import types
from scipy.special import ndtr

from dpforest.audit.samplers.bridge import random_tape
from dpforest.audit.samplers.tails import HIGH, Scripted, hit, miss, number
from dpforest.privacy import gaussian, samplers
from dpforest.privacy.gaussian import draw_rounded_gaussian, rounded_gaussian
from tests.conftest import every
from tests.privacy.test_samplers import FixedWords, StuckWords, p_value

JIT = not numba.config.DISABLE_JIT
DRAWS = 400_000 if JIT else 2_000
LEAST = 1e-8
HALF = Fraction(1, 2)
LARGEST = 2**32 - 1
SIGMAS = [Fraction(s) for s in ("1/3", "3/2", "40", "5000", "1/4294967295", "4294967295", "4294967291/4294967279")]


# ---------------------------------------------------------------- the paper, in fractions


class Void(Exception):
    """Error that is raised at the end of the tape, the array of random bits that a sampler reads."""


class Number:
    """A uniform number with some of its digits drawn: it lies in [low, low + width)."""

    def __init__(self):
        self.low, self.width = Fraction(0), Fraction(1)

    def refine(self, lane: int) -> None:
        self.width /= 65_536
        self.low += lane * self.width


class Paper:
    """Algorithm N of Karney 2016, which draws digits when it needs them, from the lanes (16-bit numbers) of a tape."""

    def __init__(self, tape, at=0):
        self.tape, self.at = tape, at

    def lane(self) -> int:
        if self.at >= len(self.tape):
            raise Void
        self.at += 1
        return int(self.tape[self.at - 1])

    def of_samplers(self, draw, *arguments):
        """Return a draw of one of the project's samplers that other tests show to be exact."""
        answer, self.at = draw(self.tape, self.at, *arguments)
        if self.at >= len(self.tape):
            raise Void
        return answer

    def less(self, new: Number, old: Number) -> bool:
        while True:
            new.refine(self.lane())
            while old.width > new.width:
                old.refine(self.lane())
            if new.low + new.width <= old.low:
                return True
            if old.low + old.width <= new.low:
                return False

    def step_b(self, k: int, x: Number) -> bool:
        """Return True with probability exp(-x (2k + x) / (2k + 2))."""
        y, n = x, 0
        while True:
            z = Number()
            if not self.less(z, y):
                break
            f = self.of_samplers(samplers.uniform, 2 * k + 2)
            if f == 0 or (f == 1 and not self.less(Number(), x)):
                break
            y, n = z, n + 1
        return n % 2 == 0

    def magnitude(self) -> tuple[int, Number]:
        while True:
            k = 0
            while self.of_samplers(samplers.bernoulli_exp, 1, 2):
                k += 1
            x = Number()
            if self.of_samplers(samplers.bernoulli_exp, k * (k - 1), 2) and all(
                self.step_b(k, x) for _ in range(k + 1)
            ):
                return k, x

    def noise(self, sigma: Fraction) -> tuple[int, int, Number]:
        """Return the rounded noise, its integer part k, and the drawn digits x of the fraction of |Z|."""
        k, x = self.magnitude()
        while True:
            first = math.floor(sigma * (k + x.low) + HALF)
            if first == math.ceil(sigma * (k + x.low + x.width) + HALF) - 1:
                break
            x.refine(self.lane())
        if self.of_samplers(samplers.uniform, 2):
            return -first, k, x
        return first, k, x


@pytest.mark.parametrize("sigma", every(2, SIGMAS), ids=str)
def test_the_sampler_reads_lane_for_lane_like_the_paper(sigma):
    """The sampler reads a tape lane for lane like the algorithm of the paper, even a tape of rare lanes."""
    rng, void, tapes = np.random.default_rng(9), 0, 3_000 if JIT else 300
    for _ in range(tapes):
        tape = random_tape(rng)
        scratch = np.full((3, tape.size), 77, np.uint16)
        drawn, at = rounded_gaussian(tape, 0, sigma.numerator, sigma.denominator, scratch)
        paper = Paper(tape)
        try:
            expected, k, x = paper.noise(sigma)
        except Void:
            assert at >= tape.size
            void += 1
            continue
        assert (drawn, at) == (expected, paper.at)
        sign = -1 if expected < 0 else 1
        for q in (-(2**40), -7, 1, 12):  # an integer shift of the mean shifts the rounded noise by the same integer
            z = sign * sigma * (k + x.low + x.width / 3)
            assert math.floor(q + z + HALF) == q + drawn
    assert 0 < void < tapes / 2


# ---------------------------------------------------------------- by chi-square, fixed words


def law(sigma: float, edges: np.ndarray) -> np.ndarray:
    """Return the probabilities of the intervals between edges, and of the two tails.

    Differences of tail probabilities keep small probabilities accurate.
    """
    cuts = (edges - 0.5) / sigma
    low, high = np.append(-np.inf, cuts), np.append(cuts, np.inf)
    return np.where(low > 0, ndtr(-low) - ndtr(-high), ndtr(high) - ndtr(low))


@pytest.mark.parametrize(
    "sigma", [Fraction(1, 3), Fraction(3, 2), Fraction(7, 4), Fraction(40), Fraction(5_000)], ids=str
)
def test_noise_follows_its_law(sigma):
    """Noise follows its law. The test would detect a sigma that is 2 % wrong, a wrong tail, or an uneven sign."""
    noise = draw_rounded_gaussian(np.zeros(DRAWS, int), sigma, FixedWords())
    assert noise.dtype == np.int64
    reach = math.ceil(6 * sigma) + 1
    edges = np.arange(-reach, reach + 1, max(1, int(sigma / 3)))
    observed = np.bincount(np.searchsorted(edges, noise, side="right"), minlength=len(edges) + 1)
    assert p_value(observed, law(float(sigma), edges)) > LEAST
    if JIT and sigma > 1:
        assert p_value(observed, law(1.02 * float(sigma), edges)) < LEAST, "this test would not notice a wrong sigma"


def test_low_digits_are_fair():
    """The low digits of the noise are uniform, even after a comparison has read some digits of x."""
    noise = draw_rounded_gaussian(np.zeros(DRAWS, int), Fraction(2**31), FixedWords())
    for step in (1, 2**8, 2**14):
        assert p_value(np.bincount(noise // step % 64, minlength=64), np.full(64, 1 / 64)) > LEAST


def test_neighboring_cells_are_independent():
    noise = np.abs(draw_rounded_gaussian(np.zeros((DRAWS, 2), int), Fraction(3), FixedWords()))
    share = np.bincount(np.minimum(noise[:, 0], 7)) / DRAWS
    pairs = np.minimum(noise[:, 0], 7) * 8 + np.minimum(noise[:, 1], 7)
    half = np.diff(2 * ndtr((np.arange(9) - 0.5) / 3) - 1)
    half[0], half[7] = 2 * ndtr(0.5 / 3) - 1, 2 * ndtr(-6.5 / 3)
    assert share.size == 8 and p_value(np.bincount(pairs, minlength=64), np.outer(half, half).ravel()) > LEAST


# ---------------------------------------------------------------- tails, shifts, limits


def forced(k: int, digits: list[int], sign: int) -> list[int]:
    """Return lanes on which the sampler draws k + 0.digits. The first digit must not be the largest possible one."""
    trials = [HIGH, digits[0], *[HIGH] * k]  # the first number of each trial is above x
    return [*hit(1, 2) * k, *miss(1, 2), *hit(k * (k - 1), 2), *trials, *digits[1:], *number(sign, 2)]


@pytest.mark.parametrize("k", [0, 1, 7, 30, 150])
def test_noise_of_negligible_probability_can_be_drawn(k):
    """The sampler can draw noise of probability exp(-150**2/2), so it does not clip noise."""
    for digits, sigma in (([5], Fraction(40)), ([40_000], Fraction(3, 7)), ([9, 8, 30_000], Fraction(LARGEST))):
        x = sum(Fraction(d, 65_536 ** (i + 1)) for i, d in enumerate(digits))
        expected = math.floor(sigma * (k + x) + HALF)
        for sign in (0, 1):
            noisy = draw_rounded_gaussian(np.array([3]), sigma, Scripted(forced(k, digits, sign)))
            assert noisy[0] == 3 + (-expected if sign else expected)


def test_a_border_is_followed_to_the_last_digit():
    """A comparison with the border of two integers reads as many digits as it needs.

    At sigma = 3/2, the border is x = 1/3, which is 0.5555... in base 16.
    """
    for n in (0, 3, 4, 40, 1_000):
        for last, expected in ((21_844, 0), (21_846, 1)):
            tape = forced(0, [*[21_845] * n, last], 0)
            assert draw_rounded_gaussian(np.array([0]), Fraction(3, 2), Scripted(tape))[0] == expected
    for x, expected in ((49_151, 0), (49_152, 1)):  # at sigma = 2/3 the border is 3/4, which rounds up
        assert draw_rounded_gaussian(np.array([0]), Fraction(2, 3), Scripted(forced(0, [x], 0)))[0] == expected


def test_integer_shifts_move_the_result_and_noise_grows_with_sigma():
    """The same words draw the same Z. So an integer shift moves the result exactly, and |noise| grows with sigma."""
    values = np.random.default_rng(2).integers(-(2**61), 2**61, (40, 5))
    noise = draw_rounded_gaussian(np.zeros_like(values), Fraction(77, 5), FixedWords())
    np.testing.assert_array_equal(draw_rounded_gaussian(values, Fraction(77, 5), FixedWords()), values + noise)
    for seed in range(200):
        sizes = [abs(draw_rounded_gaussian(np.array([0]), s, FixedWords(seed))[0]) for s in sorted(SIGMAS)]
        assert sizes == sorted(sizes)


def test_results_do_not_depend_on_where_the_tape_ends(monkeypatch):
    long = [draw_rounded_gaussian(np.arange(300), s, FixedWords()) for s in SIGMAS]
    for lanes in (4, 8, 20):
        monkeypatch.setattr(samplers, "LANES", lanes)
        for a, s in zip(long, SIGMAS, strict=True):
            np.testing.assert_array_equal(a, draw_rounded_gaussian(np.arange(300), s, FixedWords()))


def test_nothing_overflows_at_the_limits():
    """No integer overflows at the limits. The test forces far tails, and sets the integer part k directly.

    Without the compiler, numpy warns of overflows, and pytest turns warnings into errors.
    """
    top = gaussian.MAX_VALUE - 1
    for q in (top, -top):
        noisy = draw_rounded_gaussian(np.full(400, q), Fraction(LARGEST), FixedWords())
        assert {int(z) - q for z in noisy} == set(
            draw_rounded_gaussian(np.zeros(400, int), LARGEST, FixedWords()).tolist()
        )
    assert (draw_rounded_gaussian(np.full(400, top), Fraction(1, LARGEST), FixedWords()) == top).all()
    k, x = 2**25, np.array([HIGH, HIGH, HIGH], np.uint16)
    for num, den in ((LARGEST, 1), (LARGEST, 2), (LARGEST, LARGEST - 1), (LARGEST - 1, LARGEST), (1, LARGEST)):
        z, _ = gaussian._round(np.array([HIGH, HIGH], np.uint16), 0, k, num, den, x, 3)
        assert z == math.floor(Fraction(num, den) * (k + 1 - Fraction(1, 65_536**3)) + HALF)


@pytest.mark.parametrize("word", [0, 2**64 - 1])
def test_a_broken_source_is_an_error_and_not_a_silent_answer(monkeypatch, word):
    monkeypatch.setattr(samplers, "MAX_LANES", 2**12)
    monkeypatch.setattr(samplers, "LANES", 2**10)
    with pytest.raises(RuntimeError, match="source of randomness is broken"):
        draw_rounded_gaussian(np.zeros(3, int), Fraction(1), StuckWords(word))


def test_tables_of_any_shape_or_without_rows_are_drawn():
    assert draw_rounded_gaussian(np.zeros((0, 4), int), Fraction(2), FixedWords()).shape == (0, 4)
    table = np.arange(24).reshape(2, 3, 4)
    flat = draw_rounded_gaussian(table.ravel(), Fraction(2), FixedWords())
    np.testing.assert_array_equal(draw_rounded_gaussian(table, 2, FixedWords()), flat.reshape(table.shape))
    turned = np.asfortranarray(table.astype(np.uint8))
    np.testing.assert_array_equal(draw_rounded_gaussian(turned, 2, FixedWords()), flat.reshape(table.shape))


@pytest.mark.parametrize(
    "values, sigma, message",
    [
        ([1.0], Fraction(1), "whole numbers"),
        ([True], Fraction(1), "whole numbers"),
        ([2**62], Fraction(1), "below 2"),
        ([-(2**62)], Fraction(1), "above -2"),
        (np.array([2**64 - 1], np.uint64), Fraction(1), "below 2"),
        ([1], 1.5, "exact fraction"),
        ([1], True, "exact fraction"),
        ([1], Fraction(0), "positive rational"),
        ([1], Fraction(-1), "positive rational"),
        ([1], Fraction(2**32), "32-bit"),
        ([1], Fraction(1, 2**32), "32-bit"),
    ],
)
def test_bad_input_is_refused(values, sigma, message):
    with pytest.raises(ValueError, match=message):
        draw_rounded_gaussian(np.array(values), sigma, FixedWords())


@pytest.mark.skipif(not JIT, reason="needs the compiler")
def test_the_compiled_sampler_contains_no_float():
    lanes, whole, scratch = types.Array(types.uint16, 1, "C"), types.int64, types.Array(types.uint16, 2, "C")
    cells = types.Array(types.int64, 1, "C")
    for function, signature in (
        (gaussian._below, (lanes, whole, lanes, lanes, whole)),
        (gaussian._bernoulli_exp_digits, (lanes, whole, whole, scratch, whole)),
        (gaussian._round, (lanes, whole, whole, whole, whole, lanes, whole)),
        (rounded_gaussian, (lanes, whole, whole, whole, scratch)),
        (gaussian._rounded_gaussian_kernel, (lanes, whole, cells, whole, whole, cells)),
    ):
        fresh = numba.njit(function.py_func)
        fresh.compile(signature)
        inside = {str(kind) for kind in fresh.overloads[signature].type_annotation.typemap.values()}
        assert len(inside) > 3 and not any(re.search("float|complex", kind) for kind in inside), inside
        code = "\n".join(line for line in fresh.inspect_llvm(signature).splitlines() if " = " in line)
        assert not re.search(r"\b(double|float|half|x86_fp80)\b", code), function
