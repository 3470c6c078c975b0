"""Buttons below the answer: release the shown forest, open it in Explore, or look at another forest."""

from __future__ import annotations

from typing import Final

import numpy as np
import streamlit as st

from dpforest.plotting.compare import MeasureScale
from dpforest.privacy.certificate import Certificate
from dpforest.privacy.ledger import Ledger
from ui import state
from ui.choose.answers import Answers
from ui.shared import release
from ui.shared.epsilon import put_epsilon
from ui.shared.forests import ForestSettings
from ui.shared.link import hand_over
from ui.shared.loss_words import at_delta
from ui.shared.page import badge
from ui.shared.sidebar import Choice

LEAST_GAIN: Final = 0.005  # smallest difference that the sentence about the most accurate forest reports


def offer(
    choice: Choice, certificate: Certificate, ledger: Ledger, name: str, epsilon: float | None, is_useless: bool
) -> bool:
    """Draw the buttons. Return whether the dialog of a release is open now.

    If the page shows another forest or ε than the answer, also draw a button that returns to the answer. `is_useless`
    states whether the shown forest is no better than guessing.
    """
    settings = choice.settings
    with st.container(horizontal=True, vertical_alignment="center", gap="medium", key="next_steps"):
        is_asked = release.button(choice, certificate, ledger, st.container(width="content"), is_useless=is_useless)
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
    return is_asked


def most_accurate(answers: Answers, settings: ForestSettings, scale: MeasureScale, place) -> None:
    """Draw a sentence that names the most accurate forest at the shown ε, and a button that shows this forest.

    Forests with a larger δ than the shown one do not count, because they promise less.
    """
    epsilons = answers.result.epsilons
    at = int(np.abs(np.log(epsilons / settings.epsilon)).argmin())
    same = [job for job in answers.lines.values() if job.line.settings.delta <= settings.delta]
    means = {job.name: float(answers.means(job.name)[at]) for job in same}
    best = max(means, key=means.__getitem__)
    gain, epsilon = means[best] - means[settings.name], f"ε = {epsilons[at]:g}"
    with place.container(horizontal=True, vertical_alignment="center", gap="small"):
        if gain < LEAST_GAIN:
            st.markdown(f"**Most accurate here** at {epsilon}: no forest is clearly better.", width="content")
        else:
            text = (
                f"{best}, {scale.name} {scale.text(means[best])}, {scale.gap(means[best], means[settings.name])} more."
            )
            st.markdown(
                f"**Most accurate here** at {epsilon}{at_delta(settings.delta)}: {text}",
                width="content",
                help="By the simulated releases of this page, with default settings. Forests with a larger δ are left "
                "out. A choice by such figures uses the rows: do not publish the reason.",
            )
            st.button("Look at it", key="look_at_best", on_click=_look_at, args=(best, settings.epsilon))
        badge("Curator only")


def _look_at(name: str, epsilon: float) -> None:
    state.LOOKED_AT.value = name
    put_epsilon(epsilon, state.EPSILON_TO_LOOK_AT)
