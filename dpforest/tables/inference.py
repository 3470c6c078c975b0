"""Infer a schema from the data, and mark every part as read from the data, because each part leaks private values."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import numpy as np
import pandas as pd

from dpforest.limits import BLOCK_ROWS, MAX_CATEGORIES, MAX_CLASSES, MIN_CLASSES
from dpforest.tables.cells import as_array, factorize, numbers
from dpforest.tables.features import DomainError, Feature, text


def infer_features(X: Any, leave_out: str = "") -> tuple[Feature, ...]:
    """Return one feature for each column except `leave_out`; columns of an array are called x0, x1, ...

    Columns of booleans, texts and categoricals become categorical. In an array of objects, a column is numeric if all
    of its cells are numbers.
    """
    if isinstance(X, pd.DataFrame):
        return tuple(_infer(str(name), column) for name, column in X.items() if str(name) != leave_out)
    X = as_array(X)
    if X.ndim != 2:
        raise DomainError(
            f"A table has rows and columns, but this array has {X.ndim} dimensions; reshape it to (rows, columns)."
        )
    if X.dtype.kind in "fiu":
        lows, highs, whole, missing = _ranges(X)
        return tuple(_numeric(f"x{j}", lows[j], highs[j], bool(whole[j]), bool(missing[j])) for j in range(X.shape[1]))
    return tuple(_infer(f"x{j}", pd.Series(X[:, j]).infer_objects()) for j in range(X.shape[1]))


def infer_classes(y: Any, label: str = "") -> tuple[Any, ...]:
    """Return the distinct labels that are not missing: numbers by size, then texts in alphabetical order."""
    codes, values = factorize(y if isinstance(y, pd.Series) else as_array(y))
    n_rows = np.bincount(codes[codes >= 0], minlength=len(values))
    classes = [value for value, n in zip(values, n_rows, strict=True) if n]
    if not MIN_CLASSES <= len(classes) <= MAX_CLASSES:
        name = f"the label {label!r}" if label else "the label"
        amount = "one class" if len(classes) == 1 else f"{len(classes):,} classes"
        raise DomainError(
            f"There is {amount} in {name}, but a classifier needs between {MIN_CLASSES} and {MAX_CLASSES}; "
            "choose another label."
        )
    return tuple(sorted(classes, key=lambda value: (isinstance(value, str), value)))


def _infer(name: str, column: pd.Series) -> Feature:
    """Return the attribute of one column, with bounds or categories from its cells."""
    dtype = column.dtype
    if pd.api.types.is_bool_dtype(dtype) and not isinstance(dtype, pd.CategoricalDtype):
        return _categorical(name, ["False", "True"], bool(column.isna().any()))
    if pd.api.types.is_numeric_dtype(dtype) or dtype.kind in "Mm":  # `numbers` raises an error for dates
        x = numbers(Feature(name, "numeric", 0, 1), column)
        low, high, whole, missing = (value[0] for value in _ranges(x[:, None]))
        return _numeric(name, low, high, bool(whole), bool(missing))
    codes, values = factorize(column)
    categories = sorted({text(value) for value in values}) if not isinstance(dtype, pd.CategoricalDtype) else values
    return _categorical(name, [text(value) for value in categories], bool((codes == -1).any()))


def _ranges(X: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return for each column the lowest and highest value, whether all values are whole, and whether any is missing."""
    m = X.shape[1]
    low, high = np.full(m, np.inf), np.full(m, -np.inf)
    whole, missing = np.ones(m, dtype=bool), np.zeros(m, dtype=bool)
    for block in _blocks(X):
        low = np.fmin(low, np.fmin.reduce(block, axis=0))
        high = np.fmax(high, np.fmax.reduce(block, axis=0))
        if X.dtype.kind == "f":
            is_nan = np.isnan(block)
            missing |= is_nan.any(axis=0)
            whole &= ((np.floor(block) == block) | is_nan).all(axis=0)
    return low, high, whole, missing


def _blocks(X: np.ndarray) -> Iterator[np.ndarray]:
    for start in range(0, len(X), BLOCK_ROWS):
        yield X[start : start + BLOCK_ROWS]


def _numeric(name: str, low: float, high: float, whole: bool, missing: bool) -> Feature:
    """Return a numeric attribute with these bounds. Equal bounds are moved apart."""
    low, high = float(low), float(high)
    if np.isnan(low) or low > high:  # every cell is missing
        low, high, whole = 0.0, 1.0, False
    if not np.isfinite([low, high]).all():
        raise DomainError(
            f"{name!r} contains infinity; replace it by a number, leave the cell empty, or leave the column out."
        )
    if low == high:  # a constant column; a large bound is halved, because adding 1 would not change it
        low, high = (low, low + 1) if abs(low) < 2**52 else sorted((low, low / 2))
    return Feature(name, "numeric", low, high, whole, missing="category" if missing else "refuse", **_READ_FROM_DATA)


def _categorical(name: str, categories: list[str], missing: bool) -> Feature:
    """Return a categorical attribute with these categories."""
    if len(categories) > MAX_CATEGORIES:
        raise DomainError(
            f"{name!r} has {len(categories):,} different values, more than {MAX_CATEGORIES:,}; "
            "leave it out or group its values."
        )
    missing_rule = "category" if missing or not categories else "refuse"
    return Feature(
        name, "categorical", categories=tuple(categories) or ("(none)",), missing=missing_rule, **_READ_FROM_DATA
    )


# `source` is absent, because its default in `Feature` is "data".
_READ_FROM_DATA: Final[Any] = {"type_source": "data", "missing_source": "data"}
