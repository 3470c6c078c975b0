"""Read files of format version 1, which list every array of the trees in full. The code no longer writes version 1."""

from math import prod
from typing import Any, Final

import numpy as np

from dpforest.limits import MAX_DEPTH, MAX_FOREST_NODES, MAX_FOREST_TREES
from dpforest.trees.layout import NUMERIC, Trees
from dpforest.trees.packed_arrays import ArrayError, unpack_plain

# Arrays of the trees, with the largest number of elements of each array.
_TREES: Final = {
    "kind": MAX_FOREST_NODES,
    "feature": MAX_FOREST_NODES,
    "threshold": MAX_FOREST_NODES,
    "first_child": MAX_FOREST_NODES,
    "tree_start": MAX_FOREST_TREES + 1,
}


def trees_and_notes(content: dict[str, Any], n_codes: np.ndarray) -> tuple[Trees, tuple[str, ...]]:
    """Return the trees, and a sentence if thresholds were corrected. The caller must still call `Trees.check`."""
    entries = content["trees"]
    if any(len(entry["shape"]) != 1 for entry in entries.values()):
        raise ArrayError("its trees have a shape that no forest has")
    arrays = {name: unpack_plain(entries[name], entries[name]["dtype"], most) for name, most in _TREES.items()}
    if len({len(arrays[name]) for name in ("kind", "feature", "threshold")}) > 1:
        raise ArrayError("the trees' arrays do not fit together")
    arrays["threshold"], n_lowered = _lowered_thresholds(
        arrays["kind"], arrays["feature"], arrays["threshold"], n_codes
    )
    trees = Trees(**arrays, depth=content["depth"])
    if not n_lowered:
        return trees, ()
    return trees, (
        f"This file was written by an earlier version: {n_lowered:,} of its thresholds lay above the codes of their "
        "attributes. They were set to the highest code, which no value exceeds either, so no prediction changes.",
    )


def domain(entry: dict[str, Any]) -> dict[str, Any]:
    """Return the entry of the domain, with "asserted" as source of the field `reading` if this field has no source.

    The field describes how a table was read. Version 1 does not state where this description comes from.
    """
    if not entry.get("reading") or entry.get("reading_source"):
        return entry
    return {**entry, "reading_source": "asserted", "reading_note": "taken as given by an earlier version"}


def array(entry: dict[str, Any], shape: tuple[int, ...]) -> np.ndarray:
    """Return an array of leaves, after a check of its shape."""
    return unpack_plain(entry, entry["dtype"], prod(shape)).reshape(shape)


def _lowered_thresholds(
    kind: np.ndarray, feature: np.ndarray, threshold: np.ndarray, n_codes: np.ndarray
) -> tuple[np.ndarray, int]:
    """Lower each threshold above the highest code of its attribute to this code. Also return the number of changes.

    Earlier versions wrote such thresholds if fewer than two codes could reach a node. On a path below this node, the
    threshold of each further test was higher by one. So a threshold exceeds the highest code by at most the length of a
    path. `Trees.check` refuses larger thresholds.
    """
    is_numeric = (kind == NUMERIC) & (feature >= 0) & (feature < len(n_codes))
    highest = np.full(len(kind), np.iinfo(np.int32).max, np.int64)
    highest[is_numeric] = n_codes[feature[is_numeric]] - 1
    above = is_numeric & (threshold > highest) & (threshold <= highest + MAX_DEPTH)
    return np.where(above, highest, threshold).astype(np.int32), int(above.sum())
