"""The line on Explore that names the most accurate forest, from simulated releases of all forests."""

import re

import pytest
from streamlit.testing.v1 import AppTest

from tests.ui.app_words import visit, words
from ui.explore import instrument
from ui.jobs import first_release
from ui.shared.forests import FORESTS


@pytest.fixture(autouse=True)
def _few_lines(monkeypatch):
    monkeypatch.setattr(first_release, "LAST", 2)
    monkeypatch.setattr(instrument, "MOST_LEAVES", 0)


def chosen(app: AppTest) -> str:
    return next(box for box in app.selectbox if box.label == "Forest").value


@pytest.mark.refined
def test_one_press_switches_to_the_most_accurate_forest():
    app = visit(data="zoo", trees="5", forest="majority labels", eps="1")
    line = re.search(
        r"\*\*Most accurate here\*\* at ε = 1: (.+?), [\d.]+ % of .+ right, ([\d.]+) points more", words(app)
    )
    assert line and line[1] in FORESTS and line[1] != chosen(app) and float(line[2]) >= 0.5
    next(button for button in app.button if button.label == "Switch to it").click().run()
    assert not app.exception and chosen(app) == line[1]


@pytest.mark.refined
def test_where_no_forest_is_better_the_line_says_so():
    app = visit(data="breast_wisconsin", trees="5", forest="majority labels", eps="0.1")
    assert "**Most accurate here** at ε = 0.1: no other forest is clearly better." in words(app)
    assert "Switch to it" not in [button.label for button in app.button]
