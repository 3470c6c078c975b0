"""Checks of theorems by simulation and by enumeration."""

import numpy as np

from dpforest.losses import m_alpha


def drawn_untested(n_numeric: int, depth: int, n_paths: int, seed: int = 0) -> float:
    """Return the mean number of features that random paths of `depth` tests omit, to check `untested_features`.

    >>> drawn_untested(10, 0, 100), drawn_untested(1, 5, 100)
    (10.0, 0.0)
    """
    features = np.random.default_rng(seed).integers(0, n_numeric, (n_paths, depth))
    tested = np.zeros((n_paths, n_numeric), bool)
    tested[np.arange(n_paths)[:, None], features] = True
    return float(n_numeric - tested.sum(axis=1).mean())


def largest_move(alpha: float, n: int) -> float:
    """Return the largest change of a leaf's Mα-potential when a row is added, for leaves of at most n rows afterwards.

    >>> round(largest_move(1.0, 101), 9)
    20.0
    """
    loss, rows = m_alpha(alpha), np.arange(n, dtype=float)
    first, second = np.meshgrid(rows, rows)
    is_small_enough = first + second <= n - 1
    change = np.abs(loss.potential(first + 1, second) - loss.potential(first, second))
    return float(change[is_small_enough].max())


def least_drawn_share(n_features: int, b1: float, n_draws: int = 300, seed: int = 0) -> float:
    """Return the least probability of a feature over many random scores, to check `feature_probability`.

    As in the multinomial forest, scores are stretched to 0..1, and a score s has the weight exp(B1 s / 2).

    >>> least_drawn_share(2, 0.0), least_drawn_share(1, 5.0)
    (0.5, 1.0)
    """
    rng = np.random.default_rng(seed)
    scores = rng.random((n_draws, n_features)) ** rng.integers(1, 9, (n_draws, 1))
    low, high = scores.min(axis=1, keepdims=True), scores.max(axis=1, keepdims=True)
    weights = np.exp(b1 / 2 * (scores - low) / np.where(high > low, high - low, 1))
    return float((weights / weights.sum(axis=1, keepdims=True)).min())
