"""Tests that exact samplers follow their laws, take only integers and never overflow.

The faster simulators, which draw by key, follow the same laws. Draws come from fixed random words, so a chi-square test
passes always or never. A single test uses the entropy of the system. It makes 12 comparisons at p < 1e-8 each, so it
fails by chance once in eight million runs.
"""

import re
from fractions import Fraction

import numba
import numpy as np
import pytest
from numba.core import types
from numba.core.dispatcher import Dispatcher
from scipy.stats import chi2, kstest

from dpforest.privacy import SecretSource, pmf, samplers
from dpforest.privacy.laws import CERTIFIED, PUBLISHED
from dpforest.privacy.noisy_counts import discrete_laplace_pmf, noisy_argmax_pmf
from dpforest.privacy.release import DRAW
from dpforest.privacy.samplers import (
    draw_exponential,
    draw_noisy_counts,
    draw_permute_and_flip,
    draw_uniform,
)
from dpforest.privacy.simulators import simulate_labels, simulate_laplace, simulate_noisy_counts

JIT = not numba.config.DISABLE_JIT
DRAWS = 200_000 if JIT else 3_000
TENTH = Fraction(1, 10)
AWKWARD = Fraction(4_294_967_291, 4_294_967_279)  # two primes just below 2**32


class FixedWords(SecretSource):
    """Source of random words from a seed, in place of the secret source."""

    __slots__ = ("_rng",)

    def __init__(self, seed=0):
        self._rng = np.random.default_rng(seed)

    def words(self, n):
        return self._rng.integers(0, 2**64, n, np.uint64)


class StuckWords(SecretSource):
    """Source that always returns the same word."""

    __slots__ = ("_word",)

    def __init__(self, word):
        self._word = word

    def words(self, n):
        return np.full(n, self._word, np.uint64)


def p_value(observed, probabilities):
    """Return the p-value of a chi-square test of counts against a law. Cells with small probability are joined."""
    expected = np.asarray(probabilities) * observed.sum()
    rare = expected < 10
    observed = np.append(observed[~rare], observed[rare].sum())
    expected = np.append(expected[~rare], expected[rare].sum())
    keep = expected > 0
    assert (observed[~keep] == 0).all()
    return chi2.sf(((observed - expected)[keep] ** 2 / expected[keep]).sum(), max(keep.sum() - 1, 1))


def label_p_value(labels, probabilities):
    return p_value(np.bincount(labels, minlength=len(probabilities)), probabilities)


def noise_p_value(noise, scale):
    reach = int(12 * scale) + 2
    width = max(1, int(scale / 4))  # width of the histogram cells
    z = np.arange(-reach, reach + 1)
    cell = lambda x: np.clip((x + reach) // width, 0, (2 * reach) // width)
    n_cells = (2 * reach) // width + 1
    expected = np.bincount(cell(z), discrete_laplace_pmf(z, scale), n_cells)
    return p_value(np.bincount(cell(noise), minlength=n_cells), expected / expected.sum())


# ---------------------------------------------------------------- integers only


@pytest.mark.skipif(not JIT, reason="needs the compiler")
def test_the_compiled_samplers_contain_no_float():
    counts = np.array([[3, 1], [0, 5]])
    source = FixedWords()
    draw_uniform(3, 7, source)
    draw_permute_and_flip(counts, TENTH, source)
    draw_exponential(counts, TENTH, source)
    draw_noisy_counts(counts, Fraction(10), source)
    kernels = {name: f for name, f in vars(samplers).items() if isinstance(f, Dispatcher)}
    assert len(kernels) == 9

    def integers_only(kind):
        if isinstance(kind, types.Array):
            return integers_only(kind.dtype)
        if isinstance(kind, types.BaseTuple):
            return all(integers_only(part) for part in kind)
        return isinstance(kind, types.Integer | types.Boolean)

    entry_points = [name for name in kernels if name.endswith("_kernel")]
    assert len(entry_points) == 4 and all(kernels[name].nopython_signatures for name in entry_points)
    for name, kernel in kernels.items():
        signatures = kernel.nopython_signatures or [
            (types.Array(types.uint16, 1, "C"), *[types.int64] * (kernel.py_func.__code__.co_argcount - 1))
        ]
        for signature in signatures:
            arguments = signature.args if hasattr(signature, "args") else signature
            assert all(integers_only(kind) for kind in arguments), (name, signature)
            fresh = numba.njit(kernel.py_func)  # compile again, because a kernel from the cache lacks its types
            fresh.compile(tuple(arguments))
            overload = fresh.overloads[tuple(arguments)]
            assert integers_only(overload.signature.return_type), name
            inside = {str(kind) for kind in overload.type_annotation.typemap.values()}
            assert len(inside) > 3 and not any(re.search("float|complex", kind) for kind in inside), (name, inside)
            code = "\n".join(line for line in fresh.inspect_llvm(tuple(arguments)).splitlines() if " = " in line)
            assert not re.search(r"\b(double|float|half|x86_fp80)\b", code), name


@pytest.mark.skipif(not JIT, reason="needs the compiler")
def test_the_float_check_detects_floats():
    fresh = numba.njit(lambda n: n / 2)
    fresh.compile((types.int64,))
    assert any("float" in str(kind) for kind in fresh.overloads[(types.int64,)].type_annotation.typemap.values())
    assert re.search(r"\bdouble\b", fresh.inspect_llvm((types.int64,)))


# ---------------------------------------------------------------- exact, by enumeration of all lanes

ALL_LANES = range(65_536) if JIT else range(0, 65_536, 17)


@pytest.mark.parametrize("p, q", [(1, 3), (0, 5), (5, 5), (12_345, 65_536), (2**47 - 2, 2**47 - 1), (1, 2**47 - 1)])
def test_bernoulli_decides_by_the_binary_digits_of_its_probability(p, q):
    digit = 65_536 * p // q
    tape = np.zeros(3, np.uint16)
    for lane in ALL_LANES:
        tape[0] = lane
        hit, at = samplers.bernoulli(tape, 0, p, q)
        if lane == digit:
            assert at > 1  # the first lane does not decide, so the sampler must read the next 16 digits
        else:
            assert at == 1 and hit == (lane < digit)


@pytest.mark.parametrize("n", [1, 2, 3, 7, 1000, 40_000, 65_535, 65_536])
def test_uniform_gives_every_value_the_same_number_of_lanes(n):
    tape = np.zeros(3, np.uint16)
    hits = np.zeros(n, int)
    for lane in range(65_536):
        tape[0] = lane
        value, at = samplers.uniform(tape, 0, n)
        if at == 1:
            hits[value] += 1
    assert (hits == 65_536 // n).all()


def test_uniform_from_two_lanes_refuses_the_unfair_end():
    n = 2**32 - 2
    for low, refused in ((0xFFFD, False), (0xFFFE, True), (0xFFFF, True)):
        tape = np.array([0xFFFF, low, 0, 7, 0], np.uint16)
        value, at = samplers.uniform(tape, 0, n)
        assert (value, at) == ((7, 4) if refused else (2**32 - 3, 2))


# ---------------------------------------------------------------- by chi-square, fixed words


@pytest.mark.parametrize(
    "a, b", [(0, 3), (1, 10), (1, 1), (7, 2), (AWKWARD.numerator, AWKWARD.denominator), (3, 2**32 - 1)]
)
def test_bernoulli_exp_follows_its_law(a, b):
    tape = FixedWords().words(DRAWS).view(np.uint16)
    at, hits = 0, 0
    for _ in range(DRAWS // 20):
        hit, at = samplers.bernoulli_exp(tape, at, a, b)
        hits += hit
    n = DRAWS // 20
    expected = np.exp(-a / b)
    assert p_value(np.array([hits, n - hits]), [expected, 1 - expected]) > 1e-3


@pytest.mark.parametrize("n_trees", [1, 2, 100, 65_535])
def test_draw_uniform_follows_its_law(n_trees):
    trees = draw_uniform(DRAWS, n_trees, FixedWords())
    assert trees.dtype == np.int32
    cells = min(n_trees, 100)
    observed = np.bincount(trees.astype(np.int64) * cells // n_trees, minlength=cells)
    weights = np.bincount(np.arange(n_trees) * cells // n_trees)
    assert p_value(observed, weights / n_trees) > 1e-3


LEAVES = [(5, 3, 0), (0, 0), (10, 9), (2, 2, 1), (7, 5, 5, 1), (400, 380), (1, *[0] * 49)]


@pytest.mark.parametrize("rate", [TENTH, Fraction(1, 7), Fraction(3, 2), AWKWARD], ids=str)
@pytest.mark.parametrize("leaf", LEAVES, ids=str)
def test_labels_follow_their_law(leaf, rate):
    counts = np.tile(leaf, (DRAWS, 1))
    for mechanism in CERTIFIED:
        labels = DRAW[mechanism](counts, rate, FixedWords())
        assert labels.dtype == np.uint8
        assert label_p_value(labels, pmf(mechanism, [leaf], float(rate))[0]) > 1e-4, mechanism


def test_a_rate_of_zero_draws_all_labels_equally():
    counts = np.tile((90, 3, 0), (DRAWS, 1))
    for labels in (
        draw_permute_and_flip(counts, Fraction(0), FixedWords()),
        draw_exponential(counts, Fraction(0), FixedWords()),
    ):
        assert label_p_value(labels, [1 / 3] * 3) > 1e-3


@pytest.mark.parametrize(
    "scale",
    [Fraction(10), Fraction(7), Fraction(2, 3), Fraction(100_000, 1), Fraction(4_294_967_291, 429_496_731)],
    ids=str,
)
def test_noise_follows_the_discrete_laplace_law(scale):
    counts = np.full((DRAWS // 2, 2), 17)
    noise = draw_noisy_counts(counts, scale, FixedWords()) - 17
    assert noise_p_value(noise.ravel(), float(scale)) > 1e-3
    assert abs(noise.mean()) < 5 * np.sqrt(2 / DRAWS) * float(scale)


def test_labels_read_from_noisy_counts_follow_their_law():
    counts = np.tile((6, 4, 5), (DRAWS, 1))
    noisy = draw_noisy_counts(counts, Fraction(3), FixedWords())
    clamped = np.maximum(noisy, 0)
    fair = ~clamped.any(axis=1)
    labels = np.where(fair, np.arange(DRAWS) % 3, clamped.argmax(axis=1))
    assert label_p_value(labels, noisy_argmax_pmf([(6, 4, 5)], 3)[0]) > 1e-3


# ---------------------------------------------------------------- tape, limits, bad input


def test_results_do_not_depend_on_where_the_tape_ends(monkeypatch):
    """If a tape ends within a row, the row's lanes are read again, not redrawn. So short tapes change no result."""
    rng = np.random.default_rng(1)
    counts = rng.integers(0, 30, (120, 3))

    class OneStream(SecretSource):
        """Source that yields the same sequence of lanes for requests of any size."""

        __slots__ = ("_place",)
        _all = np.random.default_rng(3).integers(0, 2**64, 200_000, np.uint64)

        def __init__(self):
            self._place = 0

        def words(self, n):
            self._place += n
            return self._all[self._place - n : self._place].copy()

    def draw():
        return [
            draw_uniform(300, 77, OneStream()),
            draw_permute_and_flip(counts, TENTH, OneStream()),
            draw_exponential(counts, TENTH, OneStream()),
            draw_exponential(counts, TENTH, OneStream(), top_only=True),
            draw_noisy_counts(counts, Fraction(1_000_000, 999_983), OneStream()),
            draw_noisy_counts(counts, Fraction(4_294_967_291, 7), OneStream()),
        ]

    long = draw()
    for lanes in (4, 8, 20):
        monkeypatch.setattr(samplers, "LANES", lanes)
        for a, b in zip(long, draw(), strict=True):
            np.testing.assert_array_equal(a, b)


def test_nothing_overflows_at_the_limits():
    """No integer overflows at the limits. Without the compiler, numpy would warn, and warnings are errors here."""
    counts = np.tile((0, 2**31 - 1, 0), (200, 1))
    largest, near_one = Fraction(2**32 - 1), Fraction(2**32 - 1, 2**32 - 2)
    for rate in (largest, near_one, 1 / largest, TENTH):
        flat = rate * 2**31 < 1
        for labels in (draw_permute_and_flip(counts, rate, FixedWords()), draw_exponential(counts, rate, FixedWords())):
            assert flat or (labels == 1).all()
    noise = draw_noisy_counts(counts, largest, FixedWords()) - counts
    assert (np.abs(noise) < 2**38).all() and np.abs(noise).mean() == pytest.approx(2**32, rel=0.3)
    assert (draw_noisy_counts(counts, 1 / largest, FixedWords()) == counts).all()


def test_a_broken_source_is_an_error_and_not_a_silent_answer(monkeypatch):
    monkeypatch.setattr(samplers, "MAX_LANES", 2**16)
    with pytest.raises(RuntimeError, match="source of randomness is broken"):
        draw_uniform(1, 3, StuckWords(0))  # lane 0 is always rejected


@pytest.mark.parametrize(
    "counts, message",
    [
        ([[1.0, 2.0]], "whole numbers"),
        ([1, 2], "whole numbers"),
        ([[-(2**62), 2]], "must lie between"),
        ([[0, 2**62]], "must lie between"),
        (np.zeros((2, 51), int), "at most 50 classes"),
    ],
)
def test_bad_counts_are_refused(counts, message):
    for draw in (draw_permute_and_flip, draw_exponential, draw_noisy_counts):
        with pytest.raises(ValueError, match=message):
            draw(np.array(counts), TENTH, FixedWords())


def test_labels_are_drawn_from_counts_and_noise_is_added_to_sums():
    for draw in (draw_permute_and_flip, draw_exponential):
        with pytest.raises(ValueError, match="between 0 and"):
            draw(np.array([[-1, 2]]), TENTH, FixedWords())
    many = np.full((20_000, 1), -7)
    noise = draw_noisy_counts(many, Fraction(3), SecretSource()) + 7
    assert abs(noise.mean()) < 5.1 * noise.std() / len(many) ** 0.5  # false alarm below 1e-6


def test_bad_rates_and_numbers_of_trees_are_refused():
    with pytest.raises(ValueError, match="32-bit"):
        draw_permute_and_flip(np.array([[1, 2]]), Fraction(1, 2**32), FixedWords())
    for n_trees in (0, 2**16):
        with pytest.raises(ValueError, match="n_trees"):
            draw_uniform(3, n_trees, FixedWords())


def test_samplers_follow_their_laws_on_the_systems_entropy():
    leaf = (4, 2, 0)
    counts = np.tile(leaf, (DRAWS, 1))
    for rate in (TENTH, Fraction(1, 7)):
        p_values = [label_p_value(draw_uniform(DRAWS, 7, SecretSource()), [1 / 7] * 7)]
        for mechanism in CERTIFIED:
            labels = DRAW[mechanism](counts, rate, SecretSource())
            p_values.append(label_p_value(labels, pmf(mechanism, [leaf], float(rate))[0]))
        noisy = draw_noisy_counts(counts[:, :2], 1 / rate, SecretSource()) - counts[:, :2]
        p_values += [noise_p_value(noisy[:, 0], float(1 / rate)), noise_p_value(noisy[:, 1], float(1 / rate))]
        assert min(p_values) > 1e-8


# ---------------------------------------------------------------- simulators


@pytest.mark.parametrize("mechanism", [*CERTIFIED, *PUBLISHED])
@pytest.mark.parametrize("leaf", [(5, 3, 0), (0, 0), (3, 4), (9, 8), (2, 2, 1), (0, 0, 0), (7, 5, 5, 1)], ids=str)
def test_simulated_labels_follow_their_law(leaf, mechanism):
    labels = simulate_labels(np.tile(leaf, (DRAWS, 1)), mechanism, 0.6, seed=3)
    assert labels.dtype == np.uint8
    assert label_p_value(labels, pmf(mechanism, [leaf], 0.6)[0]) > 1e-4


@pytest.mark.parametrize("scale", [0.4, 3, 250.0])
def test_simulated_counts_follow_their_laws(scale):
    counts = np.full((DRAWS // 2, 2), 17)
    noise = simulate_noisy_counts(counts, scale, seed=5) - 17
    assert noise.dtype == np.int64 and noise_p_value(noise.ravel(), scale) > 1e-3
    smooth = simulate_laplace(counts, scale, seed=5) - 17
    assert kstest(smooth.ravel(), "laplace", args=(0, scale)).pvalue > 1e-3


@pytest.mark.parametrize("n_classes", [2, 4])
@pytest.mark.parametrize(
    "simulate",
    [
        *[lambda c, seed, m=m: simulate_labels(c, m, 0.3, seed) for m in (*CERTIFIED, *PUBLISHED)],
        lambda c, seed: simulate_noisy_counts(c, 2.0, seed),
        lambda c, seed: simulate_laplace(c, 2.0, seed),
    ],
)
def test_counts_of_one_leaf_change_no_draw_of_another_leaf(simulate, n_classes):
    counts = np.random.default_rng(0).integers(0, 8, (400, n_classes))
    counts[::3] = 0
    everyone = simulate(counts, 7)
    changed = counts.copy()
    changed[123] = 1000 * np.arange(n_classes)
    others = np.arange(400) != 123
    np.testing.assert_array_equal(simulate(changed, 7)[others], everyone[others])
    # The result of a leaf does not depend on the number of leaves.
    np.testing.assert_array_equal(simulate(counts[:50], 7), everyone[:50])
    assert (simulate(counts, 8) != everyone).any()


def test_simulators_are_right_at_the_limits():
    counts = np.array([[0, 2**31 - 1], [2**31 - 1, 0], [0, 0]])
    for mechanism in (*CERTIFIED, *PUBLISHED):
        for rate in (1e-9, 1.0, 1e4):
            labels = simulate_labels(counts, mechanism, rate, seed=2**64 - 1)
            # The 0/1 score does not depend on the lead of the top label.
            certain = rate > 1 if mechanism == "global-01" else rate >= 1
            assert not certain or labels[:2].tolist() == [1, 0]
