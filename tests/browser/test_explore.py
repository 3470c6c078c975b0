"""Explore on bundled data: every control changes the figures, every tab opens, and a broken claim shows as broken."""

from __future__ import annotations

import io
import re
from urllib.parse import urlencode

import pandas as pd
import pytest
from playwright.sync_api import expect

from tests.browser.driver import BROWSER, FITTING, TABS, Chart, Explore, chart_ready, titled

pytestmark = BROWSER

SMALL = {"data": "breast_wisconsin"}


def test_figures_and_curve_appear_before_the_refinement_ends(explore: Explore) -> None:
    """Figures and curve appear after the first simulated releases, before the refinement ends."""
    explore.page.goto(explore.url)
    expect(explore.headline.get_by_role("heading")).to_have_count(4)
    expect(explore.page.locator(".instrument .dot").first).to_be_visible()
    accuracy, ceiling, floor, meaning = explore.figures()
    assert [f.label for f in (accuracy, ceiling)] == ["Accuracy", "Without privacy"]
    assert floor.label.startswith("Always “")
    assert floor.number < accuracy.number
    assert "simulated release" in accuracy.note
    assert (meaning.label, meaning.value) == ("What ε = 1 means", "≤ 69.7 of 100")
    assert meaning.note.endswith("are right (a coin: 50). Guesses at which of two values a row has: ≤ 79.5.")
    expect(explore.badge("Simulated at ε = 1, add-remove")).to_be_attached()
    expect(explore.badge("Do not share")).to_be_visible()
    expect(explore.main.get_by_text(re.compile("699 samples · Is a lump benign"))).to_be_visible()
    assert explore.reds() == []


@pytest.mark.slow
def test_the_epsilon_slider_is_above_its_curve(explore: Explore) -> None:
    """On a small screen, ε slider and curve are visible together, and a typed ε moves the slider."""
    explore.page.set_viewport_size({"width": 1280, "height": 720})
    for page in ("", "Compare", "Choose_epsilon"):
        for more in ({}, {"present": "true"}):
            explore.page.goto(f"{explore.url}/{page}?{urlencode(SMALL | more)}")
            explore.curve_in_sight()
            assert explore.small_words(14) == []
    explore.page.goto("about:blank")  # ends presentation mode
    explore.open(**SMALL, trees=11)
    typed = explore.exact_values().get_by_role("textbox", name="Type ε")
    with explore.refigured():
        typed.fill("0.4")
        typed.press("Enter")
    explore.page.keyboard.press("Escape")
    explore.shows("Privacy budget ε", "0.4")
    assert explore.figures()[-1].label == "What ε = 0.4 means"
    assert explore.settings()["eps"] == "0.4"
    assert explore.here()[0] == 0.4
    explore.visit(explore.page.url.replace("eps=0.4", "eps=0.40"))
    for key, epsilon in (("ArrowRight", "0.5"), ("ArrowLeft", "0.4"), ("ArrowLeft", "0.3")):
        with explore.refigured():
            explore.slider("Privacy budget ε").press(key)
            explore.shows("Privacy budget ε", epsilon)
        assert explore.figures()[-1].label == f"What ε = {epsilon} means"
    expect(explore.exact_values().get_by_role("textbox", name="Type ε")).to_have_value("0.3")


@pytest.mark.slow
def test_the_refined_figures_agree_with_the_curve(explore: Explore) -> None:
    explore.page.goto(explore.url)
    chart_ready(explore.page, FITTING)
    _check_figures(explore, all_of_them=False)  # how many releases are simulated depends on the speed of the machine


def _check_figures(explore: Explore, *, all_of_them: bool = True) -> None:
    """Check the number of releases, and that the figures agree with the curve."""
    accuracy, ceiling, floor, _ = explore.figures()
    assert floor.number < accuracy.number < ceiling.number
    assert ("20 simulated releases" if all_of_them else "simulated releases") in accuracy.note
    epsilon, height = explore.here()
    assert epsilon == 1
    assert height == pytest.approx(accuracy.number / 100, abs=6e-4)
    assert explore.curve()[1] == pytest.approx(height)


def test_epsilon_moves_along_one_curve(explore: Explore) -> None:
    explore.open(**SMALL, trees=11)
    _check_figures(explore)
    curve = explore.curve()
    assert list(curve)[0] == 0.01 and list(curve)[-1] == 10
    slider = explore.slider("Privacy budget ε")
    limits = {}
    for key, epsilon in (("ArrowRight", "1.5"), ("Home", "0.01"), ("End", "25")):
        with explore.refigured():
            slider.press(key)
            explore.shows("Privacy budget ε", epsilon)
        accuracy, *_, meaning = explore.figures()
        assert explore.settings()["eps"] == epsilon
        assert explore.here() == (float(epsilon), pytest.approx(accuracy.number / 100, abs=6e-4))
        later_curve = explore.curve()
        assert {e: later_curve[e] for e in curve} == curve, "moving ε must not recount"
        assert meaning.label == f"What ε = {epsilon} means"
        limits[epsilon] = [float(share) for share in re.findall(r"\d+(?:\.\d+)?", meaning.value + meaning.note)]
        assert explore.reds() == [], "a small ε is no error"
    for epsilon in ("0.01", "1.5"):
        member, _, _, of_value = limits[epsilon]  # numbers in the text: "77.7 of 100 guesses …, at most … 87.3"
        assert 50 < member < of_value <= 100
    assert limits["0.01"][0] < limits["1.5"][0]
    assert curve[10] > curve[0.01]


@pytest.mark.slow  # tests/ui covers this in every run
def test_a_key_press_ends_the_previous_run(explore: Explore) -> None:
    """Each press of a key ends the previous run, and the page shows the result of the last press."""
    explore.open(**SMALL)
    slider = explore.slider("Depth")
    before = int(explore.value("Depth"))
    with explore.refigured():
        for _ in range(5):
            slider.press("ArrowRight")
        explore.shows("Depth", before + 5)
        chart_ready(explore.page)
        expect(explore.main.get_by_text(f"The whole tree: {2 ** (before + 5):,} leaves")).to_be_visible()
    assert explore.settings()["depth"] == str(before + 5)
    assert "20 simulated releases" in explore.figures()[0].note


ROWS = ("Rows and trees", "all rows in every tree", "each row in one tree")
BUDGET = ("Budget of a leaf", "leaves share it (paper)", "each leaf has the tree's")


def test_each_control_changes_figures_curve_and_address(explore: Explore) -> None:
    """Each control changes the figures, the curve and the address."""
    explore.open(**SMALL, trees=11)
    for name, key in (("Depth", "ArrowLeft"), ("Trees", "ArrowLeft")):
        slider = explore.slider(name)
        before = explore.value(name)
        with explore.refigured(), explore.curve_chart.redrawn():
            slider.press(key)
        assert explore.settings()[name.lower()] == explore.value(name) != before
    explore.fine_settings()
    with explore.refigured():
        explore.pick("a row exchanged")
        expect(explore.badge("Simulated at ε = 1, replace-one")).to_be_attached()
    meaning = explore.figures()[-1]
    assert meaning.note.startswith("guesses at which of two values a row in the table has are right")
    assert meaning.number < 73.2, "exchanging a row costs ε once"
    for name, *options in (("How a leaf draws its label", "global 0/1", "exponential"), ROWS):
        with explore.refigured(), explore.curve_chart.redrawn():
            explore.choose(name, next(option for option in options if option != explore.chosen(name)))
    assert explore.reds() == []


@pytest.mark.slow  # tests/ui covers this in every run
def test_each_random_forest_shows_its_controls_and_figures(explore: Explore) -> None:
    """Each random forest shows its controls and changes the figures, one forest after the other."""
    explore.open(**SMALL, trees=5, depth=4)
    explore.fine_settings()
    votes = ("Voting", "majority", "mean of shares")
    for forest, *selects in (("noisy counts", votes, ROWS), ("RF-L", BUDGET), ("RF-E", BUDGET), ("JPW",)):
        with explore.refigured(), explore.curve_chart.redrawn():
            explore.choose("Forest", forest)
        assert explore.settings()["forest"] == forest
        for name, *options in selects:
            with explore.refigured(), explore.curve_chart.redrawn():
                explore.choose(name, next(option for option in options if option != explore.chosen(name)))
    expect(explore.page.get_by_role("combobox", name=BUDGET[0])).to_have_count(0)


@pytest.mark.slow  # tests/ui covers this in every run
def test_data_dependent_forests_show_their_controls_and_losses(explore: Explore) -> None:
    """Boosted trees show α and weights, the other data-dependent forests open, and published modes report ε = ∞."""
    explore.open(**SMALL, forest="boosted", trees=3, depth=3)
    expect(explore.main).to_contain_text("α of each level")
    expect(explore.main).to_contain_text("How the rows are weighted")
    expect(explore.main).to_contain_text("as likely as in a draw that ignores the data")
    with explore.refigured(), explore.curve_chart.redrawn():
        explore.slider("α").press("End")
    assert explore.settings()["alphas"] == "follows the error of the tree before"
    expect(explore.exact_values()).to_contain_text("This drawing is an example")
    explore.page.keyboard.press("Escape")
    with explore.refigured():
        explore.slider("α").press("Home")
    with explore.refigured():
        explore.slider("α").press("ArrowRight")
    assert explore.settings()["alpha"] == "0.1"
    expect(explore.main).to_contain_text("Mean accuracy on six tables")
    assert explore.reds() == []

    for forest in ("one greedy tree", "multinomial"):
        with explore.refigured(), explore.curve_chart.redrawn():
            explore.choose("Forest", forest)
        expect(explore.main).to_contain_text("as likely as in a draw that ignores the data")
    with explore.refigured(), explore.curve_chart.redrawn():
        explore.pick("as published")
    assert explore.figures()[-1].value == "∞"
    expect(explore.page.locator(".instrument")).to_contain_text("no limit, as published")


@pytest.mark.slow  # tests/ui covers this in every run
def test_table_label_and_measure_change_the_page(explore: Explore) -> None:
    explore.open(**SMALL, trees=5)
    with explore.curve_chart.redrawn():
        explore.pick("balanced accuracy")
    balanced = re.search(r"mean over classes ([\d.]+) %", explore.figures()[0].note)
    assert balanced and explore.here()[1] == pytest.approx(float(balanced[1]) / 100, abs=6e-4)
    with explore.refigured():
        explore.choose("Data", "car")
        expect(explore.main.get_by_text(re.compile("Car Evaluation.*1,728 cars · How acceptable"))).to_be_visible()
    assert explore.settings()["data"] == "car"
    with explore.refigured():
        explore.choose("Label", "safety")
        expect(explore.main.get_by_text(re.compile("predicts safety"))).to_be_visible()
    assert explore.settings()["label"] == "safety"
    explore.choose("Data", "SynthF")
    expect(explore.main.get_by_text(re.compile("SynthF.*10 attributes"))).to_be_visible()
    assert "label" not in explore.settings()


def test_every_tab_opens_and_describes_its_charts(explore: Explore) -> None:
    explore.open(**SMALL, trees=11, depth=4, eps=0.01)
    holds = {
        "Tree": ("Tree 1 of 11: questions from the root", "The whole tree: 16 leaves"),
        "Leaves": ("How often labels flip", "176 leaves"),
        "Budget": ("CERTIFIED: pure differential privacy with ε = 0.01", "A release would use up ε = 1/100 of 1/100"),
        "Data": ("Every bound and category below has a source",),
    }
    for name in TABS[::-1]:
        panel = explore.tab(name)
        for text in holds[name]:
            expect(panel).to_contain_text(text)
        for chart in panel.locator("[data-testid=stPlotlyChart]").all():
            words = chart.get_attribute("aria-label") or ""
            assert len(words) > 20, f"a chart of the tab {name} has no description for those who cannot see it"
        assert explore.settings().get("tab", TABS[0]) == name
        assert explore.reds() == [], "a small ε is no error"

    for name, chart in (("Leaves", "Histogram of the flip rate"), ("Budget", "The charges of the ledger")):
        panel = explore.tab(name)
        text = panel.inner_text()
        with Chart(explore.page, titled(chart)).redrawn():
            explore.slider("Privacy budget ε").press("ArrowRight")
            expect(panel).not_to_have_text(text, use_inner_text=True)


def test_files_for_the_curator_are_marked_and_agree_with_the_page(explore: Explore) -> None:
    """Names of files with figures from raw rows contain DO_NOT_SHARE, and the numbers agree with the page."""
    explore.open(**SMALL, trees=5, depth=3, tab="Leaves")
    name, text = explore.download("Download all leaves of this selection")
    assert "DO_NOT_SHARE" in name
    leaves = pd.read_csv(io.StringIO(text))
    assert len(leaves) == 5 * 2**3
    counts = leaves.filter(like="rows with label").sum(axis=1)
    assert (counts == leaves["rows"]).all()
    assert leaves["rows"].sum() == pytest.approx(0.7 * 699, abs=5)  # seven tenths of 699 rows are training rows
    full = leaves[leaves["rows"] > 0]
    closed, simulated = full["flips (closed form)"], full["flips (simulated)"]
    assert ((closed - simulated).abs() <= 5 * (closed * (1 - closed) / 200) ** 0.5 + 1e-9).all()
    mean = (closed * full["rows"]).sum() / full["rows"].sum()
    text = explore.page.get_by_role("tabpanel").inner_text()
    shown = re.search(r"(?:Per row: |into another one in )([\d.]+) %", text)
    assert shown and float(shown[1]) == pytest.approx(100 * mean, abs=0.06)

    name, text = explore.download("Curve as CSV")
    assert "DO_NOT_SHARE" in name
    curve = pd.read_csv(io.StringIO(text)).set_index("epsilon")
    assert curve["accuracy"].to_dict() == pytest.approx(explore.curve())
    assert (curve["simulated_releases"] == 20).all()


@pytest.mark.slow  # tests/ui covers this in every run
def test_as_published_shows_its_true_loss(explore: Explore) -> None:
    explore.open(**SMALL, trees=11)
    release = explore.sidebar.get_by_role("button", name="Release this forest")
    expect(release).to_be_enabled()
    with explore.refigured(), explore.curve_chart.redrawn():
        explore.pick("as published")
    loss = explore.figures()[-1]
    assert loss.label == "Bound on the loss, where ε = 1 is claimed"
    assert loss.value == "∞"
    expect(release).to_have_count(0)
    expect(explore.sidebar).to_contain_text("No release: as published")
    expect(explore.badge("Not certified")).to_be_visible()
    expect(explore.badge("Simulated at ε = 1 claimed, add-remove")).to_be_attached()
    expect(explore.main).to_contain_text("the privacy loss grows without bound")
    assert any("∞" in red for red in explore.reds()), "a broken claim is red"
    budget = explore.tab("Budget")
    expect(budget).to_contain_text("This forest has no privacy budget")
    expect(budget).to_contain_text("NOT CERTIFIED")
    expect(explore.page.get_by_role("button", name=re.compile("Download the forest"))).to_have_count(0)
    with explore.refigured():
        explore.pick("certified")
    expect(release).to_be_enabled()
    assert explore.figures()[-1].label == "What ε = 1 means"
    assert explore.reds() == []


@pytest.mark.slow  # tests/ui covers this in every run
def test_a_mistyped_link_shows_default_settings(explore: Explore) -> None:
    """A mistyped link shows default settings and no error."""
    explore.page.goto(
        f"{explore.url}/?data=nothing&forest=oak&eps=-3&depth=999&trees=x&tab=Attic&mode=perhaps&rows=maybe"
    )
    expect(explore.headline).to_contain_text("What ε = 1 means")
    assert explore.value("Depth") != "999"
