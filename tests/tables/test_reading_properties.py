"""Tests that one row never changes how other rows are read, in any input format."""

import csv
import enum
import io
import json
import math
import warnings
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from dpforest import (
    BoostedForestClassifier,
    Domain,
    Feature,
    FriedmanSchusterClassifier,
    MajorityLabelForestClassifier,
    MultinomialForestClassifier,
    OutOfDomainWarning,
    RandomDecisionForestClassifier,
    read_table,
)
from dpforest.tables.cells import key
from dpforest.tables.rows import EncodedTable, read_rows
from tests.conftest import examples

# Cells as people type them; their reading must not depend on other cells of the column.
NUMBERS = ["1", "01", "1.0", "0", "2", "-3.5", "1e3", "1e400", "-inf", "9007199254740993", "7 ", "2j", "1+0j", "nan+1j"]
WORDS = ["", "NA", "nan", "?", "None", "true", "False", "a", "b ", "x;y", "ü", "1,5", "2020-01-01", "sep=;", '"', "\n"]
TEXTS = NUMBERS + WORDS


class Plain(enum.Enum):
    ONE = 1
    TEXT = "a"


class Whole(enum.IntEnum):
    ONE = 1


class Word(enum.StrEnum):
    A = "a"
    ONE = "1"


class Bits(enum.Flag):
    ONE = 1


class WholeBits(enum.IntFlag):
    ONE = 1


# Cells that a file can hold only as text.
OBJECTS = {str(value): value for value in (Plain.ONE, Plain.TEXT, Bits.ONE)} | {
    "Whole.ONE": Whole.ONE,
    "Word.A": Word.A,
    "Word.ONE": Word.ONE,
    "WholeBits.ONE": WholeBits.ONE,
    "complex64": np.complex64(1),
    "complex64 i": np.complex64(2 + 1j),
    "complex128": np.complex128(2.5),
    "clongdouble": np.clongdouble(1),
    "clongdouble i": np.clongdouble(1j),
}
WAYS = ("csv", "pandas", "frame", "array", "list")
NOTE = {"source": "asserted", "source_note": "made for this test"}
SETTINGS = settings(derandomize=True, deadline=None, max_examples=examples(150))

features = st.one_of(
    st.builds(
        lambda low, width, missing: dict(kind="numeric", low=low, high=low + width, missing=missing, missing_value=low),
        st.sampled_from([-4.0, 0.0, 0.5]),
        st.sampled_from([1.0, 3.0, 1e4]),
        st.sampled_from(["category", "value", "refuse"]),
    ),
    st.builds(
        lambda listed, missing: dict(
            kind="categorical", categories=tuple(listed), missing=missing, missing_value=listed[0]
        ),
        st.lists(
            st.sampled_from(["1", "0", "2.5", "a", "b", "x;y", "True", "ü", "Plain.ONE", "(1+0j)", "2j", "(2+1j)"]),
            min_size=2,
            max_size=4,
            unique_by=key,
        ),
        st.sampled_from(["category", "value", "refuse"]),
    ),
)
domains = st.builds(
    lambda parts, classes: Domain(
        tuple(Feature(f"f{j}", **part, **NOTE) for j, part in enumerate(parts)),
        classes,
        "y",
        "asserted",
        "made for this test",
        "the file is UTF-8 text with ',' between columns and decimal points",
        "asserted",
        "made for this test",
    ),
    st.lists(features, min_size=1, max_size=4),
    st.sampled_from([("no", "yes"), (0, 1), (False, True), ("1", "2.5", "a")]),
)


@st.composite
def neighbors(draw) -> tuple[Domain, list[list[str]], int, list[str]]:
    """Draw a schema, rows as texts with the label last, the number of a row, and a row that replaces it."""
    domain = draw(domains)
    width = domain.n_features + 1
    row = st.lists(st.sampled_from([*TEXTS, *OBJECTS]), min_size=width, max_size=width)
    # The cells of a column are similar texts, so that one more cell may change the type that pandas infers.
    alike = [TEXTS, ["1", "01", "2"], ["true", "False"], ["1.0", ""], ["1+0j", "2j"], ["Whole.ONE", "1"], [*OBJECTS]]
    kinds = [draw(st.sampled_from(alike)) for _ in range(width - 1)]
    kinds.append([str(label) for label in domain.classes])
    rows = draw(st.lists(st.tuples(*map(st.sampled_from, kinds)).map(list), min_size=1, max_size=6))
    return domain, rows, draw(st.integers(0, len(rows) - 1)), draw(row)


def cell(text: str):
    """Return the object to which a program would parse a text."""
    if text in OBJECTS:
        return OBJECTS[text]
    for kind in (int, float, complex):
        try:
            return kind(text)
        except ValueError:
            pass
    return {"true": True, "False": False, "": None, "NA": None}.get(text, text)


def written(domain: Domain, rows: list[list[str]]) -> bytes:
    file = io.StringIO()
    csv.writer(file, quoting=csv.QUOTE_ALL).writerows([[*domain.names, "y"], *rows])
    return file.getvalue().encode()


def handed_over(way: str, domain: Domain, rows: list[list[str]], ids: list[int]):
    """Return the rows as (X, y) in one of the input formats."""
    names = [*domain.names, "y"]
    if way == "csv":
        table = read_table(written(domain, rows), domain)
    elif way == "pandas":
        table = pd.read_csv(io.BytesIO(written(domain, rows)))
    else:
        cells = [[cell(text) for text in row] for row in rows]
        X, y = [row[:-1] for row in cells], [row[-1] for row in cells]
        if way == "list":
            return X, y
        if way == "array":
            return np.array(X), np.array(y)
        table = pd.DataFrame(cells, columns=names)
    table.index = pd.Index(ids, dtype=np.int64)
    return table[list(domain.names)], table["y"]


def read(way: str, domain: Domain, rows: list[list[str]], ids: list[int]) -> dict[int, tuple]:
    """Return the codes and the label that a forest reads of each row, by row number; None for an omitted row."""
    X, y = handed_over(way, domain, rows, ids)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", OutOfDomainWarning)
        encoded: EncodedTable = read_rows(domain, X, y, np.array(ids, np.int64))
    assert encoded.n_given == len(rows)
    seen = {int(i): (*codes, int(label)) for i, codes, label in zip(encoded.ids, encoded.codes.tolist(), encoded.y)}
    return {i: seen.get(i) for i in ids}


@pytest.mark.parametrize("way", WAYS)
@SETTINGS
@given(neighbors())
def test_one_cell_does_not_change_how_other_rows_are_read(way, table):
    domain, rows, place, other = table
    ids = list(range(len(rows)))
    before = read(way, domain, rows, ids)
    after = read(way, domain, [*rows[:place], other, *rows[place + 1 :]], ids)
    assert {i: row for i, row in after.items() if i != place} == {i: row for i, row in before.items() if i != place}


@pytest.mark.parametrize("way", WAYS)
@SETTINGS
@given(neighbors())
def test_one_more_row_does_not_change_how_other_rows_are_read(way, table):
    domain, rows, place, other = table
    ids = list(range(len(rows)))
    before = read(way, domain, rows, ids)
    after = read(way, domain, [*rows[:place], other, *rows[place:]], [*ids[:place], 99, *ids[place:]])
    assert {i: row for i, row in after.items() if i != 99} == before


@SETTINGS
@given(neighbors())
def test_all_input_formats_are_read_alike(table):
    """All input formats agree on cells whose text and object are equivalent.

    The test excludes truth values and words for missing cells, because pandas knows more such words than our reader.
    """
    domain, rows, _, _ = table
    other = {"?", "nan", "None", "7 ", "b ", "\n", "nan+1j", *OBJECTS}
    plain = [["1" if text in other else text for text in row] for row in rows]
    ids = list(range(len(plain)))
    of_list = read("list", domain, plain, ids)
    assert read("array", domain, plain, ids) == read("frame", domain, plain, ids) == of_list
    assert read("pandas", domain, plain, ids) == of_list


PAID = {"labels", "noisy_counts", "leaf_values"}
GROWN = PAID | {"trees", "scale"}  # also differ if trees depend on the rows or on a released scale
FORESTS = [
    (MajorityLabelForestClassifier(n_estimators=3, max_depth=3, scale_share="public"), PAID),
    (MajorityLabelForestClassifier(n_estimators=3, size=900), GROWN),
    (RandomDecisionForestClassifier(n_estimators=2, max_depth=2, neighbors="replace-one"), PAID),
    (RandomDecisionForestClassifier(scale_share=0.3, neighbors="replace-one"), GROWN),
    (BoostedForestClassifier(n_estimators=2, n_bound=50, size=900), GROWN),
    (MultinomialForestClassifier(n_estimators=2, max_depth=2, neighbors="replace-one"), GROWN),
    (FriedmanSchusterClassifier(scale_share=0.3, neighbors="replace-one"), GROWN),
]


def public(model, way: str, domain: Domain, rows: list[list[str]], paid: set[str]) -> dict:
    """Fit, and return all parts of the release that the ledger does not pay for."""
    X, y = handed_over(way, domain, rows, list(range(len(rows))))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", OutOfDomainWarning)
        fitted = model.set_params(domain=domain).fit(X, y)
    assert fitted.certificate_.certified
    content = json.loads(fitted.released_.to_json())
    return {name: part for name, part in content.items() if name not in paid} | {"classes": fitted.classes_.tolist()}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(("model", "paid"), FORESTS, ids=lambda model: type(model).__name__)
@settings(derandomize=True, deadline=None, max_examples=12)
@given(neighbors())
def test_unpaid_output_is_the_same_for_neighbors(model, paid, way, table):
    """Output that costs no budget is equal on neighboring tables.

    Each fit draws fresh secret noise, so the test compares everything that rows cannot change.
    """
    domain, rows, place, other = table
    before = public(model, way, domain, rows, paid)
    assert public(model, way, domain, [*rows[:place], other, *rows[place + 1 :]], paid) == before
    if model.neighbors == "add-remove":
        assert public(model, way, domain, [*rows, other], paid) == before


@settings(derandomize=True, deadline=None, max_examples=60)
@given(neighbors(), st.integers(1, 4))
def test_parts_of_a_table_are_read_as_the_whole(table, size):
    """A table in parts is read like the whole table, although columns of a part may have other types."""
    domain, rows, _, _ = table
    model = MajorityLabelForestClassifier(n_estimators=2, scale_share=0.5, domain=domain, random_state=0)
    parts = [(i, rows[i : i + size]) for i in range(0, len(rows), size)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", OutOfDomainWarning)
        cut = model.fit_chunks(
            [handed_over("frame", domain, part, list(range(i, i + len(part)))) for i, part in parts]
        ).forest_.to_json(uncertified=True)
        whole = model.fit(*handed_over("list", domain, rows, [])).forest_.to_json(uncertified=True)
    assert cut == whole


def test_values_that_differ_only_as_texts_must_be_passed_as_texts():
    """The certificate assumes that a column is passed as texts if some of its values differ only as texts.

    pandas, for example, reads 01 as 1 if all cells of the column are numbers.
    """
    zone = Feature("zone", "categorical", categories=("01", "1", "2"), **NOTE)
    domain = Domain((zone,), ("1", "1.0"), "ill", "asserted", "made for this test")
    assumptions = [sentence for sentence in domain.assumptions() if "handed over as texts" in sentence]
    assert len(assumptions) == 2
    assert "'01' and '1'" in assumptions[0]
    assert "'1' and '1.0'" in assumptions[1]
    assert domain.encode([["01"], ["1"], [1], ["1.0"], ["2.0"]]).ravel().tolist() == [0, 1, 1, 0, 2]


HALF = "\ud800"  # half of a surrogate pair, which pandas takes for another text


@given(st.lists(st.sampled_from(["a", "b", repr(HALF), "c"]), min_size=1, max_size=30), st.integers(0, 29))
@settings(derandomize=True, deadline=None, max_examples=examples(100))
@example([repr(HALF)] * 40, 0)
def test_half_a_character_changes_no_other_cell(cells, place):
    """Half a surrogate pair changes no other cell.

    pandas hashes it like the text of its escape sequence. In an earlier version, cells with this text became missing.
    """
    listed = ("a", "b", repr(HALF))
    domain = Domain((Feature("c", "categorical", categories=listed, missing="category", **NOTE),), ("x", "y"), "y")
    before = domain.encode(np.array(cells, dtype=object)[:, None]).ravel().tolist()
    place %= len(cells)
    for stranger in (HALF, "a" + HALF):
        changed = [*cells[:place], stranger, *cells[place + 1 :]]
        as_strings = pd.DataFrame({"c": pd.Series(changed, dtype="string[python]")})
        objects = np.array(changed, dtype=object)[:, None]
        for X in (objects, [[cell] for cell in changed], np.array(changed)[:, None], as_strings):
            assert domain.encode(X).ravel().tolist() == [*before[:place], 3, *before[place + 1 :]]


@pytest.mark.parametrize("row", [[1], [1, 2, 3], 7, "ab", None, {}])
def test_a_none_in_a_list_of_rows_has_no_known_cell(row):
    age = Feature("age", "numeric", 0, 100, missing="category", **NOTE)
    domain = Domain((age, replace(age, name="size")), ("no", "yes"), "ill", "asserted", "made for this test")
    model = MajorityLabelForestClassifier(domain=domain, n_estimators=1)
    model.fit([[1, 2], row, [3, 4]], ["no", "yes", "no"])
    assert model.certificate_.certified
    with pytest.raises(ValueError, match="Row 1 of the list"):
        model.predict([[1, 2], row])


def test_one_cell_cannot_turn_the_reading_of_a_file():
    """A single cell cannot change how a file is read.

    In an earlier version, a row with another delimiter, or a letter of another encoding, changed the whole table.
    """
    size = Feature("size", "numeric", 0, 100, missing="category", **NOTE)
    domain = Domain((size,), ("no", "yes"), "ill", "asserted", "made for this test")
    rows = [b"1.5,no", b"2.5,yes"] * 20
    plain = read_table(b"size,ill\n" + b"\n".join(rows), domain)
    for stranger in (b"50;1,5;no", "ü".encode("latin-1") + b",no", b"1,5", b'"a""b",x', b"\xff\xfe,no", b"9" * 200_000):
        table = read_table(b"size,ill\n" + b"\n".join([*rows[:7], stranger, *rows[7:]]), domain)
        pd.testing.assert_frame_equal(table.drop(index=7).reset_index(drop=True), plain)
    assert math.isnan(table["size"][7])
