"""Rounder bounds are round numbers, and contain the range of the rows. Bounds that equal a cell are reported."""

import math
from decimal import Decimal

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from dpforest.tables.domain import Domain, Feature
from dpforest.tables.round_bounds import FROM_ROWS, exact_bounds, round_bounds, with_rounder

FINITE = st.floats(-1e12, 1e12, allow_nan=False, allow_subnormal=False)
WHOLE = st.integers(-(10**12), 10**12).map(float)
NAMES = st.sampled_from(["", "size", "age", "word_freq_make", "Anteil %"])
EXACTLY = settings(derandomize=True, deadline=None, max_examples=300)


@st.composite
def ranges(draw) -> tuple[float, float, bool]:
    whole = draw(st.booleans())
    ends = sorted((draw(WHOLE if whole else FINITE), draw(WHOLE if whole else FINITE)))
    return ends[0], ends[1], whole


def natural(low: float, high: float, name: str) -> set[float]:
    """Return ends of a range that a person would choose without seeing the rows."""
    percent = "freq" in name or "%" in name
    return {0.0} | ({1.0} if low >= 0 else set()) | ({100.0} if low >= 0 and percent else set())


@EXACTLY
@given(ranges(), NAMES)
@example((0.1, 0.3, False), "")
@example((1e15, 1e15 + 1, False), "")
@example((2.0**53, 2.0**53 + 2, True), "")
def test_rounder_bounds_contain_the_range_and_are_not_its_ends(span, name):
    low, high, whole = span
    below, above = round_bounds(low, high, whole=whole, name=name)
    assert below < above and below <= low and above >= high
    assert below < low or low == 0
    assert above > high or high in natural(low, high, name) - {0.0}
    if whole:
        assert below == math.floor(below) and above == math.floor(above)


@EXACTLY
@given(ranges())
def test_rounder_bounds_are_round_and_leave_a_margin(span):
    low, high, whole = span
    assume(high - low > 1e-9 * max(abs(low), abs(high), 1e-200))  # otherwise too few floats lie near the range
    for bound, end, sign in zip(round_bounds(low, high, whole=whole), (low, high), (-1, 1), strict=True):
        if bound in (0, 1, 100):
            continue
        width = Decimal(repr(high)) - Decimal(repr(low))
        assert sign * (Decimal(repr(bound)) - Decimal(repr(end))) >= width / 10 * (1 - Decimal("1e-6"))
        written = Decimal(repr(bound)).normalize()
        assert Decimal(1).scaleb(written.as_tuple().exponent) >= width / 100, "more digits than the range is worth"


@EXACTLY
@given(st.floats(1e-6, 1e9), st.floats(1e-6, 1e9))
@example(0.5, 0.51)
@example(50.0, 50.1)
@example(99.0, 101.0)
def test_a_wider_range_has_no_narrower_bounds(a, b):
    narrow, wide = sorted((a, b))
    assert round_bounds(0, narrow)[1] <= round_bounds(0, wide)[1]
    assert round_bounds(-narrow, 3)[0] >= round_bounds(-wide, 3)[0]


@EXACTLY
@given(ranges())
def test_a_mirrored_range_has_mirrored_bounds(span):
    low, high, whole = span
    assume(low < 0 < high)
    below, above = round_bounds(low, high, whole=whole)
    assert round_bounds(-high, -low, whole=whole) == (-above, -below)


@pytest.mark.parametrize(
    ("low", "high", "whole", "name", "bounds"),
    [
        (0, 4.54, False, "word_freq_make", (0, 100)),
        (0, 0.4, False, "share of men", (0, 1)),
        (0, 100, False, "Anteil (%)", (0, 100)),
        (0, 104, False, "percent", (0, 150)),
        (0.02, 0.97, False, "x", (0, 1)),
        (0, 1, True, "has_dog", (0, 1)),
        (3, 88, True, "points", (0, 100)),
        (0, 100, True, "points", (0, 120)),
        (18, 94, True, "age", (0, 120)),
        (18, 94, True, "Alter", (0, 120)),
        (18, 130, True, "age", (0, 150)),
        (18, 94, True, "mileage", (0, 100)),
        (1950, 2005, True, "year", (1940, 2020)),
        (150.2, 199.3, False, "height", (140, 210)),
        (-3.2, 8.7, False, "t", (-5, 10)),
        (-40, 0, False, "t", (-50, 10)),
        (-40, -3, False, "t", (-50, 0)),
        (1, 15841, True, "capital_run_length_total", (0, 20_000)),
        (7, 7, True, "same", (6, 8)),
    ],
)
def test_rounder_bounds_match_examples(low, high, whole, name, bounds):
    assert round_bounds(low, high, whole=whole, name=name) == bounds


def test_rounder_bounds_stay_finite_at_the_ends_of_the_floats():
    low, high = round_bounds(1e308, 1.7e308)
    assert low < 1e308 and high == 1.7e308  # beyond this bound there is no rounder float


TABLE = pd.DataFrame({"a": [0.0, 3.5, np.nan], "b": [2.0, 7.0, 4.0], "c": [0.0, 1.0, 1.0], "d": [1.0, 9.0, 2.0]})


def feature(name, low, high, **more):
    return Feature(name, "numeric", low, high, **more)


def test_only_bounds_that_equal_a_cell_are_reported():
    hints = exact_bounds(
        Domain(
            (
                feature("a", 0, 3.5),
                feature("b", 0, 7, source="asserted", source_note="typed by somebody"),
                feature("c", 0, 1),
                feature("d", 1, 9, source="documented", source_note="the manual"),
            )
        ),
        TABLE,
    )
    assert [(hint.name, hint.at_low, hint.at_high, hint.rounder) for hint in hints] == [
        ("a", False, True, (0, 4)),
        ("b", False, True, (0, 8)),
    ]
    assert exact_bounds(Domain((feature("a", 0, 4), feature("b", 1, 8))), TABLE) == []
    assert exact_bounds(Domain((feature("a", 0, 1),)), pd.DataFrame({"a": [np.nan]})) == []


def test_a_bound_that_equals_no_cell_stays():
    (hint,) = exact_bounds(Domain((feature("b", 2, 50),)), TABLE)
    assert (hint.at_low, hint.at_high, hint.rounder[1]) == (True, False, 50)
    assert hint.rounder[0] < 2


def test_rounder_bounds_count_as_read_from_the_data():
    """Rounder bounds count as read from the data, because they follow from rows. All other sources stay."""
    known = feature("b", 2, 7, source="asserted", source_note="typed by somebody")
    taken = with_rounder(known, (0, 10))
    assert (taken.low, taken.high) == (0, 10)
    assert taken.leaks() == [f"The bounds of 'b' were read from the data: {FROM_ROWS}."]
    assert (taken.type_source, taken.missing_source) == ("asserted", "asserted")


@EXACTLY
@given(ranges(), NAMES)
def test_rounded_bounds_equal_no_cell(span, name):
    low, high, whole = span
    assume(low < high and math.isfinite(high - low))
    table = pd.DataFrame({name or "x": [low, high]})
    domain = Domain((feature(name or "x", low, high, integer=whole),))
    for hint in exact_bounds(domain, table):
        domain = Domain((with_rounder(domain.features[0], hint.rounder),))
    assert exact_bounds(domain, table) == []
