"""Tests that a search over certified forests warns once that its fits add up, and that nothing else warns."""

import gc
import warnings

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import FitFailedWarning
from sklearn.model_selection import (
    GridSearchCV,
    KFold,
    RandomizedSearchCV,
    StratifiedKFold,
    cross_val_predict,
    cross_val_score,
    cross_validate,
    learning_curve,
    permutation_test_score,
    validation_curve,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

import dpforest
from dpforest import (
    BoostedForestClassifier,
    Domain,
    Feature,
    FriedmanSchusterClassifier,
    MajorityLabelForestClassifier,
    RandomDecisionForestClassifier,
    RandomTreeBoosterClassifier,
    RepeatedReleaseWarning,
)
from dpforest.models import repeated_fits

NOTE = {"source": "documented", "source_note": "made up"}
DOMAIN = Domain((Feature("f0", "numeric", 0.0, 1.0, **NOTE),), (0, 1), "y", "documented", "made up")
RNG = np.random.default_rng(0)
X = RNG.random((60, 1))
Y = (X[:, 0] > 0.5).astype(int)
DEPTHS = {"max_depth": [1, 2, 3]}
FORESTS = [
    MajorityLabelForestClassifier(n_estimators=2),
    RandomDecisionForestClassifier(n_estimators=2),
    FriedmanSchusterClassifier(n_bins=4),
    BoostedForestClassifier(n_estimators=1, n_bins=4, n_bound=1_000),
]


def forest(**parameters) -> MajorityLabelForestClassifier:
    return MajorityLabelForestClassifier(**{"n_estimators": 2, "max_depth": 2, "domain": DOMAIN, **parameters})


def warned(run) -> list[warnings.WarningMessage]:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        run()
    assert all(issubclass(w.category, RepeatedReleaseWarning) for w in caught), [str(w.message) for w in caught]
    return caught


SEARCHES = {
    "grid": lambda model: GridSearchCV(model, DEPTHS, cv=4).fit(X, Y),
    "grid without a refit": lambda model: GridSearchCV(model, DEPTHS, cv=4, refit=False).fit(X, Y),
    "random": lambda model: RandomizedSearchCV(model, DEPTHS, n_iter=2, cv=2, random_state=0).fit(X, Y),
    "scores": lambda model: cross_val_score(model, X, Y, cv=3),
    "validated": lambda model: cross_validate(model, X, Y, cv=StratifiedKFold(3)),
    "predicted": lambda model: cross_val_predict(model, X, Y, cv=KFold(3)),
    "learning": lambda model: learning_curve(model, X, Y, cv=3, train_sizes=[0.5, 1.0], shuffle=True, random_state=0),
    "validation": lambda model: validation_curve(model, X, Y, param_name="max_depth", param_range=[1, 2], cv=2),
    "permuted": lambda model: permutation_test_score(model, X, Y, cv=2, n_permutations=3),
    "nested": lambda model: cross_val_score(GridSearchCV(model, DEPTHS, cv=2), X, Y, cv=2),
    "in a pipeline": lambda model: GridSearchCV(
        make_pipeline(FunctionTransformer(), model), {"majoritylabelforestclassifier__max_depth": [1, 2]}, cv=2
    ).fit(X, Y),
}


@pytest.mark.parametrize("name", SEARCHES)
def test_a_search_warns_once(name):
    for _ in range(3):  # each search warns anew
        caught = warned(lambda: SEARCHES[name](forest(epsilon=0.1)))
        assert len(caught) == 1
        assert "Each fit costs its own ε (0.1 for this fit)" in str(caught[0].message)
        assert caught[0].filename == __file__  # the line that starts the search


def test_the_warning_states_delta_with_epsilon():
    booster = RandomTreeBoosterClassifier(n_estimators=2, domain=DOMAIN)
    (warning,) = warned(lambda: cross_val_score(booster, X, Y, cv=3))
    assert "Each fit costs its own ε (1 at δ = 1e-06 for this fit), the scores" in str(warning.message)


@pytest.mark.parametrize("model", FORESTS, ids=lambda model: type(model).__name__)
def test_a_search_over_any_forest_warns_once(model):
    model = clone(model).set_params(domain=DOMAIN)
    assert len(warned(lambda: GridSearchCV(model, {"max_depth": [1, 2]}, cv=2, error_score="raise").fit(X, Y))) == 1


@pytest.mark.parametrize("name", SEARCHES)
@pytest.mark.parametrize("parameters", [{"random_state": 0}, {"epsilon": None}, {"mode": "as_published"}])
def test_a_search_over_an_uncertified_forest_does_not_warn(name, parameters):
    assert warned(lambda: SEARCHES[name](forest(**parameters))) == []


def test_one_fit_is_one_release():
    def releases():
        for _ in range(3):
            forest().fit(X, Y)
            make_pipeline(FunctionTransformer(), forest()).fit(X, Y)

    assert warned(releases) == []
    alone = [(np.arange(40), np.arange(40, 60))]
    assert warned(lambda: cross_val_score(forest(), X, Y, cv=alone)) == []
    assert warned(lambda: GridSearchCV(forest(), {"max_depth": [2]}, cv=alone, refit=False).fit(X, Y)) == []
    assert len(warned(lambda: GridSearchCV(forest(), {"max_depth": [2]}, cv=alone).fit(X, Y))) == 1


@pytest.mark.slow
def test_with_other_processes_the_refit_warns():
    assert len(warned(lambda: GridSearchCV(forest(), DEPTHS, cv=2, n_jobs=2).fit(X, Y))) == 1


def test_as_an_error_it_stops_the_search():
    with warnings.catch_warnings():
        warnings.simplefilter("error", RepeatedReleaseWarning)
        with pytest.raises(RepeatedReleaseWarning):
            GridSearchCV(forest(), DEPTHS, cv=2, error_score="raise").fit(X, Y)
        warnings.simplefilter("ignore", FitFailedWarning)
        warnings.simplefilter("ignore", RepeatedReleaseWarning)
        GridSearchCV(forest(), DEPTHS, cv=2).fit(X, Y)


def test_a_finished_search_is_forgotten():
    warned(lambda: GridSearchCV(forest(), DEPTHS, cv=2).fit(X, Y))
    gc.collect()
    assert len(repeated_fits._fits) == 0


def test_the_certificate_of_the_best_is_that_of_one_fit():
    search = GridSearchCV(forest(epsilon=0.1), DEPTHS, cv=2)
    assert len(warned(lambda: search.fit(X, Y))) == 1
    certificate = search.best_estimator_.certificate_
    assert certificate.certified and any("choosing them by looking" in a for a in certificate.assumptions)
    assert "RepeatedReleaseWarning" in dpforest.__all__
