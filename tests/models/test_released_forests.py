"""Exports: the round trip through JSON, and the contents of a fitted object. No other export is possible."""

import dataclasses
import gzip
import io
import json
import pickle
from fractions import Fraction

import numba
import numpy as np
import pytest

from dpforest import RandomTreeBoosterClassifier, ReleasedForest
from dpforest.privacy.ledger import Ledger
from dpforest.privacy.randomness import DemoSource, SecretSource
from dpforest.trees.forest import CuratorForest, Forest, ForestFormatError
from dpforest.trees.leaves import CountLeaves
from dpforest.trees.packed_arrays import pack
from dpforest.trees.released_scale import nested_counts, scale_histograms
from dpforest.trees.structure import structure_of
from tests.models.release_cases import DOMAIN, by_model, fitted, saved, table

JIT = not numba.config.DISABLE_JIT


# ---------------------------------------------------------------- round trip


@by_model
def test_a_forest_is_the_same_after_a_json_round_trip(name):
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


# ---------------------------------------------------------------- no private values


class Inventory(pickle.Pickler):
    """Pickler that collects all arrays and types of an object."""

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
    """Every attribute is a parameter, is public, or follows from the JSON, so a fitted estimator hides nothing."""
    model = fitted(name, n=307, random_state=random_state, n_jobs=2)
    assert set(vars(model)) == set(model.get_params()) | PARTS
    assert model.domain_ == DOMAIN
    assert model.forest_ is model.released_
    assert model.forest_.certificate is model.certificate_
    assert model.forest_.ledger is model.ledger_
    model.predict(table(11)[0])  # a prediction must not add an attribute
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
    }  # cached values that are computed from the public structure alone


@by_model
@pytest.mark.parametrize("structure_seed", [0, 5])
def test_all_of_the_file_but_the_noisy_values_is_known_without_the_table(name, structure_seed):
    """All of the file follows from public values, except for three noisy values: leaves, number of rows and scale.

    The noisy number of rows and the noisy scale determine the structure.
    """
    model = fitted(name, n=1_000, structure_seed=structure_seed)  # from 120 rows on, the fit queries a scale
    content = json.loads(saved(model.released_))
    n_rows, scale = content["about"].pop("n_rows"), model.released_.scale
    certificate, ledger = model.preview(DOMAIN, n_rows)
    spec = model.spec(DOMAIN, n_rows)
    trees = spec.grow(DOMAIN, structure_seed, scale)
    values = content.pop("labels", None) or content.pop("noisy_counts")
    assert set(values) == set(content["scale"]) == {"type", "shape", "data"}
    assert content.pop("scale") == pack(scale.shares)
    (released,) = model.forest_.leaves.arrays.values()
    if (log_odds := spec.log_odds(Fraction(1), released)) is not None:
        assert content.pop("log_odds") == dataclasses.asdict(log_odds)
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
        "version": 3,
        "about": {"estimator": type(model).__name__, "structure_seed": structure_seed},
        "voting": model.forest_.voting,
        "negative_rule": model.forest_.leaves.negative_rule,
        "seed": structure_seed,
    }


@by_model
@pytest.mark.parametrize("random_state", [None, 987_654_321_987])
def test_a_release_keeps_neither_counts_nor_assignment_nor_source_of_noise(name, random_state):
    n = 307  # no array of the forest has this length
    model = fitted(name, n=n, random_state=random_state)
    X, y = table(n)
    trees = model.forest_.trees
    leaves = model.apply(X)
    counts = np.zeros((trees.n_leaves, 3), int)
    np.add.at(counts, (leaves, np.broadcast_to(y[:, None], leaves.shape)), 1)
    cells = scale_histograms(DOMAIN, DOMAIN.encode(X))
    inventory = Inventory(model)
    assert not inventory.types & {DemoSource, SecretSource, np.random.Generator, np.random.RandomState}
    assert len(inventory.arrays) >= 6
    for array in inventory.arrays:
        assert n not in array.shape
        for secret in (
            counts,
            counts.sum(axis=1),
            counts.max(axis=1),
            counts.argmax(axis=1),
            cells,
            nested_counts(cells),
        ):
            assert array.shape != secret.shape or not np.array_equal(array, secret)
    text = saved(model.released_)
    assert str(random_state) not in text or random_state is None


@by_model
def test_sizes_do_not_depend_on_the_table(name):
    """The size of a pickle does not depend on the table, so it shows neither the number of rows nor the empty leaves.

    The shapes of its arrays follow from the given or released number of rows. The file follows from the pickled forest.
    """
    small, large = (fitted(name, n=n, random_state=3, size=400) for n in (8, 4_000))
    assert len(pickle.dumps(small)) == len(pickle.dumps(large))
    again = ReleasedForest.from_json(saved(large.released_))
    assert saved(again) == saved(large.released_) == saved(pickle.loads(pickle.dumps(large)).released_)
    (values,) = small.forest_.leaves.arrays.values()
    assert len(values) == small.forest_.trees.n_leaves


@by_model
def test_a_release_draws_afresh_while_its_structure_stays(name):
    """Two releases with the same structure have different noise.

    More than 60 leaves are empty and draw their values at random, so equal noise has probability below 2^-60.
    """
    settings = {"n": 2, "n_estimators": 20, "max_depth": 3, "size": 2}  # too few rows for a released scale
    a, b = (fitted(name, structure_seed=4, **settings).released_ for _ in range(2))
    one, two = (json.loads(saved(forest)) for forest in (a, b))
    (values,) = a.leaves.arrays
    assert a.trees.n_leaves > 60 + 20 * 2
    assert one.pop(values) != two.pop(values)
    assert one == two
    c = fitted(name, structure_seed=5, **settings).released_
    assert json.loads(saved(c))["trees"] != one["trees"]


@by_model
def test_a_demo_is_repeatable_and_its_noise_is_not_the_structures(name):
    a, b = (saved(fitted(name, n=1_000, random_state=1).released_) for _ in range(2))
    assert a == b
    public_settings = {"size": 200, "scale_share": "public"}  # otherwise the structure follows from released values
    one, two = (json.loads(saved(fitted(name, random_state=seed, **public_settings).released_)) for seed in (1, 2))
    assert one["trees"] == two["trees"]
    assert one != two
    assert "scale" in json.loads(a) and "scale" not in one


# ---------------------------------------------------------------- no other export


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
        ReleasedForest(**{**fields, "leaves": CountLeaves(released.leaves.noisy_counts + 0.5)})


# ---------------------------------------------------------------- Gaussian ledgers


def gaussian_forest(neighbors: str = "add-remove", random_state: int | None = None) -> ReleasedForest:
    """Return a forest with a ledger in μ²."""
    model = RandomTreeBoosterClassifier(
        n_estimators=3, max_depth=2, neighbors=neighbors, random_state=random_state, domain=DOMAIN
    )
    return model.fit(*table(200)).released_


@pytest.mark.parametrize("random_state", [None, 1])
@pytest.mark.parametrize("neighbors", ["add-remove", "replace-one"])
def test_a_gaussian_forest_is_the_same_after_writing_and_reading(neighbors, random_state):
    forest = gaussian_forest(neighbors, random_state)
    back = ReleasedForest.from_json(saved(forest))
    assert saved(back) == saved(forest) and back.certificate == forest.certificate and back.ledger == forest.ledger
    assert back.certificate.certified == (random_state is None) and back.certificate.delta == 1e-6


@pytest.mark.parametrize(
    "part, change",
    [
        ("ledger", {"mu_squared": "1"}),  # differs from the value in the certificate
        ("ledger", {"mu_squared": "1/1000"}),  # less than the entries spend
        ("ledger", {"kind": "pure"}),
        ("ledger", {"kind": "pure", "epsilon": "1", "mu_squared_spent": None}),
        ("certificate", {"mu_squared": "1/1000"}),  # less than the entries spend, though enough for this ε and δ
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
