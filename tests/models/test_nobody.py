"""Tests that, under add-remove, a table without rows can be fitted like any other table, so no error reveals a row."""

import numpy as np
import pandas as pd
import pytest

import dpforest
from tests.conftest import public_domain

DOMAIN = public_domain(None, 3)
FORESTS = [
    dpforest.BoostedForestClassifier,
    dpforest.FriedmanSchusterClassifier,
    dpforest.JagannathanForestClassifier,
    dpforest.MajorityLabelForestClassifier,
    dpforest.MultinomialForestClassifier,
    dpforest.RandomDecisionForestClassifier,
    dpforest.RandomForestExponentialClassifier,
    dpforest.RandomForestLaplaceClassifier,
    dpforest.RandomTreeBoosterClassifier,
]


@pytest.mark.parametrize("n", [0, 1])
@pytest.mark.parametrize("kind", ["frame", "objects", "list"])
@pytest.mark.parametrize("forest", FORESTS)
def test_zero_rows_and_one_row_give_a_certified_forest(forest, kind, n):
    rows = [[0.25, "c1"]][:n]
    X = {
        "frame": pd.DataFrame(rows, columns=["f0", "f1"]),
        "objects": np.array(rows, object).reshape(n, 2),
        "list": rows,
    }[kind]
    fitted = forest(domain=DOMAIN).fit(X, np.zeros(n, int))
    assert fitted.certificate_.certified
    new = [[0.5, "c2"]] if kind != "frame" else pd.DataFrame([[0.5, "c2"]], columns=["f0", "f1"])
    assert fitted.predict(new).shape == (1,)
