"""What a greedy fit looked like from inside: for drawing, and for the curator only unless said otherwise."""

from dataclasses import dataclass, field

import numpy as np

from dpforest.leaf_noise import LeafNoise


@dataclass
class TreeTrace:
    """One tree. Levels are complete: level k has 2**k nodes.

    Attributes
    ----------
    probability : list of float arrays
        With which the candidate that was drawn was drawn, by level; nan where nothing was drawn.
    chance : list of float arrays
        The same if the data had no say.
    gain : list of float arrays
        Share of the node's potential (its impurity) that the split removes, by level.
    alpha : list of float
        α of each level (boosted trees; public where calibration is private).
    beta : float
        Coefficient of the tree.
    weights : float array of shape (5,)
        Smallest, quartiles and largest of the rows' boosting weights before the tree was grown.
    bound : float
        Public bound on these weights.
    """

    probability: list[np.ndarray] = field(default_factory=list)
    chance: list[np.ndarray] = field(default_factory=list)
    gain: list[np.ndarray] = field(default_factory=list)
    alpha: list[float] = field(default_factory=list)
    beta: float = 1.0
    weights: np.ndarray | None = None
    bound: float = 1.0


@dataclass
class Trace:
    """A whole forest, trees one after another.

    Attributes
    ----------
    trees : list of TreeTrace
    counts : int64 array of shape (n_leaves, n_classes)
        Rows fitted on in each leaf.
    noise : LeafNoise
        How its leaves may flip: see `dpforest.leaf_noise`.
    """

    trees: list[TreeTrace] = field(default_factory=list)
    counts: np.ndarray | None = None
    noise: LeafNoise | None = None
