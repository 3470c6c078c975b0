"""A hint for the curator: some bounds equal the lowest or highest value of the rows, and rounder bounds are offered.

Such a bound may have been copied from a private row.
"""

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

MOST_NAMED = 3  # largest number of attributes that the sentence names


@cache.for_session(data=True, max_entries=8)
def _exact_bounds(key: tuple, _domain: Domain, _columns: pd.DataFrame) -> list[ExactBounds]:
    return exact_bounds(_domain, _columns)


def exact_bounds_of(table: Table) -> list[ExactBounds]:
    """Return the bounds that equal the lowest or highest value of the rows.

    If the table is public, the list has only bounds that were read from its rows.
    """
    exact = _exact_bounds((table.schema_key, tables.fingerprint(table.domain)), table.domain, table.columns())
    read = {feature.name for feature in table.domain.features if feature.source == "data"}
    return [bounds for bounds in exact if not table.is_public or bounds.name in read]


def sentence(exact: Sequence[ExactBounds]) -> str:
    """Return a sentence that names these bounds, for the first `MOST_NAMED` attributes."""
    clauses = []
    for bounds in exact[:MOST_NAMED]:
        ends = ((bounds.low, bounds.at_low, "lowest"), (bounds.high, bounds.at_high, "highest"))
        exact_ends = [(text(bound), which) for bound, is_exact, which in ends if is_exact]
        numbers, which = (" and ".join(words) for words in zip(*exact_ends, strict=True))
        verb = "are" if len(exact_ends) > 1 else "is"
        clauses.append(f"{numbers} {verb} exactly the {which} value of '{plain(bounds.name)}'")
    more = (
        f"; the same holds for {plural(len(exact) - MOST_NAMED, 'further column')}" if len(exact) > MOST_NAMED else ""
    )
    return f"{', '.join(clauses)} in your rows{more}."


def show(table: Table, *, pending: bool) -> None:
    """Show bounds that have a source but equal a value of the rows, and a button that fills in rounder bounds.

    Bounds without a source are left out, because the cards of the Data tab (`desk.py`) ask about them.

    Parameters
    ----------
    pending : bool
        Whether the user has edits that are not applied yet. Then the button is disabled, because a click would drop
        these edits.
    """
    read = {feature.name for feature in table.domain.features if feature.source == "data"}
    exact = [bounds for bounds in exact_bounds_of(table) if bounds.name not in read]
    if not exact:
        return
    titled(
        "Bounds that are exactly a value of your rows",
        "Do not share",
        help="Only you see this hint. It depends on the rows, so no certificate contains it.",
    )
    st.markdown(
        "These bounds are exactly the lowest or highest value in your rows. That value may belong to one person, and "
        "publishing it reveals it. Write bounds that everybody could know. The rounder numbers next to them are also "
        "computed from your rows, so **decide by what is known without the rows**: a percentage lies between 0 and "
        "100, an age between 0 and 120."
    )
    key = f"rounder_{tables.fingerprint(table.domain)[:12]}"
    features = {feature.name: feature for feature in table.domain.features}
    names = [bounds.name for bounds in exact]
    if len(exact) > 1:
        names = column_groups.choose("Columns to fill in", [features[name] for name in names], key)
    chosen = [bounds for bounds in exact if bounds.name in names]
    figures.table(
        pd.DataFrame(
            {
                "column": [bounds.name for bounds in chosen],
                "bounds now": [_range(bounds.low, bounds.high) for bounds in chosen],
                "rounder": [_range(*bounds.rounder) for bounds in chosen],
                "exactly in the rows": [_ends_in_rows(bounds) for bounds in chosen],
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
        help="They appear in the table above and count as read from the data until you say how everybody knows them.",
    ):
        rounder = {bounds.name: bounds.rounder for bounds in chosen}
        domain = table.domain
        filled = tuple(with_rounder(f, rounder[f.name]) if f.name in rounder else f for f in domain.features)
        tables.edit(table, replace(domain, features=filled))
        st.rerun()


def _range(low: float, high: float) -> str:
    return f"{text(low)} to {text(high)}"


def _ends_in_rows(bounds: ExactBounds) -> str:
    return " and ".join(end for end, is_exact in (("lowest", bounds.at_low), ("highest", bounds.at_high)) if is_exact)
