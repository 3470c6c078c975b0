"""The rounds of boosting. Each round sums gradients in the leaves of a tree, adds noise, and updates scores."""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final

import numpy as np

from dpforest.models.boosting.booster_spec import BoosterSpec
from dpforest.models.boosting.gradients import POINT, moves_of, next_sums
from dpforest.models.data_dependent import EncodedRows
from dpforest.models.leaf_noise import GradientNoise
from dpforest.models.trace import Trace
from dpforest.privacy.ledger import QueryBudget
from dpforest.privacy.randomness import DemoSource, SecretSource
from dpforest.privacy.release import noisy_table
from dpforest.tables.domain import Domain
from dpforest.trees.layout import Trees
from dpforest.trees.routing import leaves_of_rows

_ROUND_KEY: Final = 16  # key of the first round's draws in a fit with a seed; earlier questions have smaller keys
_MOST_ROUTED: Final = 2**23  # largest number of leaf indices in memory: one for each row and tree
# With fewer rows for each thread, starting threads in each round takes more time than they save.
_ROWS_OF_A_THREAD: Final = 100_000


def boost(
    spec: BoosterSpec,
    domain: Domain,
    trees: Trees,
    rows: EncodedRows,
    paid: QueryBudget | None,
    source: SecretSource | DemoSource,
    *,
    n_jobs: int = 1,
    trace: Trace | None = None,
) -> np.ndarray:
    """Run all rounds and return the value that each leaf adds to the scores.

    Parameters
    ----------
    spec : BoosterSpec
        Every choice of the fit.
    domain : Domain
        Domain that encoded the rows.
    trees : Trees
        Public trees, drawn without looking at the rows.
    rows : EncodedRows
        Rows whose gradients are summed.
    paid : QueryBudget or None
        Budget that was charged for all rounds, and that each round uses once; None without privacy.
    source : SecretSource or DemoSource
        Source of the noise.
    n_jobs : int
        Number of threads; the result does not depend on it.
    trace : Trace, optional
        Record that `boost` fills in, for figures that only the curator (the data holder) may see.

    Returns
    -------
    float64 array of shape (n_leaves, n_scores)
        Values of the leaves: multiples of 1/2**20, so that their sums over trees are exact.
    """
    n, n_leaves, clip = len(rows.y), 2**spec.depth, spec.clip
    scores = np.zeros((n, clip.n_scores), np.int64)
    moves = np.empty((spec.n_trees, n_leaves, clip.n_scores), np.int64)
    recorded = None if trace is None else (np.empty_like(moves), list[np.ndarray]())
    n_parts = max(1, min(n_jobs, n // _ROWS_OF_A_THREAD))
    parts = [slice(n * i // n_parts, n * (i + 1) // n_parts) for i in range(n_parts)]
    last_leaf, last_moves = np.zeros(n, np.int32), np.zeros_like(moves[0])
    with ThreadPoolExecutor(n_parts) as pool:
        map_parts: Callable[..., Any] = map if n_parts == 1 else pool.map
        for t, leaf in enumerate(_leaf_of_rows(trees, domain, rows, n_jobs)):

            def sums_of(part: slice) -> np.ndarray:
                weights = None if rows.weight is None else rows.weight[part]
                return next_sums(scores[part], last_leaf[part], last_moves, leaf[part], rows.y[part], clip, weights)  # noqa: B023

            sums = noisy = np.sum(list(map_parts(sums_of, parts)), axis=0)
            if paid is not None:
                noisy = noisy_table(sums, clip.sensitivity, paid, source, key=_ROUND_KEY + t)
            moves[t] = moves_of(noisy, spec.step)
            last_leaf, last_moves = leaf, moves[t]
            if recorded is not None:
                recorded[0][t] = sums
                recorded[1].append(rows.counted(leaf, n_leaves, domain.n_classes))
    moves = moves.reshape(-1, clip.n_scores)
    if trace is not None and recorded is not None:
        _fill_trace(trace, spec, recorded[0].reshape(moves.shape), np.concatenate(recorded[1]), moves, paid)
    return moves / 2.0**POINT


def _leaf_of_rows(trees: Trees, domain: Domain, rows: EncodedRows, n_jobs: int) -> Iterator[np.ndarray]:
    """Yield for each tree the leaf of each row, counted from the tree's first leaf.

    Trees do not depend on earlier rounds, so one pass over the rows can route them through many trees.
    """
    trees_in_memory = max(1, _MOST_ROUTED // max(len(rows.y), 1))
    for start in range(0, trees.n_trees, trees_in_memory):
        next_trees = trees.between(start, min(start + trees_in_memory, trees.n_trees))
        leaves = leaves_of_rows(next_trees, domain, rows.codes, n_jobs=n_jobs)
        leaves -= next_trees.leaf_start[:-1, None].astype(np.int32)
        yield from leaves


def _fill_trace(
    trace: Trace, spec: BoosterSpec, sums: np.ndarray, counts: np.ndarray, moves: np.ndarray, paid: QueryBudget | None
) -> None:
    """Fill the trace: number of rows in leaves, the class that each leaf favors, and the noise on gradient sums."""
    trace.counts = counts
    trace.labels = _class_columns(moves).argmax(axis=1).astype(np.uint8)
    if paid is not None:
        trace.noise = GradientNoise(
            _class_columns(sums).astype(float), spec.clip.is_l2, spec.clip.noise_scale(paid.each)
        )


def _class_columns(values: np.ndarray) -> np.ndarray:
    """Return a column for each class. With two classes, `values` is the second column, and -`values` the first."""
    return values if values.shape[1] > 1 else np.concatenate([-values, values], axis=1)
