"""Figure of a whole tree, with a row for each level, colored by the flip rate of labels.

The flip rate of a leaf is the probability that noise changes its label.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go

from dpforest.plotting.geometry import Span, spans
from dpforest.plotting.style import (
    EMPTY,
    FLIP_SCALE,
    FOLLOWED,
    QUIET,
    escape,
    figure,
    flip_bar,
    flip_percent,
    highest_flip,
    percent,
)
from dpforest.plotting.words import answer, question
from dpforest.simulation.views import NodeTable
from dpforest.tables.domain import Domain
from dpforest.tables.features import plural
from dpforest.trees.layout import LEAF, Trees

MOST_COLUMNS = 768  # leaves are grouped into at most this many columns
CLICK_COLUMNS = 48  # number of positions in a row that react to the pointer


def tree_overview(
    nodes: NodeTable, domain: Domain, *, root: int = 0, path: Sequence[int] = (), by_records: bool = False
) -> go.Figure:
    """Draw one tree as an icicle plot: each node is a box above the boxes of its children.

    The plot is a heatmap, because plotly draws a heatmap fast at any depth of the tree.

    Parameters
    ----------
    nodes : NodeTable
        Nodes of a single tree, from `ForestView.nodes`.
    domain : Domain
        Domain with the names of attributes and classes.
    root : int
        First node of the drawing of `focus_tree`. The part of the tree below it gets an outline.
    path : sequence of int
        Nodes on the path of a selected record.
    by_records : bool
        If True, the width of a leaf is proportional to its number of records, so an empty leaf is invisible. If False,
        all leaves have the same width.
    """
    tree, flip = nodes.trees, nodes.flip
    leaf_spans = spans(tree)
    n_levels = len(leaf_spans.node_at)
    borders = _borders(nodes, leaf_spans, by_records)
    group = np.minimum((borders[:-1] * MOST_COLUMNS).astype(np.int64), MOST_COLUMNS - 1)
    first = np.unique(group, return_index=True)[1]
    mean, state = _columns(leaf_spans, flip, first)
    x = np.append(borders[first], 1.0)
    top = highest_flip(domain.n_classes)
    fig = figure(
        max(24 * n_levels, 96) + 16, hovermode="closest", hoverdistance=60, margin={"l": 8, "r": 8, "t": 8, "b": 8}
    )
    levels = list(range(n_levels))
    empty = np.where(state == 1, 1.0, np.nan)
    # Nodes without data get two boxes. The second box is lower, so the color of the first one remains as its outline.
    for color, gap in ((QUIET, 2), (EMPTY, 4)):
        fig.add_heatmap(
            x=x, y=levels, z=empty, colorscale=[[0, color], [1, color]], showscale=False, hoverinfo="skip", ygap=gap
        )
    fig.add_heatmap(
        x=x,
        y=levels,
        z=mean,
        zmin=0,
        zmax=top,
        colorscale=FLIP_SCALE,
        colorbar=flip_bar(domain.n_classes),
        hoverinfo="skip",
        ygap=2,
    )
    _outline(fig, leaf_spans, borders, tree, root)
    if len(path):
        center = [(borders[leaf_spans.start[node]] + borders[leaf_spans.stop[node]]) / 2 for node in path]
        fig.add_scatter(
            x=center,
            y=levels[: len(path)],
            mode="lines+markers",
            hoverinfo="skip",
            line={"color": FOLLOWED, "width": 3},
            marker={"size": 8, "color": FOLLOWED, "line": {"color": "white", "width": 1}},
        )
    _click_layer(fig, leaf_spans, borders, nodes, domain)
    fig.update_xaxes(visible=False, range=[0, 1], fixedrange=True)
    fig.update_yaxes(
        range=[n_levels - 0.5, -0.5],
        tickvals=levels,
        ticktext=["root", *(f"{d}" for d in levels[1:])],
        showgrid=False,
        zeroline=False,
        fixedrange=True,
        title=None,
    )
    return fig


def _borders(nodes: NodeTable, leaf_spans: Span, by_records: bool) -> np.ndarray:
    """Return the horizontal borders of the leaves, from 0 to 1, from left to right."""
    weight = np.ones(leaf_spans.node_at.shape[1])
    if by_records:
        leaves = nodes.trees.leaf_nodes
        weight[leaf_spans.start[leaves]] = nodes.counts[leaves].sum(axis=1)
        if not weight.any():
            weight[:] = 1
    border = np.append(0.0, np.cumsum(weight))
    return border / border[-1]


def _columns(leaf_spans: Span, flip: np.ndarray, first: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the mean flip rate and the state of each box of the heatmap: one box for each level and group of leaves.

    `first` has the index of the first leaf of each group. State 0 means that the box has no node, state 1 that it has
    only nodes without data, and state 2 that it has a node with data.
    """
    known = np.append(np.isfinite(flip), False)
    value = np.append(np.where(known[:-1], flip, 0.0), 0.0)
    node_at = leaf_spans.node_at
    n_known = np.add.reduceat(known[node_at].astype(np.int64), first, axis=1)
    total = np.add.reduceat(value[node_at], first, axis=1)
    n_nodes = np.add.reduceat((node_at >= 0).astype(np.int64), first, axis=1)
    mean = np.where(n_known > 0, total / np.maximum(n_known, 1), np.nan)
    return mean, np.where(n_known > 0, 2, np.where(n_nodes > 0, 1, 0))


def _outline(fig: go.Figure, leaf_spans: Span, borders: np.ndarray, tree: Trees, root: int) -> None:
    if root:
        fig.add_shape(
            type="rect",
            x0=borders[leaf_spans.start[root]],
            x1=borders[leaf_spans.stop[root]],
            y0=int(tree.level[root]) - 0.5,
            y1=len(leaf_spans.node_at) - 0.5,
            line={"color": QUIET, "width": 2},
        )


def _click_layer(fig: go.Figure, leaf_spans: Span, borders: np.ndarray, table: NodeTable, domain: Domain) -> None:
    """Add invisible markers for hover text and clicks, because a heatmap does not know which node a box belongs to."""
    n_leaves = leaf_spans.node_at.shape[1]
    n_columns = min(max(n_leaves, 8), CLICK_COLUMNS)
    centers = (np.arange(n_columns) + 0.5) / n_columns
    below = np.clip(np.searchsorted(borders, centers, side="right") - 1, 0, n_leaves - 1)
    level, column = np.nonzero(leaf_spans.node_at[:, below] >= 0)
    nodes = leaf_spans.node_at[level, below[column]]
    names = {int(node): describe(table, domain, int(node)) for node in set(nodes.tolist())}
    fig.add_scatter(
        x=centers[column].tolist(),
        y=level.tolist(),
        mode="markers",
        customdata=nodes.tolist(),
        text=[names[int(node)] for node in nodes],
        hovertemplate="%{text}<extra></extra>",
        marker={"size": 14, "opacity": 0, "color": QUIET},
        selected={"marker": {"opacity": 0}},
        unselected={"marker": {"opacity": 0}},
    )


def describe(table: NodeTable, domain: Domain, node: int) -> str:
    """Return a few lines of text for the hover label of a node: its level, test or label, rows, and flip rate."""
    tree, flip, is_leaf = table.trees, float(table.flip[node]), table.trees.kind[node] == LEAF
    answer_text = answer(tree, domain, node, 40)
    lines = [
        f"level {int(tree.level[node])}, " + (f"reached by “{answer_text}”" if answer_text else "the root"),
        f"leaf, votes for {escape(domain.classes[table.label[node]], 60)}"
        if is_leaf
        else f"asks: {question(tree, domain, node, 40)}",
        f"{counted_text(table, domain, node)} here",
    ]
    if not is_leaf and table.probability is not None and table.chance is not None and table.gain is not None:
        lines.append(
            f"drawn with probability {percent(float(table.probability[node]))}, by chance alone "
            f"{percent(float(table.chance[node]))},<br>removes {percent(float(table.gain[node]))} of the impurity"
        )
    if not np.isfinite(flip):
        lines.append("no data: label is pure noise" if is_leaf else "no data below: labels are pure noise")
    elif is_leaf:
        lines.append(f"its label flips in {flip_percent(flip)} of releases")
    else:
        worst, counted = flip_percent(float(table.worst_flip[node])), "persons" if domain.unit else "rows"
        lines.append(
            f"labels below flip in {flip_percent(flip)} of releases,<br>mean over {counted}; the worst leaf {worst}"
        )
    return "<br>".join(lines)


def counted_text(table: NodeTable, domain: Domain, node: int) -> str:
    """Return the number of rows of a node as text (with a unit of privacy: the numbers of persons and rows)."""
    rows = plural(int(table.n_rows[node]), "row")
    if domain.unit is None:
        return rows
    persons = f"{table.counts[node].sum():,.3f}".rstrip("0").rstrip(".")
    return f"{persons} person{'s' * (persons != '1')} in {rows}"
