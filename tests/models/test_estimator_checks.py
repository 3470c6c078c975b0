"""All of scikit-learn's estimator checks, and scikit-learn's tools that wrap a classifier."""

import os

import numba
import numpy as np
import pandas as pd
import pytest
import sklearn
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.exceptions import NotFittedError
from sklearn.metrics import get_scorer
from sklearn.model_selection import GridSearchCV, cross_val_predict, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, MinMaxScaler
from sklearn.utils import get_tags
from sklearn.utils.estimator_checks import check_estimator

from dpforest import (
    BoostedForestClassifier,
    Domain,
    Feature,
    FriedmanSchusterClassifier,
    JagannathanForestClassifier,
    MajorityLabelForestClassifier,
    MultinomialForestClassifier,
    RandomDecisionForestClassifier,
    RandomForestExponentialClassifier,
    RandomForestLaplaceClassifier,
    RandomTreeBoosterClassifier,
    ReleasedForest,
    load_dataset,
)
from tests.conftest import public_domain

ALL = (
    BoostedForestClassifier,
    FriedmanSchusterClassifier,
    JagannathanForestClassifier,
    MajorityLabelForestClassifier,
    MultinomialForestClassifier,
    RandomDecisionForestClassifier,
    RandomForestExponentialClassifier,
    RandomForestLaplaceClassifier,
    RandomTreeBoosterClassifier,
)
DOMAIN = public_domain(None, None, None, n_classes=2)
every_estimator = pytest.mark.parametrize("estimator", ALL)
GREEDY = (BoostedForestClassifier, FriedmanSchusterClassifier, MultinomialForestClassifier)


def forest(estimator, *, n_estimators: int, **parameters):
    """Return an estimator with these parameters, and with `n_estimators` if it has this parameter.

    Majority-label forests use the published depth, so that leaves hold rows at any ε.
    """
    trees = {} if estimator is FriedmanSchusterClassifier else {"n_estimators": n_estimators}
    depth = {"max_depth": "published"} if estimator is MajorityLabelForestClassifier else {}
    return estimator(**{"domain": DOMAIN, **trees, **depth, **parameters})


def table(n: int = 400, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    X = np.random.default_rng(seed).random((n, 3))
    return X, (X[:, 0] + X[:, 1] > 1).astype(int)


@pytest.mark.skipif(numba.config.DISABLE_JIT, reason="hundreds of fits of up to 100 trees in pure Python")
# The tables of the checks have no domain, so a fit reads bounds from the rows and warns about this.
@pytest.mark.filterwarnings("ignore::dpforest.PrivacyLeakWarning")
# scikit-learn casts infinite labels to integers before it refuses them.
@pytest.mark.filterwarnings("ignore:invalid value encountered in cast:RuntimeWarning")
@every_estimator
@pytest.mark.parametrize("epsilon", [1.0, None])
def test_every_check_of_scikit_learn_passes_and_none_is_skipped(estimator, epsilon):
    results = check_estimator(estimator(epsilon=epsilon), on_skip=None, on_fail=None)
    by_status = {}
    for result in results:
        by_status.setdefault(result["status"], {})[result["check_name"]] = repr(result["exception"])
    assert set(by_status) == {"passed"}, {status: by_status[status] for status in set(by_status) - {"passed"}}
    assert len(results) > 50
    # scikit-learn skips this check unless SCIPY_ARRAY_API was set before scipy was imported.
    if tuple(map(int, sklearn.__version__.split(".")[:2])) >= (1, 9):  # earlier versions do not have this check
        assert "check_array_api_input" in by_status["passed"]
    assert os.environ["SCIPY_ARRAY_API"] == "1"


@every_estimator
def test_tags_state_that_cells_may_be_missing_and_that_noise_may_cost_accuracy(estimator):
    tags = get_tags(estimator())
    assert tags.estimator_type == "classifier"
    assert tags.input_tags.allow_nan
    assert tags.classifier_tags.poor_score
    assert tags.target_tags.required


@every_estimator
def test_a_clone_is_unfitted_and_fits_the_same(estimator):
    X, y = table()
    model = forest(estimator, n_estimators=5, random_state=3, n_jobs=2).fit(X, y)
    nonprivate = clone(model)
    assert nonprivate.get_params() == model.get_params()
    with pytest.raises(NotFittedError):
        nonprivate.predict(X)
    assert np.array_equal(nonprivate.fit(X, y).predict_proba(X), model.predict_proba(X))


@every_estimator
def test_parameters_are_keyword_only_and_can_be_set(estimator):
    with pytest.raises(TypeError):
        estimator(1.0)
    model = estimator().set_params(epsilon=0.25, random_state=3)
    assert (model.epsilon, model.random_state) == (0.25, 3)
    with pytest.raises(ValueError, match="Invalid parameter 'budgets'"):
        model.set_params(budgets=1)


@every_estimator
def test_at_the_end_of_a_pipeline(estimator):
    X, y = table()
    model = forest(estimator, n_estimators=9, epsilon=30.0, random_state=0)
    scaled = make_pipeline(FunctionTransformer(lambda a: a / 7.0), model).fit(X * 7, y)
    assert np.allclose(scaled.predict_proba(X * 7), clone(model).fit(X, y).predict_proba(X), atol=0.2)
    assert scaled.score(X * 7, y) > 0.7
    assert scaled[-1].certificate_.reasons  # a demonstration is not certified
    with_names = make_pipeline(MinMaxScaler().set_output(transform="pandas"), model)
    with_names.fit(pd.DataFrame(X, columns=["f0", "f1", "f2"]), y)
    assert with_names[-1].feature_names_in_.tolist() == ["f0", "f1", "f2"]


@every_estimator
def test_grid_search_finds_that_a_larger_epsilon_is_more_accurate(estimator):
    X, y = table()
    search = GridSearchCV(
        forest(estimator, n_estimators=15, random_state=0), {"epsilon": [1e-4, 100.0]}, cv=3, error_score="raise"
    )
    search.fit(X, y)
    assert search.best_params_ == {"epsilon": 100.0}
    assert search.best_score_ > 0.7
    assert search.best_estimator_.epsilon == 100.0
    assert set(search.predict(X)) <= {0, 1}


@every_estimator
def test_cross_validation_of_tables_with_labels_in_words(estimator):
    X, y = table()
    frame = pd.DataFrame(X, columns=["f0", "f1", "f2"])
    domain = type(DOMAIN)(DOMAIN.features, ("no", "yes"), "y", "documented", "made up")
    words = np.array(["no", "yes"])[y]
    model = forest(estimator, n_estimators=15, epsilon=100.0, random_state=0).set_params(domain=domain)
    assert cross_val_score(model, frame, words, cv=4, error_score="raise").mean() > 0.7
    assert set(cross_val_predict(model, frame, words, cv=4)) <= {"no", "yes"}
    for scorer in ("roc_auc", "neg_log_loss", "balanced_accuracy", "f1_macro"):
        assert np.isfinite(get_scorer(scorer)(model.fit(frame, words), frame, words))


def irises() -> tuple[Domain, pd.DataFrame, np.ndarray]:
    """Return Fisher's irises with a domain whose bounds in centimeters do not come from the data."""
    data = load_iris(as_frame=True)
    highs = (10.0, 6.0, 8.0, 3.0)
    features = tuple(
        Feature(name, "numeric", 0.0, high, source="documented", source_note="centimetres")
        for name, high in zip(data.data.columns, highs, strict=True)
    )
    names = tuple(map(str, data.target_names))
    return Domain(features, names, "kind", "documented", "Fisher 1936"), data.data, data.target_names[data.target]


@pytest.mark.parametrize("estimator", GREEDY)
@pytest.mark.parametrize("mode", ["certified", "as_published", None])
@pytest.mark.parametrize("table", ["iris", "nursery", "zoo"])
def test_tables_with_many_classes(estimator, mode, table):
    """On 3, 5 and 7 classes each forest learns without privacy, and a release predicts a share for each class."""
    if table == "iris":
        domain, rows, labels = irises()
    else:
        data = load_dataset(table)
        domain, rows, labels = data.domain, data.X, np.asarray(data.y)
    model = estimator(domain=domain, epsilon=20.0 if mode else None, mode=mode or "certified", random_state=0)
    model.fit(rows, labels)
    shares, predicted = model.predict_proba(rows), model.predict(rows)
    assert shares.shape == (len(rows), domain.n_classes) and domain.n_classes > 2
    assert ((shares >= 0) & (shares <= 1)).all()
    assert np.allclose(shares.sum(axis=1), 1)
    assert np.array_equal(predicted, model.classes_[shares.argmax(axis=1)])
    if mode is None:
        assert (predicted == labels).mean() > 0.8
    if mode == "certified":
        again = ReleasedForest.from_json(model.released_.to_json(uncertified=True))
        assert again.class_shares(rows).tobytes() == shares.tobytes()
    if mode == "certified" and table == "nursery":
        assert (predicted == labels).mean() > 0.6  # the most frequent class has a third of the rows
