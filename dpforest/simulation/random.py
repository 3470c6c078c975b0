"""Simulated releases of forests with random structure: rows are counted once for many cells and budgets.

A cell is a pair of a depth and a number of trees. For one cell, the module grows the forest of this cell, and counts
the rows in its leaves. For many cells, it grows only the largest and deepest forest, counts the fitted rows in its
leaves, and stores the leaf of each held-out row. The counts of all smaller forests are sums over the leaves of this
forest (`leaf_counts`). Every ε gets its noise from draws that depend only on the seed and on the index of the leaf in
the forest of the cell. So the release at an ε and a cell equals a separate fit with the same seeds.

The simulation reads raw rows and draws its noise from known seeds. So its results are not private: they are for the
curator, who may see the rows, and never for publication.
"""

import math
from collections.abc import Iterator, Sequence
from copy import copy
from dataclasses import replace
from functools import cached_property

import numpy as np
from sklearn.base import clone

from dpforest import voting
from dpforest.models.leaf_noise import CountNoise
from dpforest.models.random.fit import count_kept_rows, rows_to_trees, simulate_values
from dpforest.models.random.random_structure import RandomStructureClassifier
from dpforest.models.random.spec import ForestSpec, true_labels
from dpforest.privacy.ledger import Ledger
from dpforest.privacy.randomness import DemoSource
from dpforest.privacy.rationals import printed_decimal
from dpforest.simulation.cells import at_cell
from dpforest.simulation.leaf_counts import CutForest, LeafCounts, RoutedRows, has_rows
from dpforest.simulation.metrics import flipped_share, from_shares, from_votes
from dpforest.simulation.pieces import NOISE_SEED, ONE_CELL, Cell, Row, Simulation, in_threads, packed
from dpforest.simulation.splits import Split
from dpforest.simulation.views import ForestView
from dpforest.simulation.without_noise import exact_scale
from dpforest.tables.domain import Domain
from dpforest.tables.units import Units
from dpforest.trees import routing
from dpforest.trees.layout import Trees
from dpforest.trees.leaves import Leaves
from dpforest.trees.released_scale import ReleasedScale, scale_histograms

Plan = tuple[ForestSpec, ReleasedScale | None]


class RandomSimulation(Simulation):
    """Simulated releases of one forest with random structure.

    Each repeat draws new trees, a new assignment of rows to trees, and new noise. It counts rows once for all budgets
    that have the same trees. Within a repeat, the noise at different budgets comes from the same draws, so that curves
    over ε are smooth. The parameters are those of `Simulation`.

    Examples
    --------
    >>> from dpforest import MajorityLabelForestClassifier, load_dataset
    >>> from dpforest.simulation.splits import split_table
    >>> data = load_dataset("nursery")
    >>> split = split_table(data.domain, data.X, data.y)
    >>> simulation = RandomSimulation(MajorityLabelForestClassifier(n_estimators=10), data.domain, split)
    >>> low, high = (row["accuracy"] for piece in simulation.pieces([0.1, 10]) for row in piece)
    >>> low < high
    True
    """

    forest: RandomStructureClassifier

    def __init__(
        self,
        forest: RandomStructureClassifier,
        domain: Domain,
        split: Split,
        *,
        n_rows: int | None = None,
        n_jobs: int = 1,
    ):
        super().__init__(forest, domain, split, n_rows=n_rows, n_jobs=n_jobs)
        self.planner = ReleasePlanner(forest, domain, split, self.n_rows)
        # Key, trees and counts in leaves of the last `view`; with a unit in the domain, also numbers of rows in leaves.
        self._last_view: tuple[tuple, Trees, np.ndarray, np.ndarray | None] | None = None

    def check(self, epsilons: Sequence[float]) -> None:
        """Raise ValueError if a release cannot be planned. Call this before any release is simulated."""
        for epsilon in epsilons:
            self.planner.forest_at(epsilon).spec(self.domain, self.n_rows)

    def pieces(self, epsilons: Sequence[float], cells: Sequence[Cell] = ONE_CELL, seed: int = 0) -> Iterator[list[Row]]:
        """See `Simulation.pieces`.

        A step counts the rows in the leaves of one forest, or simulates releases from these counts, or does both.
        """
        return self._one_cell(epsilons, seed) if tuple(cells) == ONE_CELL else self._many_cells(epsilons, cells, seed)

    def view(self, epsilon: float, seed: int = 0) -> ForestView:
        """Simulate one release, and return it leaf by leaf."""
        spec, scale = self.planner.prepare(epsilon, seed)
        key = (seed, *_counted_by(spec, scale))
        if self._last_view is None or self._last_view[0] != key:
            trees, counts = self._grow_and_count(spec, scale, seed, self.n_jobs)
            self._last_view = (key, trees, counts, self._rows_of_persons(spec, trees, seed))
        _, trees, counts, rows_of_persons = self._last_view
        values = simulate_values(spec, counts, printed_decimal(epsilon), seed + NOISE_SEED)
        labels = spec.leaves(values, printed_decimal(epsilon)).leaf_labels(self.domain.n_classes, seed)
        rule = "clamp" if spec.voting == "log-odds" else spec.negative_rule
        noise = CountNoise(counts, spec.mechanism, spec.leaf_rate(printed_decimal(epsilon)) / spec.count_unit, rule)
        row_counts = counts if spec.count_unit == 1 else counts / spec.count_unit
        return ForestView(trees, self.domain, row_counts, labels, noise, scale=scale, rows_of_persons=rows_of_persons)

    def flips_at(self, view: ForestView, tree: int, present: float, epsilon: float) -> np.ndarray:
        """See `Simulation.flips_at`.

        The number and the depth of trees stay those of the view, even if a rule would choose other values at this ε.
        """
        noise, like = view.noise, self.planner.prepare(present, 0)[0]
        assert isinstance(noise, CountNoise)
        spec = self.planner.prepare(epsilon, 0)[0]
        spec = replace(spec, n_trees=like.n_trees, depth=like.depth, partition=like.partition)
        leaves = slice(int(view.trees.leaf_start[tree]), int(view.trees.leaf_start[tree + 1]))
        rate = spec.leaf_rate(printed_decimal(epsilon)) / spec.count_unit
        return replace(noise, evidence=noise.evidence[leaves], rate=rate).flip()

    @property
    def n_bytes(self) -> int:
        """Number of bytes of the trees and counts of the last `view`."""
        _, trees, counts, n_rows = self._last_view or ((), None, None, None)
        arrays = [counts, n_rows, *(vars(trees).values() if trees else ())]
        return sum(array.nbytes for array in arrays if isinstance(array, np.ndarray))

    def forget(self) -> None:
        """Drop the trees and counts of the last `view`."""
        self._last_view = None

    # ------------------------------------------------------------ one cell: rows are counted in its forest

    def _one_cell(self, epsilons: Sequence[float], seed: int) -> Iterator[list[Row]]:
        """Simulate releases with the depth and number of trees of the forest; see `Simulation.pieces`."""
        plans = {epsilon: self.planner.prepare(epsilon, seed) for epsilon in epsilons}
        groups: dict[tuple, list[float]] = {}  # budgets with the same trees and counts
        for epsilon, plan in plans.items():
            groups.setdefault(_counted_by(*plan), []).append(epsilon)
        yield []
        # Each thread below counts in one thread: threads that start threads would mostly wait for Python's lock.
        if len(groups) > 1:

            def work(group: list[float]) -> list[Row]:
                counted = self._count_leaves(*plans[group[0]], seed, 1)
                return self._release_metrics([plans[epsilon][0] for epsilon in group], counted, group, seed)

            for rows in in_threads(work, list(groups.values()), self.n_jobs):
                yield rows or []
            return
        counted = self._count_leaves(*plans[epsilons[0]], seed, self.n_jobs)
        yield []
        size = -(-len(epsilons) // self.n_jobs)
        parts = [epsilons[i : i + size] for i in range(0, len(epsilons), size)]
        for rows in in_threads(
            lambda part: self._release_metrics([plans[e][0] for e in part], counted, part, seed), parts, self.n_jobs
        ):
            yield rows or []

    def _count_leaves(self, spec: ForestSpec, scale: ReleasedScale | None, seed: int, n_jobs: int) -> LeafCounts:
        """Grow the trees of a plan, and count the fitted rows in the leaves that metrics depend on."""
        trees, counts = self._grow_and_count(spec, scale, seed, n_jobs)
        leaves = routing.leaves_of_rows(trees, self.domain, self.split.X_test, n_jobs=n_jobs)

        # The metrics depend only on leaves that hold a fitted row or that a held-out row reaches.
        has_fitted_row = has_rows(counts)
        is_used = has_fitted_row.copy()
        is_used[leaves] = True
        is_used |= spec.voting == "log-odds"  # this rule compares each leaf with the class shares over all leaves
        leaf_index = (np.cumsum(is_used, dtype=np.int32) - 1)[leaves]
        return LeafCounts(
            np.flatnonzero(is_used),
            counts[is_used],
            1 - np.count_nonzero(has_fitted_row) / len(has_fitted_row),
            leaf_index,
        )

    def _grow_and_count(
        self, spec: ForestSpec, scale: ReleasedScale | None, seed: int, n_jobs: int
    ) -> tuple[Trees, np.ndarray]:
        trees = spec.grow(self.domain, seed, scale)
        return trees, self._count(spec, trees, seed, n_jobs, self.split.units)

    def _count(self, spec: ForestSpec, trees: Trees, seed: int, n_jobs: int, weighted_by: Units | None) -> np.ndarray:
        """Return the number of rows of each class in each leaf; with `weighted_by`, their total weight."""
        split = self.split
        tree_of_row = rows_to_trees(spec, split.row_ids, DemoSource(seed + NOISE_SEED), split.units)
        return count_kept_rows(
            trees, self.domain, split.X_train, split.y_train, tree_of_row, n_jobs=n_jobs, units=weighted_by
        )

    def _rows_of_persons(self, spec: ForestSpec, trees: Trees, seed: int) -> np.ndarray | None:
        """Return the number of rows in each leaf if the domain declares a unit, otherwise None."""
        if self.split.units is None:
            return None
        return self._count(spec, trees, seed, self.n_jobs, None).sum(axis=1)

    # ------------------------------------------------------------ many cells: rows are counted in the largest forest

    def _many_cells(self, epsilons: Sequence[float], cells: Sequence[Cell], seed: int) -> Iterator[list[Row]]:
        """Simulate releases at every cell; see `Simulation.pieces`."""
        specs, scales, budgets_of_scale = self._plans(epsilons, cells, seed)
        for key, budgets in budgets_of_scale.items():
            yield []
            planned = {(cell, epsilon): specs[cell, epsilon] for cell in range(len(cells)) for epsilon in budgets}
            depths, n_trees = {p.depth for p in planned.values()}, max(p.n_trees for p in planned.values())
            largest = replace(specs[0, budgets[0]], depth=max(depths), n_trees=n_trees)
            rows = RoutedRows(largest.grow(self.domain, seed, scales[key]), self.domain, self.split)
            cut_forests = {depth: CutForest(rows, depth) for depth in depths}
            # All releases of a group have the same rows in the same leaves.
            same_counts: dict[tuple, list[tuple[int, float]]] = {}
            for place, p in planned.items():
                same_counts.setdefault((p.depth, p.n_trees, p.partition), []).append(place)
            for (depth, *_), places in same_counts.items():
                plans = [planned[place] for place in places]
                counted = cut_forests[depth].count(plans[0], seed)
                released = self._release_metrics(plans, counted, [epsilon for _, epsilon in places], seed)
                yield [{**row, "cell": cell} for row, (cell, _) in zip(released, places, strict=True)]

    def _plans(
        self, epsilons: Sequence[float], cells: Sequence[Cell], seed: int
    ) -> tuple[dict[tuple[int, float], ForestSpec], dict[bytes, ReleasedScale | None], dict[bytes, list[float]]]:
        """Plan the releases at every ε and cell.

        Returns
        -------
        specs : dict from (cell, ε) to ForestSpec
            Plan of each release; the cell is given by its index.
        scales : dict from bytes to ReleasedScale or None
            All distinct scales of the numeric attributes, by a key made from their content.
        budgets_of_scale : dict from bytes to list of float
            Budgets whose releases have this scale, by the same key.
        """
        planners = [ReleasePlanner(at_cell(self.forest, *cell), self.domain, self.split, self.n_rows) for cell in cells]
        specs = dict[tuple[int, float], ForestSpec]()
        scales, budgets_of_scale = dict[bytes, ReleasedScale | None](), dict[bytes, list[float]]()
        for epsilon in epsilons:
            plan = None
            for cell, planner in enumerate(planners):
                plan = planner.prepare(epsilon, seed, plan)
                specs[cell, epsilon], scale = plan
            key = b"" if scale is None else scale.cumulative.tobytes()
            scales[key] = scale
            budgets_of_scale.setdefault(key, []).append(epsilon)
        if len({(s.categorical, s.thresholds, s.n_quantiles, s.max_leaves) for s in specs.values()}) > 1:
            raise ValueError("Cells differ in more than depth and number of trees, so they cannot be counted once.")
        return specs, scales, budgets_of_scale

    # ------------------------------------------------------------ releases from counts

    def _release_metrics(
        self, specs: Sequence[ForestSpec], counted: LeafCounts, epsilons: Sequence[float], seed: int
    ) -> list[Row]:
        """Return the metrics at each budget, as in `Simulation.pieces`.

        The specs may differ only in the part of the budget that is left for leaves, so that `counted` suits them all.
        """
        spec, has_noise = specs[0], np.isfinite(epsilons)
        exact_epsilons = [printed_decimal(e) if math.isfinite(e) else None for e in epsilons]
        releases = []
        for release_spec, epsilon in zip(specs, exact_epsilons, strict=True):
            if epsilon is not None:
                values = simulate_values(
                    release_spec, counted.counts, epsilon, seed + NOISE_SEED, leaves=counted.leaves
                )
            elif release_spec.releases_counts:
                values = counted.counts
            else:
                values = true_labels(counted.counts, seed, leaves=counted.leaves)
            releases.append(release_spec.leaves(values, epsilon, counted.leaves))
        labels = np.stack([leaves.leaf_labels(self.domain.n_classes, seed) for leaves in releases], axis=1)
        leaves_with_rows = np.flatnonzero(has_rows(counted.counts))
        flips = np.where(has_noise, flipped_share(counted.counts[leaves_with_rows], labels[leaves_with_rows]), 0.0)
        shape = {"cell": 0, "depth": spec.depth, "trees": spec.n_trees, "empty": float(counted.empty)}
        return [
            {"epsilon": e, **shape, **metrics, "flips": float(flip)}
            for e, metrics, flip in zip(
                epsilons, self._metrics(spec, counted, releases, labels, seed), flips, strict=True
            )
        ]

    def _metrics(
        self, spec: ForestSpec, counted: LeafCounts, releases: Sequence[Leaves], labels: np.ndarray, seed: int
    ) -> list[Row]:
        """Return, for each release, its metrics and which held-out rows it predicts correctly.

        `labels` has one column per release.
        """
        k, y = self.domain.n_classes, self.split.y_test
        if spec.voting == "majority" and k == 2:
            votes, right = counted.tally(spec.n_trees, labels, y)
            figures = from_votes(votes, self.positive)
            return [
                {**{name: float(v[e]) for name, v in figures.items()}, "right": packed(right[:, e])}
                for e in range(len(releases))
            ]
        leaf_of_row = counted.leaves_of_rows(spec.n_trees)
        coin = voting.coins(self.split.X_test, seed) if spec.voting == "probabilistic" else None
        rows, step = [], 0.5 / spec.n_trees if spec.voting == "majority" else 1e-6
        for leaves, votes in zip(releases, labels.T, strict=True):
            leaf_sums = votes if spec.voting == "majority" else leaves.summed(k, seed)
            shares = leaves.row_shares(routing.sums_at_leaves(leaf_of_row, leaf_sums, k), spec.n_trees)
            predicted = voting.decide(shares, spec.voting, coin)
            metrics = from_shares(shares, y, predicted, positive=self.positive, step=step)
            rows.append({**metrics, "right": packed(predicted == y)})
        return rows


class ReleasePlanner:
    """Planner for one forest on one split. A plan is the spec and the scale of a fit at an ε and a seed."""

    def __init__(self, forest: RandomStructureClassifier, domain: Domain, split: Split, n_rows: int):
        self._forest, self._domain, self._split, self._n_rows = (
            clone(forest).set_params(domain=None),
            domain,
            split,
            n_rows,
        )

    def forest_at(self, epsilon: float) -> RandomStructureClassifier:
        """Return the forest at this ε."""
        return clone(self._forest).set_params(epsilon=epsilon)

    @cached_property
    def _cells(self) -> np.ndarray:
        units = self._split.units
        return scale_histograms(self._domain, self._split.X_train, None if units is None else units.weight)

    def prepare(self, epsilon: float, seed: int, like: Plan | None = None) -> Plan:
        """Return the plan of a fit at this ε with this seed. At ε = ∞, its scale has no noise.

        Before trees grow, a fit may spend budget on noisy queries of the rows (`ForestSpec.preparation`). `like` is a
        plan for another depth or number of trees at the same ε and seed. If `like` has the same queries as this plan,
        the answers in `like` are used again.
        """
        forest = copy(self._forest)  # a copy for each call, because several threads call this method at the same time
        # As `forest_at(epsilon)`, without the cost of a clone.
        forest.epsilon = None if math.isinf(epsilon) else epsilon
        if like is not None and like[0].preparation.size:
            spec = forest.spec(self._domain, like[0].preparation.n_rows)
            if spec.preparation == like[0].preparation:
                return spec, like[1]
        ledger = Ledger(None if forest.epsilon is None else printed_decimal(epsilon), forest.neighbors)
        n, source = self._n_rows, DemoSource(seed + NOISE_SEED)
        spec, scale = forest.prepare(self._domain, n, n, lambda: self._cells, ledger, source)
        return spec, exact_scale(forest, self._cells) if forest.epsilon is None else scale


def _counted_by(spec: ForestSpec, scale: ReleasedScale | None) -> tuple:
    """Return a key of a plan. Within a repeat, plans with equal keys have the same trees and the same counts."""
    return spec.n_trees, spec.depth, spec.partition, b"" if scale is None else scale.cumulative.tobytes()
