"""A forest leaf by leaf and node by node, for drawing. Computed from raw counts: for the curator only."""

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np

from dpforest.domain import Domain
from dpforest.models.fitting import simulate_values
from dpforest.models.plan import Plan
from dpforest.privacy import mechanisms
from dpforest.privacy.noisy_counts import continuous_argmax_law
from dpforest.trees.layout import Trees
from dpforest.trees.reference import path_of_row


@dataclass(frozen=True, eq=False)
class NodeTable:
    """Figures of the nodes of one tree, arrays over its nodes (see `Trees.select`).

    Attributes
    ----------
    counts : int64 array of shape (n_nodes, n_classes)
        Rows that reach the node.
    flip : float array of shape (n_nodes,)
        Flip probability: a leaf's own, an inner node's mean over the rows below. NaN where there are no rows.
    worst_flip : float array of shape (n_nodes,)
        The largest among the leaves below.
    label : int16 array of shape (n_nodes,)
        Class index that a leaf says; -1 in inner nodes.
    """

    trees: Trees
    counts: np.ndarray
    flip: np.ndarray
    worst_flip: np.ndarray
    label: np.ndarray


@dataclass(frozen=True, eq=False)
class ForestView:
    """One simulated release beside the counts behind it.

    Parameters
    ----------
    trees : Trees
    domain : Domain
    plan : Plan
    counts : int64 array of shape (n_leaves, n_classes)
    labels : uint8 array of shape (n_leaves,)
        Label that each leaf says in this simulated release.
    epsilon : Fraction
    """

    trees: Trees
    domain: Domain
    plan: Plan
    counts: np.ndarray
    labels: np.ndarray
    epsilon: Fraction

    @cached_property
    def n_rows(self) -> np.ndarray:
        """Rows in each leaf, int64 (n_leaves,)."""
        return self.counts.sum(axis=1)

    @cached_property
    def true_labels(self) -> np.ndarray:
        """Most frequent class of each leaf, the first of them where several are; -1 where a leaf is empty."""
        return np.where(self.n_rows > 0, self.counts.argmax(axis=1), -1).astype(np.int16)

    @cached_property
    def gap(self) -> np.ndarray:
        """Lead of the most frequent class over the next, int64 (n_leaves,)."""
        ordered = np.sort(self.counts, axis=1)
        return ordered[:, -1] - ordered[:, -2]

    @cached_property
    def flip(self) -> np.ndarray:
        """Probability, in closed form, that a leaf says a class that is not most frequent in it; NaN where empty."""
        flip = np.full(len(self.counts), np.nan)
        full = np.flatnonzero(self.n_rows)
        # Leaves with the same counts have the same probability; there are few different ones.
        distinct, which = np.unique(self.counts[full], axis=0, return_inverse=True)
        rate, rule = self.plan.leaf_rate(self.epsilon), self.plan.negative_rule
        if self.plan.mechanism == "continuous-laplace" and distinct.shape[1] == 2:
            says = continuous_argmax_law(distinct, 1 / rate, rule)
            law = np.where(distinct == distinct.max(axis=1, keepdims=True), 0, says).sum(axis=1)
        else:
            # With more classes, continuous noise is taken for discrete: they differ by a rounding of the counts.
            mechanism = mechanisms.NOISY_COUNTS if self.plan.releases_counts else self.plan.mechanism
            law = mechanisms.flip_probability(mechanism, distinct, rate, negative=rule)
        flip[full] = law[which.ravel()]
        return flip

    def simulated_flip(self, leaves: np.ndarray, n_draws: int = 200, seed: int = 1) -> np.ndarray:
        """Share of `n_draws` seeded redraws in which each of these leaves says a class that is not most frequent."""
        from dpforest.voting import leaf_shares, leaf_votes

        counts = self.counts[leaves]
        top = counts.max(axis=1)
        flips = np.zeros(len(leaves))
        for draw in range(n_draws):
            labels = simulate_values(self.plan, counts, self.epsilon, seed + draw)
            if self.plan.releases_counts:
                labels = leaf_votes(leaf_shares(labels, self.plan.negative_rule, seed + draw))
            flips += counts[np.arange(len(leaves)), labels] < top
        return flips / n_draws

    def nodes(self, tree: int) -> NodeTable:
        """Figures of one tree's nodes, summed from its leaves upwards."""
        trees = self.trees.select(tree)
        own = slice(int(self.trees.leaf_start[tree]), int(self.trees.leaf_start[tree + 1]))
        counts = np.zeros((trees.n_nodes, self.counts.shape[1]), np.int64)
        flips, worst = np.zeros(trees.n_nodes), np.full(trees.n_nodes, -np.inf)
        label = np.full(trees.n_nodes, -1, np.int16)
        at = trees.leaf_nodes
        counts[at], label[at] = self.counts[own], self.labels[own]
        flips[at] = np.nan_to_num(self.flip[own]) * self.n_rows[own]
        worst[at] = np.where(self.n_rows[own] > 0, self.flip[own], -np.inf)
        for level in range(int(trees.level.max()), 0, -1):
            nodes = np.flatnonzero(trees.level == level)
            above = trees.parent[nodes]
            np.add.at(counts, above, counts[nodes])
            np.add.at(flips, above, flips[nodes])
            np.maximum.at(worst, above, worst[nodes])
        n_rows = counts.sum(axis=1)
        with np.errstate(invalid="ignore", divide="ignore"):
            mean = np.where(n_rows > 0, flips / n_rows, np.nan)
        return NodeTable(trees, counts, mean, np.where(n_rows > 0, worst, np.nan), label)

    def path(self, tree: int, codes: np.ndarray) -> list[int]:
        """Nodes that one row of codes passes in one tree, numbered within the tree."""
        start = int(self.trees.tree_start[tree])
        return [node - start for node in path_of_row(self.trees, tree, codes)]
