"""Search many fits for events that distinguish two tables, and compute a lower bound on ε from their frequencies."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import pandas as pd
from sklearn.naive_bayes import CategoricalNB

from dpforest.audit.fits import ABSENT, column
from dpforest.confidence import lower_limit, upper_limit

MOST_VALUES: Final = 64  # largest number of values of one statistic for which events are proposed
SCORE: Final = "likelihood ratio of all statistics"


@dataclass(frozen=True)
class Event:
    """The event that a statistic of a fit equals a value, or is at most that value."""

    column: str
    relation: str  # "is" or "<="
    value: float

    def holds(self, table: pd.DataFrame) -> np.ndarray:
        """Return for each fit of the table whether the event happened, bool (n,)."""
        values = column(table, self.column)
        return values == self.value if self.relation == "is" else values <= self.value

    def __str__(self) -> str:
        if self.value == ABSENT:
            return f"{self.column} is absent"
        return f"{self.column} {self.relation} {self.value:.12g}"


def lower_bound(
    hits_before: Any, hits_after: Any, trials: int, *, alpha: float, n_events: int = 1, delta: float = 0
) -> np.ndarray:
    """Return a lower bound on ε at δ from the frequencies of an event on two tables.

    Each event yields four bounds: either table can be the one on which the event is more likely, and the complement of
    the event yields bounds in the same way. The function returns the largest of these four bounds. The bounds follow
    from a confidence interval of the event's probability on each table (Clopper and Pearson 1934). Each end of an
    interval is wrong with a probability of at most alpha / (4 n_events). The two intervals have four ends, so all
    bounds of all events hold at once with confidence 1 - alpha.

    Parameters
    ----------
    hits_before, hits_after : int or array
        Number of fits of each table in which the event happened, from 0 to `trials`.
    trials : int
        Number of fits of each table.
    alpha : float
        Largest probability that the bound of any of the events is above the true loss.
    n_events : int
        Number of events that are tried on the same fits.
    delta : float
        The δ of (ε, δ)-privacy. The bound is on the least ε with P <= exp(ε) Q + δ, where P and Q are the probabilities
        of an event on the two tables.

    Returns
    -------
    float64 array
        Lower bound of each event, at least 0; the array is zero-dimensional if the hits are two numbers.

    Examples
    --------
    >>> round(float(lower_bound(0, 500, 1000, alpha=0.001)), 2)
    3.99
    """
    a, b = np.asarray(hits_before, float), np.asarray(hits_after, float)
    end_alpha = alpha / (4 * n_events)
    with np.errstate(divide="ignore"):
        low, high = ([limit(hits, trials, end_alpha) for hits in (a, b)] for limit in (lower_limit, upper_limit))
        event_bounds = [np.log(np.maximum(low[i] - delta, 0)) - np.log(high[1 - i]) for i in (0, 1)]
        complement_bounds = [np.log1p(-np.minimum(high[i] + delta, 1)) - np.log1p(-low[1 - i]) for i in (0, 1)]
    return np.nan_to_num(np.max([*event_bounds, *complement_bounds], axis=0), nan=0.0).clip(min=0.0)


class Score:
    """Naive Bayes score of a fit: ln P(statistics | second table) - ln P(statistics | first table).

    P is a product over all statistics, as if they were independent.
    """

    def __init__(self, before: pd.DataFrame, after: pd.DataFrame) -> None:
        both = pd.concat([before, after]).fillna(ABSENT)
        self.edges = {name: _edges(both[name].to_numpy()) for name in both}
        self.edges = {name: edges for name, edges in self.edges.items() if len(edges) > 1}
        self.model = CategoricalNB(alpha=0.5, min_categories=[len(edges) + 1 for edges in self.edges.values()])
        if self.edges:
            self.model.fit(self._bins(both), np.repeat([0, 1], [len(before), len(after)]))

    def add_to(self, table: pd.DataFrame) -> pd.DataFrame:
        """Return the table with the score as an additional column."""
        if not self.edges:
            return table
        log_probabilities = self.model.predict_joint_log_proba(self._bins(table))
        return table.assign(**{SCORE: log_probabilities[:, 1] - log_probabilities[:, 0]})

    def _bins(self, table: pd.DataFrame) -> np.ndarray:
        columns = [np.searchsorted(edges, column(table, name)) for name, edges in self.edges.items()]
        return np.stack(columns, axis=1)


def _edges(observed: np.ndarray, n_bins: int = 16) -> np.ndarray:
    """Return the upper edges of a column's bins: quantiles, and edges on both sides of each frequent value."""
    values, counts = np.unique(observed, return_counts=True)
    frequent = values[counts >= len(observed) / 20]
    return np.unique([*_spaced(np.sort(observed), n_bins), *frequent, *np.nextafter(frequent, -np.inf)])


def _spaced(values: np.ndarray, n: int) -> np.ndarray:
    """Return at most n elements of an array, at evenly spaced indices."""
    return values[np.unique(np.linspace(0, len(values) - 1, n).round().astype(np.int64))]


def propose(before: pd.DataFrame, after: pd.DataFrame) -> Iterator[Event]:
    """Yield candidate events: a statistic equals an observed value, or is at most an observed value.

    A constant statistic yields no event. A statistic with two values yields one event, because the other event is its
    complement. For other statistics, the function picks at most `MOST_VALUES` values for each of the two relations.
    """
    both = pd.concat([before, after]).fillna(ABSENT)
    for name in both:
        observed = both[name].to_numpy()
        values, counts = np.unique(observed, return_counts=True)
        if len(values) == 1:
            continue
        if len(values) == 2:
            yield Event(name, "is", values[0])
            continue
        yield from (Event(name, "is", v) for v in values[np.argsort(-counts, kind="stable")[:MOST_VALUES]])
        limits = values if len(values) <= MOST_VALUES else np.unique(_spaced(np.sort(observed), MOST_VALUES))
        yield from (Event(name, "<=", v) for v in limits[:-1])


def search(before: pd.DataFrame, after: pd.DataFrame, *, n_events: int, trials: int, alpha: float) -> "PromisingEvents":
    """Propose events from one half of the fits, and pick the most promising events on the other half.

    Parameters
    ----------
    before, after : DataFrame
        Results of `run_many` with the same number of fits.
    n_events : int
        Number of events to pick.
    trials, alpha : int, float
        Arguments of the later call of `lower_bound`. An event with a large loss is promising only if `trials` fits
        suffice to prove this loss.

    Returns
    -------
    PromisingEvents
        At most `n_events` events, with the most promising one first.
    """
    half = len(before) // 2
    score = Score(before[:half], after[:half])
    proposal_tables, ranking_tables = [
        [score.add_to(t[part]) for t in (before, after)] for part in (slice(half), slice(half, None))
    ]
    events = list(propose(*proposal_tables))
    hits = [(int(event.holds(ranking_tables[0]).sum()), int(event.holds(ranking_tables[1]).sum())) for event in events]
    # Two events of one statistic with equal frequencies are probably the same event, so the search keeps the first.
    distinct = {(event.column, *pair): event for event, pair in reversed(list(zip(events, hits)))}
    counts = np.array([key[1:] for key in distinct]).reshape(-1, 2) * (trials / len(ranking_tables[0]))
    promise = lower_bound(counts[:, 0], counts[:, 1], trials, alpha=alpha, n_events=n_events)
    best = np.argsort(promise, kind="stable")[::-1][:n_events]  # among equally promising events, the first proposed
    return PromisingEvents(score, [list(distinct.values())[i] for i in best], float(promise.max(initial=0.0)))


@dataclass(frozen=True)
class PromisingEvents:
    """Events that are likely to prove a loss.

    Parameters
    ----------
    score : Score
        Score that some events compare with a value.
    events : list of Event
        Events, with the most promising one first.
    promise : float
        Expected lower bound of the first event; 0 if there is none.
    """

    score: Score
    events: list[Event]
    promise: float
