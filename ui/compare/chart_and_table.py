"""The chart, the table and the notes of the Compare page, drawn from the finished releases of the sweeps."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import streamlit as st

from dpforest.evaluation.groups import MIN_PERSONS
from dpforest.evaluation.headroom import cheap_from
from dpforest.plotting.compare import MeasureScale, Series, comparison
from dpforest.plotting.curve import mark_epsilons
from dpforest.privacy.rationals import printed_decimal
from dpforest.tables.features import plural
from ui.compare.comparison_controls import Comparison
from ui.forest.forest_options import DELTA
from ui.forest.forests import FORESTS, ForestSettings
from ui.jobs.baselines import Baselines
from ui.jobs.measures import MEASURES, WORST
from ui.jobs.results import SweepResult, headroom_of
from ui.jobs.sweep_job import SweepJob
from ui.shared import figures
from ui.shared.epsilon import OTHERS
from ui.shared.headroom_words import points
from ui.shared.loss_words import at_delta, caution_on_delta
from ui.shared.page import badge, chart
from ui.shared.tables import Table, n_persons
from ui.shared.wording import epsilon_text, plain, unbroken


def lines_chart(
    view: Comparison, lines: Sequence[SweepJob], result: SweepResult, scale: MeasureScale, place: Any, key: str
) -> Any:
    """Draw all forests against ε.

    A run that draws the chart again needs another `key`, because Streamlit refuses a key twice in one run.
    """
    series = [series_of(view, line, result, scale, list(FORESTS).index(line.line.settings.kind)) for line in lines]
    figure = comparison(series, view.epsilon, scale, bands=view.bands)
    mark_epsilons(figure, OTHERS)
    epsilons = series[0].epsilons
    # Index of the simulated ε that is nearest to the slider's ε.
    nearest = min(range(len(epsilons)), key=lambda i: abs(epsilons[i] - view.epsilon))
    values = ", ".join(f"{curve.name} {scale.text(curve.mean[nearest])}" for curve in series)
    return chart(
        figure,
        f"{scale.name} at ε = {view.epsilon:g}: {values}.",
        place,
        title=f"{scale.name[0].upper()}{scale.name[1:]} against ε",
        key=key,
    )


def series_of(view: Comparison, line: SweepJob, result: SweepResult, scale: MeasureScale, color: int) -> Series:
    """Return the curve of one forest against ε, with its band."""
    name, settings = line.line.name, line.line.settings
    cells = result.cells.loc[name].reset_index()
    cells = cells[np.isfinite(cells["epsilon"])].sort_values("epsilon")
    values = cells[MEASURES[view.measure]]
    texts = [
        f"<b>{name}</b><br>{_promise(settings, e)}: {scale.text(m)}"
        f"<br>8 in 10 releases: {scale.text(low)} to {scale.text(high)}"
        for e, m, low, high in zip(cells["epsilon"], values["mean"], values["low"], values["high"], strict=True)
    ]
    return Series(
        name,
        color,
        not settings.certified,
        cells["epsilon"].to_numpy(float),
        values["mean"].to_numpy(float),
        values["low"].to_numpy(float),
        values["high"].to_numpy(float),
        texts,
        has_delta=settings.delta > 0,
    )


def _promise(settings: ForestSettings, epsilon: float) -> str:
    if settings.certified:
        return f"ε = {epsilon:g}{at_delta(settings.delta)}"
    return f"claims ε = {epsilon:g}, true loss: no finite bound is known"


def _bound(loss: float, epsilon: float) -> float | Fraction:
    """Return the loss, but at most the typed ε.

    The loss is a float that was rounded up, so it may exceed ε in the last digits.
    """
    return loss if np.isinf(loss) else min(Fraction(loss), printed_decimal(epsilon))


def table(view: Comparison, lines: Sequence[SweepJob], result: SweepResult, baselines: list[Baselines]) -> pd.DataFrame:
    """Return one row for each forest at the slider's ε. A forest that only guesses has no price of privacy."""
    rows, headrooms = [], headroom_of(result, baselines, "accuracy")
    for line in lines:
        cells = result.cells.loc[line.line.name].reset_index()
        private, nonprivate = cells[cells["epsilon"] == view.epsilon].iloc[0], cells[np.isinf(cells["epsilon"])].iloc[0]
        mean, noiseless = private["accuracy", "mean"], nonprivate["accuracy", "mean"]
        forest_headroom = headrooms[line.line.name]
        grid = cells[np.isfinite(cells["epsilon"])].sort_values("epsilon")
        cheap = cheap_from(grid["epsilon"].to_numpy(float), grid["accuracy", "mean"].to_numpy(float), forest_headroom)
        rows.append(
            {
                "forest": line.line.name,
                "accuracy": mean,
                "8 in 10 from": private["accuracy", "low"],
                "to": private["accuracy", "high"],
                "its kind without noise": noiseless,
                "best above guessing": "no more than luck"
                if forest_headroom.has_none
                else points(max(noiseless, forest_headroom.private) - forest_headroom.floor),
                "price of privacy": None if forest_headroom.has_none else 100 * (noiseless - mean),
                "next to no price from ε": cheap,
                "balanced": private["balanced_accuracy", "mean"],
                "AUC": private["auc", "mean"],
                "F1": private["f1", "mean"],
                "log-loss": private["log_loss", "mean"],
                "calibration error": private["calibration", "mean"],
                "flipped": private["flips", "mean"],
                "empty leaves": private["empty", "mean"],
                "true loss": epsilon_text(_bound(line.loss(view.epsilon), view.epsilon))
                + at_delta(line.line.settings.delta),
                "depth": int(private["depth", ""]),
                "trees": int(private["trees", ""]),
            }
        )
    table = pd.DataFrame(rows).sort_values("accuracy", ascending=False, ignore_index=True)
    numbers = ["price of privacy", "next to no price from ε"]
    return table.astype(dict.fromkeys(numbers, float))


def show_table(table: pd.DataFrame, n: int, place: Any = st) -> None:
    """Draw the table. `n` (number of releases) is part of its key, because a run may draw the table several times."""
    share = st.column_config.NumberColumn(format="percent")
    shares = ("accuracy", "8 in 10 from", "to", "balanced", "empty leaves")
    three_digits = st.column_config.NumberColumn(format="%.3f")
    figures.table(
        table,
        "All forests",
        place,
        hide_index=True,
        width="stretch",
        key=f"compared_{n}",
        placeholder="–",
        column_config={
            **dict.fromkeys(shares, share),
            **dict.fromkeys(("AUC", "F1", "log-loss", "calibration error"), three_digits),
            "forest": st.column_config.TextColumn(pinned=True),
            "its kind without noise": st.column_config.NumberColumn(
                format="percent", help="The price of privacy is the loss compared with this."
            ),
            "best above guessing": st.column_config.TextColumn(
                help="Its best accuracy, with noise or without, minus that of guessing."
            ),
            "price of privacy": st.column_config.NumberColumn(
                format="%.1f points",
                help="How much better the same forest is without noise. Empty where it is no better than "
                "guessing: then noise takes nothing away.",
            ),
            "next to no price from ε": st.column_config.NumberColumn(
                format="%g",
                help="From this ε on the forest stays within one point of itself without noise, and loses at most a "
                "quarter of what it is above guessing.",
            ),
            "flipped": st.column_config.NumberColumn(
                format="percent", help="Share of rows in leaves whose label differs from the label without noise."
            ),
            "true loss": st.column_config.TextColumn(help="At most; ∞ where no finite bound is proved."),
        },
    )


def cannot_be_measured(view: Comparison, result: SweepResult) -> str:
    """Explain why no values of a measure can be computed. The text is empty if the measure has values."""
    if result.cells[MEASURES[view.measure]]["mean"].notna().any():
        return ""
    if view.measure == WORST:
        return f"No group of “{plain(view.column, 30)}” has {MIN_PERSONS} held-out members. Choose another column."
    return (
        f"{view.measure} cannot be measured here, because all held-out rows have the same class. Choose another "
        "measure, or hold every row out once (Fine settings)."
    )


def about_claims() -> None:
    """Explain that dashed lines are published mechanisms, whose true privacy loss has no known bound."""
    with st.container(border=True):
        badge("Not certified")
        st.markdown(
            "Dashed lines are mechanisms as papers printed them, drawn at the ε that is claimed. No finite bound "
            "on their true loss is known, so a dashed line above a solid one does not mean more accuracy for the "
            "same privacy."
        )


def about_delta(table: Table, forests_text: str = "Dash-dotted lines") -> None:
    """Explain what δ above 0 means for some forests, and why all forests can be compared at the same δ."""
    text = (
        f"{forests_text} have a weaker promise: the probability of a result may exceed what ε allows by δ = 10⁻⁶ (one "
        "in a million). A forest with δ = 0 keeps its ε at every δ, so all of them can be compared at δ = 10⁻⁶."
    )
    st.caption(unbroken(text))
    if caution := caution_on_delta(DELTA, n_persons(table), table.domain.unit):
        st.warning(caution, icon=":material/warning:")


def about_leaks(table: Table) -> None:
    """Warn that no forest is certified on a table whose schema was read from the rows."""
    leaks = table.domain.leaks()
    if leaks:
        n_others = len(leaks) - 1
        verb = "was" if n_others == 1 else "were"
        more = f" {plural(n_others, 'other part')} of the schema {verb} read from the data, too."
        with st.container(horizontal=True, vertical_alignment="center", gap="small"):
            badge("Not certified")
            st.caption(
                "At present no forest on this table would be certified, even where the page shows its ε. "
                f"{plain(leaks[0], 200)}{more if n_others else ''} The Data tab of Explore says how to correct this.",
                width="stretch",
            )
