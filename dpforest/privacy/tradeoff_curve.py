"""The trade-off curve of a ledger: how well the best test on a release distinguishes two neighboring tables.

A test guesses whether a release comes from the second of two tables. A *hit* is a right "yes", and a *false alarm* is a
wrong "yes". The *loss* of an outcome is the logarithm of the ratio of its probabilities under the two tables.
Randomized response at κ has two outcomes, with the losses κ and -κ. A mechanism with pure loss κ is no easier to test
than randomized response at κ (Kairouz, Oh and Viswanath 2015, "The composition theorem for differential privacy"). So
this module replaces each application of a pure mechanism by one randomized response, called a *step*. The losses of the
steps are independent, and their sum is the loss of the release. Entries of Gaussian noise are no easier to test than
N(0, 1) against N(μ, 1) (Dong, Roth and Su 2022, "Gaussian differential privacy"). `docs/PRIVACY.md` has the proof.

Every result is rounded up, so it is at least the true value. If the sum of the losses has at most `_MOST_SUMS` possible
values, the module computes the probability of each value. If it has more values, the module moves them to a grid: it
divides the probability of a value between the two neighboring grid points, so that the total probability under either
table stays the same. This move can only make the tables easier to distinguish (Doroshenko, Ghazi, Kamath, Kumar and
Manurangsi 2022, "Connect the dots"). Results in floats are enlarged by the relative margin `_MARGIN`, which is far
above the errors of floats.
"""

import math
from collections import Counter
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any, Final

import numpy as np
from scipy.special import log_ndtr, ndtr, ndtri
from scipy.stats import binom

from dpforest.privacy.ledger import Ledger
from dpforest.privacy.loss import GAUSSIAN, PrivacyLoss
from dpforest.privacy.rationals import float_up

Steps = tuple[tuple[Fraction, int], ...]  # pairs (κ, times)

_MARGIN: Final = 1e-11  # relative margin, far above the errors of floats
_MOST_SUMS: Final = 4_096  # largest number of possible sums of losses without a grid
_LARGE: Final = 1_000  # if the sum of ε over all steps is at least this number, all steps count as one
_STEEPEST: Final = 700.0  # largest ε of a bound e^ε a + δ; floats overflow at e^710
_MOST_KINKS: Final = 400  # largest number of kinks of a curve that a drawing shows


def steps_of(ledger: Ledger) -> Steps:
    """Return the steps of a pure ledger, as pairs (κ, times) in the order of the ledger; () for a Gaussian ledger.

    If the ledger has entries for disjoint parts of the rows, each tree divides the rows into parts anew. So each tree
    becomes one step, whose loss is that of the tree's most expensive part. An entry has equally many applications in
    each tree. So the function takes the greatest common divisor of the numbers of applications as the number of trees.

    Examples
    --------
    >>> ledger = Ledger(1)
    >>> paid = ledger.charge("number of rows", "discrete-laplace", 1, "1/50", 1, "sequential")
    >>> paid = ledger.charge("labels, tree by tree", "permute-and-flip", 1, "1/100", 98, "sequential")
    >>> steps_of(ledger)
    ((Fraction(1, 50), 1), (Fraction(1, 100), 98))
    """
    times: Counter[Fraction] = Counter()
    parts: dict[str, list[tuple[Fraction, int]]] = {}
    for entry in ledger.entries:
        if entry.each is None or entry.each.kind == GAUSSIAN:
            return ()
        step = entry.each.grouped(ledger.rows).amount
        n = entry.times if entry.composition == "sequential" else 1
        if entry.part:
            parts.setdefault(entry.part, []).append((step, n))
        else:
            times[step] += n
    if parts:
        n_trees = math.gcd(*(n for steps in parts.values() for _, n in steps))
        largest = max(sum((step * n for step, n in steps), Fraction(0)) for steps in parts.values())
        times[largest / n_trees] += n_trees
    return tuple(times.items())


@dataclass(frozen=True)
class TradeoffCurve:
    """Trade-off curve of independent steps, of Gaussian noise, or of both in sequence.

    Attributes
    ----------
    steps : tuple of (Fraction, int)
        Pairs (κ, times): `times` mechanisms of pure loss κ each.
    mu_squared : Fraction
        μ² of the Gaussian noise; 0 if there is no Gaussian noise.
    changes : int
        Number of single-row changes that lead from one table to the other, at least 1. For one change, a curve h maps
        the false alarm rate to the largest hit rate. For k changes, the hit rate is at most h applied k times to the
        false alarm rate (Dong, Roth and Su, Theorem 2.14).

    Examples
    --------
    >>> curve = TradeoffCurve(((Fraction(1, 100), 100),))  # 100 trees on the same rows, at ε = 1
    >>> round(curve.success(), 6), round(curve.epsilon(1e-6), 6), curve.hits(0.05).round(6).item()
    (0.519889, 0.392264, 0.061135)
    """

    steps: Steps = ()
    mu_squared: Fraction = Fraction(0)
    changes: int = 1

    @property
    def total(self) -> Fraction:
        """Loss of all steps together, in ε."""
        return self.changes * sum((step * times for step, times in self.steps), Fraction(0))

    @property
    def gaussian(self) -> PrivacyLoss:
        """Loss of the Gaussian noise over all changes."""
        return PrivacyLoss.gaussian(self.mu_squared).grouped(self.changes)

    def __add__(self, other: "TradeoffCurve") -> "TradeoffCurve":
        """Compose two releases from the same rows, each over the same number of changes."""
        if self.changes != other.changes:
            raise ValueError("curves over different numbers of changes do not add up")
        return TradeoffCurve(self.steps + other.steps, self.mu_squared + other.mu_squared, self.changes)

    def delta(self, epsilon: float | Fraction) -> float:
        """Return δ at an ε of at least 0, rounded up.

        >>> TradeoffCurve(((Fraction(1), 1),)).delta(1)
        0.0
        """
        if not self.steps:
            return self.gaussian.delta(epsilon)
        if not self.mu_squared and Fraction(epsilon) >= self.total:
            return 0.0
        loss, _, p = _law(self.steps, self.changes)
        excess = float(epsilon) - loss - _MARGIN / 10 * loss[0]
        deltas = _gaussian_delta(excess, self.gaussian) if self.mu_squared else -np.expm1(np.minimum(excess, 0.0))
        return min(float(p @ deltas) * (1 + _MARGIN), 1.0)

    def epsilon(self, delta: float | Fraction) -> float:
        """Return the least ε with `self.delta(ε)` ≤ δ for this δ, rounded up.

        Raises
        ------
        ValueError
            If δ is below 0 or at least 1, or if δ is 0 and there is Gaussian noise.

        Examples
        --------
        >>> TradeoffCurve(((Fraction(1, 10), 10),)).epsilon(0)
        1.0
        """
        if not self.steps:
            return float_up(self.gaussian.epsilon(delta))
        high = self.total + self.gaussian.epsilon(delta)  # `PrivacyLoss.epsilon` also checks δ
        if delta == 0 or self.delta(0) <= delta:
            return float_up(high) if delta == 0 else 0.0
        low, least = 0.0, float_up(high)
        while low < (middle := (low + least) / 2) < least:
            low, least = (low, middle) if self.delta(middle) <= delta else (middle, least)
        return least

    def hits(self, false_alarms: Any) -> np.ndarray:
        """Return the largest true positive rate of a test at each false alarm rate from 0 to 1, rounded up."""
        rate = np.asarray(false_alarms, float)
        if not self.steps:
            if not self.mu_squared:
                return rate.copy()
            return np.minimum(ndtr(ndtri(rate) + float_up(self.gaussian.mu)) * (1 + _MARGIN), 1.0)
        if not self.mu_squared:
            return np.interp(rate, *self._corners())
        steepest = min(float_up(self.total + self.gaussian.epsilon(1e-12)), _STEEPEST)
        slopes = np.linspace(0, steepest, 201)
        deltas = np.array([self.delta(slope) for slope in slopes])
        # Each (ε, δ) gives two upper bounds on the hit rate at a false alarm rate a: e^ε a + δ, and also 1 - e^-ε (1 -
        # a - δ), because the curve is symmetric.
        limits = np.minimum(
            np.exp(slopes) * rate[..., None] + deltas, 1 - np.exp(-slopes) * (1 - rate[..., None] - deltas)
        )
        return np.minimum(limits.min(axis=-1) * (1 + _MARGIN), 1.0)

    def success(self, prior: float = 0.5) -> float:
        """Return the largest probability that an attacker guesses the table correctly, rounded up.

        Before the attack, the attacker believes in one table with probability p = `prior`, above 0 and below 1. A test
        with a false alarm rate of a is right with probability p · hits(a) + (1 - p) (1 - a). Let p ≤ 1/2, and choose ε
        so that e^ε = (1 - p) / p. Then this probability is 1 - p + p (hits(a) - e^ε a). The largest value of
        hits(a) - e^ε a over all a is δ(ε), so the result is 1 - p + p δ(ε). The curve is symmetric, so p and 1 - p give
        the same result.

        >>> round(TradeoffCurve(mu_squared=Fraction(1)).success(), 4), TradeoffCurve(((Fraction(1), 1),)).success(0.9)
        (0.6915, 0.9000000000000001)
        """
        likely = max(prior, 1 - prior)
        # ε is rounded down, because a smaller ε has a larger δ.
        epsilon = abs(math.log(prior) - math.log1p(-prior)) * (1 - 1e-15) - 1e-15
        return min(math.nextafter(likely + (1 - likely) * self.delta(max(epsilon, 0.0)), 2.0), 1.0)

    def kinks(self) -> np.ndarray:
        """Return false alarm rates for a drawing, rising from 0 to 1.

        If the curve has at most `_MOST_KINKS` kinks, the result is the rates at these kinks. Otherwise, or with
        Gaussian noise, the rates are close together near 0 and near 1.
        """
        if self.steps and not self.mu_squared and len(corners := np.unique(self._corners()[0])) <= _MOST_KINKS:
            return corners
        return np.unique(np.r_[0.0, ndtr(np.linspace(-8, 8, 161)), 1.0])

    def _corners(self) -> tuple[np.ndarray, np.ndarray]:
        """Return false alarm and hit rates of the tests "the loss is at least s", for all losses s, largest first."""
        _, q, p = _law(self.steps, self.changes)
        alarms, hits = np.cumsum(q), np.cumsum(p) * (1 + _MARGIN)
        return np.r_[0.0, np.minimum(alarms[:-1], 1.0), 1.0], np.r_[0.0, np.minimum(hits[:-1], 1.0), 1.0]


@lru_cache(64)
def _law(steps: Steps, changes: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the possible sums of losses (or grid points), largest first, and their probabilities under either table.

    The probabilities under the first table come before those under the second table.
    """
    total = sum(step * times for step, times in steps)
    steps = steps if total < _LARGE else ((Fraction(total), 1),)
    laws = [_repeated(float(step), times, changes) for step, times in steps]
    loss: np.ndarray = np.zeros(1)
    q, p = np.ones(1), np.ones(1)
    if math.prod(len(law) for _, law in laws) <= _MOST_SUMS:
        for losses, law in laws:
            loss = np.add.outer(loss, losses).ravel()
            q, p = np.outer(q, law).ravel(), np.outer(p, law[::-1]).ravel()
    else:
        gap = 2 * sum(float(losses[-1]) for losses, _ in laws) / _MOST_SUMS
        for losses, law in laws:
            first_law, second_law = _on_a_grid(losses, law, gap)
            q, p = np.convolve(q, first_law), np.convolve(p, second_law)
        loss = gap * (np.arange(len(q)) - len(q) // 2)
    order = np.argsort(-loss, kind="stable")
    return loss[order], q[order], p[order]


def _repeated(step: float, times: int, changes: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the possible sums of losses of `times` equal steps, least first, and their probabilities under one table.

    Under the other table, the probabilities are the same in reverse order.
    """
    if times * changes > _MOST_SUMS:  # k changes with loss κ each are no easier to test than one change with loss kκ
        step, changes = step * changes, 1
    down = math.exp(-step)
    rare_probability = down / (1 + down)
    if changes == 1:
        wins = np.arange(times + 1)
        return step * (2 * wins - times), binom.pmf(wins, times, rare_probability)
    # The curve for one change, applied k times, is the curve of a law with the losses -kκ, (2-k)κ, ..., kκ.
    one_step = np.r_[
        1 - rare_probability,
        rare_probability * (1 - down) * down ** np.arange(changes - 1),
        rare_probability * down ** (changes - 1),
    ]
    law, remaining = np.ones(1), times
    while remaining:
        law = np.convolve(law, one_step) if remaining % 2 else law
        one_step, remaining = np.convolve(one_step, one_step) if remaining > 1 else one_step, remaining // 2
    return step * (2 * np.arange(times * changes + 1) - times * changes), law


def _on_a_grid(loss: np.ndarray, law: np.ndarray, gap: float) -> tuple[np.ndarray, np.ndarray]:
    """Move sums of losses to a grid: return the probability at each multiple of `gap`, under one table and the other.

    The sums in `loss` rise and are symmetric around 0. The grid covers all of them.
    """
    half = math.ceil(loss[-1] / gap)
    below = np.clip(np.floor(loss / gap).astype(int), -half, half - 1)
    above = np.clip(loss - gap * below, 0.0, gap)
    near, far = np.expm1(gap - above) / math.expm1(gap), np.expm1(above) / math.expm1(gap)
    masses = (law * np.exp(above) * near, law * far), (law[::-1] * near, law[::-1] * np.exp(gap - above) * far)
    grid_index, n = below + half, 2 * half + 1
    first_law, second_law = (
        np.bincount(grid_index, lower, n) + np.bincount(grid_index + 1, upper, n) for lower, upper in masses
    )
    return first_law, second_law


def _gaussian_delta(epsilon: np.ndarray, loss: PrivacyLoss) -> np.ndarray:
    """Return δ of a Gaussian loss at each ε, which may be below 0: Φ(-ε/μ + μ/2) - e^ε Φ(-ε/μ - μ/2), rounded up."""
    mu = float_up(loss.mu)
    first, second = ndtr(mu / 2 - epsilon / mu), np.exp(epsilon + log_ndtr(-epsilon / mu - mu / 2))
    return np.maximum(first * (1 + _MARGIN) - second * (1 - _MARGIN), 0.0)
