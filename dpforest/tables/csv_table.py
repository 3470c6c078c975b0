"""Read a CSV file of unknown format, report the detected format, and suggest a label and a schema."""

from __future__ import annotations

import io
import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pa_csv

from dpforest.limits import MAX_CLASSES, MIN_CLASSES, MIN_ROWS
from dpforest.tables import csv_text
from dpforest.tables.csv_columns import Column, is_whole, read_cells, suggest
from dpforest.tables.csv_doubts import doubts, quoted_names
from dpforest.tables.csv_format import CsvFormat
from dpforest.tables.csv_rows import UnreadCells, bytes_of, read_records, read_split
from dpforest.tables.csv_text import DELIMITERS, TableError
from dpforest.tables.domain import Domain
from dpforest.tables.features import plural

_LABEL_NAME = re.compile(r"^(class|label|target|outcome|y|response|diagnosis|result|type|category|species)$", re.I)


@dataclass(frozen=True)
class CsvTable:
    """A CSV file with all its rows.

    Attributes
    ----------
    name : str
        Name of the file.
    table : DataFrame
        Likely values of the cells, for display and for suggesting a domain, in columns of int64, float64 or str;
        missing cells are NaN. The type of a column depends on all of its cells, so do not fit on this table, but on the
        result of `read_with`.
    n_rows : int
        Number of rows below the header.
    delimiter, encoding, decimal : str
        Detected delimiter, encoding and decimal mark.
    reading : CsvFormat
        Likely format of the file, for `Domain.reading`.
    notes : tuple of str
        Sentences for users about the detected format.
    columns : tuple of Column
        The columns with their suggested kinds.
    """

    name: str
    table: pd.DataFrame
    n_rows: int
    delimiter: str
    encoding: str
    decimal: str
    notes: tuple[str, ...]
    columns: tuple[Column, ...]
    reading: CsvFormat
    data: bytes = field(repr=False, compare=False)  # content of the file, for `read_with`
    cells: pa.Table = field(repr=False, compare=False)  # all columns as texts, for `read_with`

    def read_with(self, domain: Domain) -> pd.DataFrame:
        """Return the columns of a domain, and its label if the file has it, as `read_table` reads them.

        Examples
        --------
        >>> from dpforest import Domain, Feature
        >>> city = Feature("zone", "categorical", categories=("1", "2"), missing="category")
        >>> csv = read_csv(b"zone,ill\\n1.0,yes\\n2.0,no\\nx,no\\n")
        >>> csv.table["zone"].tolist(), csv.read_with(Domain((city,)))["zone"].tolist()
        (['1.0', '2.0', 'x'], ['1', '2', 'x'])
        """
        return self._read(domain)[0]

    def unread(self, domain: Domain) -> list[str]:
        """Return sentences on the cells that `read_with` could not read, for the curator (the data holder) only."""
        return self._read(domain)[1].sentences()

    def read_and_unread(self, domain: Domain) -> tuple[pd.DataFrame, list[str]]:
        """Return the results of `read_with` and `unread`, from a single reading."""
        table, unread = self._read(domain)
        return table, unread.sentences()

    def _read(self, domain: Domain) -> tuple[pd.DataFrame, UnreadCells]:
        """Return the result of `read_records`. Split the file again only for another encoding or delimiter."""
        stated = domain.csv_format
        if (stated.encoding, stated.delimiter) == (self.reading.encoding, self.reading.delimiter):
            return read_split(self.cells, domain)
        return read_records(self.data, domain)

    def without(self, names: Collection[str]) -> CsvTable:
        """Return the same file without some columns."""
        kept = tuple(column for column in self.columns if column.name not in names)
        return replace(self, table=self.table.drop(columns=list(names)), columns=kept)

    def column(self, name: str) -> Column:
        """Return the column of this name."""
        for column in self.columns:
            if column.name == name:
                return column
        raise TableError(f"There is no column {name!r}; choose one of {', '.join(c.name for c in self.columns[:10])}.")


def read_csv(source: Any, *, name: str = "") -> CsvTable:
    """Read a CSV file: detect its delimiter, encoding, decimal commas, missing cells and kinds of columns.

    Use the result only to suggest a domain, because it depends on all rows. Then fit on the result of `read_table` or
    of ``read_csv(...).read_with(domain)``, which read each cell independently.

    Parameters
    ----------
    source : bytes, path or binary file
        The file, its path, or its content: UTF-8, UTF-16, UTF-32 or Latin-1 text.
    name : str, optional
        Name of the table; by default the name of the file.

    Returns
    -------
    CsvTable
        The cells as texts, with the detected format and kinds of columns.

    Raises
    ------
    TableError
        If the file cannot be opened, is empty, too large or not text, or has fewer than two rows, rows with too few or
        too many cells, or two columns of one name.

    Examples
    --------
    >>> csv = read_csv(b"size;city;ill\\n1,5;Bonn;yes\\n2,5;?;no\\n")
    >>> csv.table["size"].tolist(), csv.notes[0]
    ([1.5, 2.5], 'Semicolons between columns, UTF-8, 2 rows and 3 columns.')
    """
    data, file_name = bytes_of(source)
    content, encoding = csv_text.decode(data)
    if not content.strip():
        raise TableError("The file is empty; choose one with a line of column names and rows below it.")
    mark, content = csv_text.delimiter(content)
    names, notes = csv_text.header(content, mark)
    raw = _split(content, mark, len(names))
    _refuse_second_header(raw, content, mark)
    if raw.num_rows < MIN_ROWS:
        amount = "no rows" if not raw.num_rows else "one row"
        raise TableError(f"The file has {amount} below its header; give at least {MIN_ROWS} rows.")
    parsed = {column: read_cells(raw.column(j), mark == ";") for j, column in enumerate(names)}
    table = pd.DataFrame({column: cells.values for column, cells in parsed.items()})
    decimal_commas = [column for column, cells in parsed.items() if cells.decimal_comma]
    columns = tuple(suggest(column, table[column]) for column in names)
    decimal = "," if decimal_commas else "."
    points = tuple(column for column, cells in parsed.items() if cells.has_points) if decimal_commas else ()
    csv_format = CsvFormat(encoding.removesuffix(" with byte order mark"), mark, decimal, points)
    summary = (
        f"{DELIMITERS.get(mark, repr(mark)).capitalize()} between columns, {encoding}, "
        f"{len(table):,} rows and {len(names):,} columns."
    )
    return CsvTable(
        name or file_name,
        table,
        len(table),
        mark,
        encoding,
        decimal,
        (
            summary,
            *notes,
            *_line_break_note(content, len(table)),
            *_unreadable_note(content),
            *_parsing_notes(parsed),
            *doubts(raw, parsed),
        ),
        columns,
        csv_format,
        data,
        raw.rename_columns(names),
    )


def _split(content: str, mark: str, n_columns: int) -> pa.Table:
    """Return the rows below the header, each cell as text."""
    if '"' in content:
        csv_text.check_quotes(io.StringIO(content, newline=""), mark)
    data = content.encode()
    places = [str(j) for j in range(n_columns)]
    try:
        raw = pa_csv.read_csv(
            pa.BufferReader(data),
            # The file is a single block, because pyarrow fails on a row that crosses blocks.
            read_options=pa_csv.ReadOptions(column_names=places, block_size=len(data) + 1),
            parse_options=pa_csv.ParseOptions(delimiter=mark, newlines_in_values=True),
            convert_options=pa_csv.ConvertOptions(
                column_types=dict.fromkeys(places, pa.string()), strings_can_be_null=False
            ),
        )
    except pa.ArrowInvalid:
        raise csv_text.explain(content, mark, n_columns) from None
    return raw.slice(1)


def _refuse_second_header(raw: pa.Table, content: str, mark: str) -> None:
    """Raise TableError if a row repeats the line of column names, as in a file that was joined from several files."""
    _, names = next(csv_text.records(content, mark))
    if all(name.strip() == "" or re.fullmatch(r"[\d.,]+", name.strip()) for name in names):
        return  # the first line holds values instead of names, and two rows of values may be equal
    is_repeated = pc.equal(raw.column(0), names[0])
    for j in range(1, len(names)):
        if not pc.any(is_repeated).as_py():
            return
        is_repeated = pc.and_(is_repeated, pc.equal(raw.column(j), names[j]))
    if pc.any(is_repeated).as_py():
        row = pc.index(is_repeated, True).as_py() + 1
        raise TableError(f"Row {row:,} below the column names repeats the column names; remove it from the file.")


def _unreadable_note(content: str) -> list[str]:
    """Return a sentence about characters that could not be decoded, if there are any."""
    n = content.count("\ufffd")
    return [f"{plural(n, 'character')} that could not be read, shown as \ufffd."] if n else []


def _line_break_note(content: str, n_rows: int) -> list[str]:
    """Return a sentence about line breaks that do not end a row, if there are any."""
    n = content.strip("\r\n").count("\n") - n_rows
    return [f"{plural(n, 'line break')} inside quoted cells or before empty lines."] if n > 0 else []


def _parsing_notes(parsed: dict[str, Any]) -> list[str]:
    """Return sentences about decimal commas, marks between thousands, spaces and missing cells."""
    notes = []
    for noun, attribute in (
        ("Decimal commas", "decimal_comma"),
        ("Commas between thousands", "grouped"),
        ("Spaces around cells removed", "trimmed"),
    ):
        columns = [column for column, cells in parsed.items() if getattr(cells, attribute)]
        if columns:
            notes.append(f"{noun} in {quoted_names(columns)}.")
    columns_of_token: dict[str, list[str]] = {}
    for column, cells in parsed.items():
        for token in cells.missing:
            columns_of_token.setdefault(token, []).append(column)
    for token, columns in columns_of_token.items():
        subject = f"{token!r} is" if token else "Empty cells are"
        notes.append(f"{subject} read as missing in {quoted_names(columns)}.")
    return notes


def label_candidates(csv: CsvTable) -> list[str]:
    """Return the columns that can be the label, best first: columns of texts or whole numbers with 2 to 50 values.

    Columns with a typical name of a label come first, then the last column, the first column, and all other columns
    from right to left. Columns with missing cells come after all columns without missing cells, because a fit omits
    rows without a label. Columns with a different value in every row come last, because they identify rows.
    """
    usable = [
        column
        for column in csv.columns
        if (column.use and MIN_CLASSES <= column.n_distinct <= MAX_CLASSES)
        and (column.kind == "categorical" or is_whole(csv.table[column.name].dropna()))
    ]
    index = {column.name: j for j, column in enumerate(csv.columns)}
    last = len(csv.columns) - 1

    def rank(column: Column) -> tuple[bool, ...]:
        j, n_known = index[column.name], csv.n_rows - column.n_missing
        identifies_rows, has_label_name = column.n_distinct == n_known, _LABEL_NAME.match(column.name)
        return identifies_rows, column.n_missing > 0, not has_label_name, j != last, j != 0

    return [column.name for column in sorted(reversed(usable), key=rank)]


def passed_over(csv: CsvTable) -> list[str]:
    """Return a sentence for each column that cannot be the label although its position or name suggests it.

    >>> passed_over(read_csv(b"size,price\\n" + b"".join(b"%d,%d\\n" % (i % 9, i * i) for i in range(60))))
    ["'price' has 60 different values, and a label has at most 50; put them into classes in the file to predict it."]
    """
    candidates = label_candidates(csv)
    refused = [
        c for c in csv.columns if c.name not in candidates and (c is csv.columns[-1] or _LABEL_NAME.match(c.name))
    ]
    sentences = []
    for column in refused:
        if column.kind in ("date", "empty", "constant"):
            content = {"date": "dates or times", "empty": "no values", "constant": "one value only"}[column.kind]
            sentences.append(f"{column.name!r} has {content}, so it cannot be the label.")
        elif column.n_distinct > MAX_CLASSES:
            sentences.append(
                f"{column.name!r} has {column.n_distinct:,} different values, and a label has at most {MAX_CLASSES}; "
                "put them into classes in the file to predict it."
            )
        elif column.n_distinct >= MIN_CLASSES:
            sentences.append(
                f"{column.name!r} has numbers that are not whole; write its classes as texts or whole numbers to "
                "predict it."
            )
        else:
            sentences.append(f"{column.name!r} has one value only, so it cannot be the label.")
    return sentences


def suggest_label(csv: CsvTable) -> str | None:
    """Return the likeliest label, or None if no column can be the label (`label_candidates`)."""
    return next(iter(label_candidates(csv)), None)


def suggest_domain(csv: CsvTable, label: str, features: Sequence[str] | None = None) -> Domain:
    """Read a schema for `CsvTable.read_with` from the data; each part is a leak until somebody states its source.

    Parameters
    ----------
    csv : CsvTable
        File from which the schema is read.
    label : str
        Name of the label column.
    features : sequence of str, optional
        Columns to use as attributes; by default all columns except the label and columns of ids, of dates, with a
        constant value or without values.

    Returns
    -------
    Domain
        Schema whose bounds, categories, classes and format count as read from the data.

    Raises
    ------
    TableError
        If a column does not exist, the label does not have 2 to 50 classes, or there is no attribute.
    DomainError
        If an attribute cannot be used, for example because it has more than 1,000 categories.
    """
    label_column = csv.column(label)
    if not MIN_CLASSES <= label_column.n_distinct <= MAX_CLASSES:
        amount = "only one class" if label_column.n_distinct == 1 else f"{label_column.n_distinct:,} different values"
        raise TableError(f"The label {label!r} has {amount}; choose one with {MIN_CLASSES} to {MAX_CLASSES} classes.")
    is_chosen_from_data = features is None
    if features is None:
        features = [column.name for column in csv.columns if column.use and column.name != label]
    else:
        features = [csv.column(name).name for name in features if name != label]
    if not features:
        raise TableError("No attribute is left to predict from; choose at least one column besides the label.")
    domain = Domain.infer(csv.table[list(features)], csv.table[label], label)
    return replace(
        domain, reading=csv.reading, reading_source="data", columns_source="data" if is_chosen_from_data else ""
    )
