"""Replay certified forests in all input formats, and on tables that fill a block of the encoder or exceed it by a row.

A replay (`replay`) compares the fits of two neighboring tables. Large tables are balanced, so that the row in which the
two tables differ changes every majority and every median. This row lies at the end of a block, or at the beginning of
the next block.
"""

from collections.abc import Iterator
from typing import Any, Final

import numpy as np
import pandas as pd
from sklearn.base import clone

from dpforest.audit.replay.input_formats import InputFormat, formats_of
from dpforest.audit.replay.rare import RARE
from dpforest.audit.replay.replay import Replay, replay
from dpforest.audit.replay.tape import Table
from dpforest.audit.replay.variants import EPSILON, divides_rows, domain_of, most_of, random_rows
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
from dpforest.privacy.ledger import rows_changed

BLOCK: Final = 65_536  # number of rows that the encoder reads at a time
_LARGE: Final = (BLOCK, BLOCK + 1)  # numbers of rows of the larger table; under replace-one, of both tables
_BOUND: Final = 2 * BLOCK
_TWO: Final[dict[str, Any]] = {"n_estimators": 2, "max_depth": 2}
QUICK_SETTINGS: Final[dict[type[ForestClassifier], dict[str, Any]]] = {
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


def replay_formats(kind: type[ForestClassifier], neighbors: str, *, n: int = 12) -> Iterator[tuple[str, Replay]]:
    """Replay one certified forest in all input formats, on a small table with numeric and categorical attributes.

    Yields
    ------
    where : str
        Name of the input format.
    replay : Replay
        Comparison of the two fits.
    """
    X, y = random_rows(n + 1, 2, 4)
    for input_format in formats_of(kind):
        yield input_format.__name__, _replayed(kind, neighbors, (X, y), input_format)


def replay_large(
    kind: type[ForestClassifier], neighbors: str, *, formats: tuple[InputFormat, ...] | None = None, rare: str = ""
) -> Iterator[tuple[str, Replay]]:
    """Replay one certified forest on tables that fill one block of rows, and on tables with one more row.

    Parameters
    ----------
    kind : class
        One of `QUICK_SETTINGS`.
    neighbors : {"add-remove", "replace-one"}
        How the two tables differ.
    formats : tuple of functions, optional
        Input formats; by default all formats that the forest accepts.
    rare : str
        Key of `rare.RARE` for answers that replace the drawn answers; empty if answers are drawn.

    Yields
    ------
    where : str
        Input format and number of rows.
    replay : Replay
        Comparison of the two fits.
    """
    for n in _LARGE:
        for input_format in formats_of(kind) if formats is None else formats:
            # `_replayed` removes a row from one copy of this table. Under replace-one, it removes a row from each copy.
            table = balanced_rows(n + rows_changed(neighbors) - 1)
            yield f"{input_format.__name__}, {n:,} rows", _replayed(kind, neighbors, table, input_format, rare)


def balanced_rows(n: int) -> Table:
    """Return rows that alternate between low values with the first class and high values with the second class."""
    high = np.arange(n) % 2
    is_missing = np.arange(n) % 32 == 30
    X = pd.DataFrame(
        {
            "a": np.where(high, 0.9, 0.1),
            "b": np.where(high, "p", "q").astype(object),
            "c": np.where(is_missing, np.nan, np.where(high, 0.8, 0.2)),
            "d": np.where(high, "p", "q").astype(object),
        }
    )
    return X, high.copy()


def _replayed(
    kind: type[ForestClassifier], neighbors: str, table: Table, input_format: InputFormat, rare: str = ""
) -> Replay:
    """Record a fit, and replay it on a neighbor.

    Under add-remove, the neighbor lacks the last row of `table`. Under replace-one, the first table lacks the
    second-last row of `table`, and the neighbor lacks the last row. Rows are identified by their positions.
    """
    X, y = table
    n = len(y) - 1
    before, after = (X, y), (X[:n], y[:n])
    if rows_changed(neighbors) == 2:
        before = X.drop(index=n - 1).reset_index(drop=True), np.delete(y, n - 1)
    model = kind(epsilon=EPSILON, domain=domain_of(2), neighbors=neighbors, **QUICK_SETTINGS[kind])

    def fit(table: Table) -> ForestClassifier:
        return input_format(clone(model), *table)

    return replay(
        fit,
        before,
        after,
        epsilon=most_of(model),
        neighbors=neighbors,
        one_tree=divides_rows(model),
        forced=RARE[rare] if rare else None,
    )
