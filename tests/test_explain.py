"""Explanations: importances, effects and parts of predictions agree with the forest and with redraws of its noise."""

import math
from dataclasses import replace

import numpy as np
import pytest

from dpforest import Domain, Feature, RandomDecisionForestClassifier, RandomTreeBoosterClassifier
from dpforest.explain import AddedScores
from dpforest.trees.routing import leaves_of_rows
from tests.conftest import some

NOTE = {"source": "documented", "source_note": "test"}
DOMAIN = Domain(
    (
        Feature("x", "numeric", 0.0, 1.0, missing="category", **NOTE),
        Feature("color", "categorical", categories=("a", "b", "c"), **NOTE),
        Feature("idle", "numeric", 0.0, 1.0, **NOTE),
    ),
    (0, 1, 2),
    "y",
    "documented",
    "test",
)


def table(n: int, n_classes: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    X = np.empty((n, 3), object)
    X[:, 0], X[:, 1], X[:, 2] = rng.random(n), rng.choice(["a", "b", "c"], n), rng.random(n)
    return X, np.minimum((X[:, 0].astype(float) * n_classes).astype(int), n_classes - 1)


def booster(n_classes: int, **settings) -> tuple[RandomTreeBoosterClassifier, np.ndarray]:
    X, y = table(2_000, n_classes)
    domain = replace(DOMAIN, classes=tuple(range(n_classes)))
    model = RandomTreeBoosterClassifier(domain=domain, random_state=0, **settings).fit(X, y)
    return model, domain.encode(X)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_parts_sum_to_the_scores_of_a_row(n_classes):
    model, codes = booster(n_classes, epsilon=2, n_estimators=12, max_depth=4)
    added = AddedScores.of(model.released_)
    leaves = leaves_of_rows(added.trees, added.domain, codes[:50])
    scores = added.leaf_scores[leaves].sum(axis=0)
    sums = np.array([added.base + added.taken_apart(row).sum(axis=0) for row in codes[:50]])
    assert np.allclose(sums, scores, atol=1e-12)
    assert sums.argmax(axis=1).tolist() == model.predict(table(2_000, n_classes)[0][:50]).tolist()


def test_the_predictive_attribute_is_the_most_important_one():
    for settings in ({"epsilon": 2.0}, {"epsilon": 2.0, "delta": 0}, {"epsilon": None}):
        shares = AddedScores.of(booster(2, **settings)[0].forest_).importances
        assert shares[0] > shares[1:].sum()  # without noise, deep trees also fit the other two attributes
        assert shares.sum() == pytest.approx(1)


def test_the_share_of_noise_is_subtracted():
    """With random labels, most of an attribute's contributions are noise, and importances leave this part out."""
    X, _ = table(2_000, 2)
    y = np.random.default_rng(1).integers(0, 2, len(X))
    domain = replace(DOMAIN, classes=(0, 1))
    model = RandomTreeBoosterClassifier(domain=domain, epsilon=0.1, n_estimators=200, max_depth=3, random_state=0)
    known = AddedScores.of(model.fit(X, y).released_)
    typical, noise = known.typical_parts
    assert np.maximum(typical**2 - noise**2, 0).sum() < 0.6 * (typical**2).sum()
    unknown = AddedScores.of(replace(model.released_, about={}))
    assert math.isnan(unknown.noise) and np.isnan(unknown.typical_parts[1]).all()
    assert unknown.importances == pytest.approx(typical / typical.sum())


@pytest.mark.parametrize("n_classes", [2, 3])
def test_the_noise_of_parts_is_that_of_redrawn_leaves(n_classes):
    """The stated standard deviation is within 9 % of that of 4,000 redraws of the noise (chance of failure 1e-6)."""
    model, codes = booster(n_classes, epsilon=2, n_estimators=5, max_depth=5)
    added, row, rng = AddedScores.of(model.released_), codes[3], np.random.default_rng(0)
    parts = []
    for _ in range(4_000):
        leaf_scores = rng.normal(0, added.noise, added.leaf_scores.shape)
        parts.append(replace(added, leaf_scores=leaf_scores).taken_apart(row)[:, 1])
    deviation, stated = np.std(parts, axis=0), added.parts_noise(row)
    assert (stated > 0).all() and np.allclose(deviation, stated, rtol=0.09)


def test_attributes_that_matter_only_together_have_importance_and_parts():
    """Two attributes that matter only together have flat effects, but their tests change the scores of records."""
    X, _ = table(4_000, 2)
    y = ((X[:, 0].astype(float) > 0.5) ^ (X[:, 2].astype(float) > 0.5)).astype(int)
    domain = replace(DOMAIN, classes=(0, 1))
    model = RandomTreeBoosterClassifier(domain=domain, epsilon=None, n_estimators=60, max_depth=4, random_state=0)
    added = AddedScores.of(model.fit(X, y).forest_)
    parts = np.mean([abs(added.taken_apart(row)[:, 1]) for row in domain.encode(X)[:200]], axis=0)
    assert added.importances[[0, 2]].min() > 0.3 and parts[[0, 2]].min() > 3 * parts[1]
    by_itself = np.ptp(added.effect(0, np.linspace(1, 65_535, 20).astype(int))[0][:, 1])
    assert by_itself < added.typical_parts[0][0]


def test_an_effect_is_the_mean_over_all_answers_to_other_tests():
    """The effect of an attribute is a mean over all answers to other tests. An untested attribute has no effect."""
    model, _ = booster(2, epsilon=5, n_estimators=6, max_depth=3)
    added = AddedScores.of(model.released_)
    trees, codes = added.trees, np.array([1, 30_000, 65_535])

    def mean(node: int, code: int) -> np.ndarray:
        if trees.n_children[node] == 0:
            return added.leaf_scores[trees.leaf_of_node[node]]
        left, right = (mean(int(trees.first_child[node]) + side, code) for side in (0, 1))
        if trees.threshold[node] == 65_535:
            return left
        if trees.feature[node] == 0:
            return right if code > trees.threshold[node] else left
        return (left + right) / 2

    expected = [sum(mean(int(root), int(code)) for root in trees.tree_start[:-1]) for code in codes]
    scores, noise = added.effect(0, codes)
    assert np.allclose(scores, expected)
    assert scores[0, 1] < scores[2, 1]
    assert (noise > 0).all()
    only_x = replace(added, trees=replace(trees, feature=np.where(trees.feature >= 0, 0, -1).astype(np.int32)))
    assert np.ptp(only_x.effect(2, np.arange(5))[0][:, 1]) == pytest.approx(0, abs=1e-12)


@pytest.mark.parametrize("n_classes, delta", some([2, 3], [0, 1e-6]))
def test_the_stated_noise_equals_that_of_repeated_fits(n_classes, delta):
    """The stated noise equals the standard deviation of leaves over 300 releases that contain only noise.

    The standard deviation of 2,400 draws is within 12 % of the true standard deviation, except with probability 1e-6.
    This also holds for Laplace noise (kurtosis 6).
    """
    X, y = table(64, n_classes)
    domain = replace(DOMAIN, classes=tuple(range(n_classes)))
    scores, noise_scales = [], set()
    for seed in range(300):
        model = RandomTreeBoosterClassifier(
            domain=domain,
            delta=delta,
            n_estimators=1,
            max_depth=3,
            size=64,
            scale_share="public",
            random_state=seed,
        ).fit(X, y)
        added = AddedScores.of(model.forest_)
        noise_scales.add(added.noise)
        scores.append(added.leaf_scores[:, 1])
    assert len(noise_scales) == 1
    deviation = np.std(scores, axis=0)
    assert float(np.sqrt((deviation**2).mean())) == pytest.approx(noise_scales.pop(), rel=0.12)


def test_other_forests_are_refused():
    X, y = table(100, 3)
    forest = RandomDecisionForestClassifier(domain=DOMAIN, n_estimators=2, max_depth=2).fit(X, y)
    with pytest.raises(ValueError, match="only a random-tree booster"):
        AddedScores.of(forest.released_)


def test_without_privacy_there_is_no_noise():
    added = AddedScores.of(booster(2, epsilon=None, n_estimators=3, max_depth=2)[0].forest_)
    assert added.noise == added.score_noise == 0


def test_a_forged_file_takes_no_more_memory_than_its_size(monkeypatch):
    """An effect is computed for so few trees at a time that a forged file needs no more memory than its own size."""
    model, _ = booster(2, epsilon=None, n_estimators=2, max_depth=6)
    added = AddedScores.of(model.forest_)
    sizes: list[int] = []
    weights_of = AddedScores._weights

    def measured_weights(self, first, last, feature, codes):
        sizes.append(int(self.trees.tree_start[last] - self.trees.tree_start[first]) * len(codes))
        return weights_of(self, first, last, feature, codes)

    monkeypatch.setattr(AddedScores, "_weights", measured_weights)
    monkeypatch.setattr("dpforest.explain._AT_ONCE", 1)
    added.effect(0, np.arange(1_000))
    assert max(sizes) == 127 * 64  # one tree, 64 codes


def test_a_test_with_more_than_two_answers_is_refused():
    added = AddedScores.of(booster(2, epsilon=None, n_estimators=2, max_depth=2)[0].forest_)
    kind = np.where(added.trees.kind == 0, 2, added.trees.kind).astype(np.uint8)
    with pytest.raises(ValueError, match="more than two answers"):
        replace(added, trees=replace(added.trees, kind=kind))


def test_noise_is_unknown_if_a_file_has_invalid_settings():
    """If a file has invalid settings, the noise is reported as unknown, without an error."""
    released = booster(2, epsilon=2.0, n_estimators=2, max_depth=2)[0].released_
    invalid = replace(released, about={**released.about, "total_step": 2.0**20, "n_rows": 1})
    added = AddedScores.of(replace(invalid, about={**invalid.about, "total_step": 1e300}))
    assert math.isnan(added.noise)
    assert np.isfinite(added.importances).all()
