"""Privacy loss of several releases on the same people: a sum of ε and a sum of μ², reported as one ε at one δ.

The unit of privacy of a release is a row, or a person with all of their rows (`Domain.unit`). The losses of releases
with the same unit add up for this unit. The losses of releases with different units have a sum only in two cases: for
one row that another row with the same identifiers replaces, and for a person if each person has at most a stated number
of rows. The proofs are in docs/PRIVACY.md, "A person instead of a row" and "The ledger across releases".
"""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from typing import Final, NamedTuple

from dpforest.privacy.ledger import ADD_REMOVE, REPLACE_ONE
from dpforest.privacy.loss import GAUSSIAN, KINDS, PrivacyLoss

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

    The sum is for the unit of privacy of the costs. If their units differ, the sum is for one row that another row with
    the same identifiers replaces. In each release, this replaces one row, or one person whose identifier stays.

    For pure losses, ε adds up; for Gaussian losses, μ² adds up. The Gaussian sum is converted to an ε at δ, and this ε
    is added to the pure sum: the composition of (ε, 0) and (ε', δ) is (ε + ε', δ) (Dwork and Roth 2014, Theorem 3.16).

    Parameters
    ----------
    costs : iterable of Cost
        Costs of all releases.
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


def for_person(cost: Cost, unit: str, rows_per_person: int) -> Cost:
    """Return the cost of a release for rows, as a cost for a person who has at most `rows_per_person` rows.

    Removing a person removes at most k rows, one after another. So a loss of ε for a row is a loss of kε for the
    person, and μ is kμ (`PrivacyLoss.grouped`). A release under replace-one protects tables with the same number of
    rows only, and a person who is exchanged may bring another number of rows, so it has no such cost.

    Raises
    ------
    ValueError
        If the cost is for rows under replace-one.

    Examples
    --------
    >>> for_person(Cost(Fraction(1, 2), "add-remove"), "patient_id", 3).loss.amount
    Fraction(3, 2)
    """
    if cost.unit is not None:
        return cost
    if cost.neighbors == REPLACE_ONE:
        raise ValueError("A release for rows under replace-one has no cost for a person with several rows.")
    return Cost(as_loss(cost.loss).grouped(rows_per_person), cost.neighbors, unit)
