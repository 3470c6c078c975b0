"""Figures of the random-tree booster: accuracy by round, effects of attributes on scores, and parts of one score.

A round adds one tree. The score of a record for a class is the sum of what all trees add, in log-odds.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go

from dpforest.limits import N_CODES
from dpforest.plotting.curve import faint_color
from dpforest.plotting.scale import value_at
from dpforest.plotting.style import NON_PRIVATE, PRIVATE, QUIET, escape, figure, number, percent
from dpforest.plotting.words import value_text
from dpforest.tables.features import Feature, plural

_POINTS = 48  # number of values of a numeric attribute at which its effect is drawn
_TICKS = 4  # number of equal parts into which ticks divide the x-axis
_MOST_VALUES = 24  # largest number of drawn values of a categorical attribute


def accuracy_by_round(rounds: np.ndarray, accuracy: np.ndarray, floor: float) -> go.Figure:
    """Draw the accuracy on held-out rows against the number of rounds.

    Parameters
    ----------
    rounds : int array of shape (n,)
        Numbers of trees, rising.
    accuracy : float array of shape (n,)
        Share of correctly classified held-out rows after each number of trees.
    floor : float
        Accuracy of always predicting the most frequent class.
    """
    fig = figure(240, hovermode="closest", margin={"l": 8, "r": 12, "t": 8, "b": 8})
    fig.add_scatter(
        x=rounds,
        y=accuracy,
        mode="lines+markers" if len(rounds) < 40 else "lines",
        marker={"size": 6},
        line={"color": PRIVATE, "width": 2.5},
        text=[percent(a) for a in accuracy],
        hovertemplate="after round %{x}: %{text}<extra></extra>",
    )
    fig.add_hline(y=floor, line={"color": QUIET, "dash": "dot", "width": 1.5})
    fig.update_xaxes(title="rounds", showgrid=False, zeroline=False, fixedrange=True)
    fig.update_yaxes(tickformat=".0%", zeroline=False, fixedrange=True, nticks=5)
    return fig


def typical_parts(names: Sequence[str], sizes: np.ndarray, noise: np.ndarray, *, most: int = 12) -> go.Figure:
    """Draw a bar for each attribute's typical contribution to a score, and a mark for the contribution of noise alone.

    The largest contribution is on top.

    Parameters
    ----------
    names : sequence of str
        Names of the attributes.
    sizes, noise : float array of shape (n_features,)
        Typical contribution of each attribute, and of noise if the attribute had no effect, in log-odds, from
        `AddedScores.typical_parts`.
    most : int
        Number of attributes that are drawn.
    """
    order = np.argsort(-sizes, kind="stable")[:most]
    fig = _bars([names[i] for i in order], sizes[order], [f"{sizes[i]:.3f}" for i in order])
    known = order[np.isfinite(noise[order]) & (noise[order] > 0)]
    if len(known):
        fig.add_scatter(
            x=noise[known],
            y=[int(np.flatnonzero(order == i)[0]) for i in known],
            mode="markers",
            marker={"symbol": "line-ns", "size": 18, "line": {"width": 2.5, "color": NON_PRIVATE}},
            hovertext=[f"{noise[i]:.3f}" for i in known],
            hovertemplate="noise alone: %{hovertext}<extra></extra>",
        )
    return fig


def parts_of_score(names: Sequence[str], parts: np.ndarray, noise: np.ndarray, *, most: int = 10) -> go.Figure:
    """Draw the largest contributions of attributes to one score, the largest one on top, and the sum of all others.

    Parameters
    ----------
    names : sequence of str
        Names of the attributes with the record's values.
    parts, noise : float array of shape (n_features,)
        Contribution of each attribute to the score, in log-odds, and the standard deviation of its noise. Error bars
        reach two standard deviations to each side. The bar for the sum of all others has no error bar.
    most : int
        Number of attributes with their own bar.
    """
    order = np.argsort(-np.abs(parts), kind="stable")
    largest, others = order[:most], order[most:]
    labels, values, errors = [names[i] for i in largest], list(parts[largest]), list(2 * noise[largest])
    if len(others):
        labels.append(plural(len(others), "more attribute"))
        values.append(float(parts[others].sum()))
        errors.append(0.0)
    return _bars(labels, np.array(values), [f"{v:+.3f}" for v in values], np.nan_to_num(errors))


def _bars(
    labels: Sequence[str], values: np.ndarray, texts: Sequence[str], errors: np.ndarray | None = None
) -> go.Figure:
    fig = figure(28 * len(labels) + 64, hovermode="closest", margin={"l": 8, "r": 16, "t": 6, "b": 8})
    fig.add_bar(
        x=values,
        y=list(range(len(labels))),
        orientation="h",
        marker={"color": PRIVATE},
        error_x=None if errors is None else {"type": "data", "array": errors, "color": QUIET, "thickness": 1.5},
        hovertext=list(texts),
        hovertemplate="%{customdata}: %{hovertext}<extra></extra>",
        customdata=[escape(label) for label in labels],
    )
    fig.update_xaxes(title="log-odds", zeroline=True, zerolinecolor=QUIET, nticks=7, fixedrange=True)
    fig.update_yaxes(
        tickvals=list(range(len(labels))),
        ticktext=[escape(label, 28) for label in labels],
        autorange="reversed",
        showgrid=False,
        zeroline=False,
        fixedrange=True,
    )
    fig.update_layout(showlegend=False)
    return fig


def codes_shown(feature: Feature) -> np.ndarray:
    """Return the codes of an attribute at which `effect` draws the score."""
    if feature.kind == "categorical":
        return np.arange(min(feature.n_codes, _MOST_VALUES))
    return np.linspace(feature.first_code, N_CODES - 1, _POINTS).astype(np.int64)


def effect(feature: Feature, codes: np.ndarray, scores: np.ndarray, noise: np.ndarray) -> go.Figure:
    """Draw the mean score against the value of one attribute, with a band of two standard deviations of the noise.

    Parameters
    ----------
    feature : Feature
        The attribute on the x-axis.
    codes : int array of shape (n,)
        Result of `codes_shown`.
    scores, noise : float array of shape (n,)
        Mean score at each code in log-odds, and the standard deviation of its noise.
    """
    fig = figure(280, hovermode="closest", margin={"l": 8, "r": 36, "t": 8, "b": 8})
    band = np.nan_to_num(2 * noise)
    if feature.kind == "categorical":
        names = [feature.code_labels[code] for code in codes]
        fig.add_bar(
            x=list(range(len(codes))),
            y=scores,
            marker={"color": PRIVATE},
            error_y={"type": "data", "array": band, "color": QUIET, "thickness": 1.5},
            customdata=[escape(name) for name in names],
            hovertemplate="%{customdata}: %{y:+.3f}<extra></extra>",
        )
        places, texts = list(range(len(codes))), [escape(name, 14) for name in names]
    else:
        step = {"shape": "hv", "color": PRIVATE}
        faint = {"mode": "lines", "line": {"width": 0, **step}, "hoverinfo": "skip", "x": codes}
        fig.add_scatter(y=scores + band, **faint)
        fig.add_scatter(y=scores - band, fill="tonexty", fillcolor=faint_color(PRIVATE, 0.18), **faint)
        fig.add_scatter(
            x=codes,
            y=scores,
            mode="lines",
            line={"width": 2.5, **step},
            customdata=[f"{escape(feature.name, 30)} {_value_text(feature, int(code))}" for code in codes],
            hovertemplate="%{customdata}: %{y:+.3f}<extra></extra>",
        )
        places = [int(code) for code in np.linspace(codes[0], codes[-1], _TICKS + 1)]
        texts = [_value_text(feature, place) for place in places]
    fig.update_xaxes(tickvals=places, ticktext=texts, showgrid=False, zeroline=False, fixedrange=True)
    fig.update_yaxes(title="score", zeroline=True, zerolinecolor=QUIET, fixedrange=True, nticks=6)
    return fig


def _value_text(feature: Feature, code: int) -> str:
    return value_text(feature, code) if feature.integer else number(value_at(feature, code))
