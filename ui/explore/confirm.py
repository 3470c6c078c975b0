"""Sources of the parts of a domain: the sources after an edit by the user, and summaries of the sources in words.

A source states how everybody can know a part, such as the bounds of an attribute, without seeing the rows.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Final

from dpforest.tables.domain import Feature
from dpforest.tables.features import plural
from dpforest.tables.read_parts import (
    BOUNDS,
    CATEGORIES,
    CLASSES,
    COLUMNS,
    MISSING,
    READING,
    TYPE,
    Part,
    Source,
    sources,
    with_sources,
)

READ: Final = "read from the data"
HOW_KNOWN: Final = "how everybody knows this"  # column of the editor in which the user states the source


def sources_in_words(feature: Feature) -> str:
    """Describe the sources of the parts of an attribute, for the attribute's row of the editor."""
    by_part = sources(feature)
    source_of_values = next(iter(by_part.values()))[0]
    parts_from_data = [part for part, (source, _) in by_part.items() if source == "data"]
    if source_of_values == "data":
        return READ
    origin = {"documented": "documented", "asserted": "asserted by you"}[source_of_values]
    words = {TYPE: "type", MISSING: "missing cells"}
    if not parts_from_data:
        return origin
    return f"{origin}; {' and '.join(words[part] for part in parts_from_data)} {READ}"


def edited_sources(old: Feature, new: Feature, changed: Collection[str], note: str) -> Feature:
    """Return the edited attribute with the sources of its parts.

    New words for the source apply to the whole row of the editor. They become the source of each part that was changed,
    that was read from the data, or that has the same source as the values. Without new words, a changed part whose
    source is a document counts as read from the data, because the document does not state the new value.

    Parameters
    ----------
    old, new : Feature
        The attribute before the edit, and the attribute with the edited values and the sources of `old`.
    changed : collection of str
        Columns of the editor that the user changed.
    note : str
        Words in the editor's column for the source. If the user cleared them, the parts count as read from the data.
    """
    by_part = sources(old)
    source_of_values: Source = next(iter(by_part.values()))
    columns = {
        BOUNDS: {"lowest", "highest", "values"},
        CATEGORIES: {"lowest", "highest", "values"},
        TYPE: {"whole"},
        MISSING: {"missing"},
    }
    has_new_words = HOW_KNOWN in changed
    if unknown := set(changed) - {"use", HOW_KNOWN}.union(*columns.values()):
        raise ValueError(f"the columns {unknown} belong to no part of an attribute")
    changes: dict[str, Source] = {}
    for part, source in by_part.items():
        is_changed = bool(columns[part] & set(changed))
        if has_new_words and (is_changed or source[0] == "data" or source == source_of_values):
            changes[part] = ("asserted", note) if note else ("data", "")
        elif is_changed and source[0] != "asserted":
            changes[part] = ("data", "")
    return with_sources(new, changes)


def summary(parts: Sequence[Part]) -> str:
    """Return a phrase that lists what was read from the rows."""
    clauses = []
    for what, words in (
        (BOUNDS, "the bounds"),
        (CATEGORIES, "the categories"),
        (TYPE, "the types"),
        (MISSING, "the rules for missing cells"),
    ):
        if n := sum(part.what == what for part in parts):
            clauses.append(f"{words} of {plural(n, 'column')}")
    whole = {CLASSES: "the classes", READING: "how the file is written", COLUMNS: "which columns are used"}
    clauses += [words for what, words in whole.items() if any(part.what == what for part in parts)]
    return clauses[0] if len(clauses) == 1 else f"{', '.join(clauses[:-1])} and {clauses[-1]}"
