"""Input formats of a fit: a data frame, an array, nested lists, a file, parts of a table, or counts of parts."""

import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

import numpy as np
import pandas as pd

from dpforest.audit.replay.tape import Table
from dpforest.models.base import ForestClassifier
from dpforest.models.boosting.booster import RandomTreeBoosterClassifier
from dpforest.models.random.random_structure import RandomStructureClassifier
from dpforest.tables.chunked_files import read_chunks
from dpforest.tables.csv_rows import read_table
from dpforest.tables.csv_table import read_csv

InputFormat = Callable[[ForestClassifier, pd.DataFrame, np.ndarray], ForestClassifier]  # fits the model to the table


def as_frame(model: ForestClassifier, X: pd.DataFrame, y: np.ndarray) -> ForestClassifier:
    return model.fit(X, y)


def as_array(model: ForestClassifier, X: pd.DataFrame, y: np.ndarray) -> ForestClassifier:
    cells, groups = _split(model, X)
    return model.fit(cells, y, groups)


def as_list(model: ForestClassifier, X: pd.DataFrame, y: np.ndarray) -> ForestClassifier:
    cells, groups = _split(model, X)
    return model.fit(cells.tolist(), y.tolist(), None if groups is None else groups.tolist())


def as_csv(model: ForestClassifier, X: pd.DataFrame, y: np.ndarray) -> ForestClassifier:
    """Fit a CSV file whose format the reader detects. Only the forest's domain decides how cells are read."""
    assert model.domain is not None
    text = X.assign(**{model.domain.label: y}).to_csv(index=False)
    table = read_csv(text.encode()).read_with(model.domain)
    return model.fit(table[list(model.domain.columns)], table[model.domain.label])


def as_fixed_csv(model: ForestClassifier, X: pd.DataFrame, y: np.ndarray) -> ForestClassifier:
    """Fit a CSV file of a fixed format. The file may have no rows."""
    domain = model.domain
    assert domain is not None
    table = read_table(X.assign(**{domain.label: y}).to_csv(index=False).encode(), domain)
    return model.fit(table[list(domain.columns)], table[domain.label])


def as_parts(model: ForestClassifier, X: pd.DataFrame, y: np.ndarray) -> ForestClassifier:
    """Fit three parts of the table with `fit_chunks`, one after another."""
    assert isinstance(model, RandomStructureClassifier | RandomTreeBoosterClassifier)
    return model.fit_chunks(list(_parts(X, y)))


def as_part_counts(model: ForestClassifier, X: pd.DataFrame, y: np.ndarray) -> ForestClassifier:
    """Fit the summed counts of three parts: first counts for the scale (noisy histograms), then counts of leaves."""
    assert isinstance(model, RandomStructureClassifier)
    model.fit_scale(sum(model.partial_scale(*part) for part in _parts(X, y)))  # type: ignore[arg-type]
    return model.fit_counts(sum(model.partial_counts(*part) for part in _parts(X, y)))  # type: ignore[arg-type]


def as_parquet(model: ForestClassifier, X: pd.DataFrame, y: np.ndarray) -> ForestClassifier:
    """Fit a Parquet file that `read_chunks` reads in two parts."""
    assert isinstance(model, RandomStructureClassifier | RandomTreeBoosterClassifier) and model.domain is not None
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "table.parquet")
        X.assign(**{model.domain.label: y}).to_parquet(path)
        return model.fit_chunks(read_chunks(path, model.domain, rows=(len(y) + 1) // 2))


def as_counts_of_persons(model: ForestClassifier, X: pd.DataFrame, y: np.ndarray) -> ForestClassifier:
    """Fit the summed counts of three parts. All rows of a person are in the same part."""
    assert isinstance(model, RandomStructureClassifier) and model.domain is not None
    place = pd.util.hash_pandas_object(X[model.domain.unit].astype(str), index=False).to_numpy() % 3
    parts = [(X[place == part], y[place == part]) for part in range(3)]
    model.fit_scale(sum(model.partial_scale(*part) for part in parts))  # type: ignore[arg-type]
    return model.fit_counts(sum(model.partial_counts(*part) for part in parts))  # type: ignore[arg-type]


def in_two_parts(cut: int) -> InputFormat:
    """Return the format that fits the first `cut` rows as one part and the remaining rows as a second part."""

    def as_parts(model: Any, X: pd.DataFrame, y: np.ndarray) -> Any:
        return model.fit_chunks([(X[:cut], y[:cut]), (X[cut:], y[cut:])])

    return as_parts


def counts_of_two_parts(cut: int) -> InputFormat:
    """Return the format that fits the summed counts of two parts: the first `cut` rows, and the remaining rows."""

    def as_part_counts(model: Any, X: pd.DataFrame, y: np.ndarray) -> Any:
        both = (X[:cut], y[:cut]), (X[cut:], y[cut:])
        model.fit_scale(sum(model.partial_scale(*part) for part in both))
        return model.fit_counts(sum(model.partial_counts(*part) for part in both))

    return as_part_counts


def _parts(X: pd.DataFrame, y: np.ndarray) -> Iterator[Table]:
    """Return an iterator over three parts. One more row at the end of the table rarely changes the first two parts."""
    most = 2 ** max((len(y) - 2).bit_length() - 1, 0)
    cuts = (0, most // 2, most, len(y))
    return ((X[a:b], y[a:b]) for a, b in zip(cuts, cuts[1:]))


def _split(model: ForestClassifier, X: pd.DataFrame) -> tuple[np.ndarray, np.ndarray | None]:
    """Return the cells of the attributes, and the identifiers if the domain declares a unit of privacy."""
    unit = None if model.domain is None else model.domain.unit
    if unit is None:
        return X.to_numpy(object), None
    return X.drop(columns=unit).to_numpy(object), X[unit].to_numpy(object)


_WHOLE: Final[tuple[InputFormat, ...]] = (as_frame, as_array, as_list, as_csv)
IN_PARTS: Final[tuple[InputFormat, ...]] = (as_parts, as_part_counts)


def formats_of(kind: type[ForestClassifier]) -> tuple[InputFormat, ...]:
    """Return the input formats that a forest accepts."""
    parts = (as_parts,) if hasattr(kind, "fit_chunks") else ()
    return (*_WHOLE, *parts, as_part_counts) if hasattr(kind, "fit_counts") else (*_WHOLE, *parts)


def formats_of_persons(kind: type[ForestClassifier]) -> tuple[InputFormat, ...]:
    """Return the input formats that a forest accepts if its domain declares a unit of privacy."""
    parts = (as_parts, as_parquet) if hasattr(kind, "fit_chunks") else ()
    counts = (as_counts_of_persons,) if hasattr(kind, "fit_counts") else ()
    return (*_WHOLE, as_fixed_csv, *parts, *counts)
