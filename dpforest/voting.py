"""Compute predictions from released leaves: votes, averaged shares, log-odds, or added scores.

All predictions are post-processing: this module does not read the rows of the fit.
"""

from dataclasses import dataclass
from typing import Final

import numpy as np

from dpforest.losses import m_alpha
from dpforest.privacy.hashing import GOLDEN, mixed

CLIPPED_LOGISTIC: Final = "clipped-logistic"
VOTING = ("majority", "threshold", "probabilistic", "log-odds", "additive", CLIPPED_LOGISTIC)
NEGATIVE_RULES = ("clamp", "paper")
_LEAST_SHARE: Final = 1e-4  # smaller shares are raised to this share, because the logarithm of 0 is infinite


@dataclass(frozen=True)
class LogOdds:
    """Voting "log-odds": a leaf adds ln(share of a class in the leaf / its share in all leaves) to the class's score.

    If shares were averaged instead, the mean share of a rare class would hardly exceed one half, because each tree
    tests few of the attributes that matter. The score of a class for a row is the logarithm of the class's share in all
    leaves, plus twice the mean of the additions of the row's leaves in all trees. (With one tree, the factor is 1.) The
    factor 2 is a compromise. If trees are independent, the sum of the additions is right. If trees are equal, the mean
    of the additions is right.

    Parameters
    ----------
    noise_scale : float
        Scale b of the noise on a count; 0 without noise.
    prior_weight : float
        Weight a > 0, in rows, with which the class frequencies over all leaves enter the shares of each leaf.
    """

    noise_scale: float
    prior_weight: float

    @classmethod
    def of_signal(cls, noise_scale: float, signal: float) -> "LogOdds":
        """Choose the prior weight: 2 b if the signal is below 300, otherwise b / 2. Without noise, b counts as 1.

        The signal is the number of rows times the ε for leaves.
        """
        scale = noise_scale or 1.0
        return cls(noise_scale, 2 * scale if signal < 300 else scale / 2)

    def prior(self, counts: np.ndarray) -> np.ndarray:
        """Return the frequency of each class over all leaves, float64 (n_classes,), from all noisy counts.

        Each total is raised to at least 1 and at least the standard deviation of its Laplace noise.
        """
        least = max(1.0, self.noise_scale * (2 * len(counts)) ** 0.5)
        totals = np.maximum(counts.sum(axis=0), least)
        return totals / totals.sum()

    def shares(self, counts: np.ndarray, prior: np.ndarray) -> np.ndarray:
        """Return the share of each class in each leaf, float64 (n_leaves, n_classes)."""
        positive_counts = np.maximum(counts, 0)
        return (positive_counts + self.prior_weight * prior) / (
            positive_counts.sum(axis=1, keepdims=True) + self.prior_weight
        )

    def evidence(self, counts: np.ndarray, prior: np.ndarray) -> np.ndarray:
        """Return what each leaf adds to the log-odds of each class, float64 (n_leaves, n_classes)."""
        return np.log(np.maximum(self.shares(counts, prior), _LEAST_SHARE)) - np.log(prior)


def log_odds_scores(evidence: np.ndarray, prior: np.ndarray, n_trees: int) -> np.ndarray:
    """Return the score of each class, (n, n_classes), from each row's evidence summed over trees."""
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
        Noisy class counts, which may be negative.
    negative_rule : {"clamp", "paper"}
        "clamp": negative counts become 0. "paper": one negative count discards all counts of the leaf.
    seed : int
        Public seed. If a leaf has no information, because it is discarded or all its counts are 0, its shares are drawn
        uniformly from this seed.
    leaves : int array of shape (n_leaves,), optional
        Numbers of the leaves, which are the keys of the uniform draws; by default 0..n_leaves-1.

    Returns
    -------
    float64 array of shape (n_leaves, n_classes)
        Shares, which sum to 1 in each leaf.
    """
    positive_counts = np.maximum(counts, 0).astype(float)
    without_information = positive_counts.sum(axis=1) == 0
    if negative_rule == "paper":
        without_information |= (counts < 0).any(axis=1)
    numbers = np.arange(len(counts)) if leaves is None else leaves
    cells = (numbers[without_information, None] * counts.shape[1] + np.arange(counts.shape[1])).astype(np.uint64)
    # Exponential draws, divided by their sum, are uniform shares.
    positive_counts[without_information] = -np.log1p(-uniform(seed, cells))
    return positive_counts / positive_counts.sum(axis=1, keepdims=True)


def leaf_votes(shares: np.ndarray) -> np.ndarray:
    """Return the class that each leaf votes for, uint8 (n_leaves,). In a tie, the class listed first wins."""
    return shares.argmax(axis=1).astype(np.uint8)


def decide(shares: np.ndarray, voting: str, coin: np.ndarray | None = None) -> np.ndarray:
    """Return the predicted class index of each row, int64 (n,).

    Parameters
    ----------
    shares : array of shape (n, n_classes)
        Share of the trees' votes ("majority"), mean share in the leaves ("threshold", "probabilistic"), or score of
        each class ("log-odds", "additive", "clipped-logistic").
    voting : str
        Voting rule, one of `VOTING`.
    coin : float array of shape (n,), optional
        One number in [0, 1) for each row. The voting "probabilistic" uses this number to draw a class; the probability
        of a class is its share.
    """
    if voting != "probabilistic" or coin is None:
        return shares.argmax(axis=1)
    return np.minimum((np.cumsum(shares, axis=1) <= coin[:, None]).sum(axis=1), shares.shape[1] - 1)


def additive_scores(values: np.ndarray, class_of_leaf: np.ndarray, n_classes: int) -> np.ndarray:
    """Return what each leaf adds to the score of each class, float64 (n_leaves, n_classes).

    With two classes, a leaf adds its value to the second class, and subtracts it from the first class. With more
    classes, a leaf adds its value to the class of its tree.
    """
    scores = np.zeros((len(values), n_classes))
    scores[np.arange(len(values)), class_of_leaf] = values
    if n_classes == 2:
        scores[:, 0] = -values
    return scores


def additive_shares(scores: np.ndarray, alpha: float) -> np.ndarray:
    """Return class shares from scores, by the inverse link of the Mα-loss (Nock and Henecka 2020, Lemma 8).

    Rows sum to 1. The inverse link maps all scores between -2(1 - α) and 2(1 - α) to the same share. To preserve the
    order of the scores, the function mixes each share with a billionth of an increasing function of the score. It adds
    another billionth to the share of the predicted class, so that this share is the largest.
    """
    order = 0.5 + np.arcsinh(2.0**60 * scores) / 200  # from 0 to 1, as |scores| < 1e18
    shares = (1 - 2e-9) * m_alpha(alpha).inverse_link(scores) + 1e-9 * order
    shares[np.arange(len(shares)), scores.argmax(axis=1)] += 1e-9
    return shares / shares.sum(axis=1, keepdims=True)


def clipped_logistic_shares(scores: np.ndarray) -> np.ndarray:
    """Return class shares from scores of the clipped logistic loss; rows sum to 1.

    With two classes, let F be the score of the second class, and -F the score of the first class. The share of the
    second class is P(F) = 1/(1 + 2/(1 + exp(F))) if F >= 0, and 1 - P(-F) if F < 0. The slope of the loss is clipped at
    one half. If the true probability of the second class is P(F), then F minimizes the expected loss. With more
    classes, the shares are the softmax of the scores.
    """
    if scores.shape[1] > 2:
        return softmax(scores)
    size = np.minimum(np.abs(scores[:, 1]), 700)
    top = 1 / (1 + 2 / (1 + np.exp(size)))
    second = np.where(scores[:, 1] >= 0, top, 1 - top)
    return np.stack([1 - second, second], axis=1)


def coins(codes: np.ndarray, seed: int) -> np.ndarray:
    """Return a number in [0, 1) for each row, computed from the row's codes. Equal rows always have the same number."""
    with np.errstate(over="ignore"):
        weights = mixed(np.arange(1, codes.shape[1] + 1, dtype=np.uint64) * GOLDEN)
        return uniform(seed, codes.astype(np.uint64) @ weights)


def uniform(seed: int, keys: np.ndarray) -> np.ndarray:
    """Return numbers in [0, 1) that depend only on a public seed and uint64 keys."""
    with np.errstate(over="ignore"):
        start = mixed(np.array([seed % 2**64], np.uint64) + GOLDEN)  # without GOLDEN, seed 0 would stay 0
        return (mixed(keys * GOLDEN + start) >> np.uint64(11)) * 2.0**-53
