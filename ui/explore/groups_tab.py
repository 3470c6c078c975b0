"""The Groups tab: accuracy and error rates by group of the held-out rows, against ε."""

from __future__ import annotations

import math
from typing import Final

import numpy as np
import pandas as pd
import streamlit as st

from dpforest.evaluation.group_rates import MIN_RELEASES, difference, loses_most, losses, of_releases
from dpforest.evaluation.groups import MIN_PERSONS
from dpforest.plotting.groups import rate_curves, rate_intervals
from dpforest.plotting.style import percent
from ui import state
from ui.explore.stories import class_words
from ui.jobs.group_columns import GroupRates, choose_column
from ui.jobs.results import SweepResult
from ui.shared import figures
from ui.shared.controls import select
from ui.shared.page import chart, titled
from ui.shared.sidebar import Choice
from ui.shared.wording import plain

# ε with little noise. A loss of accuracy is the difference from the accuracy at this ε.
REFERENCE_EPSILON: Final = 10.0
_HELP: Final = (
    "False-positive rate: share of the negative rows that the forest calls positive. False-negative rate: share of the "
    "positive rows that it calls negative. Selection rate: share of all rows that it calls positive."
)


class GroupsTab:
    """Charts, sentences and table of the tab. `refine` updates them in place."""

    def __init__(self, choice: Choice, result: SweepResult) -> None:
        self._epsilon, self._drawn = choice.settings.epsilon, (0, 0)
        titled(
            "Who pays for the noise",
            "Do not share",
            help="Each rate is a mean over the simulated releases of the curve above, on held-out rows. A group is a "
            "category of the column, or a bin of its public range. A column without a public range is grouped by "
            "its values.",
        )
        with st.container(horizontal=True):
            self._column = choose_column(choice.table)
            self._measured = GroupRates.of(choice.table, choice.settings, self._column)
            is_binary = len(choice.table.domain.classes) == 2
            self._name = select("Rate", list(self._measured.rates), state.GROUP_RATE, _HELP if is_binary else "")
        left, right = st.columns(2)
        self._curves, self._intervals = left.empty(), right.empty()
        self._words, self._table = st.empty(), st.empty()
        counted = self._measured.counted
        st.caption(
            f"The number after the name of a group is the number of its held-out {counted} from which this rate is "
            f"computed. Groups with fewer than {MIN_PERSONS} held-out {counted} are pooled. With a confidence of "
            f"95\u00a0%, the intervals of all groups contain the true values of the chosen rate. They account for the "
            f"choice of held-out {counted} and for differences between releases. Intervals appear after "
            f"{MIN_RELEASES} simulated releases."
            + (f" Positive is “{plain(self._positive(choice), 20)}”, the rarer class." if is_binary else "")
        )
        self.refine(result)

    def _positive(self, choice: Choice) -> str:
        """Return the name of the positive class on the page."""
        return class_words(choice.table)[choice.table.domain.classes.index(self._measured.positive)]

    def refine(self, result: SweepResult) -> None:
        """Redraw everything from a result with more simulated releases."""
        if (result.n, len(result.epsilons)) == self._drawn:
            return
        self._drawn = result.n, len(result.epsilons)
        measured, epsilons, bits = self._measured, result.epsilons, result.right(self._epsilon)
        rate, key = measured.rates[self._name], f"groups_{self._drawn}"
        values = [of_releases(result.right(epsilon), rate, measured.groups).mean(axis=0) for epsilon in epsilons]
        current, title = measured.at(bits, self._name), f"{self._name} by {self._column}"
        ends = f"from {percent(current['rate'].min())} to {percent(current['rate'].max())}"
        alt = f"{title}: {ends} at ε = {self._epsilon:g}."
        chart(
            rate_curves(epsilons, np.array(values), measured.groups.names, self._epsilon),
            f"{alt} A line for each group against ε.",
            self._curves,
            title=f"{title} against ε",
            key=f"curves_{key}",
        )
        chart(rate_intervals(current), f"{alt} With intervals.", self._intervals, title=title, key=f"intervals_{key}")
        self._words.markdown(" ".join(filter(None, (self._loss_sentence(result), self._gap_sentence(current)))))
        rates = measured.table(bits)
        figures.table(
            rates,
            f"Rates by {self._column}",
            self._table,
            hide_index=True,
            key=f"rates_{key}",
            column_config={
                measured.counted: st.column_config.NumberColumn(format="localized"),
                **{name: st.column_config.NumberColumn(format="%.1f %%") for name in list(rates)[2:]},
            },
        )

    def _loss_sentence(self, result: SweepResult) -> str:
        """Return a sentence about the group that loses the most accuracy from ε = 10 to the chosen ε.

        The text is empty if the chosen ε is not below 10, or if the confidence interval of this loss contains 0.
        """
        if not self._epsilon < REFERENCE_EPSILON or REFERENCE_EPSILON not in result.epsilons:
            return ""
        before, after = (self._measured.right(result.right(epsilon)) for epsilon in (REFERENCE_EPSILON, self._epsilon))
        worst = loses_most(losses(before, after, self._measured.groups))
        if worst is None:
            return ""
        return (
            f"From ε = {REFERENCE_EPSILON:g} to ε = {self._epsilon:g}, the group **{plain(worst['group'], 30)}** loses "
            f"the most accuracy: {_points(worst['loss'])} percentage points (interval: {_points(worst['low'])} to "
            f"{_points(worst['high'])})."
        )

    def _gap_sentence(self, current: pd.DataFrame) -> str:
        """Return a sentence about the gap between the groups with the highest and the lowest rate."""
        gap, low, high = difference(current)
        if math.isnan(gap):
            counted = self._measured.counted
            return f"Fewer than two groups have {MIN_PERSONS} held-out {counted} for this rate, so no gap is shown."
        interval = "" if math.isnan(low) else f" (interval: {_points(low)} to {_points(high)})"
        return (
            f"At ε = {self._epsilon:g}, the groups with the highest and the lowest {plain(self._name, 40)} differ by "
            f"{_points(gap)} percentage points{interval}."
        )


def _points(share: float) -> str:
    return f"{100 * share:.1f}"
