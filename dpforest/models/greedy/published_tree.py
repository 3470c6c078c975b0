"""Friedman and Schuster's tree as they publish it: noisy counts end branches, attributes and cuts are drawn.

A. Friedman, A. Schuster, *Data mining with differential privacy* (KDD 2010): private ID3 by the exponential mechanism,
and its way with numbers. Drawn in floating point, so never a release; curator only.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Final

import numpy as np

from dpforest.checks import check_count
from dpforest.limits import MAX_DEPTH
from dpforest.models.preparation import Preparation
from dpforest.models.random.spec import PUBLISHED_LEAF_CAP, capped
from dpforest.privacy.ledger import Ledger, rows_changed
from dpforest.tables.domain import Domain
from dpforest.trees.layout import LEAF, MULTIWAY, NUMERIC, Trees
from dpforest.trees.split_scores import COUNTED

GAIN_RATIO: Final = "gain_ratio"
CRITERIA: Final = (*COUNTED, GAIN_RATIO)


@dataclass(frozen=True)
class PublishedTreeSpec:
    """The paper's tree before it has seen a row. `n_bound` is public: a bound on the rows, or their number.

    A path asks for a noisy count at every node, for an attribute and a cut of each number at every level, and for the
    class counts of its leaf: with n numeric attributes (2 + n) d + 2 answers, which share epsilon equally. A node is a
    leaf where its noisy count, over t classes, is less than √2 over that share; t is the most values of an attribute.
    Parameters as in `FriedmanSchusterClassifier`, resolved; `epsilon` is None without privacy: the best splits, until
    a node is empty or of one class.
    """

    epsilon: Fraction | None
    depth: int
    criterion: str
    n_bound: int
    neighbors: str
    preparation: Preparation = Preparation()  # nothing

    def __post_init__(self) -> None:
        check_count("max_depth", self.depth, 1, MAX_DEPTH)

    def charge(self, ledger: Ledger) -> None:
        """Take the right to ask, which comes without a budget behind it."""
        if self.epsilon is None:
            ledger.charge("exact splits and counts of every leaf", "none", 1, None, 1, "sequential")
        else:
            ledger.charge("counts, cuts and splits, as published", "exponential, Laplace", 1, None, 1, "sequential")

    def share(self, domain: Domain) -> Fraction | None:
        """ε of each answer."""
        return None if self.epsilon is None else self.epsilon / ((2 + len(_numeric(domain))) * self.depth + 2)

    def ideal_loss(self, domain: Domain) -> Fraction | None:
        """What the answers would lose if real numbers were real; None where scores have no bound.

        A count costs its share. A draw costs half of it, as one row moves all scores of a node the same way.
        """
        share = self.share(domain)
        if share is None or self.criterion == GAIN_RATIO:
            return None
        draws = (1 + len(_numeric(domain))) * self.depth
        return share * (self.depth + 2 + Fraction(draws, 2)) * rows_changed(self.neighbors)

    def departures(self, domain: Domain) -> tuple[str, ...]:
        """What the certificate says of where this is not the paper's tree."""
        return capped(domain, self.depth, "multiway", PUBLISHED_LEAF_CAP)

    def grow(self, domain: Domain, codes: np.ndarray, y: np.ndarray, *, seed: int) -> tuple[Trees, np.ndarray]:
        """The tree, and the rows of each class in its leaves, int64 (n_leaves, n_classes).

        Parameters
        ----------
        codes : uint16 array of shape (n, n_features)
        y : int32 array of shape (n,)
        seed : int
        """
        share = self.share(domain)
        return _Growth(self, domain, codes, y, None if share is None else float(share), seed).tree()


def sensitivity(criterion: str, n_bound: int) -> float:
    """What the paper says that one row changes a score by; of the gain ratio, which has no bound, as of the gain."""
    gain = float(np.log2(n_bound + 1) + 1 / np.log(2))
    return {"max": 1.0, "gini": 2.0}.get(criterion, gain)


def score(tables: np.ndarray, criterion: str) -> np.ndarray:
    """The score of each split from the class counts of its children (n_splits, n_children, n_classes).

    Rows that majorities get right; less the impurity, or less the entropy in bits, of the children's rows; or rows
    times the gain ratio, which is 0 where all rows are in one child.

    >>> split = np.array([[[4, 0], [1, 3]]])
    >>> [round(float(score(split, criterion)[0]), 4) for criterion in CRITERIA]
    [-1.5, 7.0, -3.2451, 4.3904]
    """
    if criterion == "max":
        return tables.max(axis=2).sum(axis=1).astype(float)
    of_child = tables.sum(axis=2)
    if criterion == "gini":
        return (np.square(tables, dtype=float).sum(axis=2) / np.maximum(of_child, 1)).sum(axis=1) - of_child.sum(axis=1)
    inside = (_n_log_n(of_child) - _n_log_n(tables).sum(axis=2)).sum(axis=1)
    if criterion == "entropy":
        return -inside
    n = of_child.sum(axis=1)
    gain = _n_log_n(n) - _n_log_n(tables.sum(axis=1)).sum(axis=1) - inside
    apart = _n_log_n(n) - _n_log_n(of_child).sum(axis=1)
    return n * np.divide(gain, apart, out=np.zeros(len(n)), where=apart > 1e-9)


def choice_law(scores: np.ndarray, weights: np.ndarray | float, share: float, spread: float) -> np.ndarray:
    """Probability of each choice: in proportion to its weight and to exp(ε' q / (2 Δ))."""
    logits = share * scores / (2 * spread) + np.log(weights)
    shares = np.exp(logits - logits.max())
    return shares / shares.sum()


def _n_log_n(n: np.ndarray) -> np.ndarray:
    return n * np.log2(np.maximum(n, 1))


def _numeric(domain: Domain) -> list[int]:
    return [j for j, feature in enumerate(domain.features) if feature.kind == "numeric"]


@dataclass
class _Node:
    """Rows of a node, how many tests are above it, the categories left to ask for, and codes left of each number."""

    rows: np.ndarray
    level: int
    categories: frozenset[int]
    ranges: dict[int, tuple[int, int]] = field(default_factory=dict)


@dataclass
class _Split:
    feature: int
    cut: int | None  # None: a child for each category
    children: Sequence[_Node]


class _Growth:
    """One tree, level by level, so that nodes come in the order of the flat layout."""

    def __init__(
        self, spec: PublishedTreeSpec, domain: Domain, codes: np.ndarray, y: np.ndarray, share: float | None, seed: int
    ) -> None:
        self.spec, self.domain, self.codes, self.y, self.share = spec, domain, codes, y, share
        self.draw = np.random.default_rng(seed)
        self.widths = [2 if f.kind == "numeric" else f.n_codes for f in domain.features]
        self.spread = sensitivity(spec.criterion, spec.n_bound)

    def tree(self) -> tuple[Trees, np.ndarray]:
        features = self.domain.features
        categories = frozenset(j for j, f in enumerate(features) if f.kind != "numeric" and f.n_codes > 1)
        ranges = {j: (0, features[j].n_codes - 1) for j in _numeric(self.domain)}
        nodes = [_Node(np.arange(len(self.y)), 0, categories, ranges)]
        tests, counts, n_leaves = list[tuple[int, int, int, int]](), list[np.ndarray](), 1
        for number, node in enumerate(nodes):  # which grows
            split = self._split(node)
            if split is None or n_leaves + len(split.children) - 1 > PUBLISHED_LEAF_CAP:
                tests.append((LEAF, -1, -1, number))
                counts.append(self._counts(node.rows))
            else:
                test, cut = (MULTIWAY, -1) if split.cut is None else (NUMERIC, split.cut)
                tests.append((test, split.feature, cut, len(nodes)))
                nodes.extend(split.children)
                n_leaves += len(split.children) - 1
            node.rows = node.rows[:0]
        kind, feature, threshold, child = (np.array(column, np.int32) for column in zip(*tests, strict=True))
        start = np.array([0, len(nodes)], np.int64)
        return Trees(kind.astype(np.uint8), feature, threshold, child, start, self.spec.depth), np.stack(counts)

    def _split(self, node: _Node) -> _Split | None:
        """How a node is split; None for a leaf."""
        enough = self._is_worth(node)  # asked of every node, also of the last level
        open_ranges = [j for j, (low, high) in node.ranges.items() if low < high]
        features = sorted([*node.categories, *open_ranges])
        if not enough or node.level == self.spec.depth or not features:
            return None
        cuts = {j: self._cut(node, j) for j in open_ranges}
        scores = np.concatenate(
            [score(self._table(node.rows, j, cuts.get(j))[None], self.spec.criterion) for j in features]
        )
        j = features[self._choose(scores)]
        if j not in cuts:
            codes = self.codes[node.rows, j]
            order = np.argsort(codes, kind="stable")
            ends = np.cumsum(np.bincount(codes, minlength=self.widths[j]))[:-1]
            left = node.categories - {j}
            parts = np.split(node.rows[order], ends)
            return _Split(j, None, [_Node(part, node.level + 1, left, node.ranges) for part in parts])
        cut, (low, high) = cuts[j], node.ranges[j]
        below = self.codes[node.rows, j] <= cut
        sides = ((node.rows[below], (low, cut)), (node.rows[~below], (cut + 1, high)))
        return _Split(
            j,
            cut,
            [
                _Node(part, node.level + 1, node.categories, {**node.ranges, j: part_range})
                for part, part_range in sides
            ],
        )

    def _is_worth(self, node: _Node) -> bool:
        if self.share is None:
            return len(np.unique(self.y[node.rows])) > 1
        noisy = len(node.rows) + self.draw.laplace(scale=1 / self.share)
        return bool(noisy / (max(self.widths) * self.domain.n_classes) >= np.sqrt(2) / self.share)

    def _cut(self, node: _Node, j: int) -> int:
        """A cut of a number: between two neighboring values all have one score, so their number is its weight."""
        low, high = node.ranges[j]
        edges, place = np.unique(np.r_[low, high, self.codes[node.rows, j]], return_inverse=True)
        n, k = len(edges), self.domain.n_classes  # cuts from one edge to below the next part the rows alike
        table = np.bincount(place[2:] * k + self.y[node.rows], minlength=n * k).reshape(n, k)
        below = table.cumsum(axis=0)[:-1]
        scores = score(np.stack([below, table.sum(axis=0) - below], axis=1), self.spec.criterion)
        i = self._choose(scores, np.diff(edges))
        first, last = int(edges[i]), int(edges[i + 1]) - 1
        return (first + last) // 2 if self.share is None else int(self.draw.integers(first, last + 1))

    def _table(self, rows: np.ndarray, j: int, cut: int | None) -> np.ndarray:
        """Class counts of the children (n_children, n_classes)."""
        codes, n_classes = self.codes[rows, j], self.domain.n_classes
        place = codes.astype(np.int64) if cut is None else (codes > cut).astype(np.int64)
        cells = self.widths[j] * n_classes
        return np.bincount(place * n_classes + self.y[rows], minlength=cells).reshape(-1, n_classes)

    def _choose(self, scores: np.ndarray, weights: np.ndarray | float = 1.0) -> int:
        """The exponential mechanism over choices of unequal weight; without privacy the first of the best."""
        if self.share is None:
            return int(scores.argmax())
        return int(self.draw.choice(len(scores), p=choice_law(scores, weights, self.share, self.spread)))

    def _counts(self, rows: np.ndarray) -> np.ndarray:
        return np.bincount(self.y[rows], minlength=self.domain.n_classes)
