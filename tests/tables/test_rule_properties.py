"""Properties of reading rules: one cell or one more row never changes how other rows are read, in any input format."""

import csv
import io
import json
import warnings
from datetime import date, datetime

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpforest import DatePart, Domain, Feature, MajorityLabelForestClassifier, OutOfDomainWarning, read_table
from dpforest.tables.dates import DATE_FORMATS, MONTHS, WEEKDAYS
from dpforest.tables.out_of_domain import OutOfDomainCells
from dpforest.tables.rows import read_rows
from dpforest.trees import forest_schema
from tests.conftest import examples

NOTE = {"source": "asserted", "source_note": "made for this test"}
SETTINGS = settings(derandomize=True, deadline=None, max_examples=examples(80))
WAYS = ("csv", "frame", "array", "list", "typed")
NUMBERS = [
    "5",
    "5.0",
    " 7 ",
    "12 %",
    "%12",
    "-€3",
    "€",
    "k.A.",
    " K.A.",
    "<5",
    "-99",
    "-99.0",
    "1e3",
    "１２",
    "True",
    "5%\t",
]
DATES = [
    "31.01.2024",
    "31.02.2024",
    "2024-01-31",
    "01/02/2024",
    "20240131",
    "2024-01-31 10:00+01:00",
    "1.2.24",
    "Jan 5, 2024",
]
WORDS = ["yes", "Yes", " YES\u00a0", "no", "1", "1.0", "01", "", "NA", "😀", "x", "nan", '"', "\n", "k.A."]
TEXTS = NUMBERS + DATES + WORDS
OBJECTS = {  # for some texts, the object that a list or frame holds instead
    "2024-01-31": date(2024, 1, 31),
    "2024-01-31 10:00+01:00": pd.Timestamp("2024-01-31 10:00+01:00"),
    "20240131": 20240131,
    "5": 5,
    "5.0": 5.0,
    "1e3": datetime(2020, 2, 29, 23),
    "-99": -99,
    "1": 1,
    "1.0": True,
    "x": np.datetime64("2020-02-29"),
    "": None,
}
missing = st.sampled_from(["category", "refuse"])


def _part(part: str, date_format: str, rule: str) -> dict:
    values = {
        "year": {"kind": "numeric", "low": 2000, "high": 2030},
        "month": {"kind": "categorical", "categories": MONTHS},
        "weekday": {"kind": "categorical", "categories": WEEKDAYS[:5]},
        "days": {"kind": "numeric", "low": 0, "high": 9000},
    }[part]
    since = "2000-01-01" if part == "days" else ""
    return {**values, "missing": rule, "date": DatePart("d", date_format, part, since)}


numeric = st.builds(
    lambda words, signs, rule: (
        {"kind": "numeric", "low": -10, "high": 20} | {"missing_words": words, "signs": signs, "missing": rule}
    ),
    st.sampled_from([(), ("k.A.",), ("<5", "-99"), ("5", "x")]),
    st.sampled_from([(), ("%",), ("€", "%")]),
    missing,
)
categorical = st.builds(
    lambda spellings, rule: {
        "kind": "categorical",
        "categories": ("yes", "no", "2"),
        "spellings": spellings,
        "missing": rule,
    },
    st.sampled_from([(), (("Yes", "yes"), ("1", "no")), (("YES", "yes"), ("NA", "no"), ("x", "2"))]),
    missing,
)
features = st.lists(st.one_of(numeric, categorical), max_size=2)
parts = st.tuples(
    st.sampled_from(DATE_FORMATS),
    st.lists(st.sampled_from(["year", "month", "weekday", "days"]), unique=True, max_size=4),
    missing,
)
class_spellings = st.sampled_from([(), (("Yes", "yes"), ("1", "no"))])


@st.composite
def domains(draw) -> Domain:
    """Draw a schema with rules; its dates are in the column "d", and its other attributes are "f0", "f1"."""
    date_format, names, rule = draw(parts)
    made = [Feature(f"f{j}", **values, **NOTE) for j, values in enumerate(draw(features))]
    made += [Feature(f"d {name}", **_part(name, date_format, rule), **NOTE) for name in names]
    if not made:
        made = [Feature("f0", "numeric", 0, 1, **NOTE)]
    made = draw(st.permutations(made))
    spellings = draw(class_spellings)
    return Domain(tuple(made), ("yes", "no"), "y", "asserted", "made for this test", class_spellings=spellings)


@st.composite
def neighbors(draw) -> tuple[Domain, list[list[str]], int, list[str]]:
    """Draw a schema, rows as texts with the label last, the number of a row, and a row that replaces it."""
    domain = draw(domains())
    pools = [DATES if name == "d" else draw(st.sampled_from([NUMBERS, TEXTS])) for name in domain.source_columns]
    row = st.tuples(*(st.sampled_from(pool) for pool in pools), st.sampled_from(["yes", "no", "Yes", "1"])).map(list)
    rows = draw(st.lists(row, min_size=1, max_size=5))
    other = draw(st.lists(st.sampled_from(TEXTS), min_size=len(pools) + 1, max_size=len(pools) + 1))
    return domain, rows, draw(st.integers(0, len(rows) - 1)), other


def handed_over(way: str, domain: Domain, rows: list[list[str]]):
    """Return (X, y) in one of the input formats; "typed" is a frame whose columns pandas has given a type."""
    names = [*domain.source_columns, "y"]
    if way == "csv":
        file = io.StringIO()
        csv.writer(file, quoting=csv.QUOTE_ALL).writerows([names, *rows])
        table = read_table(file.getvalue().encode(), domain)
        return table[names[:-1]], table["y"]
    if way == "frame":
        table = pd.DataFrame(rows, columns=names)
        return table[names[:-1]], table["y"]
    cells = [[OBJECTS.get(text, text) for text in row] for row in rows]
    if way == "typed":
        table = pd.DataFrame({name: pd.Series([row[j] for row in cells]) for j, name in enumerate(names)})
        return table[names[:-1]], table["y"]
    X, y = [row[:-1] for row in cells], [row[-1] for row in cells]
    return (X, y) if way == "list" else (np.array(X, dtype=object), np.array(y, dtype=object))


def read(way: str, domain: Domain, rows: list[list[str]]) -> list[tuple]:
    """Return the codes and the class of each row."""
    X, y = handed_over(way, domain, rows)
    codes = domain.encode(X, OutOfDomainCells())
    return [(*row, max(label, -1)) for row, label in zip(codes.tolist(), domain.listed_labels(y).tolist(), strict=True)]


@pytest.mark.parametrize("way", WAYS)
@SETTINGS
@given(neighbors())
def test_one_cell_or_row_does_not_change_how_other_rows_are_read(way, table):
    domain, rows, place, other = table
    before = read(way, domain, rows)
    assert [read(way, domain, [row])[0] for row in rows] == before
    after = read(way, domain, [*rows[:place], other, *rows[place + 1 :]])
    assert after[:place] + after[place + 1 :] == before[:place] + before[place + 1 :]
    more = read(way, domain, [*rows[:place], other, *rows[place:]])
    assert more[:place] + more[place + 1 :] == before


@SETTINGS
@given(neighbors())
def test_files_and_frames_are_read_alike(table):
    """A file and a frame of its texts agree, except on words that mean a missing cell only in files."""
    domain, rows, _, _ = table
    known = [["5" if text in ("", "NA", "nan", "True") else text for text in row] for row in rows]
    assert read("csv", domain, known) == read("frame", domain, known)


@SETTINGS
@given(domains())
def test_rules_come_back_from_the_file(domain):
    content = json.loads(json.dumps(domain.to_dict()))
    forest_schema.check(content, "domain")
    assert Domain.from_dict(content) == domain and Domain.from_dict(content).to_dict() == content
    assert Domain.from_dict(content).assumptions() == domain.assumptions() and domain.leaks() == []


@settings(derandomize=True, deadline=None, max_examples=8)
@given(neighbors())
def test_unpaid_output_is_the_same_for_neighbors(table):
    domain, rows, place, other = table
    model = MajorityLabelForestClassifier(n_estimators=2, max_depth=2, scale_share="public", size=50, domain=domain)
    contents = []
    for some_rows in (rows, [*rows[:place], other, *rows[place + 1 :]], [*rows, other]):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", OutOfDomainWarning)
            X, y = handed_over("list", domain, some_rows)
            content = json.loads(model.fit(X, y).released_.to_json())
        assert content["certificate"]["certified"]
        contents.append({name: part for name, part in content.items() if name != "labels"})
    assert contents[0] == contents[1] == contents[2]


def test_read_rows_takes_spelled_labels():
    domain = Domain((Feature("f0", "numeric", 0, 1, **NOTE),), ("yes", "no"), "y", class_spellings={"Y": "yes"})
    assert read_rows(domain, [[0], [1]], ["Y", "no"]).y.tolist() == [0, 1]
