"""Account that books each fit on a population in a ledger across releases, and writes the file of the forest."""

from __future__ import annotations

import os
import secrets
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dpforest.book.errors import BookError
from dpforest.book.sums import Cost
from dpforest.privacy.ledger import Ledger
from dpforest.trees.forest import ReleasedForest

if TYPE_CHECKING:
    from dpforest.book.book import Book


class PopulationAccount:
    """An account that enters fits on one population into a book. Pass it to `fit` as the argument `account`.

    Attributes
    ----------
    booking : str or None
        Identifier of the last booking; None before the first one.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> from dpforest.book import Book
    >>> from dpforest import MajorityLabelForestClassifier, load_dataset
    >>> data, folder = load_dataset("nursery"), TemporaryDirectory()
    >>> book = Book(Path(folder.name) / "book.sqlite")
    >>> book.add_population("children of 1987", cap=1)
    >>> account = book.account("children of 1987")
    >>> forest = MajorityLabelForestClassifier(epsilon=0.5, domain=data.domain).fit(data.X, data.y, account=account)
    >>> account.write(forest.released_, Path(folder.name) / "forest.json.gz")
    >>> book.population("children of 1987").total().epsilon
    Fraction(1, 2)
    >>> folder.cleanup()
    """

    def __init__(self, book: Book, population: str) -> None:
        self._book = book
        self._population = population
        self.booking: str | None = None

    def book(self, ledger: Ledger, delta: float, title: str) -> str:
        """Enter the budget of a fit into the book. The method `fit` of an estimator calls this method."""
        if ledger.budget is None:
            raise BookError("A fit without a privacy budget has no known loss, so it cannot be booked.")
        cost = Cost(ledger.budget, ledger.neighbors, ledger.unit)
        self.booking = self._book.book(self._population, cost, title=title, delta=delta)
        return self.booking

    def write(self, forest: ReleasedForest, path: str | os.PathLike[str]) -> None:
        """Write the file of the last fit, and store the hash of the file in the book.

        The file gets its name only when it is complete, so a crash leaves no partial file under this name. The method
        raises BookError if no fit was booked.
        """
        self._last_booking()
        file = forest.to_bytes()
        write_whole(Path(path), file)
        self.mark_written(file)

    def mark_written(self, file: bytes, record: dict[str, Any] | None = None) -> None:
        """Store in the book that the file of the last fit was written (`Book.mark_written`)."""
        self._book.mark_written(self._last_booking(), file, record)

    def _last_booking(self) -> str:
        if self.booking is None:
            raise BookError("No fit was booked here: call fit(..., account=...) with this account first.")
        return self.booking


def write_whole(path: Path, data: bytes, *, mode: int = 0o666) -> None:
    """Write a file under a temporary name, and rename it when it is complete and on the disk.

    `mode` is the mode of the file before the umask of the process removes rights.
    """
    # The temporary name does not depend on the name of the file, which may be as long as the system allows.
    temporary = path.with_name(f".dpforest-{secrets.token_hex(8)}")
    try:
        with os.fdopen(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode), "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except BaseException:
        with suppress(OSError):
            os.unlink(temporary)
        raise
