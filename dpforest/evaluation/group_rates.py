"""Accuracy and error rates by group of the held-out rows, with the names of fairlearn's metrics.

All intervals of a table hold at once: the error probability of each interval is ``alpha`` divided by the number of
groups (Bonferroni). Rates are computed from raw rows, so only the curator (the data holder) may see them.

References: S. Bird et al., "Fairlearn: a toolkit for assessing and improving fairness in AI" (2020). E. L. Korn and
B. I. Graubard, "Confidence intervals for proportions with small expected number of positive counts estimated from
survey data", Survey Methodology 24 (1998), for Clopper and Pearson's interval at the effective number of rows.
"""

import math
from collections.abc import Sequence
from typing import Final, NamedTuple

import numpy as np
import pandas as pd
from scipy import stats

from dpforest.confidence import lower_limit, upper_limit
from dpforest.evaluation.groups import MIN_PERSONS, Groups, person_groups
from dpforest.tables.features import text

MIN_RELEASES: Final = 5  # with fewer simulated releases, their spread is too uncertain for an interval


class Rate(NamedTuple):
    """A rate to measure: the mean of a value, 0 or 1, over some of the held-out rows.

    Attributes
    ----------
    rows : bool array of shape (n_test,)
        Whether the mean includes each row.
    counts_misclassified : bool array of shape (n_test,)
        How the value of each row is computed. False: 1 if the row is correctly classified, else 0. True: 1 if it is
        misclassified, else 0.
    """

    rows: np.ndarray
    counts_misclassified: np.ndarray


def rates(y: np.ndarray, classes: Sequence[object], positive: int) -> dict[str, Rate]:
    """Return the rates that can be measured in each group, by name.

    Parameters
    ----------
    y : int array of shape (n_test,)
        Class indices of the held-out rows.
    classes : sequence
        Names of all classes.
    positive : int
        Index of the positive class. It has no effect if there are more than two classes.

    Returns
    -------
    dict of str to Rate
        First "accuracy". With two classes, "false_positive_rate", "false_negative_rate" and "selection_rate" follow.
        With more classes, "error of NAME" follows for each class: the share of its rows that are misclassified.

    Examples
    --------
    >>> list(rates(np.array([0, 1]), ["no", "yes"], 1))
    ['accuracy', 'false_positive_rate', 'false_negative_rate', 'selection_rate']
    """
    all_rows, is_positive = np.ones(len(y), bool), y == positive
    accuracy = {"accuracy": Rate(all_rows, ~all_rows)}
    if len(classes) > 2:
        return accuracy | {f"error of {text(name)}": Rate(y == k, all_rows) for k, name in enumerate(classes)}
    return accuracy | {
        "false_positive_rate": Rate(~is_positive, all_rows),
        "false_negative_rate": Rate(is_positive, all_rows),
        "selection_rate": Rate(all_rows, ~is_positive),
    }


def by_group(right: np.ndarray, rate: Rate, groups: Groups, *, alpha: float = 0.05) -> pd.DataFrame:
    """Return a rate in each group, with a confidence interval for its mean over all possible releases and persons.

    The interval is wide enough for two kinds of chance: which persons are held out, and which noise a release draws.

    Parameters
    ----------
    right : bool array of shape (n_releases, n_test)
        Whether each simulated release classifies each held-out row correctly.
    rate : Rate
        The rate to measure, from `rates`.
    groups : Groups
        Group and person of each held-out row.
    alpha : float
        Largest probability that any of the intervals misses its mean.

    Returns
    -------
    DataFrame
        One row for each group, with the columns ``group``, ``persons`` and ``rows`` (how many persons and rows the mean
        includes), ``rate``, and the ends ``low`` and ``high`` of the interval. Rate and interval are NaN if the mean
        includes no row. The interval is also NaN if there are fewer than `MIN_RELEASES` releases.

    Examples
    --------
    >>> groups = Groups(("f", "m"), np.array([0, 0, 1, 1]), np.arange(4))
    >>> right = np.array([[1, 1, 1, 0], [1, 1, 0, 0]], bool)
    >>> by_group(right, rates(np.array([0, 1, 0, 1]), [0, 1], 1)["accuracy"], groups).rate.tolist()
    [1.0, 0.25]
    """
    mean = _mean(right[:, rate.rows] != rate.counts_misclassified[rate.rows], rate.rows, groups)
    alpha_of_group = alpha / len(groups.names)
    error_of_releases = mean.release_error * _t(alpha_of_group, mean.n_releases) / stats.norm.isf(alpha_of_group / 2)
    with np.errstate(invalid="ignore", divide="ignore"):
        effective = mean.value * (1 - mean.value) / (mean.person_error**2 + error_of_releases**2)
    effective = np.fmin(effective, mean.n_persons)
    is_known = (mean.n_persons > 0) & (mean.n_releases >= MIN_RELEASES)
    low, high = (
        np.where(is_known, limit(mean.value * effective, effective, alpha_of_group / 2), np.nan)
        for limit in (lower_limit, upper_limit)
    )
    names = {"group": groups.names, "persons": mean.n_persons, "rows": mean.n_rows}
    return pd.DataFrame({**names, "rate": mean.value, "low": low, "high": high})


def difference(table: pd.DataFrame) -> tuple[float, float, float]:
    """Return the difference between the largest and the smallest rate of all groups, and an interval for it.

    Groups whose rate is a mean over fewer than `MIN_PERSONS` persons are ignored.

    Parameters
    ----------
    table : DataFrame
        Result of `by_group`.

    Returns
    -------
    (float, float, float)
        Difference, lower end and upper end of its interval; NaN if fewer than two groups are left.
    """
    large = table[table["persons"] >= MIN_PERSONS]
    if len(large) < 2:
        return math.nan, math.nan, math.nan
    rate, low, high = large["rate"], large["low"], large["high"]
    return rate.max() - rate.min(), max(low.max() - high.min(), 0.0), high.max() - low.min()


def losses(before: np.ndarray, after: np.ndarray, groups: Groups, *, alpha: float = 0.05) -> pd.DataFrame:
    """Return how much accuracy each group loses if one setting of the releases changes, such as ε.

    Parameters
    ----------
    before, after : bool arrays of shape (n_releases, n_test)
        Whether each simulated release classifies each held-out row correctly, before and after the change. Row r of
        both arrays is simulated with the same seeds.
    groups : Groups
        Group and person of each held-out row.
    alpha : float
        Largest probability that any of the intervals misses its mean.

    Returns
    -------
    DataFrame
        One row for each group: ``group``, ``persons``, ``loss`` (accuracy before minus accuracy after), ``low`` and
        ``high`` (ends of the interval). The interval is NaN if there are fewer than `MIN_RELEASES` releases.

    Examples
    --------
    >>> groups = Groups(("f", "m"), np.array([0, 0, 1, 1]), np.arange(4))
    >>> before, after = np.array([[1, 1, 1, 0]], bool), np.array([[1, 0, 1, 1]], bool)
    >>> losses(before, after, groups).loss.tolist()
    [0.5, -0.5]
    """
    mean = _mean(before.astype(np.int8) - after.astype(np.int8), np.ones(before.shape[1], bool), groups)
    alpha_of_group = alpha / len(groups.names)
    half_width = np.hypot(
        _t(alpha_of_group, mean.n_persons) * mean.person_error, _t(alpha_of_group, mean.n_releases) * mean.release_error
    )
    half_width = np.where(mean.n_releases >= MIN_RELEASES, half_width, np.nan)
    names = {"group": groups.names, "persons": groups.n_persons}
    return pd.DataFrame({**names, "loss": mean.value, "low": mean.value - half_width, "high": mean.value + half_width})


def loses_most(table: pd.DataFrame) -> pd.Series | None:
    """Return the row of the group that loses most accuracy, or None unless the interval of its loss is above 0.

    Groups of fewer than `MIN_PERSONS` persons are ignored.

    Parameters
    ----------
    table : DataFrame
        Result of `losses`.

    Returns
    -------
    Series or None
        Row of `table` with the largest loss.
    """
    large = table[table["persons"] >= MIN_PERSONS]
    if large.empty:
        return None
    most = large.loc[large["loss"].idxmax()]
    return most if most["low"] > 0 else None


def of_releases(bits: Sequence[bytes], rate: Rate, groups: Groups) -> np.ndarray:
    """Return a rate in each group for each of many simulated releases.

    Parameters
    ----------
    bits : sequence of bytes
        For each release, one bit for each held-out row: 1 if the release classifies the row correctly
        (`dpforest.simulation.pieces.packed`).
    rate : Rate
        The rate to measure, from `rates`.
    groups : Groups
        Group and person of each held-out row.

    Returns
    -------
    float array of shape (n_releases, n_groups)
        Rate of each release in each group; NaN if the group has none of the rows that `rate` includes.
    """
    is_counted = np.frombuffer(b"".join(bits), np.uint8).reshape(
        len(bits), -(-len(rate.counts_misclassified) // 8)
    ) ^ np.packbits(rate.counts_misclassified)
    shares = np.empty((len(bits), len(groups.names)))
    for group in range(len(groups.names)):
        counts = (groups.index == group) & rate.rows
        hits = np.bitwise_count(is_counted & np.packbits(counts)).sum(axis=1)
        shares[:, group] = hits / counts.sum() if counts.any() else np.nan
    return shares


def worst_accuracy(bits: Sequence[bytes], groups: Groups) -> np.ndarray:
    """Return the accuracy of each simulated release in the group where it is lowest, float array (n_releases,).

    Groups of fewer than `MIN_PERSONS` persons are ignored. If no group is left, the accuracy is NaN.
    """
    all_rows = np.ones(len(groups.index), bool)
    accuracy = of_releases(bits, Rate(all_rows, ~all_rows), groups)[:, groups.are_large]
    return accuracy.min(axis=1) if accuracy.size else np.full(len(bits), np.nan)


class _Mean(NamedTuple):
    """Means by group, and their standard errors from the choice of persons and from the spread of releases."""

    value: np.ndarray
    person_error: np.ndarray
    release_error: np.ndarray
    n_rows: np.ndarray
    n_persons: np.ndarray
    n_releases: int


def _mean(values: np.ndarray, rows: np.ndarray, groups: Groups) -> _Mean:
    """Return the mean of `values` in each group, with standard errors.

    `values` has the shape (n_releases, number of True entries of `rows`). Rows of one person are not independent, so
    the standard error is computed from one sum for each person.
    """
    size, index = len(groups.names), groups.index[rows]
    n_rows = np.bincount(index, minlength=size)
    n_releases, row_means = len(values), values.mean(axis=0)
    with np.errstate(invalid="ignore"):
        value = np.bincount(index, row_means, size) / n_rows
        by_release = np.array([np.bincount(index, row_values, size) for row_values in values]) / n_rows
    group_of_pair, pair_of_row = person_groups(index, groups.persons[rows])
    n_persons = np.bincount(group_of_pair, minlength=size)
    residuals = np.bincount(pair_of_row, row_means - value[index], len(group_of_pair))
    squares = np.bincount(group_of_pair, residuals**2, size)
    with np.errstate(invalid="ignore", divide="ignore"):
        person_error = np.sqrt(squares * n_persons / (n_persons - 1)) / n_rows
        spread = by_release.std(axis=0, ddof=1) if n_releases > 1 else np.full(size, np.nan)
    return _Mean(value, person_error, spread / math.sqrt(n_releases), n_rows, n_persons, n_releases)


def _t(alpha: float, n: int | np.ndarray) -> np.ndarray:
    """Return the quantile of Student's t for a mean of n values and a two-sided error probability alpha."""
    return stats.t.isf(alpha / 2, np.maximum(np.asarray(n) - 1, 1))
