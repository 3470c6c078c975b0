"""What all comparators share: a table read against its domain, trees that vote, and the class of most votes.

They are here to be measured beside a paper's own forest. Nothing in them is private, and the app does not offer them.
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
    """A forest without privacy; the settings are those of the multinomial paper's table 1.

    Parameters
    ----------
    domain : Domain
        By which tables are read, as every forest of the project reads them.
    seed : int
        All that is drawn follows from it.
    n_trees : int
    min_leaf : int
        The paper's k; what it counts differs from one forest to the next.
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
        """Votes, float (n_rows, n_classes)."""
        return self._votes(self.domain.encode(X))

    def predict(self, X: pd.DataFrame) -> np.ndarray:
        """The class of most votes, as written in the domain; of several the one that is listed first."""
        return self.domain.class_array[self.votes(X).argmax(axis=1)]

    @property
    def is_categorical(self) -> np.ndarray:
        """Which columns hold categories."""
        return np.array([feature.kind == "categorical" for feature in self.domain.features])

    @property
    def root_of_features(self) -> int:
        """How many features are candidates at a node, √D without its decimals.

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
        """Votes from codes, float (n_rows, n_classes)."""
