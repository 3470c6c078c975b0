"""Bounds of a Gaussian guarantee: they are tighter than those of its (ε, δ), and never below what attacks attain."""

import math
from fractions import Fraction

import numpy as np
import pytest
from scipy.special import ndtr, ndtri

from dpforest.privacy.certificate import certify
from dpforest.privacy.ledger import Ledger
from dpforest.privacy.loss import PrivacyLoss, mu_for
from dpforest.risk.guarantee import Guarantee, guarantee_of
from dpforest.risk.tradeoff import DistinguishingGame

MU = (0.01, 0.24, 1.0, 2.0)
# Question, number of rows of a person, and number of steps.
QUESTIONS = [("membership", 1, 1), ("value", 1, 2), ("membership", 3, 3), ("value", 2, 4)]


def guaranteed(loss: PrivacyLoss, delta: float = 1e-6) -> Guarantee:
    return Guarantee(loss.epsilon(delta), delta, mu_squared=loss.mu_squared)


def gaussian(mu: float, delta: float = 1e-6) -> Guarantee:
    return guaranteed(PrivacyLoss.gaussian(Fraction(str(mu)) ** 2), delta)


@pytest.mark.parametrize("question, rows, steps", QUESTIONS)
@pytest.mark.parametrize("mu", MU)
def test_thresholds_on_two_normal_laws_attain_the_curve_and_do_not_beat_it(mu, question, rows, steps):
    game = DistinguishingGame(gaussian(mu), question, rows)
    threshold = np.linspace(-6, 6 + steps * mu, 400)
    alarms, hits = ndtr(-threshold), ndtr(steps * mu - threshold)
    bound = game.hits(alarms)
    assert (bound >= hits * (1 - 1e-14)).all() and np.allclose(bound, hits, rtol=1e-9)
    assert np.allclose(game.misses(alarms), 1 - hits, atol=1e-9)
    advantage = 2 * game.success() - 1
    assert advantage == pytest.approx((hits - alarms).max(), abs=1e-3 * mu)
    assert advantage >= (hits - alarms).max() * (1 - 1e-12)


@pytest.mark.parametrize("question, rows, steps", QUESTIONS)
@pytest.mark.parametrize("prior", [0.001, 0.2, 0.5, 0.731, 0.95])
@pytest.mark.parametrize("mu", MU)
def test_success_is_that_of_the_best_threshold_for_each_prior(mu, prior, question, rows, steps):
    total, odds = steps * mu, math.log(prior / (1 - prior))
    best = prior * ndtr(total / 2 + odds / total) + (1 - prior) * ndtr(total / 2 - odds / total)
    bound = DistinguishingGame(gaussian(mu), question, rows).success(prior)
    assert best - 1e-15 <= bound == pytest.approx(best, abs=1e-13) and bound >= max(prior, 1 - prior)


@pytest.mark.parametrize("mu", MU)
def test_the_curve_allows_no_more_hits_than_each_of_its_epsilons(mu):
    rate = np.linspace(0, 1, 101)
    for delta in (1e-3, 1e-6, 1e-9):
        guarantee = gaussian(mu, delta)
        game, epsilon_delta = DistinguishingGame(guarantee), DistinguishingGame(Guarantee(guarantee.epsilon, delta))
        assert (game.hits(rate) <= epsilon_delta.hits(rate) * (1 + 1e-10)).all()
        assert game.success() <= epsilon_delta.success()
    assert game.hits(0.0) == 0 and game.hits(1.0) == 1


def test_a_belief_exceeds_its_bound_at_most_at_the_failure_rate():
    """On the worst pair of laws, a belief exceeds its bound in at most the stated share of releases."""
    game, failure = DistinguishingGame(gaussian(0.5)), 1e-4
    weaker = DistinguishingGame(Guarantee(game.guarantee.epsilon, 1e-6))
    low, high = game.posterior(0.5, failure=failure)
    limit = math.log(high / (1 - high))  # The log-ratio of N(μ, 1) to N(0, 1) is μ z - μ²/2.
    beyond = ndtr(-((limit + 0.125) / 0.5 - 0.5))
    assert beyond <= failure and high < weaker.posterior(0.5, failure=failure)[1]
    assert low == pytest.approx(1 - high)
    with pytest.raises(ValueError, match="how often"):
        game.posterior(0.5)


@pytest.mark.parametrize("question, rows, steps", QUESTIONS)
def test_a_group_is_a_gaussian_of_several_mu(question, rows, steps):
    guarantee = guaranteed(mu_for(1, 1e-6))
    both = DistinguishingGame(guarantee, question, rows).grouped
    assert both.mu_squared == steps**2 * guarantee.mu_squared and both.epsilon == steps * guarantee.epsilon
    assert both.gaussian.holds(both.epsilon, both.delta) and (both.delta == 1e-6) == (steps == 1)
    if steps > 1:
        assert both.delta < DistinguishingGame(Guarantee(guarantee.epsilon, 1e-6), question, rows).grouped.delta


def test_the_guarantee_is_that_of_mu():
    loss = mu_for(1, 1e-6)
    assert Guarantee(1, 1e-6, mu_squared=loss.mu_squared).kind == "approximate"
    for epsilon, delta in ((0.999, 1e-6), (1, 9e-7)):
        with pytest.raises(ValueError, match="does not follow"):
            Guarantee(epsilon, delta, mu_squared=loss.mu_squared)


@pytest.mark.parametrize("certified", [True, False])
def test_the_guarantee_of_a_gaussian_certificate(certified):
    loss = mu_for(1, 1e-6)
    ledger = Ledger(loss)
    ledger.charge("gradients", "rounded Gaussian", 1, loss, 1, "sequential")
    ledger.close()
    reasons = () if certified else ("A seed.",)
    guarantee = guarantee_of(certify(ledger, mechanism="m", delta=1e-6, nominal_epsilon=Fraction(1), reasons=reasons))
    assert guarantee.kind == ("approximate" if certified else "none")
    assert guarantee.mu_squared == (loss.mu_squared if certified else None)
    assert DistinguishingGame(guarantee).success() == (pytest.approx(ndtr(0.236704 / 2), abs=1e-6) if certified else 1)
    assert DistinguishingGame(guarantee).hundred_guesses().additional_right == (5 if certified else 50)


def test_the_points_draw_the_curve():
    """Straight lines between the points lie below the concave curve by less than 0.002."""
    points = DistinguishingGame(gaussian(1.0)).kinks()
    assert points[[0, -1]].tolist() == [0, 1]
    rate = ndtr(np.linspace(-5, 5, 5000))
    for mu in MU:
        curve = ndtr(ndtri(rate) + mu)
        drawn = np.interp(rate, points, DistinguishingGame(gaussian(mu)).hits(points))
        assert np.abs(curve - drawn).max() < 2e-3
