"""The questions on the Data tab: the next question, the remaining ones, and many attributes at once."""

import pytest

from dpforest.tables.domain import Domain, Feature
from tests.ui.app_words import words
from ui.explore.questionnaire import AGAIN
from ui.explore.questions import StatedValues, answered, left_to_say, one_range, open_questions, targets

NAMES = [f"x{i}" for i in range(1, 5)] + ["weight", "age", "town"]
ROWS = [
    [*(f"{(i * j) % 17}.5" for j in range(1, 5)), str(40 + i % 60), str(20 + i % 50), "AB"[i % 2], "01"[i % 3 > 0]]
    for i in range(150)
]
CSV = "\n".join(",".join(row) for row in [[*NAMES, "ill"], *ROWS])


@pytest.fixture
def page(app):
    app.query_params["data"] = "upload a CSV"
    app.run()
    app.file_uploader[0].upload("people.csv", CSV.encode()).run()
    app.session_state["tab"] = "Data"
    return app.run()


def current_question(page) -> str:
    return next(box for box in page.selectbox if box.label == "Now about").value


def press(page, key: str):
    return page.button(key=key).click().run()


def answer(page, source: str):
    next(field for field in page.text_input if field.label == "Where is this known from?").set_value(source).run()
    return press(page, "assert")


def domain(page) -> Domain:
    return next(iter(page.session_state["schemas"].values()))


def test_questions_come_one_by_one_and_skipped_ones_come_again(page):
    asked = []
    for _ in range(4):
        asked.append(current_question(page))
        press(page, "skip")
    assert asked == ["x…", "other numbers", "town", "the label and the file"]
    assert current_question(page) == "x…", "all were skipped, so it begins again"
    assert "schemas" not in page.session_state


def test_a_group_gets_its_range_its_type_and_its_source_at_once(page):
    highest = next(widget for widget in page.number_input if widget.label == "Highest")
    highest.set_value(64.0).run()
    next(group for group in page.segmented_control if group.label == "Whole numbers?").set_value("yes").run()
    next(group for group in page.segmented_control if group.label == "Missing cells").set_value("own value").run()
    answer(page, "the scale of the device")
    group = [f for f in domain(page).features if f.name.startswith("x")]
    assert {(f.low, f.high, f.integer, f.missing, f.source_note) for f in group} == {
        (0, 64, True, "category", "the scale of the device")
    }
    assert not [leak for f in group for leak in f.leaks()]
    assert "4 of 7 attributes have a source, 3 left" in words(page) and current_question(page) == "numbers"
    answer(page, "the form has two lines")
    weight, age = domain(page).features[4:6]
    assert (age.low, age.high) == (0, 120) and weight.high > 99, "each its own rounder range"


def test_sources_can_be_changed_in_bulk(page):
    answer(page, "the scale of the device")
    next(box for box in page.selectbox if box.label == "Now about").select(AGAIN).run()
    next(box for box in page.selectbox if box.label == "Attributes").select("x… (4)").run()
    next(group for group in page.segmented_control if group.label == "Ranges").set_value("one range for all").run()
    next(widget for widget in page.number_input if widget.label == "Highest").set_value(50.0).run()
    answer(page, "the second edition of the manual")
    group = [f for f in domain(page).features if f.name.startswith("x")]
    assert {(f.high, f.source_note) for f in group} == {(50, "the second edition of the manual")}


def test_only_parts_that_were_asked_about_become_public():
    known = Feature("b", "numeric", 0, 5, source="documented", source_note="the manual", type_source="data")
    before = Domain((Feature("a", "numeric", 1, 2), known, Feature("c", "categorical", categories=("x",))), (0, 1), "y")
    about = targets(before, ["a", "b"], {"bounds", "type"})
    assert about == [("bounds", "a"), ("type", "a"), ("type", "b")], "the bounds of b have a source"
    after = answered(before, about, StatedValues({"a": (0, 9), "b": (0, 9)}, whole=True), ("asserted", "the law on it"))
    a, b, c = after.features
    assert (a.low, a.high, b.low, b.high) == (0, 9, 0, 5) and a.integer and b.integer
    assert (b.source, b.source_note, b.leaks()) == ("documented", "the manual", []) and c == before.features[2]
    assert len(a.leaks()) == 1 and after.classes_source == "data"
    assert left_to_say(after, open_questions(after)) == (
        "1 of 3 attributes has a source, 2 left: a, c, the label and the file."
    )
    assert one_range([(0, 5), (-2, 3)]) == (-2, 5)
