"""How a fit on a table in parts checks its domain and each part, and counts the rows of each person."""

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from dpforest.models.base import ForestClassifier
from dpforest.tables.domain import Domain
from dpforest.tables.units import UnitRegistry, identifiers_of


class PartReadingClassifier(ForestClassifier):
    """Base class of the forests that can be fitted on a table in parts. Only its subclasses can be fitted."""

    @property
    def needs_all_rows(self) -> bool:
        """Whether the depth of the trees depends on the exact number of rows."""
        return False

    def _given_domain(self) -> Domain:
        """Return the domain that encodes all parts of a table.

        Raise ValueError if the domain has no classes, or if the depth follows from the number of all rows.
        """
        if not isinstance(self.domain, Domain) or not self.domain.classes:
            raise ValueError(
                "Rows can be counted part by part only with a public domain that has classes, because no part may "
                "determine the domain; give domain=Domain(..., classes=...)."
            )
        if self.needs_all_rows:
            raise ValueError(
                "The depth of this forest follows from the number of all rows, so rows cannot be counted part by part; "
                "give max_depth, or n_bound, a public bound on that number."
            )
        return self.reading_domain(self.domain)

    def _checked_part(self, X: Any, y: Any) -> tuple[Any, np.ndarray]:
        """Check a part as `fit` checks a table, on a copy, because other threads may use this estimator."""
        return type(self)(**self.get_params(deep=False))._check_table(X, y)

    def _count_persons(self, domain: Domain, chunks: Iterable[tuple[Any, ...]]) -> UnitRegistry:
        """Return the registry of all persons, with the number of rows of each person in all parts.

        Raise ValueError if `chunks` is an iterator, because the fit must read the parts again.
        """
        if isinstance(chunks, Iterator):
            raise ValueError(
                "These parts can be read only once, but the fit counts the rows of each person in a separate "
                "pass; give a list of parts or dpforest.read_chunks."
            )
        registry = UnitRegistry()
        for X, y, *groups in chunks:
            X, y = self._checked_part(X, y)
            identifiers = identifiers_of(domain.unit, X, groups[0] if groups else None)
            registry.count(identifiers, domain.listed_labels(y) >= 0)
        return registry
