"""Positions of the nodes of one tree in drawings of the whole tree (`overview`) and of a part of it (`focus`)."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

import numpy as np

from dpforest.trees.layout import LEAF, Trees


@dataclass(frozen=True)
class Span:
    """The range of leaves below each node. Leaves are numbered from the left to the right of the drawing.

    Parameters
    ----------
    start, stop : int arrays of shape (n_nodes,)
        Number of the first leaf below each node, and number of the last leaf plus one.
    node_at : int array of shape (n_levels, n_leaves)
        For each level, the node above each leaf; -1 if the branch ends at a higher level.
    """

    start: np.ndarray
    stop: np.ndarray
    node_at: np.ndarray


def spans(tree: Trees) -> Span:
    """Return the range of leaves below each node of `tree`, which must hold a single tree (`Trees.select`)."""
    n, level, parent = tree.n_nodes, tree.level, tree.parent
    n_leaves = (tree.kind == LEAF).astype(np.int64)
    nodes_of_level = [np.flatnonzero(level == depth) for depth in range(int(level.max(initial=0)) + 1)]
    for nodes in nodes_of_level[:0:-1]:
        np.add.at(n_leaves, parent[nodes], n_leaves[nodes])
    start = np.zeros(n, np.int64)
    for nodes in nodes_of_level[1:]:
        before = np.zeros(n, np.int64)
        before[nodes] = np.cumsum(n_leaves[nodes]) - n_leaves[nodes]
        start[nodes] = start[parent[nodes]] + before[nodes] - before[tree.first_child[parent[nodes]]]
    node_at = np.full((len(nodes_of_level), int(n_leaves[0])), -1, np.int64)
    for depth, nodes in enumerate(nodes_of_level):
        node_of_leaf = np.repeat(nodes, n_leaves[nodes])
        first = np.repeat(np.cumsum(n_leaves[nodes]) - n_leaves[nodes], n_leaves[nodes])
        node_at[depth, start[node_of_leaf] + np.arange(len(node_of_leaf)) - first] = node_of_leaf
    return Span(start, start + n_leaves, node_at)


@dataclass(frozen=True)
class Drawing:
    """Nodes of a drawing of a part of a tree, from top to bottom.

    Parameters
    ----------
    nodes : list of int
        The drawn nodes.
    level, height : dict
        For each node, its level below the first node of the drawing, and its line (vertical position).
    left_out : dict
        For each node with too many children, the number of omitted children, and the line of the note about them.
    n_lines : int
        Number of lines of the drawing.
    """

    nodes: list[int]
    level: dict[int, int]
    height: dict[int, float]
    left_out: dict[int, tuple[int, int]]
    n_lines: int


def focus_nodes(
    tree: Trees, root: int, levels: int, rank: np.ndarray, *, most_lines: int = 32, keep: Collection[int] = ()
) -> Drawing:
    """Choose the nodes of a drawing that begins at `root` and has at most `levels` levels.

    If the drawing has more than `most_lines` lines, the function first omits children of nodes with many children, and
    then whole levels. It stops when the drawing has at most this many lines, or only two levels.

    Parameters
    ----------
    rank : array of shape (n_nodes,)
        If a node has too many children, those with the highest rank are drawn.
    most_lines : int
        Largest number of lines of the drawing.
    keep : collection of int
        Nodes that are drawn regardless of their rank.
    """
    if len(keep):
        rank = rank.copy()
        rank[list(keep)] = np.iinfo(np.int64).max
    for depth in range(levels, 1, -1):
        for most_children in (12, 6, 4):
            drawing = _place(tree, root, depth, rank, most_children)
            if drawing.n_lines <= most_lines:
                return drawing
    return drawing


def _place(tree: Trees, root: int, levels: int, rank: np.ndarray, most_children: int) -> Drawing:
    nodes: list[int] = []
    level: dict[int, int] = {root: 0}
    height: dict[int, float] = {}
    left_out: dict[int, tuple[int, int]] = {}
    line = 0

    def visit(node: int) -> None:
        nonlocal line
        nodes.append(node)
        if tree.kind[node] == LEAF or level[node] == levels - 1:
            height[node] = float(line)
            line += 1
            return
        children = np.arange(tree.first_child[node], tree.first_child[node] + tree.n_children[node])
        n_more = 0
        if len(children) > most_children:
            n_kept = min(most_children - 1, max(int((rank[children] > 0).sum()), 2))
            n_more = len(children) - n_kept
            children = np.sort(children[np.argsort(-rank[children], kind="stable")[:n_kept]])
        for child in children:
            level[int(child)] = level[node] + 1
        first = []  # number of the first line of each branch
        for child in children:
            first.append(line)
            visit(int(child))
        if n_more:
            left_out[node] = n_more, line
            first.append(line)
            line += 1
        # The node is between two branches, so that no line between nodes crosses its text.
        height[node] = first[len(first) // 2] - 0.5

    visit(root)
    return Drawing(nodes, level, height, left_out, line)
