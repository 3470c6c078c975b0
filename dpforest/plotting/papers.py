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
    """Appearance of a verdict: its marker in a chart, a similar character for texts, and its color."""

    marker: str
    text: str
    color: str


VERDICTS: Final = {  # the shapes differ, so that readers do not depend on the colors
    "equal": VerdictLook("triangle-up", "▲", _OTHER),
    "compatible": VerdictLook("triangle-up-open", "△", _OTHER),
    "contradicts": VerdictLook("x", "✕", "#8F6FC4"),
    "not comparable": VerdictLook("circle-open", "○", QUIET),
}
_WIDE: Final = 50  # the x-axis is logarithmic from this ratio of largest to smallest position on


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
        Printed value, our value in the published mode, and our value in the certified mode. The certified value is
        None for a forest without privacy.
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
    all_values = [*published, *ours, *(value for value in certified if value is not None)]
    low, high = (min(all_values) - 3, 101.5) if unit == "%" else (min(all_values) - 1, max(all_values) + 1)
    unit = escape(unit)
    names = [escape(setting, 60) for setting in settings]
    fig = figure(440)
    fig.add_scatter(
        x=[low, high],
        y=[low, high],
        mode="lines",
        line={"color": QUIET, "dash": "dot", "width": 1.5},
        name="as printed",
        hoverinfo="skip",
    )
    for verdict, look in VERDICTS.items():
        indices = [i for i, each in enumerate(verdicts) if each == verdict]
        if not indices:
            continue
        fig.add_scatter(
            x=[published[i] for i in indices],
            y=[ours[i] for i in indices],
            mode="markers",
            name=f"as published: {verdict}",
            text=[names[i] for i in indices],
            marker={"symbol": look.marker, "size": 11, "color": look.color, "line": {"width": 2, "color": look.color}},
            error_y={
                "type": "data",
                "array": [spread[i] for i in indices],
                "color": look.color,
                "thickness": 1,
                "width": 2,
            },
            hovertemplate="%{text}<br>printed %{x:.1f}, ours %{y:.1f} " + f"{unit}: {verdict}<extra></extra>",
        )
    certified_indices = [i for i, value in enumerate(certified) if value is not None]
    if certified_indices:
        fig.add_scatter(
            x=[published[i] for i in certified_indices],
            y=[certified[i] for i in certified_indices],
            mode="markers",
            name="certified",
            text=[names[i] for i in certified_indices],
            marker={"symbol": "circle", "size": 9, "color": PRIVATE},
            hovertemplate="%{text}<br>printed %{x:.1f}, certified %{y:.1f} " + f"{unit}<extra></extra>",
        )
    fig.update_xaxes(title="printed in the paper", ticksuffix=f" {unit}", range=[low, high], showgrid=False)
    fig.update_yaxes(title="measured here", ticksuffix=f" {unit}", range=[low, high])
    fig.update_layout(showlegend=True, legend={"orientation": "h", "y": 1.02, "yanchor": "bottom"})
    return fig


def measured_curves(
    lines: Sequence[str],
    positions: Sequence[float],
    ours: Sequence[float | None],
    certified: Sequence[float | None],
    axis: str,
    title: str = "right on rows held out",
) -> go.Figure:
    """Draw our curves for a paper's figure that prints no numbers.

    Lines are dashed in the published mode, and solid in the certified mode.

    Parameters
    ----------
    lines : sequence of str
        For each point, the name of its curve.
    positions : sequence of float
        Position of each point on the x-axis.
    ours, certified : sequence of float
        Value of each point, in percent, or None for no point. A forest without privacy has no certified points.
    axis : str
        Title of the x-axis.
    title : str
        Title of the y-axis.

    Returns
    -------
    plotly.graph_objects.Figure
        One line for each curve and mode.
    """
    names = list(dict.fromkeys(lines))
    fig = figure(440)
    for place, name in enumerate(names):
        points = sorted((i for i, line in enumerate(lines) if line == name), key=lambda i: positions[i])
        modes = (("as published", ours, "dash", "-open"), ("certified", certified, "solid", ""))
        drawn_modes = [mode for mode in modes if any(mode[1][i] is not None for i in points)]
        for mode_name, values, dash, suffix in drawn_modes:
            indices = [i for i in points if values[i] is not None]
            fig.add_scatter(
                x=[positions[i] for i in indices],
                y=[values[i] for i in indices],
                mode="lines+markers",
                name=escape(name, 40),
                legendgroup=str(place),
                showlegend=mode_name == drawn_modes[-1][0],
                line={"color": COLORS[place % len(COLORS)], "dash": dash},
                marker={"symbol": MARKERS[place % len(MARKERS)] + suffix, "size": 8},
                hovertemplate=f"{escape(axis)} = %{{x}}: %{{y:.1f}} %<extra>{escape(name, 40)}, {mode_name}</extra>",
            )
    is_log = min(positions) > 0 and max(positions) / min(positions) >= _WIDE
    ticks = {
        "type": "log",
        "tickvals": sorted(set(positions)),
        "ticktext": [number(value) for value in sorted(set(positions))],
    }
    fig.update_xaxes(title=escape(axis), showgrid=False, **(ticks if is_log else {}))
    fig.update_yaxes(title=escape(title), ticksuffix=" %")
    fig.update_layout(showlegend=True, legend={"orientation": "h", "y": 1.02, "yanchor": "bottom"})
    return fig
