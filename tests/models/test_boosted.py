"""Boosted private trees: exact budgets, the loss of each release, and the leak of the published algorithm.

Statistical tests have fixed seeds. With random seeds, each test would fail by chance with probability at most 1e-6.
"""

import itertools
import json
import math
import pickle
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

from dpforest import BoostedForestClassifier, ReleasedForest
from dpforest.limits import MAX_BOUND
from dpforest.models.greedy.alpha_boost import UNIT
from dpforest.models.greedy.greedy import bin_rows
from dpforest.models.trace import Trace
from dpforest.privacy import published
from dpforest.privacy.ledger import BudgetError
from dpforest.trees.candidates import public_candidates
from dpforest.trees.forest import CuratorForest, ForestFormatError
from dpforest.trees.packed_arrays import pack, unpack
from dpforest.trees.released_scale import nested_counts
from tests.audit.transcripts import Transcript, neighbor, random_table
from tests.conftest import public_domain
from tests.models import plain_boosting

DOMAINS = {k: public_domain(None, 3, n_classes=k) for k in (2, 3)}
DOMAIN = DOMAINS[2]
ALPHAS = (0.0, 0.3, (1.0, 0.3), "schedule", "noisy", "carried")
LEAVES = (
    ("counts", "post"),
    ("counts", "one"),
    ("counts", "laplace"),
    ("range", "one"),
    ("range", "laplace"),
    ("range", "folded"),
)
RELATIONS = ("add-remove", "replace-one")
CHOICES = [
    (alpha, leaf, beta)
    for alpha, (leaf, beta) in itertools.product(ALPHAS, LEAVES)
    if alpha != "carried" or leaf == "counts"
]
every_choice = pytest.mark.parametrize(("alpha", "leaf", "beta"), CHOICES)
every_relation = pytest.mark.parametrize("neighbors", RELATIONS)


# With these settings, no query runs before trees grow, and leaves and coefficients are the paper's plus noise.
PLAIN = {"scale_share": "public", "max_leaf": 10.0, "shrink": False}
DEFAULTS = {"scale_share": "auto", "max_leaf": None, "shrink": None, "beta": None}


def booster(**parameters) -> BoostedForestClassifier:
    """Return a small booster. In the certified mode, it has the settings `PLAIN`, and computes β from noisy leaves."""
    small = {"domain": DOMAIN, "n_estimators": 3, "max_depth": 2, "n_bins": 4, "n_bound": 1_000}
    if parameters.get("mode") != "as_published":
        small |= PLAIN | ({} if "leaf" in parameters else {"beta": "post"})
    return BoostedForestClassifier(**{**small, **parameters})


def separable(n: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    X = np.random.default_rng(seed).random((n, 2))
    return X, (X[:, 0] + X[:, 1] / 2 > 0.75).astype(int)


# ---------------------------------------------------------------- charges


@every_choice
@every_relation
@pytest.mark.parametrize("n_classes", [2, 3])
def test_entries_sum_to_epsilon_and_a_preview_knows_them(alpha, leaf, beta, neighbors, n_classes):
    domain = DOMAINS[n_classes]
    model = booster(
        domain=domain,
        epsilon=0.7,
        alpha=alpha,
        leaf=leaf,
        beta=beta,
        neighbors=neighbors,
        tree_share=0.35,
        calibration_share=0.15,
        scale_share=0.1,
    )
    certificate, ledger = model.preview(domain, 20)
    model.fit(*random_table(domain, 20, 0))
    assert model.ledger_ == ledger and model.certificate_ == certificate
    assert model.ledger_.closed
    assert sum(entry.epsilon for entry in ledger.entries) == ledger.spent == Fraction(7, 10)
    assert model.certificate_.certified and model.certificate_.loss == Fraction(7, 10)
    assert ledger.entries[0].what.startswith("scale of numeric") and ledger.entries[0].epsilon == Fraction(7, 100)
    for_trees = ledger.spent * Fraction(9, 10)
    share = {entry.what.split()[0]: entry.epsilon / for_trees for entry in ledger.entries[1:]}
    assert set(share) == {"splits,", "values" if leaf == "range" else "class"} | (
        {"error"} if alpha == "noisy" else set()
    ) | ({"coefficient"} if beta == "laplace" else set())
    assert share["splits,"] + share.get("error", 0) == Fraction(35, 100)
    assert share.get("error", 0) == (Fraction(35, 100) * Fraction(15, 100) if alpha == "noisy" else 0)
    assert share.get("coefficient", 0) == (Fraction(65, 1000) if beta == "laplace" else 0)
    assert all(entry.rows == (1 if neighbors == "add-remove" else 2) for entry in ledger.entries)
    assert all(entry.composition == "sequential" for entry in ledger.entries)


def test_numbers_of_numpy_are_exact_as_well():
    model = booster(
        epsilon=np.float64(0.3),
        n_estimators=np.int64(3),
        max_depth=np.int32(3),
        n_bins=np.int64(5),
        tree_share=np.float32(0.1),
        alpha=np.float64(0.3),
        alpha_link=np.float32(0.5),
        max_leaf=np.float32(3),
        n_bound=np.int64(500),
    )
    model.fit(*random_table(DOMAIN, 20, 0))
    assert model.ledger_.spent == Fraction(3, 10)
    assert model.ledger_.entries[0].epsilon == Fraction(3, 100)
    text = model.released_.to_json()
    assert ReleasedForest.from_json(text).to_json() == text


@every_choice
@every_relation
@pytest.mark.parametrize("n_classes", [2, 3])
def test_no_release_is_more_than_exp_epsilon_as_likely_on_a_neighbor(alpha, leaf, beta, neighbors, n_classes):
    """Over a whole fit, a release is at most exp(ε) times as likely on a neighboring table.

    The rows that both tables share have equal weights in both fits, because weights follow from released values alone.
    Before trees grow, the fit queries two things: the number of rows (unless it is public), then the scale.
    """
    domain, n, worst = DOMAINS[n_classes], 8, 0.0
    first = [(1, 1)] * (neighbors == "add-remove") + [nested_counts(np.zeros((1, 64), np.int64)).shape]
    share = "auto" if neighbors == "add-remove" else 0.05  # for eight rows, the default rule would skip the scale
    for seed in range(3):
        X, y = random_table(domain, n, seed)
        model = booster(
            domain=domain,
            epsilon=3.0,
            alpha=alpha,
            leaf=leaf,
            beta=beta,
            neighbors=neighbors,
            tree_share=0.4,
            calibration_share=0.3,
            max_leaf=5.0,
            n_bound=n,
            random_state=0,
            scale_share=share,
            shrink=None,
        )
        row, talk = seed + 2, Transcript(seed)
        one = talk.fit(model, X, y)
        two = talk.fit(model, *neighbor(domain, X, y, neighbors, row))
        assert np.array_equal(one.leaves.leaf_values, two.leaves.leaf_values)  # both fits got the same noisy answers
        assert [about[1] for about in talk.public[: len(first)]] == first
        others = np.arange(n) != row
        kept = others if neighbors == "replace-one" else np.ones(n - 1, bool)
        for before, after in zip(*talk.weights, strict=True):
            assert np.array_equal(before[others], after[kept])
        assert abs(talk.losses.sum()) <= 3.0 + 1e-9
        worst = max(worst, np.abs(talk.losses).sum())
    assert worst > 0.1  # the row changed some answers


@pytest.mark.parametrize("alpha", [0.0, 1.0, "noisy", "carried", "schedule"])
def test_there_is_a_row_that_uses_nearly_all_of_epsilon(alpha):
    """There is a table on which the loss nearly reaches ε, so the ledger does not charge too much.

    One row is alone in its class. All tests but one isolate this row. But each tree takes the remaining test, and noise
    turns the leaves against the row, which is unlikely if the row is there.
    """
    domain = public_domain(None, 2)
    X = pd.DataFrame({"f0": [0.0] * 7 + [1.0], "f1": ["c0"] * 8})
    y = np.array([0] * 7 + [1])
    model = booster(
        domain=domain,
        epsilon=0.6,
        n_estimators=4,
        max_depth=1,
        alpha=alpha,
        beta="one",
        n_bins=900,
        n_bound=8,
        random_state=0,
    )
    talk = Transcript(last=True, far=np.array([-1, -1]))
    talk.fit(model, X, y)
    talk.fit(model, X[:7], y[:7])
    assert 0.6 * 0.93 < talk.losses.sum() * -1 <= 0.6 + 1e-9


@pytest.mark.parametrize("beta", ["one", "laplace"])
def test_a_row_that_gains_weight_uses_nearly_all_of_epsilon(beta):
    """The loss nearly reaches ε even if a row gains weight from tree to tree.

    This test is like `test_there_is_a_row_that_uses_nearly_all_of_epsilon`, but noise makes all leaves vote for the
    class of the other rows. So the weight of the row reaches its public bound.
    """
    domain, n = public_domain(None, 2), 1_000
    X = pd.DataFrame({"f0": [0.0] * (n - 1) + [1.0], "f1": "c0"})
    y = np.array([0] * (n - 1) + [1])
    model = booster(
        domain=domain,
        epsilon=0.6,
        n_estimators=3,
        max_depth=1,
        alpha=0.0,
        beta=beta,
        n_bins=900,
        n_bound=n,
        random_state=0,
    )
    talk = Transcript(last=True, far=np.array([1, -1]))
    talk.fit(model, X, y)
    talk.fit(model, X[: n - 1], y[: n - 1])
    assert (talk.losses < 0).all()
    assert 0.6 * 0.93 < -talk.losses.sum() <= 0.6 + 1e-9
    assert talk.weights[0][2][-1] > (0.99 if beta == "one" else 0.6) * UNIT


def test_replacing_a_row_uses_nearly_the_whole_charge_of_the_leaves():
    domain = public_domain(None, 2)
    X = pd.DataFrame({"f0": [0.0] * 7 + [1.0], "f1": ["c0"] * 8})
    y = np.array([0] * 7 + [1])
    model = booster(
        domain=domain,
        epsilon=0.6,
        n_estimators=1,
        max_depth=1,
        alpha=0.0,
        n_bins=900,
        tree_share=0.01,
        neighbors="replace-one",
        random_state=0,
    )
    talk = Transcript(last=True, far=np.array([1, -1]))
    talk.fit(model, X, y)
    talk.fit(model, X.assign(f0=0.0), np.zeros(8, int))
    assert 0.6 * 0.98 < abs(talk.losses.sum()) <= 0.6 + 1e-9


@pytest.mark.parametrize(("leaf", "beta"), [("counts", "one"), ("range", "one")])
def test_weights_stay_below_their_public_bound_which_grows(leaf, beta):
    X, y = random_table(DOMAIN, 200, 0)
    trace = Trace()
    model = booster(epsilon=20.0, n_estimators=6, alpha=1.0, leaf=leaf, beta=beta, random_state=0)
    model.fit_encoded(DOMAIN, bin_rows(DOMAIN, X, y.astype(np.int32), np.arange(200), 4), trace=trace)
    bounds = [tree.bound for tree in trace.trees]
    assert bounds[0] == 0.5 and bounds == sorted(bounds) and bounds[-1] > 0.8
    assert all(tree.weights[-1] <= tree.bound for tree in trace.trees)
    assert max(tree.weights[-1] for tree in trace.trees) > 0.55
    reach = np.cumsum([0, *(np.abs(tree_values).max() for tree_values in np.split(leaf_values_of(model, X, y), 6))])[
        :-1
    ]
    expected = [math.ceil(UNIT * plain_boosting.inverse_link(r, 1.0)) / UNIT for r in reach]
    assert bounds == expected  # computed from released values alone


def leaf_values_of(model, X, y) -> np.ndarray:
    return clone(model).fit(X, y).forest_.leaves.leaf_values


# ---------------------------------------------------------------- the number of rows


def test_under_add_remove_nothing_depends_on_the_number_of_rows():
    model = booster()
    for n in (0, 1, 1_000):
        certificate, ledger = model.preview(DOMAIN, n)
        assert (certificate, ledger) == model.preview(DOMAIN, 20)
        assert "The table has at most 1,000 rows." in certificate.assumptions
    assert model.spec(DOMAIN, 20).n_bound == 1_000
    assert booster(n_bound=None).spec(DOMAIN, 20).n_bound == MAX_BOUND


def test_a_table_that_breaks_its_bound_is_refused():
    X, y = random_table(DOMAIN, 21, 0)
    for refuse in (lambda: booster(n_bound=20).fit(X, y), lambda: booster(n_bound=20).preview(DOMAIN, 21)):
        with pytest.raises(
            ValueError, match="more rows than n_bound=20, on which the privacy guarantee depends"
        ) as error:
            refuse()
        assert "21" not in str(error.value)  # the message is safe to show
    booster(n_bound=21).fit(X, y)
    with pytest.raises(ValueError, match=f"more rows than the {MAX_BOUND:,} that this forest accepts"):
        booster(n_bound=None).preview(DOMAIN, MAX_BOUND + 1)


def test_under_replace_one_the_number_of_rows_is_public_and_used():
    model = booster(neighbors="replace-one", n_bound=None, alpha=1.0)
    assert [model.spec(DOMAIN, n).n_bound for n in (1, 20, 700)] == [1, 20, 700]
    few, many = (model.preview(DOMAIN, n)[1].entries[0].sensitivity for n in (20, 700))
    assert few < many
    assert "The number of rows, counted before any row was left out, is public." in (
        model.preview(DOMAIN, 20)[0].assumptions
    )


@pytest.mark.parametrize("n", [1, 2, 7, 1_000, MAX_BOUND])
@pytest.mark.parametrize("alpha", [0.0, 0.3, 1.0, (0.2, 0.9), "noisy", "schedule"])
def test_the_ledger_states_no_less_than_a_row_can_do_to_a_score(n, alpha):
    stated = booster(neighbors="replace-one", alpha=alpha).preview(DOMAIN, n)[1].entries[0].sensitivity
    used = [0.0, 1.0] if isinstance(alpha, str) else alpha if isinstance(alpha, tuple) else [alpha]
    # α is rounded to a multiple of 1/1024
    assert stated >= max(2 * (a * math.sqrt(n - 1) + 1 - a) for a in used) * (1 - 1 / UNIT)


@pytest.mark.parametrize("n", [0, 1])
def test_fits_of_zero_rows_and_of_one_row(n):
    X, y = random_table(DOMAIN, 20, 0)
    for alpha, beta in itertools.product((0.0, "noisy"), ("post", "laplace")):
        model = booster(**{**DEFAULTS, "alpha": alpha, "beta": beta}).fit(X[:n], y[:n])
        assert model.certificate_.certified
        assert np.isfinite(model.predict_proba(X)).all()


# ---------------------------------------------------------------- as published


def accuracies(n_seeds: int, **parameters) -> np.ndarray:
    X, y = separable(2_000, 0)
    held_out, truth = separable(1_000, 1)
    model = BoostedForestClassifier(
        domain=public_domain(None, None),
        epsilon=1e-4,
        n_estimators=20,
        max_depth=6,
        alpha=1.0,
        neighbors="replace-one",
        **parameters,
    )
    return np.array([clone(model).set_params(random_state=s).fit(X, y).score(held_out, truth) for s in range(n_seeds)])


@pytest.mark.slow
def test_the_published_booster_learns_at_a_tiny_epsilon():
    """At ε = 0.0001 nothing can be learned privately, but the published booster learns from its exact coefficients.

    Classes are balanced, and at this ε an exchange of the classes hardly changes a release. So the accuracy of a
    certified forest is above 1/2 about as often as below. This accuracy has a standard deviation of 0.1, so the mean
    of ten differs from 1/2 by 0.2 with probability below 1e-6. The published accuracies are all above 3/4.
    """
    assert accuracies(10, mode="as_published").min() > 0.75
    assert abs(accuracies(10, mode="as_published", beta="one").mean() - 0.5) < 0.2
    assert abs(accuracies(10).mean() - 0.5) < 0.2


def test_as_published_one_row_changes_the_weights_of_all_others():
    X, y = random_table(DOMAIN, 40, 0)
    changed = {}
    for mode in ("as_published", "certified"):
        model, talk = booster(mode=mode, epsilon=1e4, random_state=0, alpha=1.0), Transcript()
        talk.fit(model, X, y)
        talk.fit(model, X.drop(index=7), np.delete(y, 7))
        first, second = (np.delete(talk.weights[0][t], 7) != talk.weights[1][t] for t in (0, 1))
        assert not first.any()
        changed[mode] = second.mean()
    # The removed row is the only difference, because both fits get the same noisy answers.
    assert changed["as_published"] > 0.25 and changed["certified"] == 0


def test_as_published_splits_follow_the_law_of_the_paper():
    """The probability of a split is proportional to exp(-ε_ν f / (2 Δ)).

    Here ε_ν = β_tree ε / (T d 2^depth) and Δ = 3 + 2 α (√m - 1).
    """
    domain, n, alpha = public_domain(None, 3), 60, 0.5
    X, y = random_table(domain, n, 0)
    says_yes = plain_boosting.answers(plain_boosting.public_tests(domain, 4), X)
    candidates = public_candidates(domain, 4)
    for seed in range(5):
        model = booster(
            domain=domain, epsilon=400.0, mode="as_published", alpha=alpha, n_estimators=2, random_state=seed
        )
        trace, tree = traced(model, X, y).trees[0], model.fit(X, y).forest_.trees.select(0)
        chosen = [
            int(np.flatnonzero((candidates.feature == f) & (candidates.threshold == t))[0])
            for f, t in zip(tree.feature[:3], tree.threshold[:3], strict=True)
        ]
        nodes = [np.ones(n, bool), ~says_yes[chosen[0]], says_yes[chosen[0]]]
        for node, (rows, choice) in enumerate(zip(nodes, chosen, strict=True)):
            sides = [
                [(rows & side & (y == k)).sum() / 2 for k in (1, 0)] for test in says_yes for side in (~test, test)
            ]
            f = 2 * np.array([plain_boosting.potential(*side, alpha) for side in sides]).reshape(-1, 2).sum(axis=1)
            epsilon, delta = 0.5 * 400 / (2 * 2 * 2 ** (node > 0)), 3 + 2 * alpha * (math.sqrt(n) - 1)
            weight = np.exp(-epsilon * (f - f.min()) / (2 * delta))
            probability = np.concatenate(trace.probability)[node]
            # The tolerance is needed because the library rounds potentials to a grid.
            assert probability == pytest.approx(weight[choice] / weight.sum(), rel=0.02)


GAPS = {
    "published": {"G1", "G3"},
    "one": set(),
    "laplace": set(),
    "folded": set(),
}


@pytest.mark.parametrize("alpha", [0.0, 0.5, 1.0, (1.0, 0.5), "schedule", "noisy", "published", None])
@pytest.mark.parametrize("beta", [None, *GAPS])
@every_relation
@pytest.mark.parametrize("n_classes", [2, 3])
def test_as_published_the_certificate_lists_its_gaps(alpha, beta, neighbors, n_classes):
    model = booster(domain=DOMAINS[n_classes], mode="as_published", alpha=alpha, beta=beta, neighbors=neighbors)
    model.fit(*random_table(DOMAINS[n_classes], 20, 0))
    expected = {"G4", "G8"} | GAPS[beta or "published"]
    if alpha in ("noisy", "published", None):
        expected.add("G2")
    if neighbors == "add-remove":
        expected.add("G6")
    reasons = model.certificate_.reasons
    assert {reason[:2] for reason in reasons if reason[0] == "G"} == expected
    assert reasons[-1] == published.REPRODUCTION
    assert not model.certificate_.certified and model.certificate_.true_epsilon == math.inf
    assert model.certificate_ == model.preview(DOMAINS[n_classes], 20)[0]
    assert isinstance(model.forest_, CuratorForest) and not hasattr(model.forest_, "to_json")
    assert model.ledger_.epsilon is None and not model.ledger_.closed


@pytest.mark.parametrize("beta", ["published", "one", "laplace", "folded"])
def test_as_published_noise_comes_before_the_clamp(beta):
    """As published, noise is added before the clamp.

    A leaf with rows of one class has the value ψ(1 - ζ) = 99.98, so noise of scale 8 changes its class with probability
    exp(-12.5) / 2 = 2e-6. If leaves were clamped to [-1, 1] first, as in certified mode, noise would change the class
    of four leaves in nine. The test checks eight leaves.
    """
    X = pd.DataFrame({"f0": np.r_[np.zeros(50), np.ones(50)]})
    y = np.r_[np.zeros(50, int), np.ones(50, int)]
    model = booster(
        domain=public_domain(None),
        mode="as_published",
        epsilon=1.0,
        n_estimators=1,
        max_depth=1,
        alpha=1.0,
        max_leaf=1.0,
        n_bins=2,
        beta=beta,
    )
    for seed in range(4):
        forest = model.set_params(random_state=seed).fit(X, y).forest_
        low, high = forest.leaves.leaf_values * (1 if beta != "laplace" else np.sign(forest.leaves.leaf_values[1]))
        assert low < 0 < high and low == pytest.approx(-high)


@pytest.mark.parametrize(("alpha", "bound", "there"), [(0.1, 100.0, False), (0.1, 10.0, True), (1.0, 100.0, False)])
def test_as_published_a_bound_that_no_leaf_passes_leaves_no_gap(alpha, bound, there):
    """The certificate lists gap G4 exactly if `max_leaf` is below ψ(1 - ζ): 11.80 at α = 0.1, 99.98 at α = 1."""
    reasons = booster(mode="as_published", alpha=alpha, max_leaf=bound).preview(DOMAIN, 20)[0].reasons
    assert any(reason.startswith("G4") for reason in reasons) == there


@pytest.mark.parametrize("how", [{"mode": "as_published"}, {"epsilon": None}, {"beta": "post"}, {"leaf": "range"}])
def test_the_step_size_is_the_free_parameter_of_the_paper(how):
    """With the same draws, the leaves of a single tree are proportional to `step_factor`, which changes no charge."""
    X, y = random_table(DOMAIN, 60, 0)
    model = booster(n_estimators=1, alpha=0.5, random_state=0, **how)
    plain = clone(model).fit(X, y)
    for factor in (0.25, 1.75):
        other = clone(model).set_params(step_factor=factor).fit(X, y)
        assert other.forest_.leaves.leaf_values == pytest.approx(factor * plain.forest_.leaves.leaf_values)
        assert other.ledger_ == plain.ledger_ and other.certificate_ == plain.certificate_
    for factor in (0, 2, math.nan, True, "1"):
        with pytest.raises(ValueError, match=f"^step_factor={factor!r} is not a number from 0.001 to 1.999$"):
            clone(model).set_params(step_factor=factor).fit(X, y)


# ---------------------------------------------------------------- without privacy


@pytest.mark.parametrize("alpha", [0.0, 0.1, 0.5, 1.0, "noisy"])
@pytest.mark.parametrize("seed", [1, 2, 5])
def test_the_nonprivate_model_is_the_algorithm(alpha, seed):
    domain = public_domain(None, None, 4, 2)
    X, _ = random_table(domain, 60, seed)
    noise = np.random.default_rng(seed).normal(size=60)
    y = (X.f0 + 0.3 * noise + 0.3 * (X.f2 == "c1") > 0.6).to_numpy().astype(int)
    model = booster(domain=domain, epsilon=None, alpha=alpha, n_estimators=4, max_depth=3, n_bins=6).fit(X, y)
    fixed = alpha if isinstance(alpha, float) else None  # without privacy, "noisy" calibrates α without noise
    by_hand = {"n_bins": 6, "depth": 3, "n_trees": 4, "alpha": fixed, "alpha_link": fixed or 1.0}
    leaf_of, margin, closest = plain_boosting.boost(X, y, domain, **by_hand)
    # The best tests lead by more than scores are rounded, so both programs choose the same tests. For α = 0, scores are
    # not rounded.
    assert closest > (2 / UNIT if alpha else 0)
    leaves = model.apply(X)
    assert all(plain_boosting.same_parts(leaves[:, t], leaf_of[t]) for t in range(4))
    margins = model.forest_.leaves.leaf_values[leaves].sum(axis=1)
    assert np.allclose(margins, margin, rtol=0, atol=1e-12)
    if alpha:  # Rounding weights to multiples of 1/1024 hardly changes margins. For α = 0, rounding decides ties.
        _, margin, _ = plain_boosting.boost(X, y, domain, **by_hand, grid=False)
        assert np.allclose(margins, margin, atol=0.02 * np.abs(margin).max())
    assert np.array_equal(model.predict(X), (margins > 0).astype(int))


def test_each_of_many_classes_has_trees_that_separate_it_from_the_rest():
    domain = public_domain(None, None, 4, n_classes=3)
    X, _ = random_table(domain, 90, 3)
    y = np.digitize(X.f0 + 0.2 * np.random.default_rng(3).normal(size=90), [0.4, 0.7])
    model = booster(domain=domain, epsilon=None, alpha=1.0, n_estimators=2, n_bins=6).fit(X, y)
    values = model.forest_.leaves.leaf_values[model.apply(X)]
    assert model.forest_.leaves.class_of_tree.tolist() == [0, 0, 1, 1, 2, 2]
    for c in range(3):
        _, margin, closest = plain_boosting.boost(
            X, (y == c).astype(int), domain, n_bins=6, depth=2, n_trees=2, alpha=1.0, alpha_link=1.0
        )
        assert closest > 2 / UNIT
        assert np.allclose(values[:, 2 * c : 2 * c + 2].sum(axis=1), margin, rtol=0, atol=1e-12)
    scores = values.reshape(90, 3, 2).sum(axis=2)
    assert np.array_equal(model.predict(X), scores.argmax(axis=1))


def traced(model, X, y) -> Trace:
    trace = Trace()
    rows = bin_rows(model.domain, X, y.astype(np.int32), np.arange(len(y)), model.n_bins)
    model.fit_encoded(model.domain, rows, trace=trace)
    return trace


def test_weights_are_frozen_for_a_small_alpha():
    """For a small α, the first trees change no weight, so these trees are equal.

    A weight changes once a margin exceeds 2 (1 - α), and a tree adds at most α / 2 to a margin. For α = 0.1, this takes
    36 trees.
    """
    domain = public_domain(None, None)
    X, y = separable(400, 0)
    model = booster(domain=domain, epsilon=None, n_estimators=20, alpha=0.1)
    for tree in traced(model, X, y).trees:
        assert set(tree.weights) == {0.5}
    leaves = model.fit(X, y).apply(X)
    assert all(plain_boosting.same_parts(leaves[:, 0], leaves[:, t]) for t in range(20))  # all 20 trees are equal
    moving = traced(model.set_params(alpha=1.0, n_estimators=2), X, y).trees
    assert set(moving[0].weights) == {0.5}
    assert moving[1].weights[0] < 0.45
    private = booster(domain=domain, epsilon=50.0, n_estimators=20, alpha=0.1, n_bound=400, random_state=0)
    assert all(set(tree.weights) == {0.5} for tree in traced(private, X, y).trees)


def test_exact_calibration_lowers_alpha_from_level_to_level():
    X, y = separable(400, 0)
    for tree in traced(booster(domain=public_domain(None, None), epsilon=None, alpha="noisy", max_depth=4), X, y).trees:
        assert tree.alpha[0] == 1.0
        assert tree.alpha == sorted(tree.alpha, reverse=True) and tree.alpha[-1] < 0.5


@pytest.mark.parametrize("alpha", ["noisy", "carried"])
def test_calibration_by_noise_follows_the_exact_one_when_epsilon_is_large(alpha):
    X, y = separable(2_000, 0)
    domain = public_domain(None, None)
    model = booster(domain=domain, epsilon=5_000.0, alpha=alpha, n_bound=2_000, random_state=0, n_estimators=2)
    trees = traced(model, X, y).trees
    for tree in trees[1:]:
        assert tree.alpha[0] == 1.0 and 0.1 < tree.alpha[1] < 0.6
    assert trees[0].alpha != trees[1].alpha  # each tree is calibrated separately
    assert trees[0].alpha[1] == pytest.approx(0.7, abs=1e-3) if alpha == "carried" else trees[0].alpha[1] < 0.6


# ---------------------------------------------------------------- files


@pytest.fixture(scope="module")
def texts() -> dict[int, str]:
    out = {}
    for k, domain in DOMAINS.items():
        model = booster(**DEFAULTS, domain=domain, alpha=[0.5, 0.25], alpha_link=0.3).fit(*random_table(domain, 50, 0))
        out[k] = model.released_.to_json()
    return out


@pytest.mark.parametrize("n_classes", [2, 3])
def test_a_file_predicts_the_same_to_the_last_bit(texts, n_classes):
    X, y = random_table(DOMAINS[n_classes], 50, 0)
    model = booster(**DEFAULTS, domain=DOMAINS[n_classes]).fit(X, y)
    again = ReleasedForest.from_json(model.released_.to_json())
    assert np.array_equal(again.predict(X), model.predict(X))
    assert again.class_shares(X).tobytes() == model.predict_proba(X).tobytes()
    assert ReleasedForest.from_json(texts[n_classes]).to_json() == texts[n_classes]
    assert (again.certificate, again.ledger) == (model.certificate_, model.ledger_)


def unpacked(entry: dict) -> np.ndarray:
    return unpack(entry, tuple(entry["shape"])).copy()


def tampered(content: dict, name: str, value: float) -> dict:
    cells = unpacked(content[name])
    cells = cells.astype(int) if cells.dtype.kind in "iu" else cells
    cells[-1] = value
    return {**content, name: pack(cells)}


@pytest.mark.parametrize("n_classes", [2, 3])
def test_a_tampered_file_is_refused(texts, n_classes):
    content = json.loads(texts[n_classes])
    n_trees = len(unpacked(content["class_of_tree"]))
    labels = pack(np.zeros(len(unpacked(content["leaf_values"])), int))
    bad = [tampered(content, "leaf_values", value) for value in (math.nan, math.inf, -math.inf, 1e300, -2e6)]
    bad += [tampered(content, "class_of_tree", value) for value in (-1, n_classes, 255, 32_767)]
    bad += [
        {key: part for key, part in content.items() if key != gone}
        for gone in ("alpha_link", "class_of_tree", "leaf_values", "voting")
    ]
    bad += [{**content, "alpha_link": value} for value in (0, -0.5, 1.5, math.nan, math.inf, None, "α", [])]
    bad += [{**content, "voting": value} for value in ("majority", "threshold", "probabilistic", "loud", None, 3)]
    bad += [
        {**content, "labels": labels},
        {**{key: part for key, part in content.items() if key != "leaf_values"}, "labels": labels},
        {**content, "leaf_values": pack(np.zeros(3))},
        {**content, "leaf_values": labels},
        {**content, "leaf_values": {**content["leaf_values"], "type": "f4"}},
        {**content, "class_of_tree": pack(np.ones(n_trees + 1, int))},
        {**content, "class_of_tree": pack(np.ones((1, n_trees), int))},
        {**content, "class_of_tree": pack(np.ones(0, int))},
    ]
    if n_classes == 2:  # the forest stores the score of the second class; the first class has the negative score
        bad.append(tampered(content, "class_of_tree", 0))
    for wrong in bad:
        with pytest.raises(ForestFormatError) as error:
            ReleasedForest.from_json(json.dumps(wrong))
        assert str(error.value).endswith(".") and "\n" not in str(error.value)
    for value in (0.0, -1e6, 5e-324):  # valid leaf values
        assert ReleasedForest.from_json(json.dumps(tampered(content, "leaf_values", value)))


def test_a_pickle_holds_what_was_released_and_nothing_that_replays_noise():
    X, y = random_table(DOMAIN, 50, 0)
    model = booster(**{**DEFAULTS, "alpha": "noisy", "beta": "laplace"}).fit(X, y)
    text = pickle.dumps(model)
    assert np.array_equal(pickle.loads(text).predict_proba(X), model.predict_proba(X))
    for name in (b"Source", b"BoostMechanism", b"QueryBudget", b"Trace", b"BinnedRows", b"boosting", b"alpha_boost"):
        assert name not in text
    fitted = {name for name in vars(model) if name.endswith("_")}
    assert fitted == {
        "forest_",
        "domain_",
        "classes_",
        "certificate_",
        "ledger_",
        "n_features_in_",
        "feature_names_in_",
    }
    assert model.forest_.seed == 0
    other = clone(model).fit(X, y)  # leaf values are equal with probability far below 1e-6
    assert not np.array_equal(other.forest_.leaves.leaf_values, model.forest_.leaves.leaf_values)


# ---------------------------------------------------------------- refusals

REFUSED = [
    ({"max_depth": 0}, "max_depth=0 is not a whole number from 1 to 15"),
    ({"max_depth": 16}, "max_depth=16 is not a whole number from 1 to 15"),
    ({"max_depth": 2.5}, "max_depth=2.5 is not a whole number"),
    ({"max_depth": None}, "max_depth=None is not a whole number"),
    ({"n_bins": 1}, "n_bins=1 is not a whole number from 2 to 1,000"),
    ({"n_bins": "many"}, "n_bins='many' is not a whole number"),
    ({"n_bound": 0}, f"n_bound=0 is not a whole number from 1 to {MAX_BOUND:,}"),
    ({"n_bound": MAX_BOUND + 1}, f"n_bound={MAX_BOUND + 1} is not a whole number"),
    ({"n_bound": 1e4}, "n_bound=10000.0 is not a whole number"),
    (
        {"alpha": 1.5},
        "alpha=1.5 is not known; give a number from 0 to 1, a list with a number for each level, or one of",
    ),
    ({"alpha": -0.1}, "alpha=-0.1 is not known"),
    ({"alpha": math.nan}, "alpha=nan is not known"),
    ({"alpha": True}, "alpha=True is not known"),
    ({"alpha": "steep"}, "alpha='steep' is not known; choose one of 'noisy', 'carried', 'schedule', 'published'"),
    ({"alpha": []}, "alpha is an empty list"),
    ({"alpha": [0.5]}, "alpha is a list of 1 numbers for 2 levels; give one for each level"),
    ({"alpha": [0.5, "low"]}, r"alpha=\[0.5, 'low'\] is not known"),
    ({"alpha": "published"}, "alpha='published' does not keep its privacy promise; use it with mode='as_published'"),
    ({"alpha": "carried", "leaf": "range"}, "alpha='carried' reads the noisy leaves of the previous tree"),
    ({"alpha": "carried", "mode": "as_published"}, "alpha='carried' reads the noisy leaves .* mode='certified'"),
    ({"alpha_link": 0}, "alpha_link=0 is not a number from 0.000001 to 1"),
    ({"alpha_link": 1.01}, "alpha_link=1.01 is not a number"),
    ({"alpha_link": "alpha"}, "alpha_link='alpha' is not a number"),
    ({"max_leaf": 0}, "max_leaf=0 is not a number from 0.001 to 1,000,000"),
    ({"max_leaf": 1e-200}, "max_leaf=1e-200 is not a number"),
    ({"max_leaf": 1e7}, "max_leaf=10000000.0 is not a number"),
    ({"max_leaf": math.nan}, "max_leaf=nan is not a number"),
    ({"max_leaf": "any"}, "max_leaf='any' is not a number"),
    ({"leaf": "exact"}, "leaf='exact' is not known; choose one of None, 'counts', 'range', 'published'"),
    ({"leaf": "published"}, "leaf='published' does not keep its privacy promise; use it with mode='as_published'"),
    (
        {"leaf": "counts", "mode": "as_published"},
        "leaf='counts' is not the paper's choice; use it with mode='certified' only",
    ),
    ({"leaf": "range", "mode": "as_published"}, "leaf='range' is not the paper's choice"),
    (
        {"beta": "exact"},
        "beta='exact' is not known; choose one of None, 'post', 'one', 'laplace', 'folded', 'published'",
    ),
    ({"beta": "folded"}, "beta='folded' cannot be combined with leaf='counts'; choose one of 'post', 'one', 'laplace'"),
    (
        {"beta": "post", "leaf": "range"},
        "beta='post' cannot be combined with leaf='range'; choose one of 'one', 'laplace'",
    ),
    ({"beta": "post", "mode": "as_published"}, "beta='post' cannot be combined with leaf='published'"),
    ({"beta": "published"}, "beta='published' cannot be combined with leaf='counts'"),
    ({"shrink": "yes"}, "shrink='yes' is neither True nor False"),
    ({"tree_share": 0}, "tree_share=0 is not a number between 0 and 1"),
    ({"tree_share": 1}, "tree_share=1 is not a number between 0 and 1"),
    ({"tree_share": math.nan}, "tree_share=nan is not a number between 0 and 1"),
    ({"tree_share": "half"}, "tree_share='half' is not a number between 0 and 1"),
    ({"calibration_share": -0.1}, "calibration_share=-0.1 is not a number between 0 and 1"),
    ({"calibration_share": None}, "calibration_share=None is not a number between 0 and 1"),
]


@pytest.mark.parametrize(("parameters", "sentence"), REFUSED)
def test_parameters_out_of_range_are_refused_with_a_sentence(parameters, sentence):
    X, y = random_table(DOMAIN, 20, 0)
    model = booster(**parameters)
    for ask in (lambda: model.fit(X, y), lambda: model.preview(DOMAIN, 20), lambda: model.check(DOMAIN, 20)):
        with pytest.raises(ValueError, match=f"^{sentence}") as error:
            ask()
        assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    "parameters",
    [
        {"n_estimators": 1_000},
        {"leaf": "range", "beta": "folded", "max_depth": 8},
        {"alpha": "noisy", "n_estimators": 20},
        {"beta": "laplace", "n_estimators": 500},
    ],
)
def test_a_budget_too_small_for_exact_noise_is_refused_before_a_row_is_read(parameters):
    model = booster(epsilon=1e-4, **parameters)
    with pytest.raises(
        BudgetError,
        match="the samplers cannot draw the noise for so small a part; use a larger epsilon, or fewer trees or levels",
    ):
        model.check(DOMAIN, 20)
    small = {name: value for name, value in parameters.items() if name not in ("n_estimators", "max_depth")}
    X, y = random_table(DOMAIN, 20, 0)
    assert booster(epsilon=0.1, **small).fit(X, y).certificate_.certified
    # only a simulation accepts this budget
    assert not booster(epsilon=1e-4, **small, random_state=0).fit(X, y).certificate_.certified
