"""The black-box auditor, which bounds the privacy loss of a mechanism from below by attacks on its outputs.

Its bound is right. Its search detects known faults, and blames no sound mechanism. Draws are fresh in every run. An
assertion blames a sound mechanism with a probability of at most 1e-6 (`SURE`). The number of trials is so large that
the auditor misses a fault with a probability below 1e-6.
"""

import numpy as np
import pandas as pd
import pytest
from scipy.stats import binom

from dpforest import BoostedForestClassifier, MajorityLabelForestClassifier, RandomDecisionForestClassifier
from dpforest.audit import black_box, events, fits
from dpforest.audit.black_box import attack_fits, attack_unaided
from dpforest.audit.events import Event, lower_bound
from dpforest.audit.fits import ABSENT, run_many
from tests.conftest import public_domain

SURE = 1 - 1e-6
RNG = np.random.default_rng()  # without a seed, because real releases have none


def counts(leaves: list[np.ndarray], epsilon: float) -> np.ndarray:
    """Add discrete Laplace noise to the two class counts of each leaf."""
    exact = np.array([[np.sum(leaf == c) for c in (0, 1)] for leaf in leaves])
    noise = RNG.geometric(1 - np.exp(-epsilon), (2, *exact.shape))
    return exact + noise[0] - noise[1]


def labels(leaves: list[np.ndarray], epsilon: float) -> np.ndarray:
    """Draw the label of each leaf by permute-and-flip."""
    lead = np.array([2 * leaf.sum() - len(leaf) for leaf in leaves])
    return (lead > 0) ^ (RNG.random(len(leaves)) < 0.5 * np.exp(-epsilon * np.abs(lead)))


def in_file_order(mechanism, trees: int, epsilon: float):
    """Assign rows to trees by their place in the file, so that removing a row moves all later rows."""
    return lambda X, y: mechanism(np.array_split(y, trees), epsilon)


def by_row(mechanism, trees: int, epsilon: float):
    """Assign each row to a tree independently of all other rows, as a sound mechanism must."""

    def release(X, y):
        tree = RNG.integers(0, trees, len(y))
        return mechanism([y[tree == t] for t in range(trees)], epsilon)

    return release


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # joblib warns about an unfinished generator
def test_a_generator_that_travels_to_other_processes_is_refused():
    """With a copied generator, each process would draw the same numbers, so counts of hits would not be independent."""
    generator = np.random.default_rng(0)

    class Carries:
        def __init__(self):
            self.generator = generator

        def __call__(self, X, y):
            return np.array([self.generator.random()])

    X, y = np.zeros((2, 1)), np.array([0, 1])
    with pytest.raises(ValueError, match="copies its random state"):
        run_many(Carries(), X, y, 600, n_jobs=2)
    assert len(run_many(Carries(), X, y, 600)) == 600


def test_the_lower_bound_holds_and_is_close_to_the_true_ratio():
    """The bound exceeds the true ratio with a probability of at most alpha, by an enumeration of all outcomes."""
    n, p, q, alpha = 60, 0.5, 0.5 * np.exp(-1.0), 0.05
    a, b = np.meshgrid(np.arange(n + 1), np.arange(n + 1), indexing="ij")
    chance = binom.pmf(a, n, p) * binom.pmf(b, n, q)
    wrong = lower_bound(a, b, n, alpha=alpha) > 1.0 + 1e-12
    assert 0 < chance[wrong].sum() <= alpha
    assert lower_bound(500_000, 183_940, 1_000_000, alpha=1e-6) == pytest.approx(1.0, abs=0.02)


def test_the_lower_bound_sees_both_directions_and_the_complement_and_is_never_negative():
    bounds = [lower_bound(*hits, 1000, alpha=0.001) for hits in ((0, 500), (500, 0), (500, 1000), (1000, 500))]
    assert bounds == pytest.approx([bounds[0]] * 4)
    assert lower_bound(300, 301, 1000, alpha=0.001) == 0
    assert lower_bound(0, 0, 1000, alpha=0.001) == lower_bound(1000, 1000, 1000, alpha=0.001) == 0
    assert lower_bound(0, 500, 1000, alpha=0.001, n_events=100) < bounds[0]


def test_the_lowest_bit_of_a_number():
    values = np.array([0.0, 1.0, 2.0**-53, 3 * 2.0**-60, -1.5, ABSENT])
    assert fits.lowest_bit(values).tolist() == [0, 0, -53, -60, -1, ABSENT]


def test_a_statistic_that_a_forest_lacks_is_absent_in_its_row():
    table = fits.as_table([{"a": [1, 2], "b": [[1], [2]]}, {"a": [3]}])
    assert table.to_dict("list") == {
        "a 0": [1, 3],
        "a 1": [2, ABSENT],
        "b 0, 0": [1, ABSENT],
        "b 1, 0": [2, ABSENT],
    }
    assert Event("a 1", "is", ABSENT).holds(table).tolist() == [False, True]
    assert Event("c", "<=", 0.0).holds(table).tolist() == [True, True]


def test_an_event_depends_on_one_fit_only():
    """Whether an event holds for a fit does not depend on other fits, so the number of hits is binomial."""
    records = [{"v": [0.5]}, {"v": [2, 3]}, {"v": [1], "w": 7}, {"v": [-(2.0**-60)]}]
    together = fits.as_table(records)
    for name in (*together, "never seen"):
        for value in (ABSENT, -54.0, 0.0, 1.0, 7.0):
            for event in (Event(name, "is", value), Event(name, "<=", value)):
                alone = [bool(event.holds(fits.as_table([record]))[0]) for record in records]
                assert alone == event.holds(together).tolist(), event


def test_search_picks_the_event_that_distinguishes_the_tables():
    n = 4000
    before = pd.DataFrame({"noise": RNG.normal(size=n), "signal": RNG.integers(0, 3, n).astype(float)})
    after = pd.DataFrame({"noise": RNG.normal(size=n), "signal": RNG.integers(0, 2, n).astype(float)})
    promising = events.search(before, after, n_events=3, trials=n, alpha=1e-3)
    # The signal is 2 in a third of the first table's fits, and never in those of the second. So the promise is log(1/3
    # / p), where p is the largest probability that is possible after no hit in 2000 fits, half of the second table's.
    assert promising.promise > 3
    assert any(event.column in ("signal", events.SCORE) for event in promising.events[:1])


@pytest.mark.parametrize(
    "estimator",
    [
        MajorityLabelForestClassifier(n_estimators=2, max_depth=1),
        RandomDecisionForestClassifier(n_estimators=2, max_depth=1, mode="as_published"),
        BoostedForestClassifier(n_estimators=2, max_depth=1, n_bound=10),
    ],
)
def test_the_shortcut_returns_the_statistics_of_a_fit(estimator):
    domain = public_domain(None, 3)
    X, y = np.array([[0.1, "c0"], [0.9, "c2"]], object), np.array([0, 1])
    estimator.set_params(domain=domain, random_state=5)
    short = run_many(estimator, X, y, 1, probes=X)
    long = fits.as_table([fits.statistics(estimator.fit(X, y).forest_, X)])
    pd.testing.assert_frame_equal(short, long)


def test_fits_differ_in_all_processes_and_progress_is_reported():
    shares_done: list[float] = []
    estimator = RandomDecisionForestClassifier(n_estimators=1, max_depth=0, epsilon=0.001, domain=public_domain(None))
    table = run_many(estimator, np.zeros((1, 1)), np.zeros(1, int), 750, n_jobs=2, on_progress=shares_done.append)
    parts = [table["count of leaf and class 0, 0"][i : i + 250].tolist() for i in (0, 250, 500)]
    assert parts[0] != parts[1] != parts[2] != parts[0]
    assert shares_done == pytest.approx([1 / 3, 2 / 3, 1])


@pytest.mark.parametrize("mechanism", [pytest.param(counts, marks=pytest.mark.slow), labels])
def test_an_unaided_attack_detects_the_positional_shift(mechanism):
    """In three trees at ε = 1, the shift of later rows costs up to 5. The search usually proves at least 2."""
    release = in_file_order(mechanism, 3, 1.0)
    bound, _ = attack_unaided(release, public_domain(None), sizes=(5, 9), trials=6000, screening=100, confidence=SURE)
    assert 1.0 < bound.epsilon <= 5.0


@pytest.mark.parametrize("mechanism", [counts, labels])
@pytest.mark.parametrize("neighbors", ["add-remove", "replace-one"])
def test_an_unaided_attack_does_not_blame_trees_drawn_row_by_row(mechanism, neighbors):
    release = by_row(mechanism, 3, 1.0 if neighbors == "add-remove" else 0.5)
    bound, _ = attack_unaided(
        release, public_domain(None), neighbors=neighbors, sizes=(5,), trials=1500, screening=60, confidence=SURE
    )
    assert bound.epsilon <= 1.0


def test_generic_pairs_are_neighbors():
    domain = public_domain(None, 3, n_classes=3)
    for neighbors in ("add-remove", "replace-one"):
        for name, (X, y), (Z, z) in black_box.generic_pairs(domain, neighbors, (3, 4)):
            rows, others = (sorted(map(str, np.c_[a.astype(str), b].tolist())) for a, b in ((X, y), (Z, z)))
            common = sum(1 for row in others if row in rows and not rows.remove(row))
            lost, gained = len(rows), len(others) - common
            assert (lost, gained) == ((1, 0) if neighbors == "add-remove" else (1, 1)), name


def fitted(X, y):
    domain = public_domain(None)
    return MajorityLabelForestClassifier(n_estimators=1, max_depth=1, domain=domain).fit(X, y).forest_


def visited_leaves(X, y):
    """Export a leaf when a row first reaches it, so that leaves without rows are missing."""
    forest = fitted(X, y)
    return {f"label of leaf {leaf}": forest.leaves.labels[leaf] for leaf in np.unique(forest.apply(X))}


def all_leaves(X, y):
    return {"label of leaf": fitted(X, y).leaves.labels}


def seeded_counts(X, y):
    """Draw noise from the seed of the structure, which is public."""
    return np.bincount(y, minlength=2) + np.random.default_rng(0).laplace(size=2)


ONE_MORE = (np.array([[0.0]]), np.array([0])), (np.array([[0.0], [1.0]]), np.array([0, 0]))


@pytest.mark.parametrize("release", [visited_leaves, seeded_counts])
def test_lazily_exported_leaves_and_reused_seeds_are_caught(release):
    bound = attack_fits(release, *ONE_MORE, trials=360, confidence=SURE)
    assert bound.epsilon > 2.5
    assert set(bound.hits) == {0, 240}


def test_exporting_all_leaves_is_not_blamed():
    assert attack_fits(all_leaves, *ONE_MORE, trials=360, confidence=SURE).epsilon <= 1.0


def test_a_demonstration_with_a_seed_is_caught():
    """With a fixed seed, each fit draws the same noise, so the fits of two neighboring tables always differ."""
    estimator = RandomDecisionForestClassifier(n_estimators=1, max_depth=0, domain=public_domain(None), random_state=3)
    before, after = ((np.zeros((n, 1)), np.zeros(n, int)) for n in (1, 2))
    assert attack_fits(estimator, before, after, trials=1000, confidence=SURE).epsilon > 3


def test_equal_tables_prove_no_loss():
    table = np.zeros((3, 1)), np.array([0, 1, 0])
    assert attack_fits(lambda X, y: np.zeros(2), table, table, trials=60).epsilon == 0
    estimator = MajorityLabelForestClassifier(n_estimators=2, max_depth=1, domain=public_domain(None))
    bound = attack_fits(estimator, table, table, trials=300, confidence=SURE)
    assert (bound.epsilon, bound.event) == (0, "nothing was found")
