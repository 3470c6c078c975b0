"""Exact fractions for budgets, fractions of 32-bit numbers for rates, and texts of numbers rounded to the safe side."""

import math
import re
import sys
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction
from numbers import Rational
from typing import Final

LIMIT: Final = 2**32 - 1  # largest numerator and denominator of a rate or scale that the samplers can draw
MOST_DIGITS: Final = 200  # largest number of digits of a numerator or denominator in a file


def positive_fraction(x: float | str | Rational, name: str = "epsilon") -> Fraction:
    """Return the exact value of a number that a user typed: 0.1 means 1/10, not the nearest binary number.

    Parameters
    ----------
    x : float, str, int or Fraction
        Positive and finite. A float stands for its shortest decimal.
    name : str
        Name of the parameter in the error message.

    Returns
    -------
    Fraction
        Exact value of `x`.

    Raises
    ------
    ValueError
        If `x` is not a positive, finite number.

    Examples
    --------
    >>> positive_fraction(0.1)
    Fraction(1, 10)
    """
    try:
        if isinstance(x, bool):
            raise TypeError
        if isinstance(x, Rational):
            exact = Fraction(int(x.numerator), int(x.denominator))  # numpy integers would overflow later
        else:
            exact = Fraction(x if isinstance(x, str) else repr(float(x)))
    except (TypeError, ValueError, OverflowError, ZeroDivisionError):
        raise ValueError(f"{name} must be a positive, finite number, not {x!r}.") from None
    if exact <= 0:
        raise ValueError(f"{name} must be positive, not {x!r}.")
    return exact


def printed_decimal(x: object) -> Fraction:
    """Return the exact value of a number as it is printed, like `positive_fraction`, but without checks.

    >>> printed_decimal(0.1), printed_decimal(2), printed_decimal(Fraction(1, 3))
    (Fraction(1, 10), Fraction(2, 1), Fraction(1, 3))
    """
    return Fraction(str(x))


def written_fraction(text: object) -> Fraction | None:
    """Return the value of a fraction such as "3/7" from a file; None if `text` is None.

    Raises
    ------
    ValueError
        If `text` has another form. A number with an exponent is also refused, because 1e10000000 would take very long
        to read.
    """
    if text is None:
        return None
    if not isinstance(text, str) or not re.fullmatch(rf"\d{{1,{MOST_DIGITS}}}(/\d{{1,{MOST_DIGITS}}})?", text):
        raise ValueError(f"{str(text)[:60]!r} is not a fraction")
    return Fraction(text)


def round_down(x: float | str | Rational, most: int = LIMIT) -> Fraction:
    """Return a fraction a/b <= x with 0 <= a <= most and 0 < b < 2**32. A float stands for its shortest decimal.

    With the default `most`, ``2**32 - 1``, the result is the largest such fraction.

    Examples
    --------
    >>> round_down(0.1), round_down("2/3"), round_down("1000001/7000000", most=1000)
    (Fraction(1, 10), Fraction(2, 3), Fraction(1, 7))
    """
    x = positive_fraction(x, "a rate or scale")
    if x >= most:
        return Fraction(most)
    below = _neighbors(x)[0] if x <= 1 else 1 / _neighbors(1 / x, most)[1]
    if below.numerator > most:  # take the largest fraction with the numerator `most` that is not above x
        below = Fraction(most, -(-below.denominator * most // below.numerator))
    return below


def round_up(x: float | str | Rational) -> Fraction:
    """Return the smallest a/b >= x with 0 < a, b < 2**32.

    Raises
    ------
    ValueError
        If x > 2**32 - 1, because there is no such fraction.

    Examples
    --------
    >>> round_up(Fraction(1, 10**20))
    Fraction(1, 4294967295)
    """
    below = round_down(1 / positive_fraction(x, "a rate or scale"))
    if below == 0:
        raise ValueError("The budget is too small: noise of a scale beyond 2**32 is not supported.")
    return 1 / below


def _neighbors(x: Fraction, limit: int = LIMIT) -> tuple[Fraction, Fraction]:
    """Return the nearest fractions below and above x with denominators up to the limit, for 0 < x <= 1.

    If the denominator of x is not above the limit, the result is (x, x). Otherwise, the function walks down the
    Stern-Brocot tree, and takes many steps in the same direction at a time.
    """
    if x.denominator <= limit:
        return x, x
    (a, b), (c, d) = (0, 1), (1, 1)  # a/b < x < c/d
    while b + d <= limit:
        # t is the largest number of steps for which (a + t c)/(b + t d) is below x. For the second t, (c + t a)/(d + t
        # b) is above x.
        t = min((x.numerator * b - a * x.denominator) // (c * x.denominator - x.numerator * d), (limit - b) // d)
        a, b = a + t * c, b + t * d
        if b + d > limit:
            break
        t = min((c * x.denominator - x.numerator * d) // (x.numerator * b - a * x.denominator), (limit - d) // b)
        c, d = c + t * a, d + t * b
    return Fraction(a, b), Fraction(c, d)


def sqrt_up(x: Fraction) -> Fraction:
    """Return a fraction of few digits that is the square root of x or slightly larger.

    Examples
    --------
    >>> sqrt_up(Fraction(9, 4)), float(sqrt_up(Fraction(2)))
    (Fraction(3, 2), 1.4142135624)
    """
    digits = max(10, x.denominator.bit_length() - x.numerator.bit_length())  # a small x needs more decimals
    shift = 10**digits
    scaled = -(-x.numerator * shift * shift // x.denominator)
    root = math.isqrt(scaled)
    return Fraction(root + (root * root < scaled), shift)


def float_up(x: Rational) -> float:
    """Return the smallest float that is not below x; infinity if x is above the largest finite float.

    Examples
    --------
    >>> float_up(Fraction(3, 10)), float_up(Fraction(1, 10))
    (0.30000000000000004, 0.1)
    """
    exact = Fraction(x)
    try:
        near = float(exact)
    except OverflowError:
        return math.inf if exact > 0 else -sys.float_info.max
    return near if Fraction(near) >= exact else math.nextafter(near, math.inf)


def text_up(x: float | Rational | None, digits: int = 6) -> str:
    """Return an ε, δ or loss as text for people, rounded up: the text is never below the true value.

    Parameters
    ----------
    x : float, Fraction or None
        At least 0; a float stands for its shortest decimal. None and infinity mean that there is no bound.
    digits : int
        Largest number of significant digits.

    Returns
    -------
    str
        Decimal or scientific notation; "∞" if there is no bound.

    Raises
    ------
    ValueError
        If x is negative.

    Examples
    --------
    >>> text_up(0.1234564), text_up(Fraction(1, 3), 3), text_up(0.3), text_up(1), text_up(math.inf)
    ('0.123457', '0.334', '0.3', '1', '∞')
    >>> text_up(Fraction(1, 10**9)), text_up(1_234_567, 4)
    ('1e-09', '1.235e+06')
    """
    return _decimal_text(x, digits, ROUND_CEILING)


def text_down(x: float | Rational | None, digits: int = 6) -> str:
    """Return a remaining ε or a lower bound as text, rounded down: the text is never above the true value.

    >>> text_down(Fraction(2, 3), 3), text_down(0.3)
    ('0.666', '0.3')
    """
    return _decimal_text(x, digits, ROUND_FLOOR)


def _decimal_text(x: float | Rational | None, digits: int, rounding: str) -> str:
    """Return a number as text with at most `digits` significant digits, rounded by the mode `rounding` of decimal."""
    if x is None or x == math.inf:
        return "∞"
    exact = Fraction(int(x.numerator), int(x.denominator)) if isinstance(x, Rational) else Fraction(repr(float(x)))
    if exact < 0:
        raise ValueError(f"a bound is not negative: {x!r}")
    context = Context(prec=digits, rounding=rounding)
    near = context.normalize(context.divide(Decimal(exact.numerator), Decimal(exact.denominator)))
    if near == 0 or -4 <= near.adjusted() < max(digits, 6):
        return f"{near:f}"
    return f"{context.scaleb(near, -near.adjusted()):f}e{near.adjusted():+03d}"  # as the format 'g' writes it
