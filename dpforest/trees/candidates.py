"""Public candidate splits: equal cuts of public scales, and tests for one category of public categories."""

from dataclasses import dataclass

import numpy as np
from numba import njit

from dpforest.limits import MAX_CANDIDATES, N_CODES
from dpforest.tables.domain import Domain
from dpforest.trees.layout import NUMERIC, ONE_VS_REST
from dpforest.trees.released_scale import ReleasedScale, quantile_code


@dataclass(frozen=True, eq=False)
class Candidates:
    """The tests that a greedy tree chooses from, and the bins between them into which codes fall.

    The public scale of a numeric feature is cut into `n_bins` equal parts, which makes n_bins - 1 tests ``x >= cut``
    (and one more, for whether x is known, if missing is a separate value). A categorical feature has a test
    ``x == category`` for each category, or a single test if there are two categories.

    Parameters
    ----------
    kind : uint8 array of shape (n_candidates,)
    feature, threshold : int32 array of shape (n_candidates,)
        The tests as `Trees` stores them.
    cut : int32 array of shape (n_candidates,)
        The same test on bins: ``bin > cut`` (numeric) or ``bin == cut`` (categorical).
    first : int64 array of shape (n_features + 1,)
        First candidate of each feature, then the number of candidates.
    slot : int64 array of shape (n_features + 1,)
        First bin of each feature in a histogram, then the number of bins.
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

    With a released scale, numeric features are cut into parts that hold equal shares of it; equal cuts count once.
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
        raise ValueError("no attribute has two values, so there is no question to ask; give the domain more of them")
    if first[-1] > MAX_CANDIDATES:
        raise ValueError(
            f"there are {first[-1]:,} questions to choose from, more than {MAX_CANDIDATES:,}; "
            "take fewer bins or attributes"
        )
    feature_of, threshold_of, cut_of = (np.concatenate(c).astype(np.int32) for c in (features, thresholds, cuts))
    kind_of = np.concatenate(kinds).astype(np.uint8)
    return Candidates(kind_of, feature_of, threshold_of, cut_of, np.array(first), np.array(slot))


def numeric_cuts(domain: Domain, n_bins: int, scale: ReleasedScale | None = None) -> dict[int, np.ndarray]:
    """Return the least code of each bin but the first, rising, for each numeric feature by its index."""
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
            # The first cut asks whether the value is known, if it may be missing.
            cuts[j] = np.concatenate([[first] if first else [], inner_cuts]).astype(np.int64)
    return cuts


def bin_codes(domain: Domain, codes: np.ndarray, n_bins: int, scale: ReleasedScale | None = None) -> np.ndarray:
    """Return the bin of each code: uint8 (n, n_features) if no feature has more than 256 bins, else uint16."""
    cuts = numeric_cuts(domain, n_bins, scale)
    most = max(n_bins + 1, *(0 if f.kind == "numeric" else f.n_codes for f in domain.features))
    bins = np.empty(codes.shape, np.uint8 if most <= 256 else np.uint16)
    # Compute the bin of each code of the grid once, not that of each cell; features with equal cuts share a table.
    tables: dict[bytes, int] = {}
    lookup = list[np.ndarray]()
    which = np.full(domain.n_features, -1)
    for j, feature_cuts in cuts.items():
        which[j] = tables.setdefault(feature_cuts.tobytes(), len(tables))
        if which[j] == len(lookup):
            lookup.append(
                np.repeat(np.arange(len(feature_cuts) + 1), np.diff([0, *feature_cuts, N_CODES])).astype(bins.dtype)
            )
    _bin(np.ascontiguousarray(codes), which, np.stack(lookup) if lookup else np.zeros((1, 1), bins.dtype), bins)
    return bins


@njit(nogil=True, cache=True)
def _bin(codes, which, lookup, bins):
    for i in range(codes.shape[0]):
        for j in range(codes.shape[1]):
            bins[i, j] = lookup[which[j], codes[i, j]] if which[j] >= 0 else codes[i, j]


def undecided(candidates: Candidates, chosen: list[np.ndarray]) -> np.ndarray:
    """Return which tests the nodes of the next level have not decided yet, bool (2**level, n_candidates).

    A test is decided if every row of a node must answer it alike, given the answers on its path. This follows from the
    tests alone. If no test is left, all tests are allowed.

    Parameters
    ----------
    chosen : list of int arrays
        Candidates chosen by the nodes of each level so far; level k has shape (2**k,).
    """
    allowed = np.ones((1, candidates.n_candidates), bool)
    for level in chosen:
        allowed = _refine(candidates.kind, candidates.feature, candidates.cut, candidates.first, allowed, level)
    nothing = ~allowed.any(axis=1)
    allowed[nothing] = True
    return allowed


@njit(nogil=True, cache=True)
def _refine(kind, feature, cut, first, allowed, chosen):
    """Return the tests left to the children of a level: cuts on the far side and known categories are decided."""
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
        rest = out[2 * node, first[f] : first[f + 1]]
        if kind[c] != NUMERIC and rest.sum() == 1:  # only one category is left, so it is known
            rest[:] = False
    return out
