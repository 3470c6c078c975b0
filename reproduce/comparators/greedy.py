"""Private greedy trees of Friedman and Schuster, with information gain as the score of a test.

At each node, the exponential mechanism makes one choice among the tests of all attributes. Noisy counts determine where
branches end, and label the leaves. Numbers are rounded to a coarse public grid, to save time:
`reproduce.comparators.rana` grows many trees. The noise uses floating-point numbers, whose rounding may leak rows. So
this module is for measurements only.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from dpforest.tables.domain import Domain
from dpforest.tables.features import N_CODES

PLACES = 1_024  # number of places of a numeric feature; a place is an interval of its codes


@dataclass
class Node:
    """A node, or a leaf if it has no children. A numeric test sends places up to `cut` to the first child."""

    label: int = 0
    feature: int = -1
    cut: int = -1  # -1: one child for each category
    children: list[Node] = field(default_factory=list)


@dataclass(frozen=True)
class Grid:
    """Map from the codes of a domain to places. A place is an interval of numeric codes, or one code of a category.

    Attributes
    ----------
    widths : int64 array of shape (n_features,)
        Number of places of each feature.
    is_numeric : bool array of shape (n_features,)
    n_classes : int
    """

    widths: np.ndarray
    is_numeric: np.ndarray
    n_classes: int

    @classmethod
    def of(cls, domain: Domain) -> Grid:
        """Return the grid of a domain whose numeric features are on the linear scale."""
        numeric = np.array([feature.kind == "numeric" for feature in domain.features])
        widths = [PLACES if f.kind == "numeric" else f.n_codes for f in domain.features]
        return cls(np.array(widths, np.int64), numeric, domain.n_classes)

    def places(self, codes: np.ndarray) -> np.ndarray:
        """Return codes (n, n_features) as places; the place of a number is the upper digits of its code."""
        return np.where(self.is_numeric, codes.astype(np.int64) // (N_CODES // PLACES), codes)


@dataclass
class Grower:
    """Grows trees on one set of rows.

    Parameters
    ----------
    grid : Grid
    places : int64 array of shape (n, n_features)
    y : int64 array of shape (n,)
        Class indices.
    epsilon : float
            ε of one tree. With n numeric attributes, a path of depth d asks (2 + n) d + 2 noisy questions, and each of
            them gets an equal share of ε.
    depth : int
    """

    grid: Grid
    places: np.ndarray
    y: np.ndarray
    epsilon: float
    depth: int

    def __post_init__(self) -> None:
        n_numeric, (n, m) = int(self.grid.is_numeric.sum()), self.places.shape
        self.share = self.epsilon / ((2 + n_numeric) * self.depth + 2)
        self.rate = self.share / (2 * (np.log2(n + 1) + 1 / np.log(2)))  # rate of the exponential mechanism
        self.widest = int(np.where(self.grid.is_numeric, 2, self.grid.widths).max())
        counts = np.arange(n + 1)
        self.entropy = counts * np.log2(np.maximum(counts, 1))  # c log c
        width, k = int(self.grid.widths.max()), self.grid.n_classes
        self._shape, self._start = (m, width, k), np.arange(m) * width * k

    def grow(self, generator: np.random.Generator) -> Node:
        """Return one tree."""
        ranges = np.stack([np.zeros_like(self.grid.widths), self.grid.widths - 1], axis=1)
        usable = np.ones(len(ranges), bool)
        return self._grow(np.arange(len(self.y)), usable, ranges, self.depth, generator)

    def _grow(
        self, rows: np.ndarray, usable: np.ndarray, ranges: np.ndarray, levels: int, generator: np.random.Generator
    ) -> Node:
        k = self.grid.n_classes
        has_enough_rows = (len(rows) + generator.laplace(scale=1 / self.share)) / (self.widest * k) >= np.sqrt(
            2
        ) / self.share
        if not levels or not usable.any() or not has_enough_rows:
            counts = np.bincount(self.y[rows], minlength=k) + generator.laplace(scale=1 / self.share, size=k)
            return Node(label=int(counts.argmax()))
        places, y = self.places[rows], self.y[rows]
        flat = (self._start + places * k + y[:, None]).ravel()
        table = np.bincount(flat, minlength=int(np.prod(self._shape))).reshape(self._shape)
        cuts = np.full(len(usable), -1)
        scores = self.gain(table).sum(axis=1).astype(float)
        numeric = np.flatnonzero(self.grid.is_numeric)
        if len(numeric):
            cuts[numeric], scores[numeric] = self._cuts(table[numeric], ranges[numeric], generator)
        logits = np.where(usable, self.rate * scores, -np.inf)
        j = int((logits + generator.gumbel(size=len(logits))).argmax())
        node = Node(feature=j, cut=int(cuts[j]))
        if node.cut < 0:
            others = usable & (np.arange(len(usable)) != j)
            sides = [(rows[places[:, j] == place], others, ranges) for place in range(self.grid.widths[j])]
        else:
            below, lower, upper = places[:, j] <= node.cut, ranges.copy(), ranges.copy()
            lower[j, 1], upper[j, 0] = node.cut, node.cut + 1
            sides = [(rows[below], usable, lower), (rows[~below], usable, upper)]
        node.children = [self._grow(*side, levels - 1, generator) for side in sides]
        return node

    def gain(self, counts: np.ndarray) -> np.ndarray:
        """Return a child's contribution to the score of a test, from class counts of shape (..., n_classes).

        The contribution is −(number of rows) × (entropy) of the child. The sum over all children of a test is the
        information gain times the node's number of rows, plus a constant that is the same for all tests of the node.
        """
        return self.entropy[counts].sum(axis=-1) - self.entropy[counts.sum(axis=-1)]

    def _cuts(
        self, table: np.ndarray, ranges: np.ndarray, generator: np.random.Generator
    ) -> tuple[np.ndarray, np.ndarray]:
        """Draw a cut in the range of each numeric feature by the exponential mechanism. Return cuts and scores."""
        below = table.cumsum(axis=1)
        scores = self.gain(below) + self.gain(below[:, -1:] - below)
        at = np.arange(table.shape[1])
        inside = (at >= ranges[:, :1]) & (at < np.maximum(ranges[:, 1:], ranges[:, :1] + 1))
        logits = np.where(inside, self.rate * scores, -np.inf) + generator.gumbel(size=scores.shape)
        cuts = logits.argmax(axis=1)
        return cuts, np.take_along_axis(scores, cuts[:, None], axis=1)[:, 0]


def labels(node: Node, places: np.ndarray) -> np.ndarray:
    """Return the predicted class of each row, int64 array of shape (n_rows,)."""
    classes = np.zeros(len(places), np.int64)
    _label(node, places, np.arange(len(places)), classes)
    return classes


def _label(node: Node, places: np.ndarray, rows: np.ndarray, classes: np.ndarray) -> None:
    if not node.children:
        classes[rows] = node.label
        return
    values = places[rows, node.feature]
    child_of_row = values if node.cut < 0 else values > node.cut
    for i, child in enumerate(node.children):
        _label(child, places, rows[child_of_row == i], classes)
