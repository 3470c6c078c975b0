"""The command `dpforest predict`: predict the rows of a CSV file with a released forest."""

from __future__ import annotations

import argparse
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from dpforest.book.account import write_whole
from dpforest.commands import terminal
from dpforest.new_rows import predict_csv
from dpforest.tables.features import plural


def main(arguments: Sequence[str]) -> int:
    """Run the command, and return its exit code: 1 if the forest cannot predict some of the rows."""
    parser = terminal.Parser(
        "dpforest predict", description="Predict the rows of a CSV file with a released forest. Nothing is spent."
    )
    parser.add_argument("forest", type=Path, help="file of a released forest: .json.gz or .json")
    parser.add_argument("table", type=Path, help="CSV file with the columns that the forest reads, matched by name")
    parser.add_argument("--out", type=Path, help="file to write; by default TABLE with “_predicted” in its name")
    parser.add_argument("--force", action="store_true", help="replace the file that --out names")
    parser.add_argument("--json", action="store_true", help="print the result as JSON")
    options = parser.parse_args(list(arguments))
    return terminal.run("dpforest predict", lambda: predict(options), as_json=options.json)


def predict(options: argparse.Namespace) -> tuple[int, dict[str, Any], str]:
    """Predict all rows, and write them to a new file. Return the exit code, and the result as a dict and as text."""
    table: Path = options.table
    path = _new_file(options)
    terminal.progress(0, 3, "Reading the forest")
    forest = terminal.forest_from(options.forest)
    terminal.progress(1, 3, "Reading the table")
    csv = terminal.csv_from(table)
    terminal.progress(2, 3, "Predicting")
    with terminal.naming(table):
        result = predict_csv(forest, csv)
    rows = result.next_to(csv.table, forest.domain.label)
    write_whole(path, rows.to_csv(index=False).encode("utf-8"), mode=0o600)
    terminal.progress(3, 3, "Done")
    n_predicted = int(result.is_predicted.sum())
    n_refused = len(rows) - n_predicted
    text = (
        f"{plural(n_predicted, 'prediction')} in {path}. The file repeats your rows, so keep it where your rows are "
        "kept. Some cells may be written differently, such as 1,000 as 1000."
    )
    if n_refused:
        text += f" {plural(n_refused, 'row')} cannot be predicted; the first column states why."
    if result.n_clipped:
        text += f" {plural(result.n_clipped, 'value')} outside of the public bounds counted as the nearest bound."
    content = {
        "file": str(path),
        "n_predicted": n_predicted,
        "n_not_predicted": n_refused,
        "n_clipped": result.n_clipped,
    }
    return terminal.FLAWED if n_refused else terminal.OK, content, text


def _new_file(options: argparse.Namespace) -> Path:
    """Return the path of the file to write. Raise ValueError if the command must not write there."""
    table: Path = options.table
    if table.is_dir():
        raise ValueError(f"{table} is a folder. Give the CSV file with the rows.")
    target: Path = options.out or table.with_name(f"{table.stem}_predicted.csv")
    if target.is_dir():
        raise ValueError(f"{target} is a folder. Name a file with --out.")
    if not target.parent.is_dir():
        raise ValueError(f"There is no folder {target.parent}. Name a file in an existing folder with --out.")
    if any(target.exists() and target.samefile(path) for path in (table, options.forest) if path.exists()):
        raise ValueError(f"{target} is a file that this command reads. Name another file with --out.")
    if os.path.lexists(target) and not options.force:
        raise ValueError(f"{target} exists already. Name another file with --out, or add --force to replace it.")
    return target
