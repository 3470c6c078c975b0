"""Rows in exchange for ε: how many times as many rows make up for a smaller ε. This number may be unknown."""

import numpy as np
import pytest

from dpforest import MajorityLabelForestClassifier, load_dataset
from dpforest.evaluation.learning_curve import MOST_TIMES, Learning, accuracy_on_parts, beyond
from dpforest.evaluation.rows_for_epsilon import exchange, three_epsilons
from dpforest.simulation.splits import split_table

ROWS = np.array([500, 1_000, 2_000, 4_000, 8_000])
EPSILONS = np.geomspace(0.1, 10, 29)


def surface(accuracy) -> Learning:
    """Return one measurement of a known accuracy(rows, ε), without errors."""
    values = accuracy(ROWS[:, None].astype(float), EPSILONS[None, :])
    return Learning(ROWS, EPSILONS, values[None], np.full((1, len(ROWS)), values.max()))


@pytest.mark.parametrize(("power", "times"), [(1.0, 10.0), (0.5, 10**0.5), (1.3, 10**1.3)])
def test_the_number_of_times_is_that_of_the_law(power, times):
    """Accuracy depends on rows times ε^power, so a tenth of ε takes 10^power times the rows."""
    learned = surface(lambda n, eps: 0.9 - 8 * (n * eps**power) ** -0.5)
    made_up = exchange(learned, 1.0, 0.1)
    assert made_up.rows == 500 and made_up.accuracy == pytest.approx(0.9 - 8 * 500**-0.5)
    if power <= 1:
        # The tolerance covers linear interpolation between numbers of rows that differ by a factor of 2.
        assert made_up.times == pytest.approx(times, rel=0.06)
    else:
        assert made_up.times is None or made_up.times > 15.9  # beyond the table, where another law extrapolates


def test_the_exchange_starts_where_the_smaller_epsilon_costs_accuracy():
    learned = surface(lambda n, eps: np.where((n < 2_000) & (eps > 0), 0.3, 0.9 - 8 * (n * eps) ** -0.5))
    assert exchange(learned, 1.0, 0.1).rows == 2_000
    assert exchange(surface(lambda n, eps: 0.8 + 0.0 * n * eps), 1.0, 0.1) is None


def test_accuracies_up_to_guessing_and_luck_are_not_compared():
    learned = surface(lambda n, eps: 0.9 - 8 * (n * eps) ** -0.5)
    few = 0.9 - 8 * ROWS**-0.5
    assert exchange(learned, 1.0, 0.1, least=few[1]).rows == 2_000
    assert exchange(learned, 1.0, 0.1, least=few[-1]) is None


def test_beyond_what_is_known_there_is_no_number():
    learned = surface(lambda n, eps: 0.5 + 0.3 * (eps > 0.95) + 0.0 * n)
    made_up = exchange(learned, 1.0, 0.1)
    assert made_up.times is None and made_up.needed.how in ("beyond", "unclear")
    assert MOST_TIMES * learned.n_rows / made_up.rows == 128


def test_epsilons_are_a_factor_apart_as_far_as_they_are_simulated():
    learned = surface(lambda n, eps: 0.8 + 0.0 * n * eps)
    assert three_epsilons(learned, 1.0) == pytest.approx([0.1, 1.0, 10.0])
    assert three_epsilons(learned, 5.0) == pytest.approx([0.5, 5.0, 10.0])
    assert three_epsilons(learned, 0.1) == pytest.approx([0.1, 1.0])


def test_labels_of_a_bundled_table_take_several_times_the_rows():
    data = load_dataset("nursery")
    split, grid = split_table(data.domain, data.X, data.y), [0.05, 0.1, 0.2, 0.5, 1.0, 2.0]
    forest = MajorityLabelForestClassifier(n_estimators=10)
    learned = Learning.of(split, grid, [list(accuracy_on_parts(forest, data.domain, split, grid, n)) for n in range(3)])
    made_up = exchange(learned, 1.0, 0.1)
    assert made_up is not None and (made_up.times is None or 3 < made_up.times < 100)


def test_an_epsilon_that_was_not_simulated_is_refused():
    """Beyond the grid, interpolation would repeat the figure at its end."""
    learned = surface(lambda n, eps: 0.9 - 0.0 * n * eps)
    for epsilon in (float(learned.epsilons[0]) / 2, 2 * float(learned.epsilons[-1])):
        for estimate in (learned.by_rows, learned.error_by_rows, lambda e: beyond(learned, e)):
            with pytest.raises(ValueError, match="was not simulated; choose one from 0.1 to 10"):
                estimate(epsilon)
