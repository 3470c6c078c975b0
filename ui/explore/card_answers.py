"""Changes of a table's domain after an answer on a card. This module does not use Streamlit.

The domain states what everybody may know about the table. Each function returns a new domain, in which `note` is the
source of each part that the user answered for. The note is in the words of the user.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from dpforest.limits import MIN_CLASSES
from dpforest.tables.date_columns import date_attributes
from dpforest.tables.domain import Domain, DomainError
from dpforest.tables.features import Feature, text
from dpforest.tables.reading_rules import Spellings


@dataclass(frozen=True)
class NumberAnswer:
    """A public range of numbers, and rules for reading them.

    Parameters
    ----------
    low, high : float
        Smallest and largest possible number.
    whole : bool
        Whether only whole numbers occur.
    missing : {"category", "refuse"}
        Rule for missing cells.
    words : sequence of str
        Words that mean a missing cell.
    signs : sequence of str
        Signs that are ignored, such as %.
    """

    low: float
    high: float
    whole: bool = False
    missing: str = "category"
    words: Sequence[str] = ()
    signs: Sequence[str] = ()


def with_numbers(domain: Domain, order: Sequence[str], answers: Mapping[str, NumberAnswer], note: str) -> Domain:
    """Return the domain with the columns of `answers` as numbers. `order` lists all columns in the order of the file.

    >>> domain = Domain((Feature("age", "categorical", categories=("18", "k.A.")),))
    >>> age = with_numbers(domain, ["age"], {"age": NumberAnswer(0, 120, words=["k.A."])}, "people live so long")
    >>> age.features[0].kind, age.features[0].missing_words, age.leaks()
    ('numeric', ('k.A.',), [])
    """
    for name, answer in answers.items():
        feature = Feature(
            name,
            "numeric",
            answer.low,
            answer.high,
            integer=answer.whole,
            missing=answer.missing,
            missing_words=tuple(answer.words),
            signs=tuple(answer.signs),
            source="asserted",
            source_note=note,
        )
        domain = replaced(domain, order, name, [feature])
    return domain


def with_list(
    domain: Domain,
    order: Sequence[str],
    name: str,
    values: Sequence[str],
    note: str,
    *,
    missing: str = "category",
    spellings: Spellings = (),
) -> Domain:
    """Return the domain in which the column `name` has the categories `values`.

    A pair of `spellings` is kept only if its value is listed and its spelling is not.
    """
    listed = set(values)
    feature = Feature(
        name,
        "categorical",
        categories=tuple(values),
        missing=missing,
        spellings=tuple(pair for pair in spellings if pair[1] in listed and pair[0] not in listed),
        source="asserted",
        source_note=note,
    )
    return replaced(domain, order, name, [feature])


def with_dates(
    domain: Domain,
    order: Sequence[str],
    name: str,
    date_format: str,
    parts: Sequence[str],
    ends: tuple[str, str],
    note: str,
) -> Domain:
    """Return the domain with parts of a column's dates as attributes.

    `ends` are the first and the last possible date in ISO form. Raise DomainError if `parts` is empty.
    """
    if not parts:
        raise DomainError(f"Choose at least one part of the dates in {name!r}, or leave the column out.")
    first, last = ends
    features = date_attributes(name, date_format, parts, first=first, last=last, source="asserted", source_note=note)
    return replaced(domain, order, name, features)


def without(domain: Domain, order: Sequence[str], name: str) -> Domain:
    """Return the domain without a column."""
    return replaced(domain, order, name, [])


def with_classes(domain: Domain, classes: Sequence[str], spellings: Spellings, note: str) -> Domain:
    """Return the domain with these classes of the label. Raise DomainError if there are fewer than two classes."""
    if len(classes) < MIN_CLASSES:
        raise DomainError(f"The label {domain.label!r} needs at least {MIN_CLASSES} classes. List all of its classes.")
    known = {text(label): label for label in domain.classes}
    listed = set(classes)
    return replace(
        domain,
        classes=tuple(known.get(value, value) for value in classes),
        classes_source="asserted",
        classes_note=note,
        class_spellings=tuple(pair for pair in spellings if pair[1] in listed and pair[0] not in listed),
    )


def with_table_parts(domain: Domain, parts: Sequence[str], note: str) -> Domain:
    """Return the domain in which the user asserts `parts` of the whole table.

    "reading" is the format of the file, and "columns" is the choice of columns.
    """
    changes: dict[str, Any] = {}
    for part in parts:
        changes |= {f"{part}_source": "asserted", f"{part}_note": note}
    return replace(domain, **changes)


def replaced(domain: Domain, order: Sequence[str], column: str, features: Sequence[Feature]) -> Domain:
    """Return the domain in which `features` replace the attributes of one column. Attributes keep the file's order.

    Raise DomainError if no attribute would be left.

    >>> x, y = (Feature(name, "numeric", 0, 1) for name in "xy")
    >>> replaced(Domain((y,)), ["x", "y"], "x", [x]).names
    ('x', 'y')
    """
    place = {name: i for i, name in enumerate(order)}
    others = [feature for feature in domain.features if feature.column != column]
    if not features and not others:
        raise DomainError(f"{column!r} is the only column that is left, so it cannot be left out.")
    sorted_features = sorted([*others, *features], key=lambda feature: place.get(feature.column, len(place)))
    return replace(domain, features=tuple(sorted_features))
