"""What δ buys: the same forest at the same ε with the other δ, from one simulated release."""

from __future__ import annotations

import streamlit as st

from dpforest.plotting.style import percent
from ui.shared import simulate
from ui.shared.forest_options import DELTA
from ui.shared.sidebar import Choice


class DeltaGain:
    """A sentence, filled in when there is time; none for forests that have no δ."""

    def __init__(self, choice: Choice) -> None:
        self._choice, self._place = choice, st.empty()
        self._left = choice.settings.option("delta") is not None

    def step(self) -> bool:
        """Simulate one release with δ = 0 and one without; False when there is nothing left to do."""
        if not self._left:
            return False
        self._left = False
        own, table = self._choice.settings, self._choice.table
        found = [
            float(simulate.one_release(table, own.with_option("delta", delta), (own.epsilon,)).accuracy[0, 0])
            for delta in (0.0, DELTA)
        ]
        self._place.caption(sentence(own.epsilon, *found, allowed=own.delta > 0))
        return True


def sentence(epsilon: float, without: float, with_delta: float, *, allowed: bool) -> str:
    """Both figures, and which of them is shown above.

    >>> sentence(1.0, 0.8231, 0.8468, allowed=False)
    'What δ = 10⁻⁶ would buy at ε = 1: 84.7 % right, with δ = 0 82.3 % (one simulated release each).'
    """
    return (
        f"What δ = 10⁻⁶ {'buys' if allowed else 'would buy'} at ε = {epsilon:g}: {percent(with_delta)} right, with "
        f"δ = 0 {percent(without)} (one simulated release each)."
    )
