"""Figure of accuracy against number of rows at ε / 10, ε and 10 ε.

An arrow shows how many more rows compensate for a smaller ε.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go

from dpforest.evaluation.learning_curve import Learning, beyond
from dpforest.evaluation.rows_for_epsilon import Exchange
from dpforest.plotting.learning import draw_curve, name_curves, rows_axis, shade_beyond
from dpforest.plotting.style import PRIVATE, QUIET, figure
from dpforest.privacy.rationals import text_up


def exchange_chart(
    learning: Learning, epsilon: float, epsilons: Sequence[float], exchange: Exchange | None, *, certified: bool = True
) -> go.Figure:
    """Draw mean accuracy against number of rows, and an arrow from few rows at ε to more rows at a smaller ε.

    Parameters
    ----------
    learning : Learning
        Measured accuracy by number of rows, and its extrapolation.
    epsilon : float
        The selected ε, with the thickest line.
    epsilons : sequence of float
        Budgets of all curves.
    exchange : Exchange or None
        The two numbers of rows that the arrow connects. None, or an unknown `Exchange.times`, omits the arrow.
    certified : bool
        Whether the ε are certified. If True, the curves are blue; otherwise they are gray.
    """
    color = PRIVATE if certified else QUIET
    fig = figure(380, hovermode="closest", margin={"l": 8, "r": 12, "t": 28, "b": 8})
    right = max(beyond(learning, e).rows[-1] for e in epsilons)
    shade_beyond(fig, learning.n_rows, right)
    ends, drawn_values = [], []
    for place, e in enumerate(sorted(epsilons, key=lambda e: e != epsilon)):
        draw_curve(fig, learning, e, place, color)
        ends.append((float(learning.by_rows(e)[0]), f"ε = {text_up(e)}", place))
        drawn_values += [*learning.by_rows(e), *beyond(learning, e).accuracy]
    height = max(drawn_values) - min(drawn_values)
    name_curves(fig, learning, ends, height)
    if exchange is not None and exchange.times is not None:
        _arrow(fig, exchange, exchange.rows * exchange.times, exchange.times)
    pad = max(height, 0.02) * 0.12
    fig.update_yaxes(
        range=[min(drawn_values) - pad, min(max(drawn_values) + 1.6 * pad, 1.04)], tickformat=".0%", zeroline=False
    )
    rows_axis(fig, learning, right)
    return fig


def _arrow(fig: go.Figure, exchange: Exchange, rows: float, times: float) -> None:
    fig.add_annotation(
        x=np.log10(rows),
        y=exchange.accuracy,
        ax=np.log10(exchange.rows),
        ay=exchange.accuracy,
        axref="x",
        ayref="y",
        text="",
        showarrow=True,
        arrowhead=2,
        arrowwidth=2.5,
        arrowcolor=QUIET,
    )
    fig.add_annotation(
        x=np.log10(exchange.rows * rows) / 2,
        y=exchange.accuracy,
        text=f"<b>{times:.2g} × the rows</b>",
        showarrow=False,
        yanchor="bottom",
        yshift=2,
    )
