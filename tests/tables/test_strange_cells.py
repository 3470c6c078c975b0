"""Cells that were made up to break a fit: each cell is read by itself, stops no fit, and changes no other cell."""

import enum
import warnings
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from dpforest import (
    Domain,
    DomainError,
    Feature,
    OutOfDomainWarning,
    RandomDecisionForestClassifier,
    read_chunks,
    read_table,
)
from dpforest.tables.cells import number, values_with_one_key
from dpforest.tables.datasets import TableError
from dpforest.tables.rows import read_rows

NOTE = {"source": "asserted", "source_note": "made for this test"}
SIZE = Feature("n", "numeric", 0, 100, missing="category", **NOTE)
CITY = Feature("c", "categorical", categories=("a", "b"), missing="category", **NOTE)
BIG = 2**53 + 1  # no float has this value


def schema(*features: Feature, classes=("no", "yes")) -> Domain:
    return Domain(features, classes, "ill", "asserted", "made for this test")


def read(domain: Domain, X, y=None):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", OutOfDomainWarning)
        return read_rows(domain, X, ["no"] * len(X) if y is None else y)


class Hostile:
    def __str__(self):
        raise RuntimeError("no text")

    def __float__(self):
        raise RuntimeError("no number")

    def __array__(self, *args, **kwargs):
        raise RuntimeError("no array")


class HostileFraction(Fraction):
    def __float__(self):
        raise RuntimeError("no number")


@pytest.mark.parametrize(
    "cell",
    [10**5000, Fraction(10**5000), Decimal("sNaN"), Hostile(), HostileFraction(1, 3), [1, 2], {}, np.array([1, 2])]
    + [pd.NaT, np.datetime64("NaT"), pd.Interval(0, 1), "\0", b"\xff", object(), float, 2j],
    ids=lambda cell: type(cell).__name__,
)
@pytest.mark.parametrize("where", ["numeric", "categorical", "label"])
@pytest.mark.filterwarnings("ignore::dpforest.OutOfDomainWarning")
def test_no_cell_refuses_a_table(where, cell):
    domain = schema(SIZE if where != "categorical" else CITY)
    model = RandomDecisionForestClassifier(n_estimators=1, max_depth=1, domain=domain)
    plain = [[1], [2]] if where != "categorical" else [["a"], ["b"]]
    rows, labels = ([*plain, [cell]], ["no", "yes", "no"]) if where != "label" else (plain, ["no", cell])
    assert model.fit(rows, labels).certificate_.certified


def test_a_cell_of_a_million_digits_is_read():
    """A number of a million digits is read in linear time; quadratic time would take eleven hours."""
    assert number("1" * 10**6 + "x") is None and number("1" * 10**6) == np.inf


@pytest.mark.parametrize(
    ("labels", "classes", "expected"),
    [
        (np.full(3, BIG), (BIG, 0), [0, 0, 0]),
        (np.array([BIG, BIG, 0]), (BIG, 0), [0, 0, 1]),
        (pd.Series([BIG, BIG, None]), (BIG, 0), [0, 0]),
        (np.array([2**60, 2**60 + 5_000]), (2**60, 2**60 + 5_000), [0, 1]),
        (np.array([0, 1, b"x"]), (0, 1), [0, 1]),
        (np.array([b"no", b"yes"]), ("no", "yes"), [0, 1]),
        (np.array([b"no", b"yes", "no"]), ("no", "yes"), [0, 1, 0]),
    ],
)
def test_labels_of_any_type_are_read_one_by_one(labels, classes, expected):
    assert read(schema(SIZE, classes=classes), np.zeros((len(labels), 1)), labels).y.tolist() == expected


@pytest.mark.parametrize("labels", [["no", ["yes"]], [["no"], ["yes"]], [("no",), "yes"], [np.array(["no"]), "yes"]])
def test_labels_in_one_element_lists_are_read(labels):
    model = RandomDecisionForestClassifier(epsilon=None, n_estimators=1, max_depth=1, domain=schema(SIZE))
    counts = model.fit([[1], [1]], labels).forest_.leaves.noisy_counts
    assert counts.sum(axis=0).tolist() == [1, 1]


def test_bytes_among_numbers_are_texts():
    """Bytes in a column of numbers change no other cell, although numpy turns an array with bytes into bytes."""
    numbers = read(schema(SIZE), np.array([[0], [1], [2]])).codes.ravel().tolist()
    assert read(schema(SIZE), np.array([[0], [1], [2], [b"?"]])).codes.ravel().tolist()[:3] == numbers
    assert read(schema(SIZE), np.array([[b"0"], [b"1"], [b"2"]])).codes.ravel().tolist() == numbers


def test_short_floats_are_read_as_their_text():
    domain = schema(Feature("c", "categorical", categories=("z", "0.1"), missing="category", **NOTE))
    short = np.array([[0.1]], np.float32)
    for X in (
        short,
        pd.DataFrame({"c": short[:, 0]}),
        pd.DataFrame({"c": pd.array([0.1], dtype="Float32")}),
        np.array([[np.float32(0.1)], ["x"]]),
        [[np.float32(0.1)]],
    ):
        assert read(domain, X).codes[0, 0] == 1


class Plain(enum.Enum):
    ONE = 1


class Whole(enum.IntEnum):
    ONE = 1


class Word(enum.StrEnum):
    A = "a"


class Bits(enum.Flag):
    ONE = 1


class Text(str, enum.Enum):  # noqa: UP042
    A = "a"


class Half(float, enum.Enum):
    HALF = 0.5


class Count(int, enum.Enum):
    ONE = 1


LISTED = ("a", "1", "0.5", "Plain.ONE", "Bits.ONE", "2j", "(2+1j)", "Half.HALF", "Count.ONE", "Text.A")
FORMATS = {
    "list": lambda cells: [[cell] for cell in cells],
    "objects": lambda cells: np.array([[cell] for cell in cells], dtype=object),
    "array": lambda cells: np.array([[cell] for cell in cells]),
    "frame": lambda cells: pd.DataFrame({"c": cells}),
    "categorical": lambda cells: pd.DataFrame({"c": pd.Categorical(cells)}),
}
NEIGHBORS = (1, 2.5, True, 2j, np.complex64(2j), "zz", None, Plain.ONE, Whole.ONE, Word.A)


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize(
    ("cell", "as_number", "place"),
    [
        (1 + 0j, 1, 1),
        (np.complex64(1), 1, 1),
        (np.complex128(0.5), 0.5, 2),
        (np.clongdouble(1), 1, 1),
        (2j, None, 5),
        (2 + 1j, None, 6),
        (complex(np.nan, 1), None, len(LISTED)),
        (complex(np.inf, 0), 100, len(LISTED)),
        (Plain.ONE, None, 3),
        (Whole.ONE, 1, 1),
        (Word.A, None, 0),
        (Bits.ONE, None, 4),
    ],
    ids=repr,
)
def test_complex_cells_and_enumerations_do_not_depend_on_other_cells(form, cell, as_number, place):
    """Other cells do not change the reading of complex cells and enumerations.

    One complex cell makes an array complex, one text makes it text, and one None makes it an array of objects.
    """
    if form == "categorical" and isinstance(cell, np.clongdouble):
        pytest.skip("pandas makes no categorical of it")
    city = schema(Feature("c", "categorical", categories=LISTED, missing="category", **NOTE))
    size = schema(Feature("c", "numeric", 0, 100, missing="category", **NOTE))
    known = 0 if as_number is None else size.encode([[as_number]])[0, 0]
    for others in ([], *([one] for one in NEIGHBORS)):
        X = FORMATS[form]([cell, *others])
        assert read(city, X).codes[0, 0] == place, others
        assert read(size, X).codes[0, 0] == known, others
        alone = FORMATS[form](others)
        if others:
            assert read(city, X).codes[1, 0] == read(city, alone).codes[0, 0], others
            assert read(size, X).codes[1, 0] == read(size, alone).codes[0, 0], others


@pytest.mark.parametrize("extra", [2j, np.complex64(2j), np.clongdouble(2j), Plain.ONE, Bits.ONE, Word.A, "zz"])
@pytest.mark.parametrize("labels", [[0, 1, 0], [0j, 1 + 0j, 0j], [False, Whole.ONE, 0.0]])
def test_one_label_changes_no_other(labels, extra):
    for form in (list, np.array, pd.Series, lambda y: np.array(y, dtype=object)):
        y = form([*labels, extra])
        assert read(schema(SIZE, classes=(0, 1)), np.zeros((4, 1)), y).y.tolist() == [0, 1, 0]
        model = RandomDecisionForestClassifier(n_estimators=1, max_depth=1, domain=schema(SIZE, classes=(0, 1)))
        with pytest.warns(OutOfDomainWarning, match="1 row has no label"):
            model.fit(np.zeros((4, 1)), y)


@pytest.mark.parametrize(("cell", "place"), [(Text.A, 0), (Half.HALF, 2), (Count.ONE, 1)])
def test_members_that_are_texts_or_numbers_are_read_as_their_value(cell, place):
    """Enumeration members that are texts or numbers are read as their value.

    The exception is an array of texts, for which numpy takes the name of the member; docs/PRIVACY.md lists this case.
    """
    city = schema(Feature("c", "categorical", categories=LISTED, missing="category", **NOTE))
    for form in ("list", "objects", "frame", "categorical"):
        for others in ([], [2j], ["zz"], [None], [7]):
            assert read(city, FORMATS[form]([cell, *others])).codes[0, 0] == place
    assert read(city, np.array([[cell], ["zz"]])).codes[0, 0] != place


@pytest.mark.skipif(np.longdouble("1e4000") == np.inf, reason="long doubles are doubles on this machine")
def test_a_long_double_beyond_all_doubles_is_infinite():
    """A long double beyond all doubles is read as infinite, with one warning.

    In an earlier version, numpy warned about a cast, which stopped the fit or stayed in a warning registry.
    """
    cells = np.array([np.longdouble("1e4000"), 1])
    for X in (cells[:, None], cells[:, None].astype(object), pd.DataFrame({"n": cells})):
        model = RandomDecisionForestClassifier(n_estimators=1, max_depth=1, domain=schema(SIZE))
        with pytest.warns(OutOfDomainWarning, match="1 cell of 'n' is infinite") as seen:
            model.fit(X, ["no", "yes"])
        assert len(seen) == 1


def test_a_listed_word_for_missing_must_be_handed_over_as_text():
    domain = schema(Feature("c", "categorical", categories=("nan", "1"), missing="category", **NOTE))
    assert any("handed over as texts: 'missing' and 'nan'" in assumption for assumption in domain.assumptions())
    for word in ("(nan+0j)", "nanj", "(1+nanj)"):  # words for a complex cell in an array of texts
        assert values_with_one_key([word, "1"]) == ("missing", word)
    assert values_with_one_key(["banana", "nan-j-x", "1"]) is None
    assert values_with_one_key(["(1+0j)", "1"]) == ("(1+0j)", "1")  # numpy writes both for the same number
    with pytest.raises(DomainError, match="the same to a program"):
        schema(SIZE, classes=(True, 1))


BREAK = "\u2028"  # ends a line in Python, not in a CSV file


@pytest.mark.parametrize("mark", [BREAK, "\x85", "\x0b", "\x0c", "\x1c"])
def test_no_other_character_ends_a_record(mark):
    """Only the line breaks of CSV end a record.

    In an earlier version, the reader counted quotes in lines that ended at other characters. Then two open quotes could
    hide a thousand rows.
    """
    domain, base = schema(SIZE, CITY), "".join(f"{i % 100},a,no\n" for i in range(50))
    header = "n,c,ill\n"
    assert len(read_table((header + f'3,x{mark}",no\n4,b{mark}",no\n' + base).encode(), domain)) == 52
    assert len(read_table((header + base + f'3,x{mark}"y,no\n').encode(), domain)) == 51
    with pytest.raises(TableError, match="never closed"):
        read_table((header + f'3,x{mark}",no\n"4,b,no\n' + base).encode(), domain)


def test_a_text_that_is_no_unicode_in_a_parquet_file_changes_no_other_cell(tmp_path):
    cells = pa.array([b"a", b"\xff", None, b"b"], pa.binary()).view(pa.string())
    table = pa.table({"n": [1, 2, 3, 4], "c": cells, "ill": ["no", "no", "yes", "no"]})
    pq.write_table(table, tmp_path / "table.parquet")
    ((X, _),) = read_chunks(tmp_path / "table.parquet", schema(SIZE, CITY))
    assert read(schema(SIZE, CITY), X).codes[:, 1].tolist() == [0, 2, 2, 1]


@pytest.mark.parametrize("kind", [np.datetime64, np.timedelta64])
def test_dates_without_a_unit_are_missing_cells(kind):
    """A numpy array of dates without a unit holds only NaT. Its cells are missing, although pandas refuses its type."""
    X = np.array([[kind("NaT")] * 2] * 2)
    domain = Domain((SIZE, CITY), ("no", "yes"), "y", "documented", "made up")
    codes = read_rows(domain, X, ["no", "yes"]).codes
    assert (codes == read_rows(domain, [[None, None]] * 2, ["no", "yes"]).codes).all()
