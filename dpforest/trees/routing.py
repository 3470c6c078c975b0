"""Route rows to leaves: pack trees for the kernels, and distribute blocks of rows among threads."""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache, partial
from typing import Any

import numpy as np

from dpforest.limits import BLOCK_ROWS
from dpforest.tables.domain import Domain
from dpforest.trees import kernels
from dpforest.trees.layout import LEAF, MULTIWAY, NO_THRESHOLD, ONE_VS_REST, Trees

_MAX_COLUMNS = 2**15  # a feature has 15 bits in a packed node


@lru_cache(maxsize=2)  # keyed by the identity of `trees`; one fit calls this function three times
def pack(trees: Trees, n_features: int) -> tuple:
    """Return the input of the kernels: nodes packed into one word each, and the extra columns of one-vs-rest tests.

    A one-vs-rest test ``x[f] == v`` becomes ``extra > 0`` on an extra column for the pair (f, v), so that the kernels
    need only one kind of binary test. A leaf points to itself, and its packed test never holds. So a row that has
    reached a leaf stays there, while other rows descend further.

    Returns
    -------
    tuple
        Packed nodes, first child and leaf number of each node, first node and first leaf of each tree, feature and
        category of each extra column, depth, and whether all trees are complete and binary with a depth of at least 2.

    Raises
    ------
    ValueError
        If a test does not fit into a packed node. The kernels do not check this.
    """
    if trees.feature.max(initial=-1) >= n_features:
        raise ValueError("a test names a feature that the domain does not have")
    if trees.threshold.max(initial=-1) > NO_THRESHOLD:
        raise ValueError("a threshold lies outside the codes 0..65,535")
    feature = np.maximum(trees.feature, 0).astype(np.int64)
    threshold = np.where(trees.threshold < 0, 0, trees.threshold).astype(np.int64)
    one_vs_rest = np.flatnonzero(trees.kind == ONE_VS_REST)
    pairs, index_of_pair = np.unique(
        np.stack([feature[one_vs_rest], threshold[one_vs_rest]]), axis=1, return_inverse=True
    )
    feature[one_vs_rest] = n_features + index_of_pair.ravel()
    threshold[one_vs_rest] = 0
    if n_features + pairs.shape[1] > _MAX_COLUMNS:
        raise ValueError(
            f"the trees test {pairs.shape[1]:,} different categories of {n_features:,} features, more than "
            f"{_MAX_COLUMNS:,} together; use categorical='multiway' or 'ordered', or fewer columns"
        )
    leaf = trees.kind == LEAF
    feature[leaf], threshold[leaf] = 0, 0xFFFF
    word = feature << 16 | threshold
    word[trees.kind == MULTIWAY] |= 1 << 31
    complete = trees.is_complete and trees.depth >= 2
    return (
        word.astype(np.uint32),
        trees.first_child.astype(np.int32),
        trees.leaf_of_node,
        trees.tree_start.astype(np.int64),
        trees.leaf_start.astype(np.int64),
        pairs[0].astype(np.int64),
        pairs[1].astype(np.uint16),
        int(trees.depth),
        bool(complete),
    )


def check_codes(domain: Domain, codes: np.ndarray) -> np.ndarray:
    """Return codes unchanged. Raise ValueError if they are not codes of the domain, because kernels check no bounds."""
    requirement = f"codes are uint16 of shape (n, {domain.n_features:,}), as Domain.encode gives them"
    if not isinstance(codes, np.ndarray) or codes.dtype != np.uint16 or codes.ndim != 2:
        raise ValueError(f"{requirement}, not {getattr(codes, 'dtype', type(codes).__name__)} {np.shape(codes)}")
    if codes.shape[1] != domain.n_features:
        raise ValueError(f"{requirement}, not {codes.shape[1]:,} columns")
    for j, feature in enumerate(domain.features):
        if feature.kind == "categorical" and (highest := int(codes[:, j].max(initial=0))) >= feature.n_codes:
            raise ValueError(
                f"{feature.name!r} has the codes 0 to {feature.n_codes - 1:,}, but a row has the code {highest:,}"
            )
    return codes


def blocks(domain: Domain, X, *, n_jobs: int = 1) -> Iterator[tuple[slice, Callable[[], np.ndarray]]]:
    """Yield a slice of rows and a function that encodes it, for each block of at most `BLOCK_ROWS` rows.

    With several threads, there are at least two blocks for each thread.
    """
    n = len(X)
    size = BLOCK_ROWS
    if n_jobs > 1:  # each thread gets equally many blocks of equal size, so that all threads end together
        size = max(1, -(-n // (n_jobs * max(2, -(-n // (BLOCK_ROWS * n_jobs))))))
    rows = X.iloc if hasattr(X, "iloc") else X
    for start in range(0, n, size):
        part = slice(start, min(start + size, n))
        yield part, partial(_encode_part, domain, rows, part)


def _encode_part(domain: Domain, rows: Any, part: slice) -> np.ndarray:
    return encoded(domain, rows[part])


def encoded(domain: Domain, X) -> np.ndarray:
    """Return the codes of X. If X already holds codes (uint16), return X, so that callers can encode rows only once."""
    return X if isinstance(X, np.ndarray) and X.dtype == np.uint16 else domain.encode(X)


def for_each_block(domain: Domain, X, work: Callable[[slice, np.ndarray], None], n_jobs: int = 1) -> None:
    """Call work(rows, codes) for each block, in `n_jobs` threads (kernels release the interpreter lock)."""
    if n_jobs == 1:
        for part, codes in blocks(domain, X):
            work(part, codes())
        return
    with ThreadPoolExecutor(n_jobs) as pool:

        def encode_and_work(part: slice, codes: Callable[[], np.ndarray]) -> None:
            work(part, codes())

        for future in [pool.submit(encode_and_work, *block) for block in blocks(domain, X, n_jobs=n_jobs)]:
            future.result()


def count_rows(
    trees: Trees,
    domain: Domain,
    X,
    y,
    *,
    n_classes: int,
    tree_of_row=None,
    weight: np.ndarray | None = None,
    n_jobs: int = 1,
) -> np.ndarray:
    """Count the rows of each class in each leaf. Only the data holder may see these exact counts.

    Parameters
    ----------
    trees : Trees
        The trees whose leaves count rows.
    domain : Domain
        Public schema, which encodes `X`.
    X : array or DataFrame of shape (n, n_features)
        Raw values, or their uint16 codes.
    y : int32 array of shape (n,)
        Class index of each row.
    n_classes : int
        Number of classes.
    tree_of_row : int32 array of shape (n,) or None
        Index of the tree that counts each row; None counts every row in every tree.
    weight : int64 array of shape (n,), optional
        Amount that each row adds to a count; by default 1.
    n_jobs : int
        Number of threads.

    Returns
    -------
    int64 array of shape (n_leaves, n_classes)
        Number, or total weight, of the rows of each class in each leaf.
    """
    packed = pack(trees, len(domain.features))
    counts: list[np.ndarray] = []
    free: list[np.ndarray] = []

    def work(rows: slice, codes: np.ndarray) -> None:
        try:
            thread_counts = free.pop()
        except IndexError:
            thread_counts = np.zeros((trees.n_leaves, n_classes), np.int64)
            counts.append(thread_counts)
        weights = None if weight is None else weight[rows]
        if tree_of_row is None:
            kernels.count_all(codes, y[rows], weights, packed, thread_counts)
        else:
            kernels.count_assigned(codes, y[rows], weights, tree_of_row[rows], packed, thread_counts)
        free.append(thread_counts)

    for_each_block(domain, X, work, n_jobs)
    return sum(counts[1:], counts[0]) if counts else np.zeros((trees.n_leaves, n_classes), np.int64)


def leaves_of_rows(trees: Trees, domain: Domain, X, *, n_jobs: int = 1) -> np.ndarray:
    """Return the leaf number of each row in each tree, int32 (n_trees, n)."""
    packed = pack(trees, len(domain.features))
    leaves = np.empty((trees.n_trees, len(X)), np.int32)
    for_each_block(
        domain, X, lambda rows, codes: kernels.find_leaves(codes, packed, packed[4], leaves[:, rows]), n_jobs
    )
    return leaves


def leaves_in(trees: Trees, domain: Domain, codes: np.ndarray, leaves: np.ndarray, *, n_jobs: int = 1) -> None:
    """Write the leaf of each row, counted from the first leaf of its tree, to `leaves`, uint16 (n_trees or more, n)."""
    packed = pack(trees, len(domain.features))
    first = np.zeros_like(packed[4])
    for_each_block(domain, codes, lambda rows, part: kernels.find_leaves(part, packed, first, leaves[:, rows]), n_jobs)


def scorer(trees: Trees, domain: Domain, leaf_values: np.ndarray) -> Callable[[np.ndarray], np.ndarray]:
    """Return a function that maps codes to sums over the leaves that each row reaches, (n, n_classes).

    If `leaf_values` holds labels, uint8 (n_leaves,), the sums count votes. If it holds a number for each leaf and
    class, float64 (n_leaves, n_classes), the sums add up these numbers.
    """
    packed = pack(trees, len(domain.features))
    kernel, dtype = (kernels.count_votes, np.int32) if leaf_values.ndim == 1 else (kernels.add_shares, np.float64)

    def score(codes: np.ndarray) -> np.ndarray:
        out = np.zeros((len(codes), domain.n_classes), dtype)
        kernel(codes, packed, leaf_values, out)
        return out

    return score


def votes_at_leaves(leaves: np.ndarray, labels: np.ndarray, n_classes: int) -> np.ndarray:
    """Return the votes for each class, int32 (n, n_classes), of rows whose leaves (n_trees, n) are known."""
    votes = np.zeros((leaves.shape[1], n_classes), np.int32)
    kernels.count_votes_at(leaves, labels, votes)
    return votes


def shares_at_leaves(leaves: np.ndarray, shares: np.ndarray) -> np.ndarray:
    """Return the sums of shares, float64 (n, n_classes), of rows whose leaves (n_trees, n) are known."""
    total = np.zeros((leaves.shape[1], shares.shape[1]))
    kernels.add_shares_at(leaves, shares, total)
    return total


def sums_at_leaves(leaves: np.ndarray, leaf_values: np.ndarray, n_classes: int) -> np.ndarray:
    """Return the sums that `scorer` computes, (n, n_classes), for rows whose leaves (n_trees, n) are known."""
    values = np.ascontiguousarray(leaf_values)
    if leaf_values.ndim == 1:
        return votes_at_leaves(leaves, values, n_classes)
    return shares_at_leaves(leaves, values)
