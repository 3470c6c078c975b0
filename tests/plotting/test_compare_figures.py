"""Figures of many forests: dashed lines, marks and hover texts."""

import numpy as np
import pytest

from dpforest.evaluation.smallest_epsilon import Answer, Reach, check_share
from dpforest.plotting.choose import epsilon_by_forest, reach_curve
from dpforest.plotting.compare import (
    COLORS,
    MeasureScale,
    Series,
    SettingCurves,
    comparison,
    epsilon_depth_map,
    setting_panels,
)
from dpforest.plotting.style import NON_PRIVATE, NOT_HELD
from ui.forest.forests import FORESTS

EPSILONS = np.array([0.01, 0.1, 1.0, 10.0])
SCALE = MeasureScale("accuracy", True, 0.5, 0.9, "the floor", "the ceiling")


def series(name: str, place: int, published: bool = False) -> Series:
    mean = np.linspace(0.5, 0.8, 4)
    return Series(
        name, place, published, EPSILONS, mean, mean - 0.02, mean + 0.02, [f"{name} at {e}" for e in EPSILONS]
    )


def named(figure, name):
    (trace,) = [t for t in figure.data if t.name == name]
    return trace


def test_no_forest_has_a_color_with_a_meaning():
    assert len(set(COLORS)) == len(COLORS) >= len(FORESTS) and not {NON_PRIVATE, NOT_HELD} & set(COLORS)


def test_claims_are_dashed_in_the_color_of_their_forest():
    figure = comparison([series("a", 0), series("a, as published", 0, True), series("b", 1)], 1.0, SCALE)
    kept, claimed = named(figure, "a"), named(figure, "a, as published")
    assert (kept.line.dash, claimed.line.dash) == ("solid", "dash") and kept.line.color == claimed.line.color
    assert named(figure, "b").line.color != kept.line.color and named(figure, "b").marker.symbol != kept.marker.symbol
    assert list(kept.text) == [f"a at {e}" for e in EPSILONS]
    assert named(figure, "the floor").y[0] == 0.5 and named(figure, "the ceiling").y[0] == 0.9


def test_bands_can_be_left_out_and_go_with_their_line():
    two_forests = [series("a", 0), series("b", 1)]
    figure = comparison(two_forests, 1.0, SCALE)
    lines = [t for t in figure.data if t.legendgroup]
    assert len(lines) == 6 and all(t.legendgroup in "ab" for t in lines)
    assert len(comparison(two_forests, 1.0, SCALE, bands=False).data) == len(figure.data) - 4


def test_everything_is_inside_the_picture():
    low, high = comparison([series("a", 0)], 1.0, SCALE).layout.yaxis.range
    assert low < 0.48 and high > 0.9


def test_multiples_name_each_value_once():
    mean = np.full((2, 4), 0.7)
    panels = [SettingCurves("a", [2, 4], EPSILONS, mean), SettingCurves("b", [4, 8], EPSILONS, mean)]
    figure = setting_panels(panels, "depth", SCALE, columns=2)
    assert sorted(t.name for t in figure.data if t.showlegend) == ["depth 2", "depth 4", "depth 8"]
    assert [t.line.color for t in figure.data][1] == [t.line.color for t in figure.data][2]  # both lines have depth 4
    assert (
        named(setting_panels(panels[:1], "trees", SCALE, columns=1), "2 trees").text[0]
        == "a, 2 trees, ε = 0.01: 70.0 %"
    )


def test_the_map_marks_the_best_depths_and_shows_the_price():
    values = np.array([[0.5, 0.6, 0.7, 0.7], [0.4, 0.65, 0.6, 0.85]])
    figure = epsilon_depth_map(EPSILONS, [3, 9], values, SCALE, epsilon=1.0)
    heat, best, star = figure.data
    assert list(best.y) == ["3", "9", "3", "9"] and (star.x[0], star.y[0]) == ("10", "9")
    assert heat.hovertext[1][3] == "ε = 10, depth 9: 85.0 %<br>5.0 points below the best depth without noise"
    (frame,) = figure.layout.shapes
    assert (frame.x0, frame.x1) == (1.5, 2.5)


@pytest.mark.parametrize("certified", [True, False])
def test_dots_are_full_exactly_for_sure_answers(certified):
    answers = [
        Answer("a", 0.3, 0.8, check_share(np.ones(46, bool), 0.9)),
        Answer("b", 1.0, 0.8, check_share(np.ones(5, bool), 0.9)),
        Answer("c", None),
    ]
    figure = epsilon_by_forest(answers, 0.01, 10, chosen="a", epsilon=0.3, scale=SCALE, certified=certified)
    dots = {t.y[0]: t for t in figure.data if t.mode == "markers+text"}
    assert set(dots) == {"a", "b"} and dots["a"].x[0] == 0.3
    assert dots["a"].marker.color != "rgba(0,0,0,0)" and dots["b"].marker.color == "rgba(0,0,0,0)"
    assert (dots["a"].marker.line.color == NOT_HELD) == (not certified)
    assert any("no ε up to 10 is shown to be enough" in a.text for a in figure.layout.annotations)
    assert "5 of 5 releases in the check reach it" in dots["b"].hovertext


@pytest.mark.parametrize("n", [100.0, None])
def test_the_bands_of_the_curve_end_at_the_values_that_count(n):
    values = np.array([[0.6, 0.7, 0.8, 0.9], [0.62, 0.72, 0.82, 0.92]])
    reach = Reach.of(EPSILONS, values, 0.9, n)
    figure = reach_curve(reach, reach.mean, 0.75, 1.0, SCALE)
    mean, *bands = (trace for trace in figure.data if len(trace.x) == len(EPSILONS))
    assert list(mean.y) == reach.mean.tolist() and all(band.fill == "tonexty" for band in bands)
    assert [list(band.y) for band in bands] == [reach.nearly_all.tolist(), reach.counted.tolist()][: len(bands)]
    assert len(bands) == (1 if n is None else 2) and ("less the margin" in mean.text[0]) == (n is not None)
    assert next(trace for trace in figure.data if trace.name == "needed 75.0 %").y == (0.75, 0.75)
