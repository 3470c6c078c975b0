"""The picture of a step: the scene or the chart, with the control of the step below it."""

from __future__ import annotations

from typing import Any, Final

import streamlit as st

from dpforest.plotting.lesson import enlarged
from ui import state
from ui.learn import lesson_charts, progress, stage
from ui.learn.scenes import scene
from ui.learn.step import Step
from ui.shared.controls import LINKED, drop_unknown
from ui.shared.page import chart
from ui.shared.wording import unbroken

SCENE, CHART = "Scene", "Chart"
PICTURES: Final = [SCENE, CHART]


def draw(step: Step, is_shown: bool) -> None:
    """Draw the scene or the chart of a step, and the controls. Both contain the answer only if `is_shown` is True."""
    place = st.container()
    setting, kind = _controls(step, is_shown)
    fig, alt, below = lesson_charts.draw(step.key, setting, is_shown, state.LESSON_AGAIN.value)
    with place:
        if kind == CHART:
            if state.PRESENT.value:
                fig = enlarged(fig).update_layout(height=stage.CHART_HEIGHT)
            public = "Do not share" not in step.badges
            chart(fig, alt, title=step.title, public=public, key=f"lesson_{step.key}")
        else:
            stage.play(scene(step.key, setting, is_shown, state.LESSON_AGAIN.value), state.STAGE(step.key))
    if below:
        st.markdown(unbroken(below))


def _controls(step: Step, is_shown: bool) -> tuple[str, str]:
    """Draw the control of the step, and a switch between scene and chart. Return both values.

    The user can move the control only after the answer is shown. A value that is not among the options becomes the
    start value. In presentation mode, the control appears with the answer.
    """
    control, options = step.control, list(step.control.options)
    drop_unknown(progress.AT, options)
    drop_unknown(state.PICTURE, PICTURES)
    value = control.start
    with st.container(horizontal=True, vertical_alignment="bottom", gap="medium"):
        settings: Any = {"key": progress.AT, "bind": LINKED, "disabled": not is_shown}
        if state.PRESENT.value and not is_shown:
            pass
        elif control.few:
            value = st.segmented_control(control.label, options, default=control.start, required=True, **settings)
        else:
            value = st.select_slider(control.label, options, control.start, **settings)
        if step.key == "proof" and is_shown:
            st.button("Draw again", on_click=_draw_again)
        kind = st.segmented_control(
            "Picture",
            PICTURES,
            default=SCENE,
            required=True,
            key=state.PICTURE,
            bind=LINKED,
            label_visibility="collapsed",
            width="content",
        )
    return (value if value in options else control.start), kind or SCENE


def _draw_again() -> None:
    state.LESSON_AGAIN.value += 1
