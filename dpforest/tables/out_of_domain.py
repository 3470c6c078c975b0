"""Counts of cells and labels that lie outside of their domain. A public rule (`domain.READ_BY_RULE`) reads them.

The counts are private. Only a warning to the curator, the person who holds the table, reports them.
"""

from __future__ import annotations

import sys
import threading
import warnings
from enum import Enum
from types import FrameType

from dpforest.tables.features import plural


class OutOfDomain(Enum):
    """Kinds of cells and labels outside of their domain. Each value but the last is a part of a warning's sentence."""

    MISSING = "missing although none are expected; {they} read as its lower bound or first category"
    UNLISTED = "not listed although all are expected to be; {they} read as its first category"
    NO_NUMBER = "not a number; {they} read as missing"
    NO_DATE = "not a date in the declared format; {they} read as missing"
    INFINITE = "infinite; {they} read as the bound"
    LABEL = "no label that is listed"
    NO_UNIT = "no identifier"
    OVER_ROW_LIMIT = "beyond the rows that are kept of a person"


class OutOfDomainWarning(UserWarning):
    """Warns that the public rule read cells or labels outside of their domain. For the curator only."""


class OutOfDomainCells:
    """Counts of cells and labels outside of their domain, by attribute and kind.

    The counts depend on rows, so a fitted forest never holds them. Several threads may call `add` at the same time.

    Examples
    --------
    >>> cells = OutOfDomainCells()
    >>> cells.add("age", OutOfDomain.MISSING, 2)
    >>> cells.add("age", OutOfDomain.MISSING, 1)
    >>> cells.sentences()
    ["3 cells of 'age' are missing although none are expected; they were read as its lower bound or first category."]
    """

    def __init__(self) -> None:
        self._counts: dict[tuple[str, OutOfDomain], int] = {}
        self._lock = threading.Lock()  # several threads may read a table

    def add(self, name: str, kind: OutOfDomain, n: int) -> None:
        """Add n cells of this kind to the count of an attribute or of the labels."""
        with self._lock:
            self._counts[name, kind] = self._counts.get((name, kind), 0) + int(n)

    def count(self, name: str, kind: OutOfDomain) -> int:
        """Return the number of cells or labels of this kind. `name` is the name of the attribute or of the label."""
        return self._counts.get((name, kind), 0)

    def counts(self) -> dict[tuple[str, OutOfDomain], int]:
        """Return a copy of all counts, which can be sent to another process."""
        return dict(self._counts)

    def sentences(self) -> list[str]:
        """Return one sentence for each attribute and kind that occurred."""
        counts = sorted(self._counts.items(), key=lambda item: (item[0][0], item[0][1].name))
        return [_sentence(name, kind, n) for (name, kind), n in counts if n]

    def warn(self) -> None:
        """Show the curator one warning, which names the line of the first caller outside of this package.

        `warnings.warn` would store the text, with its private counts, in the `__warningregistry__` of the caller's
        module. This method uses a temporary registry instead. So nothing stores the text, and the default filters show
        the warning for every table. The user's filters work as usual.
        """
        sentences = self.sentences()
        if sentences:
            n_more = len(sentences) - 5
            text = " ".join(sentences[:5]) + (f" So it is in {n_more:,} more cases." if n_more > 0 else "")
            caller = sys._getframe(caller_level() - 1)
            warnings.warn_explicit(
                f"{text} The forest is made by this public rule, whatever the rows hold; this warning is for the "
                "curator only. Correct the table if it is wrong.",
                OutOfDomainWarning,
                caller.f_code.co_filename,
                caller.f_lineno,
                caller.f_globals.get("__name__"),
                registry={},
            )


def caller_level() -> int:
    """Return the `stacklevel` with which `warnings.warn` names the first caller outside of this package."""
    package, level = __name__.partition(".")[0], 1
    frame: FrameType = sys._getframe(1)
    while frame.f_back is not None and (frame.f_globals.get("__name__") or "").partition(".")[0] == package:
        frame, level = frame.f_back, level + 1
    return level


def _sentence(name: str, kind: OutOfDomain, n: int) -> str:
    have, be, were = ("has", "is", "was") if n == 1 else ("have", "are", "were")
    if kind in (OutOfDomain.LABEL, OutOfDomain.NO_UNIT):
        return f"{plural(n, 'row')} {have} {kind.value} and {were} left out."
    if kind is OutOfDomain.OVER_ROW_LIMIT:
        return f"{plural(n, 'row')} of persons with more rows than are kept of one person {were} left out."
    they = f"{'it' if n == 1 else 'they'} {were}"
    return f"{plural(n, 'cell')} of {name!r} {be} {kind.value.format(they=they)}."
