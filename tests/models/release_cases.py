"""Forests of every kind that has a release, fitted on a small table, for tests of exported files."""

import copy

import numpy as np
import pandas as pd
import pytest

from dpforest import (
    Domain,
    JagannathanForestClassifier,
    MajorityLabelForestClassifier,
    RandomDecisionForestClassifier,
    RandomForestExponentialClassifier,
    RandomForestLaplaceClassifier,
    ReleasedForest,
)
from tests.conftest import public_domain

DOMAIN = public_domain(None, 3, None, 4, n_classes=3)
MODELS = {
    "labels": MajorityLabelForestClassifier(n_estimators=5),
    "counts": RandomDecisionForestClassifier(n_estimators=4, max_depth=3),
    "probabilistic": RandomDecisionForestClassifier(
        n_estimators=4, max_depth=3, voting="probabilistic", negative_rule="paper", partition="independent"
    ),
    "jpw": JagannathanForestClassifier(n_estimators=4),
    "rf-l": RandomForestLaplaceClassifier(n_estimators=4, max_depth=3),
    "rf-e": RandomForestExponentialClassifier(n_estimators=4, max_depth=3),
}
by_model = pytest.mark.parametrize("name", MODELS)


def table(n: int, seed: int = 0, domain: Domain = DOMAIN) -> tuple[pd.DataFrame, np.ndarray]:
    rng = np.random.default_rng(seed)
    columns = {f.name: rng.choice(f.categories, n) if f.categories else rng.random(n) for f in domain.features}
    X = pd.DataFrame(columns)
    return X, rng.choice(domain.classes, n, p=np.array([5, 3, 2]) / 10)


def fitted(name: str, n: int = 200, **parameters):
    model = copy.deepcopy(MODELS[name]).set_params(domain=DOMAIN, **parameters)
    return model.fit(*table(n))


def saved(forest: ReleasedForest) -> str:
    """Return the text of the file of a forest, certified or not."""
    return forest.to_json(uncertified=True)
