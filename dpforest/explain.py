"""Explain forests whose scores add up: importances and effects of attributes, and contributions to one prediction.

All explanations are computed from the forest and its public schema alone, so explaining a released forest costs no
further budget. Because no rows are read, the two sides of a test have equal weights of one half.
"""

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Final, NamedTuple

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

_AT_ONCE: Final = 2**21  # number of leaf weights in memory at a time
_MOST_NOISE: Final = 1e9  # a larger value is treated as unknown, because scores are below this number
_SPREAD: Final = 24  # number of values that represent a numeric attribute
_MOST_CODES: Final = 64  # largest number of values of an attribute for which weights are computed together


class ScoreParts(NamedTuple):
    """The parts of the scores of one row. `base`, the sum of `alone`, and `together` add up to the scores.

    Attributes
    ----------
    base : float array of shape (n_classes,)
        Scores before any test is answered, in log-odds.
    alone : float array of shape (n_features, n_classes)
        What each attribute adds by itself: its effect at the row's value, minus `base`.
    noise : float array of shape (n_features,)
        Standard deviation of the noise on the effect of each attribute. NaN if the noise is unknown.
    together : float array of shape (n_classes,)
        What several attributes add only jointly.
    """

    base: np.ndarray
    alone: np.ndarray
    noise: np.ndarray
    together: np.ndarray


@dataclass(frozen=True, eq=False)
class AddedScores:
    """Trees whose leaves add to the score of each class.

    Parameters
    ----------
    trees : Trees
        Every test has two answers.
    domain : Domain
    leaf_scores : float64 array of shape (n_leaves, n_classes)
        Addition of each leaf to the score of each class (`Forest.leaf_shares`).
    noise : float
        Standard deviation of the noise on a leaf's addition to a score; 0 without noise, NaN if unknown.
    scale : ReleasedScale or None
        Released histograms of the numeric attributes.

    Raises
    ------
    ValueError
        If a test has more than two answers.
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
        """Return the added scores of a random-tree booster, fitted or read from a file.

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
            If the forest is of another kind.

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
        """Standard deviation of the noise on the score of a class, under the assumption that rounds are independent.

        The true value is lower, because later rounds see the effect of earlier noise and correct part of it.
        """
        return self.noise * math.sqrt(self.trees.n_trees)

    @cached_property
    def _right(self) -> np.ndarray:
        """Weight of the second child of each node: one half, or 0 if no code leads there."""
        never = (self.trees.kind == NUMERIC) & (self.trees.threshold == NO_THRESHOLD)
        return np.where(never, 0.0, 0.5)

    @cached_property
    def node_scores(self) -> np.ndarray:
        """Scores of each node, (n_nodes, n_classes). An inner node's score is the weighted mean over its children."""
        trees, right = self.trees, self._right[:, None]
        scores = np.zeros((trees.n_nodes, self.leaf_scores.shape[1]))
        scores[trees.leaf_nodes] = self.leaf_scores
        for nodes in reversed(self._inner):
            left = trees.first_child[nodes]
            scores[nodes] = (1 - right[nodes]) * scores[left] + right[nodes] * scores[left + 1]
        return scores

    @cached_property
    def _inner(self) -> list[np.ndarray]:
        """Nodes with a test, by level."""
        trees = self.trees
        asks = trees.n_children > 0
        return [np.flatnonzero(asks & (trees.level == level)) for level in range(int(trees.level.max()) + 1)]

    @property
    def base(self) -> np.ndarray:
        """Scores before any test is answered, (n_classes,)."""
        return self.node_scores[self.trees.tree_start[:-1]].sum(axis=0)

    @cached_property
    def importances(self) -> np.ndarray:
        """Relative size of the score changes that each attribute causes by itself.

        The importance of an attribute is proportional to the standard deviation of its `effect` over its values. If the
        noise is known, its contribution is subtracted. The values of a numeric attribute are spread as in the released
        scale or, if there is none, evenly on the public scale. Categories are spread evenly. Joint effects of several
        attributes are not included.

        The result is a float array of shape (n_features,). The importances sum to 1. If no effect is above noise, all
        importances are 0.
        """
        sizes, noise = self.effect_sizes
        moved = np.sqrt(np.maximum(sizes**2 - np.nan_to_num(noise) ** 2, 0.0))
        return moved / moved.sum() if moved.any() else moved

    @cached_property
    def effect_sizes(self) -> tuple[np.ndarray, np.ndarray]:
        """Standard deviation of each attribute's `effect` over its values, and of the part that noise alone causes.

        Both are float arrays of shape (n_features,), in log-odds, root mean squares over classes. The second is NaN if
        the noise is unknown.
        """
        sizes, noise = np.zeros(self.domain.n_features), np.zeros(self.domain.n_features)
        for feature in range(self.domain.n_features):
            scores, squares, of_mean = self._effect(feature, self._spread_codes(feature))
            sizes[feature] = math.sqrt(scores.var(axis=0).mean())
            noise[feature] = self.noise * math.sqrt(max(squares.mean() - of_mean, 0.0))
        return sizes, noise

    def _spread_codes(self, feature: int) -> np.ndarray:
        """Return codes of an attribute that are spread evenly over its released scale, or else its public scale."""
        attribute = self.domain.features[feature]
        if attribute.kind == "categorical":
            return np.arange(attribute.n_codes)[:: -(-attribute.n_codes // _MOST_CODES)]
        share = (np.arange(_SPREAD) + 0.5) / _SPREAD
        if self.scale is not None:
            cumulative = self.scale.of_features(self.domain)[feature] / TOP
            share = np.interp(share, cumulative, np.linspace(0, 1, len(cumulative)))
        return (attribute.first_code + share * (N_CODES - attribute.first_code)).astype(np.int64)

    def effect(self, feature: int, codes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the mean score at each code of one attribute (partial dependence, with public weights).

        Parameters
        ----------
        feature : int
            Index of the attribute in the domain.
        codes : int array of shape (n,)
            Values of the attribute, as the domain encodes them.

        Returns
        -------
        scores : float array of shape (n, n_classes)
            Weighted mean of the score of each class at each code.
        noise : float array of shape (n,)
            Standard deviation of the noise on these scores, under the assumption that rounds are independent. NaN if
            the noise is unknown.
        """
        codes = np.asarray(codes, np.int64)
        parts = [self._effect(feature, codes[i : i + _MOST_CODES])[:2] for i in range(0, len(codes), _MOST_CODES)]
        scores, squares = (np.concatenate(part) for part in zip(*parts, strict=True))
        return scores, self.noise * np.sqrt(squares)

    def _effect(self, feature: int, codes: np.ndarray) -> tuple[np.ndarray, np.ndarray, float]:
        """Return mean scores, the sum over leaves of squared weights at each code, and that of squared mean weights."""
        scores, squares, of_mean = np.zeros((len(codes), self.leaf_scores.shape[1])), np.zeros(len(codes)), 0.0
        first, start = 0, self.trees.tree_start
        while first < self.trees.n_trees:  # handle as many trees at a time as memory allows, but at least one
            enough = int(np.searchsorted(start, start[first] + _AT_ONCE // len(codes), side="right")) - 1
            last = min(max(enough, first + 1), self.trees.n_trees)
            weights = self._weights(first, last, feature, codes)
            scores += weights.T @ self.leaf_scores[int(self.trees.leaf_start[first]) : int(self.trees.leaf_start[last])]
            squares += (weights**2).sum(axis=0)
            of_mean += float((weights.mean(axis=1) ** 2).sum())
            first = last
        return scores, squares, of_mean

    def _weights(self, first: int, last: int, feature: int, codes: np.ndarray) -> np.ndarray:
        """Return the weight of each leaf of the trees from `first` to `last` - 1 at each code, (n_leaves, n)."""
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

    def taken_apart(self, codes: np.ndarray) -> ScoreParts:
        """Return what each attribute adds to the scores of one row by itself, by the same effects as `importances`.

        Parameters
        ----------
        codes : int array of shape (n_features,)
            The row, as the domain encodes it.

        Returns
        -------
        ScoreParts
        """
        codes = np.asarray(codes, np.int64)
        effects = [self.effect(feature, codes[feature : feature + 1]) for feature in range(self.domain.n_features)]
        alone = np.concatenate([scores for scores, _ in effects]) - self.base
        noise = np.concatenate([deviation for _, deviation in effects])
        return ScoreParts(self.base, alone, noise, self._scores(codes) - self.base - alone.sum(axis=0))

    def _scores(self, codes: np.ndarray) -> np.ndarray:
        """Return the scores of one row, (n_classes,)."""
        trees, nodes = self.trees, self.trees.tree_start[:-1].copy()
        while (asks := trees.n_children[nodes] > 0).any():
            asking = nodes[asks]
            nodes[asks] = trees.first_child[asking] + _answers(trees, asking, codes[trees.feature[asking]])
        return self.leaf_scores[trees.leaf_of_node[nodes]].sum(axis=0)


def _noise_in(forest: Forest) -> float:
    """Return the standard deviation of the noise on a leaf's addition to a score, from the fields of a forest.

    Without privacy, the result is 0. If a file lacks the number of rows or the total step, the result is NaN.
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
    return noise if noise < _MOST_NOISE else math.nan  # a damaged file can contain any number


def _answers(trees: Trees, nodes: np.ndarray, codes: np.ndarray) -> np.ndarray:
    """Return the answer, 0 or 1, of each node's test to its code."""
    threshold = trees.threshold[nodes]
    return np.where(trees.kind[nodes] == NUMERIC, codes > threshold, codes == threshold).astype(np.int64)
