"""A link opens its page as it stood, in a browser that has never been there; the pages other than Explore."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from urllib.parse import parse_qs, urlsplit

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect

from browser.driver import BROWSER, Chart, Explore, idle, rerun, titled

pytestmark = BROWSER


@pytest.fixture
def friend(browser: Browser, explore: Explore, page_of: Callable[[BrowserContext], Page]) -> Iterator[Explore]:
    """Somebody else, in a browser of their own."""
    with browser.new_context(viewport={"width": 1400, "height": 1000}, locale="en-US") as theirs:
        yield Explore(page_of(theirs), explore.url)


def looked_at(explore: Explore) -> None:
    """Until the Audit page is there."""
    expect(explore.headline.get_by_role("heading")).to_have_count(4)
    expect(explore.page.locator(".js-plotly-plot .plot-container")).to_have_count(2)
    idle(explore.page)


def losses(explore: Explore) -> list[dict]:
    return Chart(explore.page, titled("Privacy loss of")).traces()


def test_audit(explore: Explore, friend: Explore) -> None:
    explore.page.goto(f"{explore.url}/Audit")
    looked_at(explore)
    with explore.refigured():
        explore.slider("Privacy promised: ε").press("ArrowLeft")
    with explore.refigured():
        explore.slider("Classes").press("ArrowRight")
    with rerun(explore.page):
        explore.pick("most telling")
    link = explore.link()
    parts = urlsplit(link)
    assert (f"{parts.scheme}://{parts.netloc}", parts.path) == (explore.url, "/Audit")
    assert parse_qs(parts.query) == {"claimed": ["0.7"], "classes": ["3"], "pair": ["most telling"]}

    friend.page.goto(link)
    looked_at(friend)
    assert friend.figures() == explore.figures()
    assert losses(friend) == losses(explore)
    assert friend.main.get_by_role("table").all_inner_texts() == explore.main.get_by_role("table").all_inner_texts()
    assert friend.link() == link


def test_each_page_has_a_link_of_its_own(explore: Explore) -> None:
    """What was set on one page is not in the link of another."""
    explore.open(data="breast_wisconsin", eps=0.1)
    assert explore.link() == f"{explore.url}/?data=breast_wisconsin&eps=0.1"
    explore.go_to("Audit")
    looked_at(explore)
    assert explore.link() == f"{explore.url}/Audit"


@pytest.mark.parametrize(
    "page, query, chart",
    [
        (
            "Compare", "data=nursery&forests=RF-E&forests=JPW&releases_each=2&eps=0.3&compare_tab=Depth"
            "&compared=balanced+accuracy", "balanced accuracy at",
        ),
        (
            "Choose_epsilon", "data=zoo&sure=8+in+10+releases&need=55.0&prior=10+%25&margin=false&rows_each=3",
            "Smallest ε of each forest",
        ),
    ],
    ids=["Compare", "Choose"],
)  # fmt: skip
def test_compare_and_choose(explore: Explore, friend: Explore, page: str, query: str, chart: str) -> None:
    def drawn(window: Explore) -> tuple[list[dict], list[str]]:
        expect(window.page.locator(".js-plotly-plot .plot-container").first).to_be_visible()
        idle(window.page, 90_000)
        return Chart(window.page, titled(chart)).traces(), window.main.get_by_role("paragraph").all_inner_texts()[:3]

    explore.page.goto(f"{explore.url}/{page}?{query}")
    figures = drawn(explore)
    link = explore.link()
    assert parse_qs(urlsplit(link).query) == parse_qs(query)
    friend.page.goto(link)
    assert drawn(friend) == figures and friend.link() == link
