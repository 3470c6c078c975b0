"""Trees of the multinomial random forest: a naive version, the law of the draws, the ends of branches, and limits.

Structure rows choose the tests of a tree, and estimation rows label its leaves.
"""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from sklearn.tree import DecisionTreeClassifier

from dpforest.limits import MAX_DEPTH, N_CODES
from dpforest.tables.domain import Domain
from dpforest.trees import naive, routing
from dpforest.trees.layout import LEAF, NUMERIC, ONE_VS_REST, Trees
from dpforest.trees.midpoint_kernels import coin, draw_structure, hashed, tree_key
from dpforest.trees.midpoint_trees import (
    IMPURITY,
    STOPPING,
    grow_midpoint_forest,
    impurity_decrease,
    selection_probabilities,
    structure_size,
)
from tests.conftest import examples, public_domain, random_codes

FALSE_ALARM = 1e-6
INFINITY = float("inf")


def table(domain: Domain, n: int, seed: int = 0, coarse: int = N_CODES) -> tuple[np.ndarray, np.ndarray]:
    """Return rows whose class follows from the first attributes in most cases; `coarse` limits the number of codes."""
    rng = np.random.default_rng(seed)
    codes = random_codes(domain, n, seed)
    codes[:, [f.kind == "numeric" for f in domain.features]] //= N_CODES // coarse
    signal = codes[:, 0].astype(int) + (codes[:, 1] % 3) * int(codes[:, 0].max() + 1)
    y = np.argsort(np.argsort(signal)) * domain.n_classes // n
    return codes, np.where(rng.random(n) < 0.2, rng.integers(0, domain.n_classes, n), y).astype(np.int32)


def grow(domain: Domain, codes, y, **options) -> tuple[Trees, np.ndarray]:
    categorical = np.array([f.kind == "categorical" for f in domain.features])
    options = {"n_trees": 4, "seed": 0, **options}
    trees, counts = grow_midpoint_forest(codes, y, n_classes=domain.n_classes, is_categorical=categorical, **options)
    trees.check(np.array([f.n_codes if f.kind == "categorical" else N_CODES for f in domain.features]))
    return trees, counts


def structure_rows(n: int, *, seed: int, tree: int, partition_rate: float = 1.0) -> np.ndarray:
    with np.errstate(over="ignore"):
        return draw_structure(np.uint64(seed), tree, n, structure_size(n, partition_rate))


def key_of(key, *numbers: int) -> np.uint64:
    """Return the random key that follows from a key and a sequence of numbers."""
    for number in numbers:
        key = np.uint64(hashed(np.uint64(key), number))
    return np.uint64(key)


def pmf(decreases, temperature: float) -> np.ndarray:
    """Return the probabilities with which the paper's formula selects among these decreases of impurity."""
    decreases = np.array(decreases)
    low, high = decreases.min(), decreases.max()
    if high - low < 1e-10:
        weights = np.ones(len(decreases))
    elif temperature == INFINITY:
        weights = (decreases > high - 1e-10).astype(float)
    else:
        weights = np.exp(temperature / 2 * (decreases - low) / (high - low))
    return weights / weights.sum()


def cuts_of(values: list[int], categorical: bool) -> list[int]:
    if categorical:
        return values if len(values) > 1 else []
    return [(a + b) // 2 for a, b in itertools.pairwise(values)]


def one_tree(
    codes, y, *, n_classes, categorical, taken, key, min_leaf, temperatures, impurity, stopping, purity_stop, max_depth
):
    """Grow the tree of `midpoint_kernels.grow_midpoint_tree` plainly: each cut counts the rows of its node anew."""

    def rows_of(rows):
        return np.bincount(y[rows], minlength=n_classes)

    def pick(decreases, temperature, number):
        cumulated = np.cumsum(pmf(decreases, temperature))
        return min(int((cumulated <= coin(number[0], number[1])).sum()), len(decreases) - 1)

    def test(f, cut):
        return codes[:, f] == cut if categorical[f] else codes[:, f] > cut

    def draw_test(structure, estimation, key):
        of_feature = {}
        for f in range(codes.shape[1]):
            scored = []
            for cut in cuts_of(sorted(set(codes[structure, f].tolist())), categorical[f]):
                right = test(f, cut)
                sides = estimation[~right[estimation]], estimation[right[estimation]]
                if stopping != "min_leaf" or min(map(len, sides)) >= min_leaf:
                    left, right = rows_of(structure[~right[structure]]), rows_of(structure[right[structure]])
                    scored.append((cut, impurity_decrease(left, right, impurity)))
            if scored:
                of_feature[f] = scored
        if not of_feature:
            return None
        features = list(of_feature)
        best = [max(decrease for _, decrease in of_feature[f]) for f in features]
        f = features[pick(best, temperatures[0], (key, 0))]
        cut, _ = of_feature[f][pick([decrease for _, decrease in of_feature[f]], temperatures[1], (key, 1))]
        return f, cut

    queue = [(np.flatnonzero(taken), np.flatnonzero(~taken), key_of(key, 1), 0)]
    nodes, counts = [], []
    for structure, estimation, key, level in queue:
        pure = purity_stop and np.count_nonzero(rows_of(structure)) == 1
        small = stopping == "code" and level > 0 and len(estimation) <= min_leaf
        drawn = None if pure or small or level == max_depth else draw_test(structure, estimation, key)
        if drawn:
            right = test(*drawn)
            least = min((~right[estimation]).sum(), right[estimation].sum())
            if least < (1 if stopping == "code" else min_leaf):
                drawn = None
        if not drawn:
            nodes.append((LEAF, -1, -1, len(nodes)))
            counts.append(rows_of(estimation))
            continue
        nodes.append((ONE_VS_REST if categorical[drawn[0]] else NUMERIC, *drawn, len(queue)))
        for side, keep in enumerate((~right, right)):
            queue.append((structure[keep[structure]], estimation[keep[estimation]], key_of(key, 2 + side), level + 1))
    return np.array(nodes), np.array(counts)


# ---------------------------------------------------------------- the naive version


def assert_naive_agrees(
    domain: Domain, codes, y, *, seed: int, partition_rate: float, temperatures, **options
) -> Trees:
    keywords = {"feature_temperature": temperatures[0], "value_temperature": temperatures[1]}
    trees, counts = grow(domain, codes, y, seed=seed, partition_rate=partition_rate, **keywords, **options)
    categorical = [f.kind == "categorical" for f in domain.features]
    for t in range(trees.n_trees):
        taken = structure_rows(len(y), seed=seed, tree=t, partition_rate=partition_rate)
        with np.errstate(over="ignore"):
            key = key_of(tree_key(np.uint64(seed), t))
            nodes, filled = one_tree(
                codes,
                y,
                n_classes=domain.n_classes,
                categorical=categorical,
                taken=taken,
                key=key,
                temperatures=temperatures,
                **options,
            )
        one = trees.select(t)
        assert np.array_equal(np.stack([one.kind, one.feature, one.threshold, one.first_child], axis=1), nodes)
        assert np.array_equal(counts[trees.leaf_start[t] : trees.leaf_start[t + 1]], filled)
    return trees


@pytest.mark.parametrize("temperatures", [(0.0, 0.0), (1.0, 10.0), (10.0, 10.0), (INFINITY, INFINITY)])
@pytest.mark.parametrize("stopping", STOPPING)
@pytest.mark.parametrize("impurity", IMPURITY)
def test_the_kernel_agrees_with_its_naive_version(mixed, impurity, stopping, temperatures):
    """The kernel agrees with its naive version on large trees.

    Numeric features have 65,536 or 20 values, and categorical features have 2 to 7.
    """
    codes, y = table(mixed, 150)
    codes[:, 2] //= 3277
    options = {"impurity": impurity, "stopping": stopping, "temperatures": temperatures, "max_depth": 60}
    sizes = []
    for seed, (min_leaf, purity_stop, rate) in enumerate([(1, False, 1.0), (3, True, 1.0), (2, True, 3.0)]):
        more = {"min_leaf": min_leaf, "purity_stop": purity_stop, "partition_rate": rate}
        trees = assert_naive_agrees(mixed, codes, y, seed=2**63 - 1 - seed, **more, **options)
        sizes.append(trees.n_nodes / trees.n_trees)
        assert {NUMERIC, ONE_VS_REST} < set(trees.kind)
    assert max(sizes) > 15 if stopping == "reject" else min(sizes) > 15


@settings(max_examples=examples(100), deadline=None, derandomize=True)
@given(
    kinds=st.lists(st.one_of(st.none(), st.integers(1, 6)), min_size=2, max_size=5),
    n=st.integers(2, 40),
    n_classes=st.sampled_from([7, 3, 2]),
    coarse=st.sampled_from([N_CODES, 8, 2]),
    temperatures=st.tuples(*[st.sampled_from([10.0, 1.0, 0.0, INFINITY])] * 2),
    min_leaf=st.sampled_from([1, 2, 5]),
    impurity=st.sampled_from(IMPURITY),
    stopping=st.sampled_from(STOPPING),
    purity_stop=st.booleans(),
    max_depth=st.sampled_from([60, 3, 1, 0]),
    partition_rate=st.sampled_from([1.0, 0.25, 3.0]),
    seed=st.integers(0, 2**63 - 1),
)
def test_the_kernel_agrees_with_its_naive_version_on_awkward_tables(kinds, n, n_classes, coarse, seed, **options):
    domain = public_domain(*kinds, n_classes=n_classes)
    assert_naive_agrees(domain, *table(domain, n, seed % 1000, coarse), seed=seed, **options)


@pytest.mark.parametrize("stopping", STOPPING)
def test_counts_equal_those_of_routed_estimation_rows(mixed, stopping):
    codes, y = table(mixed, 300)
    trees, counts = grow(mixed, codes, y, stopping=stopping, min_leaf=2)
    for t in range(trees.n_trees):
        estimation = ~structure_rows(300, seed=0, tree=t)
        routed = naive.count_rows(trees.select(t), codes[estimation], y[estimation], n_classes=3)
        assert np.array_equal(routed, counts[trees.leaf_start[t] : trees.leaf_start[t + 1]])


# ---------------------------------------------------------------- decreases and the selection law


def test_decreases_match_a_worked_example():
    assert impurity_decrease([5, 1], [1, 3]) == pytest.approx(0.163333, abs=1e-6)
    assert 10 * impurity_decrease([5, 1], [1, 3]) == pytest.approx(1.633333, abs=1e-6)
    assert impurity_decrease([5, 1], [1, 3], "entropy") == pytest.approx(0.256426, abs=1e-6)
    assert impurity_decrease([2, 4], [1, 2]) == pytest.approx(0, abs=1e-15)
    assert impurity_decrease([3, 0], [0, 3]) == 0.5


def test_probabilities_match_a_worked_example():
    decreases = [0.02, 0.10, 0.06]
    for temperature, expected in [
        (10, [0.006188, 0.918423, 0.075389]),
        (1, [0.254275, 0.419229, 0.326496]),
        (0, [1 / 3] * 3),
        (INFINITY, [0, 1, 0]),
    ]:
        np.testing.assert_allclose(selection_probabilities(decreases, temperature), expected, atol=1e-6)


def test_equal_decreases_are_drawn_uniformly_and_ties_at_the_top_share():
    for temperature in (0, 10, INFINITY):
        assert selection_probabilities([0.1, 0.1 + 1e-16, 0.1, 0.1], temperature).tolist() == [0.25] * 4
        assert selection_probabilities([0.3], temperature).tolist() == [1]
    assert selection_probabilities([0.2, 0.1, 0.2 + 1e-15], INFINITY).tolist() == [0.5, 0, 0.5]


@pytest.mark.parametrize("n_features", [2, 4, 18, 30, 1558])
def test_probabilities_of_features_stay_within_their_bounds(n_features):
    """Probabilities of D features at temperature B attain the bounds of lemma 3, and do not exceed them.

    The bounds are 1 / (1 + (D - 1) e^(B/2)) and e^(B/2) / (e^(B/2) + D - 1).
    """
    weight = np.exp(5)
    bounds = 1 / (1 + (n_features - 1) * weight), weight / (weight + n_features - 1)
    one_bad, one_good = np.ones(n_features), np.zeros(n_features)
    one_bad[0], one_good[0] = 0, 1
    assert selection_probabilities(one_bad, 10)[0] == pytest.approx(bounds[0])
    assert selection_probabilities(one_good, 10)[0] == pytest.approx(bounds[1])
    drawn = selection_probabilities(np.random.default_rng(0).random(n_features), 10)
    assert bounds[0] * (1 - 1e-12) <= drawn.min() <= drawn.max() <= bounds[1] * (1 + 1e-12)


def root_candidates(codes, y, taken, n_classes: int) -> list[tuple[np.ndarray, np.ndarray]]:
    """Return the cuts of each numeric feature at the root, and their decreases."""
    candidates = []
    for column in codes[taken].T.astype(int):
        cuts = np.array(cuts_of(sorted(set(column.tolist())), False))
        sides = [[np.bincount(y[taken][keep], minlength=n_classes) for keep in (column <= c, column > c)] for c in cuts]
        candidates.append((cuts, np.array([impurity_decrease(*side) for side in sides])))
    return candidates


def test_features_and_cuts_are_drawn_by_their_law(numeric):
    """Features follow their law, by a normal approximation, and so do cuts, by Kolmogorov-Smirnov tests.

    With random seeds, each test would fail by chance with probability below 1e-6.
    """
    codes, y = table(numeric, 40, coarse=16)
    structures = [structure_rows(40, seed=3, tree=t) for t in range(1000)]
    candidates = [root_candidates(codes, y, structure, 2) for structure in structures]
    for temperature in (0.0, 2.0, 10.0):
        assert_drawn_by_their_law(numeric, codes, y, structures, candidates, temperature)


def assert_drawn_by_their_law(domain, codes, y, structures, candidates_of, temperature):
    options = {"feature_temperature": temperature, "value_temperature": temperature, "max_depth": 1, "min_leaf": 1}
    n_trees = len(structures)
    trees, _ = grow(domain, codes, y, n_trees=n_trees, seed=3, purity_stop=False, **options)
    expected, drawn, positions = np.zeros((n_trees, 5)), np.zeros((n_trees, 5)), []
    rng = np.random.default_rng(0)
    split = np.flatnonzero(np.diff(trees.tree_start) == 3)  # trees of one test; rarely, the root is a leaf
    assert len(split) > 0.8 * n_trees
    for t in range(n_trees):
        candidates = candidates_of[t]
        # If a cut leaves a child empty, the root becomes a leaf. So the expected law excludes such cuts.
        estimation = codes[~structures[t]]
        shares = pmf([decreases.max() for _, decreases in candidates], temperature)
        kept = []
        for j, (cuts, decreases) in enumerate(candidates):
            n_right = (estimation[:, j][:, None] > cuts).sum(axis=0)
            kept.append(pmf(decreases, temperature) * ((n_right > 0) & (n_right < len(estimation))))
        shares = shares * [k.sum() for k in kept]
        if t in split:
            root = trees.tree_start[t]
            f = trees.feature[root]
            expected[t], drawn[t, f] = shares / shares.sum(), 1
            below = kept[f][candidates[f][0] < trees.threshold[root]].sum()
            at = kept[f][candidates[f][0] == trees.threshold[root]].sum()
            positions.append((below + rng.random() * at) / kept[f].sum())
    z = (drawn - expected).sum(axis=0) / np.sqrt((expected * (1 - expected)).sum(axis=0))
    assert np.abs(z).max() < stats.norm.isf(FALSE_ALARM / 2)
    assert stats.kstest(positions, "uniform").pvalue > FALSE_ALARM


# ---------------------------------------------------------------- the partition


@pytest.mark.parametrize(
    ("n", "rate", "expected"), [(10, 1, 5), (10, 4, 8), (10, 0.25, 2), (10, 1e-9, 1), (10, 1e9, 9), (2, 1, 1)]
)
def test_the_partition_has_the_right_size(n, rate, expected):
    for tree in range(5):
        assert structure_rows(n, seed=0, tree=tree, partition_rate=rate).sum() == structure_size(n, rate) == expected


def test_every_tree_uses_every_row_once(mixed):
    codes, y = table(mixed, 101)
    for rate in (0.25, 1.0, 4.0):
        trees, counts = grow(mixed, codes, y, partition_rate=rate)
        per_tree = np.add.reduceat(counts.sum(axis=1), trees.leaf_start[:-1])
        assert (per_tree == 101 - structure_size(101, rate)).all()


def test_every_row_and_every_pair_of_rows_is_as_likely_a_structure_row():
    """All sets of 4 among 8 rows are equally likely structure rows, by a chi-square test on 7,000 trees.

    With random seeds, the test would fail by chance with probability below 1e-6.
    """
    sets = [tuple(np.flatnonzero(structure_rows(8, seed=1, tree=t))) for t in range(7000)]
    seen = [sets.count(rows) for rows in itertools.combinations(range(8), 4)]
    assert sum(seen) == 7000
    assert stats.chisquare(seen).pvalue > FALSE_ALARM


def test_one_row_cannot_be_split_into_halves(numeric):
    with pytest.raises(ValueError, match="at least 2 rows are needed, not 1"):
        grow(numeric, np.zeros((1, 5), np.uint16), np.zeros(1, np.int32))


# ---------------------------------------------------------------- ends of branches


@pytest.mark.parametrize("temperature", [0.0, 10.0, INFINITY])
@pytest.mark.parametrize("stopping", ["min_leaf", "reject"])
def test_every_leaf_has_the_least_number_of_estimation_rows(mixed, stopping, temperature):
    codes, y = table(mixed, 300)
    options = {"feature_temperature": temperature, "value_temperature": temperature, "stopping": stopping}
    for least in (1, 3, 10):
        _, counts = grow(mixed, codes, y, min_leaf=least, n_trees=10, **options)
        assert counts.sum(axis=1).min() >= least


def test_under_the_authors_rule_leaves_are_small_or_pure_but_never_empty(mixed):
    codes, y = table(mixed, 300)
    trees, counts = grow(mixed, codes, y, min_leaf=5, n_trees=10)
    sizes = counts.sum(axis=1)
    assert sizes.min() >= 1
    assert sizes.min() < 5  # the text of the paper requires 5 rows, but the authors' program allows fewer
    parents = trees.parent[trees.leaf_nodes]
    siblings = np.bincount(parents[trees.leaf_nodes != parents], sizes[trees.leaf_nodes != parents], trees.n_nodes)
    both_leaves = np.bincount(parents, minlength=trees.n_nodes) == 2
    assert siblings[both_leaves].min() > 5  # no node with 5 estimation rows or fewer was split


def test_rejecting_ends_branches_sooner_than_not_drawing_such_cuts(mixed):
    codes, y = table(mixed, 300)
    reject, allowed = (grow(mixed, codes, y, stopping=rule, n_trees=20)[0].n_leaves for rule in ("reject", "min_leaf"))
    assert reject < allowed


def test_fewer_rows_than_the_least_leaf_make_a_single_leaf(numeric):
    codes, y = table(numeric, 8)
    for stopping in ("min_leaf", "reject"):
        trees, counts = grow(numeric, codes, y, stopping=stopping, min_leaf=5)
        assert trees.n_nodes == trees.n_trees == len(counts)
        assert trees.depth == 1


def test_pure_nodes_are_split_only_without_the_purity_stop(numeric):
    codes, y = table(numeric, 80)
    y[:] = 1
    assert grow(numeric, codes, y, purity_stop=True)[0].n_nodes == 4
    assert grow(numeric, codes, y, purity_stop=False)[0].n_nodes > 4


def test_constant_features_are_never_tested():
    domain = public_domain(None, None, 3, 1)
    codes, y = table(domain, 200)
    codes[:, 0], codes[:, 2] = 7, 2
    trees, _ = grow(domain, codes, y, feature_temperature=0.0, purity_stop=False, n_trees=20)
    assert set(trees.feature[trees.kind != LEAF]) == {1}
    codes[:, 1] = 9
    assert grow(domain, codes, y, purity_stop=False)[0].n_nodes == 4


def test_depth_is_capped_and_the_upper_levels_stay(mixed):
    codes, y = table(mixed, 300)
    deep, _ = grow(mixed, codes, y)
    assert deep.depth == deep.level.max() > 4
    for depth in (0, 1, 4):
        capped, counts = grow(mixed, codes, y, max_depth=depth)
        assert capped.level.max() == depth
        assert capped.depth == max(depth, 1)
        assert counts.sum() == 4 * 150
        for t in range(4):
            a, b = capped.select(t), deep.select(t)
            inner = np.flatnonzero(a.level < depth)
            assert np.array_equal(inner, np.flatnonzero(b.level < depth))
            for name in ("kind", "feature", "threshold", "first_child"):
                assert np.array_equal(getattr(a, name)[inner], getattr(b, name)[inner]), name


# ---------------------------------------------------------------- limits, layout, threads


@pytest.mark.parametrize("impurity", IMPURITY)
def test_the_greedy_limit_is_cart(numeric, impurity):
    """At infinite temperatures, the root has the decrease of scikit-learn's best stump on the structure rows."""
    codes, y = table(numeric, 400)
    greedy = {"feature_temperature": INFINITY, "value_temperature": INFINITY, "impurity": impurity}
    trees, _ = grow(numeric, codes, y, n_trees=10, **greedy)
    for t in range(10):
        taken = structure_rows(400, seed=0, tree=t)
        stump = DecisionTreeClassifier(max_depth=1, criterion=impurity).fit(codes[taken], y[taken]).tree_
        shares = stump.weighted_n_node_samples / stump.weighted_n_node_samples[0]
        best = stump.impurity[0] - stump.impurity[1:] @ shares[1:]
        root = trees.tree_start[t]
        right = codes[taken, trees.feature[root]] > trees.threshold[root]
        left, right = (np.bincount(y[taken][keep], minlength=2) for keep in (~right, right))
        assert impurity_decrease(left, right, impurity) == pytest.approx(best, abs=1e-12)


def test_zero_temperatures_make_a_completely_random_tree(numeric):
    """At temperatures of zero, labels do not change the tree, if pure nodes are split too."""
    codes, y = table(numeric, 200)
    cold = {"feature_temperature": 0.0, "value_temperature": 0.0, "purity_stop": False}
    one, _ = grow(numeric, codes, y, **cold)
    other, _ = grow(numeric, codes, 1 - y, **cold)
    shuffled, _ = grow(numeric, codes, np.random.default_rng(0).permutation(y), **cold)
    for name in ("kind", "feature", "threshold"):
        assert np.array_equal(getattr(one, name), getattr(other, name))
        assert np.array_equal(getattr(one, name), getattr(shuffled, name))


def test_mirrored_columns_are_exact_ties():
    """A column, its copy and its mirror image have equal decreases, so each is drawn in a third of the trees."""
    domain = public_domain(None, None, None, n_classes=3)
    codes, y = table(domain, 90, coarse=64)
    codes[:, 1], codes[:, 2] = codes[:, 0], codes[:, 0].max() - codes[:, 0]
    for impurity in IMPURITY:
        greedy = {"feature_temperature": INFINITY, "value_temperature": INFINITY, "impurity": impurity}
        trees, _ = grow(domain, codes, y, n_trees=900, max_depth=1, min_leaf=1, **greedy)
        roots = trees.feature[trees.tree_start[:-1]]
        seen = np.bincount(roots[roots >= 0], minlength=3)
        assert seen.sum() > 850  # in few trees, a child is empty and the root is a leaf
        assert stats.chisquare(seen).pvalue > FALSE_ALARM


def test_extreme_codes_are_separated():
    domain = public_domain(None)
    for low, high in [(0, 1), (65_534, 65_535), (0, 65_535)]:
        codes = np.array([[low], [high]] * 20, np.uint16)
        trees, counts = grow(domain, codes, (codes[:, 0] == high).astype(np.int32))
        assert (trees.threshold[trees.kind == NUMERIC] == (low + high) // 2).all()
        assert (np.sort(counts, axis=1)[:, 0] == 0).all()


def test_trees_deeper_than_released_ones_are_routed_the_same():
    """Rows are routed correctly in trees that are deeper than any released tree.

    The trees test one category after another, which makes long paths.
    """
    domain = public_domain(40, 40, None)
    codes, y = table(domain, 600)
    trees, _ = grow(domain, codes, y, feature_temperature=0.0, value_temperature=0.0, min_leaf=1, purity_stop=False)
    assert trees.depth > MAX_DEPTH
    assert set(trees.kind) == {NUMERIC, ONE_VS_REST, LEAF}
    assert np.array_equal(routing.leaves_of_rows(trees, domain, codes), naive.leaves_of_rows(trees, codes))


def test_trees_do_not_depend_on_threads_or_on_how_many_there_are(mixed):
    codes, y = table(mixed, 300)
    one, counts = grow(mixed, codes, y, n_trees=7)
    two, more_counts = grow(mixed, codes, y, n_trees=9, n_jobs=2)
    for name in ("kind", "feature", "threshold", "first_child"):
        assert np.array_equal(getattr(one, name), getattr(two, name)[: one.n_nodes]), name
    assert np.array_equal(counts, more_counts[: one.n_leaves])
    other, _ = grow(mixed, codes, y, n_trees=7, seed=1)
    assert one.n_nodes != other.n_nodes or not np.array_equal(one.feature, other.feature)


def test_the_forest_learns(mixed):
    """The forest classifies more than two thirds of new rows correctly.

    20 % of the labels are random, and the most frequent class has 40 % of the rows.
    """
    codes, y = table(mixed, 600)
    trees, counts = grow(mixed, codes[:400], y[:400], n_trees=50)
    votes = routing.scorer(trees, mixed, counts.argmax(axis=1).astype(np.uint8))(codes[400:])
    assert (votes.argmax(axis=1) == y[400:]).mean() > 2 / 3
