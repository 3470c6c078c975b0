"""Learning curves, and the number of rows that a smaller ε needs, on known laws of accuracy and on bundled tables."""

import math

import numpy as np
import pytest

from dpforest import (
    FriedmanSchusterClassifier,
    MajorityLabelForestClassifier,
    RandomDecisionForestClassifier,
    load_dataset,
)
from dpforest.evaluation.learning_curve import (
    MOST_TIMES,
    SHARES,
    Learning,
    accuracy_on_parts,
    beyond,
    rows_needed,
    rule_error,
)
from dpforest.simulation.splits import split_table
from dpforest.simulation.sweep import Task, run_task

ROWS = np.array([500, 1_000, 2_000, 4_000, 8_000])
EPSILONS = np.geomspace(0.1, 12.8, 29)


def surface(accuracy, *, noise: float = 0.0, repeats: int = 6, seed: int = 0) -> Learning:
    """Return repeated measurements of a known accuracy(rows, ε), with errors of standard deviation `noise`."""
    true = accuracy(ROWS[:, None].astype(float), EPSILONS[None, :])
    chance = noise * np.random.default_rng(seed).standard_normal((repeats, *true.shape))
    ceiling = np.tile(accuracy(ROWS.astype(float), 1e9), (repeats, 1))
    return Learning(ROWS, EPSILONS, true + chance, ceiling)


def power(a: float, b: float, c: float):
    """Return the accuracy for an error of a + b (ε n)^-c, which depends on rows and ε only through their product."""
    return lambda n, eps: 1 - a - b * (eps * n) ** -c


@pytest.mark.parametrize("a, b, c", [(0.1, 8.0, 0.5), (0.2, 60.0, 0.8), (0.0, 2.0, 0.3)])
def test_a_known_power_law_is_recovered_within_the_table_and_beyond(a, b, c):
    learned, pmf = surface(power(a, b, c)), power(a, b, c)
    for epsilon in (0.4, 1.0, 1.6):
        for times in (0.1, 0.3, 0.9, 1.5, 3.0, 7.0):
            expected = float(pmf(8_000 * times, epsilon))
            needed = rows_needed(learned, epsilon, expected)
            assert needed.how == ("observed" if times <= 1 else "extrapolated")
            # The tolerance covers linear interpolation: points differ by a factor of 2 in rows, or of 2^(1/4) in ε.
            assert needed.times == pytest.approx(times, rel=0.06 if times <= 1 else 0.02)
            assert needed.rows == pytest.approx(8_000 * needed.times)
    assert rule_error(learned, 1.0) < 0.002


def test_half_of_epsilon_takes_twice_the_rows_if_noise_decides():
    learned = surface(power(0.1, 8.0, 0.5))
    accuracy = float(learned.by_rows(1.0)[-1])
    assert rows_needed(learned, 0.5, accuracy).times == pytest.approx(2.0, rel=0.01)
    assert rows_needed(learned, 0.2, accuracy).times == pytest.approx(5.0, rel=0.01)
    assert rows_needed(learned, 1.0, accuracy).times == pytest.approx(1.0)


def test_unknown_numbers_of_rows_are_not_reported():
    learned, pmf = surface(power(0.1, 8.0, 0.5)), power(0.1, 8.0, 0.5)
    assert rows_needed(learned, 0.5, float(pmf(80_000, 0.5))).how == "beyond"
    assert rows_needed(learned, 0.5, 0.95).how == "above"  # the forest has an accuracy of 90 % without noise
    assert rows_needed(learned, 6.4, float(pmf(40_000, 6.4))).how == "unclear"  # larger ε were not simulated
    for how in (rows_needed(learned, 0.5, 0.95), rows_needed(learned, 0.5, float(pmf(80_000, 0.5)))):
        assert how.rows is None and how.times is None
    first = rows_needed(learned, 1.0, float(pmf(100, 1.0)))
    assert first.how == "observed" and first.at_most and first.rows == 500
    with pytest.raises(ValueError, match="was not simulated; choose one from 0.1 to 12.8"):
        rows_needed(learned, 0.05, 0.8)


def test_without_effective_noise_the_interval_is_wide():
    def pmf(n, eps):
        return 0.95 - 3.0 * n**-0.5 + 0.0 * eps

    learned = surface(pmf)
    assert rule_error(learned, 0.5) == pytest.approx(3 * (4_000**-0.5 - 8_000**-0.5), rel=1e-6)
    needed = rows_needed(learned, 0.5, float(pmf(12_000.0, 1)))
    # More rows would reach this accuracy. But their number is estimated from larger ε, none of which reaches it.
    assert needed.how != "extrapolated" and needed.rows is None


def test_an_irregular_curve_gives_no_number():
    learned = surface(lambda n, eps: 0.3 + 0.5 / (1 + (6_000 / n) ** 8) * (eps / (eps + 0.5)))
    assert rule_error(learned, 0.2) > 0.04
    assert rows_needed(learned, 0.2, float(learned.by_rows(0.5)[-1])).how == "unclear"


@pytest.mark.slow
def test_intervals_hold_the_truth():
    pmf, inside, n = power(0.15, 6.0, 0.5), 0, 60
    for seed in range(n):
        needed = rows_needed(surface(pmf, noise=0.01, seed=seed), 0.5, float(pmf(8_000 * 2.5, 0.5)))
        if needed.how == "extrapolated":
            assert needed.low is not None and needed.low <= needed.rows <= (needed.high or math.inf)
            inside += needed.low <= 20_000 <= (needed.high or math.inf)
    # The nominal coverage is 80 %. Intervals cover more, because they count the random error of the repeats twice.
    assert inside > 0.8 * n


def test_extrapolation_starts_at_the_table_and_ends_where_nothing_is_known():
    learned = surface(power(0.1, 8.0, 0.5), noise=0.01)
    more = beyond(learned, 0.5)
    assert more.rows[0] == 8_000 and more.rows[-1] == pytest.approx(MOST_TIMES * 8_000)
    assert more.accuracy[0] == pytest.approx(learned.by_rows(0.5)[-1])
    assert (np.diff(more.accuracy) >= 0).all() and (np.diff(more.error) > -0.005).all() and more.error[-1] > 0
    assert beyond(learned, 6.4).rows[-1] == pytest.approx(2 * 8_000)
    assert beyond(learned, 12.8).rows.tolist() == [8_000]


def test_means_rise_with_rows_and_epsilon():
    mean = surface(power(0.1, 8.0, 0.5), noise=0.05).mean
    assert (np.diff(mean, axis=0) > -5e-3).all() and (np.diff(mean, axis=1) > -1e-9).all()
    exact = surface(power(0.1, 8.0, 0.5))
    np.testing.assert_allclose(exact.mean, exact.accuracy[0])


# ---------------------------------------------------------------- simulated


def learned_from(forest, name, epsilons, *, n_repeats, seed=0):
    data = load_dataset(name)
    split = split_table(data.domain, data.X, data.y)
    repeats = [list(accuracy_on_parts(forest, data.domain, split, epsilons, n, seed)) for n in range(n_repeats)]
    return Learning.of(split, epsilons, repeats), data, split


@pytest.mark.parametrize("forest", [MajorityLabelForestClassifier(n_estimators=5), FriedmanSchusterClassifier()])
def test_all_rows_give_the_figures_of_a_sweep_and_seeds_repeat_them(forest):
    learned, data, split = learned_from(forest, "car", [0.1, 1.0], n_repeats=2, seed=7)
    n = len(split.y_train)
    assert learned.rows.tolist() == sorted(round(s * n) for s in SHARES) and learned.epsilons.tolist() == [0.1, 1.0]
    assert learned.accuracy.shape == (2, 5, 2) and learned.ceiling.shape == (2, 5)
    for repeat in range(2):
        cells = run_task(
            forest,
            data.domain,
            split,
            Task("", repeat, 0),
            [0.1, 1.0],
            [(None, None)],
            7 + repeat,
            {},
            n_rows=len(data.y),
        )
        np.testing.assert_allclose(
            [*learned.accuracy[repeat, -1], learned.ceiling[repeat, -1]], cells.sort_values("epsilon").accuracy
        )
    again = learned_from(forest, "car", [0.1, 1.0], n_repeats=2, seed=7)[0]
    np.testing.assert_array_equal(again.accuracy, learned.accuracy)
    assert not np.array_equal(learned.accuracy[0], learned.accuracy[1])


def test_a_tiny_table_has_fewer_parts_and_its_answers_state_this():
    learned, _, _ = learned_from(MajorityLabelForestClassifier(n_estimators=3), "zoo", [0.5, 1.0, 2.0], n_repeats=2)
    assert learned.rows[0] >= 30 and learned.rows[-1] == 70
    assert rows_needed(learned, 0.5, 0.999).how in ("above", "unclear", "beyond")


@pytest.mark.parametrize(
    "name, forest, most",
    [
        ("nursery", RandomDecisionForestClassifier(), 0.03),
        ("nursery", FriedmanSchusterClassifier(max_depth=5), 0.03),
        ("mushroom", RandomDecisionForestClassifier(), 0.03),
    ],
)
def test_a_quarter_of_a_table_predicts_the_accuracy_of_the_whole(name, forest, most):
    grid = [0.1, 0.2, 0.4, 0.8, 1.6]
    learned = learned_from(forest, name, grid, n_repeats=6)[0]
    quarter = Learning(learned.rows[:3], learned.epsilons, learned.accuracy[:, :3], learned.ceiling[:, :3])
    for i, epsilon in enumerate(grid[:3]):
        more, true = beyond(quarter, epsilon), learned.mean[-1, i]
        expected, error = (np.interp(learned.rows[-1], more.rows, values) for values in (more.accuracy, more.error))
        assert abs(expected - true) < most, (epsilon, expected, true)
        assert abs(expected - true) < error + 0.01
        # The extrapolation is closer than the accuracy on a quarter of the rows.
        assert abs(learned.mean[2, i] - true) > abs(expected - true)
