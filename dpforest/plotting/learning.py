"""Figure of accuracy against number of rows at several ε: measured up to the table's size, extrapolated beyond it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go

from dpforest.evaluation.learning_curve import Learning, Needed, beyond
from dpforest.plotting.style import NON_PRIVATE, PRIVATE, QUIET, figure, percent
from dpforest.privacy.rationals import text_up

SYMBOLS = ("circle", "square", "triangle-up")
WIDTHS = (3.5, 2.5, 1.75)
LINE_OF_TEXT = 0.085  # height of a curve's name, as a share of the range of accuracy that the curves cover
TICKS = tuple(a * 10**e for e in range(1, 8) for a in (1, 2, 5))


def learning_chart(
    learning: Learning, epsilons: Sequence[float], target: float, needed: Sequence[Needed], *, certified: bool = True
) -> go.Figure:
    """Draw the mean accuracy of simulated releases by the number of training rows.

    Parameters
    ----------
    learning : Learning
        Measured accuracy by number of rows, and its extrapolation.
    epsilons : sequence of float
        Budgets of the curves; the first one is the selected ε, with the thickest line.
    target : float
        The required accuracy.
    needed : sequence of Needed
        For each ε, the number of rows with which the forest reaches the target.
    certified : bool
        Whether the ε are certified. If True, the curves are blue; otherwise they are gray.
    """
    color = PRIVATE if certified else QUIET
    fig = figure(380, hovermode="closest", margin={"l": 8, "r": 12, "t": 28, "b": 8})
    extrapolations = [beyond(learning, e) for e in epsilons]
    right = max(extrapolation.rows[-1] for extrapolation in extrapolations)
    shade_beyond(fig, learning.n_rows, right)
    ends, low, high = [], [target], [target]
    for i, (epsilon, extrapolation) in enumerate(zip(epsilons, extrapolations, strict=True)):
        mean = learning.by_rows(epsilon)
        draw_curve(fig, learning, epsilon, i, color, dashed=not (i == 0 and needed[0].how == "observed"))
        ends.append((float(mean[0]), f"ε = {text_up(epsilon)}", i))
        low += [float(mean.min())]
        high += [float(mean.max()), *([float(extrapolation.accuracy.max())] if i else [])]
    name_curves(fig, learning, ends, max(high) - min(low))
    fig.add_hline(y=target, line={"color": NON_PRIVATE, "width": 2, "dash": "longdash"})
    fig.add_annotation(
        x=0,
        xref="paper",
        y=target,
        text=f"wanted: {percent(target)}",
        showarrow=False,
        xanchor="left",
        yanchor="bottom",
        xshift=4,
    )
    _mark(fig, epsilons, needed, target, color)
    pad = max(max(high) - min(low), 0.02) * 0.12
    fig.update_yaxes(range=[min(low) - pad, min(max(high) + 1.6 * pad, 1.04)], tickformat=".0%", zeroline=False)
    rows_axis(fig, learning, right)
    return fig


def shade_beyond(fig: go.Figure, n_rows: int, right: float) -> None:
    """Draw a line at the table's number of rows, and shade the part with more rows if the x-axis reaches that far."""
    if right > 1.01 * n_rows:
        fig.add_vrect(x0=n_rows, x1=right * 1.5, fillcolor=QUIET, opacity=0.10, line_width=0, layer="below")
    fig.add_vline(x=n_rows, line={"color": QUIET, "width": 1, "dash": "dot"})


def draw_curve(
    fig: go.Figure, learning: Learning, epsilon: float, place: int, color: str, *, dashed: bool = True
) -> None:
    """Draw the measured accuracy over rows at an ε and, if `dashed`, a dashed line of the extrapolated accuracy.

    `place` is an index into `WIDTHS` and `SYMBOLS`.
    """
    mean, error, extrapolation = learning.by_rows(epsilon), learning.error_by_rows(epsilon), beyond(learning, epsilon)
    line = {"color": color, "width": WIDTHS[place]}
    text = [
        f"<b>ε = {text_up(epsilon)}</b>, {r:,} rows: {percent(m)} ± {100 * s:.1f}<br>measured"
        for r, m, s in zip(learning.rows, mean, error, strict=True)
    ]
    fig.add_scatter(
        x=learning.rows,
        y=mean,
        mode="lines+markers",
        line=line,
        marker={"size": 8, "symbol": SYMBOLS[place], "color": color},
        text=text,
        meta=f"measured {place}",
        hovertemplate="%{text}<extra></extra>",
    )
    if not dashed or len(extrapolation.rows) == 1:
        return
    band = {"x": extrapolation.rows, "mode": "lines", "line": {"width": 0}, "hoverinfo": "skip"}
    fig.add_scatter(y=extrapolation.accuracy + extrapolation.error, **band)
    fig.add_scatter(y=extrapolation.accuracy - extrapolation.error, fill="tonexty", fillcolor=_faint(color), **band)
    hover = [
        f"<b>ε = {text_up(epsilon)}</b>, {r:,.0f} rows: about {percent(m)} ± {100 * s:.1f}<br>extrapolated"
        for r, m, s in zip(extrapolation.rows, extrapolation.accuracy, extrapolation.error, strict=True)
    ]
    fig.add_scatter(
        x=extrapolation.rows,
        y=extrapolation.accuracy,
        mode="lines",
        line={**line, "dash": "dash"},
        text=hover,
        meta=f"extrapolated {place}",
        hovertemplate="%{text}<extra></extra>",
    )


def name_curves(fig: go.Figure, learning: Learning, ends: list[tuple[float, str, int]], height: float) -> None:
    """Write the name of each curve to the left of its first point; the name of the first curve (`place` 0) is bold."""
    for y, name, i in _moved_apart(ends, LINE_OF_TEXT * max(height, 0.02)):
        fig.add_annotation(
            x=np.log10(learning.rows[0]),
            y=y,
            text=f"<b>{name}</b>" if i == 0 else name,
            showarrow=False,
            xanchor="right",
            xshift=-10,
        )


def rows_axis(fig: go.Figure, learning: Learning, right: float) -> None:
    """Set up the axis of rows, with space for the names of the curves at its left.

    Names at the top mark the measured part and the extrapolated part.
    """
    n = learning.n_rows
    left = learning.rows[0] / (right / learning.rows[0]) ** 0.16
    ticks = [t for t in TICKS if left <= t <= right * 1.1]
    ticks = ticks if len(ticks) <= 6 else [t for t in ticks if str(t)[0] == "1"]
    fig.update_xaxes(
        type="log",
        title="rows to learn from",
        showgrid=False,
        zeroline=False,
        tickvals=ticks,
        ticktext=[f"{t:,}" for t in ticks],
        range=[float(np.log10(left)), float(np.log10(right * 1.1))],
    )
    for side, anchor in (("measured", "right"), ("extrapolated", "left")):
        if side == "measured" or right > 1.01 * n:
            fig.add_annotation(
                x=np.log10(n),
                y=1,
                yref="paper",
                text=side,
                showarrow=False,
                xanchor=anchor,
                yanchor="bottom",
                xshift=-6 if anchor == "right" else 6,
            )


def _mark(fig: go.Figure, epsilons: Sequence[float], needed: Sequence[Needed], target: float, color: str) -> None:
    """Mark the number of rows at which each curve reaches the target, if this number is known."""
    for i, (epsilon, need) in enumerate(zip(epsilons, needed, strict=True)):
        if need.rows is None or need.times is None:
            continue
        fig.add_scatter(
            x=[need.rows],
            y=[target],
            mode="markers",
            meta=f"needed {i}",
            marker={"size": 15, "symbol": "diamond", "color": color, "line": {"color": "white", "width": 2}},
            text=[f"ε = {text_up(epsilon)}: {need.times:.2g} times the rows<br>{need.how}"],
            hovertemplate="%{text}<extra></extra>",
        )
        if need.how == "extrapolated":
            fig.add_annotation(
                x=np.log10(need.rows),
                y=target,
                text=f"<b>{need.times:.1f} ×</b>",
                showarrow=False,
                yanchor="top",
                yshift=-10,
            )


def _moved_apart(ends: list[tuple[float, str, int]], least: float) -> list[tuple[float, str, int]]:
    """Move the names of curves up, so that each name is at least `least` above the next lower name."""
    moved: list[tuple[float, str, int]] = []
    for y, name, i in sorted(ends):
        moved.append((y if not moved else max(y, moved[-1][0] + least), name, i))
    return moved


def _faint(color: str) -> str:
    return f"rgba({int(color[1:3], 16)},{int(color[3:5], 16)},{int(color[5:], 16)},0.12)"
