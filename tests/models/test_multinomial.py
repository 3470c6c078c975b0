"""The multinomial random forest: its charges, the effect of one row, and why it is not private as published.

Statistical tests have fixed seeds. With random seeds, each test would fail by chance with probability at most
`FALSE_ALARM`.
"""

import itertools
import math
import pickle
from fractions import Fraction
from unittest.mock import patch

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from sklearn.tree import DecisionTreeClassifier

from dpforest import Domain, Feature, MultinomialForestClassifier, ReleasedForest
from dpforest.limits import N_CODES
from dpforest.models.greedy.count_trees import SplitSelector, share_out
from dpforest.models.greedy.greedy import bin_rows
from dpforest.privacy import published, selection
from dpforest.privacy.ledger import ESTIMATION, STRUCTURE, BudgetError, QueryBudget
from dpforest.privacy.randomness import DemoSource
from dpforest.privacy.rationals import text_up
from dpforest.trees.candidates import public_candidates
from dpforest.trees.forest import CuratorForest
from dpforest.trees.greedy_trees import grow_tree
from dpforest.trees.layout import LEAF
from dpforest.trees.released_scale import nested_counts
from tests.audit.transcripts import Transcript, neighbor, random_table
from tests.conftest import public_domain, some
from tests.models.plain_boosting import same_parts

FALSE_ALARM = 1e-6
DOMAINS = {k: public_domain(None, 3, n_classes=k) for k in (2, 3)}
DOMAIN = DOMAINS[2]
every_relation = pytest.mark.parametrize("neighbors", ["add-remove", "replace-one"])
every_partition = pytest.mark.parametrize("partition", ["independent", "shared"])
every_score = pytest.mark.parametrize("split_score", ["counts", "normalized"])


PUBLIC = {"scale_share": "public"}  # no query runs before trees grow


def forest(**parameters) -> MultinomialForestClassifier:
    small = {"domain": DOMAIN, "n_estimators": 3, "max_depth": 2, "n_bins": 4}
    return MultinomialForestClassifier(**{**small, **parameters})


# ---------------------------------------------------------------- charges


@every_relation
@every_partition
@pytest.mark.parametrize(("n_estimators", "max_depth", "n_classes"), [(1, 1, 2), (3, 2, 3), (7, 5, 2), (10, None, 3)])
def test_a_tree_costs_its_dearer_half_and_all_of_them_epsilon(neighbors, partition, n_estimators, max_depth, n_classes):
    domain = DOMAINS[n_classes]
    model = forest(
        domain=domain,
        epsilon=0.7,
        n_estimators=n_estimators,
        max_depth=max_depth,
        partition=partition,
        neighbors=neighbors,
        scale_share=0.1,
    )
    certificate, ledger = model.preview(domain, 30)
    model.fit(*random_table(domain, 30, 0))
    assert model.ledger_ == ledger and model.certificate_ == certificate
    assert ledger.closed and ledger.spent == Fraction(7, 10)
    assert certificate.certified and certificate.loss == Fraction(7, 10)
    scale, feature, value, label = ledger.entries
    cost = {STRUCTURE: Fraction(0), ESTIMATION: Fraction(0)}
    for entry in (feature, value, label):
        cost[entry.part] += entry.epsilon
    assert cost == {STRUCTURE: Fraction(63, 100), ESTIMATION: Fraction(63, 100)}
    assert scale.epsilon == Fraction(7, 100)
    assert feature.epsilon_each == value.epsilon_each
    assert label.epsilon_each == 2 * (max_depth or 4) * feature.epsilon_each


@every_relation
@every_partition
@pytest.mark.parametrize(
    ("temperatures", "depth"),
    [((0.05, 0.05, 1), 10), ((0.05, 0.05, 0.3), 10), ((0.125, 0.5, 0.25), 3), ((0.01, 0.02, 5), 4), ((1, 2, 3), 1)],
)
def test_given_temperatures_are_charged(temperatures, depth, neighbors, partition):
    """If t trees share rows, given temperatures cost ε = t max(d (B1 + B2), B3), otherwise 1/t of it (theorem 2)."""
    b1, b2, b3 = (Fraction(str(t)) for t in temperatures)
    n_trees, rows = 4, 1 if neighbors == "add-remove" else 2
    cost = max(depth * (b1 + b2), b3) * rows * (n_trees if partition == "shared" else 1)
    by_hand = dict(zip(("feature_temperature", "value_temperature", "label_temperature"), temperatures, strict=True))
    model = forest(n_estimators=n_trees, max_depth=depth, partition=partition, neighbors=neighbors, **by_hand, **PUBLIC)
    X, y = random_table(DOMAIN, 30, 0)
    for epsilon in (cost, cost + Fraction(1, 1000)):
        model.set_params(epsilon=epsilon).fit(X, y)
        assert model.ledger_.spent == cost
        assert model.certificate_.certified and model.certificate_.true_epsilon == pytest.approx(float(cost))
    model.set_params(epsilon=cost - Fraction(1, 10**9))
    for ask in (lambda: model.fit(X, y), lambda: model.preview(DOMAIN, 30)):
        with pytest.raises(BudgetError, match="would cost .*, but only .* is left"):
            ask()


def test_the_inverse_of_the_papers_budget_returns_its_temperatures():
    """The inverse of the formula for the cost returns the temperatures.

    By theorem 2, t = 100 trees of depth d = 10 with B1 = B2 = 0.05 and B3 = 1 cost ε = 100, 1 for each tree.
    """
    paper = MultinomialForestClassifier(mode="as_published", n_estimators=100, epsilon=100, domain=DOMAIN)
    spec = paper.spec(DOMAIN, 0)
    assert (spec.feature, spec.value, spec.label) == (0.05, 0.05, 1.0)
    assert 100 * max(10 * (spec.feature + spec.value), spec.label) == 100
    spec = paper.set_params(epsilon=1, n_estimators=10, max_depth=5).spec(DOMAIN, 0)
    assert (spec.feature, spec.value, spec.label) == (0.01, 0.01, 0.1)
    spec = paper.set_params(epsilon=None).spec(DOMAIN, 0)
    assert (spec.feature, spec.value, spec.label) == (10, 10, math.inf)
    spec = paper.set_params(epsilon=5, feature_temperature=0, value_temperature=math.inf).spec(DOMAIN, 0)
    assert (spec.feature, spec.value, spec.label) == (0, math.inf, 0.5)


@every_relation
@every_partition
@every_score
@pytest.mark.parametrize("n_classes", [2, 3])
def test_no_release_is_more_than_exp_epsilon_as_likely_on_a_neighbor(neighbors, partition, split_score, n_classes):
    """A release is at most exp(ε) times as likely on a neighboring table.

    Before trees grow, the fit queries two things: the number of rows (unless it is public), then the scale.
    """
    domain, n, worst = DOMAINS[n_classes], 9, 0.0
    first = [(1, 1)] * (neighbors == "add-remove") + [nested_counts(np.zeros((1, 64), np.int64)).shape]
    scale_share = "auto" if neighbors == "add-remove" else 0.05  # for nine rows, the default rule would skip the scale
    for seed in range(6):
        X, y = random_table(domain, n, seed)
        model = forest(
            domain=domain,
            epsilon=3.0,
            partition=partition,
            split_score=split_score,
            neighbors=neighbors,
            partition_rate=2.0,
            random_state=seed,
            scale_share=scale_share,
        )
        talk = Transcript(seed)
        one = talk.fit(model, X, y)
        two = talk.fit(model, *neighbor(domain, X, y, neighbors, seed + 2))
        assert np.array_equal(one.trees.feature, two.trees.feature)
        assert np.array_equal(one.trees.threshold, two.trees.threshold)
        assert np.array_equal(one.leaves.labels, two.leaves.labels)
        assert [about[1] for about in talk.public[: len(first)]] == first
        assert abs(talk.losses.sum()) <= 3.0 + 1e-9
        worst = max(worst, np.abs(talk.losses).sum())
        split, label = (
            np.abs([loss for loss, about in zip(talk.losses, talk.public, strict=True) if about[0] == what])
            for what in ("choice", "labels")
        )
        if partition == "independent":  # each row is in one tree, where it serves either for splits or for labels
            assert split.sum() == 0 or label.sum() == 0
            assert (split.reshape(3, -1).sum(axis=1) > 0).sum() <= 1
    assert worst > 0.2


def test_some_row_uses_nearly_the_whole_charge_of_splits_or_labels():
    """The loss nearly reaches the charge of splits, and the charge of labels.

    For splits, all features but one isolate a row, and the tree takes the remaining feature. For labels, a leaf in
    which all other rows have the other class releases the class of the row.
    """
    domain = public_domain(*[2] * 40)
    X = pd.DataFrame({f.name: ["c0"] * 60 + ["c0" if f.name == "f39" else "c1"] for f in domain.features})
    y = np.array([0] * 60 + [1])
    lost = {"choice": 0.0, "labels": 0.0}
    for seed in range(6):
        model = forest(
            domain=domain,
            epsilon=0.6,
            n_estimators=1,
            max_depth=1,
            random_state=seed,
            feature_temperature=0.599,
            value_temperature=0.001,
        )
        talk = Transcript(seed, last=True)
        talk.fit(model, X, y)
        talk.fit(model, X.iloc[:60], y[:60])
        for loss, about in zip(talk.losses, talk.public, strict=True):
            lost[about[0]] = max(lost[about[0]], abs(loss))
        assert abs(talk.losses.sum()) <= 0.6 + 1e-9
    assert lost["choice"] > 0.6 * 0.9
    assert lost["labels"] > 0.6 * 0.9  # in a leaf with many rows of the other class


# ---------------------------------------------------------------- one draw, exactly


def root_law(domain: Domain, X, y, split_score: str, b1: float, b2: float) -> np.ndarray:
    """Return the log-probability of each candidate at the root.

    It is the log-probability of the feature, plus that of the candidate among the candidates of the feature.
    """
    rows = bin_rows(domain, X, np.asarray(y, np.int32), np.arange(len(y)), 4)
    candidates, out = rows.candidates, np.full(rows.candidates.n_candidates, -np.inf)

    for feature in range(len(candidates.first) - 1):
        laws = []

        def answer(scores, allowed, sensitivity, query_budget, source, *, key=0, nodes=1, feature=feature, laws=laws):
            coarse, width = selection.coarsened(scores, sensitivity, nodes)
            rate = float(selection.rate_of(query_budget.use().pure_epsilon, width))
            weight = np.where(allowed, np.exp(rate * (coarse - coarse.max())), 0)[0]
            laws.append(np.log(weight / weight.sum(), where=weight > 0, out=np.full(len(weight), -np.inf)))
            return np.array([feature if len(laws) == 1 else int(allowed[0].argmax())])

        stages = [QueryBudget(Fraction(str(b)), 1) for b in (b1, b2)]
        selector = SplitSelector(
            candidates,
            "gini",
            1,
            stages,
            DemoSource(0),
            normalized=split_score == "normalized",
            count_unit=1,
            n_classes=2,
        )
        with patch.object(selection, "choose", answer):
            grow_tree(
                candidates,
                rows.bins,
                rows.y,
                np.ones(len(y), np.int64),
                n_classes=domain.n_classes,
                depth=1,
                choose=selector,
            )
        assert len(laws) == 2
        candidates_of_feature = slice(int(candidates.first[feature]), int(candidates.first[feature + 1]))
        assert np.isneginf(np.delete(laws[1], np.arange(len(out))[candidates_of_feature])).all()
        out[candidates_of_feature] = laws[0][feature] + laws[1][candidates_of_feature]
    return out


@every_score
@pytest.mark.parametrize("n_classes, bounds", some([2, 3], [(0.5, 2), (3, 0.25), (1, 1)]))
def test_the_law_of_a_split_over_all_neighbors(split_score, n_classes, bounds):
    """An added row changes the log-probability of a root split by at most B1 + B2, a replaced row by 2 (B1 + B2)."""
    domain, (b1, b2) = public_domain(None, None, 3, n_classes=n_classes), bounds
    removed, replaced = 0.0, 0.0
    for seed in range(12):
        X, y = random_table(domain, 3 + seed % 5, seed)
        pmf = root_law(domain, X, y, split_score, b1, b2)
        assert np.isfinite(pmf).all()  # every public candidate has a positive probability, for any rows
        assert np.exp(pmf).sum() == pytest.approx(1)
        for row in range(len(y)):
            without = root_law(domain, *neighbor(domain, X, y, "add-remove", row), split_score, b1, b2)
            other = root_law(domain, *neighbor(domain, X, y, "replace-one", row), split_score, b1, b2)
            removed = max(removed, np.abs(pmf - without).max())
            replaced = max(replaced, np.abs(pmf - other).max())
    assert 0.3 * (b1 + b2) < removed <= b1 + b2 + 1e-9
    assert 0.3 * (b1 + b2) < replaced <= 2 * (b1 + b2) + 1e-9
    empty = root_law(domain, X[:0], y[:0], split_score, b1, b2)
    assert np.isfinite(empty).all()


@every_score
def test_splits_are_drawn_by_that_law(split_score):
    domain = public_domain(None, None, 3)
    X, y = random_table(domain, 40, 3)
    pmf = np.exp(root_law(domain, X, y, split_score, 6, 4))
    rows = bin_rows(domain, X, y.astype(np.int32), np.arange(40), 4)
    n, drawn = 4_000, np.zeros(len(pmf))
    stages = [QueryBudget(Fraction(b), n) for b in (6, 4)]
    for key in range(n):
        selector = SplitSelector(
            rows.candidates,
            "gini",
            1,
            stages,
            DemoSource(5),
            key=64 * key,
            normalized=split_score == "normalized",
            count_unit=1,
            n_classes=2,
        )
        chosen, _ = grow_tree(
            rows.candidates, rows.bins, rows.y, np.ones(40, np.int64), n_classes=2, depth=1, choose=selector
        )
        drawn[chosen[0][0]] += 1
    assert stats.chisquare(drawn, n * pmf).pvalue > FALSE_ALARM


def test_normalized_scores_do_not_see_how_many_rows_there_are_and_counts_do():
    X, y = random_table(DOMAIN, 15, 1)
    many, labels = pd.concat([X] * 40), np.tile(y, 40)
    for split_score, same in (("normalized", True), ("counts", False)):
        few_law, many_law = (root_law(DOMAIN, *t, split_score, 1, 1) for t in ((X, y), (many, labels)))
        assert np.allclose(few_law, many_law, atol=0.002) == same


def test_more_rows_make_better_forests_with_counts_only():
    """Accuracy grows with the number of rows only if split scores are computed from counts, not from shares.

    The rows are uniform with 10 % label noise. The best possible accuracy is 0.90, and guessing has 0.56.
    """
    rng = np.random.default_rng(0)
    X = rng.random((24_000, 6))
    clean = (X[:, 0] + X[:, 1] / 2 > 0.75) & (X[:, 2] < 0.8)
    y = (clean ^ (rng.random(len(X)) < 0.1)).astype(int)
    score = {}
    for split_score, n in itertools.product(("counts", "normalized"), (1_000, 20_000)):
        model = MultinomialForestClassifier(
            domain=public_domain(*[None] * 6),
            n_estimators=10,
            max_depth=4,
            partition="shared",
            split_score=split_score,
            random_state=0,
            **PUBLIC,
        )
        score[split_score, n] = model.fit(X[:n], y[:n]).score(X[20_000:], y[20_000:])
    assert score["counts", 20_000] > 0.78
    assert score["counts", 20_000] > score["normalized", 20_000] + 0.08
    assert score["counts", 20_000] > score["counts", 1_000] + 0.08


# ---------------------------------------------------------------- as published


def test_as_published_the_reason_for_no_epsilon_is_stated():
    X, y = random_table(DOMAIN, 40, 0)
    model = forest(mode="as_published").fit(X, y)
    certificate = model.certificate_
    assert not certificate.certified and certificate.true_epsilon == math.inf and certificate.epsilon == 1
    assert certificate.reasons == published.multinomial_reasons(1, 1)
    assert "no finite ε" in certificate.reasons[0]
    assert isinstance(model.forest_, CuratorForest) and not hasattr(model.forest_, "to_json")
    assert certificate == model.preview(DOMAIN, 40)[0]
    with pytest.raises(AttributeError, match="for the curator only"):
        _ = model.released_
    nonprivate = forest(mode="as_published", epsilon=None).fit(X, y)
    assert nonprivate.certificate_.reasons[0].startswith("There is no privacy here")


@pytest.mark.parametrize(
    ("depth", "by_hand", "nominal"),
    [
        (None, (None, None, None), 1),
        (3, (None, None, None), 1),
        (None, (10, 10, math.inf), math.inf),
        (None, (10, 10, 0), 3 * 10 * 20),
        (4, (0.1, 0.2, None), 3 * 4 * Fraction("0.3")),
        (None, (0, 0, 0), 0),
        (None, (math.inf, None, 1), math.inf),
        (None, (0, 0, 0.5), Fraction(3, 2)),
    ],
)
def test_as_published_the_nominal_epsilon_is_the_sum_of_the_paper(depth, by_hand, nominal):
    """The nominal ε is trees × max(depth × (B1 + B2), B3), with 10 levels if the depth has no limit."""
    names = ("feature_temperature", "value_temperature", "label_temperature")
    model = forest(mode="as_published", n_estimators=3, max_depth=depth, **dict(zip(names, by_hand, strict=True)))
    certificate = model.preview(DOMAIN, 40)[0]
    assert certificate.epsilon == nominal
    has_sum = certificate.reasons[0].startswith("By the paper's own sum")
    assert has_sum == (nominal != 1) and (
        not has_sum or f"claim ε = {text_up(nominal)}, not the 1" in certificate.reasons[0]
    )
    assert f"Nominal ε = {text_up(nominal)};" in str(certificate)


def thresholds(model, X, y) -> set[int]:
    model.fit(X, y)
    return set(model.forest_.trees.threshold[model.forest_.trees.kind != LEAF].tolist())


def test_as_published_one_row_makes_possible_what_was_impossible():
    """As published, thresholds lie half-way between rows, so one row makes new thresholds possible.

    In certified mode, every threshold is possible with and without the row.
    """
    domain = public_domain(None)
    X = pd.DataFrame({"f0": np.linspace(0.1, 0.4, 12)})
    y = np.arange(12) % 2
    more, labels = pd.concat([X, pd.DataFrame({"f0": [0.26]}, index=[12])]), np.append(y, 1)
    codes = (X.f0.to_numpy() * N_CODES).astype(int)
    possible = {(a + b) // 2 for a, b in itertools.combinations(codes.tolist(), 2)}
    leaky = MultinomialForestClassifier(
        domain=domain, mode="as_published", n_estimators=200, max_depth=1, epsilon=1, random_state=0
    )
    assert thresholds(leaky, X, y) <= possible
    impossible = thresholds(leaky, more, labels) - possible
    assert len(impossible) > 5
    sound = leaky.set_params(mode="certified", partition="shared", n_bins=8)
    public = set(public_candidates(domain, 8).threshold.tolist())
    assert thresholds(sound, X, y) == thresholds(sound, more, labels) == public  # 200 trees, 7 values each


def test_as_published_trees_grow_beyond_the_depth_that_is_accounted_for():
    rng = np.random.default_rng(0)
    X = rng.random((600, 3))
    y = (X[:, 0] > rng.random(600)).astype(int)
    model = MultinomialForestClassifier(domain=public_domain(*[None] * 3), mode="as_published", random_state=0)
    assert model.fit(X, y).forest_.trees.level.max() > 10
    assert model.set_params(max_depth=3).fit(X, y).forest_.trees.level.max() == 3


def test_as_published_a_row_that_labels_leaves_changes_the_trees():
    """In the published mode, a row that labels leaves also changes the shape of trees. In certified mode, it does not.

    So the published shape depends on both halves of the rows, although the paper's proof calls the halves disjoint.
    """
    X, y = random_table(public_domain(None, None), 30, 0)
    domain = public_domain(None, None)
    shape = {}
    for mode in ("as_published", "certified"):
        model = forest(domain=domain, mode=mode, n_estimators=20, partition="shared", max_depth=3, random_state=1)
        shape[mode] = {tuple(model.fit(X.drop(index=r), np.delete(y, r)).forest_.trees.kind) for r in range(10)}
    assert len(shape["as_published"]) > 1 and len(shape["certified"]) == 1


# ---------------------------------------------------------------- without privacy


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_the_nonprivate_model_takes_the_best_splits_of_its_structure_rows_and_the_true_labels_of_the_others(seed):
    domain, n = public_domain(None, None, None), 500
    X, _ = random_table(domain, n, seed)
    y = (X.f0 + X.f1**2 + 0.3 * np.random.default_rng(seed).normal(size=n) > 0.9).to_numpy().astype(int)
    model = forest(domain=domain, epsilon=None, n_estimators=4, n_bins=10, structure_seed=seed).fit(X, y)
    bins = bin_rows(domain, X, y.astype(np.int32), np.arange(n), 10).bins
    shares = share_out(np.arange(n), 4, Fraction(1, 2), "shared", DemoSource(seed))
    leaves = model.apply(X)
    for tree in range(4):
        grows, decides = shares.structure[tree], shares.estimation[tree]
        assert sorted([*grows, *decides]) == list(range(n))
        assert abs(len(grows) - n / 2) < 4.9 * math.sqrt(n) / 2
        cart = DecisionTreeClassifier(max_depth=2, random_state=0).fit(bins[grows], y[grows])
        assert same_parts(cart.apply(bins), leaves[:, tree])
        for leaf in set(leaves[decides, tree]):
            counts = np.bincount(y[decides][leaves[decides, tree] == leaf], minlength=2)
            assert model.forest_.leaves.labels[leaf] in np.flatnonzero(counts == counts.max())
    assert model.certificate_.reasons[0].startswith("There is no privacy here")


def test_a_huge_epsilon_gives_the_best_splits():
    domain = public_domain(None, None)
    X, _ = random_table(domain, 400, 0)
    y = ((X.f0 > 0.5) ^ (X.f1 > 0.75)).to_numpy().astype(int)
    for random_state in (None, 0):
        model = forest(domain=domain, epsilon=10_000, n_estimators=1, random_state=random_state, **PUBLIC)
        assert model.fit(X, y).score(X, y) > 0.98


@every_partition
@every_relation
def test_the_most_trees_fit_at_the_least_epsilon(partition, neighbors):
    X, y = random_table(DOMAIN, 40, 0)
    model = forest(
        epsilon=1e-4, n_estimators=1_000, max_depth=1, partition=partition, neighbors=neighbors, partition_rate=0.37
    )
    assert model.fit(X, y).ledger_.spent == Fraction(1, 10_000)
    assert model.certificate_.certified and set(model.predict(X)) <= {0, 1}


def test_a_fit_without_rows_gives_a_forest():
    X, y = random_table(DOMAIN, 20, 0)
    for n, partition in itertools.product((0, 1), ("independent", "shared")):
        model = forest(partition=partition).fit(X[:n], y[:n])
        assert model.certificate_.certified and set(model.predict(X)) <= {0, 1}


# ---------------------------------------------------------------- files


@every_partition
def test_a_file_and_a_pickle_hold_what_was_released(partition):
    X, y = random_table(DOMAIN, 50, 0)
    model = forest(partition=partition).fit(X, y)
    text = model.released_.to_json()
    again = ReleasedForest.from_json(text)
    assert again.to_json() == text and again.ledger == model.ledger_
    assert np.array_equal(again.class_shares(X), model.predict_proba(X))
    pickled = pickle.dumps(model)
    assert np.array_equal(pickle.loads(pickled).predict(X), model.predict(X))
    for name in (b"Source", b"QueryBudget", b"Trace", b"BinnedRows", b"Shares", b"SplitSelector"):
        assert name not in pickled


# ---------------------------------------------------------------- refusals

REFUSED = [
    ({"max_depth": 0}, "max_depth=0 is not a whole number from 1 to 15"),
    ({"max_depth": 16}, "max_depth=16 is not a whole number from 1 to 15"),
    ({"max_depth": 2.0}, "max_depth=2.0 is not a whole number"),
    ({"max_depth": 0, "mode": "as_published"}, "max_depth=0 is not a whole number from 1 to 60"),
    ({"max_depth": 61, "mode": "as_published"}, "max_depth=61 is not a whole number from 1 to 60"),
    ({"max_depth": "deep", "mode": "as_published"}, "max_depth='deep' is not a whole number"),
    ({"n_bins": 1}, "n_bins=1 is not a whole number from 2 to 1,000"),
    ({"n_bins": 0, "mode": "as_published"}, "n_bins=0 is not a whole number from 2 to 1,000"),
    ({"split_score": "gain"}, "split_score='gain' is not known; choose one of 'counts', 'normalized'"),
    ({"partition": "blocks"}, "partition='blocks' is not known; choose one of 'independent', 'shared'"),
    ({"min_leaf": 0, "mode": "as_published"}, "min_leaf=0 is not a whole number from 1 to 10,000"),
    ({"stopping": "early", "mode": "as_published"}, "stopping='early' is not known; choose one of 'code', 'min_leaf'"),
    ({"partition_rate": 0}, "partition_rate=0 is not a number from 1/64 to 64"),
    ({"partition_rate": 65}, "partition_rate=65 is not a number from 1/64 to 64"),
    ({"partition_rate": math.inf}, "partition_rate=inf is not a number"),
    ({"partition_rate": math.nan}, "partition_rate=nan is not a number"),
    ({"partition_rate": "half"}, "partition_rate='half' is not a number"),
    ({"partition_rate": None, "mode": "as_published"}, "partition_rate=None is not a number"),
    ({"feature_temperature": 0}, "feature_temperature=0.0 must be above 0 and finite in certified mode"),
    ({"value_temperature": math.inf}, "value_temperature=inf must be above 0 and finite in certified mode"),
    ({"label_temperature": -1}, "label_temperature=-1 is not a number of at least 0; use one, or None to derive it"),
    ({"label_temperature": math.nan}, "label_temperature=nan is not a number of at least 0"),
    ({"label_temperature": "hot", "mode": "as_published"}, "label_temperature='hot' is not a number of at least 0"),
    ({"feature_temperature": True, "mode": "as_published"}, "feature_temperature=True is not a number of at least 0"),
    (
        {"feature_temperature": 2, **PUBLIC},
        "feature of each level, .* would cost 4, but only 1 of the budget of 1 is left",
    ),
]


@pytest.mark.parametrize(("parameters", "sentence"), REFUSED)
def test_parameters_out_of_range_are_refused_with_a_sentence(parameters, sentence):
    X, y = random_table(DOMAIN, 20, 0)
    model = forest(**parameters)
    for ask in (lambda: model.fit(X, y), lambda: model.preview(DOMAIN, 20), lambda: model.check(DOMAIN, 20)):
        with pytest.raises(ValueError, match=f"^{sentence}") as error:
            ask()
        assert "\n" not in str(error.value)


def test_attributes_without_a_choice_are_never_drawn():
    """Trees never test an attribute with a single category; they test all others."""
    single = Feature("f9", "categorical", categories=("only",), source="documented", source_note="made up")
    domain = Domain((single, *public_domain(None, 2).features), (0, 1), "y", "documented", "made up")
    X, y = random_table(public_domain(None, 2), 40, 0)
    for split_score in ("counts", "normalized"):
        model = forest(domain=domain, n_estimators=50, split_score=split_score).fit(X.assign(f9="only"), y)
        asked = set(model.forest_.trees.feature.tolist())
        assert asked == {-1, 1, 2}


def test_impurity_and_purity_stop_reach_the_published_trees():
    X, y = random_table(DOMAIN, 200, 0)
    y = (X.f0 > 0.5).astype(int)  # one cut makes both children pure
    plain = {"mode": "as_published", "epsilon": None, "n_estimators": 5, "domain": DOMAIN}
    leaves = {
        stop: MultinomialForestClassifier(purity_stop=stop, **plain).fit(X, y).forest_.trees.n_leaves
        for stop in (True, False)
    }
    assert leaves[False] > 2 * leaves[True]
    y = np.random.default_rng(0).integers(0, 2, 200)
    gini, entropy = (
        MultinomialForestClassifier(impurity=impurity, feature_temperature=np.inf, value_temperature=np.inf, **plain)
        .fit(X, y)
        .forest_.trees
        for impurity in ("gini", "entropy")
    )
    assert not np.array_equal(gini.threshold[:40], entropy.threshold[:40])
    for wrong in ({"impurity": "max"}, {"purity_stop": "no"}):
        for mode in ("certified", "as_published"):
            with pytest.raises(ValueError, match=next(iter(wrong))):
                MultinomialForestClassifier(domain=DOMAIN, mode=mode, **wrong).fit(X, y)
