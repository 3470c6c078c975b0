"""Predictions for the rows of a CSV file, with a reason for each row that a released forest cannot predict."""

from __future__ import annotations

import csv as csv_module
import io
from collections.abc import Iterable
from dataclasses import dataclass, replace
from itertools import count, islice
from pathlib import Path
from typing import Final

import numpy as np
import pandas as pd

from dpforest.tables import csv_text
from dpforest.tables.csv_rows import bytes_of
from dpforest.tables.csv_table import CsvTable, read_csv
from dpforest.tables.domain import Domain, DomainError
from dpforest.tables.encoding import quoted
from dpforest.tables.features import text
from dpforest.trees.forest import ReleasedForest

VOTES, PROBABILITY = "share of votes", "probability"  # names of the column with the share of the predicted class
_UNREADABLE: Final = {"numeric": "no number", "categorical": "not listed"}


@dataclass(frozen=True, eq=False)
class Predictions:
    """Predicted classes of the rows of a file.

    Attributes
    ----------
    predicted : array of shape (n_rows,)
        Class of each row; "" for a row that is not predicted. If there is such a row, all classes are texts.
    shares : float array of shape (n_rows,)
        Share of votes, or probability by the scores, of the predicted class; NaN for a row that is not predicted.
    reasons : list of str
        For each row, a sentence about the cells that prevent a prediction; empty if there are none.
    n_clipped : int
        Number of values in predicted rows that lie outside of the public bounds of the forest. Each counts as the
        nearest bound.
    share_name : str
        What `shares` holds: "share of votes" if each tree has one vote, "probability" for other voting rules.
    """

    predicted: np.ndarray
    shares: np.ndarray
    reasons: list[str]
    n_clipped: int
    share_name: str = PROBABILITY

    @property
    def is_predicted(self) -> np.ndarray:
        """Whether each row is predicted, as a bool array of shape (n_rows,)."""
        return np.array([not reason for reason in self.reasons], dtype=bool)

    def next_to(self, table: pd.DataFrame, label: str) -> pd.DataFrame:
        """Return a copy of `table` with two new first columns: predictions, and shares of the predicted classes.

        A row without a prediction has the reason in the first column. `label` is part of the name of this column.
        """
        out = table.copy()
        classes = [reason or label for reason, label in zip(self.reasons, self.predicted, strict=True)]
        share_column = unused(self.share_name, out.columns)
        out.insert(0, unused(f"predicted {label or 'label'}", out.columns), classes)
        out.insert(1, share_column, self.shares)
        return out


def read_new_rows(path: Path) -> CsvTable:
    """Read a CSV file as `read_csv` does, also a file of only one row.

    Raises
    ------
    TableError
        If the file is no table, or has no row.
    """
    data, name = bytes_of(path)
    content, _ = csv_text.decode(data)
    if not content.strip():
        return read_csv(data, name=name)
    mark, content = csv_text.delimiter(content)
    try:
        records = [cells for _, cells in islice(csv_text.records(content, mark), 3)]
    except csv_module.Error:
        records = []
    if len(records) != 2:
        return read_csv(data, name=name)
    doubled = io.StringIO(newline="")  # `read_csv` needs two rows, so it gets the row twice, and the copy is removed
    csv_module.writer(doubled, delimiter=mark).writerows([*records, records[1]])
    csv = read_csv(doubled.getvalue().encode(), name=name)
    return replace(csv, table=csv.table[:1], n_rows=1, cells=csv.cells.slice(0, 1), data=data)


def predict_csv(forest: ReleasedForest, csv: CsvTable) -> Predictions:
    """Read the rows of a CSV file by the reading rules of a forest's domain, and predict their classes.

    Parameters
    ----------
    forest : ReleasedForest
        Forest that predicts the rows.
    csv : CsvTable
        The file. Columns are matched by name, and other columns are ignored. No labels are needed.

    Returns
    -------
    Predictions
        Class and share of each row, and the reasons for rows without a prediction.

    Raises
    ------
    DomainError
        If the file lacks a column that the forest reads.
    """
    _check_columns(forest.domain, list(csv.table.columns))
    # Cells are read by the rules of the fit, but in the CSV format of this file.
    rows = csv.read_with(replace(forest.domain, classes=(), label="", reading=csv.reading))
    reasons = why_not_predicted(forest.domain, rows)
    is_predicted = np.array([not reason for reason in reasons], dtype=bool)
    predicted, shares = _predicted(forest, rows, is_predicted)
    n_clipped = int(forest.domain.report(rows[is_predicted])["clipped"].sum())
    return Predictions(predicted, shares, reasons, n_clipped, VOTES if forest.voting == "majority" else PROBABILITY)


def unused(name: str, columns: Iterable[str]) -> str:
    """Return `name`, with a number if a column already has this name.

    >>> unused("probability", ["probability", "age"])
    'probability (2)'
    """
    return next(candidate for n in count(1) if (candidate := name if n == 1 else f"{name} ({n})") not in set(columns))


def _check_columns(domain: Domain, names: list[str]) -> None:
    """Raise DomainError if the file lacks columns that the forest needs."""
    if absent := [name for name in domain.source_columns if name not in names]:
        has = "none" if len(absent) == len(domain.source_columns) else f"not all {len(domain.source_columns):,}"
        raise DomainError(
            f"This file has {has} of the columns that the forest reads; missing: {quoted(absent)}. "
            "Columns are matched by name, so load a file with the same names in its first line."
        )


def why_not_predicted(domain: Domain, rows: pd.DataFrame) -> list[str]:
    """Return, for each row, a sentence that names the cells that prevent a prediction; empty if there are none."""
    refusing = tuple(replace(f, missing="category") for f in domain.features if f.missing == "refuse")
    if not refusing:
        return [""] * len(rows)
    refused = Domain(refusing).encode(rows) == [0 if f.kind == "numeric" else len(f.categories) for f in refusing]
    descriptions = np.array([f"{f.name} is missing or {_UNREADABLE[f.kind]}" for f in refusing], dtype=object)
    return ["not predicted: " + "; ".join(descriptions[row]) if row.any() else "" for row in refused]


def _predicted(forest: ReleasedForest, rows: pd.DataFrame, is_predicted: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the predicted class of each row and its share; "" and NaN for rows that cannot be predicted.

    If such a row exists, all classes are texts, because `Predictions.next_to` writes reasons into the same column.
    """
    if is_predicted.all():
        return forest.predict(rows), forest.class_shares(rows).max(axis=1)
    predicted, shares = np.full(len(rows), "", dtype=object), np.full(len(rows), np.nan)
    if is_predicted.any():
        predicted[is_predicted] = [text(p) for p in forest.predict(rows[is_predicted])]
        shares[is_predicted] = forest.class_shares(rows[is_predicted]).max(axis=1)
    return predicted, shares
