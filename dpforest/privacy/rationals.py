"""Budgets as exact fractions, and rates as rationals of 32-bit numbers, rounded so that privacy never gets worse."""

import re
from fractions import Fraction
from numbers import Rational
from typing import Final

LIMIT: Final = 2**32 - 1


def positive_fraction(x: float | str | Rational, name: str = "epsilon") -> Fraction:
    """The number a user typed, exactly: 0.1 means 1/10, not the binary number nearest to it.

    Parameters
    ----------
    x : float, str, int or Fraction
        Positive and finite. A float stands for the shortest decimal that prints as it.
    name : str
        For the error.

    Returns
    -------
    Fraction

    Examples
    --------
    >>> positive_fraction(0.1)
    Fraction(1, 10)
    """
    try:
        if isinstance(x, bool):
            raise TypeError
        if isinstance(x, Rational):
            exact = Fraction(int(x.numerator), int(x.denominator))  # numpy's integers would overflow later
        else:
            exact = Fraction(x if isinstance(x, str) else repr(float(x)))
    except (TypeError, ValueError, OverflowError, ZeroDivisionError):
        raise ValueError(f"{name} must be a positive, finite number, not {x!r}.") from None
    if exact <= 0:
        raise ValueError(f"{name} must be positive, not {x!r}.")
    return exact


def written_fraction(text: object) -> Fraction | None:
    """A fraction as files write it, such as "3/7"; None stays None.

    Raises
    ------
    ValueError
        For anything else, exponents included: 1e10000000 would take forever.
    """
    if text is None:
        return None
    if not isinstance(text, str) or not re.fullmatch(r"\d{1,60}(/\d{1,60})?", text):
        raise ValueError(f"{str(text)[:60]!r} is not a fraction")
    return Fraction(text)


def round_down(x: float | str | Rational) -> Fraction:
    """The largest a/b <= x with 0 <= a < 2**32 and 0 < b < 2**32. A float stands for its shortest decimal.

    Examples
    --------
    >>> round_down(0.1), round_down("2/3")
    (Fraction(1, 10), Fraction(2, 3))
    """
    x = positive_fraction(x, "a rate or scale")
    if x >= LIMIT:
        return Fraction(LIMIT)
    return _neighbours(x)[0] if x <= 1 else 1 / _neighbours(1 / x)[1]


def round_up(x: float | str | Rational) -> Fraction:
    """The smallest a/b >= x with 0 < a, b < 2**32.

    Raises
    ------
    ValueError
        Where there is none: x > 2**32 - 1.

    Examples
    --------
    >>> round_up(Fraction(1, 10**20))
    Fraction(1, 4294967295)
    """
    below = round_down(1 / positive_fraction(x, "a rate or scale"))
    if below == 0:
        raise ValueError("The budget is too small: noise of a scale beyond 2**32 is not supported.")
    return 1 / below


def _neighbours(x: Fraction, limit: int = LIMIT) -> tuple[Fraction, Fraction]:
    """The nearest fractions below and above x (0 < x <= 1) with denominators up to the limit, or x itself twice.

    Walks down the Stern-Brocot tree, many steps in one direction at a time.
    """
    if x.denominator <= limit:
        return x, x
    (a, b), (c, d) = (0, 1), (1, 1)  # a/b < x < c/d
    while b + d <= limit:
        # Most steps t that keep (a + t c)/(b + t d) below x, then the same from above.
        t = min((x.numerator * b - a * x.denominator) // (c * x.denominator - x.numerator * d), (limit - b) // d)
        a, b = a + t * c, b + t * d
        if b + d > limit:
            break
        t = min((c * x.denominator - x.numerator * d) // (x.numerator * b - a * x.denominator), (limit - d) // b)
        c, d = c + t * a, d + t * b
    return Fraction(a, b), Fraction(c, d)
