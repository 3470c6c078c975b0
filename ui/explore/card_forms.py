"""The card of one column: its kind, and a form for its range, its list of values, or its dates."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date
from typing import Final

import streamlit as st

from dpforest.limits import MAX_CATEGORIES
from dpforest.privacy.ledger import unit_noun
from dpforest.tables.column_kinds import ColumnProposal
from dpforest.tables.csv_values import HELP, parsed, written
from dpforest.tables.dates import DATE_FORMATS, DATE_PARTS, DAYS
from dpforest.tables.domain import Domain, DomainError
from dpforest.tables.features import Feature, plural, text
from dpforest.tables.public_ranges import public_range
from dpforest.tables.read_parts import CLASSES
from dpforest.tables.reading_rules import Spellings
from ui import state
from ui.explore import card_answers as answers
from ui.explore.card_answers import NumberAnswer
from ui.explore.card_parts import (
    counted_values,
    describe,
    leave_out,
    left_out_of,
    numbers_among,
    order_of,
    proposal_of,
    source_field,
    use,
)
from ui.explore.cards import (
    CATEGORY,
    DATE,
    KINDS,
    LEFT_OUT,
    NUMBER,
    OPEN,
    Card,
    features_of,
    first_kind,
    frequent_signs,
    frequent_texts,
    frequent_values,
    may_be_remarks,
    open_parts_of_table,
    rare_values,
)
from ui.explore.edited_cells import RULE_NAMES, RULES, bound_of, bound_text
from ui.shared import tables
from ui.shared.controls import drop_unknown
from ui.shared.page import sorry
from ui.shared.tables import Table
from ui.shared.wording import plain

BY_CURATOR: Final = "the curator's decision about the file"  # proposed source of the file's format and columns
KEEP_RARE: Final = "Rare values that a public list has"
_SHOWN: Final = 8  # largest number of rare values that a warning names
_ALL: Final = 1_000_000  # largest number of characters of a text that the user asserts; in practice no limit
_OLDEST, _LATEST = date(1, 1, 1), date(9999, 12, 31)


def column(table: Table, card: Card) -> None:
    """Draw the card of a column, or of several number columns whose names have the same beginning."""
    first = card.columns[0]
    features, proposal = features_of(table.domain, first), proposal_of(table, first)
    key = f"card_{tables.fingerprint(table.domain)[:12]}_{card.id}"
    st.markdown(f"**{plain(card.title, 60)}**")
    if len(card.columns) > 1:
        st.markdown(
            f"{plural(len(card.columns), 'column')} whose names begin alike: {plain(', '.join(card.columns), 300)}. "
            "**All of them get the same range, the same rules and the same source.**"
        )
        st.button("Answer these columns one by one", key=f"{key}_alone", on_click=_one_by_one, args=(table, card.title))
    describe(table, first, proposal)
    kinds = KINDS if len(card.columns) == 1 else (NUMBER, LEFT_OUT)
    starts_with = first_kind(proposal, features)
    if starts_with == CATEGORY and card.state == OPEN and may_be_remarks(frequent_values(counted_values(table, first))):
        starts_with = LEFT_OUT
        st.caption("These texts may be remarks, which can name a person.")
    kind = _kind(key, kinds, starts_with)
    if kind == NUMBER:
        _number(table, card, features, proposal, key)
    elif kind == CATEGORY:
        _list(table, first, features, proposal, key)
    elif kind == DATE:
        _dates(table, first, features, proposal, key)
    elif kind == LEFT_OUT:
        _leave_out(table, card, features, key)
    else:
        raise ValueError(f"there is no card for the kind {kind!r}")


def _one_by_one(table: Table, title: str) -> None:
    """Split the card with this title into one card for each of its columns."""
    state.ONE_BY_ONE.value.setdefault(table.schema_key, []).append(title)


def _kind(key: str, kinds: Sequence[str], first: str) -> str:
    drop_unknown(state.CARD_KIND(key), kinds)
    kind = st.segmented_control("This column is", kinds, default=first, key=state.CARD_KIND(key), required=True)
    return kind or first


def _number(table: Table, card: Card, features: Sequence[Feature], proposal: ColumnProposal, key: str) -> None:
    """Ask for a range. The fields start with the confirmed range, or with a range that the column's name suggests."""
    feature = features[0] if features and features[0].kind == "numeric" and features[0].date is None else None
    confirmed = feature if feature is not None and not feature.leaks() else None
    suggested = public_range(card.columns[0])
    reason = "" if suggested is None else suggested.reason
    low, high = (None, None) if suggested is None else (suggested.low, suggested.high)
    if confirmed is not None:
        low, high = confirmed.low, confirmed.high
    whole = confirmed.integer if confirmed is not None else suggested is not None and suggested.integer
    if suggested is not None and confirmed is None:
        st.caption(f"Its name suggests {plain(suggested.what)}: {text(low)} to {text(high)}. {suggested.reason}")
    is_one = len(card.columns) == 1  # words and signs of one column may not fit the other columns of the card
    words, signs = (proposal.words, proposal.signs) if is_one else ((), ())
    if confirmed is not None:
        words = tuple(dict.fromkeys((*confirmed.missing_words, *words)))
        signs = tuple(dict.fromkeys((*confirmed.signs, *signs)))
    with st.form(f"{key}_number", border=False):
        left, right = st.columns(2)
        lowest = left.text_input("Lowest possible number", bound_text(low) or "", key=state.CARD_LOW(key))
        highest = right.text_input("Highest possible number", bound_text(high) or "", key=state.CARD_HIGH(key))
        is_whole = st.checkbox("Only whole numbers", whole, key=state.CARD_WHOLE(key))
        counts = counted_values(table, card.columns[0]) if (words or signs) and confirmed is None else {}
        chosen = _words(words, confirmed.missing_words if confirmed else frequent_texts(words, counts), key)
        ignored = _signs(signs, confirmed.signs if confirmed else frequent_signs(signs, counts), key)
        missing = _missing(confirmed, key)
        note = source_field(table, key, _note_of(confirmed) or reason)
        if not st.form_submit_button("Use this range", type="primary"):
            return
    try:
        answer = NumberAnswer(
            bound_of(lowest, "lowest", card.title),
            bound_of(highest, "highest", card.title),
            is_whole,
            missing,
            chosen,
            ignored,
        )
    except DomainError as problem:
        sorry(problem)
        return
    if suggested is not None and note == reason and (answer.low, answer.high) != (suggested.low, suggested.high):
        sorry(
            "You changed the range, so the reason that the app proposed no longer fits. State how everybody knows it."
        )
        return
    if problem_words := _no_numbers(table, card, answer):
        sorry(problem_words)
        return
    order = order_of(table)
    by_name = dict.fromkeys(card.columns, answer)
    use(table, note, lambda source: answers.with_numbers(table.domain, order, by_name, source), proposed=reason)


def _no_numbers(table: Table, card: Card, answer: NumberAnswer) -> str:
    """Return a sentence if most known cells of a column are no numbers, so that they would all count as missing."""
    for name in card.columns:
        share, example = numbers_among(table, name, answer.signs)
        if share < 1 / 2:
            return (
                f"Most cells of {name!r} are no numbers, such as {example!r}, and would count as missing. Remove the "
                "unit in the file, or leave the column out."
            )
    return ""


def _words(words: Sequence[str], start: Sequence[str], key: str) -> list[str]:
    """Ask which words in a column of numbers mean a missing cell. Words that few rows have start unselected."""
    if not words:
        return []
    return st.multiselect(
        "Words that mean a missing cell",
        list(words),
        list(start),
        key=state.CARD_WORDS(key),
        accept_new_options=True,
        help="Every word in this column counts as missing. Choose only words that may stand in the public "
        "certificate. A word that is rare in your rows is not chosen at first.",
    )


def _signs(signs: Sequence[str], start: Sequence[str], key: str) -> list[str]:
    """Ask which signs next to numbers are ignored. A column without signs gets no question."""
    if not signs:
        return []
    return st.multiselect(
        "Signs that are ignored",
        list(signs),
        list(start),
        key=state.CARD_SIGNS(key),
        help="“12 %” is then read as 12, and “<0.5” as 0.5. Without its sign, such a cell counts as missing.",
    )


def _missing(confirmed: Feature | None, key: str) -> str:
    """Ask for the rule for missing cells. The default is the confirmed rule, or "category", which fits any column."""
    start = RULE_NAMES["category"] if confirmed is None else RULE_NAMES.get(confirmed.missing, RULE_NAMES["category"])
    drop_unknown(state.CARD_MISSING(key), list(RULES))
    chosen = st.radio(
        "Missing cells",
        list(RULES),
        list(RULES).index(start),
        key=state.CARD_MISSING(key),
        horizontal=True,
        help="“a separate value”: a tree can ask whether the cell is missing. “there are none”: a missing cell counts "
        "as the lowest number or the first value.",
    )
    return RULES[chosen]


def _list(table: Table, name: str, features: Sequence[Feature], proposal: ColumnProposal, key: str) -> None:
    """Ask for the list of values. It starts with the confirmed values, or with the values that many rows have."""
    counts = counted_values(table, name)
    feature = features[0] if features and features[0].kind == "categorical" and features[0].date is None else None
    confirmed = feature if feature is not None and not feature.leaks() else None
    spellings = proposal.spellings if confirmed is None else confirmed.spellings
    spelled = {spelling for spelling, _ in spellings}
    unusual = [] if confirmed is not None else [value for value in rare_values(counts) if value not in spelled]
    values = confirmed.categories if confirmed is not None else frequent_values(counts, spellings)
    if len(values) > MAX_CATEGORIES:
        sorry(
            f"{name!r} has {len(values):,} different values, more than {MAX_CATEGORIES:,}. Leave the column out, or "
            "group its values."
        )
        return
    with st.form(f"{key}_list", border=False):
        listed = st.text_area(
            "The possible values, separated by ;",
            written(values),
            key=state.CARD_VALUES(key),
            help=HELP,
        )
        kept = _rare_values(table, counts, unusual, key)
        merged = _merged(table, spellings, counts, key, are_confirmed=confirmed is not None)
        missing = _missing(confirmed, key)
        note = source_field(table, key, _note_of(confirmed))
        if not st.form_submit_button("Use this list", type="primary"):
            return
    chosen = _with_rare(parsed(listed), kept)
    rule = "category" if {*unusual} - {*chosen} or len(merged) < len(spellings) else missing
    order = order_of(table)
    use(
        table,
        note,
        lambda source: answers.with_list(
            table.domain, order, name, chosen, source, missing=rule, spellings=_pairs(merged, spellings)
        ),
    )


def _with_rare(values: Sequence[str], kept: Sequence[str]) -> list[str]:
    return list(dict.fromkeys([*values, *kept]))


def _rare_values(table: Table, counts: Mapping[str, int], unusual: Sequence[str], key: str) -> list[str]:
    """Show the values that few rows (or persons) have, and return those that the user selects: at first none."""
    if not unusual:
        return []
    noun = unit_noun(table.domain.unit)
    named = ", ".join(f"“{plain(value, 40)}” ({plural(counts[value], noun)})" for value in unusual[:_SHOWN])
    more = f" and {len(unusual) - _SHOWN:,} more" if unusual[_SHOWN:] else ""
    st.warning(
        f"**Rare in your rows, so not in the list:** {named}{more}. If a rare value is published, people may recognize "
        "the person who has it.",
        icon=":material/person_search:",
    )
    return st.multiselect(
        KEEP_RARE,
        list(unusual[:MAX_CATEGORIES]),
        [],
        key=state.CARD_RARE(key),
        format_func=lambda value: f"{value} ({plural(counts[value], noun)})",
        placeholder="None",
        help="Choose only values that everybody can look up without your rows. All others count as missing.",
    )


def _merged(
    table: Table, spellings: Spellings, counts: Mapping[str, int], key: str, *, are_confirmed: bool
) -> list[str]:
    """Ask which spellings count as another value. Return the selected texts, such as "YES = yes".

    Unless the spellings are confirmed, those that few rows have start unselected. The user may type further spellings.
    """
    noun = unit_noun(table.domain.unit)
    written_as = {f"{spelling} = {value}": spelling for spelling, value in spellings}
    frequent = frequent_texts([spelling for spelling, _ in spellings], counts)
    start = [one for one, spelling in written_as.items() if are_confirmed or spelling in frequent]
    return st.multiselect(
        "Spellings that mean another value (to add one, type for example: y = yes)",
        list(written_as),
        start,
        key=state.CARD_MERGE(key),
        format_func=lambda one: (
            f"{one} ({plural(counts.get(written_as[one], 0), noun)})" if one in written_as else str(one)
        ),
        accept_new_options=True,
        placeholder="None",
        help="Choose only spellings that may stand in the public schema. Other spellings count as missing cells. "
        "Spellings that few rows have are not chosen at first, because they may reveal a person.",
    )


def _pairs(chosen: Sequence[str], spellings: Spellings) -> Spellings:
    """Return pairs of a spelling and the value that it means, from the selected texts."""
    proposed = {f"{spelling} = {value}": (spelling, value) for spelling, value in spellings}
    pairs = []
    for one in chosen:
        spelling, mark, value = one.partition("=")
        if one not in proposed and not (mark and spelling.strip() and value.strip()):
            raise DomainError(f"{one!r} is no spelling of a value. Write it as in: y = yes.")
        pairs.append(proposed.get(one, (spelling.strip(), value.strip())))
    return tuple(pairs)


def _dates(table: Table, name: str, features: Sequence[Feature], proposal: ColumnProposal, key: str) -> None:
    """Ask for the format of the dates, the parts to learn from, and the first and last possible date."""
    used = [feature.date for feature in features if feature.date is not None]
    formats = list(dict.fromkeys([*(part.format for part in used), *proposal.date_formats, *DATE_FORMATS]))
    parts = [part.part for part in used] or [part for part in DATE_PARTS if part != DAYS]
    with st.form(f"{key}_dates", border=False):
        drop_unknown(state.CARD_FORMAT(key), formats)
        date_format = st.selectbox("Format of the dates", formats, key=state.CARD_FORMAT(key))
        chosen = st.pills(
            "Parts to learn from", DATE_PARTS, selection_mode="multi", default=parts, key=state.CARD_PARTS(key)
        )
        left, right = st.columns(2)
        ends = [
            place.date_input(title, None, _OLDEST, _LATEST, key=pattern(key), format="YYYY-MM-DD")
            for place, title, pattern in (
                (left, "First possible date", state.CARD_FIRST),
                (right, "Last possible date", state.CARD_LAST),
            )
        ]
        note = source_field(table, key, next((feature.source_note for feature in features if not feature.leaks()), ""))
        if not st.form_submit_button("Use these dates", type="primary"):
            return
    first, last = (end.isoformat() if isinstance(end, date) else "" for end in ends)
    order = order_of(table)
    use(
        table,
        note,
        lambda source: answers.with_dates(
            table.domain,
            order,
            name,
            date_format,
            [p for p in DATE_PARTS if p in (chosen or ())],
            (first, last),
            source,
        ),
    )


def _leave_out(table: Table, card: Card, features: Sequence[Feature], key: str) -> None:
    if not features:
        st.markdown("No forest learns from this column, and nothing about it is published.")
        return
    if st.button("Leave it out", type="primary", key=f"{key}_out"):
        leave_out(table, card.columns)


def label_and_file(table: Table) -> None:
    """Draw the card about the whole table: the classes of the label, and how the file is read."""
    domain, proposal = table.domain, proposal_of(table, table.label)
    key = f"card_{tables.fingerprint(domain)[:12]}_table"
    is_open = open_parts_of_table(domain)
    confirmed = CLASSES not in is_open
    counts = counted_values(table, table.label)
    spellings = domain.class_spellings if confirmed else proposal.spellings
    spelled = {spelling for spelling, _ in spellings}
    classes = [text(value) for value in domain.classes]
    values = classes if confirmed else frequent_values({value: counts.get(value, 0) for value in classes}, spellings)
    st.markdown(f"**The label: {plain(table.label, 60)}.** The forest predicts it.")
    describe(table, table.label, proposal)
    by_row = counted_values(table, table.label, by_row=True)
    if n_out := sum(n for value, n in by_row.items() if value not in {*values, *spelled}):
        are = "row has none of these classes and is" if n_out == 1 else "rows have none of these classes and are"
        st.caption(f"{n_out:,} {are} left out, unless you add a class or a spelling.")
    with st.form(f"{key}_form", border=False):
        listed = st.text_input("Its classes, separated by ;", written(values), key=state.CARD_VALUES(key), help=HELP)
        kept = _rare_values(
            table, counts, [] if confirmed else [v for v in rare_values(counts) if v not in spelled], key
        )
        merged = _merged(table, spellings, counts, key, are_confirmed=confirmed)
        st.markdown(f"**The file.**\n{_about_file(table)}")
        before = domain.classes_note if confirmed else ""
        columns_note = domain.columns_note if domain.columns_source == "asserted" else BY_CURATOR if confirmed else ""
        note = source_field(table, key, before if not is_open else columns_note)
        if not st.form_submit_button("Confirm that this is public", type="primary"):
            return
    chosen = _with_rare(parsed(listed), kept)

    def answer(source: str) -> Domain:
        """Return the domain after the answer, with this source.

        If classes that were confirmed earlier do not change and the file still needs a source, only the file gets this
        source.
        """
        pairs = _pairs(merged, spellings)
        is_same = confirmed and bool(is_open) and (chosen, pairs) == (classes, domain.class_spellings)
        if confirmed and is_open and not is_same and source == columns_note:
            raise DomainError("You changed the classes: state how everybody knows them, not how the file was chosen.")
        answered = domain if is_same else answers.with_classes(domain, chosen, pairs, source)
        parts = ["reading"] * bool(domain.reading) + ["columns"] * bool(domain.columns_source)
        return answers.with_table_parts(answered, parts, source)

    use(table, note, answer)


def _about_file(table: Table) -> str:
    """Return lines that state what an answer about the file asserts: its format, and which columns are used."""
    domain = table.domain
    left_out = left_out_of(table)
    besides = f", and not from {plain('; '.join(left_out), _ALL)}" if left_out else ""
    learned = plain("; ".join(domain.source_columns), _ALL)
    persons = "" if domain.unit is None else f"\n- {plain(domain.unit, _ALL)} tells persons apart"
    return f"- {plain(str(domain.reading), _ALL)}\n- the forest learns from {learned}{besides}{persons}"


def _note_of(feature: Feature | None) -> str:
    return "" if feature is None else feature.source_note
