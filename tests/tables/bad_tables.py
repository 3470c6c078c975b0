"""Faulty CSV files with one fault each, and a pattern of the message about each fault."""

from __future__ import annotations

import random
from typing import NamedTuple


class BadTable(NamedTuple):
    """A faulty CSV file and a pattern that its one-sentence message matches."""

    data: bytes
    says: str


def _lines(*rows: str) -> bytes:
    return ("\n".join(rows) + "\n").encode()


def _many_categories() -> bytes:
    rows = [f"place {i % 10_000},{i % 7},{'yes' if i % 3 else 'no'}" for i in range(20_000)]
    return _lines("place,size,ill", *rows)


# None of these can be used: the page reports the fault and draws nothing.
REFUSED = {
    "empty file": BadTable(b"", r"empty"),
    "header only": BadTable(_lines("age,city,ill"), r"no rows|at least 2 rows"),
    "one row": BadTable(_lines("age,city,ill", "31,Bonn,yes"), r"one row"),
    "one class": BadTable(_lines("age,ill", *(f"{20.5 + i},yes" for i in range(60))), r"nothing to predict|one class"),
    "duplicate column names": BadTable(
        _lines("age,age,ill", *(f"{i},{i},{'yes' if i % 2 else 'no'}" for i in range(60))), r"[Tt]wo columns .*'age'"
    ),
    "binary garbage": BadTable(random.Random(1).randbytes(5_000), r"not a text file"),
}

# Faults of one column: the page uses the rest of the table, and names the column and the reason.
ONE_BAD_COLUMN = {
    "all-missing column": BadTable(
        _lines("age,gone,ill", *(f"{i % 40},,{'yes' if i % 3 else 'no'}" for i in range(90))),
        r"gone.*every cell is missing",
    ),
    "constant column": BadTable(
        _lines("age,same,ill", *(f"{i % 40},7,{'yes' if i % 3 else 'no'}" for i in range(90))),
        r"same.*every cell is '7'",
    ),
    "label with missing values": BadTable(
        _lines("age,ill", *(f"{20.5 + i},{'' if i % 5 == 0 else 'yes' if i % 2 else 'no'}" for i in range(60))),
        r"^12 rows of 60 have no label that is listed and are left out",
    ),
    "10,000 categories": BadTable(_many_categories(), r"place.*10,000 different.*more than 1,000"),
}
