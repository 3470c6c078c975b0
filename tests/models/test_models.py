"""The five estimators with random structure: releases, certificates, and fits with every choice."""

import itertools
import math
import re
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

from dpforest import (
    Domain,
    Feature,
    JagannathanForestClassifier,
    MajorityLabelForestClassifier,
    PrivacyLeakWarning,
    RandomDecisionForestClassifier,
    RandomForestExponentialClassifier,
    RandomForestLaplaceClassifier,
    ReleasedForest,
)
from dpforest.models.depth_rules import fletcher_islam_depth
from dpforest.privacy.rationals import float_up
from dpforest.trees import naive, routing
from dpforest.trees.forest import CuratorForest
from dpforest.trees.layout import MULTIWAY
from dpforest.trees.random_trees import grow_random_trees
from tests.conftest import public_domain, random_codes
from tests.models.random_forests import ALL, DOMAIN, WITH_COUNTS, X, Y, every_estimator, fit, saved, table

WITHOUT_QUERIES = {"max_depth": 4, "scale_share": "public"}  # with these settings, no query runs before trees grow

# ---------------------------------------------------------------- every choice of parameters


def assert_works(model):
    rows, labels = table()
    model.fit(rows, labels)
    held_out, _ = table(30, seed=7)
    predicted = model.predict(held_out)
    assert set(predicted) <= {0, 1, 2}
    shares = model.predict_proba(held_out)
    assert shares.shape == (30, 3)
    assert np.allclose(shares.sum(axis=1), 1)
    leaves = model.apply(held_out)
    assert np.array_equal(leaves.T, naive.leaves_of_rows(model.forest_.trees, DOMAIN.encode(held_out)))
    if getattr(model, "voting", "majority") != "probabilistic":
        assert np.array_equal(predicted, shares.argmax(axis=1))
    certified = model.mode == "certified" and model.epsilon is not None
    assert model.certificate_.certified == certified
    assert isinstance(model.forest_, ReleasedForest if certified else CuratorForest)
    if certified:
        assert model.ledger_.spent <= Fraction(str(model.epsilon))


MECHANISMS = {
    "certified": (None, "permute-and-flip", "exponential", "global-01"),
    "as_published": (None, "exponential", "global-01", "smooth-sensitivity", "smooth-sensitivity-clamped"),
}
PARTITIONS = {
    "certified": (None, "independent", "shared"),
    "as_published": (None, "independent", "shared", "blocks"),
}
LABEL_CHOICES = [
    (mode, mechanism, partition)
    for mode in MECHANISMS
    for mechanism, partition in itertools.product(MECHANISMS[mode], PARTITIONS[mode])
]


@pytest.mark.parametrize(("mode", "mechanism", "partition"), LABEL_CHOICES)
@pytest.mark.parametrize("neighbors", ["add-remove", "replace-one"])
def test_every_leaf_mechanism_works_with_every_partition(mode, mechanism, partition, neighbors):
    assert_works(
        MajorityLabelForestClassifier(
            domain=DOMAIN,
            n_estimators=3,
            mode=mode,
            leaf_mechanism=mechanism,
            partition=partition,
            neighbors=neighbors,
        )
    )


@pytest.mark.parametrize("categorical", ["multiway", "one-vs-rest", "ordered"])
@pytest.mark.parametrize("depth", ["published", "theorem", "half", "full", 0, 1, 15])
def test_every_depth_rule_works_with_every_test_on_categories(depth, categorical):
    model = MajorityLabelForestClassifier(
        domain=DOMAIN, n_estimators=2, max_depth=depth, categorical=categorical, max_leaves=64, epsilon=None
    )
    if depth == 15 and categorical != "multiway":  # complete trees have 2^depth leaves, even above `max_leaves`
        model.set_params(max_depth=9)
    assert_works(model)
    trees = model.forest_.trees
    assert trees.depth == (fletcher_islam_depth(2, 2, depth) if isinstance(depth, str) else model.max_depth)
    if categorical == "multiway":
        assert np.diff(trees.leaf_start).max() <= 64


@pytest.mark.parametrize("voting", ["log-odds", "threshold", "majority", "probabilistic"])
@pytest.mark.parametrize("rule", [None, "clamp", "paper"])
@pytest.mark.parametrize("partition", ["shared", "independent"])
@pytest.mark.parametrize("mode", ["certified", "as_published"])
def test_every_vote_works_with_every_rule_for_negative_counts(voting, rule, partition, mode):
    model = RandomDecisionForestClassifier(
        domain=DOMAIN, n_estimators=3, max_depth=3, voting=voting, negative_rule=rule, partition=partition, mode=mode
    )
    if (voting, rule) == ("log-odds", "paper"):
        with pytest.raises(ValueError, match="negative_rule='paper' has no effect with voting='log-odds'"):
            model.fit(*table())
        return
    assert_works(model)
    assert model.forest_.leaves.negative_rule == (rule or ("paper" if mode == "as_published" else "clamp"))
    assert model.forest_.voting == voting
    assert model.forest_.leaves.noisy_counts.dtype == (np.float64 if mode == "as_published" else np.int64)


@pytest.mark.parametrize("estimator", [RandomForestLaplaceClassifier, RandomForestExponentialClassifier])
@pytest.mark.parametrize("budget", ["fair", "paper"])
@pytest.mark.parametrize("mode", ["certified", "as_published"])
def test_every_budget_of_the_two_random_forests_works(estimator, budget, mode):
    assert_works(estimator(domain=DOMAIN, n_estimators=3, max_depth=3, budget=budget, mode=mode, n_quantiles=4))


@pytest.mark.parametrize("parameters", [{}, {"n_bound": 1000}, {"max_depth": 3}, {"mode": "as_published"}])
def test_jagannathans_forest_works_with_its_settings(parameters):
    assert_works(JagannathanForestClassifier(domain=DOMAIN, n_estimators=3, **parameters))


@every_estimator
def test_the_nonprivate_model_without_privacy(estimator):
    """Without privacy, there is no noise, so the seed of the noise has no effect. Every tree counts every row.

    The forest cannot be exported.
    """
    assert_works(estimator(domain=DOMAIN, n_estimators=3, epsilon=None))
    one, two = (fit(estimator, epsilon=None, random_state=seed) for seed in (None, 5))
    assert np.array_equal(one.predict_proba(X), two.predict_proba(X))
    assert one.certificate_.epsilon is None
    assert one.certificate_.true_epsilon == math.inf
    assert not one.ledger_.closed
    leaves = naive.leaves_of_rows(one.forest_.trees, DOMAIN.encode(X))
    counts = np.zeros((one.forest_.trees.n_leaves, 3), int)
    np.add.at(counts, (leaves, np.broadcast_to(Y, leaves.shape)), 1)
    if estimator in WITH_COUNTS:
        assert np.array_equal(one.forest_.leaves.noisy_counts, counts)
    else:
        full = counts.any(axis=1)
        assert np.array_equal(one.forest_.leaves.labels[full], counts.argmax(axis=1)[full])


# Parameters whose default is the paper's choice in the published mode, and this project's choice in the certified mode.
AS_PUBLISHED = {
    MajorityLabelForestClassifier: {"categorical": "multiway"},
    RandomDecisionForestClassifier: {"negative_rule": "clamp", "voting": "threshold"},
}


@pytest.mark.parametrize("estimator", [kind for kind in ALL if kind is not JagannathanForestClassifier])
@pytest.mark.parametrize("mode", ["certified", "as_published"])
def test_a_nonprivate_model_is_the_same_in_both_modes(estimator, mode):
    parameters = {"max_depth": 4, **AS_PUBLISHED.get(estimator, {})}
    model = fit(estimator, epsilon=None, mode=mode, **parameters)
    assert np.array_equal(model.predict(X), fit(estimator, epsilon=None, **parameters).predict(X))


def test_jpws_nonprivate_model_counts_the_same_in_both_modes():
    """Without categorical attributes, JPW's exact counts are equal in both modes; only the voting rule differs."""
    domain = public_domain(None, None, n_classes=3)
    one, two = (
        JagannathanForestClassifier(domain=domain, n_estimators=4, max_depth=4, epsilon=None, mode=mode)
        .fit(X[["f0", "f2"]].set_axis(["f0", "f1"], axis=1), Y)
        .forest_
        for mode in ("certified", "as_published")
    )
    assert np.array_equal(one.leaves.noisy_counts, two.leaves.noisy_counts)
    assert (one.voting, two.voting) == ("log-odds", "threshold")


@every_estimator
def test_each_forest_beats_the_majority_class(estimator):
    """Each forest beats guessing the most frequent class, which has half of the rows.

    Two attributes determine the class of 93 % of the rows.
    """
    rows, labels = table(3000)
    held_out, truth = table(500, seed=3)
    model = estimator(domain=DOMAIN, epsilon=20.0, n_estimators=30, random_state=0)
    assert model.fit(rows, labels).score(held_out, truth) > 0.75


# ---------------------------------------------------------------- certificates and ledgers


@every_estimator
@pytest.mark.parametrize("neighbors", ["add-remove", "replace-one"])
@pytest.mark.parametrize("epsilon", [1.0, 0.1, Fraction(1, 7), 3, np.float64(0.3), 1e-4, 1e4])
def test_a_public_domain_and_fresh_noise_are_certified_and_spend_all_of_epsilon(estimator, neighbors, epsilon):
    model = fit(estimator, epsilon=epsilon, neighbors=neighbors)
    exact = Fraction(str(epsilon))
    assert model.certificate_.certified
    assert model.certificate_.reasons == ()
    assert model.certificate_.neighbors == neighbors
    assert model.certificate_.epsilon == exact
    assert model.certificate_.true_epsilon == pytest.approx(float(exact))
    assert model.ledger_.closed
    assert model.ledger_.spent == exact == model.ledger_.epsilon
    assert model.released_ is model.forest_
    assert "made up" in " ".join(model.certificate_.assumptions)


@every_estimator
@pytest.mark.parametrize("mode", ["certified", "as_published"])
def test_a_preview_without_rows_equals_the_certificate_of_the_fit(estimator, mode):
    """A preview for the number of rows that the fit used (released or public) equals the certificate of the fit."""
    model = fit(estimator, structure_seed=3, mode=mode)
    known = model.forest_.about.get("n_rows", len(Y))
    assert (known != len(Y)) <= (mode == "certified")
    certificate, ledger = clone(model).preview(DOMAIN, known)
    assert certificate == model.certificate_
    if mode == "certified":
        assert ledger == model.ledger_


def spent_before(model) -> Fraction:
    """Return what the fit paid before it queried the leaves: for the number of rows, and for the scale."""
    before = [e for e in model.ledger_.entries if e.what.startswith(("number of rows", "scale of numeric"))]
    assert len(before) == len(model.ledger_.entries) - 1
    return sum((e.epsilon for e in before), Fraction(0))


def test_global_01_costs_half_under_add_remove():
    """Under add-remove, the rule global-01 spends half of the budget that is left for the leaves."""
    for public in ({}, WITHOUT_QUERIES):
        model = fit(MajorityLabelForestClassifier, leaf_mechanism="global-01", epsilon=0.5, **public)
        before = spent_before(model)
        assert (before == 0) == bool(public)
        assert model.ledger_.spent == before + (Fraction(1, 2) - before) / 2
        assert model.certificate_.true_epsilon == float_up(model.ledger_.spent)
    assert fit(
        MajorityLabelForestClassifier, leaf_mechanism="global-01", epsilon=0.5, neighbors="replace-one"
    ).ledger_.spent == Fraction(1, 2)


@pytest.mark.parametrize("estimator", [RandomForestLaplaceClassifier, RandomForestExponentialClassifier])
@pytest.mark.parametrize("depth", [0, 1, 4])
def test_the_papers_budget_spends_a_leafs_share_only(estimator, depth):
    """The paper divides ε into 2^depth shares, one for each leaf. Leaves are disjoint, so they cost only one share."""
    for public in ({}, {"scale_share": "public"}):
        fair = fit(estimator, epsilon=0.3, max_depth=depth, **public)
        paper = fit(estimator, epsilon=0.3, max_depth=depth, budget="paper", **public)
        before = spent_before(paper)
        assert (before == 0) == bool(public)
        assert fair.ledger_.spent == Fraction(3, 10)
        assert paper.ledger_.spent == before + (Fraction(3, 10) - before) / 2**depth
        assert paper.certificate_.true_epsilon == pytest.approx(float(paper.ledger_.spent))
        assert paper.certificate_.epsilon == Fraction(3, 10)


@every_estimator
def test_a_published_forest_stays_with_the_curator(estimator):
    model = fit(estimator, mode="as_published")
    assert isinstance(model.forest_, CuratorForest)
    assert not hasattr(model.forest_, "to_json")
    assert not model.certificate_.certified
    assert model.certificate_.epsilon == 1
    assert model.certificate_.reasons
    assert all(reason.endswith(".") for reason in model.certificate_.reasons)
    assert model.ledger_.epsilon is None
    assert model.ledger_.spent == 0
    with pytest.raises(AttributeError, match="for the curator only"):
        _ = model.released_


@pytest.mark.parametrize("mechanism", ["smooth-sensitivity", "smooth-sensitivity-clamped", "permute-and-flip"])
def test_the_loss_in_ideal_numbers_is_reported_with_the_nominal_epsilon(mechanism):
    model = fit(MajorityLabelForestClassifier, mode="as_published", leaf_mechanism=mechanism)
    assert model.certificate_.true_epsilon == math.inf
    reasons = " ".join(model.certificate_.reasons)
    ideal = re.search(r"In ideal real numbers the loss would be at most ([0-9.]*), not ε = 1;", reasons)
    if mechanism == "smooth-sensitivity":
        assert ideal is None
    elif mechanism == "smooth-sensitivity-clamped":
        # A tree with two classes would lose 22.7. One more row changes all four blocks of rows, so four trees.
        assert 4 * 20 < float(ideal[1]) < 120
    else:
        assert ideal[1] == "4"  # each tree keeps ε, but one row changes all four blocks of rows
    assert "blocks" in reasons


@every_estimator
def test_a_domain_read_from_the_table_warns_and_is_not_certified(estimator):
    rows, labels = table()
    model = estimator(n_estimators=3)
    with pytest.warns(PrivacyLeakWarning, match="The bounds of 'f0' were read from the data.*and 4 more"):
        model.fit(rows, labels)
    certificate = model.certificate_
    assert not certificate.certified
    assert len(certificate.reasons) == 5  # four attributes and the classes
    assert "The classes were read from the data." in certificate.reasons
    assert model.domain_.names == ("f0", "f1", "f2", "f3")
    assert set(model.predict(rows)) <= {0, 1, 2}


def test_the_nonprivate_model_does_not_warn_as_it_promises_nothing():
    rows, labels = table()
    # No warning may appear; pytest turns warnings into errors.
    model = MajorityLabelForestClassifier(n_estimators=3, epsilon=None).fit(rows, labels)
    assert not model.certificate_.certified


def test_one_part_of_the_domain_read_from_the_rows_refuses_certification():
    rows, labels = table()
    leaking = Feature("f2", "numeric", 0.0, 1.0, source="data", source_note="read")
    features = tuple(leaking if f.name == "f2" else f for f in DOMAIN.features)
    half_read = Domain(features, DOMAIN.classes, "y", "documented", "made up")
    for domain, reason in (
        (half_read, "The bounds of 'f2' were read from the data: read."),
        (Domain(DOMAIN.features, DOMAIN.classes, "y"), "The classes of 'y' were read from the data."),
        (Domain(DOMAIN.features, (), "y"), "The classes of 'y' were read from the data."),
    ):
        model = MajorityLabelForestClassifier(n_estimators=3, domain=domain)
        with pytest.warns(PrivacyLeakWarning, match="read from the data"):
            model.fit(rows, labels)
        assert model.certificate_.reasons == (reason,)
        assert model.classes_.tolist() == [0, 1, 2]


@every_estimator
def test_a_seed_of_the_noise_makes_a_demonstration(estimator):
    model = fit(estimator, random_state=0)
    assert not model.certificate_.certified
    assert len(model.certificate_.reasons) == 1
    assert "random_state" in model.certificate_.reasons[0]
    assert model.ledger_.spent == 1
    assert np.array_equal(model.predict_proba(X), fit(estimator, random_state=0).predict_proba(X))
    assert not np.array_equal(model.predict_proba(X), fit(estimator, random_state=1).predict_proba(X))


def test_a_public_bound_on_the_rows_is_an_assumption():
    model = fit(JagannathanForestClassifier, n_bound=1000)
    assert any("1,000 rows" in assumption for assumption in model.certificate_.assumptions)
    assert model.certificate_.certified


# ---------------------------------------------------------------- noise


@pytest.mark.parametrize("random_state", [None, 3])
def test_a_huge_epsilon_gives_the_counts_of_the_nonprivate_model(random_state):
    """Noise of scale 4e-4 is zero except with probability exp(-2500)."""
    for estimator in WITH_COUNTS:
        noisy = fit(estimator, epsilon=10_000, random_state=random_state, **WITHOUT_QUERIES)
        nonprivate = fit(estimator, epsilon=None, **WITHOUT_QUERIES)
        assert np.array_equal(noisy.forest_.leaves.noisy_counts, nonprivate.forest_.leaves.noisy_counts)
        assert np.array_equal(noisy.predict(X), nonprivate.predict(X))


@pytest.mark.parametrize("random_state", [None, 3])
@pytest.mark.parametrize("neighbors", ["add-remove", "replace-one"])
@pytest.mark.parametrize("mechanism", ["permute-and-flip", "exponential", "global-01"])
def test_a_huge_epsilon_gives_the_majority_labels(mechanism, neighbors, random_state):
    """At a huge ε, leaves release their most frequent class.

    The test checks leaves without a tie. A leaf whose most frequent class leads by one row flips with probability at
    most exp(-1250).
    """
    model = fit(
        MajorityLabelForestClassifier,
        epsilon=10_000,
        leaf_mechanism=mechanism,
        partition="shared",
        neighbors=neighbors,
        random_state=random_state,
    )
    leaves = naive.leaves_of_rows(model.forest_.trees, DOMAIN.encode(X))
    counts = np.zeros((model.forest_.trees.n_leaves, 3), int)
    np.add.at(counts, (leaves, np.broadcast_to(Y, leaves.shape)), 1)
    ordered = np.sort(counts, axis=1)
    clear = ordered[:, 2] > ordered[:, 1]
    assert clear.sum() > 15
    assert np.array_equal(model.forest_.leaves.labels[clear], counts.argmax(axis=1)[clear])
    tied = (ordered[:, 2] == ordered[:, 1]) & (ordered[:, 2] > 0)
    assert tied.any()
    assert (counts[np.arange(len(counts)), model.forest_.leaves.labels][tied] == ordered[tied, 2]).all()


def test_a_tiny_epsilon_drowns_the_counts():
    """Four trees at ε = 1e-4 have noise of scale 40,000, so one of 96 counts exceeds 10,000 almost surely."""
    noisy = fit(RandomDecisionForestClassifier, epsilon=1e-4, max_depth=3).forest_.leaves.noisy_counts
    assert noisy.size == 96
    assert np.abs(noisy).max() > 10_000  # probability that none does: (1 - exp(-1/4))^96 < 1e-62


def test_each_row_is_in_one_tree_or_in_all_of_them():
    for partition, in_trees in (("independent", 1), ("shared", 4)):
        model = fit(RandomDecisionForestClassifier, partition=partition, epsilon=10_000)
        assert model.forest_.leaves.noisy_counts.sum() == in_trees * len(X)


def test_structure_does_not_depend_on_the_rows():
    other, labels = table(50, seed=11)
    for estimator in ALL:
        one = fit(estimator, structure_seed=2, **WITHOUT_QUERIES).forest_.trees
        two = estimator(domain=DOMAIN, n_estimators=4, structure_seed=2, epsilon=None, **WITHOUT_QUERIES)
        two = two.fit(other, labels).forest_.trees
        for part in ("kind", "feature", "threshold", "first_child", "tree_start"):
            assert np.array_equal(getattr(one, part), getattr(two, part))


# ---------------------------------------------------------------- formats of labels and tables


@every_estimator
@pytest.mark.parametrize(
    "names",
    [("lost", "kept", "new"), (-5, 3, 40), (2, 0, 1), (False, True), ("10", "9", "8"), (0.5, 1.5, 2.25)],
)
def test_labels_may_be_of_any_type(estimator, names):
    rows, labels = table()
    names = names if len(names) == 3 else (*names, names[1])
    y = np.asarray(names)[labels]
    classes = tuple(dict.fromkeys(names))
    domain = Domain(DOMAIN.features, classes, "y", "documented", "made up")
    model = estimator(domain=domain, n_estimators=4, epsilon=50.0, random_state=0).fit(rows, y)
    assert model.classes_.tolist() == list(classes)
    predicted = model.predict(rows)
    assert predicted.dtype.kind == y.dtype.kind
    assert set(predicted.tolist()) <= set(y.tolist())
    assert (predicted == y).mean() > 0.55  # with classes in the wrong order, a fifth of the predictions would be right


@pytest.mark.filterwarnings("ignore::dpforest.PrivacyLeakWarning")
@pytest.mark.parametrize("names", [("b", "a", "c"), (7, -2, 1000), (True, False)])
def test_classes_read_from_the_table_are_sorted(names):
    rows, labels = table()
    names = names if len(names) == 3 else (*names, names[1])
    model = MajorityLabelForestClassifier(n_estimators=3).fit(rows, np.asarray(names)[labels])
    assert model.classes_.tolist() == sorted(set(names))


@every_estimator
def test_tables_and_arrays_are_the_same(estimator):
    rows, labels = table()
    one = estimator(domain=DOMAIN, n_estimators=4, random_state=1).fit(rows, labels)
    two = estimator(domain=DOMAIN, n_estimators=4, random_state=1).fit(rows.to_numpy(), labels)
    assert saved(one.released_) == saved(two.released_)
    assert np.array_equal(one.predict(rows), two.predict(rows.to_numpy()))
    assert one.n_features_in_ == two.n_features_in_ == 4
    assert one.feature_names_in_.tolist() == list(rows.columns)
    assert not hasattr(two, "feature_names_in_")


@every_estimator
def test_labels_may_be_a_column_or_a_list(estimator):
    rows, labels = table()
    backwards = pd.Series(labels, index=rows.index[::-1])  # Labels match rows by position, as in scikit-learn.
    texts = [
        saved(estimator(domain=DOMAIN, n_estimators=3, random_state=1).fit(rows, y).released_)
        for y in (labels, labels.tolist(), pd.Series(labels), backwards, labels.astype(str))
    ]
    assert len(set(texts)) == 1


def test_a_private_forest_of_zero_rows_and_of_one_row():
    """Under add-remove an empty table is valid, and must be indistinguishable from a table with one row."""
    rows, labels = table()
    for n in (0, 1):
        model = MajorityLabelForestClassifier(domain=DOMAIN, n_estimators=3).fit(rows[:n], labels[:n])
        assert model.certificate_.certified
        assert len(model.forest_.leaves.labels) == model.forest_.trees.n_leaves
    assert len(model.predict(rows[:0])) == 0


@pytest.mark.parametrize("estimator", ALL)
@pytest.mark.parametrize("n", [1, 2, 3, 120])
def test_two_threads_release_what_one_does(estimator, n):
    rows, labels = table(n)
    one, two = (
        estimator(domain=DOMAIN, n_estimators=4, random_state=6, n_jobs=n_jobs).fit(rows, labels) for n_jobs in (1, 2)
    )
    assert saved(one.released_) == saved(two.released_)
    for ask in ("predict", "predict_proba", "apply"):
        assert np.array_equal(getattr(one, ask)(X), getattr(two, ask)(X))


def test_missing_cells_are_a_separate_category_if_the_domain_states_this():
    features = (
        Feature("f0", "numeric", 0.0, 1.0, source="documented", source_note="made up", missing="category"),
        Feature(
            "f1", "categorical", categories=("c0", "c1"), source="documented", source_note="made up", missing="category"
        ),
    )
    domain = Domain(features, (0, 1), "y", "documented", "made up")
    rng = np.random.default_rng(0)
    rows = pd.DataFrame({"f0": rng.random(200), "f1": rng.choice(["c0", "c1"], 200)})
    labels = rng.integers(0, 2, 200)
    rows.loc[labels == 1, "f0"] = np.nan  # whether the cell is missing determines the class
    for categorical in ("multiway", "one-vs-rest", "ordered"):
        model = MajorityLabelForestClassifier(
            domain=domain, epsilon=None, n_estimators=25, max_depth=5, categorical=categorical
        )
        assert model.fit(rows, labels).score(rows, labels) > 0.95
    unlisted = rows.assign(f1="something else")
    assert np.array_equal(model.apply(unlisted), model.apply(rows.assign(f1=None)))


def test_attributes_with_two_categories_in_multiway_trees():
    """Trees whose multiway tests all have two branches look like complete trees, but kernels read children instead."""
    domain = public_domain(2, None, 2, 2)
    codes = random_codes(domain, 300, seed=0)
    y = (codes[:, 0] ^ codes[:, 2]).astype(np.int32)
    for depth, seed in itertools.product((1, 2, 3, 7), range(6)):
        trees = grow_random_trees(domain, n_trees=2, depth=depth, seed=seed)
        assert trees.is_complete == (trees.kind != MULTIWAY).all()  # kernels compute children of complete trees only
        counts = routing.count_rows(trees, domain, codes, y, n_classes=2)
        assert np.array_equal(counts, naive.count_rows(trees, codes, y, n_classes=2))
