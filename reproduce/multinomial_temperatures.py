"""Bai et al., figure 4: accuracy over the temperatures B1 and B2, without privacy. The paper prints no numbers.

B1 is the temperature of the choice of a feature, and B2 is the temperature of the choice of a cut. Forests have a
hundred trees, each leaf has at least k = 5 rows, and there are five folds.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any, Final

from dpforest import MultinomialForestClassifier
from reproduce.cells import Cell
from reproduce.multinomial import RULE, SETTINGS
from reproduce.protocol import Record, accuracies, load, point

PAPER: Final = "Bai et al. 2020"
TABLES: Final = {"car": "Car", "vehicle": "Vehicle", "cmc": "Cmc"}
TEMPERATURES: Final = (0.0, 1.0, 5.0, 10.0, 20.0)
FOLDS: Final = 5


def forest(domain: Any, b1: float, b2: float):
    """Return a function that makes the forest from a seed."""
    settings = {**SETTINGS, "feature_temperature": b1, "value_temperature": b2}
    return lambda seed: MultinomialForestClassifier(
        epsilon=None, mode="as_published", stopping=RULE, domain=domain, structure_seed=seed, **settings
    )


def cells(*, quick: bool = False, folder: Path | None = None) -> Iterator[Cell]:
    """Yield a cell for each table and pair of temperatures."""
    over = TEMPERATURES[:1] if quick else TEMPERATURES
    for name, title in list(TABLES.items())[: 1 if quick else None]:
        for b1, b2 in product(over, over):
            yield Cell(f"{title}, B₁ = {b1:g}, B₂ = {b2:g}", partial(_measured, name, title, b1, b2, folder))


def _measured(name: str, title: str, b1: float, b2: float, folder: Path | None) -> list[Record]:
    data = load(name, folder)
    accuracy = accuracies(forest(data.domain, b1, b2), data, 1, FOLDS)
    return [point(PAPER, f"figure 4, accuracy over B₂, {title}", f"B₁ = {b1:g}", "B₂", b2, accuracy, None)]
