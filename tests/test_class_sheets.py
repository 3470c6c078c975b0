"""Tests that the sheets for teachers (docs/TEACHING.md, docs/class) hold the present results of the engine."""

import re
import runpy
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

from dpforest.tables.datasets import catalog
from ui.audit.rule_words import RULES
from ui.forest.forests import FORESTS
from ui.learn.theory_page import PANELS

HOME = Path(__file__).parents[1]


def test_every_sheet_equals_the_output_of_its_script():
    written = runpy.run_path(str(HOME / "scripts" / "class_sheets.py"))["sheets"]()
    assert len(written) == 5
    for path, text in written.items():
        assert path.read_text(encoding="utf-8") == text, f"{path.name}: run scripts/class_sheets.py"


def test_links_for_home_lead_to_pages_and_settings_of_the_app():
    text = (HOME / "docs" / "class" / "take_home.md").read_text(encoding="utf-8")
    links = [urlsplit(link) for link in re.findall(r"\]\((http\S+)\)", text)]
    asked = [{name: values[0] for name, values in parse_qs(link.query).items()} for link in links]
    assert [link.path for link in links] == ["/", "/Theory", "/Audit"]
    assert asked[0]["data"] in catalog() and asked[0]["forest"] in FORESTS
    assert asked[1]["theorem"] in PANELS and asked[2]["rule"] in RULES
    for picture in re.findall(r"!\[[^\]]+\]\((\S+)\)", text):
        assert (HOME / "docs" / "class" / picture).stat().st_size < 300_000


def test_three_rules_of_the_exercise_keep_their_promise():
    lost = runpy.run_path(str(HOME / "scripts" / "class_sheets.py"))["rules"]()
    assert {letter for letter, loss in lost.items() if loss <= 1 + 1e-9} == {"E", "F", "G"}
