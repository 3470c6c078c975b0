"""Where the budget went: width is cost; in sequence (a row of blocks) adds up, in parallel (a stack) does not."""

from __future__ import annotations

from fractions import Fraction

import plotly.graph_objects as go

from dpforest.plotting.style import PRIVATE, QUIET, escape, figure
from dpforest.privacy.rationals import text_down, text_up

MOST_PARTS = 120
MOST_LAYERS = 8


def budget_picture(ledger) -> go.Figure:
    """The ledger as blocks on the line from 0 to ε.

    Parameters
    ----------
    ledger : Ledger
        With a budget; entries in parallel are layers of the same width, entries in sequence stand in a row.
    """
    total = float(ledger.epsilon)
    fig = figure(150, hovermode="closest", barmode="overlay", margin={"l": 8, "r": 12, "t": 8, "b": 8})
    parts = list(dict.fromkeys(entry.part for entry in ledger.entries if entry.part))
    at: dict[str, Fraction] = {}  # how far each part of the table has spent
    for entry in ledger.entries:
        if entry.epsilon is None:
            continue
        start = at.get(entry.part, Fraction(0))
        n, place = max(len(parts), 1), parts.index(entry.part) if entry.part else 0
        low, high = (0.0, 1.0) if not entry.part else (place / n + 0.03, (place + 1) / n - 0.03)
        _entry(fig, entry, float(start), float(entry.epsilon), low, high)
        _name(fig, entry, float(start), float(entry.epsilon), (low + high) / 2, total)
        at[entry.part] = start + entry.epsilon
    start = ledger.spent
    if start < ledger.epsilon:
        fig.add_shape(
            type="rect", x0=float(start), x1=total, y0=0, y1=1, line={"color": QUIET, "width": 1, "dash": "dot"}
        )
        left = f"{text_down(ledger.epsilon - start, 3)}<br>not spent"
        fig.add_annotation(x=(float(start) + total) / 2, y=0.5, text=left, showarrow=False)
    fig.update_yaxes(visible=False, range=[-0.05, 1.05], fixedrange=True)
    ticks = [ledger.epsilon * k / 4 for k in range(5)]
    fig.update_xaxes(
        range=[-total * 0.01, total * 1.01], tickvals=[float(t) for t in ticks], ticktext=[text_up(t) for t in ticks],
        title="ε spent", showgrid=False, zeroline=False, fixedrange=True,
    )  # fmt: skip
    return fig


def _name(fig: go.Figure, entry, x0: float, width: float, y: float, total: float) -> None:
    """What a block is, where there is room to say it."""
    short = entry.what.split(",")[0].split(" of ")[0]
    if width > 0.14 * total:
        fig.add_annotation(
            x=x0 + width / 2, y=y, text=escape(short, int(90 * width / total)), showarrow=False,
            font={"color": "#FFFFFF", "size": 12}, bgcolor="rgba(0,60,100,0.75)", borderpad=2,
        )  # fmt: skip


def _entry(fig: go.Figure, entry, x0: float, width: float, low: float, high: float) -> None:
    in_turn = entry.composition == "sequential"
    n = min(entry.times, MOST_PARTS if in_turn else MOST_LAYERS)
    part, layer = (width / n, high - low) if in_turn else (width, (high - low) / n)
    gap_x, gap_y = (part * 0.12, 0.0) if in_turn else (0.0, layer * 0.16)
    text = (
        f"{escape(entry.what, 70)}<br>{escape(entry.mechanism)}<br>"
        f"{entry.times:,} × ε {entry.epsilon_each}{' × 2 rows that differ' if entry.rows == 2 else ''}, "
        + ("in sequence: they add up" if in_turn else "in parallel: a row meets only one")
        + f"<br>together ε {entry.epsilon}"
    )
    shown = range(n)
    fig.add_bar(
        x=[part - gap_x] * n,
        base=[x0 + i * part + gap_x / 2 if in_turn else x0 for i in shown],
        y=[(low + high) / 2 if in_turn else low + (i + 0.5) * layer for i in shown],
        width=layer - gap_y,
        orientation="h",
        marker={"color": PRIVATE, "opacity": 0.85, "line": {"width": 0}},
        text=[text] * n,
        textposition="none",
        hovertemplate="%{text}<extra></extra>",
    )
