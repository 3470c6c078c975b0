"""CSV files as people write them, messages about bad files, and the bundled data sets."""

import hashlib
import io
import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from dpforest.tables import csv_rows
from dpforest.tables.csv_format import CsvFormat
from dpforest.tables.datasets import (
    DATA,
    SYNTHETIC,
    TableError,
    label_candidates,
    list_datasets,
    load_dataset,
    make_synthetic,
    read_csv,
    suggest_domain,
    suggest_label,
)
from dpforest.tables.domain import Domain, DomainError, Feature
from dpforest.tables.read_parts import assert_parts, read_parts


def kinds(csv):
    return {column.name: column.kind for column in csv.columns}


def notes(csv):
    return " ".join(csv.notes)


class TestDialects:
    @pytest.mark.parametrize("mark", [",", ";", "\t", "|"])
    @pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-32", "latin-1"])
    @pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"])
    def test_delimiter_encoding_newline(self, mark, encoding, newline):
        rows = [("größe", "name", "y"), ("1", "Ünal", "0"), ("2", "Åse", "1")]
        csv = read_csv(newline.join(mark.join(row) for row in rows).encode(encoding))
        assert csv.delimiter == mark
        assert csv.table.to_dict("list") == {"größe": [1, 2], "name": ["Ünal", "Åse"], "y": [0, 1]}
        assert csv.table.dtypes.astype(str).tolist() == ["int64", "str", "int64"]

    def test_windows_quotes_in_latin1(self):
        csv = read_csv("a,b\n“x”,1\ny–z,2\n".encode("cp1252"))
        assert csv.encoding == "Latin-1"
        assert csv.table["a"].tolist() == ["“x”", "y–z"]

    def test_a_quoted_cell_may_hold_anything(self):
        csv = read_csv(b'a,"b\nc",d\n1,"x, ""y""\r\nz;\t|",p\n2,w,q\n')
        assert csv.table["b c"].tolist() == ['x, "y"\r\nz;\t|', "w"]
        assert "inside quoted cells" in notes(csv)

    def test_other_delimiters_inside_cells_do_not_mislead(self):
        csv = read_csv(b"a;b\n1,5;x|y|z\n2,5;p,q,r\n")
        assert csv.delimiter == ";"
        assert csv.table.shape == (2, 2)

    def test_other_delimiters_in_the_header_do_not_mislead(self):
        assert read_csv(b"id;size, in cm, net\n1;2\n3;4\n").table.columns.tolist() == ["id", "size, in cm, net"]

    def test_the_sep_line_of_excel_sets_the_delimiter(self):
        assert read_csv(b"sep=|\na;b|c\n1;2|3\n4;5|6\n").table.columns.tolist() == ["a;b", "c"]

    def test_empty_lines_are_not_rows(self):
        csv = read_csv(b"\n\na,b\n1,2\n\n3,4\n\n\n")
        assert csv.table.to_dict("list") == {"a": [1, 3], "b": [2, 4]}

    def test_paths_and_files_are_read(self, tmp_path):
        path = tmp_path / "people.csv"
        path.write_bytes(b"a,b\n1,2\n3,4\n")
        with path.open("rb") as file:
            read = [read_csv(path), read_csv(str(path)), read_csv(file), read_csv(io.BytesIO(path.read_bytes()))]
        assert all(csv.table.equals(read[0].table) for csv in read)
        assert read[0].name == "people.csv"
        assert read_csv(path, name="People").name == "People"

    def test_thousands_of_columns_are_read(self):
        X = np.random.default_rng(0).integers(0, 9, (5, 4000))
        csv = read_csv(pd.DataFrame(X).to_csv(index=False).encode())
        np.testing.assert_array_equal(csv.table.to_numpy(), X)
        assert csv.table.columns[:2].tolist() == ["0", "1"]

    def test_columns_without_a_name_get_one(self):
        csv = read_csv(pd.DataFrame({"a": [5, 5, 7], "b": ["x", "y", "x"]}).to_csv().encode())
        assert csv.table.columns.tolist() == ["column 1", "a", "b"]
        assert "called by its place" in notes(csv)


class TestCells:
    def column(self, *cells, mark=","):
        text = f"v{mark}w\n" + "".join(f'"{cell}"{mark}k\n' for cell in cells)
        csv = read_csv(text.encode())
        return csv.table["v"].tolist(), csv

    @pytest.mark.parametrize(
        ("cells", "mark", "values"),
        [
            (("1,5", "-2", "1.234,25"), ";", [1.5, -2.0, 1234.25]),
            (("1,234", "0,5"), ";", [1.234, 0.5]),
            (("1,234", "12"), ";", [1.234, 12]),
            (("1,234", "12"), ",", [1234, 12]),
            (("1,234.5", "12,000"), ",", [1234.5, 12000]),
            (("1,5", "2,25"), ",", [1.5, 2.25]),
            (("1 234,5", "7,0"), "\t", [1234.5, 7.0]),
            (("1e3", "-2.5E-2", "+4", ".5"), ",", [1000.0, -0.025, 4.0, 0.5]),
            (("1.5", "1,5"), ";", ["1.5", "1,5"]),
            (("007", "012"), ",", ["007", "012"]),
            (("0.5", "0"), ",", [0.5, 0.0]),
            (("00.5", "1.5"), ",", ["00.5", "1.5"]),
            (("1234567890123456", "1"), ",", ["1234567890123456", "1"]),
            (("0x10", "0x11"), ",", ["0x10", "0x11"]),
            (("1_000", "2"), ",", ["1_000", "2"]),
            (("true", "FALSE"), ",", ["true", "FALSE"]),
            (("12%", "13%"), ",", ["12%", "13%"]),
            ((" a ", "b"), ",", ["a", "b"]),
        ],
    )
    def test_read_as(self, cells, mark, values):
        assert self.column(*cells, mark=mark)[0] == values

    @pytest.mark.parametrize("hole", ["", "?", "NA", "N/A", "NaN", "null", "#N/A"])
    def test_words_for_missing_cells_are_read_as_missing(self, hole):
        for others in (("1", "2"), ("red", "blue")):
            values, csv = self.column(*others, hole)
            assert pd.isna(values[2])
            assert csv.columns[0].n_missing == 1
            assert "read as missing in 'v'" in notes(csv)

    def test_some_words_are_missing_cells_among_numbers_only(self):
        assert pd.isna(self.column("1.5", "-", "none")[0][1:]).all()
        assert self.column("cable", "-", "none")[0] == ["cable", "-", "none"]

    def test_notes_state_the_detected_format(self):
        csv = read_csv(b"size; city ;n\n1,5; Bonn;1\n2,5;?;2\n")
        assert csv.notes == (
            "Semicolons between columns, UTF-8, 2 rows and 3 columns.",
            "Decimal commas in 'size'.",
            "Spaces around cells removed in 'city'.",
            "'?' is read as missing in 'city'.",
        )
        assert csv.decimal == ","


class TestCellByCell:
    """With a domain, one more row in the file does not change how other rows are read."""

    def read(self, feature, *cells, mark=",", **settings):
        text = f"v{mark}y\n" + "".join(f'"{cell}"{mark}k\n' for cell in cells)
        csv = read_csv(text.encode())
        domain = Domain((feature,), reading=CsvFormat(delimiter=mark, **settings))
        return csv.read_with(domain)["v"], csv.unread(domain)

    NUMBER = Feature("v", "numeric", -10_000, 10_000, missing="category")

    def category(self, *categories):
        return Feature("v", "categorical", categories=categories, missing="category")

    @pytest.mark.parametrize(
        ("cells", "decimal", "values"),
        [
            (("1", "-2.5", "+.5e1", "5.", "1,234", "-1,234.5", "007"), ".", [1, -2.5, 5, 5, 1234, -1234.5, 7]),
            (("1,5", ",5", "5,", "1.234", "1 234,5", "1.234,5e1"), ",", [1.5, 0.5, 5, 1234, 1234.5, 12345]),
            (("", "?", "NA", "-", "unknown", "#DIV/0!"), ".", [None] * 6),
            (("", "?", "NA", "-", "unknown", "#DIV/0!"), ",", [None] * 6),
        ],
    )
    def test_numbers(self, cells, decimal, values):
        read, unread = self.read(self.NUMBER, *cells, mark=";", decimal=decimal)
        assert [None if np.isnan(x) else x for x in read] == values
        assert not unread

    @pytest.mark.parametrize(
        ("cell", "decimal"),
        [
            ("x", "."),
            ("+", "."),
            ("e5", "."),
            ("+", ","),
            ("e5", ","),
            (",", ","),
            ("1,5", "."),
            ("1.5", ","),
            ("12,34", "."),
            ("0x1", "."),
            ("1_0", "."),
            ("1e999", "."),
            ("inf", "."),
        ]
        + [("9" * 400, "."), ("2020-01-01", "."), ("٣", ".")],
    )
    def test_a_cell_without_a_number_is_missing_and_reported(self, cell, decimal):
        read, unread = self.read(self.NUMBER, "1", cell, "2", decimal=decimal)
        assert read.isna().tolist() == [False, True, False]
        assert unread == [f"1 cell of 'v' is no number and counts as missing; the first is {cell[:40]!r}."]
        refused = Domain((replace(self.NUMBER, missing="refuse"),))
        with pytest.raises(DomainError, match="1 missing cell"):
            refused.encode(read.to_frame())

    @pytest.mark.parametrize(
        ("categories", "cells", "values"),
        [
            (("1", "2"), ("1", "1.0", " 2.00 ", "+1", "0.1e1", "01", "x"), ["1", "1", "2", "1", "1", "01", "x"]),
            (("0.5",), (".5", "0.50", "0.5"), ["0.5"] * 3),
            (("1.0",), ("1.0", "1"), ["1.0", "1"]),
            (("a", "NA"), ("a", "NA", "?", ""), ["a", "NA", None, None]),
            (("a ", "b"), ("a", " a", "b"), ["a ", "a ", "b"]),
            (("1234567890123456",), ("1234567890123456", "1234567890123456.0"), ["1234567890123456"] * 1 + [None]),
        ],
    )
    def test_categories(self, categories, cells, values):
        read, _ = self.read(self.category(*categories), *cells)
        if values[-1] is None and cells[-1]:
            values = [*values[:-1], cells[-1]]  # too long to be compared as a number
        assert [None if pd.isna(cell) else cell for cell in read] == values

    def test_categories_in_a_file_with_decimal_commas(self):
        read, _ = self.read(self.category("1", "2.5"), "1,0", "2,50", "2.5", mark=";", decimal=",")
        assert read.tolist() == ["1", "2.5", "2.5"]

    @pytest.mark.parametrize("extra", ["x", "", "true", "1e999", "007", "9" * 30, "1,5", "2020-01-01"])
    @pytest.mark.parametrize("first", [True, False])
    def test_one_more_cell_changes_no_other(self, extra, first):
        cells = ["1.0", "2.0", "1.0", "1,234"]
        more = [extra, *cells] if first else [*cells, extra]
        for feature in (self.category("1", "2"), self.NUMBER):
            alone = Domain((feature,)).encode(self.read(feature, *cells)[0].to_frame())
            codes = Domain((feature,)).encode(self.read(feature, *more)[0].to_frame())
            assert (codes[1:] if first else codes[:-1]).tolist() == alone.tolist()

    def test_a_byte_that_is_no_character_changes_no_other_cell(self):
        domain = Domain((Feature("city", "categorical", categories=("Köln", "Ulm"), missing="category"),))
        rows = "city,y\nKöln,0\nUlm,1\n".encode()
        for bad in (b"\xff", b"\xe4", b"\xc3", b"\xf0\x9f"):
            for data in (rows + bad + b",1\n", rows + b'"' + bad + b'",1\n'):
                assert domain.encode(read_csv(data).read_with(domain)).ravel().tolist() == [0, 1, 2]

    def test_one_bad_byte_does_not_make_a_file_latin1(self):
        csv = read_csv("city,y\nKöln,0\nKöln,1\n".encode() + b"\xff,1\n")
        assert csv.encoding == "UTF-8"
        assert csv.table["city"].tolist() == ["Köln", "Köln", "\ufffd"]
        assert "1 character that could not be read" in notes(csv)

    def test_latin1_is_read_byte_by_byte(self):
        rows = "a,y\n“x”,1\ny–z,2\n".encode("cp1252")
        for data in (rows, rows + b"\x81,3\n"):  # a byte that Windows leaves undefined
            csv = read_csv(data)
            domain = replace(suggest_domain(read_csv(rows), "y"), reading=csv.reading)
            assert csv.table["a"].tolist()[:2] == csv.read_with(domain)["a"].tolist()[:2] == ["“x”", "y–z"]

    @pytest.mark.parametrize(
        "encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "utf-32", "latin-1"]
    )
    @pytest.mark.parametrize("mark", [",", ";", "\t", "|", "'"])
    def test_a_suggested_domain_reads_the_same(self, encoding, mark):
        sep_line = f"sep={mark}\n" if mark == "'" else ""
        rows = [("größe", "a", "lat", "y"), ("1;5", "Ünal", "0.5", "0"), ("2;5", "Åse", "1.234", "1")]
        text = sep_line + "\n".join(mark.join(row) for row in rows).replace("1;5", '"1,5"').replace("2;5", '"2,5"')
        csv = read_csv(text.encode(encoding))
        domain = suggest_domain(csv, "y")
        assert domain.reading.point_columns == ("lat",)
        read = csv.read_with(domain)
        assert read.columns.tolist() == ["größe", "a", "lat", "y"]
        assert read["größe"].tolist() == [1.5, 2.5]
        np.testing.assert_array_equal(domain.encode(read), domain.encode(csv.table))
        np.testing.assert_array_equal(domain.encode_labels(read["y"]), domain.encode_labels(csv.table["y"]))

    @pytest.mark.parametrize("mark", ["é", '"', "a", "7", "\u2028"])
    def test_an_impossible_delimiter_in_a_sep_line_is_refused(self, mark):
        with pytest.raises(TableError, match="separates columns, but it cannot be a delimiter"):
            read_csv(f"sep={mark}\na{mark}b\n1{mark}x\n2{mark}y\n".encode())

    def test_file_settings_are_stated_in_the_certificate(self):
        csv = read_csv(b"size;city;y\n1,5;Bonn;1\n2,5;Ulm;2\n")
        read = suggest_domain(csv, "y")
        settings = "the file is UTF-8 text with ';' between columns and decimal commas"
        assert f"How the rows are written was found out from them: {settings}." in read.leaks()
        asserted = assert_parts(read, read_parts(read), "our export")
        assert asserted.leaks() == []
        assert f"That {settings} is asserted by the curator: “our export”." in asserted.assumptions()

    def test_the_label_may_be_absent_and_a_column_may_not(self):
        csv = read_csv(b"a;b\n1;2\n3;4\n")
        a = Feature("a", "numeric", 0, 9)
        assert csv.read_with(Domain((a,), (0, 1), "y", reading=csv.reading)).columns.tolist() == ["a"]
        with pytest.raises(
            DomainError, match=r"no column 'a' when it is read as its domain states \(the file is UTF-8"
        ):
            csv.read_with(Domain((a,)))
        with pytest.raises(TableError, match="'EBCDIC' is not known"):
            csv.read_with(Domain((a,), reading=CsvFormat("EBCDIC")))

    def test_an_open_quote_does_not_swallow_rows(self):
        with pytest.raises(TableError, match="is opened after line 3 and never closed|cannot be split"):
            read_csv(b'a,b\n"1",2\n5"6,3\n"x,1\n4,5\n')

    def test_labels_are_read_like_categories(self):
        csv = read_csv(b"a,y\n1,1.0\n2,2\n3, 1 \n4,\n")
        domain = Domain((Feature("a", "numeric", 0, 9),), (1, 2), "y", "asserted", "made up")
        assert domain.encode_labels(csv.read_with(domain)["y"].iloc[:3]).tolist() == [0, 1, 0]
        with pytest.raises(DomainError, match="'y' is missing in 1 row"):
            domain.encode_labels(csv.read_with(domain)["y"])


class TestKindsOfColumns:
    N = 40

    def kind(self, values, name="v"):
        csv = read_csv(pd.DataFrame({name: values, "k": ["p", "q"] * (len(values) // 2)}).to_csv(index=False).encode())
        column = csv.column(name)
        assert column.reason.endswith(".")
        return column.kind

    @pytest.mark.parametrize(
        ("name", "values", "kind"),
        [
            ("v", range(1, 41), "id"),
            ("row", [5 * j for j in range(40)], "id"),
            ("customer_id", [j // 2 for j in range(60)], "id"),
            ("customerId", [f"u{j // 2}" for j in range(60)], "id"),
            ("v", [f"{j:08x}-4e5f" for j in range(40)], "id"),
            ("v", [f"{j % 1500}x" for j in range(4500)], "id"),
            ("paid", [7 * j for j in range(40)], "numeric"),
            ("v", [j / 7 for j in range(40)], "numeric"),
            ("v", [0, 1] * 20, "numeric"),
            ("v", ["red", "blue", "red", None] * 10, "categorical"),
            ("v", ["01067", "10115"] * 20, "categorical"),
            ("v", [None] * 40, "empty"),
            ("v", [3] * 40, "constant"),
            ("v", ["x"] * 40, "constant"),
            ("v", ["x", None] * 20, "categorical"),
            ("v", [f"2020-01-{1 + j % 28:02d}" for j in range(40)], "date"),
            ("v", [f"{1 + j % 28}.3.2021 14:05" for j in range(40)], "date"),
            ("v", [f"{1 + j % 12}/28/99" for j in range(40)], "date"),
            ("v", [f"{1 + j % 28} March 2021" for j in range(40)], "date"),
            ("v", [f"2020-01-01T{j % 24:02d}:00:00Z" for j in range(40)], "date"),
            ("v", [20200101 + j % 28 for j in range(40)], "date"),
            ("v", [2001 + j % 20 for j in range(40)], "numeric"),
            ("v", [f"{j % 3}-{j % 2}" for j in range(40)], "categorical"),
        ],
    )
    def test_kind(self, name, values, kind):
        assert self.kind(list(values), name) == kind

    def test_constant_and_empty_columns_are_kept_and_left_out_of_the_suggestion(self):
        csv = read_csv(b"a,none,same,y\n1,,5,n\n2,?,5,y\n3,NA,5,n\n")
        assert csv.table.shape == (3, 4)
        assert kinds(csv) == {"a": "numeric", "none": "empty", "same": "constant", "y": "categorical"}
        assert suggest_domain(csv, "y").names == ("a",)


class TestLabels:
    @pytest.mark.parametrize(
        ("text", "label"),
        [
            ("a,b,y\n1,x,0\n2,y,1\n3,x,0\n", "y"),
            ("Class,b,c\n1,0.5,0\n2,0.7,1\n1,0.1,0\n", "Class"),
            ("a,b,c\np,0.5,0.25\nq,0.7,1.5\np,0.1,3.5\n", "a"),
            ("a,b,c\n1.5,0.5,0.25\n2.5,0.7,1.5\n1.5,0.1,3.5\n", None),
            ("a,b,target\n1,x,\n2,y,1\n3,x,0\n", "b"),
            ("a,b,target\n1.5,x,\n2.5,x,1\n3.5,x,0\n", "target"),
            ("a,target,b\n1.5,1,p\n2.5,,q\n3.5,0,\n", "target"),
        ],
    )
    def test_suggestion(self, text, label):
        assert suggest_label(read_csv(text.encode())) == label

    def test_candidates_have_between_2_and_50_values(self):
        n = 102
        table = pd.DataFrame(
            {"two": [0, 1] * 51, "fifty": [f"c{j % 50}" for j in range(n)], "many": [j % 51 for j in range(n)]}
        )
        csv = read_csv(table.to_csv(index=False).encode())
        assert label_candidates(csv) == ["two", "fifty"]
        assert len(suggest_domain(csv, "fifty").classes) == 50

    def test_numbers_and_texts_as_labels(self):
        csv = read_csv(b"a,i,t\n1,-1,no\n2,7,yes\n3,7,no\n")
        assert suggest_domain(csv, "i").classes == (-1, 7)
        assert suggest_domain(csv, "t").classes == ("no", "yes")
        for label in "it":
            domain = suggest_domain(csv, label, ["a"])
            assert domain.encode_labels(csv.table[label]).tolist() in ([0, 1, 1], [0, 1, 0])
            assert len(domain.leaks()) == 3  # bounds, classes, format of the file
            assert len(suggest_domain(csv, label).leaks()) == 5  # one more attribute, and the list of columns

    @pytest.mark.parametrize(
        ("label", "features", "error", "message"),
        [
            ("one", None, TableError, "only one class"),
            ("nowhere", None, TableError, "no column 'nowhere'"),
            ("y", ["y"], TableError, "No attribute is left"),
            ("y", ["nowhere"], TableError, "no column 'nowhere'"),
        ],
    )
    def test_refusals(self, label, features, error, message):
        csv = read_csv(b"a,one,holes,y\n1,5,x,0\n2,5,,1\n3,5,z,0\n")
        with pytest.raises(error, match=message):
            suggest_domain(csv, label, features)

    def test_a_label_with_missing_cells_has_the_classes_of_the_others(self):
        csv = read_csv(b"a,b,ill,t\n1,0,0,p\n2,0,,q\n3,0,1,\n4,1,?,p\n5,1,1,q\n")
        # The suggestions begin with columns without missing labels, and end with columns that look like row names.
        assert label_candidates(csv) == ["b", "t", "ill", "a"]
        domain = suggest_domain(csv, "ill")
        assert domain.classes == (0, 1)
        assert domain.listed_labels(csv.read_with(domain)["ill"]).tolist() == [0, -1, 1, -1, 1]
        assert suggest_domain(csv, "t").classes == ("p", "q")

    def test_too_many_classes_and_categories(self):
        table = pd.DataFrame({"name": [f"n{j}" for j in range(10_000)], "y": [0, 1] * 5_000})
        csv = read_csv(table.to_csv(index=False).encode())
        assert kinds(csv)["name"] == "id"
        with pytest.raises(TableError, match="10,000 different values; choose one with 2 to 50 classes"):
            suggest_domain(csv, "name")
        with pytest.raises(DomainError, match="10,000 different values, more than 1,000"):
            suggest_domain(csv, "y", ["name"])


class TestBadFiles:
    @pytest.mark.parametrize(
        ("data", "message"),
        [
            (b"", "The file is empty"),
            (b" \n\r\n ", "The file is empty"),
            (b"\xef\xbb\xbf", "The file is empty"),
            (b"a,b,c\n", "no rows below its header"),
            (b"a,b,c\n1,2,3\n", "one row below its header"),
            (b"a\n1\n2\n", "Only one column was found"),
            (b"a,b,a\n1,2,3\n4,5,6\n", "Two columns are called 'a'"),
            (b"1,2,1\n1,2,3\n4,5,6\n", "lack a line of column names"),
            (b"a,b\n1,2\n3\n5,6\n", "Line 3 has 1 cell, but the header has 2"),
            (b'a,b\n1,"x\ny"\n3,4,5\n5,6\n', "Line 4 has 3 cells, but the header has 2"),
            (b'a,b\n1,x\n2,"y\n3,z\n4,w\n', r"A quote \(\"\) is opened after line 2 and never closed"),
            (bytes(range(256)) * 20, "not a text file"),
            (np.random.default_rng(0).bytes(5000), "not a text file"),
            (b"a,b\n1,\x00\n" + b"2,3\n" * 2000, "not a text file"),
            (b"PK\x03\x04 rest of a workbook", "Excel or ZIP file"),
            (b"\x1f\x8b\x08", "gzip archive"),
            (b"\xff\xfea\x00,\x00b", "UTF-16 but cannot be read"),
        ],
    )
    def test_one_clear_sentence(self, data, message):
        with pytest.raises(TableError, match=message) as error:
            read_csv(data)
        assert str(error.value).endswith(".")
        assert "\n" not in str(error.value)

    def test_a_file_above_the_limit_is_refused(self, monkeypatch, tmp_path):
        monkeypatch.setattr(csv_rows, "MAX_UPLOAD_MB", 1)
        path = tmp_path / "large.csv"
        path.write_bytes(b"a,b\n" + b"1,2\n" * 2**18)
        for source in (path, path.read_bytes(), io.BytesIO(path.read_bytes())):
            with pytest.raises(TableError, match="larger than 1 MB"):
                read_csv(source)

    def test_a_path_that_does_not_exist_is_refused(self, tmp_path):
        with pytest.raises(TableError, match="cannot be read"):
            read_csv(tmp_path / "none.csv")


class TestBundled:
    CERTIFY = {
        "adult",
        "breast_wisconsin",
        "car",
        "chess_kr_vs_kp",
        "congressional_voting",
        "hepatitis",
        "mushroom",
        "nursery",
        "pendigits",
        "sonar",
        "zoo",
    }

    def test_names(self):
        assert len(list_datasets()) == 18
        assert set(list_datasets()) > self.CERTIFY
        with pytest.raises(TableError, match="choose one of adult, "):
            load_dataset("iris")

    @pytest.mark.parametrize("name", [*list_datasets(), *SYNTHETIC])
    def test_every_table_fits_its_domain(self, name):
        data = load_dataset(name)
        codes = data.domain.encode(data.X)
        assert (codes < [feature.n_codes for feature in data.domain.features]).all()
        assert data.X.columns.tolist() == list(data.domain.names)
        labels = data.domain.encode_labels(data.y)
        assert len(np.unique(labels)) == data.domain.n_classes
        report = data.domain.report(data.X)
        assert report["unlisted"].sum() == 0
        owned = [feature.missing == "category" for feature in data.domain.features]
        assert (report["missing"] > 0).tolist() == owned

    @pytest.mark.parametrize("name", list_datasets())
    def test_the_catalog_agrees_with_the_tables(self, name):
        entry = json.loads((DATA / "catalog.json").read_text())["datasets"][name]
        data = load_dataset(name)
        assert hashlib.sha256((DATA / entry["file"]).read_bytes()).hexdigest() == entry["sha256"]
        assert data.table.shape == (entry["n_rows"], entry["n_attributes"] + 1)
        assert (not data.domain.leaks()) == entry["certified_ready"] == (name in self.CERTIFY)
        whole = load_dataset(name, incomplete="drop")
        assert len(whole.table) == entry["rows_complete"]
        assert whole.n_left_out == entry["n_rows"] - entry["rows_complete"]
        assert not whole.table.isna().any(axis=None)
        assert all(feature.missing == "refuse" for feature in whole.domain.features)
        assert whole.domain.leaks() == data.domain.leaks()
        assert any("rows with missing values were left out" in assumption for assumption in whole.domain.assumptions())
        assert not data.domain.reading
        attribution = (DATA / "ATTRIBUTION.md").read_text()
        assert f"`{name}`" in attribution
        assert entry["uci_url"] in attribution
        assert "CC BY 4.0" in data.attribution

    def test_documented_bounds_are_not_those_of_the_data(self):
        """Some documented bounds differ from the smallest and largest value of the data.

        If all bounds were values of the data, they would probably come from the data.
        """
        adult = load_dataset("adult")
        bounds = {feature.name: (feature.low, feature.high) for feature in adult.domain.features}
        assert bounds["capital-loss"] == (0, 9999) != (0, adult.X["capital-loss"].max())
        assert bounds["fnlwgt"] == (2, 99_999_999)
        assert "A-AGE" in adult.domain.features[0].source_note

    def test_tables_without_public_bounds_name_the_attributes(self):
        assert [leak.split("'")[1] for leak in load_dataset("magic").domain.leaks()] == [
            "fLength",
            "fWidth",
            "fSize",
            "fAsym",
            "fM3Long",
            "fM3Trans",
            "fDist",
        ]
        assert len(load_dataset("wdbc").domain.leaks()) == 30

    @pytest.mark.parametrize(
        ("name", "m"), [("SynthA", 5), ("SynthC", 15), ("SynthD", 15), ("SynthE", 15), ("SynthG", 20)]
    )
    def test_synthetic(self, name, m):
        data = make_synthetic(name, n=2000, seed=3)
        assert data.X.shape == (2000, m)
        assert data.domain.leaks() == []
        assert abs(data.y.mean() - 0.5) < 0.05
        assert data.table.equals(make_synthetic(name, n=2000, seed=3).table)
        assert not data.table.equals(make_synthetic(name, n=2000, seed=4).table)
        assert data.domain.report(data.X)["clipped"].sum() < 0.01 * data.X.size
        assert make_synthetic(name, n=100).domain == data.domain  # the domain does not depend on the data

    def test_a_bundled_table_read_as_csv_is_the_same(self):
        """Adult as an uploaded CSV file has the same cells, and a schema in which every part is a leak."""
        data = load_dataset("adult")
        csv = read_csv(data.table.to_csv(index=False).encode())
        pd.testing.assert_frame_equal(csv.table, data.table)
        assert suggest_label(csv) == "income"
        assert kinds(csv)["fnlwgt"] == "numeric"
        domain = suggest_domain(csv, "income")
        assert domain.names == data.domain.names
        assert len(domain.leaks()) == 14 + 3  # attributes; classes, format of the file, list of columns


@pytest.mark.parametrize(
    "lines",
    [
        ['5"2,"Ulm'],  # an even number of quotes in the line
        ['"a"b,Ulm', '3,"Bonn'],  # text after a quoted cell, which a strict reader refuses
    ],
)
def test_an_open_quote_never_swallows_rows(lines):
    rows = [f"{i},Ulm" for i in range(40)]
    with pytest.raises(TableError, match="never closed"):
        read_csv("\n".join(["size,city", *rows[:20], *lines, *rows[20:]]).encode())


def test_an_open_quote_above_very_many_rows_is_refused_with_its_line():
    rows = [f"{i},Ulm" for i in range(20_000)]
    with pytest.raises(TableError, match="opened after line 21 and never closed"):
        read_csv("\n".join(["size,city", *rows[:20], '1,"Ulm', *rows[20:]]).encode())
