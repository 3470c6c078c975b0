"""Measurements for the page Theory: those of bundled tables from `data/theory.json`, those of other tables live."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from functools import cache as once
from pathlib import Path
from typing import Any, Final

import numpy as np
import pandas as pd

from dpforest.simulation.splits import Split
from dpforest.tables.domain import Domain
from dpforest.tables.out_of_domain import OutOfDomainCells
from dpforest.tables.rows import read_rows
from dpforest.theory import measurements
from ui.shared import cache
from ui.shared.tables import Table, fingerprint, split

PATH: Final = Path(__file__).parents[2] / "data" / "theory.json"
MOST_ROWS: Final = 40_000  # rows that are measured while the user waits; every bundled table has fewer


@once
def measured() -> dict[str, Any]:
    """Return the measurements that `scripts/theory_numbers.py` wrote."""
    return json.loads(PATH.read_text(encoding="utf-8"))


def of_table(measure: str, table: Table) -> dict[str, Any]:
    """Return one of `MEASURES` on a table, with numeric attributes on the linear scale."""
    stored = {} if table.uploaded else measured()["tables"].get(table.key, {})
    if stored.get("domain") == fingerprint(table.domain) and measure in stored:
        return stored[measure]
    return _measure((table.schema_key, fingerprint(table.domain), measure), table)


@cache.by_table(everybody=32, session=8, data=True, spinner="Measuring on this table …")
def _measure(key: tuple, _table: Table) -> dict[str, Any]:
    return rounded(MEASURES[key[-1]][0](_table))


def rounded(value: Any) -> Any:
    """Return a value rounded to six decimals, with keys as JSON reads them back."""
    if isinstance(value, dict):
        return {str(key): rounded(each) for key, each in value.items()}
    return round(value, 6) if isinstance(value, float) else value


def _split(table: Table) -> tuple[Domain, Split]:
    """Return domain and rows on the linear scale, as the theorems assume; at most `MOST_ROWS` training rows."""
    linear = replace(table, domain=table.domain.on_scale("linear"))
    parts = split(linear)
    if len(parts.y_train) <= MOST_ROWS:
        return linear.domain, parts
    some = np.linspace(0, len(parts.y_train) - 1, MOST_ROWS).astype(int)
    return linear.domain, replace(parts, X_train=parts.X_train[some], y_train=parts.y_train[some])


def _labeled(table: Table) -> tuple[Domain, pd.DataFrame, pd.Series]:
    """Return the domain on the linear scale, and columns and labels of the rows with a listed label.

    A long table keeps `MOST_ROWS` of them. All numbers about training rows come from these rows, so that they share one
    guessing rate.
    """
    domain = table.domain.on_scale("linear")
    places = np.flatnonzero(domain.listed_labels(table.frame[table.label]) >= 0)
    if len(places) > MOST_ROWS:
        places = places[np.linspace(0, len(places) - 1, MOST_ROWS).astype(int)]
    return domain, table.columns().iloc[places], table.frame[table.label].iloc[places]


def _goodness(table: Table) -> dict[str, Any]:
    domain, X, y = _labeled(table)
    rows = read_rows(domain, X, y, out_of_domain=OutOfDomainCells())
    return measurements.goodness(domain, rows.codes, rows.y)


# Function of each measure, and whether its theorem is about two classes only.
MEASURES: Final[dict[str, tuple[Callable[[Table], dict[Any, Any]], bool]]] = {
    "goodness": (_goodness, True),
    "noisy_votes": (lambda table: measurements.noisy_votes(*_split(table)), True),
    "empty": (lambda table: measurements.empty_leaves(*_split(table)), False),
    "boosted": (lambda table: measurements.boosted_errors(*_labeled(table)), True),
}
