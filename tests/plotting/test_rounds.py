"""Figures of the random-tree booster: typical contributions of attributes, and the parts of one score."""

import numpy as np

from dpforest.plotting.rounds import parts_of_score, typical_parts


def test_each_attribute_has_a_mark_for_noise_alone_in_its_row():
    names, sizes, noise = ["low", "high", "quiet"], np.array([0.2, 0.9, 0.5]), np.array([0.1, 0.3, np.nan])
    bars, marks = typical_parts(names, sizes, noise).data
    assert list(bars.customdata) == ["high", "quiet", "low"] and list(bars.x) == [0.9, 0.5, 0.2]
    assert list(marks.x) == [0.3, 0.1] and list(marks.y) == [0, 2]
    assert len(typical_parts(names, sizes, np.zeros(3)).data) == 1


def test_the_bars_of_one_score_add_up_and_have_two_deviations_as_error_bars():
    parts, noise = np.array([0.1, -0.5, 0.02, 0.3]), np.array([0.1, 0.2, 0.3, 0.4])
    (bars,) = parts_of_score(["a", "b", "c", "d"], parts, noise, most=2).data
    assert list(bars.customdata) == ["b", "d", "2 more attributes"]
    assert np.isclose(sum(bars.x), parts.sum())
    assert np.allclose(bars.error_x.array, [0.4, 0.8, 0])
