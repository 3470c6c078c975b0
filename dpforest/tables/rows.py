"""Encode a table for a forest: each cell becomes a code, and each label becomes a class index, independently.

If a fit refused a table because of one cell, or if one cell changed how other cells are read, the fit would reveal this
cell. So a public rule (`domain.READ_BY_RULE`) reads every cell and every label. Only the curator (the person who holds
the table) sees how many cells and labels are outside of the domain.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np

from dpforest.limits import BLOCK_ROWS
from dpforest.tables.domain import Domain
from dpforest.tables.out_of_domain import OutOfDomain, OutOfDomainCells
from dpforest.tables.units import UnitRegistry, Units, identifiers_of


@dataclass(frozen=True, eq=False)
class EncodedTable:
    """A table in the form that forests read: codes, class indices and row ids. Only the curator may see it.

    Parameters
    ----------
    codes : uint16 array of shape (n, n_features)
        Code of each cell, as `Domain.encode` returns it.
    y : int32 array of shape (n,)
        Class indices.
    ids : int64 array of shape (n,)
        Row ids. In a demonstration (a fit with a seed), the draws of a row depend on its id. So if a row is removed,
        the draws of other rows stay the same.
    n_given : int
        Number of rows of the table (with a unit, of persons). It includes rows that are left out because their label is
        missing or not listed; the number of such rows is private.
    units : Units or None
        Person and weight of each row; None without a unit.
    """

    codes: np.ndarray
    y: np.ndarray
    ids: np.ndarray
    n_given: int
    units: Units | None = None

    @property
    def n_counted(self) -> int:
        """Number of rows that are read; with a unit, number of persons.

        A ledger query for the number of rows adds noise to this number.
        """
        return len(self.y) if self.units is None else self.units.n_units


def read_rows(
    domain: Domain,
    X: Any,
    y: Any,
    ids: np.ndarray | None = None,
    *,
    n_jobs: int = 1,
    out_of_domain: OutOfDomainCells | None = None,
    groups: Any = None,
    registry: UnitRegistry | None = None,
) -> EncodedTable:
    """Read a table and its labels by the public rule, and warn of cells and labels outside of the domain.

    Parameters
    ----------
    domain : Domain
        Schema with classes.
    X : DataFrame, array or list of shape (n, n_features)
        Cells of the attributes, as for `Domain.encode`.
    y : array of shape (n,)
        Labels. Rows whose label is missing or not one of the domain's classes are left out.
    ids : int64 array of shape (n,), optional
        Row ids for a demonstration (a fit with a seed); by default `ids_of`.
    n_jobs : int
        Number of threads.
    out_of_domain : OutOfDomainCells, optional
        If given, it counts the cells and labels outside of the domain, and there is no warning.
    groups : array of shape (n,), optional
        Identifier of each row's person, if the domain declares a unit and `X` has no such column.
    registry : UnitRegistry, optional
        If `X` is a part of a table, a registry that has counted all parts. By default `X` is the whole table.

    Returns
    -------
    EncodedTable
        Codes, class indices and ids of the rows that a fit reads.

    Raises
    ------
    DomainError
        If columns are absent, or if the labels are not one column.
    ValueError
        If `groups` does not have one identifier for each row, or is given although the domain declares no unit.

    Examples
    --------
    >>> import warnings
    >>> from dpforest import Domain, Feature
    >>> domain = Domain((Feature("age", "numeric", 0, 100),), ("no", "yes"), "ill")
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("ignore")
    ...     rows = read_rows(domain, [[50], ["?"], [99]], ["no", "yes", "maybe"])
    >>> rows.codes.ravel().tolist(), rows.y.tolist(), rows.ids.tolist(), rows.n_given
    ([47513, 0], [0, 1], [0, 1], 3)
    """
    noted = OutOfDomainCells() if out_of_domain is None else out_of_domain
    identifiers = identifiers_of(domain.unit, X, groups)
    index = domain.listed_labels(y)
    kept = index >= 0
    codes = _codes(domain, X, noted, n_jobs)
    if not kept.all():
        noted.add(domain.label, OutOfDomain.LABEL, len(index) - int(kept.sum()))
    if identifiers is not None:
        if registry is None:
            registry = UnitRegistry()
            registry.count(identifiers, kept)
        units, ids = registry.read(identifiers, kept, noted, domain.unit or "")
        table = EncodedTable(codes[units.places], index[units.places], ids, units.n_units, units)
    else:
        ids = ids_of(X) if ids is None else ids
        n_given = len(index)
        if not kept.all():
            codes, index, ids = codes[kept], index[kept], ids[kept]
        table = EncodedTable(codes, index, ids, n_given)
    if out_of_domain is None:
        noted.warn()
    return table


def ids_of(X: Any) -> np.ndarray:
    """Return row ids for a demonstration: a DataFrame's index if it holds whole numbers, otherwise row positions."""
    index = getattr(X, "index", None)
    if index is not None and getattr(index, "dtype", None) is not None and index.dtype.kind in "iu":
        return index.to_numpy().astype(np.int64)
    return np.arange(len(X), dtype=np.int64)


def _codes(domain: Domain, X: Any, out_of_domain: OutOfDomainCells, n_jobs: int) -> np.ndarray:
    n = len(X)
    if n <= BLOCK_ROWS:
        return domain.encode(X, out_of_domain)
    rows = X.iloc if hasattr(X, "iloc") else X
    codes = np.empty((n, domain.n_features), np.uint16)

    def encode(start: int) -> None:
        block = slice(start, start + BLOCK_ROWS)
        codes[block] = domain.encode(rows[block], out_of_domain)

    with ThreadPoolExecutor(n_jobs) as pool:
        list(pool.map(encode, range(0, n, BLOCK_ROWS)))
    return codes
