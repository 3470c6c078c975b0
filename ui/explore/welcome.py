"""The line that a newcomer sees, until it is closed: where to start, for three kinds of people."""

from __future__ import annotations

import streamlit as st

from ui import state


def line() -> None:
    """Three starts, and a cross; gone for the rest of the session once somebody closes it or has been elsewhere.

    A room with a projector is not new here, and needs the place for the curve.
    """
    if state.WELCOMED.value or state.PRESENT.value:
        return
    with st.container(horizontal=True, vertical_alignment="center", gap="small", key="welcome"):
        st.markdown("New here?", width="content")
        st.page_link("pages/5_Lesson.py", label="Learn", width="content")
        st.page_link("pages/2_Choose_epsilon.py", label="Choose ε", width="content")
        st.page_link("pages/1_Compare.py", label="Compare", width="content")
        st.button("Close", key="welcome_end", type="tertiary", on_click=_end)


def _end() -> None:
    state.WELCOMED.value = True
