"""Bounds of a guarantee on an attacker: beliefs after a release, success rate, and remaining errors.

The attacker tries to distinguish two tables that differ in the contribution of one person. The attacker knows every
other row and the settings, and has unlimited computing power. The bounds also hold for an attacker who does not know
the other rows, if the attacker's beliefs about the other rows do not depend on this person. If these beliefs do depend
on the person, a release may teach a fact about the person, even if the person is not in the table (Kasiviswanathan and
Smith 2014, "On the semantics of differential privacy"). A fact that holds for all people of a group can be learned in
the same way.

References: Wasserman and Zhou (2010), "A statistical framework for differential privacy"; Kairouz, Oh and Viswanath
(2015), "The composition theorem for differential privacy"; Dong, Roth and Su (2022), "Gaussian differential privacy".
"""

import math
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np

from dpforest.checks import check_choice
from dpforest.privacy.ledger import ADD_REMOVE
from dpforest.privacy.loss import PrivacyLoss
from dpforest.privacy.rationals import float_up, text_up
from dpforest.privacy.tradeoff_curve import TradeoffCurve
from dpforest.risk.guarantee import MEMBERSHIP, VALUE, Guarantee

_SHARE: Final = 0.1  # δ as a share of the failure probability in `_log_odds`; nearly optimal for μ from 0.01 to 1
_HUGE: Final = 600.0  # for a larger ε, e^ε counts as infinite, which can only make a risk look larger


@dataclass(frozen=True)
class HundredGuesses:
    """Outcomes of a hundred guesses, for a drawing with icons.

    Attributes
    ----------
    without : int
        Number of guesses that are right without the release.
    additional_right : int
        Largest number of additional right guesses because of the release, rounded up.
    wrong : int
        Least number of wrong guesses.
    """

    without: int
    additional_right: int
    wrong: int


@dataclass(frozen=True)
class DistinguishingGame:
    """Game in which an attacker sees a release of one of two tables and guesses which table it is.

    A guarantee bounds how often the guess is right.

    The game is that of Salem et al. (2023), "SoK: Let the privacy games begin!", section on differential privacy.

    Attributes
    ----------
    guarantee : Guarantee
        Guarantee of the release.
    question : {"membership", "value"}
        One of `Guarantee.questions`.
    rows : int
        Number of rows of the same person, at least 1.

    Raises
    ------
    ValueError
        If the guarantee does not cover the question, or rows is not a whole number from 1.

    Examples
    --------
    >>> round(DistinguishingGame(Guarantee(1.0)).success(), 3)
    0.731
    """

    guarantee: Guarantee
    question: str = MEMBERSHIP
    rows: int = 1

    def __post_init__(self) -> None:
        check_choice("question", self.question, (MEMBERSHIP, VALUE))
        if self.question not in self.guarantee.questions:
            raise ValueError("replace-one does not cover membership: the number of rows is public. Ask about a value.")
        if int(self.rows) != self.rows or self.rows < 1:
            raise ValueError(f"rows={self.rows!r} is not a whole number from 1")

    @property
    def steps(self) -> int:
        """Return the number of steps from one table to the other. Each step leads to a neighboring table.

        Each row of the person takes one step. But for a value under add-remove, each row takes two steps, because it is
        removed and then added with another value.

        >>> DistinguishingGame(Guarantee(1.0), "value").steps
        2
        >>> DistinguishingGame(Guarantee(1.0, 0, "replace-one"), "value", rows=3).steps
        3
        """
        return int(self.rows) * (2 if self.question == VALUE and self.guarantee.neighbors == ADD_REMOVE else 1)

    @property
    def grouped(self) -> Guarantee:
        """Return the guarantee between the two tables: (kε, δ (1 + e^ε + ... + e^((k-1)ε))) for k steps.

        Each step multiplies a probability by at most e^ε and adds at most δ (group privacy: Vadhan 2017, "The
        complexity of differential privacy", Lemma 2.2, whose bound k e^(kε) δ is above this sum). A Gaussian guarantee
        becomes kμ, reported at kε.

        >>> DistinguishingGame(Guarantee(1.0), "value").grouped.epsilon
        2.0
        >>> round(DistinguishingGame(Guarantee(1.0, 1e-6), rows=2).grouped.delta, 9)
        3.718e-06
        """
        single, k = self.guarantee, self.steps
        epsilon, delta = k * single.epsilon, single.delta
        if single.kind != "none" and single.gaussian is not None:
            loss = single.gaussian.grouped(k)
            return Guarantee(epsilon, max(loss.delta(epsilon), delta), single.neighbors, loss.mu_squared)
        if delta and epsilon:
            grown = math.expm1(epsilon) / math.expm1(single.epsilon) if epsilon < _HUGE else math.inf
            delta = min(1.0, delta * grown)
        elif delta:
            delta = min(1.0, k * delta)
        return Guarantee(epsilon, delta, single.neighbors)

    @property
    def _curve(self) -> TradeoffCurve | None:
        """Return the trade-off curve between the two tables, or None if the guarantee states only (ε, δ)."""
        curve = None if self._is_lost else self.guarantee.curve
        return None if curve is None else replace(curve, changes=self.steps)

    @property
    def _is_lost(self) -> bool:
        """Return whether the guarantee allows an attacker who is always or almost always right."""
        return self.guarantee.kind == "none" or self.guarantee.epsilon > _HUGE

    def hits(self, false_alarms: Any) -> np.ndarray:
        """Return the largest true positive rate of a test at a false alarm rate.

        For neighbors, this rate is at most ``min(δ + e^ε a, 1 - e^-ε (1 - δ - a), 1)`` at false alarm rate a (Wasserman
        and Zhou, Theorem 2.4; Kairouz, Oh and Viswanath, Theorem 2.1; Dong, Roth and Su, Proposition 2.5). Each further
        step applies this function to the result of the previous step (Dong, Roth and Su, Theorem 2.14). No smaller
        bound holds for every mechanism with this (ε, δ). The bound for two steps of ε is below the bound for one step
        of 2ε, because there is a third table between the two tables. If the guarantee has a trade-off curve, the result
        is `TradeoffCurve.hits`.

        Parameters
        ----------
        false_alarms : float or float array
            False alarm rates, from 0 to 1.

        Returns
        -------
        float array of the shape of false_alarms
            Largest true positive rate at each false alarm rate, from 0 to 1.

        Raises
        ------
        ValueError
            If a rate is out of range.

        Examples
        --------
        >>> [round(float(DistinguishingGame(Guarantee(1.0), q).hits(0.05)), 3) for q in ("membership", "value")]
        [0.136, 0.369]
        """
        rate = np.asarray(false_alarms, float)
        if not ((rate >= 0) & (rate <= 1)).all():
            raise ValueError("false alarms are rates from 0 to 1")
        if self._is_lost:
            return np.ones_like(rate)
        if (curve := self._curve) is not None:
            return curve.hits(rate)
        factor, delta = math.exp(self.guarantee.epsilon), self.guarantee.delta
        for _ in range(self.steps):
            rate = np.minimum(np.minimum(delta + factor * rate, 1 - (1 - delta - rate) / factor), 1)
        return rate

    def misses(self, false_alarms: Any) -> np.ndarray:
        """Return the trade-off curve: the least false negative rate of a test at a false alarm rate, 1 - `hits`."""
        return 1 - self.hits(false_alarms)

    def kinks(self) -> np.ndarray:
        """Return rising false alarm rates, from 0 to 1, between which `hits` is linear or close to linear."""
        if self._is_lost:
            return np.array([0.0, 1.0])
        if (curve := self._curve) is not None:
            return curve.kinks()
        shrink, delta = math.exp(-self.guarantee.epsilon), self.guarantee.delta
        # `bend` is the kink of one step. Each further step adds a kink at the rate that one step maps to the last kink.
        bend = shrink * (1 - delta) / (1 + shrink)
        bends = [bend]
        while len(bends) < self.steps and bends[-1] > delta and (bends[-1] - delta) * shrink > 0:
            bends.append((bends[-1] - delta) * shrink)
        full = float(self.misses(0))  # the curve is symmetric, so no test misses anything at this rate
        return np.unique([0.0, *bends, full, 1.0])

    def success(self, prior: float = 0.5) -> float:
        """Return the largest mean probability that an attacker is right.

        With a prior p, an answer is right with probability p · hits(a) + (1 - p) (1 - a). This probability is a concave
        function of the false alarm rate a, and linear between `kinks`, so its maximum is at a kink. For one step the
        maximum is ``max((e^ε + δ) / (1 + e^ε), p + (1 - p) δ, 1 - p + p δ)``. If p is 1/2, the first term is the
        largest. If δ is 0, the other two terms are the success rates of always giving the same answer. If the guarantee
        has a curve, see `TradeoffCurve.success`.

        Parameters
        ----------
        prior : float
            Attacker's belief before the release that the row is in the table, or has the first value; in (0, 1).

        Returns
        -------
        float from 0.5 to 1
            Largest probability that the attacker's answer is right.

        Raises
        ------
        ValueError
            If the prior is out of range.

        Examples
        --------
        >>> [round(DistinguishingGame(Guarantee(1.0)).success(prior), 3) for prior in (0.5, 0.9)]
        [0.731, 0.9]
        >>> round(DistinguishingGame(Guarantee(1.0), "value").success(), 3)
        0.816
        """
        _check_prior(prior)
        if (curve := self._curve) is not None:
            return curve.success(prior)
        a = self.kinks()
        return float((prior * self.hits(a) + (1 - prior) * (1 - a)).max())

    def posterior(self, prior: Any, *, failure: float = 0.0) -> tuple[Any, Any]:
        """Return bounds on the belief after a release, for a belief `prior` before it.

        By Bayes' rule, the odds change by the ratio of the release's probabilities under the two tables. Without δ,
        this ratio is at most e^ε for every release (e^(kε) after k steps). With δ, the ratio is unbounded in rare
        releases. Let P and Q be the laws of the release under the two tables. For a number t > ε, let B be the set of
        releases with a ratio P/Q above e^t. Then

            P(B) ≤ e^ε Q(B) + δ ≤ e^(ε-t) P(B) + δ.

        So P(B) is at most δ / (1 - e^(ε-t)), and Q(B) is less. Choose t = ε - ln(1 - δ/failure): then each bound fails
        with a probability of at most `failure`, whichever table is true. (Kasiviswanathan and Smith 2014 choose t =
        2ε.) A Gaussian guarantee has an (ε, δ) for every δ, so any `failure` above 0 is possible (`_log_odds`).

        These bounds are about the belief after a single release. The trade-off curve is about rates over many releases,
        so it does not make the bounds smaller.

        Parameters
        ----------
        prior : float or float array
            Beliefs before the release, in (0, 1).
        failure : float
            Largest probability with which each bound may fail. It has no effect if δ is 0.

        Returns
        -------
        lowest : float or float array
            Least belief after the release, of the shape of the prior.
        highest : float or float array
            Largest belief after the release, of the shape of the prior.

        Raises
        ------
        ValueError
            If a prior is out of range, or `failure` is above 1 or not above the δ of `grouped`.

        Examples
        --------
        >>> [round(p, 3) for p in DistinguishingGame(Guarantee(1.0)).posterior(0.5)]
        [0.269, 0.731]
        >>> [round(p, 3) for p in DistinguishingGame(Guarantee(1.0), "value").posterior(0.5)]
        [0.119, 0.881]
        >>> [round(p, 3) for p in DistinguishingGame(Guarantee(1.0, 1e-6)).posterior(0.5, failure=1e-5)]
        [0.249, 0.751]
        """
        _check_prior(prior)
        bound = self.grouped
        factor = float(bound.epsilon)
        if bound.kind == "none":
            factor = math.inf
        elif bound.gaussian is not None and 0 < failure <= 1:
            factor = _log_odds(bound.gaussian, failure)
        elif bound.delta:
            if not bound.delta < failure <= 1:
                raise ValueError(
                    f"with δ = {text_up(bound.delta)} no bound on beliefs holds for every release: say how often it "
                    f"may fail, failure={failure!r} is not above δ"
                )
            factor -= math.log1p(-bound.delta / failure)
        shrink = math.exp(-factor)
        return prior * shrink / (prior * shrink + 1 - prior), prior / (prior + (1 - prior) * shrink)

    def hundred_guesses(self, prior: float = 0.5) -> HundredGuesses:
        """Return how many of a hundred guesses are right without the release and, rounded up, with the release."""
        without = math.floor(100 * max(prior, 1 - prior) + 1e-9)
        right = math.ceil(100 * self.success(prior) - 1e-9)
        return HundredGuesses(without, right - without, 100 - right)


def _log_odds(loss: PrivacyLoss, failure: float) -> float:
    """Return a bound on the change of a belief's log-odds that fails with a probability of at most `failure`.

    The bound is that of `DistinguishingGame.posterior` for δ = `failure` / 10, which is ε(δ) - ln(1 - 1/10).

    >>> round(_log_odds(PrivacyLoss.gaussian("0.05"), 1e-5), 3)
    1.046
    """
    return float_up(loss.epsilon(_SHARE * failure)) - math.log1p(-_SHARE)


def _check_prior(prior: Any) -> None:
    if not np.all((np.asarray(prior) > 0) & (np.asarray(prior) < 1)):
        raise ValueError(f"prior={prior!r} is not a probability between 0 and 1")
