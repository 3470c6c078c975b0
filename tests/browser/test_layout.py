"""Layout of the pages: parts do not move while a page loads, and each page has few font sizes."""

from __future__ import annotations

import pytest
from playwright.sync_api import Browser

from tests.browser.driver import BROWSER, IDLE, TIMEOUT
from tests.browser.layout import OBSERVE, layout_shift, type_sizes
from tests.browser.server import Server

pytestmark = BROWSER
MOST_SHIFT = 0.05
MOST_SIZES = 4
ALL_PAGES = ("", "Compare", "Choose_epsilon", "Audit", "Releases", "Lesson", "Theory", "Papers", "Glossary")


@pytest.mark.parametrize(
    ("name", "width", "height"),
    [
        ("", 1280, 720),
        ("Lesson", 1280, 720),
        *(pytest.param(name, 1440, 900, marks=pytest.mark.slow) for name in ALL_PAGES),
        *(pytest.param(name, 390, 844, marks=pytest.mark.slow) for name in ALL_PAGES),
    ],
)
def test_parts_keep_their_places_and_type_has_few_sizes(server: Server, browser: Browser, name, width, height):
    with browser.new_context(viewport={"width": width, "height": height}) as context:
        context.set_default_timeout(TIMEOUT)
        context.add_init_script(OBSERVE)
        page = context.new_page()
        page.goto(f"{server.url}/{name}")
        page.wait_for_selector("html[data-whole]", state="attached")
        page.wait_for_selector(IDLE)
        page.evaluate("() => new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn)))")
        assert layout_shift(page) <= MOST_SHIFT
        assert 2 <= len(type_sizes(page)) <= MOST_SIZES
