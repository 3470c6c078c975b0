"""Simulated releases of forests that must be fitted anew at every ε. Rows are encoded only once.

The simulation reads raw rows and draws its noise from known seeds. So its results are not private: they are for the
curator, who may see the rows, and never for publication.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from dpforest.explain import AddedScores
from dpforest.models.data_dependent import DataDependentClassifier, EncodedRows
from dpforest.models.greedy.count_trees import share_out, structure_share
from dpforest.models.greedy.multinomial import MultinomialForestClassifier
from dpforest.models.trace import Trace
from dpforest.privacy.randomness import DemoSource
from dpforest.simulation.cells import at_cell
from dpforest.simulation.metrics import flipped_share, from_shares
from dpforest.simulation.pieces import NOISE_SEED, ONE_CELL, Cell, Row, Simulation, in_threads, packed
from dpforest.simulation.splits import Split
from dpforest.simulation.value_spread import value_spread
from dpforest.simulation.views import ForestView
from dpforest.simulation.without_noise import exact_scale
from dpforest.tables.domain import Domain
from dpforest.trees.forest import Forest
from dpforest.trees.layout import Trees
from dpforest.trees.leaves import LabelLeaves, ScoreLeaves
from dpforest.trees.released_scale import scale_histograms
from dpforest.trees.routing import count_rows
from dpforest.voting import CLIPPED_LOGISTIC


class FittedSimulation(Simulation):
    """Simulated releases of one forest that is fitted anew at every ε.

    Each release equals a separate fit with the same seeds. Work that is the same in all fits of a repeat is done once
    (`EncodedRows.once`). The parameters are those of `Simulation`.

    Examples
    --------
    >>> from dpforest import FriedmanSchusterClassifier, load_dataset
    >>> from dpforest.simulation.splits import split_table
    >>> data = load_dataset("nursery")
    >>> split = split_table(data.domain, data.X, data.y)
    >>> simulation = FittedSimulation(FriedmanSchusterClassifier(), data.domain, split)
    >>> low, high = (row["accuracy"] for piece in simulation.pieces([0.01, 10]) for row in piece)
    >>> low < high
    True
    """

    forest: DataDependentClassifier

    def __init__(
        self,
        forest: DataDependentClassifier,
        domain: Domain,
        split: Split,
        *,
        n_rows: int | None = None,
        n_jobs: int = 1,
    ):
        super().__init__(forest, domain, split, n_rows=n_rows, n_jobs=n_jobs)
        self._has_structure_seed = "structure_seed" in forest.get_params()
        # Figures at ε = ∞. Without a structure seed, only noise is random, so all repeats have the same figures.
        self._without_noise = dict[Cell, Row]()
        self._checked = set[tuple[float, Cell]]()  # (ε, cell) pairs whose parameters `check` accepted
        self._rows = forest.encode(domain, split.X_train, split.y_train, split.row_ids, units=split.units)

    def check(self, epsilons: Sequence[float]) -> None:
        """Raise ValueError if a release cannot be planned. Call this before any release is simulated."""
        self.forest.check(self.domain, self.n_rows)

    def pieces(self, epsilons: Sequence[float], cells: Sequence[Cell] = ONE_CELL, seed: int = 0) -> Iterator[list[Row]]:
        """See `Simulation.pieces`; a step is one fit."""
        rows = replace(self._rows, memo={})

        def fit(job: tuple[float, int]) -> list[Row]:
            return [self._row(*job, cells[job[1]], seed, rows)]

        jobs = [(epsilon, cell) for epsilon in epsilons for cell in range(len(cells))]
        for fitted in in_threads(fit, jobs, self.n_jobs):
            yield fitted or []

    def view(self, epsilon: float, seed: int = 0) -> ForestView:
        """Simulate one release, and return it leaf by leaf."""
        trace = Trace()
        model, rows = self._model(epsilon, (None, None), seed), self._rows
        forest = model.fit_encoded(self.domain, self._as_released(model, rows), trace=trace)
        assert trace.counts is not None and trace.labels is not None and trace.noise is not None
        leaves, added = forest.leaves, AddedScores.of(forest) if forest.voting == CLIPPED_LOGISTIC else None
        values, classes, spread = None, None, None
        if isinstance(leaves, ScoreLeaves) and added is None:
            values, classes = leaves.leaf_values, leaves.class_of_tree
            spread = value_spread(model, trace.noise, leaves.alpha_link)
        return ForestView(
            forest.trees,
            self.domain,
            trace.counts,
            trace.labels,
            trace.noise,
            values,
            classes,
            tuple(trace.trees),
            forest.scale,
            added,
            None if rows.units is None else rows_in_leaves(model, forest.trees, self.domain, rows),
            spread,
        )

    def _model(self, epsilon: float, cell: Cell, seed: int) -> DataDependentClassifier:
        """Return the forest at an ε and a cell, with the seeds of a repeat."""
        model = at_cell(self.forest, *cell)
        model.set_params(epsilon=None if math.isinf(epsilon) else epsilon, random_state=seed + NOISE_SEED)
        return model.set_params(structure_seed=seed) if self._has_structure_seed else model

    def _as_released(self, model: DataDependentClassifier, rows: EncodedRows) -> EncodedRows:
        """Return the rows, with the number of rows of the whole table if the fit may plan from this number.

        The split holds some rows out, but a release would plan its parameters from the number of all rows
        (`EncodedRows.of_table`).
        """
        uses_rules = model.epsilon is not None and model.mode == "certified"
        return rows.of_table(self.n_rows) if uses_rules and self.n_rows != rows.n_counted else rows

    def _row(self, epsilon: float, cell_index: int, cell: Cell, seed: int, rows: EncodedRows) -> Row:
        """Return the figures of one fit, with the keys of `Simulation.pieces`."""
        if math.isinf(epsilon):
            if cell not in self._without_noise or self._has_structure_seed:
                model = self._model(epsilon, cell, seed)
                self._without_noise[cell] = self._figures(model, without_noise(model, self.domain, rows), epsilon)
            return {**self._without_noise[cell], "cell": cell_index}
        model = self._model(epsilon, cell, seed)
        if (epsilon, cell) not in self._checked:
            model.check(self.domain, self.n_rows)
            self._checked.add((epsilon, cell))
        return {**self._figures(model, self._as_released(model, rows), epsilon), "cell": cell_index}

    def _figures(self, model: DataDependentClassifier, rows: EncodedRows, epsilon: float) -> Row:
        """Fit the forest, and return its figures on the held-out rows, with the keys of `Simulation.pieces`."""
        split, trace = self.split, Trace(draws=False)
        fitted: Forest = model.fit_encoded(self.domain, rows, trace=trace)
        assert trace.counts is not None and trace.labels is not None
        flips, n_rows = 0.0, trace.counts.sum(axis=1)
        if trace.noise is not None and math.isfinite(epsilon):
            flips = float(flipped_share(trace.noise.evidence, trace.labels, n_rows))
        shares, predicted = fitted.shares_and_index(split.X_test)
        step = 0.5 / fitted.trees.n_trees if isinstance(fitted.leaves, LabelLeaves) else 1e-6
        return {
            "epsilon": epsilon,
            "depth": model.max_depth if isinstance(model.max_depth, int) else fitted.trees.depth,
            "trees": fitted.trees.n_trees // model.scores_of(self.domain),
            **from_shares(shares, split.y_test, predicted, positive=self.positive, step=step),
            "right": packed(predicted == split.y_test),
            "flips": flips,
            "empty": float((n_rows == 0).mean()),
        }


def rows_in_leaves(model: DataDependentClassifier, trees: Trees, domain: Domain, rows: EncodedRows) -> np.ndarray:
    """Return the number of rows from which a certified, seeded fit computes each leaf, int64 (n_leaves,).

    Each row counts 1, even if the fit gives smaller weights to the rows of a person with several rows.
    """
    count = partial(count_rows, n_classes=domain.n_classes)
    if not isinstance(model, MultinomialForestClassifier):
        return count(trees, domain, rows.codes, rows.y).sum(axis=1)
    assert model.random_state is not None
    share, source = structure_share(model.partition_rate), DemoSource(model.random_state)
    parts = share_out(rows.row_ids, trees.n_trees, share, model.partition, source, rows.units).estimation
    tree_counts = [count(trees.select(t), domain, rows.codes[part], rows.y[part]) for t, part in enumerate(parts)]
    return np.concatenate(tree_counts).sum(axis=1)


def without_noise(forest: DataDependentClassifier, domain: Domain, rows: EncodedRows) -> EncodedRows:
    """Return the rows as a fit without noise encodes them: by the exact scale, if a release would query a scale."""
    scale = exact_scale(forest, rows.cached(("scale",), lambda: scale_histograms(domain, rows.codes, rows.weight)))
    return rows if scale is None else rows.on_scale(domain, scale)
