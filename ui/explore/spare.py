"""Unused columns of an upload: ids, dates, constants, and columns that the user leaves out.

This module does not use Streamlit.
"""

from __future__ import annotations

from dpforest.tables.domain import Domain, DomainError
from dpforest.tables.features import Feature
from ui.shared.tables import Table


def spare(table: Table) -> list[Feature]:
    """Return the unused columns of an upload as attributes with values from the rows. A bundled table has none."""
    if table.csv is None:
        return []
    features = []
    for column in table.csv.columns:
        if column.name in table.domain.columns or column.name == table.label:
            continue
        try:
            features.append(Domain.infer(table.frame[[column.name]]).features[0])
        except DomainError:
            features.append(Feature(column.name, "categorical", categories=("(too many to list)",), missing="category"))
    return features
