"""A record of how a fit chose its splits, which only the curator (the data holder) may see."""

from dataclasses import dataclass, field

import numpy as np

from dpforest.models.leaf_noise import LeafNoise


@dataclass
class TreeTrace:
    """The record of one tree, level by level. The arrays of level k have one element for each of its 2**k nodes.

    Attributes
    ----------
    probability : list of float arrays
        Probability of the candidate that was drawn at each node; one array for each level.
    chance : list of float arrays
        Probability of the same candidate in a draw that ignores the data.
    gain : list of float arrays
        Share of each node's potential (impurity times weight) that the split removes; one array for each level.
    alpha : list of float
        α of each level of a boosted tree. The values are public if their calibration is differentially private.
    weights : float array of shape (5,), or None
        Minimum, quartiles and maximum of the rows' boosting weights before the tree grew; None without boosting.
    bound : float
        Public bound on the boosting weights.
    """

    probability: list[np.ndarray] = field(default_factory=list)
    chance: list[np.ndarray] = field(default_factory=list)
    gain: list[np.ndarray] = field(default_factory=list)
    alpha: list[float] = field(default_factory=list)
    weights: np.ndarray | None = None
    bound: float = 1.0

    @property
    def weight_spread(self) -> float:
        """Largest boosting weight minus the smallest; 0 if rows are not weighted."""
        return 0.0 if self.weights is None else float(self.weights[-1] - self.weights[0])

    def note_level(
        self, probability: np.ndarray, chance: np.ndarray, scores: np.ndarray, potential: np.ndarray
    ) -> None:
        """Record how the splits of a level were drawn.

        `potential` is the potential of each node before the split. `scores` are minus the potential after the split.
        """
        self.probability.append(probability)
        self.chance.append(chance)
        with np.errstate(invalid="ignore", divide="ignore"):
            self.gain.append(np.where(potential > 0, np.clip(1 + scores / potential, 0, 1), 0.0))


@dataclass
class Trace:
    """The record of a whole forest, one tree after another.

    Parameters
    ----------
    draws : bool
        Whether to record how every split is drawn. With the record, a fit takes about 1.5 times as long.

    Attributes
    ----------
    trees : list of TreeTrace
        Record of each tree. It is empty if `draws` is False, and for trees that do not grow from histograms, for
        example in a multinomial forest with mode="as_published".
    counts : int64 or float64 array of shape (n_leaves, n_classes)
        Number of fitted rows (or of persons, see `Domain.unit`) of each class in each leaf.
    labels : uint8 array of shape (n_leaves,)
        Class of each leaf, as an index into the classes that its tree separates: in a booster for one class, 1 is this
        class and 0 is all others.
    noise : LeafNoise
        Noise of the leaves; None without privacy.
    """

    draws: bool = True
    trees: list[TreeTrace] = field(default_factory=list)
    counts: np.ndarray | None = None
    labels: np.ndarray | None = None
    noise: LeafNoise | None = None
