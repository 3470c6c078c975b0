"""Forty realistic CSV files, each with one difficulty, as hospitals, shops and offices write them.

`python -m tests.tables.ugly_files FOLDER` writes them as files, to try them by hand.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

N_ROWS = 60


class UglyFile(NamedTuple):
    """A CSV file, and what the app must state about it.

    Attributes
    ----------
    data : bytes
    says : str
        If the app refuses the file, pattern of the message. Otherwise, pattern of a note on the file, or of a reason
        for the kind of a column; empty if nothing needs to be stated.
    kinds : dict of str
        Expected kind of some columns (`Column.kind`); empty if the file is refused.
    """

    data: bytes
    says: str
    kinds: dict[str, str] = {}  # noqa: RUF012


def rows(*cells: Callable[[int], object], n: int = N_ROWS) -> list[list[str]]:
    """Return `n` rows. Each function gives the cell of a column from the number of the row."""
    return [[str(cell(i)) for cell in cells] for i in range(n)]


def csv(header: Sequence[str], lines: Iterable[Sequence[str]], mark: str = ",", end: str = "\n") -> str:
    return end.join(mark.join(line) for line in (header, *lines)) + end


def ill(i: int) -> str:
    return "yes" if i * 7 % 5 < 2 else "no"


def age(i: int) -> int:
    return 20 + i * 13 % 61


def of(values: Sequence[object]) -> Callable[[int], object]:
    """Return a function for `rows` that repeats the values."""
    return lambda i: values[i * 7 % len(values)]


def _column(name: str, cell: Callable[[int], object], mark: str = ",", n: int = N_ROWS) -> bytes:
    """Return a file with one column of interest between an age and a label."""
    return csv(["age", name, "ill"], rows(age, cell, ill, n=n), mark).encode()


def _weight(i: int) -> str:
    return f"{50 + i * 17 % 49},{i % 10}"


_WEIGHTS = rows(age, _weight, ill)
_TABLE = csv(["age", "weight", "ill"], _WEIGHTS, ";")
_PLAIN = rows(age, lambda i: 50 + i % 40, ill)
_HEAD = ["age", "weight", "ill"]
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")

FILES: dict[str, UglyFile] = {
    # Encodings and line ends
    "UTF-8 with byte order mark": UglyFile(
        ("\ufeff" + csv(_HEAD, _PLAIN)).encode(), "byte order mark", {"age": "numeric"}
    ),
    "UTF-16 as Excel saves it": UglyFile(csv(_HEAD, _PLAIN, "\t").encode("utf-16"), "UTF-16", {"age": "numeric"}),
    "Latin-1 with umlauts": UglyFile(
        csv(["Größe", "Straße", "krank"], rows(age, of(["Öl", "Übung", "Maß"]), ill), ";").encode("latin-1"),
        "Latin-1",
        {"Straße": "categorical"},
    ),
    "Windows-1252 with a euro sign": UglyFile(
        csv(["age", "tariff €", "ill"], rows(age, of(["A", "B"]), ill), ";").encode("cp1252"), "Latin-1"
    ),
    "Windows line ends": UglyFile(csv(_HEAD, _PLAIN, end="\r\n").encode(), "", {"weight": "numeric"}),
    "old Macintosh line ends": UglyFile(csv(_HEAD, _PLAIN, end="\r").encode(), "", {"weight": "numeric"}),
    "some characters are damaged": UglyFile(
        csv(["age", "stadt", "ill"], rows(age, of(["Köln", "Düren", "Fürth", "Gießen"]), ill)).encode()
        + b"44,K\xff\xfeln,no\n",
        "could not be read",
    ),
    # Marks in numbers
    "decimal commas": UglyFile(_TABLE.encode(), "Decimal commas in 'weight'", {"weight": "numeric"}),
    "German thousands": UglyFile(
        _column("income", lambda i: f"{1 + i % 9}.{i * 37 % 1000:03d},{i % 100:02d}", ";"),
        "Decimal commas in 'income'",
        {"income": "numeric"},
    ),
    "American thousands": UglyFile(
        csv(
            ["age", "income", "ill"], rows(age, lambda i: f'"{1 + i % 9},{i * 37 % 1000:03d}.{i % 100:02d}"', ill)
        ).encode(),
        "Commas between thousands in 'income'",
        {"income": "numeric"},
    ),
    "Swiss thousands": UglyFile(
        _column("income", lambda i: f"{1 + i % 9}’{i * 37 % 1000:03d}.{i % 100:02d}", ";"),
        "'income' is read as text: the marks in its numbers",
    ),
    "thousands or decimals": UglyFile(
        _column("income", lambda i: f"{1 + i % 9}.{i * 37 % 1000:03d}"), "a cell such as 1.234"
    ),
    "ISO, German and American numbers mixed": UglyFile(
        _column("income", lambda i: of([f"{i}.5", f"1.2{i:02d},50", f'"1,2{i:02d}.50"'])(i), ";"),
        "'income' is read as text: the marks in its numbers",
    ),
    "percent signs": UglyFile(_column("share", lambda i: f"{i * 7 % 100} %"), "its cells have % in them"),
    "currency signs": UglyFile(_column("price", lambda i: f"€{i * 7 % 100}.50"), "its cells have € in them"),
    "leading zeros": UglyFile(_column("code", lambda i: f"{i * 7 % 23:05d}"), "", {"code": "categorical"}),
    "numbers and some words": UglyFile(
        _column("crp", lambda i: "k.A." if i % 29 == 3 else "<5" if i % 23 == 4 else f"{i * 7 % 50}.5", n=200),
        "'crp' is read as text, because some of its cells are no numbers: '<5', 'k.A.'|'k.A.', '<5'",
        {"crp": "categorical"},
    ),
    '"n/a" in nine spellings': UglyFile(
        _column(
            "dose",
            lambda i: of(["", "NA", "N/A", "n/a", "NaN", "null", "-", "unknown", "?"])(i) if i % 4 == 0 else i % 40,
        ),
        "read as missing in 'dose'",
        {"dose": "numeric"},
    ),
    # Dates
    "ISO dates": UglyFile(
        _column("visit", lambda i: f"2024-{1 + i % 12:02d}-{1 + i % 28:02d}"), "Dates or times", {"visit": "date"}
    ),
    "German dates": UglyFile(
        _column("visit", lambda i: f"{1 + i % 28:02d}.{1 + i % 12:02d}.2024"), "Dates or times", {"visit": "date"}
    ),
    "American dates": UglyFile(
        _column("visit", lambda i: f"{1 + i % 12}/{1 + i % 28}/2024"), "Dates or times", {"visit": "date"}
    ),
    "dates with times": UglyFile(
        _column("visit", lambda i: f"2024-{1 + i % 12:02d}-{1 + i % 28:02d} {i % 24:02d}:{i % 60:02d}"),
        "Dates or times",
        {"visit": "date"},
    ),
    "dates with names of months": UglyFile(
        _column("visit", lambda i: f"{1 + i % 28} {_MONTHS[i % 12]} 2024"), "Dates or times", {"visit": "date"}
    ),
    "dates without marks": UglyFile(
        _column("visit", lambda i: f"2024{1 + i % 12:02d}{1 + i % 28:02d}"), "Dates or times", {"visit": "date"}
    ),
    "dates in two formats": UglyFile(
        _column(
            "visit",
            lambda i: f"2024-{1 + i % 12:02d}-{1 + i % 28:02d}" if i % 3 else f"{1 + i % 28:02d}.{1 + i % 12:02d}.2024",
        ),
        "'visit' has dates in several formats",
    ),
    # Identifiers and texts
    "identifiers as floats": UglyFile(
        _column("patient_id", lambda i: f"{10_000 + i}.0"), "identif|row number", {"patient_id": "id"}
    ),
    "identifiers with repeats": UglyFile(
        _column("patient_id", lambda i: f"P{1000 + i // 3}"), "different texts", {"patient_id": "id"}
    ),
    "free text": UglyFile(
        _column("remark", lambda i: f"patient {i} came late and felt {of(['well', 'tired', 'dizzy'])(i)}"),
        "different texts",
        {"remark": "id"},
    ),
    "spellings of one class": UglyFile(
        csv(["age", "ill"], rows(lambda i: age(i) + 0.5, of(["yes", "Yes", "NO", "no", "YES"]))).encode(),
        "'ill' spells a value in several ways",
    ),
    "emoji and right-to-left names": UglyFile(
        csv(["age 🎂", "مدينة", "ill"], rows(age, of(["القاهرة", "דימונה", "🏥 clinic"]), ill)).encode(),
        "",
        {"مدينة": "categorical"},
    ),
    "quotes and line breaks in cells": UglyFile(
        csv(["age", "note", "ill"], rows(age, of(['"a ""b"""', '"two\nlines"', '"x, y"']), ill)).encode(),
        "line break",
        {"note": "categorical"},
    ),
    # Structure
    "ragged rows": UglyFile(csv(_HEAD, [*_PLAIN, ["31", "70"]]).encode(), "Line 62 has 2 cells, but the header has 3"),
    "an empty column": UglyFile(_column("gone", lambda i: ""), "Every cell is missing", {"gone": "empty"}),
    "the header again in the middle": UglyFile(
        csv(_HEAD, [*_PLAIN[:30], _HEAD, *_PLAIN[30:]]).encode(), "Row 31 below the column names repeats"
    ),
    "two header rows": UglyFile(
        csv(_HEAD, [["years", "kg", "yes/no"], *_PLAIN]).encode(), "second line of names or units"
    ),
    "empty lines at the end": UglyFile(csv(_HEAD, _PLAIN).encode() + b"\n\n\n", "", {"age": "numeric"}),
    "1,500 columns": UglyFile(
        csv(
            [*(f"x{j}" for j in range(1499)), "ill"],
            [[*(str((i * j) % 7) for j in range(1499)), ill(i)] for i in range(40)],
        ).encode(),
        "",
        {"x3": "numeric"},
    ),
    "three rows": UglyFile(csv(_HEAD, _PLAIN[:3]).encode(), "", {"age": "numeric"}),
    "one class": UglyFile(
        csv(["age", "ill"], rows(lambda i: age(i) + 0.5, lambda i: "yes")).encode(), "Every cell is 'yes'"
    ),
    "a class with one row": UglyFile(
        csv(["age", "ill"], rows(lambda i: age(i) + 0.5, lambda i: "rare" if i == 7 else ill(i))).encode(),
        "",
        {"ill": "categorical"},
    ),
}


if __name__ == "__main__":
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for file_name, file in FILES.items():
        (folder / f"{file_name.replace('/', '').replace(chr(34), '')}.csv").write_bytes(file.data)
