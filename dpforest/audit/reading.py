"""Check that the reader encodes each row of a table exactly as it encodes a table of this row alone.

The codes and the class of a row must depend only on this row and the domain. So a row must get the same codes in a
table of any size and format, even if many cells of other rows are unreadable.
"""

import math
import warnings
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final

import numpy as np
import pandas as pd

from dpforest.audit.replay.random_tables import ODD, random_domain, random_table, with_odd_cells
from dpforest.tables.csv_rows import read_table
from dpforest.tables.domain import Domain
from dpforest.tables.features import Feature
from dpforest.tables.rows import read_rows

Codes = tuple[np.ndarray, np.ndarray]  # codes of cells, and class indices; an omitted row has class -1
_KINDS: Final = 30  # number of different rows of a table
_LABELS: Final[tuple[Any, ...]] = (None, "no class", float("nan"), " 1 ", "01", 1.0, True, "k1", "", "0.0")
_TYPES: Final = (np.int8, np.uint8, np.int16, np.int32, np.int64, np.uint64, np.float16, np.float32, np.float64, bool)
_NAMES: Final = ("frame", "array", "list", "CSV", "typed frame")


def check_reading(seeds: Iterable[int] = range(4), *, most: int = 20_000) -> Iterator[str]:
    """Yield a message for each format or number type in which a row gets other codes than in a table of this row alone.

    Parameters
    ----------
    seeds : iterable of int
        Seeds. Each seed determines a domain and a table of 30 different rows.
    most : int
        Number of rows of the largest possible table, which repeats the 30 rows.
    """
    for seed in seeds:
        rng = np.random.default_rng(seed)
        domain = random_domain(rng, int(rng.choice([2, 3, 50])), 4)
        X, y = random_table(rng, domain, _KINDS, np.arange(domain.n_classes))
        labels = y.astype(object)
        for i in range(0, _KINDS, 3):
            labels[i] = _LABELS[rng.integers(len(_LABELS))]
        odd_cells = with_odd_cells(rng, (X, labels), _KINDS // 3, ODD)[0]
        for name in _NAMES:
            yield from _compared(rng, name, domain, X if name == "typed frame" else odd_cells, labels, most)
        for dtype in _TYPES:
            yield from _numbers_of_type(rng, np.dtype(dtype))


def _numbers_of_type(rng: np.random.Generator, dtype: np.dtype) -> Iterator[str]:
    """Check labels and cells of one numeric type. Some of the numbers are classes of the domain.

    The numbers include the smallest and the largest value of an integer type, and ±60,000 for a type of floats.
    """
    low, high = (0, 1) if dtype.kind == "b" else (-60_000, 60_000)  # within the range of float16
    if dtype.kind in "iu":
        low, high = int(np.iinfo(dtype).min), int(np.iinfo(dtype).max)
    small_numbers = [int(rng.integers(max(low, -120), min(high, 120), endpoint=True)) for _ in range(12)]
    values = np.array([low, high, *small_numbers], object).astype(dtype)  # whole numbers, rounded to this type
    classes = tuple(dict.fromkeys(int(value) for value in (*values[2:6], low, high)))[:5]
    feature = Feature("x", "numeric", -150.0, 150.0, missing="category", source="documented", source_note="reading.py")
    domain = Domain((feature,), classes, "y", "documented", "reading.py")
    read = _readers(domain)["frame"]
    for i, n in enumerate([len(values), 2, 3, *rng.integers(1, 200, 5)]):
        numbers = values if i == 0 else rng.choice(values, int(n))
        read_together = read(numbers[:, None], numbers)
        read_alone = [read(np.array([[value.item()]], object), np.array([value.item()], object)) for value in numbers]
        cells, labels = (np.concatenate([one_row[part] for one_row in read_alone]) for part in (0, 1))
        if (read_together[0] != cells).any() or (read_together[1] != labels).any():
            yield f"a column of {dtype} with {np.unique(numbers).tolist()} is read differently from its cells alone"
            return


def _compared(
    rng: np.random.Generator, name: str, domain: Domain, X: pd.DataFrame, y: np.ndarray, most: int
) -> Iterator[str]:
    """Compare the codes of rows in tables of up to `most` rows with the codes of each row alone, in one format."""
    read = _readers(domain)[name]
    read_alone = [read(X.iloc[i : i + 1], y[i : i + 1]) for i in range(len(y))]
    codes, classes = (np.concatenate([one_row[part] for one_row in read_alone]) for part in (0, 1))
    sizes = [1, 2, 3, 4, 5, 7, 10, *(round(math.exp(rng.uniform(2, math.log(most)))) for _ in range(4))]
    for n in sizes if name != "list" else sizes[:8]:
        rows = rng.permutation(len(y))[:n] if n < len(y) else rng.integers(0, len(y), n)
        read_together = read(X.iloc[rows].reset_index(drop=True), y[rows])
        is_different = (read_together[0] != codes[rows]).any(axis=1) | (read_together[1] != classes[rows])
        if is_different.any():
            row = int(rows[np.argmax(is_different)])
            yield f"{name} of {n:,} rows: {X.iloc[row].tolist()}, {y[row]!r} is read differently alone"
            return


def _readers(domain: Domain) -> dict[str, Callable[[pd.DataFrame, np.ndarray], Codes]]:
    """Return, by format, a function that passes a table to the reader in this format, and returns the codes."""

    def rows_of(X: Any, y: Any) -> Codes:
        """Return codes and classes of all rows. An omitted row has codes 0 and class -1."""
        n = len(y)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            read = read_rows(domain, X, y, np.arange(n, dtype=np.int64))
        codes, classes = np.zeros((n, domain.n_features), np.uint16), np.full(n, -1)
        codes[read.ids], classes[read.ids] = read.codes, read.y
        return codes, classes

    def of_csv(X: pd.DataFrame, y: np.ndarray) -> Codes:
        text = X.assign(**{domain.label: y}).to_csv(index=False)
        table = read_table(text.encode(), domain)
        return rows_of(table[list(domain.names)], table[domain.label])

    return {
        "frame": rows_of,
        "typed frame": rows_of,
        "array": lambda X, y: rows_of(X.to_numpy(object), y),
        "list": lambda X, y: rows_of(X.to_numpy(object).tolist(), y),
        "CSV": of_csv,
    }
