"""Warnings about columns of a CSV file that could also be read in another way.

Examples are numbers with signs, with two different decimal marks, or with three digits after a mark, and a few words
among numbers.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from dpforest.limits import MAX_CATEGORIES
from dpforest.tables.csv_columns import DATES, MISSING_NUMBERS, MISSING_TEXTS, MONTH, ParsedColumn

# A warning requires that at least this share of a text column's distinct cells are numbers, possibly with signs.
MOST: Final = 0.9
SIGNS: Final = "%$€£¥₹"
_SIGN = re.compile(f"[{SIGNS}]")
_NUMBER = re.compile(r"[+-]?(\d[\d., '\u2019\u00a0\u202f]*|[.,]\d+)")
_POINT, _COMMA = re.compile(r"[+-]?\d*\.\d+"), re.compile(r"[+-]?\d*,\d+")
_WHOLE = re.compile(r"[+-]?\d+")
_NUMBER_OR_MISSING: Final = r"^([+-]?\d[\d.,]*|[+-]?[.,]\d+|)$"
_CODE = re.compile(r"[+-]?0\d")  # codes such as 00123 are not numbers
_BEGINS_LIKE_A_NUMBER: Final = rf"^([^\pL]{{0,3}}\d|{MONTH})"
_GROUPED = re.compile(r"[+-]?(\d{1,3}([., '\u2019\u00a0\u202f]\d{3})+|\d+)([.,]\d+)?")
_FEW_ROWS: Final = 10  # some warnings require at least this number of rows or of different values
_SAMPLE_SIZE: Final = 50  # number of cells that are tested first, because they often make a test of all cells needless
# An ambiguous cell has one to three digits (the first is not 0), a mark, and three more digits. The mark may be a
# decimal mark or may separate thousands. A whole number of at most three digits (_SHORT) does not show which.
_AMBIGUOUS: Final = r"^[+-]?[1-9]\d{{0,2}}{mark}\d{{3}}$"
_SHORT: Final = r"^[+-]?\d{1,3}$"
_DECIMALS: Final = (
    r"^[+-]?(0{mark}\d|\d+{mark}(\d{{1,2}}|\d{{4,}})$)"  # in such a number, the mark must be a decimal mark
)


def doubts(raw: pa.Table, parsed: Mapping[str, ParsedColumn]) -> list[str]:
    """Return a sentence with advice for each column that could also be read in another way.

    Only the curator (the data holder) may see these sentences, because they depend on the rows.

    Parameters
    ----------
    raw : Table
        The cells of the file as texts.
    parsed : dict of ParsedColumn
        The parsed columns, in the order of `raw`.
    """
    columns = {name: pc.utf8_trim_whitespace(raw.column(j)) for j, name in enumerate(parsed)}
    text_columns = {name: columns[name] for name, cells in parsed.items() if cells.values.dtype.kind not in "if"}
    if units := _second_header(text_columns):
        return [units, *_thousands(columns, parsed)]
    sentences = [_text_doubt(name, texts) for name, texts in text_columns.items()]
    return [sentence for sentence in sentences if sentence] + _thousands(columns, parsed)


def _second_header(columns: Mapping[str, pa.ChunkedArray]) -> str:
    """Return a sentence if some columns of texts hold numbers in all rows except the first row."""
    names = [
        name
        for name, texts in columns.items()
        if len(texts) > _FEW_ROWS and not _may_be_number(texts[0].as_py()) and _all(texts.slice(1), _NUMBER_OR_MISSING)
    ]
    if not names:
        return ""
    return (
        f"The first row below the column names has no number in {quoted_names(names)}, and all other rows have one. If "
        "it is a second line of names or units, remove it from the file; until then these columns are read as text."
    )


def _text_doubt(name: str, texts: pa.ChunkedArray) -> str:
    """Return a sentence if a column of texts may hold numbers or dates, or has several spellings of one value."""
    distinct = pc.unique(texts)
    known = distinct.filter(pc.invert(pc.is_in(distinct, pa.array(MISSING_TEXTS + MISSING_NUMBERS, distinct.type))))
    if len(known) > MAX_CATEGORIES and not _may_be_numbers_or_dates(known):
        return ""
    cells = known.to_pylist()
    return _signs_or_marks(name, cells) or _words(name, cells) or _date_formats(name, cells) or _spellings(name, cells)


def _may_be_numbers_or_dates(known: pa.Array) -> bool:
    """Return whether at least the share `MOST` of the texts begin like a number or a date. The test is fast."""
    return bool(pc.mean(pc.match_substring_regex(known, _BEGINS_LIKE_A_NUMBER).cast("uint8")).as_py() >= MOST)


def _signs_or_marks(name: str, cells: Sequence[str]) -> str:
    """Return a sentence if the distinct cells are numbers with signs, or with marks of several formats."""
    signs = sorted({sign for cell in cells if _is_number(cell) for sign in _SIGN.findall(cell)}, key=SIGNS.index)
    if signs and sum(map(_is_number, cells)) >= MOST * len(cells):
        noun = "the sign" if len(signs) == 1 else "the signs"
        return (
            f"{name!r} is read as text: its cells have {' and '.join(signs)} in them. To have numbers, list {noun} in "
            f"the schema or remove {'it' if len(signs) == 1 else 'them'} from the file."
        )
    kinds = [bool(_POINT.fullmatch(cell)) - bool(_COMMA.fullmatch(cell)) or _WHOLE.fullmatch(cell) for cell in cells]
    if all(kinds) and 1 in kinds and -1 in kinds:
        return (
            f"{name!r} is read as text: some cells have a decimal point and some a decimal comma; write the same mark "
            "in all of them to have numbers."
        )
    if len(cells) >= _FEW_ROWS and all(map(_GROUPED.fullmatch, cells)) and not any(map(_CODE.match, cells)):
        return (
            f"{name!r} is read as text: the marks in its numbers cannot be read together, or are unknown between "
            "thousands; write the numbers without marks between thousands."
        )
    return ""


def _words(name: str, cells: Sequence[str]) -> str:
    """Return a sentence if most of the distinct cells are numbers and a few are words."""
    words = [cell for cell in cells if not _is_number(cell)]
    if not words or len(cells) - len(words) < max(MOST * len(cells), _FEW_ROWS) or any(map(_CODE.match, cells)):
        return ""
    return (
        f"{name!r} is read as text, because some of its cells are no numbers: {quoted_names(words)}. To have numbers, "
        "list these words in the schema as missing, or leave the cells empty in the file."
    )


def _date_formats(name: str, cells: Sequence[str]) -> str:
    """Return a sentence if all of the distinct cells are dates, but in several formats."""
    formats = {next((i for i, pattern in enumerate(DATES) if re.match(pattern, cell)), -1) for cell in cells}
    if len(formats) < 2 or -1 in formats:
        return ""
    return f"{name!r} has dates in several formats; write them in one format, or leave the column out."


def _spellings(name: str, cells: Sequence[str]) -> str:
    """Return a sentence if several of the distinct cells differ in capital letters or inner spaces only."""
    by_value: dict[str, list[str]] = {}
    if len(cells) <= MAX_CATEGORIES:
        for cell in cells:
            by_value.setdefault(" ".join(cell.casefold().split()), []).append(cell)
    repeated = [spellings for spellings in by_value.values() if len(spellings) > 1]
    if not repeated:
        return ""
    return (
        f"{name!r} spells a value in several ways, for example {quoted_names(repeated[0])}, and each spelling counts "
        "as another value until the schema lists them as spellings of one value."
    )


def _may_be_number(cell: str) -> bool:
    return not cell or cell in (*MISSING_TEXTS, *MISSING_NUMBERS) or bool(_NUMBER.fullmatch(cell))


def _is_number(cell: str) -> bool:
    """Return whether a cell without its sign is a number. A sign alone is not a number."""
    return bool(_NUMBER.fullmatch(_SIGN.sub("", cell, count=1).strip()))


def _thousands(columns: Mapping[str, pa.ChunkedArray], parsed: Mapping[str, ParsedColumn]) -> list[str]:
    """Return sentences on columns in which three digits follow each mark, so that each mark is ambiguous.

    Such a mark may be a decimal mark or may separate thousands. There is no sentence on a column if a number of this or
    of another column shows the meaning of the mark. The examples in the messages are not cells of the file.
    """
    numbers = [name for name, cells in parsed.items() if cells.values.dtype.kind in "if"]
    by_marks: dict[tuple[str, str], list[str]] = {}
    for name in numbers:
        cells = parsed[name]
        mark = "," if cells.decimal_comma or cells.grouped else "."
        decimal = "." if cells.grouped else mark
        if not (cells.grouped or cells.values.dtype.kind == "f") or not _is_ambiguous(columns[name], mark):
            continue
        if not any(_has_decimal_mark(columns[other], decimal) for other in numbers if other != name):
            by_marks.setdefault((mark, decimal), []).append(name)
    return [_MESSAGES[marks].format(quoted_names(names)) for marks, names in by_marks.items()]


_MESSAGES: Final = {  # keys: the mark in the cells, and the decimal mark with which the cells were read
    (",", "."): "In {} a cell such as 1,234 is read as 1234, with a comma between thousands. If 1.234 is meant, write "
    "decimal points in the file.",
    (",", ","): "In {} a cell such as 1,234 is read as 1.234, with a decimal comma. If 1234 is meant, remove the "
    "commas between thousands from the file.",
    (".", "."): "In {} a cell such as 1.234 is read as a decimal number, a little more than 1. If 1234 is meant, "
    "remove the points between thousands from the file.",
}


def _is_ambiguous(texts: pa.ChunkedArray, mark: str) -> bool:
    """Return whether all cells leave open what the mark is: a decimal mark, or a mark between thousands.

    At least two different numbers must have the mark.
    """
    ambiguous = _AMBIGUOUS.format(mark=re.escape(mark))
    ambiguous_or_short = f"{ambiguous}|{_SHORT}"
    missing = pc.is_in(texts, value_set=pa.array(MISSING_TEXTS + MISSING_NUMBERS, texts.type))
    known = texts.filter(pc.invert(missing))
    if not _all(known.slice(0, _SAMPLE_SIZE), ambiguous_or_short) or not _all(known, ambiguous_or_short):
        return False
    return len(pc.unique(known.filter(pc.match_substring_regex(known, ambiguous)))) > 1


def _has_decimal_mark(texts: pa.ChunkedArray, mark: str) -> bool:
    """Return whether the mark in some cell can only be a decimal mark."""
    matches = pc.match_substring_regex(texts, _DECIMALS.format(mark=re.escape(mark)))
    return bool(pc.any(matches).as_py())


def _all(texts: pa.ChunkedArray, pattern: str) -> bool:
    return bool(pc.all(pc.match_substring_regex(texts, pattern)).as_py())


def quoted_names(names: Sequence[str], most: int = 4) -> str:
    """Return the first `most` names in quotes, and the number of further names."""
    first = ", ".join(repr(name) for name in names[:most])
    return first if len(names) <= most else f"{first} and {len(names) - most:,} more columns"
