"""Tests that printed privacy figures are never below the exact values."""

import math
import re
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dpforest
from dpforest.privacy.rationals import float_up, text_up

exactly = settings(derandomize=True, deadline=None, max_examples=500)
FRACTIONS = st.builds(
    lambda x, power: x * Fraction(10) ** power, st.fractions(Fraction(1, 10**6), 10**6), st.integers(-30, 30)
)


@exactly
@given(FRACTIONS, st.integers(1, 40))
def test_a_fraction_as_text_is_rounded_up_by_less_than_its_last_digit(x, digits):
    shown = Fraction(text_up(x, digits))
    assert x <= shown < x * (1 + Fraction(10) / 10**digits)
    assert text_up(shown, digits) == text_up(x, digits)


@exactly
@given(st.floats(1e-9, 1e9), st.integers(1, 20))
def test_a_float_as_text_is_not_below_its_shortest_decimal(x, digits):
    assert Fraction(text_up(x, digits)) >= Fraction(repr(x))
    assert text_up(np.float64(x), digits) == text_up(x, digits)


@exactly
@given(st.integers(1, 10**6), st.integers(0, 8))
def test_a_typed_number_is_shown_as_typed(n, places):
    """A number of up to six digits is printed as typed, whether it is a float, text or a fraction."""
    typed = Fraction(n, 10**places)
    if n < 10**6 and typed >= 10**-4:
        assert Fraction(text_up(float(typed))) == typed == Fraction(text_up(typed))
        assert text_up(float(typed)) == f"{float(typed):.6g}"


@exactly
@given(FRACTIONS)
def test_the_next_float_is_the_smallest_that_is_not_below(x):
    up = float_up(x)
    assert Fraction(up) >= x > Fraction(math.nextafter(up, -math.inf))


def test_extreme_and_invalid_numbers_are_rounded_up_or_refused():
    assert text_up(math.inf) == text_up(None) == "∞" and text_up(0) == text_up(0.0) == "0"
    assert text_up(np.int64(3)) == "3" and text_up(Fraction(10**9 + 1)) == "1.00001e+09"
    assert text_up(0.1234564) == "0.123457" and text_up(999_999.5) == "1e+06" and text_up(99_999.95) == "100000"
    assert text_up(1e-5) == "1e-05" and text_up(1.00000001e-4) == "0.000100001"
    assert float_up(Fraction(10**400)) == math.inf
    for bad in (-1, -1e-9, math.nan):
        with pytest.raises(ValueError):
            text_up(bad)


def test_no_epsilon_in_the_engine_is_formatted_by_rounding_to_the_nearest():
    """The engine formats each ε and δ by `text_up`, which rounds up, not to the nearest number.

    Ticks of charts and the error probabilities of the audit are exempt.
    """
    home = Path(dpforest.__file__).parent
    rounded = re.compile(r"""[εδ] = \{[^}]*:\.?\d*[gf]\}|f"\{[^}]*(epsilon|spent)[^}]*:\.?\d*[gf]\}""")
    rounded_epsilons = [
        f"{file.relative_to(home)}: {match[0]}"
        for file in sorted(home.rglob("*.py"))
        if "audit" not in file.parts
        for match in rounded.finditer(file.read_text(encoding="utf-8"))
    ]
    assert rounded_epsilons == []
