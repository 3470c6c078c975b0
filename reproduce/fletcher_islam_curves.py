"""Fletcher and Islam, figures 9 and 10: accuracy over the number of rows, and over ε next to forests without privacy.

The paper prints no numbers for these curves. Figure 10 is on Adult. Our version of figure 10 has three folds, each with
separate noise and trees. Breiman's forest is scikit-learn's, with a hundred trees and default settings, because the
paper names no settings.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any, Final

import numpy as np
import pandas as pd

from dpforest import MajorityLabelForestClassifier
from dpforest.simulation.sweep import surface
from dpforest.tables.datasets import make_synthetic
from reproduce.cells import Cell
from reproduce.comparators import BreimanForest
from reproduce.fletcher_islam import PAPER
from reproduce.fletcher_islam_leaves import with_its_ranges
from reproduce.protocol import Record, accuracies, load, point

FIGURE_9: Final = "figure 9, accuracy over rows, SynthF"
FIGURE_10: Final = "figure 10, accuracy over ε, Adult"
ROWS: Final = (3_000, 30_000, 300_000, 3_000_000)
BUDGETS: Final = (0.01, 0.1, 1.0)
DRAWS: Final = 3
LARGE: Final = 1_000_000  # sets with more rows are drawn only once
ADULT: Final = tuple(round(0.2 * i, 1) for i in range(1, 9))
FOLDS: Final = 3
MODES: Final = ("as_published", "certified")


def cells(*, quick: bool = False, folder: Path | None = None) -> Iterator[Cell]:
    """Yield a cell for each number of rows, and for each half of figure 10."""
    for n_rows in ROWS[:1] if quick else ROWS:
        yield Cell(f"figure 9, {n_rows} rows", partial(over_rows, n_rows))
    if not quick:
        yield Cell("figure 10", over_budgets)
        yield Cell("figure 10, Breiman", breimans)


def over_rows(n_rows: int) -> Iterator[Record]:
    """Yield the points of a number of rows on the synthetic set F. Each repetition draws the set anew."""
    frames: dict[str, list[pd.DataFrame]] = {mode: [] for mode in MODES}
    for draw in range(1 if n_rows > LARGE else DRAWS):
        data = make_synthetic("SynthF", n_rows, seed=draw)
        for mode in MODES:
            table = with_its_ranges(data) if mode == "as_published" else data
            common: dict[str, Any] = {"epsilons": BUDGETS, "trees": (100,), "seed": draw, "plan_for": "split"}
            frames[mode].append(surface({"F": forest(8, mode)}, table, repeats=1, **common))
    by_mode = {mode: pd.concat(of_mode) for mode, of_mode in frames.items()}
    for epsilon in BUDGETS:
        ours, certified = (_at(by_mode[mode], epsilon) for mode in MODES)
        yield point(PAPER, FIGURE_9, f"ε = {epsilon:g}", "rows", n_rows, ours, certified)


def over_budgets() -> Iterator[Record]:
    """Yield points of the paper's forest with privacy, and without privacy.

    Without privacy, every tree reads all rows.
    """
    data, common = (
        load("adult", None),
        dict[str, Any](epsilons=ADULT, trees=(100,), repeats=FOLDS, folds=FOLDS, plan_for="split"),
    )
    by_mode = {mode: surface({"labels": forest(9, mode)}, data, **common) for mode in MODES}
    for epsilon in ADULT:
        ours, certified = (_at(by_mode[mode], epsilon) for mode in MODES)
        yield point(PAPER, FIGURE_10, "100 trees", "ε", epsilon, ours, certified)
    for epsilon in ADULT:
        yield point(PAPER, FIGURE_10, "without privacy", "ε", epsilon, _at(by_mode["as_published"], np.inf), None)


def breimans() -> Iterator[Record]:
    """Yield points of Breiman's forest, which is the same at every ε."""
    data = load("adult", None)
    ours = accuracies(lambda seed: BreimanForest(data.domain, seed=seed, min_leaf=1), data, 1, FOLDS)
    for epsilon in ADULT:
        yield point(PAPER, FIGURE_10, "Breiman, without privacy", "ε", epsilon, ours, None)


def forest(depth: int, mode: str) -> MajorityLabelForestClassifier:
    """Return the paper's forest."""
    return MajorityLabelForestClassifier(max_depth=depth, scale_share="public", mode=mode)


def _at(scores: pd.DataFrame, epsilon: float) -> np.ndarray:
    return 100 * scores[scores.epsilon == epsilon].accuracy.to_numpy(float)
