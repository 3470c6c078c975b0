"""Figure of accuracy against ε, and elements that other figures over ε also use.

The floor is the accuracy of guessing the most frequent class. The ceiling is the accuracy of the best model without
privacy.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go

from dpforest.plotting.style import NON_PRIVATE, ON_PAGE_ONLY, PRIVATE, QUIET, escape, figure, percent
from dpforest.privacy.rationals import text_up

LEGEND = {
    "orientation": "h",
    "yanchor": "bottom",
    "y": 1.02,
    "xanchor": "left",
    "x": 0,
    "title": None,
    "traceorder": "normal",
}


def accuracy_curve(
    epsilons: np.ndarray,
    values: np.ndarray,
    nonprivate: np.ndarray,
    floor: float,
    epsilon: float,
    *,
    floor_label: object = "",
    best: tuple[str, float] | None = None,
    certified: bool = True,
) -> go.Figure:
    """Draw the mean accuracy of simulated releases against ε, with a band of one standard deviation on each side.

    Horizontal lines show the floor, the forest without noise, and the best other model without privacy.

    Parameters
    ----------
    epsilons : float array of shape (E,)
        The ε of the releases, rising.
    values : float array of shape (R, E)
        Accuracy, or balanced accuracy, of R simulated releases.
    nonprivate : float array of shape (R,)
        Accuracy of the same forests without noise.
    floor : float
        Accuracy of always predicting the most frequent class.
    epsilon : float
        The selected ε, marked "you are here".
    floor_label : object
        The most frequent class, which the floor always predicts.
    best : (name, accuracy) or None
        The best other model without privacy; None if unknown. The ceiling is the accuracy of this model, or of this
        forest without noise, whichever is larger.
    certified : bool
        Whether the ε are certified. If True, the curve is blue; otherwise it is gray.
    """
    mean, spread, without_noise = values.mean(axis=0), spread_over(values), float(np.mean(nonprivate))
    eps = np.asarray(epsilons, float)
    color = PRIVATE if certified else QUIET
    fig = figure(380, hovermode="x", margin={"l": 8, "r": 12, "t": 8, "b": 8})
    ends = [eps.min() * 0.92, eps.max() * 1.09]
    no_noise_name = f"this kind, no noise {percent(without_noise)}"
    if best is not None and best[1] > without_noise:
        name = f"{escape(best[0], 30)}, no privacy {percent(best[1])}"
        horizontal_line(fig, ends, best[1], NON_PRIVATE, "dash", name)
        horizontal_line(fig, ends, without_noise, NON_PRIVATE, "solid", no_noise_name, faint=True)
    elif best is not None:
        horizontal_line(fig, ends, without_noise, NON_PRIVATE, "dash", no_noise_name)
    else:
        horizontal_line(fig, ends, without_noise, NON_PRIVATE, "solid", no_noise_name, faint=True)
    horizontal_line(fig, ends, floor, QUIET, "dot", f"always “{escape(floor_label, 18)}” {percent(floor)}: the floor")
    band = {"line": {"width": 0, "color": color}, "hoverinfo": "skip", "mode": "lines", "x": eps, "showlegend": False}
    fig.add_scatter(y=mean + spread, **band)
    fig.add_scatter(y=mean - spread, fill="tonexty", fillcolor=faint_color(color), **band)
    text = [f"ε = {text_up(e)}: {percent(m)} ± {100 * s:.1f}" for e, m, s in zip(eps, mean, spread, strict=True)]
    fig.add_scatter(
        x=eps,
        y=mean,
        mode="lines+markers",
        line={"color": color, "width": 2.5},
        marker={"size": 5},
        text=text,
        hovertemplate="%{text}<extra></extra>",
        name="this forest, with noise",
        legendrank=1,
    )
    mean_here = float(np.interp(np.log(epsilon), np.log(eps), mean))
    fig.add_vline(x=epsilon, line={"color": QUIET, "width": 1, "dash": "dot"}, name=ON_PAGE_ONLY)
    fig.add_scatter(
        meta=ON_PAGE_ONLY,
        x=[epsilon],
        y=[mean_here],
        mode="markers",
        hoverinfo="skip",
        showlegend=False,
        marker={"size": 14, "color": color, "line": {"color": "white", "width": 2.5}},
    )
    has_room = np.log(epsilon / eps.min()) < 0.6 * np.log(eps.max() / eps.min())
    fig.add_annotation(
        name=ON_PAGE_ONLY,
        x=np.log10(epsilon),
        y=0,
        yref="paper",
        text=f"<b>you are here</b> {percent(mean_here)}",
        showarrow=False,
        xanchor="left" if has_room else "right",
        yanchor="bottom",
        xshift=5 if has_room else -5,
    )
    line_values = [floor, without_noise, *([best[1]] if best else [])]
    low, high = (
        min(*line_values, float((mean - spread).min()), mean_here),
        max(*line_values, float((mean + spread).max())),
    )
    pad = max(high - low, 0.02) * 0.12
    fig.update_yaxes(range=[low - 1.6 * pad, min(high + pad, 1.04)], tickformat=".0%", title=None, zeroline=False)
    epsilon_axis(fig, eps.min(), eps.max(), "ε" if certified else "ε as claimed")
    fig.update_layout(showlegend=True, legend=LEGEND)
    return fig


def epsilon_axis(fig: go.Figure, low: float, high: float, name: str) -> None:
    """Set the x-axis to ε from low to high on a log scale. Its title says which end is more private."""
    marks = [e for e in (0.001, 0.01, 0.03, 0.1, 0.3, 1, 3, 10, 100) if low <= e <= high]
    fig.update_xaxes(
        type="log",
        tickvals=marks,
        ticktext=[f"{m:g}" for m in marks],
        showgrid=False,
        zeroline=False,
        range=np.log10([low * 0.92, high * 1.09]).tolist(),
        title=f"← more private &nbsp;&nbsp; {name} &nbsp;&nbsp; more accurate →",
    )


def mark_epsilons(fig: go.Figure, marks: Sequence[tuple[float, str]]) -> None:
    """Mark some ε by small triangles at the top of a chart over ε.

    Parameters
    ----------
    marks : sequence of (ε, words)
        The ε to mark, and the text that each mark shows on hover.
    """
    for epsilon, words in marks:
        fig.add_annotation(
            name=ON_PAGE_ONLY,
            x=np.log10(epsilon),
            y=1,
            yref="paper",
            text="▼",
            showarrow=False,
            yanchor="top",
            hovertext=f"ε = {text_up(epsilon)}: {escape(words)}",
        )


def spread_over(values: np.ndarray) -> np.ndarray:
    """Return the standard deviation of `values` over repeats (the first axis); 0 for a single repeat."""
    return values.std(axis=0, ddof=1) if len(values) > 1 else np.zeros(values.shape[1:])


def horizontal_line(
    fig: go.Figure, ends: Sequence[float], y: float, color: str, dash: str, name: str, *, faint: bool = False
) -> None:
    """Draw a horizontal line, and name it in the legend, so that the name covers nothing in the figure."""
    fig.add_scatter(
        x=list(ends),
        y=[y, y],
        mode="lines",
        name=name,
        hoverinfo="skip",
        opacity=0.55 if faint else 1,
        line={"color": color, "width": 1.5 if faint else 2, "dash": dash},
    )


def faint_color(color: str, alpha: float = 0.18) -> str:
    """Return a color ("#RRGGBB") with the opacity `alpha`."""
    return f"rgba({int(color[1:3], 16)},{int(color[3:5], 16)},{int(color[5:], 16)},{alpha})"
