"""The base class of the forests that choose splits from the data, and their binned rows."""

from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from dpforest.checks import count
from dpforest.models.base import AUTO, ForestClassifier
from dpforest.models.data_dependent import DataDependentClassifier, EncodedRows, row_facts
from dpforest.models.preparation import GREEDY
from dpforest.models.shape_rules import MOST_AUTO_DEPTH, MOST_AUTO_TREES
from dpforest.privacy.ledger import ADD_REMOVE
from dpforest.privacy.randomness import DemoSource, SecretSource
from dpforest.tables.domain import Domain
from dpforest.tables.units import Units
from dpforest.trees.candidates import Candidates, bin_codes, public_candidates
from dpforest.trees.released_scale import ReleasedScale
from dpforest.trees.routing import encoded

MOST_CELLS = 2**27  # largest number of counts in the histograms of a level; they take a gigabyte


@dataclass(frozen=True, eq=False, kw_only=True)
class BinnedRows(EncodedRows):
    """Encoded rows and their bins. Cuts of numeric attributes lie between bins.

    Attributes
    ----------
    candidates : Candidates
        All splits that a tree may have.
    bins : array of shape (n, n_features)
        Index of the bin of each cell.
    n_bins : int
        Number of bins that divide the range of a numeric attribute.
    """

    candidates: Candidates
    bins: np.ndarray
    n_bins: int

    def on_scale(self, domain: Domain, scale: ReleasedScale) -> Self:
        """Return the same rows in bins of a released scale."""
        candidates = public_candidates(domain, self.n_bins, scale)
        bins = bin_codes(domain, self.codes, self.n_bins, scale)
        return replace(super().on_scale(domain, scale), candidates=candidates, bins=bins)


def bin_rows(
    domain: Domain,
    X: Any,
    y: np.ndarray,
    row_ids: np.ndarray,
    n_bins: int,
    *,
    n_given: int | None = None,
    units: Units | None = None,
) -> BinnedRows:
    """Encode and bin a table. `DataDependentClassifier.encode` describes the parameters except `n_bins`."""
    codes = encoded(domain, X)
    return BinnedRows(
        codes=codes,
        **row_facts(domain, y, row_ids, n_given, units),
        candidates=public_candidates(domain, n_bins),
        bins=bin_codes(domain, codes, n_bins),
        n_bins=n_bins,
    )


@dataclass(kw_only=True, eq=False, repr=False)
class GreedyClassifier(DataDependentClassifier):
    """Base class of the forests that choose splits from the data. Only its subclasses can be fitted."""

    n_bins: int = 10

    scale_rule = GREEDY
    constraints = {**ForestClassifier.constraints, "n_bins": count(2, 1_000)}

    def encode(
        self,
        domain: Domain,
        X: Any,
        y: np.ndarray,
        row_ids: np.ndarray,
        *,
        n_given: int | None = None,
        units: Units | None = None,
    ) -> BinnedRows:
        """Encode the rows and compute their bins. `DataDependentClassifier.encode` describes the parameters."""
        return bin_rows(domain, X, y, row_ids, int(self.n_bins), n_given=n_given, units=units)

    def _check_plan(self, domain: Domain, n_rows: int) -> None:
        """Raise every ValueError of a fit before its first question, so that a fit that fails spends no budget.

        Under add-remove, an error must not depend on the number of rows. So this method plans a fit on 0 rows, or on
        `size` rows if `size` is given.
        """
        is_secret = self._prepares and self.neighbors == ADD_REMOVE
        self._preview(domain, 0 if is_secret else n_rows)
        self._check_file(domain)
        n_slots = sum(f.n_codes if f.kind == "categorical" else self.n_bins + 1 for f in domain.features)
        if n_slots * domain.n_classes * 2 ** (self.most_depth - 1) > MOST_CELLS:
            raise ValueError(
                f"{self.most_depth} levels over {n_slots:,} values of {domain.n_features:,} attributes need more than "
                "a gigabyte; choose a smaller max_depth, fewer n_bins, or fewer attributes"
            )

    @property
    def most_depth(self) -> int:
        """Largest depth of the complete trees that a fit grows; 1 if its trees are not complete."""
        return MOST_AUTO_DEPTH if self.max_depth == AUTO else int(self.max_depth)

    @property
    def most_trees(self) -> int:
        """Largest number of trees that a fit grows for each score."""
        return MOST_AUTO_TREES if self.n_estimators == AUTO else int(self.n_estimators)


def demo_seed(source: SecretSource | DemoSource) -> int:
    """Return the seed of a source or, if it has none, a fresh seed that is not kept.

    A release must not use this seed, because anybody who knows the seed can repeat the draws.
    """
    return source.seed if isinstance(source, DemoSource) else int(source.words(1)[0])
