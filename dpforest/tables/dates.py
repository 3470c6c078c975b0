"""Formats of dates that a schema can declare, and the parts of a date that an attribute can hold.

The format is public and the same for all cells of a column, so the date of a cell depends only on the text of this
cell. The code never guesses the order of day and month. Years have four digits.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import date
from typing import Any, Final

from dpforest.tables.errors import DomainError

YEAR, MONTH, WEEKDAY, DAYS = "year", "month", "weekday", "days"
DATE_PARTS: Final = (YEAR, MONTH, WEEKDAY, DAYS)
WEEKDAYS: Final = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
MONTHS: Final = tuple(str(month) for month in range(1, 13))
ISO: Final = "YYYY-MM-DD"
COMPACT: Final = "YYYYMMDD"

_NAMES: Final = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_NAME: Final = (
    "(?P<name>jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sep(?:tember|t)?"
    r"|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)\.?"
)
_YEAR, _MONTH, _DAY = "(?P<year>[0-9]{4})", "(?P<month>[0-9]{1,2})", "(?P<day>[0-9]{1,2})"
_HOUR, _SIXTY = "(?:[01]?[0-9]|2[0-3])", "[0-5][0-9]"
# A time of day and a time zone are ignored, so the result is the date that is written in the cell. numpy writes up to
# 18 decimals of a second.
_TIME: Final = (
    rf"(?:[T ] *{_HOUR}(?::{_SIXTY}(?::{_SIXTY}(?:[.,][0-9]{{1,18}})?)?)?(?: ?[ap]\.?m\.?)?"
    r"(?: ?(?:Z|UTC|[+-][0-9]{2}(?::?[0-9]{2}(?::?[0-9]{2})?)?))?)?"
)
_DATE_FORMATS: Final = {  # pattern of each format, in the order in which the app lists the formats
    ISO: f"{_YEAR}-{_MONTH}-{_DAY}",
    "DD.MM.YYYY": rf"{_DAY}\.{_MONTH}\.{_YEAR}",
    "DD/MM/YYYY": f"{_DAY}/{_MONTH}/{_YEAR}",
    "MM/DD/YYYY": f"{_MONTH}/{_DAY}/{_YEAR}",
    "DD-MM-YYYY": f"{_DAY}-{_MONTH}-{_YEAR}",
    "MM-DD-YYYY": f"{_MONTH}-{_DAY}-{_YEAR}",
    "YYYY/MM/DD": f"{_YEAR}/{_MONTH}/{_DAY}",
    "YYYY.MM.DD": rf"{_YEAR}\.{_MONTH}\.{_DAY}",
    "DD Mon YYYY": f"{_DAY}[- ]{_NAME}[- ]{_YEAR}",
    "Mon DD, YYYY": f"{_NAME} {_DAY},? {_YEAR}",
    # Hospital systems write the time right after the date, as in 202401311030.
    COMPACT: f"(?P<year>[0-9]{{4}})(?P<month>[0-9]{{2}})(?P<day>[0-9]{{2}})"
    f"(?:T?(?:[01][0-9]|2[0-3]){_SIXTY}(?:{_SIXTY})?)?",
}
DATE_FORMATS: Final = tuple(_DATE_FORMATS)
_PATTERNS: Final = {
    name: re.compile(pattern + _TIME, re.IGNORECASE | re.ASCII) for name, pattern in _DATE_FORMATS.items()
}
_WRITTEN_BY_PROGRAMS: Final = re.compile(
    "(?P<year>[0-9]{4})-(?P<month>[0-9]{2})-(?P<day>[0-9]{2})" + _TIME, re.IGNORECASE | re.ASCII
)


def date_of(text: str, date_format: str) -> date | None:
    """Return the date that a trimmed text states in the given format or in the ISO form (YYYY-MM-DD), or None.

    Programs write dates of data frames in the ISO form, with four digits before the first hyphen. No format gives such
    a text another meaning, so the ISO form is accepted with every format.

    >>> date_of("31.01.2024 23:30", "DD.MM.YYYY"), date_of("2024-01-31", "DD.MM.YYYY")
    (datetime.date(2024, 1, 31), datetime.date(2024, 1, 31))
    >>> date_of("31.02.2024", "DD.MM.YYYY"), date_of("1.2.24", "DD.MM.YYYY"), date_of("01/31/2024", "DD/MM/YYYY")
    (None, None, None)
    """
    match = _PATTERNS[date_format].fullmatch(text) or _WRITTEN_BY_PROGRAMS.fullmatch(text)
    return None if match is None else _date(match)


def is_in_format(text: str, date_format: str) -> bool:
    """Return whether a trimmed text states a date in exactly this format, not only in the ISO form."""
    match = _PATTERNS[date_format].fullmatch(text)
    return match is not None and _date(match) is not None


def _date(match: re.Match[str]) -> date | None:
    groups = match.groupdict()
    month = groups.get("month") or _NAMES.index(groups["name"][:3].lower()) + 1
    try:
        return date(int(groups["year"]), int(month), int(groups["day"]))
    except ValueError:  # the calendar has no such day, such as February 30
        return None


@dataclass(frozen=True)
class DatePart:
    """The part of a date that an attribute holds, and the column and format of the date.

    Parameters
    ----------
    column : str
        Name of the column with the dates. Several attributes can hold parts of the dates of one column.
    format : str
        One of `DATE_FORMATS`, such as "DD.MM.YYYY" or "MM/DD/YYYY". A day or month may have one digit, except in
        "YYYYMMDD". A time of day may follow, and is ignored. A date in the ISO form, such as 2024-01-31, is accepted
        with every format.
    part : {"year", "month", "weekday", "days"}
        A "year" is a number such as 2024, or a category "2024". A "month" is a number from 1 to 12, or a category "1"
        to "12". A "weekday" is a category "Monday" to "Sunday". "days" is the number of days since the date in `since`.
    since : str, optional
        Public date in the ISO form, for the part "days".

    Raises
    ------
    DomainError
        If a format or a part is unknown, if `since` is absent for the part "days", or if `since` is given for another
        part.

    Examples
    --------
    >>> from dpforest import Domain, Feature
    >>> part = DatePart("admitted", "DD.MM.YYYY", "days", since="2020-01-01")
    >>> since = Feature("days since 2020", "numeric", 0, 3653, integer=True, missing="category", date=part)
    >>> Domain((since,)).encode([["01.01.2020"], [date(2020, 1, 1)]]).ravel().tolist()
    [5957, 5957]
    """

    column: str
    format: str
    part: str
    since: str = ""

    def __post_init__(self) -> None:
        if not isinstance(self.column, str) or not self.column:
            raise DomainError("A part of a date needs the name of the column with the dates.")
        if self.format not in DATE_FORMATS:
            raise DomainError(
                f"The format {self.format!r} of the dates in {self.column!r} is not known; choose one of "
                f"{', '.join(DATE_FORMATS)}."
            )
        if self.part not in DATE_PARTS:
            raise DomainError(f"part={self.part!r} of a date is not known; choose one of {', '.join(DATE_PARTS)}.")
        if self.part != DAYS and self.since:
            raise DomainError(f"Only the part {DAYS!r} of a date takes a date since which it counts.")
        if self.part == DAYS and (not isinstance(self.since, str) or not is_in_format(self.since, ISO)):
            raise DomainError(
                f"Days are counted since a public date such as 2020-01-01, not {self.since!r}; give since=."
            )

    @property
    def first_day(self) -> int:
        """Ordinal (`datetime.date.toordinal`) of the date in `since`, for the part "days"."""
        day = date_of(self.since, ISO)
        assert day is not None
        return day.toordinal()

    def __str__(self) -> str:
        return f"the number of days since {self.since}" if self.part == DAYS else f"the {self.part}"

    def fault(self, kind: str, categories: tuple[str, ...]) -> str:
        """Return the end of a sentence: why an attribute of this kind cannot hold this part; empty if it can."""
        if kind == "numeric":
            return "is a weekday, which is a category; make it categorical" if self.part == WEEKDAY else ""
        if self.part == DAYS:
            return "is a number of days; make it numeric"
        possible = {MONTH: MONTHS, WEEKDAY: WEEKDAYS}.get(self.part)
        for value in categories:
            if value not in possible if possible else not re.fullmatch("[1-9][0-9]{0,3}", value):
                return f"is {self}, so it cannot have the category {value!r}"
        return ""

    def to_dict(self) -> dict[str, Any]:
        """Return a JSON-safe dictionary with the parameters."""
        entry = {"column": self.column, "format": self.format, "part": self.part}
        return {**entry, "since": self.since} if self.since else entry
