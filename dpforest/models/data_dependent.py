"""The base class of forests whose splits or leaves depend on earlier answers, and the encoded rows that they read."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self, TypeVar

import numpy as np

from dpforest.limits import MAX_BOUND
from dpforest.models.base import ForestClassifier, bound_sentence
from dpforest.models.trace import Trace
from dpforest.privacy.certificate import Certificate
from dpforest.privacy.ledger import ADD_REMOVE, Ledger
from dpforest.privacy.randomness import DemoSource, SecretSource
from dpforest.tables.domain import Domain
from dpforest.tables.rows import EncodedTable
from dpforest.tables.units import UNIT_WEIGHT, Units
from dpforest.trees.forest import Forest
from dpforest.trees.forest_schema import check_domain
from dpforest.trees.forest_size import check_forest_size
from dpforest.trees.released_scale import ReleasedScale, scale_histograms
from dpforest.trees.routing import encoded

T = TypeVar("T")


@dataclass(frozen=True, eq=False, kw_only=True)
class EncodedRows:
    """Rows in the form that a fit reads. All fits on the same rows share this object.

    Attributes
    ----------
    codes : uint16 array of shape (n, n_features)
        Codes of `Domain.encode`.
    y : int32 array of shape (n,)
        Class index of each row.
    row_ids : int64 array of shape (n,)
        Identifiers of the rows. In a demonstration (a fit with a seed), the draws of a row depend on its identifier. So
        if one row is removed, the draws of other rows do not change.
    n_given : int
        Number of rows (or of persons, see `Domain.unit`) that the fit was given, including rows that are left out
        because their label is not listed (`EncodedTable`). Under replace-one, this number is public; the number of
        remaining rows is not.
    n_table : int
        0 in a release. If a simulation fits on a part of a table (`of_table`), the number of rows (or of persons, see
        `Domain.unit`) of the whole table. A question about the number of rows then gets the answer of the whole table.
    memo : dict or None
        Results that the simulated releases of one sweep share; None for a real release. The results contain raw data,
        so no forest keeps them, and they are dropped at the end of the sweep.
    scale : ReleasedScale or None
        Distribution of each numeric attribute, which determines bins and thresholds. None: a uniform distribution on
        the public scale of the domain. A fit sets this field to the distribution that the fit released. Only a
        simulation without privacy sets the field before the fit, to the exact distribution of the rows.
    units : Units or None
        Person and weight of each row, if the domain declares a unit.
    """

    codes: np.ndarray
    y: np.ndarray
    row_ids: np.ndarray
    n_given: int
    memo: dict[tuple, Any] | None = None
    scale: ReleasedScale | None = None
    n_table: int = 0
    units: Units | None = None

    @property
    def n_counted(self) -> int:
        """Number of these rows or, with a unit of privacy, of their persons."""
        return len(self.y) if self.units is None else self.units.n_units

    @property
    def size_answer(self) -> int:
        """Exact answer to a question about the number of rows or persons."""
        return self.n_table or self.n_counted

    @property
    def weight(self) -> np.ndarray | None:
        """Weight of each row in 1/1024; None without a unit, because each row counts as 1."""
        return None if self.units is None else self.units.weight

    @property
    def weights(self) -> np.ndarray:
        """Amount that each row adds to a count, int64 (n,): 1 or, if there is a unit, the row's weight in 1/1024."""
        return np.ones(len(self.y), np.int64) if self.units is None else self.units.weight

    def counts_in_leaves(self, leaf: np.ndarray, n_leaves: int, n_classes: int) -> np.ndarray:
        """Return the number of rows of each class in each leaf, (n_leaves, n_classes), for the curator's figures.

        `leaf` holds the leaf of each row. If the domain declares a unit of privacy, the result is the number of
        persons, as floats: a person counts as 1 in total, divided evenly among the person's rows.
        """
        cells, n = leaf * np.int64(n_classes) + self.y, n_leaves * n_classes
        counts = np.bincount(cells, minlength=n)
        if self.weight is not None:
            counts = np.bincount(cells, self.weight / UNIT_WEIGHT, minlength=n)
        return counts.reshape(n_leaves, n_classes)

    def zeros(self, shape: tuple[int, ...], dtype: Any) -> np.ndarray:
        """Return an array of zeros, for numbers that a fit keeps for each row. A subclass may place it in a file."""
        return np.zeros(shape, dtype)

    def of_table(self, n_rows: int) -> Self:
        """Return these rows as a part of a table of `n_rows` rows, to simulate a release of the whole table."""
        return replace(self, n_given=n_rows, n_table=n_rows)

    def on_scale(self, domain: Domain, scale: ReleasedScale) -> Self:
        """Return these rows on a released scale, without the results in the memo, which are for the old scale."""
        return replace(self, scale=scale, memo=None if self.memo is None else {})

    def cached(self, key: tuple, compute: Callable[[], T]) -> T:
        """Return the result of `compute`. If there is a memo, compute the result only once for each key.

        The key must contain everything that the result depends on, except the rows. Callers must not change the result.
        """
        if self.memo is None:
            return compute()
        if key not in self.memo:
            self.memo[key] = compute()
        return self.memo[key]


def row_facts(
    domain: Domain, y: np.ndarray, row_ids: np.ndarray, n_given: int | None, units: Units | None
) -> dict[str, Any]:
    """Return the fields of `EncodedRows` that describe rows, except the codes.

    `DataDependentClassifier.encode` describes the parameters. Raise ValueError if only one of `units` and `domain.unit`
    is None.
    """
    if (units is None) != (domain.unit is None):
        raise ValueError("Give the persons of the rows (units) if the domain declares a unit, and only then.")
    n_counted = len(y) if units is None else units.n_units
    return {"y": y, "row_ids": row_ids, "n_given": n_counted if n_given is None else n_given, "units": units}


@dataclass(kw_only=True, eq=False, repr=False)
class DataDependentClassifier(ForestClassifier):
    """Base class of the forests that choose splits or leaf values from the rows, level by level or tree by tree.

    Only its subclasses can be fitted. A fit encodes the rows once (`encode`) and then grows a forest (`_fit_forest`).
    """

    most_rows: ClassVar[int] = MAX_BOUND  # largest number of rows that a fit accepts
    structure_is_public = False
    structure_seed = 0  # only forests with random draws besides the noise have this parameter

    def encode(
        self,
        domain: Domain,
        X: Any,
        y: np.ndarray,
        row_ids: np.ndarray,
        *,
        n_given: int | None = None,
        units: Units | None = None,
    ) -> Any:
        """Encode the rows in the form that this forest reads, for `fit_encoded`.

        Parameters
        ----------
        domain : Domain
            Domain with classes, on the scale that `reading_domain` returns.
        X : DataFrame, or uint16 array of shape (n, n_features)
            Raw rows, or their codes.
        y : int32 array of shape (n,)
            Class index of each row.
        row_ids : int64 array of shape (n,)
            Identifiers of the rows, on which the draws of a demonstration depend.
        n_given : int, optional
            Number of rows (or of persons, see `Domain.unit`) before any row was left out. By default, the number of
            rows in `y`, or of persons in `units`.
        units : Units, optional
            Person and weight of each row. Required if the domain declares a unit.

        Returns
        -------
        EncodedRows or BinnedRows
            The rows, in their order.
        """
        return EncodedRows(codes=encoded(domain, X), **row_facts(domain, y, row_ids, n_given, units))

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
            Record that the fit fills in, for figures that only the curator (the data holder) may see.

        Returns
        -------
        Forest
            A `ReleasedForest` if the ledger has a budget, otherwise a `CuratorForest`.

        Raises
        ------
        ValueError
            If a parameter is out of range, or if there are more rows than a public bound allows. With a budget, also if
            the rows were given a scale before the fit (`EncodedRows.scale`), or if they are the result of `of_table`
            and the fit has no seed: such rows are only for simulations.
        """
        model = self._checked_copy()
        if (rows.units is None) != (domain.unit is None):
            raise ValueError("These rows were encoded for another unit of privacy; encode them again with encode.")
        model._check_size(max(rows.n_given, rows.n_counted))
        return model._fit_forest(domain, rows, n_jobs, trace)

    def _fit_forest(self, domain: Domain, rows: Any, n_jobs: int, trace: Trace | None = None) -> Forest:
        raise NotImplementedError

    def _encode_rows(self, domain: Domain, rows: EncodedTable) -> Any:
        return self.encode(domain, rows.codes, rows.y, rows.ids, n_given=rows.n_given, units=rows.units)

    def _prepare_rows(
        self, domain: Domain, rows: Any, ledger: Ledger, source: SecretSource | DemoSource
    ) -> tuple[Any, Any]:
        """Return the spec of a fit and its rows.

        If the fit asks for a scale, this method charges the question and returns the rows on the released scale.
        """
        if rows.scale is not None and self._budget is not None:
            raise ValueError(
                "these rows are on a scale that the ledger does not include; encode them again with encode"
            )
        if rows.n_table and self._budget is not None and not isinstance(source, DemoSource):
            raise ValueError(
                "these rows are part of a table whose release is simulated, which needs a seed (random_state); for a "
                "release, encode the rows again with encode"
            )
        spec, scale = self._prepare(
            domain,
            rows.size_answer,
            rows.n_given,
            lambda: rows.cached(("scale",), lambda: scale_histograms(domain, rows.codes, rows.weight)),
            ledger,
            source,
        )
        return spec, rows if scale is None else rows.on_scale(domain, scale)

    # ------------------------------------------------------------ checks before the first question

    def preview(self, domain: Domain, n_rows: int) -> tuple[Certificate, Ledger]:
        """Return the result of `ForestClassifier.preview`. Raise ValueError if no file could hold the forest."""
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
        """Largest depth of the complete trees that a fit may grow; 1 if its trees are not complete."""
        raise NotImplementedError

    @property
    def most_trees(self) -> int:
        """Largest number of trees that a fit may grow for each class score."""
        raise NotImplementedError

    @property
    def _given_bound(self) -> int | None:
        """The user's public bound on the number of rows; None if there is none, or if noise does not depend on it."""
        return None

    @property
    def _hides_rows(self) -> bool:
        """Whether the number of rows is hidden, so that noise may depend only on a public bound on this number."""
        return self._prepares

    def _row_sentences(self, domain: Domain) -> tuple[str, ...]:
        """Return the sentence about the public bound. Under replace-one there is none, because the number is public."""
        is_hidden = self._hides_rows and self.neighbors == ADD_REMOVE
        return (bound_sentence(self._row_bound(0), domain.unit),) if is_hidden else ()

    def _row_bound(self, n_rows: int) -> int:
        """Return the number of rows that noise may depend on: a public bound, or the public number of rows.

        The result is a public bound only under add-remove, and only if `_hides_rows` is True.
        """
        if not self._hides_rows or self.neighbors != ADD_REMOVE:
            return max(n_rows, 1)
        return self.most_rows if self._given_bound is None else self._given_bound

    def _check_size(self, n_rows: int) -> None:
        if n_rows > self.most_rows:
            raise ValueError(
                f"the table has more rows than the {self.most_rows:,} that this forest accepts; use fewer rows"
            )
        bound = self._row_bound(n_rows)
        if n_rows > bound:
            raise ValueError(
                f"the table has more rows than n_bound={bound:,}, on which the privacy guarantee depends; give "
                "a public bound that is certain to hold"
            )
