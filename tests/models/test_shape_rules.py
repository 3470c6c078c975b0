"""Public rules for depth and number of trees: stored values, and bounds. More rows or ε never reduce the depth."""

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpforest import BoostedForestClassifier
from dpforest.models import shape_rules
from dpforest.models.shape_rules import (
    boosted_shape,
    even_forest_shape,
    jagannathan_shape,
    majority_label_shape,
    multinomial_shape,
    noisy_counts_shape,
    one_tree_shape,
    signal_of,
)
from tests.conftest import public_domain

RULES = {
    noisy_counts_shape: (3, 12), jagannathan_shape: (3, 12), even_forest_shape: (3, 12), majority_label_shape: (2, 12),
    one_tree_shape: (2, 10), multinomial_shape: (2, 6), boosted_shape: (2, 4),
}  # fmt: skip


@pytest.mark.parametrize(
    ("n", "epsilon", "shapes"),
    [
        (100, 0.1, [(4, 3), (1, 2), (1, 2), (1, 2), (3, 2)]),
        (1_000, 0.1, [(4, 3), (16, 4), (1, 3), (1, 2), (3, 2)]),
        (1_000, 1.0, [(16, 6), (16, 7), (1, 5), (1, 4), (3, 3)]),
        (4_000, 1.0, [(16, 8), (16, 10), (1, 6), (1, 6), (3, 3)]),
        (26_000, 1.0, [(16, 10), (16, 12), (1, 8), (1, 6), (10, 4)]),
    ],
)
def test_rules_match_golden_values(n, epsilon, shapes):
    rules = (noisy_counts_shape, majority_label_shape, one_tree_shape, multinomial_shape, boosted_shape)
    assert [tuple(rule(signal_of(n, epsilon), 2, 14)) for rule in rules] == shapes


@pytest.mark.parametrize("rule", RULES)
@settings(derandomize=True, deadline=None, max_examples=60)
@given(st.floats(1, 1e12), st.floats(1, 100), st.integers(2, 50), st.integers(1, 500))
def test_more_signal_never_makes_trees_shallower(rule, signal, factor, n_classes, n_features):
    low, high = RULES[rule]
    less, more = rule(signal, n_classes, n_features), rule(signal * factor, n_classes, n_features)
    assert low <= less.depth <= more.depth <= high
    assert 1 <= less.n_trees <= more.n_trees <= 32
    assert rule(math.inf, n_classes, n_features).depth == high


def test_every_rule_is_tested():
    assert {name for name in vars(shape_rules) if name.endswith("_shape")} == {rule.__name__ for rule in RULES}


def test_a_small_signal_counts_as_one():
    assert signal_of(0, 1.0) == signal_of(10, 1e-6) == 1 and signal_of(1_000, 0.5) == 500


# ---------------------------------------------------------------- errors and numbers of rows

TWO_LEVELS = {"alpha": [0.5, 0.0], "n_bound": 10_000, "domain": public_domain(3, 3)}


@pytest.mark.parametrize("n", [0, 400, 511, 6_000])
def test_a_list_of_alphas_sets_the_number_of_levels(n):
    """A list of alphas sets the depth for every number of rows.

    In an earlier version, the rule chose another depth from 511 rows on, and the fit refused the list.
    """
    forest = BoostedForestClassifier(**TWO_LEVELS).fit([["c0", "c1"]] * n, [0] * n)
    assert forest.forest_.trees.depth == 2 and forest.certificate_.certified
    assert forest.preview(TWO_LEVELS["domain"], n)[1].spent == 1
    with pytest.raises(ValueError, match="2 numbers for 3 levels"):
        BoostedForestClassifier(**TWO_LEVELS, max_depth=3).fit([["c0", "c1"]] * n, [0] * n)
    with pytest.raises(ValueError, match="2 numbers for 4 levels"):
        BoostedForestClassifier(**TWO_LEVELS, mode="as_published").fit([["c0", "c1"]] * 9, [0] * 9)


@pytest.mark.parametrize(
    ("settings", "looked_at"), [({}, 0), ({"size": 700}, 0), ({"neighbors": "replace-one"}, 5), ({"epsilon": None}, 5)]
)
def test_the_check_before_a_fit_uses_public_numbers_of_rows(settings, looked_at):
    seen = []

    class Watched(BoostedForestClassifier):
        def _preview(self, domain, n_rows):
            seen.append(n_rows)
            return super()._preview(domain, n_rows)

    Watched(**TWO_LEVELS, **settings).fit([["c0", "c1"]] * 5, [0] * 5)
    assert seen == [looked_at]
