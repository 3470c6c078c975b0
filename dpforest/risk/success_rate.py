"""Success rate of an attacker: an estimate with a confidence interval, and the total variation between two laws."""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from time import monotonic
from typing import Final

import numpy as np

from dpforest.confidence import lower_limit, upper_limit

# Numbers of guesses after which an estimate is reported, from 18 to a million.
REPORT_SIZES: Final = tuple(sorted({round(10 ** (k / 8)) for k in range(10, 49)}))
CONFIDENCE: Final = 0.99  # probability that all intervals of an attack hold together
SECONDS: Final = 4.0  # default time limit of an attack
_MOST_LOG_RATIO: Final = 60.0  # limit of a log-ratio of probabilities; exp(-60) is negligible


@dataclass(frozen=True)
class AttackEstimate:
    """Estimate of a success rate from the guesses so far.

    Attributes
    ----------
    trials, right : int
        Number of guesses, and of correct guesses.
    low, high : float
        Confidence interval of the true success rate (Clopper and Pearson 1934). With the probability `CONFIDENCE`, the
        intervals after all numbers of guesses in `REPORT_SIZES` hold together.
    """

    trials: int
    right: int
    low: float
    high: float

    @property
    def share(self) -> float:
        """Return the share of correct guesses."""
        return self.right / self.trials


def most_success(epsilon: float) -> float:
    """Return the largest success rate of guessing a fair coin from a pure ε-private release: e^ε / (1 + e^ε).

    Parameters
    ----------
    epsilon : float
        ε, at least 0, or infinite.

    Returns
    -------
    float
        Success rate from 1/2 to 1.

    Examples
    --------
    >>> round(most_success(1.0), 3), most_success(math.inf)
    (0.731, 1.0)
    """
    return 1 / (1 + math.exp(-epsilon))


Estimates = Iterator[tuple[float, AttackEstimate | None]]


def success_rate(guess: Callable[[int], tuple[int, int]], *, seconds: float, max_guesses: int) -> Estimates:
    """Guess until the time or the guesses are used up, and yield an estimate at each number in `REPORT_SIZES`.

    Parameters
    ----------
    guess : function
        Takes a requested number of guesses. Returns how many guesses it made and how many of them were right.
    seconds : float
        Time limit, in seconds; infinity if only `max_guesses` ends the guesses.
    max_guesses : int
        Largest number of guesses.

    Yields
    ------
    float
        Share of the work that is done, from 0 to 1.
    AttackEstimate or None
        None if there is no new estimate.
    """
    start, trials, right = monotonic(), 0, 0
    looks = [size for size in REPORT_SIZES if size < max_guesses] + [max_guesses]
    for size in looks:
        while trials < size:
            if trials and monotonic() - start > seconds:
                return
            n_guesses, n_right = guess(size - trials)
            trials, right = trials + n_guesses, right + n_right
            if trials < size:
                yield _share_done(trials, max_guesses, start, seconds), None
        yield _share_done(trials, max_guesses, start, seconds), estimate(trials, right)


def estimate(trials: int, right: int) -> AttackEstimate:
    """Return the estimate after `trials` guesses, of which `right` are correct.

    >>> estimate(1_000, 700).low < 0.7 < estimate(1_000, 700).high
    True
    """
    alpha = (1 - CONFIDENCE) / (2 * (len(REPORT_SIZES) + 1))
    return AttackEstimate(trials, right, *(float(limit(right, trials, alpha)) for limit in (lower_limit, upper_limit)))


def _share_done(trials: int, max_guesses: int, start: float, seconds: float) -> float:
    return min(1.0, max(trials / max_guesses, (monotonic() - start) / max(seconds, 1e-9)))


# ---------------------------------------------------------------- the best guess between two laws


def log_ratios(log_p: np.ndarray, log_q: np.ndarray) -> np.ndarray:
    """Return ln(Q / P) of each outcome, limited to ±60; 0 where both probabilities are 0."""
    with np.errstate(invalid="ignore"):
        return np.clip(np.where(log_p == log_q, 0.0, log_q - log_p), -_MOST_LOG_RATIO, _MOST_LOG_RATIO)


def total_variation(log_p: np.ndarray, log_q: np.ndarray) -> np.ndarray:
    """Return the total variation between the laws in each pair of rows of `log_p` and `log_q`, float (n,)."""
    return np.abs(np.exp(log_p) - np.exp(log_q)).sum(axis=1) / 2


def composed_variation(log_p: np.ndarray, log_q: np.ndarray, *, steps: int = 8_192) -> float:
    """Return the total variation between two products of laws: E max(0, 1 - e^L), where L is the sum of all losses.

    E is the expectation under the first product. A loss is ln(Q / P) of an outcome, where P is a law of the first
    product, and Q is the law at the same place of the second product.

    The function moves losses to a grid: it divides the probability of a loss between the two neighboring grid points,
    so that the total probability under either law stays the same. This division can only raise the total variation.
    """
    if len(log_p) == 1:
        return float(total_variation(log_p, log_q)[0])
    loss = log_ratios(log_p, log_q)
    reach = min(float(np.abs(loss).max(axis=1).sum()), _MOST_LOG_RATIO)
    if reach == 0:
        return 0.0
    step, half = reach / steps, steps + len(log_p)  # the grid may move the loss of each law by one step
    mass = np.zeros(2 * half + 1)
    mass[half] = 1.0
    for p, loss_of_law in zip(np.exp(log_p), loss, strict=True):
        if not loss_of_law.any():
            continue
        low = np.floor(loss_of_law / step + 1e-9).astype(int)
        part = np.clip(np.expm1(loss_of_law - low * step) / np.expm1(step), 0, 1)
        moves, move_index = np.unique(np.concatenate([low, low + 1]), return_inverse=True)
        weights = np.bincount(move_index, np.concatenate([p * (1 - part), p * part]))
        mass = sum(w * _shifted(mass, int(k)) for k, w in zip(moves, weights, strict=True) if w > 0)
    axis = step * np.arange(-half, half + 1)
    return float((mass * -np.expm1(np.minimum(axis, 0.0))).sum())


def _shifted(mass: np.ndarray, by: int) -> np.ndarray:
    """Return probabilities shifted along the grid. Probability that would pass an end stays at this end."""
    by = max(min(by, len(mass) - 1), 1 - len(mass))
    if by == 0:
        return mass
    if by < 0:
        return _shifted(mass[::-1], -by)[::-1]
    shifted = np.zeros_like(mass)
    shifted[by:] = mass[:-by]
    shifted[-1] += mass[-by:].sum()
    return shifted
