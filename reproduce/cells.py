"""Parts in cells, each kept as soon as it is done: a run that was stopped goes on where it was.

Kept cells are lines of JSON in reproduce/unfinished/, a file for each part. Its first line says of which code and
tables they are; if either is another by now, nothing of the file is taken. A run that comes to its end removes the
files of its parts, so the next run measures anew.
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
    """What is measured at once, and lost if a run is stopped meanwhile.

    Attributes
    ----------
    name : str
        Of which there is one in a part.
    work : callable or None
        Gives records, or a table that its part makes records of; None where the data are not at hand.
    """

    name: str
    work: Work | None


def as_records(rows: Iterable[Row]) -> list[Record]:
    """Of a part whose cells give records."""
    return [Record(**row) for row in rows]


@dataclass(frozen=True)
class Part:
    """A module of the reproductions.

    Attributes
    ----------
    cells : callable
        Called with `quick` and `folder`; in the order in which they are measured.
    records : callable
        Makes records of the rows of all cells.
    """

    cells: Callable[..., Iterable[Cell]]
    records: Callable[[list[Row]], Iterable[Record]] = as_records

    @property
    def is_of_all(self) -> bool:
        """Whether its records are of all cells together, so that none is right while one is missing."""
        return self.records is not as_records


def measured(cell: Cell) -> list[Row]:
    """The rows of a cell, as they are after having been kept.

    >>> measured(Cell("two", lambda: pd.DataFrame({"a": [1, 2]})))
    [{'a': 1}, {'a': 2}]
    """
    assert cell.work is not None
    result = cell.work()
    rows = result.to_dict("records") if isinstance(result, pd.DataFrame) else [asdict(record) for record in result]
    return json.loads(json.dumps(rows))


class Kept:
    """Cells of one part that are done.

    Parameters
    ----------
    path : Path
    version : str
        As of `version_of`.
    fresh : bool
        Forget what is there.
    """

    def __init__(self, path: Path, version: str, *, fresh: bool = False) -> None:
        self.path, self._rows = path, dict[str, list[Row]]()
        lines = path.read_text(encoding="utf-8").split("\n")[:-1] if path.exists() and not fresh else []
        if lines and lines[0] == json.dumps({"version": version}):
            self._rows = {cell["name"]: cell["rows"] for cell in map(json.loads, lines[1:])}
        path.parent.mkdir(exist_ok=True)
        whole = [json.dumps({"version": version}), *(_line(name, rows) for name, rows in self._rows.items())]
        path.write_text("".join(line + "\n" for line in whole), encoding="utf-8")  # without half a line at the end

    def get(self, cell: Cell) -> list[Row] | None:
        """The rows of a cell that is done."""
        return self._rows.get(cell.name)

    def add(self, cell: Cell, rows: list[Row]) -> None:
        """Keep a cell, on disk when this returns."""
        self._rows[cell.name] = rows
        with self.path.open("a", encoding="utf-8") as file:
            file.write(_line(cell.name, rows) + "\n")

    def forget(self) -> None:
        """Remove the file."""
        self.path.unlink(missing_ok=True)


def version_of(folder: Path | None) -> str:
    """Another one if any line of code or any table is another: catalogs have the tables' checksums."""
    catalogs = [catalog_path(), *([] if folder is None else [catalog_path(folder)])]
    code = sorted(file for part in ("dpforest", "reproduce") for file in (HOME / part).rglob("*.py"))
    digest = hashlib.sha256()
    for file in (*code, *catalogs):
        digest.update(hashlib.sha256(file.read_bytes()).digest())
    return digest.hexdigest()


def check_names(cells: Sequence[Cell]) -> None:
    """Two cells of one name would be taken for each other."""
    names = [cell.name for cell in cells]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise ValueError(f"two cells of a part have the name {twice[0]!r}")


def _line(name: str, rows: list[Row]) -> str:
    return json.dumps({"name": name, "rows": rows}, ensure_ascii=False)
