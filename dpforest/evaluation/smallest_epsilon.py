"""The smallest ε that reaches a needed value of a measure, and the confidence in it.

There are two sources of uncertainty. First, a release draws its noise once, so only a share of all releases at an ε
reaches the value. Second, the held-out rows are a sample, so a margin is subtracted from every measured value.

The first `N_FIRST` simulated releases of a forest determine which ε is checked first: an ε at which nearly every
release should reach the value. Further releases, which had no part in this choice, then check that the required share
of releases reaches the value. More releases settle an open check; a settled check does not change. If a check fails,
the next larger ε is checked.
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
LOOKS: Final = (1, 2, 4)  # a check looks after m, 2 m and 4 m releases, where m is `releases_needed`
_ROOM: Final = 10  # at the first ε, the predicted share of misses is the permitted share divided by this number
_ROUNDING: Final = 1e-9  # error of a mean in floats
_NEAR: Final = 2  # the spread at an ε is pooled over this many neighbors on each side


@dataclass(frozen=True, eq=False)
class Reach:
    """Values of one measure that the releases of a forest reach at each ε, from its first simulated releases.

    Attributes
    ----------
    epsilons : float array of shape (E,)
        Simulated ε, in rising order.
    mean : float array of shape (E,)
        Mean over the releases.
    nearly_all : float array of shape (E,)
        Value that nearly all releases reach: the mean minus a multiple of the standard deviation.
    counted : float array of shape (E,)
        `nearly_all` minus the margin for the held-out rows.
    at_best : float
        Estimate of the value that the required share of releases reaches at the largest ε, minus the margin.
    """

    epsilons: np.ndarray
    mean: np.ndarray
    nearly_all: np.ndarray
    counted: np.ndarray
    at_best: float

    @classmethod
    def of(cls, epsilons: np.ndarray, values: np.ndarray, share: float, n: float | None, n_forests: int = 1) -> "Reach":
        """Return the `Reach` of these simulated releases.

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
            Number of forests from which the best is taken, on the same held-out rows.

        Examples
        --------
        >>> reach = Reach.of(np.array([0.1, 1.0]), np.array([[0.7, 0.8], [0.72, 0.82]]), 0.9, 1000)
        >>> reach.mean.round(3).tolist(), reach.nearly_all.round(3).tolist(), reach.counted.round(3).tolist()
        ([0.71, 0.81], [0.677, 0.777], [0.652, 0.755])
        """
        mean, spread = values.mean(axis=0), _pooled_spread(values)
        nearly_all, enough = (
            np.clip(mean - stats.norm.ppf(level) * spread, 0.0, 1.0) for level in (1 - (1 - share) / _ROOM, share)
        )
        counted, perhaps = (
            reached - (0.0 if n is None else held_out_margin(reached, n, n_forests)) for reached in (nearly_all, enough)
        )
        return cls(epsilons, mean, nearly_all, counted, float(perhaps[-1]))

    def from_on(self, needed: float) -> list[float]:
        """Return the ε to check, in rising order.

        The first of them is the smallest ε at which `counted` is at least the needed value, both at this ε and at the
        next larger ε. All larger ε follow. If there is no such ε, the list has only the largest ε, or is empty if
        `at_best` is below the needed value.

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
        return self.epsilons[-1:].tolist() if self.at_best >= needed - _ROUNDING else []


def _pooled_spread(values: np.ndarray) -> np.ndarray:
    """Return the standard deviation over releases at each ε, pooled with that at neighboring ε: float (E,).

    With one release, the function estimates the standard deviation σ from second differences along the grid. If values
    at different ε are independent, the expected square of a difference is 6 σ² where the mean is linear in the position
    on the grid, and larger where it is curved. With one release and fewer than three ε, the result is 0.
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

    Attributes
    ----------
    reached, releases : int
        Number of releases that reach the value, and number of releases.
    at_least : float
        Lower confidence bound, at the last completed look, on the share of all releases that reach the value, on the
        same held-out rows; 0 before the first look.
    is_sure, has_failed : bool
        Whether the check has shown the required share (`at_least` is at least this share), and whether it has failed to
        show the share. If both are False, more releases are needed.
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
    """Check by simulated releases, at a few fixed numbers of releases, that a share of all releases reaches a value.

    The bounds at all looks, in all successive checks of a forest, and for all forests hold jointly with a confidence of
    `CONFIDENCE`: each forest has an equal part of the error, check k of a forest uses 1 / 2ᵏ of this part, and its
    looks use equal parts of that.

    Parameters
    ----------
    reached : bool array of shape (n,)
        Whether each release reaches the value, in the order of simulation.
    share : float
        Required share, between 0 and 1.
    n_failed : int
        Number of earlier checks of the same forest.
    n_forests : int
        Number of forests.

    Returns
    -------
    Check
        Result at the look that has decided the check, or from the releases so far.

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
    """Return the largest number of releases that may miss the value, so that the last look still shows the share."""
    failures = 0
    while share_at_least(releases - failures - 1, releases, n_tried=n_tried) >= share:
        failures += 1
    return failures


@dataclass(frozen=True)
class Answer:
    """The smallest ε at which one forest reaches a needed value.

    Attributes
    ----------
    forest : str
        Name of the forest.
    epsilon : float or None
        Smallest ε; None if no ε of the grid reaches the value.
    value : float or None
        Mean of the measure at this ε over the first releases; None without an ε.
    check : Check or None
        Check of this ε; None without an ε.
    failed : tuple of (ε, Check)
        Checks of smaller ε that failed.
    """

    forest: str
    epsilon: float | None
    value: float | None = None
    check: Check | None = None
    failed: tuple[tuple[float, Check], ...] = ()

    @property
    def is_sure(self) -> bool:
        """Return whether the check of this ε has succeeded."""
        return self.check is not None and self.check.is_sure

    @property
    def is_open(self) -> bool:
        """Return whether the check of this ε needs more releases."""
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
    """Return the first ε of `Reach.from_on` whose check has not failed. This check may still be open.

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
    for epsilon in reach.from_on(needed):
        values = checked(epsilon)
        counted = values - (0.0 if n is None else held_out_margin(values, n, n_forests))
        check = check_share(counted >= needed - _ROUNDING, share, len(failed), n_forests)
        if not check.has_failed:
            mean = float(reach.mean[int(np.flatnonzero(reach.epsilons == epsilon)[0])])
            return Answer(forest, epsilon, mean, check, tuple(failed))
        failed.append((epsilon, check))
    return Answer(forest, None, failed=tuple(failed))


def share_at_least(reached: int, releases: int, *, n_tried: int = 1) -> float:
    """Return a lower confidence bound on a share (Clopper and Pearson, 1934), corrected for several shares.

    Parameters
    ----------
    reached : int
        Number of simulated releases that reach the needed value.
    releases : int
        Number of simulated releases.
    n_tried : int
        Number of shares; all their bounds hold together with `CONFIDENCE` (Bonferroni).

    Returns
    -------
    float
        From 0 to 1.

    Examples
    --------
    >>> round(share_at_least(60, 60, n_tried=18), 3), share_at_least(0, 60)
    (0.907, 0.0)
    """
    return float(lower_limit(reached, releases, (1 - CONFIDENCE) / n_tried))


def releases_needed(share: float, n_tried: int) -> int:
    """Return the least number of simulated releases that can show that a share of all releases reaches a value.

    This number suffices only if each of these simulated releases reaches the value.

    Parameters
    ----------
    share : float
        Share of all releases, between 0 and 1.
    n_tried : int
        As for `share_at_least`.

    Returns
    -------
    int
        At least 1.

    Examples
    --------
    >>> releases_needed(0.9, 18)
    56
    """
    return math.ceil(math.log((1 - CONFIDENCE) / n_tried) / math.log(share))


def least_n(measure: str, labels: np.ndarray) -> float:
    """Return a number of rows on which accuracy is at most as precise as this measure is on these held-out rows.

    The variance of an accuracy a on n rows is a (1 - a) / n. The variance of a balanced accuracy b over K classes is at
    most b (1 - b) / (K min n_k). The variance of an AUC of A between n_0 and n_1 rows is at most
    A (1 - A) / m with m = min(n_0, n_1) (Z. W. Birnbaum and O. M. Klose, 1957), whatever the model. The AUC of K
    classes is the mean of K such values, whose variance is at most A (1 - A) times the mean of 1 / m.

    Parameters
    ----------
    measure : {"accuracy", "balanced_accuracy", "auc"}
        Name of the measure.
    labels : int array of shape (n,)
        Class indices of the held-out rows.

    Returns
    -------
    float
        At most the number of rows.

    Examples
    --------
    >>> some = np.repeat([0, 1], [90, 10])
    >>> [least_n(measure, some) for measure in ("accuracy", "balanced_accuracy", "auc")]
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
    """Return the margin from a measured accuracy to its lower confidence bound (E. B. Wilson, 1927).

    Parameters
    ----------
    values : iterable of float
        Measured accuracies, or values of another measure, from 0 to 1.
    n : float, or iterable of float
        Number of held-out rows that each value is measured on; for other measures than accuracy, `least_n`.
    n_forests : int
        Number of forests whose bounds hold together with `CONFIDENCE`.

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
