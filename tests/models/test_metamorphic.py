"""Effects of known changes of a table on a forest: classes relabeled, rows shuffled or doubled, one row added.

A demonstration (a fit with a seed) computes the noise of each released number from the seed and the position of the
number. So all noise stays the same when one row changes, and a test can compute the effect of this row exactly.
"""

import dataclasses
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

from dpforest import (
    BoostedForestClassifier,
    Domain,
    FriedmanSchusterClassifier,
    MajorityLabelForestClassifier,
    MultinomialForestClassifier,
    RandomDecisionForestClassifier,
    ReleasedForest,
)
from dpforest.models.greedy.count_trees import share_out
from dpforest.models.random.fit import rows_to_trees
from dpforest.privacy.randomness import DemoSource
from dpforest.trees import routing
from dpforest.trees.random_trees import grow_random_trees
from tests.conftest import public_domain

DOMAIN = public_domain(None, 4, None, 3, n_classes=3)
N_TREES = 6
PUBLIC = {"scale_share": "public"}  # no query runs before trees grow, so no row can change a tree
AUTO = {"scale_share": "auto"}


def table(n: int = 150, seed: int = 0) -> tuple[pd.DataFrame, np.ndarray]:
    rng = np.random.default_rng(seed)
    columns = {f.name: rng.choice(f.categories, n) if f.categories else rng.random(n) for f in DOMAIN.features}
    return pd.DataFrame(columns), rng.choice(3, n, p=[0.5, 0.3, 0.2])


def counting_forest(**parameters):
    """Return a forest whose noisy counts are exact counts plus noise that depends on seed and position only."""
    defaults = {"domain": DOMAIN, "n_estimators": N_TREES, "max_depth": 4, "random_state": 3, **PUBLIC}
    return RandomDecisionForestClassifier(**{**defaults, **parameters})


def label_forest(**parameters):
    defaults = {"domain": DOMAIN, "n_estimators": N_TREES, "max_depth": "published", "random_state": 3, **PUBLIC}
    return MajorityLabelForestClassifier(**{**defaults, **parameters})


def greedy_forest(estimator, **parameters):
    """Return a forest whose draws depend only on seed, tree, level and node. The id of a row decides its part."""
    return estimator(**{"domain": DOMAIN, "max_depth": 3, "n_bins": 6, "random_state": 3, **parameters})


FORESTS = {
    "counts, shared": counting_forest(**AUTO),
    "counts, independent": counting_forest(**AUTO, partition="independent"),
    "labels, shared": label_forest(**AUTO, max_depth="auto", partition="shared"),
    "labels, independent": label_forest(**AUTO, max_depth="auto"),
    "boosted, shared": greedy_forest(
        BoostedForestClassifier, n_estimators=2, alpha="noisy", n_bound=500, scale_share=0.1
    ),
    "multinomial, independent": greedy_forest(MultinomialForestClassifier, n_estimators=N_TREES),
    "multinomial, two parts": greedy_forest(
        MultinomialForestClassifier, n_estimators=N_TREES, partition="shared", scale_share=0.1
    ),
    "one tree, shared": greedy_forest(FriedmanSchusterClassifier),
}
GREEDY = [name for name in FORESTS if hasattr(FORESTS[name], "n_bins")]
every_forest = pytest.mark.parametrize("name", FORESTS)


def fit(name: str, X, y, **parameters):
    return clone(FORESTS[name]).set_params(**parameters).fit(X, y)


def saved(forest: ReleasedForest) -> str:
    """Return the text of the forest's file, also for a demonstration, which otherwise has no file."""
    return forest.to_json(uncertified=True)


# ---------------------------------------------------------------- names of classes


@every_forest
@pytest.mark.parametrize("names", [("no", "perhaps", "yes"), (-7, 0, 12), (0.25, 0.5, 0.75)])
def test_other_names_for_the_classes_rename_the_predictions_only(name, names):
    X, y = table()
    plain = fit(name, X, y)
    domain = dataclasses.replace(DOMAIN, classes=names)
    renamed = fit(name, X, np.asarray(names)[y], domain=domain)
    assert np.array_equal(renamed.predict(X), np.asarray(names)[plain.predict(X)])
    assert np.array_equal(renamed.predict_proba(X), plain.predict_proba(X))
    assert renamed.classes_.tolist() == list(names)


def test_classes_in_another_order_exchange_the_columns():
    X, y = table()
    order = [2, 0, 1]
    domain = dataclasses.replace(DOMAIN, classes=tuple(order))
    plain, other = (counting_forest(epsilon=None, domain=d).fit(X, y) for d in (DOMAIN, domain))
    assert np.array_equal(other.forest_.leaves.noisy_counts, plain.forest_.leaves.noisy_counts[:, order])
    is_full = plain.forest_.leaves.noisy_counts.any(axis=1)  # leaves without noisy counts draw a random class share
    sure = is_full[plain.apply(X)].all(axis=1)
    assert sure.any()
    assert np.array_equal(other.predict(X)[sure], plain.predict(X)[sure])


# ---------------------------------------------------------------- order of rows and columns


@every_forest
def test_rows_in_another_order_give_the_same_bytes_when_they_keep_their_ids(name):
    X, y = table()
    shuffled = np.random.default_rng(1).permutation(len(X))
    one, two = fit(name, X, y), fit(name, X.iloc[shuffled], y[shuffled])
    assert saved(one.released_) == saved(two.released_)
    held_out, _ = table(40, seed=5)
    assert np.array_equal(two.predict(held_out.iloc[::-1])[::-1], one.predict(held_out))


@every_forest
def test_without_ids_the_order_matters_through_the_assignment_only(name):
    X, y = table()
    shuffled = np.random.default_rng(1).permutation(len(X))
    one = saved(fit(name, X.to_numpy(), y).released_)
    two = saved(fit(name, X.to_numpy()[shuffled], y[shuffled]).released_)
    assert (one == two) == name.endswith("shared")


@every_forest
def test_columns_of_a_table_are_matched_by_name(name):
    X, y = table()
    one = fit(name, X, y)
    two = fit(name, X[X.columns[::-1]], y)
    three = fit(name, X.assign(another="x"), y)
    assert saved(one.released_) == saved(two.released_) == saved(three.released_)
    assert np.array_equal(one.predict(X), one.predict(X[X.columns[[2, 0, 3, 1]]]))


@pytest.mark.parametrize("categorical", ["multiway", "one-vs-rest", "ordered"])
def test_columns_exchanged_in_domain_trees_and_table_are_the_same_forest(categorical):
    X, y = table(300)
    order = [3, 1, 0, 2]
    domain = Domain(tuple(DOMAIN.features[j] for j in order), DOMAIN.classes, "y", "documented", "made up")
    trees = grow_random_trees(DOMAIN, n_trees=N_TREES, depth=6, seed=1, categorical=categorical)
    moved = np.append(np.argsort(order), -1).astype(np.int32)  # a leaf has feature -1
    exchanged = dataclasses.replace(trees, feature=moved[trees.feature])
    values = X.to_numpy()
    for one, two in (
        (routing.leaves_of_rows(trees, DOMAIN, values), routing.leaves_of_rows(exchanged, domain, values[:, order])),
        (
            routing.count_rows(trees, DOMAIN, X, y.astype(np.int32), n_classes=3),
            routing.count_rows(exchanged, domain, values[:, order], y.astype(np.int32), n_classes=3),
        ),
    ):
        assert np.array_equal(one, two)


def test_the_type_of_the_numbers_makes_no_difference():
    """The type of numbers does not change the forest. The test uses small integers, which every type can hold."""
    features = tuple(dataclasses.replace(f, high=20.0) for f in public_domain(None, None, None).features)
    codes = public_domain(4).features[0]
    codes = dataclasses.replace(codes, name="g", categories=("0", "1", "2", "3"))
    domain = Domain((*features, codes), (0, 1, 2), "y", "documented", "made up")
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.integers(0, 20, (90, 3)), rng.integers(0, 4, 90)])
    y = rng.integers(0, 3, 90)
    for forest in (label_forest(domain=domain), counting_forest(domain=domain)):
        expected = forest.fit(X.astype(float), y)
        text, predicted = saved(expected.released_), expected.predict(X.astype(float))
        for dtype in (np.uint8, np.int16, np.uint16, np.int32, np.uint32, np.int64, np.uint64, np.float32, object):
            typed = X.astype(dtype)
            again = forest.fit(typed, y)
            assert saved(again.released_) == text, dtype
            assert np.array_equal(again.predict(typed), predicted), dtype
            assert np.array_equal(again.released_.predict(typed), predicted), dtype
            assert np.array_equal(again.released_.apply(typed), again.apply(X)), dtype


# ---------------------------------------------------------------- added and removed rows


def test_twice_the_table_doubles_the_counts_and_keeps_the_labels():
    X, y = table()
    twice, labels = pd.concat([X, X]), np.concatenate([y, y])
    one, two = counting_forest(epsilon=None).fit(X, y), counting_forest(epsilon=None).fit(twice, labels)
    assert np.array_equal(two.forest_.leaves.noisy_counts, 2 * one.forest_.leaves.noisy_counts)
    assert np.array_equal(two.predict(X), one.predict(X))
    one, two = label_forest(epsilon=None).fit(X, y), label_forest(epsilon=None).fit(twice, labels)
    assert np.array_equal(two.forest_.leaves.labels, one.forest_.leaves.labels)


def test_a_row_and_its_copy_with_the_same_id_share_a_tree():
    X, y = table()
    once = counting_forest(partition="independent").fit(X, y)
    twice = counting_forest(partition="independent").fit(pd.concat([X, X]), np.concatenate([y, y]))
    nobody = counting_forest(partition="independent").fit(X[:0], y[:0])
    noiseless = once.forest_.leaves.noisy_counts - nobody.forest_.leaves.noisy_counts
    assert noiseless.sum() == len(X)
    assert np.array_equal(twice.forest_.leaves.noisy_counts - once.forest_.leaves.noisy_counts, noiseless)


@pytest.mark.parametrize("neighbors", ["add-remove", "replace-one"])
@pytest.mark.parametrize("partition", ["independent", "shared"])
@pytest.mark.parametrize("row", [0, 77, 149])
def test_one_row_less_changes_one_count_or_one_in_each_tree(partition, neighbors, row):
    """Removing a row changes one count, or one in each tree, although all later rows move up by one position."""
    X, y = table()
    forest = counting_forest(partition=partition, neighbors=neighbors)
    with_it = forest.fit(X, y).forest_.leaves.noisy_counts
    without = forest.fit(X.drop(index=row), np.delete(y, row)).forest_.leaves.noisy_counts
    difference = with_it - without
    assert difference.min() == 0
    changed = np.argwhere(difference)
    assert (difference[difference != 0] == 1).all()
    assert (changed[:, 1] == y[row]).all()
    leaves = forest.apply(X.loc[[row]])[0]
    assert set(changed[:, 0]) <= set(leaves)
    assert len(changed) == (1 if partition == "independent" else N_TREES)


@pytest.mark.parametrize("partition", ["independent", "shared"])
def test_one_row_more_changes_labels_only_in_the_leaves_of_the_row(partition):
    X, y = table()
    forest = label_forest(partition=partition, epsilon=3.0)
    changed_any = False
    for row in range(25):
        with_it = forest.fit(X, y).forest_.leaves.labels
        without = forest.fit(X.drop(index=row), np.delete(y, row)).forest_.leaves.labels
        changed = np.flatnonzero(with_it != without)
        assert set(changed) <= set(forest.apply(X.loc[[row]])[0])
        assert len(changed) <= (1 if partition == "independent" else N_TREES)
        changed_any |= len(changed) > 0
    assert changed_any


def test_replacing_a_row_changes_two_counts_at_most():
    X, y = table()
    other, _ = table(seed=8)
    forest = counting_forest(partition="independent", neighbors="replace-one")
    before = forest.fit(X, y).forest_.leaves.noisy_counts
    replaced, labels = X.copy(), y.copy()
    replaced.iloc[10], labels[10] = other.iloc[10], (y[10] + 1) % 3
    after = forest.fit(replaced, labels).forest_.leaves.noisy_counts
    difference = after - before
    assert sorted(difference[difference != 0]) == [-1, 1]
    n_leaves = np.diff(forest.forest_.trees.leaf_start)
    tree_of_leaf = np.repeat(np.arange(N_TREES), n_leaves)
    # The tree of a row depends on the row's id, not on its cells.
    assert len(set(tree_of_leaf[np.argwhere(difference)[:, 0]])) == 1


@pytest.mark.parametrize("drop", [0, 3, 99])
def test_dropping_a_row_moves_no_other_rows_tree(drop):
    spec = label_forest().spec(DOMAIN, 100)
    ids = np.arange(100)
    whole = rows_to_trees(spec, ids, DemoSource(4))
    assert np.array_equal(rows_to_trees(spec, np.delete(ids, drop), DemoSource(4)), np.delete(whole, drop))
    assert not np.array_equal(rows_to_trees(spec, ids, DemoSource(5)), whole)


def test_equal_blocks_do_move_other_rows():
    """In published mode, removing a row changes the shuffle and shrinks the blocks, which breaks the privacy claim."""
    spec = label_forest(mode="as_published").spec(DOMAIN, 100)
    assert spec.partition == "blocks"
    whole, less = (rows_to_trees(spec, np.arange(n), DemoSource(4)) for n in (100, 99))
    assert np.bincount(whole + 1).tolist() == [4, *[16] * N_TREES]
    assert (whole[:99] != less).sum() > 1


def test_numbers_beyond_the_bounds_count_as_the_bound():
    """A number beyond a bound counts as the bound, and no row is dropped."""
    X, y = table(30)
    beyond = X.assign(f0=np.where(X.f0 > 0.5, 40.0, -3.0))
    at_the_bounds = X.assign(f0=np.where(X.f0 > 0.5, 1.0, 0.0))
    one, two = (counting_forest(epsilon=None).fit(t, y).forest_.leaves.noisy_counts for t in (beyond, at_the_bounds))
    assert np.array_equal(one, two)
    assert one.sum() == N_TREES * 30


# ---------------------------------------------------------------- data-dependent trees

every_greedy_forest = pytest.mark.parametrize("name", GREEDY)


def arrays_of(forest) -> list[np.ndarray]:
    """Return tests and leaf contents of a forest, one array for each tree."""
    leaf_content = next(iter(forest.leaves.arrays.values()))
    start, leaf_start = forest.trees.tree_start, forest.trees.leaf_start
    return [
        np.concatenate(
            [
                forest.trees.feature[start[t] : start[t + 1]],
                forest.trees.threshold[start[t] : start[t + 1]],
                leaf_content[leaf_start[t] : leaf_start[t + 1]].ravel(),
            ]
        )
        for t in range(forest.trees.n_trees)
    ]


@every_greedy_forest
@pytest.mark.parametrize("mode", ["certified", "as_published"])
def test_any_number_of_threads_draws_the_same_forest(name, mode):
    X, y = table()
    extra = {"alpha": 0.5} if name.startswith("boosted") and mode == "as_published" else {}
    one, two = (fit(name, X, y, mode=mode, n_jobs=n, **extra) for n in (1, 2))
    assert all(np.array_equal(a, b) for a, b in zip(arrays_of(one.forest_), arrays_of(two.forest_), strict=True))
    assert np.array_equal(one.predict_proba(X), two.predict_proba(X))


@every_greedy_forest
def test_another_seed_of_the_noise_draws_another_forest_and_one_of_the_structure_does_not(name):
    X, y = table()
    plain = saved(fit(name, X, y).released_)
    if name.startswith("multinomial"):  # only these forests draw a structure from a seed
        assert saved(fit(name, X, y, structure_seed=9).released_) == plain
    assert saved(fit(name, X, y, random_state=4).released_) != plain


@every_greedy_forest
def test_the_nonprivate_model_ignores_the_seed_of_the_noise_and_counts_copies_of_a_row(name):
    X, y = table()
    plain = fit(name, X, y, epsilon=None)
    again = fit(name, X, y, epsilon=None, random_state=8)
    assert all(np.array_equal(a, b) for a, b in zip(arrays_of(plain.forest_), arrays_of(again.forest_), strict=True))
    twice = fit(name, pd.concat([X, X]), np.concatenate([y, y]), epsilon=None)  # copies of a row have the same id
    assert np.array_equal(twice.predict(X), plain.predict(X))


@pytest.mark.parametrize("row", [0, 77, 149])
def test_one_row_less_changes_one_tree_if_each_row_is_in_one_tree(row):
    X, y = table()
    with_it = arrays_of(fit("multinomial, independent", X, y, **PUBLIC).forest_)
    without = arrays_of(fit("multinomial, independent", X.drop(index=row), np.delete(y, row), **PUBLIC).forest_)
    assert sum(not np.array_equal(a, b) for a, b in zip(with_it, without, strict=True)) <= 1


def test_one_row_less_can_change_a_tree():
    X, y = table()
    whole = arrays_of(fit("multinomial, independent", X, y, epsilon=50.0, **PUBLIC).forest_)
    changed = 0
    for row in range(40):
        less = arrays_of(
            fit("multinomial, independent", X.drop(index=row), np.delete(y, row), epsilon=50.0, **PUBLIC).forest_
        )
        changed += any(not np.array_equal(a, b) for a, b in zip(whole, less, strict=True))
    assert changed > 3


@pytest.mark.parametrize("partition", ["independent", "shared"])
def test_dropping_a_row_moves_no_other_row_between_structure_and_estimation(partition):
    ids = np.arange(100)
    whole = share_out(ids, 4, Fraction(1, 3), partition, DemoSource(4))
    less = share_out(np.delete(ids, 17), 4, Fraction(1, 3), partition, DemoSource(4))
    for kind in ("structure", "estimation"):
        for tree in range(4):
            kept = np.delete(ids, 17)[getattr(less, kind)[tree]]
            assert set(kept) == set(getattr(whole, kind)[tree]) - {17}
    met = np.concatenate([*whole.structure, *whole.estimation])
    assert sorted(met) == sorted(np.tile(ids, 1 if partition == "independent" else 4))


@pytest.mark.parametrize("row", [0, 77, 149])
def test_one_row_less_changes_one_count_if_the_tests_stay(row):
    X, y = table()
    with_it = fit("one tree, shared", X, y, tree_share=0.001, **PUBLIC).forest_
    without = fit("one tree, shared", X.drop(index=row), np.delete(y, row), tree_share=0.001, **PUBLIC).forest_
    # With this small share of ε for the splits, one row hardly changes them.
    assert np.array_equal(with_it.trees.threshold, without.trees.threshold)
    difference = with_it.leaves.noisy_counts - without.leaves.noisy_counts
    assert difference.sum() == 1 and np.count_nonzero(difference) == 1
    assert np.argwhere(difference)[0].tolist() == [with_it.apply(X.loc[[row]])[0, 0], y[row]]


def test_renaming_categories_changes_only_the_names():
    X, y = table()
    renamed = {f"c{j}": f"k{j}" for j in range(4)}
    features = tuple(
        dataclasses.replace(f, categories=tuple(renamed[c] for c in f.categories)) if f.categories else f
        for f in DOMAIN.features
    )
    domain = dataclasses.replace(DOMAIN, features=features)
    for name in GREEDY:
        one, two = fit(name, X, y), fit(name, X.replace(renamed), y, domain=domain)
        assert all(np.array_equal(a, b) for a, b in zip(arrays_of(one.forest_), arrays_of(two.forest_), strict=True))


def test_a_score_of_two_classes_changes_its_sign_when_they_are_exchanged():
    X, y = table()
    domain = dataclasses.replace(DOMAIN, classes=(0, 1))
    y = (y > 0).astype(int)
    for alpha in (0.3, 1.0):
        one, two = (
            greedy_forest(BoostedForestClassifier, domain=domain, epsilon=None, alpha=alpha, n_estimators=3).fit(
                X, labels
            )
            for labels in (y, 1 - y)
        )
        assert np.allclose(one.forest_.leaves.leaf_values, -two.forest_.leaves.leaf_values, rtol=1e-12, atol=1e-15)
        assert np.allclose(one.predict_proba(X), two.predict_proba(X)[:, ::-1], atol=1e-8)
