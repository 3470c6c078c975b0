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
    place : int array
        Index into `leaves` of the leaf of each held-out row, of shape (n_trees, n_test). In the subclass
        `RoutedCounts`, index into `leaves` of each leaf that any held-out row reaches, of shape (n_reached,).
    """

    leaves: np.ndarray
    counts: np.ndarray
    empty: float
    place: np.ndarray

    def at(self, n_trees: int) -> np.ndarray:
        """Return the index into `leaves` of each held-out row's leaf in each of the first trees, (n_trees, n_test)."""
        return self.place

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
        out = np.empty((labels.shape[1], n_trees + 1, 2), np.int64)
        right = np.empty((len(y), len(out)), bool)
        for release in range(len(out)):
            votes = routing.votes_at_leaves(self.place, np.ascontiguousarray(labels[:, release]), 2)[:, 1]
            out[release] = np.bincount(2 * votes + y, minlength=2 * (n_trees + 1)).reshape(-1, 2)
            right[:, release] = (2 * votes > n_trees) == y
        return out, right


@dataclass(frozen=True, eq=False)
class RoutedCounts(LeafCounts):
    """`LeafCounts` of rows that were routed once for many cells.

    `test` is the index into `place` of the leaf of each held-out row in each tree of the largest forest. Its shape is
    (n_test, n_trees of the largest forest).
    """

    test: np.ndarray

    def at(self, n_trees: int) -> np.ndarray:
        """See `LeafCounts.at`."""
        return self.place[self.test[:, :n_trees]].T

    def tally(self, n_trees: int, labels: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """See `LeafCounts.tally`."""
        out = np.zeros((labels.shape[1], n_trees + 1, 2), np.int64)
        right = np.empty((len(y), len(out)), bool)
        _count_votes(self.test, n_trees, labels[self.place], y, out, right)
        return out, right


class RoutedRows:
    """The leaf of every held-out row in every tree of the deepest forest, and counts of the fitted rows in its leaves.

    `reached` are the leaves that at least one held-out row reaches.
    """

    def __init__(self, trees: Trees, domain: Domain, split: Split) -> None:
        self.trees, self.domain, self.split = trees, domain, split
        self._counts = dict[tuple[str, int, int], tuple[np.ndarray, np.ndarray]]()
        test = routing.leaves_of_rows(trees, domain, split.X_test)
        is_reached = np.zeros(trees.n_leaves, bool)
        is_reached[test] = True
        self.reached = np.flatnonzero(is_reached)
        self.test = np.ascontiguousarray((np.cumsum(is_reached, dtype=np.int32) - 1)[test].T)  # indices into `reached`

    def counts(self, spec: ForestSpec, seed: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the leaves that hold rows of a fit with this spec and seed, and their counts (n, n_classes).

        If every row is in every tree, the leaves are those of the largest forest.
        """
        key = spec.partition, 0 if spec.partition == "shared" else spec.n_trees, seed
        if key not in self._counts:
            split = self.split
            tree_of_row = rows_to_trees(spec, split.row_ids, DemoSource(seed + NOISE_SEED), split.units)
            counts = count_kept_rows(
                self.trees, self.domain, split.X_train, split.y_train, tree_of_row, n_jobs=1, units=split.units
            )
            leaves = np.flatnonzero(counts.any(axis=1))
            self._counts[key] = leaves, counts[leaves]
        return self._counts[key]


class Level:
    """The deepest forest, cut off at a smaller depth.

    If the forest has been cut at a larger depth before, pass this cut as `deeper`: the new cut then starts from the
    leaves of `deeper` instead of from the deepest leaves.
    """

    def __init__(self, rows: RoutedRows, depth: int, deeper: "Level | None" = None) -> None:
        trees, self.rows = rows.trees, rows
        is_leaf = (trees.level == depth) | ((trees.kind == LEAF) & (trees.level < depth))
        number = np.cumsum(is_leaf, dtype=np.int32)
        node = trees.leaf_nodes if deeper is None else deeper.node
        while (below := trees.level[node] > depth).any():
            node = np.where(below, trees.parent[node], node)
        self.node: np.ndarray = node  # for each leaf of the deepest forest, the node above it that the cut makes a leaf
        self.leaf = number[node] - np.int32(1)
        self.leaf_start = np.append(0, number)[trees.tree_start]
        self.reached = self.leaf[rows.reached]

    def count(self, spec: ForestSpec, seed: int) -> RoutedCounts:
        """Assign rows to trees as in a fit with this spec and seed, and return the counts of rows in the leaves."""
        rows, k, n_leaves = self.rows, self.rows.domain.n_classes, int(self.leaf_start[spec.n_trees])
        deep, weight = rows.counts(spec, seed)
        leaf = self.leaf[deep]
        inside = leaf < n_leaves
        leaf, weight = leaf[inside], weight[inside]
        used, reached = np.zeros(n_leaves, bool), self.reached
        used[leaf] = True
        empty = 1 - np.count_nonzero(used) / n_leaves
        used |= spec.voting == "log-odds"  # this rule compares each leaf with the class shares over all leaves
        used[reached[reached < n_leaves]] = True
        place = np.cumsum(used, dtype=np.int32) - 1
        counts = np.zeros((int(place[-1]) + 1, k), np.int64)
        _add_rows(counts, place[leaf], weight)
        return RoutedCounts(np.flatnonzero(used), counts, empty, place[np.minimum(reached, n_leaves - 1)], rows.test)


@njit(nogil=True, cache=True)
def _add_rows(counts, place, weight):
    for i in range(len(place)):
        for c in range(counts.shape[1]):
            counts[place[i], c] += weight[i, c]


@njit(nogil=True, cache=True)
def _count_votes(test, n_trees, labels, y, votes, right):
    """Compute the results of `RoutedCounts.tally` for all releases, and write them into `votes` and `right`.

    `labels` (n_reached, n_releases) are the classes of the leaves that held-out rows reach. `test` are the indices of
    these leaves for each row and tree.
    """
    n_releases = labels.shape[1]
    if n_releases == 1:
        only = labels[:, 0]
        for i in range(len(test)):
            votes_for_1 = 0
            for t in range(n_trees):
                votes_for_1 += only[test[i, t]]
            votes[0, votes_for_1, y[i]] += 1
            right[i, 0] = (2 * votes_for_1 > n_trees) == (y[i] == 1)
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
            right[i, e] = (2 * ones[e] > n_trees) == (y[i] == 1)
