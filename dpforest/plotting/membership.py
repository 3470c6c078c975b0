"""Figure of an attacker's success at guessing whether a record is in a table, with its upper limits."""

from __future__ import annotations

from collections.abc import Sequence
from math import log10

import plotly.graph_objects as go

from dpforest.plotting.style import NOT_HELD, PRIVATE, QUIET, figure, percent
from dpforest.risk.rounding import percent_up
from dpforest.risk.success_rate import AttackEstimate

FIRST = 100  # least number of guesses after which a share is drawn


def success_chart(
    looks: Sequence[AttackEstimate],
    *,
    limit: float,
    best: float | None = None,
    claimed: float | None = None,
    most: int = 0,
) -> go.Figure:
    """Draw the share of right guesses of an attack against the number of guesses, with its confidence interval.

    Parameters
    ----------
    looks : sequence of AttackEstimate
        Share of right guesses after rising numbers of guesses.
    limit : float
        Largest expected share of any attacker on any record of any table; 1 if there is no limit.
    best : float, optional
        Expected share of the best attacker on this record.
    claimed : float, optional
        The limit that a published forest claims, if it does not hold. The line of this limit turns vermillion once the
        lower end of the confidence interval exceeds the limit.
    most : int
        The axis reaches at least to this number of guesses.
    """
    drawn = [look for look in looks if look.trials >= FIRST] or list(looks)
    exceeded = bool(claimed is not None and drawn and drawn[-1].low > claimed)
    top = max(
        0.505, best or 0, limit if claimed is None else claimed, *(look.share for look in drawn[len(drawn) // 2 :])
    )
    span = top - 0.5
    fig = figure(340, hovermode="closest", margin={"l": 8, "r": 12, "t": 12, "b": 8})
    color = PRIVATE if claimed is None else NOT_HELD if exceeded else QUIET
    x = [look.trials for look in drawn]
    band = {"line": {"width": 0}, "hoverinfo": "skip", "mode": "lines", "x": x}
    fig.add_scatter(y=[look.high for look in drawn], **band)
    fig.add_scatter(y=[look.low for look in drawn], fill="tonexty", fillcolor=_faint(color), **band)
    fig.add_scatter(
        x=x,
        y=[look.share for look in drawn],
        mode="lines+markers",
        name="right",
        line={"color": color, "width": 3},
        marker={"size": 7, "color": color},
        text=[
            f"{look.trials:,} guesses: {percent(look.share, 2)} right<br>truly {percent(look.low, 2)} to "
            f"{percent(look.high, 2)}"
            for look in drawn
        ],
        hovertemplate="%{text}<extra></extra>",
    )
    _level(fig, 0.5, QUIET, "dot", "a coin: 50 %", "top", 0)
    digits = 1 if span > 0.03 else 2
    if claimed is None:
        near = best is not None and abs(best - limit) < 0.06 * span
        words = "the limit, and the best on this record" if near else "the limit for every record"
        _level(fig, limit, QUIET, "longdash", f"<b>{words}: {percent_up(limit)}</b>", "bottom", 0)
    else:
        near, below = False, "top" if best is not None and best > claimed else "bottom"
        words = "claimed limit, exceeded" if exceeded else "claimed limit"
        line = NOT_HELD if exceeded else QUIET
        _level(fig, claimed, line, "longdash", f"<b>{words}: {percent_up(claimed)}</b>", below, 0)
    if best is not None and not near:  # the name is at the right, where the curve is stable
        words = f"best attacker on this record: {percent(best, digits)}"
        crowded = best - 0.5 < 0.2 * span or (claimed is not None and best > claimed)
        _level(fig, best, color, "dash", words, "bottom" if crowded else "top", 1)
    right = max(most, x[-1] if x else 0, 10 * FIRST)
    fig.update_xaxes(
        type="log",
        title="guesses",
        showgrid=False,
        zeroline=False,
        range=[log10(0.8 * FIRST), log10(1.3 * right)],
        tickvals=[10**e for e in range(2, 7)],
        ticktext=["100", "1,000", "10,000", "100,000", "1 million"],
    )
    fig.update_yaxes(
        title="right so far",
        range=[0.5 - 0.4 * span, top + 0.25 * span],
        zeroline=False,
        tickformat=".0%" if span > 0.05 else ".1%" if span > 0.004 else ".2%",
    )
    return fig


def _level(fig: go.Figure, y: float, color: str, dash: str, text: str, anchor: str, side: int) -> None:
    """Draw a horizontal line with its name at the left (0) or right (1) end."""
    fig.add_hline(y=y, line={"color": color, "width": 2, "dash": dash})
    fig.add_annotation(
        x=side,
        xref="paper",
        y=y,
        text=text,
        showarrow=False,
        xanchor="right" if side else "left",
        yanchor=anchor,
        xshift=-4 if side else 4,
        yshift=0 if not side else 5 if anchor == "bottom" else -5,
    )


def _faint(color: str) -> str:
    return f"rgba({int(color[1:3], 16)},{int(color[3:5], 16)},{int(color[5:], 16)},0.18)"
