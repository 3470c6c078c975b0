"""A button that opens Explore with the shown forest, to release it there."""

from __future__ import annotations

import streamlit as st

from ui import state
from ui.shared.epsilon import put_epsilon
from ui.shared.forests import ForestSettings
from ui.shared.link import hand_over


def offer(settings: ForestSettings, name: str, epsilon: float | None) -> None:
    """Draw the button.

    If the page shows another forest or ε than the answer, also draw a button that returns to the answer.
    """
    with st.container(horizontal=True, vertical_alignment="center", gap="medium"):
        with st.container(width="content"):
            forest = f"{settings.kind} at ε = {settings.epsilon:g}" + (" and δ = 10⁻⁶" if settings.delta else "")
            hand_over(
                settings,
                f"**Take to Explore**: {forest}",
                "Opens Explore with this forest (depth and trees by rule), where you can look at it and release it.",
            )
        if epsilon is not None and (name, epsilon) != (settings.name, settings.epsilon):
            st.button(
                f"Look at the answer: {name} at ε = {epsilon:g}",
                type="tertiary",
                icon=":material/undo:",
                key="to_answer",
                on_click=_look_at,
                args=(name, epsilon),
            )


def _look_at(name: str, epsilon: float) -> None:
    state.LOOKED_AT.value = name
    put_epsilon(epsilon, state.EPSILON_TO_LOOK_AT)
