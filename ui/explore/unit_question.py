"""The first question of the Data tab: whose rows are these? The answer sets the unit of privacy.

The unit is the column that identifies persons, if persons have several rows. No fit infers the unit from the rows.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

import pandas as pd
import streamlit as st

from dpforest.tables import column_kinds
from dpforest.tables.domain import DomainError
from dpforest.tables.features import plural
from ui import state
from ui.explore.card_parts import proposal_of
from ui.releasing.release import NO_COLUMN
from ui.shared import tables
from ui.shared.controls import drop_unknown
from ui.shared.page import sorry, titled
from ui.shared.tables import Table
from ui.shared.wording import plain

EACH_ROW: Final = "Each row is a different person"
SEVERAL: Final = "One person can have several rows"


def show(table: Table) -> None:
    """Ask whose rows an upload has, and show what the answer means for these rows."""
    titled(
        "Whose rows are these?",
        help="A certificate protects either a person with all of their rows, or a single row. If a person can have "
        "several rows (visits, loans, answers), choose the column that identifies persons. No forest learns from this "
        "column, and no released file holds an identifier. Each person then counts once: if a person has three rows, "
        "each row counts about one third.",
    )
    columns = candidates(table)
    question_key, column_key = state.WHOSE_ROWS(table.key[:12]), state.PERSON_COLUMN(table.key[:12])
    column_of_answer = {same_person(name): name for name in _repeated(table, columns)}
    options = [EACH_ROW, *column_of_answer, SEVERAL]
    drop_unknown(question_key, options)
    unfinished = state.PERSONS_WITHOUT_COLUMN.value
    several = table.domain.unit or table.key in unfinished
    current = SEVERAL if several else EACH_ROW if table.rows_are_persons else None
    answer = st.radio(
        "Whose rows are these?",
        options,
        index=None if current is None else options.index(current),
        key=question_key,
        label_visibility="collapsed",
        horizontal=True,
    )
    if answer == SEVERAL:
        names = [name for name, _ in columns]
        proposed = {name for name, is_proposed in columns if is_proposed}
        drop_unknown(column_key, names)
        unit = st.selectbox(
            "The column that identifies persons",
            names,
            names.index(table.domain.unit) if table.domain.unit in names else None,
            key=column_key,
            format_func=lambda name: f"{name} (looks like an identifier)" if name in proposed else name,
            placeholder="Choose a column",
        )
        if unit is None and table.key not in unfinished:
            tables.keep_unit_answer(table, None, several=True)
            st.rerun()
        elif unit != table.domain.unit and unit is not None:
            _declare(table, unit)
        if unit is None:
            st.warning(NO_COLUMN, icon=":material/warning:")
    elif answer in column_of_answer and table.domain.unit != column_of_answer[answer]:
        _declare(table, column_of_answer[answer])
    elif answer == EACH_ROW and current != EACH_ROW:
        _declare(table, None)
    if table.domain.unit:
        _about_persons(table)
    else:
        _about_repeats(table, [name for name, is_proposed in columns if is_proposed])


def candidates(table: Table) -> list[tuple[str, bool]]:
    """Return the columns that may identify persons, each with whether it looks like an identifier.

    Columns that look like identifiers come first. A column of numbers with some texts such as "<5" does not look like
    one.
    """
    assert table.csv is not None
    columns = [c for c in table.csv.columns if c.name != table.label and c.kind not in ("constant", "empty")]
    looks = {
        c.name: (c.kind == "id" or "identifier" in c.reason) and not _has_numbers_as_texts(table, c.name)
        for c in columns
    }
    return sorted(looks.items(), key=lambda item: not item[1])


def _has_numbers_as_texts(table: Table, column: str) -> bool:
    """Return whether a column of texts seems to hold numbers with signs or words. Only the curator may see it."""
    assert table.csv is not None
    is_text = table.csv.table[column].dtype.kind not in "if"
    return is_text and proposal_of(table, column).kind in (column_kinds.NUMBER, column_kinds.NUMBER_WITH_WORDS)


def same_person(column: str) -> str:
    """Return the text of the answer that this column identifies persons.

    >>> same_person("patient")
    'All rows with the same “patient” are one person'
    """
    return f"All rows with the same “{plain(column, 40)}” are one person"


def _repeated(table: Table, columns: list[tuple[str, bool]]) -> list[str]:
    """Return a list with the one column that looks like an identifier and has repeated values.

    The list is empty if there is no such column, or more than one. Only the curator may see it, because it uses the
    rows.
    """
    names = [name for name, is_proposed in columns if is_proposed and most_rows(table.frame[name]) > 1]
    return names if len(names) == 1 else []


def most_rows(identifiers: pd.Series) -> int:
    """Return the largest number of rows with the same identifier, or 0. Only the curator may see this number."""
    return int(identifiers.value_counts().max()) if identifiers.notna().any() else 0


def _declare(table: Table, unit: str | None) -> None:
    """Store the answer, and draw the page again. Remove the column of identifiers, if any, from the attributes."""
    features = tuple(feature for feature in table.domain.features if feature.name != unit)
    try:
        domain = replace(table.domain, features=features, unit=unit)
    except DomainError as problem:
        sorry(problem)
        return
    tables.keep_unit_answer(table, unit)
    if domain != table.domain:
        tables.edit(table, domain)
    st.rerun()


def _about_persons(table: Table) -> None:
    """Show the number of persons, and the ε that would hold for a person if each row counted as a person."""
    unit = table.domain.unit
    assert unit is not None
    identifiers = table.frame[unit]
    most, missing = most_rows(identifiers), int(identifiers.isna().sum())
    left_out = f" {plural(missing, 'row')} without an identifier {'is' if missing == 1 else 'are'} left out."
    st.markdown(
        f"**{tables.counted(table)}.** Each person has the same weight, however many rows.{left_out if missing else ''}"
    )
    if most > 1:
        st.caption(
            f"ε protects all rows of a person together, up to {most:,} here. Do not share this number: it comes from "
            "the rows."
        )


def _about_repeats(table: Table, proposed: list[str]) -> None:
    """Warn if each row counts as a person although a column that looks like an identifier has repeated values."""
    for name in proposed:
        most = most_rows(table.frame[name])
        if most > 1 and table.rows_are_persons:
            st.caption(
                f"You stated that each row is a different person, although up to {most:,} rows have the same value of "
                f"“{plain(name, 40)}”. Do not share this number: it comes from the rows."
            )
            return
        if most > 1:
            st.warning(
                f"Up to {most:,} rows have the same value of “{plain(name, 40)}”. If this column identifies persons, "
                f"ε = 1 for a row means **ε = {most:,}** for the person with the most rows. Choose this column above, "
                "or confirm that each row is a different person. Do not share this number: it comes from the rows.",
                icon=":material/group:",
            )
            return
