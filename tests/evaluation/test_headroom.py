"""Headroom: whether a forest has accuracy that privacy could cost. The tests use made-up curves and random guesses."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpforest.evaluation.headroom import POINT, cheap_from, effective_n, headroom, overwide_features
from tests.conftest import public_domain

MANY = 10**6  # number of held-out rows; it is so large that the sampling error is below a point
EPSILONS = [0.01, 0.1, 1.0, 10.0]


def headroom_of(private, nonprivate: float, floor: float, n_test: float = MANY, best: float | None = None):
    return headroom(np.atleast_2d(private), np.array([nonprivate]), floor, n_test, best=best)


@pytest.mark.parametrize(
    "private, nonprivate, floor, nothing",
    [
        ([0.70, 0.76, 0.76, 0.76], 0.76, 0.76, True),  # equal to the floor at every ε
        # Below the floor (the accuracy of guessing) with noise, and equal to the floor without noise.
        ([0.50, 0.60, 0.70, 0.75], 0.76, 0.76, True),
        ([0.75, 0.77, 0.77, 0.77], 0.769, 0.76, True),  # less than a point above the floor
        ([0.50, 0.60, 0.75, 0.79], 0.80, 0.76, False),
        ([0.76, 0.76, 0.76, 0.76], 0.80, 0.76, False),  # learns, but noise removes all of it
        ([0.76, 0.80, 0.82, 0.78], 0.76, 0.76, False),  # the noise itself helps
    ],
)
def test_headroom_of_made_up_curves_matches_values_by_hand(private, nonprivate, floor, nothing):
    assert headroom_of(private, nonprivate, floor).has_none is nothing


def test_few_rows_or_much_spread_hide_what_is_gained():
    curve = np.full((1, 4), 0.80)
    assert not headroom_of(curve, 0.80, 0.76).has_none
    assert headroom_of(curve, 0.80, 0.76, n_test=40).has_none
    assert not headroom(curve, np.array([0.79, 0.81]), 0.76, MANY).has_none
    assert headroom(curve, np.array([0.70, 0.90]), 0.76, MANY).has_none


def test_whether_anything_can_be_learned_needs_another_model():
    flat = [0.76] * 4
    assert headroom_of(flat, 0.76, 0.76).learnable is None
    assert headroom_of(flat, 0.76, 0.76, best=0.85).learnable is True
    assert headroom_of(flat, 0.76, 0.76, best=0.765).learnable is False
    assert headroom_of([0.8] * 4, 0.8, 0.76, best=0.7).learnable is True


def test_a_price_is_small_only_if_something_is_left():
    assert cheap_from(EPSILONS, [0.6, 0.7, 0.795, 0.8], headroom_of([0.8] * 4, 0.8, 0.5)) == 1.0
    # From ε = 0.1 on, privacy costs less than a point, but that is most of the 1.2 points by which the forest beats
    # guessing.
    assert cheap_from(EPSILONS, [0.76, 0.763, 0.765, 0.772], headroom_of([0.772] * 4, 0.772, 0.76)) == 10.0
    assert cheap_from(EPSILONS, [0.6, 0.8, 0.6, 0.7], headroom_of([0.8] * 4, 0.8, 0.5)) is None  # the curve falls again


SHARES = st.floats(0.0, 1.0)


@settings(derandomize=True, deadline=None, max_examples=300)
@given(st.lists(SHARES, min_size=4, max_size=4), SHARES, SHARES, st.integers(10, 10**6), st.none() | SHARES)
def test_without_headroom_no_price_is_named(private, nonprivate, floor, n_test, best):
    """A forest without headroom is never reported as one that loses less than a point to privacy."""
    room = headroom_of(private, nonprivate, floor, n_test, best)
    cheap = cheap_from(EPSILONS, private, room)
    if cheap is not None:
        assert not room.has_none
        i = EPSILONS.index(cheap)
        assert all(mean >= nonprivate - POINT and mean > floor for mean in private[i:])
    if room.has_none:
        assert max(nonprivate, *private) <= floor + room.noise
    assert room.noise >= POINT


@pytest.mark.parametrize("counts", [(500, 500), (950, 50)])
@pytest.mark.parametrize("measure", ["accuracy", "balanced_accuracy", "auc"])
def test_rows_behind_a_measure_give_its_spread_for_guesses(measure, counts):
    """Random guesses have the spread that `effective_n` rows give an accuracy of 1/2."""
    y, rng, n_draws = np.repeat([0, 1], counts), np.random.default_rng(0), 4_000
    scores = rng.random((n_draws, len(y)))
    is_right = (scores > 0.5).astype(int) == y
    ranks = scores.argsort(axis=1).argsort(axis=1)[:, counts[0] :].mean(axis=1)
    measured = {
        "accuracy": is_right.mean(axis=1),
        "balanced_accuracy": (is_right[:, : counts[0]].mean(axis=1) + is_right[:, counts[0] :].mean(axis=1)) / 2,
        "auc": (ranks - (counts[1] - 1) / 2) / counts[0],
    }[measure]
    # A standard deviation of 4,000 draws has an error of 1.1 %, and an error above 6 % once in 10⁷ runs.
    assert measured.std() == pytest.approx(0.5 / np.sqrt(effective_n(measure, y)), rel=0.06)


def test_overwide_ranges_are_named():
    domain = public_domain(None, 3, None, None)
    rng = np.random.default_rng(0)
    codes = np.stack(
        [rng.integers(0, 60, 1_000), rng.integers(0, 3, 1_000), rng.integers(0, 65_536, 1_000), np.full(1_000, 7)],
        axis=1,
    ).astype(np.uint16)
    overwide = overwide_features(domain, codes)
    assert [name for name, _ in overwide] == ["f3", "f0"]
    assert [share for _, share in overwide] == [0, pytest.approx(0.9 * 60 / 65_536, rel=0.1)]
