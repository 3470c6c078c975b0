"""A link opens its page in the same state in a new browser, for all pages except Explore."""

from __future__ import annotations

import re
from urllib.parse import parse_qs, urlsplit

import pytest
from playwright.sync_api import expect

from tests.browser.driver import BROWSER, Chart, Explore, idle, rerun, titled

pytestmark = BROWSER


def wait_for_audit(explore: Explore) -> None:
    """Wait until the Audit page is complete."""
    expect(explore.headline.get_by_role("heading")).to_have_count(4)
    expect(explore.page.locator(".js-plotly-plot .plot-container")).to_have_count(2)
    idle(explore.page)


def losses(explore: Explore) -> list[dict]:
    return Chart(explore.page, titled("Privacy loss of")).traces()


@pytest.mark.slow
def test_a_link_opens_audit_in_the_same_state(explore: Explore, friend: Explore) -> None:
    explore.page.goto(f"{explore.url}/Audit")
    wait_for_audit(explore)
    with explore.refigured():
        explore.slider("Privacy promised: ε").press("ArrowLeft")
    with explore.refigured():
        explore.slider("Classes").press("ArrowRight")
    with rerun(explore.page):
        explore.pick("most telling")
    link = explore.link()
    parts = urlsplit(link)
    assert (f"{parts.scheme}://{parts.netloc}", parts.path) == (explore.url, "/Audit")
    assert parse_qs(parts.query) == {"eps": ["0.7"], "classes": ["3"], "pair": ["most telling"]}

    friend.page.goto(link)
    wait_for_audit(friend)
    assert friend.figures() == explore.figures()
    assert losses(friend) == losses(explore)
    tables = explore.main.get_by_role("table").all_inner_texts()
    expect(friend.main.get_by_role("table")).to_have_text(tables, use_inner_text=True)
    assert friend.link() == link


def test_shared_settings_follow_links_and_the_back_button(explore: Explore) -> None:
    """A link's ε, table and relation apply on other pages and in their links; Back returns to the previous page."""
    explore.open(data="zoo", eps=0.4, neighbors="a row exchanged", trees=5)
    explore.go_to("Audit")
    wait_for_audit(explore)
    assert parse_qs(urlsplit(explore.link()).query) == {"eps": ["0.4"], "neighbors": ["a row exchanged"]}
    explore.slider("Privacy promised: ε").press("End")
    expect(explore.headline).to_contain_text("ε = 25")
    explore.go_to("Compare forests")
    expect(explore.page.get_by_role("combobox", name="Data", exact=True)).to_have_value("zoo")
    explore.shows("Privacy budget ε", "25")
    expect(explore.page.get_by_role("textbox", name="Type ε")).to_have_value("25")
    explore.page.go_back()
    wait_for_audit(explore)
    expect(explore.page).to_have_url(f"{explore.url}/Audit?eps=25&neighbors=a+row+exchanged")
    explore.page.go_back()
    expect(explore.headline).to_contain_text("What ε = 25 means")
    assert explore.page.url.startswith(f"{explore.url}/?")
    expect(explore.page.get_by_role("combobox", name="Data", exact=True)).to_have_value("zoo")


@pytest.mark.slow
def test_choose_opens_the_chosen_forest_and_keeps_it(explore: Explore) -> None:
    explore.open(data="zoo", eps=0.4, forest="RF-E", neighbors="a row exchanged")
    explore.go_to("Choose ε")
    looked = explore.page.get_by_role("combobox", name="Look at the forest")
    expect(looked).to_have_value("RF-E")
    explore.shows("at ε", "0.4")
    with rerun(explore.page):
        explore.slider("at ε").press("ArrowRight")
    idle(explore.page)
    explore.shows("at ε", "0.5")
    explore.go_to("Explore")
    expect(explore.headline).to_contain_text("What ε = 0.5 means")
    expect(explore.page.get_by_role("combobox", name="Forest", exact=True)).to_have_value(re.compile("^RF-E"))
    explore.go_to("Choose ε")
    expect(looked).to_have_value("RF-E")


def test_an_answer_is_taken_to_explore(explore: Explore) -> None:
    query = "data=zoo&need=55.0&sure=8+in+10+releases&looked_at=multinomial&look_eps=0.4&neighbors=a+row+exchanged"
    explore.page.goto(f"{explore.url}/Choose_epsilon?{query}")
    explore.page.get_by_role("link", name="Take to Explore: multinomial at ε = 0.4").click()
    expect(explore.headline).to_contain_text("What ε = 0.4 means")
    settings = {"data": "zoo", "forest": "multinomial", "eps": "0.4", "neighbors": "a row exchanged"}
    explore.page.wait_for_url(lambda _: explore.settings() == settings)
    idle(explore.page)
    assert explore.settings() == settings
    expect(explore.exact_values().get_by_role("switch", name="Depth and trees by rule")).to_be_checked()
    explore.page.keyboard.press("Escape")
    expect(explore.page.get_by_role("button", name="Release this forest")).to_be_enabled()


# The type and the name of the focused element, which may be inside of a component.
FOCUSED = """() => {
    let element = document.activeElement;
    while (element.shadowRoot?.activeElement) element = element.shadowRoot.activeElement;
    return `${element.type} ${element.ariaLabel}`;
}"""


@pytest.mark.slow
def test_the_epsilon_slider_is_among_the_first_tab_stops(explore: Explore) -> None:
    """The ε slider is one of the first five tab stops after the link that skips the sidebar."""
    for path in ("/", "/Compare?data=zoo", "/Audit"):
        explore.page.goto(f"{explore.url}{path}")
        expect(explore.page.get_by_role("slider", name=re.compile("ε$"))).to_be_visible()
        idle(explore.page)
        explore.page.keyboard.press("Tab")
        expect(explore.page.get_by_role("link", name="Skip to main content")).to_be_focused()
        explore.page.keyboard.press("Enter")
        stops = []
        for _ in range(5):
            explore.page.keyboard.press("Tab")
            stops.append(explore.page.evaluate(FOCUSED))
        assert any(re.match("range .*ε", stop) for stop in stops), stops


@pytest.mark.slow
def test_a_link_opens_compare_in_the_same_state(explore: Explore, friend: Explore) -> None:
    query = "data=zoo&forests=RF-E&forests=JPW&releases_each=2&eps=0.3&compare_tab=Depth&compared=balanced+accuracy"

    def drawn(window: Explore) -> tuple[list[dict], list[str]]:
        expect(window.page.locator(".js-plotly-plot .plot-container").first).to_be_visible()
        idle(window.page)
        chart = Chart(window.page, titled("balanced accuracy at"))
        return chart.traces(), window.main.get_by_role("paragraph").all_inner_texts()[:3]

    explore.page.goto(f"{explore.url}/Compare?{query}")
    figures = drawn(explore)
    link = explore.link()
    assert parse_qs(urlsplit(link).query) == parse_qs(query)
    friend.page.goto(link)
    assert drawn(friend) == figures and friend.link() == link


@pytest.mark.slow
def test_a_link_opens_choose_in_the_same_state(explore: Explore, friend: Explore) -> None:
    """The question and the promise of a link appear before all releases are simulated."""
    query = "data=zoo&sure=8+in+10+releases&need=55.0&prior=10+%25&margin=false&rows_each=3&looked_at=RF-E&look_eps=0.5"

    def check_settings(window: Explore) -> None:
        main, page = window.main, window.page
        expect(main.get_by_text(re.compile("Smallest ε for 55.0 %"))).to_be_visible()
        for name, value in (("Accuracy that you need", "55.0 %"), ("at ε", "0.5")):
            slider = page.get_by_role("slider", name=re.compile(f"^{name}"))
            expect(slider).to_have_attribute("aria-valuetext", value)
        for name, value in (
            ("Share of releases that must reach it", "8 in 10 releases"),
            ("Look at the forest", "RF-E"),
        ):
            expect(page.get_by_role("combobox", name=name, exact=True)).to_have_value(value)
        panel = page.get_by_role("tabpanel", name="What it means")
        expect(panel).to_contain_text("e^1.5, as 3 × ε = 1.5")  # three rows for each person
        expect(panel).to_contain_text("can become at most 33.3 % sure")  # from a prior of 10 %
        expect(main).to_contain_text("Full dots are checked")
        expect(main).not_to_contain_text("margin for the luck")  # no margin

    explore.page.goto(f"{explore.url}/Choose_epsilon?{query}")
    check_settings(explore)
    link = explore.link()
    assert parse_qs(urlsplit(link).query) == parse_qs(query)
    friend.page.goto(link)
    check_settings(friend)
    assert friend.link() == link
