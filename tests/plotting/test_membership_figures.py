"""Charts of the membership attack and of learning curves show exactly the numbers that are passed to them."""

import json

import numpy as np
import pytest

from dpforest.evaluation.learning_curve import Learning, Needed, beyond, rows_needed
from dpforest.plotting.learning import learning_chart
from dpforest.plotting.membership import MIN_TRIALS, success_chart
from dpforest.plotting.style import NON_PRIVATE, NOT_HELD, PRIVATE, QUIET
from dpforest.risk.rounding import percent_up
from dpforest.risk.success_rate import estimate, most_success

LOOKS = [estimate(n, round(0.64 * n)) for n in (18, 56, 100, 1_000, 10_000, 100_000)]


def all_text(figure) -> str:
    return json.dumps(json.loads(figure.to_json()), ensure_ascii=False)


def levels(figure) -> dict[float, str]:
    """Return height and color of the horizontal lines."""
    return {round(shape.y0, 4): shape.line.color for shape in figure.layout.shapes if shape.y0 == shape.y1}


def trace(figure, meta: str):
    (match,) = [t for t in figure.data if t.meta == meta]
    return match


# ---------------------------------------------------------------- the attack


def test_shares_and_intervals_are_drawn_as_they_are():
    figure = success_chart(LOOKS, limit=0.7311, best=0.64)
    high, low, line = figure.data
    shown = [look for look in LOOKS if look.trials >= MIN_TRIALS]
    assert list(line.x) == [look.trials for look in shown] and list(line.y) == [look.share for look in shown]
    assert list(low.y) == [look.low for look in shown] and list(high.y) == [look.high for look in shown]
    assert line.line.color == PRIVATE and low.fill == "tonexty"
    assert levels(figure) == {0.5: QUIET, 0.7311: QUIET, 0.64: PRIVATE}
    text = all_text(figure)
    assert "the limit for every record: 73.2 %" in text and "best attacker on this record: 64.0 %" in text
    assert "a coin: 50 %" in text and NOT_HELD not in text
    bottom, top = figure.layout.yaxis.range
    assert bottom < 0.5 and top > 0.7311


def test_if_the_best_attack_equals_the_limit_one_line_is_drawn():
    limit = most_success(1.0)
    figure = success_chart(LOOKS, limit=limit, best=limit - 1e-4)
    assert set(levels(figure)) == {0.5, round(limit, 4)}
    assert "the limit, and the best on this record: 73.2 %" in all_text(figure)


def test_only_a_broken_claim_is_vermillion():
    broken = success_chart(LOOKS, limit=1.0, best=0.65, claimed=0.6)
    assert levels(broken)[0.6] == NOT_HELD and broken.data[-1].line.color == NOT_HELD
    assert "claimed limit, exceeded: 60 %" in all_text(broken) and PRIVATE not in all_text(broken)
    kept = success_chart(LOOKS, limit=1.0, best=0.65, claimed=0.7)
    assert NOT_HELD not in all_text(kept) and PRIVATE not in all_text(kept)
    assert "claimed limit: 70 %" in all_text(kept)
    # After 64 right guesses of 100, the interval still contains the claimed limit of 60 %.
    assert NOT_HELD not in all_text(success_chart(LOOKS[:3], limit=1.0, claimed=0.6))


@pytest.mark.parametrize("epsilon", [0.01, 0.1, 10.0])
def test_limits_of_any_size_can_be_read(epsilon):
    limit = most_success(epsilon)
    figure = success_chart([estimate(n, n // 2) for n in (100, 1_000, 10_000)], limit=limit)
    bottom, top = figure.layout.yaxis.range
    assert bottom < 0.5 < limit < top < 1.2
    assert (top - bottom) < 4 * max(limit - 0.5, 0.01)
    assert percent_up(limit) in all_text(figure)


def test_a_single_early_look_is_drawn():
    figure = success_chart(LOOKS[:1], limit=0.7)
    assert list(figure.data[-1].x) == [18]


# ---------------------------------------------------------------- learning curves


def learned() -> Learning:
    rows, epsilons = np.array([500, 1_000, 2_000, 4_000]), np.array([0.2, 0.3, 0.5, 1.0, 2.0, 4.0])
    accuracy = 0.9 - 6.0 * (rows[:, None] * epsilons[None, :]) ** -0.5
    repeats = accuracy + np.array([-0.01, 0.01])[:, None, None]
    return Learning(rows, epsilons, repeats, np.full((2, 4), 0.9))


def test_measured_is_solid_and_extrapolated_is_dashed_and_named():
    learning, epsilons = learned(), [1.0, 0.5, 0.2]
    target = float(learning.by_rows(1.0)[-1])
    needed = [rows_needed(learning, e, target) for e in epsilons]
    figure = learning_chart(learning, epsilons, target, needed)
    for i, epsilon in enumerate(epsilons):
        measured = trace(figure, f"measured {i}")
        np.testing.assert_allclose(measured.y, learning.by_rows(epsilon))
        assert list(measured.x) == [500, 1_000, 2_000, 4_000] and measured.line.dash is None
        assert all("measured" in text for text in measured.text)
    for i in (1, 2):
        more, dashed = beyond(learning, epsilons[i]), trace(figure, f"extrapolated {i}")
        np.testing.assert_allclose(dashed.x, more.rows)
        np.testing.assert_allclose(dashed.y, more.accuracy)
        assert dashed.line.dash == "dash" and min(dashed.x) == 4_000
        assert all("extrapolated" in text for text in dashed.text)
    assert not [t for t in figure.data if t.meta == "extrapolated 0"]  # no extrapolation is needed at this ε
    marks = [trace(figure, f"needed {i}") for i in range(3)]
    np.testing.assert_allclose([mark.x[0] for mark in marks], [4_000, 8_000, 20_000], rtol=0.005)
    assert {mark.y[0] for mark in marks} == {target}
    notes = [a.text for a in figure.layout.annotations]
    assert "measured" in notes and "extrapolated" in notes and "<b>2.0 ×</b>" in notes and "<b>5.0 ×</b>" in notes
    assert "<b>ε = 1</b>" in notes and "ε = 0.5" in notes and levels(figure)[round(target, 4)] == NON_PRIVATE


def test_unknown_numbers_of_rows_are_not_marked():
    figure = learning_chart(learned(), [1.0, 0.5], 0.95, [Needed("above"), Needed("unclear")])
    assert not [t for t in figure.data if (t.meta or "").startswith("needed")]
    assert trace(figure, "extrapolated 0").line.dash == "dash"  # the line beyond the measured rows is still drawn


def test_names_of_curves_do_not_cover_each_other():
    learning = learned()
    flat = Learning(learning.rows, learning.epsilons, np.full_like(learning.accuracy, 0.7), learning.ceiling)
    figure = learning_chart(flat, [1.0, 0.5, 0.2], 0.7, [Needed("observed", 500.0, times=0.125)] * 3)
    heights = sorted(a.y for a in figure.layout.annotations if "ε = " in a.text)
    assert len(heights) == 3 and min(np.diff(heights)) > 0.001


def test_a_claim_that_does_not_hold_is_not_blue():
    learning = learned()
    needed = [rows_needed(learning, e, 0.75) for e in (1.0, 0.5)]
    text = all_text(learning_chart(learning, [1.0, 0.5], 0.75, needed, certified=False))
    assert PRIVATE not in text and NOT_HELD not in text and QUIET in text


def test_at_the_largest_epsilon_nothing_is_extrapolated():
    figure = learning_chart(learned(), [4.0], 0.8, [Needed("observed", 1_000.0, times=0.25)])
    notes = [a.text for a in figure.layout.annotations]
    assert "measured" in notes and "extrapolated" not in notes
