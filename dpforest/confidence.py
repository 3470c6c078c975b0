"""Exact confidence limits of a probability, from the number of hits in a number of trials.

Reference: C. J. Clopper and E. S. Pearson, "The use of confidence or fiducial limits illustrated in the case of the
binomial", Biometrika 26 (1934).
"""

from typing import Any

import numpy as np
from scipy.stats import beta


def lower_limit(hits: Any, trials: Any, alpha: float) -> np.ndarray:
    """Return Clopper and Pearson's lower limit, which exceeds the true probability with a chance of at most alpha.

    Parameters
    ----------
    hits, trials : int or array
        Number of hits, and number of trials. Arrays are broadcast against each other.
    alpha : float
        Largest probability that the limit exceeds the true probability.

    Returns
    -------
    float64 array
        Lower limit for each number of hits. The array is zero-dimensional if `hits` and `trials` are numbers.

    Examples
    --------
    >>> lower_limit([0, 60], 60, 0.05 / 18).round(3).tolist()
    [0.0, 0.907]
    """
    hits = np.asarray(hits, float)
    return np.where(hits > 0, beta.ppf(alpha, hits, trials - hits + 1), 0.0)


def upper_limit(hits: Any, trials: Any, alpha: float) -> np.ndarray:
    """Return Clopper and Pearson's upper limit, which the true probability exceeds with a chance of at most alpha.

    `lower_limit` describes the parameters.

    >>> upper_limit([0, 60], 60, 0.05 / 18).round(3).tolist()
    [0.093, 1.0]
    """
    hits = np.asarray(hits, float)
    return np.where(hits < trials, beta.isf(alpha, hits + 1, trials - hits), 1.0)
