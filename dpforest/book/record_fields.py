"""Rules for the fields of a release record as JSON values, and functions that check these rules."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from datetime import datetime
from fractions import Fraction
from typing import Any, Final

from dpforest.privacy.ledger import NEIGHBORS
from dpforest.privacy.rationals import written_fraction

VERSIONS: Final = (1, 2)  # versions of the format that this dpforest reads; it writes the last one
UNITS: Final = ("row", "person")
PUBLIC_SOURCES: Final = ("documented", "asserted")  # a schema that was read from the rows is not public
_Rule = tuple[Callable[[Any], bool], str]  # function that tests a value, and description of the values that pass


class RecordError(ValueError):
    """Raised if a release record cannot be made or read. The message says what is wrong and what to do."""


def check_words(*, title: str, purpose: str, owner: str, approver: str, delta_reason: str, delta: float) -> None:
    """Check the texts that people enter, before a release is booked.

    Parameters
    ----------
    title, purpose, owner, approver, delta_reason : str
        As in `ReleaseRecord`.
    delta : float
        δ of the planned release.

    Raises
    ------
    RecordError
        If a text is too long or has line breaks that its field forbids, if a text other than `approver` and
        `delta_reason` is empty, if there is a reason although δ is 0, or if there is none although δ is above 0.
    """
    texts = {"title": title, "purpose": purpose, "owner": owner, "approver": approver, "delta_reason": delta_reason}
    for name, text in texts.items():
        _check_value(name, text, FIELDS[name])
    _check_reason(delta_reason, delta)


def check_fields(content: Mapping[str, Any], version: int) -> None:
    """Raise RecordError unless the JSON values of a record, without format and version, are complete and valid."""
    source_rules = SOURCE_RULES if version == 1 else SOURCE_RULES | VALUE_RULE
    _check_object("The record", content, FIELDS)
    for name in ("sum_before", "sum_after"):
        _check_object(f"“{name}”", content[name], SUM_RULES)
    for source in content["sources"]:
        _check_object("“sources”", source, source_rules)
    if (content["unit"] == "person") != (content["unit_column"] is not None):
        raise RecordError("“unit_column” must name a column if “unit” is “person”, and be null if “unit” is “row”.")
    if (content["delta"] == 0) != (content["mu_squared"] is None):
        raise RecordError("“mu_squared” must be null if “delta” is 0, and a fraction if “delta” is above 0.")
    _check_reason(content["delta_reason"], content["delta"])
    _check_sums(content)


def _check_sums(content: Mapping[str, Any]) -> None:
    """Raise RecordError if the sums of the record contradict each other.

    A sum after the release must be at least the sum before it, and at least the loss of the release. The ε of a sum
    must be at least what its losses add up to.
    """
    amounts = {"pure_epsilon": content["epsilon"] if content["mu_squared"] is None else 0}
    amounts["mu_squared"] = content["mu_squared"] or 0
    for name, amount in amounts.items():
        before, after = (Fraction(content[sum_name][name]) for sum_name in ("sum_before", "sum_after"))
        if after < max(before, Fraction(amount)):
            raise RecordError(f"“{name}” of “sum_after” is smaller than that of “sum_before”, or than the loss itself.")
    for sum_name in ("sum_before", "sum_after"):
        total, pure, mu_squared = (
            Fraction(content[sum_name][name]) for name in ("epsilon", "pure_epsilon", "mu_squared")
        )
        if total < pure or (mu_squared and total == pure):
            raise RecordError(f"“epsilon” of “{sum_name}” is smaller than the sum of its losses.")


def _check_object(subject: str, content: Any, rules: Mapping[str, _Rule]) -> None:
    if not isinstance(content, dict):
        raise RecordError(f"{subject} must be an object with the fields {', '.join(rules)}, not {_shortened(content)}.")
    for name in rules:
        if name not in content:
            raise RecordError(f"{subject} has no field “{name}”.")
    for name in content:
        if name not in rules:
            raise RecordError(f"{subject} must not have a field {_shortened(name)}.")
    for name, rule in rules.items():
        _check_value(name, content[name], rule)


def _check_value(name: str, value: Any, rule: _Rule) -> None:
    is_valid, words = rule
    if not is_valid(value):
        raise RecordError(f"“{name}” must be {words}, not {_shortened(value)}.")


def _check_reason(reason: str, delta: float) -> None:
    if delta and not reason.strip():
        raise RecordError(f"The reason for δ is empty, but δ is {delta:g}. State why this δ is acceptable.")
    if not delta and reason:
        raise RecordError("There is a reason for δ, but δ is 0. Leave the reason empty.")


def _shortened(value: Any) -> str:
    """Return a value as short text for an error message."""
    text = ascii(value)
    return text if len(text) <= 60 else f"{text[:59]}…"


# ---------------------------------------------------------------- rules


def _text(least: int, most: int, *, lines: bool = False) -> _Rule:
    """Return the rule for a text that UTF-8 can encode. The text may have several lines only if `lines` is True."""

    def is_valid(value: Any) -> bool:
        if not isinstance(value, str) or not len(value.strip()) >= least or len(value) > most:
            return False
        is_unicode = not any("\ud800" <= c <= "\udfff" for c in value)
        return is_unicode and (lines or value.splitlines() in ([], [value]))

    return is_valid, f"a text of {least} to {most:,} characters{'' if lines else ' in one line'}"


def _one_of(*values: str) -> _Rule:
    return lambda value: isinstance(value, str) and value in values, " or ".join(f"“{value}”" for value in values)


def _or_null(rule: _Rule) -> _Rule:
    return lambda value: value is None or rule[0](value), f"{rule[1]}, or null"


def _is_positive_integer(value: Any) -> bool:
    return type(value) is int and value >= 1


def _is_flag(value: Any) -> bool:
    return type(value) is bool


def _is_object(value: Any) -> bool:
    return isinstance(value, dict)


def _is_list(value: Any) -> bool:
    return isinstance(value, list) and bool(value)


def _is_delta(value: Any) -> bool:
    return type(value) in (int, float) and 0 <= value < 1


def _is_fraction(value: Any) -> bool:
    try:
        return value is not None and str(written_fraction(value)) == value
    except (ValueError, ZeroDivisionError):
        return False


def _is_above_zero(value: Any) -> bool:
    return _is_fraction(value) and value != "0"


def _is_settings(value: Any) -> bool:
    if not isinstance(value, dict) or not _LINE[0](value.get("estimator")):
        return False
    return all(_LINE[0](name) and _is_setting(each) for name, each in value.items())


def _is_setting(value: Any) -> bool:
    if type(value) is float:
        return math.isfinite(value)
    return value is None or type(value) in (bool, int) or _NAME[0](value)


def _is_time(value: Any) -> bool:
    if not isinstance(value, str) or not re.fullmatch(r"[0-9-]{10}T[0-9:]{8}\+00:00", value):
        return False
    try:
        return datetime.fromisoformat(value).isoformat() == value
    except ValueError:
        return False


def _is_hash(value: Any) -> bool:
    return isinstance(value, str) and re.fullmatch(r"[0-9a-f]{64}", value) is not None


_LINE: Final = _text(1, 200)
_NAME: Final = _text(1, 1_000, lines=True)  # 1,000 characters are also the limit for column names in a forest file
_DELTA: Final[_Rule] = _is_delta, "a number from 0 to below 1"
_FRACTION: Final[_Rule] = _is_fraction, "a fraction in lowest terms as text, such as “5/2”"
_ABOVE_ZERO: Final[_Rule] = _is_above_zero, "a fraction above 0 in lowest terms as text, such as “5/2”"
_SUM_OBJECT: Final[_Rule] = _is_object, "an object"

SOURCE_RULES: Final[dict[str, _Rule]] = {
    "column": _text(0, 1_000, lines=True),
    "part": _LINE,
    "source": _one_of(*PUBLIC_SOURCES),
    "note": _text(1, 10_000, lines=True),
}
# Since version 2, a source also has "value": the value of the part, in words. A list of values can be long.
VALUE_RULE: Final[dict[str, _Rule]] = {"value": _text(0, 1_000_000, lines=True)}
SUM_RULES: Final[Mapping[str, _Rule]] = {
    "epsilon": _FRACTION,
    "delta": _DELTA,
    "neighbors": _one_of(*NEIGHBORS),
    "unit_column": _or_null(_NAME),
    "pure_epsilon": _FRACTION,
    "mu_squared": _FRACTION,
}
FIELDS: Final[Mapping[str, _Rule]] = {
    "title": _LINE,
    "purpose": _text(1, 2_000, lines=True),
    "owner": _LINE,
    "approver": _text(0, 200),
    "delta_reason": _text(0, 2_000, lines=True),
    "population": _LINE,
    "unit": _one_of(*UNITS),
    "unit_column": _or_null(_NAME),
    "rows_per_person": _or_null((_is_positive_integer, "a whole number from 1")),
    "epsilon": _ABOVE_ZERO,
    "delta": _DELTA,
    "mu_squared": _or_null(_ABOVE_ZERO),
    "neighbors": _one_of(*NEIGHBORS),
    "loss": _text(1, 1_000),
    "settings": (_is_settings, "an object with “estimator” and its parameters: texts, numbers, true, false or null"),
    "sources": (_is_list, "a list of at least one source"),
    "chosen_by_looking": (_is_flag, "true or false"),
    "sum_before": _SUM_OBJECT,
    "sum_after": _SUM_OBJECT,
    "cap": _or_null(_ABOVE_ZERO),
    "booking": _LINE,
    "time": (_is_time, "a UTC time such as “2026-11-27T14:30:00+00:00”"),
    "sha256": (_is_hash, "64 hexadecimal digits in lower case"),
    "dpforest_version": _LINE,
}
