"""The command `dpforest verify`: check that the numbers of a forest file agree, and compare it with its record."""

from __future__ import annotations

import argparse
import io
from collections.abc import Sequence
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any, Final

from dpforest import book, verify
from dpforest.book import ReleaseRecord
from dpforest.book.releasing import reason_of
from dpforest.commands import terminal

AGREES: Final = (
    "The hash, ε, δ, unit, sources and size of the trees in the record are those of this file. Owner, purpose, rows "
    "of one person, sums and other texts are not checked: check a signature of the record."
)


def main(arguments: Sequence[str]) -> int:
    """Run the command, and return its exit code.

    The code is 0 if all numbers agree, 1 if numbers or the record contradict the forest, and 2 if a file is unreadable.
    """
    parser = terminal.Parser("dpforest verify", description="Check the numbers of a released forest of dpforest.")
    parser.add_argument("forest", help="file of a released forest: .json.gz or .json")
    parser.add_argument("record", nargs="?", help="record of the release (JSON), to compare with the forest")
    options = parser.parse_args(list(arguments))
    return terminal.run("dpforest verify", lambda: _verify(options), as_json=False)


def _verify(options: argparse.Namespace) -> tuple[int, dict[str, Any], str]:
    """Check the forest, and compare it with its record if one is given. Return the exit code, {} and the report."""
    report = io.StringIO()
    with redirect_stdout(report):
        code = verify.main(["--", options.forest], "dpforest verify")
    if options.record is None or code == terminal.FAILED:
        return code, {}, report.getvalue().rstrip()
    try:
        record = ReleaseRecord.from_json(Path(options.record).read_bytes())
        differences = book.verify(Path(options.forest).read_bytes(), record)
    except (ValueError, OSError) as problem:  # RecordError is a ValueError
        terminal.note(f"This record cannot be read: {reason_of(problem)}")
        return terminal.FAILED, {}, report.getvalue().rstrip()
    if not differences:
        return code, {}, f"{report.getvalue()}{AGREES}"
    lines = "\n".join(f"- {each}" for each in differences)
    return terminal.FLAWED, {}, f"{report.getvalue()}The record does not describe this file:\n{lines}"
