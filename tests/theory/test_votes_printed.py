"""Bojarski et al.'s theorems against the golden values of their algebra, and against random trees that are drawn."""

import math

import numpy as np
import pytest

from dpforest.theory.votes_printed import (
    coin_bound,
    direct_bound,
    held_out_loss,
    mean_weight_bound,
    printed_probability,
    sure_rows,
    trees_asked,
)


def drawn(depth: int, seed: int, n_trees: int = 300, n: int = 500) -> tuple[np.ndarray, np.ndarray]:
    """Of each row: share of random trees that label it rightly, and mean share of its leaf's rows with its label."""
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
def test_of_trees_that_are_drawn(depth):
    """The bounds are on means over all trees; with 300 of them and 500 rows luck moves a mean by less than .02."""
    right, weight = drawn(depth, seed=depth)
    error = 1 - right.mean()
    assert weight.mean() >= mean_weight_bound(error) - 0.02
    for slack in (0.05, 0.2):
        assert (right >= 0.5 + slack).mean() >= sure_rows(error, slack) - 0.02
        assert (weight >= 0.5 + slack).mean() >= sure_rows(error, slack, "average") - 0.02
    assert 1 - weight.mean() <= coin_bound(error, 0.0, 0.0) + 0.02  # a toss with the mean share


def test_golden_values():
    asked = [[-(-trees_asked(n, d) // 1) for d in (0.05, 0.1, 0.4)] for n in (435, 8124, 10**6)]
    assert asked == [[2431, 608, 38], [3602, 901, 57], [5527, 1382, 87]]
    assert printed_probability(1e8, 520, 3, 0.3, 10, 1.0) == pytest.approx(0.988484, abs=1e-6)
    assert printed_probability(1e4, 520, 3, 0.3, 10, 1.0) < 0  # a bound below 0 is vacuous
    assert held_out_loss(5.1e6, 386, 3, 0.4, 5) < 0.05 < held_out_loss(3e6, 386, 3, 0.4, 5)


def test_what_is_printed_promises_more_than_its_proof():
    """9/2 where the algebra has 19/4: below what is derived from an error of 1.25 % on."""
    for error in (0.02, 0.1, 0.3):
        bound = direct_bound(error, 1e6, 3, 1.0)
        assert bound.printed < bound.derived and bound.probability < 0 and bound.trees == 1
    coin = direct_bound(0.1, 1e24, 1, 1.0, "coin")
    assert coin.trees == 100_845 and coin.probability > 0.99
    assert coin.printed == pytest.approx(0.37) and coin.derived == pytest.approx(0.36875)


@pytest.mark.parametrize(("n", "best"), [(1e18, 2444), (1e20, 9251), (1e22, 31182)])
def test_the_number_of_trees_is_the_integer_that_loses_least(n, best):
    assert direct_bound(0.1, n, 1, 1.0).trees == best

    def lost(k):
        return math.exp(-k / 200) + 2 * k * math.exp(-math.sqrt(n) / (9600 * 2 * k))

    assert lost(best) < min(lost(best - 1), lost(best + 1))


def test_what_has_no_bound_is_refused():
    with pytest.raises(ValueError, match="slack=0.5 is not a number between 0 and 0.5"):
        sure_rows(0.1, 0.5)
    with pytest.raises(ValueError, match="rule"):
        sure_rows(0.1, 0.1, "coin")
