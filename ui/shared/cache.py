"""What the app keeps: of public tables for everybody, of an upload for its session, until "Clear my data".

Every cache is made here, so that none of a session's own is forgotten when its data are cleared.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, Final

import streamlit as st

from dpforest.trees.routing import pack

_SESSION_CACHES: Final[list[Any]] = []


def for_everybody(*, data: bool = False, max_entries: int | None = None, spinner: bool | str = False) -> Callable:
    """A cache that all sessions share: only of what is public.

    Parameters
    ----------
    data : bool
        A copy each time (`st.cache_data`), not one object for all (`st.cache_resource`).
    """
    return (st.cache_data if data else st.cache_resource)(max_entries=max_entries, show_spinner=spinner)


def for_session(*, data: bool = False, max_entries: int | None = None, spinner: bool | str = False) -> Callable:
    """A cache of one session, emptied by `clear`."""
    kind: Any = st.cache_data if data else st.cache_resource

    def made(function: Callable) -> Any:
        _SESSION_CACHES.append(cached := kind(scope="session", max_entries=max_entries, show_spinner=spinner)(function))
        return cached

    return made


def by_table(*, everybody: int, session: int, data: bool = False, spinner: bool | str = False) -> Callable:
    """A cache of a function of (key, table, ...): of a bundled table for everybody, of an upload for its session.

    Parameters
    ----------
    everybody, session : int
        How many results are kept.
    """

    def made(function: Callable) -> Callable:
        of_all = for_everybody(data=data, max_entries=everybody, spinner=spinner)(function)
        of_one = for_session(data=data, max_entries=session, spinner=spinner)(function)

        @wraps(function)
        def cached(key: tuple, table: Any, *more: Any) -> Any:
            return (of_one if table.uploaded else of_all)(key, table, *more)

        return cached

    return made


def clear() -> None:
    """Empty all caches of this session."""
    for cached in _SESSION_CACHES:
        cached.clear()
    pack.cache_clear()  # the last trees that were routed through, of whatever session
