"""Figures of the reliability of leaf labels: a histogram of flip rates, and the votes of the trees on one record."""

from __future__ import annotations

import numpy as np
import plotly.graph_objects as go
from plotly.colors import sample_colorscale

from dpforest.plotting.style import (
    EMPTY,
    FLIP_SCALE,
    FOLLOWED,
    QUIET,
    escape,
    figure,
    flip_percent,
    highest_flip,
    percent,
)
from dpforest.tables.features import plural

N_BINS = 25


def flip_histogram(
    flip: np.ndarray,
    n_counted: np.ndarray,
    n_classes: int,
    n_rows: np.ndarray | None = None,
    *,
    by_leaf: bool = False,
) -> go.Figure:
    """Draw a histogram of rows by the flip rate of their leaf. With a unit of privacy, the histogram counts persons.

    Parameters
    ----------
    flip : array of shape (n_leaves,)
        Flip rate of each leaf; NaN for an empty leaf.
    n_counted : array of shape (n_leaves,)
        Number of rows (with a unit: of persons) in each leaf, which is the weight of the leaf.
    n_rows : int array of shape (n_leaves,), optional
        Number of rows in each leaf; given only with a unit of privacy, for the hover text.
    by_leaf : bool
        Whether to count leaves instead. Then a leaf with one row counts as much as a leaf with a thousand rows.
    """
    top = highest_flip(n_classes)
    known = np.isfinite(flip)
    weights = known.astype(float) if by_leaf else n_counted
    counted = "rows" if n_rows is None else "persons"

    def by_flip(weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return np.histogram(np.minimum(flip[known], top), N_BINS, (0, top), weights=weights[known].astype(float))

    weight, edges = by_flip(weights)
    share = weight / max(float(weights.sum()), 1.0)
    middle = (edges[:-1] + edges[1:]) / 2
    n_leaves, _ = by_flip(np.ones(len(flip)))
    row_texts = [""] * N_BINS if n_rows is None else [f" with {plural(int(n), 'row')}" for n in by_flip(n_rows)[0]]
    subject = f"{counted} are in" if not by_leaf else f"leaves with {counted}:"
    text = [
        f"{percent(s)} of {subject} {plural(int(n), 'leaf', 'leaves')}{rows}<br>"
        f"whose label flips in {percent(a, 0)} to {percent(b, 0)} of releases"
        for s, n, rows, a, b in zip(share, n_leaves, row_texts, edges, edges[1:], strict=False)
    ]
    fig = figure(280, bargap=0.06, hovermode="closest")
    fig.add_bar(
        x=middle,
        y=share,
        width=top / N_BINS * 0.94,
        text=text,
        textposition="none",
        hovertemplate="%{text}<extra></extra>",
        marker={"color": sample_colorscale(FLIP_SCALE, list(middle / top)), "line": {"color": QUIET, "width": 0.5}},
    )
    mean = float(np.average(flip[known], weights=weights[known])) if weights[known].sum() else 0.0
    fig.add_vline(x=mean, line={"color": QUIET, "width": 1.5, "dash": "dot"})
    fig.add_annotation(
        x=mean,
        y=1,
        yref="paper",
        text=f"mean {flip_percent(mean)}",
        showarrow=False,
        yanchor="top",
        xanchor="left" if mean < 0.6 * top else "right",
        xshift=6 if mean < 0.6 * top else -6,
    )
    fig.update_xaxes(
        title="rate at which the leaf's label flips", tickformat=".0%", range=[0, top], zeroline=False, showgrid=False
    )
    fig.update_yaxes(
        title=f"share of {'leaves' if by_leaf else counted}",
        tickformat=".0%",
        range=[0, 1.18 * max(float(share.max()), 0.01)],
        zeroline=False,
    )
    return fig


def votes(labels: np.ndarray, flip: np.ndarray, classes: tuple, *, tree: int, truth: int | None = None) -> go.Figure:
    """Draw a square for each tree's vote on one record, colored by the flip rate of the record's leaf in this tree.

    Parameters
    ----------
    labels : int array of shape (n_trees,)
        Class index that each tree votes for.
    flip : array of shape (n_trees,)
        Flip rate of the record's leaf in each tree; NaN if the leaf is empty.
    tree : int
        The selected tree, whose square is outlined.
    truth : int, optional
        True class index of the record, which gets a check mark.
    """
    order = np.argsort(-np.bincount(labels, minlength=len(classes)), kind="stable")
    voted_classes = [int(c) for c in order if (labels == c).any()]
    squares_per_line = 25
    fig = figure(100, hovermode="closest", hoverdistance=20, margin={"l": 8, "r": 8, "t": 4, "b": 4})
    x, y, text, tree_of = [], [], [], []
    line, names, label_heights = 0.0, [], []
    for c in voted_classes:
        trees = np.flatnonzero(labels == c)
        n_lines = -(-len(trees) // squares_per_line)
        names.append(f"<b>{escape(classes[c], 16)}</b><br>{len(trees)} of {len(labels)}{' ✓' if c == truth else ''}")
        label_heights.append(line + (n_lines - 1) / 2)
        for i, t in enumerate(trees):
            x.append(i % squares_per_line)
            y.append(line + i // squares_per_line)
            tree_of.append(int(t))
            rate = "no data: pure noise" if not np.isfinite(flip[t]) else f"its leaf flips in {flip_percent(flip[t])}"
            text.append(f"tree {t + 1} votes for {escape(classes[c], 40)}<br>{rate}<br>click to see its path")
        line += n_lines + 0.6
    known = np.isfinite(flip[tree_of])
    top = highest_flip(len(classes))
    fig.add_scatter(
        x=x,
        y=y,
        mode="markers",
        customdata=tree_of,
        text=text,
        hovertemplate="%{text}<extra></extra>",
        marker={
            "symbol": "square",
            "size": 12,
            "cmin": 0,
            "cmax": top,
            "color": [
                sample_colorscale(FLIP_SCALE, [min(float(flip[t]) / top, 1.0)])[0] if k else EMPTY
                for t, k in zip(tree_of, known, strict=True)
            ],
            "line": {
                "color": [FOLLOWED if t == tree else QUIET for t in tree_of],
                "width": [3 if t == tree else 1 for t in tree_of],
            },
        },
        selected={"marker": {"opacity": 1}},
        unselected={"marker": {"opacity": 1}},
    )
    fig.update_layout(height=int(18 * (line + 0.4)) + 24)
    fig.update_xaxes(visible=False, range=[-0.8, squares_per_line - 0.2], fixedrange=True)
    fig.update_yaxes(
        range=[line - 0.2, -0.9],
        tickvals=label_heights,
        ticktext=names,
        showgrid=False,
        zeroline=False,
        fixedrange=True,
    )
    return fig
