"""Friedman and Schuster's tree as they publish it, with stopping counts and numeric splits, which each cost ε.

A. Friedman, A. Schuster, *Data mining with differential privacy* (KDD 2010): private ID3 by the exponential mechanism,
and its way with numbers. In floating point, to measure with; `dpforest.FriedmanSchusterClassifier` is the tree to use.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Final, Self

import numpy as np
import pandas as pd

from dpforest.tables.domain import Domain

CRITERIA: Final = ("max", "gini", "entropy")


@dataclass
class Node:
    """A leaf if it has no children; a numeric test sends codes up to `cut` to the first child."""

    label: int = 0
    feature: int = -1
    cut: float = np.nan  # not a number: a child for each category
    children: list[Node] = field(default_factory=list)


@dataclass
class PublishedTree:
    """One private tree whose nodes first ask whether enough rows are left to go on.

    Each path asks for a noisy count at every node and the choice of an attribute at every level; with n numeric
    attributes for a cut of each as well; and the leaf for its class counts: (2 + n) d + 2 answers in all, with an equal
    share of ε each. A node is a leaf if its noisy count over t |C| is less than √2 over that share, where t is the most
    values of an attribute.

    Parameters
    ----------
    domain : Domain
        By which tables are read; numbers by their linear scale.
    epsilon : float, default=1.0
    depth : int, default=5
        Most levels.
    criterion : {"max", "gini", "entropy"}, default="max"
        What a split is scored by. The gain ratio, which the paper names too, has no bound on what a row changes.
    seed : int, default=0

    Examples
    --------
    >>> from dpforest import load_dataset
    >>> data = load_dataset("mushroom")
    >>> tree = PublishedTree(data.domain).fit(data.X, data.y)
    >>> bool((tree.predict(data.X) == data.y.to_numpy()).mean() > 0.7)
    True
    """

    domain: Domain
    epsilon: float = 1.0
    depth: int = 5
    criterion: str = "max"
    seed: int = 0

    def __post_init__(self) -> None:
        if self.criterion not in CRITERIA:
            raise ValueError(f"criterion={self.criterion!r} is not one of {', '.join(CRITERIA)}")
        self.domain = self.domain.on_scale("linear")
        features = self.domain.features
        self.numeric = [j for j, feature in enumerate(features) if feature.kind == "numeric"]
        self.widest = max(2 if feature.kind == "numeric" else feature.n_codes for feature in features)
        self.share = self.epsilon / ((2 + len(self.numeric)) * self.depth + 2)

    def fit(self, X: pd.DataFrame, y: Any) -> Self:
        """Grow the tree on rows and their labels."""
        return self.fit_codes(self.domain.encode(X), self.domain.encode_labels(y))

    def fit_codes(self, codes: np.ndarray, y: np.ndarray) -> Self:
        """The same on codes (n, n_features) and class indices."""
        self._codes, self._y = codes.astype(np.int64), y
        self._generator = np.random.default_rng(self.seed)
        ranges = {j: (0, self.domain.features[j].n_codes - 1) for j in self.numeric}
        left = frozenset(range(self.domain.n_features))
        self.root = self._grow(np.arange(len(y)), left, ranges, self.depth)
        del self._codes, self._y
        return self

    def predict(self, X: pd.DataFrame) -> np.ndarray:
        """The class of each row, as written in the domain."""
        return self.domain.class_array[self.predict_codes(self.domain.encode(X))]

    def predict_codes(self, codes: np.ndarray) -> np.ndarray:
        """The class index of each row."""
        found = np.zeros(len(codes), np.int64)
        self._label(self.root, codes.astype(np.int64), np.arange(len(codes)), found)
        return found

    def sensitivity(self, n: int) -> float:
        """What one row of n changes a score by, at most (the paper's section 4.1)."""
        return {"max": 1.0, "gini": 2.0, "entropy": np.log2(n + 1) + 1 / np.log(2)}[self.criterion]

    def _grow(self, rows: np.ndarray, features: frozenset[int], ranges: dict[int, tuple[int, int]], left: int) -> Node:
        count = len(rows) + self._generator.laplace(scale=1 / self.share)
        enough = count / (self.widest * self.domain.n_classes) >= np.sqrt(2) / self.share
        if not left or not features or not enough:
            return self._leaf(rows)
        cuts = {j: self._cut(rows, j, ranges[j]) for j in self.numeric}
        tables = {j: self._table(rows, j, cuts.get(j)) for j in sorted(features)}
        scores = np.array([score(table[None], self.criterion)[0] for table in tables.values()])
        j = sorted(features)[self._choose(scores, np.ones(len(scores)), len(rows))]
        if j not in cuts:
            parts = [rows[self._codes[rows, j] == code] for code in range(self.domain.features[j].n_codes)]
            children = [self._grow(part, features - {j}, ranges, left - 1) for part in parts]
            return Node(feature=j, children=children)
        cut, (low, high) = cuts[j], ranges[j]
        below = self._codes[rows, j] <= cut
        sides = ((rows[below], (low, int(cut))), (rows[~below], (int(cut) + 1, high)))
        children = [self._grow(part, features, {**ranges, j: own}, left - 1) for part, own in sides]
        return Node(feature=j, cut=cut, children=children)

    def _leaf(self, rows: np.ndarray) -> Node:
        counts = np.bincount(self._y[rows], minlength=self.domain.n_classes)
        return Node(label=int(np.argmax(counts + self._generator.laplace(scale=1 / self.share, size=len(counts)))))

    def _cut(self, rows: np.ndarray, j: int, within: tuple[int, int]) -> float:
        """A cut of a number: between two neighbouring values all have one score, so their number is its weight."""
        low, high = within
        if low >= high:
            return float(high)
        codes = self._codes[rows, j]
        edges = np.unique(np.r_[low, codes, high])  # cuts from one edge to below the next part the rows alike
        place = np.searchsorted(edges, codes)
        table = np.zeros((len(edges), self.domain.n_classes))
        np.add.at(table, (place, self._y[rows]), 1)
        below = table.cumsum(axis=0)[:-1]
        scores = score(np.stack([below, table.sum(axis=0) - below], axis=1), self.criterion)
        i = self._choose(scores, np.diff(edges), len(rows))
        return float(self._generator.integers(edges[i], edges[i + 1]))

    def _table(self, rows: np.ndarray, j: int, cut: float | None) -> np.ndarray:
        """Class counts of the children (n_children, n_classes)."""
        codes = self._codes[rows, j]
        width = self.domain.features[j].n_codes if cut is None else 2
        place = codes if cut is None else (codes > cut).astype(np.int64)
        table = np.zeros((width, self.domain.n_classes))
        np.add.at(table, (place, self._y[rows]), 1)
        return table

    def _choose(self, scores: np.ndarray, weights: np.ndarray, n: int) -> int:
        """The exponential mechanism over choices of unequal weight."""
        logits = self.share * scores / (2 * self.sensitivity(n)) + np.log(weights)
        shares = np.exp(logits - logits.max())
        return int(self._generator.choice(len(scores), p=shares / shares.sum()))

    def _label(self, node: Node, codes: np.ndarray, rows: np.ndarray, found: np.ndarray) -> None:
        if not node.children:
            found[rows] = node.label
            return
        own = codes[rows, node.feature]
        place = own if np.isnan(node.cut) else own > node.cut
        for i, child in enumerate(node.children):
            self._label(child, codes, rows[place == i], found)


def score(tables: np.ndarray, criterion: str) -> np.ndarray:
    """The score of each split from the class counts of its children (n_splits, n_children, n_classes).

    >>> split = np.array([[[4.0, 0.0], [1.0, 3.0]]])
    >>> float(score(split, "max")[0]), float(score(split, "gini")[0]), round(float(score(split, "entropy")[0]), 4)
    (7.0, -1.5, -3.2451)
    """
    if criterion == "max":
        return tables.max(axis=2).sum(axis=1)
    of_child = tables.sum(axis=2, keepdims=True)
    shares = tables / np.maximum(of_child, 1)
    if criterion == "gini":
        return -(of_child[..., 0] * (1 - (shares**2).sum(axis=2))).sum(axis=1)
    logs = np.log2(np.where(shares > 0, shares, 1))
    return (tables * logs).sum(axis=(1, 2))
