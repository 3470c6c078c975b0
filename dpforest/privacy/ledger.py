"""The ledger: every query that a release answers from private rows, and its cost, in exact fractions.

Some uses of the rows are not in the ledger, because its budget does not pay for them (docs/PRIVACY.md): the reading of
a file, a domain that is inferred from rows, a count of the rows, figures on the screen of the curator (the person who
holds the table), sweeps over settings, and other releases. The ledger of a forest without privacy has no budget. The
same holds for a published mechanism whose privacy claim is wrong.

Composition rules (docs/PRIVACY.md):

- *sequential*: ``times`` queries read the same rows, so their costs add up.
- *parallel*: ``times`` queries read disjoint parts of the table, so one row affects only one of the queries. Examples
  are the leaves of one tree, and the leaves of all trees if each row was drawn into only one tree.

The cost of an entry is always the cost of **one row added or removed** in one application. Replacing a row is one
removal and one addition, in the same part or in two different parts (two leaves, two trees). So under ``"replace-one"``
every entry counts double: ε becomes 2ε, and μ becomes 2μ, so μ² becomes 4μ². Otherwise, add-remove and replace-one
follow the same rules. If a domain declares a unit of privacy, read "person with all of their rows" in place of "row" in
these rules.

A ledger adds up one kind of `PrivacyLoss`: either ε, or μ² of Gaussian differential privacy.

If every row was drawn independently into one of several parts of the table, an entry may name the part that it reads
(``part``). A row then affects only the entries of one part, so only the part with the largest cost counts.
"""

from collections.abc import Mapping
from fractions import Fraction
from numbers import Rational
from typing import Any, Final

from dpforest.privacy.ledger_entry import (
    ADD_REMOVE,
    COMPOSITIONS,
    ESTIMATION,
    NEIGHBORS,
    PARTS,
    REPLACE_ONE,
    STRUCTURE,
    BudgetError,
    LedgerEntry,
    QueryBudget,
    rows_changed,
)
from dpforest.privacy.loss import GAUSSIAN, PURE, PrivacyLoss
from dpforest.privacy.rationals import MOST_DIGITS, positive_fraction, written_fraction

__all__ = [
    "ADD_REMOVE",
    "COMPOSITIONS",
    "ESTIMATION",
    "GRADIENT_SUMS",
    "NEIGHBORS",
    "NUMBER_OF_PERSONS",
    "NUMBER_OF_ROWS",
    "PARTS",
    "REPLACE_ONE",
    "SCALE_OF_ATTRIBUTES",
    "STRUCTURE",
    "BudgetError",
    "LedgerEntry",
    "Ledger",
    "QueryBudget",
    "rows_changed",
    "unit_noun",
    "unit_words",
]

MOST_BITS: Final = 10_000  # largest number of bits of a numerator or denominator in a file, about 3,000 digits
# Code that reads a released file recognizes an entry by these constants: the entry's name equals or begins with one.
NUMBER_OF_ROWS: Final = "number of rows"
NUMBER_OF_PERSONS: Final = "number of persons"
SCALE_OF_ATTRIBUTES: Final = "scale of numeric attributes"
GRADIENT_SUMS: Final = "leaf gradient sums, tree by tree"  # entry of the random-tree booster
_EACH: Final = ("epsilon_each", "mu_squared_each")  # fields of a file: cost of one application in ε, or in μ²


def unit_noun(unit: str | None) -> str:
    """Return a noun for the unit of privacy: "person" if a column of identifiers declares the unit, otherwise "row"."""
    return "row" if unit is None else "person"


def unit_words(unit: str | None) -> str:
    """Return the unit of privacy in words, for certificates and reports.

    >>> unit_words("patient_id"), unit_words(None)
    ("a person: all rows with the same 'patient_id'", 'one row')
    """
    return "one row" if unit is None else f"a person: all rows with the same {unit!r}"


class Ledger:
    """The privacy budget of one release from a table, and the queries that spend this budget.

    Parameters
    ----------
    epsilon : Fraction, int, str, float, PrivacyLoss or None
        The budget; a number is an ε. Give None for a forest without privacy, and for a published mechanism whose
        privacy claim is wrong. A ledger without a budget records queries, but it limits no cost and never closes.
    neighbors : {"add-remove", "replace-one"}
        Neighbor relation. Under replace-one, each entry counts double.
    unit : str, optional
        Column of identifiers. If given, the unit of privacy is a person: all rows with the same identifier
        (`Domain.unit`). By default, each row is a person.

    Raises
    ------
    ValueError
        If the budget is not positive, or has too many digits for a file.

    Examples
    --------
    >>> ledger = Ledger(Fraction(1, 2), "add-remove")
    >>> paid = ledger.charge("labels of one tree", "permute-and-flip", 1, Fraction(1, 20), 10, "sequential")
    >>> ledger.close()
    >>> ledger.spent, ledger.closed
    (Fraction(1, 2), True)
    """

    def __init__(
        self,
        epsilon: float | str | Rational | PrivacyLoss | None,
        neighbors: str = ADD_REMOVE,
        *,
        unit: str | None = None,
    ) -> None:
        self._rows = rows_changed(neighbors)
        self._unit = unit
        self._neighbors = neighbors
        self._budget = None if epsilon is None else _positive(epsilon)
        if self._budget is not None and not _is_short(self._budget):
            raise ValueError(f"epsilon has more than {MOST_DIGITS} digits, which no file holds; choose a rounder one.")
        self._entries: tuple[LedgerEntry, ...] = ()
        self._closed = False

    @property
    def kind(self) -> str:
        """Kind of loss that the ledger counts: "pure" or "gaussian". If there is no budget, the kind is "pure"."""
        return PURE if self._budget is None else self._budget.kind

    @property
    def budget(self) -> PrivacyLoss | None:
        """Largest loss that may be spent; None if the ledger has no budget."""
        return self._budget

    @property
    def has_budget(self) -> bool:
        """Whether the ledger has a budget, pure or Gaussian."""
        return self._budget is not None

    @property
    def epsilon(self) -> Fraction | None:
        """The budget of a pure ledger, in ε; None if the ledger has no budget."""
        return None if self._budget is None else self._budget.pure_epsilon

    @property
    def neighbors(self) -> str:
        """The neighbor relation: "add-remove" or "replace-one"."""
        return self._neighbors

    @property
    def unit(self) -> str | None:
        """Column that identifies persons, the unit of privacy; None if each row is a person."""
        return self._unit

    @property
    def units(self) -> str:
        """Noun for the units of privacy: "persons" if a unit is declared, otherwise "rows"."""
        return f"{unit_noun(self._unit)}s"

    @property
    def number_of_units(self) -> str:
        """Name of the entry for the number of rows or persons."""
        return NUMBER_OF_ROWS if self._unit is None else NUMBER_OF_PERSONS

    @property
    def rows(self) -> int:
        """Number of single-row changes from a table to its neighbor: 1 under add-remove, 2 under replace-one."""
        return self._rows

    @property
    def entries(self) -> tuple[LedgerEntry, ...]:
        """All entries so far, in the order of their charges."""
        return self._entries

    @property
    def closed(self) -> bool:
        """Whether the ledger refuses further charges. A release requires a closed ledger."""
        return self._closed

    @property
    def loss(self) -> PrivacyLoss:
        """Total cost: all entries on the whole table, plus the entries on the most expensive disjoint part."""
        return _total(self._entries, self.kind)

    @property
    def spent(self) -> Fraction:
        """The total cost `loss` of a pure ledger, in ε."""
        return self.loss.pure_epsilon

    def charge(
        self,
        what: str,
        mechanism: str,
        sensitivity: float | str | Rational,
        each: float | str | Rational | PrivacyLoss | None,
        times: int,
        composition: str,
        *,
        part: str = "",
        branches: int = 1,
    ) -> QueryBudget | None:
        """Record a query and its cost **before** the query is asked.

        Parameters
        ----------
        what, mechanism : str
            The query, and the mechanism that answers it, in words.
        sensitivity : Fraction or int
            Largest change of the score or count when one row (with a unit: one person) is added or removed.
        each : Fraction, PrivacyLoss or None
            Cost of one application for one row added or removed. A number is an ε, which a Gaussian ledger refuses.
            None is allowed only if the ledger has no budget.
        times : int
            Number of times that the mechanism is applied, at least 1.
        composition : {"parallel", "sequential"}
            Whether the applications read disjoint parts of the table, or the same rows.
        part : {"", "structure rows", "estimation rows"}
            Disjoint part of the table that the query reads (see the module); empty for the whole table.
        branches : int
            Number of disjoint groups of rows, such as trees with disjoint rows. Each group is queried `times` times.
            The number of groups does not affect the cost, because one row is in one group.

        Returns
        -------
        QueryBudget or None
            The right to ask ``times * branches`` queries, for mechanisms that are called once for each query. None if
            `each` is None.

        Raises
        ------
        BudgetError
            If the total would exceed the budget, if the ledger is closed, if there is a budget but `each` is None, if
            `each` is of another kind than the ledger, or if a cost has too many digits for a file. The ledger then
            stays unchanged.
        ValueError
            If a parameter has a value that is not allowed.
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
        cost = None if each is None else _positive(each, "epsilon_each")
        if cost is not None and cost.kind != self.kind:
            raise BudgetError(
                f"This ledger adds up losses of kind {self.kind!r}, but {what} costs {cost}, of another kind."
            )
        exact_sensitivity = positive_fraction(sensitivity, "sensitivity")
        entry = LedgerEntry(what, mechanism, exact_sensitivity, cost, int(times), composition, self._rows, part)
        total = _total((*self._entries, entry), self.kind)
        if self._budget is not None:
            if entry.loss is None:
                raise BudgetError(f"{mechanism} has no privacy guarantee, so it cannot draw on a budget.")
            if total > self._budget:
                remainder, unit = self._budget.amount - self.loss.amount, "" if self.kind == PURE else " of μ²"
                raise BudgetError(
                    f"{what} would cost {entry.loss.amount}{unit}, but only {remainder} of the budget of "
                    f"{self._budget.amount}{unit} is left."
                )
        if not all(_is_short(loss) for loss in (cost, entry.loss, total) if loss is not None):
            raise BudgetError(f"{what} would cost a number with too many digits for a file; choose rounder settings.")
        self._entries = (*self._entries, entry)
        return None if cost is None else QueryBudget(cost, int(times) * int(branches))

    def close(self) -> None:
        """Refuse all further charges. A release requires a closed ledger.

        Raises
        ------
        BudgetError
            If there is no budget, or if nothing was charged.
        """
        if self._budget is None:
            raise BudgetError("A ledger without a budget never closes: this forest has no privacy guarantee.")
        if not self._entries:
            raise BudgetError("Nothing was charged to this ledger, so there is nothing to release.")
        if self.loss > self._budget:  # this cannot happen, because `charge` refuses such a cost
            raise BudgetError(f"{self.loss} was spent of a budget of {self._budget}.")
        self._closed = True

    def to_dict(self) -> dict[str, Any]:
        """Return an exact, JSON-safe dictionary with fractions as text.

        A Gaussian ledger has its losses in fields for μ², and its fields `epsilon` and `epsilon_each` are None.
        """
        gaussian = self.kind == GAUSSIAN
        return {
            "epsilon": None if gaussian else _amount(self._budget),
            **({"kind": GAUSSIAN, "mu_squared": _amount(self._budget)} if gaussian else {}),
            "neighbors": self._neighbors,
            **({} if self._unit is None else {"unit": self._unit}),
            "closed": self._closed,
            "mu_squared_spent" if gaussian else "spent": _amount(self.loss),
            "entries": [
                {
                    "what": e.what,
                    "mechanism": e.mechanism,
                    "sensitivity": str(e.sensitivity),
                    "epsilon_each": None if gaussian else _amount(e.each),
                    **({"mu_squared_each": _amount(e.each)} if gaussian else {}),
                    "times": e.times,
                    "composition": e.composition,
                    "part": e.part,
                }
                for e in self._entries
            ],
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> "Ledger":
        """Rebuild a ledger by charging each entry again, which raises BudgetError if the entries exceed the budget."""
        ledger = cls(_written_loss(data, "epsilon", "mu_squared"), data["neighbors"], unit=data.get("unit"))
        if data.get("kind", PURE) != ledger.kind:
            raise ValueError("the budget of the ledger is not of its kind")
        for e in data["entries"]:
            if isinstance(e["times"], bool) or not isinstance(e["times"], int):
                raise ValueError("how often an entry was asked is not a whole number")
            sensitivity, each = written_fraction(e["sensitivity"]) or 0, _written_loss(e, *_EACH)
            application = e["times"], e["composition"]
            ledger.charge(e["what"], e["mechanism"], sensitivity, each, *application, part=e.get("part", ""))
        if data["closed"]:
            ledger.close()
        spent = ledger.loss.amount
        if not all(part.bit_length() < MOST_BITS for part in (spent.numerator, spent.denominator)):
            raise ValueError("what was spent is a fraction of too many digits")
        for name, kind in (("spent", PURE), ("mu_squared_spent", GAUSSIAN)):
            if name in data and (kind != ledger.kind or written_fraction(data[name]) != spent):
                raise ValueError("what was spent is not the sum of the entries")
        return ledger

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Ledger) and self.to_dict() == other.to_dict()

    __hash__ = None  # type: ignore[assignment]  # a ledger is mutable

    def __repr__(self) -> str:
        amount, budget = self.loss.amount, None if self._budget is None else self._budget.amount
        unit = " of μ²" if self.kind == GAUSSIAN else ""
        return f"<Ledger: {amount} of {budget}{unit} spent, {self._neighbors}, closed={self._closed}>"

    def __str__(self) -> str:
        unit = "ε" if self.kind == PURE else "μ²"
        head = ("what", "mechanism", "sensitivity", f"{unit} each", "times", "composition", "total")
        rows = [
            (
                e.what + (f" [{e.part}]" if e.part else ""),
                e.mechanism,
                str(e.sensitivity),
                _cell(e.each),
                str(e.times),
                e.composition,
                _cell(e.loss),
            )
            for e in self._entries
        ]
        widths = [max(len(r[i]) for r in [head, *rows]) for i in range(len(head))]
        lines = ["  ".join(cell.ljust(w) for cell, w in zip(r, widths, strict=True)).rstrip() for r in [head, *rows]]
        lines.insert(1, "-" * sum(widths, 2 * len(widths) - 2))
        if self._budget is None:
            lines.append("No budget: this forest has no privacy guarantee.")
        else:
            state = "closed" if self._closed else "open"
            prefix = "" if self.kind == PURE else "μ² = "
            lines.append(f"Spent {prefix}{self.loss.amount} of {self._budget.amount} ({self._neighbors}, {state}).")
            noun = unit_noun(self._unit)
            if self._unit is not None:
                lines.append(f"The unit of privacy is {unit_words(self._unit)}.")
            if self._rows == 2:
                twice = "twice" if self.kind == PURE else "twice in μ, four times in μ²"
                lines.append(f"Replacing a {noun} is a removal and an addition: every entry counts {twice}.")
            if any(e.part for e in self._entries):
                lines.append(f"A {noun} is in one of the parts in brackets only: of these, the dearest part counts.")
        return "\n".join(lines)


def _is_short(loss: PrivacyLoss) -> bool:
    """Return whether a file can hold the digits of the loss."""
    return max(loss.amount.numerator, loss.amount.denominator) < 10**MOST_DIGITS


def _total(entries: tuple[LedgerEntry, ...], kind: str) -> PrivacyLoss:
    """Return the cost of all entries on the whole table, plus the cost of the most expensive disjoint part."""
    cost: dict[str, list[PrivacyLoss]] = {"": []}
    for entry in entries:
        if (loss := entry.loss) is not None:
            cost.setdefault(entry.part, []).append(loss)
    on_all = PrivacyLoss.total(cost.pop(""), kind)
    return on_all + PrivacyLoss.parallel((PrivacyLoss.total(losses, kind) for losses in cost.values()), kind)


def _positive(cost: float | str | Rational | PrivacyLoss, name: str = "epsilon") -> PrivacyLoss:
    if not isinstance(cost, PrivacyLoss):
        return PrivacyLoss.pure(positive_fraction(cost, name))
    if cost.amount <= 0:
        raise ValueError(f"{name} must be positive, not {cost}.")
    return cost


def _written_loss(data: Mapping[str, Any], epsilon: str, mu_squared: str) -> PrivacyLoss | None:
    """Read a loss from one of two fields of a file.

    Return None if both fields are empty. Raise ValueError if both fields are filled.
    """
    pure, gaussian = written_fraction(data[epsilon]), written_fraction(data.get(mu_squared))
    if pure is not None and gaussian is not None:
        raise ValueError("a loss is written in ε or in μ², not in both")
    if gaussian is not None:
        return PrivacyLoss.gaussian(gaussian)
    return None if pure is None else PrivacyLoss.pure(pure)


def _amount(loss: PrivacyLoss | None) -> str | None:
    return None if loss is None else str(loss.amount)


def _cell(loss: PrivacyLoss | None) -> str:
    return "none" if loss is None else str(loss.amount)
