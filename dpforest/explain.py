"""What a forest whose scores add up says of each attribute: importances, effects, and one prediction taken apart.

Everything here follows from the forest and its public schema alone, so for a released forest it costs nothing more.
Where a question leads to two sides, each counts for one half, as no rows are looked at.
"""

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Final

import numpy as np

from dpforest.limits import N_CODES
from dpforest.models.boosting.booster_spec import BoosterSpec
from dpforest.models.boosting.clip_bound import ClipBound
from dpforest.models.boosting.gradients import POINT
from dpforest.models.preparation import Preparation
from dpforest.privacy.ledger import GRADIENT_SUMS
from dpforest.privacy.loss import GAUSSIAN
from dpforest.tables.domain import Domain
from dpforest.trees.forest import Forest
from dpforest.trees.layout import MULTIWAY, NO_THRESHOLD, NUMERIC, Trees
from dpforest.trees.released_scale import TOP, ReleasedScale
from dpforest.voting import CLIPPED_LOGISTIC

_AT_ONCE: Final = 2**21  # weights of an effect that are kept at a time
_MOST_NOISE: Final = 1e9  # scores are below it
_SPREAD: Final = 24  # values of a numeric attribute that stand for all
_MOST_CODES: Final = 64  # of an attribute that are looked at together


@dataclass(frozen=True, eq=False)
class AddedScores:
    """Trees whose leaves add to scores.

    Parameters
    ----------
    trees : Trees
        With two answers to every question.
    domain : Domain
    leaf_scores : float64 array of shape (n_leaves, n_classes)
        What each leaf adds to the score of each class (`Forest.leaf_shares`).
    noise : float
        Standard deviation of the noise on what a leaf adds; 0 without noise, NaN where it is not known.
    scale : ReleasedScale or None
        Where rows lie, as released.

    Raises
    ------
    ValueError
        If a question has more than two answers.
    """

    trees: Trees
    domain: Domain
    leaf_scores: np.ndarray
    noise: float = math.nan
    scale: ReleasedScale | None = None

    def __post_init__(self) -> None:
        if np.any(self.trees.kind == MULTIWAY):
            raise ValueError("Questions with more than two answers cannot be taken apart; use trees with two.")

    @classmethod
    def of(cls, forest: Forest) -> "AddedScores":
        """Those of a random-tree booster, fitted or read from a file.

        Parameters
        ----------
        forest : Forest
            Its voting must be "clipped-logistic".

        Returns
        -------
        AddedScores

        Raises
        ------
        ValueError
            If it is another forest.

        Examples
        --------
        >>> from dpforest import RandomTreeBoosterClassifier, load_dataset
        >>> data = load_dataset("nursery")
        >>> forest = RandomTreeBoosterClassifier(domain=data.domain, delta=0, random_state=0).fit(data.X, data.y)
        >>> shares = AddedScores.of(forest.forest_).importances
        >>> data.domain.features[int(shares.argmax())].name
        'health'
        """
        if forest.voting != CLIPPED_LOGISTIC:
            raise ValueError("only a random-tree booster has scores that add up over attributes")
        return cls(forest.trees, forest.domain, forest.leaf_shares(), _noise_in(forest), forest.scale)

    @property
    def score_noise(self) -> float:
        """Standard deviation of the noise on the score of a class: of independent rounds, so an upper value.

        Later rounds see what earlier noise did and correct part of it.
        """
        return self.noise * math.sqrt(self.trees.n_trees)

    @cached_property
    def _right(self) -> np.ndarray:
        """Weight of the second side of each node's question: one half; none where no code leads there."""
        never = (self.trees.kind == NUMERIC) & (self.trees.threshold == NO_THRESHOLD)
        return np.where(never, 0.0, 0.5)

    @cached_property
    def node_scores(self) -> np.ndarray:
        """What each node says: a leaf its own, a question the mean of its two sides. (n_nodes, n_classes)."""
        trees, right = self.trees, self._right[:, None]
        scores = np.zeros((trees.n_nodes, self.leaf_scores.shape[1]))
        scores[trees.leaf_nodes] = self.leaf_scores
        for nodes in reversed(self._inner):
            left = trees.first_child[nodes]
            scores[nodes] = (1 - right[nodes]) * scores[left] + right[nodes] * scores[left + 1]
        return scores

    @cached_property
    def _inner(self) -> list[np.ndarray]:
        """Questions by level."""
        trees = self.trees
        asks = trees.n_children > 0
        return [np.flatnonzero(asks & (trees.level == level)) for level in range(int(trees.level.max()) + 1)]

    @property
    def base(self) -> np.ndarray:
        """Scores before any question is answered, (n_classes,)."""
        return self.node_scores[self.trees.tree_start[:-1]].sum(axis=0)

    @cached_property
    def importances(self) -> np.ndarray:
        """How far each attribute by itself moves the scores, as shares.

        The standard deviation of its `effect` over values that are spread as the released scale says (over the public
        scale where there is none, and evenly over categories), less what noise alone adds to it, where that is known.
        What attributes do together only is not in it.

        Float array of shape (n_features,): they sum to 1, or are zeros where nothing is above noise.
        """
        moved = np.sqrt([self._variance(feature) for feature in range(self.domain.n_features)])
        return moved / moved.sum() if moved.any() else moved

    def _variance(self, feature: int) -> float:
        """Of an effect over values, summed over classes, less that of its noise; 0 at least."""
        scores, squares, of_mean = self._effect(feature, self._spread_codes(feature))
        by_noise = self.noise**2 * (squares.mean() - of_mean) if math.isfinite(self.noise) else 0.0
        return max(0.0, float(scores.var(axis=0).sum()) - scores.shape[1] * by_noise)

    def _spread_codes(self, feature: int) -> np.ndarray:
        """Values of an attribute as they are spread, as far as everybody knows."""
        attribute = self.domain.features[feature]
        if attribute.kind == "categorical":
            return np.arange(attribute.n_codes)[:: -(-attribute.n_codes // _MOST_CODES)]
        share = (np.arange(_SPREAD) + 0.5) / _SPREAD
        if self.scale is not None:
            cumulative = self.scale.of_features(self.domain)[feature] / TOP
            share = np.interp(share, cumulative, np.linspace(0, 1, len(cumulative)))
        return (attribute.first_code + share * (N_CODES - attribute.first_code)).astype(np.int64)

    def effect(self, feature: int, codes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Mean score where one attribute has each of these codes (partial dependence, with public weights).

        Parameters
        ----------
        feature : int
            Place of the attribute in the domain.
        codes : int array of shape (n,)
            Values of the attribute, as the domain encodes them.

        Returns
        -------
        scores : float array of shape (n, n_classes)
            Weighted mean of the score of each class at each code.
        noise : float array of shape (n,)
            Standard deviation of the noise on them, of independent rounds; NaN where it is not known.
        """
        codes = np.asarray(codes, np.int64)
        parts = [self._effect(feature, codes[i : i + _MOST_CODES])[:2] for i in range(0, len(codes), _MOST_CODES)]
        scores, squares = (np.concatenate(part) for part in zip(*parts, strict=True))
        return scores, self.noise * np.sqrt(squares)

    def _effect(self, feature: int, codes: np.ndarray) -> tuple[np.ndarray, np.ndarray, float]:
        """Mean scores; the sum over leaves of their squared weights at each code, and of their squared mean weights."""
        scores, squares, of_mean = np.zeros((len(codes), self.leaf_scores.shape[1])), np.zeros(len(codes)), 0.0
        first, start = 0, self.trees.tree_start
        while first < self.trees.n_trees:  # as many trees at a time as memory is meant for, one at least
            enough = int(np.searchsorted(start, start[first] + _AT_ONCE // len(codes), side="right")) - 1
            last = min(max(enough, first + 1), self.trees.n_trees)
            weights = self._weights(first, last, feature, codes)
            scores += weights.T @ self.leaf_scores[int(self.trees.leaf_start[first]) : int(self.trees.leaf_start[last])]
            squares += (weights**2).sum(axis=0)
            of_mean += float((weights.mean(axis=1) ** 2).sum())
            first = last
        return scores, squares, of_mean

    def _weights(self, first: int, last: int, feature: int, codes: np.ndarray) -> np.ndarray:
        """Weight of each leaf of some trees at each code, (n_leaves, n)."""
        start = int(self.trees.tree_start[first])
        trees, right = self.trees.between(first, last), self._right[start : int(self.trees.tree_start[last])]
        weights = np.ones((trees.n_nodes, len(codes)))
        asks = trees.n_children > 0
        for level in range(int(trees.level.max())):
            nodes = np.flatnonzero(asks & (trees.level == level))
            share = np.repeat(right[nodes, None], len(codes), axis=1)
            asking = nodes[trees.feature[nodes] == feature]
            share[trees.feature[nodes] == feature] = _answers(trees, asking[:, None], codes[None, :])
            left = trees.first_child[nodes]
            weights[left], weights[left + 1] = weights[nodes] * (1 - share), weights[nodes] * share
        return weights[trees.leaf_nodes]

    def taken_apart(self, codes: np.ndarray) -> np.ndarray:
        """What each attribute adds to the scores of one row: with `base` they sum to its scores.

        Every question on the way moves the score from what its node says to what the next one does.

        Parameters
        ----------
        codes : int array of shape (n_features,)
            The row, as the domain encodes it.

        Returns
        -------
        float array of shape (n_features, n_classes)
            Part of the score of each class that is due to each attribute.
        """
        trees, parts = self.trees, np.zeros((self.domain.n_features, self.leaf_scores.shape[1]))
        nodes = trees.tree_start[:-1]
        while (nodes := nodes[trees.n_children[nodes] > 0]).size:
            feature = trees.feature[nodes]
            to_right = _answers(trees, nodes, np.asarray(codes, np.int64)[feature])
            child = trees.first_child[nodes] + to_right
            np.add.at(parts, feature, self.node_scores[child] - self.node_scores[nodes])
            nodes = child
        return parts


def _noise_in(forest: Forest) -> float:
    """Standard deviation of the noise on what a leaf adds to a score, from what a forest says of itself.

    0 without privacy; NaN where a file does not say how far its steps go.
    """
    each = next((entry.each for entry in forest.ledger.entries if entry.what == GRADIENT_SUMS), None)
    if each is None:
        return 0.0
    n_rows, total_step = forest.about.get("n_rows"), forest.about.get("total_step")
    if not n_rows or not total_step:
        return math.nan
    trees, n_classes = forest.trees, forest.domain.n_classes
    clip = ClipBound(n_classes, each.kind)
    spec = BoosterSpec(trees.n_trees, trees.depth, total_step, n_rows, clip, Preparation())
    deviation = clip.noise_scale(each) * (1 if each.kind == GAUSSIAN else math.sqrt(2))
    centered = 1.0 if n_classes == 2 else math.sqrt(1 - 1 / n_classes)
    noise = deviation * spec.step / 2.0**POINT * centered
    return noise if noise < _MOST_NOISE else math.nan  # of a file that says strange things


def _answers(trees: Trees, nodes: np.ndarray, codes: np.ndarray) -> np.ndarray:
    """0 or 1 for each node and its code."""
    threshold = trees.threshold[nodes]
    return np.where(trees.kind[nodes] == NUMERIC, codes > threshold, codes == threshold).astype(np.int64)
