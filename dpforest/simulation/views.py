"""A forest leaf by leaf and node by node, for drawing. Computed from raw counts: for the curator only."""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from dpforest.explain import AddedScores
from dpforest.models.leaf_noise import LeafNoise
from dpforest.models.trace import TreeTrace
from dpforest.tables.domain import Domain
from dpforest.trees.layout import LEAF, Trees
from dpforest.trees.naive import path_of_row
from dpforest.trees.released_scale import ReleasedScale


@dataclass(frozen=True, eq=False)
class NodeTable:
    """Figures of the nodes of one tree, arrays over its nodes (see `Trees.select`).

    Attributes
    ----------
    counts : int64 array of shape (n_nodes, n_classes)
        Rows that reach the node, by class as the tree sees them (`ForestView.domain_of`).
    flip : float array of shape (n_nodes,)
        Flip probability: a leaf's own, an inner node's mean over the rows below. NaN where there are no rows.
    worst_flip : float array of shape (n_nodes,)
        The largest among the leaves below.
    label : int16 array of shape (n_nodes,)
        Class index that a leaf says; -1 in inner nodes.
    turned : bool array of shape (n_nodes,)
        Leaves with rows that say another class than they would without noise.
    probability : float array of shape (n_nodes,), or None
        With which the test of a node was drawn, where tests are drawn by looking at the data; NaN in leaves.
    chance : float array of shape (n_nodes,), or None
        The same if the data had no say.
    gain : float array of shape (n_nodes,), or None
        Share of the node's impurity that the test removes.
    """

    trees: Trees
    counts: np.ndarray
    flip: np.ndarray
    worst_flip: np.ndarray
    label: np.ndarray
    turned: np.ndarray
    probability: np.ndarray | None = None
    chance: np.ndarray | None = None
    gain: np.ndarray | None = None


@dataclass(frozen=True, eq=False)
class ForestView:
    """One simulated release beside the counts behind it.

    Parameters
    ----------
    trees : Trees
    domain : Domain
    counts : int64 array of shape (n_leaves, n_classes)
        Rows fitted on in each leaf.
    labels : uint8 array of shape (n_leaves,)
        Class that each leaf says in this simulated release, by index; of boosted trees 1 for theirs, 0 for the rest.
    noise : LeafNoise
    leaf_values : float array of shape (n_leaves,), or None
        What leaves add to the score, where trees are added up instead of voting.
    class_of_tree : int array of shape (n_trees,), or None
    traces : tuple of TreeTrace
        How the tests of each tree were drawn; empty where they are random.
    scale : ReleasedScale or None
        What it found out about where rows lie.
    added : AddedScores or None
        What leaves add to the scores of all classes, where trees are added up and each speaks of all of them.
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

    def domain_of(self, tree: int) -> Domain:
        """The domain as one tree sees it: where there is a booster for each class, its class against the rest."""
        if self.class_of_tree is None or self.domain.n_classes == 2:
            return self.domain
        label = self.domain.classes[int(self.class_of_tree[tree])]
        return replace(self.domain, classes=(f"not {label}", str(label)))

    @property
    def boosters(self) -> tuple[np.ndarray, np.ndarray]:
        """`leaf_values` and `class_of_tree`, which trees that are added up have."""
        if self.leaf_values is None or self.class_of_tree is None:
            raise ValueError("these trees vote; only boosted trees have values that are added up")
        return self.leaf_values, self.class_of_tree

    @cached_property
    def n_rows(self) -> np.ndarray:
        """Rows in each leaf, int64 (n_leaves,)."""
        return self.counts.sum(axis=1)

    @cached_property
    def true_labels(self) -> np.ndarray:
        """Class that each leaf would say without noise, the first of equals; -1 where a leaf is empty."""
        return np.where(self.n_rows > 0, self.noise.evidence.argmax(axis=1), -1).astype(np.int16)

    @cached_property
    def gap(self) -> np.ndarray:
        """Lead of the largest class over the next in the evidence (rows, or their weights), (n_leaves,)."""
        ordered = np.sort(self.noise.evidence, axis=1)
        return ordered[:, -1] - ordered[:, -2]

    @cached_property
    def flip(self) -> np.ndarray:
        """Probability, in closed form, that a leaf says another class than without noise; NaN where empty."""
        return self.noise.flip()

    def simulated_flip(self, leaves: np.ndarray, n_draws: int = 200, seed: int = 1) -> np.ndarray:
        """Share of `n_draws` seeded redraws in which each of these leaves says another class than without noise."""
        evidence = self.noise.evidence[leaves]
        top, rows = evidence.max(axis=1), np.arange(len(leaves))
        flips = np.zeros(len(leaves))
        for draw in range(n_draws):
            flips += evidence[rows, self.noise.redraw(leaves, seed + draw)] < top
        return flips / n_draws

    def redraw(self, tree: int, seed: int) -> np.ndarray:
        """What the leaves of one tree would say had only their noise been drawn anew, (n_leaves of the tree,)."""
        return self.noise.redraw(np.arange(self.trees.leaf_start[tree], self.trees.leaf_start[tree + 1]), seed)

    def nodes(self, tree: int, labels: np.ndarray | None = None) -> NodeTable:
        """Figures of one tree's nodes, summed from its leaves upwards.

        `labels` are the classes of its leaves (`redraw`), by default those of this release.
        """
        trees = self.trees.select(tree)
        leaves = slice(int(self.trees.leaf_start[tree]), int(self.trees.leaf_start[tree + 1]))
        of_leaves = self._counts_of(tree)[leaves]
        counts = np.zeros((trees.n_nodes, of_leaves.shape[1]), np.int64)
        flips, worst = np.zeros(trees.n_nodes), np.full(trees.n_nodes, -np.inf)
        label = np.full(trees.n_nodes, -1, np.int16)
        at = trees.leaf_nodes
        counts[at], label[at] = of_leaves, self.labels[leaves] if labels is None else labels
        turned = np.zeros(trees.n_nodes, bool)
        evidence, says = self.noise.evidence[leaves], label[at].astype(np.intp)
        turned[at] = (self.n_rows[leaves] > 0) & (evidence[np.arange(len(says)), says] < evidence.max(axis=1))
        flips[at] = np.nan_to_num(self.flip[leaves]) * self.n_rows[leaves]
        worst[at] = np.where(self.n_rows[leaves] > 0, np.nan_to_num(self.flip[leaves]), -np.inf)
        for level in range(int(trees.level.max()), 0, -1):
            nodes = np.flatnonzero(trees.level == level)
            above = trees.parent[nodes]
            np.add.at(counts, above, counts[nodes])
            np.add.at(flips, above, flips[nodes])
            np.maximum.at(worst, above, worst[nodes])
        n_rows = counts.sum(axis=1)
        with np.errstate(invalid="ignore", divide="ignore"):
            mean = np.where(n_rows > 0, flips / n_rows, np.nan)
        table = NodeTable(trees, counts, mean, np.where(n_rows > 0, worst, np.nan), label, turned)
        if not self.traces:
            return table
        trace = self.traces[tree]
        parts = (trace.probability, trace.chance, trace.gain)
        drawn, chance, gain = (self._at_nodes(trees, by_level) for by_level in parts)
        return replace(table, probability=drawn, chance=chance, gain=gain)

    def _counts_of(self, tree: int) -> np.ndarray:
        """Rows in all leaves by class, as one tree sees classes (`domain_of`)."""
        if self.class_of_tree is None or self.domain.n_classes == 2:
            return self.counts
        of_class = self.counts[:, int(self.class_of_tree[tree])]
        return np.stack([self.n_rows - of_class, of_class], axis=1)

    @staticmethod
    def _at_nodes(trees: Trees, by_level: list[np.ndarray]) -> np.ndarray:
        """Figures of the inner nodes of a complete tree, level by level, at its nodes; NaN in leaves."""
        out = np.full(trees.n_nodes, np.nan)
        inner = np.concatenate(by_level)
        out[: len(inner)] = inner
        out[trees.kind == LEAF] = np.nan
        return out

    def path(self, tree: int, codes: np.ndarray) -> list[int]:
        """Nodes that one row of codes passes in one tree, numbered within the tree."""
        start = int(self.trees.tree_start[tree])
        return [node - start for node in path_of_row(self.trees, tree, codes)]
