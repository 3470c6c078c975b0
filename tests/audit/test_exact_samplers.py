"""Samplers are exact, and their auditors detect eleven mistakes, most of which a million draws would not show.

A sampler reads random bits from a tape, an array of 16-bit numbers (lanes). The auditors run the sampler's source on
all values of a lane. Only the inputs of a sampler are random, and they come from fixed seeds. So there is no tolerance
and no false alarm.
"""

import inspect
import itertools
import math
import textwrap
import warnings
from fractions import Fraction

import numba
import numpy as np
import pytest

from dpforest.audit.samplers import bridge, lanes
from dpforest.audit.samplers.branches import OPEN, Draws, Sum, law_of, power, rebound
from dpforest.audit.samplers.bridge import as_python, check_bridge
from dpforest.audit.samplers.choice_identities import permute_and_flip_law
from dpforest.audit.samplers.identities import _law_of_noise, check_identities
from dpforest.audit.samplers.lanes import check_lanes
from dpforest.privacy import pmf, samplers
from tests.audit.mutants import Mutant, mutated
from tests.audit.mutants.exact_samplers import EXACT

JIT = not numba.config.DISABLE_JIT
ONE, HALF = Sum({0: 1}), Fraction(1, 2)


# ---------------------------------------------------------------- the samplers


@pytest.mark.skipif(not JIT, reason="needs the compiler")
def test_primitives_are_exact_on_every_lane():
    """Coins and whole numbers below n are exact for each of the 65,536 values of a lane, and read no lane twice."""
    assert list(check_lanes(whole=False)) == []


def test_composed_samplers_have_the_exact_coefficients_of_their_laws():
    """Every label, split and noise value has exactly the probability of its law, even for counts above 65,536."""
    assert list(check_identities(whole=False)) == []


def test_compiled_kernels_equal_their_source_wherever_a_tape_ends():
    """Compiled kernels return what their source returns.

    If a tape ends within a row, new words are appended to its unread lanes. So no lane is lost or read for two rows.
    """
    assert list(check_bridge(n_tapes=500)) == []


LONG = ("uneven_numbers_of_two_lanes",)  # found as the others, after five seconds


@pytest.mark.parametrize(
    "mutant",
    [pytest.param(each, marks=pytest.mark.slow if each.name in LONG else ()) for each in EXACT],
    ids=lambda mutant: mutant.name,
)
def test_mistakes_are_detected_without_a_draw(mutant: Mutant):
    """The auditors detect mistakes such as a bias of 2^-16, or a wrong class in a rare order of the classes."""
    if mutant.function == "uniform" and not JIT:
        pytest.skip("needs the compiler")
    with mutated(mutant), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        check = check_lanes if mutant.function == "uniform" else check_identities
        assert next(check(whole=False), None) is not None, mutant.why


# ---------------------------------------------------------------- golden values


def test_permute_and_flip_matches_its_law_by_hand():
    """For counts 5, 3 and 0, the enumerated law and `pmf` both equal a law that was calculated by hand."""
    law = permute_and_flip_law((5, 3, 0), 1, 1)
    assert law[0,] == ONE - power(2, 1) * HALF - power(5, 1) * HALF + power(7, 1) * Fraction(1, 3)
    assert law[1,] == power(2, 1) * HALF - power(7, 1) * Fraction(1, 6)
    assert law[2,] == power(5, 1) * HALF - power(7, 1) * Fraction(1, 6)
    numbers = [as_float(weight) for weight in permute_and_flip_law((5, 3, 0), 1, 2).values()]
    np.testing.assert_allclose(numbers, [0.785084, 0.178907, 0.03601], atol=5e-7)
    np.testing.assert_allclose(numbers, pmf("permute-and-flip", [[5, 3, 0]], 0.5)[0], rtol=1e-12)


def test_noise_of_scale_two_matches_its_law_by_hand():
    """Noise of scale 2 has the law of the published algorithm."""
    law = _law_of_noise(2, 1, 3, 1)
    assert law[0] == ONE * Fraction(1, 4) - power(1, 1) * Fraction(1, 4)
    assert law[1] == law[-1] == law[0] * power(1, 2)


def as_float(weight: Sum) -> float:
    return math.fsum(float(c) * math.exp(-float(x)) for x, c in weight.terms.items())


# ---------------------------------------------------------------- the auditors


def test_the_probabilities_of_all_paths_add_up_to_one():
    """The enumerator visits every path of a function once, so that the probabilities add up to one."""

    def run(draws: Draws) -> int:
        first = draws.pick("first", lambda: [(1, ONE * HALF), (2, ONE * HALF)])
        return first * draws.pick("then", lambda: [(k, ONE * Fraction(1, first + 1)) for k in range(first + 1)])

    law = law_of(run)
    assert law == {k: ONE * Fraction(twelfths, 12) for k, twelfths in {0: 5, 1: 3, 2: 2, 4: 2}.items()}
    assert sum(law.values(), Sum()) == 1


def test_a_function_that_depends_on_more_than_its_draws_is_refused():
    """The enumerator refuses a function that depends on how often it was called."""
    calls = iter(range(100))

    def run(draws: Draws) -> int:
        for _ in range(2 - min(next(calls), 1)):
            last = draws.pick("coin", lambda: [(0, ONE * HALF), (1, ONE * HALF)])
        return last

    with pytest.raises(ValueError, match="depends on something else"):
        law_of(run, rounds=9)


def test_a_function_that_never_ends_is_refused():
    """The enumerator reports a function that never ends instead of hanging."""

    def run(draws: Draws) -> None:
        for k in itertools.count():
            draws.pick(k, lambda: [(0, ONE * HALF), (1, ONE * HALF)])

    with pytest.raises(ValueError, match="draws so often"):
        law_of(run)


def test_a_loop_that_stops_early_is_detected(monkeypatch):
    """The check of three rounds detects a kernel that accepts any proposal in its third round. That of two does not."""

    def impatient(tape, row, counts, num, den, cap, out):
        top, at, label, rounds = counts[0].max(), 0, 0, 0
        while rounds < 3:
            label, at = samplers.uniform(tape, at, counts.shape[1])
            accepted, at = samplers.bernoulli_exp(tape, at, min(top - counts[0, label], cap) * num, den)
            rounds += 1
            if accepted:
                break
        out[0] = label
        return 1, at

    names = {"uniform": samplers.uniform, "bernoulli_exp": samplers.bernoulli_exp}
    for rounds, is_detected in ((2, False), (3, True)):
        monkeypatch.setattr("dpforest.audit.samplers.choice_identities.ROUNDS", rounds)
        monkeypatch.setattr(
            samplers, "_exponential_kernel", rebound(compiled(source_of(impatient).replace("samplers.", ""), names))
        )
        messages = [message for message in check_identities(whole=False) if "exponential mechanism" in message]
        assert bool(messages) == is_detected
    assert OPEN in law_of(lambda draws: [draws.pick("again", lambda: [(0, ONE)]) for _ in range(9)])


def test_a_sampler_that_reads_the_tape_directly_is_detected(monkeypatch):
    """The check detects a kernel that reads lanes itself instead of calling one of the two checked functions."""

    def direct(tape, row, n_trees, out):
        out[0] = tape[0] % n_trees
        return 1, 1

    monkeypatch.setattr(samplers, "_assign_kernel", direct)
    assert "reads the tape without the functions" in next(check_identities(whole=False))


@pytest.mark.skipif(not JIT, reason="needs the compiler")
def test_a_kernel_that_differs_from_its_source_is_detected(monkeypatch):
    """The check detects a compiled kernel that differs from its source only in a rare case."""
    right = samplers._exponential_kernel

    @numba.njit
    def other(tape, row, counts, num, den, cap, out):
        row, at = right(tape, row, counts, num, den, cap, out)
        if row == 4 and out[3] == 4:
            out[3] = 0
        return row, at

    other.py_func = right.py_func
    monkeypatch.setattr(samplers, "_exponential_kernel", other)
    message = next(check_bridge(n_tapes=500))
    assert "compiled it gives" in message and "other" in message


def test_a_tape_that_is_discarded_or_reused_is_detected(monkeypatch):
    """The check detects a `run_tape` that discards the rest of a tape, or that repeats words and draws no new ones."""
    right = samplers.run_tape.__code__
    text = source_of(samplers.run_tape)
    for old, new in (
        ("np.concatenate((tape, source", "np.concatenate((tape[:0], source"),
        ("source.words(lanes // 4)", "np.resize(source.words(min(lanes // 4, 4_096)), lanes // 4)"),
        (
            "source.words(lanes // 4)",
            "(source.words(lanes // 4) if row < 65_536 else np.full(lanes // 4, 7, np.uint64))",
        ),
    ):
        assert old in text
        code = compiled(text.replace(old, new), vars(samplers)).__code__
        monkeypatch.setattr(samplers.run_tape, "__code__", code)
        assert next(check_bridge(n_tapes=0), None) is not None, new
    monkeypatch.setattr(samplers.run_tape, "__code__", right)
    assert next(check_bridge(n_tapes=0), None) is None


def test_a_coin_that_reads_one_lane_too_many_is_detected(monkeypatch):
    """The check detects a coin that has the right probabilities but ends at the wrong place on the tape."""
    if not JIT:
        pytest.skip("needs the compiler")
    old = "return lane < digit, at"
    wrong = Mutant("", "", "dpforest.privacy.samplers", "bernoulli", old, old + " + 1", ())
    with mutated(wrong):
        assert next(lanes._bernoulli(1, 3, 0), None) is not None


def test_every_function_below_a_kernel_is_plain_python():
    """The source of a kernel calls plain Python functions only, so no check compares compiled code with itself."""
    kernel = as_python(samplers._discrete_laplace_kernel)
    inner = kernel.__globals__["discrete_laplace"].__globals__["bernoulli_exp"].__globals__["_bernoulli_exp_unit"]
    assert all(type(f).__name__ == "function" for f in (kernel, inner, inner.__globals__["bernoulli"]))
    assert bridge.as_python(kernel) is kernel


def source_of(function) -> str:
    return textwrap.dedent(inspect.getsource(function))


def compiled(text: str, names: dict):
    """Return the function that a text defines. `names` holds the functions that it calls."""
    namespace: dict = {}
    exec(text, {**vars(samplers), **names}, namespace)
    return namespace.popitem()[1]
