"""The entries of a ledger, each for one kind of query, and the right to ask the queries that an entry pays for."""

import threading
from dataclasses import dataclass
from fractions import Fraction
from typing import Final

from dpforest.privacy.loss import PrivacyLoss

ADD_REMOVE: Final = "add-remove"
REPLACE_ONE: Final = "replace-one"
NEIGHBORS: Final = (ADD_REMOVE, REPLACE_ONE)
COMPOSITIONS: Final = ("parallel", "sequential")
STRUCTURE: Final = "structure rows"  # names of two disjoint parts of a table; each row is drawn into one of them
ESTIMATION: Final = "estimation rows"
PARTS: Final = ("", STRUCTURE, ESTIMATION)


class BudgetError(ValueError):
    """Raised if a query would cost more than the budget, if no budget can pay for it, or if the ledger is closed."""


def rows_changed(neighbors: str) -> int:
    """Return the number of single-row changes from a table to its neighbor: 1 (add-remove) or 2 (replace-one)."""
    if neighbors not in NEIGHBORS:
        raise ValueError(f"neighbors must be one of {NEIGHBORS}, not {neighbors!r}.")
    return 1 if neighbors == ADD_REMOVE else 2


@dataclass(frozen=True)
class LedgerEntry:
    """One kind of query of private rows, and its cost.

    Attributes
    ----------
    what : str
        The query in words.
    mechanism : str
        The mechanism that answers the query.
    sensitivity : Fraction
        Largest change of the score or count when one row (with a unit: one person) is added or removed.
    each : PrivacyLoss or None
        Cost of one application for one row added or removed; None if the mechanism has no privacy guarantee.
    times : int
        Number of times that the mechanism is applied.
    composition : {"parallel", "sequential"}
        Whether the applications read disjoint parts of the table, or the same rows.
    rows : int
        Number of rows (with a unit: of persons) added or removed between neighbors: 1, or 2 under replace-one.
    part : str
        Disjoint part of the table that the query reads; empty for the whole table.
    """

    what: str
    mechanism: str
    sensitivity: Fraction
    each: PrivacyLoss | None
    times: int
    composition: str
    rows: int
    part: str = ""

    @property
    def loss(self) -> PrivacyLoss | None:
        """Loss of all applications together between two neighboring tables; None if `each` is None."""
        if self.each is None:
            return None
        return self.each.grouped(self.rows) * (self.times if self.composition == "sequential" else 1)

    @property
    def epsilon_each(self) -> Fraction | None:
        """The cost `each` of a pure entry, in ε."""
        return None if self.each is None else self.each.pure_epsilon

    @property
    def epsilon(self) -> Fraction | None:
        """The `loss` of a pure entry, in ε."""
        return None if self.loss is None else self.loss.pure_epsilon


class QueryBudget:
    """The right to ask a number of queries, for which a ledger was charged before the first answer.

    Parameters
    ----------
    each : PrivacyLoss or Fraction
        Cost of one answer for one row added or removed; a fraction is an ε.
    uses : int
        Number of answers that the charge paid for.
    """

    def __init__(self, each: PrivacyLoss | Fraction, uses: int) -> None:
        self.each = each if isinstance(each, PrivacyLoss) else PrivacyLoss.pure(each)
        self._n_unused = uses
        self._lock = threading.Lock()  # trees may grow in several threads

    @property
    def epsilon_each(self) -> Fraction:
        """The cost `each` in ε. Raises MixedLossesError if `each` is Gaussian."""
        return self.each.pure_epsilon

    def use(self) -> PrivacyLoss:
        """Count one answer as used, and return its cost `each`. Raises BudgetError if no answer is left."""
        with self._lock:
            if self._n_unused < 1:
                raise BudgetError(
                    "All queries that were paid for are answered; charge the ledger before the next query."
                )
            self._n_unused -= 1
        return self.each
