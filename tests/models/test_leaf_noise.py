"""The probability that noise flips the class of a leaf: closed forms against redraws and real fits.

Statistical tests have fixed seeds. With random seeds, each test would fail by chance with probability at most
`FALSE_ALARM`. To redraw means to draw the noise of the same leaves many times.
"""

from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from dpforest import BoostedForestClassifier, FriedmanSchusterClassifier, MultinomialForestClassifier
from dpforest.models.greedy import boost_mechanisms
from dpforest.models.greedy.greedy import bin_rows
from dpforest.models.leaf_noise import (
    CountNoise,
    FrequencyNoise,
    ValueNoise,
    WeightNoise,
    draw_by_frequency,
    frequency_pmf,
)
from dpforest.models.trace import Trace
from dpforest.privacy import mechanisms
from dpforest.voting import NEGATIVE_RULES
from tests.audit.transcripts import random_table
from tests.conftest import public_domain, some

FALSE_ALARM = 1e-6
COUNTS = np.array([[0, 0], [1, 0], [3, 5], [4, 4], [0, 30], [7, 2], [0, 1]])
MANY = np.array([[0, 0, 0], [2, 2, 1], [5, 1, 0], [3, 3, 3], [0, 9, 7], [1, 0, 0]])


def count_noises():
    for counts, name in ((COUNTS, "two"), (MANY, "three")):
        for mechanism in ("permute-and-flip", "exponential", "global-01", "discrete-laplace"):
            yield pytest.param(CountNoise(counts, mechanism, 0.4), id=f"{name}-{mechanism}")
    for rule in ("clamp", "paper"):
        yield pytest.param(CountNoise(COUNTS, "discrete-laplace", 0.4, rule), id=f"two-discrete-{rule}")
        yield pytest.param(CountNoise(COUNTS, "continuous-laplace", 0.4, rule), id=f"two-continuous-{rule}")


WEIGHTS = np.array([[0.0, 0.0], [0.5, 0.0], [3.25, 4.5], [2.0, 2.0], [0.0, 20.0], [6.5, 1.0]])
OTHERS = [
    pytest.param(FrequencyNoise(COUNTS, 3.0), id="frequency-two"),
    pytest.param(FrequencyNoise(MANY, 3.0), id="frequency-three"),
    pytest.param(WeightNoise(WEIGHTS, np.array([2.0, 2.0, 2.0, 1.0, 5.0, 3.0])), id="weights"),
    pytest.param(
        ValueNoise(WEIGHTS, np.array([0.0, -3.0, 0.5, 0.0, 10.0, -2.0]), np.array([4.0, 4.0, 1.0, 4.0, 20.0, 3.0])),
        id="values",
    ),
]


@pytest.mark.parametrize("noise", [*count_noises(), *OTHERS])
def test_closed_forms_agree_with_redraws(noise):
    """The closed form of the flip rate agrees with redraws.

    A leaf flips if it releases a class that has less weight than another class. Between classes of equal weight, it
    cannot flip.
    """
    flip, evidence, n = noise.flip(), noise.evidence, 6_000
    full = evidence.any(axis=1)
    assert np.isnan(flip[~full]).all() and (flip[full] >= 0).all() and (flip[full] <= 1).all()
    tied = full & (evidence == evidence.max(axis=1, keepdims=True)).all(axis=1)
    assert (flip[tied] == 0).all()
    which = np.tile(np.flatnonzero(full), n)
    labels = noise.redraw(which, seed=3)
    assert labels.dtype == np.uint8
    wrong = evidence[which, labels] < evidence[which].max(axis=1)
    for leaf in np.flatnonzero(full):
        observed = int(wrong[which == leaf].sum())
        assert stats.binomtest(observed, n, float(flip[leaf])).pvalue > FALSE_ALARM / full.sum(), leaf


EXAMPLES, DRAWS = 60, 20_000
LEAVES = st.integers(2, 6).flatmap(
    lambda k: st.lists(st.one_of(st.integers(0, 4), st.integers(0, 40)), min_size=k, max_size=k).filter(any)
)


@pytest.mark.parametrize("mechanism", [*mechanisms.MECHANISMS, "continuous-laplace"])
@settings(derandomize=True, deadline=None, max_examples=EXAMPLES)
@given(LEAVES, st.floats(0.03, 4.0), st.sampled_from(NEGATIVE_RULES), st.integers(0, 2**32))
def test_the_flip_rate_of_a_leaf_agrees_with_redraws(mechanism, counts, rate, rule, seed):
    """The flip rate agrees with redraws for any counts of two to six classes and any rate.

    All examples together raise a false alarm with probability below `FALSE_ALARM`.
    """
    noise = CountNoise(np.array([counts]), mechanism, rate, rule)
    labels = noise.redraw(np.zeros(DRAWS, int), seed)
    wrong = int((noise.evidence[0][labels] < max(counts)).sum())
    shown = float(noise.flip()[0])
    assert -1e-12 <= shown <= 1 + 1e-9
    assert stats.binomtest(wrong, DRAWS, min(max(shown, 0.0), 1.0)).pvalue > FALSE_ALARM / EXAMPLES


@settings(derandomize=True, deadline=None, max_examples=EXAMPLES)
@given(LEAVES, st.floats(0, 30) | st.just(np.inf), st.integers(0, 2**32))
def test_the_flip_rate_of_leaves_that_draw_by_frequency_agrees_with_redraws(counts, temperature, seed):
    noise = FrequencyNoise(np.array([counts]), temperature)
    wrong = int((noise.evidence[0][noise.redraw(np.zeros(DRAWS, int), seed)] < max(counts)).sum())
    shown = min(float(noise.flip()[0]), 1.0)
    assert stats.binomtest(wrong, DRAWS, shown).pvalue > FALSE_ALARM / EXAMPLES


@pytest.mark.parametrize("redrawn", [0.658, 0.316], ids=["paper", "clamp"])
def test_continuous_noise_on_many_classes_is_not_taken_for_discrete(redrawn):
    counts, rule = ((10, 0, 0, 0), "paper") if redrawn > 0.5 else ((3, 2, 0, 0), "clamp")
    assert CountNoise(np.array([counts]), "continuous-laplace", 1.0, rule).flip()[0] == pytest.approx(redrawn, abs=3e-3)


@pytest.mark.parametrize("noise", [*count_noises(), *OTHERS])
def test_redraws_depend_on_their_leaves_and_their_seed(noise):
    leaves = np.array([4, 2, 2, 5])
    assert np.array_equal(noise.redraw(leaves, 1), noise.redraw(leaves, 1))
    assert len(noise.redraw(leaves[:0], 1)) == 0
    assert any(not np.array_equal(noise.redraw(leaves, 1), noise.redraw(leaves, seed)) for seed in range(2, 60))


def test_empty_leaves_release_every_class_with_equal_probability():
    n = 6_000
    empty = np.zeros(n, int)
    for noise, n_classes in (
        (CountNoise(COUNTS, "exponential", 0.4), 2),
        (CountNoise(MANY, "permute-and-flip", 0.4), 3),
        (CountNoise(COUNTS, "discrete-laplace", 0.4), 2),
        (FrequencyNoise(MANY, 3.0), 3),
        (ValueNoise(WEIGHTS, np.zeros(6), np.full(6, 2.0)), 2),
    ):
        observed = np.bincount(noise.redraw(empty, 8), minlength=n_classes)
        if isinstance(noise, CountNoise) and noise.mechanism == "discrete-laplace":
            continue  # if both noisy counts are clamped to 0, a random bit of the leaf decides the class
        assert stats.chisquare(observed).pvalue > FALSE_ALARM


def test_an_empty_leaf_with_two_negative_weights_releases_the_first_class():
    """Both weights are negative in a quarter of the draws, so the first class is released in 3/8 + 1/4 of all draws."""
    n = 6_000
    first = np.sum(WeightNoise(WEIGHTS, np.full(6, 2.0)).redraw(np.zeros(n, int), 8) == 0)
    assert stats.binomtest(int(first), n, 5 / 8).pvalue > FALSE_ALARM


def test_frequencies_do_not_see_how_many_rows_agree():
    """Bai et al. draw labels by class shares, so a pure leaf of 1,000 rows flips as often as a leaf of one row."""
    pmf = frequency_pmf(np.array([[1_000, 0], [1, 0], [8, 2], [0, 0]]), 1.0)
    assert pmf[0].tolist() == pmf[1].tolist()
    assert pmf[0, 0] == pytest.approx(1 / (1 + np.exp(-0.5)))
    assert frequency_pmf(np.array([[8, 2]]), 4.0)[0] == pytest.approx([0.768525, 0.231475], abs=1e-6)
    assert pmf[3].tolist() == [0.5, 0.5]
    assert frequency_pmf(np.array([[3, 1, 3], [0, 2, 1]]), np.inf).tolist() == [[0.5, 0, 0.5], [0, 1, 0]]
    assert frequency_pmf(np.array([[3, 1, 3]]), 0.0)[0] == pytest.approx([1 / 3] * 3)


def test_draws_by_frequency_follow_their_law():
    counts = np.tile([[5, 1, 0, 2]], (20_000, 1))
    drawn = np.bincount(draw_by_frequency(counts, 6.0, 2), minlength=4)
    assert stats.chisquare(drawn, 20_000 * frequency_pmf(counts[:1], 6.0)[0]).pvalue > FALSE_ALARM
    certain = draw_by_frequency(np.array([[0, 3], [2, 1]] * 500), np.inf, 5)
    assert np.array_equal(certain, [1, 0] * 500)


# ---------------------------------------------------------------- the noise of real fits

DOMAIN = public_domain(2)  # only one possible test, so that every fit has the same tree


def traced(model, X, y) -> tuple:
    trace = Trace()
    rows = bin_rows(model.domain, X, y.astype(np.int32), np.arange(len(y)), model.n_bins)
    return model.fit_encoded(model.domain, rows, trace=trace), trace


def few_rows() -> tuple:
    X, _ = random_table(DOMAIN, 30, 0)
    other = np.random.default_rng(1).random(30) < 0.3
    return X, ((X.f0 == "c1") ^ other).to_numpy().astype(int)


BOOSTERS = [
    pytest.param({"leaf": "counts", "beta": "one"}, 0.6, marks=pytest.mark.slow),
    ({"leaf": "counts", "beta": "laplace"}, 0.6),
    pytest.param({"leaf": "range", "beta": "one"}, 1.0, marks=pytest.mark.slow),
    pytest.param({"leaf": "range", "beta": "folded"}, 20.0, marks=pytest.mark.slow),
    ({"leaf": "range", "beta": "one", "neighbors": "replace-one"}, 2.0),
    ({"mode": "as_published", "beta": "one"}, 2.0),
    pytest.param({"mode": "as_published", "beta": "folded"}, 30.0, marks=pytest.mark.slow),
]


@pytest.mark.parametrize(("parameters", "epsilon"), BOOSTERS)
def test_leaves_of_boosted_trees_flip_at_the_rate_of_their_trace(parameters, epsilon):
    X, y = few_rows()
    model = BoostedForestClassifier(
        domain=DOMAIN, n_estimators=1, max_depth=1, alpha=1.0, epsilon=epsilon, n_bound=60, max_leaf=2.0, **parameters
    )
    n, wrong = 500, np.zeros(2)
    for seed in range(n):
        _, trace = traced(model.set_params(random_state=seed), X, y)
        wrong += trace.noise.evidence[np.arange(2), trace.labels] < trace.noise.evidence.max(axis=1)
    flip = trace.noise.flip()
    assert (flip > 0.05).all() and (flip < 0.49).all()
    for leaf in range(2):
        assert stats.binomtest(int(wrong[leaf]), n, float(flip[leaf])).pvalue > FALSE_ALARM / 2, (wrong / n, flip)


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("neighbors", ["add-remove", "replace-one"])
@pytest.mark.parametrize(
    ("leaf", "beta"),
    [("counts", "one"), ("counts", "laplace"), ("range", "one"), ("range", "laplace"), ("range", "folded")],
)
def test_a_trace_describes_the_noise_that_was_drawn(n_classes, neighbors, leaf, beta):
    """The trace holds the exact scale of the noise on released leaves, and the exact leaf values before noise."""
    domain = public_domain(None, 3, n_classes=n_classes)
    X, y = random_table(domain, 60, 0)
    drawn, real = [], boost_mechanisms.noisy_table

    def listen(table, sensitivity, query_budget, source, *, key=0):
        if table.shape != (1, 1) or beta == "folded":  # a 1 x 1 table is the coefficient of a tree, not a leaf
            drawn.append((table, float(sensitivity / query_budget.epsilon_each)))
        return real(table, sensitivity, query_budget, source, key=key)

    model = BoostedForestClassifier(
        domain=domain,
        n_estimators=2,
        max_depth=2,
        alpha=1.0,
        leaf=leaf,
        beta=beta,
        n_bins=4,
        n_bound=60,
        neighbors=neighbors,
        random_state=0,
        epsilon=5.0,
    )
    with patch.object(boost_mechanisms, "noisy_table", listen):
        _, trace = traced(model, X, y)
    tables = np.concatenate([table for table, _ in drawn])
    scale = np.concatenate([np.full(len(table), scale) for table, scale in drawn])
    if leaf == "counts":
        assert np.allclose(trace.noise.scale * 1024, scale)
        assert sorted(map(tuple, trace.noise.evidence * 1024)) == sorted(map(tuple, tables))
        return
    steps = np.abs(tables[:, 0] - boost_mechanisms.VALUE_STEPS)
    expected = 0.5 * np.exp(-steps / scale)
    full = trace.noise.evidence.any(axis=1)
    densities = 0.5 * np.exp(-np.abs(trace.noise.values) / trace.noise.scale)
    assert np.allclose(np.sort(densities), np.sort(expected), atol=0.5 * 0.6 / scale.min())  # half of a grid step
    assert np.array_equal(np.isnan(trace.noise.flip()), ~full)


@pytest.mark.parametrize(
    "estimator, mode",
    some([FriedmanSchusterClassifier, MultinomialForestClassifier], ["certified", "as_published"]),
)
def test_leaves_of_counted_trees_flip_at_the_rate_of_their_trace(estimator, mode):
    """Over many seeds, leaves flip at the rate of their trace.

    Each tree has another rate, because each tree has other rows.
    """
    X, y = few_rows()
    trees = {} if estimator is FriedmanSchusterClassifier else {"n_estimators": 2}
    model = estimator(domain=DOMAIN, epsilon=2.0, mode=mode, max_depth=1, neighbors="replace-one", **trees)
    wrong, expected, variance = 0, 0.0, 0.0
    for seed in range(400):
        forest, trace = traced(model.set_params(random_state=seed), X, y)
        full = trace.noise.evidence.any(axis=1)
        labels = forest.leaf_labels()
        evidence, flip = trace.noise.evidence, trace.noise.flip()
        wrong += int((evidence[np.arange(len(labels)), labels] < evidence.max(axis=1))[full].sum())
        expected += float(flip[full].sum())
        variance += float((flip * (1 - flip))[full].sum())
        assert np.array_equal(trace.counts.sum(axis=1) > 0, full)
    assert expected > 20
    assert abs(wrong - expected) < 5 * np.sqrt(variance) + 1  # normal to within 1 %: false alarm 1e-6
