"""Codebooks as CSV files: one line for each attribute, with its kind, its bounds or values, and their sources."""

from __future__ import annotations

import csv
import json
import math
import re
from collections import Counter
from dataclasses import dataclass, field
from typing import Any, Final

import pandas as pd

from dpforest.limits import MAX_CATEGORIES, MAX_NOTE
from dpforest.tables.csv_text import DELIMITERS, TableError, decode, records, without_stated_delimiter
from dpforest.tables.csv_values import parsed, written
from dpforest.tables.domain import Domain
from dpforest.tables.features import KINDS, Feature, plural, text
from dpforest.tables.read_parts import MISSING, TYPE, Source, sources

VALUES: Final = "values"  # key for the source of the bounds, categories or classes
COLUMNS: Final = (
    "name",
    "kind",
    "low",
    "high",
    "whole",
    "categories",
    "missing",
    "source",
    "source of type",
    "source of missing",
)
NO_SOURCE: Final = "read from the data"  # source of a part without a public source; ": " and a note may follow
_YES, _NO = ("yes", "true", "1", "x"), ("no", "false", "0")
_RULES: Final = {
    "separate value": "category",
    "own value": "category",  # earlier versions wrote this text
    "own": "category",
    "category": "category",
    "none expected": "refuse",
    "none": "refuse",
    "refuse": "refuse",
}
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")
_COMMA = re.compile(r"[+-]?\d+,\d+")
_THOUSANDS = re.compile(r"[+-]?[1-9]\d{0,2},\d{3}")
_GUARDED_FORMULA = re.compile(r"'+[=+\-@\t\r]")  # a text like a formula, after a writer put an apostrophe before it


@dataclass(frozen=True)
class CodebookEntry:
    """One line of a codebook, which describes an attribute or the label. An empty cell is None.

    Parameters
    ----------
    where : str
        Name of the line in error messages, such as "Line 2".
    missing_value : str or float, optional
        Value that replaces missing cells under the rule "value".
    sources : dict
        Stated source of each part of the attribute. The parts are `VALUES`, `TYPE` and `MISSING`.
    rules : dict, optional
        Reading rules, as parameters of `Feature`. A codebook in a CSV file has no reading rules. Then the field is
        None, and the reading rules of the domain stay.
    """

    where: str
    name: str
    kind: str | None = None
    low: float | None = None
    high: float | None = None
    whole: bool | None = None
    categories: tuple[Any, ...] = ()
    missing: str | None = None
    missing_value: Any = None
    sources: dict[str, Source] = field(default_factory=dict)
    rules: dict[str, Any] | None = None


@dataclass(frozen=True)
class Codebook:
    """The entries of a codebook, a sentence with line and column for each mistake, and columns that were not read."""

    entries: tuple[CodebookEntry, ...]
    mistakes: tuple[str, ...]
    unread: tuple[str, ...]


def read_codebook(data: bytes) -> Codebook:
    """Read a codebook with `COLUMNS` in any order. The column of names and at least one other column are required.

    A text in the column "source" is the source of all parts of the attribute. An empty cell states nothing. For such a
    cell, the code that merges the entry into a domain applies a public rule.

    Raises
    ------
    TableError
        If the file is not a table, or has no column of names.

    Examples
    --------
    >>> book = read_codebook(b"name;kind;low;high;source\\nage;numeric;0;12O;the law on voting\\n")
    >>> book.mistakes
    ("Line 2, column 'high': '12O' is not a number; write one such as 1.5.",)
    """
    _, content = without_stated_delimiter(decode(data)[0])
    mark, header, unread = _header(content)
    entries: list[CodebookEntry] = []
    mistakes: list[str] = []
    line_of_name: dict[str, str] = {}
    try:
        for line, cells in list(records(content, mark))[1:]:
            where = f"Line {line:,}"
            if not any(cell.strip() for cell in cells):
                continue
            if len(cells) != len(header):
                mistakes.append(
                    f"{where} has {plural(len(cells), 'cell')}, but the header has {len(header):,}; put cells that "
                    "contain the delimiter in quotes."
                )
                continue
            row = {name: _without_apostrophe(cell.strip(" ")) for name, cell in zip(header, cells, strict=True)}
            entry, mistakes_of_line = _entry(where, row, mark)
            if entry.name in line_of_name:
                mistakes_of_line.append(
                    f"{where}, column 'name': {entry.name!r} stands in {line_of_name[entry.name]} as well; remove one."
                )
            line_of_name[entry.name] = where.lower()
            mistakes += mistakes_of_line
            entries.append(entry)
    except csv.Error as error:
        raise TableError(f"The codebook cannot be split into cells ({error}); check its quotes.") from None
    if not entries and not mistakes:
        raise TableError("The codebook has no lines below its header; give one for each attribute.")
    return Codebook(tuple(entries), tuple(mistakes), tuple(unread))


def _header(content: str) -> tuple[str, list[str], list[str]]:
    """Return the delimiter that yields the most known column names, all column names, and the unknown names."""
    first = next((line for line in content.splitlines() if line.strip()), "")
    splits = {mark: _names(first, mark) for mark in DELIMITERS}
    mark = max(DELIMITERS, key=lambda mark: len(set(splits[mark]) & set(COLUMNS)))
    header = splits[mark]
    if "name" not in header or len(header) < 2:
        raise TableError(
            "This is no codebook: its first line has to name columns, among them 'name'; the others may be "
            f"{', '.join(repr(name) for name in COLUMNS[1:8])}."
        )
    known_names = [name for name in header if name in COLUMNS]
    if len(set(known_names)) < len(known_names):
        repeated = next(name for i, name in enumerate(known_names) if name in known_names[:i])
        raise TableError(f"Line 1: two columns are called {repeated!r}; rename one.")
    return mark, header, [name for name in header if name not in COLUMNS]


def _names(line: str, mark: str) -> list[str]:
    cells = next(csv.reader([line], delimiter=mark), [])
    return [" ".join(cell.replace("_", " ").split()).casefold() for cell in cells]


def _entry(where: str, row: dict[str, str], mark: str) -> tuple[CodebookEntry, list[str]]:
    """Return the entry of a line, and a sentence about each of its mistakes."""
    mistakes: list[str] = []
    fields: dict[str, Any] = {}
    for column, parse in _PARSERS.items():
        if cell := row.get(column, ""):
            try:
                fields[column] = parse(cell, mark)
            except ValueError as problem:
                mistakes.append(f"{where}, column {column!r}: {problem}")
    name = fields.get("name", "")
    if not name and "name" not in "".join(mistakes):
        mistakes.append(f"{where}, column 'name': it is empty; name the attribute.")
    kind = fields.get("kind")
    numbers = [column for column in ("low", "high", "whole") if row.get(column)]
    if numbers and kind != "numeric" and (kind == "categorical" or row.get("categories")):
        mistakes.append(f"{where}, column {numbers[0]!r}: categories have no such cell; empty it, or the categories.")
    if kind == "numeric" and row.get("categories"):
        mistakes.append(f"{where}, column 'categories': numbers have none; empty the cell, or write categorical.")
    if {"low", "high"} <= set(fields) and not fields["low"] < fields["high"]:
        mistakes.append(f"{where}, column 'low': {row['low']!r} is not below {row['high']!r}, the highest number.")
    missing, value = fields.get("missing", (None, None))
    try:
        source_of_part = _sources(row)
    except ValueError as problem:
        mistakes.append(f"{where}, column 'source': {problem}")
        source_of_part = {}
    return (
        CodebookEntry(
            where,
            name,
            kind,
            fields.get("low"),
            fields.get("high"),
            fields.get("whole"),
            fields.get("categories", ()),
            missing,
            value,
            source_of_part,
        ),
        mistakes,
    )


def _sources(row: dict[str, str]) -> dict[str, Source]:
    """Return the stated sources of a line by part; a text in the column "source" applies to all parts."""
    stated: dict[str, Source] = {}
    if note := _whole_text(row.get("source", "")):
        stated = dict.fromkeys((VALUES, TYPE, MISSING), _source(note))
    for part, column in ((TYPE, "source of type"), (MISSING, "source of missing")):
        if cell := _whole_text(row.get(column, "")):
            stated[part] = _source(cell)
    return stated


def _source(note: str) -> Source:
    if len(note) > MAX_NOTE:
        raise ValueError(f"it has {len(note):,} characters; {MAX_NOTE:,} are the most.")
    if note.casefold() == NO_SOURCE or note.casefold().startswith(f"{NO_SOURCE}:"):
        return "data", note[len(NO_SOURCE) :].removeprefix(":").strip(" ")
    return "asserted", note


def _kind(cell: str, mark: str) -> str:
    if cell.casefold() not in KINDS:
        raise ValueError(f"{cell!r} is not known; write numeric or categorical.")
    return cell.casefold()


def _number(cell: str, mark: str) -> float:
    number = cell
    if mark == ";" and _COMMA.fullmatch(cell):
        if _THOUSANDS.fullmatch(cell):
            raise ValueError(f"{cell!r} may be {cell.replace(',', '')} or {cell.replace(',', '.')}; write which.")
        number = cell.replace(",", ".")
    if not _NUMBER.fullmatch(number) or not math.isfinite(float(number)):
        raise ValueError(f"{cell!r} is not a number; write one such as 1.5.")
    return float(number)


def _is_yes(cell: str, mark: str) -> bool:
    if cell.casefold() not in _YES + _NO:
        raise ValueError(f"{cell!r} is neither yes nor no.")
    return cell.casefold() in _YES


def _values(cell: str, mark: str) -> tuple[str, ...]:
    values = parsed(cell)
    if not values:
        raise ValueError("it lists no values; separate them by ;.")
    if len(set(values)) < len(values):
        repeated, _ = Counter(values).most_common(1)[0]
        raise ValueError(f"{repeated!r} is listed twice; remove one.")
    if len(values) > MAX_CATEGORIES:
        raise ValueError(f"it lists {len(values):,} values; {MAX_CATEGORIES:,} are the most.")
    return values


def _rule(cell: str, mark: str) -> tuple[str, str | None]:
    """Return the rule for missing cells and, for the rule "value", the value that replaces them."""
    if cell.startswith("as ") and len(values := parsed(cell[3:])) == 1:
        return "value", values[0]
    if cell.casefold() not in _RULES:
        raise ValueError(f"{cell!r} is not known; write separate value, none expected, or as and a value.")
    return _RULES[cell.casefold()], None


def _whole_text(cell: str, mark: str = "") -> str:
    """Return the text of a cell or, if the cell is a JSON string, the text that this string encodes."""
    if len(cell) > 1 and cell[0] == cell[-1] == '"':
        try:
            return str(json.loads(cell))
        except ValueError:
            pass
    return cell


_PARSERS: Final = {
    "name": _whole_text,
    "kind": _kind,
    "low": _number,
    "high": _number,
    "whole": _is_yes,
    "categories": _values,
    "missing": _rule,
}


def _without_apostrophe(cell: str) -> str:
    """Remove the apostrophe that keeps a spreadsheet from reading a cell as a formula."""
    return cell[1:] if _GUARDED_FORMULA.match(cell) else cell


# ---------------------------------------------------------------- writing


def codebook(domain: Domain) -> pd.DataFrame:
    """Return the codebook of a domain as a table of texts.

    Whoever writes the table to a file must put an apostrophe before each text that looks like a formula;
    `read_codebook` removes it. The last line describes the label. The codebook omits the format of the file, the source
    of the choice of columns, and the reading rules.

    >>> codebook(Domain((Feature("age", "numeric", 0, 90, source="asserted", source_note="the law on voting"),)))[
    ...     ["name", "low", "high", "source"]].values.tolist()
    [['age', '0', '90', 'the law on voting']]
    """
    rows = [_row(feature) for feature in domain.features]
    if domain.classes:
        source = _source_text((domain.classes_source, domain.classes_note))
        rows.append(_cells(domain.label, "categorical", categories=written(map(text, domain.classes)), source=source))
    return pd.DataFrame(rows, columns=list(COLUMNS), dtype=object)


def _row(feature: Feature) -> list[str]:
    values_source, type_source, missing_source = sources(feature).values()
    fields: dict[str, str] = {"source": _source_text(values_source)}
    for column, part_source in (("source of type", type_source), ("source of missing", missing_source)):
        if part_source != values_source:
            fields[column] = _source_text(part_source) or NO_SOURCE
    if feature.kind == "numeric":
        fields |= {"low": text(feature.low), "high": text(feature.high), "whole": "yes" if feature.integer else "no"}
    else:
        fields["categories"] = written(feature.categories)
    rules = {"category": "separate value", "refuse": "none expected"}
    fields["missing"] = rules.get(feature.missing) or f"as {written([text(feature.missing_value)])}"
    return _cells(feature.name, feature.kind, **fields)


def _cells(name: str, kind: str, **fields: str) -> list[str]:
    row = {"name": _one_cell(name), "kind": kind, **fields}
    return [_with_apostrophe(row.get(column, "")) for column in COLUMNS]


def _source_text(source: Source) -> str:
    kind, note = source
    if kind == "data":
        return _one_cell(f"{NO_SOURCE}: {note}") if note else ""
    return _one_cell(note)


def _one_cell(value: str) -> str:
    """Return a text unchanged, or as a JSON string if a reader of cells could change it."""
    if value and value == value.strip() and value.isprintable() and value[0] != '"':
        return value
    return json.dumps(value, ensure_ascii=not value.isprintable())


def _with_apostrophe(cell: str) -> str:
    """Put an apostrophe before a cell from which `_without_apostrophe` would remove one when the cell is read."""
    return f"'{cell}" if _GUARDED_FORMULA.match(cell) else cell
