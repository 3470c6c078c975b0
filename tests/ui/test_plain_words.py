"""Texts of the pages: no absolute claims about privacy, no false claims about papers, one word for each concept."""

import ast
import json
import re
from functools import cache
from pathlib import Path

import pytest

from tests.ui.app_words import words
from ui.explore.budget_tab import COMPOSED, NOT_LISTED
from ui.forest.forests import FORESTS

HOME = Path(__file__).parents[2]
SHOWN = [
    HOME / "app.py",
    *(HOME / "pages").glob("*.py"),
    *(HOME / "ui").rglob("*.py"),
    *(HOME / "dpforest" / "plotting").glob("*.py"),
    *(HOME / "dpforest" / "plotting").glob("*.j2"),
    HOME / "dpforest" / "risk" / "guarantee.py",
]
DOCUMENTS = [HOME / "README.md", *(HOME / "docs").rglob("*.md")]
# No ε > 0 makes one of these phrases true: at ε = 1 an attacker can become 73.2 % sure.
ABSOLUTE = (
    r"(nobody|no one|none) (can|could|may) (tell|know|learn|find out|see)|anonym|impossible to|perfectly"
    r"|cannot be (traced|identified)"
)
# Some default numbers, such as a depth of 8, are choices of this project. No page may ascribe such a number to a paper,
# in words like "the paper takes 11". `FORESTS` in ui/forest/forests.py names the source of each number.
ASCRIBED = r"the paper('s rule)? (gives|takes)\b|the paper's rule"


@cache
def texts(file: Path) -> list[str]:
    """Return the text of a template, or all strings of a module except docstrings. Parts of a sentence are joined."""
    if file.suffix == ".j2":
        return [" ".join(re.sub(r"\{#.*?#\}|<[^>]*>", "", file.read_text(encoding="utf-8"), flags=re.DOTALL).split())]
    tree = ast.parse(file.read_text(encoding="utf-8"))
    notes = {
        id(node.body[0].value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef) and ast.get_docstring(node)
    }
    pieces = []
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            pieces.append("".join(str(part.value) if isinstance(part, ast.Constant) else "…" for part in node.values))
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in notes:
            pieces.append(node.value)
    return pieces


@pytest.mark.parametrize("file", SHOWN, ids=lambda file: file.name)
def test_no_page_promises_more_than_an_epsilon_keeps(file):
    for text in texts(file):
        assert not re.search(f"{ABSOLUTE}|{ASCRIBED}", text, re.IGNORECASE), text


@pytest.mark.parametrize("file", DOCUMENTS, ids=lambda file: file.name)
def test_no_document_promises_more_than_an_epsilon_keeps(file):
    text = re.sub(r"## Do not say\n.*?(?=\n#)", "", file.read_text(encoding="utf-8"), flags=re.DOTALL)
    assert not re.search(ABSOLUTE, text, re.IGNORECASE)


@pytest.mark.parametrize("kind", FORESTS)
def test_the_budget_has_one_word_for_each_composition(app, kind):
    """Figure, sentence and ledger all say "in sequence" if costs add up, and "in parallel" otherwise."""
    app.query_params.update({"data": "congressional_voting", "forest": kind, "tab": "Budget", "depth": "2"})
    app.run()
    assert not app.exception
    text = words(app)
    assert "side by side" not in text and "one after the other" not in text
    ledger = app.dataframe[-1].value
    assert set(ledger["composition"]) <= {"in parallel", "in sequence"}
    hover = json.dumps([json.loads(c.proto.spec) for c in app.get("plotly_chart")], ensure_ascii=False)
    for word in set(ledger["composition"]):
        assert word in hover and word in COMPOSED.lower()
    assert ("answers in parallel" in text) == ("in parallel" in set(ledger["composition"]))


def test_the_ledger_states_what_it_does_not_list(app):
    app.query_params["tab"] = "Budget"
    app.run()
    assert NOT_LISTED in words(app)
    for part in (
        "reading the file",
        "bounds and categories",
        "the exact number of rows on this page",
        "accuracies",
        "other releases",
    ):
        assert part in NOT_LISTED
    app.query_params["mode"] = "as published"
    app.run()
    app.radio(key="mode").set_value("as published").run()
    assert NOT_LISTED not in words(app) and "This forest has no privacy budget" in words(app)


def test_noise_keeps_people_from_being_sure(app):
    assert "the less sure an attacker can be whether one animal is in the table" in words(app.run())
    app.switch_page("pages/3_Audit.py").run()
    assert "to hide whether any one row was there" in words(app)
