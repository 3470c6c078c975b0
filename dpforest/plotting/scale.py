"""Figure of how the rows are distributed over the public range of a numeric attribute: exactly, and as released."""

from __future__ import annotations

import numpy as np
import plotly.graph_objects as go

from dpforest.limits import N_CODES
from dpforest.plotting.style import NON_PRIVATE, PRIVATE, QUIET, figure, number, percent
from dpforest.tables.features import Feature
from dpforest.trees.released_scale import CELLS

_TICKS = 4  # number of equal parts into which ticks divide the axis


def scale_picture(feature: Feature, rows: np.ndarray, released: np.ndarray | None) -> go.Figure:
    """Draw a histogram over 64 cells that divide the codes of an attribute equally; ticks are values of the attribute.

    Parameters
    ----------
    feature : Feature
        A numeric attribute.
    rows : float array of shape (64,)
        Exact share of the rows with a known value in each cell.
    released : float array of shape (64,) or None
        Noisy estimate of these shares by one release; None if releases use the public scale, where all cells are alike.
    """
    fig = figure(240, hovermode="closest", bargap=0.05, margin={"l": 8, "r": 36, "t": 28, "b": 8})
    ends = [_value(feature, cell) for cell in range(CELLS + 1)]
    ranges = [f"{number(a)} to {number(b)}" for a, b in zip(ends[:-1], ends[1:], strict=True)]
    middle = np.arange(CELLS) + 0.5
    fig.add_bar(
        x=middle,
        y=rows,
        name="the rows",
        marker={"color": NON_PRIVATE, "line": {"width": 0}},
        text=ranges,
        customdata=[percent(share) for share in rows],
        textposition="none",
        hovertemplate="%{text}: %{customdata} of the rows<extra></extra>",
    )
    public_line = {"color": QUIET, "width": 2.5, "dash": "dot"}
    steps = np.full(CELLS, 1 / CELLS) if released is None else released
    fig.add_scatter(
        x=np.repeat(np.arange(CELLS + 1), 2)[1:-1],
        y=np.repeat(steps, 2),
        mode="lines",
        name="the public scale: all cells alike"
        if released is None
        else "the same in one simulated release, with noise",
        line=public_line if released is None else {"color": PRIVATE, "width": 2.5},
        hovertemplate="questions are asked here with probability %{y:.1%}<extra></extra>",
    )
    places = [CELLS * k // _TICKS for k in range(_TICKS + 1)]
    labels = [number(ends[place]) for place in places]
    labels = ["" if k and text == labels[k - 1] else text for k, text in enumerate(labels)]
    fig.update_xaxes(
        range=[0, CELLS],
        tickvals=places,
        ticktext=labels,
        showgrid=False,
        zeroline=False,
        fixedrange=True,
    )
    fig.update_yaxes(tickformat=".0%", rangemode="tozero", fixedrange=True, nticks=4)
    fig.update_layout(showlegend=True, legend={"orientation": "h", "y": 1.0, "yanchor": "bottom", "x": 0})
    return fig


def _value(feature: Feature, cell: int) -> float:
    """Return the value of the attribute at which a cell of the histogram begins."""
    return value_at(feature, feature.first_code + (N_CODES - feature.first_code) * cell // CELLS)


def value_at(feature: Feature, code: int) -> float:
    """Return the value at which a code of a numeric attribute begins, rounded to three significant digits.

    The last code has the upper end of the public range, which is not rounded. Values from 10¹⁵ on are not rounded
    either.
    """
    assert feature.low is not None and feature.high is not None
    if code >= N_CODES - 1:
        return feature.high
    value = feature.least_value(code) if code > feature.first_code else feature.low
    return float(f"{value:.3g}") if abs(value) < 1e15 else value
