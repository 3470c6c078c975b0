"""Friedman and Schuster's tree as published: scores, draws, stopping rule, and certificate.

Statistical tests have fixed seeds. With random seeds, each test would fail by chance with probability at most
`FALSE_ALARM`.
"""

import itertools
import math
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from scipy.stats import binomtest, chisquare
from sklearn.utils.estimator_checks import check_estimator

from dpforest import FriedmanSchusterClassifier, load_dataset
from dpforest.models.greedy import published_tree
from dpforest.models.greedy.greedy import bin_rows
from dpforest.models.greedy.published_tree import (
    CRITERIA,
    GAIN_RATIO,
    PublishedTreeSpec,
    _Growth,
    choice_law,
    score,
    sensitivity,
)
from dpforest.models.trace import Trace
from dpforest.privacy import published
from dpforest.privacy.rationals import text_up
from dpforest.trees.forest import CuratorForest
from dpforest.trees.layout import LEAF, MULTIWAY, NUMERIC
from tests.audit.transcripts import random_table
from tests.conftest import public_domain

FALSE_ALARM = 1e-6
MIXED = public_domain(None, 3, None, 4, n_classes=3)
NUMBER, LETTER = public_domain(None), public_domain(3)
BOUNDED = [criterion for criterion in CRITERIA if criterion != GAIN_RATIO]
every_criterion = pytest.mark.parametrize("criterion", CRITERIA)
bounded = pytest.mark.parametrize("criterion", BOUNDED)
every_relation = pytest.mark.parametrize("neighbors", ["add-remove", "replace-one"])


def tree(**parameters) -> FriedmanSchusterClassifier:
    return FriedmanSchusterClassifier(**{"mode": "as_published", "domain": MIXED, "max_depth": 3, **parameters})


def spec(epsilon=1, depth=5, criterion="max", n_bound=1_000) -> PublishedTreeSpec:
    return PublishedTreeSpec(Fraction(epsilon), depth, criterion, n_bound, "add-remove")


def codes_of(domain, X) -> np.ndarray:
    return domain.encode(X)


# ---------------------------------------------------------------- scores


GOLDEN = {"max": 7.0, "gini": -1.5, "entropy": -3.245112, GAIN_RATIO: 8 * (0.954434 - 3.245112 / 8)}


@every_criterion
def test_scores_match_values_by_hand(criterion):
    """For children with class counts (4, 0) and (1, 3), each score matches a value by hand.

    The values are 4 + 3 for "max", -4 (1 - 1/16 - 9/16) for "gini" and -4 H(1/4) for "entropy". The gain ratio is
    8 (H(3/8) - 4/8 H(1/4)) / 1. Here H(p) is the entropy of a class with share p, in bits.
    """
    assert score(np.array([[[4, 0], [1, 3]]]), criterion)[0] == pytest.approx(GOLDEN[criterion], abs=1e-5)


def random_splits():
    generator = np.random.default_rng(0)
    for _ in range(300):
        table = generator.integers(0, 6, (3, 2))
        more = table.copy()
        more[generator.integers(3), generator.integers(2)] += 1
        yield table, more


@bounded
def test_a_row_moves_a_score_one_way_and_by_no_more_than_its_sensitivity(criterion):
    """All changes of a score by one more row have the same sign, so a draw costs half of its share of ε."""
    way = 1 if criterion == "max" else -1
    for table, more in random_splits():
        moved = way * (score(more[None], criterion)[0] - score(table[None], criterion)[0])
        assert -1e-9 <= moved <= sensitivity(criterion, int(table.sum())) + 1e-9


def test_one_row_can_change_the_gain_ratio_by_more_than_the_number_of_rows():
    """One row can change the gain ratio by more than its stated sensitivity: by n + 1 on a table of n rows.

    The row is alone in its child and in its class, so the ratio rises from 0 to 1.
    """
    for n in (10, 1_000, 100_000):
        before, after = np.array([[[n, 0], [0, 0]]]), np.array([[[n, 0], [0, 1]]])
        assert score(after, GAIN_RATIO)[0] - score(before, GAIN_RATIO)[0] == pytest.approx(n + 1, rel=1e-3)
        assert sensitivity(GAIN_RATIO, n) < 20


# ---------------------------------------------------------------- draws


def test_answers_on_a_path_share_epsilon():
    """The share of an answer is ε divided by the number of answers on a path.

    Trees have five levels. With two numeric and two categorical attributes, a path has (2 + 2) 5 + 2 answers. Without
    numeric attributes, it has 2 (5 + 1) answers.
    """
    assert spec(Fraction("1.1")).share(MIXED) == Fraction("1.1") / 22
    assert spec(Fraction("1.2")).share(LETTER) == Fraction("1.2") / 12


def cut_law(growth: _Growth, criterion: str) -> np.ndarray:
    """Return the probability of a cut at each code except the last one, computed separately for each code."""
    last = growth.domain.features[0].n_codes - 1
    seen = np.unique(np.r_[0, growth.codes[:, 0], last])
    n_classes, law = growth.domain.n_classes, np.empty(last)
    for low, high in itertools.pairwise(seen.tolist()):  # between two values, the score is constant
        below = growth.codes[:, 0] <= low
        sides = [np.bincount(growth.y[side], minlength=n_classes) for side in (below, ~below)]
        law[low:high] = score(np.array([sides]), criterion)[0]
    return choice_law(law, 1.0, growth.share, growth.spread)


@every_criterion
def test_a_cut_is_drawn_by_score_and_width(criterion):
    """Cuts follow their law, by a chi-square test of 4,000 cuts over the intervals between three values."""
    codes, y = np.array([[100], [100], [100], [20_000], [20_000], [60_000]], np.uint16), np.array([0, 0, 0, 1, 1, 0])
    growth = _Growth(spec(40, 1, criterion, 6), NUMBER, codes, y, 10.0, 1)
    node = published_tree._Node(np.arange(6), 0, frozenset(), {0: (0, 65_535)})
    cuts = np.array([growth._cut(node, 0) for _ in range(4_000)])
    law = cut_law(growth, criterion)
    edges = np.array([0, 100, 10_000, 20_000, 40_000, 60_000, 65_535])
    expected = 4_000 * np.add.reduceat(law, edges[:-1])
    observed = np.histogram(cuts, [*edges[:-1], 65_536])[0]
    many = expected > 5
    assert many.sum() >= 2 and observed.sum() == 4_000
    observed, expected = (np.append(part[many], part[~many].sum() + 1e-9) for part in (observed, expected))
    assert chisquare(observed, expected / expected.sum() * observed.sum()).pvalue > FALSE_ALARM


@bounded
def test_one_row_changes_the_law_of_a_cut_by_half_its_share(criterion):
    """One row changes the log-probability of a cut by at most half of its share, except for the gain ratio."""
    generator, worst = np.random.default_rng(0), {criterion: 0.0, GAIN_RATIO: 0.0}
    for _ in range(20):
        n = 12
        codes, y = generator.integers(0, 65_536, (n, 1)).astype(np.uint16), generator.integers(0, 2, n)
        y[:-1] = 0 if generator.random() < 0.5 else y[:-1]
        for name in worst:
            laws = [cut_law(_Growth(spec(1, 1, name, n), NUMBER, codes[:k], y[:k], 1.0, 0), name) for k in (n, n - 1)]
            worst[name] = max(worst[name], float(np.abs(np.log(laws[0] / laws[1])).max()))
    assert 0.2 < worst[criterion] <= 0.5 + 1e-9
    assert worst[GAIN_RATIO] > 0.5


@every_criterion
def test_an_attribute_is_drawn_by_its_score(criterion):
    """Attributes follow their law, by a chi-square test on 3,000 trees of one level, with 2, 3 and 4 categories."""
    domain, n = public_domain(2, 3, 4), 200
    X, y = random_table(domain, n, 3)
    y = np.where(np.random.default_rng(0).random(n) < 0.3, codes_of(domain, X)[:, 1] == 1, y).astype(np.int32)
    codes, tree_spec = codes_of(domain, X), spec(20, 1, criterion, n)
    scores = np.array([score(pd.crosstab(codes[:, j], y).to_numpy()[None], criterion)[0] for j in range(3)])
    law = np.exp(5 * (scores - scores.max()) / (2 * sensitivity(criterion, n)))
    roots = [tree_spec.grow(domain, codes, y, seed=seed)[0].feature[0] for seed in range(3_000)]
    observed = np.bincount(roots, minlength=3)
    assert chisquare(observed, 3_000 * law / law.sum()).pvalue > FALSE_ALARM


@pytest.mark.parametrize("n", [0, 30, 120])
def test_a_branch_ends_where_its_noisy_count_is_small(n):
    """A branch of n rows ends with the right probability, by an exact binomial test on 2,000 trees.

    It ends if its noisy count is below √2 t |C| / ε', with t branches, |C| classes, and the share ε' of ε.
    """
    tree_spec, (X, y) = spec(Fraction("0.6"), 1), random_table(LETTER, n, 0)
    share, bar = 0.6 / 4, math.sqrt(2) * 3 * 2 / (0.6 / 4)
    lead = (bar - n) * share  # the threshold minus the count, in units of the noise scale
    stops = 1 - math.exp(-lead) / 2 if lead >= 0 else math.exp(lead) / 2
    codes, labels = codes_of(LETTER, X), np.asarray(y, np.int32)
    ended = sum(tree_spec.grow(LETTER, codes, labels, seed=seed)[0].n_nodes == 1 for seed in range(2_000))
    assert 0.0 < stops < 1.0
    assert binomtest(ended, 2_000, stops).pvalue > FALSE_ALARM


def test_noise_on_leaves_has_the_scale_of_their_share():
    """The mean size of the noise on leaves is the scale that belongs to the leaves' share of ε.

    The mean is over 600 trees of one leaf with two classes. Its standard error is the scale divided by √1,200. A
    difference of five standard errors has probability below 1e-6.
    """
    X, y = random_table(LETTER, 40, 0)
    noise = []
    for seed in range(600):
        forest = tree(domain=LETTER, epsilon=0.1, max_depth=1, random_state=seed).fit(X, y).forest_
        if forest.trees.n_leaves == 1:
            noise.append(forest.leaves.noisy_counts[0] - np.bincount(y, minlength=2))
    scale = 4 / 0.1
    assert len(noise) > 500
    assert abs(np.abs(noise).mean() - scale) < 5 * scale / math.sqrt(2 * len(noise))


# ---------------------------------------------------------------- the tree


@every_criterion
@pytest.mark.parametrize("epsilon", [2.0, 300.0, None])
def test_the_published_tree_is_sound_and_its_leaves_hold_the_right_rows(criterion, epsilon):
    """Each cut lies in the remaining range of its node, and a path tests a categorical attribute only once.

    The leaves hold the right rows.
    """
    X, y = random_table(MIXED, 800, 1)
    y = (codes_of(MIXED, X)[:, 1] + (X.f0 > 0.4) + (X.f2 > 0.7)).to_numpy() % 3
    model, trace = tree(criterion=criterion, epsilon=epsilon, max_depth=5, random_state=2, n_bound=800), Trace()
    rows = bin_rows(MIXED, X, y.astype(np.int32), np.arange(800), 10)
    forest = model.fit_encoded(MIXED, rows, trace=trace)
    trees = forest.trees
    trees.check(np.array([f.n_codes for f in MIXED.features]))
    assert set(trees.kind) <= {NUMERIC, MULTIWAY, LEAF} and trees.depth == 5
    if epsilon != 2.0 and criterion != GAIN_RATIO:  # the gain ratio prefers cuts that isolate a few rows
        assert {NUMERIC, MULTIWAY} <= set(trees.kind)
    for leaf in trees.leaf_nodes:
        node, asked, ranges = int(leaf), [], {0: (0, 65_535), 2: (0, 65_535)}
        path = [node]
        while trees.parent[node] != node:
            node = int(trees.parent[node])
            path.append(node)
        for above, below in itertools.pairwise(path[::-1]):
            j = int(trees.feature[above])
            if trees.kind[above] == MULTIWAY:
                asked.append(j)
                continue
            cut, (low, high) = int(trees.threshold[above]), ranges[j]
            assert low <= cut < high
            ranges[j] = (cut + 1, high) if below > trees.first_child[above] else (low, cut)
        assert len(asked) == len(set(asked))
    model.fit(X, y)
    counts = np.zeros((trees.n_leaves, 3), np.int64)
    np.add.at(counts, (model.apply(X)[:, 0], y), 1)
    assert np.array_equal(counts, trace.counts)
    assert trace.trees == [] and (trace.noise is None) == (epsilon is None)


def test_without_privacy_the_tree_takes_the_best_tests_and_stops_at_one_class():
    X = pd.DataFrame({"f0": np.linspace(0, 1, 40), "f1": "c0", "f2": 0.5, "f3": "c1"})
    y = (X.f0 > 0.5).to_numpy().astype(int)
    model = tree(epsilon=None).fit(X, y)
    assert model.forest_.trees.n_leaves == 2 and model.score(X, y) == 1
    assert "no privacy" in model.certificate_.reasons[0]


@every_criterion
def test_the_tree_learns_with_a_large_budget_and_not_with_a_small_one(criterion):
    X, _ = random_table(MIXED, 3_000, 0)
    y = ((X.f0 > 0.5).to_numpy() ^ (X.f1 == "c1").to_numpy()).astype(int)
    rich, poor = (tree(criterion=criterion, epsilon=e, random_state=0, n_bound=3_000) for e in (1_000.0, 0.001))
    assert rich.fit(X, y).score(X, y) > 0.97
    assert poor.fit(X, y).forest_.trees.n_leaves == 1


@pytest.mark.parametrize("n", [0, 1])
@pytest.mark.parametrize("epsilon", [1.0, None])
def test_a_fit_without_rows_gives_a_tree(n, epsilon):
    X, y = random_table(MIXED, 20, 0)
    model = tree(epsilon=epsilon).fit(X[:n], y[:n])
    assert set(model.predict(X)) <= {0, 1, 2}


def test_a_tree_ends_at_a_cap_and_reports_it(monkeypatch):
    X, y = random_table(MIXED, 500, 0)
    model = tree(epsilon=3_000.0, max_depth=4, random_state=0)
    assert model.fit(X, y).forest_.trees.n_leaves > 24
    assert not any("no paper says" in reason for reason in model.certificate_.reasons)
    monkeypatch.setattr(published_tree, "PUBLISHED_LEAF_CAP", 24)
    assert 12 < model.fit(X, y).forest_.trees.n_leaves <= 24
    assert any(
        reason.startswith("A tree has at most 24 leaves here; no paper") for reason in model.certificate_.reasons
    )


def test_an_attribute_of_one_value_is_never_tested():
    domain = public_domain(1, 3)
    X, y = random_table(domain, 300, 0)
    for seed in range(20):
        trees = tree(domain=domain, epsilon=100.0, random_state=seed).fit(X, y).forest_.trees
        assert set(trees.feature) == {-1, 1}


# ---------------------------------------------------------------- certificate


@every_relation
@every_criterion
@pytest.mark.parametrize("depth", [1, 4])
def test_the_certificate_states_the_loss_that_holds(neighbors, criterion, depth):
    """The certificate states the proved loss: a noisy count costs its share of ε, and a draw costs half of its share.

    With two numeric attributes, a path of depth d has d + 2 counts and (1 + 2) d draws.
    """
    X, y = random_table(MIXED, 30, 0)
    model = tree(epsilon=3.0, max_depth=depth, criterion=criterion, neighbors=neighbors).fit(X, y)
    certificate = model.certificate_
    assert (certificate, model.ledger_) == model.preview(MIXED, 30)
    assert isinstance(model.forest_, CuratorForest) and not hasattr(model.forest_, "to_json")
    with pytest.raises(AttributeError, match="for the curator only"):
        _ = model.released_
    assert not certificate.certified and certificate.epsilon == 3 and certificate.true_epsilon == math.inf
    assert model.ledger_.epsilon is None
    first, last = certificate.reasons
    assert last == published.REPRODUCTION
    if criterion == GAIN_RATIO:
        assert "gain ratio, whose sensitivity has no bound" in first
        return
    share = Fraction(3, 4 * depth + 2)
    spent = share * (depth + 2 + Fraction(3 * depth, 2)) * (1 if neighbors == "add-remove" else 2)
    assert spent <= 3 * (1 if neighbors == "add-remove" else 2)
    comparison = f", not ε = {text_up(Fraction(3))}" if spent > 3 else ""
    assert first.startswith(f"In ideal real numbers the loss would be at most {text_up(spent, 3)}{comparison};")


def test_the_tree_needs_no_memory_for_levels_that_it_does_not_have():
    data = load_dataset("adult")
    tree(domain=data.domain, max_depth=15, n_bins=1_000).check(data.domain, 1_000)


@pytest.mark.filterwarnings("ignore::dpforest.PrivacyLeakWarning")
@pytest.mark.filterwarnings("ignore:invalid value encountered in cast:RuntimeWarning")
@pytest.mark.parametrize(("criterion", "epsilon"), [("max", 1.0), (GAIN_RATIO, 1.0), ("entropy", None)])
def test_every_check_of_scikit_learn_passes(criterion, epsilon):
    model = FriedmanSchusterClassifier(mode="as_published", criterion=criterion, epsilon=epsilon)
    results = check_estimator(model, on_skip=None, on_fail=None)
    failed = [(result["check_name"], repr(result["exception"])) for result in results if result["status"] != "passed"]
    assert failed == [] and len(results) > 50
