"""Tests that kernels stay within their arrays: few attributes, deep trees, and extreme codes.

`scripts/test` runs these tests a second time with NUMBA_BOUNDSCHECK=1. Compiled kernels check array bounds only with
this setting, so only the second run raises an IndexError for an access beyond an array.
"""

import numpy as np
import pytest

from dpforest import (
    BoostedForestClassifier,
    FriedmanSchusterClassifier,
    MajorityLabelForestClassifier,
    MultinomialForestClassifier,
    RandomDecisionForestClassifier,
    ReleasedForest,
)
from dpforest.tables.domain import Domain
from dpforest.tables.features import Feature
from dpforest.trees import naive, routing
from dpforest.trees.random_trees import grow_random_trees
from dpforest.trees.released_scale import CELLS, TOP, ReleasedScale
from tests.conftest import public_domain, random_codes

UNIT = public_domain(None)
SMALL = {"one": UNIT, "five": public_domain(*[None] * 5), "lonely": public_domain(1), "two": public_domain(None, 2)}


def ends(domain: Domain, n: int, seed: int) -> np.ndarray:
    """Return random codes. Half of them are the lowest or highest code of their feature."""
    rng = np.random.default_rng(seed)
    codes = random_codes(domain, n, seed)
    highest = np.array([f.n_codes - 1 for f in domain.features], np.uint16)
    at = rng.random(codes.shape)
    return np.where(at < 0.25, 0, np.where(at < 0.5, highest, codes)).astype(np.uint16)


def assert_same_leaves(trees, domain: Domain, seed: int = 0) -> None:
    codes = ends(domain, 70, seed)
    assert np.array_equal(routing.leaves_of_rows(trees, domain, codes), naive.leaves_of_rows(trees, codes))


def test_thresholds_of_a_thousand_trees_of_one_attribute_are_codes():
    """All thresholds of a thousand trees are codes.

    With this seed, an earlier version had thresholds above 65,535. A packed node, which stores feature and threshold in
    one integer, then names another column.
    """
    trees = grow_random_trees(UNIT, n_trees=1_000, depth=6, seed=1)
    trees.check(np.array([65_536]))
    assert_same_leaves(trees, UNIT)


@pytest.mark.parametrize("cell", [0, 31, 63])
@pytest.mark.parametrize("thresholds", ["node", "domain", "quantized"])
def test_thresholds_are_codes_if_all_rows_are_in_one_cell_of_a_released_scale(cell, thresholds):
    """Thresholds are codes, even if a range cannot be split further.

    In an earlier version, some thresholds exceeded 65,535.
    """
    shares = np.zeros((1, CELLS), np.int64)
    shares[0, cell] = TOP
    scale = ReleasedScale.of_shares(shares)
    trees = grow_random_trees(UNIT, n_trees=200, depth=10, seed=1, thresholds=thresholds, scale=scale)
    trees.check(np.array([65_536]))
    assert_same_leaves(trees, UNIT)


@pytest.mark.parametrize("name", SMALL)
@pytest.mark.parametrize("categorical", ["multiway", "one-vs-rest", "ordered"])
def test_deep_trees_of_few_attributes_stay_within_their_arrays(name, categorical):
    domain = SMALL[name]
    for seed in range(3):
        trees = grow_random_trees(domain, n_trees=2, depth=15, seed=seed, categorical=categorical, max_leaves=3_000)
        assert_same_leaves(trees, domain, seed)


@pytest.mark.parametrize(
    "model",
    [
        MajorityLabelForestClassifier(n_estimators=20, max_depth=8),
        MajorityLabelForestClassifier(n_estimators=3, max_depth=15, partition="shared", structure_seed=5),
        RandomDecisionForestClassifier(n_estimators=3, max_depth=12, voting="probabilistic"),
        BoostedForestClassifier(n_estimators=2, max_depth=9, n_bins=3),
        MultinomialForestClassifier(n_estimators=2, max_depth=9, n_bins=3),
        FriedmanSchusterClassifier(max_depth=9, n_bins=3),
        pytest.param(
            MultinomialForestClassifier(n_estimators=2, mode="as_published", random_state=0), marks=pytest.mark.slow
        ),  # compiles for 20 s
    ],
    ids=lambda model: type(model).__name__,
)
def test_fits_predict_within_their_arrays(model):
    for domain in (UNIT, public_domain(None, 3, n_classes=3)):
        model.set_params(domain=domain)
        X = [[0.0, "c0"], [1.0, "c2"], [0.5, "c1"]] * 100
        model.fit([row[: domain.n_features] for row in X], [0, 1, domain.n_classes - 1] * 100)
        codes = ends(domain, 300, 1)
        shares, index = model.forest_.shares_and_index(codes)
        assert np.array_equal(index, model.forest_.predict_codes(codes)) and len(shares) == 300
        if isinstance(model.forest_, ReleasedForest):
            back = ReleasedForest.from_bytes(model.released_.to_bytes(uncertified=True))
            assert np.array_equal(back.predict_codes(codes), index)


@pytest.mark.parametrize("columns", [0, 1, 3])
def test_codes_that_do_not_exist_never_reach_a_kernel(columns):
    features = (*UNIT.features, Feature("f1", "categorical", categories=("a", "b", "c")))
    domain = Domain(features, (0, 1))
    model = MajorityLabelForestClassifier(n_estimators=5, max_depth=4, domain=domain, epsilon=None)
    forest = model.fit([[0.2, "a"], [0.7, "c"]] * 20, [0, 1] * 20).forest_
    for codes in (np.zeros((9, columns), np.uint16), np.full((9, 2), 3, np.uint16)):
        for ask in (forest.predict_codes, forest.shares_and_index):
            with pytest.raises(ValueError, match="codes"):
                ask(codes)
