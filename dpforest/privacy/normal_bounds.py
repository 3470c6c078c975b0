"""Proved bounds of δ(ε) for Gaussian noise and for pure losses, as decimals of 60 digits that are rounded outward.

The `decimal` module adds, multiplies and divides with correct rounding in either direction. It rounds ``exp`` and
``sqrt`` correctly to the nearest decimal, so the next decimals below and above are bounds. No float is involved.

Let φ be the density and Φ the distribution function of a standard normal Z. The upper tail P(Z > t) is φ(t) R(t), where
R is called Mills' ratio and falls as t grows. For t below 6, this module computes R(t) as √(π/2) e^(t²/2) - Σ t^(2k+1)
/ (1·3·...·(2k+1)), summed over k ≥ 0. From t = 6 on, it uses Laplace's continued fraction R(t) = 1/(t + 1/(t + 2/(t +
3/(t + ...)))) (Abramowitz and Stegun 1964, 26.2.11 and 26.2.14).
"""

from dataclasses import dataclass
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal, DivisionByZero, InvalidOperation, Overflow
from fractions import Fraction
from typing import Final

_DIGITS: Final = 60
_TRAPS: Final = [InvalidOperation, DivisionByZero, Overflow]
_FLOOR: Final = Context(prec=_DIGITS, rounding=ROUND_FLOOR, Emin=-5000, Emax=10**6, traps=_TRAPS)
_CEILING: Final = Context(prec=_DIGITS, rounding=ROUND_CEILING, Emin=-5000, Emax=10**6, traps=_TRAPS)
_FRACTION_FROM: Final = 6  # least t for the continued fraction; for smaller t, the subtraction loses at most 8 digits
_FRACTION_TERMS: Final = 120  # with this number of terms, the error at t = 6 is 10^-75


@dataclass(frozen=True)
class Bounds:
    """A lower and an upper bound of a number. The number may equal a bound."""

    low: Decimal
    high: Decimal

    def __add__(self, other: "Bounds") -> "Bounds":
        return Bounds(_FLOOR.add(self.low, other.low), _CEILING.add(self.high, other.high))

    def __neg__(self) -> "Bounds":
        return Bounds(self.high.copy_negate(), self.low.copy_negate())

    def __sub__(self, other: "Bounds") -> "Bounds":
        return self + -other

    def __mul__(self, other: "Bounds") -> "Bounds":
        if self.low >= 0 and other.low >= 0:
            return Bounds(_FLOOR.multiply(self.low, other.low), _CEILING.multiply(self.high, other.high))
        pairs = [(a, b) for a in (self.low, self.high) for b in (other.low, other.high)]
        return Bounds(min(_FLOOR.multiply(a, b) for a, b in pairs), max(_CEILING.multiply(a, b) for a, b in pairs))

    def __truediv__(self, other: "Bounds") -> "Bounds":
        if not (other.low > 0 and self.low >= 0):
            raise ValueError("the dividend must be at least 0, and the divisor above 0")
        return Bounds(_FLOOR.divide(self.low, other.high), _CEILING.divide(self.high, other.low))

    def clipped(self, low: int, high: int | None = None) -> "Bounds":
        """Return tighter bounds of a number that is known to lie between `low` and `high`."""
        least, most = max(self.low, Decimal(low)), max(self.high, Decimal(low))
        return Bounds(least, most) if high is None else Bounds(min(least, Decimal(high)), min(most, Decimal(high)))


def bounds(x: Fraction | int) -> Bounds:
    """Return bounds of a fraction that is at least 0.

    >>> third = bounds(Fraction(1, 3))
    >>> Fraction(third.low) < Fraction(1, 3) < Fraction(third.high)
    True
    """
    x = Fraction(x)
    top, bottom = (Bounds(_FLOOR.create_decimal(n), _CEILING.create_decimal(n)) for n in (x.numerator, x.denominator))
    return top / bottom


def exp(x: Bounds) -> Bounds:
    """Return bounds of e^x.

    >>> float(exp(bounds(1)).low)
    2.718281828459045
    """
    return Bounds(_FLOOR.next_minus(_FLOOR.exp(x.low)), _CEILING.next_plus(_CEILING.exp(x.high))).clipped(0)


def sqrt(x: Bounds) -> Bounds:
    """Return bounds of √x, for x >= 0.

    >>> float(sqrt(bounds(2)).high)
    1.4142135623730951
    """
    return Bounds(_FLOOR.next_minus(_FLOOR.sqrt(x.low)), _CEILING.next_plus(_CEILING.sqrt(x.high))).clipped(0)


PI: Final = Bounds(
    Decimal("3.141592653589793238462643383279502884197169399375105820974944"),
    Decimal("3.141592653589793238462643383279502884197169399375105820974945"),
)
_ZERO, _ONE, _TWO, _HALF = bounds(0), bounds(1), bounds(2), bounds(Fraction(1, 2))
_ROOT_2_PI: Final = sqrt(_TWO * PI)
_ROOT_HALF_PI: Final = sqrt(PI * _HALF)


def density(t: Bounds) -> Bounds:
    """Return bounds of the standard normal density φ(t), for t >= 0.

    >>> round(float(density(bounds(0)).high), 6)
    0.398942
    """
    return exp(-(t * t * _HALF)) / _ROOT_2_PI


def mills_ratio(t: Bounds) -> Bounds:
    """Return bounds of Mills' ratio R(t) = P(Z > t) / φ(t), for t >= 0.

    >>> round(float(mills_ratio(bounds(1)).low), 6)
    0.65568
    """
    return Bounds(_mills_ratio_at(t.high).low, _mills_ratio_at(t.low).high)  # the ratio falls as t grows


def _mills_ratio_at(point: Decimal) -> Bounds:
    """Return bounds of Mills' ratio at one number, which is at least 0."""
    t = Bounds(point, point)
    if point >= _FRACTION_FROM:
        # For n = _FRACTION_TERMS, the term after the n-th plus sign is n / (t + ...). It lies between 0 and n / t,
        # because all terms are positive.
        low, high = point, _CEILING.add(point, _CEILING.divide(Decimal(_FRACTION_TERMS), point))
        for k in range(_FRACTION_TERMS - 1, 0, -1):
            least, most = _FLOOR.divide(Decimal(k), high), _CEILING.divide(Decimal(k), low)
            low, high = _FLOOR.add(point, least), _CEILING.add(point, most)
        return _ONE / Bounds(low, high)
    square, term, total, k = t * t, t, t, 0
    while term.high > Decimal(10) ** -(_DIGITS + 5) or square.high > k:
        k, n = k + 1, Decimal(2 * k + 3)
        term = term * square / Bounds(n, n)
        total = total + term
    # Each further term is less than half of the previous term, because t² is at most k. So the sum of all further terms
    # is below `term`.
    total = total + Bounds(Decimal(0), term.high)
    return _ROOT_HALF_PI * exp(square * _HALF) - total


def hockey_stick(mu_squared: Fraction, epsilon: Fraction) -> Bounds:
    """Return bounds of δ(ε) between N(0, 1) and N(μ, 1): Φ(-ε/μ + μ/2) - e^ε Φ(-ε/μ - μ/2).

    The formula is from Balle and Wang 2018, "Improving the Gaussian mechanism for differential privacy", Theorem 8, and
    Dong, Roth and Su 2022, "Gaussian differential privacy", Corollary 2.13. Let x = ε/μ - μ/2 and y = x + μ. Then
    e^ε φ(y) = φ(x). So δ(ε) = φ(x) (R(x) - R(y)) if x ≥ 0, and δ(ε) = 1 - φ(x) (R(-x) + R(y)) if x < 0. These
    expressions do not contain e^ε, so they cannot overflow.

    Parameters
    ----------
    mu_squared, epsilon : Fraction
        μ² and ε, at least 0.

    Returns
    -------
    Bounds
        Bounds from 0 to 1. If μ is above 10^-10, about 40 digits are correct.

    Examples
    --------
    >>> round(float(hockey_stick(Fraction(1), Fraction(0)).high), 6)  # 2 Φ(1/2) - 1
    0.382925
    """
    if mu_squared == 0:
        return _ZERO
    mu = sqrt(bounds(mu_squared))
    ratio, half = bounds(epsilon) / mu, mu * _HALF
    tail = mills_ratio(ratio + half)
    if 2 * epsilon >= mu_squared:
        x = (ratio - half).clipped(0)
        return (density(x) * (mills_ratio(x) - tail)).clipped(0, 1)
    x = (half - ratio).clipped(0)
    return (_ONE - density(x) * (mills_ratio(x) + tail)).clipped(0, 1)


def randomized_response(loss: Fraction, epsilon: Fraction) -> Bounds:
    """Return bounds of δ(ε) for the worst pure mechanism with this `loss`: max(0, (e^loss - e^ε) / (1 + e^loss)).

    No pure mechanism loses more than randomized response (Kairouz, Oh and Viswanath 2015, "The composition theorem for
    differential privacy", Theorem 2.1).

    Examples
    --------
    >>> round(float(randomized_response(Fraction(1), Fraction(0)).high), 6)
    0.462117
    """
    if epsilon >= loss:
        return _ZERO
    return ((_ONE - exp(-bounds(loss - epsilon))).clipped(0) / (_ONE + exp(-bounds(loss)))).clipped(0, 1)
