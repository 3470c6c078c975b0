"""Figures of steps 6 and 7 of the lesson: an experiment refutes a published promise, and noise stops an attack."""

from __future__ import annotations

import math
from collections.abc import Sequence

import plotly.graph_objects as go

from dpforest.plotting.lesson import lesson_figure, note, on_places, private_line, question_mark, ring
from dpforest.plotting.style import NOT_HELD, PRIVATE, QUIET, percent


def promise_counted(
    false_alarms: float,
    counted: dict[str, tuple[tuple[float, float], tuple[float, float], tuple[float, float]]] | None,
) -> go.Figure:
    """Draw the share of releases with label "class 2" for table A against the share for the neighboring table B.

    A line shows the limit: with ε = 1, the share for A is at most e times the share for B.

    Parameters
    ----------
    false_alarms : float
        Exact share for table B, which the figure shows before the answer.
    counted : dict or None
        For each rule ("paper" and "own"), a triple of pairs: the counted shares for B and A, the 99.9 % interval for B,
        and the 99.9 % interval for A. None hides this answer.
    """
    fig = lesson_figure(showlegend=counted is not None)
    top = 0.12
    if counted is None:
        fig.add_vline(x=false_alarms, line={"color": QUIET, "width": 2, "dash": "dot"})
        question_mark(fig, false_alarms, 0.15)
        note(fig, false_alarms, 0.0, f"{percent(false_alarms)} with B", xanchor="left", yanchor="bottom", xshift=8)
    else:
        fig.add_scatter(
            x=[0, top],
            y=[0, math.e * top],
            mode="lines",
            name="limit at ε = 1",
            line={"color": QUIET, "width": 3, "dash": "longdash"},
        )
        styles = {"paper": ("rule of 2017", NOT_HELD, "triangle-up"), "own": ("permute-and-flip", PRIVATE, "circle")}
        for rule, ((x, y), (x_low, x_high), (y_low, y_high)) in counted.items():
            name, color, symbol = styles[rule]
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
    epsilons: Sequence[float], right: Sequence[float], limit: Sequence[float], selected: str, *, is_shown: bool
) -> go.Figure:
    """Draw against ε the number of students, out of thirty, whose secret an attack reconstructs correctly.

    A line shows the result of a fair coin, and another line the limit of any attacker.

    Parameters
    ----------
    epsilons : sequence of float
        Budgets on the x-axis, rising.
    right, limit : sequence of float
        Mean number of secrets that the attack reconstructs correctly, and limit for any attacker. Both have one number
        for each ε, and a last number for a release of exact counts.
    selected : str
        The selected ε as text, or "exact".
    is_shown : bool
        False hides the answer.
    """
    names = [*(f"{e:g}" for e in epsilons), "exact"]
    places = list(range(len(names)))
    fig = lesson_figure(showlegend=is_shown)
    fig.add_hline(y=15, line={"color": QUIET, "width": 2, "dash": "dot"})
    note(fig, 1, 15, "a coin: 15", xref="paper", xanchor="right", yanchor="top")
    if is_shown:
        fig.add_scatter(
            x=places, y=list(limit), mode="lines", name="limit for any attacker", line={"color": QUIET, "width": 4}
        )
        private_line(fig, places, right, "this attacker")
    else:
        fig.add_scatter(x=places[-1:], y=list(right[-1:]), mode="markers", marker={"size": 14, "color": PRIVATE})
        note(fig, places[-1], right[-1], "30", xanchor="right", xshift=-14)
        question_mark(fig, names.index("1"), 22)
    if is_shown:
        i = names.index(selected)
        ring(fig, i, right[i])
        note(fig, i, right[i], f"<b>{right[i]:.1f}</b>", yanchor="bottom", yshift=14)
    on_places(fig, names, "ε of all ten trees")
    fig.update_yaxes(title_text="rebuilt of 30", range=[12, 33], tickvals=[15, 20, 25, 30])
    return fig
