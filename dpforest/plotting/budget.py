"""Figure of the spent budget, with a block for each query of a fit. A block is as wide as its cost.

Blocks of sequential queries, whose costs add up, form a row. Parallel queries read disjoint parts of the table, so
together they cost as much as one of them. Their blocks form a stack.
"""

from __future__ import annotations

from fractions import Fraction

import plotly.graph_objects as go

from dpforest.plotting.style import PRIVATE, QUIET, escape, figure
from dpforest.privacy.loss import PURE, PrivacyLoss
from dpforest.privacy.rationals import text_down, text_up

MOST_PARTS = 120  # largest number of drawn blocks of an entry in a row
MOST_LAYERS = 8  # largest number of drawn blocks of an entry in a stack


def budget_picture(ledger) -> go.Figure:
    """Draw the entries of a ledger as blocks on an axis from 0 to ε, or to the total μ² if costs add up in μ².

    Parameters
    ----------
    ledger : Ledger
        Ledger with a budget.
    """
    budget = ledger.budget
    total = float(budget.amount)
    fig = figure(150, hovermode="closest", barmode="overlay", margin={"l": 8, "r": 12, "t": 8, "b": 8})
    parts = list(dict.fromkeys(entry.part for entry in ledger.entries if entry.part))
    spent: dict[str, Fraction] = {}  # amount that each part of the table has spent so far
    for entry in ledger.entries:
        if entry.loss is None:
            continue
        start, width = spent.get(entry.part, Fraction(0)), entry.loss.amount
        n, place = max(len(parts), 1), parts.index(entry.part) if entry.part else 0
        low, high = (0.0, 1.0) if not entry.part else (place / n + 0.03, (place + 1) / n - 0.03)
        _entry(fig, entry, float(start), float(width), low, high, _cost(entry, budget))
        _name(fig, entry, float(start), float(width), (low + high) / 2, total)
        spent[entry.part] = start + width
    start = ledger.loss.amount
    if start < budget.amount:
        fig.add_shape(
            type="rect", x0=float(start), x1=total, y0=0, y1=1, line={"color": QUIET, "width": 1, "dash": "dot"}
        )
        unspent = f"{_unspent_text(budget.amount - start, budget)}<br>not spent"
        fig.add_annotation(x=(float(start) + total) / 2, y=0.5, text=unspent, showarrow=False)
    fig.update_yaxes(visible=False, range=[-0.05, 1.05], fixedrange=True)
    ticks = [PrivacyLoss(budget.kind, budget.amount * k / 4) for k in range(5)]
    pure = budget.kind == PURE
    fig.update_xaxes(
        range=[-total * 0.01, total * 1.01],
        tickvals=[float(t.amount) for t in ticks],
        ticktext=[text_up(t.amount) if pure else share_of(t, budget) for t in ticks],
        title="ε spent" if pure else "share of μ² spent",
        showgrid=False,
        zeroline=False,
        fixedrange=True,
    )
    return fig


def share_of(loss: PrivacyLoss, budget: PrivacyLoss) -> str:
    """Return the share of a budget that a loss uses up, as a percentage rounded up.

    >>> share_of(PrivacyLoss.gaussian(Fraction(1, 3)), PrivacyLoss.gaussian(1))
    '33.4 %'
    """
    return f"{text_up(100 * loss.amount / budget.amount, 3)} %"


def _unspent_text(amount: Fraction, budget: PrivacyLoss) -> str:
    """Return the unspent amount as text, rounded down: in ε, or as a percentage of a budget in μ²."""
    return text_down(amount, 3) if budget.kind == PURE else f"{text_down(100 * amount / budget.amount, 3)} %"


def _cost(entry, budget: PrivacyLoss) -> tuple[str, str]:
    """Return two texts: the cost of one answer of an entry, and the cost of all its answers."""
    if budget.kind == PURE:
        return f"ε {entry.epsilon_each}{' × 2 rows that differ' if entry.rows == 2 else ''}", f"ε {entry.epsilon}"
    factor = f" × {entry.rows**2}, as {entry.rows} rows differ" if entry.rows > 1 else ""
    return f"μ² {text_up(entry.each.amount, 4)}{factor}", f"{share_of(entry.loss, budget)} of μ²"


def _name(fig: go.Figure, entry, x0: float, width: float, y: float, total: float) -> None:
    """Write the name of a block if there is space for it."""
    short = entry.what.split(",")[0].split(" of ")[0]
    if width > 0.14 * total:
        fig.add_annotation(
            x=x0 + width / 2,
            y=y,
            text=escape(short, int(90 * width / total)),
            showarrow=False,
            font={"color": "#FFFFFF"},
            bgcolor="rgba(0,60,100,0.75)",
            borderpad=2,
        )


def _entry(fig: go.Figure, entry, x0: float, width: float, low: float, high: float, cost: tuple[str, str]) -> None:
    """Draw the blocks of an entry between the heights `low` and `high`. `cost` has the texts of `_cost`."""
    is_sequential = entry.composition == "sequential"
    n = min(entry.times, MOST_PARTS if is_sequential else MOST_LAYERS)
    part, layer = (width / n, high - low) if is_sequential else (width, (high - low) / n)
    gap_x, gap_y = (part * 0.12, 0.0) if is_sequential else (0.0, layer * 0.16)
    cost_of_one, cost_of_all = cost
    text = (
        f"{escape(entry.what, 70)}<br>{escape(entry.mechanism)}<br>"
        f"{entry.times:,} × {cost_of_one}, "
        + ("in sequence: they add up" if is_sequential else "in parallel: a row meets only one")
        + f"<br>together {cost_of_all}"
    )
    indices = range(n)
    fig.add_bar(
        x=[part - gap_x] * n,
        base=[x0 + i * part + gap_x / 2 if is_sequential else x0 for i in indices],
        y=[(low + high) / 2 if is_sequential else low + (i + 0.5) * layer for i in indices],
        width=layer - gap_y,
        orientation="h",
        marker={"color": PRIVATE, "opacity": 0.85, "line": {"width": 0}},
        text=[text] * n,
        textposition="none",
        hovertemplate="%{text}<extra></extra>",
    )
