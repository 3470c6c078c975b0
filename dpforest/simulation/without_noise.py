"""The scale of a forest without noise, for the line that simulated releases are compared with."""

from fractions import Fraction

import numpy as np

from dpforest.models.base import ForestClassifier
from dpforest.trees.released_scale import ReleasedScale, nested, scale_from


def exact_scale(estimator: ForestClassifier, cells: np.ndarray) -> ReleasedScale | None:
    """What a release would find out about where rows lie, if there were no noise; None where it does not ask.

    Parameters
    ----------
    estimator : ForestClassifier
    cells : int64 array of shape (n_numeric, 64)
        Exact (`scale_histograms`): for the curator only.

    Returns
    -------
    ReleasedScale or None
    """
    if estimator.mode != "certified" or estimator.scale_share == "public" or not len(cells):
        return None
    prior = Fraction(1)  # one row in each cell, so that none is impossible
    return scale_from(nested(cells), prior).mixed(estimator.scale_rule.public_weight)
