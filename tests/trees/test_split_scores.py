"""Scores of splits against exact arithmetic, and the effect of one row on a score, over all small tables.

The score of a split is minus the sum of the potentials of its two children.
"""

import itertools
import math
from fractions import Fraction

import numba
import numpy as np
import pytest

from dpforest.limits import MAX_BOUND
from dpforest.losses import ENTROPY, ERROR, GINI, m_alpha
from dpforest.trees import naive
from dpforest.trees.candidates import Candidates, bin_codes, public_candidates
from dpforest.trees.greedy_trees import fill_histogram
from dpforest.trees.split_scores import CRITERIA, UNIT, score_splits, sensitivity, whole_root
from tests.conftest import public_domain, random_codes

JIT = not numba.config.DISABLE_JIT
COUNTED = ("gini", "max", "entropy")  # criteria that are computed from numbers of rows, without weights
ALPHAS = (0, 1, 37, 512, 717, 1_023, 1_024)


def one_test() -> Candidates:
    """Return the candidates of a single numeric feature with two bins."""
    one = np.zeros(1, np.int32)
    return Candidates(one.astype(np.uint8), one, one, one, np.array([0, 1]), np.array([0, 2]))


def scores_of(left: np.ndarray, right: np.ndarray, criterion: str, alpha: int = UNIT) -> np.ndarray:
    """Return the scores of n splits. `left` and `right` hold the class weights in the children, (n, n_classes) each."""
    histogram = np.ascontiguousarray(np.stack(np.broadcast_arrays(left, right), axis=1), np.int64)
    return score_splits(histogram, one_test(), criterion, alpha)[:, 0]


def potential(weights, criterion: str, alpha: int = UNIT) -> np.ndarray:
    """Return the potential of children with these class weights: minus the score of a split with an empty sibling."""
    weights = np.asarray(weights, np.int64)
    whole = -scores_of(weights, np.zeros_like(weights), criterion, alpha)
    assert np.array_equal(whole, -scores_of(np.zeros_like(weights), weights, criterion, alpha))
    return whole


def exact_potential(weights, criterion: str, alpha: int) -> int:
    """Return the potential, computed with integers and fractions only."""
    w = [int(x) for x in weights]
    total = sum(w)
    if criterion == "m-alpha":
        return alpha * math.isqrt(w[0] * w[1]) + (UNIT - alpha) * min(w)
    if criterion == "gini":
        return math.ceil(UNIT * (total - Fraction(sum(x * x for x in w), total))) if total else 0
    if criterion == "max":
        return UNIT * (total - max(w))
    log = lambda x: round(UNIT * x * math.log2(x)) if x else 0
    return log(total) - sum(log(x) for x in w)


def tables(n_classes: int, most: int) -> np.ndarray:
    """Return all tables of class weights that sum to at most `most`."""
    grid = np.indices((most + 1,) * n_classes).reshape(n_classes, -1).T
    return grid[grid.sum(axis=1) <= most]


# ---------------------------------------------------------------- against exact values


@pytest.mark.parametrize("alpha", ALPHAS)
def test_m_alpha_is_the_loss_within_its_rounding(alpha):
    """The m-alpha potential is half of the potential of the loss, in units of the grid of weights times alpha.

    Only its square root is rounded, namely down.
    """
    w = np.concatenate([tables(2, 60), np.random.default_rng(0).integers(0, 2**30, (2_000, 2))])
    score = potential(w, "m-alpha", alpha)
    exact = m_alpha(alpha / UNIT).potential(w[:, 1] / UNIT, w[:, 0] / UNIT) * UNIT**2 / 2
    tolerance = 1e-12 * exact + 1e-9
    assert np.all((exact - score >= -tolerance) & (exact - score < alpha + tolerance))
    assert np.array_equal(score, [exact_potential(row, "m-alpha", alpha) for row in w])


def test_counted_criteria_are_the_losses_within_a_step():
    w = np.concatenate([tables(2, 60), np.random.default_rng(0).integers(0, 2**20, (2_000, 2))])
    n1, n0 = w[:, 1], w[:, 0]
    above = potential(w, "gini") - UNIT * GINI.potential(n1, n0) / 2
    assert np.all((above > -1e-5) & (above < 1 + 1e-5))  # the potential is rounded up
    assert np.array_equal(potential(w, "max"), UNIT * ERROR.potential(n1, n0) / 2)
    assert np.abs(potential(w, "entropy") - UNIT * ENTROPY.potential(n1, n0)).max() < 1.5 + 1e-4  # three rounded terms


@pytest.mark.parametrize("n_classes", [2, 3, 5, 50])
@pytest.mark.parametrize("criterion", COUNTED)
def test_scores_of_many_classes_match_fractions(criterion, n_classes):
    rng = np.random.default_rng(n_classes)
    w = rng.integers(0, 10 ** rng.integers(0, 5, (300, 1)), (300, n_classes))
    w[:20] *= rng.random((20, n_classes)) < 0.1
    score = potential(w, criterion)
    assert np.array_equal(score, [exact_potential(row, criterion, UNIT) for row in w])
    assert np.array_equal(potential(w[:, rng.permutation(n_classes)], criterion), score)
    assert (potential(w * np.eye(n_classes, dtype=int)[0], criterion) == 0).all()  # pure or empty children


@pytest.mark.parametrize("criterion", COUNTED)
def test_an_empty_class_changes_no_score(criterion):
    """With a third class that has no rows, the kernel for many classes agrees with the kernel for two classes."""
    rng = np.random.default_rng(0)
    left, right = rng.integers(0, 500, (2, 2_000, 2))
    wide = [np.concatenate([side, np.zeros((2_000, 1), int)], axis=1) for side in (left, right)]
    assert np.array_equal(scores_of(left, right, criterion), scores_of(*wide, criterion))


@pytest.mark.parametrize("criterion, n_classes", [*[(c, 2) for c in CRITERIA], *[(c, 4) for c in COUNTED]])
def test_scores_of_every_candidate_match_a_count_of_rows(criterion, n_classes):
    """Scores of random rows equal those of children that are counted row by row."""
    domain = public_domain(None, 3, None, 1, 2, 6, n_classes=n_classes)
    candidates = public_candidates(domain, 5)
    rng = np.random.default_rng(1)
    n, n_nodes = 150, 4
    codes, y = random_codes(domain, n, seed=1), rng.integers(0, n_classes, n).astype(np.int32)
    weight = rng.integers(0, 1_025, n) if criterion == "m-alpha" else np.ones(n, np.int64)
    node = rng.integers(0, n_nodes - 1, n).astype(np.int32)  # the last node stays empty
    histogram = np.zeros((n_nodes, int(candidates.slot[-1]), n_classes), np.int64)
    fill_histogram(bin_codes(domain, codes, 5), y, weight, node, candidates.slot, histogram)
    scores = score_splits(histogram, candidates, criterion, 321)
    assert scores.dtype == np.int64 and scores.shape == (n_nodes, candidates.n_candidates)
    for place in range(n_nodes):
        for c in range(candidates.n_candidates):
            children = np.zeros((2, n_classes), int)
            for i in np.flatnonzero(node == place):
                children[naive.answer(candidates, c, codes[i]), y[i]] += weight[i]
            assert scores[place, c] == -sum(exact_potential(side, criterion, 321) for side in children)
    assert (scores[-1] == 0).all()


# ---------------------------------------------------------------- effect of one row


@pytest.mark.parametrize("alpha", ALPHAS)
@pytest.mark.parametrize("n, most", [(2, 1), (2, 9), (3, 5), (6, 7), (9, 4), (2, 20)])
def test_one_row_changes_m_alpha_potentials_over_all_tables_by_at_most_the_bound(alpha, n, most):
    """One more row changes the potential of any child of n - 1 rows, with weights up to `most`, by at most a bound."""
    s = sensitivity("m-alpha", n, alpha=alpha, weight=most)
    before = tables(2, (n - 1) * most)
    p = potential(before, "m-alpha", alpha)
    reach = np.zeros(len(before), int)
    for u in range(1, most + 1):
        for row in ((u, 0), (0, u)):
            change = potential(before + row, "m-alpha", alpha) - p
            assert change.min() >= 0  # a row never lowers a potential, so all changes have the same sign
            reach = np.maximum(reach, change)
    # In this child, all earlier rows have the second class.
    corner = np.flatnonzero(before[:, 0] + before[:, 1] == before[:, 1].max())[0]
    assert before[corner].tolist() == [0, (n - 1) * most]
    assert reach.max() <= s and reach[corner] >= s - alpha  # attains the bound, up to the rounding of the square root


SIZES = [(2, 60), (3, 20), (4, 11), (6, 6)]  # classes, rows


@pytest.mark.parametrize("n_classes, most", SIZES)
@pytest.mark.parametrize("criterion", COUNTED)
def test_one_row_changes_counted_criteria_over_all_tables_within_one_interval(criterion, n_classes, most):
    """For all tables, the change of a potential by one more row lies in one interval. So does the change of a score."""
    before = tables(n_classes, most - 1)
    p = potential(before, criterion)
    changes = np.array([potential(before + row, criterion) - p for row in np.eye(n_classes, dtype=int)])
    s = sensitivity(criterion, most)
    assert changes.max() - min(changes.min(), 0) <= s
    exact = {"gini": 2 - 2 / most, "max": 1, "entropy": math.log2(most) + (most - 1) * math.log2(most / (most - 1))}
    assert changes.max() >= UNIT * exact[criterion] - 2
    if criterion == "entropy":  # each logarithm is rounded separately, so a potential can fall by two steps
        assert changes.min() >= -2 and s <= changes.max() + 5 + UNIT * (1 / math.log(2) - 1)
    else:
        assert changes.min() == 0 and s <= UNIT * (2 if criterion == "gini" else 1) + 1


def test_rounded_entropy_stays_within_the_interval_for_large_tables():
    """The interval also holds for large tables, where a row of the most frequent class adds less than a grid step."""
    rng = np.random.default_rng(0)
    draws = 400_000 if JIT else 3_000
    large = rng.integers(0, 2 ** rng.integers(1, 21, (draws, 1)), (draws, 3))
    large[::2, 1:] = rng.integers(0, 3, (len(large[::2]), 2))
    large = large[large.sum(axis=1) < MAX_BOUND]
    n, p = int(large.sum(axis=1).max()) + 1, potential(large, "entropy")
    changes = np.concatenate([potential(large + row, "entropy") - p for row in np.eye(3, dtype=int)])
    assert changes.min() >= -2 and changes.max() + 2 <= sensitivity("entropy", n)
    assert not JIT or changes.min() < 0  # some potentials fall, which the sensitivity covers


@pytest.mark.parametrize("criterion", CRITERIA)
def test_large_tables_stay_within_the_interval(criterion):
    """The interval holds for random and unbalanced children of up to two million rows, for any added row."""
    rng = np.random.default_rng(2)
    draws = 100_000 if JIT else 2_000
    weighted = criterion == "m-alpha"
    for alpha, top, n in ((1_024, 1_024, MAX_BOUND), (333, 77, 5_000), (0, 1_000, 300), (1_024, 512, 12)):
        limit = (n - 1) * (top if weighted else 1)
        total = rng.integers(0, limit, draws, endpoint=True)
        minority = rng.integers(0, total // 2 ** rng.integers(0, 30, draws), endpoint=True)
        w = np.stack([total - minority, minority], axis=1)
        w = rng.permuted(w, axis=1)
        u = rng.integers(1, top, draws, endpoint=True) if weighted else np.ones(draws, int)
        s = sensitivity(criterion, n, alpha=alpha, weight=top) if weighted else sensitivity(criterion, n)
        p = potential(w, criterion, alpha)
        low = 2 if criterion == "entropy" else 0
        for side in np.eye(2, dtype=int):
            change = potential(w + u[:, None] * side, criterion, alpha) - p
            assert change.min() >= -low and change.max() <= s - low


@pytest.mark.parametrize("criterion, alpha", [*[("m-alpha", a) for a in (0, 717, 1_024)], *[(c, 0) for c in COUNTED]])
def test_replacing_a_row_moves_a_score_by_no_more(criterion, alpha):
    """Replacing a row changes a score by no more than adding a row may change it.

    The weight, the class and the child of the row may change.
    """
    n, most = (4, 3) if criterion == "m-alpha" else (9, 1)
    s = sensitivity(criterion, n, alpha=alpha, weight=most) if criterion == "m-alpha" else sensitivity(criterion, n)
    children = tables(2, (n - 1) * most)
    left, right = (side.reshape(-1, 2) for side in np.broadcast_arrays(children[:, None], children[None]))
    fits = left.sum(axis=1) + right.sum(axis=1) <= (n - 1) * most
    left, right = left[fits], right[fits]
    others = scores_of(left, right, criterion, alpha)
    rows = [(0, 0), *[row for u in range(1, most + 1) for row in ((u, 0), (0, u))]]
    with_row = [scores_of(left + row, right, criterion, alpha) for row in rows]
    with_row += [scores_of(left, right + row, criterion, alpha) for row in rows]
    spread = np.max(with_row, axis=0) - np.min(with_row, axis=0)
    low = 2 if criterion == "entropy" else 0
    assert np.min(with_row - others) >= -s and np.max(with_row - others) <= low
    assert spread.max() <= s and spread.max() >= 0.8 * s - max(alpha, 5)


@pytest.mark.parametrize("criterion", CRITERIA)
def test_one_row_moves_all_candidates_of_its_node_within_one_interval(criterion):
    """The changes of all scores of a node by one more row lie in one interval. Scores of other nodes do not change."""
    domain = public_domain(None, 4, 2, 3)
    candidates = public_candidates(domain, 4)
    rng = np.random.default_rng(3)
    widest = 0.0
    for trial in range(60 if JIT else 10):
        n, top = int(rng.integers(2, 14)), int(rng.integers(1, 1_025)) if criterion == "m-alpha" else 1
        codes, y = random_codes(domain, n, seed=trial), (rng.random(n) < rng.choice([0.02, 0.5])).astype(np.int32)
        weight = np.where(rng.random(n) < 0.7, top, rng.integers(1, top, n, endpoint=True))
        node = rng.integers(0, 2, n).astype(np.int32)
        alpha = int(rng.integers(0, 1_025))
        scores = []
        for rows in (slice(n - 1), slice(n)):
            histogram = np.zeros((2, int(candidates.slot[-1]), 2), np.int64)
            bins = bin_codes(domain, codes[rows], 4)
            fill_histogram(bins, y[rows], weight[rows], node[rows], candidates.slot, histogram)
            scores.append(score_splits(histogram, candidates, criterion, alpha))
        change = scores[1] - scores[0]
        assert (change[1 - node[-1]] == 0).all()
        mine = change[node[-1]]
        s = sensitivity(criterion, n, alpha=alpha, weight=top) if criterion == "m-alpha" else sensitivity(criterion, n)
        assert mine.max() - mine.min() <= s and mine.max() <= 2 and mine.min() >= -s
        widest = max(widest, (mine.max() - mine.min()) / s)
    assert widest > 0.5


def test_sensitivities_match_values_by_hand():
    assert sensitivity("m-alpha", 101, alpha=1_024, weight=1_024) == 1_024 * (10 * 1_024 + 1)
    assert sensitivity("m-alpha", 101, alpha=0, weight=1_024) == 1_024**2
    assert sensitivity("m-alpha", 101, alpha=512, weight=100) == 512 * 1_001 + 512 * 100
    assert sensitivity("max", 5) == 1_024
    for n in (2, 100, MAX_BOUND):
        for alpha in ALPHAS:  # half of the bound on the loss, in grid units, plus at most one step of alpha
            exact = m_alpha(alpha / UNIT).sensitivity(n, 700 / UNIT) * UNIT**2 / 2
            assert exact - 1e-6 <= sensitivity("m-alpha", n, alpha=alpha, weight=700) <= exact + alpha + 1e-6
        assert sensitivity("entropy", n) >= UNIT * (math.log2(n) + 1 / math.log(2)) + 4
        assert sensitivity("gini", n) >= 2 * UNIT


# ---------------------------------------------------------------- limits


def test_the_root_is_exact():
    rng = np.random.default_rng(0)
    roots = {
        *range(200),
        2**31 - 1,
        *(2**k + d for k in range(8, 31) for d in (-1, 0, 1)),
        *map(int, rng.integers(0, 2**31, 3_000)),
    }
    for r in roots:
        for x in (r * r - 1, r * r, r * r + 1, r * r + 2 * r):
            if 0 <= x < 2**62:
                assert whole_root(np.int64(x)) == math.isqrt(x)
    for x in [2**62 - 1, *map(int, rng.integers(0, 2**62, 3_000))]:
        assert whole_root(np.int64(x)) == math.isqrt(x)


FULL = 2**31  # 2**21 rows of weight 1024, slightly more than allowed


@pytest.mark.parametrize(
    "left, right",
    [
        ((FULL, 0), (0, 0)),
        ((FULL // 2, FULL // 2), (0, 0)),
        ((0, 0), (FULL // 2, FULL // 2)),
        ((FULL // 4, FULL // 4), (FULL // 4, FULL // 4)),
        ((1, FULL - 2), (1, 0)),
        ((FULL // 2, 0), (0, FULL // 2)),
        ((FULL // 2 - 1, FULL // 2 + 1), (0, 0)),
        ((FULL // 2 - 1_024, FULL // 2 - 1), (1_024, 1)),
    ],
)
def test_nothing_overflows_with_the_most_rows_of_full_weight(left, right):
    """Scores of the largest allowed tables, with all rows at full weight, are exact, so no integer overflows.

    Without the compiler, numpy would warn of overflows, and pytest turns warnings into errors. With it, scores would be
    wrong.
    """
    for alpha in ALPHAS:
        score = scores_of(np.array([left]), np.array([right]), "m-alpha", alpha)[0]
        assert score == -sum(exact_potential(side, "m-alpha", alpha) for side in (left, right))
    for criterion in ("gini", "max"):  # these criteria count rows, but also allow weights
        score = scores_of(np.array([left]), np.array([right]), criterion)[0]
        assert score == -sum(exact_potential(side, criterion, 0) for side in (left, right))
        rows = [tuple(w // 1_024 for w in side) for side in (left, right)]
        wide = [np.array([[*side, 0, 0]]) for side in rows]
        assert scores_of(*wide, criterion)[0] == -sum(exact_potential(side, criterion, 0) for side in rows)


def test_the_most_rows_in_the_most_classes_are_scored_exactly():
    w = np.full((1, 50), MAX_BOUND // 50)
    for criterion in COUNTED:
        assert potential(w, criterion)[0] == exact_potential(w[0], criterion, 0)
    for pair in itertools.product((0, 1, 2, MAX_BOUND - 3, MAX_BOUND // 2), repeat=2):
        if sum(pair) <= MAX_BOUND:
            assert abs(potential([pair], "entropy")[0] - exact_potential(pair, "entropy", 0)) <= 1
