"""Read a column of dates, each cell independently, for attributes that hold a part of the date, such as its year."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any, Final

import numpy as np

from dpforest.tables.cells import Keys, cell_text, factorize, key
from dpforest.tables.dates import DAYS, MONTH, MONTHS, WEEKDAY, WEEKDAYS, YEAR, DatePart, date_of
from dpforest.tables.errors import DomainError
from dpforest.tables.features import Feature, plural
from dpforest.tables.out_of_domain import OutOfDomain, OutOfDomainCells

NO_DATE: Final = -1  # in an array of days, stands for a cell that is neither missing nor a date
MISSING_DAY: Final = 0
_EPOCH: Final = date(1970, 1, 1).toordinal()


@dataclass(frozen=True, eq=False)
class DateColumn:
    """The dates of a column. Only the curator (the data holder) may see them.

    Parameters
    ----------
    day : int64 array of shape (n,)
        Ordinal of each date (`datetime.date.toordinal`); `MISSING_DAY` for a missing cell; `NO_DATE` for a cell that is
        neither.
    first_bad : str
        Text of the first cell that is no date; empty if there is none.
    """

    day: np.ndarray
    first_bad: str

    @property
    def n_bad(self) -> int:
        """Number of cells that are neither missing nor dates."""
        return int((self.day == NO_DATE).sum())

    def values(self, part: DatePart) -> np.ndarray:
        """Return a part of each date as a whole number, float64 (n,); NaN without a date. A weekday is 0 on Monday."""
        is_known = self.day > 0
        day = np.where(is_known, self.day, _EPOCH)
        days = (day - _EPOCH).astype("datetime64[D]")
        if part.part == DAYS:
            values = day - part.first_day
        elif part.part == YEAR:
            values = days.astype("datetime64[Y]").astype(np.int64) + 1970
        elif part.part == MONTH:
            values = days.astype("datetime64[M]").astype(np.int64) % 12 + 1
        else:
            values = (day - 1) % 7
        return np.where(is_known, values, np.nan)

    def note(self, feature: Feature, out_of_domain: OutOfDomainCells | None) -> int:
        """Add the number of cells that are no dates to `out_of_domain`, and return this number.

        Raise DomainError if there are such cells and `out_of_domain` is None.
        """
        if self.n_bad and out_of_domain is None:
            assert feature.date is not None
            raise DomainError(
                f"{feature.column!r} has {plural(self.n_bad, 'cell')} that {'is' if self.n_bad == 1 else 'are'} no "
                f"date in the format {feature.date.format}, the first with {self.first_bad!r}; empty these cells, or "
                "read the file with read_table."
            )
        if out_of_domain is not None:
            out_of_domain.add(feature.name, OutOfDomain.NO_DATE, self.n_bad)
        return self.n_bad


def dates_of(column: Any, date_format: str) -> DateColumn:
    """Return the dates of a column of texts, dates, timestamps or numbers such as 20240131.

    The date of a cell depends only on the text of the cell. The text of a timestamp begins with the date in the time
    zone of this timestamp.
    """
    if isinstance(column.dtype, np.dtype) and column.dtype.kind == "M":
        return _of_timestamps(np.asarray(column))
    codes, values = factorize(column)
    dates = [date_of(key(value).strip(), date_format) for value in values]
    ordinals = [NO_DATE if day is None else day.toordinal() for day in dates]
    days = np.array([*ordinals, MISSING_DAY], np.int64)[codes]
    bad_rows = np.flatnonzero(days == NO_DATE)
    return DateColumn(days, cell_text(values[codes[bad_rows[0]]]) if len(bad_rows) else "")


def _of_timestamps(column: np.ndarray) -> DateColumn:
    """Return the dates of a numpy array of timestamps. A day outside of the years 1 to 9999 is no date."""
    days = column.astype("datetime64[D]")
    day = days.astype(np.int64)
    is_known = (day >= 1 - _EPOCH) & (day <= date.max.toordinal() - _EPOCH)
    day = np.where(np.isnat(days), MISSING_DAY, np.where(is_known, np.where(is_known, day, 0) + _EPOCH, NO_DATE))
    bad_rows = np.flatnonzero(day == NO_DATE)
    return DateColumn(day, str(column[bad_rows[0]]) if len(bad_rows) else "")


def date_places(feature: Feature, dates: DateColumn, otherwise: int) -> np.ndarray:
    """Return the index of the category of each cell; -1 without a date, `otherwise` if the category is not listed."""
    assert feature.date is not None
    values = dates.values(feature.date)
    is_known = ~np.isnan(values)
    places = np.full(len(values), -1, np.int64)
    keys = Keys(feature.categories)
    distinct, index = np.unique(values[is_known].astype(np.int64), return_inverse=True)
    names = [WEEKDAYS[value] if feature.date.part == WEEKDAY else str(value) for value in distinct.tolist()]
    places[is_known] = np.array([keys.find(name, otherwise) for name in names], np.int64)[index.reshape(-1)]
    return places


def date_attributes(
    column: str,
    date_format: str,
    parts: Sequence[str] = (YEAR, MONTH, WEEKDAY),
    *,
    first: str,
    last: str,
    missing: str = "category",
    source: str = "data",
    source_note: str = "",
) -> tuple[Feature, ...]:
    """Return attributes for some parts of the dates in a column.

    Parameters
    ----------
    column : str
        Name of the column with the dates.
    date_format : str
        One of `dpforest.tables.dates.DATE_FORMATS`, such as "DD.MM.YYYY".
    parts : sequence of {"year", "month", "weekday", "days"}
        Each part becomes one attribute. For a column "admitted" and the part "year", the attribute is called "admitted
        (year)". Months and weekdays are categories.
    first, last : str
        Public first and last date, such as "2020-01-31", between which all dates lie. Their years are the bounds of the
        part "year". The part "days" counts the days since `first`.
    missing : {"category", "refuse"}
        Rule for missing cells and for cells that are not dates, as in `Feature`.
    source, source_note : str
        Source of the format and the bounds, as in `Feature`. This source also covers the categories of months and
        weekdays.

    Returns
    -------
    tuple of Feature
        One attribute for each part, in the order of `parts`.

    Raises
    ------
    DomainError
        If a format or part is unknown, if `first` or `last` is not written as "2020-01-31", or if `first` is not before
        `last`.

    Examples
    --------
    >>> for attribute in date_attributes("admitted", "DD.MM.YYYY", first="2010-01-01", last="2029-12-31"):
    ...     print(attribute.name, attribute.kind, attribute.low, attribute.high)
    admitted (year) numeric 2010.0 2029.0
    admitted (month) categorical None None
    admitted (weekday) categorical None None
    """
    ends = [date_of(end, "YYYY-MM-DD") for end in (first, last)]
    if ends[0] is None or ends[1] is None or not ends[0] < ends[1]:
        raise DomainError(f"The dates in {column!r} need a first and a later last date such as 2020-01-31.")
    low, high = ends[0], ends[1]
    values: dict[str, dict[str, Any]] = {
        # If all dates lie in one year, the next year is the upper bound, because bounds must differ.
        YEAR: {"kind": "numeric", "low": low.year, "high": max(high.year, low.year + 1), "integer": True},
        MONTH: {"kind": "categorical", "categories": MONTHS},
        WEEKDAY: {"kind": "categorical", "categories": WEEKDAYS},
        DAYS: {"kind": "numeric", "low": 0, "high": (high - low).days, "integer": True},
    }
    if unknown := [part for part in parts if part not in values]:
        raise DomainError(f"part={unknown[0]!r} of a date is not known; choose one of {', '.join(values)}.")
    return tuple(
        Feature(
            f"{column} ({part})",
            **values[part],
            missing=missing,
            source=source,
            source_note=source_note,
            date=DatePart(column, date_format, part, since=first if part == DAYS else ""),
        )
        for part in parts
    )
