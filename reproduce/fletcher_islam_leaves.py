"""Class counts of leaves, in trees that are grown as in Fletcher and Islam's program.

Each row is in one tree. The reproductions of figures 5b and 8, and of table 3 on the synthetic sets, need these counts.
The authors' program takes the range of each numeric attribute from the training rows, so this module does the same.
With the public range of -8 to 8 instead, leaves would cover larger intervals, and more leaves would be empty.
"""

from __future__ import annotations

import warnings
from dataclasses import replace
from types import SimpleNamespace
from typing import Any, Final

import numpy as np

from dpforest import MajorityLabelForestClassifier, PrivacyLeakWarning
from dpforest.tables.domain import Domain
from dpforest.tables.features import Feature

TRAINED_ON: Final = 0.9  # share of rows that trees are fitted on, as in ten-fold cross-validation


def in_its_ranges(data: Any) -> Domain:
    """Return the domain of a numeric table, with the minimum and maximum of each column as its bounds.

    >>> from dpforest.tables.datasets import make_synthetic
    >>> domain = in_its_ranges(make_synthetic("SynthA", 100))
    >>> domain.features[0].high < 8, bool(domain.leaks())
    (True, True)
    """
    lows, highs = data.X.min(), data.X.max()
    features = tuple(Feature(name, "numeric", low=float(lows[name]), high=float(highs[name])) for name in data.X)
    return replace(data.domain, features=features)


def with_its_ranges(data: Any) -> SimpleNamespace:
    """Return the table with the domain of `in_its_ranges`."""
    return SimpleNamespace(X=data.X, y=data.y, domain=in_its_ranges(data))


def routed(data: Any, domain: Domain, depth: int, n_trees: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the leaf of each training row in each tree, int array (n, n_trees), and the classes of the rows."""
    rows = np.random.default_rng(seed).permutation(len(data.y))[: int(TRAINED_ON * len(data.y))]
    forest = MajorityLabelForestClassifier(
        n_estimators=n_trees,
        max_depth=depth,
        mode="as_published",
        scale_share="public",
        domain=domain,
        structure_seed=seed,
        random_state=seed + 1,
    )
    X, labels = data.X.iloc[rows], data.y.iloc[rows]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PrivacyLeakWarning)  # ranges from the rows leak, as in the authors' program
        return forest.fit(X, labels).apply(X), data.domain.encode_labels(labels)


def counts_of(leaves: np.ndarray, y: np.ndarray, n_classes: int) -> np.ndarray:
    """Return the class counts of all leaves that have rows, int array of shape (n_leaves, n_classes).

    `leaves` holds the leaf of each row, and `y` the class of each row.

    >>> counts_of(np.array([4, 4, 9]), np.array([0, 1, 1]), 2).tolist()
    [[1, 1], [0, 1]]
    """
    _, place = np.unique(leaves, return_inverse=True)
    counts = np.zeros((place.max() + 1 if len(y) else 0, n_classes), np.int64)
    np.add.at(counts, (place, y), 1)
    return counts


def counts_of_trees(leaves: np.ndarray, y: np.ndarray, n_trees: int, n_classes: int = 2) -> list[np.ndarray]:
    """Return the class counts of the leaves of each of the first `n_trees` trees.

    Each tree gets a separate part of the rows, which are in random order.
    """
    part = np.arange(len(y)) % n_trees
    return [counts_of(leaves[part == tree, tree], y[part == tree], n_classes) for tree in range(n_trees)]
