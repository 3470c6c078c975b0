"""A release, from its button to a file that predicts in another browser."""

from __future__ import annotations

import gzip
import io
import re

import numpy as np
import pandas as pd
import pytest
from playwright.sync_api import Page, expect

from dpforest import load_dataset, read_csv
from dpforest.trees.forest import ReleasedForest
from tests.browser import clinic
from tests.browser.driver import BROWSER, Explore, chart_ready, confirm_rows, idle

pytestmark = BROWSER

FOREST, ROWS = "Released forest (JSON)", "New rows (CSV)"


def _attach(page: Page, title: str, name: str, data: bytes) -> None:
    uploader = page.locator("[data-testid=stFileUploader]").filter(has_text=title)
    kind = "application/gzip" if name.endswith(".gz") else "text/csv"
    uploader.locator("[data-testid=stFileUploaderDropzoneInput]").set_input_files(
        {"name": name, "mimeType": kind, "buffer": data}
    )


def test_released_forest_is_certified_and_predicts(explore: Explore, friend: Explore) -> None:
    explore.open(data="nursery", eps=2)
    dialog = explore.release()
    expect(dialog).to_contain_text("CERTIFIED: pure differential privacy with ε = 2, δ = 0")
    assert "CAUTION" not in dialog.inner_text(), "a bundled table is public, so looking at it costs no ε"
    name, text = explore.download("Download the forest", dialog)
    assert name.endswith(".json.gz") and "CURATOR" not in name
    dialog.get_by_role("button", name="Close").click()
    expect(explore.sidebar).to_contain_text(
        re.compile(r"Spent in this session on Nursery: ε = 2 \(adding or removing one row\) in 1 release")
    )

    forest = ReleasedForest.from_json(text)
    assert forest.certificate.certified
    assert forest.certificate.epsilon == 2
    data = load_dataset("nursery")
    predicted = forest.predict(data.X)
    accuracy = float(np.mean(predicted == data.y))
    shown, _, floor, _ = explore.figures()
    assert accuracy > floor.number / 100 + 0.1
    assert abs(accuracy - shown.number / 100) < 0.08, "a release does as well as the simulations said"

    # The recipient of the file uses another browser.
    page = friend.page
    page.goto(f"{explore.url}/Releases")
    expect(page.get_by_text("A released forest is a JSON file")).to_be_visible()
    idle(page)
    _attach(page, FOREST, name, gzip.compress(text.encode()))
    expect(page.get_by_text("CERTIFIED: pure differential privacy with ε = 2")).to_be_visible()
    expect(page.locator("[data-testid=stMain]")).to_contain_text("16 trees")
    idle(page)
    new_rows = data.X.iloc[::100]
    _attach(page, ROWS, "new.csv", new_rows.to_csv(index=False).encode())
    expect(page.get_by_text(f"{len(new_rows)} predictions")).to_be_visible()
    idle(page)
    with page.expect_download() as waiting:
        page.get_by_role("button", name="Download predictions").click()
    download = waiting.value
    assert "DO_NOT_SHARE" in download.suggested_filename, "the new rows are next to the predictions"
    answers = pd.read_csv(download.path(), dtype=str, keep_default_na=False)
    assert answers["predicted class"].tolist() == [str(c) for c in forest.predict(new_rows)]


@pytest.mark.slow  # tests/ui covers this in every run
def test_two_releases_add_up(explore: Explore) -> None:
    explore.open(data="breast_wisconsin", eps=0.5, trees=11)
    first = explore.download("Download the forest", explore.release())[1]
    explore.page.get_by_role("dialog").get_by_role("button", name="Close").click()
    with explore.refigured():
        explore.slider("Privacy budget ε").press("ArrowRight")
    dialog = explore.release("will have spent ε = 1.2 (adding or removing one row) on the people in Breast")
    expect(dialog).to_contain_text("This session has spent ε = 1.2 (adding or removing one row)")
    second = explore.download("Download the forest", dialog)[1]
    dialog.get_by_role("button", name="Close").click()
    assert first != second
    expect(explore.sidebar).to_contain_text(re.compile(r"ε = 1.2 \(adding or removing one row\) in 2 releases"))
    budget = explore.tab("Budget")
    expect(budget).to_contain_text(
        re.compile(r"A release would use up ε = 7/10 of 7/10, .*Spent in this session on Breast .*ε = 1.2", re.S)
    )
    expect(budget).to_contain_text("Release 1")
    expect(budget).to_contain_text("Release 2")


@pytest.mark.slow
def test_two_tables_on_the_same_people(explore: Explore) -> None:
    """ε adds up over two tables and two relations, unless the user states that the tables share nobody."""
    page, sidebar = explore.page, explore.sidebar
    explore.open(data="zoo", trees=5)
    explore.release().get_by_role("button", name="Close").click()
    expect(page.get_by_role("dialog")).to_have_count(0)
    idle(page)  # a page that is drawn again closes an open list
    explore.choose("Data", "breast_wisconsin")
    expect(explore.main).to_contain_text("699 samples")
    chart_ready(page)
    explore.fine_settings()
    with explore.refigured():
        explore.pick("a row exchanged")
    sidebar.get_by_role("button", name="Release this forest").click()
    dialog = page.get_by_role("dialog")
    expect(dialog).to_contain_text("Do these rows hold the same people as an earlier release?")
    expect(dialog).to_contain_text("this session will have spent ε = 3 (a row exchanged) on the people in Zoo")
    explore.pick("No, nobody is in both")
    expect(dialog).not_to_contain_text("will have spent")
    explore.pick("Yes, as in release 1 (Zoo): costs add up")
    expect(dialog).to_contain_text("will have spent ε = 3 (a row exchanged)")
    confirm_rows(dialog)
    dialog.get_by_role("button", name=re.compile("^Release for ε")).click()
    expect(dialog.get_by_role("button", name="Download the forest")).to_be_visible()
    expect(dialog).to_contain_text(re.compile(r"has spent ε = 3 \(a row exchanged\) on the people in Zoo and Breast"))
    dialog.get_by_role("button", name="Close").click()

    expect(sidebar).to_contain_text(
        re.compile(r"Zoo and Breast .*ε = 3 = 2 × 1 \+ 1 \(a row exchanged\) in 2 releases")
    )
    sidebar.get_by_role("button", name="Explain or correct the sum").click()
    body = page.locator("[data-testid=stPopoverBody]")
    expect(body.get_by_role("row").filter(has_text="1 for adding or removing one row")).to_contain_text("2")
    body.get_by_text("What this means").click()
    expect(body).to_contain_text("can become at most 95.3 % sure")
    explore.choose("Is a table in this sum by mistake?", "yes, Zoo")
    expect(sidebar).to_contain_text("ε = 3 = 2 × 1 + 1 (a row exchanged) in 2 releases")
    expect(body.get_by_role("button", name="Take it out of the sum")).to_be_disabled()
    body.get_by_text("I state that nobody in Zoo is in another table of this sum.").click()
    body.get_by_role("button", name="Take it out of the sum").click()
    expect(sidebar).to_contain_text(re.compile(r"Zoo: ε = 1 \(adding or removing one row\) in 1 release"))
    idle(page)
    if not body.count():  # the popover closes if a sentence above it appears or disappears
        sidebar.get_by_role("button", name="Explain or correct the sum").click()
    expect(body).to_contain_text("nobody is in more than one of these groups")
    explore.answer("Release 2: are these the same people as in an earlier release?", "yes, as in release 1")
    page.keyboard.press("Escape")
    expect(sidebar).to_contain_text("ε = 3 = 2 × 1 + 1 (a row exchanged) in 2 releases")
    explore.go_to("Releases")
    expect(explore.main).to_contain_text("release 2")
    expect(sidebar).to_contain_text("ε = 3 = 2 × 1 + 1 (a row exchanged) in 2 releases")
    idle(page)


@pytest.mark.slow
def test_the_certificate_of_an_upload_names_its_source(explore: Explore) -> None:
    """The certificate quotes the source that the user stated, and warns that settings were chosen by looking."""
    explore.visit(f"{explore.url}/?data=upload+a+CSV&trees=21&tab=Data")
    explore.upload(clinic.NAME, clinic.csv())
    chart_ready(explore.page)
    explore.confirm(clinic.SOURCE)
    dialog = explore.release()
    expect(dialog).to_contain_text(f"asserted by the curator: “{clinic.SOURCE}”")
    expect(dialog).to_contain_text("CAUTION: The settings were chosen while looking at figures of this table")
    _, text = explore.download("Download the forest", dialog)
    forest = ReleasedForest.from_json(text)
    assert forest.certificate.certified
    assert [f.name for f in forest.domain.features] == ["Größe", "Gewicht", "Stadt"]
    assert "P00017" not in text and "Klinik" not in text
    dialog.get_by_role("button", name="Close").click()

    explore.go_to("Releases")
    main = explore.main
    expect(main).to_contain_text("release 1")
    expect(main).to_contain_text("CAUTION")
    idle(explore.page)
    new = clinic.csv(150, seed=2)
    _attach(explore.page, ROWS, "neu.csv", new)
    expect(main).to_contain_text("150 predictions")
    idle(explore.page)
    name, answers = explore.download("Download predictions")
    assert "DO_NOT_SHARE" in name
    table = pd.read_csv(io.StringIO(answers), dtype=str)
    expected = [str(c) for c in forest.predict(read_csv(new).table)]
    assert table[f"predicted {clinic.LABEL}"].tolist() == expected
    agree = re.search(r"([\d.]+) % of the predictions agree", main.inner_text())
    truth = [cells[-1] for cells in clinic.rows(150, seed=2)]
    right = np.mean([a == b for a, b in zip(expected, truth, strict=True)])
    assert agree and float(agree[1]) == round(100 * float(right), 1)


@pytest.mark.slow  # tests/ui covers this in every run
def test_other_people_in_a_table_of_the_same_shape(explore: Explore) -> None:
    """A user must state twice that a table of the same shape holds other people, because it may be the same table."""
    page = explore.page
    explore.visit(f"{explore.url}/?data=upload+a+CSV&trees=5&tab=Data")
    explore.upload(clinic.NAME, clinic.csv())
    chart_ready(page)
    explore.confirm(clinic.SOURCE)
    explore.release().get_by_role("button", name="Close").click()
    explore.sidebar.get_by_role("button", name=f"Remove {clinic.NAME}").click()
    expect(explore.main).to_contain_text("Attach a CSV file")
    explore.upload("neu.csv", clinic.csv(seed=2))
    expect(explore.main).to_contain_text("neu.csv")
    chart_ready(page)
    explore.confirm(clinic.SOURCE)
    explore.sidebar.get_by_role("button", name="Release this forest").click()
    dialog = page.get_by_role("dialog")
    now = dialog.get_by_role("button", name=re.compile("^Release for ε"))
    confirm_rows(dialog)
    expect(now).to_be_enabled()
    explore.pick("No, nobody is in both")
    expect(now).to_be_disabled()
    dialog.get_by_text("Same columns, same number of rows as release 1. I state that nobody is in both tables.").click()
    expect(now).to_be_enabled()
    idle(page)
