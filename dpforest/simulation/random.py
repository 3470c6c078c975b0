"""Count once, release many: forests whose structure does not look at data, at all depths, sizes and budgets of a grid.

Every row is routed through every tree of the largest, deepest forest once. A leaf at depth d of a shallower forest is
an inner node here, and the first trees of a forest are a forest, so everything else follows by adding up and by drawing
noise anew. Draws are keyed by (seed, leaf), leaves numbered as the smaller forest would number them: each cell is
exactly what a separate fit with the same seeds gives.
"""

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numba import njit

from dpforest import voting
from dpforest.evaluation.repeats import NOISE_SEED
from dpforest.evaluation.simulation import Structures
from dpforest.models.random.fit import rows_to_trees, simulate_values
from dpforest.models.random.random_structure import RandomStructureClassifier
from dpforest.models.random.spec import ForestSpec, true_labels
from dpforest.models.random.votes import Votes
from dpforest.privacy.randomness import DemoSource
from dpforest.privacy.rationals import as_typed
from dpforest.simulation.cells import at_cell
from dpforest.simulation.metrics import flipped_share, from_shares, from_votes
from dpforest.simulation.splits import Split
from dpforest.tables.domain import Domain
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
    structures = [Structures(at_cell(forest, *cell), domain, split) for cell in cells]
    together: dict[bytes, list[float]] = {}  # budgets at which trees grow on the same scale
    scales, specs = {}, dict[tuple[int, float], ForestSpec]()
    for epsilon in (*epsilons, math.inf):
        found_out = None
        for cell, own in enumerate(structures):
            found_out = own.prepare(None if math.isinf(epsilon) else epsilon, seed, found_out)
            specs[cell, epsilon], scale = found_out
        key = b"" if scale is None else scale.cumulative.tobytes()
        scales[key] = scale
        together.setdefault(key, []).append(epsilon)
    if len({(s.categorical, s.thresholds, s.n_quantiles, s.max_leaves) for s in specs.values()}) > 1:
        raise ValueError("Cells differ in more than depth and number of trees, so they cannot be counted once.")
    found = dict[tuple[int, float], dict[str, Any]]()
    for key, own_epsilons in together.items():
        planned = {(cell, epsilon): specs[cell, epsilon] for cell in range(len(cells)) for epsilon in own_epsilons}
        depths, n_trees = {p.depth for p in planned.values()}, max(p.n_trees for p in planned.values())
        largest = replace(specs[0, own_epsilons[0]], depth=max(depths), n_trees=n_trees)
        routed = Routed(largest.grow(domain, seed, scales[key]), domain, split)
        levels, deeper = dict[int, Level](), None
        for depth in sorted(depths, reverse=True):
            levels[depth] = deeper = Level(routed, depth, deeper)
        alike: dict[tuple, list[tuple[int, float]]] = {}  # releases with the same rows in the same leaves
        for place, p in planned.items():
            alike.setdefault((p.depth, p.n_trees, p.partition), []).append(place)
        for (depth, *_), places in alike.items():
            plans, at = [planned[place] for place in places], [epsilon for _, epsilon in places]
            rows = _cell(plans, domain, split, levels[depth], at, seed, positive)
            found.update(zip(places, rows, strict=True))
    return [found[cell, epsilon] for cell in range(len(cells)) for epsilon in (*epsilons, math.inf)]


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
    """The same forest cut off at a depth; found from a deeper cut, where there is one."""

    def __init__(self, routed: Routed, depth: int, deeper: "Level | None" = None) -> None:
        trees, self.routed = routed.trees, routed
        is_leaf = (trees.level == depth) | ((trees.kind == LEAF) & (trees.level < depth))
        number = np.cumsum(is_leaf, dtype=np.int32)
        node = trees.leaf_nodes if deeper is None else deeper.node
        while (below := trees.level[node] > depth).any():
            node = np.where(below, trees.parent[node], node)
        self.node: np.ndarray = node  # above each deepest leaf
        self.leaf = number[node] - np.int32(1)
        self.leaf_start = np.append(0, number)[trees.tree_start]
        self.asked = self.leaf[routed.asked]

    def count(self, spec: ForestSpec, tree_of_row: np.ndarray | None, *, nonprivate: bool = True) -> "LeafCounts":
        """Add up rows in the leaves that hold somebody or are asked for.

        Parameters
        ----------
        tree_of_row : int array (n,) or None
            None for all rows in all trees; -1 for rows that are left out.
        nonprivate : bool
            Whether all rows in all trees are counted as well.
        """
        routed, k, end = self.routed, self.routed.domain.n_classes, int(self.leaf_start[spec.n_trees])
        if tree_of_row is None or nonprivate:
            deep, shared = routed.all_counts
            everybody = self.leaf[deep]
            inside = everybody < end
            everybody, shared = everybody[inside], shared[inside]
        if tree_of_row is None:
            leaf, weight = everybody, shared
        else:
            kept = np.flatnonzero(tree_of_row >= 0)
            leaf = self.leaf[routed.train[tree_of_row[kept], kept]]
            weight = np.eye(k, dtype=np.int64)[routed.split.y_train[kept]]
        used, asked = np.zeros(end, bool), self.asked
        used[leaf] = True
        n_held = np.count_nonzero(used)
        used |= spec.voting == "log-odds"  # whose prior is of all leaves
        used[asked[asked < end]] = True
        place = np.cumsum(used, dtype=np.int32) - 1
        counts = np.zeros((int(place[-1]) + 1, k), np.int64)
        _add_rows(counts, place[leaf], weight)
        exact, empty = counts, 1 - n_held / end
        empty_nonprivate = empty
        if tree_of_row is not None and nonprivate:
            exact = np.zeros_like(counts)
            known = used[everybody]
            _add_rows(exact, place[everybody[known]], shared[known])
            held = np.zeros(end, bool)
            held[everybody] = True
            empty_nonprivate = 1 - np.count_nonzero(held) / end
        return LeafCounts(
            np.flatnonzero(used), counts, exact, place[np.minimum(asked, end - 1)], empty, empty_nonprivate
        )


@dataclass(frozen=True, eq=False)
class LeafCounts:
    """Rows in leaves: their numbers, counts with rows shared out as planned, and with all in all trees (non-private).

    `place` says where among them each asked leaf is; `empty` and `empty_nonprivate` are shares of all leaves.
    """

    leaves: np.ndarray
    counts: np.ndarray
    nonprivate: np.ndarray
    place: np.ndarray
    empty: float
    empty_nonprivate: float


@njit(nogil=True, cache=True)
def _add_rows(counts, place, weight):
    for i in range(len(place)):
        for c in range(counts.shape[1]):
            counts[place[i], c] += weight[i, c]


def _cell(
    specs: list[ForestSpec], domain: Domain, split: Split, level: Level, epsilons: list[float], seed: int, positive: int
) -> list[dict[str, Any]]:
    """A row for each budget; the specs differ in what is left of it for the leaves."""
    spec = specs[0]
    tree_of_row = rows_to_trees(spec, np.arange(len(split.y_train)), DemoSource(seed + NOISE_SEED))
    private = np.isfinite(epsilons)
    own = level.count(spec, tree_of_row, nonprivate=not private.all())

    def values_at(spec: ForestSpec, epsilon: float) -> np.ndarray:
        if math.isfinite(epsilon):
            return simulate_values(spec, own.counts, as_typed(epsilon), seed + NOISE_SEED, leaves=own.leaves)
        return own.nonprivate if spec.releases_counts else true_labels(own.nonprivate, seed, leaves=own.leaves)

    values = [values_at(*one) for one in zip(specs, epsilons, strict=True)]
    exact = [as_typed(e) if math.isfinite(e) else None for e in epsilons]
    votes = [Votes(*one, seed, own.leaves) for one in zip(specs, values, exact, strict=True)]
    labels = np.stack([own_votes.labels for own_votes in votes], axis=1)
    found = _metrics(spec, split, level.routed, votes, labels, own, seed, positive)
    held = np.flatnonzero(own.counts.any(axis=1))
    flips = np.where(private, flipped_share(own.counts[held], labels[held]), 0.0)
    empty = np.where(private, own.empty, own.empty_nonprivate)
    return [
        {"epsilon": e, "depth": spec.depth, "trees": spec.n_trees, **f, "flips": float(flip), "empty": float(share)}
        for e, f, flip, share in zip(epsilons, found, flips, empty, strict=True)
    ]


def _metrics(
    spec: ForestSpec,
    split: Split,
    routed: Routed,
    votes: list[Votes],
    labels: np.ndarray,
    own: LeafCounts,
    seed: int,
    positive: int,
) -> list[dict[str, float]]:
    """For each of several releases, whose labels are the columns of `labels`."""
    k = routed.domain.n_classes
    if spec.voting == "majority" and k == 2:
        tally = np.zeros((labels.shape[1], spec.n_trees + 1, 2), np.int64)
        _count_votes(routed.test, spec.n_trees, labels[own.place], split.y_test, tally)
        found = from_votes(tally, positive)
        return [{name: float(v[e]) for name, v in found.items()} for e in range(len(tally))]
    at = own.place[routed.test[:, : spec.n_trees]].T
    coin = voting.coins(split.X_test, seed) if spec.voting == "probabilistic" else None
    out, step = [], 0.5 / spec.n_trees if spec.voting == "majority" else 1e-6
    for one in votes:
        shares = one.shares(at, k)
        predicted = voting.decide(shares, spec.voting, coin)
        out.append(from_shares(shares, split.y_test, predicted, positive=positive, step=step))
    return out


@njit(nogil=True, cache=True)
def _count_votes(test, n_trees, said, y, votes):
    """Rows of each class by the number of trees that vote for the second class, for all releases at once.

    `said` (n_asked, n_releases) is what the asked leaves say.
    """
    n_releases = said.shape[1]
    if n_releases == 1:
        only = said[:, 0]
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
            own = said[test[i, t]]
            for e in range(n_releases):
                ones[e] += own[e]
        for e in range(n_releases):
            votes[e, ones[e], y[i]] += 1
