"""Cards about many columns at once: a table that asks for ranges, and a checklist that asks which lists are public."""

from __future__ import annotations

from typing import Any, Final

import pandas as pd
import streamlit as st

from dpforest.privacy.ledger import unit_noun
from dpforest.tables import column_kinds
from dpforest.tables.csv_values import written
from dpforest.tables.domain import Domain, DomainError
from dpforest.tables.features import Feature, plural
from dpforest.tables.public_ranges import PublicRange, public_range
from dpforest.tables.read_parts import CLASSES
from dpforest.tables.reading_rules import Spellings
from ui import state
from ui.explore import card_answers as answers
from ui.explore.card_answers import NumberAnswer
from ui.explore.card_parts import (
    counted_values,
    keep_source,
    leave_out,
    left_out_of,
    order_of,
    proposal_of,
    source_field,
    use,
    without,
)
from ui.explore.cards import (
    RARE,
    frequent_signs,
    frequent_texts,
    frequent_values,
    may_be_remarks,
    open_parts_of_table,
    rare_values,
)
from ui.explore.confirm import HOW_KNOWN as WHY
from ui.explore.edited_cells import bound_of, bound_text
from ui.shared import tables
from ui.shared.page import sorry
from ui.shared.sources import QUESTION, is_source
from ui.shared.tables import Table
from ui.shared.wording import plain

LOW, HIGH, WHOLE, SIGNS = "lowest", "highest", "whole", "signs that are ignored"
_HEIGHT: Final = 420  # pixels
LIST, OUT, LATER = "public list", "leave out", "later"  # answers about a list
OF_LISTS: Final = "How does everybody know the public lists?"
_MANY: Final = 10  # more rows or lists than this scroll in a frame; a sentence names at most this many columns
_SHORT: Final = 400  # largest number of characters of a list on the checklist
_SHOWN: Final = 5  # largest number of words or rare values that a sentence names
_REST: Final = "(for rows that do not say it)"
_NUMBERS: Final = (column_kinds.NUMBER, column_kinds.NUMBER_WITH_WORDS)
_LEFT_OUT: Final = {  # words for the proposed kinds of columns that are left out
    column_kinds.NUMBER: "numbers with signs",
    column_kinds.NUMBER_WITH_WORDS: "numbers and words",
    column_kinds.IDENTIFIER: "nearly all cells differ",
    column_kinds.FREE_TEXT: "sentences",
    column_kinds.DATE: "dates",
    column_kinds.CONSTANT: "one value",
    column_kinds.EMPTY: "empty",
}


def numbers(table: Table) -> list[str]:
    """Return the number columns that the user must still confirm, first those whose names suggest a range."""
    names = [
        feature.name
        for feature in table.domain.features
        if feature.date is None and feature.leaks()
        if feature.kind == "numeric" or proposal_of(table, feature.name).kind in _NUMBERS
    ]
    return sorted(names, key=lambda name: public_range(name) is None)


def lists(table: Table) -> list[Feature]:
    """Return the columns whose list of values the user must still confirm. Long lists have separate cards."""
    return [
        feature
        for feature in table.domain.features
        if feature.kind == "categorical" and feature.date is None and feature.leaks()
        if proposal_of(table, feature.name).kind == column_kinds.CATEGORY
        if 0 < len(written(_list_of(table, feature.name)[0])) <= _SHORT
    ]


def asks_classes(table: Table) -> bool:
    """Return whether the checklist of lists also asks for the classes of the label."""
    is_open = CLASSES in open_parts_of_table(table.domain)
    return is_open and len(written(_list_of(table, table.label)[0])) <= _SHORT


def n_lists(table: Table) -> int:
    """Return the number of lists on the checklist, with the classes of the label."""
    return len(lists(table)) + asks_classes(table)


def _list_of(table: Table, name: str) -> tuple[list[str], Spellings]:
    """Return the frequent values of a column, and its frequent spellings with their values. Both come from the rows."""
    counts, spellings = counted_values(table, name), proposal_of(table, name).spellings
    frequent = frequent_texts([spelling for spelling, _ in spellings], counts)
    return frequent_values(counts, spellings), tuple(pair for pair in spellings if pair[0] in frequent)


def show_numbers(table: Table) -> None:
    """Ask for the ranges of many columns in one table, which starts with the ranges that column names suggest.

    A column whose range stays empty remains unconfirmed.
    """
    names = numbers(table)
    n_known = sum(public_range(name) is not None for name in names)
    key = f"card_{tables.fingerprint(table.domain)[:12]}_numbers"
    st.markdown(_about_ranges(n_known, len(names)))
    rows = pd.DataFrame([_range_row(table, name) for name in names]).astype({LOW: "object", HIGH: "object"})
    if not rows[SIGNS].any():
        rows = rows.drop(columns=SIGNS)
    with st.form(f"{key}_form", border=False):
        edited = st.data_editor(
            rows,
            hide_index=True,
            disabled=["column", SIGNS],
            column_config={
                "column": st.column_config.TextColumn("column", pinned=True),
                LOW: st.column_config.TextColumn(LOW, alignment="right"),
                HIGH: st.column_config.TextColumn(HIGH, alignment="right"),
                WHOLE: st.column_config.CheckboxColumn("whole numbers"),
                WHY: st.column_config.TextColumn(WHY, width="large"),
                SIGNS: st.column_config.TextColumn(SIGNS, help="“12 %” is read as 12, and “<0.5” as 0.5."),
            },
            key=state.CARD_TABLE(key),
            height="auto" if len(names) <= _MANY else _HEIGHT,
            placeholder="",
            alt="Number columns with their public ranges.",
        )
        st.caption(" ".join(filter(None, (_about_cells(table, names), _left_out(table)))))
        words = source_field(table, key, label=f"{QUESTION} {_REST}") if n_known < len(names) else ""
        if not st.form_submit_button("Use these ranges", type="primary"):
            return
    try:
        domain, n = with_ranges(table, edited.to_dict("records"), words)
    except DomainError as problem:
        sorry(problem)
        return
    if not n:
        sorry("No row has a lowest and a highest number. Fill in at least one range.")
        return
    if is_source(words):
        keep_source(table, words.strip())
    tables.edit(table, domain)
    st.rerun()


def _about_ranges(n_known: int, n: int) -> str:
    if not n_known:
        return (
            "**The ranges of several numbers.** Fill in those that you know. A row without a range stays open, so you "
            "can answer it later."
        )
    suggests = "its name suggests" if n_known == 1 else "their names suggest"
    later = "" if n_known == n else " A row without a range stays open: fill it in, or answer it later."
    return (
        f"**{plural(n_known, 'column')} {'has' if n_known == 1 else 'have'} a range that {suggests}.** No range comes "
        f"from your rows. Check each row, correct what is wrong, and confirm all of them together.{later}"
    )


def _about_cells(table: Table, names: list[str]) -> str:
    """Return sentences on how cells without a plain number are read. They quote words that many private rows have."""
    proposals = {name: proposal_of(table, name) for name in names}
    limits = sorted({"<", ">", "≤", "≥"} & {sign for proposal in proposals.values() for sign in proposal.signs})
    cells = [item for name in names for item in counted_values(table, name, by_row=True).items()]
    n_beyond = sum(n for cell, n in cells if cell.strip().startswith(tuple(limits)))
    limit_sentence = (
        f"{plural(n_beyond, 'cell')} such as “{limits[0]}0.5” will be read as the limit. " if limits else ""
    )
    words = [
        word
        for name, proposal in proposals.items()
        for word in frequent_texts(proposal.words, counted_values(table, name))
    ]
    quoted_words = [f"“{plain(word, 30)}”" for word in dict.fromkeys(words)][:_SHOWN]
    named = f" (for example {', '.join(quoted_words)})" if quoted_words else ""
    return (
        f"{limit_sentence}A cell that is empty or holds no number{named} counts as missing, which is a separate value."
    )


def _left_out(table: Table) -> str:
    """Return a sentence that names columns that are left out, with the kind of each; empty if there are none."""
    names = left_out_of(table)
    if not names:
        return ""
    kinds = {name: _LEFT_OUT.get(proposal_of(table, name).kind, "") for name in names[:_MANY]}
    listed = ", ".join(f"{plain(name, 40)}{f' ({kind})' if kind else ''}" for name, kind in kinds.items())
    more = f" and {len(names) - _MANY:,} more" if names[_MANY:] else ""
    return f"Left out: {listed}{more}. No forest learns from these. To use one, choose it under “Card”."


def _range_row(table: Table, name: str) -> dict[str, Any]:
    known, signs = public_range(name), proposal_of(table, name).signs
    low, high = (None, None) if known is None else (bound_text(known.low), bound_text(known.high))
    return {
        "column": name,
        LOW: low,
        HIGH: high,
        WHOLE: known is not None and known.integer,
        SIGNS: " ".join(frequent_signs(signs, counted_values(table, name)) if signs else ()),
        WHY: "" if known is None else _reason_of(known),
    }


def with_ranges(table: Table, rows: list[dict[str, Any]], words: str) -> tuple[Domain, int]:
    """Return the domain with the ranges that `rows` states, and the number of these ranges.

    `words` are the source of a range if its row states no source. Raise DomainError if a range has no source, or if a
    bound is missing or not a number.
    """
    domain, n = table.domain, 0
    for row in rows:
        low, high = (_cell(row[end]) for end in (LOW, HIGH))
        if not low and not high:
            continue
        name, why = row["column"], _why(row, low, high) or words
        if not is_source(why):
            raise DomainError(
                f"It is not clear how everybody knows the range of {name!r}. Write at least three words, or two and a "
                "number, in its row or in the field below the table."
            )
        signs = _cell(row.get(SIGNS)).split()
        answer = NumberAnswer(bound_of(low, LOW, name), bound_of(high, HIGH, name), bool(row[WHOLE]), signs=signs)
        domain, n = answers.with_numbers(domain, order_of(table), {name: answer}, why.strip()), n + 1
    return domain, n


def _why(row: dict[str, Any], low: str, high: str) -> str:
    """Return the source in a row; empty if the user changed a suggested range, but not the reason for it."""
    why, known = _cell(row[WHY]), public_range(row["column"])
    if known is None or why != _reason_of(known):
        return why
    name = row["column"]
    is_changed = (bound_of(low, LOW, name), bound_of(high, HIGH, name)) != (known.low, known.high)
    return "" if is_changed else why


def _reason_of(known: PublicRange) -> str:
    return f"{known.what}: {known.reason}"


def _cell(value: Any) -> str:
    return "" if value is None or (isinstance(value, float) and value != value) else str(value).strip()


def show_lists(table: Table) -> None:
    """Ask which lists of values are public, and which columns to leave out. A list has only frequent values."""
    names = [*([table.label] if asks_classes(table) else []), *(feature.name for feature in lists(table))]
    key = f"card_{tables.fingerprint(table.domain)[:12]}_lists"
    st.markdown(
        f"**The values of several columns, as your rows have them.** Choose “{LIST}” only if everybody could know all "
        "of its values without your rows, for example from your form. To change a list, choose its column under “Card”."
    )
    with st.form(f"{key}_form", border=False):
        with st.container(height="content" if len(names) <= _MANY else _HEIGHT, border=False):
            answer_of = {name: _ask_list(table, name, key) for name in names}
        words = source_field(table, key, label=OF_LISTS)
        if not st.form_submit_button("Use these answers", type="primary"):
            return
    public, left_out = ([name for name, answer in answer_of.items() if answer == choice] for choice in (LIST, OUT))
    if public:
        use(table, words, lambda source: _with_lists(without(table, left_out), table, public, source))
    elif left_out:
        leave_out(table, left_out)
    else:
        sorry(f"You answered “{LATER}” for every column. Choose “{LIST}” or “{OUT}” for at least one.")


def _ask_list(table: Table, name: str, key: str) -> str:
    """Show the list of a column and the values that are not in it. Return the user's answer about the list."""
    values, spellings = _list_of(table, name)
    are_remarks = may_be_remarks(values)
    is_label = name == table.label
    options = [LIST, LATER] if is_label else [LIST, OUT, LATER]
    answer = st.radio(
        f"**{plain(name, 60)}**{' (the label)' if is_label else ''}: {plain(written(values), 2 * _SHORT)}",
        options,
        options.index(OUT if are_remarks and not is_label else LATER),
        key=state.CARD_LIST(f"{key}_{name}"),
        horizontal=True,
    )
    if are_remarks and not is_label:
        st.caption("These may be remarks, which can name a person. Remarks are no public list.")
    counts = counted_values(table, name)
    notes = [f"“{plain(spelling, 40)}” counts as “{plain(value, 40)}”." for spelling, value in spellings]
    listed = {*values, *(spelling for spelling, _ in spellings)}
    if unusual := [value for value in rare_values(counts) if value not in listed]:
        named = ", ".join(f"“{plain(value, 40)}”" for value in unusual[:_SHOWN])
        more = f" and {len(unusual) - _SHOWN:,} more" if unusual[_SHOWN:] else ""
        it, counts_as = ("it", "It counts as") if len(unusual) == 1 else ("them", "They count as")
        meaning = "missing" if not is_label else "rows without a label, which are left out"
        noun = unit_noun(table.domain.unit)
        notes.append(f"Fewer than {RARE} {noun}s have {it}, so not in the list: {named}{more}. {counts_as} {meaning}.")
    if notes:
        st.caption(" ".join(notes))
    return answer


def _with_lists(domain: Domain, table: Table, public: list[str], source: str) -> Domain:
    for name in public:
        values, spellings = _list_of(table, name)
        if name == table.label:
            domain = answers.with_classes(domain, values, spellings, source)
        else:
            domain = answers.with_list(domain, order_of(table), name, values, source, spellings=spellings)
    return domain
