"""Sums of releases on a population: both kinds of loss, both relations, rows and persons, and the cap."""

from fractions import Fraction

import pytest

from dpforest.book import BookError, Booking, Cost, Population
from dpforest.book.sums import for_person
from dpforest.privacy.loss import PrivacyLoss

ADD, REPLACE = "add-remove", "replace-one"
DELTA = 1e-6


def cost(epsilon, neighbors: str = ADD, unit: str | None = None) -> Cost:
    return Cost(PrivacyLoss.pure(epsilon), neighbors, unit)


def gaussian(mu_squared, neighbors: str = ADD, unit: str | None = None) -> Cost:
    return Cost(PrivacyLoss.gaussian(mu_squared), neighbors, unit)


def population(*costs: Cost, **facts) -> Population:
    deltas = [DELTA if each.loss.kind == "gaussian" else 0.0 for each in costs]
    bookings = tuple(
        Booking(str(i), "p", "2026-11-27T00:00:00+00:00", "t", each, delta)
        for i, (each, delta) in enumerate(zip(costs, deltas, strict=True))
    )
    return Population("p", bookings=bookings, **facts)


def test_pure_losses_add_up_exactly():
    total = population(cost("1/3"), cost("1/7")).total()
    assert (total.epsilon, total.neighbors, total.delta, total.unit) == (Fraction(10, 21), ADD, 0.0, None)
    assert population().total().epsilon == 0


def test_a_release_under_add_remove_counts_twice_under_replace_one():
    total = population(cost(1), cost("1/2", REPLACE)).total()
    assert (total.epsilon, total.neighbors) == (Fraction(5, 2), REPLACE)


def test_mu_squared_adds_up_and_is_stated_at_one_delta():
    alone, both = population(gaussian(1)).total(), population(gaussian("1/2"), gaussian("1/2")).total()
    assert alone.epsilon == both.epsilon and both.delta == DELTA
    mixed = population(gaussian("1/2"), cost(2), gaussian("1/2")).total()
    assert mixed.epsilon == alone.epsilon + 2
    assert population(gaussian(1, ADD), cost(1, REPLACE)).total().epsilon == population(gaussian(4)).total().epsilon + 1


def test_rows_and_persons_add_up_only_with_a_number_of_rows():
    mixed = cost(1), cost("1/2", ADD, "patient")
    with pytest.raises(BookError, match="State how many rows one person has at most"):
        population(*mixed).total()
    total = population(*mixed, rows_per_person=8).total()
    assert (total.epsilon, total.neighbors, total.unit) == (Fraction(17, 2), ADD, "patient")
    total = population(gaussian("1/4"), cost(1, ADD, "patient"), rows_per_person=2).total()
    assert total.epsilon == population(gaussian(1)).total().epsilon + 1
    assert population(cost(1), rows_per_person=8).total().epsilon == 1  # all releases protect rows, so the sum does


def test_a_replaced_row_has_no_sum_with_persons():
    with pytest.raises(BookError, match="Use add-remove"):
        population(cost(1, REPLACE), cost(1, ADD, "patient"), rows_per_person=8).total()
    with pytest.raises(ValueError, match="under replace-one"):
        for_person(cost(1, REPLACE), "patient", 8)


def test_two_columns_of_persons_have_no_sum():
    with pytest.raises(BookError, match="'patient' and 'doctor'"):
        population(cost(1, ADD, "patient"), cost(1, ADD, "doctor"), rows_per_person=8).total()


def test_the_cap_is_reached_but_not_exceeded():
    capped = population(cost("0.9"), cap=Fraction(1))
    assert capped.check(cost("0.1"), 0.0).epsilon == 1
    with pytest.raises(BookError, match=r"a loss of ε = 1\.001\. Your cap is 1, and 0\.9 is spent"):
        capped.check(cost("0.101"), 0.0)
    with pytest.raises(BookError, match="Your cap is 1"):  # 0.9 counts twice: the new release is under replace-one
        capped.check(cost("0.1", REPLACE), 0.0)
    with pytest.raises(BookError, match="Your cap is 1"):
        capped.check(gaussian(1), DELTA)
