"""Draw random domains, tables on these domains, and rows whose values lie on the borders of histogram cells."""

from typing import Any, Final

import numpy as np
import pandas as pd

from dpforest.audit.replay.tape import Table
from dpforest.tables.domain import Domain
from dpforest.tables.features import Feature
from dpforest.trees.released_scale import CELLS

_BOUNDS: Final = ((0.0, 1.0), (-5.0, 5.0), (0.0, 1e6), (1e-3, 1e3), (-1e9, 3.0), (10.0, 11.0))
_WIDTHS: Final = (1, 2, 3, 5, 12, 70, 1_000)  # numbers of categories of an attribute
# Cells that some readers of tables take for numbers, and other readers do not.
ODD: Final[tuple[Any, ...]] = (
    "1,5",
    "TRUE",
    "0x1f",
    "1_000",
    " 2 ",
    "1e3",
    "٣",
    "1.5.5",
    "1/2",
    "3%",
    "?",
    "-",
    "",
    "inf",
    "-inf",
    "nan",
    "1e400",
    "+.5",
    "01",
    "1.0",
    "false",
    "2026-01-31",
    "c1",
    "c-1",
    "other",
    None,
    True,
    False,
    7,
    0.5,
    float("nan"),
    float("inf"),
    10**400,
    1j,
    b"3",
    np.float32(0.3),
    pd.NaT,
    pd.NA,
    pd.Timestamp("2026-01-31"),
)
BAD: Final[tuple[Any, ...]] = ("1,5", "x", "1/2", "1 000", "3%", "2026-01-31")  # no reader takes these for numbers
# Some readers take these for numbers.
DOUBTFUL: Final[tuple[Any, ...]] = ("TRUE", "1e0", " 0.5 ", "false", "01", "+.5", "inf")


def random_feature(rng: np.random.Generator, name: str) -> Feature:
    """Draw an attribute of any kind, with random bounds, number of categories and rule for missing cells."""
    note: dict[str, Any] = {"source": "documented", "source_note": "random_tables.py"}
    missing = str(rng.choice(["category", "value", "refuse"]))
    if rng.random() < 0.6:
        low, high = _BOUNDS[rng.integers(len(_BOUNDS))]
        value = float(rng.choice([low, high, (low + high) / 2, high + 1])) if missing == "value" else None
        scale, whole = str(rng.choice(["auto", "linear", "log"])), bool(rng.random() < 0.2 and high - low >= 10)
        return Feature(name, "numeric", low, high, whole, missing=missing, missing_value=value, scale=scale, **note)
    width = int(rng.choice(_WIDTHS))
    names = tuple((f"{i}" if rng.random() < 0.5 else f"c{i}") for i in range(width))
    value_of = names[int(rng.integers(width))] if missing == "value" else None
    return Feature(name, "categorical", categories=names, missing=missing, missing_value=value_of, **note)


def random_domain(
    rng: np.random.Generator, n_classes: int, most_features: int = 12, classes: tuple[Any, ...] = ()
) -> Domain:
    """Draw a domain of 1 to `most_features` attributes; a small number of attributes is more likely.

    If `classes` is empty, the function draws `n_classes` numbers or texts as classes.
    """
    m = 1 + int((most_features - 1) * rng.random() ** 2 + 0.5)
    features = tuple(random_feature(rng, f"x{j}") for j in range(m))
    if not classes:
        classes = tuple(range(n_classes)) if rng.random() < 0.6 else tuple(f"k{c}" for c in range(n_classes))
    return Domain(features, classes, "y", "documented", "random_tables.py")


def edges(feature: Feature) -> np.ndarray:
    """Return numbers on and just below the borders of histogram cells, and on and beyond the bounds of an attribute."""
    assert feature.low is not None and feature.high is not None
    first, span = feature.first_code, 65_536 - feature.first_code
    codes = first + -(-np.arange(1, CELLS) * span // CELLS)
    borders = np.array([feature.least_value(int(code)) for code in codes[:: 1 + len(codes) // 9]])
    middle = feature.least_value(first + span // 2)
    further = [feature.low, feature.high, middle, feature.low - 1, feature.high + 1]
    return np.concatenate([borders, np.nextafter(borders, -np.inf), further])


def random_table(rng: np.random.Generator, domain: Domain, n: int, classes: np.ndarray) -> Table:
    """Draw n rows whose class indices are drawn from `classes`. Values repeat, so that rows share leaves.

    Many values lie on the borders of histogram cells. The function draws whole columns, which is fast for a million
    rows.
    """
    columns: dict[str, Any] = {}
    for feature in domain.features:
        if feature.kind == "numeric":
            assert feature.low is not None and feature.high is not None
            edge_values = edges(feature)
            inner_values = rng.uniform(feature.low, feature.high, 3)
            pool: np.ndarray = np.concatenate(
                [rng.choice(edge_values, 3), inner_values, [np.nan, np.inf][: rng.integers(3)]]
            )
        else:
            pool = np.array([*rng.choice(feature.categories, 3), None, "unlisted"][: 3 + rng.integers(3)], object)
        columns[feature.name] = pool[rng.integers(0, len(pool), n)]
    return pd.DataFrame(columns), labels_of(domain, classes[rng.integers(0, len(classes), n)])


def labels_of(domain: Domain, index: np.ndarray) -> np.ndarray:
    """Return the labels with these class indices, as an array of the type of the labels."""
    return domain.class_array[index]


def edge_row(rng: np.random.Generator, domain: Domain, label: int) -> Table:
    """Draw a row whose numbers come from `edges`. Its categories are the first or the last category of an attribute."""
    cells: dict[str, list[Any]] = {}
    for feature in domain.features:
        pool = list(edges(feature)) if feature.kind == "numeric" else [feature.categories[0], feature.categories[-1]]
        cells[feature.name] = [pool[rng.integers(len(pool))]]
    return pd.DataFrame(cells), labels_of(domain, np.array([label]))


def with_odd_cells(rng: np.random.Generator, table: Table, n_bad: int, pool: tuple[Any, ...] = ODD) -> Table:
    """Return the rows as objects, with `n_bad` unreadable cells in each column, and some cells from `pool`."""
    X, y = table
    out = X.astype(object)
    for j in range(X.shape[1]):
        rows = rng.permutation(len(X))
        for i in rows[:n_bad]:
            out.iat[i, j] = BAD[rng.integers(len(BAD))]
        for i in rows[n_bad : n_bad + 1 + len(X) // 3]:
            out.iat[i, j] = pool[rng.integers(len(pool))]
    return out, y


def with_row(rows: Table, row: Table, place: int, number: int) -> Table:
    """Insert a row before index `place` of the rows. `number` is the id of the row in the index of the table."""
    (X, y), (new_cells, label) = rows, row
    new_cells = new_cells.set_axis([number], axis=0)
    cells = pd.concat([X.iloc[:place], new_cells, X.iloc[place:]]) if len(X) else new_cells
    for name in X.columns:  # `concat` may change the type of a column, but both tables must have the same types
        if len(X) and X[name].dtype == object and cells[name].dtype != object:
            cells[name] = cells[name].astype(object)
    labels = y.astype(object) if label.dtype == object or y.dtype == object else y
    return cells, np.concatenate([labels[:place], label, labels[place:]])
