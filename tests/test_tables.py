"""CSV files as people have them, what is said about bad ones, and the bundled data sets."""

import hashlib
import io
import json

import numpy as np
import pandas as pd
import pytest

from dpforest import csv_reading
from dpforest.domain import DomainError
from dpforest.tables import (
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

    def test_excel_tells_the_delimiter(self):
        assert read_csv(b"sep=|\na;b|c\n1;2|3\n4;5|6\n").table.columns.tolist() == ["a;b", "c"]

    def test_empty_lines_are_not_rows(self):
        csv = read_csv(b"\n\na,b\n1,2\n\n3,4\n\n\n")
        assert csv.table.to_dict("list") == {"a": [1, 3], "b": [2, 4]}

    def test_paths_and_files(self, tmp_path):
        path = tmp_path / "people.csv"
        path.write_bytes(b"a,b\n1,2\n3,4\n")
        with path.open("rb") as file:
            read = [read_csv(path), read_csv(str(path)), read_csv(file), read_csv(io.BytesIO(path.read_bytes()))]
        assert all(csv.table.equals(read[0].table) for csv in read)
        assert read[0].name == "people.csv"
        assert read_csv(path, name="People").name == "People"

    def test_thousands_of_columns(self):
        X = np.random.default_rng(0).integers(0, 9, (5, 4000))
        csv = read_csv(pd.DataFrame(X).to_csv(index=False).encode())
        np.testing.assert_array_equal(csv.table.to_numpy(), X)
        assert csv.table.columns[:2].tolist() == ["0", "1"]

    def test_columns_without_a_name(self):
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
    def test_missing(self, hole):
        for others in (("1", "2"), ("red", "blue")):
            values, csv = self.column(*others, hole)
            assert pd.isna(values[2])
            assert csv.columns[0].n_missing == 1
            assert "read as missing in 'v'" in notes(csv)

    def test_some_words_are_missing_among_numbers_only(self):
        assert pd.isna(self.column("1.5", "-", "none")[0][1:]).all()
        assert self.column("cable", "-", "none")[0] == ["cable", "-", "none"]

    def test_what_was_understood_is_said(self):
        csv = read_csv(b"size; city ;n\n1,5; Bonn;1\n2,5;?;2\n")
        assert csv.notes == (
            "Semicolons between columns, UTF-8, 2 rows and 3 columns.",
            "Decimal commas in 'size'.",
            "Spaces around cells removed in 'city'.",
            "'?' is read as missing in 'city'.",
        )
        assert csv.decimal == ","


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
            assert len(domain.leaks()) == 2

    @pytest.mark.parametrize(
        ("label", "features", "error", "message"),
        [
            ("one", None, TableError, "only one class"),
            ("holes", None, TableError, "missing in 1 of 3 rows"),
            ("nowhere", None, TableError, "no column 'nowhere'"),
            ("y", ["y"], TableError, "No attribute is left"),
            ("y", ["nowhere"], TableError, "no column 'nowhere'"),
        ],
    )
    def test_refusals(self, label, features, error, message):
        csv = read_csv(b"a,one,holes,y\n1,5,x,0\n2,5,,1\n3,5,z,0\n")
        with pytest.raises(error, match=message):
            suggest_domain(csv, label, features)

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

    def test_a_file_above_the_limit(self, monkeypatch, tmp_path):
        monkeypatch.setattr(csv_reading, "MAX_UPLOAD_MB", 1)
        path = tmp_path / "large.csv"
        path.write_bytes(b"a,b\n" + b"1,2\n" * 2**18)
        for source in (path, path.read_bytes(), io.BytesIO(path.read_bytes())):
            with pytest.raises(TableError, match="larger than 1 MB"):
                read_csv(source)

    def test_a_path_that_is_not_there(self, tmp_path):
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
        owned = [feature.missing == "own" for feature in data.domain.features]
        assert (report["missing"] > 0).tolist() == owned

    @pytest.mark.parametrize("name", list_datasets())
    def test_catalogue_tells_the_truth(self, name):
        entry = json.loads((DATA / "catalogue.json").read_text())["datasets"][name]
        data = load_dataset(name)
        assert hashlib.sha256((DATA / entry["file"]).read_bytes()).hexdigest() == entry["sha256"]
        assert data.table.shape == (entry["n_rows"], entry["n_attributes"] + 1)
        assert (not data.domain.leaks()) == entry["certified_ready"] == (name in self.CERTIFY)
        whole = load_dataset(name, incomplete="drop")
        assert len(whole.table) == entry["rows_complete"]
        assert whole.n_left_out == entry["n_rows"] - entry["rows_complete"]
        assert not whole.table.isna().any(axis=None)
        assert all(feature.missing == "refuse" for feature in whole.domain.features)
        attribution = (DATA / "ATTRIBUTION.md").read_text()
        assert f"`{name}`" in attribution
        assert entry["uci_url"] in attribution
        assert "CC BY 4.0" in data.attribution

    def test_documented_bounds_are_not_those_of_the_data(self):
        """A documented range that ends exactly where the data do everywhere would be a suspicious one."""
        adult = load_dataset("adult")
        bounds = {feature.name: (feature.low, feature.high) for feature in adult.domain.features}
        assert bounds["capital-loss"] == (0, 9999) != (0, adult.X["capital-loss"].max())
        assert bounds["fnlwgt"] == (2, 99_999_999)
        assert "A-AGE" in adult.domain.features[0].source_note

    def test_what_does_not_certify_says_which(self):
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
        assert make_synthetic(name, n=100).domain == data.domain  # the domain does not look at the data

    def test_bundled_tables_read_as_csv_give_the_same(self):
        """What a user gets who uploads our Adult: the same cells, and a schema that is all leaks."""
        data = load_dataset("adult")
        csv = read_csv(data.table.to_csv(index=False).encode())
        pd.testing.assert_frame_equal(csv.table, data.table)
        assert suggest_label(csv) == "income"
        assert kinds(csv)["fnlwgt"] == "numeric"
        domain = suggest_domain(csv, "income")
        assert domain.names == data.domain.names
        assert len(domain.leaks()) == 15
