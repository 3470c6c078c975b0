"""Buttons below the answer: release the shown forest, open it in Explore, or look at another forest."""

from __future__ import annotations

import streamlit as st

from dpforest.privacy.certificate import Certificate
from dpforest.privacy.ledger import Ledger
from ui import state
from ui.forest.forests import ForestSettings
from ui.releasing import release
from ui.shared.epsilon import put_epsilon
from ui.shared.link import hand_over
from ui.shared.loss_words import at_delta
from ui.shared.sidebar import Choice


def offer(
    choice: Choice, certificate: Certificate, ledger: Ledger, name: str, epsilon: float | None, is_useless: bool
) -> bool:
    """Draw the buttons. Return whether the dialog of a release is open now.

    The answer is the forest `name` at `epsilon`. If the page shows another forest or another ε, a further button
    returns to the answer. `is_useless` states whether the shown forest is no better than guessing.
    """
    settings = choice.settings
    with st.container(horizontal=True, vertical_alignment="center", gap="medium", key="next_steps"):
        is_open = release.button(choice, certificate, ledger, st.container(width="content"), is_useless=is_useless)
        with st.container(width="content"):
            hand_over(
                settings,
                f"**Take to Explore**: {settings.kind} at ε = {settings.epsilon:g}{at_delta(settings.delta)}",
                "Opens Explore with this forest (depth and trees by rule), where you can see its trees and leaves.",
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
    return is_open


def show_recommended(settings: ForestSettings) -> None:
    """Show the recommended forest at the same ε."""
    _look_at(settings.name, settings.epsilon)


def _look_at(name: str, epsilon: float) -> None:
    state.LOOKED_AT.value = name
    put_epsilon(epsilon, state.EPSILON_TO_LOOK_AT)
