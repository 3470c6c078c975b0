"""Theorems of Bojarski et al. against values that follow from their proofs, and against simulated random trees."""

import math

import numpy as np
import pytest

from dpforest.theory.votes_printed import (
    coin_bound,
    direct_bound,
    held_out_failure,
    held_out_probability,
    mean_weight_bound,
    printed_probability,
    rows_for_direct_bound,
    rows_to_hold_out,
    share_of_sure_rows,
    trees_required,
)


def random_trees(depth: int, seed: int, n_trees: int = 300, n: int = 500) -> tuple[np.ndarray, np.ndarray]:
    """Return for each row the share of random trees that are right, and the mean share of its label in its leaves."""
    rng = np.random.default_rng(seed)
    rows = rng.random((n, 4))
    label = (rows[:, 0] + 0.3 * rng.random(n) > 0.6).astype(int)
    right, weight = np.zeros(n), np.zeros(n)
    for _ in range(n_trees):
        leaf = np.zeros(n, int)
        for _ in range(depth):
            leaf = 2 * leaf + (rows[:, rng.integers(4)] > rng.random())
        ones = np.bincount(leaf, label, 2**depth) / np.maximum(np.bincount(leaf, minlength=2**depth), 1)
        share = ones[leaf]
        right += (share > 0.5) == label
        weight += np.where(label, share, 1 - share)
    return right / n_trees, weight / n_trees


@pytest.mark.parametrize("depth", [1, 4, 7])
def test_the_bounds_hold_for_simulated_trees(depth):
    """The bounds hold for simulated trees, up to a sampling error of .02.

    The bounds are on means over all possible trees and rows. The mean over 300 trees and 500 rows differs by less than
    .02.
    """
    right, weight = random_trees(depth, seed=depth)
    error = 1 - right.mean()
    assert weight.mean() >= mean_weight_bound(error) - 0.02
    for slack in (0.05, 0.2):
        assert (right >= 0.5 + slack).mean() >= share_of_sure_rows(error, slack) - 0.02
        assert (weight >= 0.5 + slack).mean() >= share_of_sure_rows(error, slack, "average") - 0.02
    assert 1 - weight.mean() <= coin_bound(error, 0.0, 0.0) + 0.02  # a random vote with the mean share


def test_printed_bounds_match_golden_values():
    trees = [[-(-trees_required(n, d) // 1) for d in (0.05, 0.1, 0.4)] for n in (435, 8124, 10**6)]
    assert trees == [[2431, 608, 38], [3602, 901, 57], [5527, 1382, 87]]
    assert printed_probability(1e8, 520, 3, 0.3, 10, 1.0) == pytest.approx(0.988484, abs=1e-6)
    assert printed_probability(1e4, 520, 3, 0.3, 10, 1.0) < 0  # a bound below 0 states nothing
    assert held_out_failure(5.1e6, 386, 3, 0.4, 5) < 0.05 < held_out_failure(3e6, 386, 3, 0.4, 5)


def test_the_printed_bound_promises_more_than_its_proof():
    """The printed bound on the error is lower than its proof shows.

    The proof leads to 19/4 where the printed bound has 9/2. For errors above 1.25 %, the printed bound is below the
    bound that follows from the proof.
    """
    for error in (0.02, 0.1, 0.3):
        bound = direct_bound(error, 1e6, 3, 1.0)
        assert bound.printed < bound.derived and bound.probability < 0 and bound.trees == 1
    coin = direct_bound(0.1, 1e24, 1, 1.0, "coin")
    assert coin.trees == 100_845 and coin.probability > 0.99
    assert coin.printed == pytest.approx(0.37) and coin.derived == pytest.approx(0.36875)


@pytest.mark.parametrize(("n", "best"), [(1e18, 2444), (1e20, 9251), (1e22, 31182)])
def test_the_number_of_trees_is_the_integer_with_the_least_loss(n, best):
    assert direct_bound(0.1, n, 1, 1.0).trees == best

    def loss(k):
        return math.exp(-k / 200) + 2 * k * math.exp(-math.sqrt(n) / (9600 * 2 * k))

    assert loss(best) < min(loss(best - 1), loss(best + 1))


def test_the_best_number_of_trees_grows_even_if_its_loss_is_too_small_for_a_float():
    """The best number of trees is near the number at which the two exponents of the loss are equal."""
    for n in (1e26, 1e28):
        trees = direct_bound(0.1, n, 1, 1.0).trees
        assert trees == pytest.approx(math.sqrt(200 * math.sqrt(n) / 19_200), rel=0.05)


def test_the_least_number_of_rows_with_a_bound_above_zero():
    first = rows_for_direct_bound(1, 1.0)
    assert direct_bound(0.1, first * 0.99, 1, 1.0).probability <= 0 < direct_bound(0.1, first, 1, 1.0).probability
    # The bound depends almost only on √n ε, so a tenth of ε needs about 100 times the rows.
    assert rows_for_direct_bound(1, 0.1) == pytest.approx(100 * first, rel=0.6)
    held = rows_to_hold_out(3, 0.3, 10)
    assert held_out_probability(held * 0.99, 3, 0.3, 10) <= 0 < held_out_probability(held, 3, 0.3, 10)


def test_all_rows_of_small_leaves_may_be_misclassified():
    """If rows of a rare value have random labels, the held-out error exceeds the printed bound of 0.

    The table has one binary attribute. Each half of the rows has one row of the rare value on average, so the training
    error e is nearly 0, and the printed bound for e = 0 is an error of 0. Our bound allows an error of 1/K. With 200
    draws, the test fails by chance with probability below 1e-6.
    """
    rng, n, above, bound = np.random.default_rng(0), 10**9, 0, 1 - share_of_sure_rows(0.0, 0.1, leaf_share=20)
    for _ in range(200):
        rare = rng.poisson(1.0, 2)  # rows of the rare value, with a probability of 1/n each
        wrong = rng.binomial(rare[1], 0.5) / n  # the common value always has class 0 and is always right
        above += wrong > 0
        assert wrong <= bound
    assert above > 30 and bound == pytest.approx(0.125)


def test_random_votes_of_guessing_trees_are_guesses():
    assert coin_bound(0.5, 0, 0, 2) == coin_bound(0.5, 0, 0, 4) == coin_bound(0.5, 0, 0) == 0.5
    assert coin_bound(0.4, 0, 0, 5) == 0.5
    derived = [direct_bound(error, 1e6, 3, 1.0, "coin").derived for error in (0.475, 0.49, 0.5)]
    assert derived == pytest.approx([0.65, 0.65, 0.65], abs=1e-12)


def test_small_leaves_raise_the_error_and_leave_the_slack():
    assert 1 - share_of_sure_rows(0.1, 0.1, "majority", 20) == pytest.approx(0.375)
    assert 1 - share_of_sure_rows(0.1, 0.1, "average", 20) == pytest.approx(0.575)
    # This bound is below 0, so it states nothing, but computing it must not raise an error.
    assert share_of_sure_rows(0.0, 0.46, "average", 20) == pytest.approx(1 - 0.05 / 0.04)


def test_invalid_arguments_are_refused():
    with pytest.raises(ValueError, match="slack=0.5 is not a number between 0 and 0.5"):
        share_of_sure_rows(0.1, 0.5)
    with pytest.raises(ValueError, match="rule"):
        share_of_sure_rows(0.1, 0.1, "coin")
