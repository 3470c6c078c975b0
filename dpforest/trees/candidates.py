"""Public candidate splits: equally spaced cuts of numeric features, and a test for each category of other features."""

from dataclasses import dataclass

import numpy as np
from numba import njit

from dpforest.limits import MAX_CANDIDATES, N_CODES
from dpforest.tables.domain import Domain
from dpforest.trees.layout import NUMERIC, ONE_VS_REST
from dpforest.trees.released_scale import ReleasedScale, quantile_code


@dataclass(frozen=True, eq=False)
class Candidates:
    """The tests that a greedy tree chooses from, and the bins into which these tests divide the codes.

    `public_candidates` cuts the public scale of a numeric feature into `n_bins` equal bins, so there are n_bins - 1
    tests ``x >= cut``. If "missing" is a separate value, one more test asks whether x is known. A categorical feature
    has a test ``x == category`` for each category, or a single test if there are two categories.

    Parameters
    ----------
    kind : uint8 array of shape (n_candidates,)
        Kind of each test, as in `Trees`.
    feature, threshold : int32 array of shape (n_candidates,)
        Feature and threshold of each test, as in `Trees`.
    cut : int32 array of shape (n_candidates,)
        Bin that the same test uses in place of the threshold: ``bin > cut`` (numeric) or ``bin == cut`` (categorical).
    first : int64 array of shape (n_features + 1,)
        Index of the first candidate of each feature; the last element is the number of candidates.
    slot : int64 array of shape (n_features + 1,)
        Index of the first bin of each feature in a histogram; the last element is the number of bins.
    """

    kind: np.ndarray
    feature: np.ndarray
    threshold: np.ndarray
    cut: np.ndarray
    first: np.ndarray
    slot: np.ndarray

    @property
    def n_candidates(self) -> int:
        return len(self.kind)


def public_candidates(domain: Domain, n_bins: int, scale: ReleasedScale | None = None) -> Candidates:
    """Return all tests of a domain (Nock and Henecka 2020, "regular quantization of the domain").

    With a released scale, the cuts of a numeric feature are its quantiles on this scale. Equal cuts yield one test.

    Raises
    ------
    ValueError
        If no feature has a test, or if there are more than `MAX_CANDIDATES` tests.
    """
    cuts_of = numeric_cuts(domain, n_bins, scale)
    kinds, features, thresholds, cuts, first, slot = [], [], [], [], [0], [0]
    for j, feature in enumerate(domain.features):
        if feature.kind == "numeric":
            threshold = cuts_of[j] - 1
            cut, width = np.arange(len(threshold)), len(threshold) + 1
            kind = NUMERIC
        else:
            width = feature.n_codes
            cut = threshold = np.arange(1, 2) if width == 2 else np.arange(width if width > 1 else 0)
            kind = ONE_VS_REST
        kinds.append(np.full(len(cut), kind))
        features.append(np.full(len(cut), j))
        cuts.append(cut)
        thresholds.append(threshold)
        first.append(first[-1] + len(cut))
        slot.append(slot[-1] + width)
    if first[-1] == 0:
        raise ValueError(
            "no attribute has two values, so no split is possible; add an attribute or a value to the domain"
        )
    if first[-1] > MAX_CANDIDATES:
        raise ValueError(
            f"there are {first[-1]:,} candidate splits, more than {MAX_CANDIDATES:,}; use fewer bins or attributes"
        )
    feature_of, threshold_of, cut_of = (np.concatenate(c).astype(np.int32) for c in (features, thresholds, cuts))
    kind_of = np.concatenate(kinds).astype(np.uint8)
    return Candidates(kind_of, feature_of, threshold_of, cut_of, np.array(first), np.array(slot))


def numeric_cuts(domain: Domain, n_bins: int, scale: ReleasedScale | None = None) -> dict[int, np.ndarray]:
    """Return the cuts of each numeric feature, by its index: the smallest code of each bin except the first bin."""
    cuts = {}
    released = None if scale is None else scale.of_features(domain)
    for j, feature in enumerate(domain.features):
        if feature.kind == "numeric":
            first, parts = feature.first_code, np.arange(1, n_bins)
            if released is None:
                inner_cuts = first + -(-parts * (N_CODES - first) // n_bins)
            else:
                inner_cuts = np.unique([quantile_code(released[j], first, part, n_bins) for part in parts])
                inner_cuts = inner_cuts[(inner_cuts > first) & (inner_cuts < N_CODES)]
            # If values may be missing, the first cut asks whether the value is known.
            cuts[j] = np.concatenate([[first] if first else [], inner_cuts]).astype(np.int64)
    return cuts


def bin_codes(domain: Domain, codes: np.ndarray, n_bins: int, scale: ReleasedScale | None = None) -> np.ndarray:
    """Return the bin of each code: uint8 (n, n_features) if no feature has more than 256 bins, else uint16."""
    cuts = numeric_cuts(domain, n_bins, scale)
    most_bins = max(n_bins + 1, *(0 if f.kind == "numeric" else f.n_codes for f in domain.features))
    bins = np.empty(codes.shape, np.uint8 if most_bins <= 256 else np.uint16)
    # The bin of a code is looked up in a table with an entry for each code. Features with equal cuts share one table.
    tables: dict[bytes, int] = {}
    lookup = list[np.ndarray]()
    table_of_feature = np.full(domain.n_features, -1)
    for j, feature_cuts in cuts.items():
        table_of_feature[j] = tables.setdefault(feature_cuts.tobytes(), len(tables))
        if table_of_feature[j] == len(lookup):
            lookup.append(
                np.repeat(np.arange(len(feature_cuts) + 1), np.diff([0, *feature_cuts, N_CODES])).astype(bins.dtype)
            )
    _bin(
        np.ascontiguousarray(codes),
        table_of_feature,
        np.stack(lookup) if lookup else np.zeros((1, 1), bins.dtype),
        bins,
    )
    return bins


@njit(nogil=True, cache=True)
def _bin(codes, table_of_feature, lookup, bins):
    """Write the bin of each code. If `table_of_feature` is -1, the codes of the feature are its bins."""
    for i in range(codes.shape[0]):
        for j in range(codes.shape[1]):
            bins[i, j] = lookup[table_of_feature[j], codes[i, j]] if table_of_feature[j] >= 0 else codes[i, j]


def undecided(candidates: Candidates, chosen: list[np.ndarray]) -> np.ndarray:
    """Return which tests are undecided at each node of the next level, bool (2**level, n_candidates).

    A test is *decided* at a node if the answers on the path to the node imply the answer to the test. Whether a test is
    decided depends only on tests, not on rows. If all tests are decided at a node, the result marks all of them as
    undecided there, so that the node may use any test.

    Parameters
    ----------
    chosen : list of int arrays
        Candidates chosen at the nodes of each level so far; the array of level k has shape (2**k,).
    """
    allowed = np.ones((1, candidates.n_candidates), bool)
    for level in chosen:
        allowed = _refine(candidates.kind, candidates.feature, candidates.cut, candidates.first, allowed, level)
    all_decided = ~allowed.any(axis=1)
    allowed[all_decided] = True
    return allowed


@njit(nogil=True, cache=True)
def _refine(kind, feature, cut, first, allowed, chosen):
    """Return which tests are undecided at the children of a level's nodes, bool (2 n_nodes, n_candidates).

    At the left child of a numeric test, this test and the tests with higher cuts are decided. At its right child, this
    test and the tests with lower cuts are decided. At a child of a test of a category, the tests of other categories
    are decided if their answers follow from the answer to this test.
    """
    out = np.empty((2 * allowed.shape[0], allowed.shape[1]), np.bool_)
    for node in range(allowed.shape[0]):
        out[2 * node] = allowed[node]
        out[2 * node + 1] = allowed[node]
        c = chosen[node]
        if c < 0:
            continue
        f = feature[c]
        for other in range(first[f], first[f + 1]):
            if kind[c] == NUMERIC:
                if cut[other] >= cut[c]:
                    out[2 * node, other] = False
                if cut[other] <= cut[c]:
                    out[2 * node + 1, other] = False
            else:
                out[2 * node + 1, other] = False
        out[2 * node, c] = False
        is_undecided = out[2 * node, first[f] : first[f + 1]]
        if kind[c] != NUMERIC and is_undecided.sum() == 1:
            is_undecided[:] = False  # only one category can reach the child, so its test is decided
    return out
