"""A sentence that names the most accurate forest by simulated releases, with a button that chooses this forest."""

from __future__ import annotations

from typing import Final

import streamlit as st

from dpforest.plotting.style import percent
from dpforest.privacy.ledger import unit_noun
from ui import state
from ui.explore.other_forests import RELEASES, OtherForests
from ui.jobs.results import SweepResult
from ui.jobs.workers import INTERACTIVE
from ui.shared.forests import ForestSettings
from ui.shared.loss_words import at_delta
from ui.shared.page import badge
from ui.shared.sidebar import Choice

LEAST_GAIN: Final = 0.005  # smallest difference in accuracy that the sentence reports


class MostAccurate:
    """The place of the sentence. If other forests will be simulated, it first states that the page waits for them."""

    def __init__(self, choice: Choice) -> None:
        self._choice = choice
        with st.container(key="most_accurate"):
            self._place = st.empty()
        if choice.settings.certified and not INTERACTIVE.is_ready:
            self._place.caption("Most accurate here: the other forests are being simulated …")

    def draw(self, others: OtherForests, result: SweepResult, measure: str) -> None:
        """Draw the sentence. Forests with a larger δ than the present one do not count, because they promise less."""
        settings = self._choice.settings
        here = float(result.private(measure)[:, list(result.epsilons).index(settings.epsilon)].mean())
        means = {other: mean for other, mean in others.means(measure).items() if other.delta <= settings.delta}
        best = max(means, key=means.__getitem__, default=None)
        epsilon, noun = f"ε = {settings.epsilon:g}", unit_noun(self._choice.table.unit)
        with self._place.container(horizontal=True, vertical_alignment="center", gap="small"):
            if best is None or means[best] < here + LEAST_GAIN:
                st.markdown(f"**Most accurate here** at {epsilon}: no other forest is clearly better.", width="content")
            else:
                name = "balanced accuracy" if measure == "balanced_accuracy" else f"of held-out {noun}s right"
                st.markdown(
                    f"**Most accurate here** at {epsilon}{at_delta(best.delta)}: {best.name}, "
                    f"{percent(means[best])} {name}, {100 * (means[best] - here):.1f} points more.",
                    width="content",
                    help=f"By {RELEASES} simulated releases of each certified forest with default settings. Forests "
                    "with a larger δ are left out. A choice by such figures uses the rows: do not publish the reason.",
                )
                st.button("Switch to it", key="most_accurate_switch", on_click=_switch, args=(best,))
            badge("Curator only")


def _switch(settings: ForestSettings) -> None:
    """Choose a forest with default settings, as if the user had chosen it."""
    state.FOREST.value, state.DELTA.value, state.BY_RULE.value = settings.kind, settings.delta > 0, True
