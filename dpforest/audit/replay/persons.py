"""Replay every certified forest on tables that differ in a person with all of their rows.

A replay (`replay`) compares the fits of two such tables. The person has 1, 2, 7, 256 or 300 rows; of 300 rows, a fit
keeps 256. The rows are equal, or equal except for their classes, or random. The rows of all persons are in random
order, and some rows have no identifier. In half of the tables, each of the other persons has a single row. These tables
test that nothing public shows whether any person has a second row.
"""

import warnings
from collections.abc import Iterator
from dataclasses import replace
from typing import Any, Final

import numpy as np
import pandas as pd
from sklearn.base import clone

from dpforest.audit.replay.input_formats import InputFormat, as_frame, formats_of_persons
from dpforest.audit.replay.replay import Replay, replay
from dpforest.audit.replay.tape import Table
from dpforest.audit.replay.variants import EPSILON, VARIANTS, divides_rows, domain_of, most_of, random_rows
from dpforest.models.base import ForestClassifier
from dpforest.models.greedy.boosted import BoostedForestClassifier
from dpforest.privacy.ledger import rows_changed

UNIT: Final = "person"
N_ROWS: Final = (7, 300, 2, 256, 1)  # numbers of rows of the person that differs
WAYS: Final = ("random rows", "equal rows", "several classes")  # kinds of the rows of this person
# With these settings, no bound on the loss of a person is known, so a fit for persons refuses them (docs/PRIVACY.md).
REFUSED: Final = ("majority label, global-01", "multinomial, normalized", "boosted, values")
OF_PERSONS: Final = tuple(name for name in VARIANTS if name not in REFUSED)


def rows_of_person(n: int, n_classes: int, way: str, seed: int) -> Table:
    """Return n rows of one person: random rows, equal rows, or equal rows of several classes (`way`, from `WAYS`)."""
    X, y = random_rows(n, n_classes, 3 * seed)
    if way == "random rows":
        return X, y
    X = X.iloc[np.zeros(n, int)].reset_index(drop=True)
    return X, np.arange(n) % n_classes if way == "several classes" else np.repeat(y[:1], n)


def neighbors_of_persons(n: int, n_classes: int, neighbors: str, way: str, seed: int) -> tuple[Table, Table]:
    """Return two tables in which one person differs, in an order that depends on the seed.

    Parameters
    ----------
    n : int
        Number of rows of the person that differs.
    n_classes : int
        Number of classes.
    neighbors : {"add-remove", "replace-one"}
        Whether one of the tables lacks the person, or has another person instead.
    way : str
        One of `WAYS`: kind of the rows of this person.
    seed : int
        Seed of all rows.

    Returns
    -------
    tuple of (DataFrame, array)
        The two tables: cells with a column of identifiers, and classes.
    """
    rng = np.random.default_rng(seed)
    n_others = (1, 1, 2, 7, 1, 3) if seed % 2 else (1,) * 6
    rows = [rows_of_person(k, n_classes, WAYS[0], 7 * seed + i) for i, k in enumerate((*n_others, 2))]
    names: list[Any] = [i if seed % 3 else f"{i:02}" for i in range(len(n_others))]
    rows += [rows_of_person(n, n_classes, way, seed), rows_of_person(1 + n // 2, n_classes, way, seed + 1)]
    names += [None, "one", "other"]
    person = np.repeat(np.arange(len(rows)), [len(y) for _, y in rows])
    order = rng.permutation(len(person))
    X, y = pd.concat([X for X, _ in rows], ignore_index=True), np.concatenate([y for _, y in rows])
    X[UNIT] = np.array(names, object)[person]
    rows_of_one, rows_of_other = order[person[order] != len(rows) - 1], order[person[order] != len(rows) - 2]
    if rows_changed(neighbors) == 1:
        rows_of_other = rows_of_one[person[rows_of_one] != len(rows) - 2]
    pair = (
        (X.iloc[rows_of_one].reset_index(drop=True), y[rows_of_one]),
        (X.iloc[rows_of_other].reset_index(drop=True), y[rows_of_other]),
    )
    return pair if seed % 4 < 2 else pair[::-1]


def replay_persons(
    name: str,
    neighbors: str,
    *,
    n_rows: tuple[int, ...] = N_ROWS,
    ways: tuple[str, ...] = WAYS,
    formats: tuple[InputFormat, ...] = (as_frame,),
) -> Iterator[tuple[str, Replay]]:
    """Replay one certified forest on tables that differ in a person.

    Parameters
    ----------
    name : str
        One of `OF_PERSONS`.
    neighbors : {"add-remove", "replace-one"}
        How the two tables differ.
    n_rows : tuple of int
        Numbers of rows of the person.
    ways : tuple of str
        Kinds of rows, from `WAYS`.
    formats : tuple of functions
        Input formats of the fits.

    Yields
    ------
    where : str
        Description of the pair of tables.
    replay : Replay
        Comparison of the two fits.
    """
    kind, parameters = VARIANTS[name]
    seed = 0
    for n in n_rows:
        for way in ways:
            for input_format in formats:
                n_classes = 2 if kind is BoostedForestClassifier and seed % 6 else 2 + seed % 2
                domain = replace(domain_of(n_classes), unit=UNIT)
                model = kind(epsilon=EPSILON, domain=domain, neighbors=neighbors, **parameters)
                pair = neighbors_of_persons(n, n_classes, neighbors, way, seed)
                seed += 1
                yield f"{n} rows of a person, {way}, {input_format.__name__}", _replayed(model, pair, input_format)


def replay_formats_of_persons(name: str, neighbors: str, *, n: int = 7) -> Iterator[tuple[str, Replay]]:
    """Replay one certified forest in all input formats, on tables that differ in a person with n rows."""
    return replay_persons(name, neighbors, n_rows=(n,), ways=WAYS[:1], formats=formats_of_persons(VARIANTS[name][0]))


def _replayed(model: ForestClassifier, pair: tuple[Table, Table], input_format: InputFormat) -> Replay:
    def fit(table: Table) -> ForestClassifier:
        return input_format(clone(model), *table)

    has_threads = model.n_jobs not in (None, 1)
    options: dict[str, Any] = {"one_tree": divides_rows(model), "threads": has_threads, "neighbors": model.neighbors}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a fit warns that it leaves out rows without an identifier
        return replay(fit, *pair, epsilon=most_of(model), **options)
