"""The lesson by keyboard, on a small screen and on a phone: everything of a step is visible."""

from __future__ import annotations

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser.driver import BROWSER, Explore, idle, rerun
from tests.browser.layout import type_sizes
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


def no_sideways(page: Page) -> None:
    for selector in ("html", "[data-testid=stMain]"):
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


def test_all_steps_by_keyboard_without_scrolling(small: Explore) -> None:
    page = small.page
    opened(small)
    small.sidebar.hover()
    page.locator("[data-testid=stSidebarCollapseButton]").get_by_role("button").click()
    expect(small.sidebar).to_have_attribute("data-collapsed", "true")
    for number in range(len(STEPS)):
        predict(small, number)
        no_sideways(page)
        main = page.locator("[data-testid=stMain]")
        assert main.evaluate("e => e.scrollHeight - e.clientHeight") <= 4, f"step {number} has to be scrolled"
        if number < len(STEPS) - 1:
            next_step(small, number)


def test_every_projected_step_fits_its_screen_and_keys_turn_the_steps(still: Explore) -> None:
    """In presentation mode, each step fits 1280 x 720 pixels before and after the reveal, with text of 20 pixels."""
    page = still.page
    opened(still, "?present=true")
    main = page.locator("[data-testid=stMain]")
    for number, step in enumerate(STEPS):
        expect(still.main.get_by_role("heading", name=step.title, exact=True)).to_be_visible()
        expect(page.locator(f"{STAGE}[data-at=end]")).to_be_visible()
        for phase in ("asked", "shown"):
            idle(page)
            assert main.evaluate("e => e.scrollHeight - e.clientHeight") == 0, f"step {number} ({phase}) is too high"
            assert min(type_sizes(page)) >= 20, f"step {number} ({phase}) has small text"
            if phase == "asked":
                with rerun(page):
                    button(still, "Show without guessing").click()
        page.keyboard.press("ArrowRight" if number % 2 else "PageDown")
    expect(still.main.get_by_role("heading", name=story.ENDING)).to_be_visible()
    assert main.evaluate("e => e.scrollHeight - e.clientHeight") == 0
    page.keyboard.press("PageUp")
    expect(still.main.get_by_role("heading", name=STEPS[8].title, exact=True)).to_be_visible()
    epsilon = still.main.get_by_role("slider", name="ε")
    epsilon.press("ArrowRight")  # a slider keeps its keys
    expect(epsilon).to_have_attribute("aria-valuetext", "0.3")
    expect(still.main.get_by_role("heading", name=STEPS[8].title, exact=True)).to_be_visible()


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


def test_a_phone_votes_and_follows_the_wall(explore: Explore) -> None:
    opened(explore)
    button(explore, "Let phones vote").click()
    explore.page.get_by_role("button", name="Open a room").click()
    count = explore.main.get_by_text("answered")
    expect(count).to_contain_text("0 answered")
    room = explore.settings()["room"]
    browser = explore.page.context.browser
    assert browser is not None
    with browser.new_context(viewport={"width": 390, "height": 844}) as window:
        phone = window.new_page()
        phone.goto(f"{explore.url}/Lesson?room={room}")
        phone.get_by_role("radiogroup").get_by_text("about 10", exact=False).first.click()
        expect(count).to_contain_text("1 answered")
        no_sideways(phone)
        button(explore, "Show without guessing").click()
        expect(phone.get_by_text("(your answer)")).to_be_visible()
        with rerun(explore.page):
            button(explore, "Next →").click()
        expect(phone.get_by_text(STEPS[1].question).first).to_be_visible()


@pytest.mark.slow
def test_the_leader_leads_after_a_reload_and_nothing_on_the_wall_gives_this_right(explore: Explore) -> None:
    opened(explore)
    button(explore, "Let phones vote").click()
    explore.page.get_by_role("button", name="Open a room").click()
    expect(explore.main.get_by_text("answered")).to_contain_text("0 phones joined")
    idle(explore.page)
    address = explore.page.url
    assert set(explore.settings()) <= {"room", "step", "at", "shown"}
    assert "dpforest_browser" not in explore.page.evaluate("document.cookie")
    explore.page.reload()
    expect(button(explore, "Close the room")).to_be_visible()
    browser = explore.page.context.browser
    assert browser is not None
    with browser.new_context(viewport={"width": 390, "height": 844}) as window:
        pupil = window.new_page()
        pupil.goto(address)
        expect(pupil.get_by_role("radiogroup")).to_be_visible()
        expect(pupil.get_by_role("button", name="Close the room")).to_have_count(0)
        pupil.get_by_role("radiogroup").get_by_text("about 10", exact=False).first.click()
        count = explore.main.get_by_text("answered")
        expect(count).to_contain_text("1 answered")
        second_tab = window.new_page()
        second_tab.goto(address)
        expect(second_tab.get_by_role("radio", checked=True)).to_have_count(1)
        second_tab.get_by_role("radiogroup").get_by_role("radio").last.press("Space")
        pupil.reload()
        expect(pupil.get_by_role("radiogroup").get_by_role("radio").last).to_be_checked()
        expect(count).to_contain_text("1 phone joined")
        expect(count).to_contain_text("1 answered")
    button(explore, "Close the room").click()
    explore.page.get_by_role("button", name="Close it").click()
    expect(button(explore, "Let phones vote")).to_be_visible()
