"""Checks of the tables that estimators get, and the public domain that encodes their rows."""

import warnings
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import column_or_1d, validate_data

from dpforest.tables.cells import as_array, column_of_list, refuse_masked, table_of_lists
from dpforest.tables.domain import Domain, DomainError, PrivacyLeakWarning
from dpforest.tables.out_of_domain import caller_level
from dpforest.trees.forest import as_values


class TableCheckingClassifier(ClassifierMixin, BaseEstimator):
    """Base class of all forests, which checks the tables that they get. Only subclasses can be fitted."""

    epsilon: float | None
    domain: Domain | None

    def _check_table(self, X: Any, y: Any) -> tuple[Any, np.ndarray]:
        """Raise an error if a fit cannot read X and y. Return X as an array or DataFrame, and y as an array."""
        if y is None:
            raise ValueError(f"{type(self).__name__} requires y to be passed, but the target y is None")
        if not isinstance(self.domain, Domain | None):
            raise TypeError(f"domain={self.domain!r} is not a Domain; use one, or None to read it from the table")
        X = self._check_rows(X, reset=True)
        refuse_masked(y)
        y = column_or_1d(
            y if self.domain is None or not self.domain.classes else complex_as_objects(label_column(y)), warn=True
        )
        if len(y) != len(X):
            raise ValueError(f"Found input variables with inconsistent numbers of samples: {[len(X), len(y)]}")
        if self.domain is None or not self.domain.classes:
            check_classification_targets(y)
        return X, y

    def _check_rows(self, X: Any, *, reset: bool = False) -> Any:
        """Check the shape and the numbers of an array. Return a DataFrame unchanged, because the domain reads it."""
        refuse_masked(X)
        if hasattr(X, "iloc") and (self.domain is not None or not reset and hasattr(self, "domain_")):
            if reset:
                validate_data(self, X, skip_check_array=True, reset=True)
            return X
        if hasattr(X, "iloc") and not all(_is_numeric(dtype) for dtype in X.dtypes):
            validate_data(self, X, skip_check_array=True, reset=reset)
            return X
        if self.domain is not None and isinstance(X, (list, tuple)):
            X = table_of_lists(X, len(self.domain.source_columns), refuse=not reset)
        X = X if self.domain is None else complex_as_objects(X)
        # With a public domain, any cells are valid, and so is a table without rows.
        checks: dict[str, Any] = {"dtype": "numeric", "ensure_all_finite": "allow-nan"}
        if self.domain is not None:
            checks = {"dtype": None, "ensure_all_finite": False, "ensure_min_samples": 0}
        checked = validate_data(self, X, reset=reset, **checks)
        return X if hasattr(X, "iloc") else as_values(checked)

    def _public_domain(self, X: Any, y: np.ndarray) -> Domain:
        """Return the given domain. Infer missing parts of the domain from the data, and mark these parts as leaks."""
        domain = self.domain
        if domain is None:
            domain = Domain.infer(X, y)
        elif not domain.classes:
            inferred = Domain.infer(np.zeros((len(y), 1)), y)
            domain = replace(domain, classes=inferred.classes, classes_source="data")
        n_columns = len(domain.source_columns)
        if not hasattr(X, "iloc") and X.shape[1] != n_columns:
            raise DomainError(f"X has {X.shape[1]} columns, but the domain describes {n_columns} features.")
        self._warn_of_leaks(domain)
        return domain

    def _warn_of_leaks(self, domain: Domain) -> None:
        """Warn if a part of the domain came from the data. Call this method before the fit queries the rows."""
        leaks = domain.leaks()
        if leaks and self.epsilon is not None:
            suffix = f" (and {len(leaks) - 1} more)" if len(leaks) > 1 else ""
            warnings.warn(
                f"{leaks[0]}{suffix} This leaks information about single rows, so the forest is not certified; pass "
                "domain=... with bounds, categories and classes that are public.",
                PrivacyLeakWarning,
                stacklevel=caller_level(),
            )

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.classifier_tags.poor_score = True
        return tags


def complex_as_objects(cells: Any) -> Any:
    """Return an array of complex numbers as an array of objects.

    A single complex cell makes the whole array complex, and scikit-learn refuses complex arrays.
    """
    return np.asarray(cells).astype(object) if getattr(getattr(cells, "dtype", None), "kind", "") == "c" else cells


def label_column(y: Any) -> np.ndarray:
    """Return labels as an array. Elements of a list keep their types."""
    return column_of_list(y) if isinstance(y, (list, tuple)) else as_array(y)


def _is_numeric(dtype: Any) -> bool:
    return getattr(dtype, "kind", "O") in "biuf"
