"""The rounds: gradients of all rows, their sums in the leaves of the next tree, noise, and scores that move."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final

import numpy as np

from dpforest.models.greedy.greedy import Binned
from dpforest.models.greedy.trace import Trace
from dpforest.models.leaf_noise import GradientNoise
from dpforest.models.random_boost.booster_spec import BoosterSpec
from dpforest.models.random_boost.gradients import POINT, add_moves, gradient_sums, moves_of
from dpforest.privacy.ledger import QueryBudget
from dpforest.privacy.loss import GAUSSIAN
from dpforest.privacy.randomness import DemoSource, SecretSource
from dpforest.privacy.release import gaussian_table, noisy_table
from dpforest.tables.domain import Domain
from dpforest.trees.layout import Trees
from dpforest.trees.routing import leaves_of_rows

_ROUND_KEY: Final = 16  # of the first round's draws in a demonstration; before it is what is asked before trees grow
_ROUTED: Final = 2**23  # leaves that are kept at a time


def boost(
    spec: BoosterSpec, domain: Domain, trees: Trees, rows: Binned, paid: QueryBudget | None,
    source: SecretSource | DemoSource, *, n_jobs: int = 1, trace: Trace | None = None,
) -> np.ndarray:  # fmt: skip
    """What every leaf adds to scores.

    Parameters
    ----------
    spec : BoosterSpec
    domain : Domain
    trees : Trees
        Of any rows or none: they are public.
    rows : Binned
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
    n, n_leaves = len(rows.y), 2**spec.depth
    scores = np.zeros((n, spec.n_scores), np.int64)
    moves = np.empty((spec.n_trees * n_leaves, spec.n_scores), np.int64)
    seen = None if trace is None else (np.empty_like(moves), np.empty((len(moves), domain.n_classes), np.int64))
    parts = [slice(n * i // n_jobs, n * (i + 1) // n_jobs) for i in range(n_jobs)]
    at_once = max(1, _ROUTED // max(n, 1))
    with ThreadPoolExecutor(n_jobs) as pool:
        run: Callable[..., Any] = map if n_jobs == 1 else pool.map
        for t in range(spec.n_trees):
            if t % at_once == 0:  # trees are public, so rows can be routed ahead
                ahead = trees.between(t, min(t + at_once, spec.n_trees))
                leaves = leaves_of_rows(ahead, domain, rows.codes, n_jobs=n_jobs)
            leaf = leaves[t % at_once] - np.int32(t % at_once * n_leaves)
            own = slice(t * n_leaves, (t + 1) * n_leaves)
            of_parts = list(run(lambda part: _sums(spec, leaf[part], rows.y[part], scores[part]), parts))  # noqa: B023
            sums = np.sum(of_parts, axis=0)
            noisy = sums
            if paid is not None:
                add_noise = gaussian_table if spec.kind == GAUSSIAN else noisy_table
                noisy = add_noise(sums, spec.sensitivity, paid, source, key=_ROUND_KEY + t)
            moves[own] = moves_of(noisy, spec.step)
            list(run(lambda part: add_moves(leaf[part], moves[own], scores[part]), parts))  # noqa: B023
            if seen is not None:
                seen[0][own], seen[1][own] = sums, _rows_in(leaf, rows.y, n_leaves, domain.n_classes)
    if trace is not None and seen is not None:
        _fill(trace, spec, *seen, moves, paid)
    return moves / 2.0**POINT


def _sums(spec: BoosterSpec, leaf: np.ndarray, y: np.ndarray, scores: np.ndarray) -> np.ndarray:
    return gradient_sums(leaf, y, scores, 2**spec.depth, by_length=spec.kind == GAUSSIAN)


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
        scale = spec.noise_scale(paid.each)
        trace.noise = GradientNoise(_of_classes(sums).astype(float), spec.kind == GAUSSIAN, scale)


def _of_classes(values: np.ndarray) -> np.ndarray:
    """A column for each class; of two, the first has the negative of the second."""
    return values if values.shape[1] > 1 else np.concatenate([-values, values], axis=1)
