"""Accuracy over ε: Nock and Henecka's forests down to where nothing can be learnt, Fletcher and Islam's figures 9, 10.

The first is not in the paper: it has ε from 0.01 on. As published the weights of boosted trees are exact functions of
the rows, so they go on learning; certified they do not.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

import numpy as np
import pandas as pd
from sklearn.compose import make_column_transformer
from sklearn.ensemble import RandomForestClassifier
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import OneHotEncoder

from dpforest import MajorityLabelForestClassifier
from dpforest.evaluation.sweep import surface
from dpforest.tables.datasets import make_synthetic
from dpforest.tables.domain import Domain
from reproduce import fletcher_islam, nock_henecka
from reproduce.protocol import DRAWN, NOT_THERE, Record, accuracies, load, point

DOWN: Final = (1e-4, 1e-3, 1e-2, 0.1, 1.0, 10.0, 25.0)
TABLES: Final = ("breast_wisconsin", "mushroom", "banknote", "magic")
FOLDS, DEPTH, TREES = 5, 4, 20
REPEATS: Final = 5  # the folds of a repeat share its noise
ADULT: Final = tuple(round(0.2 * i, 1) for i in range(1, 9))
FIGURE_10: Final = "figure 10, accuracy over ε, Adult"
ROWS: Final = (3_000, 30_000, 300_000)
BUDGETS: Final = (0.01, 0.1, 1.0)
DRAWS: Final = 3
Cells = dict[str, pd.DataFrame]


def records(*, quick: bool = False, folder: Path | None = None) -> Iterator[Record]:
    """Points of all three."""
    yield from down_to_nothing(quick, folder)
    if not quick:
        yield from over_budgets()
        yield from over_rows()


def down_to_nothing(quick: bool, folder: Path | None) -> Iterator[Record]:
    """Boosted trees and the two random forests, twenty trees of depth four."""
    for name in TABLES[:1] if quick else TABLES:
        data = load(name, folder)
        if data is None:
            continue
        table = nock_henecka.two_classes(data)
        found: Cells = {}
        for mode in ("as_published",) if data.domain.leaks() else ("as_published", "certified"):
            named = nock_henecka.forests(mode)
            boosted = {key: named.pop(key) for key in nock_henecka.BEST}
            repeats = 1 if quick else REPEATS
            common: dict[str, Any] = {"epsilons": DOWN, "depths": (DEPTH,), "repeats": repeats, "folds": FOLDS}
            found[mode] = pd.concat(
                [surface(boosted, table, trees=(TREES,), **common), surface(named, table, **common)], ignore_index=True
            )
        item = f"accuracy over ε down to 10⁻⁴, {name} (not in the paper)"
        for line in (*nock_henecka.BEST, "RF-L", "RF-E"):
            for epsilon in DOWN:
                yield _point(nock_henecka.PAPER, item, line, "ε", epsilon, found, epsilon, NOT_THERE)


def over_budgets() -> Iterator[Record]:
    """Figure 10: Adult, and beside it, the same at every ε, their forest and Breiman's without privacy."""
    data = load("adult", None)
    found = {
        mode: surface({"100 trees": _labels(9, mode)}, data, epsilons=ADULT, trees=(100,), repeats=3, folds=3)
        for mode in ("as_published", "certified")
    }
    for epsilon in ADULT:
        yield _point(fletcher_islam.PAPER, FIGURE_10, "100 trees", "ε", epsilon, found, epsilon, DRAWN)
    own = found["as_published"]
    exact = {
        "100 trees, without privacy": 100 * own[np.isinf(own.epsilon)].accuracy.to_numpy(float),
        "Breiman's forest": accuracies(breiman(data.domain), data, 1, 3),
    }
    for line, values in exact.items():
        for epsilon in ADULT:
            yield point(fletcher_islam.PAPER, FIGURE_10, line, "ε", epsilon, values, None, DRAWN)


def breiman(domain: Domain) -> Callable[[int], Pipeline]:
    """Breiman's forest, of which the paper says nothing but that: scikit-learn's defaults, a column a category."""
    texts = [feature.name for feature in domain.features if feature.kind == "categorical"]
    columns = make_column_transformer(
        (OneHotEncoder(handle_unknown="ignore"), texts), remainder="passthrough", sparse_threshold=0
    )
    return lambda seed: make_pipeline(columns, RandomForestClassifier(100, random_state=seed))


def over_rows() -> Iterator[Record]:
    """Figure 9: the synthetic set F, drawn anew."""
    for n_rows in ROWS:
        found: Cells = {}
        for mode in ("as_published", "certified"):
            drawn = [
                surface({"F": _labels(8, mode)}, make_synthetic("SynthF", n_rows, seed=draw), epsilons=BUDGETS,
                        trees=(100,), repeats=1, seed=draw)
                for draw in range(DRAWS)
            ]  # fmt: skip
            found[mode] = pd.concat(drawn, ignore_index=True).assign(forest=[f"ε = {e:g}" for e in _epsilons(drawn)])
        for epsilon in BUDGETS:
            yield _point(
                fletcher_islam.PAPER, "figure 9, accuracy over rows, SynthF", f"ε = {epsilon:g}", "rows", n_rows, found,
                epsilon, DRAWN,
            )  # fmt: skip


def _labels(depth: int, mode: str) -> MajorityLabelForestClassifier:
    return MajorityLabelForestClassifier(max_depth=depth, scale_share="public", mode=mode)


def _epsilons(frames: list[pd.DataFrame]) -> np.ndarray:
    return pd.concat(frames).epsilon.to_numpy(float)


def _point(
    paper: str, item: str, line: str, axis: str, at: float, found: Cells, epsilon: float, reason: str
) -> Record:  # fmt: skip
    values = {
        mode: 100 * cells[(cells.forest == line) & (cells.epsilon == epsilon)].accuracy.to_numpy(float)
        for mode, cells in found.items()
    }
    return point(paper, item, line, axis, at, values["as_published"], values.get("certified"), reason)
