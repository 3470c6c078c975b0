"""Links: the settings that one page passes on to another page, and the address of a page with its settings."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final
from urllib.parse import urlencode, urlsplit

import streamlit as st

from dpforest.models.budget import AUTO
from ui import state
from ui.forest.forest_options import ALLOW_DELTA, DELTA
from ui.forest.forests import FORESTS, MODES, ForestSettings
from ui.shared.epsilon import put_epsilon

# For each page, its controls whose values are passed on to other pages. All pages also pass on `PRESENT`.
_TABLE: Final = (state.DATA, state.LABEL)
_CONTROLS: Final = {
    "Explore": (*_TABLE, state.EPSILON, state.NEIGHBORS, state.MODE, state.FOREST, state.DELTA),
    "Compare forests": (*_TABLE, state.EPSILON, state.NEIGHBORS, state.ALSO_DELTA),
    "Choose ε": (*_TABLE, state.NEIGHBORS, state.MODE, state.ALSO_DELTA),
    "Audit": (state.EPSILON, state.NEIGHBORS),
    "Theory": (*_TABLE, state.EPSILON),
}
_SHAPE: Final = (state.BY_RULE, state.DEPTH, state.TREES)
_FROM: Final = {"from": "choose"}
_RENAMED: Final = {"neighbours": "neighbors"}  # names of parameters in old links, and their current names


def carry_over(title: str) -> None:
    """Restore the values of controls that the previous page also had, because Streamlit drops some of them.

    Streamlit drops a value that a link has set and the user has not moved. If the address has settings, it comes from a
    link or from the browser's Back button. Such an address is complete, so nothing is added to it.
    """
    for old, new in _RENAMED.items():
        if old in st.query_params:
            st.query_params[new] = st.query_params[old]
            del st.query_params[old]
    if st.query_params.to_dict() == _FROM:
        st.query_params.clear()
        if (settings := state.HANDED_OVER.pop()) is not None:
            _take(settings)
    page_changed = state.PAGE_DRAWN.value not in (None, title)
    if page_changed and st.query_params:
        for key in _SHAPE:  # Streamlit keeps the values of these controls when the user visits another page
            st.session_state.pop(key, None)
    elif page_changed:
        for key in (*_CONTROLS.get(title, ()), state.PRESENT):
            value = st.session_state.get(key, _stored_controls()["values"].get(key))
            if value is not None:
                st.session_state[key] = value
            if in_address := _stored_controls()["address"].get(key):
                st.query_params[key] = in_address
        if title == "Choose ε":
            _take_earlier_choice()
    state.PAGE_OPENED.value = title


def _take_earlier_choice() -> None:
    """Let Choose show the ε and the forest of earlier pages, if the user chose them there.

    Otherwise, Choose shows the answer that it computes.
    """
    values, address = _stored_controls()["values"], _stored_controls()["address"]
    if address.get("eps"):
        put_epsilon(values["eps"], state.EPSILON_TO_LOOK_AT)
        st.query_params[state.EPSILON_TO_LOOK_AT] = address["eps"]
    kind = values.get("forest")
    if address.get("forest") and kind in FORESTS:
        mode = MODES.get(str(values.get("mode")), "certified")
        has_delta = bool(values.get("delta")) and mode == "certified" and ALLOW_DELTA in FORESTS[kind].options
        if has_delta:
            state.ALSO_DELTA.value, st.query_params[state.ALSO_DELTA] = True, "true"
        options = (("delta", DELTA),) if has_delta else ()
        name = ForestSettings(kind, mode, 1.0, AUTO, AUTO, "add-remove", options).name
        state.LOOKED_AT.value = st.query_params[state.LOOKED_AT] = name


def remember() -> None:
    """Store the values of the controls of a drawn page. Controls that this page lacks keep their stored values."""
    title = state.PAGE_DRAWN.value = state.PAGE_OPENED.value
    address, last = st.query_params.to_dict(), _stored_controls()
    for key in (*_CONTROLS.get(title, ()), state.PRESENT):
        if key in st.session_state:
            last["values"][key] = st.session_state[key]
            last["address"][key] = address.get(key, "")
    if title == "Choose ε":
        _remember_look_at(address, last)


def _remember_look_at(address: dict[str, str], last: dict[str, dict[str, Any]]) -> None:
    """Store the ε and the forest that Choose shows for later pages, if the user chose them on Choose."""
    if address.get("look_eps"):
        put_epsilon(state.EPSILON_TO_LOOK_AT.value)
        last["values"]["eps"], last["address"]["eps"] = state.EPSILON_TO_LOOK_AT.value, address["look_eps"]
    kind = address.get("looked_at", "").partition(",")[0]
    if kind in FORESTS:
        state.FOREST.value = last["values"]["forest"] = last["address"]["forest"] = kind


def hand_over(settings: ForestSettings, label: str, help: str) -> None:
    """Draw a link to Explore that chooses a forest there and lets the rule set depth and number of trees.

    `carry_over` restores all other settings there, from the values that `remember` stored.
    """
    state.HANDED_OVER.value = settings
    st.page_link("app.py", label=label, icon=":material/arrow_forward:", query_params=_FROM, help=help)


def copy_link(*, of_upload: bool = False) -> None:
    """Draw a button that shows the address of this page with its current settings, for any browser.

    Call this function after all controls of a page, so that the link holds the values of all controls.

    Parameters
    ----------
    of_upload : bool
        Whether the page shows a file of the user. Whoever opens the link is then asked for this file.
    """
    remember()
    with st.popover("Copy link"):
        note = " It does not carry your file or its columns." if of_upload else ""
        st.caption(f"Anyone who opens this link sees the same settings.{note}")
        # `get_all` keeps all values of a parameter that occurs several times
        settings = {name: st.query_params.get_all(name) for name in st.query_params}
        st.code(address(st.context.url or "", settings), language=None, wrap_lines=True)


def address(url: str, settings: Mapping[str, str | list[str]]) -> str:
    """Return the address of a page with its settings.

    Examples
    --------
    >>> address("http://localhost:8501/Audit?old=1", {"rule": "smooth sensitivity", "pair": ["a", "b"]})
    'http://localhost:8501/Audit?rule=smooth+sensitivity&pair=a&pair=b'
    >>> address("http://localhost:8501", {})
    'http://localhost:8501/'
    """
    parts = urlsplit(url)
    return parts._replace(
        path=parts.path.rstrip("/") or "/", query=urlencode(settings, doseq=True), fragment=""
    ).geturl()


def _take(settings: ForestSettings) -> None:
    """Set Explore's controls of the forest, its options and ε. The rule sets the depth and the number of trees."""
    for key in _SHAPE:
        st.session_state.pop(key, None)
    put_epsilon(settings.epsilon)
    state.FOREST.value = settings.kind
    _stored_controls()["address"].update(forest=settings.kind, eps=f"{settings.epsilon:g}")
    for option in FORESTS[settings.kind].options:
        if choices := option.choices[settings.mode]:
            chosen = next(label for label, value in choices.items() if value == settings.option(option.parameter))
            is_on = chosen == list(choices)[-1]
            st.session_state[option.key] = is_on if option.switch else chosen
            if option.switch:
                _stored_controls()["address"][option.key] = str(is_on).lower()


def _stored_controls() -> dict[str, dict[str, Any]]:
    """Return what `remember` stored of the controls of earlier pages.

    Under "values" are their values, and under "address" the texts of these values in the address. The text of a control
    at its default is empty, because the address leaves it out.
    """
    last = state.BETWEEN_PAGES.value
    for part in ("values", "address"):
        last.setdefault(part, {})
    return last
