"""Check the declared sensitivity of split scores: add one row to every small node, and measure how scores change."""

from collections.abc import Iterator
from typing import Final

import numpy as np

from dpforest.tables.domain import Domain, Feature
from dpforest.trees.candidates import public_candidates
from dpforest.trees.split_scores import COUNTED, UNIT, score_splits, sensitivity

_X: Final = Feature("x", "numeric", 0.0, 1.0, source="documented", source_note="scores.py")
_HALVES: Final = Domain((_X,), (0, 1), "y", "documented", "scores.py")
_ROWS: Final = (1, 2, 3, 8, 33, 100)
_ALPHAS: Final = (0, 1, 300, UNIT)  # α in units of 1/1024
_WEIGHTS: Final = (3, 500, UNIT)  # largest weights of a row, in units of 1/1024


def check_scores() -> Iterator[str]:
    """Yield a message for each criterion and size of nodes whose declared sensitivity is too small."""
    for what, width, declared in _widths():
        if width > declared:
            yield f"{what}: a row moves scores within {width / UNIT:.4g}, declared are {declared / UNIT:.4g}"


def _widths() -> Iterator[tuple[str, int, int]]:
    for criterion in COUNTED:
        for n_rows in _ROWS:
            for n_classes in (2, 3) if n_rows <= 33 else (2,):
                tables = _tables(n_rows - 1, n_classes)
                width = max(_width(tables, c, 1, criterion, UNIT) for c in range(n_classes))
                description = f"{criterion}, {n_rows} rows of {n_classes} classes"
                yield description, width, sensitivity(criterion, n_rows)
    for n_rows in _ROWS:
        for weight in _WEIGHTS:
            tables = _weights((n_rows - 1) * weight)
            for alpha in _ALPHAS:
                width = max(_width(tables, c, u, "m-alpha", alpha) for c in (0, 1) for u in {1, weight // 2, weight})
                description = f"m-alpha, α = {alpha / UNIT:.3g}, {n_rows} rows of weight {weight / UNIT:.3g} at most"
                yield description, width, sensitivity("m-alpha", n_rows, alpha=alpha, weight=weight)


def _width(tables: np.ndarray, label: int, weight: int, criterion: str, alpha: int) -> int:
    """Add a row to each of these children, and return the largest minus the smallest change of a score."""
    with_row = tables.copy()
    with_row[:, label] += weight
    changes = _scores(with_row, criterion, alpha) - _scores(tables, criterion, alpha)
    return int(changes.max()) - int(changes.min())


def _scores(children: np.ndarray, criterion: str, alpha: int) -> np.ndarray:
    """Return the score of the split that puts all rows of a node into its left child."""
    histogram = np.stack([children, np.zeros_like(children)], axis=1)
    return score_splits(histogram, public_candidates(_HALVES, 2), criterion, alpha)[:, 0]


def _tables(most: int, n_classes: int) -> np.ndarray:
    """Return all counts of rows by class with a total of at most `most`."""
    tables = np.indices((most + 1,) * n_classes).reshape(n_classes, -1).T
    return tables[tables.sum(axis=1) <= most].astype(np.int64)


def _weights(most: int, n_steps: int = 160) -> np.ndarray:
    """Return weights of two classes with a total of at most `most`: small ones, large ones, and a grid between them."""
    values = np.unique(np.r_[0:8, np.linspace(0, most, n_steps).astype(int), np.maximum(most - np.arange(8), 0)])
    weights = np.array(np.meshgrid(values, values)).reshape(2, -1).T
    return weights[weights.sum(axis=1) <= most].astype(np.int64)
