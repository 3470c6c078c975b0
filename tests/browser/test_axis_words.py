"""Words on the axes of small charts: Plotly cuts off words without enough space, which only a browser can show."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator

import numpy as np
import plotly.graph_objects as go
import pytest
from playwright.sync_api import Browser, Page
from plotly.offline import get_plotlyjs

from dpforest.evaluation.smallest_epsilon import Answer
from dpforest.models.trace import TreeTrace
from dpforest.plotting.boosted_growth import alpha_by_level, alpha_drawing, contributions
from dpforest.plotting.choose import epsilon_by_forest
from dpforest.plotting.compare import MeasureScale, epsilon_depth_map
from dpforest.plotting.rounds import typical_parts
from tests.browser.driver import BROWSER
from ui.shared.page import LARGE, PLAIN, in_page_colors

pytestmark = BROWSER

ACCURACY = MeasureScale("accuracy", True, None, None)
ONE = (Answer("RF-E", 1.0, 0.9),)


def traces(n: int) -> list[TreeTrace]:
    return [TreeTrace(alpha=[0.5, 0.3, 0.1]) for _ in range(n)]


SMALL: dict[str, Callable[[], go.Figure]] = {
    "α of each level, one tree": lambda: alpha_by_level(traces(1), ["3 trees alike"]),
    "α of each level, two trees": lambda: alpha_by_level(traces(2), ["tree 1", "tree 2"]),
    "α by level": lambda: alpha_drawing([1.0, 0.6, 0.4], exact=True),
    "contributions of one tree": lambda: contributions(np.array([0.5]), ["no", "yes"], tree=0),
    "the smallest ε of one forest": lambda: epsilon_by_forest(ONE, 0.01, 10, chosen="RF-E", epsilon=1, scale=ACCURACY),
    "a map of one depth": lambda: epsilon_depth_map([0.1, 1.0], [3], np.array([[0.5, 0.6]]), ACCURACY, epsilon=1.0),
    "one attribute": lambda: typical_parts(["age"], np.array([1.0]), np.array([0.2])),
}
CUT = """() => {
    const frame = document.querySelector('.main-svg').getBoundingClientRect()
    const words = document.querySelectorAll('.xtick text, .ytick text, .xtitle, .ytitle')
    return [words.length, ...[...words].filter(word => {
        const box = word.getBoundingClientRect()
        return box.top < frame.top - 1 || box.bottom > frame.bottom + 1 || box.left < frame.left - 1
    }).map(word => word.textContent)]
}"""


@pytest.fixture
def blank(browser: Browser) -> Iterator[Page]:
    """Yield a page with Plotly and an empty element for a chart."""
    with browser.new_page() as page:
        page.set_content("<body style='margin: 0'><div id=chart></div>")
        page.add_script_tag(content=get_plotlyjs())
        yield page


def test_words_on_the_axes_of_small_charts_are_whole(blank: Page) -> None:
    """Words are whole on a desktop, in presentation mode, and on a phone, with the axes of Streamlit's theme."""
    axis = {"automargin": True, "ticklen": 8, "title": {"standoff": 20}}
    theme = {"layout": {"xaxis": axis, "yaxis": axis, "margin": {"pad": 8}}}
    faults = []
    for name, draw in SMALL.items():
        for width, size in ((1100, PLAIN), (1100, LARGE), (350, PLAIN)):
            drawn = go.Figure(in_page_colors(draw().to_dict(), dark=False, size=size))
            spec = json.loads(drawn.update_layout(template=theme).to_json())
            blank.set_viewport_size({"width": width, "height": 800})
            blank.evaluate("f => Plotly.newPlot('chart', f.data, f.layout, {displayModeBar: false})", spec)
            n, *cut = blank.evaluate(CUT)
            assert n, name
            faults += [f"{name}, words of {size}, {width} pixels wide: {cut}"] if cut else []
    assert not faults, "\n".join(faults)
