"""The public domain: what everybody may know of a table, to be corrected and confirmed; and how the rows fit it."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pandas as pd
import streamlit as st

from dpforest.domain import Domain, DomainError, Feature
from dpforest.features import text
from ui import tables
from ui.page import sorry, titled
from ui.sidebar import Choice
from ui.tables import Table
from ui.value_list import HELP, parsed, written
from ui.wording import plain, plural

READ = "read from the data"
SOURCE_LETTERS = 3  # fewest that can name a source


def show(choice: Choice) -> None:
    """The Data tab."""
    table = choice.table
    _leaks(table)
    titled(
        "What everybody may know",
        "Curator only" if table.domain.leaks() else None,
        help="The forest is built from this alone, so all of it becomes public. Bounds that are too wide can cost a "
        "lot of accuracy; choose the narrowest range that is public. Bounds that were read from the rows tell "
        "something about the rows.",
    )
    edited = _editor(table)
    classes = _classes(table)
    with st.container(horizontal=True, vertical_alignment="bottom"):
        if st.button(
            "Apply my changes", type="primary", key="use_domain", help="Read the rows against the domain as edited."
        ):
            _apply(table, edited, classes)
        _confirm_all(table)
        if tables.is_edited(table):
            st.button("Undo all edits", on_click=tables.undo, args=(table,))
        st.download_button(
            "Download as JSON", lambda: json.dumps(table.domain.to_dict(), indent=1),
            "CURATOR_ONLY_domain.json" if table.domain.leaks() else "domain.json", "application/json",
            on_click="ignore",
        )  # fmt: skip
    if table.uploaded:
        _public(table)
    if not table.is_public and (exact := _exact(table, "asserted")):
        st.warning(exact, icon=":material/info:")
    _fit(table)
    _notes(table)


def _leaks(table: Table) -> None:
    leaks = table.domain.leaks()
    if not leaks:
        st.success(
            "Nothing here was read from the rows, so nothing here speaks against a certificate.",
            icon=":material/check:",
        )
        return
    were = "entry below was" if len(leaks) == 1 else "entries below were"
    st.info(
        f"**{len(leaks)} {were} read from the rows.** The lowest value in a column may be one person's, and publishing "
        "it tells on them. Correct each to what is known without looking (an age lies between 0 and 120) and write "
        "down where that is known from. What you write goes into the certificate as *asserted by you*.",
        icon=":material/search:",
    )


def _exact(table: Table, source: str) -> str:
    """One sentence on the bounds of this source that are a lowest or highest value of the rows; empty without any."""
    said = []
    for feature in table.domain.features:
        if feature.kind != "numeric" or feature.source != source:
            continue
        values = table.frame[feature.name]
        ends = ((feature.low, values.min(), "lowest"), (feature.high, values.max(), "highest"))
        hits = [(text(bound), which) for bound, end, which in ends if bound == end]
        if hits:
            numbers, which = (" and ".join(words) for words in zip(*hits, strict=True))
            said.append(
                f"{numbers} {'are' if len(hits) > 1 else 'is'} exactly the {which} value of '{plain(feature.name)}'"
            )
    if not said:
        return ""
    more = [f"so it is with {plural(len(said) - 3, 'further attribute')}"] if len(said) > 3 else []
    return f"{', '.join([*said[:3], *more])} in your rows: write what everybody could know without them."


def _rows(table: Table) -> pd.DataFrame:
    chosen = {f.name: f for f in table.domain.features}
    spare = _spare(table, chosen)
    return pd.DataFrame([_row(f, True) for f in chosen.values()] + [_row(f, False) for f in spare])


def _row(feature: Feature, use: bool) -> dict[str, Any]:
    return {
        "use": use,
        "attribute": feature.name,
        "lowest": feature.low,
        "highest": feature.high,
        "whole": feature.integer if feature.kind == "numeric" else None,
        "values": written(feature.categories),
        "missing": {"own": "own value", "value": f"as {feature.missing_value}", "refuse": "none expected"}[
            feature.missing
        ],
        "where this is known from": feature.source_note if feature.source != "data" else "",
        "state": {"documented": "documented", "asserted": "asserted by you", "data": READ}[feature.source],
    }


def _spare(table: Table, chosen: dict[str, Feature]) -> list[Feature]:
    """Columns of an upload that are not used: ids, dates, constants, or left out by hand."""
    if table.csv is None:
        return []
    spare = []
    for column in table.csv.columns:
        if column.name in chosen or column.name == table.label:
            continue
        try:
            spare.append(Domain.infer(table.frame[[column.name]]).features[0])
        except DomainError:
            spare.append(Feature(column.name, "categorical", categories=("(too many to list)",), missing="own"))
    return spare


def _editor(table: Table) -> pd.DataFrame:
    rows = _rows(table)
    config = {
        "use": st.column_config.CheckboxColumn("use", help="Leave out what should not be learned from."),
        "lowest": st.column_config.NumberColumn("lowest"),
        "highest": st.column_config.NumberColumn("highest"),
        "whole": st.column_config.CheckboxColumn("whole numbers"),
        "values": st.column_config.TextColumn("values, separated by ;", width="medium", help=HELP),
        "missing": st.column_config.SelectboxColumn("missing cells", options=["own value", "none expected"]),
        "where this is known from": st.column_config.TextColumn("where this is known from", width="large"),
        "state": st.column_config.TextColumn("state"),
    }
    return st.data_editor(
        rows,
        hide_index=True,
        disabled=["attribute", "state"],
        column_config=config,
        key=f"editor_{tables.fingerprint(table.domain)[:12]}",
        height="auto" if len(rows) <= 12 else 460,
        placeholder="",
        alt="The public domain: a row for each attribute with its bounds or values and where they are known from.",
    )


def _classes(table: Table) -> tuple[str, str]:
    domain = table.domain
    left, right = st.columns(2)
    key = f"{table.schema_key}_{tables.fingerprint(domain)[:12]}"
    classes = left.text_input(
        f"Classes of {plain(domain.label)}, separated by ;",
        written(domain.classes),
        key=f"classes_{key}",
        help=HELP,
    )
    note = right.text_input(
        "Where the classes are known from",
        domain.classes_note if domain.classes_source != "data" else "",
        key=f"classes_note_{key}",
        placeholder=READ,
    )
    return classes, note


def _apply(table: Table, edited: pd.DataFrame, classes: tuple[str, str]) -> None:
    """Build the edited domain; one sentence where it makes none."""
    try:
        before = {row["attribute"]: row for row in _rows(table).to_dict("records")}
        old = {f.name: f for f in (*table.domain.features, *_spare(table, {f.name: f for f in table.domain.features}))}
        features = tuple(
            _edited_feature(old[row["attribute"]], row, before[row["attribute"]])
            for row in edited.to_dict("records")
            if row["use"]
        )
        domain = Domain(features, *_edited_classes(table.domain, *classes))
    except DomainError as problem:
        sorry(problem)
        return
    tables.edit(table, domain)
    st.rerun()


def _edited_feature(old: Feature, row: dict[str, Any], before: dict[str, Any]) -> Feature:
    """A feature as edited. Words about its source turn it into an assertion; changing it drops an old source."""
    changed = {name for name in row if not _same(row[name], before[name])}
    if not changed - {"use"}:
        return old
    note = (row["where this is known from"] or "").strip()
    if "where this is known from" in changed:
        _check_source(note, old.name)
    values = {name: value for cell in changed for name, value in _values(old, cell, row[cell]).items()}
    if old.source == "documented" and "where this is known from" not in changed and changed - {"missing", "use"}:
        note = ""  # the document does not say this any more
    if old.source == "documented" and changed <= {"missing", "use"}:
        return replace(old, **values)
    return replace(old, **values, source="asserted" if note else "data", source_note=note)


def _values(old: Feature, cell: str, value: Any) -> dict[str, Any]:
    """What one edited cell says of a feature; nothing of what stands in the others."""
    if cell == "missing":
        return {"missing": {"own value": "own", "none expected": "refuse"}.get(value, old.missing)}
    if old.kind == "numeric":
        name = {"lowest": "low", "highest": "high", "whole": "integer"}.get(cell)
        return {} if name is None else {name: bool(value) if cell == "whole" else value}
    return {"categories": parsed(value or "")} if cell == "values" else {}


def _letters(words: str) -> int:
    return sum(c.isalpha() for c in words)


def _check_source(note: str, name: str) -> None:
    """A source is a few words; without any, it is no source."""
    if note and _letters(note) < SOURCE_LETTERS:
        raise DomainError(f"{note!r} does not say where {name!r} is known from; write it down in a few words.")


def _same(a: Any, b: Any) -> bool:
    return a == b or (pd.isna(a) and pd.isna(b))


def _edited_classes(domain: Domain, text: str, note: str) -> tuple:
    known = {str(c): c for c in domain.classes}
    classes = domain.classes
    if text != written(domain.classes):
        classes = tuple(known.get(value, value) for value in parsed(text))
    note = note.strip()
    if classes == domain.classes and note == (domain.classes_note if domain.classes_source != "data" else ""):
        return classes, domain.label, domain.classes_source, domain.classes_note
    _check_source(note, domain.label)
    return classes, domain.label, "asserted" if note else "data", note


def _confirm_all(table: Table) -> None:
    """One sentence for everything that was read from the rows."""
    if not table.domain.leaks():
        return
    with st.popover("Confirm all that was read"):
        if exact := _exact(table, "data"):
            st.caption(exact)
        st.markdown(
            "I checked every entry above, and all of it is known without looking at the rows. It is known from:"
        )
        words = st.text_input("Source, in your words", key="confirm_words", placeholder="the questionnaire, page 2")
        if st.button("Confirm", key="confirm_all"):
            if _letters(words) < SOURCE_LETTERS:
                sorry("Write down where it is known from; it goes into the certificate in your words.")
                return
            tables.edit(table, table.domain.asserted(words.strip()))
            st.rerun()


def _public(table: Table) -> None:
    declared = st.session_state.setdefault("declared_public", set())
    said = st.checkbox(
        "This table is public: looking at it costs nobody anything",
        table.key in declared,
        key=f"public_{table.key[:12]}",
        help="Otherwise every release says that its settings were chosen by looking at this table.",
    )
    (declared.add if said else declared.discard)(table.key)


@st.cache_data(scope="session", max_entries=8, show_spinner=False)
def report(key: tuple, _domain: Domain, _columns: pd.DataFrame) -> pd.DataFrame:
    """Cells that are clipped, unlisted or missing."""
    return _domain.report(_columns)


tables.OWN_CACHES.append(report)


def _fit(table: Table) -> None:
    titled(
        "How the rows fit",
        "Curator only",
        help="Values beyond the bounds count as the bound; values that are not listed count as missing or, where no "
        "cell is expected to be missing, as the first value or the lowest number.",
    )
    try:
        counts = report((table.schema_key, tables.fingerprint(table.domain)), table.domain, table.columns())
    except (DomainError, KeyError) as problem:
        sorry(problem)
        return
    some = counts[counts.sum(axis=1) > 0]
    if some.empty:
        st.markdown(f"All cells of all {plural(len(table.frame), 'row')} lie within the domain, and none is missing.")
        return
    st.dataframe(
        some.rename_axis("attribute").reset_index(), hide_index=True,
        alt="Counts of cells that are clipped, unlisted or missing, by attribute.",
    )  # fmt: skip


def _notes(table: Table) -> None:
    if table.csv is not None:
        titled("How the file was read", "Curator only")
        st.markdown("\n".join(f"- {plain(note, 300)}" for note in table.csv.notes))
        odd = [c for c in table.csv.columns if not c.use]
        if odd:
            st.markdown(
                "Suggested to be left out:\n" + "\n".join(f"- **{plain(c.name)}**: {plain(c.reason, 200)}" for c in odd)
            )
    elif table.attribution:
        st.caption(f"{plain(table.attribution, 400)}" + (f" [Source]({table.url})" if table.url else ""))
