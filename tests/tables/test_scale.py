"""The public scale of numeric attributes: stored codes, order, and the meaning of a threshold."""

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from dpforest import DomainError, RandomDecisionForestClassifier, load_dataset
from dpforest.limits import N_CODES
from dpforest.tables.domain import Domain, Feature
from dpforest.tables.scale import SCALES, position, scale_of

PUBLIC = {"source": "documented", "source_note": "a rule"}
FINITE = st.floats(-1e300, 1e300)


def feature(low, high, **settings) -> Feature:
    return Feature("x", "numeric", low, high, **PUBLIC, **settings)


def codes(feature: Feature, values) -> list[int]:
    return Domain((feature,)).encode(np.array(values, float)[:, None]).ravel().tolist()


@pytest.mark.parametrize(
    ("low", "high", "integer", "values", "expected"),
    [
        (0, 100, False, [0, 0.01, 0.1, 1, 10, 50, 100], [0, 10905, 16457, 22085, 30474, 47513, 65535]),
        (0, 90, True, [0, 1, 2, 17, 45, 90], [0, 6007, 9674, 27543, 44507, 65535]),
        (1, 10, True, [1, 2, 5, 10], [0, 14563, 38456, 65535]),
        (-50, 200, False, [-50, -1, 0, 1, 50, 200], [0, 11354, 22075, 32795, 44150, 65535]),
        (0, 10**6, False, [10, 1000], [5629, 16457]),
    ],
)
def test_golden_codes(low, high, integer, values, expected):
    ranged = feature(low, high, integer=integer)
    assert codes(ranged, values) == expected == [ranged.code(v) for v in values]


@st.composite
def ranges(draw):
    low, high = sorted((draw(FINITE | st.floats(-100, 100)), draw(FINITE | st.floats(-100, 100))))
    assume(low < high and math.isfinite(high - low))
    settings = {"integer": draw(st.booleans()), "scale": draw(st.sampled_from(SCALES))}
    return feature(low, high, missing=draw(st.sampled_from(["category", "refuse"])), **settings)


@st.composite
def values_in(draw, ranged: Feature):
    """Draw a value between the bounds, often close to one of them or to 0."""
    share = draw(st.floats(0, 1)) ** draw(st.sampled_from([1, 8, 60]))
    at = draw(st.sampled_from([ranged.low, ranged.high, 0.0]))
    other = ranged.high if at != ranged.high else ranged.low
    return min(max(at + share * (other - at), ranged.low), ranged.high)


@given(st.data(), ranges())
def test_kernel_and_formula_agree_rise_and_have_an_inverse(data, ranged):
    """Kernel and formula give the same code. Codes rise with x, and x lies between the thresholds around its code."""
    values = sorted([ranged.low, ranged.high, *(data.draw(values_in(ranged)) for _ in range(5))])
    coded = codes(ranged, values)
    assert coded == [ranged.code(v) for v in values] == sorted(coded)
    assert (coded[0], coded[-1]) == (ranged.first_code, N_CODES - 1)
    for value, code in zip(values, coded, strict=True):
        if ranged.scale == "linear":
            continue  # thresholds of this scale are rounded for display
        assert ranged.threshold_value(code - 1) <= value or code == ranged.first_code
        assert code == N_CODES - 1 or value < ranged.threshold_value(code)


@given(ranges())
def test_positions_reach_from_0_to_1(ranged):
    numbers = scale_of(ranged.low, ranged.high, ranged.integer, ranged.scale)
    inside = [position(numbers, ranged.low + (ranged.high - ranged.low) * k / 64) for k in range(64)]
    inside.append(position(numbers, ranged.high))
    assert inside[0] == 0 and inside[-1] == 1 and inside == sorted(inside)


def test_both_scales_have_half_of_the_codes_each():
    """Any interval has at least half of the codes that it has on the linear scale."""
    for low, high in ((0, 1e6), (-3, 4), (5, 6)):
        linear, auto = feature(low, high, scale="linear"), feature(low, high)
        edges = np.linspace(low, high, 101)
        share = np.diff(codes(auto, edges)) / np.diff(codes(linear, edges))
        assert share.min() > 0.49


def test_a_range_a_hundred_times_too_wide_keeps_most_of_its_codes_for_the_rows():
    narrow = np.linspace(0, 1, 1_001)[1:]
    wide = codes(feature(0, 100), narrow)
    assert len(set(wide)) > 990 and max(wide) - min(wide) > N_CODES / 4
    assert max(codes(feature(0, 100, scale="linear"), narrow)) < N_CODES / 99


def test_as_published_reads_on_the_linear_scale():
    data = load_dataset("pendigits")
    for mode, scale in (("certified", "auto"), ("as_published", "linear")):
        forest = RandomDecisionForestClassifier(mode=mode, domain=data.domain, random_state=0).fit(data.X, data.y)
        assert (
            {f.scale for f in forest.domain_.features} == {f.scale for f in forest.forest_.domain.features} == {scale}
        )
        assert forest.domain == data.domain


def test_a_scale_that_is_not_known_is_refused():
    with pytest.raises(DomainError, match="scale='octaves' of 'x' is not known; choose one of auto, linear, log"):
        feature(0, 1, scale="octaves")


def test_a_schema_without_a_scale_is_of_old_and_linear():
    linear_feature = feature(0, 1)
    entry = linear_feature.to_dict()
    assert Feature.from_dict(entry) == linear_feature
    del entry["scale"]
    assert Feature.from_dict(entry) == replace(linear_feature, scale="linear")
    city = Feature("c", "categorical", categories=("a", "b"), **PUBLIC)
    old = {k: v for k, v in city.to_dict().items() if k != "scale"}
    assert Feature.from_dict(old) == city
