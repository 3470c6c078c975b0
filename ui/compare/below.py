"""Tabs below the chart of Compare: table, charts by depth and by trees, map of ε and depth, α and voting.

α weighs the two losses by which boosted trees score splits. Voting turns the votes of trees into a class.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Final

import numpy as np
import pandas as pd
import streamlit as st

from dpforest.evaluation.headroom import headroom
from dpforest.plotting.compare import SettingCurves, comparison, epsilon_depth_map, setting_panels
from ui.compare import comparison_controls, rules_tab
from ui.compare.chart_and_table import cannot_be_measured, series_of, show_table
from ui.compare.chart_and_table import table as compared
from ui.compare.comparison_controls import Comparison, result_of
from ui.jobs.baselines import Baselines, baselines_of, effective_rows, floor_of
from ui.jobs.job import n_of_all, run
from ui.jobs.measures import MEASURES, scale_of
from ui.jobs.results import SweepResult
from ui.jobs.sweep_job import SweepJob, sweep_job
from ui.jobs.time_budget import TimeBudget
from ui.shared.downloads import offer_csv
from ui.shared.page import chart, titled
from ui.shared.tables import Table

RULES_TAB: Final = "α and voting"
PIECES = 5  # number of simulated releases, on one split of the rows, that each tab except the table averages over


class Below:
    """The open tab. It draws the finished releases of its sweep, and `work` simulates the remaining releases."""

    def __init__(self, opened: str, view: Comparison, table: Table) -> None:
        self._opened, self._view, self._table = opened, view, table
        self._lines: list[SweepJob] = []
        self._n_drawn, self._drawn_table = 0, pd.DataFrame()
        open_tab = {
            "Table": self._open_table,
            "Depth": self._open_multiples,
            "Trees": self._open_multiples,
            "ε × depth": self._open_map,
            RULES_TAB: self._open_rules,
        }
        open_tab[opened](table)
        if self._lines and (n_ready := min(n_of_all(self._lines), PIECES)):
            self._draw(n_ready)
            self._n_drawn = n_ready
        elif self._lines:
            self._note.caption("No release for this tab is simulated yet. If the page has paused, press *Go on* above.")

    def table(self, lines: Sequence[SweepJob], result: SweepResult, baselines: list[Baselines]) -> None:
        """Redraw the table if it is open and the sweep of the chart has further finished releases."""
        if self._opened == "Table" and result.n != self._n_drawn:
            self._drawn_table = compared(self._view, lines, result, baselines)
            show_table(self._drawn_table, result.n, self._place)
            self._n_drawn = result.n

    def work(self, place: Any, budget: TimeBudget) -> None:
        """Simulate the remaining releases of this tab's sweep."""
        if self._lines:
            text = f"{self._opened}: simulated release {{n:,}} of {{total:,}}: {{name}}"
            for n in run(self._lines, PIECES, place, text, budget, self._n_drawn):
                self._draw(n)

    def _open_table(self, table: Table) -> None:
        titled(
            f"All forests at ε = {self._view.epsilon:g}",
            "Do not share",
            help="Click on the head of a column to sort by it.",
        )
        self._place = st.empty()
        with st.container(horizontal=True, vertical_alignment="center", horizontal_alignment="distribute"):
            st.caption(
                "A rule sets depth and trees, unless a forest’s name states them. Forests as published use "
                "the paper’s values; where it has none, the authors of the app chose them.",
                width="content",
            )
            offer_csv("Table as CSV", lambda: self._drawn_table, "DO_NOT_SHARE_compare_table.csv", type="tertiary")

    @property
    def _without_delta(self) -> str:
        """Part of a heading: ", with δ = 0" if the chart has forests with δ > 0, which this tab leaves out."""
        return ", with δ = 0" if self._view.delta else ""

    def _open_multiples(self, table: Table) -> None:
        by_depth = self._opened == "Depth"
        lines = (comparison_controls.at_depths if by_depth else comparison_controls.at_sizes)(self._view, table)
        varied_words = "how deep their trees are" if by_depth else "how many trees they have"
        titled(f"The same forests{self._without_delta}, by {varied_words}", "Do not share")
        self._place = st.empty()
        self._note = st.empty()
        if not lines:
            self._note.caption("None of the chosen forests has more than one tree.")
        self._lines = [sweep_job(table, line) for line in lines]

    def _open_rules(self, table: Table) -> None:
        self._name = rules_tab.choose()
        self._rules = rules_tab.RULES[self._name]
        lines, title = rules_tab.lines(self._rules, self._view, table)
        titled(title, "Do not share", help=self._rules.help)
        self._place, self._note = st.empty(), st.empty()
        self._lines = [sweep_job(table, line) for line in lines]

    def _draw_rules(self, result: SweepResult) -> None:
        scale = scale_of(self._view.measure, [baselines_of(self._table)], result)
        series = [series_of(self._view, line, result, scale, color) for color, line in enumerate(self._lines)]
        figure = comparison(series, self._view.epsilon, scale, bands=self._view.bands)
        measure = MEASURES[self._view.measure]
        comparisons = rules_tab.compare_lines(result, measure, effective_rows([baselines_of(self._table)], measure))
        text = rules_tab.sentence(comparisons, self._view.epsilon, scale, self._rules.noun)
        title = f"{scale.name[0].upper()}{scale.name[1:]} against ε by {self._name}"
        chart(figure, text.replace("*", ""), self._place, title=title)
        self._note.markdown(f"{text} Each point is the mean of {result.rests_on}.")

    def _open_map(self, table: Table) -> None:
        titled(
            f"One forest{self._without_delta} over ε and depth",
            "Do not share",
            help="A dot marks the best depth at each ε, the star the best cell. The best depth is chosen by looking "
            "at the rows: a release that uses it is not covered by its ε unless the table is public.",
        )
        with st.container(width=420):
            lines = comparison_controls.map_lines(self._view, table)
        self._note = st.empty()
        self._place = st.empty()
        self._lines = [sweep_job(table, line) for line in lines]

    def _draw(self, n: int) -> None:
        result = result_of(self._view, self._table, self._lines)
        if why := cannot_be_measured(self._view, result):
            self._note.caption(why)
        elif self._opened in ("Depth", "Trees"):
            self._draw_multiples(result)
        elif self._opened == RULES_TAB:
            self._draw_rules(result)
        else:
            self._draw_map(result)

    def _draw_multiples(self, result: SweepResult) -> None:
        setting = self._opened.lower()
        panels = []
        for line in self._lines:
            cells = result.cells.loc[line.line.name][MEASURES[self._view.measure]]["mean"]
            wide = cells[np.isfinite(cells.index.get_level_values("epsilon"))].unstack("epsilon")
            wide = wide.groupby(level=setting).mean()
            panels.append(
                SettingCurves(line.line.name, list(wide.index), wide.columns.to_numpy(float), wide.to_numpy(float))
            )
        figure = setting_panels(panels, setting, self._view.scale, columns=min(4, len(panels)))
        chart(
            figure,
            f"{self._view.measure} against ε, a panel for each forest, a line for each {setting}.",
            self._place,
            title=f"{self._opened} of each forest",
        )
        self._note.caption(f"Each point is the mean of {result.rests_on}. Darker lines: {_MORE[setting]}.")

    def _draw_map(self, result: SweepResult) -> None:
        view, name = self._view, self._lines[0].line.name
        wide = result.cells.loc[name][MEASURES[view.measure]]["mean"].unstack("epsilon").groupby(level="depth").mean()
        nonprivate = wide.pop(np.inf)
        values, epsilons = wide.to_numpy(float), wide.columns.to_numpy(float)
        column = list(epsilons).index(view.epsilon)  # `comparison_controls.map_lines` adds this ε to the grid
        best = int(values[:, column].argmax())
        no_gain = self._no_gain_text(values, float(nonprivate.max()))
        scale = view.scale if no_gain else replace(view.scale, ceiling=float(nonprivate.max()))
        best_text = f"At ε = {view.epsilon:g} the best depth for {name} is **{wide.index[best]}**: "
        best_text += f"{scale.text(values[best, column])}"
        if no_gain:
            text = f"{best_text}. But **it predicts no better than guessing**: {no_gain}. So privacy costs nothing "
            text += "here."
        else:
            text = f"{best_text}. Without noise, depth {nonprivate.idxmax()} is best: {scale.text(nonprivate.max())}"
            text += "; compared with that, "
            price = scale.gap(nonprivate.max(), values[best, column])
            is_lower = values[best, column] <= nonprivate.max()
            text += f"the price of privacy is **{price}**." if is_lower else "noise costs nothing here."
        self._note.markdown(f"{text} Each cell is the mean of {result.rests_on}.")
        figure = epsilon_depth_map(list(epsilons), list(wide.index), values, scale, epsilon=view.epsilon)
        chart(figure, text.replace("*", ""), self._place, title="Map of ε × depth")

    def _no_gain_text(self, values: np.ndarray, nonprivate: float) -> str:
        """State that no depth is better than guessing, at any ε or without noise.

        Return an empty text if some depth is better, or if the accuracy of guessing is unknown.
        """
        baselines, measure = [baselines_of(self._table)], MEASURES[self._view.measure]
        guess_value = floor_of(baselines, measure)
        if guess_value is None:
            return ""
        forest_headroom = headroom(
            values.max(axis=0, keepdims=True), np.array([nonprivate]), guess_value, effective_rows(baselines, measure)
        )
        if not forest_headroom.has_none:
            return ""
        text = self._view.scale.text(guess_value)
        return f"at no depth and no ε, and not without noise either, is it above {text} by more than luck"


_MORE = {"depth": "deeper trees", "trees": "more trees"}
