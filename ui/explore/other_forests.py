"""Where a forest learns nothing: which of the others would, from one simulated release of each."""

from __future__ import annotations

from contextlib import suppress

import numpy as np

from dpforest.evaluation.repeats import Curve
from dpforest.evaluation.stakes import Stakes
from dpforest.plotting.curve import series
from dpforest.plotting.style import percent
from ui.jobs import simulate
from ui.shared.epsilon import grid_with
from ui.shared.forest_options import ALLOW_DELTA, DELTA
from ui.shared.forests import FORESTS, as_it_comes
from ui.shared.sidebar import Choice


class OtherForests:
    """The other forests as they come, certified and by rule; simulated one by one, when somebody asks."""

    def __init__(self, choice: Choice) -> None:
        self._choice, self._curves = choice, dict[str, Curve]()
        own = choice.settings
        every = [
            as_it_comes(kind, "certified", own.epsilon, own.neighbors, delta=delta)
            for kind in FORESTS
            for delta in ((0.0, DELTA) if ALLOW_DELTA in FORESTS[kind].options else (0.0,))
        ]
        self._left = [other for other in every if other.name != own.name]

    def step(self) -> bool:
        """Simulate one more; False when there is none left."""
        if not self._left:
            return False
        other = self._left.pop(0)
        with suppress(ValueError):  # too large for this table
            self._curves[other.name] = simulate.one_release(
                self._choice.table, other, grid_with(self._choice.settings.epsilon)
            )
        return True

    def sentence(self, measure: str, at: Stakes) -> str:
        """Which are better than guessing at the present ε, by more than luck; empty until all are known."""
        if self._left:
            return ""
        epsilon = self._choice.settings.epsilon
        place = grid_with(epsilon).index(epsilon)
        found = {name: float(np.mean(series(curve, measure)[0][:, place])) for name, curve in self._curves.items()}
        better = [name for name in sorted(found, key=found.__getitem__)[::-1] if found[name] > at.floor + at.noise]
        if not better:
            return f" None of the other forests is better than guessing at ε = {epsilon:g} either."
        named = ", ".join(f"“{name}” {percent(found[name])}" for name in better)
        return f" **These do learn something at ε = {epsilon:g}** (one simulated release each): {named}."
