"""Headroom of a forest: value of a measure for the forest without privacy, minus the value for guessing.

If noise hides everything that the forest learns, privacy costs the whole headroom. If a forest predicts no better than
guessing, both without noise and at every ε, it counts as a forest without headroom, which cannot show what privacy
costs.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from dpforest.evaluation.smallest_epsilon import held_out_margin
from dpforest.limits import N_CODES
from dpforest.tables.domain import Domain

# A loss counts as no loss if it is at most the smaller of `POINT` and `PART` times the headroom.
POINT: Final = 0.01  # one point, in the unit of the measure, which ranges from 0 to 1
PART: Final = 0.25  # a share of the headroom
# A share of the codes of a public range. If nine in ten rows use a smaller share, most random thresholds do not split
# these rows.
OVERWIDE: Final = 0.1


@dataclass(frozen=True)
class Headroom:
    """Values of one measure on held-out rows: for guessing, for a forest with and without privacy, for the best model.

    Attributes
    ----------
    floor : float
        Value of guessing, which always predicts the most frequent class.
    nonprivate : float
        Value of the forest without privacy, as the mean over repeats.
    private : float
        Value of the forest with privacy, as the mean over repeats at the best ε. It may exceed `nonprivate`, because
        noise makes trees differ.
    best : float or None
        Value of the best fitted model without privacy; None if no model is fitted yet.
    noise : float
        Largest difference that may be due to chance. It is the maximum of three numbers: one point (`POINT`), the
        standard deviation of `nonprivate` over repeats, and the margin for held-out rows
        (`smallest_epsilon.held_out_margin`).
    """

    floor: float
    nonprivate: float
    private: float
    best: float | None
    noise: float

    @property
    def has_none(self) -> bool:
        """Whether the forest exceeds guessing by at most `noise`, both without noise and at every ε."""
        return max(self.nonprivate, self.private) <= self.floor + self.noise

    @property
    def is_undecided(self) -> bool:
        """Whether the forest exceeds guessing by more than a point, but not by more than chance (`noise`)."""
        return self.has_none and max(self.nonprivate, self.private) > self.floor + POINT

    @property
    def learnable(self) -> bool | None:
        """Whether the forest or `best` is better than guessing; None if the forest is no better and `best` is None."""
        if not self.has_none:
            return True
        return None if self.best is None else self.best > self.floor + self.noise

    @property
    def bearable(self) -> float:
        """Largest loss that counts as no loss: a point or a quarter of the headroom, whichever is less."""
        return min(POINT, PART * max(self.nonprivate - self.floor, 0.0))


def headroom(
    private: np.ndarray, nonprivate: np.ndarray, floor: float, n_test: float, *, best: float | None = None
) -> Headroom:
    """Return the headroom of a forest from its simulated releases.

    Parameters
    ----------
    private : float array of shape (repeats, epsilons)
        Value of the measure for each simulated release.
    nonprivate : float array of shape (repeats,)
        Value for the same forest without privacy.
    floor, best
        As in `Headroom`.
    n_test : float
        Number of held-out rows; for measures other than accuracy, `effective_n`.

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
    """Return the number of rows on which accuracy would be as precise as this measure is on these held-out rows.

    The precision is the standard deviation of the value for a forest that only guesses.

    Parameters
    ----------
    measure : {"accuracy", "balanced_accuracy", "auc"}
        Balanced accuracy is a mean over K classes, so the number is K² / Σ 1/n_k. AUC has a variance of
        (n + 1) / (12 n_k (n - n_k)) for each class against the rest (H. B. Mann, D. R. Whitney, 1947).
    labels : int array of shape (n,)
        Class indices of the held-out rows.

    Examples
    --------
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
    """Return the smallest ε such that privacy costs at most `bearable` at this ε and every larger ε of the list.

    Return None if there is no such ε, or if the forest has no headroom.

    Parameters
    ----------
    epsilons : sequence of float
        In rising order.
    means : sequence of float
        Mean value for the private forest at each ε.
    at : Headroom
        Headroom of the forest.

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
    """Return the numeric attributes whose public range is much wider than their values, for the curator only.

    Parameters
    ----------
    domain : Domain
        Public schema of the table.
    codes : array of shape (n, n_features)
        Rows of the table, as `Domain.encode` returns them.

    Returns
    -------
    list of (name, share)
        The list has an attribute if the middle 90 % of its cells that are not missing span less than the share
        `OVERWIDE` of the codes. The reported share is the part of the public range, in values, that these cells span.
        The smallest share comes first.
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
