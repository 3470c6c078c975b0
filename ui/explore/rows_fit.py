"""How the rows fit the public domain: cells and labels outside the domain, and the public rule that replaces them."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from dpforest.tables.domain import Domain, DomainError
from dpforest.tables.features import Feature, plural, text
from ui.shared import cache, figures, tables
from ui.shared.page import sorry, titled
from ui.shared.tables import Table
from ui.shared.wording import plain

COLUMNS = ("column", "what", "cells", "read as")


def out_of_domain(domain: Domain, columns: pd.DataFrame, labels: pd.Series) -> tuple[pd.DataFrame, int]:
    """Return a data frame of cells outside the domain, and the number of rows without a listed label.

    The data frame has a row for each attribute and each problem with its cells. Missing cells are a problem, too.
    """
    rows = [
        (feature.name, what, int(n), _read_as(feature, what))
        for feature, counts in zip(domain.features, domain.report(columns).itertuples(index=False), strict=True)
        for what, n in zip(_problems(feature), counts, strict=True)
        if n
    ]
    return pd.DataFrame(rows, columns=COLUMNS), int((domain.listed_labels(labels) < 0).sum())


def all_beyond(cells: pd.DataFrame, n_rows: int) -> list[str]:
    """Return the names of the attributes all of whose numbers are outside their bounds.

    `cells` is the data frame that `out_of_domain` returns.
    """
    names = []
    for name, rows in cells.groupby("column", sort=False):
        counts = rows.set_index("what")["cells"]
        n_beyond = counts.get("beyond the bounds", 0)
        if n_beyond and n_beyond == n_rows - counts.get("no number", 0) - counts.get("missing", 0):
            names.append(str(name))
    return names


@cache.for_session(data=True, max_entries=8)
def _out_of_domain(key: tuple, _table: Table) -> tuple[pd.DataFrame, int]:
    return out_of_domain(_table.domain, _table.columns(), _table.frame[_table.label])


def _problems(feature: Feature) -> tuple[str, str, str]:
    """Return a name for each of the three counts of `Domain.report`: clipped, unlisted and missing cells."""
    if feature.kind == "categorical":
        return "", "not listed", "missing"
    return "beyond the bounds", "no number", "missing"


def _read_as(feature: Feature, what: str) -> str:
    """Return what a fit reads in place of a cell with the problem `what`."""
    if what == "beyond the bounds":
        return "the nearest bound"
    if feature.missing == "category":
        return "a separate value"
    if feature.missing == "value":
        return text(feature.missing_value)
    return text(feature.low) if feature.kind == "numeric" else feature.categories[0]


def show(table: Table) -> None:
    """Show the number of cells that are missing or outside the domain, and the values that every fit reads instead."""
    titled(
        "How the rows fit",
        "Do not share",
        help="Every forest reads each cell by one public rule, whatever the other rows hold. A number beyond its "
        "bounds counts as the bound. A cell that does not fit counts as missing or, if the schema says that no cell is "
        "missing, as the lower bound or the first category. A cell that does not fit causes no error, "
        "because an error would reveal something about a row. A row whose label is not listed is left out.",
    )
    try:
        cells, left_out = _out_of_domain((table.schema_key, tables.fingerprint(table.domain)), table)
    except (DomainError, KeyError) as problem:
        sorry(problem)
        return
    n = len(table.frame)
    if left_out:
        have = "has no label that is listed and is" if left_out == 1 else "have no label that is listed and are"
        st.markdown(
            f"**{plural(left_out, 'row')} of {n:,} {have} left out** of figures and releases: "
            f"{plain(table.label)} is empty there, or is none of the classes above."
        )
    if cells.empty:
        st.markdown(f"All cells of all {plural(n, 'row')} lie within the domain, and none is missing.")
        return
    if names := all_beyond(cells, n):
        listed = ", ".join(plain(name, 40) for name in names)
        st.warning(
            f"All numbers of {listed} lie beyond {'its' if len(names) == 1 else 'their'} bounds, so each of them is "
            "read as a bound. Check the bounds in the table above.",
            icon=":material/warning:",
        )
    total = int(cells["cells"].sum())
    st.markdown(
        f"{total:,} of {plural(n * table.domain.n_features, 'cell')} {'is' if total == 1 else 'are'} missing, not "
        f"listed or beyond the bounds. The public rule replaces {'it' if total == 1 else 'them'}:"
    )
    figures.table(
        cells,
        "How the rows fit",
        hide_index=True,
        alt="Cells that are missing, not listed or beyond the bounds, by column, and what they are read as.",
    )
