"""Predictions from released leaves: majority voting, threshold averaging, probabilistic averaging.

All of it is post-processing: nothing here reads rows that were used for fitting.
"""

from dataclasses import dataclass
from typing import Final

import numpy as np

from dpforest.losses import m_alpha
from dpforest.privacy.hashing import GOLDEN, mixed

CLIPPED_LOGISTIC: Final = "clipped-logistic"
VOTING = ("majority", "threshold", "probabilistic", "log-odds", "additive", CLIPPED_LOGISTIC)
NEGATIVE_RULES = ("clamp", "paper")
_LEAST_SHARE: Final = 1e-4


@dataclass(frozen=True)
class LogOdds:
    """Voting "log-odds": each leaf votes for a class by how much more frequent it is there than in all leaves.

    Mean shares hardly exceed one half where a class is rare, because each tree tests few of the attributes that matter.
    Trees are nearly independent pieces of evidence, so their evidence is added, with a factor of two over their number
    that discounts what they have in common.

    Parameters
    ----------
    noise_scale : float
        Scale b of the noise on a count; 0 without noise.
    prior_weight : float
        Weight a, in rows, of the frequencies over all leaves in the shares of each leaf; above 0.
    """

    noise_scale: float
    prior_weight: float

    @classmethod
    def of_signal(cls, noise_scale: float, signal: float) -> "LogOdds":
        """Choose the prior weight: 2 b for a signal below 300, else b / 2, where b = 1 without noise."""
        scale = noise_scale or 1.0
        return cls(noise_scale, 2 * scale if signal < 300 else scale / 2)

    def prior(self, counts: np.ndarray) -> np.ndarray:
        """Return the frequency of each class over all leaves, float64 (n_classes,), from all noisy counts."""
        least = max(1.0, self.noise_scale * (2 * len(counts)) ** 0.5)
        known = np.maximum(counts.sum(axis=0), least)
        return known / known.sum()

    def shares(self, counts: np.ndarray, prior: np.ndarray) -> np.ndarray:
        """Return the share of each class in each leaf, float64 (n_leaves, n_classes)."""
        known = np.maximum(counts, 0)
        return (known + self.prior_weight * prior) / (known.sum(axis=1, keepdims=True) + self.prior_weight)

    def evidence(self, counts: np.ndarray, prior: np.ndarray) -> np.ndarray:
        """Return what each leaf adds to the log-odds of each class, float64 (n_leaves, n_classes)."""
        return np.log(np.maximum(self.shares(counts, prior), _LEAST_SHARE)) - np.log(prior)


def log_odds_scores(evidence: np.ndarray, prior: np.ndarray, n_trees: int) -> np.ndarray:
    """Return the score of each class from the sum of its evidence over trees."""
    return np.log(prior) + min(2 / n_trees, 1.0) * evidence


def softmax(scores: np.ndarray) -> np.ndarray:
    """Return class shares from scores that are log-odds; rows sum to 1."""
    shares = np.exp(scores - scores.max(axis=1, keepdims=True))
    return shares / shares.sum(axis=1, keepdims=True)


def leaf_shares(counts: np.ndarray, negative_rule: str, seed: int, *, leaves: np.ndarray | None = None) -> np.ndarray:
    """Return the share of each class in each leaf, from noisy counts (Bojarski et al., Algorithm 2, step 3).

    Parameters
    ----------
    counts : array of shape (n_leaves, n_classes)
    negative_rule : {"clamp", "paper"}
        Negative counts become 0, or any negative count discards the leaf, as in the paper.
    seed : int
        Public. A leaf without information (discarded, or all zero) gets shares drawn uniformly once and for all.
    leaves : int array of shape (n_leaves,), optional
        Numbers of the leaves, which key these draws; by default 0..n_leaves-1.

    Returns
    -------
    float64 array of shape (n_leaves, n_classes), rows sum to 1
    """
    known = np.maximum(counts, 0).astype(float)
    silent = known.sum(axis=1) == 0
    if negative_rule == "paper":
        silent |= (counts < 0).any(axis=1)
    numbers = np.arange(len(counts)) if leaves is None else leaves
    cells = (numbers[silent, None] * counts.shape[1] + np.arange(counts.shape[1])).astype(np.uint64)
    known[silent] = -np.log1p(-uniform(seed, cells))  # exponentials: uniform on the simplex, U[0, 1] for two classes
    return known / known.sum(axis=1, keepdims=True)


def leaf_votes(shares: np.ndarray) -> np.ndarray:
    """Return the class that each leaf votes for, uint8 (n_leaves,); a tie goes to the class listed first."""
    return shares.argmax(axis=1).astype(np.uint8)


def decide(shares: np.ndarray, voting: str, coin: np.ndarray | None = None) -> np.ndarray:
    """Return the predicted class index of each row, int64 (n,).

    Parameters
    ----------
    shares : array of shape (n, n_classes)
        Share of the trees' votes ("majority"), mean share in the leaves ("threshold", "probabilistic"), or score of
        each class ("log-odds", "additive", "clipped-logistic").
    coin : float array of shape (n,), optional
        One number in [0, 1) per row, for "probabilistic": the class is drawn with its share as probability.
    """
    if voting != "probabilistic" or coin is None:
        return shares.argmax(axis=1)
    return np.minimum((np.cumsum(shares, axis=1) <= coin[:, None]).sum(axis=1), shares.shape[1] - 1)


def additive_scores(values: np.ndarray, class_of_leaf: np.ndarray, n_classes: int) -> np.ndarray:
    """Return what each leaf adds to the score of each class, float64 (n_leaves, n_classes).

    Of two classes the second gets the value and the first its negative; of more, the class of the leaf's tree gets it.
    """
    scores = np.zeros((len(values), n_classes))
    scores[np.arange(len(values)), class_of_leaf] = values
    if n_classes == 2:
        scores[:, 0] = -values
    return scores


def additive_shares(scores: np.ndarray, alpha: float) -> np.ndarray:
    """Return class shares from scores, by the inverse link of the Mα-loss (Nock and Henecka 2020, Lemma 8).

    Rows sum to 1. The link does not distinguish scores between -2(1 - α) and 2(1 - α). So a billionth of each share
    follows the order of the scores, and another goes to the predicted class, which thus has the largest share.
    """
    order = 0.5 + np.arcsinh(2.0**60 * scores) / 200  # from 0 to 1, as |scores| < 1e18
    shares = (1 - 2e-9) * m_alpha(alpha).inverse_link(scores) + 1e-9 * order
    shares[np.arange(len(shares)), scores.argmax(axis=1)] += 1e-9
    return shares / shares.sum(axis=1, keepdims=True)


def clipped_logistic_shares(scores: np.ndarray) -> np.ndarray:
    """Return class shares from scores of the clipped logistic loss; rows sum to 1.

    For two classes, F is the score of the second and -F that of the first: P(1) = 1/(1 + 2/(1 + exp(F))) for F from 0,
    and as much less than a half for F below 0. This minimizes the mean of the loss whose slope ends at a half. For more
    classes it is the softmax.
    """
    if scores.shape[1] > 2:
        return softmax(scores)
    size = np.minimum(np.abs(scores[:, 1]), 700)
    top = 1 / (1 + 2 / (1 + np.exp(size)))
    second = np.where(scores[:, 1] >= 0, top, 1 - top)
    return np.stack([1 - second, second], axis=1)


def coins(codes: np.ndarray, seed: int) -> np.ndarray:
    """Return one number in [0, 1) per row from its codes, so that equal rows get the same one in every subset."""
    with np.errstate(over="ignore"):
        weights = mixed(np.arange(1, codes.shape[1] + 1, dtype=np.uint64) * GOLDEN)
        return uniform(seed, codes.astype(np.uint64) @ weights)


def uniform(seed: int, keys: np.ndarray) -> np.ndarray:
    """Return numbers in [0, 1) from a public seed and uint64 keys, the same at every place and time."""
    with np.errstate(over="ignore"):
        start = mixed(np.array([seed % 2**64], np.uint64) + GOLDEN)  # mixed(0) is 0
        return (mixed(keys * GOLDEN + start) >> np.uint64(11)) * 2.0**-53
