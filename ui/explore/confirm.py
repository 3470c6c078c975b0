"""What was read from the rows and is asserted by a person, in their words: which parts, and what counts as a source."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from typing import Any, Final

import pandas as pd
import streamlit as st

from dpforest.tables.domain import DomainError, Feature
from dpforest.tables.features import plural
from dpforest.tables.read_parts import (
    BOUNDS,
    CATEGORIES,
    CLASSES,
    COLUMNS,
    MISSING,
    OF_ATTRIBUTES,
    READING,
    TYPE,
    Part,
    Source,
    assert_parts,
    read_parts,
    sources,
    with_sources,
)
from ui.explore import column_groups
from ui.shared import tables
from ui.shared.page import sorry, titled
from ui.shared.tables import Table
from ui.shared.wording import plain

FEWEST_WORDS, FEWEST_LETTERS = 3, 6
EXAMPLE: Final = "the questionnaire, page 2"
READ: Final = "read from the data"

_WORD = re.compile(r"[\u0e00-\u0eff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]|[^\W\d_]+")  # some write without spaces
_TITLES: Final = {  # what can be chosen: (parts, words for it in a sentence)
    "bounds and categories": (BOUNDS, CATEGORIES),
    "types": (TYPE,),
    "missing cells": (MISSING,),
    "classes of the label": (CLASSES,),
    "how the file is written": (READING,),
    "which columns are used": (COLUMNS,),
}


# What is known from there is what a source is asked against. (Nobody can be kept from a lie, but from a slip.)
_ROWS_THEMSELVES: Final = {"guess", "guessed", "guessing", "min", "max", "minimum", "maximum", "dunno"}


def is_source(words: str) -> bool:
    """Whether words can say where something is known from: three different ones at least, and not the rows themselves.

    >>> [is_source(words) for words in ("yes", "ok ok ok", "asdf", "page 2", "1 2 3", "a b c")]
    [False, False, False, False, False, False]
    >>> [is_source(words) for words in ("read from the data", "the min and max of it", "I just guessed this")]
    [False, False, False]
    >>> is_source("the questionnaire, page 2"), is_source("研究計画書、第2章")
    (True, True)
    """
    found = {word.casefold() for word in _WORD.findall(words)}
    if found & _ROWS_THEMSELVES or "from the data" in " ".join(words.casefold().split()):
        return False
    return len(found) >= FEWEST_WORDS and sum(map(len, found)) >= FEWEST_LETTERS


def check_source(words: str, what: str) -> None:
    """Raise DomainError unless words can be a source."""
    if not is_source(words):
        said = f"{words.strip()!r} does not say" if words.strip() else "It does not say"
        raise DomainError(
            f"{said} where {what} known from. A source takes three words at least, such as “{EXAMPLE}”; it stands on "
            "the certificate in your words."
        )


def state(feature: Feature) -> str:
    """Where an attribute comes from, for its row."""
    found = sources(feature)
    own = next(iter(found.values()))[0]
    read = [what for what, (source, _) in found.items() if source == "data"]
    if own == "data":
        return READ
    said = {"documented": "documented", "asserted": "asserted by you"}[own]
    words = {TYPE: "type", MISSING: "missing cells"}
    return said if not read else f"{said}; {' and '.join(words[what] for what in read)} {READ}"


def edited_sources(old: Feature, new: Feature, changed: Collection[str], note: str) -> Feature:
    """The attribute as edited, with the sources of its parts.

    Words that were typed are about the row, so they assert all of it that has no source or one that they replace.
    Without new words, what was changed loses its document: that does not say so any more.

    Parameters
    ----------
    old, new : Feature
        As it was; with the values of the editor and the sources of `old`.
    changed : collection of str
        Columns of the editor.
    note : str
        Words in the editor.
    """
    found = sources(old)
    own: Source = next(iter(found.values()))
    columns = {
        BOUNDS: {"lowest", "highest", "values"}, CATEGORIES: {"lowest", "highest", "values"}, TYPE: {"whole"},
        MISSING: {"missing"},
    }  # fmt: skip
    typed = "where this is known from" in changed
    if strange := set(changed) - {"use", "where this is known from"}.union(*columns.values()):
        raise ValueError(f"nobody says which part of an attribute the columns {strange} are")
    changes: dict[str, Source] = {}
    for what, source in found.items():
        touched = bool(columns[what] & set(changed))
        if typed and (touched or source[0] == "data" or source == own):
            changes[what] = ("asserted", note) if note else ("data", "")
        elif touched and source[0] != "asserted":
            changes[what] = ("data", "")
    return with_sources(new, changes)


def summary(parts: Sequence[Part]) -> str:
    """What was read, in half a sentence."""
    said = []
    for what, words in ((BOUNDS, "the bounds"), (CATEGORIES, "the categories"), (TYPE, "the types"),
                        (MISSING, "what is said about missing cells")):  # fmt: skip
        if n := sum(part.what == what for part in parts):
            said.append(f"{words} of {plural(n, 'attribute')}")
    whole = {CLASSES: "the classes", READING: "how the file is written", COLUMNS: "which columns are used"}
    said += [words for what, words in whole.items() if any(part.what == what for part in parts)]
    return said[0] if len(said) == 1 else f"{', '.join(said[:-1])} and {said[-1]}"


def show(table: Table, *, pending: bool) -> None:
    """Assert what was read: some attributes or all, some of their parts or all, and what concerns the whole table.

    Not while edits wait to be applied: they would be lost.
    """
    parts = read_parts(table.domain)
    if not parts:
        return
    titled(
        "Asserted by you", "Curator only",
        help="Whoever sees a forest that was released learns all of this. So it may only be what everybody could know "
        "without the rows, and the certificate says who says so: you.",
    )  # fmt: skip
    st.markdown(
        "What was read from the rows has to be known **without looking at them**. Say where it is known from, one "
        "source after another; it then counts as *asserted by you*, and your words stand on the certificate. Nobody "
        "else can check them."
    )
    key = f"assert_{tables.fingerprint(table.domain)[:12]}"
    chosen = _choose(table, parts, key)
    _list(table, chosen)
    words = st.text_input("Source, in your words", key=f"{key}_source", placeholder=EXAMPLE)
    what = plural(len(chosen), "entry", "entries")
    if pending:
        st.caption("You edited the table above: apply these changes first.")
    if st.button(f"Assert {what}", key="assert", disabled=pending or not chosen):
        try:
            check_source(words, "this is")
        except DomainError as problem:
            sorry(problem)
            return
        tables.edit(table, assert_parts(table.domain, chosen, words.strip()))
        st.rerun()


def _choose(table: Table, parts: Sequence[Part], key: str) -> list[Part]:
    found = {part.what for part in parts}
    offered = [title for title, what in _TITLES.items() if found & set(what)]
    wanted = st.pills("What", offered, selection_mode="multi", default=offered, key=f"{key}_what")
    kinds = {what for title in wanted or () for what in _TITLES[title]}
    names: list[str] = []
    if kinds & set(OF_ATTRIBUTES):
        read = {part.name for part in parts if part.what in kinds and part.name}
        names = column_groups.choose("Attributes", [f for f in table.domain.features if f.name in read], key)
    return [part for part in parts if part.what in kinds and (part.what not in OF_ATTRIBUTES or part.name in names)]


def _list(table: Table, chosen: Sequence[Part]) -> None:
    """Everything that is about to be asserted: nobody can assert what they do not see."""
    domain = table.domain
    of_table = {part.what: part for part in chosen}
    said = []
    if part := of_table.get(CLASSES):
        classes = plain(part.said, 2_000)
        said.append(f"**{plain(domain.label)}** is the label, and its classes are {classes}")
    if part := of_table.get(READING):
        said.append(plain(part.said, 2_000))
    if COLUMNS in of_table:
        left_out = (
            [c.name for c in table.csv.columns if c.name not in (*domain.names, domain.label)] if table.csv else []
        )
        besides = f", and not {plain('; '.join(left_out), 2_000)}" if left_out else ""
        said.append(f"the forest learns from {_those(domain.n_features)} above{besides}")
    rows: dict[str, dict[str, Any]] = {}
    for part in chosen:
        if part.what in OF_ATTRIBUTES:
            rows.setdefault(part.name, {"attribute": part.name})[_column(part)] = part.said
    if said or rows:
        st.markdown("\n".join(["You assert that", *(f"- {sentence}" for sentence in said)]))
    if rows:
        columns = ["attribute", *(c for c in _COLUMNS if any(c in row for row in rows.values()))]
        st.dataframe(
            pd.DataFrame(list(rows.values()), columns=columns).fillna(""), hide_index=True,
            height="auto" if len(rows) <= 8 else 320,
            alt="What is about to be asserted of each attribute.",
        )  # fmt: skip


_COLUMNS: Final = ("bounds or categories", "type", "missing cells")


def _column(part: Part) -> str:
    return {TYPE: _COLUMNS[1], MISSING: _COLUMNS[2]}.get(part.what, _COLUMNS[0])


def _those(n: int) -> str:
    return "the one attribute" if n == 1 else f"the {n:,} attributes"
