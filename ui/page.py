"""The frame of every page: configuration, navigation, badges, and titles of figures."""

from __future__ import annotations

from typing import Literal

import streamlit as st

Badge = Literal["Released", "Simulated", "Curator only", "Not certified"]

_BADGES: dict[str, tuple[Literal["blue", "gray", "orange", "red"], str]] = {
    "Released": ("blue", "Part of what differential privacy protects; it may leave the house."),
    "Simulated": ("gray", "What a release would look like, drawn from a public seed. Nothing was released."),
    "Curator only": ("orange", "Computed from the raw data. Not private: keep it where the data are kept."),
    "Not certified": ("red", "This does not have the privacy it claims."),
}

# Constants only: nothing from data ever gets into HTML.
_STYLE = """<style>
.st-key-headline h3 {font-size: 1.85rem; padding: 0; line-height: 1.25; font-variant-numeric: tabular-nums}
.st-key-headline [data-testid=stVerticalBlock] {gap: 0.15rem}
.st-key-focus > div {overflow-x: auto}
.st-key-focus [data-testid=stPlotlyChart] {min-width: 820px}
@media (max-width: 640px) {
  .st-key-headline > [data-testid=stHorizontalBlock] {display: grid; grid-template-columns: 1fr 1fr; gap: 0.6rem}
  .st-key-headline > [data-testid=stHorizontalBlock] > div {min-width: 0; width: auto}
  .st-key-headline h3 {font-size: 1.35rem}
  .st-key-headline [data-testid=stLayoutWrapper] > div {padding: 0.6rem}
}
</style>"""


def open_page(title: str) -> None:
    """First call of every page."""
    st.set_page_config(page_title=f"{title} · dpforest", page_icon="🌲", layout="wide")
    st.html(_STYLE)
    with st.sidebar:
        st.markdown("### 🌲 dpforest", anchors=False)
        st.page_link("app.py", label="Explore")
        st.page_link("pages/1_Use_a_forest.py", label="Use a released forest")


def badge(kind: Badge, detail: str = "") -> None:
    """One of the three badges that every figure wears, or the fourth that only a broken claim does."""
    colour, meaning = _BADGES[kind]
    st.badge(f"{kind}{detail}", color=colour, help=meaning)


def titled(title: str, kind: Badge, help: str | None = None) -> None:
    """Title of a figure beside its badge."""
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        st.markdown(f"##### {title}", width="content", anchors=False, help=help)
        badge(kind)


def sorry(sentence: object) -> None:
    """Something a person can mend, in one sentence. Not red: red is for broken claims of privacy."""
    st.warning(str(sentence).replace("$", "\\$"), icon="✋")
