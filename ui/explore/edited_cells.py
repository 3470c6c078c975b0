"""Cells of the editor of the domain, and the parameters of an attribute that a cell changes.

This module does not use Streamlit.
"""

from __future__ import annotations

import math
import re
from typing import Any, Final

import pandas as pd

from dpforest.tables.csv_values import parsed
from dpforest.tables.domain import DomainError, Feature

SOURCE: Final = "how everybody knows this"
TICKED: Final = ("use", "whole")  # columns of check boxes; an empty cell counts as not checked
# Maps a column of the editor to the parameter of `Feature`, and to the name of the bound in messages.
BOUNDS: Final = {"lowest": ("low", "lower"), "highest": ("high", "upper")}
TEXTS: Final = ("values", "missing", SOURCE)
CELLS: Final = (*TICKED, *BOUNDS, *TEXTS)  # all cells that can be edited
# A comma before three digits may separate thousands, so it is ambiguous. A point is always the decimal mark.
_NUMBER: Final = re.compile(r"[+-]?([0-9]+([.,][0-9]*)?|[.,][0-9]+)(e[+-]?[0-9]+)?", re.IGNORECASE)
_AMBIGUOUS: Final = re.compile(r"[+-]?([1-9][0-9]{0,2},[0-9]{3}|[0-9]+([.,][0-9]+){2,})")
RULES: Final = {
    "a separate value": "category",
    "there are none": "refuse",
}  # maps the editor's words for missing cells to values of the parameter `missing`
RULE_NAMES: Final = {rule: name for name, rule in RULES.items()}


def with_nullable_types(frame: pd.DataFrame) -> pd.DataFrame:
    """Cast the rows of the editor to types that allow an empty cell.

    Streamlit drops an edit that does not fit the type of its column.
    """
    types = dict.fromkeys(TICKED, "boolean") | dict.fromkeys((*BOUNDS, *TEXTS), "object")
    return frame.astype(types)


def cleaned(row: dict[str, Any]) -> dict[str, Any]:
    """Return the editable cells of a row. An empty cell, in any form, becomes False, None or "".

    >>> cleaned({"use": pd.NA, "lowest": float("nan"), "values": None, "state": "documented"})
    {'use': False, 'lowest': None, 'values': ''}
    """
    return {cell: _cleaned(cell, row[cell]) for cell in CELLS if cell in row}


def _cleaned(cell: str, value: Any) -> Any:
    is_empty = value is None or (pd.api.types.is_scalar(value) and pd.isna(value))
    if cell in TICKED:
        return not is_empty and bool(value)
    if cell in BOUNDS:
        return None if is_empty or not str(value).strip() else number(str(value))
    return "" if is_empty else str(value).strip()


def number(text: str) -> float | str:
    """Parse the number in a cell, with a decimal point or comma.

    Return the text itself if it is ambiguous or not a number.

    >>> number("1,3"), number(" 1.3 "), number("0,125"), number("1,300"), number("abc")
    (1.3, 1.3, 0.125, '1,300', 'abc')
    """
    text = text.strip().replace("\u2212", "-")  # "\u2212" is the minus sign that spreadsheets and word processors write
    if text.lower() in {"inf", "-inf"}:
        return float(text)  # `Feature` refuses an infinite bound
    if not _NUMBER.fullmatch(text) or _AMBIGUOUS.fullmatch(text):
        return text
    value = float(text.replace(",", "."))
    return value if math.isfinite(value) else text


def bound_text(value: float | None) -> str | None:
    """Write a bound with all of its digits, so that `number` returns the same bound. None stays None.

    >>> bound_text(9.0), bound_text(49.5), bound_text(None)
    ('9', '49.5', None)
    """
    if value is None:
        return None
    return str(int(value)) if float(value).is_integer() and abs(value) < 1e16 else repr(float(value))


def changes(old: Feature, cell: str, value: Any) -> dict[str, Any]:
    """Return the parameters of `Feature` that one edited cell changes, with new values.

    `cell` is the column of the cell, and `value` its content after `cleaned`.

    Raises
    ------
    DomainError
        If the value is missing, not a number, or not a rule, or if an attribute of this kind has no such parameter.
    """
    if cell == "missing":
        return {"missing": _rule(old, value)}
    if cell in BOUNDS:
        return _bound(old, cell, value)
    if cell == "whole":
        if value and old.kind != "numeric":
            raise DomainError(f"{old.name!r} is not numeric. Clear its box under “whole numbers”.")
        return {"integer": value} if old.kind == "numeric" else {}
    if cell == "values":
        if value and old.kind == "numeric":
            raise DomainError(f"{old.name!r} is numeric: it takes bounds and no values. Clear its cell under “values”.")
        return {"categories": parsed(value)} if old.kind != "numeric" else {}
    return {}


def _rule(old: Feature, value: str) -> str:
    if value not in RULES:
        problem = f"{value!r} is not a rule" if value else "No rule is set"
        raise DomainError(
            f"{problem} for missing cells of {old.name!r}. Choose one of {', '.join(f'“{rule}”' for rule in RULES)}."
        )
    return RULES[value]


def _bound(old: Feature, cell: str, value: Any) -> dict[str, Any]:
    parameter, which = BOUNDS[cell]
    if old.kind != "numeric":
        if value is None:
            return {}
        raise DomainError(f"{old.name!r} takes values and no bounds. Clear its cell under “{cell}”.")
    return {parameter: _checked_bound(value, cell, old.name, which)}


def bound_of(typed: str, cell: str, name: str) -> float:
    """Return the number that a user typed as a bound of an attribute, or raise a DomainError.

    >>> bound_of(" 0,5", "lowest", "share")
    0.5
    """
    value = number(typed) if typed.strip() else None
    return _checked_bound(value, cell, name, BOUNDS[cell][1])


def _checked_bound(value: Any, cell: str, name: str, which: str) -> float:
    if isinstance(value, str) and _AMBIGUOUS.fullmatch(value):
        raise DomainError(
            f"{value!r} under “{cell}” of {name!r} can mean two numbers. Write 1300 or 1.3: digits without a "
            "thousands separator, and at most one decimal mark."
        )
    if value is None or isinstance(value, str):
        problem = "" if value is None else f"{value[:20]!r} is not a number. "
        raise DomainError(f"{problem}{name!r} has no {which} bound. Type a number under “{cell}”.")
    return value
