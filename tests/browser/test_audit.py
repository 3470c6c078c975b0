"""The Audit page: the claimed and the true loss, and an attack that runs to its end."""

from __future__ import annotations

import re

from playwright.sync_api import expect

from tests.browser.driver import BROWSER, Chart, Explore, idle, rerun, titled

pytestmark = BROWSER


def open_audit(explore: Explore, query: str = "") -> None:
    explore.page.goto(f"{explore.url}/Audit{query}")
    expect(explore.headline.get_by_role("heading")).to_have_count(4)
    expect(explore.page.locator(".js-plotly-plot .plot-container")).to_have_count(2)
    idle(explore.page)


def proved_losses(explore: Explore) -> list[float]:
    (line,) = [t for t in Chart(explore.page, titled("Proved after")).traces() if t["mode"] == "lines+markers"]
    return line["y"]


def test_attack_proves_that_the_promise_is_broken(explore: Explore) -> None:
    open_audit(explore)
    assert [f.value for f in explore.figures()] == ["ε = 1", "∞", "δ ≥ 0.138", "Broken"]
    expect(explore.badge("Not certified")).to_be_visible()
    assert any("Broken" in red for red in explore.reds())
    with rerun(explore.page):
        explore.main.get_by_role("button", name="Attack it").click()
        expect(explore.page.get_by_role("progressbar").first).to_be_visible()
    bounds = proved_losses(explore)
    assert bounds == sorted(bounds) and bounds[-1] < 2.14  # how large the bound becomes depends on the machine's speed
    expect(
        explore.main.get_by_text(re.compile(r"In [\d,]+ releases of either table .* loss of at least"))
    ).to_be_visible()


def test_a_moved_control_ends_the_attack(explore: Explore) -> None:
    open_audit(explore, "?rule=permute-and-flip")
    assert explore.figures()[-1].value == "Kept"
    explore.main.get_by_role("button", name="Attack it").click()
    expect(explore.page.get_by_role("progressbar").first).to_be_visible()
    explore.slider("Privacy promised: ε").press("ArrowLeft")
    expect(explore.headline).to_contain_text("ε = 0.7")
    idle(explore.page)
    expect(explore.page.get_by_role("progressbar")).to_have_count(0)
    expect(explore.main).not_to_contain_text("releases of either table the attacker counted")
    assert explore.settings() == {"rule": "permute-and-flip", "eps": "0.7"}


def test_the_audit_page_fits_a_phone(phone: Explore) -> None:
    open_audit(phone)
    for selector in ("html", "[data-testid=stMain]"):
        inner, outer = phone.page.locator(selector).evaluate("e => [e.scrollWidth, e.clientWidth]")
        assert inner <= outer <= 390
