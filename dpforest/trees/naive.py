"""Slow, simple versions of the kernels, for tests and for readers. They handle one row and one tree at a time."""

import numpy as np

from dpforest.trees.candidates import Candidates
from dpforest.trees.layout import LEAF, MULTIWAY, NUMERIC, Trees


def path_of_row(trees: Trees, tree: int, codes: np.ndarray) -> list[int]:
    """Return the nodes on the path of one row of codes in one tree, from the root to the leaf."""
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
    """Return the result of `routing.leaves_of_rows`: int32 (n_trees, n)."""
    number = {int(node): i for i, node in enumerate(np.flatnonzero(trees.kind == LEAF))}
    leaves = [[number[path_of_row(trees, t, row)[-1]] for row in codes] for t in range(trees.n_trees)]
    return np.array(leaves, np.int32).reshape(trees.n_trees, len(codes))


def count_rows(trees: Trees, codes, y, *, n_classes: int, tree_of_row=None) -> np.ndarray:
    """Return the result of `routing.count_rows`: int64 (n_leaves, n_classes)."""
    leaves = leaves_of_rows(trees, codes)
    counts = np.zeros((trees.n_leaves, n_classes), np.int64)
    for i, label in enumerate(y):
        for t in range(trees.n_trees) if tree_of_row is None else [tree_of_row[i]]:
            counts[leaves[t, i], label] += 1
    return counts


def votes_of_rows(trees: Trees, codes, labels, *, n_classes: int) -> np.ndarray:
    """Return what the function of `routing.scorer` returns for leaves with labels: int32 (n, n_classes)."""
    votes = np.zeros((len(codes), n_classes), np.int32)
    for leaves in leaves_of_rows(trees, codes):
        for i, leaf in enumerate(leaves):
            votes[i, labels[leaf]] += 1
    return votes


def shares_of_rows(trees: Trees, codes, shares) -> np.ndarray:
    """Return what the function of `routing.scorer` returns for leaves with shares: float64 (n, n_classes)."""
    return shares[leaves_of_rows(trees, codes)].sum(axis=0)


def answer(candidates: Candidates, test: int, codes: np.ndarray) -> int:
    """Return the answer of a row of codes to a test: 0 leads to the left child, 1 to the right child."""
    x = int(codes[candidates.feature[test]])
    numeric = candidates.kind[test] == NUMERIC
    return int(x > candidates.threshold[test] if numeric else x == candidates.threshold[test])


def grow_tree(candidates: Candidates, codes, y, weight, *, n_classes: int, depth: int, choose):
    """Return the results of `greedy_trees.grow_tree`, computed from codes instead of bins.

    The bin of a numeric code is the number of tests of its feature that have the answer 1.
    """
    first, slot = candidates.first, candidates.slot
    n_features, n_slots = len(first) - 1, int(slot[-1])
    tests_of = [range(first[f], first[f + 1]) for f in range(n_features)]

    def bin_of(row, f: int) -> int:
        numeric = len(tests_of[f]) > 0 and candidates.kind[first[f]] == NUMERIC
        return sum(answer(candidates, c, row) for c in tests_of[f]) if numeric else int(row[f])

    def goes_right(test: int, b: int) -> bool:
        return b > candidates.cut[test] if candidates.kind[test] == NUMERIC else b == candidates.cut[test]

    places = [0] * len(codes)
    # For each node of the level and each feature: the bins that can reach the node.
    possible = [[set(range(slot[f + 1] - slot[f])) for f in range(n_features)]]
    split, chosen = [True], []
    for level in range(depth):
        histogram = np.zeros((2**level, n_slots, n_classes), np.int64)
        for i, row in enumerate(codes):
            for f in range(n_features):
                histogram[places[i], slot[f] + bin_of(row, f), y[i]] += weight[i]
        allowed = np.zeros((2**level, candidates.n_candidates), bool)
        for node, bins in enumerate(possible):
            for c, f in enumerate(candidates.feature):
                allowed[node, c] = len({bool(goes_right(c, b)) for b in bins[f]}) == 2
            if not allowed[node].any():
                allowed[node] = True
        picks = [int(c) if inner else -1 for c, inner in zip(choose(level, histogram, allowed), split, strict=True)]
        split = [c >= 0 for c in picks for _ in range(2)]
        places = [2 * p + (answer(candidates, picks[p], row) if picks[p] >= 0 else 0) for p, row in zip(places, codes)]
        children = []
        for node, c in enumerate(picks):
            for side in range(2):
                bins = [set(b) for b in possible[node]]
                if c >= 0:
                    f = candidates.feature[c]
                    bins[f] = {b for b in bins[f] if goes_right(c, b) == bool(side)}
                children.append(bins)
        possible = children
        chosen.append(np.array(picks))
    return chosen, np.array(places, np.int32)
