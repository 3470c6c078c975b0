"""The effect of a mechanism on a leaf: the law of the released label, the probability of a flip, and the privacy loss.

A *flip* is a released label that is not a true top label of its leaf. The functions take the name of a mechanism. For a
certified mechanism, ``rate`` is κ, the cost of one row added or removed in one tree (`release.rate_for`); for noisy
counts, κ = 1/scale. For a published mechanism, ``rate`` is the ε of each tree.
"""

from typing import Final

import numpy as np

from dpforest.privacy import laws
from dpforest.privacy.laws import CERTIFIED, NOISY_COUNTS, PUBLISHED
from dpforest.privacy.ledger import rows_changed
from dpforest.privacy.noisy_counts import noisy_argmax_pmf

MECHANISMS: Final = (*CERTIFIED, NOISY_COUNTS, *PUBLISHED)
RELEASE_COUNTS: Final = (NOISY_COUNTS, "continuous-laplace")  # all other mechanisms release labels
_FAR: Final = 100_000  # in `privacy_loss`, lead of the two largest classes over all other classes, in rows


def pmf(mechanism: str, counts: np.ndarray, rate: float, *, negative: str = "clamp") -> np.ndarray:
    """Return the probability of each label of each leaf.

    Parameters
    ----------
    mechanism : str
        One of ``MECHANISMS``.
    counts : int array of shape (n_leaves, n_classes)
        Number of rows of each class in each leaf.
    rate : float
        κ of a certified mechanism or of noisy counts; the ε of each tree for a published mechanism.
    negative : {"clamp", "paper"}
        Rule for negative noisy counts (see `noisy_counts`). Mechanisms without noisy counts ignore this parameter.

    Returns
    -------
    float array of shape (n_leaves, n_classes)
        Probabilities; those of a leaf sum to 1.
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
        Whether every label except the first of several tied top labels counts as a flip, as in figure 8 of the paper
        (docs/PAPERS.md).

    Returns
    -------
    float array of shape (n_leaves,)
        Flip probability of each leaf. An empty leaf has no true label, so its value is nan.
    """
    counts = np.atleast_2d(np.asarray(counts))
    top = counts == counts.max(axis=1, keepdims=True)
    if ties_count:
        top &= top.cumsum(axis=1) == 1
    # The sum over the wrong labels is precise even if it is tiny, where 1 - P(right label) would lose digits.
    flips = np.where(top, 0.0, pmf(mechanism, counts, rate, negative=negative)).sum(axis=1)
    return np.where(counts.any(axis=1), flips, np.nan)


def flip_by_gap(
    mechanism: str, gap: np.ndarray, n_classes: int, rate: float, *, others: int = 0, negative: str = "clamp"
) -> np.ndarray:
    """Return the flip probability of a leaf in which the top label leads each other label by ``gap`` rows.

    Parameters
    ----------
    mechanism, rate, negative
        As for `pmf`.
    gap : int array of shape (n_gaps,)
        Lead in rows, at least 0. If the lead is 0, all classes are tied, so every label is a true top label.
    n_classes : int
        Number of classes.
    others : int
        Number of rows of each class except the top class. It matters only for noisy counts.

    Returns
    -------
    float array of shape (n_gaps,)
        Flip probability at each lead. The top label is the last class, which is the worst case for noisy counts,
        because the last class loses ties.
    """
    gap = np.atleast_1d(np.asarray(gap, np.int64))
    counts = np.full((len(gap), n_classes), others, np.int64)
    counts[:, -1] += gap
    wrong = pmf(mechanism, counts, rate, negative=negative)[:, :-1].sum(axis=1)
    return np.where(gap == 0, 0.0, wrong)


def flip_floor(gap: np.ndarray, epsilon: float, n_classes: int = 2) -> np.ndarray:
    """Return the least flip probability at leaf (gap, 0, ..., 0) of any ε-DP rule that treats all classes alike.

    ε-DP stands for ε-differential privacy under add-remove. Let K = `n_classes`. At the empty leaf, each label has
    probability 1/K. Adding ``gap`` rows to the empty leaf gives leaf (gap, 0, ..., 0), and each row changes a
    probability by a factor of at most exp(ε). So the flip probability is at least exp(-gap ε) (K-1)/K (docs/PAPERS.md).
    For two classes, permute-and-flip attains this bound.
    """
    return np.exp(-epsilon * np.asarray(gap, float)) * (n_classes - 1) / n_classes


def privacy_loss(
    mechanism: str, gap: np.ndarray, n_classes: int, rate: float, neighbors: str = "add-remove"
) -> np.ndarray:
    """Return the largest privacy loss at a leaf in which two classes are ``gap`` rows apart, far above all others.

    The privacy loss is the largest |ln P - ln Q| of an output, for the laws P and Q of the outputs of two neighbors.

    Parameters
    ----------
    mechanism : str
        One of ``MECHANISMS``.
    gap : int array of shape (n_gaps,)
        Lead of the leading class over the second class in rows, at least 0.
    n_classes : int
        Number of classes.
    rate : float
        As for `pmf`.
    neighbors : {"add-remove", "replace-one"}
        Under add-remove, one row is added to the leading class. Under replace-one, there are two cases, and the result
        is the larger loss: a row changes from the second to the leading class within a leaf, or it moves from one such
        leaf to another such leaf.

    Returns
    -------
    float array of shape (n_gaps,)
        Loss of the released label. For noisy counts, the loss of the counts, which is the same at each gap. A loss
        above the largest float is returned as infinity.
    """
    gap = np.atleast_1d(np.asarray(gap, np.int64))
    if mechanism == NOISY_COUNTS:
        return np.full(len(gap), float(rate) * rows_changed(neighbors))
    counts = np.zeros((len(gap), n_classes), np.int64)
    counts[:, 0], counts[:, 1] = _FAR + gap, _FAR
    added, swapped = counts.copy(), counts.copy()
    added[:, 0] += 1
    swapped[:, 0] += 1
    swapped[:, 1] -= 1
    loss = _largest_loss(mechanism, counts, added, rate)
    if rows_changed(neighbors) == 1:
        return loss
    return np.maximum(_largest_loss(mechanism, counts, swapped, rate), 2 * loss)


def _largest_loss(mechanism: str, before: np.ndarray, after: np.ndarray, rate: float) -> np.ndarray:
    """Return the largest |ln P - ln Q| over all labels, for the laws P and Q of a leaf before and after a change."""
    with np.errstate(invalid="ignore"):
        ratio = np.abs(laws.log_pmf(mechanism, before, rate) - laws.log_pmf(mechanism, after, rate)).max(axis=1)
    return np.where(np.isnan(ratio), np.inf, ratio)
