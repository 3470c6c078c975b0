"""From page to page: what they share goes along, and an answer is handed over."""

from __future__ import annotations

from typing import Any, Final

import streamlit as st

from ui.shared.epsilon import put_epsilon
from ui.shared.forests import FORESTS, Settings

# Controls that several pages have, and those that can be handed over, by key.
_CONTROLS: Final = {
    "Explore": ("data", "label", "eps", "neighbours", "mode", "present", "forest", "delta"),
    "Compare forests": ("data", "label", "eps", "neighbours", "also_delta", "present"),
    "Choose ε": ("data", "label", "neighbours", "mode", "also_delta", "present"),
    "Audit": ("eps", "neighbours", "present"),
    "Use a released forest": ("present",),
    "Theory": ("data", "label", "eps", "present"),
    "Papers": ("present",),
    "Glossary": ("present",),
    "Lesson": ("present",),
}
_SHAPE: Final = ("by_rule", "depth", "trees")
_FROM: Final = {"from": "choose"}


def carry_over(title: str) -> None:
    """What the page before has, too: Streamlit drops it where a link has set it and nobody has moved it since.

    An address with settings of its own (a link, or a page that Back leads to) says all itself.
    """
    if st.query_params.to_dict() == _FROM:
        st.query_params.clear()
        if (settings := st.session_state.pop("handed_over", None)) is not None:
            _take(settings)
    is_new = st.session_state.get("page_drawn", title) != title
    if is_new and st.query_params:
        for key in _SHAPE:  # these outlive a visit to another page
            st.session_state.pop(key, None)
    elif is_new:
        for key in _CONTROLS.get(title, ()):
            value = st.session_state.get(key, _last()["values"].get(key))
            if value is not None:
                st.session_state[key] = value
            if said := _last()["address"].get(key):
                st.query_params[key] = said
    st.session_state["page_opened"] = title


def remember() -> None:
    """What all controls of a page say, once they are drawn. What this page does not have keeps what it said last."""
    title = st.session_state["page_drawn"] = st.session_state["page_opened"]
    said, last = st.query_params.to_dict(), _last()
    for key in _CONTROLS.get(title, ()):
        if key in st.session_state:
            last["values"][key] = st.session_state[key]
            last["address"][key] = said.get(key, "")


def hand_over(settings: Settings, label: str, help: str) -> None:
    """A link to Explore that takes a forest along, with depth and trees by rule. All else goes along anyway."""
    st.session_state["handed_over"] = settings
    st.page_link("app.py", label=label, icon=":material/arrow_forward:", query_params=_FROM, help=help)


def _take(settings: Settings) -> None:
    """What Explore's controls will say."""
    for key in _SHAPE:
        st.session_state.pop(key, None)
    put_epsilon(settings.epsilon)
    st.session_state["forest"] = settings.kind
    _last()["address"].update(forest=settings.kind, eps=f"{settings.epsilon:g}")
    for option in FORESTS[settings.kind].options:
        if choices := option.choices[settings.mode]:
            chosen = next(label for label, value in choices.items() if value == settings.option(option.parameter))
            is_on = chosen == list(choices)[-1]
            st.session_state[option.key] = is_on if option.switch else chosen
            if option.switch:
                _last()["address"][option.key] = str(is_on).lower()


def _last() -> dict[str, dict[str, Any]]:
    """Of each control the value, and what the address said of it; empty where that was nothing, as by default."""
    return st.session_state.setdefault("between_pages", {"values": {}, "address": {}})
