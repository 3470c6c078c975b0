"""The guarantees of a certificate, and the questions about risk to which each applies."""

import math
from fractions import Fraction

import pytest

from dpforest.privacy.certificate import certify
from dpforest.privacy.ledger import Ledger
from dpforest.risk.guarantee import Guarantee, guarantee_of


def test_questions_of_a_guarantee():
    assert Guarantee(1.0).questions == ("membership", "value")
    assert Guarantee(1.0, 0, "replace-one").questions == ("value",)


def test_invalid_guarantees_are_refused():
    for wrong in (
        {"epsilon": -1.0},
        {"epsilon": math.nan},
        {"epsilon": 1.0, "delta": -0.1},
        {"epsilon": 1, "delta": 2},
    ):
        with pytest.raises(ValueError, match="must be at least 0|is not a number from 0 to 1"):
            Guarantee(**wrong)
    with pytest.raises(ValueError, match="neighbors"):
        Guarantee(1.0, 0, "bounded")


def test_only_certified_forests_have_a_guarantee():
    ledger = Ledger(1, "replace-one")
    ledger.charge("labels", "permute-and-flip", 1, "1/4", 1, "parallel")
    ledger.close()
    held = certify(ledger, mechanism="m")
    half = Fraction(1, 2)  # the guarantee uses the spent loss, not the budget
    assert guarantee_of(held) == Guarantee(half, 0, "replace-one", steps=((half, 1),))
    broken = certify(ledger, mechanism="m", reasons=["bounds read from the data"])
    assert guarantee_of(broken).kind == "none"
