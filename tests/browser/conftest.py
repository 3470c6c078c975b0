"""One server and one Chromium for all browser tests. Each test fails on exceptions and on requests to other hosts.

Under pytest-xdist, each process would start another server, so `scripts/test` runs these tests in a single process.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, sync_playwright

from tests.browser.driver import COMPILING, COUNT_RUNS, TIMEOUT, Explore, Watch, chart_ready
from tests.browser.server import Server

DESK = {"viewport": {"width": 1400, "height": 1000}, "locale": "en-US"}


@pytest.fixture(scope="package")
def browser() -> Iterator[Browser]:
    executable = shutil.which("chromium") or "/usr/bin/chromium"
    assert Path(executable).exists(), "These tests need chromium: apt-get install chromium, or run scripts/test."
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=executable, args=["--disable-gpu"])
        yield chromium
        chromium.close()


@pytest.fixture(scope="package")
def window(browser: Browser) -> Iterator[BrowserContext]:
    """Yield a window that the tests share, so that it fetches and compiles the app's scripts once."""
    with _window(browser, **DESK) as context:
        yield context


@pytest.fixture(scope="package")
def other_window(browser: Browser) -> Iterator[BrowserContext]:
    """Yield a window that shares no cookies, storage or cache with `window`."""
    with _window(browser, **DESK) as context:
        yield context


@pytest.fixture(scope="package")
def phone_window(browser: Browser) -> Iterator[BrowserContext]:
    screen = {"width": 390, "height": 844}
    with _window(browser, viewport=screen, is_mobile=True, has_touch=True, device_scale_factor=2) as context:
        yield context


@contextmanager
def _window(browser: Browser, **looks: Any) -> Iterator[BrowserContext]:
    with browser.new_context(**looks) as context:
        context.set_default_timeout(TIMEOUT)
        context.add_init_script(COUNT_RUNS)
        yield context


@pytest.fixture(scope="package")
def server(window: BrowserContext, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """Yield the running app, with its kernels compiled."""
    running = Server(tmp_path_factory.mktemp("server") / "log.txt")
    try:
        running.wait()
        page = window.new_page()
        page.goto(f"{running.url}/?data=breast_wisconsin")
        chart_ready(page, COMPILING)
        page.goto("about:blank")
        yield running
    finally:
        running.stop()


@pytest.fixture
def watch(server: Server) -> Iterator[Watch]:
    """Yield a `Watch`, and check at the end of the test that no page and no log shows a fault."""
    before = len(server.log())
    watching = Watch(server.url)
    yield watching
    watching.close()
    log = server.log()[before:]
    assert "Traceback" not in log, f"The server met an exception:\n{log}"


@pytest.fixture
def page_of(watch: Watch) -> Iterator[Callable[[BrowserContext], Page]]:
    """Yield a function that returns a watched page in a window. Pages are reused, because they have loaded the app."""
    taken: list[Page] = []
    sizes: list[Any] = []

    def page_of(context: BrowserContext) -> Page:
        free = [page for page in context.pages if page not in taken]
        taken.append(free[0] if free else context.new_page())
        taken[-1].bring_to_front()  # a page in the background draws nothing and receives no keys
        sizes.append(taken[-1].viewport_size)
        return watch.over(taken[-1])

    yield page_of
    for page, size in zip(taken, sizes, strict=True):
        page.set_viewport_size(size)
        if page.url.startswith("http"):  # a page that was narrow stores that its sidebar is closed
            page.evaluate("localStorage.clear()")


@pytest.fixture
def explore(window: BrowserContext, server: Server, page_of: Callable[[BrowserContext], Page]) -> Explore:
    """Return the Explore page, not opened yet."""
    return Explore(page_of(window), server.url)


@pytest.fixture
def friend(other_window: BrowserContext, server: Server, page_of: Callable[[BrowserContext], Page]) -> Explore:
    """Return the Explore page in a separate browser, which stands for another person."""
    return Explore(page_of(other_window), server.url)


@pytest.fixture
def phone(phone_window: BrowserContext, server: Server, page_of: Callable[[BrowserContext], Page]) -> Explore:
    return Explore(page_of(phone_window), server.url)
