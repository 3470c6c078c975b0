"""Figure of the smallest sufficient ε of each forest, as dots on one axis."""

from __future__ import annotations

from collections.abc import Sequence

import plotly.graph_objects as go

from dpforest.evaluation.smallest_epsilon import Answer
from dpforest.plotting.curve import epsilon_axis
from dpforest.plotting.style import NOT_HELD, PRIVATE, QUIET, figure, percent
from dpforest.privacy.rationals import text_up


def smallest_epsilon(
    answers: Sequence[Answer], low: float, high: float, *, chosen: str, epsilon: float, certified: bool = True
) -> go.Figure:
    """Draw for each forest a dot at the smallest ε that reaches the required accuracy, and a line to the right of it.

    Parameters
    ----------
    low, high : float
        Ends of the grid of ε.
    chosen : str
        The selected forest, whose ε is `epsilon`.
    """
    fig = figure(70 + 31 * len(answers), margin={"l": 8, "r": 12, "t": 8, "b": 8})
    names = [a.forest for a in answers][::-1]
    for answer in answers:
        color = (PRIVATE if certified else NOT_HELD) if answer.forest == chosen else QUIET
        if answer.epsilon is None:
            fig.add_annotation(
                x=1,
                xref="paper",
                y=answer.forest,
                xanchor="right",
                showarrow=False,
                text=f"not up to ε = {text_up(high)}: {answer.reached} of {answer.releases} at best",
            )
            continue
        fig.add_scatter(
            x=[answer.epsilon, high * 1.09],
            y=[answer.forest] * 2,
            mode="lines",
            hoverinfo="skip",
            line={"color": color, "width": 5},
            opacity=0.35,
        )
        text = f"{answer.forest} at ε = {text_up(answer.epsilon)}: {percent(answer.accuracy or 0)} on average"
        fig.add_scatter(
            x=[answer.epsilon],
            y=[answer.forest],
            mode="markers+text",
            text=f" <b>{text_up(answer.epsilon)}</b> ",
            textposition=f"middle {'left' if answer.epsilon > 4 * low else 'right'}",
            hovertext=f"{text}; {answer.reached} of {answer.releases} releases reach it",
            hovertemplate="%{hovertext}<extra></extra>",
            marker={
                "size": 13,
                "color": color if answer.is_sure else "rgba(0,0,0,0)",
                "line": {"width": 2.5, "color": color},
            },
        )
    fig.add_vline(x=epsilon, line={"color": QUIET, "width": 1, "dash": "dot"})
    epsilon_axis(fig, low, high, "ε" if certified else "ε as claimed")
    fig.update_yaxes(
        type="category",
        categoryorder="array",
        categoryarray=names,
        showgrid=False,
        range=[-0.6, len(names) - 0.2],
        automargin=True,
    )
    return fig
