"""Buttons that download the domain as JSON or as a codebook, and an upload that loads either file."""

from __future__ import annotations

import json
from typing import Final

import pandas as pd
import streamlit as st

from dpforest.limits import MAX_DOMAIN_BYTES
from dpforest.tables.csv_codebook import codebook, read_codebook
from dpforest.tables.csv_text import TableError
from dpforest.tables.csv_values import written
from dpforest.tables.domain import DomainError, Feature
from dpforest.tables.features import text
from ui import state
from ui.explore import confirm
from ui.explore.edited_cells import RULE_NAMES, SOURCE
from ui.explore.loaded import Loaded, changes, domain_of_json, entries_of, merge_file
from ui.explore.spare import spare
from ui.shared import tables
from ui.shared.downloads import as_csv
from ui.shared.page import sorry
from ui.shared.tables import Table
from ui.shared.wording import plain

MOST: Final = 5  # largest number of mistakes that a message lists
_MB: Final = 2**20  # bytes of a megabyte


def downloads(table: Table) -> None:
    """Draw buttons that download the applied domain as JSON and as a codebook."""
    domain, mark = table.domain, "DO_NOT_SHARE_" if table.domain.leaks() else ""
    st.download_button(
        "Download as JSON",
        json.dumps(domain.to_dict(), indent=1),
        f"{mark}domain.json",
        "application/json",
        on_click="ignore",
        help="The whole domain, exactly. You can load it again above.",
    )
    st.download_button(
        "Codebook as CSV",
        lambda: as_csv(codebook(domain)),
        f"{mark}codebook.csv",
        "text/csv",
        on_click="ignore",
        help="One line for each column. Fill it in with a spreadsheet, then load it above.",
    )


def show(table: Table) -> None:
    """Ask for a file, show what it would change, and load it if the user presses the button."""
    loaded = state.LOADED.value.get(table.schema_key)
    with st.expander("Load a domain from a file", icon=":material/upload_file:"):
        st.caption(
            "The JSON of this page, or a codebook as CSV with the columns “name”, “kind” (numeric or categorical), "
            "“low”, “high”, “categories” (separated by ;) and “source”. A codebook may also have the columns “whole” "
            "(only whole numbers) and “missing” (cells may be missing). If a line has words under “source”, you "
            "assert that its bounds or categories are public. Otherwise they still count as read from the data. Parts "
            "that the file omits do not change."
        )
        file = st.file_uploader(
            "Domain or codebook",
            type=["json", "csv", "tsv", "txt"],
            max_upload_size=MAX_DOMAIN_BYTES // _MB,
            key=state.DOMAIN_FILE(state.DOMAIN_FILES.value),
        )
        if file is not None:
            _offer(table, file.name, file.getvalue())
    if loaded and loaded[0] == tables.fingerprint(table.domain):
        st.success(f"Loaded. {plain(loaded[1], 600)}", icon=":material/check:")


def _offer(table: Table, name: str, data: bytes) -> None:
    """Show what a file would change, or why it cannot be used."""
    try:
        loaded = _read(table, name, data, exactly=False)
        if (
            loaded.differs
            and not loaded.mistakes
            and st.checkbox("Use exactly the columns of the file, no others", key=state.DOMAIN_EXACTLY)
        ):
            loaded = _read(table, name, data, exactly=True)
    except (TableError, DomainError) as problem:
        sorry(problem)
        return
    if loaded.mistakes:
        more = f" There are {len(loaded.mistakes) - MOST:,} more mistakes." if len(loaded.mistakes) > MOST else ""
        sorry(f"Nothing was loaded. {' '.join(loaded.mistakes[:MOST])}{more}")
        return
    for note in loaded.notes:
        st.caption(plain(note, 600))
    st.markdown("This is what the file says:")
    _preview([feature for feature in loaded.domain.features if feature.name in loaded.names])
    st.markdown(f"Once it is loaded: {plain(changes(table.domain, tables.kept(table.domain, loaded.domain)), 600)}")
    if st.button("Load it", key="load_domain", type="primary", help="It replaces earlier edits."):
        before = table.domain
        tables.edit(table, loaded.domain)
        after = tables.kept(before, loaded.domain)
        state.LOADED.value = {table.schema_key: (tables.fingerprint(after), changes(before, after))}
        state.DOMAIN_FILES.value += 1  # a new key empties the uploader
        st.rerun()


def _read(table: Table, name: str, data: bytes, *, exactly: bool) -> Loaded:
    """Read a file and merge it into the domain of a table."""
    is_json = name.lower().endswith(".json") or data.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"{")
    if not is_json:
        book, file = read_codebook(data), None
    else:
        try:
            content = json.loads(data.decode("utf-8-sig"))
        except (ValueError, RecursionError):
            raise DomainError("This file is not valid JSON; load one as this page writes it, or a codebook.") from None
        file = domain_of_json(content)
        book = entries_of(content, file)
    return merge_file(table.domain, spare(table), book, file, exactly=exactly, other_kinds=table.uploaded)


def _preview(features: list[Feature]) -> None:
    rows = [
        {
            "column": f.name,
            "bounds or categories": written(f.categories) if f.categories else f"{text(f.low)} to {text(f.high)}",
            "whole": f.integer if f.kind == "numeric" else None,
            "missing cells": RULE_NAMES.get(f.missing, f"as {text(f.missing_value)}"),
            SOURCE: f.source_note if f.source != "data" else "",
            "state": confirm.sources_in_words(f),
        }
        for f in features
    ]
    st.dataframe(
        pd.DataFrame(rows),
        hide_index=True,
        height="auto" if len(rows) <= 6 else 250,
        placeholder="",
        alt="What the file states about each column.",
    )
