"""The controls of the Compare page. A link can set any value, so each value is checked again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

import streamlit as st

from dpforest.evaluation.groups import Groups
from dpforest.plotting.compare import MeasureScale
from ui import state
from ui.compare import changed_settings
from ui.forest.forests import EPSILONS, FORESTS, ForestSettings
from ui.jobs.group_columns import choose_column, groups_of_splits
from ui.jobs.lines import delta_control, lines_of, settings_of
from ui.jobs.measures import IN_PERCENT, MEASURES, WORST
from ui.jobs.results import SweepResult, gathered, with_worst_group
from ui.jobs.sweep_job import Line, SweepJob
from ui.shared import sidebar
from ui.shared.controls import LINKED, drop_list_with_unknown, drop_unknown, select
from ui.shared.epsilon import grid_with
from ui.shared.tables import Table, read_by

RELEASES: Final = (2, 4, 8, 20, 50)
DEFAULT_RELEASES: Final = 8
# Number of splits into training rows and held-out rows, by its label.
HELD_OUT: Final = {"three tenths, once": 1, "every row once, in 5 parts": 5}
COARSE: Final = (0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0)  # values of ε in the tabs Depth, Trees, and α and voting
DEPTHS: Final = (2, 4, 6, 8, 10)  # depths in the tab Depth
SIZES: Final = (1, 3, 10, 31, 100)  # numbers of trees in the tab Trees
MAP_DEPTHS: Final = tuple(range(1, 13))  # depths in the tab ε × depth
SECONDS: Final = 30  # computing time (`TimeBudget`) after which the page pauses and asks whether to continue


@dataclass(frozen=True)
class Comparison:
    """The user's choice of forests, ε, measure and simulations."""

    kinds: tuple[str, ...]
    published: bool
    neighbors: str
    epsilon: float
    releases: int
    folds: int
    measure: str
    bands: bool
    delta: bool = False
    changes: tuple[tuple[str, tuple[tuple[str, int | str], ...]], ...] = ()  # settings that the user changed, by forest
    column: str = ""  # column whose groups the measure `WORST` compares

    @property
    def scale(self) -> MeasureScale:
        """Name and unit of the measure. The accuracies of guessing and of the best model are not known yet."""
        return MeasureScale(self.measure, self.measure in IN_PERCENT, None, None)

    def changes_of(self, kind: str) -> dict[str, int | str]:
        """Return the settings of one forest that the user changed."""
        return dict(dict(self.changes).get(kind, ()))


def choose(epsilon: float, table: Table | None) -> Comparison:
    """Draw the controls in the sidebar and return the user's choice."""
    with st.sidebar:
        drop_list_with_unknown(state.FORESTS, FORESTS)
        kinds = st.multiselect(
            "Forests",
            list(FORESTS),
            list(FORESTS),
            key=state.FORESTS,
            bind=LINKED,
            help="Explore describes each forest. A rule sets depth and trees from ε and the number of rows. Forests "
            "as published use the paper’s values, or ours where it has none.",
        )
        published = st.toggle(
            "Also as published",
            key=state.ALSO_PUBLISHED,
            bind=LINKED,
            help="Forests as papers printed them; their lines are dashed. Their ε is a claim; no finite bound on "
            "their true loss is known.",
        )
        delta = delta_control()
        neighbors = sidebar.choose_neighbors()
        measure = select("Measure", list(MEASURES), state.COMPARED, "What the chart shows; the table has all measures.")
        column = choose_column(table) if measure == WORST and table is not None else ""
        sorted_kinds = tuple(kind for kind in FORESTS if kind in kinds)
        changes = changed_settings.choose(sorted_kinds)
        with st.expander("Fine settings"):
            drop_unknown(state.RELEASES_EACH, RELEASES)
            releases = st.select_slider(
                "Simulated releases of each forest",
                RELEASES,
                DEFAULT_RELEASES,
                key=state.RELEASES_EACH,
                bind=LINKED,
                help="Each release draws new trees, new noise, and a new assignment of rows to trees.",
            )
            drop_unknown(state.HELD_OUT, HELD_OUT)
            held_out = st.radio(
                "Held-out rows",
                list(HELD_OUT),
                key=state.HELD_OUT,
                bind=LINKED,
                help="Three tenths are quick. In 5 parts, every row is held out once, so that the luck of one split "
                "averages out. This takes five times as long.",
            )
            bands = st.toggle(
                "Bands", True, key=state.BANDS, bind=LINKED, help="Eight in ten simulated releases fall inside."
            )
    return Comparison(
        sorted_kinds,
        bool(published),
        neighbors,
        epsilon,
        releases if releases in RELEASES else DEFAULT_RELEASES,
        HELD_OUT.get(held_out, 1),
        measure,
        bool(bands),
        delta,
        tuple((kind, tuple(values.items())) for kind, values in changes.items()),
        column,
    )


def result_of(view: Comparison, table: Table, jobs: Sequence[SweepJob]) -> SweepResult:
    """Return the result of these jobs. If the measure is `WORST`, add the accuracy of the worst group."""
    result = gathered(jobs)
    if view.measure != WORST:
        return result
    by_unit: dict[str | None, list[Groups]] = {}
    groups = {}
    for job in jobs:
        unit, settings = read_by(table, job.line.settings).domain.unit, job.line.settings
        if unit not in by_unit:
            by_unit[unit] = groups_of_splits(table, settings, view.column, result.folds)
        groups[job.name] = by_unit[unit]
    return with_worst_group(result, groups)


def lines(view: Comparison, table: Table) -> list[Line]:
    """Return a line for each forest, and further lines for δ > 0 and for the published mode if the user chose them."""
    lines = lines_of(table, view.kinds, "certified", view.neighbors, delta=view.delta)
    lines += lines_of(table, view.kinds, "as_published", view.neighbors) if view.published else []
    return [replace(_changed_line(view, line), epsilons=grid_with(view.epsilon)) for line in lines]


def _changed_line(view: Comparison, line: Line, varied: str = "") -> Line:
    """Return the line with the user's settings for its forest. The name of the line states these settings."""
    if not line.settings.certified:
        return line
    settings, note = changed_settings.applied(line.settings, view.changes_of(line.settings.kind), varied)
    return replace(line, settings=settings, title=f"{line.name}{note}" if note else "")


def at_depths(view: Comparison, table: Table) -> list[Line]:
    """Return lines of the certified forests at several depths."""
    return [
        _changed_line(view, Line(settings, COARSE, depths=tuple(d for d in DEPTHS if d <= _deepest(settings))), "depth")
        for settings in _certified(view, table)
    ]


def at_sizes(view: Comparison, table: Table) -> list[Line]:
    """Return lines of the certified forests with several numbers of trees, without single-tree forests."""
    return [
        _changed_line(
            view,
            Line(settings, COARSE, trees=tuple(n for n in SIZES if n <= FORESTS[settings.kind].most_trees)),
            "trees",
        )
        for settings in _certified(view, table)
        if FORESTS[settings.kind].has_trees
    ]


def map_lines(view: Comparison, table: Table) -> list[Line]:
    """Ask for a forest, and return its line at every depth.

    If the grid lacks the slider's ε, return a second line at this ε alone. The simulations of the grid then remain
    valid when the slider moves.
    """
    kind = select(
        "Forest", list(view.kinds), state.MAPPED, "The forest that the map shows. Only certified forests are listed."
    )
    settings = settings_of(table, kind, "certified", view.neighbors)
    grid = EPSILONS[::2] if FORESTS[kind].is_fitted_anew else EPSILONS
    grids = [grid] if view.epsilon in grid else [grid, (view.epsilon,)]
    return [_changed_line(view, Line(settings, epsilons, depths=_map_depths(settings)), "depth") for epsilons in grids]


def _map_depths(settings: ForestSettings) -> tuple[int, ...]:
    return tuple(d for d in MAP_DEPTHS if d <= _deepest(settings))


def _deepest(settings: ForestSettings) -> int:
    return FORESTS[settings.kind].most_depth


def _certified(view: Comparison, table: Table) -> list[ForestSettings]:
    return [settings_of(table, kind, "certified", view.neighbors) for kind in view.kinds]
