"""A figure in the colors and sizes of a page, on plotly's dict: its objects check each change, which takes long."""

from __future__ import annotations

from typing import Any, Final

PLAIN, LARGE = 14, 18  # pixels of words in a chart: on a page; presenting (the lesson has its own)
_INK: Final = {True: "#E7ECF0", False: "#1B2229"}  # on a dark page, and on a light one
_QUIET: Final = {True: "#AAB5BF", False: "#55606B"}
_BEHIND: Final = {True: "rgba(17,22,27,0.85)", False: "rgba(255,255,255,0.85)"}  # words that a curve may cross
_BRIGHT: Final = "#4DA6DD"  # of a thin line in PRIVATE on a dark page


def in_ink(drawn: dict[str, Any], *, dark: bool, size: int) -> dict[str, Any]:
    """The same figure for a page. Whatever words a figure gives no size to get this one; the lesson's have their own.

    Parameters
    ----------
    drawn : dict
        Of `Figure.to_dict`. It is left as it is.
    size : int
        Of words, in pixels.
    """
    words = {"size": size, "color": _QUIET[dark]}
    font = {"size": size, **drawn["layout"].get("font", {}), "color": _INK[dark]}  # of words in traces and color bars
    layout = _with(drawn["layout"], {"font": font, "hoverlabel": {"font": {"size": size}}})
    layout = _with(layout, {"template": {"layout": {"annotationdefaults": {"font": {"size": size}}}}})
    if "size" not in layout.get("legend", {}).get("font", {}):
        layout = _with(layout, {"legend": {"font": {"size": size, "color": _INK[dark]}}})
    for name in [name for name in layout if name.startswith(("xaxis", "yaxis"))]:
        if "size" not in layout[name].get("tickfont", {}):
            layout = _with(layout, {name: {"tickfont": words, "title": {"font": words}}})
    return {**drawn, "layout": layout}


def thin_lines(drawn: dict[str, Any], private: str, *, dark: bool) -> dict[str, Any]:
    """The same figure with something behind its words and, on a dark page, brighter lines of this color."""
    notes = [_with(note, {"bgcolor": _BEHIND[dark]}) for note in drawn["layout"].get("annotations", ())]
    layout = {**drawn["layout"], **({"annotations": notes} if notes else {})}
    bright = {"line": {"color": _BRIGHT}, "marker": {"color": _BRIGHT}, "opacity": 1}
    data = [
        _with(trace, bright) if dark and trace.get("line", {}).get("color") == private else trace
        for trace in drawn["data"]
    ]
    return {**drawn, "data": data, "layout": layout}


def _with(old: dict[str, Any], new: dict[str, Any]) -> dict[str, Any]:
    """The old one with the new one's values, level by level."""
    return {
        **old,
        **{key: _with(old.get(key) or {}, value) if isinstance(value, dict) else value for key, value in new.items()},
    }
