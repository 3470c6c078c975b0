"""Exact figures of each leaf and node of a simulated forest, for drawings that only the curator may see."""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from dpforest.explain import AddedScores
from dpforest.models.leaf_noise import CountNoise, LeafNoise
from dpforest.models.trace import TreeTrace
from dpforest.tables.domain import Domain
from dpforest.trees.layout import LEAF, Trees
from dpforest.trees.naive import path_of_row
from dpforest.trees.released_scale import ReleasedScale


@dataclass(frozen=True, eq=False)
class NodeTable:
    """Figures of the nodes of one tree, as arrays over its nodes in the order of `Trees.select`.

    Some figures count persons instead of rows if the domain declares a unit, which is a column that identifies persons.

    Attributes
    ----------
    trees : Trees
        Nodes and tests of this tree alone.
    counts : int64 or float64 array of shape (n_nodes, n_classes)
        Number of fitted rows (with a unit: persons) of each class that reach the node. The classes are those of
        `ForestView.domain_of`.
    flip : float array of shape (n_nodes,)
        Probability that noise flips a leaf; for an inner node, the mean over the rows (with a unit: persons) of the
        node. NaN without rows. A leaf flips if the class that it publishes has less evidence than another class.
    worst_flip : float array of shape (n_nodes,)
        Largest flip probability of the leaves at or below the node. NaN without rows.
    label : int16 array of shape (n_nodes,)
        Class of each leaf in the simulated release, by index; -1 in inner nodes.
    is_flipped : bool array of shape (n_nodes,)
        Whether noise has flipped a leaf with rows in this release. A change between classes that tie for the most
        evidence is no flip.
    n_rows : int64 array of shape (n_nodes,)
        Number of fitted rows that reach the node. Without a unit, the sum of `counts` over the classes.
    probability : float array of shape (n_nodes,), or None
        Probability with which the node's test was drawn; NaN in leaves. None if draws of tests are not recorded.
    chance : float array of shape (n_nodes,), or None
        Probability of the same test if the draw ignored the rows; NaN in leaves.
    gain : float array of shape (n_nodes,), or None
        Share of the node's impurity that the test removes; NaN in leaves.
    """

    trees: Trees
    counts: np.ndarray
    flip: np.ndarray
    worst_flip: np.ndarray
    label: np.ndarray
    is_flipped: np.ndarray
    n_rows: np.ndarray
    probability: np.ndarray | None = None
    chance: np.ndarray | None = None
    gain: np.ndarray | None = None


@dataclass(frozen=True, eq=False)
class ForestView:
    """One simulated release, with the row counts that it is computed from.

    Parameters
    ----------
    trees : Trees
        Nodes and tests of all trees.
    domain : Domain
        Public schema of the table.
    counts : int64 array of shape (n_leaves, n_classes), or float64 if the rows of persons have weights
        Number of fitted rows of each class in each leaf. If the domain declares a unit (a column that identifies
        persons), number of fitted persons: each person counts 1, divided among the person's rows.
    labels : uint8 array of shape (n_leaves,)
        Class of each leaf in this simulated release, by index. If each class has a booster of its trees
        (`class_of_tree`), 1 stands for the class of the booster, and 0 for all other classes.
    noise : LeafNoise
        Noise of the leaves, and the exact evidence for each class to which noise is added.
    leaf_values : float array of shape (n_leaves,), or None
        Value that each leaf adds to the score of a class; None unless the trees are boosted.
    class_of_tree : int array of shape (n_trees,), or None
        Class, by index, to whose score each tree adds values; None unless the trees are boosted.
    traces : tuple of TreeTrace
        Record of how the tests of each tree were drawn; empty if draws are not recorded.
    scale : ReleasedScale or None
        Scale of the numeric attributes in the simulated release; None if the fit asked for none.
    added : AddedScores or None
        Values that each leaf adds to the scores of all classes; None unless every leaf adds to every score.
    rows_of_persons : int64 array of shape (n_leaves,), or None
        Number of fitted rows in each leaf, if the domain declares a unit; None otherwise.
    value_spread : float array of shape (n_leaves,), or None
        Standard deviation that noise gives to `leaf_values`; None if it is unknown.
    """

    trees: Trees
    domain: Domain
    counts: np.ndarray
    labels: np.ndarray
    noise: LeafNoise
    leaf_values: np.ndarray | None = None
    class_of_tree: np.ndarray | None = None
    traces: tuple[TreeTrace, ...] = ()
    scale: ReleasedScale | None = None
    added: AddedScores | None = None
    rows_of_persons: np.ndarray | None = None
    value_spread: np.ndarray | None = None

    def domain_of(self, tree: int) -> Domain:
        """Return the domain with the classes that one tree distinguishes.

        With more than two classes, a boosted tree distinguishes two: its class (`class_of_tree`) and all other classes.
        """
        if self.class_of_tree is None or self.domain.n_classes == 2:
            return self.domain
        label = self.domain.classes[int(self.class_of_tree[tree])]
        return replace(self.domain, classes=(f"not {label}", str(label)))

    @property
    def boosters(self) -> tuple[np.ndarray, np.ndarray]:
        """The pair of `leaf_values` and `class_of_tree`. Raises ValueError if the trees are not boosted."""
        if self.leaf_values is None or self.class_of_tree is None:
            raise ValueError("these trees vote; only boosted trees have values that are added up")
        return self.leaf_values, self.class_of_tree

    @cached_property
    def n_counted(self) -> np.ndarray:
        """Number of fitted rows (with a unit: persons) in each leaf, (n_leaves,)."""
        return self.counts.sum(axis=1)

    @property
    def n_rows(self) -> np.ndarray:
        """Number of fitted rows in each leaf, int64 (n_leaves,)."""
        return self.n_counted if self.rows_of_persons is None else self.rows_of_persons

    @property
    def counted(self) -> str:
        """The noun for what `counts` count: "rows", or "persons" if the domain declares a unit."""
        return "rows" if self.rows_of_persons is None else "persons"

    @cached_property
    def true_labels(self) -> np.ndarray:
        """Class of each leaf without noise; in a tie, the class that is listed first. An empty leaf has -1."""
        return np.where(self.n_rows > 0, self.noise.evidence.argmax(axis=1), -1).astype(np.int16)

    @cached_property
    def gap(self) -> np.ndarray:
        """Lead of the strongest class in each leaf, (n_leaves,): its evidence minus that of the second strongest class.

        Evidence is a number of rows, a number of persons (with a unit), or a sum of weights (boosted trees).
        """
        ordered = np.sort(self.noise.evidence, axis=1)
        gap = ordered[:, -1] - ordered[:, -2]
        return gap / self.domain.count_unit if isinstance(self.noise, CountNoise) and self.domain.unit else gap

    @cached_property
    def flip(self) -> np.ndarray:
        """Probability that noise flips each leaf, computed without draws (`LeafNoise.flip`); NaN for an empty leaf."""
        return self.noise.flip()

    def simulated_flip(self, leaves: np.ndarray, n_draws: int = 200, seed: int = 1) -> np.ndarray:
        """Draw the noise of these leaves `n_draws` times, and return the share of draws that flip each leaf.

        A draw flips a leaf if another class has more evidence than the drawn class. A change between classes that tie
        for the most evidence is no flip.
        """
        evidence = self.noise.evidence[leaves]
        top, rows = evidence.max(axis=1), np.arange(len(leaves))
        flips = np.zeros(len(leaves))
        for draw in range(n_draws):
            flips += evidence[rows, self.noise.redraw(leaves, seed + draw)] < top
        return flips / n_draws

    def redraw(self, tree: int, seed: int) -> np.ndarray:
        """Redraw the noise of one tree's leaves, and return their new classes, (n_leaves of the tree,)."""
        return self.noise.redraw(np.arange(self.trees.leaf_start[tree], self.trees.leaf_start[tree + 1]), seed)

    def nodes(self, tree: int, labels: np.ndarray | None = None) -> NodeTable:
        """Return the figures of one tree's nodes, summed from its leaves upward.

        `labels` are classes of the tree's leaves, such as the result of `redraw`; by default the classes of this
        release. The view keeps the last result for the default, so that a second call for the same tree is free.
        """
        if labels is not None:
            return self._nodes(tree, labels)
        cached = self._last_nodes.get(tree)
        if cached is None:
            cached = self._nodes(tree, None)
            self._last_nodes.clear()
            self._last_nodes[tree] = cached
        return cached

    @cached_property
    def _last_nodes(self) -> dict[int, NodeTable]:
        return {}

    def _nodes(self, tree: int, labels: np.ndarray | None) -> NodeTable:
        trees = self.trees.select(tree)
        leaves = slice(int(self.trees.leaf_start[tree]), int(self.trees.leaf_start[tree + 1]))
        leaf_counts = self._counts_of(tree)[leaves]
        counts = np.zeros((trees.n_nodes, leaf_counts.shape[1]), leaf_counts.dtype)
        flips, worst = np.zeros(trees.n_nodes), np.full(trees.n_nodes, -np.inf)
        n_rows = np.zeros(trees.n_nodes, np.int64)
        label = np.full(trees.n_nodes, -1, np.int16)
        leaf_nodes = trees.leaf_nodes
        n_rows[leaf_nodes] = self.n_rows[leaves]
        counts[leaf_nodes], label[leaf_nodes] = leaf_counts, self.labels[leaves] if labels is None else labels
        is_flipped = np.zeros(trees.n_nodes, bool)
        evidence, released = self.noise.evidence[leaves], label[leaf_nodes].astype(np.intp)
        is_flipped[leaf_nodes] = (n_rows[leaf_nodes] > 0) & (
            evidence[np.arange(len(released)), released] < evidence.max(axis=1)
        )
        flips[leaf_nodes] = np.nan_to_num(self.flip[leaves]) * self.n_counted[leaves]
        worst[leaf_nodes] = np.where(n_rows[leaf_nodes] > 0, np.nan_to_num(self.flip[leaves]), -np.inf)
        for level in range(int(trees.level.max()), 0, -1):
            nodes = np.flatnonzero(trees.level == level)
            parents = trees.parent[nodes]
            np.add.at(counts, parents, counts[nodes])
            np.add.at(flips, parents, flips[nodes])
            np.add.at(n_rows, parents, n_rows[nodes])
            np.maximum.at(worst, parents, worst[nodes])
        with np.errstate(invalid="ignore", divide="ignore"):
            mean = np.where(n_rows > 0, flips / counts.sum(axis=1), np.nan)
        table = NodeTable(trees, counts, mean, np.where(n_rows > 0, worst, np.nan), label, is_flipped, n_rows)
        if not self.traces:
            return table
        trace = self.traces[tree]
        parts = (trace.probability, trace.chance, trace.gain)
        probability, chance, gain = (self._over_nodes(trees, by_level) for by_level in parts)
        return replace(table, probability=probability, chance=chance, gain=gain)

    def _counts_of(self, tree: int) -> np.ndarray:
        """Return `counts` of all leaves by the classes that one tree distinguishes (`domain_of`)."""
        if self.class_of_tree is None or self.domain.n_classes == 2:
            return self.counts
        class_counts = self.counts[:, int(self.class_of_tree[tree])]
        return np.stack([self.n_counted - class_counts, class_counts], axis=1)

    @staticmethod
    def _over_nodes(trees: Trees, by_level: list[np.ndarray]) -> np.ndarray:
        """Return one array over all nodes of a complete tree from the figures of its inner nodes; NaN in leaves."""
        values = np.full(trees.n_nodes, np.nan)
        inner = np.concatenate(by_level)
        values[: len(inner)] = inner
        values[trees.kind == LEAF] = np.nan
        return values

    def path(self, tree: int, codes: np.ndarray) -> list[int]:
        """Return the nodes on the path of one encoded row in one tree. Nodes are numbered within the tree."""
        start = int(self.trees.tree_start[tree])
        return [node - start for node in path_of_row(self.trees, tree, codes)]
