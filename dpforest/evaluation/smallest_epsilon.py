"""The smallest ε at which a required share of releases reaches a needed value of a measure, with 95 % confidence.

Two things are uncertain. First, each release draws its noise at random, so that at one ε some releases reach the value
and others miss it. Second, the held-out rows are a sample, so that a margin is subtracted from every measured value.

The search has two phases. First, `N_FIRST` simulated releases predict an ε at which nearly every release should reach
the value. Then the module checks this ε with new releases, which had no part in the prediction. The check counts the
releases that reach the value, until the count either shows the required share, or can no longer show it. If the check
fails, the next larger ε of the grid is checked.
"""

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cache
from typing import Final, NamedTuple

import numpy as np
import pandas as pd
from scipy import stats

from dpforest.checks import check_choice
from dpforest.confidence import lower_limit

CONFIDENCE: Final = 0.95  # confidence level of a check, and of the held-out margin
N_FIRST: Final = 3  # number of releases that determine which ε is checked first
LOOKS: Final = (1, 2, 4)  # a check evaluates its releases after m, 2 m and 4 m of them, where m is `releases_needed`
# At the ε that is checked first, the predicted share of releases that miss the value is the permitted share divided by
# this number.
_MISS_DIVISOR: Final = 10
_ROUNDING: Final = 1e-9  # a value that is lower by less than this rounding error still counts as reached
_NEAR: Final = 2  # the spread at an ε is averaged over this many ε of the grid on each side


@dataclass(frozen=True, eq=False)
class Reach:
    """Prediction of the values that releases of a forest reach at each ε, from its first simulated releases.

    Attributes
    ----------
    epsilons : float array of shape (E,)
        Simulated ε, in rising order.
    mean : float array of shape (E,)
        Mean over the releases.
    nearly_all : float array of shape (E,)
        Value that nearly all releases should reach: the mean minus a multiple of the standard deviation.
    counted : float array of shape (E,)
        `nearly_all` minus the margin for the held-out rows (`held_out_margin`).
    at_largest_epsilon : float
        Value that the required share of releases should reach at the largest ε, minus the margin.
    """

    epsilons: np.ndarray
    mean: np.ndarray
    nearly_all: np.ndarray
    counted: np.ndarray
    at_largest_epsilon: float

    @classmethod
    def of(cls, epsilons: np.ndarray, values: np.ndarray, share: float, n: float | None, n_forests: int = 1) -> "Reach":
        """Compute the prediction from the values of simulated releases.

        Parameters
        ----------
        epsilons : float array of shape (E,)
            Simulated ε, in rising order.
        values : float array of shape (R, E)
            Value of the measure of R releases at each ε, from 0 to 1.
        share : float
            Share of releases that must reach a value, between 0 and 1.
        n : float or None
            Effective number of held-out rows (`least_n`). If None, no margin is subtracted.
        n_forests : int
            Number of forests that are compared on the same held-out rows. The margins of all of them hold jointly.

        Examples
        --------
        >>> reach = Reach.of(np.array([0.1, 1.0]), np.array([[0.7, 0.8], [0.72, 0.82]]), 0.9, 1000)
        >>> reach.mean.round(3).tolist(), reach.nearly_all.round(3).tolist(), reach.counted.round(3).tolist()
        ([0.71, 0.81], [0.677, 0.777], [0.652, 0.755])
        """
        mean, spread = values.mean(axis=0), _pooled_spread(values)
        nearly_all, required = (
            np.clip(mean - stats.norm.ppf(level) * spread, 0.0, 1.0)
            for level in (1 - (1 - share) / _MISS_DIVISOR, share)
        )
        counted, required_counted = (
            reached - (0.0 if n is None else held_out_margin(reached, n, n_forests))
            for reached in (nearly_all, required)
        )
        return cls(epsilons, mean, nearly_all, counted, float(required_counted[-1]))

    def epsilons_to_check(self, needed: float) -> list[float]:
        """Return the ε to check, in rising order.

        The list begins with the smallest ε such that `counted` is at least the needed value at this ε and at the next
        larger ε of the grid. All larger ε follow. If there is no such ε, the list has only the largest ε. The list is
        empty if `at_largest_epsilon` is also below the needed value.

        Parameters
        ----------
        needed : float
            Value that is needed, from 0 to 1.

        Returns
        -------
        list of float
            The ε to check; may be empty.
        """
        enough = self.counted >= needed - _ROUNDING
        enough[:-1] &= enough[1:]
        if enough.any():
            return self.epsilons[int(enough.argmax()) :].tolist()
        return self.epsilons[-1:].tolist() if self.at_largest_epsilon >= needed - _ROUNDING else []


def _pooled_spread(values: np.ndarray) -> np.ndarray:
    """Return the standard deviation over releases at each ε, float (E,).

    The variance at an ε is averaged over neighboring ε. With one release, the function estimates the variance σ² from
    second differences along the grid of ε, whose squares have an expected value of 6 σ². This value holds if releases
    at different ε are independent and their mean is linear along the grid; a curved mean increases the estimate. With
    one release and fewer than three ε, the result is 0.
    """
    n_releases, n_epsilons = values.shape
    if n_releases > 1:
        variance = values.var(axis=0, ddof=1)
    elif n_epsilons > 2:
        variance = np.pad(np.diff(values[0], 2) ** 2 / 6, 1, mode="edge")
    else:
        variance = np.zeros(n_epsilons)
    return np.sqrt([variance[max(i - _NEAR, 0) : i + _NEAR + 1].mean() for i in range(n_epsilons)])


class Check(NamedTuple):
    """Result of the check of one ε by simulated releases.

    A check evaluates its releases only at fixed numbers of releases, which are called looks (`LOOKS`).

    Attributes
    ----------
    reached, releases : int
        Number of simulated releases that reach the value, and number of all simulated releases. If a look has decided
        the check, both count only the releases up to this look.
    at_least : float
        Lower confidence bound, from the last look, on the share of possible releases that reach the value on these
        held-out rows; 0 before the first look.
    is_sure, has_failed : bool
        `is_sure`: the check has shown the required share, because `at_least` is at least this share. `has_failed`: the
        check cannot show it any more. If both are False, more releases are needed.
    until : int
        Number of releases at the next look, or at the look that has decided the check.
    """

    reached: int
    releases: int
    at_least: float
    is_sure: bool
    has_failed: bool
    until: int


def check_share(reached: np.ndarray, share: float, n_failed: int = 0, n_forests: int = 1) -> Check:
    """Check by simulated releases that at least a required share of all possible releases reaches a value.

    The check computes a lower confidence bound at each look (`LOOKS`). All bounds, over all looks, successive checks
    and forests, hold jointly with a probability of `CONFIDENCE`. For this, the permitted error probability is divided.
    Each forest gets an equal part. Check k = 1, 2, ... of a forest uses 1 / 2ᵏ of this part, and divides it equally
    among its looks.

    Parameters
    ----------
    reached : bool array of shape (n,)
        Whether each release reaches the value, in the order of simulation.
    share : float
        Required share, between 0 and 1.
    n_failed : int
        Number of earlier checks of the same forest.
    n_forests : int
        Number of forests that are checked.

    Returns
    -------
    Check
        Result at the look that has decided the check, or from the releases so far if it is undecided.

    Examples
    --------
    >>> check_share(np.ones(46, bool), 0.9)
    Check(reached=46, releases=46, at_least=0.9011..., is_sure=True, has_failed=False, until=46)
    >>> check_share(np.ones(45, bool), 0.9).is_sure, check_share(np.arange(30) % 2 == 0, 0.9).has_failed
    (False, True)
    """
    n_tried = len(LOOKS) * 2 ** (n_failed + 1) * n_forests
    looks = [times * releases_needed(share, n_tried) for times in LOOKS]
    at_least = 0.0
    for n in looks:
        if n > len(reached):
            failures = int((~reached).sum())
            has_failed = failures > _most_failures(share, looks[-1], n_tried)
            return Check(len(reached) - failures, len(reached), at_least, False, has_failed, n)
        at_least = share_at_least(int(reached[:n].sum()), n, n_tried=n_tried)
        if at_least >= share:
            return Check(int(reached[:n].sum()), n, at_least, True, False, n)
    return Check(int(reached[: looks[-1]].sum()), looks[-1], at_least, False, True, looks[-1])


@cache
def _most_failures(share: float, releases: int, n_tried: int) -> int:
    """Return how many releases may miss the value at the last look while this look still shows the share."""
    failures = 0
    while share_at_least(releases - failures - 1, releases, n_tried=n_tried) >= share:
        failures += 1
    return failures


@dataclass(frozen=True)
class Answer:
    """The smallest ε at which the required share of a forest's releases reaches a needed value.

    Attributes
    ----------
    forest : str
        Name of the forest.
    epsilon : float or None
        Smallest ε whose check has not failed; None if there is no such ε on the grid.
    value : float or None
        Mean of the measure at `epsilon` over the first releases; None without an ε.
    check : Check or None
        Check of `epsilon`; None without an ε.
    failed : tuple of (ε, Check)
        Failed checks of smaller ε.
    """

    forest: str
    epsilon: float | None
    value: float | None = None
    check: Check | None = None
    failed: tuple[tuple[float, Check], ...] = ()

    @property
    def is_sure(self) -> bool:
        """Whether the check of `epsilon` has succeeded."""
        return self.check is not None and self.check.is_sure

    @property
    def is_open(self) -> bool:
        """Whether the check of `epsilon` needs more releases."""
        return self.check is not None and not self.check.is_sure and not self.check.has_failed


def smallest_epsilon(
    forest: str,
    reach: Reach,
    needed: float,
    share: float,
    n: float | None,
    checked: Callable[[float], np.ndarray],
    n_forests: int = 1,
) -> Answer:
    """Return the first ε of `Reach.epsilons_to_check` whose check has not failed.

    The check has succeeded (`Answer.is_sure`), or it needs more releases (`Answer.is_open`).

    Parameters
    ----------
    forest : str
        Name of the forest.
    reach : Reach
        Values of the first releases.
    needed : float
        Value that is needed, above 0 and up to 1.
    share, n
        As for `Reach.of`.
    checked : callable
        Takes an ε of the grid, and returns the values of further releases at this ε, in the order of simulation: a
        float array, which may be empty. The releases of `reach` are not among them.
    n_forests : int
        As for `Reach.of`.

    Returns
    -------
    Answer
        Answer with this ε, or without an ε if there is none.

    Raises
    ------
    ValueError
        If `needed` or `share` is out of its range.

    Examples
    --------
    >>> reach = Reach.of(np.array([0.1, 1.0]), np.array([[0.7, 0.8], [0.7, 0.8]]), 0.9, None)
    >>> answer = smallest_epsilon("a", reach, 0.75, 0.9, None, lambda epsilon: np.full(60, 0.8))
    >>> answer.epsilon, answer.check.releases, answer.is_sure
    (1.0, 46, True)
    """
    if not 0 < needed <= 1:
        raise ValueError(f"needed={needed!r} is not a value above 0 and up to 1")
    if not 0 < share < 1:
        raise ValueError(f"share={share!r} is not a share between 0 and 1")
    failed: list[tuple[float, Check]] = []
    for epsilon in reach.epsilons_to_check(needed):
        values = checked(epsilon)
        counted = values - (0.0 if n is None else held_out_margin(values, n, n_forests))
        check = check_share(counted >= needed - _ROUNDING, share, len(failed), n_forests)
        if not check.has_failed:
            mean = float(reach.mean[int(np.flatnonzero(reach.epsilons == epsilon)[0])])
            return Answer(forest, epsilon, mean, check, tuple(failed))
        failed.append((epsilon, check))
    return Answer(forest, None, failed=tuple(failed))


def share_at_least(reached: int, releases: int, *, n_tried: int = 1) -> float:
    """Return a lower confidence bound on the share of releases that reach a value (Clopper and Pearson, 1934).

    Parameters
    ----------
    reached : int
        Number of simulated releases that reach the needed value.
    releases : int
        Number of simulated releases.
    n_tried : int
        Number of bounds that hold jointly with a probability of `CONFIDENCE` (Bonferroni).

    Returns
    -------
    float
        Lower bound, from 0 to 1.

    Examples
    --------
    >>> round(share_at_least(60, 60, n_tried=18), 3), share_at_least(0, 60)
    (0.907, 0.0)
    """
    return float(lower_limit(reached, releases, (1 - CONFIDENCE) / n_tried))


def releases_needed(share: float, n_tried: int) -> int:
    """Return the least number of simulated releases that can show that a share of all releases reaches a value.

    The number suffices only if every one of the simulated releases reaches the value.

    Parameters
    ----------
    share : float
        Share to show, between 0 and 1.
    n_tried : int
        As for `share_at_least`.

    Returns
    -------
    int
        Number of releases, at least 1.

    Examples
    --------
    >>> releases_needed(0.9, 18)
    56
    """
    return math.ceil(math.log((1 - CONFIDENCE) / n_tried) / math.log(share))


def least_n(measure: str, labels: np.ndarray) -> float:
    """Return the least effective number of rows that a measure has for any model; an argument of `held_out_margin`.

    The variance of an accuracy a on n rows is a (1 - a) / n. The variance of another measure with value v is at most
    v (1 - v) / n for a smaller number n, which this function returns:

    - Balanced accuracy of K classes: n = K min n_k, where n_k is the number of rows of class k.
    - AUC of two classes: n = min(n_0, n_1) (Z. W. Birnbaum and O. M. Klose, 1957).
    - AUC of K classes, which is the mean of the AUC of each class against all others: 1 / n is the mean of 1 / m_k,
      where m_k is the smaller of n_k and the number of all other rows.

    Parameters
    ----------
    measure : {"accuracy", "balanced_accuracy", "auc"}
        Name of the measure.
    labels : int array of shape (n,)
        Class indices of the held-out rows.

    Returns
    -------
    float
        Effective number of rows, at most the number of held-out rows.

    Examples
    --------
    >>> labels = np.repeat([0, 1], [90, 10])
    >>> [least_n(measure, labels) for measure in ("accuracy", "balanced_accuracy", "auc")]
    [100.0, 20.0, 10.0]
    """
    check_choice("measure", measure, ("accuracy", "balanced_accuracy", "auc"))
    rows = np.bincount(labels)
    rows = rows[rows > 0]
    if measure == "accuracy" or len(rows) < 2:
        return float(len(labels))
    if measure == "balanced_accuracy":
        return float(len(rows) * rows.min())
    return float(len(rows) / (1 / np.minimum(rows, len(labels) - rows)).sum())


def held_out_margin(
    values: Iterable[float] | np.ndarray | pd.Series,
    n: float | Iterable[float] | np.ndarray | pd.Series,
    n_forests: int = 1,
) -> np.ndarray:
    """Return the difference between a measured accuracy and its lower confidence bound (E. B. Wilson, 1927).

    Parameters
    ----------
    values : iterable of float
        Measured accuracies, or values of another measure, from 0 to 1.
    n : float, or iterable of float
        Number of held-out rows that each value is measured on; for measures other than accuracy, from `least_n`.
    n_forests : int
        Number of forests whose bounds hold jointly with a probability of `CONFIDENCE`.

    Returns
    -------
    float array
        One margin for each value.

    Examples
    --------
    >>> held_out_margin([0.8], 900).round(4).tolist()
    [0.0228]
    """
    a, n = np.asarray(values, float), np.asarray(n, float)
    z = stats.norm.ppf(1 - (1 - CONFIDENCE) / n_forests)
    center = (a + z**2 / (2 * n)) / (1 + z**2 / n)
    half = z / (1 + z**2 / n) * np.sqrt(a * (1 - a) / n + z**2 / (4 * n**2))
    return a - (center - half)
