"""Explain forests whose scores are sums over trees: importances, effects and contributions of attributes.

All explanations are computed from the forest and its public schema alone, so explaining a released forest costs no
further privacy budget. The usual average over a tree weights the two sides of a test by their numbers of rows. These
numbers are private, so each side has the weight one half.
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

_AT_ONCE: Final = 2**21  # number of leaf weights in memory at a time
_MOST_NOISE: Final = 1e9  # scores are below this number, so a larger standard deviation of noise is treated as unknown
_SAMPLE: Final = 256  # number of artificial rows for typical contributions
_SPREAD: Final = 24  # number of values that represent a numeric attribute
_MOST_CODES: Final = 64  # largest number of values of an attribute for which weights are computed together


@dataclass(frozen=True, eq=False)
class AddedScores:
    """Trees in which each leaf adds a number to the score of each class.

    Parameters
    ----------
    trees : Trees
        Trees in which every test has two answers.
    domain : Domain
        Public schema.
    leaf_scores : float64 array of shape (n_leaves, n_classes)
        Number that each leaf adds to the score of each class (`Forest.leaf_shares`).
    noise : float
        Standard deviation of the noise on each number in `leaf_scores`; 0 without noise, NaN if unknown.
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
            raise ValueError("A test of this forest has more than two answers; use a forest with binary tests.")

    @classmethod
    def of(cls, forest: Forest) -> "AddedScores":
        """Extract the trees and leaf scores of a random-tree booster, fitted or read from a file.

        Parameters
        ----------
        forest : Forest
            Forest with the voting "clipped-logistic".

        Returns
        -------
        AddedScores
            The trees of the forest and the additions of their leaves to the scores.

        Raises
        ------
        ValueError
            If the forest has another voting.

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
        """Standard deviation of the noise on the score of a class, as if the noise of the trees were independent.

        The true value is lower, because each tree corrects part of the noise of earlier trees.
        """
        return self.noise * math.sqrt(self.trees.n_trees)

    @cached_property
    def _right(self) -> np.ndarray:
        """Weight of the second child of each node: one half, or 0 if no code leads to this child."""
        never = (self.trees.kind == NUMERIC) & (self.trees.threshold == NO_THRESHOLD)
        return np.where(never, 0.0, 0.5)

    @cached_property
    def node_scores(self) -> np.ndarray:
        """Scores of each node, (n_nodes, n_classes). An inner node has the weighted mean of its children's scores."""
        trees, right = self.trees, self._right[:, None]
        scores = np.zeros((trees.n_nodes, self.leaf_scores.shape[1]))
        scores[trees.leaf_nodes] = self.leaf_scores
        for nodes in reversed(self._inner):
            left = trees.first_child[nodes]
            scores[nodes] = (1 - right[nodes]) * scores[left] + right[nodes] * scores[left + 1]
        return scores

    @cached_property
    def _inner(self) -> list[np.ndarray]:
        """Indices of the nodes with a test, one array for each level."""
        trees = self.trees
        has_test = trees.n_children > 0
        return [np.flatnonzero(has_test & (trees.level == level)) for level in range(int(trees.level.max()) + 1)]

    @property
    def base(self) -> np.ndarray:
        """Scores before any test is answered, (n_classes,): the sum of the scores of all roots."""
        return self.node_scores[self.trees.tree_start[:-1]].sum(axis=0)

    @cached_property
    def typical_parts(self) -> tuple[np.ndarray, np.ndarray]:
        """Typical contribution of each attribute to a score, and typical contribution of noise alone.

        Both values are float arrays of shape (n_features,), in log-odds. The first array holds root mean squares of
        `taken_apart` over classes and `_SAMPLE` artificial rows. The second array holds root mean squares of
        `parts_noise` over the same rows; it is NaN if the noise is unknown. The artificial rows are drawn with
        independent attributes. The values of a numeric attribute follow the released histogram of the attribute or,
        without a histogram, are evenly spread on the public scale. Categories are equally likely.
        """
        rng = np.random.default_rng(0)
        spread = [self._spread_codes(feature) for feature in range(self.domain.n_features)]
        rows = np.stack([rng.choice(codes, _SAMPLE) for codes in spread], axis=1)
        parts, variances = self._parts(rows)
        return np.sqrt((parts**2).mean(axis=(0, 2))), self.noise * np.sqrt(variances.mean(axis=0))

    @property
    def importances(self) -> np.ndarray:
        """Importance of each attribute for the scores, as a float array of shape (n_features,).

        An importance is proportional to the attribute's typical contribution to a score (`typical_parts`). If the noise
        is known, the variance of the noise is first subtracted from the square of this contribution. The importances
        sum to 1. If no contribution is above the noise, all importances are 0.
        """
        typical, noise = self.typical_parts
        signal = np.sqrt(np.maximum(typical**2 - np.nan_to_num(noise) ** 2, 0.0))
        return signal / signal.sum() if signal.any() else signal

    def _spread_codes(self, feature: int) -> np.ndarray:
        """Return evenly spaced quantiles of an attribute's released histogram or, without one, of its public scale."""
        attribute = self.domain.features[feature]
        if attribute.kind == "categorical":
            return np.arange(attribute.n_codes)[:: -(-attribute.n_codes // _MOST_CODES)]
        share = (np.arange(_SPREAD) + 0.5) / _SPREAD
        if self.scale is not None:
            cumulative = self.scale.of_features(self.domain)[feature] / TOP
            share = np.interp(share, cumulative, np.linspace(0, 1, len(cumulative)))
        return (attribute.first_code + share * (N_CODES - attribute.first_code)).astype(np.int64)

    def effect(self, feature: int, codes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the mean score at each code of one attribute, as in a plot of partial dependence.

        Tests of this attribute are answered by the code. Both sides of a test of another attribute have the weight one
        half, because the numbers of rows on the two sides are private.

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
            Standard deviation of the noise on these scores, under the assumption that trees are independent. NaN if the
            noise is unknown.
        """
        codes = np.asarray(codes, np.int64)
        parts = [self._effect(feature, codes[i : i + _MOST_CODES]) for i in range(0, len(codes), _MOST_CODES)]
        scores, squares = (np.concatenate(part) for part in zip(*parts, strict=True))
        return scores, self.noise * np.sqrt(squares)

    def _effect(self, feature: int, codes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return mean scores at each code, and the sum over all leaves of squared weights, which scales the noise."""
        scores, squares = np.zeros((len(codes), self.leaf_scores.shape[1])), np.zeros(len(codes))
        first, start = 0, self.trees.tree_start
        while first < self.trees.n_trees:  # handle as many trees at a time as memory allows, but at least one
            end = int(np.searchsorted(start, start[first] + _AT_ONCE // len(codes), side="right")) - 1
            last = min(max(end, first + 1), self.trees.n_trees)
            weights = self._weights(first, last, feature, codes)
            scores += weights.T @ self.leaf_scores[int(self.trees.leaf_start[first]) : int(self.trees.leaf_start[last])]
            squares += (weights**2).sum(axis=0)
            first = last
        return scores, squares

    def _weights(self, first: int, last: int, feature: int, codes: np.ndarray) -> np.ndarray:
        """Return the weight of each leaf of the trees from `first` to `last` - 1 at each code, (n_leaves, n)."""
        start = int(self.trees.tree_start[first])
        trees, right = self.trees.between(first, last), self._right[start : int(self.trees.tree_start[last])]
        weights = np.ones((trees.n_nodes, len(codes)))
        has_test = trees.n_children > 0
        for level in range(int(trees.level.max())):
            nodes = np.flatnonzero(has_test & (trees.level == level))
            share = np.repeat(right[nodes, None], len(codes), axis=1)
            testing_nodes = nodes[trees.feature[nodes] == feature]
            share[trees.feature[nodes] == feature] = _answers(trees, testing_nodes[:, None], codes[None, :])
            left = trees.first_child[nodes]
            weights[left], weights[left + 1] = weights[nodes] * (1 - share), weights[nodes] * share
        return weights[trees.leaf_nodes]

    def taken_apart(self, codes: np.ndarray) -> np.ndarray:
        """Return the contribution of each attribute to the scores of one row.

        The contributions and `base` sum to the scores. The contribution of a test on the row's path is the score of the
        child that the row goes to, minus the score of the node with the test.

        Parameters
        ----------
        codes : int array of shape (n_features,)
            The row, as the domain encodes it.

        Returns
        -------
        float array of shape (n_features, n_classes)
            Contribution of each attribute to the score of each class.
        """
        return self._parts(np.asarray(codes, np.int64)[None])[0][0]

    def parts_noise(self, codes: np.ndarray) -> np.ndarray:
        """Return the standard deviation of the noise on each contribution in `taken_apart`.

        Parameters
        ----------
        codes : int array of shape (n_features,)
            The row, as the domain encodes it.

        Returns
        -------
        float array of shape (n_features,)
            Standard deviation for each attribute, in log-odds, under the assumption that trees are independent. NaN if
            the noise is unknown.
        """
        return self.noise * np.sqrt(self._parts(np.asarray(codes, np.int64)[None])[1][0])

    @cached_property
    def _node_variances(self) -> np.ndarray:
        """Variance of the noise on `node_scores`, divided by the variance of the noise on a leaf, (n_nodes,)."""
        trees, right = self.trees, self._right
        variances = np.zeros(trees.n_nodes)
        variances[trees.leaf_nodes] = 1.0
        for nodes in reversed(self._inner):
            left = trees.first_child[nodes]
            variances[nodes] = (1 - right[nodes]) ** 2 * variances[left] + right[nodes] ** 2 * variances[left + 1]
        return variances

    def _parts(self, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the contributions of attributes in each row, and the variances of their noise.

        An attribute may have several tests on the path of a row. The contributions of these tests depend on the same
        leaves, so their noise is correlated. The variances account for this correlation.

        Parameters
        ----------
        rows : int array of shape (n, n_features)
            Rows, as the domain encodes them.

        Returns
        -------
        parts : float array of shape (n, n_features, n_classes)
            Contribution of each attribute to each score of each row.
        variances : float array of shape (n, n_features)
            Variance of the noise on each contribution, divided by the variance of the noise on a leaf.
        """
        n, n_features = rows.shape
        parts = np.zeros((n, n_features, self.leaf_scores.shape[1]))
        variances = np.zeros((n, n_features))
        at_a_time = max(_AT_ONCE // (n * n_features), 1)
        for first in range(0, self.trees.n_trees, at_a_time):
            self._add_parts(self.trees.tree_start[:-1][first : first + at_a_time], rows, parts, variances)
        return parts, variances

    def _add_parts(self, roots: np.ndarray, rows: np.ndarray, parts: np.ndarray, variances: np.ndarray) -> None:
        """Add the contributions of the trees with these roots to `parts` and `variances` (see `_parts`)."""
        trees, n = self.trees, len(rows)
        nodes, of_row, of_path = np.tile(roots, n), np.repeat(np.arange(n), len(roots)), np.arange(n * len(roots))
        # A path is the way of one row through one tree. shared[path, attribute] is the coefficient of the current
        # node's noise in the sum of the attribute's contributions so far.
        shared = np.zeros((n * len(roots), rows.shape[1]))
        while (has_test := trees.n_children[nodes] > 0).any():
            nodes, of_row, of_path = nodes[has_test], of_row[has_test], of_path[has_test]
            feature = trees.feature[nodes]
            to_right = _answers(trees, nodes, rows[of_row, feature])
            child = trees.first_child[nodes] + to_right
            weight = np.where(to_right, self._right[nodes], 1 - self._right[nodes])  # weight of the child
            of_node, of_child = self._node_variances[nodes], self._node_variances[child]
            step = of_child - 2 * weight * of_child + of_node
            step += 2 * shared[of_path, feature] * (weight * of_child - of_node)
            np.add.at(parts, (of_row, feature), self.node_scores[child] - self.node_scores[nodes])
            np.add.at(variances, (of_row, feature), step)
            shared[of_path] *= weight[:, None]
            shared[of_path, feature] += 1 - weight
            nodes = child


def _noise_in(forest: Forest) -> float:
    """Compute the standard deviation of the noise on a leaf's addition to a score from the fields of a forest.

    Without noise, the result is 0. If the forest lacks its number of rows or the sum of the steps of all rounds (the
    total step), the result is NaN.
    """
    round_loss = next((entry.each for entry in forest.ledger.entries if entry.what == GRADIENT_SUMS), None)
    if round_loss is None:
        return 0.0
    n_rows, total_step = forest.about.get("n_rows"), forest.about.get("total_step")
    if not n_rows or not total_step:
        return math.nan
    trees, n_classes = forest.trees, forest.domain.n_classes
    clip = ClipBound(n_classes, round_loss.kind)
    spec = BoosterSpec(trees.n_trees, trees.depth, total_step, n_rows, clip, Preparation())
    deviation = clip.noise_scale(round_loss) * (1 if round_loss.kind == GAUSSIAN else math.sqrt(2))
    centered = 1.0 if n_classes == 2 else math.sqrt(1 - 1 / n_classes)
    noise = deviation * spec.step / 2.0**POINT * centered
    return noise if noise < _MOST_NOISE else math.nan  # a damaged file can contain any number


def _answers(trees: Trees, nodes: np.ndarray, codes: np.ndarray) -> np.ndarray:
    """Return the answer of each node's test for the code of its attribute: 0 or 1, the index of the next child."""
    threshold = trees.threshold[nodes]
    return np.where(trees.kind[nodes] == NUMERIC, codes > threshold, codes == threshold).astype(np.int64)
