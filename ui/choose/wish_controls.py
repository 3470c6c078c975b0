"""The controls of the Choose ε page: measure and needed value, share of releases, mode, and prior belief."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from ui import state
from ui.choose import risk_parts
from ui.forest.forests import EPSILONS, FORESTS, MODES, ForestSettings
from ui.jobs.lines import delta_control, lines_of
from ui.jobs.measures import IN_PERCENT, MEASURES
from ui.shared import sidebar
from ui.shared.controls import LINKED, drop_out_of_bounds, drop_unknown, follow, select
from ui.shared.epsilon import choose_epsilon
from ui.shared.tables import Table

# Choices for the share of releases that must reach the needed value.
SURE: Final = {"8 in 10 releases": 0.8, "9 in 10 releases": 0.9, "19 in 20 releases": 0.95}
DEFAULT_SURE: Final = "9 in 10 releases"
NEEDS: Final = ("accuracy", "balanced accuracy", "AUC")  # the measures for which the value of guessing is known
MOST_ROWS: Final = 10  # largest number of rows of one person
STEP: Final = 0.5  # percentage points between two positions of the slider for the needed value
# Values of ε for a first answer on a large table. The largest ε is included, because forests are most accurate there.
FEW: Final = (0.05, 0.3, EPSILONS[-1])


@dataclass(frozen=True)
class Wish:
    """The values of all controls except the needed value, which the page asks for below its first figures."""

    share: float  # share of releases that must reach the needed value
    mode: str
    neighbors: str
    margin: bool  # whether to subtract a margin, because the held-out rows are a sample
    prior: float  # an attacker's belief before the release
    rows_per_person: int
    delta: bool = False  # whether to add forests with δ above 0
    measure: str = NEEDS[0]

    @property
    def column(self) -> str:
        """Column of the measure in the results of a sweep."""
        return MEASURES[self.measure]

    @property
    def certified(self) -> bool:
        """Whether the forests are certified, instead of as published."""
        return self.mode == "certified"


def choose() -> Wish:
    """Draw the controls in the sidebar and return their values."""
    with st.sidebar:
        measure = select(
            "What you need",
            list(NEEDS),
            state.NEEDED_MEASURE,
            "Accuracy is the share of right predictions. Balanced accuracy is its mean over classes, so that a rare "
            "class counts as much as a frequent one. AUC tells how well the forest ranks rows by their class.",
        )
        sure = select(
            "Share of releases that must reach it",
            list(SURE),
            state.SURE,
            "A real release draws the noise only once, and may have bad luck. So ask that most releases reach the "
            "value.",
            DEFAULT_SURE,
        )
        prior = risk_parts.prior_control()
        neighbors = sidebar.choose_neighbors()
        drop_unknown(state.MODE, MODES)
        mode = st.radio(
            "Mode",
            list(MODES),
            key=state.MODE,
            bind=LINKED,
            horizontal=True,
            help="Certified, by this program and not by an authority: it is proved that its promise (ε, and δ if "
            "above 0) holds; tests and attacks find no error. As published: as a paper printed it. The paper’s claim "
            "about ε may be false.",
        )
        delta = delta_control() if mode == "certified" else False
        with st.expander("Fine settings"):
            drop_out_of_bounds(state.ROWS_EACH, 1, MOST_ROWS)
            rows = st.slider(
                "Rows of one person, at most",
                1,
                MOST_ROWS,
                key=state.ROWS_EACH,
                bind=LINKED,
                help="ε is for one row. For a person with k rows, the bound is k × ε; a δ above 0 grows, too. If "
                "the Data tab names a column that identifies persons, ε is for a person, and this setting has no "
                "effect.",
            )
            margin = st.toggle(
                "Keep a margin for the held-out rows",
                True,
                key=state.MARGIN,
                bind=LINKED,
                help="Accuracy is measured on a sample of rows, so it may be a little too high by luck. With the "
                "margin, an ε counts only if the accuracy minus the margin reaches what you need. With 95 % "
                "confidence, the margin is large enough for all forests at once.",
            )
    return Wish(
        SURE[sure],
        MODES.get(mode, "certified"),
        neighbors,
        bool(margin),
        prior,
        min(max(int(rows), 1), MOST_ROWS),
        delta,
        measure,
    )


def needed_value(measure: str, floor: float, best: float) -> float:
    """Draw the slider of the needed value, and return the value, from 0 to 1.

    The slider goes from about `floor` to 1, and its initial position is halfway between `floor` and `best`.
    """
    in_percent = measure in IN_PERCENT
    unit, step, key = (100.0, STEP, state.NEED) if in_percent else (1.0, STEP / 100, state.NEED_AUC)
    low = min(max(step * int(unit * floor / step), step), unit - step)
    halfway = floor + max(best - floor, 0.0) / 2
    default = round(min(max(step * round(unit * halfway / step), low), unit), 3)
    follow(key, default)
    drop_out_of_bounds(key, low, unit)
    name = measure if measure == "AUC" else measure.capitalize()
    value = st.slider(
        f"{name} that you need",
        low,
        unit,
        default,
        step,
        format="%.1f %%" if in_percent else "%.3f",
        key=key,
        bind=LINKED,
        help="Measured on records that the forest has not seen. The lowest value is about what guessing gets.",
    )
    return min(max(float(value), low), unit) / unit


def look_at(
    names: list[str],
    best: str,
    smallest: dict[str, float | None],
    epsilon_place: DeltaGenerator,
    forest_place: DeltaGenerator,
) -> tuple[str, float]:
    """Draw a control for the forest and a control for ε in two containers, and return their values.

    Until the user chooses another forest, the page shows the forest with the best answer. The control for ε starts at
    the smallest ε of the forest.
    """
    drop_unknown(state.LOOKED_AT, names)
    follow(state.LOOKED_AT, best)
    with forest_place:
        help = "The one with the smallest ε, unless you choose another."
        kind = select("Look at the forest", names, state.LOOKED_AT, help, best)
    start = smallest.get(kind) or 1.0
    follow(state.EPSILON_TO_LOOK_AT, start)
    with epsilon_place:
        epsilon = choose_epsilon(
            state.EPSILON_TO_LOOK_AT,
            label="at ε",
            start=start,
            help="Starts at the smallest ε that reaches what you need.",
        )
    return kind, epsilon


def kinds() -> list[str]:
    """Return the names of all forests of the app."""
    return list(FORESTS)


def forests(table: Table, wish: Wish) -> list[ForestSettings]:
    """Return the settings of all forests in the user's mode. If `wish.delta` is set, add forests with δ above 0."""
    return [line.settings for line in lines_of(table, kinds(), wish.mode, wish.neighbors, delta=wish.delta)]
