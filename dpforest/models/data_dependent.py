"""The base class of forests whose fit reads the rows many times: encoded rows, and a public bound on their number."""

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
    """Rows in the form that a fit reads; all fits on the same rows share them.

    Attributes
    ----------
    codes : uint16 array of shape (n, n_features)
    y : int32 array of shape (n,)
        Class indices.
    row_ids : int64 array of shape (n,)
        Identifiers of the rows in the draws of a demonstration, so that removing one row leaves the others' draws.
    n_given : int
        Number of rows given to the fit (`EncodedTable`), the only count that may be public.
    n_table : int
        0, except where a simulation fits on a part of a table (`of_table`): then the number of rows of that table. A
        question about the number of rows counts these, as in a release.
    memo : dict or None
        Results that the simulated releases of one sweep share. It holds raw data: it lives as long as the sweep, and no
        forest keeps it. None for a real release.
    scale : ReleasedScale or None
        Set where a simulation shows these rows on their exact scale, which a model without privacy would see.
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
        """Exact answer to a question about the number of rows."""
        return self.n_table or len(self.y)

    def of_table(self, n_rows: int) -> Self:
        """Return the same rows as a part of a table of `n_rows` rows, whose release is simulated."""
        return replace(self, n_given=n_rows, n_table=n_rows)

    def on_scale(self, domain: Domain, scale: ReleasedScale) -> Self:
        """Return the same rows on a released scale, with an empty memo: its results hold for the old scale."""
        return replace(self, scale=scale, memo=None if self.memo is None else {})

    def once(self, key: tuple, compute: Callable[[], T]) -> T:
        """Return the result of `compute`; a sweep computes it once for each key.

        The key must name everything that the result depends on besides the rows. Callers must not change the result.
        """
        if self.memo is None:
            return compute()
        if key not in self.memo:
            self.memo[key] = compute()
        return self.memo[key]


@dataclass(kw_only=True, eq=False, repr=False)
class DataDependentClassifier(ForestClassifier):
    """Base class of the forests that choose splits or leaf values from the rows, one after another.

    Not for use by itself. A fit encodes the rows once (`encode`) and then grows a forest (`_fit_forest`).
    """

    structure_is_public = False
    structure_seed = 0  # a parameter only of forests with randomness besides noise

    def encode(self, domain: Domain, X: Any, y: np.ndarray, row_ids: np.ndarray, *, n_given: int | None = None) -> Any:
        """Encode the rows in the form that this forest reads, for `fit_encoded`.

        Parameters
        ----------
        domain : Domain
            Complete, and on the scale that `reading_domain` returns.
        X : DataFrame, or uint16 array of shape (n, n_features)
            Raw rows, or their codes.
        y : int32 array of shape (n,)
            Class indices.
        row_ids : int64 array of shape (n,)
            Identifiers of the rows in the draws of a demonstration.
        n_given : int, optional
            Number of rows before any was left out; by default the number of rows in `y`.

        Returns
        -------
        EncodedRows or BinnedRows
            The rows, in their order.
        """
        return EncodedRows(
            codes=encoded(domain, X), y=y, row_ids=row_ids, n_given=len(y) if n_given is None else n_given
        )

    def fit_encoded(self, domain: Domain, rows: Any, *, n_jobs: int = 1, trace: Trace | None = None) -> Forest:
        """Fit on encoded rows.

        Parameters
        ----------
        domain : Domain
            Domain that encoded the rows.
        rows : EncodedRows or BinnedRows
            Result of `encode`.
        n_jobs : int
            Number of threads; the result does not depend on it.
        trace : Trace, optional
            Gets the data of the curator's drawings.

        Returns
        -------
        Forest
            A released forest if the fit is certified, otherwise a forest for the curator only.

        Raises
        ------
        ValueError
            If a parameter is out of range, if there are more rows than a public bound allows, or if only a simulation
            may fit these rows: on a scale that no budget has paid for, or as part of a table (`of_table`).
        """
        model = self._checked()
        model._check_size(max(rows.n_given, len(rows.y)))
        return model._fit_forest(domain, rows, n_jobs, trace)

    def _fit_forest(self, domain: Domain, rows: Any, n_jobs: int, trace: Trace | None = None) -> Forest:
        raise NotImplementedError

    def _encoded(self, domain: Domain, rows: EncodedTable) -> Any:
        return self.encode(domain, rows.codes, rows.y, rows.ids, n_given=rows.n_given)

    def _prepared(
        self, domain: Domain, rows: Any, ledger: Ledger, source: SecretSource | DemoSource
    ) -> tuple[Any, Any]:
        """Return the spec of a fit, and its rows, on the released scale if the fit asks and pays for one."""
        if rows.scale is not None and self._budget is not None:
            raise ValueError("these rows are on a scale that nobody paid for; encode them anew with encode")
        if rows.n_table and self._budget is not None and not isinstance(source, DemoSource):
            raise ValueError(
                "these rows are part of a table whose release is simulated, which needs a seed (random_state); for a "
                "release encode the rows anew with encode"
            )
        spec, scale = self._prepare(
            domain,
            rows.n_asked,
            rows.n_given,
            lambda: rows.once(("scale",), lambda: scale_histograms(domain, rows.codes)),
            ledger,
            source,
        )
        return spec, rows if scale is None else rows.on_scale(domain, scale)

    # ------------------------------------------------------------ checks before the first question

    def preview(self, domain: Domain, n_rows: int) -> tuple[Certificate, Ledger]:
        """Return what `ForestClassifier.preview` returns; raise ValueError also if the file could not be read back."""
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
        """Return the number of trees that a fit grows for each of `n_estimators`."""
        return 1

    @property
    def most_depth(self) -> int:
        """Largest depth of the complete trees that a fit grows; 1 if its trees are not complete."""
        raise NotImplementedError

    @property
    def most_trees(self) -> int:
        """Largest number of trees that a fit grows for each score."""
        raise NotImplementedError

    @property
    def _given_bound(self) -> int | None:
        """The public bound on the number of rows that noise or the certificate depends on; None for the largest."""
        return None

    @property
    def _hides_rows(self) -> bool:
        """Whether noise may depend only on a public bound, not on the number of rows."""
        return self._prepares

    @property
    def _row_sentences(self) -> tuple[str, ...]:
        """The sentence about the public bound under add-remove; under replace-one the number of rows is public."""
        return (bound_sentence(self._row_bound(0)),) if self._hides_rows and self.neighbors == ADD_REMOVE else ()

    def _row_bound(self, n_rows: int) -> int:
        """Return the number of rows that noise may depend on: a public bound, or the public number of rows.

        If noise may depend on the number of rows (not `_hides_rows`), return that number.
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
