"""docs/CSV.md is up to date: for each of forty realistic CSV files, it states how the app reads the file."""

from pathlib import Path

from scripts import csv_outcomes


def test_the_page_of_outcomes_is_what_the_code_does():
    page = Path(__file__).resolve().parents[2] / "docs" / "CSV.md"
    assert page.read_text(encoding="utf-8") == csv_outcomes.page_text()
