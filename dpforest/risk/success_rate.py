"""Guesses that are counted: how often an attacker is right, how sure that is, and what nobody can exceed."""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from time import monotonic
from typing import Final

import numpy as np

from dpforest.confidence import lower_limit, upper_limit

LOOKS: Final = tuple(sorted({round(10 ** (k / 8)) for k in range(10, 49)}))  # from 18 guesses to a million
CONFIDENCE: Final = 0.99  # of all intervals together
SECONDS: Final = 4.0
_FAR: Final = 60.0  # exp(-60) is nothing


@dataclass(frozen=True)
class AttackEstimate:
    """Guesses so far.

    Attributes
    ----------
    trials, right : int
    low, high : float
        Encloses the true success rate (Clopper and Pearson 1934), all looks at once with `CONFIDENCE`.
    """

    trials: int
    right: int
    low: float
    high: float

    @property
    def share(self) -> float:
        """Of guesses that were right."""
        return self.right / self.trials


def most_success(epsilon: float) -> float:
    """What no attacker on a pure ε-private release exceeds when a fair coin decides: e^ε / (1 + e^ε).

    Parameters
    ----------
    epsilon : float
        From 0, or infinite.

    Returns
    -------
    float
        From 1/2 to 1.

    Examples
    --------
    >>> round(most_success(1.0), 3), most_success(math.inf)
    (0.731, 1.0)
    """
    return 1 / (1 + math.exp(-epsilon))


Estimates = Iterator[tuple[float, AttackEstimate | None]]


def success_rate(guess: Callable[[int], tuple[int, int]], *, seconds: float, most: int) -> Estimates:
    """Guess until time or number is up, and look now and then.

    Parameters
    ----------
    guess : function
        From how many guesses are wanted to how many were made, and how many of them were right.
    seconds : float
        Infinity if only `most` shall end it.
    most : int
        Guesses at most.

    Yields
    ------
    float
        Share of the work that is done.
    Look or None
        None where there is nothing new.
    """
    start, trials, right = monotonic(), 0, 0
    looks = [size for size in LOOKS if size < most] + [most]
    for size in looks:
        while trials < size:
            if trials and monotonic() - start > seconds:
                return
            made, hits = guess(size - trials)
            trials, right = trials + made, right + hits
            if trials < size:
                yield _done(trials, most, start, seconds), None
        yield _done(trials, most, start, seconds), estimate(trials, right)


def estimate(trials: int, right: int) -> AttackEstimate:
    """What so many guesses say.

    >>> estimate(1_000, 700).low < 0.7 < estimate(1_000, 700).high
    True
    """
    side = (1 - CONFIDENCE) / (2 * (len(LOOKS) + 1))
    return AttackEstimate(trials, right, *(float(limit(right, trials, side)) for limit in (lower_limit, upper_limit)))


def _done(trials: int, most: int, start: float, seconds: float) -> float:
    return min(1.0, max(trials / most, (monotonic() - start) / max(seconds, 1e-9)))


# ---------------------------------------------------------------- the best guess between two laws


def losses(log_p: np.ndarray, log_q: np.ndarray) -> np.ndarray:
    """ln(Q / P), no larger than matters; 0 where both are impossible."""
    with np.errstate(invalid="ignore"):
        return np.clip(np.where(log_p == log_q, 0.0, log_q - log_p), -_FAR, _FAR)


def variation(log_p: np.ndarray, log_q: np.ndarray) -> np.ndarray:
    """Total variation of each pair of laws, float (n,)."""
    return np.abs(np.exp(log_p) - np.exp(log_q)).sum(axis=1) / 2


def composed_variation(log_p: np.ndarray, log_q: np.ndarray, *, steps: int = 8_192) -> float:
    """Total variation of products of laws: E max(0, 1 - e^L) over the sum L of the losses under the first.

    A loss between two points of the grid is split among them so that the mass under either law stays as it is, which
    can only raise the variation.
    """
    if len(log_p) == 1:
        return float(variation(log_p, log_q)[0])
    loss = losses(log_p, log_q)
    reach = min(float(np.abs(loss).max(axis=1).sum()), _FAR)
    if reach == 0:
        return 0.0
    step, half = reach / steps, steps + len(log_p)  # every law may be rounded by one step
    mass = np.zeros(2 * half + 1)
    mass[half] = 1.0
    for p, loss_of_law in zip(np.exp(log_p), loss, strict=True):
        if not loss_of_law.any():
            continue
        low = np.floor(loss_of_law / step + 1e-9).astype(int)
        part = np.clip(np.expm1(loss_of_law - low * step) / np.expm1(step), 0, 1)
        moves, which = np.unique(np.concatenate([low, low + 1]), return_inverse=True)
        weights = np.bincount(which, np.concatenate([p * (1 - part), p * part]))
        mass = sum(w * _moved(mass, int(k)) for k, w in zip(moves, weights, strict=True) if w > 0)
    axis = step * np.arange(-half, half + 1)
    return float((mass * -np.expm1(np.minimum(axis, 0.0))).sum())


def _moved(mass: np.ndarray, by: int) -> np.ndarray:
    """Shifted along the grid; what would leave it stays at its end."""
    by = max(min(by, len(mass) - 1), 1 - len(mass))
    if by == 0:
        return mass
    if by < 0:
        return _moved(mass[::-1], -by)[::-1]
    out = np.zeros_like(mass)
    out[by:] = mass[:-by]
    out[-1] += mass[-by:].sum()
    return out
