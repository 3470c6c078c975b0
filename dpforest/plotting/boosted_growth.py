"""Figures of the growth of boosted trees: α by level, contributions of trees, and the spread of row weights.

α is the parameter, from 0 to 1, of the loss by which a level of a tree chooses its splits.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go

from dpforest.models.trace import TreeTrace
from dpforest.plotting.style import NON_PRIVATE, PRIVATE, QUIET, escape, figure

SCALE = [[0, "#F2F5F7"], [1, PRIVATE]]


def alpha_drawing(levels: Sequence[float], *, exact: bool) -> go.Figure:
    """Draw a small chart of α against level. If `exact` is False, the values are an example and the line is dotted."""
    fig = figure(96, hovermode="closest", margin={"l": 4, "r": 4, "t": 6, "b": 4})
    x = list(range(len(levels)))
    fig.add_scatter(
        x=x,
        y=list(levels),
        mode="lines+markers",
        marker={"size": 6},
        line={"color": PRIVATE, "width": 2, "dash": None if exact else "dot"},
        hovertemplate="level %{x}: α = %{y:.2f}<extra></extra>",
    )
    fig.update_xaxes(
        tickvals=x,
        ticktext=["root", *map(str, x[1:])],
        zeroline=False,
        showgrid=False,
        fixedrange=True,
        range=[-0.3, len(levels) - 0.7],
    )
    fig.update_yaxes(range=[-0.12, 1.12], tickvals=[0, 1], ticktext=["α 0", "1"], zeroline=False, fixedrange=True)
    return fig


def alpha_by_level(traces: Sequence[TreeTrace], names: Sequence[str]) -> go.Figure:
    """Draw α as a table of colored cells, with a row for each tree and a column for each level.

    Parameters
    ----------
    traces : sequence of TreeTrace
        Record of the growth of each tree, in the order in which the trees were grown.
    names : sequence of str
        Names of the trees.
    """
    values = np.array([trace.alpha for trace in traces], float)
    n_trees, n_levels = values.shape
    fig = figure(26 * max(n_trees, 2) + 60, hovermode="closest", margin={"l": 8, "r": 8, "t": 8, "b": 8})
    fig.add_heatmap(
        z=values,
        x=list(range(n_levels)),
        y=list(range(n_trees)),
        zmin=0,
        zmax=1,
        colorscale=SCALE,
        showscale=False,
        xgap=2,
        ygap=2,
        hovertemplate="%{text}<extra></extra>",
        text=[
            [f"{escape(names[t])}, level {k}: α = {values[t, k]:.3f}" for k in range(n_levels)] for t in range(n_trees)
        ],
    )
    for t in range(n_trees):
        for k in range(n_levels):
            dark = values[t, k] > 0.55
            fig.add_annotation(
                x=k, y=t, text=f"{values[t, k]:.2f}", showarrow=False, font={"color": "#FFFFFF" if dark else "#1B2229"}
            )
    fig.update_xaxes(
        tickvals=list(range(n_levels)),
        ticktext=["root", *(f"level {k}" for k in range(1, n_levels))],
        showgrid=False,
        zeroline=False,
        fixedrange=True,
    )
    fig.update_yaxes(
        tickvals=list(range(n_trees)),
        ticktext=[escape(name, 24) for name in names],
        autorange="reversed",
        showgrid=False,
        zeroline=False,
        fixedrange=True,
    )
    return fig


def weight_spread(traces: Sequence[TreeTrace]) -> go.Figure:
    """Draw the spread of the rows' boosting weights before each tree, and the public bound on a weight.

    A thin line shows the range of the weights, a thick line their middle half, and a dot their median.
    """
    spread = np.array([trace.weights for trace in traces])
    rounds = list(range(1, len(traces) + 1))
    fig = figure(220, hovermode="closest", margin={"l": 8, "r": 8, "t": 8, "b": 8})
    text = [
        f"tree {r}: half of the rows weigh {s[1]:.3f} to {s[3]:.3f},<br>all of them {s[0]:.3f} to {s[4]:.3f}"
        for r, s in zip(rounds, spread, strict=True)
    ]
    for low, high, width in ((0, 4, 2), (1, 3, 9)):
        x, y = [], []
        for r, s in zip(rounds, spread, strict=True):
            x += [r, r, None]
            y += [s[low], s[high], None]
        fig.add_scatter(x=x, y=y, mode="lines", line={"color": NON_PRIVATE, "width": width}, hoverinfo="skip")
    fig.add_scatter(
        x=rounds,
        y=spread[:, 2],
        mode="markers",
        text=text,
        hovertemplate="%{text}<extra></extra>",
        marker={"size": 8, "color": NON_PRIVATE, "line": {"color": "white", "width": 1.5}},
    )
    fig.add_scatter(
        x=rounds,
        y=[trace.bound for trace in traces],
        mode="lines",
        line={"color": QUIET, "dash": "dot", "shape": "hvh"},
        hovertemplate="no row can weigh more than %{y:.3f}<extra></extra>",
    )
    fig.update_xaxes(title="tree", showgrid=False, zeroline=False, fixedrange=True, dtick=max(1, len(rounds) // 10))
    least, most = float(spread.min()), max(float(spread.max()), max(trace.bound for trace in traces))
    pad = max(0.12 * (most - least), 0.004)
    fig.update_yaxes(title="weight of a row", range=[least - pad, most + pad], zeroline=False, fixedrange=True)
    return fig


def contributions(values: np.ndarray, classes: Sequence, *, tree: int) -> go.Figure:
    """Draw what each tree adds to one record's score, and frame the bar of the selected tree (`tree`).

    A bar to the right favors the second class, and a bar to the left favors the first class.
    """
    n_trees = len(values)
    fig = figure(16 * n_trees + 64, hovermode="closest", margin={"l": 8, "r": 8, "t": 22, "b": 8})
    text = [f"tree {t + 1} adds {v:+.4f}<br>click to see its path" for t, v in enumerate(values)]
    fig.add_bar(
        x=values,
        y=list(range(n_trees)),
        orientation="h",
        customdata=list(range(n_trees)),
        text=text,
        textposition="none",
        hovertemplate="%{text}<extra></extra>",
        marker={
            "color": PRIVATE,
            "line": {"color": ["#CC79A7" if t == tree else PRIVATE for t in range(n_trees)], "width": 2},
        },
        selected={"marker": {"opacity": 1}},
        unselected={"marker": {"opacity": 1}},
    )
    reach = max(float(np.abs(values).max()), 1e-9) * 1.1
    for side, name, anchor in ((-1, classes[0], "left"), (1, classes[1], "right")):
        fig.add_annotation(
            x=0 if side < 0 else 1,
            xref="paper",
            y=1,
            yref="paper",
            yanchor="bottom",
            xanchor=anchor,
            text=f"{'← ' if side < 0 else ''}{escape(name, 20)}{' →' if side > 0 else ''}",
            showarrow=False,
        )
    fig.update_xaxes(range=[-reach, reach], zeroline=True, zerolinecolor=QUIET, showgrid=False, fixedrange=True)
    fig.update_yaxes(
        tickvals=list(range(n_trees)),
        ticktext=[f"tree {t + 1}" for t in range(n_trees)],
        autorange="reversed",
        showgrid=False,
        zeroline=False,
        fixedrange=True,
    )
    return fig
