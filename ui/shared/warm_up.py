"""Compile the kernels on a tiny table before anybody waits for a large one."""

from __future__ import annotations

import gc
from collections.abc import Callable

import numpy as np
import streamlit as st

import dpforest
from dpforest.evaluation.greedy_simulation import simulation_for
from dpforest.evaluation.simulation import split_table
from dpforest.tables.domain import Domain, Feature
from dpforest.trees.routing import count_rows
from ui.shared import cache
from ui.shared.forests import FORESTS, Settings


@cache.for_everybody()
def _progress() -> dict[str, int]:
    """How many steps this process has done."""
    return {"done": 0}


def warm_up() -> None:
    """Once a process, with a counted bar. Compiled code is kept on disk, so that a second start takes a second."""
    progress = _progress()
    every = steps()
    if progress["done"] == len(every):
        return
    place = st.empty()
    while (done := progress["done"]) < len(every):
        place.progress(
            done / len(every), f"Getting ready: {done} of {len(every)} parts. The very first start compiles them."
        )
        every[done]()
        progress["done"] = max(progress["done"], done + 1)
    place.empty()
    # Streamlit collects garbage after every run of a page, with all other sessions standing still: not in what stays.
    gc.collect()
    gc.freeze()


def steps() -> list[Callable[[], object]]:
    """The engine bit by bit, then each forest in each mode, then exact noise."""
    domain, X, y = _tiny()
    spec = dpforest.RandomDecisionForestClassifier(n_estimators=3, max_depth=3).spec(domain, len(y))
    exact = (
        dpforest.MajorityLabelForestClassifier,
        dpforest.RandomDecisionForestClassifier,
        dpforest.BoostedForestClassifier,
        dpforest.MultinomialForestClassifier,
        dpforest.RandomTreeBoosterClassifier,
    )
    return [
        lambda: domain.encode(X),
        lambda: spec.grow(domain, 0),
        lambda: count_rows(spec.grow(domain, 0), domain, X, y.astype(np.int32), n_classes=2),
        *(
            lambda kind=kind, mode=mode: _simulate(kind, mode, domain, X, y)
            for kind, forest in FORESTS.items()
            for mode in forest.modes().values()
        ),
        *(lambda kind=kind: kind(n_estimators=3, max_depth=3, domain=domain).fit(X, y) for kind in exact),
    ]


def _simulate(kind: str, mode: str, domain: Domain, X: np.ndarray, y: np.ndarray) -> None:
    settings = Settings(kind, mode, 1.0, 3, 3, "add-remove")
    estimator = settings.estimator()
    domain = estimator.reads(domain)
    tiny = simulation_for(estimator, domain, split_table(domain, X, y), epsilons=(1.0,))
    tiny.add_repeat()
    tiny.view(1.0)


def _tiny() -> tuple[Domain, np.ndarray, np.ndarray]:
    features = (
        Feature("a", "numeric", 0, 1, source="documented", source_note="made up"),
        Feature("b", "categorical", categories=("x", "y", "z"), source="documented", source_note="made up"),
    )
    rng = np.random.default_rng(0)
    X = np.empty((64, 2), object)
    X[:, 0], X[:, 1] = rng.random(64), rng.choice(["x", "y", "z"], 64)
    return Domain(features, (0, 1), "c", "documented", "made up"), X, rng.integers(0, 2, 64)
