"""Bounds on attacks under a Gaussian loss: the trade-off curve G(a) = Φ(Φ⁻¹(1 - a) - μ), rounded against the defender.

Two tables are no easier to tell apart than N(0, 1) and N(μ, 1), and the best tests of these are thresholds (Dong, Roth
and Su 2022, "Gaussian differential privacy", section 2.2). For tables that are k rows apart, μ becomes kμ.
"""

import math
from typing import Final

import numpy as np
from scipy.special import ndtr, ndtri

from dpforest.privacy.loss import PrivacyLoss
from dpforest.privacy.rationals import float_up

_SLACK: Final = 1e-11  # relative margin above the errors of `ndtr` and `ndtri` for every float rate
_SHARE: Final = 0.1  # share of the failure probability that is used as δ; nearly optimal for μ from 0.01 to 1


def hits(loss: PrivacyLoss, false_alarms: np.ndarray) -> np.ndarray:
    """Return the largest true positive rate of a test at each false alarm rate a from 0 to 1: Φ(Φ⁻¹(a) + μ).

    >>> hits(PrivacyLoss.gaussian(1), np.array([0, 0.05, 1])).round(4).tolist()
    [0.0, 0.2595, 1.0]
    """
    if loss.mu_squared == 0:
        return np.array(false_alarms, float)
    return np.minimum(ndtr(ndtri(false_alarms) + float_up(loss.mu)) * (1 + _SLACK), 1.0)


def points() -> np.ndarray:
    """Return false alarm rates from 0 to 1, rising, and dense at both ends, where the curve bends."""
    return np.unique(np.r_[0.0, ndtr(np.linspace(-8, 8, 161)), 1.0])


def success(loss: PrivacyLoss, prior: float) -> float:
    """Return the largest mean probability that an attacker with this prior belief is right.

    Let p ≤ 1/2. The maximum of p · hits(a) + (1 - p) (1 - a) is 1 - p + p · max(hits(a) - e^ε a) with
    e^ε = (1 - p) / p, and max(hits(a) - e^ε a) is δ(ε). The curve is symmetric, so p and 1 - p give the same result,
    which is p Φ(μ/2 + ε/μ) + (1 - p) Φ(μ/2 - ε/μ) for ε = ln(p / (1 - p)).

    >>> round(success(PrivacyLoss.gaussian(1), 0.5), 4), round(success(PrivacyLoss.gaussian(1), 0.9), 4)
    (0.6915, 0.9013)
    """
    likely = max(prior, 1 - prior)
    epsilon = max(
        abs(math.log(prior) - math.log1p(-prior)) * (1 - 1e-15) - 1e-15, 0.0
    )  # rounded down, because a smaller ε has a larger δ
    return min(math.nextafter(likely + (1 - likely) * loss.delta(epsilon), 2.0), 1.0)


def log_odds(loss: PrivacyLoss, failure: float) -> float:
    """Return a bound on the change of a belief's log-odds that fails with a probability of at most `failure`.

    With δ a tenth of `failure`, the bound is ε(δ) - ln(1 - 1/10) (`DistinguishingGame.posterior`).

    >>> round(log_odds(PrivacyLoss.gaussian("0.05"), 1e-5), 3)
    1.046
    """
    return float_up(loss.epsilon(_SHARE * failure)) - math.log1p(-_SHARE)
