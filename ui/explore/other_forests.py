"""Search for a forest that learns something if the chosen one does not, by one simulated release of each forest."""

from __future__ import annotations

from contextlib import suppress

from dpforest.evaluation.headroom import Headroom
from dpforest.plotting.style import percent
from ui.jobs.results import gathered
from ui.jobs.sweep_job import Line, SweepJob, sweep_job
from ui.shared.epsilon import grid_with
from ui.shared.forest_options import ALLOW_DELTA, DELTA
from ui.shared.forests import FORESTS, as_it_comes
from ui.shared.sidebar import Choice


class OtherForests:
    """All other certified forests with default settings. Each `step` simulates one forest."""

    def __init__(self, choice: Choice) -> None:
        self._choice, self._jobs = choice, dict[str, SweepJob]()
        settings = choice.settings
        certified = [
            as_it_comes(kind, "certified", settings.epsilon, settings.neighbors, delta=delta)
            for kind in FORESTS
            for delta in ((0.0, DELTA) if ALLOW_DELTA in FORESTS[kind].options else (0.0,))
        ]
        self._left = [other for other in certified if other.name != settings.name]

    def step(self) -> bool:
        """Simulate one more forest. Return False if none is left."""
        if not self._left:
            return False
        other = self._left.pop(0)
        with suppress(ValueError):  # raised if the forest is too large for this table
            job = sweep_job(self._choice.table, Line(other, grid_with(self._choice.settings.epsilon)))
            for _ in job.work():
                pass
            self._jobs[other.name] = job
        return True

    def sentence(self, measure: str, at: Headroom) -> str:
        """Name the forests that beat guessing at this ε by more than chance. Empty until all forests are simulated."""
        if self._left:
            return ""
        epsilon = self._choice.settings.epsilon
        column, means = grid_with(epsilon).index(epsilon), dict[str, float]()
        for name, job in self._jobs.items():
            means[name] = float(gathered([job]).private(measure)[:, column].mean())
        better = [name for name in sorted(means, key=means.__getitem__)[::-1] if means[name] > at.floor + at.noise]
        if not better:
            return f" None of the other forests is better than guessing at ε = {epsilon:g} either."
        named = ", ".join(f"“{name}” {percent(means[name])}" for name in better)
        return f" **These do learn something at ε = {epsilon:g}** (one simulated release each, or more): {named}."
