"""Parts that all reproductions share: a record for each cell of a paper's table, folds, verdicts, and the file."""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass
from functools import lru_cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Final

import numpy as np
from sklearn.model_selection import KFold, StratifiedKFold

from dpforest import PrivacyLeakWarning
from dpforest.tables.datasets import catalog, list_datasets, load_dataset

PATH: Final = Path(__file__).with_name("results.json")
TOLERANCE: Final = 2.0  # points, between a published mean and ours; or two of our standard deviations
RIGHT: Final = "right on rows held out"
MATCHES, CONTRADICTS, NOT_COMPARABLE = "matches", "contradicts", "not comparable"


@dataclass(frozen=True)
class Record:
    """One cell of a paper's table.

    Attributes
    ----------
    paper, item, setting : str
        The paper, its table or figure, and the cell.
    published : float or None
        Printed figure; None if the paper draws a curve or has no such figure.
    ours : float or None
        Mean of the mechanism as published.
    certified : float or None
        Mean of a mechanism that keeps the cell's ε; None if the cell has no privacy, or the table no public bounds.
    sd : float
        Standard deviation of `ours` over repetitions and folds.
    verdict : {"matches", "contradicts", "not comparable"}
    reason : str
    line, axis : str
        Line that a point of a curve is on, and name of the curve's axis.
    at : float or None
        Value of the point on that axis.
    unit : str
        Unit of all figures of the record.
    what : str
        What the curve shows, for its chart.
    """

    paper: str
    item: str
    setting: str
    published: float | None
    ours: float | None
    certified: float | None
    sd: float
    verdict: str
    reason: str
    line: str = ""
    axis: str = ""
    at: float | None = None
    unit: str = "%"
    what: str = RIGHT


DRAWN: Final = "the paper draws this curve without figures"
NOT_THERE: Final = "not in the paper"


def point(
    paper: str,
    item: str,
    line: str,
    axis: str,
    at: float,
    ours: np.ndarray,
    certified: np.ndarray | None,
    reason: str = DRAWN,
    what: str = RIGHT,
) -> Record:
    """Return the record of a point of a curve without printed figures, from accuracies or other shares in percent."""
    sd = float(np.std(ours, ddof=1)) if len(ours) > 1 else 0.0
    return Record(
        paper,
        item,
        f"{line}, {axis} = {at:g}",
        None,
        mean_of(ours),
        mean_of(certified),
        round(sd, 2),
        NOT_COMPARABLE,
        reason,
        line,
        axis,
        float(at),
        what=what,
    )


def verdict(published: float, ours: float, sd: float) -> str:
    """Return whether our mean is near enough to the published one, as a verdict.

    >>> verdict(97.3, 96.1, 0.4), verdict(80.0, 60.0, 1.0), verdict(64.5, 69.0, 2.5)
    ('matches', 'contradicts', 'matches')
    """
    return MATCHES if abs(published - ours) <= max(TOLERANCE, 2 * sd) else CONTRADICTS


def at_hand(name: str, folder: Path | None) -> bool:
    """Return whether a table is bundled, or in a folder like `data/`."""
    return name in list_datasets() or (folder is not None and name in _listed(folder))


@lru_cache(maxsize=2)
def load(name: str, folder: Path | None, *, incomplete: str = "category") -> Any:
    """Return a bundled table, or one from a folder like `data/`; None if it is missing."""
    if name in list_datasets():
        return load_dataset(name, incomplete=incomplete)
    if folder is None or not at_hand(name, folder):
        return None
    return load_dataset(name, incomplete=incomplete, folder=folder)


@lru_cache
def _listed(folder: Path) -> frozenset[str]:
    return frozenset(catalog(folder))


def folds(
    data: Any, repetitions: int, n_folds: int, *, stratified: bool = True
) -> Iterator[tuple[int, np.ndarray, np.ndarray]]:
    """Yield seed, training rows and test rows of each fold. Stratified by default, to keep rare classes."""
    labels = data.y.astype(str).to_numpy()
    smallest = int(np.unique(labels, return_counts=True)[1].min())
    for repetition in range(repetitions):
        kind = StratifiedKFold if stratified else KFold
        splitter = kind(n_folds, shuffle=True, random_state=repetition)
        if smallest < n_folds:  # a class of two rows cannot be in every fold
            labels = np.where(np.isin(labels, _rare(labels, n_folds)), "rare", labels)
        for fold, (train, test) in enumerate(splitter.split(labels, labels)):
            yield repetition * n_folds + fold, train, test


def nested_folds(
    data: Any, repetitions: int, n_folds: int, n_inner: int
) -> Iterator[tuple[int, np.ndarray, np.ndarray, list[tuple[np.ndarray, np.ndarray]]]]:
    """Yield what `folds` does, with inner folds of the training rows to choose settings: rows to fit and to score on.

    >>> data = load_dataset("zoo")
    >>> seed, train, test, inner = next(nested_folds(data, 1, 10, 3))
    >>> len(inner), sorted(np.concatenate(inner[0]).tolist()) == sorted(train.tolist())
    (3, True)
    """
    for seed, train, test in folds(data, repetitions, n_folds):
        inside = SimpleNamespace(y=data.y.iloc[train])
        yield seed, train, test, [(train[fit], train[look]) for _, fit, look in folds(inside, 1, n_inner)]


def certified_accuracies(make: Callable[[int], Any], data: Any, repetitions: int, n_folds: int) -> np.ndarray | None:
    """Return accuracies of a certified forest; None if bounds were read from the rows: then no forest is certified."""
    return None if data.domain.leaks() else accuracies(make, data, repetitions, n_folds)


def mean_of(values: np.ndarray | None) -> float | None:
    """Return the mean as records store it, rounded to two decimals."""
    return None if values is None else round(float(values.mean()), 2)


def accuracies(
    make: Callable[[int], Any], data: Any, repetitions: int, n_folds: int, *, stratified: bool = True
) -> np.ndarray:
    """Return the accuracy in percent in each fold of the forest that `make` returns for the fold's seed."""
    percentages = []
    for seed, train, test in folds(data, repetitions, n_folds, stratified=stratified):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", PrivacyLeakWarning)  # such a table has no certified cells
            forest = make(seed).fit(data.X.iloc[train], data.y.iloc[train])
        percentages.append(100 * float((forest.predict(data.X.iloc[test]) == data.y.iloc[test].to_numpy()).mean()))
    return np.array(percentages)


def write(records: Iterable[Record], path: Path = PATH) -> None:
    """Write the file that the page and the report are made from."""
    text = json.dumps([asdict(record) for record in records], indent=1, ensure_ascii=False) + "\n"
    half = path.with_suffix(".half")  # a stop while writing leaves the old file whole
    half.write_text(text, encoding="utf-8")
    half.replace(path)


def read(path: Path = PATH) -> list[Record]:
    """Read the records that `write` wrote."""
    return [Record(**record) for record in json.loads(path.read_text(encoding="utf-8"))]


def _rare(labels: np.ndarray, least: int) -> np.ndarray:
    names, counts = np.unique(labels, return_counts=True)
    return names[counts < least]
