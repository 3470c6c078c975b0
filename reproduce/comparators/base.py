"""The base class of all comparators: forests with which a paper compares its forest.

Comparators are not private, and the app does not offer them.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import pandas as pd

from dpforest.tables.domain import Domain


@dataclass
class Comparator(ABC):
    """A forest that predicts the class with the most votes. The defaults are those of the multinomial paper's table 1.

    Parameters
    ----------
    domain : Domain
        Domain by which tables are read.
    seed : int
        Determines all random draws.
    n_trees : int
    min_leaf : int
        Least number of rows in a leaf, the paper's k. Each kind of forest defines which rows count.
    """

    domain: Domain
    seed: int = 0
    n_trees: int = 100
    min_leaf: int = 5

    def fit(self, X: pd.DataFrame, y: Any) -> Self:
        """Grow the trees on rows and their labels."""
        codes, labels = self.domain.encode(X), self.domain.encode_labels(y)
        self._grow(codes, labels)
        return self

    def votes(self, X: pd.DataFrame) -> np.ndarray:
        """Return the votes, float array of shape (n_rows, n_classes)."""
        return self._votes(self.domain.encode(X))

    def predict(self, X: pd.DataFrame) -> np.ndarray:
        """Return for each row the class with the most votes, as the domain writes it.

        In a tie, the class that is first in the domain wins.
        """
        return self.domain.class_array[self.votes(X).argmax(axis=1)]

    @property
    def is_categorical(self) -> np.ndarray:
        """Whether each column is categorical."""
        return np.array([feature.kind == "categorical" for feature in self.domain.features])

    @property
    def root_of_features(self) -> int:
        """Number of candidate features at a node, √D rounded down.

        >>> from dpforest import load_dataset
        >>> from reproduce.comparators import BreimanForest
        >>> BreimanForest(load_dataset("wdbc").domain).root_of_features
        5
        """
        return max(int(np.sqrt(self.domain.n_features)), 1)

    @abstractmethod
    def _grow(self, codes: np.ndarray, y: np.ndarray) -> None:
        """Grow the trees on codes, uint16 (n, m), and class indices."""

    @abstractmethod
    def _votes(self, codes: np.ndarray) -> np.ndarray:
        """Return the votes for rows of codes, float array of shape (n_rows, n_classes)."""
