"""List the parts of a schema that were read from rows, and mark such parts as asserted by the user."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace
from typing import Any, Final

from dpforest.tables.domain import Domain
from dpforest.tables.features import Feature, text
from dpforest.tables.reading_rules import Spellings

BOUNDS, CATEGORIES, TYPE, MISSING = "bounds", "categories", "type", "missing"
CLASSES, READING, COLUMNS = "classes", "reading", "columns"
ATTRIBUTE_PARTS: Final = (BOUNDS, CATEGORIES, TYPE, MISSING)
TABLE_PARTS: Final = (CLASSES, READING, COLUMNS)
Source = tuple[str, str]  # source of a part, such as "data" or "documented", and its note


@dataclass(frozen=True)
class Part:
    """A part of a schema that was read from rows.

    Parameters
    ----------
    what : str
        One of `ATTRIBUTE_PARTS` or `TABLE_PARTS`.
    name : str
        Name of the attribute; empty for a part of the whole table.
    value : str
        The complete value in words, because users can assert only values that they see.
    """

    what: str
    name: str
    value: str


def sources(feature: Feature) -> dict[str, Source]:
    """Return the source of each part of an attribute.

    >>> sources(Feature("age", "numeric", 0, 90, missing_source="documented", missing_note="a duty"))
    {'bounds': ('data', ''), 'type': ('data', ''), 'missing': ('documented', 'a duty')}
    """
    domain_source = feature.source, feature.source_note
    return {
        _values_part(feature): domain_source,
        TYPE: (feature.type_source, feature.type_note) if feature.type_source else domain_source,
        MISSING: (feature.missing_source, feature.missing_note) if feature.missing_source else domain_source,
    }


def with_sources(feature: Feature, new_sources: dict[str, Source]) -> Feature:
    """Return the attribute with new sources for the parts in `new_sources`; all other parts keep their sources."""
    by_part = sources(feature) | new_sources
    domain_source = by_part[_values_part(feature)]
    type_source, missing_source = (
        ("", "") if part == domain_source and domain_source[0] != "data" else part
        for part in (by_part[TYPE], by_part[MISSING])
    )
    return replace(
        feature,
        source=domain_source[0],
        source_note=domain_source[1],
        type_source=type_source[0],
        type_note=type_source[1],
        missing_source=missing_source[0],
        missing_note=missing_source[1],
    )


def read_parts(domain: Domain) -> tuple[Part, ...]:
    """Return all parts that were read from rows. The result is empty exactly if `Domain.leaks` is empty.

    >>> age = Feature("age", "numeric", 18, 94, integer=True)
    >>> [(part.what, part.value) for part in read_parts(Domain((age,)))]
    [('bounds', '18 to 94'), ('type', 'whole numbers'), ('missing', 'none expected')]
    """
    parts = [
        Part(what, feature.name, _value(feature, what))
        for feature in domain.features
        for what, (source, _) in sources(feature).items()
        if source == "data"
    ]
    if domain.classes and domain.classes_source == "data":
        classes = "; ".join(text(label) for label in domain.classes)
        parts.append(Part(CLASSES, "", classes + _spelled(domain.class_spellings)))
    if domain.reading and domain.reading_source in ("", "data"):
        parts.append(Part(READING, "", str(domain.reading)))
    if domain.columns_source == "data":
        parts.append(Part(COLUMNS, "", "; ".join(domain.names)))
    return tuple(parts)


def assert_parts(domain: Domain, parts: Collection[Part], note: str) -> Domain:
    """Return the schema in which each of `parts` that was read from rows is asserted, with the user's note.

    Parts are matched by `what` and `name`. Their values are not compared with the schema.

    >>> age = Domain((Feature("age", "numeric", 18, 94, integer=True),))
    >>> assert_parts(age, read_parts(age)[:2], "the law on voting").leaks()
    ["Whether cells of 'age' are missing was read from the data."]
    """
    chosen = {(part.what, part.name) for part in read_parts(domain)} & {(part.what, part.name) for part in parts}
    asserted = "asserted", note
    features = tuple(
        with_sources(feature, {what: asserted for what in ATTRIBUTE_PARTS if (what, feature.name) in chosen})
        for feature in domain.features
    )
    changed: dict[str, Any] = {
        key: value
        for what in TABLE_PARTS
        if (what, "") in chosen
        for key, value in ((f"{what}_source", "asserted"), (f"{what}_note", note))
    }
    return replace(domain, features=features, **changed)


def _values_part(feature: Feature) -> str:
    """Return the name of the part that holds the possible values: bounds or categories."""
    return BOUNDS if feature.kind == "numeric" else CATEGORIES


def _value(feature: Feature, what: str) -> str:
    """Return the value of a part of an attribute in words."""
    if what == BOUNDS:
        return f"{text(feature.low)} to {text(feature.high)}"
    if what == CATEGORIES:
        return "; ".join(feature.categories) + _spelled(feature.spellings)
    if what == MISSING:
        rules = {"category": "a separate value", "refuse": "none expected"}
        rule = rules.get(feature.missing, f"read as {text(feature.missing_value)}")
        return f"{rule}; missing words: {'; '.join(feature.missing_words)}" if feature.missing_words else rule
    kind = "categories" if feature.kind == "categorical" else "whole numbers" if feature.integer else "numbers"
    if feature.date is not None:
        return f"{kind}: {feature.date} of a date in {feature.column!r} ({feature.date.format})"
    return f"{kind}, with the signs {' '.join(feature.signs)}" if feature.signs else kind


def _spelled(spellings: Spellings) -> str:
    """Return the text in brackets that follows a list of values: all spellings. It is empty if there are none."""
    pairs = "; ".join(f"{spelling} is {value}" for spelling, value in spellings)
    return f" (spellings: {pairs})" if pairs else ""
