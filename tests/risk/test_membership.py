"""The membership attack, which guesses whether a record was in the table of a release.

Closed forms and enumeration confirm its exact success, and its simulated guesses reach this success. Each statistical
test fails by chance with a probability below 1e-6.
"""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import binom, binomtest

from dpforest.audit.canaries import ALGORITHMS, canaries
from dpforest.models.greedy.friedman_schuster import FriedmanSchusterClassifier
from dpforest.models.random.baselines import (
    JagannathanForestClassifier,
    RandomForestExponentialClassifier,
    RandomForestLaplaceClassifier,
)
from dpforest.models.random.majority_label import MajorityLabelForestClassifier
from dpforest.models.random.random_decision import RandomDecisionForestClassifier
from dpforest.privacy.laws import log_pmf
from dpforest.risk.membership import (
    Record,
    attack_record,
    best_success,
    count_in_leaves,
    exact_attack,
    most_exposed,
)
from dpforest.risk.shadow_models import rarest_row, shadow_attack
from dpforest.risk.success_rate import (
    REPORT_SIZES,
    composed_variation,
    estimate,
    log_ratios,
    most_success,
    success_rate,
    total_variation,
)
from dpforest.tables.domain import Domain, Feature
from dpforest.tables.rows import EncodedTable
from dpforest.trees import routing
from tests.conftest import some

ALARM = 1e-6
PUBLIC = {"scale_share": "public"}  # with a given shape, no query runs before trees grow
BOTH = ("add-remove", "replace-one")
RANDOM = (
    MajorityLabelForestClassifier,
    RandomDecisionForestClassifier,
    JagannathanForestClassifier,
    RandomForestLaplaceClassifier,
    RandomForestExponentialClassifier,
)


def domain_of(n_classes: int, n_features: int = 1) -> Domain:
    note = {"source": "documented", "source_note": "test_membership.py"}
    features = tuple(Feature(f"x{i}", "numeric", 0.0, 1.0, scale="linear", **note) for i in range(n_features))
    return Domain(features, tuple(range(n_classes)), "y", "documented", "test_membership.py")


def at_one_point(labels, n_classes: int = 2):
    """Return domain, codes and class indices of rows with equal attributes."""
    domain, labels = domain_of(n_classes), np.array(labels, np.int32)
    return domain, domain.encode(np.full((len(labels), 1), 0.3)), labels


def record_of(estimator, labels, n_classes: int = 2, row: int = 0) -> Record:
    return count_in_leaves(estimator, *at_one_point(labels, n_classes)).record(row)


def last_estimate(record: Record, trials: int = 40_000, seed: int = 1):
    """Attack the record with `trials` guesses, and return the last estimate of the success."""
    looks = [look for _, look in exact_attack(record, seed=seed, seconds=math.inf, max_guesses=trials) if look]
    assert looks[-1].trials == trials
    return looks[-1]


def last_look(work):
    return [look for _, look in work if look is not None][-1]


# ---------------------------------------------------------------- estimates, and the best guess between two laws


def test_the_limit_is_that_of_randomized_response():
    # A random answer that is right with odds e^ε : 1 is ε-private, and the best guess repeats the answer.
    assert most_success(math.log(3)) == pytest.approx(0.75)
    assert most_success(1e-9) == pytest.approx(0.5) and most_success(math.inf) == 1


def test_intervals_enclose_and_hold_at_once():
    look = estimate(1000, 700)
    assert look.share == 0.7 and look.low < 0.7 < look.high
    assert estimate(20, 20).high == 1 and estimate(20, 0).low == 0
    # Each end of an interval is wrong with probability below 1 % / (2 × number of looks).
    assert binom.sf(699, 1000, look.low) == pytest.approx(0.01 / (2 * (len(REPORT_SIZES) + 1)), rel=1e-6)


def test_guesses_all_count_and_stop_at_the_limit():
    made = []

    def guess(wanted):
        n = min(wanted, 7)
        made.append(n)
        return n, n - 1

    seen = list(success_rate(guess, seconds=math.inf, max_guesses=500))
    looks = [look for _, look in seen if look]
    assert sum(made) == looks[-1].trials == 500 and looks[-1].right == 500 - len(made)
    assert [look.trials for look in looks] == [*(size for size in REPORT_SIZES if size < 500), 500]
    shares = [share for share, _ in seen]
    assert shares == sorted(shares) and shares[-1] == 1
    assert len(list(success_rate(guess, seconds=0, max_guesses=10**9))) < 10


@pytest.mark.parametrize("n_laws, n_outputs", [(1, 3), (2, 2), (4, 3), (6, 2)])
def test_composition_matches_an_enumeration(n_laws, n_outputs):
    rng = np.random.default_rng(n_laws)
    p, q = rng.dirichlet(np.ones(n_outputs), (2, n_laws))
    exact = 0.0
    for outputs in itertools.product(range(n_outputs), repeat=n_laws):
        one, other = (math.prod(pmf[i, o] for i, o in enumerate(outputs)) for pmf in (p, q))
        exact += max(0.0, one - other)
    composed = composed_variation(np.log(p), np.log(q))
    assert exact - 1e-12 <= composed <= exact + 1e-5


def test_composition_of_certain_things():
    with np.errstate(divide="ignore"):
        p, q = np.log([[1.0, 0.0], [0.5, 0.5]]), np.log([[0.0, 1.0], [0.5, 0.5]])
    assert composed_variation(p, q) == pytest.approx(1, abs=1e-9)
    assert composed_variation(p[1:].repeat(3, axis=0), q[1:].repeat(3, axis=0)) == 0
    assert total_variation(p, q).tolist() == [1.0, 0.0]
    assert log_ratios(p, q)[1].tolist() == [0.0, 0.0] and np.isfinite(log_ratios(p, q)).all()


# ---------------------------------------------------------------- exact success


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 5.0])
def test_permute_and_flip_at_a_tie(epsilon):
    # In a tie, each label has probability 1/2. With one more row, the other label has probability e^-ε / 2.
    forest = MajorityLabelForestClassifier(epsilon=epsilon, n_estimators=1, max_depth=1, **PUBLIC)
    record = record_of(forest, [0, 0, 1])
    assert best_success(record) == pytest.approx(0.5 + (1 - math.exp(-epsilon)) / 4)
    assert best_success(record) < most_success(epsilon)


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 5.0])
def test_one_noisy_count_reveals_as_much_as_allowed(epsilon):
    forest = RandomDecisionForestClassifier(
        epsilon=epsilon, partition="independent", n_estimators=7, max_depth=2, **PUBLIC
    )
    for labels in ([0], [0, 1, 1, 0, 0]):
        assert best_success(record_of(forest, labels)) == pytest.approx(most_success(epsilon))


@pytest.mark.parametrize("n_trees", [1, 2, 5, 12])
def test_many_noisy_counts_match_the_binomial_law(n_trees):
    # Each tree votes yes with odds e^κ : 1, where κ = ε / trees. The majority of the trees is the best guess.
    forest = RandomDecisionForestClassifier(epsilon=2.0, n_estimators=n_trees, max_depth=2, **PUBLIC)
    yes, k = most_success(2.0 / n_trees), np.arange(n_trees + 1)
    exact = np.maximum(binom.pmf(k, n_trees, yes), binom.pmf(k, n_trees, 1 - yes)).sum() / 2
    assert exact - 1e-12 <= best_success(record_of(forest, [0, 1])) <= exact + 1e-4


def test_continuous_noise_in_one_tree():
    # Two Laplace laws of scale 1/ε that are shifted by 1 have a total variation of 1 - e^(-ε/2).
    forest = RandomDecisionForestClassifier(epsilon=1.0, n_estimators=1, max_depth=1, mode="as_published")
    assert best_success(record_of(forest, [0, 1])) == pytest.approx(0.5 + (1 - math.exp(-0.5)) / 2, abs=1e-4)


@pytest.mark.parametrize("others, n_trees", [((3, 1), 2), ((0, 0), 5), ((2, 2), 3)])
def test_assigning_rows_to_trees_matches_an_enumeration(others, n_trees):
    labels = [0] * (others[0] + 1) + [1] * others[1]
    forest = MajorityLabelForestClassifier(epsilon=1.0, n_estimators=n_trees, max_depth=0, **PUBLIC)
    record = record_of(forest, labels)
    np.testing.assert_array_equal(record.other_counts, np.tile(others, (n_trees, 1)))
    exact = 0.0
    for a, b in itertools.product(range(others[0] + 1), range(others[1] + 1)):
        chance = binom.pmf(a, others[0], 1 / n_trees) * binom.pmf(b, others[1], 1 / n_trees)
        laws = [log_pmf("permute-and-flip", [counts], 1.0) for counts in ([a, b], [a + 1, b])]
        exact += chance * total_variation(*laws)[0]
    assert best_success(record) == pytest.approx(0.5 + exact / 2, abs=0.003)  # ten standard errors of 50,000 states


def test_replace_one_compares_two_labels_at_half_the_rate():
    forest = MajorityLabelForestClassifier(epsilon=1.0, n_estimators=1, max_depth=1, neighbors="replace-one")
    record = record_of(forest, [0])
    assert record.stand_in == 1 and record.rate == pytest.approx(0.5)
    # The record is alone in its leaf, whose counts are (1, 0) or (0, 1), and the rate is 1/2.
    assert best_success(record) == pytest.approx(0.5 + (1 - math.exp(-0.5)) / 2)


def test_a_row_dropped_by_blocks_cannot_be_detected():
    settings = {"epsilon": 3.0, "max_depth": 0, "mode": "as_published"}
    forest = MajorityLabelForestClassifier(n_estimators=4, **settings)
    # Seven rows fill four blocks of one row. With probability 3/7, the record is in no block; otherwise it is alone.
    alone = best_success(record_of(MajorityLabelForestClassifier(n_estimators=1, **settings), [0]))
    assert best_success(record_of(forest, [0] * 7)) == pytest.approx(0.5 + (alone - 0.5) * 4 / 7, abs=0.005)


# ---------------------------------------------------------------- guesses


CASES = {
    "labels, shared out": MajorityLabelForestClassifier(n_estimators=3, max_depth=2),
    "labels in all trees": MajorityLabelForestClassifier(n_estimators=3, max_depth=2, partition="shared"),
    "labels by 0/1": MajorityLabelForestClassifier(n_estimators=2, max_depth=1, leaf_mechanism="global-01"),
    "blocks": MajorityLabelForestClassifier(n_estimators=3, max_depth=1, mode="as_published"),
    "counts": RandomDecisionForestClassifier(n_estimators=3, max_depth=2),
    "counts, shared out": RandomDecisionForestClassifier(n_estimators=3, max_depth=2, partition="independent"),
    "continuous counts": RandomDecisionForestClassifier(n_estimators=3, max_depth=2, mode="as_published"),
    "JPW": JagannathanForestClassifier(n_estimators=4),
    "RF-E": RandomForestExponentialClassifier(n_estimators=3, max_depth=1),
}


@pytest.mark.parametrize("neighbors", BOTH)
@pytest.mark.parametrize("name", CASES)
def test_guesses_are_right_as_often_as_in_the_formula(name, neighbors):
    record = record_of(CASES[name].set_params(neighbors=neighbors), [2, 2, 1, 0, 2, 1, 2], n_classes=3, row=4)
    look = last_estimate(record)
    # The tolerance covers the error of the formula, which is at most 0.003.
    exact = best_success(record)
    assert binom.sf(look.right - 1, look.trials, min(exact + 0.003, 1)) > ALARM
    assert binom.cdf(look.right, look.trials, max(exact - 0.003, 0)) > ALARM


def test_permute_and_flip_reaches_its_exact_value():
    record = record_of(MajorityLabelForestClassifier(n_estimators=1, max_depth=1, **PUBLIC), [0, 0, 1])
    look = last_estimate(record, 400_000)
    exact = 0.5 + (1 - math.exp(-1)) / 4
    assert binomtest(look.right, look.trials, exact).pvalue > ALARM and abs(look.share - exact) < 0.005


@pytest.mark.parametrize("name, neighbors", some(ALGORITHMS, BOTH, every=5))
def test_no_certified_forest_exceeds_the_limit(name, neighbors):
    epsilon = 1.0
    for canary in canaries(name, "certified", neighbors, epsilon)[:2]:
        model, (X, y) = canary.estimator, canary.after
        domain = model.domain
        codes, labels = domain.encode(X), domain.encode_labels(y)
        loss = model.preview(domain, len(labels))[0].true_epsilon
        assert loss <= epsilon * (1 + 1e-9)
        look = last_look(
            attack_record(model, domain, codes, labels, len(y) - 1, seed=3, seconds=math.inf, max_guesses=1_000)
        )
        assert binom.sf(look.right - 1, look.trials, most_success(loss)) > ALARM / 32
        assert look.trials >= 500


def test_the_published_forest_exceeds_its_claim():
    # With 50 classes and two rows of one label, a third such row makes the label nearly certain.
    forest = MajorityLabelForestClassifier(epsilon=1.0, n_estimators=1, max_depth=1, mode="as_published")
    record = record_of(forest, [0, 0, 0], n_classes=50)
    assert best_success(record) > most_success(1.0) + 0.03
    look = last_estimate(record, 20_000)
    assert look.low > most_success(1.0)
    certified = record_of(MajorityLabelForestClassifier(n_estimators=1, max_depth=1), [0, 0, 0], n_classes=50)
    assert best_success(certified) < most_success(1.0)


# ---------------------------------------------------------------- choice of the record


def small_table(n: int = 40, n_classes: int = 3, seed: int = 0):
    rng = np.random.default_rng(seed)
    domain = domain_of(n_classes, 3)
    return domain, domain.encode(rng.random((n, 3))), rng.integers(0, n_classes, n).astype(np.int32)


@pytest.mark.parametrize("partition, neighbors", some(["independent", "shared"], BOTH))
def test_the_most_exposed_row_is_the_one_that_enumeration_finds(partition, neighbors):
    forest = MajorityLabelForestClassifier(
        epsilon=2.0, n_estimators=4, max_depth=3, partition=partition, neighbors=neighbors
    )
    table = count_in_leaves(forest, *small_table(16))
    every = [best_success(table.record(row)) for row in range(16)]
    exposed = most_exposed(table)
    assert exposed.success == pytest.approx(every[exposed.row]) and not exposed.all_alike
    assert exposed.success > max(every) - 0.004 and max(every) - min(every) > 0.02


def test_rows_of_noisy_counts_are_all_alike():
    table = count_in_leaves(RandomDecisionForestClassifier(n_estimators=3), *small_table())
    exposed = most_exposed(table)
    assert exposed.all_alike
    assert {round(best_success(table.record(row)), 9) for row in range(40)} == {round(exposed.success, 9)}


def test_a_record_sees_the_others_only():
    domain, codes, labels = small_table()
    for known in (PUBLIC, {"scale_share": 0.3, "size": 40}):
        forest = MajorityLabelForestClassifier(epsilon=1.0, n_estimators=4, max_depth=3, **known)
        table = count_in_leaves(forest, domain, codes, labels)
        kept = np.arange(40) != 7
        without = routing.count_rows(table.trees, domain, codes[kept], labels[kept], n_classes=3)
        leaves = routing.leaves_of_rows(table.trees, domain, codes[7:8])[:, 0]
        np.testing.assert_array_equal(table.record(7).other_counts, without[leaves])
        assert table.rate == pytest.approx(1.0 if known == PUBLIC else 0.7)


@pytest.mark.parametrize("settings", [{}, {"scale_share": 0.2}, {"size": 1_000}, {"n_estimators": 3, "max_depth": 2}])
@pytest.mark.parametrize("neighbors", BOTH)
@pytest.mark.parametrize("kind", RANDOM)
def test_the_attacker_sees_the_forest_of_a_fit(kind, neighbors, settings):
    """The attacker sees the trees of a fit with the same seeds, and leaves at the rate that the rest of ε pays for."""
    domain, codes, labels = small_table(1_200)
    forest = kind(epsilon=0.5, neighbors=neighbors, structure_seed=3, random_state=8, **settings)
    fitted = forest.refitter(domain, EncodedTable(codes, labels, np.arange(1_200), 1_200))()
    table = count_in_leaves(forest, domain, codes, labels, seed=8)
    for part in ("kind", "feature", "threshold", "first_child", "tree_start"):
        np.testing.assert_array_equal(getattr(table.trees, part), getattr(fitted.trees, part))
    entries = fitted.ledger.entries
    before = sum((e.epsilon for e in entries if e.what.startswith(("number of rows", "scale of"))), Fraction(0))
    assert before > 0 and fitted.scale is not None and fitted.ledger.spent == Fraction(1, 2)
    trees = 1 if table.spec.partition == "independent" else fitted.trees.n_trees
    changed = 1 if neighbors == "add-remove" else 2
    assert table.rate == pytest.approx(float((Fraction(1, 2) - before) / trees / changed), rel=1e-12)
    assert table.spec.preparation.n_rows == fitted.about["n_rows"]
    other = count_in_leaves(forest, domain, codes, labels, seed=9)
    assert not np.array_equal(other.trees.threshold, table.trees.threshold)  # another scale was released


def test_the_rarest_row_is_the_odd_one():
    codes, labels = np.ones((30, 4), np.uint16), np.zeros(30, int)
    codes[11], labels[11] = 2, 1
    assert rarest_row(codes, labels) == 11


# ---------------------------------------------------------------- shadow attacks and refusals


def test_a_shadow_attack_finds_a_row_that_is_alone():
    domain, codes, labels = at_one_point([0])
    forest = FriedmanSchusterClassifier(epsilon=6.0, max_depth=1, n_bins=2)
    look = last_look(shadow_attack(forest, domain, codes, labels, 0, seed=2, seconds=math.inf, max_guesses=1_000))
    assert look.low > 0.55
    assert binom.sf(look.right - 1, look.trials, most_success(6.0)) > ALARM


def test_an_attack_repeats_itself_with_its_seed():
    table = small_table()
    for forest in (MajorityLabelForestClassifier(n_estimators=3), FriedmanSchusterClassifier(max_depth=2, n_bins=4)):
        settings = {"seconds": math.inf, "max_guesses": 200}
        one, same, other = (
            [look for _, look in attack_record(forest, *table, 5, seed=seed, **settings) if look] for seed in (1, 1, 2)
        )
        assert one == same and one != other


@pytest.mark.parametrize("forest", [MajorityLabelForestClassifier(), FriedmanSchusterClassifier()])
def test_invalid_records_are_refused(forest):
    table = small_table()
    with pytest.raises(ValueError, match="row=40 is not a row"):
        list(attack_record(forest, *table, 40))
    with pytest.raises(ValueError, match="epsilon=None"):
        list(attack_record(forest.set_params(epsilon=None), *table, 0))
