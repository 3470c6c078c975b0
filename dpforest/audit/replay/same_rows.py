"""Fit the same rows with more threads, in another format, in parts, and with labels of another type.

The questions of a fit (its accesses to private rows) must depend only on the rows, and the released file must depend
only on the rows and the answers. This module records a fit, and then a second fit of the same rows with one change:
more threads, another input format, parts of the table, or another type of labels. To make both fits deterministic, the
recorder adds no noise to counts, and answers other questions with the likeliest answer (`rare`). Then the inputs of all
questions and the released files must be bitwise equal.
"""

import warnings
from collections.abc import Collection, Iterable, Iterator
from typing import Any, Final

import numpy as np
import pandas as pd
from sklearn.base import clone

from dpforest.audit.replay.input_formats import (
    InputFormat,
    as_array,
    as_fixed_csv,
    as_frame,
    as_list,
    counts_of_two_parts,
    in_two_parts,
)
from dpforest.audit.replay.random_tables import random_domain, random_table
from dpforest.audit.replay.rare import RARE
from dpforest.audit.replay.recorder import record
from dpforest.audit.replay.settings import FORESTS, settings_of
from dpforest.audit.replay.tape import Table
from dpforest.models.base import ForestClassifier
from dpforest.models.boosting.booster import RandomTreeBoosterClassifier
from dpforest.privacy.ledger import NEIGHBORS

SAMPLE: Final = 2  # number of small tables for each forest in an ordinary run
MANY_OF_BOOSTER, MANY = 200_003, 131_077  # numbers of rows that no number of threads divides
_EXACT: Final = RARE["no noise, the likeliest"]
_CLASSES: Final = ((0, 1), (10, 50, 100), (-3, 7), tuple(range(50)), (-100, 0, 27))
_STRANGE: Final = (-100, 101, 200, 3)  # labels that are no class of most domains
_TYPES: Final = (np.int8, np.int16, np.int32, np.float32, np.float64, object, str)

Record = tuple[list[bytes], str]  # inputs of all questions, and the released file


def check_same_rows(estimators: Collection[str] | None = None, seeds: Iterable[int] = range(SAMPLE)) -> Iterator[str]:
    """Yield a message for each fit whose questions or released file depend on anything other than the rows.

    Parameters
    ----------
    estimators : collection of str, optional
        Names of estimator classes; by default all forests.
    seeds : iterable of int
        Seeds. Each forest fits a small table for each seed, and one large table.
    """
    kinds = [kind for kind in FORESTS if estimators is None or kind.__name__ in estimators]
    for kind in kinds:
        for seed in seeds:
            yield from _small(kind, np.random.default_rng([seed, len(kind.__name__)]))
    for kind in kinds:
        yield from _large(kind)


def _small(kind: type[ForestClassifier], rng: np.random.Generator) -> Iterator[str]:
    """Fit a small table with random settings, and compare each changed fit with the first fit."""
    for _ in range(20):
        n_rows, classes = int(rng.integers(4, 60)), _CLASSES[rng.integers(len(_CLASSES))]
        settings = settings_of(rng, kind, n_rows + 1, len(classes)) | {"n_jobs": None}
        # With scale_share="public" and a fixed shape, a fit asks no question before trees grow.
        if hasattr(kind, "fit_chunks") and rng.random() < 0.5:
            settings |= {"n_estimators": 2, "max_depth": 2, "scale_share": "public"}
        domain = random_domain(rng, len(classes), 3, classes=classes)
        X, y = random_table(rng, domain, n_rows, np.arange(len(classes)))
        X = X.replace(np.inf, 1e300)  # a CSV file holds infinity as a text, which is read as missing
        y = np.where(rng.random(n_rows) < 0.1, rng.choice(_STRANGE), y)
        settings = {name: value for name, value in settings.items() if name in kind._get_param_names()}
        model = kind(domain=domain, neighbors=str(rng.choice(NEIGHBORS)), **settings)
        try:
            expected = _recorded(model, as_frame, (X, y))
        except ValueError:
            continue  # the fit refuses settings that contradict each other
        for name, input_format, table, n_jobs in _changed_fits(model, X, y, n_rows // 2):
            yield from _compared(
                f"{kind.__name__}, {n_rows} rows, {name}", expected, model, input_format, table, n_jobs
            )
        return
    yield f"{kind.__name__}: no fit accepted any of 20 random settings"


def _changed_fits(
    model: Any, X: pd.DataFrame, y: np.ndarray, cut: int
) -> Iterator[tuple[str, InputFormat, Table, int | None]]:
    """Yield name, input format, table and number of threads of each changed fit."""
    for input_format in (as_array, as_list, as_fixed_csv):
        yield input_format.__name__, input_format, (X, y), None
    for dtype in _TYPES:
        if np.array_equal(y.astype(dtype).astype(float), y.astype(float)):
            yield f"labels as {np.dtype(dtype)}", as_frame, (X, y.astype(dtype)), None
    yield "labels as a Series", as_frame, (X, pd.Series(y)), None
    yield "two threads", as_frame, (X, y), 2
    if hasattr(model, "fit_chunks"):
        yield "in parts", in_two_parts(cut), (X, y), None
    if hasattr(model, "fit_counts"):
        yield "counts of parts", counts_of_two_parts(cut), (X, y), None


def _large(kind: type[ForestClassifier]) -> Iterator[str]:
    """Fit a large table with several threads. Many of its rows are equal, even rows that different threads read."""
    n = MANY_OF_BOOSTER if kind is RandomTreeBoosterClassifier else MANY
    rng = np.random.default_rng(0)
    domain = random_domain(rng, 2, 1, classes=(0, 1))
    X, y = random_table(rng, domain, n, np.array([1]))
    settings: dict[str, Any] = {"n_estimators": 2, "max_depth": 1, "scale_share": "public", "size": n, "n_bound": 2 * n}
    settings = {name: value for name, value in settings.items() if name in kind._get_param_names()}
    model = kind(domain=domain, **settings)
    expected = _recorded(model, as_frame, (X, y))
    for jobs in (2, 3):
        yield from _compared(f"{kind.__name__}, {n:,} rows, {jobs} threads", expected, model, as_frame, (X, y), jobs)


def _compared(
    what: str, expected: Record, model: Any, input_format: InputFormat, table: Table, jobs: int | None
) -> Iterator[str]:
    """Record a changed fit. Yield a message if its questions or its released file differ from `expected`."""
    try:
        inputs, file = _recorded(model, input_format, table, jobs)
    except ValueError as refusal:
        yield f"{what}: it refuses these rows, but a frame does not: {refusal}"
        return
    if inputs != expected[0]:
        yield f"{what}: the questions to the rows differ from those for a frame with one thread"
    elif file != expected[1]:
        yield f"{what}: the same answers give another file than for the same rows in a frame"


def _recorded(model: Any, input_format: InputFormat, table: Table, jobs: int | None = None) -> Record:
    """Return the inputs of all questions, and the released file.

    Inputs are sorted, because the order in which several threads grow trees is random.
    """

    def fit(table: Table) -> Any:
        return input_format(clone(model).set_params(n_jobs=jobs), *table)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        tape = record(fit, table, forced=_EXACT)
    inputs = [question.private.tobytes() for question in tape.questions if question.what != "assignment"]
    return sorted(inputs), tape.result.released_.to_json()
