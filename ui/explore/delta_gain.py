"""The effect of δ on accuracy: a release is simulated at the page's ε, but with the other value of δ (0 or 10⁻⁶)."""

from __future__ import annotations

import streamlit as st

from dpforest.plotting.style import percent
from dpforest.tables.features import plural
from ui.forest.forest_options import DELTA
from ui.jobs.results import gathered
from ui.jobs.sweep_job import Line, sweep_job
from ui.shared.sidebar import Choice


class DeltaGain:
    """A sentence with the accuracy at the other δ, written by `step`. A forest without the option δ has no sentence."""

    def __init__(self, choice: Choice) -> None:
        self._choice, self._place = choice, st.empty()
        self._has_work = choice.settings.option("delta") is not None

    def step(self) -> bool:
        """Simulate one release with the other δ. Return False if nothing is left to do."""
        if not self._has_work:
            return False
        self._has_work = False
        settings, table = self._choice.settings, self._choice.table
        other = settings.with_option("delta", 0.0 if settings.delta else DELTA)
        job = sweep_job(table, Line(other, (settings.epsilon,)))
        for _ in job.work():
            pass
        accuracy = gathered([job]).private("accuracy")
        self._place.caption(
            sentence(settings.epsilon, float(accuracy.mean()), len(accuracy), allowed=settings.delta > 0)
        )
        return True


def sentence(epsilon: float, other: float, repeats: int, *, allowed: bool) -> str:
    """State the accuracy `other` at the δ that the page does not have: 0 if the page has δ > 0 (`allowed`), else 10⁻⁶.

    >>> sentence(1.0, 0.8468, 1, allowed=False)
    'With δ = 10⁻⁶ at ε = 1: 84.7 % right, by 1 simulated release.'
    """
    delta = "0" if allowed else "10⁻⁶"
    return f"With δ = {delta} at ε = {epsilon:g}: {percent(other)} right, by {plural(repeats, 'simulated release')}."
