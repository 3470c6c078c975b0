"""The settings of a forest that a project keeps. A link to Explore holds the same settings."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import streamlit as st

from dpforest.limits import MAX_DEPTH
from ui import state
from ui.shared.epsilon import LEAST, MOST, put_epsilon

_ALWAYS: Final = (
    *(state.FOREST, state.MODE, state.NEIGHBORS, state.BY_RULE, state.DELTA, state.ALPHAS, state.ALPHA),
    *(state.VOTING, state.COUNTED, state.LEAF, state.ROWS, state.SHARDS, state.BUDGET, state.SCORE),
    *(state.FEATURE_TEMPERATURE, state.VALUE_TEMPERATURE, state.LABEL_TEMPERATURE, state.BINS),
    *(state.LARGEST_LEAF, state.SHARE, state.BETA, state.CRITERION),
)
# The defaults of these controls, and how many of them there are, may depend on private rows. So a project keeps only
# the controls that the user has moved. These are the controls in the link.
_IF_MOVED: Final = (state.BOUND, *(state.ALPHA_AT(level) for level in range(MAX_DEPTH)))
# A project keeps these numbers unless the rule sets them, because the rule may depend on private rows.
_SHAPE: Final = (state.DEPTH, state.TREES)
_KEYS: Final = {str(key): key for key in (*_ALWAYS, *_IF_MOVED, *_SHAPE)}


def settings_of_page() -> dict[str, Any]:
    """Return the settings that the controls of Explore show. Call this function after these controls are drawn."""
    keys = [*_ALWAYS, *(key for key in _IF_MOVED if key in st.query_params)]
    if not state.BY_RULE.value:
        keys += _SHAPE
    settings = {str(key): st.session_state[key] for key in keys if key in st.session_state}
    settings[str(state.EPSILON)] = st.session_state.get(state.EPSILON, 1.0)
    return {key: value for key, value in settings.items() if is_setting(key, value)}


def is_setting(key: str, value: object) -> bool:
    """Return whether a project may hold `value` for the control `key`."""
    if key == state.EPSILON:
        return type(value) in (int, float) and LEAST <= value <= MOST  # type: ignore[operator]
    return key in _KEYS and type(value) in (str, int, float, bool) and _KEYS[key].fits(value)


def put(settings: Mapping[str, Any]) -> None:
    """Set the controls of a page that is not drawn yet. Each control drops a value that is not among its options."""
    for key, value in settings.items():
        if is_setting(key, value) and key != state.EPSILON:
            st.session_state[_KEYS[key]] = value
    if (epsilon := settings.get(str(state.EPSILON))) is not None and is_setting(state.EPSILON, epsilon):
        put_epsilon(float(epsilon))
