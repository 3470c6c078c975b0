"""From released leaves of a random forest to votes, as `Forest` has them, where many releases are simulated.

A release is labels or noisy counts of leaves; where these are some leaves only, `leaves` are their numbers.
"""

from fractions import Fraction

import numpy as np

from dpforest import voting
from dpforest.models.random.spec import ForestSpec
from dpforest.trees import routing


class Votes:
    """How the leaves of one release vote.

    Parameters
    ----------
    spec : ForestSpec
    values : int or float array
        Labels (n_leaves,) or counts (n_leaves, n_classes); all leaves where log-odds are added up.
    epsilon : Fraction or None
        Of the whole fit.
    seed : int
        Public.
    leaves : int array of shape (n_leaves,), optional
    """

    def __init__(
        self,
        spec: ForestSpec,
        values: np.ndarray,
        epsilon: Fraction | None,
        seed: int,
        leaves: np.ndarray | None = None,
    ) -> None:
        self._spec, self._values = spec, values
        self._log_odds, self._prior = spec.log_odds(epsilon, values), np.empty(0)
        if not spec.releases_counts:
            self.labels = values
            return
        if self._log_odds is None:
            self._shares = voting.leaf_shares(values, spec.negative_rule, seed, leaves=leaves)
        else:
            self._prior = self._log_odds.prior(values)
            self._shares = self._log_odds.shares(values, self._prior)
        self.labels = voting.leaf_votes(self._shares)

    def shares(self, leaves: np.ndarray, n_classes: int) -> np.ndarray:
        """Share of each class for each row, float64 (n, n_classes).

        Parameters
        ----------
        leaves : int array of shape (n_trees, n)
            Place of each row's leaves in `values`.
        n_classes : int
        """
        n_trees = self._spec.n_trees
        if self._spec.voting == "majority":
            return routing.votes_at_leaves(leaves, np.ascontiguousarray(self.labels), n_classes) / n_trees
        if self._log_odds is None:
            return routing.shares_at_leaves(leaves, self._shares) / n_trees
        evidence = routing.shares_at_leaves(leaves, self._log_odds.evidence(self._values, self._prior))
        return voting.softmax(voting.log_odds_scores(evidence, self._prior, n_trees))
