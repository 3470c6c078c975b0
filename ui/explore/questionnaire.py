"""Questionnaire for a public schema. Each question is about a group of attributes, or about all of them."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Final

import streamlit as st

from dpforest.tables.domain import DomainError
from dpforest.tables.features import Feature
from dpforest.tables.read_parts import (
    BOUNDS,
    CATEGORIES,
    CLASSES,
    COLUMNS,
    MISSING,
    OF_ATTRIBUTES,
    READING,
    TYPE,
    read_parts,
    sources,
)
from ui import state
from ui.explore import bounds_hint, column_groups, public_list
from ui.explore.confirm import EXAMPLE, check_source
from ui.explore.edited_cells import RULE_NAMES, RULES
from ui.explore.questions import (
    EVERYTHING,
    TABLE,
    StatedValues,
    answered,
    is_alike,
    left_to_say,
    one_range,
    open_questions,
    targets,
)
from ui.shared import tables
from ui.shared.controls import all_known, known
from ui.shared.page import sorry, titled
from ui.shared.tables import Table
from ui.shared.wording import plain

AGAIN: Final = "attributes that have a source already …"
ONE, EACH, STAND = "one range for all", "a rounder range each", "as they stand"
AS_LISTED: Final = "as listed"
KINDS: Final = {
    "bounds and categories": (BOUNDS, CATEGORIES),
    "types": (TYPE,),
    "missing cells": (MISSING,),
    "classes of the label": (CLASSES,),
    "how the file is written": (READING,),
    "which columns are used": (COLUMNS,),
}
_WHOLE: Final = {"yes": True, "no": False}


def show(table: Table, *, pending: bool) -> None:
    """Ask about the parts that were read from the rows, by group. If there are none, offer to change many parts.

    While edits wait to be applied (`pending`), the button is off, because an answer would drop these edits.
    """
    questions = open_questions(table.domain)
    if not questions:
        with st.expander("Change many attributes at once", icon=":material/edit_note:"):
            _ask(table, _chosen_again(table, _key(table)), _key(table), pending=pending, again=True)
        return
    titled(
        "What is left to say",
        "Curator only",
        help="Whoever sees a released forest learns all of this. So it may only be what everybody could know without "
        "the rows. The certificate states that you assert this.",
    )
    n = table.domain.n_features
    st.progress(sum(1 for feature in table.domain.features if not feature.leaks()) / n)
    st.markdown(
        f"**{plain(left_to_say(table.domain, questions), 600)}** Answer group by group, from what you know **without "
        "looking at the rows**. Your answers then count as *asserted by the curator*, and the certificate quotes your "
        "words. Nobody else can check them."
    )
    key = _key(table)
    group = _choose_group(table, questions, key)
    if group == AGAIN:
        _ask(table, _chosen_again(table, key), f"{key}_again", pending=pending, again=True)
        return
    names, of_table = _members(table, group, questions, key)
    _ask(table, names, f"{key}_{group}", pending=pending, of_table=of_table, skips=group)


def _key(table: Table) -> str:
    skipped = len(state.SKIPPED.value.get(table.schema_key, ()))
    return f"ask_{tables.fingerprint(table.domain)[:12]}_{skipped}"


# ---------------------------------------------------------------- choice of attributes


def _choose_group(table: Table, questions: dict[str, list[str]], key: str) -> str:
    """Ask for a group, and return it. The choice starts at the first group that was not skipped."""
    left = [feature for feature in table.domain.features if feature.leaks()]
    groups = column_groups.groups(left) if left else {}
    others = [group for group, names in groups.items() if names not in questions.values()]
    one_by_one = [column_groups.ONE_BY_ONE] if left else []
    again = [AGAIN] if len(left) < table.domain.n_features else []
    options = [*questions, *others, EVERYTHING, *one_by_one, *again]
    sizes = {group: len(names) for group, names in (groups | questions).items()}
    skipped = state.SKIPPED.value.get(table.schema_key, [])
    start = next((options.index(group) for group in questions if group not in skipped), 0)
    known(state.COLUMN_GROUP(key), options)
    return st.selectbox(
        "Now about",
        options,
        start,
        key=state.COLUMN_GROUP(key),
        format_func=lambda g: f"{g} ({sizes[g]:,})" if sizes.get(g, 0) > 1 else g,
    )


def _members(table: Table, group: str, questions: dict[str, list[str]], key: str) -> tuple[Sequence[str], bool]:
    """Return (attributes of a group, whether the group also concerns the table as a whole)."""
    left = [feature for feature in table.domain.features if feature.leaks()]
    if group in questions:
        return questions[group], group == TABLE
    if group == EVERYTHING:
        return [feature.name for feature in left], True
    if group == column_groups.ONE_BY_ONE:
        return column_groups.one_by_one([feature.name for feature in left], key), False
    return column_groups.groups(left)[group], False


def _chosen_again(table: Table, key: str) -> list[str]:
    return column_groups.choose("Attributes", table.domain.features, f"{key}_all")


def _skip(table: Table, group: str) -> None:
    skipped = state.SKIPPED.value.setdefault(table.schema_key, [])
    if set(open_questions(table.domain)) <= {*skipped, group}:
        skipped.clear()  # every group was skipped, so start again
    skipped.append(group)


# ---------------------------------------------------------------- one question


def _ask(
    table: Table,
    names: Collection[str],
    key: str,
    *,
    pending: bool,
    of_table: bool = False,
    again: bool = False,
    skips: str = "",
) -> None:
    domain = table.domain
    kinds = _kinds(table, names, key, of_table=of_table, again=again)
    about = targets(domain, names, kinds, again=again)
    chosen = [feature for feature in domain.features if feature.name in {name for _, name in about}]
    ranges = _ranges(table, [f for f in chosen if (BOUNDS, f.name) in about], key, again=again)
    with st.container(horizontal=True, gap="large"):
        whole = _whole([f for f in chosen if f.kind == "numeric" and (TYPE, f.name) in about], key)
        missing = _missing([f for f in chosen if (MISSING, f.name) in about], key)
    stated = StatedValues(ranges, whole, missing)
    try:
        listed = answered(domain, about, stated, ("data", ""))
        public_list.show(table, [part for part in read_parts(listed) if (part.what, part.name) in about])
    except DomainError as problem:
        sorry(problem)
        about = []
    words = st.text_input("Where is this known from?", key=state.SOURCE(key), placeholder=EXAMPLE)
    if pending:
        st.caption("You edited the table below: apply these changes first.")
    with st.container(horizontal=True):
        pressed = st.button("These are public", key="assert", disabled=pending or not about)
        if skips:
            st.button("Skip for now", key="skip", on_click=_skip, args=(table, skips))
    if pressed:
        try:
            check_source(words, "this is")
        except DomainError as problem:
            sorry(problem)
            return
        tables.edit(table, answered(domain, about, stated, ("asserted", words.strip())))
        st.rerun()


def _kinds(table: Table, names: Collection[str], key: str, *, of_table: bool, again: bool) -> set[str]:
    """Ask which kinds of parts the user asserts: all kinds that these attributes have, or some. Return these kinds."""
    parts = {part.what for part in read_parts(table.domain) if part.name in names or (of_table and not part.name)}
    if again:
        parts = {what for f in table.domain.features if f.name in names for what in sources(f)}
    if not of_table:
        parts &= set(OF_ATTRIBUTES)
    offered = [title for title, what in KINDS.items() if parts & set(what)]
    if not offered:
        return set()
    all_known(state.STATEMENTS(key), offered)
    wanted = st.pills("What you say it of", offered, selection_mode="multi", default=offered, key=state.STATEMENTS(key))
    return {what for title in wanted or () for what in KINDS[title]} & parts


def _ranges(table: Table, features: Sequence[Feature], key: str, *, again: bool) -> dict[str, tuple[float, float]]:
    """Return the asserted ranges by name: one typed range for all, or rounder ranges. Empty if the ranges stay."""
    if not features:
        return {}
    st.markdown("**Between which numbers does everybody know these lie?**")
    names = [feature.name for feature in features]
    now = {f.name: (float(f.low), float(f.high)) for f in features if f.low is not None and f.high is not None}
    exact = [bounds for bounds in bounds_hint.of(table) if bounds.name in names]
    rounder = {bounds.name: bounds.rounder for bounds in exact}
    first = STAND if again else ONE if is_alike(names) else EACH if exact else STAND
    how = _choose_range_mode(names, key, first, with_each=bool(exact))
    if exact and how != STAND:
        st.caption(
            "The numbers that are filled in are computed from your rows: they are rounder than the lowest and highest "
            "value. So **still decide by what is known without the rows**: a percentage lies between 0 and 100, an age "
            "between 0 and 120."
        )
    elif exact:
        st.caption(f"{bounds_hint.sentence(exact)} That may be one person's value, and publishing it reveals it.")
    if how == STAND:
        return {}
    if how == EACH:
        return rounder
    low, high = one_range((now | rounder).values())
    left, right = st.columns(2)
    lowest = left.number_input("Lowest", value=low, format="%g", key=state.LOWEST(key))
    highest = right.number_input("Highest", value=high, format="%g", key=state.HIGHEST(key))
    return dict.fromkeys(names, (lowest, highest))


def _choose_range_mode(names: Sequence[str], key: str, first: str, *, with_each: bool) -> str:
    """Ask how to state the ranges, and return the answer. A single attribute always gets a typed range."""
    if len(names) == 1:
        return ONE
    choices = [ONE, EACH, STAND] if with_each else [ONE, STAND]
    key = state.RANGES(key)
    known(key, choices)
    how = st.segmented_control("Ranges", choices, default=first, key=key, label_visibility="collapsed", required=True)
    return how or first


def _whole(features: Sequence[Feature], key: str) -> bool | None:
    if not features:
        return None
    now = {"yes" if f.integer else "no" for f in features}
    return _WHOLE.get(_one_of("Whole numbers?", [*_WHOLE], now, state.WHOLE(key)))


def _missing(features: Sequence[Feature], key: str) -> str | None:
    if not features:
        return None
    now = {RULE_NAMES.get(f.missing, AS_LISTED) for f in features}
    return RULES.get(_one_of("Missing cells", [*RULES], now, state.MISSING(key)))


def _one_of(title: str, choices: list[str], now: set[str], key: str) -> str:
    """Return one choice for all attributes. If the attributes differ, "as listed" is offered, which changes nothing."""
    start = next(iter(now)) if len(now) == 1 else AS_LISTED
    offered = choices if start in choices else [AS_LISTED, *choices]
    known(key, offered)
    return st.segmented_control(title, offered, default=start, key=key, required=True) or start
