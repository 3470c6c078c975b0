"""Tests that a certificate certifies only if there is no reason against it, and always states its assumptions."""

import json
import math
import re
from dataclasses import replace
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpforest.privacy import Certificate, DemoSource, Ledger, SecretSource, certify, source_for
from dpforest.privacy.certificate import NO_PRIVACY, NOT_CLOSED, STANDING_ASSUMPTIONS
from dpforest.privacy.loss import PrivacyLoss, mu_for


def closed_ledger(epsilon="0.5", neighbors="add-remove", each=None):
    ledger = Ledger(epsilon, neighbors)
    ledger.charge("labels", "permute-and-flip", 1, each or Fraction(epsilon) / ledger.rows, 8, "parallel")
    ledger.close()
    return ledger


def test_a_closed_ledger_is_certified_with_its_assumptions():
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
        "this release alone",
        "'age'",
        "add-remove",
    ):
        assert words in text


def test_replace_one_assumes_a_public_number_of_rows():
    certificate = certify(closed_ledger(neighbors="replace-one"), mechanism="m")
    assert certificate.certified and any("number of rows" in a for a in certificate.assumptions)


def test_a_mechanism_that_costs_less_is_certified_at_its_cost():
    certificate = certify(closed_ledger(each="0.25"), mechanism="global-01")
    assert certificate.certified and certificate.true_epsilon == 0.25


@pytest.mark.parametrize("reason", ["The bounds of 'age' were read from the data.", *DemoSource(0).reasons()])
def test_any_reason_refuses_certification(reason):
    certificate = certify(closed_ledger(), mechanism="m", reasons=[reason, reason])
    assert not certificate.certified and certificate.reasons == (reason,) and certificate.true_epsilon == math.inf
    assert str(certificate).startswith("NOT CERTIFIED.") and reason in str(certificate)


def test_noise_sources_state_their_reasons():
    assert source_for(None).reasons() == () and isinstance(source_for(None), SecretSource)
    assert "seed" in source_for(3).reasons()[0]


def test_open_ledgers_and_no_budget_are_not_certified():
    ledger = Ledger(1)
    ledger.charge("labels", "m", 1, 1, 1, "parallel")
    assert certify(ledger, mechanism="m").reasons == (NOT_CLOSED,)
    assert certify(Ledger(None), mechanism="none").reasons == (NO_PRIVACY,)


@pytest.mark.parametrize(("nominal", "shown"), [(Fraction(1), "1"), (Fraction(2, 3), "0.666667"), (math.inf, "∞")])
def test_as_published_shows_the_claim_and_that_nothing_is_proved(nominal, shown):
    certificate = certify(Ledger(None), mechanism="m", reasons=["r"], nominal_epsilon=nominal)
    assert f"Nominal ε = {shown}; true privacy loss: no finite bound." in str(certificate)
    assert certificate.loss is None
    again = Certificate.from_dict(json.loads(json.dumps(certificate.to_dict(), allow_nan=False)))
    assert again == certificate and again.epsilon == nominal


def test_nothing_finite_is_promised_without_certification():
    """A certificate that does not certify cannot state a finite loss. A finite loss in its file is read as infinite."""
    data = certify(closed_ledger(), mechanism="m", reasons=["r"]).to_dict()
    assert Certificate.from_dict({**data, "true_epsilon": 0.3}).true_epsilon == math.inf
    with pytest.raises(ValueError, match="must not state a finite loss"):
        replace(Certificate.from_dict(data), true_epsilon=0.3)


@settings(derandomize=True, deadline=None, max_examples=300)
@given(st.fractions(Fraction(1, 10_000), 10_000), st.fractions(0, 1))
def test_the_proved_loss_is_never_below_what_was_spent(epsilon, share):
    """The proved loss is at least the spent loss: as a float, as text, and after a round trip through a file."""
    spent = epsilon * share or epsilon
    ledger = Ledger(epsilon)
    ledger.charge("labels", "m", 1, spent, 1, "parallel")
    ledger.close()
    certificate = certify(ledger, mechanism="m")
    assert ledger.spent <= certificate.loss <= Fraction(certificate.true_epsilon)
    assert certificate.true_epsilon == min(x for x in around(float(ledger.spent)) if Fraction(x) >= ledger.spent)
    shown = re.search(r"ε = (\S+), δ", str(certificate))[1]
    assert ledger.spent <= Fraction(shown) <= ledger.spent * (1 + Fraction(2, 10**5))
    assert Certificate.from_dict(json.loads(json.dumps(certificate.to_dict()))) == certificate
    if share == 1 and len(str(float(epsilon))) < 7 and Fraction(str(float(epsilon))) == epsilon:
        assert float(shown) == float(epsilon)


def around(x):
    return math.nextafter(x, 0), x, math.nextafter(x, math.inf)


def test_a_file_of_an_earlier_version_with_a_loss_rounded_to_the_nearest_is_read():
    data = certify(closed_ledger("0.7"), mechanism="m").to_dict()
    assert data["true_epsilon"] > 0.7
    assert Certificate.from_dict({**data, "true_epsilon": 0.7}).true_epsilon == 0.7
    with pytest.raises(ValueError, match="must have a budget"):
        Certificate.from_dict({**data, "true_epsilon": math.nextafter(data["true_epsilon"], 1)})


@pytest.mark.parametrize("reasons", [(), ("The noise comes from a seed.",)])
def test_a_certificate_is_unchanged_by_a_json_round_trip(reasons):
    certificate = certify(closed_ledger("1/7"), mechanism="m", assumptions=["a"], reasons=reasons)
    again = Certificate.from_dict(json.loads(json.dumps(certificate.to_dict(), allow_nan=False)))
    assert again == certificate and again.epsilon == Fraction(1, 7)


@pytest.mark.parametrize(
    "forged",
    [
        {"certified": True},
        {"reasons": []},
        {"certified": True, "reasons": []},  # its proved loss is infinite
        {"assumptions": []},
        {"delta": 1e-5},
        {"neighbors": "swap"},
        {"neighbors": "replace-one"},  # lacks the assumption that the number of rows is public
        {"reasons": "The noise comes from a seed."},
    ],
)
def test_forged_certificates_are_refused(forged):
    honest = certify(closed_ledger(), mechanism="m", reasons=["The noise comes from a seed."]).to_dict()
    with pytest.raises(ValueError):
        Certificate.from_dict({**honest, **forged})


def test_a_file_that_states_certified_as_text_is_refused():
    data = certify(Ledger(None), mechanism="none").to_dict()
    with pytest.raises(ValueError, match="true or false"):
        Certificate.from_dict({**data, "certified": "false"})


# ---------------------------------------------------------------- Gaussian


def closed_gaussian(budget=None, share=1, neighbors="add-remove"):
    ledger = Ledger(budget or mu_for(1, 1e-6), neighbors)
    each = PrivacyLoss.gaussian(ledger.budget.mu_squared * share / ledger.rows**2 / 300)
    ledger.charge("gradients", "rounded Gaussian", 1, each, 300, "sequential")
    ledger.close()
    return ledger


@pytest.mark.parametrize("neighbors", ["add-remove", "replace-one"])
def test_a_gaussian_certificate_states_mu_and_an_epsilon_at_delta(neighbors):
    ledger = closed_gaussian(neighbors=neighbors)
    certificate = certify(ledger, mechanism="m", delta=1e-6, nominal_epsilon=Fraction(1))
    assert certificate.certified and (certificate.kind, certificate.delta) == ("gaussian", 1e-6)
    assert certificate.epsilon == certificate.loss == 1 and certificate.true_epsilon == 1
    assert certificate.privacy_loss == ledger.loss and certificate.neighbors == neighbors
    assert str(certificate).startswith(
        "CERTIFIED: Gaussian differential privacy with μ = 0.236705, which is ε = 1 at δ ="
    )
    assert "μ is multiplied by their number" in str(certificate) and "ε is multiplied" not in str(certificate)
    data = json.loads(json.dumps(certificate.to_dict(), allow_nan=False))
    assert Certificate.from_dict(data) == certificate
    assert certify(ledger, mechanism="m", delta=1e-6).epsilon == ledger.budget.epsilon(1e-6) <= 1


def test_an_unspent_budget_lowers_the_proved_epsilon():
    certificate = certify(closed_gaussian(share=Fraction(1, 4)), mechanism="m", delta=1e-6, nominal_epsilon=Fraction(1))
    assert certificate.epsilon == 1 and certificate.true_epsilon < 0.55
    assert certificate.privacy_loss.holds(certificate.true_epsilon, 1e-6)
    assert not certificate.privacy_loss.holds(certificate.true_epsilon * 0.999999, 1e-6)


@pytest.mark.parametrize("delta", [1e-6, 1e-9])
@pytest.mark.parametrize("epsilon", [0.03, 0.1, 1 / 3, 2.5])
def test_every_epsilon_and_delta_that_a_budget_is_made_for_is_certified(epsilon, delta):
    nominal = Fraction(str(epsilon))
    certificate = certify(closed_gaussian(mu_for(nominal, delta)), mechanism="m", delta=delta, nominal_epsilon=nominal)
    assert certificate.certified and nominal * (1 - Fraction(1, 10**8)) < certificate.loss <= nominal
    shown = re.search(r"ε = (\S+) at δ = (\S+)\.", str(certificate))
    assert certificate.privacy_loss.holds(shown[1], shown[2])
    shown_mu = Fraction(re.search(r"μ = (\S+),", str(certificate))[1])
    assert shown_mu**2 >= certificate.mu_squared


@pytest.mark.parametrize(
    "forged",
    [
        {"mu_squared": "1"},  # needs a larger ε
        {"mu_squared": "0"},
        {"mu_squared": None},
        {"delta": 9e-7},
        {"delta": 0.0},
        {"delta": 1.0},
        {"true_epsilon": 0.999},
        {"epsilon": "999/1000"},
        {"true_epsilon": 1.001},
        {"kind": "pure"},
        {"kind": "pure", "delta": 0.0},
        {"kind": "pure", "delta": 0.0, "mu_squared": None},  # has the assumptions of a Gaussian loss
        {"kind": "renyi"},
    ],
)
def test_a_gaussian_certificate_that_does_not_follow_from_its_mu_is_refused(forged):
    data = certify(closed_gaussian(), mechanism="m", delta=1e-6, nominal_epsilon=Fraction(1)).to_dict()
    with pytest.raises(ValueError):
        Certificate.from_dict({**data, **forged})


def test_a_gaussian_ledger_that_is_not_certified_promises_nothing():
    certificate = certify(
        closed_gaussian(), mechanism="m", delta=1e-6, nominal_epsilon=Fraction(1), reasons=["A seed."]
    )
    assert not certificate.certified and certificate.privacy_loss is None and certificate.loss is None
    assert "Nominal ε = 1 at δ = 1e-06; true privacy loss: no finite bound." in str(certificate)
    data = json.loads(json.dumps(certificate.to_dict(), allow_nan=False))
    assert Certificate.from_dict(data) == certificate
    assert (
        Certificate.from_dict({**data, "mu_squared": "1/1000"}).mu_squared is None
    )  # a loss without a proof is not read


def test_delta_must_match_the_kind_of_the_ledger():
    with pytest.raises(ValueError, match="δ"):
        certify(closed_gaussian(), mechanism="m")
    with pytest.raises(ValueError, match="no δ"):
        certify(closed_ledger(), mechanism="m", delta=1e-6)
    with pytest.raises(ValueError, match="not proved"):
        certify(closed_gaussian(), mechanism="m", delta=1e-6, nominal_epsilon=Fraction(99, 100))


def test_a_pure_certificate_has_no_new_field_in_its_file():
    certificate = certify(closed_ledger(), mechanism="m")
    assert "mu_squared" not in certificate.to_dict() and certificate.privacy_loss == PrivacyLoss.pure("0.5")
    assert "ε is multiplied" in str(certificate)
