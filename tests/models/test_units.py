"""Fits whose unit of privacy is a person, so that all rows of a person together are protected by ε."""

import inspect
import math
import warnings
from dataclasses import replace
from fractions import Fraction
from itertools import chain

import numpy as np
import pandas as pd
import pytest
import sklearn
from sklearn.model_selection import GroupKFold, cross_val_score

from dpforest import (
    BoostedForestClassifier,
    FriedmanSchusterClassifier,
    MajorityLabelForestClassifier,
    MultinomialForestClassifier,
    RandomDecisionForestClassifier,
    RandomTreeBoosterClassifier,
    ReleasedForest,
)
from dpforest.audit.replay.persons import OF_PERSONS
from dpforest.audit.replay.settings import FORESTS
from dpforest.audit.replay.variants import VARIANTS, domain_of, random_rows
from dpforest.losses import m_alpha
from dpforest.models.base import ForestClassifier
from dpforest.models.boosting.clip_bound import ClipBound
from dpforest.models.data_dependent import DataDependentClassifier
from dpforest.models.preparation import most_noise
from dpforest.models.trace import Trace
from dpforest.privacy import samplers, selection
from dpforest.privacy.ledger import NEIGHBORS, BudgetError
from dpforest.privacy.randomness import SecretSource
from dpforest.privacy.rationals import LIMIT, round_down
from dpforest.privacy.release import label_rate, noise_scale
from dpforest.tables.domain import Domain
from dpforest.tables.rows import EncodedTable, read_rows
from dpforest.trees.split_scores import nodes_of_unit, unit_sensitivity
from tests.conftest import examples

DOMAIN = replace(domain_of(2), unit="id")


def table(n: int = 120, n_persons: int = 30, seed: int = 0) -> tuple[pd.DataFrame, np.ndarray]:
    """Return a table in which persons have several rows. The rows of different persons are mixed."""
    X, y = random_rows(n, 2, 3 * seed)
    return X.assign(id=np.random.default_rng(seed).integers(0, n_persons, n)), y


# ---------------------------------------------------------------- formulas


def test_sensitivities_match_values_by_hand():
    for level in (0, 3, 12):
        assert unit_sensitivity("max", 100, level) == 1_024
        assert unit_sensitivity("gini", 100, level) == 2_048
        assert nodes_of_unit(level) == min(256, 2**level)
        for n_classes in (2, 50):
            rounding = 2 * min(512, 2 * (n_classes + 1) * 2**level) + 1
            assert (
                unit_sensitivity("entropy", 100, level, n_classes)
                == math.ceil(1_024 * (math.log2(200) + 1 / math.log(2))) + rounding
            )
        touched = min(256, 2 ** (level + 1))
        for alpha in (0, 512, 1_024):
            linear = (1_024 - alpha) * 700
            assert unit_sensitivity("m-alpha", 1, level, alpha=alpha, weight=700) == alpha * (350 + touched) + linear
            assert (
                unit_sensitivity("m-alpha", 101, level, alpha=alpha, weight=700) == alpha * (7_000 + touched) + linear
            )


def test_gradients_have_sixteen_times_as_many_steps():
    for n_classes in (2, 3, 50):
        for kind in ("pure", "gaussian"):
            assert ClipBound(n_classes, kind, 16).sensitivity == 16 * ClipBound(n_classes, kind).sensitivity


def test_rates_and_scales_are_those_of_weights():
    """A weight of 1 is 1,024 units. Noise on weights has the scale 1024/κ units, and labels have the rate κ/1024.

    Both values are rounded so that no release costs more than κ.
    """
    assert noise_scale(Fraction(3), 1_024) == Fraction(1_024, 3) and noise_scale(Fraction(3), 1) == Fraction(1, 3)
    assert label_rate(Fraction(3), 1_024) == Fraction(3, 1_024) and label_rate(Fraction(3), 1) == 3
    rng = np.random.default_rng(0)
    for rate in map(Fraction, 10 ** rng.uniform(-6, 4, examples(400))):
        drawn = label_rate(rate, 1_024)
        assert 0 < drawn <= rate / 1_024 and drawn.numerator < 2**22 and drawn.denominator < 2**32
        assert drawn >= rate / 1_024 * (1 - Fraction(1, 2**8)) or rate < Fraction(1, 2**10)
        assert noise_scale(rate, 1_024) >= 1_024 / rate


# ---------------------------------------------------------------- limits of the samplers


def test_counts_of_weights_are_drawn_up_to_their_limit():
    """Samplers draw labels from sums of weights below 2**41, if the numerator of the rate is below 2**22."""
    most, rate = np.array([[2**41 - 1, 0]]), Fraction(2**22 - 1, 2**32 - 1)
    for draw in (samplers.draw_permute_and_flip, samplers.draw_exponential):
        assert draw(most, rate, SecretSource()).tolist() == [0]  # the other label has probability e**(-2**31)
        with pytest.raises(ValueError, match="counts must lie between"):
            draw(most + 1, rate, SecretSource())
        with pytest.raises(ValueError, match="counts must lie between"):
            draw(most, Fraction(2**22, 2**32 - 1), SecretSource())
    noisy = samplers.draw_noisy_counts(np.array([[2**62 - 1, 1 - 2**62]]), Fraction(LIMIT), SecretSource())
    assert (np.abs(noisy) > 2**61).all() and noisy[0, 0] > 0 > noisy[0, 1]


def test_a_rate_that_rounds_down_to_0_is_refused():
    """If the rate rounded down to 0, labels would be uniform, and the user would not notice."""
    with pytest.raises(BudgetError, match="too small"):
        label_rate(Fraction(1, 2**22 + 1), 1_024)
    assert label_rate(Fraction(1, 2**21), 1_024) > 0
    with pytest.raises(BudgetError, match="too small"):
        noise_scale(Fraction(1, 2**22), 1_024)
    assert noise_scale(Fraction(1_024, LIMIT), 1_024) == LIMIT
    assert most_noise(1_024) == 2**22 - 1 and most_noise(1) == 2**31
    assert round_down(Fraction(2**22), samplers.MOST_OF_WEIGHT) == samplers.MOST_OF_WEIGHT


# ---------------------------------------------------------------- refusals


@pytest.fixture
def no_draws(monkeypatch):
    """Let every draw of a release fail."""

    def words(source, n):
        raise AssertionError("rows were asked")

    monkeypatch.setattr(SecretSource, "words", words)


@pytest.mark.parametrize(
    "model, message",
    [
        (MajorityLabelForestClassifier(leaf_mechanism="global-01"), "no bound for a unit"),
        (MultinomialForestClassifier(split_score="normalized"), "no bound for a unit"),
        (BoostedForestClassifier(leaf="range"), "no bound for a unit"),
        (BoostedForestClassifier(leaf="range", beta="one"), "no bound for a unit"),
        (MajorityLabelForestClassifier(epsilon=1e-4, n_estimators=1_000, partition="shared"), "too small"),
        (MajorityLabelForestClassifier(epsilon=1e-4, scale_share=1e-4), "too little"),
        (RandomTreeBoosterClassifier(epsilon=1e-4, delta=0, scale_share=1e-5), "too little"),
        (RandomTreeBoosterClassifier(epsilon=1e-4, delta=0, n_estimators=1_000), "too many"),
        (
            MultinomialForestClassifier(epsilon=1e-4, label_temperature=1e-7, max_depth=1, scale_share="public"),
            "too small",
        ),
        (FriedmanSchusterClassifier(epsilon=1e-4, tree_share=0.9999), "too small"),
        (BoostedForestClassifier(epsilon=1e-4, n_estimators=500, max_depth=2), "samplers cannot draw"),
    ],
    ids=lambda value: type(value).__name__ if hasattr(value, "fit") else None,
)
def test_what_has_no_bound_or_no_sampler_is_refused_before_any_question(model, message, no_draws):
    """A fit refuses unsupported settings before any draw. The message does not depend on the rows."""
    for relation in NEIGHBORS:
        model = type(model)(**{**model.get_params(), "domain": DOMAIN, "neighbors": relation})
        refusals = set()
        for n, n_persons in ((1, 1), (120, 30), (120, 1)):
            with pytest.raises(ValueError, match=message) as refusal:
                model.fit(*table(n, n_persons))
            refusals.add(str(refusal.value))
        assert len(refusals) == 1


# ---------------------------------------------------------------- fits


def settings_of(name: str) -> tuple[type, dict]:
    kind, settings = VARIANTS[name]
    return kind, {"epsilon": 0.8, "domain": DOMAIN, **settings}


@pytest.mark.parametrize("kind", FORESTS, ids=lambda kind: kind.__name__)
def test_the_file_of_a_forest_has_the_unit_and_no_identifier(kind):
    X, y = table()
    X["id"] = "patient " + X["id"].astype(str)
    name = next(name for name in OF_PERSONS if VARIANTS[name][0] is kind)
    model = kind(**settings_of(name)[1]).fit(X, y)
    assert model.certificate_.certified and model.certificate_.unit == model.ledger_.unit == "id"
    text = model.released_.to_json()
    assert "patient" not in text
    forest = ReleasedForest.from_json(text)
    assert forest.domain == DOMAIN
    assert forest.predict(X).tolist() == forest.predict(X.drop(columns="id")).tolist() == model.predict(X).tolist()


@pytest.mark.parametrize(
    "name", ["majority label, permute-and-flip", "random decision, scale", "JPW", "RF-L", "RF-E, scale"]
)
def test_a_demonstration_is_the_same_wherever_the_table_is_cut(name):
    kind, settings = settings_of(name)
    X, y = table(200)
    model = kind(random_state=0, **settings)
    whole = model.fit(X, y).forest_.to_json(uncertified=True)
    groups = X["id"].tolist()
    assert model.fit(X.drop(columns="id"), y, groups=groups).forest_.to_json(uncertified=True) == whole
    rng = np.random.default_rng(0)
    for _ in range(3):
        cuts = np.r_[0, np.sort(rng.integers(0, 201, 4)), 200]
        parts = [(X[a:b], y[a:b]) for a, b in zip(cuts, cuts[1:])]
        assert model.fit_chunks(parts).forest_.to_json(uncertified=True) == whole
        with_ids = [(part.drop(columns="id"), labels, part["id"].tolist()) for part, labels in parts]
        assert model.fit_chunks(with_ids).forest_.to_json(uncertified=True) == whole
    part_of = X["id"] % 3
    parts = [(X[part_of == k], y[part_of == k]) for k in range(3)]
    model.fit_scale(sum(model.partial_scale(*part) for part in parts))
    assert (
        model.fit_counts(sum(model.partial_counts(*part) for part in parts)).forest_.to_json(uncertified=True) == whole
    )


def test_parts_that_can_be_read_once_only_are_refused():
    kind, settings = settings_of("RF-L")
    with pytest.raises(ValueError, match="can be read only once"):
        kind(**settings).fit_chunks(iter([table()]))


def test_counts_are_sums_of_weights_for_singles_as_well():
    """Results and the file have the same form whether each person has one row or some person has two."""
    kind, settings = settings_of("random decision")
    X, y = table(40)
    files = []
    for ids in (np.arange(40), np.r_[0, 0:39]):
        forest = kind(random_state=1, **{**settings, "epsilon": 1e4}).fit(X.assign(id=ids), y).forest_
        counts = forest.leaves.noisy_counts.reshape(3, -1).sum(axis=1)
        assert np.abs(counts - 1_024 * len(set(ids))).max() < 1_024
        assert forest.leaves.count_unit == 1_024 and forest.leaves.noisy_counts.dtype == np.int64
        files.append(forest.to_json(uncertified=True))
    assert len(set(map(len, files))) <= 2


def test_rules_and_bounds_count_persons():
    X, y = table(300, 10)
    model = FriedmanSchusterClassifier(criterion="entropy", n_bound=10, domain=DOMAIN, max_depth=2, n_bins=4)
    assert "at most 10 persons" in str(model.fit(X, y).certificate_)
    with pytest.raises(ValueError, match="n_bound=9"):
        model.set_params(n_bound=9).fit(X, y)
    booster = RandomTreeBoosterClassifier(domain=DOMAIN, neighbors="replace-one", epsilon=4.0, random_state=0)
    plan = booster.spec(DOMAIN, 10)
    assert booster.fit(X, y).forest_.about["n_rows"] == 10 and booster.forest_.trees.n_trees == plan.n_trees


def test_as_published_a_row_is_a_person():
    X, y = table()
    model = RandomDecisionForestClassifier(mode="as_published", domain=DOMAIN, random_state=0)
    other = RandomDecisionForestClassifier(mode="as_published", domain=domain_of(2), random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        values = model.fit(X, y).forest_.leaves.noisy_counts, other.fit(X, y).forest_.leaves.noisy_counts
    assert np.array_equal(*values)


# ---------------------------------------------------------------- each row twice

METAMORPHIC = tuple(name for name in OF_PERSONS if VARIANTS[name][1].get("n_jobs") is None)
CHEAP = (
    "majority label, scale",
    "random decision, scale",
    "JPW, scale",
    "RF-L, scale",
    "RF-E, scale",
    "multinomial, scale",
    "Friedman-Schuster, scale",
    "boosted, scale",
    "booster, scale",
    "booster, δ",
)


def once_and_twice(domain: Domain) -> tuple[EncodedTable, EncodedTable]:
    """Return two tables: rows of persons with 1, 2 or 4 rows, and each of these rows twice, in another order.

    All weights are powers of 2, so half of a weight is exact.
    """
    person = np.repeat(np.arange(90), 2 ** (np.arange(90) % 3))
    X, y = random_rows(len(person), domain.n_classes, 3)
    X["id"] = person
    twice = np.random.default_rng(0).permutation(np.tile(np.arange(len(person)), 2))
    return read_rows(domain, X, y), read_rows(domain, X.iloc[twice].reset_index(drop=True), y[twice])


def outcome(model: ForestClassifier, domain: Domain, rows: EncodedTable) -> tuple[str, list]:
    """Return the file of a fit, and all numbers of its trace if the forest has one."""
    if not isinstance(model, DataDependentClassifier):
        return model.refitter(domain, rows)().to_json(uncertified=True), []
    encoded = model.encode(domain, rows.codes, rows.y, rows.ids, n_given=rows.n_given, units=rows.units)
    trace = Trace()
    forest = model.fit_encoded(domain, encoded, trace=trace)
    draws = [[*tree.probability, *tree.chance, *tree.gain, np.array(tree.alpha)] for tree in trace.trees]
    return forest.to_json(uncertified=True), [trace.counts, trace.labels, *chain(*draws)]


@pytest.mark.parametrize(
    "name, relation",
    [
        pytest.param(name, relation, marks=() if name in CHEAP else pytest.mark.slow)
        for name in METAMORPHIC
        for relation in NEIGHBORS
    ],
)
def test_a_table_with_each_row_twice_gives_the_same_forest(name, relation):
    """If each row is there twice, with half the weight, then counts, scales, splits, draws and leaves are the same."""
    kind, settings = VARIANTS[name]
    settings = {**settings, "neighbors": relation, "random_state": 0, "epsilon": 8.0}
    if kind is BoostedForestClassifier:
        settings["n_estimators"] = 1  # in later trees, boosting weights are rounded, so halves are not exact
    domain = replace(domain_of(3), unit="id")
    model = kind(**{**settings, **({"n_bound": 100} if "n_bound" in settings else {})})
    once, twice = (outcome(model, domain, rows) for rows in once_and_twice(domain))
    assert once[0] == twice[0]
    assert len(once[1]) == len(twice[1]) and all(map(np.array_equal, once[1], twice[1]))


# ---------------------------------------------------------------- the width of the choice of splits


@pytest.fixture
def choices(monkeypatch) -> list[tuple[int, int, int]]:
    """Record for each draw of splits its number of nodes, its sensitivity, and its argument `nodes`."""
    recorded, choose = [], selection.choose

    def recording(scores, allowed, sensitivity, *args, nodes=1, **more):
        recorded.append((len(scores), sensitivity, nodes))
        return choose(scores, allowed, sensitivity, *args, nodes=nodes, **more)

    monkeypatch.setattr(selection, "choose", recording)
    return recorded


@pytest.mark.parametrize("relation", NEIGHBORS)
@pytest.mark.parametrize("criterion", ["max", "gini", "entropy"])
def test_splits_of_a_tree_are_drawn_with_the_width_of_a_person(criterion, relation, choices):
    X, y = random_rows(200, 5, 0)
    domain = replace(domain_of(5), unit="id")
    model = FriedmanSchusterClassifier(
        criterion=criterion, n_bound=90, domain=domain, neighbors=relation, max_depth=4, random_state=0
    )
    model.fit(X.assign(id=np.arange(200) % 80), y)
    bound = 90 if relation == "add-remove" else 80
    assert choices == [
        (2**level, unit_sensitivity(criterion, bound, level, 5), nodes_of_unit(level)) for level in range(4)
    ]


@pytest.mark.parametrize("partition", ["independent", "shared"])
def test_features_and_values_are_drawn_with_the_width_of_a_person(partition, choices):
    X, y = table(200, 80)
    model = MultinomialForestClassifier(n_estimators=2, partition=partition, domain=DOMAIN, max_depth=3, random_state=0)
    model.fit(X, y)
    of_tree = [(2**level, unit_sensitivity("gini", 1, level), nodes_of_unit(level)) for level in (0, 0, 1, 1, 2, 2)]
    assert choices == of_tree * 2


@pytest.mark.parametrize("relation", NEIGHBORS)
@pytest.mark.parametrize("alpha", [(1.0, 0.5, 0.0), "schedule", "noisy"])
def test_splits_of_a_boosted_tree_are_drawn_with_the_width_of_a_person(alpha, relation, choices):
    """Earlier trees are public, and they bound the boosting weight of each person in the next tree."""
    X, y = table(200, 80)
    model = BoostedForestClassifier(
        n_estimators=3, max_depth=3, alpha=alpha, n_bound=90, domain=DOMAIN, neighbors=relation, random_state=0
    )
    rows = read_rows(DOMAIN, X, y)
    trace = Trace()
    encoded = model.encode(DOMAIN, rows.codes, rows.y, rows.ids, n_given=rows.n_given, units=rows.units)
    forest = model.fit_encoded(DOMAIN, encoded, trace=trace)
    reach = np.r_[0, np.abs(forest.leaves.leaf_values.reshape(3, -1)).max(axis=1).cumsum()]
    bounds = [min(1_024, math.ceil(1_024 * float(m_alpha(1.0).inverse_link(r)))) for r in reach[:3]]
    assert bounds[0] == 512 < bounds[1]
    assert choices == [
        (
            2**level,
            unit_sensitivity(
                "m-alpha",
                90 if relation == "add-remove" else rows.n_given,
                level,
                alpha=round(1_024 * trace.trees[tree].alpha[level]),
                weight=bounds[tree],
            ),
            nodes_of_unit(level),
        )
        for tree in range(3)
        for level in range(3)
    ]
    if alpha == "schedule":
        assert trace.trees[1].alpha == [round(1_024 * 0.7**level) / 1_024 for level in range(3)]


# ---------------------------------------------------------------- scikit-learn


def test_groups_are_routed_to_the_fit_and_to_the_splitter():
    """`cross_val_score` passes the persons' identifiers to each fit, and to `GroupKFold`, which splits by person."""
    X, y = table(240, 40)
    groups = X.pop("id").to_numpy()
    parameters = list(inspect.signature(MajorityLabelForestClassifier.fit).parameters)
    assert parameters == ["self", "X", "y", "groups", "account"]
    with sklearn.config_context(enable_metadata_routing=True):
        for kind in (MajorityLabelForestClassifier, FriedmanSchusterClassifier, RandomTreeBoosterClassifier):
            model = kind(domain=DOMAIN, random_state=0, max_depth=2).set_fit_request(groups=True)
            scores = cross_val_score(model, X, y, params={"groups": groups}, cv=GroupKFold(4))
            folds = GroupKFold(4).split(X, y, groups)
            expected = [
                model.fit(X.iloc[train], y[train], groups=groups[train]).score(X.iloc[test], y[test])
                for train, test in folds
            ]
            assert scores.tolist() == expected
