"""The ledger across releases: populations with a cap, and every release that is booked on them."""

from __future__ import annotations

import hashlib
import json
import os
import uuid
from fractions import Fraction
from pathlib import Path
from typing import Any

from dpforest.book.account import PopulationAccount
from dpforest.book.copies import merge, read_copy, to_json
from dpforest.book.errors import BookError
from dpforest.book.population import Booking, Population, check_cost, check_name
from dpforest.book.projects import check_revision
from dpforest.book.rows import booking_of, database_limits, insert, listed, now, population_of
from dpforest.book.store import Store, default_path
from dpforest.book.sums import Cost


class Book:
    """A ledger across releases, stored in a file.

    Each release is entered (booked) before its noise is drawn. So no release lacks a booking. If the program dies
    between booking a release and writing its file, the loss of this release counts as spent.

    Parameters
    ----------
    path : path, optional
        Path of the file, which is created if it does not exist. By default, `book.sqlite` in the folder that the
        environment variable `DPFOREST_DATA_DIR` names, or in the user's folder for the data of applications.

    Raises
    ------
    BookError
        Raised here and by all methods if the file is damaged, locked or write-protected, or was made by a newer version
        of dpforest.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> folder = TemporaryDirectory()
    >>> book = Book(Path(folder.name) / "book.sqlite")
    >>> book.add_population("patients of ward 3, 2025", cap=2)
    >>> booking = book.book("patients of ward 3, 2025", Cost(Fraction(3, 2), "add-remove"), title="first forest")
    >>> book.population("patients of ward 3, 2025").total().epsilon
    Fraction(3, 2)
    >>> book.book("patients of ward 3, 2025", Cost(Fraction(1), "add-remove"), title="second forest")
    Traceback (most recent call last):
    ...
    dpforest.book.errors.BookError: After this release, the people of “patients of ward 3, 2025” would have a loss of \
ε = 2.5. Your cap is 2, and 1.5 is spent. Choose a smaller ε, or release nothing more about these people.
    >>> folder.cleanup()
    """

    def __init__(self, path: str | os.PathLike[str] | None = None) -> None:
        self._store = Store(default_path() if path is None else Path(path))

    def __repr__(self) -> str:
        return f"Book({str(self.path)!r})"

    @property
    def path(self) -> Path:
        """Path of the file of this book."""
        return self._store.path

    # ------------------------------------------------------------ populations

    def add_population(
        self, name: str, *, cap: float | str | Fraction | None = None, rows_per_person: int | None = None
    ) -> None:
        """Add a population: the people whom the rows of several releases describe.

        Parameters
        ----------
        name : str
            Name of the population, such as "patients of ward 3, 2025".
        cap : number, optional
            Largest ε that the sum of all releases may reach; by default there is no cap.
        rows_per_person : int, optional
            Largest number of rows of one person. Without this number, losses of rows and losses of persons have no sum,
            so a population accepts only one of these two kinds of releases.

        Raises
        ------
        BookError
            If there is a population of this name, or if a value is not valid.
        """
        check_name(name, "A population")
        with self._store.writing() as db:
            if db.execute("SELECT 1 FROM populations WHERE name = ?", (name,)).fetchone():
                raise BookError(f"There already is a population “{name}”. Book on it, or choose another name.")
            db.execute(
                "INSERT INTO populations VALUES (?, ?, ?, ?)", (name, *database_limits(cap, rows_per_person), now())
            )

    def set_cap(self, name: str, cap: float | str | Fraction | None) -> None:
        """Set the largest ε that the sum of all releases may reach; None for no cap."""
        cap_text, _ = database_limits(cap, None)
        with self._store.writing() as db:
            population_of(db, name)
            db.execute("UPDATE populations SET cap = ? WHERE name = ?", (cap_text, name))

    def set_rows_per_person(self, name: str, rows: int) -> None:
        """Set the largest number of rows of one person.

        Raise BookError for a smaller number than before, which would lower the total loss of earlier releases.
        """
        database_limits(None, rows)
        with self._store.writing() as db:
            before = population_of(db, name).rows_per_person
            if before is not None and rows < before:
                raise BookError(
                    f"“{name}” was stated to have at most {before:,} rows for each person. A smaller number would "
                    "lower the sum of earlier releases, so it cannot be set."
                )
            db.execute("UPDATE populations SET rows_per_person = ? WHERE name = ?", (rows, name))

    def populations(self) -> list[Population]:
        """Return all populations in the order of their names, with their bookings."""
        with self._store.reading() as db:
            names = [row["name"] for row in db.execute("SELECT name FROM populations ORDER BY name")]
            return [population_of(db, name) for name in names]

    def population(self, name: str) -> Population:
        """Return a population with its bookings. Raise BookError if there is no population of this name."""
        with self._store.reading() as db:
            return population_of(db, name)

    def delete_population(self, name: str) -> None:
        """Delete a population with all of its bookings. The releases themselves cannot be undone."""
        with self._store.writing() as db:
            population_of(db, name)
            db.execute("DELETE FROM populations WHERE name = ?", (name,))

    # ------------------------------------------------------------ bookings

    def book(self, population: str, cost: Cost, *, title: str, delta: float = 0.0) -> str:
        """Enter a release into the book. Call this method before the noise of the release is drawn.

        Parameters
        ----------
        population : str
            Name of the population whose rows the release describes.
        cost : Cost
            Loss of the release, with its neighbor relation and its unit of privacy.
        title : str
            Name of the release, which is shown to people.
        delta : float
            δ at which the ε of a Gaussian loss is stated; 0 for a pure loss.

        Returns
        -------
        str
            Identifier of the booking.

        Raises
        ------
        BookError
            If the cost is not valid, or the loss of all releases would exceed the cap or has no known sum. Nothing is
            booked.
        """
        check_name(title, "A release")
        check_cost(cost, delta)
        booking = Booking(str(uuid.uuid4()), population, now(), title, cost, delta)
        with self._store.writing() as db:
            population_of(db, population).check(cost, delta)
            insert(db, booking)
        return booking.id

    def mark_written(self, identifier: str, file: bytes, record: dict[str, Any] | None = None) -> None:
        """Store that the file of a booked release was written, with the hash of the file and its public record."""
        with self._store.writing() as db:
            booking_of(db, identifier)
            db.execute(
                "UPDATE bookings SET sha256 = ?, record = ? WHERE id = ?",
                (hashlib.sha256(file).hexdigest(), None if record is None else json.dumps(record), identifier),
            )

    def add_note(self, identifier: str, text: str) -> None:
        """Add a note to a booking, for example that the release was withdrawn. Notes do not change the total loss."""
        with self._store.writing() as db:
            booking_of(db, identifier)
            db.execute("INSERT INTO notes VALUES (?, ?, ?)", (identifier, now(), text))

    def account(self, population: str) -> PopulationAccount:
        """Return an account for `fit(..., account=...)`, which books fits on this population."""
        with self._store.reading() as db:
            population_of(db, population)
        return PopulationAccount(self, population)

    # ------------------------------------------------------------ projects

    def save_project(self, name: str, document: dict[str, Any], revision: int = 0) -> int:
        """Save a project and return its new revision.

        Parameters
        ----------
        name : str
            Name of the project.
        document : dict
            The project, as values that JSON can hold.
        revision : int
            Revision of the project that the document is based on; 0 for a new project.

        Returns
        -------
        int
            The new revision.

        Raises
        ------
        StaleProjectError
            If somebody saved or deleted the project after this revision, for example in another browser tab.
        """
        check_name(name, "A project")
        text = json.dumps(document)
        with self._store.writing() as db:
            check_revision(db, name, revision)
            db.execute(
                "INSERT INTO projects VALUES (?, ?, ?, ?) ON CONFLICT (name) DO UPDATE SET "
                "revision = excluded.revision, document = excluded.document, saved = excluded.saved",
                (name, revision + 1, text, now()),
            )
        return revision + 1

    def rename_project(self, name: str, new_name: str, revision: int) -> int:
        """Give a project another name, and return its new revision.

        Raise BookError if another project has the new name, and StaleProjectError as `save_project` does.
        """
        check_name(new_name, "A project")
        with self._store.writing() as db:
            check_revision(db, name, revision)
            if db.execute("SELECT 1 FROM projects WHERE name = ?", (new_name,)).fetchone():
                raise BookError(f"There already is a project “{new_name}”. Choose another name.")
            db.execute(
                "UPDATE projects SET name = ?, revision = ?, saved = ? WHERE name = ?",
                (new_name, revision + 1, now(), name),
            )
        return revision + 1

    def projects(self) -> dict[str, str]:
        """Return the names of all projects with the times of their last changes, the latest first."""
        with self._store.reading() as db:
            return {row["name"]: row["saved"] for row in db.execute("SELECT * FROM projects ORDER BY saved DESC, name")}

    def project(self, name: str) -> tuple[dict[str, Any], int]:
        """Return the document of a project, and its revision. Raise BookError if there is no project of this name."""
        with self._store.reading() as db:
            row = db.execute("SELECT * FROM projects WHERE name = ?", (name,)).fetchone()
        if row is None:
            raise BookError(f"There is no project “{name}”. Choose one of {listed(self.projects())}.")
        return json.loads(row["document"]), row["revision"]

    def delete_project(self, name: str) -> None:
        """Delete a project. The bookings of its releases stay."""
        with self._store.writing() as db:
            db.execute("DELETE FROM projects WHERE name = ?", (name,))

    # ------------------------------------------------------------ copies

    def export(self) -> dict[str, Any]:
        """Return the populations and all bookings, as values that JSON can hold (docs/FORMAT.md)."""
        with self._store.reading() as db:
            populations = [dict(row) for row in db.execute("SELECT * FROM populations ORDER BY name")]
            bookings = [to_json(db, row) for row in db.execute("SELECT * FROM bookings ORDER BY rowid")]
        return {"format": "dpforest book", "version": 1, "populations": populations, "bookings": bookings}

    def import_copy(self, content: Any) -> int:
        """Add the populations and bookings of a copy (`export`), and return the number of new bookings.

        A booking that is in the book and in the copy is kept once. A population that is in the book and in the copy
        gets the smaller of its two caps, and the larger of its two numbers of rows for each person. So an import never
        lowers a total loss or raises a cap.

        Raises
        ------
        BookError
            If the content is no copy of a book, or if it has a different release under the identifier of a booking in
            this book. Then nothing is added.
        """
        populations, bookings = read_copy(content)
        with self._store.writing() as db:
            for name, cap, rows_per_person, created in populations:
                row = db.execute("SELECT * FROM populations WHERE name = ?", (name,)).fetchone()
                if row is not None:
                    caps = [Fraction(each) for each in (row["cap"], cap) if each is not None]
                    cap = str(min(caps)) if caps else None
                    rows_per_person = max(row["rows_per_person"] or 0, rows_per_person or 0) or None
                db.execute(
                    "INSERT INTO populations VALUES (?, ?, ?, ?) ON CONFLICT (name) DO UPDATE SET cap = excluded.cap, "
                    "rows_per_person = excluded.rows_per_person",
                    (name, cap, rows_per_person, created),
                )
            return sum(merge(db, booking) for booking in bookings)
