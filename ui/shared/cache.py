"""Caches of the app: all sessions share results on public tables; results on an upload stay in its session.

This module makes every cache of the app, so that "Clear my data" can empty all caches of a session.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, Final

import streamlit as st

from dpforest.trees.routing import pack

_SESSION_CACHES: Final[list[Any]] = []


def for_everybody(*, data: bool = False, max_entries: int | None = None, spinner: bool | str = False) -> Callable:
    """Make a cache that all sessions share. Use it for public values only.

    Parameters
    ----------
    data : bool
        Whether each call gets a copy (`st.cache_data`) instead of one shared object (`st.cache_resource`).
    """
    return (st.cache_data if data else st.cache_resource)(max_entries=max_entries, show_spinner=spinner)


def for_session(*, data: bool = False, max_entries: int | None = None, spinner: bool | str = False) -> Callable:
    """Make a cache that one session uses alone. `clear` empties it."""
    kind: Any = st.cache_data if data else st.cache_resource

    def decorator(function: Callable) -> Any:
        _SESSION_CACHES.append(cached := kind(scope="session", max_entries=max_entries, show_spinner=spinner)(function))
        return cached

    return decorator


def by_table(*, everybody: int, session: int, data: bool = False, spinner: bool | str = False) -> Callable:
    """Make a cache for a function of (key, table, ...). Sessions share results on bundled tables, but not on uploads.

    Parameters
    ----------
    everybody, session : int
        Number of results that the shared cache and the session's cache keep.
    """

    def decorator(function: Callable) -> Callable:
        shared_cache = for_everybody(data=data, max_entries=everybody, spinner=spinner)(function)
        session_cache = for_session(data=data, max_entries=session, spinner=spinner)(function)

        @wraps(function)
        def cached(key: tuple, table: Any, *arguments: Any) -> Any:
            return (session_cache if table.uploaded else shared_cache)(key, table, *arguments)

        return cached

    return decorator


def clear() -> None:
    """Empty all caches of this session."""
    for cached in _SESSION_CACHES:
        cached.clear()
    pack.cache_clear()  # all sessions share this cache, which holds the trees that were packed last
