"""A hint for the curator: bounds that are exactly a lowest or highest value of the rows, and rounder ones."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pandas as pd
import streamlit as st

from dpforest.tables.domain import Domain
from dpforest.tables.features import plural, text
from dpforest.tables.round_bounds import ExactBounds, exact_bounds, with_rounder
from ui.explore import column_groups
from ui.shared import cache, figures, tables
from ui.shared.page import titled
from ui.shared.tables import Table
from ui.shared.wording import plain


@cache.for_session(data=True, max_entries=8)
def _found(key: tuple, _domain: Domain, _columns: pd.DataFrame) -> list[ExactBounds]:
    return exact_bounds(_domain, _columns)


def of(table: Table) -> list[ExactBounds]:
    """Attributes with such bounds; where looking at the rows costs nobody anything, only those that were read."""
    found = _found((table.schema_key, tables.fingerprint(table.domain)), table.domain, table.columns())
    read = {feature.name for feature in table.domain.features if feature.source == "data"}
    return [own for own in found if not table.is_public or own.name in read]


def sentence(found: Sequence[ExactBounds], most: int = 3) -> str:
    """Which bounds, of the first attributes."""
    said = []
    for own in found[:most]:
        ends = ((own.low, own.at_low, "lowest"), (own.high, own.at_high, "highest"))
        hits = [(text(bound), which) for bound, hit, which in ends if hit]
        numbers, which = (" and ".join(words) for words in zip(*hits, strict=True))
        said.append(f"{numbers} {'are' if len(hits) > 1 else 'is'} exactly the {which} value of '{plain(own.name)}'")
    more = f"; so it is with {plural(len(found) - most, 'further attribute')}" if len(found) > most else ""
    return f"{', '.join(said)} in your rows{more}."


def show(table: Table, *, pending: bool) -> None:
    """Such bounds that have a source all the same, what could be written instead, and a button that fills it in.

    Those that have none are asked for (`questionnaire`). Not while other edits wait.
    """
    read = {feature.name for feature in table.domain.features if feature.source == "data"}
    found = [own for own in of(table) if own.name not in read]
    if not found:
        return
    titled(
        "Bounds that are the rows' own",
        "Curator only",
        help="Only you see this hint. It depends on the rows, so nothing of it goes into a certificate.",
    )
    st.markdown(
        "These bounds are exactly the lowest or highest value in your rows. That may be one person's, and publishing "
        "it tells on them: write what everybody could know. The rounder numbers beside them are worked out from your "
        "rows as well, so **still decide by what is known without the rows**: a percentage lies between 0 and 100, an "
        "age between 0 and 120."
    )
    key = f"rounder_{tables.fingerprint(table.domain)[:12]}"
    features = {feature.name: feature for feature in table.domain.features}
    names = [own.name for own in found]
    if len(found) > 1:
        names = column_groups.choose("Attributes to fill in", [features[name] for name in names], key)
    chosen = [own for own in found if own.name in names]
    figures.table(
        pd.DataFrame(
            {
                "attribute": [own.name for own in chosen],
                "bounds now": [_range(own.low, own.high) for own in chosen],
                "rounder": [_range(*own.rounder) for own in chosen],
                "the rows' own": [_which(own) for own in chosen],
            }
        ),
        "Rounder bounds",
        hide_index=True,
        height="auto" if len(chosen) <= 6 else 250,
        alt="Bounds that are a lowest or highest value of the rows, and rounder ones.",
    )
    if st.button(
        f"Fill in {plural(len(chosen), 'rounder range')}",
        key="fill_rounder",
        disabled=pending or not chosen,
        help="They appear in the table above and count as read from the data until you say where they are known from.",
    ):
        rounder = {own.name: own.rounder for own in chosen}
        domain = table.domain
        filled = tuple(with_rounder(f, rounder[f.name]) if f.name in rounder else f for f in domain.features)
        tables.edit(table, replace(domain, features=filled))
        st.rerun()


def _range(low: float, high: float) -> str:
    return f"{text(low)} to {text(high)}"


def _which(own: ExactBounds) -> str:
    return " and ".join(which for which, hit in (("lowest", own.at_low), ("highest", own.at_high)) if hit)
