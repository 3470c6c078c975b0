"""Groups of held-out rows: the categories of a column, or a few bins of its public range.

The ends of the bins depend only on the public range, not on the rows. But the groups show which rows exist, so only the
curator (the data holder) may see them.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final

import numpy as np
import pandas as pd

from dpforest.limits import N_CODES
from dpforest.tables.features import Feature, text

MIN_PERSONS: Final = 50  # groups with fewer held-out persons are pooled into one
OTHERS: Final = "others (groups under 50)"
_N_BINS: Final = 5  # approximate number of bins of a numeric column


@dataclass(frozen=True, eq=False)
class Groups:
    """Group and person of each held-out row.

    Attributes
    ----------
    names : tuple of str
        Names of all groups.
    index : int array of shape (n_test,)
        Group of each row, as an index into `names`.
    persons : int array of shape (n_test,)
        Number that identifies the person of each row, at least 0.
    """

    names: tuple[str, ...]
    index: np.ndarray
    persons: np.ndarray

    @cached_property
    def n_persons(self) -> np.ndarray:
        """Number of persons with a row in each group, int array of shape (n_groups,)."""
        return np.bincount(person_groups(self.index, self.persons)[0], minlength=len(self.names))

    @property
    def are_large(self) -> np.ndarray:
        """Whether each group has at least `MIN_PERSONS` persons, bool array of shape (n_groups,)."""
        return self.n_persons >= MIN_PERSONS

    def pooled(self) -> "Groups":
        """Return the large groups (`MIN_PERSONS`), then one group of all rows of smaller groups if there are any."""
        large = np.flatnonzero(self.are_large)
        new_index = np.full(len(self.names), len(large))
        new_index[large] = np.arange(len(large))
        pooled_name = () if self.are_large[self.index].all() else (OTHERS,)
        return Groups((*(self.names[g] for g in large), *pooled_name), new_index[self.index], self.persons)


def groups_of(feature: Feature, codes: np.ndarray, persons: np.ndarray | None = None) -> Groups:
    """Return the groups of a column: its categories, or a few bins of its public range.

    Small groups are pooled into one (`Groups.pooled`).

    Parameters
    ----------
    feature : Feature
        Public domain of the column.
    codes : uint16 array of shape (n_test,)
        Codes of the cells of this column.
    persons : int array of shape (n_test,), optional
        Number that identifies the person of each row; by default each row belongs to a different person.

    Returns
    -------
    Groups
        Groups of the rows. Missing cells are a separate group, unless the domain reads them as a value.

    Examples
    --------
    >>> age = Feature("age", "numeric", 17, 99, integer=True, source="documented", source_note="the form")
    >>> codes = np.array([age.code(value) for value in (18, 19, 44) for _ in range(60)])
    >>> groups_of(age, codes).names, np.bincount(groups_of(age, codes).index).tolist()
    (('under 20', '30 to 49'), [120, 60])
    """
    persons = np.arange(len(codes)) if persons is None else persons
    if feature.kind == "categorical":
        return Groups(feature.code_labels, codes.astype(np.int64), persons).pooled()
    edges = _edges(feature)
    index = np.searchsorted([feature.code(edge) for edge in edges], codes, side="right")
    names = _bin_names(feature, edges)
    if feature.first_code:
        index, names = np.where(codes < feature.first_code, len(names), index), (*names, "missing")
    return Groups(names, index, persons).pooled()


def groups_by_text(cells: Sequence[object], persons: np.ndarray | None = None) -> Groups:
    """Return the groups of a column without a domain: one group for each text of a cell, and small groups pooled.

    >>> groups_by_text(["b"] * 60 + [1, 1.0, None]).names
    ('b', 'others (groups under 50)')
    """
    texts = ["missing" if cell is None or cell is pd.NA or cell != cell else text(cell) for cell in cells]
    names, index = np.unique(np.array(texts, object), return_inverse=True)
    return Groups(tuple(names), index, np.arange(len(index)) if persons is None else persons).pooled()


def _edges(feature: Feature) -> list[float]:
    """Return the lower ends of all bins but the first.

    The ends divide the codes of the public range into fifths. They are rounded to the smallest number of digits that
    leaves at least three different ends inside the range. If the range has only a few whole numbers, each number starts
    a bin.
    """
    assert feature.low is not None and feature.high is not None
    low, high = feature.low, feature.high
    if feature.integer and high - low <= _N_BINS:
        return [float(value) for value in range(math.floor(low) + 1, math.floor(high) + 1)]
    span = N_CODES - feature.first_code
    fifths = [feature.threshold_value(feature.first_code + span * i // _N_BINS) for i in range(1, _N_BINS)]
    for digits in range(1, 16):
        rounded = {float(f"{value:.{digits - 1}e}") for value in fifths}
        edges = sorted(v for v in {float(round(v)) if feature.integer else v for v in rounded} if low < v < high)
        if len(edges) >= _N_BINS - 2:
            break
    return edges


def _bin_names(feature: Feature, edges: list[float]) -> tuple[str, ...]:
    if not edges:
        return ("all",)
    texts = [f"{edge:,.10g}" for edge in edges]
    if not feature.integer:
        inner = [f"{a} to under {b}" for a, b in zip(texts, texts[1:], strict=False)]
    else:
        tops = [f"{edge - 1:,.10g}" for edge in edges[1:]]
        inner = [a if a == b else f"{a} to {b}" for a, b in zip(texts, tops, strict=False)]
    return (f"under {texts[0]}", *inner, f"{texts[-1]} or more")


def person_groups(index: np.ndarray, persons: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Number all pairs of a group and a person with rows in this group.

    Return the group of each pair, and the pair of each row.
    """
    size = int(persons.max(initial=0)) + 1
    pairs, pair_of_row = np.unique(index * size + persons, return_inverse=True)
    return pairs // size, pair_of_row
