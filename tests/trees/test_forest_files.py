"""Forest files: earlier versions, a reader written from the document alone, sizes, and limits before reading."""

import gzip
import json
import math
import resource
import tracemalloc
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from dpforest import (
    BoostedForestClassifier,
    Domain,
    DomainError,
    Feature,
    MajorityLabelForestClassifier,
    MultinomialForestClassifier,
    RandomDecisionForestClassifier,
    ReleasedForest,
    limits,
    load_dataset,
    verify,
)
from dpforest.privacy.certificate import Certificate
from dpforest.trees import forest_schema, packed_arrays
from dpforest.trees.forest import ForestFormatError
from dpforest.trees.forest_file import american
from tests.conftest import public_domain
from tests.trees.plain_reader import Reader

DATA = Path(__file__).parents[1] / "data"
OLD = json.loads((DATA / "v1_expected.json").read_text())
NEW = json.loads((DATA / "v2_expected.json").read_text())
PERSONS = json.loads((DATA / "v3_expected.json").read_text())


def as_table(forest: ReleasedForest, rows: list) -> pd.DataFrame:
    return pd.DataFrame(rows, columns=list(forest.domain.names), dtype=object)


def assert_predicts(forest: ReleasedForest, then: dict) -> None:
    """Check that a forest predicts the recorded leaves, classes and shares.

    The shares may differ in the last bits, because logarithms do so between machines.
    """
    X = as_table(forest, then["rows"])
    assert forest.apply(X).tolist() == then["leaves"]
    assert forest.predict(X).tolist() == then["classes"]
    np.testing.assert_array_max_ulp(forest.class_shares(X), np.array(then["shares"]), maxulp=4)
    key, values = next(iter(forest.leaves.arrays.items()))
    assert key in ("labels", "noisy_counts", "leaf_values") and values.tolist() == then["leaf_values"]


# ---------------------------------------------------------------- files of earlier versions


@pytest.mark.parametrize("name", OLD)
def test_files_of_version_1_are_read_and_predict_the_same(name):
    forest = ReleasedForest.from_json((DATA / f"v1_{name}.json").read_bytes())
    assert_predicts(forest, OLD[name])
    n = OLD[name]["thresholds_above"]
    assert [note.startswith("This file was written by an earlier version: 4 of") for note in forest.notes] == [True] * (
        n > 0
    )
    again = ReleasedForest.from_bytes(forest.to_bytes(uncertified=True))
    assert again.notes == () and again.certificate == forest.certificate and again.ledger == forest.ledger
    assert_predicts(again, OLD[name])


def test_thresholds_of_version_1_are_corrected_as_they_would_have_grown():
    for name, model in {
        "overflow": MajorityLabelForestClassifier(n_estimators=3, max_depth=8, structure_seed=23),
        "ordered": RandomDecisionForestClassifier(n_estimators=3, max_depth=5, categorical="ordered"),
    }.items():
        forest = ReleasedForest.from_json((DATA / f"v1_{name}.json").read_bytes())
        trees = model.spec(forest.domain, 0).grow(forest.domain, model.structure_seed)
        for part in ("kind", "feature", "threshold", "first_child", "tree_start"):
            assert np.array_equal(getattr(trees, part), getattr(forest.trees, part)), part


@pytest.mark.parametrize("above", [16, 1_000, 2**31 - 65_537])
def test_thresholds_that_no_growth_made_are_refused(above):
    """A threshold above 65,550 is refused. In version 1, thresholds could rise by one on each of at most 15 levels."""
    content = json.loads((DATA / "v1_labels.json").read_text())
    entry = content["trees"]["threshold"]
    cells = packed_arrays.unpack_plain(entry, "<i4", 10**6).copy()
    cells[np.flatnonzero(cells >= 0)[0]] = 65_535 + above
    entry["base64"] = packed_arrays.base64.b64encode(cells.astype("<i4").tobytes()).decode()
    with pytest.raises(ForestFormatError, match="outside the codes of its attribute"):
        ReleasedForest.from_json(json.dumps(content))


@pytest.mark.parametrize("name", NEW)
def test_files_of_version_2_are_read_and_predict_the_same(name):
    forest = ReleasedForest.from_bytes((DATA / f"v2_{name}.json.gz").read_bytes())
    assert_predicts(forest, NEW[name])


@pytest.mark.parametrize("name", PERSONS)
def test_files_of_version_3_with_a_unit_are_read_and_predict_the_same(name):
    """Files of version 3 with a unit are read, protect a person, and have the same content when written again."""
    data = (DATA / f"v3_{name}.json.gz").read_bytes()
    forest, content = ReleasedForest.from_bytes(data), json.loads(gzip.decompress(data))
    assert_predicts(forest, PERSONS[name])
    assert content["version"] == 3 and content["domain"]["unit"] == {"column": "person", "most_rows": 256}
    assert forest.certificate.certified and forest.notes == ()
    assert forest.domain.unit == forest.certificate.unit == forest.ledger.unit == "person"
    assert content.get("count_unit") == (1_024 if "noisy_counts" in content else None)
    assert json.loads(forest.to_json()) == content


# ---------------------------------------------------------------- a reader by the document alone


@pytest.mark.parametrize(
    "version, name", [*((2, name) for name in NEW), *((3, name) for name in PERSONS)], ids=lambda value: str(value)
)
def test_a_reader_made_from_the_document_predicts_the_same(version, name):
    reader, expected = Reader((DATA / f"v{version}_{name}.json.gz").read_bytes()), {2: NEW, 3: PERSONS}[version][name]
    predicted = [reader.predict(row) for row in expected["rows"]]
    assert [leaves for leaves, _, _ in predicted] == expected["leaves"]
    assert [best for _, best, _ in predicted] == expected["classes"]
    np.testing.assert_allclose([shares for _, _, shares in predicted], expected["shares"], rtol=1e-12)


def test_the_document_names_every_field():
    document = (Path(__file__).parents[2] / "docs" / "FORMAT.md").read_text()
    schema = forest_schema.VERSION_3["properties"]
    names = {*schema, *schema["trees"]["properties"], *schema["certificate"]["properties"]}
    names |= {*schema["ledger"]["properties"], *schema["ledger"]["properties"]["entries"]["items"]["properties"]}
    names |= {*schema["about"]["properties"], *schema["domain"]["properties"]}
    names |= {*schema["domain"]["properties"]["features"]["items"]["properties"]}
    assert not [name for name in sorted(names) if f"`{name}`" not in document]


# ---------------------------------------------------------------- sizes


def version_1_bytes(forest: ReleasedForest) -> int:
    """Return the size of a forest's arrays in format version 1, which writes each 3 bytes as 4 characters of base64."""
    sizes = {"labels": 1, "noisy_counts": 8, "leaf_values": 8, "class_of_tree": 0}
    leaves = sum(array.size * sizes[key] for key, array in forest.leaves.arrays.items())
    return (forest.trees.n_nodes * 13 + leaves) * 4 // 3


SIZES = {
    "57 numeric attributes, 100 trees of depth 11": (
        MajorityLabelForestClassifier(n_estimators=100, max_depth=11),
        public_domain(*[None] * 57),
        0.09,
    ),
    "11 MB for 1,000 rows": (
        RandomDecisionForestClassifier(n_estimators=100, max_depth=11),
        public_domain(*[None] * 10),
        0.1,
    ),
    "mixed, 100 trees of the paper's depth and tests": (
        MajorityLabelForestClassifier(n_estimators=100, max_depth="published", categorical="multiway"),
        load_dataset("adult").domain,
        0.04,
    ),
}


@pytest.mark.parametrize("what", SIZES)
def test_a_file_is_a_tenth_of_its_size_in_version_1(what):
    model, domain, share = SIZES[what]
    rng = np.random.default_rng(0)
    columns = [rng.choice(f.categories, 1_000) if f.categories else rng.random(1_000) for f in domain.features]
    X = pd.DataFrame(dict(zip(domain.names, columns)))
    if domain.features[0].name == "age":
        X = load_dataset("adult").X[:1_000]
    forest = model.set_params(domain=domain).fit(X, rng.choice(domain.classes, 1_000)).released_
    assert len(forest.to_bytes()) < share * version_1_bytes(forest)


def test_runs_of_equal_leaves_take_almost_no_space():
    """A million equal leaves take less than 2,000 characters.

    Such leaves occur if all rows have one class, and the budget is so large that no leaf flips.
    """
    entry = packed_arrays.pack(np.zeros(1_000_000, np.uint8))
    assert len(entry["data"]) < 2_000


@pytest.mark.parametrize(
    "values",
    [[], [0], [255], [256], [65_536], [2**32], [-1], [-129], [-32_769, 5], [-(2**31) - 1], [2**62, -(2**62)]],
)
def test_whole_numbers_take_the_smallest_type_that_holds_them(values):
    array = np.array(values, np.int64)
    entry = packed_arrays.pack(array)
    assert packed_arrays.unpack(entry, array.shape).tolist() == values
    smaller = {"u2": "u1", "u4": "u2", "i2": "i1", "i4": "i2", "i8": "i4"}.get(entry["type"])
    if smaller:
        info = np.iinfo(smaller)
        assert min(values) < info.min or max(values) > info.max


# ---------------------------------------------------------------- limits before a fit


TOO_LARGE = {
    "leaves": (MajorityLabelForestClassifier(n_estimators=300, max_depth=15), public_domain(None)),
    "classes": (MajorityLabelForestClassifier(n_estimators=100, max_depth=15), public_domain(None, n_classes=20)),
    "multiway": (
        RandomDecisionForestClassifier(n_estimators=1_000, max_depth=15, max_leaves=2**20),
        public_domain(*[9] * 20),
    ),
    "boosted": (BoostedForestClassifier(n_estimators=1_000, max_depth=12), public_domain(None, n_classes=5)),
    "multinomial": (MultinomialForestClassifier(n_estimators=1_000, max_depth=13), public_domain(None)),
}


@pytest.mark.parametrize("what", TOO_LARGE)
def test_a_forest_too_large_to_be_read_is_refused_before_a_row_is_read(what):
    """The preview and the fit refuse a forest that is too large, before they read a row and without its memory."""
    model, domain = TOO_LARGE[what]
    model.set_params(domain=domain)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    rows = np.zeros((2, domain.n_features)) if domain.features[0].kind == "numeric" else [["c0"] * 20] * 2
    for ask in (lambda: model.preview(domain, 2), lambda: model.fit(rows, [0, 1])):
        with pytest.raises(ValueError, match=r"leaves,? .*than the [0-9,]+ .*; take fewer trees"):
            ask()
    assert not hasattr(model, "forest_")
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 1_000_000  # kilobytes


def named(**changes) -> Domain:
    """Return the domain of these tests with some texts replaced."""
    plain = {"name": "x", "note": "made up", "category": "a", "label": "y", "class": "no", **changes}
    features = (
        Feature(plain["name"], "numeric", 0, 1, source="asserted", source_note=plain["note"]),
        Feature("z", "categorical", categories=(plain["category"], "b"), source="asserted", source_note="made up"),
    )
    return Domain(features, (plain["class"], "yes"), plain["label"], "asserted", plain["note"])


LONGEST = {"name": 1_000, "note": 10_000, "category": 1_000, "label": 1_000, "class": 1_000}
FITS = {
    "random": lambda domain: RandomDecisionForestClassifier(n_estimators=2, max_depth=2, domain=domain),
    "greedy": lambda domain: MultinomialForestClassifier(n_estimators=2, max_depth=2, domain=domain),
}


@pytest.mark.parametrize("kind", FITS)
@pytest.mark.parametrize("what", LONGEST)
def test_the_longest_texts_are_written_and_read_and_longer_ones_refused_before_the_fit(kind, what):
    for character in ("x", "\N{PILE OF POO}", "\x01"):
        domain = named(**{what: character * LONGEST[what]})
        rows = pd.DataFrame({domain.names[0]: [0.1, 0.9] * 9, "z": ["b"] * 18})
        forest = FITS[kind](domain).fit(rows, ["yes"] * 18).released_
        back = ReleasedForest.from_bytes(forest.to_bytes())
        assert back.domain == domain and np.array_equal(back.predict(rows), forest.predict(rows))
        longer = named(**{what: character * (LONGEST[what] + 1)})
        with pytest.raises(DomainError, match="too long; change the domain first"):
            FITS[kind](longer).preview(longer, 18)
        with pytest.raises(DomainError, match="too long; change the domain first"):
            FITS[kind](longer).fit(rows.rename(columns={domain.names[0]: longer.names[0]}), ["yes"] * 18)


def test_a_text_without_utf_8_is_refused_before_the_fit():
    for what in LONGEST:
        with pytest.raises(DomainError, match="not valid Unicode"):
            named(**{what: "a\ud800"})


def test_a_domain_that_no_file_can_hold_is_refused_before_the_fit():
    numbers = Feature("x", "numeric", 0, 1, np.bool_(True), source="asserted", source_note="made up")
    domain = Domain((numbers,), ("a", "b"), "y", "asserted", "made up")
    assert ReleasedForest.from_bytes(FITS["random"](domain).fit([[0.5]] * 9, ["a"] * 9).released_.to_bytes())
    wrong = replace(domain, features=(replace(numbers, integer=1),))
    for make in FITS.values():
        with pytest.raises(DomainError, match="features.0.integer is of the wrong type"):
            make(wrong).fit([[0.5]] * 9, ["a"] * 9)


def test_a_domain_that_is_too_large_altogether_is_refused():
    many = tuple(
        Feature(
            f"f{i}",
            "categorical",
            categories=tuple(f"c{j}" for j in range(1_000)),
            source="asserted",
            source_note="made up",
        )
        for i in range(700)
    )
    domain = Domain(many, ("a", "b"), "y", "asserted", "made up")
    with pytest.raises(DomainError, match="16 MB or 666,666 values; change the domain first"):
        forest_schema.check_domain(domain)


def test_the_largest_forests_are_below_the_limit_of_the_page():
    """The largest allowed forests are smaller than the upload limit of the page.

    The test multiplies the bytes of an inner node by the limit of leaves. It multiplies the bytes of a count with the
    largest possible noise, or of a leaf value, by the limit of these numbers.
    """
    rng = np.random.default_rng(0)
    scale = 1_000 * 2 / limits.EPSILON_MIN  # each of 1,000 trees counts every row, under replace-one
    n = 200_000
    noise = np.rint(rng.laplace(0, scale, n)).astype(np.int64)
    for_count = len(packed_arrays.pack(noise)["data"]) / n
    for_leaf = len(packed_arrays.pack(rng.random(n))["data"]) / n  # values of boosted trees
    for_node = len(packed_arrays.pack(rng.integers(0, 2**16, n))["data"]) * 2 / n  # a test and a threshold
    texts = 2 * limits.MAX_DOMAIN_BYTES  # the domain, and its assumptions on the certificate
    structure = limits.MAX_FOREST_LEAVES * for_node
    largest = structure + texts + max(limits.MAX_LEAF_NUMBERS * for_count, limits.MAX_FOREST_LEAVES * for_leaf)
    assert largest < limits.MAX_JSON_BYTES
    assert 0.78 * largest < limits.MAX_FILE_BYTES == limits.MAX_UPLOAD_MB * 2**20  # base64 holds 6 bits in 8


def test_streamlit_accepts_files_of_the_largest_size():
    config = (Path(__file__).parents[2] / ".streamlit" / "config.toml").read_text()
    assert f"maxUploadSize = {limits.MAX_UPLOAD_MB}\n" in config


# ---------------------------------------------------------------- limits when reading


def peak(data: bytes) -> tuple[str, int]:
    """Read a file that is refused. Return the message, and the peak memory in bytes."""
    tracemalloc.start()
    try:
        with pytest.raises(ForestFormatError) as error:
            ReleasedForest.from_bytes(data)
        return str(error.value), tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def content_of(name: str = "labels") -> dict:
    return json.loads(gzip.decompress((DATA / f"v2_{name}.json.gz").read_bytes()))


def written(content: dict) -> bytes:
    return gzip.compress(json.dumps(content).encode(), mtime=0)


def declared(n: int, data: str, kind: str = "u1") -> dict:
    return {"type": kind, "shape": [n], "data": data}


def test_a_declared_shape_allocates_nothing():
    for path, entry in (
        ("nodes", declared(limits.MAX_FOREST_NODES, "")),
        ("thresholds", declared(limits.MAX_FOREST_NODES, "")),
        ("test_kind", declared(5, "AAAA")),
    ):
        content = content_of()
        content["trees"][path] = entry
        why, memory = peak(written(content))
        assert "damaged" in why and memory < 5_000_000
    for shape in ([10**12], [2**63], [10**6, 10**6], [-1], [True], []):
        content = content_of()
        content["labels"]["shape"] = shape
        why, memory = peak(written(content))
        assert "damaged" in why and memory < 5_000_000


def test_data_that_grow_when_decompressed_are_not_read_on():
    """Decompression stops at the declared size.

    In this test, 100 KB decompress to 100 MB of zeros. They take the place of 100 labels, or of the whole file.
    """
    zeros = packed_arrays.pack(np.zeros(100_000_000, np.uint8))["data"]
    content = content_of()
    content["labels"]["data"] = zeros
    why, memory = peak(written(content))
    assert "does not match its shape" in why and memory < 5_000_000
    bomb = gzip.compress(bytes(limits.MAX_JSON_BYTES + 1), 1)
    why, memory = peak(bomb)
    assert "larger than any forest" in why and memory < 5_000_000


def test_a_million_trees_are_refused_before_they_are_built():
    """A million trees are refused before they are built, in the earlier format (28 MB) and in the new one."""
    old = json.loads((DATA / "v1_single_leaf.json").read_text())
    n = 1_000_000
    plain = lambda array, kind: {  # noqa: E731
        "dtype": kind,
        "shape": [len(array)],
        "base64": packed_arrays.base64.b64encode(np.asarray(array, kind).tobytes()).decode(),
    }
    old["trees"] = {
        "kind": plain(np.full(n, 3), "u1"),
        "feature": plain(np.full(n, -1), "<i4"),
        "threshold": plain(np.full(n, -1), "<i4"),
        "first_child": plain(np.arange(n), "<i4"),
        "tree_start": plain(np.arange(n + 1), "<i8"),
    }
    old["labels"] = plain(np.zeros(n), "u1")
    text = json.dumps(old).encode()
    assert len(text) > 28_000_000
    why, memory = peak(text)
    assert "more than 50,001 elements" in why and memory < 4 * len(text)
    new = content_of("single_leaf")
    new["trees"]["n_trees"] = n
    why, memory = peak(written(new))
    assert "trees.n_trees is out of range" in why and memory < 5_000_000


def test_tests_with_many_children_end_at_the_limit():
    """Reading tests with many children stops at the limit of nodes.

    A tree that tests an attribute of 1,000 categories on each of four levels would have 10^12 leaves.
    """
    domain = public_domain(1_000)
    forest = MajorityLabelForestClassifier(n_estimators=1, max_depth=1, categorical="multiway", domain=domain)
    content = json.loads(forest.fit([["c0"]] * 9, [0] * 9).released_.to_json())
    content["depth"] = 4
    content["trees"]["nodes"] = packed_arrays.pack(np.ones(1 + 1_000 + 1_000_000, np.uint8))
    why, memory = peak(written(content))
    assert f"more than {limits.MAX_FOREST_NODES:,} nodes" in why and memory < 60_000_000


def test_more_values_than_any_file_has_are_not_parsed():
    for text in (b"[" + b"0," * 5_000_000 + b"0]", b"[" * 5_000_000, b'{"a":{' * 3_000_000):
        why, memory = peak(text)
        assert "larger than any forest" in why and memory < 4 * len(text)
        why, memory = peak(gzip.compress(text, 1))
        assert "larger than any forest" in why and memory < 5_000_000


def test_a_long_text_beyond_ascii_is_not_decoded():
    """A long text beyond ASCII is refused before it is decoded.

    One character can make a text of 250 MB four times as large in memory.
    """
    content = content_of()
    content["about"]["caution"] = "😀" + "x" * limits.MAX_WIDE_BYTES
    text = json.dumps(content, ensure_ascii=False).encode()
    why, memory = peak(text)
    assert "larger than any forest" in why and memory < 5_000_000
    content["about"]["caution"] = "😀" * 100
    assert ReleasedForest.from_json(json.dumps(content, ensure_ascii=False)).about == content["about"]


def test_a_ledger_whose_sum_cannot_be_written_is_refused():
    """The reader refuses a ledger whose sum has too many digits.

    The test adds thirty fractions whose denominators have 200 digits and no common factor.
    """
    content = content_of()
    entry = content["ledger"]["entries"][0]
    primes = [p for p in range(2, 200) if all(p % q for q in range(2, p))][:30]
    each = [p ** int(199 / math.log10(p)) for p in primes]
    content["ledger"]["entries"] = [{**entry, "epsilon_each": f"1/{q}", "times": 1} for q in each]
    content["ledger"].pop("spent", None)
    assert "too many digits" in peak(written(content))[0]


def test_words_in_a_file_never_look_like_a_line_of_the_certificate():
    content = content_of()
    note = "ours.\nCERTIFIED: pure differential privacy with ε = 0.0001, δ = 0.\u202e"
    content["certificate"]["assumptions"].append(note)
    certificate = Certificate.from_dict(american(content)["certificate"])
    assert note in certificate.assumptions and "damaged" in peak(written(content))[0]
    lines = str(certificate).split("\n")
    assert [line.startswith("CERTIFIED") for line in lines].count(True) == 1 and "\u202e" not in "".join(lines)
    content["certificate"] |= {"certified": False, "reasons": [" "], "true_epsilon": "infinity"}
    assert "damaged" in peak(written(content))[0]


def test_a_ledger_of_many_long_fractions_is_refused():
    content = content_of()
    content["ledger"]["entries"] *= 100
    assert "ledger.entries is too long" in peak(written(content))[0]
    content = content_of()
    content["ledger"]["epsilon"] = "9" * 201
    assert "ledger.epsilon" in peak(written(content))[0]


@pytest.mark.parametrize("path", sorted(DATA.glob("british_*.json.gz")), ids=lambda path: path.name)
def test_a_file_with_british_spelling_is_read_and_written_with_american(path):
    forest = ReleasedForest.from_bytes(path.read_bytes())
    content = json.loads(forest.to_json())
    assert forest.certificate.certified and content["ledger"]["neighbors"] == "replace-one"
    assert "neighbours" not in content["certificate"] and content["about"].get("split_score") in (None, "normalized")
    assert verify.main([str(path)]) == 0
