"""The public schema of a table: the domain of every attribute, the classes, and the sources of all of them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Final

import numpy as np
import pandas as pd

from dpforest.limits import MAX_CLASSES, MAX_FEATURES, MIN_CLASSES
from dpforest.tables import encoding
from dpforest.tables.cells import values_with_one_key
from dpforest.tables.csv_format import CsvFormat, as_format, format_in_old_words
from dpforest.tables.features import DomainError, Feature, PrivacyLeakWarning, because, check_source, check_text, text
from dpforest.tables.inference import infer_classes, infer_features
from dpforest.tables.out_of_domain import OutOfDomainCells
from dpforest.tables.reading_rules import (
    Spellings,
    checked_spellings,
    signs_sentence,
    spellings_sentence,
    words_sentence,
)
from dpforest.tables.units import MOST_ROWS, UNIT_WEIGHT

__all__ = ["Domain", "DomainError", "Feature", "PrivacyLeakWarning"]

# Every certificate states the rule by which a fit reads a table (READ_BY_RULE), and facts that only the data holder can
# know (HANDED_OVER).
READ_BY_RULE: Final = (
    "Each cell is read by itself. A number beyond its bounds counts as the bound. A cell that does not fit counts as "
    "missing or, if the schema says that no cell is missing, as the lower bound or the first category. A row whose "
    "label is not listed is left out."
)
HANDED_OVER: Final = (
    "The form of the table (its columns, their names and types, and which of them is the label) was fixed without "
    "looking at its rows."
)


@dataclass(frozen=True)
class Domain:
    """The public schema of a table: facts that are known without looking at any row.

    Parameters
    ----------
    features : tuple of Feature
        The attributes, in the order of the columns of an encoded table.
    classes : tuple
        The possible labels, as texts or numbers. A label of a table is a class if both have the same text or the same
        number. Empty for a table without labels.
    label : str
        Name of the label column.
    classes_source : {"documented", "asserted", "data"}
        Source of the classes, as `Feature.source`.
    classes_note : str
        Note on the source of the classes, as `Feature.source_note`.
    reading : CsvFormat or str
        How the rows are written, which the certificate states: the format with which `read_table` reads a CSV file, or
        a clause in words. If the clause equals the `str` of a `CsvFormat`, it is replaced by this format.
    reading_source, reading_note : str
        Source of `reading` and note on this source, as `Feature.source` and `Feature.source_note`. Without a source,
        `reading` counts as read from the rows.
    columns_source, columns_note : str
        Source of the choice of columns, and note on this source. If empty, the author of the domain chose the columns
        without looking at rows.
    unit : str or None
        Name of a column of identifiers, which is not an attribute. All rows with the same identifier belong to one
        person, and a person is the unit of privacy. If None, each row is a person.
    class_spellings : dict or tuple of pairs
        For each further spelling of a class, the text of this class, as in ``{"YES": "yes"}``. If there are spellings,
        spaces around a label are ignored. The spellings have the same source as the classes.

    Raises
    ------
    DomainError
        If the parameters contradict each other, or one has a value that is not allowed.

    Examples
    --------
    >>> age = Feature("age", "numeric", low=0, high=90, source="documented", source_note="the questionnaire")
    >>> city = Feature("city", "categorical", categories=("Bonn", "Ulm"), source="data")
    >>> domain = Domain((age, city), (0, 1), "ill", "asserted", "ill is yes or no")
    >>> domain.encode(pd.DataFrame({"city": ["Ulm", "Bonn"], "age": [45, 200]}))
    array([[47513,     1],
           [65535,     0]], dtype=uint16)
    >>> domain.leaks()
    ["The categories of 'city' were read from the data."]
    """

    features: tuple[Feature, ...]
    classes: tuple[Any, ...] = ()
    label: str = ""
    classes_source: str = "data"
    classes_note: str = ""
    reading: CsvFormat | str = ""
    reading_source: str = ""
    reading_note: str = ""
    columns_source: str = ""
    columns_note: str = ""
    unit: str | None = None
    class_spellings: Spellings = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "features", tuple(self.features))
        object.__setattr__(self, "classes", tuple(_plain(label) for label in self.classes))
        if not self.features:
            raise DomainError("The table has no attributes besides the label; give at least one.")
        if len(self.features) > MAX_FEATURES:
            raise DomainError(
                f"The table has {len(self.features):,} attributes, more than {MAX_FEATURES:,}; leave some out."
            )
        names = self.names
        if len(set(names)) < len(names):
            raise DomainError(f"Two attributes are called {_first_repeated(names)!r}; rename one.")
        if self.label in (*names, *self.source_columns):
            raise DomainError(f"{self.label!r} is the label, so it cannot be an attribute as well; leave it out.")
        if not isinstance(self.label, str) or not isinstance(self.reading, (str, CsvFormat)):
            raise DomainError("The label and the reading of a domain must be texts, or the latter a CsvFormat.")
        check_text(self.label, "the label")
        self._check_dates()
        self._check_unit()
        check_text(str(self.reading), "the reading")
        if isinstance(self.reading, str):
            object.__setattr__(self, "reading", as_format(self.reading))
        check_source(self.classes_source, self.classes_note if self.classes else "-", "The label", "classes_source")
        for note in (self.classes_note, self.reading_note, self.columns_note):
            check_text(note, "where something is written")
        for part, subject in (("reading", "How the rows are written"), ("columns", "The choice of columns")):
            source, note = getattr(self, f"{part}_source"), getattr(self, f"{part}_note")
            if source:
                check_source(source, note, subject, f"{part}_source")
        if self.classes:
            self._check_classes()
        texts, subject = tuple(map(text, self.classes)), repr(self.label) if self.label else "the label"
        object.__setattr__(self, "class_spellings", checked_spellings(self.class_spellings, texts, subject))
        for spelling, _ in self.class_spellings:
            check_text(spelling, "a spelling of a class")
        _ = self._grid  # computed now, so that a pickle is the same before and after a fit

    def __deepcopy__(self, memo: dict[int, Any]) -> Domain:
        """Return the domain itself: it is immutable, and thousands of clones of an estimator can share it."""
        return self

    def _check_dates(self) -> None:
        """Raise DomainError if two attributes read one column with different date formats."""
        rules: dict[str, str | None] = {}
        for feature in self.features:
            rule = None if feature.date is None else feature.date.format
            if rules.setdefault(feature.column, rule) != rule:
                raise DomainError(
                    f"The column {feature.column!r} has two attributes that read it in different ways; give all of "
                    "them the same format of dates."
                )

    def _check_unit(self) -> None:
        if self.unit is None:
            return
        if not isinstance(self.unit, str) or not self.unit:
            raise DomainError(
                f"unit={self.unit!r} is not the name of a column; use one, or None: each row is a person."
            )
        check_text(self.unit, "the unit")
        if self.unit in (*self.names, *self.source_columns, self.label):
            raise DomainError(
                f"{self.unit!r} names the unit of privacy, so it cannot be an attribute or the label as well; leave it "
                "out of the attributes."
            )

    def _check_classes(self) -> None:
        if not MIN_CLASSES <= len(self.classes) <= MAX_CLASSES:
            raise DomainError(
                f"The label has {len(self.classes):,} class{'es' * (len(self.classes) != 1)}, but a classifier needs "
                f"between {MIN_CLASSES} and {MAX_CLASSES}; choose another label."
            )
        texts = [text(label) for label in self.classes]
        if len(set(texts)) < len(texts):
            raise DomainError(f"The class {_first_repeated(texts)!r} is listed twice; remove one.")
        for label in texts:
            check_text(label, "a class")
        if len(set(self.classes)) < len(self.classes):
            raise DomainError(f"Two classes of {', '.join(texts)} are the same to a program, as True and 1 are.")

    def __repr__(self) -> str:
        size = f"{len(self.features)} attributes, {len(self.classes)} classes"
        return f"<Domain: {size}{f' of {self.label!r}' if self.label else ''}>"

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(feature.name for feature in self.features)

    @property
    def source_columns(self) -> tuple[str, ...]:
        """Names of the columns that attributes are read from: the column of an attribute's date, or else its name."""
        return encoding.source_columns(self.features)

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the columns that a fit reads besides the label: `source_columns`, and the unit if there is one."""
        return self.source_columns if self.unit is None else (*self.source_columns, self.unit)

    @property
    def count_unit(self) -> int:
        """Largest amount that is added to a count: 1 by a row or, if the domain has a unit, 1024 by a person."""
        return 1 if self.unit is None else UNIT_WEIGHT

    @property
    def n_features(self) -> int:
        return len(self.features)

    @property
    def n_classes(self) -> int:
        return len(self.classes)

    @property
    def class_array(self) -> np.ndarray:
        """Classes as an array of the type of predicted labels, (n_classes,): objects if there are texts and numbers."""
        are_mixed = len({isinstance(label, str) for label in self.classes}) > 1
        return np.array(self.classes, dtype=object if are_mixed else None)

    @property
    def csv_format(self) -> CsvFormat:
        """The `CsvFormat` in `reading`, or the default: UTF-8 with commas between columns and decimal points."""
        return self.reading if isinstance(self.reading, CsvFormat) else format_in_old_words(self.reading)

    def on_scale(self, scale: str) -> Domain:
        """Return a copy whose numeric attributes all have this scale (`Feature.scale`)."""
        if all(feature.scale == scale for feature in self.features if feature.kind == "numeric"):
            return self
        return replace(self, features=tuple(replace(feature, scale=scale) for feature in self.features))

    @cached_property
    def _grid(self) -> encoding.Grid:
        return encoding.grid(self.features)

    def encode(self, X: Any, out_of_domain: OutOfDomainCells | None = None) -> np.ndarray:
        """Encode a table, or a block of its rows, as codes.

        The code of a cell depends on this cell and on the domain, never on other cells or on the type of the column.
        For example, 1, 1.0, "1" and "01" have the same code. So a row has the same codes alone and in any table.

        Parameters
        ----------
        X : DataFrame, array or list of shape (n, m)
            A DataFrame is read by column name (further columns are ignored), an array by position. If attributes are
            parts of dates, the columns of an array are those of `source_columns`.
        out_of_domain : OutOfDomainCells, optional
            If given, it counts the cells outside of the domain, which are read by the public rule of a fit and raise no
            error (`dpforest.tables.rows`).

        Returns
        -------
        ndarray of uint16, shape (n, m), C order
            Column j holds the codes of ``features[j]``.

        Raises
        ------
        DomainError
            If a column is absent. Without `out_of_domain`, also if a numeric column contains dates, infinity or texts
            that are not numbers, or if a column has missing or unlisted cells that its `Feature.missing` refuses.
        """
        return encoding.encode(self.features, self._grid, X, out_of_domain)

    def encode_labels(self, y: Any) -> np.ndarray:
        """Return the index in `classes` of each label; each label is read independently, as in `encode`.

        Parameters
        ----------
        y : array of shape (n,)
            Labels, which match classes by their text or their number.

        Returns
        -------
        int32 array of shape (n,)
            Numbers from 0 to ``n_classes - 1``.

        Raises
        ------
        DomainError
            If a label is missing or not one of the classes.
        """
        return encoding.encode_labels(self.classes, y, self.label, self.class_spellings)

    def listed_labels(self, y: Any) -> np.ndarray:
        """Return the index in `classes` of each label, negative if the label is missing or not listed."""
        return encoding.listed_labels(self.classes, y, self.label, self.class_spellings)

    def report(self, X: Any) -> pd.DataFrame:
        """Return the numbers of clipped, unlisted or unreadable, and missing cells by feature, for the curator only."""
        return encoding.report(self.features, X)

    def leaks(self) -> list[str]:
        """Return a sentence for each part of the schema that was read from the data; empty if all parts are public."""
        sentences = [sentence for feature in self.features for sentence in feature.leaks()]
        if self.classes and self.classes_source == "data":
            name = f" of {self.label!r}" if self.label else ""
            sentences.append(f"The classes{name} were read from the data{because(self.classes_note)}.")
        if self.reading and self.reading_source in ("", "data"):
            sentences.append(
                f"How the rows are written was found out from them{because(self.reading_note)}: {self.reading}."
            )
        if self.columns_source == "data":
            sentences.append(f"Which columns are used was decided by what is in them{because(self.columns_note)}.")
        return sentences

    def assumptions(self) -> list[str]:
        """Return sentences on the sources of the public schema, and on the rules by which a fit reads rows."""
        groups: dict[tuple[str, str], list[str]] = {}
        for feature in self.features:
            groups.setdefault((feature.source, feature.source_note), []).append(repr(feature.name))
        if self.classes:
            groups.setdefault((self.classes_source, self.classes_note), []).append("the classes")
        sentences = [
            f"The domain{'s' * (len(names) > 1)} of {_first_names(names)} {'are' if len(names) > 1 else 'is'} "
            f"{_origin(source, note)}."
            for (source, note), names in groups.items()
            if source != "data"
        ]
        for part, property_text in (("type", "type"), ("missing", "rule for missing cells")):
            groups = {}
            for feature in self.features:
                origin = getattr(feature, f"{part}_source"), getattr(feature, f"{part}_note")
                if origin[0] not in ("", "data"):
                    groups.setdefault(origin, []).append(repr(feature.name))
            sentences += [
                f"The {property_text} of {_first_names(names)} is {_origin(*origin)}."
                for origin, names in groups.items()
            ]
        if self.reading and self.reading_source not in ("", "data"):
            sentences.append(f"That {self.reading} is {_origin(self.reading_source, self.reading_note)}.")
        if self.columns_source not in ("", "data"):
            sentences.append(f"The choice of columns is {_origin(self.columns_source, self.columns_note)}.")
        sentences += self._reading_sentences()
        listed = {repr(f.name): (f.categories, f.spellings) for f in self.features}
        listed["the label"] = self.classes, self.class_spellings
        for name, (values, spellings) in listed.items():
            if same_key := values_with_one_key(values, spellings):
                sentences.append(
                    f"The values of {name} were handed over as texts: {same_key[0]!r} and {same_key[1]!r} may "
                    "otherwise be the same."
                )
        unit_sentences = () if self.unit is None else (unit_sentence(self.unit),)
        return [*sentences, READ_BY_RULE, HANDED_OVER, *unit_sentences]

    def _reading_sentences(self) -> list[str]:
        """Return a sentence for each reading rule of an attribute or of the label."""
        rules: dict[str, list[str]] = {}
        dates: dict[tuple[str, str], list[str]] = {}
        for feature in self.features:
            ends = (
                words_sentence(feature.missing_words) if feature.missing_words else "",
                signs_sentence(feature.signs) if feature.signs else "",
                spellings_sentence(feature.spellings) if feature.spellings else "",
            )
            for end in filter(None, ends):
                rules.setdefault(end, []).append(repr(feature.name))
            if feature.date is not None:
                part = f"{feature.name!r} is {feature.date}"
                dates.setdefault((feature.column, feature.date.format), []).append(part)
        if self.class_spellings:
            rules.setdefault(spellings_sentence(self.class_spellings), []).append("the label")
        return [f"In {_first_names(names)}, {end}." for end, names in rules.items()] + [
            f"The column {column!r} has dates in the format {form} or as 2024-01-31, with or without a time, which is "
            f"ignored: {_first_names(parts)}. A cell that is no such date counts as missing."
            for (column, form), parts in dates.items()
        ]

    def to_dict(self) -> dict[str, Any]:
        """Return a JSON-safe dictionary, from which `from_dict` rebuilds an equal domain."""
        return {
            "features": [feature.to_dict() for feature in self.features],
            "classes": list(self.classes),
            "label": self.label,
            "classes_source": self.classes_source,
            "classes_note": self.classes_note,
            "reading": self.reading.to_dict() if isinstance(self.reading, CsvFormat) else self.reading,
            "reading_source": self.reading_source,
            "reading_note": self.reading_note,
            "columns_source": self.columns_source,
            "columns_note": self.columns_note,
            **({} if self.unit is None else {"unit": {"column": self.unit, "most_rows": MOST_ROWS}}),
            **({"class_spellings": [list(pair) for pair in self.class_spellings]} if self.class_spellings else {}),
        }

    @classmethod
    def from_dict(cls, entry: dict[str, Any]) -> Domain:
        """Invert `to_dict`. Dictionaries of earlier versions, in which every reading is a text, are also accepted.

        Parameters
        ----------
        entry : dict
            Dictionary with the keys that `to_dict` writes.

        Returns
        -------
        Domain

        Raises
        ------
        DomainError
            If `entry` is not a dictionary with attributes, or has a value that is not allowed.
        """
        if not isinstance(entry, dict) or not isinstance(entry.get("features"), list | tuple):
            raise DomainError("a domain is read from a dict with a list of features, as to_dict gives it")
        reading = entry.get("reading", "")
        if isinstance(reading, dict):
            reading = CsvFormat.from_dict(reading)
        try:
            features = tuple(Feature.from_dict(feature) for feature in entry["features"])
            return cls(**{**entry, "features": features, "reading": reading, "unit": _unit_of(entry)})
        except TypeError as problem:  # a key is missing or unknown
            raise DomainError(f"this is no domain as to_dict gives it: {problem}") from problem

    @classmethod
    def from_catalog(cls, entry: dict[str, Any]) -> Domain:
        """Build a domain from the attributes and label values of an entry of ``data/catalog.json``."""
        classes_source, classes_note = _source(entry.get("label_source", "documented"), entry.get("label_note"), entry)
        return cls(
            tuple(_cataloged(attribute, entry) for attribute in entry["attributes"]),
            tuple(entry["label_values"]),
            entry["label"],
            classes_source,
            classes_note,
        )

    @classmethod
    def infer(cls, X: Any, y: Any = None, label: str = "") -> Domain:
        """Read bounds, categories and classes from the data, and mark every part of the schema as a leak.

        If an attribute has missing cells, they get a separate code. A constant column gets a range that contains its
        value.

        Parameters
        ----------
        X : DataFrame or array of shape (n, n_features)
            Table from which bounds and categories are read.
        y : array of shape (n,), optional
            Labels. Their distinct values become the classes.
        label : str
            Name of the label; a column of X with this name is left out.

        Returns
        -------
        Domain

        Raises
        ------
        DomainError
            If a column holds dates, infinity or too many categories, or there are fewer than 2 or more than 50 classes.
        """
        classes = () if y is None else infer_classes(y, label)
        return cls(infer_features(X, leave_out=label), classes, label)


def unit_sentence(unit: str) -> str:
    """Return the certificate's sentence about identifiers: facts that only the data holder can know."""
    return (
        f"Each person has one value of {unit!r}, and no two persons share one. That this column tells persons apart "
        "was decided without looking at the rows. Identifiers are compared as texts; they were handed over as valid "
        "texts or as whole numbers below 2⁵³, and all rows of a person in one part of the table; rows without an "
        "identifier were left out."
    )


def _unit_of(entry: dict[str, Any]) -> str | None:
    """Return the name of the unit's column from the dictionary of a domain; None if it has no unit."""
    unit = entry.get("unit")
    if unit is None:
        return None
    if not isinstance(unit, dict) or set(unit) != {"column", "most_rows"} or unit["most_rows"] != MOST_ROWS:
        raise DomainError(f"The unit of a domain is a column, and at most {MOST_ROWS} rows of a person must count.")
    return unit["column"]


def _plain(label: Any) -> Any:
    """Return a label as a type that JSON has: text, bool, int or float."""
    if isinstance(label, np.generic):
        label = label.item()
    if isinstance(label, float) and label.is_integer():
        return int(label)
    if isinstance(label, (str, int)) or (isinstance(label, float) and math.isfinite(label)):
        return label
    raise DomainError(f"The class {label!r} is neither a text nor a finite number; choose another label.")


def _first_repeated(names: Sequence[str]) -> str:
    """Return the first name that occurs a second time."""
    seen: set[str] = set()
    return next(name for name in names if name in seen or seen.add(name))  # type: ignore[func-returns-value]


def _first_names(names: Sequence[str], most: int = 6) -> str:
    """Return the first names, and the number of further names."""
    first = ", ".join(names[:most])
    return first if len(names) <= most else f"{first} and {len(names) - most:,} more"


def _origin(source: str, note: str) -> str:
    """Describe the source of a part of a schema, for readers of the certificate."""
    return f"documented: {note.rstrip('.')}" if source == "documented" else f"asserted by the curator: “{note}”"


def _source(word: str, note: str | None, entry: dict[str, Any]) -> tuple[str, str]:
    """Return source and note for a source word of a catalog. If one bound is undocumented, both count as a leak."""
    if word in ("documented", "physical"):
        where = note or entry.get("documentation") or entry.get("uci_url")
        if not where:
            raise DomainError(
                f"The catalog calls a part of {entry.get('title', 'a table')!r} documented, but not where; add a "
                "domain_note to it, or a documentation to the table."
            )
        return "documented", where
    return "data", note or ("highest value" if word == "documented-low" else "")


def _cataloged(attribute: dict[str, Any], entry: dict[str, Any]) -> Feature:
    source, note = _source(attribute["domain_source"], attribute.get("domain_note"), entry)
    low, high = attribute.get("low"), attribute.get("high")
    if low is not None and low == high:
        high = low + 1  # a constant attribute, whose only value is the lower bound
    return Feature(
        attribute["name"],
        attribute["kind"],
        low,
        high,
        bool(attribute.get("integer")),
        tuple(attribute.get("categories", ())),
        source,
        note,
        missing="category" if attribute.get("missing") else "refuse",
    )
