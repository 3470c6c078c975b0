"""One booked release on the page Releases: its record, a comparison with another release, and a note of withdrawal."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pandas as pd
import streamlit as st

from dpforest.book import Book, Booking, RecordError, ReleaseRecord
from ui import state
from ui.releasing import record_question
from ui.shared.controls import drop_unknown
from ui.shared.page import sorry
from ui.shared.wording import plain, sum_text


def show(book: Book, bookings: Sequence[Booking]) -> None:
    """Ask for a booking (by default the last one), and draw its record, a comparison, and a note of withdrawal."""
    by_id = {booking.id: booking for booking in bookings}
    names = {id: f"{booking.time[:16].replace('T', ' ')}, {booking.title}" for id, booking in by_id.items()}
    key = state.ONE_RELEASE(bookings[0].population)
    drop_unknown(key, list(by_id))
    chosen = st.selectbox(
        "Release",
        list(by_id),
        index=len(by_id) - 1,
        key=key,
        format_func=lambda id: names[id],
        help="Choose a release to download its record, compare it, or mark it as withdrawn.",
    )
    booking = by_id[chosen]
    record = record_of(booking)
    if booking.record is None:
        st.caption("This release has no record in this book: its file was not written, or it was booked without one.")
    elif record is None:
        sorry("The record of this release cannot be read: another version of dpforest may have written it.")
    else:
        with st.container(horizontal=True):
            record_question.downloads(record, booking.id)
        _compare(record, [each for each in bookings if each.id != booking.id], names)
    _withdraw(book, booking)


def record_of(booking: Booking) -> ReleaseRecord | None:
    """Return the record of a booking, or None if it has no record that can be read."""
    try:
        return ReleaseRecord.from_dict(booking.record)
    except RecordError:
        return None


def _compare(record: ReleaseRecord, others: Sequence[Booking], names: dict[str, str]) -> None:
    """Offer to compare the record with that of another release of the same people."""
    records = {booking.id: kept for booking in others if (kept := record_of(booking)) is not None}
    if not records:
        return
    key = state.COMPARED_RELEASE(record.booking)
    drop_unknown(key, list(records))
    other = st.selectbox(
        "Compare with", list(records), None, key=key, format_func=lambda id: names[id], placeholder="none"
    )
    if other is None:
        return
    rows = differences(record, records[other])
    if rows:
        st.dataframe(pd.DataFrame(rows), hide_index=True, width="stretch", alt="What differs between the two releases.")
    else:
        st.caption("Both records have the same purpose, owner, approver, settings, cost, schema and sources.")


def differences(one: ReleaseRecord, other: ReleaseRecord) -> list[dict[str, str]]:
    """Return a row for each entry that differs between two records. Hashes, times and sums are not compared."""
    facts = [_facts(record) for record in (one, other)]
    names = list(dict.fromkeys([*facts[0], *facts[1]]))
    return [
        {"": name, "this release": facts[0].get(name, "none"), "the other": facts[1].get(name, "none")}
        for name in names
        if facts[0].get(name) != facts[1].get(name)
    ]


def _facts(record: ReleaseRecord) -> dict[str, str]:
    """Return the entries of a record that are compared, by the names that the page shows."""
    facts: dict[str, Any] = {
        "purpose": record.purpose,
        "owner": record.owner,
        "approver": record.approver or "none",
        "ε": sum_text(record.epsilon),
        "δ": record.delta,
        "neighbors": record.neighbors,
        "unit": record.unit,
        "settings chosen by looking at the table": "yes" if record.chosen_by_looking else "no",
    }
    facts |= {name: "default" if value is None else value for name, value in record.settings.items()}
    for source in record.sources:
        value = (
            f"{source.value} ({source.source}: {source.note})" if source.value else f"{source.source}: {source.note}"
        )
        facts[f"{source.part} of {source.column}" if source.column else source.part] = value
    return {name: str(value) for name, value in facts.items()}


def _withdraw(book: Book, booking: Booking) -> None:
    """Offer to note that a release is withdrawn, and draw its notes. Its cost stays, as published data stay known."""
    key = state.WITHDRAWAL(booking.id)
    with st.popover("Withdraw"):
        st.markdown(
            "Withdrawing adds a note to this release. It tells readers of the book not to use the file. What was "
            "released stays known, so its cost stays in the sum."
        )
        reason = st.text_input("Why is it withdrawn?", key=key).strip()
        if st.button("Add the note", key=f"withdraw_{booking.id}", disabled=not reason):
            book.add_note(booking.id, f"withdrawn: {reason}")
            st.rerun()
    for time, text in booking.notes:
        st.caption(f"{time[:10]}: {plain(text, 400)}")
