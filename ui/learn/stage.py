"""The stage: a component that plays the scene of a step when the step opens, and again on "Play again"."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any, Final

import streamlit as st

from ui import state
from ui.learn.scenes import Scene

FRONT_END: Final = Path(__file__).parent / "front_end"
SCRIPTS: Final = (
    "scene_shapes.js",
    "scene_class.js",
    "scene_panels.js",
    "scene_leaf.js",
    "scene_votes.js",
    "scene_levels.js",
    "stage.js",
)
# Heights of the drawing: on a page, on a page of a low screen, and in presentation mode. In that mode, the size
# of all text follows the screen, and the drawing follows the size of the text.
HEIGHT: Final = "336px"
LOW: Final = "264px"
PROJECTED: Final = "16.5rem"
CHART_HEIGHT: Final = 376  # pixels of a chart in presentation mode, like the stage at 1280 x 720 pixels


@cache
def _component() -> Any:
    return st.components.v2.component(
        "lesson_stage",
        html='<div class="stage"></div>',
        css=(FRONT_END / "stage.css").read_text(encoding="utf-8"),
        js="\n".join((FRONT_END / name).read_text(encoding="utf-8") for name in SCRIPTS),
    )


def play(scene: Scene, key: str) -> None:
    """Draw the stage. It plays the scene unless it shows the same scene already."""
    height, low, size = (PROJECTED, PROJECTED, "1.1rem") if state.PRESENT.value else (HEIGHT, LOW, "1rem")
    frame = {"height": height, "low": low, "size": size, "again": "Play again"}
    _component()(key=key, data={**scene.data, **frame, "alt": scene.alt})
