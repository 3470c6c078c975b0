"""The parts of an attribute that have a source, converted to JSON and back. This module does not use Streamlit.

A part is, for example, the bounds or the rule for missing cells. If a part was read from the data, neither its values
nor its note are converted.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from dpforest.tables.dates import DatePart
from dpforest.tables.domain import Domain, DomainError, Feature
from dpforest.tables.read_parts import BOUNDS, CATEGORIES, MISSING, TYPE, Source, sources, with_sources
from dpforest.trees import forest_schema

VALUES: Final = "values"
PARTS: Final = (VALUES, TYPE, MISSING)
_WHAT_OF: Final = {"numeric": BOUNDS, "categorical": CATEGORIES}
# For each part, the fields of `dpforest.tables.features.Feature` that belong to it.
_COVERED: Final[Mapping[str, tuple[str, ...]]] = {
    BOUNDS: ("low", "high", "scale"),
    CATEGORIES: ("categories", "spellings"),
    TYPE: ("kind", "integer", "signs", "date"),
    MISSING: ("missing", "missing_value", "missing_words"),
}
_TUPLES: Final = ("categories", "signs", "missing_words")


def stated(feature: Feature) -> dict[str, Any] | None:
    """Return the parts of an attribute that have a source, as values that JSON can hold; None if no part has one.

    >>> age = Feature("age", "numeric", 18, 94, integer=True, missing_source="documented", missing_note="a duty")
    >>> stated(age)
    {'name': 'age', 'missing': {'missing': 'refuse', 'missing_value': None, 'missing_words': [], \
'source': 'documented', 'note': 'a duty'}}
    """
    entry: dict[str, Any] = {}
    for what, (source, note) in sources(feature).items():
        if source != "data":
            fields = {name: _as_json(getattr(feature, name)) for name in _COVERED[what]}
            kind = {} if what in (TYPE, MISSING) else {"kind": feature.kind}
            part = VALUES if what in (BOUNDS, CATEGORIES) else what
            entry[part] = {**kind, **fields, "source": source, "note": note}
    return {"name": feature.name, **entry} if entry else None


def _as_json(value: Any) -> Any:
    if isinstance(value, DatePart):
        return value.to_dict()
    return [_as_json(each) for each in value] if isinstance(value, tuple) else value


def column_of(entry: Mapping[str, Any]) -> str:
    """Return the column that an entry of `stated` describes."""
    date = entry.get(TYPE, {}).get("date")
    return date["column"] if date else entry["name"]


def kind_of(entry: Mapping[str, Any]) -> str | None:
    """Return the kind of attribute that an entry states; None if it states only the rule for missing cells."""
    return next((entry[part]["kind"] for part in (TYPE, VALUES) if part in entry), None)


def merged(old: Feature | None, entry: Mapping[str, Any]) -> Feature:
    """Return an attribute with the parts that an entry states.

    Parameters
    ----------
    old : Feature or None
        The attribute as read from the file; None if reading the file gave no such attribute.
    entry : dict
        Result of `stated`.

    Raises
    ------
    DomainError
        If the entry does not fit the attribute. The message is a sentence for users.
    """
    name, kind = entry["name"], kind_of(entry) or (old.kind if old else None)
    is_same = old is not None and kind == old.kind
    if not is_same and VALUES not in entry:
        raise DomainError(f"The project has no bounds or categories of “{name}”, and the file does not suggest any.")
    if old is not None and not is_same and TYPE not in entry:
        raise DomainError(
            f"The project says that “{name}” is {kind}, but in this file it looks {old.kind}. Answer its card again."
        )
    fields: dict[str, Any] = {"missing": "category"}  # this rule for missing cells fits any column
    before: dict[str, Source] = {}
    if old is not None and is_same:
        fields = {field: getattr(old, field) for names in _COVERED.values() for field in names}
        before = sources(old)
    changed: dict[str, Source] = {}
    for part in PARTS:
        if part in entry:
            what = _WHAT_OF[str(kind)] if part == VALUES else part
            changed[what] = entry[part]["source"], entry[part]["note"]
            fields |= {field: _of_json(field, entry[part][field]) for field in _COVERED[what]}
    unsourced = {"type_source": "data", "missing_source": "data"}
    return with_sources(Feature(**{**unsourced, **fields, "name": name, "kind": kind}), before | changed)


def _of_json(field: str, value: Any) -> Any:
    if field == "date":
        return None if value is None else DatePart(**value)
    if field == "spellings":
        return tuple((spelling, listed) for spelling, listed in value)
    return tuple(value) if field in _TUPLES else value


def checked(entry: Any) -> dict[str, Any]:
    """Return the known fields of an entry that a file holds. The kind of each source becomes "asserted".

    Raises
    ------
    DomainError
        If the entry is not as `stated` writes it.
    """
    try:
        result = {"name": entry["name"], **{part: _checked_part(part, entry[part]) for part in PARTS if part in entry}}
        feature = merged(None if VALUES in result else _plain(result), result)
        forest_schema.check_domain(Domain((feature,), ("a", "b")))
    except DomainError:
        raise
    except (LookupError, TypeError, ValueError, AttributeError, RecursionError, OverflowError):
        raise DomainError("An attribute of this project is not as the app writes it.") from None
    return result


def _checked_part(part: str, fields: Mapping[str, Any]) -> dict[str, Any]:
    what = _WHAT_OF[fields["kind"]] if part == VALUES else part
    names = [*(["kind"] if part == VALUES else []), *_COVERED[what]]
    return {**{name: fields[name] for name in names}, "source": "asserted", "note": fields["note"]}


def _plain(entry: Mapping[str, Any]) -> Feature:
    """Return a simple attribute into which an entry without bounds or categories can be merged."""
    value = entry.get(MISSING, {}).get("missing_value")
    if kind_of(entry) == "categorical" or (kind_of(entry) is None and isinstance(value, str)):
        return Feature(entry["name"], "categorical", categories=(value if isinstance(value, str) else "a",))
    return Feature(entry["name"], "numeric", 0, 1)
