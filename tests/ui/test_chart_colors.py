"""Figures in the colors of a page: which properties change and which stay. The given figure itself does not change."""

import copy

import plotly.graph_objects as go
import pytest

from dpforest.plotting.style import PRIVATE, figure
from ui.shared.page import LARGE, PLAIN, in_page_colors, thin_lines


@pytest.fixture
def drawn():
    fig = figure(300)
    fig.add_scatter(x=[0, 1], y=[0, 1], line={"color": PRIVATE})
    fig.add_scatter(x=[0, 1], y=[1, 0], line={"color": "#E69F00"})
    fig.add_annotation(x=0, y=0, text="a")
    fig.update_layout(xaxis2={"tickfont": {"size": 11}}, xaxis={"title": "x"})
    return fig.to_dict()


@pytest.mark.parametrize("dark", [True, False])
@pytest.mark.parametrize("size", [PLAIN, LARGE])
def test_words_have_the_size_and_ink_of_the_page(drawn, dark, size):
    before = copy.deepcopy(drawn)
    shown = go.Figure(in_page_colors(drawn, dark=dark, size=size))  # plotly raises an error for an unknown property
    assert drawn == before
    assert shown.layout.legend.font.size == size and shown.layout.hoverlabel.font.size == size
    assert shown.layout.xaxis.tickfont.size == size and shown.layout.xaxis.title.font.size == size
    assert shown.layout.xaxis.title.text == "x" and shown.layout.xaxis2.tickfont.size == 11
    assert shown.layout.template.layout.annotationdefaults.font.size == size
    assert (shown.layout.font.color == "#E7ECF0") == dark
    assert shown.layout.font.size == size  # words in traces and color bars inherit this size


def test_a_figure_that_says_how_large_its_legend_is_keeps_it(drawn):
    drawn["layout"]["legend"] = {"font": {"size": 15}}
    assert in_page_colors(drawn, dark=False, size=PLAIN)["layout"]["legend"]["font"] == {"size": 15}


def test_words_of_the_lesson_stay_as_large_as_it_says():
    shown = in_page_colors(figure(300, font={"size": 22}).to_dict(), dark=True, size=PLAIN)
    assert shown["layout"]["font"] == {"size": 22, "color": "#E7ECF0"}


def test_thin_lines_are_brighter_on_a_dark_page_only(drawn):
    before = copy.deepcopy(drawn)
    light, dark = (thin_lines(drawn, PRIVATE, dark=is_dark) for is_dark in (False, True))
    assert drawn == before and light["data"] == before["data"]
    assert dark["data"][0]["line"]["color"] != PRIVATE and dark["data"][1] == before["data"][1]
    assert {*(note["bgcolor"] for note in (*light["layout"]["annotations"], *dark["layout"]["annotations"]))} == {
        "rgba(255,255,255,0.85)",
        "rgba(17,22,27,0.85)",
    }
