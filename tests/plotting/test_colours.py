"""Colors as people with color blindness see them (Machado et al. 2009, by colorspacious)."""

import itertools

import numpy as np
import pytest
from colorspacious import cspace_convert, deltaE

from dpforest.plotting import class_mix, compare, lesson_measured, style

APART = 10  # least distance of two colors in CAM02-UCS, in which a distance of 1 is just visible side by side
KINDS = ("deuteranomaly", "protanomaly", "tritanomaly")


def distance(one: str, other: str, kind: str) -> float:
    """Return the distance of two colors for a person whose eyes lack this kind of cone completely."""
    space = {"name": "sRGB1+CVD", "cvd_type": kind, "severity": 100}
    rgb = [np.array([int(color[i : i + 2], 16) for i in (1, 3, 5)]) / 255 for color in (one, other)]
    seen = [np.clip(cspace_convert(color, space, "sRGB1"), 0, 1) for color in rgb]
    return float(deltaE(*seen, input_space="sRGB1"))


@pytest.mark.parametrize("kind", KINDS)
def test_colors_with_a_meaning_are_distinguishable(kind):
    meanings = (style.PRIVATE, style.NON_PRIVATE, style.NOT_HELD, style.QUIET, lesson_measured._OTHER)
    for one, other in itertools.combinations(meanings, 2):
        assert distance(one, other, kind) > APART, (one, other)
    for one in (style.PRIVATE, style.NON_PRIVATE, style.NOT_HELD):
        assert distance(one, style.FOLLOWED, kind) > APART, one


@pytest.mark.parametrize("kind", KINDS)
def test_neighbors_in_a_bar_of_classes_are_distinguishable(kind):
    colors = (*class_mix._COLORS, class_mix._OTHER_COLOR)
    for one, other in itertools.pairwise(colors):
        assert distance(one, other, kind) > APART, (one, other)


def test_forests_of_similar_colors_have_different_markers():
    assert len(set(compare.MARKERS)) == len(compare.MARKERS) >= len(compare.COLORS)
    pairs = itertools.combinations(compare.COLORS, 2)
    # Some colors look alike, so markers are needed.
    assert any(distance(one, other, kind) < APART for one, other in pairs for kind in KINDS)
