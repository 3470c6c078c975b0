"""Fletcher and Islam, table 3: empty leaves of trees that are too large for memory, on Adult and Mushroom.

On these tables, a tree of the paper's depth with a branch for each category has millions of leaves. So this module
grows only branches with rows. For a branch without rows, it counts the expected number of leaves of a random tree below
the branch, which has a closed form (`mean_leaves`). As in the authors' program, the range of each numeric attribute
comes from the rows.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache, partial
from math import comb
from pathlib import Path
from typing import Any, Final

import numpy as np

from reproduce.cells import Cell
from reproduce.fletcher_islam import DEPTHS, PAPER, THEIR_FITS
from reproduce.fletcher_islam_leaves import TRAINED_ON
from reproduce.protocol import Record, at_hand, compared, load

ITEM: Final = "table 3, empty leaves, trees too large to hold"
# Printed shares of empty leaves in percent, with one tree and with thirty trees.
PRINTED: Final = {"adult": ("Adult", 99.8, 99.9), "mushroom": ("Mushroom", 99.9, 99.9)}
TREES: Final = (1, 30)
DRAWS: Final = 10  # number of draws of one tree, and of thirty trees


@lru_cache(maxsize=100_000)
def mean_leaves(depth: int, n_numeric: int, sizes: tuple[int, ...]) -> float:
    """Return the expected number of leaves of a random tree.

    Each node draws its attribute uniformly among the numeric attributes and those categorical attributes that no node
    above it tests. A node without such attributes is a leaf. If a path tests j categorical attributes, each set of j
    categorical attributes is equally likely. So the mean product of the sizes of the tested attributes is the
    elementary symmetric polynomial e_j of all sizes, divided by its number of terms.

    Parameters
    ----------
    depth : int
    n_numeric : int
        Number of numeric attributes. A test of a numeric attribute has two branches.
    sizes : tuple of int
        Number of values of each categorical attribute.

    >>> mean_leaves(3, 2, ()), mean_leaves(2, 0, (3, 5)), mean_leaves(1, 1, (6,))
    (8.0, 15.0, 4.0)
    """
    symmetric = np.zeros(len(sizes) + 1)
    symmetric[0] = 1.0
    for size in sizes:
        symmetric[1:] += size * symmetric[:-1]
    # For each number of categorical tests on a path: its probability times 2^(number of numeric tests on the path).
    weight = np.zeros(len(sizes) + 1)
    weight[0] = 1.0
    for _ in range(depth):
        next_weight = np.zeros_like(weight)
        for j, weight_j in enumerate(weight):
            n_left = n_numeric + len(sizes) - j
            if n_left == 0:
                next_weight[j] += weight_j
                continue
            next_weight[j] += weight_j * 2 * n_numeric / n_left
            if j < len(sizes):
                next_weight[j + 1] += weight_j * (len(sizes) - j) / n_left
        weight = next_weight
    return float(sum(w * symmetric[j] / comb(len(sizes), j) for j, w in enumerate(weight)))


def empty_share(columns: list[np.ndarray], sizes: list[int], depth: int, rng: np.random.Generator) -> float:
    """Grow one random tree, and return the share of its leaves that have no rows.

    Parameters
    ----------
    columns : list of array of shape (n,)
        Numbers, or codes of categories from 0.
    sizes : list of int
        Number of values of each categorical attribute; 0 for a numeric attribute.

    >>> rows = np.array([0, 0, 1])
    >>> empty_share([rows], [4], 1, np.random.default_rng(0))
    0.5
    """
    ranges = [(float(column.min()), float(column.max())) for column in columns]
    numeric = [j for j, size in enumerate(sizes) if size == 0]
    free = tuple(j for j, size in enumerate(sizes) if size)
    used, empty = 0, 0.0
    stack = [(np.arange(len(columns[0])), depth, free, dict(enumerate(ranges)))]
    while stack:
        rows, left, free, limits = stack.pop()
        if len(rows) == 0:
            empty += mean_leaves(left, len(numeric), tuple(sorted(sizes[j] for j in free)))
            continue
        choices = [*numeric, *free]
        if left == 0 or not choices:
            used += 1
            continue
        j = choices[rng.integers(len(choices))]
        if sizes[j]:
            rest, codes = tuple(i for i in free if i != j), columns[j][rows]
            order = np.argsort(codes, kind="stable")
            ends = np.searchsorted(codes[order], np.arange(sizes[j] + 1))
            parts = [rows[order[a:b]] for a, b in zip(ends[:-1], ends[1:], strict=True)]
            stack += [(part, left - 1, rest, limits) for part in parts]
        else:
            low, high = limits[j]
            cut = rng.uniform(low, high)
            below = columns[j][rows] < cut
            stack.append((rows[below], left - 1, free, {**limits, j: (low, cut)}))
            stack.append((rows[~below], left - 1, free, {**limits, j: (cut, high)}))
    return empty / (used + empty)


def cells(*, quick: bool = False, folder: Path | None = None) -> Iterator[Cell]:
    """Yield a cell for each table; a quick run has Mushroom only."""
    for name in ("mushroom",) if quick else PRINTED:
        yield Cell(PRINTED[name][0], partial(_records, name, folder) if at_hand(name, folder) else None)


def _records(name: str, folder: Path | None) -> Iterator[Record]:
    title, *row = PRINTED[name]
    columns, sizes = _columns(load(name, folder, incomplete="drop"))
    for trees, printed in zip(TREES, row, strict=True):
        shares = []
        for draw in range(DRAWS):
            rng = np.random.default_rng(draw)
            n = len(columns[0])
            rows = rng.permutation(n)[: int(TRAINED_ON * n)]
            parts = [rows[tree::trees] for tree in range(trees)]
            shares.append(
                np.mean([empty_share([column[part] for column in columns], sizes, DEPTHS[name], rng) for part in parts])
            )
        setting = f"{title}, {trees} tree{'s' if trees > 1 else ''}"
        yield compared(PAPER, ITEM, setting, printed, 100 * np.array(shares), None, "", n_theirs=THEIR_FITS)


def _columns(data: Any) -> tuple[list[np.ndarray], list[int]]:
    """Return the columns as numbers or codes, and each attribute's number of categories (0 if it is numeric)."""
    columns, sizes = [], []
    for feature in data.domain.features:
        column = data.X[feature.name]
        if feature.kind == "numeric":
            columns.append(column.to_numpy(float))
            sizes.append(0)
        else:
            columns.append(column.astype("category").cat.codes.to_numpy())
            sizes.append(len(feature.categories))
    return columns, sizes
