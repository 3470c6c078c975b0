"""Slow, obvious twins of the kernels: one row, one tree, one step at a time. For tests and for reading."""

import numpy as np

from dpforest.trees.layout import LEAF, MULTIWAY, NUMERIC, Trees


def path_of_row(trees: Trees, tree: int, codes: np.ndarray) -> list[int]:
    """Nodes that one row of codes passes in one tree, root first, leaf last."""
    node = int(trees.tree_start[tree])
    path = [node]
    while trees.kind[node] != LEAF:
        x = int(codes[trees.feature[node]])
        if trees.kind[node] == MULTIWAY:
            step = x
        elif trees.kind[node] == NUMERIC:
            step = int(x > trees.threshold[node])
        else:
            step = int(x == trees.threshold[node])
        node = int(trees.first_child[node]) + step
        path.append(node)
    return path


def leaves_of_rows(trees: Trees, codes: np.ndarray) -> np.ndarray:
    """Twin of `routing.leaves_of_rows`: int32 (n_trees, n)."""
    number = {int(node): i for i, node in enumerate(np.flatnonzero(trees.kind == LEAF))}
    found = [[number[path_of_row(trees, t, row)[-1]] for row in codes] for t in range(trees.n_trees)]
    return np.array(found, np.int32).reshape(trees.n_trees, len(codes))


def count_rows(trees: Trees, codes, y, *, n_classes: int, tree_of_row=None) -> np.ndarray:
    """Twin of `routing.count_rows`: int64 (n_leaves, n_classes)."""
    leaves = leaves_of_rows(trees, codes)
    counts = np.zeros((trees.n_leaves, n_classes), np.int64)
    for i, label in enumerate(y):
        for t in range(trees.n_trees) if tree_of_row is None else [tree_of_row[i]]:
            counts[leaves[t, i], label] += 1
    return counts


def votes_of_rows(trees: Trees, codes, labels, *, n_classes: int) -> np.ndarray:
    """Twin of `routing.scorer` where leaves have labels: int32 (n, n_classes)."""
    votes = np.zeros((len(codes), n_classes), np.int32)
    for leaves in leaves_of_rows(trees, codes):
        for i, leaf in enumerate(leaves):
            votes[i, labels[leaf]] += 1
    return votes


def shares_of_rows(trees: Trees, codes, shares) -> np.ndarray:
    """Twin of `routing.scorer` where leaves have shares: float64 (n, n_classes)."""
    return shares[leaves_of_rows(trees, codes)].sum(axis=0)
