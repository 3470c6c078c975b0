"""The ledger: every query that a release answers from private rows, and its cost, in exact fractions.

It does not list what no budget pays for (docs/PRIVACY.md): reading a file, a schema read from rows, counting rows,
figures on the curator's screen, sweeps and other releases. A forest without privacy, or with a mechanism as published,
has a ledger without a budget.

Composition rules (docs/PRIVACY.md):

- *sequential*: ``times`` queries read the same rows, so their costs add up;
- *parallel*: ``times`` mechanisms read disjoint parts of the table (the leaves of one tree, or of all trees when every
  row was drawn into one tree), so one row affects only one of them.

The cost of an entry is always that of **one row added or removed** in one application. Replacing a row is one removal
and one addition, in the same part or in two different ones (two leaves, two trees). So under ``"replace-one"`` every
entry counts double (2ε, or 2μ, which is 4μ²). The two relations differ in nothing else.

A ledger counts one kind of `PrivacyLoss`: ε, or μ² of Gaussian differential privacy.

An entry may also name the part of the table that it reads (``part``), where every row was drawn into one of several
parts independently. A row then affects the entries of one part only, so the largest cost of a part counts.
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
]

MOST_BITS: Final = 10_000  # of a numerator or denominator in a file: about 3,000 digits, which can be written
# First words of the entries for queries before trees grow. A file is checked for these entries.
NUMBER_OF_ROWS: Final = "number of rows"
SCALE_OF_ATTRIBUTES: Final = "scale of numeric attributes"
GRADIENT_SUMS: Final = "leaf gradient sums, tree by tree"  # entry of the random-tree booster
_EACH: Final = ("epsilon_each", "mu_squared_each")  # fields of a file that hold the cost of an entry


class Ledger:
    """The budget of one table, and the queries that it was spent on.

    Parameters
    ----------
    epsilon : Fraction, int, str, float, PrivacyLoss or None
        The budget; a number is an ε. None is for a forest without privacy (the non-private model, or a mechanism as
        published that does not hold): this ledger records queries, has no total and never closes.
    neighbors : {"add-remove", "replace-one"}

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

    def __init__(self, epsilon: float | str | Rational | PrivacyLoss | None, neighbors: str = ADD_REMOVE) -> None:
        self._rows = rows_changed(neighbors)
        self._neighbors = neighbors
        self._budget = None if epsilon is None else _positive(epsilon)
        if self._budget is not None and not _is_short(self._budget):
            raise ValueError(f"epsilon has more than {MOST_DIGITS} digits, which no file holds; choose a rounder one.")
        self._entries: tuple[LedgerEntry, ...] = ()
        self._closed = False

    @property
    def kind(self) -> str:
        """Kind of loss that is counted: "pure" or "gaussian". It is "pure" without a budget."""
        return PURE if self._budget is None else self._budget.kind

    @property
    def budget(self) -> PrivacyLoss | None:
        """Most that may be spent; None without privacy."""
        return self._budget

    @property
    def has_budget(self) -> bool:
        """Whether there is a budget, of either kind."""
        return self._budget is not None

    @property
    def epsilon(self) -> Fraction | None:
        """The budget of a pure ledger, in ε; None without privacy."""
        return None if self._budget is None else self._budget.pure_epsilon

    @property
    def neighbors(self) -> str:
        """The neighbor relation."""
        return self._neighbors

    @property
    def rows(self) -> int:
        """Number of single-row changes between neighbors: 1 or 2."""
        return self._rows

    @property
    def entries(self) -> tuple[LedgerEntry, ...]:
        """All entries so far, in the order of their charges."""
        return self._entries

    @property
    def closed(self) -> bool:
        """True when nothing more can be charged, which every release requires."""
        return self._closed

    @property
    def loss(self) -> PrivacyLoss:
        """Total cost: entries on all rows add up; of entries on disjoint parts, the most expensive part counts."""
        return _total(self._entries, self.kind)

    @property
    def spent(self) -> Fraction:
        """`loss` of a pure ledger, in ε."""
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
        """Record a query and its cost **before** it is asked.

        Parameters
        ----------
        what, mechanism : str
        sensitivity : Fraction or int
        each : Fraction, PrivacyLoss or None
            Cost of one application for one row added or removed; a number is an ε, which a Gaussian ledger refuses.
            None only where the ledger has no budget.
        times : int
            At least 1.
        composition : {"parallel", "sequential"}
        part : {"", "structure rows", "estimation rows"}
            Disjoint part of the table that is queried (see the module); empty for all of it.
        branches : int
            Number of disjoint parts, such as trees with disjoint rows, that are each queried `times` times; more parts
            cost no more.

        Returns
        -------
        QueryBudget or None
            The right to ask ``times * branches`` times, for mechanisms that are called one by one.
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
            raise BudgetError(f"This ledger is of kind {self.kind!r}; {what} is charged at {cost}, which is another.")
        most = positive_fraction(sensitivity, "sensitivity")
        entry = LedgerEntry(what, mechanism, most, cost, int(times), composition, self._rows, part)
        total = _total((*self._entries, entry), self.kind)
        if self._budget is not None:
            if entry.loss is None:
                raise BudgetError(f"{mechanism} has no privacy guarantee, so it cannot draw on a budget.")
            if total > self._budget:
                left, unit = self._budget.amount - self.loss.amount, "" if self.kind == PURE else " of μ²"
                raise BudgetError(
                    f"{what} would cost {entry.loss.amount}{unit}, but only {left} of the budget of "
                    f"{self._budget.amount}{unit} is left."
                )
        if not all(_is_short(loss) for loss in (cost, entry.loss, total) if loss is not None):
            raise BudgetError(f"{what} would cost a number with too many digits for a file; choose rounder settings.")
        self._entries = (*self._entries, entry)
        return None if cost is None else QueryBudget(cost, int(times) * int(branches))

    def close(self) -> None:
        """End the spending. Only a closed ledger allows a release."""
        if self._budget is None:
            raise BudgetError("A ledger without a budget never closes: this forest has no privacy guarantee.")
        if not self._entries:
            raise BudgetError("Nothing was charged to this ledger, so there is nothing to release.")
        if self.loss > self._budget:  # cannot happen: charge() refuses first
            raise BudgetError(f"{self.loss} was spent of a budget of {self._budget}.")
        self._closed = True

    def to_dict(self) -> dict[str, Any]:
        """Return an exact, JSON-safe dictionary: fractions as text. A Gaussian ledger has separate fields and no ε."""
        gaussian = self.kind == GAUSSIAN
        return {
            "epsilon": None if gaussian else _amount(self._budget),
            **({"kind": GAUSSIAN, "mu_squared": _amount(self._budget)} if gaussian else {}),
            "neighbors": self._neighbors,
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
        """Rebuild a ledger by charging every entry again, so that a file that breaks its budget is refused."""
        ledger = cls(_written_loss(data, "epsilon", "mu_squared"), data["neighbors"])
        if data.get("kind", PURE) != ledger.kind:
            raise ValueError("the budget of the ledger is not of its kind")
        for e in data["entries"]:
            if isinstance(e["times"], bool) or not isinstance(e["times"], int):
                raise ValueError("how often an entry was asked is not a whole number")
            sensitivity, each = written_fraction(e["sensitivity"]) or 0, _written_loss(e, *_EACH)
            how = e["times"], e["composition"]
            ledger.charge(e["what"], e["mechanism"], sensitivity, each, *how, part=e.get("part", ""))
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

    __hash__ = None  # type: ignore[assignment]  # a ledger changes

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
            of = "" if self.kind == PURE else "μ² = "
            lines.append(f"Spent {of}{self.loss.amount} of {self._budget.amount} ({self._neighbors}, {state}).")
            if self._rows == 2:
                twice = "twice" if self.kind == PURE else "twice in μ, four times in μ²"
                lines.append(f"Replacing a row is a removal and an addition: every entry counts {twice}.")
            if any(e.part for e in self._entries):
                lines.append("A row is in one of the parts in brackets only: of these, the dearest part counts.")
        return "\n".join(lines)


def _is_short(loss: PrivacyLoss) -> bool:
    """Return whether a file can hold the loss (`written_fraction`)."""
    return max(loss.amount.numerator, loss.amount.denominator) < 10**MOST_DIGITS


def _total(entries: tuple[LedgerEntry, ...], kind: str) -> PrivacyLoss:
    """Return the total cost: entries on all rows add up; of disjoint parts, the most expensive one counts."""
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
    """Read a loss from two fields of a file; None where both are empty. ValueError where both are filled."""
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
