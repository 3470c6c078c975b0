"""The list of all projects on this computer, for the page Releases. The user can export or delete each project."""

from __future__ import annotations

import streamlit as st

from dpforest.book import Book
from ui.shared.page import titled
from ui.shared.projects.welcome_back import export_button, time_text
from ui.shared.wording import plain


def show(book: Book) -> None:
    """Draw a list of all projects, each with a button that exports the project and a button that deletes it."""
    st.divider()
    titled("Projects that the app keeps", None)
    projects = book.projects()
    if not projects:
        st.caption("None yet. A project starts when you attach a CSV file, and saves itself.")
    for number, (name, saved) in enumerate(projects.items()):
        with st.container(horizontal=True, vertical_alignment="center"):
            st.markdown(f"**{plain(name, 80)}**, last changed {time_text(saved)}", width="stretch")
            export_button(name, book.project(name)[0], f"export_project_{number}")
            key, help = f"delete_project_{number}", "The bookings of its releases stay."
            if st.button("Delete this project", key=key, help=help):
                book.delete_project(name)
                st.rerun()
    with st.expander("What a project holds, and where"):
        st.markdown(
            "A project holds its name, the name of the label, and what you stated about columns, with their names "
            "and sources. It holds the answer to “Whose rows are these?”, the name of the column that identifies "
            "persons (not its cells), and the settings of the forest. It also holds the name of the group of people "
            "that your rows are about, and your answers about purpose, owner, approver and δ. It does not hold "
            "the file, its rows, a hash of the file, or what the app read or computed from the rows, unless you "
            "stated it too. Whoever can open this app sees all projects. To go on with a project, attach its "
            "file again."
            "\n\nThe projects are in the file "
            f"`{book.path}`. To save no projects, start the app with the environment variable "
            "`DPFOREST_DATA_DIR=off`. It then books no releases either, so you must keep the sum of ε yourself."
        )
