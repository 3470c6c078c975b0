"""The papers' depth rules against their tables, and the expectation behind them against full enumeration."""

import itertools
import math

import pytest

from dpforest.limits import MAX_DEPTH
from dpforest.theory import fletcher_islam_depth, jagannathan_depth, untested_features

# Fletcher and Islam 2017, Theorem 2 and Table 4: numeric, categorical, depth by theorem, depth published, E[X].
TABLE = {
    "SynthA": (5, 0, 4, 5, 2.048),
    "SynthB": (10, 0, 7, 8, 4.783),
    "SynthF": (10, 0, 7, 8, 4.783),
    "GammaTele": (10, 0, 7, 8, 4.783),
    "SynthC": (15, 0, 11, 12, 7.023),
    "SynthD": (15, 0, 11, 12, 7.023),
    "SynthE": (15, 0, 11, 12, 7.023),
    "PenWritten": (16, 0, 11, 12, 7.867),
    "SynthG": (20, 0, 14, 15, 9.753),
    "WallSensor": (4, 0, 3, 4, 1.688),
    "Adult": (6, 8, 8, 9, 2.894),
    "Mushroom": (0, 22, 11, 11, None),
    "Claves": (0, 16, 8, 8, None),
    "Nursery": (0, 8, 4, 4, None),
}


@pytest.mark.parametrize("name", TABLE)
def test_depths_of_the_papers_table(name):
    numeric, categorical, theorem, published, untested = TABLE[name]
    assert fletcher_islam_depth(numeric, categorical, "theorem") == theorem
    assert fletcher_islam_depth(numeric, categorical, "published") == published
    if untested is not None:
        assert round(untested_features(numeric, theorem - categorical // 2), 3) == untested


@pytest.mark.parametrize(("s", "depth"), [(1, 3), (2, 5), (3, 5), (4, 4), (5, 4)])
def test_untested_features_is_the_mean_over_all_paths(s, depth):
    paths = list(itertools.product(range(s), repeat=depth))
    mean = sum(s - len(set(path)) for path in paths) / len(paths)
    assert untested_features(s, depth) == pytest.approx(mean, rel=1e-12)


@pytest.mark.parametrize("s", range(3, 19))
def test_theorem_is_the_least_depth_that_tests_more_than_half(s):
    d = fletcher_islam_depth(s, 0, "theorem")
    assert untested_features(s, d) < s / 2 <= untested_features(s, d - 1)
    assert d == math.ceil(math.log(1 / 2) / math.log((s - 1) / s))


@pytest.mark.parametrize(
    ("s", "r", "rule", "depth"),
    [
        (1, 0, "theorem", 1),
        (1, 0, "published", 2),
        (2, 0, "theorem", 2),
        (2, 0, "published", 2),
        (6, 8, "half", 7),
        (3, 4, "half", 3),
        (6, 8, "full", 14),
        (0, 1, "published", 1),  # no path would test anything
        (0, 1, "half", 1),
        (50, 0, "published", MAX_DEPTH),
        (0, 60, "theorem", MAX_DEPTH),
        (20, 20, "full", MAX_DEPTH),
    ],
)
def test_small_large_and_other_rules(s, r, rule, depth):
    assert fletcher_islam_depth(s, r, rule) == depth


def test_an_unknown_rule_is_refused_with_the_known_ones():
    with pytest.raises(ValueError, match=r"max_depth='deepest' is no depth rule; use a number, 'published'"):
        fletcher_islam_depth(3, 3, "deepest")


@pytest.mark.parametrize(
    ("m", "b", "n", "depth"),
    [
        (22, 5.7, 10_000, 4),  # log_5.7 of 10,000 is 5.29
        (14, 2.0, 30_162, 7),  # half the features is less
        (14, 2.0, None, 7),
        (30, 2.0, 1024, 9),
        (30, 2.0, 1023, 8),
        (1, 2.0, None, 1),
        (20, 2.0, 1, 1),
        (200, 2.0, None, MAX_DEPTH),
        (200, 2.0, 10**9, MAX_DEPTH),
    ],
)
def test_depth_of_jagannathan_and_others(m, b, n, depth):
    assert jagannathan_depth(m, b, n) == depth
