"""Figure of an attacker's success at guessing whether a record is in a table, with its upper limits."""

from __future__ import annotations

from collections.abc import Sequence
from math import log10

import plotly.graph_objects as go

from dpforest.plotting.style import NOT_HELD, PRIVATE, QUIET, figure, percent
from dpforest.risk.rounding import percent_up
from dpforest.risk.success_rate import AttackEstimate

MIN_TRIALS = 100  # an estimate after fewer guesses is drawn only if there are no others


def success_chart(
    estimates: Sequence[AttackEstimate],
    *,
    limit: float,
    best: float | None = None,
    claimed: float | None = None,
    axis_end: int = 0,
) -> go.Figure:
    """Draw the share of right guesses of an attack against the number of guesses, with its confidence interval.

    Parameters
    ----------
    estimates : sequence of AttackEstimate
        Share of right guesses after rising numbers of guesses.
    limit : float
        Largest expected share of any attacker on any record of any table; 1 if there is no limit.
    best : float, optional
        Expected share of the best attacker on this record.
    claimed : float, optional
        For a forest that is not certified: the success rate that follows from its claimed ε. The chart draws a line at
        this rate instead of `limit`. Line and curve turn vermillion once the confidence interval is above this rate.
    axis_end : int
        Smallest number of guesses at which the horizontal axis may end.
    """
    drawn_estimates = [estimate for estimate in estimates if estimate.trials >= MIN_TRIALS] or list(estimates)
    is_exceeded = bool(claimed is not None and drawn_estimates and drawn_estimates[-1].low > claimed)
    top = max(
        0.505,
        best or 0,
        limit if claimed is None else claimed,
        *(estimate.share for estimate in drawn_estimates[len(drawn_estimates) // 2 :]),
    )
    span = top - 0.5
    fig = figure(340, hovermode="closest", margin={"l": 8, "r": 12, "t": 12, "b": 8})
    color = PRIVATE if claimed is None else NOT_HELD if is_exceeded else QUIET
    x = [estimate.trials for estimate in drawn_estimates]
    band = {"line": {"width": 0}, "hoverinfo": "skip", "mode": "lines", "x": x}
    fig.add_scatter(y=[estimate.high for estimate in drawn_estimates], **band)
    fig.add_scatter(y=[estimate.low for estimate in drawn_estimates], fill="tonexty", fillcolor=_faint(color), **band)
    fig.add_scatter(
        x=x,
        y=[estimate.share for estimate in drawn_estimates],
        mode="lines+markers",
        name="right",
        line={"color": color, "width": 3},
        marker={"size": 7, "color": color},
        text=[
            f"{estimate.trials:,} guesses: {percent(estimate.share, 2)} right<br>99 % confidence interval: "
            f"{percent(estimate.low, 2)} to {percent(estimate.high, 2)}"
            for estimate in drawn_estimates
        ],
        hovertemplate="%{text}<extra></extra>",
    )
    _named_line(fig, 0.5, QUIET, "dot", "a coin: 50 %", "top", 0)
    digits = 1 if span > 0.03 else 2
    if claimed is None:
        is_near_limit = best is not None and abs(best - limit) < 0.06 * span
        words = "the limit, and the best on this record" if is_near_limit else "the limit for every record"
        _named_line(fig, limit, QUIET, "longdash", f"<b>{words}: {percent_up(limit)}</b>", "bottom", 0)
    else:
        is_near_limit, anchor = False, "top" if best is not None and best > claimed else "bottom"
        words = "claimed limit, exceeded" if is_exceeded else "claimed limit"
        line = NOT_HELD if is_exceeded else QUIET
        _named_line(fig, claimed, line, "longdash", f"<b>{words}: {percent_up(claimed)}</b>", anchor, 0)
    if best is not None and not is_near_limit:  # the name is at the right, where the curve is stable
        words = f"best attacker on this record: {percent(best, digits)}"
        is_low = best - 0.5 < 0.2 * span or (claimed is not None and best > claimed)
        _named_line(fig, best, color, "dash", words, "bottom" if is_low else "top", 1)
    right = max(axis_end, x[-1] if x else 0, 10 * MIN_TRIALS)
    fig.update_xaxes(
        type="log",
        title="guesses",
        showgrid=False,
        zeroline=False,
        range=[log10(0.8 * MIN_TRIALS), log10(1.3 * right)],
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


def _named_line(fig: go.Figure, y: float, color: str, dash: str, text: str, anchor: str, side: int) -> None:
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
