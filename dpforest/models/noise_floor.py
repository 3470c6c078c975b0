"""Checks that the numbers in a file are large enough for the noise that its ledger states.

Let s be a fixed number, and let Z be noise with a symmetric law that has one peak. Then P(|s + Z| <= t) <= P(|Z| <= t)
(Anderson 1955, "The integral of a symmetric unimodal function over a symmetric convex set"). So for all counts, the sum
of all |s + Z|, or of their squares, falls below a threshold with at most the probability for noise alone. Chernoff's
bound limits this probability in closed form. A question may depend on earlier answers. Therefore the bound is a product
over questions, and in each factor the earlier answers are fixed.

So the check refuses a file that states a much smaller budget than the fit spent, if its leaves consist mostly of noise.
The check cannot judge leaves with labels, with counts of many rows, or with clamped values. It cannot judge the boosted
forest, or a file whose `total_step` or `n_rows` was changed as well. It refuses an honest file with a probability of at
most 10^-15.
"""

import math
from typing import Any, Final

import numpy as np

from dpforest.models.boosting.clip_bound import UNIT
from dpforest.models.boosting.gradients import LARGEST, POINT
from dpforest.privacy.ledger import GRADIENT_SUMS, LedgerEntry
from dpforest.privacy.loss import GAUSSIAN
from dpforest.trees.forest import ReleasedForest
from dpforest.trees.leaves import CountLeaves, ScoreLeaves

FALSE_ALARM: Final = -15 * math.log(10)  # logarithm of the largest probability that an honest file is refused


def check_noise(forest: ReleasedForest, spec: Any) -> None:
    """Raise ValueError if the numbers in leaves are too small for their noise.

    Parameters
    ----------
    forest : ReleasedForest
        Certified forest from a file.
    spec : BoosterSpec, ForestSpec, TreeSpec, ...
        Spec of the fit that the file claims.
    """
    entry = forest.ledger.entries[-1]
    if entry.each is None:
        return
    scale = float(entry.sensitivity) / float(entry.each.amount) ** (0.5 if entry.each.kind == GAUSSIAN else 1)
    leaves = forest.leaves
    if isinstance(leaves, CountLeaves):
        log_bound = _log_probability_bound(
            leaves.noisy_counts.astype(float).ravel(), scale * leaves.count_unit, 0.0, entry
        )
    elif entry.what == GRADIENT_SUMS and isinstance(leaves, ScoreLeaves):
        moves = leaves.leaf_values * 2.0**POINT
        if "total_step" in forest.about:  # the first files lack this field, and the rule computes it
            _check_steps(moves, spec.step / moves.shape[1])
        if np.abs(moves).max(initial=0) >= LARGEST:  # some moves were clamped, so sums may be larger
            return
        n_scores = moves.shape[1]
        if n_scores > 1:  # the fit subtracted the mean, and a difference of two terms is at least as noisy as one term
            moves = moves[:, 0 : n_scores - 1 : 2] - moves[:, 1::2]
        sums, rounding = moves / spec.step, (1 if n_scores == 1 else 2) * 0.5 / spec.step
        log_bound = _log_probability_bound(sums.ravel(), scale * UNIT * spec.clip.grid, rounding, entry)
    else:
        return
    if log_bound < FALSE_ALARM:
        raise ValueError(
            "the numbers in its leaves are too small for the noise that its ledger states: with that noise, at most "
            f"one file in 10^{int(-log_bound / math.log(10)):,} has numbers this small"
        )


def _check_steps(moves: np.ndarray, step: float) -> None:
    """Raise ValueError unless each move is a whole number of steps, rounded (`gradients.moves_of`)."""
    sums = np.rint(moves / step)
    is_clamped = np.abs(moves) >= LARGEST
    if not (is_clamped | (np.rint(sums * step) == moves)).all():
        raise ValueError(
            "the values in its leaves are not whole numbers of steps (its total_step, n_rows, depth and number of "
            "trees give the length of a step)"
        )


def _log_probability_bound(cells: np.ndarray, scale: float, rounding: float, entry: LedgerEntry) -> float:
    """Return the logarithm of a bound on the probability that cells with noise of this scale are this small.

    `rounding` is the largest amount by which rounding may have reduced a number.
    """
    n = len(cells)
    if entry.mechanism == "rounded-gaussian":
        # Rounding shortened the noise by at most √n/2 in length, and the cells by at most √n times `rounding`.
        length = float(np.linalg.norm(cells)) + math.sqrt(n) * (rounding + 0.5)
        ratio = length**2 / (n * scale**2)
        return 0.0 if ratio >= 1 else n / 2 * (math.log(ratio) + 1 - ratio)
    total, rate = float(np.abs(cells).sum()) + n * rounding, 1 / scale
    # If P(Z = z) ~ e^(-rate |z|), then E e^(-λ|Z|) = tanh(rate / 2) / tanh((rate + λ) / 2). Every λ > 0 gives a bound.
    lambdas = np.geomspace(1e-3, 1e6, 200) * rate
    bounds = lambdas * total + n * (np.log(np.tanh(rate / 2)) - np.log(np.tanh((rate + lambdas) / 2)))
    return min(0.0, float(bounds.min()))
