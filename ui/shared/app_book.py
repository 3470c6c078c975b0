"""The book of the app: the ledger across releases, if this server may keep one."""

from __future__ import annotations

import os
from typing import Final

from dpforest.book import Book
from dpforest.book.store import FOLDER_VARIABLE
from ui.server.host_names import LOOPBACK, HostNames

OFF: Final = "off"  # value of the environment variable that switches the book off


def is_kept() -> bool:
    """Return whether this server keeps a book.

    Several people may use a server that others can reach, also through a proxy on the same machine, for which the
    server must answer to other names. So such a server keeps a book only if the environment variable
    `DPFOREST_DATA_DIR` names a folder. The value `off` switches the book off everywhere.
    """
    folder = os.environ.get(FOLDER_VARIABLE, "")
    return folder != OFF and (bool(folder) or HostNames.of_config() == HostNames(LOOPBACK))


def kept_book() -> Book | None:
    """Return the user's book, or None if this server keeps none. Raise BookError if the book cannot be read."""
    return Book() if is_kept() else None
