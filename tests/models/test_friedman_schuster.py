"""One private greedy tree: its charges, the effect of one row, and its equality with a greedy tree without noise."""

import itertools
import json
import math
import pickle
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from sklearn.tree import DecisionTreeClassifier

from dpforest import FriedmanSchusterClassifier, ReleasedForest
from dpforest.limits import MAX_BOUND
from dpforest.models.greedy.friedman_schuster import LEVELS_OF_SPLITS
from dpforest.models.greedy.greedy import bin_rows
from dpforest.trees.released_scale import nested_counts
from dpforest.trees.split_scores import COUNTED, UNIT, sensitivity
from tests.audit.transcripts import Transcript, neighbor, random_table
from tests.conftest import public_domain
from tests.models.plain_boosting import same_parts

DOMAINS = {k: public_domain(None, 3, n_classes=k) for k in (2, 3)}
DOMAIN = DOMAINS[2]
every_relation = pytest.mark.parametrize("neighbors", ["add-remove", "replace-one"])
every_criterion = pytest.mark.parametrize("criterion", COUNTED)


PUBLIC = {"scale_share": "public"}  # no query runs before the tree grows


def tree(**parameters) -> FriedmanSchusterClassifier:
    return FriedmanSchusterClassifier(**{"domain": DOMAIN, "max_depth": 3, "n_bins": 4, **parameters})


# ---------------------------------------------------------------- charges


@every_relation
@every_criterion
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize(("depth", "share"), [(1, 0.5), (3, 0.35), (7, 0.9)])
def test_entries_sum_to_epsilon_and_a_preview_knows_them(neighbors, criterion, n_classes, depth, share):
    domain = DOMAINS[n_classes]
    model = tree(
        domain=domain,
        epsilon=0.7,
        max_depth=depth,
        tree_share=share,
        criterion=criterion,
        neighbors=neighbors,
        scale_share=0.1,
    )
    certificate, ledger = model.preview(domain, 20)
    model.fit(*random_table(domain, 20, 0))
    assert model.ledger_ == ledger and model.certificate_ == certificate
    scale, splits, leaves = ledger.entries
    assert scale.epsilon + splits.epsilon + leaves.epsilon == ledger.spent == Fraction(7, 10)
    assert scale.epsilon == Fraction(7, 100)
    assert splits.epsilon == Fraction(63, 100) * Fraction(str(share)) and splits.times == depth
    assert ledger.closed and certificate.certified and certificate.loss == Fraction(7, 10)
    bound = 20 if neighbors == "replace-one" else MAX_BOUND
    # The ledger states the sensitivity rounded to a tenth.
    exact = Fraction(sensitivity(criterion, bound), UNIT)
    assert exact <= splits.sensitivity < exact + Fraction(1, 10)


@every_relation
@every_criterion
@pytest.mark.parametrize("n_classes", [2, 3])
def test_no_release_is_more_than_exp_epsilon_as_likely_on_a_neighbor(neighbors, criterion, n_classes):
    """A release is at most exp(ε) times as likely on a neighboring table.

    Before the tree grows, the fit queries two things: the number of rows (unless it is public), then the scale.
    """
    domain, n, worst = DOMAINS[n_classes], 8, 0.0
    first = [(1, 1)] * (neighbors == "add-remove") + [nested_counts(np.zeros((1, 64), np.int64)).shape]
    scale_share = "auto" if neighbors == "add-remove" else 0.05  # for eight rows, the default rule would skip the scale
    for seed in range(6):
        X, y = random_table(domain, n, seed)
        model = tree(
            domain=domain,
            epsilon=3.0,
            criterion=criterion,
            neighbors=neighbors,
            n_bound=n,
            random_state=0,
            tree_share=0.7,
            scale_share=scale_share,
        )
        talk = Transcript(seed)
        one = talk.fit(model, X, y)
        two = talk.fit(model, *neighbor(domain, X, y, neighbors, seed + 2))
        assert np.array_equal(one.leaves.noisy_counts, two.leaves.noisy_counts)
        assert np.array_equal(one.trees.threshold, two.trees.threshold)
        assert [about[1] for about in talk.public[: len(first)]] == first
        assert abs(talk.losses.sum()) <= 3.0 + 1e-9
        worst = max(worst, np.abs(talk.losses).sum())
    assert worst > 0.5


@every_criterion
def test_there_is_a_row_that_uses_nearly_all_of_epsilon(criterion):
    """There is a table on which the loss nearly reaches ε.

    One row is alone in its class. All tests but one isolate this row. But the tree takes the remaining test, and noise
    turns the leaves against the row, which is unlikely if the row is there.
    """
    n = 200
    X = pd.DataFrame({"f0": [0.0] * (n - 1) + [1.0], "f1": "c0"})
    y = np.array([0] * (n - 1) + [1])
    model = tree(
        domain=public_domain(None, 2),
        epsilon=0.6,
        max_depth=1,
        criterion=criterion,
        n_bins=900,
        n_bound=n,
        random_state=0,
        **PUBLIC,
    )
    talk = Transcript(last=True, far=np.array([1, 1]))
    talk.fit(model, X, y)
    talk.fit(model, X[: n - 1], y[: n - 1])
    split, counts = talk.losses
    assert counts == pytest.approx(0.3)
    assert 0.3 * 0.95 < -split <= 0.3 + 1e-9
    talk = Transcript(last=True, far=np.array([-1, -1]))
    talk.fit(model, X, y)
    talk.fit(model, X[: n - 1], y[: n - 1])
    assert 0.6 * 0.97 < abs(talk.losses.sum()) <= 0.6 + 1e-9


def test_only_information_gain_needs_a_bound_on_the_rows():
    X, y = random_table(DOMAIN, 21, 0)
    for criterion in ("max", "gini"):
        model = tree(criterion=criterion, n_bound=20).fit(X, y)
        assert not any("at most 20" in assumption for assumption in model.certificate_.assumptions)
    for mode, criterion in (("certified", "entropy"), ("as_published", "entropy"), ("as_published", "gain_ratio")):
        assumptions = tree(criterion=criterion, mode=mode).preview(DOMAIN, 21)[0].assumptions
        assert f"The table has at most {MAX_BOUND:,} rows." in assumptions
        with pytest.raises(ValueError, match="more rows than n_bound=20, on which the privacy guarantee depends"):
            tree(criterion=criterion, n_bound=20, mode=mode).fit(X, y)
    for n in (1, 21):
        assert tree(criterion="entropy", n_bound=50).preview(DOMAIN, n) == tree(
            criterion="entropy", n_bound=50
        ).preview(DOMAIN, 2)
    assert not any(
        "at most" in text
        for text in tree(criterion="entropy", neighbors="replace-one").preview(DOMAIN, 5)[0].assumptions
    )


@every_criterion
@pytest.mark.parametrize("n", [0, 1])
def test_a_fit_without_rows_gives_a_tree(criterion, n):
    X, y = random_table(DOMAIN, 20, 0)
    model = tree(criterion=criterion).fit(X[:n], y[:n])
    assert model.certificate_.certified and np.diff(model.forest_.trees.leaf_start).tolist() == [8]
    assert set(model.predict(X)) <= {0, 1}


# ---------------------------------------------------------------- without privacy


@pytest.mark.parametrize("criterion", ["gini", "entropy"])
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_the_nonprivate_model_is_cart(criterion, seed):
    domain, n = public_domain(None, None, None, n_classes=3), 600
    X, _ = random_table(domain, n, seed)
    y = np.digitize(X.f0 + X.f1**2 + 0.3 * np.random.default_rng(seed).normal(size=n), [0.6, 1.1])
    model = tree(domain=domain, epsilon=None, criterion=criterion, max_depth=3, n_bins=10).fit(X, y)
    bins = bin_rows(domain, X, y.astype(np.int32), np.arange(n), 10).bins
    cart = DecisionTreeClassifier(criterion=criterion, max_depth=3, random_state=0).fit(bins, y)
    assert same_parts(cart.apply(bins), model.apply(X)[:, 0])
    assert np.array_equal(model.predict(X), cart.predict(bins))
    assert model.forest_.leaves.noisy_counts.sum() == n


def test_the_nonprivate_model_by_max_has_the_most_rows_right_with_one_question():
    domain = public_domain(None, 4)
    for seed in range(5):
        X, y = random_table(domain, 80, seed)
        y = np.where(np.random.default_rng(seed).random(80) < 0.7, (X.f1 == "c2") ^ (X.f0 > 0.6), y).astype(int)
        model = tree(domain=domain, epsilon=None, max_depth=1, n_bins=5).fit(X, y)
        questions = [X.f0 >= k / 5 for k in range(1, 5)] + [X.f1 == f"c{k}" for k in range(4)]
        right = [sum(np.bincount(y[side], minlength=2).max() for side in (q, ~q)) for q in questions]
        assert model.score(X, y) * 80 == max(right)


def test_pure_nodes_are_not_split_without_privacy_and_all_are_with_it():
    X = pd.DataFrame({"f0": np.linspace(0, 1, 40), "f1": "c0"})
    y = (X.f0 > 0.5).to_numpy().astype(int)
    assert tree(epsilon=None).fit(X, y).forest_.trees.n_leaves == 2
    assert tree().fit(X, y).forest_.trees.n_leaves == 8


@every_criterion
@pytest.mark.parametrize("random_state", [None, 0])
def test_a_huge_epsilon_gives_the_nonprivate_model(criterion, random_state):
    X, _ = random_table(DOMAIN, 300, 0)
    y = ((X.f0 > 0.5) ^ (X.f1 == "c1")).to_numpy().astype(int)
    model = tree(criterion=criterion, epsilon=10_000, random_state=random_state, n_bound=300, **PUBLIC).fit(X, y)
    nonprivate = tree(criterion=criterion, epsilon=None).fit(X, y)
    assert np.array_equal(model.predict(X), nonprivate.predict(X))
    assert model.score(X, y) == 1


# ---------------------------------------------------------------- files and refusals


def test_a_file_and_a_pickle_hold_what_was_released():
    X, y = random_table(DOMAIN, 50, 0)
    model = tree().fit(X, y)
    text = model.released_.to_json()
    assert ReleasedForest.from_json(text).to_json() == text
    assert np.array_equal(ReleasedForest.from_json(text).class_shares(X), model.predict_proba(X))
    pickled = pickle.dumps(model)
    assert np.array_equal(pickle.loads(pickled).predict(X), model.predict(X))
    for name in (b"Source", b"QueryBudget", b"Trace", b"BinnedRows", b"SplitSelector"):
        assert name not in pickled


REFUSED = [
    ({"max_depth": 0}, "max_depth=0 is not a whole number from 1 to 15"),
    ({"max_depth": 16}, "max_depth=16 is not a whole number"),
    ({"max_depth": None}, "max_depth=None is not a whole number"),
    (
        {"criterion": "gain ratio"},
        "criterion='gain ratio' is not known; choose one of 'gini', 'max', 'entropy', 'gain_ratio'",
    ),
    ({"n_bins": 1}, "n_bins=1 is not a whole number from 2 to 1,000"),
    ({"n_bound": 0}, "n_bound=0 is not a whole number from 1"),
    ({"n_bound": 3.5}, "n_bound=3.5 is not a whole number"),
    ({"tree_share": 0}, "tree_share=0 is not a number between 0 and 1"),
    ({"tree_share": 1.0}, "tree_share=1.0 is not a number between 0 and 1"),
    ({"tree_share": math.nan}, "tree_share=nan is not a number between 0 and 1"),
    ({"tree_share": "half"}, "tree_share='half' is not a number between 0 and 1"),
    ({"tree_share": True}, "tree_share=True is not a number between 0 and 1"),
    ({"epsilon": 0}, "epsilon=0 is not a number from 0.0001 to 10,000"),
    ({"mode": "private"}, "mode='private' is not known"),
    ({"neighbors": "bounded"}, "neighbors='bounded' is not known"),
]


@pytest.mark.parametrize(("parameters", "sentence"), REFUSED)
def test_parameters_out_of_range_are_refused_with_a_sentence(parameters, sentence):
    X, y = random_table(DOMAIN, 20, 0)
    for mode in ("certified", "as_published"):
        model = tree(**{"mode": mode, **parameters})
        for ask in (lambda: model.fit(X, y), lambda: model.preview(DOMAIN, 20), lambda: model.check(DOMAIN, 20)):  # noqa: B023
            with pytest.raises(ValueError, match=f"^{sentence}") as error:
                ask()
            assert "\n" not in str(error.value)


@pytest.mark.parametrize("epsilon", [1.0, None])
def test_the_gain_ratio_is_available_only_as_published(epsilon):
    with pytest.raises(ValueError, match="^criterion='gain_ratio' has no bound on what one row changes; use it with"):
        tree(criterion="gain_ratio", epsilon=epsilon).fit(*random_table(DOMAIN, 20, 0))


def test_a_tree_that_needs_more_memory_than_available_is_refused():
    domain = public_domain(*[None] * 200, n_classes=10)
    with pytest.raises(ValueError, match="15 levels over .* need more than a gigabyte; choose a smaller max_depth"):
        tree(domain=domain, max_depth=15, n_bins=50).check(domain, 10)
    for depth, n_bins in itertools.product((1, 5), (2, 50)):
        tree(domain=domain, max_depth=depth, n_bins=n_bins).check(domain, 10)


def test_files_whose_split_sensitivity_is_rounded_to_the_nearest_tenth_are_still_read():
    X, y = random_table(DOMAIN, 21, 0)
    text = tree(criterion="gini").fit(X, y).released_.to_json()
    (splits,) = [e for e in json.loads(text)["ledger"]["entries"] if e["what"] == LEVELS_OF_SPLITS]
    current = Fraction(splits["sensitivity"])
    for stated, is_read in ((current - Fraction(1, 10), True), (current - Fraction(2, 10), False)):
        changed = text.replace(f'"sensitivity": "{current}"', f'"sensitivity": "{stated}"')
        assert changed != text
        if is_read:
            ReleasedForest.from_json(changed)
        else:
            with pytest.raises(ValueError, match="sensitivity"):
                ReleasedForest.from_json(changed)
