"""The unit of privacy: which rows belong to one person, and how much each row weighs.

A domain may name a column of identifiers (`Domain.unit`). Then all rows with the same identifier belong to one person,
and each person counts as much as one row without a unit. At most `MOST_ROWS` rows of a person are kept. If a person has
r kept rows, each of these rows has the weight floor(1024 / r). So all rows of a person together weigh at most 1024,
which is the weight of a person with one row. The choice of a person's kept rows and their weights depend on the rows of
this person alone (docs/PRIVACY.md).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import pandas as pd

from dpforest.tables.cells import as_array, cell_text, column_of_list, factorize
from dpforest.tables.features import DomainError
from dpforest.tables.out_of_domain import OutOfDomain, OutOfDomainCells

UNIT_WEIGHT: Final = 1_024  # largest total weight of a person's rows
MOST_ROWS: Final = 256  # largest number of kept rows of a person


@dataclass(frozen=True, eq=False)
class Units:
    """The person of each kept row of a table, and the weight of this row; for the curator (the data holder) only.

    Parameters
    ----------
    index : int64 array of shape (n,)
        Number of the person, from 0 to ``n_units - 1``.
    weight : int64 array of shape (n,)
        Weight of the row, from 4 to 1024. The rows of one person together weigh at most 1024.
    n_units : int
        Number of persons with an identifier, including persons without a kept row.
    places : int64 array of shape (n,)
        Index of the row among all rows of the table, or of the part of the table that was read.
    """

    index: np.ndarray
    weight: np.ndarray
    n_units: int
    places: np.ndarray

    def of_rows(self, rows: np.ndarray) -> Units:
        """Return the persons and weights of some rows, with new numbers for these persons, from 0 on."""
        persons, index = np.unique(self.index[rows], return_inverse=True)
        return Units(index.reshape(-1), self.weight[rows], len(persons), self.places[rows])


class UnitRegistry:
    """The persons of a table that is read in parts; for the curator only.

    The weight of a row depends on the number of rows of its person. So `count` must see every part before `read` sees
    the first part.

    Examples
    --------
    >>> registry = UnitRegistry()
    >>> listed = np.ones(4, bool)
    >>> registry.count(["a", "b", "a", None], listed)
    >>> units, ids = registry.read(["a", "b", "a", None], listed)
    >>> units.places.tolist(), units.index.tolist(), units.weight.tolist(), units.n_units
    ([0, 1, 2], [0, 1, 0], [512, 1024, 512], 2)
    """

    def __init__(self) -> None:
        self._number: dict[str, int] = {}  # number of each person, by identifier
        self._n_rows = np.zeros(0, np.int64)  # number of rows whose label is listed, for each person
        self._n_read = np.zeros(0, np.int64)  # number of these rows that `read` has seen, for each person

    @property
    def n_units(self) -> int:
        """Number of persons with an identifier."""
        return len(self._number)

    def count(self, identifiers: Any, listed: np.ndarray) -> None:
        """Count the rows of a part.

        Parameters
        ----------
        identifiers : array or list of shape (n,)
            Cells of the unit's column. They are compared as texts. A row without an identifier belongs to no person.
        listed : bool array of shape (n,)
            Whether the label of each row is one of the domain's classes. Rows with other labels are not counted.
        """
        number = self._numbers(identifiers)
        n_rows = np.bincount(number[(number >= 0) & listed], minlength=self.n_units)
        n_rows[: len(self._n_rows)] += self._n_rows
        self._n_rows = n_rows
        self.restart()

    def restart(self) -> None:
        """Prepare to read all parts again, from the first part on."""
        self._n_read = np.zeros(self.n_units, np.int64)

    def read(
        self, identifiers: Any, listed: np.ndarray, out_of_domain: OutOfDomainCells | None = None, name: str = ""
    ) -> tuple[Units, np.ndarray]:
        """Choose which rows of a part are kept, and weigh these rows. Parts must come in the same order as in `count`.

        Parameters
        ----------
        identifiers, listed
            As in `count`.
        out_of_domain : OutOfDomainCells, optional
            Object that counts the rows that are left out.
        name : str
            Name of the unit's column, under which `out_of_domain` counts.

        Returns
        -------
        units : Units
            The kept rows, with their persons and weights.
        ids : int64 array of shape (k,)
            Hash of each kept row's identifier, on which the draws of a demonstration (a fit with a seed) depend.
        """
        number = self._numbers(identifiers)
        usable = np.flatnonzero((number >= 0) & listed)
        person = number[usable]
        rank = _rank(person) + self._n_read[person]
        self._n_read += np.bincount(person, minlength=self.n_units)
        n_rows = self._n_rows[person]
        chosen = _is_kept(rank, n_rows)
        if out_of_domain is not None:
            out_of_domain.add(name, OutOfDomain.NO_UNIT, int((number < 0).sum()))
            out_of_domain.add(name, OutOfDomain.OVER_ROW_LIMIT, len(usable) - int(chosen.sum()))
        weight = UNIT_WEIGHT // np.minimum(n_rows[chosen], MOST_ROWS)
        units = Units(person[chosen], weight, self.n_units, usable[chosen])
        return units, self.ids()[units.index]

    def _numbers(self, identifiers: Any) -> np.ndarray:
        """Return the number of each row's person, and number new persons; -1 for a row without an identifier."""
        codes, values = factorize(identifiers if hasattr(identifiers, "iloc") else as_array(identifiers))
        codes = np.asarray(codes, np.int64)
        number = np.full(len(values) + 1, -1, np.int64)
        for code in np.unique(codes[codes >= 0]).tolist():  # a categorical column may list values that no row has
            number[code] = self._number.setdefault(cell_text(values[code]), len(self._number))
        return number[codes]

    def ids(self) -> np.ndarray:
        """Return a stable hash of each person's identifier, int64 (n_units,)."""
        # The hash uses bytes, because a text with half of a surrogate pair would raise an error, which would reveal
        # this text.
        texts = [identifier.encode("utf-8", "surrogatepass") for identifier in self._number]
        return pd.util.hash_array(np.array([*texts, b""], dtype=object)[:-1], categorize=False).view(np.int64)


def identifiers_of(unit: str | None, X: Any, groups: Any) -> Any:
    """Return the cells of the unit's column: `groups` if given, otherwise the column of a DataFrame.

    Returns
    -------
    array of shape (n,), or None if the domain declares no unit

    Raises
    ------
    ValueError
        If the identifiers are absent, have another length than the table, or are given without a declared unit.
    """
    if unit is None:
        if groups is not None:
            raise ValueError(
                "groups holds an identifier for each row, but the domain names no unit of privacy; give "
                "Domain(..., unit='name of the column'), or leave groups out."
            )
        return None
    cells = groups
    if cells is None:
        if not hasattr(X, "iloc") or unit not in X.columns:
            raise DomainError(
                f"The unit of privacy is a person, given by {unit!r}, and the table has no such column; give it, or "
                "pass the identifiers as groups."
            )
        cells = X[unit]
    if isinstance(cells, list | tuple):  # an identifier that is itself a list must not raise an error
        cells = column_of_list(cells)
    if np.ndim(cells) != 1 or len(cells) != len(X):
        raise ValueError(f"There must be one identifier for each of {len(X):,} rows, not {np.shape(cells)}.")
    return cells


def identifier_hashes(identifiers: Any) -> np.ndarray:
    """Return a hash of each row's identifier as a text, int64 (n,); 0 for a row without an identifier."""
    registry = UnitRegistry()
    number = registry._numbers(identifiers)
    return np.append(registry.ids(), 0)[number]


def _rank(person: np.ndarray) -> np.ndarray:
    """Return the rank, from 0, of each row among the rows of its person, in the order of the table."""
    order = np.argsort(person, kind="stable")
    ordered = person[order]
    starts = np.flatnonzero(np.append(True, ordered[1:] != ordered[:-1])) if len(ordered) else np.zeros(0, np.int64)
    rank = np.empty(len(person), np.int64)
    rank[order] = np.arange(len(person)) - np.repeat(starts, np.diff(np.append(starts, len(person))))
    return rank


def _is_kept(rank: np.ndarray, n_rows: np.ndarray) -> np.ndarray:
    """Return whether each row is kept, given its rank among the rows of its person and the number of these rows."""
    kept = np.ones(len(rank), bool)
    large = np.flatnonzero(n_rows > MOST_ROWS)
    for n in np.unique(n_rows[large]).tolist():
        is_drawn = np.zeros(n, bool)
        is_drawn[np.argsort(pd.util.hash_array(np.arange(n)), kind="stable")[:MOST_ROWS]] = True
        rows = large[n_rows[large] == n]
        kept[rows] = is_drawn[rank[rows]]
    return kept
