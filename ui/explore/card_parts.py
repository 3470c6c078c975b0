"""Parts that all cards of the Data tab share: what a column seems to hold, its cells, and the field for a source.

A source states how everybody can know a fact without seeing the rows.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pyarrow as pa
import streamlit as st

from dpforest.tables.column_kinds import ColumnProposal
from dpforest.tables.csv_columns import numbers_one_by_one
from dpforest.tables.domain import Domain, DomainError
from dpforest.tables.features import plural
from dpforest.tables.reading_rules import without_sign
from ui import state
from ui.explore import card_answers as answers
from ui.explore.cards import propose, values_of
from ui.shared import cache, tables
from ui.shared.controls import drop_unknown
from ui.shared.page import sorry
from ui.shared.sources import EXAMPLE, QUESTION, check_source
from ui.shared.tables import Table
from ui.shared.wording import plain

_EXAMPLES = 3  # largest number of example cells that a card shows
_EARLIER = 4  # largest number of earlier sources that a card offers


def proposal_of(table: Table, column: str) -> ColumnProposal:
    """Return what a column seems to hold, such as numbers or dates. The result is cached for the session."""
    assert table.csv is not None
    proposals = _proposals((table.key,))
    if column not in proposals:
        proposals[column] = propose(table.csv, column)
    return proposals[column]


def counted_values(table: Table, column: str, *, by_row: bool = False) -> dict[str, int]:
    """Return how many persons have each value of a private column. The result is cached for the session.

    If no column identifies persons, or if `by_row` is True, the dict holds numbers of rows.
    """
    assert table.csv is not None
    unit = None if by_row else table.domain.unit
    counts_of = _values((table.key, unit or ""))
    if column not in counts_of:
        rows = table.csv.table
        if unit is not None and column != unit:
            rows = rows[[column, unit]].dropna(subset=[unit]).drop_duplicates()
        counts_of[column] = dict(values_of(rows[column]))
    return counts_of[column]


def numbers_among(table: Table, column: str, signs: Sequence[str]) -> tuple[float, str]:
    """Return the share of numbers among the known cells of a private column, and the most frequent other cell."""
    assert table.csv is not None
    if table.csv.table[column].dtype.kind in "if":
        return 1.0, ""
    counts = counted_values(table, column, by_row=True)
    texts = [without_sign(cell, tuple(signs)) or cell for cell in counts]
    decimal = table.csv.reading.decimal_of(column)
    is_number = numbers_one_by_one(pa.chunked_array([pa.array(texts, pa.string())]), decimal)[0].notna().to_numpy()
    rows = np.array(list(counts.values()))
    no_numbers = [cell for cell, ok in zip(counts, is_number, strict=True) if not ok]
    share = float(rows[is_number].sum() / max(rows.sum(), 1)) if len(rows) else 1.0
    return share, max(no_numbers, key=lambda cell: counts[cell], default="")


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
    """Return the cached proposals of a table by column. The dict is empty at first, and callers add to it."""
    return {}


@cache.for_session(max_entries=4)
def _values(key: tuple) -> dict[str, dict[str, int]]:
    """Return the cached `counted_values` of a table by column. The dict is empty at first, and callers add to it."""
    return {}


def describe(table: Table, column: str, proposal: ColumnProposal) -> None:
    """Show some cells of a column, what it seems to hold, and how many cells are missing."""
    assert table.csv is not None
    cells = table.csv.cells.column(column).slice(0, 200).to_pylist()
    distinct_cells = list(dict.fromkeys(cell.strip() for cell in cells if cell.strip()))[:_EXAMPLES]
    examples = ", ".join(f"“{plain(cell, 40)}”" for cell in distinct_cells) or "none"
    missing = f" {plural(proposal.n_missing, 'cell')} {'is' if proposal.n_missing == 1 else 'are'} missing."
    st.caption(f"Cells such as {examples}. {plain(proposal.reason, 400)}{missing if proposal.n_missing else ''}")


def source_field(table: Table, key: str, proposed: str = "", label: str = QUESTION) -> str:
    """Ask how everybody knows a public fact, such as a range, and return the source.

    The field starts with `proposed`. It never starts with the source of another card, which may not fit this one. The
    user can choose such a source below the field instead.
    """
    typed = st.text_input(
        label,
        proposed,
        key=state.SOURCE(key),
        placeholder=f"For example: {EXAMPLE}",
        help="At least three words, or two and a number: a form, a rule, or a web page. The certificate quotes them.",
    )
    earlier = [words for words in state.SOURCES.value.get(table.schema_key, ()) if words != proposed]
    if not earlier:
        return typed
    options = earlier[-_EARLIER:]
    drop_unknown(state.EARLIER_SOURCE(key), options)
    chosen = st.pills(
        "Or choose an earlier source, if it is the source of this, too",
        options,
        key=state.EARLIER_SOURCE(key),
        format_func=lambda words: plain(words, 60),
    )
    return typed if typed.strip() or not chosen else chosen


def keep_source(table: Table, words: str) -> None:
    """Keep a source, so that later cards of this table can offer it."""
    sources = state.SOURCES.value.setdefault(table.schema_key, [])
    if words not in sources:
        sources.append(words)


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


def use(table: Table, words: str, answer: Callable[[str], Domain], *, proposed: str = "") -> None:
    """Apply the user's answer with `words` as its source, or show why the answer cannot be used.

    Later cards offer these words again, unless the app proposed them.

    Parameters
    ----------
    answer : callable
        Takes the source, and returns the domain after the answer.
    proposed : str
        Words that the app proposed as the source.
    """
    try:
        check_source(words, "this")
        domain = answer(words.strip())
    except DomainError as problem:
        sorry(problem)
        return
    if words != proposed:
        keep_source(table, words.strip())
    tables.edit(table, domain)
    st.rerun()
