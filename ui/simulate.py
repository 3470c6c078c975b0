"""Simulated releases: counted once, redrawn at will, refined while somebody looks."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterator

import streamlit as st

from dpforest.domain import Domain
from dpforest.greedy_simulation import GreedySimulation, simulation_for
from dpforest.privacy.certificate import Certificate
from dpforest.privacy.ledger import Ledger
from dpforest.references import reference_accuracies
from dpforest.simulation import Curve, Repeats
from dpforest.views import ForestView
from ui.forests import EPSILONS, Settings
from ui.tables import Table, fingerprint, split

FIRST, LAST = 2, 20
MOST_SECONDS = 30  # of refining; what is drawn by then says how many releases it rests on
MANY_ROWS = 50_000  # more take a noticeable time
N_JOBS = min(os.cpu_count() or 1, 4)


class Shared:
    """A simulation that several sessions may refine: one at a time."""

    def __init__(self, simulation: Repeats) -> None:
        self._simulation = simulation
        self._lock = threading.Lock()
        self._views: dict[float, ForestView] = {}

    @property
    def n_repeats(self) -> int:
        return self._simulation.n_repeats

    @property
    def is_greedy(self) -> bool:
        """Whether trees are grown anew at every ε, which takes longer."""
        return isinstance(self._simulation, GreedySimulation)

    def refine(self, n_repeats: int) -> None:
        """At least so many repeats."""
        while self.n_repeats < n_repeats:
            with self._lock:
                if self.n_repeats < n_repeats:
                    self._simulation.add_repeat()

    def curve(self) -> Curve:
        """Over the whole ε grid, so that moving ε moves a marker only."""
        with self._lock:
            return self._simulation.curve()

    def view(self, epsilon: float) -> ForestView:
        """One simulated release in full; the last ones are kept, with what was computed on them."""
        with self._lock:
            if epsilon not in self._views:
                self._views = {**dict(list(self._views.items())[-3:]), epsilon: self._simulation.view(epsilon)}
            return self._views[epsilon]


def _make(key: tuple, _table: Table, _settings: Settings) -> Shared:
    estimator = _settings.estimator(_table.domain)
    return Shared(simulation_for(estimator, _table.domain, split(_table), epsilons=EPSILONS, n_jobs=N_JOBS))


_for_all = st.cache_resource(max_entries=8, show_spinner=False)(_make)
own_simulation = st.cache_resource(scope="session", max_entries=4, show_spinner=False)(_make)


def simulation(table: Table, settings: Settings) -> Shared:
    """The simulation of these settings; of an upload for this session only."""
    key = (table.schema_key, fingerprint(table.domain), settings.without_epsilon())
    return (own_simulation if table.uploaded else _for_all)(key, table, settings)


@st.cache_resource(max_entries=64, show_spinner=False, scope="session")
def promise(fingerprint: str, settings: Settings, n_rows: int, _domain: Domain) -> tuple[Certificate, Ledger]:
    """Certificate and ledger that a release would carry, from public knowledge."""
    return settings.estimator(_domain).preview(_domain, n_rows)


def _references(key: tuple, _table: Table) -> dict[str, tuple[float, float]]:
    return reference_accuracies(_table.domain, split(_table), n_jobs=N_JOBS)


_references_for_all = st.cache_data(max_entries=16, show_spinner="Fitting scikit-learn's trees …")(_references)
own_references = st.cache_data(scope="session", max_entries=4, show_spinner="Fitting scikit-learn's trees …")(
    _references
)


def references(table: Table) -> dict[str, tuple[float, float]]:
    """Accuracy and balanced accuracy of scikit-learn's trees, without privacy; of an upload for this session only."""
    key = (table.schema_key, fingerprint(table.domain))
    return (own_references if table.uploaded else _references_for_all)(key, table)


def first_curve(shared: Shared, n_rows: int, place) -> None:
    """The first repeats, fewer where one takes long, so that there is something to look at soon."""
    if shared.n_repeats:
        return
    slow = n_rows > MANY_ROWS or shared.is_greedy
    bar = place.progress(0.0, f"Sending {n_rows:,} rows through the trees …") if slow else None
    start = time.monotonic()
    shared.refine(1)
    if time.monotonic() - start < 0.4:
        shared.refine(FIRST)
    if bar is not None:
        bar.empty()


def refined(shared: Shared, n_repeats: int, place) -> Iterator[int]:
    """Add repeats one by one, with a counted bar once it takes long; moving a control ends this between two of them.

    Gives the number of repeats now and then, when it is worth drawing again.
    """
    bar, start = None, time.monotonic()
    drawn = start
    if shared.is_greedy and shared.n_repeats < n_repeats:
        bar = place.progress(0.0, f"Simulated release {shared.n_repeats + 1} of {n_repeats} …")
    for repeat in range(shared.n_repeats + 1, n_repeats + 1):
        shared.refine(repeat)
        now = time.monotonic()
        if now - start > MOST_SECONDS:
            yield repeat
            break
        if bar is not None or now - start > 0.5:
            text = f"Simulated release {repeat} of {n_repeats}; no need to wait"
            bar = (bar or place).progress(repeat / n_repeats, text)
        if now - drawn > 1.0 or repeat == n_repeats:
            yield repeat
            drawn = time.monotonic()
    if bar is not None:
        bar.empty()
