"""Words for missing cells, signs next to numbers, and spellings: each cell is read by itself."""

import json
import math

import numpy as np
import pandas as pd
import pytest

from dpforest import Domain, DomainError, Feature, MajorityLabelForestClassifier, OutOfDomainWarning, ReleasedForest
from dpforest.tables.cells import number
from dpforest.tables.csv_rows import read_records, read_table
from dpforest.tables.out_of_domain import OutOfDomain, OutOfDomainCells
from dpforest.tables.read_parts import read_parts
from dpforest.tables.reading_rules import SIGNS, number_with_sign
from dpforest.tables.rows import read_rows
from dpforest.trees import forest_schema

NOTE = {"source": "asserted", "source_note": "made for this test"}
CRP = Feature(
    "crp", "numeric", 0, 100, missing="category", missing_words=("k.A.", "n/a", "<5", "-99"), signs=("%", "€"), **NOTE
)
SMOKER = Feature(
    "smoker", "categorical", categories=("yes", "no"), missing="category", spellings={"Yes": "yes", "1": "yes"}, **NOTE
)
MISSING = 0


def schema(*features: Feature, **changed) -> Domain:
    return Domain(features, ("yes", "no"), "ill", "asserted", "made for this test", **changed)


def codes(feature: Feature, cells, form="list") -> list[int]:
    forms = {
        "list": lambda: [[cell] for cell in cells],
        "array": lambda: np.array([[cell] for cell in cells]),
        "objects": lambda: np.array([[cell] for cell in cells], dtype=object),
        "frame": lambda: pd.DataFrame({feature.name: cells}),
        "strings": lambda: pd.DataFrame({feature.name: pd.Series(cells, dtype="str")}),
        "categorical": lambda: pd.DataFrame({feature.name: pd.Categorical(cells)}),
    }
    return schema(feature).encode(forms[form](), OutOfDomainCells()).ravel().tolist()


def code(feature: Feature, cell) -> int:
    return codes(feature, [cell])[0]


FORMS = ("list", "array", "objects", "frame", "strings", "categorical")
NUMBER_CELLS = [  # a cell, and the number that it means; None if it is missing
    *[("k.A.", None), (" K.a. ", None), ("\u00a0k.A.\u202f", None), ("<5", None), ("N/A", None), ("-99", None)],
    *[("-99.0", None), ("12 %", 12), ("%12", 12), ("12%", 12), ("€ 3.5", 3.5), ("-€3", -3), ("7", 7), (" 8.25 ", 8.25)],
    # cells that no rule knows
    *[("< 5", None), ("k.A", None), ("12 %%", None), ("12 $", None), ("%", None), ("€ %", None), ("€ inf", None)],
    *[("TRUE %", None), ("１２", None), ("１２ %", None), ("😀", None), ("12😀", None), ("5 k.A.", None), ("١٢", None)],
]


@pytest.mark.parametrize("form", FORMS)
def test_numbers_with_words_and_signs_are_read_one_by_one(form):
    cells = [cell for cell, _ in NUMBER_CELLS]
    expected = [MISSING if value is None else CRP.code(value) for _, value in NUMBER_CELLS]
    assert codes(CRP, cells, form) == expected
    assert [code(CRP, cell) for cell in cells] == expected


def test_cells_of_a_file_and_of_a_frame_agree():
    lines = "".join(f'"{cell}",yes\n' for cell, _ in NUMBER_CELLS)
    table = read_table(f"crp,ill\n{lines}".encode(), schema(CRP))
    assert [None if math.isnan(x) else x for x in table["crp"]] == [value for _, value in NUMBER_CELLS]


WAY = Feature("way", "numeric", 0, 100, missing="category", signs=("m", "km"), **NOTE)
WAYS = [("1.7 km", 1.7), ("3km", 3), ("-2 m", -2), ("m 5", None), ("m5", None), ("5 cm", None), ("5 m km", None)]


@pytest.mark.parametrize("form", FORMS)
def test_units_are_read_behind_numbers_only_and_the_longest_first(form):
    expected = [MISSING if value is None else WAY.code(value) for _, value in WAYS]
    assert codes(WAY, [cell for cell, _ in WAYS], form) == expected == [code(WAY, cell) for cell, _ in WAYS]


def test_words_and_signs_go_with_the_decimal_mark_of_the_file():
    text = "the file is UTF-8 text with ';' between columns and decimal commas"
    domain = schema(CRP, reading=text, reading_source="asserted", reading_note="made for this test")
    table, unread = read_records("crp;ill\n1.234,5 €;yes\nk.A.;no\n-99,0;no\n12,5%;no\nx;no\n".encode(), domain)
    assert table["crp"].fillna(-1).tolist() == [1234.5, -1, -1, 12.5, -1]
    assert unread.sentences() == ["1 cell of 'crp' is no number and counts as missing; the first is 'x'."]


@pytest.mark.parametrize("dtype", [np.int64, np.float64, np.float32, np.int8, "Int64", "Float64", object])
def test_a_word_that_is_a_number_is_compared_by_its_value(dtype):
    cells = pd.DataFrame({"crp": pd.Series([7, -99], dtype=dtype)})
    assert schema(CRP).encode(cells).ravel().tolist() == [CRP.code(7), MISSING]
    assert codes(CRP, [-99, -99.0, "-99", "-9.9e1", 99]) == [MISSING] * 4 + [CRP.code(99)]


def test_only_cells_that_no_rule_knows_are_reported():
    counted = OutOfDomainCells()
    schema(CRP).encode([["k.A."], ["<5"], ["12 %"], ["x"], [None], [-99]], counted)
    assert counted.count("crp", OutOfDomain.NO_NUMBER) == 1 and len(counted.sentences()) == 1
    with pytest.raises(DomainError, match="1 cell without a number, the first with 'x'"):
        schema(CRP).encode([["k.A."], ["x"]])
    expected = Feature("crp", "numeric", 0, 100, missing_words=("k.A.",), **NOTE)
    with pytest.raises(DomainError, match="1 missing cell"):
        schema(expected).encode([["k.A."], [1]])
    assert schema(CRP).report([["k.A."], ["x"], ["200 %"]]).loc["crp"].tolist() == [1, 1, 1]


SPELLED = [("yes", 0), ("no", 1), ("Yes", 0), (" Yes\u00a0", 0), (" no", 1), ("YES", 2), ("1", 0), ("1.0", 0), ("2", 2)]


@pytest.mark.parametrize("form", FORMS)
def test_spellings_are_read_one_by_one(form):
    cells = [cell for cell, _ in SPELLED]
    assert codes(SMOKER, cells, form) == [place for _, place in SPELLED] == [code(SMOKER, cell) for cell in cells]
    lines = "".join(f"{cell},yes\n" for cell in cells)
    table = read_table(f"smoker,ill\n{lines}".encode(), schema(SMOKER))
    assert schema(SMOKER).encode(table).ravel().tolist() == [place for _, place in SPELLED]


def test_a_spelling_that_is_a_number_is_read_in_any_type():
    assert codes(SMOKER, [1, 1.0, True, "01", 0, 1 + 0j]) == [0, 0, 0, 0, 2, 0]
    assert schema(SMOKER).encode(np.array([[1], [2]])).ravel().tolist() == [0, 2]


def test_spellings_of_classes_are_read_by_fits_files_and_scores():
    domain = schema(CRP, class_spellings={"Ja": "yes", "1": "yes", "0": "no"})
    assert domain.listed_labels(["yes", "Ja", " Ja ", "ja", 1, True, "0", None]).tolist() == [0, 0, 0, -2, 0, 0, 1, -1]
    assert domain.listed_labels(np.array([1, 0, 2])).tolist() == [0, 1, -2]
    assert domain.encode_labels(["Ja", "no"]).tolist() == [0, 1]
    assert read_table(b"crp,ill\n1,Ja\n2,0\n3,x\n", domain)["ill"].tolist() == ["yes", "no", "x"]
    model = MajorityLabelForestClassifier(n_estimators=2, max_depth=1, domain=domain)
    assert model.fit([[1]] * 50, ["Ja"] * 50).score([[1]], ["Ja"]) == model.score([[1]], [1])


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"missing_words": "k.A."}, "list of texts"),
        ({"missing_words": ("", "x")}, "is empty"),
        ({"missing_words": ("x", " X ")}, "listed twice"),
        ({"missing_words": ("1,5",)}, "may be a number"),
        ({"missing_words": ("true",)}, "may be a number"),
        ({"missing_words": ("inf",)}, "may be a number"),
        ({"missing_words": ("1e999",)}, "too large"),
        ({"missing_words": tuple(f"w{i}" for i in range(101))}, "100 are the most"),
        ({"missing_words": ("\ud800",)}, "Unicode"),
        ({"signs": "%"}, "not known"),
        ({"signs": ("miles",)}, "not known"),
        ({"signs": ("%", "%")}, "not known"),
        ({"spellings": {"a": "b"}}, "takes no spellings"),
    ],
)
def test_rules_that_contradict_themselves_are_refused(changed, message):
    with pytest.raises(DomainError, match=message):
        Feature("n", "numeric", 0, 1, **changed)


@pytest.mark.parametrize(
    ("spellings", "message"),
    [
        ({"Yes": "maybe"}, "not listed"),
        ({" ": "yes"}, "is empty"),
        ({"no": "yes"}, "listed twice"),
        ((("Yes", "yes"), ("Yes ", "no")), "listed twice"),
        ((("Yes",),), "pairs of texts"),
        ({1: "yes"}, "pairs of texts"),
        ({f"y{i}": "yes" for i in range(1_001)}, "1,000 are the most"),
    ],
)
def test_spellings_that_contradict_themselves_are_refused(spellings, message):
    with pytest.raises(DomainError, match=message):
        Feature("c", "categorical", categories=("yes", "no"), spellings=spellings)
    with pytest.raises(DomainError, match=message):
        Domain((CRP,), ("yes", "no"), "y", class_spellings=spellings)


def test_words_of_a_category_and_of_a_text_are_refused():
    with pytest.raises(DomainError, match="takes no missing_words"):
        Feature("c", "categorical", categories=("a",), missing_words=("x",))
    with pytest.raises(DomainError, match="takes no signs"):
        Feature("c", "categorical", categories=("a",), signs=("%",))


def test_rules_are_in_the_file_and_on_the_certificate():
    domain = schema(CRP, SMOKER, class_spellings={"Ja": "yes"})
    model = MajorityLabelForestClassifier(n_estimators=2, max_depth=1, domain=domain)
    X, y = pd.DataFrame({"crp": ["k.A.", "12 %"] * 20, "smoker": ["Yes", "no"] * 20}), ["Ja", "no"] * 20
    forest = model.fit(X, y).released_
    assert forest.certificate.certified
    stated = " ".join(forest.certificate.assumptions)
    for part in ("In 'crp', 'k.A.', 'n/a', '<5', '-99' count as missing", "signs '%', '€' next to a number", "'Ja' as"):
        assert part in stated
    read_back = ReleasedForest.from_json(forest.to_json())
    assert read_back.domain == domain and read_back.to_json() == forest.to_json()
    assert read_back.predict(X).tolist() == forest.predict(X).tolist()
    content = json.loads(json.dumps(domain.to_dict()))
    forest_schema.check(content, "domain")
    assert Domain.from_dict(content) == domain and hash(domain) == hash(Domain.from_dict(content))
    assert content["features"][1]["spellings"] == [["Yes", "yes"], ["1", "yes"]]


def test_a_file_without_rules_is_the_same_as_before():
    plain = schema(Feature("n", "numeric", 0, 1, **NOTE)).to_dict()
    assert not {"missing_words", "signs", "spellings", "date"} & set(plain["features"][0])
    assert "class_spellings" not in plain


def test_spellings_that_may_be_the_same_number_are_stated_on_the_certificate():
    both = Feature("c", "categorical", categories=("2", "no"), spellings={"2.0": "no"}, **NOTE)
    assert any("'2' and '2.0' may otherwise be the same" in sentence for sentence in schema(both).assumptions())
    agreeing = Feature("c", "categorical", categories=("yes", "no"), spellings={"True": "yes", "1": "yes"}, **NOTE)
    assert not any("be the same" in sentence for sentence in schema(agreeing).assumptions())


def test_a_user_sees_all_rules_before_asserting_them():
    domain = Domain((CRP, SMOKER), ("yes", "no"), "ill", class_spellings={"Ja": "yes"})
    read = Domain.from_dict(
        {
            **domain.to_dict(),
            "features": [{**f, "source": "data", "source_note": ""} for f in domain.to_dict()["features"]],
        }
    )
    values = {(part.what, part.name): part.value for part in read_parts(read)}
    assert values["missing", "crp"].endswith("missing words: k.A.; n/a; <5; -99")
    assert values["type", "crp"] == "numbers, with the signs % €"
    assert values["categories", "smoker"] == "yes; no (spellings: Yes is yes; 1 is yes)"
    assert values["classes", ""] == "yes; no (spellings: Ja is yes)"


def test_a_value_beyond_a_limit_of_measurement_is_read_as_the_limit():
    signs = ("<", ">")
    assert [number_with_sign(text, signs) for text in ("<0.5", "> 250", "-<5")] == [0.5, 250, -5]
    assert [number_with_sign(text, signs) for text in ("<", "<=5", "≤5", "<a")] == [None] * 4


def test_no_sign_is_part_of_a_number():
    assert all(number(sign) is None and number(f"1{sign}") is None for sign in SIGNS)


def test_a_fit_reports_cells_that_no_rule_knows():
    model = MajorityLabelForestClassifier(n_estimators=1, max_depth=1, domain=schema(CRP))
    with pytest.warns(OutOfDomainWarning, match="1 cell of 'crp' is not a number"):
        model.fit([["k.A."], ["x"]], ["yes", "no"])
    assert read_rows(schema(CRP), [["k.A."]], ["yes"]).codes.tolist() == [[MISSING]]
