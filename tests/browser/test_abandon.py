"""When a user moves a control, the running work ends: the page responds at once, and the processors become idle."""

from __future__ import annotations

import psutil
import pytest
from playwright.sync_api import expect

from tests.browser.driver import BROWSER, UPLOAD, Explore, idle
from tests.browser.server import Server

pytestmark = BROWSER


def processors_in_use(explore: Explore, server: Server, seconds: float) -> float:
    """Return the mean number of processors that the app uses during this time."""
    app = psutil.Process(server._process.pid)
    before = app.cpu_times()
    explore.page.wait_for_timeout(1000 * seconds)
    after = app.cpu_times()
    return (after.user + after.system - before.user - before.system) / seconds


# The control interrupts the work before the first curve at depth 8, and during the refinement of the curve at depth 4.
@pytest.mark.parametrize("depth", [pytest.param(8, marks=pytest.mark.slow), 4])
@pytest.mark.slow
def test_a_moved_control_ends_slow_work(explore: Explore, server: Server, depth: int) -> None:
    slow = f"data=magic&forest=multinomial&trees=100&depth={depth}"
    explore.page.goto(f"{explore.url}/?{slow}")
    bar = explore.page.get_by_role("progressbar").first
    if depth == 4:
        expect(explore.main).to_contain_text("no need to wait")
    expect(bar).to_be_visible()
    explore.choose("Data", UPLOAD)
    expect(explore.main).to_contain_text("Attach a CSV file")
    idle(explore.page)
    assert processors_in_use(explore, server, 1.0) < 0.4  # work that goes on would use all processors
