"""Read the texts of one column of a CSV file as numbers or categories, and suggest the kind of the column."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from dpforest.limits import MANY_DISTINCT, MAX_CATEGORIES
from dpforest.tables.cells import key
from dpforest.tables.dates import date_of
from dpforest.tables.features import Feature
from dpforest.tables.features import text as text_of
from dpforest.tables.reading_rules import Spellings, folded, without_number_words, without_sign

# Texts that count as missing in every column, and further texts that count as missing in a column of numbers.
MISSING_TEXTS = ("", "?", "NA", "N/A", "n/a", "#N/A", "NaN", "nan", "NULL", "null", "<NA>")
MISSING_NUMBERS = ("-", "--", ".", "None", "none", "Na", "na", "missing", "unknown", "#DIV/0!", "#VALUE!", "#REF!")

_DECIMAL_COMMA = r"^[+-]?((\d+|\d{1,3}([. ' \x{2019}\x{a0}\x{202f}]\d{3})+)(,\d*)?|,\d+)([eE][+-]?\d+)?$"
_GROUPS = r"^[+-]?[1-9]\d{0,2}(,\d{3})+(\.\d+)?$"
_POINT_NUMBER = r"^[+-]?\d+(\.\d+)?$"
_PLAIN_NUMBER = r"^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?$|^[+-]?(?i:inf|infinity)$"
_WHOLE = r"^[+-]?\d+$"
_CELL_BY_CELL = {  # by decimal mark: pattern of a number, and pattern of the marks between its thousands
    ".": (rf"{_GROUPS}|{_PLAIN_NUMBER}", ","),
    ",": (_DECIMAL_COMMA, r"[. ' \x{2019}\x{a0}\x{202f}]"),
}
_LEADING_ZERO = r"^[+-]?0\d"
_TIME = r"([T ]\d{1,2}:\d{2}(:\d{2}(\.\d+)?)?( ?[AaPp][Mm])?(Z|[+-]\d{2}:?\d{2})?)?"
MONTH = r"(?i:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*\.?"
DATES = (  # patterns of dates and times, one for each format
    rf"^\d{{4}}[-/.]\d{{1,2}}[-/.]\d{{1,2}}{_TIME}$",
    rf"^\d{{1,2}}[-/.]\d{{1,2}}[-/.](\d{{4}}|\d{{2}}){_TIME}$",
    rf"^\d{{1,2}}[- ]{MONTH}[- ,]+\d{{2,4}}{_TIME}$",
    rf"^{MONTH} \d{{1,2}},? \d{{4}}{_TIME}$",
    r"^\d{1,2}:\d{2}(:\d{2}(\.\d+)?)?$",
)
_COMPACT_DATE = r"^(19|20)\d{2}(0[1-9]|1[0-2])(0[1-9]|[12]\d|3[01])$"
_CODE = re.compile(r"[+-]?0\d")
_NO_NUMBERS = pa.array(MISSING_TEXTS + MISSING_NUMBERS)
_ID_NAME = re.compile(r"(^|[ _.-])(id|ids|uuid|guid|identifier|index|key|rowid|row|nr|ssn)$", re.I)
_ID_CAMEL = re.compile(r"[a-z](Id|ID|Key|Index|Uuid)$")


@dataclass(frozen=True)
class Column:
    """The suggested kind of a column, and why.

    Attributes
    ----------
    name : str
        Name of the column.
    kind : {"numeric", "categorical", "date", "id", "constant", "empty"}
        Columns of the last four kinds are not suggested as attributes.
    reason : str
        One sentence that explains the kind.
    n_missing, n_distinct : int
        Number of missing cells, and number of distinct values in the other cells.
    """

    name: str
    kind: str
    reason: str
    n_missing: int
    n_distinct: int

    @property
    def use(self) -> bool:
        """Whether the column is suggested as an attribute."""
        return self.kind in ("numeric", "categorical")


@dataclass(frozen=True)
class ParsedColumn:
    """The cells of a column as numbers or texts, and the rules by which the cells were parsed."""

    values: pd.Series  # int64, float64 or str
    missing: tuple[str, ...]  # texts that count as missing and occur in the column
    decimal_comma: bool = False  # whether commas are decimal marks
    grouped: bool = False  # whether commas separate thousands
    trimmed: bool = False  # whether there were spaces around cells
    has_points: bool = False  # whether the cells show that commas are not decimal marks


def read_cells(raw: pa.ChunkedArray, comma_decimals: bool) -> ParsedColumn:
    """Return text cells as int64 or float64 if each cell is a number or missing, and otherwise as texts.

    Columns of numbers with leading zeros or more than 15 digits remain texts, because such numbers are codes that would
    lose digits. In a column in which every comma may be a decimal mark or may separate thousands, as in 1,234,
    `comma_decimals` states whether commas are decimal marks.
    """
    trimmed = pc.utf8_trim_whitespace(raw)
    was_trimmed = not trimmed.equals(raw)
    cells, missing = _with_nulls_for(trimmed, MISSING_TEXTS)
    as_numbers = _numbers(cells, comma_decimals)
    if as_numbers is None:
        known_cells, missing_words = _with_nulls_for(cells, MISSING_NUMBERS)
        if missing_words and known_cells.null_count < len(known_cells):
            as_numbers = _numbers(known_cells, comma_decimals)
            missing = missing + missing_words if as_numbers else missing
    numbers, decimal_comma, grouped = as_numbers or (cells, False, False)
    has_points = as_numbers is not None and not decimal_comma and _any(trimmed, r"[.,]\d")
    return ParsedColumn(numbers.to_pandas(), missing, decimal_comma, grouped, was_trimmed, has_points)


def numbers_one_by_one(
    raw: pa.ChunkedArray, decimal: str, feature: Feature | None = None
) -> tuple[pd.Series, list[str]]:
    """Return all text cells as float64, and the texts of the cells that are neither numbers nor missing.

    Each cell is parsed independently of all other cells. The decimal mark determines which marks may separate
    thousands. A cell that is not a finite number becomes NaN. If `feature` is given, its words for missing cells and
    its signs apply too.
    """
    cells = pc.utf8_trim_whitespace(raw)
    values = _floats(cells, decimal)
    if feature is not None and (feature.missing_words or feature.signs):
        return _numbers_by_rules(cells, decimal, feature)
    is_unreadable = pc.and_(pc.is_null(values), pc.invert(pc.is_in(cells, value_set=_NO_NUMBERS)))
    return values.to_pandas().astype(np.float64), cells.filter(is_unreadable).to_pylist()


def _numbers_by_rules(cells: pa.ChunkedArray, decimal: str, feature: Feature) -> tuple[pd.Series, list[str]]:
    """Return the result of `numbers_one_by_one` for trimmed cells of a feature with words or signs."""
    encoded = cells.combine_chunks().dictionary_encode()
    texts = encoded.dictionary.to_pylist()
    words = folded(feature.missing_words)
    plain = [cell if not feature.signs else without_sign(cell, feature.signs) or cell for cell in texts]
    numbers = _floats(pa.array(plain, pa.string()), decimal).to_numpy(zero_copy_only=False).astype(np.float64)
    is_word = np.array([cell.casefold() in words for cell in texts], dtype=bool)
    numbers[is_word] = np.nan
    is_missing = np.array([cell in MISSING_TEXTS + MISSING_NUMBERS for cell in texts], dtype=bool)
    is_unreadable = np.isnan(numbers) & ~is_word & ~is_missing
    place = encoded.indices.to_numpy(zero_copy_only=False)
    unreadable = [texts[i] for i in place[is_unreadable[place]]]
    return pd.Series(without_number_words(numbers, feature.missing_words)[place]), unreadable


def dates_one_by_one(raw: pa.ChunkedArray, date_format: str) -> tuple[pd.Series, list[str]]:
    """Return the dates of a column as trimmed texts, and the texts of the cells that are neither dates nor missing.

    A cell that states no date in this format becomes missing. Each cell is read independently of all other cells.
    """
    cells = pc.utf8_trim_whitespace(raw).combine_chunks().dictionary_encode()
    is_date = [date_of(key(cell), date_format) is not None for cell in cells.dictionary.to_pylist()]
    date_texts = [cell if known else None for cell, known in zip(cells.dictionary.to_pylist(), is_date, strict=True)]
    dates = pa.array(date_texts, pa.string()).take(cells.indices)
    trimmed = cells.cast(pa.string())
    is_unreadable = pc.and_(pc.is_null(dates), pc.invert(pc.is_in(trimmed, value_set=_NO_NUMBERS)))
    return dates.to_pandas().astype("str"), trimmed.filter(is_unreadable).to_pylist()


def texts_one_by_one(raw: pa.ChunkedArray, listed: Sequence[str], decimal: str, spellings: Spellings = ()) -> pd.Series:
    """Return a column of texts in which each cell that means a listed text is replaced by this text.

    A cell means a listed text if both are equal as texts or as numbers, or if the cell is a spelling of the listed
    text. Any other cell stays unchanged, or becomes missing if it is empty or a text such as "NA" (`MISSING_TEXTS`).
    """
    cells = pc.utf8_trim_whitespace(raw).combine_chunks().dictionary_encode()
    texts = cells.dictionary
    listed_text_of = (
        dict(spellings) | {text.strip(): text for text in reversed(listed)} | {text: text for text in listed}
    )
    values = []
    for cell, number in zip(texts.to_pylist(), _floats(texts, decimal).to_pylist(), strict=True):
        listed_text = listed_text_of.get(cell)
        if listed_text is None and number is not None and abs(number) < 10**15 and not _CODE.match(cell):
            listed_text = listed_text_of.get(text_of(number))
        values.append(listed_text if listed_text is not None else None if cell in MISSING_TEXTS else cell)
    return pa.array(values, pa.string()).take(cells.indices).to_pandas().astype("str")


def _floats(cells: pa.ChunkedArray | pa.Array, decimal: str) -> pa.ChunkedArray | pa.Array:
    """Return trimmed cells as float64; null if a cell is not a finite number."""
    pattern, separators = _CELL_BY_CELL[decimal]
    cells = pc.if_else(pc.match_substring_regex(cells, pattern), cells, pa.scalar(None, cells.type))
    cells = pc.replace_substring_regex(cells, separators, "")
    values = pc.replace_substring(cells, ",", ".").cast(pa.float64())
    return pc.if_else(pc.is_finite(values), values, pa.scalar(None, pa.float64()))


def _with_nulls_for(cells: pa.ChunkedArray, tokens: tuple[str, ...]) -> tuple[pa.ChunkedArray, tuple[str, ...]]:
    """Return the cells with null in place of every cell that equals a token, and the tokens that occurred."""
    is_token = pc.is_in(cells, value_set=pa.array(tokens, cells.type))
    if not pc.any(is_token).as_py():
        return cells, ()
    tokens_in_cells = pc.unique(cells.filter(is_token)).to_pylist()
    return pc.if_else(is_token, pa.scalar(None, cells.type), cells), tuple(
        token for token in tokens if token in tokens_in_cells
    )


def _numbers(cells: pa.ChunkedArray, comma_decimals: bool) -> tuple[pa.ChunkedArray, bool, bool] | None:
    """Return numbers, whether they had decimal commas, and whether they had commas between thousands.

    Return None if some cells are not numbers, or if all cells are missing.
    """
    if cells.null_count == len(cells):
        return None
    numbers = _cast(cells)
    if numbers is not None:
        return numbers, False, False
    if not _any(cells, r"\d,\d"):
        return None
    grouped = _all(cells, f"{_GROUPS}|{_POINT_NUMBER}")
    decimal = _all(cells, _DECIMAL_COMMA)
    if grouped and not (decimal and comma_decimals):
        numbers = _cast(pc.replace_substring(cells, ",", ""))
        return None if numbers is None else (numbers, False, True)
    if decimal:
        plain = pc.replace_substring_regex(cells, r"[. ' \x{2019}\x{a0}\x{202f}]", "")
        numbers = _cast(pc.replace_substring(plain, ",", "."))
        return None if numbers is None else (numbers, True, False)
    return None


def _all(cells: pa.ChunkedArray, pattern: str) -> bool:
    return bool(pc.all(pc.match_substring_regex(cells, pattern)).as_py())


def _cast(cells: pa.ChunkedArray) -> pa.ChunkedArray | None:
    """Return cells as int64 or float64; None if some cells are not numbers, or are codes that would lose digits."""
    # A cast that fails is slow, so a few cells are checked first.
    sample = cells.slice(0, 50).drop_null() or cells.drop_null().slice(0, 50)
    if not _all(sample, _PLAIN_NUMBER):
        return None
    try:
        if _all(sample, _WHOLE):
            return _cast_whole(cells)
    except pa.ArrowInvalid:
        pass
    try:
        numbers = cells.cast(pa.float64())
    except pa.ArrowInvalid:
        return None
    return None if _all(cells, _WHOLE) or _any(cells, _LEADING_ZERO) else numbers


def _cast_whole(cells: pa.ChunkedArray) -> pa.ChunkedArray | None:
    whole = cells.cast(pa.int64())
    extremes = pc.min_max(whole).as_py()
    return None if max(-extremes["min"], extremes["max"]) >= 10**15 or _any(cells, _LEADING_ZERO) else whole


def _any(cells: pa.ChunkedArray, pattern: str) -> bool:
    return bool(pc.any(pc.match_substring_regex(cells, pattern)).as_py())


def suggest(name: str, values: pd.Series) -> Column:
    """Return the suggested kind of a column, with the reason."""
    known_values = values.dropna()
    n_missing, n_known = len(values) - len(known_values), len(known_values)
    if not n_known:
        return Column(name, "empty", "Every cell is missing; leave it out.", n_missing, 0)
    n_distinct = int(known_values.nunique())

    def column_of_kind(kind: str, reason: str) -> Column:
        return Column(name, kind, reason, n_missing, n_distinct)

    if n_distinct == 1 and not n_missing:
        return column_of_kind("constant", f"Every cell is {str(known_values.iloc[0])[:40]!r}; leave it out.")
    numeric = known_values.dtype.kind in "if"
    whole = numeric and is_whole(known_values)
    if _is_date(known_values, numeric, whole):
        return column_of_kind("date", "Dates or times; leave it out, or replace it by a number such as a year.")
    looks_like_id = bool(_ID_NAME.search(name) or _ID_CAMEL.search(name))
    if not numeric:
        if n_known > 20 and (n_distinct > MANY_DISTINCT * n_known or (looks_like_id and n_distinct > n_known // 20)):
            return column_of_kind("id", f"{n_distinct:,} different texts in {n_known:,} rows; leave it out.")
        if n_distinct > MAX_CATEGORIES:
            limit = f"more than {MAX_CATEGORIES:,}"
            return column_of_kind("id", f"{n_distinct:,} different texts, {limit}; leave it out or group its values.")
        return column_of_kind("categorical", f"{n_distinct:,} different text{'s' * (n_distinct != 1)}.")
    if whole and n_distinct == n_known:
        counts_rows = n_known > 20 and known_values.max() - known_values.min() == n_known - 1
        if looks_like_id or counts_rows:
            return column_of_kind("id", "A different whole number in every row, like a row number; leave it out.")
    if looks_like_id and whole and n_distinct > max(20, n_known // 20):
        return column_of_kind("id", "Named like an identifier; if people have several rows each, their ε adds up.")
    return column_of_kind("numeric", "Whole numbers." if whole else "Numbers.")


def is_whole(values: pd.Series) -> bool:
    """Return whether all numbers are whole."""
    x = values.to_numpy()
    return x.dtype.kind == "i" or bool((x == np.floor(x)).all())


def _is_date(known_values: pd.Series, numeric: bool, whole: bool) -> bool:
    patterns: tuple[str, ...] = DATES
    if numeric:
        if not whole or not 1.9e7 <= known_values.min() <= known_values.max() < 2.1e7:
            return False
        known_values, patterns = known_values.astype("int64").astype("str"), (_COMPACT_DATE,)
    cells = pa.chunked_array([pa.array(known_values.unique(), pa.string())])
    sample = cells.slice(0, 20)
    return any(_all(sample, pattern) and _all(cells, pattern) for pattern in patterns)
