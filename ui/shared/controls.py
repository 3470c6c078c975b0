"""Controls whose value is in the link, and checks of a value against the current options of a control.

The value of a control may not be among its current options: a link can hold any value, and a value for one table may
not fit the next table. These functions remove such a value, so that the control or the page starts from its default.
When a page opens, `drop_unfit` of `ui.state` checks only what `ui.state` declares, such as the type of a value.
"""

from __future__ import annotations

from typing import Any, Final

import streamlit as st

from ui import state
from ui.shared.wording import plain
from ui.state import drop

LINKED: Final = "query-params"


def among(value: Any, options: Any) -> bool:
    """Return whether a value is one of the options and has its type: the values 1.0 and True are not the option 1."""
    return any(type(value) is type(option) and value == option for option in options)


def drop_unknown(key: str, options: Any) -> bool:
    """Drop a value that is not among the current options of a control. Return whether it was dropped."""
    return drop(key, lambda value: among(value, options))


def drop_list_with_unknown(key: str, options: Any) -> bool:
    """Drop a list if one of its values is not a current option of a control. Return whether the list was dropped."""
    return drop(key, lambda values: isinstance(values, list | tuple) and all(among(each, options) for each in values))


def drop_out_of_bounds(key: str, low: float, high: float) -> bool:
    """Drop a value that is out of bounds or has another type than `low`. Return whether it was dropped."""
    return drop(key, lambda value: type(value) is type(low) and low <= value <= high)


def select(title: str, options: list[str], key: str, help: str, default: str = "") -> str:
    """Draw a select box whose value is in the link.

    A value that is not among the options becomes `default`, or the first option if there is no default.
    """
    drop_unknown(key, options)
    default = default or options[0]
    value = st.selectbox(title, options, options.index(default), key=key, bind=LINKED, help=help)
    return value if value in options else default


def follow(key: str, default: Any) -> None:
    """Move a control to its new default when the default changes, unless the user has moved the control."""
    old = state.DEFAULT_OF(key)
    if old.value is not None and old.value != default and st.session_state.get(key) == old.value:
        st.session_state[key] = default
    old.value = default


def say_nearest(what: str, asked: str, least: float, most: float, taken: float | None) -> None:
    """Report that the link asks for an impossible value, and state the number that the page takes instead.

    The message appears once, because the page then writes that number into the link.

    Parameters
    ----------
    what : str
        The control, as the message names it.
    asked : str
        Value in the link.
    least, most : float
        Smallest and largest possible number.
    taken : float or None
        Number that the page takes; None if the value in the link is not a number.
    """
    instead = "another number" if taken is None else f"{taken:,g}"
    st.toast(
        f"The link asks for {what}: {plain(asked, 20)}. Possible are {least:,g} to {most:,g}, so the page takes "
        f"{instead}.",
        icon=":material/link:",
    )
