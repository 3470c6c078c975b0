"""Measurements for the page Theory. They are read from `data/theory.json`, or made while the user waits."""

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
MOST_ROWS: Final = 40_000  # largest number of rows to measure while the user waits; bundled tables have fewer


@once
def stored_measurements() -> dict[str, Any]:
    """Return the measurements that `scripts/theory_numbers.py` wrote."""
    return json.loads(PATH.read_text(encoding="utf-8"))


def of_table(measure: str, table: Table) -> dict[str, Any]:
    """Return the results of a measure in `MEASURES` on a table with its numeric attributes on the linear scale."""
    stored = {} if table.uploaded else stored_measurements()["tables"].get(table.key, {})
    if stored.get("domain") == fingerprint(table.domain) and measure in stored:
        return stored[measure]
    return _measure((table.schema_key, fingerprint(table.domain), measure), table)


@cache.by_table(everybody=32, session=8, data=True, spinner="Measuring on this table …")
def _measure(key: tuple, _table: Table) -> dict[str, Any]:
    return rounded(MEASURES[key[-1]][0](_table))


def rounded(value: Any) -> Any:
    """Return a value with its floats rounded to six decimals. Keys of dicts become text, as JSON has them."""
    if isinstance(value, dict):
        return {str(key): rounded(each) for key, each in value.items()}
    return round(value, 6) if isinstance(value, float) else value


def _for_single_rows(domain: Domain) -> Domain:
    """Return the domain that the theorems assume: on the linear scale, with one row as the unit of privacy."""
    return replace(domain.on_scale("linear"), unit=None)


def _split(table: Table) -> tuple[Domain, Split]:
    """Return the domain on the linear scale and the split of the table, with at most `MOST_ROWS` training rows."""
    linear = replace(table, domain=_for_single_rows(table.domain), person_column=table.unit)
    codes = split(linear)
    if len(codes.y_train) <= MOST_ROWS:
        return linear.domain, codes
    indices = np.linspace(0, len(codes.y_train) - 1, MOST_ROWS).astype(int)
    return linear.domain, replace(codes, X_train=codes.X_train[indices], y_train=codes.y_train[indices])


def _labeled(table: Table) -> tuple[Domain, pd.DataFrame, pd.Series]:
    """Return the domain on the linear scale, and the attributes and labels of the rows whose label is a listed class.

    If there are more than `MOST_ROWS` such rows, `MOST_ROWS` of them are kept. All measurements of training errors use
    these rows, so that guessing has the same error in each of them.
    """
    domain = _for_single_rows(table.domain)
    indices = np.flatnonzero(domain.listed_labels(table.frame[table.label]) >= 0)
    if len(indices) > MOST_ROWS:
        indices = indices[np.linspace(0, len(indices) - 1, MOST_ROWS).astype(int)]
    return domain, table.columns().iloc[indices], table.frame[table.label].iloc[indices]


def _on_codes(measure: Callable[..., dict[str, Any]]) -> Callable[[Table], dict[str, Any]]:
    """Turn a measurement of (domain, codes, labels) into a measurement of a table."""

    def measure_table(table: Table) -> dict[str, Any]:
        domain, X, y = _labeled(table)
        rows = read_rows(domain, X, y, out_of_domain=OutOfDomainCells())
        return measure(domain, rows.codes, rows.y)

    return measure_table


# For each measure, its function, and whether its theorem assumes two classes.
MEASURES: Final[dict[str, tuple[Callable[[Table], dict[Any, Any]], bool]]] = {
    "goodness": (_on_codes(measurements.right_tree_counts), True),
    "root_edge": (_on_codes(measurements.root_edge), True),
    "noisy_votes": (lambda table: measurements.noisy_votes(*_split(table)), True),
    "empty": (lambda table: measurements.empty_leaves(*_split(table)), False),
    "boosted": (lambda table: measurements.boosted_errors(*_labeled(table)), True),
}
