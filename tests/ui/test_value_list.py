"""Values in the Data tab are never lost, changed or split, whatever they contain and whichever other cell is edited."""

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from dpforest.tables.csv_values import parsed, written
from dpforest.tables.domain import Domain, Feature
from ui.explore import data_tab

ANY = st.text(st.sampled_from("ab;\"'\\,\n\r\t \u2028é{}[]:") | st.characters(), max_size=12)
LISTS = st.lists(ANY, min_size=1, max_size=6, unique=True)
TRICKY = ["a;b", '"', "a,b", "two\nlines", " space ", ";", "", "\\", '"a"', 'a"b', "\ud800", "x"]


@settings(derandomize=True, deadline=None, max_examples=500)
@example(TRICKY)
@given(LISTS)
def test_any_values_come_back_from_one_line(values):
    line = written(values)
    assert parsed(line) == tuple(values)
    assert line.isprintable()  # the text must have no line break, because a text field drops it


@settings(derandomize=True, deadline=None, max_examples=200)
@example(TRICKY)
@given(LISTS)
def test_adding_a_value_keeps_the_others(values):
    assert parsed(f"{written(values)}; one more") == (*values, "one more")


STORABLE = ANY.filter(str.strip).filter(lambda value: value.encode(errors="replace").decode() == value)
CATEGORIES = st.lists(STORABLE, min_size=2, max_size=6, unique=True)
EDITS = [
    {"how everybody knows this": "the questionnaire, page 2"},
    {"missing": "a separate value"},
    {"use": True, "how everybody knows this": "page two of the form"},
]


@pytest.mark.parametrize("edit", EDITS)
def test_editing_another_cell_keeps_every_category(edit):
    @settings(derandomize=True, deadline=None, max_examples=150)
    @example(["a;b", "c"])
    @given(CATEGORIES)
    def check(categories):
        feature = Feature("city", "categorical", categories=tuple(categories), source="data", missing="refuse")
        before = data_tab._row(feature, True)
        assert data_tab._edited_feature(feature, {**before, **edit}, before).categories == tuple(categories)

    check()


@settings(derandomize=True, deadline=None, max_examples=150)
@example(["yes; certainly", "no"])
@given(CATEGORIES)
def test_naming_the_source_of_classes_keeps_every_class(classes):
    domain = Domain((Feature("x", "numeric", 0, 1),), tuple(classes), "ill", "data")
    edited = data_tab._edited_classes(domain, written(domain.classes), "the coding sheet")
    assert edited == (tuple(classes), "ill", "asserted", "the coding sheet")


def test_editing_one_bound_keeps_the_other_to_the_last_digit():
    feature = Feature("x", "numeric", 0.1 + 0.2, 7.0, source="data")
    before = data_tab._row(feature, True)
    edited = data_tab._edited_feature(feature, {**before, "highest": 9.0}, before)
    assert (edited.low, edited.high) == (0.1 + 0.2, 9.0)


def test_numbers_stay_numbers_among_classes():
    domain = Domain((Feature("x", "numeric", 0, 1),), (0, 1), "ill")
    assert data_tab._edited_classes(domain, '1; "0"; "2;3"', "")[0] == (1, 0, "2;3")
