"""Learning curves of simulated releases: accuracy by number of rows, and the rows that an accuracy needs at an ε.

Up to the size of the table, the module simulates releases from parts of the table. For more rows, it extrapolates by a
rule: r times the rows at ε give about the accuracy of the present rows at r ε. The reason is that with r times the
rows, every count is about r times as large, while the noise stays the same. With the present rows at r ε, the counts
stay the same, while the noise is r times smaller. The ratio of noise to count is equal in both cases.

The error of the rule can be measured within the table: the module compares all rows at ε with half of the rows at 2 ε.
The rule covers only the noise. A forest may also learn more from additional rows, which raises the accuracy further.

The simulation reads raw rows and draws its noise from known seeds. So its results are not private: they are for the
curator, who may see the rows, and never for publication.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final

import numpy as np
from sklearn.isotonic import isotonic_regression

from dpforest.models.base import ForestClassifier
from dpforest.simulation.pieces import ONE_CELL
from dpforest.simulation.splits import Split
from dpforest.simulation.sweep import one_repeat
from dpforest.tables.domain import Domain

SHARES: Final = (1 / 16, 1 / 8, 1 / 4, 1 / 2, 1.0)  # sizes of the parts, as shares of the training rows
MOST_TIMES: Final = 8.0  # largest extrapolation, as a multiple of the table's rows
FEWEST_ROWS: Final = 30  # parts of the table with fewer rows are left out
LARGEST_ERROR: Final = 0.04  # if half of the 80 % interval of an extrapolated accuracy is larger, no result is reported
_SWEEPS: Final = 5  # the mean is smoothed along rows and then along ε, this many times; a few times are enough
_Z: Final = 1.2816  # normal quantile of an 80 % interval


@dataclass(frozen=True, eq=False)
class Learning:
    """Held-out accuracy of simulated releases from parts of a table.

    Attributes
    ----------
    rows : int array of shape (S,)
        Number of training rows in each part, in rising order; the last part has all training rows.
    epsilons : float array of shape (E,)
        Simulated ε, in rising order.
    accuracy : float array of shape (R, S, E)
        Accuracy of each of R repeats, for each part and ε. Each repeat draws its parts at random, and each part
        contains the smaller parts. The repeat also draws new trees, a new assignment of rows to trees, and new noise.
    ceiling : float array of shape (R, S)
        Accuracy of the same trees without noise.
    """

    rows: np.ndarray
    epsilons: np.ndarray
    accuracy: np.ndarray
    ceiling: np.ndarray

    @classmethod
    def of(cls, split: Split, epsilons: Sequence[float], repeats: Sequence[Sequence[np.ndarray]]) -> "Learning":
        """Return the learning curves of several repeats. Each repeat has the results of one `accuracy_on_parts`."""
        values = np.array(repeats)
        return cls(part_sizes(split), np.array(epsilons), values[..., :-1], values[..., -1])

    @property
    def n_repeats(self) -> int:
        """Number of repeats."""
        return len(self.accuracy)

    @property
    def n_rows(self) -> int:
        """Number of all training rows of the table."""
        return int(self.rows[-1])

    @cached_property
    def mean(self) -> np.ndarray:
        """Mean accuracy over repeats, (S, E), smoothed so that it rises with ε and with rows."""
        mean = self.accuracy.mean(axis=0)
        for _ in range(_SWEEPS):
            mean = np.apply_along_axis(isotonic_regression, 0, mean)
            mean = np.apply_along_axis(isotonic_regression, 1, mean)
        return mean

    @cached_property
    def error(self) -> np.ndarray:
        """Standard error of the mean over repeats, (S, E). With only one repeat, 0.02 is assumed."""
        if self.n_repeats < 2:
            return np.full(self.accuracy.shape[1:], 0.02)
        return self.accuracy.std(axis=0, ddof=1) / np.sqrt(self.n_repeats)

    def by_rows(self, epsilon: float) -> np.ndarray:
        """Return the mean accuracy at an ε for every measured number of rows, (S,), interpolated over ε."""
        return self._interpolated(self.mean, epsilon)

    def error_by_rows(self, epsilon: float) -> np.ndarray:
        """Return the standard error of `by_rows`, (S,)."""
        return self._interpolated(self.error, epsilon)

    def check_simulated(self, epsilon: float) -> None:
        """Raise ValueError if an ε lies outside the range of the simulated ε, because its accuracy is unknown."""
        low, high = self.epsilons[0], self.epsilons[-1]
        if not low * (1 - 1e-9) <= epsilon <= high * (1 + 1e-9):
            raise ValueError(f"epsilon={epsilon!r} was not simulated; choose one from {low:g} to {high:g}")

    def _interpolated(self, values: np.ndarray, epsilon: float) -> np.ndarray:
        self.check_simulated(epsilon)
        grid = np.log(self.epsilons)
        return np.array([np.interp(np.log(epsilon), grid, values_of_part) for values_of_part in values])


def part_sizes(split: Split) -> np.ndarray:
    """Return the number of rows in each part of the training rows, in rising order: int array of shape (S,).

    The last part has all rows. Parts with fewer than `FEWEST_ROWS` rows are left out.
    """
    n = split.n_train
    return np.array(sorted({round(s * n) for s in SHARES if round(s * n) >= FEWEST_ROWS} | {n}))


def accuracy_on_parts(
    estimator: ForestClassifier, domain: Domain, split: Split, epsilons: Sequence[float], repeat: int, seed: int = 0
) -> Iterator[np.ndarray]:
    """Simulate releases from random parts of the training rows, and measure accuracy on the same held-out rows.

    Each part contains the smaller parts. Rules that choose the depth or the number of trees from the number of rows
    plan for a smaller table: the rows of the part plus a proportional number of held-out rows.

    Parameters
    ----------
    estimator : ForestClassifier
        Forest to simulate. Its ε and seeds are not used.
    domain : Domain
        Public schema with which the rows of `split` are encoded.
    split : Split
        Rows to fit on and held-out rows.
    epsilons : sequence of float
        Values of ε in rising order. To extrapolate beyond the table at an ε, include values up to `MOST_TIMES` times as
        large.
    repeat : int
        Number of the repeat, from 0.
    seed : int
        Seed of the first repeat.

    Yields
    ------
    float array of shape (E + 1,)
        One array for each of `part_sizes`: the accuracy at every ε, and last the accuracy without noise.

    Examples
    --------
    >>> from dpforest import MajorityLabelForestClassifier, load_dataset
    >>> from dpforest.simulation.splits import split_table
    >>> data = load_dataset("nursery")
    >>> split, forest = split_table(data.domain, data.X, data.y), MajorityLabelForestClassifier(n_estimators=10)
    >>> repeats = [list(accuracy_on_parts(forest, data.domain, split, [0.1, 1], repeat)) for repeat in range(2)]
    >>> learned = Learning.of(split, [0.1, 1], repeats)
    >>> learned.rows.tolist(), bool(learned.mean[0, 0] < learned.mean[-1, 1])
    ([567, 1134, 2268, 4536, 9072], True)
    """
    order = np.random.default_rng((seed, repeat)).permutation(split.n_train)
    for size in part_sizes(split):
        part = np.sort(order[:size])
        part_split = split.part(part)
        grid = [*epsilons, np.inf]
        n_rows = round(size * (1 + len(split.y_test) / split.n_train))
        rows = one_repeat(estimator, domain, part_split, grid, ONE_CELL, seed + repeat, n_rows)
        accuracy = {row["epsilon"]: row["accuracy"] for row in rows}
        yield np.array([accuracy[epsilon] for epsilon in grid])


@dataclass(frozen=True)
class Beyond:
    """Extrapolated accuracy at one ε with more rows than the table has.

    Attributes
    ----------
    rows, accuracy : float arrays of shape (P,)
        Numbers of rows, and the accuracy at each number. The numbers begin with all training rows of the table and end
        with `MOST_TIMES` times as many, or earlier where the extrapolation would need a larger ε than was simulated.
    error : float array of shape (P,)
        Half of an 80 % interval. It combines the standard error over repeats with the error of the rule for each
        doubling of rows (`rule_error`).
    """

    rows: np.ndarray
    accuracy: np.ndarray
    error: np.ndarray


def beyond(learning: Learning, epsilon: float, *, points: int = 61) -> Beyond:
    """Extrapolate to more rows: with r times the rows at ε, accuracy is about that of the present rows at r ε.

    The result has `points` numbers of rows, evenly spaced on a log scale.
    """
    learning.check_simulated(epsilon)
    most = min(MOST_TIMES, learning.epsilons[-1] / epsilon)
    times = np.geomspace(1, max(most, 1), points if most > 1 else 1)
    grid = np.log(learning.epsilons)
    log_epsilons = np.log(times * epsilon)
    standard_error = np.interp(log_epsilons, grid, learning.error[-1])
    doubling = rule_error(learning, epsilon)
    rule_errors = np.array([doubling * np.log2(t) if t > 1 else 0.0 for t in times])
    return Beyond(
        times * learning.n_rows,
        np.interp(log_epsilons, grid, learning.mean[-1]),
        np.hypot(_Z * standard_error, rule_errors),
    )


def rule_error(learning: Learning, epsilon: float) -> float:
    """Return the error of the extrapolation for each doubling of rows; ∞ if it cannot be measured.

    By the rule, all rows at an ε have the same accuracy as half the rows at twice this ε. The function computes the
    difference of the two accuracies at every simulated ε from `epsilon` to `MOST_TIMES` times `epsilon`, and returns
    the root mean square. The differences also contain the chance error of both accuracies, so the result tends to be
    too large.
    """
    if len(learning.rows) < 2:
        return np.inf
    grid, half = np.log(learning.epsilons), int(np.argmin(np.abs(learning.rows - learning.n_rows / 2)))
    times = learning.n_rows / learning.rows[half]
    inside = (learning.epsilons >= epsilon * (1 - 1e-9)) & (learning.epsilons * times <= learning.epsilons[-1] * 1.001)
    inside &= learning.epsilons <= epsilon * MOST_TIMES
    if not inside.any():
        return np.inf
    expected = np.interp(grid[inside] + np.log(times), grid, learning.mean[half])
    return float(np.sqrt(np.mean((learning.mean[-1][inside] - expected) ** 2)) / np.log2(times))


@dataclass(frozen=True)
class Needed:
    """Estimate of the number of training rows with which a forest reaches an accuracy at an ε.

    Attributes
    ----------
    how : {"observed", "extrapolated", "beyond", "above", "unclear"}
        "observed": the table has enough training rows. "extrapolated": more rows are needed, at most `MOST_TIMES` times
        the table's training rows. "beyond": more than `MOST_TIMES` times these rows are needed. "above": even without
        noise, the forest does not reach the accuracy; whether more training rows would help cannot be estimated.
        "unclear": the estimate is too uncertain, or it needs a larger ε than was simulated.
    rows : float or None
        Number of training rows; None if `how` is "beyond", "above" or "unclear".
    low, high : float or None
        Ends of an 80 % interval of `rows` if `how` is "extrapolated", otherwise None. An end is also None if it lies
        beyond the extrapolation.
    times : float or None
        `rows` as a multiple of the table's training rows.
    at_most : bool
        Whether the smallest measured number of rows already reaches the accuracy. If so, fewer rows may suffice.
    """

    how: str
    rows: float | None = None
    low: float | None = None
    high: float | None = None
    times: float | None = None
    at_most: bool = False


def rows_needed(learning: Learning, epsilon: float, accuracy: float) -> Needed:
    """Estimate how many training rows reach an accuracy at an ε.

    Parameters
    ----------
    learning : Learning
        Accuracy of simulated releases from parts of the table.
    epsilon : float
        ε within the range of the simulated ε.
    accuracy : float
        Accuracy to reach, in (0, 1].

    Raises
    ------
    ValueError
        If the ε lies outside the range of the simulated ε.
    """
    n = learning.n_rows
    reached = _rows_reaching(learning.rows, learning.by_rows(epsilon), accuracy)
    if reached is not None:
        return Needed("observed", reached, times=reached / n, at_most=bool(reached <= learning.rows[0]))
    extrapolated = beyond(learning, epsilon)
    reached = _rows_reaching(extrapolated.rows, extrapolated.accuracy, accuracy)
    if reached is None:
        ceiling = max(float(learning.ceiling.mean(axis=0)[-1]), float(learning.mean[-1].max()))
        if accuracy > ceiling + 0.005:
            return Needed("above")
        return Needed("beyond" if extrapolated.rows[-1] > 0.99 * MOST_TIMES * n else "unclear")
    if np.interp(reached, extrapolated.rows, extrapolated.error) > LARGEST_ERROR:
        return Needed("unclear")
    low = _rows_reaching(extrapolated.rows, extrapolated.accuracy + extrapolated.error, accuracy)
    high = _rows_reaching(
        extrapolated.rows, np.maximum.accumulate(extrapolated.accuracy - extrapolated.error), accuracy
    )
    return Needed("extrapolated", reached, low, high, reached / n)


def _rows_reaching(rows: np.ndarray, accuracy: np.ndarray, accuracy_goal: float) -> float | None:
    """Return the number of rows at which a rising curve reaches an accuracy, or None if it never does.

    Between two points of the curve, the number is interpolated on a log scale.
    """
    above = np.flatnonzero(accuracy >= accuracy_goal - 1e-12)
    if not len(above):
        return None
    i = int(above[0])
    if i == 0:
        return float(rows[0])
    part = (accuracy_goal - accuracy[i - 1]) / (accuracy[i] - accuracy[i - 1])
    return float(np.exp(np.interp(part, [0, 1], np.log(rows[i - 1 : i + 1]))))
