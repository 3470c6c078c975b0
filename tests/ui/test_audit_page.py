"""The Audit page (AppTest): it opens for every leaf mechanism, and shows the numbers of docs/PAPERS.md."""

import json
import math

import pytest
from streamlit.testing.v1 import AppTest

from dpforest.audit import leaf_attack, leaf_curves
from dpforest.audit.leaf_attack import LossEstimate
from tests.ui.app_words import words
from ui.audit import attack
from ui.audit.rule_words import NAMES, RULES, proof_sentences
from ui.audit.verdict import output_sentence


@pytest.fixture
def audit(app):
    """Return a function that opens the page with these settings in its address."""

    def opened(**settings: str) -> AppTest:
        app.query_params.clear()
        app.query_params.update(settings)
        page = app.switch_page("pages/3_Audit.py").run()
        assert not page.exception
        return page

    return opened


def figures(page: AppTest) -> list[str]:
    return [m.value.removeprefix("### ") for m in page.main.markdown if m.value.startswith("### ")]


def tables(page: AppTest) -> list[list[dict]]:
    return [t.value.to_dict("records") for t in page.table]


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("neighbors", ["adding or removing one row", "a row exchanged"])
@pytest.mark.parametrize("epsilon, classes", [("0.01", "2"), ("1", "10"), ("10", "3")])
def test_the_page_opens_for_every_rule(audit, rule, neighbors, epsilon, classes):
    page = audit(rule=rule, neighbors=neighbors, eps=epsilon, classes=classes)
    assert len(page.get("plotly_chart")) == 2 and len(page.table) == 2
    broken = RULES[rule].mechanism.startswith("smooth")
    assert figures(page)[0] == f"ε = {epsilon}"
    assert figures(page)[3] == (":red[Broken]" if broken else "Kept")
    assert ("the promise is broken" in words(page)) == broken
    assert (":red" in words(page)) == broken
    assert "placeholder" not in words(page) and "nan" not in words(page)


def test_first_sight_is_the_published_rule(audit):
    page = audit()
    assert figures(page) == ["ε = 1", ":red[∞]", "δ ≥ 0.138", ":red[Broken]"]
    before, after = tables(page)
    assert [row["rows"] for row in before] == ["1", "0"] and [row["rows"] for row in after] == ["2", "0"]
    assert before[1]["chance of this label"] == "**20.4 %**" and after[1]["chance of this label"] == "**2.43 %**"
    text = words(page)
    assert "**8.43 times** as likely" in text and "ε = 1 allows 2.72 times" in text
    assert (
        "adding or removing one row makes no output more than eᵋ times as likely. At ε = 1 that is at most 2.72 times"
        in text
    )
    assert "already breaks from lead 1 to 2" in text and "From lead 2 on, the flip rate is below the floor" in text
    assert (
        "by permute-and-flip, which keeps ε exactly" in text
        and "only if at least 13.8 % of releases (δ) were left out" in text
    )
    assert "lead 2" in page.get("plotly_chart")[0].proto.spec


def test_the_cap(audit):
    assert figures(audit(rule="smooth sensitivity, capped"))[1] == ":red[22.7]"


def test_a_broken_rule_never_appears_better_than_its_claim(audit):
    page = audit(rule="smooth sensitivity, capped", eps="10")
    assert "can become practically certain (1 wrong in 10²¹)" in words(page) and "at most 99.996 % sure" in words(page)


def test_a_small_epsilon(audit):
    page = audit(eps="0.01")
    assert tables(page)[0][0]["rows"] == "554"
    assert "will hardly show it" in words(page)
    page.segmented_control(key="pair").set_value("most telling").run()
    assert not page.exception and "will hardly show it" not in words(page)
    assert tables(page)[0][0]["rows"] != "554"


def test_a_certified_rule_attains_epsilon_and_no_more(audit):
    page = audit(rule="permute-and-flip", eps="0.5")
    assert figures(page)[1:3] == ["0.5", "δ = 0"]
    assert "exactly what is allowed" in words(page)
    assert "pair" not in [control.key for control in page.segmented_control]


def test_many_alike_classes_share_a_line(audit):
    page = audit(classes="10", rule="global 0/1", neighbors="a row exchanged")
    assert all(len(table) <= 8 for table in tables(page))
    assert any(row["class"] == "3 to 10, each" for row in tables(page)[0])


def test_every_rule_has_words():
    assert set(NAMES) == set(leaf_curves.RULES) and len(RULES) == len(leaf_curves.RULES)


def test_no_count_is_shown_as_a_probability():
    pair = leaf_attack.first_pair("smooth-sensitivity", 10.0, 2, "add-remove")
    text = proof_sentences(pair, LossEstimate(1000, (0, 835), 5.0, ((1,),)))
    assert "never with table A, 835 times with table B" in text and "less than 1 in" not in text
    text = proof_sentences(pair, LossEstimate(1000, (1000, 1), 12.0, ((0,),)))
    assert "every time with table A, once with table B" in text and "**proves a loss of at least 12**" in text
    close = leaf_attack.first_pair("smooth-sensitivity", 0.01, 2, "add-remove")
    text = proof_sentences(close, LossEstimate(20_000_000, (10_000_000, 10_010_000), 0.0097, ((1,),)))
    assert "so close to the limit that even 20,000,000 releases do not show it" in text


def test_combined_outputs_show_the_source_of_their_chance(audit):
    text = output_sentence(leaf_attack.first_pair("discrete-laplace", 1.0, 2, "replace-one"))
    assert "(62.2 % × 62.2 %)" in text and "38.7 %" in text
    page = audit(rule="noisy counts", neighbors="a row exchanged")
    chances = [row["chance of the noisy count"] for row in tables(page)[0]]
    assert len(chances) == 2 and all(s.startswith("**") and ": " in s for s in chances)


@pytest.mark.parametrize("rule", ["smooth sensitivity", "permute-and-flip"])
def test_the_attack_runs_and_stays_until_something_moves(audit, monkeypatch, rule):
    monkeypatch.setattr(leaf_attack, "RELEASE_COUNTS", (100, 10_000, 100_000))
    monkeypatch.setattr(leaf_attack, "SEARCH", 100_000)
    monkeypatch.setattr(attack, "SECONDS", math.inf)
    page = audit(rule=rule)
    page.button(key="attack").click().run()
    assert not page.exception
    assert "In 100,000 releases of either table" in words(page)
    assert ("**proves a loss of at least" in words(page)) == (rule == "smooth sensitivity")
    spec = json.loads(page.get("plotly_chart")[2].proto.spec)
    assert [t["x"] for t in spec["data"] if t.get("name") == "proved"]
    page.run()
    assert "In 100,000 releases of either table" in words(page)
    page.slider(key="classes").set_value(3).run()
    assert not page.exception and "In 100,000 releases" not in words(page)


def test_links_are_checked(audit):
    page = audit(rule="nonsense", eps="-1", classes="99", neighbors="x", pair="y")
    assert figures(page)[0] == "ε = 1"


def test_the_last_looks_are_drawn_even_if_time_is_short(audit, monkeypatch):
    monkeypatch.setattr(leaf_attack, "RELEASE_COUNTS", (100, 200))
    monkeypatch.setattr(leaf_attack, "SEARCH", 1_000)
    monkeypatch.setattr(attack, "SECONDS", math.inf)
    page = audit()
    page.button(key="attack").click().run()
    assert not page.exception and len(page.get("plotly_chart")) == 3
    assert attack.FIRST_DRAWN > 200
