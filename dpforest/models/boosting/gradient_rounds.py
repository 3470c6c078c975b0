"""The rounds: gradients of all rows, their sums in the leaves of the next tree, noise, and scores that move."""

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

_ROUND_KEY: Final = 16  # of the first round's draws in a demonstration; before it are the queries before trees grow
_ROUTED: Final = 2**23  # leaves that are kept at a time
_ROWS_OF_A_THREAD: Final = 100_000  # with fewer, waking it a thousand times takes longer than what it does


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
    """What every leaf adds to scores.

    Parameters
    ----------
    spec : BoosterSpec
    domain : Domain
    trees : Trees
        Of any rows or none: they are public.
    rows : EncodedRows
    paid : QueryBudget or None
        One use a round; None without privacy.
    source : SecretSource or DemoSource
    n_jobs : int
        Threads; the result does not depend on it.
    trace : Trace, optional
        Filled for the curator's drawings.

    Returns
    -------
    float64 array of shape (n_leaves, n_scores)
        Multiples of 1/2**20, so that sums of them are exact.
    """
    n, n_leaves, clip = len(rows.y), 2**spec.depth, spec.clip
    scores = np.zeros((n, clip.n_scores), np.int64)
    moves = np.empty((spec.n_trees, n_leaves, clip.n_scores), np.int64)
    seen = None if trace is None else (np.empty_like(moves), np.empty((*moves.shape[:2], domain.n_classes), np.int64))
    n_parts = max(1, min(n_jobs, n // _ROWS_OF_A_THREAD))
    parts = [slice(n * i // n_parts, n * (i + 1) // n_parts) for i in range(n_parts)]
    before, last = np.zeros(n, np.int32), np.zeros_like(moves[0])
    with ThreadPoolExecutor(n_parts) as pool:
        run: Callable[..., Any] = map if n_parts == 1 else pool.map
        for t, leaf in enumerate(_leaf_of_rows(trees, domain, rows, n_jobs)):

            def sums_of(part: slice) -> np.ndarray:
                return next_sums(scores[part], before[part], last, leaf[part], rows.y[part], clip)  # noqa: B023

            sums = noisy = np.sum(list(run(sums_of, parts)), axis=0)
            if paid is not None:
                noisy = noisy_table(sums, clip.sensitivity, paid, source, key=_ROUND_KEY + t)
            moves[t] = moves_of(noisy, spec.step)
            before, last = leaf, moves[t]
            if seen is not None:
                seen[0][t], seen[1][t] = sums, _rows_in(leaf, rows.y, n_leaves, domain.n_classes)
    moves = moves.reshape(-1, clip.n_scores)
    if trace is not None and seen is not None:
        _fill(trace, spec, seen[0].reshape(moves.shape), seen[1].reshape(len(moves), -1), moves, paid)
    return moves / 2.0**POINT


def _leaf_of_rows(trees: Trees, domain: Domain, rows: EncodedRows, n_jobs: int) -> Iterator[np.ndarray]:
    """Leaf of each row in each tree, counted from the tree's first one; trees are public, so rows are routed ahead."""
    at_once = max(1, _ROUTED // max(len(rows.y), 1))
    for first in range(0, trees.n_trees, at_once):
        ahead = trees.between(first, min(first + at_once, trees.n_trees))
        leaves = leaves_of_rows(ahead, domain, rows.codes, n_jobs=n_jobs)
        leaves -= ahead.leaf_start[:-1, None].astype(np.int32)
        yield from leaves


def _rows_in(leaf: np.ndarray, y: np.ndarray, n_leaves: int, n_classes: int) -> np.ndarray:
    """Rows of each class in each leaf of a tree."""
    return np.bincount(leaf * np.int64(n_classes) + y, minlength=n_leaves * n_classes).reshape(n_leaves, n_classes)


def _fill(
    trace: Trace, spec: BoosterSpec, sums: np.ndarray, counts: np.ndarray, moves: np.ndarray, paid: QueryBudget | None
) -> None:
    """What the drawings show: the class that a leaf pulls to, and how noise may turn it."""
    trace.counts = counts
    trace.labels = _of_classes(moves).argmax(axis=1).astype(np.uint8)
    if paid is not None:
        trace.noise = GradientNoise(_of_classes(sums).astype(float), spec.clip.is_l2, spec.clip.noise_scale(paid.each))


def _of_classes(values: np.ndarray) -> np.ndarray:
    """A column for each class; of two, the first has the negative of the second."""
    return values if values.shape[1] > 1 else np.concatenate([-values, values], axis=1)
