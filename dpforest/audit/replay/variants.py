"""Replay every certified forest on tables of several sizes, with all settings that change the questions of its fit.

A replay (`replay`) compares the fits of two neighboring tables. A question is one access of a fit to private rows.
"""

from collections.abc import Iterator
from typing import Any, Final

import numpy as np
import pandas as pd
from sklearn.base import clone

from dpforest.audit.replay.rare import RARE
from dpforest.audit.replay.replay import Replay, replay
from dpforest.audit.replay.tape import Forced, Table
from dpforest.models.base import ForestClassifier
from dpforest.models.boosting.booster import RandomTreeBoosterClassifier
from dpforest.models.greedy.boosted import BoostedForestClassifier
from dpforest.models.greedy.friedman_schuster import FriedmanSchusterClassifier
from dpforest.models.greedy.multinomial import MultinomialForestClassifier
from dpforest.models.random.baselines import (
    JagannathanForestClassifier,
    RandomForestExponentialClassifier,
    RandomForestLaplaceClassifier,
)
from dpforest.models.random.majority_label import MajorityLabelForestClassifier
from dpforest.models.random.random_decision import RandomDecisionForestClassifier
from dpforest.privacy.laws import CERTIFIED
from dpforest.privacy.ledger import rows_changed
from dpforest.privacy.loss import mu_for
from dpforest.tables.domain import Domain, Feature

EPSILON: Final = 0.8
SIZES: Final = (12, 3, 40, 1, 5, 2)  # numbers of rows; the size that is most likely to expose a mistake comes first
_SMALL: Final[dict[str, Any]] = {"max_depth": 2, "n_bins": 4, "scale_share": "public"}
_BOOST: Final = {"n_estimators": 3, "n_bound": 41, **_SMALL}
_ENTROPY: Final = {"criterion": "entropy", "n_bound": 41, **_SMALL}
_SHARED: Final = {"partition": "shared"}
_SCALE: Final = {"scale_share": 0.3, "size": 20}
_THREE: Final[dict[str, Any]] = {"n_estimators": 3}
# With scale_share="public" and a fixed shape, a fit asks no question before trees grow.
_PUBLIC: Final[dict[str, Any]] = {"scale_share": "public"}
_MAJORITY: Final[dict[str, Any]] = {**_THREE, "max_depth": "published", "categorical": "multiway", **_PUBLIC}
_DECISION: Final[dict[str, Any]] = {**_THREE, "max_depth": 8, **_PUBLIC}
_JPW: Final[dict[str, Any]] = {**_THREE, "max_depth": None, "n_bound": 41, **_PUBLIC}
_EVEN: Final[dict[str, Any]] = {**_THREE, "max_depth": 2, **_PUBLIC}
_ROUNDS: Final[dict[str, Any]] = {**_THREE, "max_depth": 2, "delta": 0, **_PUBLIC}
VARIANTS: Final[dict[str, tuple[type[ForestClassifier], dict[str, Any]]]] = {
    **{f"majority label, {m}": (MajorityLabelForestClassifier, {**_MAJORITY, "leaf_mechanism": m}) for m in CERTIFIED},
    "majority label, shared": (MajorityLabelForestClassifier, {**_MAJORITY, **_SHARED}),
    "majority label, two threads": (MajorityLabelForestClassifier, {**_MAJORITY, "n_jobs": 2}),
    "random decision": (RandomDecisionForestClassifier, _DECISION),
    "random decision, independent": (RandomDecisionForestClassifier, {**_DECISION, "partition": "independent"}),
    "JPW": (JagannathanForestClassifier, _JPW),
    "RF-L": (RandomForestLaplaceClassifier, _EVEN),
    "RF-L, budget of the paper": (RandomForestLaplaceClassifier, {**_EVEN, "budget": "paper"}),
    "RF-E": (RandomForestExponentialClassifier, _EVEN),
    "RF-E, budget of the paper": (RandomForestExponentialClassifier, {**_EVEN, "budget": "paper"}),
    "multinomial": (MultinomialForestClassifier, {**_THREE, **_SMALL}),
    "multinomial, shared": (MultinomialForestClassifier, {**_THREE, **_SMALL, **_SHARED}),
    "multinomial, normalized": (MultinomialForestClassifier, {**_THREE, **_SMALL, "split_score": "normalized"}),
    "multinomial, few leaves' rows": (MultinomialForestClassifier, {**_THREE, **_SMALL, "partition_rate": 4.0}),
    "Friedman-Schuster": (FriedmanSchusterClassifier, _SMALL),
    "Friedman-Schuster, gini": (FriedmanSchusterClassifier, {"criterion": "gini", "tree_share": 0.8, **_SMALL}),
    "Friedman-Schuster, entropy": (FriedmanSchusterClassifier, _ENTROPY),
    "boosted": (BoostedForestClassifier, _BOOST),
    "boosted, values": (BoostedForestClassifier, {**_BOOST, "leaf": "range", "beta": "laplace"}),
    "boosted, folded": (BoostedForestClassifier, {**_BOOST, "leaf": "range", "beta": "folded"}),
    "boosted, carried calibration": (BoostedForestClassifier, {**_BOOST, "alpha": "carried"}),
    "boosted, all settings": (
        BoostedForestClassifier,
        {
            **_BOOST,
            "alpha": "noisy",
            "calibration_share": 0.2,
            "alpha_link": 0.5,
            "tree_share": 0.7,
            "max_leaf": 3.0,
            "beta": "post",
            "shrink": True,
        },
    ),
    "boosted, α by schedule": (BoostedForestClassifier, {**_BOOST, "alpha": "schedule"}),
    "boosted, α = 1": (BoostedForestClassifier, {**_BOOST, "alpha": 1.0}),
    "boosted, α = 1, 0": (BoostedForestClassifier, {**_BOOST, "alpha": [1.0, 0.0]}),
    "boosted, noisy calibration": (BoostedForestClassifier, {**_BOOST, "alpha": "noisy"}),
    "boosted, β = 1": (BoostedForestClassifier, {**_BOOST, "beta": "one", "shrink": False}),
    "boosted, β of the noisy leaves": (BoostedForestClassifier, {**_BOOST, "beta": "post", "shrink": False}),
    "majority label, scale": (MajorityLabelForestClassifier, {**_MAJORITY, **_SCALE}),
    "random decision, scale": (RandomDecisionForestClassifier, {**_DECISION, **_SCALE}),
    "JPW, scale": (JagannathanForestClassifier, {**_JPW, **_SCALE}),
    "RF-L, scale": (RandomForestLaplaceClassifier, {**_EVEN, **_SCALE}),
    "RF-E, scale": (RandomForestExponentialClassifier, {**_EVEN, **_SCALE}),
    "multinomial, scale": (MultinomialForestClassifier, {**_THREE, **_SMALL, **_SCALE}),
    "Friedman-Schuster, scale": (FriedmanSchusterClassifier, {**_SMALL, **_SCALE}),
    "boosted, scale": (BoostedForestClassifier, {**_BOOST, **_SCALE}),
    "booster": (RandomTreeBoosterClassifier, _ROUNDS),
    "booster, δ": (RandomTreeBoosterClassifier, {**_ROUNDS, "delta": 1e-6}),
    "booster, scale": (RandomTreeBoosterClassifier, {**_ROUNDS, **_SCALE}),
    "booster, δ, scale": (RandomTreeBoosterClassifier, {**_ROUNDS, **_SCALE, "delta": 1e-6}),
    "booster, δ, two threads": (RandomTreeBoosterClassifier, {**_ROUNDS, "delta": 1e-6, "n_jobs": 2}),
    "booster, large steps": (RandomTreeBoosterClassifier, {**_ROUNDS, "total_step": 1e3, "size": 1, "delta": 1e-3}),
    "booster, as it comes": (RandomTreeBoosterClassifier, {}),
    "booster, δ = 0, as it comes": (RandomTreeBoosterClassifier, {"delta": 0}),
    "majority label, as it comes": (MajorityLabelForestClassifier, {}),
    "random decision, as it comes": (RandomDecisionForestClassifier, {}),
    "JPW, as it comes": (JagannathanForestClassifier, {}),
    "RF-L, as it comes": (RandomForestLaplaceClassifier, {}),
    "RF-E, as it comes": (RandomForestExponentialClassifier, {}),
    "multinomial, as it comes": (MultinomialForestClassifier, {}),
    "Friedman-Schuster, as it comes": (FriedmanSchusterClassifier, {}),
    "boosted, as it comes": (BoostedForestClassifier, {"n_bound": 41}),
}


def domain_of(n_classes: int) -> Domain:
    """Return a domain with a numeric and a categorical attribute for each rule that accepts missing cells."""
    note = {"source": "documented", "source_note": "variants.py"}
    features = (
        Feature("a", "numeric", 0.0, 1.0, missing="category", **note),  # type: ignore[arg-type]
        Feature("b", "categorical", categories=("p", "q", "r"), missing="category", **note),  # type: ignore[arg-type]
        Feature("c", "numeric", 0.0, 1.0, missing="value", missing_value=0.25, **note),  # type: ignore[arg-type]
        Feature("d", "categorical", categories=("p", "q"), missing="value", missing_value="q", **note),  # type: ignore[arg-type]
    )
    return Domain(features, tuple(range(n_classes)), "y", "documented", "variants.py")


def random_rows(n: int, n_classes: int, seed: int) -> Table:
    """Draw rows with missing cells and few values, so that rows share leaves.

    For one seed in three, all rows have the same class.
    """
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(
        {
            "a": rng.choice([0.0, 0.3, 0.7, 1.0, np.nan], n),
            "b": rng.choice(np.array(["p", "q", "r", None], object), n),
            "c": rng.choice([0.0, 0.5, 0.9, np.nan], n),
            "d": rng.choice(np.array(["p", "q", None], object), n),
        }
    )
    return X, np.zeros(n, int) if seed % 3 == 2 else rng.integers(0, n_classes, n)


def neighbors_of(table: Table, other: Table, neighbors: str, row: int) -> tuple[Table, Table]:
    """Return a table and its neighbor, in which the row at position `row` is removed or, under replace-one, replaced.

    The replacement is the first row of `other`, and has a new id.
    """
    X, y = table
    if rows_changed(neighbors) == 1:
        return table, (X.drop(index=row), np.delete(y, row))
    replaced, labels = X.rename(index={row: len(y)}), y.copy()
    replaced.iloc[row], labels[row] = other[0].iloc[0], other[1][0]
    return table, (replaced, labels)


def divides_rows(model: ForestClassifier) -> bool:
    """Return whether each row is in only one tree of the forest."""
    return getattr(model, "partition", "shared") in (None, "independent")


def replay_variant(name: str, neighbors: str, *, sizes: tuple[int, ...] = SIZES) -> Iterator[Replay]:
    """Replay one certified forest, one of `VARIANTS`, on three pairs of tables of each size."""
    for seed, n in enumerate([*sizes, *sizes, *sizes]):
        yield _replayed(name, neighbors, n, seed)


def replay_rare(name: str, neighbors: str, *, sizes: tuple[int, ...] = (1, 12)) -> Iterator[Replay]:
    """Replay one certified forest, one of `VARIANTS`, with rare answers to all questions (`rare`)."""
    for seed, n in enumerate(sizes):
        for forced in RARE.values():
            yield _replayed(name, neighbors, n, seed, forced)


def _replayed(name: str, neighbors: str, n: int, seed: int, forced: Forced | None = None) -> Replay:
    kind, parameters = VARIANTS[name]
    n_classes = 2 if kind is BoostedForestClassifier and seed % 6 else 2 + seed % 2
    model = kind(epsilon=EPSILON, domain=domain_of(n_classes), neighbors=neighbors, **parameters)
    pair = neighbors_of(random_rows(n, n_classes, seed), random_rows(1, n_classes, 100 + seed), neighbors, seed % n)
    if seed % 2:
        pair = pair[::-1]

    def fit(table: Table) -> ForestClassifier:
        return clone(model).fit(*table)

    has_threads = model.n_jobs not in (None, 1)
    options: dict[str, Any] = {"one_tree": divides_rows(model), "threads": has_threads, "forced": forced}
    return replay(fit, *pair, epsilon=most_of(model), neighbors=neighbors, **options)


def most_of(model: ForestClassifier) -> float:
    """Return the largest allowed loss of a fit: ε, or μ for Gaussian noise."""
    if not getattr(model, "delta", 0):
        return EPSILON
    return float(mu_for(EPSILON, model.delta).mu)
