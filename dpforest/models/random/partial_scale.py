"""Where rows lie, counted part by part, and what is known once it was released: the first half of a fit in parts."""

from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from dpforest.models.random.spec import ForestSpec
from dpforest.privacy.ledger import LedgerEntry
from dpforest.tables.domain import Domain
from dpforest.trees.released_scale import CELLS, ReleasedScale


@dataclass(frozen=True, eq=False, repr=False)
class PartialScale:
    """Rows of a part of a table in each cell of the scale. Curator only: these counts are exact.

    Parts add up with ``+``.

    Parameters
    ----------
    cells : int64 array of shape (n_numeric, 64)
    n_rows, n_given : int
        Rows that are read, and rows before any was left out.
    domain : Domain
        That they were counted on.

    Raises
    ------
    ValueError
        If parts are added that were counted on different domains.
    """

    cells: np.ndarray
    n_rows: int
    n_given: int
    domain: Domain

    @classmethod
    def of_nobody(cls, domain: Domain) -> Self:
        """Of a table without rows."""
        n_numeric = sum(f.kind == "numeric" for f in domain.features)
        return cls(np.zeros((n_numeric, CELLS), np.int64), 0, 0, domain)

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: exact counts of a part of the rows, curator only>"

    def __add__(self, other: Any) -> "PartialScale":
        if not isinstance(other, PartialScale):
            return NotImplemented
        self.check(other.domain)
        return PartialScale(
            self.cells + other.cells, self.n_rows + other.n_rows, self.n_given + other.n_given, self.domain
        )

    def __radd__(self, start: Any) -> "PartialScale":
        return self if isinstance(start, int) and start == 0 else NotImplemented  # where `sum` begins

    def check(self, domain: Domain) -> None:
        """Raise ValueError unless the counts are of this domain."""
        if self.domain != domain:
            raise ValueError("These rows were counted on another domain; count all parts on one, and fit on that one.")


@dataclass(frozen=True, eq=False)
class Prepared:
    """What was released before trees are grown, and what it cost.

    Parameters
    ----------
    spec : ForestSpec
    scale : ReleasedScale or None
    entries : tuple of LedgerEntry
        Of the ledger that has paid for them.
    settings : dict
        Of the estimator.
    """

    spec: ForestSpec
    scale: ReleasedScale | None
    entries: tuple[LedgerEntry, ...]
    settings: dict[str, Any]
