"""The Data tab: an editor of the domain, and notes on reading the file.

The domain states what everybody may know about a table. A part of it that was read from the rows is not public yet.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pandas as pd
import streamlit as st

from dpforest.tables.csv_values import HELP, parsed, written
from dpforest.tables.domain import Domain, DomainError, Feature
from dpforest.tables.read_parts import read_parts
from ui import state
from ui.explore import (
    bounds_hint,
    confirm,
    desk,
    edited_cells,
    load_domain,
    look_alikes,
    many_attributes,
    rows_fit,
    scale_panel,
    unit_question,
)
from ui.explore.edited_cells import SOURCE
from ui.explore.spare import spare
from ui.jobs.sweep_job import Releases
from ui.shared import tables
from ui.shared.page import sorry, titled
from ui.shared.sidebar import Choice
from ui.shared.sources import check_source
from ui.shared.tables import Table
from ui.shared.wording import plain


def show(choice: Choice, simulated: Releases | None = None) -> None:
    """Draw the Data tab. With simulated releases, also draw how the rows are spread over the public scale."""
    table = choice.table
    _leaks(table)
    if table.uploaded:
        unit_question.show(table)
        look_alikes.show(table)
    titled(
        "What everybody may know",
        "Do not share" if table.domain.leaks() else None,
        help="A release publishes all of this. Bounds that are too wide can cost a lot of accuracy, so choose the "
        "narrowest range that is public. Bounds that were read from the rows reveal something about the rows.",
    )
    load_domain.show(table)
    cards_place = st.container()  # filled below, once `pending` is known
    st.caption("Change single cells here. Changes count after you apply them.")
    edited = _editor(table)
    classes = _classes(table)
    with st.container(horizontal=True, vertical_alignment="bottom"):
        if st.button(
            "Apply my changes", type="primary", key="use_domain", help="Read the rows with your ranges and lists."
        ):
            _apply(table, edited, classes)
        if tables.is_edited(table):
            st.button("Undo all edits", on_click=tables.undo, args=(table,))
        load_domain.downloads(table)
    pending = _pending(table, classes)
    with cards_place:
        if table.uploaded:
            desk.show(table, pending=pending)
        many_attributes.show(table, pending=pending)
        bounds_hint.show(table, pending=pending)
    if table.uploaded:
        _public(table)
    rows_fit.show(table)
    if simulated is not None:
        scale_panel.show(choice, simulated.view(choice.settings.epsilon))
    _notes(table)


def _leaks(table: Table) -> None:
    """Show which parts of the domain were read from the rows. If none, warn of bounds equal to a value of the rows."""
    parts = read_parts(table.domain)
    if parts:
        st.info(
            f"**Read from the rows: {confirm.summary(parts)}.** The lowest value in a column may belong to one "
            "person, and a release would reveal it. Enter what is public, such as 0 to 120 for an age, and how "
            "everybody knows it: on the cards below, or in a file. The certificate quotes your words as *asserted by "
            "the curator*, the person who holds the data.",
            icon=":material/search:",
        )
    elif exact := bounds_hint.exact_bounds_of(table):
        st.warning(
            "Every bound and category below has a source, so a release can be certified. But "
            f"{bounds_hint.sentence(exact)} If everybody knows these bounds anyway, such as the ends of a scale from 1 "
            "to 5, leave them.",
            icon=":material/info:",
        )
    else:
        st.success(
            "Every bound and category below has a source: a document, or your word. The app does not check it. Nothing "
            "here prevents a certificate.",
            icon=":material/check:",
        )


def _rows(table: Table) -> pd.DataFrame:
    rows = [_row(f, True) for f in table.domain.features] + [_row(f, False) for f in spare(table)]
    return edited_cells.with_nullable_types(pd.DataFrame(rows))


def _row(feature: Feature, use: bool) -> dict[str, Any]:
    return {
        "use": use,
        "column": feature.name,
        "lowest": edited_cells.bound_text(feature.low),
        "highest": edited_cells.bound_text(feature.high),
        "whole": feature.integer if feature.kind == "numeric" else None,
        "values": written(feature.categories),
        "missing": edited_cells.RULE_NAMES.get(feature.missing, f"as {feature.missing_value}"),
        SOURCE: feature.source_note if feature.source != "data" else "",
        "state": confirm.sources_in_words(feature),
    }


def _editor(table: Table) -> pd.DataFrame:
    rows = _rows(table)
    config = {
        "use": st.column_config.CheckboxColumn("use", help="Leave out what should not be learned from."),
        # Cells of bounds are texts: a column of numbers reads a pasted "1,3" as 13, and in some browsers a typed "0,5"
        # as 5.
        "lowest": st.column_config.TextColumn("lowest", alignment="right"),
        "highest": st.column_config.TextColumn("highest", alignment="right"),
        "whole": st.column_config.CheckboxColumn("whole numbers"),
        "values": st.column_config.TextColumn("values, separated by ;", width="medium", help=HELP),
        "missing": st.column_config.SelectboxColumn("missing cells", options=[*edited_cells.RULES]),
        SOURCE: st.column_config.TextColumn(SOURCE, width="large"),
        "state": st.column_config.TextColumn("state"),
    }
    return st.data_editor(
        rows,
        hide_index=True,
        disabled=["column", "state"],
        column_config=config,
        key=_editor_key(table),
        height="auto" if len(rows) <= 12 else 460,
        placeholder="",
        alt="The public domain: a row for each column with its bounds or values and how everybody knows them.",
    )


def _editor_key(table: Table) -> state.Key:
    return state.EDITOR(tables.fingerprint(table.domain)[:12])


def _pending(table: Table, classes: tuple[str, str]) -> bool:
    """Return whether the user has edits that are not applied yet."""
    domain = table.domain
    if _editor_key(table).value.get("edited_rows"):
        return True
    try:
        edited = _edited_classes(domain, *classes)
    except DomainError:
        return True
    return edited != (domain.classes, domain.label, domain.classes_source, domain.classes_note)


def _classes(table: Table) -> tuple[str, str]:
    """Ask for the classes of the label and their source, and return both texts."""
    domain = table.domain
    left, right = st.columns(2)
    key = f"{table.schema_key}_{tables.fingerprint(domain)[:12]}"
    classes = left.text_input(
        f"Classes of {plain(domain.label)}, separated by ;",
        written(domain.classes),
        key=state.CLASSES_OF(key),
        help=HELP,
    )
    note = right.text_input(
        "Why the classes are public",
        domain.classes_note if domain.classes_source != "data" else "",
        key=state.CLASSES_NOTE(key),
        placeholder=confirm.READ,
    )
    return classes, note


def _apply(table: Table, edited: pd.DataFrame, classes: tuple[str, str]) -> None:
    """Apply the edited domain, or show a message if it is not valid."""
    try:
        rows = zip(
            (*table.domain.features, *spare(table)),
            edited.to_dict("records"),
            _rows(table).to_dict("records"),
            strict=True,
        )
        features = tuple(
            _edited_feature(feature, row, before) for feature, row, before in rows if edited_cells.cleaned(row)["use"]
        )
        labels, _, source, note = _edited_classes(table.domain, *classes)
        domain = replace(table.domain, features=features, classes=labels, classes_source=source, classes_note=note)
    except DomainError as problem:
        sorry(problem)
        return
    tables.edit(table, domain)
    st.rerun()


def _edited_feature(old: Feature, row: dict[str, Any], before: dict[str, Any]) -> Feature:
    """Return the edited attribute. `confirm.edited_sources` sets the sources of its parts."""
    row, before = edited_cells.cleaned(row), edited_cells.cleaned(before)
    changed = {name for name in row if row[name] != before[name]}
    if not changed - {"use"}:
        return old
    note = row[SOURCE]
    if SOURCE in changed and note:
        check_source(note, f"the values of {old.name!r}")
    values = {name: value for cell in changed for name, value in edited_cells.changes(old, cell, row[cell]).items()}
    return confirm.edited_sources(old, replace(old, **values), changed, note)


def _edited_classes(domain: Domain, text: str, note: str) -> tuple:
    """Return the classes, the label, the classes' source and its words, from the two texts of `_classes`."""
    known = {str(c): c for c in domain.classes}
    classes = domain.classes
    if text != written(domain.classes):
        classes = tuple(known.get(value, value) for value in parsed(text))
    note = note.strip()
    if classes == domain.classes and note == (domain.classes_note if domain.classes_source != "data" else ""):
        return classes, domain.label, domain.classes_source, domain.classes_note
    if note:
        check_source(note, "the classes")
    return classes, domain.label, "asserted" if note else "data", note


def _public(table: Table) -> None:
    key = state.PUBLIC(table.key[:12])
    st.checkbox(
        "This table is public: everybody may see all of its rows",
        table.key in state.DECLARED_PUBLIC.value,
        key=key,
        help="Otherwise each release states that you looked at this table when you chose the settings.",
        on_change=_declare,  # Streamlit runs a callback before the page, whose upper part needs the new value
        args=(table.key, key),
    )


def _declare(table_key: str, key: state.Key) -> None:
    """Store the value of the checkbox. If the table is no longer public, a rule sets depth and number of trees again.

    The sliders of a public table start from the exact number of rows, so the values that the user set may reveal this
    number.
    """
    declared = state.DECLARED_PUBLIC.value
    if key.value:
        declared.add(table_key)
    else:
        declared.discard(table_key)
        state.BY_RULE.value = True


def _notes(table: Table) -> None:
    if table.csv is not None:
        titled("How the file was read", "Do not share")
        stated = [feature.name for feature in table.domain.features if not feature.leaks()]
        notes = [note for note in table.csv.notes if not note.startswith(tuple(f"{name!r} " for name in stated))]
        st.markdown("\n".join(f"- {plain(note, 300)}" for note in notes))
        st.caption(
            "You often do not need to change the file: a card can read numbers with words or signs, dates, and several "
            "spellings of one value."
        )
        unused = [c for c in table.csv.columns if not c.use]
        if unused:
            st.markdown(
                "Not used, unless you tick them in the table above:\n"
                + "\n".join(f"- **{plain(c.name)}**: {plain(c.reason, 200)}" for c in unused)
            )
    elif table.attribution:
        st.caption(f"{plain(table.attribution, 400)}" + (f" [Source]({table.url})" if table.url else ""))
