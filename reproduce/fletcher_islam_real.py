"""Fletcher and Islam on real tables: table 3 (empty leaves), and the real tables of figures 12 and 13 (AUC, F1).

ε is 1. There are ten folds, as in the paper, because fits on fewer rows would have more empty leaves. This module
leaves out Adult and Mushroom in table 3: at the paper's depth, a tree with a branch for each value would have more
leaves than fit in memory. `reproduce.fletcher_islam_occupied` measures these two tables.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any, Final

import numpy as np
import pandas as pd

from dpforest.simulation.sweep import surface
from reproduce.cells import Cell
from reproduce.fletcher_islam import DEPTHS, PAPER, THEIR_FITS, WHY, forests
from reproduce.protocol import Record, at_hand, compared, load

# Printed shares of empty leaves in percent, with one tree and with thirty trees.
TABLE_3: Final = {
    "wall_following_4": ("WallSensor", 48.6, 65.1), "pendigits": ("PenWritten", 92.4, 97.7),
    "magic": ("GammaTele", 86.2, 93.5), "clave": ("Claves", 0.0, 28.7), "nursery": ("Nursery", 0.2, 7.2),
}  # fmt: skip
TREES: Final = (1, 30)
# Printed values of the paper's forest and of the forest of Jagannathan et al. (JPW), in percent.
SCORES: Final = {
    "auc": {"magic": ("GammaTele", 84.8, 83.6), "mushroom": ("Mushroom", 99.2, 99.1), "adult": ("Adult", 86.1, 80.8)},
    "f1": {"magic": ("GammaTele", 27.6, 16.5), "mushroom": ("Mushroom", 96.9, 74.7), "adult": ("Adult", 54.3, 25.9)},
}
FIGURES: Final = {"auc": "figure 12, AUC, real tables", "f1": "figure 13, F1, real tables"}
QUICK: Final = ("nursery", "mushroom")
FOLDS, REPEATS = 10, 3  # the folds of a repeat share its trees
_EMPTY: Final = "not explained; the domain has the ranges of the rows here, as in their program"
_SCORES: Final = {
    "theirs": "not explained: the paper does not state which score its AUC ranks; both F1 are those of the rarer class",
    "JPW": WHY["JPW"],
}


def cells(*, quick: bool = False, folder: Path | None = None) -> Iterator[Cell]:
    """Yield a cell for each table of table 3, and for each table of the figures."""
    for work, tables in ((_empty, TABLE_3), (_scores, SCORES["auc"])):
        for name in tables:
            if not quick or name in QUICK:
                what = "table 3" if work is _empty else "figures 12 and 13"
                work_at_hand = partial(work, name, 1 if quick else REPEATS, folder) if at_hand(name, folder) else None
                yield Cell(f"{what}, {name}", work_at_hand)


def _empty(name: str, repeats: int, folder: Path | None) -> Iterator[Record]:
    title, *row = TABLE_3[name]
    by_mode = _cells(name, load(name, folder, incomplete="drop"), TREES, ("theirs",), repeats)
    for trees, printed in zip(TREES, row, strict=True):
        setting = f"{title}, {trees} tree{'s' if trees > 1 else ''}"
        yield _record("table 3, empty leaves, real tables", setting, printed, by_mode, "theirs", "empty", trees, _EMPTY)


def _scores(name: str, repeats: int, folder: Path | None) -> Iterator[Record]:
    by_mode = _cells(name, load(name, folder, incomplete="drop"), (100,), ("theirs", "JPW"), 1)
    for measure, item in FIGURES.items():
        title, *printed = SCORES[measure][name]
        for forest, figure in zip(("theirs", "JPW"), printed, strict=True):
            yield _record(item, f"{title}, {forest}", figure, by_mode, forest, measure, None, _SCORES[forest])


def _cells(
    name: str, data: Any, trees: tuple[int, ...], wanted: tuple[str, ...], repeats: int
) -> dict[str, pd.DataFrame]:
    """Return the measurements of the named forests in each mode; without public bounds, in the published mode only."""
    modes = ("as_published",) if data.domain.leaks() else ("as_published", "certified")
    common: dict[str, Any] = {"epsilons": [1.0], "repeats": repeats, "folds": FOLDS, "plan_for": "split"}
    by_mode = {}
    for mode in modes:
        every = forests(name, data.domain, mode)
        named = {key: every[key](0).set_params(domain=None) for key in wanted}
        frames = [surface({"theirs": named.pop("theirs")}, data, depths=(DEPTHS[name],), trees=trees, **common)]
        frames += [surface(named, data, **common)] if named else []
        by_mode[mode] = pd.concat(frames, ignore_index=True)
    return by_mode


def _record(
    item: str,
    setting: str,
    printed: float,
    by_mode: dict[str, pd.DataFrame],
    forest: str,
    measure: str,
    trees: int | None,
    why: str,
) -> Record:
    values = {mode: _values(cells, forest, measure, trees) for mode, cells in by_mode.items()}
    ours, certified = values["as_published"], values.get("certified")
    group = forest if trees is None else f"{trees} tree{'s' if trees > 1 else ''}"
    return compared(PAPER, item, setting, printed, ours, certified, why, n_theirs=THEIR_FITS, group=group)


def _values(cells: pd.DataFrame, forest: str, measure: str, trees: int | None) -> np.ndarray:
    """Return a measure in percent for every fold."""
    selected = cells[(cells.forest == forest) & np.isfinite(cells.epsilon)]
    return 100 * selected[selected.trees == trees if trees else slice(None)][measure].to_numpy(float)
