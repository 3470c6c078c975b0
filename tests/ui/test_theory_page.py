"""The Theory page (AppTest): every theorem, both ends of its sliders, and cases in which its bound states nothing."""

import re
from html import unescape

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from streamlit.testing.v1 import AppTest

from dpforest import load_dataset, read_csv
from dpforest.tables.datasets import suggest_domain
from dpforest.theory.measurements import boosted_errors
from tests.conftest import every
from tests.ui.app_words import words
from ui.learn.theorem import at_least, at_most
from ui.learn.theory_page import PANELS

SAYS = re.compile(r"^\*\*(Informative|No information) at this setting:\*\* \S.+[.)]$")


def theory(theorem: str, **settings: str) -> AppTest:
    """Open the page in a new session with this theorem and these settings in its address."""
    page = AppTest.from_file("../../app.py", default_timeout=60)
    page.query_params.update({"theorem": theorem, **settings})
    page = page.switch_page("pages/6_Theory.py").run()
    assert not page.exception
    return page


def text_of(page: AppTest) -> str:
    """Return the line that states whether the bound of the theorem has content at these settings."""
    (line,) = [m.value for m in page.main.markdown if SAYS.match(m.value)]
    assert SAYS.match(line), line
    return line


@pytest.mark.parametrize("theorem", every(2, PANELS))
def test_every_theorem_at_both_ends_of_its_sliders(theorem):
    page = theory(theorem)
    text_of(page)
    assert len(page.latex) == 1 and len(page.get("plotly_chart")) in (1, 2)
    for end in (0, -1):
        ends = {control.key: control.options[end] for control in page.main.select_slider}
        page = theory(theorem, **ends)
        assert {c.key: c.format_func(c.value) for c in page.main.select_slider} == ends
        text_of(page)
        assert not re.search(r"\b(nan|inf|None)\b", words(page))
        for chart in page.get("plotly_chart"):
            assert "NaN" not in chart.proto.spec


@pytest.mark.parametrize(
    ("theorem", "asked", "expected"),
    [
        ("Votes of random trees", {}, ("Informative", "at most 26 %", "gets 34.5 %", "3.17 %")),
        (
            "Votes of random trees",
            {"data": "mushroom"},
            ("No information", "at most 55.4 %", "48.2 %", "from 142 trees on"),
        ),
        ("Votes of random trees", {"data": "mushroom", "theory_votes": "11"}, ("No information", "there is no bound")),
        ("Votes of random trees", {"data": "adult"}, ("No information", "No number of trees helps", "46.1 %")),
        ("Votes of random trees", {"data": "nursery"}, ("No information", "two classes", "has 5")),
        ("Votes of random trees", {"data": "upload a CSV"}, ("No information", "no table yet")),
        ("Depth rule", {}, ("Informative", "4.783")),
        ("Depth rule", {"theory_path_depth": "0"}, ("No information",)),
        ("Empty leaves", {"data": "nursery", "theory_leaf_depth": "4"}, ("Informative", "12,201 leaves")),
        (
            "Floor of a leaf",
            {},
            ("Informative", "at least 2.48 %", "reaches this bound exactly", "from a lead of 2 on"),
        ),
        ("Floor of a leaf", {"theory_classes": "3"}, ("Informative", "at least 3.31 %", "4.9 %")),
        ("Votes of noisy trees", {"data": "mushroom"}, ("Informative", "97.9 %")),
        ("Votes of noisy trees", {"theory_chance": "52 %"}, ("Informative", "65.7 %")),
        ("Votes of noisy trees", {"theory_chance": "45 %"}, ("No information",)),
        ("Consistency", {"theory_temperature": "10"}, ("No information", "827,846 levels")),
        ("Consistency", {"theory_temperature": "0", "theory_cell_levels": "63"}, ("Informative",)),
        ("Boosting a tree", {"theory_rule": "published"}, ("No information", "guessing gets 34.5 %")),
        ("Trees added up", {"theory_rule": "published"}, ("No information", "guessing gets 34.5 %")),
        (
            "Boosting a tree",
            {"data": "adult", "theory_rule": "published"},
            ("No information", "91.1 %", "24.1 %", "16.6 %"),
        ),
        ("Boosting a tree", {"data": "adult", "theory_rule": "derived"}, ("Informative", "21.1 %")),
        (
            "Boosting a tree",
            {"data": "adult", "theory_rule": "derived", "theory_edge": "0.9"},
            ("Informative", "the theorem’s assumption does not hold"),
        ),
        ("Boosting a tree", {"theory_boosting_alpha": "0"}, ("No information", "it never is below that")),
        ("Trees added up", {"data": "adult", "theory_rule": "published"}, ("No information",)),
        (
            "Trees added up",
            {"data": "adult", "theory_added": "1,000", "theory_rule": "published"},
            ("Informative", "at most 20 %"),
        ),
        (
            "Trees added up",
            {"theory_weight": "0.5", "theory_added": "20"},
            ("No information", "at most 100 %", "2.15 %"),
        ),
        ("Private splits", {"theory_split_rows": "32,561"}, ("No information", "724", "2.2 × 10¹⁰ rows")),
        ("Private splits", {"theory_split_rows": "32,561", "eps": "10"}, ("No information", "72", "million rows")),
        ("Private splits", {"data": "nursery"}, ("No information", "two classes", "has 5")),
        ("Private splits", {}, ("Informative", "from 2.2 × 10¹⁰ rows on")),
        ("Best number of trees", {}, ("Informative", "31,182 trees", "699 rows", "from 10²⁰ rows on")),
        ("Best number of trees", {"theory_optimal_rows": "10⁹"}, ("No information", "1 tree,", "from 10²⁰ rows on")),
        (
            "Best number of trees",
            {"theory_tree_error": "10 %"},
            ("No information", "at most 54.7 %", "no better than a coin. More rows do not help"),
        ),
        (
            "Best number of trees",
            {"theory_tree_error": "10 %", "theory_optimal_rule": "coin"},
            ("Informative", "36.9 %"),
        ),
        (
            "The coin rule",
            {},
            ("Informative", "with 95 % confidence", "guessing errs on 34.5 %", "Measured on 699 rows"),
        ),
        ("The coin rule", {"theory_coin_trees": "11"}, ("No information", "trees on the bound is below guessing")),
        ("The coin rule", {"data": "adult"}, ("No information", "No number of trees helps")),
        ("The coin rule", {"data": "nursery"}, ("No information", "two classes")),
        ("Votes on other rows", {}, ("Informative", "699 rows", "says nothing below")),
        ("Votes on other rows", {"theory_other_rows": "1,000"}, ("No information", "below 0")),
        ("Votes on other rows", {"data": "adult"}, ("No information", "it would promise", "More rows do not help")),
        ("Rows or ε divided", {}, ("Informative", "26.9 % either way")),
        ("Rows or ε divided", {"theory_divided_trees": "1"}, ("No information", "From two trees on")),
        ("Chance of a split", {}, ("Informative", "at least 6.31 %", "699 rows")),
        ("Chance of a split", {"theory_temperature": "20"}, ("No information", "From 198,239 rows on")),
        ("Link and surrogate", {}, ("Informative", "more than 4 trees")),
        ("Link and surrogate", {"theory_alpha": "0.1"}, ("Informative", "more than 36 trees")),
        ("Link and surrogate", {"theory_alpha": "0"}, ("No information", "From α = 0.05 on")),
        ("What a row moves", {}, ("Informative", "32.6")),
        ("What a row moves", {"theory_loss_rows": "2", "theory_alpha": "1"}, ("No information", "From 3 rows on")),
        ("The Mα-loss", {"theory_alpha": "0"}, ("No information", "no number of levels")),
        ("The Mα-loss", {"theory_alpha": "1", "theory_edge": "0.5"}, ("Informative", "12 levels", "63.2")),
    ],
)
def test_known_bounds_are_shown(theorem, asked, expected):
    line = text_of(theory(theorem, **asked))
    assert f"**{expected[0]} at this setting" in line
    assert [part for part in expected[1:] if part not in line] == []


@given(st.floats(1e-4, 30), st.floats(0, 1))
@settings(derandomize=True, deadline=None)
def test_bounds_are_rounded_to_the_safe_side(upper, lower):
    """The page never shows an upper bound below its value or a lower bound above it.

    Upper bounds are at most 10 % too high, and lower bounds at most 2 % too low.
    """

    def shown(words: str) -> float:
        return float(words.split()[2].replace(",", "")) / 100

    assert upper * (1 - 1e-8) <= shown(at_most(upper)) <= upper * 1.1 + 1e-12
    assert lower * 0.98 - 1e-12 <= shown(at_least(lower)) <= lower * (1 + 1e-8)


@pytest.mark.parametrize("theorem", PANELS)
def test_every_theorem_opens_where_its_bound_is_not_vacuous(theorem):
    assert "Informative at this setting" in text_of(theory(theorem))


def test_the_private_proof_needs_good_trees_and_millions_of_rows():
    hopeless = {"theory_slack": "0.3", "theory_leaf_share": "10", "theory_tree_error": "0 %"}
    assert "no better than a coin" in text_of(theory("… with privacy", **hopeless))
    page = theory("… with privacy", theory_rows="30,000")
    assert "No information at this setting" in text_of(page)
    rows = float(re.search(r"trees it takes ([\d.]+) million rows", text_of(page))[1]) * 1e6
    assert 5e6 < rows < 1e8
    page.select_slider(key="theory_rows").set_value(10**9).run()
    assert "Informative at this setting" in text_of(page)


def test_notes_relate_a_theorem_to_the_table():
    assert "an edge of 0.86" in words(theory("Boosting a tree"))
    published = words(theory("Boosting a tree", theory_rule="published"))
    assert "equation 13 asks for 4 × 10²⁹ splits" in published
    assert "have ε = 2,000" in words(theory("Chance of a split"))
    assert "with a probability of at least 9.41 %" in words(theory("Private splits"))


def test_no_measured_forest_contradicts_the_bound_on_trees_added_up():
    for weight in ("0.02", "0.1", "0.5"):
        assert "above the bound" not in text_of(theory("Trees added up", theory_weight=weight, theory_added="20"))


def test_an_unknown_theorem_gets_a_message():
    page = theory("Fermat’s [last](x)")
    assert "Fermat" in words(page) and f"The page shows “{next(iter(PANELS))}”" in words(page)
    assert "[last](x)" not in words(page)


def test_sliders_keep_their_place_while_another_theorem_is_looked_at():
    page = theory("Depth rule")
    page.select_slider(key="theory_path_depth").set_value(12).run()
    page.selectbox(key="theorem").set_value("Empty leaves").run()
    page.selectbox(key="theorem").set_value("Depth rule").run()
    assert "depth 12" in text_of(page)


def test_an_uploaded_file_is_measured():
    data = load_dataset("hepatitis")
    page = theory("Trees added up", data="upload a CSV")
    file = data.table.to_csv(index=False).encode()
    page.file_uploader[0].upload("people.csv", file).run()
    next(box for box in page.sidebar.selectbox if box.label == "Label").set_value(data.label).run()
    assert not page.exception
    csv = read_csv(file, name="people.csv")
    domain = suggest_domain(csv, data.label)
    errors = boosted_errors(domain.on_scale("linear"), csv.table[list(domain.names)], csv.table[data.label])
    assert f"Measured with 20 on people.csv: {100 * errors['boosted'][20]:.3g} %" in text_of(page)


def test_a_link_with_an_invalid_epsilon_gets_a_message():
    """A message about an invalid ε in a link appears once, whether or not the theorem depends on ε."""
    asks = "The link asks for ε = -1, which is no number from 0.001 to 25"
    for theorem in ("Votes of random trees", "Floor of a leaf"):
        assert sum(asks in c.value.replace("\\", "") for c in theory(theorem, eps="-1").caption) == 1, theorem
    assert "The link asks for" not in words(theory("Votes of random trees", eps="0.5"))


@pytest.mark.parametrize("theorem", every(2, PANELS))
def test_texts_about_the_rows_of_an_upload_are_marked_for_the_curator(theorem):
    """No chart, verdict or note states the exact number of rows or the file's name without the curator's badge."""
    page = theory(theorem, data="upload a CSV")
    if not page.file_uploader:  # the theorem is about no table
        return
    rows = "".join(f"{i % 97},{i % 2}\n" for i in range(12_371))
    page.file_uploader[0].upload("secret_<b>clinic</b>.csv", f"a,y\n{rows}".encode()).run()
    assert not page.exception
    for title, figure in page.session_state["figures"].items():
        drawn = str(figure.__dict__)
        assert not figure.public or ("12,371" not in drawn and "secret" not in drawn), title
        assert "\\_" not in drawn and "<b>clinic" not in drawn and "&amp;" not in drawn
    (verdict,) = [m.value for m in page.main.markdown if SAYS.match(m.value)]
    notes = " ".join([verdict, *(caption.value for caption in page.main.caption)])
    marked = "states the exact number of rows of the table" in words(page)
    assert marked or "12,371" not in notes


def test_a_chart_shows_the_name_of_an_upload_as_it_is():
    page = theory("Rows or ε divided", data="upload a CSV")
    page.file_uploader[0].upload("s_<b>&c</b>.csv", b"a,y\n" + b"1,0\n2,1\n" * 50).run()
    (line,) = page.session_state["figures"]["Rows for the rarest leaf"].drawn["layout"]["annotations"]
    assert unescape(line["text"]) == "s_<b>&c</b>.csv: 100 rows"
