"""The instrument in a browser: curve and tree follow the hand, and a finished move reaches link, figures and Back."""

from __future__ import annotations

import re
from urllib.parse import urlencode

import pytest
from playwright.sync_api import expect

from tests.browser.driver import BROWSER, INSTRUMENT, UPLOAD, Explore, chart_ready, idle

pytestmark = BROWSER

SMALL = {"data": "breast_wisconsin"}
MARKUP = "<img src=x onerror=window.broken=1>"


def drag(explore: Explore, name: str, share: float) -> None:
    """Press a slider at its handle and move the mouse to a share of its width, without letting go."""
    slider = explore.slider(name)
    box = slider.bounding_box()
    assert box
    place, most = (float(slider.evaluate(f"e => e.{what}")) for what in ("value", "max"))
    middle = box["y"] + box["height"] / 2
    explore.page.mouse.move(box["x"] + 8 + place / most * (box["width"] - 16), middle)
    explore.page.mouse.down()
    explore.page.mouse.move(box["x"] + 8 + share * (box["width"] - 16), middle, steps=8)


def rates(explore: Explore) -> list[str]:
    return explore.page.locator(f"{INSTRUMENT} .tree title").all_text_contents()


def test_curve_and_tree_follow_the_hand_before_python_answers(explore: Explore) -> None:
    explore.open(**SMALL, trees=5, depth=3)
    runs = explore.page.evaluate("window.scriptRuns")
    note, dot = explore.page.locator(f"{INSTRUMENT} .curve .note"), explore.page.locator(f"{INSTRUMENT} .dot")
    before, place, leaves = note.inner_text(), dot.get_attribute("cx"), rates(explore)
    drag(explore, "Privacy budget ε", 0.0)
    explore.shows("Privacy budget ε", 0.01)
    expect(note).not_to_have_text(before)
    assert dot.get_attribute("cx") != place and rates(explore) != leaves
    expect(explore.page.locator(f"{INSTRUMENT} .tree .note")).to_have_text("(the tree at ε = 1)")
    assert explore.page.evaluate("window.scriptRuns") == runs, "dragging costs the server nothing"
    assert "eps" not in explore.settings()
    with explore.refigured():
        explore.page.mouse.up()
    assert explore.settings()["eps"] == "0.01"
    expect(explore.page.locator(f"{INSTRUMENT} .tree .note")).to_have_text("")
    assert note.inner_text().startswith(explore.figures()[0].value.replace("\u00a0", " "))
    explore.page.reload()
    chart_ready(explore.page)
    explore.shows("Privacy budget ε", 0.01)


def test_every_leaf_of_a_small_tree_shows_its_label_and_flip_rate(explore: Explore) -> None:
    explore.open(**SMALL, trees=5, depth=3)
    ends = explore.page.locator(f"{INSTRUMENT} .tree .end:not(.unknown)").count()
    shown = explore.page.locator(f"{INSTRUMENT} .tree .rate").all_text_contents()
    assert ends == len(shown) > 0 and all(re.fullmatch(r"<?[\d.]+ %", text) for text in shown)


@pytest.mark.slow
@pytest.mark.parametrize("width", [1280, 390])
def test_nothing_of_the_instrument_is_cut_off(explore: Explore, width: int) -> None:
    explore.page.set_viewport_size({"width": width, "height": 844})
    explore.open(**SMALL, trees=5, depth=4)
    box = explore.page.locator(INSTRUMENT).bounding_box()
    assert box
    for text in explore.page.locator(f"{INSTRUMENT} svg text").all():
        if text.is_visible() and (of_text := text.bounding_box()):
            assert box["x"] <= of_text["x"] and of_text["x"] + of_text["width"] <= box["x"] + box["width"] + 1
    assert explore.page.locator("html").evaluate("e => e.scrollWidth <= e.clientWidth")


def test_text_of_a_table_is_never_markup(explore: Explore) -> None:
    rows = [f"{i % 7},{MARKUP if i % 2 else '**no**'}" for i in range(200)]
    explore.visit(f"{explore.url}/?{urlencode({'data': UPLOAD, 'forest': 'majority labels'})}")
    explore.upload("names.csv", "\n".join([f"{MARKUP},class", *rows]).encode())
    chart_ready(explore.page)
    tree = explore.page.locator(f"{INSTRUMENT} .tree")
    expect(tree.locator("title").filter(has_text=MARKUP[:12]).first).to_be_attached()
    assert explore.page.locator(f"{INSTRUMENT} img").count() == 0
    assert explore.page.evaluate("window.broken") is None


@pytest.mark.slow
def test_with_reduced_motion_no_label_flickers(explore: Explore) -> None:
    explore.page.emulate_media(reduced_motion="reduce")
    explore.open(**SMALL, trees=5, depth=3, eps=0.01)
    drag(explore, "Privacy budget ε", 0.05)
    assert explore.page.locator(f"{INSTRUMENT} .flipped").count() == 0
    explore.page.mouse.up()
    idle(explore.page)
