"""Bai et al., figure 7: accuracy of single trees, of the paper's forest and of Breiman's forest, as quantiles.

The paper prints no numbers for this figure. Each of five folds has forty trees, without privacy, with at least k = 5
rows in a leaf. Better trees do not always make a better forest.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any, Final

import numpy as np

from dpforest import MultinomialForestClassifier
from reproduce.cells import Cell
from reproduce.comparators import BreimanForest
from reproduce.multinomial import RULE, SETTINGS
from reproduce.protocol import Record, folds, load, point

PAPER: Final = "Bai et al. 2020"
TABLES: Final = {
    "car": "Car",
    "chess_kr_vs_kp": "Chess",
    "nursery": "Nursery",
    "vehicle": "Vehicle",
    "image_segmentation": "Image",
    "cmc": "Cmc",
}
TREES, FOLDS = 40, 5
QUANTILES: Final = (0.05, 0.25, 0.5, 0.75, 0.95)


def their_trees(data: Any, train: np.ndarray, test: np.ndarray, seed: int) -> np.ndarray:
    """Return the accuracy in percent of each tree, grown as a separate forest."""
    settings, right = {**SETTINGS, "n_estimators": 1}, data.y.iloc[test].to_numpy()
    accuracy = []
    for tree in range(TREES):
        forest = MultinomialForestClassifier(
            epsilon=None,
            mode="as_published",
            stopping=RULE,
            domain=data.domain,
            structure_seed=1_000 * seed + tree,
            **settings,
        )
        forest.fit(data.X.iloc[train], data.y.iloc[train])
        accuracy.append(100 * float((forest.predict(data.X.iloc[test]) == right).mean()))
    return np.array(accuracy)


def breimans_trees(data: Any, train: np.ndarray, test: np.ndarray, seed: int) -> np.ndarray:
    """Return the accuracy in percent of each tree of one random forest."""
    forest = BreimanForest(data.domain, seed=seed, n_trees=TREES).fit(data.X.iloc[train], data.y.iloc[train])
    columns, trees = forest.model[0], forest.model[-1]
    cells = columns.transform(data.domain.encode(data.X.iloc[test]))
    wanted = data.domain.encode_labels(data.y.iloc[test])
    predictions = (trees.classes_[tree.predict(cells).astype(int)] for tree in trees.estimators_)
    return np.array([100 * float((predicted == wanted).mean()) for predicted in predictions])


def cells(*, quick: bool = False, folder: Path | None = None) -> Iterator[Cell]:
    """Yield a cell for each table and forest."""
    for name, title in list(TABLES.items())[: 1 if quick else None]:
        for line in FORESTS:
            yield Cell(f"{title}, {line}", partial(_measured, name, title, line, 2 if quick else FOLDS, folder))


def _measured(name: str, title: str, line: str, n_folds: int, folder: Path | None) -> list[Record]:
    data = load(name, folder)
    parts = list(folds(data, 1, FOLDS))[:n_folds]
    over = np.array([np.quantile(FORESTS[line](data, train, test, seed), QUANTILES) for seed, train, test in parts])
    item = f"figure 7, how right single trees are, {title}"
    return [
        point(PAPER, item, line, "quantile of trees", at, accuracy, None)
        for at, accuracy in zip(QUANTILES, over.T, strict=True)
    ]


FORESTS: Final = {"MRF": their_trees, "Breiman": breimans_trees}
