"""Trees whose structure depends only on a public seed, a public domain and, if given, released distributions."""

import numpy as np
from numba import njit

from dpforest.limits import N_CODES
from dpforest.privacy.hashing import GOLDEN, MIX_1, MIX_2, mix
from dpforest.tables.domain import Domain
from dpforest.trees.forest_size import too_many_leaves
from dpforest.trees.layout import LEAF, MULTIWAY, NUMERIC, ONE_VS_REST, Trees
from dpforest.trees.released_scale import CELLS, ReleasedScale, code_at, mass_below, quantile_code

CATEGORICAL = ("multiway", "one-vs-rest", "ordered")
# The compiled functions take these numbers instead of the names of the choices.
_CATEGORICAL_NUMBER = {name: number for number, name in enumerate(CATEGORICAL)}
_THRESHOLD_NUMBER = {"node": 0, "domain": 1, "quantized": 2}


def grow_random_trees(
    domain: Domain,
    *,
    n_trees: int,
    depth: int,
    seed: int,
    categorical: str = "multiway",
    thresholds: str = "node",
    n_quantiles: int = 10,
    max_leaves: int = 4096,
    most_leaves: int | None = None,
    scale: ReleasedScale | None = None,
) -> Trees:
    """Draw a forest from a seed and a public domain, without any rows.

    Each inner node draws a feature uniformly. A path has at most one multiway test of each feature, because a multiway
    test separates all categories of the feature. Other kinds of tests may test the same feature again (papers: Bojarski
    et al., section 2; Fletcher & Islam, Algorithm 1).

    Parameters
    ----------
    domain : Domain
        Public schema. The trees depend on three facts about each attribute: its kind, its number of codes, and its
        number of codes that mean "missing".
    n_trees, depth : int
        Number of trees, and largest number of tests on a path. If there are no multiway tests, all leaves are at
        `depth`.
    seed : int
        Public seed. The draw of a node depends only on the seed, the tree and the node's index in the tree. So a larger
        forest begins with the same trees, and a deeper forest begins with the same levels.
    categorical : {"multiway", "one-vs-rest", "ordered"}
        Tests of categorical attributes: one child for each category, a test of one category, or a threshold on the
        public order of the categories.
    thresholds : {"node", "domain", "quantized"}
        Distribution of thresholds. Thresholds are codes, and numeric codes are positions on the public scale of a
        feature. "node": uniform on the codes that can reach the node (Fletcher & Islam). "domain": uniform on the whole
        public range (Bojarski et al.). "quantized": one of `n_quantiles` - 1 equally spaced cuts of the whole public
        range (Nock & Henecka).
    n_quantiles : int
        With ``thresholds="quantized"``, number of equal parts into which the cuts divide the range.
    max_leaves : int
        Public cap on the leaves of a tree with multiway tests. Nodes are split in level order. A node remains a leaf if
        its children would exceed the cap.
    most_leaves : int, optional
        Public cap on the leaves of all trees together.
    scale : ReleasedScale, optional
        Released distribution of each numeric feature. If given, the same draws yield thresholds that are uniform in
        this distribution instead of uniform on the public scale.

    Returns
    -------
    Trees
        The drawn trees. Every threshold is a code of its feature.

    Raises
    ------
    ValueError
        If the forest has more than `most_leaves` leaves. The function draws no further trees after it has passed this
        number.
    """
    features = domain.features
    is_categorical = np.array([f.kind == "categorical" for f in features])
    n_codes = np.array([f.n_codes if f.kind == "categorical" else N_CODES for f in features], np.int64)
    first_code = np.array([0 if f.kind == "categorical" else f.first_code for f in features], np.int64)
    multiway = is_categorical & (n_codes > 1) & (categorical == "multiway")
    leaf_cap = max_leaves if multiway.any() else 2**depth
    if most_leaves is not None and not multiway.any() and n_trees * leaf_cap > most_leaves:
        raise too_many_leaves(n_trees, depth, n_trees * leaf_cap, most_leaves)
    cumulative = np.zeros((0, CELLS + 1), np.int64) if scale is None else scale.of_features(domain)
    options = np.array([_CATEGORICAL_NUMBER[categorical], _THRESHOLD_NUMBER[thresholds], n_quantiles], np.int64)

    size = 2 * leaf_cap - 1
    kind = np.empty(size, np.uint8)
    feature, threshold, first_child, parent = (np.empty(size, np.int32) for _ in range(4))
    parts: list[tuple[np.ndarray, ...]] = []
    starts, n_leaves = [0], 0
    for tree in range(n_trees):
        arrays = (kind, feature, threshold, first_child, parent)
        with np.errstate(over="ignore"):  # hashes overflow on purpose; numpy warns about this if numba is off
            n = _grow_tree(
                seed, tree, depth, leaf_cap, is_categorical, multiway, n_codes, first_code, options, cumulative, *arrays
            )
        parts.append(
            (kind[:n].copy(), feature[:n].copy(), threshold[:n].copy(), first_child[:n] + np.int32(starts[-1]))
        )
        starts.append(starts[-1] + n)
        n_leaves += int(np.count_nonzero(kind[:n] == LEAF))
        if most_leaves is not None and n_leaves > most_leaves:
            raise too_many_leaves(n_trees, depth, None, most_leaves)
    kinds, features_of_nodes, thresholds_of_nodes, children = (
        np.concatenate(column) for column in zip(*parts, strict=True)
    )
    return Trees(kinds, features_of_nodes, thresholds_of_nodes, children, np.array(starts, np.int64), depth)


@njit(nogil=True, cache=True)
def _uniform(seed, tree, node, draw, n):
    """Return an integer below n, hashed from (seed, tree, node, draw) by two rounds of splitmix64's finalizer."""
    z = np.uint64(seed) * GOLDEN
    z += np.uint64(tree) * np.uint64(0xD1342543DE82EF95) + np.uint64(node) * MIX_1
    z += np.uint64(draw) * MIX_2
    for _ in range(2):
        z = mix(z) + GOLDEN
    return np.int64((z >> np.uint64(32)) * np.uint64(n) >> np.uint64(32))


@njit(nogil=True, cache=True)
def _grow_tree(
    seed,
    tree,
    depth,
    leaf_cap,
    is_categorical,
    multiway,
    n_codes,
    first_code,
    options,
    cumulative,
    kind,
    feature,
    threshold,
    first_child,
    parent,
):
    """Grow one tree breadth-first in the last five arrays, which are scratch space. Return its number of nodes.

    `options` holds the numbers of the choices `categorical` and `thresholds`, then `n_quantiles`. `cumulative` has no
    rows if there is no released scale.
    """
    m = len(n_codes)
    n_multiway = multiway.sum()
    parent[0] = -1
    n_nodes, n_leaves, level_end, level = 1, 1, 1, 0
    node = 0
    while node < n_nodes:
        if node == level_end:
            level += 1
            level_end = n_nodes
        kind[node], feature[node], threshold[node], first_child[node] = LEAF, -1, -1, node
        # `used` is the number of multiway tests above the node. Their features cannot be tested again below.
        used = 0
        above = parent[node] if level < depth and n_multiway > 0 else -1
        while above >= 0:
            used += kind[above] == MULTIWAY
            above = parent[above]
        if level < depth and (n_multiway < m or used < n_multiway):
            draw = 0
            while True:
                f = _uniform(seed, tree, node, draw, m)
                draw += 1
                is_used = False
                if multiway[f]:
                    above = parent[node]
                    while above >= 0:
                        is_used |= feature[above] == f
                        above = parent[above]
                if not is_used:
                    break
            width = n_codes[f] if multiway[f] else 2
            if n_leaves - 1 + width <= leaf_cap:
                feature[node] = f
                first_child[node] = n_nodes
                if multiway[f]:
                    kind[node] = MULTIWAY
                elif is_categorical[f] and options[0] == 1:
                    kind[node] = ONE_VS_REST
                    threshold[node] = _uniform(seed, tree, node, draw, n_codes[f])
                else:
                    kind[node] = NUMERIC
                    low, high = np.int64(0), n_codes[f] - 1
                    if options[1] == 0:
                        low, high = _range_at(node, f, low, high, parent, feature, threshold, first_child)
                    # If fewer than two codes can reach a node, no threshold separates them. The threshold must still be
                    # a code, so `min` bounds it.
                    if len(cumulative) > 0 and not is_categorical[f]:
                        cut = _scaled_cut(seed, tree, node, draw, options, cumulative[f], first_code[f], low, high)
                        threshold[node] = min(cut, n_codes[f] - 1)
                    elif options[1] == 2 and not is_categorical[f]:
                        # The threshold is the k-th border between n_quantiles equal parts of the codes of known values.
                        # Missing values have lower codes, so they go left.
                        k = 1 + _uniform(seed, tree, node, draw, options[2] - 1)
                        threshold[node] = first_code[f] + (n_codes[f] - first_code[f]) * k // options[2] - 1
                    else:
                        cut = low + _uniform(seed, tree, node, draw, max(high - low, 1))
                        threshold[node] = min(cut, n_codes[f] - 1)
                parent[n_nodes : n_nodes + width] = node
                n_nodes += width
                n_leaves += width - 1
        node += 1
    return n_nodes


@njit(nogil=True, cache=True)
def _scaled_cut(seed, tree, node, draw, options, cumulative, first, low, high):
    """Return a threshold from `low` to `high` - 1: a draw from the released distribution, or one of its quantiles."""
    last = max(high - 1, low)
    if options[1] == 2:
        part = 1 + _uniform(seed, tree, node, draw, options[2] - 1)
        return min(max(quantile_code(cumulative, first, part, options[2]) - 1, low), last)
    below, above = mass_below(cumulative, first, low), mass_below(cumulative, first, high)
    mass = below + _uniform(seed, tree, node, draw, max(above - below, 1))
    return code_at(cumulative, first, mass, low, last)


@njit(nogil=True, cache=True)
def _range_at(node, f, low, high, parent, feature, threshold, first_child):
    """Return the lowest and highest code of feature f that can reach a node, if low..high can reach the root."""
    child, above = node, parent[node]
    while above >= 0:
        if feature[above] == f:
            if child == first_child[above]:
                high = min(high, np.int64(threshold[above]))
            else:
                low = max(low, np.int64(threshold[above]) + 1)
        child, above = above, parent[above]
    return low, high
