"""Figures of the smallest ε that reaches a needed value: the curve of one forest, and all forests as dots."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go

from dpforest.evaluation.smallest_epsilon import Answer, Reach
from dpforest.plotting.compare import MeasureScale
from dpforest.plotting.curve import LEGEND, epsilon_axis, faint_color, horizontal_line
from dpforest.plotting.style import NEEDED, NON_PRIVATE, NOT_HELD, ON_PAGE_ONLY, PRIVATE, QUIET, figure
from dpforest.privacy.rationals import text_up


def reach_curve(
    reach: Reach,
    means: np.ndarray,
    needed: float,
    epsilon: float,
    scale: MeasureScale,
    *,
    certified: bool = True,
) -> go.Figure:
    """Draw the mean of a measure against ε, with two bands below the curve.

    The upper band shows the luck of the noise: nearly all releases are above its lower edge. The lower band shows the
    margin for the held-out rows. An ε is predicted to be sufficient if both bands are above the line of the needed
    value.

    Parameters
    ----------
    reach : Reach
        Prediction of the values that the releases of the forest reach at each ε.
    means : float array of shape (E,)
        Means over all simulated releases, at the ε of `reach`.
    needed : float
        The needed value.
    epsilon : float
        The selected ε.
    scale : MeasureScale
        Format, floor and ceiling of the measure.
    certified : bool
        Whether the ε are certified. If True, the curve is blue; otherwise it is vermillion.
    """
    eps, color = reach.epsilons, PRIVATE if certified else NOT_HELD
    nearly_all = np.minimum(reach.nearly_all, means)
    counted = np.minimum(reach.counted, nearly_all)
    has_margin = bool((reach.counted < reach.nearly_all).any())
    fig = figure(350, hovermode="x", margin={"l": 8, "r": 12, "t": 8, "b": 8})
    ends = [eps.min() * 0.92, eps.max() * 1.09]
    # The text below the chart explains the bands, so that the legend has only three lines.
    line = {"line": {"width": 0, "color": color}, "hoverinfo": "skip", "mode": "lines", "x": eps, "showlegend": False}
    text = [
        f"ε = {text_up(e)}: {scale.text(m)} on average<br>nearly every release: {scale.text(a)}"
        + (f"<br>less the margin: {scale.text(c)}" if has_margin else "")
        for e, m, a, c in zip(eps, means, nearly_all, counted, strict=True)
    ]
    fig.add_scatter(
        x=eps,
        y=means,
        mode="lines+markers",
        line={"color": color, "width": 2.5},
        marker={"size": 5},
        text=text,
        hovertemplate="%{text}<extra></extra>",
        name="mean of the releases",
        showlegend=False,
    )
    fig.add_scatter(y=nearly_all, fill="tonexty", fillcolor=faint_color(color, 0.34), name="luck of the noise", **line)
    if has_margin:
        name = "margin for the held-out rows"
        fig.add_scatter(y=counted, fill="tonexty", fillcolor=faint_color(color, 0.14), name=name, **line)
    horizontal_line(fig, ends, needed, NEEDED, "solid", f"needed {scale.text(needed)}")
    if scale.ceiling is not None:
        horizontal_line(fig, ends, scale.ceiling, NON_PRIVATE, "dash", scale.ceiling_text)
    if scale.floor is not None:
        horizontal_line(fig, ends, scale.floor, QUIET, "dot", scale.floor_text)
    fig.add_vline(x=epsilon, line={"color": QUIET, "width": 1, "dash": "dot"}, name=ON_PAGE_ONLY)
    line_values = [needed, *(v for v in (scale.floor, scale.ceiling) if v is not None)]
    low, high = min(*line_values, float(counted.min())), max(*line_values, float(means.max()))
    pad = max(high - low, 0.02) * 0.08
    tick_format = ".0%" if scale.is_share else None
    fig.update_yaxes(range=[low - pad, min(high + pad, 1.04)], tickformat=tick_format, zeroline=False, automargin=True)
    epsilon_axis(fig, eps.min(), eps.max(), "ε" if certified else "ε as claimed")
    fig.update_layout(showlegend=True, legend=LEGEND)
    return fig


def epsilon_by_forest(
    answers: Sequence[Answer],
    low: float,
    high: float,
    *,
    chosen: str,
    epsilon: float,
    scale: MeasureScale,
    certified: bool = True,
) -> go.Figure:
    """Draw for each forest a dot at the smallest ε that reaches the needed value, and a line from the dot to the right.

    The dot is filled if a check has confirmed this ε (`Answer.is_sure`).

    Parameters
    ----------
    answers : sequence of Answer
        Answer of each forest, in the order from top to bottom.
    low, high : float
        Smallest and largest ε of the grid.
    chosen : str
        The selected forest, whose ε is `epsilon`.
    scale : MeasureScale
        Format of the measure.
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
                text=f"no ε up to {text_up(high)} is shown to be enough",
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
        text = f"{answer.forest} at ε = {text_up(answer.epsilon)}: {scale.text(answer.value or 0)} on average"
        if answer.check and answer.check.releases:
            text += f"; {answer.check.reached} of {answer.check.releases} releases in the check reach it"
        fig.add_scatter(
            x=[answer.epsilon],
            y=[answer.forest],
            mode="markers+text",
            text=f" <b>{text_up(answer.epsilon)}</b> ",
            textposition=f"middle {'left' if answer.epsilon > 4 * low else 'right'}",
            hovertext=text,
            hovertemplate="%{hovertext}<extra></extra>",
            marker={
                "size": 13,
                "color": color if answer.is_sure else "rgba(0,0,0,0)",
                "line": {"width": 2.5, "color": color},
            },
        )
    fig.add_vline(x=epsilon, line={"color": QUIET, "width": 1, "dash": "dot"})
    epsilon_axis(fig, low, high, "ε")
    ticks = [e for e in (0.01, 0.1, 1, 10) if low <= e <= high]  # the names of forests leave little room
    fig.update_xaxes(title="ε" if certified else "ε as claimed", tickvals=ticks, ticktext=[f"{e:g}" for e in ticks])
    fig.update_yaxes(
        type="category",
        categoryorder="array",
        categoryarray=names,
        showgrid=False,
        range=[-0.6, len(names) - 0.2],
        automargin=True,
    )
    return fig
