"""Where a forest learns nothing: which of the others would, from one simulated release of each."""

from __future__ import annotations

from contextlib import suppress

import numpy as np

from dpforest.evaluation.simulation import Curve
from dpforest.evaluation.stakes import Stakes
from dpforest.models.base import AUTO
from dpforest.plotting.curve import series
from dpforest.plotting.style import percent
from ui.shared import simulate
from ui.shared.forests import EPSILONS, FORESTS, Settings
from ui.shared.sidebar import Choice


class OtherForests:
    """The other forests as they come, certified and by rule; simulated one by one, when somebody asks."""

    def __init__(self, choice: Choice) -> None:
        self._choice, self._curves = choice, dict[str, Curve]()
        self._left = [kind for kind in FORESTS if kind != choice.settings.kind]

    def step(self) -> bool:
        """Simulate one more; False when there is none left."""
        if not self._left:
            return False
        kind, settings = self._left.pop(0), self._choice.settings
        options = tuple((o.parameter, o.start("certified")) for o in FORESTS[kind].options if o.choices["certified"])
        other = Settings(kind, "certified", settings.epsilon, AUTO, AUTO, settings.neighbours, options)
        with suppress(ValueError):  # too large for this table
            self._curves[kind] = simulate.one_release(self._choice.table, other)
        return True

    def sentence(self, measure: str, at: Stakes) -> str:
        """Which are better than guessing at the present ε, by more than luck; empty until all are known."""
        if self._left:
            return ""
        epsilon = self._choice.settings.epsilon
        place = EPSILONS.index(epsilon)
        found = {kind: float(np.mean(series(curve, measure)[0][:, place])) for kind, curve in self._curves.items()}
        better = [kind for kind in sorted(found, key=found.__getitem__)[::-1] if found[kind] > at.floor + at.noise]
        if not better:
            return f" None of the other forests is better than guessing at ε = {epsilon:g} either."
        named = ", ".join(f"“{kind}” {percent(found[kind])}" for kind in better)
        return f" **These do learn something at ε = {epsilon:g}** (one simulated release each): {named}."
