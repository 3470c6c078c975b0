"""Parts that all cards of the Data tab share: what a column seems to hold, its cells, and the field for a source.

A source states how everybody can know a fact without seeing the rows.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import streamlit as st

from dpforest.tables.column_kinds import ColumnProposal
from dpforest.tables.domain import Domain, DomainError
from dpforest.tables.features import plural
from ui import state
from ui.explore import card_answers as answers
from ui.explore.cards import propose, values_of
from ui.shared import cache, tables
from ui.shared.page import sorry
from ui.shared.sources import EXAMPLE, QUESTION, check_source
from ui.shared.tables import Table
from ui.shared.wording import plain

_EXAMPLES = 3


def proposal_of(table: Table, column: str) -> ColumnProposal:
    """Return what a column seems to hold, such as numbers or dates. The result is cached for the session."""
    assert table.csv is not None
    kept = _proposals((table.key,))
    if column not in kept:
        kept[column] = propose(table.csv, column)
    return kept[column]


def counted_values(table: Table, column: str) -> dict[str, int]:
    """Return the number of rows with each value of a private column. The result is cached for the session."""
    assert table.csv is not None
    kept = _values((table.key,))
    if column not in kept:
        kept[column] = dict(values_of(table.csv.table[column]))
    return kept[column]


def order_of(table: Table) -> list[str]:
    """Return the names of all columns in the order of the file."""
    assert table.csv is not None
    return [column.name for column in table.csv.columns]


def left_out_of(table: Table) -> list[str]:
    """Return the columns that no forest learns from, except the label and the column that identifies persons."""
    domain = table.domain
    used = (*domain.source_columns, domain.label, domain.unit)
    return [name for name in order_of(table) if name not in used]


@cache.for_session(max_entries=2)
def _proposals(key: tuple) -> dict[str, ColumnProposal]:
    return {}


@cache.for_session(max_entries=2)
def _values(key: tuple) -> dict[str, dict[str, int]]:
    return {}


def describe(table: Table, column: str, proposal: ColumnProposal) -> None:
    """Show some cells of a column, what it seems to hold, and how many cells are missing."""
    assert table.csv is not None
    cells = table.csv.cells.column(column).slice(0, 200).to_pylist()
    some = list(dict.fromkeys(cell.strip() for cell in cells if cell.strip()))[:_EXAMPLES]
    examples = ", ".join(f"“{plain(cell, 40)}”" for cell in some) or "none"
    missing = f" {plural(proposal.n_missing, 'cell')} {'is' if proposal.n_missing == 1 else 'are'} missing."
    st.caption(f"Cells such as {examples}. {plain(proposal.reason, 400)}{missing if proposal.n_missing else ''}")


def source_field(
    table: Table, key: str, topic: str, proposed: str = "", label: str = QUESTION, *, from_last: bool = True
) -> str:
    """Ask how everybody knows a public fact, such as a range.

    The field starts with `proposed`, or with the user's last words about this table: those about the same topic, if
    there are any.

    Parameters
    ----------
    topic : {"range", "list", "dates", "file"}
        What the source is about.
    from_last : bool
        Whether the field may start with the user's last words.
    """
    kept = {of: words for (key, of), words in state.LAST_SOURCE.value.items() if key == table.schema_key}
    last = kept.get(topic) or next(reversed(kept.values()), "") if from_last else ""
    return st.text_input(
        label,
        proposed or last,
        key=state.SOURCE(key),
        placeholder=f"For example: {EXAMPLE}",
        help="At least three words, or two and a number. The certificate quotes them. The field starts with your last "
        "words: change them if another source fits better.",
    )


def without(table: Table, columns: Sequence[str]) -> Domain:
    """Return the domain of a table without these columns. Raise DomainError if no column would be left."""
    domain = table.domain
    for name in columns:
        domain = answers.without(domain, order_of(table), name)
    return domain


def leave_out(table: Table, columns: Sequence[str]) -> None:
    """Leave these columns out and draw the page again, or show why they cannot be left out."""
    try:
        domain = without(table, columns)
    except DomainError as problem:
        sorry(problem)
        return
    tables.edit(table, domain)
    st.rerun()


def use(table: Table, words: str, topic: str, answer: Callable[[str], Domain]) -> None:
    """Apply an answer with these words as its source, or show why it cannot be used.

    `topic` is as in `source_field`. If it is empty, the words are not proposed for later answers.
    """
    try:
        check_source(words, "this")
        domain = answer(words.strip())
    except DomainError as problem:
        sorry(problem)
        return
    if topic:
        state.LAST_SOURCE.value[table.schema_key, topic] = words.strip()
    tables.edit(table, domain)
    st.rerun()
