"""Row counts in the leaves of random trees: rows stream through one forest, or are routed once for many cells.

A leaf at depth d of a shallower forest is an inner node of a deeper one, and the first trees of a forest are a forest.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numba import njit

from dpforest.models.random.fit import rows_to_trees
from dpforest.models.random.spec import ForestSpec
from dpforest.privacy.randomness import DemoSource
from dpforest.simulation.pieces import NOISE_SEED
from dpforest.simulation.splits import Split
from dpforest.tables.domain import Domain
from dpforest.trees import routing
from dpforest.trees.layout import LEAF, Trees


@dataclass(frozen=True, eq=False)
class LeafCounts:
    """Counts of fitted rows, in the leaves that hold a fitted row or that a held-out row reaches.

    Attributes
    ----------
    leaves : int array of shape (n,)
        Numbers of these leaves in the forest.
    counts : int64 array of shape (n, n_classes)
    empty : float
        Share of all leaves that hold no fitted row.
    place : int array
        Index into `leaves` of the leaf of each held-out row, of shape (n_trees, n_test). In `RoutedCounts`, index into
        `leaves` of each leaf that a held-out row reaches, of shape (n_asked,).
    """

    leaves: np.ndarray
    counts: np.ndarray
    empty: float
    place: np.ndarray

    def at(self, n_trees: int) -> np.ndarray:
        """Return the index into `leaves` of the leaf of each held-out row, int (n_trees, n_test)."""
        return self.place

    def tally(self, n_trees: int, labels: np.ndarray, y: np.ndarray) -> np.ndarray:
        """Count rows of two classes by the number of votes for the second, int (n_releases, n_trees + 1, 2)."""
        out = np.empty((labels.shape[1], n_trees + 1, 2), np.int64)
        for release in range(len(out)):
            votes = routing.votes_at_leaves(self.place, np.ascontiguousarray(labels[:, release]), 2)
            out[release] = np.bincount(2 * votes[:, 1] + y, minlength=2 * (n_trees + 1)).reshape(-1, 2)
        return out


@dataclass(frozen=True, eq=False)
class RoutedCounts(LeafCounts):
    """`LeafCounts` of rows that were routed once for many cells.

    `test`, of shape (n_test, n_trees of the largest forest), is the index into `place` of each held-out row's leaf.
    """

    test: np.ndarray

    def at(self, n_trees: int) -> np.ndarray:
        """See `LeafCounts.at`."""
        return self.place[self.test[:, :n_trees]].T

    def tally(self, n_trees: int, labels: np.ndarray, y: np.ndarray) -> np.ndarray:
        """See `LeafCounts.tally`."""
        out = np.zeros((labels.shape[1], n_trees + 1, 2), np.int64)
        _count_votes(self.test, n_trees, labels[self.place], y, out)
        return out


class RoutedRows:
    """Leaves of all rows in the deepest trees; `asked` are those that a held-out row reaches."""

    def __init__(self, trees: Trees, domain: Domain, split: Split) -> None:
        self.trees, self.domain, self.split = trees, domain, split
        self.train = routing.leaves_of_rows(trees, domain, split.X_train)
        test = routing.leaves_of_rows(trees, domain, split.X_test)
        asked = np.zeros(trees.n_leaves, bool)
        asked[test] = True
        self.asked = np.flatnonzero(asked)
        self.test = np.ascontiguousarray((np.cumsum(asked, dtype=np.int32) - 1)[test].T)  # indices into `asked`

    @cached_property
    def all_counts(self) -> tuple[np.ndarray, np.ndarray]:
        """Leaves that hold rows if every row is in every tree, and their counts (n, n_classes)."""
        k = self.domain.n_classes
        cells = np.bincount(
            (self.train.astype(np.int64) * k + self.split.y_train).reshape(self.train.size),
            minlength=self.trees.n_leaves * k,
        ).reshape(-1, k)
        leaves = np.flatnonzero(cells.any(axis=1))
        return leaves, cells[leaves]


class Level:
    """The deepest forest cut off at a smaller depth; computed from a deeper cut, if there is one."""

    def __init__(self, rows: RoutedRows, depth: int, deeper: "Level | None" = None) -> None:
        trees, self.rows = rows.trees, rows
        is_leaf = (trees.level == depth) | ((trees.kind == LEAF) & (trees.level < depth))
        number = np.cumsum(is_leaf, dtype=np.int32)
        node = trees.leaf_nodes if deeper is None else deeper.node
        while (below := trees.level[node] > depth).any():
            node = np.where(below, trees.parent[node], node)
        self.node: np.ndarray = node  # the leaf of this cut above each deepest leaf
        self.leaf = number[node] - np.int32(1)
        self.leaf_start = np.append(0, number)[trees.tree_start]
        self.asked = self.leaf[rows.asked]

    def count(self, spec: ForestSpec, seed: int) -> RoutedCounts:
        """Assign rows to trees as planned, and count them in the leaves of `LeafCounts`."""
        rows, k, end = self.rows, self.rows.domain.n_classes, int(self.leaf_start[spec.n_trees])
        tree_of_row = rows_to_trees(spec, np.arange(len(rows.split.y_train)), DemoSource(seed + NOISE_SEED))
        if tree_of_row is None:
            deep, weight = rows.all_counts
            leaf = self.leaf[deep]
            inside = leaf < end
            leaf, weight = leaf[inside], weight[inside]
        else:
            kept = np.flatnonzero(tree_of_row >= 0)
            leaf = self.leaf[rows.train[tree_of_row[kept], kept]]
            weight = np.eye(k, dtype=np.int64)[rows.split.y_train[kept]]
        used, asked = np.zeros(end, bool), self.asked
        used[leaf] = True
        empty = 1 - np.count_nonzero(used) / end
        used |= spec.voting == "log-odds"  # the prior of log-odds depends on all leaves
        used[asked[asked < end]] = True
        place = np.cumsum(used, dtype=np.int32) - 1
        counts = np.zeros((int(place[-1]) + 1, k), np.int64)
        _add_rows(counts, place[leaf], weight)
        return RoutedCounts(np.flatnonzero(used), counts, empty, place[np.minimum(asked, end - 1)], rows.test)


@njit(nogil=True, cache=True)
def _add_rows(counts, place, weight):
    for i in range(len(place)):
        for c in range(counts.shape[1]):
            counts[place[i], c] += weight[i, c]


@njit(nogil=True, cache=True)
def _count_votes(test, n_trees, labels, y, votes):
    """Count rows of each class by the number of trees that vote for the second class, for all releases at once.

    `labels` (n_asked, n_releases) are the classes of the leaves that held-out rows reach.
    """
    n_releases = labels.shape[1]
    if n_releases == 1:
        only = labels[:, 0]
        for i in range(len(test)):
            one = 0
            for t in range(n_trees):
                one += only[test[i, t]]
            votes[0, one, y[i]] += 1
        return
    ones = np.empty(n_releases, np.int32)
    for i in range(len(test)):
        ones[:] = 0
        for t in range(n_trees):
            of_leaf = labels[test[i, t]]
            for e in range(n_releases):
                ones[e] += of_leaf[e]
        for e in range(n_releases):
            votes[e, ones[e], y[i]] += 1
