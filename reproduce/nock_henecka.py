"""Nock and Henecka: the best α at each ε (table 1), small or big trees (table 3), boosted or random trees (table 4).

R. Nock, W. Henecka, *Boosted and differentially private ensembles of decision trees* (2020). The paper searches 1.3
million ensembles on 19 tables in ten folds. This module searches a grid of three depths and two numbers of trees, in
three folds. M is 10, and each numeric attribute has ten intervals.

The compared rules determine α: a constant, or objective calibration. Each rule has separate seeds for noise and splits.
With the same seeds, α = 1 and objective calibration would give the same forest at most values of ε. The folds of a
repeat share the noise of the repeat. Tests need separate noise in each fold, so there are three repeats, and tests take
each fold from a different repeat.

If a table has more than two classes, the paper does not state how it made two classes of them. Here, one class is the
most frequent class, and the other class is all other rows. Only tables with public bounds have certified figures.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Final

import numpy as np
import pandas as pd
from scipy.stats import ttest_ind

from dpforest import BoostedForestClassifier, RandomForestExponentialClassifier, RandomForestLaplaceClassifier
from dpforest.simulation.sweep import surface
from reproduce.cells import Cell, Row
from reproduce.protocol import COMPATIBLE, CONTRADICTS, NOT_COMPARABLE, Record, at_hand, load, verdict

PAPER: Final = "Nock and Henecka 2020"
TABLE_1: Final = "table 1, share of tables on which each α is best (certified: those with public bounds)"
TABLE_4: Final = "table 4, share of significant differences that boosted trees win over random forests"
TABLE_3: Final = "table 3, whether deep trees and many of them are best"
# Printed table 3. The values state whether the best depth is big, and whether the best number of trees is big.
SIZES: Final = {
    "page_blocks": (False, False),
    "breast_wisconsin": (False, True),
    "ionosphere": (False, True),
    "yeast": (False, True),
    "clave": (False, True),
    "cardiotocography": (True, False),
    "hill_valley_nonoise": (True, False),
    "transfusion": (True, True),
    "banknote": (True, True),
    "sonar": (True, True),
    "hill_valley_noise": (True, True),
    "qsar_biodeg": (True, True),
    "mice_protein": (True, True),
    "wine_red": (True, True),
    "wine_white": (True, True),
}
# Printed table 1: the number of tables, of 19, on which each rule is best. A tie counts for each of the tied rules.
BEST: Final = {
    "calibrated": (14, 13, 9, 5, 8), "α = 0.1": (3, 2, 3, 4, 6), "α = 1": (5, 6, 9, 11, 6),
}  # fmt: skip
EPSILONS: Final = (0.01, 0.1, 1.0, 10.0, 25.0)
TABLES: Final = (
    "breast_wisconsin",
    "ionosphere",
    "sonar",
    "yeast",
    "magic",
    "transfusion",
    "banknote",
    "wine_red",
    "cardiotocography",
    "qsar_biodeg",
    "wine_white",
    "page_blocks",
    "mice_protein",
    "hill_valley_noise",
    "hill_valley_nonoise",
    "clave",
)
QUICK: Final = ("sonar", "breast_wisconsin")
DEPTHS, TREES, FOLDS = (2, 4, 6), (2, 20), 3
COLUMNS: Final = ["forest", "epsilon", "depth", "trees", "repeat", "fold", "accuracy"]
MOST_ROWS: Final = 3_000  # larger tables are cut to this number of rows, because the grid takes long
SEEDS_APART: Final = 100  # distance between the seeds of two rules
TIE: Final = 1e-6  # largest difference of a tie, in points; small, because the paper's table 1 has few ties
SIGNIFICANT: Final = 0.01
_WHY: Final = {
    "tables": "not explained; these are {n} tables and a small part of the paper's grid",
    "rule": "not explained; the paper chose among far more depths, numbers of trees and intervals for each rule",
}


def two_classes(data: Any) -> SimpleNamespace:
    """Shuffle a table and cut it to `MOST_ROWS` rows. Its two classes are the most frequent class, and all others."""
    labels = data.y.astype(str)
    chosen = labels.sample(frac=1, random_state=0).index[:MOST_ROWS]
    top = labels.value_counts().index[0]
    y = labels.loc[chosen].eq(top).map({True: "yes", False: "no"}).reset_index(drop=True)
    X = data.X.loc[chosen].reset_index(drop=True)
    return SimpleNamespace(domain=replace(data.domain, classes=("no", "yes")), X=X, y=y)


def forests(mode: str) -> dict[str, Any]:
    """Return the compared forests."""
    common: dict[str, Any] = {"mode": mode, "scale_share": "public"}
    calibrated = "published" if mode == "as_published" else "noisy"
    boosted = {"calibrated": calibrated, "α = 0.1": 0.1, "α = 1": 1.0}
    named: dict[str, Any] = {name: BoostedForestClassifier(alpha=alpha, **common) for name, alpha in boosted.items()}
    named["RF-L"] = RandomForestLaplaceClassifier(n_estimators=21, **common)
    named["RF-E"] = RandomForestExponentialClassifier(n_estimators=21, **common)
    return named


def measured(name: str, mode: str, quick: bool, folder: Path | None) -> pd.DataFrame:
    """Return the accuracy in percent of every fold on one table, over ε, depth and trees."""
    depths, trees = DEPTHS[:1] if quick else DEPTHS, TREES
    data, named = two_classes(load(name, folder)), forests(mode)
    boosted = {key: named.pop(key) for key in BEST}
    common: dict[str, Any] = {
        "epsilons": EPSILONS,
        "depths": depths,
        "repeats": 1 if quick else FOLDS,
        "folds": FOLDS,
        "plan_for": "split",
    }
    frames = [
        surface({rule: boosted[rule]}, data, trees=trees, seed=SEEDS_APART * place, **common)
        for place, rule in enumerate(BEST)
    ]
    frames.append(surface(named, data, seed=SEEDS_APART * len(BEST), **common))
    cells = pd.concat(frames, ignore_index=True)[COLUMNS]
    return cells.assign(accuracy=100 * cells.accuracy, table=name, mode=mode)


def winners(cells: pd.DataFrame, epsilon: float) -> dict[str, float]:
    """Return the percentage of tables on which each rule, with its best depth and trees, is best or ties."""
    at = cells[(cells.epsilon == epsilon) & cells.forest.isin(list(BEST))]
    means = at.groupby(["table", "forest", "depth", "trees"]).accuracy.mean()
    best = means.groupby(["table", "forest"]).max().unstack()
    is_best = best.ge(best.max(axis=1) - TIE, axis=0)
    return {name: 100 * float(is_best[name].mean()) for name in BEST}


def beaten(cells: pd.DataFrame, rule: str, trees: int) -> tuple[float, int]:
    """Test boosted trees against the two random forests, for each table, ε and depth.

    Return the percentage of significant differences that are in favor of boosted trees, and the number of significant
    differences.
    """
    won = 0
    lost = 0
    by = ["table", "epsilon", "depth"]
    cells = cells[cells.repeat == cells.fold] if cells.repeat.max() else cells  # separate noise in each fold
    ours = cells[(cells.forest == rule) & (cells.trees == trees)].groupby(by).accuracy
    for other in ("RF-L", "RF-E"):
        theirs = cells[cells.forest == other].groupby(by).accuracy.apply(list)
        for key, values in ours.apply(list).items():
            if np.std(values) + np.std(theirs[key]) == 0 or ttest_ind(values, theirs[key]).pvalue >= SIGNIFICANT:
                continue
            won += np.mean(values) > np.mean(theirs[key])
            lost += np.mean(values) < np.mean(theirs[key])
    return 100 * won / max(won + lost, 1), won + lost


def as_printed(cells: pd.DataFrame) -> tuple[float, int]:
    """Compare the best depth and the best number of trees of each table with the paper: big or small.

    Return the percentage of tables on which both settings are as in the paper, and the number of tables.
    """
    means = cells[cells.forest.isin(list(BEST))].groupby(["table", "depth", "trees"]).accuracy.mean()
    best = {table: means_of_table.idxmax()[1:] for table, means_of_table in means.groupby("table") if table in SIZES}
    right = [(depth > DEPTHS[0], trees > TREES[0]) == SIZES[str(table)] for table, (depth, trees) in best.items()]
    return 100 * float(np.mean(right)), len(right)


def cells(*, quick: bool = False, folder: Path | None = None) -> Iterator[Cell]:
    """Yield a cell for each table and mode. Only tables with public bounds have the certified mode."""
    for name in QUICK if quick else TABLES:
        if not at_hand(name, folder):
            yield Cell(name, None)
            continue
        public = not load(name, folder).domain.leaks()
        for mode in ("as_published", "certified") if public else ("as_published",):
            yield Cell(f"{name}, {mode.replace('_', ' ')}", partial(measured, name, mode, quick, folder))


def records(rows: list[Row]) -> Iterator[Record]:
    """Yield the records of all tables together: table 1, then 3, then 4."""
    private = pd.DataFrame(rows)
    private = private[np.isfinite(private.epsilon)]
    published, certified = (private[private["mode"] == mode] for mode in ("as_published", "certified"))
    n = published.table.nunique()
    for column, epsilon in enumerate(EPSILONS):
        ours, certified_winners = winners(published, epsilon), winners(certified, epsilon)
        for rule, counts in BEST.items():
            yield _share(TABLE_1, rule, epsilon, counts[column], ours[rule], certified_winners[rule], n)
    (share, n_sizes), (kept, _) = as_printed(published), as_printed(certified)
    yield Record(
        PAPER,
        TABLE_3,
        "tables that agree",
        100.0,
        round(share, 2),
        round(kept, 2),
        round(100 * float(np.sqrt(0.25 / max(n_sizes, 1))), 2),
        NOT_COMPARABLE,
        "the paper does not say what is small; here, depth 2 (not 4 or 6) and two trees (not twenty) are small",
    )
    for trees, printed, claim in ((TREES[-1], 80.0, "more than 80 %"), (TREES[0], 50.0, "a majority")):
        for rule in ("calibrated", "α = 1"):
            share, n_cells = beaten(published, rule, trees)
            kept, _ = beaten(certified, rule, trees)
            setting = f"{rule}, {trees} trees (“{claim}”)"
            yield claimed(TABLE_4, setting, printed, share, kept, n_cells, _WHY["tables"].format(n=n))


def claimed(
    item: str, setting: str, more_than: float, ours: float, certified: float | None, n: int, why: str
) -> Record:
    """Return the record of the paper's claim that a share is larger than `more_than`.

    We measured our share on `n` cases. All shares are in percent.
    """
    sd = 100 * float(np.sqrt(more_than / 100 * (1 - more_than / 100) / max(n, 1)))
    outcome = COMPATIBLE if ours >= more_than - 2 * sd else CONTRADICTS
    return Record(
        PAPER,
        item,
        setting,
        more_than,
        round(ours, 2),
        None if certified is None else round(certified, 2),
        round(sd, 2),
        outcome,
        why if outcome == CONTRADICTS else "",
        spread=round(2 * sd, 2),
    )


def _share(item: str, rule: str, epsilon: float, count: int, ours: float, certified: float, n: int) -> Record:
    printed = 100 * count / 19
    # Standard error of the difference of two shares, each of `n` cases.
    sd = float(np.sqrt(max(printed * (100 - printed), 1) * (1 / n + 1 / 19)))
    outcome = verdict(printed, ours, 2 * sd)
    return Record(
        PAPER,
        item,
        f"{rule}, ε = {epsilon:g}",
        round(printed, 2),
        round(ours, 2),
        round(certified, 2),
        round(sd, 2),
        outcome,
        _WHY["rule"] if outcome == CONTRADICTS else "",
        spread=round(2 * sd, 2),
        group=f"ε = {epsilon:g}",
    )
