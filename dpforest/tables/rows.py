"""The one way from a table to what a forest reads of it: codes and class indices, every cell and label by itself.

A fit that refused a table for one cell, or read other cells in another way because of it, would tell on that cell. So
everything that rows decide is read by a public rule (`domain.READ_BY_RULE`) and told to the curator alone.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np

from dpforest.limits import BLOCK_ROWS
from dpforest.tables.domain import Domain
from dpforest.tables.misfits import Misfit, Misfits


class BlockCodes:
    """Codes of a table, made block by block when they are asked for, so that a large table's are never all in memory.

    Parameters
    ----------
    domain : Domain
    X : DataFrame or array of shape (n, n_features)
    """

    def __init__(self, domain: Domain, X: Any) -> None:
        self._domain, self._rows, self._n = domain, X.iloc if hasattr(X, "iloc") else X, len(X)

    def __len__(self) -> int:
        return self._n

    def __getitem__(self, rows: slice | np.ndarray) -> np.ndarray:
        return self._domain.encode(self._rows[rows], Misfits())  # `read_rows` has noted them


@dataclass(frozen=True, eq=False)
class Rows:
    """Rows as forests read them. Curator only.

    Parameters
    ----------
    codes : uint16 array of shape (n, n_features), or BlockCodes
        The latter only where it was asked for.
    y : int32 array of shape (n,)
        Class indices.
    ids : int64 array of shape (n,)
        What names a row in a demo, so that leaving one out moves no other.
    n_given : int
        Rows that were handed over: those without a listed label are left out here, and how many is private.
    """

    codes: Any
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
    misfits: Misfits | None = None,
    in_blocks: bool = False,
) -> Rows:
    """Read a table and its labels by the public rule; one `MisfitWarning` tells the curator what did not fit.

    Parameters
    ----------
    domain : Domain
        With classes.
    X : DataFrame, array or list of shape (n, n_features)
    y : array of shape (n,)
    ids : int64 array of shape (n,), optional
        By default `ids_of`.
    n_jobs : int
        Threads.
    misfits : Misfits, optional
        Note here what did not fit, instead of the warning.

    Raises
    ------
    DomainError
        If columns are absent, of a type that is never read (dates), or the labels are not one column.

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
    noted = Misfits() if misfits is None else misfits
    ids = ids_of(X) if ids is None else ids
    index = domain.listed_labels(y)
    kept = index >= 0
    n_given = len(index)
    if in_blocks and n_given > BLOCK_ROWS and kept.all():
        _each_block(domain, X, noted, n_jobs, lambda _, codes: None)  # the warning must come before any question
        return Rows(BlockCodes(domain, X), index, ids, n_given)
    codes = _codes(domain, X, noted, n_jobs)
    if not kept.all():
        noted.add(domain.label, Misfit.LABEL, n_given - int(kept.sum()))
        codes, index, ids = codes[kept], index[kept], ids[kept]
    if misfits is None:
        noted.warn()
    return Rows(codes, index, ids, n_given)


def ids_of(X: Any) -> np.ndarray:
    """What names a row in a demo: the index of a table if it is whole numbers, else its place."""
    index = getattr(X, "index", None)
    if index is not None and getattr(index, "dtype", None) is not None and index.dtype.kind in "iu":
        return index.to_numpy().astype(np.int64)
    return np.arange(len(X), dtype=np.int64)


def _codes(domain: Domain, X: Any, misfits: Misfits, n_jobs: int) -> np.ndarray:
    n = len(X)
    if n <= BLOCK_ROWS:
        return domain.encode(X, misfits)
    codes = np.empty((n, domain.n_features), np.uint16)
    _each_block(domain, X, misfits, n_jobs, codes.__setitem__)
    return codes


def _each_block(
    domain: Domain, X: Any, misfits: Misfits, n_jobs: int, keep: Callable[[slice, np.ndarray], None]
) -> None:
    """Encode a table block by block and hand the codes of each block, with its place, to `keep`."""
    rows = X.iloc if hasattr(X, "iloc") else X

    def encode(start: int) -> None:
        part = slice(start, start + BLOCK_ROWS)
        keep(part, domain.encode(rows[part], misfits))

    with ThreadPoolExecutor(n_jobs) as pool:
        list(pool.map(encode, range(0, len(X), BLOCK_ROWS)))
