"""The base of the forests that choose splits from the data: bins of public candidates."""

from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from dpforest.checks import count
from dpforest.models.base import AUTO, ForestClassifier
from dpforest.models.data_dependent import DataDependentClassifier, EncodedRows
from dpforest.models.preparation import GREEDY
from dpforest.models.shape_rules import MOST_AUTO_DEPTH, MOST_AUTO_TREES
from dpforest.privacy.ledger import ADD_REMOVE
from dpforest.privacy.randomness import DemoSource, SecretSource
from dpforest.tables.domain import Domain
from dpforest.trees.candidates import Candidates, bin_codes, public_candidates
from dpforest.trees.released_scale import ReleasedScale
from dpforest.trees.routing import encoded

MOST_CELLS = 2**27  # of a level's histograms: a gigabyte


@dataclass(frozen=True, eq=False, kw_only=True)
class BinnedRows(EncodedRows):
    """Encoded rows, in the bins that the candidates for splits lie between.

    Attributes
    ----------
    candidates : Candidates
        All splits that may be asked for.
    bins : array of shape (n, n_features)
        Number of the bin of each cell.
    n_bins : int
        Parts into which the range of a numeric attribute is cut.
    """

    candidates: Candidates
    bins: np.ndarray
    n_bins: int

    def on_scale(self, domain: Domain, scale: ReleasedScale) -> Self:
        """The same rows in bins of a released scale."""
        candidates = public_candidates(domain, self.n_bins, scale)
        bins = bin_codes(domain, self.codes, self.n_bins, scale)
        return replace(super().on_scale(domain, scale), candidates=candidates, bins=bins)


def bin_rows(
    domain: Domain, X: Any, y: np.ndarray, row_ids: np.ndarray, n_bins: int, *, n_given: int | None = None
) -> BinnedRows:
    """Encode and bin a table. `X` may be codes already; `n_given` is the number of rows where none was left out."""
    codes = encoded(domain, X)
    return BinnedRows(
        codes=codes,
        y=y,
        row_ids=row_ids,
        n_given=len(y) if n_given is None else n_given,
        candidates=public_candidates(domain, n_bins),
        bins=bin_codes(domain, codes, n_bins),
        n_bins=n_bins,
    )


@dataclass(kw_only=True, eq=False, repr=False)
class GreedyClassifier(DataDependentClassifier):
    """Base of the forests whose splits are chosen from the data. Not for use by itself."""

    n_bins: int = 10

    scale_rule = GREEDY
    constraints = {**ForestClassifier.constraints, "n_bins": count(2, 1_000)}

    def encode(
        self, domain: Domain, X: Any, y: np.ndarray, row_ids: np.ndarray, *, n_given: int | None = None
    ) -> BinnedRows:
        """The rows in the bins of this forest; parameters as of `DataDependentClassifier.encode`."""
        return bin_rows(domain, X, y, row_ids, int(self.n_bins), n_given=n_given)

    def _check_unasked(self, domain: Domain, n_rows: int) -> None:
        """Under add-remove an error must not depend on the number of rows, so it is taken for 0, or for `size`."""
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
        """Most levels of complete trees that a fit will grow; 1 where it grows others."""
        return MOST_AUTO_DEPTH if self.max_depth == AUTO else int(self.max_depth)

    @property
    def most_trees(self) -> int:
        """Most trees that a fit will grow, for each score."""
        return MOST_AUTO_TREES if self.n_estimators == AUTO else int(self.n_estimators)


def demo_seed(source: SecretSource | DemoSource) -> int:
    """The seed of a demonstration; without one a fresh one that nobody keeps, for what is never a release."""
    return source.seed if isinstance(source, DemoSource) else int(source.words(1)[0])
