"""The five estimators with random structure, and a small table for them."""

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
ALL = (
    JagannathanForestClassifier,
    MajorityLabelForestClassifier,
    RandomDecisionForestClassifier,
    RandomForestExponentialClassifier,
    RandomForestLaplaceClassifier,
)
WITH_COUNTS = (JagannathanForestClassifier, RandomDecisionForestClassifier, RandomForestLaplaceClassifier)
every_estimator = pytest.mark.parametrize("estimator", ALL)


def table(n: int = 120, seed: int = 0, domain: Domain = DOMAIN) -> tuple[pd.DataFrame, np.ndarray]:
    """Return rows whose class follows from the first two attributes in most cases."""
    rng = np.random.default_rng(seed)
    columns = {f.name: rng.choice(f.categories, n) if f.categories else rng.random(n) for f in domain.features}
    X = pd.DataFrame(columns)
    truth = np.where(X.f0 > 0.5, 0, np.where(X.f1 == "c0", 1, 2))
    return X, np.where(rng.random(n) < 0.1, rng.integers(0, 3, n), truth)


def fit(estimator, **parameters):
    return estimator(**{"domain": DOMAIN, "n_estimators": 4, **parameters}).fit(*table())


def saved(forest: ReleasedForest) -> str:
    """Return the text of the forest's file, also for a fit with a seed, which otherwise has no file."""
    return forest.to_json(uncertified=True)


X, Y = table()
