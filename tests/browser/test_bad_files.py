"""Files that are no tables: the page shows a clear sentence and still works. tests/ui tests more such files."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from playwright.sync_api import expect

from dpforest.limits import MAX_UPLOAD_MB
from tests.browser import clinic
from tests.browser.driver import BROWSER, Explore, chart_ready, idle
from tests.tables.bad_tables import ONE_BAD_COLUMN, REFUSED

pytestmark = BROWSER

TRACE = re.compile(r"Traceback|\wError\b|Exception|\.py\b|line \d+, in ")


def _detach(explore: Explore) -> None:
    explore.sidebar.get_by_role("button", name=re.compile("^Remove")).click()
    expect(explore.main).to_contain_text("Attach a CSV file")
    idle(explore.page)


@pytest.mark.slow  # tests/ui covers this in every run
def test_bad_files_are_refused_one_after_another(explore: Explore, tmp_path: Path) -> None:
    """The app refuses a file that is too large, is no table, or has no usable column. Then it accepts a good file."""
    explore.visit(f"{explore.url}/?data=upload+a+CSV&trees=5")
    body = explore.page.locator("body")

    large = tmp_path / "large.csv"
    with large.open("wb") as file:
        file.write(b"a,b,ill\n")
        file.truncate((MAX_UPLOAD_MB + 1) * 2**20)  # a sparse file, which uses no space on the disk
    sent: list[int] = []
    explore.page.on("request", lambda request: sent.append(1) if request.method in ("PUT", "POST") else None)
    explore.sidebar.locator("[data-testid=stFileUploaderDropzoneInput]").set_input_files(large)
    expect(explore.sidebar).to_contain_text(re.compile(rf"must be {MAX_UPLOAD_MB}(\.0)?\s?MB or smaller"))
    assert not TRACE.search(body.inner_text())
    assert not sent, "refused before it is sent"
    _detach(explore)

    explore.upload("garbage.csv", REFUSED["binary garbage"].data)
    alert = explore.main.get_by_role("alert")
    expect(alert).not_to_contain_text("Attach a CSV file")
    idle(explore.page)
    (message,) = alert.all_inner_texts()
    sentence = message.splitlines()[-1]
    assert re.search(REFUSED["binary garbage"].says, sentence) and 20 < len(sentence) < 220 and sentence.endswith(".")
    assert not TRACE.search(body.inner_text())
    assert explore.reds() == [], "red is kept for broken claims"
    assert explore.headline.count() == 0
    _detach(explore)

    bad = ONE_BAD_COLUMN["10,000 categories"]
    explore.upload("many.csv", bad.data)
    chart_ready(explore.page)
    panel = explore.tab("Data")
    sentences = [line for line in panel.inner_text().splitlines() if re.search(bad.says, line, re.I)]
    assert len(sentences) == 1, panel.inner_text()
    assert not TRACE.search(body.inner_text())
    with explore.refigured():
        explore.slider("Privacy budget ε").press("Home")
    assert explore.reds() == []
    _detach(explore)

    explore.upload(clinic.NAME, clinic.csv())
    chart_ready(explore.page)
