"""Metrics of predictions, computed from class shares, or from numbers of votes for many budgets at once.

The share of the votes for a class serves as the predicted probability of the class. A single row whose class has a
share of 0 would make the log-loss infinite. So the log-loss counts a share of 0 as half a vote, and a share of 1 as
half a vote less than all votes.
"""

import math
from typing import Final

import numpy as np

METRICS: Final = ("accuracy", "balanced_accuracy", "auc", "f1", "log_loss", "calibration")
_BINS: Final = 10  # number of bins of the calibration error


def from_votes(votes: np.ndarray, positive: int = 1) -> dict[str, np.ndarray]:
    """Return the metrics of two classes from a histogram of votes.

    Parameters
    ----------
    votes : int array of shape (..., n_trees + 1, 2)
        Entry (v, c) is the number of rows of class c for which v trees vote for the second class.
    positive : {0, 1}
        Class that F1 measures.

    Returns
    -------
    dict of float arrays of shape (...)
        Value of each of the `METRICS`, by name; NaN if a metric needs a class that does not occur.

    Examples
    --------
    >>> metrics = from_votes(np.array([[3, 1], [0, 1], [1, 4]]))
    >>> round(float(metrics["accuracy"]), 2), round(float(metrics["auc"]), 3)
    (0.7, 0.771)
    """
    votes = np.asarray(votes, float)
    n_trees = votes.shape[-2] - 1
    v = np.arange(n_trees + 1)
    is_second = 2 * v > n_trees  # a tie goes to the class that is listed first
    n = votes.sum(axis=-2)
    right = np.stack([votes[..., ~is_second, 0].sum(axis=-1), votes[..., is_second, 1].sum(axis=-1)], axis=-1)
    hit = right[..., positive]
    wrong = n.sum(axis=-1) - right.sum(axis=-1)
    share = np.clip(v / max(n_trees, 1), 0.5 / max(n_trees, 1), 1 - 0.5 / max(n_trees, 1))
    loss = -(votes[..., 0] * np.log1p(-share) + votes[..., 1] * np.log(share)).sum(axis=-1)
    below = np.cumsum(votes[..., 0], axis=-1) - votes[..., 0] / 2
    with np.errstate(invalid="ignore", divide="ignore"):
        return {
            "accuracy": right.sum(axis=-1) / n.sum(axis=-1),
            "balanced_accuracy": np.nanmean(right / n, axis=-1),
            "auc": (votes[..., 1] * below).sum(axis=-1) / (n[..., 0] * n[..., 1]),
            "f1": 2 * hit / (2 * hit + wrong),
            "log_loss": loss / n.sum(axis=-1),
            "calibration": _vote_calibration(votes, v / max(n_trees, 1), is_second),
        }


def _vote_calibration(votes: np.ndarray, share: np.ndarray, is_second: np.ndarray) -> np.ndarray:
    """Return the expected calibration error: the mean gap of accuracy and predicted share over `_BINS` bins of rows."""
    confidence = np.where(is_second, share, 1 - share)
    right = np.where(is_second, votes[..., 1], votes[..., 0])
    rows = votes.sum(axis=-1)
    bin_index = np.minimum((confidence * _BINS).astype(int), _BINS - 1)
    gap = np.zeros(rows.shape[:-1])
    for b in np.unique(bin_index):
        in_bin = bin_index == b
        gap += np.abs(right[..., in_bin].sum(axis=-1) - (rows[..., in_bin] * confidence[in_bin]).sum(axis=-1))
    return gap / rows.sum(axis=-1)


def from_shares(
    shares: np.ndarray, y: np.ndarray, predicted: np.ndarray, *, positive: int = 1, step: float = 1e-6
) -> dict[str, float]:
    """Return the metrics from class shares.

    Parameters
    ----------
    shares : float array of shape (n, n_classes)
        Share of each class for each row; the shares of a row sum to 1.
    y, predicted : int array of shape (n,)
        True class and predicted class of each row, by index.
    positive : int
        With two classes, the class that F1 measures. With more classes, the parameter has no effect: F1 and AUC are
        means over the classes, each against all other classes.
    step : float
        The log-loss clips shares to the interval from `step` to 1 - `step`. For vote shares, pass half the share of one
        vote.

    Returns
    -------
    dict of float
        Value of each of the `METRICS`, by name.
    """
    n_classes = shares.shape[1]
    n = np.bincount(y, minlength=n_classes)
    right = predicted == y
    per_class = np.bincount(y, weights=right, minlength=n_classes)
    n_predicted = np.bincount(predicted, minlength=n_classes)
    present = np.flatnonzero(n)
    with np.errstate(invalid="ignore", divide="ignore"):
        f1 = 2 * per_class / (n + n_predicted)
    classes = [1] if n_classes == 2 else [k for k in present if n[k] < len(y)]
    confidence = shares[np.arange(len(y)), predicted]
    bin_index = np.minimum((confidence * _BINS).astype(int), _BINS - 1)
    gaps = np.bincount(bin_index, weights=right - confidence, minlength=_BINS)
    return {
        "accuracy": float(right.mean()),
        "balanced_accuracy": float((per_class[present] / n[present]).mean()),
        "auc": float(np.mean([auc(shares[:, k], y == k) for k in classes])) if classes else float("nan"),
        "f1": float(f1[positive] if n_classes == 2 else f1[present].mean()),
        "log_loss": float(-np.log(np.clip(shares[np.arange(len(y)), y], step, 1 - step)).mean()),
        "calibration": float(np.abs(gaps).sum() / len(y)),
    }


def auc(score: np.ndarray, is_positive: np.ndarray) -> float:
    """Return the area under the ROC curve of a score; NaN if all rows or no rows are positive.

    This area is the probability that a positive row has a higher score than a negative row, where equal scores count
    half.
    """
    positive, negative = np.sort(score[is_positive]), np.sort(score[~is_positive])
    if not len(positive) or not len(negative):
        return float("nan")
    twice = np.searchsorted(negative, positive, "left").sum() + np.searchsorted(negative, positive, "right").sum()
    return float(twice / 2 / (len(positive) * len(negative)))


def accuracies(predicted: np.ndarray, y: np.ndarray) -> tuple[float, float]:
    """Return the accuracy and the balanced accuracy, which is the mean of the accuracies on the rows of each class."""
    right, n_rows = predicted == y, np.bincount(y)
    per_class = np.bincount(y, weights=right)[n_rows > 0] / n_rows[n_rows > 0]
    return float(right.mean()), float(per_class.mean())


def flipped_share(evidence: np.ndarray, labels: np.ndarray, n_rows: np.ndarray | None = None) -> np.ndarray:
    """Return the share of rows in leaves whose label is not one of the classes with the most evidence.

    Parameters
    ----------
    evidence : array of shape (n_leaves, n_classes)
        Number, or total weight, of the rows of each class in each leaf.
    labels : int array of shape (n_leaves,) or (n_leaves, n_releases)
        Class of each leaf, by index, in one release or in each of several releases.
    n_rows : int array of shape (n_leaves,), optional
        Number of rows in each leaf; by default the sums of `evidence` over the classes.

    Returns
    -------
    float array of shape () or (n_releases,)
        Share of the rows in such leaves in each release, from 0 to 1; 0 if there are no rows.
    """
    n_rows = evidence.sum(axis=1) if n_rows is None else n_rows
    each = labels.astype(np.int64).reshape(len(labels), math.prod(labels.shape[1:]))
    flipped = np.take_along_axis(evidence, each, axis=1) < evidence.max(axis=1, keepdims=True)
    return (n_rows @ flipped / max(n_rows.sum(), 1)).reshape(labels.shape[1:])
