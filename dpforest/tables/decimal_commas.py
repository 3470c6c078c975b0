"""Decimal commas that `read_csv` misses, because the columns that have them also contain words such as "n.d."."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from dpforest.tables import column_kinds
from dpforest.tables.column_kinds import propose_kind
from dpforest.tables.csv_doubts import quoted_names
from dpforest.tables.csv_table import CsvTable

_NUMBERS: Final = (column_kinds.NUMBER, column_kinds.NUMBER_WITH_WORDS)


def with_decimal_commas(csv: CsvTable) -> CsvTable:
    """Return the file, with a decimal comma in its format if a column of numbers and words has decimal commas.

    The cells of `csv.table` are not read again.

    `read_csv` takes the mark from columns in which every cell is a number. If no comma is a decimal mark there, this
    function also looks at columns of numbers and words. The mark becomes a comma if one of these columns has more
    numbers with a decimal comma than with a decimal point. A file whose columns are separated by commas keeps decimal
    points.

    Examples
    --------
    >>> from dpforest import read_csv
    >>> csv = read_csv(("size;ill\\n" + "1,5;yes\\n2,5;no\\n" * 30 + "n.d.;no\\n").encode())
    >>> csv.decimal, with_decimal_commas(csv).decimal
    ('.', ',')
    """
    if csv.decimal == "," or csv.delimiter == ",":
        return csv
    text_columns = [column.name for column in csv.columns if csv.table[column.name].dtype.kind not in "if"]
    proposals = {name: propose_kind(csv.cells.column(name)) for name in text_columns}
    marks = {name: proposal.decimal for name, proposal in proposals.items() if proposal.kind in _NUMBERS}
    comma_columns = [name for name, mark in marks.items() if mark == ","]
    if not comma_columns:
        return csv
    float_columns = [column.name for column in csv.columns if csv.table[column.name].dtype.kind == "f"]
    point_columns = tuple(
        column.name for column in csv.columns if column.name in float_columns and _has_points(csv, column.name)
    )
    reading = replace(csv.reading, decimal=",", point_columns=point_columns)
    return replace(
        csv, decimal=",", reading=reading, notes=(*csv.notes, f"Decimal commas in {quoted_names(comma_columns)}.")
    )


def _has_points(csv: CsvTable, name: str) -> bool:
    return any("." in cell for cell in csv.cells.column(name).to_pylist())
