"""The tab α: the boosted forest with each way to score a split, one line each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from dpforest.evaluation.headroom import POINT
from dpforest.evaluation.smallest_epsilon import held_out_margin
from dpforest.plotting.compare import MeasureScale
from ui.compare.changed_settings import applied
from ui.compare.comparison_controls import COARSE, Comparison
from ui.jobs.lines import settings_of
from ui.jobs.results import SweepResult
from ui.jobs.sweep_job import Line
from ui.shared.boost_controls import ALPHAS
from ui.shared.tables import Table

CONSTANT = (0.0, 0.1, 0.5, 1.0)
KIND = "boosted"


def strategies(view: Comparison, table: Table) -> list[Line]:
    """Return lines of the certified boosted forest: constant α, and the rules that Explore offers for α."""
    settings, _ = applied(settings_of(table, KIND, "certified", view.neighbors), view.changes_of(KIND))
    alphas: dict[str, float | str] = {f"α = {value:g}": value for value in CONSTANT}
    alphas |= {f"α {name}": how for name, how in ALPHAS["certified"].items() if how not in ("fixed", "hand")}
    grid = tuple(sorted({*COARSE, view.epsilon}))
    return [
        Line(replace(settings, options=(("alpha", how), *settings.options)), grid, title=name)
        for name, how in alphas.items()
    ]


@dataclass(frozen=True)
class Apart:
    """The best strategy at one ε, and those that are behind it by more than luck."""

    epsilon: float
    best: str
    mean: float
    behind: dict[str, float]  # difference from the best mean, by name


def apart(done: SweepResult, measure: str) -> list[Apart]:
    """Return, for each ε, the strategies that differ from the best by more than luck.

    Luck is the largest of three: one percentage point, the margin of the held-out rows, and two standard errors of the
    difference between releases with the same seeds.
    """
    pieces, compared = done.pieces[np.isfinite(done.pieces["epsilon"])], []
    n_test = float(pieces.groupby("fold")["n_test"].first().sum())
    for epsilon, here in pieces.groupby("epsilon"):
        wide = here.pivot_table(index=["repeat", "fold"], columns="forest", values=measure)
        if wide.empty:
            continue
        means = wide.mean()
        best = str(means.idxmax())
        margin = float(held_out_margin([min(max(means[best], 0.0), 1.0)], [n_test])[0])
        behind = {}
        for name in means.drop(best).sort_values(ascending=False).index:
            differences = (wide[best] - wide[name]).dropna()
            error = 2 * float(differences.std(ddof=1)) / np.sqrt(len(differences)) if len(differences) > 1 else np.inf
            if differences.mean() > max(POINT, margin, error):
                behind[str(name)] = float(differences.mean())
        compared.append(Apart(float(str(epsilon)), best, float(means[best]), behind))
    return compared


def sentence(compared: Sequence[Apart], epsilon: float, scale: MeasureScale) -> str:
    """State which strategies differ at this ε, and up to which ε none does."""
    if not compared:
        return ""
    here = min(compared, key=lambda at: abs(np.log(at.epsilon / epsilon)))
    text = f"At ε = {here.epsilon:g} **{here.best}** comes first: {scale.text(here.mean)}."
    first = next((i for i, at in enumerate(compared) if at.behind), len(compared))
    if here.behind:
        others = ", ".join(f"{name} ({scale.gap(by)})" for name, by in here.behind.items())
        text += f" Behind it by more than luck: {others}."
    elif first < len(compared):
        text += " No other strategy is behind it by more than luck."
    if first == len(compared):
        text += " At every ε here, no strategy is behind the best by more than luck."
    elif first:
        text += f" Up to ε = {compared[first - 1].epsilon:g}, no strategy is behind the best by more than luck."
    return text
