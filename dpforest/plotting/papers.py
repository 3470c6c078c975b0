"""Figures that compare results printed in papers with our results.

If a paper prints numbers, each number is a point. If it has only a drawing, our results are drawn as curves. Our
results are measured in two modes: "published" follows the paper, and "certified" has a proved guarantee.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

import plotly.graph_objects as go

from dpforest.plotting.compare import COLORS, MARKERS
from dpforest.plotting.style import PRIVATE, QUIET, escape, figure, number

_OTHER: Final = "#009E73"  # color of results that agree with the paper


class VerdictLook(NamedTuple):
    """Look of a verdict: its marker in a chart, a similar character for texts, and its color."""

    marker: str
    text: str
    color: str


VERDICTS: Final = {  # the shapes differ, so that readers do not depend on the colors
    "equal": VerdictLook("triangle-up", "▲", _OTHER),
    "compatible": VerdictLook("triangle-up-open", "△", _OTHER),
    "contradicts": VerdictLook("x", "✕", "#8F6FC4"),
    "not comparable": VerdictLook("circle-open", "○", QUIET),
}
_WIDE: Final = 50  # least ratio of largest to smallest value for a logarithmic axis


def published_and_ours(
    settings: Sequence[str],
    published: Sequence[float],
    ours: Sequence[float],
    certified: Sequence[float | None],
    spread: Sequence[float],
    verdicts: Sequence[str],
    unit: str = "%",
) -> go.Figure:
    """Draw our value against the printed value for each cell of a paper's table, in both modes.

    Parameters
    ----------
    settings : sequence of str
        Name of each cell.
    published, ours, certified : sequence of float
        Printed value, our value in the published mode, and our value in the certified mode. The last is None for a
        forest without privacy.
    spread : sequence of float
        Standard deviation of `ours` over folds.
    verdicts : sequence of str
        Verdict of each cell, a key of `VERDICTS`, which decides the marker of `ours`.
    unit : str
        Unit of all values.

    Returns
    -------
    plotly.graph_objects.Figure
        One point for each cell and mode; one trace for each verdict.
    """
    every = [*published, *ours, *(value for value in certified if value is not None)]
    low, high = (min(every) - 3, 101.5) if unit == "%" else (min(every) - 1, max(every) + 1)
    unit = escape(unit)
    names = [escape(setting, 60) for setting in settings]
    drawn = figure(440)
    drawn.add_scatter(
        x=[low, high],
        y=[low, high],
        mode="lines",
        line={"color": QUIET, "dash": "dot", "width": 1.5},
        name="as printed",
        hoverinfo="skip",
    )
    for verdict, look in VERDICTS.items():
        alike = [i for i, each in enumerate(verdicts) if each == verdict]
        if not alike:
            continue
        drawn.add_scatter(
            x=[published[i] for i in alike],
            y=[ours[i] for i in alike],
            mode="markers",
            name=f"as published: {verdict}",
            text=[names[i] for i in alike],
            marker={"symbol": look.marker, "size": 11, "color": look.color, "line": {"width": 2, "color": look.color}},
            error_y={
                "type": "data",
                "array": [spread[i] for i in alike],
                "color": look.color,
                "thickness": 1,
                "width": 2,
            },
            hovertemplate="%{text}<br>printed %{x:.1f}, ours %{y:.1f} " + f"{unit}: {verdict}<extra></extra>",
        )
    kept = [i for i, value in enumerate(certified) if value is not None]
    if kept:
        drawn.add_scatter(
            x=[published[i] for i in kept],
            y=[certified[i] for i in kept],
            mode="markers",
            name="certified",
            text=[names[i] for i in kept],
            marker={"symbol": "circle", "size": 9, "color": PRIVATE},
            hovertemplate="%{text}<br>printed %{x:.1f}, certified %{y:.1f} " + f"{unit}<extra></extra>",
        )
    drawn.update_xaxes(title="printed in the paper", ticksuffix=f" {unit}", range=[low, high], showgrid=False)
    drawn.update_yaxes(title="measured here", ticksuffix=f" {unit}", range=[low, high])
    drawn.update_layout(showlegend=True, legend={"orientation": "h", "y": 1.02, "yanchor": "bottom"})
    return drawn


def measured_curves(
    lines: Sequence[str],
    at: Sequence[float],
    ours: Sequence[float | None],
    certified: Sequence[float | None],
    axis: str,
    what: str = "right on rows held out",
) -> go.Figure:
    """Draw our curves for a paper's figure that prints no numbers; dashed in the published mode, solid in the
    certified.

    Parameters
    ----------
    lines : sequence of str
        For each point, the name of its curve.
    at : sequence of float
        Position of each point on the x-axis.
    ours, certified : sequence of float
        Value of each point, in percent, or None for no point. A forest without privacy has no certified points.
    axis : str
        Title of the x-axis.
    what : str
        Title of the y-axis.

    Returns
    -------
    plotly.graph_objects.Figure
        One line for each curve and mode.
    """
    names = list(dict.fromkeys(lines))
    drawn = figure(440)
    for place, name in enumerate(names):
        points = sorted((i for i, line in enumerate(lines) if line == name), key=lambda i: at[i])
        modes = (("as published", ours, "dash", "-open"), ("certified", certified, "solid", ""))
        shown = [mode for mode in modes if any(mode[1][i] is not None for i in points)]
        for mode_name, values, dash, how in shown:
            kept = [i for i in points if values[i] is not None]
            drawn.add_scatter(
                x=[at[i] for i in kept],
                y=[values[i] for i in kept],
                mode="lines+markers",
                name=escape(name, 40),
                legendgroup=str(place),
                showlegend=mode_name == shown[-1][0],
                line={"color": COLORS[place % len(COLORS)], "dash": dash},
                marker={"symbol": MARKERS[place % len(MARKERS)] + how, "size": 8},
                hovertemplate=f"{escape(axis)} = %{{x}}: %{{y:.1f}} %<extra>{escape(name, 40)}, {mode_name}</extra>",
            )
    wide = min(at) > 0 and max(at) / min(at) >= _WIDE
    ticks = {"type": "log", "tickvals": sorted(set(at)), "ticktext": [number(value) for value in sorted(set(at))]}
    drawn.update_xaxes(title=escape(axis), showgrid=False, **(ticks if wide else {}))
    drawn.update_yaxes(title=escape(what), ticksuffix=" %")
    drawn.update_layout(showlegend=True, legend={"orientation": "h", "y": 1.02, "yanchor": "bottom"})
    return drawn
