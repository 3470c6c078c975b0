"""Bojarski et al., table 1: test error of random decision trees, with and without privacy, and of CART.

M. Bojarski, A. Choromanska, K. Choromanski, Y. LeCun, *Differentially- and non-differentially-private random decision
trees* (arXiv 1410.6973). Each of ten runs trains on nine tenths of the rows. The paper writes η for ε, and sets it to
1000 / (number of training rows). The numbers of trees k and the heights h are the printed ones.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any, Final

from sklearn.compose import make_column_transformer
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder
from sklearn.tree import DecisionTreeClassifier

from dpforest import RandomDecisionForestClassifier
from reproduce.cells import Cell
from reproduce.protocol import Record, accuracies, at_hand, certified_accuracies, compared, load

PAPER: Final = "Bojarski et al. 2014"
ITEM: Final = "table 1, accuracy (100 − test error)"
# Name of the table, and error of rpart (CART) in percent. Then (error, k, h) of majority vote and threshold averaging,
# first without privacy, then with privacy.
PUBLISHED: Final = {
    "congressional_voting": ("CVR", 9.30, (9.05, 19, 6), (5.95, 13, 9), (8.10, 15, 9), (6.90, 15, 9)),
    "mushroom": ("Mushroom", 3.33, (0.83, 21, 15), (0.26, 13, 14), (4.69, 3, 13), (4.16, 3, 15)),
    "adult": ("Adult", 17.75, (21.70, 3, 14), (21.58, 3, 14), (22.18, 3, 11), (21.72, 7, 11)),
    "banknote": ("Banknote", 3.65, (3.09, 21, 15), (3.46, 17, 9), (5.44, 21, 11), (5.22, 7, 12)),
    "transfusion": ("Transfusion", 18.92, (22.19, 1, 14), (22.47, 1, 14), (23.42, 1, 14), (23.42, 1, 13)),
    "mammographic_mass": ("Mammographic", 21.88, (16.95, 9, 12), (16.21, 19, 15), (16.95, 5, 12), (17.37, 9, 8)),
}
QUICK: Final = ("congressional_voting", "mushroom")
METHODS: Final = (
    ("majority, no privacy", "majority", False),
    ("mean of shares, no privacy", "threshold", False),
    ("majority", "majority", True),
    ("mean of shares", "threshold", True),
)
RUNS: Final = 10  # number of runs, in the paper and here
WHY: Final = {
    "adult": "the paper's Adult has 123 columns of 0 and 1; ours has the 14 columns that these are made of",
    "private": "the printed rule discards a leaf with a negative count",
    "plain": "the paper does not say how categories became numbers; depth ends at 15 here",
    "cart": "the paper's CART is the program rpart, which prunes by another rule than ours",
}


def forest(domain: Any, k: int, h: int, voting: str, epsilon: float | None, mode: str, rule: str):
    """Return a function that makes a forest from a seed. `rule` is the `negative_rule` of the forest."""
    return lambda seed: RandomDecisionForestClassifier(
        epsilon=epsilon,
        n_estimators=k,
        max_depth=h,
        voting=voting,
        negative_rule=rule,
        mode=mode,
        domain=domain,
        scale_share="public",
        structure_seed=seed,
        random_state=seed + 1,
    )


def cart(domain: Any):
    """Return a CART tree that is pruned by cross-validation, as users of rpart usually do."""
    texts = [feature.name for feature in domain.features if feature.kind == "categorical"]
    encode = make_column_transformer(
        (OneHotEncoder(handle_unknown="ignore"), texts), remainder="passthrough", sparse_threshold=0
    )
    grid = {"ccp_alpha": [0.0, 0.0003, 0.001, 0.003, 0.01]}
    return lambda seed: make_pipeline(encode, GridSearchCV(DecisionTreeClassifier(random_state=seed), grid, cv=5))


def cells(*, quick: bool = False, folder: Path | None = None) -> Iterator[Cell]:
    """Yield a cell for each table and method."""
    for table in QUICK if quick else PUBLISHED:
        name, by_cart, *printed = PUBLISHED[table]
        if not at_hand(table, folder):
            yield Cell(name, None)
            continue
        yield Cell(f"{name}, CART", partial(_by_cart, table, name, by_cart, folder))
        for (method, voting, private), (error, k, h) in zip(METHODS, printed, strict=True):
            setting = f"{name}, {method}, k = {k}, h = {h}"
            parameters = {"k": k, "h": h, "voting": voting}
            yield Cell(setting, partial(_by_forest, table, setting, error, parameters, private, folder))


def _by_cart(table: str, name: str, error: float, folder: Path | None) -> list[Record]:
    data = load(table, folder)
    why = WHY["adult" if table == "adult" else "cart"]
    return [_record(f"{name}, CART", error, accuracies(cart(data.domain), data, 1, RUNS), None, why)]


def _by_forest(
    table: str, setting: str, error: float, parameters: dict[str, Any], private: bool, folder: Path | None
) -> list[Record]:
    data = load(table, folder)
    parameters = {**parameters, "epsilon": round(1000 / (0.9 * len(data.y)), 6) if private else None}
    ours = accuracies(forest(data.domain, **parameters, mode="as_published", rule="paper"), data, 1, RUNS)
    if not private:
        return [_record(setting, error, ours, None, WHY["plain"])]
    with_zeros = accuracies(forest(data.domain, **parameters, mode="as_published", rule="clamp"), data, 1, RUNS)
    certified = certified_accuracies(forest(data.domain, **parameters, mode="certified", rule="clamp"), data, 1, RUNS)
    why = f"{WHY['private']}; with 0 in place of such counts, ours is {with_zeros.mean():.1f}"
    return [_record(setting, error, ours, certified, why)]


def _record(setting: str, error: float, ours, certified, why: str) -> Record:
    printed = round(100 - error, 2)
    method = setting.split(", k = ")[0].split(", ", 1)[1]
    return compared(PAPER, ITEM, setting, printed, ours, certified, why, n_theirs=RUNS, group=method)
