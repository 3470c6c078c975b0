"""The base class of forests whose trees do not depend on data. A fit counts rows in leaves and adds noise.

The scale is a noisy distribution of each numeric attribute, from which thresholds are drawn.
"""

import math
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self, TypeVar

import numpy as np
import pandas as pd

from dpforest.checks import threads
from dpforest.limits import MAX_BOUND
from dpforest.models.base import AUTO, Account
from dpforest.models.dask_frames import partitions_of, sum_of_partitions
from dpforest.models.part_reading import PartReadingClassifier
from dpforest.models.preparation import RANDOM_STRUCTURE
from dpforest.models.random.fit import fit_forest
from dpforest.models.random.partial_counts import PartCounter, PartialCounts, counting_settings
from dpforest.models.random.partial_scale import PartialScale, ReleasedPreparation
from dpforest.models.random.spec import ForestSpec
from dpforest.privacy import published
from dpforest.privacy.certificate import Certificate
from dpforest.privacy.ledger import ADD_REMOVE, Ledger
from dpforest.privacy.randomness import DemoSource, SecretSource, source_for
from dpforest.tables.domain import Domain
from dpforest.tables.out_of_domain import OutOfDomainCells
from dpforest.tables.rows import EncodedTable, ids_of, read_rows
from dpforest.tables.units import UnitRegistry, Units
from dpforest.trees.forest import Forest
from dpforest.trees.forest_schema import check_domain
from dpforest.trees.released_scale import ReleasedScale, scale_histograms

Part = TypeVar("Part", PartialScale, PartialCounts)

_PARTITIONS = {
    "independent": "shared out among the trees by independent draws",
    "shared": "all in every tree",
    "blocks": "shared out among the trees in equal blocks",
}


@dataclass(kw_only=True, eq=False, repr=False)
class RandomStructureClassifier(PartReadingClassifier):
    """Base class of the forests whose tree structure does not depend on data. Only its subclasses can be fitted."""

    structure_seed: int = 0

    structure_is_public = True
    scale_rule = RANDOM_STRUCTURE

    def fit_chunks(self, chunks: Iterable[tuple[Any, ...]], *, account: Account | None = None) -> Self:
        """Fit on a table in parts, with the same forest, certificate and ledger as a `fit` on the whole table.

        The fit holds one part and the counts of all leaves in memory. It reads all parts twice if it asks about the
        rows before trees grow (`scale_share`, "auto" shapes).

        In a demonstration (`random_state` is an integer), the draws of a row depend only on the seeds and the row's id.
        The id is the row's number in the index, as in `fit`. If parts are arrays, or their index is a plain range from
        0, the ids count rows across all parts. So with equal seeds, `fit_chunks` and `fit` give the same result bit for
        bit, wherever the table is cut.

        If the domain declares a unit of privacy, a person may have rows in several parts. So the fit starts with an
        additional pass over all parts, which counts the rows of each person. This pass holds the identifiers of all
        persons in memory.

        Parameters
        ----------
        chunks : iterable of (X, y) or (X, y, groups)
            Parts of the table, each as in `fit`. The iterable may be empty, and so may parts. `dpforest.read_chunks`
            reads parts from a file. An iterator can be read only once. So with an iterator, the fit warns, and asks
            neither for the scale nor for the number of rows. Then you must set depth and number of trees, or give a
            public `size` from which rules choose them.
        account : Account, optional
            As in `fit`.

        Returns
        -------
        self
            This estimator, fitted on all parts.

        Raises
        ------
        ValueError
            If there is no public domain with classes, if a part lacks columns of the domain, if the forest needs all
            rows at once, or if the fit must read an iterator twice.

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
        domain, model = self._given_domain(), self._checked_copy()
        registry = self._count_persons(domain, chunks) if domain.unit is not None else None
        if model._asks_before_growth(domain):
            if isinstance(chunks, Iterator):
                return self._fit_iterator(chunks, account)
            scales, out_of_domain = PartialScale.of_nobody(domain), OutOfDomainCells()
            for X, y, *groups in chunks:
                X, y = self._checked_part(X, y)
                scales += self._scale_of(domain, X, y, out_of_domain, groups[0] if groups else None, registry)
            out_of_domain.warn()  # before the first question, because a filter may turn the warning into an error
            scales = _with_person_counts(scales, registry)
            if account is not None:
                model._check_and_book(account, domain, scales.n_given)
            self.fit_scale(scales)
        counter = self._counter(domain)
        total, out_of_domain = counter.count(_no_rows(domain)), OutOfDomainCells()
        tree_of_person = None
        if registry is not None:
            registry.restart()
            tree_of_person = counter.draw_persons(registry.ids())
        for X, y, *groups in chunks:
            X, y = self._checked_part(X, y)
            ids = ids_of(X) + (total.n_rows if _is_numbered_from_0(X) else 0)
            rows = read_rows(
                domain, X, y, ids, out_of_domain=out_of_domain, groups=groups[0] if groups else None, registry=registry
            )
            total += counter.count(rows, tree_of_person)
        total = _with_person_counts(total, registry)
        if not model._asks_before_growth(domain):  # otherwise the code above has already given both warnings
            out_of_domain.warn()
            self._warn_of_leaks(domain)
            if account is not None:
                model._check_and_book(account, domain, total.n_rows)
        return self._release(total, domain)

    def _fit_iterator(self, chunks: Iterator[tuple[Any, Any]], account: Account | None) -> Self:
        """Warn, and run `fit_chunks` on an iterator without asking for the scale.

        Raise ValueError if the parameters require a question before trees grow.
        """
        size_is_public = self.size is not None and self.neighbors == ADD_REMOVE
        if self.scale_share != AUTO or AUTO in (self.n_estimators, self.max_depth) and not size_is_public:
            raise ValueError(
                "These parts can be read only once, but before trees grow, the fit asks how many rows there are or "
                "where they lie. Give a list of parts or dpforest.read_chunks. Otherwise give scale_share='public', "
                "and numbers for max_depth and n_estimators, or for size."
            )
        warnings.warn(
            "These parts can be read only once, so the fit does not ask for the scale of the data, and the forest may "
            "be less accurate; give a list of parts, dpforest.read_chunks, or scale_share='public'.",
            stacklevel=3,
        )
        model = type(self)(**{**self.get_params(deep=False), "scale_share": "public"})
        model.fit_chunks(chunks, account=account)
        return self._store_forest(model.forest_, model.domain_)

    def partial_scale(self, X: Any, y: Any, groups: Any = None) -> PartialScale:
        """Count the rows of one part in cells of numeric attributes, for `fit_scale`. For the curator only.

        Parameters
        ----------
        X : DataFrame or array of shape (n, n_features)
            Rows with the columns of the domain; a DataFrame is read by column name, an array by position.
        y : array of shape (n,)
            Labels of these rows; only rows with a listed label are counted.
        groups : array of shape (n,), optional
            Identifier of each row's person, as in `fit`. All rows of a person must be in one part.

        Returns
        -------
        PartialScale
            Counts of this part; add the counts of all parts with ``+``.

        Raises
        ------
        ValueError
            In the cases that `fit_chunks` lists.
        """
        self._checked_copy()
        return self._scale_of(self._given_domain(), *self._checked_part(X, y), None, groups)

    def fit_scale(self, part: PartialScale) -> Self:
        """Release what a fit must know before trees grow: the number of rows, and their noisy distribution (the scale).

        Then this estimator, or its copies on other machines, can count rows with `partial_counts`, and `fit_counts`
        releases the leaves. The ledger of the fitted forest contains the cost of both releases.

        Parameters
        ----------
        part : PartialScale
            The sum over all parts of the table.

        Returns
        -------
        self
            This estimator, with the answers in `prepared_`.

        Raises
        ------
        ValueError
            If the rows were counted for another domain, or in the cases that `fit_chunks` lists.
        """
        domain = self._given_domain()
        model = self._checked_copy()
        part.check(domain)
        self._warn_of_leaks(domain)
        model._check_size(part.n_given)
        model._check_plan(domain, part.n_given)
        source, ledger = source_for(model.random_state), model._ledger(domain)
        spec, scale = model._prepare(domain, part.n_rows, part.n_given, lambda: part.cells, ledger, source)
        self.prepared_ = ReleasedPreparation(spec, scale, ledger.entries, model._settings())
        return self

    def _scale_of(
        self,
        domain: Domain,
        X: Any,
        y: Any,
        out_of_domain: OutOfDomainCells | None,
        groups: Any = None,
        registry: UnitRegistry | None = None,
    ) -> PartialScale:
        """Return the counts of a checked part in cells of numeric attributes."""
        rows = read_rows(domain, X, y, out_of_domain=out_of_domain, groups=groups, registry=registry)
        weight = None if rows.units is None else rows.units.weight
        return PartialScale(scale_histograms(domain, rows.codes, weight), rows.n_counted, rows.n_given, domain)

    def _asks_before_growth(self, domain: Domain) -> bool:
        """Return whether a fit asks about the rows before trees grow."""
        size_is_public = self.size is not None and self.neighbors == ADD_REMOVE
        by_rule = AUTO in (self.n_estimators, self.max_depth) and not size_is_public
        by_scale = self.scale_share != "public" and any(f.kind == "numeric" for f in domain.features)
        return self._prepares and (by_rule or by_scale)

    def _settings(self) -> dict[str, Any]:
        """Return all parameters on which the result of `fit_scale` depends."""
        return {name: value for name, value in self.get_params(deep=False).items() if name != "n_jobs"}

    def _stored_preparation(self, domain: Domain, n_rows: int) -> tuple[ForestSpec, ReleasedScale | None, Ledger]:
        """Return the plan and the scale that `fit_scale` released, and a ledger with its charges.

        If a fit asks nothing before trees grow, return the plan from public facts, no scale, and an empty ledger.
        """
        ledger = self._ledger(domain)
        if not self._asks_before_growth(domain):
            is_public = not self._prepares or self.neighbors != ADD_REMOVE
            return self._plan(domain, n_rows if is_public else self.size or 0), None, ledger
        preparation = getattr(self, "prepared_", None)
        if preparation is None or preparation.settings != self._settings():
            raise ValueError(
                "The fit must ask about the rows before it counts them in leaves: call fit_scale with the sum of the "
                "results of partial_scale for all parts, or give scale_share='public'."
            )
        for e in preparation.entries:
            ledger.charge(e.what, e.mechanism, e.sensitivity, e.each, e.times, e.composition, part=e.part)
        return preparation.spec, preparation.scale, ledger

    def partial_counts(self, X: Any, y: Any, groups: Any = None, *, row_ids: Any = None) -> PartialCounts:
        """Count the rows of one part in all leaves, for `fit_counts`, which does not read the rows.

        Only the curator (the data holder) may see the counts, because they are exact. Each row must be in only one
        part. If there is a unit of privacy, all rows of a person must be in the same part. You must ensure this
        condition, because the counts do not show a violation. If a row or a person is in two parts, its privacy loss is
        up to 2 ε, and the certificate does not hold.

        Parameters
        ----------
        X : DataFrame or array of shape (n, n_features)
            Rows with the columns of the domain; a DataFrame is read by column name, an array by position.
        y : array of shape (n,)
            Labels of these rows.
        groups : array of shape (n,), optional
            Identifier of each row's person, as in `fit`.
        row_ids : int array of shape (n,), optional
            Ids of the rows in a demonstration (`random_state` is an integer). Rows of different parts must have
            different ids. The default is the table's index if it consists of whole numbers, otherwise the places of the
            rows in this part.

        Returns
        -------
        PartialCounts
            Counts of this part; add the counts of all parts with ``+``.

        Raises
        ------
        ValueError
            In the cases that `fit_chunks` lists, or if `row_ids` are not whole numbers, one for each row.
        """
        domain = self._given_domain()
        X, y = self._checked_part(X, y)
        ids = ids_of(X) if row_ids is None else np.asarray(row_ids)
        if ids.shape != (len(X),) or ids.dtype.kind not in "iu":
            raise ValueError(f"row_ids must be {len(X):,} whole numbers, one for each row.")
        # If the fit has asked a question before, `partial_scale` has warned about these rows, and `read_rows` must not
        # warn again: a filter may turn a warning into an error.
        out_of_domain = OutOfDomainCells() if self._asks_before_growth(domain) else None
        rows = read_rows(domain, X, y, ids.astype(np.int64), out_of_domain=out_of_domain, groups=groups)
        return self._counter(domain).count(rows)

    def fit_counts(self, part: PartialCounts) -> Self:
        """Charge the ledger, draw the noise, and release a forest from the counts of `partial_counts`.

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
            If the rows were counted for a forest with other settings, or in the cases that `fit_chunks` lists.
        TypeError
            If `part` is not a `PartialCounts`.
        """
        domain = self._given_domain()
        if not isinstance(part, PartialCounts):
            raise TypeError(f"fit_counts takes the result of partial_counts, not {type(part).__name__}.")
        self._warn_of_leaks(domain)
        return self._release(part, domain)

    def _fit_dask(self, X: Any, y: Any, groups: Any, account: Account | None) -> Self:
        domain, model = self._given_domain(), self._checked_copy()
        partitions = partitions_of(X, y, groups, domain.unit)
        asks_before_growth = model._asks_before_growth(domain)
        part_sum = sum_of_partitions(model.partial_scale if asks_before_growth else model.partial_counts, partitions)
        if account is not None:
            model._check_and_book(account, domain, part_sum.n_given if asks_before_growth else part_sum.n_rows)
        if not asks_before_growth:
            return self.fit_counts(part_sum)
        self.fit_scale(part_sum)
        return self.fit_counts(sum_of_partitions(self.partial_counts, partitions))

    def _check_and_book(self, account: Account, domain: Domain, n_given: int) -> None:
        """Book the budget of a fit in parts, after all checks of the fit, because a refused fit must cost nothing."""
        self._check_size(n_given)
        self._check_plan(domain, n_given)
        self._book(account, domain)

    def _release(self, part: PartialCounts, domain: Domain) -> Self:
        """Release a forest from counts: fit on an empty table, and add the counts to its leaves before the noise."""
        model = self._checked_copy()
        model._check_size(part.n_rows)
        if not model._asks_before_growth(domain):
            self._drop_results()
        spec, scale, ledger = model._stored_preparation(domain, part.n_rows)
        part.check(counting_settings(spec, domain, scale, **model._seeds()))
        no_rows = _no_rows(domain)
        self._check_rows(no_rows.codes, reset=True)
        source = source_for(model.random_state)
        forest = model._fit_spec(spec, domain, no_rows, 1, ledger, source, scale, part.counts)
        return self._store_forest(forest, domain)

    def _check_plan(self, domain: Domain, n_rows: int) -> None:
        """Raise every ValueError of a fit before its first question, so that a fit that fails spends no budget.

        Under add-remove, an error must not depend on the number of rows. So this method checks the largest forest that
        the rules may choose for any number of rows.
        """
        if self._budget is None or not self._asks_before_growth(domain) and domain.unit is None:
            return
        if self.neighbors == ADD_REMOVE:
            n_rows = max(MAX_BOUND, math.ceil(2**17 / self._budget))
        spec = self._plan(domain, n_rows)
        if self.mode == "certified":
            spec.check_drawable(self._budget)
        if self._asks_before_growth(domain):
            check_domain(domain)
            spec.check_size(domain, int(self.structure_seed))

    def _drop_results(self) -> None:
        self.__dict__.pop("prepared_", None)

    def _fit_forest(self, domain: Domain, rows: EncodedTable, n_jobs: int) -> Forest:
        source, ledger = source_for(self.random_state), self._ledger(domain)
        weight = None if rows.units is None else rows.units.weight
        spec, scale = self._prepare(
            domain, rows.n_counted, rows.n_given, lambda: scale_histograms(domain, rows.codes, weight), ledger, source
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
        """Ask the questions that come before trees grow, and charge them.

        Parameters
        ----------
        domain : Domain
            Public schema that encoded the rows.
        n_rows, n_given : int
            Number of rows (or of persons, see `Domain.unit`). `n_given` includes rows without a listed label, `n_rows`
            does not.
        cells : callable
            Function that returns the exact counts in the cells of the scale (`scale_histograms`). It is called only if
            the fit asks for the scale.
        ledger : Ledger
            Ledger to which the questions are charged.
        source : SecretSource or DemoSource
            Source of the noise.

        Returns
        -------
        spec : ForestSpec
            Plan of the fit, with the depth and number of trees that follow from the answers.
        scale : ReleasedScale or None
            Released distribution of each numeric attribute; None if the fit does not ask for it.
        """
        return self._checked_copy()._prepare(domain, n_rows, n_given, cells, ledger, source)

    def _fit_spec(
        self,
        spec: ForestSpec,
        domain: Domain,
        rows: EncodedTable,
        n_jobs: int,
        ledger: Ledger,
        source: SecretSource | DemoSource,
        scale: ReleasedScale | None = None,
        further_counts: np.ndarray | int = 0,
    ) -> Forest:
        """Fit a forest by this plan. `further_counts` are added to the exact counts before noise is drawn."""
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
            further_counts=further_counts,
            units=rows.units,
        )
        return self._assemble_forest(spec, domain, trees, leaves, ledger, source, {"structure_seed": seed}, scale, seed)

    def _charge(self, spec: ForestSpec, ledger: Ledger, n_leaves: int) -> None:
        if self._budget is not None and ledger.has_budget:
            spec.charge(self._budget, n_leaves, ledger)

    def _preview(self, domain: Domain, n_rows: int) -> tuple[Certificate, Ledger]:
        self._check_plan(domain, n_rows)
        spec, n_leaves = self._plan(domain, n_rows), 0
        if self._prepares:
            check_domain(domain)
            n_leaves = spec.grow(domain, int(self.structure_seed), to_file=True).n_leaves
        return self._promise(spec, domain, n_leaves)

    def _mechanism_words(self, spec: ForestSpec) -> str:
        units, assignment = "rows" if spec.count_unit == 1 else "persons", _PARTITIONS[spec.partition]
        return f"{spec.mechanism} on {spec.n_trees} trees of depth {spec.depth}, {units} {assignment}"

    def _paper_reasons(self, spec: ForestSpec, domain: Domain) -> Sequence[str]:
        if self._budget is None or not spec.as_published:
            return []
        return [*published.reasons(spec, domain.n_classes, self._budget), *spec.departures]

    def _seeds(self) -> dict[str, Any]:
        return {"structure_seed": int(self.structure_seed), "random_state": self.random_state}

    def _counter(self, domain: Domain) -> PartCounter:
        """Return the counter of rows in the leaves of this estimator's trees (after `fit_scale`, if it is needed)."""
        model = self._checked_copy()
        spec, scale, _ = model._stored_preparation(domain, 0)
        return PartCounter(spec, domain, scale, **model._seeds(), n_jobs=threads(model.n_jobs))


def _is_numbered_from_0(X: Any) -> bool:
    """Return whether the ids of these rows (`ids_of`) are only their places 0, 1, ... in this part.

    Ids are the keys of the draws in a demonstration. A release does not use ids.
    """
    index = X.index if hasattr(X, "iloc") else pd.RangeIndex(0)
    is_range_from_0 = isinstance(index, pd.RangeIndex) and index.start == 0 and index.step == 1
    return is_range_from_0 or index.dtype.kind not in "iu"


def _no_rows(domain: Domain) -> EncodedTable:
    """Return a table without rows."""
    empty = np.empty(0, np.int64)
    units = None if domain.unit is None else Units(empty, empty, 0, empty)
    return EncodedTable(np.empty((0, domain.n_features), np.uint16), np.empty(0, np.int32), empty, 0, units)


def _with_person_counts(part: Part, registry: UnitRegistry | None) -> Part:
    """Return the sum over all parts, in which a person with rows in several parts counts as one person."""
    if registry is None:
        return part
    n = registry.n_units
    return replace(part, n_rows=n, n_given=n) if isinstance(part, PartialScale) else replace(part, n_rows=n)
