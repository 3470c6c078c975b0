"""Data for the drawing with sliders on the page Explore: a curve of accuracy, and one tree.

The user moves sliders for ε, depth, number of trees and α. `Curves` holds the accuracy of simulated releases at the
present settings and at neighboring settings. `drawn_tree` describes one tree. JavaScript in the browser draws the
curve and the tree from these numbers and texts, for each position of a slider. Texts may hold any character, so
JavaScript must insert them as text, never as markup.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from html import unescape
from typing import Any, Final

import numpy as np

from dpforest.plotting.style import visible
from dpforest.plotting.words import answer, question
from dpforest.simulation.pieces import Row
from dpforest.simulation.views import ForestView
from dpforest.trees.layout import LEAF, Trees

# Largest number of ends in a drawing. An end is a leaf, or a node whose children are not drawn.
MOST_ENDS: Final = 128
_WIDER: Final = 6  # width of an end with rows, as a multiple of the width of an end without rows
_DIGITS: Final = 5

Line = dict[str, list[float | None]]


@dataclass(frozen=True)
class Curves:
    """Accuracy of simulated releases over ε, at the present settings and with one setting changed.

    Parameters
    ----------
    epsilons : sequence of float
        The ε of the points of all lines, in rising order.
    line : dict
        The line of the present settings (`line_of`).
    by_depth : dict of int to dict
        Lines at other depths. The number of trees is the one that the forest has if the user sets the depth.
    by_trees : dict of int to dict
        Lines at other numbers of trees. The depth is the one that the forest has if the user sets the number of trees.
    by_alpha : dict of str to dict
        Lines with other choices of α, by the name of the choice; empty for forests that are not boosted.
    """

    epsilons: Sequence[float]
    line: Line
    by_depth: Mapping[int, Line] = field(default_factory=dict)
    by_trees: Mapping[int, Line] = field(default_factory=dict)
    by_alpha: Mapping[str, Line] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """Return the lines as lists and dictionaries, for JSON."""
        return {
            "epsilons": [float(epsilon) for epsilon in self.epsilons],
            "line": self.line,
            "byDepth": {str(depth): line for depth, line in self.by_depth.items()},
            "byTrees": {str(trees): line for trees, line in self.by_trees.items()},
            "byAlpha": dict(self.by_alpha),
        }


def line_of(rows: Sequence[Row], epsilons: Sequence[float], measure: str = "accuracy") -> Line:
    """Return the mean and the spread of a measure over simulated releases, with depth and number of trees.

    Parameters
    ----------
    rows : sequence of dict
        Results of simulated releases of one forest, from `Simulation.pieces`.
    epsilons : sequence of float
        Budgets of the line.
    measure : {"accuracy", "balanced_accuracy"}
        Name of the measure.

    Returns
    -------
    dict
        Lists ``mean``, ``spread`` (standard deviation over releases, 0 for one release), ``depth`` and ``trees``
        (medians), with one element for each ε. An element is None if no release was simulated at its ε.
    """
    line: Line = {"mean": [], "spread": [], "depth": [], "trees": []}
    for epsilon in epsilons:
        releases = [row for row in rows if row["epsilon"] == epsilon]
        values = np.array([row[measure] for row in releases], float)
        values = values[np.isfinite(values)]
        line["mean"].append(_rounded(values.mean()) if len(values) else None)
        line["spread"].append(_rounded(values.std(ddof=1)) if len(values) > 1 else 0.0 if len(values) else None)
        for name in ("depth", "trees"):
            line[name].append(
                float(np.quantile([row[name] for row in releases], 0.5, method="lower")) if releases else None
            )
    return line


def _rounded(value: float) -> float:
    return round(float(value), _DIGITS)


def drawn_tree(
    view: ForestView,
    tree: int,
    epsilons: Sequence[float],
    flips_at: Callable[[float], np.ndarray | None],
) -> dict[str, Any]:
    """Describe one tree of a simulated release, down to the level at which it has at most `MOST_ENDS` ends.

    Parameters
    ----------
    view : ForestView
        The simulated release.
    tree : int
        Index of the tree.
    epsilons : sequence of float
        Budgets at which flip probabilities are listed.
    flips_at : callable
        Returns the flip probability of each leaf of the tree at an ε, or None if it is unknown (`Simulation.flips_at`).

    Returns
    -------
    dict
        - ``classes``: names of the classes of the tree.
        - ``nodes``: one dictionary for each drawn node, in level order: ``parent`` (index; -1 for the root), ``level``,
          ``asks`` (text of the test; empty for a leaf), ``answer`` (the answer that leads to the node),
          ``left`` and ``right`` (horizontal extent, from 0 to 1), ``rows`` (number of rows; with a unit: of persons),
          ``rows_of_persons`` (with a unit: number of rows; else None), ``label`` (index of the class without noise; -1
          without rows), ``other`` (index of the class with the most rows except the label, which noise may publish),
          ``flips`` (of an end, for each ε, the probability that noise changes the label; None if unknown), ``below``
          (number of leaves that an end stands for; 0 for other nodes), and ``value`` (in boosted trees, what the leaf
          adds to a score, as text, with the standard deviation of its noise; else empty). An end is a leaf, or a node
          whose children are not drawn. The label of a leaf is the class with the most evidence (`ForestView.noise`).
          The label of an inner node, and of a leaf of a boosted tree, is the class with the most rows.
        - ``depth``: largest level of the tree.

        A unit is a column of the domain that identifies persons.
    """
    nodes = view.nodes(tree)
    trees, domain = nodes.trees, view.domain_of(tree)
    deepest = _deepest_drawn(trees)
    drawn_nodes = np.flatnonzero(trees.level <= deepest)
    place = {int(node): i for i, node in enumerate(drawn_nodes)}
    first, last = extents(trees, deepest, np.where(nodes.counts.any(axis=1), _WIDER, 1))
    leaf_sizes = view.n_counted[int(view.trees.leaf_start[tree]) : int(view.trees.leaf_start[tree + 1])]
    values = dict(zip(trees.leaf_nodes.tolist(), _values(view, tree), strict=True)) if _is_booster(view) else {}
    flips = _flips(trees, deepest, leaf_sizes, [flips_at(epsilon) for epsilon in epsilons])
    below = _leaves_below(trees)
    true_labels = {} if values else dict(zip(trees.leaf_nodes.tolist(), _true_labels(view, tree), strict=True))
    described = []
    for node in drawn_nodes.tolist():
        counts = nodes.counts[node]
        is_end = trees.kind[node] == LEAF or trees.level[node] == deepest
        order = np.argsort(-counts, kind="stable").tolist()
        label = true_labels.get(node, order[0])
        other = order[0] if label != order[0] else order[1]
        described.append(
            {
                "parent": place[int(trees.parent[node])] if trees.level[node] else -1,
                "level": int(trees.level[node]),
                "asks": "" if trees.kind[node] == LEAF else visible(unescape(question(trees, domain, node, 40))),
                "answer": visible(unescape(answer(trees, domain, node, 40))),
                "left": _rounded(first[node]),
                "right": _rounded(last[node]),
                "rows": _rounded(counts.sum()),
                "rows_of_persons": None if domain.unit is None else int(nodes.n_rows[node]),
                "label": label if counts.any() else -1,
                "other": other,
                "flips": flips.get(node) if is_end else None,
                "below": int(below[node]) if is_end else 0,
                "value": values.get(node, "") if is_end else "",
            }
        )
    return {
        "classes": [visible(str(label)) for label in domain.classes],
        "nodes": described,
        "depth": int(trees.level.max()),
    }


def _is_booster(view: ForestView) -> bool:
    return view.added is not None or view.leaf_values is not None


def _true_labels(view: ForestView, tree: int) -> list[int]:
    """Return the class of each leaf without noise; -1 for an empty leaf."""
    return view.true_labels[int(view.trees.leaf_start[tree]) : int(view.trees.leaf_start[tree + 1])].tolist()


def _values(view: ForestView, tree: int) -> list[str]:
    """Return what each leaf adds to a score, as text, with the standard deviation of its noise if it is known.

    If a leaf adds to the scores of more than two classes, the text shows the largest of these numbers.
    """
    leaves = slice(int(view.trees.leaf_start[tree]), int(view.trees.leaf_start[tree + 1]))
    if view.added is not None:
        scores, noise = view.added.leaf_scores[leaves], view.added.noise
        added = scores[:, 1] if scores.shape[1] == 2 else scores.max(axis=1)
        spread = f" ± {noise:.2g}" if np.isfinite(noise) else ""
        return [f"{value:+.2g}{spread}" for value in added.tolist()]
    assert view.leaf_values is not None
    values = [f"{value:+.2g}" for value in view.leaf_values[leaves].tolist()]
    if view.value_spread is None:
        return values
    return [f"{value} ± {spread:.2g}" for value, spread in zip(values, view.value_spread[leaves].tolist(), strict=True)]


def _deepest_drawn(trees: Trees) -> int:
    """Return the lowest level to draw: the deepest one with at most `MOST_ENDS` ends, but level 1 if there is none."""
    for level in range(int(trees.level.max()), 0, -1):
        ends = (trees.level == level) | ((trees.kind == LEAF) & (trees.level < level))
        if ends.sum() <= MOST_ENDS:
            return level
    return 1 if trees.n_nodes > 1 else 0


def _children(trees: Trees, node: int) -> range:
    start = int(trees.first_child[node])
    return range(start, start + int(trees.n_children[node])) if trees.kind[node] != LEAF else range(0)


def extents(trees: Trees, deepest: int, widths: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the left and the right edge of each node down to level `deepest`, from 0 to 1.

    `widths` are the relative widths of nodes; only those of ends (leaves, and nodes at level `deepest`) are used.
    """
    left, right = np.zeros(trees.n_nodes), np.zeros(trees.n_nodes)
    edge, stack = 0.0, [(0, False)]
    while stack:
        node, is_closed = stack.pop()
        if is_closed:
            children = _children(trees, node)
            left[node], right[node] = left[children[0]], right[children[-1]]
        elif trees.kind[node] == LEAF or trees.level[node] == deepest:
            left[node], right[node] = edge, edge + widths[node]
            edge = right[node]
        else:
            stack.append((node, True))
            stack.extend((child, False) for child in reversed(_children(trees, node)))
    return left / edge, right / edge


def _leaves_below(trees: Trees) -> np.ndarray:
    """Return the number of leaves at or below each node."""
    n = (trees.kind == LEAF).astype(np.int64)
    for level in range(int(trees.level.max()), 0, -1):
        nodes = np.flatnonzero(trees.level == level)
        np.add.at(n, trees.parent[nodes], n[nodes])
    return n


def _flips(
    trees: Trees, deepest: int, n_rows: np.ndarray, flips: Sequence[np.ndarray | None]
) -> dict[int, list[float | None]]:
    """Return the flip probability of each end at each ε; for an end with several leaves, the mean over their rows."""
    end = trees.leaf_nodes.copy()
    while (inner := trees.level[end] > deepest).any():
        end[inner] = trees.parent[end[inner]]
    ends, end_of_leaf = np.unique(end, return_inverse=True)
    rows = np.bincount(end_of_leaf, n_rows)
    columns: list[list[float | None]] = []
    for leaf_flips in flips:
        if leaf_flips is None:
            columns.append([None] * len(ends))
            continue
        mean = np.bincount(end_of_leaf, np.nan_to_num(leaf_flips) * n_rows) / np.maximum(rows, 1e-12)
        columns.append([_rounded(m) if n else None for m, n in zip(mean.tolist(), rows.tolist(), strict=True)])
    return {node: [column[i] for column in columns] for i, node in enumerate(ends.tolist())}
