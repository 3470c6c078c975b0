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

__all__ = ["Domain", "DomainError", "Feature", "PrivacyLeakWarning"]

# How a fit reads every table, and what only the data holder can know. Both are on every certificate.
READ_BY_RULE: Final = (
    "Each cell is read by itself: a number beyond its bounds counts as the bound, and what does not fit counts as "
    "missing or, where none are expected, as the lower bound or the first category; a row whose label is not listed is "
    "left out."
)
HANDED_OVER: Final = (
    "How the table was handed over (its columns, their types and names, which of them is the label) was fixed without "
    "looking at its rows."
)


@dataclass(frozen=True)
class Domain:
    """The public schema of a table: what is known without looking at any row.

    Parameters
    ----------
    features : tuple of Feature
        The attributes, in the order of the columns of an encoded table.
    classes : tuple
        The labels as the user writes them (texts or numbers), matched by their text. Empty for a table without labels.
    label : str
        Name of the label column.
    classes_source : {"documented", "asserted", "data"}
    classes_note : str
        As `Feature.source_note`.
    reading : CsvFormat or str
        Public knowledge on how the rows are written: the format of a CSV file, such as `CsvTable.reading`, with which
        `read_table` reads it, or half a sentence. It goes into the certificate. The exact sentence of a `CsvFormat` is
        replaced by that format.
    reading_source, reading_note : str
        As `Feature.source` and its note. A reading without a source counts as learned from the rows.
    columns_source, columns_note : str
        The same for the choice of columns. Empty: the author of this domain chose them without looking at rows.

    Raises
    ------
    DomainError
        If the values do not make a schema.

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
            raise DomainError(f"Two attributes are called {_first_twice(names)!r}; rename one.")
        if self.label in names:
            raise DomainError(f"{self.label!r} is the label, so it cannot be an attribute as well; leave it out.")
        if not isinstance(self.label, str) or not isinstance(self.reading, (str, CsvFormat)):
            raise DomainError("The label and the reading of a domain must be texts, or the latter a CsvFormat.")
        check_text(self.label, "the label")
        check_text(str(self.reading), "the reading")
        if isinstance(self.reading, str):
            object.__setattr__(self, "reading", as_format(self.reading))
        check_source(self.classes_source, self.classes_note if self.classes else "-", "The label", "classes_source")
        for note in (self.classes_note, self.reading_note, self.columns_note):
            check_text(note, "where something is written")
        for part, what in (("reading", "How the rows are written"), ("columns", "The choice of columns")):
            source, note = getattr(self, f"{part}_source"), getattr(self, f"{part}_note")
            if source:
                check_source(source, note, what, f"{part}_source")
        if self.classes:
            self._check_classes()
        _ = self._grid  # computed now and not when rows are read, so that a pickle does not reveal whether rows were

    def __deepcopy__(self, memo: dict[int, Any]) -> Domain:
        """Return the domain itself, which is immutable, as estimators are cloned by the thousand."""
        return self

    def _check_classes(self) -> None:
        if not MIN_CLASSES <= len(self.classes) <= MAX_CLASSES:
            raise DomainError(
                f"The label has {len(self.classes):,} class{'es' * (len(self.classes) != 1)}, but a classifier needs "
                f"between {MIN_CLASSES} and {MAX_CLASSES}; choose another label."
            )
        texts = [text(label) for label in self.classes]
        if len(set(texts)) < len(texts):
            raise DomainError(f"The class {_first_twice(texts)!r} is listed twice; remove one.")
        for label in texts:
            check_text(label, "a class")
        if len(set(self.classes)) < len(self.classes):
            raise DomainError(f"Two classes of {', '.join(texts)} are the same to a program, as True and 1 are.")

    def __repr__(self) -> str:
        what = f"{len(self.features)} attributes, {len(self.classes)} classes"
        return f"<Domain: {what}{f' of {self.label!r}' if self.label else ''}>"

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(feature.name for feature in self.features)

    @property
    def n_features(self) -> int:
        return len(self.features)

    @property
    def n_classes(self) -> int:
        return len(self.classes)

    @property
    def class_array(self) -> np.ndarray:
        """Classes with the type of predicted labels, (n_classes,): objects if texts and numbers are mixed."""
        are_mixed = len({isinstance(label, str) for label in self.classes}) > 1
        return np.array(self.classes, dtype=object if are_mixed else None)

    @property
    def csv_format(self) -> CsvFormat:
        """Format of a CSV file: that of `reading`, else UTF-8 with commas between columns and decimal points."""
        return self.reading if isinstance(self.reading, CsvFormat) else format_in_old_words(self.reading)

    def on_scale(self, scale: str) -> Domain:
        """Return the same domain with all numeric attributes on one scale (`Feature.scale`)."""
        if all(feature.scale == scale for feature in self.features if feature.kind == "numeric"):
            return self
        return replace(self, features=tuple(replace(feature, scale=scale) for feature in self.features))

    @cached_property
    def _grid(self) -> encoding.Grid:
        return encoding.grid(self.features)

    def encode(self, X: Any, out_of_domain: OutOfDomainCells | None = None) -> np.ndarray:
        """Encode a table, or a block of its rows, as codes.

        The code of a cell depends on that cell and on this domain, never on other cells or on the type that they give
        its column: 1, 1.0, "1" and "01" have one code. So a block of rows has the same codes as within its table, and
        one more row changes no other row's codes.

        Parameters
        ----------
        X : DataFrame, array or list of shape (n, m)
            A DataFrame is read by column name (further columns are ignored), an array by position.
        out_of_domain : OutOfDomainCells, optional
            Read every cell by the public rule, as a fit does, and count the cells outside of the domain here
            (`dpforest.tables.rows`).

        Returns
        -------
        ndarray of uint16, shape (n, m), C order
            Column j holds the codes of ``features[j]``.

        Raises
        ------
        DomainError
            If a column is absent or holds dates. Without `out_of_domain`, also if a numeric column has infinity or
            texts, or cells that its feature refuses.
        """
        return encoding.encode(self.features, self._grid, X, out_of_domain)

    def encode_labels(self, y: Any) -> np.ndarray:
        """Return the index in `classes` of each label; each label is read independently, as in `encode`.

        Parameters
        ----------
        y : array of shape (n,)
            Labels, which are matched by their text.

        Returns
        -------
        int32 array of shape (n,)
            Numbers from 0 to ``n_classes - 1``.

        Raises
        ------
        DomainError
            If a label is missing or not one of the classes.
        """
        return encoding.encode_labels(self.classes, y, self.label)

    def listed_labels(self, y: Any) -> np.ndarray:
        """Return the same as `encode_labels`, but a negative index if a label is missing or is no class."""
        return encoding.listed_labels(self.classes, y, self.label)

    def report(self, X: Any) -> pd.DataFrame:
        """Return the numbers of clipped, unlisted and missing cells, one row per feature. Curator only."""
        return encoding.report(self.features, X)

    def leaks(self) -> list[str]:
        """Return a sentence for each part of the schema that was read from the data; empty if all of it is public."""
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
        """Return a sentence for each source of the public schema, and the rules by which every fit reads."""
        groups: dict[tuple[str, str], list[str]] = {}
        for feature in self.features:
            groups.setdefault((feature.source, feature.source_note), []).append(repr(feature.name))
        if self.classes:
            groups.setdefault((self.classes_source, self.classes_note), []).append("the classes")
        sentences = [
            f"The domain{'s' * (len(names) > 1)} of {_some(names)} {'are' if len(names) > 1 else 'is'} "
            f"{_origin(source, note)}."
            for (source, note), names in groups.items()
            if source != "data"
        ]
        for part, what in (("type", "type"), ("missing", "rule for missing cells")):
            groups = {}
            for feature in self.features:
                origin = getattr(feature, f"{part}_source"), getattr(feature, f"{part}_note")
                if origin[0] not in ("", "data"):
                    groups.setdefault(origin, []).append(repr(feature.name))
            sentences += [f"The {what} of {_some(names)} is {_origin(*origin)}." for origin, names in groups.items()]
        if self.reading and self.reading_source not in ("", "data"):
            sentences.append(f"That {self.reading} is {_origin(self.reading_source, self.reading_note)}.")
        if self.columns_source not in ("", "data"):
            sentences.append(f"The choice of columns is {_origin(self.columns_source, self.columns_note)}.")
        listed = {repr(feature.name): feature.categories for feature in self.features} | {"the label": self.classes}
        for name, values in listed.items():
            if two := values_with_one_key(values):
                sentences.append(
                    f"The values of {name} were handed over as texts: {two[0]!r} and {two[1]!r} may be the same else."
                )
        return [*sentences, READ_BY_RULE, HANDED_OVER]

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
        }

    @classmethod
    def from_dict(cls, entry: dict[str, Any]) -> Domain:
        """Invert `to_dict`, also of earlier versions, which wrote every reading as a sentence.

        Parameters
        ----------
        entry : dict
            Has the keys that `to_dict` writes.

        Returns
        -------
        Domain

        Raises
        ------
        DomainError
            If it is no dict with attributes, or has a value that is not allowed.
        """
        if not isinstance(entry, dict) or not isinstance(entry.get("features"), list | tuple):
            raise DomainError("a domain is read from a dict with a list of features, as to_dict gives it")
        reading = entry.get("reading", "")
        if isinstance(reading, dict):
            reading = CsvFormat.from_dict(reading)
        try:
            features = tuple(Feature.from_dict(feature) for feature in entry["features"])
            return cls(**{**entry, "features": features, "reading": reading})
        except TypeError as problem:  # a key is missing or unknown
            raise DomainError(f"this is no domain as to_dict gives it: {problem}") from problem

    @classmethod
    def from_catalog(cls, entry: dict[str, Any]) -> Domain:
        """Build the domain of one entry of ``data/catalog.json`` (its attributes and label values)."""
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
        """Read bounds, categories and classes from the data: every part of the schema is marked as a leak.

        An attribute with missing cells gets a separate code for them; a constant column gets a range around its value.

        Parameters
        ----------
        X : DataFrame or array of shape (n, n_features)
            The table that bounds and categories are read from.
        y : array of shape (n,), optional
            Labels, from which classes are read.
        label : str
            Name of the label; a column of this name is no attribute.

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


def _plain(label: Any) -> Any:
    """Return a label as JSON holds it: text, bool, int or float."""
    if isinstance(label, np.generic):
        label = label.item()
    if isinstance(label, float) and label.is_integer():
        return int(label)
    if isinstance(label, (str, int)) or (isinstance(label, float) and math.isfinite(label)):
        return label
    raise DomainError(f"The class {label!r} is neither a text nor a finite number; choose another label.")


def _first_twice(names: Sequence[str]) -> str:
    seen: set[str] = set()
    return next(name for name in names if name in seen or seen.add(name))  # type: ignore[func-returns-value]


def _some(names: Sequence[str], most: int = 6) -> str:
    shown = ", ".join(names[:most])
    return shown if len(names) <= most else f"{shown} and {len(names) - most:,} more"


def _origin(source: str, note: str) -> str:
    """Describe the source of a part of a schema for readers of the certificate, who are not the curator."""
    return f"documented: {note.rstrip('.')}" if source == "documented" else f"asserted by the curator: “{note}”"


def _source(word: str, note: str | None, entry: dict[str, Any]) -> tuple[str, str]:
    """Translate a catalog's word for a source, with its note; a range that is only half documented is a leak."""
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
        high = low + 1  # a constant attribute; its only value is the lower bound
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
