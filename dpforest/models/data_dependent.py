"""The base of the forests whose fit reads rows again and again: encoded rows, and a public bound on their number."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Self, TypeVar

import numpy as np

from dpforest.limits import MAX_BOUND
from dpforest.models.base import ForestClassifier, bound_sentence
from dpforest.models.trace import Trace
from dpforest.privacy.certificate import Certificate
from dpforest.privacy.ledger import ADD_REMOVE, Ledger
from dpforest.privacy.randomness import DemoSource, SecretSource
from dpforest.tables.domain import Domain
from dpforest.tables.rows import EncodedTable
from dpforest.trees.forest import Forest
from dpforest.trees.forest_schema import check_domain
from dpforest.trees.forest_size import check_forest_size
from dpforest.trees.released_scale import ReleasedScale, scale_histograms
from dpforest.trees.routing import encoded

T = TypeVar("T")


@dataclass(frozen=True, eq=False, kw_only=True)
class EncodedRows:
    """Rows as a fit reads them: made once, used by every fit on the same rows.

    Attributes
    ----------
    codes : uint16 array of shape (n, n_features)
    y : int32 array of shape (n,)
        Class indices.
    row_ids : int64 array of shape (n,)
        Names of the rows in the draws of a demonstration, so that leaving one out moves no other.
    n_given : int
        Number of rows that were handed over (`EncodedTable`), the only one that may be public.
    n_table : int
        0, except where a simulation fits on a part of a table (`of_table`): then the number of rows of that table. A
        question about the number of rows counts these, as in a release.
    memo : dict or None
        What simulated releases of one sweep have in common. Raw data: it goes when the sweep does, no forest keeps it.
        Rows that a release is fitted on have none.
    scale : ReleasedScale or None
        Set where a simulation shows these rows on their exact scale, as a model without privacy would see them.
    """

    codes: np.ndarray
    y: np.ndarray
    row_ids: np.ndarray
    n_given: int
    memo: dict[tuple, Any] | None = None
    scale: ReleasedScale | None = None
    n_table: int = 0

    @property
    def n_asked(self) -> int:
        """Number of rows that a question about it counts."""
        return self.n_table or len(self.y)

    def of_table(self, n_rows: int) -> Self:
        """The same rows, as the part of a table of so many rows whose release is simulated."""
        return replace(self, n_given=n_rows, n_table=n_rows)

    def on_scale(self, domain: Domain, scale: ReleasedScale) -> Self:
        """The same rows on a released scale; nothing that was computed on another scale comes along."""
        return replace(self, scale=scale, memo=None if self.memo is None else {})

    def once(self, key: tuple, compute: Callable[[], T]) -> T:
        """Compute; in a sweep only once for each key, which names all that it depends on besides the rows.

        Nobody may write into what comes back.
        """
        if self.memo is None:
            return compute()
        if key not in self.memo:
            self.memo[key] = compute()
        return self.memo[key]


@dataclass(kw_only=True, eq=False, repr=False)
class DataDependentClassifier(ForestClassifier):
    """Base of the forests whose splits or leaf values are chosen from the rows, one after another.

    Not for use by itself. A fit encodes the rows once (`encode`) and then grows a forest (`_fit_forest`).
    """

    structure_is_public = False
    structure_seed = 0  # a parameter only where something besides noise is random

    def encode(self, domain: Domain, X: Any, y: np.ndarray, row_ids: np.ndarray, *, n_given: int | None = None) -> Any:
        """The rows as this forest reads them, for `fit_encoded`.

        Parameters
        ----------
        domain : Domain
            Complete, and on the scale of `reading_domain`.
        X : DataFrame, or uint16 array of shape (n, n_features)
            Raw rows, or their codes.
        y : int32 array of shape (n,)
            Class indices.
        row_ids : int64 array of shape (n,)
            Names of the rows in the draws of a demonstration.
        n_given : int, optional
            Number of rows before any was left out; by default none was.

        Returns
        -------
        EncodedRows or BinnedRows
            The rows, in their order.
        """
        return EncodedRows(
            codes=encoded(domain, X), y=y, row_ids=row_ids, n_given=len(y) if n_given is None else n_given
        )

    def fit_encoded(self, domain: Domain, rows: Any, *, n_jobs: int = 1, trace: Trace | None = None) -> Forest:
        """Fit on rows that are encoded already.

        Parameters
        ----------
        domain : Domain
            That the rows were encoded by.
        rows : EncodedRows or BinnedRows
            What `encode` gives.
        n_jobs : int
            Threads; the result does not depend on it.
        trace : Trace, optional
            Filled for the curator's drawings.

        Returns
        -------
        Forest
            A released forest if the fit is certified, else one for the curator only.

        Raises
        ------
        ValueError
            If a parameter is out of range, or the rows are on a scale that no budget paid for.
        """
        return self._checked()._fit_forest(domain, rows, n_jobs, trace)

    def _fit_forest(self, domain: Domain, rows: Any, n_jobs: int, trace: Trace | None = None) -> Forest:
        raise NotImplementedError

    def _encoded(self, domain: Domain, rows: EncodedTable) -> Any:
        return self.encode(domain, rows.codes, rows.y, rows.ids, n_given=rows.n_given)

    def _prepared(
        self, domain: Domain, rows: Any, ledger: Ledger, source: SecretSource | DemoSource
    ) -> tuple[Any, Any]:
        """The spec of a fit, and its rows on the scale that it asked for and paid for, if it did."""
        if rows.scale is not None and self._budget is not None:
            raise ValueError("these rows are on a scale that nobody paid for; encode them anew with encode")
        spec, scale = self._prepare(
            domain,
            rows.n_asked,
            rows.n_given,
            lambda: rows.once(("scale",), lambda: scale_histograms(domain, rows.codes)),
            ledger,
            source,
        )
        return spec, rows if scale is None else rows.on_scale(domain, scale)

    # ------------------------------------------------------------ what is refused before the first question

    def preview(self, domain: Domain, n_rows: int) -> tuple[Certificate, Ledger]:
        """As of every forest; ValueError where its file could not be read back as well."""
        promise = super().preview(domain, n_rows)
        self._check_file(domain)
        return promise

    def _check_file(self, domain: Domain) -> None:
        """Raise ValueError if a file of this forest could be too large, or could not hold the domain."""
        n_trees, depth = self.most_trees * self.scores_of(domain), self.most_depth
        check_forest_size(n_trees, depth, n_trees * 2**depth, domain.n_classes)
        if self.epsilon is not None and self.mode == "certified":
            check_domain(domain)

    def scores_of(self, domain: Domain) -> int:
        """Trees that a fit grows for each of `n_estimators`."""
        return 1

    @property
    def most_depth(self) -> int:
        """Most levels of complete trees that a fit will grow; 1 where it grows others."""
        raise NotImplementedError

    @property
    def most_trees(self) -> int:
        """Most trees that a fit will grow, for each score."""
        raise NotImplementedError

    @property
    def _given_bound(self) -> int | None:
        """The public bound on the number of rows that noise or the certificate rests on; None for the largest."""
        return None

    @property
    def _hides_rows(self) -> bool:
        """Whether noise may depend on a public bound only, and not on the number of rows."""
        return self._prepares

    @property
    def _row_sentences(self) -> tuple[str, ...]:
        """Under add-remove, where the table must keep a public bound. Under replace-one the number is public."""
        return (bound_sentence(self._row_bound(0)),) if self._hides_rows and self.neighbors == ADD_REMOVE else ()

    def _row_bound(self, n_rows: int) -> int:
        """Number of rows that noise may depend on: a public bound, or the number where it is public.

        If nothing is private, that is the exact number as well.
        """
        if not self._hides_rows or self.neighbors != ADD_REMOVE:
            return max(n_rows, 1)
        return MAX_BOUND if self._given_bound is None else self._given_bound

    def _check_size(self, n_rows: int) -> None:
        if n_rows > MAX_BOUND:
            raise ValueError(f"the table has more rows than the {MAX_BOUND:,} that this forest can weigh; take fewer")
        bound = self._row_bound(n_rows)
        if n_rows > bound:
            raise ValueError(
                f"the table has more rows than n_bound={bound:,}, which the privacy guarantee rests on; give a public "
                "bound that is certain to hold"
            )
