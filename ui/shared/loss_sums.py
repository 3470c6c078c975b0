"""What several releases on the same people cost together: a sum in ε and one in μ², reported as one ε at one δ."""

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

Cost = tuple[Fraction | PrivacyLoss, str]  # an ε or a loss, and under which relation
_POWER: Final = re.compile(r"^1e-(\d+)$")
_NO_WAY_BACK: Final = "What was released under replace-one has no ε under add-remove."


def as_loss(cost: Fraction | PrivacyLoss) -> PrivacyLoss:
    """An ε as a loss."""
    return cost if isinstance(cost, PrivacyLoss) else PrivacyLoss.pure(cost)


def loss_under(cost: Fraction | PrivacyLoss, neighbors: str, relation: str) -> PrivacyLoss:
    """What one release costs under the relation of a sum.

    Exchanging a row is removing one and adding one, so ε under add-remove costs 2ε under replace-one, and μ costs 2μ.
    There is no way back: replace-one says nothing about tables of different size.
    """
    if neighbors == REPLACE_ONE and relation == ADD_REMOVE:
        raise ValueError(_NO_WAY_BACK)
    return as_loss(cost) if neighbors == relation else as_loss(cost).replace_one()


def counted(epsilon: Fraction, neighbors: str, relation: str) -> Fraction:
    """ε of one pure release under the relation of a sum (`loss_under`).

    >>> counted(Fraction(1, 2), "add-remove", "replace-one")
    Fraction(1, 1)
    """
    return loss_under(epsilon, neighbors, relation).pure_epsilon


def added_up(costs: Iterable[Cost], delta: float = 0.0, relation: str | None = None) -> tuple[Fraction, str]:
    """(ε, relation) of several releases on the same people, each given by its own; mixed ones under replace-one.

    Pure losses add up in ε, Gaussian ones in μ². What the latter cost together is an ε at δ, and is added to that of
    the former: the composition of (ε, 0) and (ε', δ) is (ε + ε', δ) (Dwork and Roth 2014, Theorem 3.16).

    Parameters
    ----------
    costs : pairs of (Fraction or PrivacyLoss, relation)
    delta : float
        Above 0 where there is a Gaussian loss.
    relation : str, optional
        Under which they are added up; the one that fits them when not given.

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
    """The certificate's sentence about a δ that is not below 1/n, as markdown. Empty if δ is below 1/n."""
    return unbroken(large_delta_caution(delta, n_rows))


def at_delta(delta: float) -> str:
    """What follows an ε in a sentence.

    >>> at_delta(0), at_delta(1e-6), at_delta(0.001)
    ('', ' at δ = 10⁻⁶', ' at δ = 0.001')
    """
    return f" at δ = {_POWER.sub(lambda match: f'10{raised(-int(match[1]))}', sum_text(delta))}" if delta else ""


def would_promise(epsilon: float, delta: float, neighbors: str) -> Guarantee:
    """What a certified release promises: with a δ all of its Gaussian curve, which says more than ε and δ do.

    >>> success_share(would_promise(1.0, 1e-6, ADD_REMOVE), MEMBERSHIP)
    '54.8 %'
    """
    if not delta:
        return Guarantee(epsilon, 0.0, neighbors)
    return Guarantee.of_loss(mu_for(positive_fraction(epsilon), delta), neighbors, delta=delta)


def sure_words(promise: Guarantee) -> str:
    """What somebody may learn at most who was unsure.

    With a δ a belief may become anything in rare releases, so the sentence says how often a guess is right.

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
    """Most that somebody can become sure who stood at 50:50; with a δ how often a guess is right. Rounded up.

    >>> one, rare = Guarantee(1), Guarantee(1, 0.5)
    >>> [success_share(*asked) for asked in ((one, MEMBERSHIP), (one, VALUE), (rare, MEMBERSHIP))]
    ['73.2 %', '88.1 %', '86.6 %']
    """
    if promise.delta:
        return percent_up(DistinguishingGame(promise, question).success())
    epsilon = float(promise.epsilon)
    return share_text(value_epsilon(epsilon, promise.neighbors) if question == VALUE else epsilon)
