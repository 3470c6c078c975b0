"""Read a Parquet or CSV file in parts; no cell's value depends on another row or on the size of the file.

The domain states how a cell is read, before the first row is read. In a Parquet file, the column types in the file's
schema matter too. These types are public, like the names of the columns.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any, Final

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from dpforest.checks import check_count
from dpforest.tables import csv_text
from dpforest.tables.chunked_csv import check_columns, csv_parts
from dpforest.tables.csv_text import TableError
from dpforest.tables.domain import Domain, DomainError
from dpforest.tables.features import Feature, text


def read_chunks(
    path: str | PathLike[str], domain: Domain, *, rows: int = 100_000
) -> Iterable[tuple[pd.DataFrame, pd.Series]]:
    """Read the attributes and the label of a file in parts, for `fit_chunks`.

    Each loop over the result reads the file again. The index of a part holds the numbers of its rows in the whole file.
    The cells of a CSV file equal those of ``read_csv(path).read_with(domain)``. The column types of a Parquet file must
    have been chosen without looking at the rows. Texts of a Parquet file are read unchanged.

    Parameters
    ----------
    path : path
        Path of the file. A file with the first bytes of a Parquet file is read as Parquet. Any other file is read as
        CSV in the format that ``domain.reading`` states.
    domain : Domain
        Schema with classes and the name of the label.
    rows : int
        Largest number of rows in one part.

    Returns
    -------
    iterable of (X, y)
        X is a DataFrame. A numeric attribute has a float64 column (str if a Parquet file has texts). Categorical
        attributes, dates and the unit have str columns. y holds the labels as str. Only one part is in memory at a
        time.

    Raises
    ------
    ValueError
        If the domain has no classes or no label, or `rows` is out of range.
    TableError
        If the file or, later, one of its rows cannot be read.
    DomainError
        If a column is absent, or holds neither numbers nor texts.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from dpforest import Domain, Feature
    >>> domain = Domain((Feature("size", "numeric", 0, 9),), ("no", "yes"), "ill")
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder, "patients.csv")
    ...     _ = path.write_text("ill,size\\nyes,1\\nno,2\\nno,4\\n")
    ...     [(X["size"].tolist(), y.tolist()) for X, y in read_chunks(path, domain, rows=2)]
    [([1.0, 2.0], ['yes', 'no']), ([4.0], ['no'])]
    """
    if not domain.label or not domain.classes:
        raise ValueError("The domain does not say what the label is; give Domain(..., classes=..., label=...).")
    check_count("rows", rows, 1, 2**31)
    path = Path(path)
    try:
        with open(path, "rb") as file:
            start = file.read(8)
    except OSError as error:
        raise TableError(f"{path} cannot be read ({error.strerror}); check the path.") from None
    is_parquet = start.startswith(b"PAR1")
    if not is_parquet:
        csv_text.refuse_other_files(start)
    parts = _parquet if is_parquet else csv_parts
    parts(path, domain, rows)  # raises an error now if the file is no table or lacks columns
    return _FileChunks(path, domain, rows, parts)


@dataclass(frozen=True)
class _FileChunks:
    path: Path
    domain: Domain
    rows: int
    parts: Callable[[Path, Domain, int], Iterator[pd.DataFrame]]

    def __iter__(self) -> Iterator[tuple[pd.DataFrame, pd.Series]]:
        return _numbered(self.parts(self.path, self.domain, self.rows), self.domain)


def _numbered(tables: Iterator[pd.DataFrame], domain: Domain) -> Iterator[tuple[pd.DataFrame, pd.Series]]:
    n = 0
    for table in tables:
        table.index = pd.RangeIndex(n, n + len(table))
        n += len(table)
        yield table[list(domain.columns)], table[domain.label]


def _parquet(path: Path, domain: Domain, rows: int) -> Iterator[pd.DataFrame]:
    """Return an iterator over tables of a Parquet file, like `csv_parts` for a CSV file."""
    try:
        file = pq.ParquetFile(path)
    except pa.ArrowInvalid as error:
        raise TableError(f"{path} begins like a Parquet file but cannot be read ({error}).") from None
    check_columns(file.schema_arrow.names, domain)
    return _parquet_parts(file, domain, rows)


def _parquet_parts(file: pq.ParquetFile, domain: Domain, rows: int) -> Iterator[pd.DataFrame]:
    with file:
        try:
            for batch in file.iter_batches(rows, columns=[*domain.columns, domain.label]):
                table = {f.column: _typed_column(f.column, batch.column(f.column), f) for f in domain.features}
                for name in (*domain.columns[len(domain.source_columns) :], domain.label):
                    table[name] = _typed_column(name, batch.column(name))
                yield pd.DataFrame(table)
        except (pa.ArrowException, OSError) as error:
            raise TableError(f"The Parquet file is damaged ({error}); write it anew.") from None


def _typed_column(name: str, cells: pa.Array, feature: Feature | None = None) -> Any:
    """Return cells of a Parquet column as floats or texts. The choice depends only on the type of the column."""
    if pa.types.is_dictionary(cells.type):
        cells = cells.dictionary_decode()
    if feature is not None and feature.date is not None and pa.types.is_temporal(cells.type):
        cells = cells.cast(pa.string())
    is_text = pa.types.is_string(cells.type) or pa.types.is_large_string(cells.type)
    if not is_text and not any(is_of_type(cells.type) for is_of_type in _SUPPORTED_TYPES):
        raise DomainError(f"{name!r} holds {cells.type}; turn it into numbers or texts, or leave it out.")
    if feature is not None and feature.kind == "numeric" and feature.date is None and not is_text:
        return cells.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False)
    cells = (_utf8(cells) if is_text else cells).dictionary_encode()
    # The values stay float32 if they are float32, because float32 0.1 has a longer text as a float64.
    values = cells.dictionary.to_numpy(zero_copy_only=False)
    texts = pa.array([None if value != value else text(value) for value in values], pa.string())
    return texts.take(cells.indices).to_pandas().astype("str")


def _utf8(cells: pa.Array) -> pa.Array:
    """Return texts with U+FFFD in place of invalid bytes, which affect no other cell."""
    try:
        cells.validate(full=True)
        return cells
    except pa.ArrowInvalid:
        raw = cells.cast(pa.large_binary()).to_pylist()
        return pa.array([None if cell is None else cell.decode("utf-8", "replace") for cell in raw], pa.string())


_SUPPORTED_TYPES: Final = (
    pa.types.is_integer,
    pa.types.is_floating,
    pa.types.is_boolean,
    pa.types.is_decimal128,
    pa.types.is_decimal256,
    pa.types.is_null,
)
