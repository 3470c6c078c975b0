"""Bojarski et al., figures 1 to 3: accuracy over depth, number of trees and η, for three voting rules.

The paper prints no numbers for these curves, and writes η for ε. Figures 1b and 1d draw the least, the mean and the
greatest error of majority vote over ten runs. Here, these errors are over five folds and up to three repeats. Figure 3
has the panels of figure 1 for the table Adult. If a leaf has a negative noisy count, the published mode discards the
leaf, and the certified mode sets the count to 0. As in table 1, η is 1000 / (number of training rows), unless η is the
axis.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any, Final

import numpy as np

from dpforest import RandomDecisionForestClassifier
from dpforest.simulation.sweep import surface
from reproduce.bojarski import PAPER
from reproduce.cells import Cell
from reproduce.protocol import Record, at_hand, load, point

TABLES: Final = {
    "congressional_voting": "CVR",
    "mushroom": "Mushroom",
    "banknote": "Banknote",
    "mammographic_mass": "Mammographic",
    "adult": "Adult",
}
LARGE: Final = ("adult",)  # these tables get one repeat
QUICK: Final = ("congressional_voting",)
VOTING: Final = {"majority vote": "majority", "mean of shares": "threshold", "label by lot": "probabilistic"}
DEPTHS, AT_TREES = (1, 2, 3, 5, 7, 9, 11, 13, 15), 21
TREES, AT_DEPTH = (1, 3, 5, 9, 15, 21, 51, 101), 10
ETAS, FEW = (0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0), 5
FOLDS, REPEATS = 5, 3  # the folds of a repeat share its trees and its noise
# For each figure: its name, its axis, the column of results on this axis, and the values of ε, depth and trees.
FIGURES: Final[tuple[tuple[str, str, str, dict[str, Any]], ...]] = (
    (f"figure 1a, over depth ({AT_TREES} trees)", "depth", "depth", {"depths": DEPTHS, "trees": (AT_TREES,)}),
    (f"figure 1c, over trees (depth {AT_DEPTH})", "trees", "trees", {"depths": (AT_DEPTH,), "trees": TREES}),
    (
        f"figure 2, over η ({FEW} trees of depth {AT_DEPTH})",
        "η",
        "epsilon",
        {"depths": (AT_DEPTH,), "trees": (FEW,), "epsilons": ETAS},
    ),
)
BEST: Final = "majority vote"
WITH_EXTREMES: Final = {
    FIGURES[0][0]: f"figure 1b, least and greatest error over depth ({AT_TREES} trees)",
    FIGURES[1][0]: f"figure 1d, least and greatest error over trees (depth {AT_DEPTH})",
}


def forests(mode: str) -> dict[str, Any]:
    """Return a forest for each voting rule."""
    rule = "paper" if mode == "as_published" else "clamp"
    return {
        line: RandomDecisionForestClassifier(voting=voting, negative_rule=rule, mode=mode, scale_share="public")
        for line, voting in VOTING.items()
    }


def cells(*, quick: bool = False, folder: Path | None = None) -> Iterator[Cell]:
    """Yield a cell for each table and figure."""
    for name in QUICK if quick else TABLES:
        for which in range(1 if quick else len(FIGURES)):
            work = partial(_curves, name, which, 1 if quick or name in LARGE else REPEATS, folder)
            yield Cell(f"{FIGURES[which][0]}, {TABLES[name]}", work if at_hand(name, folder) else None)


def _curves(name: str, which: int, repeats: int, folder: Path | None) -> Iterator[Record]:
    data = load(name, folder)
    modes = ("as_published",) if data.domain.leaks() else ("as_published", "certified")
    eta = round(1000 / (len(data.y) * (1 - 1 / FOLDS)), 6)
    figure, axis, column, over = FIGURES[which]
    settings: dict[str, Any] = {"epsilons": (eta,), "repeats": repeats, "folds": FOLDS, "plan_for": "split", **over}
    by_mode = {mode: surface(forests(mode), data, **settings) for mode in modes}
    for line in VOTING:
        for at in settings[f"{column}s"] if column != "trees" else settings["trees"]:
            ours, certified = (
                _accuracies(by_mode.get(mode), line, column, at) for mode in ("as_published", "certified")
            )
            assert ours is not None
            yield point(PAPER, f"{figure}, {TABLES[name]}", line, axis, at, ours, certified)
            if line == BEST and figure in WITH_EXTREMES:
                item = f"{WITH_EXTREMES[figure]}, {TABLES[name]}"
                for of_runs, which_run in ((np.max, "least error"), (np.mean, "mean"), (np.min, "greatest error")):
                    ends = (None if values is None else of_runs(values, keepdims=True) for values in (ours, certified))
                    yield point(PAPER, item, f"{line}, {which_run}", axis, at, *ends)


def _accuracies(cells: Any, line: str, column: str, at: float) -> np.ndarray | None:
    if cells is None:
        return None
    selected = cells[(cells.forest == line) & (cells[column] == at) & np.isfinite(cells.epsilon)]
    return 100 * selected.accuracy.to_numpy(float)
