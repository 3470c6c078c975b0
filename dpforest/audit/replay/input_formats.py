"""Certified forests replayed through every way that rows can come in, and on more rows than are encoded at a time.

Tables as frames, arrays, lists, CSV files and parts, read by what everybody calls. Large tables are balanced: one row
more tips every majority and every median, and lies on the border between two blocks.
"""

from collections.abc import Callable, Iterator
from typing import Any, Final

import numpy as np
import pandas as pd
from sklearn.base import clone

from dpforest.audit.replay.rare import RARE
from dpforest.audit.replay.recorder import Table
from dpforest.audit.replay.replay import Replay, replay
from dpforest.audit.replay.variants import EPSILON, domain_of, most_of, random_rows, shares_out
from dpforest.models.base import ForestClassifier
from dpforest.models.boosting.booster import RandomTreeBoosterClassifier
from dpforest.models.greedy.boosted import BoostedForestClassifier
from dpforest.models.greedy.friedman_schuster import FriedmanSchusterClassifier
from dpforest.models.greedy.multinomial import MultinomialForestClassifier
from dpforest.models.random.baselines import (
    JagannathanForestClassifier,
    RandomForestExponentialClassifier,
    RandomForestLaplaceClassifier,
)
from dpforest.models.random.majority_label import MajorityLabelForestClassifier
from dpforest.models.random.random_decision import RandomDecisionForestClassifier
from dpforest.models.random.random_structure import RandomStructureClassifier
from dpforest.privacy.ledger import rows_changed
from dpforest.tables.csv_table import read_csv

Way = Callable[[ForestClassifier, pd.DataFrame, np.ndarray], ForestClassifier]
BLOCK: Final = 65_536
LARGE: Final = (BLOCK, BLOCK + 1)  # rows of the larger of two tables
_BOUND: Final = 2 * BLOCK
_TWO: Final[dict[str, Any]] = {"n_estimators": 2, "max_depth": 2}
FORESTS: Final[dict[type[ForestClassifier], dict[str, Any]]] = {
    MajorityLabelForestClassifier: _TWO,
    RandomDecisionForestClassifier: _TWO,
    JagannathanForestClassifier: {"n_estimators": 2, "n_bound": _BOUND},
    RandomForestLaplaceClassifier: _TWO,
    RandomForestExponentialClassifier: _TWO,
    MultinomialForestClassifier: {**_TWO, "n_bins": 4},
    FriedmanSchusterClassifier: {"max_depth": 2, "n_bins": 4},
    BoostedForestClassifier: {**_TWO, "n_bins": 4, "n_bound": _BOUND},
    RandomTreeBoosterClassifier: _TWO,
}


def as_frame(model: ForestClassifier, X: pd.DataFrame, y: np.ndarray) -> ForestClassifier:
    return model.fit(X, y)


def as_array(model: ForestClassifier, X: pd.DataFrame, y: np.ndarray) -> ForestClassifier:
    return model.fit(X.to_numpy(object), y)


def as_list(model: ForestClassifier, X: pd.DataFrame, y: np.ndarray) -> ForestClassifier:
    return model.fit(X.to_numpy(object).tolist(), y.tolist())


def as_csv(model: ForestClassifier, X: pd.DataFrame, y: np.ndarray) -> ForestClassifier:
    """Written to a file, which is read by the domain of the forest alone."""
    assert model.domain is not None
    text = X.assign(**{model.domain.label: y}).to_csv(index=False)
    table = read_csv(text.encode()).read_with(model.domain)
    return model.fit(table[list(model.domain.names)], table[model.domain.label])


def as_parts(model: ForestClassifier, X: pd.DataFrame, y: np.ndarray) -> ForestClassifier:
    """One part after another, none of which is ever the whole."""
    assert isinstance(model, RandomStructureClassifier)
    return model.fit_chunks(list(_parts(X, y)))


def as_part_counts(model: ForestClassifier, X: pd.DataFrame, y: np.ndarray) -> ForestClassifier:
    """Counted where the rows are, and released from the counts: first where they lie, and then the leaves."""
    assert isinstance(model, RandomStructureClassifier)
    model.fit_scale(sum(model.partial_scale(*part) for part in _parts(X, y)))  # type: ignore[arg-type]
    return model.fit_counts(sum(model.partial_counts(*part) for part in _parts(X, y)))  # type: ignore[arg-type]


def _parts(X: pd.DataFrame, y: np.ndarray) -> Iterator[Table]:
    """Cut where a row more or less at the end moves no border."""
    most = 2 ** ((len(y) - 2).bit_length() - 1)
    cuts = (0, most // 2, most, len(y))
    return ((X[a:b], y[a:b]) for a, b in zip(cuts, cuts[1:]))


WHOLE: Final[tuple[Way, ...]] = (as_frame, as_array, as_list, as_csv)
IN_PARTS: Final[tuple[Way, ...]] = (as_parts, as_part_counts)


def ways_of(kind: type[ForestClassifier]) -> tuple[Way, ...]:
    """The ways in that a forest has."""
    return (*WHOLE, *IN_PARTS) if hasattr(kind, "fit_chunks") else WHOLE


def replay_ways(kind: type[ForestClassifier], neighbors: str, *, n: int = 12) -> Iterator[tuple[str, Replay]]:
    """One certified forest through all ways in, on a small table with attributes of every kind."""
    X, y = random_rows(n + 1, 2, 4)
    for way in ways_of(kind):
        yield way.__name__, _replayed(kind, neighbors, (X, y), way)


def replay_large(
    kind: type[ForestClassifier], neighbors: str, *, ways: tuple[Way, ...] | None = None, rare: str = ""
) -> Iterator[tuple[str, Replay]]:
    """One certified forest on tables that reach a full block of rows, and that go beyond it by one.

    Parameters
    ----------
    ways : tuple of functions, optional
        By default all that it has.
    rare : str
        One of `rare.RARE`: answers that are given in place of those drawn.
    """
    for n in LARGE:
        for way in ways_of(kind) if ways is None else ways:
            # Under replace-one both tables are as large; under add-remove the last row is in one of them only.
            table = balanced_rows(n + rows_changed(neighbors) - 1)
            yield f"{way.__name__}, {n:,} rows", _replayed(kind, neighbors, table, way, rare)


def balanced_rows(n: int) -> Table:
    """Half of the rows, but for the last one, low and of the first class, the other half high and of the second."""
    high = np.arange(n) % 2
    gaps = np.arange(n) % 32 == 30
    X = pd.DataFrame(
        {
            "a": np.where(high, 0.9, 0.1),
            "b": np.where(high, "p", "q").astype(object),
            "c": np.where(gaps, np.nan, np.where(high, 0.8, 0.2)),
            "d": np.where(high, "p", "q").astype(object),
        }
    )
    return X, high.copy()


def _replayed(kind: type[ForestClassifier], neighbors: str, table: Table, way: Way, rare: str = "") -> Replay:
    """The last row is missing, or the one before it stands in its place: rows without ids are known by their place."""
    X, y = table
    n = len(y) - 1
    before, after = (X, y), (X[:n], y[:n])
    if rows_changed(neighbors) == 2:
        before = X.drop(index=n - 1).reset_index(drop=True), np.delete(y, n - 1)
    model = kind(epsilon=EPSILON, domain=domain_of(2), neighbors=neighbors, **FORESTS[kind])

    def fit(table: Table) -> ForestClassifier:
        return way(clone(model), *table)

    return replay(
        fit,
        before,
        after,
        epsilon=most_of(model),
        neighbors=neighbors,
        one_tree=shares_out(model),
        forced=RARE[rare] if rare else None,
    )
