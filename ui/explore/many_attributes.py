"""A form that changes ranges, types and rules for missing cells of many attributes that already have a source."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Final

import streamlit as st

from dpforest.tables.domain import DomainError
from dpforest.tables.features import Feature
from dpforest.tables.read_parts import ATTRIBUTE_PARTS, BOUNDS, CATEGORIES, MISSING, TYPE, read_parts
from ui import state
from ui.explore import column_groups, public_list
from ui.explore.edited_cells import RULE_NAMES, RULES
from ui.explore.stated_values import StatedValues, answered, one_range, targets
from ui.shared import tables
from ui.shared.controls import drop_list_with_unknown, drop_unknown
from ui.shared.page import sorry
from ui.shared.sources import EXAMPLE, QUESTION, check_source
from ui.shared.tables import Table

ONE, KEEP = "one range for all", "keep the current ranges"
AS_LISTED: Final = "as listed"
KINDS: Final = {
    "bounds and categories": (BOUNDS, CATEGORIES),
    "types": (TYPE,),
    "missing cells": (MISSING,),
}
_WHOLE: Final = {"yes": True, "no": False}


def show(table: Table, *, pending: bool) -> None:
    """Draw the form. It leaves out attributes whose source the user must still confirm.

    While edits wait to be applied (`pending`), the button is disabled, because an answer would drop these edits.
    """
    offered = [feature for feature in table.domain.features if feature.source != "data"]
    if not offered:
        return
    with st.expander("Change many columns at once", icon=":material/edit_note:"):
        key = f"ask_{tables.fingerprint(table.domain)[:12]}"
        _ask(table, column_groups.choose("Columns", offered, f"{key}_all"), key, pending=pending)


def _ask(table: Table, names: Collection[str], key: str, *, pending: bool) -> None:
    domain = table.domain
    chosen_parts = targets(domain, names, _kinds(table, names, key))
    chosen = [feature for feature in domain.features if feature.name in {name for _, name in chosen_parts}]
    ranges = _ranges([f for f in chosen if (BOUNDS, f.name) in chosen_parts], key)
    with st.container(horizontal=True, gap="large"):
        whole = _whole([f for f in chosen if f.kind == "numeric" and (TYPE, f.name) in chosen_parts], key)
        missing = _missing([f for f in chosen if (MISSING, f.name) in chosen_parts], key)
    stated = StatedValues(ranges, whole, missing)
    try:
        without_source = answered(domain, chosen_parts, stated, ("data", ""))
        public_list.show(table, [part for part in read_parts(without_source) if (part.what, part.name) in chosen_parts])
    except DomainError as problem:
        sorry(problem)
        chosen_parts = []
    words = st.text_input(QUESTION, key=state.SOURCE(key), placeholder=EXAMPLE)
    if pending:
        st.caption("You edited the table below. Apply or undo these changes first.")
    if st.button("Confirm that these are public", key="assert", disabled=pending or not chosen_parts):
        try:
            check_source(words, "this")
        except DomainError as problem:
            sorry(problem)
            return
        tables.edit(table, answered(domain, chosen_parts, stated, ("asserted", words.strip())))
        st.rerun()


def _kinds(table: Table, names: Collection[str], key: str) -> set[str]:
    """Ask which kinds of parts the user wants to change, and return them. At first, all kinds are chosen."""
    domain = table.domain
    parts = {what for what, _ in targets(domain, names, ATTRIBUTE_PARTS)}
    offered = [title for title, what in KINDS.items() if parts & set(what)]
    if not offered:
        return set()
    drop_list_with_unknown(state.STATEMENTS(key), offered)
    wanted = st.pills(
        "What do you want to change?", offered, selection_mode="multi", default=offered, key=state.STATEMENTS(key)
    )
    return {what for title in wanted or () for what in KINDS[title]} & parts


def _ranges(features: Sequence[Feature], key: str) -> dict[str, tuple[float, float]]:
    """Ask for one range for all of these attributes, and return it for each name; empty if the current ranges stay."""
    if not features:
        return {}
    st.markdown("**Which range is public for these numbers?**")
    names = [feature.name for feature in features]
    current = {f.name: (float(f.low), float(f.high)) for f in features if f.low is not None and f.high is not None}
    if not current or _choose_range_mode(names, key) == KEEP:
        return {}
    low, high = one_range(current.values())
    left, right = st.columns(2)
    lowest = left.number_input("Lowest", value=low, format="%g", key=state.LOWEST(key))
    highest = right.number_input("Highest", value=high, format="%g", key=state.HIGHEST(key))
    return dict.fromkeys(names, (lowest, highest))


def _choose_range_mode(names: Sequence[str], key: str) -> str:
    """Ask how to state the ranges, and return the answer. A single attribute always gets a typed range."""
    if len(names) == 1:
        return ONE
    choices, key = [KEEP, ONE], state.RANGES(key)
    drop_unknown(key, choices)
    mode = st.segmented_control("Ranges", choices, default=KEEP, key=key, label_visibility="collapsed", required=True)
    return mode or KEEP


def _whole(features: Sequence[Feature], key: str) -> bool | None:
    if not features:
        return None
    current = {"yes" if f.integer else "no" for f in features}
    return _WHOLE.get(_one_of("Whole numbers?", [*_WHOLE], current, state.WHOLE(key)))


def _missing(features: Sequence[Feature], key: str) -> str | None:
    if not features:
        return None
    current = {RULE_NAMES.get(f.missing, AS_LISTED) for f in features}
    return RULES.get(_one_of("Missing cells", [*RULES], current, state.MISSING(key)))


def _one_of(title: str, choices: list[str], current: set[str], key: str) -> str:
    """Ask for one choice for all attributes, and return it.

    If the attributes differ, or their rule is not among the choices, the control also offers "as listed", which changes
    nothing.
    """
    start = next(iter(current)) if len(current) == 1 else AS_LISTED
    offered = choices if start in choices else [AS_LISTED, *choices]
    drop_unknown(key, offered)
    return st.segmented_control(title, offered, default=start, key=key, required=True) or start
