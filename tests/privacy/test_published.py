"""True losses of published mechanisms whose claim fails, against the tables of docs/PAPERS.md and enumeration."""

import itertools
import math
import re
from fractions import Fraction
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dpforest
from dpforest import (
    BoostedForestClassifier,
    FriedmanSchusterClassifier,
    JagannathanForestClassifier,
    MajorityLabelForestClassifier,
    MultinomialForestClassifier,
    RandomDecisionForestClassifier,
    RandomForestExponentialClassifier,
    RandomForestLaplaceClassifier,
    load_dataset,
)
from dpforest.privacy import laws, published
from dpforest.privacy.laws import log_pmf
from dpforest.privacy.published import REPRODUCTION, assign_blocks
from dpforest.privacy.true_loss import (
    delta_lower_bound,
    first_violation,
    smooth_sensitivity,
    smooth_sensitivity_published,
    true_loss,
)
from dpforest.risk.guarantee import guarantee_of

CLAMPED = "smooth-sensitivity-clamped"
EPSILONS = (0.01, 0.05, 0.1, 0.2, 0.5, 1, 2, 3, 5, 10)


def test_true_losses_with_the_cap_match_the_papers_under_add_remove():
    """Under add-remove, the true losses of the published mechanism, whose exponent is capped, match docs/PAPERS.md."""
    expected = [0.497, 2.44, 4.72, 8.93, 14.6, 22.7, 42.6, 29.4, 49.3, 49.3]
    np.testing.assert_allclose([true_loss(CLAMPED, e) for e in EPSILONS], expected, rtol=4e-3)


def test_true_losses_with_the_cap_match_the_papers_under_replace_one():
    """Under replace-one within a leaf, the true losses of the mechanism with the capped exponent match docs/PAPERS.md.

    At ε = 5 and 10, the change of the counts (N+1, N) to (N, N+1) costs 50, which is the cap.
    """
    losses = [true_loss(CLAMPED, e, neighbors="replace-one", one_leaf=True) for e in EPSILONS]
    np.testing.assert_allclose(losses, [0.990, 4.75, 8.99, 16.2, 27.5, 40.0, 49.3, 49.3, 50, 50], rtol=3e-3)
    swap = log_pmf(CLAMPED, [(7, 6), (6, 7)], 5.0)
    assert abs(swap[0, 0] - swap[1, 0]) == pytest.approx(50)


def test_a_row_that_changes_leaf_costs_two_changes():
    for epsilon in EPSILONS:
        both = true_loss(CLAMPED, epsilon, neighbors="replace-one")
        assert both == max(
            2 * true_loss(CLAMPED, epsilon), true_loss(CLAMPED, epsilon, neighbors="replace-one", one_leaf=True)
        )


@pytest.mark.parametrize("n_classes, most", [(2, 12), (3, 8), (4, 8)])
@pytest.mark.parametrize("epsilon", [1.0, 2.0, 5.0])
@pytest.mark.parametrize("neighbors", ["add-remove", "replace-one"])
def test_true_loss_and_delta_match_an_enumeration(neighbors, epsilon, n_classes, most):
    """Loss and δ equal the largest values over all leaves with counts up to `most`, where the exponent is capped."""
    leaves = list(itertools.product(range(most + 1), repeat=n_classes))
    leaves = np.array([leaf for leaf in leaves if leaf[0] == max(leaf)])
    worst, delta = 0.0, 0.0
    for i, j in itertools.product(range(n_classes), [None] if neighbors == "add-remove" else range(n_classes)):
        if i == j:
            continue
        moved = leaves.copy()
        moved[:, i] += 1
        if j is not None:
            moved[:, j] -= 1
        possible = moved.min(axis=1) >= 0
        p, q = log_pmf(CLAMPED, leaves[possible], epsilon), log_pmf(CLAMPED, moved[possible], epsilon)
        worst = max(worst, np.abs(p - q).max())
        for a, b in ((p, q), (q, p)):
            delta = max(delta, np.maximum(0, np.exp(a) - np.exp(epsilon + b)).sum(axis=1).max())
    one_leaf = {"n_classes": n_classes, "neighbors": neighbors}
    assert true_loss(CLAMPED, epsilon, one_leaf=True, **one_leaf) == pytest.approx(worst, rel=1e-9)
    assert delta_lower_bound(CLAMPED, epsilon, **one_leaf) == pytest.approx(delta, rel=1e-9)


def test_tiny_epsilon_is_near_its_limit():
    for epsilon in (1e-4, 1e-6):
        assert true_loss(CLAMPED, epsilon) == pytest.approx(50 * -math.expm1(-epsilon), rel=1e-3)


def test_without_the_cap_the_loss_is_infinite():
    for neighbors in ("add-remove", "replace-one"):
        assert true_loss("smooth-sensitivity", 0.01, neighbors=neighbors) == math.inf
    with pytest.raises(ValueError, match="No true loss"):
        true_loss("magic", 1)


def test_losses_of_partitions_match_values_by_hand():
    assert true_loss("permute-and-flip", 0.7, partition="blocks", n_trees=100) == pytest.approx(70)
    assert true_loss("permute-and-flip", 0.7, partition="blocks", n_trees=1) == 0.7
    assert true_loss("permute-and-flip", 0.35, partition="blocks", n_trees=100, neighbors="replace-one") == 0.7
    assert true_loss("discrete-laplace", 0.01, partition="shared", n_trees=100) == pytest.approx(1)
    assert true_loss(
        "discrete-laplace", 0.01, partition="shared", n_trees=100, neighbors="replace-one"
    ) == pytest.approx(2)
    shared = true_loss(CLAMPED, 0.01, partition="shared", n_trees=100)
    assert shared == pytest.approx(100 * true_loss(CLAMPED, 0.01))


def test_lower_bounds_on_delta_match_the_papers():
    """Lower bounds on δ match docs/PAPERS.md."""
    epsilons = (0.01, 0.05, 0.1, 0.2, 0.5, 1, 2, 3, 5, 10)

    def bounds(times=1, **how):
        return [delta_lower_bound("smooth-sensitivity", e, target=times * e, **how) for e in epsilons]

    two = [0.0010, 0.0051, 0.0105, 0.0216, 0.0613, 0.138, 0.495, 0.5, 0.5, 0.5]
    np.testing.assert_allclose(bounds(), two, atol=6e-4)
    twice = [0.0004, 0.0022, 0.0046, 0.0102, 0.0276, 0.025, 0.466, 0.5, 0.5, 0.5]
    np.testing.assert_allclose(bounds(times=2), twice, atol=6e-4)
    ten = [0.0038, 0.019, 0.039, 0.080, 0.207, 0.201, 0.757, 0.736, 0.624, 0.513]
    np.testing.assert_allclose(bounds(n_classes=10, contenders=2), ten, atol=6e-4)
    assert all(a >= b for a, b in zip(bounds(n_classes=10), bounds(n_classes=10, contenders=2), strict=True))
    replaced = dict(zip(epsilons, bounds(neighbors="replace-one"), strict=True))
    for epsilon, expected in {0.01: 0.003, 0.1: 0.031, 0.5: 0.171, 1: 0.434, 2: 0.995, 3: 1, 10: 1}.items():
        assert replaced[epsilon] == pytest.approx(expected, abs=6e-4)
    with pytest.raises(ValueError, match="not a published mechanism"):
        delta_lower_bound("permute-and-flip", 1)


def test_first_violations_match_the_papers():
    """The first leads that violate the claim match docs/PAPERS.md."""
    assert [first_violation(e) for e in EPSILONS] == [554, 79, 32, 13, 3, 1, 0, 0, 0, 0]
    assert [first_violation(e, 10) for e in EPSILONS] == [570, 82, 34, 14, 4, 1, 0, 0, 0, 0]


def test_smooth_sensitivity_matches_table_2_of_the_paper():
    """Smooth sensitivity as published matches table 2 of the paper, docs/PAPERS.md."""
    table = {
        0: (1, 1, 1),
        1: (0.99005, 0.90484, 0.36788),
        5: (0.95123, 0.60653, 0.00674),
        10: (0.90484, 0.36788, 4.54e-5),
        50: (0.60653, 0.00674, 1.93e-22),
        100: (0.36788, 4.54e-5, 3.72e-44),
        500: (0.00674, 1.93e-22, 7.12e-218),
    }
    for j, row in table.items():
        np.testing.assert_allclose([smooth_sensitivity_published(j, e) for e in (0.01, 0.1, 1)], row, rtol=2e-3)


@pytest.mark.parametrize("neighbors", ["add-remove", "replace-one"])
def test_smooth_sensitivity_equals_a_maximum_by_brute_force(neighbors):
    """Smooth sensitivity equals a maximum by brute force.

    For two classes, the smooth sensitivity of a leaf is a maximum over all leaves y. The maximum is of the product of
    exp(-ε d), where d is the distance to y in rows, and the largest change of the 0/1 scores of y by one row.
    """
    moves = [(1, 0), (-1, 0), (0, 1), (0, -1)] if neighbors == "add-remove" else [(1, -1), (-1, 1)]

    def scores(y):
        return [n == max(y) for n in y]

    for j in range(8):
        reached, best = {(20 + j, 20): 0}, 0.0
        for distance in range(10):
            for y in [y for y, d in reached.items() if d == distance]:
                around = [(y[0] + a, y[1] + b) for a, b in moves]
                best = max(best, math.exp(-0.3 * distance) * any(scores(z) != scores(y) for z in around))
                for z in around:
                    reached.setdefault(z, distance + 1)
        assert smooth_sensitivity(j, 0.3, neighbors) == pytest.approx(best)


def test_blocks_are_equal_and_random_and_omit_the_remaining_rows():
    trees = assign_blocks(103, 10, seed=4)
    assert trees.dtype == np.int32 and np.bincount(trees + 1).tolist() == [3] + [10] * 10
    assert (trees != assign_blocks(103, 10, seed=5)).any() and (np.diff(trees[trees >= 0]) < 0).any()
    assert set(assign_blocks(3, 10, seed=0)) == {-1} and len(assign_blocks(0, 3, seed=0)) == 0


def reasons_for(mechanism, partition="independent", neighbors="add-remove", n_trees=10, epsilon=1, share=1):
    choices = SimpleNamespace(
        mechanism=mechanism,
        partition=partition,
        neighbors=neighbors,
        n_trees=n_trees,
        exact_rate=lambda e: e / share,
    )
    return published.reasons(choices, 2, Fraction(epsilon))


def test_reasons_state_the_proved_loss_and_the_claim():
    why = reasons_for("smooth-sensitivity")
    assert len(why) == 2 and "without bound" in why[0] and why[-1] == REPRODUCTION
    why = reasons_for(CLAMPED)
    assert "capped at 50" in why[0] and "at most 22.8, not ε = 1;" in why[1]
    why = reasons_for("permute-and-flip", partition="blocks")
    assert "up to 10 times" in why[0] and "at most 10, not ε = 1;" in why[1]
    why = reasons_for("continuous-laplace", partition="shared", share=10)
    assert "floating point" in why[0] and "at most 1;" in why[1]
    assert (
        "at most 2, not ε = 1;"
        in reasons_for("continuous-laplace", partition="shared", share=10, neighbors="replace-one")[1]
    )
    why = reasons_for("exponential", partition="shared", share=20)
    assert "at most 0.5;" in why[0] and why[1:] == (REPRODUCTION,)


@settings(derandomize=True, deadline=None, max_examples=200)
@given(st.fractions(Fraction(1, 1000), 100), st.integers(1, 1000), st.sampled_from(["add-remove", "replace-one"]))
def test_ideal_figures_are_never_too_small(epsilon, n_trees, neighbors):
    """The certificate marks the loss for ideal real numbers, and this loss is at least the sum over all trees."""
    why = reasons_for("continuous-laplace", "shared", neighbors, n_trees, epsilon, share=n_trees)[1]
    ideal = re.fullmatch(
        r"In ideal real numbers the loss would be at most ([^,;]*)(, not ε = \S+)?; for the floating point that is "
        "used no finite bound is known.",
        why,
    )
    assert ideal and epsilon * (2 if neighbors == "replace-one" else 1) <= Fraction(ideal[1])
    assert bool(ideal[2]) == (neighbors == "replace-one")


PUBLISHED = [
    *(
        (MajorityLabelForestClassifier, {"leaf_mechanism": mechanism, "partition": partition})
        for mechanism in (None, *laws.PUBLISHED, *laws.CERTIFIED)
        for partition in (None, "independent", "shared")
    ),
    *((RandomDecisionForestClassifier, {"partition": partition}) for partition in ("shared", "independent")),
    (JagannathanForestClassifier, {}),
    *(
        (kind, {"budget": budget})
        for kind in (RandomForestLaplaceClassifier, RandomForestExponentialClassifier)
        for budget in (None, "fair", "paper")
    ),
    (MultinomialForestClassifier, {}),
    (MultinomialForestClassifier, {"feature_temperature": 0, "value_temperature": 0, "label_temperature": 0}),
    *(
        (BoostedForestClassifier, {"alpha": alpha, "beta": beta})
        for alpha in (None, 0.0, "schedule")
        for beta in (None, "one")
    ),
    *((FriedmanSchusterClassifier, {"criterion": criterion}) for criterion in ("max", "gini", "entropy")),
]


@pytest.mark.parametrize(("kind", "parameters"), PUBLISHED)
@pytest.mark.parametrize("neighbors", ["add-remove", "replace-one"])
@pytest.mark.parametrize("epsilon", [0.1, 4.0])
def test_no_forest_as_published_promises_a_finite_loss(kind, parameters, neighbors, epsilon):
    """No published forest states a finite loss, because it draws noise in floating point, for which nothing is proved.

    The certificate may state a loss for ideal real numbers, and marks it as such.
    """
    domain = load_dataset("car").domain
    forest = kind(mode="as_published", epsilon=epsilon, neighbors=neighbors, **parameters)
    for certificate in (forest.preview(domain, 100)[0], forest.set_params(random_state=0).preview(domain, 100)[0]):
        assert not certificate.certified and certificate.true_epsilon == math.inf and certificate.loss is None
        assert "true privacy loss: no finite bound." in str(certificate) and guarantee_of(certificate).kind == "none"
        figures = [r for r in certificate.reasons if re.search(r"loss (would be|is) (at most )?[0-9]", r)]
        assert all(f.startswith("In ideal real numbers") for f in figures)


def test_all_published_forests_are_covered():
    kinds = {getattr(dpforest, name) for name in dpforest.__all__ if name.endswith("Classifier")}
    kinds = {kind for kind in kinds if "mode" in kind().get_params()}  # the random-tree booster has no paper
    assert {kind for kind, _ in PUBLISHED} == kinds
