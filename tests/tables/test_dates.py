"""Dates in declared formats: each cell is read by itself, in all input formats, and for all parts of a date."""

import json
import math
from datetime import UTC, date, datetime, timedelta, timezone

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from dpforest import (
    DatePart,
    Domain,
    DomainError,
    Feature,
    MajorityLabelForestClassifier,
    OutOfDomainWarning,
    ReleasedForest,
    date_attributes,
    read_chunks,
    read_table,
)
from dpforest.tables.csv_rows import read_records
from dpforest.tables.date_columns import dates_of
from dpforest.tables.dates import DATE_FORMATS, WEEKDAYS, date_of
from dpforest.tables.out_of_domain import OutOfDomain, OutOfDomainCells
from dpforest.tables.read_parts import read_parts
from dpforest.tables.rows import read_rows
from dpforest.trees import forest_schema

GERMAN = "DD.MM.YYYY"
NOTE = {"source": "asserted", "source_note": "made for this test"}
PARTS = ("year", "month", "weekday", "days")
ADMITTED = date_attributes("admitted", GERMAN, PARTS, first="2000-01-01", last="2029-12-31", **NOTE)
SIZE = Feature("size", "numeric", 0, 9, missing="category", **NOTE)
DAY = date(2024, 1, 31)


def schema(*features: Feature) -> Domain:
    return Domain(features, ("no", "yes"), "ill", "asserted", "made for this test")


DOMAIN = schema(*ADMITTED, SIZE)
NO_DATE = DOMAIN.encode([[None, 1]])[0].tolist()
KNOWN = DOMAIN.encode([["31.01.2024", 1]])[0].tolist()


@pytest.mark.parametrize(
    ("date_format", "text"),
    [
        ("YYYY-MM-DD", "2024-01-31"),
        ("YYYY-MM-DD", "2024-1-31"),
        ("DD.MM.YYYY", "31.01.2024"),
        ("DD.MM.YYYY", "31.1.2024 23:59"),
        ("DD/MM/YYYY", "31/01/2024"),
        ("MM/DD/YYYY", "01/31/2024 11:59 PM"),
        ("MM/DD/YYYY", "1/31/2024 11:59:30 p.m."),
        ("DD-MM-YYYY", "31-01-2024"),
        ("MM-DD-YYYY", "01-31-2024"),
        ("YYYY/MM/DD", "2024/01/31"),
        ("YYYY.MM.DD", "2024.01.31"),
        ("DD Mon YYYY", "31 Jan 2024"),
        ("DD Mon YYYY", "31-JAN-2024"),
        ("DD Mon YYYY", "31 January 2024"),
        ("Mon DD, YYYY", "Jan 31, 2024"),
        ("Mon DD, YYYY", "jan. 31 2024"),
        ("YYYYMMDD", "20240131"),
        ("YYYYMMDD", "202401312359"),
        ("YYYYMMDD", "20240131T235930"),
    ],
)
def test_each_format_reads_its_dates_and_the_iso_form(date_format, text):
    assert date_of(text, date_format) == DAY
    for iso in ("2024-01-31", "2024-01-31 23:59:59.123456789+01:00", "2024-01-31T23:59Z", "2024-01-31T23"):
        assert date_of(iso, date_format) == DAY


def test_every_format_is_tested_and_no_text_has_two_meanings_in_the_iso_form():
    for date_format in DATE_FORMATS:
        for month in range(1, 13):
            assert date_of(f"2024-{month:02}-05", date_format) == date(2024, month, 5)


UGLY = [
    *["", "31.02.2024", "29.02.2023", "00.01.2024", "31.13.2024", "1.1.24", "31.01.24", "01.01.0000", "31.01.20240"],
    *[
        "31/01/2024",
        "01-31-2024",
        "31. Januar 2024",
        "31.01.",
        "2024",
        "31.01.2024x",
        "x31.01.2024",
        "31.01.2024 25:00",
    ],
    *[
        "31.01.2024 12:60",
        "2024-01-31+",
        "３１.０１.２０２４",
        "31.01.2024😀",
        "😀",
        "٣١.٠١.٢٠٢٤",
        "31,01,2024",
        "45322",
    ],
    *["31.01.2024;", "31.01.2024 01.02.2024", "NaT", "today", "-31.01.2024", "31 .01.2024", "9" * 10_000],
]


@pytest.mark.parametrize("cell", UGLY, ids=lambda cell: repr(cell[:25]))
def test_a_cell_that_is_no_date_is_missing(cell):
    counted = OutOfDomainCells()
    assert DOMAIN.encode([[cell, 1], ["31.01.2024", 1]], counted).tolist() == [NO_DATE, KNOWN]
    assert counted.count("admitted (year)", OutOfDomain.NO_DATE) == 1
    table, unread = read_records(f'admitted,size,ill\n"{cell}",1,no\n31.01.2024,1,no\n'.encode(), DOMAIN)
    assert DOMAIN.encode(table).tolist() == [NO_DATE, KNOWN]
    assert len(unread.sentences()) == (cell != "")
    with pytest.raises(DomainError, match="is no date in the format DD.MM.YYYY"):
        DOMAIN.encode([[cell, 1]])


ZONE = timezone(timedelta(hours=-5))
SAME_DAY = [
    *["31.01.2024", " 31.01.2024\u00a0", "\u202f31.1.2024\t", "2024-01-31", "31.01.2024 23:59", b"31.01.2024"],
    *[DAY, datetime(2024, 1, 31, 23, 59), pd.Timestamp("2024-01-31 23:59:59.999999999"), np.datetime64("2024-01-31")],
    *[np.datetime64("2024-01-31T23", "h"), np.datetime64("2024-01-31T23:59", "ns")],
    # The date is the one that the cell states, in the time zone of the cell.
    *["31.01.2024 23:59 +14:00", "2024-01-31T23:30:00-05:00", "2024-01-31T23:30Z", "2024-01-31 23:30 UTC"],
    *[datetime(2024, 1, 31, 23, tzinfo=ZONE), pd.Timestamp("2024-01-31 23:00", tz="America/New_York")],
    *[datetime(2024, 1, 31, tzinfo=UTC), pd.Period("2024-01-31", "D")],
]


@pytest.mark.parametrize("cell", SAME_DAY, ids=repr)
def test_texts_dates_and_timestamps_are_read_alike(cell):
    for others in ([], ["x"], [None], [1.5], [datetime(2020, 2, 2)], ["31.01.2024"]):
        rows = [[cell, 1], *([other, 1] for other in others)]
        array = np.full((len(rows), 2), None, dtype=object)
        for i, row in enumerate(rows):
            array[i] = row
        frame = pd.DataFrame({"admitted": pd.Series([row[0] for row in rows], dtype=object), "size": 1})
        for X in (rows, array, frame, frame.assign(admitted=pd.Categorical(frame["admitted"]))):
            assert DOMAIN.encode(X, OutOfDomainCells())[0].tolist() == KNOWN


@pytest.mark.parametrize(
    "column",
    [
        pd.to_datetime(pd.Series(["2024-01-31 23:30", None])),
        pd.to_datetime(pd.Series(["2024-01-31 23:30", None])).dt.tz_localize("Asia/Tokyo"),
        pd.to_datetime(pd.Series(["2024-01-31", None])).astype("datetime64[s]"),
        pd.Series(["31.01.2024", None], dtype="str"),
        pd.Series(["31.01.2024", None], dtype="string[python]"),
        pd.Series([DAY, None], dtype=pd.ArrowDtype(pa.date32())),
        pd.Series([datetime(2024, 1, 31, 9), None], dtype=pd.ArrowDtype(pa.timestamp("us"))),
        pd.Series([DAY, None]),
    ],
    ids=lambda column: str(column.dtype),
)
def test_typed_columns_are_read_alike(column):
    assert DOMAIN.encode(pd.DataFrame({"admitted": column, "size": 1})).tolist() == [KNOWN, NO_DATE]


@pytest.mark.parametrize("unit", ["D", "h", "s", "ms", "us", "ns"])
def test_numpy_dates_are_read_like_their_texts(unit):
    """A day that no calendar has does not stop a fit. A time before 1970 belongs to its day, not to the next day."""
    numbers = [0, -1, 1, 10**6, -(10**6), 2**62, -(2**62), 86_399 * 10**9, np.iinfo(np.int64).min]
    cells = np.array(numbers, dtype=f"datetime64[{unit}]")
    column = dates_of(cells, GERMAN)
    for cell, day in zip(cells, column.day.tolist(), strict=True):
        known = date_of(str(cell)[:10] if len(str(cell)) >= 10 else "", GERMAN)
        assert day == (0 if np.isnat(cell) else -1 if known is None or str(cell)[0] == "-" else known.toordinal())
    if unit != "D":  # pandas stores days as seconds, which another case covers
        assert dates_of(pd.Series(cells[:5]), GERMAN).day.tolist() == column.day[:5].tolist()


def test_compact_dates_are_read_from_numbers():
    year = schema(*date_attributes("day", "YYYYMMDD", ("year",), first="2000-01-01", last="2029-12-31"))
    expected = year.encode([["20240131"]])[0, 0]
    for cells in ([20240131], [20240131.0], np.array([20240131, 7]), np.array([20240131.0, np.nan]), ["20240131.0"]):
        assert dates_of(pd.Series(cells), "YYYYMMDD").day[0] == DAY.toordinal()
        assert year.encode(pd.DataFrame({"day": cells}), OutOfDomainCells())[0, 0] == expected


def test_every_day_of_years_has_its_parts():
    days = [date(1, 1, 1), date(9999, 12, 31), *(date(1999, 12, 25) + timedelta(i) for i in range(800))]
    column = dates_of(np.array(days, dtype=object), "YYYY-MM-DD")
    part = {name: DatePart("d", "YYYY-MM-DD", name, "2000-01-01" if name == "days" else "") for name in PARTS}
    assert column.values(part["year"]).tolist() == [day.year for day in days]
    assert column.values(part["month"]).tolist() == [day.month for day in days]
    assert column.values(part["weekday"]).tolist() == [day.weekday() for day in days]
    assert column.values(part["days"]).tolist() == [(day - date(2000, 1, 1)).days for day in days]
    assert math.isnan(dates_of(np.array([None], dtype=object), "YYYY-MM-DD").values(part["year"])[0])


def test_parts_are_numbers_or_categories():
    assert [feature.name for feature in ADMITTED] == [f"admitted ({part})" for part in PARTS]
    decoded = dict(zip(PARTS, KNOWN))
    assert ADMITTED[1].code_labels[decoded["month"]] == "1"
    assert ADMITTED[2].code_labels[decoded["weekday"]] == "Wednesday" == WEEKDAYS[DAY.weekday()]
    assert decoded["year"] == ADMITTED[0].code(2024)
    assert decoded["days"] == ADMITTED[3].code((DAY - date(2000, 1, 1)).days)
    month = Feature("m", "numeric", 1, 12, date=DatePart("admitted", GERMAN, "month"), **NOTE)
    few = Feature("y", "categorical", categories=("2023", "2024"), date=DatePart("admitted", GERMAN, "year"), **NOTE)
    counted = OutOfDomainCells()
    codes = schema(month, few).encode([["01.02.2024"], ["01.12.1990"], ["x"], [None]], counted)
    assert codes.tolist() == [[month.code(2), 1], [65535, 0], [0, 0], [0, 0]]
    for kind, n in ((OutOfDomain.NO_DATE, 1), (OutOfDomain.MISSING, 1), (OutOfDomain.UNLISTED, 1)):
        assert counted.count("y", kind) == n
    with pytest.raises(DomainError, match="value its domain does not list; add it"):
        schema(few).encode([["01.12.1990"]])
    report = schema(month, few).report([["01.02.2024"], ["01.12.1990"], ["x"], [None]])
    assert report.to_numpy().tolist() == [[0, 1, 1], [0, 2, 1]]


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: DatePart("", GERMAN, "year"), "needs the name"),
        (lambda: DatePart("d", "DD.MM.YY", "year"), "is not known; choose one of YYYY-MM-DD"),
        (lambda: DatePart("d", GERMAN, "hour"), "part='hour'"),
        (lambda: DatePart("d", GERMAN, "year", "2020-01-01"), "Only the part 'days'"),
        (lambda: DatePart("d", GERMAN, "days"), "since a public date"),
        (lambda: DatePart("d", GERMAN, "days", "2020-02-30"), "since a public date"),
        (lambda: Feature("d", "numeric", 0, 6, date=DatePart("d", GERMAN, "weekday")), "make it categorical"),
        (
            lambda: Feature("d", "categorical", categories=("1",), date=DatePart("d", GERMAN, "days", "2020-01-01")),
            "num",
        ),
        (lambda: Feature("d", "categorical", categories=("13",), date=DatePart("d", GERMAN, "month")), "'13'"),
        (lambda: Feature("d", "categorical", categories=("x",), date=DatePart("d", GERMAN, "year")), "'x'"),
        (lambda: Feature("d", "numeric", 0, 1, date="2020"), "not a DatePart"),
        (lambda: Feature("d", "numeric", 0, 1, date=DatePart("d", GERMAN, "year"), signs=("%",)), "takes no signs"),
        (lambda: date_attributes("d", GERMAN, first="2020-01-01", last="2019-01-01"), "later last date"),
        (lambda: date_attributes("d", GERMAN, ("hour",), first="2020-01-01", last="2021-01-01"), "part='hour'"),
        (lambda: schema(ADMITTED[0], Feature("admitted", "numeric", 0, 1)), "in different ways"),
        (lambda: Domain(ADMITTED, ("a", "b"), "admitted"), "is the label"),
        (lambda: Domain(ADMITTED, ("a", "b"), "y", unit="admitted"), "unit of privacy"),
    ],
)
def test_parts_that_make_no_sense_are_refused(make, message):
    with pytest.raises(DomainError, match=message):
        make()


def test_a_column_has_one_format():
    other = Feature("y", "numeric", 2000, 2030, date=DatePart("admitted", "MM/DD/YYYY", "year"), **NOTE)
    with pytest.raises(DomainError, match="in different ways"):
        schema(ADMITTED[0], other)


@pytest.mark.filterwarnings("ignore::dpforest.OutOfDomainWarning")
def test_a_released_forest_predicts_from_files_frames_and_arrays(tmp_path):
    cells = ["31.01.2024", "01.07.2010 12:00", "x", "24.12.2020"] * 10
    X = pd.DataFrame({"size": [1, 2, 3, 4] * 10, "admitted": cells, "name": "not used"})
    y = ["no", "yes"] * 20
    model = MajorityLabelForestClassifier(n_estimators=5, max_depth=3, domain=DOMAIN)
    with pytest.warns(OutOfDomainWarning, match="10 cells of 'admitted .days.' are not a date in the declared format"):
        forest = model.fit(X, y).released_
    assert forest.certificate.certified and DOMAIN.columns == ("admitted", "size")
    stated = " ".join(forest.certificate.assumptions)
    assert "The column 'admitted' has dates in the format DD.MM.YYYY or as 2024-01-31" in stated
    assert "'admitted (days)' is the number of days since 2000-01-01" in stated
    read_back = ReleasedForest.from_json(forest.to_json())
    assert read_back.domain == DOMAIN and read_back.to_json() == forest.to_json()
    known = X[X["admitted"] != "x"].reset_index(drop=True)
    table = read_table(known.to_csv(index=False).encode(), Domain(DOMAIN.features))
    typed = known.assign(admitted=pd.to_datetime(known["admitted"].str[:10], format="%d.%m.%Y"))
    expected = read_back.predict(known).tolist()
    arrays = [known[["admitted", "size"]].to_numpy(), known[["admitted", "size"]].to_numpy().tolist()]
    for rows in (table, typed, typed.assign(admitted=typed["admitted"].dt.date), *arrays):
        assert read_back.predict(rows).tolist() == expected
    assert model.predict(known).tolist() == expected
    for file, frame in (("dates.parquet", typed), ("texts.parquet", known)):
        frame.assign(ill="no").to_parquet(tmp_path / file)
        ((rows, _),) = read_chunks(tmp_path / file, DOMAIN)
        assert read_back.predict(rows).tolist() == expected
    pq.write_table(pa.table({"admitted": [DAY], "size": [1], "ill": ["no"]}), tmp_path / "days.parquet")
    ((rows, _),) = read_chunks(tmp_path / "days.parquet", DOMAIN)
    assert DOMAIN.encode(rows).tolist() == [KNOWN]
    (tmp_path / "dates.csv").write_text(X.assign(ill="no").to_csv(index=False))
    parts = [DOMAIN.encode(rows) for rows, _ in read_chunks(tmp_path / "dates.csv", DOMAIN, rows=7)]
    assert np.concatenate(parts).tolist() == read_rows(DOMAIN, X, y).codes.tolist()


def test_dates_are_in_the_file_of_the_schema():
    content = json.loads(json.dumps(DOMAIN.to_dict()))
    forest_schema.check(content, "domain")
    assert content["features"][3]["date"] == {
        "column": "admitted",
        "format": "DD.MM.YYYY",
        "part": "days",
        "since": "2000-01-01",
    }
    assert Domain.from_dict(content) == DOMAIN and Domain.from_dict(content).to_dict() == DOMAIN.to_dict()
    content["features"][3]["date"]["more"] = 1
    with pytest.raises(forest_schema.SchemaError):
        forest_schema.check(content, "domain")
    with pytest.raises(DomainError):
        Domain.from_dict(content)


def test_a_date_that_was_read_from_the_rows_is_a_leak():
    read = date_attributes("admitted", GERMAN, ("year",), first="2020-01-01", last="2024-01-01")
    assert [part.value for part in read_parts(schema(*read))][1] == (
        "whole numbers: the year of a date in 'admitted' (DD.MM.YYYY)"
    )
    half = Feature("y", "numeric", 2000, 2030, date=DatePart("d", GERMAN, "year"), type_source="data", **NOTE)
    assert half.leaks() == ["That 'y' is the year of a date in 'd' (DD.MM.YYYY) was read from the data."]


def test_an_array_without_the_right_columns_is_refused():
    with pytest.raises(DomainError, match="5 columns, but the domain has 2 columns of its features"):
        DOMAIN.encode(np.zeros((1, 5), dtype=object))
    with pytest.raises(DomainError, match="no column 'admitted'"):
        DOMAIN.encode(pd.DataFrame({"size": [1]}))
