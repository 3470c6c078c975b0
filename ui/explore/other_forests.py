"""Simulated releases of each other forest at the current ε, to see which of them beat guessing on this table."""

from __future__ import annotations

from contextlib import suppress
from typing import Final

from dpforest.evaluation.headroom import Headroom
from dpforest.plotting.style import percent
from dpforest.tables.features import plural
from ui.forest.forest_options import ALLOW_DELTA, DELTA
from ui.forest.forests import FORESTS, ForestSettings, as_it_comes
from ui.jobs.results import gathered
from ui.jobs.sweep_job import Line, SweepJob, sweep_job
from ui.shared.sidebar import Choice

RELEASES: Final = 3  # number of simulated releases of each forest


class OtherForests:
    """All other certified forests with default settings. Each `step` simulates a part of a release of one forest."""

    def __init__(self, choice: Choice) -> None:
        self._choice, self._jobs = choice, dict[ForestSettings, SweepJob]()
        settings = choice.settings
        certified = [
            as_it_comes(kind, "certified", settings.epsilon, settings.neighbors, delta=delta)
            for kind in FORESTS
            for delta in ((0.0, DELTA) if ALLOW_DELTA in FORESTS[kind].options else (0.0,))
        ]
        self._queue = [(other, n) for n in range(1, RELEASES + 1) for other in certified if other.name != settings.name]

    @property
    def is_complete(self) -> bool:
        return not self._queue

    def step(self) -> bool:
        """Simulate a part of a release. Return False if no release is left."""
        if not self._queue:
            return False
        other, n_releases = self._queue[0]
        with suppress(ValueError):  # a forest that is too large for this table raises ValueError and gets no figures
            job = sweep_job(self._choice.table, Line(other, (other.epsilon,)))
            if job.step(n_releases):
                return True
            self._jobs[other] = job
        self._queue.pop(0)
        return True

    def means(self, measure: str) -> dict[ForestSettings, float]:
        """Return the mean of a measure over the simulated releases of each forest."""
        return {other: float(gathered([job]).private(measure).mean()) for other, job in self._jobs.items()}

    def sentence(self, measure: str, headroom: Headroom) -> str:
        """Return a sentence that names the forests, if any, that clearly beat guessing at this ε.

        A forest is named if its mean exceeds the value of guessing by more than chance can explain. The sentence is
        empty until all forests are simulated.
        """
        if not self.is_complete:
            return ""
        epsilon, means = self._choice.settings.epsilon, self.means(measure)
        better = [
            other
            for other in sorted(means, key=means.__getitem__)[::-1]
            if means[other] > headroom.floor + headroom.noise
        ]
        if not better:
            return f" None of the other forests is better than guessing at ε = {epsilon:g} either."
        named = ", ".join(f"“{other.name}” {percent(means[other])}" for other in better)
        releases = plural(RELEASES, "simulated release")
        return f" **These do learn something at ε = {epsilon:g}** ({releases} each, or more): {named}."
