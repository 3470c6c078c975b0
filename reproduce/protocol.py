"""What all reproductions share: a record for each cell of a paper's table, folds, verdicts, the file, the report."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
from sklearn.model_selection import StratifiedKFold

PATH: Final = Path(__file__).with_name("results.json")
REPORT: Final = Path(__file__).parents[1] / "docs" / "REPRODUCED.md"
TOLERANCE: Final = 2.0  # points, between a published mean and ours; or two of our standard deviations
MATCHES, CONTRADICTS, NOT_COMPARABLE = "matches", "contradicts", "not comparable"


@dataclass(frozen=True)
class Record:
    """One cell of a paper's table.

    Attributes
    ----------
    paper, item, setting : str
        Which paper, which of its tables, and which cell.
    published : float
        As printed, in percent.
    ours : float or None
        The mean of the mechanism as published, in percent.
    certified : float or None
        The mean of a mechanism that keeps its ε, at the ε of the cell; None where the cell has no privacy.
    sd : float
        Standard deviation of `ours` over repetitions and folds.
    verdict : {"matches", "contradicts", "not comparable"}
    reason : str
    """

    paper: str
    item: str
    setting: str
    published: float
    ours: float | None
    certified: float | None
    sd: float
    verdict: str
    reason: str


def verdict(published: float, ours: float, sd: float) -> str:
    """Whether ours is near enough.

    >>> verdict(97.3, 96.1, 0.4), verdict(80.0, 60.0, 1.0), verdict(64.5, 69.0, 2.5)
    ('matches', 'contradicts', 'matches')
    """
    return MATCHES if abs(published - ours) <= max(TOLERANCE, 2 * sd) else CONTRADICTS


def folds(data: Any, repetitions: int, n_folds: int) -> Iterator[tuple[int, np.ndarray, np.ndarray]]:
    """Seed, training rows and test rows of each fold; stratified, as rare classes would be lost otherwise."""
    labels = data.y.astype(str).to_numpy()
    smallest = int(np.unique(labels, return_counts=True)[1].min())
    for repetition in range(repetitions):
        splitter = StratifiedKFold(n_folds, shuffle=True, random_state=repetition)
        if smallest < n_folds:  # a class of two rows cannot be in every fold
            labels = np.where(np.isin(labels, _rare(labels, n_folds)), "rare", labels)
        for fold, (train, test) in enumerate(splitter.split(labels, labels)):
            yield repetition * n_folds + fold, train, test


def accuracies(make: Callable[[int], Any], data: Any, repetitions: int, n_folds: int) -> np.ndarray:
    """Percent right in each fold, of what `make` gives for its seed."""
    found = []
    for seed, train, test in folds(data, repetitions, n_folds):
        forest = make(seed).fit(data.X.iloc[train], data.y.iloc[train])
        found.append(100 * float((forest.predict(data.X.iloc[test]) == data.y.iloc[test].to_numpy()).mean()))
    return np.array(found)


def write(records: Iterable[Record], path: Path = PATH) -> None:
    """The file that the page and the report are made of."""
    path.write_text(json.dumps([asdict(record) for record in records], indent=1, ensure_ascii=False) + "\n")


def read(path: Path = PATH) -> list[Record]:
    """What `write` has written."""
    return [Record(**record) for record in json.loads(path.read_text(encoding="utf-8"))]


def report(records: Iterable[Record]) -> str:
    """All records as Markdown, a table for each of a paper's."""
    lines = [
        "# The papers, reproduced",
        "",
        "Published figures beside ours: the mechanism as published, and a certified one at the same ε. Written by",
        "`python -m reproduce`. Percent right on rows held out; ± is our standard deviation over folds.",
    ]
    groups: dict[tuple[str, str], list[Record]] = {}
    for record in records:
        groups.setdefault((record.paper, record.item), []).append(record)
    for (paper, item), rows in groups.items():
        near = sum(row.verdict == MATCHES for row in rows)
        lines += ["", f"## {paper}: {item}", "", f"{near} of {len(rows)} cells match.", ""]
        lines += [
            "| cell | published | ours, as published | ours, certified | verdict | why |",
            "|---|---|---|---|---|---|",
        ]
        lines += [_line(row) for row in rows]
    return "\n".join([*lines, ""])


def _line(row: Record) -> str:
    ours, certified = _percent(row.ours, row.sd), _percent(row.certified)
    return f"| {row.setting} | {row.published:.1f} | {ours} | {certified} | {row.verdict} | {row.reason} |"


def _percent(value: float | None, sd: float | None = None) -> str:
    if value is None:
        return "–"
    return f"{value:.1f}" + (f" ± {sd:.1f}" if sd is not None else "")


def _rare(labels: np.ndarray, least: int) -> np.ndarray:
    names, counts = np.unique(labels, return_counts=True)
    return names[counts < least]
