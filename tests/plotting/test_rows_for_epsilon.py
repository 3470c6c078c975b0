"""The figure of rows in exchange for ε: its curves are the measured ones, and its arrow spans the numbers of rows."""

import numpy as np
import pytest

from dpforest.evaluation.learning_curve import Learning, Needed
from dpforest.evaluation.rows_for_epsilon import exchange, three_epsilons
from dpforest.plotting.learning import learning_chart
from dpforest.plotting.rows_for_epsilon import exchange_chart
from dpforest.plotting.style import PRIVATE

ROWS, EPSILONS = np.array([500, 1_000, 2_000, 4_000, 8_000]), np.geomspace(0.1, 10, 29)
ACCURACY = 0.9 - 8 * (ROWS[:, None] * EPSILONS) ** -0.5
LEARNED = Learning(ROWS, EPSILONS, ACCURACY[None], np.full((1, 5), 0.9))


def test_each_epsilon_has_its_curve_and_the_selected_one_the_thickest():
    figure = exchange_chart(LEARNED, 1.0, three_epsilons(LEARNED, 1.0), exchange(LEARNED, 1.0, 0.1))
    lines = [t for t in figure.data if (t.meta or "").startswith("measured")]
    for line, epsilon in zip(lines, (1.0, 0.1, 10.0), strict=True):
        np.testing.assert_allclose(line.y, LEARNED.by_rows(epsilon))
    assert [line.line.width for line in lines] == sorted((line.line.width for line in lines), reverse=True)
    assert len({line.marker.symbol for line in lines}) == 3 and "<b>ε = 1</b>" in [
        a.text for a in figure.layout.annotations
    ]


def test_the_arrow_goes_from_few_rows_to_ten_times_as_many():
    figure = exchange_chart(LEARNED, 1.0, [0.1, 1.0], exchange(LEARNED, 1.0, 0.1))
    (arrow,) = [a for a in figure.layout.annotations if a.showarrow]
    assert 10**arrow.ax == pytest.approx(500.0) and 10**arrow.x == pytest.approx(5_000, rel=0.06)
    assert arrow.y == arrow.ay == pytest.approx(LEARNED.by_rows(1.0)[0])
    assert "<b>10 × the rows</b>" in [a.text for a in figure.layout.annotations]


def test_without_a_known_number_of_rows_there_is_no_arrow_and_a_claim_is_not_blue():
    figure = exchange_chart(LEARNED, 1.0, [0.1, 1.0], None, certified=False)
    assert not [a for a in figure.layout.annotations if a.showarrow]
    assert PRIVATE not in str(figure.to_dict())


def test_names_of_curves_with_close_ends_do_not_overlap():
    """Names do not overlap. A name in 14-pixel type needs about 17 pixels, and the axis is at least 280 pixels high."""
    accuracy = 0.5 + 0.3 * (EPSILONS[None, :] * ROWS[:, None] / ROWS.max()) ** 0.1 * (ROWS[:, None] > ROWS[0])
    learned = Learning(ROWS, EPSILONS, accuracy[None], accuracy[None, :, -1])
    for figure in (
        exchange_chart(learned, 1.0, [0.1, 1.0, 10.0], None),
        learning_chart(learned, [1.0, 0.5, 0.2], 0.7, [Needed("unclear")] * 3),
    ):
        low, high = figure.layout.yaxis.range
        heights = sorted(a.y for a in figure.layout.annotations if "ε = " in a.text)
        assert len(heights) == 3 and min(np.diff(heights)) / (high - low) * 280 >= 17
