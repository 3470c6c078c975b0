"""The scale of a forest without noise. Simulated releases are compared with this forest.

A scale has a distribution function for each numeric attribute, from which trees draw their thresholds.
"""

from fractions import Fraction

import numpy as np

from dpforest.models.base import ForestClassifier
from dpforest.trees.released_scale import ReleasedScale, nested_counts, scale_from


def exact_scale(estimator: ForestClassifier, histograms: np.ndarray) -> ReleasedScale | None:
    """Return the scale that a release without noise would get, or None if the forest never queries a scale.

    Parameters
    ----------
    estimator : ForestClassifier
        Forest whose parameters decide whether a release spends a part of ε on a scale of the table's values.
    histograms : int64 array of shape (n_numeric, 64)
        Exact histograms of the numeric attributes (`scale_histograms`). Only the curator may see them.

    Returns
    -------
    ReleasedScale or None
        The exact scale, mixed with the public scale (a uniform distribution over the range) as in a release.
    """
    if estimator.mode != "certified" or estimator.scale_share == "public" or not len(histograms):
        return None
    prior = Fraction(1)  # each histogram cell counts as if it had one more row, so that no cell has probability 0
    return scale_from(nested_counts(histograms), prior).mixed(estimator.scale_rule.public_weight)
