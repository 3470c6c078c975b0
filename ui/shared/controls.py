"""Checks on the values of a session before the app uses them, and controls whose state is in the link.

A choice can arrive after its options changed. A link can ask for anything. A value that fits one table may not fit the
next. These functions remove a value that does not fit, and the control or the page starts from its default.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, TypeVar

import streamlit as st

from ui import state

LINKED: Final = "query-params"
MOST_COUNTED: Final = 1_000_000
Kind = TypeVar("Kind", dict, list, set)


def stored(key: str, fits: Callable[[Any], bool], default: Any = None) -> Any:
    """Value of the session under a key. Removes a value that does not fit, and returns the default instead.

    Use it, or a function below, for every value whose type or range the code needs. A plain `st.session_state.get` is
    enough where the code only compares the value with another, or has written it earlier in the same run.
    """
    drop(key, fits)
    return st.session_state.get(key, default)


def drop(key: str, fits: Callable[[Any], bool]) -> bool:
    """Remove a value that does not fit. True if it removed one."""
    if key not in st.session_state or fits(st.session_state[key]):
        return False
    del st.session_state[key]
    return True


def memory(key: str, kind: type[Kind]) -> Kind:
    """A dict, list or set of the session. It is empty at first, and the caller may change it."""
    stored(key, lambda value: type(value) is kind)
    return st.session_state.setdefault(key, kind())


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


def is_on(key: str, default: bool = False) -> bool:
    """State of a switch. Drops a value that is not True or False."""
    return stored(key, is_a(bool), default)


def count(key: str) -> int:
    """How often something was pressed in this session."""
    return stored(key, lambda value: type(value) is int and 0 <= value <= MOST_COUNTED, 0)


def is_a(*kinds: type) -> Callable[[Any], bool]:
    """Whether a value has one of these types, for `stored`."""
    return lambda value: type(value) in kinds


def are_texts(value: Any) -> bool:
    """Whether a value is a list of texts, for `stored`."""
    return isinstance(value, list) and all(isinstance(each, str) for each in value)


def is_pair(value: Any) -> bool:
    """Whether a value is a tuple of two, as in (what it belongs to, result), for `stored`."""
    return isinstance(value, tuple) and len(value) == 2


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
