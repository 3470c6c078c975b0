"""Tables as files: what is text stays text where a spreadsheet opens them."""

from __future__ import annotations

import pandas as pd

_FORMULA = ("=", "+", "-", "@", "\t", "\r")


def as_csv(table: pd.DataFrame) -> str:
    """A table as CSV. Texts that a spreadsheet would take for a formula get an apostrophe before them.

    Numbers stay as they are, written as text or not.

    >>> as_csv(pd.DataFrame({"=a": ["=1+1", "-5", "+x"], "b": [-1.5, 2, 3]})).split()
    ["'=a,b", "'=1+1,-1.5", '-5,2.0', "'+x,3.0"]
    """
    harmless = table.copy()
    for place, kind in enumerate(table.dtypes):
        if not pd.api.types.is_numeric_dtype(kind):
            harmless.isetitem(place, table.iloc[:, place].map(_harmless))
    harmless.columns = [_harmless(name) for name in table.columns]
    return harmless.to_csv(index=False)


def _harmless(cell: object) -> object:
    if not isinstance(cell, str) or not cell.startswith(_FORMULA):
        return cell
    try:
        float(cell)
    except ValueError:
        return f"'{cell}"
    return cell
