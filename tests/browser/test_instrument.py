"""The instrument (the chart of Explore) in a browser: curve and tree follow a slider while the mouse drags it.

When the mouse lets go, the link, the figures and the browser's history change, too.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from urllib.parse import urlencode

import pytest
from playwright.sync_api import BrowserContext, Page, expect

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


@pytest.mark.slow  # tests/ui covers this in every run
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


def test_two_quick_moves_by_keyboard_both_count_and_back_undoes_them(explore: Explore) -> None:
    explore.open(**SMALL, trees=5, depth=3)
    with explore.refigured():
        explore.slider("Depth").press("ArrowRight")
        explore.slider("Trees").press("ArrowRight")
    expect(explore.slider("Depth")).to_have_value("3")
    trees = explore.slider("Trees").input_value()
    explore.page.wait_for_url("**depth=4**")
    idle(explore.page)
    assert explore.settings()["depth"] == "4" and explore.settings()["trees"] != "5"
    explore.page.goto(explore.page.url.replace("depth=4", "depth=2"))
    chart_ready(explore.page)
    expect(explore.slider("Depth")).to_have_value("1")
    expect(explore.slider("Trees")).to_have_value(trees)


@pytest.mark.slow
def test_a_finger_moves_a_slider(phone: Explore) -> None:
    phone.open(**SMALL)
    box = phone.slider("Privacy budget ε").bounding_box()
    assert box
    phone.page.touchscreen.tap(box["x"] + 3, box["y"] + box["height"] / 2)
    phone.shows("Privacy budget ε", 0.01)
    phone.page.wait_for_url("**eps=0.01**")
    idle(phone.page)


def test_a_position_without_a_simulation_has_no_accuracy_and_a_cancelled_move_is_undone(explore: Explore) -> None:
    explore.open(**SMALL, trees=16, depth=3)
    note, dot = explore.page.locator(f"{INSTRUMENT} .curve .note"), explore.page.locator(f"{INSTRUMENT} .dot")
    before = note.inner_text()
    drag(explore, "Depth", 1.0)  # so many leaves are not simulated in advance
    expect(note).to_have_text("not simulated yet")
    expect(dot).to_be_hidden()
    expect(explore.page.locator(f"{INSTRUMENT} .tally")).to_have_text("")
    # The browser cancels a touch that turns out to scroll the page.
    explore.slider("Depth").evaluate("slider => slider.dispatchEvent(new PointerEvent('pointercancel'))")
    expect(note).to_have_text(before)
    expect(dot).to_be_visible()
    expect(explore.slider("Depth")).to_have_value("2")
    explore.page.mouse.up()
    assert explore.settings()["depth"] == "3"


@pytest.mark.slow
def test_two_tabs_keep_their_sliders(explore: Explore, page_of: Callable[[BrowserContext], Page]) -> None:
    explore.open(**SMALL)
    second = Explore(page_of(explore.page.context), explore.url).open(**SMALL, eps=3)
    explore.page.bring_to_front()
    drag(explore, "Privacy budget ε", 0.0)
    explore.page.mouse.up()
    explore.page.wait_for_url("**eps=0.01**")
    idle(explore.page)
    second.shows("Privacy budget ε", 3)
    explore.shows("Privacy budget ε", 0.01)


@pytest.mark.slow
def test_a_print_has_the_pictures_and_no_navigation(explore: Explore) -> None:
    explore.open(**SMALL)
    explore.page.emulate_media(media="print")
    expect(explore.page.locator(f"{INSTRUMENT} .curve svg")).to_be_visible()
    expect(explore.headline).to_be_visible()
    for hidden in ("[data-testid=stSidebar]", "[data-testid=stHeader]", f"{INSTRUMENT} input >> nth=0"):
        expect(explore.page.locator(hidden)).to_be_hidden()
    explore.page.emulate_media(media="screen")


@pytest.mark.slow
def test_with_forced_colors_text_and_curve_have_the_color_of_text(explore: Explore) -> None:
    explore.page.emulate_media(forced_colors="active")
    explore.open(**SMALL)
    color = "e => [getComputedStyle(e).stroke, getComputedStyle(e).fill]"
    text = explore.page.locator(f"{INSTRUMENT} .tick").first.evaluate(color)[1]
    curve, _ = explore.page.locator(f"{INSTRUMENT} path.curve").evaluate(color)
    assert curve == text != "none"
    leaf = explore.page.locator(f"{INSTRUMENT} .end:not(.unknown)").first.evaluate(color)[1]
    assert leaf not in (text, "none")  # leaves keep their colors, because the colors carry information


@pytest.mark.slow
@pytest.mark.parametrize("width", [720, 640])
def test_at_200_percent_zoom_the_sliders_and_pictures_fit(explore: Explore, width: int) -> None:
    """A browser at 200 % has half as many CSS pixels: 1440×900 becomes 720×450."""
    explore.page.set_viewport_size({"width": width, "height": 450})
    explore.open(**SMALL)
    assert explore.page.locator("html").evaluate("e => e.scrollWidth <= e.clientWidth")
    for name in ("Privacy budget ε", "Depth", "Trees"):
        box = explore.slider(name).bounding_box()
        assert box and box["x"] >= 0 and box["x"] + box["width"] <= width


def test_small_trees_vote_and_follow_the_slider(explore: Explore) -> None:
    explore.open(**SMALL, trees=9, depth=3)
    small = explore.page.locator(f"{INSTRUMENT} svg.votes > g:visible")
    expect(small).to_have_count(9)
    expect(explore.page.locator(f"{INSTRUMENT} .tally")).to_have_text(re.compile(r"of 9 (benign|malignant)"))
    colors = "e => e.map(one => getComputedStyle(one)[one.tagName === 'circle' ? 'fill' : 'backgroundColor'])"
    keys = explore.page.locator(f"{INSTRUMENT} .key").evaluate_all(colors)
    assert set(explore.page.locator(f"{INSTRUMENT} circle.vote").evaluate_all(colors)) == set(keys)
    assert explore.page.locator(f"{INSTRUMENT} .curve .tick[text-anchor=end]:has-text('%')").count() >= 3
    drag(explore, "Trees", 0.0)
    expect(small).to_have_count(1)
    expect(explore.page.locator(f"{INSTRUMENT} .tally")).to_have_text(re.compile(r"^1 of 1 "))
    with explore.refigured():
        explore.page.mouse.up()


@pytest.mark.slow
def test_a_drawing_states_how_many_levels_and_trees_it_leaves_out(explore: Explore) -> None:
    explore.open(data="adult", depth=12, trees=40)
    expect(explore.page.locator(f"{INSTRUMENT} svg.votes > text")).to_have_text("+10")
    picture = explore.page.locator(f"{INSTRUMENT} .tree svg:not(.votes)")
    expect(picture.locator("> text")).to_have_text(re.compile(r"^\d+ of 12 levels; each box"))
    drag(explore, "Depth", 0.2)  # boxes above the leaves have no flip rate, but they have rows
    expect(picture.locator("> text")).to_have_text(re.compile(r"^[34] of 12 levels"))
    expect(explore.page.locator(f"{INSTRUMENT} .tree .note")).to_have_text("(the tree of depth 12)")
    assert picture.locator(".end.joined:visible").count() > 1
    with explore.refigured():
        explore.page.mouse.up()


@pytest.mark.slow
def test_boosted_trees_of_three_classes_are_all_drawn_with_their_numbers(explore: Explore) -> None:
    explore.open(data="cmc", forest="boosted", trees=2, depth=2)
    numbers = explore.page.locator(f"{INSTRUMENT} svg.votes > g > text")
    expect(numbers).to_have_count(6)
    expect(numbers.first).to_have_text(re.compile(r"^[+−][\d.]+$"))
    assert explore.page.locator(f"{INSTRUMENT} .tree .end").first.get_attribute("fill").startswith("rgb(")
    expect(explore.page.locator(f"{INSTRUMENT} .tree .scale")).to_have_text(re.compile(r"^adds −[\d.]+\+[\d.]+$"))
    expect(explore.page.locator(f"{INSTRUMENT} .tree .title").first).to_have_text(
        "Tree 1 of 6 (2 for each of 3 classes)"
    )


@pytest.mark.slow
def test_each_alpha_draws_its_line_while_the_hand_moves(explore: Explore) -> None:
    explore.open(**SMALL, forest="boosted", trees=2, depth=2)
    curve = explore.page.locator(f"{INSTRUMENT} path.curve")
    before, runs = curve.get_attribute("d"), explore.page.evaluate("window.scriptRuns")
    drag(explore, "α", 0.72)
    expect(curve).not_to_have_class(re.compile("unknown"))
    assert curve.get_attribute("d") != before and explore.page.evaluate("window.scriptRuns") == runs
    with explore.refigured():
        explore.page.mouse.up()


@pytest.mark.slow
def test_one_click_switches_to_the_recommended_forest(explore: Explore) -> None:
    explore.open(**SMALL, eps=0.1)
    line = explore.page.locator(".st-key-recommended")
    expect(line).to_contain_text("Recommended at ε = 0.1 for")
    with explore.refigured():
        line.get_by_role("button", name="Switch to it").click()
    assert explore.chosen("Forest") != "majority labels" and explore.settings()["forest"] == explore.chosen("Forest")
    expect(line).to_contain_text("this forest")


NAMES = ["ein sehr langer Name einer Klasse von 40", "👩‍👩‍👧‍👦 family 👍🏽👍🏽👍🏽", "طفل مريض في المستشفى الكبير"]
OVERLAPS = """svg => {
    const boxes = [...svg.querySelectorAll('text')].filter(text => text.getBoundingClientRect().width)
    const inner = boxes.map(text => [text.textContent, text.getBoundingClientRect()])
    const touch = (a, b) => a.left < b.right - 1 && b.left < a.right - 1 && a.top < b.bottom - 3 && b.top < a.bottom - 3
    return inner.flatMap(([word, box], i) => inner.slice(i + 1).filter(other => touch(box, other[1]))
        .map(other => [word, other[0]]))
}"""


@pytest.mark.slow
@pytest.mark.parametrize("width", [1280, 390])
def test_no_words_of_a_tree_overlap_whatever_the_classes_are_called(explore: Explore, width: int) -> None:
    rows = [f"{i % 7},{'abcdefghij'[i % 10] * 40},{NAMES[(i % 7 + i % 3) % 3]}" for i in range(300)]
    explore.page.set_viewport_size({"width": width, "height": 844})
    explore.visit(f"{explore.url}/?{urlencode({'data': UPLOAD, 'forest': 'majority labels', 'trees': 3, 'depth': 1})}")
    explore.upload("names.csv", "\n".join(["number of visits,👍🏽 letters,class", *rows]).encode())
    chart_ready(explore.page)
    tree = explore.page.locator(f"{INSTRUMENT} .tree svg").first
    for depth in range(1, 7):
        explore.shows("Depth", depth)
        assert tree.locator("text").count() > 1 and tree.evaluate(OVERLAPS) == []
        with explore.refigured():
            explore.slider("Depth").press("ArrowRight")


@pytest.mark.slow
def test_a_print_has_all_rows_of_a_table_that_scrolls(explore: Explore) -> None:
    explore.open(**SMALL, tab="Leaves", trees=5, depth=3)
    table, grid = explore.page.locator("[class*=st-key-printed_]"), explore.page.locator("[data-testid=stDataFrame]")
    expect(table).to_be_hidden()
    expect(grid).to_be_visible()
    explore.page.emulate_media(media="print")
    expect(grid).to_be_hidden()
    expect(table.locator("tbody tr")).to_have_count(40)
    expect(table.locator("tbody tr").last).to_be_visible()
    explore.page.emulate_media(media="screen")
