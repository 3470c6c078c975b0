"""Proposals for columns: what a column seems to hold, and public ranges that follow from the name of a column."""

import math

import pandas as pd
import pytest

from dpforest import Feature, read_csv
from dpforest.tables.column_kinds import COLUMN_KINDS, MOST, propose_kind
from dpforest.tables.dates import DATE_FORMATS
from dpforest.tables.public_ranges import PUBLIC_RANGES, public_range

DAYS = [f"{d:02}.{m:02}.2024" for m in range(1, 13) for d in (3, 14, 25)]


@pytest.mark.parametrize(
    ("cells", "kind", "reason"),
    [
        ([], "empty", "Every cell is missing."),
        (["", "NA", None, math.nan, "\u00a0"], "empty", "Every cell is missing."),
        (["x"] * 3, "constant", "Every cell is 'x'."),
        (["1", "2.5", " 3 ", ""], "number", "Numbers."),
        (["12 %", "3%", "5"], "number", "Numbers with %."),
        (["€ 12", "-€3"], "number", "Numbers with €."),
        (["1", "-", "2"], "category", ""),
        (["1", "2", *["3"] * 8, "-"], "number", "Numbers."),
        ([f"{i},5" for i in range(30)] + ["< 2,5"] * 20, "number", "Numbers with <."),
        ([f"{i}.5" for i in range(30)] + ["not measured"] * 20, "number with words", "and words in 20"),
        ([f"{i}.5" for i in range(30)] + [f"V{i}" for i in range(20)] * 2, "category", "50 different texts"),
        (["<18", ">18"] * 20, "category", "2 different texts"),
        (["1", "2", "3"] * 20 + ["unknown"] * 20, "category", "4 different texts"),
        (["7"] * 18 + ["k.A.", "n.d."], "number with words", "and words in 2: 'k.A.', 'n.d.'. List the words"),
        (["7", "8"] * 4 + ["k.A.", "n.d."], "category", "4 different texts."),
        (DAYS, "date", "Dates in the format DD.MM.YYYY."),
        ([*DAYS, "unbekannt"], "date", "Cells without such a date count as missing: 'unbekannt'."),
        (["03/04/2024", "05/06/2024"], "date", "DD/MM/YYYY and MM/DD/YYYY fit equally well; state which order"),
        (["03/14/2024", "05/06/2024"], "date", "Dates in the format MM/DD/YYYY."),
        (["01.02.24", "03.04.23"], "date", "years of two digits"),
        (["2024-01-31T10:00", "2024-02-01"], "date", "Dates in the format YYYY-MM-DD."),
        (["20240131", "20240201"], "date", "Dates in the format YYYYMMDD."),
        (["20249931", "20240201"], "number", "Numbers."),
        (["10115001", "99999999"], "number", "Numbers."),
        (["01067", "10115"], "identifier", "All cells have 5 digits, and some begin with 0"),
        ([f"P-{i}" for i in range(30)], "identifier", "30 different texts in 30 rows"),
        (
            [f"{i}{j} patient with {i * 7} of {j} complaints" for i in range(8) for j in range(8)],
            "free text",
            "sentences",
        ),
        ([f"{i}.5 km" for i in range(30)], "number", "Numbers with km."),
        (["90 min"] * 8 + ["45 min"] * 12 + ["2 h"], "number with words", "Numbers with min in 20 cells of 21"),
        (["m1", "m2", "m1", "s3"], "category", "3 different texts."),
        (["yes", "Yes", "NO", "no", "yes"], "category", "seem to mean the same: 'Yes for yes', 'no for NO'"),
        (["ja", "ja", "nein", "nein", "J", "N"], "category", "seem to mean the same: 'J for ja', 'N for nein'"),
        (["y"] * 5 + ["n"] * 5 + ["yes"], "category", "seem to mean the same: 'yes for y'"),
        (["A", "A", "B", "B", "AB"], "category", "3 different texts."),
        (["no", "no", "nein", "nein", "n"], "category", "3 different texts."),
        (["😀", "１２", "x"], "category", "3 different texts."),
        ([f"t{i}" for i in range(1_100)] * 2, "category", "more than 1,000"),
    ],
    ids=lambda value: str(value)[:20],
)
def test_the_kind_of_a_column_is_proposed(cells, kind, reason):
    column = propose_kind(cells)
    assert (column.kind, reason in column.reason) == (kind, True), column.reason
    assert column.kind in COLUMN_KINDS and column.n_missing <= len(cells)


def test_proposals_fit_the_rules_that_they_are_for():
    column = propose_kind(["7 %"] * 20 + ["k.A."])
    feature = Feature("a", "numeric", 0, 1, missing_words=column.words, signs=column.signs)
    assert feature.missing_words == ("k.A.",) and feature.signs == ("%",) and feature.leaks()
    spelled = propose_kind(["yes", "yes", "YES", "no"])
    assert Feature("b", "categorical", categories=("yes", "no"), spellings=spelled.spellings).spellings == (
        ("YES", "yes"),
    )
    assert set(propose_kind(["03/04/2024", "05/06/2024"]).date_formats) == {"DD/MM/YYYY", "MM/DD/YYYY"}
    assert set(propose_kind(DAYS).date_formats) <= set(DATE_FORMATS) and MOST == 0.9


def test_proposals_take_the_decimal_mark_and_the_columns_of_a_file():
    csv = read_csv(b"a;b;ill\n1.234,5;x;1\n2,5;y;0\nk.A.;x;0\n" + b"3,5;x;1\n" * 9)
    column = propose_kind(csv.cells.column("a"))
    assert (column.kind, column.words, column.n_distinct, column.decimal) == ("number with words", ("k.A.",), 4, ",")
    assert propose_kind(pd.Series([1.5, 2, None])).kind == "number"
    assert propose_kind(["1,5", "2,5"], ".").kind == "category"


@pytest.mark.parametrize(
    ("name", "what"),
    [
        ("AGE", "age in years"),
        ("SpO2 (%)", "percentage"),
        ("RR_sys", "systolic blood pressure in mmHg"),
        ("diastolic_blood_pressure", "diastolic blood pressure in mmHg"),
        ("day_of_week", "day of the week"),
        ("dayOfMonth", "day of the month"),
        ("pulse pressure", "pulse pressure in mmHg"),
        ("month", "month"),
        *dict.fromkeys(("wage", "stage", "", "sample_weight", "birth_weight", "AgeGroup"), "").items(),
    ],
)
def test_public_ranges_come_from_names_alone(name, what):
    known = public_range(name)
    assert (known.what if known else "") == what


@pytest.mark.parametrize("known", PUBLIC_RANGES, ids=lambda known: known.what)
def test_each_public_range_makes_an_attribute_and_has_a_reason(known):
    feature = Feature("x", "numeric", known.low, known.high, known.integer, source="asserted", source_note=known.reason)
    assert feature.leaks() == [] and known.reason.endswith(".")
    assert any(public_range(name.title()) is known for name in known.names.split("|"))
