"""Figure of a part of a tree that is small enough to read: at most six levels, with the test of each node."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go

from dpforest.plotting.class_mix import WIDTH, key_of_classes, mix_bar, shown_classes
from dpforest.plotting.geometry import Drawing, focus_nodes
from dpforest.plotting.overview import describe
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
from dpforest.plotting.words import answer, explanation, question
from dpforest.simulation.views import NodeTable
from dpforest.tables.domain import Domain
from dpforest.trees.layout import LEAF, Trees

MOST_LEVELS = 6
LINE = 42  # height of a node in pixels, for two lines of text: its test, and its records
LEVEL = 235  # width of a level in pixels, for the texts of its nodes
_UP, _DOWN = 9, -10  # vertical offsets of a node's two lines, in pixels
_AFTER_BAR = 11 + WIDTH + 6


def focus_tree(
    nodes: NodeTable, domain: Domain, *, root: int = 0, levels: int = 5, path: Sequence[int] = ()
) -> go.Figure:
    """Draw the nodes below `root` and their links, from left to right.

    Parameters
    ----------
    nodes : NodeTable
        Nodes of a single tree.
    domain : Domain
        Domain with the names of attributes and classes.
    root : int
        Node at the left of the drawing.
    levels : int
        Largest number of levels. If there are too many branches, fewer levels are drawn.
    path : sequence of int
        Nodes on the path of a selected record.
    """
    tree = nodes.trees
    followed = set(path)
    drawing = focus_nodes(tree, root, min(levels, MOST_LEVELS), nodes.counts.sum(axis=1), keep=followed)
    deepest = max(drawing.level.values())
    fig = figure(
        LINE * drawing.n_lines + 60, hovermode="closest", hoverdistance=30, margin={"l": 4, "r": 4, "t": 4, "b": 4}
    )
    for on_path, color, width in ((False, QUIET, 1), (True, FOLLOWED, 3)):
        x, y = _links(tree, drawing, followed if on_path else None)
        fig.add_scatter(x=x, y=y, mode="lines", line={"color": color, "width": width}, hoverinfo="skip")
    _nodes(fig, nodes, domain, drawing, followed)
    omission_notes = [
        _annotation(drawing.level[parent] + 1, line, f"… {n_more} more values", xshift=-6)
        for parent, (n_more, line) in drawing.left_out.items()
    ]
    class_indices = shown_classes(nodes.counts[0])
    # All annotations are set at once, because plotly checks all annotations whenever one is added.
    key = _annotation(0, -1.1, key_of_classes(domain.classes, class_indices), xshift=-6)
    fig.layout.annotations = [key, *omission_notes, *_texts(nodes, domain, drawing)]
    fig.layout.shapes = [
        bar
        for node in drawing.nodes
        for bar in mix_bar(nodes.counts[node], class_indices, drawing.level[node], drawing.height[node], 11, _DOWN)
    ]
    fig.update_xaxes(visible=False, range=[-0.05, deepest + 1.0], fixedrange=True)
    fig.update_yaxes(visible=False, range=[drawing.n_lines - 0.4, -1.5], fixedrange=True)
    return fig


def _links(tree: Trees, drawing: Drawing, followed: set[int] | None) -> tuple[list, list]:
    """Return the coordinates of lines from parents to children.

    Each line first runs vertically and then horizontally, so that it does not cross the parent's text.
    """
    x: list[float | None] = []
    y: list[float | None] = []
    for node in drawing.nodes[1:]:
        parent = int(tree.parent[node])
        if followed is not None and not {node, parent} <= followed:
            continue
        x += [drawing.level[parent], drawing.level[parent], drawing.level[node], None]
        y += [drawing.height[parent], drawing.height[node], drawing.height[node], None]
    if followed is None:
        for parent, (_, line) in drawing.left_out.items():
            x += [drawing.level[parent], drawing.level[parent], drawing.level[parent] + 0.9, None]
            y += [drawing.height[parent], line, line, None]
    return x, y


def _nodes(fig: go.Figure, table: NodeTable, domain: Domain, drawing: Drawing, followed: set[int]) -> None:
    nodes, flip = np.array(drawing.nodes), table.flip
    n_rows = table.counts[nodes].sum(axis=1)
    share = np.sqrt(n_rows / max(int(n_rows.max()), 1))
    empty = ~np.isfinite(flip[nodes])
    hover = [_hover(table, domain, node) for node in drawing.nodes]
    fig.add_scatter(
        x=[drawing.level[n] for n in drawing.nodes],
        y=[drawing.height[n] for n in drawing.nodes],
        mode="markers",
        customdata=drawing.nodes,
        text=hover,
        hovertemplate="%{text}<extra></extra>",
        marker={
            "size": 7 + 9 * share,
            "color": np.where(empty, 0, flip[nodes]),
            "cmin": 0,
            "cmax": highest_flip(domain.n_classes),
            "colorscale": FLIP_SCALE,
            "line": {"color": [FOLLOWED if n in followed else QUIET for n in drawing.nodes], "width": 1.5},
            "opacity": np.where(empty, 0.0, 1.0),
        },
        selected={"marker": {"opacity": 1}},
        unselected={"marker": {"opacity": 1}},
    )
    if empty.any():  # white squares, so that nodes without data also differ by their shape
        fig.add_scatter(
            x=[drawing.level[int(n)] for n in nodes[empty]],
            y=[drawing.height[int(n)] for n in nodes[empty]],
            mode="markers",
            customdata=nodes[empty],
            text=[h for h, e in zip(hover, empty, strict=True) if e],
            hovertemplate="%{text}<extra></extra>",
            marker={"size": 8, "symbol": "square", "color": EMPTY, "line": {"color": QUIET, "width": 1}},
            selected={"marker": {"opacity": 1}},
            unselected={"marker": {"opacity": 1}},
        )


def _texts(table: NodeTable, domain: Domain, drawing: Drawing) -> list[dict[str, Any]]:
    """Return the two lines of text of each node: `_test_text` and, below it and after the class bar, `_rows_text`."""
    annotations = []
    for node in drawing.nodes:
        x, y, has_bar = drawing.level[node], drawing.height[node], bool(table.counts[node].any())
        annotations.append(_annotation(x, y, _test_text(table, domain, node, drawing), xshift=11, yshift=_UP))
        annotations.append(
            _annotation(x, y, _rows_text(table, domain, node), xshift=_AFTER_BAR if has_bar else 11, yshift=_DOWN)
        )
    return annotations


def _annotation(x: float, y: float, text: str, **settings: Any) -> dict[str, Any]:
    """Return an annotation whose text starts at a point."""
    return {
        "x": x,
        "y": y,
        "text": text,
        "showarrow": False,
        "xanchor": "left",
        "yanchor": "middle",
        "align": "left",
        **settings,
    }


def _test_text(table: NodeTable, domain: Domain, node: int, drawing: Drawing) -> str:
    """Return the answer that leads to a node, and the node's test or, for a leaf, its label."""
    tree = table.trees
    answer_text = answer(tree, domain, node, 14)
    start = f"<b>{answer_text}</b>&nbsp; " if answer_text else ""
    if tree.kind[node] == LEAF:
        return f"{start}→ <b>{escape(domain.classes[table.label[node]], 14)}</b>"
    is_last_level = drawing.level[node] == max(drawing.level.values())
    return f"{start}{question(tree, domain, node, 16)}{' ›' if is_last_level else ''}"


def _rows_text(table: NodeTable, domain: Domain, node: int) -> str:
    """Return the second line of text of a node: the most frequent class and its share or, for a leaf, the flip rate.

    If the draws of tests are recorded, the line of an inner node also shows the probability p with which its test was
    drawn, and after p the ratio of p to the probability of the same test in a draw that ignores the rows.
    """
    flip, counts = float(table.flip[node]), table.counts[node]
    if table.trees.kind[node] == LEAF:
        if not np.isfinite(flip):
            return "<i>no data, pure noise</i>"
        rate = f"flips {flip_percent(flip)}"
        return f"<b>flipped!</b> <i>{rate}</i>" if table.is_flipped[node] else f"<i>{rate}</i>"
    if not counts.any():
        return "<i>no data</i>"
    most = int(counts.argmax())
    majority = f"{escape(domain.classes[most], 12)}: {percent(counts[most] / counts.sum(), 0)}"
    if table.probability is None or table.chance is None:
        return majority
    p, chance = float(table.probability[node]), float(table.chance[node])
    return f"{majority} · <i>p {_probability_text(p)} ×{_ratio_text(p / chance)}</i>"


def _probability_text(probability: float) -> str:
    return "&lt;1 %" if 0 < probability < 0.01 else percent(probability, 0)


def _ratio_text(ratio: float) -> str:
    """Return the text of a ratio, with one decimal place if it is below 10."""
    return f"{ratio:.1f}" if ratio < 9.95 else f"{ratio:.0f}"


def _hover(table: NodeTable, domain: Domain, node: int) -> str:
    tree, text = table.trees, describe(table, domain, node)
    if tree.kind[node] == LEAF:
        return text
    return text.replace(question(tree, domain, node, 40), explanation(tree, domain, node)) + "<br>click to start here"
