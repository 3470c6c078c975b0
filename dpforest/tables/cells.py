"""The meaning of a single cell: its number, and the key by which it matches a category or a class.

The type of a column does not affect the meaning of its cells. In a data frame or array, all cells of a column have one
type, so one more row can turn whole numbers into texts. But one more row must not change the meaning of the cells of
other rows. So 1, 1.0, "1", "01" and True have the same key, and the text of a number means this number.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from decimal import Decimal
from numbers import Real
from typing import Any

import numpy as np
import pandas as pd

from dpforest.tables.features import DomainError, Feature, plural, text
from dpforest.tables.out_of_domain import OutOfDomain, OutOfDomainCells
from dpforest.tables.reading_rules import Spellings, folded, number_with_sign, without_number_words

# Each text can match this pattern in only one way. Otherwise, a match against a million digits could take hours.
_NUMBER = re.compile(r"[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)(e[+-]?[0-9]+)?|[+-]?inf(inity)?", re.IGNORECASE)
# Texts that Python and numpy write for a complex number with the imaginary part 0 (_REAL), or with a NaN
# (_COMPLEX_NAN).
_REAL = re.compile(r"\(?(?:(.*)[+-])?0j\)?")
_COMPLEX_NAN = re.compile(r"\(?[-+0-9.einf]*nan[-+0-9.einf]*j\)?")
_TRUTH = {"true": 1.0, "false": 0.0}
_AS_FLOAT = {int, float, bool, type(None)}  # numpy turns objects of these types into floats one by one
_EQUAL_IS_SAME = {str, int, float, type(None)}  # if two objects of these types are equal, so are their texts


def number(cell: Any) -> float | None:
    """Return one cell as a float, or None if it is not a number. True is 1 and False is 0.

    >>> number(" 1.50 "), number("1,5"), number("TRUE"), number("-inf"), number(2 + 0j), number("(2+0j)"), number(2j)
    (1.5, None, 1.0, -inf, 2.0, 2.0, None)
    """
    if isinstance(cell, (str, bytes)):
        cell = _decoded(cell).strip()
        if cell.endswith(("j", "j)")) and (parts := _REAL.fullmatch(cell)):
            cell = parts[1] or "0"
        return float(cell) if _NUMBER.fullmatch(cell) else _TRUTH.get(cell.lower())
    cell = _real(cell)
    if not isinstance(cell, (Real, Decimal, np.bool_)) or isinstance(cell, np.timedelta64):
        return None
    try:
        return float(cell)
    except OverflowError:
        return math.inf if cell > 0 else -math.inf  # type: ignore[operator]
    except Exception:  # an unknown object may raise any error, which must affect only its cell
        return None


def _real(cell: Any) -> Any:
    """Return the real part of a complex number whose imaginary part is 0, and any other cell unchanged.

    If one cell of an array is complex, numpy makes all other numbers complex too.
    """
    is_complex = isinstance(cell, (complex, np.complexfloating))
    return cell.real if is_complex and cell.imag == 0 else cell


def _decoded(cell: str | bytes) -> str:
    """Decode bytes, and remove null characters at the end of a text, as numpy does in an array of texts."""
    return (cell if isinstance(cell, str) else cell.decode("utf-8", "replace")).rstrip("\0")


def cell_text(cell: Any) -> str:
    """Return the text of a cell, whatever the type of its column is."""
    return text(_decoded(cell) if isinstance(cell, (str, bytes)) else _real(cell))


def key(cell: Any) -> str:
    """Return the key of a cell: the text of its number, or its text. The type of its column does not matter.

    >>> key(1), key("01"), key(True), key(" 1.0"), key(1 + 0j), key(2**60 + 1) == key(2.0**60), key("a ")
    ('1', '1', '1', '1', '1', True, 'a ')
    """
    cell = _real(cell)
    # A float32 means the number that its text states: the float32 nearest to 0.1 means 0.1, not its value as a float64.
    is_short_float = isinstance(cell, np.floating) and not isinstance(cell, float)
    value = number(str(cell)) if is_short_float else number(cell)
    return cell_text(cell) if value is None or math.isnan(value) else text(value)


class Keys:
    """Index of listed values. It finds a cell by its text or, if no listed value has this text, by its key.

    If several values have the same key, the key means the first of them. If there are spellings, the spaces around a
    cell that is not a listed text are removed, and the cell is compared with the listed texts and the spellings.
    """

    def __init__(self, listed: Iterable[Any], spellings: Spellings = ()) -> None:
        self._text: dict[str, int] = {}
        self._trimmed: dict[str, int] = {}
        self._key: dict[str, int] = {}
        for place, value in enumerate(listed):
            self._text.setdefault(cell_text(value), place)
            self._key.setdefault(key(value), place)
        for spelling, value in spellings:
            self._trimmed[spelling] = self._text[value]
            self._key.setdefault(key(spelling), self._text[value])
        if spellings:
            for value, place in self._text.items():
                self._trimmed.setdefault(value.strip(), place)

    def find(self, cell: Any, otherwise: int = -1) -> int:
        """Return the index of a cell's value in the list, or `otherwise` if the value is not listed."""
        place = self._text.get(cell_text(cell))
        if place is None and self._trimmed:
            place = self._trimmed.get(cell_text(cell).strip())
        return self._key.get(key(cell), otherwise) if place is None else place


def values_with_one_key(listed: Iterable[Any], spellings: Spellings = ()) -> tuple[str, str] | None:
    """Return the first two listed values that share a key although their texts differ, or None.

    Spellings are compared like listed values, with two exceptions that are not compared: a spelling with the key of the
    value that it means, and a spelling with the key of an earlier spelling of this value. The words that numpy writes
    for missing cells in an array of texts count as a further value, "missing".
    """
    value_of_key = {word: "missing" for word in ("nan", "None", "NaT", "<NA>")}
    further_spellings: dict[tuple[str, str], str] = {}
    for spelling, value in spellings:
        if key(spelling) != key(value):
            further_spellings.setdefault((key(spelling), value), spelling)
    for value in (*listed, *further_spellings.values()):
        first_value = value_of_key.setdefault("nan" if _COMPLEX_NAN.fullmatch(text(value)) else key(value), text(value))
        if first_value != text(value):
            return first_value, text(value)
    return None


def refuse_masked(cells: Any) -> None:
    """Raise ValueError for a masked array, because a fit would ignore the mask and read the hidden values."""
    if isinstance(cells, np.ma.MaskedArray):
        raise ValueError(
            "This is a masked array, and a fit would read the values under the mask. Fill them first: "
            ".filled(numpy.nan) makes them missing cells."
        )


def as_array(cells: Any) -> np.ndarray:
    """Return an array unchanged, and a list as an array of objects, because numpy's common type could change a cell."""
    refuse_masked(cells)
    has_type = hasattr(cells, "dtype") or hasattr(cells, "__array__")
    array = np.asarray(cells) if has_type else np.array(cells, dtype=object)
    # An array of numpy dates without a unit (such as days) can hold only missing cells, and pandas refuses it.
    return array.astype(object) if array.dtype in ("datetime64", "timedelta64") else array


def column_of_list(cells: Sequence[Any]) -> np.ndarray:
    """Return a list of labels as an array of objects (n,).

    A label that is a list of one entry counts as this entry. Any other list counts as a missing label.
    """
    column = np.full(len(cells), None, dtype=object)
    for i, cell in enumerate(cells):
        label = cell.tolist() if isinstance(cell, np.ndarray) and cell.ndim else cell
        column[i] = (label[0] if len(label) == 1 else None) if isinstance(label, (list, tuple)) else label
    return column


def table_of_lists(rows: Sequence[Any], n_columns: int, *, refuse: bool) -> np.ndarray:
    """Return a list of rows as an array of objects (n, n_columns), in which each cell keeps its type.

    A row without `n_columns` cells raises a DomainError if `refuse` is true; otherwise all its cells are missing.
    """
    table = np.full((len(rows), n_columns), None, dtype=object)
    for i, row in enumerate(rows):
        cells = row.tolist() if isinstance(row, np.ndarray) else row
        if isinstance(cells, (list, tuple)) and len(cells) == n_columns:
            for j, cell in enumerate(cells):
                table[i, j] = cell
        elif refuse:
            raise DomainError(f"Row {i} of the list is not a list of {plural(n_columns, 'cell')}.")
    return table


def numbers(feature: Feature, column: Any, out_of_domain: OutOfDomainCells | None = None) -> np.ndarray:
    """Return a column as an array of numbers, in which a missing cell is NaN.

    A cell that is not a number raises a DomainError. If `out_of_domain` is given, there is no error: this object counts
    the cell, and the cell becomes missing.
    """
    values = _numbers(feature, column, out_of_domain)
    return without_number_words(values, feature.missing_words)


def _numbers(feature: Feature, column: Any, out_of_domain: OutOfDomainCells | None) -> np.ndarray:
    if column.dtype == object or getattr(column.dtype, "kind", "") in "US":
        return _numbers_of_objects(feature, np.asarray(column), out_of_domain)
    series = pd.Series(column)
    dtype = series.dtype
    is_complex_or_time = pd.api.types.is_complex_dtype(dtype) or series.dtype.kind in "mM"
    if is_complex_or_time and out_of_domain is not None:  # one cell may have caused the type of this column
        return _numbers_of_objects(feature, series.astype(object).to_numpy(), out_of_domain)
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
    return _numbers_of_objects(feature, series.to_numpy(dtype=object), out_of_domain)


def _numbers_of_objects(feature: Feature, cells: np.ndarray, out_of_domain: OutOfDomainCells | None) -> np.ndarray:
    if set(map(type, cells.tolist())) <= _AS_FLOAT:
        try:
            return cells.astype(np.float64)
        except OverflowError:  # a whole number too large for a float
            pass
    read = np.full(len(cells), np.nan)
    bad = []
    words = folded(feature.missing_words)
    for i in np.flatnonzero(~is_missing(cells)):
        value = number(cells[i])
        if value is None and (words or feature.signs):
            value = _number_by_rules(cells[i], words, feature.signs)
        if value is None:
            bad.append(i)
        else:
            read[i] = value
    if bad and out_of_domain is None:
        raise DomainError(
            f"{feature.name!r} is numeric, but has {plural(len(bad), 'cell')} without a number, the first with "
            f"{cell_text(cells[bad[0]])!r}; make it categorical, empty these cells, or read the file with read_table, "
            "which knows decimal commas."
        )
    if bad and out_of_domain is not None:
        out_of_domain.add(feature.name, OutOfDomain.NO_NUMBER, len(bad))
    return read


def _number_by_rules(cell: Any, words: frozenset[str], signs: Sequence[str]) -> float | None:
    """Return NaN for a word that means "missing", the number of a text with a sign, and None for any other cell."""
    if not isinstance(cell, (str, bytes)):
        return None
    trimmed = _decoded(cell).strip()
    return math.nan if trimmed.casefold() in words else number_with_sign(trimmed, signs)


def is_missing(cells: np.ndarray) -> np.ndarray:
    """Return a boolean mask of the missing cells of an array. A cell that holds a list or an array is not missing."""
    try:
        missing = pd.isna(cells)
        if missing.shape == cells.shape:
            return missing
    except Exception:  # an unknown object may raise any error, which must not affect the other cells
        pass
    return np.array([_is_missing_cell(cell) for cell in cells.tolist()], dtype=bool)


def _is_missing_cell(cell: Any) -> bool:
    """Return whether one cell is missing. A cell that pandas cannot test counts as missing."""
    try:
        return pd.isna(cell) is True
    except Exception:
        return True


def factorize(column: Any) -> tuple[np.ndarray, list[Any]]:
    """Return the code of each cell (-1 if missing) and the value of each code. Equal codes mean equal texts."""
    if column.dtype == object or getattr(column.dtype, "kind", "") in "USc":
        return _factorize_objects(np.asarray(column).astype(object, copy=False))
    series = pd.Series(column)
    if isinstance(series.dtype, pd.CategoricalDtype):
        return series.cat.codes.to_numpy(), list(series.cat.categories)
    if (
        isinstance(series.dtype, pd.StringDtype) and series.dtype.storage == "python"
    ):  # texts of Arrow are valid Unicode
        return _factorize_objects(series.to_numpy(dtype=object, na_value=None))
    codes, values = pd.factorize(series)
    numpy_dtype = getattr(series.dtype, "numpy_dtype", series.dtype)
    if isinstance(numpy_dtype, np.dtype) and numpy_dtype.kind == "f":
        # pandas returns float32 values as float64, whose texts may be longer. For some types of columns, pandas gives
        # NaN a code.
        values = np.asarray(values, numpy_dtype)
        codes = np.where(np.append(np.isnan(values), True)[codes], -1, codes)
    return codes, list(values)


def _factorize_objects(cells: np.ndarray) -> tuple[np.ndarray, list[Any]]:
    types = set(map(type, cells.tolist()))
    if types <= _EQUAL_IS_SAME and (str not in types or _is_utf8(cells)):
        codes, values = pd.factorize(cells)
        return codes, list(values)
    codes = np.full(len(cells), -1, dtype=np.int64)
    index: dict[str, int] = {}
    distinct: list[Any] = []
    for i in np.flatnonzero(~is_missing(cells)):
        code = codes[i] = index.setdefault(cell_text(cells[i]), len(index))
        if code == len(distinct):
            distinct.append(cells[i])
    return codes, distinct


def _is_utf8(cells: np.ndarray) -> bool:
    """Return whether all texts are valid Unicode; pandas confuses texts with half of a surrogate pair."""
    try:
        "".join([cell for cell in cells.tolist() if type(cell) is str]).encode()
    except UnicodeEncodeError:
        return False
    return True


def places(
    column: Any, listed: Sequence[Any], otherwise: int, spellings: Spellings = ()
) -> tuple[np.ndarray, np.ndarray, list[Any]]:
    """Return each cell's index in `listed`, the index of each distinct value, and the distinct values.

    A missing cell has the index -1, and a value that is not in `listed` has the index `otherwise`.
    """
    codes, values = factorize(column)
    keys = Keys(listed, spellings)
    index_of_value = np.array([keys.find(value, otherwise) for value in values] + [-1], dtype=np.int64)
    return index_of_value[codes], index_of_value[:-1], values
