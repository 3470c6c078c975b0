"""Messages about values that look alike but differ, and about classes that only one row has."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Sequence

import numpy as np
import pandas as pd
import streamlit as st

from dpforest.tables.features import plural, text
from ui.explore.card_parts import proposal_of
from ui.shared.tables import Table
from ui.shared.wording import plain

_SHOWN = 3  # largest number of values, groups or messages that are listed


def show(table: Table) -> None:
    """Show a message about look-alike values and one about rare classes, each only if there are any."""
    domain = table.domain
    lists = [("Classes", _without_spellings(table, domain.label, domain.classes))]
    lists += [
        (f"Values of “{plain(f.name, 30)}”", _without_spellings(table, f.column, f.categories))
        for f in domain.features
        if f.kind == "categorical"
    ]
    messages = [
        f"{what} that look alike: {_listed(groups)}." for what, values in lists if (groups := look_alike(values))
    ]
    if messages:
        more = f" And in {len(messages) - _SHOWN} more columns." if messages[_SHOWN:] else ""
        st.info(
            f"{' '.join(messages[:_SHOWN])}{more} They count as different values: they differ in capitals, spaces, "
            "invisible characters, or in how a letter is encoded. If they mean the same, list them as spellings on "
            "their card, or correct the file.",
            icon=":material/info:",
        )
    if rare := of_one_row(table):
        named = ", ".join(f"“{plain(text(label), 30)}”" for label in rare[:_SHOWN])
        sentence = f"Only one row has the class {named}. No forest can learn it, and it is"
        if len(rare) > 1:
            more_classes = " and others" if rare[_SHOWN:] else ""
            sentence = (
                f"The classes {named}{more_classes} have one row each. No forest can learn them, and each such row is"
            )
        st.info(
            f"{sentence} either among the training rows or among the held-out rows. Is it a typing error?",
            icon=":material/info:",
        )


def _without_spellings(table: Table, column: str, values: Sequence[object]) -> list[object]:
    """Return the values that the card of a column does not propose as spellings of other values."""
    if not look_alike(values):
        return []
    spellings = {spelling for spelling, _ in proposal_of(table, column).spellings}
    return [value for value in values if text(value) not in spellings]


def look_alike(values: Iterable[object]) -> list[tuple[str, ...]]:
    r"""Return groups of values that a reader may take for the same value.

    >>> look_alike(["Yes", "yes ", "no", "1"]), len(look_alike(["caf\u00e9", "cafe\u0301", "cafe"]))
    ([('Yes', 'yes ')], 1)
    """
    groups: dict[str, list[str]] = {}
    for value in values:
        visible = "".join(c for c in unicodedata.normalize("NFKC", text(value)) if unicodedata.category(c) != "Cf")
        groups.setdefault(" ".join(visible.casefold().split()), []).append(text(value))
    return [tuple(group) for group in groups.values() if len(group) > 1]


def of_one_row(table: Table) -> list[object]:
    """Return the classes that exactly one row has."""
    index = table.domain.listed_labels(pd.Series(table.frame[table.label]))
    counts = np.bincount(index[index >= 0], minlength=table.domain.n_classes)
    return [label for label, n in zip(table.domain.classes, counts, strict=True) if n == 1]


def _listed(groups: Sequence[tuple[str, ...]]) -> str:
    named = [" and ".join(f"“{plain(value, 30)}”" for value in group) for group in groups[:_SHOWN]]
    more = f", and {plural(len(groups) - _SHOWN, 'more group')}" if groups[_SHOWN:] else ""
    return "; ".join(named) + more
