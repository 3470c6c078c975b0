"""Lines of a chart that compares forests. Each line is a forest with the default settings of the app."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import streamlit as st

from ui import state
from ui.forest import boost_controls
from ui.forest.forest_options import ALLOW_DELTA, DELTA
from ui.forest.forests import FORESTS, ForestSettings, as_it_comes
from ui.jobs.sweep_job import Line
from ui.shared.controls import LINKED
from ui.shared.tables import Table


def delta_control() -> bool:
    """Draw a switch. Return whether to add lines with δ > 0 (a weaker guarantee) for the forests that offer δ."""
    return bool(st.toggle("Also with δ = 10⁻⁶", key=state.ALSO_DELTA, bind=LINKED, help=ALLOW_DELTA.sentence))


def lines_of(table: Table, kinds: Sequence[str], mode: str, neighbors: str, *, delta: bool = False) -> list[Line]:
    """Return a line for each forest of `kinds` (names of forests) that has this mode.

    With `delta`, there is a further line for each of these forests that offers δ above 0.
    """
    pairs = [(kind, 0.0) for kind in kinds if mode in FORESTS[kind].modes().values()]
    pairs += [(kind, DELTA) for kind in kinds if delta and ALLOW_DELTA in FORESTS[kind].options]
    return [Line(settings_of(table, kind, mode, neighbors, delta=delta_of)) for kind, delta_of in pairs]


def settings_of(table: Table, kind: str, mode: str, neighbors: str, *, delta: float = 0.0) -> ForestSettings:
    """Return the default settings of a forest on this table, at ε = 1."""
    settings = as_it_comes(kind, mode, 1.0, neighbors, delta=delta)
    if mode == "certified" and neighbors == "add-remove" and kind == "boosted":
        settings = replace(settings, options=(("n_bound", boost_controls.default_bound(table)), *settings.options))
    return settings
