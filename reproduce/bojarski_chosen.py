"""Bojarski et al. with settings chosen on a tenth of the training rows: table 1 again, and figures 2a and 2b.

Table 1 prints the height h (1 to 15) and the number of trees k (1, 3, … 21) that have the least error on a tenth of the
training rows. `reproduce.bojarski` uses the printed values. This module chooses h and k again, in each of five folds,
and then fits a forest on all training rows of the fold. η is the paper's letter for ε. For figure 2a, k is chosen in
the same way for each η, from up to 101 trees. Figure 2b shows the error over k for some η. Neither version of the paper
states the heights of figure 2.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any, Final

import numpy as np

from dpforest.simulation.sweep import surface
from reproduce.bojarski import PAPER, PUBLISHED, RUNS, WHY
from reproduce.bojarski_curves import AT_DEPTH, ETAS, FOLDS, LARGE, REPEATS, TABLES, TREES, VOTING, forests
from reproduce.cells import Cell
from reproduce.nested import chosen
from reproduce.protocol import Record, at_hand, compared, load, point

ITEM: Final = "table 1, accuracy with k and h chosen on a tenth of the training rows"
FIGURE_2A: Final = "figure 2a, over η (k chosen)"
FIGURE_2B: Final = f"figure 2b, over trees (majority vote, depth {AT_DEPTH})"
QUICK: Final = ("congressional_voting", "mushroom")
HEIGHTS, TREES_UP_TO_21 = tuple(range(1, 16)), tuple(range(1, 22, 2))
TWO_HEIGHTS: Final = (5, 10)
SOME_ETAS: Final = (0.03, 0.3, 3.0)
OUTER, INNER = 5, 10
RULES: Final = {"majority": "majority vote", "mean of shares": "mean of shares"}


def cells(*, quick: bool = False, folder: Path | None = None) -> Iterator[Cell]:
    """Yield a cell for each table and voting rule of table 1, and for each table in figures 2a and 2b."""
    for name in QUICK if quick else PUBLISHED:
        for rule in RULES:
            work = partial(_table_1, name, rule, quick, folder)
            yield Cell(f"table 1, {PUBLISHED[name][0]}, {rule}", work if at_hand(name, folder) else None)
    for name in QUICK[:1] if quick else TABLES:
        for what, work in (("2a", _figure_2a), ("2b", _figure_2b)):
            work_at_hand = partial(work, name, quick, folder) if at_hand(name, folder) else None
            yield Cell(f"figure {what}, {TABLES[name]}", work_at_hand)


def _table_1(name: str, rule: str, quick: bool, folder: Path | None) -> Iterator[Record]:
    data, (title, _, *printed) = load(name, folder), PUBLISHED[name]
    eta = round(1000 / (len(data.y) * (1 - 1 / OUTER)), 6)
    scores = chosen(
        forests("as_published")[RULES[rule]],
        data,
        epsilons=(eta,),
        depths=HEIGHTS[::4] if quick else HEIGHTS,
        trees=TREES_UP_TO_21[::5] if quick else TREES_UP_TO_21,
        n_folds=OUTER,
        n_inner=INNER,
        n_looked=1,
    )
    first = list(RULES).index(rule)
    for private, (error, _, _) in ((False, printed[first]), (True, printed[first + 2])):
        ours = scores[np.isfinite(scores.epsilon) == private].accuracy.to_numpy(float)
        why = WHY["private" if private else "plain"]
        method = f"{rule}{'' if private else ', no privacy'}"
        yield compared(
            PAPER,
            ITEM,
            f"{title}, {method}",
            round(100 - error, 2),
            ours,
            None,
            why,
            n_theirs=RUNS,
            group=method,
        )


def _figure_2a(name: str, quick: bool, folder: Path | None) -> Iterator[Record]:
    data, grid = load(name, folder), ETAS[::3] if quick else ETAS
    for line in VOTING:
        scores = chosen(
            forests("as_published")[line],
            data,
            epsilons=grid,
            depths=TWO_HEIGHTS,
            trees=TREES,
            n_folds=FOLDS,
            n_inner=INNER,
            n_looked=1,
            of_each=("epsilon", "depth"),
        )
        for depth in TWO_HEIGHTS:
            for eta in grid:
                accuracy = scores[(scores.depth == depth) & (scores.epsilon == eta)].accuracy.to_numpy(float)
                item = f"{FIGURE_2A}, {TABLES[name]}"
                yield point(PAPER, item, f"{line}, depth {depth}", "η", eta, accuracy, None)


def _figure_2b(name: str, quick: bool, folder: Path | None) -> Iterator[Record]:
    data, line = load(name, folder), "majority vote"
    settings: dict[str, Any] = {
        "epsilons": SOME_ETAS,
        "depths": (AT_DEPTH,),
        "trees": TREES,
        "repeats": 1 if quick or name in LARGE else REPEATS,
        "folds": FOLDS,
        "plan_for": "split",
    }
    modes = ("as_published",) if data.domain.leaks() else ("as_published", "certified")
    by_mode = {mode: surface({line: forests(mode)[line]}, data, **settings) for mode in modes}
    for eta in SOME_ETAS:
        for k in TREES:
            ours, certified = (
                100 * frame[(frame.epsilon == eta) & (frame.trees == k)].accuracy.to_numpy(float)
                if frame is not None
                else None
                for frame in (by_mode["as_published"], by_mode.get("certified"))
            )
            assert ours is not None
            yield point(PAPER, f"{FIGURE_2B}, {TABLES[name]}", f"η = {eta:g}", "trees", k, ours, certified)
