"""Noise in leaves: the probability that noise flips (changes) the class of a leaf, and simulated draws of the class.

Only the curator (the data holder) may see these results.
"""

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from scipy.stats import norm

from dpforest.privacy import mechanisms, simulators
from dpforest.privacy.noisy_counts import continuous_argmax_pmf
from dpforest.voting import leaf_shares, leaf_votes


class LeafNoise(Protocol):
    """Interface of the classes that describe the noise in leaves, for the curator's figures."""

    @property
    def evidence(self) -> np.ndarray:
        """Exact numbers, (n_leaves, n_classes), that decide the class of each leaf after noise is added to them."""

    def flip(self) -> np.ndarray:
        """Return the probability that noise changes a leaf's class; NaN for leaves without data."""

    def redraw(self, leaves: np.ndarray, seed: int) -> np.ndarray:
        """Return the classes of these leaves in another simulated release, uint8 of the shape of `leaves`."""


@dataclass(frozen=True, eq=False)
class CountNoise:
    """Noise in leaves that release a label or noisy counts, given the exact class counts of their rows.

    Parameters
    ----------
    evidence : int64 array of shape (n_leaves, n_classes)
        Number, or total weight, of the rows of each class, without noise.
    mechanism : str
        See `dpforest.privacy.mechanisms`.
    rate : float
        Rate κ of the mechanism at a leaf (`mechanisms`), for each unit of `evidence`. For Laplace noise, κ is 1 /
        scale.
    negative_rule : {"clamp", "paper"}
        Rule for negative noisy counts (`CountLeaves`).
    """

    evidence: np.ndarray
    mechanism: str
    rate: float
    negative_rule: str = "clamp"

    def flip(self) -> np.ndarray:
        """Return flip probabilities: closed forms, or sums and integrals with errors of about 1e-10."""
        flip = np.full(len(self.evidence), np.nan)
        nonempty = np.flatnonzero(self.evidence.any(axis=1))
        # Leaves with equal counts have equal probabilities, so compute them only for distinct rows of counts.
        distinct, index_of_distinct = np.unique(self.evidence[nonempty], axis=0, return_inverse=True)
        if self.mechanism == "continuous-laplace":
            class_pmf = continuous_argmax_pmf(distinct, 1 / self.rate, self.negative_rule)
            probability = np.where(distinct == distinct.max(axis=1, keepdims=True), 0, class_pmf).sum(axis=1)
        else:
            probability = mechanisms.flip_probability(self.mechanism, distinct, self.rate, negative=self.negative_rule)
        flip[nonempty] = probability[index_of_distinct.ravel()]
        return flip

    def redraw(self, leaves: np.ndarray, seed: int) -> np.ndarray:
        """See `LeafNoise`."""
        counts = self.evidence[leaves]
        if self.mechanism not in mechanisms.RELEASE_COUNTS:
            return simulators.simulate_labels(counts, self.mechanism, self.rate, seed)
        draw = simulators.simulate_laplace
        if self.mechanism == "discrete-laplace":
            draw = simulators.simulate_noisy_counts
        return leaf_votes(leaf_shares(draw(counts, 1 / self.rate, seed), self.negative_rule, seed))


@dataclass(frozen=True, eq=False)
class FrequencyNoise:
    """Noise in leaves that draw class c with a probability proportional to exp(B3 η_c / 2) (Bai et al.).

    η_c is the frequency of class c in the leaf. `evidence` holds class counts (n_leaves, n_classes), and `temperature`
    is B3.
    """

    evidence: np.ndarray
    temperature: float

    def flip(self) -> np.ndarray:
        """Return flip probabilities in closed form: the total probability of all classes but the most frequent ones."""
        top = self.evidence == self.evidence.max(axis=1, keepdims=True)
        wrong = np.where(top, 0.0, frequency_pmf(self.evidence, self.temperature)).sum(axis=1)
        return np.where(self.evidence.any(axis=1), wrong, np.nan)

    def redraw(self, leaves: np.ndarray, seed: int) -> np.ndarray:
        """See `LeafNoise`."""
        return draw_by_frequency(self.evidence[leaves], self.temperature, seed)


def frequency_pmf(counts: np.ndarray, temperature: float) -> np.ndarray:
    """Return the probability of each class c in each leaf, (n_leaves, n_classes): proportional to exp(B3 η_c / 2).

    B3 is `temperature`, and η_c is the frequency of class c in the leaf. If B3 is infinite, the most frequent classes
    have equal probabilities.
    """
    frequency = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)
    gap = frequency - frequency.max(axis=1, keepdims=True)
    weight = (gap == 0).astype(float) if np.isinf(temperature) else np.exp(temperature / 2 * gap)
    return weight / weight.sum(axis=1, keepdims=True)


def draw_by_frequency(counts: np.ndarray, temperature: float, seed: int) -> np.ndarray:
    """Draw one label for each leaf from `frequency_pmf`, uint8 (n_leaves,). For simulations, never for a release."""
    draws = np.random.default_rng(seed).random(len(counts))
    passed = np.cumsum(frequency_pmf(counts, temperature), axis=1) <= draws[:, None]
    return np.minimum(passed.sum(axis=1), counts.shape[1] - 1).astype(np.uint8)


@dataclass(frozen=True, eq=False)
class WeightNoise:
    """Noise in leaves whose class is the one with the larger of two noisy weights (boosted trees, leaf="counts").

    Parameters
    ----------
    evidence : float array of shape (n_leaves, 2)
        Class weights without noise.
    scale : float array of shape (n_leaves,)
        Scale of the Laplace noise on each weight.
    """

    evidence: np.ndarray
    scale: np.ndarray

    def flip(self) -> np.ndarray:
        """Return flip probabilities for continuous noise. The noise of a release is discrete, in steps of 1/1024.

        If both noisy weights of a leaf are negative, they count as 0, and the leaf has the first class.
        """
        scaled = self.evidence / self.scale[:, None]
        # In `continuous_argmax_pmf`, a fair coin decides between two negative weights. In a booster, the first class
        # always wins, so subtract the probability that the coin gives to the second class.
        second = continuous_argmax_pmf(scaled, 1.0)[:, 1] - np.exp(-scaled.sum(axis=1)) / 8
        lead = self.evidence[:, 1] - self.evidence[:, 0]
        wrong = np.select([lead > 0, lead < 0], [1 - second, second], 0.0)
        return np.where(self.evidence.any(axis=1), wrong, np.nan)

    def redraw(self, leaves: np.ndarray, seed: int) -> np.ndarray:
        """See `LeafNoise`."""
        noise = np.random.default_rng(seed).laplace(size=(len(leaves), 2)) * self.scale[leaves, None]
        noisy = np.maximum(self.evidence[leaves] + noise, 0)
        return (noisy[:, 1] > noisy[:, 0]).astype(np.uint8)


@dataclass(frozen=True, eq=False)
class ValueNoise:
    """Laplace noise on the values of leaves (boosted trees, leaf="range" or "published").

    Parameters
    ----------
    evidence : float array of shape (n_leaves, 2)
        Class weights without noise.
    values : float array of shape (n_leaves,)
        Leaf values without noise.
    scale : float array of shape (n_leaves,)
        Scale of the Laplace noise on each value.
    """

    evidence: np.ndarray
    values: np.ndarray
    scale: np.ndarray

    def flip(self) -> np.ndarray:
        """Return the probability that noise changes the sign of each value h: exp(-|h|/scale) / 2."""
        wrong = np.where(self.values == 0, 0.0, 0.5 * np.exp(-np.abs(self.values) / self.scale))
        return np.where(self.evidence.any(axis=1), wrong, np.nan)

    def redraw(self, leaves: np.ndarray, seed: int) -> np.ndarray:
        """See `LeafNoise`."""
        noise = np.random.default_rng(seed).laplace(size=len(leaves)) * self.scale[leaves]
        return (self.values[leaves] + noise > 0).astype(np.uint8)


@dataclass(frozen=True, eq=False)
class GradientNoise:
    """Noise in leaves whose class follows from noisy gradient sums (the random-tree booster).

    Parameters
    ----------
    evidence : float array of shape (n_leaves, n_classes)
        Sums without noise. With two classes, one sum is the negative of the other, and both have the same noise.
    is_gaussian : bool
        Whether the noise is Gaussian; otherwise it is Laplace.
    scale : float
        Standard deviation of Gaussian noise, or scale of Laplace noise.
    """

    evidence: np.ndarray
    is_gaussian: bool
    scale: float

    def flip(self) -> np.ndarray:
        """Return the probability that noise changes the class that a leaf favors.

        A leaf favors the class with the largest gradient sum. The probability is exact for two classes, and for Laplace
        noise. For Gaussian noise and more than two classes, the result is an upper bound, at most 1. This bound is a
        sum over the other classes: it adds up the probabilities that the noisy sum of another class exceeds the noisy
        sum of the favored class.
        """
        top = self.evidence.max(axis=1)
        if self.evidence.shape[1] == 2:
            wrong = norm.sf(top / self.scale) if self.is_gaussian else 0.5 * np.exp(-top / self.scale)
            return np.where(top > 0, wrong, np.nan)
        lead = (top[:, None] - self.evidence) / self.scale
        if self.is_gaussian:
            wrong = np.minimum(np.where(lead > 0, norm.sf(lead / 2**0.5), 0).sum(axis=1), 1.0)
        else:
            margin = 50 - lead  # add 50 below, because `continuous_argmax_pmf` clamps negative sums
            class_pmf = continuous_argmax_pmf(np.maximum(margin, 0) + 50, 1.0)
            wrong = np.where(lead > 0, class_pmf, 0).sum(axis=1)
        return np.where(self.evidence.any(axis=1), wrong, np.nan)

    def redraw(self, leaves: np.ndarray, seed: int) -> np.ndarray:
        """See `LeafNoise`."""
        rng, evidence = np.random.default_rng(seed), self.evidence[leaves]
        draw = rng.normal if self.is_gaussian else rng.laplace
        if evidence.shape[1] == 2:
            return (evidence[:, 1] + self.scale * draw(size=len(evidence)) > 0).astype(np.uint8)
        return (evidence + self.scale * draw(size=evidence.shape)).argmax(axis=1).astype(np.uint8)
