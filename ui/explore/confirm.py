"""Sources that the user asserts for parts of a schema: a check of their words, and the sources after an edit."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Sequence
from typing import Final

from dpforest.tables.domain import DomainError, Feature
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

FEWEST_WORDS, FEWEST_LETTERS = 3, 6
EXAMPLE: Final = "the questionnaire, page 2"
READ: Final = "read from the data"

_FROM_THE_DATA: Final = re.compile(r"from the data\b(?! (dictionary|sheet|description|documentation|protocol))")
_WORD = re.compile(r"[\u0e00-\u0eff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]|[^\W\d_]+")  # some scripts have no spaces


# Words that describe values from the rows, which have no public source. The check prevents mistakes, not lies.
_ROWS_THEMSELVES: Final = {"guess", "guessed", "guessing", "min", "max", "minimum", "maximum", "dunno"}


def is_source(words: str) -> bool:
    """Return whether words can name a source: at least three different words, and no word that stands for the rows.

    >>> [is_source(words) for words in ("yes", "ok ok ok", "asdf", "page 2", "1 2 3", "a b c")]
    [False, False, False, False, False, False]
    >>> [is_source(words) for words in ("read from the data", "the min and max of it", "I just guessed this")]
    [False, False, False]
    >>> is_source("the questionnaire, page 2"), is_source("研究計画書、第2章")
    (True, True)
    >>> is_source("from the data dictionary, page 3")
    True
    """
    words = "".join(sign for sign in words if unicodedata.category(sign) != "Cf")  # drop invisible characters
    different = {word.casefold() for word in _WORD.findall(words)}
    if different & _ROWS_THEMSELVES or _FROM_THE_DATA.search(" ".join(words.casefold().split())):
        return False
    return len(different) >= FEWEST_WORDS and sum(map(len, different)) >= FEWEST_LETTERS


def check_source(words: str, what: str) -> None:
    """Raise DomainError unless the words can name a source."""
    if not is_source(words):
        problem = f"{words.strip()!r} does not say" if words.strip() else "It does not say"
        raise DomainError(
            f"{problem} where {what} known from. A source has at least three words, such as “{EXAMPLE}”. The "
            "certificate quotes your words."
        )


def state(feature: Feature) -> str:
    """Describe the sources of the parts of an attribute, for its row of the editor."""
    by_part = sources(feature)
    of_values = next(iter(by_part.values()))[0]
    read = [what for what, (source, _) in by_part.items() if source == "data"]
    if of_values == "data":
        return READ
    origin = {"documented": "documented", "asserted": "asserted by you"}[of_values]
    words = {TYPE: "type", MISSING: "missing cells"}
    return origin if not read else f"{origin}; {' and '.join(words[what] for what in read)} {READ}"


def edited_sources(old: Feature, new: Feature, changed: Collection[str], note: str) -> Feature:
    """Return the edited attribute with the sources of its parts.

    New words for the source apply to the whole row of the editor. They assert each part that was changed, that has no
    source, or that has the same source as the values. Without new words, a changed part with a document as its source
    counts as read from the data, because the document does not state the new value.

    Parameters
    ----------
    old, new : Feature
        The attribute before the edit, and the attribute with the edited values and the sources of `old`.
    changed : collection of str
        Columns of the editor that the user changed.
    note : str
        Words in the editor's column for the source. Empty if the user cleared them.
    """
    by_part = sources(old)
    of_values: Source = next(iter(by_part.values()))
    columns = {
        BOUNDS: {"lowest", "highest", "values"},
        CATEGORIES: {"lowest", "highest", "values"},
        TYPE: {"whole"},
        MISSING: {"missing"},
    }
    has_new_words = "where this is known from" in changed
    if unknown := set(changed) - {"use", "where this is known from"}.union(*columns.values()):
        raise ValueError(f"the columns {unknown} belong to no part of an attribute")
    changes: dict[str, Source] = {}
    for what, source in by_part.items():
        is_changed = bool(columns[what] & set(changed))
        if has_new_words and (is_changed or source[0] == "data" or source == of_values):
            changes[what] = ("asserted", note) if note else ("data", "")
        elif is_changed and source[0] != "asserted":
            changes[what] = ("data", "")
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
            clauses.append(f"{words} of {plural(n, 'attribute')}")
    whole = {CLASSES: "the classes", READING: "how the file is written", COLUMNS: "which columns are used"}
    clauses += [words for what, words in whole.items() if any(part.what == what for part in parts)]
    return clauses[0] if len(clauses) == 1 else f"{', '.join(clauses[:-1])} and {clauses[-1]}"
