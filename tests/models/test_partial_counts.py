"""Fits of a table in parts: the same forest as the whole table, bit for bit, and no trace of the parts."""

import json
import pickle
from dataclasses import replace
from functools import reduce
from operator import add

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

import dpforest
from dpforest import Domain, MajorityLabelForestClassifier, RandomDecisionForestClassifier, ReleasedForest, load_dataset
from dpforest.audit.replay.replay import replay
from dpforest.audit.replay.tape import Table
from dpforest.audit.replay.variants import EPSILON, VARIANTS, divides_rows, domain_of, neighbors_of, random_rows
from dpforest.book import Book
from dpforest.models.random.partial_counts import PartialCounts
from dpforest.models.random.random_structure import RandomStructureClassifier
from dpforest.privacy.ledger import NEIGHBORS
from dpforest.tables.domain import PrivacyLeakWarning
from dpforest.trees import forest_file
from tests.conftest import public_domain, some

DOMAIN = domain_of(3)
PUBLIC = {"scale_share": "public"}  # no query runs before rows are counted
SMALL = {"n_estimators": 4, "max_depth": 3, "domain": DOMAIN, **PUBLIC}
AS_IT_COMES = {"domain": DOMAIN}  # the fit queries the number of rows and the scale, which decide the shape
FORESTS = [
    (MajorityLabelForestClassifier, {"partition": "independent"}),
    (MajorityLabelForestClassifier, {"partition": "shared", "leaf_mechanism": "exponential"}),
    (RandomDecisionForestClassifier, {"partition": "independent", "voting": "majority"}),
    (RandomDecisionForestClassifier, {"partition": "shared", "n_jobs": 2}),
    (dpforest.JagannathanForestClassifier, {"n_bound": 5_000}),
    (dpforest.RandomForestLaplaceClassifier, {}),
    (dpforest.RandomForestExponentialClassifier, {"budget": "paper"}),
]
MODES = [
    {"epsilon": 0.7, "neighbors": "add-remove"},
    {"epsilon": 0.7, "neighbors": "replace-one"},
    {"epsilon": 0.7, "mode": "as_published"},
    {"epsilon": None},
]
RANDOM = [(kind, parameters) for kind, parameters in VARIANTS.values() if issubclass(kind, RandomStructureClassifier)]


def table(n: int, seed: int = 0) -> Table:
    return random_rows(n, 3, 3 * seed)


def cut(n: int, seed: int) -> list[slice]:
    """Cut n rows into slices with random borders, in random order. Some slices have no row."""
    rng = np.random.default_rng(seed)
    borders = np.sort(rng.integers(0, n + 1, 6))
    ends = [0, *borders, *borders[:1], n]
    parts = [slice(a, b) for a, b in zip(sorted(ends), sorted(ends)[1:], strict=False)]
    return [parts[i] for i in rng.permutation(len(parts))]


def written(forest) -> tuple[dict, str, str]:
    """Return the JSON of the file, and the certificate and the ledger of a fitted forest as texts."""
    return json.loads(forest_file.written(forest.forest_)), repr(forest.certificate_), repr(forest.ledger_)


@pytest.mark.parametrize("mode", MODES, ids=lambda mode: "-".join(map(str, mode.values())))
@pytest.mark.parametrize("kind, parameters", FORESTS, ids=lambda p: p.__name__ if isinstance(p, type) else str(p))
def test_parts_give_the_forest_of_the_whole_table(kind, parameters, mode):
    """Forest, certificate and ledger are equal, bit for bit, to those of the whole table, however it is cut."""
    X, y = table(300)
    forest = kind(**SMALL, **parameters, **mode, structure_seed=2, random_state=5)
    whole = written(clone(forest).fit(X, y))
    for seed in range(2):
        parts = [forest.partial_counts(X.iloc[rows], y[rows]) for rows in cut(len(y), seed)]
        assert any(part.n_rows == 0 for part in parts) and sum(part.n_rows for part in parts) == len(y)
        assert written(clone(forest).fit_counts(sum(parts))) == whole
        assert written(clone(forest).fit_counts(reduce(add, reversed(parts)))) == whole
        renumbered = [(X.iloc[rows].rename(index=lambda i: i + 1), y[rows]) for rows in cut(len(y), seed)]
        moved = written(clone(forest).fit(X.rename(index=lambda i: i + 1), y))
        assert written(clone(forest).fit_chunks(iter(renumbered))) == moved


@pytest.mark.parametrize("mode", MODES, ids=lambda mode: "-".join(map(str, mode.values())))
@pytest.mark.parametrize("kind, parameters", FORESTS, ids=lambda p: p.__name__ if isinstance(p, type) else str(p))
def test_parts_give_the_forest_of_the_whole_table_with_default_settings(kind, parameters, mode):
    """Parts give the forest of the whole table if the number of rows and the scale are also computed from parts.

    There are two ways: `fit_chunks` reads the parts twice, or `partial_scale` and `fit_scale` come first, and copies of
    the estimator then count one part each.
    """
    X, y = table(900)
    X.index += 1
    forest = kind(**AS_IT_COMES, **parameters, **mode, structure_seed=2, random_state=5)
    whole = written(clone(forest).fit(X, y))
    assert ("scale" in whole[0]) == (mode.get("mode") is None and mode["epsilon"] is not None)
    parts = [(X.iloc[rows], y[rows]) for rows in cut(len(y), 1)]
    assert written(clone(forest).fit_chunks(parts)) == whole
    model = clone(forest)
    scales = [pickle.loads(pickle.dumps(model.partial_scale(*part))) for part in parts]
    prepared = pickle.dumps(model.fit_scale(sum(scales)))
    counts = [pickle.loads(prepared).partial_counts(*part) for part in parts]
    assert written(model.fit_counts(sum(counts))) == whole


@pytest.mark.parametrize("kind", ["array", "numbered anew", "named", "slices"])
def test_rows_without_ids_are_numbered_across_parts(kind):
    domain = public_domain(None, None, None)
    rng = np.random.default_rng(0)
    X, y = rng.random((100, 3)), rng.integers(0, 2, 100)
    forest = MajorityLabelForestClassifier(domain=domain, n_estimators=10, random_state=1)

    def part(start: int, stop: int):
        frame = pd.DataFrame(X[start:stop], columns=domain.names)
        if kind == "named":
            frame.index = [f"row {i}" for i in range(start, stop)]
        elif kind == "slices":
            frame.index = range(start, stop)
        return X[start:stop] if kind == "array" else frame

    chunks = [(part(a, b), y[a:b]) for a, b in ((0, 30), (30, 30), (30, 31), (31, 100))]
    assert written(clone(forest).fit_chunks(chunks)) == written(clone(forest).fit(X, y))


def test_ids_of_rows_decide_their_trees():
    X, y = random_rows(60, 3, 0)
    forest = MajorityLabelForestClassifier(**SMALL, random_state=1)
    names = np.random.default_rng(0).permutation(1_000)[:60]
    whole = written(clone(forest).fit(X.set_axis(names), y))
    halves = [
        forest.partial_counts(X.iloc[rows].reset_index(drop=True), y[rows], row_ids=names[rows])
        for rows in (slice(0, 9), slice(9, 60))
    ]
    assert written(clone(forest).fit_counts(sum(halves))) == whole
    assert written(clone(forest).fit_counts(forest.partial_counts(X, y))) != whole
    for wrong in (names[:5], names.astype(float)):
        with pytest.raises(ValueError, match="row_ids must be 60 whole numbers"):
            forest.partial_counts(X, y, row_ids=wrong)


@pytest.mark.parametrize("relation", NEIGHBORS)
def test_a_release_from_parts_is_certified(relation):
    X, y = table(80)
    forest = MajorityLabelForestClassifier(**SMALL, neighbors=relation)
    chunked = clone(forest).fit_chunks([(X[:50], y[:50]), (X[50:], y[50:])])
    promise, ledger = forest.preview(DOMAIN, len(y))
    assert isinstance(chunked.released_, ReleasedForest) and chunked.certificate_.certified
    assert repr(chunked.certificate_) == repr(promise) and repr(chunked.ledger_) == repr(ledger)
    assert chunked.ledger_.spent == 1 and chunked.ledger_.closed
    again = ReleasedForest.from_json(chunked.released_.to_json())
    assert np.array_equal(again.predict(X), chunked.predict(X))


def test_every_release_draws_afresh():
    """Two counts of the same rows differ, and two releases of the same counts differ, except with probability 2**-100.

    A count draws the tree of each row, and a release draws the noise.
    """
    X, y = table(300)
    forest = MajorityLabelForestClassifier(domain=DOMAIN, n_estimators=50, max_depth=4, **PUBLIC)
    part = forest.partial_counts(X, y)
    assert (part.counts != forest.partial_counts(X, y).counts).any()
    one, two = (forest.fit_counts(part).forest_.leaves.labels for _ in range(2))
    assert (one != two).any()


def test_each_row_is_counted_once():
    X, y = table(200)
    for partition, times in (("independent", 1), ("shared", 4)):
        forest = MajorityLabelForestClassifier(**SMALL, partition=partition)
        part = forest.partial_counts(X[:90], y[:90]) + forest.partial_counts(X[90:], y[90:])
        assert part.counts.sum(axis=0).tolist() == (times * np.bincount(y, minlength=3)).tolist()
        assert part.n_rows == 200


@pytest.mark.parametrize("chunks", [[], [(table(0)[0], [])], [(np.empty((0, 4)), np.empty(0))]])
def test_a_table_without_rows_is_counted(chunks):
    forest = RandomDecisionForestClassifier(**SMALL).fit_chunks(chunks)
    assert forest.certificate_.certified and forest.predict(table(2)[0]).shape == (2,)


def test_a_fitted_forest_forgets_the_table_before():
    X, y = table(50)
    forest = MajorityLabelForestClassifier(**SMALL).fit(X.assign(more=1), y)
    forest.fit_chunks([(X, y)])
    assert forest.n_features_in_ == 4 and not hasattr(forest, "feature_names_in_")
    assert forest.classes_.tolist() == [0, 1, 2] and forest.domain_ == DOMAIN


def test_counting_leaves_the_forest_alone():
    X, y = table(50)
    forest = MajorityLabelForestClassifier(**SMALL)
    forest.partial_counts(X, y)
    assert vars(forest) == vars(clone(forest).set_params(domain=DOMAIN))


def test_parts_can_be_pickled_and_leave_no_data_in_a_forest():
    """A part can be pickled. Neither a fitted forest nor its pickle holds any data of a part."""
    X, y = table(200)
    for kind, parameters in FORESTS:
        forest = kind(**SMALL, **parameters)
        part = pickle.loads(pickle.dumps(forest.partial_counts(X, y)))
        assert "curator only" in repr(part) and "200" not in repr(part) and not hasattr(part, "to_json")
        forest.fit_counts(part)
        assert set(vars(forest)) - set(forest.get_params()) == {
            "forest_",
            "domain_",
            "classes_",
            "certificate_",
            "ledger_",
            "n_features_in_",
        }
        stored = pickle.dumps(forest)
        assert b"PartialCounts" not in stored and part.counts.tobytes() not in stored
        assert all(part.counts is not value for value in vars(forest.forest_).values())


def test_the_scale_of_parts_stays_with_the_curator():
    X, y = table(913)
    for kind, parameters in FORESTS:
        forest = kind(**AS_IT_COMES, **parameters)
        part = pickle.loads(pickle.dumps(forest.partial_scale(X, y)))
        assert "curator only" in repr(part) and "913" not in repr(part) and not hasattr(part, "to_json")
        forest.fit_scale(part)
        assert set(vars(forest)) - set(forest.get_params()) == {"prepared_"}
        stored = pickle.dumps(forest)
        assert b"PartialScale" not in stored and part.cells.tobytes() not in stored
        assert forest.prepared_.scale is not None and not np.array_equal(forest.prepared_.scale.shares, part.cells)


OTHER = {
    "structure_seed": {"structure_seed": 1},
    "random_state": {"random_state": 0},
    "depth": {"max_depth": 2},
    "n_trees": {"n_estimators": 5},
    "partition": {"partition": "shared"},
    "categorical": {"categorical": "one-vs-rest"},
    "max_leaves": {"max_leaves": 16},
    "domain": {"domain": replace(DOMAIN, classes=(False, True, 2))},
}


@pytest.mark.parametrize("name", OTHER)
def test_parts_of_other_settings_are_refused(name):
    """A forest refuses parts that were counted with other settings, for example with a seed."""
    X, y = table(20, seed=2)
    forest = MajorityLabelForestClassifier(**SMALL)
    other = clone(forest).set_params(**OTHER[name])
    part, strange = forest.partial_counts(X, y), other.partial_counts(X, np.array([other.domain.classes[0]] * 20))
    for wrong in (lambda: part + strange, lambda: strange + part, lambda: clone(forest).fit_counts(strange)):
        with pytest.raises(ValueError, match=f"other settings.*{name}"):
            wrong()


def test_one_count_serves_every_budget():
    """The same counts serve releases at several budgets, and each release costs its ε."""
    X, y = table(100)
    part = MajorityLabelForestClassifier(**SMALL).partial_counts(X, y)
    for epsilon, relation in ((0.5, "add-remove"), (2, "replace-one")):
        forest = MajorityLabelForestClassifier(**SMALL, epsilon=epsilon, neighbors=relation).fit_counts(part)
        assert forest.ledger_.spent == epsilon and forest.certificate_.certified


def test_only_parts_are_added_and_fitted():
    part = MajorityLabelForestClassifier(**SMALL).partial_counts(*table(5))
    for wrong in (1, "part"):
        with pytest.raises(TypeError):
            part + wrong
        with pytest.raises(TypeError):
            wrong + part
    with pytest.raises(TypeError, match="takes the result of partial_counts, not int"):
        MajorityLabelForestClassifier(**SMALL).fit_counts(sum([]))


@pytest.mark.parametrize("domain", [None, replace(DOMAIN, classes=()), "adult"])
def test_counts_need_a_public_domain(domain):
    X, y = table(10)
    forest = MajorityLabelForestClassifier(domain=domain)
    part = MajorityLabelForestClassifier(**SMALL).partial_counts(X, y)
    for wrong in (
        lambda: forest.fit_chunks([(X, y)]),
        lambda: forest.partial_counts(X, y),
        lambda: forest.fit_counts(part),
    ):
        with pytest.raises(ValueError, match="only with a public domain that has classes"):
            wrong()


def test_a_domain_read_from_data_warns_and_is_not_certified():
    X, y = table(30)
    forest = MajorityLabelForestClassifier(domain=Domain.infer(X, y), n_estimators=2, max_depth=2)
    with pytest.warns(PrivacyLeakWarning, match="read from the data") as caught:
        forest.fit_chunks([(X, y)])
    assert len(caught) == 1 and caught[0].filename == __file__ and not forest.certificate_.certified
    with pytest.warns(PrivacyLeakWarning) as caught:
        forest.fit_counts(forest.partial_counts(X, y))
    assert len(caught) == 1 and caught[0].filename == __file__


def test_settings_that_need_all_rows_at_once_are_refused():
    forest = MajorityLabelForestClassifier(domain=DOMAIN, mode="as_published")
    for wrong in (lambda: forest.fit_chunks([table(5)]), lambda: forest.partial_counts(*table(5))):
        with pytest.raises(ValueError, match="cut from all rows together"):
            wrong()


def test_rows_beyond_the_public_bound_are_refused():
    forest = dpforest.JagannathanForestClassifier(**SMALL, n_bound=30)
    part = forest.partial_counts(*table(20))
    with pytest.raises(ValueError, match="more rows than n_bound=30"):
        forest.fit_counts(part + part)
    assert forest.fit_counts(part).certificate_.certified


def test_a_part_that_does_not_fit_the_domain_is_refused():
    X, y = table(10)
    forest = MajorityLabelForestClassifier(**SMALL)
    with pytest.raises(ValueError, match="no column 'a'"):
        forest.fit_chunks([(X.drop(columns="a"), y)])
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        forest.partial_counts(X, y[:3])
    assert not hasattr(forest, "forest_")


@pytest.mark.parametrize("mode", ["certified", "as_published"])
@pytest.mark.parametrize("kind, parameters", RANDOM, ids=lambda p: p.__name__ if isinstance(p, type) else str(p))
def test_no_plan_depends_on_the_exact_number_of_rows(kind, parameters, mode):
    """Plans do not depend on the exact number of rows.

    Rules that need a number of rows use the given `size`. The published rule of JPW needs the exact number, so it
    refuses parts.
    """
    mechanism = {"leaf_mechanism": None} if "leaf_mechanism" in parameters else {}
    forest = kind(**{"size": 20, **parameters, **mechanism}, mode=mode)
    if forest.needs_all_rows:
        assert (kind, mode, parameters) == (dpforest.JagannathanForestClassifier, "as_published", {})
        with pytest.raises(ValueError, match="cannot be counted part by part"):
            forest.set_params(domain=DOMAIN).partial_counts(*table(3))
        return
    assert forest.spec(DOMAIN, 0) == forest.spec(DOMAIN, 1) == forest.spec(DOMAIN, 41)


def by_number(table: Table, n_parts: int = 4, size: int = 11) -> list[Table]:
    """Cut a table into parts by its index, so that removing a row leaves every other row in its part."""
    X, y = table
    part = np.minimum(X.index.to_numpy() // size, n_parts - 1)
    return [(X[part == k], y[part == k]) for k in range(n_parts)]


@pytest.mark.parametrize("variant, relation", some(RANDOM, NEIGHBORS, every=5))
def test_the_auditors_have_no_findings(variant, relation):
    """A recorded fit, replayed with the same draws on a neighboring table, loses at most ε."""
    kind, parameters = variant
    loss = []
    for seed, n in enumerate([1, 12, 40]):
        model = kind(epsilon=EPSILON, domain=DOMAIN, neighbors=relation, **parameters)
        pair = neighbors_of(random_rows(n, 3, seed), random_rows(1, 3, 100 + seed), relation, seed % n)
        for before, after in (pair, pair[::-1]):
            comparison = replay(
                lambda table, model=model: model.fit_chunks(by_number(table)).forest_,
                before,
                after,
                epsilon=EPSILON,
                neighbors=relation,
                one_tree=divides_rows(model),
                threads=model.n_jobs is not None,
            )
            assert [str(f) for f in comparison.findings] == []
            loss.append(comparison.loss)
    assert 0 < max(loss) <= EPSILON * (1 + 1e-9)


@pytest.mark.parametrize("counted_twice", ["rows", "scale"])
def test_the_auditors_detect_rows_that_are_in_two_parts(counted_twice):
    share = {"rows": "public", "scale": 0.5}[counted_twice]
    model = MajorityLabelForestClassifier(
        epsilon=EPSILON, domain=DOMAIN, n_estimators=3, max_depth=1, scale_share=share
    )

    def fit(table: Table):
        if counted_twice == "scale":
            part = model.partial_scale(*table)
            return model.fit_scale(part + part).fit_counts(model.partial_counts(*table)).forest_
        part = model.partial_counts(*table)
        return model.fit_counts(part + part).forest_

    pair = neighbors_of(table(12), random_rows(1, 3, 1), "add-remove", 5)
    assert "sensitivity" in {f.kind for f in replay(fit, *pair, epsilon=EPSILON, one_tree=True).findings}


def test_a_part_holds_the_counts_of_its_rows():
    """The counts of a part equal those of the non-private model on the same rows."""
    X, y = table(100)
    forest = RandomDecisionForestClassifier(**SMALL, epsilon=None)
    part = forest.partial_counts(X, y)
    assert isinstance(part, PartialCounts)
    assert np.array_equal(part.counts, forest.fit(X, y).forest_.leaves.noisy_counts)


# ---------------------------------------------------------------- invalid counts


@pytest.mark.parametrize(
    "counts",
    [
        7,
        np.ones(2, np.int64),
        np.ones((3, 2), bool),
        np.ones((3, 2), np.uint8),
        np.ones((3, 2)),
        np.full((3, 2), -1),
        np.full((3, 2), 2**31),
    ],
    ids=["number", "one axis", "bool", "uint8", "float", "negative", "huge"],
)
def test_invalid_tables_of_counts_are_refused(counts):
    with pytest.raises(ValueError, match="int64"):
        PartialCounts(counts, 3, {})


def test_counts_of_another_shape_are_never_spread_over_leaves():
    data = load_dataset("car")
    forest = MajorityLabelForestClassifier(**{**SMALL, "domain": data.domain})
    part = forest.partial_counts(data.X, data.y)
    for wrong in (part.counts[:, :1], part.counts[:1]):
        with pytest.raises(ValueError, match="not those of the leaves"):
            forest.fit_counts(replace(part, counts=np.ascontiguousarray(wrong)))


def test_sums_that_are_too_large_are_refused_not_wrapped():
    huge = PartialCounts(np.full((1, 2), 2**30), 2**31, {})
    with pytest.raises(ValueError, match="below 2,147,483,648"):
        huge + huge


def test_a_setting_that_is_absent_differs():
    data = load_dataset("car")
    forest = MajorityLabelForestClassifier(**{**SMALL, "domain": data.domain})
    part = forest.partial_counts(data.X, data.y)
    fewer = {name: value for name, value in part.settings.items() if name != "random_state"}
    with pytest.raises(ValueError, match="random_state"):
        forest.fit_counts(replace(part, settings=fewer))


def test_an_index_of_whole_numbers_names_rows_wherever_the_table_is_cut():
    data = load_dataset("nursery")
    order = np.random.default_rng(0).permutation(len(data.table))
    X, y = data.X.iloc[order], data.y.iloc[order]
    at = int(np.flatnonzero(X.index.to_numpy() == 0)[0])
    parts = [(X[a:b], y[a:b]) for a, b in ((0, at), (at, at + 1), (at + 1, len(X)))]
    forest = RandomDecisionForestClassifier(domain=data.domain, partition="independent", random_state=0)
    whole = forest.fit(X, y).forest_.to_json(uncertified=True)
    assert forest.fit_chunks(parts).forest_.to_json(uncertified=True) == whole


@pytest.mark.parametrize("settings", [SMALL, AS_IT_COMES], ids=["public scale", "scale asked for"])
def test_a_fit_in_parts_is_booked_once_and_a_refused_one_is_not(tmp_path, settings):
    book, (X, y) = Book(tmp_path / "book.sqlite"), table(200)
    book.add_population("patients", cap=1)
    forest, parts = MajorityLabelForestClassifier(**settings, epsilon=0.75), [(X[:90], y[:90]), (X[90:], y[90:])]
    forest.fit_chunks(parts, account=book.account("patients"))
    (booking,) = book.population("patients").bookings
    assert booking.cost.loss == forest.ledger_.budget
    with pytest.raises(ValueError, match="cap"):
        clone(forest).fit_chunks(parts, account=book.account("patients"))
    assert len(book.population("patients").bookings) == 1
