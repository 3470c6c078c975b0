"""Rates of groups of held-out rows: cases computed by hand, coverage of intervals, and columns with unusual cells."""

import math

import numpy as np
import pandas as pd
import pytest

from dpforest import MajorityLabelForestClassifier, load_dataset
from dpforest.evaluation.group_rates import (
    by_group,
    difference,
    loses_most,
    losses,
    of_releases,
    rates,
    worst_accuracy,
)
from dpforest.evaluation.groups import MIN_PERSONS, OTHERS, Groups, groups_by_text, groups_of
from dpforest.simulation.pieces import packed, unpacked
from dpforest.simulation.splits import split_table
from dpforest.simulation.sweep import simulation_for
from dpforest.tables.features import Feature


def documented(name: str, kind: str, **domain) -> Feature:
    return Feature(name, kind, source="documented", source_note="made up", **domain)


def numbers(low: float, high: float, **domain) -> Feature:
    return documented("x", "numeric", low=low, high=high, **domain)


def two(*index: int) -> Groups:
    """Return two groups of rows. Each row belongs to a different person."""
    return Groups(("a", "b"), np.array(index), np.arange(len(index)))


def test_rates_of_two_classes_are_those_of_the_confusion_matrix():
    y = np.array([0, 0, 0, 1, 1, 0, 1, 1])
    predicted = np.array([0, 1, 1, 1, 0, 0, 1, 1])
    groups, right = two(0, 0, 0, 0, 0, 1, 1, 1), (predicted == y)[None]
    of = {name: by_group(right, rate, groups)["rate"].tolist() for name, rate in rates(y, ["no", "yes"], 1).items()}
    assert of["accuracy"] == pytest.approx([2 / 5, 1])
    assert of["false_positive_rate"] == pytest.approx([2 / 3, 0])
    assert of["false_negative_rate"] == pytest.approx([1 / 2, 0])
    assert of["selection_rate"] == pytest.approx([3 / 5, 2 / 3])


def test_rates_of_more_classes_are_errors_of_each_class():
    y, predicted = np.array([0, 0, 1, 2, 2, 2]), np.array([0, 1, 1, 0, 1, 2])
    groups, right = two(0, 0, 0, 1, 1, 1), (predicted == y)[None]
    of = {name: by_group(right, rate, groups) for name, rate in rates(y, ["x", "y", "z"], 2).items()}
    assert list(of) == ["accuracy", "error of x", "error of y", "error of z"]
    np.testing.assert_allclose(of["error of x"]["rate"], [1 / 2, np.nan])
    np.testing.assert_allclose(of["error of z"]["rate"], [np.nan, 2 / 3])
    assert of["error of z"]["rows"].tolist() == [0, 3]


def test_many_releases_from_bits_have_the_rates_of_single_rows():
    rng = np.random.default_rng(0)
    n = 203
    right, y = rng.random((6, n)) < 0.7, rng.integers(0, 2, n)
    groups = Groups(("a", "b", "c"), rng.integers(0, 3, n), np.arange(n))
    bits = [packed(row) for row in right]
    assert (unpacked(bits, n) == right).all()
    for rate in rates(y, [0, 1], 1).values():
        each = np.stack([by_group(row[None], rate, groups)["rate"] for row in right])
        np.testing.assert_allclose(of_releases(bits, rate, groups), each)
    accuracy = np.array([[row[groups.index == g].mean() for g in range(3)] for row in right])
    assert worst_accuracy(bits, groups) == pytest.approx(accuracy.min(axis=1))


@pytest.mark.parametrize(("accuracy", "spread"), [(0.7, 0.0), (0.97, 0.0), (0.7, 0.05)])
def test_intervals_cover_the_mean_of_all_releases_and_persons(accuracy, spread):
    """At most 40 of 400 tables have an interval that misses the true mean.

    If a table has such an interval with probability 5 %, the test fails by chance with P(Bin(400, 0.05) > 40) < 1e-4.
    """
    rng, missed, n = np.random.default_rng(1), 0, 120
    groups, every = two(*[0] * n, *[1] * n), np.zeros(2 * n, int)
    rate = rates(every, [0, 1], 1)["accuracy"]
    for _ in range(400):
        of_release = np.clip(accuracy + spread * rng.standard_normal((20, 1)), 0, 1)
        # Half of the random variation of a row is the same in all releases. Each release draws the other half anew.
        luck = (rng.random(2 * n) + rng.random((20, 2 * n))) / 2
        cut = np.where(of_release <= 0.5, np.sqrt(of_release / 2), 1 - np.sqrt((1 - of_release) / 2))
        table = by_group(luck < cut, rate, groups)
        missed += bool(((table["low"] > accuracy) | (table["high"] < accuracy)).any())
    assert missed <= 40


def test_rows_of_one_person_count_as_one():
    """Sixty persons with eight equal rows each have the same interval as sixty rows."""
    rng = np.random.default_rng(2)
    right = rng.random((8, 60)) < 0.8
    rate = rates(np.zeros(60, int), [0, 1], 1)["accuracy"]
    once = by_group(right, rate, Groups(("a",), np.zeros(60, int), np.arange(60)))
    persons = np.repeat(np.arange(60), 8)
    rate = rates(np.zeros(480, int), [0, 1], 1)["accuracy"]
    often = by_group(np.repeat(right, 8, axis=1), rate, Groups(("a",), np.zeros(480, int), persons))
    assert often["persons"].tolist() == [60] and often["rows"].tolist() == [480]
    np.testing.assert_allclose(often[["rate", "low", "high"]], once[["rate", "low", "high"]])


def test_the_gap_is_between_large_groups_only():
    table = pd.DataFrame(
        {"persons": [60, 80, 9], "rate": [0.9, 0.7, 0.1], "low": [0.8, 0.6, 0.0], "high": [0.95, 0.75, 0.6]}
    )
    assert difference(table) == pytest.approx((0.2, 0.05, 0.35))
    assert all(math.isnan(value) for value in difference(table.iloc[[0, 2]]))


def test_the_group_that_loses_most_is_named_only_if_luck_does_not_explain_it():
    groups, rng = two(*[0] * 200, *[1] * 200), np.random.default_rng(3)
    before = np.ones((10, 400), bool)
    lost = before.copy()
    lost[:, 200:260] = False
    table = losses(before, lost, groups)
    assert table["loss"].tolist() == [0, 0.3]
    assert loses_most(table)["group"] == "b"
    lucky = before & (rng.random((10, 400)) > 0.001)
    assert loses_most(losses(before, lucky, groups)) is None
    assert loses_most(losses(before[:2], lost[:2], groups)) is None  # two releases are too few to know their spread
    small = Groups(("a", "b"), np.array([0] * 351 + [1] * 49), np.arange(400))
    only_small = before.copy()
    only_small[:, 351:] = False
    assert loses_most(losses(before, only_small, small)) is None


def test_the_spread_of_releases_widens_the_interval_of_a_loss():
    groups, before = two(*[0] * 100, *[1] * 100), np.ones((6, 200), bool)
    even, uneven = before.copy(), before.copy()
    even[:, :20] = False
    uneven[:3, :40] = False
    same, wide = (losses(before, after, groups) for after in (even, uneven))
    assert same["loss"].tolist() == wide["loss"].tolist()
    assert (wide["high"] - wide["low"])[0] > 1.5 * (same["high"] - same["low"])[0]


# ---------------------------------------------------------------- columns


@pytest.mark.parametrize(
    ("feature", "names"),
    [
        (numbers(17, 99, integer=True), ("under 20", "20 to 29", "30 to 49", "50 to 69", "70 or more")),
        (numbers(0, 1, integer=True), ("under 1", "1 or more")),
        (numbers(1, 4, integer=True), ("under 2", "2", "3", "4 or more")),
        (numbers(0, 0.5), None),
        (numbers(1e8, 1e8 + 1), None),
        (numbers(-1e300, 1e300), None),
        (numbers(1900, 2030, integer=True, missing="category"), None),
    ],
)
def test_bins_of_a_public_range_hold_their_values(feature, names):
    """Each value of a fine grid lies in a bin whose name covers it, and rows do not move the bins."""
    values = np.linspace(feature.low, feature.high, 2_000)
    values = np.unique(np.round(values)) if feature.integer else values
    values = np.repeat(values, max(1, 60_000 // len(values)))
    groups = groups_of(feature, np.array([feature.code(value) for value in values]))
    shown = [name for name in groups.names if name != OTHERS]
    assert names is None or tuple(shown) == names
    assert 2 <= len(shown) <= 5
    assert (np.diff(groups.index[groups.index < len(shown)]) >= 0).all()
    if feature.integer and feature.low > 1:
        for name, value in zip(np.array(groups.names)[groups.index], values, strict=True):
            low, _, high = name.replace(",", "").partition(" to ")
            if high:
                assert float(low) <= value <= float(high)


def test_missing_cells_are_a_group():
    age = numbers(0, 100, integer=True, missing="category")
    codes = np.array([0] * 60 + [age.code(10)] * 60 + [age.code(90)] * 3)
    assert groups_of(age, codes).names[-2:] == ("missing", OTHERS)
    sex = documented("sex", "categorical", categories=("f", "m"), missing="category")
    assert groups_of(sex, np.array([0] * 60 + [2] * 70)).names == ("f", "(missing or other)")


def test_small_groups_are_pooled_by_persons():
    city = documented("city", "categorical", categories=("x", "y", "z"))
    codes = np.array([0] * 100 + [1] * 100 + [2])
    groups = groups_of(city, codes)
    assert groups.names == ("x", "y", OTHERS) and groups.n_persons.tolist() == [100, 100, 1]
    persons = np.concatenate([np.arange(100), np.arange(100) // 4, [200]])
    pooled = groups_of(city, codes, persons)
    assert pooled.names == ("x", OTHERS) and pooled.n_persons.tolist() == [100, 26]
    assert groups_of(city, np.array([0] * 9)).names == (OTHERS,)
    assert groups_of(city, np.zeros(0, np.uint16)).names == ()


def test_a_column_without_a_domain_is_grouped_by_its_texts():
    cells = ["*a*"] * MIN_PERSONS + [1.0, 1] * MIN_PERSONS + [None, float("nan"), pd.NA] * MIN_PERSONS + ["rare"]
    groups = groups_by_text(cells)
    assert set(groups.names) == {"*a*", "1", "missing", OTHERS}
    assert groups.n_persons.tolist()[-1] == 1


def test_simulated_releases_keep_which_rows_are_right():
    """A simulated release stores one bit for each row, "predicted right". The bits give the accuracy of the release."""
    for name in ("breast_wisconsin", "zoo"):
        data = load_dataset(name)
        split = split_table(data.domain, data.X, data.y)
        simulation = simulation_for(MajorityLabelForestClassifier(n_estimators=9), data.domain, split)
        for cells in ([(None, None)], [(2, 3), (4, 9)]):
            for row in (row for piece in simulation.pieces([0.1, 5.0, math.inf], cells) for row in piece):
                (right,) = unpacked([row["right"]], len(split.y_test))
                assert right.mean() == pytest.approx(row["accuracy"], abs=1e-12)
                by_class = [right[split.y_test == k].mean() for k in np.unique(split.y_test)]
                assert np.mean(by_class) == pytest.approx(row["balanced_accuracy"], abs=1e-12)
