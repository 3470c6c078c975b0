"""Revisions of projects, so that a browser tab with an old state of a project cannot overwrite a newer state."""

from __future__ import annotations

import sqlite3

from dpforest.book.errors import StaleProjectError


def check_revision(db: sqlite3.Connection, name: str, revision: int) -> None:
    """Raise StaleProjectError unless a project has this revision. A project that does not exist has revision 0."""
    row = db.execute("SELECT revision FROM projects WHERE name = ?", (name,)).fetchone()
    if (row["revision"] if row else 0) != revision:
        raise StaleProjectError(
            f"The project “{name}” was changed in another tab or window. Open it again to see these changes; what you "
            "changed here is not saved."
        )
