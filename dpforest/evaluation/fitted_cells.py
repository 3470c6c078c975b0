"""Forests that look at the data, at every cell of a grid: fitted one by one, on rows that are binned once."""

import math
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.base import clone

from dpforest.evaluation.cells import at_cell
from dpforest.evaluation.metrics import flipped_share, from_shares
from dpforest.evaluation.repeats import NOISE_SEED
from dpforest.evaluation.splits import Split
from dpforest.evaluation.without_noise import exact_scale
from dpforest.models.data_dependent import DataDependentClassifier, EncodedRows
from dpforest.models.trace import Trace
from dpforest.tables.domain import Domain
from dpforest.trees.released_scale import scale_histograms


def fitted_cells(
    forest: DataDependentClassifier,
    domain: Domain,
    split: Split,
    epsilons: list[float],
    cells: list[tuple[int | None, int | None]],
    seed: int,
    positive: int,
) -> list[dict[str, Any]]:
    """As `counted_cells`; each cell is what a separate fit with the same seeds gives, at ε = infinity without noise."""
    n = np.arange(len(split.y_train))
    rows = replace(forest.encode(domain, split.X_train, split.y_train, n), memo={})
    forest = clone(forest).set_params(random_state=seed + NOISE_SEED)
    if "structure_seed" in forest.get_params():
        forest.set_params(structure_seed=seed)
    models = [at_cell(forest, depth, trees) for depth, trees in cells]
    exact = without_noise(forest, domain, rows)
    return [
        _fitted_cell(model, domain, exact if math.isinf(epsilon) else rows, split, epsilon, positive)
        for model in models
        for epsilon in (*epsilons, math.inf)
    ]


def without_noise(forest: DataDependentClassifier, domain: Domain, rows: EncodedRows) -> EncodedRows:
    """The rows in bins of their own exact scale, where a release asks for it."""
    scale = exact_scale(forest, rows.once(("scale",), lambda: scale_histograms(domain, rows.codes)))
    return rows if scale is None else rows.on_scale(domain, scale)


def _fitted_cell(
    model: DataDependentClassifier, domain: Domain, rows: EncodedRows, split: Split, epsilon: float, positive: int
) -> dict[str, Any]:
    """One fit with the seeds of the model, which is left at this ε."""
    model.epsilon = None if math.isinf(epsilon) else epsilon
    model.check(domain, len(split.y_train))
    trace = Trace(draws=False)
    fitted = model.fit_encoded(domain, rows, trace=trace)
    assert trace.counts is not None and trace.labels is not None
    flips, n_rows = 0.0, trace.counts.sum(axis=1)
    if trace.noise is not None and epsilon < math.inf:
        flips = float(flipped_share(trace.noise.evidence, trace.labels, n_rows))
    shares, predicted = fitted.shares_and_index(split.X_test)
    step = 0.5 / fitted.trees.n_trees if fitted.labels is not None else 1e-6
    found = from_shares(shares, split.y_test, predicted, positive=positive, step=step)
    return {
        "epsilon": epsilon,
        "depth": model.max_depth if isinstance(model.max_depth, int) else fitted.trees.depth,
        "trees": fitted.trees.n_trees // model.scores_of(domain),
        **found,
        "flips": flips,
        "empty": float((n_rows == 0).mean()),
    }
