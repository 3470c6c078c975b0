"""Privacy loss of several releases on the same people: a sum in ε and one in μ², reported as one ε at one δ."""

from __future__ import annotations

import re
from collections.abc import Iterable
from fractions import Fraction
from typing import Final

from dpforest.plotting.audit import raised
from dpforest.privacy.certificate import large_delta_caution
from dpforest.privacy.ledger import ADD_REMOVE, REPLACE_ONE
from dpforest.privacy.loss import GAUSSIAN, KINDS, PrivacyLoss, mu_for
from dpforest.privacy.rationals import positive_fraction
from dpforest.risk.guarantee import MEMBERSHIP, VALUE, Guarantee
from dpforest.risk.rounding import percent_up
from dpforest.risk.tradeoff import DistinguishingGame
from ui.shared.wording import share_text, sum_text, unbroken, value_epsilon

Cost = tuple[Fraction | PrivacyLoss, str]  # an ε or a loss, and the relation that it is stated for
_POWER: Final = re.compile(r"^1e-(\d+)$")
_NO_WAY_BACK: Final = "What was released under replace-one has no ε under add-remove."


def as_loss(cost: Fraction | PrivacyLoss) -> PrivacyLoss:
    """Return an ε as a `PrivacyLoss`."""
    return cost if isinstance(cost, PrivacyLoss) else PrivacyLoss.pure(cost)


def loss_under(cost: Fraction | PrivacyLoss, neighbors: str, relation: str) -> PrivacyLoss:
    """Return the loss of one release under the relation of a sum.

    Exchanging a row is removing one and adding one, so ε under add-remove costs 2ε under replace-one, and μ costs 2μ.
    There is no conversion back: a guarantee under replace-one does not cover tables of different sizes.
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
    """Return (ε, relation) of several releases on the same people; mixed relations add up under replace-one.

    Pure losses add up in ε, Gaussian ones in μ². The Gaussian sum is converted to an ε at δ, which is added to the pure
    sum: the composition of (ε, 0) and (ε', δ) is (ε + ε', δ) (Dwork and Roth 2014, Theorem 3.16).

    Parameters
    ----------
    costs : pairs of (Fraction or PrivacyLoss, relation)
    delta : float
        δ of the sum; it must be above 0 if a loss is Gaussian.
    relation : str, optional
        Relation of the sum. By default, the relation of the costs, or replace-one if they differ.

    Examples
    --------
    >>> added_up([(Fraction(1), "add-remove"), (Fraction(1), "replace-one")])
    (Fraction(3, 1), 'replace-one')
    """
    costs = list(costs)
    if relation is None:
        relation = ADD_REMOVE if all(neighbors == ADD_REMOVE for _, neighbors in costs) else REPLACE_ONE
    losses = [loss_under(*cost, relation) for cost in costs]
    total = Fraction(0)
    for kind in KINDS:
        loss = PrivacyLoss.total((one for one in losses if one.kind == kind), kind)
        total += loss.epsilon(delta if kind == GAUSSIAN else 0)
    return total, relation


def caution_on_delta(delta: float, n_rows: int) -> str:
    """Return the certificate's caution about a δ that is not below 1/n, as markdown. Empty if δ is below 1/n."""
    return unbroken(large_delta_caution(delta, n_rows))


def at_delta(delta: float) -> str:
    """Return the words with δ that follow an ε in a sentence; empty if δ is 0.

    >>> at_delta(0), at_delta(1e-6), at_delta(0.001)
    ('', ' at δ = 10⁻⁶', ' at δ = 0.001')
    """
    return f" at δ = {_POWER.sub(lambda match: f'10{raised(-int(match[1]))}', sum_text(delta))}" if delta else ""


def would_promise(epsilon: float, delta: float, neighbors: str) -> Guarantee:
    """Return a certified release's guarantee. If δ > 0, it is the whole Gaussian curve, which says more than ε and δ.

    >>> success_share(would_promise(1.0, 1e-6, ADD_REMOVE), MEMBERSHIP)
    '54.8 %'
    """
    if not delta:
        return Guarantee(epsilon, 0.0, neighbors)
    return Guarantee.of_loss(mu_for(positive_fraction(epsilon), delta), neighbors, delta=delta)


def sure_words(promise: Guarantee) -> str:
    """Return the most that somebody with a prior of 50 % may learn, in words.

    With δ > 0 a belief may become anything in rare releases, so the sentence bounds how often a guess is right.

    >>> sure_words(Guarantee(Fraction(1), 0.0, "replace-one"))
    'unsure (50 %) between two values of somebody in the table, one can become at most 73.2 % sure'
    >>> sure_words(Guarantee(Fraction(1), 1e-6, "replace-one"))
    'unsure (50 %) between two values of somebody in the table, one can be right in at most 73.2 % of cases'
    """
    learned, again, sure = ("be right in", "in ", " of cases") if promise.delta else ("become", "", " sure")
    shares = [success_share(promise, question) for question in promise.questions]
    if MEMBERSHIP not in promise.questions:
        return f"unsure (50 %) between two values of somebody in the table, one can {learned} at most {shares[0]}{sure}"
    return (
        f"unsure (50 %) whether somebody is in the table, one can {learned} at most {shares[0]}{sure}; unsure between "
        f"two values of theirs, {again}at most {shares[1]}"
    )


def success_share(promise: Guarantee, question: str) -> str:
    """Return the most that a belief of 50 % can rise to; if δ > 0, how often a guess can be right. Rounded up.

    >>> one, rare = Guarantee(1), Guarantee(1, 0.5)
    >>> [success_share(*asked) for asked in ((one, MEMBERSHIP), (one, VALUE), (rare, MEMBERSHIP))]
    ['73.2 %', '88.1 %', '86.6 %']
    """
    if promise.delta:
        return percent_up(DistinguishingGame(promise, question).success())
    epsilon = float(promise.epsilon)
    return share_text(value_epsilon(epsilon, promise.neighbors) if question == VALUE else epsilon)
