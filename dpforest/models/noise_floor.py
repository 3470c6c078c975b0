"""Checks that the numbers in a file are large enough for the noise that its ledger states.

A number in a leaf is a true number s plus noise Z. The law of Z is symmetric and has one peak, so P(|s + Z| <= t) <=
P(|Z| <= t) for every s and t. The proof is in Anderson 1955, "The integral of a symmetric unimodal function over a
symmetric convex set". Let the size of numbers be the sum of their absolute values, or of their squares. Let P1 be the
probability that the size of the noisy numbers is below a threshold, and P2 the probability that the size of the noise
alone is below this threshold. Then P1 <= P2, whatever the true numbers are. Chernoff's bound limits P2 in closed form.
A question may depend on earlier answers. But the bound holds for each question, whatever the earlier answers were, so
the bounds of all questions can be multiplied.

So the check refuses a file that states a much smaller budget than the fit spent, if the numbers in its leaves are
mostly noise. The check cannot judge leaves with labels, with counts of many rows, or with clamped values. It cannot
judge boosted trees (`BoostedForestClassifier`), or a file in which `total_step` or `n_rows` was changed to fit the
false budget. It refuses an honest file with a probability of at most 10^-15.
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
    """Raise ValueError if the numbers in leaves are too small for the noise that the ledger states.

    Parameters
    ----------
    forest : ReleasedForest
        Certified forest from a file.
    spec : BoosterSpec, ForestSpec, TreeSpec, ...
        Plan of the fit that the file claims to come from.
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
        if "total_step" in forest.about:  # the first files lack this field
            _check_steps(moves, spec.step / moves.shape[1])
        if np.abs(moves).max(initial=0) >= LARGEST:  # some moves were clamped, so their sums are unknown
            return
        n_scores = moves.shape[1]
        if n_scores > 1:  # the mean that the fit subtracted cancels in differences of two scores
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
    """Raise ValueError unless each move of a score is a whole number of steps, rounded (`gradients.moves_of`)."""
    sums = np.rint(moves / step)
    is_clamped = np.abs(moves) >= LARGEST
    if not (is_clamped | (np.rint(sums * step) == moves)).all():
        raise ValueError(
            "the values in its leaves are not whole numbers of steps (its total_step, n_rows, depth and number of "
            "trees give the length of a step)"
        )


def _log_probability_bound(numbers: np.ndarray, scale: float, rounding: float, entry: LedgerEntry) -> float:
    """Return the logarithm of a bound on the probability that `numbers`, with noise of this scale, are this small.

    Rounding may have reduced each number by at most `rounding`.
    """
    n = len(numbers)
    if entry.mechanism == "rounded-gaussian":
        # Rounding changed the L2 norm of the noise by at most √n/2, and that of the numbers by at most √n times
        # `rounding`.
        length = float(np.linalg.norm(numbers)) + math.sqrt(n) * (rounding + 0.5)
        ratio = length**2 / (n * scale**2)
        return 0.0 if ratio >= 1 else n / 2 * (math.log(ratio) + 1 - ratio)
    total, rate = float(np.abs(numbers).sum()) + n * rounding, 1 / scale
    # If P(Z = z) is proportional to e^(-rate |z|), then E e^(-λ|Z|) = tanh(rate / 2) / tanh((rate + λ) / 2). Chernoff's
    # bound holds for every λ > 0, and the smallest of these bounds is returned.
    lambdas = np.geomspace(1e-3, 1e6, 200) * rate
    bounds = lambdas * total + n * (np.log(np.tanh(rate / 2)) - np.log(np.tanh((rate + lambdas) / 2)))
    return min(0.0, float(bounds.min()))
