"""Files that are no tables: one clear sentence each, and the page goes on."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from bad_tables import ONE_BAD_COLUMN, REFUSED
from playwright.sync_api import expect

from browser import clinic
from browser.driver import BROWSER, Explore, chart_ready, idle
from dpforest.limits import MAX_UPLOAD_MB

pytestmark = BROWSER

TRACE = re.compile(r"Traceback|\wError\b|Exception|\.py\b|line \d+, in ")


@pytest.fixture
def asked(explore: Explore) -> Explore:
    explore.visit(f"{explore.url}/?data=upload+a+CSV")
    expect(explore.main).to_contain_text("Attach a CSV file")
    return explore


def _detach(explore: Explore) -> None:
    explore.sidebar.get_by_role("button", name=re.compile("^Remove")).click()
    expect(explore.main).to_contain_text("Attach a CSV file")
    idle(explore.page)


def test_refused_one_after_the_other(asked: Explore) -> None:
    """In one session: after the last of them a good file works."""
    wrong = []
    for name, bad in REFUSED.items():
        asked.upload(f"{name}.csv", bad.data)
        alert = asked.main.get_by_role("alert")
        expect(alert).not_to_contain_text("Attach a CSV file")
        idle(asked.page)
        said = alert.all_inner_texts()
        sentence = said[-1].splitlines()[-1] if said else ""
        if len(said) != 1 or not re.search(bad.says, sentence) or not 20 < len(sentence) < 220:
            wrong.append(f"{name}: {said}")
        if not sentence.endswith("."):
            wrong.append(f"{name}: not a sentence: {sentence!r}")
        if TRACE.search(asked.page.locator("body").inner_text()):
            wrong.append(f"{name}: a trace on the page")
        if asked.reds():
            wrong.append(f"{name}: red, which is kept for broken claims: {asked.reds()}")
        assert asked.headline.count() == 0
        _detach(asked)
    assert not wrong, "\n".join(wrong)
    asked.upload(clinic.NAME, clinic.csv())
    chart_ready(asked.page)


@pytest.mark.parametrize("fault", ONE_BAD_COLUMN)
def test_one_bad_column(asked: Explore, fault: str) -> None:
    """It is named, with the reason, and left out; the others are used."""
    bad = ONE_BAD_COLUMN[fault]
    asked.upload(f"{fault}.csv", bad.data)
    chart_ready(asked.page)
    panel = asked.tab("Data")
    sentences = [line for line in panel.inner_text().splitlines() if re.search(bad.says, line, re.I)]
    assert len(sentences) == 1, panel.inner_text()
    assert not TRACE.search(asked.page.locator("body").inner_text())
    with asked.refigured():
        asked.slider("Privacy budget ε").press("Home")
    assert asked.reds() == []


def test_above_the_upload_limit(asked: Explore, tmp_path: Path) -> None:
    """Refused before it is sent."""
    large = tmp_path / "large.csv"
    with large.open("wb") as file:
        file.write(b"a,b,ill\n")
        file.truncate((MAX_UPLOAD_MB + 1) * 2**20)  # a hole: it takes no room on the disk
    sent: list[int] = []
    asked.page.on("request", lambda request: sent.append(1) if request.method in ("PUT", "POST") else None)
    asked.sidebar.locator("[data-testid=stFileUploaderDropzoneInput]").set_input_files(large)
    expect(asked.sidebar).to_contain_text(re.compile(rf"must be {MAX_UPLOAD_MB}(\.0)?\s?MB or smaller"))
    assert not TRACE.search(asked.page.locator("body").inner_text())
    assert not sent
    expect(asked.main).to_contain_text("Attach a CSV file")
    asked.sidebar.get_by_role("button", name=re.compile("^Remove")).click()
    asked.upload(clinic.NAME, clinic.csv())
    chart_ready(asked.page)
