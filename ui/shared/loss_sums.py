"""Privacy loss of several releases on the same people: a sum of ε and a sum of μ², reported as one ε at one δ.

A release protects a row, or a person with all of their rows (`Domain.unit`). Releases of one unit add up for this unit.
Releases of different units add up only for one row that is exchanged for another with the same identifiers. For a
person with all of their rows, no sum is known. The proof is in docs/PRIVACY.md, "A person instead of a row".
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from fractions import Fraction
from typing import Final, NamedTuple

from dpforest.plotting.audit import raised
from dpforest.privacy.certificate import Certificate, large_delta_caution
from dpforest.privacy.ledger import ADD_REMOVE, REPLACE_ONE, Ledger, unit_noun
from dpforest.privacy.loss import GAUSSIAN, KINDS, PrivacyLoss
from dpforest.privacy.tradeoff_curve import steps_of
from dpforest.risk.guarantee import MEMBERSHIP, Guarantee, guarantee_of
from dpforest.risk.tradeoff import DistinguishingGame
from ui.shared.wording import of_100, share_text, sum_text, unbroken, value_epsilon

_POWER: Final = re.compile(r"^1e-(\d+)$")
_NO_WAY_BACK: Final = "What was released under replace-one has no ε under add-remove."
_DIFFERENT_UNITS: Final = "Releases for different units of privacy are added up under replace-one only."


class Cost(NamedTuple):
    """Cost of one release: an ε or a loss, and the neighbor relation and unit of privacy for which it is stated."""

    loss: Fraction | PrivacyLoss
    neighbors: str
    unit: str | None = None


def as_loss(cost: Fraction | PrivacyLoss) -> PrivacyLoss:
    """Return an ε as a `PrivacyLoss`."""
    return cost if isinstance(cost, PrivacyLoss) else PrivacyLoss.pure(cost)


def loss_under(cost: Fraction | PrivacyLoss, neighbors: str, relation: str) -> PrivacyLoss:
    """Return the loss of one release under the relation of a sum.

    Replacing a row or a person removes one and adds another, so ε under add-remove costs 2ε under replace-one, and μ
    costs 2μ. There is no conversion back: a guarantee under replace-one does not cover tables of different sizes.
    """
    if neighbors == REPLACE_ONE and relation == ADD_REMOVE:
        raise ValueError(_NO_WAY_BACK)
    return as_loss(cost) if neighbors == relation else as_loss(cost).replace_one()


def counted(epsilon: Fraction, neighbors: str, relation: str) -> Fraction:
    """Return ε of one pure release under the relation of a sum (`loss_under`).

    >>> counted(Fraction(1, 2), "add-remove", "replace-one")
    Fraction(1, 1)
    """
    return loss_under(epsilon, neighbors, relation).pure_epsilon


def added_up(costs: Iterable[Cost], delta: float = 0.0, relation: str | None = None) -> tuple[Fraction, str]:
    """Return (ε, relation) of several releases on the same people. Mixed relations add up under replace-one.

    The sum is for the unit of privacy of the costs. If their units differ, the sum is for one row that is exchanged for
    another with the same identifiers. In each release, this exchanges a row, or a person whose identifier stays.

    For pure losses, ε adds up; for Gaussian losses, μ² adds up. The Gaussian sum is converted to an ε at δ, and this ε
    is added to the pure sum: the composition of (ε, 0) and (ε', δ) is (ε + ε', δ) (Dwork and Roth 2014, Theorem 3.16).

    Parameters
    ----------
    costs : iterable of Cost
    delta : float
        δ of the sum; it must be above 0 if a loss is Gaussian.
    relation : str, optional
        Relation of the sum. By default, the relation of the costs, or replace-one if their relations or units differ.

    Raises
    ------
    ValueError
        If the costs have no sum under `relation`, or δ is out of range.

    Examples
    --------
    >>> added_up([Cost(Fraction(1), "add-remove"), Cost(Fraction(1), "replace-one")])
    (Fraction(3, 1), 'replace-one')
    >>> added_up([Cost(Fraction(1), "add-remove"), Cost(Fraction(1), "add-remove", "patient_id")])
    (Fraction(4, 1), 'replace-one')
    """
    costs = list(costs)
    is_mixed = len({cost.unit for cost in costs}) > 1
    if relation is None:
        all_add_remove = all(cost.neighbors == ADD_REMOVE for cost in costs)
        relation = ADD_REMOVE if all_add_remove and not is_mixed else REPLACE_ONE
    if is_mixed and relation == ADD_REMOVE:
        raise ValueError(_DIFFERENT_UNITS)
    losses = [loss_under(cost.loss, cost.neighbors, relation) for cost in costs]
    total = Fraction(0)
    for kind in KINDS:
        loss = PrivacyLoss.total((loss for loss in losses if loss.kind == kind), kind)
        total += loss.epsilon(delta if kind == GAUSSIAN else 0)
    return total, relation


def caution_on_delta(delta: float, n_rows: int, unit: str | None = None) -> str:
    """Return the certificate's caution about a δ that is not below 1/n, as markdown. Empty if δ is below 1/n."""
    return unbroken(large_delta_caution(delta, n_rows, unit))


def at_delta(delta: float) -> str:
    """Return the words with δ that follow an ε in a sentence; empty if δ is 0.

    >>> at_delta(0), at_delta(1e-6), at_delta(0.001)
    ('', ' at δ = 10⁻⁶', ' at δ = 0.001')
    """
    return f" at δ = {_POWER.sub(lambda match: f'10{raised(-int(match[1]))}', sum_text(delta))}" if delta else ""


def would_promise(certificate: Certificate, ledger: Ledger) -> Guarantee:
    """Return the guarantee that a release would have if its schema were public, from the noise in its ledger."""
    if certificate.certified or not ledger.has_budget:
        return guarantee_of(certificate)
    steps, unit = steps_of(ledger), ledger.unit
    return Guarantee.of_loss(ledger.loss, ledger.neighbors, delta=certificate.delta, steps=steps, unit=unit)


def guess_words(promise: Guarantee) -> str:
    """Return the largest number of right guesses in a hundred guesses at 50:50, in words.

    >>> guess_words(Guarantee(Fraction(1), 0.0, "replace-one"))
    'of 100 guesses between two values of a row in the table, at most 73.2 are right'
    >>> guess_words(Guarantee(Fraction(1), steps=((Fraction(1, 100), 100),)))
    'of 100 guesses whether a row is in the table, at most 52 are right; between two values of a row, at most 54'
    """
    shares, noun = [success_share(promise, question) for question in promise.questions], unit_noun(promise.unit)
    if MEMBERSHIP not in promise.questions:
        return f"of 100 guesses between two values of a {noun} in the table, at most {shares[0]} are right"
    return (
        f"of 100 guesses whether a {noun} is in the table, at most {shares[0]} are right; between two values of a "
        f"{noun}, at most {shares[1]}"
    )


def success_share(promise: Guarantee, question: str) -> str:
    """Return the largest number of right guesses in a hundred guesses at 50:50, rounded up.

    >>> [success_share(Guarantee(epsilon), MEMBERSHIP) for epsilon in (1, 20)]
    ['73.2', 'practically all']
    """
    return of_100(DistinguishingGame(promise, question).success())


def belief_words(promise: Guarantee) -> str:
    """Return how sure somebody with a prior of 50 % can become after a release, as a sentence without its period.

    Empty if δ > 0, because rare releases may change a belief without limit.

    >>> belief_words(Guarantee(Fraction(1), 0.0, "replace-one"))
    'Somebody who is 50 % sure which of two values a row in the table has can become at most 73.2 % sure'
    """
    if promise.delta:
        return ""
    epsilon, noun = float(promise.epsilon), unit_noun(promise.unit)
    value = f"at most {share_text(value_epsilon(epsilon, promise.neighbors))}"
    if MEMBERSHIP not in promise.questions:
        return f"Somebody who is 50 % sure which of two values a {noun} in the table has can become {value} sure"
    return (
        f"Somebody who is 50 % sure whether a {noun} is in the table can become at most {share_text(epsilon)} sure; "
        f"between two values of a {noun}, {value}"
    )
