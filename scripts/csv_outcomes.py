"""Write docs/CSV.md, a table of how the app reads forty realistic CSV files. Run this script from the root."""

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from dpforest.tables.column_kinds import DATE, ColumnProposal  # noqa: E402
from dpforest.tables.csv_table import CsvTable, TableError, read_csv, suggest_domain, suggest_label  # noqa: E402
from dpforest.tables.domain import DomainError, Feature  # noqa: E402
from tests.tables.ugly_files import FILES, UglyFile  # noqa: E402
from ui.explore.cards import LEFT_OUT, cards, features_of, first_kind, propose  # noqa: E402

HEAD = """# What the app makes of ugly CSV files

Forty files as hospitals, shops and offices write them. `python -m tests.tables.ugly_files FOLDER` writes them to a
folder. Each is refused with a sentence, or read with a note where it has two meanings, and has a card for each column.
The last column of this table has the kinds that the cards start with. Every kind can be changed by hand. A column of
dates that is left out can be used as years, months, weekdays or days. `python scripts/csv_outcomes.py` writes this
page, and a test compares it with the code.

| file | what the reader says | what the cards start with |
| --- | --- | --- |
"""
_MOST_NAMED = 5  # largest number of columns that a row of the table names


def outcome(file: UglyFile) -> tuple[str, str]:
    """Return the app's message about a file, and the kinds that the app proposes for its columns."""
    try:
        table = read_csv(file.data)
    except TableError as problem:
        return f"refused: {problem}", ""
    sentences = [*table.notes[1:], *(column.reason for column in table.columns)]
    note = next((sentence for sentence in sentences if file.says and re.search(file.says, sentence)), "read, no note")
    return note, proposed_kinds(table)


def proposed_kinds(table: CsvTable) -> str:
    """Return the kinds that the app proposes for the columns, or the message that it shows instead."""
    label = suggest_label(table)
    if label is None:
        return "no column can be the label"
    try:
        domain = suggest_domain(table, label)
    except (TableError, DomainError) as problem:
        return str(problem)
    names = [column.name for column in table.columns if column.name != label]
    kinds = {name: _kind(propose(table, name), features_of(domain, name)) for name in names}
    assert {name for card in cards(names, domain) for name in card.columns} == set(names)
    named = [f"{name}: {kind}" for name, kind in kinds.items() if name != "age"][:_MOST_NAMED]
    n_more = len(kinds) - ("age" in kinds) - len(named)
    return "; ".join(named) + (f"; and {n_more:,} more" if n_more else "")


def _kind(proposal: ColumnProposal, features: list[Feature]) -> str:
    kind = first_kind(proposal, features)
    return f"{kind} (dates)" if kind == LEFT_OUT and proposal.kind == DATE else kind


def page_text() -> str:
    """Return the page as markdown."""
    return HEAD + "".join(f"| {' | '.join(map(_cell, (name, *outcome(file))))} |\n" for name, file in FILES.items())


def _cell(text: str) -> str:
    visible = "".join(letter if letter.isprintable() else " " for letter in text.replace("\ufeff", ""))
    return re.sub(r"([|*_`<\\])", r"\\\1", " ".join(visible.split())[:400])


if __name__ == "__main__":
    (ROOT / "docs" / "CSV.md").write_text(page_text(), encoding="utf-8")
