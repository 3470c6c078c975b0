"""Encode a table by its public domain: each cell becomes an unsigned 16-bit integer.

The code of a cell depends on this cell and on the domain, never on another cell. Otherwise, adding or removing a row
could change the codes of other rows. So no function of this module lets numpy or pandas choose a common type for
several cells. If the caller's array already has a common type, the module `cells` recovers the meaning of each cell as
far as the array preserves it (docs/PRIVACY.md).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, Final, NamedTuple

import numpy as np
import pandas as pd
from numba import njit

from dpforest.limits import N_CODES
from dpforest.tables.cells import Keys, as_array, number, numbers, places
from dpforest.tables.date_columns import DateColumn, date_places, dates_of
from dpforest.tables.features import DomainError, Feature, plural, text
from dpforest.tables.out_of_domain import OutOfDomain, OutOfDomainCells
from dpforest.tables.reading_rules import Spellings
from dpforest.tables.scale import MANTISSA, ONE_BITS, Scale

REFUSED: Final = -1  # value of `Grid.missing_code` if missing cells are refused
UNLISTED_PLACE: Final = -2  # index of a category or class that is not listed
_TABLE_SPAN = 1 << 20  # widest range of integer labels for which `_labels` uses a lookup table
_EXACT = 1 << 53  # whole numbers up to this number are exact as floats


class Grid(NamedTuple):
    """Arrays with an entry for each feature of a domain. Only the entries of numeric features are used."""

    scale: np.ndarray  # (m, 8): one `Scale` per row
    span: np.ndarray  # number of codes for cells that are not missing
    first: np.ndarray  # first code of a cell that is not missing
    missing_code: np.ndarray  # code of a missing cell, or REFUSED


def grid(features: Sequence[Feature]) -> Grid:
    """Return the arrays of `Grid` for the features of a domain."""
    m = len(features)
    arrays = Grid(np.ones((m, len(Scale._fields))), np.ones(m), np.zeros(m, np.int64), np.zeros(m, np.int64))
    for j, feature in enumerate(features):
        if feature.kind == "numeric":
            arrays.scale[j] = feature.scale_numbers
            arrays.first[j], arrays.span[j] = feature.first_code, N_CODES - feature.first_code
            if feature.missing != "category":
                arrays.missing_code[j] = REFUSED if feature.missing == "refuse" else feature.code(feature.missing_value)
    return arrays


@njit(nogil=True, cache=True, error_model="numpy")
def _encode_numbers(X, start, scale, span, first, missing_code, out):
    """Write the codes of X[:, k] to out[:, start + k]; return the numbers of infinite and of refused missing cells."""
    n_infinite = 0
    n_refused = 0
    for i in range(X.shape[0]):
        for k in range(X.shape[1]):
            j = start + k
            x = np.float64(X[i, k])
            low, high, linear, octaves, reach, pivot, begin, stretch = scale[j]
            if x > low and x < high:
                t = (x - low) / (high - low)
                if linear < 1.0:
                    if pivot > 0.0:
                        q = (np.copysign(_log(np.abs(x) / pivot, reach, octaves), x) - begin) / stretch
                    else:
                        q = _log(t, reach, octaves)
                    t = linear * t + (1.0 - linear) * q
                out[i, j] = first[j] + min(np.int64(t * span[j]), np.int64(span[j]) - 1)
            elif np.isnan(x):
                out[i, j] = max(missing_code[j], 0)
                n_refused += missing_code[j] == REFUSED
            else:
                out[i, j] = first[j] if x <= low else N_CODES - 1
                n_infinite += np.isinf(x)
    return n_infinite, n_refused


@njit(nogil=True, inline="always", error_model="numpy")
def _log(t, reach, octaves):
    """Return the result of `scale.log_share`, in a form that numba compiles."""
    return (np.float64(1.0 + reach * t).view(np.int64) - ONE_BITS) / MANTISSA / octaves


def encode(
    features: Sequence[Feature], grid: Grid, X: Any, out_of_domain: OutOfDomainCells | None = None
) -> np.ndarray:
    """Return the codes of a table, uint16 (n, m) in C order; see `Domain.encode`.

    A cell outside of the domain raises a DomainError. If `out_of_domain` is given, there is no error: this object
    counts the cell, and the public rule of a fit (`domain.READ_BY_RULE`) reads the cell.
    """
    if isinstance(X, pd.DataFrame):
        columns = positions(features, X)
    else:
        X = _matrix(features, X)
        columns = _array_positions(features)
    out = np.empty((len(X), len(features)), dtype=np.uint16)
    are_plain = all(feature.kind == "numeric" and not feature.has_reading_rules for feature in features)
    if are_plain and not isinstance(X, pd.DataFrame) and X.dtype.kind in "fiub":
        _encode_block(features, grid, X, 0, out, out_of_domain)
        return out
    dates: dict[int, DateColumn] = {}
    for j, feature in enumerate(features):
        column = X.iloc[:, columns[j]] if isinstance(X, pd.DataFrame) else X[:, columns[j]]
        if feature.date is not None:
            if columns[j] not in dates:
                dates[columns[j]] = dates_of(column, feature.date.format)
            _encode_dates(features, grid, dates[columns[j]], j, out, out_of_domain)
        elif feature.kind == "numeric":
            column_cells = None if out_of_domain is None else OutOfDomainCells()
            values = numbers(feature, column, column_cells)
            _encode_block(
                features, grid, values[:, None], j, out, out_of_domain, _no_number(feature, column_cells, out_of_domain)
            )
        else:
            out[:, j] = _category_codes(feature, column, out_of_domain)
    return out


def _encode_dates(
    features: Sequence[Feature],
    grid: Grid,
    dates: DateColumn,
    j: int,
    out: np.ndarray,
    out_of_domain: OutOfDomainCells | None,
) -> None:
    """Write the codes of an attribute that is a part of a date."""
    feature = features[j]
    assert feature.date is not None
    n_strange = dates.note(feature, out_of_domain)
    if feature.kind == "numeric":
        _encode_block(features, grid, dates.values(feature.date)[:, None], j, out, out_of_domain, n_strange)
        return
    place = date_places(feature, dates, UNLISTED_PLACE)
    out[:, j] = _codes_of_places(feature, place, out_of_domain, list, n_strange)


def _encode_block(
    features: Sequence[Feature],
    grid: Grid,
    X: np.ndarray,
    start: int,
    out: np.ndarray,
    out_of_domain: OutOfDomainCells | None,
    n_strange: int = 0,
) -> None:
    """Write the codes of a block of numbers, where `n_strange` of the NaNs stand for cells that are not numbers."""
    if X.dtype not in (np.float64, np.float32):
        with np.errstate(over="ignore"):  # numpy warns if a long double is too large for a float64
            X = X.astype(np.float64)
    X = X.view()
    X.flags.writeable = False  # numba would compile the kernel again for writable arrays
    n_infinite, n_refused = _encode_numbers(X, start, *grid, out)
    if n_infinite or n_refused:
        for feature, column in zip(features[start:], X.T, strict=False):
            infinite, missing = int(np.isinf(column).sum()), int(np.isnan(column).sum())
            missing = missing - n_strange if feature.missing == "refuse" else 0
            if out_of_domain is not None:
                out_of_domain.add(feature.name, OutOfDomain.INFINITE, infinite)
                out_of_domain.add(feature.name, OutOfDomain.MISSING, missing)
            elif infinite:
                raise DomainError(
                    f"{feature.name!r} contains infinity ({plural(infinite, 'cell')}); put a number there or leave it "
                    "empty."
                )
            elif missing:
                raise DomainError(_refused(feature, missing))


def _no_number(feature: Feature, column_cells: OutOfDomainCells | None, out_of_domain: OutOfDomainCells | None) -> int:
    """Return the number of cells of a column that are not numbers, and add it to the counts of the table."""
    if column_cells is None or out_of_domain is None:
        return 0
    n = column_cells.count(feature.name, OutOfDomain.NO_NUMBER)
    out_of_domain.add(feature.name, OutOfDomain.NO_NUMBER, n)
    return n


def _refused(feature: Feature, n: int) -> str:
    """Return the message about missing cells that the domain refuses."""
    return (
        f"{feature.name!r} has {plural(n, 'missing cell')}, but its domain says that none are missing; "
        'set missing="category" or a public missing_value.'
    )


def positions(features: Sequence[Feature], table: pd.DataFrame) -> list[int]:
    """Return the position of each feature's column in a table, which may have further columns."""
    position_of: dict[str, int] = {}
    repeated_names = set()
    for position, name in enumerate(table.columns):
        if str(name) in position_of:
            repeated_names.add(str(name))
        position_of[str(name)] = position
    names = dict.fromkeys(feature.column for feature in features)
    absent = [name for name in names if name not in position_of]
    if absent:
        raise DomainError(f"The table has no column {quoted(absent)}; give it every column of the domain.")
    ambiguous = [name for name in names if name in repeated_names]
    if ambiguous:
        raise DomainError(f"The table has more than one column {quoted(ambiguous)}; rename one.")
    return [position_of[feature.column] for feature in features]


def source_columns(features: Sequence[Feature]) -> tuple[str, ...]:
    """Return the names of the columns that the features are read from, each name once."""
    return tuple(dict.fromkeys(feature.column for feature in features))


def _array_positions(features: Sequence[Feature]) -> list[int]:
    """Return the position of each feature's column in an array, which has one column for each source column."""
    place = {name: j for j, name in enumerate(source_columns(features))}
    return [place[feature.column] for feature in features]


def quoted(names: Sequence[str], most: int = 5) -> str:
    """Return names in quotes, such as "'a', 'b' and 3 more"."""
    first = ", ".join(repr(str(name)) for name in names[:most])
    return first if len(names) <= most else f"{first} and {len(names) - most:,} more"


def _matrix(features: Sequence[Feature], X: Any) -> np.ndarray:
    """Return a user's table as an array; raise DomainError unless it has one column for each source column."""
    if hasattr(X, "toarray"):
        raise DomainError("The table is a sparse matrix; turn it into a dense one with .toarray().")
    X = as_array(X)
    if X.ndim != 2:
        raise DomainError(
            f"A table has rows and columns, but this array has {X.ndim} dimensions; reshape it to (rows, columns)."
        )
    n_columns = len(source_columns(features))
    if X.shape[1] != n_columns:
        noun = "features" if n_columns == len(features) else "columns of its features"
        raise DomainError(
            f"The array has {X.shape[1]:,} columns, but the domain has {n_columns:,} {noun}; give one for each."
        )
    return X


def _category_codes(feature: Feature, column: Any, out_of_domain: OutOfDomainCells | None) -> np.ndarray:
    """Return the codes of a categorical column."""
    place, index_of_value, values = places(column, feature.categories, UNLISTED_PLACE, feature.spellings)

    def unlisted_texts() -> list[str]:
        return [text(value) for value, index in zip(values, index_of_value, strict=True) if index == UNLISTED_PLACE]

    return _codes_of_places(feature, place, out_of_domain, unlisted_texts)


def _codes_of_places(
    feature: Feature,
    place: np.ndarray,
    out_of_domain: OutOfDomainCells | None,
    unlisted_texts: Callable[[], list[str]],
    n_strange: int = 0,
) -> np.ndarray:
    """Return the codes of categories from their indices. `n_strange` of the cells at -1 are not dates."""
    n = len(feature.categories)
    code_of_other = {"category": n, "refuse": REFUSED}.get(feature.missing, REFUSED)
    if feature.missing == "value":
        code_of_other = feature.categories.index(str(feature.missing_value))
    unlisted, missing = place == UNLISTED_PLACE, place == -1
    if code_of_other != REFUSED:
        return np.where(unlisted | missing, code_of_other, place)
    n_missing, n_unlisted = int(missing.sum()) - n_strange, int(unlisted.sum())
    if out_of_domain is not None:
        out_of_domain.add(feature.name, OutOfDomain.MISSING, n_missing)
        out_of_domain.add(feature.name, OutOfDomain.UNLISTED, n_unlisted)
        return np.maximum(place, 0)
    if n_missing:
        raise DomainError(_refused(feature, n_missing))
    if n_unlisted:
        examples = f" ({quoted(texts, 3)})" if (texts := unlisted_texts()) else ""
        raise DomainError(
            f"{feature.name!r} has {plural(n_unlisted, 'cell')} whose value its domain does not list{examples}; add "
            'it, or set missing="category".'
        )
    return place


def encode_labels(classes: Sequence[Any], y: Any, label: str = "", spellings: Spellings = ()) -> np.ndarray:
    """Return the index of each label in `classes`, int32 (n,); see `Domain.encode_labels`."""
    name = repr(label) if label else "the label"
    out = _labels(classes, y, name, spellings)
    if (n := int((out == -1).sum())) > 0:
        raise DomainError(
            f"{name[0].upper() + name[1:]} is missing in {plural(n, 'row')}; "
            "leave these rows out or choose another label."
        )
    if len(out) and out.min() < 0:
        first = np.asarray(y)[int(np.argmax(out < 0))]
        raise DomainError(
            f"{name[0].upper() + name[1:]} has the value {text(first)!r}, which is not one of the classes "
            f"{quoted([text(label) for label in classes])}; add it to the classes or leave these rows out."
        )
    return out


def listed_labels(classes: Sequence[Any], y: Any, label: str = "", spellings: Spellings = ()) -> np.ndarray:
    """Return the index of each label in `classes`, negative if the label is missing or not listed."""
    return _labels(classes, y, repr(label) if label else "the label", spellings)


def _labels(classes: Sequence[Any], y: Any, name: str, spellings: Spellings) -> np.ndarray:
    """Return the index of each label in `classes`; -1 if it is missing, and -2 if it is not listed."""
    y = y if isinstance(y, pd.Series) else as_array(y)
    if y.ndim != 1:
        raise DomainError(f"Labels are one column, but {name} has {y.ndim} dimensions.")
    array = y.to_numpy() if isinstance(y, pd.Series) and isinstance(y.dtype, np.dtype) else y
    if len(y) and isinstance(array, np.ndarray) and array.dtype.kind in "iu":
        low, high = int(array.min()), int(array.max())
        if high - low < _TABLE_SPAN and -_EXACT <= low <= high <= _EXACT:
            keys = Keys(classes, spellings)
            listed = (*classes, *(spelling for spelling, _ in spellings))
            values = range(low, high + 1)
            of_value = np.full(len(values), UNLISTED_PLACE, np.int32)
            for value in {value for value in map(_whole, listed) if value is not None and value in values}:
                of_value[value - low] = keys.find(value)
            place = array if not low else np.subtract(array, low, dtype=np.int64, casting="unsafe")
            return of_value[place]
    return places(y, classes, UNLISTED_PLACE, spellings)[0].astype(np.int32)


def _whole(label: Any) -> int | None:
    """Return a label as an int, or None if it is not a whole number."""
    value = number(label)
    return int(value) if value is not None and math.isfinite(value) and value.is_integer() else None


def report(features: Sequence[Feature], X: Any) -> pd.DataFrame:
    """Return the counts of clipped, unlisted and missing cells of each feature; see `Domain.report`.

    A text in a column of numbers or dates counts as unlisted if it cannot be read.
    """
    column_positions = positions(features, X) if isinstance(X, pd.DataFrame) else _array_positions(features)
    X = X if isinstance(X, pd.DataFrame) else _matrix(features, X)
    counts = np.zeros((len(features), 3), dtype=np.int64)
    for j, feature in enumerate(features):
        column = X.iloc[:, column_positions[j]] if isinstance(X, pd.DataFrame) else X[:, column_positions[j]]
        if feature.date is not None:
            dates = dates_of(column, feature.date.format)
            counts[j] = _date_counts(feature, dates)
        elif feature.kind == "numeric":
            out_of_domain = OutOfDomainCells()
            x = numbers(feature, column, out_of_domain)
            n_no_number = out_of_domain.count(feature.name, OutOfDomain.NO_NUMBER)
            counts[j] = np.sum((x < feature.low) | (x > feature.high)), n_no_number, np.sum(np.isnan(x)) - n_no_number
        else:
            place, _, _ = places(column, feature.categories, UNLISTED_PLACE, feature.spellings)
            counts[j] = 0, np.sum(place == UNLISTED_PLACE), np.sum(place == -1)
    return pd.DataFrame(counts, index=[f.name for f in features], columns=["clipped", "unlisted", "missing"])


def _date_counts(feature: Feature, dates: DateColumn) -> tuple[int, int, int]:
    """Return the counts of clipped, unlisted and missing cells of an attribute that is a part of a date."""
    assert feature.date is not None
    n_missing = int((dates.day == 0).sum())
    if feature.kind == "numeric":
        x = dates.values(feature.date)
        return int(np.sum((x < feature.low) | (x > feature.high))), dates.n_bad, n_missing
    place = date_places(feature, dates, UNLISTED_PLACE)
    return 0, int((place == UNLISTED_PLACE).sum()) + dates.n_bad, n_missing
