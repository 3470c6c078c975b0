"""Whether the numbers in a file are large enough for the noise that its ledger says is on them.

Noise makes numbers larger, whatever was counted: for a fixed number s and noise Z that is symmetric with one peak,
P(|s + Z| <= t) <= P(|Z| <= t) (Anderson 1955, "The integral of a symmetric unimodal function over a symmetric convex
set"). So the probability that all |s + Z|, or their squares, have so small a sum is at most that of noise alone, which
Chernoff's bound limits in closed form. A question may depend on the answers before it: the bound is a product over
questions, each with the answers before it fixed.

A file that states a smaller budget than the one that paid for its numbers is refused for this reason. Leaves with
labels show nothing, nor do values that were clamped. An honest file is refused with a probability of at most 10^-15.
"""

import math
from typing import Any, Final

import numpy as np

from dpforest.models.random_boost.gradients import LARGEST, POINT, UNIT
from dpforest.privacy.ledger import GRADIENT_SUMS, Entry
from dpforest.privacy.loss import GAUSSIAN
from dpforest.trees.forest import ReleasedForest

FALSE_ALARM: Final = -15 * math.log(10)


def check_noise(forest: ReleasedForest, spec: Any) -> None:
    """Raise ValueError where leaves hold numbers that are too small for their noise.

    Parameters
    ----------
    forest : ReleasedForest
        Certified.
    spec : BoosterSpec, ForestSpec, TreeSpec, ...
        Of its fit.
    """
    entry = forest.ledger.entries[-1]
    if entry.each is None:
        return
    scale = float(entry.sensitivity) / float(entry.each.amount) ** (0.5 if entry.each.kind == GAUSSIAN else 1)
    if forest.noisy_counts is not None:
        chance = _log_chance(forest.noisy_counts.astype(float).ravel(), scale, 0.0, entry)
    elif entry.what == GRADIENT_SUMS and forest.leaf_values is not None:
        moves = forest.leaf_values * 2.0**POINT
        if "total_step" in forest.about:  # else, in the first files, it is taken to be that of the rule
            _check_steps(moves, spec.step / moves.shape[1])
        if np.abs(moves).max(initial=0) >= LARGEST:  # clamped: the sums may have been larger
            return
        n_scores = moves.shape[1]
        if n_scores > 1:  # their mean was taken away; of a difference one of the two is as noisy as one alone
            moves = moves[:, 0 : n_scores - 1 : 2] - moves[:, 1::2]
        sums, rounding = moves / spec.step, (1 if n_scores == 1 else 2) * 0.5 / spec.step
        chance = _log_chance(sums.ravel(), scale * UNIT, rounding, entry)
    else:
        return
    if chance < FALSE_ALARM:
        raise ValueError(
            "the numbers in its leaves are too small for the noise that its ledger says is on them: so much noise "
            f"leaves them so small once in 10^{int(-chance / math.log(10)):,} files"
        )


def _check_steps(moves: np.ndarray, step: float) -> None:
    """Raise ValueError unless each move is a whole number of steps, rounded (`gradients.moves_of`)."""
    sums = np.rint(moves / step)
    is_clamped = np.abs(moves) >= LARGEST
    if not (is_clamped | (np.rint(sums * step) == moves)).all():
        raise ValueError(
            "the values in its leaves are no whole numbers of steps, whose length follows from its total_step, n_rows, "
            "depth and number of trees"
        )


def _log_chance(cells: np.ndarray, scale: float, rounding: float, entry: Entry) -> float:
    """Logarithm of a bound on the probability that noise of this scale leaves cells no larger than these.

    `rounding` is how much larger each of the numbers may have been before it was rounded.
    """
    n = len(cells)
    if entry.mechanism == "rounded-gaussian":
        # In length, noise before it was rounded is longer by at most √n/2, and by what rounding took of the cells.
        length = float(np.linalg.norm(cells)) + math.sqrt(n) * (rounding + 0.5)
        x = length**2 / (n * scale**2)
        return 0.0 if x >= 1 else n / 2 * (math.log(x) + 1 - x)
    total, rate = float(np.abs(cells).sum()) + n * rounding, 1 / scale
    # P(Z = z) ~ e^(-rate |z|) has E e^(-λ|Z|) = tanh(rate / 2) / tanh((rate + λ) / 2); every λ gives a bound.
    shrink = np.geomspace(1e-3, 1e6, 200) * rate
    bounds = shrink * total + n * (np.log(np.tanh(rate / 2)) - np.log(np.tanh((rate + shrink) / 2)))
    return min(0.0, float(bounds.min()))
