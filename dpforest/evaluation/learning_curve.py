"""Learning curves of simulated releases: accuracy against rows at several ε, and how many rows a smaller ε would take.

What lies beyond the table follows from what noise does: with r times the rows every count is about r times as large, so
at the r-th part of ε the noise hides as much of it as before. More rows at ε are thus much like the present rows at a
larger ε, which can be simulated; and how far that is true is measured where both are known, from half the rows to all.
Noise alone grows weaker so, what rows add to a forest's knowledge comes on top.

Everything here is simulated from seeds and computed from raw rows. It is for looking at, never for publishing.
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

SHARES: Final = (1 / 16, 1 / 8, 1 / 4, 1 / 2, 1.0)
MOST_TIMES: Final = 8.0  # the table's rows: further nothing is claimed
FEWEST_ROWS: Final = 30  # of a part
TOO_FAR_OFF: Final = 0.04  # an extrapolation that may be off by more than these points is not given
_SWEEPS: Final = 5  # of smoothing in either direction by turns, which settles fast
_Z: Final = 1.2816  # of an interval of 80 %


@dataclass(frozen=True, eq=False)
class Learning:
    """Held-out accuracy of simulated releases from parts of a table.

    Attributes
    ----------
    rows : int array of shape (S,)
        Rows fitted on, rising; the last is all of them.
    epsilons : float array of shape (E,)
        Rising.
    accuracy : float array of shape (R, S, E)
        For each repeat, which redraws the parts, structure, assignment and noise; its parts are nested.
    ceiling : float array of shape (R, S)
        The same trees without noise.
    """

    rows: np.ndarray
    epsilons: np.ndarray
    accuracy: np.ndarray
    ceiling: np.ndarray

    @classmethod
    def of(cls, split: Split, epsilons: Sequence[float], repeats: Sequence[Sequence[np.ndarray]]) -> "Learning":
        """What `accuracy_on_parts` gave, repeat by repeat."""
        values = np.array(repeats)
        return cls(part_sizes(split), np.array(epsilons), values[..., :-1], values[..., -1])

    @property
    def n_repeats(self) -> int:
        return len(self.accuracy)

    @property
    def n_rows(self) -> int:
        """Of the table."""
        return int(self.rows[-1])

    @cached_property
    def mean(self) -> np.ndarray:
        """Over repeats, (S, E); made to rise with ε and with rows, as it would over many more of them."""
        mean = self.accuracy.mean(axis=0)
        for _ in range(_SWEEPS):
            mean = np.apply_along_axis(isotonic_regression, 0, mean)
            mean = np.apply_along_axis(isotonic_regression, 1, mean)
        return mean

    @cached_property
    def error(self) -> np.ndarray:
        """Standard error of the mean, (S, E); 2 points where there is one repeat only."""
        if self.n_repeats < 2:
            return np.full(self.accuracy.shape[1:], 0.02)
        return self.accuracy.std(axis=0, ddof=1) / np.sqrt(self.n_repeats)

    def by_rows(self, epsilon: float) -> np.ndarray:
        """Mean accuracy at every measured number of rows, (S,)."""
        return self._at(self.mean, epsilon)

    def error_by_rows(self, epsilon: float) -> np.ndarray:
        """Its standard error, (S,)."""
        return self._at(self.error, epsilon)

    def _at(self, values: np.ndarray, epsilon: float) -> np.ndarray:
        grid = np.log(self.epsilons)
        return np.array([np.interp(np.log(epsilon), grid, of_size) for of_size in values])


def part_sizes(split: Split) -> np.ndarray:
    """Rows in each part of the rows to learn from: int array of shape (S,), rising, the last is all of them."""
    n = len(split.y_train)
    return np.array(sorted({round(s * n) for s in SHARES if round(s * n) >= FEWEST_ROWS} | {n}))


def accuracy_on_parts(
    estimator: ForestClassifier, domain: Domain, split: Split, epsilons: Sequence[float], repeat: int, seed: int = 0
) -> Iterator[np.ndarray]:
    """Simulate releases from nested random parts of the rows to learn from; the rows held out stay the same.

    Rules plan each forest for the table that the part and its share of the rows held out would make, as in a release.

    Parameters
    ----------
    estimator : ForestClassifier
        Its epsilon and seeds are not used.
    epsilons : sequence of float
        Rising. To look beyond the table at an ε, give those up to `MOST_TIMES` as large as well.
    repeat : int
        Counted from 0.
    seed : int
        Of the first repeat.

    Yields
    ------
    float array of shape (E + 1,)
        For each of `part_sizes`: accuracy at every ε, and without noise.

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
    order = np.random.default_rng((seed, repeat)).permutation(len(split.y_train))
    for size in part_sizes(split):
        part = np.sort(order[:size])
        kept = Split(split.X_train[part], split.y_train[part], split.X_test, split.y_test)
        grid = [*epsilons, np.inf]
        n_rows = round(size * (1 + len(split.y_test) / len(split.y_train)))
        rows = one_repeat(estimator, domain, kept, grid, ONE_CELL, seed + repeat, n_rows)
        accuracy = {row["epsilon"]: row["accuracy"] for row in rows}
        yield np.array([accuracy[epsilon] for epsilon in grid])


@dataclass(frozen=True)
class Beyond:
    """What more rows than there are would give at one ε.

    Attributes
    ----------
    rows, accuracy : float arrays of shape (P,)
        From all rows of the table up to `MOST_TIMES` as many, as far as larger ε were simulated.
    error : float array of shape (P,)
        Half of an interval of 80 %: chance of the releases, and what a doubling was found to be off by.
    """

    rows: np.ndarray
    accuracy: np.ndarray
    error: np.ndarray


def beyond(learning: Learning, epsilon: float, *, points: int = 61) -> Beyond:
    """Accuracy at more rows than there are: that of all rows at as much larger an ε."""
    most = min(MOST_TIMES, learning.epsilons[-1] / epsilon)
    times = np.geomspace(1, max(most, 1), points if most > 1 else 1)
    grid = np.log(learning.epsilons)
    at = np.log(times * epsilon)
    chance = np.interp(at, grid, learning.error[-1])
    doubling = off_by(learning, epsilon)
    off = np.array([doubling * np.log2(t) if t > 1 else 0.0 for t in times])
    return Beyond(times * learning.n_rows, np.interp(at, grid, learning.mean[-1]), np.hypot(_Z * chance, off))


def off_by(learning: Learning, epsilon: float) -> float:
    """How far accuracy at all rows is from that of half of them at twice the ε: root of the mean square.

    Over this ε and larger ones that are less than `MOST_TIMES` as large; what chance may have done is left in.
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
    """Rows to learn from that reach an accuracy at an ε.

    Attributes
    ----------
    how : {"observed", "extrapolated", "beyond", "above", "unclear"}
        Observed: between the numbers of rows measured. Extrapolated: by larger ε, up to `MOST_TIMES` the table.
        Beyond: more than that. Above: the forest does not get there without noise either, so that only what more rows
        teach it could help, which nobody can tell. Unclear: the estimate is too uncertain.
    rows : float or None
        None where no number can be given.
    low, high : float or None
        Interval of 80 %, for "extrapolated"; high is None where it is beyond `MOST_TIMES`.
    times : float or None
        `rows` as a multiple of the table's.
    at_most : bool
        Reached already at the fewest rows measured.
    """

    how: str
    rows: float | None = None
    low: float | None = None
    high: float | None = None
    times: float | None = None
    at_most: bool = False


def rows_needed(learning: Learning, epsilon: float, accuracy: float) -> Needed:
    """How many rows reach an accuracy at an ε, as far as that can be estimated.

    Parameters
    ----------
    learning : Learning
    epsilon : float
        Within those simulated.
    accuracy : float
        In (0, 1].

    Raises
    ------
    ValueError
        If the ε lies outside those simulated.
    """
    if not learning.epsilons[0] * (1 - 1e-9) <= epsilon <= learning.epsilons[-1] * (1 + 1e-9):
        raise ValueError(
            f"epsilon={epsilon!r} is not among those simulated, {learning.epsilons[0]:g} to {learning.epsilons[-1]:g}"
        )
    n = learning.n_rows
    reached = _first(learning.rows, learning.by_rows(epsilon), accuracy)
    if reached is not None:
        return Needed("observed", reached, times=reached / n, at_most=bool(reached <= learning.rows[0]))
    more = beyond(learning, epsilon)
    reached = _first(more.rows, more.accuracy, accuracy)
    if reached is None:
        ceiling = max(float(learning.ceiling.mean(axis=0)[-1]), float(learning.mean[-1].max()))
        if accuracy > ceiling + 0.005:
            return Needed("above")
        return Needed("beyond" if more.rows[-1] > 0.99 * MOST_TIMES * n else "unclear")
    if np.interp(reached, more.rows, more.error) > TOO_FAR_OFF:
        return Needed("unclear")
    low = _first(more.rows, more.accuracy + more.error, accuracy)
    high = _first(more.rows, np.maximum.accumulate(more.accuracy - more.error), accuracy)
    return Needed("extrapolated", reached, low, high, reached / n)


def _first(rows: np.ndarray, accuracy: np.ndarray, wanted: float) -> float | None:
    """Rows at which a rising curve reaches what is wanted, between points along the logarithm; None if it does not."""
    above = np.flatnonzero(accuracy >= wanted - 1e-12)
    if not len(above):
        return None
    i = int(above[0])
    if i == 0:
        return float(rows[0])
    part = (wanted - accuracy[i - 1]) / (accuracy[i] - accuracy[i - 1])
    return float(np.exp(np.interp(part, [0, 1], np.log(rows[i - 1 : i + 1]))))
