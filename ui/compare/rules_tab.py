"""The tab “α and voting”: a line for each value of one setting, and a sentence that names the lines that differ.

α is a setting of boosted trees, and voting is a setting of forests. A line is a curve of accuracy against ε.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np
import streamlit as st

from dpforest.evaluation.headroom import POINT
from dpforest.evaluation.smallest_epsilon import held_out_margin
from dpforest.plotting.compare import MeasureScale
from dpforest.tables.features import plural
from ui import state
from ui.compare.changed_settings import applied
from ui.compare.comparison_controls import COARSE, Comparison
from ui.forest.boost_controls import ALPHAS
from ui.forest.forest_options import VOTING
from ui.jobs.lines import settings_of
from ui.jobs.results import SweepResult
from ui.jobs.sweep_job import Line
from ui.shared.controls import LINKED, drop_unknown
from ui.shared.tables import Table

CONSTANT_ALPHAS = (0.0, 0.1, 0.5, 1.0)  # values of α that are the same on all levels


@dataclass(frozen=True)
class Rules:
    """A setting of one forest. The tab draws a line for each value of the setting.

    Parameters
    ----------
    kind : str
        The forest, by its name in `FORESTS`.
    parameter : str
        Parameter of the estimator.
    values : mapping of str to object
        Value of the parameter for each line, by the name of the line.
    noun : str
        Word for a line in sentences.
    title, varied, help : str
        Heading of the tab in two parts, and an explanation of the lines.
    """

    kind: str
    parameter: str
    values: Mapping[str, Any]
    noun: str
    title: str
    varied: str
    help: str


RULES: Final = {
    "α": Rules(
        "boosted",
        "alpha",
        {f"α = {value:g}": value for value in CONSTANT_ALPHAS}
        | {f"α {name}": how for name, how in ALPHAS["certified"].items() if how not in ("fixed", "hand")},
        "strategy",
        "Boosted trees",
        "by how questions are judged",
        "α mixes two ways to judge a question. At 0 only correctly classified records count, which needs little "
        "noise. At 1 a question that pays off further down the tree counts, too, which needs far more noise. The bands "
        "hold eight in ten simulated releases.",
    ),
    "voting rule": Rules(
        "noisy counts",
        VOTING.parameter,
        VOTING.choices["certified"],
        "rule",
        "Noisy counts",
        "by how the forest combines the answers of its trees",
        "All lines have the same trees and the same noisy counts; only the voting differs, which costs no ε. Three "
        "rules are from Bojarski et al. “Majority”: each tree votes for a class. “Mean of shares” (threshold "
        "averaging): the largest mean share in the leaves wins. “Coin with the mean share” (probabilistic averaging): "
        "a class is drawn with its mean share as its probability. “Evidence added up” is ours: each leaf is evidence "
        "for a class. The bands hold eight in ten simulated releases.",
    ),
}


def choose() -> str:
    """Ask for the setting that the lines vary, and return its name in `RULES`."""
    drop_unknown(state.VARIED, RULES)
    names = list(RULES)
    name = st.segmented_control(
        "Lines differ in", names, default=names[0], required=True, key=state.VARIED, bind=LINKED
    )
    return name if name in RULES else names[0]


def lines(rules: Rules, view: Comparison, table: Table) -> tuple[list[Line], str]:
    """Return a line of the certified forest for each value of the setting, and a heading with changed settings."""
    settings = settings_of(table, rules.kind, "certified", view.neighbors)
    settings, note = applied(settings, view.changes_of(rules.kind), rules.parameter)
    others = tuple(option for option in settings.options if option[0] != rules.parameter)
    grid = tuple(sorted({*COARSE, view.epsilon}))
    return [
        Line(replace(settings, options=((rules.parameter, value), *others)), grid, title=name)
        for name, value in rules.values.items()
    ], f"{rules.title}{note}, {rules.varied}"


@dataclass(frozen=True)
class LineComparison:
    """The best line at one ε, and the lines that are worse by more than chance.

    Means are over the same `releases` simulated releases for all lines.
    """

    epsilon: float
    best: str
    mean: float
    releases: int
    deficits: dict[str, float]  # for each worse line, the best mean minus its mean


def compare_lines(result: SweepResult, measure: str, n_test: float) -> list[LineComparison]:
    """Return, for each ε, the lines that are worse than the best by more than chance.

    Lines are compared over the releases that all lines have. An ε without such releases is left out. A difference is
    more than chance if it exceeds three numbers: one percentage point, the margin of the held-out rows, and twice its
    standard error. The standard error is computed from pairs of releases with the same seeds. `n_test` is the number of
    rows on which an accuracy would be as precise as the measure (`baselines.effective_rows`).
    """
    pieces, comparisons = result.pieces[np.isfinite(result.pieces["epsilon"])], []
    n_lines = pieces["forest"].nunique()
    if measure == "worst_group":
        n_test = float(pieces.groupby("fold")["n_worst"].first().sum())
    for epsilon, rows in pieces.groupby("epsilon"):
        wide = rows.pivot_table(index=["repeat", "fold"], columns="forest", values=measure).dropna()
        if wide.empty or len(wide.columns) < n_lines:
            continue
        means = wide.mean()
        best = str(means.idxmax())
        margin = float(held_out_margin([min(max(means[best], 0.0), 1.0)], [n_test])[0])
        deficits = {}
        for name in means.drop(best).sort_values(ascending=False).index:
            differences = wide[best] - wide[name]
            error = 2 * float(differences.std(ddof=1)) / np.sqrt(len(differences)) if len(differences) > 1 else np.inf
            if differences.mean() > max(POINT, margin, error):
                deficits[str(name)] = float(differences.mean())
        comparisons.append(LineComparison(float(str(epsilon)), best, float(means[best]), len(wide), deficits))
    return comparisons


def sentence(comparisons: Sequence[LineComparison], epsilon: float, scale: MeasureScale, noun: str) -> str:
    """State which lines are worse than the best by more than chance at this ε.

    Also state up to which ε of the grid no line is worse by more than chance.
    """
    if not comparisons:
        return ""
    nearest = min(comparisons, key=lambda comparison: abs(np.log(comparison.epsilon / epsilon)))
    text = f"At ε = {nearest.epsilon:g}, “**{nearest.best}**” comes first: {scale.text(nearest.mean)} over "
    text += f"{plural(nearest.releases, 'simulated release')} of each {noun}."
    first_index = next((i for i, comparison in enumerate(comparisons) if comparison.deficits), len(comparisons))
    if nearest.deficits:
        others = ", ".join(f"{name} ({scale.gap(by)})" for name, by in nearest.deficits.items())
        text += f" Behind it by more than luck: {others}."
    elif first_index < len(comparisons):
        text += f" No other {noun} is behind it by more than luck."
    if first_index == len(comparisons):
        text += f" At every ε here, no {noun} is behind the best by more than luck."
    elif first_index:
        last = f"ε = {comparisons[first_index - 1].epsilon:g}"
        where = f"At {last}, the smallest compared" if first_index == 1 else f"Up to {last}"
        text += f" {where}, no {noun} is behind the best by more than luck."
    return text
