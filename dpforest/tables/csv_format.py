"""The public format of a CSV file: encoding, delimiter, decimal mark.

A stated format is not guessed from the rows, so no cell affects how another cell is read.
"""

from __future__ import annotations

import json
import re
from ast import literal_eval
from dataclasses import asdict, dataclass
from typing import Any

from dpforest.tables.features import DomainError

DECIMALS = (".", ",")
_STATED = re.compile(
    r"the file is (?P<encoding>[\w -]+?) text with (?P<delimiter>'(?:[^'\\]|\\.[^']*)'|\"'\") between columns "
    r"and decimal (?P<decimal>points|commas)(?P<some> \(points in (?=\[))?"
)


@dataclass(frozen=True)
class CsvFormat:
    """The format of a CSV file. Its `str` is the clause with which a certificate states the format.

    Parameters
    ----------
    encoding : str
        UTF-8, UTF-16, UTF-16-LE, UTF-16-BE, UTF-32 or Latin-1, as `dpforest.tables.csv_text.decode` detects it. An
        unknown name is refused when a file is read.
    delimiter : str
        One character.
    decimal : {".", ","}
        Decimal mark of all columns except `point_columns`.
    point_columns : tuple of str
        Columns with decimal points in a file with decimal commas.

    Examples
    --------
    >>> str(CsvFormat("Latin-1", ";", ","))
    "the file is Latin-1 text with ';' between columns and decimal commas"
    >>> CsvFormat("UTF-8", "|", ",", ("width",)).decimal_of("width")
    '.'
    """

    encoding: str = "UTF-8"
    delimiter: str = ","
    decimal: str = "."
    point_columns: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not isinstance(self.encoding, str):
            raise DomainError(f"The encoding of a file is a text such as 'UTF-8', not {self.encoding!r}.")
        if not isinstance(self.delimiter, str) or len(self.delimiter) != 1:
            raise DomainError(f"The delimiter of a file is one character, not {self.delimiter!r}.")
        if self.decimal not in DECIMALS:
            raise DomainError(f"The decimal mark of a file is '.' or ',', not {self.decimal!r}.")
        columns = self.point_columns
        if not isinstance(columns, (tuple, list)) or not all(isinstance(name, str) for name in columns):
            raise DomainError(f"The columns with decimal points are a list of names, not {columns!r}.")
        object.__setattr__(self, "point_columns", tuple(columns))

    def __str__(self) -> str:
        marks = "commas" if self.decimal == "," else "points"
        columns = self.point_columns
        exceptions = f" (points in {json.dumps(columns, ensure_ascii=False)})" if columns else ""
        return (
            f"the file is {self.encoding} text with {self.delimiter!r} between columns and decimal {marks}{exceptions}"
        )

    def decimal_of(self, column: str) -> str:
        """Return the decimal mark of a column."""
        return "." if column in self.point_columns else self.decimal

    def to_dict(self) -> dict[str, Any]:
        """Return a JSON-safe dictionary, from which `from_dict` rebuilds an equal format."""
        return {**asdict(self), "point_columns": list(self.point_columns)}

    @classmethod
    def from_dict(cls, entry: dict[str, Any]) -> CsvFormat:
        """Return the format that `to_dict` wrote; an absent key has its default value."""
        return cls(**entry)


def format_in_old_words(words: str) -> CsvFormat:
    """Return the format that a text of an earlier version states, or the default format.

    Domains and released files of earlier versions state the format only as the text ``str(format)``, possibly with
    other words around this text.

    >>> format_in_old_words("a survey; the file is Latin-1 text with ';' between columns and decimal commas")
    CsvFormat(encoding='Latin-1', delimiter=';', decimal=',', point_columns=())

    Raises
    ------
    DomainError
        If the delimiter has an invalid escape, or the list of columns with decimal points is cut off. A text that is
        cut off earlier does not match, and gives the default format.
    """
    match = _STATED.search(words)
    if match is None:
        return CsvFormat()
    try:
        delimiter = literal_eval(match["delimiter"])
        columns = json.JSONDecoder().raw_decode(words, match.end())[0] if match["some"] else ()
    except (ValueError, SyntaxError, RecursionError):
        raise DomainError("How the file is written cannot be read from these words; give a CsvFormat.") from None
    return CsvFormat(
        match["encoding"], delimiter, "," if match["decimal"] == "commas" else ".", tuple(map(str, columns))
    )


def as_format(words: str) -> CsvFormat | str:
    """Return the format if the words are exactly the `str` of a format; otherwise return the words unchanged."""
    try:
        stated_format = format_in_old_words(words)
    except DomainError:
        return words
    return stated_format if str(stated_format) == words else words
