"""Canaries: the smallest pairs of neighboring tables that would expose a known weak point of an algorithm.

Most algorithms exist in two forms: the mechanism that a paper has published, and the certified mechanism, for which
this package proves ε. The attacks use the same pairs of tables on both mechanisms. These attacks should prove a loss
above ε for the published mechanism, and must not prove such a loss for the certified mechanism. In most canaries, the
rows have a single attribute with the values 0 and 1, and every test of a tree separates these two values. The canaries
for weak points in the choice of tests have other values or two attributes.
"""

from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from dpforest.audit.black_box import TRIALS
from dpforest.audit.canary_pairs import OURS, UNIT, CanaryPair, pairs_of
from dpforest.audit.fits import Data
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
from dpforest.tables.domain import Domain, Feature

ALGORITHMS: Final[dict[str, type[ForestClassifier]]] = {
    "majority label": MajorityLabelForestClassifier,
    "random decision": RandomDecisionForestClassifier,
    "JPW": JagannathanForestClassifier,
    "RF-L": RandomForestLaplaceClassifier,
    "RF-E": RandomForestExponentialClassifier,
    "multinomial": MultinomialForestClassifier,
    "boosted": BoostedForestClassifier,
    "Friedman-Schuster": FriedmanSchusterClassifier,
    "random-tree booster": RandomTreeBoosterClassifier,
    "random-tree booster, δ": RandomTreeBoosterClassifier,
}
DELTA: Final = 1e-6
MODES: Final = ("certified", "persons", "as_published", "data-derived")


@dataclass(frozen=True, eq=False)
class Canary:
    """A pair of neighboring tables and a forest to fit to them.

    Parameters
    ----------
    name : str
        Name, which is unique among the canaries of an algorithm.
    target : str
        The weak point that the pair can detect, as a sentence.
    estimator : ForestClassifier
        Unfitted forest with its parameters and its domain.
    before, after : (X, y)
        Neighboring tables: attributes (n, n_features) and classes (n,). Only `after` contains the added row or, under
        replace-one, the replacement. If the unit of privacy is a person, the attributes are a DataFrame with a column
        of identifiers, and only `after` contains the rows of the added person.
    probes : array of shape (n, n_features)
        Rows for which the attack records the votes of a forest.
    trials : int
        Number of fits of each table that suffices to detect the weak point.
    """

    name: str
    target: str
    estimator: ForestClassifier
    before: Data
    after: Data
    probes: np.ndarray
    trials: int = TRIALS


def canaries(name: str, mode: str, neighbors: str, epsilon: float) -> list[Canary]:
    """Return all canaries of an algorithm.

    Parameters
    ----------
    name : str
        One of `ALGORITHMS`.
    mode : {"certified", "persons", "as_published", "data-derived"}
        "certified": the mechanism for which this package proves ε. "persons": the certified mechanism with persons as
        the unit of privacy. "as_published": the mechanism of the paper. "data-derived": the certified mechanism without
        a public domain.
    neighbors : {"add-remove", "replace-one"}
        How the two tables of a canary differ. The forests get the same value as their parameter `neighbors`.
    epsilon : float
        Budget of the forests. Some tables have more rows for a smaller budget.

    Returns
    -------
    list of Canary
        All canaries of this algorithm in this mode.

    Raises
    ------
    ValueError
        If there is no such algorithm or mode, or if the algorithm does not have this mode.
    """
    if name not in ALGORITHMS or mode not in MODES:
        raise ValueError(f"name={name!r}, mode={mode!r}: choose from {', '.join(ALGORITHMS)} and {', '.join(MODES)}")
    if mode not in modes_of(name):
        raise ValueError(f"{name} is in no paper, so there is no mode {mode!r} of it.")
    out = []
    for pair in pairs_of(name, mode, neighbors, epsilon):
        before, after = pair.tables(neighbors)
        fixed = {"scale_share": "public", **_SMALL[name], "epsilon": epsilon, "neighbors": neighbors}
        fixed |= {"domain": _domain(pair)} if mode != "data-derived" else {}
        fixed |= {"mode": mode} if mode == "as_published" else {}
        estimator = ALGORITHMS[name](**fixed | pair.parameters)
        probes = np.repeat([[0.0], [1.0]], pair.n_features, axis=1)
        out.append(Canary(pair.name, pair.target, estimator, before, after, probes, pair.trials))
    return out


def modes_of(name: str) -> tuple[str, ...]:
    """Return the modes of an algorithm. An algorithm that no paper has published lacks "as_published"."""
    return tuple(mode for mode in MODES if name not in OURS or mode != "as_published")


# Each forest has one tree with one or two leaves, unless a canary sets other parameters.
_SMALL: Final[dict[str, dict[str, Any]]] = {
    **{name: {"n_estimators": 1, "max_depth": 1} for name in ALGORITHMS},
    "RF-L": {"n_estimators": 1, "max_depth": 0},  # one leaf, because leaves of the published tree share its budget
    "RF-E": {"n_estimators": 1, "max_depth": 0},
    "multinomial": {"n_estimators": 1, "max_depth": 1, "n_bins": 2},
    "boosted": {"n_estimators": 1, "max_depth": 1, "n_bins": 2, "n_bound": 64},
    "Friedman-Schuster": {"max_depth": 1, "n_bins": 2},
    **{name: {"n_estimators": 1, "max_depth": 1, "total_step": 4.0, "size": 20} for name in OURS},
}
_SMALL["random-tree booster"]["delta"], _SMALL["random-tree booster, δ"]["delta"] = 0, DELTA


def _domain(pair: CanaryPair) -> Domain:
    features = tuple(
        Feature(f"x{i}", "numeric", 0.0, 1.0, source="documented", source_note="canaries.py")
        for i in range(pair.n_features)
    )
    unit = UNIT if pair.rows_of_person else None
    return Domain(features, tuple(range(pair.n_classes)), "y", "documented", "canaries.py", unit=unit)
