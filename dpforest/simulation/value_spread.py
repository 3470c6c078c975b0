"""Estimate how much noise changes the value of each leaf of boosted trees."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from dpforest.models.greedy.alpha_boost import leaf_link
from dpforest.models.greedy.boosted import BoostedForestClassifier
from dpforest.models.leaf_noise import LeafNoise, WeightNoise

N_DRAWS: Final = 200


def value_spread(model: Any, noise: LeafNoise, alpha_link: float) -> np.ndarray | None:
    """Return the standard deviation that noise gives to the value of each leaf, over releases of the same trees.

    Parameters
    ----------
    model : DataDependentClassifier
        The forest that was fitted.
    noise : LeafNoise
        Noise of its leaves.
    alpha_link : float
        α of the Mα-loss whose link turns class weights into values (`ScoreLeaves.alpha_link`).

    Returns
    -------
    float array of shape (n_leaves,), or None
        The standard deviation of `N_DRAWS` draws of the noise. None unless the leaves hold noisy class weights
        (leaf="counts") and no coefficient multiplies the values of a tree (beta="one").
    """
    if not isinstance(model, BoostedForestClassifier) or not isinstance(noise, WeightNoise):
        return None
    if model.beta not in (None, "one"):
        return None
    largest_value = 2.0 if model.max_leaf is None else model.max_leaf
    shrink = 0.0 if model.shrink is False else 1.0
    rng = np.random.default_rng(0)
    values = []
    for _ in range(N_DRAWS):
        weights = np.maximum(noise.evidence + rng.laplace(size=noise.evidence.shape) * noise.scale[:, None], 0)
        padded = weights + shrink * noise.scale[:, None]  # a release adds this weight to each class (`leaf_link`)
        values.append(np.clip(leaf_link(padded, alpha_link), -largest_value, largest_value))
    return np.std(values, axis=0)
