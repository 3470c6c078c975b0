"""The effect of a mechanism on a leaf: the law of its label, its flip probability and its privacy loss.

All mechanisms are called by name here. ``rate`` is κ, the cost of one row added or removed in one tree
(`release.rate_for`); for noisy counts κ = 1/scale; for the published mechanisms it is the ε of each tree.
"""

from typing import Final

import numpy as np

from dpforest.privacy import laws
from dpforest.privacy.laws import CERTIFIED, NOISY_COUNTS, PUBLISHED
from dpforest.privacy.ledger import rows_changed
from dpforest.privacy.noisy_counts import noisy_argmax_pmf

MECHANISMS: Final = (*CERTIFIED, NOISY_COUNTS, *PUBLISHED)
RELEASE_COUNTS: Final = (NOISY_COUNTS, "continuous-laplace")  # the others release labels
_FAR: Final = 100_000  # number of rows by which the other classes are behind the two contenders


def pmf(mechanism: str, counts: np.ndarray, rate: float, *, negative: str = "clamp") -> np.ndarray:
    """Return the probability of each label of each leaf.

    Parameters
    ----------
    mechanism : str
        One of ``MECHANISMS``.
    counts : int array (L, K)
    rate : float
    negative : {"clamp", "paper"}
        Rule for negative noisy counts; other mechanisms ignore it.

    Returns
    -------
    float array (L, K)
    """
    if mechanism == NOISY_COUNTS:
        return noisy_argmax_pmf(counts, 1.0 / rate, negative)
    return laws.pmf(mechanism, counts, rate)


def flip_probability(
    mechanism: str, counts: np.ndarray, rate: float, *, negative: str = "clamp", ties_count: bool = False
) -> np.ndarray:
    """Return the probability that the released label is not a true top label.

    Parameters
    ----------
    mechanism, counts, rate, negative
        As for `pmf`.
    ties_count : bool
        Count every label but the first top one as a flip, as figure 8 of the paper does (docs/PAPERS.md).

    Returns
    -------
    float array (L,)
        nan for an empty leaf, which has no true label.
    """
    counts = np.atleast_2d(np.asarray(counts))
    top = counts == counts.max(axis=1, keepdims=True)
    if ties_count:
        top &= top.cumsum(axis=1) == 1
    # Summing the wrong labels keeps the digits of a small probability; 1 - P(right) would lose them.
    flips = np.where(top, 0.0, pmf(mechanism, counts, rate, negative=negative)).sum(axis=1)
    return np.where(counts.any(axis=1), flips, np.nan)


def flip_by_gap(
    mechanism: str, gap: np.ndarray, n_classes: int, rate: float, *, others: int = 0, negative: str = "clamp"
) -> np.ndarray:
    """Return the flip probability of the worst leaf whose top label leads all others by ``gap``.

    Parameters
    ----------
    gap : int array (G,)
        Lead in rows, at least 0; at 0 all classes are tied and nothing can flip.
    others : int
        Number of rows of every other class. It matters for noisy counts only.

    Returns
    -------
    float array (G,)
        For noisy counts the top label is the last class, which loses ties: again the worst case.
    """
    gap = np.atleast_1d(np.asarray(gap, np.int64))
    counts = np.full((len(gap), n_classes), others, np.int64)
    counts[:, -1] += gap
    wrong = pmf(mechanism, counts, rate, negative=negative)[:, :-1].sum(axis=1)
    return np.where(gap == 0, 0.0, wrong)


def flip_floor(gap: np.ndarray, epsilon: float, n_classes: int = 2) -> np.ndarray:
    """Return the least flip probability of ε-DP rules that treat classes alike, at leaf (gap, 0, ..., 0), add-remove.

    From the empty leaf, where each label has probability 1/K, ``gap`` added rows lead to this leaf, and each of them
    changes a probability by a factor exp(ε) at most: exp(-gap ε) (K-1)/K (docs/PAPERS.md). Permute-and-flip attains
    this bound for two classes.
    """
    return np.exp(-epsilon * np.asarray(gap, float)) * (n_classes - 1) / n_classes


def privacy_loss(
    mechanism: str, gap: np.ndarray, n_classes: int, rate: float, neighbors: str = "add-remove"
) -> np.ndarray:
    """Return the worst log-ratio at a leaf with two contenders ``gap`` rows apart and the other classes far below.

    Parameters
    ----------
    gap : int array (G,)
        At least 0.
    neighbors : {"add-remove", "replace-one"}
        Add-remove: one more row of the leading class. Replace-one: the larger loss of two cases. In the first, a row
        changes from the second to the leading class; in the second, one such leaf loses a row and another gains one.

    Returns
    -------
    float array (G,)
        Loss of the released labels, or of the noisy counts (constant). Infinite where it exceeds any float.
    """
    gap = np.atleast_1d(np.asarray(gap, np.int64))
    if mechanism == NOISY_COUNTS:
        return np.full(len(gap), float(rate) * rows_changed(neighbors))
    counts = np.zeros((len(gap), n_classes), np.int64)
    counts[:, 0], counts[:, 1] = _FAR + gap, _FAR
    more, swapped = counts.copy(), counts.copy()
    more[:, 0] += 1
    swapped[:, 0] += 1
    swapped[:, 1] -= 1
    loss = _worst(mechanism, counts, more, rate)
    if rows_changed(neighbors) == 1:
        return loss
    return np.maximum(_worst(mechanism, counts, swapped, rate), 2 * loss)


def _worst(mechanism: str, before: np.ndarray, after: np.ndarray, rate: float) -> np.ndarray:
    with np.errstate(invalid="ignore"):
        ratio = np.abs(laws.log_pmf(mechanism, before, rate) - laws.log_pmf(mechanism, after, rate)).max(axis=1)
    return np.where(np.isnan(ratio), np.inf, ratio)
