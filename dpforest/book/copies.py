"""Copies of a book as JSON: make the entry of a booking, read a copy, and add a booking of a copy to a book."""

from __future__ import annotations

import json
import sqlite3
from typing import Any

from dpforest.book.errors import BookError
from dpforest.book.population import Booking, check_cost, check_name
from dpforest.book.rows import database_limits, from_row, insert
from dpforest.book.sums import Cost
from dpforest.privacy.loss import PrivacyLoss
from dpforest.privacy.rationals import written_fraction


def to_json(db: sqlite3.Connection, row: sqlite3.Row) -> dict[str, Any]:
    """Return a row of the table "bookings" as values that JSON can hold, with the notes of the booking."""
    booking = from_row(db, row)
    return {**dict(row), "record": booking.record, "notes": [list(note) for note in booking.notes]}


def read_copy(content: Any) -> tuple[list[tuple[str, str | None, int | None, str]], list[Booking]]:
    """Return the populations and bookings of a copy. Raise BookError if the content is not a copy of a book."""
    if not isinstance(content, dict) or content.get("format") != "dpforest book":
        raise BookError("This file is no copy of a book of dpforest.")
    if content.get("version") != 1:
        raise BookError("This copy was made by a newer version of dpforest. Use that version to read it.")
    try:
        populations = []
        for entry in content["populations"]:
            check_name(entry["name"], "A population")
            entry_limits = database_limits(entry["cap"], entry["rows_per_person"])
            populations.append((entry["name"], *entry_limits, str(entry["created"])))
        names = {entry[0] for entry in populations}
        bookings = [_read_booking(entry, names) for entry in content["bookings"]]
    except (KeyError, TypeError, AttributeError, ValueError, ZeroDivisionError):  # BookError is a ValueError
        raise BookError("This copy of a book is damaged; export it again.") from None
    return populations, bookings


def _read_booking(entry: dict[str, Any], populations: set[str]) -> Booking:
    """Return the booking of an entry of a copy. Raise ValueError if the entry is not valid."""
    texts = (entry["id"], entry["population"], entry["time"], entry["title"])
    is_valid = (
        all(isinstance(text, str) and text for text in texts)
        and entry["population"] in populations
        and isinstance(entry["delta"], (int, float))
        and all(entry[name] is None or isinstance(entry[name], str) for name in ("unit", "sha256"))
        and (entry["record"] is None or isinstance(entry["record"], dict))
    )
    amount = written_fraction(entry["amount"])
    if not is_valid or amount is None:
        raise ValueError("an invalid booking")
    cost, delta = Cost(PrivacyLoss(entry["kind"], amount), entry["neighbors"], entry["unit"]), float(entry["delta"])
    check_cost(cost, delta)
    notes = tuple((str(time), str(text)) for time, text in entry["notes"])
    return Booking(*texts, cost, delta, entry["sha256"], entry["record"], notes)


def merge(db: sqlite3.Connection, booking: Booking) -> bool:
    """Add a booking of a copy to the book, and return whether the booking is new.

    If the book already has this booking, the function adds missing notes, and the hash with the record if the hash is
    missing. Raise BookError if the two bookings differ.
    """
    row = db.execute("SELECT * FROM bookings WHERE id = ?", (booking.id,)).fetchone()
    if row is None:
        insert(db, booking)
        return True
    existing = from_row(db, row)
    is_same = (existing.population, existing.cost, existing.delta) == (booking.population, booking.cost, booking.delta)
    if not is_same or (existing.sha256 and booking.sha256 and existing.sha256 != booking.sha256):
        raise BookError(
            f"The booking {booking.id} (“{booking.title}”) differs from the one in this book. Nothing was imported. "
            "One of the two files was changed by hand."
        )
    if existing.sha256 is None and booking.sha256 is not None:
        record = None if booking.record is None else json.dumps(booking.record)
        db.execute("UPDATE bookings SET sha256 = ?, record = ? WHERE id = ?", (booking.sha256, record, booking.id))
    new_notes = [note for note in booking.notes if note not in existing.notes]
    db.executemany("INSERT INTO notes VALUES (?, ?, ?)", [(booking.id, *note) for note in new_notes])
    return False
