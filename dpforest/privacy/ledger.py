"""The ledger: every question that a release answers from private rows, and what it costs, in exact fractions.

It does not list what is not paid for (docs/PRIVACY.md): reading a file, a schema read from rows, counting rows, figures
on the curator's screen, sweeps and other releases. A forest without privacy or as published has a ledger without a
budget.

Composition rules (docs/PRIVACY.md):

- *sequential*: the same rows are asked ``times`` times, so the costs add up;
- *parallel*: ``times`` mechanisms read disjoint parts of the table (the leaves of one tree, or of all trees when every
  row was drawn into one tree), so one row meets one of them.

``epsilon_each`` is always the cost of **one row added or removed** in one application. Replacing a row is one removal
and one addition, in the same part or in two different ones (two leaves, two trees), so under ``"replace-one"`` every
entry counts double. That is the whole difference between the two relations.

Entries may also name the part of the table that they read (``part``), where every row was drawn into one of several
parts by itself: then a row meets the entries of one part only, and the dearest part is what all of them cost together.
"""

import threading
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from numbers import Rational
from typing import Any, Final

from dpforest.privacy.rationals import positive_fraction, written_fraction

MOST_BITS: Final = 10_000  # of the two numbers of a fraction in a file: about 3,000 digits, which can be written
ADD_REMOVE: Final = "add-remove"
REPLACE_ONE: Final = "replace-one"
NEIGHBOURS: Final = (ADD_REMOVE, REPLACE_ONE)
COMPOSITIONS: Final = ("parallel", "sequential")
STRUCTURE: Final = "structure rows"  # the parts of a table into which rows may be drawn, each row by itself
ESTIMATION: Final = "estimation rows"
PARTS: Final = ("", STRUCTURE, ESTIMATION)


class BudgetError(ValueError):
    """Something would cost more than the budget, or cannot be paid for at all."""


def rows_changed(neighbours: str) -> int:
    """How many single-row changes lead from a table to its neighbour: 1 (add-remove) or 2 (replace-one)."""
    if neighbours not in NEIGHBOURS:
        raise ValueError(f"neighbours must be one of {NEIGHBOURS}, not {neighbours!r}.")
    return 1 if neighbours == ADD_REMOVE else 2


@dataclass(frozen=True)
class Entry:
    """One kind of question asked of private rows.

    Attributes
    ----------
    what : str
        What was asked, in words.
    mechanism : str
        How it was answered.
    sensitivity : Fraction
        Most that one row added or removed changes the score or count.
    epsilon_each : Fraction or None
        Cost of one application for one row added or removed; None where there is no privacy.
    times : int
        Number of applications.
    composition : {"parallel", "sequential"}
    rows : int
        Single-row changes between neighbours: 1 under add-remove, 2 under replace-one.
    part : str
        Which disjoint part of the table was asked; empty for all of it.
    """

    what: str
    mechanism: str
    sensitivity: Fraction
    epsilon_each: Fraction | None
    times: int
    composition: str
    rows: int
    part: str = ""

    @property
    def epsilon(self) -> Fraction | None:
        """What the whole entry costs between two neighbouring tables."""
        if self.epsilon_each is None:
            return None
        return self.epsilon_each * self.rows * (self.times if self.composition == "sequential" else 1)


class QueryBudget:
    """The right to ask so many times, paid for in a ledger before the first answer.

    Parameters
    ----------
    epsilon_each : Fraction
        Cost of one answer for one row added or removed.
    uses : int
        Answers that were paid for.
    """

    def __init__(self, epsilon_each: Fraction, uses: int) -> None:
        self.epsilon_each = epsilon_each
        self._left = uses
        self._lock = threading.Lock()  # trees may be grown in several threads

    def use(self) -> Fraction:
        """Take one answer; what it may cost. BudgetError when all are used up."""
        with self._lock:
            if self._left < 1:
                raise BudgetError("Everything that was paid for has been asked; charge the ledger before asking again.")
            self._left -= 1
        return self.epsilon_each


class Ledger:
    """What may be spent on one table, and what was spent on what.

    Parameters
    ----------
    epsilon : Fraction, int, str, float or None
        The budget. None is the ledger of a forest without privacy (the non-private model, or a mechanism as published
        that does not hold): it records what was asked, has no total and never closes.
    neighbours : {"add-remove", "replace-one"}

    Raises
    ------
    BudgetError
        By `charge` when the total would exceed the budget, and by `close` when there is no budget.

    Examples
    --------
    >>> ledger = Ledger(Fraction(1, 2), "add-remove")
    >>> paid = ledger.charge("labels of one tree", "permute-and-flip", 1, Fraction(1, 20), 10, "sequential")
    >>> ledger.close()
    >>> ledger.spent, ledger.closed
    (Fraction(1, 2), True)
    """

    def __init__(self, epsilon: float | str | Rational | None, neighbours: str = ADD_REMOVE) -> None:
        self._rows = rows_changed(neighbours)
        self._neighbours = neighbours
        self._epsilon = None if epsilon is None else positive_fraction(epsilon)
        self._entries: tuple[Entry, ...] = ()
        self._closed = False

    @property
    def epsilon(self) -> Fraction | None:
        """The budget; None without privacy."""
        return self._epsilon

    @property
    def neighbours(self) -> str:
        """The neighbour relation."""
        return self._neighbours

    @property
    def rows(self) -> int:
        """Single-row changes between neighbours: 1 or 2."""
        return self._rows

    @property
    def entries(self) -> tuple[Entry, ...]:
        """All that was charged so far, in order."""
        return self._entries

    @property
    def closed(self) -> bool:
        """True when nothing more can be charged: the condition for a release."""
        return self._closed

    @property
    def spent(self) -> Fraction:
        """Sum of all entries that have a cost; of entries on disjoint parts of the table, the dearest part."""
        return _total(self._entries)

    def charge(
        self,
        what: str,
        mechanism: str,
        sensitivity: float | str | Rational,
        epsilon_each: float | str | Rational | None,
        times: int,
        composition: str,
        *,
        part: str = "",
        branches: int = 1,
    ) -> QueryBudget | None:
        """Write a question down **before** it is asked.

        Parameters
        ----------
        what, mechanism : str
        sensitivity : Fraction or int
        epsilon_each : Fraction or None
            Cost for one row added or removed (see the module); None only where the ledger has no budget.
        times : int
            At least 1.
        composition : {"parallel", "sequential"}
        part : {"", "structure rows", "estimation rows"}
            The disjoint part of the table that is asked (see the module); empty for all of it.
        branches : int
            Disjoint parts (trees with rows of their own) that are each asked so many times: they cost nothing more.

        Returns
        -------
        QueryBudget or None
            The right to ask ``times * branches`` times, for mechanisms that are asked one by one.
        """
        if self._closed:
            raise BudgetError("This ledger is closed: nothing more may be asked of the data.")
        if composition not in COMPOSITIONS:
            raise ValueError(f"composition must be one of {COMPOSITIONS}, not {composition!r}.")
        if part not in PARTS:
            raise ValueError(f"part must be one of {PARTS}, not {part!r}.")
        for name, number in (("times", times), ("branches", branches)):
            if int(number) != number or number < 1:
                raise ValueError(f"{name} must be a whole number of at least 1, not {number!r}.")
        each = None if epsilon_each is None else positive_fraction(epsilon_each, "epsilon_each")
        most = positive_fraction(sensitivity, "sensitivity")
        entry = Entry(what, mechanism, most, each, int(times), composition, self._rows, part)
        if self._epsilon is not None:
            if entry.epsilon is None:
                raise BudgetError(f"{mechanism} has no privacy guarantee, so it cannot draw on a budget.")
            if _total((*self._entries, entry)) > self._epsilon:
                left = self._epsilon - self.spent
                raise BudgetError(
                    f"{what} would cost {entry.epsilon}, but only {left} of the budget of {self._epsilon} is left."
                )
        self._entries = (*self._entries, entry)
        return None if each is None else QueryBudget(each, int(times) * branches)

    def close(self) -> None:
        """End the spending. Only a closed ledger allows a release."""
        if self._epsilon is None:
            raise BudgetError("A ledger without a budget never closes: this forest has no privacy guarantee.")
        if not self._entries:
            raise BudgetError("Nothing was charged to this ledger, so there is nothing to release.")
        if self.spent > self._epsilon:  # cannot happen: charge() refuses first
            raise BudgetError(f"{self.spent} was spent of a budget of {self._epsilon}.")
        self._closed = True

    def to_dict(self) -> dict[str, Any]:
        """JSON-safe and exact: fractions are written as text."""
        return {
            "epsilon": _text(self._epsilon),
            "neighbours": self._neighbours,
            "closed": self._closed,
            "spent": _text(self.spent),
            "entries": [
                {
                    "what": e.what,
                    "mechanism": e.mechanism,
                    "sensitivity": _text(e.sensitivity),
                    "epsilon_each": _text(e.epsilon_each),
                    "times": e.times,
                    "composition": e.composition,
                    "part": e.part,
                }
                for e in self._entries
            ],
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> "Ledger":
        """Rebuild a ledger by charging every entry again, so that a file that breaks its budget is refused."""
        ledger = cls(written_fraction(data["epsilon"]), data["neighbours"])
        for e in data["entries"]:
            if isinstance(e["times"], bool) or not isinstance(e["times"], int):
                raise ValueError("how often an entry was asked is not a whole number")
            sensitivity, each = written_fraction(e["sensitivity"]) or 0, written_fraction(e["epsilon_each"])
            how = e["times"], e["composition"]
            ledger.charge(e["what"], e["mechanism"], sensitivity, each, *how, part=e.get("part", ""))
        if data["closed"]:
            ledger.close()
        if not all(part.bit_length() < MOST_BITS for part in (ledger.spent.numerator, ledger.spent.denominator)):
            raise ValueError("what was spent is a fraction of too many digits")
        if "spent" in data and written_fraction(data["spent"]) != ledger.spent:
            raise ValueError("what was spent is not the sum of the entries")
        return ledger

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Ledger) and self.to_dict() == other.to_dict()

    __hash__ = None  # type: ignore[assignment]  # it grows

    def __repr__(self) -> str:
        return f"<Ledger: {self.spent} of {self._epsilon} spent, {self._neighbours}, closed={self._closed}>"

    def __str__(self) -> str:
        head = ("what", "mechanism", "sensitivity", "ε each", "times", "composition", "total")
        rows = [
            (e.what + (f" [{e.part}]" if e.part else ""), e.mechanism, _cell(e.sensitivity), _cell(e.epsilon_each),
             str(e.times), e.composition, _cell(e.epsilon))
            for e in self._entries
        ]  # fmt: skip
        widths = [max(len(r[i]) for r in [head, *rows]) for i in range(len(head))]
        lines = ["  ".join(cell.ljust(w) for cell, w in zip(r, widths, strict=True)).rstrip() for r in [head, *rows]]
        lines.insert(1, "-" * sum(widths, 2 * len(widths) - 2))
        if self._epsilon is None:
            lines.append("No budget: this forest has no privacy guarantee.")
        else:
            state = "closed" if self._closed else "open"
            lines.append(f"Spent {self.spent} of {self._epsilon} ({self._neighbours}, {state}).")
            if self._rows == 2:
                lines.append("Replacing a row is a removal and an addition: every entry counts twice.")
            if any(e.part for e in self._entries):
                lines.append("A row is in one of the parts in brackets only: of these, the dearest part counts.")
        return "\n".join(lines)


def _total(entries: tuple[Entry, ...]) -> Fraction:
    """What entries cost together: those on all rows add up, of those on disjoint parts the dearest part counts."""
    cost: dict[str, Fraction] = {}
    for entry in entries:
        cost[entry.part] = cost.get(entry.part, Fraction(0)) + (entry.epsilon or 0)
    return cost.pop("", Fraction(0)) + max(cost.values(), default=Fraction(0))


def _text(value: Fraction | None) -> str | None:
    return None if value is None else str(value)


def _cell(value: Fraction | None) -> str:
    return "none" if value is None else str(value)
