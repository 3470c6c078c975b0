"""How the leaves of a fitted forest may flip: closed forms, and redraws to compare them with. For the curator only."""

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from scipy.stats import norm

from dpforest.privacy import mechanisms, simulators
from dpforest.privacy.noisy_counts import continuous_argmax_pmf
from dpforest.voting import leaf_shares, leaf_votes


class LeafNoise(Protocol):
    """What a drawing asks about the noise of leaves."""

    @property
    def evidence(self) -> np.ndarray:
        """What the leaf's class follows from, (n_leaves, n_classes): rows of each class, or their weights."""

    def flip(self) -> np.ndarray:
        """Probability that a leaf says another class than it would without noise; NaN where it has no data."""

    def redraw(self, leaves: np.ndarray, seed: int) -> np.ndarray:
        """Classes of these leaves in another simulated release, uint8 of the shape of `leaves`."""


@dataclass(frozen=True, eq=False)
class CountNoise:
    """Leaves that publish a label, or counts, drawn from the counts of their rows.

    Parameters
    ----------
    evidence : int64 array of shape (n_leaves, n_classes)
    mechanism : str
        See `dpforest.privacy.mechanisms`.
    rate : float
        Of the mechanism at a leaf: κ, in 1/row.
    negative_rule : {"clamp", "paper"}
    """

    evidence: np.ndarray
    mechanism: str
    rate: float
    negative_rule: str = "clamp"

    def flip(self) -> np.ndarray:
        """In closed form, or by sums and integrals as good."""
        flip = np.full(len(self.evidence), np.nan)
        full = np.flatnonzero(self.evidence.any(axis=1))
        # Leaves with the same counts have the same probability; there are few different ones.
        distinct, which = np.unique(self.evidence[full], axis=0, return_inverse=True)
        if self.mechanism == "continuous-laplace":
            says = continuous_argmax_pmf(distinct, 1 / self.rate, self.negative_rule)
            pmf = np.where(distinct == distinct.max(axis=1, keepdims=True), 0, says).sum(axis=1)
        else:
            pmf = mechanisms.flip_probability(self.mechanism, distinct, self.rate, negative=self.negative_rule)
        flip[full] = pmf[which.ravel()]
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
    """Leaves that draw their label with P(c) proportional to exp(B3 η_c / 2), η the class frequencies (Bai et al.)."""

    evidence: np.ndarray
    temperature: float

    def flip(self) -> np.ndarray:
        """In closed form."""
        top = self.evidence == self.evidence.max(axis=1, keepdims=True)
        wrong = np.where(top, 0.0, frequency_pmf(self.evidence, self.temperature)).sum(axis=1)
        return np.where(self.evidence.any(axis=1), wrong, np.nan)

    def redraw(self, leaves: np.ndarray, seed: int) -> np.ndarray:
        """See `LeafNoise`."""
        return draw_by_frequency(self.evidence[leaves], self.temperature, seed)


def frequency_pmf(counts: np.ndarray, temperature: float) -> np.ndarray:
    """P(c) proportional to exp(B3 η_c / 2); the most frequent classes alike where B3 is infinite."""
    frequency = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)
    gap = frequency - frequency.max(axis=1, keepdims=True)
    weight = (gap == 0).astype(float) if np.isinf(temperature) else np.exp(temperature / 2 * gap)
    return weight / weight.sum(axis=1, keepdims=True)


def draw_by_frequency(counts: np.ndarray, temperature: float, seed: int) -> np.ndarray:
    """One label a leaf by `frequency_pmf`, uint8 (n_leaves,). Never a release."""
    draws = np.random.default_rng(seed).random(len(counts))
    passed = np.cumsum(frequency_pmf(counts, temperature), axis=1) <= draws[:, None]
    return np.minimum(passed.sum(axis=1), counts.shape[1] - 1).astype(np.uint8)


@dataclass(frozen=True, eq=False)
class WeightNoise:
    """Leaves whose sign follows from two noisy class weights (boosted trees, leaf="counts").

    Parameters
    ----------
    evidence : float array of shape (n_leaves, 2)
        Class weights without noise.
    scale : float array of shape (n_leaves,)
        Of the Laplace noise on each weight.
    """

    evidence: np.ndarray
    scale: np.ndarray

    def flip(self) -> np.ndarray:
        """Closed form for continuous noise; the noise drawn is on a grid of 1/1024 of a row, which is as good.

        Where both noisy weights are negative, and so count as 0, the leaf says the first class.
        """
        scaled = self.evidence / self.scale[:, None]
        second = continuous_argmax_pmf(scaled, 1.0)[:, 1] - np.exp(-scaled.sum(axis=1)) / 8  # a fair coin's half there
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
    """Leaves whose value itself gets Laplace noise (boosted trees, leaf="range" and as published).

    Parameters
    ----------
    evidence : float array of shape (n_leaves, 2)
        Class weights without noise.
    values : float array of shape (n_leaves,)
        Before noise.
    scale : float array of shape (n_leaves,)
    """

    evidence: np.ndarray
    values: np.ndarray
    scale: np.ndarray

    def flip(self) -> np.ndarray:
        """exp(-|h|/scale) / 2."""
        wrong = np.where(self.values == 0, 0.0, 0.5 * np.exp(-np.abs(self.values) / self.scale))
        return np.where(self.evidence.any(axis=1), wrong, np.nan)

    def redraw(self, leaves: np.ndarray, seed: int) -> np.ndarray:
        """See `LeafNoise`."""
        noise = np.random.default_rng(seed).laplace(size=len(leaves)) * self.scale[leaves]
        return (self.values[leaves] + noise > 0).astype(np.uint8)


@dataclass(frozen=True, eq=False)
class GradientNoise:
    """Leaves whose class follows from noisy sums of gradients (the random-tree booster).

    Parameters
    ----------
    evidence : float array of shape (n_leaves, n_classes)
        Sums without noise; of two classes one is the other's negative, and they have one noise.
    is_gaussian : bool
        Else Laplace.
    scale : float
        Standard deviation, or scale.
    """

    evidence: np.ndarray
    is_gaussian: bool
    scale: float

    def flip(self) -> np.ndarray:
        """Probability that noise turns the sign of a leaf's step (two classes), or another class's is the largest.

        Closed form for two classes, and for Laplace noise on more. For Gaussian noise on more: the sum over the others
        of the probability that each passes by itself, which is at least the true one, and at most 1.
        """
        top = self.evidence.max(axis=1)
        if self.evidence.shape[1] == 2:
            wrong = norm.sf(top / self.scale) if self.is_gaussian else 0.5 * np.exp(-top / self.scale)
            return np.where(top > 0, wrong, np.nan)
        lead = (top[:, None] - self.evidence) / self.scale
        if self.is_gaussian:
            wrong = np.minimum(np.where(lead > 0, norm.sf(lead / 2**0.5), 0).sum(axis=1), 1.0)
        else:
            far = 50 - lead  # so far from 0 that no noisy sum is cut off there
            says = continuous_argmax_pmf(np.maximum(far, 0) + 50, 1.0)
            wrong = np.where(lead > 0, says, 0).sum(axis=1)
        return np.where(self.evidence.any(axis=1), wrong, np.nan)

    def redraw(self, leaves: np.ndarray, seed: int) -> np.ndarray:
        """See `LeafNoise`."""
        rng, evidence = np.random.default_rng(seed), self.evidence[leaves]
        draw = rng.normal if self.is_gaussian else rng.laplace
        if evidence.shape[1] == 2:
            return (evidence[:, 1] + self.scale * draw(size=len(evidence)) > 0).astype(np.uint8)
        return (evidence + self.scale * draw(size=evidence.shape)).argmax(axis=1).astype(np.uint8)
