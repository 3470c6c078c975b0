"""The rounds of boosting: each round adds noise to the gradient sums in a tree's leaves, and then moves the scores."""

from collections.abc import Callable
from typing import Final

import numpy as np

from dpforest.models.boosting.booster_spec import BoosterSpec
from dpforest.models.boosting.gradients import POINT, moves_of
from dpforest.models.leaf_noise import GradientNoise
from dpforest.models.trace import Trace
from dpforest.privacy.ledger import QueryBudget
from dpforest.privacy.randomness import DemoSource, SecretSource
from dpforest.privacy.release import noisy_table

_ROUND_KEY: Final = 16  # key of the first round's draws in a fit with a seed; earlier questions have smaller keys

SumsOfRound = Callable[[int, np.ndarray], np.ndarray]  # (round, moves of the last round) -> exact sums


def boost(
    spec: BoosterSpec,
    sums_of_round: SumsOfRound,
    query_budget: QueryBudget | None,
    source: SecretSource | DemoSource,
    *,
    trace: Trace | None = None,
    counts_of_round: Callable[[], np.ndarray] | None = None,
) -> np.ndarray:
    """Run all rounds and return the value that each leaf adds to the scores.

    This function draws the noise of each round once, also if the rows are on several machines.

    Parameters
    ----------
    spec : BoosterSpec
        Every choice of the fit.
    sums_of_round : callable
        `GradientSums.of_round`, or the sum of its results over all parts of a table.
    query_budget : QueryBudget or None
        Budget that was charged for all rounds, and that each round uses once; None without privacy.
    source : SecretSource or DemoSource
        Source of the noise.
    trace : Trace, optional
        Record that `boost` fills in, for figures that only the curator (the data holder) may see.
    counts_of_round : callable, optional
        Function that returns the number of rows of each class in each leaf of the last round, for the trace.

    Returns
    -------
    float64 array of shape (n_leaves, n_scores)
        Values of the leaves: multiples of 1/2**20, so that their sums over trees are exact.
    """
    clip, n_leaves = spec.clip, 2**spec.depth
    moves = np.zeros((spec.n_trees, n_leaves, clip.n_scores), np.int64)
    exact_sums, counts = [], []
    for t in range(spec.n_trees):
        sums = noisy = sums_of_round(t, moves[max(t - 1, 0)])
        if query_budget is not None:
            noisy = noisy_table(sums, clip.sensitivity, query_budget, source, key=_ROUND_KEY + t)
        moves[t] = moves_of(noisy, spec.step)
        if counts_of_round is not None:
            exact_sums.append(sums)
            counts.append(counts_of_round())
    moves = moves.reshape(-1, clip.n_scores)
    if trace is not None:
        _fill_trace(trace, spec, np.concatenate(exact_sums), np.concatenate(counts), moves, query_budget)
    return moves / 2.0**POINT


def _fill_trace(
    trace: Trace,
    spec: BoosterSpec,
    sums: np.ndarray,
    counts: np.ndarray,
    moves: np.ndarray,
    query_budget: QueryBudget | None,
) -> None:
    """Fill the trace: number of rows in leaves, the class that each leaf favors, and the noise on gradient sums."""
    trace.counts = counts
    trace.labels = _class_columns(moves).argmax(axis=1).astype(np.uint8)
    if query_budget is not None:
        trace.noise = GradientNoise(
            _class_columns(sums).astype(float), spec.clip.is_l2, spec.clip.noise_scale(query_budget.each)
        )


def _class_columns(values: np.ndarray) -> np.ndarray:
    """Return a column for each class. With two classes, `values` is the second column, and -`values` the first."""
    return values if values.shape[1] > 1 else np.concatenate([-values, values], axis=1)
