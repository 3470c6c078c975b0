"""Compile the numba kernels on tiny tables before a page needs them.

A page first compiles the kernels of its forest, and later those of all other forests.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from functools import lru_cache, partial
from typing import Any

import numpy as np
import streamlit as st

import dpforest
from dpforest.models.base import ForestClassifier
from dpforest.simulation.splits import split_table
from dpforest.simulation.sweep import simulation_for
from dpforest.tables.domain import Domain, Feature
from dpforest.trees.routing import count_rows
from ui.forest.forests import FORESTS, ForestSettings
from ui.shared import cache

Step = tuple[str, ...]  # ("engine", part), (forest, mode), or ("exact noise", estimator)

_EXACT = (  # together, their fits compile the kernels of the exact noise that releases draw
    dpforest.MajorityLabelForestClassifier,
    dpforest.RandomDecisionForestClassifier,
    dpforest.BoostedForestClassifier,
    dpforest.MultinomialForestClassifier,
    dpforest.RandomTreeBoosterClassifier,
)


@cache.for_everybody()
def _done() -> set[Step]:
    """Return the set of steps whose code this process has compiled or loaded from disk. `_run` adds steps to it."""
    return set()


def is_ready(settings: ForestSettings) -> bool:
    """Return whether a forest with these settings can be simulated without compiling anything."""
    return _needed(settings) <= _done()


def warm_up(settings: ForestSettings | None = None, place: Any = st) -> None:
    """Compile the kernels of a forest, or all kernels if `settings` is None, and show a progress bar.

    This takes long only at the very first start: later starts of the server load the compiled code from disk.
    """
    _run(steps() if settings is None else _needed(settings), place, "The very first start compiles them.")


def warm_up_the_rest(place: Any) -> None:
    """Compile all kernels that are still missing. If the user moves a control, the work ends after its present step."""
    _run(steps(), place, "No need to wait: they are for other forests.")


def _needed(settings: ForestSettings) -> set[Step]:
    """Return the steps that compile all code for simulations of a forest with these settings."""
    return {step for step in steps() if step[0] == "engine"} | {(settings.kind, settings.mode)}


def _run(needed: Iterable[Step], place: Any, words: str) -> None:
    all_steps, done = steps(), _done()
    missing = [step for step in all_steps if step in needed and step not in done]
    if not missing:
        return
    bar = place.empty()
    for step in missing:
        n = len(done)
        bar.progress(n / len(all_steps), f"Getting ready: {n} of {len(all_steps)} parts. {words}")
        all_steps[step]()
        done.add(step)
    bar.empty()


@lru_cache(1)
def steps() -> dict[Step, Callable[[], object]]:
    """Return a function for each step, which compiles kernels by calling them.

    The steps are parts of the engine, each forest in each mode, and the exact noise of releases.
    """
    domain, X, y = tiny_table(2)
    spec = dpforest.RandomDecisionForestClassifier(n_estimators=3, max_depth=3).spec(domain, len(y))
    return {
        ("engine", "codes"): lambda: domain.encode(X),
        ("engine", "trees"): lambda: spec.grow(domain, 0),
        ("engine", "counts"): lambda: count_rows(spec.grow(domain, 0), domain, X, y.astype(np.int32), n_classes=2),
        **{
            (kind, mode): partial(_simulate, kind, mode)
            for kind, forest in FORESTS.items()
            for mode in forest.modes().values()
        },
        **{("exact noise", kind.__name__): partial(_fit, kind, domain, X, y) for kind in _EXACT},
    }


def _fit(kind: type[ForestClassifier], domain: Domain, X: np.ndarray, y: np.ndarray) -> None:
    kind(n_estimators=3, max_depth=3, domain=domain).fit(X, y)


def _simulate(kind: str, mode: str) -> None:
    settings = ForestSettings(kind, mode, 1.0, 3, 3, "add-remove")
    estimator = settings.estimator()
    for n_classes in (2, 3):  # some kernels are for two classes, and others for more
        table, X, y = tiny_table(n_classes)
        domain = estimator.reading_domain(table)
        tiny = simulation_for(estimator, domain, split_table(domain, X, y))
        for _ in tiny.pieces((1.0, math.inf)):
            pass
        tiny.view(1.0).nodes(0)


def tiny_table(n_classes: int) -> tuple[Domain, np.ndarray, np.ndarray]:
    """Return a domain of one number and one category, 64 rows, and their labels."""
    features = (
        Feature("a", "numeric", 0, 1, source="documented", source_note="made up"),
        Feature("b", "categorical", categories=("x", "y", "z"), source="documented", source_note="made up"),
    )
    rng = np.random.default_rng(0)
    X = np.empty((64, 2), object)
    X[:, 0], X[:, 1] = rng.random(64), rng.choice(["x", "y", "z"], 64)
    domain = Domain(features, tuple(range(n_classes)), "c", "documented", "made up")
    return domain, X, rng.integers(0, n_classes, 64)
