"""The public schema: codes of cells, refusals, and leaks."""

import json
import math
import pickle
import tracemalloc
from dataclasses import replace
from decimal import Decimal
from enum import StrEnum
from fractions import Fraction

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from scipy.sparse import csr_array

from dpforest.limits import MAX_CATEGORIES, MISSING_STRIP, N_CODES
from dpforest.tables.domain import HANDED_OVER, READ_BY_RULE, Domain, DomainError, Feature

AGE = Feature("age", "numeric", low=0, high=100, source="documented", source_note="the questionnaire", scale="linear")
CITY = Feature("city", "categorical", categories=("Bonn", "Ulm", "Köln"), source="asserted", source_note="our offices")


def domain(*features, **kwargs):
    return Domain(features, **kwargs)


def naive(feature, value):
    """Return the code of a value by the documented formula, in plain Python."""
    if value is None or value != value:
        return {"category": 0}.get(
            feature.missing, feature.code(feature.missing_value) if feature.missing == "value" else -1
        )
    span = N_CODES - feature.first_code
    return feature.first_code + min(
        max(math.floor((value - feature.low) / (feature.high - feature.low) * span), 0), span - 1
    )


class TestNumericCodes:
    @pytest.mark.parametrize(
        ("value", "code"), [(0, 0), (50, 32768), (99.999, 65535), (100, 65535), (1e9, 65535), (-1, 0), (25, 16384)]
    )
    def test_golden(self, value, code):
        assert domain(AGE).encode(np.array([[value]], dtype=float))[0, 0] == code == AGE.code(value)

    @pytest.mark.parametrize(("value", "code"), [(np.nan, 0), (0, 5957), (-3, 5957), (50, 5957 + 29789), (100, 65535)])
    def test_missing_cells_get_a_separate_strip_below_the_range(self, value, code):
        assert MISSING_STRIP == 5957
        assert domain(replace(AGE, missing="category")).encode(np.array([[value]]))[0, 0] == code

    def test_missing_replaced_by_a_public_value(self):
        feature = replace(AGE, missing="value", missing_value=50)
        assert domain(feature).encode(np.array([[np.nan], [50.0]])).ravel().tolist() == [32768, 32768]

    @pytest.mark.parametrize("missing", ["category", "value", "refuse"])
    @pytest.mark.parametrize(("low", "high"), [(0, 1), (-7.3, 1e6), (1e-300, 2e-300), (17, 90)])
    def test_agrees_with_the_formula(self, missing, low, high):
        value = low if missing == "value" else None
        feature = Feature("x", "numeric", low, high, missing=missing, missing_value=value, scale="linear")
        rng = np.random.default_rng(1)
        x = rng.uniform(low - 0.2 * (high - low), high + 0.2 * (high - low), 300)
        x[:3] = low, high, np.nextafter(high, low)
        if missing != "refuse":
            x[10:20] = np.nan
        assert domain(feature).encode(x[:, None]).ravel().tolist() == [naive(feature, v) for v in x.tolist()]

    @pytest.mark.parametrize("missing", ["refuse", "category"])
    def test_a_shown_threshold_splits_like_the_code(self, missing):
        """A code is above t exactly if its value x is at least threshold_value(t)."""
        feature = Feature("x", "numeric", -3.0, 11.5, missing=missing, scale="linear")
        rng = np.random.default_rng(2)
        for t in [feature.first_code, 20_000, 40_001, N_CODES - 2, *rng.integers(feature.first_code, N_CODES - 1, 50)]:
            at = feature.threshold_value(int(t))
            step = (feature.high - feature.low) / N_CODES
            x = np.array([at - step / 3, at + step / 3])
            assert (domain(feature).encode(x[:, None]).ravel() > t).tolist() == [False, True]

    def test_a_threshold_in_the_strip_asks_whether_the_value_is_known(self):
        feature = replace(AGE, missing="category")
        codes = domain(feature).encode(np.array([[np.nan], [-5.0], [0.0], [100.0]])).ravel()
        for t in (0, 1000, feature.first_code - 1):
            assert feature.threshold_value(t) == -math.inf
            assert (codes > t).tolist() == [False, True, True, True]

    def test_layouts_and_dtypes_agree(self):
        rng = np.random.default_rng(3)
        X = rng.integers(-5, 110, (257, 4)).astype(float)
        schema = domain(*(replace(AGE, name=f"x{j}") for j in range(4)))
        expected = schema.encode(X)
        assert expected.dtype == np.uint16
        assert expected.flags.c_contiguous
        readonly = X.copy()
        readonly.flags.writeable = False
        wide = np.empty((257, 8))
        wide[:, ::2] = X
        frame = pd.DataFrame(X, columns=schema.names)
        for same in (
            np.asfortranarray(X),
            readonly,
            wide[:, ::2],
            X[::-1][::-1],
            X.astype(np.float32),
            X.astype(np.float16),
            X.astype(np.int64),
            X.astype(np.int8),
            X.astype(">f8"),
            X.astype(object),
            X.astype(int).astype(str),
            X.tolist(),
            frame,
            frame.astype("Int64"),
            frame.astype("Float64"),
            frame.astype("int64").astype("category"),
            frame.astype(object),
            frame[list(schema.names)[::-1]],
            frame.assign(further="column"),
        ):
            np.testing.assert_array_equal(schema.encode(same), expected)

    def test_a_block_is_encoded_without_a_copy_of_it(self):
        X = np.random.default_rng(4).normal(size=(2048, 14))
        schema = Domain.infer(X)
        schema.encode(X)
        tracemalloc.start()
        schema.encode(X)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert peak < 1.5 * X.size * 2  # bytes: the codes, and little else

    def test_rows_and_whole_tables_have_the_same_codes(self):
        X = np.random.default_rng(5).normal(size=(50, 3))
        schema = Domain.infer(X)
        np.testing.assert_array_equal(np.vstack([schema.encode(row[None]) for row in X]), schema.encode(X))


class TestCategoricalCodes:
    def test_index_of_the_category(self):
        assert domain(CITY).encode(pd.DataFrame({"city": ["Köln", "Bonn", "Ulm"]})).ravel().tolist() == [2, 0, 1]

    def test_missing_and_unlisted_share_a_code(self):
        feature = replace(CITY, missing="category")
        X = pd.DataFrame({"city": ["Köln", None, "Paris", "Bonn"]})
        assert domain(feature).encode(X).ravel().tolist() == [2, 3, 3, 0]
        assert feature.n_codes == 4
        assert feature.code_labels[3] == "(missing or other)"

    def test_missing_and_unlisted_become_the_public_value(self):
        feature = replace(CITY, missing="value", missing_value="Ulm")
        X = pd.DataFrame({"city": ["Köln", None, "Paris", "Bonn"]})
        assert domain(feature).encode(X).ravel().tolist() == [2, 1, 1, 0]
        assert feature.n_codes == 3

    @pytest.mark.parametrize(
        "column",
        [
            [1, 2, 1],
            [1.0, 2.0, 1.0],
            ["1", "2", "1"],
            np.array([1, 2, 1], dtype=np.uint8),
            pd.array([1, 2, 1], dtype="Int64"),
            pd.Categorical([1, 2, 1]),
            pd.Categorical(["1", "2", "1"], categories=["2", "1", "unused"]),
            pd.Series(["1", "2", "1"], dtype="string"),
            pd.Series(["1", "2", "1"], dtype=object),
        ],
    )
    def test_numbers_are_matched_by_their_text(self, column):
        schema = domain(Feature("n", "categorical", categories=("2", "1")))
        assert schema.encode(pd.DataFrame({"n": column})).ravel().tolist() == [1, 0, 1]

    def test_booleans(self):
        schema = domain(Feature("b", "categorical", categories=("False", "True"), missing="category"))
        X = pd.DataFrame({"b": pd.array([True, None, False], dtype="boolean")})
        assert schema.encode(X).ravel().tolist() == [1, 2, 0]
        assert schema.encode(np.array([[True], [False]])).ravel().tolist() == [1, 0]

    def test_every_kind_of_missing_cell_is_missing(self):
        schema = domain(Feature("c", "categorical", categories=("1",), missing="category"))
        for hole in (None, np.nan, pd.NA):
            assert schema.encode(pd.DataFrame({"c": pd.Series([1, hole], dtype=object)})).ravel().tolist() == [0, 1]

    def test_columns_of_mixed_arrays_are_matched_by_position(self):
        schema = domain(AGE, Feature("n", "categorical", categories=("0", "7")))
        assert schema.encode(np.array([[50.0, 7.0], [0.0, 0.0]])).tolist() == [[32768, 1], [0, 0]]


class Color(StrEnum):
    RED = "1"

    def __str__(self):
        return "red"


def objects(*cells):
    column = np.empty(len(cells), dtype=object)
    column[:] = cells
    return column


class TestCellByCell:
    """The code of a cell depends on that cell alone, not on other cells of its column, even if they compare equal."""

    ONE = domain(Feature("c", "categorical", categories=("1", "2"), missing="category"), classes=("1", "True"))

    @pytest.mark.parametrize(
        ("stranger", "code"),
        [(True, 0), (np.True_, 0), (Decimal("1.0"), 0), (Decimal(1), 0), (1.0, 0), (np.float32(1), 0), (Fraction(1), 0)]
        + [
            (Color.RED, 0),
            ("1", 0),
            ("01", 0),
            ("TRUE", 0),
            (b"1", 0),
            (b"x", 2),
            (None, 2),
            (pd.Timestamp(1), 2),
            (1 + 0j, 0),
            (1 + 1j, 2),
        ]
        + [("1,0", 2), ("true story", 2), ("\ud800", 2), (np.nan, 2)],
    )
    @pytest.mark.parametrize("ordinary", [1, "1", 1.0])
    def test_a_cell_is_read_alike_among_all_others(self, stranger, code, ordinary):
        cells = objects(stranger, ordinary, ordinary)
        for X in (pd.DataFrame({"c": pd.Series(cells, dtype=object)}), cells[:, None], [[cell] for cell in cells]):
            assert self.ONE.encode(X).ravel().tolist() == [code, 0, 0]
        known = code == 2 and stranger is not None and stranger == stranger
        assert self.ONE.report(pd.DataFrame({"c": pd.Series(cells, dtype=object)})).loc["c", "unlisted"] == known

    def test_nan_is_missing_in_a_column_of_arrow(self):
        frame = pd.DataFrame({"c": pd.Series([1.0, np.nan, 1.0, None]).astype("double[pyarrow]")})
        nan = pd.arrays.ArrowExtensionArray(pa.array([1.0, float("nan"), 1.0, None], from_pandas=False))
        for X in (frame, pd.DataFrame({"c": nan})):
            assert self.ONE.encode(X).ravel().tolist() == [0, 2, 0, 2]
            assert self.ONE.report(X).loc["c", "unlisted"] == 0

    def test_equal_objects_of_one_type_and_two_texts(self):
        schema = domain(Feature("c", "categorical", categories=("1.0", "1.00"), missing="category"))
        for cells in (objects(Decimal("1.0"), Decimal("1.00")), objects(Decimal("1.00"), Decimal("1.0"))):
            assert schema.encode(cells[:, None]).ravel().tolist() == [schema.features[0].code(cell) for cell in cells]

    @pytest.mark.parametrize("first", [[], [True], ["True"], [1.0]])
    def test_labels(self, first):
        expected = [{"True": 1}.get(str(label), 0) for label in first] + [0, 0]
        for y in ([*first, 1, 1], objects(*first, 1, 1), pd.Series(objects(*first, 1, 1), dtype=object)):
            assert self.ONE.encode_labels(y).tolist() == expected

    def test_lists_get_no_common_type(self):
        schema = domain(Feature("b", "categorical", categories=("False", "True"), missing="category"))
        assert schema.encode([[True], [False]]).ravel().tolist() == [1, 0]
        assert schema.encode([[True], [False], [2]]).ravel().tolist() == [1, 0, 2]
        assert schema.encode([[True], [False], ["x"], [0.5]]).ravel().tolist() == [1, 0, 2, 2]

    def test_dates_among_objects(self):
        day = np.datetime64("2020-01-01")
        schema = domain(Feature("d", "categorical", categories=("2020-01-01",), missing="category"))
        assert (
            schema.encode(objects(day, day)[:, None]).tolist()
            == schema.encode(objects(day, "x")[:, None]).tolist()[:1] * 2
        )

    def test_numbers_among_objects(self):
        cells = objects(25, "25", " 2.5e1 ", 25.0, Decimal("25.0"), Fraction(50, 2), np.float32(25), True, None, pd.NA)
        codes = domain(replace(AGE, missing="category")).encode(cells[:, None]).ravel().tolist()
        code = replace(AGE, missing="category").code
        assert codes == [code(25)] * 7 + [code(1), 0, 0]

    @pytest.mark.parametrize(
        "stranger", ["old", "1_0", "nan", "", b"x", 1j, pd.Timedelta(1), np.timedelta64(1, "D"), "٣"]
    )
    def test_cells_without_a_number_are_refused(self, stranger):
        with pytest.raises(DomainError, match="1 cell without a number"):
            domain(AGE).encode(objects(1, stranger)[:, None])

    @pytest.mark.parametrize("huge", [10**400, -(10**400), "1e999", Decimal("-1e999")])
    def test_numbers_beyond_all_floats_are_infinite(self, huge):
        with pytest.raises(DomainError, match="contains infinity"):
            domain(AGE).encode(objects(1, huge)[:, None])

    def test_odd_classes_among_whole_labels(self):
        assert domain(AGE, classes=("²", "--5", "1")).encode_labels(np.array([1, 1])).tolist() == [2, 2]


class TestRefusals:
    @pytest.mark.parametrize(
        ("X", "message"),
        [
            (pd.DataFrame({"age": [1.0, np.inf]}), "'age' contains infinity (1 cell)"),
            (np.array([[1.0], [-np.inf]]), "contains infinity"),
            (pd.DataFrame({"age": [1.0, None, None]}), "'age' has 2 missing cells"),
            (pd.DataFrame({"age": ["1", "old"]}), "has 1 cell without a number, the first with 'old'"),
            (pd.DataFrame({"age": pd.to_datetime(["2020-01-01"])}), "holds dates"),
            (pd.DataFrame({"age": [1 + 2j]}), "complex"),
            (pd.DataFrame({"height": [1.0]}), "no column 'age'"),
            (pd.DataFrame([[1.0, 2.0]], columns=["age", "age"]), "more than one column 'age'"),
            (np.zeros((3, 2)), "2 columns, but the domain has 1"),
            (np.zeros(3), "1 dimensions"),
            (csr_array((3, 1)), "sparse"),
        ],
    )
    def test_one_clear_sentence(self, X, message):
        with pytest.raises(DomainError) as error:
            domain(AGE).encode(X)
        assert message in str(error.value)
        assert str(error.value).endswith(".")
        assert "\n" not in str(error.value)

    def test_an_unlisted_value_is_refused_unless_other_is_allowed(self):
        with pytest.raises(DomainError, match=r"does not list \('Paris'\)"):
            domain(CITY).encode(pd.DataFrame({"city": ["Bonn", "Paris", "Paris"]}))
        with pytest.raises(DomainError, match="1 missing cell,"):
            domain(CITY).encode(pd.DataFrame({"city": ["Bonn", None]}))

    def test_a_table_without_rows_is_encoded(self):
        assert domain(AGE, CITY).encode(pd.DataFrame({"age": [], "city": []})).shape == (0, 2)


class TestLabels:
    @pytest.mark.parametrize(
        ("classes", "y"),
        [
            ((-7, 0, 300), np.array([0, -7, 300, 0])),
            ((-100, 99), np.array([99, -100, 99], dtype=np.int8)),
            ((-128, 127), np.array([127, -128, 127], dtype=np.int8)),
            ((0, 255), np.array([255, 0, 255], dtype=np.uint8)),
            ((0, 10**18), np.array([10**18, 0])),
            ((0, 2**64 - 1), np.array([2**64 - 1, 0], dtype=np.uint64)),
            ((0, 1), np.array([1.0, 0.0])),
            ((0.5, 1.5), np.array([1.5, 0.5])),
            (("no", "yes"), np.array(["yes", "no"])),
            (("no", "yes"), ["yes", "no", "no"]),
            (("no", "yes"), pd.Series(["yes", "no"], dtype="category")),
            (("1", "2"), pd.Series([2, 1, 1])),
            ((1, 2), pd.Series(["2", "1"])),
            ((0, 1), pd.Series([1, 0], dtype="Int64")),
            ((False, True), np.array([True, False])),
            (("b", "a"), pd.Series(["a", "b"], index=[7, 7])),
        ],
    )
    def test_index_of_the_class(self, classes, y):
        codes = domain(AGE, classes=classes).encode_labels(y)
        assert codes.dtype == np.int32
        by_text = {str(c): i for i, c in enumerate(domain(AGE, classes=classes).classes)}
        expected = [by_text[str(int(v)) if isinstance(v, (float, np.floating)) and v == int(v) else str(v)] for v in y]
        assert codes.tolist() == expected

    @pytest.mark.parametrize("y", [np.array([0, 1, 5]), np.array([0.0, 0.25]), ["0", "maybe"], np.array([-1, 0])])
    def test_a_label_that_is_no_class_is_refused(self, y):
        with pytest.raises(
            DomainError, match="'ill' has the value '(5|0.25|maybe|-1)', which is not one of the classes"
        ):
            domain(AGE, classes=(0, 1), label="ill").encode_labels(y)

    @pytest.mark.parametrize("y", [[0.0, np.nan, np.nan], pd.Series(["0", None, None]), pd.array([0, None, None])])
    def test_missing_labels_are_counted(self, y):
        with pytest.raises(DomainError, match="'ill' is missing in 2 rows"):
            domain(AGE, classes=(0, 1), label="ill").encode_labels(y)

    def test_no_labels(self):
        assert domain(AGE, classes=(0, 1)).encode_labels(np.array([], dtype=int)).tolist() == []


class TestSchema:
    @pytest.mark.parametrize(
        ("change", "message"),
        [
            ({"low": 5, "high": 5}, "must be below"),
            ({"low": 0, "high": math.inf}, "upper bound of 'age' must be a finite number"),
            ({"low": None}, "lower bound of 'age' must be a finite number"),
            ({"low": -1.7e308, "high": 1.7e308}, "too far apart"),
            ({"categories": ("a",)}, "takes bounds and no categories"),
            ({"missing": "value"}, "missing_value of 'age' must be a finite number, not None"),
            ({"missing": "drop"}, "choose one of category, value, refuse"),
            ({"kind": "ordinal"}, "choose one of numeric, categorical"),
            ({"source_note": " "}, "say where that is written"),
            ({"source": "asserted", "source_note": ""}, "say where that is written"),
            ({"name": ""}, "needs a name"),
        ],
    )
    def test_numeric_feature(self, change, message):
        with pytest.raises(DomainError, match=message):
            replace(AGE, **change)

    @pytest.mark.parametrize(
        ("change", "message"),
        [
            ({"categories": ()}, "no categories"),
            ({"categories": ("a", "b", "a")}, "'a' twice"),
            ({"categories": (1, 1.0)}, "'1' twice"),
            ({"categories": tuple(map(str, range(MAX_CATEGORIES + 1)))}, "1,001 categories, more than 1,000"),
            ({"low": 0}, "takes categories and no bounds"),
            ({"missing": "value", "missing_value": "Paris"}, "is not one of its categories"),
        ],
    )
    def test_categorical_feature(self, change, message):
        with pytest.raises(DomainError, match=message):
            replace(CITY, **change)

    @pytest.mark.parametrize(
        ("features", "kwargs", "message"),
        [
            ((), {}, "no attributes"),
            ((AGE, AGE), {}, "Two attributes are called 'age'"),
            ((AGE,), {"classes": (1,)}, "1 class, but"),
            ((AGE,), {"classes": tuple(range(51))}, "51 classes"),
            ((AGE,), {"classes": (1, "1")}, "'1' is listed twice"),
            ((AGE,), {"classes": (0, None)}, "neither a text nor a finite number"),
            ((AGE,), {"classes": (0, 1), "label": "age"}, "cannot be an attribute as well"),
            ((AGE,), {"classes": (0, 1), "classes_source": "asserted"}, "say where that is written"),
            ((AGE,), {"classes_source": "rumor"}, "choose one of documented, asserted, data"),
        ],
    )
    def test_domain(self, features, kwargs, message):
        with pytest.raises(DomainError, match=message):
            Domain(features, **kwargs)

    def test_bounds_from_the_data_are_a_leak(self):
        schema = Domain(
            (replace(AGE, source="data"), replace(CITY, source="data", source_note="the values that occur"))
        )
        assert schema.leaks() == [
            "The bounds of 'age' were read from the data: the questionnaire.",
            "The categories of 'city' were read from the data: the values that occur.",
        ]
        assert Domain((AGE, CITY), (0, 1), "ill").leaks() == ["The classes of 'ill' were read from the data."]
        assert Domain((AGE, CITY), (0, 1), "ill", "asserted", "yes or no").leaks() == []

    def test_assumptions_are_grouped_by_source(self):
        many = [replace(AGE, name=f"q{j}") for j in range(60)]
        schema = Domain((*many, CITY, replace(AGE, name="z", source="data")), (0, 1), "ill", "asserted", "our offices")
        assert schema.assumptions() == [
            "The domains of 'q0', 'q1', 'q2', 'q3', 'q4', 'q5' and 54 more are documented: the questionnaire.",
            "The domains of 'city', the classes are asserted by the curator: “our offices”.",
            READ_BY_RULE,
            HANDED_OVER,
        ]

    def test_json_and_pickle_are_exact(self):
        schema = Domain(
            (replace(AGE, low=0.1, high=1 / 3, missing="value", missing_value=0.2), replace(CITY, missing="category")),
            (False, True),
            "ill",
        )
        schema.encode(np.array([[0.2, 0.0]], dtype=object))  # encoding may fill caches, which must not matter
        assert Domain.from_dict(json.loads(json.dumps(schema.to_dict()))) == schema
        assert pickle.loads(pickle.dumps(schema)) == schema

    def test_the_way_of_writing_rows_is_public(self):
        schema = Domain((AGE,), (0, 1), "ill", "asserted", "yes or no", "the file is written so")
        assert schema.leaks() == ["How the rows are written was found out from them: the file is written so."]
        schema = replace(schema, reading_source="asserted", reading_note="our export")
        assert schema.leaks() == []
        assert "That the file is written so is asserted by the curator: “our export”." in schema.assumptions()
        assert Domain.from_dict(json.loads(json.dumps(schema.to_dict()))) == schema
        older = schema.to_dict()
        del older["reading_source"], older["reading_note"]
        # The format of the file (`reading`) has no source.
        assert len(Domain.from_dict(older).leaks()) == 1
        del older["reading"]
        assert Domain.from_dict(older) == replace(schema, reading="", reading_source="", reading_note="")
        with pytest.raises(DomainError, match="reading"):
            replace(schema, reading=None)

    def test_a_catalog_entry_half_documented_is_a_leak(self):
        entry = {
            "title": "T",
            "uci_url": "u",
            "label": "y",
            "label_values": ["a", "b"],
            "attributes": [
                {"name": "d", "kind": "numeric", "low": 0, "high": 9, "domain_source": "documented", "integer": True},
                {"name": "h", "kind": "numeric", "low": 0, "high": 9, "domain_source": "documented-low"},
                {"name": "p", "kind": "numeric", "low": 4, "high": 4, "domain_source": "physical", "missing": 3},
                {"name": "x", "kind": "categorical", "categories": ["1"], "domain_source": "data-derived"},
            ],
        }
        schema = Domain.from_catalog(entry)
        assert [f.source for f in schema.features] == ["documented", "data", "documented", "data"]
        assert len(schema.leaks()) == 2
        assert schema.features[2].missing == "category"
        assert schema.features[2].low < schema.features[2].high

    def test_report_counts_cells_outside_the_domain(self):
        X = pd.DataFrame({"age": [-1, 0, 100, 101, 150, None], "city": ["Bonn", "Rom", None, None, "Ulm", "Ulm"]})
        report = domain(replace(AGE, missing="category"), CITY).report(X)
        assert report.loc["age"].to_dict() == {"clipped": 3, "unlisted": 0, "missing": 1}
        assert report.loc["city"].to_dict() == {"clipped": 0, "unlisted": 1, "missing": 2}


class TestInfer:
    def test_kinds_bounds_and_missing(self):
        X = pd.DataFrame(
            {
                "n": [3, 1, 2],
                "f": [0.5, None, 2.5],
                "c": ["b", "a", None],
                "b": [True, False, True],
                "k": pd.Categorical(["x", "x", "x"], categories=["y", "x"]),
                "empty": [None, None, None],
            }
        )
        n, f, c, b, k, empty = Domain.infer(X).features
        assert (n.kind, n.low, n.high, n.integer, n.missing) == ("numeric", 1, 3, True, "refuse")
        assert (f.low, f.high, f.integer, f.missing) == (0.5, 2.5, False, "category")
        assert (c.categories, c.missing) == (("a", "b"), "category")
        assert b.categories == ("False", "True")
        assert k.categories == ("y", "x")
        assert empty.missing == "category"
        schema = Domain.infer(X)
        assert len(schema.leaks()) == 6
        assert (schema.encode(X) < [g.n_codes for g in schema.features]).all()

    @pytest.mark.parametrize("constant", [0.0, 7.0, -2.5, 1e300, -1e300])
    def test_a_constant_column_works(self, constant):
        X = np.full((4, 1), constant)
        assert len(set(Domain.infer(X).encode(X).ravel())) == 1

    def test_arrays(self):
        X = np.array([[1, 2.5], [np.nan, 7.5]])
        schema = Domain.infer(X, [1, 0])
        assert schema.names == ("x0", "x1")
        assert schema.classes == (0, 1)
        assert [f.missing for f in schema.features] == ["category", "refuse"]
        assert [f.kind for f in Domain.infer(np.array([[1, "a"], [2, "b"]], dtype=object)).features] == [
            "numeric",
            "categorical",
        ]

    def test_the_label_is_no_attribute(self):
        X = pd.DataFrame({"a": [1, 2], "y": ["p", "q"]})
        schema = Domain.infer(X, X["y"], "y")
        assert schema.names == ("a",)
        assert schema.classes == ("p", "q")

    @pytest.mark.parametrize(
        ("y", "classes"),
        [
            ([3, -1, 3], (-1, 3)),
            (["b", "a", "b"], ("a", "b")),
            ([1.0, 0.0, 1.0], (0, 1)),
            ([True, False, True], (False, True)),
        ],
    )
    def test_inferred_classes_are_in_order(self, y, classes):
        assert Domain.infer(np.zeros((3, 1)), np.array(y)).classes == classes
        known = np.array([*y, None], dtype=object)  # rows without a label have no class
        assert Domain.infer(np.zeros((4, 1)), known).classes == classes

    @pytest.mark.parametrize(
        ("X", "y", "message"),
        [
            (pd.DataFrame({"a": pd.to_datetime(["2020-01-01", "2021-01-01"])}), None, "holds dates"),
            (pd.DataFrame({"a": [1.0, np.inf]}), None, "contains infinity"),
            (pd.DataFrame({"a": [f"u{i}" for i in range(10_000)]}), None, "10,000 different values, more than 1,000"),
            (np.zeros((3, 1)), [1, 1, 1], "one class in the label"),
            (np.zeros((60, 1)), list(range(60)), "60 classes"),
            (np.zeros((2, 1)), [1, None], "one class in the label"),
            (np.zeros((2, 1)), [None, None], "0 classes in the label"),
        ],
    )
    def test_refusals(self, X, y, message):
        with pytest.raises(DomainError, match=message):
            Domain.infer(X, y)


def test_a_catalog_must_name_the_document_of_a_documented_part():
    attribute = {"name": "age", "kind": "numeric", "low": 0, "high": 9, "domain_source": "documented"}
    entry = {"title": "Tiny", "attributes": [attribute], "label": "ill", "label_values": ["no", "yes"]}
    with pytest.raises(DomainError, match="but not where"):
        Domain.from_catalog({**entry, "label_source": "documented", "uci_url": ""})
    named = Domain.from_catalog({**entry, "label_source": "documented", "documentation": "tiny.names"})
    assert named.leaks() == []


@pytest.mark.parametrize(
    "entry",
    [None, [], "", {}, {"features": 3}, {"features": [None]}, {"features": [{}]}, {"features": []}, {"x": 1}],
)
def test_invalid_domains_are_refused_with_a_message(entry):
    whole = Domain((Feature("a", "numeric", 0, 1),), ("x", "y")).to_dict()
    assert Domain.from_dict(whole).to_dict() == whole
    with pytest.raises(DomainError):
        Domain.from_dict({**whole, **entry} if entry == {"x": 1} else entry)
