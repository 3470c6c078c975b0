"""What the forests that look at the data share: bins of public candidates, and a trace for the curator's drawings."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np

from dpforest.checks import count
from dpforest.limits import MAX_BOUND
from dpforest.models.base import AUTO, ForestClassifier, bound_sentence
from dpforest.models.greedy.trace import Trace
from dpforest.models.preparation import GREEDY, Preparation, release_scale, release_size
from dpforest.models.shape_rules import MOST_AUTO_DEPTH, MOST_AUTO_TREES
from dpforest.privacy.certificate import Certificate
from dpforest.privacy.ledger import ADD_REMOVE, Ledger
from dpforest.privacy.randomness import DemoSource, SecretSource
from dpforest.tables.domain import Domain
from dpforest.tables.rows import Rows
from dpforest.trees.candidates import Candidates, bin_codes, public_candidates
from dpforest.trees.forest import Forest
from dpforest.trees.forest_schema import check_domain
from dpforest.trees.forest_size import check_forest_size
from dpforest.trees.released_scale import ReleasedScale, scale_histograms
from dpforest.trees.routing import encoded

T = TypeVar("T")
MOST_CELLS = 2**27  # of a level's histograms: a gigabyte


@dataclass(frozen=True, eq=False)
class BinnedRows:
    """Rows as a greedy tree reads them: made once, used by every fit on the same rows.

    `n_given` is the number of rows that were handed over (`Rows`), the only one that may be public.
    `memo` holds what simulated releases of one sweep have in common. Raw data: it goes when the sweep does, no forest
    keeps it. Rows that a release is fitted on have none.
    """

    candidates: Candidates
    codes: np.ndarray
    bins: np.ndarray
    y: np.ndarray
    row_ids: np.ndarray
    n_given: int
    memo: dict[tuple, Any] | None = None
    scale: ReleasedScale | None = None

    def on(self, domain: Domain, n_bins: int, scale: ReleasedScale) -> "BinnedRows":
        """The same rows in bins of a released scale."""
        candidates, bins = public_candidates(domain, n_bins, scale), bin_codes(domain, self.codes, n_bins, scale)
        memo: dict[tuple, Any] | None = None if self.memo is None else {}  # what was kept is of other bins
        return replace(self, candidates=candidates, bins=bins, scale=scale, memo=memo)

    def once(self, key: tuple, compute: Callable[[], T]) -> T:
        """Compute; in a sweep only once for each key, which names all that it depends on besides the rows.

        Nobody may write into what comes back.
        """
        if self.memo is None:
            return compute()
        if key not in self.memo:
            self.memo[key] = compute()
        return self.memo[key]


def bin_rows(
    domain: Domain, X: Any, y: np.ndarray, row_ids: np.ndarray, n_bins: int, *, n_given: int | None = None
) -> BinnedRows:
    """Encode and bin a table. `X` may be codes already; `n_given` is the number of rows where none was left out."""
    codes, n = encoded(domain, X), len(y) if n_given is None else n_given
    return BinnedRows(public_candidates(domain, n_bins), codes, bin_codes(domain, codes, n_bins), y, row_ids, n)


class GreedyClassifier(ForestClassifier):
    """Base of the forests whose splits are chosen from the data. Not for use by itself."""

    structure_is_public = False
    scale_rule = GREEDY
    structure_seed = 0  # a parameter only where something besides noise is random
    constraints = {**ForestClassifier.constraints, "n_bins": count(2, 1_000)}

    def __init__(self, *, max_depth: int | str | None, n_bins: int, **shared: Any) -> None:
        super().__init__(**shared)
        self.max_depth = max_depth
        self.n_bins = n_bins

    def fit_encoded(self, domain: Domain, rows: BinnedRows, *, n_jobs: int = 1, trace: Trace | None = None) -> Forest:
        """Fit on rows that are binned already; fill `trace` for the curator's drawings."""
        raise NotImplementedError

    def _fit_forest(self, domain: Domain, rows: Rows, n_jobs: int) -> Forest:
        return self.fit_encoded(domain, self._binned(domain, rows), n_jobs=n_jobs)

    def refitter(self, domain: Domain, rows: Rows) -> Callable[[], Forest]:
        """A function that fits anew on rows that are read already; they are binned once."""
        binned = self._binned(domain, rows)
        return lambda: self.fit_encoded(domain, binned)

    def _prepared(self, domain: Domain, rows: BinnedRows, ledger: Ledger, source: SecretSource | DemoSource) -> Any:
        """The spec of a fit, and its rows in the bins that it will ask about; what is asked for that is paid for."""
        if rows.scale is not None and self._budget is not None:
            raise ValueError("these rows are binned on a scale that nobody paid for; bin them anew with bin_rows")
        spec = self._plan(domain, self._known_size(domain, len(rows.y), rows.n_given, ledger, source))
        if not spec.preparation.scale:
            return spec, rows
        assert self._budget is not None
        cells = rows.once(("scale",), lambda: scale_histograms(domain, rows.codes))
        scale = release_scale(cells, spec.preparation, self._budget, ledger, source)
        assert scale is not None
        return spec, rows.on(domain, self.n_bins, scale)

    def _charge_preparation(self, domain: Domain, preparation: Preparation, ledger: Ledger) -> None:
        """What `_prepared` charges, for nobody."""
        if self._budget is not None and preparation.size:
            release_size(0, self._budget, ledger, DemoSource(0))
        if self._budget is not None:
            nobody = scale_histograms(domain, np.empty((0, domain.n_features), np.uint16))
            release_scale(nobody, preparation, self._budget, ledger, DemoSource(0))

    def _binned(self, domain: Domain, rows: Rows) -> BinnedRows:
        self.check(domain, rows.n_given)
        return bin_rows(domain, rows.codes, rows.y, rows.ids, self.n_bins, n_given=rows.n_given)

    def preview(self, domain: Domain, n_rows: int) -> tuple[Certificate, Ledger]:
        """As of every forest; ValueError where its file could not be read back as well."""
        promise = super().preview(domain, n_rows)
        self._check_file(domain)
        return promise

    def _check_file(self, domain: Domain) -> None:
        """Raise ValueError if a file of this forest could be too large, or could not hold the domain."""
        n_trees, depth = self.most_trees * self.scores_of(domain), self.most_depth
        check_forest_size(n_trees, depth, n_trees * 2**depth, domain.n_classes)
        if self.epsilon is not None and self.mode == "certified":
            check_domain(domain)

    def scores_of(self, domain: Domain) -> int:
        """Trees that a fit grows for each of `n_estimators`."""
        return 1

    def check(self, domain: Domain, n_rows: int) -> None:
        """Raise unless the parameters go together, on this domain, for this number of rows.

        Under add-remove an error must not tell how many there are, so what follows from their number by rule is
        looked at for nobody, or for the `size` that was said.

        Parameters
        ----------
        domain : Domain
        n_rows : int

        Raises
        ------
        ValueError
            If they do not.
        """
        self._check_parameters()
        self._check_size(n_rows)
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


def row_bound(n_bound: int | None, n_rows: int, neighbors: str, *, private: bool) -> tuple[int, tuple[str, ...]]:
    """Number of rows that noise may depend on, and what the certificate says of it.

    Under replace-one the number of rows itself, which is public. Under add-remove a public bound, which the table must
    keep. Where nothing is private, the exact number.
    """
    if not private or neighbors != ADD_REMOVE:
        return max(n_rows, 1), ()
    bound = MAX_BOUND if n_bound is None else n_bound
    return bound, (bound_sentence(bound),)


def check_row_bound(n_bound: int | None, n_rows: int, neighbors: str, *, private: bool) -> None:
    """Raise ValueError if a table has more rows than a forest can weigh, or than the bound that it rests on."""
    if n_rows > MAX_BOUND:
        raise ValueError(f"the table has more rows than the {MAX_BOUND:,} that this forest can weigh; take fewer")
    bound, _ = row_bound(n_bound, n_rows, neighbors, private=private)
    if n_rows > bound:
        raise ValueError(
            f"the table has more rows than n_bound={bound:,}, which the privacy guarantee rests on; give a public "
            "bound that is certain to hold"
        )


def demo_seed(source: SecretSource | DemoSource) -> int:
    """The seed of a demonstration; without one a fresh one that nobody keeps, for what is never a release."""
    return source.seed if isinstance(source, DemoSource) else int(source.words(1)[0])
