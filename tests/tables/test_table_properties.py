"""Properties of every table: CSV round trips, and codes that keep order, range and rows."""

import contextlib
import csv as csv_writer
import dataclasses
import enum
import io
import json
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from dpforest.tables.csv_format import CsvFormat
from dpforest.tables.csv_rows import read_records
from dpforest.tables.datasets import CsvTable, TableError, label_candidates, read_csv, suggest_domain
from dpforest.tables.domain import Domain, DomainError, Feature
from tests.conftest import examples

settings.register_profile(
    "dpforest", deadline=None, derandomize=True, database=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("dpforest")

INTEGERS = st.integers(-(10**14), 10**14)
FLOATS = st.floats(allow_nan=False, allow_infinity=False, min_value=-1e200, max_value=1e200)
# The first letter keeps a text from being a number, a date or a missing cell; no text starts or ends with a space.
TEXTS = st.text(st.sampled_from("ab1 ,;|\t\"'\n-?.éß÷ÿ"), max_size=8).map(lambda inner: f"k{inner}k")


@st.composite
def tables(draw):
    """Draw columns by name, as lists with None for missing cells."""
    n = draw(st.integers(2, 8))
    kinds = draw(st.lists(st.sampled_from([INTEGERS, FLOATS, TEXTS]), min_size=2, max_size=6))
    columns = {}
    for j, kind in enumerate(kinds):
        cells = draw(st.lists(kind, min_size=n, max_size=n))
        holes = draw(st.sets(st.integers(0, n - 1), max_size=n - 1)) if draw(st.booleans()) else set()
        columns[f"c{j}"] = [None if i in holes else cell for i, cell in enumerate(cells)]
    return columns


def written(columns, delimiter, newline, decimal, hole, encoding):
    def cell(value):
        if value is None:
            return hole
        return repr(value).replace(".", decimal) if isinstance(value, float) else str(value)

    file = io.StringIO()
    writer = csv_writer.writer(file, delimiter=delimiter, lineterminator=newline)
    writer.writerow(columns)
    writer.writerows([cell(value) for value in row] for row in zip(*columns.values(), strict=True))
    return file.getvalue().encode(encoding)


def expected(cells):
    known = [cell for cell in cells if cell is not None]
    if any(isinstance(cell, str) for cell in known):
        return pd.Series(cells, dtype="str")
    if all(isinstance(cell, int) for cell in known) and len(known) == len(cells):
        return pd.Series(cells, dtype="int64")
    return pd.Series(cells, dtype="float64")


@given(
    tables(),
    st.sampled_from([",", ";", "\t", "|"]),
    st.sampled_from(["\n", "\r\n"]),
    st.sampled_from(["", "?", "NA", "NaN"]),
    st.sampled_from(["utf-8", "utf-8-sig", "utf-16", "latin-1"]),
    st.booleans(),
)
@settings(max_examples=examples(250))
def test_a_written_table_is_read_back(columns, delimiter, newline, hole, encoding, decimal_commas):
    decimal = "," if decimal_commas and delimiter == ";" else "."
    data = written(columns, delimiter, newline, decimal, hole, encoding)
    if encoding == "latin-1":
        with contextlib.suppress(UnicodeDecodeError):
            # Some Latin-1 bytes are also valid UTF-8, so the encoding would be ambiguous.
            assume(data.decode("utf-8").isascii())
    csv = read_csv(data)
    assert csv.delimiter == delimiter
    for name, cells in columns.items():
        pd.testing.assert_series_equal(csv.table[name], expected(cells), check_names=False, check_exact=True)
        assert csv.column(name).n_missing == cells.count(None)


@given(st.one_of(st.binary(max_size=200), st.text(st.sampled_from('a1,;\n\r"\t|.- ?é'), max_size=80).map(str.encode)))
@settings(max_examples=examples(400))
def test_any_bytes_give_a_table_or_a_message(data):
    try:
        csv = read_csv(data)
    except TableError as error:
        assert str(error).endswith(".")
        return
    assert isinstance(csv, CsvTable)
    assert csv.table.shape == (csv.n_rows, len(csv.columns))
    for label in label_candidates(csv):
        try:
            domain = suggest_domain(csv, label)
        except (TableError, DomainError) as error:
            assert str(error).endswith(".")
        else:
            assert (domain.encode(csv.table) < [feature.n_codes for feature in domain.features]).all()
            assert domain.encode_labels(csv.table[label]).max() == domain.n_classes - 1


BOUNDS = st.tuples(*[st.floats(-1e9, 1e9)] * 2).map(sorted).filter(lambda ends: ends[1] - ends[0] > 1e-6)


@st.composite
def features(draw, name="x"):
    missing = draw(st.sampled_from(["category", "value", "refuse"]))
    if draw(st.booleans()):
        low, high = draw(BOUNDS)
        value = draw(st.floats(low, high)) if missing == "value" else None
        return Feature(name, "numeric", low, high, missing=missing, missing_value=value)
    categories = tuple(draw(st.lists(st.text(max_size=5), min_size=1, max_size=6, unique=True)))
    value = draw(st.sampled_from(categories)) if missing == "value" else None
    return Feature(name, "categorical", categories=categories, missing=missing, missing_value=value)


@given(st.lists(features(), min_size=1, max_size=5), st.lists(st.text(max_size=4), min_size=2, max_size=5, unique=True))
def test_json_is_exact(parts, classes):
    named = tuple(dataclasses.replace(part, name=f"f{j}") for j, part in enumerate(parts))
    domain = Domain(named, tuple(classes), "y", "asserted", "a note")
    assert Domain.from_dict(json.loads(json.dumps(domain.to_dict()))) == domain


@given(BOUNDS, st.lists(st.floats(-2e9, 2e9), min_size=1, max_size=30), st.sampled_from(["category", "refuse"]))
def test_codes_keep_order_and_stay_in_range(bounds, values, missing):
    feature = Feature("x", "numeric", *bounds, missing=missing)
    codes = Domain((feature,)).encode(np.sort(values)[:, None]).ravel().astype(int)
    assert (np.diff(codes) >= 0).all()
    assert feature.first_code <= codes.min() <= codes.max() < feature.n_codes
    assert codes.tolist() == [feature.code(value) for value in sorted(values)]


@given(tables(), st.integers(1, 4), st.randoms())
def test_blocks_and_permutations_of_rows_keep_their_codes(columns, size, random):
    table = pd.DataFrame({name: expected(cells) for name, cells in columns.items()})
    domain = Domain.infer(table)
    whole = domain.encode(table)
    blocks = [domain.encode(table.iloc[i : i + size]) for i in range(0, len(table), size)]
    np.testing.assert_array_equal(np.vstack(blocks), whole)
    order = random.sample(range(len(table)), len(table))
    np.testing.assert_array_equal(domain.encode(table.iloc[order]), whole[order])
    assert domain.report(table)[["clipped", "unlisted"]].to_numpy().sum() == 0
    assert len(domain.leaks()) == len(columns)


@given(tables())
def test_an_array_and_a_table_give_the_same_codes(columns):
    table = pd.DataFrame({name: expected(cells) for name, cells in columns.items()})
    domain = Domain.infer(table)
    np.testing.assert_array_equal(domain.encode(table.to_numpy(dtype=object)), domain.encode(table))


@given(st.lists(st.integers(-(10**6), 10**6), min_size=2, max_size=50, unique=True), st.randoms())
def test_labels_are_mapped_once_and_back(classes, random):
    y = np.array([random.choice(classes) for _ in range(30)])
    domain = Domain((Feature("x", "numeric", 0, 1),), tuple(classes))
    for same in (y, y.astype(float), y.astype(str), pd.Series(y), pd.Series(y).astype("category")):
        assert [classes[code] for code in domain.encode_labels(same)] == y.tolist()


# The next tests add one row anywhere, which must not change how the other rows are read.

ONES = [
    "1",
    " 1 ",
    "1.0",
    1,
    1.0,
    True,
    np.True_,
    np.float32(1),
    np.int8(1),
    Decimal(1),
    Decimal("1.0"),
    Fraction(1),
    1j,
]
STRANGE = [None, np.nan, pd.NA, pd.NaT, "", "NA", b"1", (1,), (True,), 2**70, 0.1, np.float32(0.1), np.inf, "x"]
STRANGE += [
    1 + 0j,
    np.complex64(1),
    np.clongdouble(1j),
    2 + 1j,
    *enum.IntEnum("Whole", "ONE"),
    *enum.Enum("Plain", "ONE"),
]
STRANGE += [*enum.StrEnum("Word", {"X": "x"}), *enum.Flag("Bits", "ONE")]
DATES = [pd.Timestamp("2020-01-01"), np.datetime64("2020-01-01"), np.timedelta64(1, "D"), "2020-01-01"]
NUMBERS = [
    0,
    1,
    True,
    False,
    2.5,
    -0.0,
    np.float32(0.1),
    2**60,
    Decimal("0.10"),
    Fraction(1, 3),
    "1",
    " 2.50",
    None,
    pd.NA,
]
OBJECTS = st.one_of(
    st.sampled_from(ONES + STRANGE + DATES), st.integers(-3, 3), st.floats(width=16), st.text(max_size=2)
)
MIXED = Domain(
    (
        Feature("number", "numeric", -1, 3, missing="category"),
        Feature(
            "text", "categorical", categories=("1", "True", "0", "False", "2020-01-01", "x", "(1,)"), missing="category"
        ),
        Feature("other", "categorical", categories=("1.0", "", "b'1'", "0.1", "2"), missing="value", missing_value="2"),
    ),
    tuple(map(str, range(-3, 4))) + ("True", "1.0", "x"),
)
LABELS = st.sampled_from([0, 1, "1", "1.0", True, 1.0, np.int8(2), Decimal("1.0"), "x"])
ROWS = st.tuples(st.sampled_from(NUMBERS), OBJECTS, OBJECTS, LABELS)


def as_objects(rows):
    table = np.empty((len(rows), len(rows[0])), dtype=object)
    for i, row in enumerate(rows):
        for j, cell in enumerate(row):
            table[i, j] = cell
    return table


def as_frame(rows):
    return pd.DataFrame({name: pd.Series(as_objects(rows)[:, j], dtype=object) for j, name in enumerate(MIXED.names)})


def as_list(rows):
    return [[str(cell) if isinstance(cell, tuple) else cell for cell in row] for row in rows]


@pytest.mark.parametrize("form", [as_frame, as_objects, as_list])
@given(rows=st.lists(ROWS, min_size=1, max_size=6), extra=ROWS, where=st.integers(0, 6))
@settings(max_examples=examples(300))
def test_one_more_row_changes_no_code_of_the_others(form, rows, extra, where):
    where = min(where, len(rows))
    more = [*rows[:where], extra, *rows[where:]]
    before, after = (MIXED.encode(form([row[:3] for row in some])) for some in (rows, more))
    np.testing.assert_array_equal(np.delete(after, where, axis=0), before)
    for labels in (list, lambda y: as_objects([y])[0], lambda y: pd.Series(as_objects([y])[0], dtype=object)):
        before, after = (MIXED.encode_labels(labels([row[3] for row in some])) for some in (rows, more))
        np.testing.assert_array_equal(np.delete(after, where), before)


CELLS = st.one_of(
    st.sampled_from(
        ["1", "1.0", " 1", "1,0", "2,5", "2.5", "1,234", "1.234", "", "NA", "?", "x", "Köln", "007", "1e999"]
    ),
    st.floats().map(str),
    st.text(st.characters(exclude_categories=("C",)), max_size=6),
    st.text(st.sampled_from("01.,;\"'\n -e"), max_size=6),
)
LINES = st.lists(CELLS, min_size=4, max_size=4).map(lambda cells: [cell.replace("\r", "") for cell in cells])


def line(cells, settings):
    quoted = ('"' + cell.replace('"', '""') + '"' for cell in cells)
    return (settings.delimiter.join(quoted) + "\n").encode(
        "cp1252" if settings.encoding == "Latin-1" else "utf-8", "replace"
    )


@given(
    st.lists(LINES, min_size=2, max_size=6),
    st.one_of(LINES, st.binary(max_size=12)),
    st.integers(0, 6),
    st.sampled_from([CsvFormat(), CsvFormat("UTF-8", ";", ","), CsvFormat("Latin-1", "\t", ",", ("a",))]),
)
@settings(max_examples=examples(200))
def test_one_more_row_in_a_file_changes_no_other_row(rows, extra, where, written):
    where = min(where, len(rows))
    domain = Domain(
        (
            Feature("a", "numeric", -1, 3, missing="category"),
            Feature("b", "categorical", categories=("1", "2.5", "Köln", "?"), missing="category"),
            Feature("c", "numeric", -1e6, 1e6, missing="value", missing_value=0.0),
        ),
        ("1", "x"),
        "y",
        reading=written,
    )
    lines = [line(row, written) for row in rows]
    if isinstance(extra, bytes):  # bytes that are no text in this encoding
        extra = bytes(set(range(32)) | {34}), extra
        new = line(["1", "SLOT", "2", "x"], written).replace(b"SLOT", extra[1].translate(None, extra[0]))
    else:
        new = line(extra, written)
    head = line(["a", "b", "c", "y"], written)
    try:
        csv = read_csv(head + b"".join(lines))
        more = read_csv(head + b"".join([*lines[:where], new, *lines[where:]]))
    except TableError:
        return
    before, after = csv.read_with(domain), more.read_with(domain)
    assert len(before) == len(rows)
    pd.testing.assert_frame_equal(after.drop(index=where).reset_index(drop=True), before)
    np.testing.assert_array_equal(np.delete(domain.encode(after), where, axis=0), domain.encode(before))


@given(
    st.lists(LINES, min_size=2, max_size=6),
    st.sampled_from([",", ";", "\t", "|", "'"]),
    st.sampled_from(["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "utf-32", "latin-1", "ascii"]),
    st.sampled_from(["\n", "\r\n", "\n\n"]),
    st.booleans(),
    st.sampled_from(".,"),
)
@settings(max_examples=examples(150))
def test_a_file_is_split_once_and_reads_as_if_split_again(rows, mark, encoding, newline, with_sep_line, decimal):
    """A file that was split into cells once can be read with another domain, without splitting it again.

    This holds if only columns and decimal marks differ. For another encoding or delimiter, the reader needs the bytes
    of the file again.
    """
    quoted = [["a", "ö b", "c", "y"], *rows]
    text = newline.join(mark.join('"' + cell.replace('"', '""') + '"' for cell in row) for row in quoted) + newline
    data = ((f"sep={mark}\r\n" if with_sep_line or mark == "'" else "") + text).encode(encoding, "replace")
    try:
        csv = read_csv(data)
    except TableError:
        return
    names = [column.name for column in csv.columns]
    features = [
        Feature(name, "categorical", categories=("1", "2.5", "Köln", "?"), missing="category") for name in names[1:]
    ]
    features.append(Feature(names[0], "numeric", -1, 3, missing="category"))
    written = replace(csv.reading, decimal=decimal, point_columns=(names[-1],))
    domain = Domain(tuple(features[1:]), ("1", "x"), names[1], reading=written)
    table, strange = read_records(data, domain)
    split = replace(csv, data=b"")
    pd.testing.assert_frame_equal(split.read_with(domain), table)
    assert split.unread(domain) == strange.sentences() == split.read_and_unread(domain)[1]
    comma = replace(domain, reading=replace(written, delimiter="," if mark != "," else ";"))  # needs the bytes
    with pytest.raises(TableError):
        split.read_with(comma)
