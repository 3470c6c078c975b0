"""What may leave the house: the JSON trip, what a fitted object holds, and files that someone tampered with."""

import copy
import dataclasses
import gzip
import io
import itertools
import json
import pickle
from fractions import Fraction

import numba
import numpy as np
import pandas as pd
import pytest
from conftest import public_domain
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from test_samplers import FixedWords, noise_p_value, p_value

from dpforest import (
    Domain,
    JagannathanForestClassifier,
    MajorityLabelForestClassifier,
    RandomDecisionForestClassifier,
    RandomForestExponentialClassifier,
    RandomForestLaplaceClassifier,
    ReleasedForest,
)
from dpforest.privacy.certificate import certify
from dpforest.privacy.ledger import BudgetError, Ledger, QueryBudget
from dpforest.privacy.loss import PrivacyLoss, mu_for
from dpforest.privacy.noisy_counts import discrete_laplace_pmf
from dpforest.privacy.randomness import DemoSource, SecretSource
from dpforest.privacy.rationals import round_up
from dpforest.privacy.release import assign_rows, noisy_table
from dpforest.privacy.simulators import simulate_noisy_counts
from dpforest.trees import naive
from dpforest.trees.forest import CuratorForest, Forest, ForestFormatError
from dpforest.trees.packed_arrays import pack, unpack
from dpforest.trees.structure import structure_of

JIT = not numba.config.DISABLE_JIT
DOMAIN = public_domain(None, 3, None, 4, n_classes=3)
MODELS = {
    "labels": MajorityLabelForestClassifier(n_estimators=5),
    "counts": RandomDecisionForestClassifier(n_estimators=4, max_depth=3),
    "probabilistic": RandomDecisionForestClassifier(
        n_estimators=4, max_depth=3, voting="probabilistic", negative_rule="paper", partition="independent"
    ),
    "jpw": JagannathanForestClassifier(n_estimators=4),
    "rf-l": RandomForestLaplaceClassifier(n_estimators=4, max_depth=3),
    "rf-e": RandomForestExponentialClassifier(n_estimators=4, max_depth=3),
}
by_model = pytest.mark.parametrize("name", MODELS)


def table(n: int, seed: int = 0, domain: Domain = DOMAIN) -> tuple[pd.DataFrame, np.ndarray]:
    rng = np.random.default_rng(seed)
    columns = {f.name: rng.choice(f.categories, n) if f.categories else rng.random(n) for f in domain.features}
    X = pd.DataFrame(columns)
    return X, rng.choice(domain.classes, n, p=np.array([5, 3, 2]) / 10)


def fitted(name: str, n: int = 200, **parameters):
    model = copy.deepcopy(MODELS[name]).set_params(domain=DOMAIN, **parameters)
    return model.fit(*table(n))


def saved(forest: ReleasedForest) -> str:
    """The file, of a demonstration as well."""
    return forest.to_json(uncertified=True)


# ---------------------------------------------------------------- the trip


@by_model
def test_a_forest_is_the_same_after_the_trip(name):
    forest = fitted(name).released_
    text = saved(forest)
    back = ReleasedForest.from_json(text)
    assert saved(back) == text
    X, _ = table(500, seed=9)
    assert np.array_equal(back.predict(X), forest.predict(X))
    assert np.array_equal(back.class_shares(X), forest.class_shares(X))
    assert np.array_equal(back.apply(X), forest.apply(X))
    assert back.certificate == forest.certificate
    assert back.ledger == forest.ledger
    assert back.domain == forest.domain
    assert saved(ReleasedForest.from_json(text.encode())) == text
    data = forest.to_bytes(uncertified=True)
    assert gzip.decompress(data).decode() == text and forest.to_bytes(uncertified=True) == data
    for file in (data, text.encode()):
        assert saved(ReleasedForest.from_bytes(file)) == text


@by_model
def test_a_pickled_estimator_predicts_the_same(name):
    model = fitted(name)
    X, _ = table(300, seed=9)
    assert np.array_equal(pickle.loads(pickle.dumps(model)).predict(X), model.predict(X))


def test_a_loaded_forest_reads_arrays_and_lists_as_well():
    forest = ReleasedForest.from_json(saved(fitted("labels").released_))
    X, _ = table(20)
    assert np.array_equal(forest.predict(X.to_numpy()), forest.predict(X))
    assert np.array_equal(forest.predict(X.to_numpy().tolist()), forest.predict(X))
    assert len(forest.predict(X[:0])) == 0


def test_a_forest_that_is_not_certified_is_saved_only_on_request():
    demo = fitted("labels", random_state=1).released_
    back = ReleasedForest.from_json(saved(demo))
    for forest in (demo, back):
        for write in (forest.to_json, forest.to_bytes):
            with pytest.raises(ValueError, match="not certified: .*random_state.*to_json.uncertified=True."):
                write()
    certified = fitted("labels").released_
    assert certified.to_json() == saved(certified)
    assert ReleasedForest.from_json(certified.to_json()).certificate.certified


# ---------------------------------------------------------------- nothing private


class Inventory(pickle.Pickler):
    """Everything that a pickle would carry."""

    def __init__(self, thing):
        super().__init__(io.BytesIO())
        self.arrays, self.types = [], set()
        self.dump(thing)

    def reducer_override(self, thing):
        self.types.add(type(thing))
        if isinstance(thing, np.ndarray):
            self.arrays.append(thing)
        return NotImplemented


PARTS = {"domain_", "classes_", "certificate_", "ledger_", "forest_", "n_features_in_", "feature_names_in_"}


@by_model
@pytest.mark.parametrize("random_state", [None, 987_654_321_987])
def test_a_fitted_estimator_holds_what_is_released_and_nothing_else(name, random_state):
    """Every attribute is a parameter, public, or follows from the JSON, so nothing can be hidden beside it."""
    model = fitted(name, n=307, random_state=random_state, n_jobs=2)
    assert set(vars(model)) == set(model.get_params()) | PARTS
    assert model.domain_ == DOMAIN
    assert model.forest_ is model.released_
    assert model.forest_.certificate is model.certificate_
    assert model.forest_.ledger is model.ledger_
    model.predict(table(11)[0])  # using it must not leave anything behind either
    back = ReleasedForest.from_json(saved(model.released_))
    assert set(vars(model.forest_)) == set(vars(back)) == {field.name for field in dataclasses.fields(Forest)}
    for part in dataclasses.fields(back.trees):
        assert np.array_equal(getattr(back.trees, part.name), getattr(model.forest_.trees, part.name))
    assert vars(model.forest_.trees).keys() - {field.name for field in dataclasses.fields(back.trees)} <= {
        "leaf_nodes",
        "leaf_start",
        "leaf_of_node",
        "is_complete",
        "parent",
        "n_children",
        "level",
    }  # cached, and computed from the structure alone


@by_model
@pytest.mark.parametrize("structure_seed", [0, 5])
def test_all_of_the_file_but_the_noisy_values_is_known_without_the_table(name, structure_seed):
    model = fitted(name, structure_seed=structure_seed)
    content = json.loads(saved(model.released_))
    certificate, ledger = model.preview(DOMAIN, 0)
    trees = model.spec(DOMAIN, 0).grow(DOMAIN, structure_seed)
    values = content.pop("labels", None) or content.pop("noisy_counts")
    assert set(values) == {"type", "shape", "data"}
    assert content.pop("certificate") == certificate.to_dict()
    assert content.pop("ledger") == ledger.to_dict()
    assert content.pop("domain") == DOMAIN.to_dict()
    assert content.pop("depth") == trees.depth
    structure, packed = structure_of(trees), content.pop("trees")
    assert packed.pop("n_trees") == trees.n_trees
    for part in ("test_feature", "test_kind", "nodes", "thresholds"):
        assert packed.pop(part) == pack(getattr(structure, part)), part
    assert not packed and content == {
        "format": "dpforest released forest",
        "version": 2,
        "about": {"estimator": type(model).__name__, "structure_seed": structure_seed},
        "voting": model.forest_.voting,
        "negative_rule": model.forest_.negative_rule,
        "seed": structure_seed,
    }


@by_model
@pytest.mark.parametrize("random_state", [None, 987_654_321_987])
def test_neither_counts_nor_assignment_nor_source_of_noise_is_kept(name, random_state):
    n = 307  # no other size in the forest
    model = fitted(name, n=n, random_state=random_state)
    X, y = table(n)
    trees = model.forest_.trees
    leaves = model.apply(X)
    counts = np.zeros((trees.n_leaves, 3), int)
    np.add.at(counts, (leaves, np.broadcast_to(y[:, None], leaves.shape)), 1)
    inventory = Inventory(model)
    assert not inventory.types & {DemoSource, SecretSource, np.random.Generator, np.random.RandomState}
    assert len(inventory.arrays) >= 6
    for array in inventory.arrays:
        assert n not in array.shape
        for secret in (counts, counts.sum(axis=1), counts.max(axis=1), counts.argmax(axis=1)):
            assert array.shape != secret.shape or not np.array_equal(array, secret)
    text = saved(model.released_)
    assert str(random_state) not in text or random_state is None


@by_model
def test_sizes_do_not_depend_on_the_table(name):
    """The pickle does not tell how many rows there were, nor whether a leaf was empty. The file is a function of it."""
    small, large = (fitted(name, n=n, random_state=3) for n in (8, 4_000))
    assert len(pickle.dumps(small)) == len(pickle.dumps(large))
    again = ReleasedForest.from_json(saved(large.released_))
    assert saved(again) == saved(large.released_) == saved(pickle.loads(pickle.dumps(large)).released_)
    values = small.forest_.labels if small.forest_.labels is not None else small.forest_.noisy_counts
    assert len(values) == small.forest_.trees.n_leaves


@by_model
def test_a_release_draws_afresh_while_its_structure_stays(name):
    """Equal noise twice has probability below 2^-60: more than 60 leaves are empty, and each says what it likes."""
    a, b = (fitted(name, n=2, n_estimators=20, structure_seed=4).released_ for _ in range(2))
    one, two = (json.loads(saved(forest)) for forest in (a, b))
    values = "labels" if a.labels is not None else "noisy_counts"
    assert a.trees.n_leaves > 60 + 20 * 2
    assert one.pop(values) != two.pop(values)
    assert one == two
    c = fitted(name, n=2, n_estimators=20, structure_seed=5).released_
    assert json.loads(saved(c))["trees"] != one["trees"]


@by_model
def test_a_demo_is_repeatable_and_its_noise_is_not_the_structures(name):
    a, b = (saved(fitted(name, random_state=1).released_) for _ in range(2))
    assert a == b
    one, two = (json.loads(saved(fitted(name, random_state=seed).released_)) for seed in (1, 2))
    assert one["trees"] == two["trees"]
    assert one != two


# ---------------------------------------------------------------- the door is shut


@by_model
@pytest.mark.parametrize("how", [{"epsilon": None}, {"mode": "as_published"}])
def test_a_curators_forest_has_no_export(name, how):
    if name == "probabilistic" and how == {"mode": "as_published"}:
        how = {**how, "negative_rule": None}
    model = fitted(name, **how)
    assert isinstance(model.forest_, CuratorForest)
    assert not isinstance(model.forest_, ReleasedForest)
    for export in ("to_json", "from_json", "to_dict", "save"):
        assert not hasattr(model.forest_, export)
    assert not hasattr(model, "released_")
    with pytest.raises(AttributeError, match="for the curator only; .*[.]"):
        _ = model.released_
    fields = {field.name: getattr(model.forest_, field.name) for field in dataclasses.fields(Forest)}
    with pytest.raises(ValueError, match="closed ledger"):
        ReleasedForest(**fields)


def test_a_release_needs_a_closed_ledger_with_a_budget():
    released = fitted("labels").released_
    fields = {field.name: getattr(released, field.name) for field in dataclasses.fields(Forest)}
    ReleasedForest(**fields)
    still_open = Ledger(Fraction(1), "add-remove")
    still_open.charge("labels", "permute-and-flip", 1, Fraction(1), 1, "parallel")
    for ledger in (still_open, Ledger(Fraction(1), "add-remove"), Ledger(None, "add-remove")):
        with pytest.raises(ValueError, match="closed ledger"):
            ReleasedForest(**{**fields, "ledger": ledger})


def test_counts_that_no_exact_sampler_drew_are_not_released():
    released = fitted("counts").released_
    fields = {field.name: getattr(released, field.name) for field in dataclasses.fields(Forest)}
    with pytest.raises(ValueError, match="whole numbers"):
        ReleasedForest(**{**fields, "noisy_counts": released.noisy_counts + 0.5})


# ---------------------------------------------------------------- tables that were paid for beforehand


def test_a_noisy_table_has_noise_of_its_sensitivity_over_what_one_answer_costs():
    """Laplace noise of scale sensitivity / ε, whoever draws; twelve comparisons of fixed or seeded draws at 1e-7."""
    n = 20_000 if JIT else 1_500
    table = np.tile([[0, 5, 1_000_000]], (n, 1))
    for sensitivity, each, sources in [
        (1, Fraction(1, 2), (FixedWords(), DemoSource(4))),
        (700, Fraction(7), (FixedWords(), DemoSource(4))),  # weights in 1/1024: coarser noise
        (3, Fraction(30), (FixedWords(), DemoSource(4))),
    ]:
        for source in sources:
            noisy = noisy_table(table, sensitivity, QueryBudget(each, 1), source)
            assert noisy.shape == table.shape and noisy.dtype == np.int64
            for column in (noisy - table).T:
                assert noise_p_value(column, float(sensitivity / each)) > 1e-7
    small = noisy_table(np.zeros((500, 1), np.int64), 1, QueryBudget(Fraction(1, 10), 1), FixedWords())
    assert small.min() < 0  # clamped nowhere


def test_a_noisy_table_loses_what_was_paid_for():
    """Whatever a row of that sensitivity does to the cells together, the scale used pays for it, rounding included."""
    for sensitivity in (1, 3, 1_024):
        for each in (Fraction(1, 3), Fraction(10**9 + 7, 10**10), Fraction(12)):
            scale = round_up(sensitivity / each)
            assert sensitivity / scale <= each  # log-ratio |change| / scale, summed over the cells that change
            z = np.arange(-40, 41)
            pmf = np.log(discrete_laplace_pmf(z, float(scale)))
            assert np.abs(np.diff(pmf)).max() * sensitivity <= float(each) * (1 + 1e-9)


def test_a_noisy_table_takes_one_answer_and_draws_nothing_without_it():
    class Untouchable(SecretSource):
        def words(self, n):
            raise AssertionError("drew without paying")

    ledger = Ledger(1, "add-remove")
    query_budget = ledger.charge("weights", "discrete-laplace", 1, Fraction(1, 2), 2, "sequential")
    table = np.arange(6).reshape(3, 2)
    for source in (SecretSource(), DemoSource(0)):
        noisy_table(table, 5, query_budget, source)
    for source in (Untouchable(), DemoSource(0)):
        with pytest.raises(BudgetError, match="has been asked"):
            noisy_table(table, 5, query_budget, source)


def test_tables_of_a_demonstration_draw_by_their_key_and_cell():
    table = np.zeros((600, 2), np.int64)
    draw = lambda table, **key: noisy_table(table, 4, QueryBudget(Fraction(1), 1), DemoSource(3), **key)
    first = draw(table)
    assert np.array_equal(first, draw(table, key=0)) and np.array_equal(first[:50], draw(table[:50]))
    changed = table.copy()
    changed[17] = 10**6
    assert np.array_equal(draw(changed) - changed, first)
    for key in (1, 31, 63, 64, 2**20 + 31):
        other = draw(table, key=key)
        assert abs(np.corrcoef(first.ravel(), other.ravel())[0, 1]) < 5 / np.sqrt(first.size)
    a, b = (noisy_table(table, 4, QueryBudget(Fraction(1), 1), SecretSource()) for _ in range(2))
    assert (a != b).any()  # equal with probability below 0.2**1200


# ---------------------------------------------------------------- sharing rows out more than once


def test_rows_are_shared_out_afresh_for_every_key():
    """Of all pairs of draws every pair of parts is as frequent: 6 seeded comparisons at p < 1e-7."""
    n, source = 60_000, DemoSource(8)
    draws = [assign_rows(n, 5, source, key=key) for key in (0, 1, 2, 700)]
    assert np.array_equal(draws[0], assign_rows(n, 5, source))
    for one, other in itertools.combinations(draws, 2):
        assert p_value(np.bincount(5 * one + other, minlength=25), np.full(25, 1 / 25)) > 1e-7
    ids = np.arange(n)[::-1] * 3 + 7
    everyone = assign_rows(ids, 5, source, key=9)
    assert np.array_equal(assign_rows(ids[1:], 5, source, key=9), everyone[1:])  # leaving one out moves no other
    noise = simulate_noisy_counts(np.zeros((n, 1), np.int64), 1.0, 8)[:, 0] > 0
    assert abs(np.corrcoef(noise, draws[0])[0, 1]) < 5.5 / np.sqrt(n)  # and no noise follows from it


def test_a_release_shares_out_afresh_whatever_the_key():
    one, other = (assign_rows(2_000, 7, SecretSource(), key=3) for _ in range(2))
    assert (one != other).any() and p_value(np.bincount(one, minlength=7), np.full(7, 1 / 7)) > 1e-8


# ---------------------------------------------------------------- damaged and malicious files

TEXTS = {name: saved(fitted(name, random_state=1).released_) for name in ("labels", "counts", "probabilistic")}
ODD_VALUES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-3, 70_000),
    st.integers(-(2**70), 2**70),
    st.floats(),
    st.text(max_size=12),
    st.sampled_from(["", "1/0", "-1", "nan", "infinity", "3/7", "1e3", "clamp", "paper", "majority", "threshold"]),
    st.sampled_from(["\ud800", "x" * 200_000, 10**400, 1e308, ["c"] * 2_000, [[[[[]]]]], {}, [], True]),
    st.lists(st.integers(-2, 9), max_size=3),
    st.dictionaries(st.sampled_from(["a", "type", "shape"]), st.integers(0, 3), max_size=2),
).map(copy.deepcopy)  # or a value that one example changes would be another one in the next


def places(content, path=()) -> list[tuple]:
    """Paths to all values in a JSON, inner ones as well."""
    inside = content.items() if isinstance(content, dict) else enumerate(content) if isinstance(content, list) else ()
    return [path] * bool(path) + [place for key, value in inside for place in places(value, (*path, key))]


@st.composite
def tampered(draw) -> str:
    """A forest's JSON with one to three of its values replaced, removed, exchanged, or changed inside an array."""
    content = json.loads(TEXTS[draw(st.sampled_from(sorted(TEXTS)))])
    for _ in range(draw(st.integers(1, 3))):
        what = draw(st.sampled_from(["replace", "replace", "remove", "add", "exchange", "array", "array", "array"]))
        if what == "array":
            change_array(draw, content)
            continue
        *path, last = draw(st.sampled_from(places(content)))
        parent = content
        for key in path:
            parent = parent[key]
        if what == "replace":
            parent[last] = draw(ODD_VALUES)
        elif what == "remove":
            del parent[last]
        elif what == "add":
            extra = draw(ODD_VALUES)
            parent.update({draw(st.text(max_size=5)): extra}) if isinstance(parent, dict) else parent.append(extra)
        else:
            other = draw(st.sampled_from(sorted(parent) if isinstance(parent, dict) else range(len(parent))))
            parent[last], parent[other] = parent[other], parent[last]
    return json.dumps(content)


def change_array(draw, content) -> None:
    """Other cells, fewer cells, or another shape, in an array that is still whole."""
    arrays = content.get("trees")
    arrays = [
        *(arrays.values() if isinstance(arrays, dict) else ()),
        content.get("labels"),
        content.get("noisy_counts"),
    ]
    arrays = [a for a in arrays if isinstance(a, dict) and {"type", "shape", "data"} == set(a)]
    if not arrays:
        return
    entry = draw(st.sampled_from(arrays))
    try:
        values = unpack(entry, tuple(entry["shape"])).copy()
        info = np.iinfo(values.dtype)
    except (TypeError, ValueError, AttributeError):
        return
    how = draw(st.sampled_from(["cells", "cells", "cells", "cut", "shape"])) if values.size else "shape"
    if how == "cells":
        new = st.one_of(st.integers(info.min, info.max), st.integers(max(info.min, -1), 100))
        for _ in range(draw(st.integers(1, 3))):
            values.flat[draw(st.integers(0, values.size - 1))] = draw(new)
        entry.update(pack(values))
    elif how == "cut":
        entry.update(pack(values.ravel()[: draw(st.integers(0, values.size))]))
    else:
        n = values.size
        entry["shape"] = draw(st.sampled_from([[n, 1], [1, n], [], [-1], [n, 0], [0], [2**40], [True], [1.0 * n]]))


def rows_for(domain: Domain) -> pd.DataFrame:
    """Rows that fit a domain, its ends included."""
    rng = np.random.default_rng(0)
    columns = {}
    for feature in domain.features:
        if feature.kind == "numeric":
            columns[feature.name] = np.concatenate([[feature.low, feature.high], rng.uniform(0, 1, 10)])
        else:
            columns[feature.name] = [*(feature.categories * 12)[:6], *rng.choice(feature.categories, 6)]
    return pd.DataFrame(columns, dtype=object)


def assert_sound(forest: ReleasedForest) -> None:
    """It predicts, it stays inside its arrays, and it can be saved again."""
    X = rows_for(forest.domain)
    leaves = forest.apply(X)
    assert np.array_equal(leaves.T, naive.leaves_of_rows(forest.trees, forest.domain.encode(X)))
    index = forest.predict_index(X)
    assert ((index >= 0) & (index < forest.domain.n_classes)).all()
    shares = forest.class_shares(X)
    assert shares.shape == (12, forest.domain.n_classes)
    assert np.allclose(shares.sum(axis=1), 1)
    assert saved(ReleasedForest.from_json(saved(forest))) == saved(forest)
    assert str(forest.certificate)
    assert str(forest.ledger)


def assert_a_sentence(error: ForestFormatError) -> None:
    message = str(error)
    assert message[0].isupper(), message
    assert message.endswith(".") and not message.endswith(".."), message
    assert "\n" not in message and len(message) < 500, message


@settings(
    max_examples=100 if numba.config.DISABLE_JIT else 250,
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=list(HealthCheck),
)
@given(tampered())
def test_a_tampered_file_is_refused_with_a_sentence_or_is_sound(text):
    try:
        forest = ReleasedForest.from_json(text)
    except ForestFormatError as error:
        assert_a_sentence(error)
    else:
        assert_sound(forest)


@settings(max_examples=200, deadline=None, derandomize=True, database=None)
@given(st.integers(0, len(TEXTS["labels"]) - 1), st.binary(min_size=1, max_size=4), st.booleans())
def test_a_file_with_bytes_cut_or_overwritten(place, other, packed):
    whole = gzip.compress(TEXTS["labels"].encode(), mtime=0) if packed else TEXTS["labels"].encode()
    place %= len(whole)
    for data in (whole[:place], whole[:place] + other + whole[place + len(other) :], whole[:place] + other):
        try:
            forest = ReleasedForest.from_bytes(data)
        except ForestFormatError as error:
            assert_a_sentence(error)
        else:
            assert_sound(forest)


def replaced(path: tuple, value, name: str = "labels") -> str:
    content = json.loads(TEXTS[name])
    parent = content
    for key in path[:-1]:
        parent = parent[key]
    parent[path[-1]] = value
    return json.dumps(content)


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("depth",), 10**9),
        (("depth",), 16),
        (("depth",), -1),
        (("depth",), 0),
        (("depth",), None),
        (("depth",), True),
        (("depth",), 3.0),
        (("seed",), float("nan")),
        (("seed",), -1),
        (("voting",), "loud"),
        (("voting",), []),
        (("negative_rule",), None),
        (("labels",), None),
        (("labels", "type"), "O"),
        (("labels", "shape"), [-5]),
        (("labels", "data"), "????"),
        (("trees",), {}),
        (("trees", "nodes", "type"), "f8"),
        (("trees", "nodes", "type"), "i1"),
        (("trees", "n_trees"), 0),
        (("trees", "n_trees"), 10**6),
        (("trees", "extra"), 1),
        (("extra",), 1),
        (("domain", "classes"), []),
        (("domain", "classes"), [0, 1]),
        (("domain", "classes"), [0, 0, 1]),
        (("domain", "features"), []),
        (("domain", "features", 0, "low"), "0"),
        (("domain", "features", 0, "low"), float("inf")),
        (("domain", "features", 0, "low"), -(10**400)),
        (("domain", "features", 0, "name"), "\ud800"),
        (("domain", "features", 0, "name"), "x" * 1_001),
        (("domain", "features", 0, "extra"), ""),
        (("domain", "features", 1, "categories"), ["a", 2]),
        (("domain", "features", 1, "categories"), list(map(str, range(1_001)))),
        (("domain", "features", 1, "source_note"), "x" * 10_001),
        (("ledger", "closed"), False),
        (("ledger", "entries"), []),
        (("ledger", "epsilon"), None),
        (("ledger", "epsilon"), "1/1000000"),
        (("ledger", "entries", 0, "epsilon_each"), "2"),
        (("ledger", "epsilon"), "1e999999999"),  # a number that nobody can wait for
        (("certificate", "epsilon"), "1e999999999"),
        (("certificate", "epsilon"), None),
        (("certificate", "assumptions"), []),
        (("certificate", "certified"), True),  # the demo's reasons are still there
        (("certificate", "kind"), "zCDP"),
        (("about",), 3),
        (("about", "extra"), 3),
        (("about", "estimator"), ["MajorityLabelForestClassifier"]),
    ],
)
def test_what_is_refused(path, value):
    with pytest.raises(ForestFormatError) as error:
        ReleasedForest.from_json(replaced(path, value))
    assert_a_sentence(error.value)


@pytest.mark.parametrize(
    ("array", "value"),
    [
        ("nodes", 200),  # a test that is not listed
        ("nodes", 0),  # a leaf: then there are too many nodes below
        ("test_feature", 4),
        ("test_kind", 3),
        ("test_kind", 9),
        ("test_kind", 2),  # a numeric attribute with a child for each of its 65,536 codes
        ("thresholds", 65_536),
        ("thresholds", -1),
    ],
)
def test_one_cell_that_would_lead_out_of_the_arrays_is_refused(array, value):
    content = json.loads(TEXTS["labels"])
    entry = content["trees"][array]
    cells = unpack(entry, tuple(entry["shape"])).astype(int)
    cells[0] = value
    entry.update(pack(cells))
    with pytest.raises(ForestFormatError) as error:
        ReleasedForest.from_json(json.dumps(content))
    assert_a_sentence(error.value)


def test_a_threshold_beyond_the_categories_is_refused():
    forest = fitted("labels", categorical="ordered", n_estimators=20, random_state=1).released_
    content = json.loads(saved(forest))
    structure = structure_of(forest.trees)
    cells, tests = structure.thresholds.copy(), structure.nodes[structure.nodes > 0] - 1
    at = np.flatnonzero(structure.test_feature[tests] == 1)[0]
    for value, ok in ((2, True), (3, False)):  # of three categories
        cells[at] = value
        content["trees"]["thresholds"] = pack(cells)
        if ok:
            assert ReleasedForest.from_json(json.dumps(content)).notes == ()
            continue
        with pytest.raises(ForestFormatError, match="outside the codes of its attribute"):
            ReleasedForest.from_json(json.dumps(content))


def test_a_label_that_is_no_class_is_refused():
    content = json.loads(TEXTS["labels"])
    labels = unpack(content["labels"], tuple(content["labels"]["shape"])).copy()
    for value in (3, 255):
        labels[-1] = value
        content["labels"] = pack(labels)
        with pytest.raises(ForestFormatError, match="labels do not fit"):
            ReleasedForest.from_json(json.dumps(content))


def test_counts_without_classes_are_refused():
    content = json.loads(TEXTS["counts"])
    content["domain"]["classes"] = []
    n_leaves = content["noisy_counts"]["shape"][0]
    content["noisy_counts"] = pack(np.zeros((n_leaves, 0), int))
    with pytest.raises(ForestFormatError):
        ReleasedForest.from_json(json.dumps(content))


def test_a_certificate_that_contradicts_its_ledger_or_domain_is_refused():
    forged = [
        replaced(("certificate", "epsilon"), "1/1000"),
        replaced(("certificate", "neighbours"), "replace-one"),
    ]
    genuine = json.loads(saved(fitted("labels").released_))
    assert genuine["certificate"]["certified"]
    genuine["domain"]["features"][0]["source"] = "data"  # bounds read from the data, yet certified
    for text in (*forged, json.dumps(genuine)):
        with pytest.raises(ForestFormatError) as error:
            ReleasedForest.from_json(text)
        assert_a_sentence(error.value)


HEAD = '{"format": "dpforest released forest", "version": '


@pytest.mark.parametrize(
    ("text", "match"),
    [
        ("", "not JSON"),
        (b"\xff\xfe\x00", "not JSON"),
        ("{", "not JSON"),
        ("[" * 100_000, "not JSON"),
        ("[]", "not a released forest"),
        ("3", "not a released forest"),
        ("\ud800", "not JSON"),
        (HEAD + "2, " + HEAD[1:] + "2}", "not JSON"),  # keys twice
        (HEAD + '2, "seed": NaN}', "not JSON"),
        (HEAD + '2, "seed": -Infinity}', "not JSON"),
        (HEAD + '2, "seed": 1e999}', "not JSON"),
        (HEAD + '2, "seed": "\\ud800"}', "not JSON"),
        (HEAD + '2, "seed": ' + "9" * 5_000 + "}", "not JSON"),
        ('{"format": "dpforest released forest"}', "format version None"),
        (HEAD + "3}", "format version 3; this dpforest reads versions 1 and 2"),
        (HEAD + "true}", "format version True"),
        (HEAD + "2.0}", "format version 2.0"),
        (HEAD + "1}", "damaged"),
        (HEAD + "2}", "damaged: '.*' is missing in the file"),
        (None, "from text or bytes, not from NoneType"),
        (3, "not from int"),
    ],
)
def test_other_files_are_told_apart(text, match):
    with pytest.raises(ForestFormatError, match=match) as error:
        ReleasedForest.from_json(text)
    assert_a_sentence(error.value)


@pytest.mark.parametrize(
    "data",
    [
        None,
        "text",
        b"\x1f\x8b",
        b"\x1f\x8b" + b"\0" * 50,
        gzip.compress(b"{}", mtime=0)[:-3],
        gzip.compress(b"{}", mtime=0) + b"more",
        gzip.compress(b"{}", mtime=0) * 2,
        gzip.compress(b"\xff\xfe", mtime=0),
        gzip.compress(gzip.compress(b"{}", mtime=0), mtime=0),
    ],
)
def test_other_compressed_files_are_told_apart(data):
    with pytest.raises(ForestFormatError) as error:
        ReleasedForest.from_bytes(data)
    assert_a_sentence(error.value)


# ---------------------------------------------------------------- Gaussian ledgers


def gaussian_forest(neighbours: str = "add-remove", reasons: tuple[str, ...] = ()) -> ReleasedForest:
    """A forest with a ledger in μ², written by hand."""
    ledger = Ledger(mu_for(1, 1e-6), neighbours)
    each = PrivacyLoss.gaussian(ledger.budget.mu_squared / ledger.rows**2 / 10)
    ledger.charge("gradients", "rounded Gaussian", 1, each, 10, "sequential")
    ledger.close()
    promise = certify(ledger, mechanism="m", delta=1e-6, nominal_epsilon=Fraction(1), reasons=reasons)
    return dataclasses.replace(fitted("labels").released_, ledger=ledger, certificate=promise)


@pytest.mark.parametrize("reasons", [(), ("The noise comes from a seed.",)])
@pytest.mark.parametrize("neighbours", ["add-remove", "replace-one"])
def test_a_gaussian_forest_is_the_same_after_the_trip(neighbours, reasons):
    forest = gaussian_forest(neighbours, reasons)
    back = ReleasedForest.from_json(saved(forest))
    assert saved(back) == saved(forest) and back.certificate == forest.certificate and back.ledger == forest.ledger
    assert back.certificate.certified == (not reasons) and back.certificate.delta == 1e-6


@pytest.mark.parametrize(
    "part, change",
    [
        ("ledger", {"mu_squared": "1"}),  # another budget than that of the certificate
        ("ledger", {"mu_squared": "1/1000"}),  # less than was spent
        ("ledger", {"kind": "pure"}),
        ("ledger", {"kind": "pure", "epsilon": "1", "mu_squared_spent": None}),
        ("certificate", {"mu_squared": "1/1000"}),  # less than was spent, and at these ε and δ true
        ("certificate", {"mu_squared": "1"}),
        ("certificate", {"delta": 1e-7}),
        ("certificate", {"epsilon": "1/2", "true_epsilon": 0.5}),
        ("certificate", {"kind": "pure", "delta": 0}),
        ("certificate", {"sigma": 1}),
    ],
)
def test_gaussian_files_that_contradict_themselves_are_refused(part, change):
    content = json.loads(saved(gaussian_forest()))
    content[part] = {**content[part], **change}
    with pytest.raises(ForestFormatError):
        ReleasedForest.from_json(json.dumps(content))


def test_a_pure_certificate_does_not_go_with_a_gaussian_ledger():
    pure, gaussian = fitted("labels").released_, gaussian_forest()
    for forest, other in ((pure, gaussian), (gaussian, pure)):
        with pytest.raises(ValueError, match="different budgets"):
            dataclasses.replace(forest, ledger=other.ledger)


def test_a_forest_of_pure_epsilon_has_no_new_field_in_its_file():
    text = saved(fitted("labels").released_)
    assert "mu_squared" not in text and "gaussian" not in text
