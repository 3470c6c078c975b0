"""Tests that the sheets for teachers (docs/TEACHING.md, docs/class) hold the present results of the engine."""

import runpy
from pathlib import Path

HOME = Path(__file__).parents[1]


def test_every_sheet_equals_the_output_of_its_script():
    written = runpy.run_path(str(HOME / "scripts" / "class_sheets.py"))["sheets"]()
    assert len(written) == 4
    for path, text in written.items():
        assert path.read_text(encoding="utf-8") == text, f"{path.name}: run scripts/class_sheets.py"


def test_three_rules_of_the_exercise_keep_their_promise():
    lost = runpy.run_path(str(HOME / "scripts" / "class_sheets.py"))["rules"]()
    assert {letter for letter, loss in lost.items() if loss <= 1 + 1e-9} == {"E", "F", "G"}
