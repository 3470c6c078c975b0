"""Questions of the release dialog for the release record: what is the forest for, who is responsible, who approves?"""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from dpforest.book import RecordError, ReleaseRecord, check_words, page
from dpforest.book.releasing import RecordWords
from ui import state
from ui.shared.page import sorry
from ui.shared.tables import Table


def ask(table: Table, delta: float, optional: DeltaGenerator) -> RecordWords | None:
    """Ask for the texts of the record, and return them. Return None while a text is missing or not valid.

    The session keeps the answers for the next release of this table. `optional` is the place of the field for
    an approver, which the user may leave empty.
    """
    kept = state.RECORD_WORDS.value
    before: dict[str, str] = kept.get(table.key) or next(reversed(kept.values()), {})
    key = table.key[:12]

    def field(place: Any, label: str, name: str, help: str) -> str:
        return place.text_input(label, before.get(name, ""), key=state.RECORD_FIELD(key, name), help=help).strip()

    purpose = field(st, "What is the forest for?", "purpose", "For example “plan the beds of ward 3”.")
    owner = field(st, "Who is responsible for the release?", "owner", "A person or an office.")
    approver = field(optional, "Who approves it?", "approver", "Leave this empty if nobody must approve the release.")
    reason = ""
    if delta:
        reason = field(
            st, "Why is this δ small enough?", "delta_reason", "For example “far below 1 divided by the patients”."
        )
    words = RecordWords(purpose, owner, approver, reason)
    missing = [what for what, text in (("what the forest is for", purpose), ("who is responsible", owner)) if not text]
    missing += ["why δ is acceptable"] if delta and not reason else []
    if missing:
        st.caption(f"The record of this release needs {' and '.join(missing)}.")
        return None
    try:
        check_words(title=title_of(table), delta=delta, **asdict(words))
    except RecordError as problem:
        sorry(problem)
        return None
    kept[table.key] = asdict(words)
    return words


def has_approver(table: Table) -> bool:
    """Return whether an approver was named for an earlier release of this table."""
    return bool(state.RECORD_WORDS.value.get(table.key, {}).get("approver"))


def title_of(table: Table) -> str:
    """Return the title of a record: the name of the table in one line."""
    return " ".join(table.short_title.split())[:200] or "a table"


def downloads(record: ReleaseRecord, key: str) -> None:
    """Draw buttons that download a record as a page to print and sign, and as JSON."""
    day = record.time[:10]
    st.download_button(
        "Record to print and sign",
        lambda: page(record),
        f"record_{day}_{record.booking[:8]}.html",
        "text/html",
        on_click="ignore",
        key=f"record_page_{key}",
    )
    st.download_button(
        "Record as JSON",
        record.to_json(),
        f"record_{day}_{record.booking[:8]}.json",
        "application/json",
        on_click="ignore",
        key=f"record_json_{key}",
        help="The page “Releases” checks a file against this record. Keep it with the forest and the signed page.",
    )
