"""Encoded rows in files that are mapped into memory, for a fit on a table that is larger than memory.

The files have no names: the operating system frees them when the fit ends, also if the process is killed.
"""

import os
import tempfile
from dataclasses import dataclass
from os import PathLike
from typing import Any, BinaryIO, Self

import numpy as np

from dpforest.models.data_dependent import EncodedRows
from dpforest.tables.domain import Domain
from dpforest.tables.rows import EncodedTable
from dpforest.tables.units import UnitRegistry, Units

_EMPTY = np.zeros(0, np.int64)


@dataclass(frozen=True, eq=False, kw_only=True)
class RowsInFiles(EncodedRows):
    """Rows in mapped files. `row_ids` and `units.index` are empty, because the booster does not use them."""

    folder: str | PathLike[str] | None = None

    def check_room(self, n_bytes: int) -> None:
        """Raise OSError if the disk of the folder has no room for `n_bytes` bytes."""
        self.zeros((n_bytes,), np.uint8)

    def zeros(self, shape: tuple[int, ...], dtype: Any) -> np.ndarray:
        """Return an array of zeros in a mapped file of the folder."""
        n_bytes = int(np.prod(shape)) * np.dtype(dtype).itemsize
        with _unnamed_file(self.folder) as file:
            if hasattr(os, "posix_fallocate") and n_bytes:
                # If the disk has no room, this call fails, and not a later write.
                os.posix_fallocate(file.fileno(), 0, n_bytes)
            return _mapped(file, shape, dtype, "w+")


class RowFiles:
    """Context manager that writes the encoded rows of one part after another, and maps them into memory.

    Parameters
    ----------
    domain : Domain
        Domain that encodes the rows.
    folder : path or None
        Folder on a disk with room for the rows (`RandomTreeBoosterClassifier.fit_chunks` states their size). None: the
        system's folder for temporary files.
    """

    def __init__(self, domain: Domain, folder: str | PathLike[str] | None = None):
        self._domain, self._folder = domain, folder
        self._codes, self._y = _unnamed_file(folder), _unnamed_file(folder)
        self._weight = None if domain.unit is None else _unnamed_file(folder)
        self._n_rows = self._n_given = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        for file in (self._codes, self._y, self._weight):
            if file is not None:
                file.close()  # the operating system keeps a mapped file as long as an array needs it

    def append(self, part: EncodedTable) -> None:
        """Write the rows of a part after those of earlier parts."""
        _write(self._codes, part.codes)
        _write(self._y, part.y.astype(np.uint8))
        if self._weight is not None and part.units is not None:
            _write(self._weight, part.units.weight)
        self._n_rows += len(part.y)
        self._n_given += part.n_given

    def rows(self, registry: UnitRegistry | None = None) -> RowsInFiles:
        """Return all rows that were appended. With a unit of privacy, give the registry that counted all persons."""
        n, units = self._n_rows, None
        if registry is not None:
            assert self._weight is not None
            weight = _mapped(self._weight, (n,), np.int64, "r+")
            units = Units(_EMPTY, weight, registry.n_units, _EMPTY)
        return RowsInFiles(
            codes=_mapped(self._codes, (n, self._domain.n_features), np.uint16, "r+"),
            y=_mapped(self._y, (n,), np.uint8, "r+"),
            row_ids=_EMPTY,
            n_given=self._n_given if registry is None else registry.n_units,
            units=units,
            folder=self._folder,
        )


def _unnamed_file(folder: str | PathLike[str] | None) -> BinaryIO:
    return tempfile.TemporaryFile(dir=folder, buffering=0)


def _write(file: BinaryIO, array: np.ndarray) -> None:
    """Append the bytes of an array to a file."""
    view = memoryview(np.ascontiguousarray(array).reshape(-1).view(np.uint8))  # type: ignore[arg-type]
    while len(view):  # one call may write only a part
        view = view[file.write(view) :]


def _mapped(file: BinaryIO, shape: tuple[int, ...], dtype: Any, mode: Any) -> np.ndarray:
    """Return a file's bytes as an array, which stays valid after the file object is closed."""
    if not np.prod(shape):
        return np.zeros(shape, dtype)
    return np.asarray(np.memmap(file, dtype, mode, shape=shape))
