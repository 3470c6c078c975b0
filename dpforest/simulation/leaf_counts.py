"""Row counts in the leaves of random trees, for one forest or for many cells at once.

A cell is a pair of a depth and a number of trees. For many cells, each row is routed once through the largest and
deepest forest. The leaves of this forest give the counts of all cells, for two reasons. First, a deep tree that is cut
at depth d is the tree of depth d with the same seed. Second, the first trees of a large forest are a smaller forest.
"""

from dataclasses import dataclass

import numpy as np
from numba import njit

from dpforest.models.random.fit import count_kept_rows, rows_to_trees
from dpforest.models.random.spec import ForestSpec
from dpforest.privacy.randomness import DemoSource
from dpforest.simulation.pieces import NOISE_SEED
from dpforest.simulation.splits import Split
from dpforest.tables.domain import Domain
from dpforest.trees import routing
from dpforest.trees.layout import LEAF, Trees


@dataclass(frozen=True, eq=False)
class LeafCounts:
    """Counts of fitted rows in those leaves that hold a fitted row or that a held-out row reaches.

    Attributes
    ----------
    leaves : int array of shape (n,)
        Indices of these leaves among all leaves of the forest.
    counts : int64 array of shape (n, n_classes)
        Number of fitted rows of each class in each of these leaves. If the domain declares a unit (a column that
        identifies persons), the sum of the weights of these rows.
    empty : float
        Share of all leaves that hold no fitted row.
    leaf_index : int array
        Index into `leaves` of the leaf of each held-out row, of shape (n_trees, n_test). In the subclass
        `RoutedCounts`, index into `leaves` of each leaf that any held-out row reaches, of shape (n_reached,).
    """

    leaves: np.ndarray
    counts: np.ndarray
    empty: float
    leaf_index: np.ndarray

    def leaves_of_rows(self, n_trees: int) -> np.ndarray:
        """Return the index into `leaves` of each held-out row's leaf in the first trees, shape (n_trees, n_test)."""
        return self.leaf_index

    def tally(self, n_trees: int, labels: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Count held-out rows by class and by number of votes for the second of two classes.

        Parameters
        ----------
        n_trees : int
            Number of trees that vote.
        labels : uint8 array of shape (n, n_releases)
            Class index, 0 or 1, of each of `leaves` in each release.
        y : int array of shape (n_test,)
            Class index of each held-out row.

        Returns
        -------
        votes : int array of shape (n_releases, n_trees + 1, 2)
            Number of held-out rows for each release, number of votes for the second class, and class of the row.
        right : bool array of shape (n_test, n_releases)
            Whether the majority vote of each release classifies each row correctly.
        """
        histogram = np.empty((labels.shape[1], n_trees + 1, 2), np.int64)
        right = np.empty((len(y), len(histogram)), bool)
        for release in range(len(histogram)):
            votes = routing.votes_at_leaves(self.leaf_index, np.ascontiguousarray(labels[:, release]), 2)[:, 1]
            histogram[release] = np.bincount(2 * votes + y, minlength=2 * (n_trees + 1)).reshape(-1, 2)
            right[:, release] = (2 * votes > n_trees) == y
        return histogram, right


@dataclass(frozen=True, eq=False)
class RoutedCounts(LeafCounts):
    """`LeafCounts` of rows that were routed once for many cells.

    `test_leaves` is the index into `leaf_index` of the leaf of each held-out row in each tree of the largest forest,
    of shape (n_test, n_trees of the largest forest).
    """

    test_leaves: np.ndarray

    def leaves_of_rows(self, n_trees: int) -> np.ndarray:
        """See `LeafCounts.leaves_of_rows`."""
        return self.leaf_index[self.test_leaves[:, :n_trees]].T

    def tally(self, n_trees: int, labels: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """See `LeafCounts.tally`."""
        histogram = np.zeros((labels.shape[1], n_trees + 1, 2), np.int64)
        right = np.empty((len(y), len(histogram)), bool)
        _count_votes(self.test_leaves, n_trees, labels[self.leaf_index], y, histogram, right)
        return histogram, right


class RoutedRows:
    """The leaf of each held-out row in each tree of the deepest forest, and counts of fitted rows in all its leaves.

    `reached` are the leaves that at least one held-out row reaches.
    """

    def __init__(self, trees: Trees, domain: Domain, split: Split) -> None:
        self.trees, self.domain, self.split = trees, domain, split
        self._counts = dict[tuple[str, int, int], tuple[np.ndarray, np.ndarray]]()
        self.parent, self.level = _parents_and_levels(trees.kind, trees.first_child, trees.tree_start)
        self.reached, self.test_leaves = _reached(routing.leaves_of_rows(trees, domain, split.X_test), trees.n_leaves)

    def counts(self, spec: ForestSpec, seed: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the leaves that hold rows of a fit with this spec and seed, and their counts (n, n_classes).

        Leaves are numbered in the largest forest. If every row is in every tree, the result includes the leaves of all
        its trees, not only of the first `spec.n_trees` trees.
        """
        key = spec.partition, 0 if spec.partition == "shared" else spec.n_trees, seed
        if key not in self._counts:
            split = self.split
            tree_of_row = rows_to_trees(spec, split.row_ids, DemoSource(seed + NOISE_SEED), split.units)
            counts = count_kept_rows(
                self.trees, self.domain, split.X_train, split.y_train, tree_of_row, n_jobs=1, units=split.units
            )
            leaves = np.flatnonzero(has_rows(counts))
            self._counts[key] = leaves, counts[leaves]
        return self._counts[key]


class CutForest:
    """The deepest forest, cut off at a smaller depth."""

    def __init__(self, rows: RoutedRows, depth: int) -> None:
        trees, self.rows = rows.trees, rows
        # For each leaf of the deepest forest, the number of the leaf that the cut puts above it or in its place.
        self.leaf, self.leaf_start = _cut(trees.kind, rows.level, rows.parent, trees.tree_start, trees.n_leaves, depth)
        self.reached = self.leaf[rows.reached]

    def count(self, spec: ForestSpec, seed: int) -> RoutedCounts:
        """Assign rows to trees as in a fit with this spec and seed, and return the counts of rows in the leaves."""
        deep, deep_counts = self.rows.counts(spec, seed)
        n_leaves = int(self.leaf_start[spec.n_trees])
        # The rule "log-odds" compares each leaf with the class shares over all leaves, so `_gather` keeps all leaves.
        leaves, counts, n_held, leaf_index = _gather(
            self.leaf, deep, deep_counts, self.reached, n_leaves, spec.voting == "log-odds"
        )
        return RoutedCounts(leaves, counts, 1 - n_held / n_leaves, leaf_index, self.rows.test_leaves)


def has_rows(counts: np.ndarray) -> np.ndarray:
    """Return for each leaf of counts (n, n_classes) whether it holds a row. Column by column is faster than `any`."""
    is_filled = counts[:, 0] != 0
    for column in counts.T[1:]:
        is_filled |= column != 0
    return is_filled


@njit(nogil=True, cache=True)
def _parents_and_levels(kind, first_child, tree_start):
    """Return the parent of each node, and the number of tests above it. Nodes of a tree are in level order."""
    n = len(kind)
    parent, level = np.empty(n, np.int32), np.zeros(n, np.uint8)
    for t in range(len(tree_start) - 1):
        start, end = tree_start[t], tree_start[t + 1]
        parent[start], last = start, -1
        for node in range(start, end + 1):  # the step at `end` writes the children of the last inner node
            if node < end and kind[node] == LEAF:
                continue
            if last >= 0:
                for child in range(first_child[last], first_child[node] if node < end else end):
                    parent[child], level[child] = last, level[last] + 1
            last = node
    return parent, level


@njit(nogil=True, cache=True)
def _reached(leaves, n_leaves):
    """Return the leaves that rows reach, and the index into them of each row's leaf in each tree, (n, n_trees)."""
    n_trees, n = leaves.shape
    reached_index = np.full(n_leaves, -1, np.int32)
    for t in range(n_trees):
        for i in range(n):
            reached_index[leaves[t, i]] = 0
    reached = np.flatnonzero(reached_index == 0)
    for k in range(len(reached)):
        reached_index[reached[k]] = k
    rows = np.empty((n, n_trees), np.int32)
    for start in range(0, n, 64):  # in blocks, because the result is transposed
        for t in range(n_trees):
            for i in range(start, min(start + 64, n)):
                rows[i, t] = reached_index[leaves[t, i]]
    return reached, rows


@njit(nogil=True, cache=True)
def _cut(kind, level, parent, tree_start, n_leaves, depth):
    """Cut trees off at a depth.

    Returns
    -------
    leaf : int32 array of shape (n_leaves,)
        For each leaf of the uncut trees, the number of the leaf of the cut trees that the same rows reach.
    leaf_start : int64 array of shape (n_trees + 1,)
        Number of the first leaf of each cut tree.
    """
    number, leaf = np.empty(len(kind), np.int32), np.empty(n_leaves, np.int32)
    leaf_start = np.zeros(len(tree_start), np.int64)
    n_cut, n_deep = 0, 0
    for t in range(len(tree_start) - 1):
        for node in range(tree_start[t], tree_start[t + 1]):
            if level[node] > depth:
                number[node] = number[parent[node]]
            elif level[node] == depth or kind[node] == LEAF:
                number[node] = n_cut
                n_cut += 1
            if kind[node] == LEAF:
                leaf[n_deep] = number[node]
                n_deep += 1
        leaf_start[t + 1] = n_cut
    return leaf, leaf_start


@njit(nogil=True, cache=True)
def _gather(cut, deep, deep_counts, reached, n_leaves, takes_all):
    """Add up counts in the leaves of cut trees.

    Parameters
    ----------
    cut : int32 array
        For each deep leaf, the leaf of the cut trees that the same rows reach.
    deep, deep_counts : int array of shape (m,), int64 array of shape (m, n_classes)
        Deep leaves that hold rows, and their counts.
    reached : int32 array
        Leaves of the cut trees that held-out rows reach.
    n_leaves : int
        Number of leaves to consider: the first `n_leaves` leaves of the cut trees.
    takes_all : bool
        Whether to keep all of these leaves.

    Returns
    -------
    leaves : int64 array of shape (n,)
        Leaves that hold a fitted row or that a held-out row reaches, or all leaves.
    counts : int64 array of shape (n, n_classes)
        Counts in these leaves.
    n_held : int
        Number of leaves that hold a fitted row.
    kept_index : int32 array
        Index into `leaves` of each reached leaf; n - 1 if the leaf is not among the first `n_leaves` leaves.
    """
    kept_index = np.full(n_leaves, -1, np.int32)
    n_held = 0
    for d in deep:
        if cut[d] < n_leaves and kept_index[cut[d]] < 0:
            kept_index[cut[d]] = 0
            n_held += 1
    for leaf in reached:
        if leaf < n_leaves:
            kept_index[leaf] = 0
    n = 0
    for leaf in range(n_leaves):
        if takes_all or kept_index[leaf] == 0:
            kept_index[leaf] = n
            n += 1
    leaves, counts = np.empty(n, np.int64), np.zeros((n, deep_counts.shape[1]), np.int64)
    for leaf in range(n_leaves):
        if kept_index[leaf] >= 0:
            leaves[kept_index[leaf]] = leaf
    for i in range(len(deep)):
        leaf = cut[deep[i]]
        if leaf < n_leaves:
            for c in range(deep_counts.shape[1]):
                counts[kept_index[leaf], c] += deep_counts[i, c]
    reached_index = np.empty(len(reached), np.int32)
    for i in range(len(reached)):
        reached_index[i] = kept_index[reached[i]] if reached[i] < n_leaves else n - 1
    return leaves, counts, n_held, reached_index


@njit(nogil=True, cache=True)
def _count_votes(test_leaves, n_trees, labels, y, votes, right):
    """Compute the results of `RoutedCounts.tally` for all releases, and write them into `votes` and `right`.

    `labels` (n_reached, n_releases) are the classes of the leaves that held-out rows reach. `test_leaves` are the
    indices of these leaves for each row and tree.
    """
    n_releases = labels.shape[1]
    if n_releases == 1:
        class_of_leaf = labels[:, 0]
        for i in range(len(test_leaves)):
            votes_for_1 = 0
            for t in range(n_trees):
                votes_for_1 += class_of_leaf[test_leaves[i, t]]
            votes[0, votes_for_1, y[i]] += 1
            right[i, 0] = (2 * votes_for_1 > n_trees) == (y[i] == 1)
        return
    ones = np.empty(n_releases, np.int32)
    for i in range(len(test_leaves)):
        ones[:] = 0
        for t in range(n_trees):
            leaf_labels = labels[test_leaves[i, t]]
            for e in range(n_releases):
                ones[e] += leaf_labels[e]
        for e in range(n_releases):
            votes[e, ones[e], y[i]] += 1
            right[i, e] = (2 * ones[e] > n_trees) == (y[i] == 1)
