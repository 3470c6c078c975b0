"""Properties that hold for every table: CSV round trips, and codes that keep order, range and rows."""

import contextlib
import csv as csv_writer
import io
import json

import numpy as np
import pandas as pd
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from dpforest.domain import Domain, DomainError, Feature
from dpforest.tables import CsvTable, TableError, label_candidates, read_csv, suggest_domain

settings.register_profile(
    "dpforest", deadline=None, derandomize=True, database=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("dpforest")

INTEGERS = st.integers(-(10**14), 10**14)
FLOATS = st.floats(allow_nan=False, allow_infinity=False, min_value=-1e200, max_value=1e200)
# A first letter that makes a text never a number, a date or a missing cell, and no space at its ends.
TEXTS = st.text(st.sampled_from("ab1 ,;|\t\"'\n-?.éß÷ÿ"), max_size=8).map(lambda inner: f"k{inner}k")


@st.composite
def tables(draw):
    """(columns as lists with None for missing, by name)."""
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
@settings(max_examples=250)
def test_a_written_table_is_read_back(columns, delimiter, newline, hole, encoding, decimal_commas):
    decimal = "," if decimal_commas and delimiter == ";" else "."
    data = written(columns, delimiter, newline, decimal, hole, encoding)
    if encoding == "latin-1":
        with contextlib.suppress(UnicodeDecodeError):
            assume(data.decode("utf-8").isascii())  # some Latin-1 bytes are UTF-8 as well: nobody can tell
    csv = read_csv(data)
    assert csv.delimiter == delimiter
    for name, cells in columns.items():
        pd.testing.assert_series_equal(csv.table[name], expected(cells), check_names=False, check_exact=True)
        assert csv.column(name).n_missing == cells.count(None)


@given(st.one_of(st.binary(max_size=200), st.text(st.sampled_from('a1,;\n\r"\t|.- ?é'), max_size=80).map(str.encode)))
@settings(max_examples=400)
def test_whatever_the_bytes_there_is_a_table_or_a_sentence(data):
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
    missing = draw(st.sampled_from(["own", "value", "refuse"]))
    if draw(st.booleans()):
        low, high = draw(BOUNDS)
        value = draw(st.floats(low, high)) if missing == "value" else None
        return Feature(name, "numeric", low, high, missing=missing, missing_value=value)
    categories = tuple(draw(st.lists(st.text(max_size=5), min_size=1, max_size=6, unique=True)))
    value = draw(st.sampled_from(categories)) if missing == "value" else None
    return Feature(name, "categorical", categories=categories, missing=missing, missing_value=value)


@given(st.lists(features(), min_size=1, max_size=5), st.lists(st.text(max_size=4), min_size=2, max_size=5, unique=True))
def test_json_is_exact(parts, classes):
    named = tuple(
        Feature(**{**part.to_dict(), "name": f"f{j}", "categories": part.categories}) for j, part in enumerate(parts)
    )
    domain = Domain(named, tuple(classes), "y", "asserted", "a note")
    assert Domain.from_dict(json.loads(json.dumps(domain.to_dict()))) == domain


@given(BOUNDS, st.lists(st.floats(-2e9, 2e9), min_size=1, max_size=30), st.sampled_from(["own", "refuse"]))
def test_codes_keep_order_and_stay_in_range(bounds, values, missing):
    feature = Feature("x", "numeric", *bounds, missing=missing)
    codes = Domain((feature,)).encode(np.sort(values)[:, None]).ravel().astype(int)
    assert (np.diff(codes) >= 0).all()
    assert feature.first_code <= codes.min() <= codes.max() < feature.n_codes
    assert codes.tolist() == [feature.code(value) for value in sorted(values)]


@given(tables(), st.integers(1, 4), st.randoms())
def test_blocks_and_permutations_of_rows(columns, size, random):
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
