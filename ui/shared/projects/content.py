"""The content of a project: what a user stated about a file, converted to JSON and back.

A project holds no rows, no values of cells and no hash of a file. Of the domain, it holds only the parts whose source
(`ui.shared.projects.stated_parts`) is the user or a document. So it names the label, the unit of privacy, and the
columns of these parts. This module does not use Streamlit.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from dpforest.tables.csv_format import CsvFormat
from dpforest.tables.domain import Domain, DomainError
from dpforest.tables.features import Feature, text
from ui.shared.projects.stated_parts import column_of, merged, stated

PERSONS, SEVERAL, COLUMN = "rows are persons", "several rows of a person", "column of persons"
ANSWERS: Final = ("", PERSONS, SEVERAL, COLUMN)  # answers to "Whose rows are these?"; "" is no answer
WORDS: Final = ("purpose", "owner", "approver", "delta_reason")
_EMPTY: Final[Mapping[str, Any]] = {"attributes": [], "labels": {}}


def content_of(
    domain: Domain,
    whose_rows: str = "",
    settings: Mapping[str, Any] | None = None,
    population: str = "",
    words: Mapping[str, str] | None = None,
    before: Mapping[str, Any] | None = None,
    unused: Collection[str] = (),
) -> dict[str, Any]:
    """Return the content of a project.

    Parameters
    ----------
    domain : Domain
        Domain of the table, with the user's edits.
    whose_rows : str
        One of `ANSWERS`.
    settings : dict, optional
        Settings of the forest (`ui.shared.projects.forest_settings`).
    population : str
        Name of the file's population in the book.
    words : dict, optional
        Texts for the record of a release, by the names in `WORDS`.
    before : dict, optional
        Earlier content of the project. Its statements about other labels are kept.
    unused : collection of str
        Attributes of the earlier content that did not fit the file. The statements about them are kept.

    Returns
    -------
    dict
        Values that JSON can hold.
    """
    before = before or _EMPTY
    entries = {feature.name: entry for feature in domain.features if (entry := stated(feature))}
    kept_entries = [entry for entry in before["attributes"] if entry["name"] in unused and entry["name"] not in entries]
    labels = {name: parts for name, parts in before["labels"].items() if name != domain.label}
    if label_parts := _of_label(domain):
        labels[domain.label] = label_parts
    return {
        "label": domain.label,
        "unit": domain.unit if whose_rows == COLUMN else None,
        "whose_rows": whose_rows,
        "attributes": [*entries.values(), *kept_entries],
        "labels": labels,
        "reading": _reading(domain),
        "settings": dict(settings or {}),
        "population": population,
        **{name: (words or {}).get(name, "") for name in WORDS},
    }


def _of_label(domain: Domain) -> dict[str, Any]:
    """Return the classes and the choice of columns, which depend on the label. A part without a source is left out."""
    parts: dict[str, Any] = {}
    if domain.classes and domain.classes_source != "data":
        spellings = [list(pair) for pair in domain.class_spellings]
        note = {"source": domain.classes_source, "note": domain.classes_note}
        parts["classes"] = {"values": list(domain.classes), "spellings": spellings, **note}
    if domain.columns_source not in ("", "data"):
        note = {"source": domain.columns_source, "note": domain.columns_note}
        parts["columns"] = {"names": sorted(domain.names), **note}
    return parts


def _reading(domain: Domain) -> dict[str, Any] | None:
    """Return the format of the file and the source of the format; None if the format has no source."""
    if not domain.reading or domain.reading_source in ("", "data"):
        return None
    return {"format": _format(domain), "source": domain.reading_source, "note": domain.reading_note}


def _format(domain: Domain) -> Any:
    return domain.reading.to_dict() if isinstance(domain.reading, CsvFormat) else domain.reading


def as_text(content: Mapping[str, Any]) -> str:
    """Return the content as JSON. Equal contents give equal texts."""
    return json.dumps(content, sort_keys=True)


def names_of(content: Mapping[str, Any]) -> set[str]:
    """Return the columns, except the label, that the content of a project names."""
    unit = {content["unit"]} if content["unit"] is not None else set()
    return {column_of(entry) for entry in content["attributes"]} | unit


def doubt(content: Mapping[str, Any], columns: Collection[str]) -> str:
    """Return a reason to doubt that a file belongs to a project; empty if there is none.

    >>> content = content_of(Domain((Feature("age", "numeric", 0, 90, source="asserted", source_note="a"),), (), "ill"))
    >>> doubt(content, ["age", "ill"]), doubt(content, ["x", "ill"]), doubt(content, ["age", "y"])
    ('', 'This file has none of the columns that the project describes.', 'This file does not have the label “ill”.')
    """
    names = names_of(content)
    if names and not names & {*columns}:
        return "This file has none of the columns that the project describes."
    return "" if content["label"] in columns else f"This file does not have the label “{content['label']}”."


@dataclass(frozen=True)
class Applied:
    """A domain with the content of a project merged into it.

    Parameters
    ----------
    domain : Domain
    sentences : tuple of str
        Messages about statements of the project that no longer fit the file.
    unused : frozenset of str
        Attributes that the content describes but `domain` does not have.
    """

    domain: Domain
    sentences: tuple[str, ...] = ()
    unused: frozenset[str] = frozenset()


def applied(content: Mapping[str, Any], domain: Domain, columns: Sequence[str] | None = None) -> Applied:
    """Merge what a project states into the domain of a file.

    Parameters
    ----------
    content : dict
        Result of `content_of`.
    domain : Domain
        Domain of the file. Parts about which the content states nothing stay as they are.
    columns : sequence of str, optional
        All columns of the file in their order. By default, they are the columns of the domain.
    """
    columns = [*domain.columns, domain.label] if columns is None else columns
    sentences: list[str] = []
    unit = content["unit"]
    if unit is not None and (unit not in columns or unit == domain.label):
        sentences.append(
            f"In this file, no column “{unit}” can identify persons. Choose the column that does in the Data tab."
        )
        unit = None
    features, unused = _attributes(content, domain, {*columns} - {domain.label, unit}, sentences)
    positions = {name: i for i, name in enumerate(columns)}
    features.sort(key=lambda feature: positions.get(feature.column, len(positions)))
    changes: dict[str, Any] = {"unit": unit} if content["whose_rows"] else {}
    features = [feature for feature in features if feature.column != changes.get("unit", domain.unit)]
    try:
        result = replace(domain, features=tuple(features), **changes)
    except DomainError as problem:  # statements of the project contradict each other in this file
        names = frozenset(entry["name"] for entry in content["attributes"])
        return Applied(domain, (*sentences, str(problem)), names)
    parts = content["labels"].get(domain.label, {})
    if "classes" in parts:
        result = _replaced(result, _classes(domain, parts["classes"]), sentences)
    if "columns" in parts:
        result = _with_columns(result, parts["columns"], sentences)
    if content["reading"] is not None:
        result = _with_reading(result, content["reading"], sentences)
    return Applied(result, tuple(sentences), frozenset(unused))


def _attributes(
    content: Mapping[str, Any], domain: Domain, columns: Collection[str], sentences: list[str]
) -> tuple[list[Feature], list[str]]:
    """Return all attributes with their stated parts, and the names of entries that do not fit the file."""
    features = {feature.name: feature for feature in domain.features}
    unused, absent = [], []
    for entry in content["attributes"]:
        name, column = entry["name"], column_of(entry)
        try:
            if column not in columns:
                absent += [column] if column not in (domain.label, content["unit"]) else []
                unused.append(name)
                continue
            feature = merged(features.get(name), entry)
        except DomainError as problem:
            unused.append(name)
            sentences.append(str(problem))
            continue
        features = {
            key: f for key, f in features.items() if f.column != column or _date_format(f) == _date_format(feature)
        }
        features[name] = feature
    if absent:
        sentences.insert(0, f"This file does not have {_listed(dict.fromkeys(absent))}, which the project describes.")
    return list(features.values()), unused


def _date_format(feature: Feature) -> str | None:
    """Return the date format by which an attribute is read, or None if it is not read from dates.

    All attributes that are read from one column must have the same format.
    """
    return None if feature.date is None else feature.date.format


def _replaced(domain: Domain, changes: Mapping[str, Any], sentences: list[str]) -> Domain:
    """Return the changed domain. If the changes contradict the domain, add a sentence and return the old domain."""
    try:
        return replace(domain, **changes)
    except DomainError as problem:
        sentences.append(str(problem))
        return domain


def _classes(domain: Domain, part: Mapping[str, Any]) -> dict[str, Any]:
    """Return the stated classes as fields of a domain. A class that the domain has keeps its type."""
    known = {text(label): label for label in domain.classes}
    return {
        "classes": tuple(known.get(text(value), value) for value in part["values"]),
        "class_spellings": tuple((spelling, value) for spelling, value in part["spellings"]),
        "classes_source": part["source"],
        "classes_note": part["note"],
    }


def _with_columns(domain: Domain, part: Mapping[str, Any], sentences: list[str]) -> Domain:
    """Return the domain with the stated choice of columns, or the same domain if a stated column is absent."""
    names = part["names"]
    if absent := [name for name in names if name not in domain.names]:
        sentences.append(
            f"The project uses {_listed(absent)}, which this file does not have. Confirm the label and the file again."
        )
        return domain
    features = tuple(feature for feature in domain.features if feature.name in names)
    changes = {"features": features, "columns_source": part["source"], "columns_note": part["note"]}
    return _replaced(domain, changes, sentences)


def _with_reading(domain: Domain, part: Mapping[str, Any], sentences: list[str]) -> Domain:
    """Return the domain with the source of the file format, or the same domain if the file has another format."""
    if part["format"] != json.loads(json.dumps(_format(domain))):
        sentences.append("This file is written in another way (encoding, delimiter or decimal mark): confirm it again.")
        return domain
    return _replaced(domain, {"reading_source": part["source"], "reading_note": part["note"]}, sentences)


def _listed(names: Collection[str], most: int = 5) -> str:
    """Return the first names as text, and the number of the others."""
    first_names = ", ".join(f"“{name}”" for name in list(names)[:most])
    return first_names if len(names) <= most else f"{first_names} and {len(names) - most:,} more"
