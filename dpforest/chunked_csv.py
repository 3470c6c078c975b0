"""A CSV file in parts: decoded, split and read as it streams, to the cells that it has when it is read at once."""

from __future__ import annotations

import codecs
import csv
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO, Final

import pandas as pd
import pyarrow as pa
import pyarrow.csv as pa_csv

from dpforest import csv_text
from dpforest.csv_columns import numbers_one_by_one, texts_one_by_one
from dpforest.csv_text import Settings, TableError
from dpforest.domain import Domain, DomainError
from dpforest.encoding import quoted
from dpforest.features import counted, text

_BLOCK_BYTES: Final = 2**20  # split into cells at a time; pyarrow reads 32 blocks ahead
_HEADER_CHARACTERS: Final = 2**22
_LATIN1: Final = "dpforest.latin-1"

# The five bytes that Windows leaves open are what they are in Latin-1, as in `csv_text.decode_as`.
codecs.register_error(_LATIN1, lambda e: (chr(e.object[e.start]), e.start + 1))  # type: ignore[attr-defined]


def csv_parts(path: Path, domain: Domain, rows: int) -> Iterator[pd.DataFrame]:
    """Tables of attributes and label, at most `rows` rows each. The header is checked now, rows are read later."""
    settings = Settings.stated_in(domain.reading)
    with _text(path, settings) as file:
        start = file.read(_HEADER_CHARACTERS)
    words = csv_text.without_told_delimiter(start)[1]
    if not words.strip():
        raise TableError("The file is empty; choose one with a line of column names and rows below it.")
    names, _ = csv_text.header(words, settings.delimiter)
    check_columns(names, domain, f" when it is read as its domain states ({settings})")
    return _parts(path, domain, rows, settings, names, len(start) - len(words))


def _parts(
    path: Path, domain: Domain, rows: int, settings: Settings, names: list[str], told: int
) -> Iterator[pd.DataFrame]:
    with _text(path, settings) as file:
        file.read(told)
        _check_quotes(file, settings.delimiter)
    with _text(path, settings) as file:
        file.read(told)
        try:
            blocks = _blocks(file, settings.delimiter, names, [*domain.names, domain.label])
            for cells in _of_size(blocks, rows):
                yield _read(cells, domain, settings)
        except pa.ArrowInvalid:
            raise _explained(path, settings, len(names), told) from None


def _read(cells: pa.Table, domain: Domain, settings: Settings) -> pd.DataFrame:
    """Cells as `CsvTable.read_with` reads them."""
    table: dict[str, pd.Series] = {}
    for feature in domain.features:
        column, decimal = cells.column(feature.name), settings.decimal_of(feature.name)
        if feature.kind == "numeric":
            table[feature.name] = numbers_one_by_one(column, decimal)[0]
        else:
            table[feature.name] = texts_one_by_one(column, feature.categories, decimal)
    classes = [text(label) for label in domain.classes]
    decimal = settings.decimal_of(domain.label)
    table[domain.label] = texts_one_by_one(cells.column(domain.label), classes, decimal)
    return pd.DataFrame(table)


def _blocks(file: IO[str], mark: str, names: list[str], wanted: list[str]) -> Iterator[pa.Table]:
    """The rows below the header, in blocks, every cell as text."""
    places = {name: str(j) for j, name in enumerate(names)}
    used = [places[name] for name in wanted]
    reader = pa_csv.open_csv(
        pa.PythonFile(_Utf8(file), mode="r"),
        read_options=pa_csv.ReadOptions(column_names=list(places.values()), block_size=_BLOCK_BYTES),
        parse_options=pa_csv.ParseOptions(delimiter=mark, newlines_in_values=True),
        convert_options=pa_csv.ConvertOptions(
            include_columns=used, column_types=dict.fromkeys(used, pa.string()), strings_can_be_null=False
        ),
    )
    header = 1
    with reader:
        for batch in reader:
            yield pa.Table.from_batches([batch.slice(header)]).rename_columns(wanted)
            header -= min(header, len(batch))


def _of_size(blocks: Iterable[pa.Table], rows: int) -> Iterator[pa.Table]:
    """The same rows in tables of `rows` rows, the last one perhaps with fewer."""
    waiting, n = list[pa.Table](), 0
    for block in blocks:
        waiting.append(block)
        n += len(block)
        while n >= rows:
            whole = pa.concat_tables(waiting)
            yield whole.slice(0, rows)
            waiting, n = [whole.slice(rows)], n - rows
    if n:
        yield pa.concat_tables(waiting)


class _Utf8:
    """An open text file as the bytes that pyarrow reads."""

    closed = False

    def __init__(self, file: IO[str]) -> None:
        self._file, self._rest = file, b""

    def read(self, n: int) -> bytes:
        while len(self._rest) < n and (more := self._file.read(n)):
            self._rest += more.encode()
        data, self._rest = self._rest[:n], self._rest[n:]
        return data

    def close(self) -> None:
        self.closed = True


def _text(path: Path, settings: Settings) -> IO[str]:
    """Open a file as `csv_text.decode_as` decodes it."""
    csv_text.decode_as(b"", settings.encoding)  # complains of an encoding that is not known
    if settings.encoding == "Latin-1":
        return open(path, encoding="cp1252", errors=_LATIN1, newline="")
    return open(path, encoding=csv_text._CODECS[settings.encoding], errors="replace", newline="")


def _check_quotes(file: IO[str], mark: str) -> None:
    start = file.tell()
    if any('"' in block for block in iter(lambda: file.read(_BLOCK_BYTES), "")):
        file.seek(start)
        csv_text.check_quotes(file, mark)


def _explained(path: Path, settings: Settings, n_columns: int, told: int) -> TableError:
    """Why a file cannot be split into rows of so many cells: the line, and what is wrong there."""
    with _text(path, settings) as file, suppress(csv.Error):
        file.read(told)
        reader = csv.reader(file, delimiter=settings.delimiter)
        for cells in reader:
            if cells and len(cells) != n_columns:
                return TableError(
                    f"Line {reader.line_num:,} has {counted(len(cells), 'cell')}, but the header has {n_columns:,}; "
                    "correct the line, or put cells that contain the delimiter in quotes."
                )
    return TableError("The file cannot be split into rows and cells; check its quotes and delimiters.")


def check_columns(names: Sequence[str], domain: Domain, how: str = "") -> None:
    """Raise DomainError unless every attribute and the label is a column, and once."""
    wanted = (*domain.names, domain.label)
    absent = [name for name in wanted if name not in names]
    if absent:
        raise DomainError(f"The file has no column {quoted(absent)}{how}; give it every column of the domain.")
    twice = [name for name in wanted if names.count(name) > 1]
    if twice:
        raise DomainError(f"The file has more than one column {quoted(twice)}; rename one.")
