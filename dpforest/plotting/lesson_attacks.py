"""Figures of the lesson, steps 6 and 7: an experiment refutes a published promise, and noise stops an attack."""

from __future__ import annotations

import math
from collections.abc import Sequence

import plotly.graph_objects as go

from dpforest.plotting.lesson import lesson_figure, note, on_places, private_line, ring, unknown
from dpforest.plotting.style import NOT_HELD, PRIVATE, QUIET, percent


def promise_counted(
    false_alarms: float,
    counted: dict[str, tuple[tuple[float, float], tuple[float, float], tuple[float, float]]] | None,
) -> go.Figure:
    """Draw the share of releases with "class 2" for table A against the share for table B, with the limit as a line.

    Parameters
    ----------
    false_alarms : float
        Share for table B by the formula, which the figure shows before the answer.
    counted : dict or None
        For each rule ("paper" and "own"), the counted shares for B and A, and the 99.9 % intervals of both shares. If
        None, the figure does not show them.
    """
    fig = lesson_figure(showlegend=counted is not None)
    top = 0.12
    if counted is None:
        fig.add_vline(x=false_alarms, line={"color": QUIET, "width": 2, "dash": "dot"})
        unknown(fig, false_alarms, 0.15)
        note(fig, false_alarms, 0.0, f"{percent(false_alarms)} with B", xanchor="left", yanchor="bottom", xshift=8)
    else:
        fig.add_scatter(
            x=[0, top],
            y=[0, math.e * top],
            mode="lines",
            name="limit at ε = 1",
            line={"color": QUIET, "width": 3, "dash": "longdash"},
        )
        looks = {"paper": ("rule of 2017", NOT_HELD, "triangle-up"), "own": ("permute-and-flip", PRIVATE, "circle")}
        for rule, ((x, y), (x_low, x_high), (y_low, y_high)) in counted.items():
            name, color, symbol = looks[rule]
            fig.add_scatter(
                x=[x],
                y=[y],
                mode="markers",
                name=name,
                marker={"size": 20, "symbol": symbol, "color": color},
                error_x={"array": [x_high - x], "arrayminus": [x - x_low], "color": color, "thickness": 2},
                error_y={"array": [y_high - y], "arrayminus": [y - y_low], "color": color, "thickness": 2},
            )
    fig.update_xaxes(title_text="class 2 with table B", range=[0, top], tickformat=".0%", tickvals=[0, 0.05, 0.1])
    fig.update_yaxes(title_text="with table A", range=[0, 0.4], tickformat=".0%", tickvals=[0, 0.1, 0.2, 0.3, 0.4])
    return fig


def rebuilt_by_epsilon(
    epsilons: Sequence[float], right: Sequence[float], limit: Sequence[float], at: str, *, shown: bool
) -> go.Figure:
    """Draw the number of reconstructed students against ε, with lines for a fair coin and the limit of any attacker.

    Parameters
    ----------
    epsilons : sequence of float
        Budgets on the x-axis, rising.
    right, limit : sequence of float
        Numbers of students out of thirty: one for each ε, and the last one for exact counts.
    at : str
        The selected ε, or "exact".
    """
    names = [*(f"{e:g}" for e in epsilons), "exact"]
    places = list(range(len(names)))
    fig = lesson_figure(showlegend=shown)
    fig.add_hline(y=15, line={"color": QUIET, "width": 2, "dash": "dot"})
    note(fig, 1, 15, "a coin: 15", xref="paper", xanchor="right", yanchor="top")
    if shown:
        fig.add_scatter(
            x=places, y=list(limit), mode="lines", name="limit for any attacker", line={"color": QUIET, "width": 4}
        )
        private_line(fig, places, right, "this attacker")
    else:
        fig.add_scatter(x=places[-1:], y=list(right[-1:]), mode="markers", marker={"size": 14, "color": PRIVATE})
        note(fig, places[-1], right[-1], "30", xanchor="right", xshift=-14)
        unknown(fig, names.index("1"), 22)
    if shown:
        i = names.index(at)
        ring(fig, i, right[i])
        note(fig, i, right[i], f"<b>{right[i]:.1f}</b>", yanchor="bottom", yshift=14)
    on_places(fig, names, "ε of all ten trees")
    fig.update_yaxes(title_text="rebuilt of 30", range=[12, 33], tickvals=[15, 20, 25, 30])
    return fig
