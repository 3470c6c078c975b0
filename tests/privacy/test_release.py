"""Noisy tables that a query budget pays for, and repeated assignments of rows to parts."""

import itertools
from fractions import Fraction

import numba
import numpy as np
import pytest

from dpforest.privacy.ledger import BudgetError, Ledger, QueryBudget
from dpforest.privacy.noisy_counts import discrete_laplace_pmf
from dpforest.privacy.randomness import DemoSource, SecretSource
from dpforest.privacy.rationals import round_up
from dpforest.privacy.release import assign_rows, noisy_table
from dpforest.privacy.simulators import simulate_noisy_counts
from tests.privacy.test_samplers import FixedWords, noise_p_value, p_value

JIT = not numba.config.DISABLE_JIT


def test_the_noise_scale_of_a_noisy_table_is_sensitivity_over_the_price_of_one_answer():
    """The secret source and the demonstration source draw Laplace noise of scale sensitivity / ε.

    The draws have fixed seeds. There are twelve comparisons at p < 1e-7 each.
    """
    n = 20_000 if JIT else 1_500
    table = np.tile([[0, 5, 1_000_000]], (n, 1))
    for sensitivity, each, sources in [
        (1, Fraction(1, 2), (FixedWords(), DemoSource(4))),
        (700, Fraction(7), (FixedWords(), DemoSource(4))),  # weights are multiples of 1/1024
        (3, Fraction(30), (FixedWords(), DemoSource(4))),
    ]:
        for source in sources:
            noisy = noisy_table(table, sensitivity, QueryBudget(each, 1), source)
            assert noisy.shape == table.shape and noisy.dtype == np.int64
            for column in (noisy - table).T:
                assert noise_p_value(column, float(sensitivity / each)) > 1e-7
    small = noisy_table(np.zeros((500, 1), np.int64), 1, QueryBudget(Fraction(1, 10), 1), FixedWords())
    assert small.min() < 0  # negative noisy counts are not clamped to 0


def test_a_noisy_table_loses_the_charged_amount():
    """The charge covers every change of cells within the sensitivity, although the noise scale is rounded."""
    for sensitivity in (1, 3, 1_024):
        for each in (Fraction(1, 3), Fraction(10**9 + 7, 10**10), Fraction(12)):
            scale = round_up(sensitivity / each)
            assert sensitivity / scale <= each  # sum of the log-ratios |change| / scale over the changed cells
            z = np.arange(-40, 41)
            pmf = np.log(discrete_laplace_pmf(z, float(scale)))
            assert np.abs(np.diff(pmf)).max() * sensitivity <= float(each) * (1 + 1e-9)


def test_a_noisy_table_takes_one_answer_and_draws_nothing_without_it():
    class Untouchable(SecretSource):
        def words(self, n):
            raise AssertionError("drew without paying")

    ledger = Ledger(1, "add-remove")
    query_budget = ledger.charge("weights", "discrete-laplace", 1, Fraction(1, 2), 2, "sequential")
    table = np.arange(6).reshape(3, 2)
    for source in (SecretSource(), DemoSource(0)):
        noisy_table(table, 5, query_budget, source)
    for source in (Untouchable(), DemoSource(0)):
        with pytest.raises(BudgetError, match="are answered"):
            noisy_table(table, 5, query_budget, source)


def test_tables_of_a_demonstration_draw_by_their_key_and_cell():
    table = np.zeros((600, 2), np.int64)
    draw = lambda table, **key: noisy_table(table, 4, QueryBudget(Fraction(1), 1), DemoSource(3), **key)
    first = draw(table)
    assert np.array_equal(first, draw(table, key=0)) and np.array_equal(first[:50], draw(table[:50]))
    changed = table.copy()
    changed[17] = 10**6
    assert np.array_equal(draw(changed) - changed, first)
    for key in (1, 31, 63, 64, 2**20 + 31):
        other = draw(table, key=key)
        assert abs(np.corrcoef(first.ravel(), other.ravel())[0, 1]) < 5 / np.sqrt(first.size)
    a, b = (noisy_table(table, 4, QueryBudget(Fraction(1), 1), SecretSource()) for _ in range(2))
    assert (a != b).any()  # equal with probability below 0.2**1200


def test_rows_are_shared_out_afresh_for_every_key():
    """Assignments at different keys are independent: all pairs of parts are equally frequent.

    There are six comparisons at p < 1e-7 each.
    """
    n, source = 60_000, DemoSource(8)
    draws = [assign_rows(n, 5, source, key=key) for key in (0, 1, 2, 700)]
    assert np.array_equal(draws[0], assign_rows(n, 5, source))
    for one, other in itertools.combinations(draws, 2):
        assert p_value(np.bincount(5 * one + other, minlength=25), np.full(25, 1 / 25)) > 1e-7
    ids = np.arange(n)[::-1] * 3 + 7
    everyone = assign_rows(ids, 5, source, key=9)
    assert np.array_equal(assign_rows(ids[1:], 5, source, key=9), everyone[1:])  # dropping a row moves no other row
    noise = simulate_noisy_counts(np.zeros((n, 1), np.int64), 1.0, 8)[:, 0] > 0
    assert abs(np.corrcoef(noise, draws[0])[0, 1]) < 5.5 / np.sqrt(n)  # noise does not correlate with the assignment


def test_each_release_draws_new_trees_for_the_rows():
    one, other = (assign_rows(2_000, 7, SecretSource(), key=3) for _ in range(2))
    assert (one != other).any() and p_value(np.bincount(one, minlength=7), np.full(7, 1 / 7)) > 1e-8
