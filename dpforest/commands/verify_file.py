"""The command `dpforest verify`: check the numbers of a released forest, and compare it with its record."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Final

from dpforest import book, verify
from dpforest.book import RecordError, ReleaseRecord
from dpforest.commands.terminal import FAILED, FLAWED, note

AGREES: Final = (
    "The hash, ε, δ, unit, sources and size of the trees in the record are those of this file. Owner, purpose, sums "
    "and other texts are not checked: check a signature of the record."
)


def main(arguments: Sequence[str]) -> int:
    """Run the command, and return its exit code: 1 if numbers, or the forest and its record, do not agree."""
    words = list(arguments)
    record_path = words.pop() if len(words) == 2 and not words[1].startswith("-") else None
    code = verify.main(words, "dpforest verify")
    if record_path is None or code == FAILED:
        return code
    try:
        record = ReleaseRecord.from_json(Path(record_path).read_bytes())
        differences = book.verify(Path(words[0]).read_bytes(), record)
    except (RecordError, OSError) as problem:
        note(f"This record cannot be read: {problem}")
        return FAILED
    if not differences:
        print(AGREES)
        return code
    print("The record does not describe this file:", *(f"- {each}" for each in differences), sep="\n")
    return FLAWED
