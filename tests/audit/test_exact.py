"""Exact audits against tables of the papers: the worst pair of leaves, the first pair that breaks a claim, and δ."""

import math

import numpy as np
import pytest

from dpforest.audit.exact import (
    delta_between,
    delta_curve,
    first_violation,
    leaf_log_pmf,
    loss_between,
    neighboring_leaves,
    worst_change,
)
from dpforest.privacy.laws import CERTIFIED, log_pmf
from dpforest.privacy.mechanisms import privacy_loss
from dpforest.privacy.true_loss import delta_lower_bound, true_loss
from dpforest.privacy.true_loss import first_violation as first_lead

EPSILONS = (0.01, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10)


def test_exactly_the_neighbors_of_a_leaf_are_tried():
    before, after = neighboring_leaves(3, 2)
    assert len(before) == 27 * 3 and (after.sum(axis=1) == before.sum(axis=1) + 1).all()
    assert len({(*b, *a) for b, a in zip(before.tolist(), after.tolist())}) == 81
    before, after = neighboring_leaves(3, 2, moved=True)
    assert (after.sum(axis=1) == before.sum(axis=1)).all() and after.min() >= 0
    assert len(before) == sum(2 * np.count_nonzero(leaf) for leaf in np.ndindex(3, 3, 3))
    assert (np.diff(before.sum(axis=1)) >= 0).all()


@pytest.mark.parametrize("mechanism", CERTIFIED)
@pytest.mark.parametrize("n_classes, most", [(2, 12), (3, 5), (4, 3)])
def test_one_order_of_the_classes_is_enough_if_the_law_is_symmetric(mechanism, n_classes, most):
    pmf = leaf_log_pmf(mechanism, 0.7)
    for neighbors in ("add-remove", "replace-one"):
        in_one_order = worst_change(pmf, n_classes, most=most, neighbors=neighbors, symmetric=True)
        every = worst_change(pmf, n_classes, most=most, neighbors=neighbors)
        assert in_one_order.loss == pytest.approx(every.loss, rel=1e-12)


def test_worst_losses_of_ten_classes_match_those_of_the_papers():
    """With ten classes, the published rule loses what docs/PAPERS.md states, and permute-and-flip loses ε."""
    published = [
        worst_change(leaf_log_pmf("smooth-sensitivity", e), 10, most=3, symmetric=True).loss / e for e in (1, 2)
    ]
    np.testing.assert_allclose(published, [17.3, 1289], rtol=0.03)
    assert worst_change(leaf_log_pmf("permute-and-flip", 1.0), 10, most=3, symmetric=True).loss == pytest.approx(1)


def test_the_worst_change_is_a_change_and_its_loss_is_attained():
    for neighbors, rows in (("add-remove", 1), ("replace-one", 2)):
        for mechanism in (*CERTIFIED, "smooth-sensitivity"):
            change = worst_change(leaf_log_pmf(mechanism, 0.8), 3, most=4, neighbors=neighbors)
            moved = np.abs(change.after - change.before).sum()
            assert moved == rows and (change.after.sum() - change.before.sum()) % 2 == rows % 2
            ratio = sum(
                log_pmf(mechanism, change.before[i], 0.8)[0, out] - log_pmf(mechanism, change.after[i], 0.8)[0, out]
                for i, out in enumerate(change.outputs)
            )
            assert abs(ratio) == pytest.approx(change.loss)


def test_first_violation_is_the_first_in_rows():
    """The first leaf that breaks the claim has the lead of docs/PAPERS.md. From ε = 2 on, this leaf is empty."""
    for epsilon, lead in zip(EPSILONS[1:], (79, 32, 13, 3, 1, 0, 0, 0)):
        violation = first_violation(leaf_log_pmf("smooth-sensitivity", epsilon), epsilon, 2, most=90, symmetric=True)
        assert violation.before.tolist() == [[lead, 0]] and violation.after.tolist() == [[lead + 1, 0]]
        assert lead == first_lead(epsilon)
        assert violation.loss == pytest.approx(privacy_loss("smooth-sensitivity", [lead], 2, epsilon)[0])
        assert (
            first_violation(leaf_log_pmf("smooth-sensitivity", epsilon), violation.loss, 2, most=max(lead, 1) - 1)
            is None
        )
    replaced = first_violation(leaf_log_pmf("smooth-sensitivity", 1.0), 1.0, 2, most=9, neighbors="replace-one")
    assert replaced.before.sum() <= 2 and replaced.loss > 1


@pytest.mark.parametrize("mechanism", [*CERTIFIED, "discrete-laplace"])
def test_no_certified_law_has_a_violation(mechanism):
    for epsilon in (0.1, 1.0, 4.0):
        for neighbors, rows in (("add-remove", 1), ("replace-one", 2)):
            rate = epsilon / (2 if mechanism == "global-01" else rows)
            pmf = leaf_log_pmf(mechanism, rate)
            assert first_violation(pmf, epsilon, 2, most=25, neighbors=neighbors) is None
            assert first_violation(pmf, epsilon, 3, most=6, neighbors=neighbors) is None
            assert delta_curve(pmf, [epsilon], 3, most=4, neighbors=neighbors)[0] <= 1e-9


def test_a_rate_one_per_cent_too_high_is_a_violation():
    assert first_violation(leaf_log_pmf("permute-and-flip", 1.01), 1.0, 2, most=5).loss == pytest.approx(1.01)
    change = first_violation(leaf_log_pmf("exponential", 0.51), 1.0, 2, most=40, neighbors="replace-one")
    assert change.loss > 1


@pytest.mark.parametrize("mechanism", ["smooth-sensitivity", "smooth-sensitivity-clamped"])
def test_enumeration_agrees_with_the_closed_forms_of_the_published_rule(mechanism):
    for epsilon in (0.5, 1.0, 2.0):
        pmf = leaf_log_pmf(mechanism, epsilon)
        for target in (epsilon, 2 * epsilon):
            enumerated = delta_curve(pmf, [target], 2, most=30, symmetric=True)[0]
            assert enumerated == pytest.approx(delta_lower_bound(mechanism, epsilon, target=target), abs=1e-9)
    for neighbors in ("add-remove", "replace-one"):
        loss = worst_change(leaf_log_pmf(mechanism, 1.0), 2, most=14, neighbors=neighbors, symmetric=True).loss
        if mechanism == "smooth-sensitivity-clamped":
            assert loss == pytest.approx(true_loss(mechanism, 1.0, neighbors=neighbors))


def test_delta_under_replace_one_is_at_least_that_within_a_leaf():
    pmf = leaf_log_pmf("smooth-sensitivity", 1.0)
    within = delta_lower_bound("smooth-sensitivity", 1.0, neighbors="replace-one")
    assert within == pytest.approx(0.434, abs=0.001)  # docs/PAPERS.md
    assert delta_curve(pmf, [1.0], 2, most=12, neighbors="replace-one", symmetric=True)[0] >= within - 1e-12


def test_loss_and_delta_of_any_two_laws_match_values_by_hand():
    p, q = np.log([0.5, 0.25, 0.25]), np.log([0.25, 0.25, 0.5])
    assert loss_between(p, q) == pytest.approx(math.log(2))
    np.testing.assert_allclose(delta_between(p, q, [0, math.log(2), 1]), [0.25, 0, 0], atol=1e-12)
    with np.errstate(divide="ignore"):
        p, q = np.log([0.5, 0.5, 0.0]), np.log([0.9, 0.0, 0.1])
    assert loss_between(p, q) == math.inf
    assert delta_between(p, q, [100.0])[0] == pytest.approx(0.5)
    assert loss_between(np.log([1.0]), np.log([1.0])) == 0
