"""Published results against ours: points, on the diagonal if equal, and curves if a paper prints no numbers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import plotly.graph_objects as go

from dpforest.plotting.compare import COLORS, MARKERS
from dpforest.plotting.style import PRIVATE, QUIET, escape, figure, number

_OTHER: Final = "#009E73"  # a color without a meaning elsewhere
_WIDE: Final = 50  # least ratio of largest to smallest value for a logarithmic axis


def published_and_ours(
    settings: Sequence[str],
    published: Sequence[float],
    ours: Sequence[float],
    certified: Sequence[float | None],
    spread: Sequence[float],
    unit: str = "%",
) -> go.Figure:
    """Draw a point for each cell of a paper's table, as published and certified.

    Parameters
    ----------
    settings : sequence of str
        Name of each cell.
    published, ours, certified : sequence of float
        Printed value, our value as published, and our certified value, which is None for a cell without privacy.
    spread : sequence of float
        Standard deviation of `ours` over folds.
    unit : str
        Unit of all values.

    Returns
    -------
    plotly.graph_objects.Figure
        One point for each cell.
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
    drawn.add_scatter(
        x=list(published),
        y=list(ours),
        mode="markers",
        name="ours, as published",
        text=names,
        marker={"symbol": "triangle-up-open", "size": 11, "color": _OTHER, "line": {"width": 2}},
        error_y={"type": "data", "array": list(spread), "color": _OTHER, "thickness": 1, "width": 2},
        hovertemplate="%{text}<br>printed %{x:.1f}, ours %{y:.1f} " + f"{unit}<extra></extra>",
    )
    kept = [i for i, value in enumerate(certified) if value is not None]
    if kept:
        drawn.add_scatter(
            x=[published[i] for i in kept],
            y=[certified[i] for i in kept],
            mode="markers",
            name="ours, certified",
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
    """Draw the curves of a figure whose paper prints no numbers: dashed as published, solid certified.

    Parameters
    ----------
    lines : sequence of str
        Name of each point's curve.
    at : sequence of float
        Position of each point on the x-axis.
    ours, certified : sequence of float
        Values in percent; None in `certified` without privacy.
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
