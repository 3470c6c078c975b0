"""Pack arrays into small, exact entries of a JSON file. Limits are checked before memory is allocated."""

import base64
import binascii
import zlib
from math import prod
from typing import Any, Final

import numpy as np

# The types of each tuple grow in size. `pack` uses the first type that holds all numbers of an array.
_UNSIGNED: Final = ("u1", "u2", "u4")
_SIGNED: Final = ("i1", "i2", "i4", "i8")
TYPES: Final = (*_UNSIGNED, *_SIGNED, "f8")


class ArrayError(ValueError):
    """Raised if an entry is not the expected array. The message is the end of a sentence that `forest_file` begins."""


def pack(array: np.ndarray) -> dict[str, Any]:
    """Return an array as an entry ``{"type", "shape", "data"}``. The data are bytes, compressed by zlib, as base64.

    The lowest bytes of all elements come first, then the next higher bytes of all elements, and so on. This order
    compresses well, because most high bytes of counts are equal.

    >>> pack(np.array([1, 2, 300]))["type"], pack(np.array([-1, 2]))["type"], unpack(pack(np.arange(3)), (3,)).tolist()
    ('u2', 'i1', [0, 1, 2])
    """
    type_name = _smallest_type(array)
    cells = np.ascontiguousarray(array, dtype=f"<{type_name}")
    planes = cells.view(np.uint8).reshape(cells.size, cells.itemsize).T
    data = base64.b64encode(zlib.compress(planes.tobytes(), 6)).decode("ascii")
    return {"type": type_name, "shape": list(cells.shape), "data": data}


def unpack(entry: dict[str, Any], shape: tuple[int, ...]) -> np.ndarray:
    """Return the array that `pack` wrote to an entry, in the byte order of the machine.

    Parameters
    ----------
    entry : dict
        An entry that `forest_schema` has checked.
    shape : tuple of int
        Required shape.

    Raises
    ------
    ArrayError
        If the array has another shape, or its data another length. Decompression stops after the required length.
    """
    if tuple(entry["shape"]) != shape:
        raise ArrayError(f"an array has the shape {_short(entry['shape'])}, not {list(shape)}")
    dtype = np.dtype(f"<{entry['type']}")
    n = prod(shape)
    planes = np.frombuffer(_inflated(entry["data"], n * dtype.itemsize), np.uint8)
    cells = np.ascontiguousarray(planes.reshape(dtype.itemsize, n).T).view(dtype)
    return cells.reshape(shape).astype(dtype.newbyteorder("="), copy=False)


def unpack_plain(entry: dict[str, Any], dtype: str, most: int) -> np.ndarray:
    """Return the array of an entry ``{"dtype", "shape", "base64"}`` of format version 1, with at most `most` elements.

    Raises
    ------
    ArrayError
        If the type is not `dtype`, the shape does not fit the data, or there are more than `most` elements.
    """
    if entry["dtype"] != dtype:
        raise ArrayError(f"an array should have the type {dtype}")
    item = np.dtype(dtype).itemsize
    if len(entry["base64"]) > 4 * (most * item // 3 + 1):
        raise ArrayError(f"an array has more than {most:,} elements")
    data = _decoded(entry["base64"])
    if prod(entry["shape"]) * item != len(data):
        raise ArrayError("the length of an array does not match its shape")
    return np.frombuffer(data, dtype).reshape(entry["shape"]).astype(np.dtype(dtype).newbyteorder("="))


def _smallest_type(array: np.ndarray) -> str:
    if array.dtype.kind == "f":
        return "f8"
    low, high = int(array.min(initial=0)), int(array.max(initial=0))
    kinds = _UNSIGNED if low >= 0 else _SIGNED
    return next((k for k in kinds if np.iinfo(k).min <= low and high <= np.iinfo(k).max), "i8")


def _inflated(text: str, n_bytes: int) -> bytes:
    """Return exactly `n_bytes` decompressed bytes. Raise ArrayError if the data are shorter or longer."""
    stream = zlib.decompressobj()
    try:
        # Ask for one more byte than needed. So data that are too long are detected, but not decompressed in full.
        data = stream.decompress(_decoded(text), n_bytes + 1)
    except zlib.error:
        raise ArrayError("the data of an array are not valid zlib data") from None
    if len(data) != n_bytes or not stream.eof or stream.unused_data:
        raise ArrayError("the length of an array does not match its shape")
    return data


def _decoded(text: str) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        raise ArrayError("the data of an array are not base64") from None


def _short(value: object) -> str:
    text = str(value)
    return text if len(text) <= 60 else f"{text[:60]}…"
