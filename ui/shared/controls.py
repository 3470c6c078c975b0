"""Controls whose state is in the link: checked again in Python, and following their defaults until they are moved."""

from __future__ import annotations

from typing import Any, Final

import streamlit as st

LINKED: Final = "query-params"


def select(title: str, options: list[str], key: str, help: str, default: str = "") -> str:
    """A select box in the URL; what is not an option counts as the default, without one as the first option."""
    known(key, options)
    default = default or options[0]
    value = st.selectbox(title, options, options.index(default), key=key, bind=LINKED, help=help)
    return value if value in options else default


def known(key: str, options: Any) -> None:
    """Forget a value that the present options no longer have."""
    if key in st.session_state and st.session_state[key] not in options:
        del st.session_state[key]


def follow(key: str, default: Any) -> None:
    """A control that nobody has moved follows its default when that changes."""
    before = st.session_state.get(f"default_{key}")
    if before is not None and before != default and st.session_state.get(key) == before:
        st.session_state[key] = default
    st.session_state[f"default_{key}"] = default
