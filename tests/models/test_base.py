"""Checks of parameters and tables that all estimators make before they draw anything."""

import math
from collections import Counter
from dataclasses import fields, replace
from fractions import Fraction

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

import dpforest
from dpforest import (
    DomainError,
    JagannathanForestClassifier,
    MajorityLabelForestClassifier,
    RandomDecisionForestClassifier,
    RandomForestExponentialClassifier,
    RandomForestLaplaceClassifier,
)
from dpforest.models.data_dependent import DataDependentClassifier
from dpforest.models.greedy.greedy import GreedyClassifier
from dpforest.tables.out_of_domain import OutOfDomainWarning
from dpforest.tables.rows import read_rows
from tests.conftest import public_domain
from tests.models.random_forests import DOMAIN, X, Y, every_estimator, fit, table

COMMON = [
    ("epsilon", 0, "epsilon=0 "),
    ("epsilon", -1.0, "epsilon=-1.0 "),
    ("epsilon", 1e-9, "epsilon=1e-09 "),
    ("epsilon", 1e9, r"epsilon=1000000000\.0 .* None for no privacy"),
    ("epsilon", math.nan, "epsilon=nan "),
    ("epsilon", math.inf, "epsilon=inf "),
    ("epsilon", "1", "epsilon='1' is not a number"),
    ("epsilon", True, "epsilon=True is not a number"),
    ("epsilon", 1 + 0j, "is not a number"),
    ("n_estimators", 0, "n_estimators=0 is not a whole number from 1 to 1,000"),
    ("n_estimators", 1001, "n_estimators=1001 "),
    ("n_estimators", 2.0, "n_estimators=2.0 "),
    ("n_estimators", True, "n_estimators=True "),
    ("max_depth", -1, "max_depth=-1 is not a whole number from 0 to 15"),
    ("max_depth", 16, "max_depth=16 "),
    ("max_depth", 2.5, "max_depth=2.5 "),
    ("neighbors", "bounded", "neighbors='bounded' is not known; choose one of 'add-remove', 'replace-one'"),
    ("mode", "private", "mode='private' is not known; choose one of 'certified', 'as_published'"),
    ("structure_seed", -1, "structure_seed=-1 is not a whole number"),
    ("structure_seed", None, "structure_seed=None is not a whole number"),
    ("random_state", -1, "random_state=-1 is not a whole number"),
    ("random_state", 2**63, f"random_state={2**63} is not a whole number"),
    ("random_state", "secret", "random_state='secret' is not a whole number"),
    ("n_jobs", 1.5, "n_jobs=1.5 is not a number of threads; use 1 or more, -1 for all processors, or None"),
    ("n_jobs", 0, "n_jobs=0 is not a number of threads"),
    ("n_jobs", "2", "n_jobs='2' is not a number of threads"),
]
INVALID_PARAMETERS = [
    (MajorityLabelForestClassifier, "max_depth", "deepest", "max_depth='deepest' is not a depth rule; use a number"),
    (MajorityLabelForestClassifier, "max_depth", None, "max_depth=None is not a whole number"),
    (MajorityLabelForestClassifier, "leaf_mechanism", "laplace", "leaf_mechanism='laplace' is not known; choose one"),
    (MajorityLabelForestClassifier, "leaf_mechanism", "smooth-sensitivity", "does not keep its privacy promise"),
    (MajorityLabelForestClassifier, "leaf_mechanism", "smooth-sensitivity-clamped", "use it with mode='as_published'"),
    (MajorityLabelForestClassifier, "partition", "blocks", "partition='blocks' does not keep its privacy promise"),
    (MajorityLabelForestClassifier, "partition", "thirds", "partition='thirds' is not known; choose one of"),
    (MajorityLabelForestClassifier, "categorical", "hashed", "categorical='hashed' is not known; choose one of"),
    (MajorityLabelForestClassifier, "max_leaves", 0, "max_leaves=0 is not a whole number from 1"),
    (MajorityLabelForestClassifier, "max_leaves", "many", "max_leaves='many' is not a whole number"),
    (MajorityLabelForestClassifier, "max_leaves", 10**9, "max_leaves=1000000000 is not a whole number"),
    (RandomDecisionForestClassifier, "max_depth", "published", "max_depth='published' is not a whole number"),
    (RandomDecisionForestClassifier, "voting", "loud", "voting='loud' is not known; choose one of"),
    (RandomDecisionForestClassifier, "negative_rule", "drop", "negative_rule='drop' is not known; choose one of"),
    (RandomDecisionForestClassifier, "partition", "blocks", "partition='blocks' is not known; choose one of 'shared'"),
    (RandomDecisionForestClassifier, "categorical", None, "categorical=None is not known"),
    (RandomDecisionForestClassifier, "max_leaves", -5, "max_leaves=-5 is not a whole number"),
    (JagannathanForestClassifier, "n_bound", 0, "n_bound=0 is not a whole number"),
    (JagannathanForestClassifier, "n_bound", 119, "more rows than n_bound=119"),
    (JagannathanForestClassifier, "max_leaves", 2.5, "max_leaves=2.5 is not a whole number"),
    (RandomForestLaplaceClassifier, "budget", "generous", "budget='generous' is not known; choose one of None, 'fair'"),
    (RandomForestLaplaceClassifier, "n_quantiles", 1, "n_quantiles=1 is not a whole number from 2"),
    (RandomForestExponentialClassifier, "n_quantiles", 10.0, "n_quantiles=10.0 is not a whole number"),
    (RandomForestExponentialClassifier, "max_depth", None, "max_depth=None is not a whole number"),
]


def assert_refused(estimator, name, value, sentence):
    with pytest.raises(ValueError, match=sentence) as error:
        fit(estimator, **{name: value})
    assert name in str(error.value)
    assert "\n" not in str(error.value)
    with pytest.raises(ValueError, match=sentence):  # a preview refuses the same value
        estimator(**{"domain": DOMAIN, name: value}).preview(DOMAIN, 120)


@pytest.mark.parametrize("estimator", [MajorityLabelForestClassifier, RandomForestLaplaceClassifier])
@pytest.mark.parametrize(("name", "value", "sentence"), COMMON)
def test_parameters_out_of_range_are_refused_with_a_sentence(estimator, name, value, sentence):
    assert_refused(estimator, name, value, sentence)


@pytest.mark.parametrize(("estimator", "name", "value", "sentence"), INVALID_PARAMETERS)
def test_parameters_of_one_estimator_are_refused_with_a_sentence(estimator, name, value, sentence):
    assert_refused(estimator, name, value, sentence)


def test_the_paper_budget_with_an_invalid_depth_is_refused():
    for depth in ("deep", -1, 10**9):
        with pytest.raises(ValueError, match="max_depth=.* is not a whole number"):
            fit(RandomForestLaplaceClassifier, budget="paper", max_depth=depth)


def test_a_domain_of_another_type_is_refused_with_a_sentence():
    with pytest.raises(TypeError, match="domain='adult' is not a Domain; use one, or None"):
        fit(MajorityLabelForestClassifier, domain="adult")


@every_estimator
def test_constructors_store_what_they_get_and_check_in_fit(estimator):
    strange = estimator(epsilon="much", n_estimators=-3, domain=DOMAIN)
    assert strange.epsilon == "much"
    assert clone(strange).get_params() == strange.get_params()
    with pytest.raises(ValueError, match="epsilon='much'"):
        strange.fit(*table())
    assert not hasattr(strange, "forest_")


@every_estimator
def test_predictions_before_the_fit_are_refused(estimator):
    X, _ = table()
    for ask in ("predict", "predict_proba", "apply"):
        with pytest.raises(NotFittedError):
            getattr(estimator(domain=DOMAIN), ask)(X)
    with pytest.raises(NotFittedError):
        _ = estimator(domain=DOMAIN).released_


@pytest.mark.parametrize(
    ("rows", "labels", "sentence"),
    [
        (X.drop(columns="f2"), Y, "The table has no column 'f2'"),
        (X.rename(columns=str.upper), Y, "The table has no column 'f0', 'f1', 'f2', 'f3'"),
        (X.to_numpy()[:, :3], Y, "X has 3 columns, but the domain describes 4 features"),
        (X, np.column_stack([Y, Y]), "1d array"),
        (X, Y[:-1], "inconsistent numbers of samples: .120, 119."),
        (X, None, "requires y to be passed"),
        (np.ma.masked_array(X.to_numpy(), X.isna().to_numpy()), Y, "a masked array"),
        (X, np.ma.masked_array(Y, Y > 1), "a masked array"),
    ],
)
def test_tables_that_do_not_fit_are_refused_with_a_sentence(rows, labels, sentence):
    with pytest.raises(ValueError, match=sentence):
        MajorityLabelForestClassifier(domain=DOMAIN, n_estimators=3).fit(rows, labels)


@pytest.mark.parametrize(
    ("rows", "labels", "sentence"),
    [
        (X.assign(f0=np.inf), Y, "120 cells of 'f0' are infinite; they were read as the bound"),
        (X.assign(f0=np.nan), Y, "120 cells of 'f0' are missing although none are expected"),
        (X.assign(f0="high"), Y, "120 cells of 'f0' are not a number"),
        (X.assign(f1="c9"), Y, "120 cells of 'f1' are not listed"),
        (X, np.where(Y == 0, 7, Y), "rows have no label that is listed and were left out"),
        (X, np.where(Y == 0, np.nan, Y), "rows have no label that is listed and were left out"),
    ],
)
def test_only_the_curator_sees_the_warning_about_unreadable_cells(rows, labels, sentence):
    """Unreadable cells neither stop a fit nor change its certificate, because either effect would reveal a row."""
    model = MajorityLabelForestClassifier(domain=DOMAIN, n_estimators=3, max_depth=4)
    with pytest.warns(OutOfDomainWarning, match=sentence):
        model.fit(rows, labels)
    # A public rule decides by the noisy number of rows whether the fit queries the scale of numeric attributes.
    assert str(model.certificate_) in {str(model.preview(DOMAIN, n)[0]) for n in (1, 1_000)}


def test_wrong_columns_are_refused_in_predictions_as_well():
    model = fit(MajorityLabelForestClassifier)
    with pytest.raises(DomainError, match="The table has no column 'f3'"):
        model.predict(X.drop(columns="f3"))
    with pytest.raises(DomainError, match="The table has no column 'f0'"):
        model.released_.predict(X.drop(columns="f0"))
    with pytest.raises(ValueError, match="X has 3 features, but .* is expecting 4 features"):
        model.fit(X.to_numpy(), Y).predict(X.to_numpy()[:, :3])
    with pytest.raises(DomainError, match="'f1' has 120 cells whose value its domain does not list"):
        model.predict(X.assign(f1="other"))


@pytest.mark.filterwarnings("ignore::dpforest.PrivacyLeakWarning")
def test_one_class_or_too_many_are_refused():
    rows = np.random.default_rng(0).random((204, 2))
    with pytest.raises(ValueError, match="There is one class in the label"):
        MajorityLabelForestClassifier().fit(rows, np.zeros(204, int))
    with pytest.raises(ValueError, match="51 classes in the label, but a classifier needs between 2 and 50"):
        MajorityLabelForestClassifier().fit(rows, np.arange(204) % 51)
    with pytest.raises(ValueError, match="continuous"):
        MajorityLabelForestClassifier().fit(rows, rows[:, 0])


@pytest.mark.parametrize(
    ("classes", "given"), [(("0", "1"), np.array([0, 1])), ((1, "A"), np.array([1, "A"], object)), ((0, 2**70), None)]
)
def test_labels_are_scored_as_fits_read_them(classes, given):
    """`score` reads labels as `fit` does: the label 0 counts as the class "0".

    If the classes have mixed types, `predict` returns them unchanged.
    """
    domain = replace(public_domain(None, n_classes=2), classes=classes)
    which = np.arange(60) % 2
    y = (np.array(classes, object) if given is None else given)[which]
    forest = MajorityLabelForestClassifier(domain=domain, epsilon=50, random_state=0).fit(which[:, None] * 1.0, y)
    assert forest.score(which[:, None] * 1.0, y) == 1
    assert forest.score(which[:, None] * 1.0, y[::-1], sample_weight=which) == 0
    predicted = forest.predict([[0.0], [1.0]]).tolist()
    assert predicted == list(classes)
    assert list(map(type, predicted)) == list(map(type, classes))
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        forest.score(which[:, None], y[:-1])


WIDE = 70_000  # this bound exceeds 16-bit integers, and its square exceeds 32-bit integers
KINDS_OF_WHOLE = [np.int8, np.uint8, np.int16, np.uint16, np.int32, np.uint32, np.int64, np.uint64]
ESTIMATORS = [getattr(dpforest, name) for name in dpforest.__all__ if name.endswith("Classifier")]


@pytest.mark.parametrize("mode", ["certified", "as_published"])
@pytest.mark.parametrize("kind", ESTIMATORS, ids=lambda kind: kind.__name__)
def test_fits_convert_whole_numbers_of_numpy_to_int(kind, mode):
    """Fits convert whole numbers of numpy to `int`, because numpy integers overflow without an error.

    With `np.int32(16385)` rows, for example, the noise would be 65,536 times too small.
    """
    expected = {"max_depth": 8, "n_estimators": 60, "n_bins": 16, "n_bound": WIDE, "max_leaf": 16, "alpha": 1,
              "random_state": 3, "structure_seed": 5, "max_leaves": 200, "n_quantiles": 16, "min_leaf": 9}  # fmt: skip
    expected = {name: value for name, value in expected.items() if name in kind().get_params()}
    settings: dict = {"domain": DOMAIN, **({"mode": mode} if "mode" in kind().get_params() else {})}
    model = kind(**settings, **expected)
    spec, (certificate, ledger) = model.spec(DOMAIN, 100), model.preview(DOMAIN, 100)
    for whole in KINDS_OF_WHOLE:
        converted = {name: whole(value) for name, value in expected.items() if value <= np.iinfo(whole).max}
        other = kind(**settings, **{**expected, **converted})
        # The estimator must keep the object that it received, as scikit-learn requires.
        assert all(other.get_params()[name] is value for name, value in converted.items())
        used = other._checked_copy().get_params()
        assert {type(value) for name, value in used.items() if name in expected} == {int}
        assert other.spec(DOMAIN, 100) == spec
        assert other.preview(DOMAIN, 100) == (certificate, ledger)
        assert clone(other).set_params(**converted).spec(DOMAIN, 100) == spec


def test_numbers_with_too_many_digits_for_a_file_are_refused_before_anything_is_drawn():
    rows, labels = table()
    for epsilon in (Fraction(10**400 + 1, 10**400), Fraction(1, 3**600) + 1):
        with pytest.raises(ValueError, match="too many digits for a file"):
            MajorityLabelForestClassifier(epsilon=epsilon, domain=DOMAIN).fit(rows, labels)
    with pytest.raises(ValueError, match="too many digits for a file"):
        dpforest.MultinomialForestClassifier(feature_temperature=1e-300, domain=DOMAIN).fit(rows, labels)


@pytest.mark.parametrize("kind", ESTIMATORS, ids=lambda kind: kind.__name__)
def test_a_fit_checks_each_parameter_once(kind):
    checks: Counter[str] = Counter()

    def counted(name, value):
        checks[name] += 1
        kind.constraints[name](name, value)

    watched = type(kind.__name__, (kind,), {"constraints": dict.fromkeys(kind.constraints, counted)})
    rows, labels = table()
    watched(domain=DOMAIN, random_state=0).fit(rows, labels)
    assert checks == dict.fromkeys(kind.constraints, 1)


def test_the_booster_ignores_bins():
    model, (rows, labels) = dpforest.RandomTreeBoosterClassifier(domain=DOMAIN, random_state=0), table()
    encoded = model.encode(DOMAIN, rows, DOMAIN.encode_labels(labels), np.arange(len(rows)))
    assert not isinstance(model, GreedyClassifier) and isinstance(model, DataDependentClassifier)
    assert {field.name for field in fields(encoded)} == {
        *("codes", "y", "row_ids", "n_given", "n_table", "memo", "scale", "units")
    }
    forest = model.fit_encoded(DOMAIN, encoded)
    assert forest.to_json(uncertified=True) == model.fit(rows, labels).forest_.to_json(uncertified=True)


DATA_DEPENDENT = [kind for kind in ESTIMATORS if issubclass(kind, DataDependentClassifier)]


@pytest.mark.parametrize("kind", DATA_DEPENDENT, ids=lambda kind: kind.__name__)
def test_only_a_simulation_fits_rows_as_part_of_a_table(kind):
    """A fit of rows as part of a larger table needs a seed and is not certified.

    Such a forest may depend on the exact number of rows of the larger table. So a fit without a seed, whose noise is
    secret, refuses these rows.
    """
    rows, labels = table()
    part = (
        kind().encode(DOMAIN, DOMAIN.encode(rows), DOMAIN.encode_labels(labels), np.arange(len(rows))).of_table(1_000)
    )
    with pytest.raises(ValueError, match="which needs a seed"):
        kind().fit_encoded(DOMAIN, part)
    assert not kind(random_state=0).fit_encoded(DOMAIN, part).certificate.certified


@pytest.mark.parametrize(
    "model",
    [
        dpforest.FriedmanSchusterClassifier(n_bound=10, criterion="entropy", max_depth=2),
        dpforest.BoostedForestClassifier(n_bound=10),
    ],
    ids=lambda model: type(model).__name__,
)
def test_every_way_to_fit_refuses_more_rows_than_the_public_bound(model):
    rows, labels = table()
    encoded = read_rows(DOMAIN, rows, labels)
    for fit_anew in (
        lambda: model.refitter(DOMAIN, encoded),
        lambda: model.refitter(DOMAIN, replace(encoded, n_given=3)),
        lambda: model.fit_encoded(DOMAIN, model.encode(DOMAIN, encoded.codes, encoded.y, encoded.ids)),
        lambda: model.fit_encoded(DOMAIN, model.encode(DOMAIN, encoded.codes, encoded.y, encoded.ids, n_given=3)),
    ):
        with pytest.raises(ValueError, match="more rows than n_bound=10"):
            fit_anew()


class Capped(list):
    """An account that stores bookings, and refuses budgets above a cap."""

    def __init__(self, cap: Fraction) -> None:
        super().__init__()
        self.cap = cap

    def book(self, ledger, delta, title) -> None:
        assert ledger.entries == ()  # nothing has been asked yet
        if ledger.budget.epsilon(delta) > self.cap:
            raise ValueError("beyond the cap")
        self.append((ledger.budget, ledger.neighbors, ledger.unit, delta, title))


@pytest.mark.parametrize("kind", [getattr(dpforest, name) for name in dpforest.__all__ if name.endswith("Classifier")])
def test_an_account_books_the_budget_of_a_fit_before_it_asks_anything(kind):
    model = kind(epsilon=1.5, domain=DOMAIN)
    delta = getattr(model, "delta", 0.0)
    account = Capped(Fraction(3, 2))
    model.fit(*table(), account=account)
    assert account == [(model.ledger_.budget, "add-remove", None, delta, kind.__name__)]
    assert model.ledger_.loss <= account[0][0]
    refused = clone(model)
    with pytest.raises(ValueError, match="beyond the cap"):
        refused.fit(*table(), account=Capped(Fraction(1)))
    assert not hasattr(refused, "forest_")


@pytest.mark.filterwarnings("ignore::dpforest.PrivacyLeakWarning")
@pytest.mark.parametrize("change", [{"epsilon": None}, {"random_state": 1}, {"domain": None}])
def test_a_release_without_a_certificate_is_not_booked(change):
    account = Capped(Fraction(100))
    with pytest.raises(ValueError, match="Only a certified release is booked"):
        MajorityLabelForestClassifier(**{"domain": DOMAIN, **change}).fit(*table(), account=account)
    assert account == []
