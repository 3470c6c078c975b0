"""The parts of a public schema in words, for release records. Different schemas have different words."""

from __future__ import annotations

import json
from collections.abc import Iterable

from dpforest.tables.csv_values import written
from dpforest.tables.domain import Domain
from dpforest.tables.features import Feature, text
from dpforest.tables.reading_rules import Spellings


def values_in_words(feature: Feature) -> str:
    """Return the range of an attribute, or its list of values with their spellings.

    >>> values_in_words(Feature("smokes", "categorical", categories=("yes", "no"), spellings=(("Y", "yes"),)))
    'yes; no (spellings: "Y" is "yes")'
    """
    if feature.kind == "numeric":
        return f"{text(feature.low)} to {text(feature.high)}"
    return _listed(feature.categories, feature.spellings)


def type_in_words(feature: Feature) -> str:
    """Return the kind of an attribute, with the date that it is read from, or with the signs that are ignored.

    >>> type_in_words(Feature("age", "numeric", 0, 120, integer=True)), type_in_words(Feature("share", "numeric", 0, 1))
    ('whole numbers', 'numbers')
    """
    kind = "categories" if feature.kind == "categorical" else "whole numbers" if feature.integer else "numbers"
    if feature.date is not None:
        return f"{kind}: {feature.date} of a date in {feature.column!r} ({feature.date.format})"
    return f"{kind}, with the signs {' '.join(feature.signs)}" if feature.signs else kind


def missing_in_words(feature: Feature) -> str:
    """Return the rule for missing cells of an attribute, with the words that mean a missing cell.

    >>> missing_in_words(Feature("age", "numeric", 0, 120, missing="category", missing_words=("n/a",)))
    'a separate value; missing words: "n/a"'
    """
    rules = {"category": "a separate value", "refuse": "none expected"}
    rule = rules.get(feature.missing, f"read as {_quoted(text(feature.missing_value))}")
    words = "; ".join(map(_quoted, feature.missing_words))
    return f"{rule}; missing words: {words}" if words else rule


def classes_in_words(domain: Domain) -> str:
    """Return the classes of the label, with their spellings."""
    return _listed(map(text, domain.classes), domain.class_spellings)


def columns_in_words(domain: Domain) -> str:
    """Return the names of all attributes, separated by semicolons."""
    return _listed(domain.names, ())


def _listed(values: Iterable[str], spellings: Spellings) -> str:
    """Return values separated by semicolons. A value that could be read as something else is quoted."""
    listed = "; ".join(_quoted(value) if "(spellings: " in value else written([value]) for value in values)
    pairs = "; ".join(f"{_quoted(spelling)} is {_quoted(value)}" for spelling, value in spellings)
    return f"{listed} (spellings: {pairs})" if pairs else listed


def _quoted(value: str) -> str:
    return json.dumps(value, ensure_ascii=not value.isprintable())
