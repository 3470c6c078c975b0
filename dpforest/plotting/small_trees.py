"""Data for small drawings of trees: the path of one record through the first trees of a forest, and all votes."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from dpforest.plotting.instrument import extents
from dpforest.plotting.style import visible
from dpforest.simulation.views import ForestView
from dpforest.trees.layout import Trees
from dpforest.trees.routing import leaves_of_rows

MOST_TREES: Final = 30
DEEPEST: Final = 3  # level of the lowest nodes in a small drawing
_WIDTH: Final = 99  # horizontal positions are integers from 0 to this number


def small_trees(view: ForestView, codes: np.ndarray) -> dict[str, Any]:
    """Describe how each of the first trees treats one encoded row.

    Parameters
    ----------
    view : ForestView
        The simulated release.
    codes : integer array of shape (n_features,)
        Encoded row (`Domain.encode`).

    Returns
    -------
    dict
        - ``trees``: one dictionary for each of the first `MOST_TREES` trees. ``nodes`` has for each node down to level
          `DEEPEST` its horizontal position from 0 to 99, its level, and the index of its parent (-1 for the root).
          ``path`` has the indices of the nodes that the row passes. ``label`` is the index of the class that the row's
          leaf supports; -1 if it supports several classes. ``added`` is what this leaf adds to a score, as text; it is
          empty if trees vote instead of adding scores. ``score`` is the index of the only class to whose score the
          tree adds; -1 if there is no such class.
        - ``votes``: number of trees that vote for each class, over all trees; empty if trees add scores.
        - ``classes``: names of the classes.
        - ``n_trees``: number of all trees.
    """
    leaves = leaves_of_rows(view.trees, view.domain, codes[None])[:, 0]
    labels, added = _labels_and_scores(view, leaves)
    tree_data = [
        {
            **_shape(view.trees.select(tree), view.path(tree, codes)),
            "label": labels[tree],
            "added": added[tree],
            "score": _class_of(view, tree),
        }
        for tree in range(min(view.trees.n_trees, MOST_TREES))
    ]
    votes = [] if added[0] else np.bincount(labels, minlength=view.domain.n_classes).tolist()
    classes = [visible(str(label)) for label in view.domain.classes]
    return {"trees": tree_data, "votes": votes, "classes": classes, "n_trees": view.trees.n_trees}


def _class_of(view: ForestView, tree: int) -> int:
    """Return the index of the only class to whose score a tree adds; -1 if there is no such class."""
    if view.class_of_tree is None or view.domain.n_classes == 2:
        return -1
    return int(view.class_of_tree[tree])


def _labels_and_scores(view: ForestView, leaves: np.ndarray) -> tuple[list[int], list[str]]:
    """Return the class that each leaf supports, and what the leaf adds to the score of this class, as text.

    A boosted tree may belong to a class (`ForestView.class_of_tree`). Then a leaf with a positive value supports this
    class, and a leaf with a negative value supports the other classes. For a negative value, the returned class is -1
    if there is more than one other class.
    """
    if view.added is not None:
        scores = view.added.leaf_scores[leaves]
        best = scores.argmax(axis=1)
        return best.tolist(), [f"{score:+.2g}" for score in scores.max(axis=1).tolist()]
    if view.leaf_values is None or view.class_of_tree is None:
        return view.labels[leaves].tolist(), [""] * len(leaves)
    values, classes = view.leaf_values[leaves], view.class_of_tree
    if view.domain.n_classes == 2:
        return (values > 0).astype(int).tolist(), [f"{value:+.2g}" for value in values.tolist()]
    return np.where(values > 0, classes, -1).tolist(), [f"{value:+.2g}" for value in values.tolist()]


def _shape(trees: Trees, path: list[int]) -> dict[str, Any]:
    """Return the nodes of a tree down to level `DEEPEST`, and those of them that are on a path.

    The nodes of `trees` must be in level order.
    """
    drawn_nodes = np.flatnonzero(trees.level <= DEEPEST)
    index = {int(node): i for i, node in enumerate(drawn_nodes)}
    left, right = extents(trees, DEEPEST, np.ones(trees.n_nodes))
    middle = np.rint((left[drawn_nodes] + right[drawn_nodes]) / 2 * _WIDTH).astype(int).tolist()
    levels, parents = trees.level[drawn_nodes].tolist(), trees.parent[drawn_nodes].tolist()
    return {
        "nodes": [[x, level, index[p] if level else -1] for x, level, p in zip(middle, levels, parents, strict=True)],
        "path": [index[node] for node in path if node in index],
    }
