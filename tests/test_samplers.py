"""Exact samplers follow their laws, take integers only and never overflow; simulators follow the same laws by key.

Draws come from fixed words, so a chi-square test here passes always or never. The one test on the system's entropy
makes 12 comparisons at p < 1e-8 each: it raises a false alarm once in eight million runs.
"""

import re
from fractions import Fraction

import numba
import numpy as np
import pytest
from numba.core import types
from numba.core.dispatcher import Dispatcher
from scipy.stats import chi2

from dpforest.privacy import SecretSource, law, samplers
from dpforest.privacy.noisy_counts import discrete_laplace_pmf, noisy_argmax_law
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
    """Words from a seed instead of the system."""

    __slots__ = ("_rng",)

    def __init__(self, seed=0):
        self._rng = np.random.default_rng(seed)

    def words(self, n):
        return self._rng.integers(0, 2**64, n, np.uint64)


class StuckWords(SecretSource):
    """A source that always says the same."""

    __slots__ = ("_word",)

    def __init__(self, word):
        self._word = word

    def words(self, n):
        return np.full(n, self._word, np.uint64)


def p_value(observed, probabilities):
    """Chi-square of counts against a law; rare cells are pooled."""
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
    width = max(1, int(scale / 4))  # cells of the histogram
    z = np.arange(-reach, reach + 1)
    cell = lambda x: np.clip((x + reach) // width, 0, (2 * reach) // width)
    n_cells = (2 * reach) // width + 1
    expected = np.bincount(cell(z), discrete_laplace_pmf(z, scale), n_cells)
    return p_value(np.bincount(cell(noise), minlength=n_cells), expected / expected.sum())


# ---------------------------------------------------------------- integers only


@pytest.mark.skipif(not JIT, reason="needs the compiler")
def test_no_float_anywhere_in_the_compiled_samplers():
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
            fresh = numba.njit(kernel.py_func)  # one that was loaded from the cache has forgotten its types
            fresh.compile(tuple(arguments))
            overload = fresh.overloads[tuple(arguments)]
            assert integers_only(overload.signature.return_type), name
            inside = {str(kind) for kind in overload.type_annotation.typemap.values()}
            assert len(inside) > 3 and not any(re.search("float|complex", kind) for kind in inside), (name, inside)
            code = "\n".join(line for line in fresh.inspect_llvm(tuple(arguments)).splitlines() if " = " in line)
            assert not re.search(r"\b(double|float|half|x86_fp80)\b", code), name


@pytest.mark.skipif(not JIT, reason="needs the compiler")
def test_the_float_check_has_teeth():
    fresh = numba.njit(lambda n: n / 2)
    fresh.compile((types.int64,))
    assert any("float" in str(kind) for kind in fresh.overloads[(types.int64,)].type_annotation.typemap.values())
    assert re.search(r"\bdouble\b", fresh.inspect_llvm((types.int64,)))


# ---------------------------------------------------------------- exactly, by going through all lanes

LANES = np.arange(65_536, dtype=np.uint16).reshape(-1, 1) if JIT else np.arange(0, 65_536, 97, np.uint16).reshape(-1, 1)


@pytest.mark.parametrize("p, q", [(1, 3), (0, 5), (5, 5), (1, 2), (12_345, 65_536), (2**47 - 2, 2**47 - 1), (1, 2**47 - 1)])
def test_bernoulli_on_every_lane(p, q):
    """Of the 2**16 first lanes, floor(2**16 p/q) say yes, at most one is undecided and asks for the next one."""
    for lane in LANES:
        hit, at = samplers.bernoulli(np.append(lane, np.uint16(0)), 0, p, q)
        exact = 65_536 * p
        if int(lane[0]) * q + q <= exact:
            assert hit and at == 1
        elif int(lane[0]) * q >= exact:
            assert not hit  # undecided only by the letter: the remainder 0 says no at the next lane
        else:
            assert at == 2


@pytest.mark.parametrize("n", [1, 2, 3, 7, 100, 1000, 40_000, 65_535, 65_536])
def test_uniform_on_every_lane(n):
    """Every value gets exactly floor(2**16 / n) of the lanes; the others are refused."""
    if not JIT:
        n = min(n, 100)
    lanes = np.arange(65_536, dtype=np.uint16) if JIT or n < 4 else None
    if lanes is None:
        pytest.skip("slow without the compiler")
    got = [samplers.uniform(np.array([lane, 0], np.uint16)[: 1 + (lane < 0)], 0, n) for lane in lanes[:0]]
    tape = np.append(lanes, np.uint16(0))
    at, values = 0, []
    while at < 65_536:
        value, at = samplers.uniform(tape, at, n)
        if at <= 65_536:
            values.append(value)
    assert not got
    assert (np.bincount(values, minlength=n)[:n] == 65_536 // n).sum() >= n - 1


# ---------------------------------------------------------------- by chi-square, fixed words
