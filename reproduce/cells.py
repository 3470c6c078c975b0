"""Parts of the reproductions, divided into cells. Each finished cell is stored, so that a stopped run can continue.

Each part stores its cells as lines of JSON in a file of reproduce/unfinished/. The first line is a digest of the code
and the tables. If the code or a table has changed since, the file is ignored. A complete run removes the files of its
parts, so the next run measures everything again.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

import pandas as pd

from dpforest.tables.datasets import catalog_path
from reproduce.protocol import Record

HOME: Final = Path(__file__).parents[1]
UNFINISHED: Final = Path(__file__).with_name("unfinished")
Row = dict[str, Any]
Work = Callable[[], Iterable[Record] | pd.DataFrame]


@dataclass(frozen=True)
class Cell:
    """The unit of work. If the run stops while it measures a cell, the work on this cell is lost.

    Attributes
    ----------
    name : str
        Name of the cell, which no other cell of the part has.
    work : callable or None
        Function that takes no argument and returns the results: records, or a DataFrame from which the part makes
        records. None if the data are missing.
    """

    name: str
    work: Work | None


def as_records(rows: Iterable[Row]) -> list[Record]:
    """Return the records of a part whose rows are records."""
    return [Record(**row) for row in rows]


@dataclass(frozen=True)
class Part:
    """A module of the reproductions, which yields cells and makes records of their rows.

    Attributes
    ----------
    cells : callable
        Function that takes `quick` and `folder`, and yields the cells in the order in which they are measured.
    records : callable
        Function that takes the rows of all cells, and returns the records.
    """

    cells: Callable[..., Iterable[Cell]]
    records: Callable[[list[Row]], Iterable[Record]] = as_records

    @property
    def is_of_all(self) -> bool:
        """Whether each record depends on all cells, so that no record is right while a cell is missing."""
        return self.records is not as_records


def measured(cell: Cell) -> list[Row]:
    """Measure a cell, and return its rows as if they had been stored as JSON and read again.

    >>> measured(Cell("two", lambda: pd.DataFrame({"a": [1, 2]})))
    [{'a': 1}, {'a': 2}]
    """
    assert cell.work is not None
    result = cell.work()
    rows = result.to_dict("records") if isinstance(result, pd.DataFrame) else [asdict(record) for record in result]
    return json.loads(json.dumps(rows))


class Kept:
    """Finished cells of one part, in a file.

    Parameters
    ----------
    path : Path
    version : str
        Digest of code and tables, from `version_of`.
    fresh : bool
        Whether to ignore the cells that the file holds.
    """

    def __init__(self, path: Path, version: str, *, fresh: bool = False) -> None:
        self.path, self._rows = path, dict[str, list[Row]]()
        lines = path.read_text(encoding="utf-8").split("\n")[:-1] if path.exists() and not fresh else []
        if lines and lines[0] == json.dumps({"version": version}):
            self._rows = {cell["name"]: cell["rows"] for cell in map(json.loads, lines[1:])}
        path.parent.mkdir(exist_ok=True)
        whole = [json.dumps({"version": version}), *(_line(name, rows) for name, rows in self._rows.items())]
        path.write_text("".join(line + "\n" for line in whole), encoding="utf-8")  # drops an incomplete line at the end

    def get(self, cell: Cell) -> list[Row] | None:
        """Return the rows of a finished cell, or None."""
        return self._rows.get(cell.name)

    def add(self, cell: Cell, rows: list[Row]) -> None:
        """Store a cell. When this function returns, the cell is on disk."""
        self._rows[cell.name] = rows
        with self.path.open("a", encoding="utf-8") as file:
            file.write(_line(cell.name, rows) + "\n")

    def forget(self) -> None:
        """Remove the file."""
        self.path.unlink(missing_ok=True)


def version_of(folder: Path | None) -> str:
    """Return a digest of all code and of the catalogs, which hold a checksum of each table."""
    catalogs = [catalog_path(), *([] if folder is None else [catalog_path(folder)])]
    code = sorted(file for part in ("dpforest", "reproduce") for file in (HOME / part).rglob("*.py"))
    digest = hashlib.sha256()
    for file in (*code, *catalogs):
        digest.update(hashlib.sha256(file.read_bytes()).digest())
    return digest.hexdigest()


def check_names(cells: Sequence[Cell]) -> None:
    """Raise ValueError if two cells have the same name, because stored cells are found by name."""
    names = [cell.name for cell in cells]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise ValueError(f"two cells of a part have the name {twice[0]!r}")


def _line(name: str, rows: list[Row]) -> str:
    return json.dumps({"name": name, "rows": rows}, ensure_ascii=False)
