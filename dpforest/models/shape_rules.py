"""Public rules that choose the number and depth of trees.

The rules use the *signal* s: the number of rows times the ε that remains for leaves and splits. Let T trees have L
leaves each, and let every tree use all rows. Then the share of a class in a leaf, averaged over the trees, has noise of
about L √T / s. So L may grow about as fast as s. If each leaf holds only a label, a forest needs more leaves, so that
rare classes are the majority in some leaves. The constants were fitted on twelve development tables, which
docs/ACCURACY.md names.
"""

import math
from typing import Final, NamedTuple

MOST_AUTO_DEPTH: Final = 10  # largest depth of greedy trees with an "auto" shape
MOST_AUTO_TREES: Final = 10  # largest number of these trees
_MANY_FEATURES: Final = 24  # with at least this number of features and a strong signal, a forest has 32 trees, not 16
_WEAK_SIGNAL: Final = 45  # below this signal, a forest with only labels in leaves has one tree


class Shape(NamedTuple):
    """Number of trees, and largest number of tests on a path from a root to a leaf."""

    n_trees: int
    depth: int


def signal_of(n_rows: float, epsilon: float) -> float:
    """Return the signal: the number of rows times the remaining ε, at least 1."""
    return max(1.0, n_rows * epsilon)


def noisy_counts_shape(signal: float, n_classes: int, n_features: int) -> Shape:
    """Return the shape of a forest of random trees with noisy counts, if every tree uses all rows.

    Parameters
    ----------
    signal : float
        Rows times the remaining ε (`signal_of`).
    n_classes, n_features : int
        Number of classes and number of features in the public domain.

    Returns
    -------
    Shape
        Number of trees and their depth.

    Examples
    --------
    >>> noisy_counts_shape(26_000, 2, 14), noisy_counts_shape(100, 2, 14)
    (Shape(n_trees=16, depth=10), Shape(n_trees=4, depth=3))
    """
    n_trees = 4 if signal < 300 else _n_trees_by_features(signal, n_features)
    return Shape(n_trees, _depth(0.9 * _log2(signal) - 3 - 0.5 * _kappa(n_classes), 3, 12))


def jagannathan_shape(signal: float, n_classes: int, n_features: int) -> Shape:
    """Return the shape of `JagannathanForestClassifier`: 10 trees as published, and `noisy_counts_shape`'s depth."""
    return Shape(10, noisy_counts_shape(signal, n_classes, n_features).depth)


def even_forest_shape(signal: float, n_classes: int, n_features: int) -> Shape:
    """Return the shape of the forests RF-L and RF-E (`models.random.baselines`): 21 trees that each use all rows."""
    return Shape(21, _depth(0.9 * _log2(signal) - 3 - 0.25 * _kappa(n_classes), 3, 12))


def majority_label_shape(signal: float, n_classes: int, n_features: int) -> Shape:
    """Return the shape of a forest of random trees with a label in each leaf, if each row is in one tree.

    Parameters
    ----------
    signal : float
        Rows times the remaining ε (`signal_of`).
    n_classes, n_features : int
        Number of classes and number of features in the public domain.

    Returns
    -------
    Shape
        Number of trees and their depth.

    Examples
    --------
    >>> majority_label_shape(4_000, 2, 14)
    Shape(n_trees=16, depth=10)
    """
    if signal < _WEAK_SIGNAL:  # with so much noise, many trees vote worse than one
        return Shape(1, 2 if signal < 20 else 3)
    depth = _depth(1.15 * _log2(signal) - 4.2 - 0.5 * _kappa(n_classes), 4, 12)
    return Shape(_n_trees_by_features(signal, n_features), depth)


def one_tree_shape(signal: float, n_classes: int, n_features: int) -> Shape:
    """Return the shape of a single greedy tree."""
    return Shape(1, _depth(0.67 * _log2(signal) - 1.8, 2, 10))


def multinomial_shape(signal: float, n_classes: int, n_features: int) -> Shape:
    """Return the shape of the multinomial forest: one tree, because a second tree would take rows from the first."""
    return Shape(1, 2 if signal < 500 else 4 if signal < 1500 else 6)


def boosted_shape(signal: float, n_classes: int, n_features: int) -> Shape:
    """Return the shape of boosted trees. With more than two classes, the signal is divided by their number."""
    class_signal = signal / n_classes if n_classes > 2 else signal
    if class_signal < 5_000:
        return Shape(3, 2 if class_signal < 500 else 3)
    return Shape(10, 3 if class_signal < 15_000 else 4)


def _n_trees_by_features(signal: float, n_features: int) -> int:
    return 16 if signal < 1_000 or n_features < _MANY_FEATURES else 32


def _log2(signal: float) -> float:
    return math.log2(signal) if math.isfinite(signal) else 1_000.0


def _kappa(n_classes: int) -> float:
    """Return log2(n_classes / 2), which is 0 for two classes. The rules subtract a multiple of it from the depth."""
    return math.log2(n_classes / 2)


def _depth(value: float, low: int, high: int) -> int:
    """Round a depth to a whole number from `low` to `high`."""
    return min(max(round(value), low), high)
