"""The lesson by keyboard, on a small screen and on a phone: everything of a step is visible."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser.driver import BROWSER, Explore, idle, rerun
from tests.browser.layout import type_sizes
from tests.conftest import every
from ui.learn import story
from ui.learn.step import EXPLORE
from ui.learn.steps import STEPS

pytestmark = BROWSER

STAGE = ".stage"
MOST_TABS = 60  # twice the tab stops of a page, because the focus can start over if the page is drawn again


def opened(explore: Explore, query: str = "") -> None:
    explore.page.goto(f"{explore.url}/Lesson{query}")
    expect(explore.page.locator(f"{STAGE} svg")).to_be_visible()
    idle(explore.page)


def tab_to(page: Page, wanted: Locator) -> None:
    """Press Tab until the wanted element has the focus."""
    expect(wanted).to_be_enabled()
    for _ in range(MOST_TABS):
        if wanted.evaluate("e => e === document.activeElement"):
            return
        page.keyboard.press("Tab")
    expect(wanted).to_be_focused()


def no_sideways(page: Page, *selectors: str) -> None:
    for selector in selectors or ("html", "[data-testid=stMain]"):
        inner, outer = page.locator(selector).evaluate("e => [e.scrollWidth, e.clientWidth]")
        assert inner <= outer, f"{selector} is {inner} pixels wide, {outer} are there"


def button(explore: Explore, name: str) -> Locator:
    return explore.main.get_by_role("button", name=name, exact=True)


def predict(explore: Explore, number: int) -> None:
    """Choose the first answer and press Reveal, by keyboard alone."""
    page, step = explore.page, STEPS[number]
    answers = explore.main.get_by_role("radiogroup", name=step.question).get_by_role("radio")
    tab_to(page, answers.first)
    page.keyboard.press("Space")
    expect(button(explore, "Reveal")).to_be_enabled()
    idle(page)
    tab_to(page, button(explore, "Reveal"))
    page.keyboard.press("Enter")
    expect(explore.main.get_by_text(step.answers[0].feedback.split(".")[0]).first).to_be_visible()
    idle(page)
    assert explore.settings()["shown"] == "1"


def next_step(explore: Explore, number: int) -> None:
    tab_to(explore.page, button(explore, "Next →"))
    explore.page.keyboard.press("Enter")
    expect(explore.main.get_by_text(f"Step {number + 1} of 8")).to_be_visible()
    expect(button(explore, "Reveal")).to_be_visible()
    idle(explore.page)
    assert "shown" not in explore.settings() and "at" not in explore.settings()


@pytest.fixture
def small(explore: Explore):
    """Yield the page on a small screen with a collapsed sidebar."""
    before = explore.page.viewport_size
    explore.page.set_viewport_size({"width": 1280, "height": 720})
    yield explore
    explore.page.set_viewport_size(before)
    explore.page.evaluate("localStorage.clear()")  # later tests start with an open sidebar


@pytest.fixture
def still(small: Explore):
    """Yield the page on a small screen for a user who prefers reduced motion."""
    small.page.emulate_media(reduced_motion="reduce")
    yield small
    small.page.emulate_media(reduced_motion="no-preference")


@pytest.mark.slow
def test_all_steps_by_keyboard_without_scrolling(small: Explore) -> None:
    page = small.page
    opened(small)
    small.sidebar.hover()
    page.locator("[data-testid=stSidebarCollapseButton]").get_by_role("button").click()
    expect(small.sidebar).to_have_attribute("data-collapsed", "true")
    for number in range(len(STEPS)):
        predict(small, number)
        no_sideways(page)
        assert too_high(page) <= 4, f"step {number} has to be scrolled"
        if number < len(STEPS) - 1:
            next_step(small, number)


@pytest.mark.parametrize("number", every(3, range(len(STEPS))))
def test_a_projected_step_fits_its_screen(still: Explore, number: int) -> None:
    """In presentation mode, a step fits 1280 x 720 pixels before and after the reveal, with text of 20 pixels."""
    page = still.page
    opened(still, f"?present=true&step={number}")
    expect(still.main.get_by_role("heading", name=STEPS[number].title, exact=True)).to_be_visible()
    for phase in ("asked", "shown"):
        expect(page.locator(f"{STAGE}[data-at=end]")).to_have_count(1)
        idle(page)
        assert too_high(page) == 0, f"step {number} ({phase}) is too high"
        assert min(type_sizes(page)) >= 20, f"step {number} ({phase}) has small text"
        if phase == "asked":
            with rerun(page):
                button(still, "Show without guessing").click()


def test_keys_turn_the_projected_steps(still: Explore) -> None:
    page = still.page
    opened(still, "?present=true&step=7")
    with rerun(page):  # after a second run, the front end has loaded the code that listens to keys
        button(still, "Show without guessing").click()
    page.keyboard.press("PageDown")
    expect(still.main.get_by_role("heading", name=STEPS[8].title, exact=True)).to_be_visible()
    idle(page)
    page.keyboard.press("ArrowRight")
    expect(still.main.get_by_role("heading", name=story.ENDING)).to_be_visible()
    assert too_high(page) == 0
    page.keyboard.press("PageUp")
    expect(still.main.get_by_role("heading", name=STEPS[8].title, exact=True)).to_be_visible()
    idle(page)
    with rerun(page):
        button(still, "Show without guessing").click()
    epsilon = still.main.get_by_role("slider", name="ε")
    epsilon.press("ArrowRight")  # a slider keeps its keys
    expect(epsilon).to_have_attribute("aria-valuetext", "0.3")
    expect(still.main.get_by_role("heading", name=STEPS[8].title, exact=True)).to_be_visible()


def too_high(page: Page) -> int:
    """Return by how many pixels the page is higher than the screen."""
    return page.locator("[data-testid=stMain]").evaluate("e => e.scrollHeight - e.clientHeight")


def test_a_scene_plays_to_its_end_and_again(explore: Explore) -> None:
    """Choosing an answer runs the page again, and the scene does not start over. The button starts it over."""
    page = explore.page
    opened(explore, "?step=3")
    ended = page.locator(f"{STAGE}[data-at=end]")
    expect(ended).to_contain_text("1 tree votes: special priority, wrong")
    stage = ended.element_handle()
    stage.evaluate("""(stage) => {
      window.stageStates = [];
      const note = () => window.stageStates.push(stage.dataset.at);
      new MutationObserver(note).observe(stage, {attributeFilter: ["data-at"]});
    }""")
    with rerun(page):
        answers = explore.main.get_by_role("radiogroup", name=STEPS[3].question)
        answers.get_by_role("radio").first.press("Space")
    assert page.evaluate("window.stageStates") == [] and stage.evaluate("stage => stage.isConnected")
    explore.main.get_by_role("button", name="Play again").press("Enter")
    page.wait_for_function("window.stageStates.includes('playing')")
    button(explore, "Reveal").click()
    expect(page.locator(STAGE)).to_contain_text("of 31 trees have voted")


def test_the_control_moves_by_keyboard_and_is_in_the_link(small: Explore) -> None:
    opened(small, "?step=3&shown=1")
    trees = small.main.get_by_role("slider", name="Trees")
    with rerun(small.page):
        trees.press("End")
    expect(small.main.get_by_text("of rows get a lie, 79")).to_be_visible()
    assert small.settings() == {"step": "3", "at": "300", "shown": "1"}
    link = small.page.url
    opened(small, "?" + link.partition("?")[2])
    expect(small.main.get_by_text("of rows get a lie, 79")).to_be_visible()


@pytest.mark.slow
def test_the_lesson_fits_a_phone(phone: Explore) -> None:
    opened(phone)
    for number in range(len(STEPS)):
        no_sideways(phone.page)
        predict(phone, number)
        no_sideways(phone.page)
        if number < len(STEPS) - 1:
            next_step(phone, number)


@pytest.mark.slow  # tests/ui covers this in every run
def test_a_step_leads_into_the_app_with_its_settings(explore: Explore) -> None:
    """A step's link opens Explore with the settings of the step, whatever the settings were before."""
    explore.open(data="zoo", depth=2, trees=5)
    explore.go_to("Lesson")
    expect(explore.main.get_by_text("Step 0 of 8")).to_be_visible()
    idle(explore.page)
    with rerun(explore.page):
        explore.main.get_by_role("radio", name="3", exact=True).press("Space")
    with rerun(explore.page):
        button(explore, "Show without guessing").click()
    (link,) = [link for link in STEPS[3].links if link.page == EXPLORE]
    explore.main.get_by_role("link", name=link.label).click()
    expect(explore.headline.get_by_role("heading")).to_have_count(4)
    idle(explore.page)
    settings = explore.settings()
    shape = {"data": "nursery", "trees": "31", "depth": "4"}
    assert {name: settings.get(name) for name in shape} == shape
    assert explore.chosen("Forest") == "majority labels"


@pytest.fixture
def room(explore: Explore) -> Iterator[tuple[str, str]]:
    """Open a room. Yield the address of the listener, under its local name, and the letters of the room."""
    opened(explore)
    button(explore, "Let phones vote").click()
    explore.page.get_by_role("button", name="Open a room").click()
    explore.main.locator(".wall img").wait_for()
    idle(explore.page)
    port = explore.main.locator(".wall .address").inner_text().rpartition(":")[2]
    yield f"http://127.0.0.1:{port}", explore.main.locator(".wall .letters").inner_text()
    close_room(explore)


def close_room(explore: Explore) -> None:
    if button(explore, "Close the room").count():
        button(explore, "Close the room").click()
        explore.page.get_by_role("button", name="Close it").click()
    expect(button(explore, "Let phones vote")).to_be_visible()


@pytest.fixture
def new_phone(explore: Explore) -> Iterator[Callable[[str], Page]]:
    """Yield a function that opens an address on a new phone."""
    browser = explore.page.context.browser
    assert browser is not None
    with ExitStack() as stack:

        def new_phone(address: str) -> Page:
            window = stack.enter_context(browser.new_context(viewport={"width": 390, "height": 844}))
            page = window.new_page()
            page.goto(address)
            return page

        yield new_phone


def status(phone: Page) -> Locator:
    return phone.get_by_role("status")


def answers(phone: Page) -> Locator:
    return phone.get_by_role("radio")


def test_a_phone_votes_and_follows_the_wall(
    explore: Explore, room: tuple[str, str], new_phone: Callable[[str], Page]
) -> None:
    address, letters = room
    phone = new_phone(address)
    phone.get_by_label("Letters of your room").fill(letters.lower())
    phone.get_by_role("button", name="Join").click()
    answers(phone).nth(1).check()
    expect(status(phone)).to_contain_text("is counted")
    count = explore.main.get_by_text("answered")
    expect(count).to_contain_text("1 phone joined, 1 answered")
    no_sideways(phone, "html")
    button(explore, "Show without guessing").click()
    expect(phone.get_by_text(STEPS[0].take_away)).to_be_visible()
    with rerun(explore.page):
        button(explore, "Next →").click()
    expect(phone.get_by_text(STEPS[1].question)).to_be_visible()
    late = new_phone(f"{address}/{letters}")
    expect(late.get_by_text(STEPS[1].question)).to_be_visible()
    close_room(explore)
    expect(status(phone)).to_contain_text("is closed")


def test_a_phone_keeps_its_answer_while_the_network_fails(
    explore: Explore, room: tuple[str, str], new_phone: Callable[[str], Page]
) -> None:
    address, letters = room
    phone = new_phone(f"{address}/{letters}")
    answers(phone).first.check()
    expect(status(phone)).to_contain_text("is counted")
    phone.context.set_offline(True)
    answers(phone).nth(2).check()
    expect(status(phone)).to_contain_text("Trying again … Your answer is kept")
    phone.context.set_offline(False)
    expect(status(phone)).to_contain_text("is counted")
    second_tab = phone.context.new_page()
    second_tab.goto(f"{address}/{letters}")
    expect(answers(second_tab).nth(2)).to_be_checked()
    answers(second_tab).last.check()
    expect(status(second_tab)).to_contain_text("is counted")
    expect(answers(phone).last).to_be_checked()
    blocked = f"{address}/{letters}/vote"
    phone.route(blocked, lambda route: route.abort())
    answers(phone).nth(1).check()
    expect(status(phone)).to_contain_text("Trying again")
    phone.unroute(blocked)
    phone.reload()  # the answer waits in the storage of the browser
    expect(status(phone)).to_contain_text("is counted")
    expect(answers(phone).nth(1)).to_be_checked()
    expect(explore.main.get_by_text("answered")).to_contain_text("1 phone joined, 1 answered")


@pytest.mark.slow
def test_the_leader_leads_after_a_reload_and_nothing_on_the_wall_gives_this_right(
    explore: Explore, room: tuple[str, str], new_phone: Callable[[str], Page]
) -> None:
    address = explore.page.url
    assert set(explore.settings()) <= {"step", "at", "shown"}
    assert "dpforest_browser" not in explore.page.evaluate("document.cookie")
    explore.page.reload()
    expect(button(explore, "Close the room")).to_be_visible()
    pupil = new_phone(address)
    expect(pupil.get_by_role("button", name="Let phones vote")).to_be_visible()
    expect(pupil.get_by_role("button", name="Close the room")).to_have_count(0)
