"""Accuracy against ε, with its spread over simulated releases, between the floor and the ceiling."""

from __future__ import annotations

import numpy as np
import plotly.graph_objects as go

from dpforest.plotting.style import NON_PRIVATE, PRIVATE, QUIET, escape, figure, percent
from dpforest.privacy.rationals import text_up


def accuracy_curve(
    curve, epsilon: float, *, floor_label: object = "", measure: str = "accuracy", certified: bool = True
) -> go.Figure:
    """Accuracy of simulated releases at each ε.

    Parameters
    ----------
    curve : Curve
        Of `simulation.Simulation.curve`.
    epsilon : float
        Where "you are here" stands.
    floor_label : object
        The class that the floor always predicts.
    measure : {"accuracy", "balanced"}
    certified : bool
        Blue is kept for ε that hold.
    """
    values, ceiling, floor = series(curve, measure)
    mean, spread = values.mean(axis=0), spread_over(values)
    eps = np.asarray(curve.epsilons, float)
    colour = PRIVATE if certified else QUIET
    fig = figure(340, hovermode="x", margin={"l": 8, "r": 12, "t": 8, "b": 8})
    band = {"line": {"width": 0}, "hoverinfo": "skip", "mode": "lines", "x": eps}
    fig.add_scatter(y=mean + spread, **band)
    fig.add_scatter(y=mean - spread, fill="tonexty", fillcolor=faint(colour), **band)
    text = [f"ε = {text_up(e)}: {percent(m)} ± {100 * s:.1f}" for e, m, s in zip(eps, mean, spread, strict=True)]
    fig.add_scatter(
        x=eps, y=mean, mode="lines+markers", line={"color": colour, "width": 2.5}, marker={"size": 5},
        text=text, hovertemplate="%{text}<extra></extra>",
    )  # fmt: skip
    best = float(np.mean(ceiling))
    level(fig, best, NON_PRIVATE, "dash", f"without privacy {percent(best)}: the ceiling", "bottom", 0)
    level(fig, floor, QUIET, "dot", f"always “{escape(floor_label, 18)}” {percent(floor)}: the floor", "top", 1)
    here = float(np.interp(np.log(epsilon), np.log(eps), mean))
    fig.add_vline(x=epsilon, line={"color": QUIET, "width": 1, "dash": "dot"})
    fig.add_scatter(
        x=[epsilon], y=[here], mode="markers", hoverinfo="skip",
        marker={"size": 14, "color": colour, "line": {"color": "white", "width": 2.5}},
    )  # fmt: skip
    right = np.log(epsilon / eps.min()) < 0.6 * np.log(eps.max() / eps.min())
    fig.add_annotation(
        x=np.log10(epsilon), y=0, yref="paper", text=f"<b>you are here</b> {percent(here)}", showarrow=False,
        xanchor="left" if right else "right", yanchor="bottom", xshift=5 if right else -5,
    )  # fmt: skip
    low, high = min(floor, float((mean - spread).min()), here), max(best, float((mean + spread).max()), floor)
    pad = max(high - low, 0.02) * 0.12
    fig.update_yaxes(range=[low - 1.6 * pad, min(high + 1.6 * pad, 1.06)], tickformat=".0%", title=None, zeroline=False)
    epsilon_axis(fig, eps.min(), eps.max(), "ε" if certified else "ε as claimed")
    return fig


def epsilon_axis(fig: go.Figure, low: float, high: float, name: str) -> None:
    """ε from low to high on a log scale, its ends named."""
    marks = [e for e in (0.001, 0.01, 0.03, 0.1, 0.3, 1, 3, 10, 100) if low <= e <= high]
    fig.update_xaxes(
        type="log", tickvals=marks, ticktext=[f"{m:g}" for m in marks], showgrid=False, zeroline=False,
        range=np.log10([low * 0.92, high * 1.09]).tolist(),
        title=f"← more private &nbsp;&nbsp; {name} &nbsp;&nbsp; more accurate →",
    )  # fmt: skip


def series(curve, measure: str) -> tuple[np.ndarray, np.ndarray, float]:
    """(repeats, ε) values, (repeats,) ceiling and floor of one measure."""
    if measure == "balanced":
        return np.asarray(curve.balanced), np.asarray(curve.ceiling_balanced), float(curve.floor_balanced)
    return np.asarray(curve.accuracy), np.asarray(curve.ceiling), float(curve.floor)


def spread_over(values: np.ndarray) -> np.ndarray:
    """Standard deviation over repeats; 0 where there is one only."""
    return values.std(axis=0, ddof=1) if len(values) > 1 else np.zeros(values.shape[1:])


def level(fig: go.Figure, y: float, colour: str, dash: str, text: str, anchor: str, side: int) -> None:
    """A line across; the ceiling is named at the left and the floor at the right, where the curve is far."""
    fig.add_hline(y=y, line={"color": colour, "width": 2, "dash": dash})
    fig.add_annotation(
        x=side, xref="paper", y=y, text=text, showarrow=False, xanchor="right" if side else "left", yanchor=anchor,
        xshift=-4 if side else 4, yshift=2 if anchor == "bottom" else -2,
    )  # fmt: skip


def faint(colour: str, alpha: float = 0.18) -> str:
    """A colour that lets through what is behind it."""
    return f"rgba({int(colour[1:3], 16)},{int(colour[3:5], 16)},{int(colour[5:], 16)},{alpha})"
