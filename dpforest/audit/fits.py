"""Fit one table many times, and return everything that the fits publish, as a table with one row for each fit."""

import warnings
import zlib
from collections.abc import Callable
from typing import Any, Final

import numpy as np
import pandas as pd
from joblib import Parallel, delayed

from dpforest.models.base import ForestClassifier
from dpforest.tables.domain import PrivacyLeakWarning
from dpforest.tables.rows import EncodedTable, read_rows
from dpforest.trees.forest import Forest
from dpforest.trees.layout import LEAF
from dpforest.trees.leaves import CountLeaves, LabelLeaves

PART: Final = 250  # number of fits that a process runs between two reports of progress
ABSENT: Final = -np.inf  # value of a statistic that a forest does not have
LOWEST_BIT: Final = "lowest bit of "  # prefix of the name of a statistic

Data = tuple[Any, Any]  # X and y
Record = dict[str, Any]  # number or array of each statistic, by its name
Progress = Callable[[float], None]  # called with the share of the work that is done, from 0 to 1


def statistics(forest: Forest, probes: np.ndarray | None = None) -> Record:
    """Return everything that a forest publishes, as numbers and arrays of numbers.

    Parameters
    ----------
    forest : Forest
        A fitted forest.
    probes : array of shape (n_probes, n_features) or None
        Rows for the forest to predict, as uint16 codes or raw values. The predicted classes are among the statistics.

    Returns
    -------
    dict
        Number or array of each statistic, by name. The structure, the certificate and the settings are hashed to one
        number each.
    """
    trees = forest.trees
    tests = (
        trees.kind.astype(np.int64) << 32 | (trees.feature.astype(np.int64) + 1) << 16 | np.maximum(trees.threshold, 0)
    )
    tests[trees.kind == LEAF] = -1
    record: Record = {
        "structure": zlib.crc32(tests.tobytes()),
        "test of node": tests,
        "size of tree": np.diff(trees.tree_start),
        "certificate": zlib.crc32(repr(forest.certificate).encode()),
    }
    leaves, alpha_link = forest.leaves, 1.0
    if isinstance(leaves, LabelLeaves):
        record["label of leaf"] = leaves.labels
        record["number of leaves with label"] = np.bincount(leaves.labels, minlength=forest.domain.n_classes)
    elif isinstance(leaves, CountLeaves):
        record["count of leaf and class"] = leaves.noisy_counts
    else:
        alpha_link = leaves.alpha_link
        record["value of leaf"] = leaves.leaf_values
        record["largest value in tree"] = np.maximum.reduceat(np.abs(leaves.leaf_values), trees.leaf_start[:-1])
    settings = leaves.voting, leaves.negative_rule, forest.seed, alpha_link
    record["settings"] = zlib.crc32(repr(settings).encode())
    if forest.scale is not None:
        record["rows below part of feature"] = forest.scale.cumulative
    record["number of rows"] = forest.about.get("n_rows", 0)
    if probes is not None:
        predict = forest.predict_codes if getattr(probes, "dtype", None) == np.uint16 else forest.predict_index
        record["vote at probe"] = predict(probes)
    if forest.domain.leaks():
        record["bounds of feature"] = [(f.low or 0, f.high or 0, f.n_codes) for f in forest.domain.features]
        record["number of classes"] = forest.domain.n_classes
    return record


def run_many(
    target: Any, X: Any, y: Any, n: int, *, probes: Any = None, n_jobs: int = 1, on_progress: Progress | None = None
) -> pd.DataFrame:
    """Fit or release n times with fresh randomness, and return a row for each fit and a column for each statistic.

    Parameters
    ----------
    target : estimator or callable
        An object whose ``fit(X, y)`` sets ``forest_``, or a function ``release(X, y)`` that returns an array of numbers
        or a dictionary of such arrays.
    X, y : array or DataFrame, and array
        The table that each fit gets.
    n : int
        Number of fits.
    probes : array of shape (n_probes, n_features) or None
        Rows whose predicted classes are among the statistics.
    n_jobs : int
        Number of processes. Each process has a copy of the target, so each fit must draw fresh randomness.
    on_progress : callable or None
        Called with the share of the fits that are done, from 0 to 1.

    Returns
    -------
    DataFrame of shape (n, n_statistics)
        Statistics as floats; `ABSENT` if a fit lacks a statistic.

    Raises
    ------
    ValueError
        If two processes return identical fits, because both processes have copied the same random state of the target.
    """
    parts = [PART] * (n // PART) + ([n % PART] if n % PART else [])
    work = (delayed(_run)(target, X, y, n_fits, probes) for n_fits in parts)
    records, earlier_parts = list[Record](), set[str]()
    for part_records in Parallel(n_jobs=n_jobs, return_as="generator")(work):
        records += part_records
        texts = [repr(record) for record in part_records]
        part_text = "".join(texts)
        if n_jobs != 1 and part_text in earlier_parts and len(set(texts)) > 1:
            raise ValueError(
                "two processes drew identical fits, because the target copies its random state; create the state in "
                "each fit, or use n_jobs=1"
            )
        earlier_parts.add(part_text)
        if on_progress is not None:
            on_progress(len(records) / n)
    return as_table(records)


def _run(target: Any, X: Any, y: Any, n: int, probes: Any) -> list[Record]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PrivacyLeakWarning)
        release = releaser(target, X, y, probes)
        return [release() for _ in range(n)]


def releaser(target: Any, X: Any, y: Any, probes: Any = None) -> Callable[[], Record]:
    """Return a function that fits once per call, and returns the statistics of the fit.

    If a forest has a public domain, the rows are encoded only once, before the first call.
    """
    if not hasattr(target, "fit"):
        return lambda: _as_record(target(X, y))
    domain = getattr(target, "domain", None)
    if domain is None or not isinstance(target, ForestClassifier):
        return lambda: statistics(target.fit(X, y).forest_, probes)
    domain = target.reading_domain(domain)
    if domain.unit is None:
        rows = EncodedTable(domain.encode(X), domain.encode_labels(y), np.arange(len(y), dtype=np.int64), len(y))
    else:
        rows = read_rows(domain, X, y)
    encoded_probes = None if probes is None else domain.encode(probes)
    fit = target.refitter(domain, rows)
    return lambda: statistics(fit(), encoded_probes)


def _as_record(released: Any) -> Record:
    return released if isinstance(released, dict) else {"value": released}


def as_table(records: list[Record]) -> pd.DataFrame:
    """Return the records as a table, float (n, n_statistics), with `ABSENT` if a record lacks a statistic.

    If a statistic has fractional values, the lowest bit of these values is another statistic. The lowest bit can reveal
    the true value under noise in floating point, because floats are denser around 0 than around 1 (Mironov 2012).
    """
    columns: dict[str, np.ndarray] = {}
    for name in dict.fromkeys(name for record in records for name in record):
        arrays = [np.asarray(record[name], float) if name in record else None for record in records]
        shape = np.max([array.shape for array in arrays if array is not None], axis=0).astype(int)
        block = np.full((len(records), *shape), ABSENT)
        for i, array in enumerate(arrays):
            if array is not None:
                used_part: tuple[Any, ...] = (i, *map(slice, array.shape))
                block[used_part] = array
        for place in np.ndindex(*shape):
            label = " " + ", ".join(map(str, place)) if place else ""
            columns[name + label] = block[(slice(None), *place)]
    fractions = {name: values for name, values in columns.items() if np.any(values != np.floor(values))}
    return pd.DataFrame(columns | {LOWEST_BIT + name: lowest_bit(values) for name, values in fractions.items()})


def column(table: pd.DataFrame, name: str) -> np.ndarray:
    """Return the values of a statistic, float (n,); all are `ABSENT` if no fit has this statistic.

    A table without fractional values has no column of lowest bits, so the function computes them. Otherwise, the value
    of a fit would depend on the other fits in the table, and `lower_bound` requires independent values.
    """
    if name in table:
        return table[name].to_numpy()
    if name.startswith(LOWEST_BIT):
        return lowest_bit(column(table, name.removeprefix(LOWEST_BIT)))
    return np.full(len(table), ABSENT)


def lowest_bit(values: np.ndarray) -> np.ndarray:
    """Return the exponent e of each number's lowest bit: the number is an odd multiple of 2**e.

    For zero and infinity, the result is the number itself.

    Examples
    --------
    >>> lowest_bit(np.array([0.75, 6.0, -0.5]))
    array([-2.,  1., -1.])
    """
    mantissa, exponent = np.frexp(np.where(np.isfinite(values), values, 0.0))
    digits = np.abs(mantissa * 2.0**53).astype(np.int64)
    bit = np.log2(np.maximum(digits & -digits, 1)) + exponent - 53
    return np.where(digits > 0, bit, values)
