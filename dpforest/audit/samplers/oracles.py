"""Stand-ins for the functions that a sampler calls, which return each answer with its probability; see `branches`."""

import itertools
import sys
from collections.abc import Callable, Iterable, Iterator
from fractions import Fraction
from typing import Any

import numpy as np

from dpforest.audit.samplers.branches import OPEN, Draws, Sum, law_of, power, rebound

Law = dict[Any, Sum]
Case = tuple[str, Callable[[], Law], Law]  # name, function that computes a law, and the law that it must equal


class Unread:
    """Endless tape (array of random numbers) that a sampler must not read, because stand-ins make all draws."""

    size = 2**62

    def __getitem__(self, at: Any) -> Any:
        raise ValueError("it reads the tape without the functions that draw")


class Oracles:
    """Stand-ins for the functions that a sampler calls. Each call moves the tape position by one lane."""

    def __init__(self, draws: Draws) -> None:
        self._draws = draws

    def uniform(self, tape: Any, at: int, n: int) -> tuple[int, int]:
        """Return each number below n with probability 1/n."""
        n = _whole(n, 1, 2**32 - 1)
        return self._pick(n, lambda: zip(range(n), itertools.repeat(Sum({0: Fraction(1, n)})))), at + 1

    def bernoulli(self, tape: Any, at: int, p: int, q: int) -> tuple[bool, int]:
        """Return True with probability p/q."""
        p, q = _whole(p, 0, q), _whole(q, 1, 2**47 - 1)
        return self._coin((p, q), lambda: Sum({0: Fraction(p, q)})), at + 1

    def unit(self, tape: Any, at: int, a: int, b: int) -> tuple[bool, int]:
        """Return True with probability exp(-a/b), where a/b is at most 1."""
        a, b = _whole(a, 0, b), _whole(b, 1, 2**32 - 1)
        return self._coin((a, b), lambda: power(a, b)), at + 1

    def bernoulli_exp(self, tape: Any, at: int, a: int, b: int) -> tuple[bool, int]:
        """Return True with probability exp(-a/b)."""
        a, b = _whole(a, 0, 2**63 - 1), _whole(b, 1, 2**32 - 1)
        return self._coin((a, b), lambda: power(a, b)), at + 1

    def _coin(self, arguments: tuple, chance: Callable[[], Sum]) -> bool:
        return self._pick(arguments, lambda: [(True, chance()), (False, 1 - chance())], up=3)

    def _pick(self, arguments: object, options: Callable[[], Iterable[tuple[Any, Sum]]], up: int = 2) -> Any:
        """Pick an answer. Calls from the same line of code with the same arguments are the same question."""
        return self._draws.pick((sys._getframe(up).f_lasti, arguments), options)


def _whole(value: Any, least: int, most: int) -> int:
    if not least <= value <= most:
        raise ValueError(f"it calls with {value}, which is not from {least} to {most}")
    return int(value)


def filled(kernel: Callable, n: int, *arguments: Any) -> tuple[int, ...]:
    """Return the results of a kernel for n rows. Raise ValueError if it omits rows or changes its inputs."""
    copies = [np.array(a) for a in arguments]
    out = np.full(n, -(2**62), np.int64)
    with np.errstate(over="raise"):
        row, _ = kernel(Unread(), 0, *arguments, out)
    # Besides `out`, a kernel may write only to the scratch array, which is the last argument.
    if row != n or any(not np.array_equal(a, b) for a, b in zip(copies[:-1], arguments[:-1])):
        raise ValueError(f"{row} of {n} rows are done, or it writes into its input")
    return tuple(out.tolist())


def law_of_rows(kernel: Any, arguments: tuple, rounds: int) -> Law:
    """Return the law of a kernel's results for a table, which is the kernel's first argument."""

    def run(draws: Draws) -> tuple[int, ...]:
        oracles = Oracles(draws)
        source = rebound(kernel, uniform=oracles.uniform, bernoulli_exp=oracles.bernoulli_exp)
        return filled(source, len(arguments[0]), *[a.copy() if isinstance(a, np.ndarray) else a for a in arguments])

    return law_of(run, rounds=rounds)


def after_rounds(once: Law, rounds: int) -> Law:
    """Return the law after several rounds, where each round ends with a result of `once`, or is void and is repeated.

    If the last round is void, the result is `OPEN`.
    """
    void, expected_rounds, reach_probability = 1 - sum(once.values(), Sum()), Sum(), Sum({0: 1})
    for _ in range(rounds):
        expected_rounds, reach_probability = expected_rounds + reach_probability, reach_probability * void
    pmf = {result: weight * expected_rounds for result, weight in once.items()}
    return pmf | ({OPEN: reach_probability} if reach_probability.terms else {})


def unlike(computed: Law, pmf: Law) -> str:
    """Return a message about the first result whose probability differs from the law; empty if no result differs."""
    for result in [*pmf, *[r for r in computed if r not in pmf]]:
        computed_weight, right_weight = computed.get(result, Sum()), pmf.get(result, Sum())
        if computed_weight != right_weight:
            return f"{_short(result)} has the probability {computed_weight}, not {right_weight}"
    return ""


def messages(checks: Iterable[Callable[[bool], Iterable[Case]]], whole: bool) -> Iterator[str]:
    """Yield a message for each case of these checks that fails."""
    for check in checks:
        for what, computed_law, pmf in check(whole):
            try:
                message = unlike(computed_law(), pmf)
            except ValueError as problem:
                message = str(problem)
            except Exception as problem:
                message = f"its source cannot be followed: {type(problem).__name__}, {problem}"
            if message:
                yield f"{what}: {message}"


def _short(result: Any) -> str:
    return ", ".join(map(str, result)) if isinstance(result, tuple) else str(result)
