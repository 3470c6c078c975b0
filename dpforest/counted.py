"""Count once, release many: forests whose structure does not look at data, at all depths, sizes and budgets of a grid.

Every row is routed through every tree of the largest, deepest forest once. A leaf at depth d of a shallower forest is
an inner node here, and the first trees of a forest are a forest, so everything else follows by adding up and by drawing
noise anew. Draws are keyed by (seed, leaf), leaves numbered as the smaller forest would number them: each cell is
exactly what a separate fit with the same seeds gives.
"""

from dataclasses import replace
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numba import njit
from sklearn.base import clone

from dpforest import voting
from dpforest.domain import Domain
from dpforest.metrics import from_shares, from_votes
from dpforest.models.fitting import rows_to_trees, simulate_values
from dpforest.models.plan import Plan, true_labels
from dpforest.models.random_structure import RandomStructureClassifier
from dpforest.privacy.randomness import DemoSource
from dpforest.tradeoff import NOISE_SEED, Split
from dpforest.trees import routing
from dpforest.trees.layout import LEAF, Trees


def counted_cells(
    forest: RandomStructureClassifier,
    domain: Domain,
    split: Split,
    epsilons: list[float],
    cells: list[tuple[int | None, int | None]],
    seed: int,
    positive: int,
) -> list[dict[str, Any]]:
    """Metrics at every ε, and at ε = infinity, of every (depth, number of trees); None for the forest's own.

    Parameters
    ----------
    split : Split
    seed : int
        Of the structure; that of assignment and noise is `NOISE_SEED` more.
    positive : int
        Class that F1 is about.
    """
    plans = []
    for depth, trees in cells:
        settings = {"max_depth": depth, "n_estimators": trees}
        own = clone(forest).set_params(**{k: v for k, v in settings.items() if v is not None})
        plans.append(own.plan(domain, len(split.y_train)))
    largest = replace(plans[0], depth=max(p.depth for p in plans), n_trees=max(p.n_trees for p in plans))
    routed = Routed(largest.grow(domain, seed), domain, split)
    levels = {depth: Level(routed, depth) for depth in {p.depth for p in plans}}
    return [row for plan in plans for row in _cell(plan, domain, split, levels[plan.depth], epsilons, seed, positive)]


class Routed:
    """The leaves of all rows in the deepest trees."""

    def __init__(self, trees: Trees, domain: Domain, split: Split) -> None:
        self.trees, self.domain, self.split = trees, domain, split
        self.train = routing.leaves_of_rows(trees, domain, split.X_train)
        test = routing.leaves_of_rows(trees, domain, split.X_test)
        asked = np.zeros(trees.n_leaves, bool)
        asked[test] = True
        self.asked = np.flatnonzero(asked)
        self.test = np.ascontiguousarray((np.cumsum(asked, dtype=np.int32) - 1)[test].T)  # (n, n_trees), of `asked`

    @cached_property
    def all_counts(self) -> tuple[np.ndarray, np.ndarray]:
        """Leaves with rows when every row is in every tree, and their counts (n, n_classes)."""
        k = self.domain.n_classes
        cells = np.bincount(
            (self.train.astype(np.int64) * k + self.split.y_train).reshape(self.train.size),
            minlength=self.trees.n_leaves * k,
        ).reshape(-1, k)
        leaves = np.flatnonzero(cells.any(axis=1))
        return leaves, cells[leaves]


class Level:
    """The same forest cut off at a depth."""

    def __init__(self, routed: Routed, depth: int) -> None:
        trees, self.routed = routed.trees, routed
        is_leaf = (trees.level == depth) | ((trees.kind == LEAF) & (trees.level < depth))
        number = np.cumsum(is_leaf, dtype=np.int64) - 1
        node = trees.leaf_nodes
        while (below := trees.level[node] > depth).any():
            node = np.where(below, trees.parent[node], node)
        self.leaf = number[node]  # of each deepest leaf
        self.leaf_start = np.append(0, np.cumsum(is_leaf))[trees.tree_start]

    def counts(self, plan: Plan, tree_of_row: np.ndarray | None) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Leaves that hold somebody or are asked for, their counts, and the place among them of each asked leaf.

        Parameters
        ----------
        tree_of_row : int array (n,) or None
            None for all rows in all trees; -1 for rows that are left out.
        """
        routed, k = self.routed, self.routed.domain.n_classes
        end = int(self.leaf_start[plan.n_trees])
        y = routed.split.y_train
        if tree_of_row is None:
            deep, own = routed.all_counts
            leaf, weight = self.leaf[deep], own
            inside = leaf < end
            leaf, weight = leaf[inside], weight[inside]
        else:
            kept = np.flatnonzero(tree_of_row >= 0)
            leaf = self.leaf[routed.train[tree_of_row[kept], kept]]
            weight = np.eye(k, dtype=np.int64)[y[kept]]
        asked = self.leaf[routed.asked]
        used = np.zeros(end, bool)
        used[leaf] = True
        used[asked[asked < end]] = True
        place = np.cumsum(used, dtype=np.int32) - 1
        leaves = np.flatnonzero(used)
        counts = np.zeros((len(leaves), k), np.int64)
        _add_rows(counts, place[leaf], weight)
        return leaves, counts, place[np.minimum(asked, end - 1)]


@njit(nogil=True, cache=True)
def _add_rows(counts, place, weight):
    for i in range(len(place)):
        for c in range(counts.shape[1]):
            counts[place[i], c] += weight[i, c]


def _cell(
    plan: Plan, domain: Domain, split: Split, level: Level, epsilons: list[float], seed: int, positive: int
) -> list[dict[str, Any]]:
    tree_of_row = rows_to_trees(plan, np.arange(len(split.y_train)), DemoSource(seed + NOISE_SEED))
    leaves, counts, place = level.counts(plan, tree_of_row)
    twin = (leaves, counts, place) if tree_of_row is None else level.counts(plan, None)
    with_noise = [simulate_values(plan, counts, Fraction(str(e)), seed + NOISE_SEED, leaves=leaves) for e in epsilons]
    exact = twin[1] if plan.releases_counts else true_labels(twin[1], seed, leaves=twin[0])
    labels = np.stack([_labels(plan, v, seed, leaves) for v in with_noise], axis=1)
    found = _metrics(plan, split, level.routed, with_noise, labels, leaves, place, seed, positive)
    own = _labels(plan, exact, seed, twin[0])
    found += _metrics(plan, split, level.routed, [exact], own[:, None], twin[0], twin[2], seed, positive)
    held = np.flatnonzero(counts.any(axis=1))
    said = np.take_along_axis(counts[held], labels[held].astype(np.int64), axis=1)
    flipped = np.where(said < counts[held].max(axis=1, keepdims=True), counts[held].sum(axis=1)[:, None], 0)
    flips = [*(flipped.sum(axis=0) / max(int(counts.sum()), 1)), 0.0]
    n_leaves = int(level.leaf_start[plan.n_trees])
    empty = [1 - len(held) / n_leaves] * len(epsilons) + [
        1 - float(np.mean(twin[1].any(axis=1))) * len(twin[0]) / n_leaves
    ]
    return [
        {"epsilon": e, "depth": plan.depth, "trees": plan.n_trees, **f, "flips": float(flip), "empty": share}
        for e, f, flip, share in zip([*epsilons, np.inf], found, flips, empty, strict=True)
    ]


def _labels(plan: Plan, values: np.ndarray, seed: int, leaves: np.ndarray) -> np.ndarray:
    """What each leaf votes for."""
    if not plan.releases_counts:
        return values
    return voting.leaf_votes(voting.leaf_shares(values, plan.negative_rule, seed, leaves=leaves))


def _metrics(
    plan: Plan, split: Split, routed: Routed, values: list[np.ndarray], labels: np.ndarray, leaves: np.ndarray,
    place: np.ndarray, seed: int, positive: int,
) -> list[dict[str, float]]:  # fmt: skip
    """For each of several releases, whose labels are the columns of `labels`."""
    k = routed.domain.n_classes
    if plan.voting == "majority" and k == 2:
        votes = np.zeros((labels.shape[1], plan.n_trees + 1, 2), np.int64)
        _count_votes(routed.test, plan.n_trees, place, np.ascontiguousarray(labels), split.y_test, votes)
        found = from_votes(votes, positive)
        return [{name: float(v[e]) for name, v in found.items()} for e in range(len(votes))]
    at = place[routed.test[:, : plan.n_trees]].T
    coin = voting.coins(split.X_test, seed) if plan.voting == "probabilistic" else None
    out = []
    for own, votes_of in zip(values, labels.T, strict=True):
        if plan.voting == "majority":
            shares = routing.votes_at_leaves(at, np.ascontiguousarray(votes_of), k) / plan.n_trees
            step = 0.5 / plan.n_trees
        else:
            held = voting.leaf_shares(own, plan.negative_rule, seed, leaves=leaves)
            shares, step = routing.shares_at_leaves(at, held) / plan.n_trees, 1e-6
        predicted = voting.decide(shares, plan.voting, coin)
        out.append(from_shares(shares, split.y_test, predicted, positive=positive, step=step))
    return out


@njit(nogil=True, cache=True)
def _count_votes(test, n_trees, place, labels, y, votes):
    """Rows of each class by the number of trees that vote for the second class, for all releases at once."""
    n_releases = labels.shape[1]
    ones = np.empty(n_releases, np.int32)
    for i in range(len(test)):
        ones[:] = 0
        for t in range(n_trees):
            own = labels[place[test[i, t]]]
            for e in range(n_releases):
                ones[e] += own[e]
        for e in range(n_releases):
            votes[e, ones[e], y[i]] += 1
