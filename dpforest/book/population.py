"""A population: the people whom several releases describe, a cap on their privacy loss, and all booked releases."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Final

from dpforest.book.errors import BookError
from dpforest.book.sums import Cost, added_up, as_loss, for_person
from dpforest.privacy.ledger import NEIGHBORS, REPLACE_ONE
from dpforest.privacy.loss import PURE
from dpforest.privacy.rationals import MOST_DIGITS, positive_fraction, text_up, written_fraction

MOST_CHARACTERS: Final = 200  # largest length of the name of a population, a project or a release


@dataclass(frozen=True)
class Booking:
    """The entry of a release in a book. The loss of the release counts as spent, even if its file was never written.

    Attributes
    ----------
    id : str
        Identifier that is the same in every copy of the book.
    population : str
        Name of the population.
    time : str
        Time of the booking in UTC, as in "2026-11-27T14:30:00+00:00".
    title : str
        Name of the release, which is shown to people.
    cost : Cost
        Loss of the release, with its neighbor relation and its unit of privacy.
    delta : float
        δ at which the ε of a Gaussian loss is stated; 0 for a pure loss.
    sha256 : str or None
        Hash of the released file; None if no file was written.
    record : dict or None
        Public record of the release.
    notes : tuple of (str, str)
        Time and text of each note, for example on a withdrawal. A note does not change the sum.
    """

    id: str
    population: str
    time: str
    title: str
    cost: Cost
    delta: float
    sha256: str | None = None
    record: dict[str, Any] | None = None
    notes: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class Total:
    """The loss of all releases on a population.

    Attributes
    ----------
    epsilon : Fraction
        Sum of all losses, as an ε at `delta`.
    delta : float
        δ at which the sum is stated; 0 if all losses are pure.
    neighbors : str
        Neighbor relation for which the sum holds.
    unit : str or None
        Column that identifies persons if the sum is the loss of a person; None if it is the loss of a row.
    """

    epsilon: Fraction
    delta: float
    neighbors: str
    unit: str | None


@dataclass(frozen=True)
class Population:
    """The people whom several releases describe.

    Attributes
    ----------
    name : str
        Name of the population, such as "patients of ward 3, 2025".
    cap : Fraction or None
        Largest ε that the sum of all releases may reach; None for no cap.
    rows_per_person : int or None
        Largest number of rows of one person, as the curator (the holder of the data) states it. Without this number,
        losses of rows and losses of persons have no sum, so a population accepts only one of these two kinds of
        releases.
    bookings : tuple of Booking
        All bookings, in the order in which they were made.
    """

    name: str
    cap: Fraction | None = None
    rows_per_person: int | None = None
    bookings: tuple[Booking, ...] = ()

    @classmethod
    def named(cls, name: str, cap: float | str | Fraction | None = None) -> Population:
        """Return a population without bookings. Raise BookError if the name or the cap is not valid."""
        check_name(name, "A population")
        return cls(name, exact_cap(cap))

    def total(self, *planned: Cost, delta: float = 0.0) -> Total:
        """Return the loss of all bookings together with planned releases.

        Parameters
        ----------
        *planned : Cost
            Costs of planned releases.
        delta : float
            δ of the planned releases. The sum is stated at the largest δ of all releases.

        Raises
        ------
        BookError
            If the releases protect different units of privacy and their losses have no known sum.
        """
        costs = self._in_one_unit([*(booking.cost for booking in self.bookings), *planned])
        largest_delta = max([delta, *(booking.delta for booking in self.bookings)])
        epsilon, neighbors = added_up(costs, largest_delta)
        return Total(epsilon, largest_delta, neighbors, costs[0].unit if costs else None)

    def check(self, cost: Cost, delta: float) -> Total:
        """Return the total loss after one more release.

        Raise BookError if the losses have no known sum, or if the total loss would exceed the cap.
        """
        after = self.total(cost, delta=delta)
        if self.cap is not None and after.epsilon > self.cap:
            before = self.total().epsilon
            raise BookError(
                f"After this release, the people of “{self.name}” would have a loss of ε = "
                f"{epsilon_text(after.epsilon)}. Your cap is {epsilon_text(self.cap)}, and {epsilon_text(before)} is "
                "spent. Choose a smaller ε, or release nothing more about these people."
            )
        return after

    def _in_one_unit(self, costs: Sequence[Cost]) -> list[Cost]:
        """Convert all costs to one unit of privacy: a person if any release protects persons, otherwise a row."""
        units = list(dict.fromkeys(cost.unit for cost in costs))
        persons = [unit for unit in units if unit is not None]
        if len(units) < 2:
            return list(costs)
        if len(persons) > 1:
            raise BookError(
                f"Releases on “{self.name}” protect persons by the columns {persons[0]!r} and {persons[1]!r}. Their "
                "losses have no known sum, so use one column for all releases."
            )
        if self.rows_per_person is None:
            raise BookError(
                f"Some releases on “{self.name}” protect a row, and others a person with all of their rows. State how "
                "many rows one person has at most; until then their losses have no sum."
            )
        if any(cost.unit is None and cost.neighbors == REPLACE_ONE for cost in costs):
            raise BookError(
                f"A release on “{self.name}” protects a row that is replaced by another. It has no sum with releases "
                "that protect persons, because a person may bring another number of rows. Use add-remove."
            )
        return [for_person(cost, persons[0], self.rows_per_person) for cost in costs]


def check_name(name: Any, subject: str) -> None:
    """Raise BookError unless a name is a printable text of 1 to `MOST_CHARACTERS` characters in one line.

    `subject` is the thing that has the name, such as "A project", for the message.
    """
    if not isinstance(name, str) or not name.strip() or len(name) > MOST_CHARACTERS or not name.isprintable():
        raise BookError(f"{subject} has a name of 1 to {MOST_CHARACTERS} characters in one line.")


def check_cost(cost: Cost, delta: float) -> None:
    """Raise BookError unless the loss is above 0, the neighbor relation is known, and δ fits the kind of the loss."""
    loss = as_loss(cost.loss)
    delta_fits = delta == 0 if loss.kind == PURE else 0 < delta < 1
    if loss.amount <= 0 or cost.neighbors not in NEIGHBORS or not delta_fits:
        raise BookError(
            f"A release has a loss above 0, neighbors {' or '.join(NEIGHBORS)}, and δ = 0 for a pure loss or δ between "
            f"0 and 1 for a Gaussian loss; this one has {cost} and δ = {delta!r}."
        )


def exact_cap(cap: Any) -> Fraction | None:
    """Return a cap as a fraction. Raise BookError unless it is None, or a number above 0 that a record can hold."""
    if cap is None:
        return None
    try:
        exact: Any = written_fraction(cap) if isinstance(cap, str) else cap
        exact = positive_fraction(exact, "cap")
    except (ValueError, ZeroDivisionError):
        raise BookError(f"The cap is an ε above 0, such as 2, not {cap!r}.") from None
    if max(len(str(exact.numerator)), len(str(exact.denominator))) > MOST_DIGITS:
        raise BookError(f"The cap is a number of at most {MOST_DIGITS} digits, such as 2. Choose a shorter one.")
    return exact


def epsilon_text(epsilon: Fraction) -> str:
    """Return an ε as text, rounded up to four significant digits.

    >>> epsilon_text(Fraction(1, 3)), epsilon_text(Fraction(3, 2))
    ('0.3334', '1.5')
    """
    return text_up(epsilon, 4)
