"""Metrics of simulated releases as arrays, for tests."""

import math
from dataclasses import dataclass

import numpy as np

from dpforest.simulation.sweep import simulation_for


@dataclass
class Figures:
    """Metrics of shape (repeats, ε). The ceilings, of shape (repeats,), are metrics of the forest without noise."""

    accuracy: np.ndarray
    balanced: np.ndarray
    flips: np.ndarray
    ceiling: np.ndarray
    ceiling_balanced: np.ndarray


def figures(forest, domain, split, epsilons, *, repeats=1, seed=0, n_jobs=1, n_rows=None) -> Figures:
    """Return the metrics of `repeats` simulated releases.

    Simulations assume that the table has as many rows as there are training rows, unless `n_rows` is given.
    """
    n_rows = len(split.y_train) if n_rows is None else n_rows
    simulation, rows_by_repeat = simulation_for(forest, domain, split, n_rows=n_rows, n_jobs=n_jobs), []
    for repeat in range(repeats):
        rows = {
            row["epsilon"]: row
            for piece in simulation.pieces([*epsilons, math.inf], seed=seed + repeat)
            for row in piece
        }
        rows_by_repeat.append([rows[epsilon] for epsilon in (*epsilons, math.inf)])

    def values(name: str) -> np.ndarray:
        return np.array([[row[name] for row in rows] for rows in rows_by_repeat])

    accuracy, balanced, flips = (values(name) for name in ("accuracy", "balanced_accuracy", "flips"))
    return Figures(accuracy[:, :-1], balanced[:, :-1], flips[:, :-1], accuracy[:, -1], balanced[:, -1])
