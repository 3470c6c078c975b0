"""Figures of a rate, such as accuracy, by group of the rows: against ε, and at one ε with intervals."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from dpforest.plotting.compare import COLORS, MARKERS
from dpforest.plotting.curve import LEGEND, epsilon_axis
from dpforest.plotting.style import QUIET, escape, figure, percent
from dpforest.privacy.rationals import text_up

_MOST_COLORED: Final = 8  # largest number of groups with a color and a name
_LONGEST: Final = 24  # longer names of groups are cut to this number of characters


def rate_curves(epsilons: np.ndarray, values: np.ndarray, names: Sequence[str], epsilon: float) -> go.Figure:
    """Draw a rate of each group against ε.

    Parameters
    ----------
    epsilons : float array of shape (E,)
        The ε of the releases, rising.
    values : float array of shape (E, n_groups)
        Rate of each group at each ε, as the mean over simulated releases.
    names : sequence of str
        Names of the groups.
    epsilon : float
        The selected ε, which is among `epsilons`.
    """
    fig = figure(380, hovermode="closest", margin={"l": 8, "r": 12, "t": 8, "b": 8})
    colored = _colored_groups(values[list(epsilons).index(epsilon)])
    for group in sorted(range(len(names)), key=lambda group: group in colored):
        place = colored.index(group) if group in colored else -1
        name = escape(names[group], _LONGEST)
        fig.add_scatter(
            x=epsilons,
            y=values[:, group],
            name=name,
            showlegend=place >= 0,
            mode="lines+markers" if place >= 0 else "lines",
            opacity=1 if place >= 0 else 0.4,
            line={"color": COLORS[place] if place >= 0 else QUIET, "width": 2.2 if place >= 0 else 1},
            marker={"size": 6, "symbol": MARKERS[place]},
            text=[
                f"<b>{name}</b><br>ε = {text_up(e)}: {percent(value)}"
                for e, value in zip(epsilons, values[:, group], strict=True)
            ],
            hovertemplate="%{text}<extra></extra>",
        )
    fig.add_vline(x=epsilon, line={"color": QUIET, "width": 1, "dash": "dot"})
    epsilon_axis(fig, epsilons.min(), epsilons.max(), "ε")
    fig.update_yaxes(tickformat=".0%", zeroline=False, automargin=True)
    fig.update_layout(showlegend=True, legend=LEGEND)
    return fig


def rate_intervals(table: pd.DataFrame) -> go.Figure:
    """Draw the rate, interval and number of persons of each group at one ε, and a line at the rate of all rows.

    Parameters
    ----------
    table : DataFrame
        Result of `group_rates.by_group`.
    """
    known_rates = table[table["rate"].notna()]
    fig = figure(90 + 30 * len(known_rates), margin={"l": 8, "r": 12, "t": 8, "b": 8})
    labels = [
        f"{escape(name, _LONGEST)} · {n:,}"
        for name, n in zip(known_rates["group"], known_rates["persons"], strict=True)
    ]
    colored = _colored_groups(table["rate"].to_numpy(float))
    places = [colored.index(group) if group in colored else -1 for group in known_rates.index]
    fig.add_scatter(
        x=known_rates["rate"],
        y=np.arange(len(known_rates)),
        mode="markers",
        marker={
            "size": 9,
            "color": [COLORS[place] if place >= 0 else QUIET for place in places],
            "symbol": [MARKERS[place] if place >= 0 else "circle" for place in places],
        },
        error_x={
            "type": "data",
            "symmetric": False,
            "array": known_rates["high"] - known_rates["rate"],
            "arrayminus": known_rates["rate"] - known_rates["low"],
            "color": QUIET,
            "thickness": 1.5,
        },
        text=[
            f"<b>{label}</b><br>{percent(rate)} ({percent(low)} to {percent(high)}) of {rows:,} rows"
            for label, rate, low, high, rows in zip(
                labels, known_rates["rate"], known_rates["low"], known_rates["high"], known_rates["rows"], strict=True
            )
        ],
        hovertemplate="%{text}<extra></extra>",
    )
    if len(known_rates):
        overall = float(np.average(known_rates["rate"], weights=known_rates["rows"]))
        fig.add_vline(x=overall, line={"color": QUIET, "width": 1, "dash": "dot"})
        fig.add_annotation(
            x=overall, y=1, yref="paper", text=f"all {percent(overall)}", showarrow=False, yanchor="bottom"
        )
        fig.update_layout(margin={"t": 24})
    fig.update_yaxes(tickvals=list(range(len(labels))), ticktext=labels, autorange="reversed", automargin=True)
    fig.update_xaxes(tickformat=".0%", zeroline=False)
    return fig


def _colored_groups(rates: np.ndarray) -> list[int]:
    """Return the indices of the groups that get a color: all groups, or those with the lowest and the highest rates."""
    known = np.flatnonzero(np.isfinite(rates))
    if len(known) <= _MOST_COLORED:
        return known.tolist()
    order = known[np.argsort(rates[known], kind="stable")]
    return sorted([*order[: _MOST_COLORED // 2].tolist(), *order[-_MOST_COLORED // 2 :].tolist()])
