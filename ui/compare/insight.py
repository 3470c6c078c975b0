"""A sentence that names the best forest, the forests that differ from it only by chance, and those that only guess.

A forest only guesses if its accuracy is not clearly better than that of guessing.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Final

import pandas as pd

from dpforest.evaluation.headroom import Headroom
from dpforest.plotting.compare import MeasureScale
from ui.compare.comparison_controls import Comparison
from ui.jobs.measures import MEASURES
from ui.jobs.results import SweepResult

MOST_NAMED: Final = 3  # largest number of forests that the sentence names


def insight(
    view: Comparison,
    result: SweepResult,
    scale: MeasureScale,
    headrooms: dict[str, Headroom],
    published: Collection[str] = (),
) -> str:
    """Name the best certified forest at this ε, those that differ from it only by chance, and those that only guess.

    `published` has the names of published forests, which the sentence leaves out.
    """
    cells = result.cells[MEASURES[view.measure]].reset_index()
    at_epsilon = cells[(cells["epsilon"] == view.epsilon) & ~cells["forest"].isin(published)].sort_values("mean")
    at_epsilon = at_epsilon.dropna(subset=["mean"])
    best, other_forests = at_epsilon.iloc[-1], at_epsilon.iloc[:-1]
    guessing_forests = [name for name in at_epsilon["forest"] if headrooms[name].has_none]
    if len(guessing_forests) == len(at_epsilon):
        return _no_forest_words(view, scale, any(headrooms[name].learnable for name in guessing_forests))
    text = _best_words(view, scale, best, other_forests, headrooms[best["forest"]])
    if scale.floor is not None and (
        worse_forests := list(other_forests[other_forests["mean"] < scale.floor]["forest"])
    ):
        text += f". Worse than guessing at this ε: {_listed(worse_forests)}"
    if guessing_forests:
        text += (
            f". No better than guessing by {view.measure}, at any ε and without noise too: {_listed(guessing_forests)}"
        )
    return text + "."


def _no_forest_words(view: Comparison, scale: MeasureScale, learnable: bool) -> str:
    """State that no forest is better than guessing, so that their order has no meaning."""
    guessing = "guessing" if scale.floor is None else f"guessing ({scale.text(scale.floor)})"
    who = "No forest here exceeds" if len(view.kinds) > 1 else "This forest does not exceed"
    text = (
        f"**{who} {guessing} in {view.measure} by more than luck** on the held-out rows, at any ε or without noise. So "
        "privacy takes nothing away, and a release would spend ε on predictions no better than guessing, which costs "
        "none."
    )
    if learnable:
        text += (
            f" There is something to learn ({scale.ceiling_text}): try other depths (tabs below), other forests, or "
            "narrower public bounds, where narrower ones are known without looking."
        )
    elif scale.ceiling is not None:
        text += (
            f" The best model without privacy does not exceed guessing by more than luck either ({scale.ceiling_text})."
        )
    return text


def _best_words(
    view: Comparison, scale: MeasureScale, best: pd.Series, other_forests: pd.DataFrame, headroom: Headroom
) -> str:
    """Name the best forest at this ε, and the forests whose spread over releases overlaps with that of the best."""
    if scale.floor is not None and best["mean"] <= scale.floor + headroom.noise:
        return (
            f"At ε = {view.epsilon:g} no forest is better than guessing ({scale.text(scale.floor)}) by more than luck; "
            f"**{best['forest']}** comes first with {scale.text(best['mean'])}"
        )
    close = list(other_forests[other_forests["high"] >= best["low"]]["forest"])[::-1]
    text = f"At ε = {view.epsilon:g}, **{best['forest']}** comes first: {scale.text(best['mean'])}"
    if scale.ceiling is not None and best["mean"] <= scale.ceiling:
        text += f", {scale.gap(scale.ceiling, best['mean'])} below the best without privacy"
    if close:
        names = _names_or_number(close, len(other_forests))
        text += f". Spreads overlap: in another release, {names} may be ahead of it"
    return text


def _names_or_number(overlapping: Sequence[str], n_others: int) -> str:
    """Name the forests if they are few, else state how many: a long sentence would push the chart off the screen."""
    if len(overlapping) <= MOST_NAMED:
        return _listed(overlapping)
    return f"all {n_others} others" if len(overlapping) == n_others else f"{len(overlapping)} of the {n_others} others"


def _listed(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
