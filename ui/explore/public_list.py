"""The list of everything that the user is about to assert, shown before the assertion."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import pandas as pd
import streamlit as st

from dpforest.tables.read_parts import ATTRIBUTE_PARTS, CLASSES, COLUMNS, MISSING, READING, TYPE, Part
from ui.shared.tables import Table
from ui.shared.wording import plain

_COLUMNS: Final = ("bounds or categories", "type", "missing cells")


def show(table: Table, chosen: Sequence[Part]) -> None:
    """Show the chosen parts of a domain: those of the whole table as sentences, and those of attributes as a table."""
    domain = table.domain
    of_table = {part.what: part for part in chosen}
    sentences = []
    if part := of_table.get(CLASSES):
        classes = plain(part.value, 2_000)
        sentences.append(f"**{plain(domain.label)}** is the label, and its classes are {classes}")
    if part := of_table.get(READING):
        sentences.append(plain(part.value, 2_000))
    if COLUMNS in of_table:
        those = "the one column" if domain.n_features == 1 else f"the {domain.n_features:,} columns"
        columns = [column.name for column in table.csv.columns] if table.csv else []
        left_out = [name for name in columns if name not in (*domain.source_columns, domain.label)]
        besides = f", and not {plain('; '.join(left_out), 2_000)}" if left_out else ""
        sentences.append(f"the forest learns from {those} below{besides}")
    rows: dict[str, dict[str, Any]] = {}
    for part in chosen:
        if part.what in ATTRIBUTE_PARTS:
            column = {TYPE: _COLUMNS[1], MISSING: _COLUMNS[2]}.get(part.what, _COLUMNS[0])
            rows.setdefault(part.name, {"column": part.name})[column] = part.value
    if sentences or rows:
        st.markdown("\n".join(["You assert that", *(f"- {sentence}" for sentence in sentences)]))
    if rows:
        columns = ["column", *(c for c in _COLUMNS if any(c in row for row in rows.values()))]
        st.dataframe(
            pd.DataFrame(list(rows.values()), columns=columns).fillna(""),
            hide_index=True,
            height="auto" if len(rows) <= 5 else 214,
            alt="What is about to be asserted of each column.",
        )
