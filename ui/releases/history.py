"""The book on the page Releases: the ledger of all releases that are booked on this computer, and copies of it."""

from __future__ import annotations

import json
from collections.abc import Sequence

import pandas as pd
import streamlit as st

from dpforest.book import Book, BookError, Booking, Population
from dpforest.book.sums import as_loss
from dpforest.privacy.loss import GAUSSIAN
from dpforest.tables.features import plural
from ui import state
from ui.releases import one_release
from ui.releasing.app_book import kept_book
from ui.releasing.session_ledger import in_words
from ui.shared.loss_words import at_delta
from ui.shared.page import sorry, titled
from ui.shared.projects import list_of_projects
from ui.shared.wording import plain, sum_text


def show() -> None:
    """Draw the projects, the releases of each population, and controls of the book. Without a book, draw nothing."""
    try:
        if (book := kept_book()) is not None:
            _show(book)
    except BookError as problem:
        sorry(problem)


def _show(book: Book) -> None:
    list_of_projects.show(book)
    populations = book.populations()
    st.divider()
    titled("Booked releases", None)
    if not populations:
        st.caption(
            "None yet. Before it draws the noise of a release from an uploaded table, the app writes the cost of the "
            "release down here. So the sum of ε is kept after you close the app."
        )
    for population in populations:
        _population(book, population)
    with st.expander("Copy, merge or delete"):
        st.caption(
            f"The file `{book.path}` holds the names of the groups of people, the cost, the settings and the record "
            "of each release, and your projects. The file holds no rows. A copy that you download here leaves "
            "the projects out. Store this copy in the same protected place as the data."
        )
        if populations:
            copy = json.dumps(book.export(), indent=1)
            st.download_button("Download a copy", copy, "dpforest_book.json", "application/json", on_click="ignore")
        _merge(book)
        if populations:
            _delete(book, populations)


def _population(book: Book, population: Population) -> None:
    """Draw the total privacy loss of a population (the people whose data is used), and a table of its releases."""
    name, n = plain(population.name, 80), len(population.bookings)
    try:
        total = population.total()
    except BookError as problem:
        st.markdown(f"**{name}**: {plural(n, 'release')}")
        sorry(problem)
    else:
        cap = "" if population.cap is None else f" of at most {sum_text(population.cap)}"
        st.markdown(
            f"**{name}**: ε = {sum_text(total.epsilon)}{at_delta(total.delta)}{cap} "
            f"({in_words(total.neighbors, total.unit)}) in {plural(n, 'release')}"
        )
    if population.bookings:
        st.dataframe(_table(population.bookings), hide_index=True, width="stretch", alt=f"Releases on {name}.")
        one_release.show(book, population.bookings)


def _table(bookings: Sequence[Booking]) -> pd.DataFrame:
    return pd.DataFrame(
        [
            {
                "booked (UTC)": booking.time.replace("T", " ")[:16],
                "forest": booking.title,
                "cost": _cost(booking),
                "for": in_words(booking.cost.neighbors, booking.cost.unit),
                "file": "not written, counts as spent" if booking.sha256 is None else f"SHA-256 {booking.sha256[:16]}…",
                "notes": "; ".join(text for _, text in booking.notes),
            }
            for booking in bookings
        ]
    )


def _cost(booking: Booking) -> str:
    loss = as_loss(booking.cost.loss)
    epsilon = sum_text(loss.epsilon(booking.delta if loss.kind == GAUSSIAN else 0))
    return f"ε = {epsilon}{at_delta(booking.delta)}"


def _merge(book: Book) -> None:
    """Offer to add the bookings in a copy of a book to this book."""
    file = st.file_uploader("Merge a copy into the booked releases", "json", key=state.COPY_OF_BOOK, max_upload_size=20)
    if file is None or not st.button("Merge", key="merge_book"):
        return
    try:
        n = book.import_copy(json.loads(file.getvalue()))
    except (ValueError, RecursionError) as problem:  # BookError is a ValueError
        sorry(problem if isinstance(problem, BookError) else "This file is not JSON, so it is no copy of a book.")
        return
    st.success(f"{plural(n, 'release')} added." if n else "Everything in this copy is booked already.")


def _delete(book: Book, populations: Sequence[Population]) -> None:
    """Offer to delete a population. The user must type its name."""
    name = st.text_input(
        "To delete a group with all of its bookings, type its name",
        key=state.DELETED_POPULATION,
        help="What was released stays known, but later totals will not include its cost.",
    )
    if st.button("Delete", disabled=name not in {each.name for each in populations}, key="delete_population"):
        book.delete_population(name)
        st.rerun()
