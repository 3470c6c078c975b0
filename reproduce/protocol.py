"""Code that all reproductions share: records of the cells of a paper's tables, folds, verdicts, and the record file."""

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
TOLERANCE: Final = 2.0  # a published mean and our mean count as equal if they differ by at most this many points
RIGHT: Final = "right on rows held out"
EQUAL, COMPATIBLE, CONTRADICTS, NOT_COMPARABLE = "equal", "compatible", "contradicts", "not comparable"


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
        Our mean figure in the published mode, which follows the paper.
    certified : float or None
        Our mean figure in the certified mode, which keeps the cell's ε. None if the cell has no privacy, or if the
        table has no public bounds.
    sd : float
        Standard deviation of `ours` over repetitions and folds.
    verdict : {"equal", "compatible", "contradicts", "not comparable"}
    reason : str
        Reason why the cell contradicts or is not comparable.
    line, axis : str
        If the record is a point of a curve: the name of its line, and the name of the horizontal axis.
    at : float or None
        Position of the point on the horizontal axis.
    unit : str
        Unit of all figures of the record.
    what : str
        Quantity that the curve shows; the chart uses it as the title of its vertical axis.
    spread : float
        Largest difference from the published figure, in points, at which the verdict is "compatible" (`spread_of`); 0
        if unknown.
    group : str
        Cells of an item with the same group form one paired test (`reproduce.paired`).
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
    spread: float = 0.0
    group: str = ""


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
    """Return the record of a point of a curve that the paper draws without numbers. All values are in percent."""
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


def spread_of(sd: float, n_ours: int, n_theirs: int = 1) -> float:
    """Return twice the standard error of the difference of two means, in the unit of `sd`.

    Parameters
    ----------
    sd : float
        Standard deviation of one value. The papers rarely print a standard deviation, so ours is used for both means.
    n_ours, n_theirs : int
        Number of values in our mean and in the paper's mean. `n_theirs` is 1 if the paper reports a single draw of a
        random table.

    >>> round(spread_of(4.0, 6), 1), round(spread_of(3.0, 10, 10), 1)
    (8.6, 2.7)
    """
    return 2 * sd * float(np.sqrt(1 / n_ours + 1 / n_theirs))


def verdict(published: float, ours: float, spread: float) -> str:
    """Compare a published mean with ours.

    Two means are equal within `TOLERANCE` points, and compatible within the spread of their difference.

    >>> verdict(97.3, 96.1, 0.4), verdict(64.5, 69.0, 5.0), verdict(80.0, 60.0, 5.0)
    ('equal', 'compatible', 'contradicts')
    """
    difference = abs(published - ours)
    return EQUAL if difference <= TOLERANCE else COMPATIBLE if difference <= spread else CONTRADICTS


def compared(
    paper: str,
    item: str,
    setting: str,
    published: float,
    ours: np.ndarray,
    certified: np.ndarray | None,
    why: str,
    *,
    n_theirs: int = 1,
    group: str = "",
) -> Record:
    """Return the record of a cell with a printed figure. All figures are in percent.

    Parameters
    ----------
    ours, certified : float array of shape (n,)
        A value for each draw or fold.
    why : str
        Reason that the record states if our mean contradicts the published one.
    n_theirs : int
        Number of values in the printed mean, as for `spread_of`.
    group : str
        As for `Record`.
    """
    mean, sd = float(ours.mean()), float(ours.std(ddof=1)) if len(ours) > 1 else 0.0
    spread = spread_of(sd, len(ours), n_theirs)
    outcome = verdict(published, mean, spread)
    return Record(
        paper,
        item,
        setting,
        published,
        round(mean, 2),
        mean_of(certified),
        round(sd, 2),
        outcome,
        why if outcome == CONTRADICTS else "",
        spread=round(spread, 2),
        group=group,
    )


def at_hand(name: str, folder: Path | None) -> bool:
    """Return whether a table is bundled, or is in a folder that is laid out like `data/`."""
    return name in list_datasets() or (folder is not None and name in _listed(folder))


@lru_cache(maxsize=2)
def load(name: str, folder: Path | None, *, incomplete: str = "category") -> Any:
    """Return a bundled table, or a table from a folder that is laid out like `data/`; None if the table is missing."""
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
    """Yield seed, training rows and test rows of each fold.

    By default, folds are stratified, so that each fold has rows of rare classes.
    """
    labels = data.y.astype(str).to_numpy()
    smallest = int(np.unique(labels, return_counts=True)[1].min())
    for repetition in range(repetitions):
        splitter_class = StratifiedKFold if stratified else KFold
        splitter = splitter_class(n_folds, shuffle=True, random_state=repetition)
        if smallest < n_folds:  # a class of two rows cannot be in every fold
            labels = np.where(np.isin(labels, _rare(labels, n_folds)), "rare", labels)
        for fold, (train, test) in enumerate(splitter.split(labels, labels)):
            yield repetition * n_folds + fold, train, test


def nested_folds(
    data: Any, repetitions: int, n_folds: int, n_inner: int
) -> Iterator[tuple[int, np.ndarray, np.ndarray, list[tuple[np.ndarray, np.ndarray]]]]:
    """Yield the items of `folds`, and with each of them inner folds, on which settings can be chosen.

    An inner fold divides the training rows into rows to fit and rows to score.

    >>> data = load_dataset("zoo")
    >>> seed, train, test, inner = next(nested_folds(data, 1, 10, 3))
    >>> len(inner), sorted(np.concatenate(inner[0]).tolist()) == sorted(train.tolist())
    (3, True)
    """
    for seed, train, test in folds(data, repetitions, n_folds):
        training_data = SimpleNamespace(y=data.y.iloc[train])
        yield seed, train, test, [(train[fit], train[look]) for _, fit, look in folds(training_data, 1, n_inner)]


def certified_accuracies(make: Callable[[int], Any], data: Any, repetitions: int, n_folds: int) -> np.ndarray | None:
    """Return the accuracies of a certified forest. If bounds come from the rows, none is certified: return None."""
    return None if data.domain.leaks() else accuracies(make, data, repetitions, n_folds)


def mean_of(values: np.ndarray | None) -> float | None:
    """Return the mean, rounded to two decimals, for a record."""
    return None if values is None else round(float(values.mean()), 2)


def accuracies(
    make: Callable[[int], Any], data: Any, repetitions: int, n_folds: int, *, stratified: bool = True
) -> np.ndarray:
    """Make a forest from the seed of each fold, and return its accuracy in percent on the fold."""
    percentages = []
    for seed, train, test in folds(data, repetitions, n_folds, stratified=stratified):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", PrivacyLeakWarning)  # a table whose bounds leak gets no certified figure
            forest = make(seed).fit(data.X.iloc[train], data.y.iloc[train])
        percentages.append(100 * float((forest.predict(data.X.iloc[test]) == data.y.iloc[test].to_numpy()).mean()))
    return np.array(percentages)


def write(records: Iterable[Record], path: Path = PATH) -> None:
    """Write the file of all records, from which the page and the report are made."""
    text = json.dumps([asdict(record) for record in records], indent=1, ensure_ascii=False) + "\n"
    half = path.with_suffix(".half")  # write another file first, so that the old file survives if the run stops here
    half.write_text(text, encoding="utf-8")
    half.replace(path)


def read(path: Path = PATH) -> list[Record]:
    """Read the records that `write` wrote."""
    return [Record(**record) for record in json.loads(path.read_text(encoding="utf-8"))]


def _rare(labels: np.ndarray, least: int) -> np.ndarray:
    names, counts = np.unique(labels, return_counts=True)
    return names[counts < least]
