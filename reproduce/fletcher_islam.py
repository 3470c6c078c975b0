"""Fletcher and Islam, figure 11: accuracy at ε = 1 of their forest and of its two baselines.

S. Fletcher, M. Z. Islam, *Differentially private random decision forests using smooth sensitivity* (arXiv 1606.03572).
The paper repeats ten folds ten times; this module runs two repeats of five folds. The paper's forest has 100 trees. The
baselines are the forest of Jagannathan et al. (JPW), with ten trees, and the tree of Friedman and Schuster (FS), with
depth 5. The paper does not name the split score of FS. Here, the published mode scores splits by the information gain.
This score needs the exact number of rows, which is public under replace-one only. The certified mode uses this
project's default score.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any, Final

from dpforest import (
    FriedmanSchusterClassifier,
    JagannathanForestClassifier,
    MajorityLabelForestClassifier,
)
from reproduce.cells import Cell
from reproduce.protocol import Record, accuracies, at_hand, certified_accuracies, compared, load

PAPER: Final = "Fletcher and Islam 2017"
ITEM: Final = "figure 11, accuracy at ε = 1"
# Printed accuracies of the paper's forest, JPW and FS, on the bundled tables.
PUBLISHED: Final = {
    "pendigits": ("PenWritten", 83.9, 80.0, 34.9),
    "magic": ("GammaTele", 75.0, 68.0, 65.8),
    "adult": ("Adult", 82.1, 78.6, 77.7),
    "mushroom": ("Mushroom", 97.3, 92.2, 83.0),
    "nursery": ("Nursery", 75.0, 63.9, 40.4),
    "wall_following_4": ("WallSensor", 64.5, 44.1, 41.3),
    "clave": ("Claves", 67.5, 70.0, 31.9),
}
QUICK: Final = ("mushroom", "nursery")
DEPTHS: Final = {
    "pendigits": 12,
    "magic": 8,
    "adult": 9,
    "mushroom": 11,
    "nursery": 4,
    "wall_following_4": 4,
    "clave": 8,
}
FS: Final[dict[str, dict[str, Any]]] = {
    "as_published": {"max_depth": 5, "mode": "as_published", "criterion": "entropy", "neighbors": "replace-one"},
    "certified": {"max_depth": 5, "scale_share": "public"},
}
REPETITIONS, FOLDS = 2, 5
THEIR_FITS: Final = 100  # number of the paper's fits: ten folds, ten times
FORESTS: Final = ("theirs", "JPW", "FS")
WHY: Final = {
    "theirs": "not explained: thresholds in the ranges of the rows, as in their program, change it by less than 0.1",
    "JPW": "not explained: for this baseline, the paper states only a depth and ten trees",
    "FS": "not explained: the program of this baseline is not public; FS as its authors publish it is more accurate",
    "clave": "not explained: all attributes have two values, so neither ranges nor branches can differ",
    "nursery": "not explained: the paper counts four classes here, and does not say which rows it left out",
}


def forests(table: str, domain: Any, mode: str) -> dict[str, Any]:
    """Return for each forest a function that makes it from a seed."""
    theirs = {"n_estimators": 100, "max_depth": DEPTHS[table], "domain": domain, "mode": mode}
    return {
        "theirs": lambda seed: MajorityLabelForestClassifier(
            **theirs, scale_share="public", structure_seed=seed, random_state=seed + 1
        ),
        "JPW": lambda seed: JagannathanForestClassifier(
            n_estimators=10, scale_share="public", domain=domain, mode=mode, structure_seed=seed, random_state=seed + 1
        ),
        "FS": lambda seed: FriedmanSchusterClassifier(**FS[mode], domain=domain, random_state=seed + 1),
    }


def cells(*, quick: bool = False, folder: Path | None = None) -> Iterator[Cell]:
    """Yield a cell for each table and forest."""
    for table in QUICK if quick else PUBLISHED:
        name, *printed = PUBLISHED[table]
        if not at_hand(table, folder):
            yield Cell(name, None)
            continue
        for forest, published in zip(FORESTS, printed, strict=True):
            work = partial(_measured, table, name, forest, published, 1 if quick else REPETITIONS, folder)
            yield Cell(f"{name}, {forest}", work)


def _measured(
    table: str, name: str, forest: str, published: float, repetitions: int, folder: Path | None
) -> list[Record]:
    data = load(table, folder, incomplete="drop")
    ours, certified = (
        run(forests(table, data.domain, mode)[forest], data, repetitions, FOLDS)
        for run, mode in ((accuracies, "as_published"), (certified_accuracies, "certified"))
    )
    why = WHY.get(table, WHY[forest])
    return [
        compared(PAPER, ITEM, f"{name}, {forest}", published, ours, certified, why, n_theirs=THEIR_FITS, group=forest)
    ]
