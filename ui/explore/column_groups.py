"""Groups of attributes to choose together: all attributes, attributes of one kind, or attributes with similar names."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

import streamlit as st

from dpforest.tables.features import Feature
from ui import state
from ui.shared.controls import drop_list_with_unknown, drop_unknown

MIN_GROUP_SIZE: Final = 3  # smallest number of names with the same beginning that form a group
MOST: Final = 12  # largest number of groups of names with the same beginning
ALL, ONE_BY_ONE = "all", "one by one …"

_SEPARATOR = re.compile(r"[ _./-]+|(?<=\D)(?=\d)|(?<=[a-z])(?=[A-Z])")


def groups(features: Sequence[Feature]) -> dict[str, list[str]]:
    """Return the names of attributes by group. A kind that all attributes have forms no group.

    >>> columns = [Feature(f"word_freq_{w}", "numeric", 0, 1) for w in ("make", "all", "our")]
    >>> columns += [Feature("town", "categorical", categories=("x",)), Feature("word", "numeric", 0, 1)]
    >>> {group: len(names) for group, names in groups(columns).items()}
    {'all': 5, 'numbers': 4, 'categories': 1, 'word_freq_…': 3}
    """
    by_group = {ALL: [f.name for f in features]}
    for kind, title in (("numeric", "numbers"), ("categorical", "categories")):
        names = [f.name for f in features if f.kind == kind]
        if 0 < len(names) < len(features):
            by_group[title] = names
    return by_group | groups_by_beginning(by_group[ALL])


def groups_by_beginning(names: Sequence[str], *, all_of_them: bool = False) -> dict[str, list[str]]:
    """Group names by their beginning, the largest group first. Its key is the longest common beginning.

    A beginning that all names share forms a group only with `all_of_them`.

    >>> groups_by_beginning(["x1", "x2", "x3"]), groups_by_beginning(["x1", "x2", "x3"], all_of_them=True)
    ({}, {'x…': ['x1', 'x2', 'x3']})
    """
    by_start: dict[str, list[str]] = {}
    for name in names:
        for end in sorted({match.end() for match in _SEPARATOR.finditer(name)} - {0, len(name)}):
            by_start.setdefault(name[:end], []).append(name)
    longest: dict[tuple[str, ...], str] = {}
    for start, members in by_start.items():
        if len(members) >= MIN_GROUP_SIZE and (all_of_them or len(members) < len(names)):
            longest[tuple(members)] = max(start, longest.get(tuple(members), ""), key=len)
    largest = sorted(longest, key=len, reverse=True)[:MOST]
    return {f"{longest[members]}…": list(members) for members in largest}


def choose(label: str, features: Sequence[Feature], key: str) -> list[str]:
    """Ask for attributes, as a group or one by one, and return the names of the chosen attributes."""
    by_group = groups(features)
    choices = [*by_group, ONE_BY_ONE]
    drop_unknown(state.COLUMN_GROUP(key), choices)
    group = st.selectbox(
        label,
        choices,
        key=state.COLUMN_GROUP(key),
        format_func=lambda g: g if g == ONE_BY_ONE else f"{g} ({len(by_group[g])})",
    )
    if group != ONE_BY_ONE:
        return by_group[group]
    return one_by_one(by_group[ALL], key)


def one_by_one(names: list[str], key: str) -> list[str]:
    """Ask for names one by one, and return the chosen names."""
    key = state.COLUMN_NAMES(key)
    drop_list_with_unknown(key, names)
    return st.multiselect("These columns", names, key=key, placeholder="Choose columns")
