"""Read a CSV file in parts, with the same cells as if the whole file were read at once."""

from __future__ import annotations

import codecs
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import IO, Final

import pandas as pd
import pyarrow as pa

from dpforest.tables import csv_text
from dpforest.tables.csv_format import CsvFormat
from dpforest.tables.csv_rows import Records, typed_cells
from dpforest.tables.csv_text import TableError
from dpforest.tables.domain import Domain, DomainError
from dpforest.tables.encoding import quoted

_BLOCK_BYTES: Final = 2**20  # number of bytes that pyarrow splits into cells at a time; it reads 32 such blocks ahead
_HEADER_CHARACTERS: Final = 2**22  # number of characters from the start of the file that are searched for the header
_LATIN1: Final = "dpforest.latin-1"  # name of the error handler that is registered below

# The five bytes that Windows-1252 leaves undefined are decoded as Latin-1, as in `csv_text.decode_as`.
codecs.register_error(_LATIN1, lambda e: (chr(e.object[e.start]), e.start + 1))  # type: ignore[attr-defined]


def csv_parts(path: Path, domain: Domain, rows: int) -> Iterator[pd.DataFrame]:
    """Return an iterator over tables of the domain's columns and the label, with at most `rows` rows each.

    The call itself checks the header. The rows are read later, while the caller iterates.
    """
    csv_format = domain.csv_format
    with _open_text(path, csv_format) as file:
        start = file.read(_HEADER_CHARACTERS)
    content = csv_text.without_stated_delimiter(start)[1]
    if not content.strip():
        raise TableError("The file is empty; choose one with a line of column names and rows below it.")
    names, _ = csv_text.header(content, csv_format.delimiter)
    check_columns(names, domain, f" when it is read as its domain states ({csv_format})")
    return _parts(path, domain, rows, csv_format, names, len(start) - len(content))


def _parts(
    path: Path, domain: Domain, rows: int, csv_format: CsvFormat, names: list[str], n_skipped: int
) -> Iterator[pd.DataFrame]:
    with _open_text(path, csv_format) as file:
        file.read(n_skipped)
        _check_quotes(file, csv_format.delimiter)
    columns = [*domain.columns, domain.label]
    with _open_text(path, csv_format) as file:
        file.read(n_skipped)
        stream = pa.PythonFile(_Utf8(file), mode="r")
        places = [str(names.index(name)) for name in columns]
        records = Records(stream, csv_format.delimiter, len(names), places, block_size=_BLOCK_BYTES)
        try:
            for cells in _regrouped(records, rows):
                yield typed_cells(cells.rename_columns(columns), domain, csv_format)[0]
        except pa.ArrowInvalid as error:
            raise TableError(f"The file cannot be split into rows and cells ({error}).") from None


def _regrouped(blocks: Iterable[pa.Table], rows: int) -> Iterator[pa.Table]:
    """Yield the rows of all blocks in tables of `rows` rows; the last table may have fewer."""
    pending, n = list[pa.Table](), 0
    for block in blocks:
        pending.append(block)
        n += len(block)
        while n >= rows:
            joined = pa.concat_tables(pending)
            yield joined.slice(0, rows)
            pending, n = [joined.slice(rows)], n - rows
    if n:
        yield pa.concat_tables(pending)


class _Utf8:
    """A text file in the form that pyarrow reads: a file of UTF-8 bytes."""

    closed = False

    def __init__(self, file: IO[str]) -> None:
        self._file, self._rest = file, b""

    def read(self, n: int) -> bytes:
        """Return the next n bytes, or fewer at the end of the file."""
        while len(self._rest) < n and (more := self._file.read(n)):
            self._rest += more.encode()
        data, self._rest = self._rest[:n], self._rest[n:]
        return data

    def close(self) -> None:
        self.closed = True


def _open_text(path: Path, csv_format: CsvFormat) -> IO[str]:
    """Open a file in the encoding that `csv_text.decode_as` uses."""
    csv_text.decode_as(b"", csv_format.encoding)  # raises TableError for an unknown encoding
    if csv_format.encoding == "Latin-1":
        return open(path, encoding="cp1252", errors=_LATIN1, newline="")
    return open(path, encoding=csv_text._CODECS[csv_format.encoding], errors="replace", newline="")


def _check_quotes(file: IO[str], mark: str) -> None:
    """Raise TableError if a quoted cell is never closed. Only a text that contains quotes is parsed."""
    start = file.tell()
    if any('"' in block for block in iter(lambda: file.read(_BLOCK_BYTES), "")):
        file.seek(start)
        csv_text.check_quotes(file, mark)


def check_columns(names: Sequence[str], domain: Domain, reading_clause: str = "") -> None:
    """Raise DomainError unless each name in `Domain.columns`, and the label, is the name of exactly one column."""
    columns = (*domain.columns, domain.label)
    absent = [name for name in columns if name not in names]
    if absent:
        raise DomainError(
            f"The file has no column {quoted(absent)}{reading_clause}; give it every column of the domain."
        )
    repeated = [name for name in columns if names.count(name) > 1]
    if repeated:
        raise DomainError(f"The file has more than one column {quoted(repeated)}; rename one.")
