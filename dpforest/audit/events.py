"""Events that tell two tables apart: searched for in many fits of both, and what their frequencies prove."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import pandas as pd
from sklearn.naive_bayes import CategoricalNB

from dpforest.audit.fits import ABSENT, column
from dpforest.confidence import lower_limit, upper_limit

MOST_VALUES: Final = 64  # of one statistic that are compared with
SCORE: Final = "likelihood ratio of all statistics"


@dataclass(frozen=True)
class Event:
    """A statistic has a value, or is at most that value."""

    column: str
    relation: str  # "is" or "<="
    value: float

    def holds(self, table: pd.DataFrame) -> np.ndarray:
        """For each fit, whether it happened, bool (n,)."""
        values = column(table, self.column)
        return values == self.value if self.relation == "is" else values <= self.value

    def __str__(self) -> str:
        if self.value == ABSENT:
            return f"{self.column} is absent"
        return f"{self.column} {self.relation} {self.value:.12g}"


def lower_bound(
    hits_before: Any, hits_after: Any, trials: int, *, alpha: float, n_events: int = 1, delta: float = 0
) -> np.ndarray:
    """A lower bound on ε at δ from how often an event happened, with confidence 1 - alpha over all events tried.

    Both probabilities are enclosed by Clopper and Pearson's intervals, each side at alpha / (4 n_events), so that both
    directions, and the complement of the event, may be tried at once.

    Parameters
    ----------
    hits_before, hits_after : int or array
        Fits of either table in which the event happened, from 0 to `trials`.
    trials : int
        Fits of either table.
    alpha : float
        Probability that the bound is above the true loss, at most.
    n_events : int
        How many events may be looked at, on the same fits.
    delta : float
        By so much any event may be more likely for nothing.

    Returns
    -------
    float64 array
        At least 0; of no dimension for two numbers.

    Examples
    --------
    >>> round(float(lower_bound(0, 500, 1000, alpha=0.001)), 2)
    3.99
    """
    a, b = np.asarray(hits_before, float), np.asarray(hits_after, float)
    side = alpha / (4 * n_events)
    with np.errstate(divide="ignore"):
        low, high = ([limit(hits, trials, side) for hits in (a, b)] for limit in (lower_limit, upper_limit))
        happens = [np.log(np.maximum(low[i] - delta, 0)) - np.log(high[1 - i]) for i in (0, 1)]
        does_not = [np.log1p(-np.minimum(high[i] + delta, 1)) - np.log1p(-low[1 - i]) for i in (0, 1)]
    return np.nan_to_num(np.max([*happens, *does_not], axis=0), nan=0.0).clip(min=0.0)


class Score:
    """All statistics in one: the logarithm of the likelihood ratio of two tables, if statistics were independent."""

    def __init__(self, before: pd.DataFrame, after: pd.DataFrame) -> None:
        both = pd.concat([before, after]).fillna(ABSENT)
        self.edges = {name: _edges(both[name].to_numpy()) for name in both}
        self.edges = {name: edges for name, edges in self.edges.items() if len(edges) > 1}
        self.model = CategoricalNB(alpha=0.5, min_categories=[len(edges) + 1 for edges in self.edges.values()])
        if self.edges:
            self.model.fit(self._bins(both), np.repeat([0, 1], [len(before), len(after)]))

    def add_to(self, table: pd.DataFrame) -> pd.DataFrame:
        """The table with one column more."""
        if not self.edges:
            return table
        chances = self.model.predict_joint_log_proba(self._bins(table))
        return table.assign(**{SCORE: chances[:, 1] - chances[:, 0]})

    def _bins(self, table: pd.DataFrame) -> np.ndarray:
        columns = [np.searchsorted(edges, column(table, name)) for name, edges in self.edges.items()]
        return np.stack(columns, axis=1)


def _edges(seen: np.ndarray, n_bins: int = 16) -> np.ndarray:
    """Where the bins of a column end: at quantiles, and around values that come up often."""
    values, counts = np.unique(seen, return_counts=True)
    often = values[counts >= len(seen) / 20]
    return np.unique([*_spread(np.sort(seen), n_bins), *often, *np.nextafter(often, -np.inf)])


def _spread(values: np.ndarray, n: int) -> np.ndarray:
    return values[np.unique(np.linspace(0, len(values) - 1, n).round().astype(np.int64))]


def propose(before: pd.DataFrame, after: pd.DataFrame) -> Iterator[Event]:
    """Single events: each statistic is, or is at most, one of the values that were seen."""
    both = pd.concat([before, after]).fillna(ABSENT)
    for name in both:
        seen = both[name].to_numpy()
        values, counts = np.unique(seen, return_counts=True)
        if len(values) == 1:
            continue
        if len(values) == 2:
            yield Event(name, "is", values[0])
            continue
        yield from (Event(name, "is", v) for v in values[np.argsort(-counts, kind="stable")[:MOST_VALUES]])
        some = values if len(values) <= MOST_VALUES else np.unique(_spread(np.sort(seen), MOST_VALUES))
        yield from (Event(name, "<=", v) for v in some[:-1])


def search(before: pd.DataFrame, after: pd.DataFrame, *, n_events: int, trials: int, alpha: float) -> "PromisingEvents":
    """The most promising events: proposed on one half of the fits, picked on the other.

    Parameters
    ----------
    before, after : DataFrame
        As `run_many` returns them, equally many fits.
    n_events : int
        How many to pick.
    trials, alpha : int, float
        Of the bound that is to follow: a rare event with a large loss is worth picking only if it will be seen.
    """
    half = len(before) // 2
    score = Score(before[:half], after[:half])
    learn, rank = [[score.add_to(t[part]) for t in (before, after)] for part in (slice(half), slice(half, None))]
    events = list(propose(*learn))
    hits = [(int(event.holds(rank[0]).sum()), int(event.holds(rank[1]).sum())) for event in events]
    # Events of one statistic that happened equally often are likely to be one.
    distinct = {(event.column, *pair): event for event, pair in reversed(list(zip(events, hits)))}
    counts = np.array([key[1:] for key in distinct]).reshape(-1, 2) * (trials / len(rank[0]))
    promise = lower_bound(counts[:, 0], counts[:, 1], trials, alpha=alpha, n_events=n_events)
    best = np.argsort(promise, kind="stable")[::-1][:n_events]  # where equal, the first and plainest before the others
    return PromisingEvents(score, [list(distinct.values())[i] for i in best], float(promise.max(initial=0.0)))


@dataclass(frozen=True)
class PromisingEvents:
    """Events, best first; the score that some refer to; and the bound that the best would have given."""

    score: Score
    events: list[Event]
    promise: float
