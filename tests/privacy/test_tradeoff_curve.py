"""Trade-off curves of ledgers: golden values, exact sums in 60 digits, simpler bounds, and attacks on real draws."""

import math
from decimal import Decimal, localcontext
from fractions import Fraction
from functools import reduce

import numpy as np
import pytest
from scipy.special import ndtr
from scipy.stats import binom, norm

from dpforest import MajorityLabelForestClassifier, RandomDecisionForestClassifier, RandomTreeBoosterClassifier
from dpforest.privacy.certificate import Certificate, certify
from dpforest.privacy.ledger import ESTIMATION, STRUCTURE, Ledger
from dpforest.privacy.loss import PrivacyLoss
from dpforest.privacy.randomness import SecretSource
from dpforest.privacy.samplers import draw_noisy_counts
from dpforest.privacy.tradeoff_curve import TradeoffCurve, steps_of
from dpforest.risk.guarantee import Guarantee, guarantee_of
from dpforest.risk.tradeoff import DistinguishingGame
from dpforest.tables.datasets import load_dataset

RATES = np.r_[0.0, np.logspace(-12, 0, 80), 1 - np.logspace(-9, -1, 20)]
EPSILONS = (0, 0.01, 0.1, 0.3, 0.77, 0.99, 1, 2.5, 3.99)
LEDGERS = [
    ((Fraction(1), 1),),
    ((Fraction(1, 100), 100),),
    ((Fraction(4), 1), (Fraction(1, 7), 13)),
    ((Fraction(1, 50), 1), (Fraction(3, 20), 1), (Fraction(83, 1600), 16)),
    ((Fraction(40), 2), (Fraction(1, 10), 30)),
]
# These steps have more different sums of losses than the module keeps exactly.
ON_A_GRID = ((Fraction(1, 40), 40), (Fraction(1, 17), 20), (Fraction(1, 150), 60))


def equal_trees(epsilon: int, trees: int) -> TradeoffCurve:
    return TradeoffCurve(((Fraction(epsilon, trees), trees),))


def exact_law(steps) -> list[tuple[Decimal, Decimal]]:
    """Return all sums of losses, and their probabilities if the row is in the table, in 60 digits."""
    laws = [
        [
            (
                _decimal(step) * (2 * wins - times),
                math.comb(times, wins) * (_decimal(step) * wins).exp() / (1 + _decimal(step).exp()) ** times,
            )
            for wins in range(times + 1)
        ]
        for step, times in steps
    ]
    add = lambda one, other: [(a + b, p * q) for a, p in one for b, q in other]
    return sorted(reduce(add, laws), reverse=True)


def _decimal(x: Fraction) -> Decimal:
    return Decimal(x.numerator) / Decimal(x.denominator)


@pytest.mark.parametrize(
    "epsilon, trees, hits, success, at_a_millionth",
    [
        (1, 1, (0.027183, 0.135914), 0.731059, 0.999999),
        (1, 10, (0.021353, 0.090671), 0.561268, 0.999371),
        (1, 100, (0.012980, 0.061135), 0.519889, 0.392264),
        (4, 10, (0.136789, 0.350546), 0.730683, 3.999831),
        (4, 100, (0.026954, 0.106343), 0.579062, 1.737728),
        (10, 100, (0.091491, 0.258784), 0.690986, 4.774568),
    ],
)
def test_curves_match_golden_values(epsilon, trees, hits, success, at_a_millionth):
    curve = equal_trees(epsilon, trees)
    assert curve.hits([0.01, 0.05]).tolist() == pytest.approx(hits, abs=5e-7)
    assert curve.success() == pytest.approx(success, abs=5e-7) and curve.success() == math.nextafter(
        0.5 + curve.delta(0) / 2, 1
    )
    assert curve.epsilon(1e-6) == pytest.approx(at_a_millionth, abs=5e-7) and curve.epsilon(0) == epsilon


@pytest.mark.parametrize(
    "estimator, success",
    [
        (MajorityLabelForestClassifier(), 0.722),
        (RandomDecisionForestClassifier(), 0.548),
        (RandomTreeBoosterClassifier(delta=0), 0.521),
    ],
)
def test_curves_of_default_forests_on_adult_match_golden_values(estimator, success):
    domain = load_dataset("adult").domain
    certificate, ledger = estimator.set_params(epsilon=1.0, domain=domain).preview(domain, 32_561)
    assert certificate.steps == steps_of(ledger) and certificate.tradeoff.total == ledger.spent == 1
    game = DistinguishingGame(guarantee_of(certificate))
    assert game.success() == certificate.tradeoff.success() == pytest.approx(success, abs=5e-4)
    assert game.posterior(0.5)[1] == pytest.approx(math.e / (1 + math.e))  # the bound on beliefs follows from ε alone


@pytest.mark.parametrize("steps", LEDGERS)
def test_the_curve_is_exact_and_never_below_the_truth(steps):
    curve = TradeoffCurve(steps)
    with localcontext(prec=60):
        law = exact_law(steps)
        for epsilon in EPSILONS:
            exact = sum(p * (1 - (Decimal(epsilon) - loss).exp()) for loss, p in law if loss > Decimal(epsilon))
            assert Decimal(curve.delta(epsilon)) >= exact and curve.delta(epsilon) <= float(exact) * (1 + 1e-9) + 1e-13
        alarms = hits = Decimal(0)
        for loss, p in law:
            alarms, hits = alarms + p * (-loss).exp(), hits + p
            assert Decimal(curve.hits(float(alarms)).item()) >= hits * (1 - Decimal("1e-15"))
            assert float(curve.hits(float(alarms))) <= float(hits) * (1 + 1e-9)
    for delta in (1e-12, 1e-6, 0.01):
        assert curve.delta(curve.epsilon(delta)) <= delta
        assert curve.epsilon(delta) == 0 or curve.delta(curve.epsilon(delta) * (1 - 1e-9)) > delta


def test_sums_on_a_grid_are_above_the_truth_and_close():
    loss, p = np.zeros(1), np.ones(1)
    for step, times in ON_A_GRID:
        wins = np.arange(times + 1)
        loss = np.add.outer(loss, float(step) * (2 * wins - times)).ravel()
        p = np.outer(p, binom.pmf(wins, times, 1 / (1 + math.exp(-step)))).ravel()
    curve = TradeoffCurve(ON_A_GRID)
    for epsilon in np.linspace(0, 2.5, 26):
        exact = (p * -np.expm1(np.minimum(epsilon - loss, 0))).sum()
        assert exact <= curve.delta(epsilon) == pytest.approx(exact, rel=5e-4, abs=1e-15)
    order = np.argsort(-loss)
    alarms, hits = np.cumsum((p * np.exp(-loss))[order]), np.cumsum(p[order])
    assert (curve.hits(np.minimum(alarms, 1)) >= hits * (1 - 1e-12)).all()
    assert curve.hits(np.minimum(alarms, 1)) == pytest.approx(hits, rel=1e-4)


@pytest.mark.parametrize("steps", [*LEDGERS, ON_A_GRID])
@pytest.mark.parametrize("question", ["membership", "value"])
def test_the_curve_allows_no_more_than_pure_epsilon(steps, question):
    curve = TradeoffCurve(steps)
    epsilon = float(curve.total)
    exact, pure = (
        DistinguishingGame(guarantee, question)
        for guarantee in (Guarantee(curve.total, steps=steps), Guarantee(curve.total))
    )
    assert (exact.hits(RATES) <= pure.hits(RATES) * (1 + 1e-9)).all() and (
        exact.hits(RATES) >= RATES * (1 - 1e-15)
    ).all()
    for prior in (0.05, 0.5, 0.9):
        assert max(prior, 1 - prior) <= exact.success(prior) <= pure.success(prior) * (1 + 1e-9)
    assert exact.posterior(0.3) == pure.posterior(0.3)
    if len(steps) == steps[0][1] == 1:
        assert exact.hits(RATES) == pytest.approx(pure.hits(RATES), rel=1e-9)
    assert curve.delta(epsilon * (1 + 1e-15)) == 0 < curve.delta(epsilon * 0.99)


@pytest.mark.parametrize("changes", [2, 3, 6, 50])
@pytest.mark.parametrize("epsilon", [Fraction(1, 10), Fraction(1), Fraction(3)])
def test_one_step_over_several_changes_is_the_known_bound(epsilon, changes):
    pure = DistinguishingGame(Guarantee(epsilon), rows=changes)
    curve = TradeoffCurve(((epsilon, 1),), changes=changes)
    assert curve.hits(RATES) == pytest.approx(pure.hits(RATES), rel=1e-9)
    assert curve.success(0.4) == pytest.approx(pure.success(0.4), rel=1e-9)


@pytest.mark.parametrize("changes", [2, 5])
def test_many_steps_over_several_changes_lie_between_two_bounds(changes):
    """If a person changes several rows, the bound lies between an attack on a noisy count and a simpler bound.

    The attack is on geometric noise, and the simpler bound repeats the curve of one change.
    """
    steps, wins = ((Fraction(1, 20), 20),), np.arange(-400, 401)
    curve, once = TradeoffCurve(steps, changes=changes), TradeoffCurve(steps)
    again = reduce(lambda rate, _: once.hits(rate), range(changes), RATES)
    assert (curve.hits(RATES) <= again * (1 + 1e-9)).all()
    p, q = (np.exp(-np.abs(wins - at) / 20) for at in (changes, 0))
    ratios, place = np.unique(np.clip(np.abs(wins) - np.abs(wins - changes), -changes, changes), return_inverse=True)
    law = np.bincount(place, p / p.sum())
    sums = np.arange(-changes * 20, changes * 20 + 1)
    spread = np.zeros(2 * changes + 1)
    spread[ratios + changes] = law
    total = reduce(np.convolve, [spread] * 20)
    attained = (total * -np.expm1(np.minimum(-sums / 20, 0))).sum()
    assert attained <= curve.delta(0) <= attained * 1.05


def test_steps_follow_from_the_entries_of_a_ledger():
    ledger = Ledger(2, "replace-one")
    ledger.charge("number of rows", "discrete-laplace", 1, "1/50", 1, "sequential")
    ledger.charge("labels of leaves", "permute-and-flip", 1, "1/10", 64, "parallel")
    ledger.charge("labels of trees", "permute-and-flip", 1, "1/50", 3, "sequential")
    assert steps_of(ledger) == ((Fraction(1, 25), 4), (Fraction(1, 5), 1))
    gaussian = Ledger(PrivacyLoss.gaussian(1))
    gaussian.charge("sums", "rounded-gaussian", 1, PrivacyLoss.gaussian("0.01"), 100, "sequential")
    gaussian.close()
    assert steps_of(gaussian) == ()
    assert certify(gaussian, mechanism="m", delta=1e-6).tradeoff.success() == pytest.approx(ndtr(0.5), abs=1e-12)


@pytest.mark.parametrize("trees, composition, steps", [(5, "sequential", 5), (5, "parallel", 1), (1, "sequential", 1)])
def test_parts_count_as_one_step_of_a_tree(trees, composition, steps):
    """A row may be in different parts of different trees. So the costs of one part, summed over trees, are no bound."""
    ledger = Ledger(1)
    turns = steps
    ledger.charge("splits", "exponential", 2, Fraction(1, 8 * turns), 4 * turns, "sequential", part=STRUCTURE)
    ledger.charge("labels", "exponential", 1, Fraction(1, turns), trees, composition, part=ESTIMATION)
    assert steps_of(ledger) == ((Fraction(1, turns), steps),) and TradeoffCurve(steps_of(ledger)).total == ledger.spent


def test_a_file_holds_all_that_the_curve_needs():
    ledger = Ledger(1)
    ledger.charge("counts of trees", "discrete-laplace", 1, "1/100", 100, "sequential")
    ledger.close()
    certificate = certify(ledger, mechanism="m")
    again = Certificate.from_dict(certificate.to_dict(), Ledger.from_dict(ledger.to_dict()))
    assert again.steps == certificate.steps and again.tradeoff.success() == pytest.approx(0.519889, abs=5e-7)
    alone = Certificate.from_dict(certificate.to_dict())  # without its ledger only ε is known
    assert alone.tradeoff.success() == pytest.approx(0.731059, abs=5e-7)
    assert certify(ledger, mechanism="m", reasons=["The noise comes from a seed."]).tradeoff is None


def test_gaussian_noise_and_steps_add_up_in_sequence():
    steps, mu = ((Fraction(1, 10), 10),), 0.5
    curve = TradeoffCurve(steps) + TradeoffCurve(mu_squared=Fraction(1, 4))
    wins = np.arange(11)
    p, loss = binom.pmf(wins, 10, 1 / (1 + math.exp(-0.1))), 0.1 * (2 * wins - 10)
    z = np.linspace(-9, 10, 200_001)
    loss_of_z = loss[:, None] + mu * z - mu**2 / 2  # loss of the steps, plus the log-ratio of N(μ, 1) to N(0, 1) at z
    for epsilon in (0.0, 0.5, 2.0):
        beyond = p @ -np.expm1(np.minimum(epsilon - loss_of_z, 0))
        exact = np.trapezoid(beyond * norm.pdf(z, mu), z)
        assert exact * (1 - 1e-9) <= curve.delta(epsilon) == pytest.approx(exact, rel=1e-7)
    assert curve.delta(curve.epsilon(1e-6)) <= 1e-6 < curve.delta(curve.epsilon(1e-6) * 0.9999)
    assert (curve.hits(RATES) >= TradeoffCurve(steps).hits(RATES) * (1 - 1e-9)).all()
    assert 2 * curve.success() - 1 == pytest.approx(
        (curve.hits(np.linspace(0, 1, 1001)) - np.linspace(0, 1, 1001)).max(), abs=1e-4
    )
    twice = TradeoffCurve(steps) + TradeoffCurve(steps)
    assert twice.success() == pytest.approx(TradeoffCurve(((Fraction(1, 10), 20),)).success(), rel=1e-12)
    with pytest.raises(ValueError, match="changes"):
        curve + TradeoffCurve(steps, changes=2)


def test_curves_hold_at_the_least_and_the_largest_losses():
    assert TradeoffCurve().success() == 0.5000000000000001 and TradeoffCurve().hits([0, 0.3, 1]).tolist() == [0, 0.3, 1]
    tiny = equal_trees(1, 10**6)
    assert 0.5 < tiny.success() < 0.5003
    for steps in (((Fraction(500), 3),), ((Fraction(900), 1), (Fraction(10**6), 5))):
        curve = TradeoffCurve(steps)
        assert curve.success() == 1 and curve.hits(1e-9) == 1 and curve.epsilon(0) == float(curve.total)
        with_noise = curve + TradeoffCurve(mu_squared=Fraction(1, 4))
        assert with_noise.hits([0.0, 1e-9, 0.5, 1.0]).tolist() == [1, 1, 1, 1]


@pytest.mark.parametrize("epsilon, trees", [(1, 10), (4, 10), (4, 40)])
def test_attacks_on_real_draws_reach_the_curve_and_do_not_beat_it(epsilon, trees):
    """The best test of whether the true counts are 0 or 1 reaches the curve, but does not exceed it.

    Each comparison fails by chance once in 10^7 runs.
    """
    curve, n = equal_trees(epsilon, trees), 200_000
    with_row, without = (
        (2 * (draw_noisy_counts(np.full((n, trees), true), Fraction(trees, epsilon), SecretSource()) >= 1) - 1).sum(
            axis=1
        )
        for true in (1, 0)
    )
    right = int(
        (with_row > 0).sum() + (without < 0).sum() + binom.rvs(int((with_row == 0).sum() + (without == 0).sum()), 0.5)
    )
    for count, size, rate in ((right, 2 * n, curve.success()), ((with_row > 2).sum(), n, None)):
        if rate is None:
            alarms = (without > 2).mean() + 6 * math.sqrt((without > 2).mean() / n)
            assert binom.sf(count - 1, size, float(curve.hits(alarms))) > 1e-7
        else:
            assert binom.sf(count - 1, size, rate) > 1e-7 and binom.cdf(count, size, rate) > 1e-7
