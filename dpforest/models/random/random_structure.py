"""What the forests with data-independent structure share: a spec, then counts, then a release."""

import math
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import pandas as pd

from dpforest.checks import threads
from dpforest.limits import MAX_BOUND
from dpforest.models.base import AUTO, ForestClassifier
from dpforest.models.preparation import RANDOM_STRUCTURE
from dpforest.models.random.fit import fit_forest
from dpforest.models.random.partial_counts import PartCounter, PartialCounts, counting_settings
from dpforest.models.random.partial_scale import PartialScale, Prepared
from dpforest.models.random.spec import ForestSpec
from dpforest.privacy import published
from dpforest.privacy.certificate import Certificate
from dpforest.privacy.ledger import ADD_REMOVE, Ledger
from dpforest.privacy.randomness import DemoSource, SecretSource, source_for
from dpforest.tables.domain import Domain
from dpforest.tables.out_of_domain import OutOfDomainCells
from dpforest.tables.rows import EncodedTable, ids_of, read_rows
from dpforest.trees.forest import Forest
from dpforest.trees.forest_schema import check_domain
from dpforest.trees.released_scale import ReleasedScale, scale_histograms

_PARTITIONS = {
    "independent": "shared out among the trees by independent draws",
    "shared": "all in every tree",
    "blocks": "shared out among the trees in equal blocks",
}


@dataclass(kw_only=True, eq=False, repr=False)
class RandomStructureClassifier(ForestClassifier):
    """Base of the forests whose structure does not look at data. Not for use by itself."""

    structure_seed: int = 0

    structure_is_public = True
    scale_rule = RANDOM_STRUCTURE

    @property
    def needs_all_rows(self) -> bool:
        """Whether the structure follows from the number of rows."""
        return False

    def fit_chunks(self, chunks: Iterable[tuple[Any, Any]]) -> Self:
        """Fit on a table that comes in parts: the forest, certificate and ledger that `fit` gives on all of it.

        Where rows are asked about before trees grow (`scale_share`, shapes that are "auto"), all parts are read twice.
        In memory are one part and the counts of all leaves. With the same seeds, a demo (`random_state` an integer) is
        that of `fit` bit for bit, wherever the table is cut: what is drawn for a row belongs to its id. That is its
        number in the index of its table, as in `fit`; arrays, and tables whose index is a plain range from 0, are
        numbered on.

        Parameters
        ----------
        chunks : iterable of (X, y)
            Parts of the table, as `fit` takes it; none, or parts without rows, are fine. `dpforest.read_chunks` makes
            them of a file. Of an iterator, which can be read once only, the scale is not asked for, and a warning says
            so; its shape must be given, or a public `size` to find it by.

        Returns
        -------
        self
            This estimator, fitted on all parts.

        Raises
        ------
        ValueError
            If there is no public domain with classes, a part has not its columns, all rows are needed at once, or they
            would have to be read twice and cannot.

        Examples
        --------
        >>> from dpforest import MajorityLabelForestClassifier, load_dataset
        >>> data = load_dataset("nursery")
        >>> forest = MajorityLabelForestClassifier(domain=data.domain, random_state=0)
        >>> parts = [(data.X[i : i + 1_000], data.y[i : i + 1_000]) for i in range(0, len(data.table), 1_000)]
        >>> text = forest.fit_chunks(parts).forest_.to_json(uncertified=True)
        >>> text == forest.fit(data.X, data.y).forest_.to_json(uncertified=True)
        True
        """
        domain, model = self._given_domain(), self._checked()
        if model._looks(domain):
            if isinstance(chunks, Iterator):
                return self._fit_once_read(chunks)
            scales, out_of_domain = PartialScale.of_nobody(domain), OutOfDomainCells()
            for X, y in chunks:
                scales += self._scale_of(domain, *self._checked_part(X, y), out_of_domain)
            out_of_domain.warn()  # before the first question, because the warning stops the fit if it is an error
            self.fit_scale(scales)
        counter = self._counter(domain)
        total, out_of_domain = counter.count(_nobody(domain)), OutOfDomainCells()
        for X, y in chunks:
            X, y = self._checked_part(X, y)
            ids = ids_of(X) + (total.n_rows if _is_numbered_from_0(X) else 0)
            total += counter.count(read_rows(domain, X, y, ids, out_of_domain=out_of_domain))
        if not model._looks(domain):  # otherwise both warnings came above
            out_of_domain.warn()
            self._warn_of_leaks(domain)
        return self._release(total, domain)

    def _fit_once_read(self, chunks: Iterator[tuple[Any, Any]]) -> Self:
        """`fit_chunks` without the scale."""
        size_is_public = self.size is not None and self.neighbors == ADD_REMOVE
        if self.scale_share != AUTO or AUTO in (self.n_estimators, self.max_depth) and not size_is_public:
            raise ValueError(
                "These parts can be read once only, but before trees are grown it has to be known how many rows there "
                "are and where they lie; give a list of them or dpforest.read_chunks. Or else numbers for max_depth, "
                "n_estimators or size, and scale_share='public'."
            )
        warnings.warn(
            "These parts can be read once only, so the scale of the data is not asked for, and the forest may be less "
            "accurate; give a list of them, dpforest.read_chunks, or scale_share='public'.",
            stacklevel=3,
        )
        model = type(self)(**{**self.get_params(deep=False), "scale_share": "public"}).fit_chunks(chunks)
        return self._fitted(model.forest_, model.domain_)

    def partial_scale(self, X: Any, y: Any) -> PartialScale:
        """Count where a part of the rows lies, for `fit_scale`. Curator only: the counts are exact.

        Parameters
        ----------
        X : DataFrame or array of shape (n, n_features)
            Rows with the columns of the domain; a DataFrame is read by column name, an array by position.
        y : array of shape (n,)
            Labels of these rows; a row without a listed label is not counted.

        Returns
        -------
        PartialScale
            Adds up with ``+``.

        Raises
        ------
        ValueError
            As `fit_chunks`.
        """
        self._checked()
        return self._scale_of(self._given_domain(), *self._checked_part(X, y), None)

    def fit_scale(self, part: PartialScale) -> Self:
        """Release what has to be known before trees are grown: how many rows there are and where they lie.

        Then rows can be counted with `partial_counts`, also by copies of this estimator on other machines, and
        `fit_counts` releases the rest. The ledger of that release has the cost of both.

        Parameters
        ----------
        part : PartialScale
            The sum over all parts of the table.

        Returns
        -------
        self
            This estimator, with `prepared_`.

        Raises
        ------
        ValueError
            If the rows were counted for another domain, or as `fit_chunks`.
        """
        domain = self._given_domain()
        model = self._checked()
        part.check(domain)
        self._warn_of_leaks(domain)
        model._check_size(part.n_given)
        model._check_unasked(domain, part.n_given)
        source, ledger = source_for(model.random_state), model._ledger()
        spec, scale = model._prepare(domain, part.n_rows, part.n_given, lambda: part.cells, ledger, source)
        self.prepared_ = Prepared(spec, scale, ledger.entries, model._settings())
        return self

    def _scale_of(self, domain: Domain, X: Any, y: Any, out_of_domain: OutOfDomainCells | None) -> PartialScale:
        rows = read_rows(domain, X, y, out_of_domain=out_of_domain)
        return PartialScale(scale_histograms(domain, rows.codes), len(rows.y), rows.n_given, domain)

    def _looks(self, domain: Domain) -> bool:
        """Whether something of the rows has to be known before trees are grown."""
        size_is_public = self.size is not None and self.neighbors == ADD_REMOVE
        by_rule = AUTO in (self.n_estimators, self.max_depth) and not size_is_public
        scaled = self.scale_share != "public" and any(f.kind == "numeric" for f in domain.features)
        return self._prepares and (by_rule or scaled)

    def _settings(self) -> dict[str, Any]:
        """All that a preparation depends on, besides the rows."""
        return {name: value for name, value in self.get_params(deep=False).items() if name != "n_jobs"}

    def _prepared(self, domain: Domain, n_rows: int) -> tuple[ForestSpec, ReleasedScale | None, Ledger]:
        """What was found out by `fit_scale`, where anything had to be, and a ledger that has paid for it."""
        ledger = self._ledger()
        if not self._looks(domain):
            is_public = not self._prepares or self.neighbors != ADD_REMOVE
            return self._plan(domain, n_rows if is_public else self.size or 0), None, ledger
        prepared = getattr(self, "prepared_", None)
        if prepared is None or prepared.settings != self._settings():
            raise ValueError(
                "Where the rows lie has to be known before they are counted: call fit_scale with the sum of what "
                "partial_scale gives for all parts, or give scale_share='public'."
            )
        for e in prepared.entries:
            ledger.charge(e.what, e.mechanism, e.sensitivity, e.each, e.times, e.composition, part=e.part)
        return prepared.spec, prepared.scale, ledger

    def partial_counts(self, X: Any, y: Any, *, row_ids: Any = None) -> PartialCounts:
        """Count a part of the rows, for `fit_counts`: the half of a fit that can be done where the rows are.

        Curator only: the counts are exact. Each row must be in one part only. That the same rows are in two cannot be
        seen from counts, and then they cost ε twice and the certificate does not hold.

        Parameters
        ----------
        X : DataFrame or array of shape (n, n_features)
            Rows with the columns of the domain; a DataFrame is read by column name, an array by position.
        y : array of shape (n,)
            Labels of these rows.
        row_ids : int array of shape (n,), optional
            What names the rows in a demo (`random_state` an integer), different in all parts; by default the index of
            the table if it is whole numbers, else their places in this part.

        Returns
        -------
        PartialCounts
            Adds up with ``+``.

        Raises
        ------
        ValueError
            As `fit_chunks`.
        """
        domain = self._given_domain()
        X, y = self._checked_part(X, y)
        ids = ids_of(X) if row_ids is None else np.asarray(row_ids)
        if ids.shape != (len(X),) or ids.dtype.kind not in "iu":
            raise ValueError(f"row_ids must be {len(X):,} whole numbers, one for each row.")
        out_of_domain = (
            OutOfDomainCells() if self._looks(domain) else None
        )  # `partial_scale` already warned about these rows
        return self._counter(domain).count(read_rows(domain, X, y, ids.astype(np.int64), out_of_domain=out_of_domain))

    def fit_counts(self, part: PartialCounts) -> Self:
        """Release from counts: the other half, which charges the ledger and draws the noise.

        Parameters
        ----------
        part : PartialCounts
            The sum over all parts of the table. Each call is a separate release and costs ε again.

        Returns
        -------
        self
            This estimator, fitted on the counted rows.

        Raises
        ------
        ValueError
            If the rows were counted for a forest with other settings, or as `fit_chunks`.
        TypeError
            If these are no counts.
        """
        domain = self._given_domain()
        if not isinstance(part, PartialCounts):
            raise TypeError(f"fit_counts takes what partial_counts returns, not {type(part).__name__}.")
        self._warn_of_leaks(domain)
        return self._release(part, domain)

    def _release(self, part: PartialCounts, domain: Domain) -> Self:
        """Fit on nobody and on those who were counted before."""
        model = self._checked()
        model._check_size(part.n_rows)
        if not model._looks(domain):
            self._forget()
        spec, scale, ledger = model._prepared(domain, part.n_rows)
        part.check(counting_settings(spec, domain, scale, **model._seeds()))
        nobody = _nobody(domain)
        self._check_rows(nobody.codes, reset=True)
        source = source_for(model.random_state)
        forest = model._fit_spec(spec, domain, nobody, 1, ledger, source, scale, part.counts)
        return self._fitted(forest, domain)

    def _check_unasked(self, domain: Domain, n_rows: int) -> None:
        """Under add-remove at the largest shape of the rules: an error must not depend on the number of rows."""
        if not self._looks(domain) or self._budget is None:
            return
        if self.neighbors == ADD_REMOVE:
            n_rows = max(MAX_BOUND, math.ceil(2**17 / self._budget))
        spec = self._plan(domain, n_rows)
        check_domain(domain)
        spec.check_size(domain, int(self.structure_seed))

    def _forget(self) -> None:
        self.__dict__.pop("prepared_", None)

    def _fit_forest(self, domain: Domain, rows: EncodedTable, n_jobs: int) -> Forest:
        source, ledger = source_for(self.random_state), self._ledger()
        spec, scale = self._prepare(
            domain, len(rows.y), rows.n_given, lambda: scale_histograms(domain, rows.codes), ledger, source
        )
        return self._fit_spec(spec, domain, rows, n_jobs, ledger, source, scale)

    def prepare(
        self,
        domain: Domain,
        n_rows: int,
        n_given: int,
        cells: Callable[[], np.ndarray],
        ledger: Ledger,
        source: SecretSource | DemoSource,
    ) -> tuple[ForestSpec, ReleasedScale | None]:
        """Ask what has to be known before trees are grown, and pay for it: the spec, and the scale if there is one.

        Parameters
        ----------
        domain : Domain
            Public schema that the rows are encoded by.
        n_rows, n_given : int
            Rows, and rows before any was left out.
        cells : callable
            Gives the rows in the cells of the scale (`scale_histograms`), if they are asked for.
        ledger : Ledger
            Gets the charges of these queries.
        source : SecretSource or DemoSource
            Draws the noise of these queries.

        Returns
        -------
        spec : ForestSpec
            With the depth and the number of trees that follow from the answers.
        scale : ReleasedScale or None
            Noisy histograms of the attributes; None if they are not queried.
        """
        return self._checked()._prepare(domain, n_rows, n_given, cells, ledger, source)

    def _fit_spec(
        self,
        spec: ForestSpec,
        domain: Domain,
        rows: EncodedTable,
        n_jobs: int,
        ledger: Ledger,
        source: SecretSource | DemoSource,
        scale: ReleasedScale | None = None,
        counted: np.ndarray | int = 0,
    ) -> Forest:
        seed = int(self.structure_seed)
        trees, leaves = fit_forest(
            spec,
            domain,
            rows.codes,
            rows.y,
            epsilon=self._budget,
            ledger=ledger,
            source=source,
            structure_seed=seed,
            row_ids=rows.ids,
            n_jobs=n_jobs,
            scale=scale,
            counted=counted,
        )
        return self._assembled(spec, domain, trees, leaves, ledger, source, {"structure_seed": seed}, scale, seed)

    def _charge(self, spec: ForestSpec, ledger: Ledger, n_leaves: int) -> None:
        if self._budget is not None and ledger.has_budget:
            spec.charge(self._budget, n_leaves, ledger)

    def _preview(self, domain: Domain, n_rows: int) -> tuple[Certificate, Ledger]:
        self._check_unasked(domain, n_rows)
        spec, n_leaves = self._plan(domain, n_rows), 0
        if self._prepares:
            check_domain(domain)
            n_leaves = spec.grow(domain, int(self.structure_seed), to_file=True).n_leaves
        return self._promise(spec, domain, n_leaves)

    def _mechanism_words(self, spec: ForestSpec) -> str:
        rows = _PARTITIONS[spec.partition]
        return f"{spec.mechanism} on {spec.n_trees} trees of depth {spec.depth}, rows {rows}"

    def _paper_reasons(self, spec: ForestSpec, domain: Domain) -> Sequence[str]:
        if self._budget is None or not spec.as_published:
            return []
        return [*published.reasons(spec, domain.n_classes, self._budget), *spec.departures]

    def _seeds(self) -> dict[str, Any]:
        return {"structure_seed": int(self.structure_seed), "random_state": self.random_state}

    def _given_domain(self) -> Domain:
        """The domain, which must be complete: what a part would add to it, other parts would not know."""
        if not isinstance(self.domain, Domain) or not self.domain.classes:
            raise ValueError(
                "Rows can be counted part by part only against a public domain with classes, as nothing may be read "
                "from a part; give domain=Domain(..., classes=...)."
            )
        if self.needs_all_rows:
            raise ValueError(
                "The depth of this forest follows from the number of all rows, so they cannot be counted part by part; "
                "give n_bound, a public bound on it, or max_depth."
            )
        return self.reading_domain(self.domain)

    def _checked_part(self, X: Any, y: Any) -> tuple[Any, np.ndarray]:
        """As `fit` checks a table, but nothing is left on this estimator, which may be at work elsewhere."""
        return type(self)(**self.get_params(deep=False))._check_table(X, y)

    def _counter(self, domain: Domain) -> PartCounter:
        model = self._checked()
        spec, scale, _ = model._prepared(domain, 0)
        return PartCounter(spec, domain, scale, **model._seeds(), n_jobs=threads(model.n_jobs))


def _is_numbered_from_0(X: Any) -> bool:
    """Whether the numbers of the rows say nothing but their places. A release has no use for them."""
    index = X.index if hasattr(X, "iloc") else pd.RangeIndex(0)
    plain = isinstance(index, pd.RangeIndex) and index.start == 0 and index.step == 1
    return plain or index.dtype.kind not in "iu"


def _nobody(domain: Domain) -> EncodedTable:
    """A table without rows."""
    return EncodedTable(np.empty((0, domain.n_features), np.uint16), np.empty(0, np.int32), np.empty(0, np.int64), 0)
