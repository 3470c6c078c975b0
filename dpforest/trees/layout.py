"""The flat layout of all forests: arrays with one element per node, tree after tree, each in level order."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

NUMERIC, ONE_VS_REST, MULTIWAY, LEAF = 0, 1, 2, 3
NO_THRESHOLD = 65_535  # no uint16 code is larger, so `code > NO_THRESHOLD` never holds


@dataclass(frozen=True, eq=False)
class Trees:
    """Trees as flat arrays of tests, without any counts of rows.

    A node tests the integer code x of one feature (see `Domain.encode`):

    ============= ============================ ==================================
    kind          test                         child taken
    ============= ============================ ==================================
    NUMERIC       ``x > threshold``            ``first_child + (x > threshold)``
    ONE_VS_REST   ``x == threshold``           ``first_child + (x == threshold)``
    MULTIWAY      one child per code           ``first_child + x``
    LEAF          none                         stays
    ============= ============================ ==================================

    Parameters
    ----------
    kind : uint8 array of shape (n_nodes,)
        NUMERIC, ONE_VS_REST, MULTIWAY or LEAF.
    feature : int32 array of shape (n_nodes,)
        Index into ``domain.features``; -1 in leaves.
    threshold : int32 array of shape (n_nodes,)
        Code with which the test compares x; -1 if the node has no threshold.
    first_child : int32 array of shape (n_nodes,)
        Index of the first child among all nodes of the forest; a leaf points to itself.
    tree_start : int64 array of shape (n_trees + 1,)
        Index of the first node of each tree; the last element is the number of nodes. Nodes of a tree are in level
        order, and children of a node are adjacent.
    depth : int
        Largest allowed number of tests on a path.

    Notes
    -----
    Leaves are numbered over the whole forest in the order of their nodes; see `leaf_nodes` and `leaf_start`.
    """

    kind: np.ndarray
    feature: np.ndarray
    threshold: np.ndarray
    first_child: np.ndarray
    tree_start: np.ndarray
    depth: int

    @property
    def n_trees(self) -> int:
        return len(self.tree_start) - 1

    @property
    def n_nodes(self) -> int:
        return int(self.tree_start[-1])

    @property
    def n_leaves(self) -> int:
        return int(self.leaf_start[-1])

    @cached_property
    def leaf_nodes(self) -> np.ndarray:
        """Node index of each leaf, int64 (n_leaves,)."""
        return np.flatnonzero(self.kind == LEAF)

    @cached_property
    def leaf_start(self) -> np.ndarray:
        """Number of the first leaf of each tree, int64 (n_trees + 1,); the last element is the number of leaves."""
        return np.searchsorted(self.leaf_nodes, self.tree_start)

    @cached_property
    def leaf_of_node(self) -> np.ndarray:
        """Leaf number of each node, int32 (n_nodes,); -1 for inner nodes."""
        leaf = np.full(self.n_nodes, -1, np.int32)
        leaf[self.leaf_nodes] = np.arange(len(self.leaf_nodes), dtype=np.int32)
        return leaf

    @cached_property
    def is_complete(self) -> bool:
        """Whether all tests are binary and all leaves are at `depth`.

        If so, node i of a tree has the children 2i + 1 and 2i + 2 of the same tree.
        """
        size = 2 ** (self.depth + 1) - 1
        if self.depth < 1 or np.any(np.diff(self.tree_start) != size) or np.any(self.kind == MULTIWAY):
            return False
        local = np.arange(self.n_nodes, dtype=np.int64) % size
        base = np.repeat(self.tree_start[:-1], size)
        inner = local < size // 2
        expected = np.where(inner, base + 2 * local + 1, base + local)
        return bool(np.array_equal(expected, self.first_child) and np.array_equal(inner, self.kind != LEAF))

    @cached_property
    def parent(self) -> np.ndarray:
        """Parent of each node, int32 (n_nodes,); a root is its own parent."""
        n_children = self.n_children
        inner = np.flatnonzero(n_children)
        parent = np.arange(self.n_nodes, dtype=np.int32)
        children = np.repeat(
            self.first_child[inner] - np.cumsum(n_children[inner]) + n_children[inner], n_children[inner]
        )
        parent[children + np.arange(len(children))] = np.repeat(inner, n_children[inner])
        return parent

    @cached_property
    def n_children(self) -> np.ndarray:
        """Number of children of each node, int64 (n_nodes,).

        Nodes are in level order, so the children of a node end where the children of the next inner node begin.
        """
        inner = np.flatnonzero(self.kind != LEAF)
        first = self.first_child[inner].astype(np.int64)
        tree_end = self.tree_start[np.searchsorted(self.tree_start, inner, side="right")]
        following = np.append(first[1:], self.n_nodes)
        n_children = np.zeros(self.n_nodes, np.int64)
        n_children[inner] = np.minimum(following, tree_end) - first
        return n_children

    @cached_property
    def level(self) -> np.ndarray:
        """Number of tests above each node, uint8 (n_nodes,)."""
        level = np.zeros(self.n_nodes, np.uint8)
        nodes = self.tree_start[:-1]
        for above in range(self.depth + 1):  # one level more than allowed, so that `check` sees a path that is too long
            inner = nodes[self.kind[nodes] != LEAF]
            width = self.n_children[inner]
            first = self.first_child[inner] - (np.cumsum(width) - width)
            nodes = np.repeat(first, width) + np.arange(width.sum())
            level[nodes] = above + 1
        return level

    def select(self, tree: int) -> "Trees":
        """Return one tree as a forest of one tree."""
        return self.between(tree, tree + 1)

    def between(self, first: int, last: int) -> "Trees":
        """Return the trees from `first` to `last` - 1 as a forest."""
        a, b = int(self.tree_start[first]), int(self.tree_start[last])
        return Trees(
            self.kind[a:b],
            self.feature[a:b],
            self.threshold[a:b],
            self.first_child[a:b] - np.int32(a),
            self.tree_start[first : last + 1] - a,
            self.depth,
        )

    def check(self, n_codes: np.ndarray) -> None:
        """Raise ValueError unless the arrays describe trees over the features of a domain.

        Parameters
        ----------
        n_codes : int array of shape (n_features,)
            Number of codes of each feature: 65,536 for a numeric feature.

        Notes
        -----
        The kernels check no bounds, so this check must refuse every array with which they would read out of bounds.
        """
        n = len(self.kind)
        arrays = (self.kind, self.feature, self.threshold, self.first_child)
        start = self.tree_start
        is_consistent = all(a.ndim == 1 and len(a) == n for a in arrays) and start.ndim == 1 and len(start) >= 2
        # Compare instead of subtracting: a difference of huge numbers can overflow.
        is_consistent = is_consistent and start[0] == 0 and start[-1] == n and bool(np.all(start[1:] > start[:-1]))
        if not is_consistent or np.any(self.kind > LEAF):
            raise ValueError("the trees' arrays do not fit together")
        inner = self.kind != LEAF
        if np.any((self.feature[inner] < 0) | (self.feature[inner] >= len(n_codes))):
            raise ValueError("a test names a feature that the domain does not have")
        binary = (self.kind == NUMERIC) | (self.kind == ONE_VS_REST)
        thresholds = self.threshold[binary]
        if np.any(thresholds < 0) or np.any(thresholds >= n_codes[self.feature[binary]]):
            raise ValueError("a threshold lies outside the codes of its attribute")
        # The kernels pack threshold and feature into one 32-bit word, so a threshold of more than 16 bits would change
        # the feature.
        if np.any(self.threshold > NO_THRESHOLD):
            raise ValueError("a threshold lies outside the codes 0..65,535")
        width = np.where(inner, 2, 0)
        multi = self.kind == MULTIWAY
        width[multi] = n_codes[self.feature[multi]]
        nodes = np.arange(n)
        end = self.tree_start[np.searchsorted(self.tree_start, nodes, side="right")]
        child = self.first_child.astype(np.int64)
        if np.any(child[~inner] != nodes[~inner]):
            raise ValueError("a leaf must point to itself")
        if np.any((child[inner] <= nodes[inner]) | (child[inner] + width[inner] > end[inner])):
            raise ValueError("a child lies outside its tree")
        if not np.array_equal(self.n_children, width):
            raise ValueError("the children of a node are not side by side in level order")
        if width.sum() != n - self.n_trees:
            raise ValueError("a node has no parent")
        if int(self.level.max(initial=0)) > self.depth:
            raise ValueError("a path is longer than the stated depth")
