"""Laws of mechanisms against golden values and brute force; their worst privacy loss and partitions by enumeration."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats
from scipy.integrate import quad

from dpforest.audit.exact import neighboring_leaves
from dpforest.privacy import flip_by_gap, flip_floor, flip_probability, mechanisms, pmf, privacy_loss, rate_for
from dpforest.privacy.laws import CERTIFIED, log_pmf
from dpforest.privacy.noisy_counts import (
    NEGATIVE_RULES,
    continuous_argmax_pmf,
    discard_probability,
    discrete_laplace_pmf,
    noisy_argmax_pmf,
)

EPSILONS = (0.01, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10)
SIZES = ((2, 40), (3, 14), (4, 8), (5, 6), (10, 3))  # number of classes, largest count
RELATIONS = ("add-remove", "replace-one")


# ---------------------------------------------------------------- laws of a label (docs/PAPERS.md)

GOLDEN = [
    ((5, 3, 0), 0.5, ".496606 .251697 .251697", ".689672 .253716 .056612", ".528252 .320401 .151347",
     ".785084 .178907 .036010", ".611407 .274303 .114290"),
    ((5, 3, 0), 1, ".952636 .023682 .023682", ".875601 .118500 .005900", ".689672 .253716 .056612",
     ".929267 .067516 .003217", ".785084 .178907 .036010"),
    ((2, 2, 1), 1, ".383652 .383652 .232697", ".422319 .422319 .155362", ".383652 .383652 .232697",
     ".438687 .438687 .122626", ".398912 .398912 .202177"),
    ((10, 9), 0.1, ".513811 .486189", ".524979 .475021", ".512497 .487503", ".547581 .452419", ".524385 .475615"),
    ((7, 5, 5, 1), 0.4, ".342200 .219267 .219267 .219267", ".502670 .225864 .225864 .045601",
     ".378525 .253733 .253733 .114010", ".595207 .185748 .185748 .033298", ".429623 .237900 .237900 .094576"),
]  # fmt: skip


@pytest.mark.parametrize("counts, epsilon, published, em, em_half, pf, pf_half", GOLDEN)
def test_laws_match_golden_values(counts, epsilon, published, em, em_half, pf, pf_half):
    for mechanism, rate, expected in (
        ("smooth-sensitivity", epsilon, published),
        ("smooth-sensitivity-clamped", epsilon, published),
        ("exponential", epsilon, em),
        ("exponential", epsilon / 2, em_half),
        ("permute-and-flip", epsilon, pf),
        ("permute-and-flip", epsilon / 2, pf_half),
    ):
        np.testing.assert_allclose(pmf(mechanism, [counts], rate)[0], [float(x) for x in expected.split()], atol=6e-7)


@pytest.mark.parametrize("mechanism", [m for m in mechanisms.MECHANISMS if m != "discrete-laplace"])
def test_laws_sum_to_one_are_symmetric_and_uniform_on_empty_leaves(mechanism):
    rng = np.random.default_rng(0)
    for k in (2, 3, 10, 50):
        counts = rng.integers(0, 40, (30, k))
        counts[0] = 0
        p = pmf(mechanism, counts, 0.3)
        np.testing.assert_allclose(p.sum(axis=1), 1, rtol=1e-12)
        np.testing.assert_allclose(p[0], 1 / k)
        relabeled = rng.permutation(k)
        np.testing.assert_allclose(pmf(mechanism, counts[:, relabeled], 0.3), p[:, relabeled], rtol=1e-12)


def test_permute_and_flip_with_many_classes_against_its_definition():
    """The integral for many classes agrees with an exact sum over all orders of 7 classes."""
    counts = np.array([9, 7, 7, 4, 2, 0, 0])
    accept = np.exp(-0.2 * (9 - counts))
    expected = np.zeros(7)
    for order in itertools.permutations(range(7)):
        reached = 1.0
        for c in order:
            expected[c] += reached * accept[c] / math.factorial(7)
            reached *= 1 - accept[c]
    np.testing.assert_allclose(pmf("permute-and-flip", [counts], 0.2)[0], expected, rtol=1e-12)


def test_laws_match_table_6_of_the_addendum():
    counts = [(5, 10), (105, 110), (0, 1), (0, 10), (10, 50), (10, 60)]
    table = {
        ("smooth-sensitivity", 0.1): (52.1, 52.1, 51.4, 53.4, 93.8, 99.9),
        ("exponential", 0.1): (62.2, 62.2, 52.5, 73.1, 98.2, 99.3),
        ("permute-and-flip", 0.1): (69.7, 69.7, 54.8, 81.6, 99.1, 99.7),
        ("exponential", 0.05): (56.2, 56.2, 51.2, 62.2, 88.1, 92.4),
    }
    for (mechanism, rate), expected in table.items():
        np.testing.assert_allclose(
            100 * pmf(mechanism, counts, rate)[:, 1], expected, atol=0.08
        )  # the table truncates digits


# ---------------------------------------------------------------- labels from noisy counts

# Values of the label's law under discrete noise, derived for this project. At q = exp(-κ) = 1/2, they are rational. Let
# P(1) be the probability of class 1 for counts (u, v), and W the difference of two draws of noise. With m = u - v + 1
# and T(m) = 2^-m (m/2 + 4/3) 4/9, P(W >= m) is T(m) for m >= 1, and otherwise 1 - T(1 - m). For the two negative rules:
#   clamp  P(1) = P(W >= m) + 2^-(u+v) 2/27,
#   paper  P(1) = P(W >= m) - 2^-(u+1) 2/3 + 2^-(u+v+2) 8/27 + thrown/2,
#   thrown = 1 - (1 - 2^-(u+1) 2/3) (1 - 2^-(v+1) 2/3) + 2^-(u+v) / 9, the probability that the leaf is discarded.
# In an empty leaf, class 0 has a small advantage, because it wins ties: probability 14/27, against 13/27 for class 1.
HALVES = {
    (0, 0): (Fraction(13, 27), Fraction(13, 27)),
    (1, 1): (Fraction(23, 54), Fraction(23, 54)),
    (3, 5): (Fraction(2561, 3456), Fraction(2507, 3456)),
    (5, 3): (Fraction(545, 3456), Fraction(599, 3456)),
    (0, 6): (Fraction(839, 864), Fraction(2789, 3456)),
    (6, 0): (Fraction(31, 1728), Fraction(629, 3456)),
}


@pytest.mark.parametrize("counts", HALVES)
def test_noisy_counts_of_two_classes_match_golden_values(counts):
    for negative, expected in zip(NEGATIVE_RULES, HALVES[counts], strict=True):
        p = noisy_argmax_pmf([counts], 1 / math.log(2), negative)[0]
        np.testing.assert_allclose(p, [float(1 - expected), float(expected)], rtol=1e-13)


def brute_noisy_argmax(counts, scale, negative, reach):
    """Return the law of the label, by a sum over all values of the noise up to `reach`."""
    noise = np.arange(-reach, reach + 1)
    noisy = np.stack(np.meshgrid(*[n + noise for n in counts], indexing="ij"))
    p = math.prod(np.meshgrid(*[discrete_laplace_pmf(noise, scale)] * len(counts), indexing="ij"))
    if negative == "clamp":
        noisy = np.maximum(noisy, 0)
        fair = (noisy == 0).all(axis=0)
    else:
        fair = (noisy < 0).any(axis=0) | (noisy == 0).all(axis=0)
    winner = noisy.argmax(axis=0)  # the first of equal classes wins
    return [p[(winner == c) & ~fair].sum() + p[fair].sum() / len(counts) for c in range(len(counts))]


@pytest.mark.parametrize("negative", NEGATIVE_RULES)
@pytest.mark.parametrize(
    "counts, scale", [((3, 5), 2.3), ((5, 3), 0.7), ((0, 0), 3), ((4, 4), 1), ((0, 9), 2), ((9, 1), 4)]
)
def test_noisy_counts_of_two_classes_match_brute_force(counts, scale, negative):
    expected = brute_noisy_argmax(counts, scale, negative, 180)
    np.testing.assert_allclose(noisy_argmax_pmf([counts], scale, negative)[0], expected, rtol=1e-10)


@pytest.mark.parametrize("negative", NEGATIVE_RULES)
@pytest.mark.parametrize("counts", [(3, 5, 1), (0, 0, 0), (4, 4, 4), (0, 6, 6), (1, 0, 7)])
def test_noisy_counts_of_three_classes_match_brute_force(counts, negative):
    expected = brute_noisy_argmax(counts, 1.3, negative, 50)
    np.testing.assert_allclose(noisy_argmax_pmf([counts], 1.3, negative)[0], expected, rtol=1e-10)
    thrown = sum(brute_noisy_argmax(counts, 1.3, "paper", 50))
    assert thrown == pytest.approx(1, abs=1e-12)


@pytest.mark.parametrize("negative", NEGATIVE_RULES)
@pytest.mark.parametrize("scale", [3, 33, 40.5, 300])
def test_two_classes_by_summation_equal_the_closed_form(scale, negative):
    """With a third class far below, the sum for many classes equals the closed form for two classes.

    At large scales, the library sums over the nodes of a quadrature rule.
    """
    counts = (int(80 * scale), int(79 * scale), int(40 * scale))
    two, three = noisy_argmax_pmf([counts[:2]], scale, negative)[0], noisy_argmax_pmf([counts], scale, negative)[0]
    np.testing.assert_allclose(three, [*two, 0], atol=1e-9)


def test_many_classes_and_wide_noise_sum_to_one_and_depend_on_order_through_ties_only():
    rng = np.random.default_rng(0)
    counts = rng.integers(0, 2000, (20, 9))
    counts[0], counts[1] = 0, 5
    for scale in (20, 500):
        p = noisy_argmax_pmf(counts, scale, "clamp")
        np.testing.assert_allclose(p.sum(axis=1), 1, atol=1e-9)
        relabeled = rng.permutation(9)
        swapped = noisy_argmax_pmf(counts[:, relabeled], scale, "clamp")
        np.testing.assert_allclose(swapped, p[:, relabeled], atol=1 / scale)  # a tie has a probability of about 1/scale


def test_the_probability_of_a_discarded_leaf_matches_values_by_hand():
    assert discard_probability([(0, 0)], 1 / math.log(2))[0] == pytest.approx(1 - 4 / 9 + 1 / 9)
    assert discard_probability([(500, 0)], 1.0)[0] == pytest.approx(math.exp(-1) / (1 + math.exp(-1)))


def test_continuous_laplace_noise_matches_golden_values():
    """Continuous Laplace noise matches the golden values of Bojarski et al., docs/PAPERS.md."""
    assert continuous_argmax_pmf([(10, 3)], 5, "paper")[0, 0] == pytest.approx(0.6870, abs=5e-5)
    assert continuous_argmax_pmf([(0, 100)], 10, "paper")[0, 1] == pytest.approx(0.7499, abs=5e-5)
    assert continuous_argmax_pmf([(0, 100)], 10, "clamp")[0, 1] == pytest.approx(0.9999, abs=2e-4)
    assert continuous_argmax_pmf([(50, 40)], 20, "paper")[0, 0] == pytest.approx(0.6076, abs=5e-5)
    assert continuous_argmax_pmf([(50, 40)], 20, "clamp")[0, 0] == pytest.approx(0.6209, abs=5e-5)


@pytest.mark.parametrize("negative", NEGATIVE_RULES)
@pytest.mark.parametrize("counts", [(10, 0, 0, 0), (3, 2, 0, 0), (5, 5, 1), (2, 2, 2, 2, 2, 2), (900, 890, 3)])
def test_continuous_noise_on_many_classes_matches_adaptive_integration(counts, negative):
    p = continuous_argmax_pmf([counts], 2.5, negative)[0]
    assert p.sum() == pytest.approx(1, abs=1e-10)
    noise = stats.laplace(scale=2.5)
    floor = [noise.cdf(-n) if negative == "paper" else 0 for n in counts]
    nobody = (
        1 - np.prod([noise.sf(-n) for n in counts]) if negative == "paper" else np.prod(noise.cdf(-np.array(counts)))
    )
    for c, count in enumerate(counts):

        def wins(x, c=c, count=count):
            others = [noise.cdf(x - n) - low for n, low in zip(counts, floor, strict=True)]
            return noise.pdf(x - count) * np.prod(np.delete(others, c))

        edges = sorted({0, *counts, *(max(n - 60, 0) for n in counts), max(counts) + 100})
        parts = [quad(wins, a, b, epsabs=1e-12, limit=200)[0] for a, b in itertools.pairwise(edges)]
        assert p[c] == pytest.approx(sum(parts) + nobody / len(counts), abs=1e-9)


def test_a_third_class_far_below_does_not_change_the_law_of_two():
    for negative, third in (("clamp", 0), ("paper", 4_000)):
        two = continuous_argmax_pmf([(9_000, 8_990), (8_990, 9_003)], 20, negative)
        three = continuous_argmax_pmf([(9_000, 8_990, third), (8_990, 9_003, third)], 20, negative)
        np.testing.assert_allclose(three, np.c_[two, [0, 0]], atol=1e-10)


def test_discrete_laws_approach_the_continuous_ones():
    for negative in NEGATIVE_RULES:
        fine = noisy_argmax_pmf([(50_000, 40_000)], 20_000, negative)
        np.testing.assert_allclose(fine, continuous_argmax_pmf([(50, 40)], 20, negative), atol=1e-4)


# ---------------------------------------------------------------- flips


def test_flip_probabilities_match_their_closed_forms():
    k, rate = 4, 0.3
    j = np.arange(1, 21)
    p = np.exp(-rate * j)
    expected = {
        "permute-and-flip": 1 - (1 - (1 - p) ** k) / (k * p),
        "exponential": (k - 1) * p / (1 + (k - 1) * p),
        "global-01": np.full(len(j), (k - 1) / (k - 1 + math.exp(rate))),
        "smooth-sensitivity": (k - 1) / (k - 1 + np.exp(rate / 2 * np.exp(j * rate))),
    }
    for mechanism, flips in expected.items():
        np.testing.assert_allclose(flip_by_gap(mechanism, j, k, rate), flips, rtol=1e-9)
    np.testing.assert_allclose(flip_by_gap("permute-and-flip", j, 2, rate), p / 2)
    np.testing.assert_allclose(flip_by_gap("exponential", j, 2, rate), p / (1 + p))


def test_flip_probabilities_of_ties_and_empty_leaves_match_closed_forms():
    counts = [(3, 3, 1), (0, 0, 0), (0, 2, 1)]
    flips = flip_probability("permute-and-flip", counts, 0.5)
    p = pmf("permute-and-flip", counts, 0.5)
    assert np.isnan(flips[1])
    np.testing.assert_allclose(flips[[0, 2]], [p[0, 2], p[2, 0] + p[2, 2]])
    ties = flip_probability("permute-and-flip", counts, 0.5, ties_count=True)
    np.testing.assert_allclose(ties[[0, 2]], [p[0, 1] + p[0, 2], flips[2]])
    # docs/PAPERS.md: j = 0 with T tied classes flips with probability (K - T)/(K - T + T exp(ε/2))
    assert flip_probability("smooth-sensitivity", [(4, 4, 1)], 1.0)[0] == pytest.approx(1 / (1 + 2 * math.exp(0.5)))


def test_tiny_flips_keep_their_digits():
    assert flip_probability("permute-and-flip", [(200, 0)], 1.0)[0] == pytest.approx(math.exp(-200) / 2, rel=1e-12)
    assert flip_probability("discrete-laplace", [(120, 60)], 1.0)[0] == pytest.approx(
        brute_noisy_argmax((120, 60), 1.0, "clamp", 110)[1], rel=1e-9
    )


def test_floor_is_attained_by_permute_and_flip_and_crossed_by_the_published_rule():
    gap = np.arange(1, 800)
    np.testing.assert_allclose(flip_by_gap("permute-and-flip", gap, 2, 0.1), flip_floor(gap, 0.1))
    crossed = [int(gap[flip_by_gap("smooth-sensitivity", gap, 2, e) < flip_floor(gap, e)][0]) for e in EPSILONS]
    assert crossed == [739, 111, 47, 20, 6, 2, 1, 1, 1]  # docs/PAPERS.md


# ---------------------------------------------------------------- privacy loss by enumeration


def worst(mechanism, rate, n_classes, most, relation):
    """Return the largest log-ratio over labels and neighboring leaves.

    Under replace-one, the row changes its class, but stays in its leaf.
    """
    before, after = neighboring_leaves(n_classes, most, moved=relation == "replace-one", symmetric=True)
    return np.abs(log_pmf(mechanism, before, rate) - log_pmf(mechanism, after, rate)).max()


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("mechanism", CERTIFIED)
def test_no_certified_mechanism_loses_more_than_epsilon(mechanism, relation):
    for epsilon in EPSILONS:
        exact = Fraction(str(epsilon))
        rate = float(rate_for(mechanism, exact, n_trees=1, partition="independent", neighbors=relation))
        for n_classes, most in SIZES:
            one_row = worst(mechanism, rate, n_classes, most, "add-remove")
            assert one_row <= rate * (1 + 1e-9)  # the charge of the ledger for one row
            if relation == "replace-one":
                one_leaf = worst(mechanism, rate, n_classes, most, "replace-one")
                two_leaves = 2 * one_row  # the row leaves one leaf and enters another, of any tree
                assert max(one_leaf, two_leaves) <= epsilon * (1 + 1e-9)
            else:
                assert one_row <= epsilon * (1 + 1e-9)
        if mechanism == "permute-and-flip":  # this mechanism spends all of ε
            total = one_row if relation == "add-remove" else two_leaves
            assert total == pytest.approx(epsilon, rel=1e-6)


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("negative", NEGATIVE_RULES)
def test_noisy_counts_lose_epsilon_and_their_labels_no_more(relation, negative):
    for epsilon in (0.1, 0.5, 2):
        rows = 1 if relation == "add-remove" else 2
        rate = epsilon / rows
        z = np.arange(-60, 61)
        pmf = np.log(discrete_laplace_pmf(z, 1 / rate))
        change = np.abs(np.diff(pmf)).max()  # one row changes one cell
        assert change == pytest.approx(rate) and rows * change <= epsilon * (1 + 1e-9)
        for n_classes, most in ((2, 40), (3, 4)):
            moved = relation == "replace-one"
            before, after = neighboring_leaves(n_classes, most, moved=moved, symmetric=True)
            p = np.log(noisy_argmax_pmf(np.concatenate([before, after]), 1 / rate, negative))
            assert np.abs(p[: len(before)] - p[len(before) :]).max() <= epsilon * (1 + 1e-9)


def test_enumeration_reproduces_the_table_and_catches_the_published_rule():
    """Losses by enumeration, for two classes and counts up to 40, match docs/PAPERS.md, also for the published rule."""
    table = {
        ("smooth-sensitivity", 1): "0.253 0.265 2.72 330 1.6e8 2.0e17 1.8e35 5.3e88 5.8e177",
        ("smooth-sensitivity-clamped", 1): "0.253 0.265 2.72 44.7 29.2 22.7 21.3 9.86 4.93",
        ("global-01", 0.5): "0.250 0.252 0.253 0.256 0.266 0.281 0.310 0.377 0.431",
        ("exponential", 1): "0.60 0.88 0.98 1 1 1 1 1 1",
        ("exponential", 0.5): "0.28 0.37 0.44 0.49 0.5 0.5 0.5 0.5 0.5",
        ("permute-and-flip", 1): "1 1 1 1 1 1 1 1 1",
        ("permute-and-flip", 0.5): "0.5 0.5 0.5 0.5 0.5 0.5 0.5 0.5 0.5",
    }
    for (mechanism, share), row in table.items():
        ratios = [worst(mechanism, share * e, 2, 40, "add-remove") / e for e in EPSILONS]
        np.testing.assert_allclose(ratios, [float(x) for x in row.split()], rtol=0.03)
    replaced = [worst("smooth-sensitivity", e, 2, 40, "replace-one") / e for e in EPSILONS[:6]]
    np.testing.assert_allclose(replaced, [0.505, 0.526, 5.1, 600, 2.5e8, 2.8e17], rtol=0.03)
    others = [worst("smooth-sensitivity", e, 10, 3, "add-remove") / e for e in (0.5, 1, 2, 5, 10)]
    np.testing.assert_allclose(others, [0.97, 17.3, 1289, 2.4e8, 1.2e17], rtol=0.03)


def test_rates_twice_as_high_would_be_caught():
    """The enumeration detects rates that are twice as high as allowed. Some papers and libraries use such rates."""
    assert worst("permute-and-flip", 1.0, 2, 40, "replace-one") == pytest.approx(2)
    assert worst("exponential", 1.0, 3, 14, "replace-one") > 1.9
    # Probabilities proportional to exp(ε u), with the 0/1 score u, cost ε if a row is replaced within its leaf, but
    # more if it moves to another leaf.
    assert worst("global-01", 2.0, 2, 40, "replace-one") == pytest.approx(2)
    two_leaves = 2 * worst("global-01", 2.0, 2, 40, "add-remove")
    assert two_leaves == pytest.approx(2 * math.log((1 + math.exp(2)) / 2)) and two_leaves > 2


def test_losses_by_lead_match_the_papers():
    gap = np.array([0, 1, 5, 50])
    np.testing.assert_allclose(privacy_loss("permute-and-flip", gap, 2, 0.5), 0.5)
    np.testing.assert_allclose(privacy_loss("discrete-laplace", gap, 2, 0.5, "replace-one"), 1)
    for mechanism in CERTIFIED:
        for relation, rows in zip(RELATIONS, (1, 2)):
            for n_classes in (2, 5):
                assert (privacy_loss(mechanism, gap, n_classes, 0.5, relation) <= rows * 0.5 * (1 + 1e-9)).all()
    # docs/PAPERS.md: the loss at the first lead that breaks the claim, divided by ε
    at = [(0.01, 554, 1.00), (0.05, 79, 1.05), (0.1, 32, 1.01), (0.2, 13, 1.22), (0.5, 3, 1.18), (1, 1, 2.13),
          (2, 0, 3.35), (3, 0, 9.81), (5, 0, 74), (10, 0, 11013)]  # fmt: skip
    for epsilon, j, expected in at:
        loss = privacy_loss("smooth-sensitivity", [j], 2, epsilon)[0] / epsilon
        assert loss == pytest.approx(expected, abs=0.01, rel=0.01)
    assert privacy_loss("smooth-sensitivity", [10_000], 2, 1.0)[0] == math.inf


# ---------------------------------------------------------------- partitions: forests of single leaves, exactly


def forest_law(labels, n_trees, rate, deals):
    """Return the law of the labels of `n_trees` one-leaf trees, averaged over the assignments of rows to trees."""
    total = np.zeros((2,) * n_trees)
    for trees in deals:
        counts = np.zeros((n_trees, 2), int)
        for label, tree in zip(labels, trees, strict=True):
            if tree >= 0:
                counts[tree, label] += 1
        leaf = pmf("permute-and-flip", counts, rate)
        total += math.prod(np.meshgrid(*leaf, indexing="ij"))
    return total / len(deals)


def independent(n, n_trees):
    return list(itertools.product(range(n_trees), repeat=n))


def blocks(n, n_trees):
    size = n // n_trees
    dealt = [i // size if size and i < size * n_trees else -1 for i in range(n)]
    return sorted(set(itertools.permutations(dealt)))


def worst_partition(deal, n_trees, most, relation, rate):
    tables = [(0,) * a + (1,) * b for a in range(most + 1) for b in range(most + 1 - a)]
    laws = {t: np.log(forest_law(t, n_trees, rate, deal(len(t), n_trees))) for t in tables}
    change = 1 if relation == "add-remove" else 0
    pairs = [
        (s, t)
        for s in tables
        for t in tables
        if len(t) - len(s) == change and abs(sum(t) - sum(s)) <= 1 and (change == 0 or sum(t) - sum(s) >= 0)
    ]
    return max(np.abs(laws[s] - laws[t]).max() for s, t in pairs)


@pytest.mark.parametrize("n_trees, most", [(2, 5), (3, 4)])
def test_independent_draws_lose_exactly_epsilon(n_trees, most):
    """If each row draws its tree independently, the privacy loss of a row is exactly ε under add-remove.

    Under replace-one, the loss is at most ε at half of the rate (docs/PAPERS.md).
    """
    assert worst_partition(independent, n_trees, most, "add-remove", 0.7) == pytest.approx(0.7, rel=1e-9)
    assert worst_partition(independent, n_trees, most, "replace-one", 0.35) <= 0.7 * (1 + 1e-9)


@pytest.mark.parametrize("n_trees, most", [(2, 5), (3, 6)])
def test_blocks_lose_epsilon_times_the_number_of_trees(n_trees, most):
    assert worst_partition(blocks, n_trees, most, "add-remove", 0.7) == pytest.approx(n_trees * 0.7, rel=1e-9)
    assert worst_partition(blocks, n_trees, most, "replace-one", 0.35) <= 0.7 * (1 + 1e-9)
