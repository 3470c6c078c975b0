"""Figures of the meaning of ε: the errors of an attacker, a hundred guesses, and beliefs before and after a release.

An attacker sees a release and answers a question about a row, such as whether the row is in the table. A miss is a
wrong "no", and a false alarm is a wrong "yes".
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go

from dpforest.plotting.style import FOLLOWED, NON_PRIVATE, PRIVATE, QUIET, escape, figure
from dpforest.risk.guarantee import Guarantee
from dpforest.risk.rounding import percent_down, percent_up
from dpforest.risk.tradeoff import DistinguishingGame

SIDE = 10  # number of rows, and of icons in each row
_HEIGHT = 280
_FRAME = {"margin": {"l": 8, "r": 14, "t": 14, "b": 8}, "hovermode": "closest"}
_SHARES = {"tickvals": [0, 0.25, 0.5, 0.75, 1], "ticktext": ["0", "25", "50", "75", "100 %"], "zeroline": False}


def trade_off_curve(game: DistinguishingGame, attackers: Sequence[tuple[object, float, float]] = ()) -> go.Figure:
    """Draw the least rate of misses against the rate of false alarms, with the region that no attacker reaches.

    Parameters
    ----------
    game : DistinguishingGame
        The guarantee and the attacker's question.
    attackers : sequence of (name, false alarm rate, miss rate)
        Attacks to mark as points.
    """
    rate = np.unique(np.r_[np.linspace(0, 1, 101), game.kinks()])
    least = game.misses(rate)
    fig = figure(_HEIGHT, **_FRAME)
    fig.add_scatter(
        x=[0, 1],
        y=[1, 0],
        mode="lines",
        line={"color": QUIET, "width": 1.5, "dash": "dot"},
        hoverinfo="skip",
        name="guessing",
    )
    fig.add_annotation(x=0.72, y=0.28, text="guessing", showarrow=False, xanchor="left", yanchor="bottom")
    fig.add_scatter(
        x=[*rate, 0, 0],
        y=[*least, 0, least[0]],
        mode="lines",
        line={"width": 0},
        fill="toself",
        hoverinfo="skip",
        fillcolor="rgba(138,146,156,0.28)",
        name="out of reach",
    )
    hover = [
        f"false alarms {percent_up(a)}:<br>misses at least {percent_down(b)}" for a, b in zip(rate, least, strict=True)
    ]
    fig.add_scatter(
        x=rate,
        y=least,
        mode="lines",
        line={"color": _color(game.guarantee), "width": 3},
        text=hover,
        name="limit",
        hovertemplate="%{text}<extra></extra>",
    )
    corner = float(rate[np.argmin(np.abs(rate - least))])
    if corner > 0.18:
        fig.add_scatter(
            x=[0.03],
            y=[0.04],
            text=["no attacker<br>gets in here"],
            mode="text",
            textposition="top right",
            hoverinfo="skip",
            name="words",
        )
    for name, alarm, miss in attackers:
        text = f"{escape(name, 40)}<br>false alarms {100 * alarm:.1f} %, misses {100 * miss:.1f} %"
        fig.add_scatter(
            x=[alarm],
            y=[miss],
            mode="markers",
            text=[text],
            hovertemplate="%{text}<extra></extra>",
            name="attack",
            marker={"size": 13, "symbol": "diamond", "color": FOLLOWED, "line": {"color": "white", "width": 1.5}},
        )
        side = ("left", 12) if alarm < 0.6 else ("right", -12)
        fig.add_annotation(
            x=alarm,
            y=miss,
            text=f"<b>{escape(name, 24)}</b>",
            showarrow=False,
            xanchor=side[0],
            xshift=side[1],
            yanchor="bottom",
        )
    fig.update_xaxes(title="false alarms", range=[-0.01, 1.02], showgrid=False, **_SHARES)
    fig.update_yaxes(title="misses", range=[-0.015, 1.04], **_SHARES)
    return fig


def icon_grid(game: DistinguishingGame, prior: float = 0.5) -> go.Figure:
    """Draw a hundred dots, one for each row or person, and color as many as an attacker can be right about.

    Parameters
    ----------
    game : DistinguishingGame
        The guarantee and the attacker's question.
    prior : float
        Attacker's belief that the answer for each of them is "yes", before the release, in (0, 1).
    """
    guesses = game.hundred_guesses(prior)
    color = _color(game.guarantee)
    fig = figure(_HEIGHT, **_FRAME)
    start = 0
    for key, n, name, meaning, fill, outline in (
        (0.0, guesses.without, "right<br>anyway", "right without the release too", QUIET, QUIET),
        (3.6, guesses.additional_right, "more<br>at most", "right because of the release, at most", color, color),
        (7.3, guesses.wrong, "wrong<br>at least", "wrong at least", "rgba(0,0,0,0)", QUIET),
    ):
        place = np.arange(start, start + n)
        marker = {"symbol": "circle", "size": 14, "color": fill, "line": {"color": outline, "width": 1.5}}
        fig.add_scatter(
            x=place % SIDE,
            y=-(place // SIDE),
            mode="markers",
            marker=marker,
            name=meaning,
            hovertemplate=f"{n} of 100: {meaning}<extra></extra>",
        )
        if n:  # the key is inside the figure, because a narrow column has no space for a legend
            fig.add_scatter(
                x=[key],
                y=[-SIDE - 0.6],
                mode="markers+text",
                marker=marker,
                text=[f" {n} {name}"],
                textposition="middle right",
                cliponaxis=False,
                hoverinfo="skip",
                name="key",
            )
        start += n
    fig.update_xaxes(visible=False, range=[-0.7, SIDE - 0.3], constrain="domain")
    fig.update_yaxes(visible=False, range=[-SIDE - 1.4, 0.7], scaleanchor="x", constrain="domain")
    return fig


def posterior_curve(game: DistinguishingGame, prior: float = 0.5, *, failure: float = 0.0) -> go.Figure | None:
    """Draw bounds on an attacker's belief after a release against the belief before the release.

    Parameters
    ----------
    game : DistinguishingGame
        The guarantee and the attacker's question.
    prior : float
        The marked belief before the release, in (0, 1).
    failure : float
        Probability with which each bound may fail. It has no effect if δ is 0.

    Returns
    -------
    Figure or None
        None if 0 < δ and `failure` ≤ δ, because no bound holds with such a small failure probability.
    """
    bound = game.grouped
    if bound.kind == "approximate" and bound.delta >= failure:
        return None
    before = np.r_[np.geomspace(1e-6, 0.02, 30), np.linspace(0.03, 0.97, 95), 1 - np.geomspace(0.02, 1e-6, 30)]
    low, high = (np.broadcast_to(b, before.shape) for b in game.posterior(before, failure=failure))
    lowest, highest = game.posterior(prior, failure=failure)
    color = _color(game.guarantee)
    fig = figure(_HEIGHT, **_FRAME)
    hover = [
        f"before: {100 * p:.3g} %<br>after: {percent_down(a)} to {percent_up(b)}"
        for p, a, b in zip(before, low, high, strict=True)
    ]
    band = {"mode": "lines", "line": {"color": color, "width": 2}, "x": before, "text": hover}
    fig.add_scatter(y=high, hovertemplate="%{text}<extra></extra>", name="most", **band)
    fig.add_scatter(
        y=low, fill="tonexty", fillcolor=_faint(color), hovertemplate="%{text}<extra></extra>", name="least", **band
    )
    fig.add_scatter(
        x=[0, 1],
        y=[0, 1],
        mode="lines",
        line={"color": QUIET, "width": 1.5, "dash": "dot"},
        hoverinfo="skip",
        name="nothing learned",
    )
    fig.add_scatter(
        x=[prior, prior, prior],
        y=[lowest, prior, highest],
        mode="lines+markers",
        hoverinfo="skip",
        name="chosen",
        line={"color": color, "width": 4},
        marker={"size": [10, 7, 10], "color": [color, QUIET, color], "line": {"color": "white", "width": 1.5}},
    )
    for y, text, anchor, side in (  # the top left and the bottom right corner of the figure have space for texts
        (highest, f"<b>at most {percent_up(highest)}</b>", "bottom", ("left", 8) if prior < 0.4 else ("right", -8)),
        (lowest, f"at least {percent_down(lowest)}", "top", ("right", 24) if prior > 0.6 else ("left", 8)),
    ):
        fig.add_annotation(
            x=prior,
            y=y,
            text=text,
            showarrow=False,
            xanchor=side[0],
            xshift=side[1],
            yanchor=anchor,
            yshift=3 if anchor == "bottom" else -3,
        )
    fig.update_xaxes(title="believed before", range=[-0.02, 1.02], showgrid=False, **_SHARES)
    fig.update_yaxes(title="believed after", range=[-0.1, 1.1], **_SHARES)
    return fig


def _color(guarantee: Guarantee) -> str:
    return NON_PRIVATE if guarantee.kind == "none" else PRIVATE


def _faint(color: str) -> str:
    return f"rgba({int(color[1:3], 16)},{int(color[3:5], 16)},{int(color[5:], 16)},0.18)"
