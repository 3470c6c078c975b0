"""What the Compare page draws: lines, tables, small multiples and the map, from sweeps as far as they are done."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import pandas as pd
import streamlit as st

from dpforest.plotting.compare import Scale, Series, comparison
from dpforest.tradeoff import summary
from ui.compare_controls import IN_PERCENT, MEASURES, Comparison
from ui.forests import FORESTS
from ui.page import badge, chart
from ui.sweep import CEILING, Cells
from ui.tables import Table
from ui.wording import epsilon_text, plain, plural

QUANTILES = (0.1, 0.9)
ENOUGH = 0.01  # points of accuracy that count as no price


@dataclass(frozen=True, eq=False)
class Done:
    """A sweep as far as it is: all pieces, and what is said of them for each cell."""

    pieces: pd.DataFrame
    cells: pd.DataFrame  # of `tradeoff.summary`
    n: int
    folds: int

    @property
    def behind(self) -> str:
        """How many repeats and splits stand behind each point."""
        releases = plural(-(-self.n // self.folds), "simulated release")
        if self.folds == 1:
            return f"{releases} on one split"
        if self.n < self.folds:
            return f"one simulated release on each of {plural(self.n, 'split')}"
        rest = f", the last on {self.n % self.folds} only" if self.n % self.folds else ""
        return f"{releases} on each of {self.folds} splits{rest}"


def gathered(lines: Sequence[Cells], n: int, folds: int) -> Done:
    """The first n pieces of every line."""
    frames = []
    for line in lines:
        frame = line.frame(n)
        if not line.line.depths:  # trees without a limit grow to another depth each time
            frame["depth"] = round(frame["depth"].mean())
        frames.append(frame)
    pieces = pd.concat(frames, ignore_index=True)
    return Done(pieces, summary(pieces, QUANTILES), n, folds)


def scale_of(measure: str, levels: Sequence[dict[str, float]]) -> Scale:
    """Floor and ceiling of a measure, means over splits."""
    name = MEASURES[measure]
    is_share = measure in IN_PERCENT
    if not levels:
        return Scale(measure, is_share, None, None)
    ceiling = float(np.mean([one[name] for one in levels]))
    floor = {
        "accuracy": float(np.mean([one["floor"] for one in levels])),
        "balanced_accuracy": float(np.mean([1 / one["classes"] for one in levels])),
        "auc": 0.5,
    }.get(name)
    scale = Scale(measure, is_share, floor, ceiling)
    said = {"accuracy": "always the most frequent class", "balanced_accuracy": "always one class", "auc": "a coin"}
    return Scale(
        measure, is_share, floor, ceiling, "" if floor is None else f"{said[name]} {scale.text(floor)}: the floor",
        f"without privacy, {CEILING} {scale.text(ceiling)}: the ceiling",
    )  # fmt: skip


def lines_chart(view: Comparison, lines: Sequence[Cells], done: Done, scale: Scale, place=st):
    """All forests against ε."""
    series = [_series(view, line, done, scale) for line in lines]
    figure = comparison(series, view.epsilon, scale, bands=view.bands)
    at = np.argmin(np.abs(np.log(series[0].epsilons / view.epsilon)))
    said = ", ".join(f"{one.name} {scale.text(one.mean[at])}" for one in series)
    return chart(figure, f"{scale.name} at ε = {view.epsilon:g}: {said}.", place)


def _series(view: Comparison, line: Cells, done: Done, scale: Scale) -> Series:
    name, settings = line.line.name, line.line.settings
    cells = done.cells.loc[name].reset_index()
    cells = cells[np.isfinite(cells["epsilon"])].sort_values("epsilon")
    values = cells[MEASURES[view.measure]]
    texts = [
        f"<b>{name}</b><br>{_promise(settings.certified, e)}: {scale.text(m)}"
        f"<br>8 in 10 releases: {scale.text(low)} to {scale.text(high)}"
        for e, m, low, high in zip(cells["epsilon"], values["mean"], values["low"], values["high"], strict=True)
    ]
    return Series(
        name, list(FORESTS).index(settings.kind), not settings.certified, cells["epsilon"].to_numpy(float),
        values["mean"].to_numpy(float), values["low"].to_numpy(float), values["high"].to_numpy(float), texts,
    )  # fmt: skip


def _promise(certified: bool, epsilon: float) -> str:
    if certified:
        return f"ε = {epsilon:g}"
    return f"claims ε = {epsilon:g}, true loss: no finite bound"


def _bound(loss: float, epsilon: float) -> float | Fraction:
    """A loss from a table, which is rounded up to the next float, without the digit that this adds to all of ε."""
    return loss if np.isinf(loss) else min(Fraction(loss), Fraction(str(epsilon)))


def table(view: Comparison, lines: Sequence[Cells], done: Done) -> pd.DataFrame:
    """One row a forest, at the ε of the slider."""
    rows = []
    for line in lines:
        own = done.cells.loc[line.line.name].reset_index()
        pieces = done.pieces[(done.pieces.forest == line.line.name) & (done.pieces.epsilon == view.epsilon)]
        here, twin = own[own["epsilon"] == view.epsilon].iloc[0], own[np.isinf(own["epsilon"])].iloc[0]
        mean, without = here["accuracy", "mean"], twin["accuracy", "mean"]
        rows.append(
            {
                "forest": line.line.name,
                "accuracy": mean,
                "8 in 10 from": here["accuracy", "low"],
                "to": here["accuracy", "high"],
                "without privacy": without,
                "price of privacy": 100 * (without - mean),
                "price under a point from ε": _cheap_from(own),
                "balanced": here["balanced_accuracy", "mean"],
                "AUC": here["auc", "mean"],
                "F1": here["f1", "mean"],
                "log-loss": here["log_loss", "mean"],
                "calibration error": here["calibration", "mean"],
                "flipped": here["flips", "mean"],
                "empty leaves": here["empty", "mean"],
                "true loss": epsilon_text(_bound(pieces.true_epsilon.max(), view.epsilon)),
                "depth": int(here["depth", ""]),
                "trees": int(here["trees", ""]),
            }
        )
    return pd.DataFrame(rows).sort_values("accuracy", ascending=False, ignore_index=True)


def _cheap_from(own: pd.DataFrame) -> float:
    """The smallest ε from which on the mean stays within a point of the same forest without privacy; NaN if none."""
    ceiling = own[np.isinf(own["epsilon"])]["accuracy", "mean"].iloc[0]
    cells = own[np.isfinite(own["epsilon"])].sort_values("epsilon")
    near = (cells["accuracy", "mean"] >= ceiling - ENOUGH).to_numpy()
    from_here = np.flatnonzero(np.minimum.accumulate(near[::-1])[::-1])
    return float(cells["epsilon"].iloc[from_here[0]]) if len(from_here) else float("nan")


def show_table(found: pd.DataFrame, n: int, place=st) -> None:
    """Sortable by a click on a column's head; drawn once for each number of pieces."""
    share, points = st.column_config.NumberColumn(format="percent"), st.column_config.NumberColumn(format="%.1f points")
    shares = ("accuracy", "8 in 10 from", "to", "without privacy", "balanced", "flipped", "empty leaves")
    three = st.column_config.NumberColumn(format="%.3f")
    place.dataframe(
        found, hide_index=True, width="stretch", key=f"compared_{n}",
        column_config={
            **dict.fromkeys(shares, share),
            **dict.fromkeys(("AUC", "F1", "log-loss", "calibration error"), three),
            "forest": st.column_config.TextColumn(pinned=True),
            "price of privacy": points,
            "price under a point from ε": st.column_config.NumberColumn(
                format="%g", help="From this ε on the forest stays within one point of itself without privacy."
            ),
            "flipped": st.column_config.NumberColumn(
                format="percent", help="Share of rows in a leaf that says something else than it would without noise."
            ),
            "true loss": st.column_config.TextColumn(help="At most; ∞ where no finite bound is proved."),
        },
    )  # fmt: skip


def cannot_be_measured(view: Comparison, done: Done) -> str:
    """Why there is nothing to draw: a measure that needs two classes where the held-out rows have one."""
    if done.cells[MEASURES[view.measure]]["mean"].notna().any():
        return ""
    return (
        f"{view.measure} cannot be measured here, as the rows held out are all of one class. Choose another measure, "
        "or hold every row out once (Fine settings)."
    )


def insight(view: Comparison, done: Done, scale: Scale) -> str:
    """Which certified forest is best at the present ε, and which ones cannot be told from it."""
    cells = done.cells[MEASURES[view.measure]].reset_index()
    here = cells[(cells["epsilon"] == view.epsilon) & cells["forest"].isin(view.kinds)].sort_values("mean")
    here = here.dropna(subset=["mean"])
    best, worst = here.iloc[-1], here.iloc[0]
    rest = here.iloc[:-1]
    near = list(rest[rest["high"] >= best["low"]]["forest"])[::-1]
    text = f"At ε = {view.epsilon:g} **{best['forest']}** comes first: {scale.text(best['mean'])}"
    if scale.ceiling is not None and best["mean"] <= scale.ceiling:
        text += f", {scale.gap(scale.ceiling - best['mean'])} below the ceiling"
    if near:
        text += f". Its spread overlaps with that of {_listed(near)}, so another release may turn the order around"
    if len(rest) and scale.floor is not None and worst["mean"] < scale.floor:
        under = list(here[here["mean"] < scale.floor]["forest"])
        text += f". Below the floor, so of no use at this ε: {_listed(under)}"
    return text + "."


def _listed(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def about_claims() -> None:
    """What dashed lines are."""
    with st.container(border=True):
        badge("Not certified")
        st.markdown(
            "Dashed lines are the papers' own mechanisms, drawn at the ε that the papers claim. What they really lose "
            "is another number, for some without limit: it is said at each point and in the table. So a dashed line "
            "above a solid one does not mean more accuracy for the same privacy."
        )


def about_leaks(table: Table) -> None:
    """A table whose schema was read from the rows certifies nothing."""
    leaks = table.domain.leaks()
    if leaks:
        more = f" And {plural(len(leaks) - 1, 'other part')} of the schema." if len(leaks) > 1 else ""
        with st.container(horizontal=True, vertical_alignment="center", gap="small"):
            badge("Not certified")
            st.caption(
                f"As it stands, no forest on this table would be certified, whatever its line says: "
                f"{plain(leaks[0], 200)}{more} The Data tab of Explore says how to mend it.",
                width="stretch",
            )
