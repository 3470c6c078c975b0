"""The Audit page in process (AppTest): it runs for every rule, and says what the papers' table says."""

import json

import pytest
from app_words import words
from streamlit.testing.v1 import AppTest

from dpforest.audit import leaf_attack
from ui import audit_attack
from ui.audit_words import RULES


@pytest.fixture
def audit(app):
    """Open the page with some settings in the address."""

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
@pytest.mark.parametrize("neighbours", ["a row more or less", "a row exchanged"])
@pytest.mark.parametrize("epsilon, classes", [("0.01", "2"), ("1", "10"), ("10", "3")])
def test_every_rule(audit, rule, neighbours, epsilon, classes):
    page = audit(rule=rule, relation=neighbours, claimed=epsilon, classes=classes)
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
    assert "**8.43 times** as likely" in text and "allows e^1 = 2.72 times" in text
    assert "from a lead of 2 on it flips labels less often" in text and "permute-and-flip instead" in text
    assert "lead 2" in page.get("plotly_chart")[0].proto.spec


def test_the_cap(audit):
    assert figures(audit(rule="smooth sensitivity, capped"))[1] == ":red[22.7]"


def test_a_small_epsilon(audit):
    page = audit(claimed="0.01")
    assert tables(page)[0][0]["rows"] == "554"
    assert "will hardly show it" in words(page)
    page.segmented_control(key="pair").set_value("most telling").run()
    assert not page.exception and "will hardly show it" not in words(page)
    assert tables(page)[0][0]["rows"] != "554"


def test_a_certified_rule_attains_epsilon_and_no_more(audit):
    page = audit(rule="permute-and-flip", claimed="0.5")
    assert figures(page)[1:3] == ["0.5", "δ = 0"]
    assert "all that is allowed, and not a bit more" in words(page)
    assert not page.segmented_control


def test_many_alike_classes_share_a_line(audit):
    page = audit(classes="10", rule="global 0/1", relation="a row exchanged")
    assert all(len(table) <= 8 for table in tables(page))
    assert any(row["class"] == "3 to 10, each" for row in tables(page)[0])


@pytest.mark.parametrize("rule", ["smooth sensitivity", "permute-and-flip"])
def test_the_attack_runs_and_stays_until_something_moves(audit, monkeypatch, rule):
    monkeypatch.setattr(leaf_attack, "LOOKS", (100, 10_000, 100_000))
    monkeypatch.setattr(leaf_attack, "SEARCH", 100_000)
    page = audit(rule=rule)
    page.button(key="attack").click().run()
    assert not page.exception
    assert "In 100,000 releases of either table" in words(page)
    assert ("proves a loss of at least 2" in words(page)) == (rule == "smooth sensitivity")
    spec = json.loads(page.get("plotly_chart")[2].proto.spec)
    assert [t["x"] for t in spec["data"] if t.get("name") == "proved"]
    page.run()
    assert "In 100,000 releases of either table" in words(page)
    page.slider(key="classes").set_value(3).run()
    assert not page.exception and "In 100,000 releases" not in words(page)


def test_links_are_checked(audit):
    page = audit(rule="nonsense", claimed="-1", classes="99", relation="x", pair="y")
    assert figures(page)[0] == "ε = 1"


def test_the_last_looks_are_drawn_even_if_time_is_short(audit, monkeypatch):
    monkeypatch.setattr(leaf_attack, "LOOKS", (100, 200))
    monkeypatch.setattr(leaf_attack, "SEARCH", 1_000)
    page = audit()
    page.button(key="attack").click().run()
    assert not page.exception and len(page.get("plotly_chart")) == 3
    assert audit_attack.FIRST_DRAWN > 200
