"""Black-box audit of whole fits: fit two neighboring tables many times, and compute a lower bound on the privacy loss.

The attack splits the fits into three parts. From the first part, the attack proposes events. An event happens if a
statistic of the forest equals a value, or is at most a value. One of these statistics is a score that combines all
others. On the second part, the attack picks the events that are likely to yield the largest bounds. On the third part,
which no earlier step has used, the frequencies of the picked events yield a lower bound on ε (Clopper & Pearson 1934).
The bound is corrected for the number of picked events. So it exceeds the true loss with a probability of at most 1 -
confidence, whatever events the attack picks.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import pandas as pd

from dpforest.audit.events import lower_bound, search
from dpforest.audit.fits import Data, Progress, run_many
from dpforest.privacy.ledger import ADD_REMOVE
from dpforest.tables.domain import Domain

TRIALS: Final = 4_000  # fits of each table


@dataclass(frozen=True)
class Bound:
    """Lower bound `epsilon` on the loss, proved with the attack's `confidence`; 0 if the attack proves no loss."""

    epsilon: float
    confidence: float
    event: str
    hits: tuple[int, int]  # for each table, the number of fits of the third part in which the event happened
    trials: tuple[int, int]  # for each table, the number of fits of the third part
    n_events: int


def attack_fits(
    target: Any,
    before: Data,
    after: Data,
    *,
    trials: int = TRIALS,
    confidence: float = 0.999,
    n_events: int = 8,
    probes: Any = None,
    n_jobs: int = 1,
    on_progress: Progress | None = None,
    delta: float = 0,
) -> Bound:
    """Fit two neighboring tables many times, and return the largest lower bound on the loss that the fits prove.

    Parameters
    ----------
    target : estimator or callable
        As for `run_many`.
    before, after : (X, y)
        Neighboring tables.
    trials : int
        Number of fits of each table. The attack proposes events from one sixth of the fits, picks events on another
        sixth, and bounds ε with the remaining fits.
    confidence : float
        Least probability that the bound is at most the true loss, between 0 and 1.
    n_events : int
        Number of events to pick.
    probes, n_jobs, on_progress
        As for `run_many`.
    delta : float
        The δ of (ε, δ)-privacy. The bound is on the least ε for which the target is (ε, δ)-private.

    Returns
    -------
    Bound
        The bound; its ε is 0 if no event proves a loss.
    """
    alpha, n_search, n_done = 1 - confidence, trials // 3, 0

    def run(data: Data, n: int) -> pd.DataFrame:
        nonlocal n_done

        def report(share: float) -> None:
            """Report the share of all fits that are done. `share` is the share of the n fits that are done."""
            if on_progress is not None:
                on_progress((n_done + share * n) / (2 * trials))

        table = run_many(target, *data, n, probes=probes, n_jobs=n_jobs, on_progress=report)
        n_done += n
        return table

    n_fresh = trials - n_search
    promising = search(run(before, n_search), run(after, n_search), n_events=n_events, trials=n_fresh, alpha=alpha)
    tables = [promising.score.add_to(run(data, n_fresh)) for data in (before, after)]
    n_tried = max(len(promising.events), 1)
    hits = [(int(event.holds(tables[0]).sum()), int(event.holds(tables[1]).sum())) for event in promising.events]
    bounds = [float(lower_bound(a, b, n_fresh, alpha=alpha, n_events=n_tried, delta=delta)) for a, b in hits]
    best = int(np.argmax(bounds)) if bounds else -1
    if best < 0 or bounds[best] == 0:
        return Bound(0.0, confidence, "nothing was found", (0, 0), (n_fresh, n_fresh), n_tried)
    return Bound(bounds[best], confidence, str(promising.events[best]), hits[best], (n_fresh, n_fresh), n_tried)


def attack_unaided(
    target: Any,
    domain: Domain,
    *,
    neighbors: str = ADD_REMOVE,
    sizes: tuple[int, ...] = (3, 5, 8, 9, 12, 15),
    trials: int = TRIALS,
    screening: int = 200,
    confidence: float = 0.999,
    n_events: int = 8,
    seed: int = 0,
    n_jobs: int = 1,
) -> tuple[Bound, str]:
    """Attack a mechanism that has no known weak point, with the best of many generic pairs of tables.

    First, the search fits each table of all pairs a few times, and ranks the pairs by the bound that more fits are
    likely to yield. Then it ranks the best eighth of the pairs again, with ten times as many fits. Finally,
    `attack_fits` attacks the mechanism with the best pair, on new fits.

    Parameters
    ----------
    target : estimator or callable
        As for `run_many`.
    domain : Domain
        Public domain, from which the rows of the generic tables are drawn.
    neighbors : {"add-remove", "replace-one"}
        How the two tables of a pair differ.
    sizes : tuple of int
        Numbers of rows to try.
    screening : int
        Number of fits of each table in the first round.
    seed : int
        Seed of the generic tables.
    trials, confidence, n_events, n_jobs
        As for `attack_fits`.

    Returns
    -------
    Bound
        Result of the attack on the best pair.
    str
        Description of this pair.
    """
    pairs = list(generic_pairs(domain, neighbors, sizes, seed))

    def promise(pair: tuple[str, Data, Data], n: int) -> float:
        tables = [run_many(target, *data, n, n_jobs=n_jobs) for data in pair[1:]]
        return search(*tables, n_events=1, trials=n, alpha=0.5).promise

    for n, kept in ((screening, math.ceil(len(pairs) / 8)), (10 * screening, 1)):
        promises = [promise(pair, n) for pair in pairs]
        pairs = [pairs[i] for i in np.argsort(promises)[::-1][:kept]]
    name, before, after = pairs[0]
    bound = attack_fits(target, before, after, trials=trials, confidence=confidence, n_events=n_events, n_jobs=n_jobs)
    return bound, name


def generic_pairs(
    domain: Domain, neighbors: str, sizes: tuple[int, ...], seed: int = 0
) -> Iterator[tuple[str, Data, Data]]:
    """Yield triples (description, first table, second table), in which the two tables are neighbors.

    The labels alternate, come in pairs, are sorted, are all equal, or are random. Under add-remove, the second table
    lacks one row of the first table. Under replace-one, the label of one row differs.
    """
    rng, classes = np.random.default_rng(seed), np.array(domain.classes)
    for n in sizes:
        rows = np.arange(n)
        orders = {
            "alternating": rows,
            "paired": rows // 2,
            "sorted": rows * len(classes) // n,
            "equal": 0 * rows,
            "random": rng.integers(0, len(classes), n),
        }
        random_points = random_rows(domain, n, rng)
        for where, X in (("one point", random_points[[0] * n]), ("random points", random_points)):
            for order, labels in orders.items():
                y = classes[labels % len(classes)]
                for place, row in {"first": 0, "middle": n // 2, "last": n - 1}.items():
                    name = f"{n} rows at {where}, labels {order}; the {place} one"
                    if neighbors == ADD_REMOVE:
                        kept = rows != row
                        yield f"{name} left out", (X, y), (X[kept], y[kept])
                    else:
                        relabeled = y.copy()
                        relabeled[row] = classes[(labels[row] + 1) % len(classes)]
                        yield f"{name} relabeled", (X, y), (X, relabeled)


def random_rows(domain: Domain, n: int, rng: np.random.Generator) -> np.ndarray:
    """Draw n rows uniformly from a domain. Return an array (n, n_features) of floats, or of objects with categories."""
    columns = [
        rng.choice(np.array(f.categories, object), n)
        if f.kind == "categorical"
        else rng.uniform(f.low or 0.0, f.high or 0.0, n)
        for f in domain.features
    ]
    return np.stack(columns, axis=1)
