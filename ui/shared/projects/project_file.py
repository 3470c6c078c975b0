"""A project as one JSON file, for a backup or another computer."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any, Final

from dpforest.limits import MAX_CLASSES, MAX_FEATURES, MAX_NAME, MAX_NOTE, MAX_SPELLINGS
from dpforest.tables.domain import Domain, DomainError, Feature
from dpforest.trees import forest_schema
from ui.shared.projects import stated_parts
from ui.shared.projects.content import ANSWERS, WORDS
from ui.shared.projects.forest_settings import is_setting
from ui.shared.sources import EXAMPLE, is_source

FORMAT: Final = "dpforest project"
VERSION: Final = 1
_DAMAGED: Final = "This file is not a project from this app, or somebody changed it. Export the project again."
_NEWER: Final = "This project was exported by another version of dpforest. Use that version."
# A valid domain. To check a part of a project, the reader puts the part into this domain.
_ANY_DOMAIN: Final = Domain((Feature("x", "numeric", 0, 1),), ("a", "b"), "y")


class ProjectFileError(ValueError):
    """Raised if a file is not a project. The message tells the user what to do."""


def written(name: str, content: dict[str, Any]) -> str:
    """Return a project as JSON text."""
    return json.dumps({"format": FORMAT, "version": VERSION, "name": name, **content}, indent=1)


def read(data: bytes) -> tuple[str, dict[str, Any]]:
    """Return the name and the content of a project, from a file that `written` wrote.

    Whoever imports a file asserts what the file states, so the kind of every source becomes "asserted".

    Raises
    ------
    ProjectFileError
        If the file is not as `written` writes it, or if a source in it does not pass `is_source`.
    """
    try:
        file = json.loads(data.decode("utf-8-sig"))
    except (ValueError, RecursionError):
        raise ProjectFileError("This file is not JSON, so it is not a project.") from None
    if not isinstance(file, dict) or file.get("format") != FORMAT:
        raise ProjectFileError("This JSON is no project of dpforest. Choose a file that “Export” wrote.")
    if file.get("version") != VERSION:
        raise ProjectFileError(_NEWER)
    try:
        name, content = _text(file["name"], 200), _checked(file)
    except (LookupError, TypeError, ValueError, AttributeError, RecursionError, OverflowError):
        raise ProjectFileError(_DAMAGED) from None
    for note in _notes(content):
        if not is_source(note):
            raise ProjectFileError(
                f"In this project, “{note[:80]}” does not say how everybody knows something. A source has at least "
                f"three words, or two and a number, such as “{EXAMPLE}”. Correct it in the file, or confirm the "
                "columns here again."
            )
    return name, content


def _notes(content: dict[str, Any]) -> list[str]:
    """Return the words of all sources in a project. They must pass the same check as a source that a user types."""
    entries = [*content["attributes"], *content["labels"].values(), {"reading": content["reading"]}]
    return [part["note"] for entry in entries for part in entry.values() if isinstance(part, dict)]


def _checked(file: dict[str, Any]) -> dict[str, Any]:
    """Return the known fields of a file. Any error means that a field is not as `written` writes it."""
    if file["whose_rows"] not in ANSWERS:
        raise ValueError
    entries = [stated_parts.checked(entry) for entry in _list(file["attributes"], MAX_FEATURES)]
    reading, unit = file["reading"], file["unit"]
    return {
        "label": _text(file["label"], MAX_NAME),
        "unit": None if unit is None else _text(unit, MAX_NAME),
        "whose_rows": file["whose_rows"],
        "attributes": list({entry["name"]: entry for entry in entries}.values()),
        "labels": {_text(name, MAX_NAME): _of_label(parts) for name, parts in file["labels"].items()},
        "reading": None if reading is None else {"format": _reading(reading["format"]), **_source(reading)},
        "settings": {key: value for key, value in file["settings"].items() if is_setting(key, value)},
        "population": _text(file["population"], 200),
        **{name: _text(file.get(name, ""), MAX_NOTE) for name in WORDS},
    }


def _of_label(parts: dict[str, Any]) -> dict[str, Any]:
    """Return the classes and the choice of columns of a label. Raise an error if a part is not valid."""
    result: dict[str, Any] = {}
    if "classes" in parts:
        part = parts["classes"]
        values = _list(part["values"], MAX_CLASSES)
        spellings = [[_text(each, MAX_NAME) for each in pair] for pair in _list(part["spellings"], MAX_SPELLINGS)]
        source = _source(part)
        pairs = tuple((spelling, value) for spelling, value in spellings)
        forest_schema.check_domain(replace(_ANY_DOMAIN, classes=tuple(values), class_spellings=pairs))
        result["classes"] = {"values": values, "spellings": spellings, **source}
    if "columns" in parts:
        names = [_text(name, MAX_NAME) for name in _list(parts["columns"]["names"], MAX_FEATURES)]
        result["columns"] = {"names": names, **_source(parts["columns"])}
    return result


def _reading(value: Any) -> Any:
    """Return a file format unchanged. Raise an error if it is not a possible value of `Domain.reading`."""
    forest_schema.check_domain(Domain.from_dict({**_ANY_DOMAIN.to_dict(), "reading": value}))
    return value


def _source(part: dict[str, Any]) -> dict[str, str]:
    """Return the source of a part as an assertion of the user. Raise an error if it has no words."""
    note = _text(part["note"], MAX_NOTE)
    if not note.strip():
        raise DomainError("A statement has no source.")
    return {"source": "asserted", "note": note}


def _text(value: Any, most: int) -> str:
    if not isinstance(value, str) or len(value) > most:
        raise ValueError
    value.encode()  # a lone surrogate (half of a character) raises UnicodeEncodeError, which is a ValueError
    return value


def _list(value: Any, most: int) -> list[Any]:
    if not isinstance(value, list) or len(value) > most:
        raise ValueError
    return value
