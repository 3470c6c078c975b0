"""The public domain of one attribute: its bounds or its categories, and their sources."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any, Final

import numpy as np

from dpforest.limits import MAX_CATEGORIES, MISSING_STRIP, N_CODES
from dpforest.tables.dates import DatePart
from dpforest.tables.errors import DomainError
from dpforest.tables.reading_rules import Spellings, checked_signs, checked_spellings, checked_words
from dpforest.tables.scale import SCALES, Scale, least_with, position, scale_of

KINDS = ("numeric", "categorical")
SOURCES = ("documented", "asserted", "data")
MISSING = ("category", "value", "refuse")
MISSING_IN_FILES: Final = {"category": "own"}  # released files write "own" for "category"
OTHER = "(missing or other)"


class PrivacyLeakWarning(UserWarning):
    """A part of the public schema (bounds, categories, classes) was read from private data."""


def text(value: object) -> str:
    """Return the text by which a value is compared with a category or a class: 1, 1.0 and "1" have the same text.

    >>> text(1), text(1.0), text("1"), text(0.5), text(True)
    ('1', '1', '1', '0.5', 'True')
    """
    if isinstance(value, str):
        return str.__str__(value)  # a member of an enumeration of texts counts as its value, as in pandas
    if isinstance(value, (bool, np.bool_)):
        return str(bool(value))
    try:
        if isinstance(value, (float, np.floating)) and value.is_integer():
            return str(int(value))
        for kind in (int, float):  # a member of an enumeration of numbers counts as its number
            if isinstance(value, kind):
                return kind.__repr__(value)
        return str(value)
    # An int of thousands of digits or an unknown object may raise any error. Then the text is the name of the type.
    except Exception:
        return f"({type(value).__name__})"


def check_source(source: str, note: str, subject: str, parameter: str) -> None:
    """Raise DomainError unless a part of a schema has a valid source.

    In the message, `subject` names the part, and `parameter` names the parameter that holds the source.
    """
    if source not in SOURCES:
        raise DomainError(f"{parameter}={source!r} is not known; choose one of {', '.join(SOURCES)}.")
    if not isinstance(note, str) or (source != "data" and not note.strip()):
        raise DomainError(f"{subject} is called {source}, so say where that is written.")
    check_text(note, "where it is written")


def check_text(value: str, role: str) -> None:
    """Raise DomainError unless a value is a text that can be written in UTF-8. `role` describes the value."""
    if not isinstance(value, str):
        raise DomainError(f"{value!r}, {role}, is not a text.")
    try:
        value.encode()
    except UnicodeEncodeError:
        raise DomainError(f"{value!r}, {role}, is not valid Unicode (half a character); write it in UTF-8.") from None


def because(note: str) -> str:
    """Return a note with a colon before it, or an empty text if the note is empty."""
    return f": {note}" if note else ""


def plural(n: int, one: str, many: str = "") -> str:
    """Return a number with its noun.

    >>> plural(1, "row"), plural(30162, "row"), plural(2, "leaf", "leaves")
    ('1 row', '30,162 rows', '2 leaves')
    """
    return f"{n:,} {one if n == 1 else many or one + 's'}"


@dataclass(frozen=True)
class Feature:
    """The public domain of one attribute.

    A number is encoded as one of 65,536 codes between `low` and `high`. A number beyond a bound is clipped: it has the
    code of the bound. A category is encoded as its index in `categories`.

    Parameters
    ----------
    name : str
        Name of the column, as in the table.
    kind : {"numeric", "categorical"}
    low, high : float
        Bounds of a numeric attribute, finite, ``low < high``.
    integer : bool
        Whether only whole numbers occur. This affects how thresholds are displayed, and the scale of a narrow range.
    categories : tuple of str
        Values of a categorical attribute. A number in a table is compared by its text, so 1.0 and 1 are the category
        "1".
    source : {"documented", "asserted", "data"}
        Source of the bounds or categories. If it is "data", private values leak, and the forest is not certified.
    source_note : str
        For "documented", the document that states the values; for "asserted", the words of the user; for "data", the
        values that were read.
    missing : {"category", "value", "refuse"}
        "category": missing cells have a separate code. "value": missing cells are read as the public `missing_value`.
        "refuse": no missing cells are expected, and `Domain.encode` raises an error for a missing cell. But a fit
        raises no error, because the error would reveal a row: it reads a missing cell as the lower bound or the first
        category (`dpforest.tables.rows`).
    missing_value : float or str, optional
        Public replacement, for ``missing="value"``.
    type_source, type_note : str
        Source of `kind` and `integer`, and note on this source. If empty, `source` is also the source of `kind` and
        `integer`.
    missing_source, missing_note : str
        Source of `missing` and `missing_value`, and note on this source. If empty, `source` is also the source of these
        two parameters.
    scale : {"auto", "linear", "log"}
        How codes, and so thresholds, are spread over the range of a numeric attribute. "linear": evenly. "log": evenly
        over 20 octaves, which become narrower toward `low`, or toward 0 if the range has both signs. "auto": by the
        mean of "linear" and "log", which separates rows even if the bounds are much wider than the values
        (`dpforest.tables.scale`).
    missing_words : tuple of str
        Words such as "k.A." or "<5" that mean a missing cell of a numeric attribute. Case and surrounding spaces are
        ignored. A word that is a number, such as "999", applies to every cell with this value. The words have the same
        source as `missing`.
    signs : tuple of str
        Signs such as "%" or "€" that may stand before or after a number and are ignored: "12 %" is 12. The signs have
        the same source as `kind`.
    spellings : dict or tuple of pairs
        For each further spelling of a category, this category, as in ``{"YES": "yes"}``. If there are spellings, spaces
        around a cell are ignored. The spellings have the same source as `categories`.
    date : DatePart, optional
        If given, the attribute is a part of a date in the column ``date.column``. A cell that is not a date counts as
        missing. The source of `kind` is also the source of `date`.

    Raises
    ------
    DomainError
        If the parameters contradict each other, or one has a value that is not allowed.

    Examples
    --------
    >>> age = Feature("age", "numeric", low=0, high=90, source="documented", source_note="the questionnaire")
    >>> age.code(45), age.threshold_value(age.code(45) - 1) <= 45 < age.threshold_value(age.code(45))
    (47513, True)
    """

    name: str
    kind: str
    low: float | None = None
    high: float | None = None
    integer: bool = False
    categories: tuple[str, ...] = ()
    source: str = "data"
    source_note: str = ""
    missing: str = "refuse"
    missing_value: float | str | None = None
    type_source: str = ""
    type_note: str = ""
    missing_source: str = ""
    missing_note: str = ""
    scale: str = "auto"
    missing_words: tuple[str, ...] = ()
    signs: tuple[str, ...] = ()
    spellings: Spellings = ()
    date: DatePart | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not self.name:
            raise DomainError("Every attribute needs a name that is a text.")
        check_text(self.name, "the name of an attribute")
        for value, allowed, parameter in (
            (self.kind, KINDS, "kind"),
            (self.missing, MISSING, "missing"),
            (self.scale, SCALES, "scale"),
        ):
            if value not in allowed:
                raise DomainError(
                    f"{parameter}={value!r} of {self.name!r} is not known; choose one of {', '.join(allowed)}."
                )
        for note in (self.source_note, self.type_note, self.missing_note):
            check_text(note, f"where something about {self.name!r} is written")
        check_source(self.source, self.source_note, f"The domain of {self.name!r}", "source")
        if self.type_source:
            check_source(self.type_source, self.type_note, f"The type of {self.name!r}", "type_source")
        if self.missing_source:
            check_source(
                self.missing_source, self.missing_note, f"The rule for missing cells of {self.name!r}", "missing_source"
            )
        if self.kind == "numeric":
            self._check_bounds()
        else:
            self._check_categories()
            object.__setattr__(self, "scale", "auto")
        self._check_reading()

    def _check_reading(self) -> None:
        """Raise DomainError unless the reading rules fit the kind of the attribute."""
        rules = {"missing_words": self.missing_words, "signs": self.signs, "spellings": self.spellings}
        allowed = (
            () if self.date is not None else ("missing_words", "signs") if self.kind == "numeric" else ("spellings",)
        )
        for rule, values in rules.items():
            if values and rule not in allowed:
                kind = "a part of a date" if self.date is not None else self.kind
                raise DomainError(f"{self.name!r} is {kind}, so it takes no {rule}; leave them out.")
        object.__setattr__(self, "missing_words", checked_words(self.missing_words, self.name))
        object.__setattr__(self, "signs", checked_signs(self.signs, self.name))
        object.__setattr__(self, "spellings", checked_spellings(self.spellings, self.categories, repr(self.name)))
        for value in (*self.missing_words, *(spelling for spelling, _ in self.spellings)):
            check_text(value, f"a text in a reading rule of {self.name!r}")
        if self.date is None:
            return
        if not isinstance(self.date, DatePart):
            raise DomainError(f"date={self.date!r} of {self.name!r} is not a DatePart; use one, or None.")
        check_text(self.date.column, f"the column of {self.name!r}")
        if fault := self.date.fault(self.kind, self.categories):
            raise DomainError(f"{self.name!r} {fault}.")

    def _check_bounds(self) -> None:
        if self.categories:
            raise DomainError(f"{self.name!r} is numeric, so it takes bounds and no categories.")
        low, high = (self._number(value, what) for value, what in ((self.low, "lower"), (self.high, "upper")))
        if not low < high:
            raise DomainError(
                f"The lower bound of {self.name!r} must be below its upper bound, not {low:g} and {high:g}."
            )
        if not math.isfinite(high - low):
            raise DomainError(f"The bounds of {self.name!r} are too far apart to compute with; choose closer ones.")
        object.__setattr__(self, "low", low)
        object.__setattr__(self, "high", high)
        if self.missing == "value":
            object.__setattr__(self, "missing_value", self._number(self.missing_value, "missing_value"))

    def _number(self, value: Any, what: str) -> float:
        try:
            number = float(value)
        except (TypeError, ValueError):
            number = math.nan
        if not math.isfinite(number):
            bound = what if what == "missing_value" else f"{what} bound"
            raise DomainError(f"The {bound} of {self.name!r} must be a finite number, not {value!r}.")
        return number

    def _check_categories(self) -> None:
        if self.low is not None or self.high is not None:
            raise DomainError(f"{self.name!r} is categorical, so it takes categories and no bounds.")
        categories = tuple(text(category) for category in self.categories)
        object.__setattr__(self, "categories", categories)
        for category in categories:
            check_text(category, f"a category of {self.name!r}")
        if not categories:
            raise DomainError(f"{self.name!r} has no categories; list the values it can take.")
        if len(categories) > MAX_CATEGORIES:
            raise DomainError(
                f"{self.name!r} has {len(categories):,} categories, more than {MAX_CATEGORIES:,}; "
                "leave it out or group its values."
            )
        if len(set(categories)) < len(categories):
            repeated = next(c for i, c in enumerate(categories) if c in categories[:i])
            raise DomainError(f"{self.name!r} lists the category {repeated!r} twice; remove one.")
        if self.missing == "value":
            object.__setattr__(self, "missing_value", text(self.missing_value))
            if self.missing_value not in categories:
                raise DomainError(
                    f"missing_value={self.missing_value!r} of {self.name!r} is not one of its categories."
                )

    @property
    def column(self) -> str:
        """Name of the column that the attribute is read from: the column of its date, or else its name."""
        return self.name if self.date is None else self.date.column

    @property
    def has_reading_rules(self) -> bool:
        """Whether the attribute has a reading rule: words, signs, spellings or a date."""
        return bool(self.missing_words or self.signs or self.spellings or self.date)

    @property
    def n_codes(self) -> int:
        """Number of codes: 65,536, or one for each category and one for "missing or other"."""
        return N_CODES if self.kind == "numeric" else len(self.categories) + (self.missing == "category")

    @property
    def first_code(self) -> int:
        """Lowest code S of a value that is not missing; all codes below S mean "missing"."""
        return MISSING_STRIP if self.kind == "numeric" and self.missing == "category" else 0

    @property
    def code_labels(self) -> tuple[str, ...]:
        """Meaning of each code of a categorical attribute, in order."""
        return (*self.categories, OTHER) if self.missing == "category" else self.categories

    def code(self, value: Any) -> int:
        """Return the code of a value.

        Parameters
        ----------
        value : float or str
            Number, or one of the categories.

        Returns
        -------
        int
            Index of the category. For a number, let p be its position between the bounds, from 0 to 1, and let S be
            `first_code`. The code is S + floor(p (65,536 - S)), but at most 65,535.
        """
        if self.kind == "categorical":
            return self.categories.index(text(value))
        span = N_CODES - self.first_code
        return self.first_code + min(math.floor(position(self.scale_numbers, float(value)) * span), span - 1)

    def threshold_value(self, t: int) -> float:
        """Return the value v for which ``code > t`` means "at least v"; -inf if ``code > t`` means "not missing"."""
        if t < self.first_code:
            return -math.inf
        span, steps = N_CODES - self.first_code, t + 1 - self.first_code
        scale = self.scale_numbers
        if self.scale == "linear":
            return scale.low + steps / span * (scale.high - scale.low)
        return least_with(scale, lambda p: p * span >= steps)

    def least_value(self, code: int) -> float:
        """Return the least value between the bounds whose code is at least `code`."""
        assert self.low is not None
        return self.threshold_value(code - 1) if code > self.first_code else self.low

    @property
    def scale_numbers(self) -> Scale:
        """The scale of a numeric attribute."""
        assert self.low is not None and self.high is not None
        return scale_of(self.low, self.high, self.integer, self.scale)

    def leaks(self) -> list[str]:
        """Return a sentence for each part that was read from the data; empty if all parts are public."""
        if self.source == "data":
            property_text = "bounds" if self.kind == "numeric" else "categories"
            return [f"The {property_text} of {self.name!r} were read from the data{because(self.source_note)}."]
        sentences = []
        if self.type_source == "data":
            property_text = "whole numbers" if self.integer else self.kind
            property_text = (
                property_text
                if self.date is None
                else f"{self.date} of a date in {self.date.column!r} ({self.date.format})"
            )
            sentences.append(f"That {self.name!r} is {property_text} was read from the data{because(self.type_note)}.")
        if self.missing_source == "data":
            sentences.append(
                f"Whether cells of {self.name!r} are missing was read from the data{because(self.missing_note)}."
            )
        return sentences

    def to_dict(self) -> dict[str, Any]:
        """Return a JSON-safe dictionary, from which `from_dict` makes an equal feature."""
        missing = MISSING_IN_FILES.get(self.missing, self.missing)
        entry = {**asdict(self), "categories": list(self.categories), "missing": missing}
        rules = {
            "missing_words": list(self.missing_words),
            "signs": list(self.signs),
            "spellings": [list(pair) for pair in self.spellings],
            "date": None if self.date is None else self.date.to_dict(),
        }
        for rule, value in rules.items():  # earlier versions can read a file if it names no reading rules
            del entry[rule]
            if value:
                entry[rule] = value
        return entry

    @classmethod
    def from_dict(cls, entry: dict[str, Any]) -> Feature:
        """Return the feature that `to_dict` wrote. In entries of earlier versions, an absent scale is linear."""
        rules = {word: rule for rule, word in MISSING_IN_FILES.items()}
        arguments = {"scale": "linear", **entry, "categories": tuple(entry.get("categories", ()))}
        if "missing" in entry:
            arguments["missing"] = rules.get(entry["missing"], entry["missing"])
        if isinstance(entry.get("date"), dict):
            arguments["date"] = DatePart(**entry["date"])
        return cls(**arguments)
