"""Kernels of the multinomial random forest as published: a tree grown from sorted columns. They check no bounds.

Every column is sorted once, as words that hold a row's code, class and number. The rows of a node lie side by side in
each sorted column; a test parts them without changing their order, so that a level costs one pass over the columns.
Children of which nothing will be asked are not parted, nor are columns that have become constant.
"""

import numpy as np
from numba import njit

from dpforest.privacy.hashing import word_at
from dpforest.trees.layout import LEAF, NUMERIC, ONE_VS_REST

CODE, MIN_LEAF, REJECT = 0, 1, 2  # rules that end a branch
TIE = 1e-10  # decreases that are closer than this differ by rounding alone

# A word: 16 bits of code, 8 of class, 32 of row number.
CODE_BIT, CLASS_BIT, CLASS, ROW = 40, 32, 0xFF, 0xFFFFFFFF

# What is drawn from the key of a tree, and from the key of a node.
ROWS, ROOT = 0, 1
FEATURE, CUT, LEFT, RIGHT = 0, 1, 2, 3


@njit(nogil=True, cache=True)
def hashed(key, number):
    """The number-th word of a key."""
    return word_at(key, np.uint64(number))


@njit(nogil=True, cache=True)
def coin(key, number):
    """The number-th word of a key as a number in [0, 1)."""
    return np.float64(hashed(key, number) >> np.uint64(11)) * 2.0**-53


@njit(nogil=True, cache=True)
def tree_key(seed, tree):
    """What every draw of a tree comes from; the seed is a uint64."""
    return hashed(hashed(seed, 0), tree)


@njit(nogil=True, cache=True)
def draw_structure(seed, tree, n, n_structure):
    """Which rows are structure rows, bool (n,): every set of `n_structure` rows is equally likely."""
    taken = np.zeros(n, np.bool_)
    own_key = hashed(tree_key(seed, tree), ROWS)
    wanted = n_structure
    for row in range(n):
        taken[row] = coin(own_key, row) * (n - row) < wanted
        wanted -= taken[row]
    return taken


@njit(nogil=True, cache=True)
def grow_midpoint_tree(
    seed, tree, n_structure, words, columns, y, is_categorical, n_classes, table, unit,
    feature_temperature, value_temperature, rule, min_leaf, purity_stop, max_depth,
):  # fmt: skip
    """Grow one tree in level order: kind, feature, threshold, first child, counts of the leaves, deepest level."""
    m, n = words.shape
    taken = draw_structure(seed, tree, n, n_structure)
    order = _sorted_rows(words, taken, True, n_structure)
    est = np.flatnonzero(~taken)  # estimation rows; those of a node lie side by side
    est_order = _sorted_rows(words, taken, False, len(est) if rule == MIN_LEAF else 0)
    goes_right, spare = np.zeros(n, np.bool_), np.empty(n, np.int64)
    left, total = np.zeros(n_classes, np.int64), np.zeros(n_classes, np.int64)
    scratch = (left, np.empty(m), np.empty(m, np.int64), np.empty(n_structure), np.empty(n_structure, np.int64))
    fewest = 1 if rule == CODE else min_leaf  # estimation rows that a child must get
    to_split = min_leaf + 1 if rule == CODE else 2 * min_leaf  # estimation rows below which it is a leaf

    room = 2 * n_structure - 1  # every leaf has a structure row
    kind, first_child = np.full(room, LEAF, np.uint8), np.arange(room).astype(np.int32)
    feature, threshold = np.full(room, -1, np.int32), np.full(room, -1, np.int32)
    span = np.zeros((room, 4), np.int64)  # structure rows from, to; estimation rows from, to
    column = np.zeros(room, np.int32)  # one in which the node's rows do lie side by side
    is_open, keys = np.zeros(room, np.bool_), np.zeros(room, np.uint64)
    span[0, 1], span[0, 3], keys[0] = n_structure, len(est), hashed(tree_key(seed, tree), ROOT)
    _count_classes(order[0], total)
    is_open[0] = max_depth > 0 and (rule == CODE or len(est) >= to_split) and not (purity_stop and _is_pure(total))

    n_nodes, n_leaves, level, level_end = 1, 0, 0, 1
    for node in range(room):
        if node == n_nodes:
            break
        if node == level_end:
            level, level_end = level + 1, n_nodes
        a, b, c, d = span[node, 0], span[node, 1], span[node, 2], span[node, 3]
        f, cut, middle_est = -1, np.int64(-1), c
        if is_open[node]:
            _count_classes(order[column[node], a:b], total)
            f, cut = _draw_test(
                order, est_order, span[node], is_categorical, min_leaf if rule == MIN_LEAF else 0, total, table, unit,
                feature_temperature, value_temperature, keys[node], scratch,
            )  # fmt: skip
        if f >= 0:
            for i in range(c, d):
                x = np.int64(columns[f, est[i]])
                goes_right[est[i]] = x == cut if is_categorical[f] else x > cut
            middle_est = _part(est, c, d, goes_right, spare)
        if f < 0 or middle_est - c < fewest or d - middle_est < fewest:
            n_leaves += 1
            continue
        kind[node], feature[node], threshold[node] = ONE_VS_REST if is_categorical[f] else NUMERIC, f, cut
        first_child[node] = n_nodes
        left[:] = 0
        middle = a
        for i in range(a, b):
            x = order[f, i] >> CODE_BIT
            right = x == cut if is_categorical[f] else x > cut
            goes_right[order[f, i] & ROW] = right
            if not right:
                left[order[f, i] >> CLASS_BIT & CLASS] += 1
                middle += 1
        total -= left  # now those that go right
        split_on = False
        for side in range(2):
            child = n_nodes + side
            span[child, 0], span[child, 1] = (middle, b) if side else (a, middle)
            span[child, 2], span[child, 3] = (middle_est, d) if side else (c, middle_est)
            column[child], keys[child] = f, hashed(keys[node], RIGHT if side else LEFT)
            enough = level + 1 < max_depth and span[child, 3] - span[child, 2] >= to_split
            is_open[child] = enough and not (purity_stop and _is_pure(total if side else left))
            split_on |= is_open[child]
        n_nodes += 2
        for j in range(m if split_on else 0):
            if order[j, a] >> CODE_BIT != order[j, b - 1] >> CODE_BIT:
                _part(order[j], a, b, goes_right, spare)
                if rule == MIN_LEAF:
                    _part(est_order[j], c, d, goes_right, spare)

    counts = np.zeros((n_leaves, n_classes), np.int64)
    leaf = 0
    for node in range(n_nodes):
        if kind[node] == LEAF:
            for i in range(span[node, 2], span[node, 3]):
                counts[leaf, y[est[i]]] += 1
            leaf += 1
    own = slice(0, n_nodes)
    return kind[own].copy(), feature[own].copy(), threshold[own].copy(), first_child[own].copy(), counts, level


@njit(nogil=True, cache=True)
def _sorted_rows(words, taken, which, size):
    """The sorted columns of the rows that were taken, or of those that were not; nothing if the size is 0."""
    kept = np.empty((len(words), size), np.int64)
    for j in range(len(words) if size else 0):
        k = 0
        for word in words[j]:
            if taken[word & ROW] == which:
                kept[j, k] = word
                k += 1
    return kept


@njit(nogil=True, cache=True)
def _count_classes(column, counts):
    counts[:] = 0
    for word in column:
        counts[word >> CLASS_BIT & CLASS] += 1


@njit(nogil=True, cache=True)
def _is_pure(counts):
    return (counts > 0).sum() <= 1


@njit(nogil=True, cache=True)
def _part(rows, a, b, goes_right, spare):
    """Put the rows a..b that go left before the others, in the same order; return where the others begin."""
    middle, n_right = a, 0
    for i in range(a, b):
        row = rows[i]
        right = goes_right[row & ROW]
        rows[middle] = row
        spare[n_right] = row
        middle += not right
        n_right += right
    rows[middle:b] = spare[:n_right]
    return middle


@njit(nogil=True, cache=True)
def _draw_test(
    order, est_order, span, is_categorical, each, total, table, unit,
    feature_temperature, value_temperature, key, scratch,
):  # fmt: skip
    """Draw a feature and a cut of it; (-1, -1) if no cut leaves `each` estimation rows on both sides."""
    _, best, features, scores, cuts = scratch
    tie = TIE * (span[1] - span[0])  # scores are decreases times the number of rows, up to what all have in common
    squares = np.int64(0)
    for rows in total:
        squares += table[rows] if len(table) else rows * rows
    n_features = 0
    for j in range(len(order)):
        n_cuts = _score_cuts(order, est_order, span, j, is_categorical, each, total, squares, table, unit, scratch)
        if n_cuts:
            best[n_features], features[n_features] = scores[:n_cuts].max(), j
            n_features += 1
    if n_features == 0:
        return -1, np.int64(-1)
    f = features[draw(best[:n_features], feature_temperature, tie, coin(key, FEATURE))]
    n_cuts = _score_cuts(order, est_order, span, f, is_categorical, each, total, squares, table, unit, scratch)
    return f, cuts[draw(scores[:n_cuts], value_temperature, tie, coin(key, CUT))]


@njit(nogil=True, cache=True)
def _score_cuts(order, est_order, span, j, is_categorical, each, total, squares, table, unit, scratch):
    """Score the cuts of feature j at a node into the scratch arrays; return their number."""
    left, _, _, scores, cuts = scratch
    a, b, c, d = span[0], span[1], span[2], span[3]
    if order[j, a] >> CODE_BIT == order[j, b - 1] >> CODE_BIT:
        return 0
    if is_categorical[j]:
        return _score_categories(order[j, a:b], est_order[j, c:d], each, total, left, table, unit, scores, cuts)
    # A threshold leaves k estimation rows on each side if it is between the k-th lowest of them and the k-th highest.
    low, high = np.int64(-1), np.int64(1 << 16)
    if each:
        low, high = est_order[j, c + each - 1] >> CODE_BIT, est_order[j, d - each] >> CODE_BIT
    return _score_thresholds(order[j, a:b], low, high, total, squares, left, table, unit, scores, cuts)


@njit(nogil=True, cache=True)
def _score_thresholds(column, low, high, total, squares, left, table, unit, scores, cuts):
    """Score the midpoints in low..high - 1 of a sorted column; return their number."""
    n = len(column)
    left[:] = 0
    left_squares, right_squares = np.int64(0), squares
    n_cuts = 0
    x = column[0] >> CODE_BIT
    for i in range(n - 1):
        own = column[i] >> CLASS_BIT & CLASS
        before = left[own]
        after = total[own] - before
        left[own] = before + 1
        if len(table):
            left_squares += table[before + 1] - table[before]
            right_squares -= table[after] - table[after - 1]
        else:
            left_squares += 2 * before + 1
            right_squares -= 2 * after - 1
        following = column[i + 1] >> CODE_BIT
        if following != x:
            cut = (x + following) >> 1
            x = following
            if cut >= high:
                break
            if cut >= low:
                scores[n_cuts] = _score(left_squares, i + 1, right_squares, n - i - 1, table, unit)
                cuts[n_cuts] = cut
                n_cuts += 1
    return n_cuts


@njit(nogil=True, cache=True)
def _score_categories(column, est, each, total, left, table, unit, scores, cuts):
    """Score "is it this one?" for each category of a sorted column; return their number."""
    n_cuts, i, e = 0, 0, 0
    while i < len(column):
        x, first, first_est = column[i] >> CODE_BIT, i, e
        left[:] = 0
        while i < len(column) and column[i] >> CODE_BIT == x:
            left[column[i] >> CLASS_BIT & CLASS] += 1
            i += 1
        while e < len(est) and est[e] >> CODE_BIT <= x:
            first_est += est[e] >> CODE_BIT < x
            e += 1
        if e - first_est < each or len(est) - (e - first_est) < each:
            continue
        inside, outside = np.int64(0), np.int64(0)
        for c in range(len(total)):
            rest = total[c] - left[c]
            inside += table[left[c]] if len(table) else left[c] * left[c]
            outside += table[rest] if len(table) else rest * rest
        scores[n_cuts] = _score(inside, i - first, outside, len(column) - (i - first), table, unit)
        cuts[n_cuts] = x
        n_cuts += 1
    return n_cuts


@njit(nogil=True, cache=True)
def _score(squares, n, other_squares, n_other, table, unit):
    """Impurity decrease times rows, less what all tests of a node have in common.

    Gini: sum of squared counts / rows, of both sides. Entropy: sum of c log c, less n log n, of both sides.
    """
    if len(table):
        return np.float64(squares - table[n] + other_squares - table[n_other]) * unit
    size, other_size = np.float64(n), np.float64(n_other)
    return (np.float64(squares) * other_size + np.float64(other_squares) * size) / (size * other_size)


@njit(nogil=True, cache=True)
def to_weights(scores, temperature, tie):
    """Turn scores into weights, in place: exp(B/2 (rescaled score - 1)), so that the best has weight 1."""
    low, high = scores.min(), scores.max()
    for i in range(len(scores)):
        if high - low <= tie:
            scores[i] = 1.0
        elif np.isinf(temperature):
            scores[i] = np.float64(scores[i] >= high - tie)
        else:
            scores[i] = np.exp(temperature / 2 * ((scores[i] - high) / (high - low)))


@njit(nogil=True, cache=True)
def draw(scores, temperature, tie, u):
    """Index drawn by the selection law with a number u in [0, 1); the scores become weights."""
    to_weights(scores, temperature, tie)
    target = u * scores.sum()
    drawn = -1
    for i in range(len(scores)):
        if scores[i] > 0.0:
            drawn = i
            target -= scores[i]
            if target < 0.0:
                break
    return drawn
