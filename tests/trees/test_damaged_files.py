"""Tests that a damaged or forged file is refused with a message, unless it still holds a sound forest."""

import copy
import gzip
import json
from fractions import Fraction

import numba
import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dpforest import (
    Domain,
    RandomDecisionForestClassifier,
    RandomTreeBoosterClassifier,
    ReleasedForest,
    load_dataset,
)
from dpforest.trees import naive
from dpforest.trees.forest import ForestFormatError
from dpforest.trees.packed_arrays import pack, unpack
from dpforest.trees.structure import structure_of
from tests.conftest import examples
from tests.models.release_cases import DOMAIN, fitted, saved, table

TEXTS = {name: saved(fitted(name, random_state=1).released_) for name in ("labels", "counts", "probabilistic")}
BOOSTER = RandomTreeBoosterClassifier(n_estimators=3, max_depth=2, domain=DOMAIN, random_state=1)
TEXTS["booster"] = saved(BOOSTER.fit(*table(200)).released_)
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
).map(copy.deepcopy)  # a deep copy, so that an example cannot change the values of the next one


def places(content, path=()) -> list[tuple]:
    """Return the paths to all values of a JSON document, objects and lists included."""
    inside = content.items() if isinstance(content, dict) else enumerate(content) if isinstance(content, list) else ()
    return [path] * bool(path) + [place for key, value in inside for place in places(value, (*path, key))]


@st.composite
def tampered(draw) -> str:
    """Draw the JSON of a forest with one to three values replaced, removed, exchanged, or changed inside an array."""
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
    """Change the cells, the number of cells or the shape of an array, so that it is still a valid array."""
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
    """Return rows that fit a domain, with the ends of its ranges."""
    rng = np.random.default_rng(0)
    columns = {}
    for feature in domain.features:
        if feature.kind == "numeric":
            columns[feature.name] = np.concatenate([[feature.low, feature.high], rng.uniform(0, 1, 10)])
        else:
            columns[feature.name] = [*(feature.categories * 12)[:6], *rng.choice(feature.categories, 6)]
    return pd.DataFrame(columns, dtype=object)


def assert_sound(forest: ReleasedForest) -> None:
    """Check that a forest predicts, stays inside its arrays, and can be saved again."""
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
    max_examples=100 if numba.config.DISABLE_JIT else examples(600),
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
def test_a_file_with_bytes_cut_or_overwritten_is_refused_or_sound(place, other, packed):
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
        (("ledger", "epsilon"), "1e999999999"),  # an integer that takes too long to compute
        (("certificate", "epsilon"), "1e999999999"),
        (("certificate", "epsilon"), None),
        (("certificate", "assumptions"), []),
        (("certificate", "certified"), True),  # the file still has the reasons why the demonstration is not certified
        (("certificate", "kind"), "zCDP"),
        (("about",), 3),
        (("about", "extra"), 3),
        (("about", "estimator"), ["MajorityLabelForestClassifier"]),
    ],
)
def test_damaged_files_are_refused(path, value):
    with pytest.raises(ForestFormatError) as error:
        ReleasedForest.from_json(replaced(path, value))
    assert_a_sentence(error.value)


@pytest.mark.parametrize(
    ("array", "value"),
    [
        ("nodes", 200),  # a test that the file does not list
        ("nodes", 0),  # a leaf in place of a test, so the array has too many nodes
        ("test_feature", 4),
        ("test_kind", 3),
        ("test_kind", 9),
        ("test_kind", 2),  # a numeric attribute with a child for each of its 65,536 codes
        ("thresholds", 65_536),
        ("thresholds", -1),
    ],
)
def test_one_cell_that_points_outside_the_arrays_is_refused(array, value):
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
    for value, ok in ((2, True), (3, False)):  # the attribute has three categories
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
        replaced(("certificate", "neighbors"), "replace-one"),
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
        (HEAD + "2, " + HEAD[1:] + "2}", "not JSON"),  # a repeated key
        (HEAD + '2, "seed": NaN}', "not JSON"),
        (HEAD + '2, "seed": -Infinity}', "not JSON"),
        (HEAD + '2, "seed": 1e999}', "not JSON"),
        (HEAD + '2, "seed": "\\ud800"}', "not JSON"),
        (HEAD + '2, "seed": ' + "9" * 5_000 + "}", "not JSON"),
        ('{"format": "dpforest released forest"}', "format version None"),
        (HEAD + "4}", "format version 4; this dpforest reads versions 1 to 3"),
        (HEAD + "true}", "format version True"),
        (HEAD + "2.0}", "format version 2.0"),
        (HEAD + "1}", "damaged"),
        (HEAD + "2}", "damaged: '.*' is missing in the file"),
        (None, "from text or bytes, not from NoneType"),
        (3, "not from int"),
    ],
)
def test_other_files_are_refused_with_the_reason(text, match):
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
def test_other_compressed_files_are_refused_with_the_reason(data):
    with pytest.raises(ForestFormatError) as error:
        ReleasedForest.from_bytes(data)
    assert_a_sentence(error.value)


def _of_scale() -> dict:
    data = load_dataset("adult")
    model = RandomDecisionForestClassifier(domain=data.domain, n_estimators=2, max_depth=2)
    return json.loads(model.fit(data.X[:4_000], data.y[:4_000]).released_.to_json())


def test_queries_before_growth_are_in_the_ledger_of_a_file():
    """A released scale, or a released number of rows, needs an entry in the ledger."""
    content = _of_scale()
    assert ReleasedForest.from_json(json.dumps(content)).scale is not None
    for what, where in (("scale of", "a scale"), ("number of rows", "a number of rows")):
        other = copy.deepcopy(content)
        (entry,) = [e for e in other["ledger"]["entries"] if e["what"].startswith(what)]
        other["ledger"]["entries"].remove(entry)
        other["ledger"]["spent"] = str(Fraction(other["ledger"]["spent"]) - Fraction(entry["epsilon_each"]))
        with pytest.raises(ForestFormatError, match=f"{where}, but its ledger"):
            ReleasedForest.from_json(json.dumps(other))


def test_a_given_number_of_rows_equals_that_of_the_certificate():
    data = load_dataset("adult")
    settings = {"domain": data.domain, "n_estimators": 2, "max_depth": 2, "size": 4_000}
    model = RandomDecisionForestClassifier(**settings).fit(data.X[:4_000], data.y[:4_000])
    content = json.loads(model.released_.to_json())
    assert ReleasedForest.from_json(json.dumps(content)).about["n_rows"] == 4_000
    for wrong in (4_001, 10**18, "4,000", 4_000.0):
        content["about"]["n_rows"] = wrong
        with pytest.raises(ForestFormatError):
            ReleasedForest.from_json(json.dumps(content))


@pytest.mark.parametrize("key", ["noise_scale", "prior_weight"])
def test_trust_in_leaves_beyond_the_limit_is_refused(key):
    content = _of_scale()
    content["log_odds"][key] = 1e308
    with pytest.raises(ForestFormatError):
        ReleasedForest.from_json(json.dumps(content))
