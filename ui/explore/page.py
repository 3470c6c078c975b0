"""The page Explore from top to bottom: choose a table and a forest, move ε, and see accuracy and privacy change."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Final

import streamlit as st

from dpforest.privacy.certificate import Certificate
from dpforest.privacy.ledger import Ledger
from dpforest.tables.domain import DomainError
from ui import state
from ui.explore import (
    budget_tab,
    curve_panel,
    data_tab,
    first_look,
    groups_tab,
    headline,
    instrument,
    leaves_tab,
    tree_tab,
    welcome,
)
from ui.explore.stories import with_words
from ui.forest import recommended
from ui.forest.forests import ForestSettings
from ui.jobs import first_release
from ui.jobs.baselines import baselines_of
from ui.jobs.results import SweepResult, is_no_better_than_guessing
from ui.jobs.sweep_job import Line, SweepJob, promise, sweep_job
from ui.jobs.warm_up import is_ready, warm_up, warm_up_the_rest
from ui.jobs.workers import BACKGROUND
from ui.releasing import release
from ui.shared import figures, sidebar, tables
from ui.shared.controls import LINKED
from ui.shared.epsilon import choose_epsilon, grid_with
from ui.shared.page import open_page, sorry
from ui.shared.sidebar import Choice

TABS: Final = ("Tree", "Leaves", "Budget", "Data", "Groups")
SEND_SECONDS: Final = 0.3  # seconds in which a chart can reach the browser, before compilation blocks the server


def show() -> None:
    """Draw the page, then refine its figures until the user moves a control."""
    open_page("Explore")
    header = st.container(horizontal=True, vertical_alignment="center", horizontal_alignment="distribute")
    messages = st.container()
    with header:
        top = st.container(width="stretch")
        with st.popover("Exact values", width="content", help="Type exact ε, depth, trees and α, or use the defaults."):
            epsilon, shape = choose_epsilon(messages=messages), st.container()
    choice = sidebar.choose(epsilon, shape)
    if choice is None:
        return
    table, settings = choice.table, choice.settings
    with top:
        headline.header(choice)
    instrument_place = st.container(key="instrument_place")
    stored = None if is_ready(settings) else first_look.stored(table, settings)
    try:
        if stored is None:
            n_rows = tables.planned_rows(table, settings)
            certificate, ledger = promise(tables.fingerprint(table.domain), settings, n_rows, table.domain)
            warm_up(settings)
        else:
            certificate, ledger = stored.certificate, stored.ledger
        grid = grid_with(settings.epsilon)
        job = sweep_job(table, Line(settings, grid), check=stored is None)
    except (DomainError, ValueError) as problem:
        sorry(problem)
        data_tab.show(choice)
        return

    release_place = st.sidebar.container()
    figures_place = sidebar.share(choice)
    upper, lower = st.container(), st.container()
    with lower:
        tabs = dict(zip(TABS, st.tabs(TABS, key=state.TAB, bind=LINKED), strict=True))
    open_tab = next((name for name, tab in tabs.items() if tab.open), "")
    has_cards = open_tab == "Data" and table.uploaded
    if has_cards:  # draw the cards before simulating, so that the user can go on with the next card
        with tabs["Data"]:
            data_tab.show(choice, job.releases)

    with upper:
        if not settings.certified:
            headline.broken_promise(certificate)
        # Draw a first curve at once. If nothing is compiled yet, its simulated releases come from a file.
        if stored:
            stored.add_to(job)
        few_epsilons = tuple(sorted({grid[0], grid[len(grid) // 2], grid[-1], settings.epsilon}))
        result = first_release.first_releases(table, [job], few_epsilons, st.empty())
        baselines = baselines_of(table)
        is_useless = is_no_better_than_guessing(result, baselines, settings.name, settings.epsilon)
        is_dialog_open = release.button(choice, certificate, ledger, release_place, is_useless=is_useless)
        key_figures = headline.KeyFigures(choice, certificate, ledger, result, baselines)
        if settings.certified:
            recommended.line(table, settings, _choose_forest, "Switch to it")
        welcome.line()
        panel = curve_panel.Panel(choice, result, ledger, baselines, certificate.delta)
    with instrument_place:
        drawing = instrument.Instrument(choice, job, result, baselines, panel.measure, certificate.delta)
    if stored:
        time.sleep(SEND_SECONDS)
        warm_up(settings, panel.progress)
    refine_tab = None
    if open_tab and not has_cards:
        with tabs[open_tab]:
            refine_tab = _show_tab(open_tab, choice, certificate, ledger, job, result)
    # draw the tree after the tabs, because simulating some forests takes seconds
    drawing.show_tree(with_words(job.releases.view(settings.epsilon), table))
    with figures_place:
        figures.offer()

    def other_work() -> bool:
        """Do one step: fit the best model without privacy, simulate the instrument's lines, or try other forests."""
        return baselines.step() or drawing.step() or panel.step()

    # Refine the curve until a control moves, and do the other work in between. Do neither while the release dialog is
    # open, because the dialog's buttons would wait for the end of this run. Closing the dialog reruns the page.
    if not is_dialog_open:
        for refined_result in first_release.refined(job, result, first_release.LAST, panel.progress, other_work):
            drawing.refine(refined_result)
            key_figures.refine(refined_result)
            panel.refine(refined_result)
            if refine_tab is not None:
                refine_tab(refined_result)
        warm_up_the_rest(panel.progress)
        BACKGROUND.start_if_useful()


def _choose_forest(settings: ForestSettings) -> None:
    """Set the controls to this forest, with depth and number of trees by the rule."""
    state.FOREST.value, state.DELTA.value, state.BY_RULE.value = settings.kind, settings.delta > 0, True


def _show_tab(
    name: str, choice: Choice, certificate: Certificate, ledger: Ledger, job: SweepJob, result: SweepResult
) -> Callable[[SweepResult], None] | None:
    """Draw the open tab. Return a function that refines it, or None if it needs no refinement."""
    epsilon, releases = choice.settings.epsilon, job.releases
    if name == "Tree":
        tree_tab.show(choice, with_words(releases.view(epsilon), choice.table))
    elif name == "Leaves":
        leaves_tab.show(choice, with_words(releases.view(epsilon), choice.table))
    elif name == "Budget":
        budget_tab.show(choice, certificate, ledger)
    elif name == "Data":
        data_tab.show(choice, releases)
    else:
        return groups_tab.GroupsTab(choice, result).refine
    return None
