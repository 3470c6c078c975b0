"""Column by column: the user confirms what is public about an upload, one card at a time."""

from __future__ import annotations

from typing import Final

import streamlit as st

from dpforest.tables.features import plural
from ui import state
from ui.explore import bulk_cards, card_forms, cards
from ui.explore.cards import LISTS, NUMBERS, OPEN, TABLE, UNUSED, Card, open_parts_of_table
from ui.shared import tables
from ui.shared.controls import drop_unknown
from ui.shared.page import titled
from ui.shared.tables import Table

_MARKS: Final = {OPEN: "", UNUSED: " (left out)"}  # text after the title of a card, by its state


def show(table: Table, *, pending: bool) -> None:
    """Show the progress and the card of one column.

    While edits in the table below wait to be applied (`pending`), no card is shown, because an answer would drop these
    edits.
    """
    all_cards = _cards(table)
    open_ids = _open_ids(table, all_cards)
    open_cards = [card for card in all_cards if card.id in open_ids]
    n_columns = sum(len(card.columns) for card in all_cards) + (table.domain.unit is not None)
    n_open = sum(len(card.columns) for card in open_cards)
    titled(
        "Column by column",
        "Do not share",
        help="A released forest shows the range or the list of values of each column. State only what everybody could "
        "know without your rows. The certificate quotes the source that you write.",
    )
    st.progress((n_columns - n_open) / n_columns)
    n_out = sum(len(card.columns) for card in all_cards if card.state == UNUSED)
    st.markdown(_progress(n_columns, n_open, n_out, open_ids))
    chosen = _choose(table, all_cards, open_ids)
    if chosen is None:
        return
    if pending:
        st.caption("You edited the table below. Apply or undo these changes first.")
        return
    with st.container(border=True):
        _card(table, chosen, all_cards)
        if len(open_ids) > 1 and chosen in (NUMBERS, LISTS, *open_ids):
            st.button("Later", key="skip", on_click=_skip, args=(table, chosen, open_ids), help="Go to the next card.")


def _cards(table: Table) -> list[Card]:
    assert table.csv is not None
    without_card = (table.label, table.domain.unit)
    names = [column.name for column in table.csv.columns if column.name not in without_card]
    return cards.cards(names, table.domain, state.ONE_BY_ONE.value.get(table.schema_key, ()))


def _open_ids(table: Table, all_cards: list[Card]) -> list[str]:
    """Return the ids of the cards with an open question, in the order in which the page offers them."""
    ids = [card.id for card in all_cards if card.state == OPEN]
    return [*ids, *([TABLE] if open_parts_of_table(table.domain) else [])]


def _progress(n_columns: int, n_open: int, n_out: int, open_ids: list[str]) -> str:
    if not open_ids:
        out = f" ({n_out:,} left out)" if n_out else ""
        return (
            f"**All {plural(n_columns, 'column')} are ready**{out}, and so are the label and the file. Next: choose a "
            "forest and ε above, and then press **Release this forest** in the sidebar."
        )
    n = n_columns - n_open
    more = " Also open: the label and the file." if TABLE in open_ids else ""
    return (
        f"**{n:,} of {plural(n_columns, 'column')} {'is' if n == 1 else 'are'} ready.**"
        f"{more} Answer from what you know **without looking at the rows**."
    )


def _choose(table: Table, all_cards: list[Card], open_ids: list[str]) -> str | None:
    """Let the user choose a card, and return its id. The choice starts at the first open card that was not skipped."""
    by_id = {card.id: card for card in all_cards}
    sizes = {NUMBERS: len(bulk_cards.numbers(table)), LISTS: bulk_cards.n_lists(table)}
    bulk = [id for id, size in sizes.items() if size > 1]
    options = [*bulk, *by_id, TABLE]
    titles = {
        NUMBERS: f"several number columns at once ({sizes[NUMBERS]:,})",
        LISTS: f"several lists at once ({sizes[LISTS]:,})",
        TABLE: f"the label {table.label} and the file",
    }
    assert table.csv is not None
    titles_of_many = set(titles.values())
    unused = {card.title for card in all_cards if card.state == UNUSED}
    dates = {column.name for column in table.csv.columns if column.kind == "date" and column.name in unused}
    for id, card in by_id.items():
        size = f" ({len(card.columns):,} columns)" if len(card.columns) > 1 else ""
        mark = " (left out, has dates)" if card.title in dates else _MARKS.get(card.state, " (ready)")
        name = f"{card.title} (a column)" if card.title in titles_of_many else card.title
        titles[id] = f"{name}{size}{mark}"
    titles[TABLE] += "" if TABLE in open_ids else " (ready)"
    skipped = state.SKIPPED.value.get(table.schema_key, [])
    bulk_and_open = [*bulk, *open_ids]
    start = next((id for id in bulk_and_open if id not in skipped), next(iter(bulk_and_open), None))
    key = state.COLUMN_GROUP(f"card_{tables.fingerprint(table.domain)[:12]}_{len(skipped)}")
    drop_unknown(key, options)
    return st.selectbox(
        "Card",
        options,
        None if start is None else options.index(start),
        key=key,
        format_func=lambda id: titles[id],
        placeholder="Choose a column to change it",
    )


def _skip(table: Table, id: str, open_ids: list[str]) -> None:
    skipped = state.SKIPPED.value.setdefault(table.schema_key, [])
    if set(open_ids) <= {*skipped, id}:
        skipped.clear()  # the user skipped every open card, so offer all of them again
    skipped.append(id)


def _card(table: Table, id: str, all_cards: list[Card]) -> None:
    if id == NUMBERS:
        bulk_cards.show_numbers(table)
    elif id == LISTS:
        bulk_cards.show_lists(table)
    elif id == TABLE:
        card_forms.label_and_file(table)
    else:
        card = next(card for card in all_cards if card.id == id)
        card_forms.column(table, card)
