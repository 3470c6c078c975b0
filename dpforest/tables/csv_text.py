"""Decode the bytes of a CSV file, and detect its encoding, its delimiter and its column names."""

from __future__ import annotations

import codecs
import csv
import io
import re
from collections.abc import Iterable, Iterator
from itertools import chain

from dpforest.limits import MAX_UPLOAD_MB
from dpforest.tables.features import plural

DELIMITERS = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "bars"}
_SAMPLE_ROWS = 200  # largest number of rows from which `delimiter` chooses
_SAMPLE_CHARACTERS = 1 << 17
csv.field_size_limit(MAX_UPLOAD_MB * 2**20)  # an error at the default limit would reveal a row
_CONTROL = bytes(set(range(32)) - {9, 10, 11, 12, 13})
_NOT_CSV = {
    b"PK\x03\x04": "an Excel or ZIP file; open it and save the table as CSV",
    b"\xd0\xcf\x11\xe0": "an old Excel file; open it and save the table as CSV",
    b"\x1f\x8b": "a gzip archive; unpack it first",
    b"PAR1": "a Parquet file; save the table as CSV",
    b"%PDF": "a PDF; save the table as CSV",
}
_BOMS = (
    (codecs.BOM_UTF8, "utf-8-sig", "UTF-8 with byte order mark"),
    # UTF-32 comes before UTF-16, because its mark begins with the mark of UTF-16.
    (codecs.BOM_UTF32_LE, "utf-32", "UTF-32"),
    (codecs.BOM_UTF16_LE, "utf-16", "UTF-16"),
    (codecs.BOM_UTF16_BE, "utf-16", "UTF-16"),
)
_CODECS = {
    "UTF-8": "utf-8-sig",
    "UTF-8 with byte order mark": "utf-8-sig",
    "UTF-16": "utf-16",
    "UTF-16-LE": "utf-16-le",
    "UTF-16-BE": "utf-16-be",
    "UTF-32": "utf-32",
}
# The characters of Windows-1252, which extends Latin-1. The five bytes that Windows-1252 leaves undefined are decoded
# as Latin-1.
_LATIN1 = "".join(bytes([b]).decode("cp1252", "ignore") or chr(b) for b in range(256))


class TableError(ValueError):
    """Raised for an unusable file or choice of columns; the message states the problem and a remedy."""


def decode(data: bytes) -> tuple[str, str]:
    """Return the text of a file, and the name of its encoding.

    If the file begins with a byte order mark, this mark determines the encoding. Otherwise, the encoding is UTF-16 if
    many bytes are zero, all of them at even or all of them at odd positions. Otherwise, it is UTF-8 if most characters
    beyond ASCII are valid in UTF-8. Otherwise, it is Windows-1252, the extension of Latin-1 that spreadsheets write.
    """
    refuse_other_files(data)
    for bom, codec, name in _BOMS:
        if data.startswith(bom):
            return _decode(data, codec), name
    zeros = data.count(0)
    if zeros:
        for offset, name in ((1, "UTF-16-LE"), (0, "UTF-16-BE")):
            if data[offset::2].count(0) == zeros and zeros > len(data) // 4:
                return _decode(data, name), name
    if zeros or len(data) - len(data.translate(None, _CONTROL)) > len(data) // 1000:
        raise TableError("This is not a text file; save the table as CSV and try again.")
    try:
        return data.decode("utf-8"), "UTF-8"
    except UnicodeDecodeError:
        text = data.decode("utf-8", "replace")
        beyond_ascii = len(text) - len(text.encode("ascii", "ignore"))
        name = "UTF-8" if beyond_ascii > 2 * text.count("\ufffd") else "Latin-1"
        return decode_as(data, name), name


def refuse_other_files(data: bytes) -> None:
    """Raise TableError if the first bytes are those of a ZIP archive, a Parquet file, a PDF or a similar format."""
    for start, description in _NOT_CSV.items():
        if data.startswith(start):
            raise TableError(f"This is {description}.")


def decode_as(data: bytes, encoding: str) -> str:
    """Return the text of a file of a known encoding. Invalid bytes become U+FFFD, and affect no other cell."""
    if encoding == "Latin-1":
        return codecs.charmap_decode(data, "strict", _LATIN1)[0]
    try:
        return data.decode(_CODECS[encoding], "replace")
    except KeyError:
        raise TableError(f"The encoding {encoding!r} is not known; use {', '.join(_CODECS)} or Latin-1.") from None


def _decode(data: bytes, codec: str) -> str:
    try:
        return data.decode(codec)
    except UnicodeDecodeError:
        raise TableError(f"The file says it is {codec[:6].upper()} but cannot be read so; save it as UTF-8.") from None


def without_stated_delimiter(text: str) -> tuple[str, str]:
    """Return the delimiter of a first line such as ``sep=;`` (or ""), and the text below this line."""
    match = re.match(r'"?sep=(.)"?\r?\n', text)
    return (match[1], text[match.end() :]) if match else ("", text)


def delimiter(text: str) -> tuple[str, str]:
    """Return the delimiter, and the text without a first line ``sep=;``.

    If no first line states the delimiter, the function chooses the one with which the most sampled rows have as many
    cells as the header. In case of a tie, it chooses the one with which the header has the most cells.
    """
    stated, text = without_stated_delimiter(text)
    if stated and (not stated.isascii() or stated.isalnum() or stated == '"'):
        raise TableError(
            f"The first line says that {stated!r} separates columns, but it cannot be a delimiter; write one of , ; | "
            "or a tab there, or remove the line."
        )
    if stated:
        return stated, text
    scores = {mark: _score(text, mark) for mark in DELIMITERS}
    best = max(DELIMITERS, key=lambda mark: scores[mark])
    if scores[best] == (0.0, 0):
        raise TableError(
            "Only one column was found; put commas, semicolons, tabs or bars between the columns, "
            "and give at least one column besides the label."
        )
    return best, text


def _score(text: str, mark: str) -> tuple[float, int]:
    """Return the share of sampled rows with as many cells as the header, and the number of cells of the header.

    Return (0, 0) if the header has only one cell, or if the text cannot be split.
    """
    sizes = []
    try:
        for _, cells in records(text[:_SAMPLE_CHARACTERS], mark):
            sizes.append(len(cells))
            if len(sizes) == _SAMPLE_ROWS:
                break
        else:
            if len(text) > _SAMPLE_CHARACTERS and len(sizes) > 2:
                sizes.pop()  # the last sampled row is cut off
    except csv.Error:
        return 0.0, 0
    if not sizes or sizes[0] == 1:
        return 0.0, 0
    rows = sizes[1:]
    return (sum(size == sizes[0] for size in rows) / len(rows) if rows else 1.0), sizes[0]


def records(text: str, mark: str) -> Iterator[tuple[int, list[str]]]:
    """Yield (number of the last line, cells) for each record that is not an empty line."""
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=mark)
    for cells in reader:
        if cells:
            yield reader.line_num, cells


def header(text: str, mark: str) -> tuple[list[str], list[str]]:
    """Return the column names, and notes for the user about these names. Two equal names raise a TableError.

    A column without a name gets a name from its position, such as "column 3".
    """
    try:
        _, names = next(records(text, mark))
    except csv.Error:
        raise TableError("The first line cannot be split into column names; check its quotes.") from None
    names = [" ".join(name.split()) for name in names]
    notes = []
    unnamed = [place for place, name in enumerate(names, start=1) if not name]
    for place in unnamed:
        names[place - 1] = f"column {place}"
    if unnamed:
        places = ", ".join(str(place) for place in unnamed[:5]) + (" and others" if len(unnamed) > 5 else "")
        notes.append(f"No name above column {places}: called by {'its' if len(unnamed) == 1 else 'their'} place.")
    if len(set(names)) < len(names):
        repeated = next(name for i, name in enumerate(names) if name in names[:i])
        hint = " (does the file lack a line of column names?)" if _is_number(repeated) else ""
        raise TableError(f"Two columns are called {repeated!r}; rename one{hint}.")
    if any(_is_number(name) and not name.isdigit() for name in names):
        notes.append("The first line was read as column names although it looks like values.")
    return names, notes


def _is_number(name: str) -> bool:
    return re.fullmatch(r"[+-]?\d+([.,]\d+)?", name) is not None


def explain(text: str, mark: str, n_columns: int) -> TableError:
    """Return an error about a file. The message names the first line that does not have `n_columns` cells."""
    try:
        for line, cells in records(text, mark):
            if len(cells) != n_columns:
                return TableError(
                    f"Line {line:,} has {plural(len(cells), 'cell')}, but the header has {n_columns:,}; "
                    "correct the line, or put cells that contain the delimiter in quotes."
                )
    except csv.Error as error:
        return TableError(f"The file cannot be split into cells ({error}); check its quotes.")
    return TableError("The file cannot be split into rows and cells; check its quotes and delimiters.")


def check_quotes(lines: Iterable[str], mark: str) -> None:
    """Raise TableError if a quoted cell is never closed, because it would contain all rows below it.

    The function appends one line to the text. If the reader does not return this line as a separate record, a quote is
    still open.
    """
    end = "the end"
    previous_line, line, is_closed = 0, 0, False
    reader = csv.reader(chain(lines, ["\n", end]), delimiter=mark)
    try:
        for cells in reader:
            previous_line, line, is_closed = line, reader.line_num, cells == [end]
    except csv.Error as error:
        raise TableError(
            f"The row below line {line:,} cannot be split into cells ({error}); check its quotes."
        ) from None
    if not is_closed:
        raise TableError(f'A quote (") is opened after line {previous_line:,} and never closed; close or remove it.')
