"""Simulated releases: counted once, redrawn at will, refined while somebody looks."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterator

import numpy as np
import streamlit as st

import dpforest
from dpforest.domain import Domain, Feature
from dpforest.privacy.certificate import Certificate
from dpforest.privacy.ledger import Ledger
from dpforest.tradeoff import Curve, ForestView, Simulation, split_table
from ui.forests import EPSILONS, FORESTS, MODES, Settings
from ui.tables import Table, fingerprint, split

FIRST, LAST = 2, 20
N_JOBS = min(os.cpu_count() or 1, 4)


class Shared:
    """A simulation that several sessions may refine: one at a time."""

    def __init__(self, simulation: Simulation) -> None:
        self._simulation = simulation
        self._lock = threading.Lock()
        self._views: dict[float, ForestView] = {}

    @property
    def n_repeats(self) -> int:
        return self._simulation.n_repeats

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
    return Shared(Simulation(_settings.estimator(_table.domain), _table.domain, split(_table), epsilons=EPSILONS, n_jobs=N_JOBS))


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


def refined(shared: Shared, n_repeats: int, place) -> Iterator[int]:
    """Add repeats one by one with a counted bar; moving a control ends this between two of them."""
    if shared.n_repeats >= n_repeats:
        return
    bar = place.progress(shared.n_repeats / n_repeats, "…")
    last = time.monotonic()
    for repeat in range(shared.n_repeats + 1, n_repeats + 1):
        bar.progress(repeat / n_repeats, f"Simulated release {repeat} of {n_repeats}. Move any control to go on.")
        shared.refine(repeat)
        if time.monotonic() - last > 1.0 or repeat == n_repeats:
            yield repeat
            last = time.monotonic()
    bar.empty()


def _tiny() -> tuple[Domain, np.ndarray, np.ndarray]:
    features = (
        Feature("a", "numeric", 0, 1, source="documented", source_note="made up"),
        Feature("b", "categorical", categories=("x", "y", "z"), source="documented", source_note="made up"),
    )
    domain = Domain(features, (0, 1), "c", "documented", "made up")
    rng = np.random.default_rng(0)
    X = np.empty((64, 2), object)
    X[:, 0], X[:, 1] = rng.random(64), rng.choice(["x", "y", "z"], 64)
    return domain, X, rng.integers(0, 2, 64)


def _steps() -> list[tuple[str, Callable[[], object]]]:
    domain, X, y = _tiny()

    def simulate(kind: str, mode: str) -> None:
        settings = Settings(kind, mode, 1.0, 3, 3, "add-remove")
        tiny = Simulation(settings.estimator(domain), domain, split_table(domain, X, y), epsilons=(1.0,))
        tiny.add_repeat()
        tiny.view(1.0)

    steps = [
        (f"{kind}, {mode}", lambda kind=kind, mode=mode: simulate(kind, mode))
        for kind in FORESTS
        for mode in MODES.values()
    ]
    for kind in (dpforest.MajorityLabelForestClassifier, dpforest.RandomDecisionForestClassifier):
        steps.append((f"exact noise of {kind.__name__}", lambda kind=kind: kind(n_estimators=3, max_depth=3, domain=domain).fit(X, y)))
    return steps


@st.cache_resource(show_spinner=False)
def _warmed() -> set[str]:
    return set()


def warm_up() -> None:
    """Compile the kernels on a tiny table, with a counted bar; a second start finds them compiled."""
    done = _warmed()
    if "all" in done:
        return
    steps, bar = _steps(), None
    start = time.monotonic()
    for i, (name, step) in enumerate(steps):
        if name not in done:
            step()
            done.add(name)
        if bar is not None or time.monotonic() - start > 0.3:
            bar = bar or st.empty()
            bar.progress((i + 1) / len(steps), f"Getting ready, only this once: {i + 1} of {len(steps)} parts compiled.")
    done.add("all")
    if bar is not None:
        bar.empty()
