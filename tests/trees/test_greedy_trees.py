"""Greedy trees: the builder against a naive version and against a search in plain Python, and its layout.

A chooser is the function that takes a test for each node of a level; -1 means that the node is not split.
"""

import math
from fractions import Fraction

import numba
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpforest.privacy import DemoSource, selection
from dpforest.privacy.ledger import QueryBudget
from dpforest.tables.domain import Domain
from dpforest.trees import naive, routing
from dpforest.trees.candidates import bin_codes, public_candidates
from dpforest.trees.greedy_trees import as_trees, fill_histogram, grow_tree, leaf_table, places_of_rows
from dpforest.trees.layout import LEAF, NUMERIC
from dpforest.trees.split_scores import UNIT, score_splits, sensitivity
from tests.conftest import public_domain, random_codes
from tests.trees.test_candidates import with_missing

JIT = not numba.config.DISABLE_JIT
KINDS = st.lists(st.one_of(st.none(), st.integers(1, 5)), min_size=1, max_size=4).filter(lambda k: set(k) != {1})


def any_test(seed: int, *, skip: float, stubborn: bool = False):
    """Return a chooser that draws a random test for each node, and a list of its inputs.

    If `stubborn`, the chooser may also draw decided tests, to which all possible rows of the node give one answer.
    """
    shown = []

    def choose(level, histogram, allowed):
        rng = np.random.default_rng([seed, level])
        shown.append((histogram.copy(), allowed.copy()))
        picks = np.array([rng.choice(np.flatnonzero(a | stubborn)) for a in allowed])
        return np.where(rng.random(len(picks)) < skip, -1, picks)

    return choose, shown


def best_test(candidates, criterion: str, alpha: int = UNIT):
    """Return a chooser that takes the best allowed candidate, and the first one in a tie."""

    def choose(level, histogram, allowed):
        scores = score_splits(histogram, candidates, criterion, alpha)
        return np.where(allowed, scores, np.iinfo(np.int64).min).argmax(axis=1)

    return choose


def private_test(candidates, seed: int):
    """Return a chooser that draws tests like a private forest, with a seed."""
    query_budget = QueryBudget(Fraction(3), 100)

    def choose(level, histogram, allowed):
        scores = score_splits(histogram, candidates, "gini")
        return selection.choose(scores, allowed, sensitivity("gini", 2), query_budget, DemoSource(seed), key=level)

    return choose


def random_rows(domain: Domain, n: int, seed: int):
    """Return codes, classes that follow from the codes in most cases, and integer weights, some of which are 0."""
    rng = np.random.default_rng(seed)
    codes = random_codes(domain, n, seed)
    signal = codes[:, 0].astype(int) + 7 * codes[:, -1].astype(int)
    y = np.argsort(np.argsort(signal, kind="stable"), kind="stable") * domain.n_classes // max(n, 1)
    y = np.where(rng.random(n) < 0.2, rng.integers(0, domain.n_classes, n), y).astype(np.int32)
    return codes, y, rng.integers(0, 1_025, n)


# ---------------------------------------------------------------- against the naive version


@settings(max_examples=60, deadline=None, derandomize=True)
@given(
    kinds=KINDS,
    missing=st.integers(0, 15),
    n_bins=st.integers(2, 5),
    n_classes=st.integers(2, 3),
    n=st.sampled_from([0, 1, 2, 40]),
    depth=st.integers(1, 4),
    skip=st.sampled_from([0.0, 0.3, 1.0]),
    stubborn=st.booleans(),
    seed=st.integers(0, 10**6),
)
def test_the_builder_agrees_with_its_naive_version(kinds, missing, n_bins, n_classes, n, depth, skip, stubborn, seed):
    """For any choices, both versions have the same histograms, allowed tests and places of rows.

    No node below a node without a test is split.
    """
    domain = with_missing(public_domain(*kinds, n_classes=n_classes), *[i for i in range(4) if missing >> i & 1])
    candidates = public_candidates(domain, n_bins)
    codes, y, weight = random_rows(domain, n, seed)
    bins = bin_codes(domain, codes, n_bins)
    shape = {"n_classes": n_classes, "depth": depth}
    choose, fast_shown = any_test(seed, skip=skip, stubborn=stubborn)
    fast, node = grow_tree(candidates, bins, y, weight, **shape, choose=choose)
    choose, slow_shown = any_test(seed, skip=skip, stubborn=stubborn)
    slow, places = naive.grow_tree(candidates, codes, y, weight, **shape, choose=choose)
    for level in range(depth):
        for mine, theirs in zip(fast_shown[level], slow_shown[level], strict=True):
            assert mine.dtype == theirs.dtype and np.array_equal(mine, theirs)
        assert np.array_equal(fast[level], slow[level]) and fast[level].shape == (2**level,)
    assert node.dtype == np.int32 and np.array_equal(node, places)
    assert np.array_equal(places_of_rows(candidates, bins, fast), places)
    table = np.zeros((2**depth, n_classes), np.int64)
    leaf_table(node, y, weight, table)
    expected = np.zeros_like(table)
    for p, label, w in zip(places, y, weight, strict=True):
        expected[p, label] += w
    assert np.array_equal(table, expected)


@pytest.mark.parametrize("n", [1, 7, 8, 9, 511, 512, 513, 5_000 if JIT else 1_030])
@pytest.mark.parametrize("skip", [0.0, 0.4])
def test_counted_and_subtracted_children_have_the_right_histograms(n, skip):
    """The histograms of every level equal counts by numpy, for rows in one or several blocks, sorted or not.

    The builder counts the rows of some children. For their siblings, it subtracts these counts from those of the
    parent.
    """
    domain = with_missing(public_domain(None, 3, 1, n_classes=3), 0)
    candidates = public_candidates(domain, 3)
    codes, y, weight = random_rows(domain, n, n)
    bins = bin_codes(domain, codes, 3)
    for order in (np.arange(n), np.argsort(codes[:, 0], kind="stable")):
        choose, shown = any_test(n, skip=skip)
        mine, label, w = bins[order], y[order], weight[order]
        chosen, _ = grow_tree(candidates, mine, label, w, n_classes=3, depth=5, choose=choose)
        for level, (histogram, _) in enumerate(shown):
            node = places_of_rows(candidates, mine, chosen[:level])
            expected = np.zeros_like(histogram)
            for j, start in enumerate(candidates.slot[:-1]):
                np.add.at(expected, (node, start + mine[:, j].astype(int), label), w)
            assert np.array_equal(histogram, expected)


@settings(max_examples=60, deadline=None, derandomize=True)
@given(
    kinds=KINDS,
    missing=st.integers(0, 15),
    n_trees=st.integers(1, 3),
    depth=st.integers(1, 5),
    skip=st.sampled_from([0.0, 0.3, 0.7, 1.0]),
    seed=st.integers(0, 10**6),
)
def test_grown_trees_are_sound_and_route_rows_to_their_leaves(kinds, missing, n_trees, depth, skip, seed):
    """Grown trees are sound, have no nodes below a leaf, and every row ends in the leaf that the builder states."""
    domain = with_missing(public_domain(*kinds), *[i for i in range(4) if missing >> i & 1])
    candidates = public_candidates(domain, 4)
    codes, y, weight = random_rows(domain, 50, seed)
    bins = bin_codes(domain, codes, 4)
    grown, nodes = [], []
    for tree in range(n_trees):
        choose, _ = any_test(seed + tree, skip=skip)
        chosen, node = grow_tree(candidates, bins, y, weight, n_classes=2, depth=depth, choose=choose)
        grown.append(chosen)
        nodes.append(node)
    trees, place = as_trees(candidates, grown, depth)
    trees.check(np.array([f.n_codes for f in domain.features]))
    assert trees.n_trees == n_trees and trees.depth == depth and place.shape == (trees.n_leaves,)
    assert len(np.unique(place)) == len(place)
    leaves = routing.leaves_of_rows(trees, domain, codes)
    assert np.array_equal(leaves, naive.leaves_of_rows(trees, codes))
    assert np.array_equal(place[leaves], np.array(nodes) + 2**depth * np.arange(n_trees)[:, None])
    for tree in range(n_trees):
        inner = sum(1 for c in np.concatenate(grown[tree]) if c >= 0)
        assert (trees.select(tree).kind != LEAF).sum() == inner == trees.select(tree).n_leaves - 1
    assert trees.is_complete or skip > 0


def test_a_tree_matches_a_calculation_by_hand():
    domain = public_domain(None, 3)
    candidates = public_candidates(domain, 4)  # the tests are x >= 1/4, 1/2, 3/4 | the category is a, b, c
    grown = [np.array([4]), np.array([1, -1]), np.array([-1, 5, -1, -1])]
    trees, place = as_trees(candidates, [grown, [np.array([-1]), np.full(2, -1), np.full(4, -1)]], 3)
    assert trees.kind.tolist() == [1, NUMERIC, LEAF, LEAF, 1, LEAF, LEAF, LEAF]
    assert trees.feature.tolist() == [1, 0, -1, -1, 1, -1, -1, -1]
    assert trees.threshold.tolist() == [1, 32_767, -1, -1, 2, -1, -1, -1]
    assert trees.first_child.tolist() == [1, 3, 2, 3, 5, 5, 6, 7]
    assert trees.tree_start.tolist() == [0, 7, 8]
    assert place.tolist() == [4, 0, 2, 3, 8]
    codes = np.array([[0, 0], [40_000, 0], [40_000, 2], [0, 1], [32_768, 2], [32_767, 2]], np.uint16)
    node = places_of_rows(candidates, bin_codes(domain, codes, 4), grown)
    assert node.tolist() == [0, 2, 3, 4, 3, 0]


def test_a_node_without_a_split_stays_one_leaf():
    """The builder ignores tests that are chosen below a leaf, because the leaf would lose its rows."""
    domain = public_domain(None, None)
    candidates = public_candidates(domain, 3)
    codes, y, weight = random_rows(domain, 200, 0)
    levels = [np.array([0]), np.array([-1, 2]), np.array([3, 2, 0, 1])]
    chosen, node = grow_tree(
        candidates,
        bin_codes(domain, codes, 3),
        y,
        weight,
        n_classes=2,
        depth=3,
        choose=lambda level, h, a: levels[level],
    )
    assert chosen[2].tolist() == [-1, -1, 0, 1] and levels[2].tolist() == [3, 2, 0, 1]
    assert set(node) <= {0, 4, 5, 6, 7}
    _, place = as_trees(candidates, [chosen], 3)
    assert set(node) <= set(place)


# ---------------------------------------------------------------- metamorphic


@pytest.fixture
def rows():
    domain = with_missing(public_domain(None, 4, None, 2, n_classes=3), 2)
    candidates = public_candidates(domain, 6)
    codes, y, weight = random_rows(domain, 400 if JIT else 80, 5)
    return candidates, bin_codes(domain, codes, 6), y, weight


def choosers(candidates):
    return [best_test(candidates, c) for c in ("gini", "max", "entropy")] + [private_test(candidates, 3)]


def same(one, other) -> bool:
    return all(np.array_equal(a, b) for a, b in zip(one, other, strict=True))


@pytest.mark.parametrize("which", range(4))
def test_the_order_of_rows_changes_nothing(rows, which):
    candidates, bins, y, _ = rows
    ones, order = np.ones(len(y), np.int64), np.random.default_rng(0).permutation(len(y))
    shape = {"n_classes": 3, "depth": 4}
    chosen, node = grow_tree(candidates, bins, y, ones, **shape, choose=choosers(candidates)[which])
    again, there = grow_tree(candidates, bins[order], y[order], ones, **shape, choose=choosers(candidates)[which])
    assert same(chosen, again) and np.array_equal(there, node[order])


@pytest.mark.parametrize("which", range(4))
def test_other_names_for_classes_change_nothing_else(rows, which):
    candidates, bins, y, _ = rows
    ones, names = np.ones(len(y), np.int64), np.array([2, 0, 1], np.int32)
    tables = np.zeros((2, 16, 3), np.int64)
    for labels, table in zip((y, names[y]), tables, strict=True):
        chosen, node = grow_tree(
            candidates, bins, labels, ones, n_classes=3, depth=4, choose=choosers(candidates)[which]
        )
        leaf_table(node, labels, ones, table)
        if labels is y:
            first = chosen
    assert same(first, chosen) and np.array_equal(tables[0], tables[1][:, names])


@pytest.mark.parametrize("alpha", [0, 700, 1_024])
def test_for_m_alpha_swapped_classes_change_nothing_and_weights_count_as_copies(rows, alpha):
    """For the m-alpha score, swapping the classes changes nothing, and a row of weight w counts as w rows.

    A larger weight of only one class changes the tree.
    """
    candidates, bins, y, weight = rows
    y = (y > 0).astype(np.int32)
    choose = best_test(candidates, "m-alpha", alpha)
    shape = {"n_classes": 2, "depth": 4, "choose": choose}
    chosen, node = grow_tree(candidates, bins, y, weight, **shape)
    assert same(chosen, grow_tree(candidates, bins, 1 - y, weight, **shape)[0])
    copies = weight % 4
    few = np.repeat(np.arange(len(y)), copies)
    one, there = grow_tree(candidates, bins, y, copies, **shape)
    other, theirs = grow_tree(candidates, bins[few], y[few], np.ones(len(few), np.int64), **shape)
    assert same(one, other) and np.array_equal(there[few], theirs)
    scaled = grow_tree(candidates, bins, y, np.where(y == 1, 1_024, 1), **shape)[0]
    assert not same(chosen, scaled)


def test_a_row_changes_only_the_histograms_of_nodes_on_its_path(rows):
    """In each level, a row changes the histogram of one node only, by its weight in one cell of each feature.

    So the nodes of a level are queries of disjoint rows, and a level costs no more than one node.
    """
    candidates, bins, y, weight = rows
    chosen, _ = grow_tree(candidates, bins, y, weight, n_classes=3, depth=4, choose=best_test(candidates, "gini"))
    for level in range(4):
        node = places_of_rows(candidates, bins, chosen[:level])
        with_row, without = np.zeros((2, 2**level, int(candidates.slot[-1]), 3), np.int64)
        fill_histogram(bins, y, weight, node, candidates.slot, with_row)
        fill_histogram(bins[1:], y[1:], weight[1:], node[1:], candidates.slot, without)
        change = with_row - without
        place, slot, label = np.nonzero(change)
        assert (place == node[0]).all() and (label == y[0]).all() and (change[change != 0] == weight[0]).all()
        assert slot.tolist() == (candidates.slot[:-1] + bins[0]).tolist()


# ---------------------------------------------------------------- search in plain Python


def plain_score(children, criterion: str, alpha: int) -> int:
    """Return the score of a split into two children with these class weights, rounded like the engine's scores."""
    total = 0
    for w in children:
        n = sum(w)
        if criterion == "m-alpha":
            total -= alpha * math.isqrt(w[0] * w[1]) + (1_024 - alpha) * min(w)
        elif n:
            total -= math.ceil(1_024 * (n - Fraction(sum(x * x for x in w), n)))
    return total


def plain_search(domain: Domain, n_bins: int, rows, *, depth: int, criterion: str, alpha: int) -> list:
    """Return the best tree as nested lists: [feature, kind, threshold, left, right], or the class weights of a leaf."""
    codes, y, weight = rows
    n_classes = domain.n_classes
    tests = []
    for j, f in enumerate(domain.features):
        if f.kind == "numeric":
            tests += [(j, "at least", math.ceil(Fraction(k * 65_536, n_bins))) for k in range(1, n_bins)]
        elif f.n_codes > 1:
            tests += [(j, "is", v) for v in (range(f.n_codes) if f.n_codes > 2 else [1])]

    def answer_of(test, code) -> bool:
        return code >= test[2] if test[1] == "at least" else code == test[2]

    def table(members) -> list[int]:
        return [sum(int(weight[i]) for i in members if y[i] == c) for c in range(n_classes)]

    def split(members, box, level) -> list:
        if level == depth:
            return table(members)
        may = [t for t in tests if len({answer_of(t, code) for code in box[t[0]]}) == 2] or tests
        sides = lambda t: [[i for i in members if answer_of(t, codes[i][t[0]]) == side] for side in (False, True)]
        # `max` returns the first of equally good tests, as the engine does.
        best = max(may, key=lambda t: plain_score([table(s) for s in sides(t)], criterion, alpha))
        inside = lambda side: [[c for c in b if j != best[0] or answer_of(best, c) == side] for j, b in enumerate(box)]
        return [best, *[split(s, inside(side), level + 1) for side, s in enumerate(sides(best))]]

    every = [range(f.n_codes) if f.kind == "categorical" else range(0, 65_536, 64) for f in domain.features]
    return split(range(len(y)), every, 0)


@pytest.mark.parametrize(
    "criterion, alpha, n_classes",
    [("gini", 0, 2), ("gini", 0, 3), ("m-alpha", 0, 2), ("m-alpha", 650, 2), ("m-alpha", 1_024, 2)],
)
@pytest.mark.parametrize("seed", range(4))
def test_the_best_choices_make_the_tree_of_a_plain_search(criterion, alpha, n_classes, seed):
    domain = public_domain(None, 3, 2, None, n_classes=n_classes)
    n_bins, depth = 4, 3
    candidates = public_candidates(domain, n_bins)
    codes, y, weight = random_rows(domain, 60, seed)
    if criterion == "gini":
        weight = np.ones(len(y), np.int64)
    chosen, node = grow_tree(
        candidates,
        bin_codes(domain, codes, n_bins),
        y,
        weight,
        n_classes=n_classes,
        depth=depth,
        choose=best_test(candidates, criterion, alpha),
    )
    leaves = np.zeros((2**depth, n_classes), np.int64)
    leaf_table(node, y, weight, leaves)

    def walk(tree, level, place) -> None:
        if level == depth:
            assert leaves[place].tolist() == tree
            return
        c = chosen[level][place]
        (feature, kind, value), *children = tree
        code = candidates.threshold[c] + (candidates.kind[c] == NUMERIC)
        assert (candidates.feature[c], "at least" if candidates.kind[c] == NUMERIC else "is", code) == (
            feature,
            kind,
            value,
        )
        for side, child in enumerate(children):
            walk(child, level + 1, 2 * place + side)

    rows = (codes.tolist(), y.tolist(), weight.tolist())
    walk(plain_search(domain, n_bins, rows, depth=depth, criterion=criterion, alpha=alpha), 0, 0)
