"""The file of a book (the ledger across releases): a SQLite database with populations, bookings and projects.

Each operation opens the file and runs one transaction. SQLite writes the changes to the disk before the operation
returns (``synchronous=FULL``). So several processes may share a file, and a process may die at any time.
"""

from __future__ import annotations

import os
import sqlite3
import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Final

import platformdirs

from dpforest.book.errors import BookError

FOLDER_VARIABLE: Final = "DPFOREST_DATA_DIR"  # environment variable that names the folder of the book
FILE_NAME: Final = "book.sqlite"
VERSION: Final = 1  # version of the tables below
_APPLICATION: Final = 0x64706662  # "dpfb", in the header of the file
_WAIT: Final = 5.0  # seconds for which an operation waits until another process has written
_TABLES: Final = """
CREATE TABLE populations (
    name TEXT PRIMARY KEY, cap TEXT, rows_per_person INTEGER, created TEXT NOT NULL
) STRICT;
CREATE TABLE bookings (
    id TEXT PRIMARY KEY, population TEXT NOT NULL REFERENCES populations (name) ON DELETE CASCADE,
    time TEXT NOT NULL, title TEXT NOT NULL, kind TEXT NOT NULL, amount TEXT NOT NULL, neighbors TEXT NOT NULL,
    unit TEXT, delta REAL NOT NULL, sha256 TEXT, record TEXT
) STRICT;
CREATE TABLE notes (
    booking TEXT NOT NULL REFERENCES bookings (id) ON DELETE CASCADE, time TEXT NOT NULL, text TEXT NOT NULL
) STRICT;
CREATE TABLE projects (
    name TEXT PRIMARY KEY, revision INTEGER NOT NULL, document TEXT NOT NULL, saved TEXT NOT NULL
) STRICT;
"""


def default_path() -> Path:
    """Return the path of the book in the folder that `DPFOREST_DATA_DIR` names, or in the user's data folder."""
    folder = os.environ.get(FOLDER_VARIABLE) or platformdirs.user_data_path("dpforest")
    return Path(folder) / FILE_NAME


class Store:
    """The database file of a book. The file is created if it does not exist.

    Parameters
    ----------
    path : Path
        Path of the file.

    Raises
    ------
    BookError
        If the file cannot be created or read, is damaged, is no book, or was made by a newer version of dpforest.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        with self._book_errors():
            if not path.exists():
                _make(path)
            with closing(self._connect()) as db:
                self._check(db)

    @contextmanager
    def reading(self) -> Iterator[sqlite3.Connection]:
        """Yield a connection whose queries all see the same state of the file."""
        with self._book_errors(), closing(self._connect()) as db:
            db.execute("BEGIN")
            yield db
            db.execute("COMMIT")

    @contextmanager
    def writing(self) -> Iterator[sqlite3.Connection]:
        """Yield a connection while no other process can write. If the caller raises an error, no change is kept."""
        with self._book_errors(), closing(self._connect()) as db:
            db.execute("BEGIN IMMEDIATE")
            yield db  # an error closes the connection, which undoes the changes
            db.execute("COMMIT")

    def _connect(self) -> sqlite3.Connection:
        uri = f"{self.path.absolute().as_uri()}?mode=rw"  # with mode=rw, SQLite does not create a missing file
        db = sqlite3.connect(uri, timeout=_WAIT, isolation_level=None, uri=True)
        db.row_factory = sqlite3.Row
        db.execute("PRAGMA foreign_keys = ON")
        db.execute("PRAGMA synchronous = FULL")
        return db

    def _check(self, db: sqlite3.Connection) -> None:
        if self.path.stat().st_size == 0:  # `_make` gives this name only to complete files, so an empty file is damaged
            raise BookError(self._damage_message)
        (application,), (version,) = (
            db.execute(f"PRAGMA {name}").fetchone() for name in ("application_id", "user_version")
        )
        if application != _APPLICATION:
            raise BookError(f"{self.path} is not a book of dpforest. Choose another folder.")
        if version > VERSION:
            raise BookError(
                f"{self.path} was made by a newer version of dpforest. Use that version, or choose another folder."
            )
        if [row[0] for row in db.execute("PRAGMA quick_check")] != ["ok"]:
            raise BookError(self._damage_message)

    @property
    def _damage_message(self) -> str:
        return (
            f"{self.path} cannot be used as a book, so the privacy loss of earlier releases is unknown. Restore a "
            "backup of the file. Do not start a new book for the same people."
        )

    @contextmanager
    def _book_errors(self) -> Iterator[None]:
        """Replace any error of SQLite or the file system by a `BookError` whose message says what to do."""
        try:
            yield
        except sqlite3.Error as error:
            raise BookError(self._message(error)) from None
        except OSError as error:
            why = error.strerror or type(error).__name__
            raise BookError(
                f"{self.path} cannot be used ({why}). Check the folder and its rights, or set {FOLDER_VARIABLE} to "
                "another folder."
            ) from None

    def _message(self, error: sqlite3.Error) -> str:
        code = (getattr(error, "sqlite_errorcode", None) or 0) & 0xFF  # the lowest byte is the general kind of error
        if code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
            return f"Another program is writing to {self.path}. Nothing was booked; try again."
        if code in (sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM):
            return (
                f"{self.path} cannot be opened or written, so nothing was booked. Check that the file exists, and "
                "check the rights of the file and its folder."
            )
        if code in (sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_TOOBIG):
            return (
                f"SQLite could not read or write {self.path}, so nothing was booked. Check the disk and its free "
                "space, and try again."
            )
        return self._damage_message


def _make(path: Path) -> None:
    """Create the file under a temporary name. When it is complete, give it the name `path`, unless `path` exists."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(prefix=f"{path.name}.", dir=path.parent)
    os.close(handle)
    try:
        with closing(sqlite3.connect(name, isolation_level=None)) as db:
            db.execute("PRAGMA synchronous = FULL")
            db.executescript(
                f"BEGIN; PRAGMA application_id = {_APPLICATION}; PRAGMA user_version = {VERSION}; {_TABLES} COMMIT;"
            )
        with suppress(FileExistsError):  # another process has made the book meanwhile
            os.link(name, path)
    finally:
        os.unlink(name)
