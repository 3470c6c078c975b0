"""The pages Compare and Choose ε: work stays stopped, an accuracy leads to an ε, and a report can be downloaded."""

from __future__ import annotations

import re
from urllib.parse import urlencode

from playwright.sync_api import expect

from tests.browser.driver import BROWSER, Chart, Explore, idle, rerun, titled

pytestmark = BROWSER


def visit(explore: Explore, page: str, **settings: object) -> None:
    explore.page.goto(f"{explore.url}/{page}?{urlencode(settings, doseq=True)}")
    expect(explore.page.locator(".js-plotly-plot .plot-container").first).to_be_visible()


def test_a_comparison_can_be_stopped_and_continued(explore: Explore) -> None:
    visit(
        explore,
        "Compare",
        data="pendigits",
        forests=["boosted", "multinomial"],
        releases_each=50,
        held_out="every row once, in 5 parts",
    )
    stop, go_on = (explore.main.get_by_role("button", name=name, exact=True) for name in ("Stop", "Go on"))
    expect(explore.page.get_by_role("progressbar").first).to_be_visible()
    with rerun(explore.page):
        stop.click()
    expect(go_on).to_be_visible()
    expect(explore.main.get_by_text("Stopped.")).to_be_visible()
    caption = explore.main.get_by_text("Each point is the mean of").inner_text()
    assert "50 simulated releases" not in caption
    go_on.click()
    expect(explore.page.get_by_role("progressbar").first).to_be_visible()
    # The work of Compare also ends if the user opens another page, which appears at once.
    explore.go_to("Audit")
    expect(explore.main.get_by_text("Does a rule keep its promise?")).to_be_visible()
    idle(explore.page)


def test_moving_epsilon_changes_the_words_and_not_the_lines(explore: Explore) -> None:
    visit(explore, "Compare", data="zoo", forests=["RF-E", "one greedy tree"], releases_each=2)
    idle(explore.page)
    lines = [t["y"] for t in Chart(explore.page, titled("accuracy at")).traces() if t.get("name")]
    with rerun(explore.page):
        explore.slider("Privacy budget ε").press("ArrowRight")
    expect(explore.main.get_by_text(re.compile("At ε = 1.5, .* comes first"))).to_be_visible()
    assert [t["y"] for t in Chart(explore.page, titled("accuracy at")).traces() if t.get("name")] == lines


def test_an_accuracy_finds_its_epsilon_and_a_report(explore: Explore) -> None:
    """While the page simulates releases, a user can read the answer, move the accuracy and download the report."""
    visit(explore, "Choose_epsilon", data="zoo", sure="8 in 10 releases", margin="false", choose_tab="Report")
    answer = explore.main.get_by_text(re.compile("^Smallest ε for"))
    asked = re.search(r"for ([\d.]+) %", answer.inner_text())
    assert asked
    explore.main.get_by_role("slider", name=re.compile("^Accuracy that you need")).press("ArrowRight")
    expect(answer).to_contain_text(f"for {float(asked[1]) + 0.5:.1f} %")
    with explore.page.expect_download() as download:
        explore.main.get_by_role("button", name="Download the report").click()
    assert download.value.suggested_filename == "privacy_report.html"
    text = download.value.path().read_text(encoding="utf-8")
    assert "Privacy report: Zoo" in text and "What is promised" in text and "<script" not in text
