"""Edited cells of the public domain: what each one changes in its attribute. No Streamlit in here."""

from __future__ import annotations

from typing import Any, Final

import pandas as pd

from dpforest.tables.csv_values import parsed
from dpforest.tables.domain import DomainError, Feature

SOURCE: Final = "where this is known from"
TICKED: Final = ("use", "whole")  # an empty box counts as not ticked
BOUNDS: Final = {"lowest": ("low", "lower"), "highest": ("high", "upper")}
TEXTS: Final = ("values", "missing", SOURCE)
CELLS: Final = (*TICKED, *BOUNDS, *TEXTS)  # all that can be edited
RULES: Final = {"own value": "own", "none expected": "refuse"}  # for missing cells


def typed(frame: pd.DataFrame) -> pd.DataFrame:
    """The rows of the editor, in types that can hold an empty cell: Streamlit drops an edit of another type."""
    types = dict.fromkeys(TICKED, "boolean") | dict.fromkeys(BOUNDS, "float64") | dict.fromkeys(TEXTS, "object")
    return frame.astype(types)


def cleaned(row: dict[str, Any]) -> dict[str, Any]:
    """The cells that can be edited. An empty cell becomes False, None or "", whatever value the editor gives it.

    >>> cleaned({"use": pd.NA, "lowest": float("nan"), "values": None, "state": "documented"})
    {'use': False, 'lowest': None, 'values': ''}
    """
    return {cell: _cleaned(cell, row[cell]) for cell in CELLS if cell in row}


def _cleaned(cell: str, value: Any) -> Any:
    is_empty = value is None or (pd.api.types.is_scalar(value) and pd.isna(value))
    if cell in TICKED:
        return not is_empty and bool(value)
    if cell in BOUNDS:
        return None if is_empty else value
    return "" if is_empty else str(value).strip()


def changes(old: Feature, cell: str, value: Any) -> dict[str, Any]:
    """Parameters of the attribute that one edited cell sets. The cell comes from `cleaned`.

    Raises
    ------
    DomainError
        If the cell is empty but must not be, or does not apply to an attribute of this kind.
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
    if value is None:
        raise DomainError(f"{old.name!r} has no {which} bound. Type a number under “{cell}”.")
    return {parameter: value}
