"""Read the rows of a CSV file in the format that a domain states, each row and cell independently.

The reader guesses nothing. A *record* is a row of the file; it is *ragged* if it has too few or too many cells. All
cells of a ragged record are missing, and so are numbers and dates that cannot be read. None of these cells raises an
error, because the error would depend on one row. Only the curator (the data holder) may see which cells could not be
read.
"""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pa_csv

from dpforest.limits import MAX_UPLOAD_MB
from dpforest.tables import csv_text
from dpforest.tables.csv_columns import dates_one_by_one, numbers_one_by_one, texts_one_by_one
from dpforest.tables.csv_format import CsvFormat
from dpforest.tables.csv_text import TableError
from dpforest.tables.domain import Domain, DomainError
from dpforest.tables.encoding import quoted
from dpforest.tables.features import plural, text


def read_table(source: Any, domain: Domain) -> pd.DataFrame:
    """Read the columns of a domain, and its label if the file has it, from a CSV file.

    If a row has too few or too many cells, all its cells are missing. In any other row, the value of a cell depends
    only on its text, the domain and the `CsvFormat` of ``domain.reading``. The default format is UTF-8 with commas
    between columns and decimal points. A quoted cell may contain line breaks, so a row may span several lines. Spaces
    around a cell are removed.

    A numeric cell is a number with the stated decimal mark; anything else is missing. Its thousands may be separated:
    by commas if the decimal mark is a point, and by points, spaces or apostrophes if the decimal mark is a comma. A
    categorical cell or a label is compared with the listed texts, as a text and as a number ("1.0" is read as "1"). If
    the cell equals no listed text, it is missing if it is empty or a text such as "NA", and otherwise stays unchanged.

    The reading rules of a `Feature` apply too. A cell with one of its `missing_words` is missing, and so is a cell that
    is no date in the declared format. One of its `signs`, such as "€" or "%", is ignored before or after a number. One
    of its `spellings` becomes the category that this spelling means.

    Parameters
    ----------
    source : bytes, path or binary file
        The file, its path, or its content.
    domain : Domain
        The columns to read, with their kinds and values.

    Returns
    -------
    DataFrame
        Columns of float64 for numeric attributes, and columns of str for categorical attributes, dates, identifiers and
        the label.

    Raises
    ------
    DomainError
        If a column is absent.
    TableError
        If the file cannot be opened, is empty, too large or of another kind (such as an Excel file), has two columns of
        one name, or has a quote that is never closed.

    Examples
    --------
    >>> from dpforest import Domain, Feature
    >>> city = Feature("zone", "categorical", categories=("1", "2"), missing="category")
    >>> read_table(b"zone,ill\\n1.0,yes\\n2,no\\n1,no,?\\n", Domain((city,)))["zone"].tolist()
    ['1', '2', nan]
    """
    data, _ = bytes_of(source)
    csv_text.refuse_other_files(data)
    return read_records(data, domain)[0]


def bytes_of(source: Any) -> tuple[bytes, str]:
    """Return the content and the name of a source: bytes (whose name is empty), a path or a binary file."""
    limit = MAX_UPLOAD_MB * 2**20
    too_large = f"The file is larger than {MAX_UPLOAD_MB:,} MB; take a random sample of its rows."
    if isinstance(source, (str, PathLike)):
        path = Path(source)
        try:
            if path.stat().st_size > limit:
                raise TableError(too_large)
            return path.read_bytes(), path.name
        except OSError as error:
            raise TableError(f"{path} cannot be read ({error.strerror}); check the path.") from None
    data = source if isinstance(source, (bytes, bytearray, memoryview)) else source.read(limit + 1)
    if isinstance(data, str):
        data = data.encode()
    if len(data) > limit:
        raise TableError(too_large)
    return bytes(data), str(getattr(source, "name", ""))


@dataclass
class UnreadCells:
    """The number of ragged rows, and the cells that should be numbers or dates but are not; for the curator only."""

    ragged: int = 0
    cells: dict[str, list[str]] = field(default_factory=dict)  # key: name of a numeric attribute
    dates: dict[str, list[str]] = field(default_factory=dict)  # key: name of a column of dates

    def sentences(self) -> list[str]:
        """Return one sentence for each attribute with unread cells, and one sentence about ragged rows."""
        messages = [
            f"{plural(len(cells), 'cell')} of {name!r} {'is no' if len(cells) == 1 else 'are no'} "
            f"{noun if len(cells) == 1 else noun + 's'} and "
            f"{'counts' if len(cells) == 1 else 'count'} as missing; the first is {cells[0][:40]!r}."
            for noun, columns in (("number", self.cells), ("date", self.dates))
            for name, cells in columns.items()
            if cells
        ]
        if self.ragged:
            has, counts = ("has", "counts") if self.ragged == 1 else ("have", "count")
            predicate = f"{has} too few or too many cells and {counts} as missing in every column"
            messages.append(f"{plural(self.ragged, 'row')} {predicate}.")
        return messages


def read_records(data: bytes, domain: Domain) -> tuple[pd.DataFrame, UnreadCells]:
    """Read the bytes of a file like `read_table`, and also return the cells that could not be read."""
    csv_format = domain.csv_format
    _, content = csv_text.without_stated_delimiter(csv_text.decode_as(data, csv_format.encoding))
    if not content.strip():
        raise TableError("The file is empty; choose one with a line of column names and rows below it.")
    names, _ = csv_text.header(content, csv_format.delimiter)
    columns = _columns_to_read(names, domain)
    if '"' in content:
        csv_text.check_quotes(io.StringIO(content, newline=""), csv_format.delimiter)
    encoded = content.encode()
    records = Records(pa.BufferReader(encoded), csv_format.delimiter, len(names), block_size=len(encoded) + 1)
    places = [str(names.index(name)) for name in columns]
    blocks = [block.select(places) for block in records]
    cells = pa.concat_tables(blocks).rename_columns(columns) if blocks else _empty_table(columns)
    table, unread = typed_cells(cells, domain, csv_format)
    unread.ragged = records.n_ragged
    return table, unread


def read_split(cells: pa.Table, domain: Domain) -> tuple[pd.DataFrame, UnreadCells]:
    """Return the result of `read_records` for a file without ragged records that is already split into cells.

    The caller must have split the file with the encoding and the delimiter that the domain states.

    Parameters
    ----------
    cells : Table
        All cells of the file as texts; columns have their names.
    domain : Domain
        Schema that selects the columns and states how their cells are read.
    """
    return typed_cells(cells.select(_columns_to_read(cells.column_names, domain)), domain, domain.csv_format)


def _columns_to_read(names: Sequence[str], domain: Domain) -> list[str]:
    """Return the columns of a domain, and its label if the file has it."""
    absent = [name for name in domain.columns if name not in names]
    if absent:
        raise DomainError(
            f"The file has no column {quoted(absent)} when it is read as its domain states ({domain.csv_format}); give "
            "it every column of the domain, or a domain with reading=csv.reading."
        )
    return [name for name in (*domain.columns, domain.label) if name in names]


def _empty_table(names: Sequence[str]) -> pa.Table:
    return pa.table({name: pa.array([], pa.string()) for name in names})


class Records:
    """The records below the header of a file, in blocks of text cells. All cells of a ragged record are null.

    Parameters
    ----------
    file : binary file
        UTF-8 text that begins with the header.
    mark : str
        Delimiter.
    n_columns : int
        Number of columns; their names in the blocks are "0", "1", ...
    columns : sequence of str, optional
        Columns to read; by default all.
    block_size : int
        Number of bytes that are split at a time.
    """

    def __init__(
        self, file: Any, mark: str, n_columns: int, columns: Sequence[str] | None = None, *, block_size: int
    ) -> None:
        names = [str(j) for j in range(n_columns)]
        included = names if columns is None else list(columns)
        self._ragged: list[int] = []  # record numbers of the ragged records; the header is record 1
        self._reader = pa_csv.open_csv(
            file,
            # pyarrow numbers the records only without threads. A block from pyarrow never ends inside a record.
            read_options=pa_csv.ReadOptions(column_names=names, block_size=block_size, use_threads=False),
            parse_options=pa_csv.ParseOptions(
                delimiter=mark, newlines_in_values=True, invalid_row_handler=self._note_ragged_row
            ),
            convert_options=pa_csv.ConvertOptions(
                include_columns=included, column_types=dict.fromkeys(included, pa.string()), strings_can_be_null=False
            ),
        )

    def _note_ragged_row(self, row: Any) -> str:
        self._ragged.append(row.number)
        return "skip"

    @property
    def n_ragged(self) -> int:
        """Number of ragged records (with too few or too many cells) among the records that were read so far."""
        return len(self._ragged)

    def __iter__(self) -> Iterator[pa.Table]:
        number, n_inserted = 2, 0  # number of the block's first record; number of ragged records inserted so far
        header = 1
        with self._reader:
            for batch in self._reader:
                block = pa.Table.from_batches([batch.slice(header)])
                header -= min(header, len(batch))
                ragged_places, n = [], len(block)
                while n_inserted < len(self._ragged) and self._ragged[n_inserted] < number + n:
                    ragged_places.append(self._ragged[n_inserted] - number)
                    n_inserted, n = n_inserted + 1, n + 1
                number += n
                yield _with_nulls(block, np.array(ragged_places, np.int64))
            if n_trailing := len(self._ragged) - n_inserted:
                yield self._nulls(n_trailing)

    def _nulls(self, n: int) -> pa.Table:
        return pa.Table.from_arrays([pa.nulls(n, pa.string()) for _ in self._reader.schema], self._reader.schema.names)


def _with_nulls(block: pa.Table, places: np.ndarray) -> pa.Table:
    """Insert records of nulls, at the indices `places` of the returned table."""
    if not len(places):
        return block
    is_null = np.zeros(len(block) + len(places), bool)
    is_null[places] = True
    rows = np.cumsum(~is_null) - 1
    return block.take(pa.array(rows, mask=is_null))


def typed_cells(raw: pa.Table, domain: Domain, csv_format: CsvFormat) -> tuple[pd.DataFrame, UnreadCells]:
    """Return the columns like `read_table`, and the cells that should be numbers or dates but are not."""
    table: dict[str, pd.Series] = {}
    unread = UnreadCells()
    for feature in domain.features:
        name = feature.column
        if name in table:  # another attribute was read from the same column of dates
            continue
        cells, decimal = pc.fill_null(raw.column(name), ""), csv_format.decimal_of(name)
        if feature.date is not None:
            table[name], unread.dates[name] = dates_one_by_one(cells, feature.date.format)
        elif feature.kind == "numeric":
            table[name], unread.cells[name] = numbers_one_by_one(cells, decimal, feature)
        else:
            table[name] = texts_one_by_one(cells, feature.categories, decimal, feature.spellings)
    if domain.unit is not None:
        cells = pc.fill_null(raw.column(domain.unit), "")
        table[domain.unit] = texts_one_by_one(cells, (), csv_format.decimal_of(domain.unit))
    if domain.label in raw.column_names:
        classes = [text(label) for label in domain.classes]
        cells = pc.fill_null(raw.column(domain.label), "")
        decimal = csv_format.decimal_of(domain.label)
        table[domain.label] = texts_one_by_one(cells, classes, decimal, domain.class_spellings)
    return pd.DataFrame(table), unread
