"""Cells to codes: a table is read against its public domain, every cell as an unsigned 16-bit integer.

The code of a cell depends on that cell, on the dtype of its column and on the domain, never on another cell: a row more
or less must not change how the others are read. So nothing here may let numpy or pandas find a common type for cells,
and cells of objects that compare equal (True and 1, 1.0 and Decimal("1.0")) are still read apart.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from decimal import Decimal
from numbers import Real
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numba import njit

from dpforest.features import DomainError, Feature, counted, text
from dpforest.limits import GRID

REFUSED = -1  # in Grid.missing_code: a missing cell is an error
_TABLE_SPAN = 1 << 20  # widest range of integer labels that goes through a lookup table
_NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?|[+-]?inf(inity)?", re.IGNORECASE)
_WHOLE = re.compile(r"0|-?[1-9][0-9]{0,19}")
_AS_FLOAT = {int, float, bool, type(None)}  # objects that numpy turns into floats one by one
_EQUAL_IS_SAME = {str, int, float, type(None)}  # objects that have one text wherever they compare equal


class Grid(NamedTuple):
    """The numeric features of a domain as arrays for the kernel (entries of categorical features are unused)."""

    low: np.ndarray
    width: np.ndarray
    span: np.ndarray  # number of codes of known values
    first: np.ndarray
    missing_code: np.ndarray


def grid(features: Sequence[Feature]) -> Grid:
    """Bounds, spans, first codes and codes of missing cells as arrays."""
    m = len(features)
    made = Grid(np.zeros(m), np.ones(m), np.ones(m), np.zeros(m, np.int64), np.zeros(m, np.int64))
    for j, feature in enumerate(features):
        if feature.low is not None and feature.high is not None:  # numeric
            made.low[j], made.width[j] = feature.low, feature.high - feature.low
            made.first[j], made.span[j] = feature.first_code, GRID - feature.first_code
            if feature.missing != "own":
                made.missing_code[j] = REFUSED if feature.missing == "refuse" else feature.code(feature.missing_value)
    return made


@njit(nogil=True, cache=True, error_model="numpy")
def _encode_numbers(X, start, low, width, span, first, missing_code, out):
    """Write the codes of X[:, k] to out[:, start + k]; return how many cells were infinite, and missing but refused."""
    n_infinite = 0
    n_refused = 0
    for i in range(X.shape[0]):
        for k in range(X.shape[1]):
            j = start + k
            x = np.float64(X[i, k])
            position = (x - low[j]) / width[j] * span[j]
            if position >= 0.0 and position < span[j]:
                out[i, j] = first[j] + np.int64(position)
            elif np.isnan(x):
                out[i, j] = max(missing_code[j], 0)
                n_refused += missing_code[j] == REFUSED
            else:
                out[i, j] = first[j] if x < low[j] else GRID - 1
                n_infinite += np.isinf(x)
    return n_infinite, n_refused


def encode(features: Sequence[Feature], grid: Grid, X: Any) -> np.ndarray:
    """Codes of a table, uint16 (n, m) in C order; see `Domain.encode`."""
    columns: Sequence[int] = range(len(features))
    if isinstance(X, pd.DataFrame):
        columns = positions(features, X)
        out = np.empty((len(X), len(features)), dtype=np.uint16)
    else:
        X = _matrix(features, X)
        out = np.empty(X.shape, dtype=np.uint16)
        if X.dtype.kind in "fiub" and all(feature.kind == "numeric" for feature in features):
            _encode_block(features, grid, X, 0, out)
            return out
    for j, feature in enumerate(features):
        column = X.iloc[:, columns[j]] if isinstance(X, pd.DataFrame) else X[:, j]
        if feature.kind == "numeric":
            _encode_block(features, grid, numbers(feature, column)[:, None], j, out)
        else:
            out[:, j] = _category_codes(feature, column)
    return out


def _encode_block(features: Sequence[Feature], grid: Grid, X: np.ndarray, start: int, out: np.ndarray) -> None:
    if X.dtype not in (np.float64, np.float32):
        X = X.astype(np.float64)
    X = X.view()
    X.flags.writeable = False  # one compiled version for tables that may and that may not be written to
    n_infinite, n_refused = _encode_numbers(X, start, *grid, out)
    if n_infinite or n_refused:
        for feature, column in zip(features[start:], X.T, strict=False):
            if (n := int(np.isinf(column).sum())) > 0:
                raise DomainError(
                    f"{feature.name!r} contains infinity ({counted(n, 'cell')}); put a number there or leave it empty."
                )
            if feature.missing == "refuse" and (n := int(np.isnan(column).sum())) > 0:
                raise DomainError(_refused(feature, n))


def _refused(feature: Feature, n: int) -> str:
    return (
        f"{feature.name!r} has {counted(n, 'missing cell')}, but its domain says that none are missing; "
        'set missing="own" or a public missing_value.'
    )


def positions(features: Sequence[Feature], table: pd.DataFrame) -> list[int]:
    """Where each feature stands in a table; other columns are ignored."""
    where: dict[str, int] = {}
    twice = set()
    for position, name in enumerate(table.columns):
        if str(name) in where:
            twice.add(str(name))
        where[str(name)] = position
    absent = [feature.name for feature in features if feature.name not in where]
    if absent:
        raise DomainError(f"The table has no column {quoted(absent)}; give it every column of the domain.")
    ambiguous = [feature.name for feature in features if feature.name in twice]
    if ambiguous:
        raise DomainError(f"The table has more than one column {quoted(ambiguous)}; rename one.")
    return [where[feature.name] for feature in features]


def quoted(names: Sequence[str], most: int = 5) -> str:
    """'a', 'b' and 3 more."""
    shown = ", ".join(repr(str(name)) for name in names[:most])
    return shown if len(names) <= most else f"{shown} and {len(names) - most:,} more"


def _matrix(features: Sequence[Feature], X: Any) -> np.ndarray:
    if hasattr(X, "toarray"):
        raise DomainError("The table is a sparse matrix; turn it into a dense one with .toarray().")
    X = as_array(X)
    if X.ndim != 2:
        raise DomainError(
            f"A table has rows and columns, but this array has {X.ndim} dimensions; reshape it to (rows, columns)."
        )
    if X.shape[1] != len(features):
        raise DomainError(
            f"The array has {X.shape[1]:,} columns, but the domain has {len(features):,} features; give one for each."
        )
    return X


def as_array(cells: Any) -> np.ndarray:
    """An array as it is. Lists become arrays of objects, for a common type would change what single cells say."""
    has_type = hasattr(cells, "dtype") or hasattr(cells, "__array__")
    return np.asarray(cells) if has_type else np.array(cells, dtype=object)


def numbers(feature: Feature, column: Any) -> np.ndarray:
    """A column as floats, missing as NaN; anything that is not a number is a DomainError."""
    if column.dtype == object:
        return _numbers_of_objects(feature, np.asarray(column))
    series = pd.Series(column)
    dtype = series.dtype
    if pd.api.types.is_complex_dtype(dtype):
        raise DomainError(f"{feature.name!r} holds complex numbers; give real ones.")
    if pd.api.types.is_datetime64_any_dtype(dtype) or pd.api.types.is_timedelta64_dtype(dtype):
        raise DomainError(
            f"{feature.name!r} holds dates; turn them into numbers (days since a public date, say) or leave them out."
        )
    if isinstance(dtype, np.dtype) and dtype.kind in "fiub":
        return series.to_numpy()
    if pd.api.types.is_numeric_dtype(dtype) or pd.api.types.is_bool_dtype(dtype):
        return series.to_numpy(dtype=np.float64, na_value=np.nan)
    return _numbers_of_objects(feature, series.to_numpy(dtype=object))


def _numbers_of_objects(feature: Feature, cells: np.ndarray) -> np.ndarray:
    if set(map(type, cells.tolist())) <= _AS_FLOAT:
        try:
            return cells.astype(np.float64)
        except OverflowError:  # a whole number too large for a float
            pass
    read = np.full(len(cells), np.nan)
    bad = []
    for i in np.flatnonzero(~pd.isna(cells)):
        number = _number(cells[i])
        if number is None:
            bad.append(i)
        else:
            read[i] = number
    if bad:
        raise DomainError(
            f"{feature.name!r} is numeric, but has {counted(len(bad), 'cell')} without a number, the first with "
            f"{text(cells[bad[0]])!r}; make it categorical, or empty these cells."
        )
    return read


def _number(cell: Any) -> float | None:
    """One object as a float, None if it is not a number."""
    if isinstance(cell, str):
        cell = cell.strip()
        return float(cell) if _NUMBER.fullmatch(cell) else None
    if not isinstance(cell, (Real, Decimal, np.bool_)) or isinstance(cell, np.timedelta64):
        return None
    try:
        return float(cell)
    except OverflowError:
        return math.inf if cell > 0 else -math.inf  # type: ignore[operator]
    except ValueError:
        return None


def factorize(column: Any) -> tuple[np.ndarray, list[Any]]:
    """(code of each cell, -1 where missing; values, one for each code). Cells of one code have the same text."""
    if column.dtype == object:
        return _factorize_objects(np.asarray(column))
    series = pd.Series(column)
    if isinstance(series.dtype, pd.CategoricalDtype):
        return series.cat.codes.to_numpy(), list(series.cat.categories)
    codes, values = pd.factorize(series)
    return codes, list(values)


def _factorize_objects(cells: np.ndarray) -> tuple[np.ndarray, list[Any]]:
    if set(map(type, cells.tolist())) <= _EQUAL_IS_SAME:
        codes, values = pd.factorize(cells)
        return codes, list(values)
    codes = np.full(len(cells), -1, dtype=np.int64)
    index: dict[str, int] = {}
    values = []
    for i in np.flatnonzero(~pd.isna(cells)):
        code = codes[i] = index.setdefault(text(cells[i]), len(index))
        if code == len(values):
            values.append(cells[i])
    return codes, values


def _category_codes(feature: Feature, column: Any) -> np.ndarray:
    codes, values = factorize(column)
    index = {category: i for i, category in enumerate(feature.categories)}
    other = {"own": len(index), "refuse": REFUSED}.get(feature.missing, index.get(str(feature.missing_value), 0))
    lookup = np.array([index.get(text(value), other) for value in values] + [other])  # last: code -1, a missing cell
    out = lookup[codes]
    if other == REFUSED and (refused := int((out == REFUSED).sum())) > 0:
        missing = int((codes == -1).sum())
        if missing:
            raise DomainError(_refused(feature, missing))
        unlisted = [text(value) for value, code in zip(values, lookup, strict=False) if code == REFUSED]
        raise DomainError(
            f"{feature.name!r} has {counted(refused, 'cell')} whose value its domain does not list "
            f'({quoted(unlisted, 3)}); add it, or set missing="own".'
        )
    return out


def encode_labels(classes: Sequence[Any], y: Any, label: str = "") -> np.ndarray:
    """Index of each label in `classes`, int32 (n,); see `Domain.encode_labels`."""
    name = repr(label) if label else "the label"
    y = y if isinstance(y, pd.Series) else as_array(y)
    if y.ndim != 1:
        raise DomainError(f"Labels are one column, but {name} has {y.ndim} dimensions.")
    array = y.to_numpy() if isinstance(y, pd.Series) and isinstance(y.dtype, np.dtype) else y
    if len(y) and isinstance(array, np.ndarray) and array.dtype.kind in "iu":
        low, high = int(array.min()), int(array.max())
        if high - low < _TABLE_SPAN and high <= np.iinfo(np.int64).max:
            lookup = _lookup(classes, range(low, high + 1))
            out = lookup[np.subtract(array, low, dtype=np.int64, casting="unsafe")] if low else lookup[array]
            return _checked(out, array, classes, name)
    codes, values = factorize(y)
    if (n := int((codes == -1).sum())) > 0:
        raise DomainError(
            f"{name[0].upper() + name[1:]} is missing in {counted(n, 'row')}; "
            "leave these rows out or choose another label."
        )
    return _checked(_lookup(classes, values)[codes], y, classes, name)


def _lookup(classes: Sequence[Any], values: Sequence[Any]) -> np.ndarray:
    lookup = np.full(len(values), -1, dtype=np.int32)
    if isinstance(values, range):
        for i, label in enumerate(classes):
            key = text(label)
            if _WHOLE.fullmatch(key) and int(key) in values:
                lookup[int(key) - values.start] = i
        return lookup
    index = {text(label): i for i, label in enumerate(classes)}
    lookup[:] = [index.get(text(value), -1) for value in values]
    return lookup


def _checked(out: np.ndarray, y: Any, classes: Sequence[Any], name: str) -> np.ndarray:
    if len(out) and out.min() < 0:
        strange = np.asarray(y)[int(np.argmin(out))]
        raise DomainError(
            f"{name[0].upper() + name[1:]} has the value {text(strange)!r}, which is not one of the classes "
            f"{quoted([text(label) for label in classes])}; add it to the classes or leave these rows out."
        )
    return out


def report(features: Sequence[Feature], X: Any) -> pd.DataFrame:
    """Counts of clipped, unlisted and missing cells of each feature; see `Domain.report`."""
    where = positions(features, X) if isinstance(X, pd.DataFrame) else range(len(features))
    X = X if isinstance(X, pd.DataFrame) else _matrix(features, X)
    counts = np.zeros((len(features), 3), dtype=np.int64)
    for j, feature in enumerate(features):
        column = X.iloc[:, where[j]] if isinstance(X, pd.DataFrame) else X[:, j]
        if feature.kind == "numeric":
            x = numbers(feature, column)
            counts[j] = np.sum((x < feature.low) | (x > feature.high)), 0, np.sum(np.isnan(x))
        else:
            codes, values = factorize(column)
            listed = np.isin([text(value) for value in values] or [""], feature.categories)
            counts[j] = 0, np.sum(~listed[codes] & (codes >= 0)), np.sum(codes == -1)
    return pd.DataFrame(counts, index=[f.name for f in features], columns=["clipped", "unlisted", "missing"])
