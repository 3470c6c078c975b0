"""Results of the first step of a fit in parts: exact counts for the histograms of attributes, and released answers."""

from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from dpforest.models.random.spec import ForestSpec
from dpforest.privacy.ledger import LedgerEntry
from dpforest.tables.domain import Domain
from dpforest.trees.released_scale import CELLS, ReleasedScale


@dataclass(frozen=True, eq=False, repr=False)
class PartialScale:
    """Exact counts of the rows in 64 cells of the public range of each numeric attribute, for a part of a table.

    ``+`` adds the counts of parts. Only the curator (the data holder) may see them.

    Parameters
    ----------
    cells : int64 array of shape (n_numeric, 64)
        Exact counts, or weights in 1/1024 (`scale_histograms`).
    n_rows, n_given : int
        Number of rows (or of persons, see `Domain.unit`). `n_given` includes rows without a listed label, `n_rows` does
        not.
    domain : Domain
        Domain that encoded the rows.

    Raises
    ------
    ValueError
        If ``+`` gets counts on another domain.
    """

    cells: np.ndarray
    n_rows: int
    n_given: int
    domain: Domain

    @classmethod
    def of_nobody(cls, domain: Domain) -> Self:
        """Return the counts of a table without rows."""
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
        return self if isinstance(start, int) and start == 0 else NotImplemented  # `sum` starts from 0

    def check(self, domain: Domain) -> None:
        """Raise ValueError unless the rows were counted on this domain."""
        if self.domain != domain:
            raise ValueError("These rows were counted on another domain; count all parts on the domain of the fit.")


@dataclass(frozen=True, eq=False)
class ReleasedPreparation:
    """The plan and the scale that `fit_scale` released, and the cost of this release.

    Parameters
    ----------
    spec : ForestSpec
        Plan of the forest, which depends on the released number of rows.
    scale : ReleasedScale or None
        Released distribution of each numeric attribute; None if the fit does not ask for it.
    entries : tuple of LedgerEntry
        Charges of the release.
    settings : dict
        Parameters of the estimator, except `n_jobs`. If one of them changes, `fit_scale` must be called again.
    """

    spec: ForestSpec
    scale: ReleasedScale | None
    entries: tuple[LedgerEntry, ...]
    settings: dict[str, Any]
