"""Denil's forest and the Bernoulli forest (BRF), with which the multinomial paper compares its forest.

Both forests have a proof of consistency: with more rows, their error tends to the least possible error.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt

from reproduce.comparators.choices import BERNOULLI, DENIL, Rule
from reproduce.comparators.partitioned import PartitionedForest


@dataclass
class DenilForest(PartitionedForest):
    """M. Denil, D. Matheson, N. de Freitas, *Narrowing the gap: random forests in theory and in practice* (2014).

    Parameters
    ----------
    domain, seed, n_trees, min_leaf
            See `Comparator`.
    n_points : int
            Number of structure rows that a node draws. Its cut must lie within the range of these rows.

    Examples
    --------
    >>> from dpforest import load_dataset
    >>> data = load_dataset("zoo")
    >>> forest = DenilForest(data.domain).fit(data.X, data.y)
    >>> int(forest.counts.sum(axis=1).min()) >= 5
    True
    """

    n_points: int = 10

    @property
    def rule(self) -> Rule:
        return Rule(DENIL, sqrt(self.domain.n_features), self.n_points, 0, 0.0, 0.0)


@dataclass
class BernoulliForest(PartitionedForest):
    """Y. Wang, S.-T. Xia, Q. Tang, J. Wu, X. Zhu, *A novel consistent random forest framework* (2018).

    Parameters
    ----------
    domain, seed, n_trees, min_leaf
            See `Comparator`.
    p_feature, p_cut : float
            The paper's p1 and p2: the probability that a node has a single candidate feature, and the probability that
            it takes a random cut.
    """

    p_feature: float = 0.05
    p_cut: float = 0.05

    @property
    def rule(self) -> Rule:
        return Rule(BERNOULLI, 0.0, 0, self.root_of_features, float(self.p_feature), float(self.p_cut))
