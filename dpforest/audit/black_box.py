"""Black-box audit of whole fits: release two neighboring tables many times, and prove a loss from what differs.

Fits are in three parts. On the first, events are proposed: one statistic of the forest at or below a value, and a
score that puts all statistics together. On the second, the most promising are picked. On the third, whose draws nothing
has looked at, their frequencies give a lower bound on ε (Clopper & Pearson 1934), corrected for how many were picked.
A mechanism that keeps its promise is below the bound with a probability of at most 1 - confidence, whatever the search
did.
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

TRIALS: Final = 4_000  # fits of either table


@dataclass(frozen=True)
class Bound:
    """What an attack proved: with this confidence, the mechanism loses at least epsilon (0: nothing was found)."""

    epsilon: float
    confidence: float
    event: str
    hits: tuple[int, int]  # on the fresh draws, before and after
    trials: tuple[int, int]
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
    """The largest loss that many fits of two neighboring tables can prove.

    Parameters
    ----------
    target : estimator or callable
        As for `run_many`.
    before, after : (X, y)
        Neighboring tables.
    trials : int
        Fits of either table: a sixth to propose events, a sixth to pick some, the rest to bound their probabilities.
    confidence : float
        With which the bound holds.
    n_events : int
        Events to pick.
    probes, n_jobs, on_progress
        As for `run_many`.
    delta : float
        At which the loss is an ε.

    Returns
    -------
    Bound
        With ε = 0 where no event proves a loss.
    """
    alpha, searched, done = 1 - confidence, trials // 3, 0

    def run(data: Data, n: int) -> pd.DataFrame:
        nonlocal done

        def report(share: float) -> None:
            """Report this part's share of the work, added to the fits that are done."""
            if on_progress is not None:
                on_progress((done + share * n) / (2 * trials))

        table = run_many(target, *data, n, probes=probes, n_jobs=n_jobs, on_progress=report)
        done += n
        return table

    fresh = trials - searched
    promising = search(run(before, searched), run(after, searched), n_events=n_events, trials=fresh, alpha=alpha)
    tables = [promising.score.add_to(run(data, fresh)) for data in (before, after)]
    n_tried = max(len(promising.events), 1)
    hits = [(int(event.holds(tables[0]).sum()), int(event.holds(tables[1]).sum())) for event in promising.events]
    bounds = [float(lower_bound(a, b, fresh, alpha=alpha, n_events=n_tried, delta=delta)) for a, b in hits]
    best = int(np.argmax(bounds)) if bounds else -1
    if best < 0 or bounds[best] == 0:
        return Bound(0.0, confidence, "nothing was found", (0, 0), (fresh, fresh), n_tried)
    return Bound(bounds[best], confidence, str(promising.events[best]), hits[best], (fresh, fresh), n_tried)


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
    """`attack_fits` without a hint: on the generic pair of neighboring tables that looks worst.

    All pairs are searched with a few fits, the best eighth again with ten times as many, and the best of these is
    attacked with separate fits.

    Parameters
    ----------
    target : estimator or callable
        As for `run_many`.
    domain : Domain
        Which rows there may be.
    neighbors : {"add-remove", "replace-one"}
        How the two tables of a pair differ.
    sizes : tuple of int
        Numbers of rows to try.
    screening : int
        Fits of either table in the first round.
    seed : int
        Of the generic tables.
    trials, confidence, n_events, n_jobs
        As for `attack_fits`.

    Returns
    -------
    Bound
        Of the attack on that pair.
    str
        The pair, in words.
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
    """Neighboring tables that know of no mechanism: labels in simple orders, one row dropped or relabeled."""
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
        scattered = random_rows(domain, n, rng)
        for where, X in (("one point", scattered[[0] * n]), ("random points", scattered)):
            for order, labels in orders.items():
                y = classes[labels % len(classes)]
                for which, row in {"first": 0, "middle": n // 2, "last": n - 1}.items():
                    name = f"{n} rows at {where}, labels {order}; the {which} one"
                    if neighbors == ADD_REMOVE:
                        kept = rows != row
                        yield f"{name} left out", (X, y), (X[kept], y[kept])
                    else:
                        other = y.copy()
                        other[row] = classes[(labels[row] + 1) % len(classes)]
                        yield f"{name} relabeled", (X, y), (X, other)


def random_rows(domain: Domain, n: int, rng: np.random.Generator) -> np.ndarray:
    """Rows drawn uniformly from a domain, (n, n_features): float, or objects where there are categories."""
    columns = [
        rng.choice(np.array(f.categories, object), n)
        if f.kind == "categorical"
        else rng.uniform(f.low or 0.0, f.high or 0.0, n)
        for f in domain.features
    ]
    return np.stack(columns, axis=1)
