"""Headroom of a forest: value of a measure for the forest without privacy, minus the value for guessing.

Headroom is what privacy can cost: if noise hides everything that the forest learns, the forest only guesses. A forest
has no headroom if it predicts no better than guessing, both without noise and at every ε. Such a forest cannot show
what privacy costs.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from dpforest.evaluation.smallest_epsilon import held_out_margin
from dpforest.limits import N_CODES
from dpforest.tables.domain import Domain

# A loss counts as no loss if it is at most `POINT`, and at most `HEADROOM_SHARE` times the headroom.
POINT: Final = 0.01  # one point, in the unit of the measure, which ranges from 0 to 1
HEADROOM_SHARE: Final = 0.25  # a share of the headroom
# A public range is overwide if the middle nine tenths of the rows use less than this share of its codes. Then most
# random thresholds do not split these rows.
OVERWIDE: Final = 0.1


@dataclass(frozen=True)
class Headroom:
    """Values of one measure on held-out rows: of guessing, of a forest with and without privacy, and of other models.

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
        Largest difference that may be due to chance: the maximum of one point (`POINT`), the standard deviation of the
        forest without privacy over repeats, and the margin for held-out rows (`smallest_epsilon.held_out_margin`).
    """

    floor: float
    nonprivate: float
    private: float
    best: float | None
    noise: float

    @property
    def has_none(self) -> bool:
        """Whether the forest exceeds guessing by at most `noise`, both without privacy and at every simulated ε."""
        return max(self.nonprivate, self.private) <= self.floor + self.noise

    @property
    def is_undecided(self) -> bool:
        """Whether the forest exceeds guessing by more than one point (`POINT`), but by at most `noise`."""
        return self.has_none and max(self.nonprivate, self.private) > self.floor + POINT

    @property
    def learnable(self) -> bool | None:
        """Whether the forest or the best model is better than guessing.

        None if the forest is no better than guessing and no other model is fitted yet (`best` is None).
        """
        if not self.has_none:
            return True
        return None if self.best is None else self.best > self.floor + self.noise

    @property
    def negligible_loss(self) -> float:
        """Largest loss that counts as no loss: one point or a quarter of the headroom, whichever is less."""
        return min(POINT, HEADROOM_SHARE * max(self.nonprivate - self.floor, 0.0))


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
        Number of held-out rows; for measures other than accuracy, the result of `effective_n`.

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
    margin = float(held_out_margin([max(mean, floor)], [n_test])[0])
    return Headroom(float(floor), mean, float(np.mean(private, axis=0).max()), best, max(POINT, spread, margin))


def effective_n(measure: str, labels: np.ndarray) -> float:
    """Return the number of rows on which accuracy would be as precise as this measure is on these held-out rows.

    Precision means the variance of the value for a forest that only guesses. Of n held-out rows, n_k belong to class k.
    Balanced accuracy is a mean over K classes, so its number of rows is K² / Σ 1/n_k. The AUC of class k against all
    other classes has a variance of (n + 1) / (12 n_k (n - n_k)) (H. B. Mann, D. R. Whitney, 1947).

    Parameters
    ----------
    measure : {"accuracy", "balanced_accuracy", "auc"}
        Name of the measure.
    labels : int array of shape (n,)
        Class indices of the held-out rows.

    Examples
    --------
    >>> labels = np.repeat([0, 1], [90, 10])
    >>> [round(effective_n(measure, labels), 1) for measure in ("accuracy", "balanced_accuracy", "auc")]
    [100.0, 36.0, 26.7]
    """
    rows = np.bincount(labels)
    rows, n = rows[rows > 0], len(labels)
    if measure == "accuracy" or len(rows) < 2:
        return float(n)
    if measure == "balanced_accuracy":
        return float(len(rows) ** 2 / (1 / rows).sum())
    class_n = 3 * rows * (n - rows) / (n + 1)
    return float(class_n[0] if len(rows) == 2 else len(rows) ** 2 / (1 / class_n).sum())


def cheap_from(
    epsilons: Sequence[float] | np.ndarray, means: Sequence[float] | np.ndarray, reference: Headroom
) -> float | None:
    """Return the smallest ε of a list from which on privacy costs almost nothing.

    Almost nothing means a loss of at most `Headroom.negligible_loss`, at this ε and at every larger ε of the list.
    Return None if there is no such ε, or if the forest without privacy exceeds guessing by at most `Headroom.noise`.

    Parameters
    ----------
    epsilons : sequence of float
        The list of ε, in rising order.
    means : sequence of float
        Mean value for the private forest at each ε.
    reference : Headroom
        Headroom of the forest.

    Examples
    --------
    >>> reference = Headroom(floor=0.5, nonprivate=0.8, private=0.8, best=None, noise=0.01)
    >>> cheap_from([0.1, 1, 10], [0.6, 0.795, 0.8], reference)
    1.0
    """
    if reference.has_none or reference.nonprivate <= reference.floor + reference.noise:
        return None
    is_close = np.asarray(means) >= reference.nonprivate - reference.negligible_loss
    indices = np.flatnonzero(np.minimum.accumulate(is_close[::-1])[::-1])
    return float(epsilons[indices[0]]) if len(indices) else None


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
        Each attribute whose middle 90 % of known cells span less than the share `OVERWIDE` of the codes of the public
        range. `share` is the part of the public range, measured in values instead of codes, that these cells span. The
        smallest share comes first.
    """
    overwide = []
    for j, feature in enumerate(domain.features):
        if feature.kind != "numeric":
            continue
        known_codes = codes[:, j][codes[:, j] >= feature.first_code]
        if len(known_codes):
            low, high = np.quantile(known_codes, [0.05, 0.95])
            if high - low < OVERWIDE * (N_CODES - 1 - feature.first_code):
                width = feature.least_value(int(high)) - feature.least_value(int(low))
                overwide.append((feature.name, width / (feature.scale_numbers.high - feature.scale_numbers.low)))
    return sorted(overwide, key=lambda pair: pair[1])
