"""The controls of the Choose ε page: the accuracy, the share of releases that must reach it, mode, and prior belief."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from ui import state
from ui.choose import risk_parts
from ui.jobs.lines import delta_control, lines_of
from ui.shared import sidebar
from ui.shared.controls import LINKED, follow, known, select, within
from ui.shared.epsilon import choose_epsilon
from ui.shared.forests import EPSILONS, FORESTS, MODES, ForestSettings
from ui.shared.tables import Table

# SURE holds shares of releases that must reach the accuracy. RELEASES holds the number of simulated releases for each
# share.
SURE: Final = {"8 in 10 releases": 0.8, "9 in 10 releases": 0.9, "19 in 20 releases": 0.95}
DEFAULT_SURE: Final = "9 in 10 releases"
RELEASES: Final = {0.8: 40, 0.9: 80, 0.95: 160}
MOST_ROWS: Final = 10  # largest number of rows of one person
STEP: Final = 0.5  # percent
# The ε of a first answer on a large table. Forests are most accurate at the last one.
FEW: Final = (0.05, 0.3, EPSILONS[-1])
SECONDS: Final = 40  # computing time (`TimeBudget`) until the page pauses and asks whether to continue


@dataclass(frozen=True)
class Wish:
    """The values of all controls except the accuracy. The page asks for the accuracy below its first figures."""

    share: float
    mode: str
    neighbors: str
    margin: bool
    prior: float
    rows_per_person: int
    delta: bool = False

    @property
    def releases(self) -> int:
        # An answer about a published forest has no confidence level.
        return RELEASES[self.share] if self.certified else 20

    @property
    def certified(self) -> bool:
        return self.mode == "certified"


def choose() -> Wish:
    """Draw the controls in the sidebar and return their values."""
    with st.sidebar:
        sure = select(
            "How sure to get it: in at least",
            list(SURE),
            state.SURE,
            "A real release draws the noise only once, and may have bad luck.",
            DEFAULT_SURE,
        )
        prior = risk_parts.prior_control()
        neighbors = sidebar.choose_neighbors()
        known(state.MODE, MODES)
        mode = st.radio(
            "Mode",
            list(MODES),
            key=state.MODE,
            bind=LINKED,
            horizontal=True,
            help="Certified: it keeps its ε; proved, tested and attacked. As published: the mechanisms as papers "
            "printed them, whose claims about ε may not hold.",
        )
        delta = delta_control() if mode == "certified" else False
        with st.expander("Fine settings"):
            within(state.ROWS_EACH, 1, MOST_ROWS)
            rows = st.slider(
                "Rows of one person, at most",
                1,
                MOST_ROWS,
                key=state.ROWS_EACH,
                bind=LINKED,
                help="ε is for one row. For a person with k rows, ε counts k times, at a larger δ if there is one. If "
                "the Data tab names a column that identifies persons, ε is for a person, and this has no effect.",
            )
            margin = st.toggle(
                "Keep a margin for the held-out rows",
                True,
                key=state.MARGIN,
                bind=LINKED,
                help="Accuracy is measured on a sample of rows, so it may be a little too high by luck. With the "
                "margin an ε counts only if the lower end of the 95 % interval is high enough.",
            )
    return Wish(
        SURE[sure],
        MODES.get(mode, "certified"),
        neighbors,
        bool(margin),
        prior,
        min(max(int(rows), 1), MOST_ROWS),
        delta,
    )


def needed_accuracy(floor: float, best: float) -> float:
    """Draw the slider of the accuracy, from the floor to 100 %. It starts halfway from the floor to `best`."""
    low = min(STEP * int(100 * floor / STEP), 100.0 - STEP)
    default = STEP * round((100 * floor + 50 * max(best - floor, 0)) / STEP)
    default = min(max(default, low), 100.0)
    follow(state.NEED, default)
    within(state.NEED, low, 100.0)
    value = st.slider(
        "Accuracy that you need",
        low,
        100.0,
        default,
        STEP,
        format="%.1f %%",
        key=state.NEED,
        bind=LINKED,
        help="Share of new records that the forest must classify correctly. The lowest value is about the accuracy of "
        "always naming the most frequent class.",
    )
    return min(max(float(value), low), 100.0) / 100


def look_at(
    names: list[str], best: str, smallest: dict[str, float | None], at: DeltaGenerator, which: DeltaGenerator
) -> tuple[str, float]:
    """Draw the controls of forest and ε, in two containers. Both follow the best answer until the user moves them."""
    known(state.LOOKED_AT, names)
    follow(state.LOOKED_AT, best)
    with which:
        help = "The one with the smallest ε, unless you choose another."
        kind = select("Look at the forest", names, state.LOOKED_AT, help, best)
    start = smallest.get(kind) or 1.0
    follow(state.EPSILON_TO_LOOK_AT, start)
    with at:
        epsilon = choose_epsilon(
            state.EPSILON_TO_LOOK_AT,
            label="at ε",
            start=start,
            help="Starts at the smallest ε that reaches what you need.",
        )
    return kind, epsilon


def kinds() -> list[str]:
    """Return all forests of the app."""
    return list(FORESTS)


def forests(table: Table, wish: Wish) -> list[ForestSettings]:
    """Return all forests of this mode, and if chosen, also those with δ above 0."""
    return [line.settings for line in lines_of(table, kinds(), wish.mode, wish.neighbors, delta=wish.delta)]
