"""Decimal commas of an upload whose number columns all contain words, such as "n.d."."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from dpforest.tables import column_kinds
from dpforest.tables.column_kinds import propose_kind
from dpforest.tables.csv_doubts import some
from dpforest.tables.csv_table import CsvTable

_NUMBERS: Final = (column_kinds.NUMBER, column_kinds.NUMBER_WITH_WORDS)


def with_decimal_commas(csv: CsvTable) -> CsvTable:
    """Return the file with the decimal mark of its number columns.

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
    texts = [column.name for column in csv.columns if csv.table[column.name].dtype.kind not in "if"]
    proposals = {name: propose_kind(csv.cells.column(name)) for name in texts}
    marks = {name: proposal.decimal for name, proposal in proposals.items() if proposal.kind in _NUMBERS}
    commas = [name for name, mark in marks.items() if mark == ","]
    if not commas:
        return csv
    fractions = [column.name for column in csv.columns if csv.table[column.name].dtype.kind == "f"]
    points = tuple(column.name for column in csv.columns if column.name in fractions and _has_points(csv, column.name))
    reading = replace(csv.reading, decimal=",", point_columns=points)
    return replace(csv, decimal=",", reading=reading, notes=(*csv.notes, f"Decimal commas in {some(commas)}."))


def _has_points(csv: CsvTable, name: str) -> bool:
    return any("." in cell for cell in csv.cells.column(name).to_pylist())
