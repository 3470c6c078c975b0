"""Queries before trees grow: rules, charges, and the values that a fit may use."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from fractions import Fraction
from itertools import product

import numpy as np
import pandas as pd
import pytest
from scipy.stats import chi2

from dpforest import (
    BoostedForestClassifier,
    FriedmanSchusterClassifier,
    JagannathanForestClassifier,
    MajorityLabelForestClassifier,
    MultinomialForestClassifier,
    RandomDecisionForestClassifier,
    RandomForestExponentialClassifier,
    RandomForestLaplaceClassifier,
)
from dpforest.models.preparation import GREEDY, RANDOM_STRUCTURE, Preparation, release_scale, release_size
from dpforest.privacy import samplers
from dpforest.privacy.ledger import BudgetError, Ledger
from dpforest.privacy.randomness import DemoSource, SecretSource
from dpforest.trees.released_scale import nested_counts
from tests.conftest import public_domain, random_codes

RANDOM = (
    MajorityLabelForestClassifier,
    RandomDecisionForestClassifier,
    JagannathanForestClassifier,
    RandomForestLaplaceClassifier,
    RandomForestExponentialClassifier,
)
ALL = (*RANDOM, BoostedForestClassifier, MultinomialForestClassifier, FriedmanSchusterClassifier)
DOMAIN = public_domain(None, 3, None, scale="auto")


def table(n: int = 3_000, seed: int = 0) -> tuple[pd.DataFrame, np.ndarray]:
    codes = random_codes(DOMAIN, n, seed)
    X = np.column_stack([codes[:, 0] / 65_536, codes[:, 1], codes[:, 2] / 65_536])
    frame = {
        f.name: [f.categories[int(v)] for v in column] if f.categories else column
        for f, column in zip(DOMAIN.features, X.T, strict=True)
    }
    return pd.DataFrame(frame), (X[:, 0] > 0.3).astype(int)


def forest(kind, **settings):
    small = {"max_depth": 3, **({} if kind is FriedmanSchusterClassifier else {"n_estimators": 3})}
    return kind(**{"domain": DOMAIN, **small, **settings})


@contextmanager
def record_questions() -> Iterator[list[tuple[int, ...]]]:
    """Yield a list that collects the shapes of all tables that receive noise. The noise is the same as otherwise."""
    asked, real = list[tuple[int, ...]](), samplers.draw_noisy_counts
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(samplers, "draw_noisy_counts", lambda c, *rest: asked.append(np.shape(c)) or real(c, *rest))
        yield asked


@pytest.mark.parametrize(
    ("n", "shares"),
    [
        (1_000, [(0.15, 0.07), (0, 0), (0, 0)]),
        (4_000, [(0.15, 0.07), (0.15, 0.07), (0.15, 0)]),
        (26_000, [(0.0288, 0.0288), (0.1154, 0.07), (0.15, 0.07)]),
    ],
)
def test_shares_of_the_budget_for_the_scale(n, shares):
    """Shares of the budget for the scale match stored values for 5, 20 and 57 numeric attributes at ε = 1."""
    computed = [
        tuple(round(float(rule.share(n, Fraction(1), m)), 4) for rule in (RANDOM_STRUCTURE, GREEDY))
        for m in (5, 20, 57)
    ]
    assert computed == shares
    assert RANDOM_STRUCTURE.share(n, Fraction(1), 0) == 0


@pytest.mark.parametrize("neighbors", ["add-remove", "replace-one"])
@pytest.mark.parametrize("kind", ALL)
def test_every_charge_adds_up_to_epsilon(kind, neighbors):
    """The charges of a fit add up to ε exactly, and so do those of its preview. The scale has sensitivity 6."""
    X, y = table()
    model = forest(kind, epsilon=1, scale_share="auto", neighbors=neighbors, random_state=0).fit(X, y)
    _, preview = model.preview(DOMAIN, len(y))
    for ledger in (model.ledger_, preview):
        assert ledger.closed and ledger.spent == 1
        names = [entry.what for entry in ledger.entries]
        assert names[0].startswith("number of rows") == (neighbors == "add-remove")
        entry = next(e for e in ledger.entries if e.what.startswith("scale of"))
        assert (entry.sensitivity, entry.times) == (6, 1)
        assert 0 < entry.epsilon <= (Fraction(15, 100) if kind in RANDOM else Fraction(7, 100))
    if neighbors == "add-remove":
        assert next(iter(model.ledger_.entries)).epsilon == Fraction(1, 50)


@pytest.mark.parametrize("kind", ALL)
def test_queries_that_are_skipped_cost_nothing(kind):
    X, y = table(400)
    for settings in ({"scale_share": "public"}, {"scale_share": "auto", "epsilon": 0.02, "size": 400}):
        entries = forest(kind, random_state=0, **settings).fit(X, y).ledger_.entries
        assert not [e for e in entries if e.what.startswith(("number of rows", "scale of"))]
    plain = forest(kind, mode="as_published", random_state=0, scale_share="auto").fit(X, y)
    other = forest(kind, mode="as_published", random_state=0, scale_share="public").fit(X, y)
    assert np.array_equal(plain.predict(X), other.predict(X))


@pytest.mark.parametrize("kind", ALL)
def test_a_given_size_is_not_counted(kind):
    """A given size appears on the certificate, and the charges depend on it, not on the exact number of rows."""
    X, y = table()
    model = forest(kind, scale_share="auto", size=2_000, random_state=0).fit(X, y)
    assert not any(e.what == "number of rows" for e in model.ledger_.entries)
    assert model.ledger_.spent == 1
    assert any("about 2,000 rows is public" in a for a in model.certificate_.assumptions)
    less = forest(kind, scale_share="auto", size=2_000, random_state=0).fit(X[:-5], y[:-5])
    assert [e.loss for e in less.ledger_.entries] == [e.loss for e in model.ledger_.entries]


@pytest.mark.parametrize("kind", ALL)
def test_under_replace_one_the_exact_number_of_rows_is_used(kind):
    """Under replace-one, noise may depend on the exact number of rows, so a given size does not replace it."""
    X, y = table(500)
    settings = {"neighbors": "replace-one", "scale_share": "auto", "random_state": 0}
    with_size, plain = (forest(kind, size=s, **settings).fit(X, y) for s in (50, None))
    assert with_size.ledger_.entries == plain.ledger_.entries
    assert with_size.spec(DOMAIN, 500) == plain.spec(DOMAIN, 500)


@pytest.mark.parametrize("kind", ALL)
@pytest.mark.parametrize("value", [0, 1.0, -0.1, "none", True, float("nan"), None])
def test_invalid_shares_are_refused(kind, value):
    X, y = table(50)
    with pytest.raises(ValueError, match="scale_share="):
        forest(kind, scale_share=value).fit(X, y)


@pytest.mark.parametrize("kind", ALL)
def test_trees_split_the_range_where_the_rows_lie(kind):
    """Trees split rows that lie in a sixteenth of a linear range if the scale is released, but not if it is public."""
    rng = np.random.default_rng(1)
    domain = public_domain(None, None)  # on a linear scale
    X = rng.random((4_000, 2)) / 16
    y = (X[:, 0] > 1 / 32).astype(int)
    settings = {"domain": domain, "epsilon": 5, "random_state": 1, "scale_share": 0.1, "size": 4_000}
    deep = {"max_depth": 5} if kind is FriedmanSchusterClassifier else {"max_depth": 5, "n_estimators": 7}
    with_scale = kind(**settings, **deep).fit(X, y).score(X, y)
    without = kind(**{**settings, "scale_share": "public"}, **deep).fit(X, y).score(X, y)
    assert with_scale > 0.75 > without


@pytest.mark.parametrize("neighbors", ["add-remove", "replace-one"])
def test_the_charge_of_the_histograms_is_their_worst_loss(neighbors):
    """The charge equals the worst loss over all pairs of neighboring tables with up to four rows."""
    budget, share = Fraction(1, 2), Fraction(3, 20)
    ledger = Ledger(budget, neighbors)
    rows = 1 if neighbors == "add-remove" else 2
    scale = 3 * rows / (budget * share)
    cells = []
    for counts in product(range(4), repeat=4):
        if sum(counts) <= 3:
            histogram = np.zeros((1, 64), np.int64)
            histogram[0, ::16] = counts
            cells.append((np.array(counts), nested_counts(histogram).ravel()))
    worst = 0.0
    for (a, x), (b, z) in product(cells, repeat=2):
        differ = np.abs(a - b).sum()
        if (neighbors == "add-remove" and differ == 1) or (
            neighbors == "replace-one" and differ == 2 and a.sum() == b.sum()
        ):
            # Two discrete Laplace laws of scale t that are shifted by d differ by a factor of at most e^(|d| / t).
            worst = max(worst, float(np.abs(x - z).sum() / scale))
    release_scale(
        np.zeros((1, 64), np.int64), Preparation(10, scale=share), budget, ledger, DemoSource(1), count_unit=1
    )
    (entry,) = ledger.entries
    assert worst == pytest.approx(float(entry.epsilon)) and entry.epsilon == budget * share


def test_the_size_has_its_law_and_is_never_tiny():
    """The released size follows a discrete Laplace law of scale 1 / (ε / 50) and is at least 50.

    The chi-square test has a false-alarm rate of 1e-6.
    """
    ledgers = [Ledger(Fraction(25), "add-remove") for _ in range(20_000)]
    drawn = np.array([release_size(1_000, Fraction(25), ledger, SecretSource()) for ledger in ledgers]) - 1_000
    assert all(ledger.spent == Fraction(1, 2) for ledger in ledgers[:5])
    places = np.arange(-8, 9)
    pmf = np.exp(-np.abs(places) / 2) * np.tanh(0.25)
    expected = np.append(pmf, 1 - pmf.sum()) * len(drawn)
    observed = np.append([(drawn == z).sum() for z in places], (np.abs(drawn) > 8).sum())
    assert ((observed - expected) ** 2 / expected).sum() < chi2.isf(1e-6, len(places))
    assert release_size(0, Fraction(10**6), Ledger(Fraction(10**6), "add-remove"), SecretSource()) == 50


@pytest.mark.parametrize("neighbors", ["add-remove", "replace-one"])
@pytest.mark.parametrize("kind", ALL)
def test_the_shape_follows_from_public_numbers_of_rows(kind, neighbors):
    """Depth and number of trees follow from the given, public or released number of rows, never from a secret one."""
    X, y = table()
    trees = {} if kind is FriedmanSchusterClassifier else {"n_estimators": "auto"}
    settings = {"domain": DOMAIN, "max_depth": "auto", **trees, "neighbors": neighbors, "random_state": 3}
    model = kind(**settings).fit(X, y)
    assert model.ledger_.spent == 1
    bought = [e for e in model.ledger_.entries if e.what == "number of rows"]
    assert len(bought) == (neighbors == "add-remove")
    remaining = 1 - Fraction(len(bought), 50)
    trees_of_fit = model.forest_.trees
    shapes = {tuple(kind.shape_rule(float(n * remaining), 2, 3)) for n in range(2_000, 4_001, 10)}
    assert (trees_of_fit.n_trees, trees_of_fit.depth) in shapes
    if neighbors == "add-remove":
        with_size = kind(**settings, size=10**6).fit(X, y)
        assert (with_size.forest_.trees.n_trees, with_size.forest_.trees.depth) == kind.shape_rule(1e6, 2, 3)
        assert len(with_size.ledger_.entries) == len(model.ledger_.entries) - 1


@pytest.mark.parametrize("kind", ALL)
def test_a_preview_of_few_rows_uses_the_least_released_number(kind):
    """The released number of rows is at least 50, and a preview assumes at least 50 as well."""
    previews = [kind(domain=DOMAIN, epsilon=5).preview(DOMAIN, n) for n in (0, 3, 50, 400)]
    assert previews[0] == previews[1] == previews[2] != previews[3]


@pytest.mark.parametrize("kind", ALL)
def test_without_privacy_and_as_published_the_shape_costs_nothing(kind):
    X, y = table(300)
    auto = {"max_depth": "auto", **({} if kind is FriedmanSchusterClassifier else {"n_estimators": "auto"})}
    bare = kind(domain=DOMAIN, epsilon=None, **auto).fit(X, y).forest_.trees
    assert (bare.n_trees, bare.depth) == kind.shape_rule(float("inf"), 2, 3)
    automatic, plain = (kind(domain=DOMAIN, mode="as_published", random_state=1, **how).fit(X, y) for how in (auto, {}))
    assert np.array_equal(automatic.predict(X), plain.predict(X))


@pytest.mark.parametrize("kind", RANDOM)
@pytest.mark.parametrize("neighbors", ["add-remove", "replace-one"])
def test_parts_give_the_forest_of_the_whole(kind, neighbors):
    """A fit in parts returns the forest of the whole table bit for bit, by two passes or by copies of the estimator."""
    X, y = table(1_200)
    settings = {"scale_share": "auto", "max_depth": "auto", "n_estimators": "auto", "neighbors": neighbors}
    model = kind(domain=DOMAIN, random_state=5, **settings)
    text = model.fit(X, y).forest_.to_json(uncertified=True)
    parts = [(X[i : i + 500], y[i : i + 500]) for i in range(0, 1_200, 500)]
    assert model.fit_chunks(parts).forest_.to_json(uncertified=True) == text
    by_parts = kind(domain=DOMAIN, random_state=5, **settings)
    with pytest.raises(ValueError, match="call fit_scale"):
        by_parts.partial_counts(*parts[0])
    by_parts.fit_scale(sum(by_parts.partial_scale(*part) for part in parts))
    counts = [by_parts.partial_counts(*part) for part in parts]
    assert by_parts.fit_counts(sum(counts)).forest_.to_json(uncertified=True) == text
    by_parts.set_params(scale_share=0.4)
    with pytest.raises(ValueError, match="call fit_scale"):
        by_parts.fit_counts(sum(counts))


def test_parts_that_can_be_read_once_have_no_scale():
    X, y = table(600)
    settings = {"domain": DOMAIN, "max_depth": 3, "n_estimators": 3, "random_state": 5}
    with pytest.warns(UserWarning, match="can be read only once"):
        model = RandomDecisionForestClassifier(**settings, scale_share="auto").fit_chunks(iter([(X, y)]))
    assert model.get_params()["scale_share"] == "auto"
    plain = RandomDecisionForestClassifier(**settings, scale_share="public").fit(X, y)
    assert model.forest_.to_json(uncertified=True) == plain.forest_.to_json(uncertified=True)
    with pytest.raises(ValueError, match="can be read only once"):
        RandomDecisionForestClassifier(**settings, scale_share=0.1).fit_chunks(iter([(X, y)]))
    with pytest.raises(ValueError, match="can be read only once"):  # under replace-one, `size` does not set the shape
        RandomDecisionForestClassifier(domain=DOMAIN, neighbors="replace-one", size=600).fit_chunks(iter([(X, y)]))


@pytest.mark.parametrize("how", ["fit", "fit_counts"])
def test_a_release_holds_nothing_that_is_not_paid_for(how):
    """A release keeps no scale of an earlier `fit_scale`, which its ledger does not pay for."""
    model, (X, y) = forest(RandomDecisionForestClassifier), table()
    model.fit_scale(model.partial_scale(X, y))
    assert model.prepared_.scale is not None
    model.set_params(scale_share="public", n_estimators=3, max_depth=3)
    _ = model.fit(X, y) if how == "fit" else model.fit_counts(model.partial_counts(X, y))
    assert not hasattr(model, "prepared_") and len(model.ledger_.entries) == 1


@pytest.mark.parametrize(
    ("kind", "settings", "sentence"),
    [
        (RandomDecisionForestClassifier, {"voting": "additive"}, "voting='additive'"),
        (RandomDecisionForestClassifier, {"voting": "foo"}, "voting='foo'"),
        (MajorityLabelForestClassifier, {"partition": "blocks"}, "partition='blocks'"),
        (MajorityLabelForestClassifier, {"max_depth": "foo"}, "max_depth='foo'"),
        (RandomForestLaplaceClassifier, {"n_quantiles": 0}, "n_quantiles=0"),
        (JagannathanForestClassifier, {"max_depth": 99}, "max_depth=99"),
        (
            RandomDecisionForestClassifier,
            {"n_estimators": 1_000, "max_depth": "auto", "domain": replace(DOMAIN, classes=tuple(range(50)))},
            "1,000 trees of depth 12",
        ),
        (RandomDecisionForestClassifier, {"scale_share": 1e-9}, "scale_share=1e-09 .* is too little for 2"),
        (FriedmanSchusterClassifier, {"scale_share": 1e-100}, "scale_share=1e-100 .* is too little for 2"),
        (FriedmanSchusterClassifier, {"scale_share": 1e-300}, "scale_share has too many digits"),
    ],
)
def test_refusals_come_before_the_first_query(kind, settings, sentence):
    """Refusals come before the first query, because an answer that is drawn and discarded still costs its ε."""
    model, (X, y) = forest(kind, **{"epsilon": 2.0, **settings}), table()
    with record_questions() as asked, pytest.raises(ValueError, match=sentence):
        model.fit(X, y)
    assert asked == []


def test_a_name_that_no_file_holds_is_refused_before_anything_is_asked():
    long = replace(DOMAIN, label="l" * 2_000)
    with record_questions() as asked, pytest.raises(ValueError, match="label is too long"):
        forest(RandomDecisionForestClassifier, domain=long).fit(*table())
    assert asked == []


def test_parts_keep_a_bound_on_the_rows_before_they_are_asked():
    model = forest(JagannathanForestClassifier, n_bound=2_999)
    with record_questions() as asked, pytest.raises(ValueError, match="n_bound=2,999"):
        model.fit_chunks([table()])
    assert asked == []


def test_whether_given_temperatures_fit_into_epsilon_does_not_depend_on_rows():
    """The error about temperatures must not depend on whether the fit queries a scale, which the rows decide."""
    small = table(300)
    for seed in range(12):
        model = forest(MultinomialForestClassifier, label_temperature=0.96, random_state=seed)
        assert model.fit(*small).forest_.scale is None
    for _ in range(3):
        with pytest.raises(BudgetError):
            forest(MultinomialForestClassifier, label_temperature=0.99).fit(*small)
