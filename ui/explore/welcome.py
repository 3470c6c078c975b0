"""A line for newcomers with four places to start, shown until the user closes it."""

from __future__ import annotations

import streamlit as st

from ui import state
from ui.shared import tables


def line() -> None:
    """Show three links, a button for a file, and a button that closes the line for the rest of the session.

    Presentation mode hides the line, so that the curve has more space.
    """
    if state.WELCOMED.value or state.PRESENT.value:
        return
    with st.container(horizontal=True, vertical_alignment="center", gap="small", key="welcome"):
        st.markdown("New here?", width="content")
        st.button("Use my own table", key="welcome_upload", type="tertiary", on_click=_upload)
        st.page_link("pages/5_Lesson.py", label="Learn", width="content")
        st.page_link("pages/2_Choose_epsilon.py", label="Choose ε", width="content")
        st.page_link("pages/1_Compare.py", label="Compare", width="content")
        st.button("Close", key="welcome_end", type="tertiary", on_click=_end)


def _upload() -> None:
    state.DATA.value = tables.UPLOAD


def _end() -> None:
    state.WELCOMED.value = True
