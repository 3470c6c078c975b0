"""Cards about many columns at once: a table of ranges, and a checklist of lists of values."""

from __future__ import annotations

from typing import Any, Final

import pandas as pd
import streamlit as st

from dpforest.tables import column_kinds
from dpforest.tables.csv_values import written
from dpforest.tables.domain import Domain, DomainError
from dpforest.tables.features import Feature
from ui import state
from ui.explore import card_answers as answers
from ui.explore.card_answers import NumberAnswer
from ui.explore.card_parts import counted_values, order_of, proposal_of, source_field, use
from ui.explore.cards import RARE, known_range, rare
from ui.explore.confirm import is_source
from ui.explore.edited_cells import bound_of, shown
from ui.shared import tables
from ui.shared.page import sorry
from ui.shared.tables import Table

LOW, HIGH, WHOLE, WHY = "lowest", "highest", "whole", "where this is known from"
PUBLIC: Final = "public"
_HEIGHT: Final = 420
_SHORT: Final = 60  # characters of a list that can be read in one row


def numbers(table: Table) -> list[Feature]:
    """Return the number columns that are still to confirm."""
    return [f for f in table.domain.features if f.kind == "numeric" and f.date is None and f.leaks()]


def lists(table: Table) -> list[Feature]:
    """Return the columns with a short list of values that is still to confirm. A long list has its card to itself."""
    return [
        feature
        for feature in table.domain.features
        if feature.kind == "categorical" and feature.date is None and feature.leaks()
        if len(written(feature.categories)) <= _SHORT
        if (proposal := proposal_of(table, feature.name)).kind == column_kinds.CATEGORY and not proposal.spellings
    ]


def show_numbers(table: Table) -> None:
    """Ask for the ranges of many columns in one table. A known range is filled in; a row without a range stays open."""
    features = numbers(table)
    key = f"card_{tables.fingerprint(table.domain)[:12]}_numbers"
    st.markdown(
        "**The ranges of several numbers.** A range that the name of a column suggests is filled in. It does not "
        "come from your rows. Check these ranges, and fill in others that you know. You can leave a row empty and "
        "answer it later. Missing cells become a separate value."
    )
    with st.form(f"{key}_form", border=False):
        edited = st.data_editor(
            pd.DataFrame([_range_row(feature) for feature in features]).astype({LOW: "object", HIGH: "object"}),
            hide_index=True,
            disabled=["column"],
            column_config={
                LOW: st.column_config.TextColumn(LOW, alignment="right"),
                HIGH: st.column_config.TextColumn(HIGH, alignment="right"),
                WHOLE: st.column_config.CheckboxColumn("whole numbers"),
                WHY: st.column_config.TextColumn(WHY, width="large"),
            },
            key=state.CARD_TABLE(key),
            height="auto" if len(features) <= 10 else _HEIGHT,
            placeholder="",
            alt="Number columns with their public ranges.",
        )
        words = source_field(table, key)
        if not st.form_submit_button("Use these ranges", type="primary"):
            return
    try:
        domain, n = with_ranges(table, edited.to_dict("records"), words)
    except DomainError as problem:
        sorry(problem)
        return
    if not n:
        sorry("No row has a lowest and a highest number. Fill in at least one range.")
        return
    if is_source(words):
        state.LAST_SOURCE.value[table.schema_key] = words.strip()
    tables.edit(table, domain)
    st.rerun()


def _range_row(feature: Feature) -> dict[str, Any]:
    known = known_range(feature.name)
    low, high = (None, None) if known is None else (shown(known.low), shown(known.high))
    return {
        "column": feature.name,
        LOW: low,
        HIGH: high,
        WHOLE: known is not None and known.integer,
        WHY: "" if known is None else known.reason,
    }


def with_ranges(table: Table, rows: list[dict[str, Any]], words: str) -> tuple[Domain, int]:
    """Return the domain with the ranges of the rows that have any, and their number.

    A row without words for its source gets `words`.
    """
    domain, n = table.domain, 0
    for row in rows:
        low, high = (_cell(row[end]) for end in (LOW, HIGH))
        if not low and not high:
            continue
        name, why = row["column"], _cell(row[WHY]) or words
        if not is_source(why):
            raise DomainError(
                f"It is not clear where the range of {name!r} is known from. Write at least three words, in its row or "
                "in the field below the table."
            )
        answer = NumberAnswer(bound_of(low, LOW, name), bound_of(high, HIGH, name), bool(row[WHOLE]))
        domain, n = answers.with_numbers(domain, order_of(table), {name: answer}, why.strip()), n + 1
    return domain, n


def _cell(value: Any) -> str:
    return "" if value is None or (isinstance(value, float) and value != value) else str(value).strip()


def show_lists(table: Table) -> None:
    """Ask which lists of values are public. Each list is confirmed on its own, and its rare values are marked."""
    features = lists(table)
    key = f"card_{tables.fingerprint(table.domain)[:12]}_lists"
    st.markdown(
        "**The values of several columns.** Select a list only if all of its values are public. A value that is rare "
        "in your rows may reveal who a person is. To leave it out, open the card of its column."
    )
    rows = []
    for feature in features:
        unusual = rare(counted_values(table, feature.name))
        rows.append(
            {
                PUBLIC: False,
                "column": feature.name,
                "values": written(feature.categories),
                f"rare (fewer than {RARE} rows)": written(unusual),
            }
        )
    with st.form(f"{key}_form", border=False):
        edited = st.data_editor(
            pd.DataFrame(rows),
            hide_index=True,
            disabled=[name for name in rows[0] if name != PUBLIC],
            column_config={"values": st.column_config.TextColumn("values", width="large")},
            key=state.CARD_TABLE(key),
            height="auto" if len(features) <= 10 else _HEIGHT,
            placeholder="",
            alt="Columns with their lists of values, and which of the values are rare.",
        )
        words = source_field(table, key)
        if not st.form_submit_button("Use the selected lists", type="primary"):
            return
    chosen = [feature for feature, row in zip(features, edited.to_dict("records"), strict=True) if row[PUBLIC] is True]
    if not chosen:
        sorry("No list is selected. Select each list that is public.")
        return
    use(table, words, lambda source: _with_lists(table, chosen, source))


def _with_lists(table: Table, chosen: list[Feature], source: str) -> Domain:
    domain = table.domain
    for feature in chosen:
        domain = answers.with_list(
            domain, order_of(table), feature.name, feature.categories, source, missing="category"
        )
    return domain
