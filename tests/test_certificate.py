"""A certificate says yes only when nothing speaks against it, and always says on what conditions."""

import json
import math
from fractions import Fraction

import pytest

from dpforest.privacy import Certificate, DemoSource, Ledger, SecretSource, certify, source_for
from dpforest.privacy.certificate import NO_PRIVACY, NOT_CLOSED, STANDING_ASSUMPTIONS


def closed_ledger(epsilon="0.5", neighbours="add-remove", each=None):
    ledger = Ledger(epsilon, neighbours)
    ledger.charge("labels", "permute-and-flip", 1, each or Fraction(epsilon) / ledger.rows, 8, "parallel")
    ledger.close()
    return ledger


def test_certified():
    certificate = certify(closed_ledger(), mechanism="permute-and-flip", assumptions=["Bounds of 'age': documented."])
    assert certificate.certified and certificate.epsilon == Fraction(1, 2) and certificate.true_epsilon == 0.5
    assert certificate.reasons == () and certificate.delta == 0
    assert certificate.assumptions[:3] == STANDING_ASSUMPTIONS
    text = str(certificate)
    assert text.startswith("CERTIFIED: pure differential privacy with ε = 0.5, δ = 0.")
    for words in (
        "one row",
        "several rows",
        "choosing them by looking at this table",
        "one release",
        "'age'",
        "add-remove",
    ):
        assert words in text


def test_replace_one_rests_on_a_public_number_of_rows():
    certificate = certify(closed_ledger(neighbours="replace-one"), mechanism="m")
    assert certificate.certified and any("number of rows" in a for a in certificate.assumptions)


def test_a_mechanism_that_costs_less_is_certified_for_what_it_costs():
    certificate = certify(closed_ledger(each="0.25"), mechanism="global-01")
    assert certificate.certified and certificate.true_epsilon == 0.25


@pytest.mark.parametrize("reason", ["The bounds of 'age' were read from the data.", *DemoSource(0).reasons()])
def test_any_reason_refuses(reason):
    certificate = certify(closed_ledger(), mechanism="m", reasons=[reason, reason])
    assert not certificate.certified and certificate.reasons == (reason,) and certificate.true_epsilon == math.inf
    assert str(certificate).startswith("NOT CERTIFIED.") and reason in str(certificate)


def test_sources_speak_for_themselves():
    assert source_for(None).reasons() == () and isinstance(source_for(None), SecretSource)
    assert "seed" in source_for(3).reasons()[0]


def test_open_ledgers_and_no_budget_are_not_certified():
    ledger = Ledger(1)
    ledger.charge("labels", "m", 1, 1, 1, "parallel")
    assert certify(ledger, mechanism="m").reasons == (NOT_CLOSED,)
    assert certify(Ledger(None), mechanism="none").reasons == (NO_PRIVACY,)


def test_published_shows_its_true_loss_beside_the_nominal_one():
    certificate = certify(
        Ledger(None),
        mechanism="smooth-sensitivity-clamped",
        reasons=["r"],
        true_epsilon=22.7,
        nominal_epsilon=Fraction(1),
    )
    assert not certificate.certified and "Nominal ε = 1; true privacy loss: 22.7." in str(certificate)
    assert "true privacy loss: no finite bound" in str(
        certify(Ledger(None), mechanism="m", reasons=["r"], nominal_epsilon=Fraction(1))
    )


@pytest.mark.parametrize("reasons", [(), ("The noise comes from a seed.",)])
def test_json_trip(reasons):
    certificate = certify(closed_ledger("1/7"), mechanism="m", assumptions=["a"], reasons=reasons)
    again = Certificate.from_dict(json.loads(json.dumps(certificate.to_dict(), allow_nan=False)))
    assert again == certificate and again.epsilon == Fraction(1, 7)


@pytest.mark.parametrize(
    "forged",
    [
        {"certified": True},
        {"reasons": []},
        {"certified": True, "reasons": []},  # its true loss is infinite
        {"assumptions": []},
        {"delta": 1e-5},
        {"neighbours": "swap"},
        {"neighbours": "replace-one"},  # and does not say that the number of rows is public
        {"reasons": "The noise comes from a seed."},
    ],
)
def test_forged_certificates_are_refused(forged):
    honest = certify(closed_ledger(), mechanism="m", reasons=["The noise comes from a seed."]).to_dict()
    with pytest.raises(ValueError):
        Certificate.from_dict({**honest, **forged})


def test_a_file_that_says_certified_in_words_is_refused():
    data = certify(Ledger(None), mechanism="none").to_dict()
    with pytest.raises(ValueError, match="true or false"):
        Certificate.from_dict({**data, "certified": "false"})
