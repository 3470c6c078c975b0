"""Cells that somebody wrote to break a fit: each is one cell, refuses nothing, and changes no other."""

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
    MisfitWarning,
    RandomDecisionForestClassifier,
    read_chunks,
    read_table,
)
from dpforest.tables.cells import number
from dpforest.tables.datasets import TableError
from dpforest.tables.rows import read_rows

NOTE = {"source": "asserted", "source_note": "made for this test"}
SIZE = Feature("n", "numeric", 0, 100, missing="own", **NOTE)
CITY = Feature("c", "categorical", categories=("a", "b"), missing="own", **NOTE)
BIG = 2**53 + 1  # no float


def schema(*features: Feature, classes=("no", "yes")) -> Domain:
    return Domain(features, classes, "ill", "asserted", "made for this test")


def read(domain: Domain, X, y=None):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", MisfitWarning)
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
@pytest.mark.filterwarnings("ignore::dpforest.MisfitWarning")
def test_no_cell_refuses_a_table(where, cell):
    domain = schema(SIZE if where != "categorical" else CITY)
    model = RandomDecisionForestClassifier(n_estimators=1, max_depth=1, domain=domain)
    plain = [[1], [2]] if where != "categorical" else [["a"], ["b"]]
    rows, labels = ([*plain, [cell]], ["no", "yes", "no"]) if where != "label" else (plain, ["no", cell])
    assert model.fit(rows, labels).certificate_.certified


def test_a_cell_of_a_million_digits_is_read():
    """In the square of their number it would take eleven hours."""
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
def test_labels_in_lists_of_their_own(labels):
    model = RandomDecisionForestClassifier(epsilon=None, n_estimators=1, max_depth=1, domain=schema(SIZE))
    counts = model.fit([[1], [1]], labels).forest_.noisy_counts
    assert counts.sum(axis=0).tolist() == [1, 1]


def test_bytes_beside_numbers_are_texts():
    """One of them turns a whole array of numpy into bytes."""
    numbers = read(schema(SIZE), np.array([[0], [1], [2]])).codes.ravel().tolist()
    assert read(schema(SIZE), np.array([[0], [1], [2], [b"?"]])).codes.ravel().tolist()[:3] == numbers
    assert read(schema(SIZE), np.array([[b"0"], [b"1"], [b"2"]])).codes.ravel().tolist() == numbers


def test_short_floats_are_what_their_text_says():
    domain = schema(Feature("c", "categorical", categories=("z", "0.1"), missing="own", **NOTE))
    short = np.array([[0.1]], np.float32)
    for X in (short, pd.DataFrame({"c": short[:, 0]}), pd.DataFrame({"c": pd.array([0.1], dtype="Float32")}),
              np.array([[np.float32(0.1)], ["x"]]), [[np.float32(0.1)]]):  # fmt: skip
        assert read(domain, X).codes[0, 0] == 1


def test_a_listed_word_for_missing_must_be_handed_over_as_text():
    domain = schema(Feature("c", "categorical", categories=("nan", "1"), missing="own", **NOTE))
    assert any("handed over as texts: 'missing' and 'nan'" in said for said in domain.assumptions())
    with pytest.raises(DomainError, match="the same to a program"):
        schema(SIZE, classes=(True, 1))


BREAK = "\u2028"  # ends a line in Python, not in a CSV file


@pytest.mark.parametrize("mark", [BREAK, "\x85", "\x0b", "\x0c", "\x1c"])
def test_no_other_character_ends_a_record(mark):
    """Quotes were once counted in lines that the file does not have: two open ones could hide a thousand rows."""
    domain, base = schema(SIZE, CITY), "".join(f"{i % 100},a,no\n" for i in range(50))
    header = "n,c,ill\n"
    assert len(read_table((header + f'3,x{mark}",no\n4,b{mark}",no\n' + base).encode(), domain)) == 52
    assert len(read_table((header + base + f'3,x{mark}"y,no\n').encode(), domain)) == 51
    with pytest.raises(TableError, match="never closed"):
        read_table((header + f'3,x{mark}",no\n"4,b,no\n' + base).encode(), domain)


def test_a_text_that_is_no_unicode_in_a_parquet_file(tmp_path):
    cells = pa.array([b"a", b"\xff", None, b"b"], pa.binary()).view(pa.string())
    table = pa.table({"n": [1, 2, 3, 4], "c": cells, "ill": ["no", "no", "yes", "no"]})
    pq.write_table(table, tmp_path / "table.parquet")
    ((X, _),) = read_chunks(tmp_path / "table.parquet", schema(SIZE, CITY))
    assert read(schema(SIZE, CITY), X).codes[:, 1].tolist() == [0, 2, 2, 1]
