"""The expected share of leaves whose label is changed by noise, as in figure 8 of Fletcher and Islam (2017)."""

import numpy as np

from dpforest.models.leaf_noise import CountNoise, FrequencyNoise, LeafNoise, frequency_pmf
from dpforest.privacy import mechanisms


def relabeled_share(noise: LeafNoise) -> float | None:
    """Return the expected share of leaves with rows whose published label differs from their label without noise.

    Figure 8 of Fletcher and Islam (2017) shows this share. Every leaf with rows has the same weight, whatever the
    number of its rows. If several classes tie for the most rows, the label without noise is the first of these classes.
    If noise selects another of the tied classes, the leaf counts as changed here. `ForestView.flip`, in contrast, does
    not count a change between tied classes.

    Parameters
    ----------
    noise : LeafNoise
        Noise and exact row counts of all leaves of a forest. Because the counts are exact, they are for the curator
        only.

    Returns
    -------
    float or None
        Share from 0 to 1; None if the leaves publish numbers instead of labels, or if no leaf holds a row.

    Examples
    --------
    >>> tied, pure, empty = [1, 1], [8, 0], [0, 0]
    >>> relabeled_share(CountNoise(np.array([tied, pure, empty]), "global-01", np.log(3)))
    0.375
    """
    if not isinstance(noise, CountNoise | FrequencyNoise):
        return None
    if isinstance(noise, CountNoise) and noise.mechanism in mechanisms.RELEASE_COUNTS:
        return None
    full = noise.evidence[noise.evidence.any(axis=1)]
    if not len(full):
        return None
    # Many leaves have equal counts, so each distinct row of counts is evaluated once.
    distinct, n_leaves = np.unique(full, axis=0, return_counts=True)
    if isinstance(noise, CountNoise):
        changed = mechanisms.flip_probability(noise.mechanism, distinct, noise.rate, ties_count=True)
    else:
        law = frequency_pmf(distinct, noise.temperature)
        changed = 1 - law[np.arange(len(distinct)), distinct.argmax(axis=1)]
    return float(np.average(changed, weights=n_leaves))
