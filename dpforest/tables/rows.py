"""Encode a table for a forest: each cell becomes a code and each label a class index, independently of all others.

A fit that refused a table for one cell, or read other cells differently because of it, would reveal that cell. So a
public rule (`domain.READ_BY_RULE`) reads every cell and every label, and only the curator sees which were outside of
the domain.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np

from dpforest.limits import BLOCK_ROWS
from dpforest.tables.domain import Domain
from dpforest.tables.out_of_domain import OutOfDomain, OutOfDomainCells


@dataclass(frozen=True, eq=False)
class EncodedTable:
    """A table in the form that forests read: codes, class indices and row ids. Curator only.

    Parameters
    ----------
    codes : uint16 array of shape (n, n_features)
    y : int32 array of shape (n,)
        Class indices.
    ids : int64 array of shape (n,)
        Number that names a row in a seeded demonstration, so that removing one row changes no draw of another.
    n_given : int
        Number of rows before those without a listed label were left out; their number is private.
    """

    codes: np.ndarray
    y: np.ndarray
    ids: np.ndarray
    n_given: int


def read_rows(
    domain: Domain,
    X: Any,
    y: Any,
    ids: np.ndarray | None = None,
    *,
    n_jobs: int = 1,
    out_of_domain: OutOfDomainCells | None = None,
) -> EncodedTable:
    """Read a table and its labels by the public rule; one `OutOfDomainWarning` counts those outside of the domain.

    Parameters
    ----------
    domain : Domain
        Has classes.
    X : DataFrame, array or list of shape (n, n_features)
    y : array of shape (n,)
    ids : int64 array of shape (n,), optional
        Row ids for a seeded demonstration; by default `ids_of`.
    n_jobs : int
        Number of threads.
    out_of_domain : OutOfDomainCells, optional
        Count cells and labels outside of the domain here, and give no warning.

    Raises
    ------
    DomainError
        If columns are absent or of a type that is never read (dates), or if the labels are not one column.

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
    ids = ids_of(X) if ids is None else ids
    index = domain.listed_labels(y)
    kept = index >= 0
    n_given = len(index)
    codes = _codes(domain, X, noted, n_jobs)
    if not kept.all():
        noted.add(domain.label, OutOfDomain.LABEL, n_given - int(kept.sum()))
        codes, index, ids = codes[kept], index[kept], ids[kept]
    if out_of_domain is None:
        noted.warn()
    return EncodedTable(codes, index, ids, n_given)


def ids_of(X: Any) -> np.ndarray:
    """Return the ids of rows in a demonstration: the index of a table if it is whole numbers, else their places."""
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
        part = slice(start, start + BLOCK_ROWS)
        codes[part] = domain.encode(rows[part], out_of_domain)

    with ThreadPoolExecutor(n_jobs) as pool:
        list(pool.map(encode, range(0, n, BLOCK_ROWS)))
    return codes
