"""Load example tables: the bundled data sets, and the synthetic sets of Fletcher and Islam."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from dpforest.tables.csv_columns import Column
from dpforest.tables.csv_table import CsvTable, label_candidates, read_csv, suggest_domain, suggest_label
from dpforest.tables.csv_text import TableError
from dpforest.tables.domain import Domain
from dpforest.tables.features import Feature

__all__ = [
    "SYNTHETIC",
    "Column",
    "CsvTable",
    "Dataset",
    "TableError",
    "label_candidates",
    "list_datasets",
    "load_dataset",
    "make_synthetic",
    "read_csv",
    "suggest_domain",
    "suggest_label",
]

_PACKAGE = Path(__file__).resolve().parents[1]
# A wheel holds the tables in the package; a checkout holds them next to the package.
DATA = next(folder for folder in (_PACKAGE / "_app" / "data", _PACKAGE.parent / "data") if folder.exists())

# Fletcher and Islam 2017, table 1: number of informative attributes, and number of attributes that are pure noise.
SYNTHETIC = {
    "SynthA": (5, 0),
    "SynthB": (10, 0),
    "SynthC": (15, 0),
    "SynthD": (10, 5),
    "SynthE": (5, 10),
    "SynthF": (5, 5),
    "SynthG": (10, 10),
}
SYNTHETIC_BOUND = 8.0

_DROPPED_WHERE = "load_dataset(…, incomplete='drop')"
_DROPPED = "rows with missing values were left out, each judged by itself, for reproducing papers"


@dataclass(frozen=True)
class Dataset:
    """A table with its label and its public domain.

    Attributes
    ----------
    name, title : str
        Key in the catalog, and name for users.
    table : DataFrame
        Attributes and label.
    label : str
        Name of the label column.
    domain : Domain
        Public domain of the attributes and the label.
    attribution : str
        Credit that the license requires.
    url, license : str
        Address of the source, and name of the license; empty if the catalog has none.
    n_left_out : int
        Number of rows that were left out because of missing cells; 0 unless ``incomplete="drop"`` (`load_dataset`).
    """

    name: str
    title: str
    table: pd.DataFrame
    label: str
    domain: Domain
    attribution: str
    url: str = ""
    license: str = ""
    n_left_out: int = 0

    @property
    def X(self) -> pd.DataFrame:
        """The table without its label."""
        return self.table.drop(columns=self.label)

    @property
    def y(self) -> pd.Series:
        """The label column."""
        return self.table[self.label]


def catalog_path(folder: Path = DATA) -> Path:
    """Return the path of the ``catalog.json`` of a folder, or of its ``catalogue.json``, the older name."""
    old = folder / "catalogue.json"
    return old if old.is_file() and not (folder / "catalog.json").exists() else folder / "catalog.json"


@cache
def catalog(folder: Path = DATA) -> dict[str, dict[str, Any]]:
    """Return the entries of a folder's catalog."""
    return json.loads(catalog_path(folder).read_text(encoding="utf-8"))["datasets"]


def list_datasets() -> dict[str, str]:
    """Return the names and titles of the bundled data sets."""
    return {name: entry["title"] for name, entry in catalog().items()}


def readable_names(name: str) -> tuple[dict[str, str], dict[str, str]]:
    """Return words for those column names and classes of a bundled data set that are codes or abbreviations.

    Parameters
    ----------
    name : str
        One of `list_datasets`.

    Returns
    -------
    columns, classes : dict of str to str
        Word for each such column name, and for each such class, from the documentation of the data set. The table
        itself keeps the codes.
    """
    entry = catalog()[name]
    return entry.get("column_words", {}), entry.get("class_words", {})


def load_dataset(name: str, *, incomplete: str = "category", folder: str | Path = DATA) -> Dataset:
    """Load a bundled data set, or a data set from a folder with a catalog of the same form.

    Parameters
    ----------
    name : str
        One of `list_datasets`, or "SynthA" to "SynthG".
    incomplete : {"category", "drop"}
        "category": a missing cell counts as one more value of its attribute. "drop": rows with a missing cell are left
        out. "drop" is only for reproducing papers, because the contents of a row then decide whether it is kept.
    folder : path
        Folder with a ``catalog.json`` in the form of ``data/catalog.json``, and with the files in this catalog.

    Returns
    -------
    Dataset
        Table, label and public domain.

    Raises
    ------
    TableError
        If there is no such data set, or `incomplete` has another value.
    FileNotFoundError
        If the folder lacks a catalog, or a file that the catalog names.

    Examples
    --------
    >>> data = load_dataset("adult", incomplete="drop")
    >>> len(data.table), data.n_left_out, data.domain.leaks()
    (30162, 2399, [])
    """
    if incomplete not in ("category", "drop"):
        raise TableError(f'incomplete={incomplete!r} is not known; choose "category" or "drop".')
    if name in SYNTHETIC:
        return make_synthetic(name)
    entries = catalog(Path(folder))
    if name not in entries:
        raise TableError(f"There is no data set {name!r}; choose one of {', '.join([*entries, *SYNTHETIC])}.")
    entry = entries[name]
    domain = Domain.from_catalog(entry)
    texts = [feature.name for feature in domain.features if feature.kind == "categorical"]
    table = pd.read_csv(
        Path(folder) / entry["file"],
        dtype=dict.fromkeys([*texts, entry["label"]], "str"),
        keep_default_na=False,
        na_values=[""],
    )
    n_rows = len(table)
    if incomplete == "drop":
        table = table.dropna().reset_index(drop=True)
        features = tuple(replace(feature, missing="refuse") for feature in domain.features)
        domain = replace(
            domain, features=features, reading=_DROPPED, reading_source="documented", reading_note=_DROPPED_WHERE
        )
    return Dataset(
        name,
        entry["title"],
        table,
        entry["label"],
        domain,
        entry.get("attribution", ""),
        entry.get("uci_url", ""),
        entry.get("license", entry.get("licence", "")),
        n_rows - len(table),
    )


def make_synthetic(name: str, n: int = 30_000, seed: int = 0) -> Dataset:
    """Make a synthetic set of Fletcher and Islam (2017), table 1: two balanced classes, all attributes numeric.

    The function calls `sklearn.datasets.make_classification` with its defaults except ``n_redundant=0`` (two clusters
    per class, classes one apart, 1 % of labels flipped). The generated values are unbounded. The public bounds are -8
    and 8, about 3.5 standard deviations from 0, and values beyond a bound count as the bound.

    Parameters
    ----------
    name : str
        "SynthA" to "SynthG".
    n : int
        Number of rows.
    seed : int
        Seed of all draws.

    Returns
    -------
    Dataset
        Table, label and public domain.

    Raises
    ------
    TableError
        If there is no such data set.

    Examples
    --------
    >>> make_synthetic("SynthD", n=100).domain.leaks()
    []
    """
    from sklearn.datasets import make_classification  # imported here because it takes half a second

    if name not in SYNTHETIC:
        raise TableError(f"There is no synthetic set {name!r}; choose one of {', '.join(SYNTHETIC)}.")
    n_informative, n_random = SYNTHETIC[name]
    X, y = make_classification(
        n,
        n_features=n_informative + n_random,
        n_informative=n_informative,
        n_redundant=0,
        random_state=seed,
    )
    note = f"fixed in the definition of the synthetic sets: {-SYNTHETIC_BOUND:g} to {SYNTHETIC_BOUND:g}, clipped beyond"
    features = tuple(
        Feature(f"x{j}", "numeric", -SYNTHETIC_BOUND, SYNTHETIC_BOUND, source="documented", source_note=note)
        for j in range(X.shape[1])
    )
    table = pd.DataFrame(X, columns=[feature.name for feature in features])
    table["class"] = y.astype(np.int64)
    domain = Domain(features, (0, 1), "class", "documented", "the synthetic sets have the classes 0 and 1")
    title = f"{name}: {n_informative} informative and {n_random} random attributes"
    return Dataset(name, title, table, "class", domain, "Made by sklearn.datasets.make_classification.")
