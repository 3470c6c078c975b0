"""Measures of accuracy that the user can choose, with their floor (guessing) and ceiling (no privacy)."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from dpforest.plotting.compare import MeasureScale
from ui.jobs.baselines import Baselines, floor_of
from ui.jobs.results import SweepResult, ceiling_of

WORST: Final = "accuracy of the worst group"
# Each measure by the name that pages show, with its column in the results of a sweep.
MEASURES: Final = {
    "accuracy": "accuracy",
    "balanced accuracy": "balanced_accuracy",
    "AUC": "auc",
    "F1": "f1",
    WORST: "worst_group",
}
IN_PERCENT: Final = ("accuracy", "balanced accuracy", WORST)
# The guess that defines the floor, for each measure that has a floor.
GUESSES: Final = {
    "accuracy": "always the most frequent class",
    "balanced_accuracy": "always one class",
    "auc": "a coin",
}


def scale_of(measure: str, baselines: list[Baselines], result: SweepResult) -> MeasureScale:
    """Return the format, floor and ceiling of a measure. The ceiling is None until all models are fitted.

    Floor and ceiling are means over splits. `baselines` has one item for each split.
    """
    name = MEASURES[measure]
    floor = floor_of(baselines, name)
    scale = MeasureScale(measure, measure in IN_PERCENT, floor, None)
    floor_text = "" if floor is None else f"{GUESSES[name]} {scale.text(floor)}: the floor"
    best = ceiling_of(result, baselines, name)
    if best is None:
        return replace(scale, floor_text=floor_text)
    return replace(
        scale,
        ceiling=best.value,
        floor_text=floor_text,
        ceiling_text=f"{best.words} {scale.text(best.value)}",
    )
