"""How much a forest can lose to privacy: one that learns nothing without noise pays no price, and is worth none."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from dpforest.evaluation.smallest_epsilon import held_out_margin
from dpforest.limits import N_CODES
from dpforest.tables.domain import Domain

POINT: Final = 0.01  # of a share: what counts as no price
PART: Final = 0.25  # of the headroom, and at most so much of it
OVERWIDE: Final = 0.1  # of a public range: if nine in ten rows need less, a random threshold mostly misses them


@dataclass(frozen=True)
class Headroom:
    """How far a forest and the best model known get beyond guessing, by one measure on the rows held out.

    Attributes
    ----------
    floor : float
        What guessing gets: always the most frequent class.
    nonprivate : float
        The forest itself without privacy, mean over repeats.
    private : float
        The best mean over ε with privacy. It may be above `nonprivate`: noise makes trees differ.
    best : float or None
        The best model without privacy that is known; None while nobody has fitted one.
    noise : float
        Differences up to this mean nothing: at least one point, the spread of `nonprivate` over repeats, how far the
        rows held out may be off by luck (`smallest_epsilon.held_out_margin`).
    """

    floor: float
    nonprivate: float
    private: float
    best: float | None
    noise: float

    @property
    def has_none(self) -> bool:
        """Whether the forest is no better than guessing, with noise at any ε and without."""
        return max(self.nonprivate, self.private) <= self.floor + self.noise

    @property
    def is_undecided(self) -> bool:
        """Whether it may be better than guessing after all, and too few rows are held out to tell."""
        return self.has_none and max(self.nonprivate, self.private) > self.floor + POINT

    @property
    def learnable(self) -> bool | None:
        """Whether any model known is better than guessing; None where no other one is known."""
        if not self.has_none:
            return True
        return None if self.best is None else self.best > self.floor + self.noise

    @property
    def bearable(self) -> float:
        """The largest loss that counts as none: a point, or a quarter of the headroom where that is less."""
        return min(POINT, PART * max(self.nonprivate - self.floor, 0.0))


def headroom(
    private: np.ndarray, nonprivate: np.ndarray, floor: float, n_test: float, *, best: float | None = None
) -> Headroom:
    """From simulated releases of one forest.

    Parameters
    ----------
    private : float array of shape (repeats, epsilons)
    nonprivate : float array of shape (repeats,)
        The same forest without privacy.
    floor : float
    n_test : float
        Rows held out; for other measures than accuracy `effective_n`.
    best : float, optional

    Examples
    --------
    >>> heavy = headroom(np.full((3, 4), 0.76), np.full(3, 0.761), 0.76, 10_000, best=0.85)
    >>> heavy.has_none, heavy.learnable
    (True, True)
    >>> headroom(np.full((3, 4), 0.76), np.full(3, 0.80), 0.76, 10_000).has_none
    False
    """
    mean = float(np.mean(nonprivate))
    spread = float(np.std(nonprivate, ddof=1)) if len(nonprivate) > 1 else 0.0
    luck = float(held_out_margin([max(mean, floor)], [n_test])[0])
    return Headroom(float(floor), mean, float(np.mean(private, axis=0).max()), best, max(POINT, spread, luck))


def effective_n(measure: str, labels: np.ndarray) -> float:
    """As many rows as make an accuracy as sure as a measure is on these labels, where a forest only guesses.

    Parameters
    ----------
    measure : {"accuracy", "balanced_accuracy", "auc"}
        Balanced accuracy is a mean over classes, K² / Σ 1/n_k; AUC has a variance of (n + 1) / (12 n_k (n - n_k)) for
        each class against the rest (H. B. Mann, D. R. Whitney, 1947).
    labels : int array of shape (n,)

    >>> some = np.repeat([0, 1], [90, 10])
    >>> [round(effective_n(measure, some), 1) for measure in ("accuracy", "balanced_accuracy", "auc")]
    [100.0, 36.0, 26.7]
    """
    rows = np.bincount(labels)
    rows, n = rows[rows > 0], len(labels)
    if measure == "accuracy" or len(rows) < 2:
        return float(n)
    if measure == "balanced_accuracy":
        return float(len(rows) ** 2 / (1 / rows).sum())
    of_class = 3 * rows * (n - rows) / (n + 1)
    return float(of_class[0] if len(rows) == 2 else len(rows) ** 2 / (1 / of_class).sum())


def cheap_from(
    epsilons: Sequence[float] | np.ndarray, means: Sequence[float] | np.ndarray, at: Headroom
) -> float | None:
    """The smallest ε from which on privacy costs next to nothing; None where there is none, or no headroom.

    Parameters
    ----------
    epsilons : sequence of float
        Rising.
    means : sequence of float
        Of the private forest at each.

    Examples
    --------
    >>> at = Headroom(floor=0.5, nonprivate=0.8, private=0.8, best=None, noise=0.01)
    >>> cheap_from([0.1, 1, 10], [0.6, 0.795, 0.8], at)
    1.0
    """
    if at.has_none or at.nonprivate <= at.floor + at.noise:
        return None
    near = np.asarray(means) >= at.nonprivate - at.bearable
    on = np.flatnonzero(np.minimum.accumulate(near[::-1])[::-1])
    return float(epsilons[on[0]]) if len(on) else None


def overwide_features(domain: Domain, codes: np.ndarray) -> list[tuple[str, float]]:
    """Numeric attributes whose public range is much wider than the rows need, on its scale. Curator only.

    Parameters
    ----------
    codes : array of shape (n, n_features)
        Of `Domain.encode`.

    Returns
    -------
    list of (name, share)
        Of the range that nine in ten rows lie in, where it is less than `OVERWIDE` of the codes; the narrowest first.
    """
    overwide = []
    for j, feature in enumerate(domain.features):
        if feature.kind != "numeric":
            continue
        known = codes[:, j][codes[:, j] >= feature.first_code]
        if len(known):
            low, high = np.quantile(known, [0.05, 0.95])
            if high - low < OVERWIDE * (N_CODES - 1 - feature.first_code):
                rows = feature.least_value(int(high)) - feature.least_value(int(low))
                overwide.append((feature.name, rows / (feature.scale_numbers.high - feature.scale_numbers.low)))
    return sorted(overwide, key=lambda pair: pair[1])
