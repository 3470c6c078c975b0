"""Baselines of a table: the accuracy of guessing and of models without privacy.

Models are fitted in the background, and all sessions share the results for public tables. The tables that come with the
app need no fit: their results are in a file that `scripts/without_privacy.py` writes. A test fits some of these models
again and compares the results with the file.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Generator
from functools import lru_cache
from pathlib import Path
from typing import Any, Final

import numpy as np

from dpforest.evaluation.headroom import effective_n
from dpforest.evaluation.nonprivate import NonprivateModels, guessing, metrics_of
from dpforest.simulation.splits import Split, split_labels
from dpforest.tables.domain import Domain
from ui.jobs.job import Job
from ui.jobs.made_once import MadeOnce
from ui.jobs.sweep_job import splits_of
from ui.shared import cache
from ui.shared.tables import Table, fingerprint, split

PATH: Final = Path(__file__).parents[2] / "data" / "without_privacy.json"
THIS_FOREST = "this forest"
FITTING = "Fitting {name} …"
Metrics = dict[str, dict[str, float]]  # by name of the model, then by measure


class Baselines(Job[Metrics]):
    """Metrics of guessing and of models without privacy on one split.

    The job has a single piece, which is finished when all models are fitted.

    Parameters
    ----------
    domain : Domain
        Public schema of the table.
    y_train, y_test : array of int
        Class indices of the training rows and of the held-out rows.
    split : callable
        Returns the split. It is called once, when the fits begin.
    metrics : dict, optional
        Metrics of the models from the file. If they are given, no model is fitted.

    Attributes
    ----------
    floor : dict
        Metrics of guessing, from `nonprivate.guessing`.
    labels : array of int
        Class indices of the held-out rows.
    """

    name = "scikit-learn's forest without privacy"

    def __init__(
        self,
        domain: Domain,
        y_train: np.ndarray,
        y_test: np.ndarray,
        split: Callable[[], Split],
        metrics: Metrics | None = None,
    ) -> None:
        super().__init__()
        self.floor, self.labels = guessing(y_train, y_test, domain.n_classes), y_test
        self._domain, self._split = domain, MadeOnce(split)
        if metrics:
            self.add(0, metrics)

    def task(self, n: int) -> tuple:
        return metrics_of, (self._domain, self._split())

    def steps(self, n: int) -> Generator[float, None, Metrics]:
        models = NonprivateModels(self._domain, self._split())
        while True:
            models.step()
            if models.done:
                return models.metrics
            yield models.share

    @property
    def done(self) -> bool:
        return 0 in self.pieces

    @property
    def metrics(self) -> Metrics:
        """Measures of every model, by name of the model. The dict is empty until all models are fitted."""
        return self.pieces.get(0, {})


@cache.by_table(everybody=48, session=8)
def _make(key: tuple, _table: Table) -> Baselines:
    folds, fold = key[-2:]
    if folds == 1:
        person_split = split(_table) if _table.unit else None  # the persons determine which rows are held out
        labels = split_labels(_table.domain, _table.frame[_table.label])
        if person_split is not None:
            labels = person_split.y_train, person_split.y_test
        return Baselines(_table.domain, *labels, lambda: split(_table), _stored(_table))
    of_fold = splits_of(_table, folds)[fold]
    return Baselines(_table.domain, of_fold.y_train, of_fold.y_test, lambda: of_fold)


def _stored(table: Table) -> Metrics | None:
    """Return the metrics that the file holds for this table and this domain, or None if it holds none."""
    entry = None if table.uploaded else _file().get(table.key)
    return entry["metrics"] if entry and entry["of"] == key_of(table) else None


@lru_cache(1)
def _file() -> dict[str, Any]:
    return json.loads(PATH.read_text(encoding="utf-8")) if PATH.exists() else {}


def key_of(table: Table) -> list[str]:
    """Return the keys of a table and of its domain. Both determine the models that are fitted to the table."""
    return [table.schema_key, fingerprint(table.domain)]


def baselines_of(table: Table, folds: int = 1, fold: int = 0) -> Baselines:
    """Return the baselines of a table on one split. Sessions share them for a public table, but not for an upload."""
    key = (table.schema_key, fingerprint(table.domain), folds, fold)
    return _make(key, table)


def best_model(baselines: list[Baselines], measure: str) -> tuple[str, float] | None:
    """Return the name of the best model without privacy, and its value of a measure as the mean over splits.

    The result is None until all models are fitted, and for a measure that no model has.
    """
    if not baselines or not all(each.metrics for each in baselines):
        return None
    means = {
        name: float(np.mean([each.metrics[name].get(measure, np.nan) for each in baselines]))
        for name in baselines[0].metrics
    }
    known = {name: value for name, value in means.items() if np.isfinite(value)}
    return max(known.items(), key=lambda item: item[1]) if known else None


def effective_rows(baselines: list[Baselines], measure: str) -> float:
    """Return the number of rows on which an accuracy would be as precise as this measure on all splits together.

    The number is the sum of `headroom.effective_n` over the splits.
    """
    return sum(effective_n(measure, each.labels) for each in baselines)


def floor_of(baselines: list[Baselines], measure: str) -> float | None:
    """Return the value of a measure for guessing, as the mean over splits.

    The result is None for a measure such as F1, whose value depends on how one guesses.
    """
    floors: dict[str, Callable[[Baselines], float]] = {
        "accuracy": lambda split: split.floor["accuracy"],
        "balanced_accuracy": lambda split: 1 / split.floor["classes"],
        "auc": lambda split: 0.5,
    }
    floor_of_split = floors.get(measure)
    return None if floor_of_split is None else float(np.mean([floor_of_split(each) for each in baselines]))
