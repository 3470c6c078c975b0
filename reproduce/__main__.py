"""Run the reproductions: `python -m reproduce [--quick] [--only PART ...] [--data DIR] [--fresh]`.

A part reproduces some tables or figures of one paper, and consists of cells, the units of work. The run stores each
finished cell, so a stopped run loses only the cell that it was measuring. The same command continues a stopped run if
neither code nor tables have changed; `--fresh` starts again. When a part is done, the run writes results.json and
docs/REPRODUCED.md. When all parts are done, the run removes the stored cells. `--quick` measures a few cells of each
part and writes nothing.

Some tables of the papers do not come with this project; `--data` names a folder that holds these tables and a
catalog.json, like `data/`. If a table is missing, results.json keeps the earlier records of this table. The part
`multinomial` reads the file that `python -m reproduce.multinomial` wrote.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence
from pathlib import Path

from dpforest.tables.datasets import catalog_path
from reproduce.cells import UNFINISHED, Cell, Kept, Part, Row, check_names, measured, version_of
from reproduce.protocol import PATH, Record, read, write
from reproduce.registry import PARTS
from reproduce.report import REPORT, in_order, report


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the parts that the command line names."""
    options = _parser().parse_args(arguments)
    if options.data is not None and not catalog_path(options.data).is_file():
        _parser().error(f"{options.data} has no catalog.json; --data names a folder like data/.")
    run(options.only, quick=options.quick, folder=options.data, fresh=options.fresh)


def run(names: Sequence[str], *, quick: bool = False, folder: Path | None = None, fresh: bool = False) -> None:
    """Measure the named parts, and write their records unless `quick`."""
    parts = {name: list(PARTS[name].cells(quick=quick, folder=folder)) for name in dict.fromkeys(names)}
    version = "" if quick else version_of(folder)
    kept = {} if quick else {n: Kept(UNFINISHED / f"{n}.jsonl", version, fresh=fresh) for n in parts}
    total, n_before, start = sum(map(len, parts.values())), 0, time.monotonic()
    for name, cells in parts.items():
        check_names(cells)
        rows = list[Row]()
        for i, cell in enumerate(cells, n_before + 1):
            cell_rows, note = _rows(cell, kept.get(name))
            rows += cell_rows
            print(f"{i:4} of {total}, {time.monotonic() - start:5.0f} s  {name}, {cell.name}{note}", flush=True)
        n_before += len(cells)
        missing = [cell.name for cell in cells if cell.work is None]
        _finish(PARTS[name], rows, missing, quick=quick)
    for rows_of_cell in kept.values():
        rows_of_cell.forget()


def _rows(cell: Cell, kept: Kept | None) -> tuple[list[Row], str]:
    """Return the rows of a cell. Add a note if the rows come from a stopped run, or if the table is missing."""
    if cell.work is None:
        return [], ": table missing"
    rows = None if kept is None else kept.get(cell)
    if rows is not None:
        return rows, ": done before"
    rows = measured(cell)
    if kept is not None:
        kept.add(cell, rows)
    return rows, ""


def _finish(part: Part, rows: list[Row], missing: list[str], *, quick: bool) -> None:
    """Print the records, and write them into results.json and the report."""
    if missing and part.is_of_all:
        print(f"This part needs all of its tables, and {', '.join(missing)} are missing: its records do not change.")
        return
    new_records = list(part.records(rows))
    for record in new_records:
        printed = "" if record.published is None else f"{record.published:.1f} published, "
        print(f"      {record.setting}: {printed}{record.ours:.1f} ours, {record.verdict}", flush=True)
    if not quick:
        records = in_order(merged(read(PATH) if PATH.exists() else [], new_records, keep=bool(missing)))
        write(records, PATH)
        REPORT.write_text(report(records), encoding="utf-8")


def merged(before: list[Record], new_records: list[Record], *, keep: bool) -> list[Record]:
    """Replace the old records of each table or figure that has new records.

    With `keep`, replace only the old records whose cell has a new record.
    """
    if not keep:
        items = {(record.paper, record.item) for record in new_records}
        return [*(record for record in before if (record.paper, record.item) not in items), *new_records]
    new = {(record.paper, record.item, record.setting): record for record in new_records}
    updated = [new.pop((record.paper, record.item, record.setting), record) for record in before]
    return [*updated, *new.values()]


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="measure a few cells of each part, and write nothing")
    parser.add_argument("--only", nargs="+", choices=PARTS, default=list(PARTS), metavar="PART")
    parser.add_argument("--data", type=Path, help="folder with tables that are not bundled")
    parser.add_argument("--fresh", action="store_true", help="forget the cells of a run that was stopped")
    return parser


if __name__ == "__main__":
    main()
