"""Files that are read in parts: the codes equal those of a file that is read at once, for any size of parts."""

import csv
import gzip
import io
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpforest import Domain, DomainError, Feature, MajorityLabelForestClassifier, load_dataset, read_csv
from dpforest import read_chunks as read_chunks_of_the_package
from dpforest.tables import chunked_csv
from dpforest.tables.chunked_files import read_chunks
from dpforest.tables.csv_rows import read_table
from dpforest.tables.datasets import DATA, TableError
from dpforest.tables.out_of_domain import OutOfDomainWarning
from dpforest.tables.rows import read_rows

NOTE = {"source": "documented", "source_note": "made up"}
SIZE = Feature("size", "numeric", 0, 10, missing="category", **NOTE)
CITY = Feature("city", "categorical", categories=("Köln", "Ulm", "1", "two\nlines"), missing="category", **NOTE)


def domain(reading: str = "") -> Domain:
    return Domain((SIZE, CITY), ("no", "yes"), "ill", "documented", "made up", reading=reading)


def at_once(path: Path, domain: Domain) -> tuple[np.ndarray, np.ndarray]:
    table = read_csv(path).read_with(domain)
    return domain.encode(table), domain.encode_labels(table[domain.label])


def in_parts(path: Path, domain: Domain, rows: int) -> tuple[np.ndarray, np.ndarray]:
    parts = list(read_chunks(path, domain, rows=rows))
    assert all(0 < len(X) == len(y) <= rows for X, y in parts)
    numbers = np.concatenate([X.index for X, _ in parts])
    assert np.array_equal(numbers, np.arange(len(numbers)))
    codes = [domain.encode(X) for X, _ in parts]
    return np.concatenate(codes), np.concatenate([domain.encode_labels(y) for _, y in parts])


def assert_same(path: Path, domain: Domain, rows: int = 3) -> None:
    for actual, expected in zip(in_parts(path, domain, rows), at_once(path, domain), strict=True):
        assert np.array_equal(actual, expected)


def write(folder: Path, words: str, encoding: str = "utf-8") -> Path:
    path = folder / "table.csv"
    path.write_bytes(words.encode(encoding))
    return path


def test_the_reader_is_exported():
    assert read_chunks_of_the_package is read_chunks


@pytest.mark.parametrize("name", ["adult", "breast_wisconsin", "congressional_voting", "hepatitis", "magic", "zoo"])
def test_bundled_tables_have_the_codes_that_they_have_at_once(name, tmp_path):
    """Codes of bundled tables in parts equal those of the whole file and of the table that pandas reads.

    Four of the tables have missing cells.
    """
    data, path = load_dataset(name), tmp_path / "table.csv"
    path.write_bytes(gzip.decompress((DATA / f"{name}.csv.gz").read_bytes()))
    assert_same(path, data.domain, 1 + len(data.table) // 7)
    assert np.array_equal(in_parts(path, data.domain, 10**6)[0], data.domain.encode(data.X))


@pytest.mark.parametrize("block", [64, 2**24])
@pytest.mark.parametrize(
    "encoding, codec",
    [
        ("UTF-8", "utf-8"),
        ("UTF-8", "utf-8-sig"),
        ("Latin-1", "cp1252"),
        ("UTF-16", "utf-16"),
        ("UTF-16-LE", "utf-16-le"),
    ],
)
def test_files_as_people_write_them_are_read(encoding, codec, block, tmp_path, monkeypatch):
    """Decimal commas, semicolons, quoted line breaks, empty lines and missing cells are read, in all encodings."""
    monkeypatch.setattr(chunked_csv, "_BLOCK_BYTES", block)
    words = 'sep=;\r\nid;size;"city";ill\r\n1;1,5; Köln ;yes\r\n2;?;"two\nlines";no\r\n\r\n3;1.000,5;1,0;"no"\r\n'
    path = write(tmp_path, words + '4;"2,5";;yes\r\n5;x;Ulm;no\r\n' * 20, codec)
    csv_file = read_csv(path)
    assert ("UTF-8" if codec == "utf-8-sig" else encoding) == csv_file.reading.encoding
    stated = domain(f"the file is {encoding} text with ';' between columns and decimal commas")
    assert_same(path, stated)
    codes = in_parts(path, stated, 2)[0]
    assert codes[:3, 1].tolist() == [0, 3, 2] and codes[0, 0] == SIZE.code(1.5) and codes[1, 0] == 0


def test_bytes_that_are_no_text_change_no_other_cell(tmp_path):
    """Bytes that are no text change no other cell. The five bytes without meaning in Windows-1252 count as Latin-1."""
    path = tmp_path / "table.csv"
    path.write_bytes(b"size,city,ill\n1,K\xf6ln,yes\n2,Ulm\x81,no\n3,Ulm,no\n")
    for encoding in ("UTF-8", "Latin-1"):
        assert_same(path, domain(f"the file is {encoding} text with ',' between columns and decimal points"), 1)
    latin = domain("the file is Latin-1 text with ',' between columns and decimal points")
    (X, _), *_ = read_chunks(path, latin)
    assert X["city"].tolist() == ["Köln", "Ulm\x81", "Ulm"]


CELLS = st.text(st.sampled_from('a1"\n;, é\r'), max_size=6)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(CELLS, CELLS), min_size=2, max_size=12), st.sampled_from([200, 2**24]), st.integers(1, 5))
def test_any_text_in_quotes_is_one_cell(tmp_path_factory, rows, block, at_most):
    words = io.StringIO()
    csv.writer(words).writerows([["size", "city", "ill"], *([*cells, "yes"] for cells in rows)])
    path = tmp_path_factory.mktemp("csv") / "table.csv"
    path.write_text(words.getvalue(), newline="")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(chunked_csv, "_BLOCK_BYTES", block)
        assert_same(path, domain(), at_most)


def test_a_file_without_rows_has_no_parts(tmp_path):
    assert list(read_chunks(write(tmp_path, "size,city,ill\n"), domain())) == []


def test_a_reader_may_stop_early(tmp_path, monkeypatch):
    monkeypatch.setattr(chunked_csv, "_BLOCK_BYTES", 64)
    parts = iter(read_chunks(write(tmp_path, "size,city,ill\n" + "1,Ulm,no\n" * 500), domain(), rows=2))
    assert len(next(parts)[0]) == 2
    parts.close()


LONG = "1,Ulm,no\n" * 40


@pytest.mark.parametrize(
    "words, message",
    [
        ("", "The file is empty"),
        ("size,ill\n1,no\n", "The file has no column 'city' when it is read as its domain states"),
        ("size,city\n1,Ulm\n", "no column 'ill'"),
        ("size,city,city,ill\n", "Two columns are called 'city'"),
        (f'size,city,ill\n1,Ulm,no\n2,"Ulm,no\n{LONG}', "opened after line 2 and never closed"),
        (f'size,city,ill\n1,Ulm,no\n5"2,"Ulm,no\n{LONG}', "opened after line 2 and never closed"),
        (f'size,city,ill\n1,"Ulm" am See,no\n2,"Ulm,no\n{LONG}', "opened after line 2 and never closed"),
        (f'size,city,ill\n1,Ulm,no\n2,"Ulm,no\n{LONG * 500}', "opened after line 2 and never closed"),
        (f"size,city,ill\n1,{'U' * 140_000},no\n", "cannot be split into rows and cells"),
    ],
)
def test_broken_files_are_refused_with_the_line(words, message, tmp_path, monkeypatch):
    monkeypatch.setattr(chunked_csv, "_BLOCK_BYTES", 1000)
    with pytest.raises((TableError, DomainError), match=message):
        list(read_chunks(write(tmp_path, words), domain()))


def test_invalid_files_are_refused_at_once(tmp_path):
    with pytest.raises(TableError, match="cannot be read"):
        read_chunks(tmp_path / "nothing.csv", domain())
    for start, message in ((b"PK\x03\x04", "Excel"), (b"\x1f\x8b\x08", "gzip"), (b"PAR1 and no more", "Parquet")):
        (tmp_path / "file").write_bytes(start)
        with pytest.raises(TableError, match=message):
            read_chunks(tmp_path / "file", domain())
    path = write(tmp_path, "size,city,ill\n1,Ulm,no\n")
    with pytest.raises(TableError, match="'EBCDIC' is not known"):
        read_chunks(path, domain("the file is EBCDIC text with ',' between columns and decimal points"))
    with pytest.raises(ValueError, match="does not say what the label is"):
        read_chunks(
            path, Domain((SIZE,), (0, 1), "", **{f"classes_{k}": v for k, v in zip(("source", "note"), NOTE.values())})
        )
    with pytest.raises(ValueError, match="rows"):
        read_chunks(path, domain(), rows=0)


def test_rows_of_a_class_that_is_not_listed_are_left_out(tmp_path):
    path = write(tmp_path, "size,city,ill\n1,Ulm,no\n2,Ulm,perhaps\n")
    forest = MajorityLabelForestClassifier(domain=domain(), n_estimators=2)
    with pytest.warns(OutOfDomainWarning, match="1 row has no label that is listed and was left out"):
        forest.fit_chunks(read_chunks(path, domain()))
    assert forest.certificate_.certified == (not domain().leaks())


@pytest.mark.parametrize("block", [64, 1_000, 2**20])
def test_ragged_rows_are_rows_without_a_known_cell(block, tmp_path, monkeypatch):
    """A ragged row keeps its place, has only missing cells, and changes no other row.

    The curator receives a warning.
    """
    monkeypatch.setattr(chunked_csv, "_BLOCK_BYTES", block)
    words = "size,city,ill\n" + "".join(
        "1,no\n" if i % 7 == 3 else f'{i % 9},"U\nlm",no\n\n' if i % 5 else "1,Ulm,no,9\n" for i in range(100)
    )
    ragged = [i % 7 == 3 or i % 5 == 0 for i in range(100)]
    X, y = (pd.concat(parts) for parts in zip(*read_chunks(write(tmp_path, words), domain(), rows=9), strict=True))
    assert y.isna().tolist() == X["size"].isna().tolist() == ragged
    assert X["size"][~y.isna()].tolist() == [i % 9 for i in range(100) if not ragged[i]]
    pd.testing.assert_frame_equal(X.assign(ill=y), read_table(words.encode(), domain()))


def test_a_forest_of_a_csv_file_equals_that_of_the_table(tmp_path):
    data, path = load_dataset("hepatitis"), tmp_path / "table.csv"
    data.table.to_csv(path, index=False)
    forest = MajorityLabelForestClassifier(domain=data.domain, random_state=1)
    one = forest.fit_chunks(read_chunks(path, data.domain, rows=31)).forest_.to_json(uncertified=True)
    assert one == forest.fit(data.X, data.y).forest_.to_json(uncertified=True)


@pytest.mark.parametrize("name", ["adult", "hepatitis", "pendigits"])
def test_parquet_has_the_codes_of_the_table(name, tmp_path):
    data, path = load_dataset(name), tmp_path / "table.parquet"
    data.table.to_parquet(path, row_group_size=1 + len(data.table) // 3)
    codes, labels = in_parts(path, data.domain, 1 + len(data.table) // 7)
    assert np.array_equal(codes, data.domain.encode(data.X))
    assert np.array_equal(labels, data.domain.encode_labels(data.y))


NUMBERS = [1, None, 3]


@pytest.mark.parametrize(
    "cells",
    [
        pa.array(NUMBERS, pa.int8()),
        pa.array(NUMBERS, pa.uint64()),
        pa.array(NUMBERS, pa.float32()),
        pa.array([1.0, np.nan, 3.0], pa.float64()),
        pa.array(NUMBERS, pa.int16()).dictionary_encode(),
        pa.array(["1", None, "3"], pa.string()),
        pa.array(["1", None, "3.0"], pa.large_string()),
        pa.array(["1", None, "3"], pa.string()).dictionary_encode(),
        pa.array(NUMBERS, pa.decimal128(5, 0)),
    ],
    ids=lambda cells: str(cells.type),
)
def test_parquet_numbers_of_every_type_are_read(cells, tmp_path):
    pq.write_table(pa.table({"size": cells, "city": cells, "ill": ["no", "yes", "no"]}), tmp_path / "t.parquet")
    codes, labels = in_parts(tmp_path / "t.parquet", domain(), 2)
    assert codes[:, 0].tolist() == [SIZE.code(1), 0, SIZE.code(3)]
    assert codes[:, 1].tolist() == [2, 4, 4]  # "1", missing, another text
    assert labels.tolist() == [0, 1, 0]


def test_parquet_booleans_and_empty_columns_are_read(tmp_path):
    flag = Feature("flag", "categorical", categories=("False", "True"), missing="category", **NOTE)
    schema = Domain((SIZE, CITY, flag), (False, True), "ill", "documented", "made up")
    flags = pa.array([True, None, False])
    columns = {"ill": [True, False, True], "flag": flags, "size": flags, "city": pa.nulls(3), "more": [1, 2, 3]}
    pq.write_table(pa.table(columns), tmp_path / "t.parquet")
    codes, labels = in_parts(tmp_path / "t.parquet", schema, 2)
    assert codes.tolist() == [[SIZE.code(1), 4, 1], [0, 4, 2], [SIZE.code(0), 4, 0]]
    assert labels.tolist() == [1, 0, 1]


@pytest.mark.parametrize("missing", [None, 7])
def test_a_missing_cell_changes_no_other_of_a_parquet_file(missing, tmp_path):
    """A missing cell changes no other cell of a Parquet file.

    If an integer is missing, pandas converts the column to floats, and large integers would have another text.
    """
    large, tenth = 2**53 + 1, np.float32(0.1)
    code = Feature("code", "categorical", categories=(str(large), "0.1"), missing="category", **NOTE)
    schema = Domain((code,), ("no", "yes"), "ill", "documented", "made up")
    for cells, at in ((pa.array([large, missing]), 0), (pa.array([tenth, missing], pa.float32()), 1)):
        pq.write_table(pa.table({"code": cells, "ill": ["no", "yes"]}), tmp_path / "t.parquet")
        ((X, _),) = read_chunks(tmp_path / "t.parquet", schema)
        assert schema.encode(X)[:, 0].tolist() == [at, 2]


def test_parquet_files_that_do_not_fit_are_refused(tmp_path):
    path = tmp_path / "t.parquet"
    pq.write_table(pa.table({"size": [1], "ill": ["no"]}), path)
    with pytest.raises(DomainError, match="no column 'city'"):
        read_chunks(path, domain())
    pq.write_table(pa.table({"size": pd.to_datetime(["2020-01-01"]), "city": ["Ulm"], "ill": ["no"]}), path)
    with pytest.raises(DomainError, match=r"'size' holds timestamp\[.*\]; turn it into numbers or texts"):
        list(read_chunks(path, domain()))
    pq.write_table(pa.table({"size": ["1", "large"], "city": ["Ulm"] * 2, "ill": ["no"] * 2}), path)
    ((X, y),) = read_chunks(path, domain())  # a bad cell never stops the read
    with pytest.warns(OutOfDomainWarning, match="1 cell of 'size' is not a number"):
        assert len(read_rows(domain(), X, y).codes) == 2
    broken = bytearray(path.read_bytes())
    broken[4:60] = bytes(56)
    (tmp_path / "broken.parquet").write_bytes(broken)
    with pytest.raises(TableError, match="The Parquet file is damaged"):
        list(read_chunks(tmp_path / "broken.parquet", domain()))
    pq.write_table(pa.table([[1], [2], ["Ulm"], ["no"]], names=["size", "size", "city", "ill"]), path)
    with pytest.raises(DomainError, match="more than one column 'size'"):
        read_chunks(path, domain())
