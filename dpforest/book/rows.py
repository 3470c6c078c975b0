"""Read populations and bookings from the database of a book, write bookings, and check limits of populations."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable
from datetime import UTC, datetime
from fractions import Fraction
from typing import Any, Final

from dpforest.book.errors import BookError
from dpforest.book.population import Booking, Population, exact_cap
from dpforest.book.sums import Cost, as_loss
from dpforest.privacy.loss import PrivacyLoss

MOST_ROWS_PER_PERSON: Final = 1_000_000_000  # largest number of rows of one person that a book accepts


def population_of(db: sqlite3.Connection, name: str) -> Population:
    """Read a population with its bookings. Raise BookError if there is no population with this name."""
    row = db.execute("SELECT * FROM populations WHERE name = ?", (name,)).fetchone()
    if row is None:
        names = [each["name"] for each in db.execute("SELECT name FROM populations ORDER BY name")]
        raise BookError(f"There is no population “{name}”. Add it, or choose one of {listed(names)}.")
    rows = db.execute("SELECT * FROM bookings WHERE population = ? ORDER BY rowid", (name,)).fetchall()
    cap = None if row["cap"] is None else Fraction(row["cap"])
    return Population(name, cap, row["rows_per_person"], tuple(from_row(db, each) for each in rows))


def booking_of(db: sqlite3.Connection, identifier: str) -> Booking:
    """Read a booking. Raise BookError if there is no booking with this identifier."""
    row = db.execute("SELECT * FROM bookings WHERE id = ?", (identifier,)).fetchone()
    if row is None:
        raise BookError(f"There is no booking {identifier}. It may have been deleted with its population.")
    return from_row(db, row)


def from_row(db: sqlite3.Connection, row: sqlite3.Row) -> Booking:
    """Return the booking of a row of the table "bookings", with its notes. Raise BookError if a cell is not valid."""
    notes = db.execute("SELECT time, text FROM notes WHERE booking = ? ORDER BY rowid", (row["id"],)).fetchall()
    try:
        cost = Cost(PrivacyLoss(row["kind"], Fraction(row["amount"])), row["neighbors"], row["unit"])
        record = None if row["record"] is None else json.loads(row["record"])
    except (ValueError, ZeroDivisionError):
        raise BookError(
            f"The booking {row['id']} in this book was changed by hand and cannot be read. Put a copy of the file in "
            "its place."
        ) from None
    texts = tuple((each["time"], each["text"]) for each in notes)
    return Booking(
        row["id"], row["population"], row["time"], row["title"], cost, row["delta"], row["sha256"], record, texts
    )


def insert(db: sqlite3.Connection, booking: Booking) -> None:
    """Write a new booking and its notes into the database."""
    loss = as_loss(booking.cost.loss)
    record = None if booking.record is None else json.dumps(booking.record)
    db.execute(
        "INSERT INTO bookings VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (
            *(booking.id, booking.population, booking.time, booking.title),
            *(loss.kind, str(loss.amount), booking.cost.neighbors, booking.cost.unit, booking.delta),
            *(booking.sha256, record),
        ),
    )
    db.executemany("INSERT INTO notes VALUES (?, ?, ?)", [(booking.id, *note) for note in booking.notes])


def database_limits(cap: Any, rows_per_person: Any) -> tuple[str | None, int | None]:
    """Convert a cap and a number of rows per person to database values. Raise BookError if one is out of range."""
    if rows_per_person is not None and (
        type(rows_per_person) is not int or not 1 <= rows_per_person <= MOST_ROWS_PER_PERSON
    ):
        raise BookError(
            f"The number of rows of one person is a whole number from 1 to {MOST_ROWS_PER_PERSON:,}, not "
            f"{str(rows_per_person)[:40]}."
        )
    exact = exact_cap(cap)
    return None if exact is None else str(exact), rows_per_person


def listed(names: Iterable[str]) -> str:
    """Return the first ten names, quoted, as a list for a message."""
    quoted = [f"“{name}”" for name in names]
    return ", ".join(quoted[:10]) if quoted else "none: the book is empty"


def now() -> str:
    """Return the time in UTC, in whole seconds, as in "2026-11-27T14:30:00+00:00"."""
    return datetime.now(UTC).isoformat(timespec="seconds")
