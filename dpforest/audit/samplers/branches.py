"""Enumerate all paths of a random function, each with its exact probability.

The function runs once for each sequence of possible answers to its draws. The code of the function is unchanged; only
the names of the functions that it calls refer to stand-ins (`rebound`).

A probability is a sum of terms c exp(-x) with rational c and x (`Sum`). The powers exp(-x) with different x are
linearly independent over the rationals (theorem of Lindemann and Weierstrass). So two sums are the same number only if
they are equal term by term.
"""

from collections.abc import Callable, Iterable, Iterator
from fractions import Fraction
from types import FunctionType
from typing import Any, Final

Rational = int | Fraction
_MOST: Final = 2_000_000  # largest total number of answers on all paths
OPEN: Final = "open"  # the result of a path that was not followed to its end


class Sum:
    """A sum of terms c exp(-x): `terms` maps each x to its coefficient c, which is not 0.

    Examples
    --------
    >>> e = power(1, 2)
    >>> e * e == power(1, 1), Sum() + 1 - e
    (True, 1 - e^(-1/2))
    """

    __slots__ = ("terms",)

    def __init__(self, terms: dict[Rational, Rational] | None = None) -> None:
        self.terms = {x: c for x, c in (terms or {}).items() if c}

    def __add__(self, other: "Sum | Rational") -> "Sum":
        terms = dict(self.terms)
        for x, c in _sum(other).terms.items():
            terms[x] = terms.get(x, 0) + c
        return Sum(terms)

    def __mul__(self, other: "Sum | Rational") -> "Sum":
        terms: dict[Rational, Rational] = {}
        for x, c in self.terms.items():
            for y, d in _sum(other).terms.items():
                terms[x + y] = terms.get(x + y, 0) + c * d
        return Sum(terms)

    def __sub__(self, other: "Sum | Rational") -> "Sum":
        return self + _sum(other) * -1

    def __rsub__(self, other: "Sum | Rational") -> "Sum":
        return self * -1 + other

    __radd__ = __add__
    __rmul__ = __mul__

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sum | int | Fraction) and self.terms == _sum(other).terms

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        words = [_word(x, c) for x, c in sorted(self.terms.items())]
        return " + ".join(words).replace("+ -", "- ") or "0"


def power(a: int, b: int) -> Sum:
    """Return exp(-a/b)."""
    return Sum({a // b if a % b == 0 else Fraction(a, b): 1})


def _sum(value: "Sum | Rational") -> Sum:
    return value if isinstance(value, Sum) else Sum({0: value})


def _word(x: Rational, c: Rational) -> str:
    if not x:
        return str(c)
    factor = "" if c == 1 else "-" if c == -1 else f"{c} "
    return f"{factor}e^(-{x})"


class Unfinished(Exception):
    """Raised to end a path before the function returns."""


class Draws:
    """Source of the answers to all draws of a function, for one path after another; see `ways`.

    Parameters
    ----------
    rounds, most : int
        As for `ways`.
    """

    def __init__(self, rounds: int, most: int) -> None:
        self._rounds, self._most = rounds, most
        self._options: list[list[tuple[Any, Sum]]] = []
        self._picked: list[int] = []
        self._weights = [Sum({0: 1})]
        self._place = self._given = 0
        self._first: object = None
        self._round = 1

    def pick(self, question: object, options: Callable[[], Iterable[tuple[Any, Sum]]]) -> Any:
        """Return the answer to a question on this path.

        Parameters
        ----------
        question : object
            Identifies the draw. Each repetition of the first question of a path begins a round.
        options : function
            Returns all possible answers as pairs (answer, probability).

        Returns
        -------
        object
            One of the answers.

        Raises
        ------
        Unfinished
            If the path has more than `rounds` rounds or more than `most` questions.
        ValueError
            If there are too many answers on all paths together.
        """
        place = self._place
        self._given += 1
        if self._given > _MOST:
            raise ValueError("it draws so often that its paths cannot all be followed")
        if place == 0:
            self._first = question
        elif question == self._first:
            self._round += 1
        if self._round > self._rounds or place >= self._most:
            raise Unfinished
        if place == len(self._picked):
            self._options.append([option for option in options() if option[1].terms])
            self._picked.append(0)
            self._weights.append(self._weights[-1] * self._options[-1][0][1])
        self._place += 1
        return self._options[place][self._picked[place]][0]

    @property
    def weight(self) -> Sum:
        """Return the probability of the last path."""
        return self._weights[self._place]

    def turn(self) -> bool:
        """Prepare the next path and return True; return False after the last path.

        Raises
        ------
        ValueError
            If the last run asked fewer questions than an earlier run with the same answers.
        """
        if self._place != len(self._picked):
            raise ValueError("it takes another path with the same draws, so it depends on something else")
        while self._picked:
            picked = self._picked.pop() + 1
            options = self._options[len(self._picked)]
            del self._weights[len(self._picked) + 1 :]
            if picked < len(options):
                self._picked.append(picked)
                self._weights.append(self._weights[-1] * options[picked][1])
                self._place, self._round = 0, 1
                return True
            self._options.pop()
        return False


def ways(run: Callable[[Draws], Any], *, rounds: int = 1, most: int = 400) -> Iterator[tuple[Any, Sum]]:
    """Yield result and probability of every path of a function.

    Parameters
    ----------
    run : function
        Takes a `Draws`, which answers all draws, and returns a result. The result must depend only on the answers.
    rounds : int
        Largest number of rounds of a loop; each repetition of the first question begins a round. The result of a longer
        path is `OPEN`.
    most : int
        Largest number of questions on a path. The result of a longer path is `OPEN`.

    Yields
    ------
    result : object
        What `run` returns on this path, or `OPEN`.
    probability : Sum
        Product of the probabilities of the answers on this path.

    Raises
    ------
    ValueError
        If there are too many paths, or a path depends on something other than the answers.
    """
    draws = Draws(rounds, most)
    while True:
        try:
            result = run(draws)
        except Unfinished:
            result = OPEN
        yield result, draws.weight
        if not draws.turn():
            return


def law_of(run: Callable[[Draws], Any], *, rounds: int = 1, most: int = 400) -> dict[Any, Sum]:
    """Return the probability of every result, including `OPEN`; see `ways`."""
    pmf: dict[Any, Sum] = {}
    for result, weight in ways(run, rounds=rounds, most=most):
        pmf[result] = pmf.get(result, Sum()) + weight
    return pmf


def rebound(function: Any, **others: Any) -> Callable:
    """Return a compiled or plain function as plain Python, with some of its global names bound to other objects."""
    source = getattr(function, "py_func", function)
    names = {**source.__globals__, **others}
    return FunctionType(source.__code__, names, source.__name__, source.__defaults__, source.__closure__)
