"""The loss of a release: pure ε, or μ of Gaussian differential privacy, as exact fractions that add up.

For pure losses, ε adds up. A Gaussian loss of μ means that two neighboring tables are no easier to distinguish than the
normal laws N(0, 1) and N(μ, 1). For Gaussian losses, μ² adds up, so μ² is stored (Dong, Roth and Su 2022, "Gaussian
differential privacy", Definition 2.6 and Corollary 3.3). A loss of μ means (ε, δ)-differential privacy for every ε,
where δ is a known function of ε and μ (Corollary 2.13).

Pure and Gaussian losses are never added to each other. To state their joint cost, choose a δ, and write the Gaussian
loss as (ε(δ), δ) and the pure loss as (ε, 0). These two pairs add up (Dwork and Roth 2014, "The algorithmic foundations
of differential privacy", Theorem 3.16).

Each ε, δ and μ that is computed from a loss is rounded up, by proved bounds (`dpforest.privacy.normal_bounds`).
"""

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache
from numbers import Rational
from typing import Final

from dpforest.privacy.normal_bounds import bounds, hockey_stick, randomized_response, sqrt
from dpforest.privacy.rationals import float_up, positive_fraction

PURE: Final = "pure"
GAUSSIAN: Final = "gaussian"
KINDS: Final = (PURE, GAUSSIAN)
NOISE: Final = {
    PURE: "discrete-laplace",
    GAUSSIAN: "rounded-gaussian",
}  # the mechanism for noisy tables
_DIGITS: Final = 12  # significant digits of an ε or μ² that a search returns
_LEAST: Final = -40  # a search for a small ε or μ² stops at this power of ten


class MixedLossesError(ValueError):
    """Raised if a pure and a Gaussian loss are added or compared, or if one is used in place of the other."""


@dataclass(frozen=True)
class PrivacyLoss:
    """A privacy loss of one kind, built by `pure` or `gaussian`.

    Attributes
    ----------
    kind : {"pure", "gaussian"}
        Whether the loss is an ε, or the μ of Gaussian differential privacy.
    amount : Fraction
        The quantity that adds up, at least 0: ε, or μ².

    Examples
    --------
    >>> third = PrivacyLoss.gaussian(Fraction(1, 3))
    >>> third * 3 == PrivacyLoss.gaussian(1), (third + third).amount, third.grouped(2).amount
    (True, Fraction(2, 3), Fraction(4, 3))
    """

    kind: str
    amount: Fraction

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise ValueError(f"kind must be one of {KINDS}, not {self.kind!r}.")
        if not isinstance(self.amount, Fraction) or self.amount < 0:
            raise ValueError(f"a loss is an exact fraction from 0, not {self.amount!r}.")
        if not type(self.amount.numerator) is type(self.amount.denominator) is int:  # numpy integers would overflow
            amount = Fraction(int(self.amount.numerator), int(self.amount.denominator))
            object.__setattr__(self, "amount", amount)

    @classmethod
    def pure(cls, epsilon: float | str | Rational) -> "PrivacyLoss":
        """Build the loss of ε-differential privacy. A float stands for its shortest decimal."""
        return cls(PURE, _nonnegative_fraction(epsilon, "epsilon"))

    @classmethod
    def gaussian(cls, mu_squared: float | str | Rational) -> "PrivacyLoss":
        """Build the loss of μ-Gaussian differential privacy from μ². A float stands for its shortest decimal."""
        return cls(GAUSSIAN, _nonnegative_fraction(mu_squared, "mu_squared"))

    @property
    def pure_epsilon(self) -> Fraction:
        """ε of a pure loss. Raises MixedLossesError for a Gaussian loss, which has an ε for each δ."""
        if self.kind != PURE:
            raise MixedLossesError(f"A loss of {self} has an ε only at a δ: ask for epsilon(delta).")
        return self.amount

    @property
    def mu_squared(self) -> Fraction:
        """μ² of a Gaussian loss. Raises MixedLossesError for a pure loss."""
        if self.kind != GAUSSIAN:
            raise MixedLossesError(f"A loss of {self} has no μ²; count it in a pure ledger.")
        return self.amount

    @property
    def mu(self) -> Fraction:
        """μ of a Gaussian loss, with 60 digits, rounded up. Raises MixedLossesError for a pure loss."""
        return Fraction(sqrt(bounds(self.mu_squared)).high)

    @property
    def rho(self) -> Fraction:
        """The ρ of zero-concentrated differential privacy that follows from this loss: ε²/2, or μ²/2.

        The definition of ρ is that the Rényi divergence of every order α between the releases from two neighbors is at
        most αρ. For a pure loss, ρ = ε²/2 holds by Proposition 1.4 of Bun and Steinke 2016, "Concentrated differential
        privacy". For a Gaussian loss, two releases are no easier to distinguish than N(0, 1) and N(μ, 1), whose
        divergence is αμ²/2 (Proposition 1.6).
        """
        return self.amount * (self.amount if self.kind == PURE else 1) / 2

    # ------------------------------------------------------------ composition

    def __add__(self, other: "PrivacyLoss") -> "PrivacyLoss":
        """Compose two queries of the same rows; the second query may depend on the answer to the first."""
        self._check_same_kind(other)
        return PrivacyLoss(self.kind, self.amount + other.amount)

    def __mul__(self, times: int) -> "PrivacyLoss":
        """Compose `times` queries of the same rows, each of this loss."""
        return PrivacyLoss(self.kind, self.amount * _whole_number(times))

    __rmul__ = __mul__

    def grouped(self, rows: int) -> "PrivacyLoss":
        """Return the loss between two tables that are k = `rows` single-row changes apart.

        A pure loss ε becomes kε, and a Gaussian loss μ becomes kμ, so μ² becomes k² μ² (Dong, Roth and Su, Theorem
        2.14). With k = 2, the cost of one row added or removed becomes the cost of one row replaced.
        """
        return PrivacyLoss(self.kind, self.amount * _whole_number(rows) ** (1 if self.kind == PURE else 2))

    def part(self, share: Fraction, rows: int = 1) -> "PrivacyLoss":
        """Return the largest loss of one single-row change if `rows` changes together may cost `share` of this loss."""
        return PrivacyLoss(self.kind, self.amount * share / _whole_number(rows) ** (1 if self.kind == PURE else 2))

    def replace_one(self) -> "PrivacyLoss":
        """Convert a loss under add-remove to replace-one: a replacement is one removal and one addition."""
        return self.grouped(2)

    @classmethod
    def total(cls, losses: Iterable["PrivacyLoss"], kind: str = PURE) -> "PrivacyLoss":
        """Return the sum of the losses. If there are no losses, return a loss of 0 of this kind."""
        total = cls(kind, Fraction(0))
        for loss in losses:
            total = total + loss
        return total

    @classmethod
    def parallel(cls, losses: Iterable["PrivacyLoss"], kind: str = PURE) -> "PrivacyLoss":
        """Return the largest loss: the cost of mechanisms on disjoint parts, if each row was drawn into one part."""
        largest = cls(kind, Fraction(0))
        for loss in losses:
            largest = loss if largest <= loss else largest
        return largest

    def __le__(self, other: "PrivacyLoss") -> bool:
        self._check_same_kind(other)
        return self.amount <= other.amount

    def __lt__(self, other: "PrivacyLoss") -> bool:
        self._check_same_kind(other)
        return self.amount < other.amount

    def __ge__(self, other: "PrivacyLoss") -> bool:
        return other <= self

    def __gt__(self, other: "PrivacyLoss") -> bool:
        return other < self

    def _check_same_kind(self, other: "PrivacyLoss") -> None:
        """Raise an error unless `other` is a loss of the same kind."""
        if not isinstance(other, PrivacyLoss):
            raise TypeError(f"only a loss can be added to a loss or compared with it, not {other!r}")
        if self.kind != other.kind:
            raise MixedLossesError(
                f"A {self.kind} loss and a {other.kind} one neither add up nor compare. Keep a ledger for each kind, "
                "or choose a δ and add epsilon(delta) of both."
            )

    # ------------------------------------------------------------ as (ε, δ)

    def delta(self, epsilon: float | str | Rational) -> float:
        """Return the least proved δ at this ε as a float, rounded up.

        A reader may take a float as its binary value or as its shortest decimal. Both values are at least the proved δ.

        >>> PrivacyLoss.gaussian(1).delta(0)
        0.38292492254802624
        >>> PrivacyLoss.pure(1).delta(2)
        0.0
        """
        exact = Fraction(_delta(self, min(_readings(epsilon, "epsilon"))))
        delta = float_up(exact)
        while min(_readings(delta, "delta")) < exact:
            delta = math.nextafter(delta, math.inf)
        return delta

    def holds(self, epsilon: float | str | Rational, delta: float | str | Rational) -> bool:
        """Return whether this loss is proved to be (ε, δ)-private.

        A float may mean its binary value or its shortest decimal, so (ε, δ) must be proved for both values.
        """
        least = min(_readings(epsilon, "epsilon"))
        return Fraction(_delta(self, least)) <= min(_readings(delta, "delta"))

    def epsilon(self, delta: float | str | Rational = 0) -> Fraction:
        """Return the least ε at this δ, with 12 digits, rounded up. For a pure loss at δ = 0, the ε is exact.

        Raises
        ------
        ValueError
            If δ is below 0 or at least 1, or if δ is 0 and the loss is Gaussian and positive, because then no ε holds.

        Examples
        --------
        >>> float(PrivacyLoss.gaussian(1).epsilon(1e-6))
        4.88655411747
        """
        target = min(_readings(delta, "delta"))
        if not 0 <= target < 1 or (target == 0 and self.kind == GAUSSIAN and self.amount):
            raise ValueError(f"δ is a number below 1, and above 0 for a Gaussian loss, not {delta!r}.")
        if target == 0:
            return self.amount if self.kind == PURE else Fraction(0)
        epsilon = _epsilon(self, target)
        return min(epsilon, self.amount) if self.kind == PURE else epsilon

    def __str__(self) -> str:
        return f"{'ε' if self.kind == PURE else 'μ²'} = {self.amount}"


def mu_for(epsilon: float | str | Rational, delta: float | str | Rational) -> PrivacyLoss:
    """Return the largest Gaussian loss that is proved to be (ε, δ)-private. Its μ² has 12 digits and is rounded down.

    Parameters
    ----------
    epsilon : float or Fraction
        ε of the promise, at least 0.
    delta : float or Fraction
        δ of the promise, above 0 and below 1.

    Returns
    -------
    PrivacyLoss
        Loss of kind "gaussian".

    Raises
    ------
    ValueError
        If ε is negative, if δ is not above 0 and below 1, or if no μ² of at least 10^-39 is private enough.

    Examples
    --------
    >>> round(float(mu_for(1, 1e-6).mu_squared) ** 0.5, 6)
    0.236704
    """
    exact, target = min(_readings(epsilon, "epsilon")), min(_readings(delta, "delta"))
    if not 0 < target < 1:
        raise ValueError(f"δ is a number above 0 and below 1, not {delta!r}.")
    return _mu_for(exact, target)


@lru_cache(1024)
def _mu_for(epsilon: Fraction, target: Fraction) -> PrivacyLoss:
    is_private = lambda mu_squared: Fraction(hockey_stick(mu_squared, epsilon).high) <= target
    return PrivacyLoss.gaussian(_boundary(is_private, rising=False))


@lru_cache(1024)
def _epsilon(loss: PrivacyLoss, target: Fraction) -> Fraction:
    is_private = lambda epsilon: Fraction(_delta(loss, epsilon)) <= target
    return Fraction(0) if is_private(Fraction(0)) else _boundary(is_private, rising=True)


@lru_cache(1024)
def _delta(loss: PrivacyLoss, epsilon: Fraction) -> Decimal:
    law = randomized_response if loss.kind == PURE else hockey_stick
    return law(loss.amount, epsilon).high


def _boundary(is_private: Callable[[Fraction], bool], *, rising: bool) -> Fraction:
    """Return the number of 12 digits at which `is_private` changes, on the side where `is_private` is True.

    If `rising`, `is_private` is True for all large numbers, and the result is the least of them. Otherwise,
    `is_private` is True for all small numbers, and the result is the largest of them. The result is at least 10^-39.
    The search evaluates `is_private` at the result, so it does not rely on rounding.
    """
    power = 0
    while power > _LEAST and is_private(Fraction(10) ** power) is rising:  # stop at the power where the answer changes
        power -= 1
    if power == _LEAST:
        if not rising:
            raise ValueError("no μ² from 10^-39 is private enough.")
        return Fraction(10) ** (power + 1)
    while is_private(Fraction(10) ** (power + 1)) is not rising:
        power += 1
    grid = Fraction(10) ** (power + 1 - _DIGITS)
    low, high = 10 ** (_DIGITS - 1), 10**_DIGITS
    while high - low > 1:
        middle = (low + high) // 2
        if is_private(middle * grid) is rising:
            high = middle
        else:
            low = middle
    return (high if rising else low) * grid


def _nonnegative_fraction(x: float | str | Rational, name: str) -> Fraction:
    if isinstance(x, int | float | Fraction) and not isinstance(x, bool) and x == 0:
        return Fraction(0)
    return positive_fraction(x, name)


def _whole_number(number: int) -> int:
    if int(number) != number or number < 0:
        raise ValueError(f"a loss is multiplied by a whole number of at least 0, not by {number!r}.")
    return int(number)


def _readings(x: float | str | Rational, name: str) -> tuple[Fraction, ...]:
    """Return the exact values that a number may mean: for a float, its shortest decimal and its binary value."""
    exact = _nonnegative_fraction(x, name)
    return (exact, Fraction(x)) if isinstance(x, float) else (exact,)
