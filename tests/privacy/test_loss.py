"""Tests that losses add up exactly within their kind, and that every figure derived from them is on the safe side."""

import math
from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import erfcx

from dpforest.privacy import normal_bounds
from dpforest.privacy.loss import MixedLossesError, PrivacyLoss, mu_for
from dpforest.privacy.normal_bounds import PI, bounds, exp, hockey_stick, mills_ratio, randomized_response, sqrt

EPSILONS = (".01", ".05", ".1", ".3", "1", "3", "10")
MU = {  # rounded to the nearest
    "1e-5": (0.00410197, 0.0173098, 0.0325208, 0.0889835, 0.268051, 0.719117, 2.00045),
    "1e-6": (0.00326424, 0.014436, 0.0275447, 0.0769682, 0.236704, 0.647727, 1.84813),
    "5e-8": (0.00264779, 0.0121132, 0.0233884, 0.0664585, 0.207956, 0.579132, 1.69288),
}
exactly = settings(derandomize=True, deadline=None, max_examples=60)
MU_SQUARED = st.builds(lambda x, p: x * Fraction(10) ** p, st.fractions(Fraction(1, 10), 10), st.integers(-4, 2))
EPSILON = st.one_of(st.just(Fraction(0)), st.fractions(Fraction(1, 1000), 20))


def pi() -> Decimal:
    """Return π by Machin's formula, in the precision of the context."""

    def arctan_of_inverse(n: int) -> Decimal:
        total, power, k = Decimal(0), 1 / Decimal(n), 0
        while power > Decimal(10) ** -220:
            total, power, k = total + (-1) ** k * power / (2 * k + 1), power / n**2, k + 1
        return total

    return 16 * arctan_of_inverse(5) - 4 * arctan_of_inverse(239)


def upper_tail(t: Decimal) -> Decimal:
    """Return P(Z > t) for |t| up to 15, by an alternating series. The tested module uses another method."""
    term, total, k = t, t, 0
    while abs(term) > Decimal(10) ** -210 or k < 250:
        k += 1
        term = -term * t * t / (2 * k)
        total += term / (2 * k + 1)
    return Decimal("0.5") - total / (2 * pi()).sqrt()


def reference(mu_squared: Fraction, epsilon: Fraction) -> Fraction:
    """Return δ(ε) by its formula in 250 digits, most of which are right."""
    with localcontext(prec=250):
        mu = (Decimal(mu_squared.numerator) / mu_squared.denominator).sqrt()
        e = Decimal(epsilon.numerator) / epsilon.denominator
        return Fraction(upper_tail(e / mu - mu / 2) - e.exp() * upper_tail(e / mu + mu / 2))


# ---------------------------------------------------------------- bounds


def test_pi_is_between_its_bounds():
    with localcontext(prec=250):
        assert PI.low < pi() < PI.high and PI.high - PI.low < Decimal("1e-59")


@pytest.mark.parametrize(
    "mu_squared, epsilon",
    [
        ("0.0560288", "1"),
        ("1/3", "0"),
        ("1", "1/7"),
        ("1", "1/2"),
        ("4", "2"),
        ("4", "10"),
        ("1/100", "1"),
        ("30", "3"),
        ("2", "12"),
        ("1/10000", "1/100"),
        ("36/1", "4"),
        ("1e-12", "1e-6"),
    ],
)
def test_the_true_delta_is_between_its_bounds_which_are_close(mu_squared, epsilon):
    delta = hockey_stick(Fraction(mu_squared), Fraction(epsilon))
    true = reference(Fraction(mu_squared), Fraction(epsilon))
    assert Fraction(delta.low) <= true <= Fraction(delta.high)
    assert delta.high - delta.low <= delta.high * Decimal("1e-35")


@pytest.mark.parametrize("t", ["0", "1e-9", "0.7", "3", "5.9999", "6", "6.0001", "11"])
def test_the_tail_is_between_its_bounds_on_either_side_of_the_two_formulas(t):
    point = bounds(Fraction(t))
    tail = mills_ratio(point) * normal_bounds.density(point)
    with localcontext(prec=250):
        assert tail.low <= upper_tail(Decimal(t)) <= tail.high
    assert tail.high - tail.low < tail.high * Decimal("1e-45")


@exactly
@given(MU_SQUARED, EPSILON)
def test_delta_is_that_of_the_scaled_error_function(mu_squared, epsilon):
    mu, e = math.sqrt(mu_squared), float(epsilon)
    x, y = e / mu - mu / 2, e / mu + mu / 2
    if not -26 < x < 30:
        return
    floats = 0.5 * math.exp(-x * x / 2) * (erfcx(x / math.sqrt(2)) - erfcx(y / math.sqrt(2)))
    # Near x = 0 and for small μ, the difference of two floats has a relative error of about 1e-16 / μ.
    assert PrivacyLoss.gaussian(mu_squared).delta(epsilon) == pytest.approx(
        floats, rel=1e-9 + 1e-14 / mu + 1e-14 * x**2
    )


@exactly
@given(st.fractions(0, 10**6), st.fractions(-50, 50))
def test_roots_and_powers_are_bounded(x, power):
    root = sqrt(bounds(x))
    assert Fraction(root.low) ** 2 <= x <= Fraction(root.high) ** 2
    both = exp(bounds(abs(power))) * exp(-bounds(abs(power)))
    assert both.low <= 1 <= both.high and both.high - both.low < Decimal("1e-55")


@pytest.mark.parametrize("mu_squared, epsilon", [("1e-18", "1"), ("1", "1000"), ("1e6", "1"), ("1e-30", "1e6")])
def test_at_the_ends_delta_is_never_0_nor_above_1(mu_squared, epsilon):
    delta = hockey_stick(Fraction(mu_squared), Fraction(epsilon))
    assert 0 <= delta.low <= delta.high <= 1 and delta.high > 0
    assert PrivacyLoss.gaussian(mu_squared).delta(epsilon) > 0


@pytest.mark.parametrize("exponent", [200, -200])
def test_numbers_as_long_as_files_may_have_them_are_bounded_too(exponent):
    odd = Fraction(10**200 - 1) if exponent > 0 else Fraction(1, 10**200 - 1)
    for epsilon in (odd, 1 / odd, Fraction(1), Fraction(0)):
        for delta in (hockey_stick(odd, epsilon), randomized_response(odd, epsilon)):
            assert 0 <= delta.low <= delta.high <= 1 and delta.high - delta.low < Decimal("1e-50")
    # The interval is wide, but contains the true value.
    assert Fraction(hockey_stick(odd, odd / 2).high) >= (Fraction(1, 2) if exponent > 0 else 0)


# ---------------------------------------------------------------- (ε, δ)


@pytest.mark.parametrize("delta", MU)
def test_mu_matches_golden_values(delta):
    """The module returns the known μ for (ε, δ), and a slightly larger μ² does not satisfy (ε, δ)."""
    for epsilon, mu in zip(EPSILONS, MU[delta], strict=True):
        loss = mu_for(epsilon, delta)
        assert math.sqrt(loss.mu_squared) == pytest.approx(mu, rel=5e-6)
        assert loss.holds(epsilon, delta) and reference(loss.mu_squared, Fraction(epsilon)) <= Fraction(delta)
        more = PrivacyLoss.gaussian(loss.mu_squared * (1 + Fraction(1, 10**10)))
        assert not more.holds(epsilon, delta) and reference(more.mu_squared, Fraction(epsilon)) > Fraction(delta)


def test_rho_matches_golden_values():
    for epsilon, rho in {".05": 1.04199e-4, ".1": 3.79354e-4, ".3": 2.96205e-3, "1": 0.0280145, "3": 0.209775}.items():
        assert float(mu_for(epsilon, "1e-6").rho) == pytest.approx(rho, rel=1e-5)
    assert PrivacyLoss.pure("1/3").rho == Fraction(1, 18)


@settings(derandomize=True, deadline=None, max_examples=15)
@given(MU_SQUARED, st.sampled_from(["1e-3", "1e-6", "1e-12"]))
def test_epsilon_is_the_least_that_is_proved(mu_squared, delta):
    loss = PrivacyLoss.gaussian(mu_squared)
    epsilon = loss.epsilon(delta)
    assert loss.holds(epsilon, delta)
    assert epsilon == 0 or not loss.holds(epsilon * (1 - Fraction(1, 10**10)), delta)
    if epsilon:  # the inverse
        back = mu_for(epsilon, delta)
        assert loss.mu_squared * (1 - Fraction(1, 10**11)) <= back.mu_squared
        assert back.mu_squared <= loss.mu_squared * (1 + Fraction(1, 10**8))


def test_the_least_epsilon_that_is_returned_holds():
    """The search ends with an interval for ε of at most 10⁻³⁹, and returns its upper end, which satisfies δ."""
    loss = PrivacyLoss.gaussian(1)
    delta = Fraction(hockey_stick(Fraction(1), Fraction(5, 10**40)).high)
    assert not loss.holds(Fraction(1, 10**40), delta)
    assert loss.epsilon(delta) == Fraction(1, 10**39) and loss.holds(loss.epsilon(delta), delta)


@exactly
@given(MU_SQUARED, EPSILON, st.fractions(1, 2))
def test_every_computed_delta_holds_as_a_decimal(mu_squared, epsilon, factor):
    """Every computed δ holds, both as a float and as the decimal that `repr` prints."""
    for loss in (PrivacyLoss.gaussian(mu_squared), PrivacyLoss.pure(mu_squared)):
        delta = loss.delta(epsilon * factor)
        assert loss.holds(epsilon * factor, delta) and loss.holds(epsilon * factor, repr(delta) if delta else 0)


@exactly
@given(MU_SQUARED, EPSILON, st.fractions(1, 2))
def test_delta_falls_in_epsilon_and_rises_in_mu(mu_squared, epsilon, factor):
    factor = factor + Fraction(1, 100)
    delta = hockey_stick(mu_squared, epsilon)
    assert delta.high <= hockey_stick(mu_squared * factor, epsilon).high
    assert delta.high >= hockey_stick(mu_squared, epsilon * factor).high


@exactly
@given(st.fractions(Fraction(1, 100), 5), st.fractions(0, 5))
def test_a_pure_loss_has_the_delta_of_randomized_response(loss, epsilon):
    delta = PrivacyLoss.pure(loss).delta(epsilon)
    yes = math.exp(loss) / (1 + math.exp(loss))  # probability of "yes" on one table; 1 - yes on the other
    assert delta == pytest.approx(max(0.0, yes - math.exp(epsilon) * (1 - yes)), abs=1e-13)
    bounded = randomized_response(loss, epsilon)
    assert Fraction(bounded.high) <= Fraction(delta) and (delta == 0) == (epsilon >= loss)


def test_the_epsilon_of_a_pure_loss():
    loss = PrivacyLoss.pure("1/3")
    assert loss.epsilon() == loss.epsilon(0) == Fraction(1, 3)
    epsilon = loss.epsilon("0.01")
    assert (
        epsilon < Fraction(1, 3)
        and loss.holds(epsilon, "0.01")
        and not loss.holds(epsilon - Fraction(1, 10**9), "0.01")
    )
    assert loss.epsilon("0.5") == 0
    assert loss.holds("1/3", 0) and not loss.holds("0.3333", 0)


def test_a_float_counts_as_the_smaller_of_its_two_readings():
    """A float counts as the smaller of its binary and decimal value: 0.1 is above 1/10 in binary, 0.3 below 3/10."""
    assert PrivacyLoss.pure(Fraction(1, 10)).holds(0.1, 0) and not PrivacyLoss.pure(Fraction(0.1)).holds(0.1, 0)
    assert not PrivacyLoss.pure(Fraction(3, 10)).holds(0.3, 0) and PrivacyLoss.pure(Fraction(0.3)).holds(0.3, 0)


@pytest.mark.parametrize("delta", [0, -1e-6, 1, 2, math.nan])
def test_a_gaussian_loss_has_no_epsilon_without_a_delta(delta):
    with pytest.raises(ValueError):
        PrivacyLoss.gaussian(1).epsilon(delta)
    with pytest.raises(ValueError):
        mu_for(1, delta)


# ---------------------------------------------------------------- sums of losses


def test_pure_losses_add_up_in_epsilon_and_gaussian_ones_in_mu_squared():
    pure, gauss = PrivacyLoss.pure("0.1"), PrivacyLoss.gaussian("0.1")
    for loss in (pure, gauss):
        assert loss * 10 == 10 * loss == PrivacyLoss.total([loss] * 10, loss.kind)
        assert (loss * 10).amount == 1 and (loss + loss).amount == Fraction(1, 5)
        assert PrivacyLoss.parallel([loss, loss * 2, loss], loss.kind) == loss * 2
        assert PrivacyLoss.total([], loss.kind).amount == 0 and loss * 0 <= loss < loss * 2 and loss * 2 > loss >= loss
    assert pure.replace_one().amount == Fraction(1, 5) and gauss.replace_one().amount == Fraction(2, 5)
    assert pure.grouped(3).pure_epsilon == Fraction(3, 10) and gauss.grouped(3).mu_squared == Fraction(9, 10)
    assert gauss.mu**2 >= gauss.mu_squared and gauss.mu**2 == pytest.approx(0.1)


def test_a_group_of_gaussian_rows_is_a_gaussian_of_that_many_mu():
    """Three Gaussian steps of μ in sequence have the trade-off curve of one step of 3μ."""
    from scipy.special import ndtr, ndtri

    mu, rate = 0.4, np.linspace(0.001, 0.999, 99)
    step = lambda a: ndtr(ndtri(a) + mu)
    three = float(PrivacyLoss.gaussian("0.16").grouped(3).mu)
    assert np.allclose(step(step(step(rate))), ndtr(ndtri(rate) + three), rtol=1e-12)


def test_losses_of_different_kinds_do_not_add_up():
    pure, gauss = PrivacyLoss.pure(1), PrivacyLoss.gaussian(1)
    for mixed in (
        lambda: pure + gauss,
        lambda: gauss + pure,
        lambda: pure <= gauss,
        lambda: max(pure, gauss),
        lambda: PrivacyLoss.total([gauss]),
        lambda: PrivacyLoss.parallel([gauss]),
    ):
        with pytest.raises(MixedLossesError, match=r"choose a δ and add epsilon\(delta\)"):
            mixed()
    assert pure != gauss
    with pytest.raises(MixedLossesError, match="only at a δ"):
        _ = gauss.pure_epsilon
    with pytest.raises(MixedLossesError, match="no μ²"):
        _ = pure.mu_squared
    with pytest.raises(TypeError, match="only a loss can be added to a loss"):
        _ = pure + Fraction(1)


@pytest.mark.parametrize("bad", [-1, "-1/2", math.nan, math.inf, None, True, "x"])
def test_invalid_losses_are_refused(bad):
    for build in (PrivacyLoss.pure, PrivacyLoss.gaussian):
        with pytest.raises(ValueError):
            build(bad)


def test_invalid_compositions_are_refused():
    for times in (-1, 0.5):
        with pytest.raises(ValueError, match="multiplied by a whole number"):
            _ = PrivacyLoss.pure(1) * times
    with pytest.raises(ValueError, match="kind must be"):
        PrivacyLoss("renyi", Fraction(1))
    with pytest.raises(ValueError, match="exact fraction"):
        PrivacyLoss("pure", 0.5)
