"""A button that opens Explore with the shown forest, to release it there."""

from __future__ import annotations

import streamlit as st

from ui import state
from ui.shared.epsilon import put_epsilon
from ui.shared.forests import ForestSettings
from ui.shared.link import hand_over


def offer(settings: ForestSettings, answer: tuple[str, float]) -> None:
    """Draw the button, and one back to the answer (forest, ε) if the page shows another forest or ε."""
    with st.container(horizontal=True, vertical_alignment="center", gap="medium"):
        with st.container(width="content"):
            forest = f"{settings.kind} at ε = {settings.epsilon:g}" + (" and δ = 10⁻⁶" if settings.delta else "")
            hand_over(
                settings,
                f"**Take to Explore**: {forest}",
                "Opens Explore with this forest, its depth and trees by rule, ready to be looked at and released.",
            )
        if answer != (settings.name, settings.epsilon):
            st.button(
                f"Look at the answer: {answer[0]} at ε = {answer[1]:g}",
                type="tertiary",
                icon=":material/undo:",
                key="to_answer",
                on_click=_look_at,
                args=answer,
            )


def _look_at(name: str, epsilon: float) -> None:
    state.LOOKED_AT.value = name
    put_epsilon(epsilon, state.EPSILON_TO_LOOK_AT)
