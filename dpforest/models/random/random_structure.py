"""What the forests with data-independent structure share: a spec, then counts, then the door."""

from collections.abc import Iterable
from typing import Any, Self

import numpy as np
import pandas as pd
from joblib import effective_n_jobs

from dpforest.models.base import ForestClassifier
from dpforest.models.random.fit import fit_forest, preview
from dpforest.models.random.partial_counts import PartCounter, PartialCounts, counting_settings
from dpforest.models.random.spec import ForestSpec
from dpforest.privacy.certificate import Certificate
from dpforest.privacy.ledger import Ledger
from dpforest.tables.domain import Domain
from dpforest.tables.misfits import Misfits
from dpforest.tables.rows import Rows, ids_of, read_rows
from dpforest.trees.forest import Forest


class RandomStructureClassifier(ForestClassifier):
    """Base of the forests whose structure does not look at data. Not for use by itself."""

    structure_is_public = True

    def __init__(
        self, *, n_estimators: int, max_depth: int | str | None, structure_seed: int, **shared: Any
    ) -> None:  # fmt: skip
        super().__init__(**shared)
        self.n_estimators = n_estimators
        self.max_depth = max_depth
        self.structure_seed = structure_seed

    def _plan(self, domain: Domain, n_rows: int) -> ForestSpec:
        """As `spec`. `n_rows` may be used under replace-one or as published only."""
        raise NotImplementedError

    @property
    def needs_all_rows(self) -> bool:
        """Whether the structure follows from the number of rows."""
        return False

    def fit_chunks(self, chunks: Iterable[tuple[Any, Any]]) -> Self:
        """Fit on a table that comes in parts: the forest, certificate and ledger that `fit` gives on all of it.

        In memory are one part and the counts of all leaves. With the same seeds, a demo (`random_state` an integer) is
        that of `fit` bit for bit, wherever the table is cut: what is drawn for a row belongs to its id. That is its
        number in the index of its table, as in `fit`; arrays, and tables whose index is a plain range from 0, are
        numbered on.

        Parameters
        ----------
        chunks : iterable of (X, y)
            Parts of the table, as `fit` takes it; none, or parts without rows, are fine. `dpforest.read_chunks` makes
            them of a file.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            If there is no public domain with classes, a part has not its columns, or all rows are needed at once.

        Examples
        --------
        >>> from dpforest import MajorityLabelForestClassifier, load_dataset
        >>> data = load_dataset("nursery")
        >>> forest = MajorityLabelForestClassifier(domain=data.domain, random_state=0)
        >>> parts = ((data.X[i : i + 1_000], data.y[i : i + 1_000]) for i in range(0, len(data.table), 1_000))
        >>> text = forest.fit_chunks(parts).forest_.to_json(uncertified=True)
        >>> text == forest.fit(data.X, data.y).forest_.to_json(uncertified=True)
        True
        """
        domain = self._given_domain()
        counter = self._counter(domain)
        self._public_domain(_nobody(domain).codes, _nobody(domain).y)  # warns of leaks
        total, misfits = counter.count(_nobody(domain)), Misfits()
        for X, y in chunks:
            X, y = self._checked_part(X, y)
            ids = ids_of(X) + (total.n_rows if _is_numbered_from_0(X) else 0)
            total += counter.count(read_rows(domain, X, y, ids, misfits=misfits))
        misfits.warn()
        return self._release(total, domain)

    def partial_counts(self, X: Any, y: Any, *, row_ids: Any = None) -> PartialCounts:
        """Count a part of the rows, for `fit_counts`: the half of a fit that can be done where the rows are.

        Curator only: the counts are exact. Each row must be in one part only. That the same rows are in two cannot be
        seen from counts, and then they cost ε twice and the certificate does not hold.

        Parameters
        ----------
        X : DataFrame or array of shape (n, n_features)
        y : array of shape (n,)
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
        return self._counter(domain).count(read_rows(domain, X, y, ids.astype(np.int64)))

    def fit_counts(self, part: PartialCounts) -> Self:
        """Release from counts: the other half, which charges the ledger and draws the noise.

        Parameters
        ----------
        part : PartialCounts
            The sum over all parts of the table. Each call is a release of its own and costs ε again.

        Returns
        -------
        self

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
        self._check_parameters()
        self._public_domain(_nobody(domain).codes, _nobody(domain).y)  # warns of leaks
        return self._release(part, domain)

    def _release(self, part: PartialCounts, domain: Domain) -> Self:
        """Fit on nobody and on those who were counted before."""
        spec = self._plan(domain, part.n_rows)
        part.check(counting_settings(spec, domain, **self._seeds()))
        nobody = _nobody(domain)
        self._check_rows(nobody.codes, reset=True)
        return self._fitted(self._fit_spec(spec, domain, nobody, 1, part.counts), domain)

    def _fit_forest(self, domain: Domain, rows: Rows, n_jobs: int) -> Forest:
        return self._fit_spec(self._plan(domain, rows.n_given), domain, rows, n_jobs)

    def _fit_spec(
        self, spec: ForestSpec, domain: Domain, rows: Rows, n_jobs: int, counted: np.ndarray | int = 0
    ) -> Forest:
        return fit_forest(
            spec,
            domain,
            rows.codes,
            rows.y,
            epsilon=self._budget,
            **self._seeds(),
            row_ids=rows.ids,
            n_jobs=n_jobs,
            about={"estimator": type(self).__name__, "structure_seed": int(self.structure_seed)},
            counted=counted,
        )

    def _preview(self, domain: Domain, n_rows: int) -> tuple[Certificate, Ledger]:
        return preview(self._plan(domain, n_rows), domain, epsilon=self._budget, **self._seeds())

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
        return self.reads(self.domain)

    def _checked_part(self, X: Any, y: Any) -> tuple[Any, np.ndarray]:
        """As `fit` checks a table, but nothing is left on this estimator, which may be at work elsewhere."""
        return type(self)(**self.get_params(deep=False))._check_table(X, y)

    def _counter(self, domain: Domain) -> PartCounter:
        self._check_parameters()
        n_jobs = effective_n_jobs(self.n_jobs or 1)
        return PartCounter(self._plan(domain, 0), domain, **self._seeds(), n_jobs=n_jobs)


def _is_numbered_from_0(X: Any) -> bool:
    """Whether the numbers of the rows say nothing but their places. A release has no use for them."""
    index = X.index if hasattr(X, "iloc") else pd.RangeIndex(0)
    plain = isinstance(index, pd.RangeIndex) and index.start == 0 and index.step == 1
    return plain or index.dtype.kind not in "iu"


def _nobody(domain: Domain) -> Rows:
    """A table without rows."""
    return Rows(np.empty((0, domain.n_features), np.uint16), np.empty(0, np.int32), np.empty(0, np.int64), 0)
