"""Friedman and Schuster's tree as published: attributes and cuts are drawn, and noisy counts decide where branches end.

The tree is private ID3 by the exponential mechanism, with cuts of numeric attributes (A. Friedman, A. Schuster, *Data
mining with differential privacy*, KDD 2010). Draws are in floating point, so the tree is only for the curator (the data
holder), and is never released.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Final

import numpy as np

from dpforest.checks import check_count
from dpforest.limits import MAX_DEPTH
from dpforest.models.preparation import Preparation
from dpforest.models.random.spec import PUBLISHED_LEAF_CAP, leaf_cap_sentences
from dpforest.privacy.ledger import Ledger, rows_changed
from dpforest.tables.domain import Domain
from dpforest.trees.layout import LEAF, MULTIWAY, NUMERIC, Trees
from dpforest.trees.split_scores import COUNTED

GAIN_RATIO: Final = "gain_ratio"
CRITERIA: Final = (*COUNTED, GAIN_RATIO)


@dataclass(frozen=True)
class PublishedTreeSpec:
    """The plan of the paper's tree, made before the fit reads a row.

    The fields have the names of the parameters of `FriedmanSchusterClassifier`, with values in place of "auto".
    `n_bound` is the public number of rows, or a public bound on this number. Without privacy, `epsilon` is None, and
    the best splits grow the tree until a node is empty or has only one class.

    On a path from the root, the fit asks for a noisy count at every node, and for the class counts of the leaf. At
    every level, it also draws an attribute, and a cut of each numeric attribute. With n numeric attributes and depth d,
    these are (2 + n) d + 2 answers, and each answer costs an equal share of epsilon (`share`). Let t be the largest
    number of children of a split. A node is a leaf if its noisy count, divided by the number of classes and by t, is
    less than √2 divided by this share.
    """

    epsilon: Fraction | None
    depth: int
    criterion: str
    n_bound: int
    neighbors: str
    preparation: Preparation = Preparation()  # the paper's fit asks nothing before trees grow

    def __post_init__(self) -> None:
        check_count("max_depth", self.depth, 1, MAX_DEPTH)

    def charge(self, ledger: Ledger) -> None:
        """Enter the queries of the fit into the ledger, without a budget."""
        if self.epsilon is None:
            ledger.charge("exact splits and counts of every leaf", "none", 1, None, 1, "sequential")
        else:
            ledger.charge("counts, cuts and splits, as published", "exponential, Laplace", 1, None, 1, "sequential")

    def share(self, domain: Domain) -> Fraction | None:
        """Return the ε of each answer; None without privacy."""
        return (
            None if self.epsilon is None else self.epsilon / ((2 + len(_numeric_attributes(domain))) * self.depth + 2)
        )

    def ideal_loss(self, domain: Domain) -> Fraction | None:
        """Return the loss of all answers in exact arithmetic; None without privacy, or if scores have no bound.

        Each answer has an equal `share` of epsilon. A count costs this share. A draw costs half of this share, because
        an added row changes all scores of a node in the same direction.
        """
        share = self.share(domain)
        if share is None or self.criterion == GAIN_RATIO:
            return None
        draws = (1 + len(_numeric_attributes(domain))) * self.depth
        return share * (self.depth + 2 + Fraction(draws, 2)) * rows_changed(self.neighbors)

    def departures(self, domain: Domain) -> tuple[str, ...]:
        """Return sentences for the certificate about differences from the paper's tree."""
        return leaf_cap_sentences(domain, self.depth, "multiway", PUBLISHED_LEAF_CAP)

    def grow(self, domain: Domain, codes: np.ndarray, y: np.ndarray, *, seed: int) -> tuple[Trees, np.ndarray]:
        """Return the tree, and the number of rows of each class in each leaf, int64 (n_leaves, n_classes).

        Parameters
        ----------
        domain : Domain
            Domain that encoded the rows.
        codes : uint16 array of shape (n, n_features)
            Codes of `Domain.encode`.
        y : int32 array of shape (n,)
            Class index of each row.
        seed : int
            Seed of all draws.
        """
        share = self.share(domain)
        return _Growth(self, domain, codes, y, None if share is None else float(share), seed).tree()


def sensitivity(criterion: str, n_bound: int) -> float:
    """Return the paper's bound on the change of a score by one row.

    The gain ratio has no bound; for this criterion, return the bound on the change of the gain.
    """
    gain = float(np.log2(n_bound + 1) + 1 / np.log(2))
    return {"max": 1.0, "gini": 2.0}.get(criterion, gain)


def score(tables: np.ndarray, criterion: str) -> np.ndarray:
    """Return the score of each split, from the class counts of its children (n_splits, n_children, n_classes).

    "max": number of rows that the children's majority votes classify correctly. "gini" and "entropy": minus the sum,
    over children, of a child's number of rows times its impurity, or its entropy in bits. "gain_ratio": number of rows
    times the gain ratio, which is 0 if all rows are in one child.

    >>> split = np.array([[[4, 0], [1, 3]]])
    >>> [round(float(score(split, criterion)[0]), 4) for criterion in CRITERIA]
    [-1.5, 7.0, -3.2451, 4.3904]
    """
    if criterion == "max":
        return tables.max(axis=2).sum(axis=1).astype(float)
    child_sizes = tables.sum(axis=2)
    if criterion == "gini":
        return (np.square(tables, dtype=float).sum(axis=2) / np.maximum(child_sizes, 1)).sum(axis=1) - child_sizes.sum(
            axis=1
        )
    child_entropy = (_n_log_n(child_sizes) - _n_log_n(tables).sum(axis=2)).sum(axis=1)
    if criterion == "entropy":
        return -child_entropy
    n = child_sizes.sum(axis=1)
    gain = _n_log_n(n) - _n_log_n(tables.sum(axis=1)).sum(axis=1) - child_entropy
    split_information = _n_log_n(n) - _n_log_n(child_sizes).sum(axis=1)
    return n * np.divide(gain, split_information, out=np.zeros(len(n)), where=split_information > 1e-9)


def choice_law(scores: np.ndarray, weights: np.ndarray | float, share: float, spread: float) -> np.ndarray:
    """Return the probability of each choice, proportional to its weight times exp(ε' q / (2 Δ)) for its score q.

    Here ε' is `share` and Δ is `spread`.
    """
    logits = share * scores / (2 * spread) + np.log(weights)
    shares = np.exp(logits - logits.max())
    return shares / shares.sum()


def _n_log_n(n: np.ndarray) -> np.ndarray:
    """Return n log2(n) for each count n; 0 for n = 0."""
    return n * np.log2(np.maximum(n, 1))


def _numeric_attributes(domain: Domain) -> list[int]:
    return [j for j, feature in enumerate(domain.features) if feature.kind == "numeric"]


@dataclass
class _Node:
    """A node: its rows, the number of tests above it, and the tests that are still possible at this node and below.

    `categories` are the categorical attributes that no node above tests. `ranges` holds, for each numeric attribute,
    the codes that can reach this node.
    """

    rows: np.ndarray
    level: int
    categories: frozenset[int]
    ranges: dict[int, tuple[int, int]] = field(default_factory=dict)


@dataclass
class _Split:
    """The test of a node, and its children."""

    feature: int
    cut: int | None  # None if the split has a child for each category
    children: Sequence[_Node]


class _Growth:
    """Growth of one tree, level by level, so that its nodes are in the order that `Trees` requires."""

    def __init__(
        self, spec: PublishedTreeSpec, domain: Domain, codes: np.ndarray, y: np.ndarray, share: float | None, seed: int
    ) -> None:
        self.spec, self.domain, self.codes, self.y, self.share = spec, domain, codes, y, share
        self.draw = np.random.default_rng(seed)
        self.widths = [2 if f.kind == "numeric" else f.n_codes for f in domain.features]
        self.spread = sensitivity(spec.criterion, spec.n_bound)

    def tree(self) -> tuple[Trees, np.ndarray]:
        """Grow the tree. Return the tree and the class counts of its leaves (`PublishedTreeSpec.grow`)."""
        features = self.domain.features
        categories = frozenset(j for j, f in enumerate(features) if f.kind != "numeric" and f.n_codes > 1)
        ranges = {j: (0, features[j].n_codes - 1) for j in _numeric_attributes(self.domain)}
        nodes = [_Node(np.arange(len(self.y)), 0, categories, ranges)]
        tests, counts, n_leaves = list[tuple[int, int, int, int]](), list[np.ndarray](), 1
        for number, node in enumerate(nodes):  # the loop appends to `nodes`
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
        """Return the split of a node; None for a leaf."""
        may_split = self._may_split(node)  # ask this at every node, also on the last level, as the paper does
        open_ranges = [j for j, (low, high) in node.ranges.items() if low < high]
        features = sorted([*node.categories, *open_ranges])
        if not may_split or node.level == self.spec.depth or not features:
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
            remaining = node.categories - {j}
            row_groups = np.split(node.rows[order], ends)
            return _Split(j, None, [_Node(part, node.level + 1, remaining, node.ranges) for part in row_groups])
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

    def _may_split(self, node: _Node) -> bool:
        """Return whether a node has a large noisy count; without privacy, whether its rows have several classes."""
        if self.share is None:
            return len(np.unique(self.y[node.rows])) > 1
        noisy = len(node.rows) + self.draw.laplace(scale=1 / self.share)
        return bool(noisy / (max(self.widths) * self.domain.n_classes) >= np.sqrt(2) / self.share)

    def _cut(self, node: _Node, j: int) -> int:
        """Draw a cut of a numeric attribute.

        All cuts between two neighboring values have the same score. So the mechanism draws an interval between two such
        values, with its number of cuts as weight, and then a cut of the interval. Without privacy, return the middle of
        the first interval with the best score.
        """
        low, high = node.ranges[j]
        edges, edge_index = np.unique(np.r_[low, high, self.codes[node.rows, j]], return_inverse=True)
        # All cuts between two neighboring edges divide the rows in the same way.
        n, k = len(edges), self.domain.n_classes
        table = np.bincount(edge_index[2:] * k + self.y[node.rows], minlength=n * k).reshape(n, k)
        below = table.cumsum(axis=0)[:-1]
        scores = score(np.stack([below, table.sum(axis=0) - below], axis=1), self.spec.criterion)
        i = self._choose(scores, np.diff(edges))
        first, last = int(edges[i]), int(edges[i + 1]) - 1
        return (first + last) // 2 if self.share is None else int(self.draw.integers(first, last + 1))

    def _table(self, rows: np.ndarray, j: int, cut: int | None) -> np.ndarray:
        """Return the class counts of the children that a split on attribute j would have, (n_children, n_classes).

        The split is at `cut`; if `cut` is None, each category has a child.
        """
        codes, n_classes = self.codes[rows, j], self.domain.n_classes
        child_index = codes.astype(np.int64) if cut is None else (codes > cut).astype(np.int64)
        cells = self.widths[j] * n_classes
        return np.bincount(child_index * n_classes + self.y[rows], minlength=cells).reshape(-1, n_classes)

    def _choose(self, scores: np.ndarray, weights: np.ndarray | float = 1.0) -> int:
        """Draw a choice by the exponential mechanism with weights. Without privacy, return the first best choice."""
        if self.share is None:
            return int(scores.argmax())
        return int(self.draw.choice(len(scores), p=choice_law(scores, weights, self.share, self.spread)))

    def _counts(self, rows: np.ndarray) -> np.ndarray:
        return np.bincount(self.y[rows], minlength=self.domain.n_classes)
