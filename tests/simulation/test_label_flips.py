"""The share of leaves whose label is changed by noise, compared with values by hand and with simulated releases."""

import numpy as np
import pytest

from dpforest import (
    JagannathanForestClassifier,
    MajorityLabelForestClassifier,
    MultinomialForestClassifier,
    RandomForestExponentialClassifier,
    RandomTreeBoosterClassifier,
    load_dataset,
)
from dpforest.models.leaf_noise import CountNoise, FrequencyNoise
from dpforest.simulation.label_flips import relabeled_share
from dpforest.simulation.splits import split_table
from dpforest.simulation.sweep import simulation_for

FALSE_ALARM = 1e-6
TIED, CLOSE, PURE, EMPTY = [2, 2, 0], [0, 2, 1], [0, 0, 9], [0, 0, 0]


def test_the_share_matches_a_value_by_hand():
    """At rate ln 2, the exponential mechanism gives a class that is k rows below the largest the weight 2⁻ᵏ.

    Empty leaves do not count.
    """
    noise = CountNoise(np.array([TIED, EMPTY, CLOSE, EMPTY, EMPTY, PURE, TIED]), "exponential", float(np.log(2)))
    tied = (1 + 1 / 4) / (1 + 1 + 1 / 4)  # the second of the tied classes, or the third class
    close = (1 / 2 + 1 / 4) / (1 + 1 / 2 + 1 / 4)
    pure = 2 / 512 / (1 + 2 / 512)
    assert relabeled_share(noise) == pytest.approx((2 * tied + close + pure) / 4, rel=1e-12)


def test_flips_by_temperature_match_values_by_hand():
    """At the temperature B3 = 2 ln 2, the weight of a class is two to the power of its share in the leaf."""
    noise = FrequencyNoise(np.array([[1, 1], [4, 0], [0, 0]]), 2 * float(np.log(2)))
    assert relabeled_share(noise) == pytest.approx((1 / 2 + 1 / 3) / 2, rel=1e-12)
    always_the_most_frequent = FrequencyNoise(np.array([[1, 1], [4, 0]]), np.inf)
    assert relabeled_share(always_the_most_frequent) == pytest.approx(1 / 4)


@pytest.mark.parametrize("mechanism", ["discrete-laplace", "continuous-laplace"])
def test_leaves_that_publish_counts_have_none(mechanism):
    assert relabeled_share(CountNoise(np.array([CLOSE]), mechanism, 1.0)) is None


def test_a_forest_without_rows_has_none():
    assert relabeled_share(CountNoise(np.array([EMPTY]), "exponential", 1.0)) is None


@pytest.fixture(scope="module")
def votes():
    data = load_dataset("congressional_voting")
    return data.domain, split_table(data.domain, data.X, data.y)


@pytest.mark.parametrize(
    "forest",
    [
        MajorityLabelForestClassifier(n_estimators=10, max_depth=5),
        MajorityLabelForestClassifier(n_estimators=10, max_depth=5, mode="as_published"),
        RandomForestExponentialClassifier(n_estimators=10, max_depth=3),
        MultinomialForestClassifier(n_estimators=4, max_depth=3),
        MultinomialForestClassifier(n_estimators=4, mode="as_published"),
    ],
    ids=lambda forest: f"{type(forest).__name__} {forest.mode}",
)
def test_the_share_is_the_mean_of_releases(votes, forest):
    """The stated share is the mean share over 400 redraws of all labels, within Hoeffding's bound.

    All draws are independent. With random seeds, this test would fail by chance with probability at most `FALSE_ALARM`.
    """
    view = simulation_for(forest, *votes).view(1.0)
    full, n = np.flatnonzero(view.n_rows), 400
    shares = [(view.noise.redraw(full, seed) != view.true_labels[full]).mean() for seed in range(1, n + 1)]
    bound = np.sqrt(np.log(2 / FALSE_ALARM) / (2 * n * len(full)))
    expected = relabeled_share(view.noise)
    assert expected == pytest.approx(np.mean(shares), abs=bound)
    by_rows = np.average(view.flip[full], weights=view.n_rows[full])
    assert expected > by_rows  # the share includes changes between tied classes, and small leaves count like large ones


def test_one_release_has_about_this_share():
    """The share in one simulated release, without redraws, lies within Hoeffding's bound for independent leaves."""
    data = load_dataset("nursery")
    split = split_table(data.domain, data.X, data.y)
    view = simulation_for(MajorityLabelForestClassifier(n_estimators=30, max_depth=6), data.domain, split).view(0.5)
    full = view.n_rows > 0
    share, n = (view.labels[full] != view.true_labels[full]).mean(), int(full.sum())
    assert n > 1_000
    assert relabeled_share(view.noise) == pytest.approx(share, abs=np.sqrt(np.log(2 / FALSE_ALARM) / (2 * n)))


@pytest.mark.parametrize(
    "forest", [JagannathanForestClassifier(), RandomTreeBoosterClassifier(n_estimators=5, max_depth=2)]
)
def test_forests_with_numbers_in_their_leaves_have_none(votes, forest):
    assert relabeled_share(simulation_for(forest, *votes).view(1.0).noise) is None
