"""Controls whose value is in the link, and checks of a value against the options that a control has now.

A choice can arrive after its options changed. A link can ask for anything. A value that fits one table may not fit the
next. These functions remove a value that does not fit, and the control or the page starts from its default. The type of
a value is checked when a page opens (`ui.state.drop_unfit`).
"""

from __future__ import annotations

from typing import Any, Final

import streamlit as st

from ui import state
from ui.state import drop

LINKED: Final = "query-params"


def among(value: Any, options: Any) -> bool:
    """Whether a value is one of the options, of the same type: neither is 1.0 the option 1, nor is True."""
    return any(type(value) is type(option) and value == option for option in options)


def known(key: str, options: Any) -> bool:
    """Drop a value that is not among the current options of a control. True if it dropped one."""
    return drop(key, lambda value: among(value, options))


def all_known(key: str, options: Any) -> bool:
    """Drop a list with a value that is not among the current options of a control. True if it dropped one."""
    return drop(key, lambda values: isinstance(values, list | tuple) and all(among(each, options) for each in values))


def within(key: str, low: float, high: float) -> bool:
    """Drop a value that is outside the bounds or not of the type of `low`. True if it dropped one."""
    return drop(key, lambda value: type(value) is type(low) and low <= value <= high)


def select(title: str, options: list[str], key: str, help: str, default: str = "") -> str:
    """A select box in the URL; what is not an option counts as the default, without one as the first option."""
    known(key, options)
    default = default or options[0]
    value = st.selectbox(title, options, options.index(default), key=key, bind=LINKED, help=help)
    return value if value in options else default


def follow(key: str, default: Any) -> None:
    """A control that nobody has moved follows its default when that changes."""
    drawn = state.DEFAULT_OF(key)
    if drawn.value is not None and drawn.value != default and st.session_state.get(key) == drawn.value:
        st.session_state[key] = default
    drawn.value = default
