"""Figure of accuracy against rows at several ε: measured within the table, extrapolated beyond it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go

from dpforest.evaluation.learning_curve import Learning, Needed, beyond
from dpforest.plotting.style import NON_PRIVATE, PRIVATE, QUIET, figure, percent
from dpforest.privacy.rationals import text_up

SYMBOLS = ("circle", "square", "triangle-up")
WIDTHS = (3.5, 2.5, 1.75)
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
        For each ε, the rows that reach the target.
    certified : bool
        True: the curves are blue, the color of certified ε.
    """
    color, n = PRIVATE if certified else QUIET, learning.n_rows
    fig = figure(380, hovermode="closest", margin={"l": 8, "r": 12, "t": 28, "b": 8})
    beyonds = [beyond(learning, e) for e in epsilons]
    right = max(more.rows[-1] for more in beyonds)
    if right > 1.01 * n:
        fig.add_vrect(x0=n, x1=right * 1.5, fillcolor=QUIET, opacity=0.10, line_width=0, layer="below")
    fig.add_vline(x=n, line={"color": QUIET, "width": 1, "dash": "dot"})
    ends, low, high = [], [target], [target]
    for i, (epsilon, more) in enumerate(zip(epsilons, beyonds, strict=True)):
        mean, error = learning.by_rows(epsilon), learning.error_by_rows(epsilon)
        look = {"color": color, "width": WIDTHS[i]}
        symbol = {"size": 8, "symbol": SYMBOLS[i], "color": color}
        text = [
            f"<b>ε = {text_up(epsilon)}</b>, {r:,} rows: {percent(m)} ± {100 * s:.1f}<br>measured"
            for r, m, s in zip(learning.rows, mean, error, strict=True)
        ]
        fig.add_scatter(
            x=learning.rows,
            y=mean,
            mode="lines+markers",
            line=look,
            marker=symbol,
            text=text,
            meta=f"measured {i}",
            hovertemplate="%{text}<extra></extra>",
        )
        if len(more.rows) > 1 and not (i == 0 and needed[0].how == "observed"):
            band = {"x": more.rows, "mode": "lines", "line": {"width": 0}, "hoverinfo": "skip"}
            fig.add_scatter(y=more.accuracy + more.error, **band)
            fig.add_scatter(y=more.accuracy - more.error, fill="tonexty", fillcolor=_faint(color), **band)
            hover = [
                f"<b>ε = {text_up(epsilon)}</b>, {r:,.0f} rows: about {percent(m)} ± {100 * s:.1f}<br>extrapolated"
                for r, m, s in zip(more.rows, more.accuracy, more.error, strict=True)
            ]
            fig.add_scatter(
                x=more.rows,
                y=more.accuracy,
                mode="lines",
                line={**look, "dash": "dash"},
                text=hover,
                meta=f"extrapolated {i}",
                hovertemplate="%{text}<extra></extra>",
            )
        ends.append((float(mean[0]), f"ε = {text_up(epsilon)}", i))
        low += [float(mean.min())]
        high += [float(mean.max()), *([float(more.accuracy.max())] if i else [])]
    for y, name, i in _apart(ends, 0.055 * max(max(high) - min(low), 0.02)):
        fig.add_annotation(
            x=np.log10(learning.rows[0]),
            y=y,
            text=f"<b>{name}</b>" if i == 0 else name,
            showarrow=False,
            xanchor="right",
            xshift=-10,
        )
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
    left = learning.rows[0] / (right / learning.rows[0]) ** 0.16  # space for the names of the curves
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
    return fig


def _mark(fig: go.Figure, epsilons: Sequence[float], needed: Sequence[Needed], target: float, color: str) -> None:
    """Mark where each curve reaches the target."""
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


def _apart(ends: list[tuple[float, str, int]], least: float) -> list[tuple[float, str, int]]:
    """Move names up until none covers another."""
    out: list[tuple[float, str, int]] = []
    for y, name, i in sorted(ends):
        out.append((y if not out else max(y, out[-1][0] + least), name, i))
    return out


def _faint(color: str) -> str:
    return f"rgba({int(color[1:3], 16)},{int(color[3:5], 16)},{int(color[5:], 16)},0.12)"
