"""Settings that the user changed for single forests. The sidebar, the link and the names of lines show them.

A line is the curve of one forest in the chart.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

import streamlit as st

from dpforest.tables.features import plural
from ui import state
from ui.forest.forest_options import Option
from ui.forest.forests import FORESTS, TREES, ForestSettings
from ui.shared.controls import drop_unknown
from ui.shared.wording import plain

# The changes of each forest: "depth" and "trees" map to numbers, and the key of an option to the label of its value.
Changes = dict[str, dict[str, int | str]]
BY_RULE: Final = "by rule"
_PARAMETER: Final = "own"  # query parameter of the link
_LONGEST: Final = 4_000  # largest length of the parameter in characters; even changes of all forests are much shorter


def choose(kinds: tuple[str, ...]) -> Changes:
    """Draw the expander in the sidebar. Return the settings of these forests that the user or a link has changed."""
    changes = _changes_of_session()
    with st.expander("Settings of one forest", key="changed_settings"):
        if kinds:
            drop_unknown(state.SETTINGS_OF, kinds)
            if state.SETTINGS_OF not in st.session_state:
                state.SETTINGS_OF.value = next((kind for kind in kinds if kind in changes), kinds[0])
            kind = st.selectbox("Forest to set", kinds, key=state.SETTINGS_OF, persist_state="session")
            _controls(kind, changes.get(kind, {}))
            st.caption(
                "These settings apply to the certified lines of this forest. If you change one, the name of the "
                "line states it."
            )
        if changes:
            st.button("All forests with default settings", key="settings_reset", on_click=_reset)
    if ignored := state.SETTINGS_IGNORED.value:
        st.caption(f"Ignored, because no forest has these settings of the link: {plain(', '.join(ignored), 200)}.")
    _into_link(changes)
    return {kind: dict(values) for kind, values in changes.items() if kind in kinds}


def applied(settings: ForestSettings, changes: Mapping[str, int | str], varied: str = "") -> tuple[ForestSettings, str]:
    """Return a certified forest with the user's changes, and words about the changes for the name of its line.

    Parameters
    ----------
    varied : str
        Setting that the chart varies, if any: "depth", "trees", or the key of an option. A change of this setting is
        ignored.

    Examples
    --------
    >>> from ui.forest.forests import as_it_comes
    >>> boosted = as_it_comes("boosted", "certified", 1.0, "add-remove")
    >>> applied(boosted, {"depth": 4, "trees": 21})[1], applied(boosted, {"depth": 4}, "depth")[1]
    (' (depth 4, 21 trees)', '')
    """
    notes = []
    for key, value in changes.items():
        if key == varied:
            continue
        if key == "depth":
            settings = replace(settings, depth=value)
            notes.append(f"depth {value}")
        elif key == "trees":
            settings = replace(settings, trees=value)
            notes.append(plural(int(value), "tree"))
        else:
            option = _options(settings.kind)[key]
            settings = settings.with_option(option.parameter, option.choices["certified"][str(value)])
            notes.append(f"{option.title}: {value}")
    return settings, f" ({', '.join(notes)})" if notes else ""


def read(text: str) -> tuple[Changes, list[str]]:
    """Parse the parameter of a link. Return its valid changes, and the names of unknown or invalid settings.

    >>> read('{"boosted": {"depth": 4, "trees": true, "share": "30%"}, "oak": {"depth": 4}}')
    ({'boosted': {'depth': 4, 'share': '30%'}}, ['boosted trees', 'oak'])
    >>> read("[1]")
    ({}, ['own'])
    """
    try:
        linked = json.loads(text) if len(text) <= _LONGEST else None
    except (ValueError, RecursionError):
        linked = None
    if not isinstance(linked, dict):
        return {}, [_PARAMETER]
    changes: Changes = {}
    ignored = []
    for kind, settings in linked.items():
        if kind not in FORESTS or not isinstance(settings, dict):
            ignored.append(kind)
            continue
        valid = {key: value for key, value in settings.items() if _is_valid(kind, key, value)}
        ignored += [f"{kind} {key}" for key in settings if key not in valid]
        if changed := {
            key: valid[key] for key in _order(kind) if key in valid and not _is_default(kind, key, valid[key])
        }:
            changes[kind] = changed
    return {kind: changes[kind] for kind in FORESTS if kind in changes}, ignored


def _options(kind: str) -> dict[str, Option]:
    """Return the options that can be set for one forest, except δ, which one control sets for all forests."""
    return {o.key: o for o in FORESTS[kind].options if o.choices["certified"] and not o.switch}


def _order(kind: str) -> list[str]:
    return ["depth", "trees", *_options(kind)]


def _is_valid(kind: str, key: str, value: Any) -> bool:
    if key in ("depth", "trees"):
        most = FORESTS[kind].most_depth if key == "depth" else FORESTS[kind].most_trees
        return type(value) is int and 1 <= value <= most and (key == "depth" or FORESTS[kind].has_trees)
    option = _options(kind).get(key)
    return option is not None and isinstance(value, str) and value in option.choices["certified"]


def _are_changes(value: Any) -> bool:
    """Return whether a value from a link has the type `Changes` and names only settings that the forests have."""
    return isinstance(value, dict) and all(
        kind in FORESTS and isinstance(values, dict) and all(_is_valid(kind, key, v) for key, v in values.items())
        for kind, values in value.items()
    )


def _is_default(kind: str, key: str, value: int | str) -> bool:
    return key not in ("depth", "trees") and value == _options(kind)[key].default("certified")


def _changes_of_session() -> Changes:
    """Return the changes of this session. When the page opens with a new link, the link's changes replace them."""
    linked = st.query_params.get(_PARAMETER)
    if linked is not None and linked != state.SETTINGS_LINK.value:
        state.SETTINGS.value, state.SETTINGS_IGNORED.value = read(linked)
    return _stored()


def _stored() -> Changes:
    if not _are_changes(state.SETTINGS.value):
        state.SETTINGS.pop()
    return state.SETTINGS.value


def _into_link(changes: Changes) -> None:
    """Write the changes into the link, or remove the parameter if there are none."""
    if changes:
        text = json.dumps(changes, ensure_ascii=False, separators=(",", ":"))
        state.SETTINGS_LINK.value = text
        if st.query_params.get(_PARAMETER) != text:
            st.query_params[_PARAMETER] = text
    else:
        state.SETTINGS_LINK.pop()
        st.query_params.pop(_PARAMETER, None)


def _controls(kind: str, changes: Mapping[str, int | str]) -> None:
    forest = FORESTS[kind]
    _number(kind, "depth", "Depth", tuple(range(1, forest.most_depth + 1)), changes)
    if forest.has_trees:
        _number(kind, "trees", "Trees", tuple(n for n in TREES if n <= forest.most_trees), changes)
    for key, option in _options(kind).items():
        labels = list(option.choices["certified"])
        widget = _set_control(kind, key, changes.get(key, option.default("certified")))
        draw: Any = st.select_slider if option.slider else st.selectbox
        draw(option.title, labels, key=widget, help=option.sentence, on_change=_take, args=(kind, key))


def _number(kind: str, key: str, title: str, numbers: tuple[int, ...], changes: Mapping[str, int | str]) -> None:
    value = changes.get(key, BY_RULE)
    choices = [BY_RULE, *sorted({*numbers, *([value] if isinstance(value, int) else [])})]
    widget = _set_control(kind, key, value)
    st.select_slider(title, choices, key=widget, on_change=_take, args=(kind, key))


def _set_control(kind: str, key: str, value: int | str) -> str:
    """Set the state of a control to the stored value, and return the key of the control."""
    widget = state.SETTING(kind, key)
    if widget.value != value:
        widget.value = value
    return widget


def _take(kind: str, key: str) -> None:
    """Store the user's value as a change, or remove the change if the value is by rule or the default."""
    changes = _stored()
    value = state.SETTING(kind, key).value
    if value != BY_RULE and not _is_valid(kind, key, value):
        return
    forest_changes = {**changes.get(kind, {}), key: value}
    if value == BY_RULE or _is_default(kind, key, value):
        del forest_changes[key]
    all_changes = {**changes, kind: {name: forest_changes[name] for name in _order(kind) if name in forest_changes}}
    state.SETTINGS.value = {name: all_changes[name] for name in FORESTS if all_changes.get(name)}
    state.SETTINGS_IGNORED.pop()


def _reset() -> None:
    state.SETTINGS.value = {}
    state.SETTINGS_IGNORED.pop()
    st.query_params.pop(_PARAMETER, None)
