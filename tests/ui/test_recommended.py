"""The line on Explore, Compare and Choose ε that names the forest that the public rule recommends."""

import pytest
from streamlit.testing.v1 import AppTest

from tests.ui.app_words import visit, words
from ui.choose import wish_controls
from ui.explore import instrument
from ui.jobs import first_release

BEFORE = "At ε = {} and for"


@pytest.fixture(autouse=True)
def _few_lines(monkeypatch):
    monkeypatch.setattr(first_release, "LAST", 2)
    monkeypatch.setattr(instrument, "MOST_LEAVES", 0)


def chosen(app: AppTest) -> str:
    return next(box for box in app.selectbox if box.label == "Forest").value


def test_one_press_switches_to_the_recommended_forest():
    app = visit(data="zoo", trees="5", forest="majority labels", eps="3")
    assert f"{BEFORE.format(3)} about 100 rows, a public rule recommends **one greedy tree**" in words(app)
    next(button for button in app.button if button.label == "Switch to it").click().run()
    assert not app.exception and chosen(app) == "one greedy tree"
    assert "**this forest**" in words(app) and "Switch to it" not in [button.label for button in app.button]


@pytest.mark.parametrize(
    ("delta", "shown"),
    [pytest.param("true", "**this forest**", marks=pytest.mark.slow), ("false", "**one greedy tree**")],
)
def test_the_recommended_forest_has_at_most_the_delta_of_the_shown_forest(delta, shown):
    app = visit(data="breast_wisconsin", forest="random-tree booster", eps="0.1", delta=delta)
    assert shown in words(app)


def test_a_forest_as_published_gets_no_recommendation():
    app = visit(data="zoo", trees="5", forest="majority labels", mode="as published")
    assert "a public rule recommends" not in words(app)


def test_compare_and_choose_show_the_same_forest(monkeypatch):
    monkeypatch.setattr(wish_controls, "kinds", lambda: ["RF-E", "one greedy tree"])
    for path, epsilon in (("pages/1_Compare.py", {"eps": "0.3"}), ("pages/2_Choose_epsilon.py", {"look_eps": "0.3"})):
        app = visit(path, data="breast_wisconsin", forests="RF-E", looked_at="RF-E", **epsilon)
        assert BEFORE.format(0.3) in words(app) and "**one greedy tree**" in words(app), path


def test_the_number_of_persons_of_a_file_is_rounded_and_confirmed():
    rows = "\n".join(f"{i % 7},{'no' if i % 3 else 'yes'}" for i in range(487))
    app = visit(data="upload a CSV")
    app.file_uploader[0].upload("people.csv", f"size,ill\n{rows}\n".encode()).run()
    (size,) = [field for field in app.number_input if field.label.startswith("About how many")]
    assert size.value == 500
    curator_only = sum("Do not share" in text.value for text in app.markdown)
    size.set_value(2_000).run()
    next(b for b in app.button if b.label == "Everybody may know this number").click().run()
    assert not app.exception and next(iter(app.session_state["public_sizes"].values())) == 2_000
    reasons = [text.help for text in app.markdown if "one greedy tree" in text.value and text.help]
    assert "is about 1,000" in reasons[0] and "the classes in the Data tab" in reasons[0]
    assert sum("Do not share" in text.value for text in app.markdown) == curator_only, "the classes are not public yet"
