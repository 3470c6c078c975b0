"""The book of the app: the ledger of all releases on this computer, if this server may keep one."""

from __future__ import annotations

import os
from typing import Final

from dpforest.book import Book
from dpforest.book.store import FOLDER_VARIABLE
from ui.server.host_names import LOOPBACK, HostNames

OFF: Final = "off"  # value of the environment variable that switches the book off


def is_kept() -> bool:
    """Return whether this server keeps a book.

    A server that answers only to the names of this machine has one user, so it keeps a book. Any other server, for
    example behind a proxy, may have several users. It keeps a book only if the environment variable `DPFOREST_DATA_DIR`
    names a folder. If this variable is `off`, no server keeps a book.
    """
    folder = os.environ.get(FOLDER_VARIABLE, "")
    return folder != OFF and (bool(folder) or HostNames.of_config() == HostNames(LOOPBACK))


def kept_book() -> Book | None:
    """Return the user's book, or None if this server keeps none. Raise BookError if the book cannot be read."""
    return Book() if is_kept() else None
