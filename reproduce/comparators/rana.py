"""The forest of Rana, Gupta and Venkatesh (RGV), whose authors claim less than differential privacy."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, Final, Self

import numpy as np
import pandas as pd

from dpforest.privacy.certificate import Certificate, certify
from dpforest.privacy.ledger import REPLACE_ONE, Ledger
from dpforest.privacy.published import REPRODUCTION
from dpforest.privacy.rationals import text_up
from reproduce.comparators.base import Comparator
from reproduce.comparators.greedy import Grid, Grower, Node, labels

LEAST_TREES: Final = 110  # Fletcher and Islam ran this forest with 110 to 1385 trees
WEAKER: Final = (
    "The claim of this forest is weaker than differential privacy: it is only about the values of somebody's "
    "attributes. It allows others to find out whether somebody is in the table."
)
NOT_CHECKED: Final = (
    "The largest number of trees that keeps this claim follows from formulas that are not known here. So the weaker "
    "claim is not checked, and no number supports it."
)


@dataclass
class RanaForest(Comparator):
    """S. Rana, S. K. Gupta, S. Venkatesh, *Differentially private random forest with high utility* (2016).

    The forest has greedy trees like those of Friedman and Schuster. Each tree reads all rows and spends all of ε.
    Fletcher and Islam describe the settings; docs/PAPERS.md lists the settings that they leave open.

    Parameters
    ----------
    domain, seed, n_trees
            See `Comparator`.
    epsilon : float
            ε of each tree.
    depth : int

    Attributes
    ----------
    certificate_ : Certificate
            States that the forest is not certified, and why.

    Examples
    --------
    >>> from dpforest import load_dataset
    >>> data = load_dataset("mushroom")
    >>> forest = RanaForest(data.domain, n_trees=5).fit(data.X, data.y)
    >>> bool((forest.predict(data.X) == data.y.to_numpy()).mean() > 0.8), forest.certificate_.certified
    (True, False)
    """

    n_trees: int = LEAST_TREES
    epsilon: float = 1.0
    depth: int = 5
    trees: list[Node] = field(init=False, repr=False)
    certificate_: Certificate = field(init=False, repr=False)

    def __post_init__(self) -> None:
        self.domain = self.domain.on_scale("linear")
        self._grid = Grid.of(self.domain)

    def fit(self, X: pd.DataFrame, y: Any) -> Self:
        """Grow the trees on rows and their labels."""
        super().fit(X, y)
        self.certificate_ = self._certificate()
        return self

    def _grow(self, codes: np.ndarray, y: np.ndarray) -> None:
        grower = Grower(self._grid, self._grid.places(codes), y.astype(np.int64), self.epsilon, self.depth)
        self.trees = [grower.grow(np.random.default_rng([self.seed, tree])) for tree in range(self.n_trees)]

    def _votes(self, codes: np.ndarray) -> np.ndarray:
        votes, places = np.zeros((len(codes), self.domain.n_classes), np.int64), self._grid.places(codes)
        rows = np.arange(len(codes))
        for tree in self.trees:
            votes[rows, labels(tree, places)] += 1
        return votes

    def _certificate(self) -> Certificate:
        """Return a certificate for replace-one, the neighbor relation that is closest to the claim of the paper."""
        epsilon = Fraction(str(self.epsilon))
        spent = (
            f"Each of the {self.n_trees} trees reads all rows and spends all of ε = {text_up(epsilon)}. Losses add up, "
            f"so all trees together may lose {self.n_trees} times as much as one tree."
        )
        return certify(
            Ledger(None, REPLACE_ONE),
            mechanism=f"{self.n_trees} greedy trees of depth {self.depth}, each by noisy answers at all of ε",
            assumptions=self.domain.assumptions(),
            reasons=[WEAKER, spent, NOT_CHECKED, REPRODUCTION, *self.domain.leaks()],
            nominal_epsilon=epsilon,
        )
