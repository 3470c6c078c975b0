"""The comparison-based forest of Haghiri et al., in a consistent variant (CompRF-C) and a supervised one (CompRF-I)."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from dpforest.tables.features import N_CODES
from reproduce.comparators.base import Comparator
from reproduce.comparators.triplets import ComparisonTree, Points, add_votes, grow_comparison_tree


@dataclass
class ComparisonForest(Comparator):
    """S. Haghiri, D. Garreau, U. von Luxburg, *Comparison-based random forests* (2018).

    A node draws two pivots among its rows, and each row goes to the nearer pivot. A node with at most k rows is a leaf.
    In the supervised variant (CompRF-I), the two pivots have different classes, and every tree reads all rows. A node
    whose rows all have one class is a leaf, too. In the consistent variant (CompRF-C), a tree divides the rows into
    structure rows and estimation rows. The pivots are any two structure rows. Only estimation rows are counted for k,
    and only estimation rows label leaves.

    Parameters
    ----------
    domain, seed, n_trees, min_leaf
            See `Comparator`.
    supervised : bool

    Examples
    --------
    >>> from dpforest import load_dataset
    >>> data = load_dataset("zoo")
    >>> forest = ComparisonForest(data.domain, supervised=True).fit(data.X, data.y)
    >>> float((forest.predict(data.X) == data.y.to_numpy()).mean()) > 0.8
    True
    """

    supervised: bool = False
    trees: list[ComparisonTree] = field(init=False, repr=False)
    learned: Points = field(init=False, repr=False)
    _mean: np.ndarray = field(init=False, repr=False)

    def __post_init__(self) -> None:
        self.domain = self.domain.on_scale("linear")  # the distance of two codes must reflect the distance of values

    def _grow(self, codes: np.ndarray, y: np.ndarray) -> None:
        numeric = ~self.is_categorical
        known = ~self._is_missing(codes)[:, numeric]
        self._mean = (codes[:, numeric] * known).sum(axis=0) / np.maximum(known.sum(axis=0), 1)
        self.learned = self._points(codes)
        # Hashing overflows on purpose. If numba is switched off, numpy would warn about it.
        with np.errstate(over="ignore"):
            self.trees = [
                ComparisonTree(
                    *grow_comparison_tree(
                        np.uint64(self.seed),
                        tree,
                        self.learned,
                        y,
                        self.domain.n_classes,
                        self.supervised,
                        self.min_leaf,
                    )
                )
                for tree in range(self.n_trees)
            ]

    def _votes(self, codes: np.ndarray) -> np.ndarray:
        votes, points = np.zeros((len(codes), self.domain.n_classes), np.int32), self._points(codes)
        for tree in self.trees:
            add_votes(points, self.learned, *tree, votes)
        return votes

    def _points(self, codes: np.ndarray) -> Points:
        """Return rows as points. The mean of the training rows replaces a missing number."""
        numeric = ~self.is_categorical
        of_one_code = [(f.high - f.low) / (N_CODES - f.first_code) for f in self.domain.features if f.kind == "numeric"]
        numbers = np.where(self._is_missing(codes)[:, numeric], self._mean, codes[:, numeric]) * of_one_code
        return Points(np.ascontiguousarray(numbers), np.ascontiguousarray(codes[:, self.is_categorical]))

    def _is_missing(self, codes: np.ndarray) -> np.ndarray:
        """Return which numeric cells are missing. Missing cells have a code of their column that no number has."""
        return codes < np.array([f.first_code if f.kind == "numeric" else 0 for f in self.domain.features])
