"""A user's CSV: the app reads and shows it, the user confirms its public domain, and the app deletes it."""

from __future__ import annotations

import json
import re

import pytest
from playwright.sync_api import expect

from tests.browser import clinic
from tests.browser.driver import BROWSER, UPLOAD, Explore, chart_ready, idle

pytestmark = BROWSER


@pytest.fixture
def uploaded(explore: Explore) -> Explore:
    explore.visit(f"{explore.url}/?data=upload+a+CSV&trees=5&tab=Data")
    explore.upload(clinic.NAME, clinic.csv())
    chart_ready(explore.page)
    return explore


def test_the_controls_lead_from_bundled_data_to_an_upload(explore: Explore) -> None:
    """The controls alone lead from bundled data to an upload, and a visit to another page keeps the upload."""
    explore.open(data="zoo", trees=5, tab="Data")
    explore.choose("Data", UPLOAD)
    expect(explore.main).to_contain_text("Attach a CSV file")
    expect(explore.headline).to_have_count(0)
    explore.upload(clinic.NAME, clinic.csv())
    chart_ready(explore.page)
    expect(explore.main).to_contain_text("400 rows · 3 attributes · predicts fähig")
    assert explore.chosen("Label") == clinic.LABEL
    accuracy, ceiling, floor, _ = explore.figures()
    assert floor.label in ("Always “ja”", "Always “nein”")
    assert 50 <= floor.number < 60
    assert accuracy.number > 50 and ceiling.number > 55

    panel = explore.page.get_by_role("tabpanel", name="Data")
    expect(panel).to_contain_text("Semicolons between columns, UTF-8 with byte order mark, 400 rows and 6 columns")
    expect(panel).to_contain_text("Decimal commas in 'Größe', 'Gewicht'")
    expect(panel).to_contain_text("Empty cells are read as missing in 'Größe', 'Stadt'")
    expect(panel).to_contain_text(re.compile("Kennung.*leave it out"))
    expect(panel).to_contain_text(re.compile("Datum.*leave it out"))
    expect(panel).to_contain_text(
        "Read from the rows: the bounds of 2 columns, the categories of 1 column, the types of 3 columns, "
        "the rules for missing cells of 3 columns, the classes, how the file is written and which columns are "
        "used."
    )
    domain = explore.page.get_by_role("region", name="The public domain")
    expect(domain.get_by_test_id("glide-cell-5-2")).to_have_text("Köln; München; Zürich")

    with explore.refigured(), explore.curve_chart.redrawn():
        explore.slider("Depth").press("ArrowRight")
    assert explore.settings().keys() - {"forest"} == {"data", "by_rule", "trees", "tab", "depth"}
    explore.go_to("Releases")
    expect(explore.main).not_to_contain_text("400 rows")
    idle(explore.page)
    explore.go_to("Explore")
    expect(explore.main).to_contain_text("400 rows")
    expect(explore.sidebar).to_contain_text(f"Attached: {clinic.NAME}")
    chart_ready(explore.page)


@pytest.mark.slow  # tests/ui covers this in every run
def test_no_release_before_the_domain_is_confirmed(uploaded: Explore) -> None:
    release = uploaded.sidebar.get_by_role("button", name="Release this forest")
    expect(release).to_be_disabled()
    expect(uploaded.sidebar).to_contain_text("The bounds of 'Größe' were read from the data")
    expect(uploaded.tab("Budget")).to_contain_text("NOT CERTIFIED")

    panel = uploaded.tab("Data")
    uploaded.choose("Card", "Stadt")
    uploaded.answer_card(panel, "yes")
    expect(panel.get_by_text("A source has at least three words")).to_be_visible()
    expect(release).to_be_disabled()

    uploaded.confirm(clinic.SOURCE)
    expect(release).to_be_enabled()
    budget = uploaded.tab("Budget")
    expect(budget).to_contain_text(re.compile(r"(?<!NOT )CERTIFIED: pure differential privacy"))
    expect(budget).to_contain_text(f"are asserted by the curator: “{clinic.SOURCE}”")

    uploaded.tab("Data").get_by_role("button", name="Undo all edits").click()
    expect(release).to_be_disabled()
    idle(uploaded.page)


@pytest.mark.slow  # tests/ui covers this in every run
def test_a_typed_bound_is_used_by_the_forest(uploaded: Explore) -> None:
    """A user types a bound and its source into the table, and the app fits the forest on the wider domain."""
    uploaded.tab("Data")
    expect(uploaded.sidebar).to_contain_text("There are 5 more reasons like this")
    uploaded.edit(0, 3, "2.5")
    uploaded.edit(0, 7, "nobody is taller")
    uploaded.page.get_by_role("button", name="Apply my changes").click()
    expect(uploaded.page.get_by_role("tabpanel")).to_contain_text("Read from the rows: the bounds of 1 column,")
    idle(uploaded.page)
    name, text = uploaded.download("Download as JSON")
    assert "DO_NOT_SHARE" in name, "other entries are still read from the rows"
    size = next(f for f in json.loads(text)["features"] if f["name"] == "Größe")
    assert (size["high"], size["source"], size["source_note"]) == (2.5, "asserted", "nobody is taller")
    uploaded.confirm(clinic.SOURCE)
    name, text = uploaded.download("Download as JSON")
    assert "CURATOR" not in name
    assert {f["source"] for f in json.loads(text)["features"]} == {"asserted"}
    assert json.loads(text)["reading_note"] == json.loads(text)["columns_note"] == clinic.SOURCE


@pytest.mark.slow  # tests/ui covers this in every run
def test_a_category_with_a_semicolon_stays_whole(explore: Explore) -> None:
    """A category with a semicolon stays one category when another cell of its row or its list of values changes."""
    places = ["Köln; Deutz", 'the "old" town', "Bonn"]
    rows = "".join(f"{i % 50},{json.dumps(places[i % 3], ensure_ascii=False)},{'ab'[i % 2]}\n" for i in range(150))
    explore.visit(f"{explore.url}/?data=upload+a+CSV&trees=5&tab=Data")
    explore.upload("places.csv", f"size,place,kind\n{rows}".replace('\\"', '""').encode())
    chart_ready(explore.page)

    def categories() -> list[str]:
        expect(explore.main.get_by_text("Apply or undo these changes first").first).to_be_visible()
        explore.page.get_by_role("button", name="Apply my changes").click()
        expect(explore.main.get_by_text("Apply or undo these changes first")).to_have_count(0)
        idle(explore.page)
        features = json.loads(explore.download("Download as JSON")[1])["features"]
        return sorted(next(f for f in features if f["name"] == "place")["categories"])

    explore.tab("Data")
    explore.edit(1, 7, "the map of the town council")
    assert categories() == sorted(places)
    explore.tab("Tree")
    explore.tab("Data")
    shown = explore.page.get_by_role("region", name="The public domain").get_by_test_id("glide-cell-5-1").inner_text()
    explore.edit(1, 5, f"{shown}; Kiel")
    assert categories() == sorted([*places, "Kiel"])


@pytest.mark.slow
def test_invalid_bounds_get_one_sentence(uploaded: Explore) -> None:
    """Invalid bounds give one sentence, and the page continues with the previous bounds."""
    uploaded.tab("Data")
    uploaded.edit(0, 3, "-1")
    uploaded.page.get_by_role("button", name="Apply my changes").click()
    expect(uploaded.main.get_by_role("alert").filter(has_text="Größe")).to_be_visible()
    idle(uploaded.page)
    with uploaded.refigured():
        uploaded.slider("Privacy budget ε").press("ArrowLeft")


@pytest.mark.slow  # tests/ui covers this in every run
def test_clear_my_data_removes_the_upload_except_its_cost(uploaded: Explore) -> None:
    """After “Clear my data”, page, address and upload option show nothing of the upload except its cost."""
    uploaded.confirm(clinic.SOURCE)
    dialog = uploaded.release()
    dialog.get_by_role("button", name="Close").click()
    expect(uploaded.sidebar).to_contain_text("Spent in this session")

    uploaded.sidebar.get_by_role("button", name="Clear my data").click()
    expect(uploaded.main).not_to_contain_text(clinic.NAME)
    expect(uploaded.sidebar).to_contain_text(
        "Spent in this session on cleared table 1: ε = 1 (adding or removing one row)"
    )
    chart_ready(uploaded.page)
    assert uploaded.settings().get("data") != UPLOAD
    body = uploaded.page.locator("body").inner_text()
    assert not [secret for secret in clinic.SECRETS if secret in body]

    uploaded.choose("Data", UPLOAD)
    expect(uploaded.main).to_contain_text("Attach a CSV file")
    expect(uploaded.sidebar).not_to_contain_text(clinic.NAME)
    idle(uploaded.page)
