"""The page Explore from top to bottom: pick a table and a forest, move ε, and see what it costs and what it buys."""

from __future__ import annotations

import time
from typing import Final

import streamlit as st

from dpforest.tables.domain import DomainError
from ui import state
from ui.explore import budget_tab, curve_panel, data_tab, first_look, headline, leaves_tab, tree_tab, welcome
from ui.jobs import baselines, first_release
from ui.jobs.sweep_job import Line, SweepJob, promise, sweep_job
from ui.jobs.warm_up import is_ready, warm_up, warm_up_the_rest
from ui.jobs.workers import BACKGROUND
from ui.shared import figures, release, sidebar, tables
from ui.shared.controls import LINKED
from ui.shared.epsilon import choose_epsilon, grid_with
from ui.shared.page import open_page, sorry
from ui.shared.sidebar import Choice

AWAY: Final = 0.3  # seconds in which a chart leaves for the browser: while kernels are compiled nothing else runs


def show() -> None:
    """Draw the page, then refine it while somebody looks."""
    open_page("Explore")
    top = st.container()
    choice = sidebar.choose(choose_epsilon())
    if choice is None:
        return
    table, settings = choice.table, choice.settings
    with top:
        headline.header(choice)
    welcome.line()  # below ε, which is to be near for those who work without a mouse
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

    is_asked = release.button(choice, certificate, ledger)
    drawn = sidebar.share(choice)
    if not settings.certified:
        headline.broken_promise(certificate)

    # A first curve at once, on a machine that has nothing compiled from a file ...
    if stored:
        stored.into(job)
    few = tuple(sorted({grid[0], grid[len(grid) // 2], grid[-1], settings.epsilon}))
    result = first_release.first_releases(table, [job], few, st.container())
    level = baselines.level(table)
    panel = curve_panel.Panel(choice, result, ledger, level, certificate.delta)
    numbers = headline.Figures(choice, certificate, result, level)
    if stored:
        time.sleep(AWAY)
        warm_up(settings, panel.progress)
    _tabs(choice, certificate, ledger, job)
    with drawn:
        figures.offer()

    def other_work() -> bool:
        """The ceiling; what δ buys; then, where this forest learns nothing, which other would."""
        return level.step() or panel.look_elsewhere()

    # ... refined while somebody looks, until a control moves; the ceiling is fitted in between. Not behind the dialog
    # that releases, whose buttons would wait for the end of this run: closing it runs the page once more.
    if not is_asked:
        for surer in first_release.refined(job, result, first_release.LAST, panel.progress, other_work):
            numbers.refine(surer)
            panel.refine(surer)
        warm_up_the_rest(panel.progress)
        BACKGROUND.start_if_useful()


def _tabs(choice: Choice, certificate, ledger, job: SweepJob) -> None:
    """Four tabs, of which the open one is drawn."""
    epsilon, releases = choice.settings.epsilon, job.releases
    tabs = {
        "Tree": lambda: tree_tab.show(choice, releases.view(epsilon)),
        "Leaves": lambda: leaves_tab.show(choice, releases.view(epsilon)),
        "Budget": lambda: budget_tab.show(choice, certificate, ledger),
        "Data": lambda: data_tab.show(choice, releases),
    }
    for tab, show_it in zip(st.tabs(list(tabs), key=state.TAB, bind=LINKED), tabs.values(), strict=True):
        if tab.open:
            with tab:
                show_it()
