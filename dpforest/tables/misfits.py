"""Cells and labels that do not fit their schema and were read by its public rule: told to the curator, kept nowhere."""

from __future__ import annotations

import sys
import threading
import warnings
from enum import Enum
from types import FrameType

from dpforest.tables.features import plural


class Misfit(Enum):
    """A way not to fit, with the half of a sentence that tells it: each has one, or telling it would fail on a row."""

    MISSING = "missing although none are expected; {they} read as its lower bound or first category"
    UNLISTED = "not listed although all are expected to be; {they} read as its first category"
    NO_NUMBER = "not a number; {they} read as missing"
    INFINITE = "infinite; {they} read as the bound"
    LABEL = "no label that is listed"


class MisfitWarning(UserWarning):
    """Cells or labels of a table were read by the public rule, as they do not fit. For the curator's eyes only."""


class Misfits:
    """Counts of what did not fit. They depend on rows, so they go to a warning and never into what a fit leaves behind.

    Examples
    --------
    >>> misfits = Misfits()
    >>> misfits.add("age", Misfit.MISSING, 2)
    >>> misfits.add("age", Misfit.MISSING, 1)
    >>> misfits.sentences()
    ["3 cells of 'age' are missing although none are expected; they were read as its lower bound or first category."]
    """

    def __init__(self) -> None:
        self._found: dict[tuple[str, Misfit], int] = {}
        self._lock = threading.Lock()  # a table is read in several threads

    def add(self, name: str, what: Misfit, n: int) -> None:
        """Note n cells of an attribute, or n labels."""
        with self._lock:
            self._found[name, what] = self._found.get((name, what), 0) + int(n)

    def count(self, name: str, what: Misfit) -> int:
        """How many were noted."""
        return self._found.get((name, what), 0)

    def sentences(self) -> list[str]:
        """One for each attribute and each way not to fit."""
        found = sorted(self._found.items(), key=lambda item: (item[0][0], item[0][1].name))
        return [_said(name, what, n) for (name, what), n in found if n]

    def warn(self) -> None:
        """Show the curator one warning, at the line of the first caller outside this package.

        `warnings.warn` would store the text, with its counts, in the `__warningregistry__` of the caller's module. This
        method uses a temporary registry instead. So the default filters show the warning for every table, and the
        user's filters work as usual.
        """
        said = self.sentences()
        if said:
            shown = " ".join(said[:5]) + (f" So it is in {len(said) - 5:,} more cases." if len(said) > 5 else "")
            caller = sys._getframe(caller_level() - 1)
            warnings.warn_explicit(
                f"{shown} The forest is made by this public rule, whatever the rows hold; this warning is for the "
                "curator only. Mend the table if it is wrong.",
                MisfitWarning,
                caller.f_code.co_filename,
                caller.f_lineno,
                caller.f_globals.get("__name__"),
                registry={},
            )


def caller_level() -> int:
    """The `stacklevel` for `warnings.warn` of the first frame outside this package, or of the outermost frame."""
    package, level = __name__.partition(".")[0], 1
    frame: FrameType = sys._getframe(1)
    while frame.f_back is not None and (frame.f_globals.get("__name__") or "").partition(".")[0] == package:
        frame, level = frame.f_back, level + 1
    return level


def _said(name: str, what: Misfit, n: int) -> str:
    have, be, were = ("has", "is", "was") if n == 1 else ("have", "are", "were")
    if what is Misfit.LABEL:
        return f"{plural(n, 'row')} {have} {what.value} and {were} left out."
    they = f"{'it' if n == 1 else 'they'} {were}"
    return f"{plural(n, 'cell')} of {name!r} {be} {what.value.format(they=they)}."
