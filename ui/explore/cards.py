"""The cards of the Data tab. Each card is about one column of an upload, or about columns with similar names.

A column is open until the user confirms each part of it that was read from the rows. This module does not use
Streamlit.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import pandas as pd

from dpforest.tables import column_kinds
from dpforest.tables.column_kinds import ColumnProposal, propose_kind
from dpforest.tables.csv_table import CsvTable
from dpforest.tables.domain import Domain
from dpforest.tables.features import Feature, text
from dpforest.tables.read_parts import TABLE_PARTS, read_parts
from dpforest.tables.reading_rules import Spellings
from ui.explore.column_groups import groups_by_beginning

NUMBER, CATEGORY, DATE, LEFT_OUT = "number", "category", "date", "left out"
KINDS: Final = (NUMBER, CATEGORY, DATE, LEFT_OUT)
OPEN, READY, UNUSED = "open", "ready", "left out"
NUMBERS, LISTS, TABLE = "numbers", "lists", "table"  # ids of the cards about many columns, and about the whole table
RARE: Final = 10  # a value is rare if fewer rows than this have it
_WORDS_OF_REMARKS: Final = 3  # texts with at least this many words on average may be remarks
_PERSONAL: Final = re.compile(r"@|(\d[ /-]?){5}")  # an e-mail address, or a long number such as a telephone number
_KIND_OF: Final = {
    column_kinds.NUMBER: NUMBER,
    column_kinds.NUMBER_WITH_WORDS: NUMBER,
    column_kinds.DATE: DATE,
    column_kinds.CATEGORY: CATEGORY,
}


@dataclass(frozen=True)
class Card:
    """A card about one column, or about several number columns whose names have the same beginning.

    Parameters
    ----------
    title : str
        Name of the column, or the common beginning of the names.
    columns : tuple of str
        Names of the columns.
    state : {"open", "ready", "left out"}
        State of the columns. They are "open" while the user must confirm a part that was read from the rows, and
        "ready" when each part has a source. No forest learns from columns that are "left out".
    """

    title: str
    columns: tuple[str, ...]
    state: str

    @property
    def id(self) -> str:
        """Text that identifies the card among all cards of a table."""
        return f"column {self.title}" if len(self.columns) == 1 else f"columns {self.title}"


def cards(columns: Sequence[str], domain: Domain, one_by_one: Collection[str] = ()) -> list[Card]:
    """Return the cards of the columns, in the order of the columns.

    Open number columns whose names have the same beginning share a card. If the title of such a card is in
    `one_by_one`, each of its columns has a card instead.

    >>> x = tuple(Feature(f"x{i}", "numeric", 0, 1) for i in range(3))
    >>> town = Feature("town", "categorical", categories=("Ulm",), source="documented", source_note="a map")
    >>> cards(["town", "x0", "x1", "x2", "id"], Domain((town, *x)))
    [Card(title='town', columns=('town',), state='ready'), \
Card(title='x…', columns=('x0', 'x1', 'x2'), state='open'), Card(title='id', columns=('id',), state='left out')]
    """
    state = {name: state_of(domain, name) for name in columns}
    open_numbers = [f.name for f in domain.features if f.kind == "numeric" and f.date is None and f.leaks()]
    group_of: dict[str, str] = {}
    for title, names in groups_by_beginning(open_numbers, all_of_them=True).items():
        if title not in one_by_one and not any(name in group_of for name in names):
            group_of |= dict.fromkeys(names, title)
    result: dict[str, Card] = {}
    for name in columns:
        title = group_of.get(name, name)
        members = tuple(other for other, group in group_of.items() if group == title) if name in group_of else (name,)
        card = Card(title, members, state[name])
        result.setdefault(card.id, card)
    return list(result.values())


def state_of(domain: Domain, column: str) -> str:
    """Return whether a column is open, ready or left out."""
    features = features_of(domain, column)
    if not features:
        return UNUSED
    return OPEN if any(feature.leaks() for feature in features) else READY


def features_of(domain: Domain, column: str) -> list[Feature]:
    """Return the attributes that are read from a column: several for a date, none for a column that is left out."""
    return [feature for feature in domain.features if feature.column == column]


def open_parts_of_table(domain: Domain) -> set[str]:
    """Return the parts of the whole table that were read from the rows, among "classes", "reading" and "columns"."""
    return {part.what for part in read_parts(domain) if part.what in TABLE_PARTS}


def propose(csv: CsvTable, column: str) -> ColumnProposal:
    """Propose what a column of the file holds. Only the curator may see the proposal, because it uses all rows."""
    return propose_kind(csv.cells.column(column), csv.reading.decimal_of(column))


def first_kind(proposal: ColumnProposal, features: Sequence[Feature]) -> str:
    """Return the kind that a card starts with: the proposed kind if the column is open, else the current kind."""
    if not features or not any(feature.leaks() for feature in features):
        return kind_of(features)
    return _KIND_OF.get(proposal.kind, LEFT_OUT)


def kind_of(features: Sequence[Feature]) -> str:
    """Return the kind of the attributes of one column."""
    if not features:
        return LEFT_OUT
    if features[0].date is not None:
        return DATE
    return NUMBER if features[0].kind == "numeric" else CATEGORY


def values_of(cells: pd.Series) -> Mapping[str, int]:
    """Return the number of rows of each value, sorted by value. Only the curator may see these numbers.

    >>> dict(values_of(pd.Series([2.0, 1.0, None, 1.0])))
    {'1': 2, '2': 1}
    """
    counts: dict[str, int] = {}
    for value, n in cells.value_counts().items():
        counts[text(value)] = counts.get(text(value), 0) + int(n)
    if pd.api.types.is_numeric_dtype(cells.dtype):
        return dict(sorted(counts.items(), key=lambda item: float(item[0])))
    return dict(sorted(counts.items()))


def rare_values(values: Mapping[str, int]) -> list[str]:
    """Return the values that fewer than `RARE` rows have, the rarest first.

    >>> rare_values({"a": 50, "b": 3, "c": 1})
    ['c', 'b']
    """
    return [value for value, n in sorted(values.items(), key=lambda item: item[1]) if n < RARE]


def frequent_texts(texts: Sequence[str], values: Mapping[str, int]) -> list[str]:
    """Return the texts that at least `RARE` rows have. A card preselects only these texts.

    >>> frequent_texts(["k.A.", "Kuru"], {"k.A.": 50, "Kuru": 1})
    ['k.A.']
    """
    return [each for each in texts if values.get(each, 0) >= RARE]


def frequent_signs(signs: Sequence[str], values: Mapping[str, int]) -> list[str]:
    """Return the signs that occur in the cells of at least `RARE` rows.

    >>> frequent_signs(["%", "€"], {"5 %": 40, "7 €": 1})
    ['%']
    """
    return [sign for sign in signs if sum(n for value, n in values.items() if sign in value) >= RARE]


def may_be_remarks(values: Collection[str]) -> bool:
    """Return whether texts may be remarks, which can name a person, instead of values from a list.

    They may be if one of them has an "@" or a run of five digits, or if they have at least three words on average.

    >>> may_be_remarks(["child is afraid", "call the mother: 0171 234567"]), may_be_remarks(["never married", "widow"])
    (True, False)
    """
    texts = list(values)
    n_words = sum(len(value.split()) for value in texts)
    return n_words >= _WORDS_OF_REMARKS * len(texts) > 0 or any(map(_PERSONAL.search, texts))


def frequent_values(values: Mapping[str, int], spellings: Spellings = ()) -> list[str]:
    """Return the values that at least `RARE` rows have, without the spellings that stand for another value.

    >>> frequent_values({"yes": 50, "YES": 12, "Kuru": 1}, (("YES", "yes"),))
    ['yes']
    """
    spelled = {spelling for spelling, _ in spellings}
    return [value for value, n in values.items() if n >= RARE and value not in spelled]
