"""The scale of a forest without noise, for the baseline of simulated releases."""

from fractions import Fraction

import numpy as np

from dpforest.models.base import ForestClassifier
from dpforest.trees.released_scale import ReleasedScale, nested, scale_from


def exact_scale(estimator: ForestClassifier, cells: np.ndarray) -> ReleasedScale | None:
    """Return the scale that a release without noise would get; None if the forest never queries a scale.

    Parameters
    ----------
    estimator : ForestClassifier
        Forest whose parameters decide whether a release queries a scale.
    cells : int64 array of shape (n_numeric, 64)
        Exact histograms of the numeric attributes (`scale_histograms`). Only the curator may see them.

    Returns
    -------
    ReleasedScale or None
        The scale, mixed with the public scale as in a release.
    """
    if estimator.mode != "certified" or estimator.scale_share == "public" or not len(cells):
        return None
    prior = Fraction(1)  # one row in each cell, so that no cell has probability 0
    return scale_from(nested(cells), prior).mixed(estimator.scale_rule.public_weight)
