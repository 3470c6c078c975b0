"""Tests that every fitted forest is sound, can be read back from its file, and then has bitwise equal predictions."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dpforest import BoostedForestClassifier, MajorityLabelForestClassifier, ReleasedForest
from dpforest.trees import naive, routing
from tests.audit.random_estimators import domains, estimators, labels_of, rows_of
from tests.conftest import examples, public_domain


def assert_is_read_back(forest: ReleasedForest, X) -> None:
    forest.trees.check(np.array([f.n_codes for f in forest.domain.features]))
    word = routing.pack(forest.trees, forest.domain.n_features)[0]
    assert word.dtype == np.uint32
    data = forest.to_bytes(uncertified=True)
    text = forest.to_json(uncertified=True)
    for back in (ReleasedForest.from_bytes(data), ReleasedForest.from_json(text)):
        assert back.notes == ()
        assert back.to_bytes(uncertified=True) == data
        assert np.array_equal(back.apply(X), forest.apply(X))
        assert back.class_shares(X).tobytes() == forest.class_shares(X).tobytes()
        assert np.array_equal(back.predict(X), forest.predict(X))
        for part in ("kind", "feature", "threshold", "first_child", "tree_start"):
            one, other = getattr(back.trees, part), getattr(forest.trees, part)
            assert one.dtype == other.dtype and np.array_equal(one, other), part
        assert (back.certificate, back.ledger, back.domain) == (forest.certificate, forest.ledger, forest.domain)


@settings(
    max_examples=examples(300, 12),
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=list(HealthCheck),
)
@given(domain=domains(), model=estimators(15, 6), n=st.sampled_from([0, 1, 7, 60]), seed=st.integers(0, 9))
def test_every_fitted_forest_can_be_read_back(domain, model, n, seed):
    """A fit either refuses its settings with a message, or returns a forest that is read back."""
    X, y = rows_of(domain, n, seed), labels_of(domain, n, seed)
    model.set_params(domain=domain)
    try:
        model.preview(domain, n)
        model.fit(X, y)
    except ValueError as refused:
        assert str(refused)[-1] not in "\n,"
        return
    assert_is_read_back(model.released_, rows_of(domain, 20, seed + 1))


@pytest.mark.parametrize("seed", range(5))
def test_few_attributes_and_deep_trees(seed):
    """Files of deep trees are read back: trees of depth 8 and 15 on one attribute, and of depth 15 on five attributes.

    In an earlier version, thresholds of deep trees exceeded the largest code of a number.
    """
    for n_features, n_trees, depth in ((1, 20, 8), (5, 2, 15), (1, 2, 15)):
        X, y = np.random.default_rng(seed).random((50, n_features)), np.arange(50) % 2
        domain = public_domain(*[None] * n_features)
        model = MajorityLabelForestClassifier(n_estimators=n_trees, max_depth=depth, structure_seed=seed, domain=domain)
        assert_is_read_back(model.fit(X, y).released_, X)


@settings(
    max_examples=examples(60), deadline=None, derandomize=True, database=None, suppress_health_check=list(HealthCheck)
)
@given(
    domain=domains(),
    model=estimators(15, 6),
    mode=st.sampled_from(["nonprivate", "as_published"]),
    seed=st.integers(0, 9),
)
def test_the_curators_trees_are_sound_as_well(domain, model, mode, seed):
    """Trees without privacy and trees as published are sound, too.

    Only the curator may see these trees, so they have no file. But they use the same kernels.
    """
    model.set_params(
        domain=domain, random_state=seed, **({"epsilon": None} if mode == "nonprivate" else {"mode": mode})
    )
    try:
        model.fit(rows_of(domain, 60, seed), labels_of(domain, 60, seed))
    except ValueError as refused:
        assert str(refused)[-1] not in "\n,"
        return
    trees = model.forest_.trees
    trees.check(np.array([f.n_codes for f in domain.features]))
    X = rows_of(domain, 20, seed + 1)
    expected = naive.leaves_of_rows(trees, model.domain_.encode(X)).T
    assert np.array_equal(model.apply(X), expected)


def test_shares_of_a_budget_with_many_digits_are_read_back():
    """Charges of settings with 17 digits are exact fractions with long denominators, and are read back."""
    model = BoostedForestClassifier(
        epsilon=0.12345678901234566,
        tree_share=0.33333333333333337,
        calibration_share=0.05000000000000003,
        n_estimators=7,
        max_depth=3,
        alpha="noisy",
        neighbors="replace-one",
        domain=public_domain(None, 3, n_classes=3),
    )
    X, y = rows_of(model.domain, 90, 0), labels_of(model.domain, 90, 0)
    released = model.fit(X, y).released_
    digits = [
        len(str(e.epsilon_each.denominator)) for e in released.ledger.entries if isinstance(e.epsilon_each, Fraction)
    ]
    assert max(digits) > 40
    assert_is_read_back(released, X)
