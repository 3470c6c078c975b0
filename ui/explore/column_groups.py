"""Attributes that can be named together: all, those of one kind, those whose names begin alike."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

import streamlit as st

from dpforest.tables.features import Feature

FEWEST: Final = 3  # attributes of a group with a name of its own
MOST: Final = 12  # such groups
ALL, ONE_BY_ONE = "all", "one by one …"

_SEPARATOR = re.compile(r"[ _./-]+|(?<=\D)(?=\d)|(?<=[a-z])(?=[A-Z])")


def groups(features: Sequence[Feature]) -> dict[str, list[str]]:
    """Names of attributes by group; a group that holds the same as a narrower one is left out.

    >>> columns = [Feature(f"word_freq_{w}", "numeric", 0, 1) for w in ("make", "all", "our")]
    >>> columns += [Feature("town", "categorical", categories=("x",)), Feature("word", "numeric", 0, 1)]
    >>> {group: len(names) for group, names in groups(columns).items()}
    {'all': 5, 'numbers': 4, 'categories': 1, 'word_freq_…': 3}
    """
    found = {ALL: [f.name for f in features]}
    for kind, title in (("numeric", "numbers"), ("categorical", "categories")):
        names = [f.name for f in features if f.kind == kind]
        if 0 < len(names) < len(features):
            found[title] = names
    alike: dict[str, list[str]] = {}
    for name in found[ALL]:
        for end in sorted({place.end() for place in _SEPARATOR.finditer(name)} - {0, len(name)}):
            alike.setdefault(name[:end], []).append(name)
    narrowest: dict[tuple[str, ...], str] = {}  # of the same attributes, the longest beginning
    for start, names in alike.items():
        if FEWEST <= len(names) < len(features):
            narrowest[tuple(names)] = max(start, narrowest.get(tuple(names), ""), key=len)
    for members in sorted(narrowest, key=len, reverse=True)[:MOST]:
        found[f"{narrowest[members]}…"] = list(members)
    return found


def choose(label: str, features: Sequence[Feature], key: str) -> list[str]:
    """Names of the attributes that somebody chooses: a group, or one by one."""
    found = groups(features)
    group = st.selectbox(
        label, [*found, ONE_BY_ONE], key=f"{key}_group",
        format_func=lambda g: g if g == ONE_BY_ONE else f"{g} ({len(found[g])})",
    )  # fmt: skip
    if group != ONE_BY_ONE:
        return found[group]
    return st.multiselect("These attributes", found[ALL], key=f"{key}_names", placeholder="Choose attributes")
