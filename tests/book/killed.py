"""Release forests in child processes, each of which is killed at one step: `python -m tests.book.killed FOLDER`.

A step is a statement of SQLite, a call that writes a file to the disk, or a moment between booking, fitting and
writing. The first child is killed at the first step, the second child at the second step, and so on. For each child,
the program prints a line of JSON that states what the child left behind. The program ends after the first child that
survives.
"""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import sys
from collections.abc import Callable
from itertools import count
from pathlib import Path
from typing import Any

from dpforest import MajorityLabelForestClassifier, ReleasedForest
from dpforest.book import Book
from tests.models.random_forests import DOMAIN, table

PEOPLE = "people"


def release(folder: Path, step: Callable[[], None], connect: Callable[..., sqlite3.Connection]) -> None:
    """Open or create the book, fit a forest that is booked there, and write its file. Call `step` at each step."""

    def traced(*args: Any, **settings: Any) -> sqlite3.Connection:
        db = connect(*args, **settings)
        db.set_trace_callback(lambda _: step())  # before each statement
        return db

    sqlite3.connect = traced  # type: ignore[assignment]
    for name in ("fsync", "replace", "link"):
        setattr(os, name, _with_step(getattr(os, name), step))
    book = Book(folder / "book.sqlite")
    if not book.populations():
        book.add_population(PEOPLE, cap=1)
    account = book.account(PEOPLE)
    booking = account.book

    def booking_and_step(*facts: Any) -> str:
        identifier = booking(*facts)
        step()
        return identifier

    account.book = booking_and_step  # type: ignore[method-assign]
    X, y = table()
    forest = MajorityLabelForestClassifier(epsilon=1, n_estimators=2, domain=DOMAIN).fit(X, y, account=account)
    (folder / "drawn").touch()  # noise was drawn
    step()
    account.write(forest.released_, folder / "forest.json.gz")
    step()


def _with_step(call: Callable[..., Any], step: Callable[[], None]) -> Callable[..., Any]:
    def stepping(*args: Any, **settings: Any) -> Any:
        step()
        return call(*args, **settings)

    return stepping


def remains(folder: Path) -> dict[str, Any]:
    """Return what a child left in its folder."""
    book = Book(folder / "book.sqlite")
    bookings = [booking for population in book.populations() for booking in population.bookings]
    file = folder / "forest.json.gz"
    if file.exists():
        ReleasedForest.from_bytes(file.read_bytes())  # fails if the file is incomplete
    return {
        "drawn": (folder / "drawn").exists(),
        "file": file.exists(),
        "bookings": len(bookings),
        "written": sum(booking.sha256 is not None for booking in bookings),
    }


def main(folder: Path) -> None:
    X, y = table()
    MajorityLabelForestClassifier(epsilon=1, n_estimators=2, domain=DOMAIN).fit(X, y)  # compiles the kernels
    for last in count(1):
        place = folder / str(last)
        place.mkdir()
        if (child := os.fork()) == 0:
            steps = count(1)

            def step(last: int = last, steps: count[int] = steps) -> None:
                if next(steps) == last:
                    os.kill(os.getpid(), signal.SIGKILL)

            release(place, step, sqlite3.connect)
            os._exit(0)
        _, status = os.waitpid(child, 0)
        was_killed = os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL
        print(json.dumps({"killed": was_killed, "status": status, **remains(place)}), flush=True)
        if not was_killed:
            return


if __name__ == "__main__":
    main(Path(sys.argv[1]))
