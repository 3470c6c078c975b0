"""JSON schemas of a released forest (docs/FORMAT.md): the type, length and range of every field."""

import json
from typing import Any, Final

import jsonschema

from dpforest import voting
from dpforest.limits import (
    MAX_CATEGORIES,
    MAX_CLASSES,
    MAX_DEPTH,
    MAX_DOMAIN_BYTES,
    MAX_DOMAIN_VALUES,
    MAX_FEATURES,
    MAX_FOREST_NODES,
    MAX_FOREST_TREES,
    MAX_LEAF_NUMBERS,
    MAX_NAME,
    MAX_NOTE,
    MAX_SPELLINGS,
    MAX_WORDS,
)
from dpforest.privacy.ledger import COMPOSITIONS, NEIGHBORS, PARTS
from dpforest.privacy.loss import KINDS as LOSS_KINDS
from dpforest.tables.csv_format import DECIMALS, CsvFormat
from dpforest.tables.dates import DATE_FORMATS, DATE_PARTS
from dpforest.tables.domain import Domain, DomainError
from dpforest.tables.features import KINDS, MISSING, MISSING_IN_FILES, SOURCES
from dpforest.tables.reading_rules import SIGNS
from dpforest.tables.scale import SCALES
from dpforest.tables.units import MOST_ROWS, UNIT_WEIGHT

FORMAT: Final = "dpforest released forest"
_MOST: Final = max(MAX_FOREST_NODES, MAX_LEAF_NUMBERS)


class SchemaError(ValueError):
    """Raised if a field of a file breaks the schema. The message is the end of a sentence that the caller begins."""


# ---------------------------------------------------------------- the pieces


def _text(most: int = MAX_NOTE) -> dict[str, Any]:
    return {"type": "string", "maxLength": most}


def _whole(least: int, most: int) -> dict[str, Any]:
    return {"type": "integer", "minimum": least, "maximum": most}


def _list(items: dict[str, Any], least: int, most: int) -> dict[str, Any]:
    return {"type": "array", "items": items, "minItems": least, "maxItems": most}


def _object(required: dict[str, Any], optional: dict[str, Any] | None = None) -> dict[str, Any]:
    """Return the schema of an object with these required and optional fields, and no other fields."""
    fields = {**required, **(optional or {})}
    return {"type": "object", "properties": fields, "required": list(required), "additionalProperties": False}


def _packed(*types: str) -> dict[str, Any]:
    """Return the schema of an array of format versions 2 and 3."""
    return _object({"type": {"enum": list(types)}, "shape": _list(_whole(0, _MOST), 1, 2), "data": {"type": "string"}})


def _plain(dtype: str) -> dict[str, Any]:
    """Return the schema of an array of format version 1."""
    shape = _list(_whole(0, _MOST), 1, 2)
    return _object({"dtype": {"const": dtype}, "shape": shape, "base64": {"type": "string"}})


_SENTENCE: Final = _text(10 * MAX_NOTE)  # a sentence of a certificate, which may repeat a note and names
_FRACTION: Final = {"type": "string", "pattern": r"^[0-9]{1,200}(/[0-9]{1,200})?\Z"}
_SEED: Final = _whole(0, 2**64 - 1)
_SOURCE: Final = {"enum": list(SOURCES)}

_CERTIFICATE: Final = _object(
    {
        "certified": {"type": "boolean"},
        "kind": {"enum": list(LOSS_KINDS)},
        "epsilon": {"anyOf": [_FRACTION, {"type": "null"}]},
        "delta": {"type": "number"},
        "true_epsilon": {"anyOf": [{"type": "number"}, {"const": "infinity"}]},
        "neighbors": {"enum": list(NEIGHBORS)},
        "mechanism": _SENTENCE,
        "assumptions": _list(_SENTENCE, 0, 2 * MAX_FEATURES),
        "reasons": _list(_SENTENCE, 0, 2 * MAX_FEATURES),
    },
    {"mu_squared": _FRACTION, "unit": _text(MAX_NAME)},
)
_ENTRY: Final = _object(
    {
        "what": _text(),
        "mechanism": _text(),
        "sensitivity": _FRACTION,
        "epsilon_each": {"anyOf": [_FRACTION, {"type": "null"}]},
        "times": _whole(1, 2**63 - 1),
        "composition": {"enum": list(COMPOSITIONS)},
    },
    {"part": {"enum": list(PARTS)}, "mu_squared_each": _FRACTION},
)
_LEDGER: Final = _object(
    {
        "epsilon": {"anyOf": [_FRACTION, {"type": "null"}]},
        "neighbors": {"enum": list(NEIGHBORS)},
        "closed": {"type": "boolean"},
        "entries": _list(_ENTRY, 0, 30),
    },
    {
        "unit": _text(MAX_NAME),
        "spent": _FRACTION,
        "kind": {"enum": list(LOSS_KINDS)},
        "mu_squared": _FRACTION,
        "mu_squared_spent": _FRACTION,
    },
)
_SPELLINGS: Final = _list(_list(_text(MAX_NAME), 2, 2), 0, MAX_SPELLINGS)
_DATE: Final = _object(
    {"column": _text(MAX_NAME), "format": {"enum": list(DATE_FORMATS)}, "part": {"enum": list(DATE_PARTS)}},
    {"since": _text(MAX_NAME)},
)
_BOUND: Final = {"type": ["number", "null"]}
_FEATURE: Final = _object(
    {"name": _text(MAX_NAME), "kind": {"enum": list(KINDS)}},
    {
        "low": _BOUND,
        "high": _BOUND,
        "integer": {"type": "boolean"},
        "categories": _list(_text(MAX_NAME), 0, MAX_CATEGORIES),
        "source": _SOURCE,
        "source_note": _text(),
        "missing": {"enum": [MISSING_IN_FILES.get(rule, rule) for rule in MISSING]},
        "missing_value": {"anyOf": [_text(MAX_NAME), {"type": ["number", "null"]}]},
        **{name: _text() for name in ("missing_source", "missing_note", "type_source", "type_note")},
        "scale": {"enum": list(SCALES)},
        "missing_words": _list(_text(MAX_NAME), 0, MAX_WORDS),
        "signs": _list({"enum": list(SIGNS)}, 0, len(SIGNS)),
        "spellings": _SPELLINGS,
        "date": _DATE,
    },
)
_CSV_FORMAT: Final = _object(
    {
        "encoding": _text(MAX_NAME),
        "delimiter": {"type": "string", "minLength": 1, "maxLength": 1},
        "decimal": {"enum": list(DECIMALS)},
        "point_columns": _list(_text(), 0, MAX_NOTE // 4),  # `check` limits the length of the whole format as text
    }
)
_DOMAIN: Final = _object(
    {
        "features": _list(_FEATURE, 1, MAX_FEATURES),
        "classes": _list({"anyOf": [_text(MAX_NAME), {"type": ["number", "boolean"]}]}, 2, MAX_CLASSES),
    },
    {
        "label": _text(MAX_NAME),
        "classes_source": _SOURCE,
        "classes_note": _text(),
        "reading": {"anyOf": [_text(), _CSV_FORMAT]},
        **{name: _text() for name in ("reading_source", "reading_note", "columns_source", "columns_note")},
        "unit": _object({"column": _text(MAX_NAME), "most_rows": {"const": MOST_ROWS}}),
        "class_spellings": _SPELLINGS,
    },
)
_ABOUT: Final = _object(
    {},
    {
        "estimator": _text(MAX_NAME),
        "structure_seed": _SEED,
        "caution": _text(),
        "alpha": {"anyOf": [{"type": "number"}, _text(MAX_NAME), _list({"type": "number"}, 0, MAX_DEPTH)]},
        "n_bins": _whole(0, 2**31),
        "n_rows": _whole(0, 2**63),
        "criterion": _text(MAX_NAME),
        "split_score": _text(MAX_NAME),
        "total_step": {"type": "number", "minimum": 0, "maximum": 2**20},
    },
)
_COMMON: Final = {
    "format": {"const": FORMAT},
    "about": _ABOUT,
    "certificate": _CERTIFICATE,
    "ledger": _LEDGER,
    "domain": _DOMAIN,
    "voting": {"enum": list(voting.VOTING)},
    "negative_rule": {"enum": list(voting.NEGATIVE_RULES)},
    "seed": _SEED,
    "depth": _whole(0, MAX_DEPTH),
}
_ALPHA_LINK: Final = {"type": "number"}
_LOG_ODDS: Final = _object(
    {
        "noise_scale": {"type": "number", "minimum": 0, "maximum": 2**40},
        "prior_weight": {"type": "number", "exclusiveMinimum": 0, "maximum": 2**40},
    }
)

VERSION_1: Final = _object(
    {
        **_COMMON,
        "version": {"const": 1},
        "trees": _object(
            {
                "kind": _plain("u1"),
                "feature": _plain("<i4"),
                "threshold": _plain("<i4"),
                "first_child": _plain("<i4"),
                "tree_start": _plain("<i8"),
            }
        ),
    },
    {
        "labels": _plain("u1"),
        "noisy_counts": _plain("<i8"),
        "leaf_values": _plain("<f8"),
        "class_of_tree": _plain("<i2"),
        "alpha_link": _ALPHA_LINK,
    },
)
# Version 3 adds the unit of privacy, as optional fields, to version 2. So one schema is for both versions.
VERSION_3: Final = _object(
    {
        **_COMMON,
        "version": {"enum": [2, 3]},
        "trees": _object(
            {
                "n_trees": _whole(1, MAX_FOREST_TREES),
                "test_feature": _packed("u1", "u2"),
                "test_kind": _packed("u1"),
                "nodes": _packed("u1", "u2"),
                "thresholds": _packed("u1", "u2"),
            }
        ),
    },
    {
        "labels": _packed("u1"),
        "noisy_counts": _packed("u1", "u2", "u4", "i1", "i2", "i4", "i8"),
        "leaf_values": _packed("f8"),
        "class_of_tree": _packed("u1"),
        "alpha_link": _ALPHA_LINK,
        "log_odds": _LOG_ODDS,
        "scale": _packed("u1", "u2", "u4", "i8"),
        "count_unit": {"const": UNIT_WEIGHT},
    },
)
SCHEMAS: Final = {1: VERSION_1, 2: VERSION_3, 3: VERSION_3, "domain": _DOMAIN}


# ---------------------------------------------------------------- checking


def check(content: Any, what: int | str) -> None:
    """Raise SchemaError with the name of the first field that breaks the schema.

    Parameters
    ----------
    content : Any
        Parsed JSON of a file, or of a domain.
    what : {1, 2, 3, "domain"}
        Format version of the file, or "domain" if `content` is only a domain.
    """
    error = next(_VALIDATORS[what].iter_errors(content), None)
    if error is not None:
        raise SchemaError(_sentence(error))
    reading = (content if what == "domain" else content["domain"]).get("reading")
    if isinstance(reading, dict) and len(str(CsvFormat.from_dict(reading))) > MAX_NOTE:
        raise SchemaError(f"{'' if what == 'domain' else 'domain.'}reading is too long")


def check_domain(domain: Domain) -> None:
    """Raise DomainError for a domain that no file could hold, before any budget is spent on it.

    `dpforest.limits` has the limits for texts, for lists and for the whole domain. Every text must be valid Unicode.
    """
    text = json.dumps(domain.to_dict(), default=plain)
    content = json.loads(text)
    try:
        json.dumps(content, ensure_ascii=False).encode()
        check(content, "domain")
        if len(text) > MAX_DOMAIN_BYTES or n_values(text) > MAX_DOMAIN_VALUES:
            raise SchemaError(f"it takes more than {MAX_DOMAIN_BYTES // 2**20} MB or {MAX_DOMAIN_VALUES:,} values")
    except UnicodeEncodeError:
        raise DomainError(
            "A text of the domain is not valid Unicode, because it contains half of a surrogate pair; enter it again."
        ) from None
    except SchemaError as error:
        raise DomainError(
            f"The file of a released forest contains its domain, but {error}; change the domain first."
        ) from None


def plain(number: Any) -> Any:
    """Return a numpy number as a Python number, which JSON can hold."""
    return number.item()


def n_values(text: str | bytes) -> int:
    """Return an upper bound on the number of values in the lists and objects of a JSON text, by counting characters."""
    if isinstance(text, str):
        return sum(text.count(mark) for mark in ",[{")
    return sum(text.count(mark) for mark in (b",", b"[", b"{"))


def _items(validator, items: dict[str, Any], instance: Any, schema: dict[str, Any]):
    """Validate items as jsonschema does, but skip lists that are too long, and check lists of short texts at once."""
    if not isinstance(instance, list) or len(instance) > schema["maxItems"]:
        return
    if items.get("type") == "string" and all(type(v) is str and len(v) <= items["maxLength"] for v in instance):
        return
    for index, value in enumerate(instance):
        yield from validator.descend(value, items, path=index)


_DRAFT: Final = jsonschema.Draft202012Validator
_VALIDATOR: Final = jsonschema.validators.extend(
    _DRAFT,
    {"items": _items},
    type_checker=_DRAFT.TYPE_CHECKER.redefine("integer", lambda _, value: type(value) is int),  # 1.0 is not an integer
)
_VALIDATORS: Final = {what: _VALIDATOR(schema) for what, schema in SCHEMAS.items()}
_PROBLEMS: Final = {
    "type": "is of the wrong type",
    "enum": "has a value that is not known",
    "const": "has a value that is not known",
    "maxLength": "is too long",
    "maxItems": "is too long",
    "minItems": "is too short",
    "minimum": "is out of range",
    "exclusiveMinimum": "is out of range",
    "maximum": "is out of range",
    "anyOf": "is of the wrong type, or too long",
    "pattern": "is not a fraction",
}


def _sentence(error: Any) -> str:
    where = ".".join(map(str, error.absolute_path)) or "the file"
    if error.validator == "required":
        missing = next(name for name in error.validator_value if name not in error.instance)
        return f"{missing!r} is missing in {where}"
    if error.validator == "additionalProperties":
        unknown = next(name for name in error.instance if name not in error.schema["properties"])
        return f"{where} has a field that is not known, {unknown[:40]!r}"
    return f"{where} {_PROBLEMS.get(error.validator, 'is not valid')}"
