"""Privacy loss of several releases on the same people: a sum of ε and a sum of μ², reported as one ε at one δ.

The unit of privacy of a release is a row, or a person with all of their rows (`Domain.unit`). If all releases have the
same unit, their losses add up to a loss of this unit. If the units differ, the losses have a sum only in two cases. In
the first case, the sum is for the replacement of one row by another row with the same identifiers. In the second case,
the sum is for a person, and each person has at most a stated number of rows. The proofs are in docs/PRIVACY.md, "A
person instead of a row" and "The ledger across releases".
"""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from typing import Final, NamedTuple

from dpforest.privacy.ledger import ADD_REMOVE, REPLACE_ONE
from dpforest.privacy.loss import GAUSSIAN, KINDS, PrivacyLoss

_NO_CONVERSION: Final = "What was released under replace-one has no ε under add-remove."
_DIFFERENT_UNITS: Final = "Releases for different units of privacy are added up under replace-one only."


class Cost(NamedTuple):
    """Privacy loss of one release (an ε or a `PrivacyLoss`), with its neighbor relation and its unit of privacy.

    `unit` is the column that identifies persons; None if the unit is a row.
    """

    loss: Fraction | PrivacyLoss
    neighbors: str
    unit: str | None = None


def as_loss(cost: Fraction | PrivacyLoss) -> PrivacyLoss:
    """Convert an ε to a `PrivacyLoss`; return a `PrivacyLoss` unchanged."""
    return cost if isinstance(cost, PrivacyLoss) else PrivacyLoss.pure(cost)


def loss_under(cost: Fraction | PrivacyLoss, neighbors: str, relation: str) -> PrivacyLoss:
    """Convert the loss of one release from its neighbor relation to `relation`, the relation of a sum.

    To replace a row or a person means to remove one and to add another one. So a loss of ε under add-remove is a loss
    of 2ε under replace-one, and μ becomes 2μ. A conversion from replace-one to add-remove raises ValueError,
    because a guarantee under replace-one does not cover tables of different sizes.
    """
    if neighbors == REPLACE_ONE and relation == ADD_REMOVE:
        raise ValueError(_NO_CONVERSION)
    return as_loss(cost) if neighbors == relation else as_loss(cost).replace_one()


def epsilon_under(epsilon: Fraction, neighbors: str, relation: str) -> Fraction:
    """Convert the ε of one pure release (δ = 0) to `relation`, the relation of a sum (`loss_under`).

    >>> epsilon_under(Fraction(1, 2), "add-remove", "replace-one")
    Fraction(1, 1)
    """
    return loss_under(epsilon, neighbors, relation).pure_epsilon


def added_up(costs: Iterable[Cost], delta: float = 0.0, relation: str | None = None) -> tuple[Fraction, str]:
    """Return (ε, relation) of several releases on the same people. Mixed relations add up under replace-one.

    If all costs have the same unit of privacy, the sum is for this unit. If their units differ, the sum is for the
    replacement of one row by another row with the same identifiers. For a release that protects persons, such a
    replacement changes the rows of one person only.

    For pure losses, ε adds up; for Gaussian losses, μ² adds up. The sum of μ² is converted to an ε at δ. This ε is
    added to the sum of the pure losses. The reason is that an (ε, 0)-private release and an (ε', δ)-private release are
    together (ε + ε', δ)-private (Dwork and Roth 2014, Theorem 3.16).

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
    """Convert the cost of a release for rows to a cost for a person who has at most `rows_per_person` rows.

    With k = `rows_per_person`, the removal of a person is the removal of at most k rows, one after another. So a loss
    of ε for a row is a loss of kε for the person, and μ becomes kμ (`PrivacyLoss.grouped`). A release for rows under
    replace-one has no cost for a person. Such a release protects only between tables with the same number of rows, but
    a new person may have another number of rows than the person whom they replace.

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
