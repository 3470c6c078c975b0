"""On a phone no page scrolls sideways, and the main figures are visible."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, expect

from tests.browser.driver import BROWSER, TABS, Explore, chart_ready, idle

pytestmark = BROWSER

WIDTH = 390


def _no_sideways(page: Page) -> None:
    for selector in ("html", "[data-testid=stMain]"):
        inner, outer = page.locator(selector).evaluate("e => [e.scrollWidth, e.clientWidth]")
        assert inner <= outer <= WIDTH, f"{selector} is {inner} pixels wide"


def test_every_page_fits_a_phone(phone: Explore) -> None:
    """Every tab fits the screen, the button opens the sidebar with every control, and the figures change with ε."""
    phone.page.goto(f"{phone.url}/?data=breast_wisconsin&trees=5")
    chart_ready(phone.page)
    expect(phone.headline.get_by_role("heading")).to_have_count(4)
    phone.curve_in_sight()
    for name in TABS:
        phone.tab(name)
        _no_sideways(phone.page)

    before = phone.headline.inner_text()
    expect(phone.sidebar).to_have_attribute("data-collapsed", "true")
    phone.slider("Privacy budget ε").press("Home")
    expect(phone.headline).not_to_have_text(before, use_inner_text=True)
    idle(phone.page)
    assert phone.figures()[-1].label == "What ε = 0.01 means"
    phone.slider("Depth").press("End")
    idle(phone.page)
    phone.page.locator("[data-testid=stExpandSidebarButton]").tap()
    expect(phone.sidebar).to_have_attribute("data-collapsed", "false")
    phone.page.locator("[data-testid=stSidebarCollapseButton]").get_by_role("button").tap()
    expect(phone.sidebar).to_have_attribute("data-collapsed", "true")
    idle(phone.page)
    assert phone.settings()["depth"] == "15"
    _no_sideways(phone.page)


@pytest.mark.slow
@pytest.mark.parametrize("page", ["Compare", "Choose_epsilon"])
def test_slider_and_curve_are_on_one_screen(phone: Explore, page: str) -> None:
    """The ε slider and the curve fit on one screen, also with all nine forests."""
    phone.page.goto(f"{phone.url}/{page}?data=breast_wisconsin")
    phone.curve_in_sight()
    _no_sideways(phone.page)
