"""A part of a tree that can be read: at most six levels, question by question."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go

from dpforest.evaluation.forest_view import NodeTable
from dpforest.plotting.geometry import Drawn, focus_nodes
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
from dpforest.tables.domain import Domain
from dpforest.trees.layout import LEAF, Trees

MOST_LEVELS = 6
LINE = 24  # pixels a node needs


def focus_tree(
    nodes: NodeTable, domain: Domain, *, root: int = 0, levels: int = 5, path: Sequence[int] = ()
) -> go.Figure:
    """Node-link drawing from `root` downwards, read from left to right.

    Parameters
    ----------
    nodes : NodeTable
        Of a single tree.
    domain : Domain
    root : int
    levels : int
        Fewer are drawn where branches are many.
    path : sequence of int
        Nodes of a record that is followed.
    """
    tree = nodes.trees
    drawn = focus_nodes(tree, root, min(levels, MOST_LEVELS), nodes.counts.sum(axis=1))
    followed = set(path)
    deepest = max(drawn.level.values())
    fig = figure(
        LINE * drawn.n_lines + 30, hovermode="closest", hoverdistance=30, margin={"l": 4, "r": 4, "t": 4, "b": 4}
    )
    for on_path, colour, width in ((False, QUIET, 1), (True, FOLLOWED, 3)):
        x, y = _links(tree, drawn, followed if on_path else None)
        fig.add_scatter(x=x, y=y, mode="lines", line={"color": colour, "width": width}, hoverinfo="skip")
    more = [
        _written(drawn.level[parent] + 1, line, f"… {n_more} more values", xshift=-6, font={"size": 11})
        for parent, (n_more, line) in drawn.left_out.items()
    ]
    texts = _nodes(fig, nodes, domain, drawn, followed)
    fig.layout.annotations = more + texts  # all at once: plotly checks every one again whenever one is added
    fig.update_xaxes(visible=False, range=[-0.12, deepest + 1.05], fixedrange=True)
    fig.update_yaxes(visible=False, range=[drawn.n_lines - 0.4, -0.8], fixedrange=True)
    return fig


def _links(tree: Trees, drawn: Drawn, followed: set[int] | None) -> tuple[list, list]:
    """Lines from parents to children: down at the parent, then across, so that a parent's text stays free."""
    x: list[float | None] = []
    y: list[float | None] = []
    for node in drawn.nodes[1:]:
        parent = int(tree.parent[node])
        if followed is not None and not {node, parent} <= followed:
            continue
        x += [drawn.level[parent], drawn.level[parent], drawn.level[node], None]
        y += [drawn.height[parent], drawn.height[node], drawn.height[node], None]
    if followed is None:
        for parent, (_, line) in drawn.left_out.items():
            x += [drawn.level[parent], drawn.level[parent], drawn.level[parent] + 0.9, None]
            y += [drawn.height[parent], line, line, None]
    return x, y


def _nodes(fig: go.Figure, table: NodeTable, domain: Domain, drawn: Drawn, followed: set[int]) -> list[dict[str, Any]]:
    """Draw the nodes; the texts to write beside them."""
    nodes, flip = np.array(drawn.nodes), table.flip
    n_rows = table.counts[nodes].sum(axis=1)
    share = np.sqrt(n_rows / max(int(n_rows.max()), 1))
    empty = ~np.isfinite(flip[nodes])
    texts = [_text(table, domain, node, drawn) for node in drawn.nodes]
    hover = [_hover(table, domain, node) for node in drawn.nodes]
    fig.add_scatter(
        x=[drawn.level[n] for n in drawn.nodes], y=[drawn.height[n] for n in drawn.nodes], mode="markers",
        customdata=drawn.nodes, text=hover, hovertemplate="%{text}<extra></extra>",
        marker={
            "size": 7 + 9 * share, "color": np.where(empty, 0, flip[nodes]), "cmin": 0,
            "cmax": highest_flip(domain.n_classes), "colorscale": FLIP_SCALE,
            "line": {"color": [FOLLOWED if n in followed else QUIET for n in drawn.nodes], "width": 1.5},
            "opacity": np.where(empty, 0.0, 1.0),
        },
        selected={"marker": {"opacity": 1}}, unselected={"marker": {"opacity": 1}},
    )  # fmt: skip
    if empty.any():  # white squares, so that "no data" is told apart by shape as well
        fig.add_scatter(
            x=[drawn.level[int(n)] for n in nodes[empty]], y=[drawn.height[int(n)] for n in nodes[empty]],
            mode="markers", customdata=nodes[empty], text=[h for h, e in zip(hover, empty, strict=True) if e],
            hovertemplate="%{text}<extra></extra>",
            marker={"size": 8, "symbol": "square", "color": EMPTY, "line": {"color": QUIET, "width": 1}},
            selected={"marker": {"opacity": 1}}, unselected={"marker": {"opacity": 1}},
        )  # fmt: skip
    return [
        _written(drawn.level[node], drawn.height[node], text, xshift=11, align="left", font={"size": 11.5})
        for node, text in zip(drawn.nodes, texts, strict=True)
    ]


def _written(x: float, y: float, text: str, **settings: Any) -> dict[str, Any]:
    """A text that starts at a place."""
    return {"x": x, "y": y, "text": text, "showarrow": False, "xanchor": "left", "yanchor": "middle", **settings}


def _text(table: NodeTable, domain: Domain, node: int, drawn: Drawn) -> str:
    tree, flip = table.trees, float(table.flip[node])
    came = answer(tree, domain, node, 14)
    start = f"<b>{came}</b>&nbsp; " if came else ""
    if tree.kind[node] != LEAF:
        ends = drawn.level[node] == max(drawn.level.values())
        likely = ""
        if table.probability is not None and table.chance is not None:
            p, chance = float(table.probability[node]), float(table.chance[node])
            likely = f" <i>p {_likely(p)} ×{_times(p / chance)}</i>"
        return f"{start}{question(tree, domain, node, 12 if likely else 16)}{likely}{' ›' if ends else ''}"
    label = escape(domain.classes[table.label[node]], 14)
    return f"{start}→ {label} <i>({'no data' if not np.isfinite(flip) else f'flips {flip_percent(flip)}'})</i>"


def _likely(probability: float) -> str:
    return "&lt;1 %" if 0 < probability < 0.01 else percent(probability, 0)


def _times(ratio: float) -> str:
    """How many times as likely as by chance: one digit after the point where it matters."""
    return f"{ratio:.1f}" if ratio < 9.95 else f"{ratio:.0f}"


def _hover(table: NodeTable, domain: Domain, node: int) -> str:
    tree, text = table.trees, describe(table, domain, node)
    if tree.kind[node] == LEAF:
        return text
    return text.replace(question(tree, domain, node, 40), explanation(tree, domain, node)) + "<br>click to start here"
