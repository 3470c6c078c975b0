"""Tests that a forest can be released only with a closed ledger, for both kinds of privacy loss."""

from fractions import Fraction

import numpy as np
import pytest

from dpforest.models.assemble import assemble
from dpforest.privacy.certificate import certify
from dpforest.privacy.ledger import BudgetError, Ledger
from dpforest.privacy.loss import PrivacyLoss, mu_for
from dpforest.trees.forest import CuratorForest, ReleasedForest
from dpforest.trees.layout import LEAF, Trees
from dpforest.trees.leaves import LabelLeaves
from tests.conftest import public_domain

DOMAIN = public_domain(None)
STUMP = Trees(
    kind=np.array([LEAF], np.uint8),
    feature=np.array([-1], np.int32),
    threshold=np.array([-1], np.int32),
    first_child=np.array([1], np.int32),
    tree_start=np.array([0, 1]),
    depth=0,
)


def ledger_of(budget: Fraction | PrivacyLoss | None) -> Ledger:
    ledger = Ledger(budget)
    ledger.charge("label of the leaf", "some noise", 1, budget, 1, "sequential")
    return ledger


def made(ledger: Ledger, delta: float):
    promise = certify(ledger, mechanism="m", delta=delta)
    return assemble(STUMP, DOMAIN, LabelLeaves(np.array([1], np.uint8)), certificate=promise, ledger=ledger, about={})


@pytest.mark.parametrize("budget, delta", [(Fraction(1), 0), (mu_for(1, 1e-6), 1e-6)], ids=["pure", "gaussian"])
def test_a_budget_of_either_kind_makes_a_released_forest_once_it_is_closed(budget, delta):
    ledger = ledger_of(budget)
    with pytest.raises(BudgetError, match="still open"):
        made(ledger, delta)
    ledger.close()
    forest = made(ledger, delta)
    assert isinstance(forest, ReleasedForest) and forest.certificate.certified


def test_without_a_budget_a_forest_stays_with_the_curator():
    forest = made(ledger_of(None), 0)
    assert isinstance(forest, CuratorForest) and not isinstance(forest, ReleasedForest)
